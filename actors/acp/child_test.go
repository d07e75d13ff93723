//go:build unix

package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/acp/enginetest"
	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// speed is how much faster the clock of these tests runs, so that a limit of
// ten seconds is seen in half of one.
const speed = 20

// shell does the effects of an engine with a real process: what the actor will
// do, with a channel for its mailbox.
type shell struct {
	t     *testing.T
	e     *engine
	in    chan any
	quit  chan struct{}
	begun time.Time
	real  bool // The clock runs as it does.

	mu     sync.Mutex
	talk   *child.Talk
	seen   []effect
	change chan struct{}
}

// launch returns a shell whose engine is the fake one with these switches.
func launch(t *testing.T, switches ...string) *shell {
	t.Helper()
	s := Spec{Name: "fake", Command: enginetest.Command(), Env: enginetest.Env(switches...)}
	for _, w := range switches {
		if w == "packetcode" {
			s.Default = true
		}
	}
	sh := &shell{t: t, e: newEngine(s, "1.2.3", MaxResident), in: make(chan any, 1024), quit: make(chan struct{}), begun: time.Now(), change: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() { defer close(done); sh.run() }()
	t.Cleanup(func() {
		close(sh.quit)
		<-done
		if sh.talk != nil {
			sh.talk.Kill()
			<-sh.talk.Ended()
		}
	})
	return sh
}

func (sh *shell) factor() time.Duration {
	if sh.real {
		return 1
	}
	return speed
}

func (sh *shell) clock() time.Time { return sh.begun.Add(time.Since(sh.begun) * sh.factor()) }

func (sh *shell) run() {
	for {
		var timer <-chan time.Time
		if due := sh.e.due(); !due.IsZero() {
			timer = time.After(due.Sub(sh.clock()) / sh.factor())
		}
		var in any
		select {
		case <-sh.quit:
			return
		case in = <-sh.in:
		case <-timer:
			in = elapsed{}
		}
		for _, x := range sh.e.next(in, sh.clock()) {
			sh.do(x)
		}
		if _, ok := in.(line); ok {
			sh.talk.Credit(1)
		}
	}
}

// give hands an input over unless the test is done.
func (sh *shell) give(in any) {
	select {
	case sh.in <- in:
	case <-sh.quit:
	}
}

func (sh *shell) do(x effect) {
	switch x := x.(type) {
	case spawn:
		talk, err := startChild(sh.e.spec, sh.e.spec.Command, "", os.Environ(), child.TalkOptions{
			Options: child.Options{Marker: child.Marker{BootID: "acp-test", Home: sh.t.TempDir()}},
			Line:    func(l child.Line) { sh.give(line{l}) },
			Exited:  func(e child.Exit) { sh.give(exited{e}) },
		})
		if err != nil {
			sh.give(spawnFailed{err})
			break
		}
		sh.mu.Lock()
		sh.talk = talk
		sh.mu.Unlock()
		sh.give(spawned{})
	case write:
		if err := sh.talk.Send(x.line); err != nil {
			sh.give(unread{err})
		}
	case kill:
		sh.talk.Kill()
	case stop:
		go stopChild(sh.talk, x.grace)
	}
	sh.mu.Lock()
	sh.seen = append(sh.seen, x)
	sh.mu.Unlock()
	select {
	case sh.change <- struct{}{}:
	default:
	}
}

func (sh *shell) effects() []effect {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return append([]effect(nil), sh.seen...)
}

func (sh *shell) pid() int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.talk.PID()
}

// until waits until ok says yes to what has happened so far.
func (sh *shell) until(what string, ok func([]effect) bool) []effect {
	sh.t.Helper()
	limit := time.After(180 * time.Second) // Under the race detector, beside others.
	for {
		seen := sh.effects()
		if ok(seen) {
			return seen
		}
		select {
		case <-sh.change:
		case <-limit:
			for _, x := range seen {
				sh.t.Log(describe(sh.t, x))
			}
			sh.t.Fatalf("never happened: %s", what)
		}
	}
}

