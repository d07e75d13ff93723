package terminal

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/actors/child"
)

// awaitExit waits until a child of ours has ended, and leaves it unreaped. The
// system has no call for that, so its state is looked at.
func awaitExit(pid int) {
	start, err := child.StartOf(pid)
	for err == nil && child.Alive(pid, start) {
		time.Sleep(5 * time.Millisecond)
	}
}

// members are the living processes of a session. Somebody else may lead one of
// that number once all of ours are gone; then there are none.
func members(session int, start uint64) []member {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil
	}
	var out []member
	for i := range all {
		pid := int(all[i].Proc.P_pid)
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
