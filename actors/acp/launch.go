package acp

import (
	"errors"
	"fmt"
	"sync"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// process is the engine's process, shared with the goroutine that starts it:
// whoever comes second, the start or the end of the actor, ends the process.
type process struct {
	mu    sync.Mutex
	talk  *child.Talk
	ended bool
}

func (l *process) get() *child.Talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.talk
}

func (l *process) set(talk *child.Talk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.talk = talk
	if l.ended {
		talk.Kill()
	}
}

func (l *process) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.talk != nil {
		l.talk.Kill()
	}
}

// queueLines is how many requests may wait for the engine: each of
// config.MaxAwakeHard conversations may have one at the same moment.
const queueLines = 2048

// launch starts the engine beside the mailbox; launched is its answer.
func (a *actor) launch() {
	node, self, name := a.Node(), a.PID(), a.name
	process, inbox, opt := a.process, a.inbox, a.opt
	log := opt.Logger.With("actor", string(a.self))
	go func() {
		var done launched
		defer func() { _ = node.Send(self, done) }() // The actor is gone when this fails.
		defer guard(&done.err)
		if opt.Find == nil {
			done.err = errors.New("no engine is set up here")
			return
		}
		if done.spec, done.err = opt.Find(name); done.err != nil {
			return
		}
		spec := done.spec
		// The tail is kept of what was cleaned, so that no cut leaves half a secret.
		tail := new(child.Tail)
		log.Info("engine starting", "command", spec.Command)
		talk, err := startChild(spec, spec.Command, opt.HomeDir, opt.Environ, child.TalkOptions{
			Options: child.Options{Marker: opt.Marker, Register: opt.Register},
			Queue:   queueLines,
			Line:    func(l child.Line) { inbox.put(line{l}) },
			Pause:   inbox.ring,
			Log: func(text string) {
				text = spec.hide(text)
				_, _ = tail.Write([]byte(text + "\n"))
				log.Info("engine says", "line", text)
			},
			Exited: func(e child.Exit) {
				e.Tail = tail.String()
				inbox.put(exited{e})
				inbox.ring()
			},
		})
		if err != nil {
			done.err = err
			return
		}
		process.set(talk)
	}()
}

// launched goes on with an engine that runs, or ends without one.
func (a *actor) launched(m launched) {
	if m.err != nil {
		a.core.spec.Env = m.spec.Env
		a.feed(spawnFailed{m.err})
		return
	}
	a.core.spec, a.up = m.spec, true
	if a.stopping {
		go stopChild(a.process.get(), a.grace)
	} else {
		a.feed(spawned{})
	}
	a.heard()
}

// factsChanged sends the tree's facts soon, at most one in factsEvery.
func (a *actor) factsChanged() {
	if a.factsSoon || a.leaving || a.facts() == a.said {
		return
	}
	a.factsSoon = true
	a.after(factsDue{}, factsEvery)
}

func (a *actor) tellFacts() {
	f := a.facts()
	if f == a.said {
		return
	}
	a.said = f
	shown := struct {
		facts
		Metas []string `json:"metas,omitempty"`
	}{facts: f}
	if f.ChildPID != 0 {
		shown.Metas = []string{"child"}
	}
	body, err := contract.Marshal(shown)
	if err != nil {
		return // Plain numbers and words: cannot fail.
	}
	_ = a.Send(msg.Inspect, msg.Facts{Name: string(a.self), Detail: body}) // It may not be there.
}

func (a *actor) facts() facts {
	f := facts{Sessions: len(a.core.sessions)}
	if talk := a.process.get(); talk != nil && a.refusal == "" {
		c := a.core.caps
		f.ChildPID, f.Agent, f.Version, f.Protocol = talk.PID(), c.agent, c.agentVersion, c.protocolVersion
	}
	for _, p := range a.peers {
		if p.owed > 0 {
			f.Behind++
		}
	}
	return f
}

// guard turns a panic on a goroutine of ours into an error.
func guard(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("a fault inside PacketBench (%v); look at the log and try again", fault)
	}
}
