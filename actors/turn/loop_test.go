package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

func TestLoop_OrderOfOneTurn(t *testing.T) {
	t.Parallel()
	first := append([]llm.Chunk{llm.ThinkingDelta{Text: "hm"}, llm.ThinkingStop{}, llm.TextDelta{Text: "Looking."}}, calls("x", "read_file")...)
	first = append(first, llm.ReasoningDetails{Details: json.RawMessage(`{"a":1}`)})
	b := newBench(allowAll, plays(first...), plays(llm.ThinkingDelta{Text: "so"}, llm.TextDelta{Text: "Done."}))
	done, ok := b.loop.run(within(t)).(contract.Done)
	if !ok || done.Cancelled || done.InputTokens != 20 || done.OutputTokens != 4 || done.CacheReadInputTokens != 2 || done.CacheCreationInputTokens != 6 {
		t.Fatalf("ended with %+v", done)
	}
	want := []string{
		"(request)", "thinking", "thinking-stop", "chunk", "tool-start x", "(reasoning)", "(usage)", "(facts x)", "tool-result x",
		"(request)", "thinking", "thinking-stop", "chunk", "(usage)",
	}
	if got := b.host.outline(); !slices.Equal(got, want) {
		t.Errorf("said %v;\nwant %v", got, want)
	}
	// The envelope comes back first in its own message.
	again := b.model.requests()[1].Messages
	if len(again) != 3 || again[1].Blocks[0].Type != llm.BlockReasoning || string(again[1].Blocks[0].Details) != `{"a":1}` {
		t.Errorf("second request %+v", again)
	}
}

