package conversation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// hostWorld is a world whose engines_sup hands out a host that the test drives.
type hostWorld struct {
	*world
	hosts  chan *fakeHost
	refuse *contract.Failure // Of the next Ensure; under the world's lock.
	last   *fakeHost
	name   gen.Atom // Of the host that is asked for.
}

// fakeHost is a host that the test drives.
type fakeHost struct {
	act.Actor
	w    *hostWorld
	in   chan any
	from gen.PID // The conversation.
}

func (h *fakeHost) Init(...any) error { return nil }

func (h *fakeHost) HandleMessage(from gen.PID, message any) error {
	switch m := message.(type) {
	case func(*fakeHost) error:
		return m(h)
	default:
		h.from = from
		h.in <- message
	}
	return nil
}

// engines plays engines_sup.
type engines struct {
	act.Actor
	w *hostWorld
}

func (s *engines) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	ensure := request.(msg.Ensure)
	s.w.mu.Lock()
	refused, last := s.w.refuse, s.w.last
	s.w.mu.Unlock()
	if ensure.Name != s.w.name {
		s.w.t.Errorf("ensured %s", ensure.Name)
	}
	if refused != nil {
		return msg.Ensured{Err: refused}, nil
	}
	if last != nil {
		return msg.Ensured{PID: last.PID()}, nil
	}
	h := &fakeHost{w: s.w, in: make(chan any, 1024)}
	pid, err := s.Spawn(func() gen.ProcessBehavior { return h }, gen.ProcessOptions{})
	if err != nil {
		return nil, err
	}
	s.w.with(func() { s.w.last = h })
	s.w.hosts <- h
	return msg.Ensured{PID: pid, Created: true}, nil
}

func newHostWorld(t *testing.T, change func(*Options)) *hostWorld {
	t.Helper()
	w := &hostWorld{world: newWorld(t, change), hosts: make(chan *fakeHost, 8), name: msg.Sidecar}
	w.spawn(msg.EnginesSup, func() gen.ProcessBehavior { return &engines{w: w} }, nil)
	return w
}

// do runs f inside the host's process.
func (h *fakeHost) do(f func(*fakeHost) error) {
	h.w.t.Helper()
	if err := h.w.node.Send(h.PID(), f); err != nil {
		h.w.t.Fatal(err)
	}
}

func (h *fakeHost) say(messages ...any) {
	h.w.t.Helper()
	h.do(func(h *fakeHost) error {
		for _, m := range messages {
			_ = h.Send(h.from, m)
		}
		return nil
	})
}

// hears waits for the next message, which has to be a T. Acks are left out
// unless they are asked for.
func heard[T any](h *fakeHost) T {
	h.w.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case message := <-h.in:
			m, ok := message.(T)
			if ok {
				return m
			}
			if _, ack := message.(msg.HostAck); ack {
				continue
			}
			h.w.t.Fatalf("the host heard %#v; want a %T", message, m)
		case <-timeout:
			var zero T
			h.w.t.Fatalf("the host never heard a %T", zero)
			return zero
		}
	}
}

func (h *fakeHost) events(turn contract.TurnID, events ...contract.Event) {
	h.w.t.Helper()
	h.say(msg.Emitted{Turn: turn, Events: events})
}

func (h *fakeHost) end(turn contract.TurnID, last contract.Event) {
	h.w.t.Helper()
	h.say(msg.Emitted{Turn: turn, Events: []contract.Event{last}}, msg.TurnClosed{Turn: turn})
}

var hostStart = contract.StartParams{
	SessionID: "c-1", Provider: contract.ProviderClaudeOAuth, Model: "claude-sonnet-4-5", InitialMessage: "hello", PermissionMode: contract.ModeAuto,
	MCPTrustSnapshot: json.RawMessage(`[]`), EnabledMCPServerIDs: []string{"notes"},
}

// open launches a conversation and answers its first turn as taken.
func (w *hostWorld) open() (*fakeHost, msg.HostOpen) {
	w.t.Helper()
	w.wake("c-1")
	p := hostStart
	p.ProjectPath = w.t.TempDir()
	started := w.start2(p)
	h := <-w.hosts
	open := heard[msg.HostOpen](h)
	h.say(msg.HostOpened{Turn: open.Turn})
	if r := <-started; r.Failure != nil {
		w.t.Fatal(r.Failure.Message)
	}
	return h, open
}

