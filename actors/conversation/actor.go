package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Options is what every conversation of the service shares.
type Options struct {
	// BootID names this run of the service.
	BootID    string
	Publisher msg.Publisher
	NewTurn   msg.TurnFactory
	// Idle is how long a conversation that nobody needs stays awake; 0 means
	// for ever.
	Idle time.Duration
	// Models lists a row's models, for capabilities and failover.
	Models func(contract.RowID) []contract.Model
	// Window is a model's context window in tokens, 0 when unknown.
	Window func(contract.ProviderID, string) uint64
	// SaveEvery is how long a change may wait for its save; 0 means
	// config.SaveDebounce's safe fraction.
	SaveEvery time.Duration
	// Now is the clock.
	Now func() time.Time
}

// New returns the factory of a conversation. Its one argument at Init is the
// contract.ConversationID; the actor registers msg.ConversationName itself.
func New(o Options) gen.ProcessFactory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SaveEvery == 0 {
		// A save takes a moment itself; half of what may be missing after a
		// kill leaves room for it.
		o.SaveEvery = config.SaveDebounce / 2
	}
	return func() gen.ProcessBehavior { return &actor{opt: o} }
}

type actor struct {
	act.Actor
	opt  Options
	core *core

	alias  gen.Alias // Of the running turn's process.
	turn   contract.TurnID
	waits  []effect // Messages for a turn that is not spawned yet.
	saving *saving
	saved  saved
	timer  bool // A flush is on its way.
	again  bool // Save once more when the one on its way is done.
	rev    uint64
	failed bool // The last save failed; said so once.

	backlog  []publish // What the log did not take, in order.
	watched  time.Time // Somebody looks until then.
	lastUsed time.Time
	idleSaid bool
	draining []asker
	leaving  bool
	facts    facts
}

// asker waits for a deferred answer.
type asker struct {
	pid gen.PID
	ref gen.Ref
}

// saving is the save that is on its way.
type saving struct {
	rev  uint64
	next saved
}

type (
	boot  struct{}
	flush struct{}
	tick  struct{}
	// retryLog publishes the backlog again.
	retryLog struct{}
	// turnReady brings what a turn needs from outside the conversation.
	turnReady struct {
		spec     msg.TurnSpec
		failover bool
		err      error
	}
	// turnGone comes behind everything the turn's process had said.
	turnGone struct {
		alias gen.Alias
		why   string
	}
)

// Init stores the id, takes the name and does the rest from the mailbox.
func (a *actor) Init(args ...any) error {
	id, ok := args[0].(contract.ConversationID)
	if !ok {
		return fmt.Errorf("conversation: want an id, got %T", args[0])
	}
	a.core = newCore(id, a.opt.BootID)
	if a.opt.Models != nil {
		a.core.models = a.opt.Models
	}
	if a.opt.Window != nil {
		a.core.window = a.opt.Window
	}
	if err := a.RegisterName(msg.ConversationName(id)); err != nil {
		return err
	}
	return a.Send(a.PID(), boot{})
}

// HandleMessage runs one message and then its effects.
func (a *actor) HandleMessage(from gen.PID, message any) error {
	now := a.opt.Now()
	c := a.core
	switch m := message.(type) {
	case msg.Emitted:
		c.emitted(now, m.Turn, m.Events)
		a.run(now)
		if m.Turn == a.turn {
			_ = a.SendAlias(a.alias, msg.EmittedAck{}) // A turn that is gone needs none.
		}
		return nil
	case msg.RequestOpened:
		c.requestOpened(m.Turn)
	case msg.Reasoned:
		c.reasoned(m.Turn, m.Details)
	case msg.RequestUsage:
		c.usage(now, m)
	case msg.LedgerWritten:
		if m.Turn == a.turn {
			_ = a.SendAlias(a.alias, m)
		}
	case msg.ToolFacts:
		c.toolFacts(m)
	case msg.Ask:
		c.ask(now, m)
	case msg.AskEdit:
		c.askEdit(now, m)
	case msg.TurnClosed:
		c.closed(now, m.Turn, m.Tools)
	case turnReady:
		a.ready(now, m)
	case gen.MessageDownAlias:
		// It overtakes what the turn had said; in the mailbox it waits its turn.
		return a.Send(a.PID(), turnGone{m.Alias, fmt.Sprint(m.Reason)})
	case turnGone:
		if m.alias == a.alias && c.live != nil && c.live.id == a.turn {
			c.failTurn(now, a.turn, "The turn ended unexpectedly inside PacketBench; send again to retry.")
			a.Log().Error("turn process ended early conv=%s turn=%s reason=%s", string(c.id), string(a.turn), m.why)
		}
	case permissionExpired:
		c.expirePermission(now, m.id)
	case editExpired:
		c.expireEdit(now, m.id)
	case cancelOverdue:
		c.overdue(now, m.turn)
	case boot:
		return a.boot(now)
	case flush:
		a.timer = false
		a.flush(now)
		return nil
	case msg.Saved:
		a.savedOne(now, m)
	case retryLog:
		a.retryLog(now)
		return nil
	case msg.Watch:
		if m.Until.After(a.watched) {
			a.watched = m.Until
		}
	case tick:
		return a.tick(now)
	case msg.Sleep:
		if a.mayStop(now) {
			return a.sleep(now)
		}
		return a.Send(a.Parent(), msg.Idle{})
	default:
		a.Log().Warning("message not known type=%T", message)
	}
	a.run(now)
	return nil
}

