package llm

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// decodeCase is a stream and what must come of it. want lines are those of
// show; err is a part of the error's text, "" for success.
type decodeCase struct {
	name, wire, in, want, err string
}

const anthropicEnd = `data: {"type":"message_delta","usage":{"output_tokens":9}}

data: {"type":"message_stop"}

`

var decodeCases = []decodeCase{
	{
		name: "text, names and pings ignored", wire: "anthropic",
		in: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":12,\"cache_read_input_tokens\":3,\"cache_creation_input_tokens\":4}}}\n\n" +
			"event: ping\ndata: {\"type\":\"ping\"}\n\n" +
			"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hel\"}}\n\n" +
			"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"lo\"}}\n\n" +
			"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n" + anthropicEnd,
		want: "text \"Hel\"\ntext \"lo\"\ndone 12 9 3 4 true",
	},
	{
		// F03, F04, F05: comments, empty data, no space, CRLF, several data
		// lines, no blank line at the end.
		name: "framing", wire: "anthropic",
		in: ": ping\r\n\r\n: ping\r\n\r\ndata:\r\n\r\ndata: \r\n\r\n" +
			"data:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\r\n\r\n" +
			"data: {\"type\":\"content_block_delta\",\r\ndata: \"index\":0,\r\ndata:\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\r\n\r\n" +
			"data: {\"type\":\"message_stop\"}",
		want: "text \"x\"\ndone 0 0 0 0 false",
	},
	{
		name: "thinking is closed before text and replayed", wire: "anthropic",
		in: `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"zz"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\n "}}

data: {"type":"content_block_stop","index":2}

data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"bash","input":{}}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}

data: {"type":"content_block_stop","index":3}

` + anthropicEnd,
		want: `thinking "hm"
stop
text "\n "
start t1 bash
input t1 "{\"command\":"
input t1 "\"ls\"}"
end t1 bash {"command":"ls"}
reasoning {"anthropic_content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"zz"},{"type":"tool_use","id":"t1","name":"bash","input":{"command":"ls"}}]}
done 0 9 0 0 true`,
	},
	{
		name: "no arguments at all", wire: "anthropic", // F06
		in: `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"task_list","input":{}}}

data: {"type":"content_block_stop","index":0}

` + anthropicEnd,
		want: "start t1 task_list\nend t1 task_list {}\ndone 0 9 0 0 true",
	},
	{
		name: "initial input counts when nothing streams", wire: "anthropic",
		in: `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"bash","input":{"command":"ls"}}}

data: {"type":"content_block_stop","index":0}

` + anthropicEnd,
		want: "start t1 bash\nend t1 bash {\"command\":\"ls\"}\ndone 0 9 0 0 true",
	},
	{
		name: "broken arguments", wire: "anthropic", // F07
		in: `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"bash","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

data: {"type":"content_block_stop","index":0}

` + anthropicEnd,
		want: "start t1 bash\ninput t1 \"{\\\"path\\\": \\\"a\"\nend t1 bash {} invalid\ndone 0 9 0 0 true",
	},
	{
		name: "null counts", wire: "anthropic", // F08
		in: `data: {"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":null}}}

data: {"type":"message_delta","usage":{"output_tokens":null}}

data: {"type":"message_stop"}

`,
		want: "done 5 0 0 0 true",
	},
	{
		name: "error event", wire: "anthropic",
		in:  "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		err: "Overloaded",
	},
	{
		name: "ended without its marker", wire: "anthropic",
		in:   "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"half\"}}\n\n",
		want: "text \"half\"",
		err:  "Provider stream ended before its completion and usage marker; this request is incomplete",
	},
	{name: "nothing", wire: "anthropic", in: "", err: "incomplete"},
	{name: "not JSON", wire: "anthropic", in: "data: {oops\n\n", err: "not the JSON it should be: {oops"},

	{
		name: "text, late usage, done", wire: "chat", // F10
		in: `: OPENROUTER PROCESSING

data: {"choices":[{"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"delta":{"content":"a"}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`,
		want: "text \"a\"\ndone 10 2 4 0 true",
	},
	{
		name: "finish without DONE", wire: "chat",
		in:   "data:{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
		want: "text \"a\"\ndone 0 0 0 0 false", // F09
	},
	{
		name: "null counts and null details", wire: "chat", // F08
		in: `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":null,"prompt_tokens_details":null}}

data: [DONE]

`,
		want: "text \"a\"\ndone 5 0 0 0 true",
	},
	{
		name: "null arguments first", wire: "chat", // F06
		in: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"bash","arguments":null}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`,
		want: "start c1 bash\ninput c1 \"{\\\"a\\\"\"\ninput c1 \":1}\"\nend c1 bash {\"a\":1}\ndone 0 0 0 0 false",
	},
	{
		name: "parallel calls in index order, without index, id before name", wire: "chat",
		in: `data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"two"}},{"index":0,"id":"a"}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":0,"function":{"name":"one"}}]}}]}

