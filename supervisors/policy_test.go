package supervisors_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// F25 and actors.md 10: a budget of its own per child. Its siblings keep their
// pids, main is told, and a reset starts it again.
func TestPolicy_SpentBudgetLeavesSiblings(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	secret, bus := b.child(msg.CoreSup, msg.Secret).PID, b.child(msg.CoreSup, msg.Bus).PID
	at := 0
	for n := range 6 {
		var s msg.Status
		s, at = b.state(at, msg.Store, msg.StateRunning)
		if s.Restarts != uint64(n) || s.InWindow != n {
			t.Fatalf("start %d: %d restarts, %d in window", n, s.Restarts, s.InWindow)
		}
		b.send(s.PID, crash{errBang})
	}
	s, at := b.state(at, msg.Store, msg.StateDown)
	if !s.LimitReached || s.Restarts != 5 || s.Max != 5 || s.Window != 30*time.Second || s.LastReason != "bang" || s.PID != (gen.PID{}) {
		t.Fatalf("down as %+v", s)
	}
	b.await(0, "ops.limit-reached", func(m any) bool {
		return m == msg.LimitNotice(msg.CoreSup, msg.Store)
	})
	f, _ := b.await(0, "fatal", func(m any) bool { _, ok := m.(msg.Fatal); return ok })
	if want := (msg.Fatal{Supervisor: msg.CoreSup, Name: msg.Store, Reason: "bang"}); f != want {
		t.Fatalf("fatal %+v, want %+v", f, want)
	}
	if b.child(msg.CoreSup, msg.Secret).PID != secret || b.child(msg.CoreSup, msg.Bus).PID != bus {
		t.Fatal("a sibling was started again")
	}
	b.revive(msg.CoreSup, msg.Reset{Name: msg.Store})
	s, _ = b.state(at, msg.Store, msg.StateRunning)
	if s.LimitReached || s.InWindow != 0 {
		t.Fatalf("after the reset: %+v", s)
	}
	if v := b.call(msg.Store, "anyone"); v != "here" {
		t.Fatalf("the new store says %v", v)
	}
}

// Each notice of a restart comes behind the report of the end, and carries the
// count inside the window.
func TestPolicy_ReportsFirst(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	s, at := b.state(0, msg.Bus, msg.StateRunning)
	b.send(s.PID, crash{errBang})
	first, at := b.await(at, "anything about the end", func(any) bool { return true })
	want := msg.ChildEnded{Supervisor: msg.CoreSup, Name: msg.Bus, PID: s.PID, Reason: "bang"}
	if first != want {
		t.Fatalf("first %+v, want %+v", first, want)
	}
	b.await(at, "ops.restart", func(m any) bool { return m == msg.RestartNotice(msg.Bus, "bang", 1) })
}

// actors.md 10: a start that fails forever ends in down, not in a dead tree.
// For a named child that includes the very first start, with which other types of
// supervisor would not start at all.
func TestPolicy_StartThatFailsForever(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		o    skeletonOptions
	}{
		{name: "init", o: skeletonOptions{init: func() error { return errBang }}},
		{name: "init panics", o: skeletonOptions{init: func() error { panic("bang") }}},
		{name: "boot", o: skeletonOptions{boot: func(*skeleton) error { return errBang }}},
		{name: "boot panics", o: skeletonOptions{boot: func(*skeleton) error { panic("bang") }}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			core := b.core()
			core.Secret = tc.o.process()
			b.app(supervisors.CoreApp(core, nil))
			s, _ := b.state(0, msg.Secret, msg.StateDown)
			if s.Restarts != 5 || s.LastReason == "" {
				t.Fatalf("down as %+v", s)
			}
			if v := b.call(msg.Bus, "anyone"); v != "here" {
				t.Fatalf("the sibling says %v", v)
			}
		})
	}
}

