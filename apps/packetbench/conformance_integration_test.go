//go:build integration

package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// TestConformance plays the suite through the doors of the whole program: once
// per provider wire of our own turn loop, once per SDK behind the sidecar and
// once with an engine of its own.
// Whoever answers, a window sees the same; the last subtest compares what they
// saw field by field.
func TestConformance(t *testing.T) {
	built(t)
	seen := &streams{}
	t.Run("in-process", func(t *testing.T) { conformInProcess(t, seen) })
	t.Run("sidecar", func(t *testing.T) { conformSidecar(t, seen) })
	t.Run("acp", func(t *testing.T) { conformACP(t, seen) })
	t.Run("one stream", seen.compare)
}

func conformInProcess(t *testing.T, seen *streams) {
	for _, w := range []struct {
		name, provider, model string
		server                func(testing.TB) *llmtest.Server
		env                   func(url string) []string
		lacks                 map[conformance.Feature]string
	}{
		{
			name: "anthropic", provider: "anthropic", model: "claude-sonnet-4-6",
			server: func(t testing.TB) *llmtest.Server { return llmtest.NewAnthropic(t) },
			env: func(url string) []string {
				return []string{"PACKETBENCH_ANTHROPIC_URL=" + url, "ANTHROPIC_API_KEY=test-key"}
			},
		},
		{
			name: "openai", provider: "openai", model: "gpt-5.5",
			server: func(t testing.TB) *llmtest.Server { return llmtest.NewResponses(t) },
			env: func(url string) []string {
				return []string{"PACKETBENCH_OPENAI_URL=" + url + "/v1", "OPENAI_API_KEY=test-key"}
			},
		},
		{
			name: "openrouter", provider: "openrouter", model: "openrouter/auto",
			server: func(t testing.TB) *llmtest.Server { return llmtest.NewChat(t) },
			env: func(url string) []string {
				return []string{"PACKETBENCH_OPENROUTER_URL=" + url + "/v1", "OPENROUTER_API_KEY=test-key"}
			},
		},
		{
			name: "ollama", provider: "ollama", model: "test-model",
			server: func(t testing.TB) *llmtest.Server {
				return llmtest.NewOllama(t, llmtest.OllamaModel{})
			},
			env: func(url string) []string { return []string{"PACKETBENCH_OLLAMA_URL=" + url} },
		},
	} {
		t.Run(w.name, func(t *testing.T) {
			model := &scripted{}
			server := w.server(t).Choose(model.next)
			p := serve(t, t.TempDir(), w.env(server.URL))
			lacks := map[conformance.Feature]string{
				conformance.FeatureCrash: "a turn runs inside the service, so only the service can die; the kill tests see to that",
			}
			for feature, why := range w.lacks {
				lacks[feature] = why
			}
			conformance.Run(t, conformance.Suite{
				Transport: contract.TransportInProcess, Limit: patience, Lacks: lacks,
				Open: func(ctx context.Context, s conformance.Script) (conformance.Harness, error) {
					conn, err := dial(ctx, p.run.URL, p.run.OwnerToken)
					if err != nil {
						return nil, err
					}
					h := &inProcess{
						p: p, conn: conn, model: model, project: t.TempDir(),
						provider: contract.ProviderID(w.provider), modelID: w.model,
						saw: seen.of(w.name, contract.TransportInProcess),
					}
					model.load(h.project, s)
					return h, nil
				},
			})
			if code := p.term(); code != 0 {
				t.Errorf("the service ends with code %d", code)
			}
		})
	}
}

// built makes sure that there is a program to test: the one that make built, or
// one built now.
func built(t *testing.T) {
	t.Helper()
	if os.Getenv("PACKETBENCH_BIN") != "" {
		return
	}
	bin := filepath.Join(t.TempDir(), "packetbench.exe")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Setenv("PACKETBENCH_BIN", bin)
}

// scripted turns a Script into what the provider's server plays.
type scripted struct {
	mu      sync.Mutex
	steps   []conformance.Step
	release chan struct{}
	calls   int
	// tool is the call of the transport's tools that does what is asked; nil
	// means our own.
	tool func(project, id string, c conformance.Call) llmtest.Call
	// project is where the scenario's conversation works.
	project string
	// plan is the call that publishes a plan, if the transport has one.
	plan func(id string, items []contract.PlanItem) llmtest.Call
}

func (m *scripted) load(project string, s conformance.Script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.project = project
	m.steps, m.release = s.Steps, make(chan struct{})
}