data: [DONE]

`,
		want: "start b two\nstart a one\ninput a \"{}\"\nend a one {}\nend b two {}\ndone 0 0 0 0 false",
	},
	{
		name: "a new id in slot 0 closes the call before", wire: "chat",
		in: `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"one","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"two","arguments":{"x":1}}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

`,
		want: "start a one\ninput a \"{}\"\nend a one {}\nstart b two\ninput b \"{\\\"x\\\":1}\"\nend b two {\"x\":1}\ndone 0 0 0 0 false",
	},
	{
		name: "reasoning under three names is shown once", wire: "chat",
		in: `data: {"choices":[{"delta":{"reasoning":"hm ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm "}]}}]}

data: {"choices":[{"delta":{"reasoning":"so","reasoning_details":[{"index":0,"text":"so","signature":"s1"},{"type":"reasoning.encrypted","index":1,"data":"AA"}]}}]}

data: {"choices":[{"delta":{"content":"x","reasoning_details":[{"index":1,"data":"BB"}]},"finish_reason":"stop"}]}

data: [DONE]

`,
		want: `thinking "hm "
thinking "so"
stop
text "x"
reasoning {"compat_provider":"openai","reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm so","signature":"s1"},{"type":"reasoning.encrypted","index":1,"data":"AABB"}]}
done 0 0 0 0 false`,
	},
	{
		name: "details alone are shown, data never", wire: "chat",
		in: `data: {"choices":[{"delta":{"reasoning_details":[{"index":0,"text":"t"},{"index":1,"data":"secret"}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"length"}]}

`,
		want: `thinking "t"
stop
reasoning {"compat_provider":"openai","reasoning_details":[{"index":0,"text":"t"},{"index":1,"data":"secret"}]}
done 0 0 0 0 false`,
	},
	{
		name: "extra content of a call is stored", wire: "chat",
		in: `data: {"choices":[{"delta":{"reasoning_content":"r","tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"s":"x"}},"function":{"name":"one","arguments":"{}"}}]},"finish_reason":"stop"}]}

data: [DONE]

`,
		want: `thinking "r"
stop
start a one
input a "{}"
end a one {}
reasoning {"compat_provider":"openai","reasoning_content":"r","extra_content":{"a":{"google":{"s":"x"}}}}
done 0 0 0 0 false`,
	},
	{
		name: "error object mid-stream", wire: "chat",
		in: `data: {"choices":[{"delta":{"content":"a"}}]}

data: {"error":{"code":502,"message":"upstream died"},"choices":[{"delta":{},"finish_reason":"error"}]}

`,
		want: "text \"a\"", err: "upstream died",
	},
	{name: "error as text", wire: "chat", in: "data: {\"error\":\"no\"}\n\n", err: "no"},
	{name: "no marker", wire: "chat", in: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", want: "text \"a\"", err: "incomplete"},
	{name: "DONE alone is a marker", wire: "chat", in: "data: [DONE]\n\n", want: "done 0 0 0 0 false"},

	{
		name: "summary, text, call", wire: "responses",
		in: `data: {"type":"response.created"}

data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"one"}

data: {"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"one"}

data: {"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":1,"text":"two"}

data: {"type":"response.output_text.delta","output_index":1,"delta":"hi"}

data: {"type":"response.refusal.delta","output_index":1,"delta":"no"}

data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"bash","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\":1}"}

data: {"type":"response.completed","response":{"output":[{"type":"reasoning","encrypted_content":"e"},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"a\":1}"}],"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":10},"output_tokens":9}}}

`,
		want: `thinking "one"
thinking "\n\ntwo"
stop
text "hi"
text "no"
start c1 bash
input c1 "{\"a\":1}"
end c1 bash {"a":1}
reasoning {"responses_provider":"openai","output":[{"type":"reasoning","encrypted_content":"e"},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"a\":1}"}]}
done 50 9 10 0 true`,
	},
	{
		name: "call known only at the end, null usage", wire: "responses",
		in:   "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"ls\",\"arguments\":\"\"}],\"usage\":null}}\n\n",
		want: "start c1 ls\nend c1 ls {}\nreasoning {\"responses_provider\":\"openai\",\"output\":[{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"ls\",\"arguments\":\"\"}]}\ndone 0 0 0 0 false",
	},
	{
		// F07: what would be refused is not stored for replay.
		name: "broken arguments", wire: "responses",
		in:   "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\"},{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"ls\",\"arguments\":\"{\\\"p\"}]}}\n\n",
		want: "start c1 ls\nend c1 ls {} invalid\ndone 0 0 0 0 false",
	},
	{
		name: "an open call that the end forgot", wire: "responses",
		in: `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"ls"}}

