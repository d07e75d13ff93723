package llm

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// Repair returns a history that every provider accepts, and leaves its
// argument alone. why is the text of a result that a call never got, such as
// contract.TextCancelledByUser or contract.TextInterrupted.
//
// After it every assistant tool call is answered, in call order, by one tool
// message right behind it; results without a call, repeated ids inside one
// message and blank text are gone; a blank result reads "(no output)";
// arguments are JSON objects. It is idempotent. Source: runtime.md 2 (F07,
// F14, F15, F16).
func Repair(history []Message, why string) []Message {
	out := make([]Message, 0, len(history)+1)
	for i := 0; i < len(history); i++ {
		m := history[i]
		switch m.Role {
		case RoleAssistant:
			kept, calls, bad := repairAssistant(m)
			if len(kept.Blocks) == 0 {
				continue
			}
			out = append(out, kept)
			if len(calls) == 0 {
				continue
			}
			out = append(out, answers(calls, bad, resultsUntilAssistant(history[i+1:]), why))
		case RoleUser:
			if u := repairUser(m); len(u.Blocks) > 0 {
				out = append(out, u)
			}
		case RoleTool:
			// Its results were taken by the call in front of it; what is left
			// answers nothing.
		}
	}
	return out
}

// repairAssistant returns the message with its sendable blocks, its calls in
// order, and the ids whose arguments were no JSON object.
func repairAssistant(m Message) (kept Message, calls []Block, bad map[string]bool) {
	kept = Message{Role: RoleAssistant, Blocks: make([]Block, 0, len(m.Blocks))}
	said := false
	seen := make(map[string]bool)
	for _, b := range m.Blocks {
		switch b.Type {
		case BlockText:
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			said = true
		case BlockToolUse:
			if b.ID == "" || seen[b.ID] {
				continue
			}
			seen[b.ID] = true
			args, ok := objectArguments(b.Arguments)
			if !ok {
				if bad == nil {
					bad = make(map[string]bool)
				}
				bad[b.ID] = true
			}
			b.Arguments = args
			calls = append(calls, b)
			said = true
		case BlockReasoning:
			if len(b.Details) == 0 || !json.Valid(b.Details) {
				continue
			}
		case BlockImage, BlockToolResult:
			continue
		}
		kept.Blocks = append(kept.Blocks, b)
	}
	if !said {
		// Reasoning alone is no message: providers refuse it.
		kept.Blocks = nil
	}
	return kept, calls, bad
}

func repairUser(m Message) Message {
	u := Message{Role: RoleUser, Blocks: make([]Block, 0, len(m.Blocks))}
	for _, b := range m.Blocks {
		if b.Type == BlockText && strings.TrimSpace(b.Text) != "" || b.Type == BlockImage && b.Data != "" {
			u.Blocks = append(u.Blocks, b)
		}
	}
	return u
}

// resultsUntilAssistant collects what tool messages answered before the model
// spoke again. The first result of an id wins, as it did when it was given.
func resultsUntilAssistant(rest []Message) map[string]Block {
	got := make(map[string]Block)
	for _, m := range rest {
		if m.Role == RoleAssistant {
			break
		}
		if m.Role != RoleTool {
			continue
		}
		for _, b := range m.Blocks {
			if b.Type != BlockToolResult {
				continue
			}
			if _, ok := got[b.ID]; !ok {
				got[b.ID] = b
			}
		}
	}
	return got
}

func answers(calls []Block, bad map[string]bool, got map[string]Block, why string) Message {
	m := Message{Role: RoleTool, Blocks: make([]Block, 0, len(calls))}
	for _, c := range calls {
		r, ok := got[c.ID]
		switch {
		case !ok && bad[c.ID]:
			r = Block{Content: contract.TextInvalidArguments, IsError: true}
		case !ok:
			r = Block{Content: why, IsError: true}
		}
		r.Type, r.ID, r.Name = BlockToolResult, c.ID, c.Name
		if strings.TrimSpace(r.Content) == "" {
			r.Content = contract.TextNoOutput
		}
		m.Blocks = append(m.Blocks, r)
	}
	return m
}

var emptyObject = json.RawMessage("{}")

// objectArguments returns raw if it is a JSON object. Nothing at all, blank
// text and null are calls without arguments: {} and true. Everything else is
// {} and false (F06, F07).
func objectArguments(raw []byte) (json.RawMessage, bool) {
	t := bytes.TrimSpace(raw)
	if len(t) == 0 || string(t) == "null" {
		return emptyObject, true
	}
	if t[0] != '{' || !json.Valid(t) {
		return emptyObject, false
	}
	return json.RawMessage(t), true
}
