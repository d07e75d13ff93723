package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

func testTerminals(t *testing.T, shell string, there ...string) *terminals {
	t.Helper()
	return &terminals{
		paths:  config.Paths{Home: t.TempDir()},
		getenv: func(name string) string { return map[string]string{"SHELL": shell}[name] },
		environ: func() []string {
			return []string{"PATH=/bin", "HOME=/home/p", "TERM=dumb", "TMUX=/tmp/x", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "PACKETBENCH_BOOT_ID=b", "LANG=C"}
		},
		find: func(name string) (string, error) {
			if slices.Contains(there, name) {
				return "/usr/bin/" + name, nil
			}
			return "", errors.New("not there")
		},
	}
}

// Only programs of the list run, by name or by the whole path of one. Source:
// ui.md 15.
func TestTerminals_Spec(t *testing.T) {
	t.Parallel()
	x := testTerminals(t, "/bin/zsh", "bash")
	dir := filepath.Join(t.TempDir(), "a b \u00e7'x") // F81
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		p       contract.OpenTerminalParams
		command string
		refused string
	}{
		{"own shell", contract.OpenTerminalParams{Cwd: dir}, "/bin/zsh", ""},
		{"name", contract.OpenTerminalParams{Cwd: dir, Command: "bash", Args: []string{"-l"}}, "bash", ""},
		{"path", contract.OpenTerminalParams{Cwd: dir, Command: "/opt/x/codex"}, "/opt/x/codex", ""},
		{"other", contract.OpenTerminalParams{Cwd: dir, Command: "rm"}, "", "command: Command 'rm' is not allowed. Allowed commands: [claude, codex, opencode, gemini, packetcode, bash, sh, zsh, powershell, pwsh, cmd, wsl, fish, nu, xonsh, ssh]"},
		{"relative", contract.OpenTerminalParams{Cwd: dir, Command: "./bash"}, "", "command: Command './bash' is not allowed"},
		{"below", contract.OpenTerminalParams{Cwd: dir, Command: "x/bash"}, "", "command: Command 'x/bash'"},
		{"line", contract.OpenTerminalParams{Cwd: dir, Command: "bash -c ls"}, "", "command: "},
		{"no folder", contract.OpenTerminalParams{Cwd: dir + "/none"}, "", "cwd: Project path '" + dir + "/none' is not a valid directory"},
		{"relative folder", contract.OpenTerminalParams{Cwd: "."}, "", "cwd: Project path '.' is not a valid directory"},
		{"many arguments", contract.OpenTerminalParams{Cwd: dir, Args: make([]string, 33)}, "", "args: want at most 32"},
		{"NUL", contract.OpenTerminalParams{Cwd: dir, Args: []string{"a\x00"}}, "", "args: "},
		{"bad variable", contract.OpenTerminalParams{Cwd: dir, Env: map[string]string{"A=B": ""}}, "", "env: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec, failure := x.Spec(tc.p)
			if tc.refused != "" {
				if failure == nil || failure.Code != contract.CodeBadParams || !strings.HasPrefix(failure.Message, tc.refused) {
					t.Fatalf("%+v, %+v", spec, failure)
				}
				return
			}
			if failure != nil || spec.Command != tc.command || spec.Cwd != dir || !slices.Equal(spec.Args, tc.p.Args) {
				t.Fatalf("%+v, %+v", spec, failure)
			}
		})
	}
}

// Without a project the folder is one of ours, not the root of the disk.
func TestTerminals_Scratch(t *testing.T) {
	t.Parallel()
	x := testTerminals(t, "", "sh")
	for _, cwd := range []string{"", "/"} {
		spec, failure := x.Spec(contract.OpenTerminalParams{Cwd: cwd})
		if failure != nil || spec.Cwd != x.paths.Scratch() || spec.Command != "sh" {
			t.Fatalf("%q: %+v, %+v", cwd, spec, failure)
		}
		if info, err := os.Stat(spec.Cwd); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

// The environment is the person's own without what belongs to the terminal that
// the service was started in. Source: ui.md 15.
func TestTerminals_Env(t *testing.T) {
	t.Parallel()
	x := testTerminals(t, "")
	for _, tc := range []struct {
		name   string
		wished map[string]string
		want   string
	}{
		{"bash", nil, "PATH=/bin HOME=/home/p CLAUDECODE=1 CLAUDE_CODE_ENTRYPOINT=cli LANG=C COLORTERM=truecolor TERM=xterm-256color"},
		{"claude", nil, "PATH=/bin HOME=/home/p LANG=C COLORTERM=truecolor DISABLE_AUTOUPDATER=1 TERM=xterm-256color"},
		{"bash", map[string]string{"LANG": "C.UTF-8", "TERM": "xterm", "TMUX": "mine"}, "PATH=/bin HOME=/home/p CLAUDECODE=1 CLAUDE_CODE_ENTRYPOINT=cli COLORTERM=truecolor LANG=C.UTF-8 TERM=xterm TMUX=mine"},
	} {
		if got := strings.Join(x.env(tc.name, tc.wished), " "); got != tc.want {
			t.Errorf("%s %v:\n%s, want\n%s", tc.name, tc.wished, got, tc.want)
		}
	}
}

// Presets are what is there, agents first, with the person's shell marked.
func TestTerminals_Presets(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range testTerminals(t, "/bin/zsh", "zsh", "sh", "codex", "ssh").Presets() {
		mark := ""
		if p.Default {
			mark = "*"
		}
		got = append(got, string(p.Kind)+":"+p.Command+mark+"="+p.Path)
	}
	if want := []string{"agent:codex=/usr/bin/codex", "shell:sh=/usr/bin/sh", "shell:zsh*=/usr/bin/zsh"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
