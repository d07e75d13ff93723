//go:build unix

package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

const roleVar = "TERMINAL_TEST_ROLE"

// TestTerminal_Short: the output of a short command is whole and comes before
// its end, 100 times of 100 (F55).
func TestTerminal_Short(t *testing.T) {
	r := newRig(t, 45*time.Second)
	file := filepath.Join(t.TempDir(), "five")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\nfour\nfive\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		spec := shell("")
		spec.Command, spec.Args = "cat", []string{file}
		name := r.open(spec)
		w := r.attach(name, false)
		if e := w.waitExit(); e != 0 {
			t.Fatalf("run %d: exit %d", i, e)
		}
		if shown := w.shows(); !strings.Contains(shown, "one\r\ntwo\r\nthree\r\nfour\r\nfive") {
			t.Fatalf("run %d: the window shows %q", i, shown)
		}
		w.close()
		r.close(name)
	}
}

// TestTerminal_Flood: nothing of a flood is lost to a window that keeps
// acknowledging, and memory stays.
func TestTerminal_Flood(t *testing.T) {
	r := newRig(t, 40*time.Second)
	const lines = 400_000
	name := r.open(shell("read x; seq 1 " + strconv.Itoa(lines)))
	w := r.attach(name, true)
	w.keys("go\r")
	w.waitExit()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshots != 1 {
		t.Fatalf("the window was skipped: %d snapshots", w.snapshots)
	}
	n := 0
	for line := range bytes.Lines(w.raw.Bytes()) {
		if got, err := strconv.Atoi(strings.TrimSpace(string(line))); err == nil {
			if n++; got != n {
				t.Fatalf("line %d says %d", n, got)
			}
		}
	}
	if n != lines {
		t.Fatalf("%d lines of %d", n, lines)
	}
}

// TestTerminal_Paste: a megabyte of numbered lines arrives byte for byte, also
// at a program that reads slowly (F56, F57).
func TestTerminal_Paste(t *testing.T) {
	var paste strings.Builder
	for i := 0; paste.Len() < 1<<20; i++ {
		fmt.Fprintf(&paste, "%07d the quick brown fox\n", i)
	}
	for _, reader := range []string{"cat", "sleep 0.5; dd bs=61 2>/dev/null"} {
		t.Run(reader, func(t *testing.T) {
			r := newRig(t, 45*time.Second)
			file := filepath.Join(t.TempDir(), "pasted")
			name := r.open(shell("stty -echo; echo ready; (" + reader + ") > " + file + "; echo over"))
			w := r.attach(name, true)
			w.waitFor("ready")
			want := paste.String()
			w.keys(want)
			w.keys("\x04")
			w.waitFor("over")
			got, err := os.ReadFile(file)
			if err != nil || string(got) != want {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Fatalf("%d bytes of %d arrived, %v; they differ from byte %d on", len(got), len(want), err, i)
			}
			r.close(name)
		})
	}
}

// TestTerminal_PasteIntoShell: 2,000 lines into an interactive shell, which
// stays alive (F58).
func TestTerminal_PasteIntoShell(t *testing.T) {
	r := newRig(t, 45*time.Second)
	spec := shell("")
	spec.Command, spec.Args = "bash", []string{"--norc", "--noprofile", "-i"}
	name := r.open(spec)
	w := r.attach(name, true)
	w.waitFor("$ ")
	w.keys(strings.Repeat("true # a line that is pasted\n", 2000))
	w.keys("echo al''ive\r")
	w.waitFor("alive")
	r.close(name)
}

