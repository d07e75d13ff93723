package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// fakeDesk answers what the test says, and keeps what it was asked.
type fakeDesk struct {
	mu    sync.Mutex
	asked []string
	world *world // Whose waits it wakes.
	// gate holds every ending back until it is closed.
	gate chan struct{}

	provisionErr error
	status       contract.WorktreeStatus
	landed       contract.WorktreeOutcome
	landErr      error
	discarded    contract.WorktreeOutcome
	prErr        error
	layers       []contract.PromptLayer
	git          contract.ProjectGit
}

func (d *fakeDesk) note(what string) {
	d.mu.Lock()
	d.asked = append(d.asked, what)
	d.mu.Unlock()
	d.world.bell.ring()
}

func (d *fakeDesk) count(what string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.asked {
		if a == what {
			n++
		}
	}
	return n
}

func (d *fakeDesk) wait() {
	if d.gate != nil {
		<-d.gate
	}
}

func (d *fakeDesk) Cascade(_ context.Context, project string) []contract.PromptLayer {
	d.note("cascade " + project)
	return d.layers
}

func (d *fakeDesk) Git(context.Context, string, time.Duration) contract.ProjectGit {
	d.note("git")
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.git
}

func (d *fakeDesk) MCP(_ string, trusted bool, _ []string) contract.ProjectMCP {
	m := contract.ProjectMCP{Servers: []contract.MCPSource{}, ReadErrors: []contract.MCPReadError{}}
	if trusted {
		m.Servers = append(m.Servers, contract.MCPSource{Name: "s"})
	}
	return m
}

func (d *fakeDesk) Provision(_ context.Context, project string, id contract.ConversationID) (contract.Worktree, string, error) {
	d.note("provision")
	d.wait()
	path := filepath.Join(project, ".pkt-worktrees", string(id))
	return contract.Worktree{BasePath: project, WorktreePath: path, Branch: "pkt/" + string(id), BaseBranch: "main", CreatedAt: t0, State: "active"}, path, d.provisionErr
}

func (d *fakeDesk) Look(_ context.Context, w contract.Worktree) contract.WorktreeStatus {
	defer d.note("look")
	s := d.status
	s.Worktree = w
	return s
}

func (d *fakeDesk) Land(_ context.Context, w contract.Worktree, title string) (contract.WorktreeOutcome, error) {
	d.note("land " + w.BaseBranch + " " + title)
	d.wait()
	return d.landed, d.landErr
}

func (d *fakeDesk) Discard(_ context.Context, w contract.Worktree) contract.WorktreeOutcome {
	d.note("discard " + w.Branch)
	d.wait()
	return d.discarded
}

func (d *fakeDesk) PullRequest(_ context.Context, _ contract.Worktree, title, body string) (int, string, error) {
	d.note("pr " + title + "/" + body)
	d.wait()
	return 7, "https://x/7", d.prErr
}

func newDeskWorld(t *testing.T, d *fakeDesk) *world {
	t.Helper()
	d.world = newWorld(t, func(o *Options) { o.Desk = d })
	return d.world
}

func worktreeStart(t *testing.T) contract.StartParams {
	p := firstMessage
	p.ProjectPath, p.Worktree = t.TempDir(), true
	return p
}

// startInWorktree launches in a worktree and lets the turn end.
func (w *world) startInWorktree() contract.StartParams {
	w.t.Helper()
	p := worktreeStart(w.t)
	w.wake("c-1")
	w.must(contract.MethodStart, p)
	w.turn().close(contract.Done{})
	w.waitFor("conversation.turn-ended", 1)
	w.until("the turn is over", func() bool { return len(w.read0("c-1").OpenTurn) == 0 })
	return p
}

// read0 is read of a file that may not be there yet. The lock is held.
func (w *world) read0(id contract.ConversationID) *contract.Record {
	if r := w.read(id); r != nil {
		return r
	}
	return &contract.Record{OpenTurn: "none"}
}

