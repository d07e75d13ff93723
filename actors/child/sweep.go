package child

import (
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// sweepGrace is how long an orphan has between SIGTERM and SIGKILL.
	sweepGrace = 500 * time.Millisecond
	// sweepBudget bounds the whole sweep; a start must not wait for a process
	// that hangs inside the kernel.
	sweepBudget = 5 * time.Second
	sweepPause  = 10 * time.Millisecond
)

// Ended is one process that a sweep ended.
type Ended struct {
	PID     int
	BootID  string
	Command string
}

// SweepOrphans ends what services of this data directory left behind when they
// were killed (F22), and removes their records. It asks first (SIGTERM), waits
// at most 500 ms, then insists; at most 5 s in all.
//
// A boot counts when its folder is in dataDir, its id is not liveBootID and its
// owner does not run any more. A process counts when its environment names such
// a boot and this data directory and it is not older than that boot, or when it
// is in a process group whose recorded leader proves itself the same way. The
// caller and its ancestors are never touched: a service may be started by hand
// from a terminal that a dead one left.
//
// It fails, after doing what it could, when something could not be ended; the
// records of that boot then stay for the next start. Call it while holding the
// lock of the data directory and before anything is started.
func SweepOrphans(dataDir, liveBootID string) ([]Ended, error) {
	home := CanonicalHome(dataDir)
	boots, err := readBoots(home)
	if err != nil {
		return nil, err
	}
	dead := map[string]boot{}
	for _, b := range boots {
		if b.id != liveBootID && !ownerRuns(b) {
			dead[b.id] = b
		}
	}
	if len(dead) == 0 {
		return nil, nil
	}
	spare := lineage(os.Getpid())
	var ended []Ended
	seen := map[Process]bool{} // signalled at least once
	failed := map[string]error{}
	begun := time.Now()
	empty := 0 // looks in a row that found nothing
	for {
		all, err := list()
		if err != nil {
			return ended, err
		}
		found := orphans(all, home, dead, spare)
		if len(found) == 0 {
			// Twice: a process that forks while the table is read can be missed.
			if empty++; empty == 2 {
				break
			}
			continue
		}
		empty = 0
		late := time.Since(begun) > sweepBudget
		for _, o := range found {
			if late {
				failed[o.boot] = fmt.Errorf("child: process %d (%s) of an earlier run cannot be ended; end it by hand", o.PID, o.Command)
				continue
			}
			key := Process{PID: o.PID, Start: o.Start}
			force := time.Since(begun) > sweepGrace
			if seen[key] && !force {
				continue
			}
			if !seen[key] {
				ended = append(ended, Ended{PID: o.PID, BootID: o.boot, Command: o.Command})
			}
			seen[key] = true
			if err := end(o.Process, force); err != nil && force {
				failed[o.boot] = fmt.Errorf("child: process %d (%s) of an earlier run cannot be ended; end it by hand: %w", o.PID, o.Command, err)
			}
		}
		if late {
			break
		}
		time.Sleep(sweepPause)
	}
	var errs []error
	for id, b := range dead {
		if err := failed[id]; err != nil {
			errs = append(errs, err)
			continue
		}
		if err := os.RemoveAll(b.dir); err != nil {
			errs = append(errs, fmt.Errorf("child: remove the process records: %w", err))
		}
	}
	return ended, errors.Join(errs...)
}

// ownerRuns reports whether the service of a boot is still there. This very
// process does not count: it declared another boot to be the live one.
func ownerRuns(b boot) bool {
	if b.owner.PID == 0 || b.owner.PID == os.Getpid() || b.owner.Machine != machine() {
		return false
	}
	return Alive(b.owner.PID, b.owner.Start)
}

// orphan is a process of a dead boot.
type orphan struct {
	Process
	boot string
}

// orphans picks the processes of dead boots out of the table. It is pure.
func orphans(all []Process, home string, dead map[string]boot, spare map[int]bool) []orphan {
	// marked: the environment says so, and no process is older than its boot.
	marked := func(p Process) (string, bool) {
		b, ok := dead[p.boot]
		return p.boot, ok && p.home == home && p.Start >= b.owner.Start
	}
	led := map[int]string{} // process group id -> boot
	for id, b := range dead {
		for _, rec := range b.groups {
			for _, p := range all {
				if p.PID != rec.PID || p.Start != rec.Start || p.Start == 0 || p.zombie {
					continue
				}
				if _, ok := marked(p); ok || (!markersReadable && p.boot == "") {
					led[p.PID] = id
				}
			}
		}
	}
	var out []orphan
	for _, p := range all {
		if p.zombie || spare[p.PID] || p.PID <= 1 {
			continue
		}
		id, ok := marked(p)
		if !ok {
			if id, ok = led[p.PGID]; !ok {
				if id, ok = led[p.PID]; !ok {
					continue
				}
			}
		}
		out = append(out, orphan{Process: p, boot: id})
	}
	return out
}
