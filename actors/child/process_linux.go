package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// machine names this run of the kernel: start times of another one mean nothing.
func machine() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// markersReadable says that the environment of our own processes can be read.
const markersReadable = true

// list returns every process that can be seen. One that ends meanwhile is left
// out.
func list() ([]Process, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("child: read the process table: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("child: read the process table: %w", err)
	}
	var out []Process
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if p, err := inspect(pid); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}

func inspect(pid int) (Process, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return Process{}, err
	}
	p, err := parseStat(stat)
	if err != nil {
		return Process{}, err
	}
	if p.zombie {
		return p, nil
	}
	// Unreadable for processes of other users; they carry no marker of ours.
	if env, err := os.ReadFile(dir + "/environ"); err == nil && bytes.Contains(env, []byte(EnvBootID+"=")) {
		p.markersIn(string(env), "\x00")
		if cmd, err := os.ReadFile(dir + "/cmdline"); err == nil && len(cmd) > 0 {
			p.Command = shortCommand(strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return p, nil
}

// parseStat reads /proc/PID/stat. The name, in parentheses, may hold anything,
// so fields are counted from the last parenthesis. Source: proc_pid_stat(5),
// fields 3 to 6 and 22.
func parseStat(b []byte) (Process, error) {
	bad := errors.New("child: unreadable process status")
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Process{}, bad
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	if err != nil {
		return Process{}, bad
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return Process{}, bad
	}
	p := Process{PID: pid, Command: shortCommand(string(b[open+1 : end]))}
	switch f[0] {
	case "Z", "X", "x":
		p.zombie = true
	}
	for i, to := range []*int{&p.PPID, &p.PGID, &p.SID} {
		if *to, err = strconv.Atoi(f[1+i]); err != nil {
			return Process{}, bad
		}
	}
	if p.Start, err = strconv.ParseUint(f[19], 10, 64); err != nil {
		return Process{}, bad
	}
	return p, nil
}

// end signals exactly the process p. os.FindProcess holds a pidfd, taken before
// the look that compares, so a reused pid cannot be hit.
func end(p Process, force bool) error {
	h, err := os.FindProcess(p.PID)
	if err != nil {
		return nil
	}
	defer h.Release()
	now, err := inspect(p.PID)
	if err != nil || now.Start != p.Start || now.zombie {
		return nil
	}
	sig := syscall.SIGTERM
	if force {
		sig = syscall.SIGKILL
	}
	err = h.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
