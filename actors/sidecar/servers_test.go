package sidecar

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mcp-state.md 2: the project's entry settles its name before anything is left
// out; a file that cannot be read is empty; a chosen name is there or an error.
func TestServers(t *testing.T) {
	t.Parallel()
	const (
		global  = `{"other":1,"mcpServers":{"fs":{"command":"fs","args":["a"],"env":{"K":"v"},"disabled":false,"x":1},"web":{"type":"http","url":"http://h","headers":{"A":"b"}},"off":{"command":"x","disabled":true},"both":{"command":"global"}}}`
		project = `{"mcpServers":{"both":{"command":"project"},"own":{"type":"sse","url":"http://s"}}}`
		off     = `{"mcpServers":{"both":{"command":"project","disabled":true},"own":{"command":"o"}}}`
		bad     = `{"mcpServers":{"a":{"args":["x"]},"b":{"type":"http"},"c":{"command":"c","args":"x"},"d":{"command":"d","env":{"K":1}},"e":5,"f":{"command":"f"}}}`
		fsEntry = `"fs":{"type":"stdio","command":"fs","args":["a"],"env":{"K":"v"}}`
		web     = `"web":{"type":"http","url":"http://h","headers":{"A":"b"}}`
		own     = `"own":{"type":"sse","url":"http://s"}`
		both    = `"both":{"type":"stdio","command":"global"}`
	)
	for _, tc := range []struct {
		name, global, project string
		trusted               bool
		chosen                []string
		want, err             string
		notes                 int
	}{
		{name: "no files", want: `{}`},
		{name: "all of the global ones", global: global, want: `{` + both + `,` + fsEntry + `,` + web + `}`, notes: 1},
		{name: "the project wins", global: global, project: project, trusted: true, want: `{"both":{"type":"stdio","command":"project"},` + fsEntry + `,` + own + `,` + web + `}`, notes: 1},
		{name: "also when it is disabled", global: global, project: off, trusted: true, want: `{` + fsEntry + `,"own":{"type":"stdio","command":"o"},` + web + `}`, notes: 2},
		{name: "also when it is not trusted", global: global, project: project, want: `{` + fsEntry + `,` + web + `}`, notes: 3},
		{name: "none", global: global, chosen: []string{}, want: `{}`},
		{name: "chosen", global: global, project: project, trusted: true, chosen: []string{"fs", "own"}, want: `{` + fsEntry + `,` + own + `}`},
		{name: "missing", global: global, chosen: []string{"fs", "nope"}, err: "MCP server 'nope' is not available: it is not set up."},
		{name: "disabled", global: global, chosen: []string{"off"}, err: "MCP server 'off' is not available: it is disabled."},
		{name: "untrusted", global: global, project: project, chosen: []string{"both"}, err: "MCP server 'both' is not available: it is the project's own and the project is not trusted."},
		{name: "unusable entries", global: bad, want: `{"f":{"type":"stdio","command":"f"}}`, notes: 5},
		{name: "unusable and chosen", global: bad, chosen: []string{"c"}, err: "MCP server 'c' is not available: its entry cannot be read."},
		{name: "broken files", global: `{"mcpServers":{"fs":{"env":{"K":"secret"`, project: `[]`, trusted: true, want: `{}`, notes: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var notes []string
			files := map[string]string{filepath.Join("/home/x", ".claude", "settings.json"): tc.global, filepath.Join("/p", ".mcp.json"): tc.project}
			got, err := servers(wanted{
				home: "/home/x", project: "/p", trusted: tc.trusted, chosen: tc.chosen,
				read: func(path string) ([]byte, error) {
					if files[path] == "" {
						return nil, fs.ErrNotExist
					}
					return []byte(files[path]), nil
				},
				note: func(s string) { notes = append(notes, s) },
			})
			if err != nil {
				var e *UnavailableServerError
				if !errors.As(err, &e) || err.Error() != tc.err {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			body, _ := json.Marshal(got)
			// An empty list of arguments is sent, an absent one is made.
			if text := strings.ReplaceAll(string(body), `,"args":[]`, ""); text != tc.want || tc.err != "" {
				t.Errorf("got %s", body)
			}
			if len(notes) != tc.notes || strings.Contains(strings.Join(notes, ""), "secret") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// A home or project that is not known reads nothing.
func TestServers_NoFolders(t *testing.T) {
	t.Parallel()
	got, err := servers(wanted{read: func(path string) ([]byte, error) { t.Errorf("read %s", path); return nil, fs.ErrNotExist }})
	if err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
