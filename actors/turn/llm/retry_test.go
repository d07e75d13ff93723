package llm

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
)

// waits is a clock that moves only when somebody sleeps.
type waits struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
	told  []string
	after []float64
}

func (w *waits) hooks() Hooks {
	w.now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return Hooks{
		Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.now
		},
		Sleep: func(_ context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.slept = append(w.slept, d)
			w.now = w.now.Add(d)
			return nil
		},
		RateLimited: func(after *float64, message string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, message)
			if after != nil {
				w.after = append(w.after, *after)
			}
		},
	}
}

func failing(status int, header ...string) llmtest.Turn {
	t := llmtest.Turn{Status: status, Error: "no luck"}
	if len(header) == 2 {
		t.Header = http.Header{header[0]: {header[1]}}
	}
	return t
}

var hi = Request{Model: "m", Messages: []Message{Text(RoleUser, "hi")}}

// TestStream_Retries covers F12 (529 like 429, streaming and one-shot) and the
// bounds of F13.
func TestStream_Retries(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 2, 3, 4, 12, 0, time.UTC).Format(http.TimeFormat)
	for _, tc := range []struct {
		name     string
		turns    []llmtest.Turn
		requests int
		told     int
		after    float64
		waited   time.Duration // to a second more, 0 means any
		err      string
	}{
		{name: "529 once", turns: []llmtest.Turn{failing(529), llmtest.Say("ok")}, requests: 2, told: 1},
		{name: "429 once", turns: []llmtest.Turn{failing(429), llmtest.Say("ok")}, requests: 2, told: 1},
		{name: "500, 502, 503, 504", turns: []llmtest.Turn{failing(500), failing(502), failing(503), failing(504), llmtest.Say("ok")}, requests: 5},
		{name: "one too many", turns: []llmtest.Turn{failing(503), failing(503), failing(503), failing(503), failing(503)}, requests: 5, err: "Anthropic API error (503): "},
		{name: "Retry-After in seconds", turns: []llmtest.Turn{failing(429, "Retry-After", "7"), llmtest.Say("ok")}, requests: 2, told: 1, after: 7, waited: 7 * time.Second},
		{name: "Retry-After as a date", turns: []llmtest.Turn{failing(429, "Retry-After", date), llmtest.Say("ok")}, requests: 2, told: 1, after: 7, waited: 7 * time.Second},
		{name: "Retry-After too long", turns: []llmtest.Turn{failing(429, "Retry-After", "61")}, requests: 1, told: 1, after: 61, err: "Anthropic API error (429)"},
		{name: "budget spent", turns: []llmtest.Turn{failing(503, "Retry-After", "50"), failing(503, "Retry-After", "50"), failing(503, "Retry-After", "30")}, requests: 3, err: "(503)"},
		{name: "400 is not tried again", turns: []llmtest.Turn{failing(400)}, requests: 1, err: "Anthropic API error (400): "},
		{name: "401 is not tried again", turns: []llmtest.Turn{failing(401)}, requests: 1, err: "(401)"},
		{name: "overloaded inside the stream, before content", turns: []llmtest.Turn{{Error: "Overloaded", ErrorType: "overloaded_error"}, llmtest.Say("ok")}, requests: 2, told: 1},
		{name: "overloaded after content", turns: []llmtest.Turn{{Text: []string{"ok"}, Error: "Overloaded", ErrorType: "overloaded_error"}}, requests: 1, told: 1, err: "Overloaded"},
		{name: "broken connection before content", turns: []llmtest.Turn{{Reset: true}, llmtest.Say("ok")}, requests: 2},
		{name: "broken connection after content", turns: []llmtest.Turn{{Text: []string{"ok"}, Reset: true}}, requests: 1, err: "broke while it was answering"},
		{name: "no marker is not tried again", turns: []llmtest.Turn{{Cut: true}}, requests: 1, err: contract.TextIncompleteStream},
		{name: "redirects are not followed", turns: []llmtest.Turn{{Status: 307, Header: http.Header{"Location": {"/elsewhere"}}, Body: "go there"}}, requests: 1, err: "Anthropic API error (307): go there"},
		{name: "empty error body", turns: []llmtest.Turn{{Status: 404, Body: " "}}, requests: 1, err: "Anthropic API error (404): Not Found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, settings := server(t, contract.ProviderAnthropic, tc.turns...)
			var w waits
			got, err := run(t, provider(t, contract.ProviderAnthropic, settings), hi, w.hooks())
			if tc.err == "" && (err != nil || textSaid(got) != "ok") || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%q, %v; want error %q", textSaid(got), err, tc.err)
			}
			if n := len(s.Requests()); n != tc.requests {
				t.Errorf("%d requests; want %d", n, tc.requests)
			}
			if len(w.told) != tc.told || tc.after != 0 && (len(w.after) != 1 || w.after[0] != tc.after) {
				t.Errorf("rate limits told %q %v; want %d with %v", w.told, w.after, tc.told, tc.after)
			}
			total := time.Duration(0)
			for i, d := range w.slept {
				total += d
				if most := time.Second << i; tc.waited == 0 && tc.after == 0 && tc.name != "budget spent" && d > most {
					t.Errorf("wait %d was %v; want at most %v", i, d, most)
				}
			}
			if tc.waited != 0 && (total < tc.waited || total > tc.waited+time.Second) || total > DefaultLimits.Budget {
				t.Errorf("waited %v; want %v", total, tc.waited)
			}
		})
	}
}

