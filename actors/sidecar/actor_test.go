//go:build unix

package sidecar

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// One session from its opening to its close: what the conversation hears, in
// order, and what the child is sent.
func TestHost_Session(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-1", script(
		sayHi,
		`{"type":"tool_start","sessionId":"$S","turnId":"$T","toolUseId":"u1","name":"Write","input":{}}`,
		`{"type":"pending_edit","sessionId":"$S","turnId":"$T","toolUseId":"u1","path":"/p/a","after":"new"}`,
		`{"type":"permission_request","sessionId":"$S","turnId":"$T","toolUseId":"u2","name":"Bash","input":{"command":"make"}}`,
		`{"type":"done","sessionId":"$S","turnId":"$T","inputTokens":1,"resumeToken":"r-9"}`,
		`{"type":"chunk","sessionId":"$S","turnId":"$T","text":"late"}`,
	))
	r.closed("c-1", "t-1")
	r.say("c-1", pass{msg.HostPermission{Conversation: "c-1", PermissionAnswer: msg.PermissionAnswer{ID: "u2", Decision: contract.Deny, By: contract.ByUser, Reason: "no"}}})
	r.say("c-1", pass{msg.HostEdit{Conversation: "c-1", EditAnswer: msg.EditAnswer{ID: "u1", Applied: true, Merged: ptr("merged")}}})
	r.send("c-1", "t-2", script(sayHi, sayDone))
	r.closed("c-1", "t-2")
	r.say("c-1", pass{msg.HostSend{Conversation: "c-1", Turn: "t-3", Text: "x", Retry: true}})
	r.closed("c-1", "t-3")
	r.say("c-1", pass{msg.HostClose{Conversation: "c-1"}})
	r.send("c-1", "t-4", "x")
	last[msg.HostRefused](r, "c-1", nil)
	want := []string{
		"opened t-1", `t-1 chunk "hi"`, `t-1 tool-start {"id":"u1","name":"Write","input":"{}"}`,
		"edit u1 Write /p/a new", `ask u2 Bash {"command":"make"}`, "resume r-9",
		`t-1 done {"input_tokens":1,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":false,"resume_token":"r-9"}`, "closed t-1",
		"opened t-2", `t-2 chunk "hi"`, `t-2 done {"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":false}`, "closed t-2",
		"opened t-3", `t-3 chunk "again"`, `t-3 done {"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":false}`, "closed t-3",
		"refused t-4 gone=true No active session: c-1",
	}
	if got := r.said("c-1"); !slices.Equal(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantTypes := []string{"start_session", "permission_response", "edit_response", "send_message", "retry", "close_session"}
	await(t, "the requests", func() bool { return slices.Equal(r.types(), wantTypes) })
	sent := r.requests()
	if s := sent[0]; s["apiKey"] != key || s["permissionMode"] != "ask_for_risky" || s["turnId"] != "t-1" || s["workspace"].(map[string]any)["kind"] != "local" {
		t.Errorf("start %v", s)
	}
	if s := sent[1]; s["decision"] != "deny" || s["reason"] != "no" || s["by"] != "user" {
		t.Errorf("permission %v", s)
	}
	if s := sent[2]; s["approved"] != true || s["mergedContent"] != "merged" {
		t.Errorf("edit %v", s)
	}
	r.until("nobody is owned", func() bool { return len(r.owned) == 0 })
	ready := r.status(msg.StateRunning)
	if d, ok := ready.Detail.(Ready); !ok || d.PID == 0 || d.Version != "0.1.0" || d.Protocol != 11 {
		t.Errorf("ready %+v", ready)
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

// F66 F68 F69 F70: stray lines, split and back-to-back frames, long lines. A
// frame over the limit costs its own turn and nothing else.
func TestHost_Lines(t *testing.T) {
	t.Parallel()
	r := newRig(t, "stray", nil)
	r.talk("c-1", false)
	r.talk("c-2", false)
	for i, tc := range []struct {
		script string
		size   int
	}{
		{script(sayHi, "!long 300000", sayDone), 300_002},
		{script("!slow 100000", sayDone), 100_000},
		{script("!long 2000000", "stray", "", sayDone), 2_000_000},
		{script(`{"type":"later","sessionId":"$S","turnId":"$T"}`, sayHi, sayDone), 2},
	} {
		turn := contract.TurnID("t-" + strconv.Itoa(i+1))
		if i == 0 {
			r.open("c-1", turn, tc.script)
		} else {
			r.send("c-1", turn, tc.script)
		}
		r.closed("c-1", turn)
		if got := len(r.text("c-1", turn)); got != tc.size {
			t.Errorf("%s: %d characters, want %d", turn, got, tc.size)
		}
	}
	r.send("c-1", "t-9", script("!long 8400000", sayHi, sayDone))
	r.closed("c-1", "t-9")
	r.open("c-2", "t-1", script(sayHi, sayDone))
	r.closed("c-2", "t-1")
	got := r.said("c-1")
	want := []string{"opened t-9", `t-9 error {"message":"The agent sidecar sent a frame over 8 MiB; it was dropped."}`, "closed t-9"}
	if n := len(got); n < 3 || !slices.Equal(got[n-3:], want) {
		t.Errorf("after the long frame: %q", got[max(0, len(got)-4):])
	}
	await(t, "the turn is cancelled", func() bool { return slices.Contains(r.types(), "cancel") })
	if !strings.Contains(r.logs.String(), "line is no event: hello") {
		t.Error("the stray line is not in the log")
	}
}

// F67: a line that never ends costs the child.
func TestHost_EndlessLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-1", "!endless")
	if why := r.ended(); !strings.Contains(why, "a line without an end") {
		t.Errorf("reason %q", why)
	}
	last[msg.OwnerGone](r, "c-1", nil)
}

// Protocol 4.1: what is too old gets neither a session nor a key, and lives on
// until it is told to stop; what is newer is used with a warning.
func TestHost_Versions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ mode, refused, warning string }{
		{mode: "v10", refused: "The agent sidecar speaks protocol 10, PacketBench needs 11 or newer. Rebuild it (make sidecar) or unset PACKETBENCH_SIDECAR_PATH."},
		{mode: "noversion", refused: "The agent sidecar speaks protocol none, PacketBench needs 11 or newer. Rebuild it (make sidecar) or unset PACKETBENCH_SIDECAR_PATH."},
		{mode: "v12", warning: "the sidecar speaks protocol 12"},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tc.mode, nil)
			r.talk("c-1", false)
			r.open("c-1", "t-1", script(sayHi, sayDone))
			if tc.refused == "" {
				r.closed("c-1", "t-1")
				if n := strings.Count(r.logs.String(), tc.warning); n != 1 {
					t.Errorf("%d warnings", n)
				}
				return
			}
			if m := last[msg.HostRefused](r, "c-1", nil); m.Text != tc.refused || m.Gone {
				t.Errorf("refused %+v", m)
			}
			if s := r.status(msg.StateIncompatible); s.LastReason != tc.refused {
				t.Errorf("status %+v", s)
			}
			r.open("c-1", "t-2", "x")
			last(r, "c-1", func(m msg.HostRefused) bool { return m.Turn == "t-2" && m.Text == tc.refused })
			if list := r.types(); len(list) != 0 {
				t.Errorf("it was sent %v", list)
			}
			r.until("nobody is owned and the child lives", func() bool { return len(r.owned) == 0 && len(r.groups) == 1 && r.why == "" })
			r.stop()
			if why := r.ended(); why != gen.TerminateReasonShutdown.Error() {
				t.Errorf("ended %q", why)
			}
		})
	}
}

