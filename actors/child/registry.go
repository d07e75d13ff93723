package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Layout below the data directory:
//
//	processes/<boot id>/owner.json        the service that started the groups
//	processes/<boot id>/<group id>.json   one running group
const (
	processesDir = "processes"
	ownerFile    = "owner.json"
)

// record is the content of both kinds of file.
type record struct {
	PID     int    `json:"pid"`
	Start   uint64 `json:"start"`
	Machine string `json:"machine,omitempty"`
	Command string `json:"command,omitempty"`
	Since   string `json:"since,omitempty"` // RFC 3339, for people
}

// Registry knows the running groups of one boot and keeps one small file for
// each. It is safe for concurrent use.
//
// The files are not synchronised to disk: they must survive the service, not the
// machine, which takes the processes with it.
type Registry struct {
	marker  Marker
	dir     string
	machine string

	mu     sync.Mutex
	groups map[string]*Group
	err    error
}

// OpenRegistry creates the folder of this boot and records the calling process
// as the owner. Call it before the first [Start].
func OpenRegistry(m Marker) (*Registry, error) {
	if !validBootID(m.BootID) {
		return nil, fmt.Errorf("child: %q is no boot id; use 1 to 64 of A-Z a-z 0-9 _ and -", m.BootID)
	}
	r := &Registry{
		marker:  m,
		dir:     filepath.Join(CanonicalHome(m.Home), processesDir, m.BootID),
		machine: machine(),
		groups:  map[string]*Group{},
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fmt.Errorf("child: create the process records: %w", err)
	}
	start, err := StartOf(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("child: read our own start time: %w", err)
	}
	owner := record{PID: os.Getpid(), Start: start, Machine: r.machine, Since: time.Now().UTC().Format(time.RFC3339)}
	if err := writeRecord(filepath.Join(r.dir, ownerFile), owner); err != nil {
		return nil, err
	}
	return r, nil
}

// Marker returns the marker of the boot.
func (r *Registry) Marker() Marker { return r.marker }

// Register records a running group until release is called. A record that cannot
// be written does not keep the group from running, its marker can still be found
// on most systems; [Registry.Err] tells.
func (r *Registry) Register(g *Group) (release func()) {
	path := filepath.Join(r.dir, g.ID+".json")
	err := writeRecord(path, record{
		PID: g.PID, Start: g.Start, Machine: r.machine,
		Command: g.Command, Since: g.Since.UTC().Format(time.RFC3339),
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.ID] = g
	if err != nil {
		r.err = err
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.groups, g.ID)
		_ = os.Remove(path)
	}
}

// Err returns the last failure to write a record, or nil.
func (r *Registry) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Groups returns the groups that are recorded now, in no order.
func (r *Registry) Groups() []*Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Group, 0, len(r.groups))
	for _, g := range r.groups {
		out = append(out, g)
	}
	return out
}

// KillAll ends every recorded group, all at the same time, and returns how many
// processes are left. It is what the watchdog of the orderly stop calls.
func (r *Registry) KillAll() int {
	groups := r.Groups()
	left := make(chan int, len(groups))
	for _, g := range groups {
		go func() { left <- g.Kill() }()
	}
	sum := 0
	for range groups {
		sum += <-left
	}
	return sum
}

// Close removes the records of this boot when no group is left. With groups left
// it does nothing and says how many: the next start ends them.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.groups); n > 0 {
		return fmt.Errorf("child: %d process groups still run; the next start ends them", n)
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("child: remove the process records: %w", err)
	}
	return nil
}

// writeRecord replaces a file as a whole: a reader sees the old or the new one.
func writeRecord(path string, rec record) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("child: write a process record: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("child: write a process record: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("child: write a process record: %w", err)
	}
	return nil
}

// boot is what the data directory says about one boot.
type boot struct {
	id     string
	dir    string
	owner  record // zero when its file is missing or unreadable
	groups map[string]record
}

// readBoots reads the records of every boot. Unreadable files are skipped: the
// markers of the processes still speak.
func readBoots(dataDir string) ([]boot, error) {
	dir := filepath.Join(dataDir, processesDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("child: read the process records: %w", err)
	}
	var out []boot
	for _, e := range entries {
		if !e.IsDir() || !validBootID(e.Name()) {
			continue
		}
		b := boot{id: e.Name(), dir: filepath.Join(dir, e.Name()), groups: map[string]record{}}
		files, err := os.ReadDir(b.dir)
		if err != nil {
			continue
		}
		for _, f := range files {
			id, ok := strings.CutSuffix(f.Name(), ".json")
			if !ok || !f.Type().IsRegular() {
				continue
			}
			rec, err := readRecord(filepath.Join(b.dir, f.Name()))
			switch {
			case err != nil:
			case f.Name() == ownerFile:
				b.owner = rec
			default:
				b.groups[id] = rec
			}
		}
		out = append(out, b)
	}
	return out, nil
}

func readRecord(path string) (record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return record{}, err
	}
	return decodeRecord(b)
}

// decodeRecord refuses what cannot be a process: a pid of 0 or 1 in a damaged
// file must never become a signal.
func decodeRecord(b []byte) (record, error) {
	var rec record
	if err := json.Unmarshal(b, &rec); err != nil {
		return record{}, fmt.Errorf("child: unreadable process record: %w", err)
	}
	if rec.PID < 1 || rec.PID > 1<<31-1 {
		return record{}, fmt.Errorf("child: unreadable process record: pid %d", rec.PID)
	}
	return rec, nil
}
