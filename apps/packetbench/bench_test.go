//go:build bench && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
)

// Every figure is a ratio against a floor measured in the same run: the machine
// is shared, so an absolute time says little. `make bench` prints them; they
// are written down in docs/performance.md.

// stream is a loopback provider that streams deltas as fast as they are taken,
// or at a pace. Each delta holds the time at which it was written.
type stream struct {
	*httptest.Server
	mu     sync.Mutex
	deltas int
	pace   time.Duration
}

func newStream(tb testing.TB) *stream {
	s := &stream{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		n, pace := s.deltas, s.pace
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		flusher := w.(http.Flusher)
		next := time.Now()
		var b bytes.Buffer
		for i := range n {
			if pace > 0 {
				next = next.Add(pace)
				time.Sleep(time.Until(next))
			}
			b.Reset()
			fmt.Fprintf(&b, `data: {"choices":[{"index":0,"delta":{"content":"%d "}}]}`+"\n\n", time.Now().UnixNano())
			if _, err := w.Write(b.Bytes()); err != nil {
				return
			}
			if pace > 0 || i%64 == 63 {
				flusher.Flush()
			}
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
	}))
	tb.Cleanup(s.Close)
	return s
}

func (s *stream) script(n int, pace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deltas, s.pace = n, pace
}

// measured is one run: how long from the first to the last delta at the slowest
// reader, and the latency of each delta at the first reader.
type measured struct {
	took      time.Duration
	chunks    int
	latencies []time.Duration
}

func (m measured) percentile(p float64) time.Duration {
	sorted := slices.Clone(m.latencies)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// floor reads the provider through the forwarder: the least that any service
// between a provider and its windows has to do, in a process of its own as any
// service is.
func floor(tb testing.TB, provider *stream, n, windows int) measured {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(tb.TempDir()), "PACKETBENCH_FLOOR="+provider.URL, "PACKETBENCH_FLOOR_WINDOWS="+strconv.Itoa(windows))
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
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	results := make(chan measured, windows)
	for i := range windows {
		c, _, err := websocket.Dial(ctx, strings.TrimSpace(url), nil)
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = c.CloseNow() }()
		go func() {
			var m measured
			var first time.Time
			for m.chunks < n {
				_, frame, err := c.Read(ctx)
				if err != nil {
					break
				}
				if m.chunks == 0 {
					first = time.Now()
				}
				m.chunks++
				if i == 0 {
					digits, _, _ := bytes.Cut(frame[1:], []byte(" "))
					m.latencies = append(m.latencies, latency(string(digits)))
				}
			}
			m.took = time.Since(first)
			results <- m
		}()
	}
	return slowest(tb, results, n, windows)
}

// forward is the floor's process: when all windows are there it asks the
// provider, reads the answer with a plain SSE client and forwards each delta
// over a plain WebSocket.
func forward(provider string, windows int) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	joined := make(chan *websocket.Conn, windows)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		closed := c.CloseRead(context.Background()).Done()
		joined <- c
		<-closed
	}))
	fmt.Println(server.URL)
	var sockets []*websocket.Conn
	for range windows {
		sockets = append(sockets, <-joined)
	}
	ctx := context.Background()
	resp, err := http.Post(provider+"/v1/chat/completions", "application/json", strings.NewReader("{}"))
	must(err)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || bytes.Equal(data, []byte("[DONE]")) {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		must(json.Unmarshal(data, &chunk))
		if len(chunk.Choices) == 0 || chunk.Choices[0].Delta.Content == "" {
			continue
		}
		frame, err := json.Marshal(chunk.Choices[0].Delta.Content)
		must(err)
		for _, c := range sockets {
			must(c.Write(ctx, websocket.MessageText, frame))
		}
	}
	must(lines.Err())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func latency(s string) time.Duration {
	sent, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - sent)
}

func slowest(tb testing.TB, results <-chan measured, n, windows int) measured {
	tb.Helper()
	var out measured
	for range windows {
		m := <-results
		if m.chunks != n {
			tb.Fatalf("%d of %d deltas arrived", m.chunks, n)
		}
		out.took = max(out.took, m.took)
		if m.latencies != nil {
			out.latencies = m.latencies
		}
	}
	return out
}

