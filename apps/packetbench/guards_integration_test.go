//go:build integration && linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
)

// file writes one file of a test.
func file(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused makes a call that must fail with a code.
func (w *window) refused(m contract.Method, params any, code int) string {
	w.t.Helper()
	err := w.call(w.t.Context(), m, params, nil)
	var f *contract.Failure
	if !errors.As(err, &f) || f.Code != code {
		w.t.Fatalf("%s: %v; want code %d", m, err, code)
	}
	return f.Message
}

// A limit that is spent refuses a launch with a sentence and leaves nothing; an
// override lets it through, and the demo, which costs nothing, always starts.
func TestService_CostLimits(t *testing.T) {
	home := t.TempDir()
	now := time.Now().UTC().Format(time.RFC3339)
	file(t, filepath.Join(home, "usage.jsonl"), fmt.Sprintf(`{"ts":%q,"source":"api-custom","model":"m","provider":"custom","agent_id":null,"session_id":"old","input_tokens":1,"output_tokens":1,"cost_usd":1.25}`+"\n", now))
	provider := llmtest.NewKeylessChat(t, llmtest.Turn{Text: []string{"hello"}}, llmtest.Turn{Text: []string{"hello"}})
	p := serve(t, home, []string{"PACKETBENCH_CUSTOM_COMPAT_URL=" + provider.URL + "/v1"})
	w := p.window(t)
	dir := project(t)
	launch := func(id contract.ConversationID, provider contract.ProviderID) contract.StartParams {
		return contract.StartParams{SessionID: id, Provider: provider, Model: "demo", ProjectPath: dir, InitialMessage: "hello", PermissionMode: contract.ModeAuto}
	}
	w.must(contract.MethodStart, launch("before", "custom"), nil)
	w.must(contract.MethodSetSettings, json.RawMessage(`{"app":{"providerLimitsUsd":{"api-custom":1}}}`), nil)
	w.follow("new", "c-1")
	text := w.refused(contract.MethodStart, launch("c-1", "custom"), contract.CodeConflict)
	if !strings.HasPrefix(text, "The monthly cost limit of api-custom is reached: 1.25 USD of 1.00 USD are spent. Raise the limit") {
		t.Errorf("refused with %q", text)
	}
	if e := w.event(); !strings.HasPrefix(e.Subject, "api-agent.error.") || !strings.Contains(string(e.Data), "cost limit") {
		t.Errorf("heard %s %s", e.Subject, e.Data)
	}
	w.refused(contract.MethodOneShot, contract.OneShotParams{SessionID: "one", Task: "pr-review", Prompt: "x", Provider: "custom", Model: "m"}, contract.CodeConflict)
	w.refused(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}, contract.CodeNotFound)
	var list []contract.Summary
	w.must(contract.MethodListConversations, struct{}{}, &list)
	if len(list) != 1 || list[0].SessionID != "before" {
		t.Errorf("listed %+v", list)
	}
	if _, err := os.Stat(filepath.Join(home, "conversations", "c-1.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused conversation has a file: %v", err)
	}
	w.must(contract.MethodStart, launch("free", "demo"), nil)
	until := time.Now().Add(24 * time.Hour).UnixMilli()
	w.must(contract.MethodSetSettings, json.RawMessage(fmt.Sprintf(`{"app":{"overrideUntilByKey":{"provider:api-custom":%d}}}`, until)), nil)
	w.must(contract.MethodStart, launch("c-1", "custom"), nil)
	heard := w.until("conversation.notice.")
	if last := heard[len(heard)-1]; !strings.Contains(string(last.Data), "overridden") || strings.Contains(string(last.Data), "USD") {
		t.Errorf("notice %s", last.Data)
	}
	for _, id := range []string{"index", "Index"} {
		if got := w.refused(contract.MethodStart, launch(contract.ConversationID(id), "demo"), contract.CodeBadParams); got != fmt.Sprintf("session_id: %q is reserved", id) {
			t.Errorf("id %s: %q", id, got)
		}
	}
	w.must(contract.MethodListConversations, struct{}{}, &list)
	if len(list) != 3 {
		t.Errorf("listed %+v at the end", list)
	}
}

