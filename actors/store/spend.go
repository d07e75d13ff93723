package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// tally is what the rows of a ledger sum up to, in US dollars. Days and months
// are those of loc, the time zone of the person.
type tally struct {
	loc     *time.Location
	days    map[string]float64 // By 2006-01-02.
	months  map[string]float64 // By 2006-01.
	sources map[monthly]float64
	session map[contract.ConversationID]float64
	// unknown counts the rows that could not be added.
	unknown int
}

// monthly is one ledger source in one month.
type monthly struct{ month, source string }

func newTally(loc *time.Location) *tally {
	return &tally{
		loc: loc, days: map[string]float64{}, months: map[string]float64{},
		sources: map[monthly]float64{}, session: map[contract.ConversationID]float64{},
	}
}

const (
	dayForm   = "2006-01-02"
	monthForm = "2006-01"
)

// spent is what a row of the ledger says of money.
type spent struct {
	at      time.Time
	source  string
	session contract.ConversationID
	usd     float64
}

// readSpent reads one row; false for one that cannot be summed.
func readSpent(line []byte) (spent, bool) {
	var r struct {
		TS      string                  `json:"ts"`
		Source  string                  `json:"source"`
		Session contract.ConversationID `json:"session_id"`
		Cost    *float64                `json:"cost_usd"`
	}
	if json.Unmarshal(line, &r) != nil || r.Source == "" || r.Cost == nil || *r.Cost < 0 {
		return spent{}, false
	}
	at, err := time.Parse(time.RFC3339, r.TS)
	if err != nil {
		return spent{}, false
	}
	return spent{at: at, source: r.Source, session: r.Session, usd: *r.Cost}, true
}

// add counts one row.
func (t *tally) add(line []byte) {
	r, ok := readSpent(line)
	if !ok {
		t.unknown++
		return
	}
	at := r.at.In(t.loc)
	month := at.Format(monthForm)
	t.days[at.Format(dayForm)] += r.usd
	t.months[month] += r.usd
	t.sources[monthly{month, r.source}] += r.usd
	if r.session != "" {
		t.session[r.session] += r.usd
	}
}

// sums is a tally with how far into the ledger it goes.
type sums struct {
	tally *tally
	size  int64
	// last is the end of what was added. A ledger that a person has rewritten
	// has other bytes there, and is added up anew.
	last []byte
}

// markBytes is how much of the end is compared; a row's time, session and cost
// lie within it.
const markBytes = 512

// spend adds up the ledger and goes on where it was the last time. It fails
// with the sentence of an unhealthy ledger: what cannot be accounted for cannot
// be held against a limit (runtime.md 5).
func (l *ledger) spend(loc *time.Location) (*tally, error) {
	if err := l.health(); err != nil {
		return nil, err
	}
	f, err := os.Open(l.paths.Ledger())
	if errors.Is(err, fs.ErrNotExist) {
		l.sums = sums{}
		return newTally(loc), nil
	}
	if err != nil {
		return nil, trouble("read the usage ledger", err)
	}
	defer f.Close()
	s := &l.sums
	if s.tally == nil || s.tally.loc != loc || s.size > l.size || !sameEnd(f, s) {
		*s = sums{tally: newTally(loc)}
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(f, s.size, l.size-s.size), maxRowBytes)
	for s.size < l.size {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			l.sums = sums{}
			return nil, trouble("read the usage ledger", err)
		}
		s.tally.add(bytes.TrimSuffix(line, []byte("\n")))
		s.size += int64(len(line))
		s.last = append(s.last[:0], line[max(0, len(line)-markBytes):]...)
	}
	if s.tally.unknown > 0 {
		return nil, blocked("%s of usage.jsonl cannot be added up. Correct or remove what is no entry, then try again.", lineCount(s.tally.unknown))
	}
	return s.tally, nil
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprint(n, " lines")
}

func sameEnd(f io.ReaderAt, s *sums) bool {
	got := make([]byte, len(s.last))
	_, err := f.ReadAt(got, s.size-int64(len(s.last)))
	return (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(got, s.last)
}
