package conversation

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// patience bounds every wait of these tests.
const patience = 15 * time.Second

// bell wakes whoever waits for a condition.
type bell struct {
	mu   sync.Mutex
	wake chan struct{}
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wake == nil {
		b.wake = make(chan struct{})
	}
	return b.wake
}

// event is one published event.
type event struct {
	name string // Without the id.
	turn contract.TurnID
	data string
}

// world is a node with everything around one conversation: a store, a secret
// reader, an event log, a supervisor and turns that the test drives.
type world struct {
	t    *testing.T
	node gen.Node
	opt  Options
	bell bell
	sup  gen.PID

	mu     sync.Mutex
	events []event
	down   bool // The log takes nothing.

	files    map[contract.ConversationID]*disk
	loadErr  error
	saves    []msg.SaveConversation
	saveErr  error
	mute     bool // Saves are not answered.
	hold     bool // Saves are answered when released.
	held     []func()
	most     int // Of saves on their way at once.
	outgoing int
	ledger   []msg.AppendLedger
	sick     error // Of the ledger.
	// verdict is what the cost limits say; checks and warned are what the store
	// heard about them.
	verdict  msg.LaunchVerdict
	limits   chan struct{} // Verdicts are held back until it is closed.
	checks   []msg.LaunchCheck
	warned   []string
	trusted  bool // Every project.
	profiles []contract.Profile
	// questions are the folders that were asked about.
	questions []string
	// baselines are those of every conversation.
	baselines msg.Baselines
	deleteNo  error
	endGate   chan struct{} // The last write and a delete are held back until it is closed.
	atGate    bool
	app       string // Settings.
	keyErr    error
	keyGate   chan struct{} // Keys are held back until it is closed.
	keys      []contract.KeyInfo
	idle      []msg.Idle
	ended     map[gen.PID]error

	turns chan *fakeTurn
}

func newWorld(t *testing.T, change func(*Options)) *world {
	w := &world{
		t: t, files: map[contract.ConversationID]*disk{}, ended: map[gen.PID]error{}, turns: make(chan *fakeTurn, 16), app: `{}`,
	}
	w.opt = Options{
		BootID: "boot-1", Publisher: w,
		NewTurn:   func(spec msg.TurnSpec) gen.MetaBehavior { return &fakeTurn{w: w, spec: spec} },
		SaveEvery: 10 * time.Millisecond,
		pause:     pauses{saveRetry: 20 * time.Millisecond, saveLost: 10 * time.Second, startReply: 4 * time.Second, loadRetry: 10 * time.Millisecond},
	}
	if change != nil {
		change(&w.opt)
	}
	w.node = nodetest.Start(t, 15*time.Second)
	w.spawn("", func() gen.ProcessBehavior { return &outerStub{w: w} }, &w.sup)
	w.startStore()
	w.spawn(msg.Secret, func() gen.ProcessBehavior { return &secretStub{w: w} }, nil)
	return w
}

func (w *world) spawn(name gen.Atom, f gen.ProcessFactory, pid *gen.PID) {
	w.t.Helper()
	var p gen.PID
	var err error
	if name == "" {
		p, err = w.node.Spawn(f, gen.ProcessOptions{})
	} else {
		p, err = w.node.SpawnRegister(name, f, gen.ProcessOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if pid != nil {
		*pid = p
	}
}

func (w *world) startStore() {
	w.spawn(msg.Store, func() gen.ProcessBehavior { return &storeStub{w: w} }, nil)
}

// with changes what the world does.
func (w *world) with(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
	w.bell.ring()
}

// until waits for a condition, which is evaluated under the lock.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	timeout := time.After(patience)
	for {
		next := w.bell.next()
		w.mu.Lock()
		yes := ok()
		w.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-next:
		case <-timeout:
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Fatalf("never happened: %s\nevents %v", what, w.names())
		}
	}
}

