package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Event is one payload of the fifteen kinds. The set is closed: only this
// package implements it.
type Event interface {
	// Kind names the subject family of the event.
	Kind() Kind
	event()
}

// Chunk is a text delta. Its payload is the bare JSON string, valid UTF-8; a
// delta never ends inside a character.
type Chunk string

// Thinking is a reasoning delta.
type Thinking struct {
	Text string `json:"text"`
}

// ThinkingStop ends a run of reasoning deltas. Its payload is null.
type ThinkingStop struct{}

// ToolStart announces a tool call. Input is JSON text and absent when the
// transport does not know the arguments yet.
type ToolStart struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Input *string `json:"input,omitempty"`
}

// ToolResult settles a tool call. Input is JSON text and may be empty.
type ToolResult struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Content string `json:"content"`
	IsError bool   `json:"is_error"`
	Input   string `json:"input"`
}

// PermissionRequest asks somebody to allow a call. Arguments is JSON text.
type PermissionRequest struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	BatchID   *string `json:"batch_id,omitempty"`
	BatchSize *uint64 `json:"batch_size,omitempty"`
}

// PendingEdit is a file write that waits for an answer. Content is the whole
// proposed file; Before is absent when the file did not exist.
type PendingEdit struct {
	ID      string  `json:"id"`
	Path    string  `json:"path"`
	Content string  `json:"content"`
	Before  *string `json:"before,omitempty"`
}

// EditBaseline records a file's text just before an ungated write.
type EditBaseline struct {
	ID     string  `json:"id"`
	Path   string  `json:"path"`
	Before *string `json:"before,omitempty"`
}

// PlanStatus is where one plan item stands.
type PlanStatus string

// The three plan statuses.
const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
)

// PlanItem is one line of a plan. ActiveForm keeps its camelCase key: one of
// the two exceptions to snake_case (contract.md 2).
type PlanItem struct {
	ID         *string    `json:"id,omitempty"`
	Content    string     `json:"content"`
	Status     PlanStatus `json:"status"`
	ActiveForm *string    `json:"activeForm,omitempty"`
}

// PlanBlock replaces the plan. An empty list clears it.
type PlanBlock struct {
	Items []PlanItem `json:"items"`
}

// ToolOutputExtended adds what a tool-result has no room for.
type ToolOutputExtended struct {
	ID            string   `json:"id"`
	ExitCode      *int64   `json:"exit_code,omitempty"`
	ModifiedPaths []string `json:"modified_paths,omitempty"`
	Stdout        *string  `json:"stdout,omitempty"`
	Stderr        *string  `json:"stderr,omitempty"`
}

// TurnSummary gives the token counts of one turn; with Address, of one
// sub-agent. It overwrites, never adds (contract.md O10).
type TurnSummary struct {
	InputTokens              uint64  `json:"input_tokens"`
	OutputTokens             uint64  `json:"output_tokens"`
	CacheReadInputTokens     uint64  `json:"cache_read_input_tokens"`
	CacheCreationInputTokens uint64  `json:"cache_creation_input_tokens"`
	ReasoningTokens          *uint64 `json:"reasoning_tokens,omitempty"`
	Address                  *string `json:"address,omitempty"`
}

// MCPSource is one MCP server a session was started with.
type MCPSource struct {
	Name      string `json:"name"`
	Transport string `json:"transport"`
	Scope     string `json:"scope"`
}

