package llm

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// responsesProvider speaks OpenAI's Responses wire.
type responsesProvider struct{ wire }

func (r *responsesProvider) stream(ctx context.Context, key string, req Request, h Hooks, emit func(Chunk) error) error {
	if key == "" {
		return &KeyError{Provider: r.id}
	}
	ans, err := r.negotiate(req.Model, []string{"prompt_cache_key", "encrypted_content", "encrypted content"},
		func(drop map[string]bool) ([]byte, error) { return r.request(&req, drop) },
		func(body []byte) (*answer, error) {
			return r.exchange(ctx, h, "/responses", key, bearer(key), body)
		})
	if err != nil {
		return err
	}
	defer ans.Close()
	return decodeResponses(ans, r.id, &sink{emit: emit})
}

type responsesBody struct {
	Model           string          `json:"model"`
	Stream          bool            `json:"stream"`
	Store           bool            `json:"store"`
	MaxOutputTokens int             `json:"max_output_tokens"`
	Include         []string        `json:"include,omitempty"`
	PromptCacheKey  string          `json:"prompt_cache_key,omitempty"`
	Instructions    string          `json:"instructions,omitempty"`
	Tools           []responsesTool `json:"tools,omitempty"`
	// Input holds responsesItem and stored items as raw JSON.
	Input []any `json:"input"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type responsesItem struct {
	Type string `json:"type,omitempty"`
	Role string `json:"role,omitempty"`
	// Content is a text or a list of parts.
	Content   any     `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// responsesEnvelope is what ReasoningDetails carries on this wire: the items
// of the answer, encrypted reasoning included.
type responsesEnvelope struct {
	Provider contract.ProviderID `json:"responses_provider"`
	Output   []json.RawMessage   `json:"output"`
}

func (r *responsesProvider) request(req *Request, drop map[string]bool) ([]byte, error) {
	b := responsesBody{Model: req.Model, Stream: true, MaxOutputTokens: req.maxTokens(), Instructions: req.system(), Input: []any{}}
	if !drop["encrypted_content"] && !drop["encrypted content"] {
		// Nothing is stored at the vendor, so reasoning has to travel.
		b.Include = []string{"reasoning.encrypted_content"}
	}
	if !drop["prompt_cache_key"] {
		b.PromptCacheKey = req.CacheKey
	}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schema(t.Parameters)})
	}
	last := lastUser(req.Messages)
	for i, m := range req.Messages {
		switch m.Role {
		case RoleUser:
			var images []Image
			if i == last {
				images = req.Attachments
			}
			b.Input = append(b.Input, responsesItem{Role: "user", Content: responsesContent(m, images)})
		case RoleAssistant:
			b.Input = append(b.Input, r.assistant(m)...)
		case RoleTool:
			for _, t := range m.Blocks {
				if t.Type == BlockToolResult {
					output := t.Content
					b.Input = append(b.Input, responsesItem{Type: "function_call_output", CallID: t.ID, Output: &output})
				}
			}
		}
	}
	return encode(b)
}

func responsesContent(m Message, images []Image) any {
	text := textOf(m)
	var list []responsesPart
	for _, b := range m.Blocks {
		if b.Type == BlockImage {
			list = append(list, responsesPart{Type: "input_image", ImageURL: dataURL(b.MediaType, b.Data)})
		}
	}
	for _, i := range images {
		list = append(list, responsesPart{Type: "input_image", ImageURL: dataURL(i.MediaType, i.Data)})
	}
	if len(list) == 0 {
		return text
	}
	if text != "" {
		list = slices.Insert(list, 0, responsesPart{Type: "input_text", Text: text})
	}
	return list
}

func (r *responsesProvider) assistant(m Message) []any {
	if stored := r.stored(m); stored != nil {
		return stored
	}
	var items []any
	if text := textOf(m); text != "" {
		items = append(items, responsesItem{Role: "assistant", Content: text})
	}
	for _, b := range m.Blocks {
		if b.Type == BlockToolUse {
			args, _ := objectArguments(b.Arguments)
			items = append(items, responsesItem{Type: "function_call", CallID: b.ID, Name: b.Name, Arguments: string(args)})
		}
	}
	return items
}

// stored returns the items that an earlier stream stored for a message, unless
// they are another provider's or their calls are no longer those of the
// message.
func (r *responsesProvider) stored(m Message) []any {
	for _, b := range m.Blocks {
		var e responsesEnvelope
		if b.Type != BlockReasoning || json.Unmarshal(b.Details, &e) != nil || e.Provider != r.id || len(e.Output) == 0 {
			continue
		}
		var ids []string
		items := make([]any, 0, len(e.Output))
		for _, raw := range e.Output {
			var item responsesOutput
			if json.Unmarshal(raw, &item) == nil && item.Type == "function_call" {
				ids = append(ids, item.CallID)
			}
			items = append(items, raw)
		}
		if slices.Equal(ids, callIDs(m)) {
			return items
		}
	}
	return nil
}

