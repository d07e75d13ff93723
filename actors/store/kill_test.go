//go:build !windows

package store

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// big is a conversation of 5 MB that says how often it was saved: in its first
// message, and again in every 1,000th, so that a mixture of two versions shows.
func big(n int) *contract.Record {
	r := record("c-1", 0)
	r.TurnCounter = uint64(n)
	text := strings.Repeat("x", 1000)
	for i := range 5000 {
		c := text
		if i%1000 == 0 {
			c = strconv.Itoa(n)
		}
		r.Messages = append(r.Messages, contract.RecordMessage{ID: "m", Role: contract.RoleUser, Content: c})
	}
	return r
}

// version returns how often a loaded conversation was saved.
func version(r *contract.Record) (int, error) {
	n, err := strconv.Atoi(r.Messages[0].Content)
	if err != nil {
		return 0, err
	}
	for i := 1000; i < len(r.Messages); i += 1000 {
		if r.Messages[i].Content != r.Messages[0].Content {
			return 0, fmt.Errorf("message %d is of version %q, message 0 of %q", i, r.Messages[i].Content, r.Messages[0].Content)
		}
	}
	return n, nil
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
			body, err := contract.Marshal(big(n))
			if err != nil {
				return err
			}
			if err := s.save("c-1", &v, body); err != nil {
				return err
			}
		} else {
			var ops []journal.Op
			for i := 0; i < 5000; i += 1000 {
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
		timer := time.AfterFunc(time.Duration(rand.IntN(80_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
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

// childFull saves with a limit on file sizes in the place of a full disk: a
// write fails half way, as it does there, and needs no right to mount.
func childFull(home string) error {
	signal.Ignore(unix.SIGXFSZ)
	p := config.Paths{Home: home}
	s := newShelf(p)
	var v volume
	limit := func(n uint64) error {
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: unix.RLIM_INFINITY})
	}
	expect := func(what string, err error) error {
		var io *IOError
		if !errors.As(err, &io) || !io.Full() || !strings.Contains(err.Error(), "no space left") {
			return fmt.Errorf("%s: %v", what, err)
		}
		return nil
	}
	if err := s.save("c-1", &v, []byte(`{"id":"c-1","messages":[{"id":"m","content":"old"}]}`)); err != nil {
		return err
	}
	appended, err := journal.Encode(journal.Append(0, " more", "", 0, nil))
	if err != nil {
		return err
	}
	if err := s.appendLines("c-1", &v, appended); err != nil {
		return err
	}
	settings := settings{paths: p, notes: s.notes, now: s.now}
	settings.load()
	if err := settings.launched("demo"); err != nil {
		return err
	}
	ledger := ledger{paths: p, notes: s.notes, check: plainRow, size: -1}
	if err := ledger.append([]byte(`{"source":"x","cost_usd":1}`)); err != nil {
		return err
	}

	if err := limit(300); err != nil {
		return err
	}
	long := strings.Repeat("x", 1000)
	if err := expect("whole", s.save("c-1", &v, encodeText(long))); err != nil {
		return err
	}
	appended, err = journal.Encode(journal.Append(0, long, "", 0, nil))
	if err != nil {
		return err
	}
	if err := expect("journal", s.appendLines("c-1", &v, appended)); err != nil {
		return err
	}
	if got := settings.patch([]byte(`{"default_project":"` + long + `"}`)); got.Failure == nil {
		return errors.New("settings over the limit were saved")
	}
	if err := ledger.append([]byte(`{"source":"x","cost_usd":1,"model":"` + long + `"}`)); err == nil || !strings.Contains(err.Error(), "no model request") {
		return fmt.Errorf("ledger: %v", err)
	}
	for _, pattern := range []string{"/conversations/.*", "/.*", "/*.tmp", "/usage-pending/.*"} {
		if left, _ := filepath.Glob(home + pattern); len(left) > 0 {
			return fmt.Errorf("leftovers %q", left)
		}
	}
	if err := limit(unix.RLIM_INFINITY); err != nil {
		return err
	}
	got := s.load("c-1", &volume{})
	if got.err != nil || got.record.Messages[0].Content != "old more" {
		return fmt.Errorf("the last good version is lost: %+v", got)
	}
	// Space is back: everything goes on where it was.
	appended, err = journal.Encode(journal.Append(0, "!", "", 0, nil))
	if err != nil {
		return err
	}
	if err := s.appendLines("c-1", &v, appended); err != nil {
		return err
	}
	if got := s.load("c-1", &volume{}); got.err != nil || got.record.Messages[0].Content != "old more!" {
		return fmt.Errorf("after the space is back: %+v", got)
	}
	if err := ledger.append([]byte(`{"source":"x","cost_usd":2}`)); err != nil {
		return err
	}
	if _, err := os.Lstat(p.State() + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
		return errors.New("a half-written state.v1.json.tmp was left")
	}
	return nil
}

func encodeText(text string) []byte {
	return []byte(`{"id":"c-1","messages":[{"id":"m","content":"` + text + `"}]}`)
}

// TestFull: with no space left the old versions stay, nothing half-written is
// left, the errors say what to do, and work goes on when there is space (F29).
func TestFull(t *testing.T) {
	t.Parallel()
	p := home(t)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"=full", "STORE_TEST_HOME="+p.Home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := read(t, p.Ledger()); strings.Count(got, "\n") != 2 {
		t.Fatalf("ledger %q", got)
	}
}
