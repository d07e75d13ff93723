//go:build unix

package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/child"
)

func TestBash(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "a 'b' \u00e7\"x") // F81
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	r := newRuntime(t, Options{Root: root})
	for _, tc := range []struct {
		command, want string
		code          int64
	}{
		{command: "echo ok", want: "ok\n"},
		{command: "true", want: "(no output)"},
		{command: "pwd; echo $PWD", want: r.fence.dir + "\n" + r.fence.dir + "\n"},
		{command: "echo out; echo err >&2", want: "out\n--- stderr ---\nerr\n"},
		{command: "printf out; printf err >&2", want: "out\n--- stderr ---\nerr"},
		{command: "echo err >&2", want: "--- stderr ---\nerr\n"},
		{command: "echo x; exit 3", want: "Error: x\n[exit code: 3]", code: 3},
		{command: "exit 4", want: "Error: (no output)\n[exit code: 4]", code: 4},
		{command: "printf x >&2; exit 1", want: "Error: --- stderr ---\nx\n[exit code: 1]", code: 1},
		{command: "kill -9 $$", want: "Error: (no output)\n[exit code: -1]", code: -1},
		{command: "cat; echo end", want: "end\n"}, // nothing can be typed
		{command: `printf '\377a\342\200'`, want: "\uFFFDa\uFFFD"},
		{command: `printf 'a\000b'`, want: "a\uFFFDb"},
		{command: "echo 'a \"b\" $c' | cat", want: "a \"b\" $c\n"},
		{command: "(exec 3</dev/tty) 2>/dev/null && echo tty || echo none", want: "none\n"}, // no terminal to ask for a password on
	} {
		t.Run(tc.command, func(t *testing.T) {
			t.Parallel()
			res := call(t, r, Bash, obj{"command": tc.command})
			if res.Content != tc.want || res.ExitCode == nil || *res.ExitCode != tc.code || res.IsError != (tc.code != 0) {
				t.Fatalf("got %q, code %v, want %q, code %d", res.Content, *res.ExitCode, tc.want, tc.code)
			}
			if res.Tainting || res.Origin != OriginLocal {
				t.Fatalf("%+v", res)
			}
		})
	}
	if res := call(t, r, Bash, obj{"command": "git ls-remote /nowhere; echo x"}); !res.Tainting || res.Origin != OriginUnknown {
		t.Errorf("%+v", res)
	}
	res := call(t, r, Bash, obj{"command": "echo a; echo b >&2"})
	if res.Stdout != "a\n" || res.Stderr != "b\n" {
		t.Errorf("%+v", res)
	}
	if n := len(r.Running()); n != 0 {
		t.Errorf("%d processes in the background", n)
	}
}

// The environment is the list that was given, and the markers.
func TestBash_Environment(t *testing.T) {
	t.Setenv("PACKETBENCH_SECRET", "s3cret")
	t.Setenv("INHERITED", "yes")
	home := t.TempDir()
	show := obj{"command": "env | sort"}
	given := call(t, newRuntime(t, Options{BootID: "b7", Home: home, Env: []string{"A=1", "PATH=" + os.Getenv("PATH"), "PWD=/stale"}}), Bash, show).Content
	for _, want := range []string{"A=1\n", "PACKETBENCH_BOOT_ID=b7\n", "PACKETBENCH_HOME=" + child.CanonicalHome(home) + "\n", "PACKETBENCH_GROUP="} {
		if !strings.Contains(given, want) {
			t.Errorf("%q is missing in %q", want, given)
		}
	}
	if strings.Contains(given, "INHERITED") || strings.Contains(given, "stale") {
		t.Errorf("more than was given: %q", given)
	}
	inherited := call(t, newRuntime(t, Options{}), Bash, show).Content
	if !strings.Contains(inherited, "INHERITED=yes\n") || strings.Contains(inherited, "s3cret") {
		t.Errorf("inherited: %q", inherited)
	}
}

// F01: a character that is written in two halves is one character.
func TestBash_CharacterInTwoReads(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	res := call(t, r, Bash, obj{"command": `printf '\342'; sleep 0.05; printf '\200\224'; printf '\303' >&2; sleep 0.05; printf '\251' >&2`})
	if res.Stdout != "\u2014" || res.Stderr != "\u00e9" || strings.Contains(res.Content, "\uFFFD") {
		t.Fatalf("%+v", res)
	}
}

