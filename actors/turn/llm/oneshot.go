package llm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// What a one-shot request sends. Source: runtime.md 4.
const (
	OneShotMaxTokens   = 8192
	OneShotTemperature = 0.2
)

// ollamaRetryWait is the pause before the one retry of an Ollama that does not
// answer. Source: runtime.md 4.
const ollamaRetryWait = 2 * time.Second

// OneShotRequest is one question of a feature: one user message, no tools, no
// thinking.
type OneShotRequest struct {
	Model  string
	System string
	Prompt string
	// SessionID is the cache key.
	SessionID string
	// MaxTokens is in tokens; 0 means OneShotMaxTokens.
	MaxTokens int
}

// OneShotAnswer is what came back. Usage is the vendor's counts.
type OneShotAnswer struct {
	Text  string
	Usage Done
}

// UnreachableError is an Ollama that did not answer twice. No other provider
// is asked in its place.
type UnreachableError struct{ Err error }

// Error returns the sentence of its cause, which says what to do.
func (e *UnreachableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// OneShot asks one question and waits for the whole answer. It shares the
// retries of Stream, except for an Ollama that cannot be reached: one retry
// after 2 s, then *UnreachableError. An answer without text is not an error.
// Source: runtime.md 4.
func OneShot(ctx context.Context, p Provider, key string, q OneShotRequest, h Hooks) (OneShotAnswer, error) {
	temperature := OneShotTemperature
	req := Request{
		Model: q.Model, System: q.System, Messages: []Message{Text(RoleUser, q.Prompt)},
		MaxTokens: OneShotMaxTokens, Temperature: &temperature, CacheKey: q.SessionID,
	}
	if q.MaxTokens > 0 {
		req.MaxTokens = q.MaxTokens
	}
	var a OneShotAnswer
	var text strings.Builder
	emit := func(c Chunk) error {
		switch c := c.(type) {
		case TextDelta:
			text.WriteString(c.Text)
		case Done:
			a.Usage = c
		}
		return nil
	}
	var err error
	if p.ID() == contract.ProviderOllama {
		err = ollamaOneShot(ctx, p, key, req, h, emit)
	} else {
		err = Stream(ctx, p, key, req, h, emit)
	}
	if err != nil {
		return OneShotAnswer{}, err
	}
	a.Text = text.String()
	return a, nil
}

// ollamaOneShot leaves the waiting for a daemon that is down to its own rule:
// two tries, 2 s apart. Other failures are retried by Stream.
func ollamaOneShot(ctx context.Context, p Provider, key string, req Request, h Hooks, emit func(Chunk) error) error {
	for last := false; ; last = true {
		err := Stream(ctx, &unreachable{p}, key, req, h, emit)
		var down *UnreachableError
		if !errors.As(err, &down) || last {
			return err
		}
		if err := h.sleep(ctx, ollamaRetryWait); err != nil {
			return err
		}
	}
}

// unreachable marks a connection that never began as final for Stream.
type unreachable struct{ Provider }

func (u *unreachable) stream(ctx context.Context, key string, req Request, h Hooks, emit func(Chunk) error) error {
	err := streamOnce(ctx, u.Provider, key, req, h, emit)
	var broken *ConnectError
	if errors.As(err, &broken) && !broken.Began {
		return &UnreachableError{Err: errors.New(broken.Error())}
	}
	return err
}
