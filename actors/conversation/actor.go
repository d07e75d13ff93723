package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
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
	// Narrow takes out of a row's capabilities what its engine does not offer;
	// nil leaves them as they are.
	Narrow func(contract.ProviderID, contract.Capabilities) contract.Capabilities
	// Window is a model's context window in tokens, 0 when unknown.
	Window func(contract.ProviderID, string) uint64
	// Desk deals with the project folder; nil refuses worktrees and leaves the
	// system prompt to the built-in one.
	Desk Desk
	// Prices is the user's own price table, nil for none: for the ledger lines
	// of turns that run elsewhere.
	Prices *llm.PriceTable
	// SaveEvery is how long a change may wait for its save; 0 means
	// config.SaveDebounce's safe fraction.
	SaveEvery time.Duration
	// Now is the clock.
	Now func() time.Time

	// Tests shorten these.
	waits waits
	pause pauses
}

// pauses are the waits of the shell.
type pauses struct {
	// saveRetry is how long a failed save waits for its next try; saveLost how
	// long the store may take to answer one.
	saveRetry, saveLost time.Duration
	// startReply is how long a start may take to be answered; less than the
	// doors wait.
	startReply time.Duration
	// loadRetry lies between tries to load while the store is not there.
	loadRetry time.Duration
}

var productPauses = pauses{saveRetry: 2 * time.Second, saveLost: 15 * time.Second, startReply: 4 * time.Second, loadRetry: 150 * time.Millisecond}

// reservedID is the one valid id that cannot be a conversation, in any case of
// its letters: its file would be the list of conversations.
const reservedID = "index"

func reserved(id contract.ConversationID) bool { return strings.EqualFold(string(id), reservedID) }

// loadTries times loadRetry is how long a restart of the store may take.
const loadTries = 25

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
	if o.waits == (waits{}) {
		o.waits = productWaits
	}
	if o.pause == (pauses{}) {
		o.pause = productPauses
	}
	return func() gen.ProcessBehavior { return &actor{opt: o} }
}

