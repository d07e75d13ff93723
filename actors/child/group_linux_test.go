package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a shell command as a group of a fresh boot and ends it afterwards.
func start(t *testing.T, command string, session bool) *Group {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = t.TempDir()
	g, err := Start(cmd, Options{Marker: Marker{BootID: newGroupID(), Home: cmd.Dir}, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Kill() })
	return g
}

// F17, F20: the whole tree ends, also what left the process group or outlived
// the shell.
func TestGroup_Kill(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, command string
		pids          int
		first         bool // the shell ends by itself before the kill
	}{
		{name: "pipeline", command: `sleep 1000 | sleep 1000 & echo $! >p; sleep 1000`, pids: 1},
		{name: "grandchildren", command: `sh -c 'sleep 1000 & echo $! >p; echo $$ >>p; wait'`, pids: 2},
		{name: "own session", command: `setsid sh -c 'echo $$ >p; exec sleep 1000'`, pids: 1},
		{name: "ignores the polite signal", command: `trap "" TERM HUP INT; echo $$ >p; while :; do sleep 0.01; done`, pids: 1},
		{name: "shell gone", command: `sleep 1000 & echo $! >p`, pids: 1, first: true},
		{name: "shell gone, own session", command: `setsid sh -c 'echo $$ >p; exec sleep 1000' &`, pids: 1, first: true},
		{name: "shell gone, no environment", command: `env -i sleep 1000 & echo $! >p`, pids: 1, first: true},
	} {
		for _, session := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, session %v", tc.name, session), func(t *testing.T) {
				t.Parallel()
				g := start(t, tc.command, session)
				pids := pidsIn(t, filepath.Join(g.cmd.Dir, "p"), tc.pids)
				if tc.first {
					if err := g.Wait(); err != nil {
						t.Fatal(err)
					}
				}
				for _, pid := range pids {
					if !runs(pid) {
						t.Fatalf("process %d of the test does not run", pid)
					}
				}
				if !g.Alive() {
					t.Fatal("not alive before the kill")
				}
				if left := g.Kill(); left != 0 {
					t.Fatalf("%d processes left", left)
				}
				for _, pid := range pids {
					if runs(pid) {
						t.Fatalf("process %d still runs", pid)
					}
				}
				if !tc.first {
					var exit *exec.ExitError
					if err := g.Wait(); !errors.As(err, &exit) {
						t.Fatalf("Wait after the kill: %v", err)
					}
				}
			})
		}
	}
}

// A number that now belongs to a foreign process group is left alone.
func TestGroup_ReusedNumber(t *testing.T) {
	t.Parallel()
	foreign := start(t, "exec sleep 1000", false)
	old := &Group{ID: newGroupID(), PID: foreign.PID, Start: foreign.Start - 1}
	old.Reaped()
	if got := old.Processes(); len(got) != 0 {
		t.Fatalf("takes %v for its own", got)
	}
	if left := old.Kill(); left != 0 || !runs(foreign.PID) {
		t.Fatalf("left %d, foreign runs: %v", left, runs(foreign.PID))
	}
}

