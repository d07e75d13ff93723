package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Limits of one engine. Source: acp.md 8 and actors.md 4.
const (
	// MaxResident is how many sessions an engine keeps in memory by default.
	MaxResident = 8
	// maxPages bounds how often a list of sessions is continued.
	maxPages = 20
	// tickMost is the longest pause between two inputs while anything waits;
	// see due.
	tickMost = 5 * time.Second
	// sleepGap is a pause that only a machine or a service that was not
	// running explains: the time in it counts against nobody (F34).
	sleepGap = 3 * tickMost
)

// textLost is the notice of a session that the engine could not find again.
// Source: acp.md 8.
const textLost = "The engine no longer holds this conversation; it continues without its earlier context."

// phase is where the engine's process stands.
type phase int

const (
	// phaseDown: no process. The first wish starts one.
	phaseDown phase = iota
	// phaseStarting: on its way to be initialized. Wishes wait.
	phaseStarting
	// phaseReady: initialized.
	phaseReady
	// phaseEnding: being ended, gently or not. Nothing new is sent.
	phaseEnding
)

// Inputs of an engine. A turn id is given with what begins a turn and comes
// back with everything that belongs to it.
type (
	// begin wants a conversation: a new one, one whose engineID is known from
	// before, or, with adopt, one that the engine holds and we do not know. A
	// turn of "" only attaches. The first begin freezes the MCP posture; cwd
	// is canonical, see Folder.
	begin struct {
		conv     contract.ConversationID
		turn     contract.TurnID
		prompt   prompt
		cwd      string
		engineID string
		adopt    bool
		model    string
		posture  contract.Posture
		mcp      mcpPosture
	}
	// send is the next turn of a conversation that has begun.
	send struct {
		conv   contract.ConversationID
		turn   contract.TurnID
		prompt prompt
	}
	// setModel and setPosture are wishes for the next turn.
	setModel struct {
		conv  contract.ConversationID
		model string
	}
	setPosture struct {
		conv    contract.ConversationID
		posture contract.Posture
	}
	// answer answers a permission request by its emitted id.
	answer struct {
		conv     contract.ConversationID
		id       string
		decision contract.Decision
	}
	// refuseOpen rejects every open request of a conversation; its turn goes on.
	refuseOpen struct{ conv contract.ConversationID }
	// cancel stops a conversation's turn, if it is still this one; force ends
	// the engine because that did not help.
	cancel struct {
		conv contract.ConversationID
		turn contract.TurnID
	}
	force struct {
		conv contract.ConversationID
		turn contract.TurnID
	}
	// leave lets go of a conversation: it is closed, hibernates or is deleted.
	leave struct{ conv contract.ConversationID }
	// query asks the engine for a fact; answered by a reply with its token.
	query struct {
		token any
		kind  queryKind
		// conv or session names one session, for usage, rename and servers.
		conv    contract.ConversationID
		session string
		// arg is the new name, or the text to find files by; cwd and limit go
		// with commands and files.
		arg, cwd string
		limit    int
	}
	// wake starts the process before anybody wishes for something.
	wake struct{}
	// spawned and spawnFailed answer the effect spawn.
	spawned     struct{}
	spawnFailed struct{ err error }
	// line is one line of the engine's stdout.
	line struct{ child.Line }
	// unread says that a line could not be sent.
	unread struct{ err error }
	// exited is the end of the process, behind its last line.
	exited struct{ child.Exit }
	// elapsed says that the time of due has come.
	elapsed struct{}
	// halt ends the engine gently.
	halt struct{ grace time.Duration }
)

// queryKind is what a query is about.
type queryKind int

// The queries and the type of their reply's value.
const (
	queryUsage    queryKind = iota // *Usage, nil when none is reported
	queryModels                    // []contract.Model
	queryHeld                      // []Held
	queryRename                    // nil
	queryServers                   // json.RawMessage, the engine's list
	queryCommands                  // []Command
	queryFiles                     // []string
)

// effect is one thing to be done outside, in the order given.
type effect any

