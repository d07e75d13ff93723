package conversation

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// What a command is checked against, and what is not checked at all.
func TestLaunchCheck(t *testing.T) {
	t.Parallel()
	with := func(row contract.RowID, p contract.ProviderID) *contract.Record { return stored(row, p) }
	for _, tc := range []struct {
		name    string
		rec     *contract.Record
		busy    bool
		method  contract.Method
		params  string
		sources string // Empty: not checked.
		session contract.ConversationID
	}{
		{"new", nil, false, contract.MethodStart, `{"provider":"anthropic","initial_message":"x"}`, "api-claude", "c-1"},
		{"new without a message", nil, false, contract.MethodStart, `{"provider":"openai"}`, "api-openai", "c-1"},
		{"new by row", nil, false, contract.MethodStart, `{"row":"api-openrouter"}`, "api-openrouter", "c-1"},
		{"local models cost nothing and have limits", nil, false, contract.MethodStart, `{"provider":"ollama"}`, "api-ollama", "c-1"},
		{"the demo is billed nothing", nil, false, contract.MethodStart, `{"provider":"demo"}`, "", ""},
		{"unknown provider", nil, false, contract.MethodStart, `{"provider":"x"}`, "", ""},
		{"no provider", nil, false, contract.MethodStart, `{}`, "", ""},
		{"another transport", nil, false, contract.MethodStart, `{"provider":"claude-oauth"}`, "api-claude-oauth", "c-1"},
		{"an engine", nil, false, contract.MethodStart, `{"provider":"packetcode-acp"}`, "api-packetcode", "c-1"},
		{"the echo is billed nothing", nil, false, contract.MethodStart, `{"provider":"echo"}`, "", ""},
		{"bad params", nil, false, contract.MethodStart, `[`, "", ""},
		{"resume", with("api-claude", "anthropic"), false, contract.MethodStart, `{"provider":"openai","initial_message":"x"}`, "api-claude", "c-1"},
		{"resume with an image", with("api-claude", "anthropic"), false, contract.MethodStart, `{"attachments":[{}]}`, "api-claude", "c-1"},
		{"resume without a message", with("api-claude", "anthropic"), false, contract.MethodStart, `{}`, "", ""},
		{"resume while a turn runs", with("api-claude", "anthropic"), true, contract.MethodStart, `{"initial_message":"x"}`, "", ""},
		{"send", with("api-claude", "anthropic"), false, contract.MethodSend, `{"message":"x"}`, "", ""},
		{"retry", with("api-claude", "anthropic"), false, contract.MethodRetry, `{}`, "", ""},
		{"fork", with("api-claude", "anthropic"), false, contract.MethodFork, `{}`, "api-claude", "c-1"},
		{"fork while a turn runs", with("api-claude", "anthropic"), true, contract.MethodFork, `{}`, "api-claude", "c-1"},
		{"fork of nothing", nil, false, contract.MethodFork, `{}`, "", ""},
		{"plan", with("api-claude", "anthropic"), false, contract.MethodApprovePlan, `{"choice":"execute"}`, "", ""},
		{"one shot", nil, false, contract.MethodOneShot, `{"task":"pr-review","prompt":"x"}`, "aux", ""},
		{"one shot of a provider", nil, false, contract.MethodOneShot, `{"provider":"minimax-api"}`, "aux api-minimax-api", ""},
		{"one shot of the demo", nil, false, contract.MethodOneShot, `{"provider":"demo"}`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCore("c-1", "boot-1")
			c.rec = tc.rec
			if tc.busy {
				c.live = &live{id: "t-1"}
			}
			check, ok := c.launchCheck(msg.Command{Method: tc.method, Params: json.RawMessage(tc.params)})
			var got []string
			for _, s := range check.Sources {
				got = append(got, string(s))
			}
			if ok != (tc.sources != "") || strings.Join(got, " ") != tc.sources || check.Session != tc.session {
				t.Errorf("checked %v: %+v; want %q of %q", ok, check, tc.sources, tc.session)
			}
		})
	}
}

const tooMuch = "The daily cost limit is reached: 1.50 USD of 1.50 USD are spent. Raise the limit, then start again."