// Publish is the event log.
func (w *world) Publish(subject string, turn contract.TurnID, payload []byte) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.bell.ring()
	if w.down {
		return 0, msg.ErrBusDown
	}
	family, rest, _ := strings.Cut(subject, ".")
	name, _, _ := strings.Cut(rest, ".")
	if family == "conversation" {
		name = "conversation." + name
	}
	w.events = append(w.events, event{name, turn, string(payload)})
	return uint64(len(w.events)), nil
}

// Head is the last sequence number.
func (w *world) Head() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return uint64(len(w.events))
}

// names lists the events without the patches. The lock is held.
func (w *world) names() []string {
	var out []string
	for _, e := range w.events {
		if e.name != "conversation.updated" {
			out = append(out, e.name)
		}
	}
	return out
}

// find returns the events of one name. The lock is held.
func (w *world) find(name string) []event {
	var out []event
	for _, e := range w.events {
		if e.name == name {
			out = append(out, e)
		}
	}
	return out
}

func (w *world) waitFor(name string, n int) event {
	w.t.Helper()
	var got []event
	w.until(name, func() bool { got = w.find(name); return len(got) >= n })
	return got[n-1]
}

// wake starts the conversation's process under the supervisor.
func (w *world) wake(id contract.ConversationID) gen.PID {
	w.t.Helper()
	var reply any
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if reply, err = w.node.CallWithTimeout(w.sup, startChild{id}, 5); err != nil {
			w.t.Fatal(err)
		}
		// A name is free a moment after its process has ended.
		if failed, ok := reply.(error); !ok || !errors.Is(failed, gen.ErrTaken) || time.Now().After(end) {
			break
		}
	}
	pid, ok := reply.(gen.PID)
	if !ok {
		w.t.Fatal(reply)
	}
	return pid
}

func (w *world) call(m contract.Method, params any) msg.Reply {
	w.t.Helper()
	return w.callID("c-1", m, params)
}

func (w *world) callID(id contract.ConversationID, m contract.Method, params any) msg.Reply {
	w.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	reply, err := w.node.CallWithTimeout(msg.ConversationName(id), msg.Command{Method: m, Params: raw}, 8)
	if err != nil {
		w.t.Fatalf("%s: %v", m, err)
	}
	return reply.(msg.Reply)
}

func (w *world) must(m contract.Method, params any) any {
	w.t.Helper()
	r := w.call(m, params)
	if r.Failure != nil {
		w.t.Fatalf("%s: %s", m, r.Failure.Message)
	}
	return r.Result
}

var firstMessage = contract.StartParams{SessionID: "c-1", Provider: "anthropic", Model: "claude-sonnet-4-5", InitialMessage: "hello", PermissionMode: contract.ModeAuto}

// start wakes the conversation and begins its first turn.
func (w *world) start() *fakeTurn {
	w.t.Helper()
	w.wake("c-1")
	p := firstMessage
	p.ProjectPath = w.t.TempDir()
	w.must(contract.MethodStart, p)
	return w.turn()
}

// turn waits for the next turn's process.
func (w *world) turn() *fakeTurn {
	w.t.Helper()
	select {
	case turn := <-w.turns:
		return turn
	case <-time.After(patience):
		w.t.Fatal("no turn was started")
		return nil
	}
}

// onDisk is what a start would read.
func (w *world) onDisk(id contract.ConversationID) *contract.Record {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read(id)
}

func (w *world) read(id contract.ConversationID) *contract.Record {
	d, ok := w.files[id]
	if !ok {
		return nil
	}
	r := new(contract.Record)
	if err := json.Unmarshal(d.body, r); err != nil {
		w.t.Error(err)
		return nil
	}
	if got := journal.Replay(r, d.lines); got.Bad != nil {
		w.t.Errorf("replay: %v", got.Bad)
	}
	return r
}

// fakeTurn is a turn that the test drives.
type fakeTurn struct {
	gen.MetaProcess
	w    *world
	spec msg.TurnSpec

	in    chan any
	over  chan struct{}
	end   sync.Once
	crash chan string
}