// Effects of an engine.
type (
	// spawn starts the process; answered by spawned or spawnFailed.
	spawn struct{}
	// write sends one line.
	write struct{ line []byte }
	// stop ends the process gently, kill at once. Why is for the log.
	stop struct{ grace time.Duration }
	kill struct{ why string }
	// owns says that a conversation is ours from here on, released that it no
	// longer is.
	owns     struct{ conv contract.ConversationID }
	released struct{ conv contract.ConversationID }
	// attached gives the engine's id of a conversation: what it is found by
	// later, to be kept with the conversation.
	attached struct {
		conv     contract.ConversationID
		engineID string
	}
	// opened says that a turn is with the engine.
	opened struct {
		conv contract.ConversationID
		turn contract.TurnID
	}
	// emit publishes events of a turn. Its last event is a terminal one when
	// the turn has ended.
	emit struct {
		conv   contract.ConversationID
		turn   contract.TurnID
		events []contract.Event
	}
	// called tells of a call what its result, which follows, has no room for.
	called struct {
		conv contract.ConversationID
		turn contract.TurnID
		callFacts
	}
	// asked hands a permission request to the conversation's gate.
	asked struct{ ask ask }
	// withdrawn takes one back: the engine no longer wants an answer.
	withdrawn struct {
		conv contract.ConversationID
		id   string
	}
	// unanswered says that an answer could not be given: the engine still waits.
	unanswered struct {
		ask     ask
		failure *contract.Failure
	}
	// refused says that a turn was not begun, or an attaching without a turn
	// failed. Nothing of the turn was published; code -32004 says that the
	// conversation has to begin again.
	refused struct {
		conv    contract.ConversationID
		turn    contract.TurnID
		failure *contract.Failure
	}
	// used is what a turn used, for the ledger; sent once, behind its end.
	used struct {
		conv  contract.ConversationID
		turn  contract.TurnID
		usage turnUsage
		// model is what the session runs on, empty when the engine does not say.
		model string
		// cost is in USD, nil when the engine does not count it.
		cost *float64
	}
	// notice is a system line of a conversation.
	notice struct {
		conv  contract.ConversationID
		level contract.Level
		text  string
		// once: not again when the session is opened again.
		once bool
	}
	// shown is what the posture chip has to show.
	shown struct {
		conv contract.ConversationID
		standing
	}
	// ready says that the engine is initialized and what it offers.
	ready struct{ caps capabilities }
	// offers are the models that the engine lists, for its row.
	offers struct{ models []contract.Model }
	// reply answers a query.
	reply struct {
		token   any
		value   any
		failure *contract.Failure
	}
	// readDisk answers a query for held sessions from the engine's home: the
	// engine does not list them. See HeldOnDisk.
	readDisk struct{ token any }
	// died ends the host. Reason is for the middle of a sentence, text the
	// sentence for whoever comes too late; incompatible says that starting again
	// cannot help.
	died struct {
		reason, text string
		incompatible bool
		// asked says that somebody wanted it to end.
		asked bool
	}
	// note is a line for the log.
	note struct {
		level slog.Level
		text  string
	}
)

// pending is a request of ours that waits for its answer.
type pending struct {
	method   string
	deadline time.Time // Zero when something else ends the wait.
	s        *session
	turn     *turn
	query    *query
	held     []Held
	pages    int
	set      *setting
	mode     string // What session/new was asked for.
}

// engine is one engine without its process: next takes what happened and leaves
// what is to be done. Time is a parameter. Not safe for concurrent use.
type engine struct {
	spec    Spec
	version string
	most    int // Resident sessions.

	phase    phase
	ending   string // Why, when it is us who end it; for sentences.
	halted   bool   // Somebody asked for the end.
	unfit    bool   // Starting it again cannot help.
	caps     capabilities
	ids      uint64
	pending  map[uint64]*pending
	late     map[uint64]bool // Answers that would register a session nobody wants.
	sessions map[contract.ConversationID]*session
	byEngine map[string]*session
	asks     map[string]*ask
	waiting  []*query
	models   []contract.Model
	// signing is set while authenticate is on its way; signed when it has been
	// tried for the requests that are repeated after it.
	signing, signed bool
	uses            uint64

	now   time.Time
	heard time.Time // The last input.
	out   []effect
}

// newEngine returns an engine whose process is not started. Version is ours;
// most is how many sessions it may keep in memory, see MaxResident.
func newEngine(s Spec, version string, most int) *engine {
	return &engine{
		spec: s, version: version, most: max(most, 1),
		pending: map[uint64]*pending{}, late: map[uint64]bool{}, sessions: map[contract.ConversationID]*session{},
		byEngine: map[string]*session{}, asks: map[string]*ask{},
	}
}

// next handles one input. While due is not zero it must be called at least when
// that time has come.
func (e *engine) next(in any, now time.Time) []effect {
	e.out = nil
	e.now = now
	e.slept()
	e.heard = now
	switch in := in.(type) {
	case begin:
		e.begin(in)
	case send:
		e.send(in)
	case setModel:
		if s := e.sessions[in.conv]; s != nil && s.model != in.model {
			s.model = in.model
			e.tellModel(s)
		}
	case setPosture:
		if s := e.sessions[in.conv]; s != nil && s.posture != in.posture {
			s.posture, s.noticed = in.posture, false
			e.show(s)
		}
	case answer:
		e.answer(in)
	case refuseOpen:
		e.refuseOpen(in.conv)
	case cancel:
		if s := e.sessions[in.conv]; s != nil && s.turn != nil && s.turn.id == in.turn {
			e.cancel(s)
		}
	case force:
		if s := e.sessions[in.conv]; s != nil && s.turn.running() && s.turn.id == in.turn {
			e.force(s)
		}
	case leave:
		e.leave(e.sessions[in.conv])
	case query:
		e.query(&in)
	case wake:
		if e.phase == phaseDown {
			e.phase = phaseStarting
			e.do(spawn{})
		}
	case spawned:
		e.spawned()
	case spawnFailed:
		e.ended(e.spec.startText(in.err), e.spec.hide(in.err.Error()))
	case line:
		e.line(in.Line)
	case unread:
		if !errors.Is(in.err, child.ErrGone) { // Else its end is on the way.
			e.end("it does not read what it is sent")
		}
	case exited:
		e.exited(in.Exit)
	case elapsed:
		e.elapsed()
	case halt:
		e.halt(in.grace)
	}
	return e.out
}

// due is when next must be called again with elapsed, zero when nothing waits.
func (e *engine) due() time.Time {
	var due time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	for _, p := range e.pending {
		sooner(p.deadline)
	}
	for _, s := range e.sessions {
		if s.turn != nil {
			sooner(s.turn.stopBy)
		}
	}
	if !due.IsZero() {
		sooner(e.heard.Add(tickMost))
	}
	return due
}

