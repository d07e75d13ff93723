package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

// Rule names one thing that every stream keeps.
type Rule string

// The rules. O numbers are those of contract.md 3.
const (
	// RuleSubject: every subject is one the contract builds, all of one
	// conversation.
	RuleSubject Rule = "subject"
	// RuleKind: a kind the transport never emits is not emitted.
	RuleKind Rule = "kind"
	// RuleShape: required keys are there, unknown ones and nulls are not.
	RuleShape Rule = "shape"
	// RuleKey: a key that the transport never fills is absent.
	RuleKey Rule = "key"
	// RuleText: valid UTF-8, no character cut in half, no empty delta.
	RuleText Rule = "text"
	// RuleSequence: sequence numbers rise (O1).
	RuleSequence Rule = "sequence"
	// RuleTurnID: every event of a turn carries its id in the envelope, and
	// ids rise (O14).
	RuleTurnID Rule = "turn-id"
	// RuleTurn: user-turn, turn-started, events, terminal event, turn-ended.
	RuleTurn Rule = "turn"
	// RuleTerminal: exactly one done or error, nothing of the turn behind it,
	// and the outcome says the same (O2, O14).
	RuleTerminal Rule = "terminal"
	// RuleThinking: a thinking run is closed, once, before text, a tool, a
	// prompt or the end (O4).
	RuleThinking Rule = "thinking"
	// RuleTool: each call is announced once and settled once, before the end
	// (O2, O5).
	RuleTool Rule = "tool"
	// RulePrompt: a prompt follows its prompt-opened and is resolved once,
	// before the end; so is an edit.
	RulePrompt Rule = "prompt"
	// RulePromptID: a prompt has the id of its call.
	RulePromptID Rule = "prompt-id"
	// RuleRefused: a call whose prompt was refused ends as an error.
	RuleRefused Rule = "refused"
	// RuleCounts: done counts the turn.
	RuleCounts Rule = "counts"
	// RuleQueue: a queued message is announced again, with the same id, when
	// its turn comes.
	RuleQueue Rule = "queue"
	// RuleScenario: what a scenario was played for did not happen.
	RuleScenario Rule = "scenario"
	// RuleDivergence: a declared divergence did not occur, or an undeclared
	// one did.
	RuleDivergence Rule = "divergence"
)

// Problem is one broken rule at one event. Seq is 0 when it is about the
// stream as a whole.
type Problem struct {
	Rule    Rule
	Seq     uint64
	Subject string
	Text    string
}

func (p Problem) String() string {
	at := ""
	if p.Subject != "" {
		at = " at " + strconv.FormatUint(p.Seq, 10) + " " + p.Subject
	}
	return string(p.Rule) + at + ": " + p.Text
}

// Check returns what is wrong with the events of one conversation as a window
// saw them, both families together and from the conversation's beginning. The
// last turn may still be running.
func Check(transport contract.Transport, events []contract.Envelope) []Problem {
	c := &checker{transport: transport}
	for _, e := range events {
		c.take(e)
	}
	return c.problems
}

// CheckOneShot returns what is wrong with the events of a one-shot request:
// chunks, then exactly one done or error, and nothing else.
func CheckOneShot(events []contract.Envelope) []Problem {
	c := &checker{transport: contract.TransportInProcess}
	terminal := 0
	for _, e := range events {
		c.at = e
		a, ok := c.common(e)
		switch {
		case !ok:
		case a.Kind != contract.KindChunk && !a.Kind.Terminal():
			c.say(RuleKind, "a one-shot request emits chunk, done and error, not this")
		case terminal > 0:
			c.say(RuleTerminal, "comes after the terminal event")
		}
		if a.Kind.Terminal() {
			terminal++
		}
	}
	c.at = contract.Envelope{}
	if terminal == 0 {
		c.say(RuleTerminal, "the request ended without done or error")
	}
	return c.problems
}

// checker is the state of one stream.
type checker struct {
	transport contract.Transport
	problems  []Problem
	at        contract.Envelope
	id        string
	seq       uint64

	lastTurn   uint64
	open       *turn
	mayStart   bool            // A user message or a retry asks for a turn.
	queued     map[string]bool // Message ids announced as queued.
	announced  map[string]bool // Message ids announced as accepted.
	lastOpened string          // The prompt-opened that this event must belong to.
}

// turn is the running one.
type turn struct {
	id       contract.TurnID
	terminal contract.Event
	thinking bool
	calls    map[string]*call
	prompts  map[string]*prompt
	edits    map[string]*prompt
}

