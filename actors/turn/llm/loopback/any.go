package loopback

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// NewAny starts a provider for a client whose wire is not known: Chat
// Completions, Responses and Messages under one address, with or without /v1 at
// its end. It takes every key and lists the models it is given, and judges
// nothing. A client that does not stream gets its answer whole. Its turns come
// from Choose.
func NewAny(models ...string) *Server {
	s := start(anyWire{models}, nil)
	return s.Foreign().TolerateProblems()
}

type anyWire struct{ models []string }

// by is the wire of a path.
func by(path string) wire {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropicWire{}
	case strings.HasSuffix(path, "/responses"):
		return responsesWire{}
	}
	return chatWire{}
}

func (anyWire) paths() []string {
	return []string{
		"/v1/chat/completions", "/chat/completions", "/v1/responses", "/responses", "/v1/messages", "/messages", "/v1/v1/messages",
	}
}

func (anyWire) contentType() string     { return "text/event-stream" }
func (anyWire) check(Recorded) []string { return nil }

// refusal is an error in the form of all three.
func (anyWire) refusal(_ int, kind, message string) string {
	return string(mustJSON(object{"type": "error", "error": object{"type": kind, "message": message, "code": nil}}))
}

func (anyWire) play(w *writer, r Recorded, t Turn) { by(r.Path).play(w, r, t) }

// serve answers what comes before a request for words: which models there are,
// how many tokens a text has.
func (a anyWire) serve(s *Server, w http.ResponseWriter, req *http.Request, r Recorded) bool {
	switch {
	case strings.HasSuffix(r.Path, "/count_tokens"):
		writeJSON(w, object{"input_tokens": 1})
		return true
	case req.Method != http.MethodPost && strings.Contains(r.Path, "/models"):
		list := []any{}
		for _, m := range a.models {
			list = append(list, object{"id": m, "object": "model", "type": "model", "display_name": m, "owned_by": "packetbench", "created": 0})
		}
		writeJSON(w, object{"object": "list", "data": list, "has_more": false})
		return true
	case slices.Contains(a.paths(), r.Path) && !streams(r.Body):
		t, _ := s.next(r)
		a.whole(s, w, r, t)
		return true
	}
	return false
}

func streams(body []byte) bool {
	var asked struct {
		Stream bool `json:"stream"`
	}
	return json.Unmarshal(body, &asked) == nil && asked.Stream
}

// whole is a turn as one answer: its text, or its refusal. A client that offers
// tools streams.
func (a anyWire) whole(s *Server, w http.ResponseWriter, r Recorded, t Turn) {
	if t.Status != 0 && t.Status != http.StatusOK {
		s.answer(w, t.Status, t.ErrorType, t.Error, t.Header)
		return
	}
	text, u := strings.Join(t.Text, ""), t.usage()
	switch by(r.Path).(type) {
	case anthropicWire:
		writeJSON(w, object{
			"id": "msg_fake", "type": "message", "role": "assistant", "model": a.models[0], "stop_reason": "end_turn",
			"content": []any{object{"type": "text", "text": text}}, "usage": object{"input_tokens": u.Input, "output_tokens": u.Output},
		})
	case responsesWire:
		writeJSON(w, object{
			"id": "resp_fake", "object": "response", "status": "completed", "model": a.models[0],
			"output": []any{object{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": text, "annotations": []any{}}}}},
			"usage":  object{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output},
		})
	default:
		writeJSON(w, object{
			"id": "chatcmpl-fake", "object": "chat.completion", "model": a.models[0],
			"choices": []any{object{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": text}}},
			"usage":   object{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output},
		})
	}
}
