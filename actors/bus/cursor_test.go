package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// payloadOf decodes an envelope and checks that it says what Logged says.
func payloadOf(t *testing.T, e msg.Logged) string {
	t.Helper()
	var env contract.Envelope
	if err := json.Unmarshal(e.Envelope, &env); err != nil {
		t.Fatalf("envelope %s: %v", e.Envelope, err)
	}
	if env.Seq != e.Seq || env.Subject != e.Subject || env.Time.IsZero() || bytes.ContainsAny(e.Envelope, "\r\n") {
		t.Fatalf("envelope %s of %d %s", e.Envelope, e.Seq, e.Subject)
	}
	return string(env.Data)
}

// checkRun checks that events are the payloads from..from+len, in order.
func checkRun(t *testing.T, events []msg.Logged, from int) {
	t.Helper()
	for i, e := range events {
		if want := fmt.Sprintf(`"%d"`, from+i); payloadOf(t, e) != want {
			t.Fatalf("event %d is %s", from+i, e.Envelope)
		}
	}
}

func TestCursor_FromTheStreamIntoTheRing(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{RingEvents: 64})
	r.publishAll(0, 3_000)
	r.settled(20 * time.Second)
	wake := make(chan struct{}, 1)
	c := r.log.Follow([]string{"api-agent.>"}, 0, wake)
	defer c.Close()
	first, gap := readUntil(t, c, wake, 1_000)
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	r.publishAll(3_000, 3_000)
	rest, gap := readUntil(t, c, wake, 6_000-len(first))
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, append(first, rest...), 0)
	if c.Next() != 6_001 {
		t.Fatalf("next %d", c.Next())
	}
	// A quiet log says nothing more.
	if more, gap := c.Read(nil, 1<<20); len(more) > 0 || gap != nil {
		t.Fatalf("%d more, gap %+v", len(more), gap)
	}
}

// Readers of different places and tempers get the same bytes; one that stands
// still costs the others nothing (F42).
func TestCursor_ManyReaders(t *testing.T) {
	t.Parallel()
	n := 20_000
	if raceEnabled {
		n = 4_000
	}
	r := newRig(t, LogOptions{RingEvents: 512})
	var readers sync.WaitGroup
	start := make(chan struct{})
	frozen := make(chan struct{})
	results := make([][]msg.Logged, 4)
	for i := range results {
		readers.Add(1)
		wake := make(chan struct{}, 1)
		c := r.log.Follow([]string{"api-agent.*.c1"}, 1, wake)
		go func() {
			defer readers.Done()
			defer c.Close()
			<-start
			if i == 3 {
				<-frozen // reads nothing until all is published
			}
			results[i], _ = readUntil(t, c, wake, n)
		}()
	}
	close(start)
	r.publishAll(0, n)
	r.settled(time.Minute)
	close(frozen)
	readers.Wait()
	for i, events := range results {
		if len(events) != n {
			t.Fatalf("reader %d has %d events", i, len(events))
		}
		checkRun(t, events, 0)
	}
	for i, e := range results[0] {
		if !bytes.Equal(e.Envelope, results[3][i].Envelope) {
			t.Fatalf("live and replayed envelopes differ:\n%s\n%s", e.Envelope, results[3][i].Envelope)
		}
	}
}

