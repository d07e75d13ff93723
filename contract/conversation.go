package contract

import (
	"encoding/json"
	"time"
)

// Status is where a conversation stands.
type Status string

// The four statuses. Source: contract.md 2.3.
const (
	StatusActive Status = "active"
	StatusIdle   Status = "idle"
	StatusDone   Status = "done"
	StatusFailed Status = "failed"
)

// PermissionMode is one half of the posture.
type PermissionMode string

// The four permission modes. Absent means ModeAskForRisky (interface.md,
// decision 2).
const (
	ModeAuto        PermissionMode = "auto"
	ModeAskForRisky PermissionMode = "ask_for_risky"
	ModeAllowAll    PermissionMode = "allow_all"
	ModeDenyAll     PermissionMode = "deny_all"
)

// Valid reports whether m is one of the four.
func (m PermissionMode) Valid() bool {
	return m == ModeAuto || m == ModeAskForRisky || m == ModeAllowAll || m == ModeDenyAll
}

// Tier is how far a call can reach.
type Tier string

// The three tiers. Source: tools-permissions.md 7.
const (
	TierRead     Tier = "read"
	TierEdit     Tier = "edit_in_project"
	TierBlocking Tier = "blocking"
)

// Outcome is how a turn ended.
type Outcome string

// The four outcomes. Source: contract.md 2.3.
const (
	OutcomeDone        Outcome = "done"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeError       Outcome = "error"
	OutcomeInterrupted Outcome = "interrupted"
)

// Decision answers a permission prompt.
type Decision string

// The three permission decisions.
const (
	AllowOnce   Decision = "allow_once"
	AllowAlways Decision = "allow_always"
	Deny        Decision = "deny"
)

// EditDecision answers an edit prompt.
type EditDecision string

// The two edit decisions.
const (
	ApplyEdit  EditDecision = "apply"
	RejectEdit EditDecision = "reject"
)

// DecidedBy says who answered a prompt.
type DecidedBy string

// Everybody who can answer. A timeout is never reported as a user's denial.
const (
	ByUser    DecidedBy = "user"
	ByPolicy  DecidedBy = "policy"
	ByTimeout DecidedBy = "timeout"
	ByCancel  DecidedBy = "cancel"
	ByRestart DecidedBy = "restart"
)

// Level grades a notice.
type Level string

