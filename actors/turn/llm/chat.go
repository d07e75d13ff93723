package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// chatProvider speaks OpenAI's Chat Completions wire and what is compatible with it.
type chatProvider struct {
	wire
	// includeUsage asks for token counts, which many servers send only then
	// (F10). A custom server is not asked: it may refuse what it does not know.
	includeUsage bool
	// cacheKey sends the conversation id for OpenAI's prompt cache.
	cacheKey bool
	// reasoningSplit asks MiniMax to keep reasoning out of the text.
	reasoningSplit bool
	keyNeeded      bool
}

func (c *chatProvider) Stream(ctx context.Context, key string, req Request, emit func(Chunk) error) error {
	return c.stream(ctx, key, req, Hooks{}, emit)
}

func (c *chatProvider) stream(ctx context.Context, key string, req Request, h Hooks, emit func(Chunk) error) error {
	if key == "" && c.keyNeeded {
		return &KeyError{Provider: c.id}
	}
	ans, err := c.negotiate(req.Model, []string{"stream_options", "reasoning_split", "prompt_cache_key", "max_tokens", "temperature"},
		func(drop map[string]bool) ([]byte, error) { return c.request(&req, drop) },
		func(body []byte) (*answer, error) {
			return c.exchange(ctx, h, "/chat/completions", key, bearer(key), body)
		})
	if err != nil {
		return err
	}
	defer ans.Close()
	d := &chatDecoder{id: c.id, out: &sink{emit: emit}, slots: make(map[int]*call)}
	d.finishing = func() { ans.watch.shorten(h.limits().Tail) }
	return d.decode(ans)
}

