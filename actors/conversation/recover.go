package conversation

import (
	"fmt"
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
	if r.SessionBoot == c.boot {
		for _, name := range r.SessionAllow {
			c.session[name] = true
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
	for i := range r.Messages {
		c.settle(i, sameBoot)
	}
	if turn := r.OpenTurn; turn != "" {
		c.live = &live{id: turn, ended: true}
		outcome, status := contract.OutcomeInterrupted, contract.StatusIdle
		if sameBoot {
			outcome, status = contract.OutcomeError, contract.StatusFailed
			c.emit(contract.Error{Message: contract.TextConversationLost})
		}
		c.say(contract.WhatTurnEnded, contract.TurnEnded{TurnID: turn, Outcome: outcome})
		c.live = nil
		r.OpenTurn, r.OpenTurnBoot = "", ""
		r.Status = status
		c.patch(now, map[string]any{"status": status, "needs_you": 0, contract.PatchReload: true})
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
	if c.changes.any() {
		c.do(save{now: true})
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// settle closes one message that was still being written.
func (c *core) settle(i int, sameBoot bool) {
	m := &c.rec.Messages[i]
	changed := false
	if m.IsStreaming {
		m.IsStreaming, changed = false, true
		if m.Outcome == "" {
			m.Outcome = contract.OutcomeInterrupted
			if sameBoot {
				m.Outcome, m.Error = contract.OutcomeError, contract.TextConversationLost
			}
		}
	}
	for k := range m.ToolCalls {
		if t := &m.ToolCalls[k]; t.Status == contract.ToolRunning {
			t.Status, t.FullContent, t.Summary = contract.ToolError, contract.TextInterrupted, contract.TextInterrupted
			changed = true
		}
	}
	if changed {
		c.changes.put(i)
	}
}
