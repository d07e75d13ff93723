package llm

import (
	"errors"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		f    func(string) (string, error)
		in   string
		want string
		err  string
	}{
		{"anthropic root", NormaliseAnthropic, " https://Proxy.Example/a/ ", "https://proxy.example/a", ""},
		{"anthropic with v1", NormaliseAnthropic, "https://x.example/v1/messages", "https://x.example", ""},
		{"openai without a path", NormaliseOpenAI, "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", ""},
		{"openai with a path", NormaliseOpenAI, "https://x.example/openai/v1/", "https://x.example/openai/v1", ""},
		{"openrouter without a path", NormaliseOpenRouter, "http://localhost:1", "http://localhost:1/api/v1", ""},
		{"minimax v1 appended", NormaliseMiniMax, "https://api.minimaxi.com", "https://api.minimaxi.com/v1", ""},
		{"minimax v1 kept", NormaliseMiniMax, "https://api.minimaxi.com/v1/", "https://api.minimaxi.com/v1", ""},
		{"ollama tags", NormaliseOllama, "http://box:11434/api/tags", "http://box:11434", ""},
		{"ollama v1", NormaliseOllama, "http://box:11434/v1/", "http://box:11434", ""},
		{"ollama far away in the clear", NormaliseOllama, "http://ollama.example", "http://ollama.example", ""},
		{"custom keeps its path", NormaliseCustom, "https://x.example/some/Path/v7", "https://x.example/some/Path/v7", ""},
		{"custom on the network", NormaliseCustom, "http://192.168.1.5:8000/v1", "http://192.168.1.5:8000/v1", ""},
		{"custom on IPv6 loopback", NormaliseCustom, "http://[::1]:8000", "http://[::1]:8000", ""},
		{"custom by local name", NormaliseCustom, "http://nas.local/v1", "http://nas.local/v1", ""},
		{"custom in the clear", NormaliseCustom, "http://x.example/v1", "", "plain http"},
		{"custom in the clear by address", NormaliseCustom, "http://8.8.8.8/v1", "", "plain http"},
		{"minimax in the clear", NormaliseMiniMax, "http://api.minimax.io", "", "plain http"},
		{"a name that looks private", NormaliseCustom, "http://10.0.0.1.example/v1", "", "plain http"},
		{"credentials", NormaliseCustom, "https://user:hunter2@x.example/v1", "", "user name or password"},
		{"query", NormaliseOpenAI, "https://x.example/v1?key=hunter2", "", "query"},
		{"bare question mark", NormaliseOpenAI, "https://x.example/v1?", "", "query"},
		{"fragment", NormaliseOpenAI, "https://x.example/v1#hunter2", "", "fragment"},
		{"other scheme", NormaliseCustom, "file:///etc/hunter2", "", "http"},
		{"no scheme", NormaliseCustom, "x.example/v1", "", "http"},
		{"no host", NormaliseCustom, "https:///v1", "", "no host"},
		{"no URL", NormaliseCustom, "http://[hunter2", "", "no URL"},
		{"keep alive", NormaliseKeepAlive, " 5m ", "5m", ""},
		{"keep alive for ever", NormaliseKeepAlive, "-1", "-1", ""},
		{"keep alive without unit", NormaliseKeepAlive, "30", "", "no duration"},
		{"keep alive compound", NormaliseKeepAlive, "1h30m", "", "no duration"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.f(tc.in)
			if got != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%q, %v; want %q, %q", got, err, tc.want, tc.err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the text repeats a secret: %v", err)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

	s, err := Resolve(Saved{}, env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.AnthropicURL != DefaultAnthropicURL || s.OllamaURL != DefaultOllamaURL || s.CustomURL != "" ||
		s.OllamaNumCtxCap != 16384 || s.OllamaKeepAlive != "30m" || s.DemoDelay != DefaultDemoDelay {
		t.Errorf("defaults %+v", s)
	}

	s, err = Resolve(Saved{
		OllamaBaseURL: "http://saved:1", OllamaNumCtxCap: 100, CustomCompatModels: []string{" a ", "", "b"},
		Named: map[string]string{"openai": "https://saved.example/v1"},
	}, env(map[string]string{
		EnvOllamaURL: "http://env:2", EnvOpenAIURL: "https://env.example/v1", EnvAnthropicURL: "http://127.0.0.1:9",
		EnvMiniMaxURL: "https://m.example", EnvCustomURL: "http://localhost:3/v1", EnvOpenRouterURL: "http://127.0.0.1:4/x",
		EnvOllamaKeepAlive: "1h", EnvOllamaNumCtxCap: "4096",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, got, want string }{
		{"saved beats env", s.OllamaURL, "http://saved:1"},
		{"saved beats env, named", s.OpenAIURL, "https://saved.example/v1"},
		{"env beats default", s.AnthropicURL, "http://127.0.0.1:9"},
		{"minimax", s.MiniMaxURL, "https://m.example/v1"},
		{"custom", s.CustomURL, "http://localhost:3/v1"},
		{"openrouter", s.OpenRouterURL, "http://127.0.0.1:4/x"},
		{"keep alive", s.OllamaKeepAlive, "1h"},
		{"models", strings.Join(s.CustomModels, ","), "a,b"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q; want %q", tc.name, tc.got, tc.want)
		}
	}
	if s.OllamaNumCtxCap != MinOllamaNumCtxCap {
		t.Errorf("cap %d; want the floor %d", s.OllamaNumCtxCap, MinOllamaNumCtxCap)
	}
}

// TestResolve_BadValueCostsItsOwnProvider says that one bad line leaves the
// other providers alone.
func TestResolve_BadValueCostsItsOwnProvider(t *testing.T) {
	t.Parallel()
	s, err := Resolve(Saved{MiniMaxBaseURL: "ftp://x", OllamaKeepAlive: "soon"}, func(string) string { return "" })
	var bad *SettingError
	if !errors.As(err, &bad) || bad.Setting != "minimax_base_url" {
		t.Fatalf("%v; want a SettingError of minimax_base_url", err)
	}
	for id, wantErr := range map[contract.ProviderID]bool{
		contract.ProviderMiniMax: true, contract.ProviderMiniMaxAPI: true, contract.ProviderOllama: true,
		contract.ProviderAnthropic: false, contract.ProviderDemo: false,
	} {
		if _, err := New(id, s, nil); (err != nil) != wantErr {
			t.Errorf("New(%s): %v; want an error: %t", id, err, wantErr)
		}
	}
}

// TestRefused: the reason of a refused value names where it came from and the
// remedy that fits.
func TestRefused(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{EnvCustomURL: "foo", EnvOllamaURL: "box:11434", EnvOllamaKeepAlive: "soon"}[name]
	}
	s, _ := Resolve(Saved{MiniMaxBaseURL: "http://example.com/v1"}, env)
	for id, want := range map[contract.ProviderID][]string{
		contract.ProviderCustom:    {EnvCustomURL, "http:// or https://", "environment variable"},
		contract.ProviderOllama:    {EnvOllamaURL, "http:// or https://"},
		contract.ProviderMiniMax:   {"minimax_base_url", "write https for example.com", "Change it in Settings > Providers."},
		contract.ProviderAnthropic: nil,
	} {
		err := s.Refused(id)
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v", id, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: no %q in %q", id, part, err)
			}
		}
	}
	if err := (Settings{}).Refused(contract.ProviderCustom); err != nil {
		t.Errorf("the zero value refuses: %v", err)
	}
}

