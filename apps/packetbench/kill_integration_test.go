//go:build integration && linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
)

// kills is how often the service is killed in mid-turn.
const kills = 50

// F16 F22 F26 F27 F30: kill -9 at any moment of a turn with tools. Every
// restart is ready, without an orphan, a stuck turn or a damaged file; at most
// 500 ms of text is missing; the next message is accepted by a provider that
// refuses every history with a hole in it.
func TestKill_AtRandomMomentsOfATurn(t *testing.T) {
	home, dir := t.TempDir(), project(t)
	provider := llmtest.NewAnthropic(t)
	turn := 0
	provider.Choose(func(r llmtest.Recorded) llmtest.Turn {
		turn++
		words := make([]string, 60)
		for i := range words {
			words[i] = fmt.Sprintf("w%d ", i)
		}
		out := llmtest.Turn{Text: words, Pace: 5 * time.Millisecond}
		if turn%3 != 0 {
			out.Calls = []llmtest.Call{
				{ID: fmt.Sprintf("call_%d_a", turn), Name: "bash", Arguments: `{"command":"(sleep 300 &) ; echo started; sleep 0.2"}`},
				{ID: fmt.Sprintf("call_%d_b", turn), Name: "read_file", Arguments: `{"path":"README.md"}`},
			}
		}
		return out
	})
	env := []string{"PACKETBENCH_ANTHROPIC_URL=" + provider.URL, "ANTHROPIC_API_KEY=test-key"}
	const id = contract.ConversationID("kill")
	random := rand.New(rand.NewPCG(7, 11))

	for round := range kills {
		p := serve(t, home, env)
		w := p.window(t)
		if round > 0 {
			var s contract.Snapshot
			w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: id}, &s)
			checkSettled(t, round, s.Conversation)
			noOrphans(t, p, home)
		}
		w.follow("new", id)
		if round == 0 {
			w.must(contract.MethodStart, contract.StartParams{
				SessionID: id, Provider: "anthropic", Model: "claude-sonnet-4-6", ProjectPath: dir,
				InitialMessage: "go", PermissionMode: contract.ModeAllowAll,
			}, nil)
		} else {
			w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "round " + strconv.Itoa(round)}, nil)
		}
		seen := watchUntil(t, w, time.Now().Add(time.Duration(random.IntN(900))*time.Millisecond))
		p.kill()
		readConversation(t, home, id)
		checkText(t, round, home, env, id, seen)
	}
	p := serve(t, home, env)
	w := p.window(t)
	w.follow("new", id)
	w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "last"}, nil)
	for _, e := range w.until("conversation.turn-ended.") {
		if strings.HasPrefix(e.Subject, "api-agent.error.") {
			t.Errorf("last turn: %s", e.Data)
		}
	}
	if problems := provider.Problems(); len(problems) > 0 {
		t.Errorf("the strict provider refused: %v", problems)
	}
	if code := p.term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	noOrphans(t, p, home)
}

// heard is the text of the turn that was running when the kill came, with the
// time at which each piece was published.
type heard struct {
	turn  contract.TurnID
	texts []contract.Envelope
	until time.Time
}

// watchUntil follows events until a moment.
func watchUntil(t *testing.T, w *window, until time.Time) heard {
	t.Helper()
	var h heard
	for {
		left := time.Until(until)
		if left <= 0 {
			h.until = time.Now()
			return h
		}
		e, err := w.tryEvent(left)
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(e.Subject, "conversation.turn-started."):
			h = heard{turn: e.Turn}
		case strings.HasPrefix(e.Subject, "api-agent.chunk."):
			h.texts = append(h.texts, e)
		}
	}
}

// checkText starts the service again and compares what it kept of the killed
// turn with what a window had heard.
func checkText(t *testing.T, round int, home string, env []string, id contract.ConversationID, h heard) {
	t.Helper()
	if h.turn == "" {
		return
	}
	p := serve(t, home, env)
	w := p.window(t)
	var s contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: id}, &s)
	checkSettled(t, round, s.Conversation)
	kept := ""
	for _, m := range s.Conversation.Messages {
		if m.ID == string(h.turn) {
			kept = m.Content
		}
	}
	var due strings.Builder
	for _, e := range h.texts {
		if h.until.Sub(e.Time) > 500*time.Millisecond {
			var piece string
			if err := json.Unmarshal(e.Data, &piece); err != nil {
				t.Fatal(err)
			}
			due.WriteString(piece)
		}
	}
	if !strings.HasPrefix(kept, due.String()) {
		t.Errorf("round %d: kept %d bytes of %s; %d bytes were older than 500 ms at the kill", round, len(kept), h.turn, due.Len())
	}
	p.kill()
}

func checkSettled(t *testing.T, round int, c contract.Conversation) {
	t.Helper()
	if c.Status != contract.StatusIdle || c.TurnID != "" || len(c.PendingPermissions) > 0 || len(c.Queue) > 0 {
		t.Errorf("round %d: not settled: status %s turn %q", round, c.Status, c.TurnID)
		for _, m := range c.Messages {
			if m.Error != "" {
				t.Errorf("error: %s: %s", m.ID, m.Error)
			}
		}
	}
	for _, m := range c.Messages {
		if m.IsStreaming {
			t.Errorf("round %d: message %s still streams", round, m.ID)
		}
		for _, call := range m.ToolCalls {
			if call.Status == contract.ToolRunning {
				t.Errorf("round %d: call %s still runs", round, call.ID)
			}
		}
	}
}

// readConversation checks that the file parses.
func readConversation(t *testing.T, home string, id contract.ConversationID) contract.Record {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(home, "conversations", string(id)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r contract.Record
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("conversation file: %v", err)
	}
	return r
}

// noOrphans looks for processes of this data directory that belong to another
// boot than the running one.
func noOrphans(t *testing.T, p *proc, home string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		left := marked(t, p, home)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("orphans left: %v", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// marked lists living processes whose environment names this data directory
// and a boot that is not the running one's.
func marked(t *testing.T, p *proc, home string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !strings.Contains(string(env), "PACKETBENCH_BOOT_ID=") || !strings.Contains(string(env), home) {
			continue
		}
		select {
		case <-p.exited:
		default:
			if strings.Contains(string(env), "PACKETBENCH_BOOT_ID="+p.run.BootID) {
				continue
			}
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && !strings.HasPrefix(rest, "Z") {
			out = append(out, e.Name())
		}
	}
	return out
}
