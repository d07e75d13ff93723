//go:build unix

package acp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

const (
	doneEvent = doneLine + "\nclosed"
	toolStart = `tool-start {"id":"call-2","name":"run","input":"{\"command\":\"echo hi\"}"}`
)

// One session from its opening to its close: what the conversation hears, in
// order, and what the supervisor and the tree are told.
func TestActor_Session(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "packetcode", "load", "close", "strings")
	h.talk("c-1", false)
	h.open("c-1", "t-1", "hello")
	if got := h.over("c-1", "t-1"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("hello:\n%s", got)
	}
	resume := last[msg.HostResume](h, "c-1", nil)
	if !strings.HasPrefix(resume.Handle, "fake-") {
		t.Errorf("handle %q", resume.Handle)
	}
	if m := last[msg.HostMode](h, "c-1", nil); m.Mode.Label != "Manual" || !m.Mode.Honoured {
		t.Errorf("mode %+v", m)
	}
	h.send("c-1", "t-2", "tool")
	ask := last[msg.Ask](h, "c-1", nil)
	if ask.Kind != "execute" || ask.Call != "call-2" || ask.ID == ask.Call || ask.Turn != "t-2" {
		t.Errorf("ask %+v", ask)
	}
	h.say("c-1", pass{msg.HostPermission{Conversation: "c-1", PermissionAnswer: msg.PermissionAnswer{ID: ask.ID, Allowed: true, Decision: contract.AllowOnce}}})
	want := "opened\n" + toolStart + "\nask " + ask.ID + ` run {"command":"echo hi"} call=call-2 kind=execute` +
		"\ncall call-2 execute []\ntool-result {\"id\":\"call-2\",\"name\":\"run\",\"content\":\"hi\",\"is_error\":false,\"input\":\"{\\\"command\\\":\\\"echo hi\\\"}\"}\nchunk \"done\"\n" + doneEvent
	if got := h.over("c-1", "t-2"); got != want {
		t.Errorf("tool:\n%s\nwant\n%s", got, want)
	}
	// A model is taken up with the next session; approve-writes is nothing that
	// an engine has.
	model := "large"
	on := true
	h.say("c-1", pass{msg.HostSet{Conversation: "c-1", Ref: 1, Model: &model}})
	h.say("c-1", pass{msg.HostSet{Conversation: "c-1", Ref: 2, ApproveWrites: &on}})
	h.say("c-1", pass{msg.HostSet{Conversation: "c-1", Ref: 3, Mode: &contract.Posture{PermissionMode: contract.ModeAllowAll}}})
	if r := last(h, "c-1", func(r msg.HostReply) bool { return r.Ref == 1 }); r.Text != "" {
		t.Errorf("model: %+v", r)
	}
	if r := last(h, "c-1", func(r msg.HostReply) bool { return r.Ref == 2 }); r.Text == "" {
		t.Error("approve-writes was taken")
	}
	last(h, "c-1", func(s msg.HostSaid) bool { return strings.Contains(s.Text, "takes up large with its next session") })
	if m := last(h, "c-1", func(m msg.HostMode) bool { return !m.Mode.Honoured }); m.Mode.Label != "Manual" || m.Mode.Later {
		t.Errorf("mode %+v", m)
	}
	last(h, "c-1", func(s msg.HostSaid) bool { return strings.HasPrefix(s.Text, "This engine does not offer Yolo") })
	u := h.call(msg.EngineName("fake"), msg.EngineUsage{Conversation: "c-1"}).(msg.EngineUsageAnswer)
	if u.Failure != nil || !strings.Contains(string(u.Totals), `"contextTokens":107`) {
		t.Errorf("usage %s %+v", u.Totals, u.Failure)
	}
	if u := h.call(msg.EngineName("fake"), msg.EngineUsage{Session: resume.Handle}).(msg.EngineUsageAnswer); !strings.Contains(string(u.Totals), "totalInput") {
		t.Errorf("usage by the engine's id: %s %+v", u.Totals, u.Failure)
	}
	if u := last(h, "c-1", func(u msg.HostUsed) bool { return u.Turn == "t-1" }); u.Input == 0 || u.Output == 0 || u.Model == "" {
		t.Errorf("used %+v", u)
	}
	held := h.call(msg.EngineName("fake"), msg.EngineSessions{}).(msg.EngineSessionList)
	if held.Failure != nil || len(held.Sessions) != 1 || held.Sessions[0].SessionID != "held-1" || !held.CanOpen {
		t.Errorf("held %+v", held)
	}
	f := h.introduced("fake", func(f msg.EngineFacts) bool { return len(f.Models) == 2 })
	if f.PID == 0 || f.Agent != "packetcode" || !f.Usage || !f.Load || !f.Plan || len(f.Modes) != 2 || f.Models[0].Value != "small" {
		t.Errorf("facts %+v", f)
	}
	h.until("the tree shows the engine", func() bool {
		for _, f := range h.facts {
			if strings.HasPrefix(f, `acp:fake {"child_pid":`) && strings.Contains(f, `"agent":"packetcode"`) && strings.Contains(f, `"sessions":1`) && strings.Contains(f, `"metas":["child"]`) {
				return true
			}
		}
		return false
	})
	h.say("c-1", pass{msg.HostClose{Conversation: "c-1"}})
	h.send("c-1", "t-3", "hello")
	if got, want := h.over("c-1", "t-3"), "refused gone=true No active session: c-1"; got != want {
		t.Errorf("after the close: %s", got)
	}
	if done := h.call(msg.EngineName("fake"), msg.Drain{}).(msg.Done); done.Err != nil {
		t.Error(done.Err)
	}
	s := h.status("fake", msg.StateStopped, 1)
	if s.LimitReached || s.InWindow != 0 {
		t.Errorf("a drain counts as %+v", s)
	}
}

