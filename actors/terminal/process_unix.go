//go:build unix

package terminal

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
)

// process is a program and the master side of its terminal.
type process struct {
	cmd    *exec.Cmd
	file   *os.File
	group  *child.Group
	exited chan struct{} // Closed when the program is no longer running.
	gone   chan struct{} // Closed when nothing of its session is left.
	hup    sync.Once
	cut    chan struct{} // Closed when its grace is over at once.
	cutOne sync.Once
}

// start starts the program at its size. The program leads a session of its own
// whose terminal this is.
func start(spec msg.TerminalSpec, s size, marker child.Marker, register func(*child.Group) func()) (*process, error) {
	cmd, id := command(spec, marker)
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: s.cols, Rows: s.rows})
	if err != nil {
		return nil, err
	}
	file, err := pollable(master)
	if err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		return nil, err
	}
	p := &process{cmd: cmd, file: file, exited: make(chan struct{}), gone: make(chan struct{}), cut: make(chan struct{})}
	p.group = child.Adopt(cmd.Process.Pid, id, spec.Command, child.Options{Register: register})
	return p, nil
}

// pollable wraps the master anew, so that Close ends a Read that waits: on the
// file of the PTY library neither Close nor a deadline does. It closes f.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	_ = f.Close()
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "ptmx"), nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) setSize(s size) error {
	return pty.Setsize(p.file, &pty.Winsize{Cols: s.cols, Rows: s.rows})
}

// pump carries bytes both ways until the program has ended and all it wrote is
// in the stream, and returns how it ended. What it left in the background is
// ended after that, see gone.
func (p *process) pump(st *stream, life int) msg.TerminalExit {
	var wg sync.WaitGroup
	wg.Go(func() { p.write(st, life) })
	wg.Go(p.watch)
	read := make(chan struct{})
	wg.Go(func() {
		select {
		case <-read:
		case <-p.exited:
			select {
			case <-read:
			case <-time.After(tailWait):
				_ = p.file.SetReadDeadline(time.Now())
			}
		}
	})
	for p.read(st) {
	}
	close(read)
	<-p.exited
	left := p.left()
	_ = p.cmd.Wait()
	p.group.Reaped()
	e := exitOf(p.cmd.ProcessState)
	st.end(exitFrame(e))
	_ = p.file.Close() // Ends a write that waits.
	wg.Wait()
	go p.sweep(left)
	return e
}

// read takes one piece of output. It returns false at the end: EIO on Linux, EOF
// elsewhere.
func (p *process) read(st *stream) bool {
	room := st.space()
	if room == nil {
		return false
	}
	n, err := p.file.Read(room)
	if n > 0 {
		st.put(n)
	}
	return err == nil || errors.Is(err, io.ErrShortBuffer) || errors.Is(err, syscall.EINTR)
}

// write gives the program its input; a short write goes on where it stopped
// (F57).
func (p *process) write(st *stream, life int) {
	buf := make([]byte, 16<<10)
	for {
		b := st.takeKeys(life, buf)
		if b == nil {
			return
		}
		for len(b) > 0 {
			n, err := p.file.Write(b)
			b = b[n:]
			if err != nil && !errors.Is(err, syscall.EINTR) {
				return // It has ended, which the reader sees as well.
			}
		}
	}
}

// watch closes exited when the program has ended; it is not reaped yet then, so
// its number, and that of its session, is still ours.
func (p *process) watch() {
	awaitExit(p.pid())
	close(p.exited)
}

// end asks everything in the terminal to go, as a line that was hung up does,
// and insists after the grace.
func (p *process) end() {
	p.hup.Do(func() {
		_ = syscall.Kill(-p.pid(), syscall.SIGHUP)
		p.hangUp(p.left())
		go func() {
			select {
			case <-p.exited:
				return
			case <-p.cut:
			case <-time.After(hangup):
			}
			p.killSession()
		}()
	})
}

// kill ends everything at once.
func (p *process) kill() {
	p.cutOne.Do(func() { close(p.cut) })
	select {
	case <-p.gone:
	default:
		p.killSession()
	}
}

func (p *process) killSession() {
	select {
	case <-p.exited:
	default:
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
	}
	for _, m := range members(p.pid(), p.group.Start) {
		m.signal(syscall.SIGKILL)
	}
}

// left are the processes of the session besides the leader.
func (p *process) left() []member {
	var out []member
	for _, m := range members(p.pid(), p.group.Start) {
		if m.pid != p.pid() {
			out = append(out, m)
		}
	}
	return out
}

// hangUp tells processes that the terminal is gone, stopped ones too.
func (p *process) hangUp(list []member) {
	for _, m := range list {
		m.signal(syscall.SIGHUP)
		m.signal(syscall.SIGCONT)
	}
}

// sweep ends what the program left behind, in its session or with its marker,
// and closes gone. Deliberate: also what was meant to stay, a daemon that was
// started in the terminal. Nothing outlives its owner.
func (p *process) sweep(left []member) {
	defer close(p.gone)
	p.hangUp(left)
	wait := time.NewTimer(hangup)
	defer wait.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for len(left) > 0 {
		select {
		case <-look.C:
			left = alive(left)
			continue
		case <-p.cut:
		case <-wait.C:
		}
		break
	}
	deadline := time.Now().Add(hangup)
	for {
		list := members(p.pid(), p.group.Start)
		for _, m := range list {
			m.signal(syscall.SIGKILL)
		}
		if len(list) == 0 || time.Now().After(deadline) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	p.group.Kill()
	p.group.Release()
}

// member is one process of a session.
type member struct {
	pid   int
	start uint64
}

// signal signals exactly this process: the number is compared with the start
// time while the handle is held.
func (m member) signal(s syscall.Signal) {
	h, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer func() { _ = h.Release() }()
	if child.Alive(m.pid, m.start) {
		_ = h.Signal(s)
	}
}

func alive(list []member) []member {
	var out []member
	for _, m := range list {
		if child.Alive(m.pid, m.start) {
			out = append(out, m)
		}
	}
	return out
}

func signalOf(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
