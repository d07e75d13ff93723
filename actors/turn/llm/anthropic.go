package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// anthropicVersion is the version of the Messages wire. Source: runtime.md 3.
const anthropicVersion = "2023-06-01"

// minThinkingBudget is the least the Messages wire accepts, in tokens.
const minThinkingBudget = 1024

// anthropicProvider speaks the Messages wire.
type anthropicProvider struct{ wire }

func (a *anthropicProvider) Stream(ctx context.Context, key string, req Request, emit func(Chunk) error) error {
	return a.stream(ctx, key, req, Hooks{}, emit)
}

func (a *anthropicProvider) stream(ctx context.Context, key string, req Request, h Hooks, emit func(Chunk) error) error {
	if key == "" {
		return &KeyError{Provider: a.id}
	}
	header := http.Header{"X-Api-Key": {key}, "Anthropic-Version": {anthropicVersion}}
	ans, err := a.negotiate(req.Model, []string{"thinking.type", "temperature", "cache_control"},
		func(drop map[string]bool) ([]byte, error) {
			return anthropicRequest(&req, a.base == DefaultAnthropicURL, drop)
		},
		func(body []byte) (*answer, error) {
			return a.exchange(ctx, h, "/v1/messages", key, header, body)
		})
	if err != nil {
		return err
	}
	defer ans.Close()
	return decodeAnthropic(ans, a.id, &sink{emit: emit})
}

type anthropicBody struct {
	Model        string             `json:"model"`
	MaxTokens    int                `json:"max_tokens"`
	Stream       bool               `json:"stream"`
	CacheControl *anthropicCache    `json:"cache_control,omitempty"`
	System       string             `json:"system,omitempty"`
	Tools        []anthropicTool    `json:"tools,omitempty"`
	Temperature  *float64           `json:"temperature,omitempty"`
	Thinking     *anthropicThinking `json:"thinking,omitempty"`
	Messages     []anthropicMessage `json:"messages"`
}

type anthropicCache struct {
	Type string `json:"type"`
}

type anthropicThinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicMessage struct {
	Role Role `json:"role"`
	// Content is a text, a list of blocks, or a stored list as raw JSON.
	Content any `json:"content"`
}

type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text,omitempty"`
	ID        string           `json:"id,omitempty"`
	Name      string           `json:"name,omitempty"`
	Input     json.RawMessage  `json:"input,omitempty"`
	ToolUseID string           `json:"tool_use_id,omitempty"`
	Content   string           `json:"content,omitempty"`
	IsError   bool             `json:"is_error,omitempty"`
	Source    *anthropicSource `json:"source,omitempty"`
}

type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// anthropicEnvelope is what ReasoningDetails carries on this wire.
type anthropicEnvelope struct {
	Content json.RawMessage `json:"anthropic_content"`
}

// anthropicRequest writes a body. own says that the vendor itself is asked: a
// cache marker at the top level is refused elsewhere.
func anthropicRequest(req *Request, own bool, drop map[string]bool) ([]byte, error) {
	b := anthropicBody{Model: req.Model, MaxTokens: req.maxTokens(), Stream: true, System: req.system(), Temperature: req.Temperature}
	if own && !drop["cache_control"] {
		b.CacheControl = &anthropicCache{Type: "ephemeral"}
	}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, anthropicTool{Name: t.Name, Description: t.Description, InputSchema: schema(t.Parameters)})
	}
	b.Thinking = anthropicThinkingOf(req, drop["thinking.type"])
	if b.Thinking != nil || drop["temperature"] {
		// The wire refuses a temperature beside thinking.
		b.Temperature = nil
	}
	last := lastUser(req.Messages)
	for i, m := range req.Messages {
		var images []Image
		if i == last {
			images = req.Attachments
		}
		content := anthropicContent(m, images)
		if len(content) == 0 {
			continue
		}
		out := anthropicMessage{Role: RoleUser, Content: content}
		if m.Role == RoleAssistant {
			out.Role = RoleAssistant
			if stored := anthropicStored(m); stored != nil {
				out.Content = stored
			}
			if len(b.Messages) == 0 {
				// A resumed history may be cut in front of an answer; the wire
				// wants a user to speak first.
				b.Messages = append(b.Messages, anthropicMessage{Role: RoleUser, Content: "(Earlier messages are not shown.)"})
			}
		} else if n := len(b.Messages); n > 0 && b.Messages[n-1].Role == RoleUser {
			// Tool results and a text behind them, or two texts in a row, are
			// one message on this wire.
			if before, ok := b.Messages[n-1].Content.([]anthropicBlock); ok {
				b.Messages[n-1].Content = slices.Concat(before, content)
				continue
			}
		}
		b.Messages = append(b.Messages, out)
	}
	for i, m := range b.Messages {
		// A user's plain text is a plain string.
		if c, ok := m.Content.([]anthropicBlock); ok && m.Role == RoleUser && len(c) == 1 && c[0].Type == "text" {
			b.Messages[i].Content = c[0].Text
		}
	}
	return encode(b)
}

