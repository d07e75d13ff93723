package conversation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// userMessageAt finds a user message by its id.
func (c *core) userMessageAt(id string) (int, *contract.Failure) {
	i := slices.IndexFunc(c.rec.Messages, func(m contract.RecordMessage) bool { return m.ID == id })
	switch {
	case i < 0:
		return 0, contract.Fail(contract.CodeNotFound, "That message is no longer in this conversation.")
	case c.rec.Messages[i].Role != contract.RoleUser:
		return 0, contract.BadParam("message_id", "want a message that a person wrote")
	}
	return i, nil
}

// restore drops everything behind a user message and runs that one again.
// Files stay as they are: only the transcript goes back.
func (c *core) restore(now time.Time, p contract.RestoreParams) (any, *contract.Failure) {
	if c.busy() {
		return nil, contract.Fail(contract.CodeConflict, "A turn is running; stop it first.")
	}
	at, failure := c.userMessageAt(p.MessageID)
	if failure == nil {
		failure = c.mayRun(now)
	}
	if failure != nil {
		return nil, failure
	}
	var images []contract.Attachment
	if len(c.rec.Messages[at].Attachments) > 0 {
		if at != c.lastUser() || len(c.images) == 0 {
			return nil, contract.Fail(contract.CodeConflict, "The images of that message are not kept, so it cannot be run again as it was. Edit and resend it with its images attached again.")
		}
		images = c.images
	}
	dropped := len(c.rec.Messages) > at+1
	c.rec.Messages = slices.Clone(c.rec.Messages[:at+1])
	c.changes.from(at+1, len(c.rec.Messages))
	if len(c.rec.QueuedMessages) > 0 {
		c.rec.QueuedMessages = nil
		c.queueChanged(now)
	}
	if len(c.rec.Plan) > 0 || c.rec.PlanApproved {
		c.rec.Plan, c.rec.PlanApproved = nil, false
		c.changes.head = true
	}
	c.failedOver, c.images = false, images
	c.forget()
	if dropped {
		c.patch(now, map[string]any{contract.PatchReload: true})
	}
	return contract.StartResult{SessionID: c.id, TurnID: c.begin(now, images, false)}, nil
}

// forget drops what a host remembers of messages that are gone: its session is
// opened anew, with the transcript as it is now.
func (c *core) forget() {
	c.closeSession()
	c.rec.ResumeToken, c.rec.EngineSessionID, c.rec.EngineAdopt = "", "", false
	c.changes.head = true
}

// fork is the record of a new conversation that holds everything before a user
// message. What was frozen at the launch stays frozen; what belongs to the other
// conversation (its session, its allowances, its baselines) stays there.
func (c *core) fork(now time.Time, id contract.ConversationID, before int) *contract.Record {
	r := *c.rec
	r.ID, r.ParentConversationID = id, c.id
	r.CreatedAt, r.UpdatedAt = now.UnixMilli(), now.UnixMilli()
	r.Status, r.Archived, r.Pinned = contract.StatusIdle, false, false
	r.OpenTurn, r.OpenTurnBoot, r.SessionAllow, r.SessionBoot = "", "", nil, ""
	r.ResumeToken, r.EngineSessionID, r.EngineAdopt, r.SessionID = "", "", false, ""
	r.Plan, r.PlanApproved, r.QueuedMessages, r.Prompts, r.Edits, r.Context = nil, false, nil, nil, nil, nil
	r.DiffComments, r.WrittenFiles, r.Worktree = nil, nil, nil
	if w, _ := c.worktree(); w != nil && w.State != string(contract.WorktreeActive) {
		r.ProjectPath = w.BasePath
	}
	r.AllowedTools, r.AllowPatterns = slices.Clone(r.AllowedTools), slices.Clone(r.AllowPatterns)
	r.PromptLayers, r.Extra = slices.Clone(r.PromptLayers), maps.Clone(r.Extra)
	r.Messages = make([]contract.RecordMessage, 0, before)
	for _, m := range c.rec.Messages[:before] {
		// The other conversation goes on changing its own calls.
		m.ToolCalls, m.Parts = slices.Clone(m.ToolCalls), slices.Clone(m.Parts)
		r.Messages = append(r.Messages, m)
	}
	return &r
}