type actor struct {
	act.Actor
	opt  Options
	core *core

	// booted: the file was read. What comes before that waits in early.
	booted bool
	early  []early
	tries  int
	// unreadable is why the file could not be read, a sentence. Nothing is
	// saved then, so that a file that may be good is not replaced.
	unreadable error

	alias  gen.Alias // Of the running turn's process.
	turn   contract.TurnID
	starts []starting
	host   host
	// launch is the start that is checked against the cost limits.
	launch *launch
	held   []launch

	// besides counts work beside the mailbox, which holds the actor awake;
	// looking says that the project is looked at while somebody watches.
	besides  int
	looking  bool
	expected time.Time // Somebody will look until then, see expectViewer.

	saving *saving
	saved  saved
	// timer and urgent: a flush is on its way, after a wait and at once.
	timer, urgent bool
	// again: save once more when the one on its way is done; againNow without
	// a wait. dirty is when the oldest unsaved change came.
	again, againNow bool
	dirty           time.Time
	rev             uint64
	failed          bool // The last save failed; said so once.

	backlog  []publish // What the log did not take, in order.
	owed     int       // Credits of the running turn that wait for the log.
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

// early is what came before the file was read.
type early struct {
	asker
	call    bool
	message any
}

// starting is a start whose answer waits until its transport runs, or cannot.
type starting struct {
	asker
	turn   contract.TurnID
	result any
}

// saving is the save that is on its way.
type saving struct {
	rev  uint64
	next saved
	stop gen.CancelFunc
}

type (
	boot  struct{}
	flush struct{ timed bool }
	tick  struct{}
	// saveLost: the store was restarted with a save in its mailbox.
	saveLost struct{ rev uint64 }
	// startSlow: a keyring takes its time.
	startSlow struct{ turn contract.TurnID }
	// creditDue looks whether the log has caught up with a turn.
	creditDue struct{ turn contract.TurnID }
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
	a.core.waits = a.opt.waits
	if a.opt.Models != nil {
		a.core.models = a.opt.Models
	}
	if a.opt.Narrow != nil {
		a.core.narrow = a.opt.Narrow
	}
	if a.opt.Window != nil {
		a.core.window = a.opt.Window
	}
	a.core.prices = a.opt.Prices
	a.core.desk = a.opt.Desk != nil
	if err := a.RegisterName(msg.ConversationName(id)); err != nil {
		return err
	}
	return a.Send(a.PID(), boot{})
}

// HandleMessage runs one message and then its effects.
func (a *actor) HandleMessage(from gen.PID, message any) error {
	now := a.opt.Now()
	c := a.core
	if !a.booted {
		if _, ok := message.(boot); !ok {
			a.early = append(a.early, early{asker: asker{pid: from}, message: message})
			return nil
		}
	}
	switch m := message.(type) {
	case msg.Emitted:
		c.emitted(now, m.Turn, m.Events)
		a.run(now)
		a.credit(m.Turn)
		a.owe(from)
		return nil
	case creditDue:
		a.payCredits(m.turn)
		return nil
	case msg.RequestOpened:
		c.requestOpened(m.Turn)
	case msg.Reasoned:
		c.reasoned(m.Turn, m.Details)
	case msg.RequestUsage:
		c.usage(now, m)
	case msg.LedgerWritten:
		if m.Turn == a.turn && a.alias != (gen.Alias{}) {
			_ = a.SendAlias(a.alias, m)
		} else if m.Err != nil && c.hosted() {
			c.notice(now, contract.LevelWarning, "The usage of a turn is not in the ledger: "+sentence(m.Err))
		}
		a.warn(now, m.Warnings)
	case msg.ToolFacts:
		c.toolFacts(m)
	case msg.Ask:
		c.ask(now, m)
	case msg.AskEdit:
		c.askEdit(now, m)
	case msg.TurnClosed:
		c.closed(now, m.Turn, m.Tools)
		a.look(now, lookFresh)
	case besideDone:
		return a.besideEnded(now, m)
	case fileWritten:
		c.wrote(m.path, m.hash)
	case looked:
		a.saw(m)
	case lookDue:
		a.lookAgain(now)
	case turnReady:
		a.ready(now, m)
	case launched:
		if err := a.checked(now, m); err != nil {
			return err
		}
	case gen.MessageDownAlias:
		// It overtakes what the turn had said; in the mailbox it waits its turn.
		return a.Send(a.PID(), turnGone{m.Alias, fmt.Sprint(m.Reason)})
	case turnGone:
		if m.alias == a.alias && c.live != nil && c.live.id == a.turn {
			c.failTurn(now, a.turn, "The turn ended unexpectedly inside PacketBench; send again to retry.")
			a.Log().Error("turn process ended early conv=%s turn=%s reason=%s", string(c.id), string(a.turn), m.why)
		}
	case permissionExpired:
		c.expirePermission(now, m)
	case editExpired:
		c.expireEdit(now, m)
	case cancelOverdue:
		c.overdue(now, m.turn)
	case boot:
		return a.boot(now)
	case flush:
		if m.timed {
			a.timer = false
		} else {
			a.urgent = false
		}
		a.flush(now)
	case msg.Saved:
		a.savedOne(now, m)
	case saveLost:
		a.savedOne(now, msg.Saved{Rev: m.rev, Err: errStoreAway})
	case startSlow:
		a.answerStart(m.turn, nil)
	case retryLog:
		a.retryLog(now)
	case msg.Watch:
		if m.Until.After(a.watched) {
			a.watched = m.Until
		}
		a.watchProject(now)
	case tick:
		return a.tick(now)
	case msg.Sleep:
		if a.mayStop(now) {
			return a.sleep(now)
		}
		a.idleSaid = false
		return a.Send(a.Parent(), msg.Idle{})
	default:
		if !a.fromHost(now, message) {
			a.Log().Warning("message not known type=%T", message)
		}
	}
	a.run(now)
	return nil
}

// boot loads the file; everything else waits in the mailbox meanwhile.
func (a *actor) boot(now time.Time) error {
	reply, err := a.CallWithTimeout(msg.Store, msg.LoadConversation{ID: a.core.id}, 10)
	if (errors.Is(err, gen.ErrProcessUnknown) || errors.Is(err, gen.ErrProcessTerminated)) && a.tries < loadTries {
		// The store is being restarted.
		a.tries++
		_, err := a.SendAfter(a.PID(), boot{}, a.opt.pause.loadRetry)
		return err
	}
	if err != nil {
		return fmt.Errorf("conversation: load %s: %w", a.core.id, err)
	}
	loaded, ok := reply.(msg.LoadedConversation)
	if !ok {
		return fmt.Errorf("conversation: load %s: unexpected answer %T", a.core.id, reply)
	}
	if loaded.Err != nil {
		a.unreadable = loaded.Err
		a.Log().Warning("conversation file not read conv=%s reason=%s", string(a.core.id), loaded.Err)
	}
	a.lastUsed = now
	a.saved = saved{neverWritten: true}
	if loaded.Found {
		head, err := journalHead(loaded.Record)
		if err != nil {
			return fmt.Errorf("conversation: load %s: %w", a.core.id, err)
		}
		a.saved = saved{head: head, index: -1, messages: len(loaded.Record.Messages), fileSize: loaded.FileBytes, journal: loaded.JournalBytes, known: true}
		a.core.adopt(now, loaded.Record)
	}
	a.run(now)
	a.booted = true
	a.watchIdle()
	for len(a.early) > 0 {
		e := a.early[0]
		a.early = a.early[1:]
		if !e.call {
			if err := a.HandleMessage(e.pid, e.message); err != nil {
				return err
			}
			continue
		}
		answer, err := a.HandleCall(e.pid, e.ref, e.message)
		if answer != nil {
			_ = a.SendResponse(e.pid, e.ref, answer)
		}
		if err != nil {
			return err
		}
	}
	a.early = nil
	return nil
}

// HandleCall answers commands; failures are values.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	if !a.booted {
		a.early = append(a.early, early{asker: asker{from, ref}, call: true, message: request})
		return nil, nil
	}
	now := a.opt.Now()
	switch m := request.(type) {
	case msg.Command:
		a.lastUsed = now
		if a.holds(asker{from, ref}, m) {
			return nil, nil
		}
		return a.serve(asker{from, ref}, m)
	case msg.Fork:
		return a.adoptFork(now, m), nil
	case msg.Drain:
		a.draining = append(a.draining, asker{from, ref})
		a.leaving = true
		a.core.leave(now)
		a.run(now)
		if a.failed && a.saving == nil {
			a.flush(now) // One more try; the answer says how it went.
			a.run(now)
		}
		return nil, nil
	}
	return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "A conversation was asked something it does not know (%T).", request)}, nil
}

