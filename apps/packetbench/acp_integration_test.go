//go:build integration && linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/acp/enginetest"
	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
	"github.com/packetbench/packetbench/contract"
)

// fake is the fake engine under a name, with its switches: this test binary, see
// TestMain.
func fake(name string, switches ...string) engineSpec {
	return engineSpec{Name: name, Command: enginetest.Command(), Args: []string{}, Env: enginetest.Env(switches...)}
}

// peer is a file of the engines in .ci/peers.
func peer(t testing.TB, path ...string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".ci", "peers", "node_modules"}, path...)...))
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		t.Fatalf("the engines for tests are not installed, run .ci/npm install .ci/peers: %v", err)
	}
	return file
}

// exampleAgent is the example agent of the protocol's own SDK.
func exampleAgent(t testing.TB) engineSpec {
	t.Helper()
	return engineSpec{Name: "example", Command: "node", Args: []string{peer(t, "@agentclientprotocol", "sdk", "dist", "examples", "agent.js")}, Env: map[string]string{}}
}

// openCode is opencode with a model on loopback and a home of its own.
func openCode(t testing.TB, url string) engineSpec {
	t.Helper()
	env := map[string]string{}
	if err := privateHome(env, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{URL}", url, "{MODEL}", mainModel, "{SIDE_MODEL}", sideModel)
	for name, value := range knownSetups["opencode"] {
		env[name] = fill.Replace(value)
	}
	return engineSpec{Name: "opencode", Command: peer(t, "opencode-linux-x64", "bin", "opencode"), Args: []string{"acp"}, Env: env}
}

// engines puts engines into the settings.
func (w *window) engines(specs ...engineSpec) {
	w.t.Helper()
	w.must(contract.MethodSetSettings, map[string]any{"app": map[string]any{contract.SettingEngines: specs}}, nil)
}

// launch starts a conversation on an engine.
func (w *window) launch(engine string, id contract.ConversationID, dir, message string) {
	w.t.Helper()
	w.must(contract.MethodStart, onEngine(engine, id, dir, message), nil)
}

func onEngine(engine string, id contract.ConversationID, dir, message string) contract.StartParams {
	return contract.StartParams{SessionID: id, Provider: contract.ProviderID("acp-" + engine), ProjectPath: dir, InitialMessage: message, PermissionMode: contract.ModeAskForRisky}
}

func (w *window) send(id contract.ConversationID, message string) {
	w.t.Helper()
	w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: message}, nil)
}

// turn reads to the end of a conversation's turn, answers its prompts, and
// returns what happened as lines of kind and data.
func (w *window) turn(id contract.ConversationID, d contract.Decision) (lines []string, outcome contract.Outcome) {
	w.t.Helper()
	return w.thisTurn(id, "", d)
}

// thisTurn is turn for one by its id; empty is the next one that ends.
func (w *window) thisTurn(id contract.ConversationID, turn contract.TurnID, d contract.Decision) (lines []string, outcome contract.Outcome) {
	w.t.Helper()
	for {
		e := w.event()
		a, err := contract.ParseSubject(e.Subject)
		if err != nil || a.ID != string(id) || turn != "" && e.Turn != turn {
			continue
		}
		switch {
		case a.Kind == contract.KindPermissionRequest:
			var p contract.PermissionRequest
			if err := json.Unmarshal(e.Data, &p); err != nil {
				w.t.Fatal(err)
			}
			if d != "" {
				w.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: id, ToolID: p.ID, Decision: d}, nil)
			}
			lines = append(lines, "prompt")
		case a.Kind != "":
			lines = append(lines, string(a.Kind)+" "+string(e.Data))
		case a.What == contract.WhatNotice:
			lines = append(lines, "notice "+string(e.Data))
		case a.What == contract.WhatTurnEnded:
			var end contract.TurnEnded
			if err := json.Unmarshal(e.Data, &end); err != nil {
				w.t.Fatal(err)
			}
			return lines, end.Outcome
		}
	}
}

func (w *window) snapshot(id contract.ConversationID) contract.Conversation {
	w.t.Helper()
	var s contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: id}, &s)
	return s.Conversation
}