data: {"type":"response.completed","response":{"output":[]}}

`,
		want: "start c1 ls\nend c1 ls {}\ndone 0 0 0 0 false",
	},
	{name: "failed", wire: "responses", in: "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"boom\"}}}\n\n", err: "boom"},
	{name: "error", wire: "responses", in: "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}\n\n", err: "slow down"},
	{name: "incomplete", wire: "responses", in: "data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n", err: "cut short by the provider (max_output_tokens)"},
	{name: "no end", wire: "responses", in: "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n", want: "text \"x\"", err: "incomplete"},

	{
		name: "thinking, text, end without line end", wire: "ollama",
		in:   "{\"message\":{\"thinking\":\"t\"}}\n\n{\"message\":{\"content\":\"x\"}}\r\n{\"message\":{\"content\":\"\"},\"done\":true,\"prompt_eval_count\":7,\"eval_count\":null}",
		want: "thinking \"t\"\nstop\ntext \"x\"\ndone 7 0 0 0 true",
	},
	{
		name: "window overrun and cut answer are told", wire: "ollama",
		in: "{\"done\":true,\"done_reason\":\"length\",\"prompt_eval_count\":8192,\"eval_count\":1}\n",
		want: "text \"\\n\\n[The conversation no longer fits the context window of 8192 tokens that Ollama was given, so its beginning was cut. Raise the context cap in Settings > Providers, or start a new conversation.]\"\n" +
			"text \"\\n\\n[The answer was cut: it reached the number of tokens that Ollama was asked for.]\"\ndone 8192 1 0 0 true",
	},
	{name: "error line", wire: "ollama", in: "{\"error\":\"model runner stopped\"}\n", err: "model runner stopped"},
	{name: "cut", wire: "ollama", in: "{\"message\":{\"content\":\"x\"}}\n", want: "text \"x\"", err: "incomplete"},
	{name: "half a line", wire: "ollama", in: "{\"message\":{\"content\":\"x\"}}\n{\"mess", want: "text \"x\"", err: "not the JSON"},
}

// TestDecode covers F03 to F10 on each wire, read whole and byte by byte.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range decodeCases {
		for _, oneByte := range []bool{false, true} {
			t.Run(tc.wire+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				var got []Chunk
				err := decoders[tc.wire](tc.in, oneByte, &sink{emit: into(&got)})
				if s := show(got); s != tc.want {
					t.Errorf("chunks:\n%s\nwant:\n%s", s, tc.want)
				}
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("error %v; want %q", err, tc.err)
				}
			})
		}
	}
}

// TestDecode_OllamaCalls covers calls that come whole and without ids.
func TestDecode_OllamaCalls(t *testing.T) {
	t.Parallel()
	var got []Chunk
	in := `{"message":{"tool_calls":[{"function":{"name":"ls","arguments":{"p":1}}},{"function":{"name":"ls","arguments":"oops"}}]}}
{"done":true}
`
	if err := decoders["ollama"](in, false, &sink{emit: into(&got)}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	var ends []string
	for _, c := range got {
		switch c := c.(type) {
		case ToolUseStart:
			ids = append(ids, c.ID)
		case ToolUseEnd:
			ends = append(ends, string(c.Arguments))
			if c.ID != ids[len(ids)-1] {
				t.Errorf("call %s ends as %s", ids[len(ids)-1], c.ID)
			}
		}
	}
	if len(ids) != 2 || ids[0] == ids[1] || !strings.HasPrefix(ids[0], "ollama-ls-") {
		t.Errorf("ids %q; want two of ollama-ls-<n>", ids)
	}
	if len(ends) != 2 || ends[0] != `{"p":1}` || ends[1] != "{}" {
		t.Errorf("arguments %q", ends)
	}
}

// TestDecode_SplitCharacters covers F01 for streams: a character that is split
// over two deltas, as bytes and as a pair of escapes, comes out whole.
func TestDecode_SplitCharacters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		deltas     []string
	}{
		{name: "em dash in bytes", deltas: []string{"a\xe2", "\x80\x94b"}, want: "a\u2014b"},
		{name: "em dash in three", deltas: []string{"\xe2", "\x80", "\x94"}, want: "\u2014"},
		{name: "surrogates", deltas: []string{`x\ud83d`, `\ude00y`}, want: "x\U0001F600y"},
		{name: "lone high half", deltas: []string{`x\ud83d`, `y`}, want: "x\uFFFDy"},
		{name: "lone low half", deltas: []string{`x\ude00`, `y`}, want: "x\uFFFDy"},
		{name: "high half at the end", deltas: []string{`x\ud83d`}, want: "x\uFFFD"},
		{name: "never a character", deltas: []string{"x\xff", "y"}, want: "x\uFFFDy"},
		{name: "cut at the end", deltas: []string{"x\xe2\x80"}, want: "x\uFFFD"},
		{name: "escapes", deltas: []string{`\"\\\/\b\f\n\r\t\u0041`, `\u00e9`}, want: "\"\\/\b\f\n\r\tA\u00e9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for wire, stream := range streamsOf(tc.deltas) {
				var got []Chunk
				if err := decoders[wire](stream, false, &sink{emit: into(&got)}); err != nil {
					t.Fatalf("%s: %v", wire, err)
				}
				for _, c := range got {
					if d, ok := c.(TextDelta); ok && !utf8.ValidString(d.Text) {
						t.Errorf("%s: delta %q is not valid UTF-8", wire, d.Text)
					}
				}
				if s := textSaid(got); s != tc.want {
					t.Errorf("%s: %q; want %q", wire, s, tc.want)
				}
			}
		})
	}
}

