package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// OllamaProbeTimeout bounds one question to an Ollama daemon. Source:
// contract.md 11.
const OllamaProbeTimeout = 500 * time.Millisecond

// maxOllamaTagsBytes bounds the daemon's answer. A model takes about 500
// bytes, so this is some thousands of models.
const maxOllamaTagsBytes = 4 << 20

// expirySoon is how long before its end a login begins to say so. Source:
// contract.md 11.
const expirySoon = 72 * time.Hour

// KeyState is what the secret store knows about one key; never the key.
type KeyState struct {
	// Present says that a key is stored.
	Present bool
	// Source is where it came from: "keyring", "encrypted file" or
	// "environment variable NAME".
	Source string
	// Problem is why the store could not be asked, in plain words; empty when
	// it could. A store that fails never looks like an absent key.
	Problem string
}

// EngineState is what is known about an ACP engine.
type EngineState struct {
	// Command is what would be started, for the hint.
	Command string
	// Found says that the command resolves to a program.
	Found bool
	// Version, Minimum and Compatible are the version gate of the default
	// engine; an engine of Settings has none.
	Version    string
	Minimum    string
	Compatible bool
	// Detail is why the probe of the default engine failed; empty when it ran.
	Detail string
	// Down says that the last start failed or that the restart budget is
	// spent; Stderr is the tail of what the engine said.
	Down   bool
	Stderr string
}

// LoginState is what a credential file of a vendor's CLI says.
type LoginState struct {
	// Present says that the file holds a login.
	Present bool
	// ExpiresAt is zero for a login that does not expire.
	ExpiresAt time.Time
	// Refreshable says that the CLI can renew an expired login by itself.
	Refreshable bool
	// Unreadable is why the directory could not be read; empty when it could.
	Unreadable string
}

// SidecarState is the part of the sidecar's status that a badge depends on,
// in the words of contract.md 8.
type SidecarState struct {
	State     string
	LastError string
}

// BadgeInput is everything a badge may depend on. Each probe reads its own
// part; the rest may be left empty.
type BadgeInput struct {
	// Key is the key of the probe's own account.
	Key KeyState
	// BaseURL is the custom endpoint's or the Ollama daemon's, after saved
	// value, environment and default.
	BaseURL string
	// Refused is Settings.Refused of the probe's provider. It outranks what else
	// is known: a turn would end with it.
	Refused error
	// Ollama is what ProbeOllama returned.
	Ollama error
	// Engine belongs to packetcode-acp and acp-<name>.
	Engine EngineState
	// Sidecar is looked at for the rows that the sidecar serves.
	Sidecar SidecarState
	// Login and Now belong to claude-oauth and openai-codex.
	Login LoginState
	Now   time.Time
}

// UnknownProbeError is a badge asked for an id that has none.
type UnknownProbeError struct{ Probe contract.AuthProbe }

// maxProbeIDRunes bounds how much of an unknown id an error repeats.
const maxProbeIDRunes = 64

// Error returns the text that contract.md 11 fixes, with a long id cut.
func (e *UnknownProbeError) Error() string {
	id := []rune(string(e.Probe))
	if len(id) > maxProbeIDRunes {
		id = id[:maxProbeIDRunes]
	}
	return "Unknown provider '" + string(id) + "'"
}

// keyNames say whose key a badge misses, in the words of the key form.
var keyNames = map[contract.AuthProbe]string{
	"anthropic":     "Anthropic",
	"openai":        "OpenAI",
	"openai-agents": "OpenAI",
	"minimax":       "MiniMax",
	"minimax-api":   "MiniMax API",
	"openrouter":    "OpenRouter",
}

// loginCommands say how to log in to a vendor's CLI.
var loginCommands = map[contract.AuthProbe]string{
	"claude-oauth": "Run `claude` in a terminal and log in.",
	"openai-codex": "Run `codex login` in a terminal.",
}