// free fails when a conversation is busy.
func (w *window) free(id contract.ConversationID) {
	w.t.Helper()
	c := w.snapshot(id)
	if c.TurnID != "" || c.Status == contract.StatusActive || c.NeedsYou != 0 || len(c.Queue) != 0 {
		w.t.Errorf("%s is busy: turn %q, status %s, needs you %d, queue %v", id, c.TurnID, c.Status, c.NeedsYou, c.Queue)
	}
}

// enginePID is the process of an engine, as the tree shows it.
func (w *window) enginePID(name string) int {
	w.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var tree contract.Tree
		w.must(contract.MethodTree, nil, &tree)
		if pid := childPID(tree.Root, "acp:"+name); pid != 0 && lives(pid) { // The tree is told a little later.
			return pid
		}
		if time.Now().After(end) {
			w.t.Fatalf("the tree shows no process of %s", name)
		}
	}
}

// row is a row of the picker.
func (w *window) row(id contract.RowID) contract.ProviderRow {
	w.t.Helper()
	var rows []contract.ProviderRow
	w.must(contract.MethodListProviders, nil, &rows)
	i := slices.IndexFunc(rows, func(r contract.ProviderRow) bool { return r.Row == id })
	if i < 0 {
		w.t.Fatalf("no row %s", id)
	}
	return rows[i]
}

// badgeIs waits until a row's badge has a status.
func (w *window) badgeIs(id contract.RowID, status contract.BadgeStatus) contract.Badge {
	w.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		b := w.row(id).Badge
		if b.Status == status {
			return b
		}
		if time.Now().After(end) {
			w.t.Fatalf("the badge of %s is %+v, want %s", id, b, status)
		}
	}
}

func (w *window) everything() {
	w.t.Helper()
	if _, err := w.subscribe(w.t.Context(), "new", "api-agent.>", "conversation.>"); err != nil {
		w.t.Fatal(err)
	}
}

// Issue 4, done when 3: an engine with any of these habits is handled as stated,
// and no conversation stays busy. The rows F46 to F60 of faults.md that are
// about engines are judged one by one in actors/acp; here a person sees them.
func TestACP_Misbehaving(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	cases := []struct {
		name     string
		switches []string
		message  string
		d        contract.Decision
		outcome  contract.Outcome
		part     string // Of what was heard.
		again    contract.Outcome
	}{
		{"plain", nil, "hello", "", "done", `chunk "hello "`, "done"},
		{"noise", []string{"noise"}, "hello", "", "done", `chunk "hello "`, "done"},
		{"twice", []string{"twice"}, "hello", "", "done", `chunk "hello "`, "done"},
		{"null", []string{"null"}, "hello", "", "done", `chunk "hello "`, "done"},
		{"first", []string{"first"}, "hello", "", "done", `chunk "hello "`, "done"},
		{"strings", []string{"strings"}, "tool", contract.AllowOnce, "done", `tool-result`, "done"},
		{"early", nil, "early", contract.Deny, "done", `"is_error":true`, "done"},
		{"two-ids", nil, "two", contract.AllowOnce, "done", `tool-result`, "done"},
		{"busy", []string{"busy"}, "hello", "", "error", `error`, "error"},
		{"login", []string{"login"}, "hello", "", "error", `error`, "error"},
		{"fails", nil, "fail", "", "error", `scripted failure`, "done"},
		{"forgets", []string{"load"}, "lost", "", "", ``, "done"},
		{"dies", nil, "die", "", "error", `out of memory`, "done"},
		{"crashes", []string{"crash"}, "hello", "", "error", `the configuration is broken`, "error"},
		{"version", []string{"version=9"}, "hello", "", "error", `error`, "error"},
		{"long", nil, "long 20000000", "", "done", `after the long line`, "done"},
		{"too-long", nil, "long 70000000", "", "done", `after the long line`, "done"},
		{"endless", nil, "endless", "", "error", `error`, "done"},
		{"unknown", nil, "unknown", "", "done", `-32601`, "done"},
		{"late", []string{"late=1500"}, "hello", "", "done", `chunk "hello "`, "done"},
	}
	specs := make([]engineSpec, 0, len(cases))
	for _, tc := range cases {
		specs = append(specs, fake(tc.name, tc.switches...))
	}
	w.engines(specs...)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w := p.window(t)
			id := contract.ConversationID("c-" + tc.name)
			w.follow("new", id)
			err := w.call(t.Context(), contract.MethodStart, onEngine(tc.name, id, project(t), tc.message), nil)
			if err != nil && tc.outcome != "error" {
				t.Fatal(err)
			}
			if err == nil {
				lines, outcome := w.turn(id, tc.d)
				if tc.outcome != "" && outcome != tc.outcome || !strings.Contains(strings.Join(lines, "\n"), tc.part) {
					t.Errorf("ends as %s, want %s with %q:\n%s", outcome, tc.outcome, tc.part, clipped(lines))
				}
			} else if !strings.Contains(err.Error(), tc.part) && tc.part != "error" {
				t.Errorf("refused with %v, want %q", err, tc.part)
			}
			w.free(id)
			// The next message is as good as the first.
			var sent contract.SendResult
			err = w.call(t.Context(), contract.MethodSend, contract.SendParams{SessionID: id, Message: "hello"}, &sent)
			if err != nil && tc.again != "error" {
				t.Fatal(err)
			}
			if err == nil {
				if lines, outcome := w.thisTurn(id, sent.TurnID, contract.AllowOnce); outcome != tc.again {
					t.Errorf("the next turn ends as %s, want %s:\n%s", outcome, tc.again, clipped(lines))
				}
			}
			w.free(id)
		})
	}
	if code := p.term(); code != 0 {
		t.Errorf("the service ends with code %d", code)
	}
}

