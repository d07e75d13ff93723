package bus

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
)

// noise is n bytes that look like nothing, the same at each run.
func noise(n int) []byte {
	var out []byte
	for sum := sha256.Sum256([]byte("noise")); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return out[:n]
}

// spoiling is what a disk, or somebody, may do to a file of the log.
type spoiling struct {
	name, suffix string
	// kill: the run before ended without an index and without its last number.
	kill bool
	// aside: the log is not used any more. head is the number it goes on behind.
	aside  bool
	head   int
	change func([]byte) []byte
}

// errorLines are the errors in a log.
func errorLines(said string) []string {
	var out []string
	for line := range strings.Lines(said) {
		if strings.Contains(line, "level=ERROR") {
			out = append(out, line)
		}
	}
	return out
}

var damages = []spoiling{
	{name: "nothing", head: 200, suffix: ".blk", change: func(b []byte) []byte { return b }},
	{name: "first half random", head: 200, aside: true, suffix: ".blk", change: func(b []byte) []byte { copy(b, noise(len(b)/2)); return b }},
	{name: "whole file random", head: 200, suffix: ".blk", change: func(b []byte) []byte { return noise(len(b)) }},
	{name: "truncated to half", head: 200, aside: true, suffix: ".blk", change: func(b []byte) []byte { return b[:len(b)/2] }},
	{name: "40 bytes in the middle", head: 200, aside: true, suffix: ".blk", change: func(b []byte) []byte { copy(b[len(b)/2:], noise(40)); return b }},
	{name: "40 bytes at the end", head: 200, aside: true, suffix: ".blk", change: func(b []byte) []byte { copy(b[len(b)-40:], noise(40)); return b }},
	{name: "zero length", head: 200, suffix: ".blk", change: func([]byte) []byte { return nil }},
	{name: "index random", head: 200, suffix: "index.db", change: func(b []byte) []byte { return noise(len(b)) }},
	{name: "index of zero length", head: 200, suffix: "index.db", change: func([]byte) []byte { return nil }},
	{name: "description random", head: 200, suffix: "meta.inf", change: func(b []byte) []byte { return noise(len(b)) }},
	{name: "first half random after a kill", head: 0, suffix: ".blk", kill: true, change: func(b []byte) []byte { copy(b, noise(len(b)/2)); return b }},
	{name: "whole file random after a kill", head: 0, suffix: ".blk", kill: true, change: func(b []byte) []byte { return noise(len(b)) }},
	{name: "truncated to half after a kill", head: 100, suffix: ".blk", kill: true, change: func(b []byte) []byte { return b[:len(b)/2] }},
	{name: "40 bytes in the middle after a kill", head: 100, suffix: ".blk", kill: true, change: func(b []byte) []byte { copy(b[len(b)/2:], noise(40)); return b }},
	{name: "zero length after a kill", head: 0, suffix: ".blk", kill: true, change: func([]byte) []byte { return nil }},
}

func spoil(t *testing.T, dir, suffix string, change func([]byte) []byte) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		return os.WriteFile(path, change(b), 0o600)
	})
	if err != nil || n == 0 {
		t.Fatalf("%d files %s: %v", n, suffix, err)
	}
}

func forgetRun(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, "index.db") || filepath.Base(path) == headFile) {
			return os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A log whose files were damaged between two runs takes events, keeps each once
// under its number, and tells them to its readers, in this run and the next.
func TestLog_DamagedFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range damages {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "events")
			r := newRig(t, LogOptions{}, func(o *ServerOptions) { o.Dir = dir })
			r.publishAll(0, 200)
			r.settled(10 * time.Second)
			r.stop()
			if tc.kill {
				forgetRun(t, dir)
			}
			spoil(t, dir, tc.suffix, tc.change)

			var said safeBuffer
			again := func(o *ServerOptions) { o.Dir, o.Logger = dir, slog.New(levelled(&said, slog.LevelWarn)) }
			r = newRig(t, LogOptions{AckWait: time.Second}, again)
			head := int(r.log.Head())
			if head != tc.head {
				t.Errorf("head %d, want %d", head, tc.head)
			}
			kept, err := filepath.Glob(dir + ".corrupt-*")
			if err != nil || len(kept) != len(errorLines(said.String())) || (len(kept) == 1) != tc.aside {
				t.Fatalf("kept %q %v: %s", kept, err, said.String())
			}
			if tc.aside && (!strings.Contains(errorLines(said.String())[0], kept[0]) || !r.log.setAside.Load()) {
				t.Fatalf("kept %q, said %s", kept, said.String())
			}
			r.publishAll(head, 50)
			r.settled(10 * time.Second)
			r.told(head, 50)
			if r.log.setAside.Load() {
				t.Error("a log that works counts as the second failure in a row")
			}
			r.stop()

			r = newRig(t, LogOptions{}, again)
			if now := int(r.log.Head()); now != head+50 {
				t.Fatalf("head %d after the next start, was %d", now, head+50)
			}
			r.told(head, 50)
		})
	}
}

