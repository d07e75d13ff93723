package config

import "time"

// Limits of the doors. Source: interface.md 4.
const (
	MaxFrameBytes       = 16 << 20
	MaxSubscriptions    = 64
	MaxRequestsInFlight = 256
)

// Limits of the event log. Source: issue "the spine" and actors.md 6.
const (
	LogMaxBytes      = 256 << 20
	LogMaxAge        = 7 * 24 * time.Hour
	PublishInFlight  = 1024
	PublishWaiting   = 10_000
	PublishBlockMost = 50 * time.Millisecond
)

// Limits of conversations. Source: actors.md 3, mcp-state.md 5, contract.md 6.
const (
	ConversationIdle = 10 * time.Minute
	MaxAwake         = 400
	MaxAwakeHard     = 2000
	SaveDebounce     = 500 * time.Millisecond
	CancelEscalation = 10 * time.Second
	// SmallConversationBytes is the file size up to which a save rewrites the
	// file; a larger one gets journal lines until the journal has grown to
	// half the file, so that a delta costs the same however long the
	// transcript is.
	SmallConversationBytes = 128 << 10
)

// Limits of a turn. Source: contract.md 6.7 and runtime.md 2.
const (
	MaxToolIterations = 150
	MaxTokens         = 16384
	ThinkingBudget    = 8000
	StreamIdle        = 120 * time.Second
)

// Limits of shutting down. Source: interface.md 2.
const DrainMost = 10 * time.Second

// Limits of terminals. Source: actors.md 9 (a node bears 500 actors well) and
// issue "terminals" (8 MB each).
const (
	MaxTerminals = 200
	// MaxTerminalImages is how many last screens are kept over a restart of the
	// service, MaxTerminalImageBytes how much disk they may take, compressed.
	MaxTerminalImages     = 50
	MaxTerminalImageBytes = 64 << 20
)

// Limits of the text log in the data directory: one file that is written and
// the older ones beside it.
const (
	TextLogFileBytes = 8 << 20
	TextLogFiles     = 4
)
