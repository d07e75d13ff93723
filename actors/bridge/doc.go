// Package bridge is the doors of the service: WebSocket, JSON-RPC over HTTP,
// Server-Sent Events, the page, and command.> on the bus.
//
// It owns the HTTP listener (a meta process of the actor bridge), the table of
// commands with the one role check, and a viewer actor with its socket for
// every WebSocket and event stream. A door checks token, Host, Origin, role and
// shape; what a command means is decided by the actor it is for.
//
// A window on a terminal is a WebSocket of its own: frames pass as they are, and
// what a monitor sends besides acknowledgements is refused with its text.
//
// It promises: every request of a connection is answered, with a value or a
// typed failure, but a notification and what is left when the connection ends;
// commands of one connection to one conversation reach it in the order of their
// frames; the answer to a subscribe comes before its first event; events reach a
// subscription in log order, each exactly once, or it is told with a gap which
// ones the log no longer holds. A slow reader falls behind in the log and costs
// nobody else anything. A WebSocket that the service ends hears why: 4001 when
// the service stops, 1012 when only its own part ended, 1009 for a frame over
// the limit, 1013 when there is no room for another window, 1011 after a fault;
// whoever comes back goes on behind its last sequence number.
//
// It asks of others: a msg.EventLog to read, msg.Commands to serve, the store,
// secret, inspect and supervisors by their names.
//
// Source: interface.md 3 and 4, faults.md D and G.
package bridge