// turn waits for the end of a turn and returns its events, one a line.
func (sh *shell) turn(conv contract.ConversationID, id contract.TurnID) string {
	sh.t.Helper()
	var lines []string
	sh.until(fmt.Sprintf("the end of %s %s", conv, id), func(seen []effect) bool {
		lines = nil
		ended := false
		for _, x := range pick[emit](seen) {
			if x.conv != conv || x.turn != id {
				continue
			}
			lines = append(lines, printed(sh.t, x.events)...)
			for _, e := range x.events {
				ended = ended || e.Kind().Terminal()
			}
		}
		for _, x := range pick[refused](seen) {
			if x.conv == conv && x.turn == id {
				lines = append(lines, "refused: "+x.failure.Message)
				ended = true
			}
		}
		return ended
	})
	return strings.Join(lines, "\n")
}

func (sh *shell) begin(conv contract.ConversationID, turn contract.TurnID, text string) {
	dir, err := Folder(sh.t.TempDir())
	if err != nil {
		sh.t.Fatal(err)
	}
	sh.give(begin{conv: conv, turn: turn, prompt: prompt{text: text}, cwd: dir, posture: contract.Posture{PermissionMode: contract.ModeAskForRisky}})
}

func (sh *shell) send(conv contract.ConversationID, turn contract.TurnID, text string) {
	sh.give(send{conv, turn, prompt{text: text}})
}

// current is the turn of a conversation that was opened last.
func (sh *shell) current(conv contract.ConversationID) (id contract.TurnID) {
	for _, x := range pick[opened](sh.effects()) {
		if x.conv == conv {
			id = x.turn
		}
	}
	return id
}

// asked waits for the nth permission request and returns its id.
func (sh *shell) asked(n int) string {
	sh.t.Helper()
	var id string
	sh.until(fmt.Sprintf("request %d", n), func(seen []effect) bool {
		asks := pick[asked](seen)
		if len(asks) >= n {
			id = asks[n-1].ask.id
		}
		return len(asks) >= n
	})
	return id
}

const (
	noTokens  = `"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0`
	doneLine  = `done {` + noTokens + `,"cancelled":false}`
	stopLine  = `done {` + noTokens + `,"cancelled":true}`
	helloTurn = "chunk \"hello \"\nchunk \"you\"\n" + doneLine
)

// Every turn of the fake engine, which is strict about what it is sent, with and
// without noise and doubled answers on the wire.
func TestShell_Turns(t *testing.T) {
	t.Parallel()
	for name, switches := range map[string][]string{
		"plain":            {"load", "close"},
		"noise":            {"noise", "twice", "strings", "close"},
		"packetcode":       {"packetcode", "load", "close"},
		"claude":           {"modes", "resume", "close", "images"},
		"an older claude":  {"oldmodes", "load"},
		"a late beginning": {"late=300"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sh := launch(t, switches...)
			sh.begin("c-1", "t-1", "hello")
			if got := sh.turn("c-1", "t-1"); got != helloTurn {
				t.Errorf("hello:\n%s", got)
			}
			sh.send("c-1", "t-2", "think")
			if got, want := sh.turn("c-1", "t-2"), "thinking {\"text\":\"let me see\"}\nthinking-stop null\nchunk \"seen\"\n"+doneLine; got != want {
				t.Errorf("think:\n%s", got)
			}
			sh.send("c-1", "t-3", "tool")
			sh.give(answer{"c-1", sh.asked(1), contract.AllowOnce})
			start := "tool-start {\"id\":\"call-3\",\"name\":\"run\",\"input\":\"{\\\"command\\\":\\\"echo hi\\\"}\"}\n"
			if got, want := sh.turn("c-1", "t-3"), start+"tool-result {\"id\":\"call-3\",\"name\":\"run\",\"content\":\"hi\",\"is_error\":false,\"input\":\"{\\\"command\\\":\\\"echo hi\\\"}\"}\nchunk \"done\"\n"+doneLine; got != want {
				t.Errorf("tool:\n%s", got)
			}
			sh.send("c-1", "t-4", "early")
			sh.give(answer{"c-1", sh.asked(2), contract.Deny})
			if got := sh.turn("c-1", "t-4"); !strings.Contains(got, `"content":"the user said no","is_error":true`) {
				t.Errorf("early:\n%s", got)
			}
			sh.send("c-1", "t-5", "plan")
			if got, want := sh.turn("c-1", "t-5"), "plan-block {\"items\":[{\"content\":\"look\",\"status\":\"in_progress\"},{\"content\":\"do\",\"status\":\"pending\"}]}\nplan-block {\"items\":[]}\n"+doneLine; got != want {
				t.Errorf("plan:\n%s", got)
			}
			sh.send("c-1", "t-6", "fail")
			if got := sh.turn("c-1", "t-6"); got != `error {"message":"scripted failure"}` {
				t.Errorf("fail:\n%s", got)
			}
			sh.send("c-1", "t-7", "unknown")
			if got := sh.turn("c-1", "t-7"); !strings.Contains(got, `-32601`) {
				t.Errorf("unknown:\n%s", got)
			}
			sh.send("c-1", "t-8", "two")
			sh.until("the second request", func(seen []effect) bool {
				for _, n := range pick[note](seen) {
					if strings.HasPrefix(n.text, "the engine asked twice") {
						return true
					}
				}
				return false
			})
			sh.give(answer{"c-1", sh.asked(3), contract.AllowAlways})
			if got := sh.turn("c-1", "t-8"); !strings.HasSuffix(got, doneLine) {
				t.Errorf("two:\n%s", got)
			}
			sh.send("c-1", "t-9", "slow")
			sh.until("its text", func(seen []effect) bool { return strings.Contains(kinds(seen[len(seen)-1:]), "chunk") })
			sh.give(cancel{"c-1", sh.current("c-1")})
			if got, want := sh.turn("c-1", "t-9"), "chunk \"working\"\n"+stopLine; got != want {
				t.Errorf("slow:\n%s", got)
			}
			sh.send("c-1", "t-10", "tool")
			sh.asked(4)
			sh.give(cancel{"c-1", sh.current("c-1")})
			if got := sh.turn("c-1", "t-10"); !strings.HasSuffix(got, "\"content\":\"Cancelled by the user\",\"is_error\":true,\"input\":\"{\\\"command\\\":\\\"echo hi\\\"}\"}\n"+stopLine) {
				t.Errorf("cancelled with a prompt open:\n%s", got)
			}
			sh.give(leave{"c-1"})
			sh.give(halt{StopGrace})
			seen := sh.until("the end", func(seen []effect) bool { return len(pick[died](seen)) == 1 })
			if d := pick[died](seen)[0]; !d.asked {
				t.Errorf("died: %s", d.reason)
			}
			if n := len(pick[asked](seen)); n != 4 {
				t.Errorf("%d requests asked", n)
			}
		})
	}
}

