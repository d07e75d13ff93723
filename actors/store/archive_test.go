package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// finished is a file of a conversation that was done some time ago.
func finished(id string, ago time.Duration) *contract.Record {
	r := record(id, 2)
	r.Status, r.UpdatedAt = contract.StatusDone, at.Add(-ago).UnixMilli()
	return r
}

const daysAgo = 24 * time.Hour

// TestStore_AutoArchive: only what is done and long idle, only when it is on,
// without a look into a body; the file catches up when it is loaded, and what a
// person takes back stays back.
func TestStore_AutoArchive(t *testing.T) {
	p := home(t)
	put := func(id string, r *contract.Record) {
		t.Helper()
		write(t, filePath(p, contract.ConversationID(id)), string(encode(t, r)))
	}
	put("old", finished("old", 15*daysAgo))
	put("older", finished("older", 400*daysAgo))
	put("fresh", finished("fresh", 13*daysAgo))
	for id, edit := range map[string]func(*contract.Record){
		"idle":   func(r *contract.Record) { r.Status = contract.StatusIdle },
		"failed": func(r *contract.Record) { r.Status = contract.StatusFailed },
		"active": func(r *contract.Record) { r.Status = contract.StatusActive },
		"pinned": func(r *contract.Record) { r.Pinned = true },
		"open":   func(r *contract.Record) { r.OpenTurn = "t-1" },
		"asks":   func(r *contract.Record) { r.Prompts = []string{"p-1"} },
		"queue":  func(r *contract.Record) { r.QueuedMessages = []contract.QueueItem{{MessageID: "m-1"}} },
		"gone":   func(r *contract.Record) { r.Archived = true },
		"timeless": func(r *contract.Record) {
			r.UpdatedAt = 0
		},
	} {
		r := finished(id, 100*daysAgo)
		edit(r)
		put(id, r)
	}
	r := start(t, Options{Paths: p})
	bodies := map[string]string{}
	for _, name := range glob(t, filepath.Join(p.Conversations(), "*.json")) {
		bodies[name] = read(t, filepath.Join(p.Conversations(), name))
	}
	want := []contract.ConversationID{"old", "older"}
	if got := ask[[]contract.ConversationID](r, msg.AutoArchive{}); !slices.Equal(got, want) {
		t.Fatalf("archived %v, want %v", got, want)
	}
	if got := ask[[]contract.ConversationID](r, msg.AutoArchive{}); len(got) != 0 {
		t.Fatalf("archived %v again", got)
	}
	archived := func() []string {
		t.Helper()
		var out []string
		for _, s := range ask[[]contract.Summary](r, msg.ListConversations{}) {
			if s.Archived {
				out = append(out, string(s.SessionID))
			}
		}
		slices.Sort(out)
		return out
	}
	if got := archived(); !slices.Equal(got, []string{"gone", "old", "older"}) {
		t.Fatalf("listed as archived: %v", got)
	}
	for name, body := range bodies {
		if read(t, filepath.Join(p.Conversations(), name)) != body {
			t.Errorf("%s was written", name)
		}
	}
	must(t, ask[msg.Done](r, msg.Flush{}).Err)
	r.stop()

	// The next service has it from the index, and nothing more to archive.
	r = start(t, Options{Paths: p})
	if got := archived(); !slices.Equal(got, []string{"gone", "old", "older"}) {
		t.Fatalf("after a start: %v", got)
	}
	loaded := ask[msg.LoadedConversation](r, msg.LoadConversation{ID: "old"})
	if !loaded.Found || !loaded.Record.Archived || len(loaded.Record.Messages) != 2 || loaded.JournalBytes == 0 {
		t.Fatalf("loaded %+v", loaded)
	}
	// A person takes one back and works on it.
	summary := summaryOf("old")
	summary.Status = contract.StatusDone
	line, err := journal.Encode(journal.Op{Set: map[string]json.RawMessage{"archived": json.RawMessage("null"), "updatedAt": json.RawMessage(fmt.Sprint(at.UnixMilli()))}})
	must(t, err)
	must(t, ask[msg.Saved](r, msg.SaveConversationNow{SaveConversation: msg.SaveConversation{ID: "old", Rev: 1, Journal: line, Summary: summary}}).Err)
	must(t, ask[msg.Done](r, msg.Flush{}).Err)
	r.stop()

	// The list is lost: the files say the same, but for what was not loaded.
	must(t, os.Remove(filepath.Join(p.Conversations(), indexName)))
	r = start(t, Options{Paths: p})
	if got := ask[[]contract.ConversationID](r, msg.AutoArchive{}); !slices.Equal(got, []contract.ConversationID{"older"}) {
		t.Fatalf("archived %v after the list was lost", got)
	}
	if got := archived(); !slices.Equal(got, []string{"gone", "older"}) {
		t.Fatalf("listed as archived at the end: %v", got)
	}
}

// A file that another program wrote after the conversation was archived has the
// last word.
func TestStore_AutoArchiveOfAnotherFile(t *testing.T) {
	p := home(t)
	write(t, filePath(p, "c-1"), string(encode(t, finished("c-1", 100*daysAgo))))
	r := start(t, Options{Paths: p})
	if got := ask[[]contract.ConversationID](r, msg.AutoArchive{}); len(got) != 1 {
		t.Fatalf("archived %v", got)
	}
	other := finished("c-1", 0)
	other.Title = "Written meanwhile"
	write(t, filePath(p, "c-1"), string(encode(t, other)))
	loaded := ask[msg.LoadedConversation](r, msg.LoadConversation{ID: "c-1"})
	if !loaded.Found || loaded.Record.Archived || exists(journalPath(p, "c-1")) {
		t.Fatalf("loaded %+v", loaded.Record)
	}
	if got := ask[msg.FoundSummary](r, msg.GetSummary{ID: "c-1"}); got.Summary.Archived || got.Summary.Title != "Written meanwhile" {
		t.Errorf("listed %+v", got)
	}
}

func TestSettings_ArchiveAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		app  string
		days int
		on   bool
	}{
		{`{}`, 14, true},
		{`{"auto_archive_done":true,"auto_archive_days":1}`, 1, true},
		{`{"auto_archive_days":365}`, 365, true},
		{`{"auto_archive_days":0}`, 14, true},
		{`{"auto_archive_days":366}`, 14, true},
		{`{"auto_archive_days":"x","auto_archive_done":"x"}`, 14, true},
		{`{"auto_archive_done":false}`, 14, false},
	} {
		s := settings{app: settingsOf(t, tc.app)}
		if after, on := s.archiveAfter(); after != time.Duration(tc.days)*24*time.Hour || on != tc.on {
			t.Errorf("%s is %v, %v", tc.app, after, on)
		}
	}
}

// BenchmarkIndex_Archive is the start with 10,000 finished conversations.
func BenchmarkIndex_Archive(b *testing.B) {
	x := newIndex()
	for i := range 10_000 {
		id := contract.ConversationID(fmt.Sprint("c-", i))
		s := summaryOf(string(id))
		s.Status, s.UpdatedAt = contract.StatusDone, at.Add(-100*daysAgo)
		x.saved(s, opened{}, stamp{size: 1, time: 1}, stamp{})
	}
	for b.Loop() {
		if got := x.archive(at); len(got) != 10_000 {
			b.Fatal(len(got))
		}
		b.StopTimer()
		for _, e := range x.entries {
			e.saved.archived = false
		}
		b.StartTimer()
	}
}
