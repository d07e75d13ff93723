// Package conformance is the suite that every transport passes: what a window
// may rely on, whoever serves the turn.
//
// It has two halves. [Check] is pure: it takes the events of one conversation
// in the order a window saw them and returns the broken rules, so it can judge
// any stream, live or recorded. [Play] drives scripted turns through a door of
// a running service ([Harness]), checks what comes out and returns a [Report];
// [Run] is Play inside a test. Play needs no test, so that a command can judge
// a foreign engine with it.
//
// A transport differs from the others only where [Divergences] says so. What
// is not in that table is owed; what is in it and happens after all is
// reported too, so the table cannot grow stale.
//
// The package starts no goroutine and keeps no state between calls. Facts:
// contract.md 2 to 6.
package conformance
