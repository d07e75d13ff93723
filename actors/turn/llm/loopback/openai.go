package loopback

import (
	"encoding/json"
	"strings"
)

// NewChat starts a Chat Completions server that asks for a key. Its endpoint is
// /v1/chat/completions (and /api/v1/chat/completions), so a base URL is URL +
// "/v1".
func NewChat(turns ...Turn) *Server { return start(chatWire{key: true}, turns) }

// NewKeylessChat is NewChat for endpoints that take no key.
func NewKeylessChat(turns ...Turn) *Server { return start(chatWire{}, turns) }

// NewResponses starts a Responses server. Its endpoint is /v1/responses.
func NewResponses(turns ...Turn) *Server { return start(responsesWire{}, turns) }

type chatWire struct{ key bool }

func (chatWire) paths() []string     { return []string{"/v1/chat/completions", "/api/v1/chat/completions"} }
func (chatWire) contentType() string { return "text/event-stream" }

func (chatWire) refusal(_ int, kind, message string) string {
	return string(mustJSON(object{"error": object{"message": message, "type": kind, "code": nil}}))
}

func (w chatWire) check(r Recorded) []string {
	var p problems
	p.jsonBody(r)
	p.bearer(r, w.key)
	top := p.body(r.Body, "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens",
		"temperature", "prompt_cache_key", "reasoning_split", "tools")
	if top == nil {
		return p
	}
	p.text(top, "model")
	p.streaming(top)
	chatTools(&p, top["tools"])
	var messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string  `json:"name"`
				Arguments *string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(top["messages"], &messages); err != nil || len(messages) == 0 {
		p.add("messages: at least one message of the right form is required: %v", err)
		return p
	}
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			p.add("messages.%d: an assistant message with tool_calls must be followed by tool messages", i)
			open = map[string]bool{}
		}
		switch m.Role {
		case "system":
			if i > 0 {
				p.add("messages.%d: system must come first", i)
			}
			chatContent(&p, i, m.Content)
		case "user":
			if i > 0 && messages[i-1].Role == "user" {
				p.add("messages.%d: roles must alternate", i)
			}
			chatContent(&p, i, m.Content)
		case "assistant":
			if string(m.Content) != "null" {
				chatContent(&p, i, m.Content)
			} else if len(m.ToolCalls) == 0 {
				p.add("messages.%d: content or tool_calls is required", i)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || c.Type != "function" || c.Function.Name == "" || c.Function.Arguments == nil || !isObject(json.RawMessage(*c.Function.Arguments)) {
					p.add("messages.%d.tool_calls: id, type, name and arguments that are a JSON object as text are required", i)
				}
				open[c.ID] = true
			}
		case "tool":
			if !open[m.ToolCallID] {
				p.add("messages.%d: tool_call_id %q answers no open call", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			chatContent(&p, i, m.Content)
		default:
			p.add("messages.%d.role: %q is not known", i, m.Role)
		}
	}
	if len(open) > 0 {
		p.add("messages: the last tool_calls are not all answered")
	}
	return p
}

func chatTools(p *problems, raw json.RawMessage) {
	if raw == nil {
		return
	}
	var tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &tools) != nil || len(tools) == 0 {
		p.add("tools: a non-empty list is required")
	}
	for i, t := range tools {
		if t.Type != "function" || t.Function.Name == "" {
			p.add("tools.%d: type function and a name are required", i)
		}
		p.schema("tools.parameters", t.Function.Parameters)
	}
}

func chatContent(p *problems, i int, raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if blank(text) {
			p.add("messages.%d.content: must not be blank", i)
		}
		return
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		p.add("messages.%d.content: a text or a list of parts is required", i)
	}
	for j, part := range parts {
		switch {
		case part.Type == "text" && !blank(part.Text):
		case part.Type == "image_url" && strings.HasPrefix(part.ImageURL.URL, "data:image/"):
		default:
			p.add("messages.%d.content.%d: not a text with words or an image with a data URL", i, j)
		}
	}
}

