//go:build integration && linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/contract"
)

func (w *window) terminals() map[contract.TerminalID]contract.Terminal {
	w.t.Helper()
	var list []contract.Terminal
	w.must(contract.MethodListTerminals, contract.Empty{}, &list)
	out := map[contract.TerminalID]contract.Terminal{}
	for _, t := range list {
		out[t.TerminalID] = t
	}
	return out
}

func (w *window) followTerminals() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := w.subscribe(ctx, "new", "terminal.>", "ops.>"); err != nil {
		w.t.Fatal(err)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z"
}

// gone waits until none of the processes runs.
func gone(t testing.TB, pids ...int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				t.Fatalf("process %d still runs: %q", pid, cmd)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// numberIn waits for a file that holds a number.
func numberIn(t testing.TB, path string) int {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		content, err := os.ReadFile(path)
		if n, convErr := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && convErr == nil {
			return n
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v %q", path, err, content)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A shell through the doors: typing, events, two windows, a reload, the size and
// its owner, a monitor, and the end (F60, F61, F62, F65).
func TestTerminal_Doors(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.followTerminals()
	dir := project(t)
	id := w.shellIn(dir)
	if e := w.until("terminal.opened." + string(id)); len(e) != 1 || !strings.Contains(string(e[0].Data), `"command":"bash"`) {
		t.Errorf("%+v", e)
	}
	one := p.screen(t, string(id), p.run.OwnerToken)
	one.shows("ready> ")
	if one.cols != 80 || one.rows != 24 || one.snapshots != 1 {
		t.Errorf("%d x %d after %d snapshots", one.cols, one.rows, one.snapshots)
	}
	one.keys("echo $((6*7)); pwd; echo $TERM; tty\n")
	one.shows("42\r\n" + dir + "\r\nxterm-256color\r\n/dev/pts/")

	// Another window attaches with a size of its own, which changes nothing.
	two := p.screen(t, string(id), p.run.OwnerToken)
	two.shows("/dev/pts/")
	two.resize(40, 20)
	one.keys("stty size\n") // The owner of the size is who has typed.
	one.shows("24 80\r\n")
	one.resize(100, 30)
	w.until("terminal.resized." + string(id))
	two.until("the new size", func() bool { return two.cols == 100 && two.rows == 30 })
	two.keys("") // Takes over.
	two.resize(90, 25)
	one.until("the size of the other", func() bool { return one.cols == 90 && one.rows == 25 })
	w.must(contract.MethodResizeTerminal, contract.ResizeTerminalParams{TerminalID: id, Cols: 70, Rows: 22}, nil)
	one.until("the size of the command", func() bool { return one.cols == 70 && one.rows == 22 })

	// A monitor watches.
	watcher := p.screen(t, string(id), p.run.MonitorToken)
	watcher.shows("/dev/pts/")
	watcher.keys("touch " + dir + "/by-monitor\n")
	watcher.until("the refusal", func() bool { return watcher.said != "" })
	if !strings.Contains(watcher.said, contract.TextMonitor) {
		t.Errorf("a monitor hears %q", watcher.said)
	}
	one.keys("echo to $((6*7)) people\n")
	watcher.shows("to 42 people\r\n")
	two.shows("to 42 people\r\n")

	// Everybody leaves; the program does not notice (F65).
	pid := w.terminals()[id].ChildPID
	for _, s := range []*screen{one, two, watcher} {
		_ = s.conn.CloseNow()
	}
	back := p.screen(t, string(id), p.run.OwnerToken)
	back.shows("to 42 people")
	if now := w.terminals()[id]; now.ChildPID != pid || now.State != contract.TerminalRunning {
		t.Errorf("%+v, before it was process %d", now, pid)
	}
	back.keys("printf '\\033]2;a title\\007'\n")
	w.until("terminal.title." + string(id))
	back.keys("exit 3\n")
	if code := back.exits(); code != 3 {
		t.Errorf("exit %d", code)
	}
	if e := w.until("terminal.exited." + string(id)); !strings.Contains(string(e[len(e)-1].Data), `{"exit_code":3,"signal":null}`) {
		t.Errorf("%s", e[len(e)-1].Data)
	}
	if got := w.terminals()[id]; got.State != contract.TerminalEnded || got.ExitCode == nil || *got.ExitCode != 3 || got.ChildPID != 0 || got.Title != "a title" {
		t.Errorf("%+v", got)
	}
	// Viewing what has exited: its last screen, then the exit.
	late := p.screen(t, string(id), p.run.MonitorToken)
	late.shows("to 42 people")
	if code := late.exits(); code != 3 {
		t.Errorf("exit %d", code)
	}
	// In place again, for those who look on.
	var again contract.Terminal
	w.must(contract.MethodRestartTerminal, contract.TerminalParams{TerminalID: id}, &again)
	if again.State != contract.TerminalRunning || again.ChildPID == 0 || again.ChildPID == pid {
		t.Errorf("%+v", again)
	}
	late.until("a fresh screen", func() bool { return late.snapshots == 2 })
	late.shows("ready> ")
	w.must(contract.MethodCloseTerminal, contract.TerminalParams{TerminalID: id}, nil)
	gone(t, again.ChildPID)
	w.until("terminal.closed." + string(id))
	if err := late.read(t.Context()); err == nil {
		for err == nil {
			err = late.read(t.Context())
		}
		if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("a view of a closed terminal ends with %v", err)
		}
	}
	w.refused(contract.MethodCloseTerminal, contract.TerminalParams{TerminalID: id}, contract.CodeNotFound)
	if _, err := p.tryScreen(t, string(id), p.run.OwnerToken); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a closed terminal: %v", err)
	}
	if files, err := os.ReadDir(filepath.Join(p.home, "terminals")); err != nil || len(files) != 0 {
		t.Errorf("something of it is kept: %v, %v", files, err)
	}
	// What is refused.
	w.refused(contract.MethodOpenTerminal, contract.OpenTerminalParams{Command: "rm", Cwd: dir, Cols: 80, Rows: 24}, contract.CodeBadParams)
	w.refused(contract.MethodOpenTerminal, contract.OpenTerminalParams{Command: "/none/zsh", Cwd: dir, Cols: 80, Rows: 24}, contract.CodeConflict)
	if len(w.terminals()) != 0 {
		t.Errorf("%+v", w.terminals())
	}
}

// A paste of a megabyte arrives whole, also in one frame, and the shell stays
// live (F56, F57, F58).
func TestTerminal_Paste(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	dir := project(t)
	s := p.screen(t, string(w.shellIn(dir)), p.run.OwnerToken)
	s.shows("ready> ")
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, "line %06d of a paste \u2014 with a dash\n", i)
	}
	text := b.String()
	for i, cut := range []int{64 << 10, len(text)} {
		name := filepath.Join(dir, fmt.Sprintf("f%d", i))
		s.keys("stty -echo; cat > '" + name + "'\n")
		s.keys("")
		// cat reads when the shell has begun it: what is sent before is kept by the terminal.
		for rest := text; rest != ""; {
			n := min(cut, len(rest))
			s.keys(rest[:n])
			rest = rest[n:]
		}
		s.keys("\x04")
		s.keys("stty echo; echo done$((" + strconv.Itoa(i) + "+1))\n")
		s.shows("done" + strconv.Itoa(i+1))
		got, err := os.ReadFile(name)
		if err != nil || sha256.Sum256(got) != sha256.Sum256([]byte(text)) {
			t.Fatalf("%d of %d bytes arrived, %v", len(got), len(text), err)
		}
	}
}

