package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// The same frames over the socket and over HTTP: batches, notifications, ids.
func TestFrames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	w := r.window(ownerToken)
	for _, tc := range []struct{ frame, want string }{
		{`{"jsonrpc":"2.0","id":"x y","method":"list_audit"}`, `{"jsonrpc":"2.0","id":"x y","result":[]}`},
		{`{"jsonrpc":"2.0","id":1.50,"method":"list_audit"}`, `{"jsonrpc":"2.0","id":1.50,"result":[]}`},
		{`{"jsonrpc":"2.0","id":null,"method":"list_audit"}`, `{"jsonrpc":"2.0","id":null,"result":[]}`},
		{
			`[{"jsonrpc":"2.0","id":1,"method":"list_audit"},{"jsonrpc":"2.0","method":"list_audit"},{"jsonrpc":"2.0","id":2,"method":"list_keys"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":[]},{"jsonrpc":"2.0","id":2,"result":[]}]`,
		},
		{`[{"jsonrpc":"2.0","id":1,"method":"list_audit"}]`, `[{"jsonrpc":"2.0","id":1,"result":[]}]`},
		{`[1]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A request is an object with jsonrpc, method, params and id."}}]`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A batch must hold at least one request."}}`},
		{`nonsense`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"The request is not JSON."}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"nope"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Unknown method: nope"}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"<b>&"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Unknown method: <b>&"}}`},
	} {
		w.send(tc.frame)
		if got := w.raw(); got != tc.want {
			t.Errorf("socket %s: %s", tc.frame, got)
		}
		if status, h, got := r.do("POST", "/rpc", tc.frame); got != tc.want || status != http.StatusOK || h.Get("Content-Type") != "application/json" {
			t.Errorf("call %s: %d %s", tc.frame, status, got)
		}
	}
	// Nothing but notifications: no answer at all.
	for _, silent := range []string{`{"jsonrpc":"2.0","method":"list_audit"}`, `[{"jsonrpc":"2.0","method":"nope"},{"jsonrpc":"2.0","method":"list_audit"}]`} {
		w.send(silent)
		if status, _, got := r.do("POST", "/rpc", silent); status != http.StatusNoContent || got != "" {
			t.Errorf("%s: %d %q", silent, status, got)
		}
	}
	if f := w.call("list_audit", `{}`); f.Error != nil {
		t.Error(f.Error)
	}
}

// F79: a body that another site's page may send without asking is refused.
func TestRPC_ContentType(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for kind, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON": 200,
		"text/plain": 403, "application/x-www-form-urlencoded": 403, "multipart/form-data; boundary=x": 403, "": 403, "text/json": 403, "application/json, text/plain": 403, ";": 403,
	} {
		if status, _, _ := r.do("POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"list_audit"}`, "Content-Type", kind); status != want {
			t.Errorf("%q: %d, want %d", kind, status, want)
		}
	}
}

