// Package msg is what actors of different packages say to each other, and the
// names they are registered under.
//
// Actor packages never import one another; they meet here. Every type is a
// plain value that its receiver may keep; byte slices and slices of messages
// are handed over, not shared, unless a comment says so. Failures travel as
// values in the reply types: a handler's reason would make the caller wait for
// its timeout (actors.md 1.7).
//
// It imports contract and ergo/gen only.
package msg