type call struct{ settled, refused bool }

type prompt struct{ resolved bool }

func (c *checker) say(r Rule, format string, args ...any) {
	p := Problem{Rule: r, Text: fmt.Sprintf(format, args...)}
	p.Seq, p.Subject = c.at.Seq, c.at.Subject
	c.problems = append(c.problems, p)
}

// common checks what holds for every event, and reports whether it can be
// looked at further.
func (c *checker) common(e contract.Envelope) (contract.Address, bool) {
	if e.Seq <= c.seq {
		c.say(RuleSequence, "sequence %d follows %d", e.Seq, c.seq)
	}
	c.seq = max(c.seq, e.Seq)
	a, err := contract.ParseSubject(e.Subject)
	if err != nil || a.Kind == "" && a.What == "" {
		c.say(RuleSubject, "is no subject of a conversation")
		return a, false
	}
	if c.id == "" {
		c.id = a.ID
	}
	if a.ID != c.id {
		c.say(RuleSubject, "belongs to %s, the stream to %s", a.ID, c.id)
		return a, false
	}
	name := string(a.Kind) + string(a.What)
	t, known := payloads[name]
	if !known {
		c.say(RuleSubject, "is no member of the family")
		return a, false
	}
	if !utf8.Valid(e.Data) {
		c.say(RuleText, "the payload is not valid UTF-8")
	}
	if halfCharacter(e.Data) {
		c.say(RuleText, "the payload holds half of a surrogate pair")
	}
	wrong := shape(e.Data, t)
	for _, w := range wrong {
		c.say(RuleShape, "%s", w)
	}
	return a, len(wrong) == 0
}

// halfCharacter reports whether raw escapes a surrogate that has no partner:
// a delta that ends inside a character.
func halfCharacter(raw []byte) bool {
	unit := func(at int) (rune, bool) {
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		return rune(n), err == nil
	}
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		u, ok := unit(i)
		if !ok {
			i += 2
			continue
		}
		i += 6
		if u < 0xd800 || u > 0xdfff {
			continue
		}
		low, ok := unit(i)
		if u > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}

func (c *checker) take(e contract.Envelope) {
	c.at = e
	opened := c.lastOpened
	c.lastOpened = ""
	a, ok := c.common(e)
	if opened != "" && a.Kind != contract.KindPermissionRequest {
		c.say(RulePrompt, "stands between prompt-opened %s and its permission-request", opened)
	}
	if !ok {
		return
	}
	if a.What != "" {
		c.conversation(a.What, e)
		return
	}
	event, err := contract.Decode(a.Kind, e.Data)
	if err != nil {
		c.say(RuleShape, "%v", err)
		return
	}
	c.divergent(event, e.Data)
	c.agent(event, e, opened)
}

// divergent checks what the transport never does.
func (c *checker) divergent(event contract.Event, raw json.RawMessage) {
	kind := string(event.Kind())
	if d, never := declared(c.transport, kind); never {
		c.say(RuleKind, "the transport never emits %s: %s", kind, d.Reason)
	}
	if len(raw) == 0 || bytes.TrimSpace(raw)[0] != '{' {
		return
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return
	}
	for _, name := range sortedKeys(keys) {
		if d, never := declared(c.transport, kind+"."+name); never {
			c.say(RuleKey, "the transport never fills %s: %s", name, d.Reason)
		}
	}
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c *checker) agent(event contract.Event, e contract.Envelope, opened string) {
	t := c.open
	if t == nil {
		switch event.(type) {
		case contract.MCPSources:
			return // Repeats at each start of a session, not of a turn (O13).
		case contract.Error:
			if e.Turn == "" {
				return // A start that was refused.
			}
		}
		c.say(RuleTurn, "is emitted outside a turn")
		return
	}
	if e.Turn != t.id {
		c.say(RuleTurnID, "the envelope says turn %q, the running one is %s", e.Turn, t.id)
	}
	if t.terminal != nil {
		c.say(RuleTerminal, "comes after %s", t.terminal.Kind())
		return
	}
	switch event := event.(type) {
	case contract.Chunk:
		c.closedThinking()
		if event == "" {
			c.say(RuleText, "the delta is empty")
		}
	case contract.Thinking:
		t.thinking = true
		if event.Text == "" {
			c.say(RuleText, "the delta is empty")
		}
	case contract.ThinkingStop:
		if !t.thinking {
			c.say(RuleThinking, "no thinking run is open")
		}
		t.thinking = false
	case contract.ToolStart:
		c.closedThinking()
		if t.calls[event.ID] != nil {
			c.say(RuleTool, "call %s is announced twice", event.ID)
			return
		}
		t.calls[event.ID] = &call{}
	case contract.ToolResult:
		c.settle(event)
	case contract.PermissionRequest:
		c.closedThinking()
		if opened != event.ID {
			c.say(RulePrompt, "prompt %s does not follow its prompt-opened", event.ID)
		}
		c.asksFor(event.ID)
	case contract.PendingEdit:
		c.closedThinking()
		if t.edits[event.ID] != nil {
			c.say(RulePrompt, "edit %s is raised twice", event.ID)
			return
		}
		t.edits[event.ID] = &prompt{}
		c.asksFor(event.ID)
	case contract.EditBaseline:
		// The Claude SDK may not know the call's id.
		if event.ID != "" || c.transport == contract.TransportInProcess {
			c.running(event.ID)
		}
	case contract.ToolOutputExtended:
		if t.calls[event.ID] == nil {
			c.say(RuleTool, "call %s was never announced", event.ID)
		}
	case contract.RateLimited:
		if s := event.RetryAfterSeconds; s != nil && *s < 0 {
			c.say(RuleShape, "retry_after_seconds: is negative")
		}
	case contract.Done:
		c.end(event)
		c.counts(event)
	case contract.Error:
		c.end(event)
		if strings.TrimSpace(event.Message) == "" {
			c.say(RuleTerminal, "the error says nothing")
		}
	case contract.PlanBlock, contract.TurnSummary, contract.MCPSources:
	}
}

