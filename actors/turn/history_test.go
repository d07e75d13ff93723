package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
)

// reducer makes a transcript of what a turn says, as a conversation does
// (actors/conversation, transcript.go), in the fewest lines.
type reducer struct {
	messages []contract.RecordMessage
	m        contract.RecordMessage
}

func newReducer(before []contract.RecordMessage) *reducer {
	return &reducer{messages: append([]contract.RecordMessage(nil), before...), m: contract.RecordMessage{Role: contract.RoleAssistant}}
}

func (r *reducer) grow(kind contract.PartType, text string) {
	n := contract.UTF16Len(text)
	if last := len(r.m.Parts) - 1; last >= 0 && r.m.Parts[last].Type == kind {
		r.m.Parts[last].Length += n
		return
	}
	r.m.Parts = append(r.m.Parts, contract.RecordPart{Part: contract.Part{Type: kind, Length: n}})
}

func (r *reducer) take(item any) {
	switch e := item.(type) {
	case contract.Chunk:
		r.m.Content += string(e)
		r.grow(contract.PartText, string(e))
	case contract.Thinking:
		r.m.Thinking += e.Text
		r.grow(contract.PartThinking, e.Text)
	case contract.ToolStart:
		r.m.ToolCalls = append(r.m.ToolCalls, contract.RecordCall{ID: e.ID, Name: e.Name, Status: contract.ToolRunning})
		r.m.Parts = append(r.m.Parts, contract.RecordPart{Part: contract.Part{Type: contract.PartTool, ID: e.ID}})
	case contract.ToolResult:
		c := findCall(r.m.ToolCalls, e.ID)
		c.Input, c.FullContent, c.Status = e.Input, e.Content, contract.ToolDone
		if e.IsError {
			c.Status = contract.ToolError
		}
	case msg.RequestOpened:
		r.m.Parts = append(r.m.Parts, contract.RecordPart{Part: contract.Part{Type: contract.PartRequest}})
	case msg.Reasoned:
		for i := len(r.m.Parts) - 1; i >= 0; i-- {
			if r.m.Parts[i].Type == contract.PartRequest {
				r.m.Parts[i].Details = e.Details
				return
			}
		}
	}
}

func (r *reducer) end(e contract.Event) {
	text := contract.TextCancelledByUser
	if failed, ok := e.(contract.Error); ok {
		text = failed.Message
	}
	for i := range r.m.ToolCalls {
		if c := &r.m.ToolCalls[i]; c.Status == contract.ToolRunning {
			c.Status, c.FullContent = contract.ToolError, text
		}
	}
	r.messages = append(r.messages, r.m)
}