// boot loads the file; everything else waits in the mailbox meanwhile.
func (a *actor) boot(now time.Time) error {
	reply, err := a.CallWithTimeout(msg.Store, msg.LoadConversation{ID: a.core.id}, 10)
	if err != nil {
		return fmt.Errorf("conversation: load %s: %w", a.core.id, err)
	}
	loaded, ok := reply.(msg.LoadedConversation)
	if !ok {
		return fmt.Errorf("conversation: load %s: unexpected answer %T", a.core.id, reply)
	}
	if loaded.Err != nil {
		a.Log().Warning("conversation file not read conv=%s reason=%s", string(a.core.id), loaded.Err)
	}
	a.lastUsed = now
	a.saved = saved{neverWritten: true}
	if loaded.Found {
		head, err := journalHead(loaded.Record)
		if err != nil {
			return fmt.Errorf("conversation: load %s: %w", a.core.id, err)
		}
		a.saved = saved{head: head, index: -1, fileSize: loaded.FileBytes, journal: loaded.JournalBytes, known: true}
		a.core.adopt(now, loaded.Record)
	}
	a.run(now)
	return a.watchIdle(now)
}

// HandleCall answers commands; failures are values.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	now := a.opt.Now()
	switch m := request.(type) {
	case msg.Command:
		a.lastUsed = now
		return a.command(now, m), a.leave()
	case msg.Drain:
		a.draining = append(a.draining, asker{from, ref})
		a.leaving = true
		a.core.cancel(now)
		a.run(now)
		return nil, nil
	}
	return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "A conversation was asked something it does not know (%T).", request)}, nil
}

// leave is the reason to end after a command: a conversation that was deleted.
func (a *actor) leave() error {
	if a.core.deleted {
		return gen.TerminateReasonNormal
	}
	return nil
}

func (a *actor) command(now time.Time, m msg.Command) msg.Reply {
	c := a.core
	switch m.Method {
	case contract.MethodGetConversation:
		return a.snapshot()
	case contract.MethodDelete:
		return a.remove(now)
	}
	if a.leaving && startsTurn(m.Method) {
		return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "The service is stopping; start it again and send then.")}
	}
	result, failure := c.command(now, m.Method, m.Params, outside{checkProject: checkProject, system: systemPrompt})
	if m.Method == contract.MethodStart && failure == nil {
		a.send(msg.Store, msg.BumpLaunch{Provider: c.rec.Provider})
	}
	a.run(now)
	return msg.Reply{Result: result, Failure: failure}
}

func startsTurn(m contract.Method) bool {
	return m == contract.MethodStart || m == contract.MethodSend || m == contract.MethodRetry ||
		m == contract.MethodApprovePlan || m == contract.MethodOneShot
}

// snapshot is true at the head of the log: this actor publishes nothing while
// it answers, and everything it published is at or below the head.
func (a *actor) snapshot() msg.Reply {
	if a.core.rec == nil || a.core.oneShotOnly {
		return msg.Reply{Failure: contract.Fail(contract.CodeNotFound, "%s%s", contract.TextNoSession, a.core.id)}
	}
	if len(a.backlog) > 0 {
		return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "The event log is not available just now; try again in a moment.")}
	}
	return msg.Reply{Result: contract.Snapshot{Conversation: a.core.view(), Seq: a.opt.Publisher.Head()}}
}

