package contract

// What a person does with a conversation's past: review, fork, restore, export,
// search. Source: ui.md 7, 11, 13 and 14.
type (
	// EditedFile is one file that a conversation has written, compared with the
	// disk as it is now. Path is relative to the project when it lies inside.
	// Hash is the SHA-256 of the file's bytes now, in hex: what "viewed" is kept
	// by, and what an undo has to name; empty when there is no file. Sizes are
	// in bytes, -1 for no file.
	EditedFile struct {
		Path          string     `json:"path"`
		State         EditState  `json:"state"`
		Hash          string     `json:"hash"`
		LinesAdded    int        `json:"lines_added"`
		LinesRemoved  int        `json:"lines_removed"`
		SizeBefore    int64      `json:"size_before"`
		SizeNow       int64      `json:"size_now"`
		CanUndo       bool       `json:"can_undo"`
		WhyNot        string     `json:"why_not,omitempty"`
		EditedOutside bool       `json:"edited_outside"`
		View          ReviewView `json:"view"`
	}
	// EditedFileParams names one edited file.
	EditedFileParams struct {
		SessionID ConversationID `json:"session_id"`
		Path      string         `json:"path"`
	}
	// EditedFileText answers get_edit: both texts of a file. Before is null for
	// a file that did not exist or has no baseline, Now for one that is gone.
	EditedFileText struct {
		File   EditedFile `json:"file"`
		Before *string    `json:"before"`
		Now    *string    `json:"now"`
	}
	// UndoEditParams restores a file. Hash is that of the text the person saw:
	// when the disk holds another one nothing is written (-32009). Without
	// MergedContent the whole text before the first edit comes back; with it
	// that text, in which the kept hunks are.
	UndoEditParams struct {
		SessionID     ConversationID `json:"session_id"`
		Path          string         `json:"path"`
		Hash          string         `json:"hash"`
		MergedContent *string        `json:"merged_content,omitempty"`
	}
	// DiffComment is one remark on a line of a diff. Line counts from 1;
	// CreatedAt is in ms since 1970.
	DiffComment struct {
		ID        string   `json:"id"`
		Path      string   `json:"path"`
		Line      int      `json:"line"`
		Side      DiffSide `json:"side"`
		Text      string   `json:"text"`
		CreatedAt int64    `json:"created_at"`
	}
	// DiffCommentsParams replaces the remarks that wait for the next message.
	DiffCommentsParams struct {
		SessionID ConversationID `json:"session_id"`
		Comments  []DiffComment  `json:"comments"`
	}
	// RemovePatternParams takes a granted pattern back.
	RemovePatternParams struct {
		SessionID ConversationID `json:"session_id"`
		Pattern   string         `json:"pattern"`
	}
	// ForkParams makes a new conversation of everything before a user message
	// and sends Message in its place. NewSessionID may be made up by the caller,
	// to be subscribed first; absent, the service makes one.
	ForkParams struct {
		SessionID    ConversationID `json:"session_id"`
		MessageID    string         `json:"message_id"`
		NewSessionID ConversationID `json:"new_session_id,omitempty"`
		Message      string         `json:"message"`
		Attachments  []Attachment   `json:"attachments,omitempty"`
	}
	// RestoreParams drops everything behind a user message and runs it again.
	RestoreParams struct {
		SessionID ConversationID `json:"session_id"`
		MessageID string         `json:"message_id"`
	}
	// ExportParams asks for a transcript as a file.
	ExportParams struct {
		SessionID ConversationID `json:"session_id"`
		Format    ExportFormat   `json:"format"`
	}
	// Exported is a transcript to be saved.
	Exported struct {
		FileName  string `json:"file_name"`
		MediaType string `json:"media_type"`
		Content   string `json:"content"`
	}
	// SearchParams looks for a text in titles, paths and messages, without
	// regard to case. Limit is at most 200; 0 means 50.
	SearchParams struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}
	// SearchHit is one conversation that holds the text, with its first place.
	// Start and Length, in UTF-16 code units, mark it in Snippet.
	SearchHit struct {
		SessionID ConversationID `json:"session_id"`
		Title     string         `json:"title"`
		Where     SearchPlace    `json:"where"`
		MessageID string         `json:"message_id,omitempty"`
		Snippet   string         `json:"snippet"`
		Start     int            `json:"start"`
		Length    int            `json:"length"`
	}
	// SearchResult lists hits, most recently used conversation first. Complete
	// is false when time or Limit ended the search before every file was read.
	SearchResult struct {
		Hits     []SearchHit `json:"hits"`
		Complete bool        `json:"complete"`
	}
	// KeyTestParams names the provider whose key is tried.
	KeyTestParams struct {
		Provider ProviderID `json:"provider"`
	}
	// KeyTest answers test_key. Message is a sentence for a person, Latency how
	// long the provider took, in ms.
	KeyTest struct {
		Status  KeyTestStatus `json:"status"`
		Message string        `json:"message"`
		Latency int64         `json:"latency_ms"`
	}
)

// EditState is what became of an edited file.
type EditState string

// The states of an edited file. EditUnknown is one without a text from before:
// there is none, it was too large, or it cannot be read.
const (
	EditNew       EditState = "new"
	EditModified  EditState = "modified"
	EditDeleted   EditState = "deleted"
	EditUnchanged EditState = "unchanged"
	EditUnknown   EditState = "unknown"
)

// ReviewView says how much of a file is worth showing.
type ReviewView string

// The views. Above 5,000 rows nothing is highlighted; above 2,000,000 bytes, and
// for a file that is no text, only sizes are shown. Source: ui.md 11.
const (
	ViewFull  ReviewView = "full"
	ViewPlain ReviewView = "plain"
	ViewSize  ReviewView = "size"
)

// DiffSide is the side of a diff that a remark stands on.
type DiffSide string

// The two sides.
const (
	SideOld DiffSide = "old"
	SideNew DiffSide = "new"
)

// ExportFormat is how a transcript is written.
type ExportFormat string

// The two formats.
const (
	ExportMarkdown ExportFormat = "md"
	ExportJSON     ExportFormat = "json"
)

// SearchPlace is where a text was found.
type SearchPlace string

// The places, in the order in which they count.
const (
	FoundInTitle   SearchPlace = "title"
	FoundInPath    SearchPlace = "path"
	FoundInMessage SearchPlace = "message"
)

// KeyTestStatus is how a provider took a key.
type KeyTestStatus string

// The outcomes of trying a key.
const (
	KeyAccepted    KeyTestStatus = "accepted"
	KeyRejected    KeyTestStatus = "rejected"
	KeyMissing     KeyTestStatus = "missing"
	KeyLimited     KeyTestStatus = "rate_limited"
	KeyUnreachable KeyTestStatus = "unreachable"
	KeyUnclear     KeyTestStatus = "unclear"
)
