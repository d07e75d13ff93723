package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// The updates that mean something to us. Source: acp.md 4.
const (
	updateText     = "agent_message_chunk"
	updateThought  = "agent_thought_chunk"
	updateCall     = "tool_call"
	updateProgress = "tool_call_update"
	updatePlan     = "plan"
	updateUser     = "user_message_chunk"
	updateMode     = "current_mode_update"
	updateOptions  = "config_option_update"
	updateCommands = "available_commands_update"
	updateUsage    = "usage_update"
	updateInfo     = "session_info_update"
)

// stream is what translation remembers of one conversation: whether the engine
// is repeating history, whether a run of thoughts is open, and the calls that
// have no result. The zero value is a conversation that has said nothing.
type stream struct {
	replaying bool
	thinking  bool
	open      []*call
	// settled are the calls of this turn that had their result: an engine that
	// sends one twice is heard once.
	settled map[string]bool
	// facts are what the results of the last update have no room for.
	facts []callFacts
}

// callFacts is the kind of a call and the files that it names.
type callFacts struct {
	id, kind string
	paths    []string
}

// call is one tool call as the updates so far have described it.
type call struct {
	id, title, kind string
	input           json.RawMessage
	content         string
	paths           []string
}

// update is one session/update, every field as it came: engines send null for
// what is absent, and other types than they should.
type update struct {
	Kind       json.RawMessage `json:"sessionUpdate"`
	Content    json.RawMessage `json:"content"`
	ToolCallID json.RawMessage `json:"toolCallId"`
	Title      json.RawMessage `json:"title"`
	ToolKind   json.RawMessage `json:"kind"`
	Status     json.RawMessage `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Locations  json.RawMessage `json:"locations"`
	Entries    json.RawMessage `json:"entries"`

	CurrentModeID json.RawMessage `json:"currentModeId"`
	ConfigOptions json.RawMessage `json:"configOptions"`
	Commands      json.RawMessage `json:"availableCommands"`
	Used          json.RawMessage `json:"used"`
	Cost          json.RawMessage `json:"cost"`
	Meta          json.RawMessage `json:"_meta"`
}

// decodeUpdate reads the update of a session/update. It never fails: what is no
// object is an update of no kind.
func decodeUpdate(raw json.RawMessage) update {
	var u update
	if json.Unmarshal(raw, &u) != nil {
		return update{}
	}
	return u
}

// translate turns one update into the events that it implies, and the memory
// that the next one needs. While the engine replays it returns none. An update
// of a kind without events ends a run of thoughts and nothing else.
func translate(s *stream, u update) []contract.Event {
	if s.replaying {
		return nil
	}
	kind := str(u.Kind)
	if kind == "" {
		return nil
	}
	if kind == updateThought {
		said := chunkText(u.Content)
		if said == "" {
			return nil
		}
		s.thinking = true
		return []contract.Event{contract.Thinking{Text: said}}
	}
	events := s.stopThinking()
	switch kind {
	case updateText:
		if said := chunkText(u.Content); said != "" {
			events = append(events, contract.Chunk(said))
		}
	case updateCall, updateProgress:
		events = append(events, s.tool(u)...)
	case updatePlan:
		if items, ok := plan(u.Entries); ok {
			events = append(events, contract.PlanBlock{Items: items})
		}
	}
	return events
}

// stopThinking ends an open run of thoughts, once.
func (s *stream) stopThinking() []contract.Event {
	if !s.thinking {
		return nil
	}
	s.thinking = false
	return []contract.Event{contract.ThinkingStop{}}
}

// end closes what a turn left open and forgets it. With why, each call without
// a result gets a failed one that says so; an empty why is an ordinary end.
func (s *stream) end(why string) []contract.Event {
	events := s.stopThinking()
	if why != "" {
		for _, c := range s.open {
			events = append(events, c.result(why, true))
		}
	}
	s.open, s.settled = nil, nil
	return events
}

// tool is an announcement or an update of a call. Real engines announce with a
// placeholder and complete it later, settle a call in its announcement, or
// update one that was never announced. Source: acp.md 4.1.
func (s *stream) tool(u update) (events []contract.Event) {
	id := str(u.ToolCallID)
	if id == "" || s.settled[id] {
		return nil
	}
	c := s.find(id)
	if c == nil {
		c = &call{id: id}
		s.open = append(s.open, c)
		c.merge(u)
		input := c.inputText()
		events = append(events, contract.ToolStart{ID: id, Name: c.name(), Input: &input})
	} else {
		c.merge(u)
	}
	status := str(u.Status)
	if status != "completed" && status != "failed" {
		return events
	}
	content := c.content
	if content == "" {
		content = outputText(u.RawOutput)
	}
	s.settle(id)
	s.facts = append(s.facts, callFacts{id, c.kind, c.paths})
	return append(events, c.result(content, status == "failed"))
}

func (s *stream) find(id string) *call {
	for _, c := range s.open {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (s *stream) settle(id string) {
	for i, c := range s.open {
		if c.id == id {
			s.open = append(s.open[:i], s.open[i+1:]...)
			break
		}
	}
	if s.settled == nil {
		s.settled = map[string]bool{}
	}
	s.settled[id] = true
}

// merge takes over what an update knows better. An empty input does not replace
// a known one: it is how engines say that they have nothing to add.
func (c *call) merge(u update) {
	if title := strings.TrimSpace(str(u.Title)); title != "" {
		c.title = title
	}
	if kind := strings.TrimSpace(str(u.ToolKind)); kind != "" {
		c.kind = kind
	}
	if !absent(u.RawInput) && (c.input == nil || string(u.RawInput) != "{}") {
		c.input = u.RawInput
	}
	if content := contentText(u.Content); content != "" {
		c.content = content
	}
	for _, p := range paths(u.RawInput, u.Locations, u.Content) {
		if !slices.Contains(c.paths, p) {
			c.paths = append(c.paths, p)
		}
	}
}

// name is the title, else the kind, else the id.
func (c *call) name() string {
	switch {
	case c.title != "":
		return c.title
	case c.kind != "":
		return c.kind
	}
	return c.id
}

func (c *call) inputText() string { return inputText(c.input) }

// inputText is the JSON text of a raw input, {} when there is none.
func inputText(raw json.RawMessage) string {
	if absent(raw) {
		return "{}"
	}
	s, _ := text(raw)
	return s
}

func (c *call) result(content string, failed bool) contract.ToolResult {
	return contract.ToolResult{ID: c.id, Name: c.name(), Content: content, IsError: failed, Input: c.inputText()}
}

// chunkText is the text of a message or thought chunk: content.text, else
// content.content.text.
func chunkText(raw json.RawMessage) string {
	var block struct {
		Text    json.RawMessage `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &block) != nil {
		return ""
	}
	if said := str(block.Text); said != "" {
		return said
	}
	var inner struct {
		Text json.RawMessage `json:"text"`
	}
	if absent(block.Content) || json.Unmarshal(block.Content, &inner) != nil {
		return ""
	}
	return str(inner.Text)
}

