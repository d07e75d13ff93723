package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = time.Minute

// repo is a repository with one commit on the branch main, in a folder whose
// name has a space, a quote and a letter beyond ASCII (F81).
type repo struct {
	*Git
	t   *testing.T
	dir string
	env []string
	ctx context.Context
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := bare(t)
	r.git(r.dir, "init", "--quiet", "--initial-branch=main")
	r.write("a.txt", "one\ntwo\nthree\n")
	r.git(r.dir, "add", "--all")
	r.git(r.dir, "commit", "--quiet", "-m", "first")
	return r
}

// bare is a folder without a repository.
func bare(t *testing.T) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("these tests need git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "a b \u00e7'x")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "SystemRoot=" + os.Getenv("SystemRoot"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	return &repo{Git: New(Options{BootID: "test-boot", Home: home, Env: env}), t: t, dir: dir, env: env, ctx: ctx}
}

// git runs git as a person would.
func (r *repo) git(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(name, content string) {
	r.t.Helper()
	put(r.t, filepath.Join(r.dir, name), content)
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *repo) commit(dir, name, content string) {
	r.t.Helper()
	put(r.t, filepath.Join(dir, name), content)
	r.git(dir, "add", "--all")
	r.git(dir, "commit", "--quiet", "-m", "change "+name)
}

// provision makes the worktree of conversation c-1.
func (r *repo) provision() contract.Worktree {
	r.t.Helper()
	w, work, err := r.Provision(r.ctx, r.dir, "c-1")
	if err != nil {
		r.t.Fatal(err)
	}
	if work != w.WorktreePath {
		r.t.Fatalf("the folder to work in is %s, want %s", work, w.WorktreePath)
	}
	return w
}

// picture is everything of a checkout that an ending may not change: commit,
// branch, index and each file with its content.
func (r *repo) picture(dir string) string {
	r.t.Helper()
	var b strings.Builder
	b.WriteString(r.git(dir, "rev-parse", "HEAD") + "\n" + r.git(dir, "status", "--porcelain=v2", "--branch", "--ignored") + "\n" + r.git(dir, "ls-files", "--stage") + "\n")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == worktreesDir {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b.WriteString(path + "\n" + string(content) + "\n")
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}