// damagedLog leaves a log of 200 events whose file does not fit its index, and
// that does not know its last number.
func damagedLog(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "events")
	r := newRig(t, LogOptions{}, func(o *ServerOptions) { o.Dir = dir })
	r.publishAll(0, 200)
	r.settled(10 * time.Second)
	r.stop()
	if got := readHead(dir); got != 200 {
		t.Fatalf("noted %d", got)
	}
	if err := os.Remove(filepath.Join(dir, headFile)); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, ".blk", func(b []byte) []byte { copy(b, noise(len(b)/2)); return b })
	return dir
}

// A log that looks well and answers, but stores nothing: the first events find
// it, wait, and are stored once in the log after it.
func TestActor_DamagedLogIsFoundByItsFirstEvent(t *testing.T) {
	dir := damagedLog(t)
	n := newHouse(t, 45*time.Second)
	l := NewLog(LogOptions{})
	var said safeBuffer
	spawnBus(t, n, l, func(o *ServerOptions) {
		o.Dir, o.MaxBytes, o.Logger = dir, 256<<20, slog.New(levelled(&said, slog.LevelError))
	})
	if err := ready(n); err != nil {
		t.Fatal(err)
	}
	if kept, _ := filepath.Glob(dir + ".corrupt-*"); len(kept) != 0 {
		t.Fatal("the server tells this damage at its start now; find another that it does not")
	}
	head := int(l.Head())
	for i := range 50 {
		if seq, err := l.Publish(subject(t, "c1"), "t-1", fmt.Appendf(nil, `"%d"`, head+i)); err != nil || seq != uint64(head+i+1) {
			t.Fatalf("%d: %d %v", i, seq, err)
		}
	}
	eventually(t, 30*time.Second, func() bool { f := l.Figures(); return f.Up && f.InFlight+f.Waiting == 0 }, func() string { return fmt.Sprintf("%+v", l.Figures()) })
	kept, err := filepath.Glob(dir + ".corrupt-*")
	if lines := errorLines(said.String()); err != nil || len(kept) != 1 || len(lines) != 1 || !strings.Contains(lines[0], kept[0]) {
		t.Fatalf("kept %q %v: %s", kept, err, lines)
	}
	// Trouble is waited out, not tried again in a spin.
	if f := l.Figures(); f.Resyncs > 1_000 {
		t.Errorf("%d resyncs", f.Resyncs)
	}
	wake := make(chan struct{}, 1)
	c := l.Follow([]string{">"}, uint64(head)+1, wake)
	defer c.Close()
	events, gap := readUntil(t, c, wake, 50)
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, events, head)
	if answer, err := n.call(msg.Bus, msg.Drain{}, 5); err != nil || answer.(msg.Done).Err != nil {
		t.Fatalf("drain: %v %v", answer, err)
	}
	if got := readHead(dir); got != l.Head() {
		t.Errorf("noted %d, head %d", got, l.Head())
	}
}

// The log after one that was set aside does not work either: the start fails in
// words and leaves the folder alone.
func TestStart_SecondDamageInARow(t *testing.T) {
	t.Parallel()
	dir := damagedLog(t)
	if err := writeHead(dir, 200); err != nil {
		t.Fatal(err)
	}
	l := NewLog(LogOptions{})
	l.setAside.Store(true)
	s, err := start(t.Context(), ServerOptions{NoListen: true, Dir: dir, MaxBytes: 256 << 20, MaxAge: time.Hour, Logger: slog.New(slog.DiscardHandler)}, l)
	if err == nil {
		s.stop()
	}
	var bad *DamagedError
	if !errors.As(err, &bad) || bad.Dir != dir || !strings.Contains(err.Error(), dir) {
		t.Fatalf("%v", err)
	}
	if kept, _ := filepath.Glob(dir + ".corrupt-*"); len(kept) != 0 {
		t.Fatalf("set aside again: %q", kept)
	}
	if len(l.slot) != 0 {
		t.Fatal("the failed start holds the files")
	}
}

func TestSetAside_TakesAFreeName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "events")
	for _, want := range []string{dir + ".corrupt-100", dir + ".corrupt-101"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := setAside(dir, time.Unix(100, 0)); err != nil || got != want {
			t.Fatalf("%s %v; want %s", got, err, want)
		}
	}
	if _, err := setAside(dir, time.Unix(100, 0)); err == nil {
		t.Fatal("a folder that is not there was set aside")
	}
}

func TestReadHead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"": 0, "12": 12, "12\n": 12, "-1": 0, "x": 0, "9007199254740991": 1<<53 - 1, "9007199254740992": 0} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, headFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readHead(dir); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := readHead(filepath.Join(t.TempDir(), "none")); got != 0 {
		t.Errorf("no file: %d", got)
	}
}

// safeBuffer is written by the log's goroutines while a test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// told reads n events behind head through a cursor.
func (r *rig) told(head, n int) {
	r.t.Helper()
	wake := make(chan struct{}, 1)
	c := r.log.Follow([]string{">"}, uint64(head)+1, wake)
	defer c.Close()
	events, gap := readUntil(r.t.(*testing.T), c, wake, n)
	if gap != nil {
		r.t.Fatalf("gap %+v", gap)
	}
	checkRun(r.t.(*testing.T), events, head)
}