// slept moves every deadline behind a pause in which nobody ran.
func (e *engine) slept() {
	gap := e.now.Sub(e.heard)
	if e.heard.IsZero() || gap < sleepGap {
		return
	}
	for _, p := range e.pending {
		if !p.deadline.IsZero() {
			p.deadline = p.deadline.Add(gap)
		}
	}
	for _, s := range e.sessions {
		if s.turn.stopping() {
			s.turn.stopBy = s.turn.stopBy.Add(gap)
		}
	}
}

func (e *engine) do(effects ...effect) { e.out = append(e.out, effects...) }

func (e *engine) note(level slog.Level, format string, args ...any) {
	e.do(note{level, e.spec.hide(fmt.Sprintf(format, args...))})
}

// inOrder is the sessions in the order of their last use.
func (e *engine) inOrder() []*session {
	return slices.SortedFunc(maps.Values(e.sessions), func(a, b *session) int { return cmp.Compare(a.lastUsed, b.lastUsed) })
}

func (e *engine) touch(s *session) {
	e.uses++
	s.lastUsed = e.uses
}

// Wishes of conversations.

func (e *engine) begin(in begin) {
	s := e.sessions[in.conv]
	if s != nil && s.turn != nil {
		e.do(refused{in.conv, in.turn, contract.Fail(contract.CodeConflict, "%s", contract.TextSessionExists+string(in.conv))})
		return
	}
	if s == nil {
		if other := e.byEngine[in.engineID]; in.engineID != "" && other != nil {
			e.refuseTurn(in.conv, in.turn, "Another conversation has this session of the engine open. Continue there.")
			return
		}
		s = &session{conv: in.conv, engineID: in.engineID, adopt: in.adopt, mcp: in.mcp}
		e.sessions[in.conv] = s
		if s.engineID != "" {
			e.byEngine[s.engineID] = s
		}
		e.do(owns{in.conv})
	}
	s.cwd, s.model, s.posture, s.open = in.cwd, in.model, in.posture, true
	if in.turn != "" {
		s.turn = &turn{id: in.turn, prompt: in.prompt}
	}
	e.touch(s)
	e.advance(s)
}

func (e *engine) send(in send) {
	s := e.sessions[in.conv]
	switch {
	case s == nil:
		e.do(refused{in.conv, in.turn, contract.Fail(contract.CodeNotFound, "%s", contract.TextNoSession+string(in.conv))})
		return
	case s.turn != nil:
		// The conversation holds the second prompt back; this is its fault.
		e.do(refused{in.conv, in.turn, contract.Fail(contract.CodeConflict, "A turn of this conversation is running. Wait for its end.")})
		return
	}
	s.turn = &turn{id: in.turn, prompt: in.prompt}
	e.touch(s)
	e.advance(s)
}

// advance does the next step towards what a session is wanted for: a process, a
// place in the engine's memory, its settings, its prompt. Each step waits for
// the answer to the one before.
func (e *engine) advance(s *session) {
	if s.gone || s.request != 0 || s.turn == nil && !s.open || s.turn.running() {
		return
	}
	switch {
	case e.phase == phaseDown:
		e.phase = phaseStarting
		e.do(spawn{})
	case e.phase != phaseReady || e.signing:
	case !s.resident:
		e.attach(s)
	case s.turn == nil:
		s.open = false
	default:
		if w := s.wish(e.words()); w != nil {
			method, params := w.request(s.engineID)
			s.request = e.request(method, params, pending{s: s, set: w})
			return
		}
		e.prompt(s)
	}
}

func (e *engine) advanceAll() {
	for _, s := range e.inOrder() {
		e.advance(s)
	}
}

// words is the vocabulary of an engine that is told its mode by name; packetcode
// gets it with session/new.
func (e *engine) words() *vocabulary {
	if e.caps.packetcode.advertised {
		return nil
	}
	return vocabularyOf(e.caps.agent)
}

func (e *engine) attach(s *session) {
	e.makeRoom(s)
	if s.mcp.kind == postureInherit && !e.caps.packetcode.mcpDefaults {
		// The consent was to something that this engine does not have.
		s.mcp = mcpPosture{}
		e.note(slog.LevelWarn, "the engine has no MCP servers of its own to offer; conv=%s gets none", s.conv)
	}
	method, params, lost := s.attach(e.caps)
	if lost {
		if s.adopt {
			e.attachFailed(s, "This engine cannot open a session that it holds. Begin a new conversation.")
			return
		}
		e.lost(s)
	}
	// A resume must not replay, and some do (F48).
	s.stream = stream{replaying: method != methodNew}
	p := pending{s: s}
	if params.Packetcode != nil {
		p.mode = params.Packetcode.PermissionMode
	}
	s.request = e.request(method, params, p)
}

// lost gives the engine's session up and says so.
func (e *engine) lost(s *session) {
	delete(e.byEngine, s.engineID)
	s.engineID, s.usage = "", nil
	e.do(notice{s.conv, contract.LevelWarning, textLost, false})
}

// makeRoom closes the session that was used longest ago when the engine holds
// as many as it may. One that could not be found again stays.
func (e *engine) makeRoom(wanted *session) {
	if !e.caps.close || !e.caps.loadSession && !e.caps.resume {
		return
	}
	resident := 0
	var oldest *session
	for _, s := range e.inOrder() {
		if s == wanted || !s.resident && s.request == 0 {
			continue
		}
		resident++
		if oldest == nil && s.resident && !e.engaged(s) {
			oldest = s
		}
	}
	if resident < e.most || oldest == nil {
		return
	}
	e.closeSession(oldest.engineID)
	oldest.resident = false
}

