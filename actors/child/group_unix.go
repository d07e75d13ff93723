//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// platform holds what the system needs to keep for a group; nothing on Unix.
type platform struct{}

func prepare(cmd *exec.Cmd, session bool) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if session {
		cmd.SysProcAttr.Setsid = true
	} else {
		cmd.SysProcAttr.Setpgid = true
	}
}

func (platform) attach(int) {}
func (platform) close()     {}

func (platform) signalGroup(pgid int, force bool) {
	if pgid <= 1 {
		return // 0 and 1 would mean our own group and everybody
	}
	sig := syscall.SIGTERM
	if force {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-pgid, sig)
}

// holds reports whether p belongs to the group: it carries the marker, or it is
// in the process group and nobody else leads a group of that number by now.
func (g *Group) holds(p Process, taken bool) bool {
	if p.group == g.ID {
		return true
	}
	return !taken && p.PGID == g.PID && p.Start >= g.Start
}
