package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// The kinds of an option. Source: acp.md 2.2.
const (
	optionAllowOnce    = "allow_once"
	optionAllowAlways  = "allow_always"
	optionRejectOnce   = "reject_once"
	optionRejectAlways = "reject_always"
)

// ask is one open permission request: what its conversation is told, and what
// is kept for the reply.
type ask struct {
	// id is what is published: the text of the JSON-RPC id. Raw is the id as
	// the engine wrote it.
	id  string
	raw json.RawMessage
	// session is the engine's session id as the request named it; empty for a
	// request that named none, which no sweep of a session matches.
	session string
	conv    contract.ConversationID
	turn    contract.TurnID

	name, arguments string
	// kind is the engine's kind of tool, empty when it said none, and paths
	// are the files that the call names: what the gate needs for the tier
	// (tools-permissions.md 7).
	kind  string
	paths []string
	// callID is the tool call it belongs to; it may not be announced yet.
	callID  string
	options []option
}

// option is one answer that the engine accepts.
type option struct{ id, kind string }

// decodeAsk reads a session/request_permission. It never fails: what cannot be
// read leaves the names and arguments that the specification falls back to.
func decodeAsk(params json.RawMessage) ask {
	top := object(params)
	call := object(top["toolCall"])
	a := ask{
		session: strings.TrimSpace(str(top["sessionId"])), callID: str(call["toolCallId"]),
		kind: strings.TrimSpace(str(call["kind"])),
		name: "permission", arguments: "{}",
	}
	for _, raw := range []json.RawMessage{call["title"], call["kind"], call["toolCallId"]} {
		if name := strings.TrimSpace(str(raw)); name != "" {
			a.name = name
			break
		}
	}
	switch {
	case !absent(call["rawInput"]):
		a.arguments, _ = text(call["rawInput"])
	case !absent(top["toolCall"]):
		a.arguments, _ = text(top["toolCall"])
	}
	a.paths = paths(call["rawInput"], call["locations"], call["content"])
	for _, entry := range array(top["options"]) {
		fields := object(entry)
		if id := str(fields["optionId"]); id != "" {
			a.options = append(a.options, option{id: id, kind: str(fields["kind"])})
		}
	}
	return a
}

// paths are the files that a call names: in its input, its locations and its
// diffs. Source: tools-permissions.md 7, "Tiers".
func paths(rawInput, locations, content json.RawMessage) (out []string) {
	add := func(raw json.RawMessage) {
		if p := str(raw); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	input := object(rawInput)
	for _, key := range []string{"file_path", "notebook_path", "path", "filePath", "filepath"} {
		add(input[key])
	}
	for _, list := range []json.RawMessage{locations, content} {
		for _, entry := range array(list) {
			add(object(entry)["path"])
		}
	}
	return out
}

// lastingOnly reports that the engine can be allowed for good and not for once.
func (a ask) lastingOnly() bool {
	_, err := a.choose(contract.AllowOnce)
	return err != nil && a.has(optionAllowAlways)
}

func (a ask) has(kind string) bool { return a.pick(kind) != "" }

// pick is the first option of one of the kinds, in order of preference.
func (a ask) pick(kinds ...string) string {
	for _, kind := range kinds {
		for _, o := range a.options {
			if o.kind == kind {
				return o.id
			}
		}
	}
	return ""
}

// choose turns a decision into the option to select, by the kind of the option
// and not by its spelling, which differs per engine. Empty means that the
// engine offers nothing of the sort and the answer is cancelled: only a refusal
// can end so. Source: acp.md 5.2.
func (a ask) choose(d contract.Decision) (optionID string, failure *contract.Failure) {
	if !slices.ContainsFunc(a.options, func(o option) bool { return o.kind != "" }) {
		return a.byPosition(d)
	}
	switch string(d) {
	case optionAllowOnce:
		if id := a.pick(optionAllowOnce); id != "" {
			return id, nil
		}
		if a.has(optionAllowAlways) {
			return "", contract.Fail(contract.CodeConflict, "%s", contract.TextLastingOnly)
		}
		return "", contract.Fail(contract.CodeConflict, "This engine offers no way to allow the call; deny it.")
	case optionAllowAlways:
		if id := a.pick(optionAllowAlways, optionAllowOnce); id != "" {
			return id, nil
		}
		return "", contract.Fail(contract.CodeConflict, "This engine offers no way to allow the call; deny it.")
	case string(contract.Deny), "reject", optionRejectOnce:
		return a.pick(optionRejectOnce, optionRejectAlways), nil
	case optionRejectAlways:
		return a.pick(optionRejectAlways, optionRejectOnce), nil
	}
	return "", unknownDecision(d)
}

// byPosition answers an engine whose options have no kinds: the first allows,
// the second rejects.
func (a ask) byPosition(d contract.Decision) (string, *contract.Failure) {
	at := 1
	switch string(d) {
	case optionAllowOnce, optionAllowAlways:
		at = 0
		if len(a.options) == 0 {
			return "", contract.Fail(contract.CodeConflict, "This engine offers no way to allow the call; deny it.")
		}
	case string(contract.Deny), "reject", optionRejectOnce, optionRejectAlways:
	default:
		return "", unknownDecision(d)
	}
	if at >= len(a.options) {
		return "", nil
	}
	return a.options[at].id, nil
}

func unknownDecision(d contract.Decision) *contract.Failure {
	return contract.Fail(contract.CodeBadParams, "Unknown decision: %s", string(d))
}

// outcome is the result of a permission request; an empty option cancels it.
func outcome(optionID string) any {
	type choice struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId,omitempty"`
	}
	c := choice{Outcome: "selected", OptionID: optionID}
	if optionID == "" {
		c.Outcome = "cancelled"
	}
	return struct {
		Outcome choice `json:"outcome"`
	}{c}
}