// streamsOf writes raw JSON text pieces as text deltas of every wire.
func streamsOf(deltas []string) map[string]string {
	var a, c, r, o strings.Builder
	a.WriteString("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for _, d := range deltas {
		a.WriteString(`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + d + "\"}}\n\n")
		c.WriteString(`data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` + d + "\"},\"finish_reason\":null}]}\n\n")
		r.WriteString(`data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"` + d + "\",\"logprobs\":[]}\n\n")
		o.WriteString(`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"` + d + "\"},\"done\":false}\n")
	}
	a.WriteString("data: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	c.WriteString("data: [DONE]\n\n")
	r.WriteString("data: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n\n")
	o.WriteString("{\"done\":true}\n")
	return map[string]string{"anthropic": a.String(), "chat": c.String(), "responses": r.String(), "ollama": o.String()}
}

// TestDecode_LargeEvents covers an event beyond the default buffer and one
// beyond the limit.
func TestDecode_LargeEvents(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	for wire, stream := range streamsOf([]string{big}) {
		var got []Chunk
		if err := decoders[wire](stream, false, &sink{emit: into(&got)}); err != nil || textSaid(got) != big {
			t.Errorf("%s: 1 MiB event: %v, %d bytes", wire, err, len(textSaid(got)))
		}
	}
	huge := strings.Repeat("x", maxEventBytes+1)
	for wire, stream := range streamsOf([]string{huge}) {
		if err := decoders[wire](stream, false, &sink{emit: func(Chunk) error { return nil }}); !errors.Is(err, errTooLong) {
			t.Errorf("%s: event above the limit: %v; want %v", wire, err, errTooLong)
		}
	}
}

// TestDecode_ConsumerGone says that the first error of emit comes back as it
// is and that nothing follows it.
func TestDecode_ConsumerGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for wire, stream := range streamsOf([]string{"a", "b", "c"}) {
		calls := 0
		err := decoders[wire](stream, false, &sink{emit: func(Chunk) error {
			calls++
			if calls == 2 {
				return gone
			}
			return nil
		}})
		if err != gone || calls != 2 { // As it is, not wrapped.
			t.Errorf("%s: %v after %d calls; want %v after 2", wire, err, calls, gone)
		}
	}
}
