package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Held is one session that an engine holds, as the list "On the engine" shows
// it. Absent facts are empty; an engine that only lists sessions knows neither
// provider nor counts. Source: acp.md 7 and 2.1.
type Held struct {
	SessionID    string  `json:"session_id"`
	Name         string  `json:"name"`
	UpdatedAt    string  `json:"updated_at,omitempty"`
	Provider     string  `json:"provider,omitempty"`
	Model        string  `json:"model,omitempty"`
	Dir          string  `json:"dir,omitempty"`
	MessageCount int     `json:"message_count,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// decodeHeld reads one page of session/list or of packetcode's own list, and
// the cursor of the next page, empty at the end.
func decodeHeld(result json.RawMessage) (held []Held, next string) {
	top := object(result)
	held = []Held{}
	for _, entry := range array(top["sessions"]) {
		f := object(entry)
		h := Held{
			SessionID: str(f["sessionId"]), Name: str(first(f, "name", "title")), UpdatedAt: str(f["updatedAt"]),
			Provider: str(f["provider"]), Model: str(f["model"]), Dir: str(first(f, "workingDir", "cwd")),
			CostUSD: cost(f["costUsd"]),
		}
		if n, ok := number(f["messageCount"]); ok {
			h.MessageCount = int(count(n))
		}
		if h.SessionID != "" {
			held = append(held, h)
		}
	}
	return held, str(top["nextCursor"])
}

// maxSessionFile is the size in bytes above which a session file is not read:
// a list must not cost more than it is worth.
const maxSessionFile = 32 << 20

// HeldOnDisk lists the sessions of a packetcode home (see EngineHome), newest
// first, for an engine that does not list them itself. What cannot be read is
// left out and told as errors; a home without sessions is an empty list.
func HeldOnDisk(home fs.FS) ([]Held, error) {
	const dir = "sessions"
	entries, err := fs.ReadDir(home, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []Held{}, nil
	}
	held := []Held{}
	failed := err
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".json" {
			continue
		}
		h, err := heldFile(home, path.Join(dir, e.Name()))
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		held = append(held, h)
	}
	slices.SortStableFunc(held, func(a, b Held) int {
		return when(b.UpdatedAt).Compare(when(a.UpdatedAt))
	})
	return held, failed
}

func heldFile(home fs.FS, name string) (Held, error) {
	if st, err := fs.Stat(home, name); err != nil {
		return Held{}, fmt.Errorf("acp: %s: %w", name, err)
	} else if st.Size() > maxSessionFile {
		return Held{}, fmt.Errorf("acp: %s has %d bytes, more than a list reads", name, st.Size())
	}
	raw, err := fs.ReadFile(home, name)
	if err != nil {
		return Held{}, fmt.Errorf("acp: %s: %w", name, err)
	}
	f := object(raw)
	h := Held{
		SessionID: str(f["id"]), Name: str(f["name"]), UpdatedAt: str(f["updated_at"]),
		Provider: str(f["provider"]), Model: str(f["model"]), Dir: str(f["working_dir"]),
		MessageCount: len(array(f["messages"])), CostUSD: cost(object(f["cost"])["total_usd"]),
	}
	if h.SessionID == "" {
		return Held{}, fmt.Errorf("acp: %s is no session: it has no id", name)
	}
	return h, nil
}

func when(stamp string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// EngineHome is packetcode's own directory, which is never ours: we only read
// its sessions. User is the person's home directory. Source: acp.md 7.
func EngineHome(getenv func(string) string, user string) string {
	if home := strings.TrimSpace(getenv("PACKETCODE_HOME")); home != "" {
		return home
	}
	return filepath.Join(user, ".packetcode")
}