// TestNew covers every advertised id and the near misses of runtime.md 1.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, id := range contract.InProcessProviders() {
		p, err := New(id, Settings{CustomURL: "http://localhost:1"}, nil)
		if err != nil || p.ID() != id {
			t.Errorf("New(%s): %v", id, err)
		}
	}
	for _, id := range []contract.ProviderID{"claude", "api-claude", "claude-oauth", "openai-codex", "api-openai", ""} {
		_, err := New(id, Settings{}, nil)
		if !errors.Is(err, contract.ErrUnknownProvider) {
			t.Fatalf("New(%q): %v", id, err)
		}
		for _, want := range []string{`"` + string(id) + `"`, "anthropic", "minimax-api", "demo"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("New(%q): %v does not name %s", id, err, want)
			}
		}
	}
	if _, err := New(contract.ProviderCustom, Settings{}, nil); !errors.Is(err, ErrNoCustomURL) {
		t.Errorf("custom without a URL: %v", err)
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	req := Request{
		System: "\u00e9\u00e9\u00e9\u00e9",
		Messages: []Message{
			{Role: RoleUser, Blocks: []Block{{Type: BlockText, Text: "12345678"}, {Type: BlockImage, Data: strings.Repeat("x", 1000)}}},
			{Role: RoleTool, Blocks: []Block{{Type: BlockToolResult, Content: "1234"}}},
		},
		Attachments: []Image{{Data: strings.Repeat("x", 1000)}},
	}
	if got := Estimate(req); got != 4 {
		t.Errorf("%d; want 4 tokens, images excluded", got)
	}
}
