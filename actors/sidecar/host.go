package sidecar

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Ready is what the child said of itself, the Detail of this host's msg.Status
// from then on.
type Ready struct {
	PID      int
	Version  string
	Protocol int
}

// maxBatch bounds the events of one Emitted: its receiver publishes them in one
// go and hears of nothing else meanwhile.
const maxBatch = 64

// stderrInText is how much of the child's stderr goes into a refusal, and
// stderrInReason into the reason of a status, in bytes. Source: contract.md 7;
// the second is what a status has room for.
const (
	stderrInText   = child.TailBytes
	stderrInReason = 400
)

// The texts of this host. Source: sidecar-protocol.md 1 and 4.1.
const (
	textOversized  = "The agent sidecar sent a frame over 8 MiB; it was dropped."
	textHandshake  = "The agent sidecar did not complete its handshake within 10 s."
	textDraining   = "The service is stopping and begins no turn any more. Start it again and send your message again."
	textNotReading = "The agent sidecar does not take what it is sent. Reset it (the actor named sidecar) and send your message again."
	textKilled     = "The agent sidecar was ended because a turn did not stop when it was told to"
	textUnexpected = "Sidecar exited unexpectedly"
)

// Effects of the core, in order.
type (
	// write sends one request to the child. Then, if set, is told to the
	// session's conversation once the request is on its way.
	write struct {
		session *session
		kind    string
		request any
		line    []byte // Instead of request, when it was encoded before.
		turn    contract.TurnID
		then    any
	}
	// tell sends to a conversation.
	tell struct {
		session *session
		message any
	}
	// up sends to the supervisor.
	up struct{ message any }
	// credit gives lines back to the reader.
	credit struct{ lines int }
	// prepare reads what opening a session needs, beside the mailbox; its
	// answer is prepared.
	prepare struct {
		serial uint64
		open   msg.HostOpen
	}
	// later sends a message to oneself.
	later struct {
		message any
		after   waitFor
	}
	// look gives a session up if its conversation is gone.
	look struct{ session *session }
	// kill ends the child's group at once.
	kill struct{}
	// note is a line for the log.
	note struct {
		level   contract.Level
		text    string
		session contract.ConversationID
	}
	// finish ends the actor with this reason, behind what waits in its mailbox
	// and, for a child that never was ready, a moment later.
	finish struct {
		reason error
		after  waitFor
	}
)

// waitFor names one of the waits of the shell.
type waitFor int

const (
	noWait waitFor = iota
	forHandshake
	forSetting
	forRefusals
	forBehind
)

// Messages to oneself.
type (
	// prepared answers prepare. Refused is why the session cannot be opened.
	prepared struct {
		session contract.ConversationID
		serial  uint64
		line    []byte
		refused string
	}
	// handshakeDue ends the wait of one open.
	handshakeDue struct {
		session contract.ConversationID
		serial  uint64
	}
	// behindDue looks after a conversation whose lines are kept.
	behindDue struct {
		session contract.ConversationID
		serial  uint64
	}
	// settingDue ends the wait for one setting.
	settingDue struct {
		session contract.ConversationID
		serial  uint64
	}
)

// host is the state of the core. It is pure: lines and messages in, effects
// out; no clock, no process, no file. It belongs to one goroutine.
type host struct {
	out      []any
	sessions map[contract.ConversationID]*session
	// dirty are the sessions with events that were not sent yet.
	dirty []*session
	free  int // Lines to give back.
	// opened counts the sessions that are open, kept those whose lines are
	// kept because their conversation is behind.
	opened, kept int

	ready *Ready
	// refusal, once set, is the answer to every open: the child is incompatible
	// or has ended.
	refusal      string
	incompatible bool
	over         bool
	draining     bool
	// cause is why the child ends, when that is known better than by its exit.
	cause string
	// echoes: the child names the turn of its events. answers: it answers
	// requests that it does not know.
	echoes, answers bool
	serial          uint64
	// hide takes keys out of a text.
	hide func(string) string
}

