//go:build unix

package hook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/child"
)

var anyInput = json.RawMessage(`{"command":"git push","n":1}`)

// What a PreToolUse hook may end like, and what becomes of the call.
func TestBefore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, hooks string
		limit       time.Duration
		refused     string
		logged      []string
		ran         []string
	}{
		{name: "none", hooks: `[]`},
		{name: "allows", hooks: `[{"event":"PreToolUse","command":"echo a >>ran"}]`, ran: []string{"a"}},
		{
			name: "vetoes", hooks: `[{"event":"PreToolUse","command":"echo a >>ran; exit 1"},{"event":"PreToolUse","command":"echo b >>ran"}]`,
			refused: "Blocked by PreToolUse hook: echo a >>ran; exit 1", ran: []string{"a"},
		},
		{
			name: "the second vetoes", hooks: `[{"event":"PreToolUse","command":"echo a >>ran"},{"event":"PreToolUse","command":"exit 2"}]`,
			refused: "Blocked by PreToolUse hook: exit 2", ran: []string{"a"},
		},
		{name: "another tool", hooks: `[{"event":"PreToolUse","matcher":"write_file","command":"exit 1"}]`},
		{name: "another command", hooks: `[{"event":"PreToolUse","matcher":"Bash(git pull:*)","command":"exit 1"}]`},
		{
			name: "this command", hooks: `[{"event":"PreToolUse","matcher":"Bash(git push:*)","command":"exit 1"}]`,
			refused: "Blocked by PreToolUse hook: exit 1",
		},
		{name: "another event", hooks: `[{"event":"PostToolUse","command":"exit 1"},{"event":"UserPromptSubmit","command":"exit 1"},{"event":"SessionStart","command":"exit 1"}]`},
		{name: "not found", hooks: `[{"event":"PreToolUse","command":"./no-such-program"}]`, logged: []string{"from=user settings, entry 1 reason=the shell could not run it (code 127)"}},
		{name: "not executable", hooks: `[{"event":"PreToolUse","command":"./readme"}]`, logged: []string{"(code 126)"}},
		{name: "a signal", hooks: `[{"event":"PreToolUse","command":"kill -9 $$"}]`, logged: []string{"ended by a signal"}},
		{
			name: "too long", limit: 2 * time.Second, hooks: `[{"event":"PreToolUse","command":"echo a >>ran; sleep 1000"},{"event":"PreToolUse","command":"echo b >>ran"}]`,
			logged: []string{"took longer than 2s"}, ran: []string{"a", "b"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.hooks, "", func(o *Options) {
				if tc.limit > 0 {
					o.Limit = tc.limit
				}
			})
			text, refused := b.turn().Before(t.Context(), "bash", anyInput)
			if text != tc.refused || refused != (tc.refused != "") {
				t.Errorf("refused %v with %q; want %q", refused, text, tc.refused)
			}
			b.logged(tc.logged...)
			b.expect("ran", tc.ran...)
			for _, line := range b.lines {
				if strings.Contains(line, "no-such") || strings.Contains(line, "sleep") {
					t.Errorf("the log shows a command: %q", line)
				}
			}
		})
	}
}

// TestPayload: every event's object, one line, no key that does not belong.
func TestPayload(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"event":"SessionStart","command":"cat >>got"},{"event":"PreToolUse","command":"cat >>got"},{"event":"PostToolUse","command":"cat >>got"},{"event":"SessionEnd","command":"cat >>got"}]`, "", nil)
	turn := b.turn()
	turn.Start(t.Context())
	turn.Before(t.Context(), "bash", anyInput)
	turn.After(t.Context(), "bash", anyInput, "a <b>\n", true)
	turn.After(t.Context(), "grep", json.RawMessage(`{}`), "", false)
	b.End()
	b.expect("got",
		`{"session_id":"c-1","event":"SessionStart"}`,
		`{"session_id":"c-1","event":"PreToolUse","tool_name":"bash","tool_input":{"command":"git push","n":1}}`,
		`{"session_id":"c-1","event":"PostToolUse","tool_name":"bash","tool_input":{"command":"git push","n":1},"tool_result":"a <b>\n","is_error":true}`,
		`{"session_id":"c-1","event":"PostToolUse","tool_name":"grep","tool_input":{},"tool_result":"","is_error":false}`,
		`{"session_id":"c-1","event":"SessionEnd"}`)
	b.logged()
}

// A payload that fills the pipe does not hold up a hook that reads nothing, nor
// one that reads it all.
func TestPayload_Large(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"event":"PostToolUse","command":"true"},{"event":"PostToolUse","command":"wc -c | tr -d ' ' >size"},{"event":"PostToolUse","command":"exec <&-; sleep 0; echo c >>ran"}]`, "", nil)
	text := strings.Repeat("x", 1<<20)
	b.turn().After(t.Context(), "bash", json.RawMessage(`{}`), text, false)
	b.logged()
	b.expect("ran", "c")
	if got := b.ran("size"); len(got) != 1 {
		t.Fatalf("size %q", got)
	} else if n, err := strconv.Atoi(got[0]); err != nil || n < len(text) {
		t.Errorf("a hook read %q of %d bytes", got[0], len(text))
	}
}

