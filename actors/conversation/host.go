package conversation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// host is the shell's half of an owned session.
type host struct {
	// pid is the host that has the session, or is opening it; empty for none.
	pid gen.PID
	// opening is the turn that waits for HostOpened.
	opening contract.TurnID
	// owed are the Emitted that were not given back yet.
	owed int
	// settings are commands whose answer waits for the program.
	settings []setting
}

// setting is a command that is answered when the program has taken it.
type setting struct {
	asker
	refs   []uint64
	result any
}

type (
	// hostReady brings what a turn in a host needs from outside.
	hostReady struct {
		turn     contract.TurnID
		open     *msg.HostSession
		pid      gen.PID
		failover bool
		err      error
	}
	// hostDown comes behind everything a host had said, when it ended while it
	// opened a session. One that owns the session is reported by OwnerGone.
	hostDown struct {
		pid gen.PID
		why error
	}
	// settingSlow answers a command whose setting nobody confirmed.
	settingSlow struct{ ref uint64 }
	// hostAckDue looks whether the log has caught up with a host.
	hostAckDue struct{}
)

// fromHost takes what a host or its supervisor says; false for anything else.
func (a *actor) fromHost(now time.Time, message any) bool {
	c := a.core
	switch m := message.(type) {
	case hostReady:
		a.hostReady(now, m)
	case msg.HostOpened:
		if c.opened(m.Turn) {
			c.live.heard = true
			a.settled(m.Turn)
			a.answerStart(m.Turn, nil)
		}
	case msg.HostRefused:
		if c.opened(m.Turn) {
			a.settled(m.Turn)
			if !m.Gone {
				a.answerStart(m.Turn, contract.Fail(contract.CodeConflict, "%s", m.Text))
			}
			c.refused(now, m)
			a.dropHost()
		}
	case msg.HostReply:
		a.hostReply(now, m)
	case msg.HostSaid:
		if c.rec != nil && !c.deleted && !(m.Once && c.noticed(m.Text)) {
			c.notice(now, m.Level, m.Text)
		}
	case msg.HostResume:
		if c.rec != nil {
			c.resumeBy(now, m.Handle)
		}
	case msg.OwnerGone:
		a.ownerGone(now, m.PID, m.Reason)
	case gen.MessageDownPID:
		// It overtakes what the host had said; in the mailbox it waits its turn.
		_ = a.Send(a.PID(), hostDown{m.PID, m.Reason})
	case hostDown:
		if a.host.opening != "" {
			a.ownerGone(now, m.pid, ownWords(m.why))
		}
	case settingSlow:
		a.answerSetting(m.ref, nil)
	case hostAckDue:
		a.payHost()
	default:
		return c.fromEngine(now, message)
	}
	return true
}

// ownWords is why a host ended, empty where only the framework says it.
func ownWords(why error) string {
	for _, plain := range []error{nil, gen.TerminateReasonNormal, gen.TerminateReasonKill, gen.TerminateReasonPanic, gen.TerminateReasonShutdown} {
		if errors.Is(why, plain) {
			return ""
		}
	}
	return why.Error()
}

// ownerGone takes the end of the host that has the session.
func (a *actor) ownerGone(now time.Time, pid gen.PID, reason string) {
	if pid != a.host.pid || a.core.rec == nil {
		return
	}
	var turn contract.TurnID
	if a.core.live != nil {
		turn = a.core.live.id
	}
	a.settled(a.host.opening)
	a.dropHost()
	if l := a.core.live; l != nil && a.core.acp() && !l.heard && !l.reopened {
		// The engine has not heard of this turn: it goes to its successor.
		a.core.refused(now, msg.HostRefused{Turn: turn, Gone: true, Text: a.core.ended(reason)})
		return
	}
	a.core.lost(now, reason)
	a.answerStart(turn, contract.Fail(contract.CodeConflict, "%s", a.core.ended(reason)))
}

// settled takes the turn as begun or refused: nobody watches the host for it.
func (a *actor) settled(turn contract.TurnID) {
	if a.host.opening != "" && a.host.opening == turn {
		a.host.opening = ""
		_ = a.DemonitorPID(a.host.pid)
	}
}

// dropHost forgets the host. Settings that were on their way count when the
// session is opened again.
func (a *actor) dropHost() {
	for _, s := range a.host.settings {
		_ = a.SendResponse(s.pid, s.ref, msg.Reply{Result: s.result})
	}
	a.host = host{}
}