// session is one conversation's session, opening or open.
type session struct {
	id   contract.ConversationID
	peer gen.PID
	// open: start_session was written.
	open   bool
	serial uint64
	// line is the request that opens it, once it is prepared. held are settings
	// that came before it could be sent.
	line []byte
	held []msg.HostSet

	// turn is the one in flight, of is what it was asked for with.
	turn contract.TurnID
	of   msg.HostSend
	// names are the tools of the turn's calls, for an edit, whose frame has none.
	names map[string]string
	// sets wait for their answers, oldest first.
	sets []*set
	// events wait to be sent as one Emitted, of turn eventsOf, from lines lines.
	events   []contract.Event
	eventsOf contract.TurnID
	lines    int
	// out are Emitted that were not given back, owed the lines kept for them.
	out, owed int
}

// set is one HostSet on its way. barrier is the type of the request behind it
// that no version knows: its refusal says that everything before it was done.
type set struct {
	ref      uint64
	serial   uint64
	barrier  string
	requests []string
	answered bool
}

func newHost(hide func(string) string) *host {
	return &host{sessions: make(map[contract.ConversationID]*session), hide: hide}
}

// take returns the effects so far, in order.
func (h *host) take() []any {
	out := h.out
	h.out = nil
	return out
}

func (h *host) do(effects ...any) { h.out = append(h.out, effects...) }

func (h *host) log(level contract.Level, id contract.ConversationID, text string) {
	h.do(note{level: level, session: id, text: h.hide(text)})
}

// counts are the open sessions and the opens that wait.
func (h *host) counts() (open, waiting int) { return h.opened, len(h.sessions) - h.opened }

// opening takes HostOpen.
func (h *host) opening(from gen.PID, m msg.HostOpen) {
	if old := h.sessions[m.Conversation]; old != nil {
		h.close(old) // Left from a conversation that died.
	}
	h.serial++
	s := &session{id: m.Conversation, peer: from, serial: h.serial, turn: m.Turn, of: m.HostSend}
	s.of.Retry = false // Its text opens the session.
	h.sessions[s.id] = s
	switch {
	case h.draining:
		h.refuse(s, textDraining)
	case h.refusal != "":
		h.refuse(s, h.refusal)
	default:
		h.do(prepare{serial: s.serial, open: m})
		if h.ready == nil {
			h.do(later{handshakeDue{s.id, s.serial}, forHandshake})
		}
	}
}

// waiting finds the session that still waits under serial.
func (h *host) waiting(id contract.ConversationID, serial uint64) *session {
	if s := h.sessions[id]; s != nil && !s.open && s.serial == serial {
		return s
	}
	return nil
}

// prepared takes what opening a session needs.
func (h *host) prepared(m prepared) {
	s := h.waiting(m.session, m.serial)
	switch {
	case s == nil:
	case m.refused != "":
		h.refuse(s, m.refused)
	default:
		s.line = m.line
		h.begin(s)
	}
}

// handshakeDue ends the wait of one open.
func (h *host) handshakeDue(m handshakeDue) {
	if s := h.waiting(m.session, m.serial); s != nil && h.ready == nil {
		h.refuse(s, textHandshake)
	}
}

// begin sends a prepared session to a child that can be trusted with it. It is
// owned before the key leaves.
func (h *host) begin(s *session) {
	if h.ready == nil || s.line == nil {
		return
	}
	line, held := s.line, s.held
	s.open, s.line, s.held = true, nil, nil
	h.opened++
	h.do(up{msg.Owns{Host: msg.Sidecar, Conversation: msg.ConversationName(s.id)}})
	h.do(write{session: s, kind: typeStart, line: line, turn: s.turn, then: msg.HostOpened{Turn: s.turn}})
	for _, m := range held {
		h.set(m)
	}
}

