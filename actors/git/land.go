package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// ErrNothing says that a branch has nothing that the root checkout lacks.
var ErrNothing = errors.New("git: there is nothing to land")

// Landed is a worktree that was merged back.
type Landed struct {
	// Commit is the id of the new commit, 40 hexadecimal digits or more.
	Commit  string
	Removed Removed
}

// Land merges a worktree back into the root checkout as one commit and then
// removes it. What was not committed in the worktree is committed there first,
// under title, so that removing it loses nothing. On any failure the root
// checkout is exactly as it was and the worktree is still there.
func (g *Git) Land(ctx context.Context, w contract.Worktree, title string) (Landed, error) {
	if err := errors.Join(CheckBranch(w.Branch), CheckBranch(w.BaseBranch)); err != nil {
		return Landed{}, err
	}
	defer g.lock(w.BasePath)()
	top := g.TopLevel(ctx, w.BasePath)
	if top == "" {
		return Landed{}, fmt.Errorf("%s is not in a git repository any more", w.BasePath)
	}
	if err := g.mayLand(ctx, top, w); err != nil {
		return Landed{}, err
	}
	if err := g.commitAll(ctx, w.WorktreePath, title); err != nil {
		return Landed{}, err
	}
	if err := g.preflight(ctx, top, w); err != nil {
		return Landed{}, err
	}
	commit, err := g.squash(ctx, top, w)
	if err != nil {
		return Landed{}, err
	}
	g.looks.drop(w.BasePath)
	return Landed{Commit: commit, Removed: g.clean(ctx, w)}, nil
}

// mayLand checks what a merge must not meet. All of the working tree at top has
// to be clean, not only the project's folder: a reset spares no other.
func (g *Git) mayLand(ctx context.Context, top string, w contract.Worktree) error {
	if _, err := os.Stat(w.WorktreePath); err != nil {
		return fmt.Errorf("the folder of the worktree, %s, cannot be opened", w.WorktreePath)
	}
	head, err := g.read(ctx, w.BasePath, "symbolic-ref", "--short", "-q", "HEAD")
	head = strings.TrimSpace(head)
	if err != nil && code(err) != 1 {
		return err
	}
	if head != w.BaseBranch && w.BaseBranch != "HEAD" { // HEAD: it began from no branch.
		now := "no branch"
		if head != "" {
			now = "the branch " + head
		}
		return fmt.Errorf("the project has %s checked out, and this worktree began from %s. Check out %s in the project and merge again", now, w.BaseBranch, w.BaseBranch)
	}
	// Taking our merge back would take a person's own one with it.
	for ref, what := range map[string]string{"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"} {
		if _, err := g.read(ctx, top, "rev-parse", "--quiet", "--verify", ref); err == nil {
			return fmt.Errorf("a %s is under way in the project. Finish or abort it and merge again", what)
		}
	}
	out, err := g.read(ctx, top, append([]string{"status", "--short"}, notWorktrees...)...)
	if err != nil {
		return err
	}
	if strings.TrimSpace(out) != "" {
		return errors.New("the project has uncommitted changes of its own. Commit or stash them and merge again:\n" + strings.TrimRight(clip(out), "\n"))
	}
	return nil
}

// commitAll commits what a worktree holds beyond its branch.
func (g *Git) commitAll(ctx context.Context, dir, title string) error {
	out, err := g.write(ctx, dir, "status", "--porcelain")
	if err != nil || strings.TrimSpace(out) == "" {
		return err
	}
	if _, err := g.write(ctx, dir, "add", "--all"); err != nil {
		return err
	}
	if _, err := g.write(ctx, dir, "commit", "--quiet", "-m", title); err != nil {
		// What was staged here is not what a person staged.
		_ = g.putBack(dir, "reset", "--quiet")
		return err
	}
	return nil
}

// preflight looks for what would make the merge fail, without touching a file.
func (g *Git) preflight(ctx context.Context, top string, w contract.Worktree) error {
	out, err := g.read(ctx, w.BasePath, "rev-list", "--count", "HEAD.."+w.Branch, "--")
	if err != nil {
		return err
	}
	if strings.TrimSpace(out) == "0" {
		return ErrNothing
	}
	out, err = g.read(ctx, w.BasePath, "diff", "--name-only", "--diff-filter=A", "--no-renames", "-z", "HEAD..."+w.Branch, "--")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		if name == "" {
			continue
		}
		// Git merges over a file that it ignores, and nothing would bring that
		// one back. A tracked one was added on both sides: git's own matter.
		if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name))); err == nil && !g.tracked(ctx, top, name) {
			return fmt.Errorf("the merge would overwrite %s, which git ignores in the project. Move that file away and merge again", name)
		}
	}
	return g.conflicts(ctx, w)
}

