package acp

import (
	"os"
	"sync"
	"unicode/utf8"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// maxBatch bounds the events of one Emitted: its receiver publishes them in one
// go and hears of nothing else meanwhile.
const maxBatch = 64

// meet returns the peer of a conversation. Its process may be a new one, which
// has heard nothing yet and owes nothing.
func (a *actor) meet(conv contract.ConversationID, pid gen.PID) *peer {
	p := a.peers[conv]
	if p != nil && p.pid == pid {
		return p
	}
	if p != nil {
		a.drop(p)
	}
	a.serial++
	p = &peer{conv: conv, pid: pid, serial: a.serial}
	a.peers[conv] = p
	return p
}

// drop forgets a conversation and gives back the lines that were kept for it.
func (a *actor) drop(p *peer) {
	if a.peers[p.conv] == p {
		delete(a.peers, p.conv)
	}
	a.free += p.lines + p.owed
	p.lines, p.owed, p.events = 0, 0, nil
}

// open begins a session: first it is found out where it works and which MCP
// servers it gets.
func (a *actor) open(from gen.PID, m msg.HostOpen) {
	a.meet(m.Conversation, from)
	if a.refusal != "" {
		// An engine that ran is running again in a moment.
		a.tell(m.Conversation, msg.HostRefused{Turn: m.Turn, Text: a.refusal, Gone: a.ready})
		return
	}
	if s := a.core.sessions[m.Conversation]; s != nil && s.turn != nil {
		a.feed(leave{m.Conversation}) // Left from a conversation that died.
	}
	a.serial++
	a.opening[m.Conversation] = &opening{a.serial, m}
	a.prepare(a.serial, m)
}

// prepare looks at folders and files beside the mailbox.
func (a *actor) prepare(serial uint64, m msg.HostOpen) {
	node, self, opt := a.Node(), a.PID(), a.opt
	log := opt.Logger.With("actor", string(a.self), "conv", string(m.Conversation))
	go func() {
		done := prepared{conv: m.Conversation, serial: serial}
		defer func() { _ = node.Send(self, done) }() // The actor is gone when this fails.
		defer guard(&done.err)
		s := m.Session
		if done.cwd, done.err = Folder(s.Project); done.err != nil {
			return
		}
		in := PlanInput{
			Project: done.cwd, Snapshot: s.Trust, Resolve: ResolveCommand,
			Servers: Configured(opt.HomeDir, done.cwd, s.Trusted, os.ReadFile, func(text string) { log.Warn(text) }),
		}
		if s.Servers != nil {
			in.Enabled = &s.Servers
		}
		done.mcp = MakePlan(in).frozen
	}()
}

// prepared hands a session to the core.
func (a *actor) prepared(m prepared) {
	o := a.opening[m.conv]
	if o == nil || o.serial != m.serial {
		return
	}
	if m.err != nil {
		a.refuseOpening(m.conv, m.err.Error()+". Choose a folder that exists.")
		return
	}
	delete(a.opening, m.conv)
	s := o.open.Session
	a.feed(begin{
		conv: m.conv, turn: o.open.Turn, prompt: prompt{o.open.Text, o.open.Attachments}, cwd: m.cwd,
		engineID: s.Resume, adopt: s.Adopt, model: s.Model, posture: s.Posture, mcp: m.mcp,
	})
}

// refuseOpening ends what is being prepared.
func (a *actor) refuseOpening(conv contract.ConversationID, text string) {
	o := a.opening[conv]
	if o == nil {
		return
	}
	delete(a.opening, conv)
	a.tell(conv, msg.HostRefused{Turn: o.open.Turn, Text: a.core.spec.hide(text)})
	a.left = append(a.left, conv)
}

// send is the next turn of an open session.
func (a *actor) send(from gen.PID, m msg.HostSend) {
	a.meet(m.Conversation, from)
	if a.refusal != "" {
		a.tell(m.Conversation, msg.HostRefused{Turn: m.Turn, Text: a.refusal, Gone: true})
		return
	}
	a.feed(send{m.Conversation, m.Turn, prompt{m.Text, m.Attachments}})
}

// answered passes a decision on. An engine takes no reason with it.
func (a *actor) answered(m msg.HostPermission) {
	if m.Reason != "" {
		a.tell(m.Conversation, msg.HostSaid{Level: contract.LevelInfo, Text: "This engine takes no reason with a refusal. Send it as a message to have it considered.", Once: true})
	}
	d := m.Decision
	if d == "" || d != contract.Deny && !m.Allowed {
		d = contract.Deny
	}
	a.feed(answer{m.Conversation, m.ID, d})
}

// set takes a setting over: the engine hears of it with the next prompt, or with
// its next session.
func (a *actor) set(from gen.PID, m msg.HostSet) {
	if a.peers[m.Conversation] == nil {
		_ = a.Send(from, msg.HostReply{Ref: m.Ref})
		return
	}
	text := ""
	if m.ApproveWrites != nil && *m.ApproveWrites {
		text = "An engine writes its files itself; no write can be held back."
	}
	if o := a.opening[m.Conversation]; o != nil {
		if m.Model != nil {
			o.open.Session.Model = *m.Model
		}
		if m.Mode != nil {
			o.open.Session.Posture = *m.Mode
		}
	}
	// The answer goes first: what the change comes to is told behind it.
	a.tell(m.Conversation, msg.HostReply{Ref: m.Ref, Text: text})
	if m.Model != nil {
		a.feed(setModel{m.Conversation, *m.Model})
	}
	if m.Mode != nil {
		a.feed(setPosture{m.Conversation, *m.Mode})
	}
}

// close ends a session. What it still says is nobody's.
func (a *actor) close(conv contract.ConversationID) {
	delete(a.opening, conv)
	a.feed(leave{conv})
	if p := a.peers[conv]; p != nil {
		a.drop(p)
	}
}

// tell sends to a conversation, behind what it was told before. One that cannot
// be reached has died: its session is given up.
func (a *actor) tell(conv contract.ConversationID, message any) {
	p := a.peers[conv]
	if p == nil {
		return
	}
	a.flush(p)
	a.deliver(p, message)
}

func (a *actor) deliver(p *peer, message any) {
	if err := a.Send(p.pid, message); err != nil && a.peers[p.conv] == p {
		a.Log().Warning("conversation cannot be reached; its session is closed conv=%s reason=%s", string(p.conv), err)
		a.close(p.conv)
	}
}

// emit collects events of a turn; behind a terminal one the turn is closed.
func (a *actor) emit(x emit) {
	p := a.peers[x.conv]
	if p == nil {
		return
	}
	for _, e := range x.events {
		if len(p.events) > 0 && (p.turn != x.turn || len(p.events) >= maxBatch) {
			a.flush(p)
		}
		if len(p.events) == 0 {
			a.dirty = append(a.dirty, p)
		}
		p.events, p.turn = append(p.events, e), x.turn
		a.spoke = p
		if e.Kind().Terminal() {
			a.tell(x.conv, msg.TurnClosed{Turn: x.turn})
		}
	}
}

// flush sends what was collected. The lines of a conversation that is behind
// are kept, and with them, in the end, the engine.
func (a *actor) flush(p *peer) {
	if len(p.events) == 0 {
		return
	}
	events := p.events
	p.events = nil
	if p.out++; p.out > msg.HostCredits {
		if p.owed == 0 && p.lines > 0 {
			a.after(behindDue{p.conv, p.serial}, a.opt.waits.behind)
		}
		p.owed += p.lines
	} else {
		a.free += p.lines
	}
	p.lines = 0
	a.deliver(p, msg.Emitted{Turn: p.turn, Events: events})
}

// ack takes HostAck.
func (a *actor) ack(m msg.HostAck) {
	p := a.peers[m.Conversation]
	if p == nil {
		return
	}
	if p.out = max(0, p.out-m.N); p.out < msg.HostCredits {
		a.free += p.owed
		p.owed = 0
	}
}

// behindDue looks whether a conversation that is behind still lives: the lines
// kept for a dead one would stop everybody.
func (a *actor) behindDue(m behindDue) {
	p := a.peers[m.conv]
	if p == nil || p.serial != m.serial || p.owed == 0 {
		return
	}
	if _, err := a.Node().ProcessState(p.pid); err != nil {
		a.close(m.conv)
		return
	}
	a.after(m, a.opt.waits.behind)
}

// heard gives the core what the engine did since the last time, in order.
func (a *actor) heard() {
	if !a.up {
		return // launched comes, and with it this.
	}
	for _, x := range a.inbox.take() {
		l, isLine := x.(line)
		if !isLine {
			a.feed(x)
			continue
		}
		// A line is given back with the events that it made, if it made any.
		a.spoke = nil
		a.feed(l)
		if p := a.spoke; p != nil && len(p.events) > 0 {
			p.lines++
		} else {
			a.free++
		}
	}
}

// burst is how many lines are collected before the actor is woken although more
// may be waiting. It is half of what the reader may have on its way, so that
// one half is read while the other is handed out.
const burst = 32

// inbox collects what the reader heard and wakes the actor once for all of it.
type inbox struct {
	wake func()

	mu    sync.Mutex
	items []any
	spare []any
	woken bool
}

// put adds one input; the actor is woken when there are many, else by ring.
func (b *inbox) put(in any) {
	b.mu.Lock()
	b.items = append(b.items, in)
	many := len(b.items) >= burst
	b.mu.Unlock()
	if many {
		b.ring()
	}
}

// ring wakes the actor unless it is awake or has nothing to do.
func (b *inbox) ring() {
	b.mu.Lock()
	ring := !b.woken && len(b.items) > 0
	b.woken = b.woken || ring
	b.mu.Unlock()
	if ring {
		b.wake()
	}
}

// take returns what was collected, in order. It is valid until the next take.
func (b *inbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.items
	clear(b.spare)
	b.items, b.spare = b.spare[:0], out
	b.woken = false
	return out
}

// begins cuts text to at most size bytes, between characters.
func begins(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}