func (f *fakeTurn) Init(p gen.MetaProcess) error {
	f.MetaProcess = p
	f.in, f.over, f.crash = make(chan any, 1024), make(chan struct{}), make(chan string, 1)
	return nil
}

func (f *fakeTurn) Start() error {
	f.w.turns <- f
	select {
	case why := <-f.crash:
		panic(why)
	case <-f.over:
		return nil
	}
}

func (f *fakeTurn) HandleMessage(_ gen.PID, message any) error {
	if _, ack := message.(msg.EmittedAck); !ack {
		f.in <- message
	}
	return nil
}

func (f *fakeTurn) HandleCall(gen.PID, gen.Ref, any) (any, error)      { return nil, nil }
func (f *fakeTurn) HandleInspect(gen.PID, ...string) map[string]string { return nil }
func (f *fakeTurn) Terminate(error)                                    { f.end.Do(func() { close(f.over) }) }

func (f *fakeTurn) say(message any) { _ = f.Send(f.Parent(), message) }

func (f *fakeTurn) emit(events ...contract.Event) {
	f.say(msg.Emitted{Turn: f.spec.Turn, Events: events})
}

func (f *fakeTurn) close(last contract.Event) { f.emit(last); f.say(msg.TurnClosed{Turn: f.spec.Turn}) }

func (f *fakeTurn) ask(id, line string) {
	f.say(msg.Ask{Turn: f.spec.Turn, ID: id, Name: "bash", Arguments: bash(line)})
}

// hears waits for a message of type T.
func hears[T any](f *fakeTurn) T {
	f.w.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case message := <-f.in:
			if m, ok := message.(T); ok {
				return m
			}
		case <-timeout:
			var zero T
			f.w.t.Fatalf("the turn never heard a %T", zero)
			return zero
		}
	}
}

// gone waits for the end of the turn's process.
func (f *fakeTurn) gone() {
	f.w.t.Helper()
	select {
	case <-f.over:
	case <-time.After(patience):
		f.w.t.Fatal("the turn's process is still there")
	}
}

// outerStub plays sessions_sup.
type outerStub struct {
	act.Actor
	w *world
}

type startChild struct{ id contract.ConversationID }

func (s *outerStub) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case msg.Idle:
		s.w.with(func() { s.w.idle = append(s.w.idle, m) })
	case gen.MessageDownPID:
		s.w.with(func() { s.w.ended[m.PID] = m.Reason })
	}
	return nil
}

func (s *outerStub) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	pid, err := s.Spawn(New(s.w.opt), gen.ProcessOptions{}, request.(startChild).id)
	if err == nil {
		err = s.MonitorPID(pid)
	}
	if err != nil {
		return err, nil
	}
	return pid, nil
}

// secretStub plays the keyring reader.
type secretStub struct {
	act.Actor
	w *world
}

func (s *secretStub) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	s.w.mu.Lock()
	gate := s.w.keyGate
	s.w.mu.Unlock()
	if gate != nil {
		<-gate
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	switch request.(type) {
	case msg.GetKey:
		if s.w.keyErr != nil {
			return msg.FoundKey{Err: s.w.keyErr}, nil
		}
		return msg.FoundKey{Key: "sk-secret"}, nil
	case msg.KeyStatus:
		return s.w.keys, nil
	}
	return nil, errors.New("unexpected")
}

// storeStub plays the store.
type storeStub struct {
	act.Actor
	w *world
}

type answerNow struct {
	to gen.PID
	m  msg.Saved
}

