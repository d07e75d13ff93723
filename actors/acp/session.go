package acp

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// session is the live half of one conversation: what the engine knows it by and
// where it stands there. It begins with the wish for it, before the engine has
// an id, so that an answer never meets an unknown conversation.
type session struct {
	conv contract.ConversationID
	// engineID is the engine's own id; it never leaves this package as a name.
	engineID string
	cwd      string
	// model and posture are what is wanted; an engine that binds them at
	// session/new gets them with the next one.
	model   string
	posture contract.Posture
	// mcp is frozen: set once, with the first wish.
	mcp mcpPosture
	// adopt says that the engine holds history that we do not have: it must be
	// found there, or the conversation does not begin.
	adopt bool

	// resident says that the running engine has the session in memory.
	resident bool
	// began says that the engine has had it once.
	began bool
	// open says that the session is wanted although no turn is.
	open bool
	// request is the attaching or setting that is on its way, 0 for none.
	request uint64
	// gone says that the conversation has let go; late answers are undone.
	gone bool

	turn     *turn
	stream   stream
	settings settings
	commands []Command
	// usage is nil while the totals of the session are not known.
	usage *Usage
	// bound is the mode that packetcode has bound with session/new.
	bound    string
	lastUsed uint64

	shown   standing
	noticed bool
	// refused are the settings that the engine would not change, by their id:
	// it is asked once.
	refused map[string]bool
}

// modelInUse is the model of a session: what the engine reports, else what was
// asked for, else the engine's first one, which is its default. Empty when none
// of them is known.
func (s *session) modelInUse(listed []contract.Model) string {
	switch {
	case s.settings.model.current != "":
		return s.settings.model.current
	case s.model != "":
		return s.model
	case len(listed) > 0:
		return listed[0].Value
	}
	return ""
}

// prompt is what a person sends.
type prompt struct {
	text   string
	images []contract.Attachment
}

// turn is the turn in flight of one session.
type turn struct {
	id     contract.TurnID
	prompt prompt
	// request is the id of session/prompt, 0 until it was sent.
	request uint64
	// stopBy is when the engine must have answered a cancel; zero before one.
	stopBy time.Time
	// why replaces the end that the engine reports: the turn took too long.
	why  string
	used *turnUsage
	// heard says that something of it was published, again that it was sent a
	// second time: the engine had forgotten the session.
	heard, again bool
}

// running says that the engine works on the turn.
func (t *turn) running() bool { return t != nil && t.request != 0 }

// stopping says that the engine was told to cancel it.
func (t *turn) stopping() bool { return t != nil && !t.stopBy.IsZero() }

// attachParams are the parameters of session/new, load and resume. The field
// mcpServers is left out, [] or a list; see mcpPosture.field.
type attachParams struct {
	SessionID  string          `json:"sessionId,omitempty"`
	CWD        string          `json:"cwd"`
	MCPServers json.RawMessage `json:"mcpServers,omitempty"`
	Packetcode *overrides      `json:"_packetcode,omitempty"`
}

// overrides are packetcode's own parameters of session/new. A provider is never
// sent. Source: acp.md 7.
type overrides struct {
	Model          string `json:"model,omitempty"`
	PermissionMode string `json:"permissionMode,omitempty"`
}

// attach is how a session gets into the engine's memory: found again where the
// engine can do that, else new. lost says that an earlier one is given up.
func (s *session) attach(c capabilities) (method string, params attachParams, lost bool) {
	params = attachParams{CWD: s.cwd, MCPServers: s.mcp.field()}
	switch {
	case s.engineID != "" && c.resume:
		method = methodResume
	case s.engineID != "" && c.loadSession:
		method = methodLoad
	default:
		lost = s.engineID != ""
		if c.packetcode.advertised {
			o := overrides{Model: s.model}
			o.PermissionMode, _ = c.packetcode.override(s.posture)
			if o != (overrides{}) {
				params.Packetcode = &o
			}
		}
		return methodNew, params, lost
	}
	params.SessionID = s.engineID
	return method, params, false
}

// blocks are the content of a prompt. Source: acp.md 2.1.
func (p prompt) blocks() []any {
	type textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type imageBlock struct {
		Type     string `json:"type"`
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
	}
	var out []any
	if p.text != "" || len(p.images) == 0 {
		out = append(out, textBlock{"text", p.text})
	}
	for _, i := range p.images {
		out = append(out, imageBlock{"image", i.MediaType, i.DataBase64})
	}
	return out
}

// setting is one wish that is not met: what has to be asked for, and of which
// choice.
type setting struct {
	of     *choice
	legacy *choice
	method string // Of the older shape.
	key    string // Its parameter.
	what   string // For a sentence.
	id     string
}

// wish is the next setting that the engine has to be asked for before a prompt,
// nil when all are as wanted, cannot be had or were refused. Source: acp.md 5.1
// and 6.3.
func (s *session) wish(words *vocabulary) *setting {
	if id := s.model; id != "" && id != s.settings.model.current && s.settings.model.offers(id) && !s.refused["model "+id] {
		return &setting{&s.settings.model, &s.settings.legacyModel, methodSetModel, "modelId", "model", id}
	}
	if id := words.choose(s.posture, s.settings.mode.ids); id != "" && id != s.settings.mode.current && !s.refused["mode "+id] {
		return &setting{&s.settings.mode, &s.settings.legacyMode, methodSetMode, "modeId", "mode", id}
	}
	return nil
}

// request is the method and parameters that ask for a setting.
func (w setting) request(engineID string) (string, map[string]string) {
	if w.of.option != "" {
		return methodSetOption, map[string]string{"sessionId": engineID, "configId": w.of.option, "value": w.id}
	}
	return w.method, map[string]string{"sessionId": engineID, w.key: w.id}
}

// standBound is what the chip has to show for packetcode, whose mode is bound
// when a session begins. Offered says that the next one could have what is
// wanted.
func (s *session) standBound(offered bool) standing {
	st := standing{mode: s.bound, label: rungLabel(s.bound), later: offered}
	if s.bound == rung(s.posture) {
		return standing{mode: s.bound, label: postureLabel(s.posture), honoured: true}
	}
	return st
}

// stand is what the chip has to show for an engine that names its modes.
func (s *session) stand(words *vocabulary) standing {
	current := s.settings.mode.current
	st := standing{mode: current, label: labelDefault}
	if current != "" {
		st.label = s.settings.mode.name(current)
		if words.choose(s.posture, s.settings.mode.ids) == current {
			st.honoured = true
			if !slices.Contains(words.own, current) {
				st.label = postureLabel(s.posture)
			}
		}
	}
	return st
}
