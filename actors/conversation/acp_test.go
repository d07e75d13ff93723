package conversation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// newEngineWorld is a world whose engines_sup hands out a host of the default
// engine.
func newEngineWorld(t *testing.T, change func(*Options)) *hostWorld {
	t.Helper()
	w := newHostWorld(t, change)
	w.name = msg.EngineName("packetcode")
	return w
}

func engineStart(t *testing.T, change func(*contract.StartParams)) contract.StartParams {
	p := contract.StartParams{
		SessionID: "c-1", Provider: contract.ProviderPacketcode, ProjectPath: t.TempDir(), InitialMessage: "hello", PermissionMode: contract.ModeAuto,
	}
	if change != nil {
		change(&p)
	}
	return p
}

// openEngine launches a conversation on the engine; its session is e-1.
func (w *hostWorld) openEngine(change func(*contract.StartParams)) (*fakeHost, msg.HostOpen) {
	w.t.Helper()
	w.wake("c-1")
	started := w.start2(engineStart(w.t, change))
	h := <-w.hosts
	open := heard[msg.HostOpen](h)
	h.say(msg.HostResume{Handle: "e-1"}, msg.HostOpened{Turn: open.Turn})
	if r := <-started; r.Failure != nil {
		w.t.Fatal(r.Failure.Message)
	}
	return h, open
}

func (w *hostWorld) snapshot() contract.Conversation {
	w.t.Helper()
	return w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot).Conversation
}

// notices are the texts of the notices so far.
func (w *hostWorld) notices() []string {
	var out []string
	for _, e := range w.find("conversation.notice") {
		var n contract.Notice
		_ = json.Unmarshal([]byte(e.data), &n)
		out = append(out, n.Text)
	}
	return out
}

// A conversation on an engine: no model of ours, the engine's word for the
// posture, a ledger line from what a turn used, and the handle in the file.
func TestEngine_Turns(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, func(o *Options) {
		o.Narrow = func(p contract.ProviderID, c contract.Capabilities) contract.Capabilities {
			if p != contract.ProviderPacketcode || c.CanGateWrites {
				t.Errorf("narrowed %s %+v", p, c)
			}
			c.PermissionModes = []contract.PermissionMode{contract.ModeAskForRisky}
			return c
		}
	})
	h, open := w.openEngine(nil)
	if s := open.Session; s.Model != "" || s.Resume != "" || s.Adopt || s.Key != "" || s.Servers != nil || s.Trust != nil || open.Text != "hello" {
		t.Errorf("opened with %+v", open)
	}
	mode := contract.EngineMode{Mode: "ask", Label: "Manual"}
	h.say(msg.HostMode{Mode: mode}, msg.HostMode{Mode: mode}, msg.HostSaid{Level: contract.LevelWarning, Text: "This engine does not offer Default.", Once: true})
	h.say(msg.HostSaid{Level: contract.LevelWarning, Text: "This engine does not offer Default.", Once: true})
	h.events("t-1", contract.Chunk("Hi"))
	h.end("t-1", contract.Done{})
	cost := 0.25
	h.say(msg.HostUsed{Turn: "t-1", Model: "m-1", Input: 100, Output: 7, CostUSD: &cost})
	w.until("a ledger line", func() bool { return len(w.ledger) == 1 })
	w.with(func() {
		var row map[string]any
		if err := json.Unmarshal(w.ledger[0].Line, &row); err != nil || row["source"] != "api-packetcode" || row["model"] != "m-1" || row["input_tokens"] != 100.0 || row["cost_usd"] != cost {
			t.Errorf("ledger line %s", w.ledger[0].Line)
		}
		if got := w.notices(); !slices.Equal(got, []string{"This engine does not offer Default."}) {
			t.Errorf("notices %q", got)
		}
		for _, e := range w.find("turn-summary") {
			t.Errorf("a summary was published: %s", e.data)
		}
		n := 0
		for _, e := range w.find("conversation.updated") {
			if strings.Contains(e.data, `"engine_mode":{"mode":"ask","label":"Manual","honoured":false}`) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the engine's mode was told %d times", n)
		}
	})
	if v := w.snapshot(); v.EngineMode == nil || *v.EngineMode != mode || len(v.Capabilities.PermissionModes) != 1 || v.Model != "" {
		t.Errorf("snapshot %+v %+v", v.EngineMode, v.Capabilities)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "and?"})
	if send := heard[msg.HostSend](h); send.Text != "and?" || send.Turn != "t-2" {
		t.Errorf("sent %+v", send)
	}
	h.say(msg.HostOpened{Turn: "t-2"})
	h.end("t-2", contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	w.must(contract.MethodRename, contract.RenameParams{SessionID: "c-1", Title: "Another"})
	if r := heard[msg.HostRename](h); r.Title != "Another" {
		t.Errorf("renamed %+v", r)
	}
	w.must(contract.MethodClose, contract.SessionParams{SessionID: "c-1"})
	heard[msg.HostClose](h)
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	if again := heard[msg.HostOpen](h); again.Session.Resume != "e-1" || again.Session.Adopt {
		t.Errorf("opened again with %+v", again.Session)
	}
}

