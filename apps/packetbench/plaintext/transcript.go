package plaintext

import (
	"fmt"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// Transcript is a conversation as Markdown: what was said in the order it was
// said, with each tool call in a block of its own. Text of people and models
// is Markdown already and stays as it is. Ends with a line end.
func Transcript(c contract.Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", Line(c.Title, lineMost))
	fmt.Fprintf(&b, "- Conversation: `%s`\n- Provider: %s, model %s\n- Project: `%s`\n- Created: %s\n- Status: %s\n",
		c.SessionID, c.Provider, Line(c.Model, lineMost), Line(c.ProjectPath, 1000), c.CreatedAt.UTC().Format(time.RFC3339), c.Status)
	for _, m := range c.Messages {
		if !strings.HasSuffix(b.String(), "\n\n") {
			b.WriteString("\n")
		}
		switch m.Role {
		case contract.RoleUser:
			user(&b, m)
		case contract.RoleAssistant:
			assistant(&b, m)
		case contract.RoleSystem:
			fmt.Fprintf(&b, "> %s\n", Line(m.Content, 2000))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func heading(b *strings.Builder, who string, m contract.Message) {
	fmt.Fprintf(b, "## %s, %s\n\n", who, time.UnixMilli(m.Timestamp).UTC().Format(time.RFC3339))
}

func user(b *strings.Builder, m contract.Message) {
	who := "You"
	if m.Queued {
		who = "You (queued)"
	}
	heading(b, who, m)
	paragraph(b, m.Content)
	for _, a := range m.Attachments {
		fmt.Fprintf(b, "[image %s, %s, %d bytes]\n", Line(a.Name, lineMost), Line(a.MediaType, lineMost), a.Size)
	}
}

func assistant(b *strings.Builder, m contract.Message) {
	who := "Answer"
	switch {
	case m.IsStreaming:
		who = "Answer (still running)"
	case m.Outcome != "" && m.Outcome != contract.OutcomeDone:
		who = "Answer (" + string(m.Outcome) + ")"
	}
	heading(b, who, m)
	calls := map[string]contract.ToolCall{}
	for _, c := range m.ToolCalls {
		calls[c.ID] = c
	}
	content, thinking := m.Content, m.Thinking
	for _, p := range m.Parts {
		switch p.Type {
		case contract.PartText:
			var said string
			said, content = contract.CutUTF16(content, p.Length)
			paragraph(b, said)
		case contract.PartThinking:
			var thought string
			thought, thinking = contract.CutUTF16(thinking, p.Length)
			for line := range strings.Lines(strings.TrimSpace(thought)) {
				fmt.Fprintf(b, "> %s\n", strings.TrimRight(Safe(line), "\n"))
			}
			b.WriteString("\n")
		case contract.PartTool:
			if c, ok := calls[p.ID]; ok {
				tool(b, c)
			}
		case contract.PartRequest:
		}
	}
	paragraph(b, content) // What no part claims, an error for one.
	if n := m.InputTokens + m.OutputTokens; n > 0 {
		fmt.Fprintf(b, "_%d tokens in, %d out._\n", m.InputTokens, m.OutputTokens)
	}
}

func paragraph(b *strings.Builder, s string) {
	if s = strings.TrimSpace(Safe(s)); s != "" {
		b.WriteString(s)
		b.WriteString("\n\n")
	}
}

func tool(b *strings.Builder, c contract.ToolCall) {
	fmt.Fprintf(b, "**%s** (%s)\n\n", Line(c.Name, lineMost), c.Status)
	block(b, "json", c.Input)
	block(b, "", c.Content)
}

// block is a fenced block whose fence is longer than any in the text.
func block(b *strings.Builder, language, s string) {
	s = strings.TrimRight(Safe(s), "\n")
	if s == "" {
		return
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s\n%s\n\n", fence, language, s, fence)
}
