package conversation

import (
	"slices"

	"github.com/packetbench/packetbench/contract"
)

// view is the conversation as a window shows it. Nothing in it is changed
// later: strings are shared, slices are copied.
func (c *core) view() contract.Conversation {
	r := c.rec
	v := contract.Conversation{
		Summary: c.summary(), Posture: c.posture(),
		AllowedTools: slices.DeleteFunc(slices.Clone(r.AllowedTools), func(s string) bool { return s == "" }), AllowPatterns: orEmpty(r.AllowPatterns), ThinkingEnabled: r.ThinkingEnabled,
		Messages: make([]contract.Message, 0, len(r.Messages)+len(r.QueuedMessages)),
		Queue:    orEmpty(slices.Clone(r.QueuedMessages)),
		Plan:     orEmpty(slices.Clone(r.Plan)), PlanApproved: r.PlanApproved,
		PlanReady: planReady(r, c.busy()), Context: r.Context,
		PendingPermissions: []contract.PendingPermission{}, PendingEdits: []contract.PendingEditPrompt{},
		Profile: r.Profile, MemoryContextEnabled: r.MemoryContext, DiffComments: c.comments(), Git: c.git, MCP: c.mcp,
	}
	for i := range r.Messages {
		v.Messages = append(v.Messages, viewMessage(&r.Messages[i]))
	}
	for _, q := range r.QueuedMessages {
		v.Messages = append(v.Messages, contract.Message{ID: q.MessageID, Role: contract.RoleUser, Content: q.Content, Queued: true, Timestamp: r.UpdatedAt})
	}
	for _, p := range c.perms {
		v.PendingPermissions = append(v.PendingPermissions, p.PendingPermission)
	}
	for _, e := range c.edits {
		v.PendingEdits = append(v.PendingEdits, e.PendingEditPrompt)
	}
	if c.live != nil && !c.live.ended {
		v.TurnID, v.Stopping, v.RateLimited = c.live.id, c.live.cancelled, c.live.rateLimited
	}
	if row, err := rowOf(r.Provider); err == nil {
		v.Capabilities = c.narrow(r.Provider, contract.CapabilitiesOf(row, c.models(row.ID), false, c.window(r.Provider, r.Model)))
	}
	if c.acp() {
		v.EngineMode = c.mode
	}
	return v
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func viewMessage(m *contract.RecordMessage) contract.Message {
	v := contract.Message{
		ID: m.ID, Role: m.Role, Content: m.Content, Timestamp: m.Timestamp, TurnID: m.TurnID, Outcome: m.Outcome,
		IsStreaming: m.IsStreaming, Level: m.Level, Thinking: m.Thinking, Attachments: m.Attachments,
		InputTokens: m.InputTokens, OutputTokens: m.OutputTokens,
		CacheReadTokens: m.CacheReadTokens, CacheWriteTokens: m.CacheWriteTokens, ReasoningTokens: m.ReasoningTokens,
		Error: m.Error,
	}
	for _, p := range m.Parts {
		v.Parts = append(v.Parts, p.Part)
	}
	for _, t := range m.ToolCalls {
		v.ToolCalls = append(v.ToolCalls, contract.ToolCall{
			ID: t.ID, Name: t.Name, Status: t.Status, File: t.File, Summary: t.Summary, Content: t.FullContent,
			Input: t.Input, ExitCode: t.ExitCode, ModifiedPaths: t.ModifiedPaths, Stdout: t.Stdout, Stderr: t.Stderr,
			LinesAdded: t.LinesAdded, LinesRemoved: t.LinesRemoved, DeniedBy: t.DeniedBy,
		})
	}
	if m.Error != "" { // What a window appends when it hears the error.
		text := "Error: " + m.Error
		if v.Content != "" {
			text = "\n\n" + text
		}
		v.Content += text
		v.Parts = append(v.Parts, contract.Part{Type: contract.PartText, Length: contract.UTF16Len(text)})
	}
	return v
}
