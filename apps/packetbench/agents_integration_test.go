//go:build integration

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// repository is a git project with one commit, and git as a person runs it.
func repository(t *testing.T) (dir string, git func(dir string, args ...string) string) {
	t.Helper()
	dir = project(t)
	git = func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(dir, "init", "--quiet", "--initial-branch=main")
	git(dir, "config", "user.name", "A")
	git(dir, "config", "user.email", "a@example.org")
	git(dir, "add", "--all")
	git(dir, "commit", "--quiet", "-m", "first")
	return dir, git
}

// seen reads events up to a patch that has the key, and returns its value.
func (w *window) seen(key string) json.RawMessage {
	w.t.Helper()
	for {
		e := w.event()
		var patch contract.Patch
		if strings.HasPrefix(e.Subject, "conversation.updated.") && json.Unmarshal(e.Data, &patch) == nil && patch[key] != nil {
			return patch[key]
		}
	}
}

// The life of a worktree through the doors: launched in it, worked in, a kill of
// the service in between, after which what was not committed is still there
// (F33), landed, and the one of another conversation deleted with what it held.
func TestAgents_Worktree(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	home := t.TempDir()
	p := serve(t, home, nil)
	w := p.window(t)
	start := contract.StartParams{
		SessionID: "w-1", Provider: "demo", Model: "demo", ProjectPath: dir, InitialMessage: "hello", PermissionMode: contract.ModeAllowAll, Worktree: true,
	}
	w.follow("all", "w-1")
	w.must(contract.MethodStart, start, nil)
	w.until("conversation.turn-ended.")
	var shot contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "w-1"}, &shot)
	c := shot.Conversation
	if c.Worktree == nil || c.Worktree.Branch != "pkt/w-1" || c.ProjectPath != filepath.Join(dir, ".pkt-worktrees", "w-1") || c.Worktree.BasePath != dir {
		t.Fatalf("%+v in %s", c.Worktree, c.ProjectPath)
	}
	if c.Git == nil || c.Git.Branch != "pkt/w-1" {
		w.seen(contract.PatchGit)
	}
	if err := os.WriteFile(filepath.Join(c.ProjectPath, "made.txt"), []byte("made\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := git(dir, "status", "--porcelain"); got != "" && !strings.Contains(got, "packetbench-demo") {
		t.Errorf("the root checkout is touched: %q", got)
	}

	p.kill()
	p = serve(t, home, nil)
	w = p.window(t)
	var status contract.WorktreeStatus
	w.must(contract.MethodWorktree, contract.SessionParams{SessionID: "w-1"}, &status)
	if status.IsClean || !status.Exists || status.Legacy || status.Problem != "" {
		t.Errorf("%+v", status)
	}
	var confirm contract.Confirm
	w.must(contract.MethodConfirmDelete, contract.SessionParams{SessionID: "w-1"}, &confirm)
	if confirm.Button != "Delete and discard changes" || len(confirm.Lines) != 3 || !strings.Contains(confirm.Lines[0], "UNCOMMITTED") || confirm.Lines[2] != "pkt/w-1" {
		t.Errorf("%+v", confirm)
	}
	var out contract.WorktreeOutcome
	w.must(contract.MethodDiscardWorktree, contract.DiscardParams{SessionID: "w-1"}, &out)
	if out.Confirm == nil || out.Confirm.Button != "Discard anyway" {
		t.Fatalf("%+v", out)
	}
	w.follow("new", "w-1")
	w.must(contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "w-1"}, &out)
	head := git(dir, "rev-parse", "HEAD")
	if out.Message != "Landed pkt/w-1 \u2192 "+head[:7] || out.CommitSHA != head || !out.WorktreeRemoved || !out.BranchDeleted || out.Worktree.State != "landed" {
		t.Errorf("%+v", out)
	}
	if raw := w.seen("worktree"); !strings.Contains(string(raw), `"landed"`) {
		t.Errorf("told %s", raw)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "made.txt")); err != nil || string(got) != "made\n" {
		t.Errorf("landed %q %v", got, err)
	}
	if got := w.refused(contract.MethodSend, contract.SendParams{SessionID: "w-1", Message: "more"}, contract.CodeConflict); !strings.Contains(got, "worktree is gone") {
		t.Errorf("a send behind it: %q", got)
	}

	start.SessionID = "w-2"
	w.must(contract.MethodStart, start, nil)
	var deleted contract.DeleteResult
	w.must(contract.MethodDelete, contract.SessionParams{SessionID: "w-2"}, &deleted)
	if _, err := os.Stat(filepath.Join(dir, ".pkt-worktrees", "w-2")); deleted.Problem != "" || err == nil || git(dir, "branch", "--list", "pkt/*") != "" {
		t.Errorf("%+v; the worktree is left: %v", deleted, err)
	}

	start.SessionID, start.ProjectPath = "w-3", project(t)
	if got := w.refused(contract.MethodStart, start, contract.CodeConflict); !strings.Contains(got, "not a git repository") {
		t.Errorf("no repository: %q", got)
	}
	var list []contract.Summary
	w.must(contract.MethodListConversations, contract.Empty{}, &list)
	if slices.ContainsFunc(list, func(s contract.Summary) bool { return s.SessionID != "w-1" }) {
		t.Errorf("a refused launch is listed: %+v", list)
	}
}

