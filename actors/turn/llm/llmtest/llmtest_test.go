package llmtest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// post sends a body as a plain client would and returns the answer.
func post(t *testing.T, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestServers_Strict feeds each server a good request and bad ones: a fake
// that accepted everything would let every transport test pass.
func TestServers_Strict(t *testing.T) {
	t.Parallel()
	const (
		aHead = `{"model":"m","max_tokens":9,"stream":true,"messages":`
		cHead = `{"model":"m","stream":true,"messages":`
		rHead = `{"model":"m","stream":true,"store":false,"max_output_tokens":9,"input":`
		oHead = `{"model":"m","stream":true,"options":{"num_ctx":9,"num_predict":9},"messages":`
		aUse  = `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}}]}`
		cUse  = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"n","arguments":"{}"}}]}`
		rUse  = `{"type":"function_call","call_id":"1","name":"n","arguments":"{}"}`
		oUse  = `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"n","arguments":{}}}]}`
		user  = `{"role":"user","content":"hi"}`
	)
	for _, tc := range []struct{ name, wire, body, want string }{
		{"good", "anthropic", aHead + `[` + user + `]}`, ""},
		{"good round", "anthropic", aHead + `[` + user + `,` + aUse + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}`, ""},
		{"F14 blank text", "anthropic", aHead + `[{"role":"user","content":" "}]}`, "non-whitespace"},
		{"F15 blank block", "anthropic", aHead + `[` + user + `,{"role":"assistant","content":[{"type":"text","text":"\n"}]}]}`, "non-whitespace"},
		{"F16 open call", "anthropic", aHead + `[` + user + `,` + aUse + `]}`, "without tool_result"},
		{"F16 open call, then text", "anthropic", aHead + `[` + user + `,` + aUse + `,` + user + `]}`, "without tool_result"},
		{"stray result", "anthropic", aHead + `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}`, "unexpected tool_use_id"},
		{"F07 arguments", "anthropic", aHead + `[` + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":"{"}]}]}`, "input object"},
		{"assistant first", "anthropic", aHead + `[{"role":"assistant","content":"x"}]}`, "first message"},
		{"unknown key", "anthropic", `{"model":"m","max_tokens":9,"stream":true,"nope":1,"messages":[` + user + `]}`, "nope"},
		{"good", "chat", cHead + `[` + user + `]}`, ""},
		{"good round", "chat", cHead + `[` + user + `,` + cUse + `,{"role":"tool","tool_call_id":"1","content":"x"}]}`, ""},
		{"open call", "chat", cHead + `[` + user + `,` + cUse + `,` + user + `]}`, "followed by tool messages"},
		{"open call at the end", "chat", cHead + `[` + user + `,` + cUse + `]}`, "not all answered"},
		{"blank result", "chat", cHead + `[` + user + `,` + cUse + `,{"role":"tool","tool_call_id":"1","content":""}]}`, "blank"},
		{"arguments", "chat", cHead + `[` + user + `,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"n","arguments":"{"}}]}]}`, "JSON object"},
		{"empty assistant", "chat", cHead + `[` + user + `,{"role":"assistant","content":null}]}`, "content or tool_calls"},
		{"good", "responses", rHead + `[` + user + `,` + rUse + `,{"type":"function_call_output","call_id":"1","output":"x"}]}`, ""},
		{"open call", "responses", rHead + `[` + user + `,` + rUse + `]}`, "No tool output found"},
		{"stray output", "responses", rHead + `[{"type":"function_call_output","call_id":"1","output":"x"}]}`, "No tool call found"},
		{"stored", "responses", `{"model":"m","stream":true,"max_output_tokens":9,"input":[` + user + `]}`, "store"},
		{"good", "ollama", oHead + `[` + user + `,` + oUse + `,{"role":"tool","content":"x","tool_name":"n"}]}`, ""},
		{"open call", "ollama", oHead + `[` + user + `,` + oUse + `]}`, "not all answered"},
		{"result without a name", "ollama", oHead + `[` + user + `,` + oUse + `,{"role":"tool","content":"x"}]}`, "tool_name"},
		{"image with prefix", "ollama", oHead + `[{"role":"user","content":"x","images":["data:image/png;base64,xx"]}]}`, "bare base64"},
	} {
		t.Run(tc.wire+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			var s *Server
			path := ""
			switch tc.wire {
			case "anthropic":
				s, path = NewAnthropic(t, Say("ok")), "/v1/messages"
			case "chat":
				s, path = NewChat(t, Say("ok")), "/v1/chat/completions"
			case "responses":
				s, path = NewResponses(t, Say("ok")), "/v1/responses"
			case "ollama":
				s, path = NewOllama(t, OllamaModel{Name: "m"}, Say("ok")), "/api/chat"
			}
			header := []string{"Authorization", "Bearer k", "X-Api-Key", "k", "Anthropic-Version", "2023-06-01"}
			if tc.wire == "ollama" {
				header = nil
			}
			if tc.want != "" {
				s.TolerateProblems()
			}
			status, body := post(t, s.URL+path, tc.body, header...)
			if tc.want == "" {
				if status != http.StatusOK || !strings.Contains(body, `"ok"`) {
					t.Errorf("%d %s; want the turn", status, body)
				}
				return
			}
			if status != http.StatusBadRequest || !strings.Contains(body, tc.want) {
				t.Errorf("%d %s; want 400 with %q", status, body, tc.want)
			}
			if p := s.Problems(); len(p) != 1 {
				t.Errorf("problems %q; want one", p)
			}
		})
	}
}

// TestServer_Script covers the order of turns, the end of the script, and a
// choice by request.
func TestServer_Script(t *testing.T) {
	t.Parallel()
	s := NewKeylessChat(t, Say("one")).Then(Turn{Status: 503, Body: "later"}).TolerateProblems()
	const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	for i, want := range []struct {
		status int
		part   string
	}{{200, "one"}, {503, "later"}, {400, "no turn left"}} {
		if status, got := post(t, s.URL+"/v1/chat/completions", body); status != want.status || !strings.Contains(got, want.part) {
			t.Errorf("request %d: %d %s; want %d %s", i, status, got, want.status, want.part)
		}
	}
	s.Choose(func(r Recorded) Turn { return Say("chosen") })
	if _, got := post(t, s.URL+"/v1/chat/completions", body); !strings.Contains(got, "chosen") {
		t.Errorf("%s; want the chosen turn", got)
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests recorded; want 4", n)
	}
}

// TestServer_RawBytes covers raw streams in small writes.
func TestServer_RawBytes(t *testing.T) {
	t.Parallel()
	raw := ": x\n\ndata: [DONE]\n\n"
	s := NewKeylessChat(t, Turn{Raw: []byte(raw), Writes: 3})
	if _, got := post(t, s.URL+"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`); got != raw {
		t.Errorf("%q; want %q", got, raw)
	}
}
