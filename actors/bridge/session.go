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
)

// The close codes of our own.
const (
	closeSlow     websocket.StatusCode = 4008
	closeStopping websocket.StatusCode = 4001
)

// follow is one subscription of a session. Its cursor belongs to the writer.
type follow struct {
	id     string
	cursor msg.Cursor
}

// item is something for the writer: an answer, a new or an ended subscription.
type item struct {
	frame []byte
	add   *follow
	drop  string
	// release gives an in-flight slot back once the frame is out.
	release bool
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
	kind   string // "websocket" or "sse".
	sink   sink

	ctx    context.Context
	cancel context.CancelCauseFunc
	items  chan item
	wake   chan struct{}
	slots  chan struct{}
	// ended is closed when the socket's process is done with the connection.
	ended chan struct{}
	once  sync.Once

	mu   sync.Mutex
	subs map[string]bool
	next int
	// held are the conversations that this session keeps awake.
	held map[contract.ConversationID]int
	// byS says which conversations a subscription holds.
	byS map[string][]contract.ConversationID
	// behind is the least position of the cursors, for the lag.
	behind atomic.Uint64
}

func (d *doors) newSession(role contract.Client, kind, remote string) *session {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &session{
		d: d, number: d.viewers.Add(1), role: role, kind: kind, remote: remote,
		ctx: ctx, cancel: cancel,
		items: make(chan item, config.MaxRequestsInFlight+config.MaxSubscriptions),
		wake:  make(chan struct{}, 1), slots: make(chan struct{}, config.MaxRequestsInFlight),
		ended: make(chan struct{}),
		subs:  map[string]bool{}, held: map[contract.ConversationID]int{}, byS: map[string][]contract.ConversationID{},
	}
}

func (s *session) finish() { s.once.Do(func() { close(s.ended) }) }

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
	s.subs[id] = true
	s.byS[id] = named
	for _, c := range named {
		s.held[c]++
	}
	s.mu.Unlock()
	for _, c := range named {
		// A conversation that cannot be woken is still followed: its events are
		// in the log, and a command to it will say what is wrong.
		if failure := s.d.wake(c, true); failure == nil {
			s.d.watch(c)
		}
	}
	cursor := s.d.opt.Log.Follow(p.Subjects, from, s.wake)
	return &follow{id: id, cursor: cursor}, contract.SubscribeResult{Subscription: id, Head: head}, nil
}

// unsubscribe forgets a subscription; the writer closes its cursor.
func (s *session) unsubscribe(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.subs[id] {
		return false
	}
	delete(s.subs, id)
	for _, c := range s.byS[id] {
		if s.held[c]--; s.held[c] <= 0 {
			delete(s.held, c)
		}
	}
	delete(s.byS, id)
	return true
}

func subscribe(_ *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	return nil, contract.Fail(contract.CodeInvalid, "Subscriptions need a connection that events can be pushed to: use /ws, /events, or subscribe on the bus itself.")
}

// put hands an item to the writer. The channel has room for every slot and
// subscription, so it is full only when somebody floods it.
func (s *session) put(i item) {
	select {
	case s.items <- i:
	case <-s.ctx.Done():
	}
}

// request runs one parsed request. Subscriptions are made here, in the order
// of the frames; everything else runs beside the reader.
func (s *session) request(p parsed, reply func([]byte)) {
	if p.fail != nil {
		if !p.silent {
			reply(answer(p.req.ID, nil, p.fail))
		}
		return
	}
	result, failure := s.d.dispatch(caller{client: s.role, session: s}, p.req.Method, p.req.Params)
	if !p.silent {
		reply(answer(p.req.ID, result, failure))
	}
}