type responsesEvent struct {
	Type         string          `json:"type"`
	Delta        piece           `json:"delta"`
	Text         piece           `json:"text"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Message      string          `json:"message"`
	Code         json.RawMessage `json:"code"`
	Error        json.RawMessage `json:"error"`
}

type responsesOutput struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Arguments argumentPiece `json:"arguments"`
}

type responsesFinal struct {
	Output []json.RawMessage `json:"output"`
	Usage  *struct {
		Input   count `json:"input_tokens"`
		Output  count `json:"output_tokens"`
		Details *struct {
			Cached count `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// responsesDecoder turns events into chunks.
type responsesDecoder struct {
	id  contract.ProviderID
	out *sink
	// calls are the open calls by output index; items the finished items, for
	// servers whose last event does not repeat them.
	calls map[int]*call
	items map[int]json.RawMessage
	// part is the summary part that is streaming, so that parts are kept
	// apart and a part that came whole is not shown twice.
	part      [2]int
	streamed  bool
	summaries bool
	completed bool
}

func decodeResponses(r io.Reader, id contract.ProviderID, out *sink) error {
	d := &responsesDecoder{id: id, out: out, calls: make(map[int]*call), items: make(map[int]json.RawMessage)}
	if err := events(r, d.event); err != nil {
		return err
	}
	if !d.completed {
		return ErrIncomplete
	}
	return nil
}

func (d *responsesDecoder) event(data string) (stop bool, err error) {
	if strings.TrimSpace(data) == "[DONE]" {
		return true, nil
	}
	var e responsesEvent
	if err := decode([]byte(data), &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return false, d.out.textDelta(string(e.Delta))
	case "response.reasoning_summary_text.delta":
		return false, d.summary(&e, string(e.Delta), true)
	case "response.reasoning_summary_text.done":
		return false, d.summary(&e, string(e.Text), false)
	case "response.output_item.added":
		return false, d.itemAdded(&e)
	case "response.function_call_arguments.delta":
		if c := d.calls[e.OutputIndex]; c != nil {
			return false, c.more(d.out, string(e.Delta))
		}
	case "response.output_item.done":
		d.items[e.OutputIndex] = e.Item
	case "response.completed":
		d.completed = true
		return true, d.finish(e.Response)
	case "response.failed", "response.incomplete", "error":
		return true, d.failure(&e)
	}
	return false, nil
}

// summary shows a piece of reasoning. done events repeat a part that streamed
// and are shown only where it did not.
func (d *responsesDecoder) summary(e *responsesEvent, text string, delta bool) error {
	part := [2]int{e.OutputIndex, e.SummaryIndex}
	same := d.streamed && part == d.part
	if text == "" || same && !delta {
		return nil
	}
	if !same && d.summaries && d.out.thinking {
		text = "\n\n" + text
	}
	d.part, d.streamed, d.summaries = part, true, true
	return d.out.thinkingDelta(text)
}

func (d *responsesDecoder) itemAdded(e *responsesEvent) error {
	var item responsesOutput
	if len(e.Item) == 0 || json.Unmarshal(e.Item, &item) != nil || item.Type != "function_call" || item.CallID == "" {
		return nil
	}
	c := &call{id: item.CallID, name: item.Name}
	d.calls[e.OutputIndex] = c
	return c.start(d.out)
}

func (d *responsesDecoder) finish(raw json.RawMessage) error {
	var final responsesFinal
	if len(raw) > 0 {
		if err := decode(raw, &final); err != nil {
			return err
		}
	}
	if u := final.Usage; u != nil {
		d.out.usage.input.take(u.Input)
		d.out.usage.output.take(u.Output)
		if u.Details != nil {
			d.out.usage.read.take(u.Details.Cached)
		}
	}
	output := final.Output
	if len(output) == 0 {
		for _, index := range sortedKeys(d.items) {
			output = append(output, d.items[index])
		}
	}
	opened := make(map[string]*call, len(d.calls))
	for _, c := range d.calls {
		opened[c.id] = c
	}
	kept := make([]json.RawMessage, 0, len(output))
	for _, raw := range output {
		var item responsesOutput
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		if item.Type == "function_call" {
			c := opened[item.CallID]
			if c == nil {
				c = &call{id: or(item.CallID, madeUpID("call")), name: item.Name}
			}
			delete(opened, item.CallID)
			if c.name == "" {
				c.name = item.Name
			}
			if err := c.end(d.out, string(item.Arguments)); err != nil {
				return err
			}
			if _, ok := objectArguments([]byte(item.Arguments)); !ok {
				// Sent back as it came it would be refused (F07).
				kept = nil
				output = nil
			}
		}
		if output != nil {
			kept = append(kept, raw)
		}
	}
	// A call that the final list forgot is closed with what had streamed.
	for _, index := range sortedKeys(d.calls) {
		if c := d.calls[index]; opened[c.id] == c {
			if err := c.end(d.out, ""); err != nil {
				return err
			}
			kept = nil
		}
	}
	if len(kept) > 0 {
		if err := d.out.reasoning(responsesEnvelope{Provider: d.id, Output: kept}); err != nil {
			return err
		}
	}
	return d.out.done()
}

func (d *responsesDecoder) failure(e *responsesEvent) error {
	var final responsesFinal
	if len(e.Response) > 0 {
		json.Unmarshal(e.Response, &final) // What cannot be read is not told.
	}
	message, status := "", 0
	for _, raw := range []json.RawMessage{final.Error, e.Error} {
		if message == "" && len(raw) > 0 {
			message, status = errorObject(raw)
		}
	}
	if message == "" && e.Message != "" {
		whole, _ := encode(struct { // Two texts always encode.
			Message string          `json:"message"`
			Code    json.RawMessage `json:"code,omitempty"`
		}{e.Message, e.Code})
		message, status = errorObject(whole)
	}
	if message == "" && final.Incomplete != nil {
		message = "The answer was cut short by the provider (" + or(final.Incomplete.Reason, "no reason given") + "). Send again, or ask for less at once."
	}
	if message == "" {
		message = "The provider ended the request without saying why. Send again to retry."
	}
	return &StreamError{Provider: d.id, Status: status, Message: message}
}