// TestTerminal_Sizes: one window owns the size; attaching and watching change
// nothing; the wanted size holds from the start (F60, F61, F62).
func TestTerminal_Sizes(t *testing.T) {
	r := newRig(t, 40*time.Second)
	spec := shell("stty size; trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
	spec.Cols, spec.Rows = 170, 50
	name := r.open(spec)
	first := r.attach(name, true)
	first.waitFor("ready")
	first.waitFor("50 170")
	second := r.attach(name, true)
	monitor := r.attach(name, false)
	second.waitFor("50 170")

	// Nobody has typed, so nobody's size counts (F61).
	for _, w := range []*window{first, second} {
		if err := w.send(size{80, 24}); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.send(input("")); err != nil { // A click.
		t.Fatal(err)
	}
	if err := second.send(size{40, 20}); err != nil {
		t.Fatal(err)
	}
	if err := monitor.send(size{40, 20}); !errors.Is(err, msg.ErrTerminalReadOnly) || err.Error() != contract.TextMonitor {
		t.Fatalf("a monitor's size: %v", err)
	}
	if got := r.describe(name).Info; got.Cols != 170 || got.Rows != 50 {
		t.Fatalf("somebody else resized it to %dx%d", got.Cols, got.Rows)
	}
	if err := first.send(size{100, 30}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*window{first, second, monitor} {
		w.waitFor("30 100")
		w.mu.Lock()
		if got := w.sizes[len(w.sizes)-1]; got != (size{100, 30}) {
			t.Errorf("a window was told %v", got)
		}
		w.mu.Unlock()
	}
	// The one that types takes over.
	second.keys("x")
	if err := second.send(size{60, 20}); err != nil {
		t.Fatal(err)
	}
	first.waitFor("20 60")
	// The command of a program always counts; the same size again does nothing.
	for range 2 {
		if done := r.call(name, msg.ResizeTerminal{Cols: 90, Rows: 33}).(msg.TerminalDone); done.Failure != nil {
			t.Fatal(done.Failure)
		}
	}
	first.waitFor("33 90")
	if body, ok := r.events.find(contract.TerminalResized); !ok || field(t, body, "cols") != 90.0 || field(t, body, "rows") != 33.0 {
		t.Fatalf("terminal.resized says %s", body)
	}
	if done := r.call(name, msg.ResizeTerminal{}).(msg.TerminalDone); done.Failure == nil || done.Failure.Code != contract.CodeBadParams {
		t.Fatalf("a size of nothing: %v", done.Failure)
	}
	r.close(name)
}

// TestTerminal_EarlySize: a size 1 ms after the creation is the one in force
// (F62).
func TestTerminal_EarlySize(t *testing.T) {
	r := newRig(t, 20*time.Second)
	name := r.spawn(msg.TerminalOpen{Spec: shell("sleep 0.3; stty size; read x")})
	if done := r.call(name, msg.ResizeTerminal{Cols: 99, Rows: 44}).(msg.TerminalDone); done.Failure != nil {
		t.Fatal(done.Failure)
	}
	r.attach(name, false).waitFor("44 99")
	r.close(name)
}

// TestTerminal_Reload: a new window shows what the old one showed, scrollback
// included, also inside less and vim, and the program runs on (F63, F65).
func TestTerminal_Reload(t *testing.T) {
	r := newRig(t, 45*time.Second)
	file := filepath.Join(t.TempDir(), "text")
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "file line %d\n", i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := shell("")
	spec.Command, spec.Args = "bash", []string{"--norc", "--noprofile", "-i"}
	name := r.open(spec)
	old := r.attach(name, true)
	old.waitFor("$ ")
	for _, step := range []struct{ keys, shows string }{
		{"seq -f 'number %g' 1 200\r", "number 200"},
		{"less " + file + "\r", "file line 5"},
		{" ", "file line 30"},
		{"q", "$ "},
		{"vim -u NONE -N " + file + "\r", "file line 9"},
		{"Ginserted\x1b", "file line 299"},
	} {
		if strings.HasPrefix(step.keys, "vim") {
			if _, err := exec.LookPath("vim"); err != nil {
				t.Fatal("vim is missing; install the package vim")
			}
		}
		old.keys(step.keys)
		old.waitFor(step.shows)
		var last string
		eventually(t, "the same picture after "+strconv.Quote(step.keys), func() bool {
			reloaded := r.attach(name, true)
			defer reloaded.close()
			eventually(t, "a snapshot", func() bool { return reloaded.shows() != "" })
			last = reloaded.shows()
			return last == old.shows()
		})
		if !strings.Contains(last, "number 1\r\nnumber 2\r\n") {
			t.Fatalf("after %q the first lines are gone", step.keys)
		}
		if strings.HasPrefix(step.keys, "less") && !strings.Contains(last, "\x1b[?47h") {
			t.Fatal("less does not run in the alternate screen")
		}
	}
	if info := r.describe(name).Info; info.State != msg.TerminalRunning {
		t.Fatalf("the program is %s", info.State)
	}
	old.close()
	r.close(name)
}

// TestTerminal_Exit: code and signal reach window, log and description, the last
// screen stays, and the terminal starts again in place.
func TestTerminal_Exit(t *testing.T) {
	for _, tc := range []struct {
		script, signal string
		code           int
	}{{"echo bye; exit 7", "", 7}, {"echo bye; kill -TERM $$", "SIGTERM", -1}, {"echo bye", "", 0}} {
		t.Run(tc.script, func(t *testing.T) {
			r := newRig(t, 30*time.Second)
			name := r.open(shell(tc.script))
			w := r.attach(name, true)
			if e := w.waitExit(); int(e) != tc.code {
				t.Fatalf("the window hears of %d", e)
			}
			w.waitFor("bye")
			late := r.attach(name, false)
			late.waitFor("bye")
			late.waitExit()
			var info msg.TerminalInfo
			eventually(t, "the end", func() bool { info = r.describe(name).Info; return info.State == msg.TerminalEnded })
			if *info.Exit != (msg.TerminalExit{Code: tc.code, Signal: tc.signal}) || info.PID != 0 {
				t.Fatalf("described as %+v", info)
			}
			body, _ := r.events.find(contract.TerminalExited)
			wantCode, wantSignal := any(float64(tc.code)), any(nil)
			if tc.signal != "" {
				wantSignal = tc.signal
			}
			if field(t, body, "exit_code") != wantCode || field(t, body, "signal") != wantSignal {
				t.Fatalf("terminal.exited says %s", body)
			}
			w.keys("dropped") // Input to a program that has ended hurts nobody.

			again := shell("echo again; read x")
			d := r.call(name, msg.RestartTerminal{Spec: &again}).(msg.TerminalDescribed)
			if d.Failure != nil || d.Info.State != msg.TerminalRunning || d.Info.Exit != nil {
				t.Fatalf("restarted: %+v", d)
			}
			w.waitFor("again")
			if strings.Contains(w.shows(), "bye") {
				t.Fatal("the screen of the old program is still there")
			}
			w.keys("\r")
			eventually(t, "the second exit", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.exits) == 2 })
			r.close(name)
		})
	}
}

// TestTerminal_RestartRunning: what runs is ended first.
func TestTerminal_RestartRunning(t *testing.T) {
	r := newRig(t, 30*time.Second)
	name := r.open(shell("echo pid $$; sleep 1000"))
	w := r.attach(name, true)
	w.waitFor("pid ")
	before := r.describe(name).Info.PID
	d := r.call(name, msg.RestartTerminal{}).(msg.TerminalDescribed)
	if d.Failure != nil || d.Info.PID == before || d.Info.State != msg.TerminalRunning {
		t.Fatalf("restarted: %+v", d)
	}
	if _, err := child.StartOf(before); err == nil && alivePID(before) {
		t.Fatal("the first program still runs")
	}
	w.waitFor("pid " + strconv.Itoa(d.Info.PID))
	r.close(name)
}

func alivePID(pid int) bool {
	start, err := child.StartOf(pid)
	return err == nil && child.Alive(pid, start)
}

// TestTerminal_Close: a shell with background jobs, one that ignores hangups and
// a grandchild in a session of its own: nothing is left.
func TestTerminal_Close(t *testing.T) {
	r := newRig(t, 45*time.Second)
	reg := r.registry()
	dir := t.TempDir()
	spec := shell("")
	spec.Command, spec.Args = "bash", []string{"--norc", "--noprofile", "-i"}
	name := r.open(spec)
	w := r.attach(name, true)
	w.waitFor("$ ")
	w.keys("sleep 1001 & echo $! > " + dir + "/job\r" +
		"nohup sleep 1002 >/dev/null 2>&1 & echo $! > " + dir + "/nohup\r" +
		"(trap '' HUP TERM; env -i sleep 1003) & echo $! > " + dir + "/stubborn\r" +
		"setsid sh -c 'echo $$ > " + dir + "/session; exec sleep 1004'\r" +
		"echo st''arted\r")
	w.waitFor("started")
	var pids []int
	eventually(t, "four processes", func() bool {
		pids = nil
		for _, f := range []string{"job", "nohup", "stubborn", "session"} {
			b, err := os.ReadFile(filepath.Join(dir, f))
			if pid, bad := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && bad == nil && alivePID(pid) {
				pids = append(pids, pid)
			}
		}
		return len(pids) == 4
	})
	pids = append(pids, r.describe(name).Info.PID)
	if len(reg.Groups()) != 1 {
		t.Fatalf("%d groups are recorded", len(reg.Groups()))
	}
	r.close(name)
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !alivePID(pid) })
	}
	if len(reg.Groups()) != 0 {
		t.Error("the group is still recorded")
	}
	if _, err := r.node.ProcessPID(name); err == nil {
		eventually(t, "the actor's end", func() bool { _, err := r.node.ProcessPID(name); return err != nil })
	}
}

