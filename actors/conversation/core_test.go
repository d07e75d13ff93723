package conversation

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

var t0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// bench drives a core by hand and collects what it wants done.
type bench struct {
	t       *testing.T
	c       *core
	effects []effect
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{t: t, c: newCore("c-1", "boot-1")}
}

func fine(string) error                          { return nil }
func noSystem(string, contract.Transport) string { return "system" }
func (b *bench) drain() *bench                   { b.effects = append(b.effects, b.c.take()...); return b }
func (b *bench) forget() *bench                  { b.drain(); b.effects = nil; return b }

func (b *bench) command(m contract.Method, params any) (any, *contract.Failure) {
	b.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	result, failure := b.c.command(t0, m, raw, outside{checkProject: fine, system: noSystem})
	b.drain()
	return result, failure
}

func (b *bench) must(m contract.Method, params any) any {
	b.t.Helper()
	result, failure := b.command(m, params)
	if failure != nil {
		b.t.Fatalf("%s: %s", m, failure.Message)
	}
	return result
}

func (b *bench) start(mode contract.PermissionMode) contract.TurnID {
	b.t.Helper()
	r := b.must(contract.MethodStart, contract.StartParams{
		SessionID: "c-1", Provider: "demo", Model: "demo", ProjectPath: "/p", InitialMessage: "hello", PermissionMode: mode,
	})
	turn := r.(contract.StartResult).TurnID
	b.c.started(turn)
	return turn
}

func (b *bench) emit(turn contract.TurnID, events ...contract.Event) {
	b.c.emitted(t0, turn, events)
	b.drain()
}

// names lists the subjects published, without the id.
func (b *bench) names() []string {
	var out []string
	for _, e := range b.effects {
		if p, ok := e.(publish); ok {
			family, name, _ := strings.Cut(strings.TrimSuffix(p.subject, ".c-1"), ".")
			if family == "conversation" {
				name = family + "." + name
			}
			out = append(out, name)
		}
	}
	return out
}

// answers lists what was sent to the turn.
func (b *bench) answers() []any {
	var out []any
	for _, e := range b.effects {
		if m, ok := e.(toTurn); ok {
			out = append(out, m.message)
		}
	}
	return out
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	got := slices.DeleteFunc(b.names(), func(n string) bool { return n == "conversation.updated" })
	if !slices.Equal(got, want) {
		b.t.Fatalf("published %v; want %v", got, want)
	}
	b.forget()
}

func TestStart_PublishesInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if turn := b.start(""); turn != "t-1" {
		t.Fatalf("turn %q; want t-1", turn)
	}
	if b.c.rec.PermissionMode != contract.ModeAskForRisky {
		t.Errorf("an absent permission mode became %q", b.c.rec.PermissionMode)
	}
	var specs int
	for _, e := range b.effects {
		if s, ok := e.(startTurn); ok {
			specs++
			if len(s.spec.Messages) != 1 || s.spec.Messages[0].Content != "hello" || s.spec.System != "system" {
				t.Errorf("spec %+v", s.spec)
			}
		}
	}
	if specs != 1 {
		t.Errorf("%d turns were started", specs)
	}
	b.expect("conversation.created", "conversation.user-turn", "conversation.turn-started")
}

func TestTurn_OneTerminalEventAndSilenceAfterIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.forget()
	b.emit(turn, contract.Thinking{Text: "hm"}, contract.Chunk("a\U0001F600"), contract.Chunk(""), contract.ToolStart{ID: "x", Name: "bash"},
		contract.Done{InputTokens: 3}, contract.Chunk("late"), contract.Done{}, contract.Error{Message: "late"})
	b.emit("t-0", contract.Chunk("older"))
	b.expect("thinking", "thinking-stop", "chunk", "tool-start", "tool-result", "done", "conversation.turn-ended")
	m := b.c.rec.Messages[1]
	if m.Content != "a\U0001F600" || m.Parts[1].Length != 3 || m.ToolCalls[0].Status != contract.ToolError || m.InputTokens != 3 {
		t.Errorf("message %+v", m)
	}
	b.c.closed(t0, turn, nil)
	if b.c.live != nil || b.c.rec.OpenTurn != "" || b.c.rec.Status != contract.StatusIdle {
		t.Errorf("the turn is still there: %+v", b.c.rec)
	}
}

