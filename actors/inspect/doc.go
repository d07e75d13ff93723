// Package inspect answers "show me the tree".
//
// It owns what the tree shows beside what the node itself knows: the restart
// windows that the policy supervisors push (msg.Status), the domain facts that
// the actors push about themselves (msg.Facts), and the largest mailbox seen.
// Nobody is asked for it: a busy actor would make the asker wait.
//
// While somebody looks, told by msg.Look and msg.GetTree, it samples every 2 s:
// short histories of messages and mailboxes, and alarms. Otherwise it does
// nothing that it is not told to.
//
// It publishes the ops family: a restart and a spent budget as the supervisors
// report them, tree-changed at most 300 ms after the state of a child has
// changed, and alarms as they begin and end; and terminal.exited for a terminal
// that died without a word.
//
// tree.go and sample.go are pure: lists in, a contract.TreeNode out. Source: actors.md 8,
// interface.md 6.
package inspect
