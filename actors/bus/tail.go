package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

const (
	// heartbeat is how often the server says that a quiet consumer lives.
	heartbeat = 2 * time.Second
	// tailBatch is how many events are put into the ring at once when more
	// are waiting; when none are, each goes in alone and at once.
	tailBatch = 128
	// consumerIdle is when the server forgets a consumer that nobody reads.
	consumerIdle = time.Minute
)

// startTail lets the ring be fed; it is called with the first reader and does
// nothing while a tail runs.
func (s *session) startTail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tailEnd != nil || s.ctx.Err() != nil {
		return
	}
	ctx, end := context.WithCancel(s.ctx)
	s.tailEnd = end
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		s.tail(ctx)
	}()
}

// stopTail is called when the last reader has gone.
func (s *session) stopTail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tailEnd != nil {
		s.tailEnd()
		s.tailEnd = nil
	}
}

// tail keeps one consumer running behind the newest event.
func (s *session) tail(ctx context.Context) {
	wait := retryFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := s.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		s.log.opt.Logger.Warn("event log tail made anew", "err", fmt.Sprint(err))
		if time.Since(began) > heartbeat {
			wait = retryFirst
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(wait*2, retryMost)
	}
}

var (
	errTailJump   = errors.New("bus: a message of the tail was lost")
	errTailSilent = errors.New("bus: the tail's consumer went silent")
)

// follow feeds the ring until ctx ends or a message is missing.
func (s *session) follow(ctx context.Context) error {
	info, err := s.js.StreamInfo(streamName)
	if err != nil {
		return fmt.Errorf("bus: tail: %w", err)
	}
	r := &s.log.ring
	from := info.State.LastSeq + 1
	if _, next := r.bounds(); next > 0 && next <= from && from-next < uint64(r.size)/4 && next >= info.State.FirstSeq {
		from = next // short absence: go on where the ring ends
	} else {
		r.reset(from)
	}
	f := &feeder{ring: r, next: from, broken: make(chan error, 1), seen: make(chan struct{}, 1), nc: s.nc}
	inbox := s.nc.NewInbox()
	f.sub, err = s.nc.Subscribe(inbox, f.handle)
	if err != nil {
		return fmt.Errorf("bus: tail: %w", err)
	}
	defer func() { _ = f.sub.Unsubscribe() }()
	if err := f.sub.SetPendingLimits(-1, -1); err != nil {
		return fmt.Errorf("bus: tail: %w", err)
	}
	made, err := s.js.AddConsumer(streamName, &nats.ConsumerConfig{
		DeliverSubject: inbox, DeliverPolicy: nats.DeliverByStartSequencePolicy, OptStartSeq: from,
		AckPolicy: nats.AckNonePolicy, FlowControl: true, Heartbeat: heartbeat,
		MemoryStorage: true, Replicas: 1, MaxDeliver: 1, InactiveThreshold: consumerIdle,
	})
	if err != nil {
		return fmt.Errorf("bus: tail: %w", err)
	}
	defer func() {
		if s.ctx.Err() == nil {
			_ = s.js.DeleteConsumer(streamName, made.Name)
		}
	}()
	silent := time.NewTicker(3 * heartbeat)
	defer silent.Stop()
	heard := true
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-f.broken:
			return err
		case <-f.seen:
			heard = true
		case <-silent.C:
			if !heard {
				return errTailSilent
			}
			heard = false
		}
	}
}

// feeder turns the messages of one consumer into ring entries. handle runs on
// one goroutine.
type feeder struct {
	ring     *ring
	nc       *nats.Conn
	sub      *nats.Subscription
	next     uint64 // stream number expected
	consumer uint64 // consumer number of the last message
	batch    []msg.Logged
	arena    []byte
	failed   bool
	broken   chan error
	seen     chan struct{}
}

func (f *feeder) handle(m *nats.Msg) {
	select {
	case f.seen <- struct{}{}:
	default:
	}
	if f.failed {
		return
	}
	if len(m.Data) == 0 && m.Header.Get("Status") == "100" {
		// Flow control is answered when everything before it was handled,
		// which is now; a stalled consumer names the subject in a heartbeat.
		reply := m.Reply
		if reply == "" {
			reply = m.Header.Get("Nats-Consumer-Stalled")
		}
		f.flush()
		if reply != "" {
			_ = f.nc.Publish(reply, nil)
		}
		return
	}
	d, ok := parseDelivery(m.Reply)
	if !ok {
		return
	}
	if d.consumerSeq != f.consumer+1 || d.streamSeq < f.next {
		f.failed = true
		f.broken <- errTailJump
		return
	}
	f.consumer, f.next = d.consumerSeq, d.streamSeq+1
	f.batch = append(f.batch, logged(&f.arena, m, d))
	if len(f.batch) < tailBatch {
		if pending, _, err := f.sub.Pending(); err == nil && pending > 1 {
			return
		}
	}
	f.flush()
}

func (f *feeder) flush() {
	f.ring.add(f.batch)
	clear(f.batch)
	f.batch = f.batch[:0]
}

// arenaBytes is the size of the blocks that small envelopes are cut from; it
// saves an allocation per delta and is given back with the last of them.
const arenaBytes = 16 << 10

// logged encodes one message of the stream.
func logged(arena *[]byte, m *nats.Msg, d delivery) msg.Logged {
	turn := ""
	if m.Header != nil {
		if v := m.Header[contract.HeaderTurn]; len(v) > 0 && validTurn(contract.TurnID(v[0])) {
			turn = v[0]
		}
	}
	need := len(m.Data) + len(m.Subject) + len(turn) + 128
	if need > arenaBytes/8 {
		return msg.Logged{Seq: d.streamSeq, Subject: m.Subject, Envelope: appendEnvelope(make([]byte, 0, need), d.streamSeq, d.at, m.Subject, turn, m.Data)}
	}
	if cap(*arena)-len(*arena) < need {
		*arena = make([]byte, 0, arenaBytes)
	}
	start := len(*arena)
	*arena = appendEnvelope(*arena, d.streamSeq, d.at, m.Subject, turn, m.Data)
	end := len(*arena)
	return msg.Logged{Seq: d.streamSeq, Subject: m.Subject, Envelope: (*arena)[start:end:end]}
}
