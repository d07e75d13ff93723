// Package contract is the language of the house: what a window, a script and
// every transport say to each other, and nothing about how it is said.
//
// It holds the fifteen event kinds and their payloads, the other subject
// families, the commands with their parameters and results, the id spaces and
// the table that joins them, the error codes and the texts that somebody
// outside matches on. Names are built by its functions and nowhere else.
//
// It imports the standard library only, so that every process can afford to
// speak it. Facts come from contract.md and interface.md; the TypeScript side
// is generated from these types by contract/gen.
package contract

//go:generate go run ./gen