// start2 begins a start, whose answer waits for the host.
func (w *hostWorld) start2(p contract.StartParams) chan msg.Reply {
	return w.later(contract.MethodStart, p)
}

func (w *hostWorld) later(m contract.Method, params any) chan msg.Reply {
	w.t.Helper()
	done := make(chan msg.Reply, 1)
	raw, err := json.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		reply, err := w.node.CallWithTimeout(msg.ConversationName("c-1"), msg.Command{Method: m, Params: raw}, 8)
		if err != nil {
			done <- msg.Reply{Failure: contract.Fail(contract.CodeInternal, "%s", err)}
			return
		}
		done <- reply.(msg.Reply)
	}()
	return done
}

// A first turn opens the session with all that was frozen; the second one is
// only sent; both look like the turns of any other transport.
func TestHosted_Turns(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, open := w.open()
	s := open.Session
	if open.Turn != "t-1" || open.Text != "hello" || open.Conversation != "c-1" || open.Retry ||
		s.Provider != contract.ProviderClaudeOAuth || s.Key == "" || string(s.Trust) != "[]" || !slices.Equal(s.Servers, []string{"notes"}) ||
		s.Posture.PermissionMode != contract.ModeAuto || s.System == "" || strings.Contains(s.System, "list_directory") || len(s.Transcript) != 0 {
		t.Fatalf("opened with %+v", open)
	}
	token := "tok-1"
	h.events("t-1", contract.Thinking{Text: "hm"}, contract.ThinkingStop{}, contract.Chunk("Hi"))
	h.events("t-1", contract.TurnSummary{InputTokens: 10, OutputTokens: 2, CacheReadInputTokens: 5})
	h.end("t-1", contract.Done{InputTokens: 10, OutputTokens: 2, CacheReadInputTokens: 5, ResumeToken: &token})
	w.waitFor("conversation.turn-ended", 1)
	w.until("a ledger line", func() bool { return len(w.ledger) == 1 })
	w.with(func() {
		var row map[string]any
		if err := json.Unmarshal(w.ledger[0].Line, &row); err != nil || row["source"] != "api-claude-oauth" || row["provider"] != "claude-oauth" || w.ledger[0].Turn != "t-1" {
			t.Errorf("ledger line %s", w.ledger[0].Line)
		}
	})
	sent := w.later(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "and?"})
	if r := <-sent; r.Failure != nil {
		t.Fatal(r.Failure.Message)
	}
	if send := heard[msg.HostSend](h); send.Turn != "t-2" || send.Text != "and?" || send.Retry {
		t.Fatalf("sent %+v", send)
	}
	h.say(msg.HostOpened{Turn: "t-2"})
	h.events("t-1", contract.Chunk("late words of the first turn"))
	h.events("t-2", contract.Chunk("Done."))
	h.end("t-2", contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	w.with(func() {
		want := []string{
			"conversation.created", "conversation.user-turn", "conversation.turn-started", "thinking", "thinking-stop", "chunk", "turn-summary", "done", "conversation.turn-ended",
			"conversation.user-turn", "conversation.turn-started", "chunk", "done", "conversation.turn-ended",
		}
		if got := w.names(); !slices.Equal(got, want) {
			t.Errorf("published %v; want %v", got, want)
		}
	})
	if r := w.must(contract.MethodClose, contract.SessionParams{SessionID: "c-1"}); r == nil {
		t.Error("no result")
	}
	heard[msg.HostClose](h)
	// What is sent after a close opens the session again, by its handle.
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	again := heard[msg.HostOpen](h)
	if again.Session.Resume != token || again.Text != "again" || again.Turn != "t-3" || string(again.Session.Trust) != "[]" || again.Session.System != s.System {
		t.Errorf("opened again with %+v", again)
	}
	if m := again.Session.Transcript; len(m) != 4 || m[0].Content != "hello" || m[3].Content != "Done." {
		t.Errorf("transcript %+v", m)
	}
}