// TestTerminal_Killed: the actor ends by force, and so does its program.
func TestTerminal_Killed(t *testing.T) {
	r := newRig(t, 30*time.Second)
	name := r.open(shell("trap '' HUP TERM; sleep 1000 & sleep 1000"))
	pid := r.describe(name).Info.PID
	at, err := r.node.ProcessPID(name)
	if err != nil {
		t.Fatal(err)
	}
	w := r.attach(name, true)
	if err := r.node.Kill(at); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program's end", func() bool { return !alivePID(pid) })
	if e := w.waitExit(); e != -1 {
		t.Fatalf("the window hears of %d", e)
	}
	select {
	case <-w.view.Gone():
	case <-time.After(patience):
		t.Fatal("the view does not hear that its terminal is gone")
	}
}

// TestTerminal_Drain: the service stops; the program ends, the screen stays to
// be kept, and the next service shows it as ended (F24).
func TestTerminal_Drain(t *testing.T) {
	r := newRig(t, 30*time.Second)
	images := make(chan msg.TerminalImage, 10)
	r.opt.Keep = func(i msg.TerminalImage) { images <- i }
	forgotten := make(chan contract.TerminalID, 10)
	r.opt.Forget = func(id contract.TerminalID) { forgotten <- id }
	name := r.open(shell("printf '\\033]2;my title\\007'; seq 1 100; echo last line; sleep 1000"))
	w := r.attach(name, true)
	w.waitFor("last line")
	if done := r.call(name, msg.Drain{}).(msg.Done); done.Err != nil {
		t.Fatal(done.Err)
	}
	// The answer comes behind the last image: the store is closed next.
	var image msg.TerminalImage
	first := true
	for len(images) > 0 {
		if image = <-images; first && (image.Info.State != msg.TerminalRunning || image.Info.Command != "sh") {
			t.Errorf("kept at the start as %+v", image.Info)
		}
		first = false
	}
	if image.Info.Exit == nil || image.Info.Exit.Signal != "SIGHUP" {
		t.Fatalf("kept as %+v", image.Info)
	}
	revived := r.spawn(msg.TerminalOpen{Image: &image})
	d := r.describe(revived)
	if d.Info.State != msg.TerminalEnded || d.Info.PID != 0 || d.Info.Title != "my title" || !d.Info.Restored {
		t.Fatalf("revived as %+v", d.Info)
	}
	next := r.attach(revived, true)
	next.waitFor("last line")
	next.waitExit()
	if !strings.Contains(next.shows(), "\r\n1\r\n2\r\n") && !strings.Contains(next.shows(), "1\r\n2\r\n3\r\n") {
		t.Fatal("the scrollback is gone")
	}
	if d := r.call(revived, msg.RestartTerminal{}).(msg.TerminalDescribed); d.Failure == nil || d.Failure.Code != contract.CodeConflict {
		t.Fatalf("restarted without an environment: %+v", d)
	}
	spec := shell("echo fresh; read x")
	if d := r.call(revived, msg.RestartTerminal{Spec: &spec}).(msg.TerminalDescribed); d.Failure != nil {
		t.Fatal(d.Failure)
	}
	next.waitFor("fresh")
	r.close(revived)
	r.close(name)
	for range 2 {
		select {
		case <-forgotten:
		case <-time.After(patience):
			t.Fatal("a closed terminal is still kept")
		}
	}
	if _, ok := r.events.find(contract.TerminalClosed); !ok {
		t.Error("nobody is told that it was closed")
	}
}

