package conversation

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
)

// This file is the core's half of a conversation whose turns run in a host
// (msg/host.go): what opens a session, what is told to it, what its end means.

type (
	// hostTurn asks for the host, and for what opening a session needs.
	hostTurn struct{}
	// toHost sends a message to the host of the open session.
	toHost struct{ message any }
)

// session is the live half of an owned session; the persisted half is the
// record's resume handle. It ends with the host, with close and with sleep.
type session struct {
	// resident: the host has it, or is opening it.
	resident bool
	// ref numbers the settings; undo takes back those that are not answered.
	ref  uint64
	undo map[uint64]func(time.Time)
}

// rowOf is the row of a provider. The sidecar's echo, through which transports
// are tested and measured, is no row of the picker.
func rowOf(p contract.ProviderID) (contract.Row, error) {
	if p == contract.ProviderEcho {
		return contract.Row{Label: "Echo (tests)", Provider: p, Transport: contract.TransportSidecar}, nil
	}
	return contract.RowForProvider(p)
}

// transport is who serves the turns: the stored owner decides, the provider is
// looked at for a file that names none (contract.md 6.2).
func (c *core) transport() contract.Transport {
	if c.rec.Owner != "" {
		return c.rec.Owner
	}
	row, err := rowOf(c.rec.Provider)
	if err != nil {
		return contract.TransportInProcess
	}
	return row.Transport
}

func (c *core) hosted() bool {
	return c.rec != nil && !c.oneShotOnly && c.transport() != contract.TransportInProcess
}

// hostSend is the running turn as a host gets it.
func (c *core) hostSend() msg.HostSend {
	s := msg.HostSend{Conversation: c.id, Turn: c.live.id, Attachments: c.live.images, Retry: c.live.again}
	if i := c.lastUser(); i >= 0 {
		s.Text = c.rec.Messages[i].Content
	}
	return s
}

// lastUser is the index of the last user message, -1 for none.
func (c *core) lastUser() int {
	for i := len(c.rec.Messages) - 1; i >= 0; i-- {
		if c.rec.Messages[i].Role == contract.RoleUser {
			return i
		}
	}
	return -1
}

// hostSession is what opens the session: what was frozen at the launch, and
// what came before the message that the turn is about.
func (c *core) hostSession() msg.HostSession {
	r := c.rec
	resume := r.ResumeToken
	if c.transport() == contract.TransportACP {
		resume = r.EngineSessionID
	}
	s := msg.HostSession{
		Provider: r.Provider, Model: r.Model, System: r.SystemPrompt, Project: r.ProjectPath,
		Thinking: r.ThinkingEnabled, Posture: c.posture(), AllowedTools: slices.Clone(r.AllowedTools),
		Servers: given(r.EnabledMCPServerIDs), Trust: r.MCPTrustSnapshot, Resume: resume, Adopt: r.EngineAdopt,
	}
	if i := c.lastUser(); i >= 0 {
		s.Transcript = earlier(r.Messages[:i])
	}
	return s
}

// given undoes what allowed did to an empty list.
func given(names []string) []string {
	if names == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
}

// The bounds of a transcript that a session is opened with, in messages and
// characters. Source: contract.md 6.5.
const (
	transcriptMessages = 80
	transcriptChars    = 120_000
	digestInput        = 800
	digestResult       = 4_000
)

// earlier is what a program that has lost a session is told of it: the
// newest messages, oldest first. Lines of the service are for people.
func earlier(history []contract.RecordMessage) []contract.ResumeMessage {
	var out []contract.ResumeMessage
	chars := 0
	for i := len(history) - 1; i >= 0 && len(out) < transcriptMessages; i-- {
		m := &history[i]
		if m.IsStreaming || m.Level != "" {
			continue
		}
		text := strings.TrimSpace(m.Content + digest(m.ToolCalls))
		if text == "" {
			continue
		}
		if chars += len([]rune(text)); chars > transcriptChars {
			break
		}
		out = append(out, contract.ResumeMessage{Role: m.Role, Content: text})
	}
	slices.Reverse(out)
	return out
}

// digest tells of the calls of a message in a few lines each.
func digest(calls []contract.RecordCall) string {
	var b strings.Builder
	for i := range calls {
		t := &calls[i]
		b.WriteString("\n\n[tool " + t.Name + "]\ninput: " + clipRunes(t.Input, digestInput))
		word := "result: "
		if t.Status == contract.ToolError {
			word = "failed: "
		}
		b.WriteString("\n" + word + clipRunes(t.FullContent, digestResult))
	}
	return b.String()
}