// clipped is lines for a failure message.
func clipped(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l[:min(len(l), 300)] + "\n")
	}
	return b.String()
}

// An engine that does not hear a cancel, or is stopped like a machine that
// sleeps, is ended by force; the turn with it, and its successor goes on.
func TestACP_Deaf(t *testing.T) {
	for _, tc := range []struct {
		name     string
		switches []string
		freeze   bool
	}{
		{"deaf", []string{"deaf"}, false},
		{"stubborn", []string{"deaf", "stubborn"}, false},
		{"asleep", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, t.TempDir(), nil)
			w := p.window(t)
			w.engines(fake("x", tc.switches...))
			w.follow("new", "c-1")
			w.launch("x", "c-1", project(t), "slow")
			w.until("api-agent.chunk.")
			pid := w.enginePID("x")
			if tc.freeze {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			w.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"}, nil)
			if lines, outcome := w.turn("c-1", ""); outcome != contract.OutcomeError {
				t.Errorf("the turn ends as %s:\n%s", outcome, clipped(lines))
			}
			if w.enginePID("x") == pid { // It waits for one that lives.
				t.Error("the old engine is still there")
			}
			w.send("c-1", "hello")
			if lines, outcome := w.turn("c-1", ""); outcome != contract.OutcomeDone {
				t.Errorf("the next turn ends as %s:\n%s", outcome, clipped(lines))
			}
			w.free("c-1")
		})
	}
}

