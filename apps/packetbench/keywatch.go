package main

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// How often the key files are looked at, and how long a change must have
// settled before windows are told. Source: contract.md 8.
const (
	keyLook   = 2 * time.Second
	keyQuiet  = 500 * time.Millisecond
	keyForced = 5 * time.Second
)

// settling is a trailing debounce with a bound: it is over when nothing has
// changed for keyQuiet, or when changes go on for keyForced. The clock is passed
// in.
type settling struct{ first, last time.Time }

func (s *settling) changed(now time.Time) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
}

func (s *settling) waits() bool { return !s.first.IsZero() }

// over reports, once for each run of changes, that it is time to tell.
func (s *settling) over(now time.Time) bool {
	if !s.waits() || now.Sub(s.last) < keyQuiet && now.Sub(s.first) < keyForced {
		return false
	}
	*s = settling{}
	return true
}

// seen is what tells one content of a file from the next without reading it.
type seen struct {
	there    bool
	size     int64
	modified time.Time
}

func look(path string) seen {
	fi, err := os.Stat(path)
	if err != nil {
		return seen{}
	}
	return seen{there: true, size: fi.Size(), modified: fi.ModTime()}
}

// keyWatch tells windows to probe again when somebody else than this service has
// changed the key files of the data directory: a restored backup, another
// program's copy.
//
// Deliberate: it looks every 2 s instead of asking the system, which would cost
// a dependency and three implementations for two calls of stat. It leaves
// ~/.claude and ~/.codex alone: no row of this version reads a credential there.
// Gap: those folders belong to the PTY rows, with which a later issue watches
// them.
type keyWatch struct {
	paths   []string
	publish func(contract.AuthProbe)
	// every and step are how long to wait between looks, at rest and while a
	// change settles.
	every, step time.Duration
	now         func() time.Time

	settling settling
	last     map[string]seen

	mu sync.Mutex
	// own is what the service itself left there.
	own map[string]seen
}

func newKeyWatch(publish func(contract.AuthProbe), paths ...string) *keyWatch {
	w := &keyWatch{
		paths: paths, publish: publish, every: keyLook, step: keyQuiet / 2, now: time.Now,
		last: map[string]seen{}, own: map[string]seen{},
	}
	for _, p := range paths {
		w.last[p] = look(p)
	}
	return w
}

// wrote is called when the service itself has changed a key file; whoever asked
// for that tells the windows. Safe for concurrent use.
func (w *keyWatch) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.paths {
		w.own[p] = look(p)
	}
}

// tick looks once and reports whether it is time to tell.
func (w *keyWatch) tick() bool {
	now := w.now()
	for _, p := range w.paths {
		is := look(p)
		if is == w.last[p] {
			continue
		}
		w.last[p] = is
		w.mu.Lock()
		left, known := w.own[p]
		delete(w.own, p) // It may be put back later, by somebody else.
		w.mu.Unlock()
		if !known || left != is {
			w.settling.changed(now)
		}
	}
	return w.settling.over(now)
}

// run looks until ctx ends.
func (w *keyWatch) run(ctx context.Context) {
	timer := time.NewTimer(w.every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if w.tick() {
			for _, probe := range keyProbes() {
				w.publish(probe)
			}
		}
		if w.settling.waits() {
			timer.Reset(w.step)
		} else {
			timer.Reset(w.every)
		}
	}
}

// keyProbes are the badges that depend on a key. The file is encrypted, so all
// of them are told: which key has changed is not seen from outside.
func keyProbes() []contract.AuthProbe {
	var out []contract.AuthProbe
	rows := slices.Clone(contract.Rows)
	if row, err := contract.RowForProvider(contract.ProviderMiniMaxAPI); err == nil {
		rows = append(rows, row)
	}
	for _, r := range rows {
		if r.Account != "" && !slices.Contains(out, r.Probe) {
			out = append(out, r.Probe)
		}
	}
	return out
}

// watchKeys starts the watch. It is the last step: nothing waits for it.
func (s *service) watchKeys() error {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.keys.run(ctx)
	}()
	s.endWatch = func() { cancel(); <-ended }
	return nil
}

func (s *service) unwatchKeys(context.Context) error {
	s.endWatch()
	return nil
}

// authChanged tells every window to probe a badge again.
func (s *service) authChanged(probe contract.AuthProbe) {
	body, err := contract.Marshal(contract.ProviderAuth{Provider: probe})
	if err == nil {
		_, err = s.events.Publish(contract.SubjectProviderAuth, "", body)
	}
	if err != nil {
		s.logger.Warn("badge change not published", "probe", probe, "reason", err)
	}
}