// TestOneShot_SharesRetries covers F12 on the path without streaming.
func TestOneShot_SharesRetries(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		t.Run(string(w.id), func(t *testing.T) {
			t.Parallel()
			s, settings := server(t, w.id, failing(529), llmtest.Say("the answer"))
			var clock waits
			got, err := OneShot(t.Context(), wireProvider(t, w.id, settings), testKey, OneShotRequest{Model: w.model, System: "Be brief.", Prompt: "why?", SessionID: "s"}, clock.hooks())
			if err != nil || got.Text != "the answer" {
				t.Fatalf("%q, %v", got.Text, err)
			}
			if len(s.Requests()) != 2 || len(clock.told) != 1 {
				t.Errorf("%d requests, %d rate limits; want 2 and 1", len(s.Requests()), len(clock.told))
			}
		})
	}
	t.Run("defaults", func(t *testing.T) {
		t.Parallel()
		s, settings := server(t, contract.ProviderAnthropic, llmtest.Say("x"))
		if _, err := OneShot(t.Context(), provider(t, contract.ProviderAnthropic, settings), testKey, OneShotRequest{Model: "m", Prompt: "why?"}, Hooks{}); err != nil {
			t.Fatal(err)
		}
		var body struct {
			MaxTokens   int      `json:"max_tokens"`
			Temperature *float64 `json:"temperature"`
			Tools       []any    `json:"tools"`
		}
		llmtest.Body(t, s.Requests()[0], &body)
		if body.MaxTokens != 8192 || body.Temperature == nil || *body.Temperature != 0.2 || body.Tools != nil {
			t.Errorf("body %+v; want 8192 tokens, temperature 0.2, no tools", body)
		}
	})
}