func TestPolicy_DynamicStartThatFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		make supervisors.Maker
	}{
		{name: "init", make: dynamic(skeletonOptions{init: func() error { return errBang }})},
		{name: "maker fails", make: func(gen.Atom, []any) (supervisors.Process, error) { return supervisors.Process{}, errBang }},
		{name: "maker panics", make: func(gen.Atom, []any) (supervisors.Process, error) { panic("bang") }},
		{name: "maker gives nothing", make: func(gen.Atom, []any) (supervisors.Process, error) { return supervisors.Process{}, nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.agent(func(o *supervisors.AgentOptions) { o.Conversation, o.Terminal = tc.make, tc.make })
			name := msg.ConversationName("c")
			e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name})
			if e.Err == nil || e.Err.Code != contract.CodeConflict {
				t.Fatalf("ensure of a conversation: %+v", e)
			}
			if s := b.child(msg.SessionsSup, name); s.State != msg.StateDown || s.Restarts != 3 {
				t.Fatalf("the conversation is %+v", s)
			}
			// Never restarted: refused at once and forgotten.
			e = b.ensure(msg.TerminalsSup, msg.Ensure{Name: msg.TerminalName("t")})
			if e.Err == nil || e.Err.Code != contract.CodeInternal {
				t.Fatalf("ensure of a terminal: %+v", e)
			}
			if l := b.call(msg.TerminalsSup, msg.Children{}).(msg.ChildList); len(l.Children) != 0 {
				t.Fatalf("the terminal is remembered: %+v", l)
			}
		})
	}
}

// actors.md 10: 200 crashes of a named child with 5,000 foreign monitors. The
// monitors make the framework slow to give the name back.
func TestPolicy_NameRace(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	b.crowd(100, 50)
	sup, err := b.ProcessPID(msg.CoreSup)
	if err != nil {
		t.Fatal(err)
	}
	s, at := b.state(0, msg.Store, msg.StateRunning)
	begin := time.Now()
	for n := range 200 {
		b.send(s.PID, crash{errBang})
		s, at = b.state(at, msg.Store, msg.StateRunning)
		if s.Restarts != uint64(n+1) {
			t.Fatalf("crash %d: %d restarts", n, s.Restarts)
		}
		b.call(msg.CoreSup, msg.Reset{Name: msg.Store})
		_, at = b.state(at, msg.Store, msg.StateRunning)
	}
	t.Logf("200 crashes and restarts in %v", time.Since(begin))
	if now, err := b.ProcessPID(msg.CoreSup); err != nil || now != sup {
		t.Fatalf("core_sup is %v, %v; was %v", now, err, sup)
	}
}

// A name that is not free is waited for and not counted.
func TestPolicy_Taken(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(nil)
	name := msg.ConversationName("c")
	p := skeletonOptions{}.process()
	squatter, err := b.SpawnRegister(name, p.Factory, gen.ProcessOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan msg.Ensured, 1)
	go func() {
		v, err := nodetest.Call(b.Node, msg.SessionsSup, msg.Ensure{Name: name}, 10)
		if err != nil {
			answer <- msg.Ensured{Err: contract.Fail(0, "%v", err)}
			return
		}
		answer <- v.(msg.Ensured)
	}()
	_, at := b.state(0, name, msg.StateStarting)
	b.send(squatter, crash{gen.TerminateReasonNormal})
	e := <-answer
	if e.Err != nil || !e.Created || e.PID == squatter {
		t.Fatalf("ensured %+v", e)
	}
	if s, _ := b.state(at, name, msg.StateRunning); s.Restarts != 0 || s.InWindow != 0 {
		t.Fatalf("waiting for the name was counted: %+v", s)
	}
}

