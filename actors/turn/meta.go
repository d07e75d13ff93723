package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/hook"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
)

// Options is what every turn of the service shares.
type Options struct {
	// BootID and Home mark the children of bash, so that a later start can
	// end what a SIGKILL left behind.
	BootID, Home string
	// Register records a process group until release is called, usually
	// [child.Registry.Register]; may be nil.
	Register func(*child.Group) (release func())
	// Client carries the provider requests; nil means llm's own.
	Client *http.Client
	// Getenv reads our environment variables (base URLs); nil means none.
	Getenv func(string) string
	// Environ is the environment of bash and of hooks; nil means the service's
	// own without our variables.
	Environ []string
	// UserHooks is the path of the person's own settings file, which may hold
	// hooks; empty for none.
	UserHooks string
	// Life ends when the service stops, and with it every hook; nil for never.
	Life context.Context
	// Fetch answers web_fetch in tests; nil is the guarded transport.
	Fetch http.RoundTripper
	// DemoDelay is the pause between the demo's deltas.
	DemoDelay time.Duration
	// Limits bound the provider's stream and its retries.
	Limits llm.Limits
	// Prices prices the ledger's lines.
	Prices *llm.PriceTable
	// Now is the clock of the ledger.
	Now func() time.Time
}

// Factory returns the function that builds the meta process of a turn.
func Factory(o Options) msg.TurnFactory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	lanes := new(lanes)
	return func(spec msg.TurnSpec) gen.MetaBehavior { return &meta{opt: o, spec: spec, lanes: lanes} }
}

// lanes bounds the one-shot requests that run at a time: two per provider and
// lane. Source: runtime.md 4.
type lanes struct {
	mu    sync.Mutex
	slots map[string]chan struct{}
}

// background are the tasks nobody waits for.
var background = map[string]bool{"session-summarize": true, "pattern-extract": true, "flight-retrospective": true}

