package conversation

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Bounds of what a person may send. Ours: generous, and never silent.
const (
	maxMessageBytes = 4 << 20
	maxQueued       = 100
	maxImages       = 20
	maxTitle        = 200
)

// outside is what a start needs to know of the machine.
type outside struct {
	// checkProject returns a sentence when the path is not an absolute,
	// existing directory.
	checkProject func(path string) error
	// system builds the built-in system prompt of a project.
	system func(path string, t contract.Transport) string
}

// params decodes a command's parameters; a wrong type is named by its field.
func params[T any](raw json.RawMessage) (T, *contract.Failure) {
	var v T
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			if wrong.Field != "" {
				return v, contract.BadParam(wrong.Field, "want %s, got %s", word(wrong.Type), wrong.Value)
			}
			return v, contract.Fail(contract.CodeBadParams, "params: want an object, got %s", wrong.Value)
		}
		return v, contract.Fail(contract.CodeBadParams, "params: want an object: %s", err)
	}
	return v, nil
}

// word names a type for somebody who writes JSON.
func word(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // The kinds of the contract's parameters.
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return word(t.Elem())
	}
	return "a number"
}

// with decodes the parameters and runs the handler on them.
func with[T any](raw json.RawMessage, run func(T) (any, *contract.Failure)) (any, *contract.Failure) {
	p, failure := params[T](raw)
	if failure != nil {
		return nil, failure
	}
	return run(p)
}

type empty struct{}