// Issue 4, done when 4: kill -9 of the engine in the middle of a turn and idle.
// Only a conversation with a turn in flight hears of it; the next message takes
// the session up again, without its history coming twice. The fourth death is
// the last until an operator resets it.
func TestACP_KilledOverAndOver(t *testing.T) {
	store := t.TempDir()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.engines(fake("x", "load", "replay", "store="+store), fake("other"))
	w.everything()
	dir := project(t)
	w.launch("x", "busy", dir, "hello")
	w.turn("busy", "")
	w.launch("x", "idle", dir, "hello")
	w.turn("idle", "")
	w.launch("other", "other", dir, "slow")
	w.until("api-agent.chunk.other")
	for kill := 1; kill <= 3; kill++ {
		w.send("busy", "slow")
		w.until("api-agent.chunk.busy")
		pid := w.enginePID("x")
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		lines, outcome := w.turn("busy", "")
		if outcome != contract.OutcomeError || !strings.Contains(lines[len(lines)-1], "The engine stopped") && !strings.Contains(strings.Join(lines, "\n"), "The engine stopped") {
			t.Errorf("kill %d: ends as %s:\n%s", kill, outcome, clipped(lines))
		}
		if kill == 3 {
			break
		}
		for _, id := range []contract.ConversationID{"busy", "idle"} {
			w.send(id, "hello")
			lines, outcome := w.turn(id, "")
			if outcome != contract.OutcomeDone || strings.Contains(strings.Join(lines, "\n"), "old answer") || strings.Contains(strings.Join(lines, "\n"), "notice") {
				t.Errorf("kill %d: %s goes on as %s:\n%s", kill, id, outcome, clipped(lines))
			}
		}
	}
	// The fourth.
	w.send("busy", "slow")
	w.until("api-agent.chunk.busy")
	if err := syscall.Kill(w.enginePID("x"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.turn("busy", "")
	if b := w.badgeIs("acp-x", contract.BadgeServiceDown); b.Hint == "" {
		t.Errorf("down without a hint: %+v", b)
	}
	err := w.call(t.Context(), contract.MethodSend, contract.SendParams{SessionID: "idle", Message: "hello"}, nil)
	if err == nil {
		if lines, outcome := w.turn("idle", ""); outcome != contract.OutcomeError {
			t.Errorf("a turn of an engine that is down ends as %s:\n%s", outcome, clipped(lines))
		}
	}
	w.free("idle")
	// Its sibling never noticed.
	if c := w.snapshot("other"); c.TurnID == "" {
		t.Error("the other engine's turn is over")
	}
	w.must(contract.MethodCancel, contract.SessionParams{SessionID: "other"}, nil)
	if _, outcome := w.turn("other", ""); outcome != contract.OutcomeCancelled {
		t.Errorf("the other engine's turn ends as %s", outcome)
	}
	w.must(contract.MethodResetActor, contract.ActorParams{Name: "acp:x"}, nil)
	w.badgeIs("acp-x", contract.BadgeReady)
	w.send("busy", "hello")
	if lines, outcome := w.turn("busy", ""); outcome != contract.OutcomeDone {
		t.Errorf("after the reset: %s\n%s", outcome, clipped(lines))
	}
	// What was asked is in the transcript once each.
	asked := 0
	for _, m := range w.snapshot("busy").Messages {
		if m.Role == contract.RoleUser {
			asked++
		}
	}
	if asked != 8 {
		t.Errorf("%d user messages, want 8", asked)
	}
	if code := p.term(); code != 0 {
		t.Errorf("the service ends with code %d", code)
	}
}

// Kill -9 of the service leaves no engine behind, and the next start takes the
// session up again.
func TestACP_ServiceKilled(t *testing.T) {
	home, store := t.TempDir(), t.TempDir()
	p := serve(t, home, nil)
	w := p.window(t)
	w.engines(fake("x", "load", "replay", "stubborn", "store="+store))
	w.follow("new", "c-1")
	w.launch("x", "c-1", project(t), "hello")
	w.turn("c-1", "")
	w.send("c-1", "slow")
	w.until("api-agent.chunk.")
	pid := w.enginePID("x")
	p.kill()
	q := serve(t, home, nil)
	if lives(pid) {
		t.Error("the engine outlived the service and its next start")
	}
	w = q.window(t)
	w.follow("new", "c-1")
	w.free("c-1")
	w.send("c-1", "hello")
	if lines, outcome := w.turn("c-1", ""); outcome != contract.OutcomeDone || strings.Contains(strings.Join(lines, "\n"), "old answer") {
		t.Errorf("goes on as %s:\n%s", outcome, clipped(lines))
	}
	pid = w.enginePID("x")
	if code := q.term(); code != 0 {
		t.Errorf("the service ends with code %d", code)
	}
	if lives(pid) {
		t.Error("a stubborn engine outlived an orderly stop")
	}
}

// Two engines at once, and two sessions in one of them.
func TestACP_Together(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.engines(fake("a"), fake("b", "strings"))
	w.everything()
	dir := project(t)
	ids := []contract.ConversationID{"a-1", "a-2", "b-1", "b-2"}
	for _, id := range ids {
		w.launch(string(id[:1]), id, dir, "tool")
	}
	// All four wait for their answers at once.
	prompts := map[contract.ConversationID]string{}
	for len(prompts) < len(ids) {
		e := w.event()
		if a, err := contract.ParseSubject(e.Subject); err == nil && a.Kind == contract.KindPermissionRequest {
			var r contract.PermissionRequest
			if err := json.Unmarshal(e.Data, &r); err != nil {
				t.Fatal(err)
			}
			prompts[contract.ConversationID(a.ID)] = r.ID
		}
	}
	ended := map[string]string{}
	for id, prompt := range prompts {
		d := contract.AllowOnce
		if id == "a-2" {
			d = contract.Deny
		}
		w.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: id, ToolID: prompt, Decision: d}, nil)
	}
	results := map[string]bool{}
	for len(ended) < len(ids) {
		e := w.event()
		a, err := contract.ParseSubject(e.Subject)
		if err != nil {
			continue
		}
		switch {
		case a.Kind == contract.KindToolResult:
			var r contract.ToolResult
			if err := json.Unmarshal(e.Data, &r); err != nil {
				t.Fatal(err)
			}
			results[string(a.ID)] = r.IsError
		case a.What == contract.WhatTurnEnded:
			ended[string(a.ID)] = string(e.Data)
		}
	}
	for _, id := range ids {
		if refused, ok := results[string(id)]; !ok || refused != (id == "a-2") || !strings.Contains(ended[string(id)], `"done"`) {
			t.Errorf("%s: result %v, refused %v, %s", id, ok, refused, ended[string(id)])
		}
		w.free(id)
	}
	if w.enginePID("a") == w.enginePID("b") {
		t.Error("two engines share a process")
	}
}

