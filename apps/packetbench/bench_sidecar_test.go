//go:build bench && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/coder/websocket"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
)

// The figures of the sidecar: its echo against a floor that is a service, too.
// The floor is a Go program of its own with a bare Node child: it passes each
// request of a socket on to the child as one line, and each line of the child to
// one window as one frame. Its child has the echo's timers and writes the
// echo's lines.

// blank stands in an echoed text where a child writes the time at which the line
// left it, in ns of CLOCK_MONOTONIC. It is one third of echoText, and so one
// chunk.
const blank = "0000000000000000000 "

var echoText = strings.Repeat(blank, 3)

// stamping makes a Node program write the time into each line of its output
// that has room for it.
const stamping = `
const through = process.stdout.write.bind(process.stdout)
process.stdout.write = (line, ...rest) =>
  through(line.replace('0000000000000000000', String(process.hrtime.bigint()).padStart(19, '0')), ...rest)
`

// plainEcho is the floor's child: the echo without anything around it.
const plainEcho = `
const write = (v) => process.stdout.write(JSON.stringify(v) + '\n')
const echo = ({ content, sessionId, turnId }) => {
  const size = Math.ceil(content.length / 3)
  const next = (i) => {
    write({ type: 'chunk', text: content.slice(i * size, (i + 1) * size), sessionId, turnId })
    if (i < 2) setTimeout(next, 50, i + 1)
    else write({ type: 'done', inputTokens: content.length, outputTokens: content.length, sessionId, turnId })
  }
  next(0)
}
let held = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (d) => {
  held += d
  let from = 0
  for (let at = held.indexOf('\n'); at >= 0; at = held.indexOf('\n', from)) {
    echo(JSON.parse(held.slice(from, at)))
    from = at + 1
  }
  held = held.slice(from)
})
process.stdin.on('end', () => process.exit(0))
`

// monotonic is the clock that Node's hrtime reads.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// script writes a Node program and returns its path.
func script(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "child.mjs")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// echoing is one side of a comparison: one window, and connections that ask for
// turns of the conversations e-0, e-1 and so on.
type echoing struct {
	tb     testing.TB
	window *websocket.Conn
	// asks are the connections; conversation i is asked on one of them.
	asks []chan []byte
	ask  func(i int) []byte
	// scan tells of each line of the child in a frame: the text of a chunk, or
	// the number of the conversation whose turn is over.
	scan func(frame []byte, chunk func(text []byte), end func(i int))
	// ctx ends with the first sign that a turn was refused.
	ctx  context.Context
	fail context.CancelCauseFunc
}

// askers is how many connections ask: a connection may have 256 requests in
// flight.
const askers = 10

// join opens the connections of a side.
func (s *echoing) join(url, ask string, header http.Header) {
	s.tb.Helper()
	s.ctx, s.fail = context.WithCancelCause(context.Background())
	dial := func(path string) *websocket.Conn {
		c, _, err := websocket.Dial(context.Background(), url+path, &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			s.tb.Fatal(err)
		}
		c.SetReadLimit(-1)
		s.tb.Cleanup(func() { _ = c.CloseNow() })
		return c
	}
	for range askers {
		c, requests := dial(ask), make(chan []byte, 4096)
		s.asks = append(s.asks, requests)
		s.tb.Cleanup(func() { close(requests) })
		go func() {
			for r := range requests {
				_ = c.Write(context.Background(), websocket.MessageText, r)
			}
		}()
		go func() { // Reads the answers.
			for {
				_, frame, err := c.Read(context.Background())
				if err != nil {
					return
				}
				if bytes.Contains(frame, []byte(`"error":`)) {
					s.fail(errors.New(string(frame)))
				}
			}
		}()
	}
	s.window = dial("/ws")
}

func (s *echoing) turn(i int) { s.asks[i%len(s.asks)] <- s.ask(i) }

// read hands on what the window gets until done says so.
func (s *echoing) read(done func() bool, chunk func(text []byte), end func(i int)) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for !done() {
		_, frame, err := s.window.Read(ctx)
		if err != nil {
			s.fail(err)
			return
		}
		s.scan(frame, chunk, end)
	}
}

