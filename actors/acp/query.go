package acp

import (
	"encoding/json"

	"github.com/packetbench/packetbench/contract"
)

// query asks the engine for a fact. An engine that does not run is started only
// for its list of sessions: for the rest what is remembered, or nothing, is the
// honest answer.
func (e *engine) query(q *query) {
	if e.phase == phaseReady {
		e.ask(q)
		return
	}
	if q.kind != queryHeld && e.phase != phaseStarting {
		e.remember(q)
		return
	}
	e.waiting = append(e.waiting, q)
	switch e.phase {
	case phaseDown:
		e.phase = phaseStarting
		e.do(spawn{})
	case phaseEnding: // Its end answers what waits.
	}
}

// tries reports whether one of packetcode's methods is worth a request. What is
// advertised is final; what is not said is tried on the default engine alone.
func (e *engine) tries(advertised bool) bool {
	if e.caps.packetcode.advertised {
		return advertised
	}
	return e.spec.Default
}

func (e *engine) ask(q *query) {
	x := e.caps.packetcode
	id := q.session
	s := e.sessions[q.conv]
	if s == nil {
		s = e.byEngine[q.session]
	}
	if s != nil {
		id = s.engineID
	}
	send := func(method string, params any) { e.request(method, params, pending{query: q}) }
	switch {
	case q.kind == queryUsage && e.tries(x.sessionsUsage) && id != "" && (s == nil || s.resident):
		send(methodUsage, map[string]string{"sessionId": id})
	case q.kind == queryModels && e.tries(x.modelsList):
		send(methodModels, struct{}{})
	case q.kind == queryHeld && e.tries(x.sessionsList):
		send(methodHeld, struct{}{})
	case q.kind == queryHeld && e.caps.list && !e.spec.Default:
		send(methodList, struct{}{})
	case q.kind == queryRename && e.tries(x.sessionsRename) && id != "":
		send(methodRename, map[string]string{"sessionId": id, "name": q.arg})
	case q.kind == queryServers && e.tries(x.mcpList):
		params := map[string]string{}
		if id != "" {
			params["sessionId"] = id
		}
		send(methodServers, params)
	case q.kind == queryCommands && e.tries(x.commandsList):
		params := map[string]string{}
		if q.cwd != "" {
			params["cwd"] = q.cwd
		}
		send(methodCommands, params)
	case q.kind == queryFiles && e.tries(x.projectFiles):
		send(methodFiles, struct {
			CWD   string `json:"cwd"`
			Query string `json:"query"`
			Limit int    `json:"limit"`
		}{q.cwd, q.arg, min(max(q.limit, 1), 200)})
	default:
		e.remember(q)
	}
}

// remember answers a query without the engine.
func (e *engine) remember(q *query) {
	r := reply{token: q.token}
	s := e.sessions[q.conv]
	if s == nil {
		s = e.byEngine[q.session]
	}
	switch q.kind {
	case queryUsage:
		var known *Usage
		if s != nil && s.usage != nil && *s.usage != (Usage{}) {
			copied := *s.usage
			known = &copied
		}
		r.value = known
	case queryModels:
		if r.value = e.models; e.models == nil {
			r.value = []contract.Model{}
		}
	case queryHeld:
		if e.spec.Default {
			e.do(readDisk{q.token})
			return
		}
		r.value = []Held{}
	case queryRename:
	case queryServers:
		r.value = json.RawMessage("[]")
	case queryCommands:
		r.value = []Command{}
		if s != nil && s.commands != nil {
			r.value = s.commands
		}
	case queryFiles:
		r.value = []string{}
	}
	e.do(r)
}

// answered handles the answer to a query. A method that the engine does not
// have means "none", and success where nothing was asked for but an effect.
func (e *engine) answered(p *pending, f frame) {
	q := p.query
	if f.err != nil {
		if f.err.code == contract.CodeNoMethod {
			e.remember(q)
			return
		}
		e.do(reply{token: q.token, failure: contract.Fail(contract.CodeInternal, "%s", e.spec.hide(f.err.text()))})
		return
	}
	r := reply{token: q.token}
	switch q.kind {
	case queryUsage:
		var known *Usage
		if u, ok := decodeTotals(f.result); ok {
			known = &u
		}
		r.value = known
	case queryModels:
		e.models = decodeModels(f.result)
		e.do(offers{e.models})
		r.value = e.models
	case queryHeld:
		page, next := decodeHeld(f.result)
		held := append(p.held, page...)
		if next != "" && p.pages+1 < maxPages {
			e.request(p.method, map[string]string{"cursor": next}, pending{query: q, held: held, pages: p.pages + 1})
			return
		}
		r.value = held
	case queryRename:
	case queryServers:
		r.value = json.RawMessage("[]")
		if list := object(f.result)["servers"]; array(list) != nil {
			r.value = list
		}
	case queryCommands:
		r.value = decodeCommands(object(f.result)["commands"])
	case queryFiles:
		files := []string{}
		for _, raw := range array(object(f.result)["files"]) {
			if name := str(raw); name != "" {
				files = append(files, name)
			}
		}
		r.value = files
	}
	e.do(r)
}
