package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// The refusals of Publish besides msg.ErrBusDown and contract.ErrBadSubject.
var (
	// ErrTooLarge refuses a payload that no message of the bus can hold.
	ErrTooLarge = errors.New("bus: the event is larger than the log accepts")
	// ErrNotJSON refuses a payload that is not one JSON value in UTF-8: it
	// would break the frame of every window.
	ErrNotJSON = errors.New("bus: the event is not JSON in UTF-8")
	// ErrClosed says that the Log was closed by the drain.
	ErrClosed = errors.New("bus: the event log was closed because the service stops")
)

const (
	// maxPayloadBytes leaves room for the headers below the server's limit.
	maxPayloadBytes = maxMessageBytes - 4<<10
	// defaultWaitingBytes bounds what waits in memory; a single larger event
	// is still taken when nothing else waits.
	defaultWaitingBytes = 64 << 20
	// defaultInFlightBytes bounds what is handed to the server unacknowledged.
	defaultInFlightBytes = 32 << 20
	// defaultAckWait is how long an acknowledgement may take before the stream
	// is asked what it has. Local storage answers in µs.
	defaultAckWait = 5 * time.Second
	// The ring of the readers: whichever bound is reached first.
	defaultRingEvents = 32_768
	defaultRingBytes  = 32 << 20
)

// LogOptions are the bounds of a Log; zero values mean the defaults of config.
type LogOptions struct {
	InFlight, Waiting           int
	InFlightBytes, WaitingBytes int
	BlockMost, AckWait          time.Duration
	RingEvents, RingBytes       int
	// Status is told each change between up and down, from a goroutine of the
	// Log; it must not block. Reason is a plain sentence, empty when up.
	Status func(up bool, reason string)
	Logger *slog.Logger
}

func (o LogOptions) complete() LogOptions {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.InFlight, config.PublishInFlight)
	set(&o.Waiting, config.PublishWaiting)
	set(&o.InFlightBytes, defaultInFlightBytes)
	set(&o.WaitingBytes, defaultWaitingBytes)
	set(&o.RingEvents, defaultRingEvents)
	set(&o.RingBytes, defaultRingBytes)
	if o.BlockMost <= 0 {
		o.BlockMost = config.PublishBlockMost
	}
	if o.AckWait <= 0 {
		o.AckWait = defaultAckWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// entry is one event that the stream has not acknowledged.
type entry struct {
	subject string
	turn    string
	at      time.Time
	payload []byte
}

// Log is the event log as the rest of the service knows it. It implements
// [msg.Publisher], [msg.EventLog] and [msg.Commands].
type Log struct {
	opt  LogOptions
	ring ring

	mu sync.Mutex
	// next is the number of the next event, 0 until a stream was attached.
	next uint64
	// queue holds the events base to next-1; the first sent of them were
	// handed to the server.
	queue []entry
	base  uint64
	sent  int
	bytes int
	// recent are the last events that were acknowledged, up to base-1: a server
	// whose disk failed may have confirmed what it then lost.
	recent      []entry
	recentBytes int
	// room is closed when the queue shrinks while a Publish waits.
	room chan struct{}
	// settled is closed when the queue is empty while a drain waits.
	settled chan struct{}
	closed  bool
	session *session
	// readers counts open cursors; the ring is fed while there are any.
	readers int
	// feeds wait to be told to the ring; told is the number it expects when they
	// are.
	feeds []feed
	told  uint64
	// closer shuts the attached server down; set by the actor's keeper.
	closer func()
	// serve is the handler of command.>.
	serve    func(msg.Requested)
	serveGen uint64

	// telling is held while the ring is told, and taken before mu. The three
	// below belong to whoever holds it.
	telling sync.Mutex
	arena   []byte
	batch   []msg.Logged
	spare   []feed

	head atomic.Uint64
	addr atomic.Value // string: where NATS clients connect
	up   atomic.Bool
	why  atomic.Value // string
	// downAt is when up became false, in ns since 1970.
	downAt atomic.Int64
	// slot is held by the server that owns the store folder, so that the next
	// one waits until the one before has let go of its files.
	slot chan struct{}
	// setAside tells that the log was set aside as damaged and the one after it
	// has not stored an event yet.
	setAside atomic.Bool

	published, resyncs, refused atomic.Uint64
	// commands counts the requests of command.> that are being handled.
	commands atomic.Int64
}

var (
	_ msg.Publisher = (*Log)(nil)
	_ msg.Pressure  = (*Log)(nil)
	_ msg.EventLog  = (*Log)(nil)
	_ msg.Commands  = (*Log)(nil)
)

// NewLog returns a Log without a server: Publish fails with msg.ErrBusDown
// until the bus actor has attached one.
func NewLog(o LogOptions) *Log {
	l := &Log{opt: o.complete(), slot: make(chan struct{}, 1)}
	l.why.Store("The event log has not started yet.")
	l.ring.init(l.opt.RingEvents, l.opt.RingBytes)
	return l
}

// Head is the sequence number of the last event taken, 0 for none.
func (l *Log) Head() uint64 { return l.head.Load() }

// Waiting implements [msg.Pressure].
func (l *Log) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) - l.sent
}