// stop is what the supervisor does on stop and reset.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.node.Send(r.boss, stopHost{}); err != nil {
		r.t.Fatal(err)
	}
}

// A child that says nothing: the opens are refused, and nothing was sent.
func TestHost_NoHandshake(t *testing.T) {
	t.Parallel()
	r := newRig(t, "silent", func(o *Options) { o.waits = quick; o.waits.handshake = 300 * time.Millisecond })
	r.talk("c-1", false)
	r.open("c-1", "t-1", "x")
	if m := last[msg.HostRefused](r, "c-1", nil); m.Text != "The agent sidecar did not complete its handshake within 10 s." {
		t.Errorf("refused %+v", m)
	}
	r.stop()
	r.ended()
}

// F25: what the launcher wrote to stderr is in the refusal and in the reason.
func TestHost_LauncherFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, "launcher", func(o *Options) { o.waits = quick })
	r.talk("c-1", false)
	r.open("c-1", "t-1", "x")
	if m := last[msg.HostRefused](r, "c-1", nil); !strings.Contains(m.Text, "code 1") || !strings.Contains(m.Text, "Cannot find package 'zod'") {
		t.Errorf("refused %+v", m)
	}
	r.open("c-1", "t-2", "x") // Who comes just after that hears the same.
	last(r, "c-1", func(m msg.HostRefused) bool { return m.Turn == "t-2" && strings.Contains(m.Text, "zod") })
	why := r.ended()
	if s := r.status(msg.StateFailed); !strings.HasPrefix(s.LastReason, "Sidecar exited with code 1: ") || !strings.Contains(s.LastReason, "zod") || why != s.LastReason {
		t.Errorf("status %+v, ended %q", s, why)
	}
}