// serve carries out one command; no answer means a later one.
func (a *actor) serve(who asker, m msg.Command) (any, error) {
	if reply, mine := a.serveBeside(who, m); mine {
		return reply, nil
	}
	ref := a.core.session.ref
	reply := a.command(a.opt.Now(), m)
	if m.Method == contract.MethodStart && reply.Failure == nil {
		a.expectViewer(a.opt.Now())
	}
	if m.Method == contract.MethodStart && a.waitsForStart(who, reply) || a.waitsForSetting(who, m.Method, ref, reply) {
		return nil, nil
	}
	return reply, a.leave()
}

// waitsForStart keeps the answer of a start until its transport runs: a start
// that fails is an error event and an error reply (contract.md 6.2).
func (a *actor) waitsForStart(who asker, r msg.Reply) bool {
	result, ok := r.Result.(contract.StartResult)
	if !ok || r.Failure != nil || result.TurnID == "" || result.TurnID != a.turn || a.alias != (gen.Alias{}) {
		return false
	}
	if _, err := a.SendAfter(a.PID(), startSlow{result.TurnID}, a.opt.pause.startReply); err != nil {
		return false
	}
	a.starts = append(a.starts, starting{who, result.TurnID, result})
	return true
}

// answerStart answers the starts that wait for a turn.
func (a *actor) answerStart(turn contract.TurnID, failure *contract.Failure) {
	a.starts = slices.DeleteFunc(a.starts, func(s starting) bool {
		if s.turn != turn {
			return false
		}
		reply := msg.Reply{Result: s.result}
		if failure != nil {
			reply = msg.Reply{Failure: failure}
		}
		_ = a.SendResponse(s.pid, s.ref, reply)
		return true
	})
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
	if reserved(c.id) {
		return msg.Reply{Failure: contract.BadParam("session_id", "%q is reserved", string(c.id))}
	}
	if a.unreadable != nil && m.Method != contract.MethodDelete {
		return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "%s", sentence(a.unreadable))}
	}
	switch m.Method {
	case contract.MethodGetConversation:
		return a.snapshot()
	case contract.MethodDelete:
		return a.remove(now)
	}
	if a.leaving && startsTurn(m.Method) {
		return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "The service is stopping; start it again and send then.")}
	}
	if len(a.backlog) > 0 && startsTurn(m.Method) {
		return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "%s", textLogFull)}
	}
	result, failure := c.command(now, m.Method, m.Params, outside{checkProject: checkProject, system: systemPrompt})
	if m.Method == contract.MethodStart && failure == nil {
		a.send(msg.Store, msg.BumpLaunch{Provider: c.rec.Provider})
	}
	a.run(now)
	return msg.Reply{Result: result, Failure: failure}
}

