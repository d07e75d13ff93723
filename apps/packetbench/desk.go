package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/git"
	"github.com/packetbench/packetbench/actors/msg"
	workplace "github.com/packetbench/packetbench/actors/project"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/contract"
)

// desk deals with project folders, for conversations and for the doors alike:
// one git, so that whoever asks about a project shares the answer.
type desk struct {
	git *git.Git
	// home is the person's home, claude the folder of their own instructions,
	// commands that of their slash commands.
	home, claude, commands string
	node                   gen.Node
	providers              *providers
	client                 *http.Client
	github                 string // The root of GitHub's interface.
}

// desk builds the one desk of the service.
func (s *service) desk() *desk {
	if s.atDesk != nil {
		return s.atDesk
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // Then there is nothing of a person's own.
	}
	claude := s.getenv("CLAUDE_HOME")
	if claude == "" && home != "" {
		claude = filepath.Join(home, ".claude")
	}
	s.atDesk = &desk{
		git:  git.New(git.Options{BootID: s.boot, Home: s.cfg.Paths.Home, Register: s.groups.Register, Life: s.life}),
		home: home, claude: claude, commands: s.cfg.Paths.Commands(),
		node: s.node, providers: s.providers(), client: llm.NewHTTPClient(), github: githubRoot,
	}
	return s.atDesk
}

// Cascade reads the instructions for agents that count in a folder.
func (d *desk) Cascade(ctx context.Context, dir string) []contract.PromptLayer {
	return workplace.Cascade(d.claude, d.git.TopLevel(ctx, dir), dir)
}

// Git is the state of a folder.
func (d *desk) Git(ctx context.Context, dir string, age time.Duration) contract.ProjectGit {
	return d.git.Status(ctx, dir, age)
}

// MCP lists the servers of a conversation in a folder.
func (d *desk) MCP(dir string, trusted bool, chosen []string) contract.ProjectMCP {
	return workplace.MCP(d.home, dir, trusted, chosen)
}

// Provision makes a worktree.
func (d *desk) Provision(ctx context.Context, dir string, id contract.ConversationID) (contract.Worktree, string, error) {
	return d.git.Provision(ctx, dir, id)
}

// Look is how a worktree stands.
func (d *desk) Look(ctx context.Context, w contract.Worktree) contract.WorktreeStatus {
	return d.git.Look(ctx, w)
}

// Land merges a worktree back.
func (d *desk) Land(ctx context.Context, w contract.Worktree, title string) (contract.WorktreeOutcome, error) {
	landed, err := d.git.Land(ctx, w, title)
	if errors.Is(err, git.ErrNothing) {
		return contract.WorktreeOutcome{}, nil
	}
	out := removed(landed.Removed)
	out.CommitSHA = landed.Commit
	return out, err
}

// Discard removes a worktree.
func (d *desk) Discard(ctx context.Context, w contract.Worktree) contract.WorktreeOutcome {
	return removed(d.git.Discard(ctx, w))
}

func removed(r git.Removed) contract.WorktreeOutcome {
	return contract.WorktreeOutcome{Message: r.Problem, WorktreeRemoved: r.Worktree, BranchDeleted: r.Branch}
}

// PullRequest pushes a worktree's branch and opens a draft. The error names the
// stage. Source: ui.md 12.
func (d *desk) PullRequest(ctx context.Context, w contract.Worktree, title, body string) (int, string, error) {
	remote, err := d.git.Push(ctx, w, title)
	if err != nil {
		return 0, "", fmt.Errorf("push failed: %w", err)
	}
	n, url, err := d.openPullRequest(ctx, remote, w, title, body)
	if err != nil {
		return 0, "", fmt.Errorf("the branch %s is pushed, but create failed: %w", w.Branch, err)
	}
	return n, url, nil
}

// Diff is what a reviewer of a folder is shown.
func (d *desk) Diff(ctx context.Context, dir string) (contract.ProjectDiff, error) {
	return d.git.Diff(ctx, dir)
}

// FindFiles answers an @.
func (d *desk) FindFiles(ctx context.Context, p contract.FindFilesParams) contract.FoundFiles {
	return d.git.Find(ctx, p.ProjectPath, p.Query, p.Limit)
}

// Commands lists the Markdown commands.
func (d *desk) Commands(dir string) []contract.SlashCommand {
	return workplace.Commands(d.commands, dir)
}

// projectAge is how old the state of a project may be for a launch screen.
const projectAge = 5 * time.Second

// Project is everything that a launch screen shows of a folder.
func (d *desk) Project(ctx context.Context, dir string) contract.ProjectFacts {
	reply, err := d.node.CallWithTimeout(msg.Store, msg.TrustQuestion{ProjectPath: dir}, 5)
	trust, ok := reply.(msg.TrustAnswer)
	if err != nil || !ok {
		trust = msg.TrustAnswer{} // What is not known to be trusted is not.
	}
	return contract.ProjectFacts{
		Git: d.Git(ctx, dir, projectAge), MCP: d.MCP(dir, trust.Trusted, nil), Trusted: trust.Trusted, TrustAsked: trust.Asked,
	}
}

// Export writes a transcript as a file.
func (d *desk) Export(c contract.Conversation, format contract.ExportFormat) (contract.Exported, error) {
	out := contract.Exported{FileName: fileName(c.Title, c.SessionID) + "." + string(format), MediaType: "text/markdown"}
	if format == contract.ExportMarkdown {
		out.Content = plaintext.Transcript(c)
		return out, nil
	}
	out.MediaType = "application/json"
	raw, err := contract.Marshal(c)
	if err != nil {
		return out, fmt.Errorf("the conversation could not be encoded: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return out, fmt.Errorf("the conversation could not be encoded: %w", err)
	}
	out.Content = b.String() + "\n"
	return out, nil
}

// fileName makes a file name of a title that every system takes.
func fileName(title string, id contract.ConversationID) string {
	const most = 60
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= most {
			break
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return string(id)
}
