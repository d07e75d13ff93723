package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// indexVersion changes when an entry's meaning does; another version's index
// is built anew.
const indexVersion = 1

// stamp is how a file's content is recognised without reading it.
type stamp struct {
	size int64
	time int64 // ns since 1970
}

func stampOf(path string) stamp {
	fi, err := os.Stat(path)
	if err != nil {
		return stamp{} // Absent, or as good as absent for this purpose.
	}
	return stamp{size: fi.Size(), time: fi.ModTime().UnixNano()}
}

// MarshalJSON writes [size, time].
func (s stamp) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{s.size, s.time}) }

// UnmarshalJSON reads [size, time]. By hand: a start reads two for each stored
// conversation.
func (s *stamp) UnmarshalJSON(b []byte) error {
	inner, open := strings.CutPrefix(string(b), "[")
	inner, closed := strings.CutSuffix(inner, "]")
	size, at, two := strings.Cut(inner, ",")
	var errs [2]error
	s.size, errs[0] = strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	s.time, errs[1] = strconv.ParseInt(strings.TrimSpace(at), 10, 64)
	if !open || !closed || !two || errs != [2]error{} {
		return fmt.Errorf("store: %q is no size and time", b)
	}
	return nil
}

// compact is a contract.Summary at about half the size: times in ms, one copy
// of texts that many conversations share.
type compact struct {
	title, model, project string
	row                   contract.RowID
	provider              contract.ProviderID
	status                contract.Status
	retired               string
	parent                contract.ConversationID
	worktree              *contract.Worktree
	health                *contract.Health
	created, updated      int64
	needs, queued         int32
	archived, pinned      bool
}

// entry is one conversation of the index.
type entry struct {
	saved compact
	// live is what the conversation's actor said since its last save; it is
	// shown and not written to the index.
	live *compact
	// open holds the parts of an open turn that the file has.
	open uint8
	// file is zero for a conversation that was never saved.
	file, journal stamp
}

// index holds every conversation. It belongs to one goroutine.
type index struct {
	entries map[contract.ConversationID]*entry
	shared  map[string]string
}

func newIndex() *index {
	return &index{entries: make(map[contract.ConversationID]*entry), shared: make(map[string]string)}
}

// one returns the one copy of a text that repeats.
func (x *index) one(s string) string {
	if have, ok := x.shared[s]; ok {
		return have
	}
	s = strings.Clone(s)
	x.shared[s] = s
	return s
}

func (x *index) compact(s contract.Summary) compact {
	c := compact{
		title: strings.Clone(s.Title), model: x.one(s.Model), project: x.one(s.ProjectPath),
		row: contract.RowID(x.one(string(s.Row))), provider: contract.ProviderID(x.one(string(s.Provider))),
		status: contract.Status(x.one(string(s.Status))), retired: x.one(s.RetiredNotice),
		worktree: s.Worktree, health: s.Health, created: s.CreatedAt.UnixMilli(), updated: s.UpdatedAt.UnixMilli(),
		needs: int32(min(s.NeedsYou, 1<<30)), queued: int32(min(s.Queued, 1<<30)),
		archived: s.Archived, pinned: s.Pinned,
	}
	if s.ParentSessionID != nil {
		c.parent = *s.ParentSessionID
	}
	return c
}

func (c compact) summary(id contract.ConversationID) contract.Summary {
	s := contract.Summary{
		SessionID: id, Title: c.title, Row: c.row, Provider: c.provider, Model: c.model,
		ProjectPath: c.project, Status: c.status, Archived: c.archived, Pinned: c.pinned,
		CreatedAt: moment(c.created), UpdatedAt: moment(c.updated),
		NeedsYou: int(c.needs), Queued: int(c.queued), Worktree: c.worktree, RetiredNotice: c.retired, Health: c.health,
	}
	if c.parent != "" {
		s.ParentSessionID = &c.parent
	}
	return s
}

func (e *entry) shown() compact {
	if e.live != nil {
		return *e.live
	}
	return e.saved
}

// list returns every summary, newest first, ties by id.
func (x *index) list() []contract.Summary {
	type dated struct {
		id      contract.ConversationID
		updated int64
	}
	order := make([]dated, 0, len(x.entries))
	for id, e := range x.entries {
		order = append(order, dated{id, e.shown().updated})
	}
	slices.SortFunc(order, func(a, b dated) int {
		if a.updated != b.updated {
			if a.updated > b.updated {
				return -1
			}
			return 1
		}
		return strings.Compare(string(a.id), string(b.id))
	})
	out := make([]contract.Summary, len(order))
	for i, d := range order {
		out[i] = x.entries[d.id].shown().summary(d.id)
	}
	return out
}

