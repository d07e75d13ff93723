package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

var demoTools = []Tool{{Name: "list_directory"}, {Name: "read_file"}, {Name: "write_file"}, {Name: "bash"}}

// playDemo runs a whole turn as the loop does, answering each call with the
// given function, and returns the calls, all that was said, and the end.
func playDemo(t *testing.T, system, prompt string, tools []Tool, answer func(call ToolUseEnd) Block) (calls []string, said string, err error) {
	t.Helper()
	p := provider(t, contract.ProviderDemo, Settings{})
	history := []Message{Text(RoleUser, "an earlier turn"), {Role: RoleAssistant, Blocks: []Block{text1("done")}}, Text(RoleUser, prompt)}
	for range 10 {
		var got []Chunk
		req := Request{Model: "demo", System: system, Messages: Repair(history, "x"), Tools: tools}
		if err := Stream(t.Context(), p, "", req, Hooks{}, into(&got)); err != nil {
			return calls, said + textSaid(got), err
		}
		said += textSaid(got)
		m := Message{Role: RoleAssistant, Blocks: []Block{text1(textSaid(got))}}
		results := Message{Role: RoleTool}
		for _, c := range got {
			if end, ok := c.(ToolUseEnd); ok {
				if end.Invalid {
					t.Fatalf("call %+v is invalid", end)
				}
				calls = append(calls, end.Name+" "+string(end.Arguments))
				m.Blocks = append(m.Blocks, Block{Type: BlockToolUse, ID: end.ID, Name: end.Name, Arguments: end.Arguments})
				r := answer(end)
				r.Type, r.ID, r.Name = BlockToolResult, end.ID, end.Name
				results.Blocks = append(results.Blocks, r)
			}
		}
		history = append(history, m)
		if len(results.Blocks) == 0 {
			return calls, said, nil
		}
		history = append(history, results)
	}
	t.Fatal("the demo does not end")
	return nil, "", nil
}

func TestDemo(t *testing.T) {
	t.Parallel()
	const listing = "[DIR] src\nREADME.md\nmain.go\n"
	ok := func(c ToolUseEnd) Block {
		if c.Name == "list_directory" {
			return Block{Content: listing}
		}
		return Block{Content: "fine: " + c.Name}
	}
	const (
		list = `list_directory {"path":"."}`
		read = `read_file {"path":"README.md"}`
		runs = `bash {"command":"echo hello"}`
	)
	for _, tc := range []struct {
		name, system, prompt string
		tools                []Tool
		answer               func(ToolUseEnd) Block
		calls                []string
		says                 []string
		err                  string
	}{
		{name: "plain", prompt: "hello", tools: demoTools, answer: ok, calls: []string{list, read}, says: []string{"no model is involved", "- list_directory: 3 entries", "- read_file: 15 characters"}},
		{name: "edit", prompt: "please EDIT it", tools: demoTools, answer: ok, calls: []string{list, read, "write_file"}, says: []string{"- write_file: fine"}},
		{name: "run", prompt: "run it", tools: demoTools, answer: ok, calls: []string{list, read, runs}, says: []string{"- bash: fine"}},
		{name: "edit and run", prompt: "edit, then run", tools: demoTools, answer: ok, calls: []string{list, read, "write_file", runs}},
		{name: "credit is no edit", prompt: "my credit, prune", tools: demoTools, answer: ok, calls: []string{list, read}},
		{name: "fail", prompt: "fail please", tools: demoTools, answer: ok, calls: []string{list, read}, err: "failed on purpose"},
		{name: "where a key goes", prompt: "hello", tools: demoTools, answer: ok, calls: []string{list, read}, says: []string{"Settings > API keys"}},
		{name: "plan by prompt", prompt: "plan an edit and run", tools: demoTools, answer: ok, calls: []string{list, read}, says: []string{"\n## Plan\n"}},
		{name: "plan by mode", system: "Plan mode is active.", prompt: "edit", tools: demoTools, answer: ok, calls: []string{list, read}, says: []string{"\n## Plan\n"}},
		{name: "a system prompt that speaks of plans", system: "Make a plan.", prompt: "hello", tools: demoTools, answer: ok, calls: []string{list, read}},
		{
			name: "plan by refusal", prompt: "edit", tools: demoTools, calls: []string{list, read, "write_file"}, says: []string{"\n## Plan\n", "- write_file did not run or failed: Plan mode"},
			answer: func(c ToolUseEnd) Block {
				if c.Name == "write_file" {
					return Block{Content: contract.PlanModeRefusal("write_file"), IsError: true}
				}
				return ok(c)
			},
		},
		{
			name: "denied", prompt: "run", tools: demoTools, calls: []string{list, read, runs}, says: []string{"- bash did not run or failed: User denied permission"},
			answer: func(c ToolUseEnd) Block {
				if c.Name == "bash" {
					return Block{Content: contract.TextDenied, IsError: true}
				}
				return ok(c)
			},
		},
		{name: "nothing readable", prompt: "hello", tools: demoTools, answer: func(ToolUseEnd) Block { return Block{Content: "[DIR] a\nimage.png\n" + config.DemoFile} }, calls: []string{list}},
		{name: "listing refused", prompt: "hello", tools: demoTools, answer: func(ToolUseEnd) Block { return Block{Content: "no", IsError: true} }, calls: []string{list}, says: []string{"did not run or failed: no"}},
		{name: "no tools", prompt: "edit and run", answer: ok, says: []string{"No tool was offered"}},
		{name: "only bash", prompt: "run", tools: demoTools[3:], answer: ok, calls: []string{runs}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			calls, said, err := playDemo(t, tc.system, tc.prompt, tc.tools, tc.answer)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%v; want %q", err, tc.err)
			}
			if err != nil && WantsFailover(err.Error()) {
				t.Errorf("%q asks for a failover", err)
			}
			if len(calls) != len(tc.calls) {
				t.Fatalf("calls %q; want %q", calls, tc.calls)
			}
			for i := range calls {
				if !strings.HasPrefix(calls[i], tc.calls[i]) {
					t.Errorf("call %d is %s; want %s", i, calls[i], tc.calls[i])
				}
			}
			for _, want := range tc.says {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
			if strings.Contains(said, "## Plan") != strings.Contains(strings.Join(tc.says, ""), "## Plan") {
				t.Errorf("plan section: %q", said)
			}
			again, saidAgain, _ := playDemo(t, tc.system, tc.prompt, tc.tools, tc.answer)
			if said != saidAgain || strings.Join(calls, "") != strings.Join(again, "") {
				t.Errorf("the same turn went differently")
			}
		})
	}
}