// F53 F54: a send during a turn is queued, visible, and delivered once, in
// order; a cancel drops the queue and never sends it.
func TestQueue_OneAtATime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.forget()
	for _, text := range []string{"second", "third"} {
		if r := b.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: text}).(contract.SendResult); !r.Queued {
			t.Fatalf("%s was not queued", text)
		}
	}
	b.expect("conversation.user-turn", "conversation.queue-changed", "conversation.user-turn", "conversation.queue-changed")
	if _, failure := b.command(contract.MethodSend, contract.SendParams{
		SessionID: "c-1", Message: "x",
		Attachments: []contract.Attachment{{MediaType: "image/png", DataBase64: "aGk="}},
	}); failure == nil || failure.Code != contract.CodeConflict || failure.Message != contract.TextQueueImages {
		t.Errorf("images in the queue: %v", failure)
	}
	b.emit(turn, contract.Done{})
	b.c.closed(t0, turn, nil)
	b.drain()
	b.expect("done", "conversation.turn-ended", "conversation.queue-changed", "conversation.user-turn", "conversation.turn-started")
	b.c.started("t-2")
	b.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"})
	b.emit("t-2", contract.Done{Cancelled: true})
	b.c.closed(t0, "t-2", nil)
	b.drain()
	b.expect("conversation.queue-changed", "done", "conversation.turn-ended")
	if n := len(b.c.rec.QueuedMessages); n != 0 {
		t.Errorf("%d messages left in the queue", n)
	}
	b.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"})
	b.expect()
}

// F51 F52: three prompts at once, each answered by itself; a late answer is
// told who was first; a cancel answers the rest.
func TestPrompts_FirstAnswerWins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.forget()
	for _, id := range []string{"a", "b", "c"} {
		b.c.ask(t0, msg.Ask{Turn: turn, ID: id, Name: "bash", Arguments: `{"command":"git diff --stat"}`})
	}
	b.drain()
	b.expect("conversation.prompt-opened", "permission-request", "conversation.prompt-opened", "permission-request", "conversation.prompt-opened", "permission-request")
	if v := b.c.view(); len(v.PendingPermissions) != 3 || v.NeedsYou != 3 || *v.PendingPermissions[0].AllowPattern != "Bash(git diff:*)" {
		t.Fatalf("view %+v", v.PendingPermissions)
	}
	b.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "a", Decision: contract.Deny, Reason: " use git log "})
	if got := b.answers()[0].(msg.PermissionAnswer); got.Allowed || got.Text != "User denied permission for this tool call. User's guidance: use git log" {
		t.Errorf("answer %+v", got)
	}
	_, failure := b.command(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "a", Decision: contract.AllowOnce})
	if failure == nil || failure.Code != contract.CodeAnswered || string(failure.Data) != `{"by":"user"}` {
		t.Errorf("second answer: %+v", failure)
	}
	if _, failure := b.command(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "zz", Decision: contract.Deny}); failure == nil || failure.Code != contract.CodeNotFound {
		t.Errorf("unknown prompt: %+v", failure)
	}
	b.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "b", Decision: contract.AllowOnce, AllowPattern: "Bash(git diff:*)"})
	b.forget()
	b.c.ask(t0, msg.Ask{Turn: turn, ID: "d", Name: "bash", Arguments: `{"command":"git diff HEAD"}`})
	b.drain()
	if got := b.answers()[0].(msg.PermissionAnswer); !got.Allowed {
		t.Errorf("the granted pattern does not answer: %+v", got)
	}
	b.forget()
	b.c.expirePermission(t0, permissionExpired{"c", 999}) // The timer of an earlier prompt of that id.
	if b.drain(); len(b.answers()) != 0 {
		t.Error("an old timer ended a new prompt")
	}
	b.c.expirePermission(t0, permissionExpired{"c", b.c.perms[0].n})
	b.drain()
	if got := b.answers()[0].(msg.PermissionAnswer); got.Text != contract.TextPermTimeout {
		t.Errorf("timeout: %+v", got)
	}
	b.expect("conversation.prompt-resolved")
	if b.c.answered["c"] != contract.ByTimeout {
		t.Errorf("a timeout is remembered as %q", b.c.answered["c"])
	}
}

