package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// fakeTerminals lets cat run and nothing else.
type fakeTerminals struct{}

func (fakeTerminals) Spec(p contract.OpenTerminalParams) (msg.TerminalSpec, *contract.Failure) {
	if p.Command != "" && p.Command != "cat" {
		return msg.TerminalSpec{}, contract.BadParam("command", "Command '%s' is not allowed. Allowed commands: [cat]", p.Command)
	}
	return msg.TerminalSpec{Command: "cat", Args: p.Args, Cwd: p.Cwd}, nil
}

func (fakeTerminals) Presets() []contract.TerminalPreset {
	return []contract.TerminalPreset{{ID: "cat", Command: "cat", Kind: contract.PresetShell, Args: []string{}}}
}

// fakeView is a terminal's side of a view: frames that are queued, and what a
// client has sent.
type fakeView struct {
	wake chan<- struct{}
	gone chan struct{}
	// hold, while set, makes input wait as a program that does not read.
	hold chan struct{}

	mu     sync.Mutex
	write  bool
	frames [][]byte
	taken  [][]byte
	closed bool
}

func (v *fakeView) push(frames ...string) {
	v.mu.Lock()
	for _, f := range frames {
		v.frames = append(v.frames, []byte(f))
	}
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func (v *fakeView) Frame(buf []byte) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.frames) == 0 {
		return nil
	}
	f := append(buf[:0], v.frames[0]...)
	v.frames = v.frames[1:]
	return f
}

func (v *fakeView) Take(ctx context.Context, frame []byte) error {
	if len(frame) == 0 || frame[0] > 2 {
		return fmt.Errorf("%w: of a test", msg.ErrTerminalFrame)
	}
	if frame[0] != frameAck {
		if !v.write {
			return msg.ErrTerminalReadOnly
		}
		if v.hold != nil {
			select {
			case <-v.hold:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.taken = append(v.taken, bytes.Clone(frame))
	return nil
}

func (v *fakeView) Room(int) bool { return v.hold == nil }

func (v *fakeView) Gone() <-chan struct{} { return v.gone }

func (v *fakeView) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
}

func (v *fakeView) got() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []string
	for _, f := range v.taken {
		out = append(out, string(f))
	}
	return out
}

// fakeHouse is terminals_sup, the terminals and the store's images.
type fakeHouse struct {
	mu      sync.Mutex
	running map[contract.TerminalID]msg.TerminalInfo
	kept    map[contract.TerminalID]msg.TerminalImage
	views   chan *fakeView
	asked   []any
	hold    chan struct{}
	// refuse is why nothing starts.
	refuse *contract.Failure
}

func (r *rig) terminals() *fakeHouse {
	h := &fakeHouse{running: map[contract.TerminalID]msg.TerminalInfo{}, kept: map[contract.TerminalID]msg.TerminalImage{}, views: make(chan *fakeView, 8)}
	r.node.on(msg.TerminalsSup, func(request any) (any, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		e, ok := request.(msg.Ensure)
		if !ok {
			var list msg.ChildList
			for id := range h.running {
				list.Children = append(list.Children, msg.Status{Name: msg.TerminalName(id), PID: gen.PID{ID: 7}})
			}
			return list, nil
		}
		id, _ := msg.TerminalOf(e.Name)
		if _, ok := h.running[id]; ok {
			return msg.Ensured{}, nil
		}
		open := e.Args[0].(msg.TerminalOpen)
		info := msg.TerminalInfo{ID: id, Command: open.Spec.Command, Args: open.Spec.Args, Cwd: open.Spec.Cwd, State: msg.TerminalRunning, PID: 5, Cols: open.Spec.Cols, Rows: open.Spec.Rows}
		if open.Image != nil {
			info = open.Image.Info
			info.State, info.Restored, info.Exit = msg.TerminalEnded, true, &msg.TerminalExit{Code: -1}
		}
		h.running[id] = info
		r.node.on(e.Name, func(request any) (any, error) { return h.ask(r, id, request) })
		return msg.Ensured{Created: true}, nil
	})
	r.node.on(msg.Store, func(request any) (any, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch m := request.(type) {
		case msg.ListTerminalImages:
			list := []msg.TerminalInfo{}
			for _, i := range h.kept {
				list = append(list, i.Info)
			}
			return list, nil
		case msg.LoadTerminalImage:
			if i, ok := h.kept[m.ID]; ok {
				return msg.LoadedTerminalImage{Image: &i}, nil
			}
			return msg.LoadedTerminalImage{}, nil
		case msg.ForgetTerminalImage:
			delete(h.kept, m.ID)
			return msg.Done{}, nil
		}
		return fakeStore(request)
	})
	return h
}

func (h *fakeHouse) ask(r *rig, id contract.TerminalID, request any) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, request)
	switch m := request.(type) {
	case msg.DescribeTerminal:
		if h.refuse != nil {
			delete(h.running, id)
			r.node.on(msg.TerminalName(id), nil)
			return msg.TerminalDescribed{Failure: h.refuse}, nil
		}
		return msg.TerminalDescribed{Info: h.running[id]}, nil
	case msg.RestartTerminal:
		i := h.running[id]
		i.State, i.Exit, i.Restored = msg.TerminalRunning, nil, false
		if m.Spec != nil {
			i.Command, i.Args, i.Cwd = m.Spec.Command, m.Spec.Args, m.Spec.Cwd
		}
		h.running[id] = i
		return msg.TerminalDescribed{Info: i}, nil
	case msg.AttachTerminal:
		v := &fakeView{wake: m.Wake, write: m.Write, gone: make(chan struct{}), hold: h.hold}
		h.views <- v
		return msg.TerminalAttached{View: v}, nil
	case msg.CloseTerminal:
		delete(h.running, id)
		r.node.on(msg.TerminalName(id), nil)
		return msg.TerminalDone{}, nil
	}
	return msg.TerminalDone{}, nil
}

