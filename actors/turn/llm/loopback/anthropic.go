package loopback

import "encoding/json"

// NewAnthropic starts a Messages server. Its URL is the root; the endpoint is
// /v1/messages.
func NewAnthropic(turns ...Turn) *Server { return start(anthropicWire{}, turns) }

type anthropicWire struct{}

func (anthropicWire) paths() []string     { return []string{"/v1/messages"} }
func (anthropicWire) contentType() string { return "text/event-stream; charset=utf-8" }

func (anthropicWire) refusal(status int, kind, message string) string {
	if kind == "" {
		kind = map[int]string{401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	}
	if kind == "" {
		kind = "api_error"
	}
	return string(mustJSON(object{"type": "error", "error": object{"type": kind, "message": message}}))
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

func (anthropicWire) check(r Recorded) []string {
	var p problems
	p.jsonBody(r)
	if blank(r.Header.Get("X-Api-Key")) {
		p.add("x-api-key: header is required")
	}
	if r.Header.Get("Anthropic-Version") != "2023-06-01" {
		p.add("anthropic-version: 2023-06-01 is required")
	}
	top := p.body(r.Body, "model", "messages", "max_tokens", "stream", "system", "tools", "temperature", "thinking", "cache_control")
	if top == nil {
		return p
	}
	p.text(top, "model")
	p.positive(top, "max_tokens")
	p.streaming(top)
	if raw, ok := top["system"]; ok {
		p.text(map[string]json.RawMessage{"system": raw}, "system")
	}
	anthropicThinking(&p, top)
	var tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	if raw, ok := top["tools"]; ok && json.Unmarshal(raw, &tools) != nil {
		p.add("tools: a list is required")
	}
	for i, t := range tools {
		if t.Name == "" {
			p.add("tools.%d.name: a text is required", i)
		}
		p.schema("tools.input_schema", t.InputSchema)
	}
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(top["messages"], &messages) != nil || len(messages) == 0 {
		p.add("messages: at least one message is required")
		return p
	}
	if messages[0].Role != "user" {
		p.add("messages.0: the first message must use the user role")
	}
	var open map[string]bool
	for i, m := range messages {
		if m.Role != "user" && m.Role != "assistant" {
			p.add("messages.%d.role: %q is not user or assistant", i, m.Role)
		}
		blocks := anthropicBlocks(&p, i, m.Content)
		open = anthropicCalls(&p, i, m.Role, blocks, open)
	}
	if len(open) > 0 {
		p.add("messages: tool_use ids were found without tool_result blocks after the last message")
	}
	return p
}

func anthropicThinking(p *problems, top map[string]json.RawMessage) {
	raw, ok := top["thinking"]
	if !ok {
		return
	}
	var t struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	}
	var limit int
	if json.Unmarshal(raw, &t) != nil || json.Unmarshal(top["max_tokens"], &limit) != nil {
		p.add("thinking: not of the right form")
		return
	}
	if t.Type == "enabled" && (t.Budget < 1024 || t.Budget >= limit) {
		p.add("thinking.enabled.budget_tokens: must be at least 1024 and less than max_tokens")
	}
	if _, ok := top["temperature"]; ok {
		p.add("temperature: may only be set when thinking is off")
	}
}

func anthropicBlocks(p *problems, i int, content json.RawMessage) []anthropicBlock {
	var text string
	if json.Unmarshal(content, &text) == nil {
		if blank(text) {
			p.add("messages.%d: text content blocks must contain non-whitespace text", i)
		}
		return []anthropicBlock{{Type: "text", Text: text}}
	}
	var blocks []anthropicBlock
	if err := json.Unmarshal(content, &blocks); err != nil || len(blocks) == 0 {
		p.add("messages.%d.content: a text or a list of blocks is required", i)
		return nil
	}
	for j, b := range blocks {
		switch b.Type {
		case "text":
			if blank(b.Text) {
				p.add("messages.%d.content.%d: text content blocks must contain non-whitespace text", i, j)
			}
		case "tool_use":
			if b.ID == "" || b.Name == "" || !isObject(b.Input) {
				p.add("messages.%d.content.%d.tool_use: id, name and an input object are required", i, j)
			}
		case "tool_result":
			var s string
			if json.Unmarshal(b.Content, &s) != nil || blank(s) {
				p.add("messages.%d.content.%d.tool_result: content must not be blank", i, j)
			}
		case "image":
			if b.Source == nil || b.Source.Type != "base64" || b.Source.MediaType == "" || b.Source.Data == "" {
				p.add("messages.%d.content.%d.image: a base64 source is required", i, j)
			}
		case "thinking":
			if b.Thinking == nil || b.Signature == "" {
				p.add("messages.%d.content.%d.thinking: thinking and signature are required", i, j)
			}
		case "redacted_thinking":
		default:
			p.add("messages.%d.content.%d: block type %q is not known", i, j, b.Type)
		}
	}
	if blocks[len(blocks)-1].Type == "thinking" {
		p.add("messages.%d: the final block in an assistant message cannot be thinking", i)
	}
	return blocks
}

// anthropicCalls checks that each call is answered by the very next message
// and that nothing else is answered. It returns the calls now open.
func anthropicCalls(p *problems, i int, role string, blocks []anthropicBlock, open map[string]bool) map[string]bool {
	next := map[string]bool{}
	other := false
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			if role != "assistant" {
				p.add("messages.%d: tool_use blocks can only be in assistant messages", i)
			}
			if next[b.ID] {
				p.add("messages.%d: tool_use ids must be unique", i)
			}
			next[b.ID] = true
		case "tool_result":
			if role != "user" {
				p.add("messages.%d: tool_result blocks can only be in user messages", i)
			}
			if other {
				p.add("messages.%d: tool_result blocks must come first", i)
			}
			if !open[b.ToolUseID] {
				p.add("messages.%d: unexpected tool_use_id found in tool_result blocks: %s", i, b.ToolUseID)
			}
			delete(open, b.ToolUseID)
		default:
			other = true
		}
	}
	for id := range open {
		p.add("messages.%d: tool_use ids were found without tool_result blocks immediately after: %s", i, id)
	}
	return next
}

