package conversation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/contract"
)

// userMessage adds what a person wrote and publishes it in every window.
func (c *core) userMessage(now time.Time, id, text string, images []contract.Attachment) {
	infos := attachmentInfos(images)
	c.append(contract.RecordMessage{
		ID: id, Role: contract.RoleUser, Content: text, Timestamp: now.UnixMilli(), Attachments: infos,
	})
	c.say(contract.WhatUserTurn, contract.UserTurn{MessageID: id, Content: text, Attachments: infos})
	c.failedOver, c.images = false, images
}

func attachmentInfos(images []contract.Attachment) []contract.AttachmentInfo {
	infos := make([]contract.AttachmentInfo, 0, len(images))
	for _, a := range images {
		infos = append(infos, contract.AttachmentInfo{MediaType: a.MediaType, Size: decodedSize(a.DataBase64), Name: a.Name})
	}
	return infos
}

// decodedSize is the size of base64 text once decoded, in bytes.
func decodedSize(b64 string) int {
	n := len(b64)
	for n > 0 && b64[n-1] == '=' {
		n--
	}
	return n * 3 / 4
}

// begin claims the conversation's one turn and asks for its transport. The
// history is frozen here; the assistant message exists from now on. Again says
// that the last turn is made once more.
func (c *core) begin(now time.Time, images []contract.Attachment, again bool) contract.TurnID {
	history := slices.Clone(c.rec.Messages)
	c.rec.TurnCounter++
	id := contract.TurnID("t-" + strconv.FormatUint(c.rec.TurnCounter, 10))
	c.rec.OpenTurn, c.rec.OpenTurnBoot = id, c.boot
	c.append(contract.RecordMessage{
		ID: string(id), Role: contract.RoleAssistant, TurnID: id, IsStreaming: true, Timestamp: now.UnixMilli(),
	})
	c.live = &live{id: id, message: len(c.rec.Messages) - 1, tainted: carriedTaint(history), images: images, again: again}
	c.say(contract.WhatTurnStarted, contract.TurnStarted{TurnID: id})
	c.setStatus(now, contract.StatusActive)
	c.planState(now)
	row, err := rowOf(c.rec.Provider)
	if err != nil && !c.oneShotOnly {
		c.apply(now, contract.Error{Message: err.Error()})
		c.closed(now, id, c.tools)
		return id
	}
	if c.hosted() {
		c.do(save{now: true}, hostTurn{})
		return id
	}
	c.do(save{now: true}, startTurn{msg.TurnSpec{
		Conversation: c.id, Turn: id, Provider: c.rec.Provider, Ledger: row.Ledger, Model: c.rec.Model,
		System: c.rec.SystemPrompt, Project: c.rec.ProjectPath, Thinking: c.rec.ThinkingEnabled,
		Posture: c.posture(), AllowedTools: c.rec.AllowedTools, Messages: history, Attachments: images,
		Tools: c.tools, OneShot: c.oneShotOnly, Task: c.task,
	}})
	return id
}

// carriedTaint is the evidence that entered since the last user message: a
// retried turn does not wash it off (tools-permissions.md 9).
func carriedTaint(history []contract.RecordMessage) []contract.Source {
	var sources []contract.Source
	for i := len(history) - 1; i >= 0 && history[i].Role != contract.RoleUser; i-- {
		sources = append(sources, history[i].Evidence...)
	}
	return sources
}

// started notes that the transport runs; a turn that was cancelled meanwhile
// has ended already and must not start.
func (c *core) started(turn contract.TurnID) bool {
	if c.live == nil || c.live.id != turn || c.live.ended {
		return false
	}
	c.live.started = true
	return true
}

// failTurn ends the running turn with a sentence, when it is still this one.
func (c *core) failTurn(now time.Time, turn contract.TurnID, text string) {
	if c.live == nil || c.live.id != turn {
		return
	}
	if !c.live.ended {
		c.apply(now, contract.Error{Message: text})
	}
	c.closed(now, turn, c.tools)
}

