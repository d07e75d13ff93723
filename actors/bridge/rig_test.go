package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"ergo.services/ergo/gen"
	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// patience bounds every wait of these tests.
const patience = 60 * time.Second

const (
	ownerToken   = "owner-token-4711"
	monitorToken = "monitor-token-0815"
	bootID       = "boot-1"
	// secretKey is a credential that must show up nowhere.
	secretKey = "sk-very-secret-123456"
)

func eventually(t testing.TB, ok func() bool, state func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not reached in %s: %s", patience, state())
		}
		time.Sleep(time.Millisecond)
	}
}

// fakeLog is an event log in memory.
type fakeLog struct {
	mu     sync.Mutex
	first  uint64 // Sequence number of events[0].
	events []msg.Logged
	wakers map[*fakeCursor]chan<- struct{}
	// explode makes the next Read panic.
	explode bool
}

func newFakeLog() *fakeLog {
	return &fakeLog{first: 1, wakers: map[*fakeCursor]chan<- struct{}{}}
}

func (l *fakeLog) Head() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + uint64(len(l.events)) - 1
}

func (l *fakeLog) Publish(subject string, turn contract.TurnID, payload []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := l.first + uint64(len(l.events))
	l.events = append(l.events, msg.Logged{Seq: seq, Subject: subject, Envelope: fmt.Appendf(nil,
		`{"seq":%d,"time":"2026-01-02T03:04:05Z","subject":%q,"turn":%q,"data":%s}`, seq, subject, turn, payload)})
	for _, w := range l.wakers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return seq, nil
}

// trim forgets everything before seq.
func (l *fakeLog) trim(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = l.events[seq-l.first:]
	l.first = seq
}

func (l *fakeLog) cursors() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wakers)
}

func (l *fakeLog) Follow(patterns []string, from uint64, wake chan<- struct{}) msg.Cursor {
	head := l.Head()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &fakeCursor{log: l, patterns: patterns, next: from}
	if from > head+1 {
		c.gap = &msg.Gap{From: head + 1, To: from - 1}
		c.next = head + 1
	}
	l.wakers[c] = wake
	return c
}

type fakeCursor struct {
	log      *fakeLog
	patterns []string
	next     uint64
	gap      *msg.Gap
}

func (c *fakeCursor) Read(dst []msg.Logged, maxBytes int) ([]msg.Logged, *msg.Gap) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.log.explode {
		c.log.explode = false
		panic("cursor of a test")
	}
	if g := c.gap; g != nil {
		c.gap = nil
		return dst, g
	}
	if c.next == 0 {
		c.next = c.log.first
	}
	if c.next < c.log.first {
		g := &msg.Gap{From: c.next, To: c.log.first - 1}
		c.next = c.log.first
		return dst, g
	}
	for n := 0; n < maxBytes && c.next < c.log.first+uint64(len(c.log.events)); c.next++ {
		e := c.log.events[c.next-c.log.first]
		if slices.ContainsFunc(c.patterns, func(p string) bool { return contract.Match(p, e.Subject) }) {
			dst = append(dst, e)
			n += len(e.Envelope)
		}
	}
	return dst, nil
}

func (c *fakeCursor) Next() uint64 {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return c.next
}

func (c *fakeCursor) Close() {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	delete(c.log.wakers, c)
}

// fakeNode stands for the node: it answers by name. Only what the doors use is
// there.
type fakeNode struct {
	gen.Node
	mu      sync.Mutex
	answers map[gen.Atom]func(request any) (any, error)
	asked   []asked
	sent    []asked
	work    sync.WaitGroup
}

type asked struct {
	to      gen.Atom
	request any
}

func (n *fakeNode) CallWithTimeout(to any, request any, _ int) (any, error) {
	name := to.(gen.Atom)
	n.mu.Lock()
	n.asked = append(n.asked, asked{name, request})
	f := n.answers[name]
	n.mu.Unlock()
	if f == nil {
		return nil, gen.ErrProcessUnknown
	}
	return f(request)
}

func (n *fakeNode) Send(to any, message any) error {
	name := to.(gen.Atom)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answers[name] == nil {
		return gen.ErrProcessUnknown
	}
	n.sent = append(n.sent, asked{name, message})
	return nil
}