func startsTurn(m contract.Method) bool {
	return m == contract.MethodStart || m == contract.MethodSend || m == contract.MethodRetry || m == contract.MethodRestore ||
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
	if c.rec == nil && a.unreadable == nil {
		return msg.Reply{Failure: contract.Fail(contract.CodeNotFound, "%s%s", contract.TextNoSession, c.id)}
	}
	c.cancel(now)
	if c.live != nil { // It is not waited for.
		if !c.live.ended {
			c.apply(now, contract.Done{Cancelled: true})
		}
		c.closed(now, c.live.id, c.tools)
	}
	c.closeSession()
	c.do(release{c.tools})
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
	c.say(contract.WhatDeleted, empty{})
	c.deleted = true
	a.run(now)
	a.send(msg.Inspect, msg.Facts{Name: string(msg.ConversationName(c.id))})
	return msg.Reply{Result: empty{}}
}

// send is a Send whose failure only a log can hear.
func (a *actor) send(to gen.Atom, message any) {
	if err := a.Send(to, message); err != nil && !errors.Is(err, gen.ErrProcessUnknown) {
		a.Log().Warning("message not delivered to=%s type=%T reason=%s", string(to), message, err)
	}
}

// toStore sends to the store. A turn waits for its ledger line, so that one
// hears of a store that is not there.
func (a *actor) toStore(message any) {
	line, billed := message.(msg.AppendLedger)
	if !billed {
		a.send(msg.Store, message)
		return
	}
	if err := a.Send(msg.Store, line); err != nil {
		a.Log().Error("ledger line not written conv=%s turn=%s reason=%s", string(a.core.id), string(line.Turn), err)
		if line.Turn == a.turn {
			a.toTurn(msg.LedgerWritten{Turn: line.Turn, N: line.N, Err: errStoreAway})
		}
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
		a.toStore(e.message)
	case startTurn:
		a.turn, a.alias, a.owed = e.spec.Turn, gen.Alias{}, 0
		a.prepare(e.spec)
	case hostTurn:
		a.prepareHost()
	case toHost:
		a.toHost(e.message)
	case endTurn:
		if a.alias != (gen.Alias{}) {
			_ = a.DemonitorAlias(a.alias)
			_ = a.SendExitMeta(a.alias, gen.TerminateReasonNormal)
		}
		a.alias, a.turn = gen.Alias{}, ""
	case later:
		if _, err := a.SendAfter(a.PID(), e.message, e.after); err != nil {
			a.Log().Warning("timer not set type=%T reason=%s", e.message, err)
		}
	case release:
		releaseTools(e.tools)
	case hashFile:
		a.hashFiles(e.paths)
	}
}