// command runs one method. A turn that it starts is answered before it runs.
func (c *core) command(now time.Time, m contract.Method, raw json.RawMessage, o outside) (any, *contract.Failure) {
	if m == contract.MethodStart {
		return with(raw, func(p contract.StartParams) (any, *contract.Failure) { return c.start(now, p, o) })
	}
	if m == contract.MethodOneShot {
		return with(raw, func(p contract.OneShotParams) (any, *contract.Failure) { return c.oneShot(now, p) })
	}
	if c.rec == nil || c.oneShotOnly && m != contract.MethodCancel && m != contract.MethodClose {
		return nil, contract.Fail(contract.CodeNotFound, "%s%s", contract.TextNoSession, c.id)
	}
	switch m {
	case contract.MethodSend:
		return with(raw, func(p contract.SendParams) (any, *contract.Failure) {
			return c.sendWithComments(now, p.Message, p.Attachments)
		})
	case contract.MethodRestore:
		return with(raw, func(p contract.RestoreParams) (any, *contract.Failure) { return c.restore(now, p) })
	case contract.MethodPromptLayers:
		return c.promptLayers(), nil
	case contract.MethodDiffComments:
		return with(raw, func(p contract.DiffCommentsParams) (any, *contract.Failure) { return c.setComments(p.Comments) })
	case contract.MethodRemovePattern:
		return with(raw, func(p contract.RemovePatternParams) (any, *contract.Failure) { return c.removePattern(now, p.Pattern) })
	case contract.MethodCancel, contract.MethodClose:
		c.cancel(now)
		if m == contract.MethodClose {
			if c.closing = c.live != nil; !c.closing {
				c.closeSession()
				c.do(release{c.tools})
				c.tools = nil
			}
		}
		return empty{}, nil
	case contract.MethodChangeModel:
		return with(raw, func(p contract.ChangeModelParams) (any, *contract.Failure) {
			if strings.TrimSpace(p.NewModel) == "" && !c.acp() { // There: the engine's own.
				return nil, contract.BadParam("new_model", "must not be empty")
			}
			c.setModel(now, strings.TrimSpace(p.NewModel))
			return empty{}, nil
		})
	case contract.MethodSetPlanMode:
		return with(raw, func(p contract.SetEnabledParams) (any, *contract.Failure) {
			posture := c.posture()
			posture.PlanMode = p.Enabled
			c.setPosture(now, posture)
			return empty{}, nil
		})
	case contract.MethodSetApproveWrites:
		return with(raw, func(p contract.SetEnabledParams) (any, *contract.Failure) {
			if p.Enabled && c.acp() {
				return nil, contract.Fail(contract.CodeConflict, "%s", textNoGate)
			}
			posture := c.posture()
			posture.ApproveWrites = p.Enabled
			c.setPosture(now, posture)
			return empty{}, nil
		})
	case contract.MethodSetPermissionMode:
		return with(raw, func(p contract.SetModeParams) (any, *contract.Failure) {
			if !p.Mode.Valid() {
				return nil, contract.Fail(contract.CodeBadParams, "Unknown permission mode: %s", clipRunes(string(p.Mode), 40))
			}
			posture := c.posture()
			posture.PermissionMode = p.Mode
			c.setPosture(now, posture)
			return empty{}, nil
		})
	case contract.MethodRespondPermission:
		return with(raw, func(p contract.RespondPermissionParams) (any, *contract.Failure) { return c.respond(now, p) })
	case contract.MethodRespondEdit:
		return with(raw, func(p contract.RespondEditParams) (any, *contract.Failure) { return c.respondEdit(now, p) })
	case contract.MethodCancelPending:
		if c.hosted() && len(c.perms)+len(c.edits) > 0 {
			c.do(toHost{msg.HostCancelPending{Conversation: c.id}})
		}
		c.drainPrompts(now, contract.ByCancel, contract.TextUserCancelled)
		return empty{}, nil
	case contract.MethodApprovePlan:
		return with(raw, func(p contract.ApprovePlanParams) (any, *contract.Failure) { return c.approvePlan(now, p.Choice) })
	case contract.MethodRetry:
		return with(raw, func(p contract.RetryParams) (any, *contract.Failure) { return c.retry(now, p.NewModel) })
	case contract.MethodQueueRemove:
		return with(raw, func(p contract.QueueRemoveParams) (any, *contract.Failure) {
			i := slices.IndexFunc(c.rec.QueuedMessages, func(q contract.QueueItem) bool { return q.MessageID == p.MessageID })
			if i < 0 {
				return nil, contract.Fail(contract.CodeNotFound, "That message is no longer in the queue.")
			}
			c.rec.QueuedMessages = slices.Delete(slices.Clone(c.rec.QueuedMessages), i, i+1)
			c.queueChanged(now)
			return empty{}, nil
		})
	case contract.MethodRename:
		return with(raw, func(p contract.RenameParams) (any, *contract.Failure) {
			title := strings.TrimSpace(p.Title)
			if title == "" || len([]rune(title)) > maxTitle {
				return nil, contract.BadParam("title", "want 1 to %d characters", maxTitle)
			}
			if c.rec.Title != title {
				c.rec.Title = title
				c.patch(now, map[string]any{"title": title})
				if c.acp() && c.session.resident {
					c.do(toHost{msg.HostRename{Conversation: c.id, Title: title}})
				}
			}
			return empty{}, nil
		})
	case contract.MethodArchive:
		return with(raw, func(p contract.ArchiveParams) (any, *contract.Failure) {
			if c.rec.Archived != p.Archived {
				c.rec.Archived = p.Archived
				c.patch(now, map[string]any{"archived": p.Archived})
			}
			return empty{}, nil
		})
	case contract.MethodPin:
		return with(raw, func(p contract.PinParams) (any, *contract.Failure) {
			if c.rec.Pinned != p.Pinned {
				c.rec.Pinned = p.Pinned
				c.patch(now, map[string]any{"pinned": p.Pinned})
			}
			return empty{}, nil
		})
	}
	return nil, contract.Fail(contract.CodeNoMethod, "Unknown method: %s", m)
}

