package msg

import (
	"encoding/json"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/contract"
)

// TurnSpec is what one in-process turn needs to know. Messages is a snapshot
// of the transcript that nobody changes any more; the turn derives the
// provider's history from it.
type TurnSpec struct {
	Conversation contract.ConversationID
	Turn         contract.TurnID
	Provider     contract.ProviderID
	Ledger       contract.LedgerSource
	Model        string
	Key          Key
	System       string
	Project      string
	Thinking     bool
	Posture      contract.Posture
	AllowedTools []string
	Messages     []contract.RecordMessage
	Attachments  []contract.Attachment
	// Settings is the content of provider-settings.v1.json.
	Settings json.RawMessage
	// OneShot asks for a single request without tools (runtime.md 4).
	OneShot bool
	// Task names the feature of a one-shot request, for the ledger.
	Task string
	// Tools is the conversation's tool state (task list, background
	// processes, session of the hooks), opaque to it: what TurnClosed and the
	// next spec carry on. It has the methods of ToolState.
	Tools any
	// Trusted says that the project's own hooks count (mcp-state.md 7).
	Trusted bool
}

// ToolState is what a conversation may do with TurnSpec.Tools. Busy says that a
// tool left something running. Close ends that and takes seconds at most; it
// must not be waited for in a handler.
type ToolState interface {
	Busy() bool
	Close()
}

// TurnFactory builds the meta process of one turn. Given to the conversation
// by the wiring, since actor packages do not import each other.
type TurnFactory func(TurnSpec) gen.MetaBehavior

// From a turn to its conversation, in the order it happened. All carry the
// turn id; one with an old id is dropped.
type (
	// Emitted is a run of contract events. The receiver answers each with
	// EmittedAck, a Send to the turn's alias: at most EmitCredits are on
	// their way.
	Emitted struct {
		Turn   contract.TurnID
		Events []contract.Event
	}
	// RequestOpened says that the model is asked again within the turn.
	RequestOpened struct{ Turn contract.TurnID }
	// Reasoned keeps the opaque reasoning of the model request that just
	// ended, for its history.
	Reasoned struct {
		Turn    contract.TurnID
		Details json.RawMessage
	}
	// RequestUsage reports one completed model request. The turn waits for
	// LedgerWritten with the same N before it runs a tool. Used is the
	// window's occupancy in tokens.
	RequestUsage struct {
		Turn                                    contract.TurnID
		N                                       uint64
		Input, Output, CacheRead, CacheCreation uint64
		Known                                   bool
		Context                                 contract.ContextUse
		// Line is the ledger line, nil when nothing is billed.
		Line []byte
	}
	// ToolFacts says of a settled call what its tool-result has no room for.
	// It is sent just before that result.
	ToolFacts struct {
		Turn          contract.TurnID
		ID            string
		File          string
		ExitCode      *int64
		ModifiedPaths []string
		// LinesAdded and LinesRemoved count what an edit wrote; nil when
		// nothing was written or the file was no text before.
		LinesAdded, LinesRemoved *int
		Tainting                 bool
		Source                   contract.Source
	}
	// Ask wants a permission; answered by PermissionAnswer to the alias, by
	// HostPermission to a host. BatchID and BatchSize say that several were
	// asked for at once. Lasting: the program offers no permission for one
	// time, so only a person may give it.
	//
	// An engine's name is free text, so it says besides what the gate judges by
	// (tools-permissions.md 7): Kind is its kind of tool, empty when it said
	// none, Paths the files that the call names. Its ids count per process and
	// come again; Call is the id of the tool call, empty when it is ID.
	Ask struct {
		Turn                contract.TurnID
		ID, Name, Arguments string
		BatchID             *string
		BatchSize           *uint64
		Lasting             bool
		Call, Kind          string
		Paths               []string
	}
	// AskEdit wants an edit approved; answered by EditAnswer to the alias, by
	// HostEdit to a host.
	AskEdit struct {
		Turn                    contract.TurnID
		ID, Name, Path, Content string
		Before                  *string
	}
	// TurnClosed is the last message of a turn, after its terminal event.
	TurnClosed struct {
		Turn  contract.TurnID
		Tools any
	}
)

// From a conversation to its turn's alias; all are Sends.
type (
	// EmittedAck gives one Emitted credit back.
	EmittedAck struct{}
	// PermissionAnswer answers an Ask. Text is the tool result of a refusal.
	// Decision, By and Reason (a user's guidance) are what Text was made of,
	// for a program that words it itself.
	PermissionAnswer struct {
		ID       string
		Allowed  bool
		Text     string
		Decision contract.Decision
		By       contract.DecidedBy
		Reason   string
	}
	// EditAnswer answers an AskEdit. Merged replaces the proposed content.
	EditAnswer struct {
		ID      string
		Applied bool
		Merged  *string
		Text    string
	}
	// PostureNow changes the posture from the next gate on.
	PostureNow struct{ Posture contract.Posture }
	// CancelTurn asks the turn to stop; it answers with its terminal event.
	CancelTurn struct{}
)

// EmitCredits is how many Emitted may be unanswered.
const EmitCredits = 16

// The waits of the two gates. Source: contract.md 6.6.
const (
	PermissionWait = 300 * time.Second
	EditWait       = 600 * time.Second
)
