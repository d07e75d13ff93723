package store

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// maxRowBytes bounds a line of the ledger; ours have about 300 bytes.
const maxRowBytes = 1 << 20

// pending is a write-ahead file: the line that is about to be appended, and the
// length of the ledger before it. Source: runtime.md 5.
type pending struct {
	PriorLen int64  `json:"prior_len"`
	Line     string `json:"line"`
}

// ledger appends to usage.jsonl. It belongs to one lane.
//
// A line is written ahead, appended, and forgotten ahead, each made durable
// before the next. So what a kill leaves is either a ledger without the line
// and a write-ahead file with it, or both, or only the ledger. A write-ahead
// file whose line stands in the ledger is proof that all is well and is
// removed; any other makes the ledger unhealthy, because a line that is replayed
// unasked may be counted twice.
type ledger struct {
	paths config.Paths
	notes *board
	check func(line []byte) error

	// size is the length up to which every line was checked; -1 before the
	// first check and whenever the ledger is not known to be well.
	size int64
	err  error

	// sums are kept for the cost limits, when there are any.
	sums sums
}

// health looks at the files if they are not known to be well, or are not as
// they were left, and returns what stands in the way of spending more.
func (l *ledger) health() error {
	if l.err == nil && l.size >= 0 && stampOf(l.paths.Ledger()).size == l.size {
		return nil
	}
	l.size, l.err = l.inspect()
	if l.err != nil {
		l.size = -1
	}
	return l.err
}

// inspect settles what is proven and refuses the rest.
func (l *ledger) inspect() (int64, error) {
	removeTemps(l.paths.LedgerPending(), func(base string) bool { return strings.HasSuffix(base, ".json") })
	left, err := l.leftovers()
	if err != nil {
		return -1, err
	}
	for _, name := range left {
		p, err := l.readPending(name)
		if err != nil {
			return -1, blocked("usage-pending/%s cannot be read, so it is not known whether its request was counted. Compare it with the end of usage.jsonl, remove it, then try again.", name)
		}
		in, err := l.holds(p)
		if err != nil {
			return -1, trouble("read the usage ledger", err)
		}
		if !in {
			return -1, blocked("an interrupted entry is in usage-pending/%s and not whole in usage.jsonl. Have it finished with the doctor's repair, or correct usage.jsonl by hand and remove that file; then try again.", name)
		}
		if err := os.Remove(filepath.Join(l.paths.LedgerPending(), name)); err != nil {
			return -1, trouble("remove a finished entry of usage-pending", err)
		}
		l.notes.add("The entry usage-pending/%s was complete in usage.jsonl already and was removed.", name)
	}
	return l.checkRows()
}

// blocked is the sentence of every unhealthy ledger.
func blocked(format string, args ...any) error {
	return sentence("Usage cannot be accounted for, so no model request is made: " + fmt.Sprintf(format, args...))
}

// leftovers lists the write-ahead files, oldest name first.
func (l *ledger) leftovers() ([]string, error) {
	entries, err := os.ReadDir(l.paths.LedgerPending())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, trouble("read the folder usage-pending", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func (l *ledger) readPending(name string) (pending, error) {
	var p pending
	content, err := os.ReadFile(filepath.Join(l.paths.LedgerPending(), name))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(content, &p); err != nil {
		return p, err
	}
	p.Line = strings.TrimSuffix(p.Line, "\n")
	if p.PriorLen < 0 || p.Line == "" || strings.ContainsRune(p.Line, '\n') {
		return p, errors.New("store: not a write-ahead file")
	}
	return p, nil
}

// holds reports whether the whole line, its end included, stands where it was
// to be appended.
func (l *ledger) holds(p pending) (bool, error) {
	f, err := os.Open(l.paths.Ledger())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	want := p.Line + "\n"
	got := make([]byte, len(want))
	n, err := f.ReadAt(got, p.PriorLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return n == len(want) && string(got) == want, nil
}

// checkRows reads every line and returns the ledger's length.
func (l *ledger) checkRows() (int64, error) {
	f, err := os.Open(l.paths.Ledger())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return -1, trouble("read the usage ledger", err)
	}
	defer f.Close()
	var size int64
	lines := bufio.NewReaderSize(f, maxRowBytes)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return size, nil
		case errors.Is(err, io.EOF):
			return -1, blocked("the last line of usage.jsonl, line %d, is not complete. Complete or remove it, then try again.", n)
		case errors.Is(err, bufio.ErrBufferFull):
			return -1, blocked("line %d of usage.jsonl is too long to be an entry. Correct or remove it, then try again.", n)
		case err != nil:
			return -1, trouble("read the usage ledger", err)
		}
		if err := l.check(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return -1, blocked("line %d of usage.jsonl is no valid entry. Correct or remove it, then try again.", n)
		}
		size += int64(len(line))
	}
}

