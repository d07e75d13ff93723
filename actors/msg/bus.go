package msg

import (
	"errors"

	"github.com/packetbench/packetbench/contract"
)

// ErrBusDown says that the event log takes nothing more for now: it is down,
// or the events that wait for it have reached their bound.
var ErrBusDown = errors.New("bus: the event log is not available")

// Publisher appends to the event log. It is one value for the life of the
// service and safe for concurrent use: the bus actor attaches a server to it
// and detaches it when that server dies; what was published meanwhile, or was
// not acknowledged, is published again in order by the next one. Implemented
// in actors/bus.
type Publisher interface {
	// Publish gives one event its place in the log and returns the sequence
	// number it will have there. The payload is kept until it is acknowledged;
	// the caller must not change it. It returns at once while fewer than the
	// bound of events wait, blocks at most 50 ms otherwise, and then fails
	// with ErrBusDown: the event has no place and was not taken.
	Publish(subject string, turn contract.TurnID, payload []byte) (seq uint64, err error)
	// Head is the sequence number of the last event taken, 0 for none.
	Head() uint64
}