// Every refusal of contract.md 6.7 and tools-permissions.md 6 is a failed
// result, and the turn goes on. F07: arguments that are not JSON are one too.
func TestLoop_Gates(t *testing.T) {
	t.Parallel()
	denied := func(text string) func(context.Context, msg.Ask) (msg.PermissionAnswer, error) {
		return func(context.Context, msg.Ask) (msg.PermissionAnswer, error) {
			return msg.PermissionAnswer{Text: text}, nil
		}
	}
	for _, tc := range []struct {
		name, tool string
		pose       contract.Posture
		setup      func(*bench)
		invalid    bool
		want       string
		failed     bool
		outline    []string // Between the usage and the second request.
	}{
		{
			name: "not advertised", tool: "rm", pose: allowAll, failed: true,
			want: "Tool 'rm' is outside this session's allowed tool set.",
		},
		{
			name: "not allowed", tool: "bash", pose: allowAll, failed: true,
			setup: func(b *bench) { b.loop.spec.AllowedTools = []string{"grep"} },
			want:  "Tool 'bash' is outside this session's allowed tool set.",
		},
		{name: "invalid arguments", tool: "bash", pose: allowAll, invalid: true, failed: true, want: "Error: invalid arguments"},
		{
			name: "plan mode", tool: "bash", pose: contract.Posture{PlanMode: true, PermissionMode: contract.ModeAllowAll}, failed: true,
			want: "Plan mode is active \u2014 'bash' is disabled. Ask the user to exit plan mode first.",
		},
		{name: "plan mode reads", tool: "grep", pose: contract.Posture{PlanMode: true}, want: "ran grep"},
		{
			name: "deny all", tool: "write_file", pose: contract.Posture{PermissionMode: contract.ModeDenyAll}, failed: true,
			want: "Permissions: all risky tools are denied.",
		},
		{name: "deny all reads", tool: "read_file", pose: contract.Posture{PermissionMode: contract.ModeDenyAll}, want: "ran read_file"},
		{name: "allow all", tool: "bash", pose: allowAll, want: "ran bash", outline: []string{"(facts x)", "tool-result x"}},
		{
			name: "auto asks", tool: "bash", pose: contract.Posture{PermissionMode: contract.ModeAuto}, want: "ran bash",
			outline: []string{"(ask x)", "(facts x)", "tool-result x"},
		},
		{
			name: "a missing mode asks", tool: "bash", pose: contract.Posture{}, want: "ran bash",
			outline: []string{"(ask x)", "(facts x)", "tool-result x"},
		},
		{
			name: "an unknown mode asks", tool: "bash", pose: contract.Posture{PermissionMode: "yolo"}, want: "no", failed: true,
			setup: func(b *bench) { b.host.onAsk = denied("no") }, outline: []string{"(ask x)", "(facts x)", "tool-result x"},
		},
		{
			name: "a web page is not risky", tool: "web_fetch", pose: contract.Posture{PermissionMode: contract.ModeAskForRisky}, want: "ran web_fetch",
			outline: []string{"(facts x)", "tool-result x"},
		},
		{
			name: "asked and denied", tool: "bash", pose: contract.Posture{PermissionMode: contract.ModeAskForRisky}, failed: true,
			setup: func(b *bench) { b.host.onAsk = denied(contract.TextDenied) }, want: "User denied permission for this tool call.",
		},
		{
			name: "baseline", tool: "write_file", pose: allowAll, want: "ran write_file",
			outline: []string{"(facts x)", "edit-baseline x", "(facts x)", "tool-result x"},
		},
		{
			name: "approve writes", tool: "edit_file", pose: contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: true}, want: "ran edit_file",
			outline: []string{"(facts x)", "(ask edit x)", "(facts x)", "tool-result x"},
		},
		{
			name: "rejected", tool: "write_file", pose: contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: true}, failed: true,
			setup: func(b *bench) {
				b.host.onEdit = func(context.Context, msg.AskEdit) (msg.EditAnswer, error) {
					return msg.EditAnswer{Text: contract.TextEditRejected}, nil
				}
			}, want: "User rejected this edit.",
		},
		{
			name: "no proposal", tool: "write_file", pose: allowAll, failed: true,
			setup: func(b *bench) {
				b.tools.proposed = func(json.RawMessage) (tool.Proposal, error) { return tool.Proposal{}, errors.New("no such file") }
			}, want: "Error: no such file", outline: []string{"(facts x)", "tool-result x"},
		},
		{
			name: "silent tool", tool: "bash", pose: allowAll, want: "(no output)",
			setup: func(b *bench) {
				b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{"bash": func(context.Context, json.RawMessage) tool.Result { return tool.Result{} }}
			},
		},
		{
			name: "a panic in a tool", tool: "grep", pose: allowAll, failed: true,
			setup: func(b *bench) {
				b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{"grep": func(context.Context, json.RawMessage) tool.Result { panic("boom") }}
			}, want: "Error: the tool grep failed inside PacketBench (boom). Try another way.",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(tc.pose,
				plays(llm.ToolUseStart{ID: "x", Name: tc.tool}, llm.ToolUseEnd{ID: "x", Name: tc.tool, Arguments: json.RawMessage("{}"), Invalid: tc.invalid}),
				plays(llm.TextDelta{Text: "ok"}))
			if tc.setup != nil {
				tc.setup(b)
			}
			if end, ok := b.loop.run(within(t)).(contract.Done); !ok || end.Cancelled {
				t.Fatalf("ended with %+v", end)
			}
			got := b.host.results()["x"]
			if got.Content != tc.want || got.IsError != tc.failed || got.Input != "{}" || got.Name != tc.tool {
				t.Errorf("result %+v; want %q, failed %v", got, tc.want, tc.failed)
			}
			runs := strings.HasPrefix(tc.want, "ran ") || b.tools.run != nil
			if ran := len(b.tools.calls()) > 0; ran != runs {
				t.Errorf("the tool ran %v; want %v", ran, runs)
			}
			if tc.outline != nil {
				said := b.host.outline()
				from := slices.Index(said, "(usage)") + 1
				to := from + slices.Index(said[from:], "(request)")
				if !slices.Equal(said[from:to], tc.outline) {
					t.Errorf("said %v; want %v", said[from:to], tc.outline)
				}
			}
			// The model reads the same text.
			last := b.model.requests()[1].Messages
			if r := last[len(last)-1].Blocks[0]; r.Content != tc.want || r.IsError != tc.failed {
				t.Errorf("the model got %+v", r)
			}
			if tc.name == "a panic in a tool" && len(b.faults) != 1 {
				t.Errorf("%d faults were reported", len(b.faults))
			}
		})
	}
}

func TestLoop_MergedEdit(t *testing.T) {
	t.Parallel()
	merged := "half of it"
	b := newBench(contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: true}, plays(calls("x", "write_file")...), plays(llm.TextDelta{Text: "ok"}))
	b.host.onEdit = func(_ context.Context, a msg.AskEdit) (msg.EditAnswer, error) {
		if a.Path != "a.txt" || a.Content != "new" || a.Before == nil || *a.Before != "old" {
			t.Errorf("asked %+v", a)
		}
		return msg.EditAnswer{Applied: true, Merged: &merged}, nil
	}
	b.loop.run(within(t))
	if len(b.tools.approved) != 1 || *b.tools.approved[0] != merged {
		t.Errorf("approved %v", b.tools.approved)
	}
	if got := b.host.results()["x"].Content; !strings.HasPrefix(got, "ran write_file\nThe user changed") {
		t.Errorf("the model is told %q", got)
	}
}

