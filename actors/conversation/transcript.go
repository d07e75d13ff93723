package conversation

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// message is the running turn's assistant message.
func (c *core) message() *contract.RecordMessage { return &c.rec.Messages[c.live.message] }

// emitted takes a batch of a transport's events. Events of another turn than
// the running one, and everything after the terminal one, are dropped
// (contract.md O14).
func (c *core) emitted(now time.Time, turn contract.TurnID, events []contract.Event) {
	for _, e := range events {
		if c.live == nil || c.live.id != turn || c.live.ended {
			return
		}
		c.apply(now, e)
	}
}

// apply reduces one event into the transcript and publishes it.
func (c *core) apply(now time.Time, e contract.Event) {
	l := c.live
	switch e := e.(type) {
	case contract.Chunk:
		if e == "" {
			return
		}
		if !utf8.ValidString(string(e)) {
			// Lengths and the journal count whole characters.
			e = contract.Chunk(strings.ToValidUTF8(string(e), "\uFFFD"))
		}
		c.stopThinking()
		l.rateLimited = nil
		l.content.WriteString(string(e))
		c.grow(contract.PartText, string(e))
		c.emit(e)
	case contract.Thinking:
		if e.Text == "" {
			return
		}
		if !utf8.ValidString(e.Text) {
			e.Text = strings.ToValidUTF8(e.Text, "\uFFFD")
		}
		l.rateLimited = nil
		l.thinking = true
		l.thought.WriteString(e.Text)
		c.grow(contract.PartThinking, e.Text)
		c.emit(e)
	case contract.ThinkingStop:
		c.stopThinking()
	case contract.ToolStart:
		c.stopThinking()
		l.rateLimited = nil
		c.openCall(e)
		c.emit(e)
	case contract.ToolResult:
		c.stopThinking()
		c.overtaken(now, e.ID, e.Content)
		c.settleCall(e)
		if c.hosted() {
			c.hostFacts(e)
		}
		c.noteWritten(e.ID)
		c.emit(e)
		c.do(save{now: true})
	case contract.EditBaseline:
		c.emit(e)
		c.do(toStore{msg.SaveBaseline{ID: c.id, ToolID: e.ID, Path: relative(e.Path, c.rec.ProjectPath), Before: e.Before}})
	case contract.PlanBlock:
		c.rec.Plan = e.Items
		c.changes.head = true
		c.emit(e)
		c.do(save{})
	case contract.ToolOutputExtended:
		if call := c.call(e.ID); call != nil {
			call.ExitCode, call.Stdout, call.Stderr = e.ExitCode, e.Stdout, e.Stderr
			call.ModifiedPaths = e.ModifiedPaths
			c.changes.put(l.message)
		}
		c.emit(e)
	case contract.TurnSummary:
		if e.Address == nil {
			m := c.message()
			m.InputTokens, m.OutputTokens = e.InputTokens, e.OutputTokens
			m.CacheReadTokens, m.CacheWriteTokens = e.CacheReadInputTokens, e.CacheCreationInputTokens
			if e.ReasoningTokens != nil {
				m.ReasoningTokens = *e.ReasoningTokens
			}
			c.changes.put(l.message)
			c.summed(now, e)
		}
		c.emit(e)
	case contract.RateLimited:
		l.rateLimited = &e
		c.emit(e)
	case contract.MCPSources:
		c.emit(e)
	case contract.Done, contract.Error:
		c.finish(now, e)
	case contract.PermissionRequest, contract.PendingEdit:
		// Prompts come as msg.Ask and msg.AskEdit, so that the gate sees them
		// before any window does.
	}
}

// grow adds text to the message: to its last part when that is of the same
// kind, else as a new part.
func (c *core) grow(kind contract.PartType, text string) {
	m := c.message()
	m.Content, m.Thinking = c.live.content.String(), c.live.thought.String()
	n := contract.UTF16Len(text)
	if last := len(m.Parts) - 1; last >= 0 && m.Parts[last].Type == kind {
		m.Parts[last].Length += n
	} else {
		m.Parts = append(m.Parts, contract.RecordPart{Part: contract.Part{Type: kind, Length: n}})
	}
	c.changes.grow(c.live.message, len(m.Parts)-1)
	c.do(save{})
}

// stopThinking closes an open thinking run, once (contract.md O4).
func (c *core) stopThinking() {
	if c.live.thinking {
		c.live.thinking = false
		c.emit(contract.ThinkingStop{})
	}
}

// requestOpened marks where the model is asked again.
func (c *core) requestOpened(turn contract.TurnID) {
	if c.live == nil || c.live.id != turn || c.live.ended {
		return
	}
	m := c.message()
	m.Parts = append(m.Parts, contract.RecordPart{Part: contract.Part{Type: contract.PartRequest}})
	c.changes.grow(c.live.message, len(m.Parts)-1)
}

