package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Options is what the host is started with.
type Options struct {
	// Entry finds the script and the Node that runs it, at each start anew.
	Entry Lookup
	// Marker and Register mark and record the child's process group, usually
	// those of the service's [child.Registry]. Register may be nil.
	Marker   child.Marker
	Register func(*child.Group) (release func())
	// Environ is the service's own environment; the child gets the part of it
	// that Environment lets through.
	Environ []string
	// StateDir is a folder that belongs to the child, the same at each start:
	// the SDKs keep there what resuming needs. It is made here.
	StateDir string
	// HomeDir is the person's home, where the MCP servers of all projects are
	// written down.
	HomeDir string
	// BaseURL is a provider's model endpoint by the given provider settings,
	// empty for the one of the environment or the vendor's own. Its error is a
	// sentence, with which the session is refused. May be nil.
	BaseURL func(contract.ProviderID, json.RawMessage) (string, error)
	// Logger gets what the child writes to stderr, without keys.
	Logger *slog.Logger

	// Tests shorten these.
	waits waits
}

// waits are how long things may take.
type waits struct {
	// handshake is how long an open waits for the child, setting how long a
	// setting waits to be refused.
	handshake, setting time.Duration
	// refusals is how long a host without a child refuses before it ends.
	refusals time.Duration
	// grace lies between the close of the child's stdin and its SIGTERM.
	grace time.Duration
	// behind is the pause between two looks at a conversation that is behind.
	behind time.Duration
}

// productWaits: handshake and grace are from sidecar-protocol.md 9, the others
// are ours.
var productWaits = waits{
	handshake: 10 * time.Second,
	setting:   time.Second,
	refusals:  300 * time.Millisecond,
	grace:     2 * time.Second,
	behind:    time.Second,
}

// factsEvery is the pause between two facts for the tree.
const factsEvery = 250 * time.Millisecond

// New returns the factory of the host. It registers msg.Sidecar itself.
func New(o Options) gen.ProcessFactory {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.waits == (waits{}) {
		o.waits = productWaits
	}
	return func() gen.ProcessBehavior { return &actor{opt: o} }
}

type actor struct {
	act.Actor
	opt   Options
	core  *host
	keys  *keys
	inbox *inbox
	line  *line

	// asked are the drains that wait for the end of the child.
	asked []asker
	// stopping: the child was told to end. leaving: this actor ends by itself.
	stopping, leaving bool
	said              facts
	factsSoon         bool
}

// asker waits for a deferred answer.
type asker struct {
	pid gen.PID
	ref gen.Ref
}

// line is the child, shared with the goroutine that starts it: whoever comes
// second, the start or the end of the actor, ends the child.
type line struct {
	mu    sync.Mutex
	talk  *child.Talk
	ended bool
}