func isLedger(message any) bool { _, ok := message.(msg.AppendLedger); return ok }

// releaseTools ends what the tools of a conversation left running.
func releaseTools(tools any) {
	if state, ok := tools.(msg.ToolState); ok {
		// Closing kills process groups, runs hooks and waits for them; not here.
		go state.Close()
	}
}

func (a *actor) toTurn(message any) {
	if a.core.hosted() {
		if m := hosted(a.core.id, a.turn, message); m != nil {
			a.toHost(m)
		}
		return
	}
	if a.alias == (gen.Alias{}) {
		return // Answers only follow questions, and those need a process.
	}
	_ = a.SendAlias(a.alias, message)
}

// calm is how many waiting events a log may have before a turn is slowed down.
// Eight turns with all their credits out still fit behind it (config.
// PublishWaiting), so a stream that is faster than the disk is never refused.
// creditEvery is how often a slowed turn's conversation looks again: often
// enough that a log that stores 150,000 events a second does not run dry.
const (
	calm        = 1024
	creditEvery = 2 * time.Millisecond
)

// credit lets the turn send more, at once unless the log is behind.
func (a *actor) credit(turn contract.TurnID) {
	if turn != a.turn || a.alias == (gen.Alias{}) {
		return // A turn that is gone needs none.
	}
	a.owed++
	if a.owed == 1 {
		a.payCredits(turn)
	}
}

// payCredits gives back what is owed once the log has caught up. It is called
// again until then.
func (a *actor) payCredits(turn contract.TurnID) {
	if turn != a.turn || a.owed == 0 {
		return
	}
	if log, ok := a.opt.Publisher.(msg.Pressure); ok && log.Waiting() > calm {
		if _, err := a.SendAfter(a.PID(), creditDue{turn}, creditEvery); err == nil {
			return
		}
	}
	for ; a.owed > 0; a.owed-- {
		_ = a.SendAlias(a.alias, msg.EmittedAck{})
	}
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
	a.stopTurn(now, textLogFull)
}

const textLogFull = "The event log takes nothing more just now (is the disk full?), so no turn can run. Make room, then send again."

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
		_, err := a.opt.Publisher.Publish(p.subject, p.turn, p.payload)
		if err != nil && !errors.Is(err, msg.ErrBusDown) {
			a.Log().Error("event refused by the log conv=%s subject=%s bytes=%d reason=%s", string(a.core.id), p.subject, len(p.payload), err)
			err = nil // It never will be taken, and others wait behind it.
		}
		if err != nil {
			if _, err := a.SendAfter(a.PID(), retryLog{}, time.Second); err != nil {
				a.Log().Warning("timer not set reason=%s", err)
			}
			return
		}
		a.backlog = a.backlog[1:]
	}
	a.backlog = nil
}

// prepare fetches the key and the settings beside the mailbox: a keyring may
// take seconds.
func (a *actor) prepare(spec msg.TurnSpec) {
	node, self, trustedAs := a.Node(), a.PID(), a.core.trustedAs()
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
			// That row always exists: it is where the key was looked up.
			row, _ := contract.RowForProvider(ready.spec.Provider)
			ready.spec.Ledger = row.Ledger
			// The limits of the day and the month were checked at the launch.
			if ready.err = mayCost(node, msg.LaunchCheck{Sources: []contract.LedgerSource{row.Ledger}}).Err; ready.err != nil {
				return
			}
		}
		ready.spec.Key, ready.err = fetchKey(node, ready.spec.Provider)
		if ready.err != nil {
			return
		}
		if ready.spec.Ledger != "" {
			if ready.err = ledgerHealthy(node); ready.err != nil {
				return
			}
		}
		reply, err := node.CallWithTimeout(msg.Store, msg.GetSettings{}, 5)
		settings, ok := reply.(msg.Settings)
		if err != nil || !ok {
			ready.err = errors.New("the settings could not be read just now; send again to retry")
			return
		}
		ready.spec.Settings = settings.Providers
		ready.spec.Trusted = !spec.OneShot && trusts(node, trustedAs)
		ready.failover = wantsFailover(settings.App)
	}()
}

