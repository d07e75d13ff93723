//go:build !windows && !race

package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// The race detector watches one process; these are several, and it makes reading
// 5 MB of JSON so slow that nothing else would be measured.

func init() { children["saves"] = childSaves }

// bigMessages times a little over 1 MB make a conversation of 5 MB.
const bigMessages = 5

var filling = strings.Repeat("x", 1<<20)

// big is a conversation of 5 MB that says how often it was saved in every
// message, so that a mixture of two versions shows. It is put together by hand:
// encoding it would leave little time for the saves that are to be killed.
func big(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"id":"c-1","mode":"api","messages":[`)
	for i := range bigMessages {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"m","role":"user","content":"%d %s"}`, n, filling)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

// version returns how often a loaded conversation was saved.
func version(r *contract.Record) (int, error) {
	if len(r.Messages) != bigMessages {
		return 0, fmt.Errorf("%d messages", len(r.Messages))
	}
	of := func(i int) string { n, _, _ := strings.Cut(r.Messages[i].Content, " "); return n }
	for i := range r.Messages {
		if of(i) != of(0) {
			return 0, fmt.Errorf("message %d is of version %q, message 0 of %q", i, of(i), of(0))
		}
	}
	return strconv.Atoi(of(0))
}

// childSaves saves for ever, a whole file and then three journal lines, and
// prints the number of each save that is done.
func childSaves(home string) error {
	s := newShelf(config.Paths{Home: home})
	var v volume
	n := 0
	if got := s.load("c-1", &v); got.found {
		var err error
		if n, err = version(got.record); err != nil {
			return err
		}
	}
	for {
		n++
		if n%4 == 1 {
			if err := s.save("c-1", &v, big(n)); err != nil {
				return err
			}
		} else {
			var ops []journal.Op
			for i := range bigMessages {
				ops = append(ops, journal.Put(i, contract.RecordMessage{ID: "m", Content: strconv.Itoa(n)}))
			}
			lines, err := journal.Encode(ops...)
			if err != nil {
				return err
			}
			if err := s.appendLines("c-1", &v, lines); err != nil {
				return err
			}
		}
		fmt.Println(n)
	}
}

// TestShelf_KillWhileSaving kills a process that saves a 5 MB conversation, 30
// times: what is found is the last save that was reported, or the one that was
// under way, and never a mixture (F30).
func TestShelf_KillWhileSaving(t *testing.T) {
	t.Parallel()
	p := home(t)
	self, err := os.Executable()
	must(t, err)
	last := 0
	for round := range 30 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childEnv+"=saves", "STORE_TEST_HOME="+p.Home)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			t.Fatal("the child saved nothing")
		}
		timer := time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for {
			if last, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() {
				break
			}
		}
		timer.Stop()
		_ = cmd.Wait()

		found, err := scan(p, &board{}, at)
		must(t, err)
		if len(found.x.entries) != 1 {
			t.Fatalf("round %d: %d conversations", round, len(found.x.entries))
		}
		s := newShelf(p)
		got := s.load("c-1", &volume{})
		if got.err != nil || !got.found {
			t.Fatalf("round %d: found %v, %v", round, got.found, got.err)
		}
		n, err := version(got.record)
		if err != nil || n < last || n > last+1 {
			t.Fatalf("round %d: version %d after %d was reported: %v", round, n, last, err)
		}
		if notes := s.notes.take(); notes != nil {
			t.Fatalf("round %d: %q", round, notes)
		}
		if temps := glob(t, filepath.Join(p.Conversations(), ".*")); len(temps) != 0 {
			t.Fatalf("round %d: leftovers %q", round, temps)
		}
	}
}
