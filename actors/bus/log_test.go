package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// rig is a Log with a real server.
type rig struct {
	t       testing.TB
	log     *Log
	opt     ServerOptions
	serving *serving
	session *session
}

func newRig(t testing.TB, lo LogOptions, change ...func(*ServerOptions)) *rig {
	t.Helper()
	r := &rig{t: t, log: NewLog(lo), opt: ServerOptions{
		NoListen: true, Dir: t.TempDir(), MaxBytes: 256 << 20, MaxAge: time.Hour, Logger: slog.New(slog.DiscardHandler),
	}}
	for _, c := range change {
		c(&r.opt)
	}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	var err error
	if r.serving, err = start(ctx, r.opt, r.log); err != nil {
		r.t.Fatal(err)
	}
	if r.session, err = r.log.attach(r.serving); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stop() {
	if r.session != nil {
		r.session.detach("stopped")
		r.serving.stop()
		r.session = nil
	}
}

// drain waits until everything is stored without closing the log.
func (r *rig) settled(within time.Duration) {
	r.t.Helper()
	eventually(r.t, within, func() bool { f := r.log.Figures(); return f.InFlight+f.Waiting == 0 },
		func() string { return fmt.Sprintf("%+v", r.log.Figures()) })
}

func eventually(t testing.TB, within time.Duration, ok func() bool, state func() string) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not reached in %s: %s", within, state())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func subject(t testing.TB, id string) string {
	t.Helper()
	s, err := contract.Subject(contract.KindChunk, contract.ConversationID(id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// publishAll publishes n numbered events, waiting for room as a conversation
// would, and checks each number.
func (r *rig) publishAll(from, n int) {
	r.t.Helper()
	sub := subject(r.t, "c1")
	for i := from; i < from+n; i++ {
		payload := []byte(fmt.Sprintf(`"%d"`, i))
		for {
			seq, err := r.log.Publish(sub, "t-1", payload)
			if errors.Is(err, msg.ErrBusDown) {
				continue
			}
			if err != nil {
				r.t.Fatal(err)
			}
			if seq != uint64(i)+1 {
				r.t.Fatalf("event %d got number %d", i, seq)
			}
			break
		}
	}
}

// stored reads the whole stream from the server and checks that it is the
// numbers from 0 to n-1, each once and in order.
func (r *rig) stored(n int) {
	r.t.Helper()
	sub, err := r.session.js.SubscribeSync(">", nats.OrderedConsumer(), nats.BindStream(streamName))
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for i := range n {
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			r.t.Fatalf("message %d of %d: %v", i, n, err)
		}
		if want := fmt.Sprintf(`"%d"`, i); string(m.Data) != want {
			r.t.Fatalf("message %d holds %s", i, m.Data)
		}
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Stream != uint64(i)+1 {
			r.t.Fatalf("message %d: %+v %v", i, meta, err)
		}
		if m.Header.Get(contract.HeaderTurn) != "t-1" {
			r.t.Fatalf("message %d: turn %q", i, m.Header.Get(contract.HeaderTurn))
		}
	}
	info, err := r.session.js.StreamInfo(streamName)
	if err != nil || info.State.Msgs != uint64(n) || info.State.LastSeq != uint64(n) {
		r.t.Fatalf("stream state %+v, %v; want %d messages", info.State, err, n)
	}
}

// The measurement: plain publishing lost 1,621 of 200,000 silently.
func TestLog_StoresAll(t *testing.T) {
	n := 200_000
	if raceEnabled {
		n = 20_000
	}
	r := newRig(t, LogOptions{})
	began := time.Now()
	r.publishAll(0, n)
	r.settled(time.Minute)
	took := time.Since(began)
	t.Logf("%d events stored in %s: %.0f a second, %d resyncs", n, took.Round(time.Millisecond), float64(n)/took.Seconds(), r.log.Figures().Resyncs)
	r.stored(n)
}

func TestLog_Refuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{})
	for _, tc := range []struct {
		name, subject, turn, payload string
		want                         error
	}{
		{"foreign subject", "command.get_tree", "", `1`, contract.ErrBadSubject},
		{"dot in the id", "api-agent.chunk.a.b", "", `1`, contract.ErrBadSubject},
		{"wildcard", "api-agent.chunk.*", "", `1`, contract.ErrBadSubject},
		{"not JSON", subject(t, "a"), "", `{`, ErrNotJSON},
		{"empty", subject(t, "a"), "", ``, ErrNotJSON},
		{"a lone quote", subject(t, "a"), "", `"`, ErrNotJSON},
		{"quote inside", subject(t, "a"), "", `"a"b"`, ErrNotJSON},
		{"half an escape", subject(t, "a"), "", `"a\"`, ErrNotJSON},
		{"line break inside", subject(t, "a"), "", "\"a\nb\"", ErrNotJSON},
		{"not UTF-8", subject(t, "a"), "", "\"\xc3\"", ErrNotJSON},
		{"header injection", subject(t, "a"), "t-1\r\nX: y", `1`, contract.ErrBadID},
		{"too large", subject(t, "a"), "", `"` + strings.Repeat("x", maxPayloadBytes) + `"`, ErrTooLarge},
	} {
		if _, err := r.log.Publish(tc.subject, contract.TurnID(tc.turn), []byte(tc.payload)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if r.log.Head() != 0 {
		t.Fatalf("a refused event took number %d", r.log.Head())
	}
	largest := []byte(`"` + strings.Repeat("x", maxPayloadBytes-2) + `"`)
	if seq, err := r.log.Publish(subject(t, "a"), "t-1", largest); err != nil || seq != 1 {
		t.Fatalf("largest event: %d, %v", seq, err)
	}
	r.settled(20 * time.Second)
}

// The server dies while events are on their way; the next one must get what is
// missing and nothing twice.
func TestLog_ServerDiesMidFlight(t *testing.T) {
	r := newRig(t, LogOptions{})
	const n = 30_000
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		r.publishAll(0, n)
	}()
	for k := 1; k <= 3; k++ {
		at := uint64(k * n / 4)
		eventually(t, time.Minute, func() bool { return r.log.Head() >= at }, func() string { return fmt.Sprint(r.log.Head()) })
		r.session.detach("killed by the test")
		r.serving.stop()
		r.start()
	}
	done.Wait()
	r.settled(time.Minute)
	r.stored(n)
}

// The connection alone breaks: the same server, in-flight messages in doubt.
func TestLog_ConnectionBreaks(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{})
	const n = 10_000
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		r.publishAll(0, n)
	}()
	eventually(t, time.Minute, func() bool { return r.log.Head() >= n/2 }, func() string { return "" })
	r.session.detach("connection lost")
	r.serving.stop()
	r.start()
	done.Wait()
	r.settled(time.Minute)
	r.stored(n)
}

