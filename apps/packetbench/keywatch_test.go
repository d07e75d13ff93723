package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

var t0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }

// TestSettling: told 500 ms after the last change, or 5 s after the first.
func TestSettling(t *testing.T) {
	t.Parallel()
	type look struct {
		at      int // ms
		changed bool
		tell    bool
	}
	var busy []look
	for at := 0; at < 5000; at += 250 {
		busy = append(busy, look{at, true, false})
	}
	for _, tc := range []struct {
		name  string
		looks []look
	}{
		{"nothing", []look{{0, false, false}, {9000, false, false}}},
		{"once", []look{{0, true, false}, {250, false, false}, {499, false, false}, {500, false, true}, {1500, false, false}}},
		{"again", []look{{0, true, false}, {400, true, false}, {800, false, false}, {900, false, true}, {2000, true, false}, {2500, false, true}}},
		{"without end", append(busy, look{5000, true, true}, look{5250, true, false}, look{5750, false, true})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var s settling
			for _, l := range tc.looks {
				if l.changed {
					s.changed(ms(l.at))
				}
				if got := s.over(ms(l.at)); got != l.tell {
					t.Fatalf("at %d ms: %v", l.at, got)
				}
			}
		})
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKeyWatch_Tick: what appears, changes or goes is told; what the service
// wrote itself is not, and what is put back after that is.
func TestKeyWatch_Tick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, identity := filepath.Join(dir, "keys.age"), filepath.Join(dir, "keys.identity")
	w := newKeyWatch(nil, keys, identity)
	at := 0
	w.now = func() time.Time { return ms(at) }
	told := func() bool {
		t.Helper()
		first := w.tick()
		at += 500
		if first {
			t.Fatal("told before it settled")
		}
		got := w.tick()
		at += 500
		return got
	}
	expect := func(what string, want bool) {
		t.Helper()
		if got := told(); got != want {
			t.Fatalf("%s: told %v", what, got)
		}
	}
	expect("nothing", false)
	put(t, keys, "one")
	expect("a new file", true)
	expect("no change", false)
	put(t, keys, "three")
	expect("another size", true)
	kept := look(keys).modified
	if err := os.Chtimes(keys, t0, t0); err != nil {
		t.Fatal(err)
	}
	expect("another time", true)
	put(t, identity, "id")
	expect("the identity", true)
	put(t, keys, "own")
	w.wrote()
	expect("our own write", false)
	own := look(keys).modified
	put(t, keys, "other")
	if err := os.Chtimes(keys, kept, kept); err != nil {
		t.Fatal(err)
	}
	expect("another's after ours", true)
	put(t, keys, "own")
	if err := os.Chtimes(keys, own, own); err != nil {
		t.Fatal(err)
	}
	expect("ours put back by another", true)
	if err := os.Remove(keys); err != nil {
		t.Fatal(err)
	}
	expect("a removal", true)
}

// TestKeyWatch_Run tells every badge that depends on a key, once, and ends with
// its context.
func TestKeyWatch_Run(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.age")
	got := make(chan contract.AuthProbe, 64)
	w := newKeyWatch(func(p contract.AuthProbe) { got <- p }, path)
	w.every, w.step = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.run(ctx) }()
	put(t, path, "keys")
	want := []contract.AuthProbe{"anthropic", "openai", "openai-agents", "openrouter", "minimax", "custom", "minimax-api"}
	var probes []contract.AuthProbe
	for range want {
		select {
		case p := <-got:
			probes = append(probes, p)
		case <-time.After(30 * time.Second):
			t.Fatalf("told only %v", probes)
		}
	}
	if !slices.Equal(probes, want) {
		t.Errorf("told %v, want %v", probes, want)
	}
	cancel()
	<-ended
	if len(got) != 0 {
		t.Errorf("told %d more", len(got))
	}
}