func (n *fakeNode) on(name gen.Atom, f func(request any) (any, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[name] = f
}

func (n *fakeNode) seen(list *[]asked) []asked {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(*list)
}

// fakeProviders answers the picker's questions.
type fakeProviders struct{ err error }

func (p fakeProviders) List(context.Context) ([]contract.ProviderRow, error) {
	return []contract.ProviderRow{{Row: contract.RowDemo}}, p.err
}

func (p fakeProviders) Badge(_ context.Context, probe contract.AuthProbe) (contract.Badge, error) {
	if probe != "anthropic" {
		return contract.Badge{}, fmt.Errorf("unknown provider %q", probe)
	}
	return contract.Badge{Status: "ready"}, p.err
}

// page is a built page.
var page = fstest.MapFS{
	"index.html":         {Data: []byte("<!doctype html><title>the page</title>")},
	"assets/app-1a2b.js": {Data: []byte("export {}")},
	"favicon.svg":        {Data: []byte("<svg/>")},
}

// rig is the doors on a real listener, over a fake node.
type rig struct {
	t    testing.TB
	d    *doors
	log  *fakeLog
	node *fakeNode
	addr string
	logs *lockedBuffer
	l    *listener
	http *http.Client
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, log: newFakeLog(), logs: &lockedBuffer{}, node: &fakeNode{answers: map[gen.Atom]func(any) (any, error){}}}
	o := Options{
		Addr: "127.0.0.1:0", BootID: bootID, OwnerToken: ownerToken, MonitorToken: monitorToken,
		Log: r.log, Publisher: r.log, Providers: fakeProviders{}, Desk: fakeDesk{}, Engines: fakeEngines{}, Terminals: fakeTerminals{}, House: &fakeHouseFacts{}, Page: page, ProjectPath: "/home/p",
		Logger: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	r.d = newDoors(o)
	r.d.node = r.node
	r.node.answers[msg.ViewersSup] = r.ensureViewer
	r.node.answers[msg.Store] = fakeStore
	ln, err := net.Listen("tcp", o.Addr)
	if err != nil {
		t.Fatal(err)
	}
	r.addr = ln.Addr().String()
	_, port, _ := net.SplitHostPort(r.addr)
	r.d.guard.Store(&guard{owner: ownerToken, monitor: monitorToken, port: port})
	r.l = newListener(r.d, ln)
	r.node.work.Go(func() { _ = r.l.Start() })
	transport := &http.Transport{}
	r.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.l.close(0, errRestart)
		r.node.work.Wait()
		eventually(t, func() bool { return r.d.connected.Load() == 0 }, func() string { return "connections stay" })
		if n := r.log.cursors(); n != 0 {
			t.Errorf("%d cursors were not closed", n)
		}
		for _, secret := range []string{ownerToken, monitorToken, secretKey} {
			if strings.Contains(r.logs.String(), secret) {
				t.Errorf("the log tells a secret:\n%s", r.logs.String())
			}
		}
	})
	return r
}

// ensureViewer runs a connection as its actor's meta process would.
func (r *rig) ensureViewer(request any) (any, error) {
	c := request.(msg.Ensure).Args[0].(connection)
	r.node.work.Go(c.run)
	return msg.Ensured{Created: true}, nil
}

// fakeStore knows the conversations c1 and c2.
func fakeStore(request any) (any, error) {
	switch m := request.(type) {
	case msg.GetSummary:
		return msg.FoundSummary{Found: m.ID == "c1" || m.ID == "c2"}, nil
	case msg.ListConversations:
		return []contract.Summary{}, nil
	case msg.GetSettings, msg.PatchSettings:
		return msg.Settings{}, nil
	case msg.CountConversations:
		return 2, nil
	case msg.ListTerminalImages:
		return []msg.TerminalInfo{}, nil
	case msg.LoadTerminalImage:
		return msg.LoadedTerminalImage{}, nil
	case msg.ListAudit:
		return []contract.AuditEntry(nil), nil
	case msg.ListProfiles, msg.SaveProfile, msg.CloneProfile, msg.DeleteProfile, msg.DefaultProfile:
		return msg.ProfileList{Profiles: contract.Profiles{Profiles: []contract.Profile{}, Default: fmt.Sprintf("%T", m)}}, nil
	case msg.Search:
		return contract.SearchResult{Hits: []contract.SearchHit{{Title: m.Params.Query}}, Complete: true}, nil
	}
	return msg.Done{}, nil
}