// Requests of an engine go through the gate by kind and files; its ids come
// again with its next process.
func TestEngine_Prompts(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	h, open := w.openEngine(nil)
	file := filepath.Join(open.Session.Project, "a.txt")
	h.events("t-1", contract.ToolStart{ID: "call-1", Name: "make it"})
	h.say(
		msg.Ask{Turn: "t-1", ID: "r", Name: "anything", Arguments: `{}`, Kind: "read", Paths: []string{"/etc/hosts"}},
		msg.Ask{Turn: "t-1", ID: "e", Name: "Write a.txt", Arguments: `{}`, Kind: "edit", Paths: []string{file}},
		msg.Ask{Turn: "t-1", ID: "0", Name: "make it", Arguments: `{"command":"make -j2"}`, Kind: "execute", Call: "call-1"},
		msg.Ask{Turn: "t-1", ID: "1", Name: "Read", Arguments: `{"command":"rm -rf /"}`, Kind: "execute"},
		msg.Ask{Turn: "t-1", ID: "2", Name: "Write b", Arguments: `{}`, Kind: "edit", Paths: []string{file, "/etc/passwd"}},
	)
	for _, id := range []string{"r", "e"} {
		if a := heard[msg.HostPermission](h); a.ID != id || !a.Allowed || a.By != contract.ByPolicy {
			t.Fatalf("answer %+v", a)
		}
	}
	w.waitFor("permission-request", 3)
	perms := w.snapshot().PendingPermissions
	if len(perms) != 3 || perms[0].Tier != contract.TierBlocking || perms[0].AllowPattern == nil || *perms[0].AllowPattern != "Bash(make -j2:*)" ||
		perms[1].Tier != contract.TierBlocking || !perms[1].Destructive || perms[2].Tier != contract.TierBlocking {
		t.Errorf("parked %+v", perms)
	}
	w.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "0", Decision: contract.Deny})
	if a := heard[msg.HostPermission](h); a.ID != "0" || a.Decision != contract.Deny {
		t.Errorf("answer %+v", a)
	}
	// A result of a call says nothing about a request; the engine withdraws it.
	h.events("t-1", contract.ToolResult{ID: "1", Name: "x", Content: "1"})
	h.say(msg.HostWithdrawn{ID: "1"}, msg.HostWithdrawn{ID: "nobody's"})
	if e := w.waitFor("conversation.prompt-resolved", 2); !strings.Contains(e.data, `"id":"1","decision":"deny","by":"cancel"`) {
		t.Errorf("resolved %s", e.data)
	}
	w.must(contract.MethodCancelPending, contract.SessionParams{SessionID: "c-1"})
	heard[msg.HostCancelPending](h)
	h.end("t-1", contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	h.crash()
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	next := <-w.hosts
	heard[msg.HostOpen](next)
	next.say(msg.HostOpened{Turn: "t-2"}, msg.Ask{Turn: "t-2", ID: "0", Name: "make", Arguments: `{"command":"make"}`, Kind: "execute"})
	w.waitFor("permission-request", 4)
	w.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "0", Decision: contract.AllowAlways})
	if a := heard[msg.HostPermission](next); a.ID != "0" || a.Decision != contract.AllowAlways {
		t.Errorf("answer %+v", a)
	}
	if r := w.call(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "0", Decision: contract.Deny}); r.Failure == nil || r.Failure.Code != contract.CodeAnswered {
		t.Errorf("a second answer: %+v", r)
	}
	// That tool is allowed now, and no other that bears its name.
	next.say(msg.Ask{Turn: "t-2", ID: "1", Name: "make", Arguments: `{"command":"make x"}`, Kind: "execute"})
	if a := heard[msg.HostPermission](next); a.ID != "1" || a.By != contract.ByPolicy {
		t.Errorf("answer %+v", a)
	}
	next.say(msg.Ask{Turn: "t-2", ID: "2", Name: "make", Arguments: `{}`, Kind: "fetch"})
	w.waitFor("permission-request", 5)
}