// anthropicThinkingOf decides how thinking is asked for. It is left out where
// the wire would refuse it: a budget that does not fit, or a running tool
// round whose assistant message came without its signed thinking.
func anthropicThinkingOf(req *Request, adaptive bool) *anthropicThinking {
	if !req.Thinking {
		return nil
	}
	if n := len(req.Messages); n >= 2 && req.Messages[n-1].Role == RoleTool && anthropicStored(req.Messages[n-2]) == nil {
		return nil
	}
	if adaptive {
		// Newer models refuse a budget and choose it themselves.
		return &anthropicThinking{Type: "adaptive"}
	}
	budget := req.ThinkingBudget
	if budget <= 0 {
		budget = DefaultThinkingBudget
	}
	if budget = min(budget, req.maxTokens()-1); budget < minThinkingBudget {
		return nil
	}
	return &anthropicThinking{Type: "enabled", BudgetTokens: budget}
}

// anthropicContent returns the blocks of a message in the order of the wire:
// images before text, results before both.
func anthropicContent(m Message, images []Image) []anthropicBlock {
	var results, pictures, rest []anthropicBlock
	for _, b := range m.Blocks {
		switch b.Type {
		case BlockText:
			rest = append(rest, anthropicBlock{Type: "text", Text: b.Text})
		case BlockToolUse:
			args, _ := objectArguments(b.Arguments)
			rest = append(rest, anthropicBlock{Type: "tool_use", ID: b.ID, Name: b.Name, Input: args})
		case BlockToolResult:
			results = append(results, anthropicBlock{Type: "tool_result", ToolUseID: b.ID, Content: b.Content, IsError: b.IsError})
		case BlockImage:
			pictures = append(pictures, anthropicImage(b.MediaType, b.Data))
		case BlockReasoning:
		}
	}
	for _, i := range images {
		pictures = append(pictures, anthropicImage(i.MediaType, i.Data))
	}
	return slices.Concat(results, pictures, rest)
}

func anthropicImage(mediaType, data string) anthropicBlock {
	return anthropicBlock{Type: "image", Source: &anthropicSource{Type: "base64", MediaType: mediaType, Data: data}}
}

// anthropicStored returns the content array that an earlier stream stored for
// a message, unless its tool calls are no longer those of the message.
func anthropicStored(m Message) json.RawMessage {
	for _, b := range m.Blocks {
		if b.Type != BlockReasoning {
			continue
		}
		var e anthropicEnvelope
		if json.Unmarshal(b.Details, &e) != nil || len(e.Content) == 0 || e.Content[0] != '[' {
			continue
		}
		var blocks []struct{ Type, ID string }
		if json.Unmarshal(e.Content, &blocks) != nil {
			continue
		}
		var ids []string
		for _, b := range blocks {
			if b.Type == "tool_use" {
				ids = append(ids, b.ID)
			}
		}
		if slices.Equal(ids, callIDs(m)) {
			return e.Content
		}
	}
	return nil
}