// ledgerHealthy fails with a sentence while no request may be made, because
// what it costs could not be written down (runtime.md 2).
func ledgerHealthy(node gen.Node) error {
	reply, err := node.CallWithTimeout(msg.Store, msg.LedgerHealth{}, 5)
	if err != nil {
		return errors.New("the usage ledger did not answer; send again to retry")
	}
	done, ok := reply.(msg.Done)
	if !ok {
		return fmt.Errorf("the usage ledger gave an unexpected answer (%T)", reply)
	}
	return done.Err
}

// trusts asks whether the project may run hooks of its own. Whatever cannot be
// found out is not trusted.
func trusts(node gen.Node, project string) bool {
	reply, err := node.CallWithTimeout(msg.Store, msg.TrustQuestion{ProjectPath: project}, 5)
	answer, ok := reply.(msg.TrustAnswer)
	return err == nil && ok && answer.Trusted
}

func fetchKey(node gen.Node, provider contract.ProviderID) (msg.Key, error) {
	row, err := rowOf(provider)
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
		if c.live != nil && c.live.id == r.spec.Turn {
			a.answerStart(r.spec.Turn, contract.Fail(contract.CodeConflict, "%s", sentence(r.err)))
		}
		a.answerStart(r.spec.Turn, nil) // Cancelled before that: it did start.
		c.failTurn(now, r.spec.Turn, sentence(r.err))
		return
	}
	defer a.answerStart(r.spec.Turn, nil)
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
	a.farewell()
	if a.core != nil {
		releaseTools(a.core.tools)
	}
}

// router is the part of the framework's node that answers in the name of a
// process that has ended; the process itself may not any more.
type router interface {
	RouteSendResponse(from, to gen.PID, o gen.MessageOptions, message any) error
	RouteSendResponseError(from, to gen.PID, o gen.MessageOptions, err error) error
}

// farewell answers everybody who still waits. The framework answers nothing that
// lies in the mailbox of a process that ends: a command would wait for its time
// limit. It hears that the process is gone instead, and the door looks again.
func (a *actor) farewell() {
	r, ok := a.Node().(router)
	if !ok {
		return
	}
	gone := func(who asker) {
		_ = r.RouteSendResponseError(a.PID(), who.pid, gen.MessageOptions{Ref: who.ref}, gen.ErrProcessTerminated)
	}
	for _, s := range a.starts { // They did start.
		_ = r.RouteSendResponse(a.PID(), s.pid, gen.MessageOptions{Ref: s.ref}, msg.Reply{Result: s.result})
	}
	for _, s := range a.host.settings { // They are recorded.
		_ = r.RouteSendResponse(a.PID(), s.pid, gen.MessageOptions{Ref: s.ref}, msg.Reply{Result: s.result})
	}
	for _, l := range a.held {
		gone(l.asker)
	}
	for _, e := range a.early {
		if e.call {
			gone(e.asker)
		}
	}
	a.starts, a.held, a.early = nil, nil, nil
	for next, ok := a.Mailbox().Main.Pop(); ok; next, ok = a.Mailbox().Main.Pop() {
		m, ok := next.(*gen.MailboxMessage)
		if !ok {
			continue
		}
		if m.Type == gen.MailboxMessageTypeRequest {
			gone(asker{m.From, m.Ref})
		}
		gen.ReleaseMailboxMessage(m)
	}
}