// Requests of a host go through the same gate; what a person or the gate
// decides reaches it with who decided and why.
func TestHosted_Prompts(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, open := w.open()
	two, batch := uint64(2), "b-1"
	file := open.Session.Project + "/a.txt"
	h.say(
		msg.Ask{Turn: "t-1", ID: "r", Name: "Read", Arguments: `{"file_path":"x"}`},
		msg.Ask{Turn: "t-1", ID: "e", Name: "Edit", Arguments: `{"file_path":"` + file + `"}`},
		msg.Ask{Turn: "t-1", ID: "b1", Name: "Bash", Arguments: `{"command":"make"}`, BatchID: &batch, BatchSize: &two},
		msg.Ask{Turn: "t-1", ID: "b2", Name: "Bash", Arguments: `{"command":"ls"}`, BatchID: &batch, BatchSize: &two},
		msg.Ask{Turn: "t-1", ID: "l", Name: "Read", Arguments: `{"file_path":"x"}`, Lasting: true},
	)
	for _, id := range []string{"r", "e"} {
		if a := heard[msg.HostPermission](h); a.ID != id || !a.Allowed || a.Decision != contract.AllowOnce || a.By != contract.ByPolicy {
			t.Fatalf("answer %+v", a)
		}
	}
	if e := w.waitFor("permission-request", 1); !strings.Contains(e.data, `"batch_id":"b-1","batch_size":2`) {
		t.Errorf("prompt %s", e.data)
	}
	w.waitFor("permission-request", 3)
	w.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "b1", Decision: contract.Deny, Reason: "use go build"})
	if a := heard[msg.HostPermission](h); a.ID != "b1" || a.Allowed || a.Decision != contract.Deny || a.By != contract.ByUser || a.Reason != "use go build" {
		t.Errorf("answer %+v", a)
	}
	if r := w.call(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "l", Decision: contract.AllowOnce}); r.Failure == nil || r.Failure.Message != contract.TextLastingOnly {
		t.Errorf("a permission for one time that is not offered was %+v", r.Failure)
	}
	w.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: "c-1", ToolID: "l", Decision: contract.AllowAlways})
	if a := heard[msg.HostPermission](h); a.ID != "l" || a.Decision != contract.AllowAlways {
		t.Errorf("answer %+v", a)
	}
	// A call that got its result without an answer is asked for no longer.
	h.events("t-1", contract.ToolResult{ID: "b2", Name: "Bash", IsError: true, Content: "aborted"})
	if e := w.waitFor("conversation.prompt-resolved", 3); !strings.Contains(e.data, `"id":"b2","decision":"deny","by":"cancel"`) {
		t.Errorf("resolved %s", e.data)
	}
	before := "old"
	h.say(msg.AskEdit{Turn: "t-1", ID: "w", Name: "Write", Path: file, Content: "new", Before: &before})
	w.waitFor("pending-edit", 1)
	merged := "mine"
	w.must(contract.MethodRespondEdit, contract.RespondEditParams{SessionID: "c-1", ToolID: "w", Decision: contract.ApplyEdit, MergedContent: &merged})
	if a := heard[msg.HostEdit](h); a.ID != "w" || !a.Applied || a.Merged == nil || *a.Merged != merged {
		t.Errorf("answer %+v", a)
	}
	// What is parked is refused at once; the turn goes on.
	h.say(msg.Ask{Turn: "t-1", ID: "p", Name: "Bash", Arguments: `{"command":"make"}`})
	w.waitFor("permission-request", 4)
	w.must(contract.MethodCancelPending, contract.SessionParams{SessionID: "c-1"})
	heard[msg.HostCancelPending](h)
	h.end("t-1", contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
}

// Stop is one cancel and the transport's own end; what is parked goes with it.
func TestHosted_Cancel(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	h.say(msg.Ask{Turn: "t-1", ID: "p", Name: "Bash", Arguments: `{"command":"make"}`})
	w.waitFor("permission-request", 1)
	w.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"})
	if c := heard[msg.HostCancel](h); c.Turn != "t-1" {
		t.Errorf("cancel %+v", c)
	}
	h.end("t-1", contract.Done{Cancelled: true})
	if e := w.waitFor("conversation.turn-ended", 1); !strings.Contains(e.data, `"cancelled"`) {
		t.Errorf("ended %s", e.data)
	}
}

// A turn that does not end ends by force, and its program with it.
func TestHosted_CancelOverdue(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, func(o *Options) { o.waits = waits{time.Minute, time.Minute, 50 * time.Millisecond} })
	h, _ := w.open()
	w.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"})
	heard[msg.HostCancel](h)
	if k := heard[msg.HostKill](h); k.Turn != "t-1" {
		t.Errorf("kill %+v", k)
	}
	if e := w.waitFor("error", 1); !strings.Contains(e.data, "ended by force") {
		t.Errorf("error %s", e.data)
	}
}