// contract.md 7.1, F26, F49: kill -9 in mid-turn and idle. Who has a turn in
// flight hears of it once, others do not; the supervisor starts it again and the
// next turn finds the session, whose history is not told a second time.
func TestActor_Killed(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	h := newHouse(t, "load", "replay", "store="+store)
	h.talk("c-1", false)
	h.talk("c-2", false)
	h.open("c-1", "t-1", "hello")
	h.open("c-2", "t-1", "hello")
	h.over("c-1", "t-1")
	h.over("c-2", "t-1")
	handle := last[msg.HostResume](h, "c-1", nil).Handle
	h.send("c-1", "t-2", "slow")
	last(h, "c-1", func(e msg.Emitted) bool { return e.Turn == "t-2" })
	pid := h.introduced("fake", nil).PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	want := "opened\nchunk \"working\"\nerror {\"message\":\"The engine stopped: killed by SIGKILL. Send again to continue.\"}\nclosed"
	if got := h.over("c-1", "t-2"); got != want {
		t.Errorf("killed:\n%s", got)
	}
	for _, id := range []contract.ConversationID{"c-1", "c-2"} {
		if g := last[msg.OwnerGone](h, id, nil); g.Host != msg.EngineName("fake") || !strings.Contains(g.Reason, "SIGKILL") {
			t.Errorf("%s heard %+v", id, g)
		}
	}
	if said := h.said("c-2", "t-1"); len(said) != 5 {
		t.Errorf("the idle one heard %q", said)
	}
	// At once, while the supervisor waits.
	h.open("c-1", "t-3", "hello", func(s *msg.HostSession) { s.Resume = handle })
	if got := h.over("c-1", "t-3"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("found again:\n%s", got)
	}
	h.mu.Lock()
	for _, m := range h.heard["c-1"] {
		if s, ok := m.(msg.HostSaid); ok {
			t.Errorf("said %q", s.Text)
		}
	}
	h.mu.Unlock()
	h.until("one restart is counted", func() bool {
		s := h.statuses[len(h.statuses)-1]
		return s.State == msg.StateRunning && s.Restarts == 1 && s.InWindow == 1
	})
}

