package sidecar

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Protocol 7: script and Node are found on their own, in this order, and a
// release build follows the variables only when it is told to.
func TestLookup(t *testing.T) {
	t.Parallel()
	tree, installed := filepath.Join("/src", "sidecar", "dist", "index.js"), InstalledScript("/data", "1.0.0")
	for _, tc := range []struct {
		name       string
		env        map[string]string
		files      []string
		release    bool
		onPath     bool
		script     string
		node       string
		from       string // of both, joined by a comma
		notes      int
		err, noted string
	}{
		{name: "source tree", files: []string{tree, installed}, onPath: true, script: tree, node: "/bin/node", from: "the source tree,the PATH"},
		{name: "installed", files: []string{installed}, onPath: true, script: installed, node: "/bin/node", from: "the data directory,the PATH"},
		{name: "node beside the program", files: []string{installed, "/opt/node"}, script: installed, node: "/opt/node", from: "the data directory,beside the program"},
		{name: "variables win", env: map[string]string{EnvScript: "/x.js", EnvNode: "/n"}, files: []string{"/x.js", tree}, onPath: true, script: "/x.js", node: "/n", from: EnvScript + "," + EnvNode},
		{name: "empty variables are unset", env: map[string]string{EnvScript: "", EnvNode: ""}, files: []string{tree}, onPath: true, script: tree, node: "/bin/node", from: "the source tree,the PATH"},
		{name: "a variable is verbatim", env: map[string]string{EnvScript: "/gone.js"}, files: []string{tree}, onPath: true, node: "/bin/node", from: EnvScript + ",the PATH", err: "sidecar entry not found at /gone.js. Run make sidecar, or set PACKETBENCH_SIDECAR_PATH."},
		{name: "no script", onPath: true, node: "/bin/node", from: ",the PATH", err: "sidecar entry not found at " + tree + ". Run make sidecar, or set PACKETBENCH_SIDECAR_PATH."},
		{name: "no node", files: []string{tree}, script: tree, from: "the source tree,", err: ErrNoNode.Error()},
		{name: "release ignores", release: true, env: map[string]string{EnvScript: "/x.js", EnvNode: "/n", EnvOptIn: "yes"}, files: []string{"/x.js", installed}, onPath: true, script: installed, node: "/bin/node", from: "the data directory,the PATH", notes: 2, noted: "ignored"},
		{name: "release opted in", release: true, env: map[string]string{EnvScript: "/x.js", EnvOptIn: "TRUE"}, files: []string{"/x.js"}, onPath: true, script: "/x.js", node: "/bin/node", from: EnvScript + ",the PATH", notes: 1, noted: "live API keys"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := Lookup{
				Getenv: func(name string) string { return tc.env[name] },
				IsFile: func(path string) bool { return slices.Contains(tc.files, path) },
				LookPath: func(string) (string, error) {
					if tc.onPath {
						return "/bin/node", nil
					}
					return "", errors.New("not on the PATH")
				},
				Release: tc.release, SourceTree: "/src", DataDir: "/data", Version: "1.0.0", Program: "/opt/packetbench",
			}
			if tc.release {
				l.SourceTree = ""
			}
			e, err := l.Find()
			if got := ""; err != nil {
				got = err.Error()
				if got != tc.err {
					t.Errorf("error %q, want %q", got, tc.err)
				}
			} else if tc.err != "" {
				t.Errorf("no error, want %q", tc.err)
			}
			if e.Script != tc.script || e.Node != tc.node || e.ScriptFrom+","+e.NodeFrom != tc.from || len(e.Notes) != tc.notes {
				t.Errorf("got %+v", e)
			}
			for _, n := range e.Notes {
				if !strings.Contains(n, tc.noted) {
					t.Errorf("note %q", n)
				}
			}
		})
	}
}

// Protocol 7: the environment is a list, and no key is on it.
func TestEnviron(t *testing.T) {
	t.Parallel()
	got := Environ([]string{
		"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "ANTHROPIC_BASE_URL=u", "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k",
		"PACKETBENCH_HOME=/h", "AWS_SECRET_ACCESS_KEY=k", "NODE_OPTIONS=--inspect", "Path=C:\\", "broken",
	}, "/state")
	want := []string{
		"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "ANTHROPIC_BASE_URL=u", "Path=C:\\",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENAI_AGENTS_DISABLE_TRACING=1", "PACKETBENCH_SIDECAR_STATE=/state",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