// A worktree is made before the turn begins, which runs in it; the layers are
// those of that folder, and what was frozen is in the file.
func TestLaunch_Worktree(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{layers: []contract.PromptLayer{{Kind: contract.LayerCascade, Source: "/p/AGENTS.md", Text: "Use tabs."}}, gate: make(chan struct{})}
	w := newDeskWorld(t, d)
	w.wake("c-1")
	p := worktreeStart(t)
	answer := async(w, contract.MethodStart, p)
	w.until("provision", func() bool { return d.count("provision") == 1 })
	w.with(func() {
		if len(w.turns) != 0 || len(w.find("conversation.created")) != 0 {
			t.Error("something began before the worktree was there")
		}
	})
	close(d.gate)
	turn := w.turn()
	if r := <-answer; r.Failure != nil {
		t.Fatal(r.Failure)
	}
	path := filepath.Join(p.ProjectPath, ".pkt-worktrees", "c-1")
	w.until("both trust questions", func() bool { return len(w.questions) >= 2 }) // For the turn, and for the strip.
	w.with(func() {
		if slices.ContainsFunc(w.questions, func(q string) bool { return q != p.ProjectPath }) {
			t.Errorf("trust was asked of %q", w.questions)
		}
	})
	if turn.spec.Project != path || !strings.HasSuffix(turn.spec.System, contract.LayerJoint+"Use tabs.") || !strings.Contains(turn.spec.System, path) || d.count("cascade "+path) != 1 {
		t.Errorf("%s: %q", turn.spec.Project, turn.spec.System)
	}
	turn.close(contract.Done{})
	w.until("saved", func() bool { r := w.read("c-1"); return r != nil && r.Worktree != nil && r.OpenTurn == "" })
	r := w.onDisk("c-1")
	if got := contract.DecodeWorktree(r.Worktree); got == nil || got.Branch != "pkt/c-1" || got.BaseBranch != "main" || !got.CreatedAt.Equal(t0) {
		t.Errorf("recorded %+v", got)
	}
	layers := w.must(contract.MethodPromptLayers, contract.SessionParams{SessionID: "c-1"}).(contract.PromptLayers)
	if len(layers.Layers) != 2 || layers.Layers[1].Source != "/p/AGENTS.md" || layers.Layers[1].Text != "Use tabs." || layers.SystemPrompt != turn.spec.System {
		t.Errorf("%+v", layers)
	}
}

// A worktree that cannot be made refuses the launch with git's own message: no
// conversation, no file, and never the project folder instead (interface.md,
// decision 9). The same id starts once it can.
func TestLaunch_WorktreeRefused(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{provisionErr: errors.New("fatal: not a git repository")}
	w := newDeskWorld(t, d)
	w.wake("c-1")
	p := worktreeStart(t)
	r := w.call(contract.MethodStart, p)
	if r.Failure == nil || r.Failure.Code != contract.CodeConflict || r.Failure.Message != "fatal: not a git repository" {
		t.Fatalf("%+v", r)
	}
	if e := w.waitFor("error", 1); !strings.Contains(e.data, "not a git repository") {
		t.Errorf("told %s", e.data)
	}
	if w.onDisk("c-1") != nil || len(w.turns) != 0 {
		t.Error("something was left")
	}
	d.provisionErr = nil
	w.must(contract.MethodStart, p)
	w.turn().close(contract.Done{})
}

// A worktree whose start was refused after all is taken back, but for one that
// holds work (F33).
func TestTakeBack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status contract.WorktreeStatus
		want   int // Discards.
	}{
		{"clean", contract.WorktreeStatus{Exists: true, IsClean: true}, 1},
		{"dirty", contract.WorktreeStatus{Exists: true}, 0},
		{"commits", contract.WorktreeStatus{Exists: true, IsClean: true, Unmerged: 1}, 0},
		{"not known", contract.WorktreeStatus{Exists: true, IsClean: true, Problem: "no git"}, 0},
	} {
		d := &fakeDesk{status: tc.status, gate: make(chan struct{})}
		w := newDeskWorld(t, d)
		w.wake("c-1")
		answer := async(w, contract.MethodStart, worktreeStart(t))
		w.until("provision", func() bool { return d.count("provision") == 1 })
		if _, err := w.node.CallWithTimeout(msg.ConversationName("c-1"), msg.Drain{}, 10); err != nil {
			t.Fatal(err)
		}
		close(d.gate)
		if r := <-answer; r.Failure == nil || !strings.Contains(r.Failure.Message, "stopping") {
			t.Fatalf("%s: %+v", tc.name, r)
		}
		w.until("a look", func() bool { return d.count("look") == 1 })
		if tc.want == 1 {
			w.until("taken back", func() bool { return d.count("discard pkt/c-1") == 1 })
		} else if d.count("discard pkt/c-1") != 0 {
			t.Errorf("%s: taken back", tc.name)
		}
	}
}

// What would be refused anyway makes no worktree.
func TestLaunch_NothingForNothing(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{}
	w := newDeskWorld(t, d)
	w.wake("c-1")
	for _, change := range []func(*contract.StartParams){
		func(p *contract.StartParams) { p.Model = " " },
		func(p *contract.StartParams) { p.Provider = "nobody" },
		func(p *contract.StartParams) { p.ProjectPath = "here" },
		func(p *contract.StartParams) { p.Profile = "gone" },
	} {
		p := worktreeStart(t)
		if change(&p); w.call(contract.MethodStart, p).Failure == nil {
			t.Errorf("%+v was started", p)
		}
	}
	w.with(func() { w.verdict = msg.LaunchVerdict{Err: errors.New(tooMuch)} })
	if r := w.call(contract.MethodStart, worktreeStart(t)); r.Failure == nil || r.Failure.Message != tooMuch {
		t.Errorf("%+v", r)
	}
	if n := d.count("provision"); n != 0 {
		t.Errorf("%d worktrees were made", n)
	}
}