// engaged says that something of a session is under way.
func (e *engine) engaged(s *session) bool {
	if s.turn != nil || s.request != 0 || s.stream.replaying {
		return true
	}
	for _, a := range e.asks {
		if a.conv == s.conv {
			return true
		}
	}
	return false
}

func (e *engine) closeSession(engineID string) {
	if engineID != "" && e.caps.close && e.phase == phaseReady {
		e.request(methodClose, map[string]string{"sessionId": engineID}, pending{})
	}
}

func (e *engine) prompt(s *session) {
	if len(s.turn.prompt.images) > 0 && !e.caps.image {
		t := s.turn
		s.turn = nil
		e.refuseTurn(s.conv, t.id, "This engine takes no images. Send the text alone.")
		return
	}
	params := struct {
		SessionID string `json:"sessionId"`
		Prompt    []any  `json:"prompt"`
	}{s.engineID, s.turn.prompt.blocks()}
	s.stream.end("")
	s.open = false
	s.turn.request = e.request(methodPrompt, params, pending{s: s, turn: s.turn})
	if !s.turn.again {
		e.do(opened{s.conv, s.turn.id})
	}
}

// cancel stops a turn, once. One that the engine has not begun is refused.
func (e *engine) cancel(s *session) {
	switch {
	case s.turn.stopping():
	case !s.turn.running():
		t := s.turn
		s.turn = nil
		e.refuseTurn(s.conv, t.id, contract.TextCancelledByUser)
	default:
		e.stopTurn(s)
	}
}

// force ends the engine for the sake of a turn that does not end.
func (e *engine) force(s *session) {
	if s.turn.why == "" {
		s.turn.why = fmt.Sprintf("The engine did not stop within %d s and was ended. Send again to continue.", int(config.CancelEscalation.Seconds()))
	}
	s.turn.stopBy = time.Time{}
	e.end("it did not react to a cancel and was ended")
}

// stopTurn tells the engine to cancel. What it has asked about this session
// until now is answered so; what it asks later, too. An engine that does not
// end the turn in time is ended itself.
func (e *engine) stopTurn(s *session) {
	s.turn.stopBy = e.now.Add(config.CancelEscalation)
	e.notify(methodCancel, map[string]string{"sessionId": s.engineID})
	for _, a := range e.openAsks(func(a *ask) bool { return a.session == s.engineID }) {
		e.resolve(a, "")
	}
}

// leave lets a conversation go, whatever it is in the middle of.
func (e *engine) leave(s *session) {
	if s == nil {
		return
	}
	if s.turn.running() && !s.turn.stopping() {
		e.notify(methodCancel, map[string]string{"sessionId": s.engineID})
	}
	for _, a := range e.openAsks(func(a *ask) bool { return a.conv == s.conv }) {
		e.resolve(a, "")
	}
	if s.resident {
		e.closeSession(s.engineID)
	}
	e.forget(s)
}

// forget drops a conversation. An attaching on its way is undone when its answer
// comes.
func (e *engine) forget(s *session) {
	s.gone = true
	delete(e.sessions, s.conv)
	if e.byEngine[s.engineID] == s {
		delete(e.byEngine, s.engineID)
	}
	e.do(released{s.conv})
}

// refuseTurn says that a turn, or an attaching without one, was not begun.
func (e *engine) refuseTurn(conv contract.ConversationID, t contract.TurnID, text string) {
	e.do(refused{conv, t, contract.Fail(contract.CodeInternal, "%s", e.spec.hide(text))})
}

// attachFailed ends a conversation that the engine could not open: nobody owns
// it any more, so that the next try begins anew.
func (e *engine) attachFailed(s *session, text string) {
	var t contract.TurnID
	if s.turn != nil {
		t = s.turn.id
	}
	s.turn = nil
	e.forget(s)
	e.refuseTurn(s.conv, t, text)
}

// emit publishes events of a turn of a conversation that is still ours.
func (e *engine) emit(s *session, t *turn, events ...contract.Event) {
	if len(events) > 0 && !s.gone {
		t.heard = true
		e.do(emit{s.conv, t.id, events})
	}
}

// endTurn ends a turn as a failure: what is open, then the error.
func (e *engine) endTurn(s *session, text string) {
	t := s.turn
	s.turn = nil
	text = e.spec.hide(text)
	e.emit(s, t, append(s.stream.end(text), contract.Error{Message: text})...)
}

// Answers of the engine.

func (e *engine) request(method string, params any, p pending) uint64 {
	e.ids++
	raw, err := encodeRequest(e.ids, method, params)
	if err != nil {
		// Values of ours that cannot be encoded are a fault of this package;
		// the deadline ends the wait for the answer that will not come.
		e.note(slog.LevelError, "cannot encode %s: %s", method, err)
	} else {
		e.do(write{raw})
	}
	p.method, p.deadline = method, e.now.Add(waitFor(method))
	e.pending[e.ids] = &p
	return e.ids
}

func (e *engine) notify(method string, params any) {
	raw, err := encodeNotification(method, params)
	if err != nil {
		e.note(slog.LevelError, "cannot encode %s: %s", method, err)
		return
	}
	e.do(write{raw})
}

func (e *engine) spawned() {
	e.request(methodInitialize, initializeParams(e.version), pending{})
}