// The three levels.
const (
	LevelInfo    Level = "info"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Worktree is where a conversation's edits land when not in the project.
type Worktree struct {
	BasePath     string    `json:"base_path"`
	WorktreePath string    `json:"worktree_path"`
	Branch       string    `json:"branch"`
	BaseBranch   string    `json:"base_branch,omitempty"`
	CreatedAt    time.Time `json:"created_at"`
	State        string    `json:"state"`
	// PRNumber and PRURL are those of the draft pull request, if one was opened.
	PRNumber int    `json:"pr_number,omitempty"`
	PRURL    string `json:"pr_url,omitempty"`
}

// Summary is what a list shows of a conversation. Times are RFC 3339.
type Summary struct {
	SessionID       ConversationID  `json:"session_id"`
	Title           string          `json:"title"`
	Row             RowID           `json:"row"`
	Provider        ProviderID      `json:"provider"`
	Model           string          `json:"model"`
	ProjectPath     string          `json:"project_path"`
	Status          Status          `json:"status"`
	Archived        bool            `json:"archived"`
	Pinned          bool            `json:"pinned"`
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       time.Time       `json:"updated_at"`
	NeedsYou        int             `json:"needs_you"`
	Queued          int             `json:"queued"`
	ParentSessionID *ConversationID `json:"parent_session_id,omitempty"`
	Worktree        *Worktree       `json:"worktree,omitempty"`
	// RetiredNotice is set for a row that is no longer offered.
	RetiredNotice string `json:"retired_notice,omitempty"`
	// Health is there after something happened to it that a person should know.
	Health *Health `json:"health,omitempty"`
}

// Attachment is an image of a user message, at most MaxImageBytes decoded.
type Attachment struct {
	MediaType  string `json:"media_type"`
	DataBase64 string `json:"data_base64"`
	Name       string `json:"name,omitempty"`
}

// AttachmentInfo is what events say of an attachment: never its data. Size is
// in bytes.
type AttachmentInfo struct {
	MediaType string `json:"media_type"`
	Size      int    `json:"size"`
	Name      string `json:"name,omitempty"`
}

// MaxImageBytes is the decoded size of the largest image. Source: contract.md
// 6.1.
const MaxImageBytes = 5 * 1024 * 1024

// Role says whose message it is.
type Role string

// The three roles of a transcript.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// PartType is one kind of part of an assistant message.
type PartType string

// The four part types.
const (
	PartText     PartType = "text"
	PartThinking PartType = "thinking"
	PartTool     PartType = "tool"
	PartRequest  PartType = "request"
)

// Part gives the order inside an assistant message, of which there is one per
// turn. A text or thinking part is the next Length UTF-16 code units of
// content or thinking (what a browser's string counts); a tool part names a
// call; a request part stands where the turn asked the model again.
type Part struct {
	Type   PartType `json:"type"`
	Length int      `json:"length,omitempty"`
	ID     string   `json:"id,omitempty"`
}

// ToolStatus is where a tool call stands.
type ToolStatus string

// The three tool statuses.
const (
	ToolRunning ToolStatus = "running"
	ToolDone    ToolStatus = "done"
	ToolError   ToolStatus = "error"
)

// ToolCall is one call of a message as a window shows it.
type ToolCall struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	Status        ToolStatus `json:"status"`
	File          string     `json:"file,omitempty"`
	Summary       string     `json:"summary,omitempty"`
	Content       string     `json:"content,omitempty"`
	Input         string     `json:"input,omitempty"`
	ExitCode      *int64     `json:"exit_code,omitempty"`
	ModifiedPaths []string   `json:"modified_paths,omitempty"`
	Stdout        *string    `json:"stdout,omitempty"`
	Stderr        *string    `json:"stderr,omitempty"`
	// LinesAdded and LinesRemoved count the lines that an edit changed in the
	// file as it was written; a changed line is one of each. Absent when no edit
	// was written, and when the file was no text before.
	LinesAdded   *int `json:"lines_added,omitempty"`
	LinesRemoved *int `json:"lines_removed,omitempty"`
	// DeniedBy is set when a prompt for this call was not allowed.
	DeniedBy DecidedBy `json:"denied_by,omitempty"`
}

// Message is one entry of a transcript as a window shows it. ID is "m-<n>" for
// a user's or a system message and the turn's id for an assistant's, so that a
// window that only saw turn-started knows it. A queued follow-up is announced
// by user-turn with queued true and again, with the same id and queued false,
// when its turn comes. Timestamp is in ms since 1970.
type Message struct {
	ID               string           `json:"id"`
	Role             Role             `json:"role"`
	Content          string           `json:"content"`
	Timestamp        int64            `json:"timestamp"`
	TurnID           TurnID           `json:"turn_id,omitempty"`
	Outcome          Outcome          `json:"outcome,omitempty"`
	IsStreaming      bool             `json:"is_streaming,omitempty"`
	Queued           bool             `json:"queued,omitempty"`
	Level            Level            `json:"level,omitempty"`
	Thinking         string           `json:"thinking,omitempty"`
	Parts            []Part           `json:"parts,omitempty"`
	ToolCalls        []ToolCall       `json:"tool_calls,omitempty"`
	Attachments      []AttachmentInfo `json:"attachments,omitempty"`
	InputTokens      uint64           `json:"input_tokens,omitempty"`
	OutputTokens     uint64           `json:"output_tokens,omitempty"`
	CacheReadTokens  uint64           `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens uint64           `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  uint64           `json:"reasoning_tokens,omitempty"`
	// Error is the text of the turn's error, also appended to Content.
	Error string `json:"error,omitempty"`
}

// Source is one piece of evidence that a prompt warns about.
type Source struct {
	Origin  string `json:"origin"`
	Label   string `json:"label"`
	Locator string `json:"locator,omitempty"`
}

