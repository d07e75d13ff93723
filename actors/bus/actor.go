package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

const (
	// checkEvery is how often the actor looks whether its server still stores.
	checkEvery = time.Second
	// storeMost is how long a running server may store nothing that waits.
	storeMost = 3 * time.Second
	// restartMost bounds the wait between two starts of a server that stopped
	// storing, a full disk usually.
	restartMost = 10 * time.Second
	// factsEvery is how often the tree learns the log's figures, if they have
	// changed.
	factsEvery = 3 * time.Second
	// readyMost is when a Ready that waits is answered with a failure; its
	// caller gives up after 10 s. Source: actors.md 7.
	readyMost = 9 * time.Second
	// endAfter is how long an actor that could not start still answers Ready: a
	// call that is in its mailbox when it ends is answered by nobody, and its
	// caller would learn of a timeout instead of the reason.
	endAfter = 100 * time.Millisecond
	// drainMost is the bus's share of the stop. Source: actors.md 7.
	drainMost = time.Second
)

// Options are what the actor is made from.
type Options struct {
	Log    *Log
	Server ServerOptions
}

// New returns the factory of the bus actor. The child specification registers
// its name, [msg.Bus].
func New(o Options) gen.ProcessFactory {
	if o.Server.Logger == nil {
		o.Server.Logger = slog.New(slog.DiscardHandler)
	}
	return func() gen.ProcessBehavior { return &actor{opt: o} }
}

// Messages of the actor to itself.
type (
	boot    struct{}
	check   struct{}
	facts   struct{}
	arrived struct {
		addr string
		err  error
	}
	end     struct{}
	late    struct{ ref gen.Ref }
	drained struct {
		from gen.PID
		ref  gen.Ref
		err  error
	}
)

type waiter struct {
	from gen.PID
	ref  gen.Ref
}

// actor starts the server, watches it, and gives it back.
type actor struct {
	act.Actor
	opt     Options
	keeper  *keeper
	running bool
	// started tells whether this actor ever had a server: before, a failure
	// ends it and its policy counts; after, it tries by itself, since events
	// wait in memory meanwhile.
	started bool
	// failed is why it could not start; it is about to end with it.
	failed  error
	wait    time.Duration
	waiters []waiter
	last    string
}

// Init stores nothing but a message to itself.
func (a *actor) Init(...any) error {
	a.keeper = &keeper{opt: a.opt}
	a.wait = checkEvery
	return a.Send(a.PID(), boot{})
}

// HandleMessage runs the life of the server.
func (a *actor) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case boot:
		_ = a.report(msg.StateStarting, "")
		a.start()
		_, _ = a.SendAfter(a.PID(), facts{}, factsEvery)
	case arrived:
		a.arrived(m)
	case end:
		return a.failed
	case check:
		a.check()
	case facts:
		a.facts()
		_, _ = a.SendAfter(a.PID(), facts{}, factsEvery)
	case late:
		a.answer(errors.New("The event log is not ready yet."), func(w waiter) bool { return w.ref == m.ref })
	case drained:
		_ = a.SendResponse(m.from, m.ref, msg.Done{Err: m.err})
	}
	return nil
}

// HandleCall answers Ready, when the log is up, and Drain, when it is stored.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	switch request.(type) {
	case msg.Ready:
		if a.running || a.failed != nil {
			return msg.Done{Err: a.failed}, nil
		}
		a.waiters = append(a.waiters, waiter{from, ref})
		_, _ = a.SendAfter(a.PID(), late{ref}, readyMost)
		return nil, nil
	case msg.Drain:
		node, self, log := a.Node(), a.PID(), a.opt.Log
		go func() {
			err := errors.New("The event log failed inside PacketBench while it stopped.")
			defer func() {
				_ = recover()
				_ = node.Send(self, drained{from, ref, err})
			}()
			ctx, cancel := context.WithTimeout(context.Background(), drainMost)
			defer cancel()
			err = log.Drain(ctx)
		}()
		return nil, nil
	}
	return msg.Done{Err: fmt.Errorf("bus: unknown request %T", request)}, nil
}

// Terminate gives the server back; the next actor waits for its files.
func (a *actor) Terminate(error) {
	k := a.keeper
	go k.close()
}

func (a *actor) start() {
	node, self, k := a.Node(), a.PID(), a.keeper
	go func() {
		m := arrived{err: errors.New("The event log failed inside PacketBench while it started.")}
		defer func() {
			_ = recover()
			_ = node.Send(self, m)
		}()
		m.addr, m.err = k.up()
	}()
}

