// Package conversation is the actor that owns one conversation.
//
// It is the only publisher of api-agent.*.<id> and conversation.*.<id>, so its
// mailbox order is the order every window sees. Transports send it what
// happened (msg.Emitted and its siblings); nobody else touches the bus on its
// behalf. It decides everything that more than one window could decide: which
// calls need a person, what waits in the queue, when a turn starts and how it
// ended, the posture, the plan, the failover. The first answer to a prompt
// wins.
//
// It promises: exactly one done or error per turn, and nothing of that turn
// after it; every open tool call settled before it; a transcript on disk at
// most 500 ms behind what was published (config.SaveDebounce); a command
// answered by a value, never by silence. A start is answered when its transport
// runs, or with the sentence that says why it cannot, which is then an error
// event, too; every other command is answered at once, or in its turn behind a
// start that is still checked. A start that a cost limit refuses leaves nothing
// behind; a conversation that runs is warned and goes on.
//
// It asks of others: msg.Store to load and save, to say whether a launch may
// cost something and whether a project is trusted, msg.Secret for the key of a
// turn, a msg.Publisher that takes events, and a msg.TurnFactory. It stops when
// nobody needs it (msg.Watch, config.ConversationIdle) and is started again
// from its file by sessions_sup.
//
// core.go and its neighbours are pure: the clock, the files and the bus are
// parameters, and what is to be done comes back as effects. actor.go runs them.
//
// Sources: contract.md, tools-permissions.md 6 to 9, mcp-state.md 5 and 7,
// runtime.md 7.
package conversation