// What an engine does not have is refused with the reason.
func TestEngine_StartRefused(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	w.wake("c-1")
	if r := w.call(contract.MethodStart, engineStart(t, func(p *contract.StartParams) { p.ApproveWrites = true })); r.Failure == nil || r.Failure.Code != contract.CodeConflict || r.Failure.Message != textNoGate {
		t.Errorf("started with approve-writes: %+v", r)
	}
	if r := w.call(contract.MethodStart, contract.StartParams{SessionID: "c-1", Provider: "demo", Model: "demo", ProjectPath: t.TempDir(), EngineSessionID: "e"}); r.Failure == nil || !strings.HasPrefix(r.Failure.Message, "engine_session_id: ") {
		t.Errorf("adopted by a row of ours: %+v", r)
	}
}

func TestEngine_Settings(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	h, _ := w.openEngine(nil)
	if r := w.call(contract.MethodSetApproveWrites, contract.SetEnabledParams{SessionID: "c-1", Enabled: true}); r.Failure == nil || r.Failure.Code != contract.CodeConflict || r.Failure.Message != textNoGate {
		t.Errorf("approve-writes: %+v", r)
	}
	w.must(contract.MethodSetApproveWrites, contract.SetEnabledParams{SessionID: "c-1", Enabled: false})
	model := w.later(contract.MethodChangeModel, contract.ChangeModelParams{SessionID: "c-1", NewModel: "large"})
	set := heard[msg.HostSet](h)
	h.say(msg.HostReply{Ref: set.Ref})
	if r := <-model; r.Failure != nil || set.Model == nil || *set.Model != "large" {
		t.Errorf("set %+v: %+v", set, r.Failure)
	}
	model = w.later(contract.MethodChangeModel, contract.ChangeModelParams{SessionID: "c-1", NewModel: " "})
	set = heard[msg.HostSet](h)
	h.say(msg.HostReply{Ref: set.Ref})
	if r := <-model; r.Failure != nil || set.Model == nil || *set.Model != "" {
		t.Errorf("set %+v: %+v", set, r.Failure)
	}
	plan := w.later(contract.MethodSetPlanMode, contract.SetEnabledParams{SessionID: "c-1", Enabled: true})
	set = heard[msg.HostSet](h)
	h.say(msg.HostReply{Ref: set.Ref})
	if r := <-plan; r.Failure != nil || set.Mode == nil || !set.Mode.PlanMode {
		t.Errorf("set %+v: %+v", set, r.Failure)
	}
}

// contract.md 7.1: an idle conversation hears nothing of an engine's death; a
// turn that the engine has heard of ends, one that it has not goes to the next.
func TestEngine_OwnerGone(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	h, _ := w.openEngine(nil)
	h.crash()
	if e := w.waitFor("error", 1); e.data != `{"message":"The engine stopped: killed. Send again to continue."}` || e.turn != "t-1" {
		t.Errorf("error %+v", e)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	h = <-w.hosts
	if open := heard[msg.HostOpen](h); open.Session.Resume != "e-1" || open.Turn != "t-2" {
		t.Errorf("opened with %+v", open)
	}
	h.say(msg.HostOpened{Turn: "t-2"})
	h.end("t-2", contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	var names []string
	w.with(func() { names = w.names() })
	h.crash()
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "more"})
	h = <-w.hosts
	if open := heard[msg.HostOpen](h); open.Turn != "t-3" {
		t.Errorf("opened with %+v", open)
	}
	w.with(func() {
		if got := w.names()[len(names):]; slices.Contains(got, "error") || slices.Contains(got, "conversation.notice") {
			t.Errorf("the death of an idle engine published %v", got)
		}
	})
	// It dies before it has heard of the turn.
	h.crash()
	h = <-w.hosts
	if open := heard[msg.HostOpen](h); open.Turn != "t-3" || open.Text != "more" {
		t.Errorf("opened with %+v", open)
	}
	h.crash()
	if e := w.waitFor("error", 2); e.turn != "t-3" || !strings.HasPrefix(e.data, `{"message":"The engine stopped: `) {
		t.Errorf("error %+v", e)
	}
	if v := w.snapshot(); v.Status != contract.StatusFailed {
		t.Errorf("status %s", v.Status)
	}
}

