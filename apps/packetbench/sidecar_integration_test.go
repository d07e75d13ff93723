//go:build integration && linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// echoes launches n conversations on the sidecar's echo and waits until each has
// had its first turn.
func echoes(t *testing.T, w *window, dir string, n int) []contract.ConversationID {
	t.Helper()
	ids := make([]contract.ConversationID, n)
	for i := range ids {
		ids[i] = contract.ConversationID(fmt.Sprintf("e-%d", i))
	}
	w.all(ids, "done", func(id contract.ConversationID) {
		w.must(contract.MethodStart, contract.StartParams{
			SessionID: id, Provider: contract.ProviderEcho, Model: "echo", ProjectPath: dir, InitialMessage: "hello " + string(id),
		}, nil)
	})
	return ids
}

// all does something to each conversation and waits for one event of a kind on
// each; a second error meanwhile is a fault.
func (w *window) all(ids []contract.ConversationID, kind string, do func(contract.ConversationID)) map[contract.ConversationID]contract.Envelope {
	w.t.Helper()
	for _, id := range ids {
		do(id)
		w.soak() // A connection whose events nobody reads answers nothing more.
	}
	got := map[contract.ConversationID]contract.Envelope{}
	for len(got) < len(ids) {
		e := w.event()
		id, ok := strings.CutPrefix(e.Subject, "api-agent."+kind+".")
		if !ok {
			continue
		}
		if _, twice := got[contract.ConversationID(id)]; twice && kind == "error" {
			w.t.Fatalf("%s came twice", e.Subject)
		}
		got[contract.ConversationID(id)] = e
	}
	return got
}

// sidecarIs waits until the sidecar is in a state.
func (w *window) sidecarIs(state string) contract.SidecarStatus {
	w.t.Helper()
	var s contract.SidecarStatus
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		w.must(contract.MethodSidecarStatus, nil, &s)
		if s.State == state {
			return s
		}
		if time.Now().After(end) {
			w.t.Fatalf("the sidecar is %+v; want state %s", s, state)
		}
	}
}

// Issue 3, done when 2: kill -9 of the child with 300 owned sessions, idle and
// busy, three times, and then a fourth. Every owned session hears of each death
// once and with the exact text; nobody else notices anything. F22: what the
// child had started is gone too.
func TestSidecar_KilledOverAndOver(t *testing.T) {
	p := serve(t, t.TempDir(), []string{sidecarScript(t), "PACKETBENCH_MAX_AWAKE=400"})
	w, other := p.window(t), p.window(t)
	if _, err := w.subscribe(t.Context(), "new", "api-agent.done.>", "api-agent.error.>", "sidecar-status.changed"); err != nil {
		t.Fatal(err)
	}
	dir := project(t)
	ids := echoes(t, w, dir, 300)

	// A turn of another transport that runs through all of it.
	other.follow("new", "demo")
	other.must(contract.MethodStart, contract.StartParams{
		SessionID: "demo", Provider: contract.ProviderDemo, Model: "demo", ProjectPath: dir, InitialMessage: "hello", PermissionMode: contract.ModeAskForRisky,
	}, nil)

	for kill := 1; kill <= 4; kill++ {
		before := w.sidecarIs("ready")
		busy := 0
		got := w.all(ids, "error", func(id contract.ConversationID) {
			if id != ids[len(ids)-1] {
				return
			}
			// The last ten are in the middle of a turn.
			for _, id := range ids[len(ids)-10:] {
				w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "again"}, nil)
				busy++
			}
			if err := syscall.Kill(*before.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		})
		want := `{"message":"` + contract.TextSidecarRestarted + `"}`
		turns := 0
		for id, e := range got {
			if string(e.Data) != want {
				t.Fatalf("kill %d: %s heard %s", kill, id, e.Data)
			}
			if e.Turn != "" {
				turns++
			}
		}
		if turns > busy {
			t.Errorf("kill %d: %d errors belong to a turn; %d turns ran", kill, turns, busy)
		}
		if kill == 4 {
			break
		}
		after := w.sidecarIs("ready")
		if after.Restarts != uint64(kill) || after.LastError != nil || *after.PID == *before.PID || after.Lifetime.TotalCrashes != uint64(kill) || after.Lifetime.TotalStarts != uint64(kill)+1 {
			t.Errorf("after kill %d: %+v", kill, after)
		}
		w.all(ids, "done", func(id contract.ConversationID) {
			w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "on we go"}, nil)
		})
	}
	down := w.sidecarIs("down")
	if down.PID != nil || down.LastError == nil || down.Restarts != 3 || down.Lifetime.TotalCrashes != 4 {
		t.Errorf("after the fourth: %+v", down)
	}
	// While it is down, what needs it is refused in words, and the rest goes on.
	message := w.refused(contract.MethodStart, contract.StartParams{
		SessionID: "late", Provider: contract.ProviderEcho, Model: "echo", ProjectPath: dir, InitialMessage: "hello",
	}, contract.CodeConflict)
	if !strings.HasPrefix(message, contract.TextSidecarRefusing) {
		t.Errorf("a start while it is down was refused with %q", message)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: ids[0], Message: "again"}, nil)
	if e := w.until("api-agent.error." + string(ids[0])); !strings.Contains(string(e[len(e)-1].Data), contract.TextSidecarNoWriter) {
		t.Errorf("a send while it is down failed with %s", e[len(e)-1].Data)
	}
	if e := other.until("conversation.turn-ended."); !strings.Contains(string(e[len(e)-1].Data), `"done"`) {
		t.Errorf("the demo's turn ended with %s", e[len(e)-1].Data)
	}
	// An operator's reset brings it back.
	w.must(contract.MethodResetActor, contract.ActorParams{Name: "sidecar"}, nil)
	w.sidecarIs("ready")
	w.must(contract.MethodSend, contract.SendParams{SessionID: ids[0], Message: "again"}, nil)
	w.until("api-agent.done." + string(ids[0]))
	if code := p.term(); code != 0 {
		t.Errorf("the service ends with code %d", code)
	}
}