// What a caller names beats the profile; a pinned model beats the caller.
// Source: runtime.md 8.
func TestLaunch_Profile(t *testing.T) {
	t.Parallel()
	scout := contract.Profile{ID: "p", Name: "P", SystemPrompt: " Look only. ", AllowedTools: []string{"grep"}, PlanMode: true, PermissionMode: contract.ModeDenyAll, PinnedModel: "pinned"}
	for _, tc := range []struct {
		name   string
		params string
		plan   bool
		mode   contract.PermissionMode
		model  string
		tools  []string
		prompt string
	}{
		{"the profile's", `"profile":"p"`, true, contract.ModeDenyAll, "pinned", []string{"grep"}, "Look only."},
		{"the caller's", `"profile":"p","plan_mode":false,"permission_mode":"auto","allowed_tools":["bash"]`, false, contract.ModeAuto, "pinned", []string{"bash"}, "Look only."},
		{"null is not named", `"profile":"p","plan_mode":null`, true, contract.ModeDenyAll, "pinned", []string{"grep"}, "Look only."},
		{"none named", `"plan_mode":true`, true, contract.ModeAskForRisky, "m", nil, ""},
		{"a whole prompt", `"profile":"p","system_prompt_override":"Mine."`, true, contract.ModeDenyAll, "pinned", []string{"grep"}, "Mine."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newDeskWorld(t, &fakeDesk{})
			w.profiles = []contract.Profile{scout}
			w.wake("c-1")
			var params map[string]any
			decode(t, `{"session_id":"c-1","provider":"demo","model":"m","project_path":`+quoted(t, t.TempDir())+`,`+tc.params+`}`, &params)
			w.must(contract.MethodStart, params)
			c := w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot).Conversation
			if c.PlanMode != tc.plan || c.PermissionMode != tc.mode || c.Model != tc.model || !slices.Equal(c.AllowedTools, tc.tools) {
				t.Errorf("%+v %s %q", c.Posture, c.Model, c.AllowedTools)
			}
			layers := w.must(contract.MethodPromptLayers, contract.SessionParams{SessionID: "c-1"}).(contract.PromptLayers)
			if last := layers.Layers[len(layers.Layers)-1]; tc.prompt != "" && last.Text != tc.prompt || tc.name == "a whole prompt" && len(layers.Layers) != 1 {
				t.Errorf("%+v", layers.Layers)
			}
		})
	}
}

// Layers are cut out of the frozen prompt; one that does not fit is shown whole.
func TestPromptLayers(t *testing.T) {
	t.Parallel()
	c := newCore("c-1", "boot-1")
	for _, tc := range []struct {
		name, prompt string
		layers       []contract.RecordLayer
		want         []string
	}{
		{"two", "one" + contract.LayerJoint + "two", []contract.RecordLayer{{Bytes: 3}, {Bytes: 3}}, []string{"one", "two"}},
		{"none recorded", "one", nil, []string{"one"}},
		{"nothing at all", "", nil, []string{}},
		{"too short", "one", []contract.RecordLayer{{Bytes: 9}}, []string{"one"}},
		{"negative", "one", []contract.RecordLayer{{Bytes: -1}}, []string{"one"}},
		{"no joint", "onetwo", []contract.RecordLayer{{Bytes: 3}, {Bytes: 3}}, []string{"onetwo"}},
		{"something behind", "one!", []contract.RecordLayer{{Bytes: 3}}, []string{"one!"}},
	} {
		c.rec = &contract.Record{SystemPrompt: tc.prompt, PromptLayers: tc.layers}
		got := c.promptLayers()
		texts := []string{}
		for _, l := range got.Layers {
			texts = append(texts, l.Text)
		}
		if !slices.Equal(texts, tc.want) || got.Layers == nil || got.SystemPrompt != tc.prompt {
			t.Errorf("%s: %q, want %q", tc.name, texts, tc.want)
		}
	}
}