// refuse gives up a session that waits.
func (h *host) refuse(s *session, text string) {
	for _, m := range s.held {
		h.do(tell{s, msg.HostReply{Ref: m.Ref}}) // Of the next open.
	}
	h.do(tell{s, msg.HostRefused{Turn: s.turn, Text: h.hide(text)}})
	h.forget(s)
}

func (h *host) forget(s *session) {
	delete(h.sessions, s.id)
	if s.open {
		h.opened--
	}
}

// find returns an open session.
func (h *host) find(id contract.ConversationID) *session {
	if s := h.sessions[id]; s != nil && s.open {
		return s
	}
	return nil
}

// send takes HostSend.
func (h *host) send(from gen.PID, m msg.HostSend) {
	s := h.find(m.Conversation)
	switch {
	case s == nil || h.over:
		h.do(tell{&session{id: m.Conversation, peer: from}, msg.HostRefused{Turn: m.Turn, Text: contract.TextNoSession + string(m.Conversation), Gone: true}})
		return
	case h.draining:
		h.do(tell{s, msg.HostRefused{Turn: m.Turn, Text: textDraining}})
		return
	case h.refusal != "":
		h.do(tell{s, msg.HostRefused{Turn: m.Turn, Text: h.refusal}})
		return
	}
	s.peer, s.turn, s.of, s.names = from, m.Turn, m, nil
	kind := typeSend
	if m.Retry {
		kind = typeRetry
	}
	h.do(write{session: s, kind: kind, request: turnRequest(m), turn: m.Turn, then: msg.HostOpened{Turn: m.Turn}})
}

// cancel takes HostCancel.
func (h *host) cancel(m msg.HostCancel) {
	s := h.sessions[m.Conversation]
	switch {
	case s == nil || s.turn != m.Turn || h.over:
		// Its terminal event is on the way.
	case !s.open:
		h.refuse(s, contract.TextCancelledByUser)
	default:
		h.do(write{session: s, kind: typeCancel, request: request{typeCancel, s.id}})
	}
}

// killing takes HostKill: one turn that does not stop costs the child, and with
// it everybody's.
func (h *host) killing(m msg.HostKill) {
	if s := h.find(m.Conversation); s != nil && s.turn == m.Turn && !h.over {
		h.cause = textKilled
		h.do(kill{})
	}
}

// pass sends a request of an open session that nobody waits for.
func (h *host) pass(id contract.ConversationID, kind string, r any) {
	if s := h.find(id); s != nil && !h.over {
		h.do(write{session: s, kind: kind, request: r})
	}
}

// set takes HostSet. The child answers no request, so it is followed by one
// that no version knows: the session's work is done in order, and the refusal
// of the last one says that what was before it has been done.
func (h *host) set(m msg.HostSet) {
	s := h.sessions[m.Conversation]
	switch {
	case s == nil || h.over: // The next open brings it.
	case !s.open:
		s.held = append(s.held, m)
	default:
		h.serial++
		wait := &set{ref: m.Ref, serial: h.serial, barrier: barrierPrefix + strconv.FormatUint(h.serial, 10)}
		for _, r := range settings(m) {
			kind := typeApprove
			switch r.(type) {
			case modelRequest:
				kind = typeModel
			case modeRequest:
				kind = typeMode
			}
			wait.requests = append(wait.requests, kind)
			h.do(write{session: s, kind: kind, request: r})
		}
		s.sets = append(s.sets, wait)
		h.do(write{session: s, kind: wait.barrier, request: request{wait.barrier, s.id}})
		h.do(later{settingDue{s.id, wait.serial}, forSetting})
	}
}

// barrierPrefix begins the types of requests that are sent to be refused.
const barrierPrefix = "settled_"

