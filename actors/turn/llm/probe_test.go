package llm

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

func TestBadge(t *testing.T) {
	t.Parallel()
	now := noon
	ring := KeyState{Present: true, Source: "keyring"}
	for _, tc := range []struct {
		name   string
		probe  contract.AuthProbe
		in     BadgeInput
		status contract.BadgeStatus
		hint   string
		source string
	}{
		{name: "key from the keyring", probe: "anthropic", in: BadgeInput{Key: ring}, status: "ready", source: "keyring"},
		{name: "key from the file", probe: "openai", in: BadgeInput{Key: KeyState{Present: true, Source: "encrypted file"}}, status: "ready", source: "encrypted file"},
		{name: "key from the environment", probe: "openrouter", in: BadgeInput{Key: KeyState{Present: true, Source: "environment variable OPENROUTER_API_KEY"}}, status: "ready", source: "environment variable OPENROUTER_API_KEY"},
		{name: "no key, anthropic", probe: "anthropic", status: "missing_key", hint: "No API key configured for Anthropic. Set one in Settings > API Keys."},
		{name: "no key, openai", probe: "openai", status: "missing_key", hint: "No API key configured for OpenAI. Set one in Settings > API Keys."},
		{name: "no key, agents", probe: "openai-agents", status: "missing_key", hint: "No API key configured for OpenAI. Set one in Settings > API Keys."},
		{name: "no key, minimax", probe: "minimax", status: "missing_key", hint: "No API key configured for MiniMax. Set one in Settings > API Keys."},
		{name: "no key, minimax-api", probe: "minimax-api", status: "missing_key", hint: "No API key configured for MiniMax API. Set one in Settings > API Keys."},
		{name: "no key, openrouter", probe: "openrouter", status: "missing_key", hint: "No API key configured for OpenRouter. Set one in Settings > API Keys."},
		{name: "a store that fails is not an absent key", probe: "anthropic", in: BadgeInput{Key: KeyState{Problem: "The OS keyring is not available: it is locked."}}, status: "service_down", hint: "The OS keyring is not available: it is locked."},
		{name: "agents", probe: "openai-agents", in: BadgeInput{Key: ring}, status: "ready", source: "keyring"},

		{name: "ollama up", probe: "ollama", in: BadgeInput{BaseURL: "http://localhost:11434"}, status: "ready"},
		{name: "ollama down", probe: "ollama", in: BadgeInput{BaseURL: "http://localhost:11434", Ollama: errors.New("refused")}, status: "service_down", hint: "Ollama does not answer at http://localhost:11434. Start Ollama, or correct its address in Settings > Providers."},
		{name: "ollama behind a login", probe: "ollama", in: BadgeInput{BaseURL: "http://me:pass@box:1/x?token=pass", Ollama: errors.New("refused")}, status: "service_down", hint: "Ollama does not answer at http://box:1/x. Start Ollama, or correct its address in Settings > Providers."},

		{name: "custom without a URL", probe: "custom", in: BadgeInput{Key: ring}, status: "missing_key", hint: "No base URL is set for the custom endpoint. Set one in Settings > Providers."},
		{name: "custom without a key", probe: "custom", in: BadgeInput{BaseURL: "http://127.0.0.1:8080/v1"}, status: "ready", hint: "http://127.0.0.1:8080/v1, without a key"},
		{name: "custom with a key", probe: "custom", in: BadgeInput{BaseURL: "https://box/v1", Key: ring}, status: "ready", hint: "https://box/v1, with a key", source: "keyring"},
		{name: "custom, store fails", probe: "custom", in: BadgeInput{BaseURL: "https://box/v1", Key: KeyState{Problem: "The OS keyring is not available: it is locked."}}, status: "ready", hint: "https://box/v1, without a key: The OS keyring is not available: it is locked."},

		{name: "custom, URL refused", probe: "custom", in: BadgeInput{Key: ring, Refused: errors.New("No URL.")}, status: "missing_key", hint: "No URL."},
		{name: "ollama, URL refused", probe: "ollama", in: BadgeInput{Refused: errors.New("No URL."), Ollama: errors.New("refused")}, status: "service_down", hint: "No URL."},
		{name: "a key, URL refused", probe: "openai", in: BadgeInput{Key: ring, Refused: errors.New("No URL.")}, status: "service_down", hint: "No URL."},

		{name: "demo", probe: "demo", in: BadgeInput{Sidecar: SidecarState{State: "down"}}, status: "ready"},

		{name: "engine", probe: "acp-mine", in: BadgeInput{Engine: EngineState{Command: "mine", Found: true}}, status: "ready"},
		{name: "engine missing", probe: "acp-mine", in: BadgeInput{Engine: EngineState{Command: "mine"}}, status: "missing_key", hint: "mine was not found. Fix the engine in Settings > Providers."},
		{name: "engine down", probe: "acp-mine", in: BadgeInput{Engine: EngineState{Command: "mine", Found: true, Down: true, Stderr: " no license\n"}}, status: "service_down", hint: "no license"},
		{name: "engine down in silence", probe: "acp-mine", in: BadgeInput{Engine: EngineState{Command: "mine", Found: true, Down: true}}, status: "service_down", hint: "mine stopped without a message. Start it in a terminal to see why, then fix the engine in Settings > Providers."},
		{name: "engine needs no version", probe: "acp-mine", in: BadgeInput{Engine: EngineState{Command: "mine", Found: true, Compatible: false}}, status: "ready"},

		{name: "packetcode", probe: "packetcode-acp", in: BadgeInput{Engine: EngineState{Found: true, Version: "0.5.1", Compatible: true}}, status: "ready"},
		{name: "packetcode missing", probe: "packetcode-acp", status: "missing_key", hint: "packetcode engine not found. Install it or pin its path in Settings > Providers."},
		{name: "packetcode too old", probe: "packetcode-acp", in: BadgeInput{Engine: EngineState{Found: true, Version: "0.0.9", Minimum: "0.1.0"}}, status: "service_down", hint: "packetcode 0.0.9 is too old; 0.1.0 or newer is needed."},
		{name: "packetcode without a version", probe: "packetcode-acp", in: BadgeInput{Engine: EngineState{Found: true}}, status: "service_down", hint: "The packetcode engine did not report a version."},
		{name: "packetcode hangs", probe: "packetcode-acp", in: BadgeInput{Engine: EngineState{Found: true, Detail: "doctor --json timed out"}}, status: "service_down", hint: "doctor --json timed out"},
		{name: "packetcode does not run", probe: "packetcode-acp", in: BadgeInput{Engine: EngineState{Detail: "could not run packetcode: permission denied"}}, status: "service_down", hint: "could not run packetcode: permission denied"},
		{name: "packetcode spent its budget", probe: "packetcode-acp", in: BadgeInput{Engine: EngineState{Found: true, Version: "1", Compatible: true, Down: true, Stderr: "panic"}}, status: "service_down", hint: "panic"},

		{name: "login", probe: "claude-oauth", in: BadgeInput{Login: LoginState{Present: true}, Now: now}, status: "ready"},
		{name: "login for long", probe: "claude-oauth", in: BadgeInput{Login: LoginState{Present: true, ExpiresAt: now.Add(73 * time.Hour)}, Now: now}, status: "ready"},
		{name: "login for days", probe: "claude-oauth", in: BadgeInput{Login: LoginState{Present: true, ExpiresAt: now.Add(72 * time.Hour)}, Now: now}, status: "ready", hint: "Expires in 3 days"},
		{name: "login for hours", probe: "openai-codex", in: BadgeInput{Login: LoginState{Present: true, ExpiresAt: now.Add(90 * time.Minute)}, Now: now}, status: "ready", hint: "Expires in 1 hour"},
		{name: "login for minutes", probe: "openai-codex", in: BadgeInput{Login: LoginState{Present: true, ExpiresAt: now.Add(20 * time.Second)}, Now: now}, status: "ready", hint: "Expires in 1 minute"},
		{name: "login renews itself", probe: "claude-oauth", in: BadgeInput{Login: LoginState{Present: true, ExpiresAt: now.Add(-time.Hour), Refreshable: true}, Now: now}, status: "ready"},
		{name: "login over", probe: "claude-oauth", in: BadgeInput{Login: LoginState{Present: true, ExpiresAt: now}, Now: now}, status: "login_required", hint: "The login has expired. Run `claude` in a terminal and log in."},
		{name: "no login", probe: "openai-codex", in: BadgeInput{Now: now}, status: "login_required", hint: "Not logged in. Run `codex login` in a terminal."},
		{name: "login unreadable", probe: "claude-oauth", in: BadgeInput{Login: LoginState{Unreadable: "The directory cannot be read."}, Now: now}, status: "unknown", hint: "The directory cannot be read."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Badge(tc.probe, tc.in)
			want := contract.Badge{Status: tc.status, Hint: tc.hint, Source: tc.source}
			if err != nil || got != want {
				t.Fatalf("Badge(%q) = %+v, %v; want %+v", tc.probe, got, err, want)
			}
		})
	}
}

