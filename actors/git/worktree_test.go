package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func (r *repo) branch(name string) bool { return r.branchExists(r.ctx, r.dir, name) }

func TestProvision(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	before := r.picture(r.dir)
	w := r.provision()
	if w.BasePath != r.dir || w.WorktreePath != filepath.Join(r.dir, ".pkt-worktrees", "c-1") || w.Branch != "pkt/c-1" || w.BaseBranch != "main" || w.State != "active" || w.CreatedAt.IsZero() {
		t.Errorf("%+v", w)
	}
	if got := r.git(w.WorktreePath, "branch", "--show-current"); got != "pkt/c-1" {
		t.Errorf("branch %q", got)
	}
	if after := r.picture(r.dir); strings.ReplaceAll(after, "! .pkt-worktrees/\n", "") != before {
		t.Errorf("the project changed:\n%s\nwas\n%s", after, before)
	}
	// A person's own add takes nothing of ours.
	r.git(r.dir, "add", "--all")
	if out := r.git(r.dir, "status", "--porcelain"); out != "" {
		t.Errorf("git add --all takes %q", out)
	}
	// A start that was cut short is made again: with the folder, and without it.
	put(t, filepath.Join(w.WorktreePath, "kept"), "x")
	if again := r.provision(); again.WorktreePath != w.WorktreePath || !exists(filepath.Join(w.WorktreePath, "kept")) {
		t.Error("the worktree was not taken again")
	}
	if err := os.RemoveAll(w.WorktreePath); err != nil {
		t.Fatal(err)
	}
	r.provision()
	if !exists(filepath.Join(w.WorktreePath, "a.txt")) {
		t.Error("a worktree that was removed by hand was not made again")
	}
}

// A project inside a larger repository is worked on in its own folder.
func TestProvision_Inside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit(r.dir, "sub/x.txt", "x\n")
	sub := filepath.Join(r.dir, "sub")
	w, work, err := r.Provision(r.ctx, sub, "c-1")
	if err != nil || work != filepath.Join(w.WorktreePath, "sub") || w.BasePath != sub {
		t.Fatalf("%+v %s %v", w, work, err)
	}
	put(t, filepath.Join(work, "x.txt"), "y\n")
	r.write("a.txt", "mine\n") // Outside the project's folder, inside its repository.
	before := r.picture(r.dir)
	if _, err := r.Land(r.ctx, w, "t"); err == nil || !strings.Contains(err.Error(), "uncommitted") || r.picture(r.dir) != before {
		t.Fatalf("landing beside changes: %v", err)
	}
	r.git(r.dir, "checkout", "--quiet", "a.txt")
	if _, err := r.Land(r.ctx, w, "t"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(sub, "x.txt")); string(got) != "y\n" {
		t.Errorf("landed %q", got)
	}
}

// A launch is refused with git's own words (interface.md decision 9).
func TestProvision_Refused(t *testing.T) {
	t.Parallel()
	r := bare(t)
	if _, _, err := r.Provision(r.ctx, r.dir, "c-1"); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("no repository: %v", err)
	}
	if _, _, err := r.Provision(r.ctx, r.dir, "../x"); err == nil {
		t.Error("a bad id was taken")
	}
	if exists(filepath.Join(r.dir, worktreesDir)) {
		t.Error("a refused worktree left a folder")
	}
	r.git(r.dir, "init", "--quiet", "--initial-branch=main")
	if _, _, err := r.Provision(r.ctx, r.dir, "c-1"); err == nil || !strings.Contains(err.Error(), "fatal") {
		t.Errorf("no commit yet: %v", err)
	}
	taken := newRepo(t)
	put(t, filepath.Join(taken.dir, worktreesDir, "c-1", "x"), "x")
	if _, _, err := taken.Provision(taken.ctx, taken.dir, "c-1"); err == nil || !strings.Contains(err.Error(), "Move it away") {
		t.Errorf("a folder in the way: %v", err)
	}
	file := newRepo(t)
	file.write(worktreesDir, "x")
	if _, _, err := file.Provision(file.ctx, file.dir, "c-1"); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a file in the way: %v", err)
	}
}