// checkText refuses what cannot be a message.
func checkText(field, text string, images []contract.Attachment) *contract.Failure {
	if strings.TrimSpace(text) == "" && len(images) == 0 {
		return contract.BadParam(field, "must not be empty")
	}
	if len(text) > maxMessageBytes {
		return contract.Fail(contract.CodeOverLimit, "%s: at most %d MiB of text fit into one message; put the rest into a file", field, maxMessageBytes>>20)
	}
	if len(images) > maxImages {
		return contract.Fail(contract.CodeOverLimit, "attachments: at most %d images fit into one message", maxImages)
	}
	for i, a := range images {
		at := fmt.Sprintf("attachments[%d]", i)
		if !strings.HasPrefix(a.MediaType, "image/") {
			return contract.BadParam(at+".media_type", "want an image type such as image/png")
		}
		if decodedSize(a.DataBase64) > contract.MaxImageBytes {
			return contract.Fail(contract.CodeOverLimit, "%s: the image is larger than 5 MB", at)
		}
		if data, err := base64.StdEncoding.DecodeString(a.DataBase64); err != nil || len(data) == 0 {
			return contract.BadParam(at+".data_base64", "is not base64 of an image")
		}
	}
	return nil
}

// send starts a turn, or queues the text while one runs.
func (c *core) send(now time.Time, text string, images []contract.Attachment) (any, *contract.Failure) {
	if failure := checkText("message", text, images); failure != nil {
		return nil, failure
	}
	if failure := c.mayRun(now); failure != nil {
		return nil, failure
	}
	if c.busy() || len(c.rec.QueuedMessages) > 0 {
		return c.enqueue(now, text, images)
	}
	id := c.messageID()
	c.userMessage(now, id, text, images)
	return contract.SendResult{MessageID: id, TurnID: c.begin(now, images, false)}, nil
}

// enqueue keeps a follow-up. After a failed turn the queue is still there: the
// new message goes behind it and the first one is sent, so order is kept.
func (c *core) enqueue(now time.Time, text string, images []contract.Attachment) (any, *contract.Failure) {
	if len(images) > 0 {
		return nil, contract.Fail(contract.CodeConflict, "%s", contract.TextQueueImages)
	}
	if len(c.rec.QueuedMessages) >= maxQueued {
		return nil, contract.Fail(contract.CodeOverLimit, "%d messages are queued already; wait for the turn to end", maxQueued)
	}
	id := c.messageID()
	c.rec.QueuedMessages = append(slices.Clone(c.rec.QueuedMessages), contract.QueueItem{MessageID: id, Content: text})
	c.say(contract.WhatUserTurn, contract.UserTurn{MessageID: id, Content: text, Attachments: []contract.AttachmentInfo{}, Queued: true})
	c.queueChanged(now)
	c.do(save{now: true})
	if c.live != nil && (c.live.ended || c.live.cancelled) {
		// Written after the turn was over, or was told to stop: it is not one of
		// the messages that a Stop takes away.
		c.live.late = true
	}
	result := contract.SendResult{MessageID: id, Queued: true}
	if !c.busy() {
		result.TurnID = c.dequeue(now)
		result.Queued = slices.ContainsFunc(c.rec.QueuedMessages, func(q contract.QueueItem) bool { return q.MessageID == id })
	}
	return result, nil
}

// retry runs the last model request again.
func (c *core) retry(now time.Time, model string) (any, *contract.Failure) {
	if c.busy() {
		return nil, contract.Fail(contract.CodeConflict, "A turn is running; stop it first.")
	}
	if failure := c.mayRun(now); failure != nil {
		return nil, failure
	}
	if c.lastAnswer() < 0 {
		return nil, contract.Fail(contract.CodeConflict, "%s", contract.TextNoAssistantTurn)
	}
	images := c.truncate(now)
	if model = strings.TrimSpace(model); model != "" {
		c.setModel(now, model)
	}
	c.failedOver = false
	return contract.StartResult{SessionID: c.id, TurnID: c.begin(now, images, true)}, nil
}

