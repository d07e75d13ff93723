package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// live is the bridge on a real node, with small actors around it.
type live struct {
	t       *testing.T
	node    gen.Node
	call    func(to gen.Atom, request any, seconds int) (any, error)
	d       *doors
	log     *fakeLog
	serving *fakeCommands
	heard   chan any // What inspect is told.
}

// oneCaller lets one call at a time through under the race detector: see
// nodetest.Call.
type oneCaller struct {
	gen.Node
	call func(to gen.Atom, request any, seconds int) (any, error)
}

func (n oneCaller) CallWithTimeout(to any, request any, seconds int) (any, error) {
	return n.call(to.(gen.Atom), request, seconds)
}

// fakeCommands is the bus's side of command.>.
type fakeCommands struct {
	mu     sync.Mutex
	gen    int
	handle func(msg.Requested)
}

func (c *fakeCommands) Serve(handle func(msg.Requested)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	mine := c.gen
	c.handle = handle
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.gen == mine {
			c.handle = nil
		}
	}
}

func (c *fakeCommands) request(subject, params string) (answer string, served bool) {
	c.mu.Lock()
	handle := c.handle
	c.mu.Unlock()
	if handle == nil {
		return "", false
	}
	handle(msg.Requested{Subject: subject, Params: []byte(params), Reply: func(b []byte) { answer = string(b) }})
	return answer, true
}

// skeleton answers with what a test says.
type skeleton struct {
	act.Actor
	name gen.Atom
	call func(s *skeleton, request any) any
	told func(m any)
}

func (s *skeleton) Init(...any) error {
	if s.name == "" {
		return nil
	}
	return s.RegisterName(s.name)
}

func (s *skeleton) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	if _, ok := request.(msg.Quiesce); ok { // The end of the node, see nodetest.Stop.
		return msg.ChildList{}, nil
	}
	return s.call(s, request), nil
}

func (s *skeleton) HandleMessage(_ gen.PID, m any) error {
	if s.told != nil {
		s.told(m)
	}
	return nil
}

func newLive(t *testing.T, budget time.Duration) *live {
	n := nodetest.Start(t, budget)
	l := &live{t: t, node: n, log: newFakeLog(), serving: &fakeCommands{}, heard: make(chan any, 256)}
	l.call = func(to gen.Atom, request any, seconds int) (any, error) {
		return nodetest.Call(n, to, request, seconds)
	}
	l.d = newDoors(Options{
		Addr: "127.0.0.1:0", BootID: bootID, OwnerToken: ownerToken, MonitorToken: monitorToken,
		Log: l.log, Publisher: l.log, Commands: l.serving, Providers: fakeProviders{}, Page: page,
		Logger: slog.New(slog.DiscardHandler),
	})
	l.d.wrap = func(n gen.Node) gen.Node { return oneCaller{n, l.call} }
	l.spawn(&skeleton{name: msg.Inspect, told: func(m any) {
		select {
		case l.heard <- m:
		default:
		}
	}})
	l.spawn(&skeleton{name: msg.ViewersSup, call: func(s *skeleton, request any) any {
		pid, err := s.Spawn(NewViewer, gen.ProcessOptions{}, request.(msg.Ensure).Args...)
		if err != nil {
			return msg.Ensured{Err: msg.RefuseStart(request.(msg.Ensure).Name, err.Error())}
		}
		return msg.Ensured{PID: pid, Created: true}
	}})
	return l
}