// TestTerminal_Refused: what cannot start says why, and its id is free again.
func TestTerminal_Refused(t *testing.T) {
	r := newRig(t, 30*time.Second)
	for _, tc := range []struct {
		change func(*msg.TerminalSpec)
		want   string
	}{
		{func(s *msg.TerminalSpec) { s.Command = "no-such-program" }, "Make sure 'no-such-program' is installed and on your PATH."},
		{func(s *msg.TerminalSpec) { s.Cwd = "/no/such/folder" }, "the folder /no/such/folder does not exist"},
		{func(s *msg.TerminalSpec) { s.Command = "/dev/null" }, "it may not be executed"},
		{func(s *msg.TerminalSpec) { s.Env = []string{"PATH=."} }, "was not found"},
	} {
		spec := shell("true")
		tc.change(&spec)
		name := r.spawn(msg.TerminalOpen{Spec: spec})
		reply, err := r.ask(name, msg.DescribeTerminal{})
		if err != nil {
			// It was quicker than the question: the door says so itself.
			if !errors.Is(err, gen.ErrProcessUnknown) && !errors.Is(err, gen.ErrProcessTerminated) {
				t.Fatal(err)
			}
		} else if d := reply.(msg.TerminalDescribed); d.Failure == nil || !strings.Contains(d.Failure.Message, tc.want) {
			t.Errorf("refused with %+v, want %q", d.Failure, tc.want)
		}
		eventually(t, "a free id", func() bool { _, err := r.node.ProcessPID(name); return err != nil })
	}
}

