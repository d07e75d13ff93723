package bus

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/actors/msg"
)

const (
	// pastBatch and pastBytes bound one request for events that the ring no
	// longer holds. Two requests' worth is held at most.
	pastBatch = 1000
	pastBytes = 1 << 20
	// pastWait is when a request without any answer counts as lost.
	pastWait = 5 * time.Second
)

// cursor is one reader's place. All of it belongs to the reader's goroutine
// but the atomic.
type cursor struct {
	log   *Log
	match matcher
	wake  chan<- struct{}
	pos   atomic.Uint64
	gap   *msg.Gap
	past  *past
	shut  bool
}

// Follow implements [msg.EventLog].
func (l *Log) Follow(patterns []string, from uint64, wake chan<- struct{}) msg.Cursor {
	c := &cursor{log: l, match: newMatcher(patterns), wake: wake}
	l.ring.enter(wake)
	l.mu.Lock()
	l.readers++
	l.catchUp()
	head := l.Head()
	l.mu.Unlock()
	l.tellRing()
	if from > head+1 {
		c.gap = &msg.Gap{From: head + 1, To: from - 1}
		from = head + 1
	}
	c.pos.Store(from)
	return c
}

// Next implements [msg.Cursor].
func (c *cursor) Next() uint64 { return c.pos.Load() }

// Close implements [msg.Cursor].
func (c *cursor) Close() {
	if c.shut {
		return
	}
	c.shut = true
	c.dropPast()
	c.log.ring.leave(c.wake)
	l := c.log
	l.mu.Lock()
	l.readers--
	l.mu.Unlock()
}

func (c *cursor) dropPast() {
	if c.past != nil {
		c.past.close()
		c.past = nil
	}
}

// Read implements [msg.Cursor].
func (c *cursor) Read(dst []msg.Logged, maxBytes int) ([]msg.Logged, *msg.Gap) {
	if c.shut {
		return dst, nil
	}
	if c.gap != nil {
		g := c.gap
		c.gap = nil
		return dst, g
	}
	if c.past != nil && c.past.s.ctx.Err() != nil {
		c.dropPast()
	}
	for range 2 { // at most one change from the stream to the ring
		if c.past == nil {
			out, next, held := c.log.ring.read(dst, c.pos.Load(), c.match, maxBytes)
			if held {
				c.pos.Store(next)
				return out, nil
			}
			if c.past = c.log.openPast(c.match, c.pos.Load(), c.wake); c.past == nil {
				return dst, nil // no server; its return wakes us
			}
		}
		out, gap, next, state := c.past.take(dst, maxBytes)
		switch {
		case state == pastLost:
			c.dropPast()
			time.AfterFunc(retryFirst, c.nudge)
			return dst, nil
		case gap != nil:
			c.pos.Store(gap.To + 1)
			return dst, gap
		case len(out) > len(dst):
			c.pos.Store(next)
			return out, nil
		case state != pastDone:
			return dst, nil
		}
		c.pos.Store(max(c.pos.Load(), next))
		c.dropPast()
	}
	return dst, nil
}