func TestPolicy_StopAndStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	p := skeletonOptions{}.process()
	off := p
	off.Off = true
	b.app(supervisors.OpsApp(supervisors.OpsOptions{Common: b.common(), Inspect: p}, nil))
	b.app(supervisors.AgentApp(supervisors.AgentOptions{Common: b.common()}, nil))
	b.app(supervisors.EdgeApp(supervisors.EdgeOptions{Common: b.common(), Bridge: p, MCPServer: off}, nil))

	if s := b.child(msg.EdgeSup, msg.MCPServer); s.State != msg.StateStopped {
		t.Fatalf("mcp_server is %s, want it off", s.State)
	}
	b.revive(msg.EdgeSup, msg.StartChild{Name: msg.MCPServer})
	old, err := b.ProcessPID(msg.MCPServer)
	if err != nil {
		t.Fatal(err)
	}
	if a := b.call(msg.EdgeSup, msg.StopChild{Name: msg.MCPServer}).(msg.ChildAnswer); a.State != msg.StateStopped || a.Err != nil {
		t.Fatalf("stop: %+v", a)
	}
	if _, err := b.ProcessPID(msg.MCPServer); !errors.Is(err, gen.ErrProcessUnknown) {
		t.Fatalf("after the stop: %v", err)
	}
	if e := b.ensure(msg.EdgeSup, msg.Ensure{Name: msg.MCPServer, User: true}); e.Err == nil || e.Err.Code != contract.CodeConflict {
		t.Fatalf("ensure of a stopped child: %+v", e)
	}
	at := b.mark()
	b.revive(msg.EdgeSup, msg.Reset{Name: msg.MCPServer})
	if s, _ := b.state(at, msg.MCPServer, msg.StateRunning); s.PID == old || s.Restarts != 0 {
		t.Fatalf("started again as %+v", s)
	}
	for _, r := range []any{msg.Reset{Name: "nobody"}, msg.StopChild{Name: "nobody"}, msg.StartChild{Name: "nobody"}} {
		if a := b.call(msg.EdgeSup, r).(msg.ChildAnswer); a.Err == nil || a.Err.Code != contract.CodeNotFound {
			t.Fatalf("%T of an unknown name: %+v", r, a)
		}
	}
	if f, ok := b.call(msg.EdgeSup, "nonsense").(*contract.Failure); !ok || f.Code != contract.CodeInternal {
		t.Fatalf("nonsense was answered with %v", f)
	}
}

func TestPolicy_Dynamic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var args atomic.Value
	b.agent(func(o *supervisors.AgentOptions) {
		make := o.Conversation
		o.Conversation = func(name gen.Atom, a []any) (supervisors.Process, error) {
			args.Store(fmt.Sprint(a...))
			return make(name, a)
		}
		o.MCP = nil
	})
	name := msg.ConversationName("c")
	first := b.ensure(msg.SessionsSup, msg.Ensure{Name: name, Args: []any{"one"}})
	if first.Err != nil || !first.Created || args.Load() != "one" {
		t.Fatalf("first ensure: %+v with %v", first, args.Load())
	}
	if pid, err := b.ProcessPID(name); err != nil || pid != first.PID {
		t.Fatalf("registered %v, %v; want %v", pid, err, first.PID)
	}
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name}); e.Created || e.PID != first.PID {
		t.Fatalf("second ensure: %+v", e)
	}

	// It falls asleep: forgotten, and there again when asked for.
	at := b.mark()
	b.send(first.PID, crash{gen.TerminateReasonNormal})
	s, at := b.state(at, name, msg.StateStopped)
	if !s.Gone {
		t.Fatalf("a conversation that went to sleep stays as %+v", s)
	}
	e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name, Args: []any{"two"}})
	if e.Err != nil || !e.Created || e.PID == first.PID || args.Load() != "two" {
		t.Fatalf("third ensure: %+v with %v", e, args.Load())
	}

	// A crash keeps the arguments, and an ensure in between waits for it.
	pid := e.PID
	for n := range 3 {
		b.send(pid, crash{errBang})
		s, at = b.state(at, name, msg.StateBackoff)
		e = b.ensure(msg.SessionsSup, msg.Ensure{Name: name})
		if e.Err != nil || e.PID == pid || s.InWindow != n+1 {
			t.Fatalf("after crash %d: %+v, status %+v", n, e, s)
		}
		pid = e.PID
	}
	if args.Load() != "two" {
		t.Fatalf("restarted with %v", args.Load())
	}
	b.send(pid, crash{errBang})
	b.state(at, name, msg.StateDown)
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name}); e.Err == nil || e.Err.Code != contract.CodeConflict {
		t.Fatalf("ensure of a spent conversation by nobody: %+v", e)
	}
	e = b.ensure(msg.SessionsSup, msg.Ensure{Name: name, User: true})
	if s := b.child(msg.SessionsSup, name); e.Err != nil || !e.Created || s.LimitReached || s.InWindow != 0 {
		t.Fatalf("ensure by a person: %+v, %+v", e, s)
	}

	for sup, name := range map[gen.Atom]gen.Atom{
		msg.SessionsSup: msg.TerminalName("t"), msg.EnginesSup: "acp:", msg.MCPSup: msg.MCPName("off"),
	} {
		if e := b.ensure(sup, msg.Ensure{Name: name}); e.Err == nil || e.Err.Code != contract.CodeNotFound {
			t.Fatalf("ensure of %s at %s: %+v", name, sup, e)
		}
	}
}

