package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of sys/proc.h.
const zombieState = 5

// machine is empty: start times are absolute here.
func machine() string { return "" }

// markersReadable is false: ps shows the environment of most, not of all
// programs of the user, so a recorded group may be proved by its start time.
const markersReadable = false

func list() ([]Process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil, fmt.Errorf("child: read the process table: %w", err)
	}
	env := environments("-x")
	out := make([]Process, 0, len(all))
	for i := range all {
		p := fromKinfo(&all[i])
		p.readMarkers(env[p.PID])
		out = append(out, p)
	}
	return out, nil
}

func inspect(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return Process{}, os.ErrNotExist
	}
	p := fromKinfo(k)
	p.readMarkers(environments("-p", strconv.Itoa(pid))[pid])
	return p, nil
}

func fromKinfo(k *unix.KinfoProc) Process {
	sid, err := unix.Getsid(int(k.Proc.P_pid))
	if err != nil {
		sid = 0
	}
	return Process{
		PID: int(k.Proc.P_pid), PPID: int(k.Eproc.Ppid), PGID: int(k.Eproc.Pgid), SID: sid,
		Start:   uint64(k.Proc.P_starttime.Sec)*1_000_000 + uint64(k.Proc.P_starttime.Usec),
		Command: shortCommand(unix.ByteSliceToString(k.Proc.P_comm[:])),
		zombie:  k.Proc.P_stat == zombieState,
	}
}

// environments asks ps for arguments and environment, one text per pid.
func environments(which ...string) map[int]string {
	b, err := exec.Command("/bin/ps", append([]string{"-E", "-ww", "-o", "pid=,command="}, which...)...).Output()
	if err != nil {
		return nil
	}
	out := map[int]string{}
	for line := range strings.SplitSeq(string(b), "\n") {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(id); err == nil {
			out[pid] = rest
		}
	}
	return out
}

// readMarkers looks for the markers in a text whose entries are parted by single
// spaces. A data directory may hold spaces itself, so it reaches to the marker
// behind it: [Marker.Environ] writes the three side by side and in one order.
func (p *Process) readMarkers(text string) {
	_, after, ok := strings.Cut(text, " "+EnvBootID+"=")
	if !ok {
		return
	}
	boot, after, ok := strings.Cut(after, " "+EnvHome+"=")
	if !ok {
		return
	}
	home, group, ok := strings.Cut(after, " "+EnvGroup+"=")
	if !ok {
		return
	}
	group, _, _ = strings.Cut(group, " ")
	p.boot, p.home, p.group = boot, home, group
}

// end signals exactly the process p, directly after comparing its start time:
// the system has no handle that survives the reuse of a pid.
func end(p Process, force bool) error {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID)
	if err != nil || fromKinfo(k).Start != p.Start || fromKinfo(k).zombie {
		return nil
	}
	sig := syscall.SIGTERM
	if force {
		sig = syscall.SIGKILL
	}
	err = syscall.Kill(p.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
