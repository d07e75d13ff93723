package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// branchPrefix begins the branch of every worktree. Source: mcp-state.md 11.
const branchPrefix = "pkt/"

// Provision makes a worktree for the conversation id of the project and returns
// it with the folder to work in: the one inside the worktree that the project is
// inside its repository. A worktree that is there already is taken again, so
// that a start that was cut short can be made once more. The error is git's.
//
// Nothing is written into the project but the folder of worktrees, which
// ignores itself.
func (g *Git) Provision(ctx context.Context, project string, id contract.ConversationID) (contract.Worktree, string, error) {
	w := contract.Worktree{
		BasePath: project, WorktreePath: filepath.Join(project, worktreesDir, string(id)), Branch: branchPrefix + string(id),
		CreatedAt: g.opt.Now().UTC(), State: string(contract.WorktreeActive),
	}
	if !contract.ValidID(string(id)) {
		return w, "", fmt.Errorf("git: %q is no id of a conversation", id)
	}
	defer g.lock(project)()
	inside, err := g.write(ctx, project, "rev-parse", "--show-prefix")
	if err != nil {
		return w, "", err
	}
	base, err := g.write(ctx, project, "symbolic-ref", "--short", "-q", "HEAD")
	if w.BaseBranch = strings.TrimSpace(base); err != nil || w.BaseBranch == "" {
		w.BaseBranch = "HEAD"
	}
	if err := makeRoom(filepath.Join(project, worktreesDir)); err != nil {
		return w, "", err
	}
	if err := g.add(ctx, w); err != nil {
		return w, "", err
	}
	work := filepath.Join(w.WorktreePath, filepath.FromSlash(strings.TrimRight(inside, "\r\n")))
	if info, err := os.Stat(work); err != nil || !info.IsDir() {
		work = w.WorktreePath // The project's folder is not committed yet.
	}
	return w, work, nil
}

// makeRoom makes the folder of worktrees. Its own ignore file keeps a person's
// git add -A from taking the worktrees for embedded repositories.
func makeRoom(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("the folder for worktrees could not be made: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("the folder for worktrees cannot be opened: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder, so no worktree can be made in it. Move it away and try again", dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString("*\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("the folder for worktrees cannot be written: %w", err)
	}
	return nil
}

// add checks the branch out into its folder; both may be there.
func (g *Git) add(ctx context.Context, w contract.Worktree) error {
	if _, err := os.Lstat(w.WorktreePath); err == nil {
		head, err := g.write(ctx, w.WorktreePath, "symbolic-ref", "--short", "-q", "HEAD")
		if err == nil && strings.TrimSpace(head) == w.Branch {
			return nil
		}
		return fmt.Errorf("%s is there already and is not a worktree on the branch %s. Move it away and try again", w.WorktreePath, w.Branch)
	}
	// A folder that was removed by hand is still registered.
	if _, err := g.write(ctx, w.BasePath, "worktree", "prune"); err != nil {
		return err
	}
	args := []string{"worktree", "add", "--quiet", "-b", w.Branch, w.WorktreePath, w.BaseBranch}
	if g.branchExists(ctx, w.BasePath, w.Branch) {
		args = []string{"worktree", "add", "--quiet", w.WorktreePath, w.Branch}
	}
	_, err := g.write(ctx, w.BasePath, args...)
	return err
}

func (g *Git) branchExists(ctx context.Context, dir, branch string) bool {
	_, err := g.read(ctx, dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	return err == nil
}

// CheckBranch refuses a name that git would take for something else. Source:
// mcp-state.md 11.
func CheckBranch(name string) error {
	bad := name == "" || len(name) > 250 || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "/") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.Contains(name, "//") ||
		strings.ContainsAny(name, " ~^:\\?*[") || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".") ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
	if bad {
		return fmt.Errorf("%q is not the name of a branch", name)
	}
	return nil
}

// Look is how a worktree stands. It never fails: what git could not say is the
// status's problem, and then unsaved work has to be assumed.
func (g *Git) Look(ctx context.Context, w contract.Worktree) contract.WorktreeStatus {
	s := contract.WorktreeStatus{Worktree: w, Legacy: w.BaseBranch == ""}
	if _, err := os.Lstat(w.WorktreePath); errors.Is(err, os.ErrNotExist) {
		s.IsClean = true
		return s
	}
	s.Exists = true
	out, err := g.read(ctx, w.WorktreePath, "status", "--porcelain=v2", "-z", "--untracked-files=normal")
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	git := parseStatus(out)
	s.IsClean, s.UncommittedCount = git.IsClean, git.UncommittedCount
	if w.BaseBranch != "" && CheckBranch(w.BaseBranch) == nil {
		out, err := g.read(ctx, w.BasePath, "rev-list", "--count", w.BaseBranch+".."+w.Branch, "--")
		if err == nil {
			s.Unmerged, _ = strconv.Atoi(strings.TrimSpace(out))
		}
	}
	return s
}

// Removed says what of a worktree is gone after an ending.
type Removed struct {
	Worktree, Branch bool
	// Problem is why something is left, git's words.
	Problem string
}

// Discard removes a worktree and its branch with everything in them. What is
// not there any more counts as removed.
func (g *Git) Discard(ctx context.Context, w contract.Worktree) Removed {
	defer g.lock(w.BasePath)()
	return g.clean(ctx, w)
}

// clean removes the worktree before the branch: git keeps a branch that is
// checked out somewhere.
func (g *Git) clean(ctx context.Context, w contract.Worktree) Removed {
	var r Removed
	if CheckBranch(w.Branch) != nil || !strings.HasPrefix(w.Branch, branchPrefix) || filepath.Base(filepath.Dir(w.WorktreePath)) != worktreesDir {
		r.Problem = fmt.Sprintf("%s on branch %s was not made by PacketBench and is left alone.", w.WorktreePath, w.Branch)
		return r
	}
	if _, err := os.Stat(w.BasePath); errors.Is(err, os.ErrNotExist) {
		return Removed{Worktree: true, Branch: true} // Gone with its project.
	}
	if _, err := os.Lstat(w.WorktreePath); errors.Is(err, os.ErrNotExist) {
		r.Worktree = true
		_, _ = g.write(ctx, w.BasePath, "worktree", "prune") // Best effort: it frees the branch.
	} else if _, err := g.write(ctx, w.BasePath, "worktree", "remove", "--force", w.WorktreePath); err != nil {
		r.Problem = err.Error()
		return r
	}
	r.Worktree = true
	if !g.branchExists(ctx, w.BasePath, w.Branch) {
		r.Branch = true
		return r
	}
	if _, err := g.write(ctx, w.BasePath, "branch", "-D", "--quiet", w.Branch); err != nil {
		r.Problem = err.Error()
		return r
	}
	r.Branch = true
	return r
}
