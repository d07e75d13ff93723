package supervisors

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestWindow_Allow(t *testing.T) {
	t.Parallel()
	type step struct {
		at   time.Duration
		wait time.Duration
		ok   bool
		in   int
	}
	half := 500 * time.Millisecond
	for _, tc := range []struct {
		name  string
		w     Window
		steps []step
	}{
		{name: "fourth end inside the window is refused", w: windowHost.fresh(), steps: []step{
			{0, half, true, 1},
			{time.Second, half, true, 2},
			{2 * time.Second, half, true, 3},
			{3 * time.Second, 0, false, 3},
			{59 * time.Second, 0, false, 3},
		}},
		{name: "a stamp of exactly 60 s is dropped", w: windowHost.fresh(), steps: []step{
			{0, half, true, 1},
			{time.Second, half, true, 2},
			{2 * time.Second, half, true, 3},
			{60*time.Second - 1, 0, false, 3},
			{60 * time.Second, half, true, 3},
		}},
		{name: "sliding, not fixed", w: windowHost.fresh(), steps: []step{
			{0, half, true, 1},
			{50 * time.Second, half, true, 2},
			{55 * time.Second, half, true, 3},
			{61 * time.Second, half, true, 3},
			{62 * time.Second, 0, false, 3},
		}},
		{name: "mcp doubles and then repeats", w: windowMCP.fresh(), steps: []step{
			{0, time.Second, true, 1},
			{2 * time.Second, 2 * time.Second, true, 2},
			{5 * time.Second, 4 * time.Second, true, 3},
			{10 * time.Second, 8 * time.Second, true, 4},
			{20 * time.Second, 8 * time.Second, true, 5},
			{30 * time.Second, 0, false, 5},
		}},
		{name: "mcp starts over after a quiet minute", w: windowMCP.fresh(), steps: []step{
			{0, time.Second, true, 1}, {time.Second, 2 * time.Second, true, 2}, {62 * time.Second, time.Second, true, 1},
		}},
		{name: "never restarted", w: windowNever.fresh(), steps: []step{{0, 0, false, 0}, {time.Hour, 0, false, 0}}},
		{name: "core has no wait", w: windowCore.fresh(), steps: []step{{0, 0, true, 1}}},
		{name: "a clock that steps back forgets nothing", w: windowConversation.fresh(), steps: []step{
			{time.Hour, 0, true, 1}, {0, 0, true, 2}, {time.Second, 0, true, 3}, {2 * time.Second, 0, false, 3},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			w := tc.w
			for i, s := range tc.steps {
				wait, ok := w.Allow(base.Add(s.at))
				if in := w.InWindow(base.Add(s.at)); wait != s.wait || ok != s.ok || in != s.in {
					t.Fatalf("step %d at %v: %v, %v, %d in window; want %v, %v, %d", i, s.at, wait, ok, in, s.wait, s.ok, s.in)
				}
			}
		})
	}
}

func TestWindow_Reset(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := windowHost.fresh()
	for range w.Max {
		w.Allow(now)
	}
	if _, ok := w.Allow(now); ok {
		t.Fatal("a spent window allowed a restart")
	}
	w.Reset()
	if wait, ok := w.Allow(now); !ok || wait != windowHost.Backoff[0] || w.InWindow(now) != 1 {
		t.Fatalf("after Reset: %v, %v, %d in window; want the first wait again", wait, ok, w.InWindow(now))
	}
}

func TestWindow_FreshSharesNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := windowHost.fresh()
	a.Allow(now)
	b := a.fresh()
	b.Allow(now)
	b.Allow(now)
	if a.InWindow(now) != 1 || b.InWindow(now) != 2 {
		t.Fatalf("in window %d and %d; want 1 and 2", a.InWindow(now), b.InWindow(now))
	}
}

// Whatever the order of ends, no span of Within ever holds more than Max
// allowed restarts, and a refusal always has Max of them behind it.
func TestWindow_NeverMoreThanMax(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := Window{Max: 1 + r.IntN(6), Within: time.Duration(1+r.IntN(90)) * time.Second}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var allowed []time.Time
		for range 200 {
			now = now.Add(time.Duration(r.IntN(20_000)) * time.Millisecond)
			inside := 0
			for _, s := range allowed {
				if now.Sub(s) < w.Within {
					inside++
				}
			}
			if _, ok := w.Allow(now); ok != (inside < w.Max) {
				t.Fatalf("seed %d: Allow = %v with %d of %d inside %v", seed, ok, inside, w.Max, w.Within)
			} else if ok {
				allowed = append(allowed, now)
			}
		}
	}
}
