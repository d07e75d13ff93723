package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// ErrNoCustomURL is the custom provider without a base URL.
var ErrNoCustomURL = errors.New("No base URL is set for the custom endpoint. Enter it in Settings > Providers.")

// New builds a provider. client carries the requests; nil means NewHTTPClient.
// Redirects are never followed, whatever client says.
//
// It fails with contract.ErrUnknownProvider, naming the bad id and the
// accepted ones, with ErrNoCustomURL, and with the *SettingError that Resolve
// found for this provider. Providers are safe for concurrent use; what one
// learned about an endpoint is remembered for the life of the process.
func New(id contract.ProviderID, s Settings, client *http.Client) (Provider, error) {
	if err := s.refused[id]; err != nil {
		return nil, err
	}
	w := wire{id: id, client: withoutRedirects(client), learned: processMemo}
	switch id {
	case contract.ProviderAnthropic:
		w.base = or(s.AnthropicURL, DefaultAnthropicURL)
		return &anthropicProvider{wire: w}, nil
	case contract.ProviderOpenAI:
		w.base = or(s.OpenAIURL, DefaultOpenAIURL)
		return &openaiProvider{
			chat:      chatProvider{wire: w, includeUsage: true, cacheKey: true, keyNeeded: true},
			responses: responsesProvider{wire: w},
		}, nil
	case contract.ProviderOpenRouter:
		w.base = or(s.OpenRouterURL, DefaultOpenRouterURL)
		w.header = http.Header{"HTTP-Referer": {config.ProjectURL}, "X-Title": {config.AppName}}
		return &chatProvider{wire: w, includeUsage: true, keyNeeded: true}, nil
	case contract.ProviderMiniMax, contract.ProviderMiniMaxAPI:
		w.base = or(s.MiniMaxURL, DefaultMiniMaxURL)
		return &chatProvider{wire: w, includeUsage: true, reasoningSplit: true, keyNeeded: true}, nil
	case contract.ProviderOllama:
		w.base = or(s.OllamaURL, DefaultOllamaURL)
		compat := w
		compat.base += "/v1"
		limit := s.OllamaNumCtxCap
		if limit == 0 {
			limit = DefaultOllamaNumCtxCap
		}
		return &ollamaProvider{
			wire: w, compat: chatProvider{wire: compat, includeUsage: true},
			limit: max(limit, MinOllamaNumCtxCap), keepAlive: or(s.OllamaKeepAlive, DefaultOllamaKeepAlive),
		}, nil
	case contract.ProviderCustom:
		if s.CustomURL == "" {
			return nil, ErrNoCustomURL
		}
		w.base = s.CustomURL
		return &chatProvider{wire: w}, nil
	case contract.ProviderDemo:
		return &demoProvider{delay: s.DemoDelay}, nil
	}
	accepted := make([]string, 0, 8)
	for _, p := range contract.InProcessProviders() {
		accepted = append(accepted, string(p))
	}
	return nil, fmt.Errorf("%w: %q. Accepted in-process: %s", contract.ErrUnknownProvider, clip(string(id), 64), strings.Join(accepted, ", "))
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// openaiProvider serves two wires, by model.
type openaiProvider struct {
	chat      chatProvider
	responses responsesProvider
}

func (o *openaiProvider) ID() contract.ProviderID { return contract.ProviderOpenAI }

func (o *openaiProvider) Stream(ctx context.Context, key string, req Request, emit func(Chunk) error) error {
	return o.stream(ctx, key, req, Hooks{}, emit)
}

func (o *openaiProvider) stream(ctx context.Context, key string, req Request, h Hooks, emit func(Chunk) error) error {
	if wantsResponses(req.Model) {
		return o.responses.stream(ctx, key, req, h, emit)
	}
	return o.chat.stream(ctx, key, req, h, emit)
}

// wantsResponses reports whether OpenAI serves a model over Responses. Source:
// runtime.md 3.
func wantsResponses(model string) bool {
	return holdsPrefix(strings.ToLower(model), "gpt-5", "gpt-6", "o1", "o3", "o4")
}

func holdsPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
