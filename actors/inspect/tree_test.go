package inspect

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

func pid(n uint64) gen.PID { return gen.PID{Node: "n", ID: n} }

func names(nodes []contract.TreeNode) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

func TestBuild(t *testing.T) {
	t.Parallel()
	k := newKnown()
	k.status["sick"] = msg.Status{
		Supervisor: "x_sup", Name: "sick", State: msg.StateDown, Restarts: 7, InWindow: 3, Max: 3,
		Window: 60 * time.Second, LastReason: "killed", LimitReached: true,
	}
	k.status["well"] = msg.Status{Supervisor: "x_sup", Name: "well", State: msg.StateRunning, Max: 3, Window: time.Minute}
	k.facts["well"] = json.RawMessage(`{"session_id":"well","turn":"t-4"}`)
	k.facts["door"] = json.RawMessage(`{"metas":["listener"]}`)
	apps := []appList{{name: "agent", uptime: 9, processes: []gen.ProcessShortInfo{
		{PID: pid(5), Name: "door", Parent: pid(2)},
		{PID: pid(3), Name: "well", Parent: pid(2), MessagesMailbox: 4, MessagesIn: 6, State: gen.ProcessStateRunning},
		{PID: pid(2), Name: "x_sup", Parent: pid(1)},
	}}}
	root := build("packetbench@localhost", 9, apps, k, newHistory())
	if got := names(root.Children); !slices.Equal(got, []string{"app agent"}) {
		t.Fatalf("applications %v", got)
	}
	sup := root.Children[0].Children[0]
	if sup.Name != "x_sup" || sup.Kind != "supervisor" {
		t.Fatalf("top %+v", sup)
	}
	// In the order of start, then what has no process, by name.
	if got := names(sup.Children); !slices.Equal(got, []string{"well", "door", "sick"}) {
		t.Fatalf("children %v", got)
	}
	well, door, sick := sup.Children[0], sup.Children[1], sup.Children[2]
	if well.State != "running" || well.Mailbox != 4 || well.MailboxMaxSeen != 4 || well.MessagesIn != 6 || well.WindowS != 60 {
		t.Errorf("running child %+v", well)
	}
	if got := names(well.Children); !slices.Equal(got, []string{"turn t-4"}) || well.Children[0].Kind != "meta" {
		t.Errorf("metas %v", got)
	}
	if got := names(door.Children); !slices.Equal(got, []string{"listener"}) {
		t.Errorf("metas %v", got)
	}
	if sick.State != "down" || !sick.LimitReached || sick.Restarts != 7 || sick.RestartsInWindow != 3 || sick.LastReason != "killed" || sick.PID != "" {
		t.Errorf("spent child %+v", sick)
	}
	// The largest mailbox stays known when it has shrunk.
	apps[0].processes[1].MessagesMailbox = 1
	again := build("packetbench@localhost", 9, apps, k, newHistory()).Children[0].Children[0].Children[0]
	if again.Mailbox != 1 || again.MailboxMaxSeen != 4 {
		t.Errorf("mailbox %d, most %d", again.Mailbox, again.MailboxMaxSeen)
	}
	body, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var back contract.TreeNode
	if err := json.Unmarshal(body, &back); err != nil || back.Children == nil {
		t.Errorf("the tree does not survive JSON: %v", err)
	}
}

func TestMetas_OddFacts(t *testing.T) {
	t.Parallel()
	for _, facts := range []string{"", "null", "[]", `{"turn":5}`, "not json"} {
		if got := metas(json.RawMessage(facts)); len(got) != 0 {
			t.Errorf("metas(%q) = %v", facts, got)
		}
	}
}