// crash ends the host as engines_sup would tell of it.
func (h *fakeHost) crash() {
	h.w.t.Helper()
	pid, owner := h.PID(), make(chan gen.PID, 1)
	h.w.with(func() { h.w.last = nil })
	h.do(func(h *fakeHost) error {
		owner <- h.from
		return gen.TerminateReasonKill
	})
	if err := h.w.node.Send(<-owner, msg.OwnerGone{Host: h.w.name, PID: pid, Reason: "killed"}); err != nil {
		h.w.t.Fatal(err)
	}
}

// Every owner hears of the child's death with the same text, busy or not, and
// the next message resumes in the successor (contract.md 7).
func TestHosted_OwnerGone(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	h.events("t-1", contract.ToolStart{ID: "x", Name: "Bash"}, contract.Thinking{Text: "hm"})
	w.waitFor("thinking", 1)
	h.crash()
	w.waitFor("conversation.notice", 1)
	w.with(func() {
		got := w.names()
		want := []string{"thinking", "thinking-stop", "tool-result", "error", "conversation.turn-ended", "conversation.notice"}
		if n := len(got) - len(want); n < 0 || !slices.Equal(got[n:], want) {
			t.Errorf("published %v", got)
		}
		if e := w.find("error")[0]; e.data != `{"message":"`+contract.TextSidecarRestarted+`"}` || e.turn != "t-1" {
			t.Errorf("error %+v", e)
		}
	})
	health := func() *contract.Health {
		return w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot).Conversation.Health
	}
	if m := health(); m == nil || m.State != contract.HealthRestarted || !strings.Contains(m.Text, "is lost") || !strings.Contains(m.Text, "is kept") {
		t.Errorf("marked as %+v", m)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	next := <-w.hosts
	open := heard[msg.HostOpen](next)
	if open.Turn != "t-2" || len(open.Session.Transcript) != 2 || !strings.Contains(open.Session.Transcript[1].Content, "[tool Bash]") {
		t.Errorf("opened with %+v", open.Session)
	}
	next.say(msg.HostOpened{Turn: "t-2"})
	next.end("t-2", contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	if m := health(); m != nil {
		t.Errorf("still marked after a turn that ended well: %+v", m)
	}
	next.crash()
	if e := w.waitFor("conversation.notice", 2); !strings.Contains(e.data, "Nothing is lost") {
		t.Errorf("notice %s", e.data)
	}
	if e := w.waitFor("error", 2); e.turn != "" || !strings.Contains(e.data, contract.TextSidecarRestarted) {
		t.Errorf("an idle owner heard %+v", e)
	}
	if v := w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot); v.Conversation.Status != contract.StatusIdle {
		t.Errorf("status %s", v.Conversation.Status)
	}
}

// A refused start is an error event and an error reply with one text.
func TestHosted_Refused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		state *contract.Failure
		say   func(*fakeHost, msg.HostOpen)
		want  string
	}{
		{name: "down", state: msg.RefuseState(msg.Sidecar, msg.StateDown, "it burned"), want: contract.TextSidecarRefusing},
		{name: "too old", say: func(h *fakeHost, o msg.HostOpen) {
			h.say(msg.HostRefused{Turn: o.Turn, Text: "The agent sidecar speaks protocol 10."})
		}, want: "speaks protocol 10"},
		{name: "died before it owned", say: func(h *fakeHost, _ msg.HostOpen) {
			h.do(func(*fakeHost) error { return gen.TerminateReasonKill })
		}, want: contract.TextSidecarRestarted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newHostWorld(t, nil)
			w.refuse = tc.state
			w.wake("c-1")
			p := hostStart
			p.ProjectPath = t.TempDir()
			started := w.start2(p)
			if tc.say != nil {
				h := <-w.hosts
				tc.say(h, heard[msg.HostOpen](h))
			}
			r := <-started
			if r.Failure == nil || !strings.Contains(r.Failure.Message, tc.want) {
				t.Errorf("answered %+v; want %q", r.Failure, tc.want)
			}
			if e := w.waitFor("error", 1); !strings.Contains(e.data, tc.want) {
				t.Errorf("error %s", e.data)
			}
			w.waitFor("conversation.turn-ended", 1)
			if tc.state != nil {
				w.until("it is marked", func() bool {
					return slices.ContainsFunc(w.find("conversation.updated"), func(e event) bool { return strings.Contains(e.data, `"health":{"state":"down"`) })
				})
			}
		})
	}
}