func (a *actor) arrived(m arrived) {
	if m.err != nil {
		a.running = false
		if errors.Is(m.err, errKeeperClosed) {
			return
		}
		a.Log().Error("event log not started err=%q", m.err.Error())
		if !a.started {
			a.answer(m.err, func(waiter) bool { return true })
			_ = a.report(msg.StateFailed, m.err.Error())
			a.failed = m.err
			_, _ = a.SendAfter(a.PID(), end{}, endAfter)
			return
		}
		_, _ = a.SendAfter(a.PID(), check{}, a.wait)
		a.wait = min(a.wait*2, restartMost)
		return
	}
	a.running, a.started = true, true
	_ = a.report(msg.StateRunning, "")
	a.answer(nil, func(waiter) bool { return true })
	a.facts()
	_, _ = a.SendAfter(a.PID(), check{}, checkEvery)
}

// check starts the server anew when it no longer stores.
func (a *actor) check() {
	why := a.keeper.broken()
	switch down := a.opt.Log.downFor(); {
	case why != "":
	case down == 0:
		a.wait = checkEvery
	case down > storeMost && down > a.wait:
		// A store whose disk failed once refuses for ever, also when the disk
		// has room again; only opening it anew helps.
		why = "nothing is stored"
		a.wait = min(a.wait*2, restartMost)
	}
	if why != "" {
		a.running = false
		a.Log().Warning("event log starts anew reason=%q", why)
		a.start()
		return
	}
	_, _ = a.SendAfter(a.PID(), check{}, checkEvery)
}

func (a *actor) answer(err error, which func(waiter) bool) {
	kept := a.waiters[:0]
	for _, w := range a.waiters {
		if which(w) {
			_ = a.SendResponse(w.from, w.ref, msg.Done{Err: err})
		} else {
			kept = append(kept, w)
		}
	}
	a.waiters = kept
}

func (a *actor) report(state msg.ChildState, reason string) error {
	return a.Send(a.Parent(), msg.Status{Name: msg.Bus, State: state, LastReason: reason})
}

// facts tells the tree what the log looks like.
func (a *actor) facts() {
	detail, err := json.Marshal(struct {
		Figures
		NATS string `json:"nats_addr,omitempty"`
	}{a.opt.Log.Figures(), a.opt.Log.NATSAddr()})
	if err != nil || string(detail) == a.last {
		return
	}
	if a.Send(msg.Inspect, msg.Facts{Name: string(msg.Bus), Detail: detail}) == nil {
		a.last = string(detail)
	}
}

// keeper holds the server on behalf of the actor. It is used from goroutines,
// because starting and stopping take longer than a handler may.
type keeper struct {
	opt     Options
	mu      sync.Mutex
	serving *serving
	session *session
	closed  bool
	// suspect is why the next start has to set the log aside.
	suspect string
}

var errKeeperClosed = errors.New("bus: closed")

// up makes a server run and the Log attached to it, replacing one that is
// broken.
func (k *keeper) up() (addr string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session != nil && k.session.deaf(time.Now()) && diskTakes(k.opt.Server.Dir) == nil {
		k.suspect = "it does not store, although its server answers and the disk takes what is written"
	}
	k.drop("The event log is being started again. Events wait in memory.")
	if k.closed {
		return "", errKeeperClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), startMost)
	defer cancel()
	o := k.opt.Server
	o.suspect, k.suspect = k.suspect, ""
	if known := k.opt.Log.NATSAddr(); known != "" {
		o.Addr = known // clients know the port of the first start
	}
	if k.serving, err = start(ctx, o, k.opt.Log); err != nil {
		return "", err
	}
	if k.session, err = k.opt.Log.attach(k.serving); err != nil {
		k.serving.stop()
		k.serving = nil
		return "", err
	}
	k.opt.Log.setNATSAddr(k.serving.addr)
	k.opt.Log.setCloser(k.close)
	return k.serving.addr, nil
}

// broken says why the server has to be started again; empty when it need not.
func (k *keeper) broken() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return ""
	case k.serving == nil:
		return "no server"
	case !k.serving.srv.Running():
		return "the server ended"
	case !k.serving.srv.JetStreamEnabled():
		return "the server stopped storing"
	case k.session.ctx.Err() != nil, k.serving.nc.IsClosed():
		return "the connection to the server ended"
	case k.opt.Log.up.Load() && k.session.late(time.Now()):
		// When it is down already, it is started anew for that, less and less
		// often.
		return "the first event is not confirmed"
	}
	return ""
}

func (k *keeper) drop(reason string) {
	if k.serving == nil {
		return
	}
	k.session.detach(reason)
	k.serving.stop()
	k.serving, k.session = nil, nil
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.drop("The event log has stopped.")
}