func (r *rig) terminalCall(method, params string) frame {
	r.t.Helper()
	return r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
}

// Opening, listing, sizing, restarting and closing, in the words of interface.md
// 4; what is refused has a code and a sentence.
func TestTerminals_Methods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	at := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	h.kept["old"] = msg.TerminalImage{Info: msg.TerminalInfo{ID: "old", Command: "cat", Cwd: "/p", State: msg.TerminalRunning, PID: 99, Cols: 80, Rows: 24, Started: at}}
	for _, tc := range []struct {
		method, params string
		code           int
		want           string
	}{
		{"list_terminals", `{}`, 0, `[{"terminal_id":"old","command":"cat","args":[],"cwd":"/p","state":"ended","child_pid":0,"cols":80,"rows":24,"title":"","exit_code":-1,"signal":null,"offset":0,"viewers":0,"started":"2026-09-01T00:00:00Z"}]`},
		{"open_terminal", `{"terminal_id":"a.b","cwd":"/p","cols":80,"rows":24}`, contract.CodeBadParams, "terminal_id: "},
		{"open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":0,"rows":24}`, contract.CodeBadParams, "cols: "},
		{"open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":80,"rows":70000}`, contract.CodeBadParams, "rows: "},
		{"open_terminal", `{"terminal_id":"t1","command":"rm","cwd":"/p","cols":80,"rows":24}`, contract.CodeBadParams, "Command 'rm' is not allowed. Allowed commands: [cat]"},
		{"open_terminal", `{"terminal_id":"old","cwd":"/p","cols":80,"rows":24}`, contract.CodeConflict, "old"},
		{"open_terminal", `{"terminal_id":"t1","command":"cat","args":["-u"],"cwd":"/p","cols":80,"rows":24}`, 0, `{"terminal_id":"t1"}`},
		{"open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":80,"rows":24}`, contract.CodeConflict, "t1"},
		{"resize_terminal", `{"terminal_id":"t1","cols":100,"rows":30}`, 0, `{}`},
		{"resize_terminal", `{"terminal_id":"t1","cols":100}`, contract.CodeBadParams, "rows: "},
		{"resize_terminal", `{"terminal_id":"nope","cols":100,"rows":30}`, contract.CodeNotFound, "nope"},
		{"restart_terminal", `{"terminal_id":"nope"}`, contract.CodeNotFound, "nope"},
		{"restart_terminal", `{"terminal_id":"t1","command":"rm"}`, contract.CodeBadParams, "rm"},
		{"close_terminal", `{"terminal_id":"t1"}`, 0, `{}`},
		{"close_terminal", `{"terminal_id":"t1"}`, contract.CodeNotFound, "t1"},
		{"close_terminal", `{"terminal_id":""}`, contract.CodeBadParams, "terminal_id: "},
		{"close_terminal", `{"terminal_id":"old"}`, 0, `{}`},
		{"list_terminals", `{}`, 0, `[]`},
		{"list_terminal_presets", `{}`, 0, `[{"id":"cat","label":"","kind":"shell","command":"cat","args":[],"path":"","default":false}]`},
	} {
		f := r.terminalCall(tc.method, tc.params)
		switch {
		case tc.code == 0 && string(f.Result) != tc.want,
			tc.code != 0 && (f.Error == nil || f.Error.Code != tc.code || !strings.Contains(f.Error.Message, tc.want)):
			t.Errorf("%s %s: %s %+v, want %s", tc.method, tc.params, f.Result, f.Error, tc.want)
		}
	}
	if e := r.log.events; len(e) != 1 || e[0].Subject != "terminal.closed.old" {
		t.Errorf("published %+v", e)
	}
}

// What was left by an earlier start runs again by its command and folder.
func TestTerminals_RestartOfRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	h.kept["old"] = msg.TerminalImage{Info: msg.TerminalInfo{ID: "old", Command: "cat", Args: []string{"-u"}, Cwd: "/p"}}
	var got contract.Terminal
	if f := r.terminalCall("restart_terminal", `{"terminal_id":"old"}`); f.Error != nil || json.Unmarshal(f.Result, &got) != nil || got.State != contract.TerminalRunning {
		t.Fatalf("%s %+v", f.Result, f.Error)
	}
	again, ok := h.asked[len(h.asked)-1].(msg.RestartTerminal)
	if !ok || again.Spec == nil || again.Spec.Command != "cat" || again.Spec.Cwd != "/p" || !slices.Equal(again.Spec.Args, []string{"-u"}) {
		t.Fatalf("asked %+v", h.asked)
	}
	// One of this start keeps its environment: no new spec.
	r.terminalCall("restart_terminal", `{"terminal_id":"old"}`)
	if again, ok := h.asked[len(h.asked)-1].(msg.RestartTerminal); !ok || again.Spec != nil {
		t.Errorf("asked %+v", h.asked)
	}
}

// A program that does not start is a conflict with its sentence; without an id
// one is made.
func TestTerminals_Open(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	var got contract.OpenTerminalResult
	if f := r.terminalCall("open_terminal", `{"cwd":"/p","cols":80,"rows":24}`); f.Error != nil || json.Unmarshal(f.Result, &got) != nil || !contract.ValidID(string(got.TerminalID)) {
		t.Fatalf("%s %+v", f.Result, f.Error)
	}
	h.refuse = contract.Fail(contract.CodeConflict, "Failed to start cat: it is not there.")
	if f := r.terminalCall("open_terminal", `{"cwd":"/p","cols":80,"rows":24}`); f.Error == nil || f.Error.Message != h.refuse.Message {
		t.Errorf("%s %+v", f.Result, f.Error)
	}
}

// screenWindow is a client of the terminal stream.
func (r *rig) screenWindow(id, token string) *window {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	conn, _, err := websocket.Dial(ctx, "ws://"+r.addr+"/ws/terminal/"+id, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	r.t.Cleanup(func() { _ = conn.CloseNow(); cancel() })
	return &window{t: r.t, conn: conn, ctx: ctx}
}

func (w *window) feed(frame string) {
	w.t.Helper()
	if err := w.conn.Write(w.ctx, websocket.MessageBinary, []byte(frame)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) binary() string {
	w.t.Helper()
	kind, b, err := w.conn.Read(w.ctx)
	if err != nil || kind != websocket.MessageBinary {
		w.t.Fatalf("%v %q, %v", kind, b, err)
	}
	return string(b)
}

func (h *fakeHouse) view(t *testing.T) *fakeView {
	t.Helper()
	select {
	case v := <-h.views:
		return v
	case <-time.After(patience):
		t.Fatal("nobody attached")
		return nil
	}
}

// Frames pass both ways as they are and in order; bytes that are no text survive
// (F02); at the end what is left is sent before the farewell (F55).
func TestScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	r.terminalCall("open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":80,"rows":24}`)
	w := r.screenWindow("t1", ownerToken)
	v := h.view(t)
	v.push("\x13\x00\x50\x00\x18", "\x11snapshot")
	v.push("\x10\xc3")
	for _, want := range []string{"\x13\x00\x50\x00\x18", "\x11snapshot", "\x10\xc3"} {
		if got := w.binary(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	big := "\x00" + strings.Repeat("y", 1<<20)
	sent := []string{"\x00a", "\x01\x00\x50\x00\x18", big, "\x02\x00\x00\x00\x00\x00\x00\x00\x07"}
	for _, f := range sent {
		w.feed(f)
	}
	eventually(t, func() bool { return len(v.got()) == len(sent) }, func() string { return fmt.Sprint(len(v.got())) })
	got := v.got()
	got = slices.DeleteFunc(got, func(f string) bool { return f[0] == frameAck })
	if !slices.Equal(got, sent[:3]) {
		t.Errorf("taken out of order")
	}
	v.push("\x10last", "\x12\x00\x00\x00\x00")
	close(v.gone)
	for _, want := range []string{"\x10last", "\x12\x00\x00\x00\x00"} {
		if got := w.binary(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if code := w.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
	eventually(t, func() bool { v.mu.Lock(); defer v.mu.Unlock(); return v.closed }, func() string { return "the view stays" })
}

// While a program does not read, acknowledgements still arrive: it may be
// waiting for them (F57, F58).
func TestScreen_AckPassesInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	h.hold = make(chan struct{})
	r.terminalCall("open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":80,"rows":24}`)
	w := r.screenWindow("t1", ownerToken)
	v := h.view(t)
	for range 32 {
		w.feed("\x00" + strings.Repeat("x", 64<<10))
	}
	w.feed("\x02\x00\x00\x00\x00\x00\x00\x00\x01")
	eventually(t, func() bool { return len(v.got()) == 1 && v.got()[0][0] == frameAck }, func() string { return fmt.Sprint(len(v.got())) })
	close(h.hold)
	eventually(t, func() bool { return len(v.got()) == 33 }, func() string { return fmt.Sprint(len(v.got())) })
}

// A monitor watches and is told that it may not type; the socket stays open.
// Source: mcp-state.md 13.
func TestScreen_Monitor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	r.terminalCall("open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":80,"rows":24}`)
	w := r.screenWindow("t1", monitorToken)
	v := h.view(t)
	if v.write {
		t.Error("a monitor may write")
	}
	for _, f := range []string{"\x00rm", "\x01\x00\x50\x00\x18"} {
		w.feed(f)
		kind, body, err := w.conn.Read(w.ctx)
		if err != nil || kind != websocket.MessageText || string(body) != `{"error":{"code":-32003,"message":"This read-only Monitor cannot invoke that application command."}}` {
			t.Fatalf("%v %q %v", kind, body, err)
		}
	}
	w.feed("\x02\x00\x00\x00\x00\x00\x00\x00\x01") // It may acknowledge.
	v.push("\x10on")
	if got := w.binary(); got != "\x10on" {
		t.Errorf("%q", got)
	}
}

// Who is let in, and what a peer that speaks something else is told.
func TestScreen_Door(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.terminals()
	h.kept["old"] = msg.TerminalImage{Info: msg.TerminalInfo{ID: "old", Command: "cat"}}
	r.terminalCall("open_terminal", `{"terminal_id":"t1","cwd":"/p","cols":80,"rows":24}`)
	for _, tc := range []struct {
		path   string
		header []string
		status int
	}{
		{"/ws/terminal/t1", []string{"Authorization", ""}, http.StatusUnauthorized},
		{"/ws/terminal/t1", []string{"Authorization", "Bearer wrong"}, http.StatusUnauthorized},
		{"/ws/terminal/t1", []string{"Host", "evil.test"}, http.StatusForbidden},
		{"/ws/terminal/t1", []string{"Origin", "http://evil.test"}, http.StatusForbidden},
		{"/ws/terminal/nope", nil, http.StatusNotFound},
		{"/ws/terminal/a.b", nil, http.StatusNotFound},
		{"/ws/terminal/", nil, http.StatusNotFound},
		{"/ws/terminal/t1/x", nil, http.StatusNotFound},
		{"/ws/terminal/t1", nil, http.StatusUpgradeRequired},
	} {
		if status, _, body := r.do("GET", tc.path, "", tc.header...); status != tc.status {
			t.Errorf("%s %v: %d %s", tc.path, tc.header, status, body)
		}
	}
	for _, tc := range []struct {
		kind websocket.MessageType
		text string
	}{{websocket.MessageText, "hello"}, {websocket.MessageBinary, "\x09"}, {websocket.MessageBinary, ""}} {
		w := r.screenWindow("t1", ownerToken)
		if err := w.conn.Write(w.ctx, tc.kind, []byte(tc.text)); err != nil {
			t.Fatal(err)
		}
		if code := w.closed(); code != websocket.StatusUnsupportedData {
			t.Errorf("%q: closed with %d", tc.text, code)
		}
	}
	// What an earlier start left is shown, not 404.
	w := r.screenWindow("old", monitorToken)
	for len(h.views) > 1 {
		<-h.views
	}
	v := h.view(t)
	v.push("\x11old screen")
	if got := w.binary(); got != "\x11old screen" {
		t.Errorf("%q", got)
	}
	// The service stops.
	r.l.close(0, errStopping)
	if code := w.closed(); code != closeStopping {
		t.Errorf("closed with %d", code)
	}
}