// TestTerminal_Environment: exactly the spec's, and the markers.
func TestTerminal_Environment(t *testing.T) {
	t.Setenv("TERMINAL_TEST_SECRET", "service")
	r := newRig(t, 20*time.Second)
	spec := shell("")
	spec.Command, spec.Args, spec.Env = "env", nil, []string{"PATH=" + os.Getenv("PATH"), "ONE=1", "TERM=xterm-256color"}
	name := r.open(spec)
	w := r.attach(name, false)
	w.waitExit()
	var names []string
	for _, line := range strings.Fields(strings.ReplaceAll(w.shows(), "\x1b[20l", " ")) {
		if n, _, ok := strings.Cut(line, "="); ok && strings.ToUpper(n) == n {
			names = append(names, n)
		}
	}
	if got := strings.Join(names, " "); got != "PATH ONE TERM PACKETBENCH_BOOT_ID PACKETBENCH_HOME PACKETBENCH_GROUP" {
		t.Fatalf("the program has %s", got)
	}
	r.close(name)
}

// TestTerminal_Monitor: it watches, and can do nothing else.
func TestTerminal_Monitor(t *testing.T) {
	r := newRig(t, 20*time.Second)
	name := r.open(shell("echo hello; cat"))
	m := r.attach(name, false)
	m.waitFor("hello")
	for _, f := range []any{input("x"), input(""), size{10, 10}} {
		if err := m.send(f); !errors.Is(err, msg.ErrTerminalReadOnly) {
			t.Errorf("%T: %v", f, err)
		}
	}
	if err := m.send(ack(3)); err != nil {
		t.Error(err)
	}
	if err := m.view.Take(context.Background(), []byte{0x77}); !errors.Is(err, msg.ErrTerminalFrame) {
		t.Errorf("an unknown frame: %v", err)
	}
	r.close(name)
}