func (c *checker) closedThinking() {
	if c.open.thinking {
		c.say(RuleThinking, "comes before the thinking-stop of the run that is open")
		c.open.thinking = false
	}
}

// asksFor checks that a prompt belongs to a running call.
func (c *checker) asksFor(id string) {
	if _, other := declared(c.transport, string(RulePromptID)); other {
		return
	}
	if k := c.open.calls[id]; k == nil || k.settled {
		c.say(RulePromptID, "no running call has the id %s", id)
	}
}

func (c *checker) running(id string) {
	if k := c.open.calls[id]; k == nil || k.settled {
		c.say(RuleTool, "call %s is not running", id)
	}
}

func (c *checker) settle(r contract.ToolResult) {
	k := c.open.calls[r.ID]
	switch {
	case k == nil:
		c.say(RuleTool, "call %s was never announced", r.ID)
		return
	case k.settled:
		c.say(RuleTool, "call %s is settled twice", r.ID)
		return
	}
	k.settled = true
	if k.refused && !r.IsError {
		c.say(RuleRefused, "call %s was refused and ended without an error", r.ID)
	}
	for what, open := range map[string]map[string]*prompt{"prompt": c.open.prompts, "edit": c.open.edits} {
		if p := open[r.ID]; p != nil && !p.resolved {
			c.say(RulePrompt, "call %s is settled while its %s is open", r.ID, what)
		}
	}
}

// end takes a terminal event: nothing may be open any more (O5).
func (c *checker) end(event contract.Event) {
	c.closedThinking()
	t := c.open
	for _, id := range sortedKeys(t.calls) {
		if !t.calls[id].settled {
			c.say(RuleTool, "call %s is still open", id)
		}
	}
	for _, open := range []map[string]*prompt{t.prompts, t.edits} {
		for _, id := range sortedKeys(open) {
			if !open[id].resolved {
				c.say(RulePrompt, "prompt %s is still open", id)
			}
		}
	}
	t.terminal = event
}

func (c *checker) counts(d contract.Done) {
	if _, zero := declared(c.transport, string(RuleCounts)); zero && d.InputTokens+d.OutputTokens+d.CacheReadInputTokens+d.CacheCreationInputTokens > 0 {
		c.say(RuleCounts, "the transport has no counts of a turn, yet done holds some")
	}
}

