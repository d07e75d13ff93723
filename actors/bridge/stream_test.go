package bridge

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/packetbench/packetbench/contract"
)

// stream opens an event stream and hands out its events as a browser's
// EventSource would.
func (r *rig) stream(query, lastID string) (next func() sse.Event, end func()) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	q, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.addr+"/events?"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+ownerToken)
	if lastID != "" {
		q.Header.Set("Last-Event-ID", lastID)
	}
	a, err := r.http.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("Cache-Control") != "no-store" {
		r.t.Fatalf("%s: %d %v", query, a.StatusCode, a.Header)
	}
	events := make(chan sse.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(events)
		for e, err := range sse.Read(a.Body, &sse.ReadConfig{MaxEventSize: 4 << 20}) {
			if err != nil {
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	end = func() { cancel(); _ = a.Body.Close(); <-done }
	r.t.Cleanup(end)
	return func() sse.Event {
		r.t.Helper()
		e, ok := <-events
		if !ok {
			r.t.Fatalf("%s: the stream ended", query)
		}
		return e
	}, end
}

// checkNext reads n events and checks their ids and envelopes.
func checkNext(t *testing.T, next func() sse.Event, from, n uint64) {
	t.Helper()
	for seq := from; seq < from+n; seq++ {
		e := next()
		if e.LastEventID != strconv.FormatUint(seq, 10) || e.Type != "" || !strings.HasPrefix(e.Data, fmt.Sprintf(`{"seq":%d,`, seq)) {
			t.Fatalf("want %d, got %+v", seq, e)
		}
	}
}

func TestStream_Since(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish("c1", 10)
	for _, tc := range []struct {
		query, last string
		from        uint64
	}{
		{"subject=api-agent.*.c1&since=all", "", 1},
		{"subject=api-agent.*.c1&since=4", "", 4},
		{"subject=api-agent.*.c1&subject=ops.>&since=0", "", 1},
		{"subject=api-agent.*.c1", "7", 8},
		{"subject=api-agent.*.c1&since=2", "9", 10}, // The browser repeats the address; its last id counts.
	} {
		next, end := r.stream(tc.query, tc.last)
		checkNext(t, next, tc.from, 11-tc.from)
		end()
	}
	next, _ := r.stream("subject=api-agent.*.c1&since=new", "")
	other, _ := r.stream("subject=api-agent.*.c1", "10")
	r.publish("c2", 1)
	r.publish("c1", 1)
	for _, n := range []func() sse.Event{next, other} {
		if e := n(); e.LastEventID != "12" {
			t.Fatalf("%+v", e)
		}
	}
}

// F39: a stream that broke continues behind its last id, without loss or
// repeat.
func TestStream_Resumes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	last, seq := "", uint64(0)
	for range 10 {
		r.publish("c1", 50)
		next, end := r.stream("subject=api-agent.>&since=all", last)
		checkNext(t, next, seq+1, 40)
		seq += 40
		last = strconv.FormatUint(seq, 10)
		end()
	}
}

// F39: what the log no longer holds is told, and told once: its id continues
// behind it.
func TestStream_Gap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish("c1", 10)
	r.log.trim(6)
	next, end := r.stream("subject=api-agent.>", "2")
	e := next()
	if e.Type != "gap" || e.Data != `{"from":3,"to":5}` || e.LastEventID != "5" {
		t.Fatalf("%+v", e)
	}
	end()
	next, _ = r.stream("subject=api-agent.>", e.LastEventID)
	checkNext(t, next, 6, 5)
	// A number of an earlier log, which was longer.
	next, end = r.stream("subject=api-agent.>", "500")
	e = next()
	if e.Type != "gap" || e.Data != `{"from":11,"to":500}` || e.LastEventID != "10" {
		t.Fatalf("%+v", e)
	}
	end()
	next, _ = r.stream("subject=api-agent.>", e.LastEventID)
	r.publish("c1", 2)
	checkNext(t, next, 11, 2)
}

func TestStream_Refusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct{ query, last, want string }{
		{"", "", "subjects: "},
		{"subject=", "", "subjects: "},
		{"subject=a..b", "", "subjects: "},
		{"subject=" + strings.Repeat("x", 300), "", "subjects: "},
		{strings.Repeat("subject=ops.x&", 65), "", "subjects: "},
		{"subject=ops.>&since=old", "", "since: "},
		{"subject=ops.>&since=-1", "", "since: "},
		{"subject=ops.>&since={}", "", "since: "},
		{"subject=ops.>", "x", "Last-Event-ID: "},
		{"subject=ops.>", "-1", "Last-Event-ID: "},
		{"subject=ops.>", "99999999999999999999", "Last-Event-ID: "},
	} {
		status, _, body := r.do("GET", "/events?"+tc.query, "", "Last-Event-ID", tc.last)
		if status != http.StatusBadRequest || !strings.HasPrefix(body, tc.want) {
			t.Errorf("%s %s: %d %s", tc.query, tc.last, status, body)
		}
	}
	if status, _, body := r.do("HEAD", "/events?subject=ops.>", ""); status != http.StatusOK || body != "" {
		t.Errorf("HEAD: %d %s", status, body)
	}
	if n := r.d.connected.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// A silent stream says now and then that it is alive; what it says is no event.
func TestStream_Pings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.d.pace.ping = 5 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q, _ := http.NewRequestWithContext(ctx, "GET", "http://"+r.addr+"/events?subject=ops.%3E&token="+monitorToken, nil)
	a, err := r.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	lines := bufio.NewScanner(a.Body)
	for pings := 0; pings < 3; {
		if !lines.Scan() {
			t.Fatal("the stream ended")
		}
		switch lines.Text() {
		case ": ping":
			pings++
		case "", ": open":
		default:
			t.Fatalf("%q", lines.Text())
		}
	}
}

// A peer that leaves, or that reads nothing while the service stops, costs no
// goroutine and no time.
func TestStream_Ends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, end := r.stream("subject=ops.>", "")
	eventually(t, func() bool { return r.d.connected.Load() == 1 && r.log.cursors() == 1 }, func() string { return "not open" })
	end()
	eventually(t, func() bool { return r.d.connected.Load() == 0 && r.log.cursors() == 0 }, func() string { return "still open" })

	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET /events?subject=%%3E HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", r.addr, ownerToken); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return r.log.cursors() == 1 }, func() string { return "not open" })
	subject, _ := contract.Subject(contract.KindChunk, "c1")
	for range 64 {
		if _, err := r.log.Publish(subject, "", []byte(`"`+strings.Repeat("x", 1<<20)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return r.d.metricsSent() > 0 }, func() string { return "nothing sent" })
	began := time.Now()
	r.l.close(5*time.Second, errStopping)
	if took := time.Since(began); took > 4*time.Second || r.d.connected.Load() != 0 {
		t.Errorf("took %s, %d connections left", took, r.d.connected.Load())
	}
}

// A request with headers or a body that never ends is given up.
func TestHTTP_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if r.l.server.ReadHeaderTimeout <= 0 || r.l.server.IdleTimeout <= 0 {
		t.Error("a peer may hold a connection for ever")
	}
	if status, _, _ := r.do("GET", "/healthz", "", "X-Long", strings.Repeat("x", 100<<10)); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("100 KiB of headers: %d", status)
	}
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// A body that is not what its headers say.
	if _, err := fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", r.addr, ownerToken); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("broken body: %d", answer.StatusCode)
	}
}
