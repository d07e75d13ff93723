package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

const (
	streamName = "events"
	// headerTime carries when the Log took an event, in ns since 1970: an
	// acknowledgement does not say the stream's own time, and an event must read
	// the same live and from the log.
	headerTime = "Pb-Time"
	// ackEvery is how many messages share one acknowledgement while there is
	// no pause; the last one before a pause always asks for one.
	ackEvery = 64
	// sendMost is how many events are taken from the queue in one go.
	sendMost = 256
	// apiWait is how long a request to the server may take.
	apiWait = 2 * time.Second
	// The waits between two tries while the stream refuses.
	retryFirst = 20 * time.Millisecond
	retryMost  = 2 * time.Second
)

// session is one attached server: the connection to it, the writer, and the
// subscription to its acknowledgements.
type session struct {
	log *Log
	srv *serving
	nc  *nats.Conn
	js  nats.JetStreamContext
	// wake has room for one: there is something to send, or room to send it,
	// or a reply to look at.
	wake chan struct{}
	ctx  context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// asked are the numbers whose acknowledgement is on its way, with the time
	// they were sent; in order.
	asked []askedAck
	// trouble is the first bad reply since the last resync.
	trouble error
	// round changes with each resync, so that a late reply is recognised.
	round uint64
	// careful sends one event at a time, until one is stored: after a refusal
	// without an acknowledgement asked for, only the refusals that followed
	// from it are known, not the reason.
	careful bool
	// proven is set by the first event that is stored, and unproven is when the
	// first was sent that should have been.
	proven   bool
	unproven time.Time
}

type askedAck struct {
	seq uint64
	at  time.Time
}

// attach connects the Log to a stream. It returns when the numbers are settled
// and the writer runs.
func (l *Log) attach(srv *serving) (*session, error) {
	nc := srv.nc
	js, err := nc.JetStream(nats.MaxWait(apiWait))
	if err != nil {
		return nil, fmt.Errorf("bus: attach: %w", err)
	}
	s := &session{log: l, srv: srv, nc: nc, js: js, wake: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	if err := s.settle(); err != nil {
		s.end()
		return nil, err
	}
	if _, err := nc.Subscribe(s.inbox()+".*.*", s.acked); err != nil {
		s.end()
		return nil, fmt.Errorf("bus: attach: %w", err)
	}
	if _, err := nc.Subscribe(contract.CommandPattern, s.command); err != nil {
		s.end()
		return nil, fmt.Errorf("bus: attach: %w", err)
	}
	l.mu.Lock()
	l.session = s
	// After a failure the server has to prove itself with one event.
	s.careful = len(l.queue) > 0
	proven := !s.careful
	l.mu.Unlock()
	s.done.Add(1)
	go s.write()
	if proven {
		l.setUp(true, "")
	}
	l.ring.wake() // cursors that lost their consumer make it anew
	return s, nil
}

// detach stops the writer. What is not acknowledged stays queued.
func (s *session) detach(reason string) {
	l := s.log
	l.mu.Lock()
	current := l.session == s
	if current {
		l.session = nil
	}
	confirmed := l.base - 1
	l.mu.Unlock()
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.nc.Close()
	s.done.Wait()
	if current {
		if l.up.Load() && s.hasProven() {
			// A disk that is failing may not have what it confirmed.
			s.srv.last.Store(confirmed)
		}
		l.setUp(false, reason)
	}
}

// spawn runs work on a goroutine that detach waits for; false after it.
func (s *session) spawn(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		work()
	}()
	return true
}

func (s *session) inbox() string { return "_INBOX.bus" }