// The project is looked at while somebody watches and after a turn; windows hear
// of changes alone, and no list moves for them.
func TestLook(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{git: contract.ProjectGit{IsGitRepo: true, Branch: "main", Warnings: []string{}}}
	w := newDeskWorld(t, d)
	w.trusted = true
	turn := w.start()
	patches := func(key string) (n int) {
		for _, e := range w.find("conversation.updated") {
			if strings.Contains(e.data, `"`+key+`":`) {
				n++
				if strings.Contains(e.data, "updated_at") {
					t.Errorf("a look moves the list: %s", e.data)
				}
			}
		}
		return n
	}
	w.until("the first look", func() bool { return patches(contract.PatchGit) == 1 && patches(contract.PatchMCP) == 1 })
	c := w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "c-1"}).(contract.Snapshot).Conversation
	if c.Git == nil || c.Git.Branch != "main" || c.MCP == nil || len(c.MCP.Servers) != 1 {
		t.Errorf("%+v %+v", c.Git, c.MCP)
	}
	d.mu.Lock()
	d.git.UncommittedCount = 1
	d.mu.Unlock()
	turn.close(contract.Done{})
	w.until("the look after the turn", func() bool { return patches(contract.PatchGit) == 2 })
	w.with(func() {
		if patches(contract.PatchMCP) != 1 {
			t.Error("what has not changed was told again")
		}
	})
}

// Nobody watches: nobody looks.
func TestLook_Unwatched(t *testing.T) {
	t.Parallel()
	a := &actor{opt: Options{Desk: &fakeDesk{}}, core: newCore("c-1", "b")}
	a.core.rec = &contract.Record{}
	a.look(t0, 0) // Would ask its node, and it has none.
	if a.inView(t0) {
		t.Error("somebody watches")
	}
	a.watched = t0
	if !a.inView(t0) || a.inView(t0.Add(time.Second)) {
		t.Error("a hold has no end, or none at all")
	}
}