// prepareHost finds the host and fetches what opening needs, beside the
// mailbox: a keyring, a start of a program may take seconds.
func (a *actor) prepareHost() {
	c := a.core
	if !c.busy() {
		return // The log did not take the turn's first event, which ended it.
	}
	ready := hostReady{turn: c.live.id}
	a.turn = c.live.id
	if !c.session.resident {
		s := c.hostSession()
		ready.open = &s
	}
	provider, trustedAs, first := c.rec.Provider, c.trustedAs(), c.rec.TurnCounter == 1
	node, self := a.Node(), a.PID()
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				ready.err = fmt.Errorf("the turn could not be prepared inside PacketBench (%v)", fault)
			}
			_ = node.Send(self, ready)
		}()
		row, err := rowOf(provider)
		if err != nil {
			ready.err = err
			return
		}
		if row.Ledger != "" {
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
		ready.failover = wantsFailover(settings.App)
		if ready.open == nil {
			return
		}
		ready.open.Settings = settings.Providers
		ready.open.Trusted = trusts(node, trustedAs)
		if ready.open.Key, ready.err = fetchKey(node, provider); ready.err != nil {
			return
		}
		ready.pid, ready.err = ensureHost(node, row, first)
	}()
}

// ensureHost returns the running host of a row, started if need be. A child in
// its backoff is waited for.
func ensureHost(node gen.Node, row contract.Row, first bool) (gen.PID, error) {
	reply, err := node.CallWithTimeout(msg.EnginesSup, msg.Ensure{Name: hostName(row)}, 6)
	for range staleTries { // A host that has just ended is named until its supervisor hears of it.
		e, ok := reply.(msg.Ensured)
		if err != nil || !ok || e.Err != nil || runs(node, e.PID) {
			break
		}
		time.Sleep(stalePause)
		reply, err = node.CallWithTimeout(msg.EnginesSup, msg.Ensure{Name: hostName(row)}, 6)
	}
	if err != nil {
		return gen.PID{}, errors.New("the part of the service that runs agent programs did not answer; send again to retry")
	}
	e, ok := reply.(msg.Ensured)
	switch {
	case !ok:
		return gen.PID{}, fmt.Errorf("the part of the service that runs agent programs gave an unexpected answer (%T)", reply)
	case e.Err == nil:
		return e.PID, nil
	case row.Transport != contract.TransportSidecar:
		err = errors.New(e.Err.Message)
	case first:
		err = fmt.Errorf("%s %s", contract.TextSidecarRefusing, e.Err.Message)
	default:
		err = fmt.Errorf("%s: %s", contract.TextSidecarNoWriter, e.Err.Message)
	}
	if e.Err.Code == contract.CodeConflict { // Its state forbids it: down, incompatible or stopped.
		err = downError{err}
	}
	return gen.PID{}, err
}

// How often and how long the supervisor of hosts is asked again about one that
// has ended: a second in all, for what takes a few milliseconds.
const (
	staleTries = 40
	stalePause = 25 * time.Millisecond
)

func runs(node gen.Node, pid gen.PID) bool {
	state, err := node.ProcessState(pid)
	return err == nil && state != gen.ProcessStateTerminated
}

// hostName is the registered name of the host of a row's sessions.
func hostName(row contract.Row) gen.Atom {
	if row.Transport == contract.TransportACP {
		return msg.EngineName(contract.EngineOf(row.Provider))
	}
	return msg.Sidecar
}

// hostReady hands the turn to the host, unless it was cancelled meanwhile.
func (a *actor) hostReady(now time.Time, r hostReady) {
	c := a.core
	if r.err != nil {
		text := sentence(r.err)
		if strings.HasPrefix(r.err.Error(), contract.TextSidecarNoWriter) {
			text = r.err.Error() // Matched on by others, down to its small letter.
		}
		if c.opened(r.turn) {
			a.answerStart(r.turn, contract.Fail(contract.CodeConflict, "%s", text))
		}
		a.answerStart(r.turn, nil) // Cancelled before that: it did start.
		c.failTurn(now, r.turn, text)
		if errors.As(r.err, new(downError)) && c.rec != nil {
			c.mark(now, contract.HealthDown, text)
		}
		return
	}
	if !c.started(r.turn) {
		a.answerStart(r.turn, nil)
		return
	}
	c.live.autoRetry = r.failover
	send := c.hostSend()
	if r.open == nil {
		if err := a.Send(a.host.pid, send); err != nil {
			a.hostLost(now, r.turn)
		}
		return
	}
	r.open.Posture, r.open.Model = c.posture(), c.rec.Model
	c.session.resident = true
	a.host = host{pid: r.pid, opening: r.turn}
	err := a.MonitorPID(r.pid)
	if err == nil {
		err = a.Send(r.pid, msg.HostOpen{Session: *r.open, HostSend: send})
	}
	if err != nil {
		a.hostLost(now, r.turn)
	}
}

