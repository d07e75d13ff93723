package terminal

import (
	"context"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
)

// view is one client. Its fields belong to the stream's lock.
type view struct {
	st     *stream
	write  bool
	wake   chan<- struct{}
	number int
	// detached is called once, when the view is closed.
	detached func()

	// fresh: the next thing is a snapshot. ready is that snapshot, behind the
	// size that comes first.
	fresh bool
	ready []byte
	// next is the offset of the next byte, mark the number of the next size.
	next uint64
	mark int
	// acked is up to where the client has consumed. counts: it counts the bytes
	// it was sent and not the offset; known is set with its first word. sent is
	// how many bytes it was sent, start the offset of its first snapshot.
	acked         uint64
	counts, known bool
	sent, start   uint64
	// took is when it last moved; stalled: it is not waited for any more.
	took    time.Time
	stalled bool
	exited  bool
	closed  bool
}

func (v *view) ring() {
	if v.closed || v.wake == nil {
		return
	}
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// moves reports whether the program waits for this view.
func (v *view) moves() bool { return !v.fresh && !v.stalled }

// moved notes that the client took something.
func (v *view) moved() {
	v.took, v.stalled = time.Now(), false
	v.st.room.Signal()
}

// Frame returns the next frame for the client.
func (v *view) Frame(buf []byte) []byte {
	st := v.st
	st.mu.Lock()
	if v.closed {
		st.mu.Unlock()
		return nil
	}
	if v.ready != nil {
		defer st.mu.Unlock()
		f := snapshot{v.next, v.ready}
		v.ready = nil
		v.moved()
		return appendFrame(buf[:0], f)
	}
	if !v.fresh && v.next < st.oldest() {
		v.fresh = true // The ring has overtaken it.
	}
	if v.fresh {
		// One that has not consumed what it has gets no more on top.
		late := v.next-v.acked > ackBytes/2
		st.mu.Unlock()
		if late {
			return nil
		}
		return v.begin(buf)
	}
	defer st.mu.Unlock()
	return v.more(buf)
}

// begin takes a snapshot and returns the size that goes before it.
func (v *view) begin(buf []byte) []byte {
	st := v.st
	st.screenMu.Lock()
	defer st.screenMu.Unlock()
	cols, rows := st.screen.Size()
	taken := st.screen.Snapshot()
	st.mu.Lock()
	defer st.mu.Unlock()
	v.next = st.done - uint64(st.screen.Partial())
	v.mark = st.seen
	v.acked = v.next
	if v.sent == 0 && !v.known {
		v.start = v.next
	}
	v.fresh, v.ready = false, taken
	v.moved()
	v.ring()
	return appendFrame(buf[:0], size{uint16(cols), uint16(rows)})
}

// more returns the next size, output or exit.
func (v *view) more(buf []byte) []byte {
	st := v.st
	end := st.whole()
	if v.mark < st.first {
		v.fresh = true // It has missed a size.
		v.ring()
		return nil
	}
	if i := v.mark - st.first; i < len(st.marks) {
		m := st.marks[i]
		if m.at <= v.next {
			v.mark++
			v.ring()
			return appendFrame(buf[:0], m.size)
		}
		end = min(end, m.at)
	}
	if v.next >= end {
		if !st.over || v.exited || v.next < st.head {
			return nil
		}
		v.exited = true
		return appendFrame(buf[:0], st.exit)
	}
	waiting := v.next - v.acked
	if waiting >= ackBytes {
		return nil // Its next acknowledgement wakes it.
	}
	n := min(end-v.next, outputBytes, ackBytes-waiting)
	at := v.next % ringBytes
	first := st.ring[at:min(at+n, ringBytes)]
	second := st.ring[:n-uint64(len(first))]
	if v.next+n < end {
		// Not in the midst of a character, unless it is all there is room for.
		tail := second
		if len(tail) < 4 {
			tail = append(append([]byte(nil), first[max(0, len(first)-4):]...), second...)
		}
		if cut := uint64(cutRune(tail)); cut < n {
			n -= cut
		}
	}
	out := appendFrame(buf[:0], output{v.next, nil})
	out = append(out, first[:min(uint64(len(first)), n)]...)
	if n > uint64(len(first)) {
		out = append(out, second[:n-uint64(len(first))]...)
	}
	v.next += n
	v.sent += n
	v.moved()
	v.ring()
	return out
}

// Take takes a frame of the client.
func (v *view) Take(ctx context.Context, frame []byte) error {
	decoded, err := decodeClient(frame)
	if err != nil {
		return err
	}
	switch f := decoded.(type) {
	case ack:
		v.consumed(uint64(f))
		return nil
	case input:
		if !v.write {
			return msg.ErrTerminalReadOnly
		}
		return v.st.keys(ctx, v, f)
	case size:
		if !v.write {
			return msg.ErrTerminalReadOnly
		}
		v.st.mu.Lock()
		owner := v.st.owner == v
		v.st.mu.Unlock()
		// A zero is a window that is not laid out yet.
		if owner && f.cols > 0 && f.rows > 0 {
			return v.st.resize(fit(int(f.cols), int(f.rows)))
		}
	}
	return nil
}

// Room says that an input of so many bytes would be taken at once.
func (v *view) Room(bytes int) bool {
	v.st.mu.Lock()
	defer v.st.mu.Unlock()
	return len(v.st.typed)+bytes <= typedBytes
}

// consumed takes an acknowledgement. Offsets count from the terminal's first
// byte; a client that counts what it was sent instead is known by a first word
// that lies before its snapshot.
func (v *view) consumed(n uint64) {
	st := v.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if !v.known {
		v.known, v.counts = true, n < v.start
	}
	if v.counts {
		n += v.next - v.sent
	}
	if n = min(n, v.next); n > v.acked {
		v.acked = n
		v.moved()
	}
	v.ring()
}

// Gone is closed with the terminal.
func (v *view) Gone() <-chan struct{} { return v.st.gone }

// Close ends the view.
func (v *view) Close() {
	st := v.st
	st.mu.Lock()
	if v.closed {
		st.mu.Unlock()
		return
	}
	v.closed = true
	delete(st.views, v)
	if st.owner == v {
		st.owner = nil
	}
	st.forgetMarks()
	st.room.Broadcast()
	st.typing.Broadcast()
	st.mu.Unlock()
	if v.detached != nil {
		v.detached()
	}
}