func (s *storeStub) HandleMessage(from gen.PID, message any) error {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.bell.ring()
	switch m := message.(type) {
	case msg.SaveConversation:
		w.saves = append(w.saves, m)
		w.outgoing++
		w.most = max(w.most, w.outgoing)
		if len(m.Body) > 0 == (len(m.Journal) > 0) {
			w.t.Errorf("save %d has %d bytes of body and %d of journal", m.Rev, len(m.Body), len(m.Journal))
		}
		saved := s.write(m)
		switch {
		case w.mute:
		case w.hold:
			self := s.PID()
			w.held = append(w.held, func() { _ = w.node.Send(self, answerNow{from, saved}) })
		default:
			w.outgoing--
			return s.Send(from, saved)
		}
	case answerNow:
		w.outgoing--
		return s.Send(m.to, m.m)
	case msg.AppendLedger:
		w.ledger = append(w.ledger, m)
		return s.Send(from, msg.LedgerWritten{Turn: m.Turn, N: m.N})
	case msg.BudgetWarned:
		w.warned = append(w.warned, m.Keys...)
	case string:
		return errors.New("crash")
	}
	return nil
}

// write is the lock's holder's.
func (s *storeStub) write(m msg.SaveConversation) msg.Saved {
	w := s.w
	if w.saveErr != nil {
		return msg.Saved{Rev: m.Rev, Err: w.saveErr}
	}
	d := w.files[m.ID]
	if d == nil {
		d = &disk{}
		w.files[m.ID] = d
	}
	if len(m.Body) > 0 {
		d.body, d.lines = m.Body, nil
	} else {
		d.lines = append(d.lines, m.Journal...)
	}
	w.read(m.ID) // Whatever is on disk can be read.
	return msg.Saved{Rev: m.Rev, FileBytes: int64(len(d.body)), JournalBytes: int64(len(d.lines))}
}

// holdEnd keeps a conversation that is about to end waiting. The lock is held.
func (w *world) holdEnd() {
	gate := w.endGate
	if gate == nil {
		return
	}
	w.atGate = true
	w.mu.Unlock()
	w.bell.ring()
	<-gate
	w.mu.Lock()
}

func (s *storeStub) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.bell.ring()
	switch m := request.(type) {
	case msg.LoadConversation:
		if w.loadErr != nil {
			return msg.LoadedConversation{Err: w.loadErr}, nil
		}
		r := w.read(m.ID)
		if r == nil {
			return msg.LoadedConversation{}, nil
		}
		d := w.files[m.ID]
		return msg.LoadedConversation{Found: true, Record: r, FileBytes: int64(len(d.body)), JournalBytes: int64(len(d.lines))}, nil
	case msg.SaveConversationNow:
		w.holdEnd()
		return s.write(m.SaveConversation), nil
	case msg.DeleteConversation:
		w.holdEnd()
		if w.deleteNo != nil {
			return msg.Done{Err: w.deleteNo}, nil
		}
		delete(w.files, m.ID)
		return msg.Done{}, nil
	case msg.GetSettings:
		return msg.Settings{App: json.RawMessage(w.app), Providers: json.RawMessage(`{}`)}, nil
	case msg.LedgerHealth:
		return msg.Done{Err: w.sick}, nil
	case msg.LaunchCheck:
		w.checks = append(w.checks, m)
		if gate := w.limits; gate != nil {
			w.mu.Unlock()
			w.bell.ring()
			<-gate
			w.mu.Lock()
		}
		return w.verdict, nil
	case msg.TrustQuestion:
		w.questions = append(w.questions, m.ProjectPath)
		return msg.TrustAnswer{Trusted: w.trusted}, nil
	case msg.ListProfiles:
		return msg.ProfileList{Profiles: contract.Profiles{Profiles: append([]contract.Profile{{ID: contract.ProfileDefault, MemoryContextEnabled: true}}, w.profiles...), Default: contract.ProfileDefault}}, nil
	case msg.LoadBaselines:
		return w.baselines, nil
	}
	return nil, errors.New("unexpected")
}

// tail returns the names of the last events.
func tail(names []string, n int) []string { return names[max(0, len(names)-n):] }

func (w *world) expectTail(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := tail(w.names(), len(want)); !slices.Equal(got, want) {
		w.t.Errorf("published %v; want it to end with %v", w.names(), want)
	}
}