func TestLimits_FrameBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if r.d.frameMost != 16<<20 {
		t.Errorf("interface.md 4 says 16 MiB, not %d", r.d.frameMost)
	}
	if raceDetector { // Which takes half a minute for frames of that size.
		r.d.frameMost = 1 << 20
	}
	most := int(r.d.frameMost)
	fill := func(n int) string { // A request of exactly n bytes.
		head, tail := `{"jsonrpc":"2.0","id":1,"method":"list_audit","params":{"x":"`, `"}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	if f := r.rpc(fill(most)); f.Error != nil {
		t.Errorf("largest call: %+v", f.Error)
	}
	status, _, body := r.do("POST", "/rpc", fill(most+1))
	var f frame
	if json.Unmarshal([]byte(body), &f) != nil || status != http.StatusRequestEntityTooLarge || f.Error == nil || f.Error.Code != contract.CodeOverLimit || !strings.Contains(f.Error.Message, " MiB") {
		t.Errorf("too large a call: %d %s", status, body)
	}
	w := r.window(ownerToken)
	w.send(fill(most))
	if f := w.next(); f.Error != nil {
		t.Errorf("largest frame: %+v", f.Error)
	}
	_ = w.conn.Write(w.ctx, websocket.MessageText, []byte(fill(most+1))) // May fail, since the peer closes.
	if code := w.closed(); code != websocket.StatusMessageTooBig {
		t.Errorf("too large a frame: closed with %d", code)
	}
}

func TestLimits_Subscriptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.window(ownerToken)
	var last contract.SubscribeResult
	for range config.MaxSubscriptions {
		last = w.subscribe(`{"subjects":["ops.>"]}`)
	}
	for range 3 {
		if f := w.call("subscribe", `{"subjects":["ops.>"]}`); f.Error == nil || f.Error.Code != contract.CodeOverLimit {
			t.Fatalf("%+v", f)
		}
	}
	if f := w.call("unsubscribe", fmt.Sprintf(`{"subscription":%q}`, last.Subscription)); f.Error != nil {
		t.Fatal(f.Error)
	}
	if f := w.call("unsubscribe", fmt.Sprintf(`{"subscription":%q}`, last.Subscription)); f.Error == nil || f.Error.Code != contract.CodeNotFound {
		t.Fatalf("ended twice: %+v", f)
	}
	w.subscribe(`{"subjects":["ops.>"]}`)
	eventually(t, func() bool { return r.log.cursors() == config.MaxSubscriptions }, func() string { return fmt.Sprint(r.log.cursors()) })
	for _, bad := range []string{`{}`, `{"subjects":[]}`, `{"subjects":["a..b"]}`, `{"subjects":["command.get_tree "]}`, `{"subjects":["` + strings.Join(slices.Repeat([]string{"ops.x"}, 65), `","`) + `"]}`, `{"subjects":["ops.>"],"since":"old"}`, `{"subjects":["ops.>"],"since":-1}`} {
		if f := w.call("subscribe", bad); f.Error == nil || f.Error.Code != contract.CodeBadParams {
			t.Errorf("%.60s: %+v", bad, f)
		}
	}
}

// The 257th request in flight is refused; the refusal itself takes no place,
// and every place comes back.
func TestLimits_InFlight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := make(chan struct{})
	var inside atomic.Int64
	r.node.on(msg.Inspect, func(any) (any, error) { inside.Add(1); <-gate; return contract.Tree{}, nil })
	w := r.window(ownerToken)
	other := r.window(ownerToken)
	one := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"get_tree"}`, id) }
	for i := range config.MaxRequestsInFlight - 2 {
		w.send(one(i))
	}
	w.send("[" + one(254) + "," + `{"jsonrpc":"2.0","method":"get_tree"}` + "]") // Two places, one answer.
	eventually(t, func() bool { return inside.Load() >= config.MaxRequestsInFlight-1 }, func() string { return fmt.Sprint(inside.Load()) })
	for i := range 5 {
		w.send(one(1000 + i))
		if f := w.next(); f.Error == nil || f.Error.Code != contract.CodeOverLimit || string(f.ID) != fmt.Sprint(1000+i) {
			t.Fatalf("%+v", f)
		}
	}
	w.send(`{"jsonrpc":"2.0","method":"get_tree"}`) // A notification over the limit is dropped without a word.
	w.send("[" + one(2000) + "," + one(2001) + "]")
	if b := w.raw(); strings.Count(b, fmt.Sprint(contract.CodeOverLimit)) != 2 || b[0] != '[' {
		t.Fatalf("%s", b)
	}
	// What is pushed and what is wrong take no place.
	w.subscribe(`{"subjects":["ops.>"]}`)
	w.send(`nonsense`)
	if f := w.next(); f.Error == nil || f.Error.Code != contract.CodeParse {
		t.Fatalf("%+v", f)
	}
	// Nor do they cost another window anything.
	if f := other.call("get_session", `{}`); f.Error != nil {
		t.Fatal(f.Error)
	}
	close(gate)
	got := map[string]bool{}
	for range config.MaxRequestsInFlight - 1 {
		b := strings.Trim(w.raw(), "[]")
		var f frame
		if json.Unmarshal([]byte(b), &f) != nil || len(f.Result) == 0 || got[string(f.ID)] {
			t.Fatalf("%s", b)
		}
		got[string(f.ID)] = true
	}
	for i := range config.MaxRequestsInFlight {
		w.send(one(i))
	}
	for range config.MaxRequestsInFlight {
		if f := w.next(); f.Error != nil {
			t.Fatalf("places were not given back: %+v", f)
		}
	}
}