func (s *session) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// write is the writer's goroutine.
func (s *session) write() {
	defer s.done.Done()
	defer func() {
		if v := recover(); v != nil {
			s.log.opt.Logger.Error("event log writer failed", "panic", fmt.Sprint(v))
			s.end() // the actor sees it and starts anew
		}
	}()
	var (
		batch = make([]entry, 0, sendMost)
		m     = newMessage()
		idle  = time.NewTimer(s.log.opt.AckWait)
		wait  = retryFirst
		base  uint64
	)
	defer idle.Stop()
	for {
		if err := s.wrong(); err != nil {
			if !s.recover(err, &wait) {
				return
			}
			continue
		}
		batch, base = s.take(batch[:0], s.most())
		if len(batch) == 0 {
			idle.Reset(s.log.opt.AckWait)
			select {
			case <-s.wake:
			case <-idle.C:
			case <-s.ctx.Done():
				return
			}
			continue
		}
		for i := range batch {
			seq := base + uint64(i)
			ask := i == len(batch)-1 || seq%ackEvery == 0
			if ask {
				s.expect(seq)
			}
			if err := s.nc.PublishMsg(m.fill(&batch[i], seq, s.round, ask)); err != nil {
				s.fail(fmt.Errorf("bus: publish: %w", err))
				break
			}
		}
		clear(batch) // the payloads are the queue's, not ours to keep
	}
}

// take marks the next unsent events as sent, as far as the bounds allow.
func (s *session) take(batch []entry, most int) ([]entry, uint64) {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	base := l.base + uint64(l.sent)
	if most == 1 && l.sent > 0 {
		return batch, base
	}
	flying := 0
	for _, e := range l.queue[:l.sent] {
		flying += len(e.payload)
		if flying > l.opt.InFlightBytes {
			return batch, base
		}
	}
	for l.sent < len(l.queue) && l.sent < l.opt.InFlight && len(batch) < most {
		e := l.queue[l.sent]
		if flying += len(e.payload); flying > l.opt.InFlightBytes && l.sent > 0 {
			break
		}
		batch = append(batch, e)
		l.sent++
	}
	return batch, base
}

func (s *session) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.careful {
		return 1
	}
	return sendMost
}

func (s *session) expect(seq uint64) {
	s.mu.Lock()
	now := time.Now()
	s.asked = append(s.asked, askedAck{seq, now})
	if !s.proven && s.unproven.IsZero() {
		s.unproven = now
	}
	s.mu.Unlock()
}

// fail notes the first trouble; the writer deals with it.
func (s *session) fail(err error) {
	s.mu.Lock()
	if s.trouble == nil {
		s.trouble = err
	}
	s.mu.Unlock()
	s.kick()
}

// wrong is what the writer has to deal with before it sends more: a refusal,
// or an acknowledgement that is overdue.
func (s *session) wrong() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble != nil {
		return s.trouble
	}
	if len(s.asked) > 0 && time.Since(s.asked[0].at) >= s.log.opt.AckWait {
		return errAckLate
	}
	return nil
}

var errAckLate = errors.New("bus: the event log did not confirm an event in time")

// refusal is the server's answer to a message that it did not store.
type refusal struct {
	code int
	text string
}

func (r refusal) Error() string {
	return fmt.Sprintf("bus: the event log refused an event: %s (%d)", r.text, r.code)
}

// The error codes of the server that are told apart. Source: its list of
// errors, jetstream_errors_generated.go.
const (
	errWrongLastSequence      = 10071
	errWrongLastSequenceConst = 10164
)

// acked handles the reply to a message that asked for one.
func (s *session) acked(m *nats.Msg) {
	round, seq, ok := parseInbox(m.Subject)
	s.mu.Lock()
	if !ok || round != s.round {
		s.mu.Unlock()
		return // of a message that was published again meanwhile
	}
	n := 0
	for n < len(s.asked) && s.asked[n].seq <= seq {
		n++
	}
	s.asked = append(s.asked[:0], s.asked[n:]...)
	err := replyError(m, seq)
	if err != nil && s.trouble == nil {
		s.trouble = err
	}
	bad := s.trouble != nil
	first := !bad && !s.proven
	if !bad {
		s.careful, s.proven = false, true
	}
	s.mu.Unlock()
	if first {
		s.log.setAside.Store(false)
	}
	if !bad {
		l := s.log
		l.mu.Lock()
		if l.session == s && seq >= l.base {
			l.trim(min(int(seq-l.base)+1, l.sent))
		}
		l.mu.Unlock()
		l.tellRing()
		if !l.up.Load() {
			l.setUp(true, "")
		}
	}
	s.kick()
}