func TestCheckBranch(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"main", "pkt/c-1", "feature/a.b", "HEAD"} {
		if err := CheckBranch(ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "-x", "a..b", "a b", "a~1", "a^", "a:b", "a\\b", "a.lock", "a/", "a.", "a?", "a\n", "@{u}", "/a", "a//b"} {
		if CheckBranch(bad) == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	w := r.provision()
	if s := r.Look(r.ctx, w); !s.Exists || !s.IsClean || s.Unmerged != 0 || s.Legacy || s.Problem != "" {
		t.Errorf("fresh: %+v", s)
	}
	r.commit(w.WorktreePath, "n.txt", "n\n")
	put(t, filepath.Join(w.WorktreePath, "open.txt"), "x")
	if s := r.Look(r.ctx, w); s.IsClean || s.UncommittedCount != 1 || s.Unmerged != 1 {
		t.Errorf("worked in: %+v", s)
	}
	old := w
	old.BaseBranch = ""
	if s := r.Look(r.ctx, old); !s.Legacy || s.Unmerged != 0 {
		t.Errorf("legacy: %+v", s)
	}
	put(t, filepath.Join(w.WorktreePath, ".git"), "gitdir: /nowhere\n")
	if s := r.Look(r.ctx, w); s.Problem == "" || s.IsClean {
		t.Errorf("a worktree that git cannot read: %+v", s)
	}
	w.WorktreePath = filepath.Join(r.dir, "gone")
	if s := r.Look(r.ctx, w); s.Exists || !s.IsClean {
		t.Errorf("gone: %+v", s)
	}
}

// Everything lands as one commit, what was not committed too, and then the
// worktree and its branch are gone.
func TestLand(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	w := r.provision()
	r.commit(w.WorktreePath, "a.txt", "one\nTWO\nthree\n")
	r.commit(w.WorktreePath, "dir/new file.txt", "new\n")
	put(t, filepath.Join(w.WorktreePath, "open.txt"), "not committed\n")
	r.commit(r.dir, "other.txt", "meanwhile\n")
	r.git(r.dir, "config", "merge.ff", "no")
	landed, err := r.Land(r.ctx, w, "Make it louder")
	if err != nil {
		t.Fatal(err)
	}
	if landed.Commit != r.git(r.dir, "rev-parse", "HEAD") || landed.Removed != (Removed{Worktree: true, Branch: true}) {
		t.Errorf("%+v", landed)
	}
	if got := r.git(r.dir, "log", "--format=%s", "-2"); got != "Merge branch 'pkt/c-1' (squash)\nchange other.txt" {
		t.Errorf("log %q", got)
	}
	for name, want := range map[string]string{"a.txt": "one\nTWO\nthree\n", "dir/new file.txt": "new\n", "open.txt": "not committed\n", "other.txt": "meanwhile\n"} {
		if got, _ := os.ReadFile(filepath.Join(r.dir, name)); string(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if exists(w.WorktreePath) || r.branch("pkt/c-1") || r.git(r.dir, "status", "--porcelain") != "" {
		t.Error("something is left of the worktree")
	}
}

// Whatever makes a merge fail leaves the root checkout exactly as it was, and
// the worktree too.
func TestLand_Refused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, says string
		break_     func(r *repo, w *contract.Worktree)
	}{
		{"nothing to land", "nothing to land", func(*repo, *contract.Worktree) {}},
		{"already there", "nothing to land", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "a.txt", "same\n")
			r.commit(r.dir, "a.txt", "same\n")
		}},
		{"conflict", "Conflicts in:\na.txt", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "a.txt", "theirs\n")
			r.commit(w.WorktreePath, "fine.txt", "fine\n")
			r.commit(r.dir, "a.txt", "ours\n")
		}},
		{"dirty root", "uncommitted changes", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "b.txt", "b\n")
			r.write("a.txt", "a person's own\n")
		}},
		{"untracked in root", "uncommitted changes", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "b.txt", "b\n")
			r.write("b.txt", "a person's own\n")
		}},
		{"ignored file in the way", "would overwrite local.cfg", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "local.cfg", "agent's\n")
			put(r.t, filepath.Join(r.dir, ".git", "info", "exclude"), "local.cfg\n")
			r.write("local.cfg", "a person's own\n")
		}},
		{"another branch", "Check out main", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "b.txt", "b\n")
			r.git(r.dir, "checkout", "--quiet", "-b", "feature")
		}},
		{"commit refused", "not today", func(r *repo, w *contract.Worktree) {
			r.commit(w.WorktreePath, "b.txt", "b\n")
			hook := filepath.Join(r.dir, ".git", "hooks", "pre-commit")
			put(r.t, hook, "#!/bin/sh\necho not today >&2\nexit 1\n")
			if err := os.Chmod(hook, 0o755); err != nil {
				r.t.Fatal(err)
			}
		}},
		{"a merge of their own", "a merge is under way", func(r *repo, w *contract.Worktree) {
			r.git(r.dir, "branch", "side")
			r.commit(r.dir, "c.txt", "c\n")
			r.git(r.dir, "checkout", "--quiet", "side")
			r.commit(r.dir, "d.txt", "d\n")
			r.git(r.dir, "checkout", "--quiet", "main")
			r.git(r.dir, "merge", "--quiet", "--no-commit", "--strategy=ours", "side")
			r.commit(w.WorktreePath, "b.txt", "b\n")
		}},
		{"bad base", "not the name of a branch", func(_ *repo, w *contract.Worktree) { w.BaseBranch = "-x" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			w := r.provision()
			tc.break_(r, &w)
			root, tree := r.picture(r.dir), r.picture(w.WorktreePath)
			_, err := r.Land(r.ctx, w, "title")
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Land = %v, want %q", err, tc.says)
			}
			if (tc.says == "nothing to land") != errors.Is(err, ErrNothing) {
				t.Errorf("%v is not the right kind of failure", err)
			}
			if after := r.picture(r.dir); after != root {
				t.Errorf("the root checkout changed:\n%s\nwas\n%s", after, root)
			}
			if after := r.picture(w.WorktreePath); after != tree {
				t.Errorf("the worktree changed:\n%s\nwas\n%s", after, tree)
			}
		})
	}
}

