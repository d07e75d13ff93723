package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/config"
)

const rowA, rowB = `{"source":"api-claude","cost_usd":1}`, `{"source":"api-openai","cost_usd":0.5,"model":"é"}`

func newLedger(p config.Paths) *ledger {
	return &ledger{paths: p, notes: &board{}, check: plainRow, size: -1}
}

func pendingOf(t testing.TB, p config.Paths, name string, prior int, line string) {
	t.Helper()
	write(t, filepath.Join(p.LedgerPending(), name), string(encode(t, pending{PriorLen: int64(prior), Line: line})))
}

func TestLedger_Append(t *testing.T) {
	t.Parallel()
	p := home(t)
	l := newLedger(p)
	must(t, l.append([]byte(rowA)))
	must(t, l.append([]byte(rowB)))
	l = newLedger(p)
	must(t, l.append([]byte(rowA)))
	if got, want := read(t, p.Ledger()), rowA+"\n"+rowB+"\n"+rowA+"\n"; got != want {
		t.Fatalf("ledger %q", got)
	}
	if left := glob(t, p.LedgerPending()+"/*"); len(left) != 0 {
		t.Fatalf("left: %q", left)
	}
	for _, bad := range []string{"", "x", "{}", `{"source":"a","cost_usd":-1}`, rowA + "\n" + rowA} {
		aSentence(t, l.append([]byte(bad)))
	}
	// A row of ours that is refused says nothing about the file.
	must(t, l.append([]byte(rowA)))
}

// TestLedger_Health: what stands in the way of spending more, what mends it,
// and that nothing is replayed unasked. Source: runtime.md 5.
func TestLedger_Health(t *testing.T) {
	t.Parallel()
	long := len(rowA) + 1
	for _, tc := range []struct {
		name, ledger string
		prior        int
		line         string // of a write-ahead file, when set
		raw          string // instead of one
		well         bool
		notice       bool
		after        string // the ledger after a person's order to finish; empty: refused
	}{
		{name: "nothing yet", well: true},
		{name: "two rows", ledger: rowA + "\n" + rowB + "\n", well: true},
		{name: "unterminated last line", ledger: rowA + "\n" + rowB},
		{name: "not a row", ledger: rowA + "\n{}\n"},
		{name: "empty line", ledger: rowA + "\n\n" + rowA + "\n"},
		{name: "negative cost", ledger: `{"source":"x","cost_usd":-0.1}` + "\n"},
		{name: "NaN cost", ledger: `{"source":"x","cost_usd":NaN}` + "\n"},
		{name: "endless line", ledger: `{"source":"` + strings.Repeat("x", maxRowBytes) + `","cost_usd":1}` + "\n"},
		{name: "killed before the append", ledger: rowA + "\n", prior: long, line: rowB, after: rowA + "\n" + rowB + "\n"},
		{name: "killed before the first append", line: rowB, after: rowB + "\n"},
		{name: "killed in the append", ledger: rowA + "\n" + rowB[:9], prior: long, line: rowB, after: rowA + "\n" + rowB + "\n"},
		{name: "killed before the line end", ledger: rowA + "\n" + rowB, prior: long, line: rowB, after: rowA + "\n" + rowB + "\n"},
		{name: "killed after the append", ledger: rowA + "\n" + rowB + "\n", prior: long, line: rowB, well: true, notice: true},
		{name: "another line in its place", ledger: rowA + "\n" + rowA + "\n", prior: long, line: rowB},
		{name: "ledger shorter than before", ledger: "", prior: long, line: rowB},
		{name: "write-ahead file without sense", ledger: rowA + "\n", raw: "x"},
		{name: "write-ahead file with two lines", ledger: rowA + "\n", raw: `{"prior_len":0,"line":"a\nb"}`},
		{name: "write-ahead file with a bad row", ledger: rowA + "\n", prior: long, line: "{}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := home(t)
			if tc.ledger != "" {
				write(t, p.Ledger(), tc.ledger)
			}
			if tc.line != "" {
				pendingOf(t, p, "a.json", tc.prior, tc.line)
			}
			if tc.raw != "" {
				write(t, filepath.Join(p.LedgerPending(), "a.json"), tc.raw)
			}
			write(t, filepath.Join(p.LedgerPending(), ".b.json123"), "half") // A kill before the write-ahead file was whole.
			l := newLedger(p)
			for range 2 {
				err := l.health()
				if (err == nil) != tc.well {
					t.Fatalf("health: %v", err)
				}
				if !tc.well {
					aSentence(t, err)
					aSentence(t, l.append([]byte(rowA)))
					if got, _ := os.ReadFile(p.Ledger()); string(got) != tc.ledger {
						t.Fatalf("an unhealthy ledger was changed to %q", got)
					}
				}
			}
			if got := len(l.notes.take()) == 1; got != tc.notice {
				t.Fatalf("told: %v, want %v", got, tc.notice)
			}
			if tc.well {
				must(t, l.append([]byte(rowA)))
				if got := read(t, p.Ledger()); got != tc.ledger+rowA+"\n" {
					t.Fatalf("ledger %q", got)
				}
				return
			}
			err := l.reconcile()
			if tc.after == "" {
				aSentence(t, err)
				return
			}
			must(t, err)
			must(t, l.append([]byte(rowA)))
			if got := read(t, p.Ledger()); got != tc.after+rowA+"\n" {
				t.Fatalf("ledger %q", got)
			}
		})
	}
}