// Layers are frozen at the launch and shown; a profile gives its tools and its
// posture where the launch says nothing.
func TestAgents_Layers(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Use tabs."), 0o644); err != nil {
		t.Fatal(err)
	}
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	var profiles contract.Profiles
	w.must(contract.MethodCloneProfile, contract.ProfileParams{ID: contract.ProfileScout}, &profiles)
	w.must(contract.MethodStart, contract.StartParams{SessionID: "l-1", Provider: "demo", Model: "demo", ProjectPath: dir, Profile: profiles.ID}, nil)
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Use spaces."), 0o644); err != nil {
		t.Fatal(err)
	}
	var layers contract.PromptLayers
	w.must(contract.MethodPromptLayers, contract.SessionParams{SessionID: "l-1"}, &layers)
	var kinds []string
	for _, l := range layers.Layers {
		kinds = append(kinds, string(l.Kind))
	}
	if !slices.Equal(kinds, []string{"built_in", "cascade", "profile"}) || !strings.Contains(layers.Layers[1].Text, "Use tabs.") || layers.Layers[2].Source != "Scout (copy)" {
		t.Errorf("%q %+v", kinds, layers.Layers)
	}
	var shot contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "l-1"}, &shot)
	if c := shot.Conversation; c.Profile != profiles.ID || !c.PlanMode || c.PermissionMode != contract.ModeAuto || len(c.AllowedTools) != 4 || !c.MemoryContextEnabled {
		t.Errorf("%s %+v %q", c.Profile, c.Posture, c.AllowedTools)
	}
	if got := w.refused(contract.MethodStart, contract.StartParams{SessionID: "l-2", Provider: "demo", Model: "demo", ProjectPath: dir, Profile: "gone"}, contract.CodeBadParams); !strings.Contains(got, "profile: ") {
		t.Errorf("%q", got)
	}
}

// Files, commands and facts of a project; a conversation found, exported, forked
// and taken back.
func TestAgents_Past(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	for name, content := range map[string]string{"src/main.go": "x", ".packetbench/commands/fix.md": "---\ndescription: mends\n---\nMend it."} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	var files contract.FoundFiles
	w.must(contract.MethodFindFiles, contract.FindFilesParams{ProjectPath: dir, Query: "main"}, &files)
	var commands []contract.SlashCommand
	w.must(contract.MethodListCommands, contract.ProjectParams{ProjectPath: dir}, &commands)
	var facts contract.ProjectFacts
	w.must(contract.MethodProject, contract.ProjectParams{ProjectPath: dir}, &facts)
	if !slices.Equal(files.Paths, []string{"src/main.go"}) || len(commands) != 1 || commands[0].Body != "Mend it." || facts.Git.Branch != "main" || facts.Git.UncommittedCount != 2 || facts.Trusted || facts.TrustAsked {
		t.Errorf("%+v\n%+v\n%+v", files, commands, facts)
	}
	w.follow("all", "p-1")
	w.must(contract.MethodStart, contract.StartParams{SessionID: "p-1", Provider: "demo", Model: "demo", ProjectPath: dir, InitialMessage: "edit a needle here", PermissionMode: contract.ModeAllowAll}, nil)
	w.until("conversation.turn-ended.")
	var found contract.SearchResult
	w.must(contract.MethodSearch, contract.SearchParams{Query: "NEEDLE"}, &found)
	var file contract.Exported
	w.must(contract.MethodExport, contract.ExportParams{SessionID: "p-1", Format: contract.ExportMarkdown}, &file)
	if len(found.Hits) != 1 || !strings.Contains(file.Content, "a needle here") || file.FileName != "edit-a-needle-here.md" {
		t.Errorf("%+v\n%+v", found, file)
	}
	var edits []contract.EditedFile
	w.must(contract.MethodListEdits, contract.SessionParams{SessionID: "p-1"}, &edits)
	if len(edits) != 1 || edits[0].Path != config.DemoFile || edits[0].State != contract.EditNew || edits[0].CanUndo || edits[0].EditedOutside || edits[0].LinesAdded == 0 {
		t.Errorf("%+v", edits)
	}
	if err := os.WriteFile(filepath.Join(dir, config.DemoFile), []byte("by hand\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var edit contract.EditedFileText
	w.must(contract.MethodGetEdit, contract.EditedFileParams{SessionID: "p-1", Path: config.DemoFile}, &edit)
	if !edit.File.EditedOutside || edit.Before != nil || edit.Now == nil || *edit.Now != "by hand\n" {
		t.Errorf("%+v", edit)
	}
	w.refused(contract.MethodUndoEdit, contract.UndoEditParams{SessionID: "p-1", Path: config.DemoFile, Hash: edit.File.Hash}, contract.CodeConflict)
	var shot contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "p-1"}, &shot)
	first := shot.Conversation.Messages[0].ID
	w.follow("all", "p-2")
	var forked contract.StartResult
	w.must(contract.MethodFork, contract.ForkParams{SessionID: "p-1", MessageID: first, NewSessionID: "p-2", Message: "another way"}, &forked)
	if forked.SessionID != "p-2" || forked.TurnID == "" {
		t.Errorf("%+v", forked)
	}
	w.until("conversation.turn-ended.p-2")
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "p-2"}, &shot)
	if c := shot.Conversation; c.Messages[0].Content != "another way" || c.ParentSessionID == nil || *c.ParentSessionID != "p-1" {
		t.Errorf("%+v", c.Summary)
	}
	w.must(contract.MethodRestore, contract.RestoreParams{SessionID: "p-1", MessageID: first}, nil)
	w.until("conversation.turn-ended.p-1")
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "p-1"}, &shot)
	if n := len(shot.Conversation.Messages); n != 2 || shot.Conversation.Messages[1].TurnID != "t-2" {
		t.Errorf("%d messages after a restore: %+v", n, shot.Conversation.Messages)
	}
	var test contract.KeyTest
	w.must(contract.MethodTestKey, contract.KeyTestParams{Provider: "openai"}, &test)
	if test.Status != contract.KeyMissing || test.Message == "" {
		t.Errorf("%+v", test)
	}
}