// settingDue takes a setting as done that nobody has refused: an older child
// drops what it does not know, and one that is busy starting a session answers
// late.
func (h *host) settingDue(m settingDue) {
	s := h.find(m.session)
	if s == nil {
		return
	}
	for i, wait := range s.sets {
		if wait.serial != m.serial || wait.answered {
			continue
		}
		h.reply(s, wait, "")
		if !h.answers {
			s.sets = slices.Delete(s.sets, i, i+1)
		}
		return
	}
}

func (h *host) reply(s *session, wait *set, text string) {
	if !wait.answered {
		wait.answered = true
		h.do(tell{s, msg.HostReply{Ref: wait.ref, Text: text}})
		return
	}
	if text != "" {
		h.do(tell{s, msg.HostSaid{Level: contract.LevelWarning, Text: "The agent sidecar did not take a setting: " + text}})
	}
}

// closing takes HostClose.
func (h *host) closing(id contract.ConversationID) {
	if s := h.sessions[id]; s != nil {
		h.close(s)
	}
}

// close ends a session here and in the child. What it still says is nobody's.
func (h *host) close(s *session) {
	h.forget(s)
	h.release(s)
	h.free += s.lines
	s.lines, s.events = 0, nil
	h.giveBack()
	if !s.open || h.over {
		return
	}
	h.do(write{session: s, kind: typeClose, request: request{typeClose, s.id}})
	h.do(up{msg.Released{Conversation: msg.ConversationName(s.id)}})
}

// unreachable gives up a session whose conversation cannot be sent to.
func (h *host) unreachable(s *session) {
	if h.sessions[s.id] != s {
		return
	}
	h.log(contract.LevelWarning, s.id, "conversation cannot be reached; its session is closed")
	h.close(s)
}

// unwritten takes a request that the child's queue had no room for.
func (h *host) unwritten(w write) {
	if h.sessions[w.session.id] != w.session || h.over {
		return
	}
	h.log(contract.LevelWarning, w.session.id, "request not sent type="+w.kind+": the child does not read")
	switch w.kind {
	case typeStart:
		h.do(up{msg.Released{Conversation: msg.ConversationName(w.session.id)}})
		h.refuse(w.session, textNotReading)
	case typeSend, typeRetry:
		w.session.turn = ""
		h.do(tell{w.session, msg.HostRefused{Turn: w.turn, Text: textNotReading}})
	case typeMode, typeModel, typeApprove:
		for _, wait := range w.session.sets {
			h.reply(w.session, wait, textNotReading)
		}
	}
}

// ack takes HostAck.
func (h *host) ack(m msg.HostAck) {
	s := h.sessions[m.Conversation]
	if s == nil {
		return
	}
	s.out = max(0, s.out-m.N)
	if s.out < msg.HostCredits {
		h.release(s)
	}
	h.giveBack()
}

// release gives the kept lines of a session back.
func (h *host) release(s *session) {
	if s.owed > 0 {
		h.free += s.owed
		h.kept--
		s.owed = 0
	}
}

// heard takes what the child did since the last time, in order.
func (h *host) heard(list []heard) {
	for i := range list {
		h.one(&list[i])
	}
	for _, s := range h.dirty {
		h.flush(s)
	}
	clear(h.dirty)
	h.dirty = h.dirty[:0]
	h.giveBack()
}

func (h *host) giveBack() {
	if h.free > 0 {
		h.do(credit{h.free})
		h.free = 0
	}
}

func (h *host) one(x *heard) {
	switch {
	case x.exit != nil:
		h.exited(*x.exit)
		return
	case x.ready != nil:
		h.handshake(*x.ready, x.version)
	case x.dropped:
		h.oversized(x.session)
	case x.blank:
	case !x.frame:
		h.log(contract.LevelWarning, "", "line is no event: "+x.stray)
	default:
		if s := h.find(x.session); s == nil {
			h.log(levelDebug, x.session, "event of no session type="+x.kind)
		} else if h.event(s, x) {
			return // Its line is given back with its Emitted.
		}
	}
	h.free++
}

