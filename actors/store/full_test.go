//go:build !windows

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract/journal"
)

func init() { children["full"] = childFull }

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
