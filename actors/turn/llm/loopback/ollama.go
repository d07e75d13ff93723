package loopback

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// OllamaModel is what the daemon tells about its models. ContextLength is in
// tokens, 0 leaves it out; nil Capabilities are left out too.
type OllamaModel struct {
	Name          string
	ContextLength int
	Capabilities  []string
	// ShowStatus other than 0 answers /api/show with that status.
	ShowStatus int
}

// NewOllama starts a daemon with one model, named by each request. Its URL is
// the root; it serves /api/chat, /api/show, /api/tags and, as the compatible
// wire, /v1/chat/completions.
func NewOllama(model OllamaModel, turns ...Turn) *Server {
	s := start(ollamaWire{}, turns)
	s.mu.Lock()
	s.model = model
	s.mu.Unlock()
	return s
}

// WithoutNativeChat answers everything under /api/ with this status, as
// servers do that only speak the compatible wire.
func (s *Server) WithoutNativeChat(status int) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noChat = status
	return s
}

type ollamaWire struct{}

const ollamaCompat = "/v1/chat/completions"

func (ollamaWire) paths() []string     { return []string{"/api/chat", ollamaCompat} }
func (ollamaWire) contentType() string { return "application/x-ndjson" }

func (ollamaWire) refusal(_ int, _, message string) string {
	return string(mustJSON(object{"error": message}))
}

func (ollamaWire) serve(s *Server, w http.ResponseWriter, req *http.Request, r Recorded) bool {
	s.mu.Lock()
	model, noChat := s.model, s.noChat
	s.mu.Unlock()
	if noChat != 0 {
		return false
	}
	switch r.Path {
	case "/api/tags":
		writeJSON(w, object{"models": []any{object{"name": model.Name, "model": model.Name}}})
		return true
	case "/api/show":
		var asked struct{ Model string }
		if req.Method != http.MethodPost || json.Unmarshal(r.Body, &asked) != nil || asked.Model == "" {
			s.fault(w, http.StatusBadRequest, "", "show: a model is required")
			return true
		}
		if model.ShowStatus != 0 {
			s.answer(w, model.ShowStatus, "", "show is not to be had", nil)
			return true
		}
		told := object{"model_info": object{"general.architecture": "fake"}}
		if model.ContextLength > 0 {
			told["model_info"] = object{"general.architecture": "fake", "fake.context_length": model.ContextLength}
		}
		if model.Capabilities != nil {
			told["capabilities"] = model.Capabilities
		}
		writeJSON(w, told)
		return true
	}
	return false
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(mustJSON(v)) // The client may be gone.
}

func (ollamaWire) check(r Recorded) []string {
	if r.Path == ollamaCompat {
		return chatWire{}.check(r)
	}
	var p problems
	p.jsonBody(r)
	if r.Header.Get("Authorization") != "" {
		p.add("Authorization: a local daemon is sent no key")
	}
	top := p.body(r.Body, "model", "messages", "stream", "options", "keep_alive", "tools")
	if top == nil {
		return p
	}
	p.text(top, "model")
	p.streaming(top)
	chatTools(&p, top["tools"])
	var options map[string]json.RawMessage
	if json.Unmarshal(top["options"], &options) != nil {
		p.add("options: an object is required")
	}
	p.positive(options, "num_ctx")
	p.positive(options, "num_predict")
	var messages []struct {
		Role      string   `json:"role"`
		Content   *string  `json:"content"`
		Images    []string `json:"images"`
		ToolName  string   `json:"tool_name"`
		ToolCalls []struct {
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(top["messages"], &messages); err != nil || len(messages) == 0 {
		p.add("messages: at least one message of the right form is required: %v", err)
		return p
	}
	var open []string
	for i, m := range messages {
		if !slices.Contains([]string{"system", "user", "assistant", "tool"}, m.Role) {
			p.add("messages.%d.role: %q is not known", i, m.Role)
		}
		if m.Content == nil || blank(*m.Content) && len(m.ToolCalls) == 0 && len(m.Images) == 0 {
			p.add("messages.%d.content: must not be blank", i)
		}
		for _, image := range m.Images {
			if image == "" || strings.HasPrefix(image, "data:") {
				p.add("messages.%d.images: bare base64 is required", i)
			}
		}
		if m.Role == "tool" {
			if j := slices.Index(open, m.ToolName); m.ToolName == "" || j < 0 {
				p.add("messages.%d.tool_name: %q answers no open call", i, m.ToolName)
			} else {
				open = slices.Delete(open, j, j+1)
			}
			continue
		}
		if len(open) > 0 {
			p.add("messages.%d: tool calls before it are not answered", i)
		}
		open = nil
		for _, c := range m.ToolCalls {
			if c.Function.Name == "" || !isObject(c.Function.Arguments) {
				p.add("messages.%d.tool_calls: a name and an arguments object are required", i)
			}
			open = append(open, c.Function.Name)
		}
	}
	if len(open) > 0 {
		p.add("messages: the last tool calls are not all answered")
	}
	return p
}

func (ollamaWire) play(w *writer, r Recorded, t Turn) {
	if r.Path == ollamaCompat {
		chatWire{}.play(w, r, t)
		return
	}
	line := func(v object) {
		v["model"] = "fake"
		w.raw(append(mustJSON(v), '\n'), 0)
	}
	for _, s := range t.Thinking {
		line(object{"message": object{"role": "assistant", "content": "", "thinking": s}, "done": false})
	}
	for _, s := range t.Text {
		line(object{"message": object{"role": "assistant", "content": s}, "done": false})
	}
	if len(t.Calls) > 0 {
		calls := []any{}
		for _, c := range t.Calls {
			calls = append(calls, object{"function": object{"name": c.Name, "arguments": json.RawMessage(c.Arguments)}})
		}
		line(object{"message": object{"role": "assistant", "content": "", "tool_calls": calls}, "done": false})
	}
	if w.middle() {
		return
	}
	if t.Error != "" {
		line(object{"error": t.Error})
		return
	}
	end := object{"message": object{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}
	if !t.NoUsage {
		u := t.usage()
		end["prompt_eval_count"], end["eval_count"] = u.Input, u.Output
	}
	line(end)
}
