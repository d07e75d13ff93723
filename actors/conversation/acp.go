package conversation

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
)

// This file is what a conversation does differently because an ACP engine runs
// its turns: it keeps history of its own, names its calls freely, and may do
// something else with a posture than it was asked for.

// The words of a person's transcript about an engine.
const (
	textAdopted    = "This conversation was begun in the engine. Its earlier messages are kept there and are not shown here; what follows is kept in both places."
	textAnew       = "The engine begins a new session here: it does not know the messages above."
	textUnreached  = "The engine works with its own instructions and its own tools: the system prompt and the list of tools of this launch do not reach it."
	textNoGate     = "An ACP engine writes its files itself, so PacketBench cannot hold a write back. Choose the posture Manual to decide about each call before it runs."
	textEngineDown = "the part of the service that runs it failed"
)

// acp reports that an engine runs this conversation's turns.
func (c *core) acp() bool {
	return c.rec != nil && !c.oneShotOnly && c.transport() == contract.TransportACP
}

// engineStopped is the error of a turn whose engine has ended. Source: acp.md 11.
func engineStopped(reason string) string {
	if reason = strings.TrimRight(strings.TrimSpace(reason), "."); reason == "" {
		reason = textEngineDown
	}
	return "The engine stopped: " + reason + ". Send again to continue."
}

// ended is the error of a turn whose host has ended.
func (c *core) ended(reason string) string {
	if c.acp() {
		return engineStopped(reason)
	}
	return contract.TextSidecarRestarted
}

// launchedAt says what a person has to know of a launch on an engine: where the
// history of an adopted session is, and what does not reach the engine.
func (c *core) launchedAt(now time.Time) {
	if !c.acp() {
		return
	}
	if c.rec.EngineSessionID != "" {
		c.rec.EngineAdopt = true
		c.notice(now, contract.LevelInfo, textAdopted)
	}
	own := slices.ContainsFunc(c.rec.PromptLayers, func(l contract.RecordLayer) bool {
		return l.Kind == contract.LayerProfile || l.Kind == contract.LayerOverride
	})
	if own || c.rec.AllowedTools != nil {
		c.notice(now, contract.LevelWarning, textUnreached)
	}
}

// noticed reports that a line is in the transcript already.
func (c *core) noticed(text string) bool {
	return slices.ContainsFunc(c.rec.Messages, func(m contract.RecordMessage) bool { return m.Level != "" && m.Content == text })
}

// fromEngine takes what only an engine's host says; false for anything else.
func (c *core) fromEngine(now time.Time, message any) bool {
	switch m := message.(type) {
	case msg.HostCall:
		if c.opened(m.Turn) {
			if c.live.calls == nil {
				c.live.calls = map[string]msg.HostCall{}
			}
			c.live.calls[m.ID] = m
		}
	case msg.HostWithdrawn:
		if c.rec != nil {
			if p := c.unpark(m.ID); p != nil {
				c.settlePrompt(now, p, contract.Deny, contract.ByCancel, auditCancelled)
			}
		}
	case msg.HostUsed:
		if c.rec != nil {
			c.used(now, m)
		}
	case msg.HostMode:
		if c.rec != nil && !c.deleted && (c.mode == nil || *c.mode != m.Mode) {
			mode := m.Mode
			c.mode = &mode
			c.patch(now, map[string]any{contract.PatchEngineMode: mode})
		}
	default:
		return false
	}
	return true
}

// used writes the ledger line of a turn: what an engine reports, whatever has
// become of the turn. Source: contract.md 9.
func (c *core) used(now time.Time, m msg.HostUsed) {
	row, err := rowOf(c.rec.Provider)
	if err != nil || row.Ledger == "" {
		return
	}
	model := m.Model
	if model == "" {
		model = c.rec.Model
	}
	entry, write, err := llm.Row(string(row.Ledger), llm.RowFacts{
		At: now, Model: model, Provider: c.rec.Provider, SessionID: c.id, Prices: c.prices, CostUSD: m.CostUSD,
		Counts: llm.TokenCounts{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite5m: m.CacheWrite},
	})
	if err != nil || !write {
		return
	}
	line, err := llm.EncodeLedgerRow(entry)
	if err != nil {
		return // Plain numbers and words: cannot fail.
	}
	c.do(toStore{msg.AppendLedger{Turn: m.Turn, N: 1, Line: bytes.TrimSuffix(line, []byte("\n"))}})
}

// The kinds of an engine's tools that the gate knows. Source: acp.md 2.2.
const (
	toolRead    = "read"
	toolSearch  = "search"
	toolEdit    = "edit"
	toolExecute = "execute"
	toolFetch   = "fetch"
)

// engineCall is an engine's request as the gate judges it: by its kind and its
// files, since its name is free text, which a model may have written. Without a
// kind the name decides. Source: tools-permissions.md 7.
func engineCall(a msg.Ask, project string) call {
	p := call{id: a.ID, of: a.Call, name: a.Name, arguments: a.Arguments, lasting: a.Lasting, tier: contract.TierBlocking}
	switch a.Kind {
	case "":
		p.rule = a.Name
		p.tier, p.inProject = Tier(a.Name, a.Arguments, project)
	case toolRead:
		p.rule, p.tier = "Read", contract.TierRead
	case toolSearch:
		p.rule, p.tier = "Grep", contract.TierRead
	case toolEdit:
		p.rule = "Write"
		if len(a.Paths) > 0 && !slices.ContainsFunc(a.Paths, func(path string) bool { return !inside(path, project) }) {
			p.tier, p.inProject = contract.TierEdit, true
		}
	case toolExecute:
		p.rule = "Bash"
	}
	if toolName.MatchString(a.Name) {
		p.session = strings.TrimSpace(a.Kind + " " + a.Name)
	}
	return p
}

// toolName is a name that can stand for a tool. What is allowed for the session
// is a tool: a sentence about one call, or its command, is none, and another
// call could bear it.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// engineFile is the file of an engine's call for its card: the one that a file
// tool names.
func engineFile(f msg.HostCall, project string) string {
	if len(f.Paths) == 1 && (f.Kind == toolRead || f.Kind == toolEdit || f.Kind == "delete") {
		return relative(f.Paths[0], project)
	}
	return ""
}

// engineEvidence is evidence for an engine's call: what its kind says, and where
// that says nothing, its name.
func engineEvidence(kind, name, input string) (contract.Source, bool) {
	var in struct {
		Command json.RawMessage `json:"command"`
		URL     string          `json:"url"`
	}
	_ = json.Unmarshal(unwrap(input), &in) // What is not there stays empty.
	found := func(origin, locator string) (contract.Source, bool) {
		return contract.Source{Origin: origin, Label: clipRunes(name, 80), Locator: clipRunes(locator, 160)}, true
	}
	var line string
	_ = json.Unmarshal(in.Command, &line) // Some engines send a list of words.
	switch kind {
	case toolRead, toolSearch, toolEdit, "delete", "move", "think", "switch_mode":
		return contract.Source{}, false
	case toolFetch:
		address, _, _ := strings.Cut(in.URL, "?")
		return found(tool.OriginWeb, address)
	case toolExecute:
		if line != "" && !tool.BashFacts(line).Tainting() {
			return contract.Source{}, false
		}
		return found(tool.OriginUnknown, strings.Join(strings.Fields(line), " "))
	}
	return evidence(name, line, in.URL)
}
