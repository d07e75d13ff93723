package turn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/contract"
)

// History derives what a provider is sent from a transcript. There is no other
// copy of it: an assistant message holds, in its parts, every model request of
// its turn with the text, the calls and the provider's own reasoning of each.
//
// System lines are for people and are left out, as is the thinking text, which
// a provider gets back only inside its own reasoning envelope. A call without
// a result stays without one; llm.Repair answers it before each request.
func History(messages []contract.RecordMessage) []llm.Message {
	history := make([]llm.Message, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case contract.RoleUser:
			text := m.Content
			if strings.TrimSpace(text) == "" && len(m.Attachments) > 0 {
				// The picture goes with the request of its own turn only, and
				// needs a message that it goes with.
				text = imagesOnly(len(m.Attachments))
			}
			if text != "" {
				history = append(history, llm.Text(llm.RoleUser, text))
			}
		case contract.RoleAssistant:
			history = appendAssistant(history, m)
		case contract.RoleSystem:
		}
	}
	return history
}

// request collects one model request of a turn.
type request struct {
	details json.RawMessage
	text    strings.Builder
	calls   []*contract.RecordCall
}

func imagesOnly(n int) string {
	if n == 1 {
		return "(1 image attached)"
	}
	return "(" + strconv.Itoa(n) + " images attached)"
}

func appendAssistant(history []llm.Message, m *contract.RecordMessage) []llm.Message {
	parts := m.Parts
	if len(parts) == 0 { // Written by a version without parts: text, then calls.
		if m.Content != "" {
			parts = append(parts, textPart(m.Content))
		}
		for i := range m.ToolCalls {
			parts = append(parts, contract.RecordPart{Part: contract.Part{Type: contract.PartTool, ID: m.ToolCalls[i].ID}})
		}
	}
	// A transport that does not mark its requests asked again whenever text
	// follows a call. With marks, all the text of a request is one block in
	// front of its calls, as the turn itself remembered it: the same history
	// must give the same bytes, or the provider's cache misses.
	marked := slices.ContainsFunc(parts, func(p contract.RecordPart) bool { return p.Type == contract.PartRequest })
	var open request
	content := m.Content
	for _, p := range parts {
		switch p.Type {
		case contract.PartRequest:
			history = open.close(history)
			open = request{details: p.Details}
		case contract.PartText:
			var text string
			text, content = contract.CutUTF16(content, p.Length)
			if !marked && len(open.calls) > 0 {
				history = open.close(history)
				open = request{}
			}
			open.text.WriteString(text)
		case contract.PartThinking:
		case contract.PartTool:
			if c := findCall(m.ToolCalls, p.ID); c != nil {
				open.calls = append(open.calls, c)
			}
		}
	}
	open.text.WriteString(content) // What the parts of a damaged file left out.
	return open.close(history)
}

func textPart(s string) contract.RecordPart {
	return contract.RecordPart{Part: contract.Part{Type: contract.PartText, Length: contract.UTF16Len(s)}}
}

// close appends the request's assistant message and, when it called tools, the
// one tool message with the results in call order.
func (r *request) close(history []llm.Message) []llm.Message {
	assistant := llm.Message{Role: llm.RoleAssistant}
	if len(r.details) > 0 {
		assistant.Blocks = append(assistant.Blocks, llm.Block{Type: llm.BlockReasoning, Details: r.details})
	}
	if r.text.Len() > 0 {
		assistant.Blocks = append(assistant.Blocks, llm.Block{Type: llm.BlockText, Text: r.text.String()})
	}
	if len(assistant.Blocks) == 0 && len(r.calls) == 0 {
		return history
	}
	results := llm.Message{Role: llm.RoleTool}
	for _, c := range r.calls {
		assistant.Blocks = append(assistant.Blocks, llm.Block{
			Type: llm.BlockToolUse, ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Input),
		})
		if c.Status != contract.ToolRunning {
			results.Blocks = append(results.Blocks, llm.Block{
				Type: llm.BlockToolResult, ID: c.ID, Name: c.Name,
				Content: c.FullContent, IsError: c.Status == contract.ToolError,
			})
		}
	}
	history = append(history, assistant)
	if len(results.Blocks) > 0 {
		history = append(history, results)
	}
	return history
}

func findCall(calls []contract.RecordCall, id string) *contract.RecordCall {
	for i := range calls {
		if calls[i].ID == id {
			return &calls[i]
		}
	}
	return nil
}
