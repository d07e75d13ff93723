// Package plaintext shows what the service says as text for a terminal: the
// actor tree, events line by line, a transcript as Markdown.
//
// Its functions are pure and never fail: an event they do not know becomes a
// line with its payload. Text of a model, a tool or a path goes through [Line]
// or [Safe], so that it cannot drive the terminal it is shown on.
package plaintext
