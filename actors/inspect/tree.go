package inspect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// appList is one application and its processes.
type appList struct {
	name      gen.Atom
	uptime    int64
	processes []gen.ProcessShortInfo
}

// known is what was pushed to inspect.
type known struct {
	status map[gen.Atom]msg.Status
	facts  map[string]json.RawMessage
	// mailboxMax is the largest mailbox seen, by registered name.
	mailboxMax map[gen.Atom]int64
	// below are the names in status by their supervisor; build fills it.
	below map[gen.Atom][]gen.Atom
}

func newKnown() known {
	return known{status: map[gen.Atom]msg.Status{}, facts: map[string]json.RawMessage{}, mailboxMax: map[gen.Atom]int64{}}
}

// build draws the whole tree. Children stand in the order of their start; one
// without a process (down, stopped, in backoff) is shown under its supervisor.
func build(node string, uptime int64, apps []appList, k known, h history) contract.TreeNode {
	k.below = make(map[gen.Atom][]gen.Atom)
	for name, s := range k.status {
		k.below[s.Supervisor] = append(k.below[s.Supervisor], name)
	}
	root := contract.TreeNode{Name: node, Kind: "application", State: "running", UptimeS: uptime, Children: []contract.TreeNode{}}
	for _, app := range apps {
		own := make(map[gen.PID]bool, len(app.processes))
		for _, p := range app.processes {
			own[p.PID] = true
		}
		children := make(map[gen.PID][]gen.ProcessShortInfo)
		var tops []gen.ProcessShortInfo
		for _, p := range app.processes {
			if own[p.Parent] {
				children[p.Parent] = append(children[p.Parent], p)
			} else {
				tops = append(tops, p)
			}
		}
		n := contract.TreeNode{Name: "app " + string(app.name), Kind: "application", State: "running", UptimeS: app.uptime, Children: []contract.TreeNode{}}
		for _, p := range byStart(tops) {
			n.Children = append(n.Children, process(p, children, k, h))
		}
		root.Children = append(root.Children, n)
	}
	return root
}

func byStart(list []gen.ProcessShortInfo) []gen.ProcessShortInfo {
	slices.SortFunc(list, func(a, b gen.ProcessShortInfo) int { return cmp.Compare(a.PID.ID, b.PID.ID) })
	return list
}

func process(p gen.ProcessShortInfo, children map[gen.PID][]gen.ProcessShortInfo, k known, h history) contract.TreeNode {
	mailbox := p.MessagesMailbox
	k.mailboxMax[p.Name] = max(k.mailboxMax[p.Name], int64(mailbox))
	n := contract.TreeNode{
		PID: p.PID.String(), Name: string(p.Name), Kind: "actor", Behavior: p.Behavior, State: p.State.String(),
		UptimeS: p.Uptime, Mailbox: int64(mailbox), MailboxMaxSeen: k.mailboxMax[p.Name],
		MessagesIn: p.MessagesIn, MessagesOut: p.MessagesOut,
		Detail: k.facts[string(p.Name)], Children: []contract.TreeNode{},
		Rates: h.rates(keyOf(p)), Alarms: h.of(keyOf(p)),
	}
	if strings.HasSuffix(string(p.Name), "_sup") {
		n.Kind = "supervisor"
	}
	k.budget(&n, p.Name)
	running := make(map[gen.Atom]bool)
	for _, child := range byStart(children[p.PID]) {
		running[child.Name] = true
		n.Children = append(n.Children, process(child, children, k, h))
	}
	var gone []gen.Atom
	for _, name := range k.below[p.Name] {
		if !running[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		child := contract.TreeNode{Name: string(name), Kind: "actor", State: string(k.status[name].State), Detail: k.facts[string(name)], Alarms: h.of(string(name)), Children: []contract.TreeNode{}}
		k.budget(&child, name)
		n.Children = append(n.Children, child)
	}
	n.Children = append(n.Children, metas(n.Detail)...)
	return n
}

// budget fills in what the supervisor of name counts.
func (k known) budget(n *contract.TreeNode, name gen.Atom) {
	s, ok := k.status[name]
	if !ok {
		return
	}
	n.Restarts, n.RestartsInWindow = s.Restarts, s.InWindow
	n.WindowS, n.MaxRestarts = int(s.Window/time.Second), s.Max
	n.LimitReached, n.LastReason = s.LimitReached, s.LastReason
	if s.State != msg.StateRunning {
		n.State = string(s.State)
	}
}

// metas are the running turn and other metas that an actor's facts name: Ergo
// lists them only by looking into a busy process.
func metas(detail json.RawMessage) []contract.TreeNode {
	var facts struct {
		Turn  contract.TurnID `json:"turn"`
		Metas []string        `json:"metas"`
	}
	if len(detail) == 0 || json.Unmarshal(detail, &facts) != nil {
		return nil
	}
	names := facts.Metas
	if facts.Turn != "" {
		names = append(names, "turn "+string(facts.Turn))
	}
	var out []contract.TreeNode
	for _, name := range names {
		out = append(out, contract.TreeNode{Name: name, Kind: "meta", State: "running", Children: []contract.TreeNode{}})
	}
	return out
}