func TestTaint_OutranksTableAndSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.c.rec.ProjectPath = t.TempDir()
	edit := msg.Ask{Turn: turn, ID: "e", Name: "write_file", Arguments: `{"path":"a.txt","content":""}`}
	b.forget()
	b.c.ask(t0, edit)
	b.drain()
	b.expect() // Allowed by the table, nothing shown.
	b.c.allowed["write_file"] = true
	b.c.toolFacts(msg.ToolFacts{Turn: turn, ID: "w", Tainting: true, Source: contract.Source{Origin: "web", Label: "web_fetch"}})
	edit.ID = "f"
	b.c.ask(t0, edit)
	b.drain()
	b.expect("conversation.prompt-opened", "permission-request")
	b.c.rec.PermissionMode = contract.ModeAllowAll
	edit.ID = "g"
	b.c.ask(t0, edit)
	b.drain()
	b.expect()
}

// What an edit changed is kept and shown, a count of 0 included.
func TestToolFacts_Lines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAllowAll)
	b.emit(turn, contract.ToolStart{ID: "w", Name: "write_file"}, contract.ToolStart{ID: "b", Name: "bash"})
	b.c.toolFacts(msg.ToolFacts{Turn: turn, ID: "w", LinesAdded: new(3), LinesRemoved: new(0)})
	b.c.toolFacts(msg.ToolFacts{Turn: turn, ID: "b"})
	calls := viewMessage(b.c.message()).ToolCalls
	if len(calls) != 2 {
		t.Fatalf("%d calls; want 2", len(calls))
	}
	if w := calls[0]; w.LinesAdded == nil || *w.LinesAdded != 3 || w.LinesRemoved == nil || *w.LinesRemoved != 0 {
		t.Errorf("the edit shows %v and %v; want 3 and 0", w.LinesAdded, w.LinesRemoved)
	}
	if calls[1].LinesAdded != nil || calls[1].LinesRemoved != nil {
		t.Error("a command shows lines")
	}
}

func TestPlan_OrderOfEffects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAskForRisky)
	b.c.rec.PlanMode = true
	b.emit(turn, contract.Chunk("Here.\n## Plan\n1. x"), contract.Done{})
	b.c.closed(t0, turn, nil)
	b.forget()
	if !b.c.view().PlanReady {
		t.Fatal("the plan is not seen")
	}
	b.must(contract.MethodApprovePlan, contract.ApprovePlanParams{SessionID: "c-1", Choice: "execute"})
	if p := b.c.posture(); p.PlanMode || p.PermissionMode != contract.ModeAuto {
		t.Errorf("posture %+v", p)
	}
	b.expect("conversation.posture-changed", "conversation.posture-changed", "conversation.user-turn", "conversation.turn-started")
	if _, failure := b.command(contract.MethodApprovePlan, contract.ApprovePlanParams{SessionID: "c-1", Choice: "execute"}); failure == nil {
		t.Error("a plan was approved twice")
	}
}

func TestRetry_DropsTheLastRequestOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.c.requestOpened(turn)
	b.emit(turn, contract.Chunk("looking"), contract.ToolStart{ID: "x", Name: "grep"}, contract.ToolResult{ID: "x", Name: "grep", Content: "hit", Input: "{}"})
	b.c.requestOpened(turn)
	b.emit(turn, contract.Chunk("half an ans"), contract.Error{Message: "boom"})
	b.c.closed(t0, turn, nil)
	if s := b.c.view().Messages[1].Content; s != "lookinghalf an ans\n\nError: boom" {
		t.Errorf("content %q", s)
	}
	b.forget()
	b.must(contract.MethodRetry, contract.RetryParams{SessionID: "c-1", NewModel: "other"})
	m := b.c.rec.Messages[1]
	if m.Content != "looking" || len(m.ToolCalls) != 1 || m.Error != "" || m.Outcome != contract.OutcomeError || b.c.rec.Model != "other" || b.c.live.id != "t-2" {
		t.Errorf("kept %+v", m)
	}
	if !slices.Contains(b.names(), "conversation.updated") {
		t.Error("no window is told to read again")
	}
}

