package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// The names of a conversation's files. Source: mcp-state.md 5.
const (
	fileSuffix      = ".json"
	journalSuffix   = ".journal"
	baselinesSuffix = ".baselines"
	indexName       = "index.json"
)

// reservedID is the one valid id whose file would be the index.
const reservedID = contract.ConversationID("index")

func filePath(p config.Paths, id contract.ConversationID) string {
	return filepath.Join(p.Conversations(), string(id)+fileSuffix)
}

func journalPath(p config.Paths, id contract.ConversationID) string {
	return filepath.Join(p.Conversations(), string(id)+journalSuffix)
}

func baselinesPath(p config.Paths, id contract.ConversationID) string {
	return filepath.Join(p.Conversations(), string(id)+baselinesSuffix)
}

// idOf returns the conversation of a file name.
func idOf(name, suffix string) (contract.ConversationID, bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	return contract.ConversationID(stem), ok && contract.ValidID(stem)
}

// checkID refuses what would name another file.
func checkID(id contract.ConversationID) error {
	if !contract.ValidID(string(id)) {
		return tell("A conversation's id is 1 to 64 of A-Z a-z 0-9 _ and -; this one is not. Choose another id.")
	}
	if strings.EqualFold(string(id), string(reservedID)) {
		return tell("The id %q is reserved for the list of conversations. Choose another id.", string(id))
	}
	return nil
}

// volume is what one conversation's lane knows of its files. The lane keeps it
// between jobs so that an append need not read the file again.
type volume struct {
	// known says that base and lines are those of the disk.
	known bool
	base  journal.Base
	// lines is the length of the journal's good part, its first line included;
	// 0 when there is no journal or only one of another file.
	lines int64
}

// shelf does the file work of conversations. It has no state of its own; calls
// for one conversation must not overlap.
type shelf struct {
	paths config.Paths
	notes *board
	now   func() time.Time
}

// loaded is what load found.
type loaded struct {
	found  bool
	record *contract.Record
	err    error
	file   stamp
	lines  stamp
}

// load reads a conversation. A damaged one is set aside and reported; it is
// then neither found nor in the way of a new one.
func (s shelf) load(id contract.ConversationID, v *volume) loaded {
	*v = volume{}
	body, err := os.ReadFile(filePath(s.paths, id))
	if errors.Is(err, fs.ErrNotExist) {
		return loaded{}
	}
	if err != nil {
		return loaded{err: trouble("read this conversation", err)}
	}
	record := new(contract.Record)
	if err := json.Unmarshal(body, record); err != nil {
		name := damaged(s.paths, id, s.notes, s.now())
		return loaded{err: tell("The file of this conversation was damaged and could not be read. It was kept as %s in the conversations folder; start a new conversation.", name)}
	}
	record.ID = id // A copied file answers to its own name.
	v.base = journal.BaseOf(body)
	v.known = true
	s.replay(id, v, record)
	return loaded{found: true, record: record, file: stampOf(filePath(s.paths, id)), lines: stampOf(journalPath(s.paths, id))}
}

// replay applies the journal, when it belongs to the file, and leaves v.lines
// at the end of its good part. Record may be nil: then only v is filled.
func (s shelf) replay(id contract.ConversationID, v *volume, record *contract.Record) {
	content, err := os.ReadFile(journalPath(s.paths, id))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.notes.add("The journal of conversation %s could not be read (%v); its last changes are not shown. Look at the permissions of the data directory.", string(id), plain(err))
			v.known = false
		}
		return
	}
	base, lines, err := journal.DecodeBase(content)
	if err != nil || base != v.base {
		// Older than the file, which holds all of it: a kill came between the
		// file's replacement and this removal. Or torn in its first save.
		_ = os.Remove(journalPath(s.paths, id)) // The next append replaces it.
		return
	}
	first := int64(len(content) - len(lines))
	if record == nil {
		record = new(contract.Record)
		if body, err := os.ReadFile(filePath(s.paths, id)); err != nil || json.Unmarshal(body, record) != nil {
			v.known = false
			return
		}
	}
	out := journal.Replay(record, lines)
	record.ID = id
	v.lines = first + out.Good
	if out.Bad == nil {
		return
	}
	name := string(id) + journalSuffix + ".corrupt-" + fmt.Sprint(s.now().Unix())
	if err := replace(filepath.Join(s.paths.Conversations(), name), content); err != nil {
		s.notes.add("The journal of conversation %s has a damaged line; %d saves before it were kept. Copying it failed: %v.", string(id), out.Lines, plain(err))
		return
	}
	s.notes.add("The journal of conversation %s has a damaged line; %d saves before it were kept, what followed is in %s.", string(id), out.Lines, name)
}

