//go:build integration && linux

package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// conformACP plays the suite with a real engine, opencode, whose model is the
// same script as everybody's.
func conformACP(t *testing.T, seen *streams) {
	t.Run("opencode", func(t *testing.T) {
		model := &scripted{tool: openCodeTool, plan: openCodePlan}
		server := loopback.NewAny(mainModel, sideModel)
		t.Cleanup(server.Close)
		server.Choose(func(r loopback.Recorded) loopback.Turn {
			if asksAside(r.Body) || !strings.Contains(string(r.Body), `"tools"`) {
				return llmtest.Say("A title")
			}
			return model.next(r)
		})
		p := serve(t, t.TempDir(), nil)
		p.window(t).engines(openCode(t, server.URL))
		conformance.Run(t, conformance.Suite{
			Transport: contract.TransportACP, Limit: patience,
			Lacks: map[conformance.Feature]string{
				conformance.FeatureOneShot:  "a single question is asked of a provider, never of an engine",
				conformance.FeaturePlan:     "opencode shows its list as the result of a tool and sends no plan",
				conformance.FeatureTogether: "opencode asks its second question when the first is answered",
			},
			Open: func(ctx context.Context, s conformance.Script) (conformance.Harness, error) {
				conn, err := dial(ctx, p.run.URL, p.run.OwnerToken)
				if err != nil {
					return nil, err
				}
				h := &engineHarness{inProcess{
					p: p, conn: conn, model: model, project: t.TempDir(), provider: "acp-opencode",
					saw: seen.of("opencode", contract.TransportACP),
				}}
				model.load(h.project, s)
				return h, nil
			},
		})
		if code := p.term(); code != 0 {
			t.Errorf("the service ends with code %d", code)
		}
	})
}

// engineHarness is one scenario's view of the service with an engine that can die.
type engineHarness struct{ inProcess }

// Crash kills the engine, without a word.
func (h *engineHarness) Crash(ctx context.Context) error {
	var tree contract.Tree
	if err := h.conn.call(ctx, contract.MethodTree, nil, &tree); err != nil {
		return err
	}
	return syscall.Kill(childPID(tree.Root, "acp:opencode"), syscall.SIGKILL)
}

// openCodeTool is the call of opencode's tools that does what c says.
func openCodeTool(project, id string, c conformance.Call) llmtest.Call {
	name, arguments := "read", map[string]string{"filePath": filepath.Join(project, c.Path)}
	switch c.Do {
	case conformance.ActionRead:
	case conformance.ActionWrite:
		name = "write"
		arguments["content"] = c.Text
	case conformance.ActionRun:
		name, arguments = "bash", map[string]string{"command": c.Text, "description": "as the script says"}
	}
	raw, err := contract.Marshal(arguments)
	if err != nil {
		raw = []byte("{}")
	}
	return llmtest.Call{ID: id, Name: name, Arguments: string(raw)}
}

// openCodePlan is the call of its list tool.
func openCodePlan(id string, items []contract.PlanItem) llmtest.Call {
	type todo struct {
		Content  string              `json:"content"`
		Status   contract.PlanStatus `json:"status"`
		Priority string              `json:"priority"`
	}
	todos := make([]todo, 0, len(items))
	for _, i := range items {
		todos = append(todos, todo{i.Content, i.Status, "medium"})
	}
	raw, err := json.Marshal(map[string]any{"todos": todos})
	if err != nil {
		raw = []byte("{}")
	}
	return llmtest.Call{ID: id, Name: "todowrite", Arguments: string(raw)}
}
