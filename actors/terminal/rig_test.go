//go:build unix

package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/terminal/screen"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		actAs(os.Getenv(roleVar))
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// logged is one published event.
type logged struct{ subject, body string }

// events is an event log.
type events struct {
	mu   sync.Mutex
	list []logged
	down bool
}

func (e *events) Publish(subject string, _ contract.TurnID, payload []byte) (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return 0, msg.ErrBusDown
	}
	e.list = append(e.list, logged{subject, string(payload)})
	return uint64(len(e.list)), nil
}

func (e *events) Head() uint64 { return 0 }

func (e *events) find(what contract.TerminalWhat) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.list) - 1; i >= 0; i-- {
		if strings.HasPrefix(e.list[i].subject, "terminal."+string(what)+".") {
			return e.list[i].body, true
		}
	}
	return "", false
}

// rig is a node with terminals.
type rig struct {
	t      testing.TB
	node   gen.Node
	ask    func(name gen.Atom, request any) (any, error)
	events events
	opt    Options
	serial int
}

func newRig(t testing.TB, budget time.Duration) *rig {
	t.Helper()
	r := &rig{t: t}
	n := nodetest.Start(t, budget)
	r.node = n
	r.ask = func(name gen.Atom, request any) (any, error) { return nodetest.Call(n, name, request, 10) }
	r.opt = Options{BootID: "boot-test", Home: t.TempDir(), Publisher: &r.events}
	return r
}

func environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "PS1=$ ", "HOME=" + os.TempDir()}
}

func shell(script string) msg.TerminalSpec {
	return msg.TerminalSpec{Command: "sh", Args: []string{"-c", script}, Cwd: os.TempDir(), Env: environ(), Cols: 80, Rows: 24}
}

// open starts a terminal and waits until its program runs.
func (r *rig) open(spec msg.TerminalSpec) gen.Atom {
	r.t.Helper()
	name := r.spawn(msg.TerminalOpen{Spec: spec})
	if d := r.describe(name); d.Failure != nil {
		r.t.Fatalf("not started: %s", d.Failure.Message)
	}
	return name
}

func (r *rig) spawn(open msg.TerminalOpen) gen.Atom {
	r.t.Helper()
	r.serial++
	id := contract.TerminalID(fmt.Sprintf("t%d", r.serial))
	if _, err := r.node.Spawn(New(r.opt), gen.ProcessOptions{}, id, open); err != nil {
		r.t.Fatal(err)
	}
	return msg.TerminalName(id)
}

func (r *rig) call(name gen.Atom, request any) any {
	r.t.Helper()
	reply, err := r.ask(name, request)
	if err != nil {
		r.t.Fatalf("%T: %v", request, err)
	}
	return reply
}

func (r *rig) describe(name gen.Atom) msg.TerminalDescribed {
	r.t.Helper()
	return r.call(name, msg.DescribeTerminal{}).(msg.TerminalDescribed)
}

func (r *rig) close(name gen.Atom) {
	r.t.Helper()
	if done := r.call(name, msg.CloseTerminal{}).(msg.TerminalDone); done.Failure != nil {
		r.t.Fatal(done.Failure.Message)
	}
}

// eventually waits for a condition with a deadline.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// window is a client: it follows the frames with a screen of its own, as the
// page does with xterm.js.
type window struct {
	t    testing.TB
	view msg.TerminalView
	stop chan struct{}
	done chan struct{}

	mu        sync.Mutex
	screen    *screen.Screen
	raw       bytes.Buffer // Output since the first snapshot.
	keepRaw   bool
	next      uint64
	snapshots int
	sizes     []size
	exits     []exit
	mute      bool // No acknowledgements.
	pause     bool // Takes no frames.
	bad       string
}

