package contract

import (
	"encoding/json"
	"time"
)

// Record is one conversation as its file holds it: conversations/<id>.json.
// Keys are camelCase on disk (mcp-state.md 5). Keys this version does not know
// survive a load and a save in Extra, on the record and on every message.
type Record struct {
	ID                  ConversationID  `json:"id"`
	Title               string          `json:"title"`
	Agent               RowID           `json:"agent"`
	Mode                string          `json:"mode"`
	Provider            ProviderID      `json:"provider"`
	Model               string          `json:"model"`
	ProjectPath         string          `json:"projectPath"`
	SessionID           string          `json:"sessionId,omitempty"`
	CreatedAt           int64           `json:"createdAt"`
	UpdatedAt           int64           `json:"updatedAt"`
	Status              Status          `json:"status"`
	Archived            bool            `json:"archived"`
	Pinned              bool            `json:"pinned,omitempty"`
	PlanMode            bool            `json:"planMode"`
	PermissionMode      PermissionMode  `json:"permissionMode"`
	ApproveWrites       bool            `json:"approveWrites"`
	ThinkingEnabled     bool            `json:"thinkingEnabled,omitempty"`
	AllowedTools        []string        `json:"allowedTools,omitempty"`
	AllowPatterns       []string        `json:"allowPatterns,omitempty"`
	MemoryContext       bool            `json:"memoryContextEnabled,omitempty"`
	EnabledMCPServerIDs []string        `json:"enabledMcpServerIds,omitempty"`
	MCPTrustSnapshot    json.RawMessage `json:"mcpTrustSnapshot,omitempty"`
	SystemPrompt        string          `json:"systemPromptOverride,omitempty"`
	Owner               Transport       `json:"owner,omitempty"`
	TurnCounter         uint64          `json:"turnCounter"`
	// OpenTurn is set while a turn runs, so that a start after a kill knows
	// what to close. Ours.
	OpenTurn TurnID `json:"openTurn,omitempty"`
	// OpenTurnBoot is the boot id of the service that runs it: the same one
	// means that only the conversation's actor died.
	OpenTurnBoot string `json:"openTurnBoot,omitempty"`
	// SessionAllow are the tools allowed for the session, in force only while
	// the service SessionBoot lives.
	SessionAllow    []string `json:"sessionAllow,omitempty"`
	SessionBoot     string   `json:"sessionBoot,omitempty"`
	MessageCounter  uint64   `json:"messageCounter,omitempty"`
	ResumeToken     string   `json:"resumeToken,omitempty"`
	EngineSessionID string   `json:"engineSessionId,omitempty"`
	// EngineAdopt says that EngineSessionID was begun in the engine and has not
	// been opened from here yet. Ours.
	EngineAdopt          bool            `json:"engineAdopt,omitempty"`
	ParentConversationID ConversationID  `json:"parentConversationId,omitempty"`
	Plan                 []PlanItem      `json:"plan,omitempty"`
	PlanApproved         bool            `json:"planApproved,omitempty"`
	Worktree             json.RawMessage `json:"worktree,omitempty"`
	QueuedMessages       []QueueItem     `json:"queuedMessages,omitempty"`
	Prompts              []string        `json:"openPrompts,omitempty"`
	Edits                []string        `json:"openEdits,omitempty"`
	Context              *ContextUse     `json:"contextUse,omitempty"`
	RetiredNoticed       bool            `json:"retiredNoticed,omitempty"`
	// Profile is what it was launched with; PromptLayers say of what
	// SystemPrompt is made, in order. Ours.
	Profile      string        `json:"profile,omitempty"`
	PromptLayers []RecordLayer `json:"promptLayers,omitempty"`
	// WrittenFiles are the hashes of the files as the agent last wrote them, by
	// path: what differs now was changed by somebody else. Ours.
	WrittenFiles map[string]string `json:"writtenFiles,omitempty"`
	// DiffComments wait for the next message.
	DiffComments []RecordComment `json:"pendingDiffComments,omitempty"`
	Messages     []RecordMessage `json:"messages"`

	Extra map[string]json.RawMessage `json:"-"`
}

