package bridge

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, frame string
		code        int // 0 for a request
		id          string
		text        string // what the failure must name
		silent      bool
	}{
		{name: "plain", frame: `{"jsonrpc":"2.0","id":1,"method":"get_tree"}`, id: "1"},
		{name: "white space", frame: " \n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_tree\"}\r\n", id: "1"},
		{name: "text id", frame: `{"jsonrpc":"2.0","id":"a\"b","method":"get_tree"}`, id: `"a\"b"`},
		{name: "large id", frame: `{"jsonrpc":"2.0","id":12345678901234567890123,"method":"get_tree"}`, id: "12345678901234567890123"},
		{name: "fraction id", frame: `{"jsonrpc":"2.0","id":-1.5e3,"method":"get_tree"}`, id: "-1.5e3"},
		{name: "null id", frame: `{"jsonrpc":"2.0","id":null,"method":"get_tree"}`, id: "null"},
		{name: "null params", frame: `{"jsonrpc":"2.0","id":1,"method":"get_tree","params":null}`, id: "1"},
		{name: "notification", frame: `{"jsonrpc":"2.0","method":"get_tree"}`, id: "null", silent: true},
		{name: "object id", frame: `{"jsonrpc":"2.0","id":{},"method":"get_tree"}`, code: contract.CodeInvalid, id: "null", text: "id"},
		{name: "list id", frame: `{"jsonrpc":"2.0","id":[1],"method":"get_tree"}`, code: contract.CodeInvalid, id: "null", text: "id"},
		{name: "true id", frame: `{"jsonrpc":"2.0","id":true,"method":"get_tree"}`, code: contract.CodeInvalid, id: "null", text: "id"},
		{name: "endless id", frame: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"get_tree"}`, code: contract.CodeInvalid, id: "null", text: "id"},
		{name: "nothing", frame: ``, code: contract.CodeParse, id: "null"},
		{name: "half", frame: `{"jsonrpc":"2.0","id":1`, code: contract.CodeParse, id: "null"},
		{name: "two", frame: `{"jsonrpc":"2.0","id":1,"method":"get_tree"}{}`, code: contract.CodeParse, id: "null"},
		{name: "no UTF-8", frame: "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"get_tree\"}", code: contract.CodeParse, id: "null", text: "UTF-8"},
		{name: "number", frame: `7`, code: contract.CodeInvalid, id: "null"},
		{name: "text", frame: `"get_tree"`, code: contract.CodeInvalid, id: "null"},
		{name: "null", frame: `null`, code: contract.CodeInvalid, id: "null"},
		{name: "no version", frame: `{"id":1,"method":"get_tree"}`, code: contract.CodeInvalid, id: "1", text: "jsonrpc"},
		{name: "old version", frame: `{"jsonrpc":"1.0","id":1,"method":"get_tree"}`, code: contract.CodeInvalid, id: "1", text: "jsonrpc"},
		{name: "number version", frame: `{"jsonrpc":2.0,"id":1,"method":"get_tree"}`, code: contract.CodeInvalid, id: "1", text: "jsonrpc"},
		{name: "no method", frame: `{"jsonrpc":"2.0","id":1}`, code: contract.CodeInvalid, id: "1", text: "method"},
		{name: "number method", frame: `{"jsonrpc":"2.0","id":1,"method":1}`, code: contract.CodeInvalid, id: "1", text: "method"},
		{name: "list params", frame: `{"jsonrpc":"2.0","id":1,"method":"get_tree","params":[]}`, code: contract.CodeBadParams, id: "1", text: "params"},
		{name: "text params", frame: `{"jsonrpc":"2.0","id":1,"method":"get_tree","params":"x"}`, code: contract.CodeBadParams, id: "1", text: "params"},
		{name: "empty batch", frame: `[]`, code: contract.CodeInvalid, id: "null", text: "batch"},
		{name: "half batch", frame: `[{"jsonrpc":"2.0"`, code: contract.CodeParse, id: "null"},
		{name: "endless batch", frame: "[1" + strings.Repeat(",1", config.MaxRequestsInFlight) + "]", code: contract.CodeOverLimit, id: "null", text: "256"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, batch := parse([]byte(tc.frame))
			if len(got) != 1 || batch {
				t.Fatalf("%d requests, batch %t", len(got), batch)
			}
			p := got[0]
			if string(p.req.ID) != tc.id || p.silent != tc.silent {
				t.Fatalf("id %s silent %t, want %s %t", p.req.ID, p.silent, tc.id, tc.silent)
			}
			if tc.code == 0 {
				if p.fail != nil || p.req.Method != contract.MethodTree || p.req.Params != nil {
					t.Fatalf("%+v", p)
				}
				return
			}
			if p.fail == nil || p.fail.Code != tc.code || !strings.Contains(p.fail.Message, tc.text) {
				t.Fatalf("failure %+v, want code %d naming %q", p.fail, tc.code, tc.text)
			}
		})
	}
}

func TestParse_Batch(t *testing.T) {
	t.Parallel()
	got, batch := parse([]byte(`[{"jsonrpc":"2.0","id":1,"method":"get_tree"}, 5, {"jsonrpc":"2.0","method":"get_tree"}, {"id":"x"}]`))
	if !batch || len(got) != 4 {
		t.Fatalf("%d requests, batch %t", len(got), batch)
	}
	for i, want := range []struct {
		id     string
		code   int
		silent bool
	}{{"1", 0, false}, {"null", contract.CodeInvalid, false}, {"null", 0, true}, {`"x"`, contract.CodeInvalid, false}} {
		code := 0
		if got[i].fail != nil {
			code = got[i].fail.Code
		}
		if string(got[i].req.ID) != want.id || code != want.code || got[i].silent != want.silent {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
}

// A wrong type is named by its field, in JSON's words, and never by its value.
func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ raw, want string }{
		{`{"session_id":5,"title":"x"}`, "session_id: want a string, got number"},
		{`{"session_id":"a","title":{}}`, "title: want a string, got object"},
		{`{"session_id":["a"]}`, "session_id: want a string, got array"},
		{`{"session_id":"a","title":true}`, "title: want a string, got bool"},
	} {
		if _, failure := params[contract.RenameParams](json.RawMessage(tc.raw)); failure == nil || failure.Code != contract.CodeBadParams || failure.Message != tc.want {
			t.Errorf("%s: %+v", tc.raw, failure)
		}
	}
	if _, failure := params[contract.SubscribeParams](json.RawMessage(`{"subjects":"x"}`)); failure == nil || failure.Message != "subjects: want an array, got string" {
		t.Errorf("%+v", failure)
	}
	if _, failure := params[contract.ArchiveParams](json.RawMessage(`{"archived":1}`)); failure == nil || failure.Message != "archived: want true or false, got number" {
		t.Errorf("%+v", failure)
	}
	if _, failure := params[contract.GapParams](json.RawMessage(`{"from":-77}`)); failure == nil || failure.Message != "from: want a number, got number" {
		t.Errorf("%+v", failure)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want uint64
		ok   bool
	}{
		{``, 11, true},
		{`null`, 11, true},
		{`"new"`, 11, true},
		{`"all"`, 0, true},
		{`0`, 0, true},
		{`1`, 1, true},
		{`11`, 11, true},
		{`999`, 999, true},
		{`18446744073709551615`, 1<<64 - 1, true},
		{`18446744073709551616`, 0, false},
		{`-1`, 0, false},
		{`1.5`, 0, false},
		{`"12"`, 0, false},
		{`"old"`, 0, false},
		{`{}`, 0, false},
		{`[]`, 0, false},
		{`true`, 0, false},
		{`x`, 0, false},
	} {
		got, failure := since(json.RawMessage(tc.raw), 10)
		if tc.ok != (failure == nil) || tc.ok && got != tc.want {
			t.Errorf("since(%s) = %d, %v", tc.raw, got, failure)
		}
		if failure != nil && (failure.Code != contract.CodeBadParams || !strings.HasPrefix(failure.Message, "since: ")) {
			t.Errorf("since(%s): %+v", tc.raw, failure)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 79) + "\u00e9" + strings.Repeat("y", 10)
	if got := clip(long); !utf8.ValidString(got) || got != strings.Repeat("x", 79)+"..." {
		t.Fatalf("%q", got)
	}
}

// Whatever comes in, what goes out is one JSON-RPC answer in UTF-8 with an id
// that was sent or null.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"get_tree","params":{}}`, `[{"jsonrpc":"2.0","id":"a","method":"subscribe"},1]`, `[]`, ``,
		`{"jsonrpc":"2.0","id":"\ud800","method":"x"}`, "\xff", `{"id":1e400}`, `{"jsonrpc":"2.0","id": 1 ,"method":"m","params": [1]}`, "\u2028[[[",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		requests, batch := parse(frame)
		if len(requests) == 0 || !batch && len(requests) != 1 {
			t.Fatalf("%d requests, batch %t", len(requests), batch)
		}
		var out [][]byte
		for _, p := range requests {
			if p.fail == nil && (p.req.Method == "" || len(p.req.Params) > 0 && !json.Valid(p.req.Params)) {
				t.Fatalf("passed: %+v", p)
			}
			if p.fail != nil && p.fail.Message == "" {
				t.Fatal("a failure without a sentence")
			}
			out = append(out, answer(p.req.ID, struct{}{}, p.fail))
		}
		joined := joinAnswers(out, batch)
		if !json.Valid(joined) || !utf8.Valid(joined) {
			t.Fatalf("answer %q", joined)
		}
	})
}

func FuzzSince(f *testing.F) {
	for _, s := range []string{`"new"`, `"all"`, `1`, `-1`, `18446744073709551616`, `null`, ``, `"\u006eew"`} {
		f.Add([]byte(s), uint64(7))
	}
	f.Fuzz(func(t *testing.T, raw []byte, head uint64) {
		from, failure := since(raw, head)
		if failure != nil && (failure.Code != contract.CodeBadParams || from != 0) {
			t.Fatalf("%d %+v", from, failure)
		}
	})
}

// Parameters of subscribe: what is accepted holds valid patterns only.
func FuzzSubscribeParams(f *testing.F) {
	for _, s := range []string{`{"subjects":["api-agent.*.c1"],"since":"all"}`, `{"subjects":[">"]}`, `{"subjects":[]}`, `{"subjects":["a..b"]}`, `{"subjects":[1]}`, `{"subjects":["ops.>"],"since":99}`} {
		f.Add([]byte(s))
	}
	d := newDoors(Options{Log: newFakeLog(), BootID: bootID})
	d.node = &fakeNode{}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, failure := params[contract.SubscribeParams](raw)
		if failure != nil {
			if failure.Code != contract.CodeBadParams {
				t.Fatalf("%+v", failure)
			}
			return
		}
		s := d.newSession(contract.ClientOwner, "websocket", "")
		s.cancel(nil)
		defer s.work.Wait()
		follow, _, failure := s.subscribe(p)
		if failure != nil {
			if failure.Code != contract.CodeBadParams || len(s.subs) != 0 {
				t.Fatalf("%+v, %d subscriptions", failure, len(s.subs))
			}
			return
		}
		follow.cursor.Close()
		for _, pattern := range p.Subjects {
			if !contract.ValidPattern(pattern) {
				t.Fatalf("%q was accepted", pattern)
			}
		}
	})
}
