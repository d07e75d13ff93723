package terminal

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/terminal/screen"
)

// The sizes of one terminal. Together with the scrollback they stay below 8 MB.
const (
	// ringBytes is how much of the output is kept for views that lag.
	ringBytes = 1 << 20
	// readBytes is the most that is read at once.
	readBytes = 32 << 10
	// leadBytes is how far the program may be ahead of the fastest view.
	leadBytes = ringBytes / 2
	// ackBytes is how much a view may leave unacknowledged. Source:
	// interface.md 5.
	ackBytes = 1 << 20
	// outputBytes is the most in one output frame.
	outputBytes = 64 << 10
	// followBytes is how much the screen takes in one go; a snapshot waits for
	// at most that.
	followBytes = 64 << 10
	// typedBytes is how much input may wait for the program before a view that
	// sends more has to wait, too.
	typedBytes = 256 << 10
	// scrollLines and scrollBytes bound the scrollback. Source: issue 5.
	scrollLines = 10_000
	scrollBytes = 4 << 20
)

// restAfter is how long a flood may run on before screen and views are woken
// again, unless it has filled an output frame: a PTY hands over 4 KiB at a time,
// and waking two goroutines for each costs a fifth of the throughput. What comes
// in smaller pieces than floodBytes, an echo say, or after a pause, wakes them at
// once.
const (
	restAfter  = 500 * time.Microsecond
	floodBytes = 2 << 10
)

// stallAfter is how long a view that takes nothing may hold the program back.
const stallAfter = time.Second

// mark is a change of size at its place in the output.
type mark struct {
	at   uint64
	size size
}

// tty is the program's side of a stream.
type tty interface {
	// setSize tells the program its size.
	setSize(size) error
}

// stream is the output of one terminal on its way to screen and views. It is
// safe for concurrent use.
//
// The reader puts bytes into the ring and never waits for the screen or for one
// view: only for the fastest of the views that move, and for the screen when
// the ring would overtake it. A view that the ring overtakes gets a fresh
// snapshot.
type stream struct {
	// notify hears titleChanged and sizeChanged; it does not wait.
	notify func(any)

	mu   sync.Mutex
	room *sync.Cond // The reader waits on it.
	work *sync.Cond // The follower waits on it.
	ring []byte
	// head is the number of bytes put out, done of those in the screen.
	head, done uint64
	// marks are the sizes since done or since the slowest view.
	marks []mark
	// seen is how many marks were dropped, plus how many the screen has passed:
	// the number of the next mark for the screen. first is the number of
	// marks[0].
	first, seen int
	size        size
	views       map[*view]struct{}
	owner       *view
	serial      int // Numbers views.
	tty         tty
	typed       []byte // What waits for the program.
	typing      *sync.Cond
	// life counts the programs; a view that has seen another one gets a fresh
	// snapshot. over: the present one has ended, exit is how.
	life   int
	over   bool
	exit   exit
	closed bool
	gone   chan struct{} // Closed with it.
	timer  *time.Timer
	// rung is when screen and views were woken last, at rungAt; resting: rest
	// will wake them.
	rung    time.Time
	rungAt  uint64
	resting bool
	rest    *time.Timer

	// screenMu comes before mu.
	screenMu sync.Mutex
	screen   *screen.Screen
	title    string
}

type (
	titleChanged struct{ title string }
	sizeChanged  struct{ size size }
)

func newStream(s size, notify func(any)) *stream {
	st := &stream{notify: notify, ring: make([]byte, ringBytes), views: make(map[*view]struct{}), size: s, gone: make(chan struct{})}
	st.room, st.work, st.typing = sync.NewCond(&st.mu), sync.NewCond(&st.mu), sync.NewCond(&st.mu)
	st.screen = screen.New(screen.Options{Cols: int(s.cols), Rows: int(s.rows), Lines: scrollLines, Bytes: scrollBytes})
	return st
}

// fit is the size that a terminal takes.
func fit(cols, rows int) size {
	c, r := screen.Fit(cols, rows)
	return size{uint16(c), uint16(r)}
}

// space waits until there is room and returns where the reader may put bytes. It
// returns nil when the stream was closed.
func (st *stream) space() []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	for !st.closed && st.held() {
		st.armStall()
		st.room.Wait()
	}
	if st.closed {
		return nil
	}
	at := int(st.head % ringBytes)
	return st.ring[at:min(at+readBytes, ringBytes)]
}

// held reports whether the program is too far ahead.
func (st *stream) held() bool {
	if st.head-st.done > ringBytes-2*readBytes {
		return true
	}
	best, any := uint64(0), false
	for v := range st.views {
		if v.moves() {
			best, any = max(best, v.next), true
		}
	}
	return any && st.head-best > leadBytes
}