// Only a person renews, and only a conversation.
func TestPolicy_DownHostNeedsReset(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(nil)
	name := msg.EngineName("packetcode")
	e := b.ensure(msg.EnginesSup, msg.Ensure{Name: name})
	at, pid := 0, e.PID
	begin := time.Now()
	for range 3 {
		b.send(pid, crash{errBang})
		_, at = b.state(at, name, msg.StateBackoff)
		var s msg.Status
		s, at = b.state(at, name, msg.StateRunning)
		pid = s.PID
	}
	if d := time.Since(begin); d < 1500*time.Millisecond {
		t.Fatalf("three restarts took %v, want 500 ms before each", d)
	}
	b.send(pid, crash{errBang})
	b.state(at, name, msg.StateDown)
	if e := b.ensure(msg.EnginesSup, msg.Ensure{Name: name, User: true}); e.Err == nil {
		t.Fatalf("ensure of a host that is down: %+v", e)
	}
	b.revive(msg.EnginesSup, msg.StartChild{Name: name})
}

// sidecar-protocol.md: an incompatible child may live on and is not restarted
// until a reset, whichever way it says so.
func TestPolicy_Incompatible(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(nil)
	report := msg.Status{State: msg.StateIncompatible, LastReason: "speaks protocol 3"}

	sidecar := b.ensure(msg.EnginesSup, msg.Ensure{Name: msg.Sidecar})
	b.send(sidecar.PID, up{report})
	s, at := b.state(0, msg.Sidecar, msg.StateIncompatible)
	if s.PID != sidecar.PID || s.LastReason != "speaks protocol 3" {
		t.Fatalf("alive and incompatible: %+v", s)
	}
	if e := b.ensure(msg.EnginesSup, msg.Ensure{Name: msg.Sidecar, User: true}); e.Err == nil || e.Err.Code != contract.CodeConflict {
		t.Fatalf("ensure: %+v", e)
	}
	b.call(msg.EnginesSup, msg.Reset{Name: msg.Sidecar})
	s, _ = b.state(at, msg.Sidecar, msg.StateRunning)
	if s.PID == sidecar.PID {
		t.Fatal("a reset did not replace it")
	}
	b.send(s.PID, up{report})
	_, at = b.state(at, msg.Sidecar, msg.StateIncompatible)
	b.send(s.PID, crash{gen.TerminateReasonNormal})
	if s, _ = b.state(at, msg.Sidecar, msg.StateIncompatible); s.PID != (gen.PID{}) {
		t.Fatalf("after its end: %+v", s)
	}

	engine := msg.EngineName("old")
	e := b.ensure(msg.EnginesSup, msg.Ensure{Name: engine})
	b.send(e.PID, crash{fmt.Errorf("version 1: %w", msg.ErrIncompatible)})
	if s, _ := b.state(0, engine, msg.StateIncompatible); s.Restarts != 0 || s.LimitReached {
		t.Fatalf("by its reason: %+v", s)
	}
	b.revive(msg.EnginesSup, msg.Reset{Name: engine})
}

