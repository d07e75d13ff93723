package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// Configured reads the MCP servers that the person has set up: those of all
// projects first, then the project's own, each in the order of their names. The
// project's own count only where it is trusted; they still shadow a global one
// of the same name. A file that cannot be read counts as empty and is told to
// note. Source: mcp-state.md 2.
func Configured(home, project string, trusted bool, read func(path string) ([]byte, error), note func(text string)) []Server {
	var out []Server
	if home != "" {
		out = serversOf(filepath.Join(home, ".claude", "settings.json"), "global", read, note)
	}
	if project == "" {
		return out
	}
	own := serversOf(filepath.Join(project, ".mcp.json"), "project", read, note)
	if !trusted {
		for i := range own {
			own[i].Disabled = true
		}
	}
	return append(out, own...)
}

// serversOf reads the mcpServers of one file.
func serversOf(path, scope string, read func(path string) ([]byte, error), note func(text string)) []Server {
	content, err := read(path)
	var f struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// The error of a parser may quote what it read, a secret say.
		var bad *json.SyntaxError
		if errors.As(err, &bad) {
			err = fmt.Errorf("no JSON at byte %d", bad.Offset)
		}
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			err = fmt.Errorf("a value of the wrong type at byte %d", wrong.Offset)
		}
		note("MCP file not read path=" + path + ": " + err.Error())
	}
	out := make([]Server, 0, len(f.Servers))
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		var w struct {
			Type     string            `json:"type"`
			Command  string            `json:"command"`
			Args     []string          `json:"args"`
			Env      map[string]string `json:"env"`
			Disabled bool              `json:"disabled"`
		}
		if json.Unmarshal(f.Servers[name], &w) != nil {
			note("MCP server left out name=" + name + ": its entry cannot be read")
			w.Disabled = true // It shadows another one all the same.
		}
		out = append(out, Server{Name: name, Scope: scope, Transport: w.Type, Command: w.Command, Args: w.Args, Env: w.Env, Disabled: w.Disabled})
	}
	return out
}