// closed takes the turn's process as gone: the next turn may start.
func (c *core) closed(now time.Time, turn contract.TurnID, tools any) {
	if c.live == nil || c.live.id != turn {
		return
	}
	c.tools = tools
	if !c.live.ended { // The process ended without its last word.
		c.apply(now, contract.Error{Message: "The turn ended without an answer; send again to retry."})
	}
	m := &c.rec.Messages[c.live.message]
	outcome, text, late := m.Outcome, m.Error, c.live.late
	c.live = nil
	c.do(endTurn{})
	if c.closing {
		c.closing = false
		c.closeSession()
		c.do(release{c.tools})
		c.tools = nil
	}
	switch {
	case c.retryWith != "" && c.leaving:
		c.giveUpFailover(now)
	case c.retryWith != "":
		c.failOver(now, text)
	case (outcome == contract.OutcomeDone || late) && len(c.rec.QueuedMessages) > 0 && !c.leaving:
		c.dequeue(now)
	case outcome == contract.OutcomeDone:
		c.images = nil
	}
	c.planState(now)
}

// failOver tries the failed request again with the smaller model, and says so
// where a person reads it.
func (c *core) failOver(now time.Time, why string) {
	from, to := c.rec.Model, c.retryWith
	c.retryWith = ""
	again := c.truncate(now)
	c.notice(now, contract.LevelWarning, fmt.Sprintf("%s could not answer (%s). Trying once more with %s, which this conversation uses from now on.",
		from, strings.TrimRight(clipRunes(strings.Join(strings.Fields(why), " "), 300), "."), to))
	c.setModel(now, to)
	c.begin(now, again, true)
}

func (c *core) giveUpFailover(now time.Time) {
	if c.retryWith != "" {
		c.retryWith = ""
		c.setStatus(now, contract.StatusFailed)
	}
}

// dequeue sends the first queued follow-up.
func (c *core) dequeue(now time.Time) contract.TurnID {
	item := c.rec.QueuedMessages[0]
	c.rec.QueuedMessages = slices.Clone(c.rec.QueuedMessages[1:])
	c.queueChanged(now)
	c.userMessage(now, item.MessageID, item.Content, nil)
	return c.begin(now, nil, false)
}

func (c *core) queueChanged(now time.Time) {
	items := c.rec.QueuedMessages
	if items == nil {
		items = []contract.QueueItem{}
	}
	c.changes.head = true
	c.say(contract.WhatQueueChanged, contract.QueueChanged{Items: items})
	c.counters(now)
}

// cancel stops the running turn. The queue goes first, so that nothing is sent
// behind a turn that a person killed (contract.md 6.5).
func (c *core) cancel(now time.Time) {
	if c.rec != nil && len(c.rec.QueuedMessages) > 0 {
		c.rec.QueuedMessages = nil
		c.queueChanged(now)
	}
	c.stop(now)
}

// leave stops the running turn because the service stops. The queue stays in
// the file: its messages are named by the notice of the next start.
func (c *core) leave(now time.Time) {
	c.leaving = true
	c.stop(now)
}

func (c *core) stop(now time.Time) {
	c.giveUpFailover(now)
	if c.live == nil || c.live.ended || c.live.cancelled {
		return
	}
	c.live.cancelled = true
	c.drainPrompts(now, contract.ByCancel, contract.TextCancelledByUser)
	if c.live.started {
		// Every window shows "Stopping" until the turn has ended.
		c.patch(now, map[string]any{"stopping": true})
	}
	if !c.live.started {
		turn := c.live.id
		c.apply(now, contract.Done{Cancelled: true})
		c.closed(now, turn, c.tools)
		return
	}
	c.do(toTurn{msg.CancelTurn{}}, later{c.waits.cancel, cancelOverdue{c.live.id}})
}

