package llmtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
)

// One address answers each of the three wires in its own form, streamed or
// whole, with a call, and refuses in a form that all three read.
func TestAny(t *testing.T) {
	t.Parallel()
	call := loopback.Turn{Text: []string{"see"}, Calls: []loopback.Call{{ID: "c1", Name: "look", Arguments: `{"at":"x"}`}}}
	for _, tc := range []struct{ path, stream, whole string }{
		{"/v1/chat/completions", `"tool_calls":[`, `"content":"see"`},
		{"/chat/completions", `"tool_calls":[`, `"content":"see"`},
		{"/v1/responses", `"type":"function_call"`, `"text":"see"`},
		{"/v1/messages", `"type":"tool_use"`, `"text":"see"`},
	} {
		t.Run(strings.ReplaceAll(tc.path[1:], "/", "_"), func(t *testing.T) {
			t.Parallel()
			s := loopback.NewAny("a-model")
			t.Cleanup(s.Close)
			s.Choose(func(r Recorded) Turn {
				if strings.Contains(string(r.Body), "refuse") {
					return Turn{Status: http.StatusForbidden, Error: "no more", ErrorType: "permission_error"}
				}
				return call
			})
			if status, body := post(t, s.URL+tc.path, `{"model":"m","stream":true}`); status != http.StatusOK || !strings.Contains(body, tc.stream) {
				t.Errorf("streamed: %d %s", status, body)
			}
			if status, body := post(t, s.URL+tc.path, `{"model":"m"}`); status != http.StatusOK || !strings.Contains(body, tc.whole) {
				t.Errorf("whole: %d %s", status, body)
			}
			for _, form := range []string{`{"model":"refuse"}`, `{"model":"refuse","stream":true}`} {
				if status, body := post(t, s.URL+tc.path, form); status != http.StatusForbidden || !strings.Contains(body, `"message":"no more"`) {
					t.Errorf("refused: %d %s", status, body)
				}
			}
			res, err := http.Get(s.URL + "/v1/models")
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != http.StatusOK {
				t.Errorf("models: %d", res.StatusCode)
			}
			_ = res.Body.Close()
			if p := s.Problems(); len(p) != 0 {
				t.Errorf("problems %q", p)
			}
			if n := len(s.Requests()); n != 4 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