// The counts are those of the text that was written, and only of an edit that
// was.
func TestLoop_LinesOfAnEdit(t *testing.T) {
	t.Parallel()
	merged := "old\nmore\n"
	failing := map[string]func(context.Context, json.RawMessage) tool.Result{"write_file": func(context.Context, json.RawMessage) tool.Result {
		return tool.Result{Content: "Error: no", IsError: true}
	}}
	for _, tc := range []struct {
		name     string
		approve  bool
		proposal tool.Proposal
		answer   msg.EditAnswer
		run      map[string]func(context.Context, json.RawMessage) tool.Result
		want     string
	}{
		{name: "written", proposal: tool.Proposal{Path: "a", Before: new("old\n"), Content: "new\n2\n"}, want: "+2 -1"},
		{name: "a new file", proposal: tool.Proposal{Path: "a", Content: "new\n"}, want: "+1 -0"},
		{name: "over a binary file", proposal: tool.Proposal{Path: "a", Content: "new\n", Existing: "binary, 12 bytes"}},
		{name: "failed", proposal: tool.Proposal{Path: "a", Content: "new\n"}, run: failing},
		{name: "approved", approve: true, proposal: tool.Proposal{Path: "a", Before: new("old\n"), Content: "new\n2\n"}, answer: msg.EditAnswer{Applied: true}, want: "+2 -1"},
		{name: "merged", approve: true, proposal: tool.Proposal{Path: "a", Before: new("old\n"), Content: "new\n2\n"}, answer: msg.EditAnswer{Applied: true, Merged: &merged}, want: "+1 -0"},
		{name: "rejected", approve: true, proposal: tool.Proposal{Path: "a", Content: "new\n"}, answer: msg.EditAnswer{Text: "no"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(contract.Posture{PermissionMode: contract.ModeAllowAll, ApproveWrites: tc.approve}, plays(calls("x", "write_file")...), plays(llm.TextDelta{Text: "ok"}))
			b.tools.run = tc.run
			b.tools.proposed = func(json.RawMessage) (tool.Proposal, error) { return tc.proposal, nil }
			b.host.onEdit = func(context.Context, msg.AskEdit) (msg.EditAnswer, error) { return tc.answer, nil }
			b.loop.run(within(t))
			got := ""
			for _, item := range b.host.everything() {
				if f, ok := item.(msg.ToolFacts); ok && f.LinesAdded != nil && f.LinesRemoved != nil {
					got += fmt.Sprintf("+%d -%d", *f.LinesAdded, *f.LinesRemoved)
				}
			}
			if got != tc.want {
				t.Errorf("counted %q; want %q", got, tc.want)
			}
		})
	}
}

// A posture that changes mid-turn counts from the next gate on.
func TestLoop_PostureIsReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(contract.Posture{PermissionMode: contract.ModeAuto}, plays(calls("x", "bash")...), plays(calls("y", "bash")...), plays(llm.TextDelta{Text: "ok"}))
	b.host.onAsk = func(context.Context, msg.Ask) (msg.PermissionAnswer, error) {
		b.host.mu.Lock()
		b.host.pose = contract.Posture{PlanMode: true, PermissionMode: contract.ModeAuto}
		b.host.mu.Unlock()
		return msg.PermissionAnswer{Allowed: true}, nil
	}
	b.loop.run(within(t))
	got := b.host.results()
	if got["x"].Content != "ran bash" || got["y"].Content != contract.PlanModeRefusal("bash") {
		t.Errorf("results %+v", got)
	}
	if reqs := b.model.requests(); strings.Contains(reqs[0].System, "Plan mode is active") || !strings.Contains(reqs[1].System, "Plan mode is active") {
		t.Error("the model is not told of plan mode")
	}
}