// contentText joins the items of a call's content with line ends: the text of
// text blocks, anything else, a diff say, as its JSON.
func contentText(raw json.RawMessage) string {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return ""
	}
	parts := make([]string, 0, len(items))
	for _, item := range items {
		var w struct {
			Content struct {
				Text *string `json:"text"`
			} `json:"content"`
		}
		if json.Unmarshal(item, &w) == nil && w.Content.Text != nil {
			parts = append(parts, *w.Content.Text)
		} else if s, _ := text(item); s != "" && s != "null" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// outputText is what a raw output says: a string, or the string in its output
// or content.
func outputText(raw json.RawMessage) string {
	if s := str(raw); s != "" {
		return s
	}
	var w struct {
		Output  json.RawMessage `json:"output"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &w) != nil {
		return ""
	}
	if s := str(w.Output); s != "" {
		return s
	}
	return str(w.Content)
}

// plan reads the entries of a plan; ok is false when there is no list. An entry
// without a text is left out, a status that is unknown counts as pending.
func plan(raw json.RawMessage) (items []contract.PlanItem, ok bool) {
	var entries []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &entries) != nil {
		return nil, false
	}
	items = []contract.PlanItem{}
	for _, entry := range entries {
		var w struct {
			ID         json.RawMessage `json:"id"`
			EntryID    json.RawMessage `json:"entryId"`
			Content    json.RawMessage `json:"content"`
			Status     json.RawMessage `json:"status"`
			ActiveForm json.RawMessage `json:"activeForm"`
		}
		if json.Unmarshal(entry, &w) != nil || str(w.Content) == "" {
			continue
		}
		status := contract.PlanStatus(str(w.Status))
		if status != contract.PlanInProgress && status != contract.PlanCompleted {
			status = contract.PlanPending
		}
		item := contract.PlanItem{Content: str(w.Content), Status: status, ID: optional(w.ID)}
		if item.ID == nil {
			item.ID = optional(w.EntryID)
		}
		item.ActiveForm = optional(w.ActiveForm)
		items = append(items, item)
	}
	return items, true
}

// optional is a string that may be absent.
func optional(raw json.RawMessage) *string {
	if s := str(raw); s != "" {
		return &s
	}
	return nil
}