func TestBadge_UnknownProbe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00fc", 500)
	for _, tc := range []struct {
		probe contract.AuthProbe
		want  string
	}{
		{"api-claude", "Unknown provider 'api-claude'"},
		{"claude", "Unknown provider 'claude'"},
		{"echo", "Unknown provider 'echo'"},
		{"acp-Bad_Name", "Unknown provider 'acp-Bad_Name'"},
		{"", "Unknown provider ''"},
		{contract.AuthProbe(long), "Unknown provider '" + strings.Repeat("\u00fc", maxProbeIDRunes) + "'"},
	} {
		_, err := Badge(tc.probe, BadgeInput{Key: KeyState{Present: true}})
		var unknown *UnknownProbeError
		if !errors.As(err, &unknown) || unknown.Probe != tc.probe || err.Error() != tc.want {
			t.Errorf("Badge(%q) fails with %v, want %s", tc.probe, err, tc.want)
		}
	}
}

func TestRowBadge_SidecarRowsAreDownWithIt(t *testing.T) {
	t.Parallel()
	row := func(id contract.RowID) contract.Row {
		r, err := contract.RowByID(id)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	key := KeyState{Present: true, Source: "keyring"}
	for _, tc := range []struct {
		name    string
		row     contract.RowID
		key     KeyState
		sidecar SidecarState
		status  contract.BadgeStatus
		hint    string
	}{
		{name: "ready", row: "api-claude-oauth", key: key, sidecar: SidecarState{State: "ready"}, status: "ready"},
		{name: "not started is no fault", row: "api-claude-oauth", key: key, sidecar: SidecarState{State: "not_started"}, status: "ready"},
		{name: "restarting is no fault", row: "api-openai-agents", key: key, sidecar: SidecarState{State: "restarting", LastError: "x"}, status: "ready"},
		{name: "down", row: "api-claude-oauth", key: key, sidecar: SidecarState{State: "down", LastError: "node was not found"}, status: "service_down", hint: "node was not found"},
		{name: "incompatible", row: "api-openai-agents", key: key, sidecar: SidecarState{State: "incompatible", LastError: "protocol 9"}, status: "service_down", hint: "protocol 9"},
		{name: "down without a reason", row: "api-openai-agents", key: key, sidecar: SidecarState{State: "down"}, status: "service_down", hint: "The sidecar is down. See the Operations page for the reason."},
		{name: "down and no key", row: "api-claude-oauth", sidecar: SidecarState{State: "down", LastError: "gone"}, status: "service_down", hint: "gone"},
		{name: "same probe, own loop", row: "api-claude", key: key, sidecar: SidecarState{State: "down", LastError: "gone"}, status: "ready"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := RowBadge(row(tc.row), BadgeInput{Key: tc.key, Sidecar: tc.sidecar})
			if err != nil || got.Status != tc.status || got.Hint != tc.hint {
				t.Fatalf("RowBadge = %+v, %v; want %s %q", got, err, tc.status, tc.hint)
			}
		})
	}
}