// The output of a short command is there 100 times of 100, then its exit (F55);
// a character that falls on the edge of a read is whole (F01, F02).
func TestTerminal_Tail(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	dir := project(t)
	lines := filepath.Join(dir, "five")
	text := "one\ntwo\nthree\nfour\nfive \u2014 \u00e7\n"
	if err := os.WriteFile(lines, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		id := w.shellIn(dir, "-c", "cat five; exit 7")
		s := p.screen(t, string(id), p.run.OwnerToken)
		if code := s.exits(); code != 7 {
			t.Fatalf("run %d: exit %d", i, code)
		}
		for _, part := range []string{"one", "two", "three", "four", "five \u2014 \u00e7"} {
			if !bytes.Contains(s.text.Bytes(), []byte(part)) {
				t.Fatalf("run %d: no %q in %q", i, part, s.text.String())
			}
		}
		_ = s.conn.CloseNow()
		w.must(contract.MethodCloseTerminal, contract.TerminalParams{TerminalID: id}, nil)
	}
}

// stubborn is a shell with a background job that ignores what is friendly, and a
// grandchild in a session of its own. It returns their pids.
func stubborn(t testing.TB, s *screen, dir string) []int {
	t.Helper()
	s.shows("ready> ")
	s.keys("(trap '' HUP TERM INT; echo $BASHPID > " + quoted(dir, "job") + "; while :; do sleep 1; done) &\n")
	s.keys("setsid bash -c 'echo $$ > " + filepath.Join(dir, "apart") + "; exec sleep 1000' < /dev/null > /dev/null 2>&1 &\n")
	return []int{numberIn(t, filepath.Join(dir, "job")), numberIn(t, filepath.Join(dir, "apart"))}
}