// Badge answers whether the provider behind a probe can be launched. It is
// pure: what had to be asked is in the input. It fails with an
// *UnknownProbeError for an id without a badge. A hint is the tooltip of a
// disabled Launch verbatim; it says what to do and is empty where nothing is.
// Source: contract.md 11.
func Badge(probe contract.AuthProbe, in BadgeInput) (contract.Badge, error) {
	switch {
	case in.Refused != nil && probe == "custom": // As without a URL.
		return contract.Badge{Status: contract.BadgeMissingKey, Hint: in.Refused.Error()}, nil
	case in.Refused != nil && (keyNames[probe] != "" || probe == "ollama"):
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: in.Refused.Error()}, nil
	case keyNames[probe] != "":
		return keyBadge(keyNames[probe], in.Key), nil
	case loginCommands[probe] != "":
		return loginBadge(loginCommands[probe], in.Login, in.Now), nil
	}
	switch probe {
	case "ollama":
		return ollamaBadge(in), nil
	case "custom":
		return customBadge(in), nil
	case "demo":
		return contract.Badge{Status: contract.BadgeReady}, nil
	case "packetcode-acp":
		return defaultEngineBadge(in.Engine), nil
	}
	if transport, err := contract.ProviderTransport(contract.ProviderID(probe)); err == nil && transport == contract.TransportACP {
		return engineBadge(in.Engine), nil
	}
	return contract.Badge{}, &UnknownProbeError{Probe: probe}
}

// RowBadge is Badge for a row of the picker. Two rows may share a probe and
// differ in who serves them: one that the sidecar serves is down with it,
// whatever its key says.
func RowBadge(row contract.Row, in BadgeInput) (contract.Badge, error) {
	badge, err := Badge(row.Probe, in)
	if err != nil || row.Transport != contract.TransportSidecar {
		return badge, err
	}
	switch in.Sidecar.State {
	case "down", "incompatible":
		hint := in.Sidecar.LastError
		if hint == "" {
			hint = "The sidecar is " + in.Sidecar.State + ". See the Operations page for the reason."
		}
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: hint}, nil
	}
	return badge, nil
}

// keyBadge is the rule of the providers that need a key.
func keyBadge(name string, key KeyState) contract.Badge {
	switch {
	case key.Problem != "":
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: key.Problem}
	case !key.Present:
		return contract.Badge{
			Status: contract.BadgeMissingKey,
			Hint:   "No API key configured for " + name + ". Set one in Settings > API Keys.",
		}
	}
	return contract.Badge{Status: contract.BadgeReady, Source: key.Source}
}

// ollamaBadge reports the daemon that ProbeOllama asked.
func ollamaBadge(in BadgeInput) contract.Badge {
	if in.Ollama == nil {
		return contract.Badge{Status: contract.BadgeReady}
	}
	return contract.Badge{
		Status: contract.BadgeServiceDown,
		Hint:   "Ollama does not answer at " + shownURL(in.BaseURL) + ". Start Ollama, or correct its address in Settings > Providers.",
	}
}

// customBadge needs a URL; a key is optional, so the hint of a ready endpoint
// says where requests go and whether a key goes with them.
func customBadge(in BadgeInput) contract.Badge {
	switch {
	case in.BaseURL == "":
		return contract.Badge{
			Status: contract.BadgeMissingKey,
			Hint:   "No base URL is set for the custom endpoint. Set one in Settings > Providers.",
		}
	case in.Key.Problem != "":
		// The endpoint may work without a key. That it is called without the
		// one that is stored has to be said.
		return contract.Badge{
			Status: contract.BadgeReady,
			Hint:   shownURL(in.BaseURL) + ", without a key: " + in.Key.Problem,
		}
	case in.Key.Present:
		return contract.Badge{Status: contract.BadgeReady, Hint: shownURL(in.BaseURL) + ", with a key", Source: in.Key.Source}
	}
	return contract.Badge{Status: contract.BadgeReady, Hint: shownURL(in.BaseURL) + ", without a key"}
}

// defaultEngineBadge is the gate of the engine we know. Source: acp.md 10.
func defaultEngineBadge(engine EngineState) contract.Badge {
	down := func(hint string) contract.Badge {
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: hint}
	}
	switch {
	case !engine.Found && engine.Detail == "":
		return contract.Badge{
			Status: contract.BadgeMissingKey,
			Hint:   "packetcode engine not found. Install it or pin its path in Settings > Providers.",
		}
	case engine.Detail != "":
		return down(engine.Detail)
	case engine.Version == "":
		return down("The packetcode engine did not report a version.")
	case !engine.Compatible:
		return down(fmt.Sprintf("packetcode %s is too old; %s or newer is needed.", engine.Version, engine.Minimum))
	case engine.Down:
		return down(engineFailure(engine))
	}
	return contract.Badge{Status: contract.BadgeReady}
}