// F16 F26 F27 F44: what a kill left open is closed at the next start.
func TestAdopt_ClosesWhatAKillLeft(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, boot string
		text       string // Of the call that was open.
		outcome    contract.Outcome
		status     contract.Status
		want       []string
	}{
		{
			"another boot", "boot-2", contract.TextInterrupted, contract.OutcomeInterrupted, contract.StatusIdle,
			[]string{"conversation.prompt-resolved", "conversation.turn-ended", "conversation.queue-changed", "conversation.notice"},
		},
		{
			"the actor died", "boot-1", contract.TextConversationLost, contract.OutcomeError, contract.StatusFailed,
			[]string{"conversation.prompt-resolved", "tool-result", "error", "conversation.turn-ended", "conversation.notice", "conversation.queue-changed", "conversation.notice"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			old := newBench(t)
			turn := old.start(contract.ModeAuto)
			old.emit(turn, contract.Chunk("half"), contract.ToolStart{ID: "x", Name: "bash"})
			old.c.ask(t0, msg.Ask{Turn: turn, ID: "x", Name: "bash", Arguments: `{"command":"make"}`})
			old.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "then this"})
			file, err := body(old.c.rec)
			if err != nil {
				t.Fatal(err)
			}
			var rec contract.Record
			if err := json.Unmarshal(file, &rec); err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			b.c.boot = tc.boot
			b.c.adopt(t0, &rec)
			b.drain()
			b.expect(tc.want...)
			m := rec.Messages[1]
			if m.IsStreaming || m.Outcome != tc.outcome || rec.Status != tc.status || m.ToolCalls[0].FullContent != tc.text {
				t.Errorf("message %+v status %s", m, rec.Status)
			}
			if _, failure := b.command(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "x", Decision: contract.AllowOnce}); failure == nil || failure.Code != contract.CodeAnswered {
				t.Errorf("late answer: %+v", failure)
			}
			if r := b.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "go on"}).(contract.SendResult); r.TurnID != "t-2" || r.Queued {
				t.Errorf("next send %+v", r)
			}
		})
	}
}

// patches lists the keys of the updated events.
func (b *bench) patches() []string {
	b.t.Helper()
	var out []string
	for _, e := range b.effects {
		p, ok := e.(publish)
		if !ok || !strings.HasPrefix(p.subject, "conversation.updated.") {
			continue
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(p.payload, &keys); err != nil {
			b.t.Fatal(err)
		}
		if _, ok := keys["updated_at"]; !ok {
			b.t.Errorf("a patch without its time: %s", p.payload)
		}
		delete(keys, "updated_at")
		var said []string
		for k, v := range keys {
			said = append(said, k+"="+string(v))
		}
		slices.Sort(said)
		out = append(out, strings.Join(said, ","))
	}
	return out
}

func (b *bench) expectPatches(what string, want ...string) {
	b.t.Helper()
	if got := b.patches(); !slices.Equal(got, want) {
		b.t.Errorf("%s: patches %q; want %q", what, got, want)
	}
	b.forget()
}

// An updated patch holds what has changed and nothing else (contract.md 2.3).
func TestPatches_ChangedKeysOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.expectPatches("start", `status="active"`)
	b.c.ask(t0, msg.Ask{Turn: turn, ID: "a", Name: "bash", Arguments: `{"command":"make"}`})
	b.drain().expectPatches("a prompt", "needs_you=1")
	b.c.askEdit(t0, msg.AskEdit{Turn: turn, ID: "e", Path: "p"})
	b.drain().expectPatches("an edit", "needs_you=2")
	b.must(contract.MethodSend, contract.SendParams{Message: "queued"})
	b.expectPatches("a queued message", "queued=1")
	b.must(contract.MethodRespondEdit, contract.RespondEditParams{ToolID: "e", Decision: contract.ApplyEdit})
	b.expectPatches("an answer", "needs_you=1")
	b.must(contract.MethodRename, contract.RenameParams{Title: "hello"})
	b.must(contract.MethodPin, contract.PinParams{})
	b.must(contract.MethodChangeModel, contract.ChangeModelParams{NewModel: "demo"})
	b.expectPatches("nothing new")
	b.must(contract.MethodPin, contract.PinParams{Pinned: true})
	b.expectPatches("a pin", "pinned=true")
	b.must(contract.MethodCancel, contract.SessionParams{})
	b.expectPatches("a cancel", "queued=0", "needs_you=0", "stopping=true")
}

