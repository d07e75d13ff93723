package conversation

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// start creates the conversation, or continues an idle one.
func (c *core) start(now time.Time, p contract.StartParams, o outside) (any, *contract.Failure) {
	if c.rec != nil {
		if c.busy() {
			return nil, contract.Fail(contract.CodeConflict, "%s%s", contract.TextSessionExists, c.id)
		}
		return c.resume(now, p)
	}
	row, failure := c.route(p)
	if failure != nil {
		return nil, failure
	}
	if failure := c.checkStart(p, row, o); failure != nil {
		return nil, failure
	}
	c.rec = newRecord(now, c.id, p, row)
	if c.prepared != nil {
		c.prepared.frozen(c.rec, p)
	}
	if c.rec.SystemPrompt == "" {
		c.rec.SystemPrompt = o.system(p.ProjectPath, row.Transport)
	}
	for _, m := range p.ResumeMessages {
		if strings.TrimSpace(m.Content) == "" {
			continue
		}
		message := contract.RecordMessage{ID: c.messageID(), Role: m.Role, Content: m.Content, Timestamp: now.UnixMilli()}
		if m.Role == contract.RoleAssistant {
			message.Outcome = contract.OutcomeDone
			message.Parts = []contract.RecordPart{{Part: contract.Part{Type: contract.PartText, Length: contract.UTF16Len(m.Content)}}}
		}
		c.append(message)
	}
	c.changes.head = true
	c.say(contract.WhatCreated, c.summary())
	c.do(save{now: true})
	c.launchedAt(now)
	result := contract.StartResult{SessionID: c.id}
	if p.InitialMessage != "" || len(p.Attachments) > 0 {
		c.userMessage(now, c.messageID(), p.InitialMessage, p.Attachments)
		result.TurnID = c.begin(now, p.Attachments, false)
	}
	return result, nil
}

// route finds the row and checks that it belongs to the provider. It is the
// only place that looks at a provider id (contract.md 6.2).
func (c *core) route(p contract.StartParams) (contract.Row, *contract.Failure) {
	if notice, retired := contract.Retired(p.Row); retired {
		return contract.Row{}, contract.Fail(contract.CodeConflict, "%s", notice)
	}
	if p.Provider == "" && p.Row != "" {
		row, err := contract.RowByID(p.Row)
		if err != nil {
			return contract.Row{}, contract.BadParam("row", "%s", plain(err))
		}
		return row, nil
	}
	row, err := rowOf(p.Provider)
	if err != nil {
		// Whoever pre-allocated the id and subscribed hears it there too.
		c.emit(contract.Error{Message: plain(err)})
		return contract.Row{}, contract.Fail(contract.CodeBadParams, "%s", plain(err))
	}
	if p.Row != "" {
		named, err := contract.RowByID(p.Row)
		if err != nil {
			return contract.Row{}, contract.BadParam("row", "%s", plain(err))
		}
		if named.Provider != row.Provider && named.ID != row.ID {
			return contract.Row{}, contract.BadParam("row", "%s belongs to provider %s, not to %s", named.ID, named.Provider, p.Provider)
		}
	}
	return row, nil
}

