package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// fill writes n small conversations.
func fill(t testing.TB, p config.Paths, n int) {
	t.Helper()
	for i := range n {
		r := record(fmt.Sprintf("c-%05d", i), 1)
		r.ProjectPath = fmt.Sprintf("/home/someone/projects/number-%d", i%20)
		r.Title = fmt.Sprintf("Find out why the build of part %d fails on darwin", i)
		r.UpdatedAt = int64(1_000_000 + i)
		write(t, filePath(p, r.ID), string(encode(t, r)))
	}
}

func scanned2(t testing.TB, p config.Paths) (scanned, []string) {
	t.Helper()
	notes := &board{}
	got, err := scan(p, notes, at)
	must(t, err)
	return got, notes.take()
}

// encoded is index.json.
func (x *index) encoded(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, writeIndexTo(&b, x.freeze()))
	return b.Bytes()
}

func keep(t testing.TB, p config.Paths, x *index) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(p.Conversations(), indexName), x.encoded(t), 0o600))
}

// TestScan_ReadsOnlyStale: with an index only files that changed are opened.
func TestScan_ReadsOnlyStale(t *testing.T) {
	t.Parallel()
	const n = 1000
	p := home(t)
	fill(t, p, n)
	first, notes := scanned2(t, p)
	if first.read != n || !first.stale || len(first.x.entries) != n || notes != nil {
		t.Fatalf("without an index: read %d, stale %v, %d entries, %q", first.read, first.stale, len(first.x.entries), notes)
	}
	keep(t, p, first.x)
	second, _ := scanned2(t, p)
	if second.read != 0 || second.stale || !reflect.DeepEqual(second.x.list(), first.x.list()) {
		t.Fatalf("with an index: read %d, stale %v, or another list", second.read, second.stale)
	}
	if list := second.x.list(); list[0].SessionID != "c-00999" || list[n-1].SessionID != "c-00000" {
		t.Fatalf("not newest first: %s to %s", list[0].SessionID, list[n-1].SessionID)
	}

	// One file replaced, one with a new journal, one gone, one new.
	r := record("c-00001", 1)
	r.Title, r.UpdatedAt, r.OpenTurn = "changed", 9_000_000, "t-1"
	write(t, filePath(p, r.ID), string(encode(t, r)))
	s := newShelf(p)
	must(t, s.appendLines("c-00002", &volume{}, line(t, journal.Op{Set: map[string]json.RawMessage{"title": json.RawMessage(`"by journal"`), "openPrompts": json.RawMessage(`["x"]`)}})))
	must(t, os.Remove(filePath(p, "c-00003")))
	write(t, filePath(p, "new"), string(encode(t, record("new", 1))))
	third, _ := scanned2(t, p)
	if third.read != 3 || !third.stale || len(third.x.entries) != n {
		t.Fatalf("after changes: read %d, stale %v, %d entries", third.read, third.stale, len(third.x.entries))
	}
	for id, want := range map[contract.ConversationID]string{"c-00001": "changed", "c-00002": "by journal", "new": "Title of new"} {
		if got, ok := third.x.find(id); !ok || got.Title != want {
			t.Errorf("%s: %v, %q, want %q", id, ok, got.Title, want)
		}
	}
	if _, ok := third.x.find("c-00003"); ok {
		t.Error("a conversation without a file is listed")
	}
	if got := third.x.unfinished(); !reflect.DeepEqual(got, []contract.ConversationID{"c-00001", "c-00002"}) {
		t.Errorf("unfinished %q", got)
	}
	keep(t, p, third.x)
	if fourth, _ := scanned2(t, p); !reflect.DeepEqual(fourth.x.unfinished(), third.x.unfinished()) {
		t.Errorf("unfinished from the index alone: %q", fourth.x.unfinished())
	}
}

