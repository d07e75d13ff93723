package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
)

// childLock acquires, says how it went on stdout, and holds the lock until its
// stdin ends. It waits for a first line so that several start at once.
func childLock(home string) error {
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	p := config.Paths{Home: home}
	l, err := Acquire(p)
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		fmt.Printf("lost %d %s\n", locked.PID, locked.Error())
		return nil
	case err != nil:
		return err
	}
	fmt.Printf("won %d\n", os.Getpid())
	_, _ = io.Copy(io.Discard, in)
	return l.Close()
}

type contender struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func contend(t *testing.T, home string) contender {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"=lock", "STORE_TEST_HOME="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return contender{cmd, in, bufio.NewReader(out)}
}

func (c contender) said(t *testing.T) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	must(t, err)
	return strings.TrimSpace(s)
}

// TestAcquire_ThreeAtOnce: one owner, the others learn its pid (F36); after its
// kill -9 the next takes over.
func TestAcquire_ThreeAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/home"
	for range 3 { // Each round begins with what the killed one left.
		var all [3]contender
		for i := range all {
			all[i] = contend(t, dir)
		}
		for _, c := range all {
			_, err := io.WriteString(c.in, "go\n")
			must(t, err)
		}
		var winner contender
		var lost []string
		for _, c := range all {
			if s := c.said(t); strings.HasPrefix(s, "won ") {
				if winner.cmd != nil {
					t.Fatal("two owners")
				}
				winner = c
			} else {
				lost = append(lost, s)
			}
		}
		if winner.cmd == nil {
			t.Fatalf("no owner: %q", lost)
		}
		for _, s := range lost {
			if want := fmt.Sprintf("lost %d ", winner.cmd.Process.Pid); !strings.HasPrefix(s, want) {
				t.Fatalf("%q, want it to begin with %q", s, want)
			}
		}
		must(t, winner.cmd.Process.Kill())
		_ = winner.cmd.Wait()
	}
}

func TestAcquire_NamesOwner(t *testing.T) {
	t.Parallel()
	p := config.Paths{Home: t.TempDir()}
	l, err := Acquire(p)
	must(t, err)
	try := func() *LockedError {
		_, err := Acquire(p)
		var locked *LockedError
		if !errors.As(err, &locked) {
			t.Fatalf("a second owner: %v", err)
		}
		aSentence(t, locked)
		return locked
	}
	if got := try(); got.PID != os.Getpid() || got.URL != "" {
		t.Fatalf("%+v", got)
	}
	write(t, p.Run(), `{"pid":1,"url":"http://127.0.0.1:1"}`)
	if got := try(); got.URL != "" {
		t.Fatalf("the address of an earlier run: %+v", got)
	}
	write(t, p.Run(), fmt.Sprintf(`{"pid":%d,"url":"http://127.0.0.1:7433","owner_token":"secret"}`, os.Getpid()))
	got := try()
	if got.URL != "http://127.0.0.1:7433" || strings.Contains(got.Error(), "secret") || !strings.Contains(got.Error(), got.URL) {
		t.Fatalf("%+v: %s", got, got)
	}
	must(t, l.Close())
	l, err = Acquire(p)
	must(t, err)
	must(t, l.Close())
}

// TestAcquire_StaleContent: a lock file of a dead process, of a reused pid or
// without sense is no owner, with file locks and without (F36).
func TestAcquire_StaleContent(t *testing.T) {
	t.Parallel()
	start, err := child.StartOf(os.Getpid())
	must(t, err)
	noLocks := func(*os.File) (bool, error) { return false, errNoLocking }
	for name, content := range map[string]string{
		"dead process": `{"pid":999999999,"start":1}`,
		"reused pid":   fmt.Sprintf(`{"pid":%d,"start":%d}`, os.Getpid(), start+1),
		"empty":        "",
		"no JSON":      "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, try := range map[string]func(*os.File) (bool, error){"locks": tryLock, "names": noLocks} {
				p := config.Paths{Home: t.TempDir()}
				write(t, p.Lock(), content)
				write(t, p.Lock()+".pid", content)
				l, err := acquire(p, try)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				var locked *LockedError
				if _, err := acquire(p, try); !errors.As(err, &locked) || locked.PID != os.Getpid() {
					t.Fatalf("%s: a second owner: %v", way, err)
				}
				must(t, l.Close())
				l, err = acquire(p, try)
				must(t, err)
				must(t, l.Close())
			}
		})
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	prior := root + "/.packetade"
	p := config.Paths{Home: root + "/.packetbench"}
	if done, err := Migrate(p, prior); done || err != nil || exists(p.Home) {
		t.Fatalf("nothing to copy: %v, %v", done, err)
	}
	write(t, prior+"/state.v1.json", `{"version":7}`)
	write(t, prior+"/conversations/c-1.json", string(encode(t, record("c-1", 1))))
	write(t, prior+"/conversations/c-1.baselines/x.json", `{}`)
	write(t, prior+"/conversations/index.json", `[]`)
	write(t, prior+"/commands/a.md", "body")
	write(t, prior+"/lock", "1")
	write(t, prior+"/run.json", "{}")
	write(t, prior+"/cache/huge", "x")
	must(t, os.Symlink("/etc/passwd", prior+"/conversations/link.json"))
	done, err := Migrate(p, prior)
	if !done || err != nil {
		t.Fatalf("Migrate: %v, %v", done, err)
	}
	for name, want := range map[string]bool{
		"state.v1.json": true, "conversations/c-1.json": true, "conversations/c-1.baselines/x.json": true, "commands/a.md": true,
		"conversations/index.json": false, "lock": false, "run.json": false, "cache": false, "conversations/link.json": false,
	} {
		if exists(p.Home+"/"+name) != want {
			t.Errorf("%s copied: %v, want %v", name, !want, want)
		}
		if name != "conversations/link.json" && !exists(prior+"/"+name) {
			t.Errorf("%s is gone from the prior directory", name)
		}
	}
	write(t, p.State(), `{"version":8}`)
	if done, err := Migrate(p, prior); done || err != nil || read(t, p.State()) != `{"version":8}` {
		t.Fatalf("a second time: %v, %v", done, err)
	}
	if left := glob(t, root+"/.packetbench.copying-*"); len(left) != 0 {
		t.Fatalf("left: %q", left)
	}
}