// levelDebug is for what is ignored on purpose.
const levelDebug contract.Level = "debug"

// handshake judges the child by its first line.
func (h *host) handshake(r Ready, version *int) {
	if h.ready != nil || h.incompatible {
		h.log(contract.LevelWarning, "", "a second ready is ignored")
		if _, err := negotiate(version); err == nil || h.incompatible {
			return
		}
	}
	warning, err := negotiate(version)
	if err != nil {
		if version != nil {
			r.Protocol = *version
		}
		h.refuseAll(r, err.Error())
		return
	}
	if warning != "" {
		h.log(contract.LevelWarning, "", warning)
	}
	r.Protocol = *version
	h.ready = &r
	h.do(up{msg.Status{Name: msg.Sidecar, State: msg.StateRunning, Detail: r}})
	h.inOrder(h.begin)
}

// refuseAll is the end of a child that is too old: it lives on until it is
// reset, and gets neither a session nor a key.
func (h *host) refuseAll(r Ready, text string) {
	h.refusal, h.incompatible, h.ready = text, true, nil
	h.do(up{msg.Status{Name: msg.Sidecar, State: msg.StateIncompatible, LastReason: text, Detail: r}})
	h.inOrder(func(s *session) {
		if !s.open {
			h.refuse(s, text)
			return
		}
		h.emit(s, s.turn, contract.Error{Message: text}, 0)
		h.flush(s)
		if s.turn != "" {
			h.closeTurn(s)
		}
	})
}

// inOrder visits the sessions in the order in which they came.
func (h *host) inOrder(visit func(*session)) {
	list := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *session) int { return cmp.Compare(a.serial, b.serial) })
	for _, s := range list {
		visit(s)
	}
}

// oversized ends the turn whose frame was lost: nobody knows what it said. The
// child goes on with it otherwise, so it is told to stop.
func (h *host) oversized(id contract.ConversationID) {
	s := h.find(id)
	if s == nil || s.turn == "" {
		h.log(contract.LevelWarning, id, textOversized)
		return
	}
	h.do(write{session: s, kind: typeCancel, request: request{typeCancel, s.id}})
	h.terminal(s, contract.Error{Message: textOversized}, 0)
}

// event routes one event. It reports whether the line is given back later.
func (h *host) event(s *session, x *heard) bool {
	h.echoes = h.echoes || x.turn != ""
	turn := x.turn
	if turn == "" {
		turn = s.turn
	}
	switch current := turn != "" && turn == s.turn; {
	case x.said.failed != "":
		h.failed(s, x.said.failed, h.hide(x.said.text))
	case x.said.ignored != "":
		h.log(levelDebug, s.id, x.said.ignored+" type="+x.kind)
	case x.said.ask != nil && current:
		h.flush(s)
		a := x.said.ask
		h.do(tell{s, msg.Ask{Turn: turn, ID: a.id, Name: a.name, Arguments: a.arguments, BatchID: a.batchID, BatchSize: a.batchSize}})
	case x.said.edit != nil && current:
		h.flush(s)
		e := x.said.edit
		h.do(tell{s, msg.AskEdit{Turn: turn, ID: e.id, Name: s.names[e.id], Path: e.path, Content: e.content, Before: e.before}})
	case len(x.said.events) == 0:
		h.log(levelDebug, s.id, "late event type="+x.kind)
	default:
		return h.events(s, turn, current, x)
	}
	return false
}

