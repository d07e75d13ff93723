package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if got := r.Status(r.ctx, r.dir, 0); !got.IsGitRepo || got.Branch != "main" || !got.IsClean || got.HasUpstream || len(got.Warnings) != 0 {
		t.Errorf("a clean repository: %+v", got)
	}
	r.git(r.dir, "clone", "--quiet", "--bare", r.dir, filepath.Join(r.dir, "..", "far.git"))
	r.git(r.dir, "remote", "add", "origin", filepath.Join(r.dir, "..", "far.git"))
	r.git(r.dir, "fetch", "--quiet", "origin")
	r.git(r.dir, "branch", "--quiet", "--set-upstream-to=origin/main")
	r.commit(r.dir, "b.txt", "b\n")
	r.write("a.txt", "changed\n")
	r.git(r.dir, "mv", "b.txt", "c d.txt")
	r.write("new\nline.txt", "x")
	r.provision()
	got := r.Status(r.ctx, r.dir, 0)
	want := contract.ProjectGit{IsGitRepo: true, Branch: "main", HasUpstream: true, UncommittedCount: 3, StagedCount: 1, AheadUpstream: 1}
	if got.Warnings = nil; got.UncommittedCount != want.UncommittedCount || got.StagedCount != 1 || got.AheadUpstream != 1 || got.BehindUpstream != 0 || got.IsClean || !got.HasUpstream {
		t.Errorf("Status = %+v, want %+v", got, want)
	}
	r.git(r.dir, "checkout", "--quiet", "--force", "--detach")
	if got := r.Status(r.ctx, r.dir, 0); got.Branch != "" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "detached") {
		t.Errorf("detached: %+v", got)
	}
}

// A folder without a repository is no failure, and a repository that git
// refuses is one with a warning.
func TestStatus_Without(t *testing.T) {
	t.Parallel()
	r := bare(t)
	if got := r.Status(r.ctx, r.dir, 0); got.IsGitRepo || len(got.Warnings) != 0 || got.Warnings == nil {
		t.Errorf("no repository: %+v", got)
	}
	put(t, filepath.Join(r.dir, ".git"), "gitdir: /nowhere\n")
	if got := r.Status(r.ctx, r.dir, 0); !got.IsGitRepo || len(got.Warnings) != 1 || got.Warnings[0] == "" {
		t.Errorf("a broken repository: %+v", got)
	}
}

// Sixteen who ask at once cost one run, and an old answer is made again.
func TestStatus_Shared(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := cache[int]{now: func() time.Time { return now }, entries: map[string]*entry[int]{}}
	made := 0
	slow := func() (int, bool) { made++; return made, true }
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := c.get("p", time.Minute, slow); got != 1 {
				t.Errorf("got %d", got)
			}
		})
	}
	all.Wait()
	if now = now.Add(2 * time.Minute); c.get("p", time.Minute, slow) != 2 {
		t.Error("an old result was kept")
	}
	if c.get("q", time.Minute, func() (int, bool) { return 9, false }) != 9 || c.get("q", time.Minute, slow) != 3 {
		t.Error("a result that was not to be kept was kept")
	}
	for i := range 3 * maxEntries {
		c.get(strings.Repeat("x", i), time.Minute, slow)
	}
	if len(c.entries) > maxEntries {
		t.Errorf("the cache holds %d folders", len(c.entries))
	}
}

// A program that the folder names is not run for a look at it.
func TestStatus_NoMonitor(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	mark := filepath.Join(r.dir, "..", "ran")
	r.git(r.dir, "config", "core.fsmonitor", "touch '"+mark+"'; false")
	r.Status(r.ctx, r.dir, 0)
	r.Find(r.ctx, r.dir, "a", 0)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository's monitor ran")
	}
}

func TestRun_Failures(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ended, stop := context.WithCancel(r.ctx)
	stop()
	if _, err := r.read(ended, r.dir, "status"); err == nil || !strings.Contains(err.Error(), "nobody waits") {
		t.Errorf("an ended context: %v", err)
	}
	if _, err := r.read(r.ctx, r.dir, "rev-parse", "--verify", "nothing"); code(err) != 128 || !strings.Contains(err.Error(), "fatal") {
		t.Errorf("git's own failure: %v", err)
	}
	if _, err := r.run(r.ctx, r.ctx, 50*time.Millisecond, r.dir, []string{"-c", "alias.wait=!sleep 60", "wait"}); err == nil || !strings.Contains(err.Error(), "did not finish within 50ms") {
		t.Errorf("a run that hangs: %v", err)
	}
	if _, err := r.read(r.ctx, filepath.Join(r.dir, "gone"), "status"); err == nil {
		t.Error("a folder that is gone")
	}
	if got := verb([]string{"--no-optional-locks", "-c", "a=b", "status", "-z"}); got != "status" {
		t.Errorf("verb = %q", got)
	}
}

// The environment of git neither points elsewhere nor lets anything ask.
func TestEnviron(t *testing.T) {
	t.Parallel()
	got := environ([]string{"PATH=/bin", "GIT_DIR=/x", "GIT_ASKPASS=ask", "PACKETBENCH_HOME=/h", "HOME=/me"})
	text := strings.Join(got, "\n") + "\n"
	for _, want := range []string{"PATH=/bin\n", "HOME=/me\n", "GIT_TERMINAL_PROMPT=0\n", "GIT_ASKPASS=\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	for _, bad := range []string{"GIT_DIR=", "ask\n", "PACKETBENCH_"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in %q", bad, text)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid abc\x00# branch.head main\x00# branch.upstream origin/main\x00# branch.ab +1 -2\x001 M. N... 100644 100644 100644 a b c.txt\x00? x\x00")
	f.Add("2 R. N... 1 1 1 a b R100 to\x00from\x00u UU N... 1 1 1 1 a b c d\x00# branch.head (detached)\x00")
	f.Fuzz(func(t *testing.T, out string) {
		got := parseStatus(out)
		if !got.IsGitRepo || got.IsClean != (got.UncommittedCount == 0) || got.StagedCount > got.UncommittedCount || got.AheadUpstream < 0 || got.BehindUpstream < 0 {
			t.Errorf("%q: %+v", out, got)
		}
	})
}
