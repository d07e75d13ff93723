package acp

import (
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// The rungs of packetcode, from the strictest question to none. Every engine's
// own words are mapped to them. Source: acp.md 5.1.
const (
	rungAsk         = "ask"
	rungAcceptEdits = "accept-edits"
	rungAuto        = "auto"
	rungReadOnly    = "read-only"
	rungBypass      = "bypass"
)

// rungs are all five, in the order in which an engine that names none counts as
// offering them.
var rungs = []string{rungAsk, rungAcceptEdits, rungAuto, rungReadOnly, rungBypass}

// rung is what a posture asks of an engine. Plan mode wins. An absent mode is
// the strict one (interface.md decision 2), any other word that is unknown the
// engine's own judgement.
func rung(p contract.Posture) string {
	if p.PlanMode {
		return rungReadOnly
	}
	switch string(p.PermissionMode) {
	case "", string(contract.ModeAskForRisky), "manual", "ask":
		return rungAsk
	case string(contract.ModeDenyAll), "deny", "plan", "read-only", "readonly":
		return rungReadOnly // Deliberate: no rung refuses all; this is the safe side.
	case string(contract.ModeAllowAll), "yolo", "bypass":
		return rungBypass
	case "acceptEdits", "accept-edits", "accept_edits":
		return rungAcceptEdits
	}
	return rungAuto
}

// vocabulary is what one family of engines calls the rungs. Our auto is their
// default wherever the engine would otherwise approve by itself what our gate
// asks about (interface.md decision 3); bypass falls back to it too, since the
// gate answers for allow_all.
type vocabulary struct {
	// name is a part of the name in agentInfo, lower case.
	name string
	// words are the modes of a rung, in order of preference.
	words map[string][]string
	// own are words whose meaning is up to the engine's own configuration: the
	// chip shows them instead of ours.
	own []string
}

// vocabularies are those of the engines that we know. Source: the mode ids of
// acp.md 5.1.
var vocabularies = []vocabulary{
	{name: "claude", words: map[string][]string{
		rungAsk: {"default"}, rungAuto: {"default"}, rungReadOnly: {"plan"},
		rungAcceptEdits: {"acceptEdits", "default"}, rungBypass: {"bypassPermissions", "default"},
	}},
	{name: "gemini", words: map[string][]string{
		rungAsk: {"default"}, rungAuto: {"default"}, rungReadOnly: {"plan"},
		rungAcceptEdits: {"autoEdit", "default"}, rungBypass: {"yolo", "default"},
	}},
	{name: "qwen", words: map[string][]string{
		rungAsk: {"default"}, rungAuto: {"default"}, rungReadOnly: {"plan"},
		rungAcceptEdits: {"auto-edit", "default"}, rungBypass: {"yolo", "default"},
	}},
	{name: "opencode", words: map[string][]string{
		rungAsk: {"build"}, rungAuto: {"build"}, rungReadOnly: {"plan"},
		rungAcceptEdits: {"build"}, rungBypass: {"build"},
	}, own: []string{"build"}},
}

// vocabularyOf returns the words of an engine by what it calls itself, nil for
// one that we do not know: its default is left alone.
func vocabularyOf(agent string) *vocabulary {
	agent = strings.ToLower(agent)
	for i := range vocabularies {
		if v := &vocabularies[i]; strings.Contains(agent, v.name) {
			return v
		}
	}
	return nil
}

// choose picks the mode to ask for: the first word of the vocabulary that the
// engine offers. Empty means that no override is sent.
func (v *vocabulary) choose(p contract.Posture, offered []string) string {
	if v == nil {
		return ""
	}
	for _, word := range v.words[rung(p)] {
		if slices.Contains(offered, word) {
			return word
		}
	}
	return ""
}

// override is the permission mode of packetcode's session/new: the rung, or
// empty when the engine does not offer it. Honoured is false when it differs
// from what was asked.
func (x extensions) override(p contract.Posture) (mode string, honoured bool) {
	if m := rung(p); slices.Contains(x.permissionModes, m) {
		return m, true
	}
	return "", false
}

// offered are the permission modes of ours that an engine with these rungs
// will honour, and whether it has a plan mode.
func offered(permissionModes []string) (modes []contract.PermissionMode, planMode bool) {
	modes = []contract.PermissionMode{}
	for _, m := range []contract.PermissionMode{contract.ModeAuto, contract.ModeAskForRisky, contract.ModeDenyAll, contract.ModeAllowAll} {
		if slices.Contains(permissionModes, rung(contract.Posture{PermissionMode: m})) {
			modes = append(modes, m)
		}
	}
	return modes, slices.Contains(permissionModes, rungReadOnly)
}

// postureLabel is what the chip calls a posture. Source: ui.md 9.4.
func postureLabel(p contract.Posture) string {
	switch {
	case p.PlanMode:
		return "Plan"
	case p.PermissionMode == contract.ModeAuto:
		return "Default"
	case p.PermissionMode == contract.ModeDenyAll:
		return "Deny"
	case p.PermissionMode == contract.ModeAllowAll:
		return "Yolo"
	}
	return "Manual"
}

// labelDefault is the chip of an engine whose mode is not known.
const labelDefault = "Provider default"

// rungLabel is what the chip calls one of packetcode's rungs: our own word
// where the rung is a posture of ours. Source: ui.md 9.4.
func rungLabel(mode string) string {
	switch mode {
	case rungAsk:
		return "Manual"
	case rungAcceptEdits:
		return "Accept edits"
	case rungAuto:
		return "Default"
	case rungReadOnly:
		return "Plan"
	case rungBypass:
		return "Yolo"
	case "":
		return labelDefault
	}
	return mode
}

// standing is what the posture chip shows: what the engine will do, and not
// what it was asked for. Source: acp.md 5.1.
type standing struct {
	// mode is the engine's own id, empty when it is not known.
	mode string
	// label is for people.
	label string
	// honoured says that the engine does what the posture asks for, later that
	// it could, from its next session on.
	honoured, later bool
}

// notice is the one sentence about a posture that the engine does not honour.
func (s standing) notice(p contract.Posture) string {
	if s.later {
		return "The engine takes " + postureLabel(p) + " up with its next session; until then it works in its mode " + s.label + ". Every request it raises is still decided here."
	}
	if s.label == labelDefault {
		return "This engine does not offer " + postureLabel(p) + "; it works in its own default mode. Every request it raises is still decided here."
	}
	return "This engine does not offer " + postureLabel(p) + "; it works in its mode " + s.label + ". Every request it raises is still decided here."
}