// Tools of one message run side by side; their results go back in call order.
func TestLoop_ResultsInCallOrder(t *testing.T) {
	t.Parallel()
	second := make(chan struct{})
	b := newBench(allowAll,
		plays(llm.ToolUseStart{ID: "a", Name: "read_file"}, llm.ToolUseStart{ID: "b", Name: "grep"},
			llm.ToolUseEnd{ID: "b", Name: "grep", Arguments: json.RawMessage("{}")}, llm.ToolUseEnd{ID: "a", Name: "read_file", Arguments: json.RawMessage("{}")}),
		plays(llm.TextDelta{Text: "ok"}))
	b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{
		"read_file": func(ctx context.Context, _ json.RawMessage) tool.Result {
			select { // Ends only when the other one has run: they are parallel.
			case <-second:
			case <-ctx.Done():
			}
			return tool.Result{Content: "first"}
		},
		"grep": func(context.Context, json.RawMessage) tool.Result {
			close(second)
			return tool.Result{Content: "second"}
		},
	}
	b.loop.run(within(t))
	m := b.model.requests()[1].Messages
	results := m[len(m)-1].Blocks
	if len(results) != 2 || results[0].ID != "a" || results[1].ID != "b" || results[0].Content != "first" {
		t.Errorf("results %+v", results)
	}
}

// Servers that count calls from 0 with every request reuse ids.
func TestLoop_IDsStayApart(t *testing.T) {
	t.Parallel()
	b := newBench(allowAll, plays(calls("call_0", "grep", "call_0", "read_file")...), plays(calls("call_0", "bash")...), plays(llm.TextDelta{Text: "ok"}))
	b.loop.spec.Messages = append(b.loop.spec.Messages, contract.RecordMessage{
		Role: contract.RoleAssistant, Parts: []contract.RecordPart{{Part: contract.Part{Type: contract.PartRequest}}, {Part: contract.Part{Type: contract.PartTool, ID: "call_0-2"}}},
		ToolCalls: []contract.RecordCall{{ID: "call_0-2", Name: "bash", Status: contract.ToolDone, Input: "{}"}},
	}, contract.RecordMessage{Role: contract.RoleUser, Content: "again"})
	b.loop.run(within(t))
	got := b.host.results()
	for id, name := range map[string]string{"call_0": "grep", "call_0-3": "read_file", "call_0-4": "bash"} {
		if got[id].Name != name {
			t.Errorf("%s is %+v; want %s", id, got[id], name)
		}
	}
	if n := len(b.model.requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestLoop_IterationCap(t *testing.T) {
	t.Parallel()
	b := newBench(allowAll, plays(calls("x", "grep")...))
	var logged int
	b.loop.hooks.Log = func(string) { logged++ }
	end, ok := b.loop.run(within(t)).(contract.Done)
	if n := len(b.model.requests()); !ok || end.Cancelled || n != config.MaxToolIterations || logged != 1 {
		t.Errorf("%d requests, %d log lines, ended with %+v", n, logged, end)
	}
	if n := len(b.host.results()); n != config.MaxToolIterations {
		t.Errorf("%d results", n)
	}
}

// F09: without usage the context figure is an estimate and says so; done
// counts 0.
func TestLoop_UsageUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(allowAll, func(_ context.Context, _ llm.Request, emit func(llm.Chunk) error) error {
		if err := emit(llm.TextDelta{Text: strings.Repeat("\u00e9", 400)}); err != nil {
			return err
		}
		return emit(llm.Done{})
	})
	end := b.loop.run(within(t)).(contract.Done)
	if end != (contract.Done{}) {
		t.Errorf("done %+v", end)
	}
	for _, item := range b.host.everything() {
		if u, ok := item.(msg.RequestUsage); ok {
			if want := llm.Estimate(b.model.requests()[0]) + 100; !u.Context.Estimated || u.Context.Used != want || u.Known {
				t.Errorf("usage %+v; want an estimate of %d", u, want)
			}
			return
		}
	}
	t.Error("no usage was reported")
}

func TestLoop_UsageOfAnthropicCountsTheCache(t *testing.T) {
	t.Parallel()
	for id, want := range map[contract.ProviderID]uint64{contract.ProviderAnthropic: 16, contract.ProviderOpenAI: 12} {
		b := newBench(allowAll, plays(llm.TextDelta{Text: "x"}))
		b.model.id = id
		var got msg.RequestUsage
		b.host.onUsage = func(u msg.RequestUsage) error { got = u; return nil }
		b.loop.run(within(t))
		if got.Context.Used != want || got.Context.Estimated {
			t.Errorf("%s: %+v; want %d", id, got.Context, want)
		}
	}
}

// The cost of a request is written before its tools run; a failure blocks
// them and every further request, and is not hidden by a Stop.
func TestLoop_LedgerFailureBlocks(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		b := newBench(allowAll, plays(calls("x", "bash")...))
		ctx, cancel := context.WithCancelCause(within(t))
		b.host.onUsage = func(msg.RequestUsage) error {
			if stop {
				cancel(errCancelled)
			}
			return &LedgerError{errors.New("the disk is full")}
		}
		end, ok := b.loop.run(ctx).(contract.Error)
		cancel(nil)
		if !ok || !strings.Contains(end.Message, "the disk is full") {
			t.Errorf("stop %v: ended with %+v", stop, end)
		}
		if ran := b.tools.calls(); len(ran) != 0 || len(b.model.requests()) != 1 {
			t.Errorf("stop %v: ran %v, %d requests", stop, ran, len(b.model.requests()))
		}
	}
	b := newBench(allowAll, plays(llm.TextDelta{Text: "x"}))
	b.loop.ledger = func(llm.Done) ([]byte, error) { return nil, errors.New("no such row") }
	if end, ok := b.loop.run(within(t)).(contract.Error); !ok || !strings.Contains(end.Message, "no such row") {
		t.Errorf("a line that cannot be built: %+v", end)
	}
}