func TestSubscribe_Since(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, since string
		trim        uint64 // The oldest event held.
		gap         [2]uint64
		from        uint64 // The first event that arrives.
	}{
		{name: "absent", since: ``, from: 11},
		{name: "new", since: `,"since":"new"`, from: 11},
		{name: "all", since: `,"since":"all"`, from: 1},
		{name: "zero", since: `,"since":0`, from: 1},
		{name: "number", since: `,"since":4`, from: 4},
		{name: "head", since: `,"since":10`, from: 10},
		{name: "behind the head", since: `,"since":11`, from: 11},
		{name: "all of what is held", since: `,"since":"all"`, trim: 6, from: 6},
		{name: "forgotten", since: `,"since":2`, trim: 6, gap: [2]uint64{2, 5}, from: 6},
		{name: "of an earlier log", since: `,"since":100`, gap: [2]uint64{11, 99}, from: 11},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.publish("c1", 10)
			if tc.trim > 0 {
				r.log.trim(tc.trim)
			}
			w := r.window(monitorToken)
			s := w.subscribe(`{"subjects":["api-agent.*.c1"]` + tc.since + `}`)
			if s.Head != 10 {
				t.Fatalf("head %d", s.Head)
			}
			r.publish("c2", 1) // Not ours, yet it has a number.
			r.publish("c1", 2)
			if tc.gap[1] > 0 {
				if f := w.next(); f.Method != "gap" || f.Params.Subscription != s.Subscription || f.Params.From != tc.gap[0] || f.Params.To != tc.gap[1] {
					t.Fatalf("%+v", f)
				}
			}
			var want []uint64
			for seq := tc.from; seq <= 13; seq++ {
				if seq != 11 {
					want = append(want, seq)
				}
			}
			if got := w.events(s.Subscription, len(want)); !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		})
	}
}