// armStall sees to it that views that take nothing are not waited for for ever.
func (st *stream) armStall() {
	if st.timer == nil {
		st.timer = time.AfterFunc(stallAfter, st.stall)
	}
}

func (st *stream) stall() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.timer = nil
	late := time.Now().Add(-stallAfter)
	for v := range st.views {
		if !v.took.After(late) {
			v.stalled = true
		}
	}
	st.room.Broadcast()
}

// put takes n bytes that the reader put where space said.
func (st *stream) put(n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.head += uint64(n)
	switch now := time.Now(); {
	case n < floodBytes, st.head-st.rungAt >= outputBytes, now.Sub(st.rung) >= restAfter:
		st.tell(now)
	case !st.resting && !st.closed:
		st.resting = true
		if st.rest == nil {
			st.rest = time.AfterFunc(restAfter, st.rested)
		} else {
			st.rest.Reset(restAfter)
		}
	}
}

func (st *stream) rested() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.resting = false
	st.tell(time.Now())
}

// tell wakes screen and views.
func (st *stream) tell(now time.Time) {
	st.rung, st.rungAt = now, st.head
	st.work.Signal()
	st.wakeAll()
}

func (st *stream) wakeAll() {
	for v := range st.views {
		v.ring()
	}
}

// oldest is the first offset that the ring still holds: the reader may be
// writing over what is older.
func (st *stream) oldest() uint64 {
	if keep := uint64(ringBytes - readBytes); st.head > keep {
		return st.head - keep
	}
	return 0
}

// whole is the offset up to which no character is cut in two. A view is never
// sent half of one: what decodes the other end may lose it.
func (st *stream) whole() uint64 {
	if st.over {
		return st.head
	}
	var tail [utf8.UTFMax]byte
	n := int(min(st.head-st.oldest(), utf8.UTFMax))
	for i := range n {
		tail[i] = st.ring[(st.head-uint64(n-i))%ringBytes]
	}
	return st.head - uint64(cutRune(tail[:n]))
}

// cutRune is the number of bytes at the end of b that begin a character and do
// not complete it, 0 to 3.
func cutRune(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		c := b[len(b)-i]
		if c < 0x80 {
			return 0
		}
		if c < 0xc0 {
			continue
		}
		need := 2
		if c >= 0xe0 {
			need++
		}
		if c >= 0xf0 {
			need++
		}
		if i < need {
			return i
		}
		return 0
	}
	return 0
}

// follow keeps the screen up to date until the stream is closed.
func (st *stream) follow() {
	for st.step() {
	}
}

// step waits for output and takes a piece of it into the screen. It returns
// false when the stream was closed.
func (st *stream) step() bool {
	st.mu.Lock()
	for !st.closed && st.caughtUp() {
		st.work.Wait()
	}
	closed := st.closed
	st.mu.Unlock()
	if !closed {
		st.advance()
	}
	return !closed
}

func (st *stream) caughtUp() bool {
	return st.done == st.head && st.seen == st.first+len(st.marks)
}

// advance takes the next piece of output, or the next size, into the screen. It
// reports whether there was one.
func (st *stream) advance() bool {
	st.screenMu.Lock()
	defer st.screenMu.Unlock()
	st.mu.Lock()
	if st.caughtUp() {
		st.mu.Unlock()
		return false
	}
	var to *size
	end := st.head
	if i := st.seen - st.first; i < len(st.marks) {
		end = st.marks[i].at
		if end == st.done {
			to = &st.marks[i].size
		}
	}
	at := st.done % ringBytes
	n := min(end-st.done, followBytes, ringBytes-at)
	st.mu.Unlock()
	if to != nil {
		st.screen.Resize(int(to.cols), int(to.rows))
	} else {
		// The reader keeps away from what is not done yet.
		st.screen.Write(st.ring[at : at+n])
	}
	answers := st.screen.Answers()
	title, _ := st.screen.Title()
	st.mu.Lock()
	if to != nil {
		st.seen++
	} else {
		st.done += n
	}
	// With a window that can answer, the window does.
	if len(answers) > 0 && st.answerer() == nil && !st.over {
		st.typed = append(st.typed, answers...)
		st.typing.Broadcast()
	}
	st.room.Signal()
	if st.done == st.head {
		st.wakeAll() // One may wait for the last frame.
	}
	st.forgetMarks()
	st.mu.Unlock()
	if title != st.title {
		st.title = title
		st.notify(titleChanged{title})
	}
	return true
}

// forgetMarks drops the marks that the screen and every view have passed.
func (st *stream) forgetMarks() {
	low := st.seen
	for v := range st.views {
		if !v.fresh {
			low = min(low, v.mark)
		}
	}
	// A view that is never read does not keep marks for ever.
	low = max(low, st.first+len(st.marks)-maxMarks)
	if n := low - st.first; n > 0 && low <= st.seen {
		st.marks = append([]mark(nil), st.marks[n:]...)
		st.first = low
	}
}