// MCPReadError is one MCP configuration file that could not be read.
type MCPReadError struct {
	Scope   string `json:"scope"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// MCPSources lists the servers of a session; it repeats on every start.
// ReadErrors keeps its camelCase key: the other exception to snake_case.
type MCPSources struct {
	Sources    []MCPSource    `json:"sources"`
	ReadErrors []MCPReadError `json:"readErrors"`
}

// RateLimited says that the provider refused for now and the turn waits.
// RetryAfterSeconds is not negative and may have a fraction. It never ends a
// turn.
type RateLimited struct {
	RetryAfterSeconds *float64 `json:"retry_after_seconds,omitempty"`
	Message           *string  `json:"message,omitempty"`
}

// Done ends a turn. The four counts are sums over the turn's completed model
// requests, 0 where unknown.
type Done struct {
	InputTokens              uint64  `json:"input_tokens"`
	OutputTokens             uint64  `json:"output_tokens"`
	CacheReadInputTokens     uint64  `json:"cache_read_input_tokens"`
	CacheCreationInputTokens uint64  `json:"cache_creation_input_tokens"`
	Cancelled                bool    `json:"cancelled"`
	ResumeToken              *string `json:"resume_token,omitempty"`
}

// Error ends a turn that failed. Message is a sentence for a person.
type Error struct {
	Message string `json:"message"`
}

// MarshalJSON writes null, the payload of thinking-stop.
func (ThinkingStop) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Kind implements Event for each payload.
func (Chunk) Kind() Kind              { return KindChunk }
func (Thinking) Kind() Kind           { return KindThinking }
func (ThinkingStop) Kind() Kind       { return KindThinkingStop }
func (ToolStart) Kind() Kind          { return KindToolStart }
func (ToolResult) Kind() Kind         { return KindToolResult }
func (PermissionRequest) Kind() Kind  { return KindPermissionRequest }
func (PendingEdit) Kind() Kind        { return KindPendingEdit }
func (EditBaseline) Kind() Kind       { return KindEditBaseline }
func (PlanBlock) Kind() Kind          { return KindPlanBlock }
func (ToolOutputExtended) Kind() Kind { return KindToolOutputExtended }
func (TurnSummary) Kind() Kind        { return KindTurnSummary }
func (MCPSources) Kind() Kind         { return KindMCPSources }
func (RateLimited) Kind() Kind        { return KindRateLimited }
func (Done) Kind() Kind               { return KindDone }
func (Error) Kind() Kind              { return KindError }

func (Chunk) event()              {}
func (Thinking) event()           {}
func (ThinkingStop) event()       {}
func (ToolStart) event()          {}
func (ToolResult) event()         {}
func (PermissionRequest) event()  {}
func (PendingEdit) event()        {}
func (EditBaseline) event()       {}
func (PlanBlock) event()          {}
func (ToolOutputExtended) event() {}
func (TurnSummary) event()        {}
func (MCPSources) event()         {}
func (RateLimited) event()        {}
func (Done) event()               {}
func (Error) event()              {}

// Encode returns the payload of e as it goes on the bus: compact JSON without
// HTML escapes, so that a golden file reads like the text it holds.
func Encode(e Event) ([]byte, error) {
	switch v := e.(type) {
	case Chunk:
		// Most of all events, most of them plain: a tenth of the cost of an
		// encoder.
		if plain(string(v)) {
			out := make([]byte, 0, len(v)+2)
			out = append(out, '"')
			out = append(out, v...)
			return append(out, '"'), nil
		}
		return Marshal(v)
	case ThinkingStop:
		return []byte("null"), nil
	case PlanBlock:
		if v.Items == nil {
			v.Items = []PlanItem{}
		}
		return Marshal(v)
	case MCPSources:
		if v.Sources == nil {
			v.Sources = []MCPSource{}
		}
		if v.ReadErrors == nil {
			v.ReadErrors = []MCPReadError{}
		}
		return Marshal(v)
	default:
		return Marshal(e)
	}
}

// plain reports whether s stands in JSON as it is: printable ASCII without quotes
// and backslashes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Marshal is json.Marshal without HTML escapes and without a final newline.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("contract: encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads the payload of one event of kind k. It fails with ErrBadKind
// for an unknown kind and with a JSON error for a payload of another shape.
// Unknown keys are ignored: a later version may add some.
func Decode(k Kind, payload []byte) (Event, error) {
	switch k {
	case KindChunk:
		var s *string
		if err := json.Unmarshal(payload, &s); err != nil {
			return nil, fmt.Errorf("contract: decode %s: %w", k, err)
		}
		if s == nil {
			return nil, fmt.Errorf("contract: decode %s: payload is null", k)
		}
		return Chunk(*s), nil
	case KindThinkingStop:
		if string(bytes.TrimSpace(payload)) != "null" {
			return nil, fmt.Errorf("contract: decode %s: payload is not null", k)
		}
		return ThinkingStop{}, nil
	case KindThinking:
		return decode[Thinking](k, payload)
	case KindToolStart:
		return decode[ToolStart](k, payload)
	case KindToolResult:
		return decode[ToolResult](k, payload)
	case KindPermissionRequest:
		return decode[PermissionRequest](k, payload)
	case KindPendingEdit:
		return decode[PendingEdit](k, payload)
	case KindEditBaseline:
		return decode[EditBaseline](k, payload)
	case KindPlanBlock:
		return decode[PlanBlock](k, payload)
	case KindToolOutputExtended:
		return decode[ToolOutputExtended](k, payload)
	case KindTurnSummary:
		return decode[TurnSummary](k, payload)
	case KindMCPSources:
		return decode[MCPSources](k, payload)
	case KindRateLimited:
		return decode[RateLimited](k, payload)
	case KindDone:
		return decode[Done](k, payload)
	case KindError:
		return decode[Error](k, payload)
	}
	return nil, fmt.Errorf("%w: %q", ErrBadKind, string(k))
}

func decode[T Event](k Kind, payload []byte) (Event, error) {
	var v *T
	if err := json.Unmarshal(payload, &v); err != nil {
		return nil, fmt.Errorf("contract: decode %s: %w", k, err)
	}
	if v == nil {
		return nil, fmt.Errorf("contract: decode %s: payload is null", k)
	}
	return *v, nil
}