// Windows derive the plan bar from the snapshot and this key.
func TestPatches_PlanReady(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.must(contract.MethodSetPlanMode, contract.SetEnabledParams{Enabled: true})
	b.emit(turn, contract.Chunk("## Plan\n1. x"), contract.Done{})
	b.forget()
	b.c.closed(t0, turn, nil)
	b.drain().expectPatches("the plan is there", "plan_ready=true")
	b.must(contract.MethodSetPlanMode, contract.SetEnabledParams{Enabled: false})
	b.expectPatches("plan mode off", "plan_ready=false")
	b.must(contract.MethodSetPlanMode, contract.SetEnabledParams{Enabled: true})
	b.expectPatches("and on", "plan_ready=true")
	b.must(contract.MethodSend, contract.SendParams{Message: "refine"})
	b.expectPatches("the next turn", `status="active"`, "plan_ready=false")
}

// A request that was made is billed, whatever became of its turn.
func TestUsage_AfterTheTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.c.failTurn(t0, turn, "It failed.")
	b.forget()
	b.c.usage(t0, msg.RequestUsage{Turn: turn, N: 1, Line: []byte("{}")})
	if e := b.drain().effects; len(e) != 1 || string(e[0].(toStore).message.(msg.AppendLedger).Line) != "{}" {
		t.Errorf("effects %+v", e)
	}
}

// Close frees the tools, also when a turn still has to unwind.
func TestClose_FreesTheTools(t *testing.T) {
	t.Parallel()
	released := func(b *bench) (out []any) {
		for _, e := range b.drain().effects {
			if r, ok := e.(release); ok {
				out = append(out, r.tools)
			}
		}
		return out
	}
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.must(contract.MethodClose, contract.SessionParams{})
	if got := released(b); got != nil {
		t.Errorf("released %v under a running turn", got)
	}
	b.emit(turn, contract.Done{Cancelled: true})
	b.c.closed(t0, turn, "tools")
	if got := released(b); !slices.Equal(got, []any{"tools"}) || b.c.tools != nil {
		t.Errorf("released %v", got)
	}
}

// No tool at all is not every tool, after a load either.
func TestAllowedTools_NoneStaysNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, failure := b.c.command(t0, contract.MethodStart, json.RawMessage(`{"provider":"demo","model":"demo","project_path":"/p","allowed_tools":[]}`), outside{checkProject: fine, system: noSystem})
	if failure != nil {
		t.Fatal(failure)
	}
	file, err := body(b.c.rec)
	if err != nil {
		t.Fatal(err)
	}
	var rec contract.Record
	if err := json.Unmarshal(file, &rec); err != nil {
		t.Fatal(err)
	}
	if rec.AllowedTools == nil || slices.Contains(rec.AllowedTools, "bash") {
		t.Errorf("loaded as %q", rec.AllowedTools)
	}
	if v := b.c.view().AllowedTools; v == nil || len(v) != 0 {
		t.Errorf("shown as %q", v)
	}
}