// TestDemo_Stream checks thinking, small deltas, counts and the file written.
func TestDemo_Stream(t *testing.T) {
	t.Parallel()
	var got []Chunk
	req := Request{Messages: []Message{Text(RoleUser, "hello")}, Tools: demoTools}
	if err := provider(t, contract.ProviderDemo, Settings{}).Stream(t.Context(), "", req, into(&got)); err != nil {
		t.Fatal(err)
	}
	order := ""
	deltas := 0
	for _, c := range got {
		kind := ""
		switch c := c.(type) {
		case ThinkingDelta:
			kind = "h"
		case ThinkingStop:
			kind = "s"
		case TextDelta:
			kind = "t"
			deltas++
			if len(c.Text) > 40 {
				t.Errorf("delta %q is long", c.Text)
			}
		case ToolUseStart:
			kind = "b"
		case ToolUseInputDelta:
			kind = "i"
		case ToolUseEnd:
			kind = "e"
		case Done:
			kind = "d"
			if !c.UsageKnown || c.Input == 0 || c.Output == 0 {
				t.Errorf("counts %+v", c)
			}
		}
		if !strings.HasSuffix(order, kind) {
			order += kind
		}
	}
	if order != "hstbied" || deltas < 5 {
		t.Errorf("order %s with %d text deltas; want hstbied and several", order, deltas)
	}
}

// TestDemo_Cancel says that a cancel ends a pause at once.
func TestDemo_Cancel(t *testing.T) {
	t.Parallel()
	p := provider(t, contract.ProviderDemo, Settings{DemoDelay: time.Hour})
	ctx, cancel := ctxWithCancel(t)
	ended := make(chan error, 1)
	go func() { ended <- p.Stream(ctx, "", hi, func(Chunk) error { return nil }) }()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v; want %v", err, context.Canceled)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the demo sleeps on")
	}
}

func TestDemoReadable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ listing, want string }{
		{"", ""},
		{"[DIR] docs\na.go\nNOTES.md\nReadme", "Readme"},
		{"z.go\nNOTES.md", "NOTES.md"},
		{"z.go\ngo.mod", "go.mod"},
		{"a.bin\nmy file.txt", "my file.txt"},
		{"(empty directory)\n", ""},
		{config.DemoFile, ""},
	} {
		if got := demoReadable(tc.listing); got != tc.want {
			t.Errorf("demoReadable(%q) = %q; want %q", tc.listing, got, tc.want)
		}
	}
}