// facts are what the tree shows of this host.
type facts struct {
	ChildPID int    `json:"child_pid,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol int    `json:"protocol,omitempty"`
	Sessions int    `json:"sessions"`
	Waiting  int    `json:"waiting"`
	// Behind counts conversations that the child has to wait for.
	Behind int `json:"behind"`
}

// Messages to oneself.
type (
	boot struct{}
	// woken says that the inbox holds something.
	woken struct{}
	// launched says that the child runs, or why not.
	launched struct{ err error }
	factsDue struct{}
)

// Init takes the name and does the rest from the mailbox.
func (a *actor) Init(...any) error {
	a.keys = new(keys)
	a.core = newHost(a.keys.hide)
	node, self := a.Node(), a.PID()
	// An actor that is gone has ended its child, too.
	a.inbox = &inbox{wake: func() { _ = node.Send(self, woken{}) }}
	a.line = new(line)
	if err := a.RegisterName(msg.Sidecar); err != nil {
		return err
	}
	return a.Send(a.PID(), boot{})
}

// ProcessRun runs the mailbox. An exit signal of the parent cannot be trapped;
// it ends here, so that the child can be ended gently first.
func (a *actor) ProcessRun() error {
	for {
		err := a.Actor.ProcessRun()
		if err == nil || a.leaving || !errors.Is(err, gen.TerminateReasonShutdown) || !a.stop() {
			return err
		}
	}
}

// HandleMessage runs one message and then its effects.
func (a *actor) HandleMessage(from gen.PID, message any) error {
	c := a.core
	switch m := message.(type) {
	case woken:
		if a.talk() != nil { // Else launched comes, and with it this.
			c.heard(a.inbox.take())
		}
	case msg.HostAck:
		c.ack(m)
	case msg.HostOpen:
		c.opening(from, m)
	case msg.HostSend:
		c.send(from, m)
	case msg.HostCancel:
		c.cancel(m)
	case msg.HostKill:
		c.killing(m)
	case msg.HostCancelPending:
		c.pass(m.Conversation, typeCancelAll, request{typeCancelAll, m.Conversation})
	case msg.HostPermission:
		c.pass(m.Conversation, typePermission, answer(m))
	case msg.HostEdit:
		c.pass(m.Conversation, typeEdit, editRequest{request{typeEdit, m.Conversation}, m.ID, m.Applied, m.Merged})
	case msg.HostSet:
		c.set(m)
	case msg.HostClose:
		c.closing(m.Conversation)
	case prepared:
		c.prepared(m)
	case handshakeDue:
		c.handshakeDue(m)
	case settingDue:
		c.settingDue(m)
	case behindDue:
		c.behindDue(m)
	case launched:
		a.launched(m)
	case boot:
		_ = a.Send(a.Parent(), msg.Status{Name: msg.Sidecar, State: msg.StateStarting})
		a.launch()
	case finish:
		return a.end(m.reason)
	case factsDue:
		a.factsSoon = false
		a.tellFacts()
	default:
		a.Log().Warning("message not known type=%T", message)
	}
	a.run()
	return nil
}

// HandleCall answers msg.Drain when the child is gone, and msg.Ready.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	switch request.(type) {
	case msg.Ready:
		return msg.Done{}, nil
	case msg.Drain:
		a.asked = append(a.asked, asker{from, ref})
		a.stop()
		a.run()
		return nil, nil
	}
	return msg.Done{Err: gen.ErrUnsupported}, nil
}

// stop begins the gentle end of the child. It reports false when there is
// nothing to wait for.
func (a *actor) stop() bool {
	if a.core.over {
		return false
	}
	if a.stopping {
		return true
	}
	a.stopping = true
	a.core.drain()
	if talk := a.talk(); talk != nil {
		go talk.Stop(a.opt.waits.grace)
	}
	return true
}

// launched goes on with a child that runs, or ends without one.
func (a *actor) launched(m launched) {
	switch {
	case m.err != nil && a.stopping:
		a.core.over = true
		a.core.do(finish{gen.TerminateReasonShutdown, noWait})
	case m.err != nil:
		a.core.failedStart(m.err.Error())
	default:
		if a.stopping {
			go a.talk().Stop(a.opt.waits.grace)
		}
		a.core.heard(a.inbox.take())
	}
}

// end is the last thing that this actor does.
func (a *actor) end(reason error) error {
	a.leaving = true
	for _, w := range a.asked {
		if err := a.SendResponse(w.pid, w.ref, msg.Done{}); err != nil {
			a.Log().Debug("answer not delivered err=%q", err)
		}
	}
	_ = a.Send(msg.Inspect, msg.Facts{Name: string(msg.Sidecar)})
	return reason
}

func (a *actor) talk() *child.Talk {
	a.line.mu.Lock()
	defer a.line.mu.Unlock()
	return a.line.talk
}

// run carries the effects out until there are no more.
func (a *actor) run() {
	for effects := a.core.take(); len(effects) > 0; effects = a.core.take() {
		for _, e := range effects {
			a.effect(e)
		}
	}
	a.factsChanged()
}

func (a *actor) effect(e any) {
	switch e := e.(type) {
	case tell:
		if err := a.Send(e.session.peer, e.message); err != nil {
			a.core.unreachable(e.session)
		}
	case credit:
		if talk := a.talk(); talk != nil {
			talk.Credit(e.lines)
		}
	case write:
		a.write(e)
	case up:
		_ = a.Send(a.Parent(), e.message) // A supervisor that is gone ends us, too.
	case prepare:
		a.prepare(e)
	case later:
		a.after(e.message, a.wait(e.after))
	case look:
		if _, err := a.Node().ProcessState(e.session.peer); err != nil {
			a.core.unreachable(e.session)
		}
	case kill:
		if talk := a.talk(); talk != nil {
			talk.Kill()
		}
	case note:
		a.note(e)
	case finish:
		// Deliberate: a message to oneself. What conversations have sent by now
		// is answered before the end.
		if d := a.wait(e.after); d > 0 {
			a.after(e, d)
		} else if err := a.Send(a.PID(), e); err != nil {
			a.Log().Error("end not delivered err=%q", err)
		}
	}
}

func (a *actor) wait(w waitFor) time.Duration {
	switch w {
	case forHandshake:
		return a.opt.waits.handshake
	case forSetting:
		return a.opt.waits.setting
	case forRefusals:
		return a.opt.waits.refusals
	case forBehind:
		return a.opt.waits.behind
	}
	return 0
}

func (a *actor) after(message any, d time.Duration) {
	if _, err := a.SendAfter(a.PID(), message, d); err != nil {
		a.Log().Error("timer lost type=%T err=%q", message, err)
	}
}

// write hands one request to the child's queue.
func (a *actor) write(w write) {
	err := child.ErrGone
	if talk := a.talk(); talk != nil {
		out := w.line
		if out == nil {
			if out, err = encode(w.request); err != nil {
				a.Log().Error("request not encoded type=%s err=%q", w.kind, err)
				a.core.unwritten(w)
				return
			}
		}
		err = talk.Send(out)
	}
	switch {
	case err == nil && w.then != nil:
		a.effect(tell{w.session, w.then})
	case errors.Is(err, child.ErrGone):
		// Its end is on the way and is told to everybody.
	case err != nil:
		a.core.unwritten(w)
	}
}

func (a *actor) note(n note) {
	level := slog.LevelWarn
	switch n.level {
	case contract.LevelInfo:
		level = slog.LevelInfo
	case levelDebug:
		level = slog.LevelDebug
	}
	attrs := []any{"actor", string(msg.Sidecar)}
	if n.session != "" {
		attrs = append(attrs, "conv", string(n.session))
	}
	a.opt.Logger.Log(context.Background(), level, n.text, attrs...)
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
	body, err := json.Marshal(shown)
	if err != nil {
		return // Plain numbers and words: cannot fail.
	}
	_ = a.Send(msg.Inspect, msg.Facts{Name: string(msg.Sidecar), Detail: body}) // It may not be there.
}

func (a *actor) facts() facts {
	open, waiting := a.core.counts()
	f := facts{Sessions: open, Waiting: waiting, Behind: a.core.kept}
	if talk := a.talk(); talk != nil && !a.core.over {
		f.ChildPID = talk.PID()
	}
	if r := a.core.ready; r != nil {
		f.Version, f.Protocol = r.Version, r.Protocol
	}
	return f
}

// Terminate ends the child at once if it still runs. It must not wait.
func (a *actor) Terminate(error) {
	a.line.mu.Lock()
	defer a.line.mu.Unlock()
	a.line.ended = true
	if a.line.talk != nil {
		a.line.talk.Kill()
	}
}

// guard turns a panic on a goroutine of ours into an error.
func guard(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("a fault inside PacketBench (%v); look at the log and try again", fault)
	}
}
