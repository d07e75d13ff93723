package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

const (
	answersAll = `{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{}}}}`
	answersOwn = `{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{}},"_packetcode":{"permissionModes":["ask","read-only"],"defaultPermissionMode":"ask","sessionsUsage":true,"mcpDefaults":true}}}`
)

// F37: what is wanted before the engine is ready waits for it, in order.
func TestEngine_WaitsUntilReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.begin("c-1", "t-1")
	if got := pick[spawn](r.last); len(got) != 1 {
		t.Fatalf("the first wish starts %d processes", len(got))
	}
	r.begin("c-2", "t-9")
	if len(pick[spawn](r.last)) != 0 || len(wrote(r.last)) != 0 {
		t.Fatalf("a second wish: %v", r.last)
	}
	if sent(r.do(spawned{})) != methodInitialize {
		t.Fatalf("spawned: %v", r.last)
	}
	if got := sent(r.answerTo(methodInitialize, answersAll)); got != "session/new session/new" {
		t.Fatalf("ready: %s", got)
	}
	if got := r.answerTo(methodNew, `{"sessionId":"a"}`); sent(got) != methodPrompt || !strings.Contains(wrote(got)[0], `"sessionId":"a"`) {
		t.Fatalf("new: %v", wrote(got))
	}
	if owned := pick[owns](r.all); len(owned) != 2 || owned[0].conv != "c-1" {
		t.Errorf("owns %v", owned)
	}
}

// acp.md 12.1: the answer to session/new counts before the line behind it, and
// what comes too early is dropped.
func TestEngine_OrderAroundNew(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.begin("c-1", "t-1")
	r.update("a", `{"sessionUpdate":"agent_message_chunk","content":{"text":"early"}}`)
	if len(r.last) != 0 {
		t.Fatalf("an unknown session: %v", r.last)
	}
	r.answerTo(methodNew, `{"sessionId":"a"}`)
	if got := kinds(r.update("a", `{"sessionUpdate":"agent_message_chunk","content":{"text":"now"}}`)); got != "chunk" {
		t.Errorf("the line behind the answer: %q", got)
	}
}

// acp.md 12.3: the reader survives what is no frame, nobody's and unknown.
func TestEngine_Garbage(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	for _, l := range []string{"hello", "{", "[]", "", `{"jsonrpc":"2.0"}`, `{"id":null,"error":{"code":-32700,"message":"Parse error"}}`, `{"id":99,"result":{}}`, `{"id":"x","result":{}}`, `{"method":"vendor/news"}`, `{"method":"session/update"}`, `{"method":"session/update","params":{"sessionId":"nobody","update":{"sessionUpdate":"plan","entries":[]}}}`} {
		if got := r.line(l); len(wrote(got)) != 0 || kinds(got) != "" {
			t.Errorf("%s: %v", l, got)
		}
	}
	for _, id := range []string{"0", `"7"`, "null"} {
		got := wrote(r.line(`{"id":` + id + `,"method":"fs/read_text_file","params":{}}`))
		if want := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found: fs/read_text_file"}}`; len(got) != 1 || got[0] != want {
			t.Errorf("an unknown request: %v", got)
		}
	}
	if got := kinds(r.answerTo(methodPrompt, `{"stopReason":"end_turn"}`)); got != "done" {
		t.Errorf("the turn afterwards: %s", got)
	}
}

// F66: a line that was too long fails what it belonged to and nothing else.
func TestEngine_DroppedLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	drop := func(head string) []effect {
		return r.do(line{child.Line{Dropped: true, Head: []byte(head), Size: 70 << 20}})
	}
	if got := drop(`{"method":"session/update","params":{"x`); len(wrote(got)) != 0 || kinds(got) != "" {
		t.Errorf("an update: %v", got)
	}
	if got := wrote(drop(`{"id":"p","method":"session/request_permission","params":{"x`)); len(got) != 1 || !strings.Contains(got[0], `"id":"p","error":`) {
		t.Errorf("a request: %v", got)
	}
	got := drop(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"x`, r.waits(methodPrompt)))
	if !strings.Contains(failed(got), "73400320 bytes") {
		t.Errorf("an answer: %v", got)
	}
	if sent(r.do(send{"c-1", "t-2", prompt{text: "x"}})) != methodPrompt {
		t.Errorf("the next turn: %v", r.last)
	}
}