// Publish gives one event its place in the log. See [msg.Publisher]. It also
// fails with contract.ErrBadSubject, ErrNotJSON, ErrTooLarge and ErrClosed.
func (l *Log) Publish(subject string, turn contract.TurnID, payload []byte) (uint64, error) {
	if _, err := contract.ParseSubject(subject); err != nil {
		return 0, fmt.Errorf("bus: publish: %w", err)
	}
	if len(payload) > maxPayloadBytes {
		return 0, fmt.Errorf("%w: %d bytes on %s, the most is %d", ErrTooLarge, len(payload), subject, maxPayloadBytes)
	}
	if !plainString(payload) && (!json.Valid(payload) || !utf8.Valid(payload)) {
		return 0, fmt.Errorf("%w: %s", ErrNotJSON, subject)
	}
	if !validTurn(turn) {
		return 0, fmt.Errorf("bus: publish: %w: turn of %s", contract.ErrBadID, subject)
	}
	l.mu.Lock()
	var deadline *time.Timer
	for !l.hasRoom(len(payload)) {
		if l.closed {
			l.mu.Unlock()
			return 0, ErrClosed
		}
		if l.room == nil {
			l.room = make(chan struct{})
		}
		room := l.room
		l.mu.Unlock()
		if deadline == nil {
			deadline = time.NewTimer(l.opt.BlockMost)
			defer deadline.Stop()
		}
		select {
		case <-room:
		case <-deadline.C:
			l.refused.Add(1)
			return 0, msg.ErrBusDown
		}
		l.mu.Lock()
	}
	seq := l.next
	l.next++
	l.head.Store(seq)
	l.queue = append(l.queue, entry{subject: subject, turn: string(turn), at: time.Now(), payload: payload})
	l.bytes += len(payload)
	s := l.session
	// The writer looks again by itself while something is unsent, so only the
	// first event of a run has to wake it.
	first := len(l.queue)-l.sent == 1
	l.mu.Unlock()
	l.published.Add(1)
	if first && s != nil {
		s.kick()
	}
	return seq, nil
}

