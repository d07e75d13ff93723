package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/contract"
)

// door is a service as the commands see it: run.json and the JSON-RPC door,
// with answers that a test gives.
type door struct {
	t    *testing.T
	home string
	url  string

	mu     sync.Mutex
	answer map[contract.Method]func(json.RawMessage) (any, *contract.Failure)
	calls  []contract.Request
	tokens []string
	conn   *websocket.Conn
	seq    uint64
	heard  chan contract.Method
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{t: t, home: t.TempDir(), answer: map[contract.Method]func(json.RawMessage) (any, *contract.Failure){}, heard: make(chan contract.Method, 64)}
	server := httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(server.Close)
	d.url = server.URL
	raw, err := json.Marshal(runFile{PID: os.Getpid(), URL: server.URL, OwnerToken: "owner-token", MonitorToken: "monitor-token", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.home, "run.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	d.on(contract.MethodSubscribe, contract.SubscribeResult{Subscription: "s-1"})
	d.on(contract.MethodListProviders, []contract.ProviderRow{
		{Row: "api-claude", Provider: "anthropic", Label: "Claude (API)", Badge: contract.Badge{Status: contract.BadgeMissingKey, Hint: "No key."}, Models: []contract.Model{{Value: "claude"}}},
		{Row: "api-demo", Provider: "demo", Label: "Offline demo (scripted)", Badge: contract.Badge{Status: contract.BadgeReady}, Models: []contract.Model{{Value: "demo-model"}, {Value: "other"}}},
	})
	return d
}

// on answers a method with a fixed result.
func (d *door) on(m contract.Method, result any) {
	d.does(m, func(json.RawMessage) (any, *contract.Failure) { return result, nil })
}

func (d *door) refuses(m contract.Method, f *contract.Failure) {
	d.does(m, func(json.RawMessage) (any, *contract.Failure) { return nil, f })
}

func (d *door) does(m contract.Method, f func(json.RawMessage) (any, *contract.Failure)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer[m] = f
}

func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	d.mu.Lock()
	d.conn = conn
	d.tokens = append(d.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	d.mu.Unlock()
	for {
		_, frame, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		var req contract.Request
		if err := json.Unmarshal(frame, &req); err != nil {
			d.t.Errorf("frame %q: %v", frame, err)
			return
		}
		d.mu.Lock()
		d.calls = append(d.calls, req)
		f := d.answer[req.Method]
		d.mu.Unlock()
		response := contract.Response{JSONRPC: "2.0", ID: req.ID}
		if f == nil {
			response.Error = contract.Fail(contract.CodeNoMethod, "no method %s", req.Method)
		} else if result, failure := f(req.Params); failure != nil {
			response.Error = failure
		} else if response.Result, err = contract.Marshal(result); err != nil {
			d.t.Error(err)
		}
		d.write(r.Context(), conn, response)
		d.heard <- req.Method
	}
}

func (d *door) write(ctx context.Context, conn *websocket.Conn, v any) {
	frame, err := contract.Marshal(v)
	if err != nil {
		d.t.Error(err)
		return
	}
	_ = conn.Write(ctx, websocket.MessageText, frame) // The client may be gone.
}

// push sends events of conversation id in one frame: "turn name payload", with
// "-" for no turn.
func (d *door) push(id contract.ConversationID, lines ...string) {
	p := contract.EventsParams{Subscription: "s-1"}
	d.mu.Lock()
	conn := d.conn
	for _, line := range lines {
		f := strings.SplitN(line, " ", 3)
		subject, err := contract.Subject(contract.Kind(f[1]), id)
		if err != nil {
			subject, err = contract.ConversationSubject(contract.What(f[1]), id)
		}
		if err != nil {
			d.t.Error(err)
		}
		turn, _ := strings.CutPrefix(f[0], "-")
		d.seq++
		p.Events = append(p.Events, contract.Envelope{Seq: d.seq, Time: time.Unix(0, 0).UTC(), Subject: subject, Turn: contract.TurnID(turn), Data: json.RawMessage(f[2])})
	}
	d.mu.Unlock()
	d.notify(conn, "event", p)
}

func (d *door) notify(conn *websocket.Conn, method string, params any) {
	d.write(context.Background(), conn, map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// drop breaks the connection.
func (d *door) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.conn.CloseNow()
}

// called returns the parameters of every call of m.
func (d *door) called(m contract.Method) (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.calls {
		if r.Method == m {
			all = append(all, string(r.Params))
		}
	}
	return all
}

// wait waits until m was answered.
func (d *door) wait(m contract.Method) {
	limit := time.After(30 * time.Second)
	for {
		select {
		case got := <-d.heard:
			if got == m {
				return
			}
		case <-limit:
			d.t.Errorf("%s was not called", m)
			return
		}
	}
}

// ran is what a command left behind.
type ran struct {
	code     int
	out, err string
}

// command runs a command line against the door.
func (d *door) command(args ...string) ran { return commandIn(d.home, "", args...) }

func commandIn(home, stdin string, args ...string) ran {
	var out, err bytes.Buffer
	g := &Globals{Stdout: &out, Stderr: &err, Stdin: strings.NewReader(stdin), Getenv: func(name string) string {
		if name == "PACKETBENCH_NO_KEYRING" {
			return "1"
		}
		return ""
	}}
	code := run(g, append(slices.Clone(args), "--home", home))
	return ran{code, out.String(), err.String()}
}
