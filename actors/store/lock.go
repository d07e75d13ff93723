package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// LockedError says that another service owns the data directory. Its text is
// the one line that the second service ends with.
type LockedError struct {
	// PID is 0 when the owner had not written it yet.
	PID int
	// URL is empty while the owner is not ready.
	URL string
}

// Error names the owner and what to do.
func (e *LockedError) Error() string {
	who := ""
	if e.PID != 0 {
		who = fmt.Sprintf(" (pid %d)", e.PID)
	}
	if e.URL != "" {
		return fmt.Sprintf("PacketBench is already running on this data directory%s at %s. Use that one, stop it, or choose another directory with --home.", who, e.URL)
	}
	return fmt.Sprintf("PacketBench is already running on this data directory%s. Use that one, stop it, or choose another directory with --home.", who)
}

// Lock is the ownership of a data directory, held until Close or the end of the
// process, whatever ends it.
type Lock struct {
	f *os.File
	// path is set where the file's existence is the lock.
	path string
	mine []byte
}

// owner is the content of the lock file. Start is in the unit of child.StartOf:
// a pid alone may belong to another process by now.
type owner struct {
	PID     int       `json:"pid"`
	Start   uint64    `json:"start"`
	Started time.Time `json:"started"`
}

func (o owner) alive() bool { return o.PID > 0 && child.Alive(o.PID, o.Start) }

// errNoLocking says that the file system knows no locks.
var errNoLocking = errors.New("store: the file system has no file locks")

// lockedWait is how long a locked directory without a live owner is looked at
// again. Either the winner has not written its pid yet, or the lock is that of a
// dead service that was just starting a child, which has it until it execs.
const lockedWait = 500 * time.Millisecond

// Acquire makes this process the one owner of a data directory, which it
// creates if needed, mode 0700. It fails with a *LockedError when a live
// service owns it; the lock of a dead one, or of a pid that is another process
// now, is taken over. Of several at once exactly one wins (F36).
func Acquire(p config.Paths) (*Lock, error) {
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		return nil, trouble("create the data directory", err)
	}
	return acquire(p, tryLock)
}

func acquire(p config.Paths, try func(*os.File) (bool, error)) (*Lock, error) {
	start, err := child.StartOf(os.Getpid())
	if err != nil {
		start = 0 // Then nobody can tell, and the file lock alone counts.
	}
	mine, err := contract.Marshal(owner{PID: os.Getpid(), Start: start, Started: time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	mine = append(mine, '\n')
	f, err := os.OpenFile(p.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, trouble("open the lock of the data directory", err)
	}
	for deadline := time.Now().Add(lockedWait); ; time.Sleep(10 * time.Millisecond) {
		won, err := try(f)
		if won {
			break
		}
		if err == nil {
			if err = ownerOf(p); err == nil && time.Now().After(deadline) {
				err = &LockedError{}
			}
		}
		if err == nil {
			continue
		}
		f.Close()
		var locked *LockedError
		switch {
		case errors.Is(err, errNoLocking):
			return acquireByName(p, mine)
		case errors.As(err, &locked):
			return nil, locked
		default:
			return nil, trouble("lock the data directory", err)
		}
	}
	err = f.Truncate(0)
	if err == nil {
		// Not synced: the content is for those who find the lock taken, and
		// nobody holds it after the machine has lost what was not synced.
		_, err = f.WriteAt(mine, 0)
	}
	if err != nil {
		f.Close()
		return nil, trouble("write the lock of the data directory", err)
	}
	return &Lock{f: f}, nil
}

// Close gives the data directory up. The file stays: removing it would let two
// others lock two files of the same name.
func (l *Lock) Close() error {
	if l.path != "" {
		if now, err := os.ReadFile(l.path); err != nil || !bytes.Equal(now, l.mine) {
			return err
		}
		return os.Remove(l.path)
	}
	// Unlocked by hand: closing alone leaves it to a child that is just being
	// started until that child execs.
	return errors.Join(l.f.Truncate(0), unlock(l.f), l.f.Close())
}

// ownerOf returns the owner as a *LockedError, nil when the one that is named
// does not live.
func ownerOf(p config.Paths) error {
	o, err := readOwner(p.Lock())
	if err != nil || !o.alive() {
		return nil
	}
	return &LockedError{PID: o.PID, URL: urlOf(p, o.PID)}
}

func readOwner(path string) (owner, error) {
	var o owner
	f, err := os.Open(path)
	if err != nil {
		return o, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(content, &o)
}

// urlOf reads the owner's address, which holds no token, from run.json.
func urlOf(p config.Paths, pid int) string {
	content, err := os.ReadFile(p.Run())
	if err != nil {
		return ""
	}
	var run struct {
		PID int    `json:"pid"`
		URL string `json:"url"`
	}
	if json.Unmarshal(content, &run) != nil || run.PID != pid {
		return "" // Left by an earlier run.
	}
	return run.URL
}

// acquireByName is for file systems without locks: the file <lock>.pid exists
// while somebody owns the directory. A stale one is first renamed to a name of
// ours, which only one can do, and looked at again before it is given up.
func acquireByName(p config.Paths, mine []byte) (*Lock, error) {
	path := p.Lock() + ".pid"
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := writeSynced(temp, mine); err != nil {
		return nil, trouble("write the lock of the data directory", err)
	}
	defer os.Remove(temp)
	for range 10 {
		// A link appears with its content, so nobody reads half an owner.
		err := os.Link(temp, path)
		if err == nil {
			return &Lock{path: path, mine: mine}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, trouble("lock the data directory", err)
		}
		o, err := readOwner(path)
		if err == nil && o.alive() {
			return nil, &LockedError{PID: o.PID, URL: urlOf(p, o.PID)}
		}
		stale := temp + ".stale"
		if os.Rename(path, stale) != nil {
			continue // Somebody else took it over; look again.
		}
		if o, err := readOwner(stale); err == nil && o.alive() {
			// It was a fresh one after all: put it back, or leave it to the one
			// who linked in between.
			_ = os.Link(stale, path)
		}
		_ = os.Remove(stale)
	}
	return nil, &LockedError{}
}