// TestTerminal_Queries: a query is answered once, by one of two windows; without
// a window by the screen; a reload answers nothing.
func TestTerminal_Queries(t *testing.T) {
	r := newRig(t, 40*time.Second)
	ask := `stty raw -echo; printf 'ask\033[6n'; IFS= read -r -d R reply; stty sane; printf '\nreply%s\n' "${reply#?}"; echo; `
	spec := shell("")
	spec.Command, spec.Args = "bash", []string{"-c", ask + "read -r x; cat"}
	name := r.open(spec)
	eventually(t, "the screen's answer", func() bool {
		w := r.attach(name, false)
		defer w.close()
		eventually(t, "a snapshot", func() bool { return w.shows() != "" })
		return strings.Contains(w.shows(), "reply[1;4")
	})
	one, two := r.attach(name, true), r.attach(name, true)
	one.waitFor("reply")
	for _, reply := range []string{"\x1b[1;4R", "\x1b[?1;2c", "\x1b[I", "\x1b]10;rgb:1/2/3\x07"} {
		two.keys(reply) // Not the first window, so dropped, and no owner.
	}
	one.keys("typed\r")
	one.keys("more\r")
	two.waitFor("more\r\nmore")
	if strings.Contains(one.shows(), ";4R") || strings.Contains(one.shows(), "rgb") {
		t.Fatal("the second window's replies reached the program")
	}
	r.close(name)
}

// TestTerminal_Slow: a window that stops reading costs the other one nothing; it
// gets a fresh snapshot when it goes on.
func TestTerminal_Slow(t *testing.T) {
	r := newRig(t, 45*time.Second)
	name := r.open(shell("read x; seq 1 700000; echo the end; read x"))
	fast := r.attach(name, true, func(w *window) { w.keepRaw = false })
	slow := r.attach(name, false, func(w *window) { w.keepRaw = false })
	silent := r.attach(name, false, func(w *window) { w.keepRaw, w.mute = false, true })
	slow.waitFor("\x1b[1;1H")
	silent.waitFor("\x1b[1;1H")
	slow.mu.Lock()
	slow.pause = true
	slow.mu.Unlock()
	fast.keys("\r")
	fast.waitFor("the end")
	if fast.snapshots != 1 {
		t.Fatalf("the fast window was skipped: %d snapshots", fast.snapshots)
	}
	silent.mu.Lock()
	if silent.snapshots != 1 || silent.next > ackBytes+1<<16 {
		t.Errorf("a window that acknowledges nothing got %d snapshots and byte %d", silent.snapshots, silent.next)
	}
	next := silent.next
	silent.mute = false
	silent.mu.Unlock()
	if err := silent.send(ack(next)); err != nil {
		t.Fatal(err)
	}
	slow.mu.Lock()
	slow.pause = false
	slow.mu.Unlock()
	if err := slow.send(ack(0)); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*window{slow, silent} {
		w.waitFor("the end")
		eventually(t, "the same picture", func() bool { return w.shows() == fast.shows() })
		w.mu.Lock()
		if w.snapshots != 2 {
			t.Errorf("%d snapshots", w.snapshots)
		}
		w.mu.Unlock()
	}
	r.close(name)
}

// TestTerminal_Alone: without a window, or with one that is stuck, the program
// runs on.
func TestTerminal_Alone(t *testing.T) {
	r := newRig(t, 40*time.Second)
	name := r.open(shell("seq 1 300000; echo the end; read x"))
	stuck := r.attach(name, true, func(w *window) { w.pause = true })
	_ = stuck
	eventually(t, "all output", func() bool { return r.describe(name).Info.Offset > 2_000_000 })
	w := r.attach(name, true)
	w.waitFor("the end")
	r.close(name)
}