// An envelope on the wire, to the byte; several in a frame when they wait.
func TestSubscribe_Wire(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish("c1", 2)
	w := r.window(ownerToken)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"subjects":[">"],"since":"all"}}`)
	if got := w.raw(); got != `{"jsonrpc":"2.0","id":1,"result":{"subscription":"s1","head":2}}` {
		t.Fatal(got)
	}
	if got := w.raw(); got != `{"jsonrpc":"2.0","method":"event","params":{"subscription":"s1","events":[`+
		`{"seq":1,"time":"2026-01-02T03:04:05Z","subject":"api-agent.chunk.c1","turn":"t-1","data":"0"},`+
		`{"seq":2,"time":"2026-01-02T03:04:05Z","subject":"api-agent.chunk.c1","turn":"t-1","data":"1"}]}}` {
		t.Fatal(got)
	}
}

// A batch with subscriptions is answered as one, and before their first event.
func TestSubscribe_InBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish("c1", 3)
	w := r.window(ownerToken)
	w.send(`[{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"subjects":[">"],"since":"all"}},{"jsonrpc":"2.0","id":2,"method":"list_audit"},` +
		`{"jsonrpc":"2.0","id":3,"method":"subscribe","params":{"subjects":[">"],"since":2}},{"jsonrpc":"2.0","id":4,"method":"unsubscribe","params":{"subscription":"s2"}},` +
		`{"jsonrpc":"2.0","method":"subscribe","params":{"subjects":["ops.>"]}},{"jsonrpc":"2.0","id":5,"method":"subscribe","params":{"subjects":[]}}]`)
	var answers []frame
	if b := w.raw(); json.Unmarshal([]byte(b), &answers) != nil || len(answers) != 5 || string(answers[0].Result) != `{"subscription":"s1","head":3}` ||
		string(answers[3].Result) != `{}` || answers[4].Error == nil {
		t.Fatalf("%s", b)
	}
	checkRun(t, w.events("s1", 3), 1, 3)
	r.publish("c1", 1)
	checkRun(t, w.events("s1", 1), 4, 1)
	eventually(t, func() bool { return r.log.cursors() == 2 }, func() string { return fmt.Sprint(r.log.cursors()) })
}

func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.window(ownerToken)
	a, b := w.subscribe(`{"subjects":["api-agent.*.c1"]}`), w.subscribe(`{"subjects":["api-agent.*.c2"]}`)
	r.publish("c1", 1)
	w.events(a.Subscription, 1)
	if f := w.call("unsubscribe", fmt.Sprintf(`{"subscription":%q}`, a.Subscription)); string(f.Result) != `{}` {
		t.Fatalf("%+v", f)
	}
	r.publish("c1", 5)
	r.publish("c2", 1)
	if got := w.events(b.Subscription, 1); got[0] != 7 {
		t.Fatalf("%v", got)
	}
	for _, bad := range []string{`{}`, `{"subscription":"s99"}`, `{"subscription":5}`} {
		if f := w.call("unsubscribe", bad); f.Error == nil {
			t.Errorf("%s: %+v", bad, f)
		}
	}
}

// F42, F45, F47: three windows see 20,000 events exactly once and in order while
// a fourth reads nothing; it catches up when it wakes, without loss.
func TestEvents_SlowReaderCostsNobody(t *testing.T) {
	t.Parallel()
	n := 20_000
	if raceDetector {
		n = 4000
	}
	r := newRig(t)
	slow := r.window(ownerToken)
	frozen := slow.subscribe(`{"subjects":[">"]}`)
	var readers sync.WaitGroup
	var windows []*window
	var subs []contract.SubscribeResult
	for range 3 {
		w := r.window(monitorToken)
		windows = append(windows, w)
		subs = append(subs, w.subscribe(`{"subjects":["api-agent.*.c1"]}`))
	}
	got := make([][]uint64, 3)
	for i, w := range windows {
		readers.Go(func() {
			for len(got[i]) < n {
				_, b, err := w.conn.Read(w.ctx)
				var f frame
				if err != nil || json.Unmarshal(b, &f) != nil || f.Params.Subscription != subs[i].Subscription {
					t.Errorf("window %d after %d: %v", i, len(got[i]), err)
					return
				}
				for _, e := range f.Params.Events {
					got[i] = append(got[i], e.Seq)
				}
			}
		})
	}
	began := time.Now()
	subject, _ := contract.Subject(contract.KindChunk, "c1")
	text := []byte(`"` + strings.Repeat("x", 400) + `"`)
	for range n {
		if _, err := r.log.Publish(subject, "t-1", text); err != nil {
			t.Fatal(err)
		}
	}
	readers.Wait()
	t.Logf("3 x %d events of %d bytes in %s", n, len(r.log.events[0].Envelope), time.Since(began))
	for i := range got {
		checkRun(t, got[i], 1, n)
	}
	_, _, metrics := r.do("GET", "/metrics", "")
	if !strings.Contains(metrics, "packetbench_viewers 4") || !raceDetector && strings.Contains(metrics, "packetbench_viewer_lag_events 0\n") {
		t.Error("the figures do not show the slow window")
	}
	checkRun(t, slow.events(frozen.Subscription, n), 1, n)
	// An answer does not wait behind a backlog that is through.
	if f := slow.call("get_session", `{}`); f.Error != nil {
		t.Fatal(f.Error)
	}
}

// F38: a dropped socket comes back with its last number and misses nothing.
func TestEvents_DroppedSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for range 3000 {
			select {
			case <-stop:
				return
			default:
				r.publish("c1", 1)
			}
		}
	})
	defer writer.Wait()
	defer close(stop)
	var all []uint64
	since := `"all"`
	for len(all) < 3000 {
		w := r.window(ownerToken)
		s := w.subscribe(`{"subjects":["api-agent.*.c1"],"since":` + since + `}`)
		all = append(all, w.events(s.Subscription, min(700, 3000-len(all)))...)
		since = fmt.Sprint(all[len(all)-1] + 1)
		_ = w.conn.CloseNow() // Without a word.
	}
	checkRun(t, all, 1, len(all))
}

// The answer to a subscribe comes before its first event while events pour in.
func TestEvents_AnswerFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Microsecond): // Leaves some of the processor to the readers.
				r.publish("c1", 1)
			}
		}
	})
	for range 30 {
		w := r.window(ownerToken)
		s := w.subscribe(`{"subjects":["api-agent.*.c1"]}`) // Fails if an event is first.
		if got := w.events(s.Subscription, 1); got[0] != s.Head+1 {
			t.Errorf("head %d, first event %d", s.Head, got[0])
		}
		_ = w.conn.CloseNow()
	}
	close(stop)
	writer.Wait()
}

// Requests without pause do not keep a window's own events from it.
func TestEvents_NotStarvedByRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.window(ownerToken)
	s := w.subscribe(`{"subjects":[">"]}`)
	done := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if w.conn.Write(w.ctx, websocket.MessageText, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"get_session"}`, i)) != nil {
				return
			}
		}
	})
	r.publish("c1", 50)
	seen := 0
	for seen < 50 {
		if f := w.next(); f.Method == "event" && f.Params.Subscription == s.Subscription {
			seen += len(f.Params.Events)
		}
	}
	close(done)
	_ = w.conn.CloseNow()
	sender.Wait()
}