// replyError reads a publish acknowledgement.
func replyError(m *nats.Msg, seq uint64) error {
	if len(m.Data) == 0 {
		if m.Header.Get("Status") == "503" {
			return refusal{503, "the stream is not there"}
		}
		return refusal{0, "an empty answer"}
	}
	var ack struct {
		Seq   uint64 `json:"seq"`
		Error *struct {
			Code int    `json:"err_code"`
			Text string `json:"description"`
		} `json:"error"`
	}
	if !bytes.Contains(m.Data, []byte(`"error"`)) {
		// The usual case, without a decoder: {"stream":"events", "seq":12}.
		if got, ok := ackSeq(m.Data); ok {
			if got == seq {
				return nil
			}
			return refusal{errWrongLastSequence, fmt.Sprintf("stored as %d instead of %d", got, seq)}
		}
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return refusal{0, "an answer that cannot be read"}
	}
	if ack.Error != nil {
		return refusal{ack.Error.Code, ack.Error.Text}
	}
	if ack.Seq != seq {
		return refusal{errWrongLastSequence, fmt.Sprintf("stored as %d instead of %d", ack.Seq, seq)}
	}
	return nil
}

func ackSeq(b []byte) (uint64, bool) {
	i := bytes.Index(b, []byte(`"seq":`))
	if i < 0 {
		return 0, false
	}
	var n uint64
	digits := 0
	for _, c := range b[i+len(`"seq":`):] {
		if c == ' ' && digits == 0 {
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + uint64(c-'0')
		digits++
	}
	return n, digits > 0
}

// parseInbox takes "_INBOX.bus.<round>.<seq>" apart.
func parseInbox(subject string) (round, seq uint64, ok bool) {
	rest, found := bytes.CutPrefix([]byte(subject), []byte("_INBOX.bus."))
	if !found {
		return 0, 0, false
	}
	a, b, found := bytes.Cut(rest, []byte("."))
	if !found {
		return 0, 0, false
	}
	round, err := strconv.ParseUint(string(a), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	seq, err = strconv.ParseUint(string(b), 10, 64)
	return round, seq, err == nil
}

// recover deals with trouble: it waits until the server has answered what it
// is going to answer, asks the stream what it has, and lets the writer start
// again behind that. False means that the session has ended.
func (s *session) recover(trouble error, wait *time.Duration) bool {
	l := s.log
	l.resyncs.Add(1)
	for {
		// Messages are handled in order, so when the last one that asked was
		// answered, nothing before it is still on its way.
		s.quiesce()
		var r refusal
		mismatch := errors.As(trouble, &r) && (r.code == errWrongLastSequence || r.code == errWrongLastSequenceConst)
		s.mu.Lock()
		again := s.careful
		s.mu.Unlock()
		// One event alone, behind what the stream says it has, is not refused
		// for its number unless the stream is wrong about itself.
		if !mismatch || again {
			l.setUp(false, downText(trouble))
			if !s.pause(*wait) {
				return false
			}
			*wait = min(*wait*2, retryMost)
		}
		if s.ctx.Err() != nil {
			return false
		}
		moved, err := s.resync()
		if err == nil {
			if moved {
				*wait = retryFirst
			}
			s.mu.Lock()
			s.careful = !moved
			s.proven = s.proven || moved
			s.mu.Unlock()
			return true
		}
		trouble = err
	}
}

// quiesce waits for the outstanding acknowledgements, at most for AckWait.
func (s *session) quiesce() {
	deadline := time.NewTimer(min(s.log.opt.AckWait, apiWait))
	defer deadline.Stop()
	for {
		s.mu.Lock()
		left := len(s.asked)
		s.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-s.wake:
		case <-deadline.C:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *session) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// resync starts a new round behind what the stream has. moved tells whether
// some of what was in doubt turned out to be stored.
func (s *session) resync() (moved bool, err error) {
	s.mu.Lock()
	s.round++
	s.asked = s.asked[:0]
	s.trouble = nil
	s.mu.Unlock()
	before := s.log.baseNow()
	if err := s.settle(); err != nil {
		return false, err
	}
	return s.log.baseNow() != before, nil
}

func (l *Log) baseNow() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base
}

// settle brings the queue and the stream into agreement.
func (s *session) settle() error {
	info, err := s.js.StreamInfo(streamName)
	if err != nil {
		return fmt.Errorf("bus: ask the stream: %w", err)
	}
	last := info.State.LastSeq
	l := s.log
	defer l.tellRing()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.catchUp()
	switch {
	case l.next == 0:
		l.next, l.base = last+1, last+1
		l.head.Store(last)
	case last+1 < l.base:
		// Events that were acknowledged are gone: the disk lost them. The last
		// ones are still known and are stored again under their numbers.
		// Numbers never go back while the service runs, so if more is missing,
		// the stream starts again at ours, and a gap tells its readers.
		l.opt.Logger.Error("event log lost events that it had confirmed",
			"stored", last, "confirmed", l.base-1)
		l.sent = 0
		base := l.base
		if lost := l.base - 1 - last; lost <= recentMost*2 && l.recall(int(lost)) {
			break
		}
		l.mu.Unlock()
		err := s.js.PurgeStream(streamName, &nats.StreamPurgeRequest{Sequence: base})
		l.mu.Lock()
		if err != nil {
			return fmt.Errorf("bus: renumber the stream: %w", err)
		}
	case last+1 == l.base:
		l.sent = 0
	default:
		ours := false
		if last < l.base+uint64(l.sent) {
			if ours, err = s.ours(last); err != nil {
				return err
			}
		}
		if !ours {
			// The stream holds what we did not send. Nobody else may write;
			// if it happens, what is ours must still be stored once.
			return s.foreign(last)
		}
		l.trim(int(last + 1 - l.base))
		l.sent = 0
	}
	return nil
}

// ours reports whether message seq of the stream is the event that the queue
// has under that number. One that retention removed already counts as ours.
// l.mu is held, and given back meanwhile.
func (s *session) ours(seq uint64) (bool, error) {
	l := s.log
	want := l.queue[seq-l.base]
	l.mu.Unlock()
	defer l.mu.Lock()
	got, err := s.js.GetMsg(streamName, seq)
	switch {
	case errors.Is(err, nats.ErrMsgNotFound):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("bus: ask the stream: %w", err)
	}
	return got.Subject == want.subject && bytes.Equal(got.Data, want.payload), nil
}

// foreign handles a stream that holds messages which are not ours: those of
// ours that were stored before the first foreign one are dropped from the
// queue, the rest gets new numbers behind it. l.mu is held.
func (s *session) foreign(last uint64) error {
	l := s.log
	stored := 0
	for stored < l.sent {
		ours, err := s.ours(l.base + uint64(stored))
		if err != nil {
			return err
		}
		if !ours {
			break
		}
		stored++
	}
	l.trim(stored)
	l.opt.Logger.Error("event log holds events of another writer; the events behind them got new numbers",
		"stored", last, "expected", l.base-1, "renumbered", len(l.queue))
	l.base = last + 1
	l.next = l.base + uint64(len(l.queue))
	l.head.Store(l.next - 1)
	l.sent = 0
	return nil
}

// downText is the sentence for a person about why nothing is stored.
func downText(err error) string {
	var r refusal
	switch {
	case errors.Is(err, errAckLate), errors.Is(err, nats.ErrTimeout):
		return "The event log does not confirm what it is given; the disk is full or stuck. Free some space; events wait in memory."
	case errors.As(err, &r) && r.code == 503, errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrJetStreamNotEnabled),
		errors.Is(err, nats.ErrStreamNotFound), errors.Is(err, nats.ErrJetStreamNotEnabledForAccount):
		return "The event log stopped storing, most likely because the disk is full. Free some space; events wait in memory."
	case errors.As(err, &r) && (r.code == errWrongLastSequence || r.code == errWrongLastSequenceConst):
		return "The event log does not store what it is given and is being checked. Events wait in memory."
	case errors.As(err, &r):
		return "The event log cannot store: " + r.text + ". Free some space; events wait in memory."
	}
	return "The event log is not reachable and is being started again. Events wait in memory."
}

// command hands a request of command.> to the door, at most
// config.MaxRequestsInFlight at a time for all clients of the bus.
func (s *session) command(m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	l := s.log
	respond := func(answer []byte) {
		if err := m.Respond(answer); err != nil {
			l.opt.Logger.Warn("command answer lost", "subject", m.Subject, "err", err.Error())
		}
	}
	handle := l.handler()
	if handle == nil {
		respond(refuse(contract.Fail(contract.CodeInternal, "The doors of the service are not open: it is starting or stopping. Try again in a moment.")))
		return
	}
	if l.commands.Add(1) > config.MaxRequestsInFlight {
		l.commands.Add(-1)
		respond(refuse(contract.Fail(contract.CodeOverLimit, "%d requests are in flight on the bus already; wait for an answer.", config.MaxRequestsInFlight)))
		return
	}
	go func() {
		defer l.commands.Add(-1)
		defer func() {
			if v := recover(); v != nil {
				l.opt.Logger.Error("command handler failed", "subject", m.Subject, "panic", fmt.Sprint(v))
			}
		}()
		handle(msg.Requested{Subject: m.Subject, Params: m.Data, Reply: respond})
	}()
}

// refuse encodes a failure as command.> answers it. Source: interface.md 3.
func refuse(f *contract.Failure) []byte {
	body, err := contract.Marshal(map[string]*contract.Failure{"error": f})
	if err != nil {
		return []byte(`{"error":{"code":-32603,"message":"The answer could not be encoded."}}`)
	}
	return body
}

// message is one nats.Msg used for every publish, so that a publish costs no
// map and no header list.
type message struct {
	nats.Msg
	last, turn []string
	at         []string
	plain      nats.Header
	turned     nats.Header
	reply      []byte
}

func newMessage() *message {
	m := &message{last: make([]string, 1), turn: make([]string, 1), at: make([]string, 1)}
	m.plain = nats.Header{nats.ExpectedLastSeqHdr: m.last, headerTime: m.at}
	m.turned = nats.Header{nats.ExpectedLastSeqHdr: m.last, headerTime: m.at, contract.HeaderTurn: m.turn}
	return m
}

func (m *message) fill(e *entry, seq, round uint64, ask bool) *nats.Msg {
	m.last[0] = strconv.FormatUint(seq-1, 10)
	m.at[0] = strconv.FormatInt(e.at.UnixNano(), 10)
	m.Subject, m.Data, m.Reply, m.Header = e.subject, e.payload, "", m.plain
	if e.turn != "" {
		m.turn[0] = e.turn
		m.Header = m.turned
	}
	if ask {
		m.reply = append(m.reply[:0], "_INBOX.bus."...)
		m.reply = strconv.AppendUint(m.reply, round, 10)
		m.reply = append(m.reply, '.')
		m.reply = strconv.AppendUint(m.reply, seq, 10)
		m.Reply = string(m.reply)
	}
	return &m.Msg
}
