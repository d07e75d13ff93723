package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Where the providers live unless told otherwise. Source: runtime.md 3.
const (
	DefaultAnthropicURL  = "https://api.anthropic.com"
	DefaultOpenAIURL     = "https://api.openai.com/v1"
	DefaultOpenRouterURL = "https://openrouter.ai/api/v1"
	DefaultMiniMaxURL    = "https://api.minimax.io/v1"
	DefaultOllamaURL     = "http://localhost:11434"
)

// The environment variables that Resolve reads, besides the file. Source:
// interface.md decision 21 and runtime.md 3; the last two names are ours.
const (
	EnvAnthropicURL    = "PACKETBENCH_ANTHROPIC_URL"
	EnvOpenAIURL       = "PACKETBENCH_OPENAI_URL"
	EnvOpenRouterURL   = "PACKETBENCH_OPENROUTER_URL"
	EnvMiniMaxURL      = "PACKETBENCH_MINIMAX_URL"
	EnvOllamaURL       = "PACKETBENCH_OLLAMA_URL"
	EnvCustomURL       = "PACKETBENCH_CUSTOM_COMPAT_URL"
	EnvOllamaNumCtxCap = "PACKETBENCH_OLLAMA_NUM_CTX_CAP"
	EnvOllamaKeepAlive = "PACKETBENCH_OLLAMA_KEEP_ALIVE"
)

// Ollama's window and stay in memory. Source: runtime.md 3; windows in tokens.
const (
	DefaultOllamaNumCtxCap = 16384
	MinOllamaNumCtxCap     = 2048
	DefaultOllamaKeepAlive = "30m"
)

// DefaultDemoDelay is the pause between two deltas of the demo. Source:
// runtime.md 3.
const DefaultDemoDelay = 30 * time.Millisecond

// Saved is the file provider-settings.v1.json. An empty field was never set.
// Named holds the base URLs of anthropic, openai and openrouter.
type Saved struct {
	OllamaBaseURL       string            `json:"ollama_base_url,omitempty"`
	MiniMaxBaseURL      string            `json:"minimax_base_url,omitempty"`
	OllamaNumCtxCap     int               `json:"ollama_num_ctx_cap,omitempty"`
	OllamaKeepAlive     string            `json:"ollama_keep_alive,omitempty"`
	CustomCompatBaseURL string            `json:"custom_compat_base_url,omitempty"`
	CustomCompatModels  []string          `json:"custom_compat_models,omitempty"`
	Named               map[string]string `json:"named_provider_base_urls,omitempty"`
}

// Settings is what providers are built from. The zero value means the vendors'
// own addresses, no custom endpoint and a demo without pauses; Resolve fills
// every field. URLs are normalised.
type Settings struct {
	AnthropicURL  string
	OpenAIURL     string
	OpenRouterURL string
	MiniMaxURL    string
	OllamaURL     string
	// CustomURL is empty when none was set.
	CustomURL    string
	CustomModels []string
	// OllamaNumCtxCap bounds the window asked of Ollama, in tokens.
	OllamaNumCtxCap int
	// OllamaKeepAlive is a number with ms, s, m or h, or 0, or -1 for ever.
	OllamaKeepAlive string
	// DemoDelay is the pause between two deltas of the demo.
	DemoDelay time.Duration

	// refused holds, per provider, why its setting cannot be used, so that a
	// bad line costs its own provider and no other.
	refused map[contract.ProviderID]error
}

// SettingError is a setting that cannot be used. Its text names the setting
// and what to do; it holds no credentials that an URL may have carried.
type SettingError struct {
	// Setting is the key of the file, or the environment variable.
	Setting string
	Reason  string
}

// Error returns plain sentences.
func (e *SettingError) Error() string {
	if strings.HasPrefix(e.Setting, config.EnvPrefix) {
		return e.Setting + ": " + e.Reason + " Correct this environment variable and start PacketBench again, or enter a value in Settings > Providers."
	}
	return e.Setting + ": " + e.Reason + " Change it in Settings > Providers."
}

// Refused returns why a provider's settings cannot be used, nil when they can:
// the first *SettingError that Resolve found for it. New fails with the same.
func (s Settings) Refused(id contract.ProviderID) error { return s.refused[id] }