// Protocol 7: a script that is not there.
func TestHost_NoScript(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, map[string]string{EnvScript: "/no/such/script.js"}, func(o *Options) { o.waits = quick })
	r.talk("c-1", false)
	r.open("c-1", "t-1", "x")
	want := "sidecar entry not found at /no/such/script.js. Run make sidecar, or set PACKETBENCH_SIDECAR_PATH."
	if m := last[msg.HostRefused](r, "c-1", nil); m.Text != want {
		t.Errorf("refused %+v", m)
	}
	if why := r.ended(); why != want {
		t.Errorf("ended %q", why)
	}
}

// F22 and contract.md 7: SIGKILL in mid-turn with a grandchild that holds the
// pipe. What had been said arrives before the end, the grandchild is gone.
func TestHost_Killed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-1", script("!spawn", "!stderr last words with "+key, "!kill"))
	m := last[msg.OwnerGone](r, "c-1", nil)
	if !strings.HasPrefix(m.Reason, "Sidecar exited with signal SIGKILL: last words") {
		t.Errorf("reason %q", m.Reason)
	}
	got := r.said("c-1")
	if len(got) != 3 || !strings.HasPrefix(got[1], "t-1 chunk") || !strings.HasPrefix(got[2], "gone") {
		t.Errorf("heard %q", got)
	}
	pid, err := strconv.Atoi(r.text("c-1", "t-1"))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the grandchild is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	if strings.Contains(r.logs.String(), key) || strings.Contains(m.Reason, key) {
		t.Error("a key is in the log or in the reason")
	}
}

// contract.md 8: the texts of an end; the last line counts without its end.
func TestHost_Ends(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, script, want string }{
		{"zero", script(sayHi, "!exit 0"), "Sidecar exited unexpectedly"},
		{"code", script(sayHi, "!exit 3"), "Sidecar exited with code 3"},
		{"open line", `!open {"type":"chunk","sessionId":"$S","turnId":"$T","text":"hi"}`, "Sidecar exited unexpectedly"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "plain", nil)
			r.talk("c-1", false)
			r.open("c-1", "t-1", tc.script)
			// A test binary that counts coverage says so as its last words.
			if m := last[msg.OwnerGone](r, "c-1", nil); m.Reason != tc.want && !strings.HasPrefix(m.Reason, tc.want+": warning: GOCOVERDIR") {
				t.Errorf("reason %q", m.Reason)
			}
			if text := r.text("c-1", "t-1"); text != "hi" {
				t.Errorf("text %q", text)
			}
		})
	}
}

// F11 F34: a child that is stopped does not answer a cancel; killing it frees
// everybody.
func TestHost_Frozen(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", nil)
	r.talk("c-1", false)
	r.talk("c-2", false)
	r.open("c-2", "t-1", script(sayHi, sayDone))
	r.closed("c-2", "t-1")
	r.open("c-1", "t-1", "!freeze")
	last[msg.Emitted](r, "c-1", nil)
	r.say("c-1", pass{msg.HostCancel{Conversation: "c-1", Turn: "t-1"}})
	r.say("c-1", pass{msg.HostKill{Conversation: "c-1", Turn: "t-0"}}) // An old one kills nobody.
	r.say("c-1", pass{msg.HostKill{Conversation: "c-1", Turn: "t-1"}})
	last[msg.OwnerGone](r, "c-1", nil)
	if m := last[msg.OwnerGone](r, "c-2", nil); m.Reason != textKilled {
		t.Errorf("reason %q", m.Reason)
	}
}

// A child that reads nothing still ends, and what cannot be sent is refused.
func TestHost_Deaf(t *testing.T) {
	t.Parallel()
	r := newRig(t, "deaf", func(o *Options) { o.waits = quick })
	r.talk("c-1", false)
	r.open("c-1", "t-1", strings.Repeat("x", 1<<20))
	last[msg.HostOpened](r, "c-1", nil)
	for range queueLines + 2 {
		r.say("c-1", pass{msg.HostCancelPending{Conversation: "c-1"}})
	}
	r.send("c-1", "t-2", "x")
	last(r, "c-1", func(m msg.HostRefused) bool { return m.Turn == "t-2" && m.Text == textNotReading })
	r.stop()
	if why := r.ended(); why != gen.TerminateReasonShutdown.Error() {
		t.Errorf("ended %q", why)
	}
}

