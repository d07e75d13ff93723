package supervisors

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"ergo.services/ergo"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/config"
)

const (
	// shutdownTimeout is Ergo's own: when it expires, Ergo exits 1 without our
	// defers. It stays below the 10 s of the whole drain. Source: actors.md 2.
	shutdownTimeout = 9 * time.Second
	// settleAfter is how long Ergo may take to install its signal handler, in a
	// goroutine that StartNode leaves behind. Measured: actors.md 2, signals.
	settleAfter = 100 * time.Millisecond
	// maxStacks bounds the picture of all goroutines, in bytes; at a start they
	// are some dozens with about 500 bytes each.
	maxStacks = 256 << 10
	// disableMetrics is the Ergo env entry that keeps its telemetry off. It is
	// the only entry: every process inherits the env.
	disableMetrics gen.Env = "disable_metrics"
)

// NodeOptions says how the one node is built.
type NodeOptions struct {
	// Suffix makes the name unique, in tests: packetbench<Suffix>@localhost.
	Suffix string
	// Logger takes what the node and its processes log; nil means
	// slog.Default(). It is written from one goroutine of ours.
	Logger *slog.Logger
	// Debug lets debug records through.
	Debug bool
}

// Node is a started node.
type Node struct {
	gen.Node
	started time.Time
	log     *logger
}

// StartNode starts the node with everything off that this service does not use:
// no network, no registrar, no telemetry, no default logger, no env in what
// others may read. It installs no applications; see CoreApp and its siblings.
//
// Ergo handles SIGINT and SIGTERM from now on by stopping at once. Call
// SettleSignals before the service says that it is ready.
func StartNode(o NodeOptions) (*Node, error) {
	l := newLogger(o.Logger)
	started := time.Now()
	n, err := ergo.StartNode(gen.Atom(config.Program+o.Suffix+"@localhost"), options(o.Debug, l))
	if err != nil {
		l.Terminate()
		return nil, fmt.Errorf("supervisors: start node: %w", err)
	}
	return &Node{Node: n, started: started, log: l}, nil
}

// options is the table of actors.md 2.
func options(debug bool, l gen.LoggerBehavior) gen.NodeOptions {
	level := gen.LogLevelInfo
	if debug {
		level = gen.LogLevelDebug
	}
	return gen.NodeOptions{
		ShutdownTimeout: shutdownTimeout,
		Env:             map[gen.Env]any{disableMetrics: true},
		Network:         gen.NetworkOptions{Mode: gen.NetworkModeDisabled},
		Security:        gen.SecurityOptions{ExposeEnvInfo: false},
		Log: gen.LogOptions{
			Level:         level,
			DefaultLogger: gen.DefaultLoggerOptions{Disable: true},
			Loggers:       []gen.Logger{{Name: "slog", Logger: l}},
		},
	}
}

// LogDropped counts the log records that were dropped because the writer was
// too slow.
func (n *Node) LogDropped() uint64 { return n.log.dropped.Load() }

// handlerWaits matches, in a picture of all goroutines, Ergo's handler waiting
// for its signal: it is installed then. Before, the goroutine is running,
// runnable, or inside of os/signal.
var handlerWaits = regexp.MustCompile(`\[chan receive[^]]*\]:\nergo\.services/ergo/node\.\(\*node\)\.SetCTRLC\.func1\(`)

// SettleSignals takes SIGINT and SIGTERM away from Ergo. It waits until Ergo's
// handler is there, because a reset before that is undone by it: until a
// goroutine is seen to wait in it, at most until 100 ms after StartNode. With
// several nodes in a program it may be the handler of another one. Call signal.Notify for these two only after it; handlers for
// other signals are kept.
//
// Deliberate: Ergo's SetCTRLC(false) is not used, it makes the next signal
// crash the program.
func (n *Node) SettleSignals() {
	stacks := make([]byte, maxStacks)
	for time.Since(n.started) < settleAfter && !handlerWaits.Match(stacks[:runtime.Stack(stacks, true)]) {
		time.Sleep(time.Millisecond)
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM)
}

// StopWithin stops the node and waits for its processes at most d. An error
// says that one of them hangs: the stop goes on behind it, and the caller has to
// exit soon, because Ergo's own timer exits the program with code 1, 9 s after
// the stop began.
//
// Deliberate: no StopForce after that. It takes away what the stop still reads,
// and Ergo then panics in the middle of it; the recover is for a caller that
// does it all the same.
func (n *Node) StopWithin(d time.Duration) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				n.log.out.Error("stop of the node failed", "panic", fmt.Sprint(v))
			}
		}()
		n.Stop()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("supervisors: the node did not stop in %s", d)
	}
}