// A launch over a limit is -32009 with the sentence, heard on the id too, and
// leaves nothing behind: no record, no file, no launch counted. With room again
// the same id starts.
func TestActor_LaunchRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.verdict = msg.LaunchVerdict{Err: errors.New(tooMuch)}
	w.wake("c-1")
	p := firstMessage
	p.ProjectPath = t.TempDir()
	for _, m := range []contract.Method{contract.MethodStart, contract.MethodOneShot} {
		params := any(p)
		if m == contract.MethodOneShot {
			params = contract.OneShotParams{SessionID: "c-1", Task: "pr-review", Prompt: "x", Provider: "openai"}
		}
		r := w.call(m, params)
		if r.Failure == nil || r.Failure.Code != contract.CodeConflict || r.Failure.Message != tooMuch {
			t.Fatalf("%s: %+v", m, r)
		}
		if r := w.call(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}); r.Failure == nil || r.Failure.Code != contract.CodeNotFound {
			t.Errorf("after %s there is %+v", m, r)
		}
	}
	w.mu.Lock()
	if names := w.names(); !slices.Equal(names, []string{"error", "error"}) || len(w.files) != 0 || len(w.saves) != 0 || len(w.ledger) != 0 {
		t.Errorf("left events %v, files %d", names, len(w.files))
	}
	if e := w.events[0]; !strings.Contains(e.data, tooMuch) {
		t.Errorf("event %+v", e)
	}
	w.mu.Unlock()
	w.with(func() { w.verdict = msg.LaunchVerdict{} })
	w.must(contract.MethodStart, p)
	w.turn()
}

// A running turn is not ended by a limit, and neither a send nor a retry is
// refused; starting the conversation again is.
func TestActor_LimitWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	turn := w.start()
	w.with(func() { w.verdict = msg.LaunchVerdict{Err: errors.New(tooMuch)} })
	turn.close(contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	turn.gone()
	w.must(contract.MethodRetry, contract.RetryParams{SessionID: "c-1"})
	turn = w.turn()
	turn.close(contract.Done{})
	w.waitFor("conversation.turn-ended", 2)
	turn.gone()
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "more"})
	turn = w.turn()
	turn.close(contract.Done{})
	w.waitFor("conversation.turn-ended", 3)
	turn.gone()
	r := w.call(contract.MethodStart, contract.StartParams{SessionID: "c-1", InitialMessage: "again"})
	if r.Failure == nil || r.Failure.Message != tooMuch {
		t.Fatalf("start: %+v", r)
	}
	snap := w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot)
	if snap.Conversation.Status != contract.StatusIdle || len(snap.Conversation.Messages) != 4 {
		t.Errorf("the conversation changed: %+v", snap.Conversation)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.find("error")) != 0 {
		t.Errorf("events %v", w.names())
	}
}

// A limit that comes near is a line in the transcript, and the store hears that
// it was shown; one that a request brought near, too.
func TestActor_LimitWarns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.verdict = msg.LaunchVerdict{Warnings: []msg.BudgetWarning{{Key: "daily", Text: "The daily cost limit comes near."}}}
	turn := w.start()
	if e := w.waitFor("conversation.notice", 1); !strings.Contains(e.data, "The daily cost limit comes near.") || !strings.Contains(e.data, `"warning"`) {
		t.Errorf("notice %+v", e)
	}
	w.until("the store knows", func() bool { return slices.Equal(w.warned, []string{"daily"}) })
	_ = w.node.Send(msg.ConversationName("c-1"), msg.LedgerWritten{Turn: turn.spec.Turn, N: 1, Warnings: []msg.BudgetWarning{{Key: "monthly", Text: "The monthly one, too."}}})
	if m := hears[msg.LedgerWritten](turn); m.N != 1 {
		t.Errorf("the turn heard %+v", m)
	}
	w.waitFor("conversation.notice", 2)
	turn.emit(contract.Chunk("answer"))
	turn.close(contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	snap := w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot)
	var roles []string
	for _, m := range snap.Conversation.Messages {
		roles = append(roles, string(m.Role)+" "+m.Content)
	}
	want := []string{"user hello", "assistant answer", "system The daily cost limit comes near.", "system The monthly one, too."}
	if !slices.Equal(roles, want) {
		t.Errorf("transcript %q", roles)
	}
}

// slowLimits holds the answers about cost limits back until release is called.
func slowLimits(w *world) (release func()) {
	gate := make(chan struct{})
	w.with(func() { w.limits = gate })
	return sync.OnceFunc(func() { close(gate) })
}

// While a launch is checked, what comes behind it waits its turn.
func TestActor_LaunchHoldsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	release := slowLimits(w)
	defer release()
	w.wake("c-1")
	p := firstMessage
	p.ProjectPath = t.TempDir()
	started, renamed := make(chan msg.Reply, 1), make(chan msg.Reply, 1)
	go func() { started <- w.call(contract.MethodStart, p) }()
	w.until("the check", func() bool { return len(w.checks) == 1 })
	go func() {
		renamed <- w.call(contract.MethodRename, contract.RenameParams{SessionID: "c-1", Title: "later"})
	}()
	// Round trips, so that the second command has come before the first goes on.
	// Should it not have, this test proves less and fails no more.
	for range 50 {
		if _, err := w.node.CallWithTimeout(msg.ConversationName("c-1"), "nothing", 5); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case r := <-renamed:
		t.Fatalf("renamed before it was started: %+v", r)
	default:
	}
	release()
	for _, r := range []msg.Reply{<-started, <-renamed} {
		if r.Failure != nil {
			t.Errorf("refused: %s", r.Failure.Message)
		}
	}
	w.turn()
}

