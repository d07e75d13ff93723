package llm

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Role says who a message of the history comes from.
type Role string

// The roles of a history. A system prompt is a field of Request, not a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// BlockType says which fields of a Block count.
type BlockType string

// The block types, each with the fields it uses.
const (
	// BlockText uses Text.
	BlockText BlockType = "text"
	// BlockToolUse uses ID, Name and Arguments; in assistant messages.
	BlockToolUse BlockType = "tool_use"
	// BlockToolResult uses ID (of its call), Name, Content and IsError; in
	// tool messages.
	BlockToolResult BlockType = "tool_result"
	// BlockImage uses MediaType and Data; in user messages.
	BlockImage BlockType = "image"
	// BlockReasoning uses Details: what ReasoningDetails delivered, kept
	// verbatim as the first block of its assistant message and replayed to the
	// provider it came from. It is never shown.
	BlockReasoning BlockType = "provider_reasoning"
)

// Block is one piece of a message.
type Block struct {
	Type      BlockType       `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	MediaType string          `json:"media_type,omitempty"`
	// Data is base64, without a data: prefix.
	Data    string          `json:"data_base64,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Message is one entry of the history.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// Text builds a message of one text block.
func Text(role Role, text string) Message {
	return Message{Role: role, Blocks: []Block{{Type: BlockText, Text: text}}}
}

// Tool is one tool the model may call. Parameters is a JSON schema; empty
// means an object without properties.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Image is an attachment. Data is base64, without a data: prefix.
type Image struct {
	MediaType string
	Data      string
}

// Request is one request to a model.
type Request struct {
	Model    string
	System   string
	Messages []Message
	Tools    []Tool
	// MaxTokens bounds the answer, in tokens; 0 means DefaultMaxTokens.
	MaxTokens   int
	Temperature *float64
	// Attachments go with the last user message.
	Attachments []Image
	// Thinking asks for reasoning; ThinkingBudget is in tokens, 0 means
	// DefaultThinkingBudget.
	Thinking       bool
	ThinkingBudget int
	// CacheKey is the conversation id. It groups requests for a provider's
	// prompt cache.
	CacheKey string
}

// Source: runtime.md 2, in tokens.
const (
	DefaultMaxTokens      = config.MaxTokens
	DefaultThinkingBudget = config.ThinkingBudget
)

// system is the prompt, or nothing where it is blank: a blank one is refused.
func (r *Request) system() string {
	if strings.TrimSpace(r.System) == "" {
		return ""
	}
	return r.System
}

func (r *Request) maxTokens() int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return DefaultMaxTokens
}

// Chunk is one piece of a stream: TextDelta, ThinkingDelta, ThinkingStop,
// ToolUseStart, ToolUseInputDelta, ToolUseEnd, ReasoningDetails or Done.
type Chunk interface{ chunk() }

// TextDelta is a piece of the answer; never empty.
type TextDelta struct{ Text string }

// ThinkingDelta is a piece of visible reasoning; never empty.
type ThinkingDelta struct{ Text string }

// ThinkingStop ends a run of ThinkingDelta.
type ThinkingStop struct{}

// ToolUseStart opens a tool call, usually before its arguments have streamed.
type ToolUseStart struct{ ID, Name string }

// ToolUseInputDelta is a piece of the arguments of an open call, as JSON text.
type ToolUseInputDelta struct{ ID, Delta string }

// ToolUseEnd closes a tool call. Arguments is a JSON object. Invalid says that
// the model's own text was not one: Arguments is then {}, the call must be
// answered with contract.TextInvalidArguments, and the turn goes on.
type ToolUseEnd struct {
	ID, Name  string
	Arguments json.RawMessage
	Invalid   bool
}

// ReasoningDetails is an opaque envelope for BlockReasoning.
type ReasoningDetails struct{ Details json.RawMessage }

// Done ends a successful stream. Counts are the vendor's raw numbers in
// tokens, a missing or null one is 0. UsageKnown says that the provider sent
// at least one count; without it the caller estimates (see Estimate).
type Done struct {
	Input, Output, CacheRead, CacheCreation uint64
	UsageKnown                              bool
}

func (TextDelta) chunk()         {}
func (ThinkingDelta) chunk()     {}
func (ThinkingStop) chunk()      {}
func (ToolUseStart) chunk()      {}
func (ToolUseInputDelta) chunk() {}
func (ToolUseEnd) chunk()        {}
func (ReasoningDetails) chunk()  {}
func (Done) chunk()              {}

// Provider is one model provider.
type Provider interface {
	// ID is the provider id the ledger and the catalogue know it by.
	ID() contract.ProviderID
	// Stream sends one request, once, and calls emit for each chunk, in order,
	// from the calling goroutine. The first error of emit (the consumer is
	// gone) ends the stream and is returned as it is. A cancelled context is
	// returned as context.Cause(ctx). On success exactly one Done was emitted,
	// last. The package function Stream adds retries.
	Stream(ctx context.Context, key string, req Request, emit func(Chunk) error) error
}

// Estimate returns the size of a request in tokens, characters / 4, for
// providers that send no usage. Images are excluded. It says nothing about the
// answer. Source: runtime.md 2 (F09).
func Estimate(req Request) uint64 {
	n := utf8.RuneCountInString(req.System)
	for _, t := range req.Tools {
		n += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Parameters)
	}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			switch b.Type {
			case BlockText:
				n += utf8.RuneCountInString(b.Text)
			case BlockToolUse:
				n += utf8.RuneCountInString(b.Name) + utf8.RuneCount(b.Arguments)
			case BlockToolResult:
				n += utf8.RuneCountInString(b.Content)
			case BlockImage, BlockReasoning:
			}
		}
	}
	return uint64(n) / 4
}