// What an engine holds is listed, and opening a session shows none of its
// history but says where that is.
func TestACP_OnTheEngine(t *testing.T) {
	store := t.TempDir()
	file(t, filepath.Join(store, "held-1"), "what was asked before")
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.engines(fake("x", "load", "list", "replay", "store="+store), fake("silent"))
	var held contract.EngineSessions
	w.must(contract.MethodEngineSessions, contract.EngineParams{Provider: "acp-x"}, &held)
	if !held.CanOpen || len(held.Sessions) != 2 || held.Sessions[0].SessionID != "held-1" || held.Sessions[0].Name != "First" || held.Sessions[1].SessionID != "held-2" {
		t.Errorf("held %+v", held)
	}
	var none contract.EngineSessions
	w.must(contract.MethodEngineSessions, contract.EngineParams{Provider: "acp-silent"}, &none)
	if none.CanOpen || len(none.Sessions) != 0 {
		t.Errorf("an engine without a list holds %+v", none)
	}
	w.follow("new", "c-1")
	start := onEngine("x", "c-1", project(t), "hello")
	start.EngineSessionID = "held-1"
	w.must(contract.MethodStart, start, nil)
	lines, outcome := w.turn("c-1", "")
	heard := strings.Join(lines, "\n")
	if outcome != contract.OutcomeDone || strings.Contains(heard, "old answer") || !strings.Contains(heard, `chunk "hello "`) {
		t.Errorf("the opened session's turn ends as %s:\n%s", outcome, clipped(lines))
	}
	told := false
	for _, m := range w.snapshot("c-1").Messages {
		told = told || m.Role == contract.RoleSystem && strings.Contains(m.Content, "engine")
	}
	if !told {
		t.Error("nothing in the transcript says where the history is")
	}
}

// The rows of the picker: models and capabilities as the engine has told.
func TestACP_Rows(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.engines(fake("plain"), fake("modes", "modes", "images"), engineSpec{Name: "lost", Command: "no-such-engine", Args: []string{}, Env: map[string]string{}})
	if b := w.row("api-packetcode").Badge; b.Status != contract.BadgeMissingKey || !strings.HasPrefix(b.Hint, "packetcode engine not found") {
		t.Errorf("packetcode: %+v", b)
	}
	if b := w.row("acp-lost").Badge; b.Status != contract.BadgeMissingKey || b.Hint != "no-such-engine was not found. Fix the engine in Settings > Providers." {
		t.Errorf("lost: %+v", b)
	}
	if r := w.row("acp-modes"); r.Badge.Status != contract.BadgeReady || len(r.Models) != 0 || r.Capabilities.ModelsAreAuthoritative {
		t.Errorf("before it was started: %+v", r)
	}
	if text := w.refused(contract.MethodStart, onEngine("lost", "c-0", project(t), "hello"), contract.CodeConflict); !strings.Contains(text, "was not found") {
		t.Errorf("a start of it is refused with %q", text)
	}
	w.follow("new", "c-1")
	w.launch("modes", "c-1", project(t), "hello")
	w.turn("c-1", "")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r := w.row("acp-modes")
		if len(r.Models) == 2 && r.Capabilities.ImageAttachments {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after its first session: %+v", r)
		}
	}
	var badge contract.Badge
	w.must(contract.MethodProviderAuth, contract.ProviderParams{Provider: "acp-plain"}, &badge)
	if badge.Status != contract.BadgeReady {
		t.Errorf("plain: %+v", badge)
	}
	w.refused(contract.MethodProviderAuth, contract.ProviderParams{Provider: "acp-nobody"}, contract.CodeBadParams)
	w.refused(contract.MethodSetSettings, json.RawMessage(`{"app":{"engines":[{"name":"A B","command":"x"}]}}`), contract.CodeBadParams)
	w.refused(contract.MethodPinEngine, contract.PinEngineParams{Path: "relative"}, contract.CodeBadParams)
	var probe contract.EngineProbe
	w.must(contract.MethodPinEngine, contract.PinEngineParams{Path: "/bin/true"}, &probe)
	if !probe.Found || probe.Compatible {
		t.Errorf("a pinned program that is no engine: %+v", probe)
	}
	if b := w.row("api-packetcode").Badge; b.Status != contract.BadgeServiceDown || b.Hint != "The packetcode engine did not report a version." {
		t.Errorf("packetcode, pinned: %+v", b)
	}
}