// TestLedger_MendedByHand: a person corrects the file, and the service goes on
// without a restart; a person's damage is noticed without one too.
func TestLedger_MendedByHand(t *testing.T) {
	t.Parallel()
	p := home(t)
	l := newLedger(p)
	must(t, l.append([]byte(rowA)))
	write(t, p.Ledger(), rowA+"\nx\n")
	aSentence(t, l.append([]byte(rowA)))
	write(t, p.Ledger(), rowA+"\n")
	must(t, l.append([]byte(rowB)))
	if got := read(t, p.Ledger()); got != rowA+"\n"+rowB+"\n" {
		t.Fatalf("ledger %q", got)
	}
}

// TestLedger_FailedAppend keeps the write-ahead file and blocks until a person
// has reconciled.
func TestLedger_FailedAppend(t *testing.T) {
	t.Parallel()
	p := home(t)
	l := newLedger(p)
	must(t, l.health())
	must(t, os.Mkdir(p.Ledger(), 0o700)) // Cannot be opened for writing.
	l.size = 0
	if fi, err := os.Stat(p.Ledger()); err == nil {
		l.size = fi.Size() // Looks as it was left.
	}
	aSentence(t, l.append([]byte(rowA)))
	if left := glob(t, p.LedgerPending()+"/*.json"); len(left) != 1 {
		t.Fatalf("write-ahead files: %q", left)
	}
	must(t, os.Remove(p.Ledger()))
	aSentence(t, l.health())
}

func FuzzPending(f *testing.F) {
	f.Add([]byte(`{"prior_len":3,"line":"{}"}`))
	f.Add([]byte(`{"prior_len":-1,"line":"a\n\n"}`))
	dir := f.TempDir()
	n := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		n++
		p := config.Paths{Home: filepath.Join(dir, fmt.Sprint(os.Getpid(), n))}
		write(t, filepath.Join(p.LedgerPending(), "a.json"), string(b))
		defer os.RemoveAll(p.Home)
		l := newLedger(p)
		got, err := l.readPending("a.json")
		if err != nil {
			return
		}
		var want pending
		if json.Unmarshal(b, &want) != nil || got.PriorLen < 0 || strings.Contains(got.Line, "\n") || got.Line == "" {
			t.Fatalf("accepted %q as %+v", b, got)
		}
	})
}