func TestCursor_Patterns(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{RingEvents: 4})
	subjects := []string{"api-agent.chunk.a", "api-agent.done.a", "conversation.updated.a", "api-agent.chunk.b", "ops.restart", contract.SubjectSidecarStatus}
	for range 20 {
		for _, s := range subjects {
			if _, err := r.log.Publish(s, "", []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.settled(10 * time.Second)
	for _, patterns := range [][]string{
		{">"},
		{"api-agent.*.a"},
		{"api-agent.*.a", "conversation.*.a"},
		{"api-agent.chunk.*", "api-agent.*.a"}, // they overlap: the server refuses such filters
		{"api-agent.>", "api-agent.chunk.a", "api-agent.chunk.a"},
		{"ops.>", "sidecar-status.changed"},
		{"*.*.a", "nothing.of.ours"},
		{"nothing.of.ours"},
		{"command.>"},
	} {
		want := 0
		m := newMatcher(patterns)
		for _, s := range subjects {
			for _, p := range patterns {
				if contract.Match(p, s) {
					want += 20
					break
				}
			}
		}
		wake := make(chan struct{}, 1)
		c := r.log.Follow(patterns, 0, wake)
		if want > 0 {
			got, gap := readUntil(t, c, wake, want)
			if gap != nil || len(got) != want {
				t.Errorf("%v: %d events, gap %+v; want %d", patterns, len(got), gap, want)
			}
			for _, e := range got {
				if !m.match(e.Subject) {
					t.Errorf("%v got %s", patterns, e.Subject)
				}
			}
		}
		// The cursor arrives at the head though nothing more matches.
		eventually(t, 10*time.Second, func() bool {
			out, _ := c.Read(nil, 1<<20)
			return len(out) == 0 && c.Next() == r.log.Head()+1
		}, func() string { return fmt.Sprintf("%v stands at %d of %d", patterns, c.Next(), r.log.Head()) })
		c.Close()
	}
}

// What retention removed is reported, and what is left is read once (F38).
func TestCursor_Gap(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{RingEvents: 16}, func(o *ServerOptions) { o.MaxBytes = 100_000 })
	wake := make(chan struct{}, 1)
	slow := r.log.Follow([]string{">"}, 1, wake)
	defer slow.Close()
	r.publishAll(0, 5_000)
	r.settled(20 * time.Second)
	info, err := r.session.js.StreamInfo(streamName)
	if err != nil || info.State.FirstSeq < 1000 {
		t.Fatalf("retention did not move: %+v %v", info, err)
	}
	got, gap := readUntil(t, slow, wake, int(info.State.Msgs))
	if gap == nil || gap.From != 1 || gap.To != info.State.FirstSeq-1 {
		t.Fatalf("gap %+v, first %d", gap, info.State.FirstSeq)
	}
	checkRun(t, got, int(gap.To))

	// From the oldest held there is no gap.
	wake2 := make(chan struct{}, 1)
	all := r.log.Follow([]string{">"}, 0, wake2)
	defer all.Close()
	got, gap = readUntil(t, all, wake2, int(info.State.Msgs))
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, got, int(info.State.FirstSeq)-1)

	// A place of an earlier log.
	wake3 := make(chan struct{}, 1)
	ahead := r.log.Follow([]string{">"}, 9_000, wake3)
	defer ahead.Close()
	if _, gap := ahead.Read(nil, 1); gap == nil || *gap != (msg.Gap{From: 5_001, To: 8_999}) {
		t.Fatalf("gap %+v", gap)
	}
	r.publishAll(5_000, 1)
	got, _ = readUntil(t, ahead, wake3, 1)
	checkRun(t, got, 5_000)
}

// The stream's front passes a reader in the middle of its reading.
func TestCursor_OvertakenWhileReading(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{RingEvents: 16}, func(o *ServerOptions) { o.MaxBytes = 300_000 })
	r.publishAll(0, 2_500)
	r.settled(10 * time.Second)
	wake := make(chan struct{}, 1)
	c := r.log.Follow([]string{">"}, 0, wake)
	defer c.Close()
	seen := make(map[uint64]bool)
	var gaps []msg.Gap
	events, g := readUntil(t, c, wake, 10)
	if g != nil {
		gaps = append(gaps, *g)
	}
	r.publishAll(2_500, 10_000)
	r.settled(20 * time.Second)
	last := events[len(events)-1].Seq
	start := events[0].Seq
	for _, e := range events {
		seen[e.Seq] = true
	}
	deadline := time.After(30 * time.Second)
	for last < 12_500 {
		out, gap := c.Read(nil, 10_000)
		if gap != nil {
			gaps = append(gaps, *gap)
			continue
		}
		for _, e := range out {
			if e.Seq <= last {
				t.Fatalf("event %d after %d", e.Seq, last)
			}
			seen[e.Seq], last = true, e.Seq
		}
		if len(out) == 0 {
			select {
			case <-wake:
			case <-deadline:
				t.Fatalf("stands at %d", last)
			}
		}
	}
	for _, g := range gaps {
		for seq := g.From; seq <= g.To; seq++ {
			seen[seq] = true
		}
	}
	for seq := start; seq <= 12_500; seq++ {
		if !seen[seq] {
			t.Fatalf("event %d was lost in silence; gaps %+v", seq, gaps)
		}
	}
	if len(gaps) == 0 {
		t.Fatal("no gap, although the log was overtaken")
	}
}