// maxMarks bounds the sizes that are kept for slow views.
const maxMarks = 1000

// resize asks for a size. The same one again does nothing (F62: it is compared
// with the size in force, not with the last one that was asked for).
func (st *stream) resize(s size) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s == st.size {
		return nil
	}
	if st.tty != nil && !st.over {
		if err := st.tty.setSize(s); err != nil {
			return err
		}
	}
	st.size = s
	st.marks = append(st.marks, mark{st.head, s})
	st.work.Signal()
	st.wakeAll()
	st.notify(sizeChanged{s})
	return nil
}

// begin is called when a program has started; it returns its number.
func (st *stream) begin(t tty) (life int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.tty, st.over, st.typed = t, false, nil
	return st.life
}

// end is called when the program has ended and all its output is in the ring.
func (st *stream) end(e exit) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	st.tty, st.over, st.exit, st.typed = nil, true, e, nil
	st.typing.Broadcast()
	st.tell(time.Now())
}

// again clears the screen for another program. The output goes on counting.
func (st *stream) again() {
	st.screenMu.Lock()
	defer st.screenMu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.done = st.head
	st.seen = st.first + len(st.marks)
	st.screen = screen.New(screen.Options{Cols: int(st.size.cols), Rows: int(st.size.rows), Lines: scrollLines, Bytes: scrollBytes})
	st.life++
	st.over = false
	for v := range st.views {
		v.fresh = true
		v.exited = false
	}
	st.wakeAll()
}

// show puts the last screen of an earlier run on the screen.
func (st *stream) show(image []byte, e exit) {
	st.screenMu.Lock()
	defer st.screenMu.Unlock()
	st.screen.Write(image)
	st.screen.Answers()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over, st.exit = true, e
}

// close ends everything that waits. A program that still runs is ended by
// whoever closes the stream.
func (st *stream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	st.closed = true
	close(st.gone)
	if !st.over {
		st.over, st.exit, st.tty = true, -1, nil
	}
	if st.timer != nil {
		st.timer.Stop()
	}
	if st.rest != nil {
		st.rest.Stop()
	}
	st.room.Broadcast()
	st.work.Broadcast()
	st.typing.Broadcast()
	st.wakeAll()
}

// image is a snapshot of the screen when it has taken what there is.
func (st *stream) image() (snapshot []byte, s size) {
	for st.advance() {
	}
	st.screenMu.Lock()
	defer st.screenMu.Unlock()
	cols, rows := st.screen.Size()
	return st.screen.Snapshot(), size{uint16(cols), uint16(rows)}
}

// facts are what can be told about the stream.
func (st *stream) facts() (offset uint64, views int, s size) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.head, len(st.views), st.size
}

// answerer is the view whose automatic replies reach the program: the owner, or
// else the view that came first.
func (st *stream) answerer() *view {
	if st.owner != nil {
		return st.owner
	}
	var best *view
	for v := range st.views {
		if v.write && (best == nil || v.number < best.number) {
			best = v
		}
	}
	return best
}

// keys takes input for the program; it waits while too much of it waits.
func (st *stream) keys(ctx context.Context, v *view, in []byte) error {
	stop := context.AfterFunc(ctx, func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.typing.Broadcast()
	})
	defer stop()
	st.mu.Lock()
	defer st.mu.Unlock()
	automatic := isReply(in)
	if !automatic {
		st.owner = v
	} else if st.answerer() != v {
		return nil
	}
	for len(in) > 0 {
		for !st.closed && !st.over && ctx.Err() == nil && !v.closed && len(st.typed) >= typedBytes {
			st.typing.Wait()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if st.closed || st.over || v.closed {
			return nil
		}
		n := min(len(in), typedBytes-len(st.typed))
		st.typed = append(st.typed, in[:n]...)
		in = in[n:]
		st.typing.Broadcast()
	}
	return nil
}

// takeKeys waits for input and returns it; nil when the program or the stream
// has ended, as told by life.
func (st *stream) takeKeys(life int, buf []byte) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	for !st.closed && !st.over && st.life == life && len(st.typed) == 0 {
		st.typing.Wait()
	}
	if st.closed || st.over || st.life != life {
		return nil
	}
	n := copy(buf, st.typed)
	st.typed = append(st.typed[:0], st.typed[n:]...)
	if cap(st.typed) > typedBytes && len(st.typed) == 0 {
		st.typed = nil
	}
	st.typing.Broadcast()
	return buf[:n]
}

// attach makes a view.
func (st *stream) attach(write bool, wake chan<- struct{}) *view {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.serial++
	v := &view{st: st, write: write, wake: wake, number: st.serial, fresh: true, took: time.Now()}
	st.views[v] = struct{}{}
	v.ring()
	return v
}

var _ msg.TerminalView = (*view)(nil)