// acp.md 12.4: every way a turn ends closes the thoughts once.
func TestEngine_TurnEnds(t *testing.T) {
	t.Parallel()
	thought := `{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`
	tool := `{"sessionUpdate":"tool_call","toolCallId":"1","title":"w"}`
	for name, tc := range map[string]struct {
		updates []string
		end     func(*rig) []effect
		want    string
	}{
		"done":             {[]string{thought}, func(r *rig) []effect { return r.answerTo(methodPrompt, `{"stopReason":"end_turn"}`) }, "thinking-stop done"},
		"an unknown end":   {nil, func(r *rig) []effect { return r.answerTo(methodPrompt, `{"stopReason":"max_turn_requests"}`) }, "done"},
		"null":             {[]string{tool, thought}, func(r *rig) []effect { return r.answerTo(methodPrompt, `null`) }, "thinking-stop done"},
		"cancelled":        {[]string{tool, thought}, func(r *rig) []effect { return r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`) }, "thinking-stop tool-result done"},
		"an error":         {[]string{tool, thought}, func(r *rig) []effect { return r.refuseTo(methodPrompt, -32603, "no") }, "thinking-stop tool-result error"},
		"the engine's end": {[]string{tool, thought}, func(r *rig) []effect { return r.do(exited{child.Exit{Signal: "SIGKILL", Code: -1}}) }, "thinking-stop tool-result error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Spec{Name: "x"})
			r.start(answersAll)
			r.running("c-1", "t-1")
			for _, u := range tc.updates {
				r.update("s-c-1", u)
			}
			if got := kinds(tc.end(r)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := r.update("s-c-1", thought); kinds(got) != "" {
				t.Errorf("after the end: %v", got)
			}
		})
	}
}

// acp.md 12.10: an error is no done, and the next prompt works.
func TestEngine_ErrorThenNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	if got := failed(r.refuseTo(methodPrompt, 400, "the provider said 400")); got != "the provider said 400" {
		t.Errorf("error %q", got)
	}
	if len(pick[released](r.all)) != 0 {
		t.Error("ownership was dropped with the turn")
	}
	if sent(r.do(send{"c-1", "t-2", prompt{text: "again"}})) != methodPrompt {
		t.Errorf("the next: %v", r.last)
	}
}

// acp.md 12.9: a second prompt is never sent. F54: cancel is told from it.
func TestEngine_OneTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	got := r.do(send{"c-1", "t-2", prompt{text: "x"}})
	if f := pick[refused](got); len(f) != 1 || f[0].failure.Code != contract.CodeConflict || len(wrote(got)) != 0 {
		t.Errorf("a second send: %v", got)
	}
	got = r.do(begin{conv: "c-1", turn: "t-2"})
	if f := pick[refused](got); len(f) != 1 || f[0].failure.Code != contract.CodeConflict || len(wrote(got)) != 0 {
		t.Errorf("a second begin: %v", got)
	}
	if f := pick[refused](r.do(send{"nobody", "t-1", prompt{}})); len(f) != 1 || f[0].failure.Code != contract.CodeNotFound {
		t.Errorf("an unknown conversation: %v", f)
	}
}

// acp.md 12.2, F52: what is open is answered cancelled, of this session only; a
// later answer meets nothing; a cancel goes out once.
func TestEngine_CancelWithPrompts(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.running("c-2", "t-1")
	r.ask("s-c-1", `"p-1"`)
	r.ask("s-c-2", `0`)
	got := wrote(r.do(cancel{"c-1", "t-1"}))
	want := []string{
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s-c-1"}}`,
		`{"jsonrpc":"2.0","id":"p-1","result":{"outcome":{"outcome":"cancelled"}}}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("cancel wrote %v", got)
	}
	if again := r.do(cancel{"c-1", "t-1"}); len(again) != 0 {
		t.Errorf("again: %v", again)
	}
	if late := r.do(answer{"c-1", "p-1", contract.AllowOnce}); len(wrote(late)) != 0 {
		t.Errorf("a late answer: %v", late)
	}
	if asks := r.ask("s-c-1", `"p-2"`); len(pick[asked](asks)) != 0 || len(wrote(asks)) != 1 {
		t.Errorf("asked while cancelling: %v", asks)
	}
	if done := r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`); kinds(done) != "done" {
		t.Errorf("done: %v", done)
	}
	if b := wrote(r.do(answer{"c-2", "0", contract.AllowOnce})); len(b) != 1 || b[0] != `{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}` {
		t.Errorf("the other session's: %v", b)
	}
	if twice := r.do(answer{"c-2", "0", contract.Deny}); len(wrote(twice)) != 0 {
		t.Errorf("a double answer: %v", twice)
	}
	if idle := r.do(cancel{"c-1", "t-1"}); len(idle) != 0 {
		t.Errorf("cancel when idle: %v", idle)
	}
}

// One id asked twice gets one prompt and one answer; a number and a string of
// the same text are two.
func TestEngine_DuplicateIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.ask("s-c-1", `7`)
	if got := r.ask("s-c-1", `7`); len(pick[asked](got)) != 0 || len(wrote(got)) != 0 {
		t.Errorf("twice: %v", got)
	}
	got := pick[asked](r.ask("s-c-1", `"7"`))
	if len(got) != 1 || got[0].ask.id != `"7"` {
		t.Fatalf("the string: %v", got)
	}
	if w := wrote(r.do(answer{"c-1", `"7"`, contract.Deny})); len(w) != 1 || !strings.Contains(w[0], `"id":"7","result"`) {
		t.Errorf("its answer: %v", w)
	}
	if w := wrote(r.do(answer{"c-1", `7`, contract.Deny})); len(w) != 1 || !strings.Contains(w[0], `"id":7,"result"`) {
		t.Errorf("the number's answer: %v", w)
	}
	// A second answer to a prompt of ours.
	id := r.waits(methodPrompt)
	r.answerTo(methodPrompt, `{"stopReason":"end_turn"}`)
	r.do(send{"c-1", "t-2", prompt{text: "x"}})
	if got := r.line(fmt.Sprintf(`{"id":%d,"result":{"stopReason":"end_turn"}}`, id)); kinds(got) != "" {
		t.Errorf("the same answer ended the next turn: %v", got)
	}
}

func TestEngine_Asks(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.update("s-c-1", `{"sessionUpdate":"agent_thought_chunk","content":{"text":"h"}}`)
	got := r.ask("s-c-1", `1`)
	if kinds(got) != "thinking-stop" || len(pick[asked](got)) != 1 {
		t.Fatalf("thoughts end before a prompt: %v", got)
	}
	if u := pick[unanswered](r.do(answer{"c-1", "1", "perhaps"})); len(u) != 1 || u[0].failure.Code != contract.CodeBadParams {
		t.Errorf("an unknown decision: %v", u)
	}
	if got := r.do(answer{"c-2", "1", contract.Deny}); len(wrote(got)) != 0 {
		t.Errorf("another conversation's answer: %v", got)
	}
	// cancel_pending_tools: rejected, not cancelled, and the turn goes on.
	if w := wrote(r.do(refuseOpen{"c-1"})); len(w) != 1 || !strings.Contains(w[0], `"optionId":"no"`) {
		t.Errorf("refuseOpen: %v", w)
	}
	// A request that names no session belongs to the only turn there is, and no
	// sweep of a session matches it.
	if a := pick[asked](r.ask("", `2`)); len(a) != 1 || a[0].ask.conv != "c-1" {
		t.Fatalf("without a session: %v", a)
	}
	if w := wrote(r.do(cancel{"c-1", "t-1"})); len(w) != 1 {
		t.Errorf("swept: %v", w)
	}
	if w := wrote(r.do(answer{"c-1", "2", contract.AllowOnce})); len(w) != 1 {
		t.Errorf("not answered: %v", w)
	}
	// Nobody to ask.
	r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`)
	for _, session := range []string{"", "s-c-1", "nobody"} {
		if w := wrote(r.ask(session, `3`)); len(w) != 1 || !strings.Contains(w[0], `cancelled`) {
			t.Errorf("session %q: %v", session, w)
		}
	}
}

func TestEngine_RequestWithdrawn(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.ask("s-c-1", `"p"`)
	got := r.line(`{"method":"$/cancel_request","params":{"requestId":"p"}}`)
	if w := pick[withdrawn](got); len(w) != 1 || w[0].id != "p" || len(wrote(got)) != 1 {
		t.Errorf("withdrawn: %v", got)
	}
}

// acp.md 5.2: when the prompt resolves, its open requests are dropped without a
// reply.
func TestEngine_TurnEndDropsAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.ask("s-c-1", `1`)
	if got := wrote(r.answerTo(methodPrompt, `{"stopReason":"end_turn"}`)); len(got) != 0 {
		t.Errorf("wrote %v", got)
	}
	if got := r.do(answer{"c-1", "1", contract.Deny}); len(wrote(got)) != 0 {
		t.Errorf("a late answer: %v", got)
	}
}

// acp.md 12.6, F48 F49 F50: loading is silent whatever comes of it, a null is an
// answer, and events flow again.
func TestEngine_Load(t *testing.T) {
	t.Parallel()
	replay := func(r *rig) {
		for _, u := range []string{`{"sessionUpdate":"user_message_chunk","content":{"text":"x"}}`, `{"sessionUpdate":"agent_thought_chunk","content":{"text":"x"}}`, `{"sessionUpdate":"tool_call","toolCallId":"1","title":"w","status":"completed"}`} {
			if got := r.update("old", u); kinds(got) != "" {
				t.Errorf("replayed: %v", got)
			}
		}
		if got := r.ask("old", `1`); len(pick[asked](got)) != 0 || len(wrote(got)) != 1 {
			t.Errorf("asked while replaying: %v", got)
		}
	}
	for name, tc := range map[string]struct {
		caps, method string
		end          func(*rig)
		lost         bool
	}{
		"load":           {answersAll, methodLoad, func(r *rig) { r.answerTo(methodLoad, `{}`) }, false},
		"null":           {answersAll, methodLoad, func(r *rig) { r.answerTo(methodLoad, `null`) }, false},
		"resume replays": {`{"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`, methodResume, func(r *rig) { r.answerTo(methodResume, `null`) }, false},
		"an error":       {answersAll, methodLoad, func(r *rig) { r.refuseTo(methodLoad, -32002, "Resource not found") }, true},
		"a timeout":      {answersAll, methodLoad, func(r *rig) { r.wait(waitLoad) }, true},
		"not offered":    {`{"agentCapabilities":{"loadSession":"yes","sessionCapabilities":{"resume":true}}}`, methodNew, func(*rig) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Spec{Name: "x"})
			r.start(tc.caps)
			r.do(begin{conv: "c-1", turn: "t-1", prompt: prompt{text: "hi"}, cwd: "/p", engineID: "old"})
			if got := sent(r.last); got != tc.method {
				t.Fatalf("sent %s", got)
			}
			if tc.method != methodNew {
				replay(r)
			}
			tc.end(r)
			session := "old"
			if tc.lost {
				if n := pick[notice](r.all); len(n) != 1 || n[0].text != textLost {
					t.Fatalf("notices %v", n)
				}
				session = "fresh"
				r.answerTo(methodNew, `{"sessionId":"fresh"}`)
			} else if len(pick[notice](r.all)) != 0 {
				t.Errorf("notices %v", pick[notice](r.all))
			}
			if got := kinds(r.update(session, `{"sessionUpdate":"agent_message_chunk","content":{"text":"a"}}`)); got != "chunk" {
				t.Errorf("afterwards %q", got)
			}
			if a := pick[attached](r.all); len(a) != 1 || a[0].engineID != session {
				t.Errorf("attached %v", a)
			}
			if got := kinds(r.answerTo(methodPrompt, `{}`)); got != "done" {
				t.Errorf("end %q", got)
			}
		})
	}
}