func (m *scripted) let() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.release:
	default:
		close(m.release)
	}
}

func (m *scripted) next(llmtest.Recorded) llmtest.Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.steps) == 0 {
		return llmtest.Turn{Status: http.StatusBadRequest, Error: "the script has ended, and the model is asked again"}
	}
	step := m.steps[0]
	m.steps = m.steps[1:]
	if step.Plan != nil && m.plan != nil { // The words come once the plan has its result.
		m.calls++
		call := m.plan("call_"+strconv.Itoa(m.calls), step.Plan)
		m.steps = slices.Insert(m.steps, 0, conformance.Step{Text: step.Text, Hold: step.Hold})
		return llmtest.Turn{Thinking: step.Thinking, Calls: []llmtest.Call{call}}
	}
	t := llmtest.Turn{Thinking: step.Thinking, Text: step.Text}
	form := m.tool
	if form == nil {
		form = tool
	}
	for _, c := range step.Calls {
		m.calls++
		t.Calls = append(t.Calls, form(m.project, "call_"+strconv.Itoa(m.calls), c))
	}
	switch {
	case step.Limited != nil:
		t.Status, t.Error, t.ErrorType = http.StatusTooManyRequests, "slow down", "rate_limit_error"
		t.Header = http.Header{"Retry-After": {strconv.FormatFloat(*step.Limited, 'f', -1, 64)}}
	case step.Fail != "":
		// A bad request some kits try again without what may have been bad.
		t.Status, t.Error, t.ErrorType = http.StatusForbidden, step.Fail, "permission_error"
	case step.Hold:
		t.Wait = m.release
	}
	return t
}

// tool is the call of our own tools that does what c says.
func tool(_, id string, c conformance.Call) llmtest.Call {
	name, arguments := "read_file", map[string]string{"path": c.Path}
	switch c.Do {
	case conformance.ActionRead:
	case conformance.ActionWrite:
		name = "write_file"
		arguments["content"] = c.Text
	case conformance.ActionRun:
		name, arguments = "bash", map[string]string{"command": c.Text}
	}
	raw, err := contract.Marshal(arguments)
	if err != nil {
		raw = []byte("{}")
	}
	return llmtest.Call{ID: id, Name: name, Arguments: string(raw)}
}

// inProcess is one scenario's view of the service.
type inProcess struct {
	p        *proc
	conn     *client
	model    *scripted
	project  string
	provider contract.ProviderID
	modelID  string
	saw      func(contract.Envelope)
}

func (h *inProcess) Start() contract.StartParams {
	return contract.StartParams{Provider: h.provider, Model: h.modelID, ProjectPath: h.project}
}

func (h *inProcess) Call(ctx context.Context, m contract.Method, params, result any) error {
	return h.conn.call(ctx, m, params, result)
}

// Subscribe opens a window of its own, as a page would.
func (h *inProcess) Subscribe(ctx context.Context, patterns []string, since any) (conformance.Stream, error) {
	conn, err := dial(ctx, h.p.run.URL, h.p.run.OwnerToken)
	if err != nil {
		return nil, err
	}
	if _, err := conn.subscribe(ctx, since, patterns...); err != nil {
		conn.close()
		return nil, err
	}
	return &followed{conn: conn, saw: h.saw}, nil
}

func (h *inProcess) Release() { h.model.let() }

func (h *inProcess) File(path string) (string, bool, error) {
	body, err := os.ReadFile(filepath.Join(h.project, path))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	return string(body), err == nil, err
}

func (h *inProcess) Close() {
	h.model.let()
	h.conn.close()
}

// followed is a window's stream of events.
type followed struct {
	conn    *client
	waiting []contract.Envelope
	saw     func(contract.Envelope)
}

func (f *followed) Next(ctx context.Context) (contract.Envelope, error) {
	for len(f.waiting) == 0 {
		select {
		case n, ok := <-f.conn.events:
			if !ok {
				return contract.Envelope{}, f.conn.ended()
			}
			if n.Method == "gap" {
				return contract.Envelope{}, errors.New("the window got a gap")
			}
			f.waiting = n.Events.Events
		case <-ctx.Done():
			return contract.Envelope{}, ctx.Err()
		}
	}
	e := f.waiting[0]
	f.waiting = f.waiting[1:]
	f.saw(e)
	return e, nil
}

func (f *followed) Close() { f.conn.close() }