// busySink has another answer to write after each one, until it is given events.
type busySink struct {
	deadSink
	s       *session
	answers int
}

func (k *busySink) send(context.Context, []byte) error {
	if k.answers++; k.answers > 10_000 {
		return errDead
	}
	k.s.put(item{frame: []byte("{}")})
	return nil
}

func (k *busySink) events(context.Context, string, []msg.Logged) error {
	k.s.cancel(errRestart)
	return nil
}

func TestSession_EventsBetweenAnswers(t *testing.T) {
	t.Parallel()
	l := newFakeLog()
	s := newDoors(Options{Log: l}).newSession(contract.ClientOwner, "websocket", "")
	s.sink = &busySink{s: s}
	f, _, failure := s.subscribe(contract.SubscribeParams{Subjects: []string{">"}})
	if failure != nil {
		t.Fatal(failure)
	}
	if _, err := l.Publish("ops.restart", "", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	s.put(item{frame: []byte("{}"), add: []*follow{f}})
	if err := s.write(); !errors.Is(err, errRestart) {
		t.Fatalf("%v: the events waited for the answers to end", err)
	}
}

// Commands of one window to one conversation reach it in the order of their
// frames (F54); one to another conversation waits for none of them.
func TestRequests_Order(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mu sync.Mutex
	var got []int
	gate := make(chan struct{})
	r.node.on("conversation:c1", func(request any) (any, error) {
		var p struct{ N int }
		if err := json.Unmarshal(request.(msg.Command).Params, &p); err != nil {
			return nil, err
		}
		mu.Lock()
		got = append(got, p.N)
		mu.Unlock()
		if p.N == 0 { // Lies in the mailbox and is not answered yet.
			<-gate
		}
		return msg.Reply{}, nil
	})
	r.node.on("conversation:c2", func(any) (any, error) { return msg.Reply{}, nil })
	w := r.window(ownerToken)
	const n = 200
	for i := range n {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"send_api_agent_message","params":{"session_id":"c1","n":%d}}`, i, i))
	}
	w.send(`{"jsonrpc":"2.0","id":"other","method":"get_conversation","params":{"session_id":"c2"}}`)
	for range n { // All but the first, and the other.
		if f := w.next(); string(f.ID) == "0" {
			t.Fatal("the first was answered")
		}
	}
	close(gate)
	if f := w.next(); string(f.ID) != "0" {
		t.Fatalf("%+v", f)
	}
	for i, v := range got {
		if i != v {
			t.Fatalf("place %d: %v", i, got)
		}
	}
}

// The same while the conversation wakes: what follows the first command waits
// with it.
func TestRequests_OrderWhileWaking(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := make(chan struct{})
	asleep := make(chan struct{}, 1000)
	var mu sync.Mutex
	var got []string
	r.node.on(msg.SessionsSup, func(request any) (any, error) {
		asleep <- struct{}{}
		<-gate
		r.node.on("conversation:c1", func(request any) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, string(request.(msg.Command).Method))
			return msg.Reply{}, nil
		})
		return msg.Ensured{Created: true}, nil
	})
	w := r.window(ownerToken)
	var want []string
	for i := range 20 {
		for _, m := range []string{"send_api_agent_message", "cancel_api_agent_session", "retry_last_turn", "close_api_agent_session"} {
			want = append(want, m)
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"session_id":"c1"}}`, i, m))
		}
	}
	w.send(`{"jsonrpc":"2.0","id":"last","method":"list_audit"}`)
	if f := w.next(); string(f.ID) != `"last"` { // All frames are read.
		t.Fatalf("%+v", f)
	}
	<-asleep
	close(gate)
	for range want {
		if f := w.next(); f.Error != nil {
			t.Fatal(f.Error)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("order %v", got)
	}
}

