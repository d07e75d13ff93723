//go:build engines && unix

package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

// The variables that name the real engines; testdata/ENGINES.md says how they
// are installed. This ring has its own tag, since it needs Node and 180 MB.
const (
	envExampleAgent = "PACKETBENCH_TEST_ACP_EXAMPLE" // agent.js of the SDK's example.
	envOpenCode     = "PACKETBENCH_TEST_OPENCODE"    // The opencode program.
)

func needs(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: see testdata/ENGINES.md", variable)
	}
	return path
}

// The example agent of @agentclientprotocol/sdk: a turn with two tools and a
// permission, allowed, denied and cancelled.
func TestEngines_ExampleAgent(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	sh.real = true
	sh.e.spec = Spec{Name: "example", Command: "node", Args: []string{needs(t, envExampleAgent)}}
	sh.begin("c-1", "t-1", "Hello")
	sh.give(answer{"c-1", sh.asked(1), contract.AllowOnce})
	got := sh.turn("c-1", "t-1")
	for _, want := range []string{"tool-start {\"id\":\"call_1\"", "tool-result {\"id\":\"call_1\"", "tool-result {\"id\":\"call_2\"", doneLine} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s in\n%s", want, got)
		}
	}
	sh.send("c-1", "t-2", "Hello")
	sh.give(answer{"c-1", sh.asked(2), contract.Deny})
	if got := sh.turn("c-1", "t-2"); strings.Contains(got, "tool-result {\"id\":\"call_2\"") || !strings.HasSuffix(got, doneLine) {
		t.Errorf("denied:\n%s", got)
	}
	sh.send("c-1", "t-3", "Hello")
	sh.until("its text", func(seen []effect) bool { return pick[emit](seen)[len(pick[emit](seen))-1].turn == "t-3" })
	sh.give(cancel{"c-1", "t-3"})
	if got := sh.turn("c-1", "t-3"); !strings.HasSuffix(got, stopLine) {
		t.Errorf("cancelled:\n%s", got)
	}
}

// opencode with a provider of its own on loopback.
func TestEngines_OpenCode(t *testing.T) {
	t.Parallel()
	program := needs(t, envOpenCode)
	provider := httptest.NewServer(http.HandlerFunc(completions))
	t.Cleanup(provider.Close)
	home := t.TempDir()
	settings, err := json.Marshal(map[string]any{
		"provider": map[string]any{"fakeai": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "FakeAI",
			"options": map[string]any{"baseURL": provider.URL + "/v1", "apiKey": "none"},
			"models":  map[string]any{"fake-model": map[string]any{"name": "Fake"}},
		}},
		"model": "fakeai/fake-model", "small_model": "fakeai/fake-model", "enabled_providers": []string{"fakeai"},
		"permission": map[string]any{"bash": "ask", "edit": "ask"}, "autoupdate": false, "share": "disabled",
	})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "OPENCODE_CONFIG_CONTENT": string(settings), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		env[name] = filepath.Join(home, strings.ToLower(name))
	}
	sh := launch(t)
	sh.real = true
	sh.e.spec = Spec{Name: "opencode", Command: program, Args: []string{"acp"}, Env: env}
	sh.begin("c-1", "t-1", "Say hello")
	if got := sh.turn("c-1", "t-1"); !strings.Contains(got, `chunk "Hello `) || !strings.HasSuffix(got, doneLine) {
		t.Errorf("hello:\n%s", got)
	}
	sh.send("c-1", "t-2", "RUN_SHELL please")
	sh.give(answer{"c-1", sh.asked(1), contract.AllowOnce})
	if got := sh.turn("c-1", "t-2"); !strings.Contains(got, "hello-from-tool") || !strings.Contains(got, `"is_error":false`) || !strings.HasSuffix(got, doneLine) {
		t.Errorf("tool:\n%s", got)
	}
	sh.send("c-1", "t-3", "RUN_SHELL please")
	sh.give(answer{"c-1", sh.asked(2), contract.Deny})
	if got := sh.turn("c-1", "t-3"); !strings.Contains(got, `"is_error":true`) {
		t.Errorf("denied:\n%s", got)
	}
	for _, x := range pick[notice](sh.effects()) {
		t.Log(x.text)
	}
	// Its death, and its own store.
	first := sh.pid()
	sh.talk.Kill()
	sh.until("the death", func(seen []effect) bool { return len(pick[died](seen)) == 1 })
	sh.send("c-1", "t-4", "Say hello")
	if got := sh.turn("c-1", "t-4"); !strings.Contains(got, `chunk "Hello `) || sh.pid() == first || len(pick[notice](sh.effects())) != 0 {
		t.Errorf("found again:\n%s", got)
	}
}

// completions is a provider that knows three answers.
func completions(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Stream   bool              `json:"stream"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	last := string(body.Messages[len(body.Messages)-1])
	var deltas []string
	finish := "stop"
	switch {
	case strings.Contains(last, `"role":"tool"`):
		deltas = []string{`{"content":"The tool finished. "}`}
	case strings.Contains(last, "RUN_SHELL"):
		finish = "tool_calls"
		deltas = []string{`{"tool_calls":[{"index":0,"id":"call_` + fmt.Sprint(len(body.Messages)) + `","type":"function","function":{"name":"bash","arguments":"{\"command\":\"echo hello-from-tool\",\"description\":\"greet\"}"}}]}`}
	default:
		deltas = []string{`{"content":"Hello "}`, `{"content":"there. "}`}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := bufio.NewWriter(w)
	defer out.Flush()
	for _, d := range append([]string{`{"role":"assistant"}`}, deltas...) {
		fmt.Fprintf(out, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"fake-model\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", d)
	}
	fmt.Fprintf(out, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"fake-model\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"total_tokens\":107}}\n\ndata: [DONE]\n\n", finish)
}