// F23: a child that ignores the close of stdin and SIGTERM is killed, and
// the drain is answered when it is gone. It counts as ended on purpose.
func TestHost_Drain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, mode, func(o *Options) { o.waits = quick })
			r.talk("c-1", false)
			r.open("c-1", "t-1", script(sayHi, sayDone))
			r.closed("c-1", "t-1")
			done, err := r.call(r.host, msg.Drain{})
			if d, ok := done.(msg.Done); err != nil || !ok || d.Err != nil {
				t.Fatalf("drain %v, %v", done, err)
			}
			r.mu.Lock()
			left := len(r.groups)
			r.mu.Unlock()
			if left != 0 {
				t.Errorf("%d groups are left", left)
			}
			if why := r.ended(); why != gen.TerminateReasonShutdown.Error() {
				t.Errorf("ended %q", why)
			}
		})
	}
}

// A host that is killed, not told, takes its child along.
func TestHost_KilledActor(t *testing.T) {
	t.Parallel()
	r := newRig(t, "stubborn", nil)
	r.status(msg.StateRunning)
	if err := r.node.Kill(r.host); err != nil {
		t.Fatal(err)
	}
	r.until("the child is gone", func() bool { return len(r.groups) == 0 })
}

// Settings are answered truthfully although no request has an answer.
func TestHost_Settings(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-1", script(sayHi, sayDone))
	plan := contract.Posture{PlanMode: true, PermissionMode: contract.ModeAuto}
	auto := contract.Posture{PermissionMode: contract.ModeAuto}
	for ref, m := range []msg.HostSet{{Model: ptr("good")}, {Model: ptr("bad"), Mode: &plan}, {Mode: &auto, ApproveWrites: ptr(true)}} {
		m.Conversation, m.Ref = "c-1", uint64(ref)
		r.say("c-1", pass{m})
	}
	last(r, "c-1", func(m msg.HostReply) bool { return m.Ref == 2 })
	r.closed("c-1", "t-1")
	var replies []string
	for _, s := range r.said("c-1") {
		if strings.HasPrefix(s, "reply") {
			replies = append(replies, s)
		}
	}
	if want := []string{"reply 0 ", "reply 1 setModel failed: no such model", "reply 2 "}; !slices.Equal(replies, want) {
		t.Errorf("replies %q", replies)
	}
	var modes []any
	for _, m := range r.requests() {
		if m["type"] == "set_permission_mode" {
			modes = append(modes, m["mode"])
		}
	}
	if !slices.Equal(modes, []any{"plan", "auto"}) {
		t.Errorf("modes %v", modes)
	}
}

// A child of before drops what it does not know: the setting counts as taken.
func TestHost_SettingsOfAnOldChild(t *testing.T) {
	t.Parallel()
	r := newRig(t, "old", func(o *Options) { o.waits = quick })
	r.talk("c-1", false)
	r.open("c-1", "t-1", `{"type":"chunk","sessionId":"$S","text":"hi"}`+"\n"+`{"type":"done","sessionId":"$S"}`)
	r.closed("c-1", "t-1")
	r.say("c-1", pass{msg.HostSet{Conversation: "c-1", Ref: 7, Model: ptr("m-2")}})
	if m := last[msg.HostReply](r, "c-1", nil); m.Ref != 7 || m.Text != "" {
		t.Errorf("reply %+v", m)
	}
}

// A retry that the child has no turn for is the text again.
func TestHost_RetryWithoutATurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, "noretry", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-1", script(sayHi, sayDone))
	r.closed("c-1", "t-1")
	r.say("c-1", pass{msg.HostSend{Conversation: "c-1", Turn: "t-2", Text: script(sayHi, sayHi, sayDone), Retry: true}})
	r.closed("c-1", "t-2")
	if text := r.text("c-1", "t-2"); text != "hihi" {
		t.Errorf("text %q", text)
	}
}