// respond answers a permission. The first answer wins (contract.md 6.6).
func (c *core) respond(now time.Time, p contract.RespondPermissionParams) (any, *contract.Failure) {
	if p.Decision != contract.AllowOnce && p.Decision != contract.AllowAlways && p.Decision != contract.Deny {
		return nil, contract.Fail(contract.CodeBadParams, "Unknown decision: %s", clipRunes(string(p.Decision), 40))
	}
	i := slices.IndexFunc(c.perms, func(q *parked) bool { return q.ID == p.ToolID })
	if i < 0 {
		return nil, c.late(p.ToolID)
	}
	if c.perms[i].lasting && p.Decision == contract.AllowOnce {
		return nil, contract.Fail(contract.CodeConflict, "%s", contract.TextLastingOnly)
	}
	if p.AllowPattern != "" {
		if p.Decision != contract.AllowOnce {
			return nil, contract.BadParam("allow_pattern", "goes with the decision allow_once only")
		}
		if derived := c.perms[i].AllowPattern; derived == nil || *derived != p.AllowPattern {
			return nil, contract.BadParam("allow_pattern", "is not the pattern of this call")
		}
	}
	q := c.unpark(p.ToolID)
	switch p.Decision {
	case contract.AllowOnce:
		if p.AllowPattern != "" && !slices.Contains(c.rec.AllowPatterns, p.AllowPattern) {
			c.rec.AllowPatterns = append(slices.Clone(c.rec.AllowPatterns), p.AllowPattern)
			c.patch(now, map[string]any{"allow_patterns": c.rec.AllowPatterns})
		}
		c.resolve(now, q, p.Decision, contract.ByUser, refusal{}, auditOnce)
	case contract.AllowAlways:
		if q.call.session != "" {
			c.allowed[q.call.session] = true
		}
		c.rec.SessionAllow, c.rec.SessionBoot = keys(c.allowed), c.boot
		c.changes.head = true
		c.resolve(now, q, p.Decision, contract.ByUser, refusal{}, auditSession)
	case contract.Deny:
		no := refusal{text: contract.TextDenied, reason: clipRunes(strings.TrimSpace(p.Reason), 4000)}
		if no.reason != "" {
			no.text += contract.TextDeniedGuidance + no.reason
		}
		c.resolve(now, q, p.Decision, contract.ByUser, no, auditDenied)
	}
	return empty{}, nil
}

func keys(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (c *core) late(id string) *contract.Failure {
	if by, ok := c.answered[id]; ok {
		return contract.Answered(by)
	}
	return contract.Fail(contract.CodeNotFound, "No prompt waits under the id %s.", clipRunes(id, 80))
}

func (c *core) respondEdit(now time.Time, p contract.RespondEditParams) (any, *contract.Failure) {
	if p.Decision != contract.ApplyEdit && p.Decision != contract.RejectEdit {
		return nil, contract.Fail(contract.CodeBadParams, "Unknown edit decision: %s", clipRunes(string(p.Decision), 40))
	}
	if p.MergedContent != nil && p.Decision != contract.ApplyEdit {
		return nil, contract.BadParam("merged_content", "goes with the decision apply only")
	}
	e := c.unparkEdit(p.ToolID)
	if e == nil {
		return nil, c.late(p.ToolID)
	}
	if p.Decision == contract.ApplyEdit {
		c.resolveEdit(now, e, p.Decision, contract.ByUser, msg.EditAnswer{Applied: true, Merged: p.MergedContent})
	} else {
		c.resolveEdit(now, e, p.Decision, contract.ByUser, msg.EditAnswer{Text: contract.TextEditRejected})
	}
	return empty{}, nil
}

// approvePlan runs one entry of the approval menu, in its fixed order: mark,
// lift plan mode, set the posture, and only then send (tools-permissions.md 7).
func (c *core) approvePlan(now time.Time, choice string) (any, *contract.Failure) {
	chosen, ok := planChoices[choice]
	if !ok {
		return nil, contract.BadParam("choice", "want execute, accept_edits, review_each or keep_planning")
	}
	if !planReady(c.rec, c.busy()) {
		return nil, contract.Fail(contract.CodeConflict, "There is no finished plan to approve in this conversation.")
	}
	if failure := c.mayRun(now); failure != nil {
		return nil, failure
	}
	if !chosen.keepPlanning {
		if !c.rec.PlanApproved {
			c.rec.PlanApproved = true
			c.patch(now, map[string]any{"plan_approved": true})
		}
		posture := c.posture()
		posture.PlanMode = false
		c.setPosture(now, posture)
		posture.PermissionMode = chosen.mode
		if chosen.writesOff {
			posture.ApproveWrites = false
		}
		c.setPosture(now, posture)
	}
	return c.send(now, chosen.instruction, nil)
}
