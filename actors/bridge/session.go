package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

const (
	// frameBytes is about how many bytes of events go into one frame: large
	// enough that a window that catches up reads at full speed, small enough
	// that an answer does not wait long behind it.
	frameBytes = 256 << 10
	// writeMost is how long one frame may take. A window that reads nothing for
	// so long is closed; it comes back with its last sequence number.
	writeMost = 60 * time.Second
	// pingEvery finds peers that are gone without a word.
	pingEvery = 15 * time.Second
	// partMost is how long a session that ends may still write and wait for
	// its peer's farewell.
	partMost = 300 * time.Millisecond
	// issuedAfter is when a request that an actor has not answered yet counts
	// as lying in its mailbox, so that the next one may follow it there.
	issuedAfter = 50 * time.Millisecond
)

// closeStopping is the close code of a service that stops; RFC 6455 7.4.2 leaves
// 4000 to 4999 to applications. A window whose own part ended gets 1012.
const closeStopping websocket.StatusCode = 4001

// Why a session ends that its peer did not end.
var (
	errStopping = errors.New("the service is stopping")
	errRestart  = errors.New("this connection was ended by the service; connect again")
	errFault    = errors.New("something failed inside PacketBench")
)

// follow is one subscription of a session. Its cursor belongs to the writer.
type follow struct {
	id     string
	cursor msg.Cursor
}

// item is something for the writer: an answer, new and ended subscriptions.
type item struct {
	frame []byte
	add   []*follow
	drop  []string
	// release is how many in-flight places the answer gives back.
	release int
}

// sink is how a session writes: a WebSocket or an event stream.
type sink interface {
	// send writes one whole frame.
	send(ctx context.Context, frame []byte) error
	// events writes a run of events of one subscription.
	events(ctx context.Context, sub string, events []msg.Logged) error
	gap(ctx context.Context, sub string, g msg.Gap) error
	// ping checks that the peer is there.
	ping(ctx context.Context) error
}

// session is one connection that events are pushed to.
type session struct {
	d      *doors
	number uint64
	role   contract.Client
	remote string
	kind   string // "websocket", "sse", or "terminal:" and its id.
	door   uint64 // The number of the listener.
	since  time.Time
	sink   sink

	// ctx ends with the session, its cause says why. hard ends partMost later
	// and takes the connection with it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	hard   context.Context
	kill   context.CancelFunc

	items    chan item
	wake     chan struct{}
	inFlight atomic.Int64
	// work is every goroutine of the session.
	work sync.WaitGroup
	// started is set once, by whoever may use the connection first.
	started atomic.Bool
	// ended is closed when the socket's process is done with the connection.
	ended chan struct{}
	once  sync.Once
	// lines holds, by conversation, what the next command to it waits for. It
	// belongs to the reader.
	lines map[contract.ConversationID]chan struct{}

	mu   sync.Mutex
	next int
	// subs says which conversations each subscription holds.
	subs map[string][]contract.ConversationID
	// looks are the subscriptions of somebody who looks at the tree.
	looks map[string]bool
	// held are the conversations that this session keeps awake.
	held map[contract.ConversationID]int
	// behind is the least position of the cursors, for the lag.
	behind atomic.Uint64
}

func (d *doors) newSession(role contract.Client, kind, remote string) *session {
	s := &session{
		d: d, number: d.viewers.Add(1), role: role, kind: kind, remote: remote, door: d.listeners.Load(), since: time.Now(),
		items: make(chan item, config.MaxRequestsInFlight+config.MaxSubscriptions),
		wake:  make(chan struct{}, 1), ended: make(chan struct{}),
		lines: map[contract.ConversationID]chan struct{}{},
		looks: map[string]bool{}, subs: map[string][]contract.ConversationID{}, held: map[contract.ConversationID]int{},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.hard, s.kill = context.WithCancel(context.Background())
	context.AfterFunc(s.ctx, func() { time.AfterFunc(partMost, s.kill) })
	return s
}

func (s *session) finish() { s.once.Do(func() { close(s.ended) }) }

// claim is true for the first of those who want to use the connection: its run
// or its refusal.
func (s *session) claim() bool { return s.started.CompareAndSwap(false, true) }

// safely runs one part of the session; a panic ends the session, not the
// service.
func (s *session) safely(part string, run func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.d.internal("connection fault", "viewer", s.number, "part", part, "fault", fmt.Sprint(fault))
			s.cancel(errFault)
		}
	}()
	run()
}