func TestWorktree_Merge(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{landed: contract.WorktreeOutcome{CommitSHA: "0123456789abcdef", WorktreeRemoved: true, BranchDeleted: true}, gate: nil}
	w := newDeskWorld(t, d)
	w.startInWorktree()
	d.gate = make(chan struct{})
	merging := async(w, contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1", BaseBranch: "main"})
	w.until("landing", func() bool { return d.count("land main hello") == 1 })
	for m, p := range map[contract.Method]any{
		contract.MethodSend:            contract.SendParams{SessionID: "c-1", Message: "x"},
		contract.MethodDiscardWorktree: contract.DiscardParams{SessionID: "c-1", Confirmed: true},
		contract.MethodMergeWorktree:   contract.WorktreeParams{SessionID: "c-1"},
		contract.MethodRetry:           contract.RetryParams{SessionID: "c-1"},
	} {
		if r := w.call(m, p); r.Failure == nil || !strings.Contains(r.Failure.Message, "being merged back") {
			t.Errorf("%s meanwhile: %+v", m, r.Failure)
		}
	}
	close(d.gate)
	r := <-merging
	out, ok := r.Result.(contract.WorktreeOutcome)
	if !ok || out.Message != "Landed pkt/c-1 \u2192 0123456" || out.Worktree.State != "landed" || !out.BranchDeleted {
		t.Fatalf("%+v", r)
	}
	w.until("told", func() bool {
		return slices.ContainsFunc(w.find("conversation.updated"), func(e event) bool { return strings.Contains(e.data, `"state":"landed"`) })
	})
	if e := w.waitFor("conversation.notice", 1); !strings.Contains(e.data, "Landed pkt/c-1") {
		t.Errorf("notice %s", e.data)
	}
	for m, p := range map[contract.Method]any{
		contract.MethodSend:            contract.SendParams{SessionID: "c-1", Message: "x"},
		contract.MethodMergeWorktree:   contract.WorktreeParams{SessionID: "c-1"},
		contract.MethodDiscardWorktree: contract.DiscardParams{SessionID: "c-1"},
	} {
		if r := w.call(m, p); r.Failure == nil || !strings.Contains(r.Failure.Message, "landed") {
			t.Errorf("%s afterwards: %+v", m, r.Failure)
		}
	}
	w.until("saved", func() bool { r := w.read("c-1"); return r != nil && strings.Contains(string(r.Worktree), "landed") })
}

// What git refuses is told in git's words, and nothing changes.
func TestWorktree_Refused(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{landErr: errors.New("conflicts in a.txt"), prErr: errors.New("push failed: no remote"), discarded: contract.WorktreeOutcome{Message: "locked"}, status: contract.WorktreeStatus{IsClean: true}}
	w := newDeskWorld(t, d)
	w.startInWorktree()
	for _, tc := range []struct {
		m      contract.Method
		params any
		want   string
	}{
		{contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1"}, "Merge back failed: conflicts in a.txt"},
		{contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1", BaseBranch: "other"}, "base_branch: "},
		{contract.MethodWorktreePR, contract.WorktreeParams{SessionID: "c-1"}, "Push failed: no remote"},
		{contract.MethodDiscardWorktree, contract.DiscardParams{SessionID: "c-1"}, "could not be discarded: locked"},
	} {
		if r := w.call(tc.m, tc.params); r.Failure == nil || !strings.Contains(r.Failure.Message, tc.want) {
			t.Errorf("%s: %+v, want %q", tc.m, r, tc.want)
		}
	}
	d.landErr, d.landed = nil, contract.WorktreeOutcome{}
	out := w.must(contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1"}).(contract.WorktreeOutcome)
	if out.Message != "Nothing to land: pkt/c-1 has no changes to merge. Discard it if you're done." || out.Worktree.State != "active" {
		t.Errorf("%+v", out)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "go on"})
	turn := w.turn()
	if r := w.call(contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1"}); r.Failure == nil || !strings.Contains(r.Failure.Message, "stop it first") {
		t.Errorf("while a turn runs: %+v", r)
	}
	turn.close(contract.Done{})
	plain := newDeskWorld(t, &fakeDesk{})
	plain.start().close(contract.Done{})
	if r := plain.call(contract.MethodWorktree, contract.SessionParams{SessionID: "c-1"}); r.Failure == nil || r.Failure.Code != contract.CodeNotFound {
		t.Errorf("without a worktree: %+v", r)
	}
}

// A draft is recorded; its title and text are the conversation's unless given.
func TestWorktree_PullRequest(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{}
	w := newDeskWorld(t, d)
	w.startInWorktree()
	out := w.must(contract.MethodWorktreePR, contract.WorktreeParams{SessionID: "c-1"}).(contract.WorktreeOutcome)
	if out.Message != "Opened draft PR #7" || out.Worktree.PRNumber != 7 || out.Worktree.State != "active" || d.count("pr hello/Made by an agent in PacketBench: hello") != 1 {
		t.Errorf("%+v %q", out, d.asked)
	}
	w.must(contract.MethodWorktreePR, contract.WorktreeParams{SessionID: "c-1", Title: "T", Body: "B"})
	if d.count("pr T/B") != 1 {
		t.Errorf("%q", d.asked)
	}
	w.until("recorded", func() bool {
		r := w.read("c-1")
		return r != nil && strings.Contains(string(r.Worktree), `"prNumber":7`)
	})
}

// Discarding what is dirty, or may be, asks first; the answer does it.
func TestWorktree_Discard(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{discarded: contract.WorktreeOutcome{WorktreeRemoved: true, Message: "branch is left"}}
	w := newDeskWorld(t, d)
	w.startInWorktree()
	for _, tc := range []struct {
		status contract.WorktreeStatus
		want   string
	}{
		{contract.WorktreeStatus{Exists: true}, textDiscard},
		{contract.WorktreeStatus{Exists: true, Problem: "no git"}, textUnchecked},
	} {
		d.status = tc.status
		out := w.must(contract.MethodDiscardWorktree, contract.DiscardParams{SessionID: "c-1"}).(contract.WorktreeOutcome)
		if out.Confirm == nil || out.Confirm.Button != "Discard anyway" || out.Confirm.Lines[0] != tc.want || d.count("discard pkt/c-1") != 0 {
			t.Errorf("%+v", out)
		}
	}
	out := w.must(contract.MethodDiscardWorktree, contract.DiscardParams{SessionID: "c-1", Confirmed: true}).(contract.WorktreeOutcome)
	if out.Message != "Discarded pkt/c-1" || out.Worktree.State != "discarded" || out.Confirm != nil {
		t.Errorf("%+v", out)
	}
	if e := w.waitFor("conversation.notice", 2); !strings.Contains(e.data, "branch is left") {
		t.Errorf("what is left: %s", e.data)
	}
}

func TestConfirmDelete(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{}
	w := newDeskWorld(t, d)
	p := w.startInWorktree()
	path := filepath.Join(p.ProjectPath, ".pkt-worktrees", "c-1")
	for _, tc := range []struct {
		status contract.WorktreeStatus
		button string
		lines  []string
	}{
		{contract.WorktreeStatus{Exists: true}, "Delete and discard changes", []string{textDirty, path, "pkt/c-1"}},
		{contract.WorktreeStatus{Exists: true, Problem: "x"}, "Delete and discard changes", []string{textUnchecked, path, "pkt/c-1"}},
		{contract.WorktreeStatus{Exists: true, IsClean: true}, "Delete and discard worktree", []string{textClean, path, "pkt/c-1"}},
		{contract.WorktreeStatus{IsClean: true}, "Delete", []string{}},
	} {
		d.status = tc.status
		got := w.must(contract.MethodConfirmDelete, contract.SessionParams{SessionID: "c-1"}).(contract.Confirm)
		if got.Title != "Delete conversation?" || got.Button != tc.button || !slices.Equal(got.Lines, tc.lines) || (got.Callout != "") != (len(tc.lines) > 0) {
			t.Errorf("%+v: %+v", tc.status, got)
		}
	}
}

// A deletion discards the worktree and happens whatever becomes of that; what is
// left is told.
func TestDelete_Worktree(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"", "it is locked"} {
		d := &fakeDesk{discarded: contract.WorktreeOutcome{WorktreeRemoved: left == "", Message: left}}
		w := newDeskWorld(t, d)
		w.wake("c-1")
		w.must(contract.MethodStart, worktreeStart(t))
		w.turn() // Still running: it is stopped.
		r := w.call(contract.MethodDelete, contract.SessionParams{SessionID: "c-1"})
		if r.Failure != nil || w.onDisk("c-1") != nil || d.count("discard pkt/c-1") != 1 {
			t.Fatalf("%+v", r)
		}
		if result, ok := r.Result.(contract.DeleteResult); left != "" && (!ok || !strings.Contains(result.Problem, left)) {
			t.Errorf("%+v", r.Result)
		}
		w.waitFor("conversation.deleted", 1)
		w.until("the end of the actor", func() bool { return len(w.ended) == 1 })
	}
}

// A conversation of an earlier version has its worktree by its path: its base
// has to be named. A fork that works in somebody else's worktree has none.
func TestWorktree_Legacy(t *testing.T) {
	t.Parallel()
	c := newCore("c-1", "boot-1")
	for _, tc := range []struct {
		path string
		want bool
	}{
		{"/p/.pkt-worktrees/c-1", true}, {"/p/.pkt-worktrees/c-1/", true}, {"/p/.pkt-worktrees/c-2", false}, {"/p/c-1", false}, {"/p", false},
	} {
		c.rec = &contract.Record{ProjectPath: filepath.FromSlash(tc.path)}
		w, legacy := c.worktree()
		if (w != nil) != tc.want || tc.want && (!legacy || w.BasePath != filepath.FromSlash("/p") || w.Branch != "pkt/c-1") {
			t.Errorf("%s: %+v %v", tc.path, w, legacy)
		}
	}
	d := &fakeDesk{landErr: errors.New("stop here")}
	w := newDeskWorld(t, d)
	r := stored("api-demo", "demo")
	dir := filepath.Join(t.TempDir(), ".pkt-worktrees", "c-1")
	r.ProjectPath = dir
	w.put(r)
	w.wake("c-1")
	if got := w.call(contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1"}); got.Failure == nil || !strings.HasPrefix(got.Failure.Message, "base_branch: ") {
		t.Errorf("%+v", got)
	}
	if got := w.call(contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1", BaseBranch: "trunk"}); got.Failure == nil || d.count("land trunk "+r.Title) != 1 {
		t.Errorf("%+v %q", got, d.asked)
	}
	if s := w.must(contract.MethodWorktree, contract.SessionParams{SessionID: "c-1"}).(contract.WorktreeStatus); !s.Legacy {
		t.Errorf("%+v", s)
	}
}

// A stop of the service waits for an ending, so that none is cut in half.
func TestWorktree_Drain(t *testing.T) {
	t.Parallel()
	d := &fakeDesk{landed: contract.WorktreeOutcome{CommitSHA: "0123456789"}}
	w := newDeskWorld(t, d)
	w.startInWorktree()
	d.gate = make(chan struct{})
	merging := async(w, contract.MethodMergeWorktree, contract.WorktreeParams{SessionID: "c-1"})
	w.until("landing", func() bool { return d.count("land main hello") == 1 })
	drained := make(chan error, 1)
	go func() {
		_, err := w.node.CallWithTimeout(msg.ConversationName("c-1"), msg.Drain{}, 10)
		drained <- err
	}()
	w.must(contract.MethodRename, contract.RenameParams{SessionID: "c-1", Title: "behind the drain"})
	select {
	case <-drained:
		t.Fatal("the drain did not wait for the ending")
	default:
	}
	close(d.gate)
	if r := <-merging; r.Failure != nil {
		t.Error(r.Failure)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if r := w.onDisk("c-1"); !strings.Contains(string(r.Worktree), "landed") {
		t.Errorf("saved %s", r.Worktree)
	}
}

// sessionsStub starts the conversation of a fork.
type sessionsStub struct {
	act.Actor
	w      *world
	refuse *contract.Failure
}

func (s *sessionsStub) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	name := string(request.(msg.Ensure).Name)
	if s.refuse != nil {
		return msg.Ensured{Err: s.refuse}, nil
	}
	pid, err := s.Spawn(New(s.w.opt), gen.ProcessOptions{}, contract.ConversationID(strings.TrimPrefix(name, "conversation:")))
	if err != nil && !errors.Is(err, gen.ErrTaken) {
		return nil, err
	}
	return msg.Ensured{PID: pid, Created: true}, nil
}

func (s *sessionsStub) HandleMessage(gen.PID, any) error { return nil }

// A fork holds what came before the message, sends the new text instead, and
// stops the turn that runs here.
func TestFork(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t, &fakeDesk{})
	stub := &sessionsStub{w: w}
	w.spawn(msg.SessionsSup, func() gen.ProcessBehavior { return stub }, nil)
	turn := w.start()
	turn.emit(contract.Chunk("first answer"), contract.Done{})
	turn.say(msg.TurnClosed{Turn: turn.spec.Turn})
	w.waitFor("conversation.turn-ended", 1)
	sent := w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "second"}).(contract.SendResult)
	second := w.turn()
	second.ask("call-1", "rm -rf x")
	w.waitFor("conversation.prompt-opened", 1)
	answer := async(w, contract.MethodFork, contract.ForkParams{SessionID: "c-1", MessageID: sent.MessageID, NewSessionID: "c-2", Message: "second, better"})
	hears[msg.CancelTurn](second)
	if e := w.waitFor("conversation.prompt-resolved", 1); !strings.Contains(e.data, `"cancel"`) {
		t.Errorf("the prompt ended as %s", e.data)
	}
	r := <-answer
	result, ok := r.Result.(contract.StartResult)
	if !ok || result.SessionID != "c-2" || result.TurnID != "t-3" {
		t.Fatalf("%+v", r)
	}
	third := w.turn()
	if third.spec.Conversation != "c-2" || third.spec.System != second.spec.System || len(third.spec.Messages) != 3 || third.spec.Messages[2].Content != "second, better" || third.spec.Messages[1].Content != "first answer" {
		t.Errorf("%+v", third.spec.Messages)
	}
	second.close(contract.Done{Cancelled: true})
	third.close(contract.Done{})
	w.until("both saved", func() bool {
		one, two := w.read("c-1"), w.read("c-2")
		return one != nil && two != nil && one.OpenTurn == "" && two.OpenTurn == "" && two.ParentConversationID == "c-1" && len(one.Messages) == 4
	})
	for what, p := range map[string]contract.ForkParams{
		"No active":    {SessionID: "c-9"},
		"no longer in": {SessionID: "c-1", MessageID: "m-99", Message: "x"},
		"message_id: ": {SessionID: "c-1", MessageID: "t-1", Message: "x"},
		"message: ":    {SessionID: "c-1", MessageID: sent.MessageID, Message: " "},
		"new_session":  {SessionID: "c-1", MessageID: sent.MessageID, Message: "x", NewSessionID: "c-1"},
		"already":      {SessionID: "c-1", MessageID: sent.MessageID, Message: "x", NewSessionID: "c-2"},
	} {
		if what == "No active" {
			continue // The door says so.
		}
		if r := w.call(contract.MethodFork, p); r.Failure == nil || !strings.Contains(r.Failure.Message, what) {
			t.Errorf("%s: %+v", what, r.Failure)
		}
	}
	made := w.must(contract.MethodFork, contract.ForkParams{SessionID: "c-1", MessageID: sent.MessageID, Message: "x"}).(contract.StartResult)
	if !contract.ValidID(string(made.SessionID)) || made.SessionID == "c-1" {
		t.Errorf("made up %q", made.SessionID)
	}
	w.turn().close(contract.Done{})
	stub.refuse = contract.Fail(contract.CodeOverLimit, "too many")
	if r := w.call(contract.MethodFork, contract.ForkParams{SessionID: "c-1", MessageID: sent.MessageID, Message: "x"}); r.Failure == nil || r.Failure.Message != "too many" {
		t.Errorf("%+v", r)
	}
}