// lives reports whether a process runs; one that nobody has waited for yet does
// not.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// fakeSidecar writes a script that node runs instead of the sidecar.
func fakeSidecar(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake.mjs")
	file(t, path, script)
	return "PACKETBENCH_SIDECAR_PATH=" + path
}

// launchVendor starts a conversation on the Claude row and returns the refusal
// and the text of the error event.
func launchVendor(t *testing.T, w *window) (refusal, heard string) {
	t.Helper()
	w.follow("new", "c-1")
	refusal = w.refused(contract.MethodStart, contract.StartParams{
		SessionID: "c-1", Provider: contract.ProviderClaudeOAuth, Model: claudeModel, ProjectPath: project(t), InitialMessage: "hello",
	}, contract.CodeConflict)
	e := w.until("api-agent.error.c-1")
	var said contract.Error
	if err := json.Unmarshal(e[len(e)-1].Data, &said); err != nil {
		t.Fatal(err)
	}
	return refusal, said.Message
}

// Issue 3, done when 3: an old or silent peer is refused before it gets a key;
// a newer one runs.
func TestSidecar_Versions(t *testing.T) {
	const peer = `
import { createInterface } from 'node:readline'
import { appendFileSync } from 'node:fs'
console.log(JSON.stringify({ type: 'ready', pid: process.pid, version: '9.9.9'%s }))
createInterface({ input: process.stdin }).on('line', (line) => {
  appendFileSync(%q, line + '\n')
  const { type, sessionId, turnId } = JSON.parse(line)
  if (type === 'start_session') console.log(JSON.stringify({ type: 'done', sessionId, turnId, inputTokens: 0, outputTokens: 0 }))
})
`
	for _, tc := range []struct {
		name, version, refused string
	}{
		{"10", ", protocolVersion: 10", "The agent sidecar speaks protocol 10, PacketBench needs 11 or newer. Rebuild it (make sidecar) or unset PACKETBENCH_SIDECAR_PATH."},
		{"missing", "", "The agent sidecar speaks protocol none, PacketBench needs 11 or newer. Rebuild it (make sidecar) or unset PACKETBENCH_SIDECAR_PATH."},
		{"12", ", protocolVersion: 12", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			heard := filepath.Join(t.TempDir(), "heard")
			p := serve(t, t.TempDir(), []string{fakeSidecar(t, fmt.Sprintf(peer, tc.version, heard)), "ANTHROPIC_API_KEY=sk-ant-secret-key"})
			w := p.window(t)
			if tc.refused == "" {
				w.follow("new", "c-1")
				w.must(contract.MethodStart, contract.StartParams{
					SessionID: "c-1", Provider: contract.ProviderClaudeOAuth, Model: claudeModel, ProjectPath: project(t), InitialMessage: "hello",
				}, nil)
				w.until("api-agent.done.c-1")
				if s := w.sidecarIs("ready"); *s.ProtocolVersion != 12 || *s.Version != "9.9.9" {
					t.Errorf("status %+v", s)
				}
				if n := strings.Count(p.logged(), "speaks protocol 12"); n != 1 {
					t.Errorf("%d warnings", n)
				}
				return
			}
			refusal, said := launchVendor(t, w)
			if !strings.Contains(refusal, tc.refused) || !strings.Contains(said, tc.refused) {
				t.Errorf("refused with %q and %q", refusal, said)
			}
			s := w.sidecarIs("incompatible")
			if s.LastError == nil || !strings.Contains(*s.LastError, tc.refused) || s.Restarts != 0 || s.PID == nil {
				t.Errorf("status %+v", s)
			}
			if asked, err := os.ReadFile(heard); err == nil {
				t.Errorf("the peer was sent %s", asked)
			}
		})
	}
}