func (s *session) spawn(part string, run func()) { s.work.Go(func() { s.safely(part, run) }) }

// errTooMany refuses one subscription more than the limit.
func errTooMany() *contract.Failure {
	return contract.Fail(contract.CodeOverLimit, "A connection may hold %d subscriptions; end one first.", config.MaxSubscriptions)
}

// subscribe checks the patterns, opens a cursor and wakes what they name. The
// caller hands the follow to the writer together with the answer.
func (s *session) subscribe(p contract.SubscribeParams) (*follow, contract.SubscribeResult, *contract.Failure) {
	var none contract.SubscribeResult
	if len(p.Subjects) == 0 || len(p.Subjects) > 64 {
		return nil, none, contract.BadParam("subjects", "want 1 to 64 patterns")
	}
	var named []contract.ConversationID
	for _, pattern := range p.Subjects {
		if !contract.ValidPattern(pattern) {
			return nil, none, contract.BadParam("subjects", "%q is no pattern", clip(pattern))
		}
		if id, ok := contract.PatternConversation(pattern); ok && !slices.Contains(named, id) {
			named = append(named, id)
		}
	}
	head := s.d.opt.Log.Head()
	from, failure := since(p.Since, head)
	if failure != nil {
		return nil, none, failure
	}
	s.mu.Lock()
	if len(s.subs) >= config.MaxSubscriptions {
		s.mu.Unlock()
		return nil, none, errTooMany()
	}
	s.next++
	id := "s" + strconv.Itoa(s.next)
	s.subs[id] = named
	looks := looksAtTree(p.Subjects)
	if looks {
		s.looks[id] = true
	}
	for _, c := range named {
		s.held[c]++
	}
	s.mu.Unlock()
	cursor := s.d.opt.Log.Follow(p.Subjects, from, s.wake)
	if looks {
		s.d.look()
	}
	if len(named) > 0 {
		// Beside the reader: the events are in the log whoever is awake, and a
		// conversation that takes long must not hold up the next frame.
		s.spawn("wake", func() { s.rouse(named) })
	}
	return &follow{id: id, cursor: cursor}, contract.SubscribeResult{Subscription: id, Head: head}, nil
}

// rouse wakes the conversations that a subscription names, as far as they
// exist, and holds them. One that cannot be woken is still followed; a command
// to it will say what is wrong.
func (s *session) rouse(named []contract.ConversationID) {
	for _, c := range named {
		if s.ctx.Err() != nil {
			return
		}
		if s.d.watch(c) {
			continue
		}
		reply, failure := s.d.call(msg.Store, msg.GetSummary{ID: c}, quick)
		if f, ok := reply.(msg.FoundSummary); failure != nil || !ok || !f.Found {
			continue
		}
		// Not as a person's wish: a page that connects again by itself must
		// not give a conversation that keeps failing one budget after another.
		if s.d.wake(c, false) == nil {
			s.d.watch(c)
		}
	}
}

// unsubscribe forgets a subscription; the writer closes its cursor.
func (s *session) unsubscribe(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	named, ok := s.subs[id]
	if !ok {
		return false
	}
	delete(s.subs, id)
	delete(s.looks, id)
	for _, c := range named {
		if s.held[c]--; s.held[c] <= 0 {
			delete(s.held, c)
		}
	}
	return true
}

func (s *session) subscribed(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.subs[id]
	return ok
}

func subscribe(_ *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	return nil, contract.Fail(contract.CodeInvalid, "Subscriptions need a connection that events can be pushed to: use /ws, /events, or subscribe on the bus itself.")
}

// put hands an item to the writer. It waits while a peer that sends more than
// it reads has filled the queue; such a peer is not read meanwhile.
func (s *session) put(i item) {
	select {
	case s.items <- i:
	case <-s.ctx.Done():
		i.discard()
	}
}

// discard gives up what nobody will write.
func (i item) discard() {
	for _, f := range i.add {
		f.cursor.Close()
	}
}

// discard empties the queue once nobody puts or takes any more.
func (s *session) discard() {
	for {
		select {
		case i := <-s.items:
			i.discard()
		default:
			return
		}
	}
}

