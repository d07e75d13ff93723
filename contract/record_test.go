package contract

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

const recordJSON = `{"id":"c-1","title":"a <b>","agent":"api-demo","mode":"api","provider":"demo","model":"m","projectPath":"a b",` +
	`"createdAt":1,"updatedAt":2,"status":"idle","archived":false,"planMode":false,"permissionMode":"ask_for_risky",` +
	`"approveWrites":true,"turnCounter":3,"messages":[` +
	`{"id":"m-1","role":"user","content":"hi","timestamp":1,"reaction":"later"},` +
	`{"id":"t-1","role":"assistant","content":"yo","timestamp":2,"parts":[{"type":"text","length":2,"details":{"k":1}},{"type":"tool","id":"x"}],` +
	`"toolCalls":[{"id":"x","name":"bash","status":"done","exitCode":0,"stdout":"","colour":"<red>"}]}],` +
	`"aLater":{"deep":[1,2.50,"<"]},"zLater":null}`

// TestRecord_KeepsUnknownKeys: a file of a later version survives a load and a
// save by this one, byte for byte.
func TestRecord_KeepsUnknownKeys(t *testing.T) {
	t.Parallel()
	var r Record
	if err := json.Unmarshal([]byte(recordJSON), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Extra) != 2 || len(r.Messages[0].Extra) != 1 || len(r.Messages[1].ToolCalls[0].Extra) != 1 {
		t.Fatalf("kept %v, %v, %v", r.Extra, r.Messages[0].Extra, r.Messages[1].ToolCalls[0].Extra)
	}
	if r.Messages[1].Extra != nil {
		t.Fatalf("a message without unknown keys keeps %v", r.Messages[1].Extra)
	}
	raw, err := Marshal(r)
	if err != nil || string(raw) != recordJSON {
		t.Fatalf("saved\n%s\nwant\n%s\n%v", raw, recordJSON, err)
	}
}

// TestRecord_OtherCase: the decoder takes a key in another case for the known
// one; kept as unknown it would bring the old value back at the next load.
func TestRecord_OtherCase(t *testing.T) {
	t.Parallel()
	var r Record
	if err := json.Unmarshal([]byte(`{"id":"c-1","Title":"old","messages":[]}`), &r); err != nil {
		t.Fatal(err)
	}
	if r.Title != "old" {
		t.Fatalf("title %q", r.Title)
	}
	r.Title = "new"
	raw, err := Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Record
	if err := json.Unmarshal(raw, &again); err != nil || again.Title != "new" {
		t.Fatalf("the title is %q after a save (%v): %s", again.Title, err, raw)
	}
}

func TestRecord_Refuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "[]", "7", `{"messages":{}}`, `{"messages":[7]}`, `{"title":1}`, `{"messages":[{"toolCalls":[[]]}]}`} {
		if err := json.Unmarshal([]byte(bad), new(Record)); err == nil {
			t.Errorf("%q is a record", bad)
		}
	}
}

func TestWithExtra(t *testing.T) {
	t.Parallel()
	extra := map[string]json.RawMessage{"b": json.RawMessage("1"), "a": json.RawMessage(`"<"`)}
	for _, tc := range []struct {
		v     any
		extra map[string]json.RawMessage
		want  string
	}{
		{struct{}{}, nil, `{}`},
		{struct{}{}, extra, `{"a":"<","b":1}`},
		{Error{Message: "m"}, extra, `{"message":"m","a":"<","b":1}`},
		{Error{Message: "m"}, map[string]json.RawMessage{}, `{"message":"m"}`},
	} {
		if got, err := withExtra(tc.v, tc.extra); err != nil || string(got) != tc.want {
			t.Errorf("withExtra(%v, %v) = %s, %v; want %s", tc.v, tc.extra, got, err, tc.want)
		}
	}
}

// FuzzRecord: what loads is saved to something that loads to the same.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(recordJSON))
	f.Add([]byte(`{"ID":"a","id":"b","messages":null}`))
	f.Add([]byte(`{"messages":[null,{"Extra":1,"extra":{}}],"":1}`))
	f.Add([]byte("{\"messages\":[],\"\xff\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first Record
		if err := json.Unmarshal(raw, &first); err != nil {
			return
		}
		saved, err := Marshal(first)
		if err != nil {
			t.Fatalf("a record that loads does not save: %v", err)
		}
		var second Record
		if err := json.Unmarshal(saved, &second); err != nil {
			t.Fatalf("%v in %s", err, saved)
		}
		again, err := Marshal(second)
		if err != nil || string(again) != string(saved) {
			t.Fatalf("saved\n%s\nthen\n%s\n%v", saved, again, err)
		}
		if len(first.Messages) != len(second.Messages) || !sameKeys(first.Extra, second.Extra) {
			t.Fatalf("%d messages, keys %v became %d, %v", len(first.Messages), first.Extra, len(second.Messages), second.Extra)
		}
	})
}

func sameKeys(a, b map[string]json.RawMessage) bool {
	keys := func(m map[string]json.RawMessage) map[string]bool {
		out := map[string]bool{}
		for k := range m {
			out[strings.ToValidUTF8(k, "\ufffd")] = true
		}
		return out
	}
	return reflect.DeepEqual(keys(a), keys(b))
}

// What is written is read back, and what other programs wrote too.
func TestWorktree(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1788177600123).UTC()
	want := Worktree{BasePath: "/p", WorktreePath: "/p/.pkt-worktrees/c", Branch: "pkt/c", BaseBranch: "main", CreatedAt: at, State: "active", PRNumber: 7, PRURL: "https://x"}
	if got := DecodeWorktree(EncodeWorktree(want)); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for raw, want := range map[string]*Worktree{
		`null`:                  nil,
		`{"basePath":"/p"}`:     nil,
		`7`:                     nil,
		`{"worktreePath":"/w"}`: {WorktreePath: "/w"},
		`{"worktreePath":"/w","createdAt":"2026-09-01T00:00:00Z"}`: {WorktreePath: "/w", CreatedAt: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)},
		`{"worktreePath":"/w","createdAt":"soon"}`:                 {WorktreePath: "/w"},
		`{"worktreePath":"/w","createdAt":9e17}`:                   {WorktreePath: "/w"},
	} {
		got := DecodeWorktree(json.RawMessage(raw))
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}