func (anthropicWire) play(w *writer, r Recorded, t Turn) {
	var asked struct {
		Model string `json:"model"`
	}
	json.Unmarshal(r.Body, &asked) // It was checked.
	u := t.usage()
	begin := object{"id": "msg_fake", "type": "message", "role": "assistant", "model": asked.Model, "content": []any{}}
	if !t.NoUsage {
		begin["usage"] = object{"input_tokens": u.Input, "output_tokens": 1, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheCreation}
	}
	w.event("message_start", object{"type": "message_start", "message": begin})
	w.event("ping", object{"type": "ping"})
	index := 0
	block := func(start object, kind, key string, deltas []string, after ...object) {
		w.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		for _, d := range deltas {
			w.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": object{"type": kind, key: d}})
		}
		for _, a := range after {
			w.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": a})
		}
		if !w.turn.Stall && !w.turn.Cut && !w.turn.Reset {
			w.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		}
		index++
	}
	if len(t.Thinking) > 0 {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", t.Thinking,
			object{"type": "signature_delta", "signature": "c2lnbmVk"})
	}
	if len(t.Text) > 0 {
		block(object{"type": "text", "text": ""}, "text_delta", "text", t.Text)
	}
	for _, c := range t.Calls {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, "input_json_delta", "partial_json", pieces(c.Arguments))
	}
	if w.middle() {
		return
	}
	if t.Error != "" {
		w.event("error", json.RawMessage(anthropicWire{}.refusal(0, t.ErrorType, t.Error)))
		return
	}
	reason := "end_turn"
	if len(t.Calls) > 0 {
		reason = "tool_use"
	}
	end := object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}}
	if !t.NoUsage {
		end["usage"] = object{"output_tokens": u.Output}
	}
	w.event("message_delta", end)
	w.event("message_stop", object{"type": "message_stop"})
}
