package llm

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func call1(id, args string) Block {
	return Block{Type: BlockToolUse, ID: id, Name: "bash", Arguments: json.RawMessage(args)}
}

func result1(id, content string, bad bool) Block {
	return Block{Type: BlockToolResult, ID: id, Name: "bash", Content: content, IsError: bad}
}

func text1(s string) Block { return Block{Type: BlockText, Text: s} }

func says(blocks ...Block) Message    { return Message{Role: RoleAssistant, Blocks: blocks} }
func returns(blocks ...Block) Message { return Message{Role: RoleTool, Blocks: blocks} }

// TestRepair covers F07, F14, F15 and F16.
func TestRepair(t *testing.T) {
	t.Parallel()
	user := Text(RoleUser, "go")
	thought := Block{Type: BlockReasoning, Details: json.RawMessage(`{"x":1}`)}
	for _, tc := range []struct {
		name     string
		in, want []Message
	}{
		{
			name: "nothing to do",
			in:   []Message{user, says(text1("a"), call1("1", `{}`)), returns(result1("1", "x", false)), says(text1("b"))},
			want: []Message{user, says(text1("a"), call1("1", `{}`)), returns(result1("1", "x", false)), says(text1("b"))},
		},
		{
			name: "F16 open calls are answered",
			in:   []Message{user, says(call1("1", `{}`), call1("2", `{}`)), Text(RoleUser, "hi")},
			want: []Message{user, says(call1("1", `{}`), call1("2", `{}`)), returns(result1("1", "why", true), result1("2", "why", true)), Text(RoleUser, "hi")},
		},
		{
			name: "F16 half answered, out of order, after another message",
			in:   []Message{user, says(call1("1", `{}`), call1("2", `{}`), call1("3", `{}`)), Text(RoleUser, "hi"), returns(result1("3", "c", false)), returns(result1("1", "a", true))},
			want: []Message{user, says(call1("1", `{}`), call1("2", `{}`), call1("3", `{}`)), returns(result1("1", "a", true), result1("2", "why", true), result1("3", "c", false)), Text(RoleUser, "hi")},
		},
		{
			name: "result without a call, repeated result, repeated call",
			in:   []Message{user, returns(result1("9", "x", false)), says(call1("1", `{}`), call1("1", `{"a":1}`)), returns(result1("1", "a", false), result1("1", "b", false), result1("8", "x", false))},
			want: []Message{user, says(call1("1", `{}`)), returns(result1("1", "a", false))},
		},
		{
			name: "a result of an earlier round is not taken",
			in:   []Message{user, says(call1("1", `{}`)), returns(result1("1", "a", false)), says(call1("1", `{}`))},
			want: []Message{user, says(call1("1", `{}`)), returns(result1("1", "a", false)), says(call1("1", `{}`)), returns(result1("1", "why", true))},
		},
		{
			name: "F14 reasoning only",
			in:   []Message{user, says(thought), says(thought, text1("")), says(text1(""))},
			want: []Message{user},
		},
		{
			name: "F14 silent command",
			in:   []Message{user, says(thought, call1("1", `{}`)), returns(result1("1", "", false))},
			want: []Message{user, says(thought, call1("1", `{}`)), returns(result1("1", contract.TextNoOutput, false))},
		},
		{
			name: "F15 white space",
			in:   []Message{Text(RoleUser, " "), user, says(text1("\n "), text1("a\n")), says(text1("\t")), {Role: RoleUser, Blocks: []Block{{Type: BlockImage, MediaType: "image/png", Data: "x"}, text1("")}}},
			want: []Message{user, says(text1("a\n")), {Role: RoleUser, Blocks: []Block{{Type: BlockImage, MediaType: "image/png", Data: "x"}}}},
		},
		{
			name: "F07 arguments that are no object",
			in:   []Message{user, says(call1("1", `{"path": "a`), call1("2", `[1]`), call1("3", `null`), call1("4", ``), call1("5", `"x"`)), returns(result1("5", "Error: invalid arguments", true))},
			want: []Message{
				user, says(call1("1", `{}`), call1("2", `{}`), call1("3", `{}`), call1("4", `{}`), call1("5", `{}`)),
				returns(result1("1", contract.TextInvalidArguments, true), result1("2", contract.TextInvalidArguments, true), result1("3", "why", true), result1("4", "why", true), result1("5", contract.TextInvalidArguments, true)),
			},
		},
		{
			name: "what does not belong is dropped",
			in:   []Message{{Role: "system", Blocks: []Block{text1("x")}}, user, says(text1("a"), result1("1", "x", false), Block{Type: BlockReasoning, Details: json.RawMessage(`{`)})},
			want: []Message{user, says(text1("a"))},
		},
		{name: "empty", in: nil, want: []Message{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before, err := json.Marshal(tc.in)
			if err != nil && tc.in != nil {
				before = nil // Broken raw JSON does not marshal.
			}
			got := Repair(tc.in, "why")
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
			if again := Repair(got, "other"); !reflect.DeepEqual(again, got) {
				t.Errorf("a second repair changed it:\n%+v\n%+v", got, again)
			}
			if after, err := json.Marshal(tc.in); err == nil && before != nil && string(after) != string(before) {
				t.Errorf("the argument was changed")
			}
		})
	}
}

// FuzzRepair says that any history becomes one that strict servers accept:
// every call answered at once, in order, nothing blank, and a second repair
// changes nothing.
func FuzzRepair(f *testing.F) {
	f.Add([]byte(`[{"role":"user","blocks":[{"type":"text","text":"x"}]},{"role":"assistant","blocks":[{"type":"tool_use","id":"1","name":"n"}]}]`))
	f.Add([]byte(`[{"role":"tool","blocks":[{"type":"tool_result","id":"1"}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var history []Message
		if json.Unmarshal(data, &history) != nil {
			t.Skip()
		}
		got := Repair(history, "why")
		for i, m := range got {
			if len(m.Blocks) == 0 {
				t.Fatalf("message %d is empty", i)
			}
			ids := callIDs(m)
			if len(ids) == 0 {
				continue
			}
			if i+1 >= len(got) || got[i+1].Role != RoleTool || len(got[i+1].Blocks) != len(ids) {
				t.Fatalf("calls of message %d are not answered next", i)
			}
			for j, b := range got[i+1].Blocks {
				if b.ID != ids[j] || b.Content == "" {
					t.Fatalf("answer %d is %+v; want one to %s", j, b, ids[j])
				}
			}
		}
		if again := Repair(got, "other"); !reflect.DeepEqual(again, got) {
			t.Fatalf("a second repair changed it")
		}
	})
}