// A fork takes what was frozen and leaves what belongs to the other: handles,
// allowances, hashes, the worktree.
func TestFork_Record(t *testing.T) {
	t.Parallel()
	c := newCore("c-1", "boot-1")
	c.rec = stored("api-demo", "demo")
	r := c.rec
	r.ProjectPath = "/p/.pkt-worktrees/c-1"
	r.Worktree = contract.EncodeWorktree(contract.Worktree{BasePath: "/p", WorktreePath: "/p/.pkt-worktrees/c-1", Branch: "pkt/c-1", State: "landed"})
	r.ResumeToken, r.EngineSessionID, r.SessionAllow, r.Pinned, r.PlanApproved = "secret", "e", []string{"bash"}, true, true
	r.WrittenFiles, r.DiffComments = map[string]string{"a": "h"}, []contract.RecordComment{{ID: "x"}}
	r.AllowPatterns, r.SystemPrompt, r.Profile = []string{"Bash(ls)"}, "prompt", "p"
	r.Messages = []contract.RecordMessage{{ID: "m-1", Role: contract.RoleUser, ToolCalls: []contract.RecordCall{{ID: "t"}}}, {ID: "m-2", Role: contract.RoleUser}}
	f := c.fork(t0, "c-2", 1)
	if f.ID != "c-2" || f.ParentConversationID != "c-1" || f.ProjectPath != "/p" || f.Worktree != nil || f.ResumeToken+f.EngineSessionID != "" || f.SessionAllow != nil || f.Pinned || f.PlanApproved ||
		f.WrittenFiles != nil || f.DiffComments != nil || f.SystemPrompt != "prompt" || f.Profile != "p" || len(f.AllowPatterns) != 1 || len(f.Messages) != 1 || f.CreatedAt != t0.UnixMilli() {
		t.Errorf("%+v", f)
	}
	f.Messages[0].ToolCalls[0].ID, f.AllowPatterns[0] = "changed", "changed"
	if r.Messages[0].ToolCalls[0].ID != "t" || r.AllowPatterns[0] != "Bash(ls)" || r.ResumeToken != "secret" {
		t.Error("the fork shares with its source")
	}
}

