package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Options is what the host of each engine is started with.
type Options struct {
	// Find returns the engine of a name as it is set up now, with an absolute
	// command. It is asked once per process, beside the mailbox, and may take
	// its time. Its error is for the middle of a sentence.
	Find func(name string) (Spec, error)
	// Version is the service's own, told to the engine.
	Version string
	// Marker and Register mark and record the child's process group, usually
	// those of the service's [child.Registry]. Register may be nil.
	Marker   child.Marker
	Register func(*child.Group) (release func())
	// Environ is the service's own environment, see Environ.
	Environ []string
	// HomeDir is the person's home: where an engine is started, where the MCP
	// servers of all projects are written down and where packetcode keeps its
	// sessions. Empty when it is not known.
	HomeDir string
	// Resident is how many sessions an engine keeps in memory; 0 means
	// MaxResident.
	Resident int
	// Logger gets what the child writes to stderr, without secrets.
	Logger *slog.Logger

	// Tests shorten these.
	waits waits
}

// waits are how long things may take.
type waits struct {
	// refusals is how long a host whose engine never was ready refuses before
	// it ends: who was told of it just now is still about to send.
	refusals time.Duration
	// grace and drain lie between the end of stdin and SIGTERM.
	grace, drain time.Duration
	// behind is the pause between two looks at a conversation that is behind.
	behind time.Duration
}

var productWaits = waits{refusals: 300 * time.Millisecond, grace: StopGrace, drain: StopGraceDrain, behind: time.Second}

// factsEvery is the pause between two facts for the tree.
const factsEvery = 250 * time.Millisecond

// reasonBytes is how much of a reason a status has room for.
const reasonBytes = 400

// New returns the factory of a host. Its one argument at Init is the engine's
// name; the actor registers msg.EngineName itself.
func New(o Options) gen.ProcessFactory {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.waits == (waits{}) {
		o.waits = productWaits
	}
	o.Resident = cmp.Or(o.Resident, MaxResident)
	return func() gen.ProcessBehavior { return &actor{opt: o} }
}

type actor struct {
	act.Actor
	opt   Options
	name  string   // Of the engine.
	self  gen.Atom // As registered.
	core  *engine
	inbox *inbox
	// process is the engine's. up: it runs, as far as the core knows.
	process *process
	up      bool
	// queue are inputs that came out of effects.
	queue   []any
	feeding bool

	peers map[contract.ConversationID]*peer
	// left are conversations that may be nobody's any more.
	left  []contract.ConversationID
	dirty []*peer
	// spoke is whose events the last input has made. free are lines to give back.
	spoke *peer
	free  int
	// opening are conversations whose folder and MCP servers are being read.
	opening map[contract.ConversationID]*opening
	serial  uint64
	timer   time.Time

	// asked are the drains that wait for the end of the child.
	asked []asker
	// stopping: somebody wants the end. leaving: this actor ends by itself.
	stopping, leaving bool
	grace             time.Duration
	// refusal, once set, answers everybody: the engine has ended. ready: it was
	// initialized before.
	refusal string
	ready   bool

	told      msg.EngineFacts
	said      facts
	factsSoon bool
}

// asker waits for a deferred answer.
type asker struct {
	pid gen.PID
	ref gen.Ref
}

// peer is the process of one conversation and what it has not heard yet.
type peer struct {
	conv contract.ConversationID
	pid  gen.PID
	// events wait to be sent as one Emitted, of turn, from lines lines.
	events []contract.Event
	turn   contract.TurnID
	lines  int
	// out are Emitted that were not given back, owed the lines kept for them.
	out, owed int
	serial    uint64
}

// opening is a HostOpen that is being prepared.
type opening struct {
	serial uint64
	open   msg.HostOpen
}