// Adopting a session that the engine does not hold fails, and nobody owns it
// afterwards; one that it holds is opened.
func TestEngine_Adopt(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.do(begin{conv: "c-1", cwd: "/p", engineID: "old", adopt: true})
	r.refuseTo(methodLoad, -32603, "no such file")
	if f := pick[refused](r.last); len(f) != 1 || f[0].failure.Message != "no such file" || len(pick[released](r.last)) != 1 || sent(r.last) != "" {
		t.Errorf("refused: %v", r.last)
	}
	r.do(begin{conv: "c-2", cwd: "/p", engineID: "old", adopt: true})
	r.answerTo(methodLoad, `{}`)
	if n := pick[notice](r.last); len(n) != 0 || len(pick[attached](r.last)) != 1 {
		t.Errorf("adopted: %v", r.last)
	}
	r.do(begin{conv: "c-3", turn: "t-1", cwd: "/p", engineID: "old", adopt: true})
	if f := pick[refused](r.last); len(f) != 1 || failed(r.last) == "" || len(pick[owns](r.last)) != 0 {
		t.Errorf("held by another: %v", r.last)
	}
	bare := newRig(t, Spec{Name: "x"})
	bare.start(`{}`)
	bare.do(begin{conv: "c-1", cwd: "/p", engineID: "old", adopt: true})
	if f := pick[refused](bare.last); len(f) != 1 || sent(bare.last) != "" {
		t.Errorf("an engine that cannot load: %v", bare.last)
	}
}

// A failure of session/new leaves no owner, whatever the failure is.
func TestEngine_NewFails(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"an error":         func(r *rig) { r.refuseTo(methodNew, -32603, "no default provider") },
		"null":             func(r *rig) { r.answerTo(methodNew, `null`) },
		"a number":         func(r *rig) { r.answerTo(methodNew, `{"sessionId":5}`) },
		"another's id":     func(r *rig) { r.answerTo(methodNew, `{"sessionId":"s-c-0"}`) },
		"a blank id":       func(r *rig) { r.answerTo(methodNew, `{"sessionId":"  "}`) },
		"silence":          func(r *rig) { r.wait(waitNew) },
		"the engine's end": func(r *rig) { r.do(exited{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Spec{Name: "x"})
			r.start(answersAll)
			r.session("c-0")
			r.begin("c-1", "t-1")
			end(r)
			if failed(r.last) == "" || len(pick[refused](r.last)) != 1 || len(pick[released](r.last)) != 1 {
				t.Errorf("effects %v", r.last)
			}
			if r.e.sessions["c-1"] != nil {
				t.Error("the conversation is still recorded")
			}
			if _, ok := r.e.sessions["c-0"]; !ok || r.e.byEngine["s-c-0"].conv != "c-0" {
				t.Error("the other conversation was touched")
			}
		})
	}
}

// acp.md 11: a session/new that was given up is closed when its answer comes.
func TestEngine_LateNew(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.begin("c-1", "t-1")
	id := r.waits(methodNew)
	r.wait(waitNew)
	got := wrote(r.line(fmt.Sprintf(`{"id":%d,"result":{"sessionId":"late"}}`, id)))
	if len(got) != 1 || !strings.Contains(got[0], `"method":"session/close","params":{"sessionId":"late"}`) {
		t.Errorf("wrote %v", got)
	}
	// The same for a conversation that left in the meantime.
	r.begin("c-2", "t-1")
	r.do(leave{"c-2"})
	if got := r.answerTo(methodNew, `{"sessionId":"left"}`); sent(got) != methodClose || len(pick[attached](got)) != 0 {
		t.Errorf("after leaving: %v", got)
	}
}

// acp.md 11: the derivation is code.
func TestWaits(t *testing.T) {
	t.Parallel()
	if waitFor(methodNew) != 3*serverCeiling || serverCeiling != 30*time.Second {
		t.Errorf("session/new may take %s", waitFor(methodNew))
	}
	for _, m := range []string{methodInitialize, methodClose, methodSetMode, methodUsage, "anything"} {
		if waitFor(m) != waitRequest {
			t.Errorf("%s may take %s", m, waitFor(m))
		}
	}
	if waitFor(methodLoad) <= waitFor(methodNew) || waitFor(methodPrompt) != time.Hour {
		t.Error("load and prompt")
	}
	// The whole stop of a service has to fit its ten seconds.
	if stop := StopGraceDrain + termToKill + 2*killWait; stop >= config.DrainMost {
		t.Errorf("a stop takes %s", stop)
	}
}