// Resolve merges the saved file, the environment and the defaults, in this
// order of precedence, and normalises every value. The error joins one
// *SettingError per unusable value; the settings are usable all the same, only
// New refuses the providers concerned.
func Resolve(saved Saved, env func(string) string) (Settings, error) {
	s := Settings{DemoDelay: DefaultDemoDelay, refused: make(map[contract.ProviderID]error)}
	var all []error
	note := func(err error, ids ...contract.ProviderID) {
		if err == nil {
			return
		}
		all = append(all, err)
		for _, id := range ids {
			if s.refused[id] == nil {
				s.refused[id] = err
			}
		}
	}
	pick := func(into *string, key, value, variable, fallback string, normalise func(string) (string, error), ids ...contract.ProviderID) {
		from := key
		if strings.TrimSpace(value) == "" {
			from, value = variable, env(variable)
		}
		if strings.TrimSpace(value) == "" {
			*into = fallback
			return
		}
		got, err := normalise(value)
		if err != nil {
			note(&SettingError{Setting: from, Reason: err.Error()}, ids...)
			return
		}
		*into = got
	}
	pick(&s.AnthropicURL, "named_provider_base_urls.anthropic", saved.Named["anthropic"], EnvAnthropicURL, DefaultAnthropicURL, NormaliseAnthropic, contract.ProviderAnthropic)
	pick(&s.OpenAIURL, "named_provider_base_urls.openai", saved.Named["openai"], EnvOpenAIURL, DefaultOpenAIURL, NormaliseOpenAI, contract.ProviderOpenAI)
	pick(&s.OpenRouterURL, "named_provider_base_urls.openrouter", saved.Named["openrouter"], EnvOpenRouterURL, DefaultOpenRouterURL, NormaliseOpenRouter, contract.ProviderOpenRouter)
	pick(&s.MiniMaxURL, "minimax_base_url", saved.MiniMaxBaseURL, EnvMiniMaxURL, DefaultMiniMaxURL, NormaliseMiniMax, contract.ProviderMiniMax, contract.ProviderMiniMaxAPI)
	pick(&s.OllamaURL, "ollama_base_url", saved.OllamaBaseURL, EnvOllamaURL, DefaultOllamaURL, NormaliseOllama, contract.ProviderOllama)
	pick(&s.CustomURL, "custom_compat_base_url", saved.CustomCompatBaseURL, EnvCustomURL, "", NormaliseCustom, contract.ProviderCustom)
	pick(&s.OllamaKeepAlive, "ollama_keep_alive", saved.OllamaKeepAlive, EnvOllamaKeepAlive, DefaultOllamaKeepAlive, NormaliseKeepAlive, contract.ProviderOllama)

	limit := ""
	if saved.OllamaNumCtxCap != 0 {
		limit = strconv.Itoa(saved.OllamaNumCtxCap)
	}
	var text string
	pick(&text, "ollama_num_ctx_cap", limit, EnvOllamaNumCtxCap, strconv.Itoa(DefaultOllamaNumCtxCap), normaliseNumCtxCap, contract.ProviderOllama)
	s.OllamaNumCtxCap, _ = strconv.Atoi(text) // 0 after a refused value, which New reports.

	for _, m := range saved.CustomCompatModels {
		if m = strings.TrimSpace(m); m != "" {
			s.CustomModels = append(s.CustomModels, m)
		}
	}
	return s, errors.Join(all...)
}

// NormaliseAnthropic returns the root of a Messages endpoint, without /v1.
func NormaliseAnthropic(raw string) (string, error) {
	u, err := vendorURL(raw)
	if err != nil {
		return "", err
	}
	return strip(u, "/messages", "/v1"), nil
}

// NormaliseOpenAI returns an OpenAI base URL; without a path it gets /v1.
func NormaliseOpenAI(raw string) (string, error) {
	u, err := vendorURL(raw)
	if err != nil {
		return "", err
	}
	return withPath(strip(u, "/chat/completions", "/responses"), u.Host, "/v1"), nil
}