// enter waits for a slot and returns what gives it back.
func (l *lanes) enter(ctx context.Context, provider contract.ProviderID, task string) (leave func(), err error) {
	key := string(provider)
	if background[task] {
		key += " background"
	}
	l.mu.Lock()
	if l.slots == nil {
		l.slots = make(map[string]chan struct{})
	}
	slot, ok := l.slots[key]
	if !ok {
		slot = make(chan struct{}, 2)
		l.slots[key] = slot
	}
	l.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// meta is the process shell of a loop. Start and HandleMessage run on two
// goroutines; what they share is behind mu, atomics and channels.
type meta struct {
	gen.MetaProcess
	opt   Options
	spec  msg.TurnSpec
	lanes *lanes

	emitter *emitter
	ctx     context.Context
	cancel  context.CancelCauseFunc
	now     atomic.Pointer[contract.Posture]
	// life ends with this process. The end of ctx, a Stop, is not that: the
	// last events may still wait for credit then.
	life context.Context
	die  context.CancelCauseFunc

	mu     sync.Mutex
	perms  map[string]chan msg.PermissionAnswer
	edits  map[string]chan msg.EditAnswer
	ledger map[uint64]chan error
}

// Init stores the process; nothing here can fail.
func (m *meta) Init(p gen.MetaProcess) error {
	m.MetaProcess = p
	m.perms = make(map[string]chan msg.PermissionAnswer)
	m.edits = make(map[string]chan msg.EditAnswer)
	m.ledger = make(map[uint64]chan error)
	m.life, m.die = context.WithCancelCause(context.Background())
	m.ctx, m.cancel = context.WithCancelCause(m.life)
	m.now.Store(&m.spec.Posture)
	parent := p.Parent()
	m.emitter = newEmitter(m.spec.Turn, func(message any) {
		if err := p.Send(parent, message); err != nil {
			// The conversation is gone, and this process ends with it.
			m.die(errCancelled)
		}
	})
	return nil
}

// Start plays the turn.
func (m *meta) Start() error {
	last, state := m.play()
	m.emitter.put(last, msg.TurnClosed{Turn: m.spec.Turn, Tools: state})
	m.emitter.close()
	<-m.life.Done() // Credits for what still waits arrive until the owner ends us.
	return nil
}

func (m *meta) play() (last contract.Event, state any) {
	state = m.spec.Tools
	defer func() {
		if fault := recover(); fault != nil {
			m.fault(fault, debug.Stack())
			last = contract.Error{Message: "The turn failed inside PacketBench; send again to retry. Details are in the log."}
		}
	}()
	if m.spec.OneShot {
		leave, err := m.lanes.enter(m.ctx, m.spec.Provider, m.spec.Task)
		if err != nil {
			return contract.Done{Cancelled: true}, state
		}
		defer leave()
	}
	kept, err := m.kept()
	if err != nil {
		return contract.Error{Message: err.Error()}, state
	}
	l, err := m.loop()
	if err != nil {
		return contract.Error{Message: err.Error()}, state
	}
	if kept != nil {
		state, l.tools = kept, kept
		hooks := kept.session.Turn(m.spec.Trusted, func(line string) { m.Log().Warning("%s", line) })
		hooks.Start(m.ctx)
		l.scripts = hooks
	}
	return l.run(m.ctx), state
}

func (m *meta) fault(value any, stack []byte) {
	m.Log().Error("turn fault conv=%s turn=%s fault=%v\n%s", m.spec.Conversation, m.spec.Turn, value, stack)
}

// kept is the conversation's state, made at its first turn and carried from
// turn to turn; nil for a one-shot, which has neither tools nor a session.
func (m *meta) kept() (*state, error) {
	if m.spec.OneShot {
		return nil, nil
	}
	if s, ok := m.spec.Tools.(*state); ok && s != nil {
		return s, nil
	}
	run, err := tool.New(tool.Options{
		Root: m.spec.Project, BootID: m.opt.BootID, Home: m.opt.Home,
		Env: m.opt.Environ, Register: m.opt.Register, HTTP: m.opt.Fetch,
	})
	if err != nil {
		return nil, err
	}
	return &state{Runtime: run, session: hook.NewSession(hook.Options{
		User: m.opt.UserHooks, BootID: m.opt.BootID, Home: m.opt.Home,
		Env: m.opt.Environ, Register: m.opt.Register, Life: m.opt.Life,
	}, m.spec.Conversation, m.spec.Project)}, nil
}

func (m *meta) loop() (*loop, error) {
	var saved llm.Saved
	if len(m.spec.Settings) > 0 {
		if err := json.Unmarshal(m.spec.Settings, &saved); err != nil {
			return nil, fmt.Errorf("the provider settings could not be read; check them in Settings: %w", err)
		}
	}
	settings, err := llm.Resolve(saved, m.opt.Getenv)
	if err != nil {
		m.Log().Warning("provider settings refused reason=%s", err)
	}
	settings.DemoDelay = m.opt.DemoDelay
	provider, err := llm.New(m.spec.Provider, settings, m.opt.Client)
	if err != nil {
		return nil, err
	}
	l := &loop{spec: m.spec, provider: provider, host: m, fault: m.fault}
	l.hooks = llm.Hooks{Limits: m.opt.Limits, Log: func(line string) { m.Log().Warning("%s", line) }, RateLimited: func(after *float64, message string) {
		e := contract.RateLimited{RetryAfterSeconds: after}
		if message != "" {
			e.Message = &message
		}
		m.emit(e)
	}}
	l.window, _ = llm.ContextWindow(m.spec.Provider, m.spec.Model)
	if m.spec.Ledger != "" {
		l.ledger = m.ledgerLine
	}
	return l, nil
}

// ledgerLine encodes the ledger line of one model request, nil when all of its
// counts are zero.
func (m *meta) ledgerLine(d llm.Done) ([]byte, error) {
	source := m.spec.Ledger
	agent := ""
	if m.spec.OneShot {
		source, agent = contract.LedgerAux, m.spec.Task
	}
	row, write, err := llm.Row(string(source), llm.RowFacts{
		At: m.opt.Now(), Model: m.spec.Model, Provider: m.spec.Provider, AgentID: agent,
		SessionID: m.spec.Conversation, Prices: m.opt.Prices,
		Counts: llm.TokenCounts{Input: d.Input, Output: d.Output, CacheRead: d.CacheRead, CacheWrite5m: d.CacheCreation},
	})
	if err != nil || !write {
		return nil, err
	}
	line, err := llm.EncodeLedgerRow(row)
	return bytes.TrimSuffix(line, []byte("\n")), err
}

// HandleMessage takes the conversation's answers.
func (m *meta) HandleMessage(_ gen.PID, message any) error {
	switch a := message.(type) {
	case msg.EmittedAck:
		m.emitter.credit()
	case msg.PermissionAnswer:
		answer(&m.mu, m.perms, a.ID, a)
	case msg.EditAnswer:
		answer(&m.mu, m.edits, a.ID, a)
	case msg.LedgerWritten:
		answer(&m.mu, m.ledger, a.N, a.Err)
	case msg.PostureNow:
		m.now.Store(&a.Posture)
	case msg.CancelTurn:
		m.cancel(errCancelled)
	}
	return nil
}

// answer hands v to whoever waits under key, once.
func answer[K comparable, V any](mu *sync.Mutex, waiting map[K]chan V, key K, v V) {
	mu.Lock()
	defer mu.Unlock()
	if c, ok := waiting[key]; ok {
		delete(waiting, key)
		c <- v // Buffered: one value a key.
	}
}

// await registers for an answer, sends the question and waits.
func await[K comparable, V any](ctx context.Context, mu *sync.Mutex, waiting map[K]chan V, key K, question func()) (V, error) {
	c := make(chan V, 1)
	mu.Lock()
	waiting[key] = c
	mu.Unlock()
	question()
	select {
	case v := <-c:
		return v, nil
	case <-ctx.Done():
		mu.Lock()
		delete(waiting, key)
		mu.Unlock()
		var zero V
		return zero, context.Cause(ctx)
	}
}

func (m *meta) emit(events ...contract.Event) {
	items := make([]any, len(events))
	for i, e := range events {
		items[i] = e
	}
	m.emitter.put(items...)
}

func (m *meta) requestOpened() { m.emitter.put(msg.RequestOpened{Turn: m.spec.Turn}) }
func (m *meta) reasoned(d json.RawMessage) {
	m.emitter.put(msg.Reasoned{Turn: m.spec.Turn, Details: d})
}
func (m *meta) facts(f msg.ToolFacts)     { m.emitter.put(f) }
func (m *meta) posture() contract.Posture { return *m.now.Load() }

func (m *meta) usage(u msg.RequestUsage) error {
	if u.Line == nil {
		m.emitter.put(u)
		return nil
	}
	// Stop does not break this off: a line takes milliseconds, and whether it
	// was written decides how the turn ends.
	ctx, stop := context.WithTimeoutCause(m.life, ledgerWait, errLedgerSilent)
	defer stop()
	failure, err := await(ctx, &m.mu, m.ledger, u.N, func() { m.emitter.put(u) })
	if err == nil {
		err = failure
	}
	if err != nil && !errors.Is(err, errCancelled) {
		return &LedgerError{err}
	}
	return err
}

// ledgerWait is how long a line may take to be on disk. Ours.
const ledgerWait = 8 * time.Second

var errLedgerSilent = errors.New("the usage ledger did not answer; send again to retry")

func (m *meta) ask(ctx context.Context, a msg.Ask) (msg.PermissionAnswer, error) {
	return await(ctx, &m.mu, m.perms, a.ID, func() { m.emitter.put(a) })
}

func (m *meta) askEdit(ctx context.Context, a msg.AskEdit) (msg.EditAnswer, error) {
	return await(ctx, &m.mu, m.edits, a.ID, func() { m.emitter.put(a) })
}

// HandleCall answers nobody: a turn is only ever sent messages.
func (m *meta) HandleCall(gen.PID, gen.Ref, any) (any, error) { return nil, nil }

// Terminate ends the stream and the tools. It must not wait.
func (m *meta) Terminate(error) {
	m.die(errCancelled)
	m.emitter.close()
}

// HandleInspect tells nothing; facts are pushed.
func (m *meta) HandleInspect(gen.PID, ...string) map[string]string { return nil }
