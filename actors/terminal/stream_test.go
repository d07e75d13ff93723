package terminal

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// fakeTTY is a program that is told sizes.
type fakeTTY struct {
	sizes []size
	err   error
}

func (f *fakeTTY) setSize(s size) error {
	f.sizes = append(f.sizes, s)
	return f.err
}

// newTestStream is a stream whose program is the test. The screen follows when
// the test says so.
func newTestStream(t *testing.T) (*stream, *fakeTTY) {
	t.Helper()
	st := newStream(size{20, 5}, func(any) {})
	t.Cleanup(st.close)
	tty := &fakeTTY{}
	st.begin(tty)
	return st, tty
}

// out is output of the program; the screen follows at once.
func out(st *stream, b []byte) {
	for len(b) > 0 {
		n := copy(st.space(), b)
		st.put(n)
		b = b[n:]
		for st.advance() {
		}
	}
}

// frames takes all frames that there are.
func frames(t *testing.T, v *view) (list []any) {
	t.Helper()
	for {
		frame := v.Frame(nil)
		if frame == nil {
			return list
		}
		f, err := decodeServer(frame)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
}

// shown joins the output in a list of frames.
func shown(list []any) string {
	var b strings.Builder
	for _, f := range list {
		if o, ok := f.(output); ok {
			b.Write(o.bytes)
		}
	}
	return b.String()
}

// TestStream_Order: size and snapshot first, then output with each size in its
// place, then the exit, each once.
func TestStream_Order(t *testing.T) {
	t.Parallel()
	st, tty := newTestStream(t)
	out(st, []byte("before"))
	v := st.attach(true, nil)
	first := frames(t, v)
	if len(first) != 2 || first[0] != any(size{20, 5}) || first[1].(snapshot).offset != 6 {
		t.Fatalf("the first frames are %v", first)
	}
	out(st, []byte("one"))
	if err := st.resize(size{30, 6}); err != nil {
		t.Fatal(err)
	}
	out(st, []byte("two"))
	st.end(3)
	list := frames(t, v)
	if len(list) != 4 || list[1] != any(size{30, 6}) || list[3] != any(exit(3)) {
		t.Fatalf("the frames are %v", list)
	}
	if o := list[2].(output); o.offset != 9 || string(o.bytes) != "two" {
		t.Fatalf("the second output is %v", o)
	}
	if len(tty.sizes) != 1 || tty.sizes[0] != (size{30, 6}) {
		t.Fatalf("the program was told %v", tty.sizes)
	}
	if again := frames(t, v); len(again) != 0 {
		t.Fatalf("and then %v", again)
	}
}

// TestStream_SizeRefused: a size that the system refuses is not in force, so the
// same one is tried again (F62).
func TestStream_SizeRefused(t *testing.T) {
	t.Parallel()
	st, tty := newTestStream(t)
	tty.err = errors.New("no")
	if st.resize(size{30, 6}) == nil {
		t.Fatal("the refusal is not told")
	}
	tty.err = nil
	if err := st.resize(size{30, 6}); err != nil || len(tty.sizes) != 2 {
		t.Fatalf("%v, asked %d times", err, len(tty.sizes))
	}
}

// TestStream_Acknowledged: 1 MiB ahead and no byte more, whichever way the
// client counts.
func TestStream_Acknowledged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		word func(consumed, start uint64) uint64
	}{
		{"by offset", func(consumed, start uint64) uint64 { return start + consumed }},
		{"by count", func(consumed, _ uint64) uint64 { return consumed }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st, _ := newTestStream(t)
			const start = 300_000
			out(st, bytes.Repeat([]byte("x"), start))
			v := st.attach(false, nil)
			frames(t, v)
			sent := 0
			for range 40 { // 32 KiB each, 1.25 MiB in all.
				st.put(readBytes)
				for st.advance() {
				}
				sent += len(shown(frames(t, v)))
			}
			if sent != ackBytes {
				t.Fatalf("%d bytes without an acknowledgement", sent)
			}
			if err := v.Take(context.Background(), appendFrame(nil, ack(tc.word(100_000, start)))); err != nil {
				t.Fatal(err)
			}
			if more := len(shown(frames(t, v))); more != 100_000 {
				t.Fatalf("%d bytes after an acknowledgement of 100,000", more)
			}
		})
	}
}

// TestStream_Skipped: a view that the ring overtakes gets no torn output but a
// snapshot, once it has consumed what it has.
func TestStream_Skipped(t *testing.T) {
	t.Parallel()
	st, _ := newTestStream(t)
	v := st.attach(false, nil)
	frames(t, v)
	v.stalled = true // As if it had taken nothing for a second.
	line := []byte("a line that says little\r\n")
	for range 3 * ringBytes / len(line) {
		out(st, line)
	}
	list := frames(t, v)
	if len(list) != 2 {
		t.Fatalf("%d frames", len(list))
	}
	if s, ok := list[1].(snapshot); !ok || s.offset != st.head || !bytes.Contains(s.bytes, []byte("a line that says little")) {
		t.Fatalf("it got %T", list[1])
	}
	out(st, []byte("more"))
	if got := shown(frames(t, v)); got != "more" {
		t.Fatalf("and then %q", got)
	}
}

// TestStream_Held: the program waits for the fastest view, not for a slow one,
// and for nobody who takes nothing for a second.
func TestStream_Held(t *testing.T) {
	t.Parallel()
	st, _ := newTestStream(t)
	fast, slow := st.attach(true, nil), st.attach(true, nil)
	frames(t, fast)
	frames(t, slow)
	ahead := 0
	for ; !st.held() && ahead < 10*ringBytes; ahead += readBytes {
		st.put(readBytes)
		for st.advance() {
		}
	}
	if ahead > leadBytes+readBytes {
		t.Fatalf("the program ran %d bytes ahead", ahead)
	}
	frames(t, fast)
	if st.held() {
		t.Fatal("it waits although the fastest view has caught up")
	}
	for !st.held() {
		st.put(readBytes)
		for st.advance() {
		}
	}
	began := time.Now()
	if st.space() == nil || time.Since(began) > 15*time.Second {
		t.Fatal("it waits for views that take nothing")
	}
}

// TestStream_Typed: input waits while the program does not read, and gives up
// with its context.
func TestStream_Typed(t *testing.T) {
	t.Parallel()
	st, _ := newTestStream(t)
	v := st.attach(true, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	text := bytes.Repeat([]byte("0123456789"), typedBytes/5) // Twice what may wait.
	go func() { done <- v.Take(ctx, appendFrame(nil, input(text))) }()
	var got []byte
	buf := make([]byte, 1000)
	for len(got) < len(text)/4 {
		got = append(got, st.takeKeys(0, buf)...)
	}
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, got) {
		t.Fatal("the input arrives in another order")
	}
}
