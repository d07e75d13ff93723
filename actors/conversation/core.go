package conversation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// effect is one thing to be done outside: publish, send, save. The shell runs
// them in order.
type effect any

type (
	// publish appends one event to the log.
	publish struct {
		subject string
		turn    contract.TurnID
		payload []byte
	}
	// startTurn asks for the key and the settings, then starts the transport.
	startTurn struct{ spec msg.TurnSpec }
	// toTurn sends a message to the running turn.
	toTurn struct{ message any }
	// endTurn ends the turn's process, which has nothing more to say.
	endTurn struct{}
	// toStore sends a message to the store.
	toStore struct{ message any }
	// save writes what has changed; now means without the usual wait.
	save struct{ now bool }
	// later brings a message back after a while.
	later struct {
		after   time.Duration
		message any
	}
	// release frees the tools of a conversation that is closed.
	release struct{ tools any }
)

// Messages that come back through later.
type (
	// The number tells one parking of an id from the next: a prompt that was
	// answered leaves its timer behind.
	permissionExpired struct {
		id string
		n  uint64
	}
	editExpired struct {
		id string
		n  uint64
	}
	cancelOverdue struct{ turn contract.TurnID }
)

// parked is a permission prompt that waits for a person.
type parked struct {
	contract.PendingPermission
	turn    contract.TurnID
	call    call
	lasting bool // Only a lasting permission is offered.
	n       uint64
}

// parkedEdit is an edit that waits for a person.
type parkedEdit struct {
	contract.PendingEditPrompt
	turn contract.TurnID
	n    uint64
}

// live is the running turn.
type live struct {
	id        contract.TurnID
	message   int // Its assistant message in the record.
	started   bool
	cancelled bool
	// late: a message came after the terminal event and before the process had
	// unwound; it is sent then, whatever the outcome was.
	late bool
	// ended is set by the terminal event; the turn is owned until its process
	// has unwound.
	ended    bool
	thinking bool
	open     []string // Ids of calls without a result, in order.
	tainted  []contract.Source
	// again: the last turn is made once more; images go with it. Both are for a
	// host, as is reopened: its session was found closed.
	again, reopened bool
	images          []contract.Attachment
	summaries       uint64
	// calls are what an engine's host says of calls, by their ids.
	calls map[string]msg.HostCall
	// heard: the host has said that the turn is with the program.
	heard       bool
	content     strings.Builder
	thought     strings.Builder
	rateLimited *contract.RateLimited
	autoRetry   bool
}

// core is the conversation without its process: every method takes what it
// needs to know and leaves what is to be done in out.
type core struct {
	id     contract.ConversationID
	boot   string
	models func(contract.RowID) []contract.Model
	// window looks a model's context window up, 0 when unknown.
	window func(contract.ProviderID, string) uint64
	prices *llm.PriceTable
	waits  waits

	rec      *contract.Record // Nil until created or loaded.
	health   *contract.Health // Nil while all is well.
	live     *live
	perms    []*parked
	edits    []*parkedEdit
	answered map[string]contract.DecidedBy
	order    []string        // Of answered, oldest first.
	parks    uint64          // Prompts parked so far.
	allowed  map[string]bool // Tools allowed for the session, by name.
	tools    any
	session  session
	// mode is what the engine does with the posture, nil until it has said it.
	mode *contract.EngineMode
	// narrow takes out of a row's capabilities what its engine does not offer.
	narrow func(contract.ProviderID, contract.Capabilities) contract.Capabilities
	// desk says that there is somebody who makes worktrees. prepared is what a
	// start brings along; ending names what is being done to the worktree, which
	// no turn may run in meanwhile.
	desk     bool
	prepared *prepared
	ending   string
	git      *contract.ProjectGit
	mcp      *contract.ProjectMCP
	// failedOver is set once per user send.
	failedOver bool
	// images are those of the last user message, until it is answered: a retry
	// of its first request needs them again.
	images []contract.Attachment
	// leaving: the service stops, nothing is begun any more. closing: the tools
	// are freed when the turn has unwound.
	leaving, closing bool
	// deleted: nothing is saved any more. oneShotOnly: there is no conversation,
	// only one answer on its id.
	deleted, oneShotOnly bool
	task                 string // Of a one-shot.
	retryWith            string
	whats                map[contract.What]string
	kinds                map[contract.Kind]string
	said                 said
	changes              changes
	audits               uint64
	out                  []effect
}

