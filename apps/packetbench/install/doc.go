// Package install puts the sidecar and the vendors' agent SDKs on disk and says
// what of them is there.
//
// [Install] owns the folders below its root: it works in a folder of its own
// beside the others and puts that in place, by a rename, once a handshake and a
// load of each SDK have shown that it runs. What was there before is usable
// until then, and what an interrupted run left is never looked at and removed
// by the next one. [Look] reads a few small files and starts nothing, which is
// what a badge can afford; [Handshake] starts the child for a moment.
//
// Errors are sentences for a person: what happened and what to do. The SDKs are
// fetched by the person's own npm, by the lockfile that is part of the program
// and without install scripts. No key is given to npm or to what is checked.
//
// Source: sidecar-protocol.md 4, 7 and 9, real-parts.md 2.
package install