// TestRowBadge_EveryRowHasOne fails when a row gets a probe nobody answers.
func TestRowBadge_EveryRowHasOne(t *testing.T) {
	t.Parallel()
	for _, row := range append([]contract.Row{contract.EngineRow("mine", "Mine")}, contract.Rows...) {
		if _, err := RowBadge(row, BadgeInput{}); err != nil {
			t.Errorf("%s: %v", row.ID, err)
		}
	}
}

// ollama starts a daemon that answers with handler.
func ollama(t *testing.T, handler http.HandlerFunc) (*http.Client, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Client(), server.URL
}

func TestOllamaModels(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   string
		fails  string
	}{
		{name: "two", body: `{"models":[{"name":"qwen3:32b","model":"qwen3:32b","size":1},{"model":"llama3"},{"name":"qwen3:32b"},{}]}`, want: "qwen3:32b llama3"},
		{name: "none is an answer", body: `{"models":[]}`},
		{name: "null is none", body: `{"models":null}`},
		{name: "another program", body: `<html>`, fails: "not a list of models"},
		{name: "another JSON program", body: `{"status":"ok"}`, fails: "not a list of models"},
		{name: "models of another kind", body: `{"models":"many"}`, fails: "not a list of models"},
		{name: "cut off", body: `{"models":[`, fails: "not a list of models"},
		{name: "endless", body: `{"models":[]}` + strings.Repeat(" ", maxOllamaTagsBytes), fails: "not a list of models"},
		{name: "error status", status: 500, body: `{"models":[]}`, fails: "status 500"},
		{name: "redirect", status: 302, fails: "status 302"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			client, base := ollama(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/api/tags" {
					t.Errorf("asked with %s %s", r.Method, r.URL.Path)
				}
				if tc.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				if tc.status != 0 {
					w.WriteHeader(tc.status)
				}
				_, _ = w.Write([]byte(tc.body))
			})
			got, err := OllamaModels(context.Background(), client, base+"/")
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) || got != nil {
					t.Fatalf("OllamaModels = %v, %v; want an error with %q", got, err, tc.fails)
				}
				return
			}
			var ids []string
			for _, m := range got {
				ids = append(ids, m.Value)
				if m.Label != m.Value || m.Pricing == nil || *m.Pricing != (contract.Pricing{}) || m.ContextWindow != 0 {
					t.Errorf("model %+v", m)
				}
			}
			if err != nil || got == nil || strings.Join(ids, " ") != tc.want {
				t.Fatalf("OllamaModels = %q (nil %v), %v; want %q", ids, got == nil, err, tc.want)
			}
		})
	}
}

