package inspect

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

func one(p gen.ProcessShortInfo) []appList {
	return []appList{{name: "agent", processes: []gen.ProcessShortInfo{p}}}
}

// Rates are messages a second between two samples; a process that was replaced
// begins anew, and one that is gone is forgotten.
func TestHistory_Rates(t *testing.T) {
	t.Parallel()
	h := newHistory()
	at := time.Unix(1000, 0)
	p := gen.ProcessShortInfo{Name: "busy", PID: pid(1), MessagesIn: 100, MessagesOut: 10}
	h.sample(at, one(p))
	if r := h.rates("busy"); r != nil {
		t.Fatalf("rates of one sample %+v", r)
	}
	for i := range historyMost + 5 {
		p.MessagesIn, p.MessagesOut, p.MessagesMailbox = p.MessagesIn+50, p.MessagesOut+uint64(i), uint64(i)
		at = at.Add(sampleEvery)
		h.sample(at, one(p))
	}
	r := h.rates("busy")
	if r == nil || len(r.In) != historyMost || r.In[0] != 25 || r.Out[historyMost-1] != 17 || r.Mailbox[historyMost-1] != historyMost+4 || r.SampleEvery != 2 {
		t.Fatalf("rates %+v", r)
	}
	p.PID, p.MessagesIn = pid(2), 1
	at = at.Add(sampleEvery)
	h.sample(at, one(p))
	if r := h.rates("busy"); r != nil {
		t.Errorf("the successor has rates of its predecessor: %+v", r)
	}
	h.sample(at.Add(sampleEvery), nil)
	if len(h.traces) != 0 {
		t.Errorf("traces of nobody: %d", len(h.traces))
	}
}

func TestHistory_Alarms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		p     gen.ProcessShortInfo
		after int // Samples until it is told.
		kind  contract.AlarmKind
	}{
		{"mailbox", gen.ProcessShortInfo{Name: "a", MessagesMailbox: mailboxMuch + 1}, 3, contract.AlarmMailbox},
		{"waiting", gen.ProcessShortInfo{Name: "a", State: gen.ProcessStateWaitResponse}, 3, contract.AlarmWaiting},
		{"zombie", gen.ProcessShortInfo{Name: "a", State: gen.ProcessStateZombee}, 1, contract.AlarmZombie},
		{"well", gen.ProcessShortInfo{Name: "a", MessagesMailbox: mailboxMuch, State: gen.ProcessStateRunning}, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			kinds := []contract.AlarmKind{contract.AlarmMailbox, contract.AlarmWaiting, contract.AlarmZombie}
			at := time.Unix(1000, 0)
			var told []contract.Alarm
			for i := 1; i <= 5; i++ {
				changed := h.settle(at, kinds, h.sample(at, one(tc.p)))
				if len(changed) > 0 && i != tc.after {
					t.Errorf("sample %d tells %+v", i, changed)
				}
				told = append(told, changed...)
				at = at.Add(sampleEvery)
			}
			if tc.after == 0 {
				return
			}
			if len(told) != 1 || told[0].Kind != tc.kind || told[0].Over || !strings.HasPrefix(told[0].Text, "a ") || !slices.Equal(h.of("a"), []contract.AlarmKind{tc.kind}) {
				t.Fatalf("told %+v, of a: %v", told, h.of("a"))
			}
			over := h.settle(at, kinds, h.sample(at, one(gen.ProcessShortInfo{Name: "a"})))
			if len(over) != 1 || !over[0].Over || !over[0].Since.Equal(told[0].Since) || len(h.list()) != 0 {
				t.Errorf("over %+v, left %v", over, h.list())
			}
		})
	}
}

// recorder is an event log that somebody waits on.
type recorder struct {
	mu   sync.Mutex
	list []string
	came chan struct{}
}

func newRecorder() *recorder { return &recorder{came: make(chan struct{}, 100)} }

func (r *recorder) Publish(subject string, _ contract.TurnID, payload []byte) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, subject+" "+string(payload))
	select {
	case r.came <- struct{}{}:
	default:
	}
	return uint64(len(r.list)), nil
}

func (r *recorder) Head() uint64 { return 0 }

func (r *recorder) wait(t *testing.T, part string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		found := slices.ContainsFunc(r.list, func(e string) bool { return strings.Contains(e, part) })
		r.mu.Unlock()
		if found {
			return
		}
		select {
		case <-r.came:
		case <-deadline:
			t.Fatalf("never published %q: %q", part, r.list)
		}
	}
}

// A spent budget is an alarm until the reset, a change of state is told, and a
// terminal that died without a word is reported as exited (contract.md 7).
func TestActor_Publishes(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, 30*time.Second)
	log := newRecorder()
	if _, err := n.SpawnRegister(msg.Inspect, New(Options{Publisher: log}), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	say := func(m any) {
		t.Helper()
		if err := n.Send(msg.Inspect, m); err != nil {
			t.Fatal(err)
		}
	}
	say(msg.Status{Supervisor: msg.EnginesSup, Name: msg.Sidecar, State: msg.StateDown, LimitReached: true})
	log.wait(t, `ops.alarm {"actor":"sidecar","kind":"limit"`)
	log.wait(t, "ops.tree-changed {}")
	tree, err := nodetest.Call(n, msg.Inspect, msg.GetTree{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := tree.(contract.Tree).House.Alarms; len(got) != 1 || got[0].Actor != "sidecar" {
		t.Errorf("alarms %+v", got)
	}
	say(msg.Status{Supervisor: msg.EnginesSup, Name: msg.Sidecar, State: msg.StateRunning})
	log.wait(t, `"over":true`)
	say(msg.ChildEnded{Supervisor: msg.TerminalsSup, Name: "terminal:t-1", PID: pid(9), Reason: "fault"})
	log.wait(t, `terminal.exited.t-1 {"exit_code":-1,"signal":null}`)
	say(msg.ChildEnded{Supervisor: msg.TerminalsSup, Name: "terminal:t-2", PID: pid(9), Quiet: true})
	say(msg.RestartNotice(msg.Sidecar, "killed", 1))
	log.wait(t, "ops.restart ")
	if slices.ContainsFunc(log.list, func(e string) bool { return strings.Contains(e, "t-2") }) {
		t.Errorf("a quiet end is told twice: %q", log.list)
	}
}

// Nothing is sampled while nobody looks: the node is asked only for a tree.
func TestActor_Samples(t *testing.T) {
	t.Parallel()
	a := &actor{opt: Options{Now: func() time.Time { return time.Unix(1000, 0) }}, known: newKnown(), history: newHistory()}
	a.until = time.Unix(1000, 0) // Just over.
	a.history.traces["x"] = &trace{}
	a.sample() // Would need a node if it looked.
	if a.sampling || len(a.history.traces) != 0 {
		t.Errorf("sampling %t, %d traces", a.sampling, len(a.history.traces))
	}
}