// append writes one row, without line end, and returns when it is durable.
func (l *ledger) append(line []byte) error {
	if err := l.health(); err != nil {
		return err
	}
	if bytes.ContainsRune(line, '\n') || len(line) >= maxRowBytes || l.check(line) != nil {
		return blocked("the entry of the last request is not a valid one. This is a fault of PacketBench; look at the log.")
	}
	p := pending{PriorLen: l.size, Line: string(line)}
	content, err := contract.Marshal(p)
	if err != nil {
		return trouble("write the usage ledger", err)
	}
	name := filepath.Join(l.paths.LedgerPending(), newUUID()+".json")
	err = os.MkdirAll(l.paths.LedgerPending(), 0o700)
	if err == nil {
		err = replace(name, content)
	}
	if err != nil {
		// Nothing was appended. The row is lost unless the sender tries again,
		// and until a later one succeeds its error stands.
		l.size = -1
		return blockedBy(err)
	}
	if err := l.appendRow(line); err != nil {
		// The write-ahead file stays: it is what a person reconciles by.
		l.size, l.err = -1, blockedBy(err)
		return l.err
	}
	l.size += int64(len(line)) + 1
	if err := os.Remove(name); err != nil {
		l.size = -1 // The next look at it finds the line in place.
	}
	return nil
}

func blockedBy(err error) error {
	if isFull(err) {
		return blocked("there is no space left on the disk for the usage ledger. Free some space, then try again.")
	}
	return blocked("the usage ledger cannot be written (%v). Check the data directory and its disk, then try again.", plain(err))
}

// appendRow adds the row at the checked length. A row that is written by half
// is cut off again, so that the ledger can still be read.
func (l *ledger) appendRow(line []byte) error {
	created := l.size == 0
	f, err := os.OpenFile(l.paths.Ledger(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(append(bytes.Clone(line), '\n'), l.size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil && created {
		err = syncDir(l.paths.Home)
	}
	if err != nil {
		return errors.Join(err, f.Truncate(l.size))
	}
	return nil
}

// reconcile finishes interrupted entries because a person asked for it: a line
// that is missing or there by half at the end of the ledger is written.
func (l *ledger) reconcile() error {
	left, err := l.leftovers()
	if err != nil {
		return err
	}
	for _, name := range left {
		p, err := l.readPending(name)
		if err != nil || l.check([]byte(p.Line)) != nil {
			return blocked("usage-pending/%s cannot be read, so it cannot be finished. Compare it with the end of usage.jsonl, remove it, then try again.", name)
		}
		in, err := l.holds(p)
		if err != nil {
			return trouble("read the usage ledger", err)
		}
		if !in {
			if err := l.finish(name, p); err != nil {
				return err
			}
		}
		if err := os.Remove(filepath.Join(l.paths.LedgerPending(), name)); err != nil {
			return trouble("remove a finished entry of usage-pending", err)
		}
	}
	l.size, l.err = -1, nil
	return l.health()
}

// finish appends the line of a write-ahead file to a ledger that ends where the
// line belongs, or with a first part of it.
func (l *ledger) finish(name string, p pending) error {
	content, err := os.ReadFile(l.paths.Ledger())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return trouble("read the usage ledger", err)
	}
	if int64(len(content)) < p.PriorLen || !strings.HasPrefix(p.Line, string(content[p.PriorLen:])) {
		return blocked("usage.jsonl is not as usage-pending/%s expects it. Look whether the entry belongs at its end, then remove that file and try again.", name)
	}
	l.size = p.PriorLen
	if err := l.appendRow([]byte(p.Line)); err != nil {
		l.size = -1
		return blockedBy(err)
	}
	return nil
}

// plainRow is the check of a row when no stricter one was given: an object with
// a cost that can be summed.
func plainRow(line []byte) error {
	var r struct {
		Source string   `json:"source"`
		Cost   *float64 `json:"cost_usd"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.Source == "" || r.Cost == nil || *r.Cost < 0 {
		return errors.New("store: not a row of the ledger")
	}
	return nil
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	// crypto/rand never fails; it ends the program instead.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