// contract.md 7.1: the fourth death in a minute is the end until a reset; a
// second engine notices nothing.
func TestActor_FourthDeath(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.note(func() { h.specs["other"] = fakeSpec("other") })
	h.talk("c-1", false)
	h.talk("c-2", false)
	h.openAt("other", "c-2", "t-1", "hello")
	h.over("c-2", "t-1")
	for n := range 4 {
		turn := contract.TurnID(fmt.Sprintf("t-%d", n+1))
		h.open("c-1", turn, "die")
		if got := h.over("c-1", turn); !strings.HasSuffix(got, "error {\"message\":\"The engine stopped: exit code 3, its last words: out of memory. Send again to continue.\"}\nclosed") {
			t.Errorf("death %d:\n%s", n+1, got)
		}
		h.gone("c-1", n+1)
	}
	down := h.status("fake", msg.StateDown, 1)
	if !down.LimitReached || !strings.Contains(down.LastReason, "out of memory") {
		t.Errorf("down %+v", down)
	}
	e := h.call(msg.EnginesSup, msg.Ensure{Name: msg.EngineName("fake"), User: true}).(msg.Ensured)
	if e.Err == nil || !strings.Contains(e.Err.Message, "stays down") || !strings.Contains(e.Err.Message, "out of memory") {
		t.Errorf("ensured %+v", e)
	}
	if a := h.call(msg.EnginesSup, msg.Reset{Name: msg.EngineName("fake")}).(msg.ChildAnswer); a.Err != nil {
		t.Fatal(a.Err.Message)
	}
	h.open("c-1", "t-9", "hello")
	if got := h.over("c-1", "t-9"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("after the reset:\n%s", got)
	}
	h.send("c-2", "t-2", "hello")
	if got := h.over("c-2", "t-2"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("the other engine:\n%s", got)
	}
}

// F25 and acp.md 11: an engine that cannot run says why to whoever asks, every
// time, and is down in the end; no conversation owns anything there.
func TestActor_CannotRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec  *Spec
		want  string
		state msg.ChildState
	}{
		"crashes at every start": {want: "The engine stopped: exit code 1, its last words: cannot start: the configuration is broken. Send again to continue.", state: msg.StateDown},
		"is not there":           {spec: &Spec{Name: "fake", Command: "/nowhere/engine"}, want: "Could not start the fake ACP engine: ", state: msg.StateDown},
		"is not set up":          {spec: &Spec{}, want: "Could not start the fake ACP engine: no engine of this name is set up. Check the engine path in Settings > Providers.", state: msg.StateDown},
		"speaks another version": {spec: func() *Spec { s := fakeSpec("fake", "version=2"); return &s }(), want: "version 2", state: msg.StateIncompatible},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, "crash")
			h.note(func() {
				if tc.spec != nil {
					h.specs["fake"] = *tc.spec
					if tc.spec.Name == "" {
						delete(h.specs, "fake")
					}
				}
			})
			h.talk("c-1", false)
			h.open("c-1", "t-1", "hello")
			if got := h.over("c-1", "t-1"); !strings.HasPrefix(got, "refused gone=false ") || !strings.Contains(got, tc.want) {
				t.Errorf("refused: %s", got)
			}
			h.status("fake", tc.state, 1)
			e := h.call(msg.EnginesSup, msg.Ensure{Name: msg.EngineName("fake")}).(msg.Ensured)
			if e.Err == nil {
				t.Error("ensured")
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, m := range h.heard["c-1"] {
				if _, gone := m.(msg.OwnerGone); gone {
					t.Errorf("an owner of nothing heard %+v", m)
				}
			}
		})
	}
}