// watcher is a window that only counts: it reads the frames of one
// subscription and looks for chunks in them, which costs what the floor's
// reader costs. What the frames hold is checked by the integration tests.
type watcher struct {
	conn *websocket.Conn
	ctx  context.Context
	// mark is how a chunk's envelope names its subject.
	mark []byte
}

// watch opens a window on one conversation from since on.
func watch(tb testing.TB, p *proc, since string, id contract.ConversationID) *watcher {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	tb.Cleanup(cancel)
	conn, _, err := websocket.Dial(ctx, p.run.URL+"/ws", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + p.run.OwnerToken}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	conn.SetReadLimit(-1)
	w := &watcher{conn: conn, ctx: ctx, mark: []byte(`"subject":"api-agent.chunk.` + string(id) + `"`)}
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"subjects":["api-agent.*.%s","conversation.*.%s"],"since":"%s"}}`, id, id, since)
	if err := conn.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
		tb.Fatal(err)
	}
	if _, answer, err := conn.Read(ctx); err != nil || !bytes.Contains(answer, []byte(`"subscription"`)) {
		tb.Fatalf("subscribe: %s, %v", answer, err)
	}
	return w
}

// count reads frames until n chunks have come.
func (w *watcher) count(n int, latencies bool) (m measured) {
	var first time.Time
	for got := 0; got < n; {
		_, frame, err := w.conn.Read(w.ctx)
		if err != nil {
			break
		}
		if bytes.HasPrefix(frame, []byte(`{"jsonrpc":"2.0","method":"gap"`)) {
			break
		}
		for {
			at := bytes.Index(frame, w.mark)
			if at < 0 {
				break
			}
			frame = frame[at+len(w.mark):]
			if got == 0 {
				first = time.Now()
			}
			got++
			if latencies {
				_, data, _ := bytes.Cut(frame, []byte(`"data":"`))
				digits, _, _ := bytes.Cut(data, []byte(" "))
				m.latencies = append(m.latencies, latency(string(digits)))
			}
		}
		m.chunks = got
	}
	m.took = time.Since(first)
	return m
}

func (w *watcher) close() { _ = w.conn.CloseNow() }

// ours runs one turn through the service and follows it in every window.
func ours(tb testing.TB, p *proc, dir string, n, windows int, id contract.ConversationID) measured {
	tb.Helper()
	results := make(chan measured, windows)
	for i := range windows {
		w := watch(tb, p, "new", id)
		go func() {
			defer w.close()
			results <- w.count(n, i == 0)
		}()
	}
	starter := p.window(tb)
	defer starter.close()
	start(tb, starter, dir, id)
	return slowest(tb, results, n, windows)
}

func start(tb testing.TB, w *window, dir string, id contract.ConversationID) {
	tb.Helper()
	var known []contract.Summary
	w.must(contract.MethodListConversations, struct{}{}, &known)
	if slices.ContainsFunc(known, func(s contract.Summary) bool { return s.SessionID == id }) {
		w.must(contract.MethodSend, contract.SendParams{SessionID: id, Message: "go"}, nil)
		return
	}
	w.must(contract.MethodStart, contract.StartParams{
		SessionID: id, Provider: "custom", Model: "m", ProjectPath: dir, InitialMessage: "go", PermissionMode: contract.ModeAuto,
	}, nil)
}

func customEnv(provider *stream) []string {
	return []string{"PACKETBENCH_CUSTOM_COMPAT_URL=" + provider.URL + "/v1"}
}

