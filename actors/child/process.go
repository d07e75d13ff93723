package child

import "strings"

// Process is one OS process as the system shows it.
type Process struct {
	// PID, PPID, PGID and SID are as on Unix; on Windows only PID and PPID.
	PID, PPID, PGID, SID int
	// Start orders processes and tells a reused pid from the old one. Its unit
	// is the system's: clock ticks since boot on Linux, microseconds since 1970
	// on darwin, 100 ns since 1601 on Windows.
	Start uint64
	// Command is a short text for people: the program and its arguments.
	Command string

	zombie            bool
	boot, home, group string // markers; empty when they cannot be read
}

// Alive reports whether the process with this pid and start time still runs. A
// zombie does not run: it only waits for its parent.
func Alive(pid int, start uint64) bool {
	p, err := inspect(pid)
	return err == nil && p.Start == start && !p.zombie
}

// StartOf returns the start time of a process, in the unit of [Process].Start.
func StartOf(pid int) (uint64, error) {
	p, err := inspect(pid)
	return p.Start, err
}

// markersIn reads the markers out of an environment block, entries ended by sep.
func (p *Process) markersIn(env string, sep string) {
	for e := range strings.SplitSeq(env, sep) {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			continue
		}
		switch name {
		case EnvBootID:
			p.boot = value
		case EnvHome:
			p.home = value
		case EnvGroup:
			p.group = value
		}
	}
}

// lineage returns pid and its ancestors: what a sweep must never end, because
// the service may have been started by hand from a shell that a dead boot left.
func lineage(pid int) map[int]bool {
	out := map[int]bool{}
	for pid > 0 && !out[pid] {
		out[pid] = true
		p, err := inspect(pid)
		if err != nil {
			break
		}
		pid = p.PPID
	}
	return out
}

// maxCommandRunes bounds Process.Command.
const maxCommandRunes = 120

// shortCommand makes one readable line of a command.
func shortCommand(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if r := []rune(s); len(r) > maxCommandRunes {
		return string(r[:maxCommandRunes]) + "..."
	}
	return s
}
