package contract

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files")

// golden is one file of testdata: a payload with every key, and one with those
// that are always there.
type golden struct {
	Full    json.RawMessage `json:"full"`
	Minimal json.RawMessage `json:"minimal"`
}

type example struct{ full, minimal Event }

func examples() map[Kind]example {
	text, id, batch := "a <b> & \"c\"", "call-1", "batch-1"
	size, count, exit, after := uint64(3), uint64(18446744073709551615), int64(-9223372036854775808), 1.5
	return map[Kind]example{
		KindChunk:             {Chunk("H\u00e9llo \u2014 <b>&\n\U0001F600"), Chunk("")},
		KindThinking:          {Thinking{Text: "let me see"}, Thinking{}},
		KindThinkingStop:      {ThinkingStop{}, ThinkingStop{}},
		KindToolStart:         {ToolStart{ID: id, Name: "bash", Input: new(`{"command":"ls"}`)}, ToolStart{ID: id, Name: "bash"}},
		KindToolResult:        {ToolResult{ID: id, Name: "bash", Content: text, IsError: true, Input: `{"command":"ls"}`}, ToolResult{ID: id}},
		KindPermissionRequest: {PermissionRequest{ID: id, Name: "bash", Arguments: `{"command":"ls"}`, BatchID: &batch, BatchSize: &size}, PermissionRequest{ID: id, Name: "bash", Arguments: "{}"}},
		KindPendingEdit:       {PendingEdit{ID: id, Path: "a b/c.go", Content: "new\n", Before: new("old\n")}, PendingEdit{ID: id, Path: "new.go", Content: ""}},
		KindEditBaseline:      {EditBaseline{ID: id, Path: "a.go", Before: new("")}, EditBaseline{ID: id, Path: "new.go"}},
		KindPlanBlock: {
			PlanBlock{Items: []PlanItem{{ID: new("p-1"), Content: "write it", Status: PlanInProgress, ActiveForm: new("writing it")}, {Content: "test it", Status: PlanPending}}},
			PlanBlock{},
		},
		KindToolOutputExtended: {ToolOutputExtended{ID: id, ExitCode: &exit, ModifiedPaths: []string{"a.go"}, Stdout: &text, Stderr: new("")}, ToolOutputExtended{ID: id}},
		KindTurnSummary: {
			TurnSummary{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4, ReasoningTokens: &count, Address: new("sub-1")},
			TurnSummary{},
		},
		KindMCPSources: {
			MCPSources{Sources: []MCPSource{{Name: "files", Transport: "stdio", Scope: "project"}}, ReadErrors: []MCPReadError{{Scope: "global", Path: "mcp.json", Message: "it is no JSON"}}},
			MCPSources{},
		},
		KindRateLimited: {RateLimited{RetryAfterSeconds: &after, Message: new("slow down")}, RateLimited{}},
		KindDone: {
			Done{InputTokens: count, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4, Cancelled: true, ResumeToken: new("resume-1")},
			Done{},
		},
		KindError: {Error{Message: "The key was refused; check it in Settings."}, Error{}},
	}
}

func readGolden(t testing.TB, k Kind) golden {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", string(k)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestEncode compares every kind with its golden file and decodes it again.
func TestEncode(t *testing.T) {
	t.Parallel()
	all := examples()
	if len(all) != len(Kinds) || len(Kinds) != 15 {
		t.Fatalf("%d examples for %d kinds; there are fifteen", len(all), len(Kinds))
	}
	for _, k := range Kinds {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			ex := all[k]
			full, err := Encode(ex.full)
			if err != nil {
				t.Fatal(err)
			}
			minimal, err := Encode(ex.minimal)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				raw, err := Marshal(golden{full, minimal})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join("testdata", string(k)+".json"), append(raw, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			g := readGolden(t, k)
			if string(full) != string(g.Full) || string(minimal) != string(g.Minimal) {
				t.Fatalf("encoded\n%s\n%s\nwant\n%s\n%s", full, minimal, g.Full, g.Minimal)
			}
			for _, want := range []Event{ex.full, ex.minimal} {
				raw, err := Encode(want)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Decode(k, raw)
				if err != nil {
					t.Fatal(err)
				}
				again, err := Encode(got)
				if err != nil || string(again) != string(raw) || got.Kind() != k {
					t.Fatalf("%s decodes to %#v of kind %s, which encodes to %s (%v)", raw, got, got.Kind(), again, err)
				}
			}
		})
	}
}