func callIDs(m Message) []string {
	var ids []string
	for _, b := range m.Blocks {
		if b.Type == BlockToolUse {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func lastUser(history []Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Role == RoleUser {
			return i
		}
	}
	return -1
}

// schema returns a tool's parameters; a tool without any takes an empty
// object.
func schema(parameters json.RawMessage) json.RawMessage {
	if len(parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return parameters
}

type anthropicEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta struct {
		Type        string `json:"type"`
		Text        piece  `json:"text"`
		PartialJSON piece  `json:"partial_json"`
		Thinking    piece  `json:"thinking"`
		Signature   string `json:"signature"`
	} `json:"delta"`
	ContentBlock json.RawMessage `json:"content_block"`
	Message      struct {
		Usage *anthropicUsage `json:"usage"`
	} `json:"message"`
	Usage *anthropicUsage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type anthropicUsage struct {
	Input   count `json:"input_tokens"`
	Output  count `json:"output_tokens"`
	Read    count `json:"cache_read_input_tokens"`
	Created count `json:"cache_creation_input_tokens"`
}

// openBlock is a content block that streams.
type openBlock struct {
	kind      string
	raw       json.RawMessage
	call      *call
	initial   string
	text      strings.Builder
	join      joiner
	signature string
}

// anthropicDecoder turns events into chunks.
type anthropicDecoder struct {
	id     contract.ProviderID
	out    *sink
	open   map[int]*openBlock
	stored []json.RawMessage
	// thought says that the answer holds reasoning, so that its content must
	// be replayed as it was signed.
	thought bool
	stopped bool
}

func decodeAnthropic(r io.Reader, id contract.ProviderID, out *sink) error {
	d := &anthropicDecoder{id: id, out: out, open: make(map[int]*openBlock)}
	if err := events(r, d.event); err != nil {
		return err
	}
	if !d.stopped {
		return ErrIncomplete
	}
	return nil
}

func (d *anthropicDecoder) event(data string) (stop bool, err error) {
	var e anthropicEvent
	if err := decode([]byte(data), &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "content_block_delta":
		return false, d.delta(&e)
	case "content_block_start":
		return false, d.blockStart(&e)
	case "content_block_stop":
		return false, d.blockStop(e.Index)
	case "message_start":
		d.count(e.Message.Usage)
	case "message_delta":
		d.count(e.Usage)
	case "message_stop":
		d.stopped = true
		return true, d.finish()
	case "error":
		message, status := errorObject(e.Error)
		if message == "" {
			message = "Anthropic reported an error without saying which. Send again to retry."
		}
		return true, &StreamError{Provider: d.id, Status: status, Message: message}
	}
	return false, nil
}

func (d *anthropicDecoder) count(u *anthropicUsage) {
	if u == nil {
		return
	}
	d.out.usage.input.take(u.Input)
	d.out.usage.output.take(u.Output)
	d.out.usage.read.take(u.Read)
	d.out.usage.created.take(u.Created)
}

func (d *anthropicDecoder) blockStart(e *anthropicEvent) error {
	var head struct {
		Type     string          `json:"type"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Text     piece           `json:"text"`
		Thinking piece           `json:"thinking"`
	}
	if len(e.ContentBlock) == 0 || json.Unmarshal(e.ContentBlock, &head) != nil {
		return nil
	}
	b := &openBlock{kind: head.Type, raw: e.ContentBlock}
	d.open[e.Index] = b
	switch head.Type {
	case "tool_use":
		if head.ID == "" {
			head.ID = madeUpID("call")
		}
		b.call, b.initial = &call{id: head.ID, name: head.Name}, string(head.Input)
		return b.call.start(d.out)
	case "text":
		b.text.WriteString(b.join.push(string(head.Text)))
		return d.out.textDelta(string(head.Text))
	case "thinking":
		d.thought = true
		b.text.WriteString(b.join.push(string(head.Thinking)))
		return d.out.thinkingDelta(string(head.Thinking))
	case "redacted_thinking":
		d.thought = true
	}
	return nil
}

func (d *anthropicDecoder) delta(e *anthropicEvent) error {
	b := d.open[e.Index]
	if b == nil {
		return nil
	}
	switch e.Delta.Type {
	case "text_delta":
		b.text.WriteString(b.join.push(string(e.Delta.Text)))
		return d.out.textDelta(string(e.Delta.Text))
	case "thinking_delta":
		b.text.WriteString(b.join.push(string(e.Delta.Thinking)))
		return d.out.thinkingDelta(string(e.Delta.Thinking))
	case "input_json_delta":
		if b.call != nil {
			return b.call.more(d.out, string(e.Delta.PartialJSON))
		}
	case "signature_delta":
		b.signature += e.Delta.Signature
	}
	return nil
}

func (d *anthropicDecoder) blockStop(index int) error {
	b := d.open[index]
	if b == nil {
		return nil
	}
	delete(d.open, index)
	b.text.WriteString(b.join.flush())
	var err error
	switch b.kind {
	case "tool_use":
		err = b.call.end(d.out, b.initial)
		args, _ := objectArguments([]byte(or(strings.TrimSpace(b.call.args.String()), b.initial)))
		d.store(anthropicBlock{Type: "tool_use", ID: b.call.id, Name: b.call.name, Input: args})
	case "text":
		err = d.out.flushText()
		// A blank block would be refused when it comes back (F14, F15).
		if strings.TrimSpace(b.text.String()) != "" {
			d.store(anthropicBlock{Type: "text", Text: b.text.String()})
		}
	case "thinking":
		err = d.out.thinkingStop()
		d.store(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{"thinking", b.text.String(), b.signature})
	default:
		d.store(b.raw)
	}
	return err
}

func (d *anthropicDecoder) store(block any) {
	if raw, err := encode(block); err == nil {
		d.stored = append(d.stored, raw)
	}
}

func (d *anthropicDecoder) finish() error {
	// A server that never closed its blocks has still answered.
	for _, index := range sortedKeys(d.open) {
		if err := d.blockStop(index); err != nil {
			return err
		}
	}
	if d.thought {
		content, err := encode(d.stored)
		if err == nil {
			if err := d.out.reasoning(anthropicEnvelope{Content: content}); err != nil {
				return err
			}
		}
	}
	return d.out.done()
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// KeyError is a provider that needs a key and got none.
type KeyError struct{ Provider contract.ProviderID }

// Error returns plain sentences.
func (e *KeyError) Error() string {
	return fmt.Sprintf("No API key is stored for %s. Add one in Settings > Providers.", providerName(e.Provider))
}
