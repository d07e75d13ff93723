package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/packetbench/packetbench/contract"
)

// maxMCPBytes is the largest settings file that is read for its servers.
const maxMCPBytes = 4 << 20

// server is what is looked at of one entry; its values are secrets.
type server struct {
	Type     string `json:"type"`
	Command  string `json:"command"`
	URL      string `json:"url"`
	Disabled bool   `json:"disabled"`
}

// MCP lists the servers that a conversation in dir gets: of home's .claude
// folder and, for a trusted project, of its own file. Chosen restricts them by
// name; nil means all that are enabled. The project's entry hides a global one
// of its name even when it does not count itself.
func MCP(home, dir string, trusted bool, chosen []string) contract.ProjectMCP {
	out := contract.ProjectMCP{Servers: []contract.MCPSource{}, ReadErrors: []contract.MCPReadError{}}
	all := map[string]contract.MCPSource{}
	for _, from := range []struct{ scope, base, name string }{
		{"global", home, filepath.Join(".claude", "settings.json")},
		{"project", dir, ".mcp.json"},
	} {
		if from.base == "" {
			continue
		}
		entries, err := readServers(from.base, from.name)
		if err != nil && (from.scope == "global" || trusted) {
			out.ReadErrors = append(out.ReadErrors, contract.MCPReadError{Scope: from.scope, Path: filepath.Join(from.base, from.name), Message: err.Error()})
		}
		for name, raw := range entries {
			delete(all, name)
			var s server
			if json.Unmarshal(raw, &s) != nil || s.Disabled || from.scope == "project" && !trusted || chosen != nil && !slices.Contains(chosen, name) {
				continue
			}
			switch {
			case (s.Type == "http" || s.Type == "sse") && s.URL != "":
			case s.Type != "http" && s.Type != "sse" && s.Command != "":
				s.Type = "stdio"
			default:
				continue
			}
			all[name] = contract.MCPSource{Name: name, Transport: s.Type, Scope: from.scope}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.Servers = append(out.Servers, all[name])
	}
	return out
}

// readServers reads the entries of one file. Its error quotes nothing of it.
func readServers(base, name string) (map[string]json.RawMessage, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil // No folder, no servers.
	}
	defer func() { _ = root.Close() }()
	text, cut, err := readText(root, name, maxMCPBytes)
	switch {
	case missing(err):
		return nil, nil
	case err != nil || cut:
		return nil, errors.New("The file cannot be read. Look at its permissions and size.")
	}
	var f struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		var bad *json.SyntaxError
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("The file is no JSON: see byte %d.", bad.Offset)
		}
		return nil, errors.New("The file has another shape than {\"mcpServers\": {name: {...}}}.")
	}
	return f.Servers, nil
}
