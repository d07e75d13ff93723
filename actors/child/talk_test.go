//go:build unix

package child

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// heard collects what a child said.
type heard struct {
	mu    sync.Mutex
	lines []Line
	logs  []string
	exit  chan Exit
}

func (h *heard) options(t *testing.T, maxLine, endless int64) TalkOptions {
	t.Helper()
	h.exit = make(chan Exit, 1)
	return TalkOptions{
		Options: Options{Marker: Marker{BootID: "talk", Home: t.TempDir()}},
		MaxLine: maxLine, Endless: endless,
		Line:   func(l Line) { h.mu.Lock(); h.lines = append(h.lines, l); h.mu.Unlock() },
		Log:    func(s string) { h.mu.Lock(); h.logs = append(h.logs, s); h.mu.Unlock() },
		Exited: func(e Exit) { h.exit <- e },
	}
}

func talk(t *testing.T, script string, o TalkOptions) *Talk {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	k, err := StartTalk(cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Kill(); <-k.Ended() })
	return k
}

func (h *heard) ended(t *testing.T) Exit {
	t.Helper()
	select {
	case e := <-h.exit:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("the child did not end")
		return Exit{}
	}
}

// F68 F69 F70: lines arrive whole and in order, whatever the pieces; the last
// one counts without its line end; stderr is kept.
func TestTalk_LinesAndExit(t *testing.T) {
	t.Parallel()
	var h heard
	k := talk(t, `read a; printf '%s' "got "; printf '%s\nend' "$a"; echo oops >&2; exit 3`, h.options(t, 1<<20, 1<<24))
	long := bytes.Repeat([]byte("x"), 300<<10)
	if err := k.Send(long); err != nil {
		t.Fatal(err)
	}
	e := h.ended(t)
	if e.Code != 3 || e.Signal != "" || strings.TrimSpace(e.Tail) != "oops" || e.Broken != nil {
		t.Errorf("exit %+v", e)
	}
	if len(h.lines) != 2 || len(h.lines[0].Text) != len(long)+4 || string(h.lines[1].Text) != "end" {
		t.Errorf("%d lines", len(h.lines))
	}
	if err := k.Send([]byte("late")); !errors.Is(err, ErrGone) {
		t.Errorf("send after the end: %v", err)
	}
}

// F66 F67: a line over the limit fails alone; one without an end ends the child.
func TestTalk_LongLines(t *testing.T) {
	t.Parallel()
	var h heard
	talk(t, `head -c 5000 /dev/zero | tr '\0' x; echo; echo after`, h.options(t, 1000, 1<<20))
	if e := h.ended(t); e.Broken != nil || len(h.lines) != 2 || !h.lines[0].Dropped || string(h.lines[1].Text) != "after" {
		t.Errorf("exit %+v lines %d", e, len(h.lines))
	}
	var endless heard
	talk(t, `yes x | tr -d '\n'`, endless.options(t, 1000, 1<<20))
	var broken *EndlessLineError
	if e := endless.ended(t); !errors.As(e.Broken, &broken) {
		t.Errorf("exit %+v", e)
	}
}

// A slow owner slows the child down: no more lines than credits arrive.
func TestTalk_Credits(t *testing.T) {
	t.Parallel()
	var h heard
	k := talk(t, `i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done`, h.options(t, 1000, 1<<20))
	deadline := time.Now().Add(30 * time.Second)
	count := func() int { h.mu.Lock(); defer h.mu.Unlock(); return len(h.lines) }
	for count() < talkCredits {
		if time.Now().After(deadline) {
			t.Fatalf("%d lines", count())
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case <-h.exit:
		t.Fatal("the child ended although nobody gave credit")
	default:
	}
	given := 0
	for count() < 1000 {
		n := count()
		if n > given+talkCredits {
			t.Fatalf("%d lines with %d credits given back", n, given)
		}
		k.Credit(n - given)
		given = n
		if time.Now().After(deadline) {
			t.Fatalf("%d lines", n)
		}
	}
	k.Credit(talkCredits)
	h.ended(t)
	for i, l := range h.lines {
		if string(l.Text) != fmt.Sprint(i) {
			t.Fatalf("line %d is %q", i, l.Text)
		}
	}
}

// A child that does not read fails the request instead of blocking its owner,
// one that ignores the close of stdin and SIGTERM is killed with its group.
func TestTalk_DeafChild(t *testing.T) {
	t.Parallel()
	var h heard
	k := talk(t, `trap '' TERM; echo up; sleep 300 & while :; do sleep 1; done`, h.options(t, 1000, 1<<20))
	var err error
	for range 10 * talkWaiting {
		if err = k.Send(bytes.Repeat([]byte("x"), 1000)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrNotReading) {
		t.Fatalf("a full queue: %v", err)
	}
	k.Stop(50 * time.Millisecond)
	if e := h.ended(t); e.Signal != "SIGKILL" {
		t.Errorf("exit %+v", e)
	}
	if left := k.group.Processes(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestStartTalk_MissingProgram(t *testing.T) {
	t.Parallel()
	var h heard
	if _, err := StartTalk(exec.Command("/no/such/program"), h.options(t, 1, 1)); err == nil {
		t.Fatal("no error")
	}
}

// F22: what a child leaves behind holds its pipes. The end is reported all the
// same, after everything the child itself had said, and the survivor is gone.
func TestTalk_Survivor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, script string }{
		{"in the group", `sleep 300 & echo $!; kill -9 $$`},
		{"in a session of its own", `setsid sleep 300 & echo $!; sleep 0.1; kill -9 $$`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var h heard
			talk(t, tc.script, h.options(t, 1000, 1<<20))
			if e := h.ended(t); e.Signal != "SIGKILL" || len(h.lines) != 1 {
				t.Fatalf("exit %+v after %d lines", e, len(h.lines))
			}
			pid, err := strconv.Atoi(string(h.lines[0].Text))
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the survivor is gone", func() bool { return !runs(pid) })
		})
	}
}

// A child that closes its stdout and lives on is ended: nobody would read it.
func TestTalk_Mute(t *testing.T) {
	t.Parallel()
	var h heard
	talk(t, `echo last; exec >&-; exec sleep 300`, h.options(t, 1000, 1<<20))
	if e := h.ended(t); e.Signal != "SIGKILL" || len(h.lines) != 1 {
		t.Errorf("exit %+v after %d lines", e, len(h.lines))
	}
}

// Pause is called behind the lines that it is about, also the last one.
func TestTalk_Pause(t *testing.T) {
	t.Parallel()
	var h heard
	o := h.options(t, 1000, 1<<20)
	paused := 0 // Lines that were there at the last Pause.
	o.Pause = func() { h.mu.Lock(); paused = len(h.lines); h.mu.Unlock() }
	talk(t, `echo a; echo b; printf c`, o)
	h.ended(t)
	if paused != 3 {
		t.Errorf("%d lines at the last pause", paused)
	}
}

// The queue holds as many lines as its owner asks for.
func TestTalk_Queue(t *testing.T) {
	t.Parallel()
	var h heard
	o := h.options(t, 1000, 1<<20)
	o.Queue = 2000
	k := talk(t, `exec sleep 300`, o)
	for n := range o.Queue {
		if err := k.Send(bytes.Repeat([]byte("x"), 1000)); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
	}
}