// keys of contract.md 2: those that are always there, and those that are not
// there when unknown.
var payloadKeys = map[Kind][2][]string{
	KindThinking:           {{"text"}},
	KindToolStart:          {{"id", "name"}, {"input"}},
	KindToolResult:         {{"id", "name", "content", "is_error", "input"}},
	KindPermissionRequest:  {{"id", "name", "arguments"}, {"batch_id", "batch_size"}},
	KindPendingEdit:        {{"id", "path", "content"}, {"before"}},
	KindEditBaseline:       {{"id", "path"}, {"before"}},
	KindPlanBlock:          {{"items"}},
	KindToolOutputExtended: {{"id"}, {"exit_code", "modified_paths", "stdout", "stderr"}},
	KindTurnSummary:        {{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}, {"reasoning_tokens", "address"}},
	KindMCPSources:         {{"sources", "readErrors"}},
	KindRateLimited:        {nil, {"retry_after_seconds", "message"}},
	KindDone:               {{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cancelled"}, {"resume_token"}},
	KindError:              {{"message"}},
}

func TestPayloadKeys(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds {
		g := readGolden(t, k)
		switch k {
		case KindChunk:
			if g.Full[0] != '"' || string(g.Minimal) != `""` {
				t.Errorf("chunk is %s, %s; want bare strings", g.Full, g.Minimal)
			}
			continue
		case KindThinkingStop:
			if string(g.Full) != "null" || string(g.Minimal) != "null" {
				t.Errorf("thinking-stop is %s, want null", g.Full)
			}
			continue
		}
		want := payloadKeys[k]
		if got := keys(t, g.Minimal); !reflect.DeepEqual(got, sorted(want[0])) {
			t.Errorf("%s: the minimal payload has %v, want %v", k, got, want[0])
		}
		if got := keys(t, g.Full); !reflect.DeepEqual(got, sorted(slices.Concat(want[0], want[1]))) {
			t.Errorf("%s: the full payload has %v, want %v and %v", k, got, want[0], want[1])
		}
		for name, raw := range map[string]json.RawMessage{"full": g.Full, "minimal": g.Minimal} {
			if strings.Contains(string(raw), "null") {
				t.Errorf("%s: the %s payload holds null: %s", k, name, raw)
			}
		}
	}
}

// TestPlanItemKeepsItsCase pins the one camelCase key of a plan.
func TestPlanItemKeepsItsCase(t *testing.T) {
	t.Parallel()
	full := string(readGolden(t, KindPlanBlock).Full)
	if !strings.Contains(full, `"activeForm":"writing it"`) || strings.Contains(full, "active_form") {
		t.Fatalf("plan-block is %s; want activeForm and no active_form", full)
	}
	e, err := Decode(KindPlanBlock, []byte(`{"items":[{"content":"x","status":"pending","active_form":"y"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if form := e.(PlanBlock).Items[0].ActiveForm; form != nil {
		t.Fatalf("active_form was read as %q", *form)
	}
}

func keys(t *testing.T, raw []byte) []string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for k := range m {
		out = append(out, k)
	}
	return sorted(out)
}

func sorted(s []string) []string {
	out := append([]string{}, s...)
	slices.Sort(out)
	return out
}

func TestDecode_Refuses(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds {
		for _, bad := range []string{"", "{", "7", "[]", "true"} {
			if e, err := Decode(k, []byte(bad)); err == nil {
				t.Errorf("Decode(%s, %q) = %#v, want an error", k, bad, e)
			}
		}
		wrong := "null"
		if k == KindThinkingStop {
			wrong = "{}"
		}
		if e, err := Decode(k, []byte(wrong)); err == nil {
			t.Errorf("Decode(%s, %q) = %#v, want an error", k, wrong, e)
		}
	}
	for _, k := range []Kind{"", "Chunk", "thinking_stop", "*"} {
		if _, err := Decode(k, []byte("{}")); !errors.Is(err, ErrBadKind) {
			t.Errorf("Decode(%q) = %v, want ErrBadKind", k, err)
		}
	}
	for _, tc := range []struct {
		kind Kind
		raw  string
	}{
		{KindDone, `{"input_tokens":-1}`},
		{KindDone, `{"input_tokens":"1"}`},
		{KindToolResult, `{"input":{}}`},
		{KindPermissionRequest, `{"batch_size":1.5}`},
		{KindRateLimited, `{"retry_after_seconds":"2"}`},
	} {
		if e, err := Decode(tc.kind, []byte(tc.raw)); err == nil {
			t.Errorf("Decode(%s, %s) = %#v, want an error", tc.kind, tc.raw, e)
		}
	}
}

// TestDecode_IgnoresUnknownKeys: a later version may add some.
func TestDecode_IgnoresUnknownKeys(t *testing.T) {
	t.Parallel()
	e, err := Decode(KindError, []byte(`{"message":"no","later":{"a":1}}`))
	if err != nil || e != (Error{Message: "no"}) {
		t.Fatalf("Decode = %#v, %v", e, err)
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	var terminal []Kind
	for _, k := range Kinds {
		if !k.Valid() {
			t.Errorf("%s is not valid", k)
		}
		if k.Terminal() {
			terminal = append(terminal, k)
		}
	}
	if !slices.Equal(terminal, []Kind{KindDone, KindError}) {
		t.Errorf("terminal kinds are %v", terminal)
	}
	if Kind("user-turn").Valid() || Kind("").Valid() {
		t.Error("a kind outside the fifteen is valid")
	}
	if len(CoreKinds) != 9 {
		t.Errorf("%d core kinds, want nine", len(CoreKinds))
	}
}

// FuzzDecode: a payload of any kind decodes to an event that encodes to a
// payload which decodes to the same one, or is refused.
func FuzzDecode(f *testing.F) {
	for i, k := range Kinds {
		g := readGolden(f, k)
		f.Add(i, []byte(g.Full))
		f.Add(i, []byte(g.Minimal))
	}
	f.Add(0, []byte("\"\xff\xed\xa0\x80\""))
	f.Add(0, []byte(`"\ud800"`))
	f.Fuzz(func(t *testing.T, at int, raw []byte) {
		if at < 0 {
			at = -(at + 1)
		}
		k := Kinds[at%len(Kinds)]
		e, err := Decode(k, raw)
		if err != nil {
			return
		}
		if e.Kind() != k {
			t.Fatalf("Decode(%s) gives kind %s", k, e.Kind())
		}
		first, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(first) {
			t.Fatalf("%q is not valid UTF-8", first)
		}
		again, err := Decode(k, first)
		if err != nil {
			t.Fatalf("%s does not decode again: %v", first, err)
		}
		second, err := Encode(again)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s became %s (%v)", first, second, err)
		}
	})
}

// The short way for plain text writes what the encoder would, for every byte.
func TestEncode_Chunk(t *testing.T) {
	t.Parallel()
	texts := []string{"", "plain text", "\u2028", "\u00e9", "\xc3", "a\xffb"}
	for c := range 256 {
		texts = append(texts, string([]byte{'a', byte(c), 'b'}))
	}
	for _, text := range texts {
		want, err := Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(Chunk(text)); err != nil || string(got) != string(want) {
			t.Errorf("%q became %s, want %s: %v", text, got, want, err)
		}
	}
}
