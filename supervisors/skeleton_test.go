package supervisors_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/supervisors"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The one goroutine Ergo keeps, see style.md (d).
		goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// patience bounds every wait of these tests.
const patience = 20 * time.Second

const sinkName gen.Atom = "sink"

var errBang = errors.New("bang")

// Messages to a skeleton.
type (
	boot  struct{}
	crash struct{ why error }
	// up passes a message to the parent.
	up struct{ message any }
	// serve: own each conversation, send it frames, then end with why.
	serve struct {
		convs  []gen.Atom
		frames int
		why    error
	}
	frame struct{ n int }
	watch struct{ pids []gen.PID }
)

// skeleton is a child that does what a test tells it.
type skeleton struct {
	act.Actor
	o skeletonOptions
}

type skeletonOptions struct {
	name    gen.Atom                       // registered in Init unless empty
	init    func() error                   // fails the Init
	boot    func(s *skeleton) error        // runs on boot
	message func(s *skeleton, m any)       // sees everything
	extra   func(s *skeleton, m any) error // handles what the skeleton does not
}

func (o skeletonOptions) process() supervisors.Process {
	return supervisors.Process{Factory: func() gen.ProcessBehavior { return &skeleton{o: o} }}
}

// dynamic makes skeletons that register their own name.
func dynamic(o skeletonOptions) supervisors.Maker {
	return func(name gen.Atom, _ []any) (supervisors.Process, error) {
		o := o
		o.name = name
		return o.process(), nil
	}
}

func (s *skeleton) Init(...any) error {
	if s.o.init != nil {
		if err := s.o.init(); err != nil {
			return err
		}
	}
	if s.o.name != "" {
		if err := s.RegisterName(s.o.name); err != nil {
			return err
		}
	}
	return s.Send(s.PID(), boot{})
}

func (s *skeleton) HandleMessage(from gen.PID, message any) error {
	if s.o.message != nil {
		s.o.message(s, message)
	}
	switch m := message.(type) {
	case boot:
		if s.o.boot != nil {
			return s.o.boot(s)
		}
	case crash:
		return m.why
	case up:
		return s.Send(s.Parent(), m.message)
	case watch:
		for _, pid := range m.pids {
			if err := s.MonitorPID(pid); err != nil {
				return err
			}
		}
	case serve:
		for _, c := range m.convs {
			if err := s.Send(s.Parent(), msg.Owns{Host: s.o.name, Conversation: c}); err != nil {
				return err
			}
			for n := range m.frames {
				if err := s.Send(c, frame{n}); err != nil {
					return err
				}
			}
		}
		return m.why
	default:
		if s.o.extra != nil {
			return s.o.extra(s, message)
		}
	}
	return nil
}

func (s *skeleton) HandleCall(gen.PID, gen.Ref, any) (any, error) { return "here", nil }

// bed is one node with a sink that keeps everything the policies push.
type bed struct {
	*supervisors.Node
	t  *testing.T
	mu sync.Mutex
	// got is everything, in order; ping is closed and replaced on each.
	got  []any
	ping chan struct{}
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{Node: nodetest.Start(t, 30*time.Second), t: t, ping: make(chan struct{})}
	sink := skeletonOptions{message: func(_ *skeleton, m any) {
		if _, ok := m.(boot); !ok {
			b.keep(m)
		}
	}}.process()
	if _, err := b.SpawnRegister(sinkName, sink.Factory, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bed) keep(m any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, m)
	close(b.ping)
	b.ping = make(chan struct{})
}

func (b *bed) common() supervisors.Common {
	return supervisors.Common{Sinks: []gen.Atom{sinkName}, Fatal: func(f msg.Fatal) { b.keep(f) }}
}

// mark is the present length of what was pushed.
func (b *bed) mark() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got)
}

