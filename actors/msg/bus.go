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

// Pressure is what a Publisher may tell besides: how many events wait for it.
// Whoever produces faster than the log stores slows down by it, long before
// Publish would refuse. Safe for concurrent use.
type Pressure interface {
	// Waiting is how many events the log has taken and not yet begun to store.
	Waiting() int
}

// Logged is one event as readers of the log get it. Envelope is the encoded
// contract.Envelope without line breaks; it is shared by all readers and never
// changed.
type Logged struct {
	Seq      uint64
	Subject  string
	Envelope []byte
}

// Gap says that the log no longer holds the sequences From to To.
type Gap struct{ From, To uint64 }

// EventLog is read by the doors. It is one value for the life of the service
// and safe for concurrent use. Implemented in actors/bus.
type EventLog interface {
	// Head is the sequence number of the last event taken, 0 for none.
	Head() uint64
	// Follow reads the events whose subject one of patterns matches, from
	// sequence number from on; 0 means from the oldest that is held. A from
	// beyond the head's successor belongs to an earlier log: the first Read
	// answers with a gap and the cursor goes on with the next event.
	//
	// wake has room for one value and gets one, without waiting for a
	// receiver, whenever a Read that returned nothing may return something
	// now. Several cursors may share it.
	Follow(patterns []string, from uint64, wake chan<- struct{}) Cursor
}

// Cursor is one reader's place in the log. It belongs to one goroutine.
type Cursor interface {
	// Read appends the next events to dst, in order, each exactly once, and
	// never waits. It stops when the appended envelopes reach maxBytes, so it
	// appends at least one if there is one. A gap comes alone; what follows it
	// continues at To+1.
	Read(dst []Logged, maxBytes int) ([]Logged, *Gap)
	// Next is the sequence number that the cursor has read up to, exclusive.
	Next() uint64
	// Close gives the place up. Nothing is sent to wake after it.
	Close()
}

// Requested is one request that reached command.> on the bus.
type Requested struct {
	Subject string
	Params  []byte
	// Reply sends the answer; it may be called once, from any goroutine.
	Reply func(answer []byte)
}

// Commands is the bus's side of command.>: doors take requests there without
// knowing what carries them. Implemented in actors/bus.
type Commands interface {
	// Serve calls handle for each request, on a goroutine of its own, until
	// stop is called; it survives restarts of the bus. Only one handler is
	// served at a time, the latest.
	Serve(handle func(Requested)) (stop func())
}

// Ready is a Call to a named child of the tree: does it do its work yet? The
// answer is Done, at the latest 9 s later. Source: actors.md 7.
type Ready struct{}