func (s *echoing) check() {
	s.tb.Helper()
	if err := context.Cause(s.ctx); err != nil {
		s.tb.Fatalf("a turn failed: %v", err)
	}
}

// echoFloor starts the floor.
func echoFloor(tb testing.TB, child string) *echoing {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(tb.TempDir()), "PACKETBENCH_FLOOR_CHILD="+script(tb, child))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	s := &echoing{tb: tb, scan: scanLine, ask: func(i int) []byte {
		return fmt.Appendf(nil, `{"type":"send_message","sessionId":"e-%d","turnId":"t-1","content":"%s"}`, i, echoText)
	}}
	s.join(strings.TrimSpace(url), "/ask", nil)
	return s
}

// relay is the floor's process.
func relay(child string) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	cmd := exec.Command("node", child)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(err)
	stdout, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = cmd.Process.Kill()
		os.Exit(0)
	}()
	ctx := context.Background()
	windows := make(chan *websocket.Conn, 1)
	var one sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		if r.URL.Path == "/ws" {
			closed := c.CloseRead(ctx).Done()
			windows <- c
			<-closed
			return
		}
		for {
			_, request, err := c.Read(ctx)
			if err != nil {
				return
			}
			one.Lock()
			_, err = stdin.Write(append(request, '\n'))
			one.Unlock()
			must(err)
		}
	}))
	fmt.Println(server.URL)
	window := <-windows
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if window.Write(ctx, websocket.MessageText, lines.Bytes()) != nil {
			break
		}
	}
	select {}
}

var (
	lineChunk   = []byte(`{"type":"chunk","text":"`)
	lineDone    = []byte(`{"type":"done",`)
	lineSession = []byte(`"sessionId":"e-`)

	eventSubject = []byte(`"subject":"`)
	eventChunk   = []byte(`api-agent.chunk.e-`)
	eventData    = []byte(`"data":"`)
	eventEnd     = []byte(`conversation.turn-ended.e-`)
)

// scanLine reads a frame of the floor, which is a line of its child.
func scanLine(frame []byte, chunk func([]byte), end func(int)) {
	switch {
	case bytes.HasPrefix(frame, lineChunk):
		chunk(frame[len(lineChunk):])
	case bytes.HasPrefix(frame, lineDone):
		_, rest, _ := bytes.Cut(frame, lineSession)
		end(leading(rest))
	}
}

// scanEvents reads a frame of the service, which is one or more events.
func scanEvents(frame []byte, chunk func([]byte), end func(int)) {
	for {
		at := bytes.Index(frame, eventSubject)
		if at < 0 {
			return
		}
		frame = frame[at+len(eventSubject):]
		switch {
		case bytes.HasPrefix(frame, eventChunk):
			_, frame, _ = bytes.Cut(frame, eventData)
			chunk(frame)
		case bytes.HasPrefix(frame, eventEnd):
			frame = frame[len(eventEnd):]
			end(leading(frame))
		}
	}
}