// A conversation that gives nothing back keeps its lines, and with them in the
// end the child: memory stays bounded. Others go on while it keeps fewer than
// all; when it gives back, everything arrives; when it dies, its lines are free.
func TestHost_Credits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", func(o *Options) {
		o.waits.behind = 50 * time.Millisecond
		o.waits.handshake = patience
		o.waits.setting = time.Second
	})
	const flood = 20_000
	r.talk("slow", true)
	r.talk("quick", false)
	r.open("quick", "t-1", script(sayHi, sayDone))
	r.closed("quick", "t-1")
	// Single lines, so that each is an Emitted.
	r.open("slow", "t-1", sayHi)
	last[msg.Emitted](r, "slow", nil)
	for i := range msg.HostCredits + 3 {
		r.send("slow", contract.TurnID("t-"+strconv.Itoa(i+2)), sayHi)
		r.until("the next one", func() bool { return len(r.heard["slow"]) >= 2*(i+2) })
	}
	r.send("quick", "t-2", script("!flood "+strconv.Itoa(flood), sayDone))
	r.closed("quick", "t-2")

	r.send("slow", "t-200", script("!flood "+strconv.Itoa(flood), sayDone))
	r.until("the child is held", func() bool { return len(r.heard["slow"]) > 2*msg.HostCredits+4 })
	kept := func() (emitted, events int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, m := range r.heard["slow"] {
			if e, ok := m.(msg.Emitted); ok {
				emitted++
				events += len(e.Events)
			}
		}
		return emitted, events
	}
	if emitted, events := kept(); events > 300 {
		t.Errorf("%d events in %d Emitted for one that gives nothing back", events, emitted)
	}
	given := 0
	r.until("everything arrives", func() bool {
		n := 0
		for _, m := range r.heard["slow"] {
			switch m := m.(type) {
			case msg.Emitted:
				n++
			case msg.TurnClosed:
				if m.Turn == "t-200" {
					return true
				}
			}
		}
		if n > given {
			go r.node.Send(msg.ConversationName("slow"), give{n - given}) //nolint:errcheck // It lives.
			given = n
		}
		return false
	})

	// It stops giving back and dies: the others are not held by its lines.
	r.say("slow", give{flood})
	r.send("slow", "t-201", script("!flood "+strconv.Itoa(flood), sayDone))
	before, _ := kept()
	await(t, "the child is held again", func() bool { n, _ := kept(); return n > before+msg.HostCredits })
	r.say("slow", stopHost{})
	r.send("quick", "t-3", script(sayHi, sayDone))
	r.closed("quick", "t-3")
	r.until("it is released", func() bool { return !r.owned[msg.ConversationName("slow")] })
}

// contract.md 7: kill -9 with 300 and 1,000 owned sessions: each hears it
// exactly once, behind what had been said.
func TestHost_FanOut(t *testing.T) {
	t.Parallel()
	for _, n := range []int{300, 1000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "plain", nil)
			for i := range n {
				id := contract.ConversationID("c-" + strconv.Itoa(i))
				r.talk(id, false)
				r.open(id, "t-1", sayHi)
			}
			count := func(done func(id contract.ConversationID) bool) func() bool {
				return func() bool {
					for i := range n {
						if !done(contract.ConversationID("c-" + strconv.Itoa(i))) {
							return false
						}
					}
					return true
				}
			}
			r.until("all are open and have spoken", count(func(id contract.ConversationID) bool { return len(r.heard[id]) == 2 }))
			ready := r.status(msg.StateRunning).Detail.(Ready)
			begin := time.Now()
			if err := syscall.Kill(ready.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r.until("all have heard", count(func(id contract.ConversationID) bool { return len(r.heard[id]) == 3 }))
			t.Logf("%d told %v after the kill", n, time.Since(begin))
			r.ended()
			r.mu.Lock()
			defer r.mu.Unlock()
			for id, heard := range r.heard {
				if m, ok := heard[len(heard)-1].(msg.OwnerGone); !ok || len(heard) != 3 || m.Reason != "Sidecar exited with signal SIGKILL" {
					t.Errorf("%s heard %+v", id, heard)
				}
			}
		})
	}
}

// interface.md 6: the tree shows the child and how many sessions it has, and
// forgets it when the host ends.
func TestHost_Facts(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-1", script(sayHi, sayDone))
	r.closed("c-1", "t-1")
	pid := strconv.Itoa(r.status(msg.StateRunning).Detail.(Ready).PID)
	want := `sidecar {"child_pid":` + pid + `,"version":"0.1.0","protocol":11,"sessions":1,"waiting":0,"behind":0,"metas":["child"]}`
	r.until("the facts", func() bool { return slices.Contains(r.facts, want) })
	r.stop()
	r.ended()
	r.until("it is forgotten", func() bool { return r.facts[len(r.facts)-1] == "sidecar " })
}