// F11 F28: a silent engine costs a request or a turn and never the conversation.
func TestEngine_Silent(t *testing.T) {
	t.Parallel()
	t.Run("initialize", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, Spec{Name: "x"})
		r.begin("c-1", "t-1")
		r.do(spawned{})
		r.wait(waitRequest)
		if k := pick[kill](r.all); len(k) != 1 {
			t.Fatalf("kills %v", k)
		}
		r.do(exited{child.Exit{Signal: "SIGKILL", Code: -1, Tail: "booting...\n"}})
		if got := failed(r.last); got != "The engine stopped: it did not answer initialize within 30 s, its last words: booting. Send again to continue." {
			t.Errorf("error %q", got)
		}
	})
	t.Run("prompt", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, Spec{Name: "x"})
		r.start(answersAll)
		r.running("c-1", "t-1")
		r.wait(waitPrompt - time.Second)
		if strings.Contains(sent(r.all), methodCancel) {
			t.Fatal("cancelled too early")
		}
		r.wait(time.Second)
		if sent(r.last) != methodCancel {
			t.Fatalf("after an hour: %v", r.last)
		}
		// It does as it is told: the turn has failed all the same.
		got := r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`)
		if !strings.Contains(failed(got), "60 minutes") || kinds(got) != "error" {
			t.Errorf("end %v", got)
		}
	})
	t.Run("a mode", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, Spec{Name: "x"})
		r.start(`{"agentInfo":{"name":"claude"}}`)
		r.do(begin{conv: "c-1", turn: "t-1", cwd: "/p", posture: contract.Posture{PlanMode: true}})
		r.answerTo(methodNew, `{"sessionId":"a","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Default"},{"id":"plan","name":"Plan"}]}}`)
		if sent(r.last) != methodSetMode {
			t.Fatalf("sent %s", sent(r.last))
		}
		r.wait(waitRequest)
		if sent(r.last) != methodPrompt || len(pick[notice](r.last)) != 1 {
			t.Errorf("effects %v", r.last)
		}
	})
}

// contract.md 6.5: an engine that ignores a cancel is ended, and nobody stays
// busy.
func TestEngine_IgnoresCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.running("c-2", "t-5")
	r.session("c-3")
	r.do(cancel{"c-1", "t-1"})
	r.wait(config.CancelEscalation)
	if k := pick[kill](r.all); len(k) != 1 {
		t.Fatalf("kills %v", k)
	}
	if got := r.do(send{"c-3", "t-1", prompt{text: "x"}}); len(wrote(got)) != 0 {
		t.Errorf("sent to a dying engine: %v", got)
	}
	got := r.do(exited{child.Exit{Signal: "SIGKILL", Code: -1}})
	var texts []string
	for _, x := range pick[refused](got) {
		texts = append(texts, string(x.conv)+" "+string(x.turn)+" "+x.failure.Message)
	}
	for _, x := range pick[emit](got) {
		texts = append(texts, string(x.conv)+" "+string(x.turn)+" "+x.events[len(x.events)-1].(contract.Error).Message)
	}
	want := []string{
		"c-1 t-1 The engine did not stop within 10 s and was ended. Send again to continue.",
		"c-2 t-5 The engine stopped: it did not react to a cancel and was ended. Send again to continue.",
		"c-3 t-1 The engine stopped: it did not react to a cancel and was ended. Send again to continue.",
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(texts, "\n"), w) {
			t.Errorf("missing %q in %v", w, texts)
		}
	}
	if len(texts) != len(want) {
		t.Errorf("%d errors", len(texts))
	}
}

// The conversation's own clock may be first; a wish about another turn is none.
func TestEngine_Force(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-2")
	for _, in := range []any{cancel{"c-1", "t-1"}, force{"c-1", "t-1"}, cancel{"nobody", "t-1"}, force{"nobody", ""}} {
		if got := r.do(in); len(got) != 0 {
			t.Errorf("%+v: %v", in, got)
		}
	}
	r.do(cancel{"c-1", "t-2"})
	if k := pick[kill](r.do(force{"c-1", "t-2"})); len(k) != 1 {
		t.Fatalf("kills %v", k)
	}
	r.wait(config.CancelEscalation)
	if k := pick[kill](r.all); len(k) != 1 {
		t.Errorf("kills %v", k)
	}
	if got := failed(r.do(exited{child.Exit{Signal: "SIGKILL"}})); !strings.HasPrefix(got, "The engine did not stop within 10 s") {
		t.Errorf("error %q", got)
	}
}

// A cancel before the engine has the prompt ends the turn at once.
func TestEngine_CancelBeforePrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.begin("c-1", "t-1")
	if got := r.do(cancel{"c-1", "t-1"}); failed(got) != contract.TextCancelledByUser || kinds(got) != "" {
		t.Fatalf("cancel: %v", got)
	}
	r.do(spawned{})
	r.answerTo(methodInitialize, answersAll)
	r.answerTo(methodNew, `{"sessionId":"a"}`)
	if strings.Contains(sent(r.all), methodPrompt) {
		t.Error("the cancelled prompt was sent")
	}
	if sent(r.do(send{"c-1", "t-2", prompt{text: "x"}})) != methodPrompt {
		t.Errorf("the next: %v", r.last)
	}
}

// contract.md 7.1: only turns in flight hear of a death, once; the next send
// finds the session again.
func TestEngine_Dies(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.session("c-2")
	r.do(query{token: "q", kind: queryHeld})
	r.ask("s-c-1", `1`)
	got := r.do(exited{child.Exit{Code: 3, Tail: "panic: out of\nmemory.\n"}})
	if text := failed(got); text != "The engine stopped: exit code 3, its last words: panic: out of memory. Send again to continue." {
		t.Errorf("error %q", text)
	}
	if e := pick[emit](got); len(e) != 1 {
		t.Errorf("heard by %v", e)
	}
	if d := pick[died](got); len(d) != 1 || d[0].incompatible || d[0].asked {
		t.Errorf("died %v", d)
	}
	if len(pick[released](got)) != 0 {
		t.Error("ownership was dropped")
	}
	if late := r.do(answer{"c-1", "1", contract.AllowOnce}); len(wrote(late)) != 0 {
		t.Errorf("answered a dead engine: %v", late)
	}
	for _, conv := range []contract.ConversationID{"c-1", "c-2"} {
		r.do(send{conv, "t-2", prompt{text: "again"}})
	}
	r.do(spawned{})
	if got := sent(r.answerTo(methodInitialize, answersAll)); got != "session/load session/load" {
		t.Fatalf("found again with %s", got)
	}
	r.answerTo(methodLoad, `{}`)
	if sent(r.last) != methodPrompt {
		t.Errorf("sent %s", sent(r.last))
	}
}

// A query that waits when the engine dies is answered.
func TestEngine_DiesBeforeAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x", Default: true})
	r.do(query{token: 1, kind: queryHeld})
	if len(pick[spawn](r.last)) != 1 {
		t.Fatalf("the list starts the engine: %v", r.last)
	}
	r.do(spawnFailed{errors.New("not found")})
	if p := pick[reply](r.last); len(p) != 1 || p[0].failure == nil || p[0].failure.Message != contract.TextEngineClosed {
		t.Errorf("replies %v", p)
	}
	r.start(answersAll)
	r.do(query{token: 2, kind: queryHeld})
	r.do(exited{})
	if p := pick[reply](r.last); len(p) != 1 || p[0].token != 2 || p[0].failure == nil {
		t.Errorf("replies %v", p)
	}
}

// F25: an engine that cannot start says why, to everybody who waits.
func TestEngine_CannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x", Env: map[string]string{"TOKEN": "very-secret-value"}})
	r.begin("c-1", "t-1")
	r.begin("c-2", "t-1")
	got := r.do(spawnFailed{errors.New("no such file, TOKEN=very-secret-value")})
	if text := failed(got); text != "Could not start the x ACP engine: no such file, TOKEN=[hidden]. Check the engine path in Settings > Providers." {
		t.Errorf("error %q", text)
	}
	if len(pick[emit](got)) != 0 || len(pick[refused](got)) != 2 || len(pick[died](got)) != 1 {
		t.Errorf("effects %v", got)
	}
	for _, x := range got {
		if strings.Contains(fmt.Sprintf("%+v", x), "very-secret") {
			t.Errorf("a secret in %+v", x)
		}
	}
	r.begin("c-3", "t-1")
	r.do(spawned{})
	if text := failed(r.do(exited{child.Exit{Code: 1, Tail: "bad very-secret-value"}})); text != "The engine stopped: exit code 1, its last words: bad [hidden]. Send again to continue." {
		t.Errorf("error %q", text)
	}
}

func TestEngine_OtherVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.begin("c-1", "t-1")
	r.do(spawned{})
	if k := pick[kill](r.answerTo(methodInitialize, `{"protocolVersion":2}`)); len(k) != 1 {
		t.Fatalf("kills %v", k)
	}
	got := r.do(exited{child.Exit{Signal: "SIGKILL"}})
	if d := pick[died](got); len(d) != 1 || !d[0].incompatible {
		t.Errorf("died %v", d)
	}
	if !strings.Contains(failed(got), "it speaks version 2 of ACP") {
		t.Errorf("error %q", failed(got))
	}
}

// F34: the time in which a machine slept counts against nobody; a first message
// is handled exactly once.
func TestEngine_SleepingMachine(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.begin("c-1", "t-1")
	r.now = r.now.Add(8 * time.Hour)
	if got := r.do(elapsed{}); len(got) != 0 {
		t.Fatalf("after the sleep: %v", got)
	}
	r.answerTo(methodNew, `{"sessionId":"a"}`)
	r.do(cancel{"c-1", "t-1"})
	r.now = r.now.Add(time.Hour)
	if got := r.do(elapsed{}); len(pick[kill](got)) != 0 {
		t.Fatalf("killed after a sleep: %v", got)
	}
	if got := kinds(r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`)); got != "done" {
		t.Errorf("end %q", got)
	}
	if n := strings.Count(sent(r.all), methodPrompt); n != 1 {
		t.Errorf("%d prompts", n)
	}
}

