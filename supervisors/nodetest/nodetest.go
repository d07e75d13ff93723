// Package nodetest starts real nodes for tests of actors and supervisors.
//
// Every node has a name of its own, no network, and is ended by force when its
// test ends. Under a race detector that has not been told about it, see
// .ci/race.supp, Start keeps clear of the full minute: Ergo's cron races with
// itself there, which is reported for any node that is alive. Source: style.md (d). For use in tests only.
package nodetest

import (
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/supervisors"
)

// MaxBudget is the longest a test may keep a node alive.
const MaxBudget = 50 * time.Second

var serial atomic.Uint64

// Start returns a node that lives until the test ends. budget is how long the
// test takes at most; when the full minute matters and less of the present one is
// left, Start waits for the next one. The log goes to t.Log while the test runs.
func Start(t testing.TB, budget time.Duration) *supervisors.Node {
	t.Helper()
	Clear(t, budget)
	w := &writer{t: t}
	n, err := supervisors.StartNode(supervisors.NodeOptions{
		Suffix: "-test-" + strconv.FormatUint(serial.Add(1), 10),
		Logger: slog.New(slog.NewTextHandler(w, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.over.Store(true) // the end by force is noisy and says nothing
		Stop(n)
	})
	return n
}

// Clear waits, if the full minute matters, until budget fits before the next
// one; for a test that starts its node by itself.
func Clear(t testing.TB, budget time.Duration) {
	t.Helper()
	if budget > MaxBudget {
		t.Fatalf("nodetest: a budget of %v is over %v", budget, MaxBudget)
	}
	if d := wait(time.Now(), budget); d > 0 && minded() {
		t.Logf("nodetest: waiting %v for the full minute to pass", d)
		time.Sleep(d)
	}
}

// Stop ends n by force, and quietly for the race detector. Force kills one
// process after the other while whoever supervises them is alive, and a process
// that is started again in between is written without a lock. So the policies
// are told to start nothing, and the framework's own supervisor, which always
// restarts, is ended first.
func Stop(n *supervisors.Node) {
	for _, name := range msg.Policies() {
		if _, err := n.ProcessPID(name); err != nil {
			continue
		}
		// A supervisor that is gone or ending starts nothing either.
		_, _ = Call(n, name, msg.Quiesce{}, 1)
	}
	if pid, err := n.ProcessPID("system_sup"); err == nil && n.SendExit(pid, gen.TerminateReasonShutdown) == nil {
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := n.ProcessState(pid); err != nil {
				break
			}
		}
	}
	n.StopForce()
}

// past is how long after the full minute cron is done.
const past = 250 * time.Millisecond

// wait returns how long to wait at now so that budget fits before the next full
// minute, and the last one is past.
func wait(now time.Time, budget time.Duration) time.Duration {
	into := now.Sub(now.Truncate(time.Minute))
	switch left := time.Minute - into; {
	case into < past:
		return past - into
	case left < budget:
		return left + past
	default:
		return 0
	}
}

// writer logs to a test that has not ended.
type writer struct {
	t    testing.TB
	over atomic.Bool
}

func (w *writer) Write(b []byte) (int, error) {
	if !w.over.Load() {
		w.t.Logf("%s", b[:max(0, len(b)-1)])
	}
	return len(b), nil
}
