//go:build unix

package supervisors_test

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/supervisors"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// settleEnv marks the re-executed test binary.
const settleEnv = "SUPERVISORS_TEST_SETTLE"

// child is the program of TestNode_SettleSignals: it prints what it does and
// what it got.
func child() {
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	n, err := supervisors.StartNode(supervisors.NodeOptions{Suffix: "-settle", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.WriteString(err.Error())
		return
	}
	n.SettleSignals()
	// Otherwise a start would take the whole of the bound, and nobody noticed.
	stacks := make([]byte, 1<<20)
	if !supervisors.HandlerWaits.Match(stacks[:runtime.Stack(stacks, true)]) {
		w.WriteString("Ergo's handler is not recognised; ")
	}
	got := make(chan os.Signal, 1)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	raise(syscall.SIGTERM)
	select {
	case s := <-got:
		w.WriteString("got " + s.String() + "; ")
	case <-time.After(5 * time.Second):
		w.WriteString("no signal; ")
	}
	if err := n.WaitWithTimeout(200 * time.Millisecond); errors.Is(err, gen.ErrTimeout) {
		w.WriteString("node alive; ")
	} else {
		w.WriteString("node stopped; ")
	}
	raise(syscall.SIGHUP)
	select {
	case s := <-hup:
		w.WriteString("kept " + s.String())
	case <-time.After(5 * time.Second):
		w.WriteString("lost the other handler")
	}
	nodetest.Stop(n)
}

func raise(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		panic(err)
	}
}

// actors.md 2, signals: after SettleSignals a SIGTERM is ours and the node goes
// on; handlers of other signals are kept. It needs a program of its own: every
// node of this binary has a handler.
func TestNode_SettleSignals(t *testing.T) {
	if os.Getenv(settleEnv) != "" {
		child()
		os.Exit(0)
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		cmd := exec.Command(exe, "-test.run=^TestNode_SettleSignals$")
		cmd.Env = append(os.Environ(), settleEnv+"=1")
		out, err := cmd.CombinedOutput()
		if want := "got terminated; node alive; kept hangup"; err != nil || string(out) != want {
			t.Fatalf("%v: %q, want %q", err, out, want)
		}
	}
}