// TestTerminal_Events: opened, title joined, and kept while the log is down.
func TestTerminal_Events(t *testing.T) {
	r := newRig(t, 30*time.Second)
	r.events.down = true
	name := r.open(shell("for i in 1 2 3 4 5; do printf \"\\033]2;title $i\\007\"; done; read x"))
	r.attach(name, false).waitFor("title 5")
	r.events.mu.Lock()
	r.events.down = false
	r.events.mu.Unlock()
	eventually(t, "the title", func() bool {
		b, ok := r.events.find(contract.TerminalTitle)
		return ok && field(t, b, "title") == "title 5"
	})
	if b, ok := r.events.find(contract.TerminalOpened); !ok || field(t, b, "command") != "sh" || field(t, b, "cols") != 80.0 {
		t.Fatalf("terminal.opened says %s", b)
	}
	r.close(name)
	eventually(t, "terminal.exited", func() bool { _, ok := r.events.find(contract.TerminalExited); return ok })
}

// inspector is the part of inspect that hears facts.
type inspector struct {
	act.Actor
	facts chan msg.Facts
}

func (i *inspector) HandleMessage(_ gen.PID, m any) error {
	if f, ok := m.(msg.Facts); ok {
		i.facts <- f
	}
	return nil
}

// TestTerminal_Facts: the tree hears of program, size, windows and end.
func TestTerminal_Facts(t *testing.T) {
	r := newRig(t, 20*time.Second)
	facts := make(chan msg.Facts, 100)
	if _, err := r.node.SpawnRegister(msg.Inspect, func() gen.ProcessBehavior { return &inspector{facts: facts} }, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	name := r.open(shell("read x"))
	wait := func(what string, ok func(string) bool) {
		t.Helper()
		for {
			select {
			case f := <-facts:
				if f.Name != string(name) {
					t.Fatalf("facts of %s", f.Name)
				}
				if ok(string(f.Detail)) {
					return
				}
			case <-time.After(patience):
				t.Fatalf("no facts about %s", what)
			}
		}
	}
	wait("a program", func(d string) bool { return field(t, d, "child_pid") == float64(r.describe(name).Info.PID) })
	w := r.attach(name, true)
	wait("a window", func(d string) bool { return field(t, d, "viewers") == 1.0 })
	w.keys("\r")
	wait("the end", func(d string) bool { return field(t, d, "state") == "ended" && field(t, d, "exit_code") == 0.0 })
	w.close()
	wait("no window", func(d string) bool { return field(t, d, "viewers") == 0.0 })
	r.close(name)
}

// TestTerminal_Split: a character that comes in two writes is one (F01, F02).
func TestTerminal_Split(t *testing.T) {
	r := newRig(t, 20*time.Second)
	name := r.open(shell(`printf 'a\342'; sleep 0.1; printf '\200\224b\n'; read x`))
	w := r.attach(name, false)
	w.waitFor("a\u2014b")
	r.close(name)
}

// actAs plays a service that is killed while a terminal runs.
func actAs(role string) {
	_ = role
	reg, err := child.OpenRegistry(child.Marker{BootID: "boot-dead", Home: os.Getenv("TEST_HOME")})
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	spec := shell("trap '' HUP; sleep 1000 & echo $! > " + os.Getenv("TEST_FILE") + "; setsid sleep 1000 & wait")
	p, err := start(spec, size{80, 24}, reg.Marker(), reg.Register)
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	fmt.Println("ready", p.pid())
	select {}
}

// TestTerminal_Orphans: a service that is ended by SIGKILL leaves a record by
// which the next one ends what ran in its terminals (F22).
func TestTerminal_Orphans(t *testing.T) {
	home, file := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=service", "TEST_HOME="+home, "TEST_FILE="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var leader int
	if _, err := fmt.Fscanf(out, "ready %d\n", &leader); err != nil {
		t.Fatal(err)
	}
	var background int
	eventually(t, "a background job", func() bool {
		b, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		background, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := child.SweepOrphans(home, "boot-new"); err != nil {
		t.Fatal(err)
	}
	// The system may take a moment to bury what was killed.
	eventually(t, "no process", func() bool { return !alivePID(leader) && !alivePID(background) })
}