// A transport's broken bytes do not shift what comes behind them.
func TestDelta_BrokenBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turn := b.start(contract.ModeAuto)
	b.forget()
	b.emit(turn, contract.Chunk("a\xe2"), contract.Chunk("\x80\x94"), contract.Thinking{Text: "\xff"})
	m := b.c.message()
	if contract.UTF16Len(m.Content) != m.Parts[0].Length || m.Parts[0].Length != 3 || m.Thinking != "\uFFFD" {
		t.Errorf("%q with parts %+v", m.Content, m.Parts)
	}
}

func TestAdopt_CountsOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.c.adopt(t0, &contract.Record{ID: "c-1", Agent: contract.RowDemo, Provider: "demo", Messages: []contract.RecordMessage{
		{ID: "m-7", Role: contract.RoleUser, Content: "x"}, {ID: "t-4", TurnID: "t-4", Role: contract.RoleAssistant}, {ID: "m-x"},
	}})
	r := b.must(contract.MethodSend, contract.SendParams{Message: "y"}).(contract.SendResult)
	if r.MessageID != "m-8" || r.TurnID != "t-5" {
		t.Errorf("send %+v", r)
	}
}

// Any parameters of any method give a result or a typed failure, valid events,
// and a record that its journal can follow.
func FuzzCommand(f *testing.F) {
	for i := range contract.Methods {
		for _, raw := range []string{
			`{}`, `{"session_id":"c-1","message":"x","enabled":true,"mode":"auto","tool_id":"a","decision":"allow_once","allow_pattern":"Bash(git diff:*)","new_model":"m","choice":"execute","title":"t","archived":true}`,
			`{"provider":"demo","model":"demo","project_path":"/p","initial_message":"x","attachments":[{"media_type":"image/png","data_base64":"aGk="}],"resume_messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`,
			`{"task":"pr-review","prompt":"x","provider":"anthropic"}`, `{"message":1}`, `[]`, `null`, `"x"`, `{"merged_content":"\ud800","tool_id":"e","decision":"apply"}`,
		} {
			f.Add(uint8(i), uint8(i%4), raw) //nolint:gosec // Fewer than 256.
		}
	}
	f.Fuzz(func(t *testing.T, method, stage uint8, raw string) {
		b := newBench(t)
		a := &actor{core: b.c, saved: saved{neverWritten: true}}
		var d disk
		if stage%4 > 0 {
			turn := b.start(contract.ModeAuto)
			b.c.requestOpened(turn)
			b.emit(turn, contract.Chunk("## Plan\n1"))
			switch stage % 4 {
			case 1:
				b.c.ask(t0, msg.Ask{Turn: turn, ID: "a", Name: "bash", Arguments: `{"command":"git diff x"}`})
				b.c.askEdit(t0, msg.AskEdit{Turn: turn, ID: "e", Path: "p"})
				b.must(contract.MethodSend, contract.SendParams{Message: "queued"})
			case 2:
				b.emit(turn, contract.Done{})
				b.c.closed(t0, turn, nil)
				b.c.rec.PlanMode = true
			case 3:
				b.must(contract.MethodSend, contract.SendParams{Message: "queued"})
				b.emit(turn, contract.Error{Message: "x"})
				b.c.closed(t0, turn, nil)
			}
			d.take(t, a, true, false)
		}
		b.forget()
		m := contract.Methods[int(method)%len(contract.Methods)]
		result, failure := b.c.command(t0, m, json.RawMessage(raw), outside{checkProject: fine, system: noSystem})
		b.drain()
		if (result == nil) == (failure == nil) {
			t.Fatalf("%s: result %v, failure %v", m, result, failure)
		}
		if failure != nil {
			known := []int{contract.CodeNoMethod, contract.CodeBadParams, contract.CodeNotFound, contract.CodeConflict, contract.CodeAnswered, contract.CodeOverLimit}
			if !slices.Contains(known, failure.Code) || failure.Message == "" || strings.Contains(failure.Message, "contract.") {
				t.Fatalf("%s: failure %+v", m, failure)
			}
		}
		for _, e := range b.effects {
			if p, ok := e.(publish); ok && !json.Valid(p.payload) {
				t.Fatalf("%s: payload %q", p.subject, p.payload)
			}
		}
		if b.c.rec != nil && !b.c.oneShotOnly {
			b.c.view()
			d.take(t, a, true, false)
			sameRecord(t, string(m), b.c.rec, d.load(t))
		}
	})
}

