//go:build !race

// The tests of this file stop applications, or read the lists of the framework
// while it works: both race inside the framework. See style.md (d).

package supervisors_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
)

func TestNode_StopWithin(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(nil)
	begin := time.Now()
	if err := b.StopWithin(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %v", time.Since(begin))
	if b.IsAlive() {
		t.Fatal("the node is alive")
	}
}

// Without somebody to tell, a fatal child ends the application with a reason
// that names it.
func TestPolicy_FatalEndsTheApplication(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	reason := make(chan error, 1)
	core := b.core()
	core.Fatal = nil
	core.Store = skeletonOptions{boot: func(*skeleton) error { return errBang }}.process()
	b.app(supervisors.CoreApp(core, func(err error) { reason <- err }))
	select {
	case err := <-reason:
		var f supervisors.FatalError
		if !errors.As(err, &f) || f.Name != msg.Store || f.Reason != "bang" {
			t.Fatalf("the application ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the application goes on")
	}
}

// A child that ends in the instant of its start may do so before the framework
// has linked it. No end may be lost: each of these reaches down, and the tree
// ends without waiting for a ghost.
func TestPolicy_EndsBeforeTheLink(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const children = 150
	b.crowd(100, 50)
	stop := b.contend(4)
	b.agent(func(o *supervisors.AgentOptions) {
		o.Conversation = dynamic(skeletonOptions{boot: func(*skeleton) error { return errBang }})
	})
	for n := range children {
		b.ensure(msg.SessionsSup, msg.Ensure{Name: msg.ConversationName(contract.ConversationID(fmt.Sprint(n)))})
	}
	for n := range children {
		s, _ := b.state(0, msg.ConversationName(contract.ConversationID(fmt.Sprint(n))), msg.StateDown)
		if s.Restarts != 3 {
			t.Fatalf("child %d is down after %d restarts", n, s.Restarts)
		}
	}
	stop()
	ghosts := 0
	for _, m := range b.since(0) {
		if e, ok := m.(msg.ChildEnded); ok && e.Reason != "bang" {
			ghosts++
		}
	}
	t.Logf("%d of %d ends had lost their exit signal", ghosts, 4*children)
	if err := b.StopWithin(5 * time.Second); err != nil {
		t.Fatal(err)
	}
}

// contract.md 7: no child is started while shutting down. A child that is stuck
// costs the others nothing, and its stop is answered in time.
func TestPolicy_DrainWithAStuckChild(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	free := make(chan struct{})
	stuck := msg.EngineName("stuck")
	b.agent(func(o *supervisors.AgentOptions) {
		o.Engine = dynamic(skeletonOptions{extra: func(s *skeleton, m any) error {
			if m == "block" && s.o.name == stuck {
				<-free
			}
			return nil
		}})
	})
	names := []gen.Atom{stuck, msg.EngineName("a"), msg.EngineName("b")}
	pids := map[gen.Atom]gen.PID{}
	for _, name := range names {
		pids[name] = b.ensure(msg.EnginesSup, msg.Ensure{Name: name}).PID
	}
	b.send(pids[stuck], "block")
	if l := b.call(msg.EnginesSup, msg.Quiesce{}).(msg.ChildList); len(l.Children) != 3 {
		t.Fatalf("quiesced with %+v", l)
	}
	if e := b.ensure(msg.EnginesSup, msg.Ensure{Name: msg.EngineName("new")}); e.Err == nil {
		t.Fatalf("started while draining: %+v", e)
	}
	begin := time.Now()
	answers := make(chan msg.ChildAnswer, len(names))
	for _, name := range names {
		go func() {
			v, err := b.CallWithTimeout(msg.EnginesSup, msg.StopChild{Name: name}, 10)
			if err != nil {
				answers <- msg.ChildAnswer{Err: contract.Fail(0, "%s: %v", name, err)}
				return
			}
			answers <- v.(msg.ChildAnswer)
		}()
	}
	stopped, late := 0, 0
	for range names {
		switch a := <-answers; {
		case a.Err == nil:
			stopped++
		case a.Err.Code == contract.CodeInternal:
			late++
		default:
			t.Error(a.Err)
		}
	}
	if d := time.Since(begin); stopped != 2 || late != 1 || d > 6*time.Second {
		t.Fatalf("%d stopped, %d late, in %v", stopped, late, d)
	}
	err := b.StopWithin(time.Second)
	close(free) // before anything else: Ergo's own timer would end the test
	if err == nil {
		t.Fatal("the node stopped over a stuck process")
	}
	// Freed, the stop comes to its end.
	if err := b.WaitWithTimeout(patience); err != nil && !errors.Is(err, gen.ErrNodeTerminated) {
		t.Fatal(err)
	}
}

// contend keeps the framework's table of links busy, from n goroutines, until
// the returned func has been called.
func (b *bed) contend(n int) (stop func()) {
	b.t.Helper()
	pid, err := b.ProcessPID(sinkName)
	if err != nil {
		b.t.Fatal(err)
	}
	done := make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := b.ProcessInfo(pid); err != nil {
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		all.Wait()
	})
}