// reserve takes n places of the requests in flight, all or none.
func (s *session) reserve(n int) bool {
	for {
		held := s.inFlight.Load()
		if held+int64(n) > config.MaxRequestsInFlight {
			return false
		}
		if s.inFlight.CompareAndSwap(held, held+int64(n)) {
			return true
		}
	}
}

// pushes reports whether a request changes what is pushed on this connection.
func pushes(p parsed) bool {
	return p.fail == nil && (p.req.Method == contract.MethodSubscribe || p.req.Method == contract.MethodUnsubscribe)
}

// run answers one request; what it changes about subscriptions is noted in i,
// for the writer to do once the answer is out.
func (s *session) run(c caller, p parsed, i *item) (answered []byte) {
	result, failure := any(nil), p.fail
	switch {
	case failure != nil:
	case p.req.Method == contract.MethodSubscribe:
		began := time.Now()
		var sp contract.SubscribeParams
		if sp, failure = params[contract.SubscribeParams](p.req.Params); failure == nil {
			var f *follow
			if f, result, failure = s.subscribe(sp); failure == nil {
				i.add = append(i.add, f)
			}
		}
		s.d.metrics.request(p.req.Method, true, failure, time.Since(began))
	case p.req.Method == contract.MethodUnsubscribe:
		began := time.Now()
		var up contract.UnsubscribeParams
		if up, failure = params[contract.UnsubscribeParams](p.req.Params); failure == nil {
			if s.unsubscribe(up.Subscription) {
				i.drop, result = append(i.drop, up.Subscription), struct{}{}
			} else {
				failure = contract.Fail(contract.CodeNotFound, "subscription: %q is not one of this connection", clip(up.Subscription))
			}
		}
		s.d.metrics.request(p.req.Method, true, failure, time.Since(began))
	default:
		result, failure = s.d.dispatch(c, p.req.Method, p.req.Params)
	}
	if p.silent {
		return nil
	}
	return answer(p.req.ID, result, failure)
}

// write is the one writer of the connection: answers first, then events, round
// the subscriptions. It returns why it ended.
func (s *session) write() error {
	var follows []*follow
	defer func() {
		for _, f := range follows {
			f.cursor.Close()
		}
	}()
	var batch []msg.Logged
	for {
		// Everything that waits for us first, so that answers are not starved;
		// what comes meanwhile waits for a round of events.
		for range len(s.items) {
			var err error
			if follows, err = s.take(<-s.items, follows); err != nil {
				return err
			}
		}
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		wrote := false
		for _, f := range follows {
			var gap *msg.Gap
			clear(batch)
			batch, gap = f.cursor.Read(batch[:0], frameBytes)
			switch {
			case gap != nil:
				wrote = true
				if err := s.sink.gap(s.hard, f.id, *gap); err != nil {
					return err
				}
			case len(batch) > 0:
				wrote = true
				if err := s.sink.events(s.hard, f.id, batch); err != nil {
					return err
				}
				s.d.metrics.events.Add(float64(len(batch)))
			}
		}
		s.position(follows)
		if wrote {
			continue
		}
		select {
		case i := <-s.items:
			var err error
			if follows, err = s.take(i, follows); err != nil {
				return err
			}
		case <-s.wake:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// position notes the slowest cursor, for the lag that the tree shows.
func (s *session) position(follows []*follow) {
	least := uint64(0)
	for _, f := range follows {
		if n := f.cursor.Next(); least == 0 || n < least {
			least = n
		}
	}
	s.behind.Store(least)
}

// lag is how many events the session is behind the head.
func (s *session) lag() uint64 {
	at, head := s.behind.Load(), s.d.opt.Log.Head()
	if at == 0 || at > head {
		return 0
	}
	return head + 1 - at
}

// take does one item: the answer first, so that it precedes the first event.
func (s *session) take(i item, follows []*follow) ([]*follow, error) {
	// Before the answer: a peer that has it may use the place at once.
	s.inFlight.Add(-int64(i.release))
	if i.frame != nil {
		if err := s.sink.send(s.hard, i.frame); err != nil {
			i.discard()
			return follows, err
		}
	}
	for _, f := range i.add {
		if s.subscribed(f.id) {
			follows = append(follows, f)
		} else {
			f.cursor.Close() // Ended in the same batch, or by a peer that guessed its id.
		}
	}
	return slices.DeleteFunc(follows, func(f *follow) bool {
		ended := slices.Contains(i.drop, f.id)
		if ended {
			f.cursor.Close()
		}
		return ended
	}), nil
}

// upkeep pings the peer and renews the holds of the conversations it follows.
func (s *session) upkeep() {
	ping, hold := time.NewTicker(s.d.pace.ping), time.NewTicker(s.d.pace.hold)
	defer ping.Stop()
	defer hold.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ping.C:
			ctx, cancel := context.WithTimeout(s.hard, s.d.pace.write)
			err := s.sink.ping(ctx)
			cancel()
			if err != nil {
				s.cancel(fmt.Errorf("no answer to a ping: %w", err))
				return
			}
		case <-hold.C:
			s.mu.Lock()
			held := make([]contract.ConversationID, 0, len(s.held))
			for c := range s.held {
				held = append(held, c)
			}
			looks := len(s.looks) > 0
			s.mu.Unlock()
			if looks {
				s.d.look()
			}
			for _, c := range held {
				s.d.watch(c)
			}
		}
	}
}

// socket is a WebSocket sink.
type socket struct {
	conn *websocket.Conn
	most time.Duration // For one frame.
	buf  []byte
}

func (k *socket) send(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, k.most)
	defer cancel()
	return k.conn.Write(ctx, websocket.MessageText, frame)
}