// reasoned keeps the provider's reasoning with the request that just ended.
func (c *core) reasoned(turn contract.TurnID, details json.RawMessage) {
	if c.live == nil || c.live.id != turn || c.live.ended {
		return
	}
	m := c.message()
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if m.Parts[i].Type == contract.PartRequest {
			m.Parts[i].Details = details
			c.changes.grow(c.live.message, i)
			return
		}
	}
}

func (c *core) openCall(e contract.ToolStart) {
	m := c.message()
	if c.call(e.ID) != nil {
		return // Announced twice.
	}
	call := contract.RecordCall{ID: e.ID, Name: e.Name, Status: contract.ToolRunning}
	if e.Input != nil {
		call.Input = *e.Input
	}
	m.ToolCalls = append(m.ToolCalls, call)
	m.Parts = append(m.Parts, contract.RecordPart{Part: contract.Part{Type: contract.PartTool, ID: e.ID}})
	c.live.open = append(c.live.open, e.ID)
	c.changes.put(c.live.message)
	c.do(save{})
}

// call finds a call of the running turn.
func (c *core) call(id string) *contract.RecordCall {
	m := c.message()
	for i := range m.ToolCalls {
		if m.ToolCalls[i].ID == id {
			return &m.ToolCalls[i]
		}
	}
	return nil
}

// settleCall applies a result. One that was never announced is added; an empty
// name or input does not replace a known one (contract.md O11).
func (c *core) settleCall(e contract.ToolResult) {
	call := c.call(e.ID)
	if call == nil {
		c.openCall(contract.ToolStart{ID: e.ID, Name: e.Name})
		call = c.call(e.ID)
	}
	if e.Name != "" {
		call.Name = e.Name
	}
	if e.Input != "" {
		call.Input = e.Input
	}
	call.Status = contract.ToolDone
	if e.IsError {
		call.Status = contract.ToolError
	}
	call.FullContent = e.Content
	call.Summary = firstChars(e.Content, 200)
	c.live.open = slices.DeleteFunc(c.live.open, func(id string) bool { return id == e.ID })
	c.changes.put(c.live.message)
}

// toolFacts keeps what a tool-result has no room for.
func (c *core) toolFacts(f msg.ToolFacts) {
	if c.live == nil || c.live.id != f.Turn || c.live.ended {
		return
	}
	if call := c.call(f.ID); call != nil {
		if f.File != "" {
			call.File = f.File
		}
		if f.ExitCode != nil {
			call.ExitCode = f.ExitCode
		}
		if f.ModifiedPaths != nil {
			call.ModifiedPaths = f.ModifiedPaths
		}
		if f.LinesAdded != nil {
			call.LinesAdded, call.LinesRemoved = f.LinesAdded, f.LinesRemoved
		}
		c.changes.put(c.live.message)
	}
	if f.Tainting {
		c.live.tainted = append(c.live.tainted, f.Source)
		m := c.message()
		m.Evidence = append(m.Evidence, f.Source)
		c.changes.put(c.live.message)
	}
}

// finish ends the running turn for good: open thinking, open prompts, open
// calls, then the one terminal event, then what follows from it.
func (c *core) finish(now time.Time, e contract.Event) {
	l := c.live
	done, isDone := e.(contract.Done)
	text := contract.TextCancelledByUser
	outcome := contract.OutcomeDone
	switch failure := e.(type) {
	case contract.Done:
		if failure.Cancelled {
			outcome = contract.OutcomeCancelled
		} else {
			text = "The turn ended before this tool had answered."
		}
	case contract.Error:
		outcome = contract.OutcomeError
		text = failure.Message
	}
	c.drainPrompts(now, contract.ByCancel, contract.TextCancelledByUser)
	c.stopThinking()
	for _, id := range slices.Clone(l.open) {
		call := c.call(id)
		result := contract.ToolResult{ID: id, Name: call.Name, Content: text, IsError: true, Input: call.Input}
		c.settleCall(result)
		c.emit(result)
	}
	m := c.message()
	m.IsStreaming = false
	m.Outcome = outcome
	if isDone {
		m.InputTokens, m.OutputTokens = done.InputTokens, done.OutputTokens
		m.CacheReadTokens, m.CacheWriteTokens = done.CacheReadInputTokens, done.CacheCreationInputTokens
		if done.ResumeToken != nil {
			c.rec.ResumeToken = *done.ResumeToken
		}
	} else {
		m.Error = text
	}
	c.changes.put(l.message)
	c.emit(e)
	c.say(contract.WhatTurnEnded, contract.TurnEnded{TurnID: l.id, Outcome: outcome})
	l.ended = true
	l.rateLimited = nil
	c.rec.OpenTurn, c.rec.OpenTurnBoot = "", ""
	c.changes.head = true
	if outcome == contract.OutcomeError {
		if c.planFailover(text); c.retryWith == "" {
			c.setStatus(now, contract.StatusFailed)
		}
	} else {
		c.setStatus(now, contract.StatusIdle)
	}
	if outcome == contract.OutcomeDone {
		c.well(now)
	}
	c.do(save{now: true})
}

func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	if !utf8.ValidString(s) {
		return string([]rune(s))
	}
	return s
}
