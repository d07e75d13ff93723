// Package screen follows the output of one terminal and can say at any moment
// what a window must be sent to show the same.
//
// It is pure: bytes in, cells and modes inside, bytes out. A [Screen] takes
// output cut anywhere ([Screen.Write]) and changes of size in their place in the
// stream ([Screen.Resize]). [Screen.Snapshot] returns bytes that rebuild it in a
// terminal that was just opened or is reset: scrollback, both screens, wrapping,
// cursor, modes, margins, tab stops, character sets, title, links, changed
// colours, and the start of a sequence that is not complete. What follows in the
// stream then has the effect it would have had. A snapshot contains no query, so
// nothing is answered twice; what the program asked is in [Screen.Answers] for
// the case that nobody else can answer.
//
// The terminal that it follows is xterm.js 6.0 with its defaults, since that is
// what a person sees: its widths (Unicode 6), its reflow, its order of things at
// the right margin. The rules are written down from its behaviour and checked
// against it with random and recorded output (reference_test.go).
//
// Memory is bounded: cells of two screens, and Options.Bytes for the scrollback,
// which is kept as encoded lines and not as cells. Lines go when either bound is
// reached.
//
// What differs from a terminal that saw the whole stream:
//
//   - colours and flags of a cell that was never written, other than its
//     background colour;
//   - that the topmost line of the scrollback continues one that is gone;
//   - a cursor that waits behind the last column of a partly blank row whose
//     last column is blank: that column becomes a space;
//   - a mark that comes in insert mode behind a snapshot stands alone;
//   - a cursor that was saved on a line which has left the screen since, and a
//     character set that "restore cursor" put in force over another one and that
//     is no longer the saved one;
//   - how lines with erased or wide cells in unusual places break anew when the
//     width changes, and half a wide character in the last column;
//   - the first 4,096 links and the first 4,096 combinations of underline and
//     link are kept, later ones are shown without.
package screen