// One turn from the shell: the engine's own model answers, and what it asks is
// refused since nobody is there.
func TestACP_Run(t *testing.T) {
	home := t.TempDir()
	p := serve(t, home, nil)
	p.window(t).engines(fake("x"))
	for _, tc := range []struct {
		prompt, out string
		code        int
	}{{"hello", "hello you", 0}, {"tool", "done", exitUnanswered}, {"fail", "", exitTurnError}} {
		cmd := exec.CommandContext(t.Context(), binary(t), "run", "--home", home, "--provider", "acp-x", "--project", project(t), tc.prompt)
		cmd.Env = environment(home)
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		_ = cmd.Run() // The code says it.
		if code := cmd.ProcessState.ExitCode(); code != tc.code || strings.TrimSpace(out.String()) != tc.out {
			t.Errorf("%s: exit %d, %q\n%s", tc.prompt, code, out.String(), log.String())
		}
	}
}

// Issue 4, done when 2: the example agent of the protocol's SDK completes turns
// with tools and permissions, allowed, denied and cancelled.
func TestACP_ExampleAgent(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.engines(exampleAgent(t))
	w.follow("new", "c-1")
	w.launch("example", "c-1", project(t), "Hello")
	lines, outcome := w.turn("c-1", contract.AllowOnce)
	heard := strings.Join(lines, "\n")
	for _, want := range []string{"tool-start", "tool-result", "prompt", "chunk"} {
		if !strings.Contains(heard, want) {
			t.Errorf("no %s:\n%s", want, clipped(lines))
		}
	}
	if outcome != contract.OutcomeDone || strings.Count(heard, "tool-result") != 2 {
		t.Errorf("ends as %s:\n%s", outcome, clipped(lines))
	}
	w.send("c-1", "Hello")
	if lines, outcome := w.turn("c-1", contract.Deny); outcome != contract.OutcomeDone {
		t.Errorf("denied: ends as %s:\n%s", outcome, clipped(lines))
	}
	w.send("c-1", "Hello")
	w.until("api-agent.chunk.")
	w.must(contract.MethodCancel, contract.SessionParams{SessionID: "c-1"}, nil)
	if lines, outcome := w.turn("c-1", ""); outcome != contract.OutcomeCancelled {
		t.Errorf("cancelled: ends as %s:\n%s", outcome, clipped(lines))
	}
	w.free("c-1")
	if code := p.term(); code != 0 {
		t.Errorf("the service ends with code %d", code)
	}
}