// leading is the number that a text begins with.
func leading(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// echoOurs launches n conversations on the echo and opens a window that is shown
// all of them, as a page is.
func echoOurs(tb testing.TB, p *proc, n int) *echoing {
	tb.Helper()
	launchEchoes(tb, p, n)
	var id atomic.Int64
	s := &echoing{tb: tb, scan: scanEvents, ask: func(i int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"session_id":"e-%d","message":"%s"}}`, id.Add(1), contract.MethodSend, i, echoText)
	}}
	s.join(p.run.URL, "/ws", http.Header{"Authorization": {"Bearer " + p.run.OwnerToken}})
	showAll(tb, s.window)
	return s
}

// showAll subscribes to everything of all conversations from now on.
func showAll(tb testing.TB, c *websocket.Conn) {
	tb.Helper()
	const request = `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"subjects":["api-agent.>","conversation.>"],"since":"new"}}`
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
		tb.Fatal(err)
	}
	if _, answer, err := c.Read(ctx); err != nil || !bytes.Contains(answer, []byte(`"subscription"`)) {
		tb.Fatalf("subscribe: %s, %v", answer, err)
	}
}

// launchEchoes launches the conversations e-0 to e-(n-1) and waits until each has
// had its first turn.
func launchEchoes(tb testing.TB, p *proc, n int) {
	tb.Helper()
	dir, w := project(tb), p.window(tb)
	if _, err := w.subscribe(tb.Context(), "new", "conversation.turn-ended.>"); err != nil {
		tb.Fatal(err)
	}
	var next atomic.Int64
	var failure atomic.Value
	var starters sync.WaitGroup
	for range 32 {
		starters.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := w.call(tb.Context(), contract.MethodStart, contract.StartParams{
					SessionID: contract.ConversationID(fmt.Sprintf("e-%d", i)), Provider: contract.ProviderEcho, Model: "echo", ProjectPath: dir, InitialMessage: "hello",
				}, nil); err != nil {
					failure.CompareAndSwap(nil, err.Error())
				}
			}
		})
	}
	for range n {
		w.event()
		if why := failure.Load(); why != nil {
			tb.Fatalf("a launch failed: %s", why)
		}
	}
	starters.Wait()
	w.close()
}

// paced asks for so many turns, one every so often, and returns the latency of
// each chunk from the child's write to the window.
func (s *echoing) paced(conversations, turns int, every time.Duration) measured {
	s.tb.Helper()
	var m measured
	read := make(chan struct{})
	go func() {
		defer close(read)
		ends := 0
		s.read(func() bool { return ends == turns }, func(text []byte) {
			m.latencies = append(m.latencies, time.Duration(monotonic()-int64(leading(text))))
		}, func(int) { ends++ })
	}()
	next := time.Now()
	for i := range turns {
		next = next.Add(every)
		time.Sleep(time.Until(next))
		s.turn(i % conversations)
	}
	<-read
	s.check()
	if len(m.latencies) != 3*turns {
		s.tb.Fatalf("%d of %d chunks arrived", len(m.latencies), 3*turns)
	}
	return m
}

// BenchmarkSidecarPaced: 64 conversations echo, and one window is shown all of
// them. A turn is asked for every 18 ms and has nine events at a window, so that
// is 500 events a second. Latency of a chunk from the child's write, whose time
// it carries. Goal: p50 and p99 at most 3 times the floor's.
func BenchmarkSidecarPaced(b *testing.B) {
	const conversations, turns, every = 64, 200, 18 * time.Millisecond
	_, product, _ := strings.Cut(sidecarScript(b), "=")
	p := serve(b, b.TempDir(), []string{"PACKETBENCH_SIDECAR_PATH=" + script(b, stamping+"await import("+strconv.Quote("file://"+product)+")\n")})
	o, f := echoOurs(b, p, conversations), echoFloor(b, stamping+plainEcho)
	var p50, p99, us, floorUs []float64
	for range rounds {
		floor := f.paced(conversations, turns, every)
		ours := o.paced(conversations, turns, every)
		p50 = append(p50, ours.percentile(.5).Seconds()/floor.percentile(.5).Seconds())
		p99 = append(p99, ours.percentile(.99).Seconds()/floor.percentile(.99).Seconds())
		us = append(us, float64(ours.percentile(.5).Microseconds()))
		floorUs = append(floorUs, float64(floor.percentile(.5).Microseconds()))
		b.Logf("p50 %s of %s, p99 %s of %s", ours.percentile(.5), floor.percentile(.5), ours.percentile(.99), floor.percentile(.99))
	}
	b.ReportMetric(median(p50), "p50_of_floor")
	b.ReportMetric(median(p99), "p99_of_floor")
	b.ReportMetric(median(us), "p50_us")
	b.ReportMetric(median(floorUs), "floor_p50_us")
	b.ReportMetric(0, "ns/op")
}

// flood keeps so many conversations echoing, each asked again when its turn is
// over, and returns how many lines of the child a second reach the window.
func (s *echoing) flood(conversations int, warm, span time.Duration) float64 {
	s.tb.Helper()
	var lines atomic.Int64
	var stop atomic.Bool
	read := make(chan struct{})
	go func() {
		defer close(read)
		busy := conversations
		s.read(func() bool { return busy == 0 }, func([]byte) { lines.Add(1) }, func(i int) {
			lines.Add(1)
			if stop.Load() {
				busy--
				return
			}
			s.turn(i)
		})
	}()
	for i := range conversations {
		s.turn(i)
	}
	time.Sleep(warm)
	began, before := time.Now(), lines.Load()
	time.Sleep(span)
	n := lines.Load() - before
	took := time.Since(began)
	stop.Store(true)
	<-read
	s.check()
	return float64(n) / took.Seconds()
}

// BenchmarkSidecarThroughput: lines of the child (three chunks and done a turn)
// that reach one window a second, with so many conversations that echo without a
// pause. The floor is bound by the echo's timers, at 40 lines a second and
// conversation. Goal: at least 0.4 of the floor.
func BenchmarkSidecarThroughput(b *testing.B) {
	for _, conversations := range []int{100, 400, 1000} {
		b.Run(strconv.Itoa(conversations), func(b *testing.B) {
			p := serve(b, b.TempDir(), []string{sidecarScript(b), "PACKETBENCH_MAX_AWAKE=2000"})
			o, f := echoOurs(b, p, conversations), echoFloor(b, plainEcho)
			var ratio, rate, floorRate []float64
			for range rounds {
				floor := f.flood(conversations, time.Second, 2*time.Second)
				ours := o.flood(conversations, time.Second, 2*time.Second)
				b.Logf("%.0f of %.0f lines/s", ours, floor)
				ratio, rate, floorRate = append(ratio, ours/floor), append(rate, ours), append(floorRate, floor)
			}
			b.ReportMetric(median(ratio), "of_floor")
			b.ReportMetric(median(rate), "lines/s")
			b.ReportMetric(median(floorRate), "floor_lines/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// owned is how many sessions the child has when it dies.
const owned = 1000

func init() {
	if child := os.Getenv("PACKETBENCH_FLOOR_CHILD"); child != "" {
		relay(child)
	}
	if dir := os.Getenv("PACKETBENCH_FLOOR_FAN"); dir != "" {
		bareFan(dir)
	}
}

// fanned is an actor that counts what it gets.
type fanned struct {
	act.Actor
	got *atomic.Int64
}

func (a *fanned) HandleMessage(gen.PID, any) error {
	a.got.Add(1)
	return nil
}

var fanError = []byte(`{"message":"` + contract.TextSidecarRestarted + `"}`)

// bareFan is the floor's process: the same node with as many actors, the same
// NATS server with one stream. For each line of its input it sends to each actor
// and publishes as often.
func bareFan(dir string) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	node, err := supervisors.StartNode(supervisors.NodeOptions{})
	must(err)
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	must(err)
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		panic("the bus did not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	must(err)
	js, err := jetstream.New(nc)
	must(err)
	_, err = js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "events", Subjects: []string{"api-agent.>"}})
	must(err)
	var got atomic.Int64
	pids, subjects := make([]gen.PID, owned), make([]string, owned)
	for i := range owned {
		pids[i], err = node.Spawn(func() gen.ProcessBehavior { return &fanned{got: &got} }, gen.ProcessOptions{})
		must(err)
		subjects[i] = fmt.Sprintf("api-agent.error.e-%d", i)
	}
	fmt.Println(srv.ClientURL())
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		for i, pid := range pids {
			must(node.Send(pid, fanError))
			_, err := js.PublishAsync(subjects[i], fanError)
			must(err)
		}
		<-js.PublishAsyncComplete()
	}
	srv.Shutdown()
	node.StopForce()
	if got.Load()%owned != 0 {
		panic("a message to an actor was lost")
	}
	os.Exit(0)
}

// hearErrors returns a channel that gets the time at which the last of the
// errors has come to a NATS client, once for each fan-out.
func hearErrors(tb testing.TB, url string, o ...nats.Option) <-chan time.Time {
	tb.Helper()
	nc, err := nats.Connect(url, o...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	last, n := make(chan time.Time, 1), 0
	if _, err := nc.Subscribe("api-agent.error.>", func(*nats.Msg) {
		if n++; n%owned == 0 {
			last <- time.Now()
		}
	}); err != nil {
		tb.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		tb.Fatal(err)
	}
	return last
}

// showErrors does the same for a window that is shown all conversations.
func showErrors(tb testing.TB, p *proc) <-chan time.Time {
	tb.Helper()
	c, _, err := websocket.Dial(tb.Context(), p.run.URL+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + p.run.OwnerToken}}})
	if err != nil {
		tb.Fatal(err)
	}
	c.SetReadLimit(-1)
	tb.Cleanup(func() { _ = c.CloseNow() })
	showAll(tb, c)
	last, n := make(chan time.Time, 1), 0
	mark := []byte(`"subject":"api-agent.error.`)
	go func() {
		for {
			_, frame, err := c.Read(context.Background())
			if err != nil {
				return
			}
			for range bytes.Count(frame, mark) {
				if n++; n%owned == 0 {
					last <- time.Now()
				}
			}
		}
	}()
	return last
}

