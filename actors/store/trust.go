package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// trusted is trusted-projects.json. Declined holds the projects that were asked
// about and not trusted; it is ours, the rest is mcp-state.md 7.
type trusted struct {
	Version  int      `json:"version"`
	Projects []string `json:"projects"`
	Declined []string `json:"declined,omitempty"`
}

// trust answers about projects. It reads the file each time, so that what a
// person removed there counts at once. It belongs to one lane.
type trust struct {
	paths config.Paths
	notes *board
	now   func() time.Time
}

// canonical is the path without links, absolute. A path that does not exist has
// none and is never trusted.
func canonical(path string) (string, bool) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return "", false
	}
	real, err := filepath.EvalSymlinks(abs)
	return real, err == nil
}

func (t trust) read() (trusted, error) {
	var f trusted
	content, err := os.ReadFile(t.paths.Trusted())
	if err != nil {
		return trusted{}, err
	}
	if err := json.Unmarshal(content, &f); err != nil {
		return trusted{}, err
	}
	return f, nil
}

func among(list []string, path string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		// Relative entries would mean another folder with each start.
		if !filepath.IsAbs(entry) {
			return false
		}
		c, ok := canonical(entry)
		return ok && c == path
	})
}

// ask never fails: whatever cannot be read is not trusted.
func (t trust) ask(project string) msg.TrustAnswer {
	path, ok := canonical(project)
	if !ok {
		return msg.TrustAnswer{}
	}
	f, err := t.read()
	if err != nil || f.Version != 1 {
		return msg.TrustAnswer{}
	}
	yes := among(f.Projects, path)
	return msg.TrustAnswer{Trusted: yes, Asked: yes || among(f.Declined, path)}
}

func (t trust) set(project string, yes bool) error {
	path, ok := canonical(project)
	if !ok {
		return tell("The project folder could not be found, so it cannot be trusted. Look whether it still exists.")
	}
	f, err := t.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f = trusted{Version: 1}
	case err != nil:
		name, aside := setAside(t.paths.Trusted(), t.now())
		if aside != nil {
			return trouble("save which projects are trusted", aside)
		}
		t.notes.add("trusted-projects.json could not be read and was kept as %s; no project is trusted until you say so again.", name)
		f = trusted{Version: 1}
	case f.Version != 1:
		return tell("The file trusted-projects.json was written by another version of PacketBench and is left as it is. Update PacketBench, or move that file away.")
	}
	other := func(entry string) bool { return among([]string{entry}, path) }
	f.Projects = slices.DeleteFunc(f.Projects, other)
	f.Declined = slices.DeleteFunc(f.Declined, other)
	if yes {
		f.Projects = append(f.Projects, path)
	} else {
		f.Declined = append(f.Declined, path)
	}
	if f.Projects == nil {
		f.Projects = []string{}
	}
	content, err := contract.Marshal(f)
	if err == nil {
		err = replace(t.paths.Trusted(), append(content, '\n'))
	}
	return trouble("save which projects are trusted", err)
}