// events routes what is to be published. It reports whether the line is given
// back later.
func (h *host) events(s *session, turn contract.TurnID, current bool, x *heard) bool {
	e := x.said.events[0]
	switch e := e.(type) {
	case contract.Done:
		if !current || x.turn == "" && h.echoes {
			// Of an old turn; or, of a child that names its turns, the end of
			// a command, which is no turn.
			break
		}
		if e.ResumeToken != nil && *e.ResumeToken != "" {
			h.do(tell{s, msg.HostResume{Handle: *e.ResumeToken}})
		}
		h.terminal(s, e, 1)
		return true
	case contract.Error:
		e.Message = h.hide(e.Message)
		if !current {
			if x.turn == "" {
				h.failed(s, "", e.Message) // A child of before, whose errors name no request.
			}
			break
		}
		h.terminal(s, e, 1)
		return true
	case contract.TurnSummary:
		// A late count is still true and still billed: its turn goes with it.
		if turn != "" {
			h.emit(s, turn, e, 1)
			return true
		}
	case contract.RateLimited:
		if current {
			if e.Message != nil {
				text := h.hide(*e.Message)
				e.Message = &text
			}
			h.emit(s, turn, e, 1)
			return true
		}
	case contract.ToolStart:
		if current {
			if s.names == nil {
				s.names = make(map[string]string)
			}
			s.names[e.ID] = e.Name
			h.emit(s, turn, e, 1)
			return true
		}
	default:
		if current {
			h.emit(s, turn, e, 1)
			return true
		}
	}
	h.log(levelDebug, s.id, "late event type="+x.kind)
	return false
}

// terminal ends the turn in flight with its one last event.
func (h *host) terminal(s *session, e contract.Event, lines int) {
	h.emit(s, s.turn, e, lines)
	h.flush(s)
	h.closeTurn(s)
}

func (h *host) closeTurn(s *session) {
	turn := s.turn
	s.turn, s.names, s.of = "", nil, msg.HostSend{}
	h.do(tell{s, msg.TurnClosed{Turn: turn}})
}

// failed takes a command that the child refused. Kind is its type, empty when
// the child did not say.
func (h *host) failed(s *session, kind, text string) {
	if strings.HasPrefix(kind, barrierPrefix) {
		h.answers = true
		for len(s.sets) > 0 {
			wait := s.sets[0]
			s.sets = s.sets[1:]
			h.reply(s, wait, "")
			if wait.barrier == kind {
				return
			}
		}
		return
	}
	switch kind {
	case typeSend, typeRetry:
		h.turnFailed(s, kind, text)
		return
	case typeMode, typeModel, typeApprove, "":
		for _, wait := range s.sets {
			if kind == "" || slices.Contains(wait.requests, kind) {
				h.reply(s, wait, text)
				return
			}
		}
	}
	h.log(contract.LevelWarning, s.id, "request refused type="+kind+": "+text)
}

// turnFailed takes a turn that the child did not begin.
func (h *host) turnFailed(s *session, kind, text string) {
	h.flush(s)
	turn := s.turn
	switch {
	case turn == "":
		h.log(contract.LevelWarning, s.id, "request refused type="+kind+": "+text)
	case strings.HasPrefix(text, contract.TextNoSession):
		// The child has lost it, by a start that failed say. Opened again, it
		// goes on where it was.
		h.do(tell{s, msg.HostRefused{Turn: turn, Text: text, Gone: true}})
		h.close(s)
	case kind == typeRetry && s.of.Retry:
		// A session that was opened again has no last turn: its text is sent.
		s.of.Retry = false
		h.do(write{session: s, kind: typeSend, request: turnRequest(s.of), turn: turn})
	default:
		h.terminal(s, contract.Error{Message: text}, 0)
	}
}

// emit collects one event of a turn; lines came for it.
func (h *host) emit(s *session, turn contract.TurnID, e contract.Event, lines int) {
	if len(s.events) > 0 && (s.eventsOf != turn || len(s.events) >= maxBatch) {
		h.flush(s)
	}
	if len(s.events) == 0 {
		h.dirty = append(h.dirty, s)
	}
	s.events, s.eventsOf = append(s.events, e), turn
	s.lines += lines
}

