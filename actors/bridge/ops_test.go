package bridge

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// fakeHouseFacts is what the wiring knows.
type fakeHouseFacts struct {
	mu    sync.Mutex
	asked []contract.LogLinesParams
}

func (*fakeHouseFacts) Log() contract.LogFacts {
	return contract.LogFacts{Up: true, First: 3, Last: 9, Subjects: []contract.SubjectCount{{Subject: "ops.restart", Count: 2}}}
}

func (*fakeHouseFacts) Memory() (own, children uint64) { return 11, 22 }

func (f *fakeHouseFacts) Lines(p contract.LogLinesParams) contract.LogLines {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, p)
	return contract.LogLines{Lines: []contract.LogLine{}, Last: 7, File: "packetbench.log"}
}

// The tree that a page shows holds what stands beside it, windows and their lag
// among it.
func TestTree_House(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	slow := r.window(monitorToken)
	slow.subscribe(`{"subjects":["api-agent.>"]}`)
	f := r.rpc(`{"jsonrpc":"2.0","id":1,"method":"get_tree"}`)
	var got contract.Tree
	if f.Error != nil || json.Unmarshal(f.Result, &got) != nil || got.House == nil {
		t.Fatalf("%s %+v", f.Result, f.Error)
	}
	h := got.House
	if h.Stored != 2 || h.MemoryBytes != 11 || h.ChildBytes != 22 || h.Log.Last != 9 || h.Log.Subjects[0].Count != 2 || h.Sidecar.State != "not_started" && h.Sidecar.State != "" {
		t.Errorf("house %+v", h)
	}
	if len(h.Windows) != 1 || h.Windows[0].Role != contract.ClientMonitor || h.Windows[0].Kind != "websocket" || h.Windows[0].Subscriptions != 1 || h.Windows[0].Lag != 0 || h.Windows[0].Viewer != "viewer:1" {
		t.Errorf("windows %+v", h.Windows)
	}
}

// Only who subscribes to the tree's changes has it sampled; a recorder of
// everything has not, and the hold is renewed while the subscription lasts.
func TestLook(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"ops.>": true, "ops.*": true, "ops.tree-changed": true, ">": false, "*.tree-changed": false, "ops.restart": false, "api-agent.>": false,
	} {
		if looksAtTree([]string{"terminal.>", pattern}) != want {
			t.Errorf("%s: %t", pattern, !want)
		}
	}
	r := newRig(t)
	r.d.pace.hold = 20 * time.Millisecond
	r.house()
	looks := func() (n int) {
		for _, s := range r.node.seen(&r.node.sent) {
			if m, ok := s.request.(msg.Look); ok && s.to == msg.Inspect && time.Until(m.Until) > time.Minute {
				n++
			}
		}
		return n
	}
	w := r.window(ownerToken)
	w.subscribe(`{"subjects":["ops.restart"]}`)
	if looks() != 0 {
		t.Fatal("sampled for nobody")
	}
	s := w.subscribe(`{"subjects":["ops.>"]}`)
	eventually(t, func() bool { return looks() >= 3 }, func() string { return fmt.Sprint(looks()) })
	w.call("unsubscribe", fmt.Sprintf(`{"subscription":%q}`, s.Subscription))
	at := looks()
	time.Sleep(5 * r.d.pace.hold) // One renewal may be on its way.
	if n := looks(); n > at+1 {
		t.Errorf("%d looks after the end", n-at)
	}
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	facts := &fakeHouseFacts{}
	r := newRig(t, func(o *Options) { o.House = facts })
	for _, tc := range []struct {
		params string
		code   int
	}{
		{`{}`, 0},
		{`{"after":5,"limit":1000,"level":"warn","actor":"store","contains":"x"}`, 0},
		{`{"limit":1001}`, contract.CodeBadParams},
		{`{"limit":-1}`, contract.CodeBadParams},
		{`{"level":"loud"}`, contract.CodeBadParams},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"get_log","params":%s}`, tc.params))
		if tc.code == 0 && (f.Error != nil || string(f.Result) != `{"lines":[],"last":7,"skipped":false,"file":"packetbench.log"}`) || tc.code != 0 && (f.Error == nil || f.Error.Code != tc.code) {
			t.Errorf("%s: %s %+v", tc.params, f.Result, f.Error)
		}
	}
	want := []contract.LogLinesParams{{Limit: logLinesUsual}, {After: 5, Limit: 1000, Level: "warn", Actor: "store", Contains: "x"}}
	if fmt.Sprint(facts.asked) != fmt.Sprint(want) {
		t.Errorf("asked %+v", facts.asked)
	}
}