// events splices envelopes that are encoded already into one frame.
func (k *socket) events(ctx context.Context, sub string, events []msg.Logged) error {
	k.buf = append(append(append(k.buf[:0], eventHead...), sub...), eventMid...)
	for i, e := range events {
		if i > 0 {
			k.buf = append(k.buf, ',')
		}
		k.buf = append(k.buf, e.Envelope...)
	}
	k.buf = append(k.buf, eventTail...)
	err := k.send(ctx, k.buf)
	if cap(k.buf) > 2*frameBytes {
		k.buf = nil // One large event must not stay.
	}
	return err
}

func (k *socket) gap(ctx context.Context, sub string, g msg.Gap) error {
	return k.send(ctx, notify("gap", contract.GapParams{Subscription: sub, From: g.From, To: g.To}))
}

func (k *socket) ping(ctx context.Context) error { return k.conn.Ping(ctx) }

// serveSocket runs a WebSocket connection to its end.
func (s *session) serveSocket(conn *websocket.Conn) {
	defer s.finish()
	conn.SetReadLimit(s.d.frameMost)
	s.sink = &socket{conn: conn, most: s.d.pace.write}
	s.spawn("upkeep", s.upkeep)
	s.work.Go(func() {
		s.safely("writer", func() { s.cancel(s.write()) })
		code, reason := farewell(context.Cause(s.ctx))
		_ = conn.Close(code, reason) // Ends the reader.
	})
	s.safely("reader", func() {
		for {
			_, frame, err := conn.Read(s.hard)
			if err != nil {
				s.cancel(err)
				return
			}
			if s.ctx.Err() != nil {
				return // Nothing more is begun; Close waits for the peer's farewell.
			}
			s.received(frame)
		}
	})
	// Until the farewell is through the peer may still be sending.
	for _, _, err := conn.Read(s.hard); err == nil; _, _, err = conn.Read(s.hard) {
	}
	s.work.Wait()
	_ = conn.CloseNow()
	s.kill()
	s.discard()
}

// received begins the requests of one frame. Subscriptions are made here, in
// the order of the frames; everything else runs beside the reader.
func (s *session) received(frame []byte) {
	requests, batch := parse(frame)
	if !batch && (pushes(requests[0]) || requests[0].fail != nil) {
		var i item
		i.frame = s.run(caller{client: s.role}, requests[0], &i)
		s.put(i)
		return
	}
	if !s.reserve(len(requests)) {
		over := contract.Fail(contract.CodeOverLimit, "%d requests of this connection may be in flight at once; wait for an answer.", config.MaxRequestsInFlight)
		var out [][]byte
		for _, p := range requests {
			if !p.silent {
				out = append(out, answer(p.req.ID, nil, over))
			}
		}
		if joined := joinAnswers(out, batch); joined != nil {
			s.put(item{frame: joined})
		}
		return
	}
	before, issued := s.line(requests)
	s.spawn("request", func() {
		defer issued()
		for _, earlier := range before {
			select {
			case <-earlier:
			case <-s.ctx.Done():
			}
		}
		c := caller{client: s.role}
		if !batch {
			c.issued = issued
		}
		i := item{release: len(requests)}
		var out [][]byte
		for _, p := range requests {
			if body := s.run(c, p, &i); body != nil {
				out = append(out, body)
			}
		}
		i.frame = joinAnswers(out, batch)
		s.put(i)
	})
}