// TestStream_JitterSpreads covers F13: the waits of many conversations that
// fail together differ.
func TestStream_JitterSpreads(t *testing.T) {
	t.Parallel()
	seen, seenTold := make(map[time.Duration]bool), make(map[time.Duration]bool)
	for range 20 {
		var w waits
		p := scripted{errs: []error{&APIError{Status: 529, Body: "busy"}}}
		if err := Stream(t.Context(), &p, "", hi, w.hooks(), func(Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
		seen[w.slept[0]] = true
		var told waits
		p = scripted{errs: []error{&APIError{Status: 529, Body: "busy", RetryAfter: new(5 * time.Second)}}}
		if err := Stream(t.Context(), &p, "", hi, told.hooks(), func(Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
		seenTold[told.slept[0]] = true
	}
	if len(seen) < 10 || len(seenTold) < 10 {
		t.Errorf("20 conversations waited only %d different times, %d with Retry-After", len(seen), len(seenTold))
	}
}

// scripted is a provider of a foreign kind: it fails as told, then answers.
type scripted struct {
	id    contract.ProviderID
	errs  []error
	calls int
}

func (s *scripted) ID() contract.ProviderID { return s.id }

func (s *scripted) Stream(_ context.Context, _ string, _ Request, emit func(Chunk) error) error {
	s.calls++
	if len(s.errs) >= s.calls {
		return s.errs[s.calls-1]
	}
	return emit(Done{})
}

// TestStream_CancelEndsTheWait covers F11 and F17: a cancel during a wait
// returns at once with the cause.
func TestStream_CancelEndsTheWait(t *testing.T) {
	t.Parallel()
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := Hooks{Sleep: func(ctx context.Context, d time.Duration) error {
		cancel(why)
		return pause(ctx, d)
	}}
	p := scripted{errs: []error{&APIError{Status: 429, RetryAfter: new(time.Hour / 60)}}}
	if err := Stream(ctx, &p, "", hi, h, func(Chunk) error { return nil }); !errors.Is(err, why) || p.calls != 1 {
		t.Errorf("%v after %d calls; want %v after 1", err, p.calls, why)
	}
}

// TestStream_Silence covers F11 on every wire: silence before the first byte,
// after the headers and after content ends the stream, and is not tried again.
func TestStream_Silence(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		for name, turn := range map[string]llmtest.Turn{
			"first byte":    {StallFirst: true},
			"headers":       {Stall: true},
			"three deltas":  {Text: []string{"a", "b", "c"}, Stall: true},
			"after thought": {Thinking: []string{"a"}, Stall: true},
		} {
			t.Run(string(w.id)+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, settings := server(t, w.id, turn)
				req := hi
				req.Model = w.model
				got, err := run(t, wireProvider(t, w.id, settings), req, Hooks{Limits: Limits{Idle: 250 * time.Millisecond}})
				var idle *IdleError
				if !errors.As(err, &idle) || err.Error() != "The provider sent nothing for 0.25 s; send again to retry." {
					t.Errorf("%v; want an IdleError", err)
				}
				// A slow machine may see the limit pass between two deltas.
				if said := textSaid(got); !strings.HasPrefix(strings.Join(turn.Text, ""), said) {
					t.Errorf("text %q", said)
				}
				if n := len(s.Requests()); n > 1 {
					t.Errorf("%d requests; want at most 1", n)
				}
			})
		}
	}
}

// TestIdleError_Text pins the sentence for the default limit.
func TestIdleError_Text(t *testing.T) {
	t.Parallel()
	if got := (&IdleError{Limit: DefaultLimits.Idle}).Error(); got != contract.TextStall {
		t.Errorf("%q; want %q", got, contract.TextStall)
	}
}

// TestStream_SlowConsumer says that time spent in emit is not the provider's
// silence.
func TestStream_SlowConsumer(t *testing.T) {
	t.Parallel()
	_, settings := server(t, contract.ProviderAnthropic, llmtest.Say("one two"))
	p := provider(t, contract.ProviderAnthropic, settings)
	h := Hooks{Limits: Limits{Idle: time.Second}}
	blocked := false
	err := Stream(t.Context(), p, testKey, hi, h, func(c Chunk) error {
		if _, ok := c.(TextDelta); ok && !blocked {
			blocked = true
			// Longer than the limit on purpose: the wait itself is the input.
			time.Sleep(1200 * time.Millisecond)
		}
		return nil
	})
	if err != nil {
		t.Errorf("%v; want success", err)
	}
}

// TestStream_OpenSocketAfterFinish covers F11 where the answer is whole and
// only its connection stays open.
func TestStream_OpenSocketAfterFinish(t *testing.T) {
	t.Parallel()
	raw := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n")
	_, settings := server(t, contract.ProviderCustom, llmtest.Turn{Raw: raw, Stall: true})
	got, err := run(t, provider(t, contract.ProviderCustom, settings), hi, Hooks{Limits: Limits{Tail: 100 * time.Millisecond}})
	if err != nil || textSaid(got) != "ok" {
		t.Errorf("%q, %v; want ok and success", textSaid(got), err)
	}
}

// TestStream_CancelClosesTheConnection covers F17 for streams: the provider
// sees the client go, and the cause comes back.
func TestStream_CancelClosesTheConnection(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		t.Run(string(w.id), func(t *testing.T) {
			t.Parallel()
			s, settings := server(t, w.id, llmtest.Turn{Text: []string{"a"}, Stall: true})
			ctx, cancel := ctxWithCancel(t)
			defer cancel()
			req := hi
			req.Model = w.model
			err := Stream(ctx, wireProvider(t, w.id, settings), testKey, req, Hooks{}, func(c Chunk) error {
				cancel()
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v; want %v", err, context.Canceled)
			}
			select {
			case <-s.Left():
			case <-time.After(20 * time.Second):
				t.Error("the provider still holds the connection")
			}
		})
	}
}

// TestStream_ConsumerGone says that emit's error ends the exchange.
func TestStream_ConsumerGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	s, settings := server(t, contract.ProviderOpenRouter, llmtest.Turn{Text: []string{"a"}, Stall: true})
	err := Stream(t.Context(), provider(t, contract.ProviderOpenRouter, settings), testKey, hi, Hooks{}, func(Chunk) error { return gone })
	if err != gone { // As it is, not wrapped.
		t.Errorf("%v; want %v", err, gone)
	}
	select {
	case <-s.Left():
	case <-time.After(20 * time.Second):
		t.Error("the provider still holds the connection")
	}
}

// TestStream_Unreachable covers the sentences for a server that is not there,
// and that a refused connection is tried again.
func TestStream_Unreachable(t *testing.T) {
	t.Parallel()
	// A port that was just closed could be another test's in a moment; this one
	// is nobody's.
	const base = "http://127.0.0.1:1"
	for _, tc := range []struct {
		id       contract.ProviderID
		settings Settings
		want     string
	}{
		{contract.ProviderAnthropic, Settings{AnthropicURL: base}, "Could not reach Anthropic at " + base + ": the connection was refused. Check the network and the base URL in Settings > Providers."},
		{contract.ProviderCustom, Settings{CustomURL: base}, "Could not reach the custom endpoint at " + base + ": the connection was refused. Check the network and the base URL in Settings > Providers."},
		{contract.ProviderOllama, Settings{OllamaURL: base}, "Could not reach Ollama at " + base + ": the connection was refused. Start Ollama (ollama serve), or change its URL in Settings > Providers."},
	} {
		t.Run(string(tc.id), func(t *testing.T) {
			t.Parallel()
			var w waits
			_, err := run(t, provider(t, tc.id, tc.settings), hi, w.hooks())
			if err == nil || err.Error() != tc.want {
				t.Errorf("%v; want %q", err, tc.want)
			}
			if len(w.slept) != DefaultLimits.Retries {
				t.Errorf("%d waits; want %d", len(w.slept), DefaultLimits.Retries)
			}
		})
	}
	t.Run("one-shot asks Ollama twice", func(t *testing.T) {
		t.Parallel()
		var w waits
		_, err := OneShot(t.Context(), provider(t, contract.ProviderOllama, Settings{OllamaURL: base}), "", OneShotRequest{Model: "m", Prompt: "x"}, w.hooks())
		var down *UnreachableError
		if !errors.As(err, &down) || len(w.slept) != 1 || w.slept[0] != 2*time.Second {
			t.Errorf("%v after waits %v; want UnreachableError after 2 s", err, w.slept)
		}
	})
}

// TestStream_Negotiation covers parameters that a server refuses: dropped,
// sent once more, remembered.
func TestStream_Negotiation(t *testing.T) {
	t.Parallel()
	cool := 0.2
	for _, tc := range []struct {
		id    contract.ProviderID
		param string
		model string
	}{
		{contract.ProviderOpenRouter, "stream_options", "m"},
		{contract.ProviderMiniMax, "reasoning_split", "m"},
		{contract.ProviderOpenAI, "prompt_cache_key", "gpt-4o"},
		{contract.ProviderOpenAI, "max_tokens", "chatgpt-5.4"},
		{contract.ProviderAnthropic, "temperature", "m"},
		{"responses", "prompt_cache_key", "o3"},
	} {
		t.Run(string(tc.id)+"/"+tc.param, func(t *testing.T) {
			t.Parallel()
			s, settings := server(t, tc.id, llmtest.Say("one"), llmtest.Say("two"))
			s.Refuse(tc.param)
			p := wireProvider(t, tc.id, settings)
			req := hi
			req.Model, req.Temperature, req.CacheKey = tc.model, &cool, "c"
			for _, want := range []string{"one", "two"} {
				if got, err := run(t, p, req, Hooks{}); err != nil || textSaid(got) != want {
					t.Fatalf("%q, %v; want %q", textSaid(got), err, want)
				}
			}
			if n := len(s.Requests()); n != 3 {
				t.Errorf("%d requests; want 3: refused, sent again, remembered", n)
			}
		})
	}
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		s, settings := server(t, contract.ProviderOpenRouter)
		s.Refuse("stream_options", "max_tokens", "temperature")
		req := hi
		req.Temperature = &cool
		if _, err := run(t, provider(t, contract.ProviderOpenRouter, settings), req, Hooks{}); err == nil || len(s.Requests()) != 2 {
			t.Errorf("%v after %d requests; want an error after 2", err, len(s.Requests()))
		}
	})
	t.Run("other 400", func(t *testing.T) {
		t.Parallel()
		s, settings := server(t, contract.ProviderOpenRouter, llmtest.Turn{Status: 400, Body: `{"error":"max_tokens is too large"}`})
		if _, err := run(t, provider(t, contract.ProviderOpenRouter, settings), hi, Hooks{}); err == nil || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests; want an error after 1", err, len(s.Requests()))
		}
	})
}

