package contract

import "time"

// TerminalState is what a terminal does.
type TerminalState string

// The states of a terminal. An ended one keeps its last screen until it is
// closed or restarted.
const (
	TerminalStarting TerminalState = "starting"
	TerminalRunning  TerminalState = "running"
	TerminalEnded    TerminalState = "ended"
)

// PresetKind tells the agents among what can be opened in a terminal from the
// shells.
type PresetKind string

// The two kinds of presets.
const (
	PresetAgent PresetKind = "agent"
	PresetShell PresetKind = "shell"
)

// MaxTerminalArgs is how many arguments a terminal's program may be given.
// Source: ui.md 15.
const MaxTerminalArgs = 32

// MaxTerminalInput is the largest input frame in bytes that a window sends, its
// type byte not counted: a longer paste is cut into several, so that it can be
// stopped. Source: ui.md 15.
const MaxTerminalInput = 64 << 10

// Parameters and results of the terminal methods. Source: interface.md 4 and 5,
// ui.md 15.
type (
	// OpenTerminalParams starts a program in a terminal. Without a command it is
	// the person's shell, without an id a new one is made. Cwd is an absolute
	// folder; empty or "/" is a scratch folder of the service. Env is added to
	// the service's own environment.
	OpenTerminalParams struct {
		TerminalID TerminalID        `json:"terminal_id,omitempty"`
		Command    string            `json:"command,omitempty"`
		Args       []string          `json:"args,omitempty"`
		Cwd        string            `json:"cwd"`
		Env        map[string]string `json:"env,omitempty"`
		Cols       int               `json:"cols"`
		Rows       int               `json:"rows"`
	}
	// OpenTerminalResult answers open_terminal.
	OpenTerminalResult struct {
		TerminalID TerminalID `json:"terminal_id"`
	}
	// TerminalParams names one terminal.
	TerminalParams struct {
		TerminalID TerminalID `json:"terminal_id"`
	}
	// ResizeTerminalParams sets a terminal's size. It always counts, whoever
	// owns the size; the frames of a window count only from the owner.
	ResizeTerminalParams struct {
		TerminalID TerminalID `json:"terminal_id"`
		Cols       int        `json:"cols"`
		Rows       int        `json:"rows"`
	}
	// RestartTerminalParams ends what runs in a terminal and starts it again in
	// place, or another program when a command is given; then args, cwd and env
	// are those of open_terminal.
	RestartTerminalParams struct {
		TerminalID TerminalID        `json:"terminal_id"`
		Command    string            `json:"command,omitempty"`
		Args       []string          `json:"args,omitempty"`
		Cwd        string            `json:"cwd,omitempty"`
		Env        map[string]string `json:"env,omitempty"`
	}
	// Terminal is what list_terminals tells of one.
	Terminal struct {
		TerminalID TerminalID    `json:"terminal_id"`
		Command    string        `json:"command"`
		Args       []string      `json:"args"`
		Cwd        string        `json:"cwd"`
		State      TerminalState `json:"state"`
		// ChildPID is the OS process of the program, 0 when none runs.
		ChildPID int    `json:"child_pid"`
		Cols     int    `json:"cols"`
		Rows     int    `json:"rows"`
		Title    string `json:"title"`
		// ExitCode is null while the program runs. It is -1 after a signal,
		// whose name is Signal then, and after a stop of the service.
		ExitCode *int    `json:"exit_code"`
		Signal   *string `json:"signal"`
		// Offset is the number of bytes that the terminal has put out, Viewers
		// how many look on.
		Offset  uint64    `json:"offset"`
		Viewers int       `json:"viewers"`
		Started time.Time `json:"started"`
	}
	// TerminalPreset is a program that was found on PATH and may be opened.
	TerminalPreset struct {
		ID    string     `json:"id"`
		Label string     `json:"label"`
		Kind  PresetKind `json:"kind"`
		// Command is for open_terminal; Path is where it was found.
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Path    string   `json:"path"`
		// Default is set for the person's own shell.
		Default bool `json:"default"`
	}
)

// The payloads of the terminal family. Source: interface.md 3 and 4.
type (
	// TerminalOpenedEvent says that a program has begun, also after a restart in
	// place.
	TerminalOpenedEvent struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Cwd     string   `json:"cwd"`
		Cols    int      `json:"cols"`
		Rows    int      `json:"rows"`
	}
	// TerminalExitedEvent says how it ended: Signal is a name such as SIGTERM or
	// null.
	TerminalExitedEvent struct {
		ExitCode int     `json:"exit_code"`
		Signal   *string `json:"signal"`
	}
	// TerminalResizedEvent is the size in force.
	TerminalResizedEvent struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	}
	// TerminalTitleEvent is the title that the program has set.
	TerminalTitleEvent struct {
		Title string `json:"title"`
	}
	// TerminalClosedEvent says that the terminal is gone.
	TerminalClosedEvent struct{}
)