// TestScan_Damage: whatever stands in the folder, the rest is listed (F31).
func TestScan_Damage(t *testing.T) {
	t.Parallel()
	p := home(t)
	dir := p.Conversations()
	fill(t, p, 2)
	whole := read(t, filePath(p, "c-00000"))
	write(t, filePath(p, "empty"), "")
	write(t, filePath(p, "cut"), whole[:len(whole)-20])
	write(t, filePath(p, "kind"), `{"title":7,"messages":[]}`)
	write(t, filePath(p, "terminal"), `{"id":"terminal","mode":"pty","messages":[]}`)
	write(t, filePath(p, "foreign"), `{"messages":[{"a":[{}]}],"title":"after","mode":"api","pinned":true}`)
	write(t, filepath.Join(dir, "bad id.json"), "")
	write(t, filepath.Join(dir, ".c-00000.json123456"), "half")
	write(t, filepath.Join(dir, ".index.json99"), "half")
	write(t, filepath.Join(dir, "gone.journal"), "{}\n")
	write(t, filepath.Join(dir, "gone.baselines", "x.json"), "{}")
	write(t, filepath.Join(dir, "empty.baselines", "x.json"), "{}")
	must(t, os.Mkdir(filePath(p, "folder"), 0o700))
	for _, index := range []string{"", "{", `{"version":9,"entries":[]}`, `{"version":1,"entries":[{"summary":{"session_id":"../x"}},7`} {
		write(t, filepath.Join(dir, indexName), index)
		got, notes := scanned2(t, p)
		if !got.stale || len(got.x.entries) != 3 {
			t.Fatalf("index %q: stale %v, %d entries", index, got.stale, len(got.x.entries))
		}
		if len(notes) == 0 || !strings.Contains(notes[0], "index") {
			t.Fatalf("index %q: notices %q", index, notes)
		}
		if s, ok := got.x.find("foreign"); !ok || s.Title != "after" || !s.Pinned {
			t.Fatalf("fields after the messages: %+v", s)
		}
	}
	for name, want := range map[string]bool{
		"empty.json": false, "cut.json": false, "kind.json": false, "terminal.json": true, "bad id.json": true,
		".c-00000.json123456": false, ".index.json99": false, "gone.journal": false, "gone.baselines": false,
		"empty.baselines": true, "empty.json.corrupt-1788177600": true, "cut.json.corrupt-1788177600": true,
	} {
		if exists(filepath.Join(dir, name)) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
}

func TestIndex_LiveAndSaved(t *testing.T) {
	t.Parallel()
	x := newIndex()
	parent := contract.ConversationID("c-0")
	s := contract.Summary{
		SessionID: "c-1", Title: "one", Row: "api-demo", Provider: "demo", Model: "m", ProjectPath: "/p", Status: contract.StatusActive,
		Pinned: true, CreatedAt: at, UpdatedAt: at.Add(time.Second), NeedsYou: 2, Queued: 3, ParentSessionID: &parent,
		Worktree: &contract.Worktree{Branch: "pkt/c-1", CreatedAt: at}, RetiredNotice: "old",
	}
	x.saved(s, opened{said: openAll, are: openTurn | openPrompts}, stamp{1, 1}, stamp{})
	if got, _ := x.find("c-1"); !reflect.DeepEqual(got, s) {
		t.Fatalf("got  %+v\nwant %+v", got, s)
	}
	live := s
	live.Title, live.NeedsYou = "two", 0
	x.changed(live)
	if got, _ := x.find("c-1"); got.Title != "two" {
		t.Fatalf("a live change is not shown: %q", got.Title)
	}
	if strings.Contains(string(x.encoded(t)), "two") {
		t.Fatal("a live change was written: after a kill it would be taken for the file's")
	}
	live.Title = "three"
	x.saved(live, opened{said: openPrompts}, stamp{2, 2}, stamp{})
	if got, _ := x.find("c-1"); got.Title != "three" || len(x.unfinished()) != 1 {
		t.Fatalf("after a save: %q, unfinished %q", got.Title, x.unfinished())
	}
	x.saved(live, opened{said: openTurn}, stamp{3, 3}, stamp{})
	if got := x.unfinished(); got != nil {
		t.Fatalf("unfinished %q", got)
	}
	x.changed(contract.Summary{SessionID: "c-2", UpdatedAt: at})
	b := x.encoded(t)
	if strings.Contains(string(b), "c-2") {
		t.Fatal("a conversation without a file was written")
	}
	var rows []row
	must(t, decodeIndex(bytes.NewReader(b), func(r row) { rows = append(rows, r) }))
	if len(rows) != 1 || rows[0].File != (stamp{3, 3}) || rows[0].Summary.Title != "three" {
		t.Fatalf("rows %+v", rows)
	}
}

func TestReadHead(t *testing.T) {
	t.Parallel()
	r := record("c-1", 2)
	r.Worktree = json.RawMessage(`{"basePath":"/p","worktreePath":"/p/w","branch":"pkt/c-1","createdAt":1788177600000,"state":"active"}`)
	r.QueuedMessages = []contract.QueueItem{{MessageID: "m"}}
	r.Prompts, r.Edits, r.OpenTurn = []string{"a", "b"}, []string{"c"}, "t-9"
	r.ParentConversationID, r.Agent = "c-0", contract.RowRetiredCodex
	body := encode(t, r)
	// The messages are not even looked at in a file of ours.
	cut := append(body[:bytes.Index(body, []byte(`"messages":`))+len(`"messages":`)], "nonsense"...)
	h, err := readHead(bytes.NewReader(cut))
	must(t, err)
	s := h.summary("c-1")
	if s.NeedsYou != 3 || s.Queued != 1 || *s.ParentSessionID != "c-0" || s.RetiredNotice == "" || h.open().are != openAll ||
		s.Worktree == nil || s.Worktree.BasePath != "/p" || !s.Worktree.CreatedAt.Equal(at) || s.UpdatedAt.UnixMilli() != 2000 {
		t.Fatalf("%+v", s)
	}
}

// TestIndex_Memory: 10,000 stored conversations cost at most 10 MB.
func TestIndex_Memory(t *testing.T) {
	const n = 10_000
	x := newIndex()
	for i := range n {
		x.saved(contract.Summary{
			SessionID: contract.ConversationID(fmt.Sprintf("conversation-%024d", i)), Row: "api-claude", Provider: "anthropic", Model: "claude-opus-5",
			Title: fmt.Sprintf("Find out why the build of part %d fails on darwin", i), ProjectPath: fmt.Sprintf("/home/someone/projects/number-%d", i%200),
			Status: contract.StatusIdle, CreatedAt: at, UpdatedAt: at,
		}, opened{}, stamp{1, 1}, stamp{})
	}
	b := x.encoded(t)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	x = nil
	before := heap()
	loaded := newIndex()
	must(t, decodeIndex(bytes.NewReader(b), func(r row) { loaded.saved(r.Summary, opened{}, r.File, r.Journal) }))
	grown := int64(heap()) - int64(before)
	t.Logf("%d conversations: %d KB in memory, %d KB on disk", len(loaded.entries), grown>>10, len(b)>>10)
	if len(loaded.entries) != n || grown > 10<<20 {
		t.Fatalf("%d entries cost %d bytes", len(loaded.entries), grown)
	}
	runtime.KeepAlive(b)
}

func BenchmarkScan10000(b *testing.B) {
	p := home(b)
	fill(b, p, 10_000)
	got, _ := scanned2(b, p)
	keep(b, p, got.x)
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := scanned2(b, p); got.read != 0 {
			b.Fatal("a fresh index was not used")
		}
	}
}

