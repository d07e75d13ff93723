package llm

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// checkStream says what must hold of any bytes: no panic, the promises of the
// package comment, and the same result however the bytes were split.
func checkStream(t *testing.T, wire, in string) {
	t.Helper()
	var whole, split []Chunk
	err := decoders[wire](in, false, &sink{emit: into(&whole)})
	again := decoders[wire](in, true, &sink{emit: into(&split)})
	if (err == nil) != (again == nil) {
		t.Fatalf("whole: %v; byte by byte: %v", err, again)
	}
	thinking := false
	open := make(map[string]int)
	for i, c := range whole {
		ok := true
		switch c := c.(type) {
		case TextDelta:
			ok = c.Text != "" && utf8.ValidString(c.Text) && !thinking
		case ThinkingDelta:
			ok, thinking = c.Text != "" && utf8.ValidString(c.Text), true
		case ThinkingStop:
			thinking = false
		case ToolUseStart:
			ok = c.ID != "" && c.Name != "" && !thinking
			open[c.ID]++
		case ToolUseInputDelta:
			ok = open[c.ID] > 0 && utf8.ValidString(c.Delta)
		case ToolUseEnd:
			var o map[string]json.RawMessage
			ok = open[c.ID] > 0 && json.Unmarshal(c.Arguments, &o) == nil
			open[c.ID]--
		case ReasoningDetails:
			ok = json.Valid(c.Details)
		case Done:
			ok = i == len(whole)-1 && err == nil && !thinking
			for _, n := range open {
				ok = ok && n == 0
			}
		}
		if !ok {
			t.Fatalf("chunk %d breaks a promise:\n%s", i, show(whole))
		}
	}
	if err == nil && (len(whole) == 0 || len(whole) != len(split)) {
		t.Fatalf("%d chunks whole, %d byte by byte", len(whole), len(split))
	}
}

func fuzzWire(f *testing.F, wire string) {
	f.Helper()
	for _, tc := range decodeCases {
		if tc.wire == wire {
			f.Add(tc.in)
		}
	}
	f.Add(streamsOf([]string{"a\xe2", "\x80\x94", `\ud83d`, `\ude00`})[wire])
	f.Fuzz(func(t *testing.T, in string) { checkStream(t, wire, in) })
}

func FuzzDecodeAnthropic(f *testing.F)  { fuzzWire(f, "anthropic") }
func FuzzDecodeChat(f *testing.F)       { fuzzWire(f, "chat") }
func FuzzDecodeResponses(f *testing.F)  { fuzzWire(f, "responses") }
func FuzzDecodeOllamaChat(f *testing.F) { fuzzWire(f, "ollama") }

// FuzzJoiner says that cutting a text anywhere changes nothing.
func FuzzJoiner(f *testing.F) {
	f.Add("a\u2014b\U0001F600", 3)
	f.Add("\xed\xa0\xbd\xed\xb8\x80", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if cut < 0 || cut > len(s) {
			t.Skip()
		}
		var one, two joiner
		whole := one.push(s) + one.flush()
		first := two.push(s[:cut])
		if !utf8.ValidString(first) || !utf8.ValidString(whole) {
			t.Fatalf("%q is not valid UTF-8", first)
		}
		if utf8.ValidString(s) && first+two.push(s[cut:])+two.flush() != s {
			t.Fatalf("%q cut at %d came out changed", s, cut)
		}
	})
}

// FuzzUnquote says that texts without halves of pairs and broken bytes decode
// as encoding/json decodes them.
func FuzzUnquote(f *testing.F) {
	f.Add(`a\n\u00e9\\\"\/`)
	f.Fuzz(func(t *testing.T, s string) {
		raw := []byte(`"` + s + `"`)
		var want string
		if !utf8.Valid(raw) || json.Unmarshal(raw, &want) != nil {
			t.Skip()
		}
		var p piece
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		var j joiner
		if got := j.push(string(p)) + j.flush(); got != want {
			t.Fatalf("%q: %q; want %q", s, got, want)
		}
	})
}
