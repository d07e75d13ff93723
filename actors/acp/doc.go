// Package acp is the host's half of the Agent Client Protocol, version 1, by
// which the service speaks with an engine: a program of somebody else that
// keeps its own credentials and its own sessions. Each engine process has one
// host.
//
// The host is an actor, acp:<name>, that lives as long as its engine's process
// and speaks with conversations in the messages of msg/host.go, with doors in
// msg.EngineSessions and msg.EngineUsage. It asks Options.Find for its engine
// once, when it starts; a change of Settings counts from the next start on.
//
// Everything but the actor and the probe of doctor.go is pure: no process, no
// clock, no file but through a parameter. The shell around it is thin:
//
//	line of the engine, wish of a conversation, end of the child, time
//	    │  engine.next(input, now)
//	    ▼
//	effects, to be done in order: write a line, publish events, ask the gate,
//	tell a conversation, start or end the child
//
// What it promises:
//
//   - Lines are handled strictly in the order of the wire, and the answer to a
//     request has had its effect before the next line is looked at.
//   - One turn per conversation; its events carry its turn id, end with one
//     done or error, and nothing of it follows. A session that is being loaded
//     is silent: what the engine replays is history and no event (F48, F49).
//   - An id of the engine, of a session or of a request, never leaves this
//     package as a name: the emitted id of a permission is its text, and the
//     raw bytes are kept for the reply.
//   - Every request of ours has a deadline and every turn an end, whatever the
//     engine does: it may stay silent, answer twice or with null, ignore a
//     cancel, or die.
//   - A request of the engine is always answered, one that we do not know with
//     -32601.
//   - Without a decision to the contrary an engine gets no MCP server.
//
// Beyond that the actor promises what every host does: the terminal event of a
// turn is followed by msg.TurnClosed and by nothing else of the turn but what it
// used, which may come later. What the engine had said before it died is handed
// on before msg.OwnerGone. A conversation with msg.HostCredits unanswered Emitted
// holds its lines back, and so in the end the engine; a dead one does not. The
// engine is ended gently on msg.Drain and on the supervisor's exit signal, which
// count as quiet, and at once when a turn does not stop or its stream breaks.
//
// actor.go, host.go and launch.go are the actor; configured.go reads which MCP
// servers there are. frame.go reads and writes single lines, translate.go turns
// one session/update into what its conversation has to hear, capability.go,
// mode.go, option.go, usage.go and held.go read what engines say about
// themselves, permission.go answers them, server.go decides which MCP servers
// they get. session.go and engine.go hold the state. locate.go, doctor.go and
// preset.go find a program and judge it.
//
// Source: acp.md, contract.md 2.1, 6 and 7.1.
package acp
