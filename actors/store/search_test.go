package store

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// wrote puts a conversation with these messages on the disk.
func wrote(t testing.TB, s shelf, id string, messages ...string) contract.Summary {
	t.Helper()
	r := record(id, 0)
	for i, text := range messages {
		r.Messages = append(r.Messages, contract.RecordMessage{ID: fmt.Sprintf("m-%d", i+1), Role: contract.RoleUser, Content: text})
	}
	must(t, os.MkdirAll(s.paths.Conversations(), 0o700))
	must(t, s.save(r.ID, &volume{}, encode(t, r)))
	return contract.Summary{SessionID: r.ID, Title: "Title " + id, ProjectPath: "/home/me/" + id}
}

// marked is what a hit marks in its snippet, as a browser would cut it.
func marked(h contract.SearchHit) string {
	units := utf16.Encode([]rune(h.Snippet))
	return string(utf16.Decode(units[h.Start : h.Start+h.Length]))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	all := []contract.Summary{
		wrote(t, s, "a", "nothing", "The \U0001f600 Quick \"brown\"\nFox\tjumps"),
		wrote(t, s, "b", strings.Repeat("x", 200)+" needle "+strings.Repeat("y", 200)),
		wrote(t, s, "c", "\u00dcber stra\u00dfe", "\u0130stanbul next"),
		{SessionID: "gone", Title: "No file", ProjectPath: "/p"},
	}
	for _, tc := range []struct {
		query, id, message string
		where              contract.SearchPlace
		marked, snippet    string
	}{
		{"title B", "b", "", contract.FoundInTitle, "Title b", "Title b"},
		{"home/ME/c", "c", "", contract.FoundInPath, "home/me/c", "/home/me/c"},
		{"quick \"BROWN", "a", "m-2", contract.FoundInMessage, "Quick \"brown", "The \U0001f600 Quick \"brown\" Fox jumps"},
		{"\"\nfox", "a", "m-2", contract.FoundInMessage, "\" Fox", "The \U0001f600 Quick \"brown\" Fox jumps"},
		{"needle", "b", "m-1", contract.FoundInMessage, "needle", "..." + strings.Repeat("x", 59) + " needle " + strings.Repeat("y", 59) + "..."},
		{"\u00fcBER", "c", "m-1", contract.FoundInMessage, "\u00dcber", "\u00dcber stra\u00dfe"},
		{"next", "c", "m-2", contract.FoundInMessage, "next", "\u0130stanbul next"},
	} {
		got := s.search(contract.SearchParams{Query: tc.query}, all, s.now().Add(time.Hour))
		if len(got.Hits) != 1 || !got.Complete {
			t.Errorf("%q: %+v", tc.query, got)
			continue
		}
		h := got.Hits[0]
		if string(h.SessionID) != tc.id || h.MessageID != tc.message || h.Where != tc.where || marked(h) != tc.marked || h.Snippet != tc.snippet {
			t.Errorf("%q: %+v marks %q", tc.query, h, marked(h))
		}
	}
	for _, none := range []string{"", "  ", "nowhere", "m-1"} {
		if got := s.search(contract.SearchParams{Query: none}, all, s.now().Add(time.Hour)); got.Hits == nil || len(got.Hits) != 0 || !got.Complete {
			t.Errorf("%q: %+v", none, got)
		}
	}
}

// What was appended since the file was written is found, whole sentences too
// that were saved in pieces; what was dropped is not.
func TestSearch_Journal(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	all := []contract.Summary{wrote(t, s, "a", "old words", "half a sen")}
	lines, err := journal.Encode(journal.Append(1, "tence", "", 0, nil), journal.Put(0, contract.RecordMessage{ID: "m-1", Role: contract.RoleUser, Content: "new words"}))
	must(t, err)
	must(t, s.appendLines("a", &volume{}, lines))
	for query, want := range map[string]int{"sentence": 1, "new words": 1, "old words": 0} {
		if got := s.search(contract.SearchParams{Query: query}, all, s.now().Add(time.Hour)); len(got.Hits) != want {
			t.Errorf("%q: %+v", query, got)
		}
	}
}

// Titles are looked through whatever the time; files only until it is up, and
// the answer says so (F76: a large list).
func TestSearch_Bounded(t *testing.T) {
	t.Parallel()
	s := newShelf(home(t))
	all := []contract.Summary{wrote(t, s, "a", "needle"), {SessionID: "b", Title: "needle"}}
	if got := s.search(contract.SearchParams{Query: "needle"}, all, s.now()); len(got.Hits) != 1 || got.Hits[0].SessionID != "b" || got.Complete {
		t.Errorf("no time left: %+v", got)
	}
	if got := s.search(contract.SearchParams{Query: "needle", Limit: 1}, all, s.now().Add(time.Hour)); len(got.Hits) != 1 || got.Complete {
		t.Errorf("limit 1: %+v", got)
	}
	write(t, filePath(s.paths, "a"), "{ damaged needle")
	if got := s.search(contract.SearchParams{Query: "needle"}, all, s.now().Add(time.Hour)); len(got.Hits) != 1 || !exists(filePath(s.paths, "a")) {
		t.Errorf("a damaged file: %+v", got)
	}
}

func TestStore_Search(t *testing.T) {
	t.Parallel()
	p := home(t)
	wrote(t, newShelf(p), "a", "find me")
	r := start(t, Options{Paths: p})
	got := ask[contract.SearchResult](r, msg.Search{Params: contract.SearchParams{Query: "FIND"}})
	if len(got.Hits) != 1 || got.Hits[0].SessionID != "a" || got.Hits[0].Where != contract.FoundInMessage {
		t.Errorf("%+v", got)
	}
}

// FuzzMark: the marked piece folds to what was looked for.
func FuzzMark(f *testing.F) {
	f.Add("The Quick\nFox", "quick f")
	f.Add("\u0130\u212a\U0001f600x", "\U0001f600")
	f.Fuzz(func(t *testing.T, text, query string) {
		want := strings.ToLower(query)
		var h contract.SearchHit
		if !mark(&h, text, want) {
			return
		}
		if h.Start < 0 || h.Length < 0 || h.Start+h.Length > contract.UTF16Len(h.Snippet) {
			t.Fatalf("%q in %q: %+v", query, text, h)
		}
		if utf8.ValidString(text) && utf8.ValidString(query) && strings.ToLower(marked(h)) != oneLine([]rune(want)) {
			t.Errorf("%q in %q marks %q", query, text, marked(h))
		}
	})
}

// BenchmarkSearch reads 200 conversations of 100 messages for a text that none
// of them holds.
func BenchmarkSearch(b *testing.B) {
	s := newShelf(home(b))
	var all []contract.Summary
	for i := range 200 {
		messages := make([]string, 100)
		for k := range messages {
			messages[k] = strings.Repeat("Some words of a conversation. ", 30)
		}
		all = append(all, wrote(b, s, fmt.Sprint("c", i), messages...))
	}
	for b.Loop() {
		s.search(contract.SearchParams{Query: "absent"}, all, s.now().Add(time.Hour))
	}
}