// Acknowledgements that never come make the log ask, not guess.
func TestLog_AckTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{AckWait: 200 * time.Millisecond})
	r.publishAll(0, 100)
	r.settled(10 * time.Second)
	// A reply that comes under an old round is a reply that never came.
	r.session.mu.Lock()
	r.session.asked = append(r.session.asked, askedAck{seq: 1 << 40, at: time.Now()})
	r.session.mu.Unlock()
	before := r.log.Figures().Resyncs
	eventually(t, 10*time.Second, func() bool { return r.log.Figures().Resyncs > before && r.log.Figures().Up }, func() string { return fmt.Sprintf("%+v", r.log.Figures()) })
	r.publishAll(100, 100)
	r.settled(10 * time.Second)
	r.stored(200)
}

// Another writer cannot exist; if one does, ours are still stored once, behind
// it, and the log says so.
func TestLog_ForeignWriter(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{})
	r.publishAll(0, 10)
	r.settled(10 * time.Second)
	if _, err := r.session.js.Publish(subject(t, "c1"), []byte(`"foreign"`)); err != nil {
		t.Fatal(err)
	}
	if seq, err := r.log.Publish(subject(t, "c1"), "t-1", []byte(`"mine"`)); err != nil || seq != 11 {
		t.Fatalf("%d, %v", seq, err)
	}
	r.settled(10 * time.Second)
	got, err := r.session.js.GetMsg(streamName, 12)
	if err != nil || string(got.Data) != `"mine"` {
		t.Fatalf("message 12: %v, %v", got, err)
	}
	if seq, err := r.log.Publish(subject(t, "c1"), "t-1", []byte(`"next"`)); err != nil || seq != 13 {
		t.Fatalf("%d, %v", seq, err)
	}
	r.settled(10 * time.Second)
}

// A log folder that lost confirmed events must not hand their numbers out
// again: a window would take the new ones for read. The last ones are known and
// stored again; what is older is a gap.
func TestLog_LostEventsKeepNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		n    int
		gap  bool
	}{
		{"the last ones are known", 50, false},
		{"more than is known", 5_000, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, LogOptions{})
			r.publishAll(0, tc.n)
			r.settled(10 * time.Second)
			r.stop()
			r.opt.Dir = t.TempDir()
			r.start()
			r.publishAll(tc.n, 1)
			r.settled(10 * time.Second)
			wake := make(chan struct{}, 1)
			c := r.log.Follow([]string{">"}, 20, wake)
			defer c.Close()
			if !tc.gap {
				events, gap := readUntil(t, c, wake, tc.n+1-19)
				if gap != nil {
					t.Fatalf("gap %+v", gap)
				}
				checkRun(t, events, 19)
				r.stored(tc.n + 1)
				return
			}
			events, gap := readUntil(t, c, wake, 1)
			if gap == nil || *gap != (msg.Gap{From: 20, To: uint64(tc.n)}) {
				t.Fatalf("gap %+v", gap)
			}
			checkRun(t, events, tc.n)
		})
	}
}

