package turn

import (
	"sync"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// maxWaiting bounds the messages that wait for credit; a stream that is faster
// than the bus is slowed down here.
const maxWaiting = 4096

// maxBatch bounds the events of one message: its receiver publishes them in one
// go and hears of nothing else meanwhile.
const maxBatch = 64

// emitter sends a turn's messages to its conversation in order. Events that
// arrive while all credits are out are joined into one batch, none is merged
// or dropped; with a credit at hand an event leaves at once.
type emitter struct {
	turn contract.TurnID
	send func(message any)

	mu      sync.Mutex
	room    sync.Cond
	credits int
	waiting []any // contract.Event or a message of package msg.
	closed  bool
}

func newEmitter(turn contract.TurnID, send func(any)) *emitter {
	e := &emitter{turn: turn, send: send, credits: msg.EmitCredits}
	e.room.L = &e.mu
	return e
}

// put queues messages and sends what the credits allow.
func (e *emitter) put(items ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.waiting) >= maxWaiting && !e.closed {
		e.room.Wait()
	}
	e.waiting = append(e.waiting, items...)
	e.flush()
}

// credit takes one credit back.
func (e *emitter) credit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.credits++
	e.flush()
	e.room.Broadcast()
}

// close lets everybody who waits for room go. What waits is still sent when
// credits come.
func (e *emitter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.room.Broadcast()
}

// flush sends runs of events as one Emitted each and other messages as they
// are, in order, while there is credit for the events. The lock is held, so
// that two goroutines cannot overtake each other.
func (e *emitter) flush() {
	at := 0
	for at < len(e.waiting) {
		if _, ok := e.waiting[at].(contract.Event); !ok {
			e.send(e.waiting[at])
			at++
			continue
		}
		if e.credits == 0 {
			break
		}
		end := at
		for end < min(len(e.waiting), at+maxBatch) {
			if _, ok := e.waiting[end].(contract.Event); !ok {
				break
			}
			end++
		}
		events := make([]contract.Event, 0, end-at)
		for _, item := range e.waiting[at:end] {
			events = append(events, item.(contract.Event))
		}
		e.credits--
		e.send(msg.Emitted{Turn: e.turn, Events: events})
		at = end
	}
	switch at {
	case 0: // No credit: nothing moved, and moving it would cost every put.
		return
	case len(e.waiting):
		clear(e.waiting)
		e.waiting = e.waiting[:0]
	default:
		e.waiting = append(e.waiting[:0:0], e.waiting[at:]...)
	}
}