// SessionStart once a session, SessionEnd once and only for a session that was
// started; the next turn starts another.
func TestSession_Life(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"event":"SessionStart","matcher":"Bash","command":"echo start >>ran"},{"event":"SessionEnd","command":"echo end >>ran"}]`, "", nil)
	b.End()
	for range 2 {
		b.turn().Start(t.Context())
	}
	b.End()
	b.End()
	b.expect("ran", "start", "end")
	b.turn().Start(t.Context())
	b.End()
	b.expect("ran", "start", "end", "start", "end")
}

// The files hold for a session: what an agent writes into the project's during
// it runs in the next one.
func TestSession_ReadOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, ``, `[{"event":"PreToolUse","command":"echo old >>ran"}]`, nil)
	first := b.turn()
	first.Start(t.Context())
	b.project(`[{"event":"PreToolUse","command":"echo new >>ran"}]`)
	b.turn().Before(t.Context(), "bash", anyInput)
	b.expect("ran", "old")
	b.End()
	b.turn().Before(t.Context(), "bash", anyInput)
	b.expect("ran", "old", "new")
}

// The project's hooks run behind the person's own, and only when the project is
// trusted; otherwise one line says so, once.
func TestSession_Trust(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"event":"PreToolUse","command":"echo user >>ran"}]`, `[{"event":"PreToolUse","command":"echo project >>ran; exit 1"},{"event":"Nothing"}]`, nil)
	b.trustedByTest = false
	for range 2 {
		if text, refused := b.turn().Before(t.Context(), "bash", anyInput); refused {
			t.Fatalf("refused with %q", text)
		}
	}
	b.expect("ran", "user", "user")
	b.logged("hooks of an untrusted project ignored conv=c-1")
	b.trustedByTest = true
	if text, refused := b.turn().Before(t.Context(), "bash", anyInput); !refused || !strings.Contains(text, "exit 1") {
		t.Errorf("refused %v with %q", refused, text)
	}
	b.expect("ran", "user", "user", "user", "project")
	b.logged("untrusted", "hook ignored conv=c-1 reason=project settings, entry 2")
	b.trustedByTest = false
	b.turn().Before(t.Context(), "bash", anyInput)
	b.expect("ran", "user", "user", "user", "project", "user")
}

// Files that are no settings are left out, with a line; they never hold a turn
// up, and a project without hooks is not worth a line.
func TestSession_OddFiles(t *testing.T) {
	t.Parallel()
	at := func(b *bench) string { return filepath.Join(b.dir, ".claude", "settings.json") }
	for _, tc := range []struct {
		name    string
		trusted bool
		make    func(*testing.T, *bench)
		logged  []string
	}{
		{"none", true, func(*testing.T, *bench) {}, nil},
		{"no hooks, untrusted", false, func(t *testing.T, b *bench) { put(t, at(b), `{"model":"x"}`) }, nil},
		{"not JSON", true, func(t *testing.T, b *bench) { put(t, at(b), `{`) }, []string{"project settings: not a JSON object"}},
		{"not JSON, untrusted", false, func(t *testing.T, b *bench) { put(t, at(b), `{`) }, nil},
		{"a folder", true, func(t *testing.T, b *bench) { put(t, filepath.Join(at(b), "x"), "") }, []string{"no file of at most 1 MiB"}},
		{"huge", true, func(t *testing.T, b *bench) { put(t, at(b), strings.Repeat(" ", maxSettingsBytes+1)) }, []string{"no file of at most 1 MiB"}},
		{"a pipe", true, func(t *testing.T, b *bench) {
			put(t, filepath.Join(b.dir, ".claude", "x"), "")
			if err := syscall.Mkfifo(at(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"no file of at most 1 MiB"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "", "", nil)
			b.trustedByTest = tc.trusted
			tc.make(t, b)
			for range 2 {
				b.turn().Before(t.Context(), "bash", anyInput)
			}
			b.logged(tc.logged...)
		})
	}
}

// In the folder of a person's own settings the two files are one: its hooks run
// once and need no trust.
func TestSession_OwnFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", `[{"event":"PreToolUse","command":"echo a >>ran"}]`, nil)
	b.opt.User = filepath.Join(b.dir, ".claude", "settings.json")
	b.trustedByTest = false
	b.turn().Before(t.Context(), "bash", anyInput)
	b.expect("ran", "a")
	b.logged()
}

