// Package terminal is the actor of one terminal: a program in a PTY, the screen
// that it draws, and everybody who looks on.
//
// It owns the program from start to the last process of its session, the output
// as a stream of bytes with offsets, and a model of the screen. It publishes
// terminal.opened, terminal.resized, terminal.title and terminal.exited; the
// bytes themselves never go through the log. It is never restarted: a program
// that has ended stays as its last screen until somebody closes it or starts it
// again in place.
//
// It promises:
//
//   - the program gets exactly the environment of its spec and the markers of
//     package child, and starts at the size that was wanted last;
//   - no byte that the program wrote is lost before its end is told, and input
//     is written whole, however slowly the program reads; a view that sends more
//     than 256 KiB ahead waits in Take;
//   - a view first gets size and snapshot and then every byte behind it, sizes
//     in their place, and the exit last. No frame cuts a character in two;
//   - the program runs at the pace of the fastest view that moves, and at its
//     own when none does within 1 s. A view that the ring of 1 MiB overtakes, or
//     that leaves 1 MiB unacknowledged, is skipped and gets a fresh snapshot
//     when it has caught up with its acknowledgements: it costs the others
//     nothing;
//   - one view owns the size, the one that last typed (an empty input frame does
//     too); sizes of the others do nothing, and attaching changes nothing;
//   - of the replies that every window's terminal gives to a query, one reaches
//     the program. Without a window that may write, the screen model answers;
//   - a terminal takes at most 8 MB, whatever is written;
//   - closing leaves no process: SIGHUP to the session, 2 s, SIGKILL to what is
//     left of it and to whatever carries its marker. The same happens to what a
//     program leaves behind when it ends by itself.
//
// It asks of others: msg.Publisher for events, the person's role from the bridge
// (msg.AttachTerminal.Write), and for Options.Keep somebody who keeps the last
// screen over a restart of the service.
//
// actor.go and meta.go are the shell. stream.go and view.go are one value with a
// lock, shared by reader, screen and views; frame.go and reply.go are pure, as is
// the package screen below this one.
//
// Sources: interface.md 5, actors.md 4, real-parts.md (creack/pty), faults.md E.
package terminal