// Issue 4, "a fake engine program with each misbehaviour": whatever it does, the
// turn ends, the conversation hears it once, and what can go on goes on.
func TestActor_Misbehaviour(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		switches []string
		text     string
		want     string // In what is heard of the turn.
		next     string // Of another turn, empty when the engine is gone.
	}{
		"null answers":             {[]string{"load", "null"}, "hello", "chunk \"you\"\n" + doneEvent, helloTurn},
		"every answer twice":       {[]string{"twice"}, "hello", doneEvent, helloTurn},
		"noise":                    {[]string{"noise"}, "hello", doneEvent, helloTurn},
		"busy":                     {[]string{"packetcode", "busy"}, "hello", "still busy with this session", "still busy"},
		"wants a login":            {[]string{"busy"}, "hello", "The engine asks for a login", "asks for a login"},
		"wants a login before":     {[]string{"login"}, "hello", "refused gone=false The engine asks for a login", "asks for a login"},
		"an update too early":      {[]string{"first"}, "hello", doneEvent, helloTurn},
		"a session that is lost":   {nil, "lost", "chunk", helloTurn},
		"a line over the limit":    {nil, "long 70000000", "chunk \"after the long line\"\n" + doneEvent, helloTurn},
		"dies":                     {nil, "die", "its last words: out of memory", ""},
		"a line without end":       {nil, "endless", "it sent a line without end", ""},
		"a request for a file":     {nil, "unknown", "-32601", helloTurn},
		"images are not its thing": {nil, "hello", doneEvent, helloTurn},
		"slow to begin":            {[]string{"late=1500"}, "hello", doneEvent, helloTurn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, tc.switches...)
			h.talk("c-1", false)
			h.open("c-1", "t-1", tc.text)
			if got := h.over("c-1", "t-1"); !strings.Contains(got, tc.want) && tc.text != "lost" {
				t.Errorf("heard:\n%s\nwant %s", got, tc.want)
			}
			if tc.next == "" {
				last[msg.OwnerGone](h, "c-1", nil)
				return
			}
			h.open("c-1", "t-2", "hello")
			if got := h.over("c-1", "t-2"); !strings.Contains(got, tc.next) {
				t.Errorf("then:\n%s\nwant %s", got, tc.next)
			}
		})
	}
}

// A program that begins slowly is given a prompt at once; it waits (F37). A
// cancel before the engine has it is no turn at all.
func TestActor_CancelEarly(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "late=700")
	h.talk("c-1", false)
	h.open("c-1", "t-1", "hello")
	h.say("c-1", pass{msg.HostCancel{Conversation: "c-1", Turn: "t-1"}})
	if got, want := h.over("c-1", "t-1"), "refused gone=false "+contract.TextCancelledByUser; got != want {
		t.Errorf("cancelled: %s", got)
	}
	h.open("c-1", "t-2", "hello")
	if got := h.over("c-1", "t-2"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("then:\n%s", got)
	}
}

// F52, contract.md 6.5: a cancel with a prompt open ends the turn; refusing what
// is open does not.
func TestActor_Cancel(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.talk("c-1", false)
	h.open("c-1", "t-1", "tool")
	last[msg.Ask](h, "c-1", nil)
	h.say("c-1", pass{msg.HostCancel{Conversation: "c-1", Turn: "t-1"}})
	if got := h.over("c-1", "t-1"); !strings.HasSuffix(got, stopLine+"\nclosed") {
		t.Errorf("cancelled:\n%s", got)
	}
	h.send("c-1", "t-2", "tool")
	last(h, "c-1", func(a msg.Ask) bool { return a.Turn == "t-2" })
	h.say("c-1", pass{msg.HostCancelPending{Conversation: "c-1"}})
	if got := h.over("c-1", "t-2"); !strings.Contains(got, "the user said no") || !strings.HasSuffix(got, doneEvent) {
		t.Errorf("refused:\n%s", got)
	}
}

