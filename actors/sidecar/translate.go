package sidecar

import (
	"github.com/packetbench/packetbench/contract"
)

// said is what one frame means to its conversation: events to publish in order,
// or one of the questions, or a failed command. At most one group is set.
type said struct {
	events []contract.Event
	// ask is a permission request: the conversation's gate sees it first.
	ask *ask
	// edit is a write that waits for an answer.
	edit *edit
	// failed names the request that failed, with text; it is no event.
	failed string
	text   string
	// usage is set by a turn_summary without address: what the ledger counts.
	usage *contract.TurnSummary
	// ignored says why a frame of a known type means nothing.
	ignored string
}

type ask struct {
	id, name, arguments string
	batchID             *string
	batchSize           *uint64
}

type edit struct {
	id, path, content string
	before            *string
}

// unknownError is the text of an error frame without one.
const unknownError = "unknown sidecar error"

// translate turns one frame into what it means. It is pure; order, turn ids and
// the one terminal event are the conversation's. An unknown type means nothing
// and is for the log.
func translate(f frame) said {
	switch f.Type {
	case "chunk":
		if f.Text == "" {
			return said{ignored: "empty chunk"}
		}
		return one(contract.Chunk(f.Text))
	case "thinking":
		if f.Text == "" {
			return said{ignored: "empty thinking"}
		}
		return one(contract.Thinking{Text: f.Text})
	case "thinking_stop":
		return one(contract.ThinkingStop{})
	case "tool_start":
		e := contract.ToolStart{ID: f.ToolUseID, Name: f.Name}
		if input, ok := text(f.Input); ok {
			e.Input = &input
		}
		return one(e)
	case "tool_result":
		output, _ := text(f.Output)
		input, _ := text(f.Input)
		return one(contract.ToolResult{ID: f.ToolUseID, Name: f.Name, Content: output, IsError: f.IsError, Input: input})
	case "permission_request":
		if f.ToolUseID == "" {
			return said{ignored: "permission request without an id: it could never be answered"}
		}
		arguments, ok := text(f.Input)
		if !ok {
			if arguments, ok = text(f.Arguments); !ok {
				arguments = "{}"
			}
		}
		return said{ask: &ask{id: f.ToolUseID, name: f.Name, arguments: arguments, batchID: f.BatchID, batchSize: f.BatchSize}}
	case "pending_edit":
		content := f.After
		if content == nil {
			content = f.Content
		}
		if f.ToolUseID == "" || content == nil {
			return said{ignored: "pending edit without an id or a text: it could never be answered"}
		}
		return said{edit: &edit{id: f.ToolUseID, path: f.Path, content: *content, before: f.Before}}
	case "edit_baseline":
		return one(contract.EditBaseline{ID: f.ToolUseID, Path: f.Path, Before: f.Before})
	case "plan_block":
		return one(plan(f.Items))
	case "tool_output_extended":
		return one(contract.ToolOutputExtended{ID: f.ToolUseID, ExitCode: f.ExitCode, ModifiedPaths: f.ModifiedPaths, Stdout: f.Stdout, Stderr: f.Stderr})
	case "turn_summary":
		return summary(f)
	case "rate_limited":
		e := contract.RateLimited{Message: f.Message}
		if f.Retry != nil && *f.Retry >= 0 {
			e.RetryAfterSeconds = f.Retry
		}
		return one(e)
	case "mcp_sources":
		return one(sources(f))
	case "done":
		return one(contract.Done{
			InputTokens: uint64(f.InputTokens), OutputTokens: uint64(f.OutputTokens),
			CacheReadInputTokens: uint64(f.CacheRead), CacheCreationInputTokens: uint64(f.CacheCreation),
			Cancelled: f.Cancelled, ResumeToken: f.ResumeToken,
		})
	case "error":
		message := unknownError
		if f.Message != nil && *f.Message != "" {
			message = *f.Message
		}
		if f.Request != "" {
			return said{failed: f.Request, text: message}
		}
		return one(contract.Error{Message: message})
	}
	return said{ignored: "unknown event type"}
}

func one(e contract.Event) said { return said{events: []contract.Event{e}} }

// plan keeps the items with a text; a status it does not know is pending.
func plan(items []wirePlanItem) contract.PlanBlock {
	block := contract.PlanBlock{Items: []contract.PlanItem{}}
	for _, i := range items {
		if i.Content == nil {
			continue
		}
		status := contract.PlanStatus(i.Status)
		if status != contract.PlanInProgress && status != contract.PlanCompleted {
			status = contract.PlanPending
		}
		block.Items = append(block.Items, contract.PlanItem{ID: i.ID, Content: *i.Content, Status: status, ActiveForm: i.ActiveForm})
	}
	return block
}

func summary(f frame) said {
	e := contract.TurnSummary{
		InputTokens: uint64(f.InputTokens), OutputTokens: uint64(f.OutputTokens),
		CacheReadInputTokens: uint64(f.CacheRead), CacheCreationInputTokens: uint64(f.CacheCreation),
		ReasoningTokens: f.Reasoning,
	}
	s := said{}
	if f.Address != "" {
		e.Address = &f.Address
	} else {
		s.usage = &e
	}
	s.events = []contract.Event{e}
	return s
}

// sources drops what has no name or path and fills in the defaults.
func sources(f frame) contract.MCPSources {
	e := contract.MCPSources{Sources: []contract.MCPSource{}, ReadErrors: []contract.MCPReadError{}}
	for _, s := range f.Sources {
		if s.Name == "" {
			continue
		}
		if s.Transport == "" {
			s.Transport = "stdio"
		}
		if s.Scope == "" {
			s.Scope = "project"
		}
		e.Sources = append(e.Sources, s)
	}
	for _, r := range f.ReadErrors {
		if r.Path != "" {
			e.ReadErrors = append(e.ReadErrors, r)
		}
	}
	return e
}