// TestStream_NoKeyInTexts says that a key which a server repeats reaches
// nobody, and that bodies are bounded.
func TestStream_NoKeyInTexts(t *testing.T) {
	t.Parallel()
	_, settings := server(t, contract.ProviderOpenRouter, llmtest.Turn{Status: 401, Body: "bad key " + testKey + strings.Repeat("\u00e9", maxErrorBodyBytes)})
	_, err := run(t, provider(t, contract.ProviderOpenRouter, settings), hi, Hooks{})
	if err == nil || strings.Contains(err.Error(), testKey) || !strings.HasPrefix(err.Error(), "OpenRouter API error (401): bad key [key]") {
		t.Errorf("%.80v", err)
	}
	if n := len(err.Error()); n > maxErrorBodyBytes+64 {
		t.Errorf("the text has %d bytes", n)
	}
}

// TestStream_MissingKey covers providers that need a key and got none.
func TestStream_MissingKey(t *testing.T) {
	t.Parallel()
	for _, id := range []contract.ProviderID{contract.ProviderAnthropic, contract.ProviderOpenAI, contract.ProviderOpenRouter, contract.ProviderMiniMax} {
		err := provider(t, id, Settings{}).Stream(t.Context(), "", hi, func(Chunk) error { return nil })
		var missing *KeyError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), "Settings > Providers") {
			t.Errorf("%s: %v; want a KeyError", id, err)
		}
	}
}