func (e *engine) line(l child.Line) {
	if l.Dropped {
		e.dropped(l)
		return
	}
	f, err := decode(l.Text)
	if err != nil {
		e.note(slog.LevelDebug, "a line of the engine is no frame: %d bytes", len(l.Text))
		return
	}
	switch f.kind {
	case frameResponse:
		e.response(f)
	case frameNotification:
		e.notification(f)
	case frameRequest:
		e.asked(f)
	}
}

// dropped handles a line over the limit: an answer fails its request, a request
// is answered, anything else is lost with a line in the log (F66).
func (e *engine) dropped(l child.Line) {
	e.note(slog.LevelWarn, "a line of the engine has %d bytes and was dropped", l.Size)
	f, ok := head(l.Head)
	switch {
	case !ok:
	case f.kind == frameRequest:
		e.refuse(f.id, contract.CodeInvalid, "The line is longer than this client reads.")
	default:
		f.result = nil
		f.err = &rpcError{code: contract.CodeInternal, message: fmt.Sprintf("its answer has %d bytes, more than is read", l.Size)}
		e.response(f)
	}
}

func (e *engine) response(f frame) {
	id, ok := ours(f.id)
	p := e.pending[id]
	if !ok || p == nil {
		if ok && e.late[id] {
			delete(e.late, id)
			e.closeSession(str(object(f.result)["sessionId"]))
			return
		}
		e.note(slog.LevelDebug, "the engine answered an id that nobody waits for: %.40s", string(f.id))
		return
	}
	delete(e.pending, id)
	switch {
	case p.method == methodInitialize:
		e.initialized(f)
	case p.method == methodAuthenticate:
		e.authenticated(f)
	case p.method == methodNew, p.method == methodLoad, p.method == methodResume:
		e.attached(p, f)
	case p.set != nil:
		e.settled(p, f)
	case p.method == methodPrompt:
		e.prompted(p, f)
	case p.query != nil:
		e.answered(p, f)
	case p.method == methodUsage:
		e.counted(p, f)
	case f.err != nil:
		e.note(slog.LevelDebug, "the engine refused %s: %s", p.method, f.err.text())
	}
}

func (e *engine) initialized(f frame) {
	if f.err != nil {
		e.end("it refused to begin: " + f.err.text())
		return
	}
	caps := decodeCapabilities(f.result)
	if caps.protocolVersion != protocolVersion {
		e.unfit = true
		e.end(fmt.Sprintf("it speaks version %d of ACP and PacketBench speaks %d, so one of the two needs an update", caps.protocolVersion, protocolVersion))
		return
	}
	e.caps, e.phase = caps, phaseReady
	e.do(ready{caps})
	waiting := e.waiting
	e.waiting = nil
	for _, q := range waiting {
		e.query(q)
	}
	e.advanceAll()
}

// attached handles the answer to session/new, load or resume. It takes effect
// before the next line is looked at, which may be about this very session.
func (e *engine) attached(p *pending, f frame) {
	s := p.s
	s.stream.replaying = false
	s.request = 0
	id := s.engineID
	if p.method == methodNew {
		id = strings.TrimSpace(str(object(f.result)["sessionId"]))
	}
	if s.gone {
		if f.err == nil {
			e.closeSession(id)
		}
		return
	}
	if f.err != nil {
		e.attachRefused(p, f.err)
		return
	}
	if other := e.byEngine[id]; id == "" || other != nil && other != s {
		e.attachFailed(s, "The engine answered session/new without a session id of its own. Report it to the engine's author.")
		return
	}
	s.engineID, s.resident = id, true
	e.byEngine[id] = s
	s.settings = decodeSettings(f.result)
	if len(s.settings.model.ids) > 0 {
		e.models = s.settings.model.models()
		e.do(offers{e.models})
	}
	e.do(attached{s.conv, id})
	s.bound = e.caps.packetcode.defaultPermissionMode
	if p.method == methodNew {
		s.usage = &Usage{}
		if p.mode != "" {
			s.bound = p.mode
		}
	} else {
		e.countSession(s, nil)
	}
	if !e.caps.packetcode.advertised && !s.began {
		e.tellModel(s)
	}
	s.began = true
	e.signed = false
	e.show(s)
	e.advance(s)
}

// attachRefused decides what an engine's refusal to open a session means.
func (e *engine) attachRefused(p *pending, failure *rpcError) {
	s := p.s
	switch {
	case e.login(failure):
		e.advanceAll()
	case p.method != methodNew && failure.code != codeBusyOrLogin && !s.adopt:
		e.note(slog.LevelWarn, "%s failed conv=%s: %s", p.method, s.conv, failure.text())
		e.lost(s)
		e.advance(s)
	default:
		e.attachFailed(s, e.refusal(failure))
	}
}

// login tries to sign in when the engine demands it; it reports whether the
// request may be repeated. It is tried once per failure.
func (e *engine) login(failure *rpcError) bool {
	if failure.code != codeBusyOrLogin || e.caps.packetcode.advertised || e.spec.AuthMethod == "" {
		return false
	}
	switch {
	case e.signing:
		return true
	case e.signed:
		e.signed = false
		return false
	}
	e.signing = true
	e.request(methodAuthenticate, map[string]string{"methodId": e.spec.AuthMethod}, pending{})
	return true
}

func (e *engine) authenticated(f frame) {
	e.signing, e.signed = false, true
	if f.err != nil {
		e.note(slog.LevelWarn, "the engine refused to sign in: %s", f.err.text())
	}
	e.advanceAll()
}

