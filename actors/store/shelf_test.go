package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

func line(t testing.TB, ops ...journal.Op) []byte {
	t.Helper()
	b, err := journal.Encode(ops...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content loads a conversation with a fresh lane, as a new start does, and
// returns the text of its message 0.
func content(t testing.TB, s shelf, id contract.ConversationID) string {
	t.Helper()
	got := s.load(id, &volume{})
	if got.err != nil || !got.found {
		t.Fatalf("load: found %v, %v", got.found, got.err)
	}
	return got.record.Messages[0].Content
}

func TestShelf_SaveAppendLoad(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	var v volume
	must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
	must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " more", "", 0, nil))))
	must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " still", "", 0, nil))))
	if got := content(t, s, "c-1"); got != "text 0 more still" {
		t.Fatalf("content %q", got)
	}
	for path, mode := range map[string]os.FileMode{
		filePath(s.paths, "c-1"): 0o600, journalPath(s.paths, "c-1"): 0o600, s.paths.Conversations(): 0o700,
	} {
		fi, err := os.Stat(path)
		must(t, err)
		if os.PathSeparator == '/' && fi.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v", filepath.Base(path), fi.Mode().Perm(), mode)
		}
	}
	r := record("c-1", 1)
	r.Messages[0].Content = "whole"
	must(t, s.save("c-1", &v, encode(t, r)))
	if exists(journalPath(s.paths, "c-1")) || v.lines != 0 {
		t.Fatal("a whole save keeps the journal")
	}
	if got := content(t, s, "c-1"); got != "whole" {
		t.Fatalf("content %q", got)
	}
	if notes := s.notes.take(); notes != nil {
		t.Fatalf("notices %q", notes)
	}
}

// TestShelf_KillBetweenFileAndJournal is the moment after the new file is in
// place and before the old journal is gone (F30): the journal must not count
// a second time, and appending goes on.
func TestShelf_KillBetweenFileAndJournal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, first, second string }{
		{"another file", "a", "ab"},
		{"the same bytes again", "a", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(home(t))
			var v volume
			r := record("c-1", 1)
			r.Messages[0].Content = tc.first
			must(t, s.save("c-1", &v, encode(t, r)))
			must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, "b", "", 0, nil))))
			old := read(t, journalPath(s.paths, "c-1"))
			r.Messages[0].Content = tc.second
			must(t, s.save("c-1", &v, encode(t, r)))
			write(t, journalPath(s.paths, "c-1"), old)

			if got := content(t, s, "c-1"); got != tc.second {
				t.Fatalf("content %q, want %q", got, tc.second)
			}
			write(t, journalPath(s.paths, "c-1"), old)
			must(t, s.appendLines("c-1", &volume{}, line(t, journal.Append(0, "!", "", 0, nil))))
			if got := content(t, s, "c-1"); got != tc.second+"!" {
				t.Fatalf("content %q after an append", got)
			}
		})
	}
}

// TestShelf_TornTail: what a kill left of an append is no save, and the next
// append does not continue it (F30).
func TestShelf_TornTail(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{false, true} {
		s := newShelf(home(t))
		var v volume
		must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
		must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " 1", "", 0, nil))))
		torn := read(t, journalPath(s.paths, "c-1")) + `{"append":0,"content":" torn`
		write(t, journalPath(s.paths, "c-1"), torn)
		if fresh {
			v = volume{}
			s.load("c-1", &v)
		}
		must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " 2", "", 0, nil))))
		if got := content(t, s, "c-1"); got != "text 0 1 2" {
			t.Fatalf("content %q", got)
		}
	}
}

// TestShelf_RestOfFailedAppend: what a failed append left, whole lines too, is
// gone with the next one, however short that is.
func TestShelf_RestOfFailedAppend(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	var v volume
	must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
	must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " 1", "", 0, nil))))
	rest := string(line(t, journal.Append(0, " not saved", "", 0, nil)))
	write(t, journalPath(s.paths, "c-1"), read(t, journalPath(s.paths, "c-1"))+strings.Repeat(rest, 5))
	must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " 2", "", 0, nil))))
	if got := content(t, s, "c-1"); got != "text 0 1 2" {
		t.Fatalf("content %q", got)
	}
	if notes := s.notes.take(); notes != nil {
		t.Fatalf("notices %q", notes)
	}
}