// F17: a turn that does not stop costs the engine, and everybody who has a turn
// there hears why.
func TestActor_Deaf(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "deaf", "stubborn")
	h.talk("c-1", false)
	h.talk("c-2", false)
	h.open("c-1", "t-1", "slow")
	h.open("c-2", "t-1", "slow")
	last[msg.Emitted](h, "c-1", nil)
	last[msg.Emitted](h, "c-2", nil)
	h.say("c-1", pass{msg.HostCancel{Conversation: "c-1", Turn: "t-1"}})
	h.say("c-1", pass{msg.HostKill{Conversation: "c-1", Turn: "t-1"}})
	if got := h.over("c-1", "t-1"); !strings.Contains(got, "The engine did not stop within 10 s and was ended. Send again to continue.") {
		t.Errorf("killed:\n%s", got)
	}
	if got := h.over("c-2", "t-1"); !strings.Contains(got, "The engine stopped: it did not react to a cancel and was ended") {
		t.Errorf("the other:\n%s", got)
	}
	h.gone("c-2", 1)
	h.open("c-2", "t-2", "hello")
	if got := h.over("c-2", "t-2"); !strings.HasSuffix(got, helloTurn+"\nclosed") {
		t.Errorf("then:\n%s", got)
	}
}

// F34: an engine that was stopped for a while handles what it was sent meanwhile
// exactly once.
func TestActor_Stopped(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.talk("c-1", false)
	h.open("c-1", "t-1", "hello")
	h.over("c-1", "t-1")
	pid := h.introduced("fake", nil).PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.send("c-1", "t-2", "hello")
	last(h, "c-1", func(m msg.HostOpened) bool { return m.Turn == "t-2" })
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := h.over("c-1", "t-2"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("woken:\n%s", got)
	}
}

// A conversation that does not read slows the engine down; one that has died
// gives its lines back by itself.
func TestActor_Credits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.talk("c-1", true)
	h.talk("c-2", false)
	const chunks = 20_000
	h.open("c-1", "t-1", fmt.Sprintf("stream %d", chunks))
	h.until("the host holds lines back", func() bool {
		for _, f := range h.facts {
			if strings.Contains(f, `"behind":1`) {
				return true
			}
		}
		return false
	})
	h.mu.Lock()
	n := 0
	for _, m := range h.heard["c-1"] {
		if e, ok := m.(msg.Emitted); ok {
			n += len(e.Events)
		}
	}
	h.mu.Unlock()
	if n >= chunks {
		t.Errorf("%d events for one that reads none", n)
	}
	h.say("c-1", leaveNow{})
	h.open("c-2", "t-1", fmt.Sprintf("stream %d", 500))
	if got := h.over("c-2", "t-1"); strings.Count(got, "chunk") != 500 || !strings.HasSuffix(got, doneEvent) {
		t.Errorf("%d chunks", strings.Count(got, "chunk"))
	}
}

// A conversation that was restarted opens its session again: the turn of the
// dead one is given up.
func TestActor_PeerRestarts(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "close", "load")
	h.talk("c-1", false)
	h.open("c-1", "t-1", "slow")
	last[msg.Emitted](h, "c-1", nil)
	handle := last[msg.HostResume](h, "c-1", nil).Handle
	h.say("c-1", leaveNow{})
	await(t, "the name is free", func() bool { _, err := h.node.ProcessPID(msg.ConversationName("c-1")); return err != nil })
	h.talk("c-1", false)
	h.open("c-1", "t-2", "hello", func(s *msg.HostSession) { s.Resume = handle })
	got := h.over("c-1", "t-2")
	if !strings.HasSuffix(got, "opened\n"+helloTurn+"\nclosed") {
		t.Errorf("opened again:\n%s", got)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.heard["c-1"] {
		if c, ok := m.(msg.TurnClosed); ok && c.Turn == "t-1" {
			t.Error("the new one heard of the old turn's end")
		}
	}
}