// An engine that is down, or that cannot be started, refuses the start with its
// reason, as an event and as the answer.
func TestEngine_Refused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state *contract.Failure
		say   string
		want  string
	}{
		"down":        {state: msg.RefuseState("acp:packetcode", msg.StateDown, "it burned"), want: "stays down. The last reason was: it burned."},
		"cannot run":  {say: "Could not start the packetcode ACP engine: no such file. Check the engine path in Settings > Providers.", want: "no such file"},
		"host is out": {want: "The engine stopped: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEngineWorld(t, nil)
			w.refuse = tc.state
			w.wake("c-1")
			started := w.start2(engineStart(t, nil))
			switch {
			case tc.say != "":
				h := <-w.hosts
				h.say(msg.HostRefused{Turn: heard[msg.HostOpen](h).Turn, Text: tc.say})
			case tc.state == nil:
				for range 2 { // It is tried once more.
					h := <-w.hosts
					heard[msg.HostOpen](h)
					w.with(func() { w.last = nil })
					h.do(func(*fakeHost) error { return gen.TerminateReasonKill })
				}
			}
			r := <-started
			if r.Failure == nil || !strings.Contains(r.Failure.Message, tc.want) || strings.Contains(r.Failure.Message, "idecar") {
				t.Errorf("answered %+v; want %q", r.Failure, tc.want)
			}
			if e := w.waitFor("error", 1); !strings.Contains(e.data, tc.want) {
				t.Errorf("error %s", e.data)
			}
			w.waitFor("conversation.turn-ended", 1)
		})
	}
}

// Adopting says first where the history is; the session must be found once.
func TestEngine_Adopt(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	w.wake("c-1")
	w.must(contract.MethodStart, engineStart(t, func(p *contract.StartParams) { p.EngineSessionID, p.InitialMessage = "held-1", "" }))
	w.with(func() {
		if got := w.notices(); !slices.Equal(got, []string{textAdopted}) {
			t.Errorf("notices %q", got)
		}
	})
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "hello"})
	h := <-w.hosts
	open := heard[msg.HostOpen](h)
	if open.Session.Resume != "held-1" || !open.Session.Adopt {
		t.Errorf("opened with %+v", open.Session)
	}
	// Not found: an error, and the next try must find it as well.
	h.say(msg.HostRefused{Turn: "t-1", Text: "There is no such session."})
	w.waitFor("error", 1)
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "hello?"})
	if open = heard[msg.HostOpen](h); !open.Session.Adopt {
		t.Errorf("opened with %+v", open.Session)
	}
	h.say(msg.HostResume{Handle: "held-1"}, msg.HostOpened{Turn: "t-2"})
	h.end("t-2", contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	w.must(contract.MethodClose, contract.SessionParams{SessionID: "c-1"})
	heard[msg.HostClose](h)
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "on"})
	if open = heard[msg.HostOpen](h); open.Session.Adopt || open.Session.Resume != "held-1" {
		t.Errorf("opened with %+v", open.Session)
	}
	w.with(func() {
		if got := w.notices(); len(got) != 1 {
			t.Errorf("notices %q", got)
		}
	})
}

// A restored conversation begins a new session of the engine, which knows
// nothing of what is above, and says so.
func TestEngine_Restore(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	h, _ := w.openEngine(nil)
	h.end("t-1", contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "second"})
	heard[msg.HostSend](h)
	h.say(msg.HostOpened{Turn: "t-2"})
	h.end("t-2", contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	var second string
	for _, m := range w.snapshot().Messages {
		if m.Content == "second" {
			second = m.ID
		}
	}
	w.must(contract.MethodRestore, contract.RestoreParams{SessionID: "c-1", MessageID: second})
	heard[msg.HostClose](h)
	open := heard[msg.HostOpen](h)
	if open.Session.Resume != "" || open.Text != "second" {
		t.Errorf("opened with %+v", open)
	}
	h.say(msg.HostResume{Handle: "e-2"}, msg.HostOpened{Turn: open.Turn})
	w.waitFor("conversation.notice", 1)
	w.with(func() {
		if got := w.notices(); !slices.Equal(got, []string{textAnew}) {
			t.Errorf("notices %q", got)
		}
	})
}