func TestProbeOllama_Unreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	client, base := server.Client(), server.URL
	server.Close()
	secret := strings.Replace(base, "http://", "http://me:hunter2@", 1)
	for _, at := range []string{secret, "http://me:hunter2@%zz", "://"} {
		err := ProbeOllama(context.Background(), client, at)
		if err == nil {
			t.Fatalf("%s answers", at)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// TestProbeOllama_Silent: a daemon that accepts and says nothing must not hold
// up the picker.
func TestProbeOllama_Silent(t *testing.T) {
	t.Parallel()
	client, base := ollama(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	err := ProbeOllama(context.Background(), client, base)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("ProbeOllama = %v, want a deadline", err)
	}
}

func TestProbeOllama_Cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	client, base := ollama(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if err := ProbeOllama(ctx, client, base); !errors.Is(err, context.Canceled) {
		t.Fatalf("ProbeOllama = %v, want the cancellation", err)
	}
}

// FuzzDecodeOllamaTags: whatever listens on the port, the answer is a list or
// an error.
func FuzzDecodeOllamaTags(f *testing.F) {
	f.Add([]byte(`{"models":[{"name":"a","model":"b"}]}`))
	f.Add([]byte(`{"models":null}`))
	f.Add([]byte(`{"Models":[]}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		models, err := decodeOllamaTags(body)
		if (err == nil) != (models != nil) {
			t.Fatalf("%v with %v", models, err)
		}
		for _, m := range models {
			if m.Value == "" {
				t.Fatal("a model without an id")
			}
		}
	})
}
