package msg

import (
	"encoding/json"

	"github.com/packetbench/packetbench/contract"
)

// A host runs the sessions of many conversations in a program that is not
// ours: sidecar in the Node child, acp:<name> in an engine. Conversations and
// hosts speak in these messages, all Sends to a pid: whoever answers needs no
// name, and what is meant for a host that has died is never read by its
// successor.
//
// A session is opened with its first turn and lives until HostClose, or until
// the host ends (OwnerGone). A host gives up a session whose conversation it
// cannot send to any more.

// From a conversation to its host.
type (
	// HostOpen opens a session and its first turn: the host waits until its
	// program can be trusted with it, sends Owns, and only then hands the key
	// on. Answered by HostOpened or HostRefused. A session that is open already
	// under this id is closed first: it is left from a conversation that died.
	HostOpen struct {
		Session HostSession
		HostSend
	}
	// HostSend is one turn of an open session. Answered by HostOpened, or by
	// HostRefused with Gone for a session that is not open.
	HostSend struct {
		Conversation contract.ConversationID
		Turn         contract.TurnID
		Text         string
		Attachments  []contract.Attachment
		// Retry asks for the last turn again; Text is then what it was about,
		// for a host whose program has no such request.
		Retry bool
	}
	// HostCancel asks the running turn to stop: it ends with its terminal
	// event. What is parked there is given up without an answer.
	HostCancel struct {
		Conversation contract.ConversationID
		Turn         contract.TurnID
	}
	// HostKill says that a turn did not end within config.CancelEscalation
	// after HostCancel: the program is ended by force.
	HostKill struct {
		Conversation contract.ConversationID
		Turn         contract.TurnID
	}
	// HostCancelPending refuses everything parked of a session; the turn goes
	// on (contract.md 6.5).
	HostCancelPending struct{ Conversation contract.ConversationID }
	// HostPermission answers an Ask, HostEdit an AskEdit.
	HostPermission struct {
		Conversation contract.ConversationID
		PermissionAnswer
	}
	// HostEdit answers an AskEdit.
	HostEdit struct {
		Conversation contract.ConversationID
		EditAnswer
	}
	// HostSet changes a setting of an open session; what is nil stays. Answered
	// by HostReply with the same Ref.
	HostSet struct {
		Conversation contract.ConversationID
		Ref          uint64
		Model        *string
		// Mode is set when plan mode or the permission mode changes, with both
		// as they are now; ApproveWrites when that changes.
		Mode          *contract.Posture
		ApproveWrites *bool
	}
	// HostClose ends a session. Nothing comes back.
	HostClose struct{ Conversation contract.ConversationID }
	// HostAck gives N Emitted back: a host holds the lines of a conversation
	// that is behind, see HostCredits.
	HostAck struct {
		Conversation contract.ConversationID
		N            int
	}
)

// HostCredits is how many Emitted of one conversation may be unanswered before
// its host stops reading its program.
const HostCredits = 64

// HostSession is what opening a session needs. It is never changed afterwards.
type HostSession struct {
	Provider contract.ProviderID
	Model    string
	Key      Key
	System   string
	Project  string
	Thinking bool
	Posture  contract.Posture
	// AllowedTools restricts the tools; nil means all.
	AllowedTools []string
	// Servers are the MCP servers that were chosen by name: nil means every
	// enabled one, empty means none. Trusted says that the project's own
	// .mcp.json counts. Trust is the frozen snapshot; nil means none was taken,
	// which is not the same as an empty one (sidecar-protocol.md 5).
	Servers []string
	Trusted bool
	Trust   json.RawMessage
	// Resume is the handle of an earlier session (a resume token, an engine's
	// session id), Transcript what came before for a program that has lost it.
	// Adopt says that the session was begun in the engine: its history is there
	// alone, so it must be found, or nothing is opened.
	Resume     string
	Transcript []contract.ResumeMessage
	Adopt      bool
	// Settings is the content of provider-settings.v1.json.
	Settings json.RawMessage
}

// From a host to a conversation, in the order it happened, beside Emitted, Ask,
// AskEdit and TurnClosed, which follows each terminal event. A count that comes
// late (contract.TurnSummary) is an Emitted of its own, ended turn: what was
// billed is billed. Every Emitted is given back, whatever its turn.
type (
	// HostOpened says that a turn is with the program.
	HostOpened struct{ Turn contract.TurnID }
	// HostRefused says that a turn was not begun. Text is a plain sentence, the
	// turn's error. Gone means that the session is not open there: the
	// conversation opens it again. It may come behind HostOpened, when the
	// program turns out to have lost the session; nothing of the turn was heard
	// by then, and no TurnClosed follows.
	HostRefused struct {
		Turn contract.TurnID
		Text string
		Gone bool
	}
	// HostReply answers HostSet. Text is empty, or why it failed.
	HostReply struct {
		Ref  uint64
		Text string
	}
	// HostSaid is a line for the transcript, once per session: what the program
	// will do otherwise than it was told. Once: not again in this conversation,
	// however often its session is opened.
	HostSaid struct {
		Level contract.Level
		Text  string
		Once  bool
	}
	// HostResume replaces the handle that HostSession.Resume will get next time.
	HostResume struct{ Handle string }
)

// From an engine's host to a conversation, beside the messages above.
type (
	// HostCall says of a call, just before its tool-result, what that has no
	// room for: the engine's kind of tool (acp.md 2.2), empty when it said none,
	// and the files that the call names, as the engine wrote them.
	HostCall struct {
		Turn     contract.TurnID
		ID, Kind string
		Paths    []string
	}
	// HostWithdrawn says that an Ask wants no answer any more: the engine has
	// given the request up.
	HostWithdrawn struct{ ID string }
	// HostUsed is what a turn used, for the ledger. It comes behind the turn's
	// end, or never for an engine that reports nothing. Model is empty when the
	// engine does not say; CostUSD is nil when it does not count money.
	HostUsed struct {
		Turn                                 contract.TurnID
		Model                                string
		Input, Output, CacheRead, CacheWrite uint64
		CostUSD                              *float64
	}
	// HostMode is what the engine will do with the posture, whenever that has
	// changed.
	HostMode struct{ Mode contract.EngineMode }
)

// HostRename, a Send to an engine's host, passes a conversation's new title on.
// An engine that cannot rename, or refuses, changes nothing here.
type HostRename struct {
	Conversation contract.ConversationID
	Title        string
}

// EngineUsage is a Call to an engine's host: the totals of one session, by its
// conversation or by the engine's own id. The answer is EngineUsageAnswer, at
// the latest when the engine's time limit of 30 s is over. It starts no engine.
// Source: acp.md 6.2.
type EngineUsage struct {
	Conversation contract.ConversationID
	Session      string
}

// EngineUsageAnswer answers EngineUsage. Totals is a JSON object in the shape
// of acp_session_usage, nil when none are known.
type EngineUsageAnswer struct {
	Totals  json.RawMessage
	Failure *contract.Failure
}
