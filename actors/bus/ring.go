package bus

import (
	"sync"

	"github.com/packetbench/packetbench/actors/msg"
)

// ring holds the newest stored events, already encoded, for all readers.
// Numbers in it are contiguous: it holds first to next-1.
type ring struct {
	mu       sync.RWMutex
	slots    []msg.Logged // by number modulo its length; nil until the first append
	size     int
	first    uint64
	next     uint64
	bytes    int
	maxBytes int
	// wakers are the channels of open cursors with how many share each.
	wakers map[chan<- struct{}]int
}

func (r *ring) init(events, bytes int) {
	r.size, r.maxBytes = events, bytes
	r.wakers = make(map[chan<- struct{}]int)
}

// add appends events and wakes the readers. A jump of the numbers empties the
// ring: what lies between is no longer held by the stream either.
func (r *ring) add(events []msg.Logged) {
	if len(events) == 0 {
		return
	}
	r.mu.Lock()
	if r.slots == nil {
		r.slots = make([]msg.Logged, r.size)
	}
	for _, e := range events {
		if e.Seq != r.next || r.first == 0 {
			if r.first != 0 && e.Seq < r.next {
				continue // delivered twice, after a consumer was made anew
			}
			r.resetLocked(e.Seq)
		}
		for r.next-r.first >= uint64(r.size) || (r.bytes+len(e.Envelope) > r.maxBytes && r.first < r.next) {
			slot := &r.slots[r.first%uint64(r.size)]
			r.bytes -= len(slot.Envelope)
			*slot = msg.Logged{}
			r.first++
		}
		r.slots[e.Seq%uint64(r.size)] = e
		r.bytes += len(e.Envelope)
		r.next++
	}
	r.wakeLocked()
	r.mu.Unlock()
}

// reset empties the ring; the next event it expects is next.
func (r *ring) reset(next uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resetLocked(next)
	r.wakeLocked()
}

func (r *ring) resetLocked(next uint64) {
	if r.bytes > 0 {
		clear(r.slots)
	}
	r.first, r.next, r.bytes = next, next, 0
}

// wakeLocked tells every reader to look; one that has not looked since the
// last time needs no second word.
func (r *ring) wakeLocked() {
	for w := range r.wakers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (r *ring) wake() {
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.wakeLocked()
}

func (r *ring) enter(w chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakers[w]++
}

func (r *ring) leave(w chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wakers[w]--; r.wakers[w] <= 0 {
		delete(r.wakers, w)
	}
}

// bounds returns the first number held and the next one expected; both are 0
// before the ring was ever filled.
func (r *ring) bounds() (first, next uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.first, r.next
}

// read appends the matching events from number from on and returns the number
// to go on with. held is false when from lies before the ring.
func (r *ring) read(dst []msg.Logged, from uint64, m matcher, maxBytes int) (_ []msg.Logged, next uint64, held bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.first == 0 || from < r.first {
		return dst, from, false
	}
	for bytes := 0; from < r.next && bytes < maxBytes; from++ {
		e := r.slots[from%uint64(r.size)]
		if m.match(e.Subject) {
			dst = append(dst, e)
			bytes += len(e.Envelope)
		}
	}
	return dst, from, true
}