// answers is one response or notification.
type frame struct {
	ID     json.RawMessage   `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *contract.Failure `json:"error"`
	Method string            `json:"method"`
	Params struct {
		Subscription string              `json:"subscription"`
		Events       []contract.Envelope `json:"events"`
		From         uint64              `json:"from"`
		To           uint64              `json:"to"`
	} `json:"params"`
}

// do sends one HTTP request with the owner's token unless the header says
// otherwise, and returns status, header and body.
func (r *rig) do(method, path, body string, header ...string) (int, http.Header, string) {
	r.t.Helper()
	q, err := http.NewRequest(method, "http://"+r.addr+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+ownerToken)
	if method == http.MethodPost {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			q.Host = header[i+1]
		case header[i+1] == "":
			q.Header.Del(header[i])
		default:
			q.Header.Set(header[i], header[i+1])
		}
	}
	a, err := r.http.Do(q)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = a.Body.Close() }()
	out, err := io.ReadAll(a.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a.StatusCode, a.Header, string(out)
}

// rpc makes one call over HTTP.
func (r *rig) rpc(body string, header ...string) frame {
	r.t.Helper()
	status, _, out := r.do(http.MethodPost, "/rpc", body, header...)
	var f frame
	if err := json.Unmarshal([]byte(out), &f); err != nil || status != http.StatusOK {
		r.t.Fatalf("%s: %d %s", body, status, out)
	}
	return f
}

// window is a WebSocket client.
type window struct {
	t    testing.TB
	conn *websocket.Conn
	ctx  context.Context
	id   int
}

func (r *rig) window(token string, query ...string) *window {
	r.t.Helper()
	return openWindow(r.t, r.addr, token, query...)
}

func openWindow(t testing.TB, addr, token string, query ...string) *window {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	conn, _, err := websocket.Dial(ctx, "ws://"+addr+"/ws"+strings.Join(query, ""), &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = conn.CloseNow(); cancel() })
	return &window{t: t, conn: conn, ctx: ctx}
}

func (w *window) send(text string) {
	w.t.Helper()
	if err := w.conn.Write(w.ctx, websocket.MessageText, []byte(text)); err != nil {
		w.t.Fatalf("send %.80s: %v", text, err)
	}
}

func (w *window) raw() string {
	w.t.Helper()
	_, b, err := w.conn.Read(w.ctx)
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return string(b)
}

func (w *window) next() frame {
	w.t.Helper()
	b := w.raw()
	var f frame
	if err := json.Unmarshal([]byte(b), &f); err != nil {
		w.t.Fatalf("%.200s: %v", b, err)
	}
	return f
}

// call makes a call and returns its answer; nothing else may come before it.
func (w *window) call(method, params string) frame {
	w.t.Helper()
	w.id++
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.id, method, params))
	f := w.next()
	if string(f.ID) != strconv.Itoa(w.id) {
		w.t.Fatalf("%s %s: answer %+v", method, params, f)
	}
	return f
}

// subscribe returns the subscription's id and the head.
func (w *window) subscribe(params string) contract.SubscribeResult {
	w.t.Helper()
	f := w.call("subscribe", params)
	var s contract.SubscribeResult
	if f.Error != nil || json.Unmarshal(f.Result, &s) != nil || s.Subscription == "" {
		w.t.Fatalf("subscribe %s: %+v", params, f)
	}
	return s
}

// events reads events of one subscription until it has n.
func (w *window) events(sub string, n int) (seqs []uint64) {
	w.t.Helper()
	for len(seqs) < n {
		f := w.next()
		if f.Method != "event" || f.Params.Subscription != sub || len(f.Params.Events) == 0 {
			w.t.Fatalf("after %d events: %+v", len(seqs), f)
		}
		for _, e := range f.Params.Events {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// closed reads to the end and returns the close code.
func (w *window) closed() websocket.StatusCode {
	for {
		if _, _, err := w.conn.Read(w.ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (r *rig) publish(conversation string, n int) {
	r.t.Helper()
	subject, err := contract.Subject(contract.KindChunk, contract.ConversationID(conversation))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range n {
		if _, err := r.log.Publish(subject, "t-1", strconv.AppendQuote(nil, strconv.Itoa(i))); err != nil {
			r.t.Fatal(err)
		}
	}
}

// checkRun checks that seqs is from, from+1 and so on.
func checkRun(t testing.TB, seqs []uint64, from uint64, n int) {
	t.Helper()
	if len(seqs) != n {
		t.Fatalf("%d events, want %d", len(seqs), n)
	}
	for i, s := range seqs {
		if s != from+uint64(i) {
			t.Fatalf("event %d has number %d, want %d", i, s, from+uint64(i))
		}
	}
}