func (c *cursor) nudge() {
	c.log.ring.mu.RLock()
	defer c.log.ring.mu.RUnlock()
	if c.log.ring.wakers[c.wake] > 0 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// pastState is where a reading of the stream stands.
type pastState int

const (
	pastGoing pastState = iota
	// pastDone: everything up to where the ring was is read.
	pastDone
	// pastLost: the consumer or the server is gone.
	pastLost
)

// past reads the stream for one cursor through a pull consumer of its own, one
// batch ahead of the reader.
type past struct {
	s     *session
	match matcher
	wake  func()
	inbox string
	sub   *nats.Subscription
	name  string
	timer *time.Timer

	mu sync.Mutex
	// next is the first number that may still come.
	next  uint64
	ready []msg.Logged
	gap   *msg.Gap
	state pastState
	// The batch that is arriving.
	batch  []msg.Logged
	arena  []byte
	wanted int
	got    int
	asked  bool
	single bool // the next event is larger than a batch may be
	closed bool
	// upTo is the ring's end before the consumer was made, owed how many
	// events the consumer had to deliver when it was made. When it has
	// delivered them, nothing up to upTo is missing. What it says later about
	// more to come can be behind the stream, and is not trusted.
	upTo uint64
	owed uint64
}

// pull is the body of a request for the next batch. Source: ADR-13.
type pull struct {
	Batch    int  `json:"batch"`
	MaxBytes int  `json:"max_bytes,omitempty"`
	NoWait   bool `json:"no_wait"`
}

// openPast starts a reading from number from on; nil without a server.
func (l *Log) openPast(m matcher, from uint64, wake chan<- struct{}) *past {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	if s == nil {
		return nil
	}
	p := &past{s: s, match: m, next: from}
	p.wake = func() {
		l.ring.mu.RLock()
		defer l.ring.mu.RUnlock()
		if l.ring.wakers[wake] > 0 {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}
	if !s.spawn(p.open) {
		return nil
	}
	return p
}

// open makes the consumer; it runs on its own goroutine because it waits for
// the server.
func (p *past) open() {
	defer p.wake()
	defer func() {
		if v := recover(); v != nil {
			p.s.log.opt.Logger.Error("event log reader failed", "panic", fmt.Sprint(v))
			p.lose()
		}
	}()
	upTo, ok := p.end()
	if !ok {
		p.lose()
		return
	}
	info, err := p.s.js.StreamInfo(streamName)
	if err != nil {
		p.lose()
		return
	}
	p.mu.Lock()
	switch first := info.State.FirstSeq; {
	case p.next == 0:
		p.next = max(first, 1)
	case p.next < first:
		p.gap = &msg.Gap{From: p.next, To: first - 1}
		p.next = first
	}
	from := p.next
	if p.gap != nil || from > upTo || !p.match.logged() {
		// Nothing to read; a gap is told first, and the rest by a new reading.
		if p.gap == nil {
			p.next, p.state = max(from, upTo+1), pastDone
		}
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	inbox := p.s.nc.NewInbox()
	sub, err := p.s.nc.Subscribe(inbox, p.handle)
	if err != nil {
		p.lose()
		return
	}
	_ = sub.SetPendingLimits(-1, -1)
	conf := &nats.ConsumerConfig{
		DeliverPolicy: nats.DeliverByStartSequencePolicy, OptStartSeq: from,
		AckPolicy: nats.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: consumerIdle, FilterSubjects: p.match.filters(),
	}
	made, err := p.s.js.AddConsumer(streamName, conf)
	if err != nil && conf.FilterSubjects != nil {
		conf.FilterSubjects = nil // a filter the stream does not know; we match ourselves
		made, err = p.s.js.AddConsumer(streamName, conf)
	}
	if err != nil {
		_ = sub.Unsubscribe()
		p.lose()
		return
	}
	p.mu.Lock()
	p.inbox, p.sub, p.name = inbox, sub, made.Name
	if p.closed {
		p.mu.Unlock()
		p.release()
		return
	}
	p.timer = time.AfterFunc(pastWait, p.late)
	if made.NumPending == 0 {
		p.next, p.state = max(p.next, upTo+1), pastDone
		p.mu.Unlock()
		return
	}
	p.upTo, p.owed = upTo, made.NumPending
	p.ask()
	p.mu.Unlock()
}

// end returns the last number of the ring, up to which everything is stored.
// ok is false when no ring is fed yet; it is about to be.
func (p *past) end() (upTo uint64, ok bool) {
	_, next := p.s.log.ring.bounds()
	return next - 1, next > 0
}

// ask requests the next batch. mu is held.
func (p *past) ask() {
	if p.asked || p.closed || p.name == "" || p.state != pastGoing {
		return
	}
	p.asked, p.got = true, 0
	want := pull{Batch: pastBatch, MaxBytes: pastBytes, NoWait: true}
	if p.single {
		want.Batch, want.MaxBytes = 1, 0
	}
	p.wanted = want.Batch
	body, err := json.Marshal(want)
	if err != nil {
		p.state = pastLost
		return
	}
	p.timer.Reset(pastWait)
	if err := p.s.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+streamName+"."+p.name, p.inbox, body); err != nil {
		p.state = pastLost
	}
}

// handle takes one message of a batch; it runs on one goroutine.
func (p *past) handle(m *nats.Msg) {
	if len(m.Data) == 0 && m.Header.Get("Status") != "" {
		switch m.Header.Get("Status") {
		case "404", "408":
			p.batchEnd(true)
		case "409": // the next event does not fit into what was asked for
			p.mu.Lock()
			if p.got == 0 {
				p.single = true
			}
			p.mu.Unlock()
			p.batchEnd(false)
		case "100":
		default:
			p.lose()
			p.wake()
		}
		return
	}
	d, ok := parseDelivery(m.Reply)
	if !ok {
		return
	}
	p.mu.Lock()
	if d.streamSeq < p.next {
		p.mu.Unlock()
		return
	}
	if p.match.match(m.Subject) {
		p.batch = append(p.batch, logged(&p.arena, m, d))
	}
	p.got++
	p.wanted--
	p.single = false
	p.owed -= min(p.owed, 1)
	full, dry := p.wanted == 0, d.pending == 0
	p.mu.Unlock()
	if full || dry {
		p.batchEnd(dry)
	}
}

// batchEnd checks a complete batch against the stream's front and hands it to
// the reader. dry means that nothing more was there.
func (p *past) batchEnd(dry bool) {
	info, err := p.s.js.StreamInfo(streamName)
	p.mu.Lock()
	defer p.wake()
	defer p.mu.Unlock()
	if !p.asked {
		return
	}
	p.asked = false
	if err != nil || p.closed {
		p.state = pastLost
		return
	}
	batch := p.batch
	p.batch = nil
	if first := info.State.FirstSeq; first > p.next {
		// The front moved over where we read: what was between is not sure to
		// have been delivered.
		for len(batch) > 0 && batch[0].Seq < first {
			batch = batch[1:]
		}
		g := msg.Gap{From: p.next, To: first - 1}
		if len(p.ready) > 0 {
			// What is ready comes first; the gap is found again behind it.
			p.state = pastLost
			return
		}
		p.gap, p.next = &g, first
		p.state = pastGoing
		p.ready = nil
		return
	}
	p.ready = append(p.ready, batch...)
	if n := len(batch); n > 0 {
		p.next = batch[n-1].Seq + 1
	}
	if p.owed == 0 {
		p.next = max(p.next, p.upTo+1)
	}
	switch first, _ := p.s.log.ring.bounds(); {
	case p.next >= first, p.owed == 0:
		p.state = pastDone // the ring, or a new reading, has the rest
		return
	case dry:
		p.state = pastLost // some of it was removed meanwhile; look again
		return
	}
	if len(p.ready) < pastBatch {
		p.ask()
	}
}

// take hands out what is ready and asks for more in time.
func (p *past) take(dst []msg.Logged, maxBytes int) (_ []msg.Logged, gap *msg.Gap, next uint64, state pastState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, bytes := 0, 0
	for n < len(p.ready) && bytes < maxBytes {
		bytes += len(p.ready[n].Envelope)
		n++
	}
	if n > 0 {
		dst = append(dst, p.ready[:n]...)
		next = p.ready[n-1].Seq + 1
		clear(p.ready[:n])
		p.ready = p.ready[n:]
		if len(p.ready) < pastBatch/2 {
			p.ask()
		}
		return dst, nil, next, pastGoing
	}
	if p.gap != nil {
		// The reading ends with the gap; the cursor starts a new one behind.
		gap, p.gap = p.gap, nil
		p.state = pastLost
		return dst, gap, 0, pastGoing
	}
	if p.state == pastGoing {
		p.ask()
	}
	return dst, nil, p.next, p.state
}

// late ends a reading whose request nobody answered.
func (p *past) late() {
	p.mu.Lock()
	lost := p.asked && !p.closed
	if lost {
		p.state = pastLost
	}
	p.mu.Unlock()
	if lost {
		p.wake()
	}
}

func (p *past) lose() {
	p.mu.Lock()
	p.state = pastLost
	p.mu.Unlock()
}

// close gives the consumer back to the server.
func (p *past) close() {
	p.mu.Lock()
	closed, made := p.closed, p.name != ""
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	if made && !closed {
		p.release()
	}
}

// release removes subscription and consumer without waiting for the answer.
func (p *past) release() {
	_ = p.sub.Unsubscribe()
	if p.s.ctx.Err() == nil {
		_ = p.s.nc.Publish("$JS.API.CONSUMER.DELETE."+streamName+"."+p.name, nil)
	}
}