// A session that the host has given up is opened again, once and unseen.
func TestHosted_Gone(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	h.end("t-1", contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "and?"})
	heard[msg.HostSend](h)
	h.say(msg.HostRefused{Turn: "t-2", Gone: true, Text: "gone"})
	if open := heard[msg.HostOpen](h); open.Turn != "t-2" || open.Text != "and?" {
		t.Fatalf("opened with %+v", open)
	}
	h.say(msg.HostRefused{Turn: "t-2", Gone: true, Text: "gone again"})
	if e := w.waitFor("error", 1); !strings.Contains(e.data, "gone again") {
		t.Errorf("error %s", e.data)
	}
}

// Settings are answered when the program has taken them, and are as before
// when it has not. A mode never carries approve-writes and the other way round.
func TestHosted_Settings(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	model := w.later(contract.MethodChangeModel, contract.ChangeModelParams{SessionID: "c-1", NewModel: "claude-opus-4-5"})
	set := heard[msg.HostSet](h)
	if set.Model == nil || *set.Model != "claude-opus-4-5" || set.Mode != nil || set.ApproveWrites != nil {
		t.Fatalf("set %+v", set)
	}
	h.say(msg.HostReply{Ref: set.Ref, Text: "set_model failed: no such model"})
	if r := <-model; r.Failure == nil || !strings.Contains(r.Failure.Message, "no such model") {
		t.Errorf("answered %+v", r)
	}
	if v := w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot); v.Conversation.Model != hostStart.Model {
		t.Errorf("model %s", v.Conversation.Model)
	}
	writes := w.later(contract.MethodSetApproveWrites, contract.SetEnabledParams{SessionID: "c-1", Enabled: true})
	set = heard[msg.HostSet](h)
	if set.Mode != nil || set.ApproveWrites == nil || !*set.ApproveWrites {
		t.Fatalf("set %+v", set)
	}
	select {
	case r := <-writes:
		t.Fatalf("answered %+v before the program had", r)
	default:
	}
	h.say(msg.HostReply{Ref: set.Ref})
	if r := <-writes; r.Failure != nil {
		t.Error(r.Failure.Message)
	}
	mode := w.later(contract.MethodSetPlanMode, contract.SetEnabledParams{SessionID: "c-1", Enabled: true})
	set = heard[msg.HostSet](h)
	if set.ApproveWrites != nil || set.Mode == nil || !set.Mode.PlanMode || set.Mode.PermissionMode != contract.ModeAuto {
		t.Fatalf("set %+v", set)
	}
	h.crash() // It was recorded: the successor is opened with it.
	if r := <-mode; r.Failure != nil {
		t.Error(r.Failure.Message)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	if open := heard[msg.HostOpen](<-w.hosts); !open.Session.Posture.PlanMode || !open.Session.Posture.ApproveWrites {
		t.Errorf("opened with %+v", open.Session.Posture)
	}
}

// Retry asks the program for its last turn again; the transcript drops it.
func TestHosted_Retry(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	h.events("t-1", contract.Chunk("half"))
	h.end("t-1", contract.Error{Message: "boom"})
	w.waitFor("conversation.turn-ended", 1)
	w.must(contract.MethodRetry, contract.RetryParams{SessionID: "c-1", NewModel: "claude-opus-4-5"})
	if set := heard[msg.HostSet](h); set.Model == nil {
		t.Errorf("set %+v", set)
	}
	if send := heard[msg.HostSend](h); !send.Retry || send.Text != "hello" || send.Turn != "t-2" {
		t.Errorf("sent %+v", send)
	}
}

// Each Emitted is given back, whatever has become of its turn, so that a host
// never holds a line for ever.
func TestHosted_Acks(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	for range 5 {
		h.events("t-1", contract.Chunk("x"))
		h.events("t-0", contract.Chunk("old"))
	}
	for n := 0; n < 10; {
		n += heard[msg.HostAck](h).N
	}
}