func (l *live) spawn(s *skeleton) gen.PID {
	l.t.Helper()
	pid, err := l.node.Spawn(func() gen.ProcessBehavior { return s }, gen.ProcessOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return pid
}

// bridge starts the bridge as its policy would, with the factory that outlives
// it.
func (l *live) bridge() gen.PID {
	l.t.Helper()
	pid, err := l.node.SpawnRegister(msg.Bridge, func() gen.ProcessBehavior { return &bridge{d: l.d} }, gen.ProcessOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return pid
}

func (l *live) ready() msg.Opened {
	l.t.Helper()
	reply, err := l.call(msg.Bridge, msg.Ready{}, 10)
	if err != nil {
		l.t.Fatal(err)
	}
	return reply.(msg.Opened)
}

func (l *live) gone(name gen.Atom) {
	l.t.Helper()
	eventually(l.t, func() bool { _, err := l.node.ProcessPID(name); return err != nil }, func() string { return string(name) + " is still there" })
}

func (l *live) kill(pid gen.PID, name gen.Atom) {
	l.t.Helper()
	if err := l.node.Kill(pid); err != nil {
		l.t.Fatal(err)
	}
	l.gone(name)
}

// Every window is an actor: it appears with its facts and goes with its socket,
// and its death closes the socket.
func TestActor_Viewers(t *testing.T) {
	l := newLive(t, 10*time.Second)
	l.bridge()
	addr := l.ready().Addr
	w := openWindow(t, addr, monitorToken)
	s := w.subscribe(`{"subjects":[">"]}`)
	if _, err := l.node.ProcessPID("viewer:1"); err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for facts["bridge"] == "" || facts["viewer:1"] == "" {
		select {
		case m := <-l.heard:
			f := m.(msg.Facts)
			facts[f.Name] = string(f.Detail)
			if strings.Contains(facts[f.Name], ownerToken) || strings.Contains(facts[f.Name], monitorToken) {
				t.Fatalf("the facts tell a token: %s", f.Detail)
			}
		case <-time.After(patience):
			t.Fatalf("facts %v", facts)
		}
	}
	if !strings.Contains(facts["bridge"], addr) || !strings.Contains(facts["viewer:1"], `"role":"monitor","kind":"websocket"`) {
		t.Errorf("facts %v", facts)
	}
	_ = w.conn.Close(websocket.StatusNormalClosure, "")
	l.gone("viewer:1")

	w = openWindow(t, addr, ownerToken)
	s = w.subscribe(`{"subjects":[">"]}`)
	pid, err := l.node.ProcessPID("viewer:2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.log.Publish("ops.restart", "", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	checkRun(t, w.events(s.Subscription, 1), 1, 1)
	l.kill(pid, "viewer:2")
	if code := w.closed(); code != websocket.StatusServiceRestart {
		t.Errorf("closed with %d", code)
	}
	eventually(t, func() bool { return l.d.connected.Load() == 0 && l.log.cursors() == 0 }, func() string { return "the connection is still counted" })
}

// The stop: windows hear 4001, the port is free, commands are refused by the
// bus, all within the time given.
func TestActor_CloseDoors(t *testing.T) {
	l := newLive(t, 10*time.Second)
	l.bridge()
	addr := l.ready().Addr
	if answer, ok := l.serving.request("command.get_session", `{}`); !ok || !strings.Contains(answer, `"boot_id":"boot-1"`) {
		t.Fatalf("%q", answer)
	}
	w := openWindow(t, addr, ownerToken)
	w.subscribe(`{"subjects":[">"]}`)
	code := make(chan websocket.StatusCode, 1)
	go func() { code <- w.closed() }()
	reply, err := l.call(msg.Bridge, msg.CloseDoors{Within: 500 * time.Millisecond}, 5)
	if err != nil || reply.(msg.Done).Err != nil {
		t.Fatalf("%v %v", reply, err)
	}
	if c := <-code; c != 4001 {
		t.Errorf("closed with %d", c)
	}
	if l.d.connected.Load() != 0 {
		t.Error("a connection is left")
	}
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		t.Error("the port is still open")
	}
	if _, ok := l.serving.request("command.get_session", `{}`); ok {
		t.Error("the bus still serves commands")
	}
	l.gone("viewer:1")
	// A second stop finds nothing to do.
	if reply, err := l.call(msg.Bridge, msg.CloseDoors{Within: 500 * time.Millisecond}, 5); err != nil || reply.(msg.Done).Err != nil {
		t.Errorf("%v %v", reply, err)
	}
}

// F80: a port in use is one clear sentence with the address and the way out.
func TestActor_PortBusy(t *testing.T) {
	l := newLive(t, 10*time.Second)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	l.d.addr = taken.Addr().String()
	l.bridge()
	var busy *BusyError
	if o := l.ready(); !errors.As(o.Err, &busy) || busy.Addr != taken.Addr().String() || !strings.Contains(o.Err.Error(), "--addr") {
		t.Fatalf("%+v", o)
	}
	if reply, err := l.call(msg.Bridge, "anything", 5); err != nil || reply.(msg.Done).Err == nil {
		t.Errorf("%v %v", reply, err)
	}
}

// A bridge that crashes is followed by one at the same address, and windows
// continue behind their last event (F40).
func TestActor_Restart(t *testing.T) {
	l := newLive(t, 10*time.Second)
	pid := l.bridge()
	addr := l.ready().Addr
	since := uint64(1)
	for range 3 {
		w := openWindow(t, addr, ownerToken)
		s := w.subscribe(fmt.Sprintf(`{"subjects":[">"],"since":%d}`, since))
		for range 10 {
			if _, err := l.log.Publish("ops.restart", "", []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		checkRun(t, w.events(s.Subscription, 10), since, 10)
		since += 10
		l.kill(pid, msg.Bridge)
		if code := w.closed(); code != websocket.StatusServiceRestart {
			t.Errorf("closed with %d", code)
		}
		pid = l.bridge()
		eventually(t, func() bool { return l.ready().Err == nil }, func() string { return l.ready().Err.Error() })
		if again := l.ready().Addr; again != addr {
			t.Fatalf("address %s, was %s", again, addr)
		}
		eventually(t, func() bool { _, ok := l.serving.request("command.get_session", `{}`); return ok }, func() string { return "commands are not served" })
	}
	// The port is held for a while: the next bridge waits for it.
	l.kill(pid, msg.Bridge)
	var other net.Listener
	eventually(t, func() (ok bool) {
		ln, err := net.Listen("tcp", addr)
		other = ln
		return err == nil
	}, func() string { return "the old listener is still open" })
	l.bridge()
	if o := l.ready(); !errors.Is(o.Err, errNotOpen) {
		t.Fatalf("%+v", o)
	}
	_ = other.Close()
	eventually(t, func() bool { return l.ready().Err == nil }, func() string { return l.ready().Err.Error() })
	if l.ready().Addr != addr {
		t.Fatal(l.ready().Addr)
	}
	w := openWindow(t, addr, ownerToken)
	checkRun(t, w.events(w.subscribe(`{"subjects":[">"],"since":"all"}`).Subscription, 30), 1, 30)
}

// A command and a subscription wake a conversation that sleeps; the one that is
// watched hears of it. F43: what it answers comes from it, whoever asks.
func TestActor_WakesConversations(t *testing.T) {
	l := newLive(t, 10*time.Second)
	watched := make(chan msg.Watch, 64)
	l.spawn(&skeleton{name: msg.Store, call: func(_ *skeleton, request any) any {
		return msg.FoundSummary{Found: strings.HasPrefix(string(request.(msg.GetSummary).ID), "c")}
	}})
	started := make(chan gen.Atom, 16)
	l.spawn(&skeleton{name: msg.SessionsSup, call: func(s *skeleton, request any) any {
		e := request.(msg.Ensure)
		if _, err := s.Node().ProcessPID(e.Name); err == nil {
			return msg.Ensured{}
		}
		pid, err := s.Spawn(func() gen.ProcessBehavior {
			return &skeleton{name: e.Name, call: func(_ *skeleton, request any) any {
				return msg.Reply{Result: map[string]string{"method": string(request.(msg.Command).Method)}}
			}, told: func(m any) {
				if w, ok := m.(msg.Watch); ok {
					watched <- w
				}
			}}
		}, gen.ProcessOptions{})
		if err != nil {
			return msg.Ensured{Err: msg.RefuseStart(e.Name, err.Error())}
		}
		started <- e.Name
		return msg.Ensured{PID: pid, Created: true}
	}})
	l.bridge()
	w := openWindow(t, l.ready().Addr, ownerToken)
	w.subscribe(`{"subjects":["api-agent.*.*"]}`)
	w.subscribe(`{"subjects":["api-agent.*.none"]}`)
	w.subscribe(`{"subjects":["api-agent.*.c1"]}`)
	select {
	case m := <-watched:
		if time.Until(m.Until) < time.Minute {
			t.Errorf("held until %s", m.Until)
		}
	case <-time.After(patience):
		t.Fatal("not watched")
	}
	if name := <-started; name != "conversation:c1" || len(started) != 0 {
		t.Fatalf("%s was started", name)
	}
	if f := w.call("send_api_agent_message", `{"session_id":"c2"}`); string(f.Result) != `{"method":"send_api_agent_message"}` {
		t.Fatalf("%+v", f)
	}
	if name := <-started; name != "conversation:c2" {
		t.Fatalf("%s was started", name)
	}
	if f := w.call("send_api_agent_message", `{"session_id":"none"}`); f.Error == nil || f.Error.Code != contract.CodeNotFound {
		t.Fatalf("%+v", f)
	}
	if f := w.call("one_shot", `{"session_id":"new"}`); f.Error != nil {
		t.Fatalf("%+v", f)
	}
}

// An event stream is a viewer, too.
func TestActor_Stream(t *testing.T) {
	l := newLive(t, 10*time.Second)
	l.bridge()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q, _ := http.NewRequestWithContext(ctx, "GET", "http://"+l.ready().Addr+"/events?subject=%3E&token="+monitorToken, nil)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a, err := transport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.node.ProcessPID("viewer:1"); err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", a.StatusCode, err)
	}
	_ = a.Body.Close()
	l.gone("viewer:1")
}

// What a listener closes late, when its successor serves already, is its own.
func TestListener_ClosesItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.window(ownerToken)
	old.call("get_session", `{}`)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r.d.guard.Store(&guard{owner: ownerToken, monitor: monitorToken, port: port})
	next := newListener(r.d, ln)
	r.node.work.Go(func() { _ = next.Start() })
	defer next.close(0, errRestart)
	w := openWindow(t, ln.Addr().String(), ownerToken)
	w.call("get_session", `{}`)
	r.l.close(0, errRestart)
	if code := old.closed(); code != websocket.StatusServiceRestart {
		t.Errorf("closed with %d", code)
	}
	if f := w.call("get_session", `{}`); f.Error != nil {
		t.Error(f.Error)
	}
}

// The refusal of a viewer that was started with something else.
func TestViewer_Init(t *testing.T) {
	t.Parallel()
	if err := (&viewer{}).Init(json.RawMessage("x")); err == nil {
		t.Fatal("a viewer without a connection began")
	}
	if err := (&viewer{}).Init(); err == nil {
		t.Fatal("a viewer without arguments began")
	}
}
