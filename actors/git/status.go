package git

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// worktreesDir is the folder inside a project that holds its worktrees. Source:
// mcp-state.md 11.
const worktreesDir = ".pkt-worktrees"

// notWorktrees keeps our own folder out of what counts as a change, wherever the
// project lies in its repository.
var notWorktrees = []string{"--", ".", ":(exclude,glob)**/" + worktreesDir + "/**"}

// look is what git said of a folder, with the failure as part of it.
type look struct{ git contract.ProjectGit }

// Status is what git says of the folder dir, at most age old. A folder without a
// repository is no failure; whatever else keeps git from answering is a warning.
func (g *Git) Status(ctx context.Context, dir string, age time.Duration) contract.ProjectGit {
	return g.looks.get(dir, age, func() (look, bool) {
		git := g.status(ctx, dir)
		return look{git}, ctx.Err() == nil
	}).git
}

func (g *Git) status(ctx context.Context, dir string) contract.ProjectGit {
	if !inRepository(dir) {
		return contract.ProjectGit{Warnings: []string{}}
	}
	out, err := g.read(ctx, dir, append([]string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"}, notWorktrees...)...)
	if err != nil {
		return contract.ProjectGit{IsGitRepo: true, Warnings: []string{err.Error()}}
	}
	return parseStatus(out)
}

// inRepository reports whether dir lies in a working tree. It saves a run for
// folders that do not, and tells them from a repository that git refuses.
func inRepository(dir string) bool {
	for dir = filepath.Clean(dir); ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// parseStatus reads git status --porcelain=v2 --branch -z. What it does not know
// it leaves out.
func parseStatus(out string) contract.ProjectGit {
	git := contract.ProjectGit{IsGitRepo: true, Warnings: []string{}}
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		kind, rest, _ := strings.Cut(fields[i], " ")
		switch kind {
		case "#":
			header(&git, rest)
		case "1", "2", "u":
			git.UncommittedCount++
			if len(rest) > 0 && rest[0] != '.' && kind != "u" {
				git.StagedCount++
			}
			if kind == "2" {
				i++ // The name before the rename.
			}
		case "?":
			git.UncommittedCount++
		}
	}
	git.IsClean = git.UncommittedCount == 0
	return git
}

func header(git *contract.ProjectGit, text string) {
	key, value, _ := strings.Cut(text, " ")
	switch key {
	case "branch.head":
		if value == "(detached)" {
			git.Warnings = append(git.Warnings, "No branch is checked out (detached HEAD): what is committed now belongs to none.")
			return
		}
		git.Branch = value
	case "branch.upstream":
		git.HasUpstream = value != ""
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		git.AheadUpstream, git.BehindUpstream = count(ahead, "+"), count(behind, "-")
	}
}

func count(text, sign string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(text, sign))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// TopLevel is the root of the working tree that dir lies in; empty when there is
// none.
func (g *Git) TopLevel(ctx context.Context, dir string) string {
	if !inRepository(dir) {
		return ""
	}
	out, err := g.read(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return ""
	}
	return filepath.FromSlash(strings.TrimRight(out, "\r\n"))
}