// facts are what the tree shows of this host.
type facts struct {
	ChildPID int    `json:"child_pid,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol int64  `json:"protocol,omitempty"`
	Sessions int    `json:"sessions"`
	// Behind counts conversations that the engine has to wait for.
	Behind int `json:"behind"`
}

// Messages to oneself.
type (
	boot struct{}
	// woken says that the inbox holds something.
	woken struct{}
	// launched says that the engine runs, or why not.
	launched struct {
		spec Spec
		err  error
	}
	// prepared says where a conversation works and what it gets.
	prepared struct {
		conv   contract.ConversationID
		serial uint64
		cwd    string
		mcp    mcpPosture
		err    error
	}
	// diskRead answers readDisk.
	diskRead struct {
		token any
		held  []Held
	}
	// due is the time of engine.due.
	due struct{}
	// behindDue looks after a conversation whose lines are kept.
	behindDue struct {
		conv   contract.ConversationID
		serial uint64
	}
	factsDue struct{}
	// finish ends the actor with this reason.
	finish struct{ reason error }
)

// Tokens of queries.
type (
	heldFor  struct{ asker }
	usageFor struct{ asker }
)

// Init takes the name and does the rest from the mailbox.
func (a *actor) Init(args ...any) error {
	name, ok := args[0].(string)
	if !ok {
		return fmt.Errorf("acp: want the name of an engine, got %T", args[0])
	}
	a.name, a.self = name, msg.EngineName(name)
	a.core = newEngine(Spec{Name: name}, a.opt.Version, a.opt.Resident)
	a.peers, a.opening = map[contract.ConversationID]*peer{}, map[contract.ConversationID]*opening{}
	node, self := a.Node(), a.PID()
	// An actor that is gone has ended its child, too.
	a.inbox = &inbox{wake: func() { _ = node.Send(self, woken{}) }}
	a.process = new(process)
	if err := a.RegisterName(a.self); err != nil {
		return err
	}
	return a.Send(a.PID(), boot{})
}

// ProcessRun runs the mailbox. An exit signal of the parent cannot be trapped;
// it ends here, so that the engine can be ended gently first.
func (a *actor) ProcessRun() error {
	for {
		err := a.Actor.ProcessRun()
		if err == nil || a.leaving || !errors.Is(err, gen.TerminateReasonShutdown) || !a.stop(a.opt.waits.grace) {
			return err
		}
	}
}

// HandleMessage takes one message and does what follows from it.
func (a *actor) HandleMessage(from gen.PID, message any) error {
	switch m := message.(type) {
	case woken:
		a.heard()
	case msg.HostAck:
		a.ack(m)
	case msg.HostOpen:
		a.open(from, m)
	case msg.HostSend:
		a.send(from, m)
	case msg.HostCancel:
		if o := a.opening[m.Conversation]; o != nil && o.open.Turn == m.Turn {
			a.refuseOpening(m.Conversation, contract.TextCancelledByUser)
			break
		}
		a.feed(cancel{m.Conversation, m.Turn})
	case msg.HostKill:
		a.feed(force{m.Conversation, m.Turn})
	case msg.HostCancelPending:
		a.feed(refuseOpen{m.Conversation})
	case msg.HostPermission:
		a.answered(m)
	case msg.HostSet:
		a.set(from, m)
	case msg.HostClose:
		a.close(m.Conversation)
	case msg.HostRename:
		a.feed(query{kind: queryRename, conv: m.Conversation, arg: m.Title})
	case prepared:
		a.prepared(m)
	case launched:
		a.launched(m)
	case diskRead:
		a.answer(m.token, m.held, nil)
	case due:
		a.timer = time.Time{}
		a.feed(elapsed{})
	case behindDue:
		a.behindDue(m)
	case boot:
		a.report(msg.Status{State: msg.StateStarting})
		a.feed(wake{})
	case finish:
		return a.end(m.reason)
	case factsDue:
		a.factsSoon = false
		a.tellFacts()
	default:
		a.Log().Warning("message not known type=%T", message)
	}
	a.settle()
	return nil
}

// HandleCall answers msg.Drain when the engine is gone, and what is asked about
// its sessions when the engine has answered.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	who := asker{from, ref}
	switch m := request.(type) {
	case msg.Ready:
		return msg.Done{}, nil
	case msg.Drain:
		a.asked = append(a.asked, who)
		a.stop(a.opt.waits.drain)
	case msg.EngineSessions:
		a.ask(query{token: heldFor{who}, kind: queryHeld})
	case msg.EngineUsage:
		a.ask(query{token: usageFor{who}, kind: queryUsage, conv: m.Conversation, session: m.Session})
	default:
		return msg.Done{Err: gen.ErrUnsupported}, nil
	}
	a.settle()
	return nil, nil
}

// ask passes a question on, which an engine that has ended cannot answer.
func (a *actor) ask(q query) {
	if a.refusal != "" {
		a.answer(q.token, nil, contract.Fail(contract.CodeInternal, "%s", contract.TextEngineClosed))
		return
	}
	a.feed(q)
}

// answer answers a question.
func (a *actor) answer(token, value any, failure *contract.Failure) {
	var who asker
	var out any
	switch t := token.(type) {
	case heldFor:
		who = t.asker
		list := msg.EngineSessionList{Failure: failure}
		list.Sessions = []contract.EngineSession{}
		held, _ := value.([]Held)
		for _, h := range held {
			list.Sessions = append(list.Sessions, contract.EngineSession(h))
		}
		list.CanOpen = a.told.Load
		out = list
	case usageFor:
		who = t.asker
		reply := msg.EngineUsageAnswer{Failure: failure}
		if u, ok := value.(*Usage); ok && u != nil {
			reply.Totals, _ = json.Marshal(u) // Plain numbers: cannot fail.
		}
		out = reply
	default:
		return // Nobody waits.
	}
	if err := a.SendResponse(who.pid, who.ref, out); err != nil {
		a.Log().Debug("answer not delivered err=%q", err)
	}
}

// stop begins the gentle end of the engine. It reports false when there is
// nothing to wait for.
func (a *actor) stop(grace time.Duration) bool {
	if a.refusal != "" {
		return false // It ends by itself in a moment.
	}
	if !a.stopping {
		a.stopping, a.grace = true, grace
		a.feed(halt{grace})
		a.settle()
	}
	return true
}

// feed gives the core one input and does what it asks for, in order.
func (a *actor) feed(in any) {
	if a.refusal != "" {
		return // Whoever waited was told; the process is gone.
	}
	a.queue = append(a.queue, in)
	if a.feeding {
		return
	}
	a.feeding = true
	for len(a.queue) > 0 && a.refusal == "" {
		next := a.queue[0]
		a.queue = a.queue[1:]
		for _, x := range a.core.next(next, time.Now()) {
			a.effect(x)
		}
	}
	a.queue, a.feeding = nil, false
}

// settle ends the handling of one message: what was collected goes out, what
// nobody needs is forgotten, the clock is set.
func (a *actor) settle() {
	for _, p := range a.dirty {
		a.flush(p)
	}
	clear(a.dirty)
	a.dirty = a.dirty[:0]
	for _, conv := range a.left {
		if p := a.peers[conv]; p != nil && a.core.sessions[conv] == nil && a.opening[conv] == nil {
			a.drop(p)
		}
	}
	a.left = a.left[:0]
	if talk := a.process.get(); talk != nil && a.free > 0 {
		talk.Credit(a.free)
		a.free = 0
	}
	a.wind()
	a.factsChanged()
}

// wind sets the clock for the core.
func (a *actor) wind() {
	at := a.core.due()
	if a.leaving || a.refusal != "" || at.IsZero() || !a.timer.IsZero() && !at.Before(a.timer) {
		return // A clock that rings too early asks again.
	}
	a.timer = at
	a.after(due{}, max(time.Until(at), time.Millisecond))
}

func (a *actor) after(message any, d time.Duration) {
	if _, err := a.SendAfter(a.PID(), message, d); err != nil {
		a.Log().Error("timer lost type=%T err=%q", message, err)
	}
}

// report tells the supervisor. One that is gone ends us, too.
func (a *actor) report(s msg.Status) {
	s.Name = a.self
	_ = a.Send(a.Parent(), s)
}

// end is the last thing that this actor does.
func (a *actor) end(reason error) error {
	a.leaving = true
	for _, w := range a.asked {
		if err := a.SendResponse(w.pid, w.ref, msg.Done{}); err != nil {
			a.Log().Debug("answer not delivered err=%q", err)
		}
	}
	_ = a.Send(msg.Inspect, msg.Facts{Name: string(a.self)})
	return reason
}

// Terminate ends the engine at once if it still runs. It must not wait.
func (a *actor) Terminate(error) {
	if a.process != nil {
		a.process.end()
	}
}

// effect does one thing that the core asks for.
func (a *actor) effect(x effect) {
	switch x := x.(type) {
	case spawn:
		a.launch()
	case write:
		talk := a.process.get()
		if talk == nil {
			break // Its end is on the way.
		}
		if err := talk.Send(x.line); err != nil {
			a.feed(unread{err})
		}
	case stop:
		if talk := a.process.get(); talk != nil {
			go stopChild(talk, x.grace)
		}
	case kill:
		a.log(slog.LevelWarn, "engine ended by force: "+x.why)
		if talk := a.process.get(); talk != nil {
			talk.Kill()
		}
	case owns:
		_ = a.Send(a.Parent(), msg.Owns{Host: a.self, Conversation: msg.ConversationName(x.conv)})
	case released:
		_ = a.Send(a.Parent(), msg.Released{Conversation: msg.ConversationName(x.conv)})
		a.left = append(a.left, x.conv)
	case ready:
		a.ready = true
		a.introduce(x.caps)
	case offers:
		a.told.Models = x.models
		a.report(msg.Status{State: msg.StateRunning, Detail: a.told})
	case reply:
		a.answer(x.token, x.value, x.failure)
	case readDisk:
		a.readDisk(x.token)
	case died:
		a.died(x)
	case note:
		a.log(x.level, x.text)
	default:
		a.toConversation(x)
	}
}

// toConversation does what is for one conversation.
func (a *actor) toConversation(x effect) {
	switch x := x.(type) {
	case attached:
		a.tell(x.conv, msg.HostResume{Handle: x.engineID})
	case opened:
		a.tell(x.conv, msg.HostOpened{Turn: x.turn})
	case emit:
		a.emit(x)
	case called:
		a.tell(x.conv, msg.HostCall{Turn: x.turn, ID: x.id, Kind: x.kind, Paths: x.paths})
	case asked:
		a.tell(x.ask.conv, prompted(x.ask, x.ask.lastingOnly()))
	case withdrawn:
		a.tell(x.conv, msg.HostWithdrawn{ID: x.id})
	case unanswered:
		// The engine waits on: it is asked again, of a person.
		a.tell(x.ask.conv, msg.HostSaid{Level: contract.LevelWarning, Text: x.failure.Message})
		a.tell(x.ask.conv, prompted(x.ask, true))
	case refused:
		a.tell(x.conv, msg.HostRefused{Turn: x.turn, Text: x.failure.Message, Gone: x.failure.Code == contract.CodeNotFound})
		a.left = append(a.left, x.conv)
	case used:
		a.tell(x.conv, msg.HostUsed{
			Turn: x.turn, Model: x.model, Input: x.usage.Input, Output: x.usage.Output,
			CacheRead: x.usage.CacheRead, CacheWrite: x.usage.CacheWrite, CostUSD: x.cost,
		})
	case notice:
		a.tell(x.conv, msg.HostSaid{Level: x.level, Text: x.text, Once: x.once})
	case shown:
		a.tell(x.conv, msg.HostMode{Mode: contract.EngineMode{Mode: x.mode, Label: x.label, Honoured: x.honoured, Later: x.later}})
	default:
		a.Log().Error("effect not known type=%T", x)
	}
}

// prompted is a permission request as its conversation gets it.
func prompted(q ask, lasting bool) msg.Ask {
	return msg.Ask{
		Turn: q.turn, ID: q.id, Name: q.name, Arguments: q.arguments, Lasting: lasting,
		Call: q.callID, Kind: q.kind, Paths: slices.Clone(q.paths),
	}
}

func (a *actor) log(level slog.Level, text string) {
	a.opt.Logger.Log(context.Background(), level, text, "actor", string(a.self))
}

// introduce tells what the engine said of itself and asks for its models.
func (a *actor) introduce(c capabilities) {
	a.told = c.facts()
	if talk := a.process.get(); talk != nil {
		a.told.PID = talk.PID()
	}
	a.report(msg.Status{State: msg.StateRunning, Detail: a.told})
	a.feed(query{kind: queryModels})
}

// readDisk reads the sessions of packetcode's own folder beside the mailbox.
func (a *actor) readDisk(token any) {
	node, self, home, log := a.Node(), a.PID(), a.opt.HomeDir, a.opt.Logger
	go func() {
		done := diskRead{token: token}
		defer func() { _ = recover(); _ = node.Send(self, done) }()
		held, err := HeldOnDisk(os.DirFS(EngineHome(os.Getenv, home)))
		if err != nil {
			log.Warn("sessions of the engine not read", "reason", err)
		}
		done.held = held
	}()
}

// died is the end of the engine, or that it could not be started. Everything
// that it had said was handed on before.
func (a *actor) died(x died) {
	for _, p := range a.peers {
		a.flush(p)
	}
	a.refusal = x.text
	reason := begins(x.reason, reasonBytes)
	for conv := range a.opening {
		a.refuseOpening(conv, x.text)
	}
	end := finish{errors.New(reason)}
	switch {
	case x.asked:
		end.reason = gen.TerminateReasonShutdown
	case x.incompatible:
		a.report(msg.Status{State: msg.StateIncompatible, LastReason: reason})
		end.reason = msg.ErrIncompatible
	default:
		a.report(msg.Status{State: msg.StateFailed, LastReason: reason})
	}
	if !a.ready && !x.asked {
		// Who was told of this host just now is still about to send.
		a.after(end, a.opt.waits.refusals)
		return
	}
	// Deliberate: a message to oneself. What conversations have sent by now is
	// answered before the end.
	if err := a.Send(a.PID(), end); err != nil {
		a.Log().Error("end not delivered err=%q", err)
	}
}