// acp.md 5.1 and 6.3 against a real process, in either shape.
func TestShell_ModeAndModel(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"modes", "oldmodes"} {
		sh := launch(t, shape)
		dir, err := Folder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sh.give(begin{conv: "c-1", turn: "t-1", prompt: prompt{text: "mode"}, cwd: dir, model: "large", posture: contract.Posture{PlanMode: true}})
		if got := sh.turn("c-1", "t-1"); !strings.HasPrefix(got, `chunk "plan/large"`) {
			t.Errorf("%s:\n%s", shape, got)
		}
		sh.give(setPosture{"c-1", contract.Posture{PermissionMode: contract.ModeAuto}})
		sh.give(setModel{"c-1", "small"})
		sh.send("c-1", "t-2", "mode")
		if got := sh.turn("c-1", "t-2"); !strings.HasPrefix(got, `chunk "default/small"`) {
			t.Errorf("%s:\n%s", shape, got)
		}
	}
}

// contract.md 7.1, F26: kill -9 in mid-turn and idle; the next send finds the
// session again and its history is not told a second time (F48, F49).
func TestShell_Killed(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"load", "resume"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sh := launch(t, how, "close", "replay", "store="+t.TempDir())
			sh.begin("c-1", "t-1", "hello")
			sh.turn("c-1", "t-1")
			sh.begin("c-2", "t-1", "slow")
			sh.until("its text", func(seen []effect) bool {
				e := pick[emit](seen)
				return e[len(e)-1].conv == "c-2"
			})
			if err := syscall.Kill(sh.pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if got := sh.turn("c-2", "t-1"); !strings.Contains(got, "error {\"message\":\"The engine stopped: killed by SIGKILL. Send again to continue.\"}") {
				t.Errorf("in flight:\n%s", got)
			}
			sh.send("c-1", "t-2", "hello")
			if got := sh.turn("c-1", "t-2"); got != helloTurn {
				t.Errorf("found again:\n%s", got)
			}
			if n := pick[notice](sh.effects()); len(n) != 0 {
				t.Errorf("notices %v", n)
			}
			first := sh.pid()
			if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			sh.until("the second death", func(seen []effect) bool { return len(pick[died](seen)) == 2 })
			if e := pick[emit](sh.effects()); e[len(e)-1].turn != "t-2" {
				t.Errorf("an idle conversation heard %v", e[len(e)-1])
			}
			sh.send("c-2", "t-2", "hello")
			if got := sh.turn("c-2", "t-2"); got != helloTurn {
				t.Errorf("the other one:\n%s", got)
			}
		})
	}
}

