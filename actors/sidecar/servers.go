package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// wanted says whose MCP servers a session gets. Source: sidecar-protocol.md 6
// and mcp-state.md 2.
type wanted struct {
	// home is the person's home, project the conversation's folder; trusted
	// says that the project's own entries count.
	home, project string
	trusted       bool
	// chosen are the servers by name; nil is every enabled one, empty is none.
	chosen []string
	read   func(path string) ([]byte, error)
	note   func(text string)
}

// mcpServer is one entry of an MCP file, and one of start_session but for
// Disabled.
type mcpServer struct {
	Type     string            `json:"type"`
	Command  string            `json:"command,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	URL      string            `json:"url,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Disabled bool              `json:"disabled,omitempty"`
}

// found is an entry that counts for its name; why says what keeps it from
// being used.
type found struct {
	entry json.RawMessage
	why   string
}

// UnavailableServerError says that a server that was chosen by name cannot be
// used.
type UnavailableServerError struct{ Name, Reason string }

// Error is the text of mcp-state.md 2.
func (e *UnavailableServerError) Error() string {
	return "MCP server '" + e.Name + "' is not available: " + e.Reason
}

// servers returns the servers of a session by name. A file that cannot be read
// counts as empty and never fails a session; only a name that was chosen does.
func servers(w wanted) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if w.chosen != nil && len(w.chosen) == 0 {
		return out, nil
	}
	all := w.global()
	// The override is settled before anything is left out: an entry of the
	// project that does not count never falls back to the global one.
	maps.Copy(all, w.projects())
	if w.chosen != nil {
		for _, name := range w.chosen {
			f, ok := all[name]
			if !ok {
				f.why = "it is not set up"
			}
			if f.why != "" {
				return nil, &UnavailableServerError{name, f.why + "."}
			}
			out[name] = f.entry
		}
		return out, nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		if f.why == "" {
			out[name] = f.entry
			continue
		}
		w.note("MCP server left out name=" + name + ": " + f.why)
	}
	return out, nil
}

func (w wanted) global() map[string]found {
	if w.home == "" {
		return map[string]found{}
	}
	return w.file(filepath.Join(w.home, ".claude", "settings.json"))
}

func (w wanted) projects() map[string]found {
	if w.project == "" {
		return nil
	}
	list := w.file(filepath.Join(w.project, ".mcp.json"))
	if w.trusted {
		return list
	}
	for name := range list {
		list[name] = found{why: "it is the project's own and the project is not trusted"}
	}
	return list
}

// file reads the mcpServers of one file.
func (w wanted) file(path string) map[string]found {
	content, err := w.read(path)
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
		w.note("MCP file not read path=" + path + ": " + err.Error())
	}
	out := make(map[string]found, len(f.Servers))
	for name, raw := range f.Servers {
		out[name] = complete(raw)
	}
	return out
}

// complete makes an entry of start_session.
func complete(raw json.RawMessage) found {
	var s mcpServer
	if json.Unmarshal(raw, &s) != nil {
		return found{why: "its entry cannot be read"}
	}
	switch {
	case s.Disabled:
		return found{why: "it is disabled"}
	case s.Type == "http" || s.Type == "sse":
		if s.URL == "" {
			return found{why: "its entry has no url"}
		}
		s = mcpServer{Type: s.Type, URL: s.URL, Headers: s.Headers}
	case s.Command == "":
		return found{why: "its entry has no command"}
	default:
		s = mcpServer{Type: "stdio", Command: s.Command, Args: s.Args, Env: s.Env}
		if s.Args == nil {
			s.Args = []string{}
		}
	}
	entry, err := encode(s)
	if err != nil {
		return found{why: "its entry cannot be sent"}
	}
	return found{entry: entry}
}
