package acp

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func TestDecodeAsk(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		params, name, arguments, kind string
		paths                         []string
	}{
		{`{"toolCall":{"title":" run ","kind":"execute","rawInput":{"a": 1}}}`, "run", `{"a":1}`, "execute", nil},
		{`{"toolCall":{"title":null,"kind":"edit","toolCallId":"t","rawInput":"text"}}`, "edit", "text", "edit", nil},
		{`{"toolCall":{"toolCallId":"t","rawInput":null}}`, "t", `{"toolCallId":"t","rawInput":null}`, "", nil},
		{`{"toolCall":null}`, "permission", "{}", "", nil},
		{`null`, "permission", "{}", "", nil},
		{`{"toolCall":{"rawInput":{"path":"a","file_path":"b"},"locations":[{"path":"c"},{"path":"a"},{}],"content":[{"type":"diff","path":"d"}]}}`, "permission", `{"path":"a","file_path":"b"}`, "", []string{"b", "a", "c", "d"}},
	} {
		a := decodeAsk(json.RawMessage(tc.params))
		if a.name != tc.name || a.arguments != tc.arguments || a.kind != tc.kind || !slices.Equal(a.paths, tc.paths) {
			t.Errorf("%s: %+v", tc.params, a)
		}
	}
}

// acp.md 5.2: by kind and never by spelling, and once never becomes always.
func TestAsk_Choose(t *testing.T) {
	t.Parallel()
	const (
		all     = `[{"optionId":"A","kind":"allow_always"},{"optionId":"o","kind":"allow_once"},{"optionId":"r","kind":"reject_once"},{"optionId":"R","kind":"reject_always"}]`
		two     = `[{"optionId":"o","kind":"allow_once"},{"optionId":"r","kind":"reject_once"}]`
		lasting = `[{"optionId":"A","kind":"allow_always"},{"optionId":"R","kind":"reject_always"}]`
		bare    = `[{"optionId":"first"},{"optionId":"second"}]`
		one     = `[{"optionId":"first"}]`
		rejects = `[{"optionId":"r","kind":"reject_once"}]`
		allows  = `[{"optionId":"o","kind":"allow_once"}]`
		none    = `[]`
	)
	for _, tc := range []struct {
		options  string
		decision contract.Decision
		want     string
		code     int
	}{
		{all, "allow_once", "o", 0},
		{all, "allow_always", "A", 0},
		{all, "deny", "r", 0},
		{all, "reject", "r", 0},
		{all, "reject_once", "r", 0},
		{all, "reject_always", "R", 0},
		{two, "allow_always", "o", 0},
		{two, "reject_always", "r", 0},
		{lasting, "allow_once", "", contract.CodeConflict},
		{lasting, "allow_always", "A", 0},
		{lasting, "deny", "R", 0},
		{bare, "allow_once", "first", 0},
		{bare, "allow_always", "first", 0},
		{bare, "deny", "second", 0},
		{one, "allow_once", "first", 0},
		{one, "deny", "", 0},
		{rejects, "allow_once", "", contract.CodeConflict},
		{rejects, "allow_always", "", contract.CodeConflict},
		{allows, "deny", "", 0},
		{none, "deny", "", 0},
		{none, "allow_once", "", contract.CodeConflict},
		{all, "perhaps", "", contract.CodeBadParams},
		{bare, "", "", contract.CodeBadParams},
	} {
		a := decodeAsk(json.RawMessage(`{"options":` + tc.options + `}`))
		got, failure := a.choose(tc.decision)
		code := 0
		if failure != nil {
			code = failure.Code
		}
		if got != tc.want || code != tc.code {
			t.Errorf("%s of %s: %q, %v", tc.decision, tc.options, got, failure)
		}
		if a.lastingOnly() != (tc.options == lasting) {
			t.Errorf("lastingOnly of %s", tc.options)
		}
	}
	a := decodeAsk(json.RawMessage(`{"options":` + lasting + `}`))
	if _, failure := a.choose(contract.AllowOnce); failure.Message != "This engine offers only a lasting permission; choose it or deny." {
		t.Errorf("text %q", failure.Message)
	}
	if _, failure := a.choose("x"); failure.Message != "Unknown decision: x" {
		t.Errorf("text %q", failure.Message)
	}
}