// The same for opencode with a model of ours, and after its death.
func TestACP_OpenCode(t *testing.T) {
	model := loopback.NewAny(mainModel, sideModel)
	t.Cleanup(model.Close)
	calls := 0
	model.Choose(func(r loopback.Recorded) loopback.Turn {
		body := string(r.Body)
		switch i := strings.LastIndex(body, `"role":`); {
		case !strings.Contains(body, `"tools":`):
			return llmtest.Say("A title")
		case strings.HasPrefix(body[i:], `"role":"tool"`):
			return llmtest.Say("The tool has run.")
		case strings.LastIndex(body, "RUN_SHELL") > strings.LastIndex(body, "SAY_HELLO"):
			calls++
			return llmtest.Turn{Calls: []llmtest.Call{{ID: fmt.Sprintf("call_%d", calls), Name: "bash", Arguments: `{"command":"echo hello-from-tool","description":"greet"}`}}}
		}
		return llmtest.Say("Hello there.")
	})
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	w.engines(openCode(t, model.URL))
	w.follow("new", "c-1")
	w.launch("opencode", "c-1", project(t), "SAY_HELLO")
	if lines, outcome := w.turn("c-1", ""); outcome != contract.OutcomeDone || !strings.Contains(strings.Join(lines, "\n"), `chunk "Hello `) {
		t.Errorf("hello: ends as %s:\n%s", outcome, clipped(lines))
	}
	w.send("c-1", "RUN_SHELL")
	if lines, outcome := w.turn("c-1", contract.AllowOnce); outcome != contract.OutcomeDone || !strings.Contains(strings.Join(lines, "\n"), "hello-from-tool") {
		t.Errorf("a command: ends as %s:\n%s", outcome, clipped(lines))
	}
	w.send("c-1", "RUN_SHELL")
	if lines, _ := w.turn("c-1", contract.Deny); !strings.Contains(strings.Join(lines, "\n"), `"is_error":true`) {
		t.Errorf("a command that was denied:\n%s", clipped(lines))
	}
	if err := syscall.Kill(w.enginePID("opencode"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.send("c-1", "SAY_HELLO")
	lines, outcome := w.turn("c-1", "")
	if outcome != contract.OutcomeDone && outcome != contract.OutcomeError { // The kill may be heard in the turn.
		t.Errorf("after its death: ends as %s:\n%s", outcome, clipped(lines))
	}
	w.send("c-1", "SAY_HELLO")
	if lines, outcome := w.turn("c-1", ""); outcome != contract.OutcomeDone || strings.Contains(strings.Join(lines, "\n"), "no longer holds") {
		t.Errorf("taken up again: ends as %s:\n%s", outcome, clipped(lines))
	}
	w.free("c-1")
	if code := p.term(); code != 0 {
		t.Errorf("the service ends with code %d", code)
	}
}

// The tool of engine authors, with an engine that plays its own and with one
// whose model is scripted.
func TestACP_ConformanceTool(t *testing.T) {
	for _, tc := range []struct {
		name    string
		command []string
		code    int
		want    []string
	}{
		{
			// That agent answers a cancel of a turn that waits for a permission
			// with end_turn, which the protocol does not allow.
			"example agent",
			[]string{"node", exampleAgent(t).Args[0]},
			1,
			[]string{
				"passed   own turns", "passed   own prompt denied", "passed   own crash", "skipped  plain: the engine plays turns of its own",
				"failed   own cancel with a prompt open\n         scenario: turn 1 ends as done, want cancelled", "acp: 6 passed, 1 failed",
			},
		},
		{
			"opencode",
			[]string{openCode(t, "").Command, "acp"},
			0,
			[]string{
				"passed   plain", "passed   permission allowed", "passed   cancelled in a tool", "passed   crash", "passed   queue while streaming",
				"skipped  plan: ", "skipped  three prompts: ", "allowed  rate limit", "differs  turn-summary", " 0 failed",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // Both mostly wait.
			var out, log bytes.Buffer
			cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"conformance", "acp", "--"}, tc.command...)...)
			cmd.Env, cmd.Stdout, cmd.Stderr = environment(t.TempDir()), &out, &log
			cmd.Dir = t.TempDir()
			_ = cmd.Run() // The code says it.
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q", want)
				}
			}
			if code := cmd.ProcessState.ExitCode(); code != tc.code || t.Failed() {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), log.String())
			}
		})
	}
	// What cannot be judged says so in one line.
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"conformance", "acp", "--", "no-such-engine"}, 1, "no-such-engine was not found"},
		{[]string{"conformance", "acp", "--", "/bin/true"}, 1, "packetbench: "},
		{[]string{"conformance", "acp"}, 2, "command"},
		{[]string{"conformance", "acp", "--env", "nonsense", "--", "node"}, 2, "--env: want NAME=VALUE"},
	} {
		cmd := exec.CommandContext(t.Context(), binary(t), tc.args...)
		cmd.Env = environment(t.TempDir())
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(string(out), tc.want) {
			t.Errorf("%v: exit %d, %s", tc.args, code, out)
		}
	}
}