func TestEngine_Due(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	if !r.e.due().IsZero() {
		t.Error("nothing waits and something is due")
	}
	r.start(answersAll)
	r.running("c-1", "t-1")
	if due := r.e.due(); due.After(r.now.Add(tickMost)) || !due.After(r.now) {
		t.Errorf("due in %s", due.Sub(r.now))
	}
	r.answerTo(methodPrompt, `{}`)
	if due := r.e.due(); !due.IsZero() {
		t.Errorf("after the turn: due in %s", due.Sub(r.now))
	}
}

// acp.md 1: -32000 is "busy" on packetcode and "log in" everywhere else.
func TestEngine_BusyOrLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "packetcode", Default: true, AuthMethod: "key"})
	r.start(answersOwn)
	r.running("c-1", "t-1")
	if got := failed(r.refuseTo(methodPrompt, -32000, "session already has an active prompt")); !strings.Contains(got, "still busy") {
		t.Errorf("busy: %q", got)
	}
	r = newRig(t, Spec{Name: "x"})
	r.start(`{"authMethods":[{"id":"key"}]}`)
	r.begin("c-1", "t-1")
	if got := failed(r.refuseTo(methodNew, -32000, "Authentication required")); !strings.Contains(got, "asks for a login (Authentication required)") {
		t.Errorf("login: %q", got)
	}
}

func TestEngine_SignsIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x", AuthMethod: "key"})
	r.start(`{}`)
	r.begin("c-1", "t-1")
	r.begin("c-2", "t-1")
	if got := wrote(r.refuseTo(methodNew, -32000, "log in")); len(got) != 1 || !strings.Contains(got[0], `"method":"authenticate","params":{"methodId":"key"}`) {
		t.Fatalf("wrote %v", got)
	}
	if got := r.refuseTo(methodNew, -32000, "log in"); len(got) != 0 {
		t.Fatalf("the other waits for the same login: %v", got)
	}
	if got := sent(r.answerTo(methodAuthenticate, `{}`)); got != "session/new session/new" {
		t.Fatalf("after the login: %s", got)
	}
	r.answerTo(methodNew, `{"sessionId":"a"}`)
	if got := failed(r.refuseTo(methodNew, -32000, "log in")); got != "" {
		t.Errorf("c-2 fails although the login may have run out: %q", got)
	}
	// A login on the first prompt, refused: told once, not tried for ever.
	r = newRig(t, Spec{Name: "x", AuthMethod: "key"})
	r.start(`{}`)
	r.running("c-1", "t-1")
	if got := sent(r.refuseTo(methodPrompt, -32000, "log in")); got != methodAuthenticate {
		t.Fatalf("sent %s", got)
	}
	if got := sent(r.refuseTo(methodAuthenticate, -32603, "no")); got != methodPrompt {
		t.Fatalf("repeated: %s", got)
	}
	if got := r.refuseTo(methodPrompt, -32000, "log in"); !strings.Contains(failed(got), "asks for a login") || sent(got) != "" {
		t.Errorf("told: %v", got)
	}
	r.do(send{"c-1", "t-2", prompt{text: "x"}})
	if got := sent(r.refuseTo(methodPrompt, -32000, "log in")); got != methodAuthenticate {
		t.Errorf("the next turn tries again: %s", got)
	}
}

// An engine that has forgotten a session is asked to find it: at once when
// nobody has heard of the turn, with the next prompt otherwise.
func TestEngine_SessionForgotten(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{`{"code":-32602,"message":"unknown sessionId"}`, `{"code":-32603,"message":"Internal error","data":{"details":"Session not found"}}`, `{"code":-32002,"message":"Resource"}`} {
		r := newRig(t, Spec{Name: "x"})
		r.start(answersAll)
		r.running("c-1", "t-1")
		if got := r.answerLine(methodPrompt, `"error":`+refusal); sent(got) != methodLoad || kinds(got) != "" {
			t.Fatalf("after %s: %v", refusal, got)
		}
		if got := r.answerTo(methodLoad, `{}`); sent(got) != methodPrompt || len(pick[opened](got)) != 0 {
			t.Fatalf("found again: %v", got)
		}
		if got := r.answerLine(methodPrompt, `"error":`+refusal); kinds(got) != "error" || sent(got) != "" {
			t.Errorf("a second time: %v", got)
		}
		r.do(send{"c-1", "t-2", prompt{text: "x"}})
		r.answerTo(methodLoad, `{}`)
		r.update("s-c-1", `{"sessionUpdate":"agent_message_chunk","content":{"text":"a"}}`)
		if got := r.answerLine(methodPrompt, `"error":`+refusal); kinds(got) != "error" {
			t.Errorf("in the middle of a turn: %v", got)
		}
		if got := sent(r.do(send{"c-1", "t-3", prompt{text: "x"}})); got != methodLoad {
			t.Errorf("the next: %s", got)
		}
	}
}

