package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// house is a node for one test.
type house struct {
	gen.Node
	call func(to gen.Atom, request any, seconds int) (any, error)
}

func newHouse(t *testing.T, budget time.Duration) house {
	n := nodetest.Start(t, budget)
	return house{n, func(to gen.Atom, request any, seconds int) (any, error) {
		return nodetest.Call(n, to, request, seconds)
	}}
}

// listener stands for inspect: it keeps what it is told.
type listener struct {
	act.Actor
	heard chan any
}

func (l *listener) HandleMessage(_ gen.PID, m any) error {
	select {
	case l.heard <- m:
	default:
	}
	return nil
}

// spawnBus starts the actor alone on a node; its reports go to its parent, the
// node's core process, which drops them.
func spawnBus(t *testing.T, n house, l *Log, change ...func(*ServerOptions)) gen.PID {
	t.Helper()
	o := Options{Log: l, Server: ServerOptions{
		Addr: "127.0.0.1:0", Dir: t.TempDir(), Logins: NewLogins(), MaxBytes: 64 << 20, MaxAge: time.Hour,
	}}
	for _, c := range change {
		c(&o.Server)
	}
	pid, err := n.SpawnRegister(msg.Bus, New(o), gen.ProcessOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func ready(n house) error {
	answer, err := n.call(msg.Bus, msg.Ready{}, 10)
	if err != nil {
		return err
	}
	return answer.(msg.Done).Err
}

func TestActor_LifeOfTheServer(t *testing.T) {
	n := newHouse(t, 30*time.Second)
	heard := make(chan any, 64)
	if _, err := n.SpawnRegister(msg.Inspect, func() gen.ProcessBehavior { return &listener{heard: heard} }, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	l := NewLog(LogOptions{})
	dir := t.TempDir()
	logins := NewLogins()
	same := func(o *ServerOptions) { o.Dir, o.Logins = dir, logins }
	pid := spawnBus(t, n, l, same)
	if err := ready(n); err != nil {
		t.Fatal(err)
	}
	addr := l.NATSAddr()
	if addr == "" || strings.HasSuffix(addr, ":0") {
		t.Fatalf("address %q", addr)
	}
	for i := range 100 {
		if _, err := l.Publish(subject(t, "c1"), "t-1", []byte(fmt.Sprintf(`"%d"`, i))); err != nil {
			t.Fatal(err)
		}
	}
	// The actor dies; the next one serves the same log at the same address.
	if err := n.Kill(pid); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, func() bool { _, err := n.ProcessPID(msg.Bus); return err != nil }, func() string { return "name not free" })
	for i := 100; i < 200; i++ {
		if seq, err := l.Publish(subject(t, "c1"), "t-1", []byte(fmt.Sprintf(`"%d"`, i))); err != nil || seq != uint64(i)+1 {
			t.Fatalf("%d: %d %v", i, seq, err)
		}
	}
	spawnBus(t, n, l, same)
	if err := ready(n); err != nil {
		t.Fatal(err)
	}
	if l.NATSAddr() != addr {
		t.Fatalf("address %s, was %s", l.NATSAddr(), addr)
	}
	wake := make(chan struct{}, 1)
	c := l.Follow([]string{">"}, 1, wake)
	events, gap := readUntil(t, c, wake, 200)
	c.Close()
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, events, 0)
	select {
	case m := <-heard:
		f, ok := m.(msg.Facts)
		var detail map[string]any
		if !ok || f.Name != "bus" || json.Unmarshal(f.Detail, &detail) != nil || detail["nats_addr"] != addr {
			t.Fatalf("facts %+v", m)
		}
		if strings.Contains(string(f.Detail), logins.Owner.Password) {
			t.Fatal("the facts hold a password")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("no facts")
	}
	answer, err := n.call(msg.Bus, msg.Drain{}, 5)
	if err != nil || answer.(msg.Done).Err != nil {
		t.Fatalf("drain: %v %v", answer, err)
	}
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		t.Fatal("the server still listens after the drain")
	}
}

// F80: one clear outcome, in words.
func TestActor_PortBusy(t *testing.T) {
	n := newHouse(t, 20*time.Second)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	l := NewLog(LogOptions{})
	spawnBus(t, n, l, func(o *ServerOptions) { o.Addr = busy.Addr().String() })
	err = ready(n)
	var port *PortBusyError
	if !errors.As(err, &port) || port.Addr != busy.Addr().String() || !strings.Contains(err.Error(), "--nats-addr") {
		t.Fatalf("%v", err)
	}
}

// JetStream gives up on a disk error; the actor starts it again by itself and
// nothing taken is lost.
func TestActor_StorageGivesUp(t *testing.T) {
	n := newHouse(t, 30*time.Second)
	l := NewLog(LogOptions{AckWait: 300 * time.Millisecond})
	var k *keeper
	o := Options{Log: l, Server: ServerOptions{NoListen: true, Dir: t.TempDir(), MaxBytes: 64 << 20, MaxAge: time.Hour}}
	if _, err := n.SpawnRegister(msg.Bus, func() gen.ProcessBehavior {
		a := New(o)().(*actor)
		return &spied{actor: a, saw: func() { k = a.keeper }}
	}, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := ready(n); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	srv := k.serving.srv
	k.mu.Unlock()
	if err := srv.ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := l.Publish(subject(t, "c1"), "t-1", []byte(fmt.Sprintf(`"%d"`, i))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 5*time.Second, func() bool { return !l.Figures().Up }, func() string { return "still up" })
	eventually(t, 20*time.Second, func() bool { f := l.Figures(); return f.Up && f.InFlight+f.Waiting == 0 }, func() string { return fmt.Sprintf("%+v", l.Figures()) })
	wake := make(chan struct{}, 1)
	c := l.Follow([]string{">"}, 1, wake)
	defer c.Close()
	events, _ := readUntil(t, c, wake, 50)
	checkRun(t, events, 0)
	if answer, err := n.call(msg.Bus, msg.Drain{}, 5); err != nil || answer.(msg.Done).Err != nil {
		t.Fatalf("drain: %v %v", answer, err)
	}
}

// spied lets a test see the keeper.
type spied struct {
	*actor
	saw func()
}

func (s *spied) Init(args ...any) error {
	err := s.actor.Init(args...)
	s.saw()
	return err
}

// The permissions of interface.md 3 on real connections.
func TestServer_Permissions(t *testing.T) {
	t.Parallel()
	logins := NewLogins()
	r := newRig(t, LogOptions{}, func(o *ServerOptions) { o.NoListen, o.Addr, o.Logins = false, "127.0.0.1:0", logins })
	stop := r.log.Serve(func(q msg.Requested) { q.Reply([]byte(`{"result":` + string(q.Params) + `}`)) })
	defer stop()
	r.publishAll(0, 20)
	r.settled(10 * time.Second)

	if nc, err := nats.Connect("nats://"+r.serving.addr, nats.UserInfo("owner", "wrong")); err == nil {
		nc.Close()
		t.Fatal("a wrong password was accepted")
	}
	if nc, err := nats.Connect("nats://" + r.serving.addr); err == nil {
		nc.Close()
		t.Fatal("no password was accepted")
	}
	for _, tc := range []struct {
		login Login
		may   []string
		not   []string
	}{
		{logins.Owner, []string{"command.get_tree", "command.delete_conversation", "command.get_session"}, []string{"api-agent.chunk.c1", "ops.restart", "$JS.API.STREAM.DELETE.events", "$JS.API.STREAM.PURGE.events"}},
		{logins.Monitor, []string{"command.get_tree", "command.subscribe", "command.acp_session_usage"}, []string{"command.delete_conversation", "command.get_session", "api-agent.chunk.c1", "$JS.API.STREAM.DELETE.events"}},
	} {
		t.Run(tc.login.User, func(t *testing.T) {
			denied := make(chan error, 8)
			nc, err := nats.Connect("nats://"+r.serving.addr, nats.UserInfo(tc.login.User, tc.login.Password),
				nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			for _, s := range tc.may {
				answer, err := nc.Request(s, []byte(`7`), 5*time.Second)
				if err != nil || string(answer.Data) != `{"result":7}` {
					t.Errorf("%s: %v %v", s, answer, err)
				}
			}
			for _, s := range tc.not {
				if err := nc.Publish(s, []byte(`7`)); err != nil {
					t.Fatal(err)
				}
				select {
				case err := <-denied:
					if !errors.Is(err, nats.ErrPermissionViolation) {
						t.Errorf("%s: %v", s, err)
					}
				case <-time.After(5 * time.Second):
					t.Errorf("%s was not denied", s)
				}
			}
			js, err := nc.JetStream()
			if err != nil {
				t.Fatal(err)
			}
			sub, err := js.SubscribeSync("api-agent.*.c1", nats.OrderedConsumer(), nats.BindStream(streamName), nats.StartSequence(11))
			if err != nil {
				t.Fatal(err)
			}
			for i := 10; i < 20; i++ {
				m, err := sub.NextMsg(5 * time.Second)
				if err != nil || string(m.Data) != fmt.Sprintf(`"%d"`, i) || m.Header.Get(contract.HeaderTurn) != "t-1" {
					t.Fatalf("replay %d: %v %v", i, m, err)
				}
			}
			if tc.login.User == userMonitor {
				if _, err := nc.SubscribeSync(contract.CommandPattern); err != nil {
					t.Fatal(err)
				}
				select {
				case <-denied:
				case <-time.After(5 * time.Second):
					t.Error("a monitor may listen to commands")
				}
			}
		})
	}
	if info, err := r.session.js.StreamInfo(streamName); err != nil || info.State.LastSeq != 20 {
		t.Fatalf("the log was changed: %+v %v", info, err)
	}
}

// Requests on command.> are answered whatever the state of the doors, and a
// flood of them is refused instead of piling up.
func TestServer_Commands(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{})
	code := func(m *nats.Msg) int {
		var a struct {
			Error contract.Failure `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &a); err != nil {
			t.Fatalf("%s: %v", m.Data, err)
		}
		return a.Error.Code
	}
	m, err := r.serving.nc.Request("command.get_tree", nil, 5*time.Second)
	if err != nil || code(m) != contract.CodeInternal {
		t.Fatalf("closed doors: %v %v", m, err)
	}
	held := make(chan struct{})
	stop := r.log.Serve(func(q msg.Requested) {
		<-held
		q.Reply([]byte(`{"result":{}}`))
	})
	inbox := r.serving.nc.NewInbox()
	answers, err := r.serving.nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	for range config.MaxRequestsInFlight + 1 {
		if err := r.serving.nc.PublishRequest("command.get_tree", inbox, nil); err != nil {
			t.Fatal(err)
		}
	}
	first, err := answers.NextMsg(5 * time.Second)
	if err != nil || code(first) != contract.CodeOverLimit {
		t.Fatalf("one too many: %v %v", first, err)
	}
	close(held)
	for range config.MaxRequestsInFlight {
		m, err := answers.NextMsg(5 * time.Second)
		if err != nil || string(m.Data) != `{"result":{}}` {
			t.Fatalf("%v %v", m, err)
		}
	}
	// An old stop does not end a newer handler.
	stop2 := r.log.Serve(func(q msg.Requested) { q.Reply([]byte(`2`)) })
	stop()
	if m, err := r.serving.nc.Request("command.get_tree", nil, 5*time.Second); err != nil || string(m.Data) != "2" {
		t.Fatalf("%v %v", m, err)
	}
	stop2()
	if m, err := r.serving.nc.Request("command.get_tree", nil, 5*time.Second); err != nil || code(m) != contract.CodeInternal {
		t.Fatalf("%v %v", m, err)
	}
}