// A subscription that names a conversation wakes and holds it, as far as it
// exists; a wildcard does not. The frame behind it does not wait for that.
func TestSubscribe_Wakes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := make(chan struct{})
	woken := make(chan gen.Atom, 10)
	r.node.on(msg.SessionsSup, func(request any) (any, error) {
		e := request.(msg.Ensure)
		if e.User {
			t.Error("a subscription is no person's command")
		}
		<-gate
		r.node.on(e.Name, func(any) (any, error) { return msg.Reply{}, nil })
		woken <- e.Name
		return msg.Ensured{Created: true}, nil
	})
	r.node.on("conversation:c2", func(any) (any, error) { return msg.Reply{}, nil })
	w := r.window(monitorToken)
	w.subscribe(`{"subjects":["api-agent.*.*","conversation.>",">","ops.c1"]}`)
	w.subscribe(`{"subjects":["api-agent.*.nobody"]}`)
	w.subscribe(`{"subjects":["api-agent.*.c1","conversation.*.c1","api-agent.*.c2"]}`)
	if f := w.call("get_session", `{}`); f.Error != nil { // While c1 still wakes.
		t.Fatal(f.Error)
	}
	close(gate)
	held := func() (names []gen.Atom) {
		for _, a := range r.node.seen(&r.node.sent) {
			if m, ok := a.request.(msg.Watch); ok && time.Until(m.Until) > time.Minute {
				names = append(names, a.to)
			}
		}
		slices.Sort(names)
		return names
	}
	eventually(t, func() bool { return slices.Equal(held(), []gen.Atom{"conversation:c1", "conversation:c2"}) }, func() string { return fmt.Sprint(held()) })
	if len(woken) != 1 || <-woken != "conversation:c1" {
		t.Error("something else was woken")
	}
}

// The service stops: each window hears why, within the time given, also one
// that reads nothing.
func TestStop_ClosesWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.window(ownerToken), r.window(monitorToken)
	a.subscribe(`{"subjects":[">"]}`)
	frozen := r.window(ownerToken)
	frozen.subscribe(`{"subjects":[">"]}`)
	code := make(chan websocket.StatusCode, 2)
	for _, w := range []*window{a, b} {
		go func() { code <- w.closed() }()
	}
	began := time.Now()
	r.l.close(5*time.Second, errStopping)
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %s: it waits for one that does not answer", took)
	}
	for range 2 {
		if c := <-code; c != 4001 {
			t.Errorf("closed with %d", c)
		}
	}
	if n := r.d.connected.Load(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	if _, err := net.DialTimeout("tcp", r.addr, time.Second); err == nil {
		t.Error("the port is still open")
	}
}

// A window that stopped reading with much to write does not hold the stop up.
func TestStop_StuckWriter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.window(ownerToken)
	w.subscribe(`{"subjects":[">"]}`)
	subject, _ := contract.Subject(contract.KindChunk, "c1")
	for range 64 { // More than the buffers of both ends hold.
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

// metricsSent is how many events went out.
func (d *doors) metricsSent() float64 {
	families, err := d.metrics.registry.Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		if f.GetName() == "packetbench_events_sent_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return -1
}

// A panic in a handler is an answer; one in a part of the connection ends that
// connection and no other.
func TestPanic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node.on(msg.Inspect, func(any) (any, error) { panic("of a test") })
	w, other := r.window(ownerToken), r.window(ownerToken)
	if f := w.call("get_tree", `{}`); f.Error == nil || f.Error.Code != contract.CodeInternal {
		t.Fatalf("%+v", f)
	}
	if f := w.call("get_session", `{}`); f.Error != nil {
		t.Fatal(f.Error)
	}
	r.log.mu.Lock()
	r.log.explode = true
	r.log.mu.Unlock()
	w.subscribe(`{"subjects":[">"]}`)
	if code := w.closed(); code != websocket.StatusInternalError {
		t.Errorf("closed with %d", code)
	}
	if f := other.call("get_session", `{}`); f.Error != nil {
		t.Fatal(f.Error)
	}
}

// A connection that no actor can be started for is refused in words; one whose
// actor dies before it begins ends.
func TestHost_Refusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct {
		name   string
		ensure func(any) (any, error)
		want   string
	}{
		{"refused", func(any) (any, error) { return msg.Ensured{Err: msg.RefuseDraining()}, nil }, "stopping"},
		{"failed", func(any) (any, error) { return nil, errors.New("of a test") }, "reference"},
		{"died", func(request any) (any, error) {
			request.(msg.Ensure).Args[0].(connection).session.cancel(errRestart)
			return msg.Ensured{}, nil
		}, "connect again"},
	} {
		r.node.on(msg.ViewersSup, tc.ensure)
		w := r.window(ownerToken)
		_, _, err := w.conn.Read(w.ctx)
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != websocket.StatusTryAgainLater || !strings.Contains(closed.Reason, tc.want) {
			t.Errorf("%s: socket: %v", tc.name, err)
		}
		if status, _, body := r.do("GET", "/events?subject=ops.%3E", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, tc.want) {
			t.Errorf("%s: stream: %d %s", tc.name, status, body)
		}
	}
	// The run that comes after the refusal must not touch the connection.
	late := make(chan connection, 1)
	r.node.on(msg.ViewersSup, func(request any) (any, error) {
		late <- request.(msg.Ensure).Args[0].(connection)
		return nil, gen.ErrTimeout
	})
	w := r.window(ownerToken)
	if code := w.closed(); code != websocket.StatusTryAgainLater {
		t.Errorf("closed with %d", code)
	}
	c := <-late
	c.run()
	if c.session.sink != nil {
		t.Error("a connection that was refused ran")
	}
	r.d.connected.Add(viewersMost)
	w = r.window(ownerToken)
	if code := w.closed(); code != websocket.StatusTryAgainLater {
		t.Errorf("one too many: closed with %d", code)
	}
	r.d.connected.Add(-viewersMost)
}

