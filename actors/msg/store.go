package msg

import (
	"encoding/json"

	"github.com/packetbench/packetbench/contract"
)

// Requests to the store actor, the single writer of everything under the data
// directory but the event log. All are Calls unless a comment says Send.
type (
	// LoadConversation is answered by LoadedConversation.
	LoadConversation struct{ ID contract.ConversationID }
	// LoadedConversation holds the record with its journal applied. Found is
	// false when there is no such file. Err is a sentence when it could not
	// be read; a damaged file has been set aside by then. FileBytes and
	// JournalBytes say how large the two files are.
	LoadedConversation struct {
		Found                   bool
		Record                  *contract.Record
		FileBytes, JournalBytes int64
		Err                     error
	}

	// SaveConversation is a Send. Body replaces the file and empties the
	// journal; Journal, whole lines, is appended to the journal; one of the
	// two is set. The store answers each with Saved, a Send to the sender.
	// There is at most one on its way per conversation.
	SaveConversation struct {
		ID      contract.ConversationID
		Rev     uint64
		Body    []byte
		Journal []byte
		Summary contract.Summary
	}
	// Saved answers SaveConversation, in order. After an error the old good
	// file is still there and nothing of this save counts as written.
	Saved struct {
		Rev                     uint64
		FileBytes, JournalBytes int64
		Err                     error
	}
	// SaveConversationNow is SaveConversation as a Call, answered by Saved:
	// for hibernation and the drain.
	SaveConversationNow struct{ SaveConversation }

	// SummaryChanged is a Send: what a list shows has changed.
	SummaryChanged struct{ Summary contract.Summary }
	// ListConversations is answered by []contract.Summary, newest first, from
	// the index alone.
	ListConversations struct{}
	// CountConversations is answered by int: how many ListConversations lists.
	CountConversations struct{}
	// GetSummary is answered by FoundSummary.
	GetSummary struct{ ID contract.ConversationID }
	// FoundSummary answers GetSummary.
	FoundSummary struct {
		Found   bool
		Summary contract.Summary
	}
	// DeleteConversation removes a conversation's file, journal and
	// baselines; answered by Done.
	DeleteConversation struct{ ID contract.ConversationID }

	// AppendLedger writes one line of usage.jsonl (without newline) and is
	// answered, when the line is on disk, by a Send of LedgerWritten to the
	// sender. It is a Send.
	AppendLedger struct {
		Turn contract.TurnID
		N    uint64
		Line []byte
	}
	// LedgerWritten answers AppendLedger. Err is a sentence; while it is set
	// no further model request may be made (runtime.md 5). Warnings are the
	// cost limits that this line has brought near, each once a day.
	LedgerWritten struct {
		Turn     contract.TurnID
		N        uint64
		Err      error
		Warnings []BudgetWarning
	}

	// AppendAudit is a Send: one decision for the audit (200 newest kept).
	AppendAudit struct{ Entry contract.AuditEntry }
	// ListAudit is answered by []contract.AuditEntry, oldest first.
	ListAudit struct{}

	// SaveBaseline is a Send: a file's text before a write, nil Before for a
	// file that did not exist. The first per path wins.
	SaveBaseline struct {
		ID           contract.ConversationID
		ToolID, Path string
		Before       *string
	}

	// GetSettings is answered by Settings.
	GetSettings struct{}
	// PatchSettings merges a JSON object into the settings: a key that is
	// absent stays, null clears. Answered by Settings; Failure names the bad
	// key and then nothing was changed.
	PatchSettings struct{ Patch json.RawMessage }
	// Settings is what get_settings shows: {"app": {...}, "providers": {...}}.
	// Providers holds the keys of provider-settings.v1.json.
	Settings struct {
		App       json.RawMessage
		Providers json.RawMessage
		Failure   *contract.Failure
	}

	// TrustQuestion is answered by TrustAnswer.
	TrustQuestion struct{ ProjectPath string }
	// TrustAnswer says whether the project is trusted and whether it has been
	// asked about before.
	TrustAnswer struct{ Trusted, Asked bool }
	// SetTrust is answered by Done.
	SetTrust struct {
		ProjectPath string
		Trusted     bool
	}

	// BumpLaunch is a Send: one more launch of a provider.
	BumpLaunch struct{ Provider contract.ProviderID }

	// LoadBaselines is answered by Baselines: what SaveBaseline kept, first
	// saved first.
	LoadBaselines struct{ ID contract.ConversationID }
	// Baselines answers LoadBaselines.
	Baselines struct {
		Items []Baseline
		Err   error
	}
	// Baseline is one file's text before the first write to it. Before is nil
	// for a file that did not exist; TooLarge says that there was a text and it
	// was over the limit, so that only disk against proposed can be shown.
	Baseline struct {
		ToolID, Path string
		Before       *string
		TooLarge     bool
	}

	// LedgerHealth asks whether a model request may be made as far as the
	// ledger is concerned; answered by Done, whose Err is a sentence. The
	// files are looked at again while it is unhealthy.
	LedgerHealth struct{}
	// ReconcileLedger is a person's order to finish what an interrupted append
	// left in usage-pending/; answered by Done. Nothing else does that: a line
	// is never replayed unasked (runtime.md 5).
	ReconcileLedger struct{}

	// Flush writes everything that waits and fsyncs; answered by Done.
	Flush struct{}
	// TakeNotices is answered by []string: sentences about damaged files and
	// other things found since the last call, for the log and the doctor.
	TakeNotices struct{}
	// AutoArchive archives the finished conversations that nobody has touched
	// for as long as the settings say, in the index alone; answered by
	// []contract.ConversationID, those that it archived. It is for the start,
	// while no conversation runs.
	AutoArchive struct{}
	// Unfinished is answered by []contract.ConversationID: conversations whose
	// file says that a turn was open, to be closed before the doors open.
	Unfinished struct{}
)

// Done is the reply of a request that has nothing to tell but its failure.
type Done struct{ Err error }