// remove deletes the conversation for good.
func (a *actor) remove(now time.Time) msg.Reply {
	c := a.core
	if c.rec == nil {
		return msg.Reply{Failure: contract.Fail(contract.CodeNotFound, "%s%s", contract.TextNoSession, c.id)}
	}
	c.cancel(now)
	c.do(endTurn{}, release{c.tools})
	c.tools = nil
	a.run(now)
	reply, err := a.CallWithTimeout(msg.Store, msg.DeleteConversation{ID: c.id}, 5)
	if err == nil {
		if done, ok := reply.(msg.Done); ok {
			err = done.Err
		}
	}
	if err != nil {
		a.Log().Error("conversation not deleted conv=%s reason=%s", string(c.id), err)
		return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "The conversation could not be deleted: %s", err)}
	}
	c.live = nil
	c.say(contract.WhatDeleted, empty{})
	c.deleted = true
	a.run(now)
	return msg.Reply{Result: empty{}}
}

// send is a Send whose failure only a log can hear.
func (a *actor) send(to gen.Atom, message any) {
	if err := a.Send(to, message); err != nil && !errors.Is(err, gen.ErrProcessUnknown) {
		a.Log().Warning("message not delivered to=%s type=%T reason=%s", string(to), message, err)
	}
}

// run does what the core asked for, in order.
func (a *actor) run(now time.Time) {
	for effects := a.core.take(); len(effects) > 0; effects = a.core.take() {
		for _, e := range effects {
			a.effect(now, e)
		}
	}
	a.tell(now)
}

func (a *actor) effect(now time.Time, e effect) {
	switch e := e.(type) {
	case publish:
		a.publish(now, e)
	case save:
		a.scheduleSave(e.now)
	case toTurn:
		a.toTurn(e.message)
	case toStore:
		if a.core.deleted || (a.core.oneShotOnly && !isLedger(e.message)) {
			return
		}
		a.send(msg.Store, e.message)
	case startTurn:
		a.turn, a.alias, a.waits = e.spec.Turn, gen.Alias{}, nil
		a.prepare(e.spec)
	case endTurn:
		if a.alias != (gen.Alias{}) {
			_ = a.DemonitorAlias(a.alias)
			_ = a.SendExitMeta(a.alias, gen.TerminateReasonNormal)
		}
		a.alias, a.turn, a.waits = gen.Alias{}, "", nil
	case later:
		if _, err := a.SendAfter(a.PID(), e.message, e.after); err != nil {
			a.Log().Warning("timer not set type=%T reason=%s", e.message, err)
		}
	case release:
		releaseTools(e.tools)
	}
}

func isLedger(message any) bool { _, ok := message.(msg.AppendLedger); return ok }

// releaseTools ends what the tools of a conversation left running.
func releaseTools(tools any) {
	if run, ok := tools.(*tool.Runtime); ok && run != nil {
		// Closing kills process groups and waits for them; not here.
		go run.Close()
	}
}

func (a *actor) toTurn(message any) {
	if a.alias == (gen.Alias{}) {
		return // Answers only follow questions, and those need a process.
	}
	_ = a.SendAlias(a.alias, message)
}

// publish hands an event to the log. What the log does not take waits here, in
// order, and a running turn ends: nothing may be shown that cannot be replayed.
func (a *actor) publish(now time.Time, p publish) {
	if len(a.backlog) == 0 {
		_, err := a.opt.Publisher.Publish(p.subject, p.turn, p.payload)
		if err == nil {
			return
		}
		if !errors.Is(err, msg.ErrBusDown) {
			a.Log().Error("event refused by the log conv=%s subject=%s bytes=%d reason=%s", string(a.core.id), p.subject, len(p.payload), err)
			a.stopTurn(now, "One event of this turn could not be recorded ("+err.Error()+"), so the turn was stopped.")
			return
		}
		if _, err := a.SendAfter(a.PID(), retryLog{}, 250*time.Millisecond); err != nil {
			a.Log().Warning("timer not set reason=%s", err)
		}
	}
	a.backlog = append(a.backlog, p)
	a.stopTurn(now, "The event log takes nothing more (is the disk full?), so the turn was stopped. Make room, then send again.")
}