// A conversation that was finished long ago is archived by the next start: in
// the list, in the log from which a client continues, and in what it says of
// itself.
func TestService_AutoArchive(t *testing.T) {
	home := t.TempDir()
	stored := func(id string, status contract.Status, days int) {
		at := time.Now().Add(-time.Duration(days) * 24 * time.Hour).UnixMilli()
		body, err := contract.Marshal(&contract.Record{
			ID: contract.ConversationID(id), Title: id, Agent: "api-demo", Mode: "api", Provider: "demo", Model: "demo", ProjectPath: "/p",
			CreatedAt: at, UpdatedAt: at, Status: status, PermissionMode: contract.ModeAuto, Owner: contract.TransportInProcess,
			Messages: []contract.RecordMessage{{ID: "m-1", Role: contract.RoleUser, Content: "hello"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		file(t, filepath.Join(home, "conversations", id+".json"), string(body))
	}
	stored("old", contract.StatusDone, 20)
	stored("recent", contract.StatusDone, 2)
	stored("idle", contract.StatusIdle, 200)
	p := serve(t, home, nil)
	w := p.window(t)
	var list []contract.Summary
	w.must(contract.MethodListConversations, struct{}{}, &list)
	for _, s := range list {
		if s.Archived != (s.SessionID == "old") {
			t.Errorf("%s archived: %v", s.SessionID, s.Archived)
		}
	}
	w.follow("all", "old")
	if e := w.event(); e.Subject != "conversation.updated.old" || string(e.Data) != `{"archived":true}` {
		t.Errorf("heard %s %s", e.Subject, e.Data)
	}
	var snap contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "old"}, &snap)
	if !snap.Conversation.Archived || len(snap.Conversation.Messages) != 1 {
		t.Errorf("snapshot %+v", snap.Conversation)
	}
}

// Hooks of the person and, once it is trusted, of the project around a whole
// conversation: session, veto, tools in order, the end at close, and nothing of
// them left when the service stops while one runs.
func TestService_Hooks(t *testing.T) {
	home := t.TempDir()
	log := filepath.Join(home, "hooks.log")
	file(t, filepath.Join(home, ".claude", "settings.json"), strings.ReplaceAll(`{"hooks":[
		{"event":"SessionStart","command":"cat >>LOG"},{"event":"SessionEnd","command":"cat >>LOG"},
		{"event":"PreToolUse","command":"cat >>LOG"},{"event":"PostToolUse","command":"cat >>LOG"},
		{"event":"PreToolUse","matcher":"Bash(echo:*)","command":"exit 3"}]}`, "LOG", log))
	dir := project(t)
	file(t, filepath.Join(dir, ".claude", "settings.json"), `{"hooks":[{"event":"PreToolUse","matcher":"write_file","command":"echo project; exit 1"}]}`)
	p := serve(t, home, nil)
	w := p.window(t)
	const id = contract.ConversationID("hooked")
	w.follow("new", id)
	launch := contract.StartParams{SessionID: id, Provider: "demo", Model: "demo", ProjectPath: dir, InitialMessage: "edit and run", PermissionMode: contract.ModeAllowAll}
	results := func(events []contract.Envelope) map[string]contract.ToolResult {
		out := map[string]contract.ToolResult{}
		for _, e := range events {
			if strings.HasPrefix(e.Subject, "api-agent.tool-result.") {
				var r contract.ToolResult
				if err := json.Unmarshal(e.Data, &r); err != nil {
					t.Fatal(err)
				}
				out[r.Name] = r
			}
		}
		return out
	}
	w.must(contract.MethodStart, launch, nil)
	got := results(w.until("conversation.turn-ended."))
	if r := got["bash"]; !r.IsError || r.Content != "Blocked by PreToolUse hook: exit 3" {
		t.Errorf("bash %+v", r)
	}
	if r := got["write_file"]; r.IsError { // The project is not trusted.
		t.Errorf("write_file %+v", r)
	}
	if !strings.Contains(p.logged(), "hooks of an untrusted project ignored") {
		t.Error("the log does not say that hooks were ignored")
	}
	w.must(contract.MethodTrustProject, contract.TrustProjectParams{ProjectPath: dir, Trusted: true}, nil)
	w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "edit"}, nil)
	got = results(w.until("conversation.turn-ended."))
	if r := got["write_file"]; !r.IsError || r.Content != "Blocked by PreToolUse hook: echo project; exit 1" {
		t.Errorf("write_file of a trusted project %+v", r)
	}
	w.must(contract.MethodClose, contract.SessionParams{SessionID: id}, nil)
	var lines []string
	deadline := time.Now().Add(patience)
	for {
		content, err := os.ReadFile(log)
		if err == nil {
			lines = strings.Split(strings.TrimSpace(string(content)), "\n")
		}
		if len(lines) > 0 && strings.Contains(lines[len(lines)-1], "SessionEnd") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no SessionEnd: %q", lines)
		}
		time.Sleep(10 * time.Millisecond)
	}
	starts := 0
	for i, l := range lines {
		if strings.Contains(l, `"SessionStart"`) {
			starts++
			if i != 0 {
				t.Errorf("SessionStart is line %d", i)
			}
		}
		if !strings.HasPrefix(l, `{"session_id":"hooked","event":"`) {
			t.Errorf("line %q", l)
		}
	}
	tool := func(event, name string) int {
		return slices.IndexFunc(lines, func(l string) bool {
			return strings.Contains(l, `"event":"`+event+`","tool_name":"`+name+`"`)
		})
	}
	if starts != 1 || tool("PreToolUse", "bash") < 0 || tool("PostToolUse", "bash") >= 0 || tool("PostToolUse", "write_file") < tool("PreToolUse", "write_file") {
		t.Errorf("hooks heard %q", lines)
	}

	// A stop while a hook runs.
	file(t, filepath.Join(home, ".claude", "settings.json"), `{"hooks":[{"event":"SessionStart","command":"echo $$ >`+log+`.pid; sleep 1000"}]}`)
	launch.SessionID = "stopped"
	w.must(contract.MethodStart, launch, nil)
	var pid string
	for deadline := time.Now().Add(patience); pid == ""; time.Sleep(10 * time.Millisecond) {
		content, _ := os.ReadFile(log + ".pid")
		pid = strings.TrimSpace(string(content))
		if time.Now().After(deadline) {
			t.Fatal("the hook never ran")
		}
	}
	if code := p.term(); code != 0 {
		t.Errorf("stopped with %d:\n%s", code, p.logged())
	}
	if _, err := os.Stat("/proc/" + pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the hook %s outlives the service", pid)
	}
}