// know fills v from the disk when no load did.
func (s shelf) know(id contract.ConversationID, v *volume) error {
	if v.known {
		return nil
	}
	body, err := os.ReadFile(filePath(s.paths, id))
	if err != nil {
		return err
	}
	*v = volume{known: true, base: journal.BaseOf(body)}
	s.replay(id, v, nil)
	if !v.known {
		return errors.New("the journal cannot be read")
	}
	return nil
}

// save replaces the file. The journal that the new file makes superfluous is
// removed after it; a kill between the two leaves one whose base is another
// file's, which a load ignores.
func (s shelf) save(id contract.ConversationID, v *volume, body []byte) error {
	base := journal.BaseOf(body)
	if v.known && base == v.base || !v.known && base == s.baseOnDisk(id) {
		// The same bytes as before a journal was written would make that
		// journal count again. A line end tells them apart.
		body = append(bytes.Clone(body), '\n')
		base = journal.BaseOf(body)
	}
	if err := replace(filePath(s.paths, id), body); err != nil {
		// The rename may have happened before the failure.
		v.known = false
		return trouble("save this conversation", err)
	}
	*v = volume{known: true, base: base}
	// Deliberate: a journal that stays is ignored, so this is no failure.
	_ = os.Remove(journalPath(s.paths, id))
	return nil
}

func (s shelf) baseOnDisk(id contract.ConversationID) journal.Base {
	body, err := os.ReadFile(filePath(s.paths, id))
	if err != nil {
		return journal.Base{}
	}
	return journal.BaseOf(body)
}

// appendLines adds whole lines to the journal. What an earlier failure or kill
// left after the good part is cut off first.
func (s shelf) appendLines(id contract.ConversationID, v *volume, lines []byte) error {
	const doing = "save this conversation"
	if len(lines) == 0 || lines[len(lines)-1] != '\n' {
		return tell("PacketBench tried to save a change without a line end. This is a fault of PacketBench; look at the log.")
	}
	if err := s.know(id, v); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return tell("The file of this conversation is gone. It is written again, whole, with the next save.")
		}
		return trouble(doing, err)
	}
	path := journalPath(s.paths, id)
	create := v.lines == 0
	flags := os.O_WRONLY
	if create {
		flags |= os.O_CREATE | os.O_TRUNC
		lines = append(v.base.Line(), lines...)
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		v.known = false
		return trouble(doing, err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() != v.lines {
		if err == nil {
			err = f.Truncate(v.lines)
		}
		if err != nil {
			v.known = false
			return trouble(doing, err)
		}
	}
	_, err = f.WriteAt(lines, v.lines)
	if err == nil {
		err = f.Sync()
	}
	if err == nil && create {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		// Half a line stands there now. It is no line to a load, and the next
		// append cuts it off; doing so here gives its space back at once.
		_ = f.Truncate(v.lines)
		return trouble(doing, err)
	}
	v.lines += int64(len(lines))
	return nil
}

// remove deletes a conversation: the file first, because a journal or baselines
// without a file are removed by the next start.
func (s shelf) remove(id contract.ConversationID, v *volume) error {
	*v = volume{}
	if err := os.Remove(filePath(s.paths, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return trouble("delete this conversation", err)
	}
	err := os.Remove(journalPath(s.paths, id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, os.RemoveAll(baselinesPath(s.paths, id)), syncDir(s.paths.Conversations()))
	return trouble("delete everything of this conversation", err)
}

// damaged sets a file and its journal aside and returns the file's new name.
func damaged(p config.Paths, id contract.ConversationID, notes *board, now time.Time) string {
	name, err := setAside(filePath(p, id), now)
	if err != nil {
		notes.add("The conversation file %s is damaged and could not be renamed (%v). Move it out of the conversations folder.", string(id)+fileSuffix, plain(err))
		return string(id) + fileSuffix
	}
	if _, err := os.Lstat(journalPath(p, id)); err == nil {
		if _, err := setAside(journalPath(p, id), now); err != nil {
			_ = os.Remove(journalPath(p, id)) // It fits no other file.
		}
	}
	notes.add("The conversation file %s is damaged or empty and was kept as %s. The other conversations are not touched.", string(id)+fileSuffix, name)
	return name
}