// tools-permissions.md 7: by kind and files, without a kind by the name.
func TestEngineCall(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ask     msg.Ask
		tier    contract.Tier
		rule    string
		session string
	}{
		"read":                  {msg.Ask{Kind: "read", Name: "see hosts"}, contract.TierRead, "Read", ""},
		"search":                {msg.Ask{Kind: "search", Name: "grep"}, contract.TierRead, "Grep", "search grep"},
		"edit":                  {msg.Ask{Kind: "edit", Name: "write_file", Paths: []string{"a.txt", project + "/b"}}, contract.TierEdit, "Write", "edit write_file"},
		"edit without a path":   {msg.Ask{Kind: "edit", Name: "write_file"}, contract.TierBlocking, "Write", "edit write_file"},
		"edit outside":          {msg.Ask{Kind: "edit", Name: "w", Paths: []string{"a.txt", "../b"}}, contract.TierBlocking, "Write", "edit w"},
		"edit of a hook":        {msg.Ask{Kind: "edit", Name: "w", Paths: []string{".git/hooks/x"}}, contract.TierBlocking, "Write", "edit w"},
		"execute":               {msg.Ask{Kind: "execute", Name: "echo hi"}, contract.TierBlocking, "Bash", ""},
		"delete":                {msg.Ask{Kind: "delete", Name: "Read", Paths: []string{"a.txt"}}, contract.TierBlocking, "", "delete Read"},
		"a kind of its own":     {msg.Ask{Kind: "vendor", Name: "Read"}, contract.TierBlocking, "", "vendor Read"},
		"no kind, a name":       {msg.Ask{Name: "Read"}, contract.TierRead, "Read", "Read"},
		"no kind, a title":      {msg.Ask{Name: "Read the file"}, contract.TierBlocking, "Read the file", ""},
		"no kind, an edit tool": {msg.Ask{Name: "write_file", Arguments: `{"path":"a.txt"}`}, contract.TierEdit, "write_file", "write_file"},
	} {
		p := engineCall(tc.ask, project)
		if p.tier != tc.tier || p.rule != tc.rule || p.session != tc.session || p.inProject != (tc.tier == contract.TierEdit) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestEngineEvidence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, name, input, origin string }{
		{"read", "see a page", `{}`, ""},
		{"edit", "Write x", `{}`, ""},
		{"execute", "go test", `{"command":"go test ./..."}`, ""},
		{"execute", "look", `{"command":"curl https://a.test"}`, "unknown"},
		{"execute", "look", `{"command":["curl","https://a.test"]}`, "unknown"},
		{"fetch", "look", `{"url":"https://a.test/x?token=1"}`, "web"},
		{"other", "mcp__notes__read", `{}`, "mcp"},
		{"", "Read", `{}`, ""},
		{"other", "whatever", `{}`, "unknown"},
	} {
		s, ok := engineEvidence(tc.kind, tc.name, tc.input)
		if ok != (tc.origin != "") || s.Origin != tc.origin || strings.Contains(s.Locator, "token") {
			t.Errorf("%s %q: %+v %v", tc.kind, tc.name, s, ok)
		}
	}
}

// A card names the file of a file tool, and what an engine brings in from
// outside is evidence from then on.
func TestEngine_Facts(t *testing.T) {
	t.Parallel()
	w := newEngineWorld(t, nil)
	h, open := w.openEngine(nil)
	file := filepath.Join(open.Session.Project, "dir", "a.txt")
	h.events("t-1", contract.ToolStart{ID: "1", Name: "See a.txt"})
	h.say(msg.HostCall{Turn: "t-1", ID: "1", Kind: "read", Paths: []string{file}})
	h.events("t-1", contract.ToolResult{ID: "1", Name: "See a.txt", Content: "x", Input: "{}"})
	h.say(msg.Ask{Turn: "t-1", ID: "0", Name: "Write", Arguments: "{}", Kind: "edit", Paths: []string{file}})
	if a := heard[msg.HostPermission](h); !a.Allowed {
		t.Errorf("answer %+v", a)
	}
	h.say(msg.HostCall{Turn: "t-1", ID: "2", Kind: "fetch"})
	h.events("t-1", contract.ToolResult{ID: "2", Name: "Look it up", Content: "x", Input: `{"url":"https://a.test"}`})
	h.say(msg.Ask{Turn: "t-1", ID: "1", Name: "Write", Arguments: "{}", Kind: "edit", Paths: []string{file}})
	if e := w.waitFor("conversation.prompt-opened", 1); !strings.Contains(e.data, "https://a.test") {
		t.Errorf("prompt %s", e.data)
	}
	m := w.snapshot().Messages
	if calls := m[len(m)-1].ToolCalls; len(calls) != 2 || calls[0].File != "dir/a.txt" || calls[1].File != "" {
		t.Errorf("calls %+v", calls)
	}
}