// The output is cut at its limit, between characters, and the end of the story
// stays.
func TestBash_BigOutput(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	for _, tc := range []struct {
		name, command string
		code          int64
		want          []string
	}{
		{name: "stdout", command: "yes 'x\u2014y' | head -c 5000000", want: []string{truncatedMark}},
		{name: "stderr", command: "yes 'x\u2014y' | head -c 5000000 >&2", want: []string{stderrHeading, truncatedMark}},
		{name: "both", command: "yes 'x\u2014y' | head -c 5000000; yes e | head -c 5000000 >&2", want: []string{truncatedMark + "\n" + stderrHeading + "\ne\ne\n"}},
		{name: "failure after much", command: "yes 'x\u2014y' | head -c 5000000; echo why >&2; exit 2", code: 2, want: []string{truncatedMark + "\n" + stderrHeading + "\nwhy\n[exit code: 2]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := call(t, r, Bash, obj{"command": tc.command})
			for _, w := range tc.want {
				if !strings.Contains(res.Content, w) {
					t.Errorf("%q is missing, ends %q", w, res.Content[len(res.Content)-100:])
				}
			}
			if n := len(res.Content); n > maxOutputBytes+200 || n < maxOutputBytes-100 || !utf8.ValidString(res.Content) || strings.Contains(res.Content, "\uFFFD") {
				t.Errorf("%d bytes, valid %v", n, utf8.ValidString(res.Content))
			}
			if len(res.Stdout) > maxOutputBytes+len(truncatedMark) || len(res.Stderr) > maxOutputBytes+len(truncatedMark) || *res.ExitCode != tc.code {
				t.Errorf("%d and %d bytes, code %d", len(res.Stdout), len(res.Stderr), *res.ExitCode)
			}
		})
	}
}

// FuzzJoinOutput: never above the limit, never broken, both streams in it.
func FuzzJoinOutput(f *testing.F) {
	f.Add("a", uint32(300_000), "b", uint32(1))
	f.Add("\u2014", uint32(100_000), "\u2014x", uint32(100_000))
	f.Add("", uint32(0), "", uint32(0))
	f.Fuzz(func(t *testing.T, a string, n uint32, b string, m uint32) {
		a, b = strings.ToValidUTF8(a, ""), strings.ToValidUTF8(b, "")
		out := strings.Repeat(a, int(n%400_000)/max(1, len(a)))
		err := strings.Repeat(b, int(m%400_000)/max(1, len(b)))
		got := joinOutput(out, err)
		if !utf8.ValidString(got) || len(got) > maxOutputBytes+2*len(truncatedMark)+2 {
			t.Fatalf("%d bytes", len(got))
		}
		if (err != "") != strings.Contains(got, stderrHeading) && !strings.Contains(out, stderrHeading) {
			t.Fatal("the heading is wrong")
		}
		if cut := len(out)+len(err) > maxOutputBytes; cut && !strings.Contains(got, truncatedMark) {
			t.Fatal("cut without a word")
		}
	})
}

// pid waits for a file that a command writes its process id to.
func pid(t *testing.T, r *Runtime, name string) int {
	t.Helper()
	var out int
	eventually(t, "a process id in "+name, func() bool {
		b, err := os.ReadFile(filepath.Join(r.fence.dir, name))
		if err != nil || !strings.HasSuffix(string(b), "\n") {
			return false
		}
		out, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return out
}

func runs(pid int) bool {
	start, err := child.StartOf(pid)
	return err == nil && child.Alive(pid, start)
}

// F18: a background process does not hold the answer, whatever it does with the
// output; F19: it is listed, and ended with the conversation or on request.
func TestBash_Background(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, command string }{
		{"holds the output", "sleep 1000 & echo $! >p; echo ok"},
		{"output elsewhere", "sleep 1000 >/dev/null 2>&1 & echo $! >p; echo ok"},
		{"keeps writing", "(while :; do echo more; sleep 0.01; done) & echo $! >p; echo ok"},
		{"own session", "setsid sh -c 'echo $$ >p; exec sleep 1000' & while ! test -s p; do :; done; echo ok"},
		{"nohup", "nohup sleep 1000 >/dev/null 2>&1 & echo $! >p; echo ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, Options{})
			begun := time.Now()
			res := call(t, r, Bash, obj{"command": tc.command})
			took := time.Since(begun)
			if res.IsError || !strings.Contains(res.Content, "ok\n") {
				t.Fatalf("%+v", res)
			}
			// The command's own life is 1,000 s; the limit would be 30 s.
			if took > 10*time.Second {
				t.Errorf("answered after %v", took)
			}
			p := pid(t, r, "p")
			listed := r.Running()
			if len(listed) != 1 || listed[0].Command != tc.command || len(listed[0].PIDs) == 0 || !runs(p) {
				t.Fatalf("running: %+v, process runs: %v", listed, runs(p))
			}
			r.KillBackground()
			if runs(p) || len(r.Running()) != 0 {
				t.Errorf("still running: %v", runs(p))
			}
			t.Logf("answered after %v", took)
		})
	}
}

