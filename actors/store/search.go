package store

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// Bounds of a search. Ours: what a person waits for at a search box, and less
// than a stop of the service may take.
const (
	searchLimit = time.Second
	fewHits     = 50
	maxHits     = 200
	// snippetRunes is how much text stands on each side of a hit.
	snippetRunes = 60
)

// search looks through titles and paths of all, and then, newest first, through
// the messages in their files until until.
func (s shelf) search(p contract.SearchParams, all []contract.Summary, until time.Time) contract.SearchResult {
	out := contract.SearchResult{Hits: []contract.SearchHit{}, Complete: true}
	want := strings.ToLower(strings.TrimSpace(p.Query))
	if want == "" {
		return out
	}
	limit := p.Limit
	if limit <= 0 {
		limit = fewHits
	}
	limit = min(limit, maxHits)
	for _, c := range all {
		if len(out.Hits) == limit {
			out.Complete = false
			return out
		}
		hit := contract.SearchHit{SessionID: c.SessionID, Title: c.Title}
		switch {
		case mark(&hit, c.Title, want):
			hit.Where = contract.FoundInTitle
		case mark(&hit, c.ProjectPath, want):
			hit.Where = contract.FoundInPath
		case !s.now().Before(until):
			out.Complete = false
			continue
		case s.inMessages(&hit, want):
			hit.Where = contract.FoundInMessage
		default:
			continue
		}
		out.Hits = append(out.Hits, hit)
	}
	return out
}

// spoken is what of a conversation file is searched.
type spoken struct {
	Messages []struct {
		ID      string `json:"id"`
		Content string `json:"content"`
	} `json:"messages"`
}

// inMessages marks the first message that holds the text. It only reads: what
// is damaged is a load's business.
func (s shelf) inMessages(hit *contract.SearchHit, want string) bool {
	body, err := os.ReadFile(filePath(s.paths, hit.SessionID))
	if err != nil {
		return false
	}
	lines, err := os.ReadFile(journalPath(s.paths, hit.SessionID))
	if err == nil {
		base, rest, err := journal.DecodeBase(lines)
		if err == nil && base == journal.BaseOf(body) {
			return searchRecord(hit, body, rest, want)
		}
	}
	if !maybe(body, want) {
		return false
	}
	var c spoken
	if json.Unmarshal(body, &c) != nil {
		return false
	}
	for _, m := range c.Messages {
		if mark(hit, m.Content, want) {
			hit.MessageID = m.ID
			return true
		}
	}
	return false
}

// searchRecord searches a file with its journal laid over it.
func searchRecord(hit *contract.SearchHit, body, lines []byte, want string) bool {
	record := new(contract.Record)
	if json.Unmarshal(body, record) != nil {
		return false
	}
	journal.Replay(record, lines)
	for i := range record.Messages {
		if m := &record.Messages[i]; mark(hit, m.Content, want) {
			hit.MessageID = m.ID
			return true
		}
	}
	return false
}

// maybe tells most files that do not hold the text without decoding them. What
// JSON may write in several ways is not judged.
func maybe(body []byte, want string) bool {
	plain := strings.IndexFunc(want, func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf || strings.ContainsRune(`"\/<>&`, r) }) < 0
	// These two fold into ASCII letters: the Kelvin sign and the long s do the
	// same, but only when folded the other way.
	if !plain || bytes.Contains(body, []byte(`\u`)) || bytes.Contains(body, []byte("\u212a")) || bytes.Contains(body, []byte("\u0130")) {
		return true
	}
	return bytes.Contains(lowerASCII(body), []byte(want))
}

// lowerASCII folds in place: the file was read for this alone, but its text is
// decoded afterwards, so it works on a copy.
func lowerASCII(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// mark fills the snippet with the first place of want, which is folded, in text.
func mark(hit *contract.SearchHit, text, want string) bool {
	lower := strings.ToLower(text)
	at := strings.Index(lower, want)
	if at < 0 {
		return false
	}
	// Folding keeps the number of characters, not of bytes.
	from := utf8.RuneCountInString(lower[:at])
	runes := []rune(text)
	to := min(len(runes), from+utf8.RuneCountInString(want))
	begin, end := max(0, from-snippetRunes), min(len(runes), to+snippetRunes)
	before, found, after := oneLine(runes[begin:from]), oneLine(runes[from:to]), oneLine(runes[to:end])
	if begin > 0 {
		before = "..." + before
	}
	if end < len(runes) {
		after += "..."
	}
	hit.Snippet, hit.Start, hit.Length = before+found+after, contract.UTF16Len(before), contract.UTF16Len(found)
	return true
}

// oneLine puts text on one line without changing its length in characters.
func oneLine(runes []rune) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, string(runes))
}
