package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

// said translates updates in order and gives each event a line.
func said(t *testing.T, s *stream, updates ...string) string {
	t.Helper()
	var lines []string
	for _, u := range updates {
		lines = append(lines, printed(t, translate(s, decodeUpdate(json.RawMessage(u))))...)
	}
	return strings.Join(lines, "\n")
}

func printed(t testing.TB, events []contract.Event) (lines []string) {
	t.Helper()
	for _, e := range events {
		payload, err := contract.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(e.Kind())+" "+string(payload))
	}
	return lines
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		updates []string
		want    []string
	}{
		{"text", []string{`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`}, []string{`chunk "a"`}},
		{"nested text", []string{`{"sessionUpdate":"agent_message_chunk","content":{"content":{"text":"a"}}}`}, []string{`chunk "a"`}},
		{"empty, missing and odd text", []string{
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":null}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"x"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":7}`,
			`{"sessionUpdate":"agent_message_chunk"}`, `null`, `[]`, `{"sessionUpdate":5}`,
		}, nil},
		{"thoughts end once, before text", []string{
			`{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`,
			`{"sessionUpdate":"agent_thought_chunk","content":{"text":"m"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"text":"a"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"text":"b"}}`,
		}, []string{`thinking {"text":"h"}`, `thinking {"text":"m"}`, `thinking-stop null`, `chunk "a"`, `chunk "b"`}},
		{"an empty thought opens nothing", []string{`{"sessionUpdate":"agent_thought_chunk","content":{"text":""}}`, `{"sessionUpdate":"usage_update"}`}, nil},
		{"thoughts end before a tool", []string{
			`{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`,
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":" run ","rawInput":{"a": 1}}`,
		}, []string{`thinking {"text":"h"}`, `thinking-stop null`, `tool-start {"id":"1","name":"run","input":"{\"a\":1}"}`}},
		{"thoughts end before an update without events", []string{
			`{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`, `{"sessionUpdate":"notice","text":"x"}`, `{"sessionUpdate":"notice"}`,
		}, []string{`thinking {"text":"h"}`, `thinking-stop null`}},
		{"a tool without id", []string{`{"sessionUpdate":"tool_call","title":"run"}`, `{"sessionUpdate":"tool_call","toolCallId":null}`}, nil},
		{"the name falls back", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"  ","kind":"execute"}`,
			`{"sessionUpdate":"tool_call","toolCallId":"2","title":null,"kind":null,"rawInput":null}`,
		}, []string{`tool-start {"id":"1","name":"execute","input":"{}"}`, `tool-start {"id":"2","name":"2","input":"{}"}`}},
		{"claude: the input comes later", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"Terminal","rawInput":{},"status":"pending"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"echo hi","rawInput":{"command":"echo hi"}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawInput":{},"content":[{"type":"content","content":{"type":"text","text":"hi"}}]}`,
		}, []string{`tool-start {"id":"1","name":"Terminal","input":"{}"}`, `tool-result {"id":"1","name":"echo hi","content":"hi","is_error":false,"input":"{\"command\":\"echo hi\"}"}`}},
		{"gemini: no content at the end, first status in_progress", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w","status":"in_progress","content":[{"type":"diff","path":"a","oldText":null,"newText":"b"}]}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[]}`,
		}, []string{`tool-start {"id":"1","name":"w","input":"{}"}`, `tool-result {"id":"1","name":"w","content":"{\"type\":\"diff\",\"path\":\"a\",\"oldText\":null,\"newText\":\"b\"}","is_error":false,"input":"{}"}`}},
		{"the raw output in its shapes", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w","status":"completed","rawOutput":"plain"}`,
			`{"sessionUpdate":"tool_call","toolCallId":"2","title":"w","status":"failed","rawOutput":{"output":"out"}}`,
			`{"sessionUpdate":"tool_call","toolCallId":"3","title":"w","status":"completed","rawOutput":{"content":"con"}}`,
			`{"sessionUpdate":"tool_call","toolCallId":"4","title":"w","status":"completed","rawOutput":{"x":1}}`,
		}, []string{
			`tool-start {"id":"1","name":"w","input":"{}"}`, `tool-result {"id":"1","name":"w","content":"plain","is_error":false,"input":"{}"}`,
			`tool-start {"id":"2","name":"w","input":"{}"}`, `tool-result {"id":"2","name":"w","content":"out","is_error":true,"input":"{}"}`,
			`tool-start {"id":"3","name":"w","input":"{}"}`, `tool-result {"id":"3","name":"w","content":"con","is_error":false,"input":"{}"}`,
			`tool-start {"id":"4","name":"w","input":"{}"}`, `tool-result {"id":"4","name":"w","content":"","is_error":false,"input":"{}"}`,
		}},
		{"texts and other items are joined", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w","status":"completed","rawInput":"text","content":[{"type":"content","content":{"type":"text","text":"a"}},null,{"type":"terminal","terminalId":"t"},{"type":"content","content":{"type":"text","text":"b"}}]}`,
		}, []string{`tool-start {"id":"1","name":"w","input":"text"}`, `tool-result {"id":"1","name":"w","content":"a\n{\"type\":\"terminal\",\"terminalId\":\"t\"}\nb","is_error":false,"input":"text"}`}},
		{"an update that was never announced", []string{
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"w","status":"completed","rawOutput":"x"}`,
		}, []string{`tool-start {"id":"1","name":"w","input":"{}"}`, `tool-result {"id":"1","name":"w","content":"x","is_error":false,"input":"{}"}`}},
		{"announced and settled twice", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w"}`, `{"sessionUpdate":"tool_call","toolCallId":"1","title":"w2"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawOutput":"x"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed","rawOutput":"y"}`,
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w3"}`,
		}, []string{`tool-start {"id":"1","name":"w","input":"{}"}`, `tool-result {"id":"1","name":"w2","content":"x","is_error":false,"input":"{}"}`}},
		{"a plan", []string{`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high"},{"id":"i","content":"b","status":"in_progress","activeForm":"doing b"},{"entryId":"e","content":"c","status":"odd"},{"status":"completed"},null]}`}, []string{
			`plan-block {"items":[{"content":"a","status":"pending"},{"id":"i","content":"b","status":"in_progress","activeForm":"doing b"},{"id":"e","content":"c","status":"pending"}]}`,
		}},
		{"an empty plan clears", []string{`{"sessionUpdate":"plan","entries":[]}`, `{"sessionUpdate":"plan"}`, `{"sessionUpdate":"plan","entries":"x"}`}, []string{`plan-block {"items":[]}`}},
		{"what means nothing", []string{
			`{"sessionUpdate":"user_message_chunk","content":{"text":"me"}}`, `{"sessionUpdate":"available_commands_update"}`, `{"sessionUpdate":"current_mode_update"}`,
			`{"sessionUpdate":"config_option_update"}`, `{"sessionUpdate":"session_info_update"}`, `{"sessionUpdate":"plan_update","entries":[{"content":"x"}]}`, `{"sessionUpdate":"compaction_summary_chunk","content":{"text":"x"}}`,
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got, want := said(t, &stream{}, tc.updates...), strings.Join(tc.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// F49, acp.md 12.6: a replay is silent and leaves nothing behind.
func TestTranslate_Replay(t *testing.T) {
	t.Parallel()
	s := &stream{replaying: true}
	replay := []string{
		`{"sessionUpdate":"user_message_chunk","content":{"text":"hi"}}`,
		`{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"text":"a"}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w"}`,
		`{"sessionUpdate":"plan","entries":[]}`,
	}
	if got := said(t, s, replay...); got != "" {
		t.Errorf("said %s", got)
	}
	s.replaying = false
	if got := said(t, s, `{"sessionUpdate":"agent_message_chunk","content":{"text":"b"}}`); got != `chunk "b"` {
		t.Errorf("after the replay: %s", got)
	}
	if events := s.end("why"); len(events) != 0 {
		t.Errorf("left open: %v", events)
	}
}

// acp.md 6.1, F16: what is open at the end of a turn is closed, in order, once.
func TestStream_End(t *testing.T) {
	t.Parallel()
	open := []string{
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"w","rawInput":{"a":1}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"2","title":"v"}`,
		`{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`,
	}
	s := &stream{}
	said(t, s, open...)
	want := `thinking-stop null
tool-result {"id":"1","name":"w","content":"Cancelled by the user","is_error":true,"input":"{\"a\":1}"}
tool-result {"id":"2","name":"v","content":"Cancelled by the user","is_error":true,"input":"{}"}`
	if got := strings.Join(printed(t, s.end(contract.TextCancelledByUser)), "\n"); got != want {
		t.Errorf("got:\n%s", got)
	}
	if again := s.end("x"); len(again) != 0 {
		t.Errorf("again: %v", again)
	}
	said(t, s, open...)
	if got := printed(t, s.end("")); len(got) != 1 || got[0] != "thinking-stop null" {
		t.Errorf("an ordinary end: %v", got)
	}
	// An id may come again in the next turn.
	if got := said(t, s, open[0]); !strings.HasPrefix(got, "tool-start") {
		t.Errorf("next turn: %s", got)
	}
}

func FuzzTranslate(f *testing.F) {
	for _, l := range lines(f) {
		fr, err := decode(l)
		if err == nil && fr.method == methodUpdate {
			f.Add([]byte(object(fr.params)["update"]))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &stream{}
		events := append(translate(s, decodeUpdate(raw)), translate(s, decodeUpdate(raw))...)
		events = append(events, s.end("why")...)
		started, ended := map[string]int{}, map[string]int{}
		for _, e := range events {
			payload, err := contract.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := contract.Decode(e.Kind(), payload); err != nil {
				t.Fatalf("%s %s: %v", e.Kind(), payload, err)
			}
			switch e := e.(type) {
			case contract.ToolStart:
				started[e.ID]++
			case contract.ToolResult:
				ended[e.ID]++
			}
		}
		for id, n := range started {
			if n != 1 || ended[id] != 1 {
				t.Fatalf("call %q started %d and ended %d times", id, n, ended[id])
			}
		}
	})
}
