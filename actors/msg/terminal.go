package msg

import (
	"context"
	"errors"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// TerminalSpec says what runs in a terminal.
type TerminalSpec struct {
	// Command is a program: a path, or a name that is looked up in the PATH of
	// Env. Whether it is allowed was decided by whoever sends this.
	Command string
	Args    []string
	// Cwd is an existing folder.
	Cwd string
	// Env is the whole environment, NAME=value; nothing of the service's own is
	// added but the markers of child processes.
	Env []string
	// Cols and Rows are the first size.
	Cols, Rows int
}

// Messages to a terminal's actor. It is started by an Ensure of TerminalName(id)
// to terminals_sup whose only argument is TerminalOpen; Ensured.Created is false
// when the id is in use. Then DescribeTerminal says whether its program runs.
type (
	// TerminalOpen is the argument of the Ensure. With Image the terminal is one
	// that ended in an earlier run of the service: it shows its last screen and
	// runs nothing. Spec is not used then.
	TerminalOpen struct {
		Spec  TerminalSpec
		Image *TerminalImage
	}
	// DescribeTerminal is a Call, answered by TerminalDescribed as soon as the
	// program runs, has ended, or could not be started. In the last case the
	// terminal is gone and its id free.
	DescribeTerminal struct{}
	// TerminalDescribed answers DescribeTerminal and RestartTerminal.
	TerminalDescribed struct {
		Info    TerminalInfo
		Failure *contract.Failure
	}
	// AttachTerminal is a Call: somebody looks on. Answered by TerminalAttached.
	AttachTerminal struct {
		// Write lets the view send input and sizes; false for a monitor.
		Write bool
		// Wake has room for one value and gets one, without waiting for a
		// receiver, whenever Frame may have something to return.
		Wake chan<- struct{}
	}
	// TerminalAttached answers AttachTerminal. The view is the caller's to Close.
	TerminalAttached struct {
		View    TerminalView
		Failure *contract.Failure
	}
	// ResizeTerminal is a Call by somebody who is no view: the command. It
	// always counts and changes no owner. Answered by TerminalDone.
	ResizeTerminal struct{ Cols, Rows int }
	// RestartTerminal is a Call: end what runs, if anything does, and start
	// again in place. Views stay and get a fresh snapshot. Spec replaces the
	// first one when it is not nil; its size does not, the terminal keeps its
	// own. Answered by TerminalDescribed, within 5 s.
	RestartTerminal struct{ Spec *TerminalSpec }
	// CloseTerminal is a Call: end everything that runs in the terminal and then
	// the terminal. Answered by TerminalDone when no process is left, within
	// 5 s; call with 8 s.
	CloseTerminal struct{}
	// TerminalDone answers ResizeTerminal and CloseTerminal.
	TerminalDone struct{ Failure *contract.Failure }
)

// TerminalState is what a terminal does.
type TerminalState string

// The states of a terminal. An ended one keeps its last screen until it is
// closed or restarted.
const (
	TerminalStarting TerminalState = "starting"
	TerminalRunning  TerminalState = "running"
	TerminalEnded    TerminalState = "ended"
)

// TerminalExit is how a program ended: Signal is a name such as SIGTERM, and
// then Code is -1; otherwise it is empty.
type TerminalExit struct {
	Code   int
	Signal string
}

// TerminalInfo is what can be told about a terminal.
type TerminalInfo struct {
	ID      contract.TerminalID
	Command string
	Args    []string
	Cwd     string
	State   TerminalState
	// PID is the program's, 0 when none runs.
	PID        int
	Cols, Rows int
	Title      string
	// Exit is nil until the program has ended.
	Exit *TerminalExit
	// Offset is the number of bytes that the terminal has put out.
	Offset uint64
	// Viewers is how many look on.
	Viewers int
	Started time.Time
	// Restored says that it ended in an earlier run of the service: its program
	// cannot be started again without a new spec.
	Restored bool
}

// TerminalImage is what is left of a terminal when its process or the service
// has ended. It holds no environment.
type TerminalImage struct {
	Info TerminalInfo
	// Snapshot repaints the last screen with its scrollback, at the size of
	// Info.
	Snapshot []byte
	// At is when it was taken.
	At time.Time
}

// TerminalView is one client's side of a terminal. Frames are those of
// interface.md 5, one WebSocket message each. Frame belongs to one goroutine,
// Take to one; both may run at once, and Close from anywhere. An acknowledgement
// may be taken beside an input that waits: the program may be waiting for it.
type TerminalView interface {
	// Frame appends the next frame for the client to buf[:0] and returns it, or
	// nil when there is none for now. It never waits for the client or for the
	// program. The first frames are the size and a snapshot.
	Frame(buf []byte) []byte
	// Take takes a frame of the client. It waits while the program does not
	// read what it was sent, at most until ctx ends. ErrTerminalReadOnly and
	// ErrTerminalFrame are the client's fault; input to a program that has ended
	// is dropped.
	Take(ctx context.Context, frame []byte) error
	// Room says that Take would not wait now for an input of so many bytes.
	Room(bytes int) bool
	// Gone is closed when the terminal was closed or its actor has died. Frame
	// then still returns what is left, the exit last, and nothing after that.
	Gone() <-chan struct{}
	// Close ends the view; nothing is sent to its wake after that.
	Close()
}

// What a client's frame may be refused with.
var (
	ErrTerminalReadOnly = errors.New(contract.TextMonitor)
	ErrTerminalFrame    = errors.New("terminal: not a frame of a client")
)

// Messages to the store about what is left of terminals. At most
// config.MaxTerminalImages are kept, the newest, and at most
// config.MaxTerminalImageBytes of them on the disk.
type (
	// SaveTerminalImage is a Send; it replaces the one before.
	SaveTerminalImage struct{ Image TerminalImage }
	// ForgetTerminalImage is a Call, answered by Done, and may be sent too.
	ForgetTerminalImage struct{ ID contract.TerminalID }
	// ListTerminalImages is a Call, answered by []TerminalInfo of everything
	// that is kept, also of terminals that run.
	ListTerminalImages struct{}
	// LoadTerminalImage is a Call, answered by LoadedTerminalImage.
	LoadTerminalImage struct{ ID contract.TerminalID }
	// LoadedTerminalImage answers LoadTerminalImage; Image is nil when nothing
	// is kept.
	LoadedTerminalImage struct{ Image *TerminalImage }
)
