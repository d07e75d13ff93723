package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

// frame is one event line of the child. Every field may be absent; what a type
// does not use is ignored. Source: sidecar-protocol.md 3.
type frame struct {
	Type      string                  `json:"type"`
	SessionID contract.ConversationID `json:"sessionId"`
	TurnID    contract.TurnID         `json:"turnId"`

	PID             int    `json:"pid"`
	Version         string `json:"version"`
	ProtocolVersion *int   `json:"protocolVersion"`

	Text          string                  `json:"text"`
	ToolUseID     string                  `json:"toolUseId"`
	Name          string                  `json:"name"`
	Input         json.RawMessage         `json:"input"`
	Arguments     json.RawMessage         `json:"arguments"`
	Output        json.RawMessage         `json:"output"`
	IsError       bool                    `json:"isError"`
	BatchID       *string                 `json:"batchId"`
	BatchSize     *uint64                 `json:"batchSize"`
	Path          string                  `json:"path"`
	Before        *string                 `json:"before"`
	After         *string                 `json:"after"`
	Content       *string                 `json:"content"`
	Items         []wirePlanItem          `json:"items"`
	ExitCode      *int64                  `json:"exitCode"`
	ModifiedPaths []string                `json:"modifiedPaths"`
	Stdout        *string                 `json:"stdout"`
	Stderr        *string                 `json:"stderr"`
	InputTokens   count                   `json:"inputTokens"`
	OutputTokens  count                   `json:"outputTokens"`
	CacheRead     count                   `json:"cacheReadInputTokens"`
	CacheCreation count                   `json:"cacheCreationInputTokens"`
	Reasoning     *uint64                 `json:"reasoningTokens"`
	Address       string                  `json:"address"`
	Retry         *float64                `json:"retryAfterSeconds"`
	Message       *string                 `json:"message"`
	Request       string                  `json:"request"`
	Cancelled     bool                    `json:"cancelled"`
	ResumeToken   *string                 `json:"resumeToken"`
	Sources       []contract.MCPSource    `json:"sources"`
	ReadErrors    []contract.MCPReadError `json:"readErrors"`
}

// wirePlanItem is a plan item as the wire may carry it.
type wirePlanItem struct {
	ID         *string `json:"id"`
	Content    *string `json:"content"`
	Status     string  `json:"status"`
	ActiveForm *string `json:"activeForm"`
}

// count is a number of tokens; null, a fraction's rest and what is negative
// count as 0.
type count uint64

// UnmarshalJSON never fails on a JSON number or null.
func (c *count) UnmarshalJSON(b []byte) error {
	var n *float64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n != nil && *n > 0 && *n < 1<<63 {
		*c = count(*n)
	}
	return nil
}

// errNotFrame says that a line is no event: stray text of a library, usually.
var errNotFrame = errors.New("sidecar: the line is no event")

// decode reads one line. It fails with errNotFrame for anything that is not a
// JSON object in UTF-8 with a type; unknown fields are ignored.
func decode(line []byte) (frame, error) {
	if f, ok := delta(line); ok {
		return f, nil
	}
	return decodeAny(line)
}

func decodeAny(line []byte) (frame, error) {
	var f frame
	if !utf8.Valid(line) {
		return f, fmt.Errorf("%w: not UTF-8", errNotFrame)
	}
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return f, errNotFrame
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return f, fmt.Errorf("%w: %s", errNotFrame, err)
	}
	if f.Type == "" {
		return f, fmt.Errorf("%w: no type", errNotFrame)
	}
	return f, nil
}

// text is the JSON text rule of contract.md 2.1: a JSON string passes through
// unquoted, anything else is encoded compactly, nothing is absent.
func text(raw json.RawMessage) (s string, present bool) {
	if len(raw) == 0 {
		return "", false
	}
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return s, true
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw), true
	}
	return b.String(), true
}

// sessionOf finds the session that the head of a dropped line names.
func sessionOf(head []byte) (contract.ConversationID, bool) {
	_, rest, ok := bytes.Cut(head, []byte(`"sessionId"`))
	if !ok {
		return "", false
	}
	rest = bytes.TrimLeft(rest, " \t:")
	if len(rest) == 0 || rest[0] != '"' {
		return "", false
	}
	id, _, ok := bytes.Cut(rest[1:], []byte(`"`))
	if !ok || !contract.ValidID(string(id)) {
		return "", false
	}
	return contract.ConversationID(id), true
}