// plain strips the room from an error for a person.
func plain(err error) string {
	text, _ := strings.CutPrefix(err.Error(), "contract: ")
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

func (c *core) checkStart(p contract.StartParams, row contract.Row, o outside) *contract.Failure {
	engine := row.Transport == contract.TransportACP
	if strings.TrimSpace(p.Model) == "" && !engine { // An engine has one of its own.
		return contract.BadParam("model", "must not be empty")
	}
	if p.ApproveWrites && engine {
		return contract.Fail(contract.CodeConflict, "%s", textNoGate)
	}
	if p.EngineSessionID != "" && !engine {
		return contract.BadParam("engine_session_id", "goes with the row of an ACP engine only")
	}
	if p.PermissionMode != "" && !p.PermissionMode.Valid() {
		return contract.Fail(contract.CodeBadParams, "Unknown permission mode: %s", clipRunes(string(p.PermissionMode), 40))
	}
	if len(p.SSHConfig) > 0 && string(p.SSHConfig) != "null" {
		return contract.Fail(contract.CodeConflict, "SSH projects are not part of this version of PacketBench. Choose a local folder.")
	}
	if p.Worktree && !c.desk {
		return contract.Fail(contract.CodeConflict, "Worktrees cannot be made here. Start in the project folder itself.")
	}
	if len(p.EnabledMCPServerIDs) > 0 && row.Transport == contract.TransportInProcess {
		return contract.Fail(contract.CodeConflict, "MCP server '%s' is not available: the turn loop of this version of PacketBench has no MCP. Choose a row of an agent SDK.", clipRunes(p.EnabledMCPServerIDs[0], 80))
	}
	if len([]rune(p.Title)) > maxTitle {
		return contract.BadParam("title", "want at most %d characters", maxTitle)
	}
	for i, m := range p.ResumeMessages {
		if m.Role != contract.RoleUser && m.Role != contract.RoleAssistant && m.Role != contract.RoleSystem {
			return contract.BadParam("resume_messages", "entry %d: want role user, assistant or system", i)
		}
	}
	if p.InitialMessage != "" || len(p.Attachments) > 0 {
		if failure := checkText("initial_message", p.InitialMessage, p.Attachments); failure != nil {
			return failure
		}
	}
	if err := o.checkProject(p.ProjectPath); err != nil {
		return contract.BadParam("project_path", "%s", err)
	}
	return nil
}

// mayRun refuses what would begin a turn that nothing here can serve: on a
// retired row, or without its folder. Such a conversation stays readable.
func (c *core) mayRun(now time.Time) *contract.Failure {
	if failure := c.mayRunRow(now); failure != nil {
		return failure
	}
	return c.worktreeGone()
}

// mayRunRow is mayRun for the row alone.
func (c *core) mayRunRow(now time.Time) *contract.Failure {
	if notice, retired := contract.Retired(c.rec.Agent); retired {
		if !c.rec.RetiredNoticed {
			c.rec.RetiredNoticed = true
			c.notice(now, contract.LevelWarning, notice)
		}
		return contract.Fail(contract.CodeConflict, "%s", notice)
	}
	return nil
}

func newRecord(now time.Time, id contract.ConversationID, p contract.StartParams, row contract.Row) *contract.Record {
	mode := p.PermissionMode
	if mode == "" {
		mode = contract.ModeAskForRisky
	}
	title := strings.TrimSpace(p.Title)
	if title == "" {
		title = titleOf(p.InitialMessage)
	}
	return &contract.Record{
		ID: id, Title: title, Agent: row.ID, Mode: "api", Provider: row.Provider, Model: strings.TrimSpace(p.Model),
		ProjectPath: p.ProjectPath, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli(), Status: contract.StatusIdle,
		PlanMode: p.PlanMode, PermissionMode: mode, ApproveWrites: p.ApproveWrites, ThinkingEnabled: p.ThinkingEnabled,
		AllowedTools: allowed(p.AllowedTools), AllowPatterns: slices.Clone(p.AllowPatterns),
		MCPTrustSnapshot: snapshot(p.MCPTrustSnapshot), SystemPrompt: p.SystemPromptOverride, Owner: row.Transport, EnabledMCPServerIDs: allowed(p.EnabledMCPServerIDs),
		ResumeToken: p.ResumeToken, EngineSessionID: p.EngineSessionID, Messages: []contract.RecordMessage{},
	}
}

// snapshot keeps a trust snapshot; null is none, which an empty list is not.
func snapshot(raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}

// allowed keeps "no tool at all" apart from "every tool": an empty list is left
// out of the file and would be read back as none given. No tool has a blank
// name.
func allowed(tools []string) []string {
	if tools != nil && len(tools) == 0 {
		return []string{""}
	}
	return slices.Clone(tools)
}

// titleOf is the first line of the first message, cut at a word.
func titleOf(text string) string {
	const most = 60
	line := ""
	for l := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(l), " "); line != "" {
			break
		}
	}
	if line == "" {
		return "New conversation"
	}
	if runes := []rune(line); len(runes) > most {
		cut := string(runes[:most])
		if i := strings.LastIndexByte(cut, ' '); i > most/2 {
			cut = cut[:i]
		}
		return strings.TrimRight(cut, " ,.;:") + "..."
	}
	return line
}

// resume continues an idle conversation: same id, the new text as its next
// message. What was frozen at its first start stays frozen.
func (c *core) resume(now time.Time, p contract.StartParams) (any, *contract.Failure) {
	if p.Provider != "" && p.Provider != c.rec.Provider {
		return nil, contract.Fail(contract.CodeConflict, "%s%s. It belongs to provider %s.", contract.TextSessionExists, c.id, c.rec.Provider)
	}
	if strings.TrimSpace(p.InitialMessage) == "" && len(p.Attachments) == 0 {
		return contract.StartResult{SessionID: c.id}, nil
	}
	if failure := checkText("initial_message", p.InitialMessage, p.Attachments); failure != nil {
		return nil, failure
	}
	if model := strings.TrimSpace(p.Model); model != "" {
		c.setModel(now, model)
	}
	result, failure := c.send(now, p.InitialMessage, p.Attachments)
	if failure != nil {
		return nil, failure
	}
	return contract.StartResult{SessionID: c.id, TurnID: result.(contract.SendResult).TurnID}, nil
}