// waits are the times after which something is given up.
type waits struct{ permission, edit, cancel time.Duration }

var productWaits = waits{msg.PermissionWait, msg.EditWait, config.CancelEscalation}

// said is what the last patches told of what is derived, so that the next one
// holds changes only.
type said struct {
	needsYou, queued int
	planReady        bool
}

func newCore(id contract.ConversationID, boot string) *core {
	return &core{
		changes: newChanges(),
		id:      id, boot: boot,
		waits:    productWaits,
		answered: map[string]contract.DecidedBy{}, allowed: map[string]bool{},
		whats: map[contract.What]string{}, kinds: map[contract.Kind]string{},
		models: func(contract.RowID) []contract.Model { return nil },
		narrow: func(_ contract.ProviderID, of contract.Capabilities) contract.Capabilities { return of },
		window: func(contract.ProviderID, string) uint64 { return 0 },
	}
}

// take returns the effects since the last call.
func (c *core) take() []effect {
	out := c.out
	c.out = nil
	return out
}

func (c *core) do(effects ...effect) { c.out = append(c.out, effects...) }

func (c *core) busy() bool { return c.live != nil }

// emit publishes one event of the running turn.
func (c *core) emit(e contract.Event) {
	if c.oneShotOnly && e.Kind() != contract.KindChunk && !e.Kind().Terminal() {
		return // One-shot features hear three kinds and no more.
	}
	payload, err := contract.Encode(e)
	if err != nil {
		return // Plain structs of strings and numbers: cannot fail.
	}
	// The subjects of this conversation are kept; the id was checked by the
	// door, so building one cannot fail.
	subject, ok := c.kinds[e.Kind()]
	if !ok {
		subject, _ = contract.Subject(e.Kind(), c.id)
		c.kinds[e.Kind()] = subject
	}
	c.publish(subject, payload)
}

// say publishes one event of the second family.
func (c *core) say(w contract.What, v any) {
	if c.oneShotOnly {
		return
	}
	payload, err := contract.Marshal(v)
	if err != nil {
		return
	}
	subject, ok := c.whats[w]
	if !ok {
		subject, _ = contract.ConversationSubject(w, c.id)
		c.whats[w] = subject
	}
	c.publish(subject, payload)
}

func (c *core) publish(subject string, payload []byte) {
	var turn contract.TurnID
	if c.live != nil {
		turn = c.live.id
	}
	c.do(publish{subject: subject, turn: turn, payload: payload})
}

// patch publishes changed keys of the summary and tells the store's index.
func (c *core) patch(now time.Time, keys map[string]any) {
	c.rec.UpdatedAt = now.UnixMilli()
	keys["updated_at"] = now.UTC()
	c.say(contract.WhatUpdated, keys)
	c.changes.head = true
	c.do(toStore{msg.SummaryChanged{Summary: c.summary()}}, save{})
}

func (c *core) setStatus(now time.Time, s contract.Status) {
	if c.rec.Status != s {
		c.rec.Status = s
		c.patch(now, map[string]any{"status": s})
	}
}

// counters publishes what the list shows of prompts and queue, when it has
// changed.
func (c *core) counters(now time.Time) {
	keys := map[string]any{}
	if n := len(c.perms) + len(c.edits); n != c.said.needsYou {
		c.said.needsYou, keys["needs_you"] = n, n
	}
	if n := len(c.rec.QueuedMessages); n != c.said.queued {
		c.said.queued, keys["queued"] = n, n
	}
	if len(keys) > 0 {
		c.patch(now, keys)
	}
}

// planState publishes whether there is a plan to approve, when it has changed.
func (c *core) planState(now time.Time) {
	if ready := planReady(c.rec, c.busy()); ready != c.said.planReady {
		c.said.planReady = ready
		c.patch(now, map[string]any{patchPlanReady: ready})
	}
}

// patchPlanReady is the key of an updated patch that says whether the last
// answer is a plan that may be approved.
const patchPlanReady = "plan_ready"

// notice adds a system line to the transcript and publishes it.
func (c *core) notice(now time.Time, level contract.Level, text string) {
	m := contract.RecordMessage{ID: c.messageID(), Role: contract.RoleSystem, Content: text, Level: level, Timestamp: now.UnixMilli()}
	c.append(m)
	c.say(contract.WhatNotice, contract.Notice{MessageID: m.ID, Level: level, Text: text})
	c.do(save{})
}