// flush sends what was collected. The lines of a conversation that is behind
// are kept, and with them, in the end, the child.
func (h *host) flush(s *session) {
	if len(s.events) == 0 {
		return
	}
	h.do(tell{s, msg.Emitted{Turn: s.eventsOf, Events: s.events}})
	s.events = nil
	if s.out++; s.out > msg.HostCredits {
		if s.owed == 0 && s.lines > 0 {
			h.kept++
			h.do(later{behindDue{s.id, s.serial}, forBehind})
		}
		s.owed += s.lines
	} else {
		h.free += s.lines
	}
	s.lines = 0
}

// behindDue looks whether a conversation that is behind still lives: the lines
// kept for a dead one would stop everybody.
func (h *host) behindDue(m behindDue) {
	if s := h.sessions[m.session]; s != nil && s.serial == m.serial && s.owed > 0 {
		h.do(look{s}, later{m, forBehind})
	}
}

// drain begins the orderly end.
func (h *host) drain() {
	h.draining = true
	h.inOrder(func(s *session) {
		if !s.open {
			h.refuse(s, textDraining)
		}
	})
}

// failedStart is the end of a host whose child could not be started. Text is a
// plain sentence.
func (h *host) failedStart(text string) {
	h.refusal, h.over = text, true
	h.up(text)
	h.inOrder(func(s *session) { h.refuse(s, text) })
	h.do(finish{errors.New(text), forRefusals})
}

// up reports why this host ends.
func (h *host) up(reason string) {
	h.do(up{msg.Status{Name: msg.Sidecar, State: msg.StateFailed, LastReason: reason}})
}

// exited is the end of the child. Everything it had said was handed on before.
func (h *host) exited(e child.Exit) {
	for _, s := range h.dirty {
		h.flush(s)
	}
	reason, text := h.endText(e)
	ready := h.ready != nil
	h.over, h.ready = true, nil
	if h.refusal == "" {
		h.refusal = text
	}
	h.inOrder(func(s *session) {
		if !s.open {
			h.refuse(s, h.refusal)
		}
	})
	switch {
	case h.draining:
		h.do(finish{gen.TerminateReasonShutdown, noWait})
		return
	case h.incompatible:
		h.up(h.refusal)
		h.do(finish{msg.ErrIncompatible, noWait})
		return
	}
	h.up(reason)
	wait := noWait
	if !ready {
		// Who was told of this host just now is still about to open a session.
		wait = forRefusals
	}
	h.do(finish{errors.New(reason), wait})
}

// endText words the end of the child: as a reason, and as a refusal for who
// waits. Source: contract.md 8 and 7.
func (h *host) endText(e child.Exit) (reason, refusal string) {
	status := ""
	switch {
	case e.Broken != nil:
		status = "a line without an end (" + e.Broken.Error() + ")"
	case e.Signal != "":
		status = "signal " + e.Signal
	case e.Code != 0:
		status = "code " + strconv.Itoa(e.Code)
	}
	reason = textUnexpected
	if status != "" {
		reason = "Sidecar exited with " + status
	}
	if h.cause != "" {
		reason = h.cause
	}
	refusal = "The agent sidecar ended before it was ready. " + reason + "."
	tail := strings.TrimSpace(h.hide(e.Tail))
	if tail == "" {
		return reason, refusal + " Run packetbench doctor to see what is missing."
	}
	return reason + ": " + telling(tail), refusal + " Its last words were:\n" + end(tail, stderrInText)
}

// errorLine begins what a program says of the error that ended it: Node prints
// a stack behind it, which says nothing to a person.
var errorLine = regexp.MustCompile(`(?m)^\w*Error\b`)

// telling is the part of a child's last words that there is room for in a
// reason: its last error, else the end.
func telling(tail string) string {
	if all := errorLine.FindAllStringIndex(tail, -1); len(all) > 0 {
		return begin(tail[all[len(all)-1][0]:], stderrInReason)
	}
	return end(tail, stderrInReason)
}