// bearer is the Authorization header; a provider without a key sends none.
func bearer(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

type chatBody struct {
	Model               string             `json:"model"`
	Stream              bool               `json:"stream"`
	StreamOptions       *chatStreamOptions `json:"stream_options,omitempty"`
	MaxTokens           int                `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
	Temperature         *float64           `json:"temperature,omitempty"`
	PromptCacheKey      string             `json:"prompt_cache_key,omitempty"`
	ReasoningSplit      bool               `json:"reasoning_split,omitempty"`
	Tools               []chatTool         `json:"tools,omitempty"`
	Messages            []chatMessage      `json:"messages"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type chatMessage struct {
	Role string `json:"role"`
	// Content is a text, a list of parts, or nil for an assistant that only
	// called tools.
	Content          any             `json:"content"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []chatToolCall  `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

type chatToolCall struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Function     chatCallFunction `json:"function"`
	ExtraContent json.RawMessage  `json:"extra_content,omitempty"`
}

type chatCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatPart struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	ImageURL *chatImageURL `json:"image_url,omitempty"`
}

type chatImageURL struct {
	URL string `json:"url"`
}

// chatEnvelope is what ReasoningDetails carries on this wire. ExtraContent is
// keyed by call id.
type chatEnvelope struct {
	Provider         contract.ProviderID        `json:"compat_provider"`
	ReasoningContent string                     `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage            `json:"reasoning_details,omitempty"`
	ExtraContent     map[string]json.RawMessage `json:"extra_content,omitempty"`
}

func (c *chatProvider) request(req *Request, drop map[string]bool) ([]byte, error) {
	b := chatBody{
		Model: req.Model, Stream: true, Temperature: req.Temperature,
		ReasoningSplit: c.reasoningSplit && !drop["reasoning_split"],
	}
	if drop["temperature"] {
		b.Temperature = nil
	}
	if c.includeUsage && !drop["stream_options"] {
		b.StreamOptions = &chatStreamOptions{IncludeUsage: true}
	}
	if c.cacheKey && !drop["prompt_cache_key"] {
		b.PromptCacheKey = req.CacheKey
	}
	if drop["max_tokens"] {
		// What refuses the old name takes the new one.
		b.MaxCompletionTokens = req.maxTokens()
	} else {
		b.MaxTokens = req.maxTokens()
	}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, chatTool{Type: "function", Function: chatFunction{Name: t.Name, Description: t.Description, Parameters: schema(t.Parameters)}})
	}
	if system := req.system(); system != "" {
		b.Messages = append(b.Messages, chatMessage{Role: "system", Content: system})
	}
	last := lastUser(req.Messages)
	for i, m := range req.Messages {
		switch m.Role {
		case RoleUser:
			var images []Image
			if i == last {
				images = req.Attachments
			}
			b.Messages = append(b.Messages, chatMessage{Role: "user", Content: chatContent(m, images)})
		case RoleAssistant:
			b.Messages = append(b.Messages, c.assistant(m))
		case RoleTool:
			for _, r := range m.Blocks {
				if r.Type == BlockToolResult {
					b.Messages = append(b.Messages, chatMessage{Role: "tool", Content: r.Content, ToolCallID: r.ID})
				}
			}
		}
	}
	b.Messages = joinUsers(b.Messages)
	return encode(b)
}

// joinUsers makes one message of two texts of the user in a row, as a
// cancelled turn leaves them: some servers insist on alternating roles.
func joinUsers(messages []chatMessage) []chatMessage {
	out := messages[:0]
	for _, m := range messages {
		n := len(out)
		if m.Role != "user" || n == 0 || out[n-1].Role != "user" {
			out = append(out, m)
			continue
		}
		before, now := out[n-1].Content, m.Content
		if a, ok := before.(string); ok {
			if b, ok := now.(string); ok {
				out[n-1].Content = a + "\n\n" + b
				continue
			}
		}
		out[n-1].Content = slices.Concat(parts(before), parts(now))
	}
	return out
}

func parts(content any) []chatPart {
	if s, ok := content.(string); ok {
		return []chatPart{{Type: "text", Text: s}}
	}
	p, _ := content.([]chatPart)
	return p
}

// chatContent is a text where text is all there is, else parts: text first.
func chatContent(m Message, images []Image) any {
	text := textOf(m)
	var pictures []chatPart
	for _, b := range m.Blocks {
		if b.Type == BlockImage {
			pictures = append(pictures, chatImage(b.MediaType, b.Data))
		}
	}
	for _, i := range images {
		pictures = append(pictures, chatImage(i.MediaType, i.Data))
	}
	if len(pictures) == 0 {
		return text
	}
	if text == "" {
		return pictures
	}
	return append([]chatPart{{Type: "text", Text: text}}, pictures...)
}

func chatImage(mediaType, data string) chatPart {
	return chatPart{Type: "image_url", ImageURL: &chatImageURL{URL: dataURL(mediaType, data)}}
}

func dataURL(mediaType, data string) string { return "data:" + mediaType + ";base64," + data }

// textOf joins the text blocks of a message.
func textOf(m Message) string {
	var texts []string
	for _, b := range m.Blocks {
		if b.Type == BlockText && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func (c *chatProvider) assistant(m Message) chatMessage {
	out := chatMessage{Role: "assistant"}
	if text := textOf(m); text != "" {
		out.Content = text
	}
	var stored chatEnvelope
	for _, b := range m.Blocks {
		var e chatEnvelope
		if b.Type == BlockReasoning && json.Unmarshal(b.Details, &e) == nil && e.Provider == c.id {
			stored = e
		}
	}
	out.ReasoningContent, out.ReasoningDetails = stored.ReasoningContent, stored.ReasoningDetails
	for _, b := range m.Blocks {
		if b.Type != BlockToolUse {
			continue
		}
		args, _ := objectArguments(b.Arguments)
		out.ToolCalls = append(out.ToolCalls, chatToolCall{
			ID: b.ID, Type: "function", ExtraContent: stored.ExtraContent[b.ID],
			Function: chatCallFunction{Name: b.Name, Arguments: string(args)},
		})
	}
	return out
}

type chatEvent struct {
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chatChoice struct {
	Delta struct {
		Content          piece             `json:"content"`
		ReasoningContent piece             `json:"reasoning_content"`
		Reasoning        piece             `json:"reasoning"`
		ReasoningDetails []json.RawMessage `json:"reasoning_details"`
		ToolCalls        []chatCallDelta   `json:"tool_calls"`
	} `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

type chatCallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string        `json:"name"`
		Arguments argumentPiece `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

type chatUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Details    *struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// chatDecoder turns events into chunks.
type chatDecoder struct {
	id  contract.ProviderID
	out *sink
	// finishing is called when the provider has announced its finish; nil is
	// allowed.
	finishing func()
	slots     map[int]*call
	extra     map[string]json.RawMessage
	thoughts  strings.Builder
	details   details
	finished  bool
	ended     bool
}

func (d *chatDecoder) decode(r io.Reader) error {
	err := events(r, d.event)
	if d.finished && onlySocket(err) {
		// The answer is whole; only its socket was left open (F11) or broke.
		err = nil
	}
	if err != nil {
		return err
	}
	if !d.finished && !d.ended {
		return ErrIncomplete
	}
	if err := d.flush(); err != nil {
		return err
	}
	if d.thoughts.Len() > 0 || len(d.details.order) > 0 || len(d.extra) > 0 {
		e := chatEnvelope{Provider: d.id, ReasoningContent: d.thoughts.String(), ReasoningDetails: d.details.encode(), ExtraContent: d.extra}
		if err := d.out.reasoning(e); err != nil {
			return err
		}
	}
	return d.out.done()
}

func onlySocket(err error) bool {
	var idle *IdleError
	var broken *ConnectError
	return errors.As(err, &idle) || errors.As(err, &broken)
}

func (d *chatDecoder) event(data string) (stop bool, err error) {
	if strings.TrimSpace(data) == "[DONE]" {
		d.ended = true
		return true, nil
	}
	var e chatEvent
	if err := decode([]byte(data), &e); err != nil {
		return false, err
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		message, status := errorObject(e.Error)
		if message == "" {
			message = leadingName(d.id) + " reported an error: " + clip(string(e.Error), 200)
		}
		return true, &StreamError{Provider: d.id, Status: status, Message: message}
	}
	if u := e.Usage; u != nil {
		d.out.usage.input.take(u.Prompt)
		d.out.usage.output.take(u.Completion)
		if u.Details != nil {
			d.out.usage.read.take(u.Details.Cached)
		}
	}
	// More than one choice is never asked for.
	if len(e.Choices) == 0 {
		return false, nil
	}
	return false, d.choice(&e.Choices[0])
}

func (d *chatDecoder) choice(c *chatChoice) error {
	shown := ""
	for _, raw := range c.Delta.ReasoningDetails {
		shown += d.details.add(raw)
	}
	// Servers repeat the same thought under several names; one is shown.
	switch {
	case c.Delta.ReasoningContent != "":
		d.thoughts.WriteString(string(c.Delta.ReasoningContent))
		shown = string(c.Delta.ReasoningContent)
	case c.Delta.Reasoning != "":
		shown = string(c.Delta.Reasoning)
	}
	if err := d.out.thinkingDelta(shown); err != nil {
		return err
	}
	if err := d.out.textDelta(string(c.Delta.Content)); err != nil {
		return err
	}
	for i := range c.Delta.ToolCalls {
		if err := d.callDelta(&c.Delta.ToolCalls[i]); err != nil {
			return err
		}
	}
	if c.FinishReason == "" {
		return nil
	}
	if !d.finished && d.finishing != nil {
		d.finishing()
	}
	d.finished = true
	switch c.FinishReason {
	case "tool_calls", "stop", "function_call":
		return d.flush()
	}
	return nil
}

func (d *chatDecoder) callDelta(t *chatCallDelta) error {
	index := 0
	if t.Index != nil {
		index = *t.Index
	}
	c := d.slots[index]
	if c != nil && t.ID != "" && c.id != "" && t.ID != c.id {
		delete(d.slots, index)
		if err := d.end(c); err != nil {
			return err
		}
		c = nil
	}
	if c == nil {
		c = &call{}
		d.slots[index] = c
	}
	if c.id == "" {
		c.id = t.ID
	}
	if c.name == "" {
		c.name = t.Function.Name
	}
	if len(t.ExtraContent) > 0 && string(t.ExtraContent) != "null" && c.id != "" {
		if d.extra == nil {
			d.extra = make(map[string]json.RawMessage)
		}
		d.extra[c.id] = t.ExtraContent
	}
	if c.name != "" && !c.open {
		if c.id == "" {
			c.id = madeUpID("call")
		}
		if err := c.start(d.out); err != nil {
			return err
		}
	}
	return c.more(d.out, string(t.Function.Arguments))
}

func (d *chatDecoder) end(c *call) error {
	if c.id == "" {
		c.id = madeUpID("call")
	}
	return c.end(d.out, "")
}

// flush closes the calls in index order.
func (d *chatDecoder) flush() error {
	for _, index := range sortedKeys(d.slots) {
		c := d.slots[index]
		delete(d.slots, index)
		if err := d.end(c); err != nil {
			return err
		}
	}
	return nil
}

// details accumulates reasoning_details by index: text, summary and data grow,
// other keys take the last value. Key order is kept, so that the same stream
// gives the same bytes.
type details struct {
	order []int
	byKey map[int]*detail
}

type detail struct {
	keys   []string
	grown  map[string]*strings.Builder
	joins  map[string]*joiner
	values map[string]json.RawMessage
}

var growing = map[string]bool{"text": true, "summary": true, "data": true}

// add takes one entry and returns what of it may be shown.
func (d *details) add(raw json.RawMessage) string {
	fields := orderedFields(raw)
	if fields == nil {
		return ""
	}
	index := len(d.order)
	for _, f := range fields {
		if f.key == "index" {
			var n int
			if json.Unmarshal(f.value, &n) == nil {
				index = n
			}
		}
	}
	if d.byKey == nil {
		d.byKey = make(map[int]*detail)
	}
	e := d.byKey[index]
	if e == nil {
		e = &detail{grown: make(map[string]*strings.Builder), joins: make(map[string]*joiner), values: make(map[string]json.RawMessage)}
		d.byKey[index] = e
		d.order = append(d.order, index)
	}
	shown := ""
	for _, f := range fields {
		text := len(f.value) > 0 && f.value[0] == '"'
		if !slices.Contains(e.keys, f.key) {
			e.keys = append(e.keys, f.key)
		}
		if !growing[f.key] || !text {
			if e.grown[f.key] == nil {
				e.values[f.key] = f.value
			}
			continue
		}
		if e.grown[f.key] == nil {
			e.grown[f.key], e.joins[f.key] = new(strings.Builder), new(joiner)
		}
		var p piece
		p.UnmarshalJSON(f.value) // It never fails.
		e.grown[f.key].WriteString(e.joins[f.key].push(string(p)))
		if f.key != "data" {
			shown += string(p)
		}
	}
	return shown
}

func (d *details) encode() json.RawMessage {
	if len(d.order) == 0 {
		return nil
	}
	slices.Sort(d.order)
	var b bytes.Buffer
	b.WriteByte('[')
	for i, index := range d.order {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('{')
		e := d.byKey[index]
		for j, key := range e.keys {
			if j > 0 {
				b.WriteByte(',')
			}
			value := e.values[key]
			if g := e.grown[key]; g != nil {
				value, _ = encode(g.String() + e.joins[key].flush()) // A text always encodes.
			}
			name, _ := encode(key) // A text always encodes.
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return b.Bytes()
}

type field struct {
	key   string
	value json.RawMessage
}

// orderedFields splits a JSON object; nil when it is none.
func orderedFields(raw json.RawMessage) []field {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	fields := []field{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		key, ok := t.(string)
		if !ok {
			return nil
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil
		}
		fields = append(fields, field{key: key, value: v})
	}
	return fields
}