// acp.md 8: the session that was used longest ago makes room, engaged ones stay.
func TestEngine_Eviction(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.e.most = 3
	r.start(answersAll)
	r.running("c-1", "t-1") // Oldest, and engaged.
	r.session("c-2")
	r.session("c-3")
	r.begin("c-4", "")
	if got := wrote(r.last); len(got) != 2 || !strings.Contains(got[0], `"session/close","params":{"sessionId":"s-c-2"}`) || !strings.Contains(got[1], methodNew) {
		t.Fatalf("wrote %v", got)
	}
	if len(pick[released](r.last)) != 0 {
		t.Error("an evicted conversation lost its owner")
	}
	r.answerTo(methodNew, `{"sessionId":"s-c-4"}`)
	if got := sent(r.do(send{"c-2", "t-1", prompt{text: "x"}})); got != "session/close session/load" {
		t.Errorf("found again with %s", got)
	}
	// One that could not be found again is kept.
	bare := newRig(t, Spec{Name: "x"})
	bare.e.most = 1
	bare.start(`{"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`)
	bare.session("c-1")
	bare.begin("c-2", "")
	if got := sent(bare.last); got != methodNew {
		t.Errorf("sent %s", got)
	}
}

func TestEngine_Leave(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	r.ask("s-c-1", `1`)
	got := r.do(leave{"c-1"})
	if sent(got) != "session/cancel session/close" || len(wrote(got)) != 3 || len(pick[released](got)) != 1 {
		t.Errorf("left: %v", got)
	}
	if got := r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`); len(got) != 0 {
		t.Errorf("afterwards: %v", got)
	}
	if got := r.refuseTo(methodClose, contract.CodeNoMethod, "x"); len(pick[note](got)) != len(got) {
		t.Errorf("a refused close: %v", got)
	}
	if got := r.do(leave{"c-1"}); len(got) != 0 {
		t.Errorf("twice: %v", got)
	}
	// Not offered: nothing is sent.
	bare := newRig(t, Spec{Name: "x"})
	bare.start(`{"agentCapabilities":{"sessionCapabilities":{"close":true}}}`)
	bare.session("c-1")
	if got := bare.do(leave{"c-1"}); sent(got) != "" || len(pick[released](got)) != 1 {
		t.Errorf("left: %v", got)
	}
}

// acp.md 12.7 and 5.1: packetcode gets its mode with session/new, the chip shows
// what it will do, and a change waits for the next session.
func TestEngine_Posture(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "packetcode", Default: true})
	r.start(answersOwn)
	r.do(begin{conv: "c-1", cwd: "/p", model: "m", posture: contract.Posture{PermissionMode: contract.ModeAuto}})
	if w := wrote(r.last); len(w) != 1 || !strings.HasSuffix(w[0], `"params":{"cwd":"/p","mcpServers":[],"_packetcode":{"model":"m"}}}`) {
		t.Fatalf("wrote %v", w)
	}
	got := r.answerTo(methodNew, `{"sessionId":"a"}`)
	if s := pick[shown](got); len(s) != 1 || s[0].mode != "ask" || s[0].label != "Manual" || s[0].honoured {
		t.Errorf("shown %v", s)
	}
	if n := pick[notice](got); len(n) != 1 || !strings.Contains(n[0].text, "does not offer Default; it works in its mode Manual") {
		t.Errorf("notices %v", n)
	}
	got = r.do(setPosture{"c-1", contract.Posture{PlanMode: true}})
	if n := pick[notice](got); len(n) != 1 || !strings.Contains(n[0].text, "takes Plan up with its next session") {
		t.Errorf("notices %v", n)
	}
	if got := r.do(setPosture{"c-1", contract.Posture{PlanMode: true}}); len(got) != 0 {
		t.Errorf("the same posture: %v", got)
	}
	got = r.do(setPosture{"c-1", contract.Posture{PermissionMode: contract.ModeAskForRisky}})
	if s := pick[shown](got); len(s) != 1 || !s[0].honoured || len(pick[notice](got)) != 0 {
		t.Errorf("honoured: %v", got)
	}
	r.do(begin{conv: "c-2", cwd: "/p", posture: contract.Posture{PlanMode: true, PermissionMode: contract.ModeAllowAll}})
	if w := wrote(r.last); !strings.Contains(w[0], `"_packetcode":{"permissionMode":"read-only"}`) {
		t.Errorf("wrote %v", w)
	}
	// Blank and unoffered: the whole object is left out.
	r.do(begin{conv: "c-3", cwd: "/p", posture: contract.Posture{PermissionMode: contract.ModeAllowAll}})
	if w := wrote(r.last); strings.Contains(w[0], "_packetcode") {
		t.Errorf("wrote %v", w)
	}
}

// acp.md 5.1 and 6.3: engines with options or the older shapes are asked for
// mode and model before the prompt; what they refuse is asked once.
func TestEngine_Settings(t *testing.T) {
	t.Parallel()
	option := func(mode, model string) string {
		return `[{"id":"m","category":"mode","currentValue":"` + mode + `","options":[{"value":"default","name":"Default"},{"value":"plan","name":"Plan"}]},{"id":"o","category":"model","currentValue":"` + model + `","options":[{"value":"small","name":"Small"},{"name":"Group","options":[{"value":"large","name":"Large"}]}]}]`
	}
	begun := func(answer string) *rig {
		r := newRig(t, Spec{Name: "x"})
		r.start(`{"agentInfo":{"name":"claude-agent-acp"}}`)
		r.do(begin{conv: "c-1", turn: "t-1", cwd: "/p", model: "large", posture: contract.Posture{PlanMode: true}})
		r.answerTo(methodNew, answer)
		return r
	}
	r := begun(`{"sessionId":"a","configOptions":` + option("default", "small") + `}`)
	if w := wrote(r.last); len(w) != 1 || !strings.Contains(w[0], `"method":"session/set_config_option","params":{"configId":"o","sessionId":"a","value":"large"}`) {
		t.Fatalf("wrote %v", w)
	}
	r.answerTo(methodSetOption, `{"configOptions":`+option("default", "large")+`}`)
	if w := wrote(r.last); len(w) != 1 || !strings.Contains(w[0], `{"configId":"m","sessionId":"a","value":"plan"}`) {
		t.Fatalf("wrote %v", w)
	}
	got := r.answerTo(methodSetOption, `{}`) // It may say nothing.
	if sent(got) != methodPrompt || len(pick[notice](got)) != 0 {
		t.Fatalf("effects %v", got)
	}
	if s := pick[shown](got); len(s) != 1 || !s[0].honoured || s[0].label != "Plan" {
		t.Errorf("shown %v", s)
	}
	// The engine leaves the mode by itself: shown, and set again next time.
	if s := pick[shown](r.update("a", `{"sessionUpdate":"current_mode_update","currentModeId":"default"}`)); len(s) != 1 || s[0].honoured {
		t.Errorf("shown %v", s)
	}
	r.answerTo(methodPrompt, `{}`)
	if got := sent(r.do(send{"c-1", "t-2", prompt{text: "x"}})); got != methodSetOption {
		t.Errorf("sent %s", got)
	}

	// Options without their method: the older one is used.
	r = begun(`{"sessionId":"a","configOptions":` + option("plan", "small") + `,"models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"large"}]}}`)
	if got := sent(r.refuseTo(methodSetOption, contract.CodeNoMethod, "x")); got != methodSetModel {
		t.Fatalf("sent %s", got)
	}
	got = r.refuseTo(methodSetModel, contract.CodeNoMethod, "not here")
	if n := pick[notice](got); len(n) != 1 || !strings.Contains(n[0].text, "did not change its model to large: not here") || sent(got) != methodPrompt {
		t.Errorf("effects %v", got)
	}
	r.answerTo(methodPrompt, `{}`)
	if got := sent(r.do(send{"c-1", "t-2", prompt{text: "x"}})); got != methodPrompt {
		t.Errorf("asked again: %s", got)
	}

	// An engine that answers with another value is not asked for ever.
	r = begun(`{"sessionId":"a","configOptions":` + option("plan", "small") + `}`)
	if got := sent(r.answerTo(methodSetOption, `{"configOptions":`+option("plan", "small")+`}`)); got != methodPrompt {
		t.Errorf("sent %s", got)
	}
}

