// Package bus is the event log of the service and the NATS server that holds it.
//
// Two things with different lives meet here. [Log] is one value for the life of
// the service: it gives every event its sequence number, keeps what is not
// acknowledged, and serves all readers. The actor (registered as bus, child of
// core_sup) starts the embedded server and attaches it to the Log; when it ends,
// it detaches. Publishers and readers never notice more than a delay.
//
// # Publishing
//
// The Log is the only writer of the stream "events", so it can say at once which
// sequence number an event will have. It publishes asynchronously, each message
// with the header Nats-Expected-Last-Sequence set to the number before its own:
// a message that is refused or lost makes the server refuse everything behind
// it, and nothing is ever stored out of order. An acknowledgement is asked for
// only now and then; it vouches for everything before it. After a refusal, a
// timeout or a restart of the server the Log asks the stream for its last
// sequence number, drops what is stored already and publishes the rest again.
// So an event that was taken is in the log exactly once, under its number, as
// long as the program lives. At most config.PublishInFlight are unacknowledged
// and config.PublishWaiting wait behind them; beyond that Publish fails with
// [msg.ErrBusDown] after config.PublishBlockMost.
//
// # Reading
//
// While anybody reads, each event goes into a ring of encoded envelopes once the
// stream has acknowledged it: it is encoded once, whatever the number of
// windows, and not read back, which would cost as much again as storing it. A
// [msg.Cursor] reads the ring; one that fell behind it, or started earlier, reads
// the stream in batches until it reaches the ring. The time of an event is when
// the Log took it; the header Pb-Time keeps it with the event, so that both ways
// tell the same. A reader sees only what is stored. If the stream's retention
// overtook it, it gets a [msg.Gap], never silence.
//
// # Damage
//
// A server may say that it is well while its files are not. So a start reads
// both ends of the stream, compares its last number with the one noted when the
// service last ended in order, and expects the first event to be stored within
// seconds. A log that fails is kept under another name for a person, and an empty
// one goes on; two in a row are a [DamagedError]. A full disk is not damage.
// Events in the middle of the log are not read at a start.
//
// # What it asks of others
//
// Events are built by contract: a subject that contract.ParseSubject refuses, or
// a payload that is not JSON in UTF-8, is refused here before it has a number.
//
// Sources: interface.md 3, actors.md 6, real-parts.md 1, mcp-state.md 13, NATS
// JetStream wire API (ADR-1, ADR-15 of its architecture repository).
package bus
