package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	pty "github.com/packetbench/packetbench/actors/terminal"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// terminalProgram is one program that may run in a terminal.
type terminalProgram struct {
	name, label string
	kind        contract.PresetKind
}

// terminalPrograms is the list of programs that may run in a terminal, by the
// name of their file. Source: ui.md 15 and issue "terminals" (gemini).
var terminalPrograms = []terminalProgram{
	{"claude", "Claude Code", contract.PresetAgent},
	{"codex", "Codex", contract.PresetAgent},
	{"opencode", "OpenCode", contract.PresetAgent},
	{"gemini", "Gemini CLI", contract.PresetAgent},
	{"packetcode", "PacketCode", contract.PresetAgent},
	{"bash", "Bash", contract.PresetShell},
	{"sh", "sh", contract.PresetShell},
	{"zsh", "Zsh", contract.PresetShell},
	{"powershell", "Windows PowerShell", contract.PresetShell},
	{"pwsh", "PowerShell", contract.PresetShell},
	{"cmd", "Command Prompt", contract.PresetShell},
	{"wsl", "WSL", contract.PresetShell},
	{"fish", "fish", contract.PresetShell},
	{"nu", "Nushell", contract.PresetShell},
	{"xonsh", "Xonsh", contract.PresetShell},
	{"ssh", "SSH", contract.PresetShell},
}

// terminals judges what may run in a terminal and with which environment.
type terminals struct {
	paths  config.Paths
	getenv func(string) string
	// environ is the service's environment, NAME=value.
	environ func() []string
	// find looks a program up on PATH.
	find func(name string) (string, error)
}

func newTerminals(p config.Paths, getenv func(string) string) *terminals {
	return &terminals{paths: p, getenv: getenv, environ: os.Environ, find: exec.LookPath}
}

// nameOf is a program's name on the list: its file's, without folder and .exe.
func nameOf(command string) string {
	base := command[strings.LastIndexAny(command, `/\`)+1:]
	if runtime.GOOS == "windows" {
		base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	}
	return base
}

func allowedProgram(name string) bool {
	return slices.ContainsFunc(terminalPrograms, func(p terminalProgram) bool { return p.name == name })
}

// shell is the person's own shell, else one that is there.
func (t *terminals) shell() string {
	if own := t.getenv("SHELL"); filepath.IsAbs(own) && allowedProgram(nameOf(own)) {
		return own
	}
	order := []string{"bash", "sh"}
	if runtime.GOOS == "windows" {
		order = []string{"pwsh", "powershell", "cmd"}
	}
	for _, name := range order {
		if _, err := t.find(name); err == nil {
			return name
		}
	}
	return order[0] // Its start says that it is not there.
}

// Spec implements bridge.Terminals.
func (t *terminals) Spec(p contract.OpenTerminalParams) (msg.TerminalSpec, *contract.Failure) {
	var none msg.TerminalSpec
	if p.Command == "" {
		p.Command = t.shell()
	}
	name := nameOf(p.Command)
	if !allowedProgram(name) || p.Command != name && !filepath.IsAbs(p.Command) {
		names := make([]string, len(terminalPrograms))
		for i, a := range terminalPrograms {
			names[i] = a.name
		}
		return none, contract.BadParam("command", "Command '%s' is not allowed. Allowed commands: [%s]", p.Command, strings.Join(names, ", "))
	}
	if len(p.Args) > contract.MaxTerminalArgs {
		return none, contract.BadParam("args", "want at most %d", contract.MaxTerminalArgs)
	}
	if slices.ContainsFunc(p.Args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return none, contract.BadParam("args", "no argument may hold a NUL")
	}
	for name, value := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return none, contract.BadParam("env", "%q is no variable", name)
		}
	}
	cwd, failure := t.folder(p.Cwd)
	if failure != nil {
		return none, failure
	}
	return msg.TerminalSpec{Command: p.Command, Args: p.Args, Cwd: cwd, Env: t.env(name, p.Env)}, nil
}

// folder is where a program starts: a folder that exists, or the scratch folder
// for whoever names none.
func (t *terminals) folder(cwd string) (string, *contract.Failure) {
	if cwd == "" || cwd == "/" {
		scratch := t.paths.Scratch()
		if err := os.MkdirAll(scratch, 0o700); err != nil {
			return "", contract.Fail(contract.CodeInternal, "The folder for terminals without a project could not be made: %s. Choose a project.", err)
		}
		return scratch, nil
	}
	if info, err := os.Stat(cwd); !filepath.IsAbs(cwd) || strings.ContainsRune(cwd, 0) || err != nil || !info.IsDir() {
		return "", contract.BadParam("cwd", "Project path '%s' is not a valid directory", cwd)
	}
	return cwd, nil
}

// notInherited are variables that say what kind of terminal the service was
// started in; in another one they are wrong.
var notInherited = []string{
	config.EnvBootID, "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOW", "WINDOWID", "TERM_PROGRAM", "TERM_PROGRAM_VERSION",
	"VTE_VERSION", "TERM_SESSION_ID", "NO_COLOR", "OLDPWD", "PWD", "SHLVL", "INVOCATION_ID", "JOURNAL_STREAM",
}

// env is the environment of a program: the person's own, what a terminal is
// like, and what was asked for. Source: ui.md 15.
func (t *terminals) env(name string, wished map[string]string) []string {
	drop := slices.Clone(notInherited)
	set := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}
	if name == "claude" {
		drop = append(drop, "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
		set["DISABLE_AUTOUPDATER"] = "1"
	}
	for k, v := range wished {
		set[k] = v
	}
	var out []string
	for _, kv := range t.environ() {
		k, _, _ := strings.Cut(kv, "=")
		if _, replaced := set[k]; k == "" || replaced || slices.Contains(drop, k) {
			continue
		}
		out = append(out, kv)
	}
	added := make([]string, 0, len(set))
	for k, v := range set {
		added = append(added, k+"="+v)
	}
	slices.Sort(added)
	return append(out, added...)
}

// Presets implements bridge.Terminals.
func (t *terminals) Presets() []contract.TerminalPreset {
	own := t.shell()
	out := []contract.TerminalPreset{}
	for _, p := range terminalPrograms {
		if p.name == "ssh" {
			continue // Of no use without a host.
		}
		path, err := t.find(p.name)
		if err != nil {
			continue
		}
		out = append(out, contract.TerminalPreset{
			ID: p.name, Label: p.label, Kind: p.kind, Command: p.name, Args: []string{}, Path: path,
			Default: p.kind == contract.PresetShell && p.name == nameOf(own),
		})
	}
	return out
}

// terminalOptions is what every terminal is started with.
func (s *service) terminalOptions() pty.Options {
	send := func(m any, what string) {
		if err := s.node.Send(msg.Store, m); err != nil && !s.draining.Load() {
			s.logger.Warn(what, "reason", err)
		}
	}
	return pty.Options{
		BootID: s.boot, Home: s.cfg.Paths.Home, Register: s.groups.Register, Publisher: s.events, Now: time.Now,
		Keep:   func(i msg.TerminalImage) { send(msg.SaveTerminalImage{Image: i}, "last screen not kept") },
		Forget: func(id contract.TerminalID) { send(msg.ForgetTerminalImage{ID: id}, "last screen not forgotten") },
	}
}