func within(tb testing.TB, last <-chan time.Time) time.Time {
	tb.Helper()
	select {
	case at := <-last:
		return at
	case <-time.After(patience):
		tb.Fatal("not all errors came")
		return time.Time{}
	}
}

// BenchmarkSidecarFanOut: the child dies with 1,000 sessions that wait for a
// person; from its end until a NATS client has the last conversation's error, against a bare loop of as
// many sends to actors and publishes; and until the last of four windows has it.
// Goals: at most 5 times the loop; the window at most 3 times the bus.
func BenchmarkSidecarFanOut(b *testing.B) {
	p := serve(b, b.TempDir(), []string{sidecarScript(b), "PACKETBENCH_MAX_AWAKE=1100"})
	o := echoOurs(b, p, owned)
	w := p.window(b)
	bus := hearErrors(b, p.run.NATSURL, nats.UserInfo(p.run.NATSOwner.User, p.run.NATSOwner.Password))
	var windows []<-chan time.Time
	for range 4 {
		windows = append(windows, showErrors(b, p))
	}

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(b.TempDir()), "PACKETBENCH_FLOOR_FAN="+b.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	bare := hearErrors(b, strings.TrimSpace(url))

	var ratio, shown, ms []float64
	for range rounds {
		began := time.Now()
		if _, err := in.Write([]byte("go\n")); err != nil {
			b.Fatal(err)
		}
		floor := within(b, bare).Sub(began)

		pid := *sidecarReady(b, w).PID
		killed := time.Now()
		ended := kill(b, pid)
		last := within(b, bus).Sub(ended)
		var window time.Duration
		for _, c := range windows {
			window = max(window, within(b, c).Sub(ended))
		}
		b.Logf("bus %s, window %s of %s, the child took %s to end", last, window, floor, ended.Sub(killed))
		ratio = append(ratio, last.Seconds()/floor.Seconds())
		shown = append(shown, window.Seconds()/last.Seconds())
		ms = append(ms, last.Seconds()*1000)

		sidecarReady(b, w)
		// A turn of each, which opens its session in the next child.
		o.flood(owned, 0, 0)
	}
	b.ReportMetric(median(ratio), "of_bare")
	b.ReportMetric(median(shown), "window_of_bus")
	b.ReportMetric(median(ms), "ms")
	b.ReportMetric(0, "ns/op")
}

// kill ends a process and returns when the kernel had taken it apart, which is
// when its pipes close and its parent hears of it.
func kill(tb testing.TB, pid int) time.Time {
	tb.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		tb.Fatal(err)
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if err == nil {
			return time.Now()
		}
		if !errors.Is(err, unix.EINTR) {
			tb.Fatal(err)
		}
	}
}

// sidecarReady waits until a child is there; one that has died too often is
// reset.
func sidecarReady(tb testing.TB, w *window) contract.SidecarStatus {
	tb.Helper()
	var s contract.SidecarStatus
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		w.must(contract.MethodSidecarStatus, nil, &s)
		switch {
		case s.State == "ready":
			return s
		case s.State == "down":
			w.must(contract.MethodResetActor, contract.ActorParams{Name: "sidecar"}, nil)
		case time.Now().After(deadline):
			tb.Fatalf("the sidecar is %+v", s)
		}
	}
}