// A zombie does not count as running, although kill(pid, 0) succeeds on it.
func TestGroup_ZombieIsNotAlive(t *testing.T) {
	t.Parallel()
	g := start(t, "exec true", false)
	eventually(t, "the group is over", func() bool { return !g.Alive() })
	if err := syscall.Kill(g.PID, 0); err != nil {
		t.Fatalf("the test lost its zombie: %v", err)
	}
	if Alive(g.PID, g.Start) {
		t.Error("a zombie is alive")
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestGroup_Terminate(t *testing.T) {
	t.Parallel()
	g := start(t, `trap 'echo asked >answer; exit 0' TERM; echo $$ >p; while :; do sleep 0.01; done`, true)
	pidsIn(t, filepath.Join(g.cmd.Dir, "p"), 1)
	g.Terminate()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(g.cmd.Dir, "answer")); err != nil || string(b) != "asked\n" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestStart_Session(t *testing.T) {
	t.Parallel()
	for _, session := range []bool{false, true} {
		g := start(t, "exec sleep 1000", session)
		p, err := inspect(g.PID)
		if err != nil {
			t.Fatal(err)
		}
		if p.PGID != g.PID || (p.SID == g.PID) != session {
			t.Fatalf("session %v: %+v", session, p)
		}
	}
}

func TestStart_Errors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, path, dir, want string
	}{
		{name: "missing program", path: filepath.Join(dir, "none"), want: "was not found"},
		{name: "not executable", path: plain, want: "may not be executed"},
		{name: "missing folder", path: "/bin/sh", dir: filepath.Join(dir, "gone"), want: "does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(tc.path)
			cmd.Dir = tc.dir
			_, err := Start(cmd, Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// service runs the test binary as a service with one command and returns it once
// the command runs.
func service(t *testing.T, home, bootID, command string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{roleVar + "=service", "PATH=" + os.Getenv("PATH"), "TEST_HOME=" + home, "TEST_BOOT=" + bootID, "TEST_COMMAND=" + command}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = w
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = in.Close()
	})
	var got strings.Builder
	b := make([]byte, 100)
	for !strings.Contains(got.String(), "\n") {
		n, err := out.Read(b)
		got.Write(b[:n])
		if err != nil {
			break
		}
	}
	if got.String() != "ready\n" {
		t.Fatalf("the service of the test said %q", got.String())
	}
	return cmd, in
}

// F22: a service that was killed with SIGKILL leaves children; the next start
// ends them, and nothing else.
func TestSweepOrphans(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, command string
		pids          int
		noRecords     bool // the group files are lost, the boot is still known
	}{
		{name: "child and grandchild", command: `echo $$ >p; sleep 1000 & echo $! >>p; wait`, pids: 2},
		{name: "own session", command: `echo $$ >p; setsid sh -c 'echo $$ >>p; exec sleep 1000'`, pids: 2},
		{name: "deaf", command: `trap "" TERM; echo $$ >p; while :; do sleep 0.01; done`, pids: 1},
		{name: "no environment, led by a marked shell", command: `echo $$ >p; env -i sleep 1000 & echo $! >>p; wait`, pids: 2},
		{name: "markers only", command: `echo $$ >p; sleep 1000 & echo $! >>p; wait`, pids: 2, noRecords: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "a 'b' \u00e7")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(home, "p")
			quoted := "'" + strings.ReplaceAll(home, "'", `'\''`) + "'"
			svc, _ := service(t, home, "boot-1", "cd "+quoted+"; "+tc.command)
			pids := pidsIn(t, file, tc.pids)
			bystander := start(t, "exec sleep 1000", false) // another data directory

			// While its owner lives, a boot is left alone.
			if ended, err := SweepOrphans(home, "boot-2"); err != nil || len(ended) != 0 {
				t.Fatalf("with a live owner: %v, %v", ended, err)
			}
			for _, pid := range pids {
				if !runs(pid) {
					t.Fatalf("process %d was ended although its owner lives", pid)
				}
			}
			if err := svc.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = svc.Wait()
			if tc.noRecords {
				files, _ := filepath.Glob(filepath.Join(home, processesDir, "boot-1", "*"))
				for _, f := range files {
					if filepath.Base(f) != ownerFile {
						_ = os.Remove(f)
					}
				}
			}
			ended, err := SweepOrphans(home, "boot-2")
			if err != nil {
				t.Fatal(err)
			}
			told := map[int]bool{}
			for _, e := range ended {
				told[e.PID] = true
				if e.BootID != "boot-1" || e.Command == "" {
					t.Errorf("reported %+v", e)
				}
			}
			for _, pid := range pids {
				if runs(pid) || !told[pid] {
					t.Errorf("process %d: runs %v, reported %v", pid, runs(pid), told[pid])
				}
			}
			if !runs(bystander.PID) {
				t.Error("a process of another data directory was ended")
			}
			if _, err := os.Stat(filepath.Join(home, processesDir, "boot-1")); !os.IsNotExist(err) {
				t.Errorf("the records stayed: %v", err)
			}
			if ended, err := SweepOrphans(home, "boot-2"); err != nil || len(ended) != 0 {
				t.Errorf("second sweep: %v, %v", ended, err)
			}
		})
	}
}

