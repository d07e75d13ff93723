package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func record() *contract.Record {
	return &contract.Record{
		ID: "c-1", Title: "first", Agent: "api-demo", Mode: "api", Status: contract.StatusIdle,
		SystemPrompt: strings.Repeat("rules ", 5000),
		Messages: []contract.RecordMessage{
			{ID: "m-1", Role: contract.RoleUser, Content: "hello"},
			{ID: "m-2", Role: contract.RoleAssistant, Content: "hi", Parts: []contract.RecordPart{{Part: contract.Part{Type: contract.PartText, Length: 2}}}},
		},
		Extra: map[string]json.RawMessage{"later": json.RawMessage(`{"a":1}`)},
	}
}

func encode(t testing.TB, ops ...Op) []byte {
	t.Helper()
	line, err := Encode(ops...)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func textPart(n int) contract.RecordPart {
	return contract.RecordPart{Part: contract.Part{Type: contract.PartText, Length: n}}
}

// TestReplay plays what a conversation does in a turn and compares with a
// record to which the same was done directly.
func TestReplay(t *testing.T) {
	t.Parallel()
	before := record()
	prev, err := EncodeHead(before)
	if err != nil {
		t.Fatal(err)
	}
	want := record()
	want.Title, want.Pinned, want.OpenTurn = "second", true, "t-1"
	want.Extra["later"] = json.RawMessage(`{"a":2}`)
	next, err := EncodeHead(want)
	if err != nil {
		t.Fatal(err)
	}
	set, changed, err := Set(prev, next)
	if err != nil || !changed {
		t.Fatalf("Set: %v, %v", changed, err)
	}
	if line := encode(t, set); len(line) > 200 {
		t.Fatalf("a changed title costs %d bytes; the system prompt must not be repeated", len(line))
	}
	want.Messages[1].Content = "hi there"
	want.Messages[1].Thinking = "so"
	want.Messages[1].Parts = []contract.RecordPart{textPart(8)}
	want.Messages = append(want.Messages, contract.RecordMessage{ID: "m-3", Role: contract.RoleUser, Content: "<b>&"})

	lines := encode(t, set, Append(1, " the", "s", 0, []contract.RecordPart{textPart(6)}))
	lines = append(lines, encode(t, Append(1, "re", "o", 0, []contract.RecordPart{textPart(8)}))...)
	lines = append(lines, encode(t, Put(2, contract.RecordMessage{ID: "m-x"}), Put(3, contract.RecordMessage{ID: "m-y"}))...)
	lines = append(lines, encode(t, Truncate(2), Put(2, want.Messages[2]))...)

	got := record()
	out := Replay(got, lines)
	if out.Bad != nil || out.Torn || out.Lines != 4 || out.Good != int64(len(lines)) {
		t.Fatalf("Replay = %+v", out)
	}
	same(t, got, want)

	single := record()
	for line := range bytes.Lines(lines) {
		if err := Apply(single, line); err != nil {
			t.Fatal(err)
		}
	}
	same(t, single, want)
}

func same(t *testing.T, got, want *contract.Record) {
	t.Helper()
	g, err := contract.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := contract.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(g, w) {
		t.Fatalf("record\n%s\nwant\n%s", g, w)
	}
}

// TestReplay_TornAnywhere cuts a journal at every byte: the record is always
// the one after some whole save, never between two (F30).
func TestReplay_TornAnywhere(t *testing.T) {
	t.Parallel()
	saves := [][]byte{
		encode(t, Append(1, "a", "", 0, nil)),
		encode(t, Truncate(1), Put(1, contract.RecordMessage{ID: "m-9", Content: "whole"})),
		encode(t, Append(1, "b", "", 0, nil)),
	}
	all := bytes.Join(saves, nil)
	for cut := range len(all) + 1 {
		whole := 0
		var upTo []byte
		for whole < len(saves) && len(upTo)+len(saves[whole]) <= cut {
			upTo = append(upTo, saves[whole]...)
			whole++
		}
		got, want := record(), record()
		out := Replay(got, all[:cut])
		if out.Bad != nil || out.Lines != whole || out.Good != int64(len(upTo)) || out.Torn != (cut > len(upTo)) {
			t.Fatalf("cut at %d: %+v, want %d lines of %d bytes", cut, out, whole, len(upTo))
		}
		Replay(want, upTo)
		same(t, got, want)
	}
}

func TestReplay_BadLineEndsIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, line string }{
		{"no JSON", "x"},
		{"no operation", "{}"},
		{"no operations", "[]"},
		{"two at once", `{"truncate":1,"set":{"title":"x"}}`},
		{"put beyond the end", `{"put":3,"message":{"id":"m"}}`},
		{"put without a message", `{"put":1}`},
		{"append beyond the end", `{"append":2,"content":"x"}`},
		{"append before the start", `{"append":-1,"content":"x"}`},
		{"parts beyond the end", `{"append":1,"from":2}`},
		{"truncate beyond the end", `{"truncate":3}`},
		{"field of the wrong kind", `{"set":{"title":7}}`},
		{"head that is no object", `{"head":null}`},
		{"head with messages", `{"head":{"messages":[{"id":"m"}]}}`},
		{"second half is bad", `[{"truncate":0},{"append":0,"content":"x"}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			first := encode(t, Append(0, "!", "", 0, nil))
			lines := append(bytes.Clone(first), tc.line+"\n"...)
			lines = append(lines, encode(t, Append(0, "?", "", 0, nil))...)
			got, want := record(), record()
			want.Messages[0].Content += "!"
			out := Replay(got, lines)
			if !errors.Is(out.Bad, ErrBadLine) || out.Lines != 1 || out.Good != int64(len(first)) {
				t.Fatalf("Replay = %+v", out)
			}
			same(t, got, want)
		})
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	base := BaseOf([]byte("body"))
	file := append(base.Line(), `{"truncate":0}`...)
	got, rest, err := DecodeBase(file)
	if err != nil || got != base || string(rest) != `{"truncate":0}` {
		t.Fatalf("DecodeBase = %v, %q, %v", got, rest, err)
	}
	if BaseOf([]byte("body\n")) == base {
		t.Fatal("one more byte is the same base")
	}
	line := base.Line()
	for _, bad := range [][]byte{nil, line[:len(line)-1], []byte("{}\n"), []byte("[]\n"), []byte("\n")} {
		if _, _, err := DecodeBase(bad); !errors.Is(err, ErrBadLine) {
			t.Fatalf("DecodeBase(%q) = %v", bad, err)
		}
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	lines := encode(t, Op{Set: map[string]json.RawMessage{"title": json.RawMessage(`"a"`), "pinned": json.RawMessage("true")}})
	lines = append(lines, encode(t, Truncate(0))...)
	lines = append(lines, encode(t, Op{Set: map[string]json.RawMessage{"title": json.RawMessage(`"b"`)}})...)
	fields, reset := Heads(lines)
	if reset || string(fields["title"]) != `"b"` || string(fields["pinned"]) != "true" {
		t.Fatalf("Heads = %s, %v", fields, reset)
	}
	lines = append(lines, encode(t, Head(json.RawMessage(`{"title":"c"}`)))...)
	lines = append(lines, `{"set":{"title":"torn"}}`...)
	if fields, reset = Heads(lines); !reset || len(fields) != 1 || string(fields["title"]) != `"c"` {
		t.Fatalf("Heads = %s, %v", fields, reset)
	}
}

// FuzzReplay: no input panics, and what was applied can be applied again to a
// fresh record with the same outcome.
func FuzzReplay(f *testing.F) {
	f.Add(encode(f, Append(1, "x", "y", 1, []contract.RecordPart{textPart(1)})))
	f.Add(encode(f, Truncate(0), Put(0, contract.RecordMessage{ID: "m"})))
	f.Add([]byte(`{"head":{"id":"c-1","title":"t"}}` + "\n" + `{"set":{"pinned":null}}` + "\n{"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		first, second := record(), record()
		out := Replay(first, lines)
		if out.Good > int64(len(lines)) || out.Good < 0 {
			t.Fatalf("Good = %d of %d", out.Good, len(lines))
		}
		again := Replay(second, lines[:out.Good])
		if out.Bad == nil && (again.Bad != nil || again.Torn || again.Lines != out.Lines) {
			t.Fatalf("second replay %+v, first %+v", again, out)
		}
		if !reflect.DeepEqual(first, second) {
			t.Fatal("the good part gives another record")
		}
	})
}

func FuzzDecodeBase(f *testing.F) {
	f.Add(BaseOf(nil).Line())
	f.Fuzz(func(t *testing.T, file []byte) {
		base, rest, err := DecodeBase(file)
		if err != nil {
			return
		}
		back, more, err := DecodeBase(append(base.Line(), rest...))
		if err != nil || back != base || !bytes.Equal(more, rest) {
			t.Fatalf("%v %q %v", back, more, err)
		}
	})
}
