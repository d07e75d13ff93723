package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// BusyError says that another program uses the address of the page (F80).
type BusyError struct{ Addr string }

// Error says what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("The address %s is in use by another program. Stop it, or start PacketBench with --addr and another port (0 lets the system choose).", e.Addr)
}

// New returns the factory of the bridge.
func New(o Options) gen.ProcessFactory {
	d := newDoors(o)
	return func() gen.ProcessBehavior { return &bridge{d: d} }
}

type bridge struct {
	act.Actor
	d        *doors
	listener *listener
	stop     func()
	err      error
	tries    int
}

// A port that was ours can still be held by the predecessor's listener for a
// moment; after bindMost tries the restart policy counts.
const (
	bindAgain = 100 * time.Millisecond
	bindMost  = 50
)

// errNotOpen answers msg.Ready meanwhile.
var errNotOpen = errors.New("The doors are not open yet; try again in a moment.")

type bridgeBoot struct{}

// Init asks itself to begin.
func (b *bridge) Init(...any) error { return b.Send(b.PID(), bridgeBoot{}) }

// HandleMessage opens the listener.
func (b *bridge) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case bridgeBoot:
		return b.open()
	case msg.CloseDoors:
		b.close(m.Within, errStopping)
	case listenerEnded:
		return m.err
	}
	return nil
}

// open binds the address, the same one after a restart, and serves.
func (b *bridge) open() error {
	d := b.d
	d.mu.Lock()
	if d.node = b.Node(); d.wrap != nil {
		d.node = d.wrap(d.node)
	}
	addr, bound := d.addr, d.bound
	d.mu.Unlock()
	d.stopping.Store(false)
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		if busy(err) {
			err = &BusyError{Addr: addr}
			if bound {
				if b.tries++; b.tries > bindMost {
					return err
				}
				b.err = errNotOpen
				_, err = b.SendAfter(b.PID(), bridgeBoot{}, bindAgain)
				return err
			}
		}
		b.err = err
		b.Log().Error("door not opened addr=%s reason=%s", addr, err)
		_ = b.Send(b.Parent(), msg.Status{Name: msg.Bridge, State: msg.StateFailed, LastReason: err.Error()})
		// Deliberate: stays alive to answer msg.Ready with the reason; a start
		// that found its port taken is main's to end, not to retry.
		return nil
	}
	at := ln.Addr().(*net.TCPAddr)
	d.mu.Lock()
	d.addr, d.bound = at.String(), true
	d.mu.Unlock()
	b.err = nil
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return err
	}
	d.guard.Store(&guard{owner: d.opt.OwnerToken, monitor: d.opt.MonitorToken, page: d.opt.PageKey, port: port})
	b.listener = newListener(d, ln)
	if _, err := b.SpawnMeta(b.listener, gen.MetaOptions{}); err != nil {
		_ = ln.Close()
		return err
	}
	if d.opt.Commands != nil {
		b.stop = d.opt.Commands.Serve(d.requested)
	}
	if detail, err := contract.Marshal(struct {
		Addr  string   `json:"addr"`
		Metas []string `json:"metas"`
	}{at.String(), []string{"listener"}}); err == nil {
		_ = b.Send(msg.Inspect, msg.Facts{Name: string(msg.Bridge), Detail: detail})
	}
	return nil
}

// busy reports whether an address is taken. Windows has a number of its own for
// it (WSAEADDRINUSE).
func busy(err error) bool {
	var code syscall.Errno
	return errors.As(err, &code) && (code == syscall.EADDRINUSE || runtime.GOOS == "windows" && code == 10048)
}

// HandleCall answers msg.Ready with the address and msg.CloseDoors when the
// doors are closed.
func (b *bridge) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	switch m := request.(type) {
	case msg.Ready:
		b.d.mu.Lock()
		addr := b.d.addr
		b.d.mu.Unlock()
		return msg.Opened{Addr: addr, Err: b.err}, nil
	case msg.CloseDoors:
		b.close(m.Within, errStopping)
		return msg.Done{}, nil
	}
	return msg.Done{Err: fmt.Errorf("bridge: unknown request %T", request)}, nil
}

