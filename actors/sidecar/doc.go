// Package sidecar is the host's half of protocol 11, by which the service
// speaks with the Node child that runs the vendors' agent SDKs.
//
// frame.go reads and writes single lines, translate.go turns one frame into
// what its conversation has to hear, negotiate.go judges the child's version,
// entry.go finds the script and the Node to run it. All of it is pure: no
// process, no clock, no file but through a parameter. The conversation ids of
// this package are the session ids of the wire; the vendor's own never leave
// the child.
//
// Source: sidecar-protocol.md, contract.md 2.1.
package sidecar
