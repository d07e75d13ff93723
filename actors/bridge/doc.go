// Package bridge is the doors of the service: WebSocket, JSON-RPC over HTTP,
// Server-Sent Events, the page, and command.> on the bus.
//
// It owns the HTTP listener (a meta process of the actor bridge), the table of
// commands with the one role check, and a viewer actor with its socket for
// every WebSocket and event stream. A door checks token, Host, Origin, role and
// shape; what a command means is decided by the actor it is for.
//
// It promises: every request of a connection is answered, with a value or a
// typed failure; events reach a subscription in log order, each exactly once,
// or it is told with a gap which ones the log no longer holds. A slow reader
// falls behind in the log and costs nobody else anything.
//
// It asks of others: a msg.EventLog to read, msg.Commands to serve, the store,
// secret, inspect and supervisors by their names.
//
// Source: interface.md 3 and 4, faults.md D and G.
package bridge