// inline handles subscribe and unsubscribe and says whether it did.
func (s *session) inline(p parsed) bool {
	if p.fail != nil || (p.req.Method != contract.MethodSubscribe && p.req.Method != contract.MethodUnsubscribe) {
		return false
	}
	began := time.Now()
	i := item{}
	var result any
	var failure *contract.Failure
	if p.req.Method == contract.MethodSubscribe {
		var sp contract.SubscribeParams
		if sp, failure = params[contract.SubscribeParams](p.req.Params); failure == nil {
			i.add, result, failure = s.subscribe(sp)
		}
	} else {
		var up contract.UnsubscribeParams
		if up, failure = params[contract.UnsubscribeParams](p.req.Params); failure == nil {
			if s.unsubscribe(up.Subscription) {
				i.drop, result = up.Subscription, struct{}{}
			} else {
				failure = contract.Fail(contract.CodeNotFound, "subscription: %q is not one of this connection", clip(up.Subscription))
			}
		}
	}
	s.d.metrics.request(p.req.Method, true, failure, time.Since(began))
	if !p.silent {
		i.frame = answer(p.req.ID, result, failure)
	}
	s.put(i)
	return true
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
		// Everything that waits for us first, so that answers are not starved.
		for more := true; more; {
			select {
			case i := <-s.items:
				var err error
				if follows, err = s.take(i, follows); err != nil {
					return err
				}
			default:
				more = false
			}
		}
		wrote := false
		for _, f := range follows {
			var gap *msg.Gap
			clear(batch)
			batch, gap = f.cursor.Read(batch[:0], frameBytes)
			switch {
			case gap != nil:
				wrote = true
				if err := s.sink.gap(s.ctx, f.id, *gap); err != nil {
					return err
				}
			case len(batch) > 0:
				wrote = true
				if err := s.sink.events(s.ctx, f.id, batch); err != nil {
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

func (s *session) take(i item, follows []*follow) ([]*follow, error) {
	if i.frame != nil {
		if err := s.sink.send(s.ctx, i.frame); err != nil {
			return follows, err
		}
	}
	if i.release {
		<-s.slots
	}
	if i.add != nil {
		follows = append(follows, i.add)
	}
	if i.drop != "" {
		follows = slices.DeleteFunc(follows, func(f *follow) bool {
			if f.id == i.drop {
				f.cursor.Close()
				return true
			}
			return false
		})
	}
	return follows, nil
}

// upkeep pings the peer and renews the holds of the conversations it follows.
func (s *session) upkeep() {
	ping, hold := time.NewTicker(pingEvery), time.NewTicker(watchEvery)
	defer ping.Stop()
	defer hold.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ping.C:
			ctx, cancel := context.WithTimeout(s.ctx, writeMost)
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
			s.mu.Unlock()
			for _, c := range held {
				s.d.watch(c)
			}
		}
	}
}

// socket is a WebSocket sink.
type socket struct {
	conn *websocket.Conn
	buf  []byte
}

func (k *socket) send(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeMost)
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
	conn.SetReadLimit(config.MaxFrameBytes)
	s.sink = &socket{conn: conn}
	var work sync.WaitGroup
	work.Go(s.upkeep)
	work.Go(func() {
		err := s.write()
		s.cancel(err)
		code, reason := websocket.StatusNormalClosure, ""
		switch {
		case errors.Is(err, errStopping):
			code, reason = closeStopping, "the service is stopping"
		case errors.Is(err, context.DeadlineExceeded):
			code, reason = closeSlow, "nothing was read for too long; come back with the last sequence number"
		}
		_ = conn.Close(code, reason) // Ends the reader.
	})
	for {
		_, frame, err := conn.Read(s.ctx)
		if err != nil {
			s.cancel(err)
			break
		}
		requests, batch := parse(frame)
		if !batch && s.inline(requests[0]) {
			continue
		}
		select {
		case s.slots <- struct{}{}:
		default:
			s.refuseAll(requests, batch)
			continue
		}
		work.Go(func() { s.answerFrame(requests, batch) })
	}
	work.Wait()
	_ = conn.CloseNow()
}

// refuseAll answers a frame that came while all slots were taken.
func (s *session) refuseAll(requests []parsed, batch bool) {
	over := contract.Fail(contract.CodeOverLimit, "%d requests of this connection are in flight already; wait for an answer.", config.MaxRequestsInFlight)
	var out [][]byte
	for _, p := range requests {
		if !p.silent {
			out = append(out, answer(p.req.ID, nil, over))
		}
	}
	if frame := joinAnswers(out, batch); frame != nil {
		s.put(item{frame: frame})
	}
}

// answerFrame runs the requests of one frame and answers them together.
func (s *session) answerFrame(requests []parsed, batch bool) {
	var out [][]byte
	for _, p := range requests {
		if s.inline(p) { // In a batch; its answer goes by itself.
			continue
		}
		s.request(p, func(frame []byte) { out = append(out, frame) })
	}
	s.put(item{frame: joinAnswers(out, batch), release: true})
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

// errStopping closes every connection when the service stops.
var errStopping = errors.New("the service is stopping")

// stream is a Server-Sent Events sink.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	mu  sync.Mutex // The pinger writes too.
	buf []byte
}

func (k *stream) send(_ context.Context, frame []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.flush(frame)
}

func (k *stream) flush(frame []byte) error {
	if err := k.rc.SetWriteDeadline(time.Now().Add(writeMost)); err != nil {
		return err
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
	return k.flush(k.buf)
}

func (k *stream) gap(ctx context.Context, _ string, g msg.Gap) error {
	return k.send(ctx, fmt.Appendf(nil, "event: gap\ndata: {\"from\":%d,\"to\":%d}\n\n", g.From, g.To))
}

func (k *stream) ping(ctx context.Context) error { return k.send(ctx, []byte(": ping\n\n")) }

// serveStream runs an event stream to its end: one subscription, no requests.
func (s *session) serveStream(w http.ResponseWriter, r *http.Request, f *follow) {
	defer s.finish()
	k := &stream{w: w, rc: http.NewResponseController(w)}
	s.sink = k
	var work sync.WaitGroup
	work.Go(s.upkeep)
	work.Go(func() {
		select {
		case <-r.Context().Done():
			s.cancel(r.Context().Err())
		case <-s.ctx.Done():
		}
	})
	if err := k.send(s.ctx, []byte(": open\n\n")); err != nil {
		s.cancel(err)
	}
	s.put(item{add: f})
	s.cancel(s.write())
	work.Wait()
}

// unsubscribe answers the doors without a connection.
func unsubscribe(d *doors, c caller, p json.RawMessage) (any, *contract.Failure) {
	return subscribe(d, c, p)
}