// A session that ends with subscriptions nobody took up closes their cursors;
// the rig looks at the end.
func TestSession_EndsWhileSubscribing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish("c1", 1000)
	for i := range 40 {
		w := r.window(ownerToken)
		for range 20 {
			if w.conn.Write(w.ctx, websocket.MessageText, []byte(`[{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"subjects":[">"],"since":"all"}}]`)) != nil ||
				w.conn.Write(w.ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"subjects":[">"],"since":"all"}}`)) != nil {
				break
			}
		}
		if i%2 == 0 {
			_ = w.conn.CloseNow()
		} else {
			_ = w.conn.Close(websocket.StatusNormalClosure, "")
		}
	}
	eventually(t, func() bool { return r.d.connected.Load() == 0 && r.log.cursors() == 0 }, func() string {
		return fmt.Sprintf("%d connections, %d cursors", r.d.connected.Load(), r.log.cursors())
	})
}

// A subscription whose end overtakes it, by a peer that guesses its id, is
// closed and not followed.
func TestSession_TakeEnded(t *testing.T) {
	t.Parallel()
	l := newFakeLog()
	d := newDoors(Options{Log: l})
	s := d.newSession(contract.ClientOwner, "websocket", "")
	defer s.cancel(nil)
	f, _, failure := s.subscribe(contract.SubscribeParams{Subjects: []string{">"}})
	if failure != nil || !s.unsubscribe(f.id) {
		t.Fatal(failure)
	}
	follows, err := s.take(item{add: []*follow{f}}, nil)
	if err != nil || len(follows) != 0 || l.cursors() != 0 {
		t.Fatalf("%v, %d followed, %d cursors", err, len(follows), l.cursors())
	}
	// What nobody will take is closed as well.
	f, _, failure = s.subscribe(contract.SubscribeParams{Subjects: []string{">"}})
	if failure != nil {
		t.Fatal(failure)
	}
	s.cancel(errRestart)
	s.put(item{add: []*follow{f}})
	s.discard()
	if l.cursors() != 0 {
		t.Fatalf("%d cursors", l.cursors())
	}
}

// F41: a peer that is gone without a word is found by its silence, at a socket
// and at a stream; one that answers stays.
func TestSession_SilentPeer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.d.pace.ping, r.d.pace.write = 20*time.Millisecond, 2*time.Second
	alive := r.window(ownerToken)
	answers := make(chan struct{})
	ctx := alive.conn.CloseRead(alive.ctx) // Answers pings.
	go func() { <-ctx.Done(); close(answers) }()
	eventually(t, func() bool { return r.d.connected.Load() == 1 }, func() string { return "not connected" })
	r.window(ownerToken) // Reads nothing, so it answers no ping.
	eventually(t, func() bool { return r.d.connected.Load() == 2 }, func() string { return "not connected" })
	eventually(t, func() bool { return r.d.connected.Load() == 1 }, func() string { return "the silent one stays" })
	select {
	case <-answers:
		t.Error("the one that answers was closed")
	default:
	}

	// A stream has no pongs; its pings fill the buffers until a write fails. The
	// peer's machine is gone, so nothing takes them: here a write that fails.
	d := newDoors(Options{Log: newFakeLog()})
	d.pace.ping = time.Millisecond
	s := d.newSession(contract.ClientOwner, "sse", "")
	s.sink = deadSink{}
	s.spawn("upkeep", s.upkeep)
	s.work.Wait()
	if !errors.Is(context.Cause(s.ctx), errDead) {
		t.Fatal(context.Cause(s.ctx))
	}
	// A write that fails ends the session as well.
	s = d.newSession(contract.ClientOwner, "sse", "")
	s.sink = deadSink{}
	s.put(item{frame: []byte("x")})
	if err := s.write(); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	s.cancel(errDead)
	<-s.hard.Done()
}

var errDead = errors.New("gone")

// deadSink fails at everything.
type deadSink struct{}

func (deadSink) send(context.Context, []byte) error                 { return errDead }
func (deadSink) events(context.Context, string, []msg.Logged) error { return errDead }
func (deadSink) gap(context.Context, string, msg.Gap) error         { return errDead }
func (deadSink) ping(context.Context) error                         { return errDead }

// A window that reads nothing for too long is closed and comes back with its
// last number (F42).
func TestEvents_FrozenTooLong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.d.pace.write = 200 * time.Millisecond
	w := r.window(ownerToken)
	s := w.subscribe(`{"subjects":[">"]}`)
	subject, _ := contract.Subject(contract.KindChunk, "c1")
	const n = 1300 // 13 MB.
	for range n {
		if _, err := r.log.Publish(subject, "", []byte(`"`+strings.Repeat("x", 10<<10)+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return r.d.connected.Load() == 0 }, func() string { return "it stays connected" })
	var got []uint64
	for { // What was in the buffers, until the end.
		_, b, err := w.conn.Read(w.ctx)
		if err != nil {
			break
		}
		var f frame
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		for _, e := range f.Params.Events {
			got = append(got, e.Seq)
		}
	}
	if len(got) == n {
		t.Fatal("the buffers took it all; the test shows nothing")
	}
	r.d.pace.write = patience // Nobody is connected who reads it.
	again := r.window(ownerToken)
	s = again.subscribe(fmt.Sprintf(`{"subjects":[">"],"since":%d}`, len(got)+1))
	checkRun(t, append(got, again.events(s.Subscription, n-len(got))...), 1, n)
}

