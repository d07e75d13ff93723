package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// statsPath is the count of the sidecar over all runs. Source: contract.md 8.
func statsPath(p config.Paths) string { return filepath.Join(p.Home, "sidecar-stats.json") }

// loadStats never fails: it is a count for people, and what cannot be read
// begins anew.
func loadStats(p config.Paths, notes *board, now time.Time) contract.SidecarLifetime {
	var l contract.SidecarLifetime
	content, err := os.ReadFile(statsPath(p))
	if errors.Is(err, fs.ErrNotExist) {
		return l
	}
	if err == nil {
		err = json.Unmarshal(content, &l)
	}
	if err == nil {
		return l
	}
	name, err := setAside(statsPath(p), now)
	if err != nil {
		name = filepath.Base(statsPath(p))
	}
	notes.add("sidecar-stats.json could not be read and was kept as %s; the counts of the sidecar begin anew.", name)
	return contract.SidecarLifetime{}
}

func saveStats(p config.Paths, l contract.SidecarLifetime) error {
	content, err := contract.Marshal(l)
	if err == nil {
		err = replace(statsPath(p), append(content, '\n'))
	}
	return trouble("save the counts of the sidecar", err)
}