// What a child said before it ended is the reason that people read.
func TestPolicy_FailedToStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(func(o *supervisors.AgentOptions) {
		o.Engine = dynamic(skeletonOptions{boot: func(s *skeleton) error {
			if err := s.Send(s.Parent(), msg.Status{State: msg.StateFailed, LastReason: "no such program"}); err != nil {
				return err
			}
			return errBang
		}})
	})
	name := msg.EngineName("x")
	b.ensure(msg.EnginesSup, msg.Ensure{Name: name})
	if s, _ := b.state(0, name, msg.StateDown); s.LastReason != "no such program" {
		t.Fatalf("last reason %q", s.LastReason)
	}
}

// actors.md 3: above the limit the longest idle one sleeps; with none idle the
// answer is -32029.
func TestSessions_MaxAwake(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(func(o *supervisors.AgentOptions) {
		o.MaxAwake = 2
		o.Conversation = dynamic(skeletonOptions{extra: func(_ *skeleton, m any) error {
			if _, ok := m.(msg.Sleep); ok {
				return gen.TerminateReasonNormal
			}
			return nil
		}})
	})
	one, two, three := msg.ConversationName("1"), msg.ConversationName("2"), msg.ConversationName("3")
	e1 := b.ensure(msg.SessionsSup, msg.Ensure{Name: one})
	e2 := b.ensure(msg.SessionsSup, msg.Ensure{Name: two})
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: three}); e.Err == nil || e.Err.Code != contract.CodeOverLimit {
		t.Fatalf("a third with none idle: %+v", e)
	}
	now := time.Now()
	b.send(e1.PID, up{msg.Idle{Since: now}})
	b.send(e2.PID, up{msg.Idle{Since: now.Add(-time.Minute)}})
	b.sync(e1.PID)
	b.sync(e2.PID)
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: three}); e.Err != nil || !e.Created {
		t.Fatalf("a third with two idle: %+v", e)
	}
	if _, err := b.ProcessPID(two); !errors.Is(err, gen.ErrProcessUnknown) {
		t.Fatalf("the longest idle one is still there: %v", err)
	}
	if pid, err := b.ProcessPID(one); err != nil || pid != e1.PID {
		t.Fatalf("the other one: %v, %v", pid, err)
	}
}

// One that is busy by the time it is asked says so, and somebody else sleeps.
func TestSessions_AskedButBusy(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	busy, idle := msg.ConversationName("busy"), msg.ConversationName("idle")
	b.agent(func(o *supervisors.AgentOptions) {
		o.MaxAwake = 2
		o.Conversation = dynamic(skeletonOptions{extra: func(s *skeleton, m any) error {
			if _, ok := m.(msg.Sleep); !ok {
				return nil
			}
			if s.o.name == busy {
				return s.Send(s.Parent(), msg.Idle{})
			}
			return gen.TerminateReasonNormal
		}})
	})
	now := time.Now()
	for name, since := range map[gen.Atom]time.Time{busy: now.Add(-time.Hour), idle: now} {
		e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name})
		b.send(e.PID, up{msg.Idle{Since: since}})
		b.sync(e.PID)
	}
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: msg.ConversationName("new")}); e.Err != nil {
		t.Fatalf("ensure: %+v", e)
	}
	if _, err := b.ProcessPID(busy); err != nil {
		t.Fatalf("the busy one: %v", err)
	}
}

// A crash during the drain is final.
func TestPolicy_QuiescedCrash(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	b.call(msg.CoreSup, msg.Quiesce{})
	s, at := b.state(0, msg.Store, msg.StateRunning)
	b.send(s.PID, crash{errBang})
	if s, _ := b.state(at, msg.Store, msg.StateStopped); s.Restarts != 0 {
		t.Fatalf("restarted while draining: %+v", s)
	}
	if a := b.call(msg.CoreSup, msg.Reset{Name: msg.Store}).(msg.ChildAnswer); a.Err == nil {
		t.Fatalf("reset while draining: %+v", a)
	}
}