// await returns the first message from position on that want accepts, and the
// position behind it.
func (b *bed) await(from int, what string, want func(any) bool) (any, int) {
	b.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for i := from; ; {
		b.mu.Lock()
		for ; i < len(b.got); i++ {
			if m := b.got[i]; want(m) {
				b.mu.Unlock()
				return m, i + 1
			}
		}
		ping := b.ping
		b.mu.Unlock()
		select {
		case <-ping:
		case <-limit.C:
			b.t.Fatalf("no %s within %v; pushed since: %+v", what, patience, b.since(from))
		}
	}
}

func (b *bed) since(from int) []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]any(nil), b.got[from:]...)
}

// state waits until name is pushed in state s.
func (b *bed) state(from int, name gen.Atom, s msg.ChildState) (msg.Status, int) {
	b.t.Helper()
	m, next := b.await(from, string(name)+" "+string(s), func(m any) bool {
		st, ok := m.(msg.Status)
		return ok && st.Name == name && st.State == s
	})
	return m.(msg.Status), next
}

func (b *bed) call(to gen.Atom, request any) any {
	b.t.Helper()
	v, err := nodetest.Call(b.Node, to, request, 10)
	if err != nil {
		b.t.Fatalf("call %s with %T: %v", to, request, err)
	}
	return v
}

func (b *bed) ensure(sup gen.Atom, r msg.Ensure) msg.Ensured {
	b.t.Helper()
	return b.call(sup, r).(msg.Ensured)
}

func (b *bed) child(sup, name gen.Atom) msg.Status {
	b.t.Helper()
	for _, s := range b.call(sup, msg.Children{}).(msg.ChildList).Children {
		if s.Name == name {
			return s
		}
	}
	b.t.Fatalf("%s has no child %s", sup, name)
	return msg.Status{}
}

func (b *bed) app(a gen.ApplicationBehavior) {
	b.t.Helper()
	if err := supervisors.StartApp(b, a); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) send(to, m any) {
	b.t.Helper()
	if err := b.Send(to, m); err != nil {
		b.t.Fatalf("send %T to %v: %v", m, to, err)
	}
}

func (b *bed) core() supervisors.CoreOptions {
	p := skeletonOptions{}.process()
	return supervisors.CoreOptions{Common: b.common(), Store: p, Secret: p, Bus: p}
}

// agent starts core and agent with skeletons.
func (b *bed) agent(change func(*supervisors.AgentOptions)) {
	b.t.Helper()
	d := dynamic(skeletonOptions{})
	o := supervisors.AgentOptions{Common: b.common(), Conversation: d, Sidecar: d, Engine: d, Terminal: d, MCP: d}
	if change != nil {
		change(&o)
	}
	b.app(supervisors.CoreApp(b.core(), nil))
	b.app(supervisors.AgentApp(o, nil))
}

// crowd starts n processes that monitor each of their next m neighbours.
func (b *bed) crowd(n, m int) {
	b.t.Helper()
	var pids []gen.PID
	for range n {
		p := skeletonOptions{}.process()
		pid, err := b.Spawn(p.Factory, gen.ProcessOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	for i, pid := range pids {
		var others []gen.PID
		for j := 1; j <= m; j++ {
			others = append(others, pids[(i+j)%len(pids)])
		}
		b.send(pid, watch{others})
		b.sync(pid)
	}
}

// sync returns when pid has handled what was sent to it before.
func (b *bed) sync(pid gen.PID) {
	b.t.Helper()
	if _, err := nodetest.CallPID(b.Node, pid, "sync", 10); err != nil {
		b.t.Fatal(err)
	}
}

// revive resets or starts a child. Its name may not be free yet.
func (b *bed) revive(sup gen.Atom, request any) {
	b.t.Helper()
	a := b.call(sup, request).(msg.ChildAnswer)
	if a.Err != nil || a.State != msg.StateRunning && a.State != msg.StateStarting {
		b.t.Fatalf("%T: %+v", request, a)
	}
}