// close stops accepting and tells the clients; it does not wait longer than it
// may.
func (b *bridge) close(within time.Duration, why error) {
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	if b.listener != nil {
		b.listener.close(within, why)
	}
}

// Terminate lets go of the listener at once.
func (b *bridge) Terminate(error) { b.close(0, errRestart) }

// listener is the meta process that accepts connections.
type listener struct {
	gen.MetaProcess
	d      *doors
	number uint64
	ln     net.Listener
	server *http.Server
}

type listenerEnded struct{ err error }

func newListener(d *doors, ln net.Listener) *listener {
	return &listener{d: d, number: d.listeners.Add(1), ln: ln, server: &http.Server{
		Handler: d.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(d.opt.Logger.Handler(), slog.LevelDebug),
	}}
}

// Init keeps the process.
func (l *listener) Init(p gen.MetaProcess) error { l.MetaProcess = p; return nil }

// Start accepts until the listener is closed.
func (l *listener) Start() error {
	err := l.server.Serve(l.ln)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if err != nil {
		_ = l.Send(l.Parent(), listenerEnded{fmt.Errorf("bridge: serve: %w", err)})
	}
	return nil
}

// close stops accepting, tells every window why, and waits at most within for
// their farewells and for requests that are being answered.
func (l *listener) close(within time.Duration, why error) {
	if errors.Is(why, errStopping) {
		l.d.stopping.Store(true)
	}
	l.d.open.Range(func(_, v any) bool {
		// Only ours: a successor may serve already while we end.
		if s := v.(*session); s.door <= l.number {
			s.cancel(why)
		}
		return true
	})
	if within > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		_ = l.server.Shutdown(ctx) // Does not know of upgraded connections.
		for l.d.connected.Load() > 0 && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	_ = l.server.Close()
}

// HandleMessage: nobody sends the listener anything.
func (l *listener) HandleMessage(gen.PID, any) error { return nil }

// HandleCall: nor asks it.
func (l *listener) HandleCall(gen.PID, gen.Ref, any) (any, error) { return nil, nil }

// Terminate closes the port at once, so that a restart finds it free.
func (l *listener) Terminate(error) { l.close(0, errRestart) }

// HandleInspect tells nothing; facts are pushed.
func (l *listener) HandleInspect(gen.PID, ...string) map[string]string { return nil }

// requested answers one request on command.>: the bus has checked by its own
// permissions who may send it.
func (d *doors) requested(r msg.Requested) {
	m, ok := contract.CommandMethod(r.Subject)
	var result any
	var failure *contract.Failure
	params := json.RawMessage(bytes.TrimSpace(r.Params))
	switch {
	case !ok || strings.Contains(string(m), "."):
		failure = contract.Fail(contract.CodeNoMethod, "Unknown method: %s", clip(string(m)))
	case len(params) > 0 && (!utf8.Valid(params) || !json.Valid(params)):
		failure = contract.Fail(contract.CodeParse, "The parameters are not JSON.")
	case len(params) > 0 && params[0] != '{' && string(params) != "null":
		failure = contract.BadParam("params", "want an object")
	default:
		if string(params) == "null" {
			params = nil
		}
		result, failure = d.dispatch(caller{client: contract.ClientOwner}, m, params)
	}
	var body []byte
	var err error
	if failure != nil {
		body, err = contract.Marshal(struct {
			Error *contract.Failure `json:"error"`
		}{failure})
	} else {
		body, err = contract.Marshal(struct {
			Result any `json:"result"`
		}{result})
	}
	if err != nil {
		body = []byte(`{"error":{"code":-32603,"message":"The answer could not be encoded."}}`)
	}
	r.Reply(body)
}
