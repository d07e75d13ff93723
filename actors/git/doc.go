// Package git runs the person's own git for the service: what a window shows of
// a project, the files an @ may name, and the life of a conversation's worktree.
//
// It is a library, not an actor: a conversation and the doors use it through the
// wiring, on goroutines of their own, because every call here may take as long
// as git does. What it promises:
//
//   - Each run of git is a process group of its own (package child), with an
//     explicit environment, without a terminal, and ends within its limit. No
//     run asks a question: what would need a password fails and says so. Hooks
//     of the repository run where the person's own git would run them.
//   - A failure is an [Error]: its text is git's own, for a person to read.
//   - [Git.Land] leaves the root checkout exactly as it was unless it succeeds.
//     It looks for conflicts before it touches a file, and never runs in a root
//     that has changes of its own. Endings of one repository wait for each other.
//   - Reading takes no lock of the repository, so that it never disturbs a
//     person's own command, and never runs a file system monitor, which is a
//     program that a foreign folder could name.
//   - Results are shared: all who ask for the status or the files of a folder
//     within a while cost one run.
//
// Source of the rules: mcp-state.md 11, ui.md 5.2, 6 and 12.
package git
