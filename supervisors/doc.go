// Package supervisors says who restarts whom, and nothing else.
//
// One policy (policy.go) stands behind every supervisor of the tree. It starts
// its named children in order with its first message, starts dynamic ones when
// asked ([msg.Ensure]), and answers each end the same way: report first
// ([msg.ChildEnded] to the sinks, [msg.OwnerGone] to the owned conversations),
// then count, then start again after the wait of the row, or stay alive with
// that child down. A spent budget never touches a sibling. Where the row says
// fatal, main is told through Options.Fatal and drains; without a callback the
// supervisor ends itself, the application with it, and its onEnd is called.
//
// What it promises:
//   - a Call is answered within 4 s, always with a value ([msg.Ensured],
//     [msg.ChildAnswer], [msg.ChildList]), never with a handler's reason;
//   - [msg.Status] is pushed to every sink on each change, in order, as a plain
//     message, and again for all children on [msg.ReportStatus]. A sink that
//     does not run yet misses pushes and asks again when it has started;
//   - what a child said before it ended is handled before its end is.
//
// What it asks of a child: Init stores options and may fail only on a duplicate
// name; a dynamic child registers the name it was made for in Init, a named one
// is registered already; it ends with normal or shutdown when it meant to, and
// with [msg.ErrIncompatible] when starting it again cannot help.
//
// Deliberate: every policy is a SimpleOneForOne supervisor to Ergo, also those
// with named children. Ergo's OneForOne starts its children while it starts
// itself, and one failed Init there takes the whole subtree along. Names are
// given by the launcher (launch.go) instead. The top supervisors have tried to
// start every named child when ApplicationStart returns.
//
// The node itself is built by [StartNode], once for main and for tests. Sources:
// actors.md 2 to 5, contract.md 7; how Ergo behaves was read in its source.
package supervisors