// A restore drops what came behind and runs the message again.
func TestRestore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.turnOf("one")
	b.turnOf("two")
	ids := []string{}
	for _, m := range b.c.rec.Messages {
		ids = append(ids, m.ID)
	}
	b.c.rec.Plan, b.c.rec.PlanApproved, b.c.rec.ResumeToken = []contract.PlanItem{{Content: "x"}}, true, "token"
	b.forget()
	result := b.must(contract.MethodRestore, contract.RestoreParams{SessionID: "c-1", MessageID: ids[0]}).(contract.StartResult)
	if result.TurnID != "t-3" || len(b.c.rec.Messages) != 2 || b.c.rec.Messages[0].ID != ids[0] || b.c.rec.Plan != nil || b.c.rec.PlanApproved || b.c.rec.ResumeToken != "" {
		t.Errorf("%+v %+v", result, b.c.rec.Messages)
	}
	reloads := 0
	for _, e := range b.effects {
		if p, ok := e.(publish); ok && strings.Contains(string(p.payload), `"reload":true`) {
			reloads++
		}
	}
	if reloads != 1 || b.c.changes.cut != 1 {
		t.Errorf("%d reloads, cut at %d", reloads, b.c.changes.cut)
	}
	if _, failure := b.command(contract.MethodRestore, contract.RestoreParams{SessionID: "c-1", MessageID: ids[0]}); failure == nil || failure.Code != contract.CodeConflict {
		t.Errorf("while a turn runs: %+v", failure)
	}
	b.c.closedAll(t)
	for what, id := range map[string]string{"no longer": ids[2], "a person wrote": "t-3"} {
		if _, failure := b.command(contract.MethodRestore, contract.RestoreParams{SessionID: "c-1", MessageID: id}); failure == nil || !strings.Contains(failure.Message, what) {
			t.Errorf("%s: %+v", what, failure)
		}
	}
	b.c.rec.Messages[0].Attachments = []contract.AttachmentInfo{{MediaType: "image/png"}}
	if _, failure := b.command(contract.MethodRestore, contract.RestoreParams{SessionID: "c-1", MessageID: ids[0]}); failure == nil || !strings.Contains(failure.Message, "images") {
		t.Errorf("images that are gone: %+v", failure)
	}
}