// TestStream_NotAStream covers servers that answer 200 with something else.
func TestStream_NotAStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, contentType, body, want string }{
		{"web page", "text/html; charset=utf-8", "<html>log in</html>", "The custom endpoint answered with a web page instead of a stream. Check its base URL in Settings > Providers."},
		{"error object", "application/json", `{"error":{"message":"model is loading"}}`, "model is loading"},
		{"whole answer", "application/json", `{"choices":[{"message":{"content":"x"}}]}`, "The custom endpoint answered without streaming"},
		{"stream with a wrong type", "application/json", "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n", ""},
		{"empty", "application/json", "", contract.TextIncompleteStream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.Write([]byte(tc.body)) // The client reads it.
			}))
			t.Cleanup(s.Close)
			got, err := run(t, provider(t, contract.ProviderCustom, Settings{CustomURL: s.URL}), hi, Hooks{})
			if tc.want == "" && (err != nil || textSaid(got) != "x") || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%q, %v; want %q", textSaid(got), err, tc.want)
			}
		})
	}
}

// TestOllama covers what only the native wire has.
func TestOllama(t *testing.T) {
	t.Parallel()
	numCtx := func(t *testing.T, s *llmtest.Server) int {
		t.Helper()
		var body struct {
			Options struct {
				NumCtx int `json:"num_ctx"`
			} `json:"options"`
		}
		all := s.Requests()
		llmtest.Body(t, all[len(all)-1], &body)
		return body.Options.NumCtx
	}
	for _, tc := range []struct {
		name  string
		model llmtest.OllamaModel
		limit int
		want  int
	}{
		{"the model's own window", llmtest.OllamaModel{ContextLength: 4096}, 0, 4096},
		{"capped", llmtest.OllamaModel{ContextLength: 131072}, 0, 16384},
		{"own cap", llmtest.OllamaModel{ContextLength: 131072}, 32768, 32768},
		{"floor of the cap", llmtest.OllamaModel{ContextLength: 131072}, 100, 2048},
		{"window not told", llmtest.OllamaModel{}, 0, 8192},
		{"show fails", llmtest.OllamaModel{ShowStatus: 500}, 0, 8192},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewOllama(t, tc.model, llmtest.Say("a"), llmtest.Say("b"))
			p := provider(t, contract.ProviderOllama, Settings{OllamaURL: s.URL, OllamaNumCtxCap: tc.limit})
			for range 2 {
				if _, err := run(t, p, hi, Hooks{}); err != nil {
					t.Fatal(err)
				}
			}
			if got := numCtx(t, s); got != tc.want {
				t.Errorf("num_ctx %d; want %d", got, tc.want)
			}
			if shows := len(s.All()) - len(s.Requests()); tc.model.ShowStatus == 0 && shows != 1 {
				t.Errorf("%d questions about the model; want 1", shows)
			}
		})
	}
	t.Run("no tools", func(t *testing.T) {
		t.Parallel()
		s := llmtest.NewOllama(t, llmtest.OllamaModel{Capabilities: []string{"completion"}})
		req := hi
		req.Tools = tools
		_, err := run(t, provider(t, contract.ProviderOllama, Settings{OllamaURL: s.URL}), req, Hooks{})
		if err == nil || !strings.Contains(err.Error(), "cannot call tools") || len(s.Requests()) != 0 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	})
	for _, status := range []int{404, 405} {
		t.Run("compatible wire", func(t *testing.T) {
			t.Parallel()
			s := llmtest.NewOllama(t, llmtest.OllamaModel{}, llmtest.Say("ok")).WithoutNativeChat(status)
			var log []string
			got, err := run(t, provider(t, contract.ProviderOllama, Settings{OllamaURL: s.URL}), hi, Hooks{Log: func(l string) { log = append(log, l) }})
			if err != nil || textSaid(got) != "ok" || len(log) != 1 {
				t.Errorf("%q, %v, log %q", textSaid(got), err, log)
			}
		})
	}
	t.Run("a missing model is no missing wire", func(t *testing.T) {
		t.Parallel()
		s := llmtest.NewOllama(t, llmtest.OllamaModel{}, llmtest.Turn{Status: 404, Body: `{"error":"model 'm' not found"}`})
		_, err := run(t, provider(t, contract.ProviderOllama, Settings{OllamaURL: s.URL}), hi, Hooks{})
		if err == nil || !strings.Contains(err.Error(), "Ollama API error (404): ") || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	})
}
