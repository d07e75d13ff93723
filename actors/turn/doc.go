// Package turn runs one in-process turn: it asks a model provider, runs the
// tools the model calls behind the gates, and asks again until the model has
// nothing more to call.
//
// It is a meta process under its conversation's actor. Everything it has to
// say goes to that actor as messages, in the order it happened and with the
// turn id; the actor alone publishes. At most msg.EmitCredits batches are on
// their way, so a slow bus slows the provider's stream down instead of filling
// memory. Its last words are exactly one done or error and then
// msg.TurnClosed.
//
// Around each call that the gates let through, and at the first turn and the end
// of a session, it runs the person's hooks (package hook). What it hands on from
// turn to turn is one msg.ToolState; whoever drops that calls its Close, which
// ends background processes and then runs the SessionEnd hooks.
//
// It asks of the conversation: an answer to every msg.Ask and msg.AskEdit, a
// msg.LedgerWritten for every msg.RequestUsage with a line, and msg.CancelTurn
// to stop, which aborts the stream and kills the tools' process groups at once.
//
// Constants and the order of gates: contract.md 6.7, runtime.md 2,
// tools-permissions.md 6.
package turn
