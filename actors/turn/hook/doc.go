// Package hook runs the commands that a person has attached to what an agent
// does: around each tool call and at the beginning and end of a session.
//
// It is a library of the in-process turn, not an actor. Hooks are the entries
// {event, matcher?, command} of the list "hooks" in the person's own
// ~/.claude/settings.json and, behind them, in <project>/.claude/settings.json.
// The second file counts only for a project that is trusted: it comes with the
// project and could be anybody's. Both are read at the first turn of a [Session]
// and hold until its end, so that what an agent writes there does not run in the
// session that wrote it; only when the trust changes are they read again.
//
// What it promises:
//
//   - A command runs in the project folder, through the shell, in a process
//     group of its own, with one JSON object on its standard input:
//     {"session_id", "event"}, for tools also "tool_name" and "tool_input", after
//     a tool "tool_result" and "is_error". Its output is not read. When it ends,
//     what it left running ends with it.
//   - The commands of one event run one after the other, in the order of the
//     files, each for at most 5 s.
//   - A PreToolUse command that ends with another code than 0 keeps the tool from
//     running. One that cannot be started, is ended by a signal or takes too long
//     does not: a broken hook must not stop all work. It is logged.
//   - SessionStart runs at the first turn of a [Session], SessionEnd at its
//     [Session.End], within 5 s in all. UserPromptSubmit is read and never runs.
//   - Nothing is started, and nothing runs on, once the service stops.
//
// Nothing here is logged but which file and which of its entries: a command line
// may hold a secret.
//
// Source: tools-permissions.md 6, mcp-state.md 7.
package hook
