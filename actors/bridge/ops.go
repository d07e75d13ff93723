package bridge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// House is what the wiring knows of the service beside the tree. Its methods are
// asked by doors and may wait for a disk, not for an actor.
type House interface {
	// Log is the event log.
	Log() contract.LogFacts
	// Memory is resident memory in bytes: ours, and that of the programs that
	// run for us; 0 where the system does not tell.
	Memory() (own, children uint64)
	// Lines are lines of the text log.
	Lines(p contract.LogLinesParams) contract.LogLines
}

// opsMethods are the methods about the service itself.
var opsMethods = map[contract.Method]handler{
	contract.MethodTree: tree,
	contract.MethodLog:  logLines,
}

// tree is what inspect has drawn, and what only the doors and the wiring know.
func tree(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	reply, failure := d.call(msg.Inspect, msg.GetTree{}, slow)
	if failure != nil {
		return nil, failure
	}
	t, ok := reply.(contract.Tree)
	if !ok {
		return nil, d.internal("inspect answered strangely", "type", typeName(reply))
	}
	if t.House == nil {
		t.House = &contract.HouseFacts{Alarms: []contract.Alarm{}}
	}
	if reply, failure := d.call(msg.Store, msg.CountConversations{}, quick); failure == nil {
		t.House.Stored, _ = reply.(int)
	}
	t.House.Windows = d.windows()
	if d.opt.Sidecar != nil {
		t.House.Sidecar = d.opt.Sidecar()
	}
	if d.opt.House != nil {
		t.House.Log = d.opt.House.Log()
		t.House.MemoryBytes, t.House.ChildBytes = d.opt.House.Memory()
	}
	return t, nil
}

// windows are the connected clients, in the order of their numbers.
func (d *doors) windows() []contract.WindowFacts {
	type numbered struct {
		n uint64
		contract.WindowFacts
	}
	var all []numbered
	d.open.Range(func(_, v any) bool {
		s := v.(*session)
		s.mu.Lock()
		subs := len(s.subs)
		s.mu.Unlock()
		all = append(all, numbered{s.number, contract.WindowFacts{
			Viewer: string(msg.ViewerName(s.number)), Role: s.role, Kind: s.kind, Remote: s.remote, Subscriptions: subs,
			Lag: s.lag(), ConnectedS: int64(time.Since(s.since) / time.Second),
		}})
		return true
	})
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	out := make([]contract.WindowFacts, len(all))
	for i, w := range all {
		out[i] = w.WindowFacts
	}
	return out
}

// looksAtTree reports whether a subscription is that of somebody who looks at
// the tree: a pattern of the ops family that holds its changes. One over every
// family is a recorder's.
func looksAtTree(patterns []string) bool {
	changed := contract.OpsSubject(contract.OpsTreeChanged)
	family, _, _ := strings.Cut(changed, ".")
	return slices.ContainsFunc(patterns, func(p string) bool {
		first, _, _ := strings.Cut(p, ".")
		return first == family && contract.Match(p, changed)
	})
}

// look has inspect sample for as long as a viewer holds it.
func (d *doors) look() {
	_ = d.at().Send(msg.Inspect, msg.Look{Until: time.Now().Add(watchFor)}) // One that does not run has nobody to show.
}

// The most lines of the text log in one answer.
const (
	logLinesUsual = 200
	logLinesMost  = 1000
)

func logLines(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.LogLinesParams](raw)
	switch {
	case failure != nil:
		return nil, failure
	case p.Limit < 0 || p.Limit > logLinesMost:
		return nil, contract.BadParam("limit", "want 1 to %d", logLinesMost)
	case p.Level != "" && !slices.Contains(config.LogLevels, p.Level):
		return nil, contract.BadParam("level", "want one of %s", strings.Join(config.LogLevels, ", "))
	case d.opt.House == nil:
		return nil, contract.Fail(contract.CodeNotFound, "This service keeps no text log.")
	}
	if p.Limit == 0 {
		p.Limit = logLinesUsual
	}
	return d.opt.House.Lines(p), nil
}