func TestShelf_DamagedJournalLine(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	var v volume
	must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
	must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " 1", "", 0, nil))))
	write(t, journalPath(s.paths, "c-1"), read(t, journalPath(s.paths, "c-1"))+"garbage\n"+string(line(t, journal.Append(0, " 3", "", 0, nil))))
	v = volume{}
	got := s.load("c-1", &v)
	if got.err != nil || got.record.Messages[0].Content != "text 0 1" {
		t.Fatalf("load: %v, %q", got.err, got.record.Messages[0].Content)
	}
	if notes := s.notes.take(); len(notes) != 1 {
		t.Fatalf("notices %q", notes)
	}
	if names := glob(t, filepath.Join(s.paths.Conversations(), "c-1.journal.corrupt-*")); len(names) != 1 {
		t.Fatalf("set aside: %q", names)
	}
	must(t, s.appendLines("c-1", &v, line(t, journal.Append(0, " 2", "", 0, nil))))
	if got := content(t, s, "c-1"); got != "text 0 1 2" {
		t.Fatalf("content %q", got)
	}
}

// TestShelf_DamagedFile: a 0-byte or broken file is set aside, told once, and
// does not stand in the way of a new one (F31).
func TestShelf_DamagedFile(t *testing.T) {
	t.Parallel()
	whole := string(encode(t, record("c-1", 3)))
	for name, body := range map[string]string{"empty": "", "cut short": whole[:len(whole)/2], "text": "hello", "array": "[]", "wrong kind": `{"id":7}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(home(t))
			write(t, filePath(s.paths, "c-1"), body)
			write(t, journalPath(s.paths, "c-1"), "{}\n")
			var v volume
			got := s.load("c-1", &v)
			aSentence(t, got.err)
			if got.found || exists(filePath(s.paths, "c-1")) || exists(journalPath(s.paths, "c-1")) {
				t.Fatalf("found %v, or a damaged file left in place", got.found)
			}
			kept := filepath.Join(s.paths.Conversations(), "c-1.json.corrupt-1788177600")
			if read(t, kept) != body {
				t.Fatal("the damaged file was not kept")
			}
			if notes := s.notes.take(); len(notes) != 1 || !strings.Contains(notes[0], filepath.Base(kept)) {
				t.Fatalf("notices %q", notes)
			}
			must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
			if got := content(t, s, "c-1"); got != "text 0" {
				t.Fatalf("content %q", got)
			}
			// The same second again: the name is taken.
			write(t, filePath(s.paths, "c-1"), body)
			s.load("c-1", &v)
			if !exists(kept + "-2") {
				t.Fatal("a second damaged file of the same second was lost")
			}
		})
	}
}

func TestShelf_UnknownKeysSurvive(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	write(t, filePath(s.paths, "c-1"), `{"id":"c-1","later":{"x":1},"messages":[{"id":"m","mine":[2],"toolCalls":[{"id":"t","name":"n","status":"done","its":3}]}]}`)
	got := s.load("c-1", &volume{})
	must(t, got.err)
	b := encode(t, got.record)
	for _, want := range []string{`"later":{"x":1}`, `"mine":[2]`, `"its":3`} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s is lost in %s", want, b)
		}
	}
}

func TestShelf_Refusals(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	aSentence(t, s.appendLines("c-1", &volume{}, line(t, journal.Truncate(0))))
	var v volume
	must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
	aSentence(t, s.appendLines("c-1", &v, []byte(`{"truncate":0}`)))
	for _, id := range []contract.ConversationID{"", "..", "a/b", "a.b", "index", "INDEX", contract.ConversationID(strings.Repeat("x", 65))} {
		aSentence(t, checkID(id))
	}
	must(t, checkID("A-z_0"))
}

func TestShelf_Remove(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	var v volume
	must(t, s.save("c-1", &v, encode(t, record("c-1", 1))))
	must(t, s.appendLines("c-1", &v, line(t, journal.Truncate(0))))
	must(t, s.saveBaseline(msg.SaveBaseline{ID: "c-1", ToolID: "t", Path: "x"}))
	must(t, s.save("c-10", &volume{}, encode(t, record("c-10", 1))))
	must(t, s.remove("c-1", &v))
	must(t, s.remove("c-1", &v)) // Again is no failure.
	names := glob(t, filepath.Join(s.paths.Conversations(), "*"))
	if len(names) != 1 || names[0] != "c-10.json" {
		t.Fatalf("left: %q", names)
	}
	if got := s.load("c-1", &v); got.found || got.err != nil {
		t.Fatalf("load after a deletion: %+v", got)
	}
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	text := func(s string) *string { return &s }
	for _, b := range []msg.SaveBaseline{
		{ID: "c-1", ToolID: "t1", Path: "../../etc/passwd", Before: text("first")},
		{ID: "c-1", ToolID: "t2", Path: "../../etc/passwd", Before: text("second")},
		{ID: "c-1", ToolID: "t3", Path: "new.go"},
		{ID: "c-1", ToolID: "t4", Path: "big", Before: text(strings.Repeat("x", MaxBaselineBytes+1))},
		{ID: "c-1", ToolID: "t5", Path: "big", Before: text("small now")},
		{ID: "c-1", ToolID: "t6", Path: "limit", Before: text(strings.Repeat("x", MaxBaselineBytes))},
	} {
		must(t, s.saveBaseline(b))
	}
	got := s.loadBaselines("c-1")
	must(t, got.Err)
	if len(got.Items) != 4 {
		t.Fatalf("%d baselines", len(got.Items))
	}
	byPath := map[string]msg.Baseline{}
	for _, b := range got.Items {
		byPath[b.Path] = b
	}
	if b := byPath["../../etc/passwd"]; b.ToolID != "t1" || *b.Before != "first" {
		t.Errorf("the first per path does not win: %+v", b)
	}
	if b := byPath["new.go"]; b.Before != nil || b.TooLarge {
		t.Errorf("a new file: %+v", b)
	}
	if b := byPath["big"]; b.Before != nil || !b.TooLarge || b.ToolID != "t4" {
		t.Errorf("a text over the limit: %+v", b)
	}
	if b := byPath["limit"]; b.Before == nil || len(*b.Before) != MaxBaselineBytes {
		t.Error("a text of exactly the limit was not kept")
	}
	// The names say nothing of the paths and stay in their folder.
	for _, name := range glob(t, filepath.Join(baselinesPath(s.paths, "c-1"), "*")) {
		if len(name) != len("0123456789abcdef0123456789abcdef.json") {
			t.Errorf("file name %q", name)
		}
	}
	if got := s.loadBaselines("c-2"); got.Err != nil || got.Items != nil {
		t.Fatalf("baselines of another: %+v", got)
	}
}

// BenchmarkLoad5MB reads a long conversation.
func BenchmarkLoad5MB(b *testing.B) {
	s := newShelf(home(b))
	r := record("c-1", 5000)
	for i := range r.Messages {
		r.Messages[i].Content = strings.Repeat("words of a message ", 50)
	}
	must(b, s.save("c-1", &volume{}, encode(b, r)))
	for b.Loop() {
		if got := s.load("c-1", &volume{}); got.err != nil {
			b.Fatal(got.err)
		}
	}
}

// BenchmarkSave5MB replaces its file.
func BenchmarkSave5MB(b *testing.B) {
	s := newShelf(home(b))
	r := record("c-1", 5000)
	for i := range r.Messages {
		r.Messages[i].Content = strings.Repeat("words of a message ", 50)
	}
	body := encode(b, r)
	var v volume
	for b.Loop() {
		must(b, s.save("c-1", &v, body))
	}
}