// line puts a frame behind the earlier ones of this connection to the same
// conversations, so that a cancel never overtakes the message it is about. The
// frame begins when each of before is closed, and calls issued when what it
// sends lies in the mailbox.
func (s *session) line(requests []parsed) (before []chan struct{}, issued func()) {
	var mine chan struct{}
	for _, p := range requests {
		if p.fail != nil || toOwner[p.req.Method] == 0 {
			continue
		}
		named, failure := params[contract.SessionParams](p.req.Params)
		if failure != nil || !contract.ValidID(string(named.SessionID)) {
			continue
		}
		if mine == nil {
			mine = make(chan struct{})
		}
		if earlier := s.lines[named.SessionID]; earlier != nil && earlier != mine {
			before = append(before, earlier)
		}
		s.lines[named.SessionID] = mine
	}
	if mine == nil {
		return nil, func() {}
	}
	if len(s.lines) > config.MaxRequestsInFlight { // More than can be waiting.
		for id, c := range s.lines {
			select {
			case <-c:
				delete(s.lines, id)
			default:
			}
		}
	}
	return before, sync.OnceFunc(func() { close(mine) })
}

// joinAnswers makes one frame of the answers; nil when there are none.
func joinAnswers(out [][]byte, batch bool) []byte {
	if len(out) == 0 {
		return nil
	}
	if !batch {
		return out[0]
	}
	joined := []byte{'['}
	for i, o := range out {
		if i > 0 {
			joined = append(joined, ',')
		}
		joined = append(joined, o...)
	}
	return append(joined, ']')
}

// stream is a Server-Sent Events sink.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	hard context.Context
	most time.Duration
	head func() uint64
	mu   sync.Mutex // The pinger writes too.
	buf  []byte
}

func (k *stream) send(_ context.Context, frame []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.flush(frame)
}

func (k *stream) flush(frame []byte) error {
	if err := k.rc.SetWriteDeadline(time.Now().Add(k.most)); err != nil {
		return err
	}
	if k.hard.Err() != nil { // Looked at after the deadline: see serveStream.
		return context.Cause(k.hard)
	}
	if _, err := k.w.Write(frame); err != nil {
		return err
	}
	return k.rc.Flush()
}

func (k *stream) events(_ context.Context, _ string, events []msg.Logged) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buf = k.buf[:0]
	for _, e := range events {
		k.buf = append(k.buf, "id: "...)
		k.buf = strconv.AppendUint(k.buf, e.Seq, 10)
		k.buf = append(k.buf, "\ndata: "...)
		k.buf = append(k.buf, e.Envelope...)
		k.buf = append(k.buf, "\n\n"...)
	}
	err := k.flush(k.buf)
	if cap(k.buf) > 2*frameBytes {
		k.buf = nil // One large event must not stay.
	}
	return err
}

// gap carries an id too: who comes back after it must not be told it again. It
// is never beyond the head, which the next event would not be either.
func (k *stream) gap(ctx context.Context, _ string, g msg.Gap) error {
	return k.send(ctx, fmt.Appendf(nil, "id: %d\nevent: gap\ndata: {\"from\":%d,\"to\":%d}\n\n", min(g.To, k.head()), g.From, g.To))
}

func (k *stream) ping(ctx context.Context) error { return k.send(ctx, []byte(": ping\n\n")) }

// serveStream runs an event stream to its end: one subscription, no requests.
func (s *session) serveStream(w http.ResponseWriter, f *follow) {
	defer s.finish()
	k := &stream{w: w, rc: http.NewResponseController(w), hard: s.hard, most: s.d.pace.write, head: s.d.opt.Log.Head}
	s.sink = k
	// A write that is under way ends with the session, not a minute later.
	stop := context.AfterFunc(s.hard, func() { _ = k.rc.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	s.put(item{frame: []byte(": open\n\n"), add: []*follow{f}})
	s.spawn("upkeep", s.upkeep)
	s.safely("writer", func() { s.cancel(s.write()) })
	s.work.Wait()
	s.discard()
}

// unsubscribe answers the doors without a connection.
func unsubscribe(d *doors, c caller, p json.RawMessage) (any, *contract.Failure) {
	return subscribe(d, c, p)
}