// engineBadge is the rule of an engine that a person defined.
func engineBadge(engine EngineState) contract.Badge {
	switch {
	case !engine.Found:
		return contract.Badge{
			Status: contract.BadgeMissingKey,
			Hint:   engine.Command + " was not found. Fix the engine in Settings > Providers.",
		}
	case engine.Down:
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: engineFailure(engine)}
	}
	return contract.Badge{Status: contract.BadgeReady}
}

// engineFailure is what an engine said last, or that it said nothing.
func engineFailure(engine EngineState) string {
	if said := strings.TrimSpace(engine.Stderr); said != "" {
		return said
	}
	return engine.Command + " stopped without a message. Start it in a terminal to see why, then fix the engine in Settings > Providers."
}

// loginBadge is the rule of the CLIs that log in by themselves; terminals
// only. A login that the CLI can renew is good whatever its date says.
func loginBadge(command string, login LoginState, now time.Time) contract.Badge {
	left := login.ExpiresAt.Sub(now)
	switch {
	case login.Unreadable != "":
		return contract.Badge{Status: contract.BadgeUnknown, Hint: login.Unreadable}
	case !login.Present:
		return contract.Badge{Status: contract.BadgeLoginRequired, Hint: "Not logged in. " + command}
	case login.ExpiresAt.IsZero() || left > expirySoon:
		return contract.Badge{Status: contract.BadgeReady}
	case left > 0:
		return contract.Badge{Status: contract.BadgeReady, Hint: "Expires in " + roughly(left)}
	case login.Refreshable:
		return contract.Badge{Status: contract.BadgeReady}
	}
	return contract.Badge{Status: contract.BadgeLoginRequired, Hint: "The login has expired. " + command}
}

// roughly says a duration in its largest unit, rounded down, at least one
// minute.
func roughly(d time.Duration) string {
	count := func(n int, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d >= 48*time.Hour:
		return count(int(d/(24*time.Hour)), "day")
	case d >= time.Hour:
		return count(int(d/time.Hour), "hour")
	}
	return count(max(1, int(d/time.Minute)), "minute")
}

// shownURL is a URL as a hint may show it: without user name, password, query
// and fragment, where a secret could be.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the address in Settings"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// ProbeOllama asks a daemon for its models and returns nil when it answered.
// The whole exchange takes at most OllamaProbeTimeout.
func ProbeOllama(ctx context.Context, client *http.Client, base string) error {
	_, err := OllamaModels(ctx, client, base)
	return err
}

// OllamaModels returns the models a daemon has, in its order: GET
// <base>/api/tags, at most OllamaProbeTimeout, no redirect followed.
//
// A nil error makes the list authoritative, an empty one included: it is not
// to be replaced by a static list. On an error nothing is known. The list is
// never nil then; prices are 0, and a context window is asked for with the
// first request, so it is absent here.
func OllamaModels(ctx context.Context, client *http.Client, base string) ([]contract.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, OllamaProbeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/api/tags", nil)
	if err != nil {
		return nil, fmt.Errorf("llm: ollama at %s: the address is not a URL", shownURL(base))
	}
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := direct.Do(req)
	if err != nil {
		// The outer text of a *url.Error repeats the URL with what we left out.
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("llm: ollama at %s: %w", shownURL(base), err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("llm: ollama at %s answered with status %d", shownURL(base), resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOllamaTagsBytes+1))
	if err != nil {
		return nil, fmt.Errorf("llm: ollama at %s: %w", shownURL(base), err)
	}
	models, err := decodeOllamaTags(body)
	if err != nil {
		return nil, fmt.Errorf("llm: ollama at %s: %w", shownURL(base), err)
	}
	return models, nil
}

// errNotOllama is an answer that no Ollama daemon gives, such as the page of
// another program on its port.
var errNotOllama = errors.New("the answer is not a list of models")

// decodeOllamaTags reads the answer of /api/tags. The list may be empty or
// null, but its key has to be there.
func decodeOllamaTags(body []byte) ([]contract.Model, error) {
	if len(body) > maxOllamaTagsBytes {
		return nil, errNotOllama
	}
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil || answer["models"] == nil {
		return nil, errNotOllama
	}
	var entries []struct {
		Name  string `json:"name"`
		Model string `json:"model"`
	}
	if json.Unmarshal(answer["models"], &entries) != nil {
		return nil, errNotOllama
	}
	models := make([]contract.Model, 0, len(entries))
	seen := map[string]bool{}
	for _, e := range entries {
		id := e.Name
		if id == "" {
			id = e.Model
		}
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		models = append(models, contract.Model{Label: id, Value: id, Pricing: &contract.Pricing{}})
	}
	return models, nil
}