func BenchmarkRebuild10000(b *testing.B) {
	p := home(b)
	fill(b, p, 10_000)
	for b.Loop() {
		scanned2(b, p)
	}
}

func BenchmarkList10000(b *testing.B) {
	x := newIndex()
	for i := range 10_000 {
		x.saved(contract.Summary{SessionID: contract.ConversationID(fmt.Sprintf("c-%d", i)), UpdatedAt: at.Add(time.Duration(i*7919%10_000) * time.Second)}, opened{}, stamp{1, 1}, stamp{})
	}
	for b.Loop() {
		x.list()
	}
}

// BenchmarkAppend: a journal line costs the same however long the transcript.
func BenchmarkAppend(b *testing.B) {
	for _, messages := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			s := newShelf(home(b))
			var v volume
			must(b, s.save("c-1", &v, encode(b, record("c-1", messages))))
			l := line(b, journal.Append(0, "a delta of a few words", "", 0, nil))
			b.ReportMetric(float64(v.base.Size), "file-bytes")
			for b.Loop() {
				must(b, s.appendLines("c-1", &v, l))
			}
		})
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add(encode(f, record("c-1", 2)))
	f.Add([]byte(`{"createdAt":1788177600000000000,"updatedAt":-1}`))
	f.Add([]byte(`{"messages":[{"a":[1,{}]}],"title":"t","queuedMessages":null,"worktree":{"worktreePath":"w","createdAt":"2026-08-31T12:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHead(bytes.NewReader(b))
		if err != nil {
			return
		}
		// Whatever a file says, the list can still be encoded.
		if _, err := contract.Marshal(h.summary("c-1")); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecodeIndex(f *testing.F) {
	x := newIndex()
	x.saved(contract.Summary{SessionID: "c-1", Title: "t", UpdatedAt: at}, opened{said: 7, are: 1}, stamp{1, 2}, stamp{3, 4})
	f.Add(x.encoded(f))
	f.Add([]byte(`{"version":1,"entries":[{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = decodeIndex(bytes.NewReader(b), func(r row) {
			if !contract.ValidID(string(r.Summary.SessionID)) {
				t.Fatalf("id %q", r.Summary.SessionID)
			}
		})
	})
}
