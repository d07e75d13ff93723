package contract

import "slices"

// Kind names one of the fifteen things a transport can say about a turn.
// Kinds are kebab-case and part of a subject. Source: contract.md 2.
type Kind string

// The fifteen kinds. A kind is added, never changed or removed.
const (
	KindChunk              Kind = "chunk"
	KindThinking           Kind = "thinking"
	KindThinkingStop       Kind = "thinking-stop"
	KindToolStart          Kind = "tool-start"
	KindToolResult         Kind = "tool-result"
	KindPermissionRequest  Kind = "permission-request"
	KindPendingEdit        Kind = "pending-edit"
	KindEditBaseline       Kind = "edit-baseline"
	KindPlanBlock          Kind = "plan-block"
	KindToolOutputExtended Kind = "tool-output-extended"
	KindTurnSummary        Kind = "turn-summary"
	KindMCPSources         Kind = "mcp-sources"
	KindRateLimited        Kind = "rate-limited"
	KindDone               Kind = "done"
	KindError              Kind = "error"
)

// Kinds lists all fifteen, in the order of contract.md 2.
var Kinds = []Kind{
	KindChunk, KindThinking, KindThinkingStop, KindToolStart, KindToolResult,
	KindPermissionRequest, KindPendingEdit, KindEditBaseline, KindPlanBlock,
	KindToolOutputExtended, KindTurnSummary, KindMCPSources, KindRateLimited,
	KindDone, KindError,
}

// CoreKinds are the nine that a new transport owes; the others are optional
// for it. Source: contract.md 2.
var CoreKinds = []Kind{
	KindChunk, KindThinking, KindThinkingStop, KindToolStart, KindToolResult,
	KindPermissionRequest, KindPlanBlock, KindDone, KindError,
}

// Valid reports whether k is one of the fifteen.
func (k Kind) Valid() bool { return slices.Contains(Kinds, k) }

// Terminal reports whether k ends a turn: done and error do, nothing else.
func (k Kind) Terminal() bool { return k == KindDone || k == KindError }