// PendingPermission is a parked permission prompt with what its card needs.
type PendingPermission struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Arguments    string   `json:"arguments"`
	Tier         Tier     `json:"tier"`
	Destructive  bool     `json:"destructive"`
	AllowPattern *string  `json:"allow_pattern,omitempty"`
	Sources      []Source `json:"sources,omitempty"`
	BatchID      *string  `json:"batch_id,omitempty"`
	BatchSize    *uint64  `json:"batch_size,omitempty"`
	OpenedAt     int64    `json:"opened_at"`
}

// PendingEditPrompt is a parked edit.
type PendingEditPrompt struct {
	ID       string  `json:"id"`
	Path     string  `json:"path"`
	Content  string  `json:"content"`
	Before   *string `json:"before,omitempty"`
	OpenedAt int64   `json:"opened_at"`
}

// QueueItem is a follow-up that waits for the turn's end.
type QueueItem struct {
	MessageID string `json:"message_id"`
	Content   string `json:"content"`
}

// Posture is what a conversation lets the model do.
type Posture struct {
	PlanMode       bool           `json:"plan_mode"`
	PermissionMode PermissionMode `json:"permission_mode"`
	ApproveWrites  bool           `json:"approve_writes"`
}

// ContextUse is how full the model's window was at the latest model request,
// in tokens. Estimated says that the provider sent no usage and the figure is
// characters divided by four.
type ContextUse struct {
	Used      uint64 `json:"used"`
	Window    uint64 `json:"window"`
	Estimated bool   `json:"estimated,omitempty"`
}

// Conversation is the whole of one conversation as a window shows it.
type Conversation struct {
	Summary
	Posture
	AllowedTools       []string            `json:"allowed_tools"`
	AllowPatterns      []string            `json:"allow_patterns"`
	ThinkingEnabled    bool                `json:"thinking_enabled"`
	TurnID             TurnID              `json:"turn_id,omitempty"`
	Stopping           bool                `json:"stopping,omitempty"`
	RateLimited        *RateLimited        `json:"rate_limited,omitempty"`
	Messages           []Message           `json:"messages"`
	PendingPermissions []PendingPermission `json:"pending_permissions"`
	PendingEdits       []PendingEditPrompt `json:"pending_edits"`
	Queue              []QueueItem         `json:"queue"`
	Plan               []PlanItem          `json:"plan"`
	PlanApproved       bool                `json:"plan_approved"`
	// PlanReady says that the last answer is a plan that may be approved.
	PlanReady    bool         `json:"plan_ready"`
	Context      *ContextUse  `json:"context,omitempty"`
	Capabilities Capabilities `json:"capabilities"`
	// EngineMode is what an engine will do with the posture, absent for other
	// rows and until the engine has said it.
	EngineMode *EngineMode `json:"engine_mode,omitempty"`
	// Profile is the id of the profile that it was launched with.
	Profile              string        `json:"profile,omitempty"`
	MemoryContextEnabled bool          `json:"memory_context_enabled"`
	DiffComments         []DiffComment `json:"diff_comments"`
	// Git and MCP are absent until they were looked at for the first time.
	Git *ProjectGit `json:"git,omitempty"`
	MCP *ProjectMCP `json:"mcp,omitempty"`
}

// EngineMode is what an ACP engine will do with the posture of a conversation,
// which may be something else than was asked for. Source: acp.md 5.1.
type EngineMode struct {
	// Mode is the engine's own id, empty when it is not known; Label is for
	// people and is what the chip shows.
	Mode  string `json:"mode,omitempty"`
	Label string `json:"label"`
	// Honoured says that it is what the posture asks for, Later that it could
	// be, from the engine's next session on.
	Honoured bool `json:"honoured"`
	Later    bool `json:"later,omitempty"`
}

// Snapshot answers get_conversation. Seq is the head of the log at that
// moment, so that subscribing since Seq+1 continues without loss or repeat.
type Snapshot struct {
	Conversation Conversation `json:"conversation"`
	Seq          uint64       `json:"seq"`
}