func TestEngine_Images(t *testing.T) {
	t.Parallel()
	image := prompt{text: "look", images: []contract.Attachment{{MediaType: "image/png", DataBase64: "AAAA"}}}
	r := newRig(t, Spec{Name: "x"})
	r.start(`{"agentCapabilities":{"promptCapabilities":{"image":true}}}`)
	r.session("c-1")
	if w := wrote(r.do(send{"c-1", "t-1", image})); len(w) != 1 || !strings.Contains(w[0], `"prompt":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"AAAA"}]`) {
		t.Errorf("wrote %v", w)
	}
	r = newRig(t, Spec{Name: "x"})
	r.start(`{}`)
	r.session("c-1")
	if got := r.do(send{"c-1", "t-1", image}); failed(got) != "This engine takes no images. Send the text alone." || len(wrote(got)) != 0 {
		t.Errorf("effects %v", got)
	}
}

// acp.md 6.2: totals become what one turn used, by whatever way they are told.
func TestEngine_Usage(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "packetcode", Default: true})
	r.start(answersOwn)
	r.running("c-1", "t-1")
	total := func(in, out int) string {
		return fmt.Sprintf(`{"contextTokens":9,"totalInput":%d,"totalOutput":%d,"costUsd":0.5}`, in, out)
	}
	if u := pick[used](r.answerTo(methodPrompt, `{"stopReason":"end_turn","_packetcode":{"usage":`+total(100, 7)+`}}`)); len(u) != 1 || u[0].usage.Input != 100 || u[0].turn != "t-1" {
		t.Errorf("used %v", u)
	}
	r.do(send{"c-1", "t-2", prompt{text: "x"}})
	got := r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`)
	if len(pick[used](got)) != 0 || sent(got) != methodUsage {
		t.Fatalf("a cancelled turn: %v", got)
	}
	if u := pick[used](r.answerTo(methodUsage, total(150, 9))); len(u) != 1 || u[0].usage != (turnUsage{Input: 50, Output: 2}) || u[0].turn != "t-2" {
		t.Errorf("used %v", u)
	}
	r.do(query{token: 1, kind: queryUsage, conv: "c-1"})
	if p := pick[reply](r.answerTo(methodUsage, total(150, 9))); len(p) != 1 || *p[0].value.(*Usage) != (Usage{ContextTokens: 9, TotalInput: 150, TotalOutput: 9, CostUSD: 0.5}) {
		t.Errorf("reply %v", p)
	}
	// By the engine's own id, and when it does not know the method.
	r.do(query{token: 2, kind: queryUsage, session: "raw"})
	if w := wrote(r.last); len(w) != 1 || !strings.Contains(w[0], `"sessionId":"raw"`) {
		t.Errorf("wrote %v", w)
	}
	if p := pick[reply](r.refuseTo(methodUsage, contract.CodeNoMethod, "x")); len(p) != 1 || p[0].failure != nil || p[0].value.(*Usage) != nil {
		t.Errorf("reply %v", p)
	}
	// A session that was found again: nothing of before is billed.
	r.do(exited{})
	r.do(send{"c-1", "t-3", prompt{text: "x"}})
	r.do(spawned{})
	r.answerTo(methodInitialize, answersOwn)
	r.e.sessions["c-1"].usage = nil
	r.answerTo(methodLoad, `{}`)
	r.answerTo(methodUsage, total(1000, 90))
	if u := pick[used](r.last); len(u) != 0 {
		t.Errorf("used %v", u)
	}
	if u := pick[used](r.answerTo(methodPrompt, `{"_packetcode":{"usage":`+total(1010, 91)+`}}`)); len(u) != 1 || u[0].usage.Input != 10 {
		t.Errorf("used %v", u)
	}

	// Engines that report turns: added up for the query, zero is no line.
	r = newRig(t, Spec{Name: "x"})
	r.start(`{}`)
	r.running("c-1", "t-1")
	r.update("s-c-1", `{"sessionUpdate":"usage_update","used":55,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}`)
	r.answerTo(methodPrompt, `{"usage":{"inputTokens":10,"outputTokens":2,"cachedReadTokens":3}}`)
	r.do(send{"c-1", "t-2", prompt{text: "x"}})
	r.update("s-c-1", `{"sessionUpdate":"agent_message_chunk","content":{"text":""},"_meta":{"usage":{"inputTokens":5,"outputTokens":1}}}`)
	if u := pick[used](r.answerTo(methodPrompt, `{}`)); len(u) != 1 || u[0].usage.Input != 5 {
		t.Errorf("used %v", u)
	}
	r.do(send{"c-1", "t-3", prompt{text: "x"}})
	if u := pick[used](r.answerTo(methodPrompt, `{"usage":{"inputTokens":0,"outputTokens":0}}`)); len(u) != 0 {
		t.Errorf("used %v", u)
	}
	want := Usage{ContextTokens: 55, TotalInput: 15, TotalOutput: 3, CostUSD: 0.25, CacheRead: 3}
	if p := pick[reply](r.do(query{token: 1, kind: queryUsage, conv: "c-1"})); len(p) != 1 || *p[0].value.(*Usage) != want {
		t.Errorf("reply %+v", p[0].value)
	}
}

func TestEngine_Queries(t *testing.T) {
	t.Parallel()
	ask := func(r *rig, q query) any {
		t.Helper()
		q.token = "q"
		p := pick[reply](r.do(q))
		if len(p) != 1 || p[0].failure != nil {
			t.Fatalf("query %d: %v", q.kind, r.last)
		}
		return p[0].value
	}
	// Nothing runs and nothing is started.
	r := newRig(t, Spec{Name: "packetcode", Default: true})
	for _, kind := range []queryKind{queryUsage, queryModels, queryRename, queryServers, queryCommands, queryFiles} {
		ask(r, query{kind: kind})
	}
	if len(pick[spawn](r.all)) != 0 {
		t.Error("a query started the engine")
	}
	// Not said to be offered: tried on the default engine, -32601 means none.
	r.start(`{}`)
	r.do(query{token: 1, kind: queryModels})
	if p := pick[reply](r.refuseTo(methodModels, contract.CodeNoMethod, "x")); len(p) != 1 || len(p[0].value.([]contract.Model)) != 0 || p[0].failure != nil {
		t.Errorf("models %v", p)
	}
	r.do(query{token: 2, kind: queryHeld})
	if d := pick[readDisk](r.refuseTo(methodHeld, contract.CodeNoMethod, "x")); len(d) != 1 || d[0].token != 2 {
		t.Errorf("held %v", r.last)
	}
	r.do(query{token: 3, kind: queryRename, session: "s", arg: "new name"})
	if p := pick[reply](r.refuseTo(methodRename, contract.CodeNoMethod, "x")); len(p) != 1 || p[0].failure != nil {
		t.Errorf("rename %v", p)
	}
	r.do(query{token: 4, kind: queryFiles, cwd: "/p", arg: "hel", limit: 900})
	if w := wrote(r.last); len(w) != 1 || !strings.Contains(w[0], `{"cwd":"/p","query":"hel","limit":200}`) {
		t.Errorf("files %v", w)
	}
	if p := pick[reply](r.answerTo(methodFiles, `{"files":["hello.txt",null]}`)); len(p) != 1 || len(p[0].value.([]string)) != 1 {
		t.Errorf("files %v", p)
	}
	r.do(query{token: 5, kind: queryServers})
	if p := pick[reply](r.answerTo(methodServers, `{"servers":[{"name":"x"}]}`)); len(p) != 1 || string(p[0].value.(json.RawMessage)) != `[{"name":"x"}]` {
		t.Errorf("servers %v", p)
	}
	r.do(query{token: 6, kind: queryCommands, cwd: "/p"})
	if p := pick[reply](r.answerTo(methodCommands, `{"commands":[{"name":"a","description":"d","argumentHint":"h"}]}`)); len(p) != 1 || p[0].value.([]Command)[0] != (Command{Name: "a", Description: "d", ArgumentHint: "h"}) {
		t.Errorf("commands %v", p)
	}
	// A real failure is one, and silence too.
	r.do(query{token: 7, kind: queryModels})
	if p := pick[reply](r.refuseTo(methodModels, -32603, "broken")); len(p) != 1 || p[0].failure == nil || p[0].failure.Message != "broken" {
		t.Errorf("models %v", p)
	}
	r.do(query{token: 8, kind: queryModels})
	r.wait(waitRequest)
	if p := pick[reply](r.last); len(p) != 1 || p[0].failure == nil {
		t.Errorf("silence %v", p)
	}
	// Advertised as missing is final.
	r = newRig(t, Spec{Name: "packetcode", Default: true})
	r.start(`{"agentCapabilities":{"_packetcode":{"sessionsList":false,"modelsList":false}}}`)
	if d := pick[readDisk](r.do(query{token: 1, kind: queryHeld})); len(d) != 1 {
		t.Errorf("held %v", r.last)
	}
	// Other engines: their list in pages, their commands and models as told.
	r = newRig(t, Spec{Name: "x"})
	r.start(`{"agentCapabilities":{"sessionCapabilities":{"list":{}}}}`)
	r.do(query{token: 1, kind: queryHeld})
	if got := r.answerTo(methodList, `{"sessions":[{"sessionId":"1","title":"One","cwd":"/p"}],"nextCursor":"n"}`); sent(got) != methodList || !strings.Contains(wrote(got)[0], `{"cursor":"n"}`) {
		t.Fatalf("page two: %v", got)
	}
	if p := pick[reply](r.answerTo(methodList, `{"sessions":[{"sessionId":"2"}]}`)); len(p) != 1 || len(p[0].value.([]Held)) != 2 || p[0].value.([]Held)[0].Name != "One" {
		t.Errorf("held %v", p)
	}
	r.begin("c-1", "")
	r.answerTo(methodNew, `{"sessionId":"a","models":{"currentModelId":"b","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b","name":"B"}]}}`)
	r.update("a", `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"init","description":"d","input":{"hint":"what"}}]}`)
	if got := ask(r, query{kind: queryCommands, conv: "c-1"}).([]Command); len(got) != 1 || got[0].ArgumentHint != "what" {
		t.Errorf("commands %v", got)
	}
	if got := ask(r, query{kind: queryModels}).([]contract.Model); len(got) != 2 || got[0].Value != "b" || got[1].Label != "A" {
		t.Errorf("models %v", got)
	}
	if strings.Contains(sent(r.all), "_packetcode") {
		t.Error("an extension was tried on another engine")
	}
}

// acp.md 12.8 and 9: the frozen posture goes with new and load alike; a consent
// to what the engine does not have means none.
func TestEngine_Servers(t *testing.T) {
	t.Parallel()
	inherit := mcpPosture{kind: postureInherit}
	r := newRig(t, Spec{Name: "packetcode", Default: true})
	r.start(answersOwn)
	r.do(begin{conv: "c-1", cwd: "/p", mcp: inherit, posture: contract.Posture{PermissionMode: contract.ModeAuto}})
	if w := wrote(r.last); !strings.HasSuffix(w[0], `"params":{"cwd":"/p"}}`) {
		t.Errorf("wrote %v", w)
	}
	r.answerTo(methodNew, `{"sessionId":"a"}`)
	r.do(exited{})
	r.do(begin{conv: "c-1", turn: "t-1", cwd: "/p", mcp: mcpPosture{}}) // Frozen: the new one does not count.
	r.do(spawned{})
	r.answerTo(methodInitialize, answersOwn)
	if w := wrote(r.last); !strings.HasSuffix(w[0], `"method":"session/load","params":{"sessionId":"a","cwd":"/p"}}`) {
		t.Errorf("wrote %v", w)
	}
	r = newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.do(begin{conv: "c-1", cwd: "/p", mcp: inherit})
	if w := wrote(r.last); !strings.HasSuffix(w[0], `"params":{"cwd":"/p","mcpServers":[]}}`) {
		t.Errorf("wrote %v", w)
	}
}

func TestEngine_Halt(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	if s := pick[stop](r.do(halt{StopGrace})); len(s) != 1 || s[0].grace != StopGrace {
		t.Fatalf("effects %v", r.last)
	}
	if got := kinds(r.answerTo(methodPrompt, `{"stopReason":"cancelled"}`)); got != "done" {
		t.Errorf("end %q", got)
	}
	if d := pick[died](r.do(exited{})); len(d) != 1 || !d[0].asked {
		t.Errorf("died %v", d)
	}
	if d := pick[died](newRig(t, Spec{}).do(halt{})); len(d) != 1 || !d[0].asked {
		t.Errorf("never started: %v", d)
	}
}

// A line that met a dead engine does not hide why it died.
func TestEngine_SentToTheDead(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	if got := r.do(unread{child.ErrGone}); len(got) != 0 {
		t.Fatalf("effects %v", got)
	}
	if got := failed(r.do(exited{child.Exit{Code: 4}})); got != "The engine stopped: exit code 4. Send again to continue." {
		t.Errorf("error %q", got)
	}
}

// An engine that stops reading is ended, once.
func TestEngine_Unread(t *testing.T) {
	t.Parallel()
	r := newRig(t, Spec{Name: "x"})
	r.start(answersAll)
	r.running("c-1", "t-1")
	if k := pick[kill](r.do(unread{child.ErrNotReading})); len(k) != 1 {
		t.Fatalf("kills %v", k)
	}
	if again := r.do(unread{child.ErrNotReading}); len(again) != 0 {
		t.Errorf("again: %v", again)
	}
	if got := failed(r.do(exited{child.Exit{Signal: "SIGKILL"}})); got != "The engine stopped: it does not read what it is sent. Send again to continue." {
		t.Errorf("error %q", got)
	}
}