// Without session/load an engine's memory of a conversation ends with it: said
// plainly, and the conversation goes on.
func TestShell_KilledWithoutLoad(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	sh.begin("c-1", "t-1", "hello")
	sh.turn("c-1", "t-1")
	if err := syscall.Kill(sh.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	sh.until("the death", func(seen []effect) bool { return len(pick[died](seen)) == 1 })
	sh.send("c-1", "t-2", "hello")
	if got := sh.turn("c-1", "t-2"); got != helloTurn {
		t.Errorf("afterwards:\n%s", got)
	}
	if n := pick[notice](sh.effects()); len(n) != 1 || n[0].text != textLost {
		t.Errorf("notices %v", n)
	}
}

// F17 and contract.md 6.5: an engine that ignores a cancel, and one that ignores
// every way to end it.
func TestShell_DeafAndStubborn(t *testing.T) {
	t.Parallel()
	sh := launch(t, "deaf", "stubborn")
	sh.begin("c-1", "t-1", "slow")
	sh.until("its text", func(seen []effect) bool { return strings.Contains(kinds(seen), "chunk") })
	sh.give(cancel{"c-1", sh.current("c-1")})
	if got := sh.turn("c-1", "t-1"); !strings.HasSuffix(got, `error {"message":"The engine did not stop within 10 s and was ended. Send again to continue."}`) {
		t.Errorf("deaf:\n%s", got)
	}
	sh.send("c-1", "t-2", "hello")
	if got := sh.turn("c-1", "t-2"); got != helloTurn {
		t.Errorf("the next turn:\n%s", got)
	}
	sh.give(halt{50 * time.Millisecond})
	seen := sh.until("the second death", func(seen []effect) bool { return len(pick[died](seen)) == 2 })
	if d := pick[died](seen)[1]; !d.asked {
		t.Errorf("died: %s", d.reason)
	}
}

// F25: an engine that crashes at every start says so to everybody, every time.
func TestShell_CrashesAtStart(t *testing.T) {
	t.Parallel()
	sh := launch(t, "crash")
	for i := range 3 {
		turn := contract.TurnID(fmt.Sprintf("t-%d", i))
		sh.begin("c-1", turn, "hello")
		if got := sh.turn("c-1", turn); got != "refused: The engine stopped: exit code 1, its last words: cannot start: the configuration is broken. Send again to continue." {
			t.Errorf("start %d:\n%s", i, got)
		}
	}
	if n := len(sh.effects()); n > 100 {
		t.Errorf("%d effects", n)
	}
}

func TestShell_DiesInTurn(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	sh.begin("c-1", "t-1", "die")
	if got := sh.turn("c-1", "t-1"); got != "chunk \"about to\"\nerror {\"message\":\"The engine stopped: exit code 3, its last words: out of memory. Send again to continue.\"}" {
		t.Errorf("die:\n%s", got)
	}
}

// F66 F67, acp.md 12.3: long lines pass, too long ones are lost alone, one
// without an end costs the engine and not the service.
func TestShell_LongLines(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	for i, n := range []int{20 << 20, child.MaxEngineLineBytes + 1} {
		turn := contract.TurnID(fmt.Sprintf("t-%d", i))
		sh.begin("c-1", turn, fmt.Sprintf("long %d", n))
		if got := sh.turn("c-1", turn); !strings.HasSuffix(got, "chunk \"after the long line\"\n"+doneLine) {
			t.Errorf("%d bytes:\n%.300s", n, got)
		}
	}
	sh.send("c-1", "t-9", "endless")
	if got := sh.turn("c-1", "t-9"); got != `error {"message":"The engine stopped: it sent a line without end. Send again to continue."}` {
		t.Errorf("endless:\n%.300s", got)
	}
}

// Busy on packetcode, login elsewhere; a session that was forgotten; null
// answers; one id for two sessions; a silent request. Nobody stays busy.
func TestShell_Misbehaviour(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		switches []string
		text     string
		want     string
	}{
		"busy":                  {[]string{"packetcode", "busy"}, "hello", `error {"message":"The engine is still busy with this session. Wait a moment, then send again."}`},
		"login":                 {[]string{"login"}, "hello", `refused: The engine asks for a login (Authentication required). Log in with the engine's own program, or set its sign-in method in Settings > Providers, then send again.`},
		"null":                  {[]string{"null"}, "hello", helloTurn},
		"first":                 {[]string{"first"}, "hello", helloTurn},
		"silent":                {[]string{"silent=session/new"}, "hello", `refused: The engine did not answer session/new within 90 s. Send again to try once more.`},
		"silent from the start": {[]string{"silent=initialize"}, "hello", `refused: The engine stopped: it did not answer initialize within 30 s. Send again to continue.`},
		"another version":       {[]string{"version=2"}, "hello", `refused: The engine stopped: it speaks version 2 of ACP and PacketBench speaks 1, so one of the two needs an update. Send again to continue.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sh := launch(t, tc.switches...)
			sh.begin("c-1", "t-1", tc.text)
			if got := sh.turn("c-1", "t-1"); got != tc.want {
				t.Errorf("got:\n%s", got)
			}
		})
	}
	t.Run("one id for two", func(t *testing.T) {
		t.Parallel()
		sh := launch(t, "sameid")
		sh.begin("c-1", "t-1", "hello")
		sh.turn("c-1", "t-1")
		sh.begin("c-2", "t-1", "hello")
		if got := sh.turn("c-2", "t-1"); !strings.HasPrefix(got, "refused: ") {
			t.Errorf("the second:\n%s", got)
		}
		sh.send("c-1", "t-2", "hello")
		if got := sh.turn("c-1", "t-2"); got != helloTurn {
			t.Errorf("the first afterwards:\n%s", got)
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		t.Parallel()
		sh := launch(t, "load", "null", "store="+t.TempDir())
		sh.begin("c-1", "t-1", "lost")
		sh.turn("c-1", "t-1")
		sh.send("c-1", "t-2", "hello")
		if got := sh.turn("c-1", "t-2"); got != helloTurn {
			t.Errorf("found again:\n%s", got)
		}
	})
	t.Run("a lasting permission only", func(t *testing.T) {
		t.Parallel()
		sh := launch(t, "lasting")
		sh.begin("c-1", "t-1", "tool")
		id := sh.asked(1)
		sh.give(answer{"c-1", id, contract.AllowOnce})
		sh.until("the refusal", func(seen []effect) bool {
			u := pick[unanswered](seen)
			return len(u) == 1 && u[0].failure.Message == contract.TextLastingOnly
		})
		sh.give(answer{"c-1", id, contract.AllowAlways})
		if got := sh.turn("c-1", "t-1"); !strings.HasSuffix(got, doneLine) {
			t.Errorf("allowed:\n%s", got)
		}
	})
	t.Run("signs in", func(t *testing.T) {
		t.Parallel()
		sh := launch(t, "login")
		sh.e.spec.AuthMethod = "key"
		sh.begin("c-1", "t-1", "hello")
		if got := sh.turn("c-1", "t-1"); got != helloTurn {
			t.Errorf("got:\n%s", got)
		}
	})
}

// F34: an engine that was stopped for a while handles what it was sent meanwhile
// exactly once.
func TestShell_Stopped(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	sh.begin("c-1", "t-1", "hello")
	sh.turn("c-1", "t-1")
	if err := syscall.Kill(sh.pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	sh.send("c-1", "t-2", "hello")
	sh.until("the prompt is written", func(seen []effect) bool { return strings.Count(sent(seen), methodPrompt) == 2 })
	if err := syscall.Kill(sh.pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := sh.turn("c-1", "t-2"); got != helloTurn {
		t.Errorf("got:\n%s", got)
	}
	if n := strings.Count(sent(sh.effects()), methodPrompt); n != 2 {
		t.Errorf("%d prompts", n)
	}
}

func TestShell_MissingProgram(t *testing.T) {
	t.Parallel()
	sh := launch(t)
	sh.e.spec.Command = "/no/such/engine"
	sh.begin("c-1", "t-1", "hello")
	if got := sh.turn("c-1", "t-1"); !strings.HasPrefix(got, `refused: Could not start the fake ACP engine: `) || !strings.Contains(got, "Check the engine path in Settings > Providers.") {
		t.Errorf("got:\n%s", got)
	}
}

func TestShell_Queries(t *testing.T) {
	t.Parallel()
	sh := launch(t, "packetcode", "load")
	sh.begin("c-1", "t-1", "hello")
	sh.turn("c-1", "t-1")
	for i, kind := range []queryKind{queryUsage, queryModels, queryHeld, queryRename, queryServers} {
		sh.give(query{token: i, kind: kind, conv: "c-1", arg: "name"})
	}
	seen := sh.until("five replies", func(seen []effect) bool { return len(pick[reply](seen)) == 5 })
	var got []string
	for _, r := range pick[reply](seen) {
		if r.failure != nil {
			t.Fatalf("%v failed: %s", r.token, r.failure.Message)
		}
		raw, err := json.Marshal(r.value)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(raw))
	}
	want := []string{
		`{"contextTokens":107,"totalInput":100,"totalOutput":7,"costUsd":0}`,
		`[{"label":"fake/small","value":"small"},{"label":"fake/large","value":"large"}]`,
		`[{"session_id":"held-1","name":"first","updated_at":"2026-01-02T03:04:05Z","provider":"fake","model":"small","message_count":3,"cost_usd":0.5}]`,
		`null`, `[]`,
	}
	for i, w := range want {
		if !strings.Contains(strings.Join(got, "\n"), w) {
			t.Errorf("reply %d is missing in %v", i, got)
		}
	}
}

// acp.md 10: the exit code of a doctor says nothing, and it has its time.
func TestRunProbe(t *testing.T) {
	t.Parallel()
	options := child.Options{Marker: child.Marker{BootID: "acp-test", Home: t.TempDir()}}
	probe := func(ctx context.Context, path string, switches ...string) Probe {
		return RunProbe(ctx, path, Environ(os.Environ(), Spec{Env: enginetest.Env(switches...)}), options)
	}
	if p := probe(t.Context(), enginetest.Command(), "doctor=v0.5.1"); !p.Found || p.Version != "v0.5.1" || !p.Compatible || p.Status != "fail" || p.Badge().Status != contract.BadgeReady {
		t.Errorf("%+v", p)
	}
	if p := probe(t.Context(), enginetest.Command(), "doctor=0.0.9"); p.Compatible || !p.Found {
		t.Errorf("%+v", p)
	}
	if p := probe(t.Context(), "/no/such/engine"); p.Found || !strings.HasPrefix(p.Detail, "could not run /no/such/engine: ") {
		t.Errorf("%+v", p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if p := probe(ctx, enginetest.Command(), "doctorhang"); !p.Found || p.Version != "" || p.Detail != "doctor --json timed out" {
		t.Errorf("%+v", p)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	got := Environ([]string{"PATH=/bin", config.EnvHome + "=/h", "A=old", "PACKETBENCH_ANY=1", "KEY=mine"}, Spec{Env: map[string]string{"A": "new", "B": "x=y"}})
	if want := "PATH=/bin KEY=mine A=new B=x=y"; strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
}

func TestSpec_ExitReason(t *testing.T) {
	t.Parallel()
	s := Spec{Env: map[string]string{"K": "sekret-value", "S": "a"}}
	for _, tc := range []struct {
		exit child.Exit
		want string
	}{
		{child.Exit{}, "exit code 0"},
		{child.Exit{Code: 3, Tail: " a\n b.\n"}, "exit code 3, its last words: a b"},
		{child.Exit{Code: -1, Signal: "SIGKILL"}, "killed by SIGKILL"},
		{child.Exit{Code: -1, Signal: "SIGKILL", Broken: errors.New("x")}, "it sent a line without end"},
		{child.Exit{Code: 1, Tail: "bad key sekret-value"}, "exit code 1, its last words: bad key [hidden]"},
		{child.Exit{Code: 1, Tail: strings.Repeat("\u00e9", 400)}, "exit code 1, its last words: ..." + strings.Repeat("\u00e9", 250)},
	} {
		if got := s.exitReason(tc.exit); got != tc.want {
			t.Errorf("%+v: %q", tc.exit, got)
		}
	}
}

// BenchmarkEngine_Chunk is the core's share of one delta: from a line to its
// event.
func BenchmarkEngine_Chunk(b *testing.B) {
	r := newRig(b, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	text := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-c-1","update":{"sessionUpdate":"agent_message_chunk","messageId":"m-1","content":{"type":"text","text":"a few words of an answer "}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if out := r.e.next(line{child.Line{Text: text}}, r.now); len(out) != 1 {
			b.Fatal(out)
		}
	}
}