// Payloads of the second family. Source: contract.md 2.3.
type (
	// UserTurn says that a user message was accepted.
	UserTurn struct {
		MessageID   string           `json:"message_id"`
		Content     string           `json:"content"`
		Attachments []AttachmentInfo `json:"attachments"`
		Queued      bool             `json:"queued"`
	}
	// TurnStarted comes before the first event of a turn.
	TurnStarted struct {
		TurnID TurnID `json:"turn_id"`
	}
	// TurnEnded comes after the turn's done or error.
	TurnEnded struct {
		TurnID  TurnID  `json:"turn_id"`
		Outcome Outcome `json:"outcome"`
	}
	// PromptOpened comes just before its permission-request.
	PromptOpened struct {
		ID           string   `json:"id"`
		Tier         Tier     `json:"tier"`
		Destructive  bool     `json:"destructive"`
		AllowPattern *string  `json:"allow_pattern,omitempty"`
		Sources      []Source `json:"sources,omitempty"`
	}
	// PromptResolved says that a parked permission left the queue.
	PromptResolved struct {
		ID       string    `json:"id"`
		Decision Decision  `json:"decision"`
		By       DecidedBy `json:"by"`
	}
	// EditResolved says that a parked edit left the queue.
	EditResolved struct {
		ID       string       `json:"id"`
		Decision EditDecision `json:"decision"`
		By       DecidedBy    `json:"by"`
	}
	// QueueChanged carries the whole queue.
	QueueChanged struct {
		Items []QueueItem `json:"items"`
	}
	// Notice says that a system line joined the transcript.
	Notice struct {
		MessageID string `json:"message_id"`
		Level     Level  `json:"level"`
		Text      string `json:"text"`
	}
)

// SidecarStatus is the payload of sidecar-status.changed and the result of
// get_sidecar_status. Absent values are null, the one exception to the rule.
type SidecarStatus struct {
	State           string          `json:"state"`
	Restarts        uint64          `json:"restarts"`
	LastError       *string         `json:"last_error"`
	ProtocolVersion *int            `json:"protocol_version"`
	PID             *int            `json:"pid"`
	Version         *string         `json:"version"`
	Lifetime        SidecarLifetime `json:"lifetime"`
}

// SidecarLifetime counts over all runs of the service.
type SidecarLifetime struct {
	TotalStarts     uint64  `json:"total_starts"`
	TotalCrashes    uint64  `json:"total_crashes"`
	TotalUptimeSecs uint64  `json:"total_uptime_secs"`
	LastCrashTime   *string `json:"last_crash_time"`
	LastVersion     *string `json:"last_version"`
	LastError       *string `json:"last_error"`
}

// ProviderAuth is the payload of provider-auth.changed.
type ProviderAuth struct {
	Provider  AuthProbe `json:"provider"`
	AccountID string    `json:"accountId,omitempty"`
	Status    *Badge    `json:"status,omitempty"`
}

// Envelope carries one event to a window: the event notification, the SSE
// data line and --json output.
type Envelope struct {
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Subject string          `json:"subject"`
	Turn    TurnID          `json:"turn,omitempty"`
	Data    json.RawMessage `json:"data"`
}

// PatchReload is the key of an `updated` patch, true, that tells a window to
// take the snapshot again: messages have been dropped or replaced (a retry, or
// an actor that was restarted from its file).
const PatchReload = "reload"

// PatchContext is the key of an `updated` patch that carries a ContextUse.
const PatchContext = "context"

// PatchEngineMode is the key of an `updated` patch that carries an EngineMode.
const PatchEngineMode = "engine_mode"

// PatchGit, PatchMCP and PatchComments are the keys of an `updated` patch that
// carry a ProjectGit, a ProjectMCP and the list of DiffComment.
const (
	PatchGit      = "git"
	PatchMCP      = "mcp"
	PatchComments = "diff_comments"
)

// PatchHealth is the key of an `updated` patch that carries a Health; HealthOK
// takes the mark away.
const PatchHealth = "health"

// PatchEdits is the key of an `updated` patch, true, that tells a window that a
// file was restored: what list_edits answers has changed without a turn.
const PatchEdits = "edits"

// HeaderTurn is the bus header that carries the turn id.
const HeaderTurn = "Pb-Turn"
