package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// The bounds of the audit. Source: tools-permissions.md 9.
const (
	auditMost  = 200
	auditShort = 7  // days, the default
	auditLong  = 30 // days
	auditText  = 200
)

// auditFile is audit.json and also the shape of an export.
type auditFile struct {
	SchemaVersion int                   `json:"schemaVersion"`
	Entries       []contract.AuditEntry `json:"entries"`
}

// audit keeps the newest decisions. It belongs to one lane. Enforcement never
// depends on it: what cannot be written is told and forgotten.
type audit struct {
	paths   config.Paths
	notes   *board
	entries []contract.AuditEntry
	dirty   bool
	// failed says that the last write failed, to tell it once.
	failed bool
}

func (a *audit) load(now time.Time) {
	content, err := os.ReadFile(a.paths.Audit())
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var f auditFile
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	if err != nil || f.SchemaVersion != 1 {
		name, err := setAside(a.paths.Audit(), now)
		if err != nil {
			name = filepath.Base(a.paths.Audit())
		}
		a.notes.add("audit.json could not be read and was kept as %s; the audit begins anew.", name)
		return
	}
	a.entries = f.Entries
}

// add takes one decision.
func (a *audit) add(e contract.AuditEntry, days int, now time.Time) {
	a.entries = append(a.entries, redactEntry(e))
	a.trim(days, now)
	a.dirty = true
}

// trim drops what is beyond number or age.
func (a *audit) trim(days int, now time.Time) {
	oldest := now.AddDate(0, 0, -days).UnixMilli()
	a.entries = slices.DeleteFunc(a.entries, func(e contract.AuditEntry) bool { return e.Timestamp < oldest })
	if n := len(a.entries); n > auditMost {
		a.entries = slices.Clone(a.entries[n-auditMost:])
	}
}

// list returns the decisions, oldest first.
func (a *audit) list(days int, now time.Time) []contract.AuditEntry {
	a.trim(days, now)
	out := make([]contract.AuditEntry, len(a.entries))
	copy(out, a.entries)
	return out
}

// save writes what changed.
func (a *audit) save() error {
	if !a.dirty {
		return nil
	}
	content, err := contract.Marshal(auditFile{SchemaVersion: 1, Entries: a.entries})
	if err == nil {
		err = replace(a.paths.Audit(), append(content, '\n'))
	}
	if err = trouble("save the audit of decisions", err); err != nil {
		if !a.failed {
			a.notes.add("%s", err)
		}
		a.failed = true
		return err
	}
	a.dirty, a.failed = false, false
	return nil
}

var (
	secretQuery = regexp.MustCompile(`(?i)([?&;]|^|\s)([a-z0-9_.-]*(?:token|key|secret|password)[a-z0-9_.-]*=)[^&;\s"']+`)
	secretToken = regexp.MustCompile(`\b(?:sk-|sk_|ghp_|github_pat_|xox[a-z]-)[A-Za-z0-9_-]{4,}`)
)

// redact hides values of query parameters whose name says that they are secret
// and texts that look like tokens, then cuts to 200 characters.
func redact(s string) string {
	s = secretQuery.ReplaceAllString(s, "${1}${2}[redacted]")
	s = secretToken.ReplaceAllString(s, "[redacted]")
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > auditText {
		s = string([]rune(s)[:auditText])
	}
	return s
}

func redactEntry(e contract.AuditEntry) contract.AuditEntry {
	for _, s := range []*string{&e.ID, &e.ConversationID, &e.ToolID, &e.Action, &e.Target, &e.Decision, &e.EffectivePolicy} {
		*s = redact(*s)
	}
	sources := make([]contract.Source, len(e.SourceChain))
	for i, s := range e.SourceChain {
		sources[i] = contract.Source{Origin: redact(s.Origin), Label: redact(s.Label), Locator: redact(s.Locator)}
	}
	e.SourceChain = sources
	return e
}