func (c *core) messageID() string {
	c.rec.MessageCounter++
	c.changes.head = true
	return "m-" + strconv.FormatUint(c.rec.MessageCounter, 10)
}

func (c *core) append(m contract.RecordMessage) {
	c.rec.Messages = append(c.rec.Messages, m)
	c.changes.put(len(c.rec.Messages) - 1)
}

// summary is what a list shows.
func (c *core) summary() contract.Summary {
	s := Summary(c.rec)
	s.NeedsYou = len(c.perms) + len(c.edits)
	s.Health = c.health
	return s
}

// remember keeps who answered a prompt, for the ones who come late.
func (c *core) remember(id string, by contract.DecidedBy) {
	const most = 512
	if _, ok := c.answered[id]; !ok {
		c.order = append(c.order, id)
	}
	c.answered[id] = by
	if len(c.order) > most {
		delete(c.answered, c.order[0])
		c.order = c.order[1:]
	}
}

// asksAgain forgets an answer: an engine counts its requests per process, so an
// old id may be a new question.
func (c *core) asksAgain(id string) {
	if _, known := c.answered[id]; known {
		delete(c.answered, id)
		c.order = slices.DeleteFunc(c.order, func(s string) bool { return s == id })
	}
}

// audit records one decision.
func (c *core) audit(now time.Time, p call, decision string) {
	c.audits++
	turn := contract.TurnID("")
	var sources []contract.Source
	if c.live != nil {
		turn, sources = c.live.id, c.live.tainted
	}
	if sources == nil {
		sources = []contract.Source{}
	}
	c.do(toStore{msg.AppendAudit{Entry: contract.AuditEntry{
		ID:        string(c.id) + "/" + string(turn) + "/" + p.id + "/" + strconv.FormatUint(c.audits, 10),
		Timestamp: now.UnixMilli(), ConversationID: string(c.id), ToolID: p.id,
		Action: p.name, Target: target(p.arguments), Decision: decision,
		EffectivePolicy: policy(c.posture(), len(sources) > 0), SourceChain: slices.Clone(sources),
	}}})
}

func (c *core) posture() contract.Posture {
	mode := c.rec.PermissionMode
	if !mode.Valid() {
		mode = contract.ModeAskForRisky
	}
	return contract.Posture{PlanMode: c.rec.PlanMode, PermissionMode: mode, ApproveWrites: c.rec.ApproveWrites}
}

// setPosture publishes a new posture and tells the running turn.
func (c *core) setPosture(now time.Time, p contract.Posture) {
	from := c.posture()
	c.putPosture(now, p)
	c.tellPosture(from, p)
}

// putPosture is setPosture for a posture that the host knows already.
func (c *core) putPosture(now time.Time, p contract.Posture) {
	c.rec.PlanMode, c.rec.PermissionMode, c.rec.ApproveWrites = p.PlanMode, p.PermissionMode, p.ApproveWrites
	c.rec.UpdatedAt = now.UnixMilli()
	c.changes.head = true
	c.say(contract.WhatPostureChanged, p)
	if c.live != nil && c.live.started {
		c.do(toTurn{msg.PostureNow{Posture: p}})
	}
	c.planState(now)
	c.do(save{})
}

// quiet reports whether nothing needs this conversation's process.
func (c *core) quiet() bool {
	return c.live == nil && len(c.perms) == 0 && len(c.edits) == 0 && (c.rec == nil || len(c.rec.QueuedMessages) == 0)
}

// Summary is the list entry of a record at rest.
func Summary(r *contract.Record) contract.Summary {
	s := contract.Summary{
		SessionID: r.ID, Title: r.Title, Row: r.Agent, Provider: r.Provider, Model: r.Model,
		ProjectPath: r.ProjectPath, Status: r.Status, Archived: r.Archived, Pinned: r.Pinned,
		CreatedAt: moment(r.CreatedAt), UpdatedAt: moment(r.UpdatedAt),
		Queued: len(r.QueuedMessages),
	}
	if r.ParentConversationID != "" {
		parent := r.ParentConversationID
		s.ParentSessionID = &parent
	}
	s.Worktree = contract.DecodeWorktree(r.Worktree)
	s.RetiredNotice, _ = contract.Retired(r.Agent)
	return s
}

// moment is a time of a file. One that RFC 3339 cannot write, which only a
// damaged file holds, counts as not known.
func moment(ms int64) time.Time {
	t := time.UnixMilli(ms).UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return time.UnixMilli(0).UTC()
	}
	return t
}