// roundTrip is what a save and a load make of a transcript.
func roundTrip(t testing.TB, messages []contract.RecordMessage) []contract.RecordMessage {
	t.Helper()
	b, err := contract.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	var out []contract.RecordMessage
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// randomScript plays some requests with everything a provider may send.
func randomScript(r *rand.Rand, cancel func()) []func(context.Context, llm.Request, func(llm.Chunk) error) error {
	words := []string{"a", " ", "\n", "\u00e9", "\U0001F600", "\U0001F468\u200d\U0001F469", "## Plan\n", "\"quoted\" ", "\u2028", "word "}
	text := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	var steps []func(context.Context, llm.Request, func(llm.Chunk) error) error
	n := 1 + r.IntN(5)
	for i := range n {
		var chunks []llm.Chunk
		for range r.IntN(6) {
			if r.IntN(3) == 0 {
				chunks = append(chunks, llm.ThinkingDelta{Text: text()})
			} else {
				chunks = append(chunks, llm.TextDelta{Text: text()})
			}
		}
		if i < n-1 {
			for k := range 1 + r.IntN(3) {
				id := fmt.Sprintf("c%d", k) // The same in every request.
				if r.IntN(2) == 0 {
					id = fmt.Sprintf("c%d-%d", i, k)
				}
				name := append(everyTool, "unknown_tool")[r.IntN(len(everyTool)+1)]
				chunks = append(chunks, llm.ToolUseStart{ID: id, Name: name})
				if r.IntN(3) == 0 {
					chunks = append(chunks, llm.TextDelta{Text: text()})
				}
				args := json.RawMessage(fmt.Sprintf(`{"path":"%d","text":%q}`, k, "x\n"))
				chunks = append(chunks, llm.ToolUseEnd{ID: id, Name: name, Arguments: args, Invalid: r.IntN(8) == 0})
			}
		}
		if r.IntN(3) == 0 {
			chunks = append(chunks, llm.ReasoningDetails{Details: json.RawMessage(fmt.Sprintf(`{"envelope":[%d,"<&>"]}`, i))})
		}
		end := r.IntN(12)
		at := r.IntN(len(chunks) + 1)
		good := plays(chunks...)
		steps = append(steps, func(ctx context.Context, req llm.Request, emit func(llm.Chunk) error) error {
			if end > 1 {
				return good(ctx, req, emit)
			}
			for _, c := range chunks[:at] {
				if err := emit(c); err != nil {
					return err
				}
			}
			if end == 0 {
				return errors.New("the provider broke")
			}
			cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}
	return steps
}

// The core claim: what is sent after a save and a load is what the turn itself
// had remembered, request by request, so there is no second copy of history.
func TestHistory_IsTheLoopsOwn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // A test's dice.
		messages := []contract.RecordMessage{{ID: "m-1", Role: contract.RoleUser, Content: "hello \U0001F600"}}
		for turn := range 3 {
			ctx, cancel := context.WithCancelCause(within(t))
			b := newBench(allowAll, randomScript(r, func() { cancel(errCancelled) })...)
			b.loop.hooks.Limits.Retries = -1
			b.loop.spec.Messages = messages
			quiet := r.IntN(2) == 0
			fails := r.IntN(3) == 0
			b.tools.run = map[string]func(context.Context, json.RawMessage) tool.Result{
				"bash": func(context.Context, json.RawMessage) tool.Result {
					if quiet {
						return tool.Result{}
					}
					return tool.Result{Content: "out \U0001F600\n", IsError: fails}
				},
			}
			end := b.loop.run(ctx)
			cancel(nil)
			red := newReducer(messages)
			for _, item := range b.host.everything() {
				red.take(item)
			}
			red.end(end)
			saved := roundTrip(t, red.messages)
			got, own := normal(History(saved)), normal(b.loop.history)
			if len(got) < len(own) || !reflect.DeepEqual(got[:len(own)], own) {
				t.Fatalf("seed %d turn %d: history\n%s\nthe turn's own\n%s", seed, turn, show(got), show(own))
			}
			if done, ok := end.(contract.Done); ok && !done.Cancelled && len(got) != len(own) {
				t.Fatalf("seed %d turn %d: history has %d messages, the turn %d", seed, turn, len(got), len(own))
			}
			// What a Stop or a failure left comes as one message more, and its
			// results.
			if len(got) > len(own)+2 {
				t.Fatalf("seed %d turn %d: %d messages too many", seed, turn, len(got)-len(own))
			}
			messages = append(saved, contract.RecordMessage{Role: contract.RoleSystem, Content: "a notice"},
				contract.RecordMessage{Role: contract.RoleUser, Content: "next"})
		}
	}
}

// normal drops what encodes to nothing.
func normal(in []llm.Message) []llm.Message {
	var out []llm.Message
	b, err := json.Marshal(llm.Repair(in, contract.TextCancelledByUser))
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func show(m []llm.Message) string {
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestHistory_OlderFiles(t *testing.T) {
	t.Parallel()
	call := contract.RecordCall{ID: "x", Name: "bash", Status: contract.ToolDone, Input: "{}", FullContent: "out"}
	text := func(n int) contract.RecordPart {
		return contract.RecordPart{Part: contract.Part{Type: contract.PartText, Length: n}}
	}
	tool := contract.RecordPart{Part: contract.Part{Type: contract.PartTool, ID: "x"}}
	for _, tc := range []struct {
		name string
		m    contract.RecordMessage
		want string
	}{
		{"no parts", contract.RecordMessage{Content: "hi", ToolCalls: []contract.RecordCall{call}}, "assistant[text:hi call:x] tool[x:out]"},
		{
			"no marks: text behind a call is another request",
			contract.RecordMessage{Content: "ab", ToolCalls: []contract.RecordCall{call}, Parts: []contract.RecordPart{text(1), tool, text(1)}},
			"assistant[text:a call:x] tool[x:out] assistant[text:b]",
		},
		{
			"an emoji at the cut",
			contract.RecordMessage{Content: "\U0001F600b", ToolCalls: []contract.RecordCall{call}, Parts: []contract.RecordPart{text(2), tool, text(1)}},
			"assistant[text:\U0001F600 call:x] tool[x:out] assistant[text:b]",
		},
		{"a cut inside an emoji", contract.RecordMessage{Content: "\U0001F600b", Parts: []contract.RecordPart{text(1)}}, "assistant[text:\U0001F600b]"},
		{"parts that say too much", contract.RecordMessage{Content: "a", Parts: []contract.RecordPart{text(9), tool}}, "assistant[text:a]"},
		{"parts that say too little", contract.RecordMessage{Content: "abc", Parts: []contract.RecordPart{text(1)}}, "assistant[text:abc]"},
		{"nothing", contract.RecordMessage{}, ""},
		{"a call still open", contract.RecordMessage{ToolCalls: []contract.RecordCall{{ID: "x", Name: "bash", Status: contract.ToolRunning}}}, "assistant[call:x]"},
	} {
		tc.m.Role = contract.RoleAssistant
		var got []string
		for _, m := range History([]contract.RecordMessage{{Role: contract.RoleSystem, Content: "notice"}, tc.m}) {
			var blocks []string
			for _, b := range m.Blocks {
				switch b.Type {
				case llm.BlockText:
					blocks = append(blocks, "text:"+b.Text)
				case llm.BlockToolUse:
					blocks = append(blocks, "call:"+b.ID)
				default:
					blocks = append(blocks, b.ID+":"+b.Content)
				}
			}
			got = append(got, string(m.Role)+"["+strings.Join(blocks, " ")+"]")
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: %s; want %s", tc.name, s, tc.want)
		}
	}
}

// Any file gives a history that can be repaired and encoded.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":"hi"},{"role":"assistant","content":"\ud83d\ude00a","parts":[{"type":"request","details":{"a":1}},{"type":"text","length":1},{"type":"tool","id":"x"},{"type":"tool","id":"y"}],"toolCalls":[{"id":"x","name":"bash","status":"running","input":"{"}]}]`))
	f.Add([]byte(`[{"role":"assistant","content":"a","parts":[{"type":"text","length":-5},{"type":"thinking","length":99},{"type":"what"}]}]`))
	f.Add([]byte(`[{"role":"user","content":" ","attachments":[{}]}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var messages []contract.RecordMessage
		if json.Unmarshal(b, &messages) != nil {
			return
		}
		got := llm.Repair(History(messages), contract.TextInterrupted)
		if _, err := json.Marshal(got); err != nil {
			t.Fatal(err)
		}
	})
}