// opened notes that the turn is with the program.
func (c *core) opened(turn contract.TurnID) bool {
	return c.live != nil && c.live.id == turn && !c.live.ended
}

// refused takes a turn that the host did not begin. A session that is not open
// there any more is opened again, once.
func (c *core) refused(now time.Time, m msg.HostRefused) {
	if !c.opened(m.Turn) {
		return
	}
	c.session.resident = false
	switch {
	case c.live.cancelled:
		c.apply(now, contract.Done{Cancelled: true})
		c.closed(now, m.Turn, nil)
	case m.Gone && !c.live.reopened:
		c.live.reopened, c.live.started = true, false
		c.do(hostTurn{})
	default:
		c.failTurn(now, m.Turn, m.Text)
	}
}

// lost takes the end of the host that had the session. Everything it had said
// lies behind us by now. An idle conversation hears of it like a busy one when
// the sidecar died, and only a busy one when an engine did (contract.md 7, 7.1).
func (c *core) lost(now time.Time, reason string) {
	c.session.resident = false
	c.session.undo = nil
	text, acp := c.ended(reason), c.acp()
	switch {
	case c.live != nil:
		// Also a turn that was not with the host yet: everybody who owned a
		// session hears of its end in the same way.
		c.failTurn(now, c.live.id, text)
		c.happened(now, contract.LevelWarning, "The program behind this conversation ended in the middle of the turn. What it had not said yet is lost; everything above is kept, and your next message continues from here.")
	case !acp:
		c.emit(contract.Error{Message: text})
		c.happened(now, contract.LevelInfo, "The program behind this conversation ended while nothing ran. Nothing is lost; your next message continues from here.")
	}
}

// resumeBy keeps the handle by which the session is opened next time.
func (c *core) resumeBy(now time.Time, handle string) {
	at := &c.rec.ResumeToken
	if c.transport() == contract.TransportACP {
		at = &c.rec.EngineSessionID
	}
	if i := c.lastUser(); c.acp() && *at == "" && i > 0 && len(earlier(c.rec.Messages[:i])) > 0 {
		// They were made elsewhere, or the engine was told to forget them.
		c.notice(now, contract.LevelInfo, textAnew)
	}
	if *at != handle || c.rec.EngineAdopt {
		*at, c.rec.EngineAdopt = handle, false
		c.changes.head = true
		c.do(save{now: true})
	}
}

// closeSession ends the session; the conversation and its file stay.
func (c *core) closeSession() {
	if c.session.resident {
		c.session.resident, c.session.undo = false, nil
		c.do(toHost{msg.HostClose{Conversation: c.id}})
	}
}

// hostSet tells the host of a changed setting; undo runs if it does not take
// it. A session that is not open gets the setting when it is opened.
func (c *core) hostSet(s msg.HostSet, undo func(time.Time)) {
	if !c.hosted() || !c.session.resident {
		return
	}
	c.session.ref++
	s.Conversation, s.Ref = c.id, c.session.ref
	if c.session.undo == nil {
		c.session.undo = map[uint64]func(time.Time){}
	}
	c.session.undo[s.Ref] = undo
	c.do(toHost{s})
}

// replied takes the answer to a setting. It reports whether the setting was
// still waited for; one that the program did not take is as it was before.
func (c *core) replied(now time.Time, m msg.HostReply) bool {
	undo, ok := c.session.undo[m.Ref]
	if !ok {
		return false
	}
	delete(c.session.undo, m.Ref)
	if m.Text != "" {
		undo(now)
	}
	return true
}

// tellPosture tells the host what changed of the posture.
func (c *core) tellPosture(from, to contract.Posture) {
	s := msg.HostSet{}
	if from.PlanMode != to.PlanMode || from.PermissionMode != to.PermissionMode {
		s.Mode = &to
	}
	if from.ApproveWrites != to.ApproveWrites {
		s.ApproveWrites = &to.ApproveWrites
	}
	if s.Mode == nil && s.ApproveWrites == nil {
		return
	}
	c.hostSet(s, func(now time.Time) {
		if c.posture() == to {
			c.putPosture(now, from)
		}
	})
}

