package store

import (
	"fmt"
	"reflect"
	"testing"
)

// script runs lanes by hand: started jobs wait until they are ended.
type script struct {
	l       *lanes
	running map[string]uint64
	log     []string
}

func newScript() *script {
	s := &script{running: map[string]uint64{}}
	s.l = newLanes(func(lane string, j job) {
		s.running[lane] = j.seq
		s.log = append(s.log, "start "+lane)
	})
	return s
}

func (s *script) push(lane string, cancellable bool) {
	s.l.push(lane, job{cancellable: cancellable, drop: func() { s.log = append(s.log, "drop "+lane) }})
}

func (s *script) end(lane string) {
	seq := s.running[lane]
	delete(s.running, lane)
	s.log = append(s.log, "end "+lane)
	s.l.ended(lane, seq)
}

func (s *script) want(t *testing.T, want ...string) {
	t.Helper()
	if !reflect.DeepEqual(s.log, want) {
		t.Fatalf("got  %q\nwant %q", s.log, want)
	}
	s.log = nil
}

func TestLanes_Order(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.push("a", false)
	s.push("a", false)
	s.push("b", false)
	s.want(t, "start a", "start b")
	s.end("a")
	s.want(t, "end a", "start a")
	s.end("b")
	s.end("a")
	s.want(t, "end b", "end a")
	if len(s.l.queues) != 0 || len(s.l.running) != 0 {
		t.Fatalf("kept: %v %v", s.l.queues, s.l.running)
	}
}

func TestLanes_Busy(t *testing.T) {
	t.Parallel()
	s := newScript()
	of := func(i int) string { return laneOf + fmt.Sprint(i) }
	for i := range maxBusy + 2 {
		s.push(of(i), false)
	}
	if len(s.running) != maxBusy {
		t.Fatalf("%d run", len(s.running))
	}
	s.push(of(0), false)
	s.log = nil
	s.end(of(0))
	s.want(t, "end "+of(0), "start "+of(8)) // Those that wait longer come first.
	s.end(of(1))
	s.want(t, "end "+of(1), "start "+of(9))
	s.end(of(2))
	s.want(t, "end "+of(2), "start "+of(0))
}

// However much conversations have to save, a turn gets its settings.
func TestLanes_ServiceFirst(t *testing.T) {
	t.Parallel()
	s := newScript()
	for i := range 2 * maxBusy {
		s.push(laneOf+fmt.Sprint(i), false)
	}
	s.log = nil
	s.push(laneSettings, false)
	s.push(laneSettings, false)
	s.push(laneLedger, false)
	s.want(t, "start "+laneSettings, "start "+laneLedger)
	s.end(laneSettings)
	s.want(t, "end "+laneSettings, "start "+laneSettings)
	s.end(laneLedger)
	s.end(laneSettings)
	if s.l.busy != maxBusy || len(s.running) != maxBusy {
		t.Fatalf("%d of %d that run are counted", s.l.busy, len(s.running))
	}
}

func TestLanes_Cancel(t *testing.T) {
	t.Parallel()
	s := newScript()
	met := false
	s.push("a", true) // Runs already: cannot be called back.
	s.push("a", true)
	s.push("a", false)
	s.push("b", true)
	s.l.after(func() { met = true })
	s.log = nil
	s.l.cancel("a")
	s.want(t, "drop a")
	s.end("a")
	s.end("a")
	s.want(t, "end a", "start a", "end a")
	if met {
		t.Fatal("the barrier did not wait for b")
	}
	s.end("b")
	if !met {
		t.Fatal("the barrier waits for a dropped job")
	}
}

// TestLanes_Barrier waits for what was there and not for what comes later.
func TestLanes_Barrier(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.l.after(func() { s.log = append(s.log, "empty") })
	s.push("a", false)
	s.push("a", false)
	s.l.after(func() {
		s.log = append(s.log, "met")
		s.push("c", false)
		s.l.after(func() { s.log = append(s.log, "met too") })
	})
	s.push("b", false)
	s.push("a", false)
	s.log = s.log[:1]
	s.want(t, "empty")
	s.end("a")
	s.end("a")
	s.want(t, "end a", "start a", "end a", "met", "start a", "start c")
	s.end("a")
	s.end("b")
	s.end("c")
	s.want(t, "end a", "end b", "end c", "met too")
}