// overdue ends a turn that did not stop when it was told to.
func (c *core) overdue(now time.Time, turn contract.TurnID) {
	if c.live == nil || c.live.id != turn {
		return
	}
	c.do(release{c.tools})
	c.tools = nil
	if c.hosted() {
		c.do(toHost{msg.HostKill{Conversation: c.id, Turn: turn}})
	}
	c.failTurn(now, turn, "The turn did not stop within 10 s and was ended by force. Send again to go on.")
}

// usage takes the counts of one model request: the window's occupancy for the
// ring, the line for the ledger.
func (c *core) usage(now time.Time, u msg.RequestUsage) {
	if u.Line != nil && c.rec != nil {
		// Written whatever has become of the turn: the request was made.
		c.do(toStore{msg.AppendLedger{Turn: u.Turn, N: u.N, Line: u.Line}})
	}
	if c.live == nil || c.live.id != u.Turn {
		return
	}
	used := u.Context
	if used.Window == 0 {
		used.Window = 200_000 // Source: runtime.md 9.
	}
	c.rec.Context = &used
	c.patch(now, map[string]any{contract.PatchContext: used})
}

func (c *core) setModel(now time.Time, model string) {
	if from := c.rec.Model; from != model {
		c.putModel(now, model)
		c.hostSet(msg.HostSet{Model: &model}, func(now time.Time) {
			if c.rec.Model == model {
				c.putModel(now, from)
			}
		})
	}
}

// putModel is setModel for a model that the host knows already.
func (c *core) putModel(now time.Time, model string) {
	c.rec.Model = model
	c.patch(now, map[string]any{"model": model})
}

// planFailover decides, once per user send, whether the failed turn is tried
// again with a smaller model of the same provider. Source: runtime.md 7.
func (c *core) planFailover(text string) {
	if c.failedOver || !c.live.autoRetry || c.rec.Provider == contract.ProviderDemo || !llm.WantsFailover(text) {
		return
	}
	var models []string
	for _, m := range c.models(c.rec.Agent) {
		models = append(models, m.Value)
	}
	if to, ok := llm.FailoverModel(c.rec.Model, models); ok && to != c.rec.Model {
		c.failedOver = true
		c.retryWith = to
	}
}

// lastAnswer is the index of the last assistant message, -1 for none.
func (c *core) lastAnswer() int {
	for i := len(c.rec.Messages) - 1; i >= 0; i-- {
		if c.rec.Messages[i].Role == contract.RoleAssistant {
			return i
		}
	}
	return -1
}

// truncate drops the last model request from the transcript, as a retry wants
// it: earlier tool rounds of the same turn stay (runtime.md 2). It returns the
// images that go with the request when it is made again.
func (c *core) truncate(now time.Time) (images []contract.Attachment) {
	at := c.lastAnswer()
	if at < 0 {
		return nil
	}
	m := &c.rec.Messages[at]
	cut := 0
	for i, p := range m.Parts {
		if p.Type == contract.PartRequest {
			cut = i
		}
	}
	// Notices behind the message stay: they are history for people.
	if cut == 0 {
		c.rec.Messages = slices.Delete(c.rec.Messages, at, at+1)
		images = c.images
	} else {
		*m = keepParts(*m, cut)
	}
	c.changes.from(at, len(c.rec.Messages))
	c.patch(now, map[string]any{contract.PatchReload: true})
	return images
}

// keepParts cuts a message to its first n parts.
func keepParts(m contract.RecordMessage, n int) contract.RecordMessage {
	var text, thought int
	var calls []contract.RecordCall
	for _, p := range m.Parts[:n] {
		switch p.Type {
		case contract.PartText:
			text += p.Length
		case contract.PartThinking:
			thought += p.Length
		case contract.PartTool:
			for _, call := range m.ToolCalls {
				if call.ID == p.ID {
					calls = append(calls, call)
				}
			}
		case contract.PartRequest:
		}
	}
	m.Content, _ = contract.CutUTF16(m.Content, text)
	m.Thinking, _ = contract.CutUTF16(m.Thinking, thought)
	m.Parts = slices.Clone(m.Parts[:n])
	m.ToolCalls = calls
	m.Error = ""
	return m
}