// turnOf runs one turn to its end.
func (b *bench) turnOf(text string) {
	b.t.Helper()
	var turn contract.TurnID
	if b.c.rec == nil {
		turn = b.start(contract.ModeAuto)
	} else {
		turn = b.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: text}).(contract.SendResult).TurnID
		b.c.started(turn)
	}
	b.c.emitted(t0, turn, []contract.Event{contract.Chunk("answer to " + text), contract.Done{}})
	b.c.closed(t0, turn, nil)
	b.drain()
}

// closedAll ends the running turn.
func (c *core) closedAll(t *testing.T) {
	t.Helper()
	turn := c.live.id
	c.started(turn)
	c.emitted(t0, turn, []contract.Event{contract.Done{}})
	c.closed(t0, turn, nil)
	c.take()
}

// async makes a call beside the test.
func async(w *world, m contract.Method, params any) <-chan msg.Reply {
	out := make(chan msg.Reply, 1)
	raw, err := json.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		reply, err := w.node.CallWithTimeout(msg.ConversationName("c-1"), msg.Command{Method: m, Params: raw}, int(patience.Seconds()))
		r, ok := reply.(msg.Reply)
		if err != nil || !ok {
			r.Failure = contract.Fail(contract.CodeInternal, "%s: %v %T", m, err, reply)
		}
		out <- r
	}()
	return out
}

// put puts a conversation on the disk.
func (w *world) put(r *contract.Record) {
	w.t.Helper()
	raw, err := contract.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.with(func() { w.files[r.ID] = &disk{body: raw} })
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