// A background process is not killed by its own output, and is forgotten when it
// ends by itself.
func TestBash_BackgroundEndsByItself(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	res := call(t, r, Bash, obj{"command": `(while ! test -e go; do echo waiting; sleep 0.01; done; head -c 1000000 /dev/zero; echo done >finished) & echo started`})
	if !strings.HasPrefix(res.Content, "started\n") && !strings.Contains(res.Content, "waiting") {
		t.Fatalf("%+v", res)
	}
	put(t, r, "go", "")
	eventually(t, "the background process writes its last word", func() bool {
		b, err := os.ReadFile(filepath.Join(r.fence.dir, "finished"))
		return err == nil && string(b) == "done\n"
	})
	eventually(t, "it is forgotten", func() bool { return len(r.Running()) == 0 })
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	if len(r.jobs.all) != 0 {
		t.Errorf("%d jobs kept", len(r.jobs.all))
	}
}

// F20: the limit ends the whole pipeline; the answer does not wait for pipes.
func TestBash_Timeout(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, command string }{
		{"pipeline", `echo part; sleep 300 | (sh -c 'echo $$ >p; exec cat')`},
		{"deaf to signals", `echo part; trap '' TERM INT HUP; echo $$ >p; while :; do sleep 0.05; done`},
		{"own session", `echo part; setsid sh -c 'echo $$ >p; exec sleep 300'; sleep 300`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, Options{})
			begun := time.Now()
			res := call(t, r, Bash, obj{"command": tc.command, "timeout": 1})
			took := time.Since(begun)
			if !res.IsError || !strings.HasPrefix(res.Content, "Error: the command did not end within 1 s") || !strings.HasSuffix(res.Content, "\npart\n") || *res.ExitCode != -1 {
				t.Fatalf("%+v", res)
			}
			if took < time.Second || took > 15*time.Second {
				t.Errorf("answered after %v", took)
			}
			if p := pid(t, r, "p"); runs(p) {
				t.Errorf("process %d still runs", p)
			}
			t.Logf("answered after %v", took)
		})
	}
}