// Readers survive a restart of the server.
func TestCursor_ServerRestarts(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{RingEvents: 256})
	wake := make(chan struct{}, 1)
	live := r.log.Follow([]string{">"}, 1, wake)
	defer live.Close()
	behindWake := make(chan struct{}, 1)
	r.publishAll(0, 2_000)
	got, _ := readUntil(t, live, wake, 2_000)
	behind := r.log.Follow([]string{">"}, 1, behindWake)
	defer behind.Close()
	some, _ := readUntil(t, behind, behindWake, 100)
	r.stop()
	r.publishAll(2_000, 500)
	r.start()
	r.publishAll(2_500, 500)
	more, gap := readUntil(t, live, wake, 1_000)
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, append(got, more...), 0)
	rest, gap := readUntil(t, behind, behindWake, 3_000-len(some))
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, append(some, rest...), 0)
}

func TestCursor_LargeEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, LogOptions{RingEvents: 8, RingBytes: 1 << 20})
	sizes := []int{10, 3 << 20, 10, 10, 2 << 20, 5 << 20, 10}
	for _, size := range sizes {
		if _, err := r.log.Publish(subject(t, "c1"), "", []byte(`"`+strings.Repeat("x", size)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	r.settled(20 * time.Second)
	wake := make(chan struct{}, 1)
	c := r.log.Follow([]string{"api-agent.chunk.c1"}, 0, wake)
	defer c.Close()
	got, gap := readUntil(t, c, wake, len(sizes))
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	for i, e := range got {
		if p := payloadOf(t, e); len(p) != sizes[i]+2 {
			t.Fatalf("event %d has %d bytes", i, len(p))
		}
	}
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		patterns []string
		want     string
	}{
		{[]string{">"}, ""},
		{[]string{"a.*", "a.b"}, "a.*"},
		{[]string{"a.b", "a.b"}, "a.b"},
		{[]string{"a.>", "a.*", "b.c"}, "a.> b.c"},
		{[]string{"a.*.c", "a.b.*"}, ""},
		{[]string{"a.b", "a.b.c", "a.*.d"}, "a.b a.b.c a.*.d"},
	} {
		if got := strings.Join(newMatcher(tc.patterns).filters(), " "); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.patterns, got, tc.want)
		}
	}
}

func TestParseDelivery(t *testing.T) {
	t.Parallel()
	short, ok := parseDelivery("$JS.ACK.events.c.1.22.3.1700000000000000001.5")
	if !ok || short.streamSeq != 22 || short.consumerSeq != 3 || short.pending != 5 || short.at.UnixNano() != 1700000000000000001 {
		t.Fatalf("%+v %v", short, ok)
	}
	long, ok := parseDelivery("$JS.ACK.dom.acc.events.c.1.22.3.1700000000000000001.5.rnd")
	if !ok || long != short {
		t.Fatalf("%+v %v", long, ok)
	}
	for _, bad := range []string{"", "x", "$JS.ACK.events.c.1.22.3.4", "$JS.ACK.events.c.1.a.3.4.5", "$JS.FC.events.c.1.2.3.4.5"} {
		if _, ok := parseDelivery(bad); ok {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// The target: catching up 20,000 events costs at most twice what reading them
// from the stream directly does.
func BenchmarkCatchUp(b *testing.B) {
	const n = 20_000
	r := newRig(b, LogOptions{RingEvents: 16})
	r.publishAll(0, n)
	r.settled(time.Minute)
	b.ResetTimer()
	b.Run("stream", func(b *testing.B) {
		for range b.N {
			sub, err := r.session.js.SubscribeSync(">", nats.OrderedConsumer(), nats.BindStream(streamName))
			if err != nil {
				b.Fatal(err)
			}
			for range n {
				if _, err := sub.NextMsg(5 * time.Second); err != nil {
					b.Fatal(err)
				}
			}
			_ = sub.Unsubscribe()
		}
	})
	b.Run("cursor", func(b *testing.B) {
		for range b.N {
			wake := make(chan struct{}, 1)
			c := r.log.Follow([]string{"api-agent.*.c1"}, 0, wake)
			buf := make([]msg.Logged, 0, 1024)
			for got := 0; got < n; {
				buf, _ = c.Read(buf[:0], 256<<10)
				got += len(buf)
				if len(buf) == 0 {
					<-wake
				}
			}
			c.Close()
		}
	})
}