// A stream that is full and may not drop anything stands for a full disk: the
// events wait, the state says why, and when there is room again all are there.
func TestLog_FullDisk(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var states []string
	r := newRig(t, LogOptions{Waiting: 200, Status: func(up bool, reason string) {
		mu.Lock()
		defer mu.Unlock()
		states = append(states, fmt.Sprint(up, " ", reason))
	}})
	limit := func(bytes int64, discard nats.DiscardPolicy) {
		if _, err := r.session.js.UpdateStream(&nats.StreamConfig{
			Name: streamName, Subjects: contract.LoggedSubjects, MaxBytes: bytes, Discard: discard, MaxAge: time.Hour,
			Duplicates: 100 * time.Millisecond,
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(20_000, nats.DiscardNew)
	taken := 0
	var refusedAfter time.Duration
	for {
		began := time.Now()
		_, err := r.log.Publish(subject(t, "c1"), "t-1", []byte(fmt.Sprintf(`"%d"`, taken)))
		if errors.Is(err, msg.ErrBusDown) {
			refusedAfter = time.Since(began)
			if !r.log.Figures().Up {
				break
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		taken++
	}
	if refusedAfter < 40*time.Millisecond || refusedAfter > 5*time.Second {
		t.Errorf("refused after %s, want about 50 ms", refusedAfter)
	}
	f := r.log.Figures()
	if f.Up || !strings.Contains(f.Reason, "Free some space") {
		t.Fatalf("figures %+v", f)
	}
	limit(256<<20, nats.DiscardOld)
	r.settled(20 * time.Second)
	eventually(t, 5*time.Second, func() bool { return r.log.Figures().Up }, func() string { return r.log.Figures().Reason })
	r.stored(taken)
	mu.Lock()
	defer mu.Unlock()
	if len(states) < 3 || states[0] != "true " || states[len(states)-1] != "true " {
		t.Fatalf("states %q", states)
	}
}

// Without a server nothing is taken, and the caller learns it in 50 ms.
func TestLog_PublishBlocksAtMost(t *testing.T) {
	t.Parallel()
	l := NewLog(LogOptions{})
	began := time.Now()
	_, err := l.Publish(subject(t, "c1"), "", []byte(`1`))
	took := time.Since(began)
	if !errors.Is(err, msg.ErrBusDown) || took < 45*time.Millisecond || took > 2*time.Second {
		t.Fatalf("%v after %s", err, took)
	}
	// A detached log takes as many as may wait, and then refuses.
	r := newRig(t, LogOptions{Waiting: 100})
	r.stop()
	r.publishAll(0, 100)
	if _, err := r.log.Publish(subject(t, "c1"), "t-1", []byte(`1`)); !errors.Is(err, msg.ErrBusDown) {
		t.Fatal(err)
	}
	r.start()
	r.settled(10 * time.Second)
	r.stored(100)
}

func TestLog_Drain(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{})
	r.publishAll(0, 5_000)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.log.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.log.Publish(subject(t, "c1"), "", []byte(`1`)); !errors.Is(err, ErrClosed) {
		t.Fatalf("after the drain: %v", err)
	}
	r.stored(5_000)

	r2 := newRig(t, LogOptions{})
	r2.stop()
	r2.publishAll(0, 3)
	ctx2, cancel2 := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel2()
	if err := r2.log.Drain(ctx2); err == nil || !strings.Contains(err.Error(), "3 events") {
		t.Fatalf("drain without a server: %v", err)
	}
}

// readUntil reads n events, keeping the last gap.
func readUntil(t *testing.T, c msg.Cursor, wake <-chan struct{}, n int) ([]msg.Logged, *msg.Gap) {
	t.Helper()
	var out []msg.Logged
	var gap *msg.Gap
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for len(out) < n {
		before := len(out)
		var g *msg.Gap
		out, g = c.Read(out, 64<<10)
		if g != nil {
			gap = g
			continue
		}
		if len(out) == before {
			select {
			case <-wake:
			case <-deadline.C:
				t.Fatalf("%d of %d events", len(out), n)
			}
		}
	}
	return out, gap
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 60, time.FixedZone("x", 3600))
	for _, tc := range []struct{ turn, payload, data string }{
		{"", `null`, `null`},
		{"t-1", `"a<b>"`, `"a<b>"`},
		{"t-1", "{\n \"a\": \"b\\n\"\r\n}", `{"a":"b\n"}`},
	} {
		got := appendEnvelope(nil, 7, at, "ops.restart", tc.turn, []byte(tc.payload))
		want, err := contract.Marshal(contract.Envelope{Seq: 7, Time: at.UTC(), Subject: "ops.restart", Turn: contract.TurnID(tc.turn), Data: json.RawMessage(tc.data)})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A smaller limit than the log was made with takes effect; it does not keep the
// service from starting.
func TestServer_SmallerLimitThanBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{})
	if _, err := r.log.Publish("ops.restart", "", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.opt.MaxBytes = 1 << 20
	r.start()
	if _, err := r.log.Publish("ops.restart", "", []byte("{}")); err != nil {
		t.Fatal(err)
	}
}
