//go:build unix

package tool

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// nonblock keeps the open of a named pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// keepOwner gives f the owner of old, as far as we may: a service that runs as
// another user must not take the user's files over.
func keepOwner(f *os.File, old os.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if mine, err := f.Stat(); err == nil {
		if m, ok := mine.Sys().(*syscall.Stat_t); ok && m.Uid == st.Uid && m.Gid == st.Gid {
			return
		}
	}
	_ = f.Chown(int(st.Uid), int(st.Gid))
}

// shell returns the command that interprets a command line.
func shell(command string) *exec.Cmd {
	return exec.Command("/bin/sh", "-c", command)
}