// groups counts what is registered.
type groups struct {
	mu      sync.Mutex
	open    int
	started chan *child.Group
}

func (g *groups) register(group *child.Group) func() {
	g.mu.Lock()
	g.open++
	g.mu.Unlock()
	g.started <- group
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open--
	}
}

// F17, F20: a hook is a process group of its own, registered while it runs; a
// cancelled turn and the service's stop end all of it, and so does its own end.
func TestExecute_LeavesNothing(t *testing.T) {
	t.Parallel()
	const tree = `sleep 1000 & setsid sleep 1000 & echo $$ >>pids; `
	for _, tc := range []struct {
		name, command string
		end           func(turn, life context.CancelFunc)
		text          string
		refused       bool
	}{
		{"cancelled", tree + "sleep 1000", func(turn, _ context.CancelFunc) { turn() }, "", false},
		{"service stops", tree + "sleep 1000", func(_, life context.CancelFunc) { life() }, "Interrupted: the service stopped", true},
		{"ends by itself", tree + "exit 0", nil, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := &groups{started: make(chan *child.Group, 4)}
			life, stop := context.WithCancel(t.Context())
			defer stop()
			b := newBench(t, `[{"event":"PreToolUse","command":"`+tc.command+`"},{"event":"PreToolUse","command":"true"}]`, "", func(o *Options) {
				o.Register, o.Life = g.register, life
			})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			done := make(chan struct{})
			var text string
			var refused bool
			go func() {
				defer close(done)
				text, refused = b.turn().Before(ctx, "bash", anyInput)
			}()
			group := <-g.started
			if tc.end != nil {
				waitFor(t, "the hook's own word", func() bool { return len(b.ran("pids")) == 1 })
				if pgid, err := syscall.Getpgid(group.PID); err != nil || pgid != group.PID || pgid == syscall.Getpgrp() {
					t.Errorf("the hook %d is in group %d, %v", group.PID, pgid, err)
				}
				tc.end(cancel, stop)
			}
			select {
			case <-done:
			case <-time.After(patience):
				t.Fatal("the hook was not ended")
			}
			if text != tc.text || refused != tc.refused {
				t.Errorf("refused %v with %q", refused, text)
			}
			if left := group.Processes(); len(left) > 0 {
				t.Errorf("left running: %+v", left)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.open != 0 {
				t.Errorf("%d groups are still registered", g.open)
			}
		})
	}
}

// After the service has stopped nothing is started, at the end of a session
// either.
func TestSession_EndAfterStop(t *testing.T) {
	t.Parallel()
	life, stop := context.WithCancel(t.Context())
	b := newBench(t, `[{"event":"SessionEnd","command":"echo end >>ran"}]`, "", func(o *Options) { o.Life = life })
	b.turn().Start(t.Context())
	stop()
	b.End()
	b.expect("ran")
}

// All of a session's end together keeps to the limit.
func TestSession_EndIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"event":"SessionEnd","command":"echo a >>ran; sleep 1000"},{"event":"SessionEnd","command":"sleep 1000"},{"event":"SessionEnd","command":"sleep 1000"}]`, "", func(o *Options) { o.Limit = 2 * time.Second })
	b.turn().Start(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.End() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the end did not end")
	}
	b.expect("ran", "a")
}

// The environment is the person's, not the service's.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"event":"PreToolUse","command":"echo $MINE $PACKETBENCH_ANTHROPIC_URL $PWD >>ran"}]`, "", func(o *Options) {
		o.Env = []string{"PATH=" + os.Getenv("PATH"), "MINE=1", "PACKETBENCH_ANTHROPIC_URL=http://x", "PWD=/elsewhere"}
	})
	b.turn().Before(t.Context(), "bash", anyInput)
	b.expect("ran", "1 "+b.dir)
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
