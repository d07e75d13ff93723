package acp

import (
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// mcp-state.md 2: both scopes, the project's own only where it is trusted, and
// still in the way of a global one of its name; nothing of a file is quoted.
func TestConfigured(t *testing.T) {
	t.Parallel()
	global, own := filepath.Join("/home", ".claude", "settings.json"), filepath.Join("/p", ".mcp.json")
	for name, tc := range map[string]struct {
		files   map[string]string
		trusted bool
		want    []Server
		note    string
	}{
		"no files": {},
		"both": {
			files:   map[string]string{global: `{"mcpServers":{"b":{"command":"x","args":["1"],"env":{"K":"v"}},"a":{"type":"http","url":"u"}}}`, own: `{"mcpServers":{"b":{"command":"y"}}}`},
			trusted: true,
			want:    []Server{{Name: "a", Scope: "global", Transport: "http"}, {Name: "b", Scope: "global", Command: "x", Args: []string{"1"}, Env: map[string]string{"K": "v"}}, {Name: "b", Scope: "project", Command: "y"}},
		},
		"not trusted":    {files: map[string]string{own: `{"mcpServers":{"b":{"command":"y"}}}`}, want: []Server{{Name: "b", Scope: "project", Command: "y", Disabled: true}}},
		"a broken entry": {files: map[string]string{global: `{"mcpServers":{"b":7,"c":{"command":"z"}}}`}, want: []Server{{Name: "b", Scope: "global", Disabled: true}, {Name: "c", Scope: "global", Command: "z"}}, note: "name=b"},
		"a broken file":  {files: map[string]string{global: `{"mcpServers":{"b":{"env":{"K":"secret"}`}, note: "no JSON at byte"},
		"another shape":  {files: map[string]string{global: `{"mcpServers":"secret"}`}, note: "a value of the wrong type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var notes []string
			got := Configured("/home", "/p", tc.trusted, func(path string) ([]byte, error) {
				if body, ok := tc.files[path]; ok {
					return []byte(body), nil
				}
				return nil, fs.ErrNotExist
			}, func(text string) { notes = append(notes, text) })
			if len(got)+len(tc.want) > 0 && !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if all := strings.Join(notes, "\n"); (tc.note == "") != (all == "") || !strings.Contains(all, tc.note) || strings.Contains(all, "secret") {
				t.Errorf("notes %q, want %q", all, tc.note)
			}
		})
	}
}

func FuzzConfigured(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"b":{"command":"x","args":["1"],"env":{"K":"v"},"disabled":true}}}`))
	f.Add([]byte(`{"mcpServers":{"":7}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		servers := Configured("/home", "/p", true, func(string) ([]byte, error) { return body, nil }, func(string) {})
		plan := MakePlan(PlanInput{Project: "/p", Servers: servers, Resolve: func(string, string) (string, bool) { return "/x", true }})
		if len(plan.Selected) != 0 {
			t.Errorf("servers %v without a decision", plan.Selected)
		}
	})
}
