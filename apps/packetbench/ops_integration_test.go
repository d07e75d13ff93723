//go:build integration && linux

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// node finds a node of the tree by its registered name.
func (w *window) node(name string) (contract.TreeNode, bool) {
	w.t.Helper()
	var tree contract.Tree
	w.must(contract.MethodTree, contract.Empty{}, &tree)
	return findNode(tree.Root, name)
}

func findNode(n contract.TreeNode, name string) (contract.TreeNode, bool) {
	if n.Name == name {
		return n, true
	}
	for _, c := range n.Children {
		if found, ok := findNode(c, name); ok {
			return found, true
		}
	}
	return contract.TreeNode{}, false
}

// Issue 5, done when 4: the tree shows a sidecar that was killed three times and
// a fourth, with its budget as n of 3 in 60 s and its last reason; an alarm and
// an event say so; the reset is told to whoever looks, and the tree shows it. The
// mark of the conversation comes with the first death and goes with a turn that
// ends well.
func TestOps_SidecarKilledAndReset(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), []string{sidecarScript(t)})
	w, eyes, reader := p.window(t), p.window(t), p.window(t)
	if _, err := eyes.subscribe(t.Context(), "new", "ops.>"); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.subscribe(t.Context(), "new", "conversation.notice.>"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.subscribe(t.Context(), "new", "api-agent.done.>", "conversation.turn-ended.>"); err != nil {
		t.Fatal(err)
	}
	id := echoes(t, w, project(t), 1)[0]
	w.until("conversation.turn-ended." + string(id))
	for kill := 1; kill <= 4; kill++ {
		before := w.sidecarIs("ready")
		if err := syscall.Kill(*before.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if kill == 4 {
			break
		}
		e := eyes.until("ops.restart")
		var said contract.OpsRestartEvent
		if err := json.Unmarshal(e[len(e)-1].Data, &said); err != nil || said.Actor != "sidecar" || said.CountInWindow != kill || said.Reason == "" {
			t.Errorf("kill %d: %s", kill, e[len(e)-1].Data)
		}
		w.sidecarIs("ready")
		n, ok := w.node("sidecar")
		for end := time.Now().Add(patience); ok && !strings.Contains(string(n.Detail), "child_pid") && time.Now().Before(end); n, ok = w.node("sidecar") {
			time.Sleep(20 * time.Millisecond) // It tells of its child soon after it is ready.
		}
		if !ok || n.RestartsInWindow != kill || n.MaxRestarts != 3 || n.WindowS != 60 || n.LimitReached || !strings.Contains(n.LastReason, "SIGKILL") || !strings.Contains(string(n.Detail), "child_pid") {
			t.Errorf("kill %d: %+v %s", kill, n, n.Detail)
		}
		if kill > 1 {
			continue
		}
		if e := reader.until("conversation.notice." + string(id)); !strings.Contains(string(e[len(e)-1].Data), "continues from here") {
			t.Errorf("notice %s", e[len(e)-1].Data)
		}
		var snapshot contract.Snapshot
		w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: id}, &snapshot)
		if h := snapshot.Conversation.Health; h == nil || h.State != contract.HealthRestarted {
			t.Errorf("marked as %+v", h)
		}
		w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "on we go"}, nil)
		w.until("conversation.turn-ended." + string(id))
		var list []contract.Summary
		w.must(contract.MethodListConversations, contract.Empty{}, &list)
		if len(list) != 1 || list[0].Health != nil {
			t.Errorf("after a turn that ended well: %+v", list)
		}
	}
	e := eyes.until("ops.limit-reached")
	if last := string(e[len(e)-1].Data); last != `{"supervisor":"engines_sup","actor":"sidecar"}` {
		t.Errorf("limit %s", last)
	}
	n, _ := w.node("sidecar")
	if n.State != "down" || !n.LimitReached || n.PID != "" || n.RestartsInWindow != 3 || len(n.Alarms) != 1 || n.Alarms[0] != contract.AlarmLimit {
		t.Errorf("%+v", n)
	}
	var tree contract.Tree
	w.must(contract.MethodTree, contract.Empty{}, &tree)
	if a := tree.House.Alarms; len(a) != 1 || a[0].Actor != "sidecar" || tree.House.Sidecar.State != "down" {
		t.Errorf("alarms %+v, sidecar %+v", a, tree.House.Sidecar)
	}
	eyes.backlog = nil
	began := time.Now()
	w.must(contract.MethodResetActor, contract.ActorParams{Name: "sidecar"}, nil)
	eyes.until("ops.tree-changed")
	for n, _ = w.node("sidecar"); n.LimitReached || n.State == "down"; n, _ = w.node("sidecar") {
		eyes.until("ops.tree-changed")
	}
	t.Logf("the reset was visible after %s", time.Since(began))
	if n.RestartsInWindow != 0 || n.PID == "" || len(n.Alarms) != 0 {
		t.Errorf("after the reset %+v", n)
	}
	// A monitor sees the same and may not act.
	c, err := dial(t.Context(), p.run.URL, p.run.MonitorToken)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	watcher := &window{client: c, t: t}
	if seen, ok := watcher.node("sidecar"); !ok || seen.Name != "sidecar" {
		t.Errorf("a monitor sees %+v", seen)
	}
	for _, m := range []contract.Method{contract.MethodResetActor, contract.MethodStopActor, contract.MethodStartActor} {
		if text := watcher.refused(m, contract.ActorParams{Name: "sidecar"}, contract.CodeForbidden); text != contract.TextMonitor {
			t.Errorf("%s: %q", m, text)
		}
	}
}

// Stop and start, as an operator does it: stopped stays stopped, start brings it
// back, and an unknown name is said to be none.
func TestOps_StopAndStart(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	w := p.window(t)
	var r contract.ActorResult
	w.must(contract.MethodStopActor, contract.ActorParams{Name: "inspect"}, &r)
	if r.State != "stopped" {
		t.Errorf("stop: %+v", r)
	}
	w.must(contract.MethodStartActor, contract.ActorParams{Name: "inspect"}, &r)
	n, ok := w.node("inspect") // It tells of itself again.
	if !ok || n.PID == "" || n.State == "stopped" {
		t.Errorf("start: %+v", n)
	}
	w.refused(contract.MethodResetActor, contract.ActorParams{Name: "nobody"}, contract.CodeNotFound)
}