// conversation takes an event of the second family.
func (c *checker) conversation(what contract.What, e contract.Envelope) {
	switch what {
	case contract.WhatUserTurn:
		c.userTurn(decode[contract.UserTurn](e))
	case contract.WhatUpdated:
		if _, reload := decode[contract.Patch](e)[contract.PatchReload]; reload {
			c.mayStart = true // A retry has no user message of its own.
		}
	case contract.WhatTurnStarted:
		c.started(decode[contract.TurnStarted](e).TurnID, e)
	case contract.WhatTurnEnded:
		c.ended(decode[contract.TurnEnded](e), e)
	case contract.WhatPromptOpened:
		p := decode[contract.PromptOpened](e)
		c.lastOpened = p.ID
		switch {
		case c.open == nil:
			c.say(RuleTurn, "a prompt is opened outside a turn")
		case c.open.prompts[p.ID] != nil:
			c.say(RulePrompt, "prompt %s is opened twice", p.ID)
		default:
			c.open.prompts[p.ID] = &prompt{}
		}
	case contract.WhatPromptResolved:
		p := decode[contract.PromptResolved](e)
		c.resolved(p.ID, p.By, p.Decision == contract.Deny, func(t *turn) map[string]*prompt { return t.prompts })
	case contract.WhatEditResolved:
		p := decode[contract.EditResolved](e)
		c.resolved(p.ID, p.By, p.Decision == contract.RejectEdit, func(t *turn) map[string]*prompt { return t.edits })
	case contract.WhatCreated, contract.WhatDeleted, contract.WhatQueueChanged, contract.WhatPostureChanged, contract.WhatNotice:
	}
}

// decode reads a payload whose shape was checked already.
func decode[T any](e contract.Envelope) T {
	var v T
	if err := json.Unmarshal(e.Data, &v); err != nil {
		var none T
		return none
	}
	return v
}

func (c *checker) userTurn(u contract.UserTurn) {
	if c.queued == nil {
		c.queued, c.announced = map[string]bool{}, map[string]bool{}
	}
	switch {
	case c.announced[u.MessageID]:
		c.say(RuleQueue, "message %s is announced twice", u.MessageID)
	case u.Queued && c.queued[u.MessageID]:
		c.say(RuleQueue, "message %s is queued twice", u.MessageID)
	case u.Queued:
		c.queued[u.MessageID] = true
	default:
		if c.open != nil {
			c.say(RuleTurn, "message %s is accepted while a turn runs", u.MessageID)
		}
		c.announced[u.MessageID] = true
		c.mayStart = true
	}
}

func (c *checker) started(id contract.TurnID, e contract.Envelope) {
	if c.open != nil {
		c.say(RuleTurn, "turn %s starts while %s runs", id, c.open.id)
	}
	if !c.mayStart {
		c.say(RuleTurn, "turn %s starts without a user message or a retry", id)
	}
	c.mayStart = false
	digits, ok := strings.CutPrefix(string(id), "t-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || n <= c.lastTurn {
		c.say(RuleTurnID, "turn %s does not follow t-%d", id, c.lastTurn)
	}
	c.lastTurn = max(c.lastTurn, n)
	if e.Turn != id {
		c.say(RuleTurnID, "the envelope says turn %q, the payload %s", e.Turn, id)
	}
	c.open = &turn{id: id, calls: map[string]*call{}, prompts: map[string]*prompt{}, edits: map[string]*prompt{}}
}

func (c *checker) ended(p contract.TurnEnded, e contract.Envelope) {
	t := c.open
	if t == nil {
		c.say(RuleTurn, "turn %s ends, and none runs", p.TurnID)
		return
	}
	c.open = nil
	if p.TurnID != t.id {
		c.say(RuleTurnID, "turn %s ends, the running one is %s", p.TurnID, t.id)
	}
	if e.Turn != "" && e.Turn != t.id {
		c.say(RuleTurnID, "the envelope says turn %q, the running one is %s", e.Turn, t.id)
	}
	want := contract.OutcomeInterrupted
	switch terminal := t.terminal.(type) {
	case contract.Done:
		want = contract.OutcomeDone
		if terminal.Cancelled {
			want = contract.OutcomeCancelled
		}
	case contract.Error:
		want = contract.OutcomeError
	}
	switch {
	case t.terminal == nil && p.Outcome != want:
		c.say(RuleTerminal, "the turn ends as %s without done or error", p.Outcome)
	case p.Outcome != want:
		c.say(RuleTerminal, "the turn ends as %s, its last event says %s", p.Outcome, want)
	}
}

func (c *checker) resolved(id string, by contract.DecidedBy, refused bool, of func(*turn) map[string]*prompt) {
	if c.open == nil {
		if by != contract.ByRestart {
			c.say(RulePrompt, "prompt %s is resolved outside a turn", id)
		}
		return
	}
	p := of(c.open)[id]
	switch {
	case p == nil:
		c.say(RulePrompt, "prompt %s was never opened", id)
	case p.resolved:
		c.say(RulePrompt, "prompt %s is resolved twice", id)
	default:
		p.resolved = true
		if k := c.open.calls[id]; k != nil && refused {
			k.refused = true
		}
	}
}