// refusal is what a person reads of an engine's error. -32000 means that the
// session is busy on the one engine and that somebody has to log in on all
// others, whether or not they list a way to do so. Source: acp.md 1.
func (e *engine) refusal(failure *rpcError) string {
	switch {
	case failure.code != codeBusyOrLogin:
		return failure.text()
	case e.caps.packetcode.advertised:
		return "The engine is still busy with this session. Wait a moment, then send again."
	}
	return "The engine asks for a login (" + failure.text() + "). Log in with the engine's own program, or set its sign-in method in Settings > Providers, then send again."
}

// settled handles the answer to a change of mode or model.
func (e *engine) settled(p *pending, f frame) {
	s, w := p.s, p.set
	s.request = 0
	if s.gone {
		return
	}
	if f.err == nil && w.of.option != "" && array(object(f.result)["configOptions"]) != nil {
		s.settings.takeOptions(object(f.result)["configOptions"])
		if w.of.current != w.id {
			f.err = &rpcError{message: "it stayed at " + w.of.name(w.of.current)}
		}
	}
	switch {
	case f.err == nil:
		w.of.current = w.id // An engine that did as it was told may say nothing.
	case f.err.code == contract.CodeNoMethod && w.of.option != "" && w.legacy.offers(w.id):
		*w.of = *w.legacy
	default:
		if s.refused == nil {
			s.refused = map[string]bool{}
		}
		s.refused[w.what+" "+w.id] = true
		text := e.spec.hide("The engine did not change its " + w.what + " to " + w.of.name(w.id) + ": " + f.err.text())
		e.note(slog.LevelWarn, "%s conv=%s", text, s.conv)
		if w.what == "model" { // A mode is told by the chip and its notice.
			e.do(notice{s.conv, contract.LevelWarning, text, false})
		}
	}
	e.show(s)
	e.advance(s)
}

// show tells what the engine will do, when that has changed, and says once when
// it is not what was asked.
func (e *engine) show(s *session) {
	if !s.resident {
		return
	}
	words := e.words()
	var st standing
	if x := e.caps.packetcode; x.advertised {
		_, offered := x.override(s.posture)
		st = s.standBound(offered)
	} else {
		st = s.stand(words)
	}
	if st != s.shown {
		s.shown = st
		e.do(shown{s.conv, st})
	}
	if st.honoured || s.noticed || s.wish(words) != nil {
		return
	}
	// An engine without modes that we know is under the gate alone; that has
	// to be said only where somebody relies on more.
	if e.caps.packetcode.advertised || words != nil || rung(s.posture) == rungReadOnly {
		s.noticed = true
		e.do(notice{s.conv, contract.LevelWarning, st.notice(s.posture), true})
	}
}

// tellModel says what becomes of a model that the engine does not take up with
// the next prompt. Source: acp.md 6.3.
func (e *engine) tellModel(s *session) {
	m := s.settings.model
	switch {
	case !s.resident:
	case e.caps.packetcode.advertised:
		name := s.model
		if name == "" {
			name = "its own default model"
		}
		e.do(notice{s.conv, contract.LevelInfo, "The engine takes up " + name + " with its next session; until then it keeps the model that this one began with.", false})
	case s.model != "" && !m.offers(s.model):
		text := "This engine does not offer " + s.model + "; it keeps its own model."
		if m.current != "" {
			text = "This engine does not offer " + s.model + "; it keeps " + m.name(m.current) + "."
		}
		e.do(notice{s.conv, contract.LevelWarning, text, true})
	}
}

// prompted ends a turn. Source: acp.md 6.1.
func (e *engine) prompted(p *pending, f frame) {
	s, t := p.s, p.turn
	for _, a := range e.openAsks(func(a *ask) bool { return a.session == s.engineID }) {
		// The engine has answered for them; a reply would meet nobody.
		delete(e.asks, a.id)
	}
	if s.gone || s.turn != t {
		return
	}
	cancelled := str(object(f.result)["stopReason"]) == "cancelled"
	if f.err != nil && f.err.code == codeCancelled && t.stopping() {
		cancelled, f.err = true, nil
	}
	switch {
	case t.why != "":
		e.endTurn(s, t.why)
	case f.err != nil && !t.stopping() && e.login(f.err):
		t.request = 0
		e.advanceAll()
		return
	case f.err != nil && gone(f.err):
		s.resident = false
		if t.heard || t.again || t.stopping() {
			e.endTurn(s, e.refusal(f.err))
			return
		}
		// Nobody has heard of this turn: found again, or begun anew, at once.
		t.request, t.again = 0, true
		e.advance(s)
		return
	case f.err != nil:
		e.endTurn(s, e.refusal(f.err))
	case cancelled:
		s.turn = nil
		e.emit(s, t, append(s.stream.end(contract.TextCancelledByUser), contract.Done{Cancelled: true})...)
	default:
		s.turn = nil
		e.signed = false
		e.emit(s, t, append(s.stream.end(""), contract.Done{})...)
	}
	e.count(s, t, f.result)
}

// gone recognises that the engine does not know the session that it was asked
// about. There is no code for it that all engines use.
func gone(failure *rpcError) bool {
	if failure.code == codeNoResource {
		return true
	}
	text := strings.ToLower(failure.text())
	return strings.Contains(text, "unknown sessionid") || strings.Contains(text, "session not found")
}