// F17, F19: a cancel ends the running command with all its children, what it and
// earlier calls left in the background, and gives the answer at once.
func TestBash_Cancel(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	if res := call(t, r, Bash, obj{"command": "sleep 1000 & echo $! >earlier"}); res.IsError {
		t.Fatal(res.Content)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan Result, 1)
	go func() {
		done <- r.Run(ctx, Bash, encode(t, obj{"command": "echo part; sleep 1000 & echo $! >bg; setsid sh -c 'echo $$ >far; exec sleep 1000' & sh -c 'echo $$ >fg; sleep 1000; :'", "timeout": 120}))
	}()
	var pids []int
	for _, n := range []string{"earlier", "bg", "far", "fg"} {
		pids = append(pids, pid(t, r, n))
	}
	begun := time.Now()
	cancel()
	select {
	case res := <-done:
		if !res.IsError || !strings.HasPrefix(res.Content, "Error: Cancelled by the user; ") || !strings.Contains(res.Content, "part") {
			t.Errorf("%+v", res)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("no answer after the cancel")
	}
	t.Logf("answered %v after the cancel", time.Since(begun))
	for _, p := range pids {
		if runs(p) {
			t.Errorf("process %d still runs", p)
		}
	}
}

// A deadline of one call is not a cancel of the turn: the background stays.
func TestBash_Deadline(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	call(t, r, Bash, obj{"command": "sleep 1000 & echo $! >earlier"})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	res := r.Run(ctx, Bash, encode(t, obj{"command": "sleep 1000"}))
	if !res.IsError || !strings.Contains(res.Content, "the time for this call is over") {
		t.Errorf("%+v", res)
	}
	if !runs(pid(t, r, "earlier")) {
		t.Error("the background process of an earlier call was ended")
	}
}

// F23: nothing outlives the conversation, and nothing starts after its end.
func TestBash_Close(t *testing.T) {
	t.Parallel()
	var open atomic.Int32
	r := newRuntime(t, Options{Register: func(*child.Group) func() {
		open.Add(1)
		return func() { open.Add(-1) }
	}})
	call(t, r, Bash, obj{"command": "sleep 1000 & echo $! >bg"})
	done := make(chan Result, 1)
	go func() { done <- call(t, r, Bash, obj{"command": "echo $$ >fg; sleep 1000", "timeout": 120}) }()
	pids := []int{pid(t, r, "bg"), pid(t, r, "fg")}
	// A command may speak before its record is written.
	eventually(t, "both groups are recorded", func() bool { return open.Load() == 2 })
	r.Close()
	res := <-done
	if !res.IsError || *res.ExitCode != -1 {
		t.Errorf("%+v", res)
	}
	for _, p := range pids {
		if runs(p) {
			t.Errorf("process %d still runs", p)
		}
	}
	if open.Load() != 0 {
		t.Errorf("%d groups still recorded", open.Load())
	}
	for tool, args := range map[string]obj{Bash: {"command": "echo x"}, ReadFile: {"path": "bg"}, WriteFile: {"path": "x", "content": ""}} {
		if res := call(t, r, tool, args); !res.IsError || !strings.Contains(res.Content, "this conversation is closed") {
			t.Errorf("%s after the close: %+v", tool, res)
		}
	}
	r.Close()
}

// Many calls at once keep their outputs apart and leave nothing behind.
func TestBash_Parallel(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if res := call(t, r, Bash, obj{"command": fmt.Sprintf("echo %d; echo %d >&2", i, i)}); res.Stdout != fmt.Sprintf("%d\n", i) || res.Stderr != res.Stdout {
				t.Errorf("%d: %+v", i, res)
			}
		})
	}
	wg.Wait()
	if n := len(r.Running()); n != 0 {
		t.Errorf("%d left", n)
	}
}

// A service that is killed while it writes leaves the old or the new text.
func TestWriteFile_Killed(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	texts := []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 700_000)}
	put(t, r, "f", texts[0])
	for range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{roleVar + "=writer", "TEST_ROOT=" + r.fence.dir}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It says one word after its first write and writes on.
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := content(t, r, "f"); got != texts[0] && got != texts[1] {
			t.Fatalf("a part of a file: %d bytes", len(got))
		}
	}
}

// A named pipe is refused, not waited for.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	if err := syscall.Mkfifo(filepath.Join(r.fence.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string]obj{
		ReadFile:  {"path": "pipe"},
		WriteFile: {"path": "pipe", "content": "x"},
		EditFile:  {"path": "pipe", "old_string": "a", "new_string": "b"},
		Grep:      {"path": "pipe", "pattern": "x"},
	} {
		if res := call(t, r, tool, args); !res.IsError || !strings.Contains(res.Content, "not a regular file") {
			t.Errorf("%s: %+v", tool, res)
		}
	}
	if res := call(t, r, Grep, obj{"pattern": "x"}); res.Content != "No matches." {
		t.Errorf("%+v", res)
	}
}

// A file that its owner protected is not replaced through its folder.
func TestWriteFile_Protected(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	path := put(t, r, "f", "old")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	res := call(t, r, WriteFile, obj{"path": "f", "content": "new"})
	want, refused := "old", true
	if os.Geteuid() == 0 { // Nothing is protected from root.
		want, refused = "new", false
	}
	if got := content(t, r, "f"); res.IsError != refused || got != want {
		t.Errorf("content %q, result %+v", got, res)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o444 {
		t.Errorf("mode %v", info.Mode())
	}
}