// F25: what the launcher wrote before it died is in the refusal, the error and
// the status.
func TestSidecar_LauncherFails(t *testing.T) {
	p := serve(t, t.TempDir(), []string{fakeSidecar(t, `console.error('Error: package.json is broken'); process.exit(1)`), "ANTHROPIC_API_KEY=x"})
	w := p.window(t)
	refusal, said := launchVendor(t, w)
	if !strings.Contains(refusal, "package.json is broken") || !strings.Contains(said, "package.json is broken") {
		t.Errorf("refused with %q and %q", refusal, said)
	}
	if s := w.sidecarIs("down"); s.LastError == nil || !strings.Contains(*s.LastError, "package.json is broken") {
		t.Errorf("status %+v", s)
	}
}

// A child that is stopped does not answer a cancel; it is ended by force after
// 10 s, the turn with it, and its successor goes on.
func TestSidecar_Frozen(t *testing.T) {
	p := serve(t, t.TempDir(), []string{sidecarScript(t)})
	w := p.window(t)
	if _, err := w.subscribe(t.Context(), "new", "api-agent.>", "conversation.>"); err != nil {
		t.Fatal(err)
	}
	id := echoes(t, w, project(t), 1)[0]
	s := w.sidecarIs("ready")
	if err := syscall.Kill(*s.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "anybody there?"}, nil)
	w.must(contract.MethodCancel, contract.SessionParams{SessionID: id}, nil)
	if e := w.until("api-agent.error." + string(id)); !strings.Contains(string(e[len(e)-1].Data), "ended by force") {
		t.Errorf("the turn ended with %s", e[len(e)-1].Data)
	}
	next := w.sidecarIs("ready")
	for next.PID != nil && *next.PID == *s.PID {
		next = w.sidecarIs("ready")
	}
	if lives(*s.PID) {
		t.Error("the stopped child is still there")
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "now?"}, nil)
	w.until("api-agent.done." + string(id))
}

// Kill -9 of the service leaves nothing of the child behind, and the next start
// resumes what was said.
func TestSidecar_ServiceKilled(t *testing.T) {
	home := t.TempDir()
	p := serve(t, home, []string{sidecarScript(t)})
	w := p.window(t)
	if _, err := w.subscribe(t.Context(), "new", "api-agent.>", "conversation.>"); err != nil {
		t.Fatal(err)
	}
	id := echoes(t, w, project(t), 1)[0]
	pid := *w.sidecarIs("ready").PID
	p.kill()
	q := serve(t, home, []string{sidecarScript(t)})
	if lives(pid) {
		t.Error("the child outlived the service and its next start")
	}
	w = q.window(t)
	w.follow("new", id)
	w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "again"}, nil)
	w.until("api-agent.done." + string(id))
}