// A drain does not wait for the check, and what was checked does not begin
// after it.
func TestActor_DrainWhileChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	release := slowLimits(w)
	defer release()
	w.wake("c-1")
	p := firstMessage
	p.ProjectPath = t.TempDir()
	started := make(chan msg.Reply, 1)
	go func() { started <- w.call(contract.MethodStart, p) }()
	w.until("the check", func() bool { return len(w.checks) == 1 })
	if reply, err := w.node.CallWithTimeout(msg.ConversationName("c-1"), msg.Drain{}, 5); err != nil || reply.(msg.Done).Err != nil {
		t.Fatalf("drain: %v, %v", reply, err)
	}
	release()
	if r := <-started; r.Failure == nil || !strings.Contains(r.Failure.Message, "stopping") {
		t.Errorf("start: %+v", r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.files) != 0 {
		t.Error("a file was written")
	}
}

// A one-shot that asks for no provider is held against the limit of the one it
// gets, once that is known.
func TestActor_OneShotOfARefusedProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.keys = []contract.KeyInfo{{Account: "api-key-openai", Present: true}}
	gate := make(chan struct{})
	w.keyGate = gate
	w.wake("c-1")
	w.must(contract.MethodOneShot, contract.OneShotParams{SessionID: "c-1", Task: "pr-review", Prompt: "x"})
	w.with(func() { w.verdict = msg.LaunchVerdict{Err: errors.New(tooMuch)} })
	close(gate)
	if e := w.waitFor("error", 1); !strings.Contains(e.data, tooMuch) {
		t.Errorf("event %+v", e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.checks) != 2 || !slices.Equal(w.checks[0].Sources, []contract.LedgerSource{contract.LedgerAux}) || !slices.Equal(w.checks[1].Sources, []contract.LedgerSource{"api-openai"}) {
		t.Errorf("checked %+v", w.checks)
	}
}

// heldTools is what a turn leaves with its conversation.
type heldTools struct {
	busy   atomic.Bool
	closed chan struct{}
}

func (h *heldTools) Busy() bool { return h.busy.Load() }
func (h *heldTools) Close()     { close(h.closed) }

// A turn knows whether its project is trusted. What it leaves goes to the next
// turn, and is closed when the conversation is: closed, deleted or hibernated,
// once, and the mailbox does not wait for it.
func TestActor_TrustAndToolState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(*world, *heldTools)
	}{
		{"closed", func(w *world, _ *heldTools) {
			w.must(contract.MethodClose, contract.SessionParams{SessionID: "c-1"})
		}},
		{"deleted", func(w *world, _ *heldTools) {
			w.must(contract.MethodDelete, contract.SessionParams{SessionID: "c-1"})
		}},
		{"hibernated", func(w *world, held *heldTools) { held.busy.Store(false) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *Options) {
				if tc.name == "hibernated" {
					o.Idle = 20 * time.Millisecond
				}
			})
			w.trusted = true
			held := &heldTools{closed: make(chan struct{})}
			held.busy.Store(true)
			first := w.start()
			if !first.spec.Trusted || first.spec.Tools != nil {
				t.Errorf("first spec %+v", first.spec)
			}
			first.emit(contract.Done{})
			first.say(msg.TurnClosed{Turn: first.spec.Turn, Tools: held})
			first.gone()
			w.with(func() { w.trusted = false })
			w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "more"})
			second := w.turn()
			if second.spec.Trusted || second.spec.Tools != any(held) {
				t.Errorf("second spec %+v", second.spec)
			}
			second.emit(contract.Done{})
			second.say(msg.TurnClosed{Turn: second.spec.Turn, Tools: held})
			second.gone()
			w.waitFor("conversation.turn-ended", 2)
			select {
			case <-held.closed:
				t.Fatal("closed while something runs")
			default:
			}
			tc.end(w, held)
			select {
			case <-held.closed:
			case <-time.After(patience):
				t.Fatal("never closed")
			}
		})
	}
}

// A one-shot has no project to trust.
func TestActor_OneShotIsNotTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.trusted = true
	w.wake("c-1")
	w.must(contract.MethodOneShot, contract.OneShotParams{SessionID: "c-1", Task: "pr-review", Prompt: "x", Provider: "openai"})
	if turn := w.turn(); turn.spec.Trusted {
		t.Error("trusted")
	}
}