// serveFork makes the new conversation. A turn that runs here is stopped: it
// works in the same folder, and a person has just gone another way.
func (a *actor) serveFork(who asker, m msg.Command) *contract.Failure {
	c, now := a.core, a.opt.Now()
	p, failure := params[contract.ForkParams](m.Params)
	if failure != nil {
		return failure
	}
	id := p.NewSessionID
	if id == "" {
		id = newID()
	}
	if !contract.ValidID(string(id)) || reserved(id) || id == c.id {
		return contract.BadParam("new_session_id", "want 1 to 64 of A-Z a-z 0-9 _ and -, another one than this conversation's")
	}
	before, failure := c.userMessageAt(p.MessageID)
	if failure == nil {
		failure = checkText("message", p.Message, p.Attachments)
	}
	if failure == nil && c.ending != "" {
		failure = c.worktreeGone()
	}
	if failure == nil {
		failure = c.mayRunRow(now)
	}
	if failure != nil {
		return failure
	}
	record := c.fork(now, id, before)
	if err := checkProject(record.ProjectPath); err != nil {
		return contract.Fail(contract.CodeConflict, "The project folder cannot be used: %s.", err)
	}
	c.cancel(now)
	a.run(now)
	a.beside(who, func(_ context.Context, node gen.Node) func(time.Time) msg.Reply {
		reply := handOver(node, msg.Fork{Record: record, Message: p.Message, Attachments: p.Attachments})
		return func(time.Time) msg.Reply { return reply }
	})
	return nil
}

// handOver starts the new conversation's actor and gives it its record.
func handOver(node gen.Node, f msg.Fork) msg.Reply {
	name := msg.ConversationName(f.Record.ID)
	reply, err := node.CallWithTimeout(msg.SessionsSup, msg.Ensure{Name: name, User: true}, 6)
	if e, ok := reply.(msg.Ensured); err == nil && ok && e.Err != nil {
		return msg.Reply{Failure: e.Err}
	}
	if err == nil {
		reply, err = node.CallWithTimeout(name, f, 30)
	}
	if r, ok := reply.(msg.Reply); err == nil && ok {
		return r
	}
	return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "The new conversation could not be started just now; try again.")}
}

// adoptFork makes this the conversation of a fork and sends its first message.
func (a *actor) adoptFork(now time.Time, f msg.Fork) msg.Reply {
	c := a.core
	switch {
	case a.unreadable != nil:
		return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "%s", sentence(a.unreadable))}
	case c.rec != nil || a.launch != nil:
		return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "%s%s", contract.TextSessionExists, c.id)}
	case a.leaving:
		return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "The service is stopping; start it again and send then.")}
	case len(a.backlog) > 0:
		return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "%s", textLogFull)}
	}
	c.rec = f.Record
	c.countOn()
	c.changes.head = true
	c.say(contract.WhatCreated, c.summary())
	c.do(save{now: true})
	result, failure := c.send(now, f.Message, f.Attachments)
	a.send(msg.Store, msg.BumpLaunch{Provider: c.rec.Provider})
	a.run(now)
	a.expectViewer(now)
	if failure != nil {
		return msg.Reply{Failure: failure}
	}
	sent, _ := result.(contract.SendResult)
	return msg.Reply{Result: contract.StartResult{SessionID: c.id, TurnID: sent.TurnID}}
}

// newID makes up the id of a conversation.
func newID() contract.ConversationID {
	b := make([]byte, 10)
	_, _ = rand.Read(b) // Never fails, see its documentation.
	return contract.ConversationID("c-" + hex.EncodeToString(b))
}
