package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

// What was logged before the data directory was ours is in the file too; the
// files stay within their bounds and hold every line but the oldest.
func TestTextLog_Rotation(t *testing.T) {
	t.Parallel()
	x := newTextLog()
	x.fileBytes, x.files = 2000, 3
	log := slog.New(x.handler(slog.LevelInfo))
	log.Info("before")
	dir := filepath.Join(t.TempDir(), "logs")
	if err := x.open(dir); err != nil {
		t.Fatal(err)
	}
	log.Debug("not at this level")
	const n = 200
	for i := range n {
		log.Warn("line", "n", i)
	}
	if err := x.close(); err != nil {
		t.Fatal(err)
	}
	log.Error("after the end") // Costs nobody anything.
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	next := n
	for i := range 3 {
		content, err := os.ReadFile(textLogFile(dir, i))
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > 2000 {
			t.Errorf("file %d has %d bytes", i, len(content))
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		for j := len(lines) - 1; j >= 0; j-- {
			next--
			if !strings.Contains(lines[j], fmt.Sprintf(`"n":%d}`, next)) {
				t.Fatalf("file %d line %d: %s, want number %d", i, j, lines[j], next)
			}
		}
		if info, err := os.Stat(textLogFile(dir, i)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	}
	again := newTextLog()
	again.fileBytes, again.files = 2000, 3
	slog.New(again.handler(slog.LevelInfo)).Error("it broke", "actor", "store")
	if err := again.open(dir); err != nil {
		t.Fatal(err)
	}
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
	s, err := readTextLog(dir)
	if err != nil || s.Files != 3 || s.Errors != 1 || s.LastError != "it broke" || s.LastErrorAt.IsZero() || s.Bytes == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A folder that cannot be written costs the lines in the file and nothing else.
func TestTextLog_Lost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newTextLog()
	x.fileBytes, x.files = 100, 2
	log := slog.New(x.handler(slog.LevelInfo))
	if err := x.open(dir); err != nil {
		t.Fatal(err)
	}
	log.Info("one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		log.Info("a line that is long enough to begin another file, which cannot be made any more")
	}
	if x.dropped() == 0 {
		t.Error("nothing was counted")
	}
	if got := x.lines(contract.LogLinesParams{Limit: 10}); len(got.Lines) != 6 {
		t.Errorf("%d lines are held", len(got.Lines))
	}
	if err := x.open(filepath.Join(dir, "\x00")); err == nil {
		t.Error("a folder that cannot be")
	}
}

func TestTextLog_Lines(t *testing.T) {
	t.Parallel()
	x := newTextLog()
	log := slog.New(x.handler(slog.LevelDebug))
	for i := range ringLines + 10 {
		switch i % 4 {
		case 0:
			log.Debug("frame", "n", i)
		case 1:
			log.Info("started", "actor", "store", "n", i)
		case 2:
			log.Warn("Slow Disk", "actor", "bus", "n", i)
		default:
			log.Error("failed", "actor", "store", "n", i)
		}
	}
	last := uint64(ringLines + 10)
	for _, tc := range []struct {
		name        string
		p           contract.LogLinesParams
		lines       int
		first, most uint64
		skipped     bool
	}{
		{"newest", contract.LogLinesParams{Limit: 5}, 5, last - 4, last, false},
		{"behind one", contract.LogLinesParams{Limit: 50, After: last - 3}, 3, last - 2, last, false},
		{"nothing new", contract.LogLinesParams{Limit: 50, After: last}, 0, 0, 0, false},
		{"of an earlier start", contract.LogLinesParams{Limit: 50, After: last + 99}, 0, 0, 0, false},
		{"overtaken", contract.LogLinesParams{Limit: 1000, After: 3}, 1000, 11, last, true},
		{"level", contract.LogLinesParams{Limit: 4, Level: "warn"}, 4, last - 7, last - 2, false},
		{"actor", contract.LogLinesParams{Limit: 2, Actor: "bus"}, 2, last - 7, last - 3, false},
		{"text", contract.LogLinesParams{Limit: 2, Contains: "slow disk"}, 2, last - 7, last - 3, false},
		{"field", contract.LogLinesParams{Limit: 2, Contains: `"n":777}`}, 1, 778, 778, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := x.lines(tc.p)
			if len(got.Lines) != tc.lines || got.Last != last || got.Skipped != tc.skipped {
				t.Fatalf("%d lines, last %d, skipped %t", len(got.Lines), got.Last, got.Skipped)
			}
			for _, l := range got.Lines {
				if l.N < tc.first || l.N > last || l.Time.IsZero() || l.Text == "" || l.Level == "" || !strings.Contains(string(l.Fields), fmt.Sprintf(`"n":%d`, l.N-1)) {
					t.Fatalf("%+v", l)
				}
			}
		})
	}
}

func FuzzReadTextLine(f *testing.F) {
	f.Add([]byte(`{"time":"2026-09-01T00:00:00Z","level":"INFO","msg":"x","actor":"store","n":1}`))
	f.Add([]byte(`{"time":1}`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		line, ok := readTextLine(raw)
		if ok && (len(line.Fields) == 0 || line.Fields[0] != '{') {
			t.Fatalf("%q became %+v", raw, line)
		}
	})
}