// A git without a merge outside a working tree finds the conflict in it, and the
// merge is taken back.
func TestLand_OldGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	w := r.provision()
	r.commit(w.WorktreePath, "a.txt", "theirs\n")
	r.commit(w.WorktreePath, "fine.txt", "fine\n")
	r.commit(r.dir, "a.txt", "ours\n")
	before := r.picture(r.dir)
	if _, err := r.squash(r.ctx, r.dir, w); err == nil || !strings.Contains(err.Error(), "CONFLICT") {
		t.Errorf("squash = %v", err)
	}
	if after := r.picture(r.dir); after != before {
		t.Errorf("the root checkout changed:\n%s\nwas\n%s", after, before)
	}
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	w := r.provision()
	r.commit(w.WorktreePath, "b.txt", "b\n")
	put(t, filepath.Join(w.WorktreePath, "open.txt"), "x")
	before := r.picture(r.dir)
	for range 2 { // The second finds nothing and is content.
		if got := r.Discard(r.ctx, w); got != (Removed{Worktree: true, Branch: true}) {
			t.Errorf("%+v", got)
		}
	}
	if exists(w.WorktreePath) || r.branch(w.Branch) || r.picture(r.dir) != before {
		t.Error("a discard left something, or took too much")
	}
	// What we did not make is left alone.
	for _, other := range []contract.Worktree{
		{BasePath: r.dir, WorktreePath: filepath.Join(r.dir, worktreesDir, "x"), Branch: "main"},
		{BasePath: r.dir, WorktreePath: r.dir, Branch: "pkt/x"},
	} {
		if got := r.Discard(r.ctx, other); got.Problem == "" || got.Worktree || !r.branch("main") || !exists(r.dir) {
			t.Errorf("%+v: %+v", other, got)
		}
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	w := r.provision()
	put(t, filepath.Join(w.WorktreePath, "open.txt"), "x")
	if _, err := r.Push(r.ctx, w, "t"); err == nil || !strings.Contains(err.Error(), "no remote") {
		t.Errorf("no remote: %v", err)
	}
	far := filepath.Join(r.dir, "..", "far.git")
	r.git(r.dir, "init", "--quiet", "--bare", far)
	r.git(r.dir, "remote", "add", "origin", far)
	url, err := r.Push(r.ctx, w, "t")
	if err != nil || url != far {
		t.Fatalf("%q %v", url, err)
	}
	if got := r.git(far, "log", "--format=%s", "-1", "pkt/c-1"); got != "t" {
		t.Errorf("pushed %q", got)
	}
	if got := r.git(w.WorktreePath, "rev-parse", "--abbrev-ref", "@{u}"); got != "origin/pkt/c-1" {
		t.Errorf("upstream %q", got)
	}
	r.git(r.dir, "remote", "set-url", "origin", filepath.Join(r.dir, "..", "nowhere"))
	if _, err := r.Push(r.ctx, w, "t"); err == nil {
		t.Error("a remote that is not there")
	}
}