func TestStart_Refusals(t *testing.T) {
	t.Parallel()
	base := contract.StartParams{SessionID: "c-1", Provider: "demo", Model: "demo", ProjectPath: "/p", InitialMessage: "x"}
	for _, tc := range []struct {
		name string
		edit func(*contract.StartParams)
		code int
		text string
	}{
		{"row id for provider", func(p *contract.StartParams) { p.Provider = "api-claude" }, contract.CodeBadParams, `"api-claude"`},
		{"codex", func(p *contract.StartParams) { p.Provider = "openai-codex" }, contract.CodeBadParams, "Accepted"},
		{"retired row", func(p *contract.StartParams) { p.Row = contract.RowRetiredCodex }, contract.CodeConflict, "OpenAI Agents SDK (API)"},
		{"wrong row", func(p *contract.StartParams) { p.Row = "api-claude" }, contract.CodeBadParams, "belongs to provider"},
		{"no model", func(p *contract.StartParams) { p.Model = " " }, contract.CodeBadParams, "model"},
		{"mode", func(p *contract.StartParams) { p.PermissionMode = "always" }, contract.CodeBadParams, "Unknown permission mode: always"},
		{"worktree", func(p *contract.StartParams) { p.Worktree = true }, contract.CodeConflict, "Worktrees"},
		{"image", func(p *contract.StartParams) {
			p.Attachments = []contract.Attachment{{MediaType: "text/html", DataBase64: "aGk="}}
		}, contract.CodeBadParams, "attachments[0]"},
		{"blank", func(p *contract.StartParams) { p.InitialMessage = " \n" }, contract.CodeBadParams, "initial_message"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := base
			tc.edit(&p)
			_, failure := b.command(contract.MethodStart, p)
			if failure == nil || failure.Code != tc.code || !strings.Contains(failure.Message, tc.text) {
				t.Fatalf("got %+v; want %d with %q", failure, tc.code, tc.text)
			}
			if b.c.rec != nil {
				t.Error("a conversation exists all the same")
			}
		})
	}
	b := newBench(t)
	_, failure := b.c.command(t0, contract.MethodStart, json.RawMessage(`{"provider":"demo","model":"demo","project_path":"x"}`),
		outside{checkProject: func(string) error { return errors.New("is not an absolute path") }, system: noSystem})
	if failure == nil || failure.Code != contract.CodeBadParams {
		t.Errorf("bad project: %+v", failure)
	}
}

// A message that comes while a turn unwinds, or after Stop was pressed, is sent
// when the turn's process is gone; it does not wait for another message.
func TestQueue_SendWhileUnwinding(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(b *bench, turn contract.TurnID)
	}{
		{"after an error", func(b *bench, turn contract.TurnID) { b.emit(turn, contract.Error{Message: "boom"}) }},
		{"after the cancelled end", func(b *bench, turn contract.TurnID) {
			b.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"})
			b.emit(turn, contract.Done{Cancelled: true})
		}},
		{"between Stop and the end", func(b *bench, _ contract.TurnID) {
			b.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			turn := b.start(contract.ModeAuto)
			tc.end(b, turn)
			b.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "go on"})
			if tc.name == "between Stop and the end" {
				b.emit(turn, contract.Done{Cancelled: true})
			}
			b.c.closed(t0, turn, nil)
			if b.c.live == nil || b.c.live.id != "t-2" || len(b.c.rec.QueuedMessages) != 0 {
				t.Fatalf("the message was not sent: live %+v queue %v", b.c.live, b.c.rec.QueuedMessages)
			}
		})
	}
}

// A time that RFC 3339 cannot write, from a damaged file, hides no transcript.
func TestView_ImpossibleTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start(contract.ModeAuto)
	b.c.rec.CreatedAt, b.c.rec.UpdatedAt = 1e18, -1e18
	if _, err := json.Marshal(b.c.view()); err != nil {
		t.Fatal(err)
	}
}