// The hold of a followed conversation is renewed until the subscription ends.
func TestSubscribe_HoldIsRenewed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.d.pace.hold = 5 * time.Millisecond
	r.house()
	w := r.window(ownerToken)
	s := w.subscribe(`{"subjects":["api-agent.*.c1"]}`)
	holds := func() (n int) {
		for _, a := range r.node.seen(&r.node.sent) {
			if _, ok := a.request.(msg.Watch); ok && a.to == "conversation:c1" {
				n++
			}
		}
		return n
	}
	eventually(t, func() bool { return holds() > 5 }, func() string { return fmt.Sprint(holds()) })
	w.call("unsubscribe", fmt.Sprintf(`{"subscription":%q}`, s.Subscription))
	before := holds()
	for range 10 {
		w.call("get_session", `{}`)
		time.Sleep(5 * time.Millisecond) // Deliberate: what must not happen needs time to happen.
	}
	if after := holds(); after > before+1 { // One may have been on its way.
		t.Errorf("%d holds after the end", after-before)
	}
}

// Paced events are not held back: each arrives before the next is made.
func TestEvents_NoAddedWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.window(ownerToken)
	s := w.subscribe(`{"subjects":[">"]}`)
	took := make([]time.Duration, 300)
	for i := range took {
		began := time.Now()
		r.publish("c1", 1)
		if got := w.events(s.Subscription, 1); got[0] != uint64(i)+1 {
			t.Fatalf("%v", got)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	t.Logf("publish to window: p50 %s, p99 %s", took[150], took[297])
}

// Frames of many small events stay near their size, and one large event passes.
func TestSocket_FrameSize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish("c1", 10_000)
	subject, _ := contract.Subject(contract.KindChunk, "c1")
	if _, err := r.log.Publish(subject, "", append(append([]byte{'"'}, bytes.Repeat([]byte("y"), 3<<20)...), '"')); err != nil {
		t.Fatal(err)
	}
	w := r.window(ownerToken)
	w.subscribe(`{"subjects":[">"],"since":"all"}`)
	frames, n := 0, 0
	for n < 10_001 {
		b := w.raw()
		var f frame
		if err := json.Unmarshal([]byte(b), &f); err != nil {
			t.Fatal(err)
		}
		if frames++; len(b) > 2*frameBytes && n+len(f.Params.Events) < 10_001 {
			t.Errorf("a frame of %d bytes", len(b))
		}
		n += len(f.Params.Events)
	}
	if frames > 20 {
		t.Errorf("%d frames for 10,001 events", frames)
	}
}
