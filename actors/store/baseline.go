package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// MaxBaselineBytes is the largest text kept for undoing an edit. Source:
// tools-permissions.md 8.
const MaxBaselineBytes = 2_000_000

// baseline is one file of a conversation's baselines folder. Its name is the
// hash of the path, because a path is no safe file name.
type baseline struct {
	ToolID   string    `json:"tool_id"`
	Path     string    `json:"path"`
	Before   *string   `json:"before"`
	TooLarge bool      `json:"too_large,omitempty"`
	SavedAt  time.Time `json:"saved_at"`
}

func (s shelf) saveBaseline(b msg.SaveBaseline) error {
	const doing = "keep the text before an edit, so it cannot be undone later"
	dir := baselinesPath(s.paths, b.ID)
	sum := sha256.Sum256([]byte(b.Path))
	path := filepath.Join(dir, hex.EncodeToString(sum[:16])+fileSuffix)
	if _, err := os.Lstat(path); err == nil {
		return nil // The first per path wins: that is the text before all edits.
	}
	out := baseline{ToolID: b.ToolID, Path: b.Path, Before: b.Before, SavedAt: s.now().UTC()}
	if b.Before != nil && len(*b.Before) > MaxBaselineBytes {
		// Kept without its text, so that a later, smaller one is not taken for
		// the text before the first edit.
		out.Before, out.TooLarge = nil, true
	}
	content, err := contract.Marshal(out)
	if err != nil {
		return trouble(doing, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return trouble(doing, err)
	}
	return trouble(doing, replace(path, content))
}

func (s shelf) loadBaselines(id contract.ConversationID) msg.Baselines {
	dir := baselinesPath(s.paths, id)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return msg.Baselines{}
	}
	if err != nil {
		return msg.Baselines{Err: trouble("read the texts before edits", err)}
	}
	var all []baseline
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), fileSuffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		var b baseline
		if err == nil {
			err = json.Unmarshal(content, &b)
		}
		if err != nil || b.Path == "" {
			s.notes.add("A text before an edit of conversation %s could not be read; that file can only be compared with the disk.", string(id))
			continue
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b baseline) int { return a.SavedAt.Compare(b.SavedAt) })
	var out msg.Baselines
	for _, b := range all {
		out.Items = append(out.Items, msg.Baseline{ToolID: b.ToolID, Path: b.Path, Before: b.Before, TooLarge: b.TooLarge})
	}
	return out
}