// RecordMessage is one message of a Record.
type RecordMessage struct {
	ID               string           `json:"id"`
	Role             Role             `json:"role"`
	Content          string           `json:"content"`
	Timestamp        int64            `json:"timestamp"`
	TurnID           TurnID           `json:"turnId,omitempty"`
	Outcome          Outcome          `json:"outcome,omitempty"`
	IsStreaming      bool             `json:"isStreaming,omitempty"`
	Level            Level            `json:"level,omitempty"`
	Error            string           `json:"error,omitempty"`
	Thinking         string           `json:"thinking,omitempty"`
	Parts            []RecordPart     `json:"parts,omitempty"`
	ToolCalls        []RecordCall     `json:"toolCalls,omitempty"`
	Attachments      []AttachmentInfo `json:"attachments,omitempty"`
	InputTokens      uint64           `json:"inputTokens,omitempty"`
	OutputTokens     uint64           `json:"outputTokens,omitempty"`
	CacheReadTokens  uint64           `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens uint64           `json:"cacheWriteTokens,omitempty"`
	ReasoningTokens  uint64           `json:"reasoningTokens,omitempty"`
	Evidence         []Source         `json:"evidence,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// RecordPart is a Part with what only history needs: the provider's opaque
// reasoning of the request that the part opens (first part of a message, and
// each request part).
type RecordPart struct {
	Part
	Details json.RawMessage `json:"details,omitempty"`
}

// RecordCall is one tool call of a RecordMessage.
type RecordCall struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	File          string     `json:"file,omitempty"`
	Status        ToolStatus `json:"status"`
	Summary       string     `json:"summary,omitempty"`
	FullContent   string     `json:"fullContent,omitempty"`
	Input         string     `json:"input,omitempty"`
	ExitCode      *int64     `json:"exitCode,omitempty"`
	ModifiedPaths []string   `json:"modifiedPaths,omitempty"`
	Stdout        *string    `json:"stdout,omitempty"`
	Stderr        *string    `json:"stderr,omitempty"`
	LinesAdded    *int       `json:"linesAdded,omitempty"`
	LinesRemoved  *int       `json:"linesRemoved,omitempty"`
	DeniedBy      DecidedBy  `json:"deniedBy,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// RecordLayer is one layer of a Record's system prompt; Bytes is its length
// there. The layers are joined by LayerJoint.
type RecordLayer struct {
	Kind   LayerKind `json:"kind"`
	Source string    `json:"source,omitempty"`
	Bytes  int       `json:"bytes"`
	Note   string    `json:"note,omitempty"`
}

// LayerJoint stands between two layers of a system prompt. Source: mcp-state.md 8.
const LayerJoint = "\n\n---\n\n"

// RecordComment is a DiffComment as a file holds it. Source: mcp-state.md 5.
type RecordComment struct {
	ID        string   `json:"id"`
	Path      string   `json:"path"`
	Line      int      `json:"line"`
	Side      DiffSide `json:"side"`
	Text      string   `json:"text"`
	CreatedAt int64    `json:"createdAt"`
}

// recordWorktree is a Worktree as a file holds it; other programs wrote the time
// as a text. Source: mcp-state.md 5.
type recordWorktree struct {
	BasePath     string          `json:"basePath"`
	WorktreePath string          `json:"worktreePath"`
	Branch       string          `json:"branch"`
	BaseBranch   string          `json:"baseBranch,omitempty"`
	CreatedAt    json.RawMessage `json:"createdAt,omitempty"`
	State        string          `json:"state"`
	PRNumber     int             `json:"prNumber,omitempty"`
	PRURL        string          `json:"prUrl,omitempty"`
}

// DecodeWorktree reads the worktree of a Record. One that cannot be read is
// shown as none; the file keeps it.
func DecodeWorktree(raw json.RawMessage) *Worktree {
	var r recordWorktree
	if json.Unmarshal(raw, &r) != nil || r.WorktreePath == "" {
		return nil
	}
	w := &Worktree{
		BasePath: r.BasePath, WorktreePath: r.WorktreePath, Branch: r.Branch, BaseBranch: r.BaseBranch, State: r.State,
		PRNumber: r.PRNumber, PRURL: r.PRURL,
	}
	var ms int64
	if json.Unmarshal(r.CreatedAt, &ms) == nil {
		// What RFC 3339 cannot write would make a whole list unreadable.
		if t := time.UnixMilli(ms).UTC(); t.Year() >= 1 && t.Year() <= 9999 {
			w.CreatedAt = t
		}
		return w
	}
	if json.Unmarshal(r.CreatedAt, &w.CreatedAt) != nil {
		w.CreatedAt = time.Time{}
	}
	return w
}

// EncodeWorktree writes the worktree of a Record.
func EncodeWorktree(w Worktree) json.RawMessage {
	at, _ := json.Marshal(w.CreatedAt.UnixMilli()) // A number: cannot fail.
	raw, err := Marshal(recordWorktree{
		BasePath: w.BasePath, WorktreePath: w.WorktreePath, Branch: w.Branch, BaseBranch: w.BaseBranch, CreatedAt: at, State: w.State,
		PRNumber: w.PRNumber, PRURL: w.PRURL,
	})
	if err != nil {
		return nil // Texts and numbers: cannot fail.
	}
	return raw
}

type (
	plainRecord  Record
	plainMessage RecordMessage
	plainCall    RecordCall
)

// UnmarshalJSON keeps the keys this version does not know.
func (r *Record) UnmarshalJSON(b []byte) error {
	extra, err := unknown(b, (*plainRecord)(r))
	r.Extra = extra
	return err
}

// MarshalJSON writes the known keys and then the unknown ones.
func (r Record) MarshalJSON() ([]byte, error) { return withExtra(plainRecord(r), r.Extra) }

// UnmarshalJSON keeps the keys this version does not know.
func (m *RecordMessage) UnmarshalJSON(b []byte) error {
	extra, err := unknown(b, (*plainMessage)(m))
	m.Extra = extra
	return err
}

// MarshalJSON writes the known keys and then the unknown ones.
func (m RecordMessage) MarshalJSON() ([]byte, error) { return withExtra(plainMessage(m), m.Extra) }

// UnmarshalJSON keeps the keys this version does not know.
func (c *RecordCall) UnmarshalJSON(b []byte) error {
	extra, err := unknown(b, (*plainCall)(c))
	c.Extra = extra
	return err
}

// MarshalJSON writes the known keys and then the unknown ones.
func (c RecordCall) MarshalJSON() ([]byte, error) { return withExtra(plainCall(c), c.Extra) }