// stopTurn ends a turn whose events cannot be recorded, once.
func (a *actor) stopTurn(now time.Time, why string) {
	c := a.core
	if c.live == nil || c.live.ended || c.live.cancelled {
		return
	}
	turn := c.live.id
	c.live.cancelled = true
	c.do(toTurn{msg.CancelTurn{}})
	c.failTurn(now, turn, why)
}

func (a *actor) retryLog(now time.Time) {
	for len(a.backlog) > 0 {
		p := a.backlog[0]
		if _, err := a.opt.Publisher.Publish(p.subject, p.turn, p.payload); err != nil {
			if _, err := a.SendAfter(a.PID(), retryLog{}, time.Second); err != nil {
				a.Log().Warning("timer not set reason=%s", err)
			}
			return
		}
		a.backlog = a.backlog[1:]
	}
	a.backlog = nil
	a.run(now)
}

// prepare fetches the key and the settings beside the mailbox: a keyring may
// take seconds.
func (a *actor) prepare(spec msg.TurnSpec) {
	node, self := a.Node(), a.PID()
	go func() {
		ready := turnReady{spec: spec}
		defer func() {
			if fault := recover(); fault != nil {
				ready.err = fmt.Errorf("the turn could not be prepared inside PacketBench (%v)", fault)
			}
			_ = node.Send(self, ready)
		}()
		if spec.OneShot && spec.Provider == "" {
			if ready.spec.Provider, ready.spec.Model, ready.err = cheapest(node, spec.Task); ready.err != nil {
				return
			}
		}
		ready.spec.Key, ready.err = fetchKey(node, ready.spec.Provider)
		if ready.err != nil {
			return
		}
		reply, err := node.CallWithTimeout(msg.Store, msg.GetSettings{}, 5)
		settings, ok := reply.(msg.Settings)
		if err != nil || !ok {
			ready.err = errors.New("the settings could not be read just now; send again to retry")
			return
		}
		ready.spec.Settings = settings.Providers
		ready.failover = wantsFailover(settings.App)
	}()
}

func fetchKey(node gen.Node, provider contract.ProviderID) (msg.Key, error) {
	row, err := contract.RowForProvider(provider)
	if err != nil || row.Account == "" {
		return "", err
	}
	reply, err := node.CallWithTimeout(msg.Secret, msg.GetKey{Account: row.Account}, 8)
	if err != nil {
		return "", errors.New("the key store did not answer; send again to retry")
	}
	found, ok := reply.(msg.FoundKey)
	if !ok {
		return "", fmt.Errorf("the key store gave an unexpected answer (%T)", reply)
	}
	var none msg.NoKeyError
	if row.KeyOptional && errors.As(found.Err, &none) {
		return "", nil
	}
	return found.Key, found.Err
}

// wantsFailover reads the setting; absent means on.
func wantsFailover(app json.RawMessage) bool {
	var s struct {
		AutoFailover *bool `json:"auto_failover"`
	}
	return json.Unmarshal(app, &s) != nil || s.AutoFailover == nil || *s.AutoFailover
}

// ready spawns the turn, unless it was cancelled while it was prepared.
func (a *actor) ready(now time.Time, r turnReady) {
	c := a.core
	if r.err != nil {
		c.failTurn(now, r.spec.Turn, sentence(r.err))
		return
	}
	if !c.started(r.spec.Turn) {
		return
	}
	c.live.autoRetry = r.failover
	r.spec.Posture = c.posture()
	alias, err := a.SpawnMeta(a.opt.NewTurn(r.spec), gen.MetaOptions{})
	if err != nil {
		c.failTurn(now, r.spec.Turn, "The turn could not be started inside PacketBench; send again to retry.")
		a.Log().Error("turn not started conv=%s reason=%s", string(c.id), err)
		return
	}
	a.alias = alias
	if err := a.MonitorAlias(alias); err != nil { // Gone already.
		c.failTurn(now, r.spec.Turn, "The turn ended unexpectedly inside PacketBench; send again to retry.")
	}
}

// Terminate frees the tools. The file is at most one save behind by now.
func (a *actor) Terminate(error) {
	if a.core != nil {
		releaseTools(a.core.tools)
	}
}