// rounds is how often each figure is taken; the median is printed.
const rounds = 5

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkDeltas: deltas to 1, 4 and 16 windows, against the floor with as
// many sockets. Goal: at least 0.5 of the floor.
func BenchmarkDeltas(b *testing.B) {
	provider := newStream(b)
	p := serve(b, b.TempDir(), customEnv(provider))
	dir := project(b)
	for _, windows := range []int{1, 4, 16} {
		b.Run(strconv.Itoa(windows), func(b *testing.B) {
			n := 20_000 / windows * 2
			provider.script(n, 0)
			var ratio, rate []float64
			for range rounds {
				f := floor(b, provider, n, windows)
				o := ours(b, p, dir, n, windows, contract.ConversationID(fmt.Sprintf("d-%d-%d", windows, time.Now().UnixNano())))
				ratio = append(ratio, f.took.Seconds()/o.took.Seconds())
				rate = append(rate, float64(n)/o.took.Seconds())
			}
			b.ReportMetric(median(ratio), "of_floor")
			b.ReportMetric(median(rate), "deltas/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPaced: 500 deltas a second to one window. Goal: p50 and p99 at most
// 3 times the floor's.
func BenchmarkPaced(b *testing.B) {
	provider := newStream(b)
	p := serve(b, b.TempDir(), customEnv(provider))
	dir := project(b)
	const n = 1500
	provider.script(n, 2*time.Millisecond)
	var p50, p99, us []float64
	for i := range rounds {
		f := floor(b, provider, n, 1)
		o := ours(b, p, dir, n, 1, contract.ConversationID(fmt.Sprintf("p-%d", i)))
		p50 = append(p50, o.percentile(.5).Seconds()/f.percentile(.5).Seconds())
		us = append(us, float64(o.percentile(.5).Microseconds()))
		p99 = append(p99, o.percentile(.99).Seconds()/f.percentile(.99).Seconds())
	}
	b.ReportMetric(median(p50), "p50_of_floor")
	b.ReportMetric(median(p99), "p99_of_floor")
	b.ReportMetric(median(us), "p50_us")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTranscriptLength: the cost of a delta with 5,000 messages before it
// against 10. Goal: at most 1.5 times.
func BenchmarkTranscriptLength(b *testing.B) {
	provider := newStream(b)
	home, dir := b.TempDir(), project(b)
	seed(b, home, dir, "short", 10, 1)
	seed(b, home, dir, "long", 5000, 1)
	p := serve(b, home, customEnv(provider))
	const n = 20_000
	provider.script(n, 0)
	var ratio []float64
	for range rounds {
		short := ours(b, p, dir, n, 1, "short-0")
		long := ours(b, p, dir, n, 1, "long-0")
		ratio = append(ratio, long.took.Seconds()/short.took.Seconds())
	}
	b.ReportMetric(median(ratio), "long_of_short")
	b.ReportMetric(0, "ns/op")
}

// seed writes count conversations of messages each.
func seed(tb testing.TB, home, dir, prefix string, messages, count int) {
	tb.Helper()
	folder := filepath.Join(home, "conversations")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	for i := range count {
		id := fmt.Sprintf("%s-%d", prefix, i)
		r := contract.Record{
			ID: contract.ConversationID(id), Title: "Conversation " + id, Agent: "api-custom", Mode: "api", Provider: "custom", Model: "m",
			ProjectPath: dir, CreatedAt: time.Now().UnixMilli(), UpdatedAt: time.Now().UnixMilli(), Status: contract.StatusIdle,
			PermissionMode: contract.ModeAuto, SystemPrompt: "system", Owner: contract.TransportInProcess, TurnCounter: uint64(messages / 2),
		}
		for k := range messages {
			m := contract.RecordMessage{ID: fmt.Sprintf("m-%d", k), Role: contract.RoleUser, Content: strings.Repeat("a question ", 20), Timestamp: int64(k)}
			if k%2 == 1 {
				m.Role, m.Content = contract.RoleAssistant, strings.Repeat("an answer ", 60)
				m.Parts = []contract.RecordPart{{Part: contract.Part{Type: contract.PartText, Length: len(m.Content)}}}
			}
			r.Messages = append(r.Messages, m)
		}
		body, err := contract.Marshal(r)
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, id+".json"), body, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// The test binary is also the floor's process and the bare program of
// BenchmarkStart.
func init() {
	if dir := os.Getenv("PACKETBENCH_BARE"); dir != "" {
		bare(dir)
	}
	if provider := os.Getenv("PACKETBENCH_FLOOR"); provider != "" {
		windows, err := strconv.Atoi(os.Getenv("PACKETBENCH_FLOOR_WINDOWS"))
		if err != nil {
			panic(err)
		}
		forward(provider, windows)
	}
}

// bare starts the same node and the same bus and says so.
func bare(dir string) {
	node, err := supervisors.StartNode(supervisors.NodeOptions{})
	if err != nil {
		panic(err)
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		panic(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		panic("the bus did not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		panic(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		panic(err)
	}
	if _, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "events", Subjects: []string{"api-agent.>"}}); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	srv.Shutdown()
	node.StopForce()
	os.Exit(0)
}

// BenchmarkStart: from exec to the ready line with 1,000 stored conversations,
// against a bare program that starts the same node and NATS server. Goal: at
// most 3 times.
func BenchmarkStart(b *testing.B) {
	home, dir := b.TempDir(), project(b)
	seed(b, home, dir, "c", 20, 1000)
	serve(b, home, nil).term() // Builds the index once.
	var ratio, ms []float64
	for range rounds {
		began := time.Now()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(environment(home), "PACKETBENCH_BARE="+b.TempDir())
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
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		bareTook := time.Since(began)
		_ = in.Close()
		_ = cmd.Wait()

		began = time.Now()
		p := serve(b, home, nil)
		took := time.Since(began)
		p.term()
		ratio = append(ratio, took.Seconds()/bareTook.Seconds())
		ms = append(ms, took.Seconds()*1000)
	}
	b.ReportMetric(median(ratio), "of_bare")
	b.ReportMetric(median(ms), "ms")
	b.ReportMetric(0, "ns/op")
}

// rss is the resident memory of a process in MB.
func rss(tb testing.TB, pid int) float64 {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		tb.Fatal(err)
	}
	return kb / 1024
}

// atRest is how long a service has nothing to do before its memory is measured.
const atRest = 3 * restEvery

// BenchmarkMemory: resident memory with 100 open idle conversations, and what
// 10,000 stored ones add. Goals: at most 45 MB and 10 MB.
func BenchmarkMemory(b *testing.B) {
	dir := project(b)
	empty := b.TempDir()
	seed(b, empty, dir, "c", 20, 100)
	p := serve(b, empty, nil)
	w := p.window(b)
	for i := range 100 {
		w.follow("new", contract.ConversationID(fmt.Sprintf("c-%d", i)))
		if i%32 == 31 {
			w = p.window(b) // 64 subscriptions a connection.
		}
	}
	time.Sleep(atRest)
	b.ReportMetric(rss(b, p.cmd.Process.Pid), "MB_100_open")

	one := serve(b, b.TempDir(), nil)
	many := b.TempDir()
	seed(b, many, dir, "c", 6, 10_000)
	serve(b, many, nil).term()
	stored := serve(b, many, nil)
	var list []contract.Summary
	stored.window(b).must(contract.MethodListConversations, struct{}{}, &list)
	if len(list) != 10_000 {
		b.Fatalf("%d conversations listed", len(list))
	}
	one.window(b).must(contract.MethodListConversations, struct{}{}, nil)
	time.Sleep(atRest)
	b.ReportMetric(rss(b, stored.cmd.Process.Pid)-rss(b, one.cmd.Process.Pid), "MB_for_10000_stored")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCatchUp: a window reads 20,000 events (snapshot and subscribe),
// against a NATS client that reads the same events from the stream. Goal: at
// most 2 times.
func BenchmarkCatchUp(b *testing.B) {
	provider := newStream(b)
	p := serve(b, b.TempDir(), customEnv(provider))
	const n = 20_000
	provider.script(n, 0)
	ours(b, p, project(b), n, 1, "long")
	var ratio []float64
	for range rounds {
		began := time.Now()
		nc, err := nats.Connect(p.run.NATSURL, nats.UserInfo(p.run.NATSOwner.User, p.run.NATSOwner.Password))
		if err != nil {
			b.Fatal(err)
		}
		js, err := jetstream.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		cons, err := js.OrderedConsumer(b.Context(), "events", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"api-agent.*.long"}})
		if err != nil {
			b.Fatal(err)
		}
		messages, err := cons.Messages()
		if err != nil {
			b.Fatal(err)
		}
		for got := 0; got < n; got++ {
			if _, err := messages.Next(); err != nil {
				b.Fatal(err)
			}
		}
		direct := time.Since(began)
		messages.Stop()
		nc.Close()

		began = time.Now()
		snapshot := p.window(b)
		snapshot.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "long"}, nil)
		snapshot.close()
		w := watch(b, p, "all", "long")
		if m := w.count(n, false); m.chunks != n {
			b.Fatalf("%d of %d deltas arrived", m.chunks, n)
		}
		ratio = append(ratio, time.Since(began).Seconds()/direct.Seconds())
		w.close()
	}
	b.ReportMetric(median(ratio), "of_direct")
	b.ReportMetric(0, "ns/op")
}
