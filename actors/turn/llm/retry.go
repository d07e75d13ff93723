package llm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/packetbench/packetbench/config"
)

// statusOverloaded is what some vendors answer when a model is busy (F12).
const statusOverloaded = 529

// Limits bounds one Stream. The zero value means DefaultLimits, field by
// field.
type Limits struct {
	// Idle is how long a provider may send nothing, connecting included.
	Idle time.Duration
	// Tail is how long a stream that announced its finish may still take to
	// send its token counts and its end.
	Tail time.Duration
	// Retries is how often a request is tried again; negative means never.
	Retries int
	// FirstWait doubles with every retry up to MaxWait; the wait is a random
	// part of it, so that parallel agents spread (F13).
	FirstWait, MaxWait time.Duration
	// MaxRetryAfter is the longest wait a provider may ask for.
	MaxRetryAfter time.Duration
	// Budget bounds all attempts and waits together: nothing is begun after it.
	Budget time.Duration
}

// DefaultLimits are those of runtime.md 2 and 3; Tail is ours.
var DefaultLimits = Limits{
	Idle: config.StreamIdle, Tail: 10 * time.Second, Retries: 4,
	FirstWait: time.Second, MaxWait: 30 * time.Second,
	MaxRetryAfter: 60 * time.Second, Budget: 120 * time.Second,
}

// Hooks is what Stream tells its caller besides chunks, and what a test
// replaces. Every field may be nil.
type Hooks struct {
	// RateLimited is called for each 429 and 529 answer, before the wait and
	// also when none follows. after is what Retry-After asked for in seconds,
	// nil without one; message is the provider's text.
	RateLimited func(after *float64, message string)
	// Log takes one line about something survived, such as a fallback.
	Log    func(line string)
	Limits Limits
	// Now is the clock.
	Now func() time.Time
	// Sleep waits, or returns the context's cause as soon as it ends.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (h Hooks) limits() Limits {
	l := h.Limits
	if l.Idle <= 0 {
		l.Idle = DefaultLimits.Idle
	}
	if l.Tail <= 0 {
		l.Tail = DefaultLimits.Tail
	}
	if l.Retries == 0 {
		l.Retries = DefaultLimits.Retries
	}
	if l.FirstWait <= 0 {
		l.FirstWait = DefaultLimits.FirstWait
	}
	if l.MaxWait <= 0 {
		l.MaxWait = DefaultLimits.MaxWait
	}
	if l.MaxRetryAfter <= 0 {
		l.MaxRetryAfter = DefaultLimits.MaxRetryAfter
	}
	if l.Budget <= 0 {
		l.Budget = DefaultLimits.Budget
	}
	return l
}

func (h Hooks) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}

func (h Hooks) log(line string) {
	if h.Log != nil {
		h.Log(line)
	}
}

func (h Hooks) sleep(ctx context.Context, d time.Duration) error {
	if h.Sleep != nil {
		return h.Sleep(ctx, d)
	}
	return pause(ctx, d)
}

func pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hooked is a provider of this package: it takes the hooks along.
type hooked interface {
	stream(ctx context.Context, key string, req Request, h Hooks, emit func(Chunk) error) error
}

// Stream sends a request through p and tries again, within h.Limits, while
// nothing of the answer has been emitted and the failure is one that passes:
// 429, 529, 500, 502, 503, 504, a refused or closed connection, a connect
// timeout. Retry-After replaces the computed wait, with up to one FirstWait on
// top. The last failure is returned as it is, a cancelled context as its
// cause, at once, also out of a wait. Silence (IdleError) is not tried again:
// its limit is as long as the whole budget. Source: runtime.md 3 (F11, F12, F13).
func Stream(ctx context.Context, p Provider, key string, req Request, h Hooks, emit func(Chunk) error) error {
	limits := h.limits()
	// The library's interval is the middle of its range, ours the end: half of
	// each with a factor of 1 draws from zero to the whole.
	waits := &backoff.ExponentialBackOff{
		InitialInterval: limits.FirstWait / 2, MaxInterval: limits.MaxWait / 2,
		Multiplier: 2, RandomizationFactor: 1,
	}
	until := h.now().Add(limits.Budget)
	emitted := false
	send := func(c Chunk) error {
		emitted = true
		return emit(c)
	}
	for attempt := 0; ; attempt++ {
		err := streamOnce(ctx, p, key, req, h, send)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		status, after := failureStatus(err)
		if (status == 429 || status == statusOverloaded) && h.RateLimited != nil {
			h.RateLimited(seconds(after), err.Error())
		}
		if emitted || attempt >= limits.Retries || !passes(err, status) {
			return err
		}
		left := until.Sub(h.now())
		wait := waits.NextBackOff()
		if after != nil && *after > 0 {
			if *after > limits.MaxRetryAfter || *after > left {
				return err
			}
			// Conversations that were told the same second still spread.
			wait = min(*after+rand.N(limits.FirstWait), left)
		}
		if wait > left {
			return err
		}
		if err := h.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func streamOnce(ctx context.Context, p Provider, key string, req Request, h Hooks, emit func(Chunk) error) error {
	if own, ok := p.(hooked); ok {
		return own.stream(ctx, key, req, h, emit)
	}
	return p.Stream(ctx, key, req, emit)
}

// failureStatus is the HTTP status a failure stands for, 0 for none, and the wait
// the provider asked for.
func failureStatus(err error) (int, *time.Duration) {
	var answered *APIError
	if errors.As(err, &answered) {
		return answered.Status, answered.RetryAfter
	}
	var streamed *StreamError
	if errors.As(err, &streamed) {
		return streamed.Status, nil
	}
	return 0, nil
}

// passes reports whether the same request may succeed in a moment.
func passes(err error, status int) bool {
	switch status {
	case 429, statusOverloaded, 500, 502, 503, 504:
		return true
	}
	var broken *ConnectError
	return errors.As(err, &broken) && broken.Transient
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}

// parseSeconds reads a Retry-After of seconds; fractions occur.
func parseSeconds(s string) (time.Duration, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(f) || f < 0 {
		return 0, strconv.ErrRange
	}
	return time.Duration(min(f, math.MaxInt32) * float64(time.Second)), nil
}
