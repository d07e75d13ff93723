package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Providers answers what the picker asks. Implemented by the wiring, over the
// secret and store actors and the model catalogue.
type Providers interface {
	List(ctx context.Context) ([]contract.ProviderRow, error)
	// Badge fails with an error whose text is for a person, for an unknown id.
	Badge(ctx context.Context, probe contract.AuthProbe) (contract.Badge, error)
}

// Options is what the doors are started with.
type Options struct {
	// Addr is host:port on loopback; port 0 lets the system choose, once.
	Addr string
	// BootID, OwnerToken and MonitorToken are made at each start.
	BootID, OwnerToken, MonitorToken string
	// PageKey is what the cookie of an owner's page holds. It is kept over
	// starts; empty makes the cookie end with this one.
	PageKey   string
	Log       msg.EventLog
	Publisher msg.Publisher
	Commands  msg.Commands
	Providers Providers
	Desk      Desk
	Engines   Engines
	Terminals Terminals
	House     House
	// Page is the built page; nil serves a plain text in its place.
	Page fs.FS
	// Ready says whether every part of the service is up.
	Ready func() bool
	// ProjectPath is the folder the service was started in.
	ProjectPath string
	// Sidecar is the status of the sidecar.
	Sidecar func() contract.SidecarStatus
	// Gauges are more figures for /metrics, by name.
	Gauges map[string]func() float64
	// Figures are those with labels; asked each time somebody reads /metrics.
	Figures func() []Figure
	Logger  *slog.Logger
}

// doors is what outlives a restart of the bridge actor: the address it got, the
// connections' count, the figures.
type doors struct {
	opt   Options
	guard atomic.Pointer[guard]

	mu   sync.Mutex
	node gen.Node
	addr string
	// bound is set once the address was ours.
	bound bool

	viewers   atomic.Uint64
	listeners atomic.Uint64
	connected atomic.Int64
	stopping  atomic.Bool
	open      sync.Map // Viewer number -> *session.
	metrics   *metrics
	pace      pace
	frameMost int64 // Bytes of a frame or body.
	// wrap, if set, stands between the doors and the node. For tests.
	wrap func(gen.Node) gen.Node
}

// pace is how long a session waits; constants but for tests.
type pace struct{ write, ping, hold time.Duration }

// viewersMost is how many windows and event streams may be connected: an actor
// each, of the 2,000 that a node bears. Source: actors.md 9.
const viewersMost = 1000

func newDoors(o Options) *doors {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	d := &doors{opt: o, addr: o.Addr, pace: pace{write: writeMost, ping: pingEvery, hold: watchEvery}, frameMost: config.MaxFrameBytes}
	d.guard.Store(&guard{owner: o.OwnerToken, monitor: o.MonitorToken, page: o.PageKey})
	d.metrics = newMetrics(d)
	return d
}

func (d *doors) at() gen.Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.node
}

// call asks a registered actor and translates what can go wrong on the way.
func (d *doors) call(name gen.Atom, request any, seconds int) (any, *contract.Failure) {
	reply, err := d.at().CallWithTimeout(name, request, seconds)
	if err == nil {
		return reply, nil
	}
	return nil, d.failed(name, request, err)
}

func (d *doors) failed(name gen.Atom, request any, err error) *contract.Failure {
	switch {
	case errors.Is(err, gen.ErrProcessMailboxFull):
		return contract.Fail(contract.CodeOverLimit, "Too many requests wait for %s; try again in a moment.", string(name))
	case gone(err):
		return contract.Fail(contract.CodeInternal, "%s does not run just now; try again in a moment.", string(name))
	}
	return d.internal("request not answered", "actor", string(name), "request", typeName(request), "reason", err)
}

func gone(err error) bool {
	return errors.Is(err, gen.ErrProcessUnknown) || errors.Is(err, gen.ErrProcessTerminated) || errors.Is(err, gen.ErrNameUnknown)
}

// internal logs a fault under a reference id and answers with it.
func (d *doors) internal(what string, args ...any) *contract.Failure {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // Never fails, see its documentation.
	ref := hex.EncodeToString(b)
	d.opt.Logger.Error(what, append(args, "ref", ref)...)
	return contract.Fail(contract.CodeInternal, "Something failed inside PacketBench; the log says more under the reference %s.", ref)
}

// conversation asks the owner of a conversation, waking it when it sleeps.
func (d *doors) conversation(id contract.ConversationID, c msg.Command, seconds int, issued func()) (any, *contract.Failure) {
	name := msg.ConversationName(id)
	creates := c.Method == contract.MethodStart || c.Method == contract.MethodOneShot
	if issued == nil {
		issued = func() {}
	}
	for range 3 {
		lies := time.AfterFunc(issuedAfter, issued)
		reply, err := d.at().CallWithTimeout(name, c, seconds)
		lies.Stop()
		if err == nil {
			r, ok := reply.(msg.Reply)
			if !ok {
				return nil, d.internal("conversation answered strangely", "conv", string(id), "type", typeName(reply))
			}
			return r.Result, r.Failure
		}
		if !gone(err) {
			return nil, d.failed(name, c, err)
		}
		if !creates {
			found, failure := d.call(msg.Store, msg.GetSummary{ID: id}, 5)
			if failure != nil {
				return nil, failure
			}
			if f, ok := found.(msg.FoundSummary); !ok || !f.Found {
				return nil, contract.Fail(contract.CodeNotFound, "%s%s", contract.TextNoSession, id)
			}
		}
		if failure := d.wake(id, true); failure != nil {
			return nil, failure
		}
	}
	return nil, contract.Fail(contract.CodeInternal, "The conversation does not stay awake; try again, and look at the log if it happens again.")
}

// wake starts a conversation's actor when it does not run.
func (d *doors) wake(id contract.ConversationID, user bool) *contract.Failure {
	reply, failure := d.call(msg.SessionsSup, msg.Ensure{Name: msg.ConversationName(id), User: user}, 6)
	if failure != nil {
		return failure
	}
	if e, ok := reply.(msg.Ensured); ok {
		return e.Err
	}
	return d.internal("supervisor answered strangely", "type", typeName(reply))
}

// watch holds a conversation awake for a viewer; false when it does not run.
func (d *doors) watch(id contract.ConversationID) bool {
	return d.at().Send(msg.ConversationName(id), msg.Watch{Until: time.Now().Add(watchFor)}) == nil
}

// A viewer renews its hold every minute; it lasts a little longer.
const (
	watchEvery = time.Minute
	watchFor   = 90 * time.Second
)
