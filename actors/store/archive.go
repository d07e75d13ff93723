package store

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// defaultArchiveDays is after how long a finished conversation is archived.
// Source: mcp-state.md 5.
const defaultArchiveDays = 14

// archiveAfter is how long a finished conversation is listed; false when a
// person has switched that off.
func (s *settings) archiveAfter() (time.Duration, bool) {
	on, days := true, defaultArchiveDays
	if raw, ok := s.app["auto_archive_done"]; ok && json.Unmarshal(raw, &on) != nil {
		on = true
	}
	if raw, ok := s.app["auto_archive_days"]; ok && (json.Unmarshal(raw, &days) != nil || days < 1 || days > 365) {
		days = defaultArchiveDays
	}
	return time.Duration(days) * 24 * time.Hour, on
}

// archive marks what is done and was last changed before a moment, and returns
// the ids. It opens no file: the file is told when the conversation is loaded.
//
// It leaves everything else as it is, and of the finished ones those that are
// pinned, that hold something open, that run, and that do not say when they were
// changed.
func (x *index) archive(before time.Time) []contract.ConversationID {
	var out []contract.ConversationID
	for id, e := range x.entries {
		c := &e.saved
		if c.status != contract.StatusDone || c.archived || c.pinned || c.needs > 0 || c.queued > 0 ||
			e.open != 0 || e.live != nil || e.file == (stamp{}) || c.updated <= 0 || c.updated >= before.UnixMilli() {
			continue
		}
		c.archived = true
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// archive answers AutoArchive.
func (a *actor) archive(answer func(any)) {
	a.do(laneSettings, func() func() {
		after, on := a.settings.archiveAfter()
		return func() {
			var ids []contract.ConversationID
			if on {
				ids = a.index.archive(a.opt.Now().Add(-after))
			}
			if len(ids) > 0 {
				a.later(&a.indexDue, writeIndex{}, indexDelay)
			}
			answer(ids)
		}
	})
}

// catchUp writes into the journal what the index alone says so far: that a
// conversation was archived. Listed is the index entry as it was when the load
// was asked for. On a failure the list goes on showing it as archived.
func (s shelf) catchUp(id contract.ConversationID, v *volume, got *loaded, listed entry) {
	if !got.found || !listed.saved.archived || got.record.Archived || got.file != listed.file || got.lines != listed.journal {
		return // Another program wrote the file since: it has the last word.
	}
	line, err := journal.Encode(journal.Op{Set: map[string]json.RawMessage{"archived": json.RawMessage("true")}})
	if err == nil {
		err = s.appendLines(id, v, line)
	}
	if err != nil {
		s.notes.add("%s", err)
		return
	}
	got.record.Archived = true
	got.lines = stampOf(journalPath(s.paths, id))
}
