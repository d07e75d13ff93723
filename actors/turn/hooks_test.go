package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
)

// fakeScripts notes what the hooks would have been told, in one list with what
// the host heard.
type fakeScripts struct {
	host   *fakeHost
	mu     sync.Mutex
	before []string
	veto   string // Text; empty lets the call run.
	crash  bool
}

func (f *fakeScripts) Before(_ context.Context, name string, input json.RawMessage) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = append(f.before, name+" "+string(input))
	return f.veto, f.veto != ""
}

func (f *fakeScripts) After(_ context.Context, name string, _ json.RawMessage, result string, isError bool) {
	f.host.say(fmt.Sprintf("(after %s %q %v)", name, result, isError))
	if f.crash {
		panic("a fault in a hook")
	}
}

func (h *fakeHost) afters() []string {
	var out []string
	for _, item := range h.everything() {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Gates 7 and 8: hooks run behind every other gate, a veto is a failed result
// and nothing runs, and only a tool that was reached is told of afterwards,
// behind its tool-result.
func TestLoop_Hooks(t *testing.T) {
	t.Parallel()
	const input = `{"path":"a.txt"}`
	for _, tc := range []struct {
		name, tool string
		pose       contract.Posture
		setup      func(*bench, *fakeScripts)
		before     []string
		ran        []string
		want       string
		failed     bool
		after      []string
	}{
		{
			name: "runs", tool: "bash", pose: allowAll, before: []string{"bash " + input}, ran: []string{"bash"}, want: "ran bash",
			after: []string{`(after bash "ran bash" false)`},
		},
		{
			name: "reading too", tool: "read_file", pose: allowAll, before: []string{"read_file " + input}, ran: []string{"read_file"}, want: "ran read_file",
			after: []string{`(after read_file "ran read_file" false)`},
		},
		{
			name: "fails", tool: "bash", pose: allowAll, before: []string{"bash " + input}, ran: []string{"bash"}, want: "Error: no", failed: true,
			setup: func(b *bench, _ *fakeScripts) {
				b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{"bash": func(context.Context, json.RawMessage) tool.Result {
					return tool.Result{Content: "Error: no", IsError: true}
				}}
			},
			after: []string{`(after bash "Error: no" true)`},
		},
		{
			name: "no output", tool: "bash", pose: allowAll, before: []string{"bash " + input}, ran: []string{"bash"}, want: contract.TextNoOutput,
			setup: func(b *bench, _ *fakeScripts) {
				b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{"bash": func(context.Context, json.RawMessage) tool.Result { return tool.Result{} }}
			},
			after: []string{`(after bash "(no output)" false)`},
		},
		{
			name: "veto", tool: "bash", pose: allowAll, before: []string{"bash " + input}, want: "Blocked by PreToolUse hook: exit 1", failed: true,
			setup: func(_ *bench, f *fakeScripts) { f.veto = "Blocked by PreToolUse hook: exit 1" },
		},
		{
			name: "veto of an edit", tool: "write_file", pose: allowAll, before: []string{"write_file " + input}, want: "no", failed: true,
			setup: func(_ *bench, f *fakeScripts) { f.veto = "no" },
		},
		{
			name: "veto of an approved edit", tool: "edit_file", pose: contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: true},
			before: []string{"edit_file " + input}, want: "no", failed: true,
			setup: func(_ *bench, f *fakeScripts) { f.veto = "no" },
		},
		{
			name: "approved edit", tool: "edit_file", pose: contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: true},
			before: []string{"edit_file " + input}, ran: []string{"edit_file"}, want: "ran edit_file", after: []string{`(after edit_file "ran edit_file" false)`},
		},
		{
			name: "refused edit", tool: "edit_file", pose: contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: true}, want: "rejected", failed: true,
			setup: func(b *bench, _ *fakeScripts) {
				b.host.onEdit = func(context.Context, msg.AskEdit) (msg.EditAnswer, error) {
					return msg.EditAnswer{Text: "rejected"}, nil
				}
			},
		},
		{
			name: "denied", tool: "bash", pose: contract.Posture{PermissionMode: contract.ModeAuto}, want: "denied", failed: true,
			setup: func(b *bench, _ *fakeScripts) {
				b.host.onAsk = func(context.Context, msg.Ask) (msg.PermissionAnswer, error) {
					return msg.PermissionAnswer{Text: "denied"}, nil
				}
			},
		},
		{name: "plan mode", tool: "bash", pose: contract.Posture{PlanMode: true, PermissionMode: contract.ModeAllowAll}, want: contract.PlanModeRefusal("bash"), failed: true},
		{name: "not advertised", tool: "rm", pose: allowAll, want: contract.NotAdvertised("rm"), failed: true},
		{
			name: "a fault afterwards", tool: "bash", pose: allowAll, before: []string{"bash " + input}, ran: []string{"bash"}, want: "ran bash",
			setup: func(_ *bench, f *fakeScripts) { f.crash = true }, after: []string{`(after bash "ran bash" false)`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(tc.pose, plays(calls("x", tc.tool)...), plays(llm.TextDelta{Text: "done"}))
			f := &fakeScripts{host: b.host}
			b.loop.scripts = f
			if tc.setup != nil {
				tc.setup(b, f)
			}
			if _, ok := b.loop.run(within(t)).(contract.Done); !ok {
				t.Fatal("the turn did not go on")
			}
			if !slices.Equal(f.before, tc.before) || !slices.Equal(b.tools.calls(), tc.ran) || !slices.Equal(b.host.afters(), tc.after) {
				t.Errorf("before %q, ran %q, after %q", f.before, b.tools.calls(), b.host.afters())
			}
			if r := b.host.results()["x"]; r.Content != tc.want || r.IsError != tc.failed {
				t.Errorf("result %+v; want %q", r, tc.want)
			}
			if f.crash != (len(b.faults) == 1) {
				t.Errorf("faults %v", b.faults)
			}
			// The model reads the same, before it is asked again; the hooks behind
			// the result.
			last := b.model.requests()[1].Messages
			if got := last[len(last)-1].Blocks[0]; got.Content != tc.want {
				t.Errorf("the model read %+v", got)
			}
			items := b.host.everything()
			at := slices.IndexFunc(items, func(i any) bool { _, ok := i.(contract.ToolResult); return ok })
			if after := slices.IndexFunc(items, func(i any) bool { _, ok := i.(string); return ok }); after >= 0 && after < at {
				t.Error("told of the call before its result")
			}
		})
	}
}

// A one-shot has no session, no tools and so no hooks.
func TestMeta_OneShotHasNoState(t *testing.T) {
	t.Parallel()
	m := &meta{spec: msg.TurnSpec{OneShot: true, Project: "nowhere"}}
	if s, err := m.kept(); s != nil || err != nil {
		t.Errorf("state %v, %v", s, err)
	}
	m.spec.OneShot = false
	if _, err := m.kept(); err == nil {
		t.Error("a project that is not there has a state")
	}
	m.spec.Project = t.TempDir()
	s, err := m.kept()
	if err != nil {
		t.Fatal(err)
	}
	m.spec.Tools = s
	if again, err := m.kept(); again != s || err != nil {
		t.Errorf("the second turn has another state: %v", err)
	}
	if s.Busy() {
		t.Error("busy with nothing")
	}
	s.Close()
	s.Close()
}
