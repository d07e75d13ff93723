//go:build integration

package main

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// vendorModels are models that the SDKs take for themselves.
const (
	claudeModel = "claude-sonnet-4-6"
	agentsModel = "gpt-5.5"
	chatModel   = "gpt-4.1"
)

// conformSidecar plays the suite with the vendors' real SDKs in the real Node
// child, against loopback servers of their providers.
func conformSidecar(t *testing.T, seen *streams) {
	for _, w := range vendors() {
		t.Run(w.name, func(t *testing.T) {
			model := &scripted{tool: w.tool, plan: w.plan}
			server := w.server(t).Foreign().Choose(model.next)
			p := serve(t, t.TempDir(), append(w.env(server.URL), sidecarScript(t)))
			lacks := map[conformance.Feature]string{
				conformance.FeatureOneShot: "a single question is asked of a provider, never of an agent",
			}
			for feature, why := range w.lacks {
				lacks[feature] = why
			}
			conformance.Run(t, conformance.Suite{
				Transport: contract.TransportSidecar, Limit: patience, Lacks: lacks,
				Open: func(ctx context.Context, s conformance.Script) (conformance.Harness, error) {
					return w.open(ctx, t, p, model, s, seen.of(w.name, contract.TransportSidecar))
				},
			})
			if code := p.term(); code != 0 {
				t.Errorf("the service ends with code %d", code)
			}
		})
	}
}

// vendor is one SDK behind the sidecar, with what its model has to say to make
// it do something.
type vendor struct {
	name, provider, model string
	server                func(testing.TB) *llmtest.Server
	env                   func(url string) []string
	tool                  func(project, id string, c conformance.Call) llmtest.Call
	plan                  func(id string, items []contract.PlanItem) llmtest.Call
	lacks                 map[conformance.Feature]string
}

func (v vendor) open(ctx context.Context, t *testing.T, p *proc, model *scripted, s conformance.Script, saw func(contract.Envelope)) (conformance.Harness, error) {
	conn, err := dial(ctx, p.run.URL, p.run.OwnerToken)
	if err != nil {
		return nil, err
	}
	h := &hosted{inProcess{
		p: p, conn: conn, model: model, project: t.TempDir(),
		provider: contract.ProviderID(v.provider), modelID: v.model, saw: saw,
	}}
	model.load(h.project, s)
	return h, nil
}

func vendors() []vendor {
	noPlan := map[conformance.Feature]string{conformance.FeaturePlan: "the OpenAI Agents SDK has no tool that publishes a plan"}
	openai := func(url string) []string {
		return []string{"PACKETBENCH_OPENAI_URL=" + url + "/v1", "OPENAI_API_KEY=test-key"}
	}
	return []vendor{
		{
			name: "claude", provider: "claude-oauth", model: claudeModel,
			server: func(t testing.TB) *llmtest.Server { return llmtest.NewAnthropic(t) },
			env: func(url string) []string {
				return []string{"PACKETBENCH_ANTHROPIC_URL=" + url, "ANTHROPIC_API_KEY=test-key"}
			},
			tool: claudeTool, plan: claudePlan,
		},
		{
			name: "agents responses", provider: "openai-agents", model: agentsModel,
			server: func(t testing.TB) *llmtest.Server { return llmtest.NewResponses(t) },
			env:    openai, lacks: noPlan,
		},
		{
			name: "agents chat", provider: "openai-agents", model: chatModel,
			server: func(t testing.TB) *llmtest.Server { return llmtest.NewChat(t) },
			env:    openai,
			lacks: map[conformance.Feature]string{
				conformance.FeaturePlan:     noPlan[conformance.FeaturePlan],
				conformance.FeatureThinking: "Chat Completions of this vendor carry no reasoning",
			},
		},
	}
}

// claudeTool is the call of the Claude Agent SDK's tools that does what c says.
func claudeTool(project, id string, c conformance.Call) llmtest.Call {
	name, arguments := "Read", map[string]string{"file_path": filepath.Join(project, c.Path)}
	switch c.Do {
	case conformance.ActionRead:
	case conformance.ActionWrite:
		name = "Write"
		arguments["content"] = c.Text
	case conformance.ActionRun:
		name, arguments = "Bash", map[string]string{"command": c.Text}
	}
	raw, err := contract.Marshal(arguments)
	if err != nil {
		raw = []byte("{}")
	}
	return llmtest.Call{ID: "toolu_" + id, Name: name, Arguments: string(raw)}
}

// claudePlan is the call of its list tool.
func claudePlan(id string, items []contract.PlanItem) llmtest.Call {
	type todo struct {
		Content    string              `json:"content"`
		Status     contract.PlanStatus `json:"status"`
		ActiveForm string              `json:"activeForm"`
	}
	todos := make([]todo, 0, len(items))
	for _, i := range items {
		todos = append(todos, todo{i.Content, i.Status, i.Content})
	}
	raw, err := contract.Marshal(map[string]any{"todos": todos})
	if err != nil {
		raw = []byte("{}")
	}
	return llmtest.Call{ID: "toolu_" + id, Name: "TodoWrite", Arguments: string(raw)}
}

// hosted is one scenario's view of the service with a transport whose child can
// die.
type hosted struct{ inProcess }

// Crash kills the sidecar, without a word.
func (h *hosted) Crash(ctx context.Context) error {
	var status contract.SidecarStatus
	if err := h.conn.call(ctx, contract.MethodSidecarStatus, nil, &status); err != nil {
		return err
	}
	if status.PID == nil {
		return errors.New("the sidecar does not run")
	}
	return syscall.Kill(*status.PID, syscall.SIGKILL)
}