// NormaliseOpenRouter returns an OpenRouter base URL; without a path it gets
// /api/v1.
func NormaliseOpenRouter(raw string) (string, error) {
	u, err := vendorURL(raw)
	if err != nil {
		return "", err
	}
	return withPath(strip(u, "/chat/completions"), u.Host, "/api/v1"), nil
}

// NormaliseMiniMax returns a MiniMax base URL, /v1 appended if missing.
func NormaliseMiniMax(raw string) (string, error) {
	u, err := vendorURL(raw)
	if err != nil {
		return "", err
	}
	s := strip(u, "/chat/completions")
	if !strings.HasSuffix(s, "/v1") {
		s += "/v1"
	}
	return s, nil
}

// NormaliseOllama returns the root of an Ollama daemon, without /v1 or
// /api/tags. Plain http is accepted everywhere: the daemon speaks nothing else.
func NormaliseOllama(raw string) (string, error) {
	u, err := parseBase(raw)
	if err != nil {
		return "", err
	}
	return strip(u, "/api/tags", "/v1"), nil
}

// NormaliseCustom returns a custom base URL with its path as typed, except for
// a slash at its end: /chat/completions is appended to it.
func NormaliseCustom(raw string) (string, error) {
	u, err := vendorURL(raw)
	if err != nil {
		return "", err
	}
	return strip(u), nil
}

var keepAlive = regexp.MustCompile(`^(0|-1|[0-9]+(\.[0-9]+)?(ms|s|m|h))$`)

// NormaliseKeepAlive accepts a number with ms, s, m or h, 0 and -1.
func NormaliseKeepAlive(raw string) (string, error) {
	s := strings.TrimSpace(raw)
	if !keepAlive.MatchString(s) {
		return "", fmt.Errorf("%q is no duration: write a number with ms, s, m or h, such as 30m, or 0, or -1 for ever.", clip(s, 40))
	}
	return s, nil
}

func normaliseNumCtxCap(raw string) (string, error) {
	n, err := strconv.Atoi(strings.TrimSpace(raw))
	if err != nil {
		return "", fmt.Errorf("%q is no number of tokens.", clip(raw, 40))
	}
	return strconv.Itoa(max(n, MinOllamaNumCtxCap)), nil
}

// vendorURL is parseBase plus the rule that a key does not travel in the clear
// beyond this machine and its network. Source: interface.md decision 21.
func vendorURL(raw string) (*url.URL, error) {
	u, err := parseBase(raw)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !nearby(u.Hostname()) {
		return nil, fmt.Errorf("plain http is accepted only for this machine and its local network; write https for %s.", u.Host)
	}
	return u, nil
}

func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	// The parser's own error repeats the text, which may hold a password.
	if err != nil {
		return nil, errors.New("this is no URL; write one such as https://host/v1.")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("an URL must begin with http:// or https://.")
	case u.Hostname() == "":
		return nil, errors.New("the URL names no host.")
	case u.User != nil:
		return nil, errors.New("the URL must not hold a user name or password; store the key under API keys instead.")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("the URL must not have a query (the part after ?).")
	case u.Fragment != "":
		return nil, errors.New("the URL must not have a fragment (the part after #).")
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// nearby reports whether a host is this machine or on its local network: a
// loopback, private or link-local address, a name without a dot, or a name
// under a suffix that public DNS does not serve.
func nearby(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	if !strings.Contains(host, ".") {
		return net.ParseIP(host) == nil
	}
	for _, suffix := range []string{".localhost", ".local", ".lan", ".internal", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// strip returns u as text without trailing slashes and without the given
// endings, each taken once, in this order.
func strip(u *url.URL, endings ...string) string {
	s := strings.TrimRight(u.String(), "/")
	for _, e := range endings {
		s = strings.TrimRight(strings.TrimSuffix(s, e), "/")
	}
	return s
}

// withPath appends path to a URL that ends with its host.
func withPath(s, host, path string) string {
	if strings.HasSuffix(s, "://"+host) {
		return s + path
	}
	return s
}

// keepAliveJSON is what Ollama expects: bare numbers count seconds, so 0 and
// -1 are numbers and the rest are texts.
func keepAliveJSON(s string) json.RawMessage {
	if s == "0" || s == "-1" {
		return json.RawMessage(s)
	}
	return json.RawMessage(strconv.Quote(s))
}
