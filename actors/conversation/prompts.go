package conversation

import (
	"slices"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Audit decisions. Source: tools-permissions.md 9.
const (
	auditAuto      = "auto_allowed"
	auditPrompted  = "prompted"
	auditOnce      = "user_allowed_once"
	auditSession   = "user_allowed_session"
	auditDenied    = "user_denied"
	auditCancelled = "cancelled"
)

// ask takes a call through the gate: it is answered at once, or parked and
// shown in every window.
func (c *core) ask(now time.Time, a msg.Ask) {
	if c.live == nil || c.live.id != a.Turn || c.live.ended {
		return
	}
	p := call{id: a.ID, of: a.ID, name: a.Name, rule: a.Name, session: a.Name, arguments: a.Arguments, batchID: a.BatchID, batchSize: a.BatchSize, lasting: a.Lasting}
	if c.acp() {
		c.asksAgain(a.ID)
		p = engineCall(a, c.rec.ProjectPath)
	} else {
		p.tier, p.inProject = Tier(a.Name, a.Arguments, c.rec.ProjectPath)
	}
	if t := c.call(p.of); t != nil && t.Input == "" {
		// What was asked for is readable even when no answer ever comes.
		t.Input = a.Arguments
		c.changes.put(c.live.message)
	}
	tainted := len(c.live.tainted) > 0
	verdict := judge(c.posture(), p, c.rec.AllowPatterns, tainted, c.allowed)
	if a.Lasting {
		verdict = prompt // What lasts is for a person to give.
	}
	switch verdict {
	case allow:
		c.audit(now, p, auditAuto)
		c.do(toTurn{msg.PermissionAnswer{ID: a.ID, Allowed: true, Decision: contract.AllowOnce, By: contract.ByPolicy}})
	case prompt:
		c.park(now, p, a.Turn, tainted)
	}
}

func (c *core) park(now time.Time, p call, turn contract.TurnID, tainted bool) {
	open := contract.PromptOpened{ID: p.id, Tier: p.tier, Destructive: Destructive(p.rule, p.arguments)}
	if rule, ok := Pattern(p.rule, p.arguments); ok {
		open.AllowPattern = &rule
	}
	if tainted && p.tier != contract.TierRead {
		open.Sources = slices.Clone(c.live.tainted)
	}
	c.parks++
	c.perms = append(c.perms, &parked{
		PendingPermission: contract.PendingPermission{
			ID: p.id, Name: p.name, Arguments: p.arguments, Tier: p.tier, Destructive: open.Destructive,
			AllowPattern: open.AllowPattern, Sources: open.Sources, BatchID: p.batchID, BatchSize: p.batchSize,
			OpenedAt: now.UnixMilli(),
		},
		turn: turn, call: p, lasting: p.lasting, n: c.parks,
	})
	c.audit(now, p, auditPrompted)
	c.stopThinking()
	c.say(contract.WhatPromptOpened, open)
	c.emit(contract.PermissionRequest{ID: p.id, Name: p.name, Arguments: p.arguments, BatchID: p.batchID, BatchSize: p.batchSize})
	c.openPrompts(now)
	if !c.hosted() { // There the program waits as long as a person needs (contract.md 6.6).
		c.do(later{c.waits.permission, permissionExpired{p.id, c.parks}})
	}
}

// openPrompts keeps the ids of what is parked in the file, so that a start
// after a kill can say that they ended.
func (c *core) openPrompts(now time.Time) {
	c.rec.Prompts, c.rec.Edits = nil, nil
	for _, p := range c.perms {
		c.rec.Prompts = append(c.rec.Prompts, p.ID)
	}
	for _, e := range c.edits {
		c.rec.Edits = append(c.rec.Edits, e.ID)
	}
	c.counters(now)
	c.do(save{now: true})
}

// unpark takes a prompt out of the queue once; nil when it is not there.
func (c *core) unpark(id string) *parked {
	i := slices.IndexFunc(c.perms, func(p *parked) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	p := c.perms[i]
	c.perms = slices.Delete(c.perms, i, i+1)
	return p
}

func (c *core) unparkEdit(id string) *parkedEdit {
	i := slices.IndexFunc(c.edits, func(e *parkedEdit) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	e := c.edits[i]
	c.edits = slices.Delete(c.edits, i, i+1)
	return e
}

// refusal is what a denied call gets as its result, and the guidance in it.
type refusal struct{ text, reason string }

// resolve answers a prompt that was just taken out of the queue.
func (c *core) resolve(now time.Time, p *parked, d contract.Decision, by contract.DecidedBy, no refusal, audit string) {
	c.settlePrompt(now, p, d, by, audit)
	c.do(toTurn{msg.PermissionAnswer{ID: p.ID, Allowed: d != contract.Deny, Text: no.text, Decision: d, By: by, Reason: no.reason}})
}

// settlePrompt closes a prompt here, without an answer to whoever asked.
func (c *core) settlePrompt(now time.Time, p *parked, d contract.Decision, by contract.DecidedBy, audit string) {
	c.remember(p.ID, by)
	if d == contract.Deny {
		if call := c.callOf(p.turn, p.call.of); call != nil {
			call.DeniedBy = by
		}
	}
	c.audit(now, p.call, audit)
	c.say(contract.WhatPromptResolved, contract.PromptResolved{ID: p.ID, Decision: d, By: by})
	c.openPrompts(now)
}

func (c *core) callOf(turn contract.TurnID, id string) *contract.RecordCall {
	if c.live == nil || c.live.id != turn {
		return nil
	}
	call := c.call(id)
	if call != nil {
		c.changes.put(c.live.message)
	}
	return call
}

func (c *core) resolveEdit(now time.Time, e *parkedEdit, d contract.EditDecision, by contract.DecidedBy, answer msg.EditAnswer) {
	c.settleEdit(now, e, d, by)
	answer.ID = e.ID
	c.do(toTurn{answer})
}

// settleEdit closes an edit here, without an answer to whoever asked.
func (c *core) settleEdit(now time.Time, e *parkedEdit, d contract.EditDecision, by contract.DecidedBy) {
	c.remember(e.ID, by)
	if d == contract.RejectEdit {
		if call := c.callOf(e.turn, e.ID); call != nil {
			call.DeniedBy = by
		}
	}
	c.say(contract.WhatEditResolved, contract.EditResolved{ID: e.ID, Decision: d, By: by})
	c.openPrompts(now)
}

// askEdit parks an edit. Every write waits while approve-writes is on.
func (c *core) askEdit(now time.Time, a msg.AskEdit) {
	if c.live == nil || c.live.id != a.Turn || c.live.ended {
		return
	}
	c.parks++
	c.edits = append(c.edits, &parkedEdit{
		PendingEditPrompt: contract.PendingEditPrompt{ID: a.ID, Path: a.Path, Content: a.Content, Before: a.Before, OpenedAt: now.UnixMilli()},
		turn:              a.Turn, n: c.parks,
	})
	c.stopThinking()
	c.emit(contract.PendingEdit{ID: a.ID, Path: a.Path, Content: a.Content, Before: a.Before})
	c.do(toStore{msg.SaveBaseline{ID: c.id, ToolID: a.ID, Path: relative(a.Path, c.rec.ProjectPath), Before: a.Before}})
	c.openPrompts(now)
	if !c.hosted() {
		c.do(later{c.waits.edit, editExpired{a.ID, c.parks}})
	}
}

// drainPrompts answers everything parked as refused. A host is told by whatever
// goes with it, a cancel or a cancel of what is parked.
func (c *core) drainPrompts(now time.Time, by contract.DecidedBy, text string) {
	for len(c.perms) > 0 {
		p := c.perms[0]
		c.perms = c.perms[1:]
		if c.hosted() {
			c.settlePrompt(now, p, contract.Deny, by, auditCancelled)
		} else {
			c.resolve(now, p, contract.Deny, by, refusal{text: text}, auditCancelled)
		}
	}
	for len(c.edits) > 0 {
		e := c.edits[0]
		c.edits = c.edits[1:]
		if c.hosted() {
			c.settleEdit(now, e, contract.RejectEdit, by)
		} else {
			c.resolveEdit(now, e, contract.RejectEdit, by, msg.EditAnswer{Text: text})
		}
	}
}

// overtaken closes the prompts of a call that has a result: the program behind
// it did not wait for an answer any longer.
func (c *core) overtaken(now time.Time, id, result string) {
	by := contract.ByCancel
	if result == contract.TextEditTimeout || result == contract.TextPermTimeout {
		by = contract.ByTimeout
	}
	if c.acp() {
		return // Its requests have ids of their own; it withdraws them itself.
	}
	if p := c.unpark(id); p != nil {
		c.settlePrompt(now, p, contract.Deny, by, auditCancelled)
	}
	if e := c.unparkEdit(id); e != nil {
		c.settleEdit(now, e, contract.RejectEdit, by)
	}
}

// expirePermission ends a prompt that nobody answered; it is never reported as
// a denial by the user (F51).
func (c *core) expirePermission(now time.Time, e permissionExpired) {
	if i := slices.IndexFunc(c.perms, func(p *parked) bool { return p.n == e.n }); i >= 0 {
		c.resolve(now, c.unpark(e.id), contract.Deny, contract.ByTimeout, refusal{text: contract.TextPermTimeout}, auditCancelled)
	}
}

func (c *core) expireEdit(now time.Time, e editExpired) {
	if i := slices.IndexFunc(c.edits, func(p *parkedEdit) bool { return p.n == e.n }); i >= 0 {
		c.resolveEdit(now, c.unparkEdit(e.id), contract.RejectEdit, contract.ByTimeout, msg.EditAnswer{Text: contract.TextEditTimeout})
	}
}