func (x *index) find(id contract.ConversationID) (contract.Summary, bool) {
	e, ok := x.entries[id]
	if !ok {
		return contract.Summary{}, false
	}
	return e.shown().summary(id), true
}

// changed takes what the conversation says of itself now.
func (x *index) changed(s contract.Summary) {
	e := x.entries[s.SessionID]
	if e == nil {
		e = &entry{}
		x.entries[contract.ConversationID(strings.Clone(string(s.SessionID)))] = e
	}
	c := x.compact(s)
	e.live = &c
}

// saved takes what was written. What it does not say of an open turn stays.
func (x *index) saved(s contract.Summary, said opened, file, lines stamp) {
	e := x.entries[s.SessionID]
	if e == nil {
		e = &entry{}
		x.entries[contract.ConversationID(strings.Clone(string(s.SessionID)))] = e
	}
	e.saved, e.live = x.compact(s), nil
	e.file, e.journal = file, lines
	e.open = e.open&^said.said | said.are
}

// unfinished returns the conversations whose file holds an open turn, by id.
func (x *index) unfinished() []contract.ConversationID {
	var out []contract.ConversationID
	for id, e := range x.entries {
		if e.open != 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// row is one line of index.json.
type row struct {
	Summary contract.Summary `json:"summary"`
	Open    uint8            `json:"open,omitempty"`
	File    stamp            `json:"file"`
	Journal stamp            `json:"journal"`
}

// frozen is an entry as index.json will hold it.
type frozen struct {
	id contract.ConversationID
	entry
}

// freeze copies what belongs into index.json, for a job that encodes it while
// the index goes on changing.
func (x *index) freeze() []frozen {
	out := make([]frozen, 0, len(x.entries))
	for id, e := range x.entries {
		if e.file != (stamp{}) {
			out = append(out, frozen{id: id, entry: *e})
		}
	}
	return out
}

// writeIndexTo writes index.json: an object whose entries stand one on a line.
// It is never in memory as a whole: it is the largest file but for bodies.
func writeIndexTo(w io.Writer, entries []frozen) error {
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(b, `{"version":%d,"entries":[`, indexVersion)
	sep := "\n"
	for _, e := range entries {
		line, err := contract.Marshal(row{Summary: e.saved.summary(e.id), Open: e.open, File: e.file, Journal: e.journal})
		if err != nil {
			return err
		}
		b.WriteString(sep)
		b.Write(line)
		sep = ",\n"
	}
	b.WriteString("\n]}\n")
	return b.Flush() // Tells an earlier failure too.
}

// decodeIndex calls each for every entry of an index file. It fails for a file that
// is no index of this version; what was read by then is still right.
func decodeIndex(r io.Reader, each func(row)) error {
	dec := json.NewDecoder(r)
	want := []json.Token{json.Delim('{'), "version", float64(indexVersion), "entries", json.Delim('[')}
	for _, w := range want {
		if t, err := dec.Token(); err != nil || t != w {
			return errors.New("store: not an index of this version")
		}
	}
	for dec.More() {
		var r row
		if err := dec.Decode(&r); err != nil {
			return err
		}
		if contract.ValidID(string(r.Summary.SessionID)) {
			each(r)
		}
	}
	return nil
}

// scanned says what opening a folder of conversations cost.
type scanned struct {
	x *index
	// read counts the files of which the first fields had to be read.
	read int
	// stale says that index.json is not what it should be.
	stale bool
}

// scan builds the index from index.json and the folder. It reads nothing of a
// file that the index knows, sets damaged files aside, removes what a kill left
// of a save or a deletion, and leaves names that are none of ours alone.
func scan(p config.Paths, notes *board, now time.Time) (scanned, error) {
	dir := p.Conversations()
	out := scanned{x: newIndex()}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out, trouble("read the folder of conversations", err)
	}
	files := make(map[contract.ConversationID]stamp, len(entries))
	journals := make(map[contract.ConversationID]stamp)
	var baselines []contract.ConversationID
	quarantined := make(map[contract.ConversationID]bool)
	for _, e := range entries {
		name := e.Name()
		if id, ok := idOf(name, baselinesSuffix); ok && e.IsDir() {
			baselines = append(baselines, id)
			continue
		}
		if stem, _, ok := strings.Cut(name, fileSuffix+".corrupt-"); ok {
			quarantined[contract.ConversationID(stem)] = true
			continue
		}
		if !e.Type().IsRegular() {
			continue
		}
		into := files
		id, ok := idOf(name, fileSuffix)
		if !ok {
			into = journals
			id, ok = idOf(name, journalSuffix)
		}
		if !ok || name == indexName {
			continue
		}
		fi, err := e.Info()
		if err != nil {
			continue // Gone since the folder was read.
		}
		into[id] = stamp{size: fi.Size(), time: fi.ModTime().UnixNano()}
	}
	removeTemps(dir, func(base string) bool { return strings.HasSuffix(base, fileSuffix) })

	known := 0
	if f, err := os.Open(filepath.Join(dir, indexName)); err == nil {
		err = decodeIndex(bufio.NewReaderSize(f, 1<<16), func(r row) {
			id := r.Summary.SessionID
			if file, ok := files[id]; ok && file == r.File && journals[id] == r.Journal {
				out.x.saved(r.Summary, opened{said: openAll, are: r.Open & openAll}, r.File, r.Journal)
				known++
				return
			}
			out.stale = true
		})
		if err != nil {
			notes.add("The index of conversations could not be read and was built anew.")
			out.stale = true
		}
		f.Close()
	} else if len(files) > 0 {
		out.stale = true
	}
	if known == len(out.x.entries) && known == len(files) {
		// Nothing to read.
		files = nil
	}
	for id, file := range files {
		if _, ok := out.x.entries[id]; ok {
			continue
		}
		out.stale = true
		out.read++
		h, err := headOf(p, id, file)
		switch {
		case errors.Is(err, errNoHead):
			quarantined[id] = true
			damaged(p, id, notes, now)
		case err != nil:
			notes.add("The conversation file %s could not be opened (%v). Look at its permissions; it is listed again after the next start.", string(id)+fileSuffix, plain(err))
		case h.mode == "pty":
			// Only structured conversations have a list here.
		default:
			out.x.saved(h.summary(id), h.open(), file, journals[id])
		}
	}
	sweep(p, out.x, journals, baselines, quarantined)
	return out, nil
}

// sweep removes the journals and baselines of conversations that a kill left
// half deleted: the file goes first, so what has no file was deleted.
func sweep(p config.Paths, x *index, journals map[contract.ConversationID]stamp, baselines []contract.ConversationID, quarantined map[contract.ConversationID]bool) {
	gone := func(id contract.ConversationID) bool {
		if x.entries[id] != nil || quarantined[id] {
			return false
		}
		_, err := os.Lstat(filePath(p, id))
		return errors.Is(err, fs.ErrNotExist)
	}
	for id := range journals {
		if gone(id) {
			_ = os.Remove(journalPath(p, id)) // Tried again at the next start.
		}
	}
	for _, id := range baselines {
		if gone(id) {
			_ = os.RemoveAll(baselinesPath(p, id)) // Tried again at the next start.
		}
	}
}

// headOf reads the first fields of one file and lays its journal over them. It
// fails with errNoHead for a damaged file.
func headOf(p config.Paths, id contract.ConversationID, file stamp) (head, error) {
	f, err := os.Open(filePath(p, id))
	if err != nil {
		return head{}, err
	}
	defer f.Close()
	tail := make([]byte, 64)
	n, err := f.ReadAt(tail, max(0, file.size-int64(len(tail))))
	if err != nil && !errors.Is(err, io.EOF) {
		return head{}, err
	}
	if !endsWhole(tail[:n]) {
		return head{}, errNoHead
	}
	h, err := readHead(bufio.NewReader(f))
	if err != nil {
		return head{}, err
	}
	lines, err := os.ReadFile(journalPath(p, id))
	if err != nil {
		return h, nil // No journal, or one that loading the conversation reports.
	}
	base, lines, err := journal.DecodeBase(lines)
	// The sum would need the whole file. A journal of another file of the same
	// size gives a list some older fields until the conversation is loaded.
	if err != nil || base.Size != file.size {
		return h, nil
	}
	fields, reset := journal.Heads(lines)
	laid := h
	if reset {
		laid = head{}
	}
	for key, raw := range fields {
		if laid.set(key, raw) != nil {
			return h, nil
		}
	}
	return laid, nil
}