func TestLoop_AttachmentsOnlyOnce(t *testing.T) {
	t.Parallel()
	b := newBench(allowAll, plays(calls("x", "grep")...), plays(llm.TextDelta{Text: "ok"}))
	b.loop.spec.Attachments = []contract.Attachment{{MediaType: "image/png", DataBase64: "aGk="}}
	b.loop.spec.Messages[0].Content = "" // A picture and no word.
	b.loop.spec.Messages[0].Attachments = []contract.AttachmentInfo{{MediaType: "image/png", Size: 2}}
	b.loop.run(within(t))
	reqs := b.model.requests()
	if len(reqs[0].Attachments) != 1 || len(reqs[1].Attachments) != 0 {
		t.Errorf("attachments %d, %d", len(reqs[0].Attachments), len(reqs[1].Attachments))
	}
	if m := reqs[0].Messages; len(m) != 1 || m[0].Role != llm.RoleUser || m[0].Blocks[0].Text == "" {
		t.Errorf("the picture has no message to go with: %+v", m)
	}
}

func TestLoop_ThinkingStopsBeforeEveryEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		step func(context.Context, llm.Request, func(llm.Chunk) error) error
		want []string
	}{
		{"the stream fails", func(_ context.Context, _ llm.Request, emit func(llm.Chunk) error) error {
			if err := emit(llm.ThinkingDelta{Text: "hm"}); err != nil {
				return err
			}
			return errors.New("broken")
		}, []string{"(request)", "thinking", "thinking-stop"}},
		{
			"a call without a stop", plays(append([]llm.Chunk{llm.ThinkingDelta{Text: "hm"}, llm.ThinkingDelta{Text: "hm"}}, calls("x", "rm")...)...),
			[]string{"(request)", "thinking", "thinking", "thinking-stop", "tool-start x", "(usage)", "(facts x)", "tool-result x"},
		},
		{"thinking alone", plays(llm.ThinkingDelta{Text: "hm"}, llm.ThinkingStop{}), []string{"(request)", "thinking", "thinking-stop", "(usage)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(allowAll, tc.step, plays())
			b.loop.hooks.Limits.Retries = -1
			b.loop.run(within(t))
			if got := b.host.outline(); len(got) < len(tc.want) || !slices.Equal(got[:len(tc.want)], tc.want) {
				t.Errorf("said %v; want %v", got, tc.want)
			}
		})
	}
}

func TestLoop_OneShot(t *testing.T) {
	t.Parallel()
	b := newBench(allowAll, plays(llm.TextDelta{Text: "ok"}))
	b.loop.spec.OneShot, b.loop.spec.Thinking, b.loop.tools = true, true, nil
	b.loop.run(within(t))
	r := b.model.requests()[0]
	if r.Tools != nil || r.Thinking || r.MaxTokens != llm.OneShotMaxTokens || r.Temperature == nil || *r.Temperature != llm.OneShotTemperature {
		t.Errorf("request %+v", r)
	}
}

// A failed request is one error and nothing else.
func TestLoop_StreamFails(t *testing.T) {
	t.Parallel()
	b := newBench(allowAll, func(context.Context, llm.Request, func(llm.Chunk) error) error {
		return errors.New("The provider is gone.")
	})
	b.loop.hooks.Limits.Retries = -1
	if end, ok := b.loop.run(within(t)).(contract.Error); !ok || end.Message != "The provider is gone." {
		t.Errorf("ended with %+v", end)
	}
}