func (r *rig) attach(name gen.Atom, write bool, change ...func(*window)) *window {
	r.t.Helper()
	wake := make(chan struct{}, 1)
	a := r.call(name, msg.AttachTerminal{Write: write, Wake: wake}).(msg.TerminalAttached)
	if a.Failure != nil {
		r.t.Fatal(a.Failure.Message)
	}
	w := &window{t: r.t, view: a.View, stop: make(chan struct{}), done: make(chan struct{}), keepRaw: true}
	for _, f := range change {
		f(w)
	}
	go w.run(wake)
	r.t.Cleanup(w.close)
	return w
}

func (w *window) close() {
	select {
	case <-w.stop:
		return
	default:
	}
	close(w.stop)
	w.view.Close()
	<-w.done
}

func (w *window) run(wake chan struct{}) {
	defer close(w.done)
	var buf []byte
	var acked uint64
	for {
		select {
		case <-w.stop:
			return
		case <-wake:
		}
		for {
			w.mu.Lock()
			paused := w.pause
			w.mu.Unlock()
			if paused {
				break
			}
			frame := w.view.Frame(buf)
			if frame == nil {
				break
			}
			buf = frame
			w.take(frame)
			w.mu.Lock()
			next, mute := w.next, w.mute
			w.mu.Unlock()
			if !mute && next-acked >= 64<<10 {
				acked = next
				_ = w.view.Take(context.Background(), appendFrame(nil, ack(next)))
			}
		}
	}
}

func (w *window) take(frame []byte) {
	decoded, err := decodeServer(frame)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.bad = err.Error()
		return
	}
	switch f := decoded.(type) {
	case size:
		w.sizes = append(w.sizes, f)
		if w.screen == nil {
			w.screen = screen.New(screen.Options{Cols: int(f.cols), Rows: int(f.rows), Lines: scrollLines, Bytes: scrollBytes})
		}
		w.screen.Resize(int(f.cols), int(f.rows))
	case snapshot:
		w.snapshots++
		w.next = f.offset
		w.screen.Write(f.bytes)
	case output:
		if f.offset != w.next {
			w.bad = fmt.Sprintf("output at %d, want %d", f.offset, w.next)
		}
		if cutRune(f.bytes) != 0 {
			w.bad = "a frame ends inside a character"
		}
		w.next += uint64(len(f.bytes))
		if w.keepRaw {
			w.raw.Write(f.bytes)
		}
		w.screen.Write(f.bytes)
	case exit:
		w.exits = append(w.exits, f)
	}
}

func (w *window) check() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad != "" {
		w.t.Fatal(w.bad)
	}
}

// shows is what the window's screen would be repainted with.
func (w *window) shows() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.screen == nil {
		return ""
	}
	return string(w.screen.Snapshot())
}

func (w *window) waitFor(what string) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%q in the window", what), func() bool { return strings.Contains(w.shows(), what) })
	w.check()
}

func (w *window) waitExit() exit {
	w.t.Helper()
	eventually(w.t, "the exit", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.exits) > 0
	})
	w.check()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exits[len(w.exits)-1]
}

// send sends a frame of the client.
func (w *window) send(f any) error {
	if s, ok := f.(size); ok {
		return w.view.Take(context.Background(), appendSize([]byte{frameResize}, s))
	}
	return w.view.Take(context.Background(), appendFrame(nil, f))
}

func (w *window) keys(text string) {
	w.t.Helper()
	for text != "" {
		n := min(len(text), 64<<10)
		if err := w.send(input(text[:n])); err != nil {
			w.t.Fatal(err)
		}
		text = text[n:]
	}
}

// registry records the groups of a boot below a new data directory.
func (r *rig) registry() *child.Registry {
	r.t.Helper()
	reg, err := child.OpenRegistry(child.Marker{BootID: r.opt.BootID, Home: r.opt.Home})
	if err != nil {
		r.t.Fatal(err)
	}
	r.opt.Register = reg.Register
	return reg
}

func field(t testing.TB, body, key string) any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	return m[key]
}