// plainString reports whether a payload is a JSON string without escapes in
// printable ASCII, as most deltas are: it needs no parser.
func plainString(b []byte) bool {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return false
	}
	for _, c := range b[1 : len(b)-1] {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// hasRoom reports whether one more event of n bytes may wait. mu is held.
func (l *Log) hasRoom(n int) bool {
	switch {
	case l.closed, l.next == 0:
		return false
	case len(l.queue) == 0:
		return true
	}
	return len(l.queue)-l.sent < l.opt.Waiting && l.bytes+n <= l.opt.WaitingBytes
}

// validTurn refuses what could not stand in a header line.
func validTurn(t contract.TurnID) bool { return t == "" || contract.ValidID(string(t)) }

// trim drops the first n events, which are stored. mu is held; tellRing is to
// be called without it.
func (l *Log) trim(n int) {
	if n <= 0 {
		return
	}
	l.stored(n)
	for i := range n {
		l.bytes -= len(l.queue[i].payload)
		l.recentBytes += len(l.queue[i].payload)
	}
	l.recent = append(l.recent, l.queue[:n]...)
	clear(l.queue[:n])
	l.queue = l.queue[n:]
	if len(l.recent) > 2*recentMost || l.recentBytes > recentBytes {
		l.forget()
	}
	l.base += uint64(n)
	l.sent = max(0, l.sent-n)
	if len(l.queue) == 0 && l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
	l.signalRoom()
}

// The bounds of recent. A server writes each message to its file before it
// confirms it, so what a failing disk can take back is little.
const (
	recentMost  = 1024
	recentBytes = 8 << 20
)

// forget cuts recent down to half of its bounds. mu is held.
func (l *Log) forget() {
	drop := max(0, len(l.recent)-recentMost)
	for i := range drop {
		l.recentBytes -= len(l.recent[i].payload)
	}
	for drop < len(l.recent) && l.recentBytes > recentBytes/2 {
		l.recentBytes -= len(l.recent[drop].payload)
		drop++
	}
	kept := copy(l.recent, l.recent[drop:])
	clear(l.recent[kept:])
	l.recent = l.recent[:kept]
}

// recall puts the last n acknowledged events back in front of the queue; false
// when so many are not known any more. mu is held.
func (l *Log) recall(n int) bool {
	if n > len(l.recent) {
		return false
	}
	cut := len(l.recent) - n
	back := slices.Clone(l.recent[cut:])
	for _, e := range back {
		l.bytes += len(e.payload)
		l.recentBytes -= len(e.payload)
	}
	clear(l.recent[cut:])
	l.recent = l.recent[:cut]
	l.queue = append(back, l.queue...)
	l.base -= uint64(n)
	return true
}

func (l *Log) signalRoom() {
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
}

// Drain waits until everything taken is stored, or ctx ends; then nothing more
// is taken and the server is shut down, so that its files are closed in order.
// It fails with how many events were not stored, or when the server does not
// end in time. It may be called again.
func (l *Log) Drain(ctx context.Context) error {
	l.mu.Lock()
	var err error
	if len(l.queue) > 0 {
		if l.settled == nil {
			l.settled = make(chan struct{})
		}
		settled := l.settled
		l.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
	if n := len(l.queue); n > 0 {
		err = fmt.Errorf("bus: %d events could not be stored before the stop", n)
	}
	l.closed = true
	l.signalRoom()
	closer := l.closer
	l.mu.Unlock()
	if closer == nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		closer()
	}()
	// Even when the events took all the time there was, the server gets a
	// moment: it needs about 50 ms.
	last := time.NewTimer(serverEndMost)
	defer last.Stop()
	select {
	case <-ended:
	case <-last.C:
		err = errors.Join(err, errors.New("bus: the server of the event log did not end in time"))
	}
	return err
}

// serverEndMost bounds the server's own end.
const serverEndMost = 500 * time.Millisecond

// NATSAddr is host:port of the server for NATS clients: the port in force,
// also when 0 was asked for. It is empty before the first start and without a
// listener.
func (l *Log) NATSAddr() string {
	addr, _ := l.addr.Load().(string)
	return addr
}

func (l *Log) setCloser(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closer = end
}

func (l *Log) setNATSAddr(addr string) { l.addr.Store(addr) }

// Figures is what the log says about itself; nothing in it is secret.
type Figures struct {
	Up        bool   `json:"up"`
	Reason    string `json:"reason,omitempty"`
	Head      uint64 `json:"head"`
	InFlight  int    `json:"in_flight"`
	Waiting   int    `json:"waiting"`
	Readers   int    `json:"readers"`
	Published uint64 `json:"published"`
	Resyncs   uint64 `json:"resyncs"`
	Refused   uint64 `json:"refused"`
}

// Figures returns the present figures.
func (l *Log) Figures() Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	why, _ := l.why.Load().(string)
	return Figures{
		Up: l.up.Load(), Reason: why, Head: l.Head(),
		InFlight: l.sent, Waiting: len(l.queue) - l.sent, Readers: l.readers,
		Published: l.published.Load(), Resyncs: l.resyncs.Load(), Refused: l.refused.Load(),
	}
}

// setUp records and reports a change of state.
func (l *Log) setUp(up bool, reason string) {
	old, _ := l.why.Load().(string)
	if l.up.Load() == up && old == reason {
		return
	}
	l.why.Store(reason)
	if l.up.Swap(up) && !up {
		l.downAt.Store(time.Now().UnixNano())
	}
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	switch {
	case up:
		l.opt.Logger.Info("event log up", "head", l.Head())
	case closed:
		l.opt.Logger.Info("event log closed")
	default:
		l.opt.Logger.Error("event log down", "reason", reason)
	}
	if l.opt.Status != nil {
		l.opt.Status(up, reason)
	}
}

// downFor is how long the log has been down; 0 when it is up.
func (l *Log) downFor() time.Duration {
	if l.up.Load() {
		return 0
	}
	return time.Since(time.Unix(0, l.downAt.Load()))
}

// Serve implements [msg.Commands].
func (l *Log) Serve(handle func(msg.Requested)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serveGen++
	gen := l.serveGen
	l.serve = handle
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.serveGen == gen {
			l.serve = nil
		}
	}
}

func (l *Log) handler() func(msg.Requested) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serve
}
