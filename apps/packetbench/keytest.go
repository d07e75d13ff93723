package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// keyTestLimit is how long a provider may take to say what it thinks of a key.
const keyTestLimit = 15 * time.Second

// trial is one request that costs nothing and that only a good key may make.
type trial struct {
	name   string
	url    string
	header http.Header
}

// TestKey tries a provider's key with one request that is not billed.
func (d *desk) TestKey(ctx context.Context, provider contract.ProviderID) (contract.KeyTest, error) {
	row, err := contract.RowForProvider(provider)
	if err != nil {
		return contract.KeyTest{}, errors.New("there is no such provider")
	}
	if row.Provider == contract.ProviderDemo {
		return contract.KeyTest{Status: contract.KeyAccepted, Message: "The demo needs no key."}, nil
	}
	settings, err := d.providers.settings()
	if err == nil {
		err = settings.Refused(provider)
	}
	if err != nil {
		return contract.KeyTest{Status: contract.KeyUnreachable, Message: sentence(err)}, nil
	}
	var key msg.Key
	if row.Account != "" {
		key, err = d.key(row.Account)
		var none msg.NoKeyError
		switch {
		case errors.As(err, &none) && row.KeyOptional:
		case errors.As(err, &none):
			return contract.KeyTest{Status: contract.KeyMissing, Message: none.Error()}, nil
		case err != nil:
			return contract.KeyTest{Status: contract.KeyUnclear, Message: sentence(err)}, nil
		}
	}
	t, ok := trialOf(row, settings, string(key))
	if !ok {
		return contract.KeyTest{}, errors.New("this provider has no key of its own to try")
	}
	if t.url == "" {
		return contract.KeyTest{Status: contract.KeyMissing, Message: "The endpoint has no address yet. Set its URL in Settings."}, nil
	}
	return d.try(ctx, t), nil
}

// trialOf is the request for a row; false for one that has nothing to try. All
// of them list something: models, or what the key itself may do where the list
// of models is open to everybody.
func trialOf(row contract.Row, s llm.Settings, key string) (trial, bool) {
	bearer := http.Header{}
	if key != "" {
		bearer.Set("Authorization", "Bearer "+key)
	}
	list := func(base string) trial {
		if base == "" {
			return trial{name: row.Label}
		}
		return trial{name: row.Label, url: base + "/models", header: bearer}
	}
	switch row.Account {
	case "api-key-anthropic":
		return trial{name: "Anthropic", url: s.AnthropicURL + "/v1/models?limit=1", header: http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}}}, true
	case "api-key-openai":
		t := list(s.OpenAIURL)
		t.name = "OpenAI"
		return t, true
	case "api-key-openrouter":
		return trial{name: "OpenRouter", url: s.OpenRouterURL + "/key", header: bearer}, true
	case "api-key-minimax", "api-key-minimax-api":
		t := list(s.MiniMaxURL)
		t.name = "MiniMax"
		return t, true
	case "api-key-custom":
		t := list(s.CustomURL)
		t.name = "The custom endpoint"
		return t, true
	}
	if row.Provider == contract.ProviderOllama {
		return trial{name: "Ollama", url: s.OllamaURL + "/api/tags"}, true
	}
	return trial{}, false
}

// try makes the request and says what the answer means.
func (d *desk) try(ctx context.Context, t trial) contract.KeyTest {
	ctx, stop := context.WithTimeout(ctx, keyTestLimit)
	defer stop()
	began := time.Now()
	unreached := func(err error) contract.KeyTest {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s", keyTestLimit)
		}
		return contract.KeyTest{
			Status: contract.KeyUnreachable, Latency: time.Since(began).Milliseconds(),
			Message: fmt.Sprintf("%s could not be reached: %s. Look at its address in Settings and at your connection.", t.name, innermost(err)),
		}
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return unreached(err)
	}
	if t.header != nil {
		q.Header = t.header.Clone()
	}
	q.Header.Set("User-Agent", config.UserAgent())
	a, err := d.client.Do(q)
	if err != nil {
		return unreached(err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 64<<10)) // Its status says it all.
	_ = a.Body.Close()
	out := contract.KeyTest{Latency: time.Since(began).Milliseconds()}
	switch code := a.StatusCode; {
	case code < 300 && t.header == nil, code < 300 && len(t.header) == 0:
		out.Status, out.Message = contract.KeyAccepted, t.name+" answers; it needs no key."
	case code < 300:
		out.Status, out.Message = contract.KeyAccepted, t.name+" accepts this key."
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		out.Status, out.Message = contract.KeyRejected, fmt.Sprintf("%s refuses this key (%d). Check it, or make a new one.", t.name, code)
	case code == http.StatusTooManyRequests:
		out.Status, out.Message = contract.KeyLimited, t.name+" knows this key, but its rate limit is reached just now."
	case code >= 500:
		out.Status, out.Message = contract.KeyUnreachable, fmt.Sprintf("%s cannot answer just now (%d). Try again later.", t.name, code)
	default:
		out.Status, out.Message = contract.KeyUnclear, fmt.Sprintf("%s answers (%d), but not to this question; start a conversation to see whether the key works.", t.name, code)
	}
	return out
}