// await waits for what no message tells.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Adopting what the engine does not hold opens nothing; what it holds is opened
// without a word of its history.
func TestActor_Adopt(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	h := newHouse(t, "load", "replay", "store="+store)
	h.talk("c-1", false)
	h.talk("c-2", false)
	adopt := func(id string) func(*msg.HostSession) {
		return func(s *msg.HostSession) { s.Resume, s.Adopt = id, true }
	}
	h.open("c-1", "t-1", "hello", adopt("nothing"))
	if got := h.over("c-1", "t-1"); !strings.HasPrefix(got, "refused gone=false ") {
		t.Errorf("adopted: %s", got)
	}
	h.open("c-1", "t-2", "hello")
	h.over("c-1", "t-2")
	handle := last[msg.HostResume](h, "c-1", nil).Handle
	h.say("c-1", pass{msg.HostClose{Conversation: "c-1"}})
	h.send("c-1", "t-3", "hello")
	h.over("c-1", "t-3") // It is closed.
	h.open("c-2", "t-1", "hello", adopt(handle))
	if got := h.over("c-2", "t-1"); got != "opened\n"+helloTurn+"\nclosed" {
		t.Errorf("adopted:\n%s", got)
	}
}

// acp.md 9: MCP servers are those of the selection that the trust snapshot
// grants; without either there are none. The fake is strict about the shape.
func TestActor_Servers(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "packetcode")
	dir := filepath.Join(h.home, ".claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	body := `{"mcpServers":{"notes":{"command":"/bin/sh","args":["-c","true"],"env":{"TOKEN":"x"}},"off":{"command":"/bin/sh","disabled":true},"bad":7}}`
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	h.talk("c-1", false)
	h.open("c-1", "t-1", "hello", func(s *msg.HostSession) {
		s.Servers = []string{"notes", "off"}
		s.Trust = []byte(`[{"serverId":"global:notes","serverName":"notes","workspacePath":null,"allowReads":true}]`)
	})
	if got := h.over("c-1", "t-1"); !strings.HasSuffix(got, doneEvent) {
		t.Errorf("heard:\n%s", got)
	}
	if !strings.Contains(h.logs.String(), "MCP server left out name=bad") {
		t.Error("the entry that cannot be read is not in the log")
	}
	// A folder that is gone is a sentence.
	h.open("c-1", "t-2", "hello", func(s *msg.HostSession) { s.Project = filepath.Join(h.home, "gone") })
	if got := h.over("c-1", "t-2"); !strings.HasPrefix(got, "refused gone=false ") || !strings.Contains(got, "Choose a folder that exists.") {
		t.Errorf("no folder: %s", got)
	}
}

// An operator's stop and the end of the supervisor are quiet ends, whatever the
// engine does; a running turn ends with a sentence.
func TestActor_OperatorStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "stubborn")
	h.talk("c-1", false)
	h.open("c-1", "t-1", "slow")
	last[msg.Emitted](h, "c-1", nil)
	if a := h.call(msg.EnginesSup, msg.StopChild{Name: msg.EngineName("fake")}).(msg.ChildAnswer); a.Err != nil || a.State != msg.StateStopped {
		t.Errorf("stopped %+v %v", a, a.Err)
	}
	if got := h.over("c-1", "t-1"); !strings.Contains(got, "The engine stopped: it was asked to stop. Send again to continue.") {
		t.Errorf("heard:\n%s", got)
	}
	h.until("the group is gone", func() bool { return len(h.groups) == 0 })
}

// Whoever sends to a host whose engine has just ended is told so.
func TestActor_LateSend(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "crash")
	h.talk("c-1", false)
	h.talk("c-2", false)
	host := h.ensure("fake")
	h.status("fake", msg.StateRunning, 1)
	h.openIn(host, "c-1", "t-1", "hello")
	h.over("c-1", "t-1")
	h.openIn(host, "c-2", "t-1", "hello")
	got := ""
	h.until("an answer, or that nobody is there", func() bool {
		for _, m := range h.heard["c-2"] {
			switch m := m.(type) {
			case msg.HostRefused:
				got = m.Text
			case error:
				got = m.Error()
			}
		}
		return got != ""
	})
	if !strings.Contains(got, "The engine stopped: ") && got != gen.ErrProcessUnknown.Error() && got != gen.ErrProcessTerminated.Error() {
		t.Errorf("heard %q", got)
	}
	if u, err := h.ask(host, msg.EngineUsage{Conversation: "c-1"}); err == nil && u.(msg.EngineUsageAnswer).Failure == nil {
		t.Errorf("usage of nobody: %+v", u)
	}
}