func (g *Git) tracked(ctx context.Context, top, name string) bool {
	_, err := g.read(ctx, top, "ls-files", "--error-unmatch", "--", ":(literal)"+name)
	return err == nil
}

// conflicts merges without a working tree. A git older than 2.38 cannot; the
// merge itself finds the conflicts then, and is taken back.
func (g *Git) conflicts(ctx context.Context, w contract.Worktree) error {
	out, err := g.read(ctx, w.BasePath, "merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", w.Branch)
	if code(err) != 1 {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < 2 {
		return nil
	}
	const most = 20
	names := lines[1:]
	more := ""
	if len(names) > most {
		more = fmt.Sprintf("\nand %d more", len(names)-most)
		names = names[:most]
	}
	return errors.New("the project has changed in the same places since this worktree began. Ask the agent to merge " + w.BaseBranch + " into its branch, then merge back again. Conflicts in:\n" + strings.Join(names, "\n") + more)
}

// squash merges the branch into the root checkout and commits. The checkout was
// clean, so that what a failure leaves there can only be ours.
func (g *Git) squash(ctx context.Context, top string, w contract.Worktree) (string, error) {
	undo := func(why error) error {
		_ = g.putBack(top, "merge", "--abort") // Fails after a squash; see mcp-state.md 11.
		if err := g.putBack(top, "reset", "--hard", "--quiet", "HEAD"); err != nil {
			return fmt.Errorf("%w\nThe project could not be put back: %w", why, err)
		}
		return why
	}
	// A person's own merge.ff=no, which git refuses beside --squash, is overruled.
	if out, err := g.write(ctx, top, "merge", "--squash", "--ff", "--quiet", w.Branch); err != nil {
		if strings.Contains(out, "CONFLICT") {
			err = errors.New(strings.TrimSpace(clip(out)))
		}
		return "", undo(err)
	}
	if _, err := g.write(ctx, top, "diff", "--cached", "--quiet"); err == nil {
		return "", ErrNothing
	} else if code(err) != 1 {
		return "", undo(err)
	}
	if _, err := g.write(ctx, top, "commit", "--quiet", "-m", "Merge branch '"+w.Branch+"' (squash)"); err != nil {
		return "", undo(err)
	}
	commit, err := g.read(ctx, top, "rev-parse", "HEAD")
	return strings.TrimSpace(commit), err
}

// Push sends a worktree's branch to the remote of its base branch and returns
// that remote's URL. What was not committed is committed first, under title.
func (g *Git) Push(ctx context.Context, w contract.Worktree, title string) (string, error) {
	if err := errors.Join(CheckBranch(w.Branch), CheckBranch(w.BaseBranch)); err != nil {
		return "", err
	}
	defer g.lock(w.BasePath)()
	if err := g.commitAll(ctx, w.WorktreePath, title); err != nil {
		return "", err
	}
	remote, err := g.remote(ctx, w)
	if err != nil {
		return "", err
	}
	url, err := g.read(ctx, w.BasePath, "remote", "get-url", "--push", "--", remote)
	if err != nil {
		return "", err
	}
	if _, err := g.write(ctx, w.WorktreePath, "push", "--quiet", "--set-upstream", "--", remote, w.Branch); err != nil {
		return "", err
	}
	return strings.TrimSpace(url), nil
}

// remote is the one that the base branch follows, else origin, else the only
// one.
func (g *Git) remote(ctx context.Context, w contract.Worktree) (string, error) {
	if out, err := g.read(ctx, w.BasePath, "config", "--get", "branch."+w.BaseBranch+".remote"); err == nil {
		if name := strings.TrimSpace(out); name != "" && name != "." {
			return name, nil
		}
	}
	out, err := g.read(ctx, w.BasePath, "remote")
	if err != nil {
		return "", err
	}
	names := strings.Fields(out)
	for _, name := range names {
		if name == "origin" {
			return name, nil
		}
	}
	if len(names) == 1 {
		return names[0], nil
	}
	return "", errors.New("this repository has no remote to push to. Add one (git remote add origin URL) and try again")
}