func (chatWire) play(w *writer, r Recorded, t Turn) {
	var asked struct {
		Options struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	json.Unmarshal(r.Body, &asked) // It was checked.
	chunk := func(delta object, finish any) {
		w.event("", object{"id": "chatcmpl-fake", "object": "chat.completion.chunk", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	w.raw([]byte(": PROCESSING\n\n"), 0)
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, s := range t.Thinking {
		chunk(object{"reasoning_content": s}, nil)
	}
	for _, s := range t.Text {
		chunk(object{"content": s}, nil)
	}
	for i, c := range t.Calls {
		chunk(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": nil}}}}, nil)
		for _, s := range pieces(c.Arguments) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": s}}}}, nil)
		}
	}
	if w.middle() {
		return
	}
	if t.Error != "" {
		w.event("", json.RawMessage(chatWire{}.refusal(0, t.ErrorType, t.Error)))
		return
	}
	reason := "stop"
	if len(t.Calls) > 0 {
		reason = "tool_calls"
	}
	chunk(object{}, reason)
	if asked.Options.IncludeUsage && !t.NoUsage {
		u := t.usage()
		w.event("", object{"id": "chatcmpl-fake", "choices": []any{}, "usage": object{
			"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
		}})
	}
	w.raw([]byte("data: [DONE]\n\n"), 0)
}

type responsesWire struct{}

func (responsesWire) paths() []string     { return []string{"/v1/responses"} }
func (responsesWire) contentType() string { return "text/event-stream" }

func (responsesWire) refusal(status int, kind, message string) string {
	return chatWire{}.refusal(status, kind, message)
}

func (responsesWire) check(r Recorded) []string {
	var p problems
	p.jsonBody(r)
	p.bearer(r, true)
	top := p.body(r.Body, "model", "input", "stream", "store", "max_output_tokens", "include", "instructions", "tools", "prompt_cache_key")
	if top == nil {
		return p
	}
	p.text(top, "model")
	p.streaming(top)
	p.positive(top, "max_output_tokens")
	if string(top["store"]) != "false" {
		p.add("store: must be false here")
	}
	var tools []struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
		Strict     *bool           `json:"strict"`
	}
	if raw, ok := top["tools"]; ok && (json.Unmarshal(raw, &tools) != nil || len(tools) == 0) {
		p.add("tools: a non-empty list is required")
	}
	for i, t := range tools {
		if t.Type != "function" || t.Name == "" || t.Strict == nil {
			p.add("tools.%d: type, name and strict are required", i)
		}
		p.schema("tools.parameters", t.Parameters)
	}
	var items []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Output    *string         `json:"output"`
	}
	if err := json.Unmarshal(top["input"], &items); err != nil || len(items) == 0 {
		p.add("input: at least one item of the right form is required: %v", err)
		return p
	}
	open := map[string]bool{}
	for i, item := range items {
		switch item.Type {
		case "", "message":
			if item.Role != "user" && item.Role != "assistant" {
				p.add("input.%d.role: %q is not known", i, item.Role)
			}
			var text string
			var parts []struct{ Type string }
			if json.Unmarshal(item.Content, &text) == nil {
				if blank(text) {
					p.add("input.%d.content: must not be blank", i)
				}
			} else if json.Unmarshal(item.Content, &parts) != nil || len(parts) == 0 {
				p.add("input.%d.content: a text or a list of parts is required", i)
			}
		case "reasoning":
		case "function_call":
			if item.CallID == "" || item.Name == "" || !isObject(json.RawMessage(item.Arguments)) {
				p.add("input.%d: call_id, name and arguments that are a JSON object as text are required", i)
			}
			open[item.CallID] = true
		case "function_call_output":
			if !open[item.CallID] {
				p.add("input.%d: No tool call found for function call output with call_id %s.", i, item.CallID)
			}
			if item.Output == nil || blank(*item.Output) {
				p.add("input.%d.output: must not be blank", i)
			}
			delete(open, item.CallID)
		default:
			p.add("input.%d.type: %q is not known", i, item.Type)
		}
	}
	for id := range open {
		p.add("input: No tool output found for function call %s.", id)
	}
	return p
}

func (responsesWire) play(w *writer, _ Recorded, t Turn) {
	n := 0
	send := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, n
		n++
		w.event(kind, fields)
	}
	send("response.created", object{"response": object{"id": "resp_fake", "status": "in_progress", "output": []any{}}})
	send("response.in_progress", object{"response": object{"id": "resp_fake", "status": "in_progress", "output": []any{}}})
	output := []any{}
	if len(t.Thinking) > 0 {
		index := len(output)
		send("response.output_item.added", object{"output_index": index, "item": object{"id": "rs_1", "type": "reasoning", "summary": []any{}}})
		for _, s := range t.Thinking {
			send("response.reasoning_summary_text.delta", object{"item_id": "rs_1", "output_index": index, "summary_index": 0, "delta": s})
		}
		whole := strings.Join(t.Thinking, "")
		send("response.reasoning_summary_text.done", object{"item_id": "rs_1", "output_index": index, "summary_index": 0, "text": whole})
		item := object{"id": "rs_1", "type": "reasoning", "encrypted_content": "ZW5jcnlwdGVk", "summary": []any{object{"type": "summary_text", "text": whole}}}
		send("response.output_item.done", object{"output_index": index, "item": item})
		output = append(output, item)
	}
	if len(t.Text) > 0 {
		index := len(output)
		send("response.output_item.added", object{"output_index": index, "item": object{"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}}})
		for _, s := range t.Text {
			send("response.output_text.delta", object{"item_id": "msg_1", "output_index": index, "content_index": 0, "delta": s, "logprobs": []any{}})
		}
		whole := strings.Join(t.Text, "")
		send("response.output_text.done", object{"item_id": "msg_1", "output_index": index, "content_index": 0, "text": whole})
		item := object{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": whole, "annotations": []any{}}}}
		send("response.output_item.done", object{"output_index": index, "item": item})
		output = append(output, item)
	}
	for _, c := range t.Calls {
		index := len(output)
		item := object{"id": "fc_" + c.ID, "type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": "", "status": "in_progress"}
		send("response.output_item.added", object{"output_index": index, "item": item})
		for _, s := range pieces(c.Arguments) {
			send("response.function_call_arguments.delta", object{"item_id": "fc_" + c.ID, "output_index": index, "delta": s})
		}
		item = object{"id": "fc_" + c.ID, "type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments, "status": "completed"}
		send("response.output_item.done", object{"output_index": index, "item": item})
		output = append(output, item)
	}
	if w.middle() {
		return
	}
	if t.Error != "" {
		send("response.failed", object{"response": object{"id": "resp_fake", "status": "failed", "error": object{"code": t.ErrorType, "message": t.Error}}})
		return
	}
	final := object{"id": "resp_fake", "status": "completed", "output": output}
	if !t.NoUsage {
		u := t.usage()
		final["usage"] = object{"input_tokens": u.Input, "output_tokens": u.Output, "input_tokens_details": object{"cached_tokens": u.CacheRead}}
	}
	send("response.completed", object{"response": final})
}
