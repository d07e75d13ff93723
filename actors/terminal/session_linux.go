package terminal

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/actors/child"
)

// awaitExit waits until a child of ours has ended, and leaves it unreaped. It
// takes no thread: the runtime's poller watches the process.
func awaitExit(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer f.Close()
		if conn, err := f.SyscallConn(); err == nil && conn.Read(hasEnded) == nil {
			return
		}
	}
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// hasEnded reports whether the process behind a pidfd has ended.
func hasEnded(fd uintptr) bool {
	list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(list, 0)
	return err == nil && n == 1
}

// members are the living processes of a session. Somebody else may lead one of
// that number once all of ours are gone; then there are none.
func members(session int, start uint64) []member {
	names, err := readNames("/proc")
	if err != nil {
		return nil
	}
	var out []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		sid, err := unix.Getsid(pid)
		if err != nil || sid != session {
			continue
		}
		began, err := child.StartOf(pid)
		if err != nil {
			continue
		}
		if pid == session && began != start {
			return nil
		}
		if began >= start && child.Alive(pid, began) {
			out = append(out, member{pid, began})
		}
	}
	return out
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