// count reports what a turn used, from its answer or, where totals have to be
// asked for, from the answer to that.
func (e *engine) count(s *session, t *turn, result json.RawMessage) {
	totals, one := promptUsage(result)
	if one == nil && totals == nil {
		one = t.used
	}
	switch {
	case totals != nil:
		e.total(s, t, *totals)
	case one != nil:
		if s.usage == nil {
			s.usage = &Usage{}
		}
		s.usage.add(*one)
		if *one != (turnUsage{}) {
			e.do(used{s.conv, t.id, *one, s.modelInUse(e.models), nil})
		}
	default:
		e.countSession(s, t)
	}
}

// countSession asks for the totals of a session: behind a turn that did not
// report them, or without one to know where the next begins.
func (e *engine) countSession(s *session, t *turn) {
	if e.phase == phaseReady && e.caps.packetcode.advertised && e.caps.packetcode.sessionsUsage && s.resident {
		e.request(methodUsage, map[string]string{"sessionId": s.engineID}, pending{s: s, turn: t})
	}
}

func (e *engine) counted(p *pending, f frame) {
	if totals, ok := decodeTotals(f.result); ok && f.err == nil && !p.s.gone {
		e.total(p.s, p.turn, totals)
	}
}

func (e *engine) total(s *session, t *turn, totals Usage) {
	before := s.usage
	s.usage = &totals
	if before == nil || t == nil {
		return
	}
	if u := totals.since(*before); u != (turnUsage{}) {
		e.do(used{s.conv, t.id, u, s.modelInUse(e.models), totals.costSince(*before)})
	}
}

func (e *engine) notification(f frame) {
	switch f.method {
	case methodUpdate:
		e.update(f.params)
	case methodCancelRequest:
		e.withdraw(object(f.params)["requestId"])
	default:
		e.note(slog.LevelDebug, "the engine notified %.60s, which means nothing to us", f.method)
	}
}

