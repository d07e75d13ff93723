package child

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// killBudget is how long Kill looks for what is left of a group.
	killBudget = 2 * time.Second
	// killPause is the pause between two looks.
	killPause = 2 * time.Millisecond
)

// Options of one [Start].
type Options struct {
	Marker Marker
	// Session gives the child a session of its own instead of only a process
	// group, so that it has no controlling terminal: what would ask for a
	// password on /dev/tty fails instead of waiting. No effect on Windows.
	Session bool
	// Register records the group, usually [Registry.Register]; may be nil. The
	// returned function is called by [Group.Release].
	Register func(*Group) (release func())
}

// Group is a started command and everything that it started in turn. Its methods
// are safe for concurrent use, [Group.Wait] once.
type Group struct {
	// ID is the value of the group's marker, 32 hexadecimal digits.
	ID string
	// PID is the process that was started; on Unix also the process group id.
	PID int
	// Start is the start time of that process, see [Process].
	Start uint64
	// Command is a short text for people. It is never longer than 120 characters.
	Command string
	// Since is when it was started.
	Since time.Time

	cmd     *exec.Cmd
	os      platform
	reaped  atomic.Bool
	release func()
	once    sync.Once
}

// Start starts cmd in a group of its own. cmd.Env is the explicit environment,
// nil meaning an empty one; the markers are added here. The error names the
// program and says whether it is missing.
//
// A child is started with pipes that the caller owns, or with files: a Writer in
// cmd.Stdout makes Wait last until every heir has closed the pipe (F18, F20).
func Start(cmd *exec.Cmd, o Options) (*Group, error) {
	g := &Group{ID: newGroupID(), Since: time.Now(), cmd: cmd}
	cmd.Env = o.Marker.Environ(cmd.Env, g.ID)
	prepare(cmd, o.Session)
	if err := cmd.Start(); err != nil {
		return nil, startError(cmd, err)
	}
	g.PID = cmd.Process.Pid
	g.Command = shortCommand(strings.Join(cmd.Args, " "))
	g.adopt(o)
	return g, nil
}

// Environ returns the environment and the group id for a process that somebody
// else starts, a PTY library for example, before it is handed to [Adopt].
func Environ(base []string, m Marker) (env []string, id string) {
	id = newGroupID()
	return m.Environ(base, id), id
}

// Adopt makes a Group of a running process that leads its own process group and
// was started with the environment of [Environ]. The starter keeps cmd.Wait and
// calls [Group.Reaped] after it.
func Adopt(pid int, id, command string, o Options) *Group {
	g := &Group{ID: id, PID: pid, Since: time.Now(), Command: shortCommand(command)}
	g.adopt(o)
	return g
}

func (g *Group) adopt(o Options) {
	// Read before anybody waits for it, so the pid cannot have been reused.
	g.Start, _ = StartOf(g.PID)
	g.os.attach(g.PID)
	if o.Register != nil {
		g.release = o.Register(g)
	}
}

// Wait waits for the started process, not for what it left behind, and returns
// what exec.Cmd.Wait returns.
func (g *Group) Wait() error {
	err := g.cmd.Wait()
	g.reaped.Store(true)
	return err
}

// Reaped says that somebody else's Wait has returned: from here on the pid may
// belong to a foreign process.
func (g *Group) Reaped() { g.reaped.Store(true) }

// Terminate asks every process of the group to end: SIGTERM on Unix. On Windows
// there is no such thing for programs without a window, and it does nothing.
func (g *Group) Terminate() { g.signal(false) }

// Kill ends every process of the group: SIGKILL to the process group at once,
// then, for at most 2 s, whatever still carries the group's marker, until a look
// finds nothing. It returns the number of processes that are left, 0 if all is
// well; what cannot be ended waits inside the kernel.
//
// Gap: a program that leaves the process group and also drops its environment
// is not found.
func (g *Group) Kill() int {
	deadline := time.Now().Add(killBudget)
	for {
		g.signal(true)
		left := len(g.Processes())
		if left == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(killPause)
	}
}

func (g *Group) signal(force bool) {
	if !g.reaped.Load() {
		// The leader, running or a zombie, holds the number: it is ours.
		g.os.signalGroup(g.PID, force)
	}
	for _, p := range g.Processes() {
		_ = end(p, force)
	}
}

// Processes returns what runs of the group, zombies not counted. It reads the
// process table, some milliseconds.
func (g *Group) Processes() []Process {
	out := g.look()
	if len(out) == 0 {
		// The table is read entry by entry: a process that forked and ended
		// behind the reader's back shows only the second time.
		out = g.look()
	}
	return out
}

func (g *Group) look() []Process {
	all, err := list()
	if err != nil {
		return nil
	}
	taken := false // the number has a new owner
	for _, p := range all {
		if p.PID == g.PID && p.Start != g.Start {
			taken = true
		}
	}
	var out []Process
	for _, p := range all {
		if !p.zombie && g.holds(p, taken) {
			out = append(out, p)
		}
	}
	return out
}

// Alive reports whether anything of the group still runs.
func (g *Group) Alive() bool { return len(g.Processes()) > 0 }

// Release takes the group off its registry and frees what the system keeps for
// it. It is called once the group has ended; later calls do nothing. On Windows
// it ends what still runs.
func (g *Group) Release() {
	g.once.Do(func() {
		g.os.close()
		if g.release != nil {
			g.release()
		}
	})
}

func newGroupID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

func startError(cmd *exec.Cmd, err error) error {
	switch {
	case cmd.Dir != "" && !isDir(cmd.Dir):
		return fmt.Errorf("child: cannot start %s: the folder %s does not exist: %w", cmd.Path, cmd.Dir, err)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("child: cannot start %s: the program was not found; install it or correct the path: %w", cmd.Path, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("child: cannot start %s: it may not be executed; correct its permissions: %w", cmd.Path, err)
	}
	return fmt.Errorf("child: cannot start %s: %w", cmd.Path, err)
}

func isDir(dir string) bool {
	st, err := os.Stat(dir)
	return err == nil && st.IsDir()
}