// hostLost tries the turn again with the host's successor, once.
func (a *actor) hostLost(now time.Time, turn contract.TurnID) {
	a.settled(turn)
	a.dropHost()
	a.core.refused(now, msg.HostRefused{Turn: turn, Gone: true, Text: a.core.ended("")})
}

// toHost sends to the host of the session; one that has ended is reported by
// OwnerGone.
func (a *actor) toHost(message any) {
	if a.host.pid == (gen.PID{}) {
		return
	}
	if err := a.Send(a.host.pid, message); err != nil {
		a.Log().Warning("message not delivered to=%s type=%T reason=%s", a.host.pid, message, err)
	}
	if _, closed := message.(msg.HostClose); closed {
		a.settled(a.host.opening)
		a.dropHost()
	}
}

// hosted gives what was meant for a turn's own process the form that a host
// takes.
func hosted(id contract.ConversationID, turn contract.TurnID, message any) any {
	switch m := message.(type) {
	case msg.PermissionAnswer:
		return msg.HostPermission{Conversation: id, PermissionAnswer: m}
	case msg.EditAnswer:
		return msg.HostEdit{Conversation: id, EditAnswer: m}
	case msg.CancelTurn:
		if turn == "" {
			return nil // The host has not heard of it.
		}
		return msg.HostCancel{Conversation: id, Turn: turn}
	}
	return nil // Postures are told by HostSet.
}

// owe counts one Emitted of the host and gives it back.
func (a *actor) owe(from gen.PID) {
	if from != a.host.pid {
		return
	}
	if a.host.owed++; a.host.owed == 1 {
		a.payHost()
	}
}

// payHost gives back what is owed once the log has caught up. It is called
// again until then.
func (a *actor) payHost() {
	if a.host.owed == 0 {
		return
	}
	if log, ok := a.opt.Publisher.(msg.Pressure); ok && log.Waiting() > calm {
		if _, err := a.SendAfter(a.PID(), hostAckDue{}, creditEvery); err == nil {
			return
		}
	}
	n := a.host.owed
	a.host.owed = 0
	_ = a.Send(a.host.pid, msg.HostAck{Conversation: a.core.id, N: n})
}

// setsSession reports whether a command may be one that the program of the
// session has to take.
func setsSession(m contract.Method) bool {
	return m == contract.MethodChangeModel || m == contract.MethodSetPlanMode ||
		m == contract.MethodSetApproveWrites || m == contract.MethodSetPermissionMode
}

// waitsForSetting keeps the answer of a command until the program has taken
// the settings above ref.
func (a *actor) waitsForSetting(who asker, m contract.Method, ref uint64, r msg.Reply) bool {
	if r.Failure != nil || !setsSession(m) || a.core.session.ref == ref {
		return false
	}
	s := setting{asker: who, result: r.Result}
	for n := ref + 1; n <= a.core.session.ref; n++ {
		s.refs = append(s.refs, n)
	}
	if _, err := a.SendAfter(a.PID(), settingSlow{ref + 1}, a.opt.pause.startReply); err != nil {
		return false
	}
	a.host.settings = append(a.host.settings, s)
	return true
}

func (a *actor) hostReply(now time.Time, m msg.HostReply) {
	if !a.core.replied(now, m) {
		return
	}
	var failure *contract.Failure
	if m.Text != "" {
		failure = contract.Fail(contract.CodeConflict, "%s", m.Text)
	}
	if !a.answerSetting(m.Ref, failure) && m.Text != "" {
		a.core.notice(now, contract.LevelWarning, "A setting was not taken and is as it was before: "+strings.TrimRight(m.Text, ".")+".")
	}
}

// answerSetting answers the command that waits for ref, when it was the last
// one or it failed. It reports whether a command waited.
func (a *actor) answerSetting(ref uint64, failure *contract.Failure) bool {
	i := slices.IndexFunc(a.host.settings, func(s setting) bool { return slices.Contains(s.refs, ref) })
	if i < 0 {
		return false
	}
	s := &a.host.settings[i]
	s.refs = slices.DeleteFunc(s.refs, func(n uint64) bool { return n == ref })
	if failure == nil && len(s.refs) > 0 {
		return true
	}
	reply := msg.Reply{Result: s.result}
	if failure != nil {
		reply = msg.Reply{Failure: failure}
	}
	_ = a.SendResponse(s.pid, s.ref, reply)
	a.host.settings = slices.Delete(a.host.settings, i, i+1)
	return true
}