// A supervisor that dies takes its children along first; it starts again empty.
func TestPolicy_SupervisorDies(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(nil)
	name := msg.ConversationName("c")
	old := b.ensure(msg.SessionsSup, msg.Ensure{Name: name})
	engines := b.child(msg.AgentSup, msg.EnginesSup).PID
	sup, at := b.state(0, msg.SessionsSup, msg.StateRunning)
	if err := b.SendExit(sup.PID, errBang); err != nil {
		t.Fatal(err)
	}
	now, _ := b.state(at, msg.SessionsSup, msg.StateRunning)
	if now.PID == sup.PID || now.Restarts != 1 {
		t.Fatalf("sessions_sup came back as %+v", now)
	}
	if _, err := b.ProcessState(old.PID); !errors.Is(err, gen.ErrProcessUnknown) {
		t.Fatalf("its child is still there: %v", err)
	}
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name}); e.Err != nil || !e.Created {
		t.Fatalf("ensure at the new one: %+v", e)
	}
	if b.child(msg.AgentSup, msg.EnginesSup).PID != engines {
		t.Fatal("its sibling was touched")
	}
}

// A sink that comes later asks for everything.
func TestPolicy_ReportStatus(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	at := b.mark()
	b.call(msg.CoreSup, msg.Children{}) // what is on its way arrives
	b.send(msg.CoreSup, msg.ReportStatus{})
	for _, name := range []gen.Atom{msg.Store, msg.Secret, msg.Bus} {
		_, at = b.state(at, name, msg.StateRunning)
	}
}

// A name that somebody else keeps is a failed start in the end.
func TestPolicy_TakenForGood(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var ahead atomic.Int64
	b.agent(func(o *supervisors.AgentOptions) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	name := msg.TerminalName("t")
	p := skeletonOptions{}.process()
	if _, err := b.SpawnRegister(name, p.Factory, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	answer := make(chan any, 1)
	go func() {
		v, err := nodetest.Call(b.Node, msg.TerminalsSup, msg.Ensure{Name: name}, 10)
		if err != nil {
			v = err
		}
		answer <- v
	}()
	b.state(0, name, msg.StateStarting)
	ahead.Store(int64(time.Minute))
	if e, ok := (<-answer).(msg.Ensured); !ok || e.Err == nil || e.Err.Code != contract.CodeInternal {
		t.Fatalf("ensured %+v", e)
	}
}

// One that is asked to sleep and does neither sleep nor answer holds nobody up
// for longer than an answer may take, and is not asked again.
func TestSessions_AskedButStuck(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	stuck, idle := msg.ConversationName("stuck"), msg.ConversationName("idle")
	b.agent(func(o *supervisors.AgentOptions) {
		o.MaxAwake = 2
		o.Conversation = dynamic(skeletonOptions{extra: func(s *skeleton, m any) error {
			if _, ok := m.(msg.Sleep); ok && s.o.name == idle {
				return gen.TerminateReasonNormal
			}
			return nil
		}})
	})
	now := time.Now()
	for name, since := range map[gen.Atom]time.Time{stuck: now.Add(-time.Hour), idle: now} {
		e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name})
		b.send(e.PID, up{msg.Idle{Since: since}})
		b.sync(e.PID)
	}
	name := msg.ConversationName("new")
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name}); e.Err == nil || e.Err.Code != contract.CodeOverLimit {
		t.Fatalf("while the stuck one is waited for: %+v", e)
	}
	if e := b.ensure(msg.SessionsSup, msg.Ensure{Name: name}); e.Err != nil || !e.Created {
		t.Fatalf("after that: %+v", e)
	}
}

// A running child does not show a spent budget that somebody started it over.
func TestPolicy_StartOverASpentBudget(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.app(supervisors.CoreApp(b.core(), nil))
	at := 0
	for range 6 {
		var s msg.Status
		s, at = b.state(at, msg.Secret, msg.StateRunning)
		b.send(s.PID, crash{errBang})
	}
	b.state(at, msg.Secret, msg.StateDown)
	b.revive(msg.CoreSup, msg.StartChild{Name: msg.Secret})
	s, at := b.state(at, msg.Secret, msg.StateRunning)
	if s.LimitReached || s.InWindow != 5 {
		t.Fatalf("started as %+v", s)
	}
	b.send(s.PID, crash{errBang})
	if s, _ := b.state(at, msg.Secret, msg.StateDown); !s.LimitReached {
		t.Fatalf("the window was cleared: %+v", s)
	}
}
