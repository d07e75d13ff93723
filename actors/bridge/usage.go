package bridge

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// acpUsage answers with the totals of an engine's session, by the conversation
// or by the engine's own id; null when none are known. It starts no engine.
// Source: acp.md 6.2.
func acpUsage(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.SessionParams](raw)
	if failure != nil {
		return nil, failure
	}
	if !contract.ValidID(string(p.SessionID)) {
		return nil, contract.BadParam("session_id", "want 1 to 64 of A-Z a-z 0-9 _ and -")
	}
	reply, failure := d.call(msg.Store, msg.GetSummary{ID: p.SessionID}, quick)
	if failure != nil {
		return nil, failure
	}
	if f, ok := reply.(msg.FoundSummary); ok && f.Found {
		engine := contract.EngineOf(f.Summary.Provider)
		if engine == "" {
			return nil, nil
		}
		return d.engineUsage(msg.EngineName(engine), msg.EngineUsage{Conversation: p.SessionID})
	}
	running, failure := d.engines()
	if failure != nil {
		return nil, failure
	}
	for _, name := range running {
		totals, failure := d.engineUsage(name, msg.EngineUsage{Session: string(p.SessionID)})
		if failure == nil && totals != nil {
			return totals, nil
		}
	}
	return nil, contract.Fail(contract.CodeNotFound, "%s%s", contract.TextNoSession, p.SessionID)
}

// engineUsage asks one engine, nil when it does not run or knows nothing.
func (d *doors) engineUsage(name gen.Atom, question msg.EngineUsage) (any, *contract.Failure) {
	reply, err := d.at().CallWithTimeout(name, question, slow)
	if err != nil {
		if gone(err) || errors.Is(err, gen.ErrProcessMailboxFull) {
			return nil, nil
		}
		return nil, d.failed(name, question, err)
	}
	u, ok := reply.(msg.EngineUsageAnswer)
	switch {
	case !ok:
		return nil, d.internal("unexpected answer", "actor", string(name), "type", typeName(reply))
	case u.Failure != nil:
		return nil, u.Failure
	case u.Totals == nil:
		return nil, nil
	}
	return u.Totals, nil
}

// engines are the names of the engines that run.
func (d *doors) engines() ([]gen.Atom, *contract.Failure) {
	reply, failure := d.call(msg.EnginesSup, msg.Children{}, quick)
	if failure != nil {
		return nil, failure
	}
	list, ok := reply.(msg.ChildList)
	if !ok {
		return nil, d.internal("unexpected answer", "actor", string(msg.EnginesSup), "type", typeName(reply))
	}
	list.Children = slices.DeleteFunc(slices.Clone(list.Children), func(s msg.Status) bool {
		return s.State != msg.StateRunning || !strings.HasPrefix(string(s.Name), msg.KindEngine+":")
	})
	out := make([]gen.Atom, 0, len(list.Children))
	for _, s := range list.Children {
		out = append(out, s.Name)
	}
	return out, nil
}