// A turn whose first event the log does not take ends before it asks for its
// host; the conversation goes on when the log does.
func TestHosted_LogFull(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, nil)
	h, _ := w.open()
	h.end("t-1", contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	w.with(func() { w.down = true })
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	w.with(func() { w.down = false })
	if e := w.waitFor("error", 1); !strings.Contains(e.data, "The event log takes nothing more just now") {
		t.Errorf("the turn ended with %s", e.data)
	}
	w.waitFor("conversation.turn-ended", 2)
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "and now?"})
	if send := heard[msg.HostSend](h); send.Turn != "t-3" || send.Text != "and now?" {
		t.Errorf("sent %+v", send)
	}
}

// A conversation that sleeps ends its session first and keeps the handle.
func TestHosted_Sleep(t *testing.T) {
	t.Parallel()
	w := newHostWorld(t, func(o *Options) { o.Idle = 30 * time.Millisecond })
	h, _ := w.open()
	token := "tok-1"
	h.end("t-1", contract.Done{ResumeToken: &token})
	w.waitFor("conversation.turn-ended", 1)
	heard[msg.HostClose](h)
	w.until("the end", func() bool { return len(w.ended) == 1 })
	if r := w.onDisk("c-1"); r.ResumeToken != token || r.Owner != contract.TransportSidecar {
		t.Errorf("on disk: %q %q", r.ResumeToken, r.Owner)
	}
}

// The bounds of what a program that lost its session is told.
func TestEarlier(t *testing.T) {
	t.Parallel()
	var history []contract.RecordMessage
	for range 100 {
		history = append(history, contract.RecordMessage{Role: contract.RoleUser, Content: "x"})
	}
	history = append(history,
		contract.RecordMessage{Role: contract.RoleSystem, Level: contract.LevelInfo, Content: "for people"},
		contract.RecordMessage{Role: contract.RoleAssistant, IsStreaming: true, Content: "half"},
		contract.RecordMessage{Role: contract.RoleAssistant, ToolCalls: []contract.RecordCall{{Name: "Bash", Input: strings.Repeat("i", 900), FullContent: strings.Repeat("r", 5000), Status: contract.ToolError}}},
	)
	got := earlier(history)
	if len(got) != transcriptMessages {
		t.Errorf("%d messages", len(got))
	}
	last := got[len(got)-1].Content
	if !strings.Contains(last, strings.Repeat("i", 800)+"...") || !strings.Contains(last, "failed: "+strings.Repeat("r", 4000)+"...") {
		t.Errorf("digest %q", last)
	}
	big := []contract.RecordMessage{
		{Role: contract.RoleUser, Content: strings.Repeat("a", 100_000)},
		{Role: contract.RoleUser, Content: strings.Repeat("b", 30_000)},
	}
	if got := earlier(big); len(got) != 1 || got[0].Content[0] != 'b' {
		t.Errorf("%d messages over the limit of characters", len(got))
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, command, url, origin string }{
		{"Read", "", "", ""},
		{"Edit", "", "", ""},
		{"TodoWrite", "", "", ""},
		{"Bash", "go test ./...", "", ""},
		{"Bash", "curl https://a.test", "", "unknown"},
		{"BashOutput", "", "", "unknown"},
		{"WebFetch", "", "https://a.test/x?token=1", "web"},
		{"mcp__notes__read", "", "", "mcp"},
		{"Task", "", "", "agent"},
		{"Whatever", "", "", "unknown"},
	} {
		s, ok := evidence(tc.name, tc.command, tc.url)
		if ok != (tc.origin != "") || s.Origin != tc.origin || strings.Contains(s.Locator, "token") {
			t.Errorf("%s %q: %+v %v", tc.name, tc.command, s, ok)
		}
	}
}

// contract.md O12.
func TestRelative(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	for path, want := range map[string]string{
		project + "/a/b.txt":    "a/b.txt",
		"a/./b.txt":             "a/b.txt",
		project + "x/a.txt":     project + "x/a.txt",
		project + "/../up.txt":  project + "/../up.txt",
		"/elsewhere/a b/ç'x.go": "/elsewhere/a b/ç'x.go",
	} {
		if got := relative(path, project); got != want {
			t.Errorf("relative(%q) = %q; want %q", path, got, want)
		}
	}
}