// A key file that somebody else changed is told to every window; one that the
// service wrote itself once, by whoever asked for it.
func TestService_KeyFileWatched(t *testing.T) {
	home := t.TempDir()
	p := serve(t, home, nil)
	w := p.window(t)
	if _, err := w.subscribe(t.Context(), "new", contract.SubjectProviderAuth); err != nil {
		t.Fatal(err)
	}
	provider := func(e contract.Envelope) contract.AuthProbe {
		t.Helper()
		var a contract.ProviderAuth
		if err := json.Unmarshal(e.Data, &a); err != nil {
			t.Fatal(err)
		}
		return a.Provider
	}
	w.must(contract.MethodSetKey, json.RawMessage(`{"account":"api-key-openrouter","value":"sk-or-0123456789abcdef"}`), nil)
	if got := provider(w.event()); got != "openrouter" {
		t.Fatalf("after our own change: %s", got)
	}
	keys := filepath.Join(home, "keys.age")
	content, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	file(t, keys+".copy", string(content))
	if err := os.Rename(keys+".copy", keys); err != nil {
		t.Fatal(err)
	}
	var got []contract.AuthProbe
	for range keyProbes() {
		got = append(got, provider(w.event()))
	}
	// Had our own write been told again, it would be in the first of these.
	if !slices.Equal(got, keyProbes()) {
		t.Errorf("told %v, want %v", got, keyProbes())
	}
}
