// Package sidecar is the host of the Node child that runs the vendors' agent
// SDKs, and the service's half of protocol 11, by which the two speak.
//
// It owns one child and its sessions; it decides nothing about a conversation.
// Conversations speak with it in the messages of msg/host.go and hear of their
// turns in [msg.Emitted], [msg.Ask], [msg.AskEdit] and [msg.TurnClosed], in the
// order in which the child said it: the terminal event of a turn is the last
// one, and what comes later is dropped, but for a late count, which carries its
// own turn's id. What the child had said before it died arrives before
// msg.OwnerGone, which the supervisor sends when this actor has ended.
//
// No key leaves before the child's first line has said that it speaks protocol
// 11 or newer, and the supervisor has been told who owns the session. Keys that
// were handed over are taken out of every line that the child writes to the log
// and of every error.
//
// Reading is by credit: the lines of a conversation with msg.HostCredits
// unanswered Emitted are given back to the reader when it answers, so a slow
// one slows the child down and with it, in the end, everybody. The lines of a
// conversation that has died are given back by themselves.
//
// Settings have no answer on the wire. They are followed by a request that no
// version knows; the child works off a session's requests in order, so its
// refusal says that what was before it has been done. A child that answers
// nothing is believed after a second.
//
// The child is ended gently (stdin closed, 2 s, SIGTERM, 2 s, SIGKILL, all to
// its process group) on msg.Drain and on the supervisor's exit signal, which
// count as quiet; at once when a turn does not stop, when its stream breaks and
// when the actor dies.
//
// host.go is the pure core: lines and messages in, effects out. frame.go and
// delta.go read lines, request.go words them, translate.go turns one frame into
// what its conversation has to hear, negotiate.go judges the child's version,
// entry.go finds the script and the Node to run it, servers.go the MCP servers
// of a session. inbox.go hands decoded lines from the reader's goroutine to the
// actor, once per burst; actor.go and launch.go are the shell. [Board] is what
// the service knows of the sidecar whether a host runs or not.
//
// The conversation ids of this package are the session ids of the wire; the
// vendor's own never leave the child but as a resume handle.
//
// Source: sidecar-protocol.md, contract.md 2.1, 6.2 to 8.
package sidecar