// summed takes the counts of a turn that a host reports: the ledger line, and
// the window's occupancy, which is an estimate because a turn may have asked
// its model several times.
func (c *core) summed(now time.Time, e contract.TurnSummary) {
	row, err := rowOf(c.rec.Provider)
	if err != nil || row.Ledger == "" {
		return
	}
	entry, write, err := llm.Row(string(row.Ledger), llm.RowFacts{
		At: now, Model: c.rec.Model, Provider: c.rec.Provider, SessionID: c.id, Prices: c.prices,
		Counts: llm.TokenCounts{
			Input: e.InputTokens, Output: e.OutputTokens, CacheRead: e.CacheReadInputTokens, CacheWrite5m: e.CacheCreationInputTokens,
		},
	})
	if err != nil || !write {
		return
	}
	line, err := llm.EncodeLedgerRow(entry)
	if err != nil {
		return // Plain numbers and words: cannot fail.
	}
	c.live.summaries++
	c.do(toStore{msg.AppendLedger{Turn: c.live.id, N: c.live.summaries, Line: bytes.TrimSuffix(line, []byte("\n"))}})
	used := contract.ContextUse{Used: entry.InputTokens + entry.OutputTokens, Window: c.window(c.rec.Provider, c.rec.Model), Estimated: true}
	if row.Group != contract.GroupOpenAI { // There the input includes what was cached (contract.md 9).
		used.Used += entry.CacheRead + entry.CacheWrite
	}
	if used.Window == 0 {
		used.Window = 200_000 // Source: runtime.md 9.
	}
	used.Used = min(used.Used, used.Window)
	c.rec.Context = &used
	c.patch(now, map[string]any{contract.PatchContext: used})
}

// hostFacts notes of a settled call of a host what our own tools report
// themselves: its file, and whether its text is somebody else's words. Source:
// tools-permissions.md 9.
func (c *core) hostFacts(e contract.ToolResult) {
	call := c.call(e.ID)
	if call == nil {
		return
	}
	var in struct {
		Command  string `json:"command"`
		URL      string `json:"url"`
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	_ = json.Unmarshal(unwrap(call.Input), &in) // What is not there stays empty.
	facts, known := c.live.calls[e.ID]
	if known {
		call.File = engineFile(facts, c.rec.ProjectPath)
	}
	for _, p := range []string{in.FilePath, in.Notebook, in.Path} {
		if p != "" && call.File == "" && !c.acp() {
			call.File = relative(p, c.rec.ProjectPath)
		}
	}
	if e.IsError && call.DeniedBy != "" {
		return // Our own words.
	}
	source, ok := evidence(call.Name, in.Command, in.URL)
	if c.acp() {
		source, ok = engineEvidence(facts.Kind, call.Name, call.Input)
	}
	if ok {
		c.live.tainted = append(c.live.tainted, source)
		m := c.message()
		m.Evidence = append(m.Evidence, source)
	}
}

// evidence says whether a vendor's tool brings in words of somebody who is
// neither the user nor the project. A tool that nobody here knows may. Source:
// tools-permissions.md 9.
func evidence(name, command, url string) (contract.Source, bool) {
	found := func(origin, locator string) (contract.Source, bool) {
		return contract.Source{Origin: origin, Label: clipRunes(name, 80), Locator: clipRunes(locator, 160)}, true
	}
	switch {
	case strings.HasPrefix(name, "mcp__"):
		parts := strings.SplitN(name, "__", 4)
		return found("mcp", strings.Join(parts[:min(3, len(parts))], "__"))
	case name == "BashOutput":
		return found(tool.OriginUnknown, "")
	case slices.Contains(readNames, name), slices.Contains(editNames, name), slices.Contains(listNames, name):
		return contract.Source{}, false
	case name == "WebFetch", name == "WebSearch", name == "web_fetch", name == "web_search":
		address, _, _ := strings.Cut(url, "?")
		return found(tool.OriginWeb, address)
	case name == "Task", name == "task", name == "spawn_subagent":
		return found("agent", "")
	case command == "":
		return found(tool.OriginUnknown, "")
	case tool.BashFacts(command).Tainting():
		return found(tool.OriginUnknown, strings.Join(strings.Fields(command), " "))
	}
	return contract.Source{}, false
}

// listNames are tools that keep the agent's own list and answer in the SDK's
// own words.
var listNames = []string{"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode", "ExitPlanMode", "task_create", "task_update", "task_list"}

// relative is a tool's own path as everything keyed by a path wants it: below
// the project and with slashes. A path outside stays as it is (contract.md O12).
func relative(path, project string) string {
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(filepath.Clean(path))
	}
	for _, root := range []string{project, real(project)} {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// real is a folder with its links followed, as programs report it.
func real(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	return path
}
