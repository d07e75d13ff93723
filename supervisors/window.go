package supervisors

import "time"

// Window is a restart window: at most Max restarts inside any span of Within.
// It is pure, the clock is passed in, and it is not safe for concurrent use.
//
// Backoff is the wait before each restart, by its number inside the window:
// the first restart waits Backoff[0], and the last entry repeats. One entry is
// a fixed wait, none is no wait. Max 0 means never restarted.
//
// Source: actors.md 3 (Policies) and contract.md 7: stamps of Within or older
// are dropped, a stamp is pushed while fewer than Max are left.
type Window struct {
	Max     int
	Within  time.Duration
	Backoff []time.Duration

	stamps []time.Time
}

// Allow records one end at now and says whether a restart is allowed, and after
// which wait. A refusal records nothing, so ok stays false until the oldest
// restart leaves the window or Reset is called.
func (w *Window) Allow(now time.Time) (wait time.Duration, ok bool) {
	w.drop(now)
	if len(w.stamps) >= w.Max {
		return 0, false
	}
	w.stamps = append(w.stamps, now)
	if len(w.Backoff) == 0 {
		return 0, true
	}
	return w.Backoff[min(len(w.stamps), len(w.Backoff))-1], true
}

// InWindow counts the restarts that are still inside the window at now.
func (w *Window) InWindow(now time.Time) int {
	w.drop(now)
	return len(w.stamps)
}

// Reset forgets every restart.
func (w *Window) Reset() { w.stamps = nil }

// fresh returns a window with the same budget and no history.
func (w Window) fresh() Window {
	w.stamps = nil
	return w
}

func (w *Window) drop(now time.Time) {
	keep := w.stamps[:0]
	for _, s := range w.stamps {
		if now.Sub(s) < w.Within {
			keep = append(keep, s)
		}
	}
	w.stamps = keep
}

// The windows of the Policies table. Source: actors.md 3.
var (
	// windowCore: store, secret and bus.
	windowCore = Window{Max: 5, Within: 30 * time.Second}
	// windowHost: the sidecar and each engine.
	windowHost = Window{Max: 3, Within: time.Minute, Backoff: []time.Duration{500 * time.Millisecond}}
	// windowConversation: each awake conversation.
	windowConversation = Window{Max: 3, Within: time.Minute}
	// windowMCP: each MCP client.
	windowMCP = Window{Max: 5, Within: time.Minute, Backoff: []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
	}}
	// windowDoor: bridge and mcp_server; the wait is for the port.
	windowDoor = Window{Max: 5, Within: 30 * time.Second, Backoff: []time.Duration{time.Second}}
	// windowInspect: the ops view.
	windowInspect = Window{Max: 5, Within: time.Minute}
	// windowSupervisor: the dynamic supervisors.
	windowSupervisor = Window{Max: 5, Within: time.Minute}
	// windowNever: terminals and viewers.
	windowNever = Window{}
)