// F16 F17 F52: a Stop in the stream, in a tool and at a prompt ends the turn
// at once, every call is answered, and a strict provider takes the next
// request.
func TestLoop_CancelAndGoOn(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"stream", "half a call", "tool", "prompt", "edit"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			turns := []llmtest.Turn{{Text: []string{"Let me see. "}, Calls: []llmtest.Call{{ID: "x", Name: "write_file", Arguments: `{"path":"a.txt","content":"n"}`}, {ID: "y", Name: "bash", Arguments: `{"command":"sleep 60"}`}}}}
			switch where {
			case "stream":
				turns[0].Calls, turns[0].Stall = nil, true
			case "half a call":
				turns[0].Stall = true
			}
			server := llmtest.NewAnthropic(t, turns...)
			provider, err := llm.New(contract.ProviderAnthropic, llm.Settings{AnthropicURL: server.URL}, nil)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(allowAll)
			b.loop.provider, b.loop.spec.Key, b.loop.spec.Model = provider, "key", "claude-opus-4-5"
			b.host.heard = make(chan struct{}, 1)
			ctx, cancel := context.WithCancelCause(within(t))
			defer cancel(nil)
			waits := func(ctx context.Context) error {
				cancel(errCancelled)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{"bash": func(ctx context.Context, _ json.RawMessage) tool.Result {
				if where == "tool" {
					cancel(errCancelled)
				}
				<-ctx.Done()
				return tool.Result{Content: "Error: killed", IsError: true}
			}}
			switch where {
			case "prompt":
				b.host.pose.PermissionMode = contract.ModeAuto
				b.host.onAsk = func(ctx context.Context, _ msg.Ask) (msg.PermissionAnswer, error) {
					return msg.PermissionAnswer{}, waits(ctx)
				}
			case "edit":
				b.host.pose.ApproveWrites = true
				b.host.onEdit = func(ctx context.Context, _ msg.AskEdit) (msg.EditAnswer, error) { return msg.EditAnswer{}, waits(ctx) }
			case "stream", "half a call":
				go func() {
					last := map[string]string{"stream": "chunk", "half a call": "tool-start y"}[where]
					for range b.host.heard {
						if slices.Contains(b.host.outline(), last) {
							cancel(errCancelled)
							return
						}
					}
				}()
			}
			done, ok := b.loop.run(ctx).(contract.Done)
			if !ok || !done.Cancelled {
				t.Fatalf("ended with %+v", done)
			}
			r := newReducer(b.loop.spec.Messages)
			for _, item := range b.host.everything() {
				r.take(item)
			}
			r.end(done)
			for _, m := range r.messages {
				for _, c := range m.ToolCalls {
					if c.Status == contract.ToolRunning || c.Status == contract.ToolError && c.FullContent != contract.TextCancelledByUser {
						t.Errorf("call %+v", c)
					}
				}
			}
			server.Then(llmtest.Say("Fine."))
			next := newBench(allowAll)
			next.loop.provider, next.loop.spec.Key, next.loop.spec.Model = provider, "key", "claude-opus-4-5"
			next.loop.spec.Messages = append(r.messages, contract.RecordMessage{Role: contract.RoleUser, Content: "go on"})
			if end, ok := next.loop.run(within(t)).(contract.Done); !ok || end.Cancelled {
				t.Fatalf("the next turn ended with %+v; the provider said %v", next.loop.run(within(t)), server.Problems())
			}
		})
	}
}

// The demo plays through the real tools.
func TestLoop_DemoWithRealTools(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte("# hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := tool.New(tool.Options{Root: root, BootID: "b", Home: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Close)
	provider, err := llm.New(contract.ProviderDemo, llm.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(contract.Posture{PermissionMode: contract.ModeAuto})
	b.loop.provider, b.loop.tools = provider, run
	b.loop.spec.Messages[0].Content = "edit something"
	if end, ok := b.loop.run(within(t)).(contract.Done); !ok || end.OutputTokens == 0 {
		t.Fatalf("ended with %+v", end)
	}
	if _, err := os.Stat(filepath.Join(root, config.DemoFile)); err != nil {
		t.Errorf("the demo wrote nothing: %v; said %v", err, b.host.outline())
	}
	names := map[string]bool{}
	for _, r := range b.host.results() {
		names[r.Name] = true
		if r.IsError {
			t.Errorf("%+v", r)
		}
	}
	if !names["list_directory"] || !names["read_file"] || !names["write_file"] {
		t.Errorf("tools %v", names)
	}
}
