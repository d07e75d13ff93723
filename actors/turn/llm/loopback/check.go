package loopback

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// problems gathers what is wrong with a request.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// body decodes a request's top level and refuses unknown keys.
func (p *problems) body(raw []byte, known ...string) map[string]json.RawMessage {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		p.add("the body is not a JSON object: %v", err)
		return nil
	}
	for key := range top {
		if !slices.Contains(known, key) {
			p.add("%s: Extra inputs are not permitted", key)
		}
	}
	return top
}

func (p *problems) text(top map[string]json.RawMessage, key string) string {
	var s string
	if err := json.Unmarshal(top[key], &s); err != nil || s == "" {
		p.add("%s: a text is required", key)
	}
	return s
}

func (p *problems) streaming(top map[string]json.RawMessage) {
	if string(top["stream"]) != "true" {
		p.add("stream: must be true here")
	}
}

func (p *problems) positive(top map[string]json.RawMessage, key string) {
	var n int
	if json.Unmarshal(top[key], &n) != nil || n <= 0 {
		p.add("%s: a positive number is required", key)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func isObject(raw json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(raw, &o) == nil && o != nil
}

// schema checks a tool's parameters.
func (p *problems) schema(where string, raw json.RawMessage) {
	var s struct{ Type string }
	if json.Unmarshal(raw, &s) != nil || s.Type != "object" {
		p.add("%s: a JSON schema of type object is required", where)
	}
}

// bearer checks the Authorization header. needed false allows none.
func (p *problems) bearer(r Recorded, needed bool) {
	a := r.Header.Get("Authorization")
	if a == "" && !needed {
		return
	}
	if !strings.HasPrefix(a, "Bearer ") || blank(strings.TrimPrefix(a, "Bearer ")) {
		p.add("Authorization: a bearer token is required")
	}
}

func (p *problems) jsonBody(r Recorded) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		p.add("Content-Type: application/json is required")
	}
}
