package conversation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// adopt takes a record from its file and closes what a death left open:
// prompts, calls, the turn, the queue. A turn of this same boot was lost with
// the actor and ends as an error that windows hear; one of an earlier boot was
// interrupted by the end of the service.
func (c *core) adopt(now time.Time, r *contract.Record) {
	c.rec = r
	c.said.queued, c.said.needsYou = len(r.QueuedMessages), len(r.Prompts)+len(r.Edits)
	c.countOn()
	if r.SessionBoot == c.boot {
		for _, name := range r.SessionAllow {
			c.allowed[name] = true
		}
	}
	sameBoot := r.OpenTurnBoot == c.boot
	by := contract.ByRestart
	for _, id := range r.Prompts {
		c.remember(id, by)
		c.say(contract.WhatPromptResolved, contract.PromptResolved{ID: id, Decision: contract.Deny, By: by})
	}
	for _, id := range r.Edits {
		c.remember(id, by)
		c.say(contract.WhatEditResolved, contract.EditResolved{ID: id, Decision: contract.RejectEdit, By: by})
	}
	if len(r.Prompts)+len(r.Edits) > 0 {
		r.Prompts, r.Edits = nil, nil
		c.changes.head = true
	}
	turn := r.OpenTurn
	if turn != "" {
		c.live = &live{id: turn, ended: true}
	}
	for i := range r.Messages {
		c.settle(i, sameBoot)
	}
	if turn != "" {
		outcome, status := contract.OutcomeInterrupted, contract.StatusIdle
		if sameBoot {
			outcome, status = contract.OutcomeError, contract.StatusFailed
			c.emit(contract.Error{Message: contract.TextConversationLost})
		}
		c.say(contract.WhatTurnEnded, contract.TurnEnded{TurnID: turn, Outcome: outcome})
		c.live = nil
		r.OpenTurn, r.OpenTurnBoot = "", ""
		r.Status = status
		c.said.needsYou = 0
		c.patch(now, map[string]any{"status": status, "needs_you": 0, contract.PatchReload: true})
		if sameBoot {
			c.happened(now, contract.LevelWarning, "This conversation's own part of PacketBench failed in the middle of the turn and was started again. What had not been saved yet, at most the last moments of the answer, is lost; everything above is kept, and your next message continues from here.")
		}
	} else if r.Status == contract.StatusActive {
		c.setStatus(now, contract.StatusIdle)
	}
	if n := len(r.QueuedMessages); n > 0 {
		var lost strings.Builder
		for _, q := range r.QueuedMessages {
			fmt.Fprintf(&lost, "\n- %s", clipRunes(strings.Join(strings.Fields(q.Content), " "), 200))
		}
		r.QueuedMessages = nil
		c.queueChanged(now)
		c.notice(now, contract.LevelWarning, fmt.Sprintf("The service stopped before %s could be sent. Send again what you still want:%s", plural(n, "queued message"), lost.String()))
	}
	if notice, retired := contract.Retired(r.Agent); retired && !r.RetiredNoticed {
		r.RetiredNoticed = true
		c.notice(now, contract.LevelWarning, notice)
	}
	c.counters(now)
	c.said.planReady = planReady(r, false) // Windows read it with the snapshot.
	if c.changes.any() {
		c.do(save{now: true})
	}
}

// countOn keeps the counters ahead of every id in the file, whoever wrote it.
func (c *core) countOn() {
	r := c.rec
	number := func(prefix, id string) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(id, prefix), 10, 64)
		if err != nil || !strings.HasPrefix(id, prefix) || n > 1<<52 {
			return 0
		}
		return n
	}
	for i := range r.Messages {
		r.MessageCounter = max(r.MessageCounter, number("m-", r.Messages[i].ID))
		r.TurnCounter = max(r.TurnCounter, number("t-", string(r.Messages[i].TurnID)))
	}
	for _, q := range r.QueuedMessages {
		r.MessageCounter = max(r.MessageCounter, number("m-", q.MessageID))
	}
	r.TurnCounter = max(r.TurnCounter, number("t-", string(r.OpenTurn)))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// settle closes one message that was still being written. Windows that saw a
// turn of this same boot hear of its open calls (contract.md O5).
func (c *core) settle(i int, sameBoot bool) {
	m := &c.rec.Messages[i]
	changed := false
	if m.IsStreaming {
		m.IsStreaming, changed = false, true
		if n := len(m.Parts); sameBoot && n > 0 && m.Parts[n-1].Type == contract.PartThinking {
			c.emit(contract.ThinkingStop{})
		}
		if m.Outcome == "" {
			m.Outcome = contract.OutcomeInterrupted
			if sameBoot {
				m.Outcome, m.Error = contract.OutcomeError, contract.TextConversationLost
			}
		}
	}
	for k := range m.ToolCalls {
		if t := &m.ToolCalls[k]; t.Status == contract.ToolRunning {
			text := contract.TextInterrupted
			if sameBoot {
				text = contract.TextConversationLost
			}
			t.Status, t.FullContent, t.Summary = contract.ToolError, text, firstChars(text, 200)
			changed = true
			if sameBoot && m.TurnID == c.rec.OpenTurn {
				c.emit(contract.ToolResult{ID: t.ID, Name: t.Name, Content: text, IsError: true, Input: t.Input})
			}
		}
	}
	if changed {
		c.changes.put(i)
	}
}
