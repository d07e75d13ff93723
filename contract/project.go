package contract

// What a window asks about a project folder, and the worktree endings. All of
// it is answered by the service, so that every window sees the same. Source:
// ui.md 5, 6 and 12, mcp-state.md 10 and 11.
type (
	// ProjectParams names a project by its absolute path. Where a method says
	// so the path may be empty.
	ProjectParams struct {
		ProjectPath string `json:"project_path"`
	}
	// FindFilesParams asks for files of a project that match what was typed
	// behind an @. Limit is at most 200; 0 means 20.
	FindFilesParams struct {
		ProjectPath string `json:"project_path"`
		Query       string `json:"query"`
		Limit       int    `json:"limit,omitempty"`
	}
	// FoundFiles are paths relative to the project, with slashes, best match
	// first. Truncated says that the project has more files than were looked at.
	FoundFiles struct {
		Paths     []string `json:"paths"`
		Truncated bool     `json:"truncated"`
	}
	// SlashCommand is one Markdown command file. Body goes into the composer in
	// place of the typed name.
	SlashCommand struct {
		Name        string        `json:"name"`
		Description string        `json:"description"`
		Body        string        `json:"body"`
		Source      CommandSource `json:"source"`
	}
	// ProjectGit is what git says of a project folder. Branch is empty on a
	// detached HEAD; counts are of files and commits. Warnings are sentences.
	ProjectGit struct {
		IsGitRepo        bool     `json:"is_git_repo"`
		Branch           string   `json:"branch"`
		HasUpstream      bool     `json:"has_upstream"`
		IsClean          bool     `json:"is_clean"`
		UncommittedCount int      `json:"uncommitted_count"`
		StagedCount      int      `json:"staged_count"`
		AheadUpstream    int      `json:"ahead_upstream"`
		BehindUpstream   int      `json:"behind_upstream"`
		Warnings         []string `json:"warnings"`
	}
	// ProjectDiff answers get_project_diff: what is staged, else what is changed
	// and tracked, as git writes it. Empty when nothing is. Truncated says that
	// it was cut, at a line.
	ProjectDiff struct {
		Diff      string `json:"diff"`
		Staged    bool   `json:"staged"`
		Truncated bool   `json:"truncated"`
	}
	// ProjectMCP lists the MCP servers that a conversation of the project gets.
	// An untrusted project's own servers are not among them.
	ProjectMCP struct {
		Servers    []MCPSource    `json:"servers"`
		ReadErrors []MCPReadError `json:"read_errors"`
	}
	// ProjectFacts answers get_project. Trusted says that the project's own
	// hooks, MCP servers and agents count; TrustAsked that a person has
	// answered that question before.
	ProjectFacts struct {
		Git        ProjectGit `json:"git"`
		MCP        ProjectMCP `json:"mcp"`
		Trusted    bool       `json:"trusted"`
		TrustAsked bool       `json:"trust_asked"`
	}
	// WorktreeParams is for merge_worktree and create_worktree_pr. BaseBranch
	// is needed when the worktree's own is not recorded, and refused to differ
	// from it otherwise. Title and Body are the pull request's; absent, the
	// conversation's title and a line about it.
	WorktreeParams struct {
		SessionID  ConversationID `json:"session_id"`
		BaseBranch string         `json:"base_branch,omitempty"`
		Title      string         `json:"title,omitempty"`
		Body       string         `json:"body,omitempty"`
	}
	// DiscardParams discards a worktree. Confirmed is a person's answer to the
	// Confirm of an earlier try.
	DiscardParams struct {
		SessionID ConversationID `json:"session_id"`
		Confirmed bool           `json:"confirmed,omitempty"`
	}
	// WorktreeStatus answers get_worktree. Unmerged counts the commits that the
	// base branch does not have; Problem is why git could not be asked, and then
	// unsaved work has to be assumed. Legacy says that the worktree was derived
	// from its path and a base branch has to be chosen.
	WorktreeStatus struct {
		Worktree         Worktree `json:"worktree"`
		Exists           bool     `json:"exists"`
		IsClean          bool     `json:"is_clean"`
		UncommittedCount int      `json:"uncommitted_count"`
		Unmerged         int      `json:"unmerged"`
		Legacy           bool     `json:"legacy"`
		Problem          string   `json:"problem,omitempty"`
	}
	// WorktreeOutcome answers the endings of a worktree. Message is the line to
	// show; Confirm is set when nothing was done yet and a person has to say
	// yes first. CommitSHA is the whole id of the landed commit.
	WorktreeOutcome struct {
		Worktree        Worktree `json:"worktree"`
		Message         string   `json:"message"`
		Confirm         *Confirm `json:"confirm,omitempty"`
		CommitSHA       string   `json:"commit_sha,omitempty"`
		BranchDeleted   bool     `json:"branch_deleted"`
		WorktreeRemoved bool     `json:"worktree_removed"`
	}
	// Confirm is a question whose consequence a person has to see before it is
	// answered. Lines come in the order in which they are shown.
	Confirm struct {
		Title   string   `json:"title"`
		Callout string   `json:"callout,omitempty"`
		Lines   []string `json:"lines"`
		Button  string   `json:"button"`
	}
	// DeleteResult answers delete_conversation, which has happened. Problem is
	// what was left behind of its worktree, a sentence.
	DeleteResult struct {
		Problem string `json:"problem,omitempty"`
	}
)

// CommandSource says where a Markdown command comes from.
type CommandSource string

// The two sources; a project's command hides a global one of its name.
const (
	CommandGlobal  CommandSource = "global"
	CommandProject CommandSource = "project"
)

// WorktreeState is where a worktree stands.
type WorktreeState string

// The three states. Source: mcp-state.md 5.
const (
	WorktreeActive    WorktreeState = "active"
	WorktreeLanded    WorktreeState = "landed"
	WorktreeDiscarded WorktreeState = "discarded"
)