func (e *engine) update(params json.RawMessage) {
	var p struct {
		SessionID json.RawMessage `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s := e.byEngine[str(p.SessionID)]
	if s == nil {
		return
	}
	u := decodeUpdate(p.Update)
	switch str(u.Kind) {
	case updateMode:
		s.settings.takeMode(str(u.CurrentModeID))
		e.show(s)
	case updateOptions:
		s.settings.takeOptions(u.ConfigOptions)
		e.show(s)
	case updateCommands:
		s.commands = decodeCommands(u.Commands)
	case updateUsage:
		s.gauge(u)
	}
	if s.stream.replaying || !s.turn.running() {
		return // History, or the tail of a turn that has ended.
	}
	if one, ok := decodeTurn(object(u.Meta)["usage"]); ok {
		s.turn.used = &one
	}
	events := translate(&s.stream, u)
	for _, f := range s.stream.facts {
		e.do(called{s.conv, s.turn.id, f})
	}
	s.stream.facts = nil
	e.emit(s, s.turn, events...)
}

// gauge takes over how full the context is and what the session has cost.
func (s *session) gauge(u update) {
	if s.usage == nil {
		s.usage = &Usage{}
	}
	if n, ok := number(u.Used); ok {
		s.usage.ContextTokens = count(n)
	}
	fields := object(u.Cost)
	if c := str(fields["currency"]); c == "" || c == "USD" {
		if amount := cost(fields["amount"]); amount > 0 {
			s.usage.CostUSD = amount
		}
	}
}

// Requests of the engine.

func (e *engine) asked(f frame) {
	if f.method != methodPermission {
		e.refuse(f.id, contract.CodeNoMethod, "Method not found: "+f.method)
		return
	}
	a := decodeAsk(f.params)
	a.raw = f.id
	a.id = idText(f.id)
	if open := e.asks[a.id]; open != nil {
		if string(open.raw) == string(a.raw) {
			e.note(slog.LevelWarn, "the engine asked twice under one id: %.40s", string(f.id))
			return // One reply answers both.
		}
		a.id = string(f.id) // 0 and "0" have the same text.
	}
	s := e.asker(a)
	if s == nil || s.turn.stopping() || s.stream.replaying {
		e.resolve(&a, "")
		return
	}
	a.conv, a.turn = s.conv, s.turn.id
	e.asks[a.id] = &a
	e.emit(s, s.turn, s.stream.stopThinking()...)
	e.do(asked{a})
}

// asker is the session with a running turn that a request belongs to. A request
// that names none belongs to the only turn there is.
func (e *engine) asker(a ask) *session {
	if a.session != "" {
		if s := e.byEngine[a.session]; s != nil && s.turn.running() {
			return s
		}
		return nil
	}
	var only *session
	for _, s := range e.sessions {
		if s.turn.running() {
			if only != nil {
				return nil
			}
			only = s
		}
	}
	return only
}

func (e *engine) openAsks(of func(*ask) bool) []*ask {
	var out []*ask
	for _, id := range slices.Sorted(maps.Keys(e.asks)) {
		if a := e.asks[id]; of(a) {
			out = append(out, a)
		}
	}
	return out
}

func (e *engine) answer(in answer) {
	a := e.asks[in.id]
	if a == nil || a.conv != in.conv {
		e.note(slog.LevelInfo, "an answer to a request that is not open conv=%s", in.conv)
		return
	}
	option, failure := a.choose(in.decision)
	if failure != nil {
		e.do(unanswered{*a, failure})
		return
	}
	e.resolve(a, option)
}

func (e *engine) refuseOpen(conv contract.ConversationID) {
	for _, a := range e.openAsks(func(a *ask) bool { return a.conv == conv }) {
		option, _ := a.choose(contract.Deny)
		e.resolve(a, option)
	}
}

// resolve replies to a permission request; an empty option cancels it.
func (e *engine) resolve(a *ask, option string) {
	if e.asks[a.id] == a {
		delete(e.asks, a.id)
	}
	raw, err := encodeResult(a.raw, outcome(option))
	if err != nil {
		e.note(slog.LevelError, "cannot encode a reply: %s", err)
		return
	}
	e.do(write{raw})
}

func (e *engine) refuse(id json.RawMessage, code int, message string) {
	raw, err := encodeFailure(id, code, message)
	if err != nil {
		e.note(slog.LevelError, "cannot encode a refusal: %s", err)
		return
	}
	e.do(write{raw})
}

// withdraw ends a request that the engine has given up.
func (e *engine) withdraw(id json.RawMessage) {
	for _, a := range e.openAsks(func(a *ask) bool { return string(a.raw) == string(id) }) {
		delete(e.asks, a.id)
		e.refuse(a.raw, codeCancelled, "Request cancelled")
		e.do(withdrawn{a.conv, a.id})
	}
}

// Time and the end.

func (e *engine) elapsed() {
	for _, id := range slices.Sorted(maps.Keys(e.pending)) {
		if p := e.pending[id]; p != nil && !p.deadline.IsZero() && !p.deadline.After(e.now) {
			e.overdue(id, p)
		}
	}
	for _, s := range e.inOrder() {
		if t := s.turn; t.stopping() && !t.stopBy.After(e.now) {
			e.force(s)
		}
	}
}

// overdue handles a request whose time is up.
func (e *engine) overdue(id uint64, p *pending) {
	if p.method == methodPrompt && !p.s.gone && p.s.turn == p.turn {
		// The turn may be in the middle of something: it is cancelled as by a
		// person, and the answer to that ends it.
		p.deadline = time.Time{}
		if !p.turn.stopping() {
			p.turn.why = fmt.Sprintf("The engine did not finish the turn within %d minutes and was told to stop. Send again to continue.", int(waitPrompt.Minutes()))
			e.stopTurn(p.s)
		}
		return
	}
	delete(e.pending, id)
	silent := &rpcError{code: contract.CodeInternal, message: fmt.Sprintf("The engine did not answer %s within %d s. Send again to try once more.", p.method, int(waitFor(p.method).Seconds()))}
	switch {
	case p.method == methodInitialize:
		e.end(fmt.Sprintf("it did not answer %s within %d s", p.method, int(waitRequest.Seconds())))
	case p.method == methodNew:
		e.late[id] = true
		e.attached(p, frame{err: silent})
	case p.method == methodAuthenticate:
		e.authenticated(frame{err: silent})
	case p.method == methodLoad, p.method == methodResume:
		e.attached(p, frame{err: silent})
	case p.set != nil:
		e.settled(p, frame{err: silent})
	case p.query != nil:
		e.answered(p, frame{err: silent})
	}
}

// end ends the engine because of what it did; why is for the middle of a
// sentence. Its exit tells the conversations.
func (e *engine) end(why string) {
	if e.phase == phaseDown || e.ending != "" {
		return
	}
	e.phase, e.ending = phaseEnding, e.spec.hide(why)
	e.do(kill{e.ending})
}

func (e *engine) halt(grace time.Duration) {
	e.halted = true
	if e.phase == phaseDown {
		e.do(died{reason: "it was asked to stop", text: "The engine was asked to stop. Send again to start it.", asked: true})
		return
	}
	e.phase = phaseEnding
	e.do(stop{grace})
}

func (e *engine) exited(x child.Exit) {
	reason := e.spec.exitReason(x)
	switch {
	case e.ending != "":
		reason = e.ending
		if words := lastWords(x.Tail); words != "" {
			reason += ", its last words: " + e.spec.hide(words)
		}
	case e.halted:
		reason = "it was asked to stop"
	}
	e.ended("The engine stopped: "+reason+". Send again to continue.", reason)
}

// ended is the end of the process, or that there will be none: every turn in
// flight fails with text, nothing is resident, requests fail, and the engine is
// as before its start. Idle conversations hear nothing.
func (e *engine) ended(text, reason string) {
	e.phase, e.caps, e.signing, e.signed = phaseDown, capabilities{}, false, false
	unfit := e.unfit
	e.ending, e.unfit = "", false
	queries := e.waiting
	for _, id := range slices.Sorted(maps.Keys(e.pending)) {
		if q := e.pending[id].query; q != nil {
			queries = append(queries, q)
		}
	}
	e.waiting = nil
	clear(e.pending)
	clear(e.late)
	clear(e.asks)
	for _, q := range queries {
		e.do(reply{token: q.token, failure: contract.Fail(contract.CodeInternal, "%s", contract.TextEngineClosed)})
	}
	for _, s := range e.inOrder() {
		e.strand(s, text)
	}
	e.do(died{reason: reason, text: text, incompatible: unfit, asked: e.halted})
}

// strand is what the engine's end means for one conversation.
func (e *engine) strand(s *session, text string) {
	s.resident, s.request, s.open, s.stream.replaying = false, 0, false, false
	switch {
	case !s.began:
		e.attachFailed(s, text)
	case s.turn != nil && !s.turn.running():
		t := s.turn
		s.turn = nil
		e.refuseTurn(s.conv, t.id, text)
	case s.turn != nil:
		if s.turn.why != "" {
			text = s.turn.why
		}
		e.endTurn(s, text)
	default:
		s.stream.end("")
	}
}