func quoted(dir, name string) string { return "'" + filepath.Join(dir, name) + "'" }

// plainDir is a folder whose name needs no quotes inside of quotes.
func plainDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "packetbench-terminal-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Closing leaves no process, whatever the shell has started (F23); neither does
// the end of the shell by force, which shows as what it is.
func TestTerminal_LeavesNothing(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.followTerminals()
	for _, way := range []string{"close", "kill"} {
		dir := plainDir(t)
		id := w.shellIn(dir)
		s := p.screen(t, string(id), p.run.OwnerToken)
		pids := stubborn(t, s, dir)
		shell := w.terminals()[id].ChildPID
		if way == "close" {
			w.must(contract.MethodCloseTerminal, contract.TerminalParams{TerminalID: id}, nil)
		} else {
			if err := syscall.Kill(shell, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if code := s.exits(); code != -1 {
				t.Errorf("exit %d", code)
			}
			e := w.until("terminal.exited." + string(id))
			if last := string(e[len(e)-1].Data); last != `{"exit_code":-1,"signal":"SIGKILL"}` {
				t.Errorf("exited %s", last)
			}
			if got := w.terminals()[id]; got.Signal == nil || *got.Signal != "SIGKILL" || got.State != contract.TerminalEnded {
				t.Errorf("%+v", got)
			}
		}
		gone(t, append(pids, shell)...)
	}
}

// The service is killed: no orphan stays when it is back, the terminal is shown
// as ended with its last screen, starts again in place, and can be closed
// (F22, F24, F63).
func TestTerminal_ServiceKilled(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), plainDir(t)
	p := serve(t, home, nil)
	w := p.window(t)
	id := w.shellIn(dir)
	s := p.screen(t, string(id), p.run.OwnerToken)
	pids := stubborn(t, s, dir)
	pids = append(pids, w.terminals()[id].ChildPID)
	s.keys("seq 1 200; echo the last line $((6*7))\n")
	s.shows("the last line 42\r\n")
	image := filepath.Join(home, "terminals", string(id)+".screen")
	before, err := os.Stat(image)
	deadline := time.Now().Add(patience)
	for { // It is kept when the output pauses.
		now, err2 := os.Stat(image)
		if err2 == nil && (err != nil || now.ModTime().After(before.ModTime())) && now.Size() > 600 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no last screen is kept: %v, %v", err, err2)
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.kill()
	p = serve(t, home, nil)
	gone(t, pids...)
	w = p.window(t)
	got := w.terminals()[id]
	if got.State != contract.TerminalEnded || got.ChildPID != 0 || got.ExitCode == nil || *got.ExitCode != -1 || got.Command != "bash" || got.Cwd != dir {
		t.Fatalf("%+v", got)
	}
	w.refused(contract.MethodOpenTerminal, contract.OpenTerminalParams{TerminalID: id, Cwd: dir, Cols: 80, Rows: 24}, contract.CodeConflict)
	view := p.screen(t, string(id), p.run.MonitorToken)
	if code := view.exits(); code != -1 {
		t.Errorf("exit %d", code)
	}
	for _, part := range []string{"the last line 42", "\n2\r\n", "\n150\r\n"} { // Scrollback too.
		if !bytes.Contains(view.text.Bytes(), []byte(part)) {
			t.Errorf("the last screen lacks %q", part)
		}
	}
	var again contract.Terminal
	w.must(contract.MethodRestartTerminal, contract.TerminalParams{TerminalID: id}, &again)
	if again.State != contract.TerminalRunning || again.Cwd != dir || again.ChildPID == 0 {
		t.Errorf("%+v", again)
	}
	view.until("a fresh screen", func() bool { return view.snapshots == 2 })
	w.must(contract.MethodCloseTerminal, contract.TerminalParams{TerminalID: id}, nil)
	gone(t, again.ChildPID)
	if code := p.term(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p = serve(t, home, nil)
	if got := p.window(t).terminals(); len(got) != 0 {
		t.Errorf("a closed terminal is back: %+v", got)
	}
}

// An orderly stop takes the terminals along, within its time, and the last word
// of the screen is kept (F23).
func TestTerminal_Drain(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), plainDir(t)
	p := serve(t, home, nil)
	w := p.window(t)
	id := w.shellIn(dir)
	s := p.screen(t, string(id), p.run.OwnerToken)
	pids := stubborn(t, s, dir)
	pids = append(pids, w.terminals()[id].ChildPID)
	s.keys("echo said at the end $((6*7))\n")
	s.shows("said at the end 42\r\n")
	if code := p.term(); code != 0 {
		t.Errorf("exit %d\n%s", code, p.logged())
	}
	for _, pid := range pids { // No waiting: the service has said that it is done.
		if alive(pid) {
			t.Errorf("process %d outlived the service", pid)
		}
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := s.read(ctx)
		cancel()
		if err == nil {
			continue
		}
		if websocket.CloseStatus(err) != 4001 {
			t.Errorf("the window hears %v", err)
		}
		break
	}
	p = serve(t, home, nil)
	view := p.screen(t, string(id), p.run.OwnerToken)
	view.exits()
	if !bytes.Contains(view.text.Bytes(), []byte("said at the end 42")) {
		t.Error("the last screen is not the last one")
	}
}

// What stands beside the tree, and the text log, through the doors; a child of
// a terminal is in the tree and in the figures.
func TestTerminal_Ops(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.followTerminals()
	id := w.shellIn(project(t))
	s := p.screen(t, string(id), p.run.OwnerToken)
	s.shows("ready> ")
	var tree contract.Tree
	find := func(name string) (found contract.TreeNode, ok bool) {
		tree = contract.Tree{} // Not what an earlier answer had.
		w.must(contract.MethodTree, contract.Empty{}, &tree)
		var walk func(n contract.TreeNode)
		walk = func(n contract.TreeNode) {
			if n.Name == name {
				found, ok = n, true
			}
			for _, c := range n.Children {
				walk(c)
			}
		}
		walk(tree.Root)
		return found, ok
	}
	deadline := time.Now().Add(patience)
	for { // Sampled, because somebody follows ops.>.
		n, ok := find("terminal:" + string(id))
		if ok && n.Rates != nil && len(n.Rates.In) > 0 && strings.Contains(string(n.Detail), `"child_pid":`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", n)
		}
		s.keys("\n")
		time.Sleep(50 * time.Millisecond)
		w.must(contract.MethodResizeTerminal, contract.ResizeTerminalParams{TerminalID: id, Cols: 80 + int(time.Now().UnixNano()%9), Rows: 24}, nil)
	}
	h := tree.House
	if h == nil || h.Actors < 10 || len(h.Windows) != 2 || h.Log.Last == 0 || h.Log.First == 0 || h.MemoryBytes == 0 || h.ChildBytes == 0 || !h.Log.Up || h.Sidecar.State == "" {
		t.Fatalf("%+v", h)
	}
	if h.Windows[1].Kind != "terminal:"+string(id) {
		t.Errorf("%+v", h.Windows)
	}
	q, err := http.NewRequest(http.MethodGet, p.run.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+p.run.MonitorToken)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(a.Body); err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", a.StatusCode, err)
	}
	for _, want := range []string{
		`packetbench_events_total{subject="terminal.opened"} 1`, `packetbench_actors{actor="terminal"} 1`,
		`packetbench_child_memory_bytes{actor="terminal"} `, `packetbench_mailbox_most `, `packetbench_log_bytes `, `packetbench_text_log_lost_total 0`,
	} {
		if !strings.Contains(body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	var lines contract.LogLines
	w.must(contract.MethodLog, contract.LogLinesParams{}, &lines)
	if lines.Last == 0 || len(lines.Lines) == 0 || lines.File != filepath.Join(p.home, "logs", "packetbench.log") {
		t.Errorf("%+v", lines)
	}
	content, err := os.ReadFile(lines.File)
	if err != nil || !json.Valid(bytes.SplitN(content, []byte("\n"), 2)[0]) {
		t.Errorf("%v %q", err, content)
	}
	for _, secret := range []string{p.run.OwnerToken, p.run.MonitorToken} {
		if strings.Contains(string(content), secret) || strings.Contains(body.String(), secret) {
			t.Error("log or figures tell a token")
		}
	}
	monitor, err := dial(t.Context(), p.run.URL, p.run.MonitorToken)
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.close()
	var f *contract.Failure
	if err := monitor.call(t.Context(), contract.MethodLog, contract.LogLinesParams{}, nil); !errors.As(err, &f) || f.Code != contract.CodeForbidden {
		t.Errorf("a monitor reads the log: %v", err)
	}
}