// Broken, empty and foreign records neither stop a start nor cost a process.
func TestSweepOrphans_BadRecords(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	foreign := start(t, "exec sleep 1000", false)
	old := filepath.Join(home, processesDir, "old")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		ownerFile:       "",
		"cut.json":      `{"pid": 12`,
		"one.json":      `{"pid": 1, "start": 0}`,
		"negative.json": `{"pid": -1, "start": 5}`,
		// Right pid and start time, but its environment names another boot.
		"foreign.json": fmt.Sprintf(`{"pid": %d, "start": %d}`, foreign.PID, foreign.Start),
		// The pid was reused.
		"reused.json": fmt.Sprintf(`{"pid": %d, "start": %d}`, foreign.PID, foreign.Start-1),
		// This very process.
		"self.json": fmt.Sprintf(`{"pid": %d, "start": %d}`, os.Getpid(), mustStart(t)),
	} {
		if err := os.WriteFile(filepath.Join(old, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended, err := SweepOrphans(home, "now")
	if err != nil || len(ended) != 0 {
		t.Fatalf("%v, %v", ended, err)
	}
	if !runs(foreign.PID) {
		t.Fatal("a foreign process was ended")
	}
	if ended, err := SweepOrphans(filepath.Join(home, "fresh"), "now"); err != nil || ended != nil {
		t.Fatalf("a fresh data directory: %v, %v", ended, err)
	}
}

func mustStart(t *testing.T) uint64 {
	t.Helper()
	s, err := StartOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the rules pick out of a process table, without a process.
func TestOrphans(t *testing.T) {
	t.Parallel()
	dead := map[string]boot{"b": {id: "b", owner: record{PID: 9, Start: 100}, groups: map[string]record{"g": {PID: 20, Start: 110}}}}
	for _, tc := range []struct {
		name string
		p    Process
		want bool
	}{
		{name: "marked", p: Process{PID: 30, Start: 120, boot: "b", home: "/h"}, want: true},
		{name: "other boot", p: Process{PID: 30, Start: 120, boot: "c", home: "/h"}},
		{name: "other home", p: Process{PID: 30, Start: 120, boot: "b", home: "/h2"}},
		{name: "no marker", p: Process{PID: 30, Start: 120}},
		{name: "older than the boot", p: Process{PID: 30, Start: 99, boot: "b", home: "/h"}},
		{name: "zombie", p: Process{PID: 30, Start: 120, boot: "b", home: "/h", zombie: true}},
		{name: "spared", p: Process{PID: 7, Start: 120, boot: "b", home: "/h"}},
		{name: "process 1", p: Process{PID: 1, Start: 120, boot: "b", home: "/h"}},
		{name: "in a proved group", p: Process{PID: 31, PGID: 20, Start: 120}, want: true},
		{name: "in another group", p: Process{PID: 31, PGID: 21, Start: 120}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			leader := Process{PID: 20, PGID: 20, Start: 110, boot: "b", home: "/h"}
			got := false
			for _, o := range orphans([]Process{leader, tc.p}, "/h", dead, map[int]bool{7: true}) {
				if o.PID == tc.p.PID {
					got = true
				}
			}
			if got != tc.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if _, err := OpenRegistry(Marker{BootID: "../x", Home: home}); err == nil {
		t.Error("a boot id left its folder")
	}
	reg, err := OpenRegistry(Marker{BootID: "boot", Home: home})
	if err != nil {
		t.Fatal(err)
	}
	var groups []*Group
	for range 3 {
		cmd := exec.Command("sleep", "1000")
		g, err := Start(cmd, Options{Marker: reg.Marker(), Register: reg.Register})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	files := func() int {
		m, _ := filepath.Glob(filepath.Join(home, processesDir, "boot", "*"))
		return len(m)
	}
	if n := files(); n != 4 {
		t.Fatalf("%d files for an owner and three groups", n)
	}
	if err := reg.Close(); err == nil {
		t.Error("closed with running groups")
	}
	if left := reg.KillAll(); left != 0 {
		t.Fatalf("%d processes left", left)
	}
	for _, g := range groups {
		_ = g.Wait()
		g.Release()
		g.Release()
	}
	if n := files(); n != 1 || len(reg.Groups()) != 0 || reg.Err() != nil {
		t.Fatalf("%d files, %d groups, %v", n, len(reg.Groups()), reg.Err())
	}
	if err := reg.Close(); err != nil || files() != 0 {
		t.Fatalf("%v, %d files", err, files())
	}
}

// F21: as process 1 the program reaps what is reparented to it and hands the
// exit code on.
func TestActAsInit(t *testing.T) {
	t.Parallel()
	if _, acted := ActAsInit(); acted {
		t.Fatal("acts as process 1 here")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{roleVar + "=init", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("needs a pid namespace: %v", err)
	}
	defer cmd.Process.Kill()
	line := make([]byte, 5)
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "left\n" {
		t.Fatalf("%q, %v", line, err)
	}
	// The sleeping orphans, then nothing: neither running nor zombies.
	begun := time.Now()
	eventually(t, "every orphan is reaped", func() bool {
		all, err := list()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range all {
			if p.PPID == cmd.Process.Pid {
				n++
			}
		}
		return n == 1 // the service itself
	})
	t.Logf("all reaped after %v", time.Since(begun))
	_, _ = in.Write([]byte("x"))
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("exit code of the service: %v", err)
	}
}
