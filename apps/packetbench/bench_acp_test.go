//go:build bench && linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/contract"
)

// The test binary is also the engine of these benchmarks and the process of
// their floor.
func init() {
	switch os.Getenv("PACKETBENCH_BENCH_ENGINE") {
	case "engine":
		actEngine(os.Stdin, os.Stdout)
		os.Exit(0)
	case "floor":
		forwardEngine()
	}
}

// engineFrame is what both ends of the benchmarks read of a frame.
type engineFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"update"`
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	} `json:"params"`
}

// actEngine is an engine whose prompt is "N PACE": it answers with N chunks, one
// every PACE, each holding the time at which it was written.
func actEngine(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	sessions := 0
	for lines.Scan() {
		var f engineFrame
		if json.Unmarshal(lines.Bytes(), &f) != nil || f.ID == nil {
			continue
		}
		result := `{}`
		switch f.Method {
		case "initialize":
			result = `{"protocolVersion":1,"agentCapabilities":{}}`
		case "session/new":
			sessions++
			result = fmt.Sprintf(`{"sessionId":"s-%d"}`, sessions)
		case "session/prompt":
			count, pause, _ := strings.Cut(f.Params.Prompt[0].Text, " ")
			n, _ := strconv.Atoi(count)
			pace, _ := time.ParseDuration(pause)
			next := time.Now()
			for range n {
				next = next.Add(pace)
				time.Sleep(time.Until(next))
				fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d "}}}}`+"\n", f.Params.SessionID, time.Now().UnixNano())
			}
			result = `{"stopReason":"end_turn"}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", f.ID, result)
	}
}

func benchEngine() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PACKETBENCH_BENCH_ENGINE=engine")
	return cmd
}

// forwardEngine is the floor's process: the same engine, asked with the same
// requests, read with a plain line reader and forwarded over a plain WebSocket.
func forwardEngine() {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	joined := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		closed := c.CloseRead(context.Background()).Done()
		joined <- c
		<-closed
	}))
	cmd := benchEngine()
	in, err := cmd.StdinPipe()
	must(err)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	fmt.Println(server.URL)
	window := <-joined
	for id, request := range []string{
		`"method":"initialize","params":{"protocolVersion":1}`, `"method":"session/new","params":{"cwd":"/","mcpServers":[]}`,
		`"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"` + os.Getenv("PACKETBENCH_BENCH_PROMPT") + `"}]}`,
	} {
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", id+1, request)
		must(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var f engineFrame
		must(json.Unmarshal(lines.Bytes(), &f))
		if f.Method == "" {
			if string(f.ID) == "3" {
				break
			}
			continue
		}
		frame, err := json.Marshal(f.Params.Update.Content.Text)
		must(err)
		must(window.Write(context.Background(), websocket.MessageText, frame))
	}
	must(in.Close())
	must(cmd.Wait())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// engineFloor reads one paced stream through the forwarder.
func engineFloor(tb testing.TB, n int, prompt string) measured {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(tb.TempDir()), "PACKETBENCH_BENCH_ENGINE=floor", "PACKETBENCH_BENCH_PROMPT="+prompt)
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
	c, _, err := websocket.Dial(ctx, strings.TrimSpace(url), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	var m measured
	for m.chunks < n {
		_, frame, err := c.Read(ctx)
		if err != nil {
			tb.Fatalf("%d of %d chunks: %v", m.chunks, n, err)
		}
		m.chunks++
		m.latencies = append(m.latencies, latency(strings.Trim(string(frame), `" `)))
	}
	return m
}

// BenchmarkACP_Paced: 500 chunks a second of an engine to one window, against
// the same engine read by the floor. Goal of issue 4: p50 and p99 at most 3
// times the floor's.
func BenchmarkACP_Paced(b *testing.B) {
	const n = 1500
	prompt := strconv.Itoa(n) + " 2ms"
	p := serve(b, b.TempDir(), nil)
	starter := p.window(b)
	starter.must(contract.MethodSetSettings, map[string]any{"app": map[string]any{contract.SettingEngines: []engineSpec{
		{Name: "paced", Command: os.Args[0], Args: []string{}, Env: map[string]string{"PACKETBENCH_BENCH_ENGINE": "engine"}},
	}}}, nil)
	dir := project(b)
	ours := func(id contract.ConversationID) measured {
		w := watch(b, p, "new", id)
		defer w.close()
		results := make(chan measured, 1)
		go func() { results <- w.count(n, true) }()
		starter.must(contract.MethodStart, contract.StartParams{
			SessionID: id, Provider: "acp-paced", ProjectPath: dir, InitialMessage: prompt, PermissionMode: contract.ModeAuto,
		}, nil)
		return slowest(b, results, n, 1)
	}
	var p50, p99, us []float64
	for i := range rounds {
		f := engineFloor(b, n, prompt)
		o := ours(contract.ConversationID(fmt.Sprintf("a-%d", i)))
		p50 = append(p50, o.percentile(.5).Seconds()/f.percentile(.5).Seconds())
		p99 = append(p99, o.percentile(.99).Seconds()/f.percentile(.99).Seconds())
		us = append(us, float64(o.percentile(.5).Microseconds()))
	}
	b.ReportMetric(median(p50), "p50_of_floor")
	b.ReportMetric(median(p99), "p99_of_floor")
	b.ReportMetric(median(us), "p50_us")
	b.ReportMetric(0, "ns/op")
}
