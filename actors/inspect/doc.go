// Package inspect answers "show me the tree".
//
// It owns what the tree shows beside what the node itself knows: the restart
// windows that the policy supervisors push (msg.Status), the domain facts that
// the actors push about themselves (msg.Facts), and the largest mailbox seen.
// Nobody is asked for it: a busy actor would make the asker wait.
//
// It publishes the ops family: a restart and a spent budget as the supervisors
// report them, and tree-changed, at most once in two seconds, when the state of
// a child has changed.
//
// tree.go is pure: lists in, a contract.TreeNode out. Source: actors.md 8,
// interface.md 6.
package inspect
