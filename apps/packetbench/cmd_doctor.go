package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/acp"
	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/secret"
	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/apps/packetbench/install"
	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	bundle "github.com/packetbench/packetbench/sidecar"
)

// doctorCmd checks everything the service needs. Exit 1 when something without
// which it cannot work is broken.
type doctorCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// finding is what doctor says of one part.
type finding struct {
	Name  string `json:"name"`
	State state  `json:"state"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Fix says what to do about it.
	Fix string `json:"fix,omitempty"`
	// Required parts decide the exit code.
	Required bool `json:"required"`
}

// state grades a finding.
type state string

const (
	stateOK state = "ok"
	// stateWarning is a part that is not there and not needed for the rest.
	stateWarning state = "warning"
	stateBroken  state = "broken"
	// stateAbsent is a part that this version does not contain.
	stateAbsent state = "absent"
)

// probeLimit bounds one check that asks another program.
const probeLimit = 5 * time.Second

// Run runs every check and prints one line each.
func (c *doctorCmd) Run(g *Globals) error {
	ctx, stop := untilSignal()
	defer stop()
	findings := examine(ctx, g)
	broken := 0
	for _, f := range findings {
		if f.Required && f.State == stateBroken {
			broken++
		}
	}
	if c.JSON {
		raw, err := json.MarshalIndent(struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{broken == 0, findings}, "", "  ")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(g.Stdout, string(raw)); err != nil {
			return err
		}
	} else {
		out := &printer{w: g.Stdout}
		for _, f := range findings {
			out.print(f.line())
		}
		if out.err != nil {
			return out.err
		}
	}
	if broken > 0 {
		return &ExitError{exitFailure, fmt.Sprintf("%d required part(s) broken; the lines above say the fix.", broken)}
	}
	return nil
}

func (f finding) line() string {
	s := fmt.Sprintf("%-8s %-24s %s", f.State, f.Name, plaintext.Line(f.Detail, 300))
	if f.Fix != "" && f.State != stateOK {
		s += "\n" + strings.Repeat(" ", 34) + "fix: " + plaintext.Line(f.Fix, 300)
	}
	return strings.TrimRight(s, " ") + "\n"
}

// examine runs the checks in the order a start would meet them.
func examine(ctx context.Context, g *Globals) []finding {
	paths, err := config.DataDir(g.Home, g.Getenv)
	if err != nil {
		return []finding{{Name: "data directory", State: stateBroken, Detail: err.Error(), Fix: "give one with --home", Required: true}}
	}
	all := []finding{checkDataDir(paths)}
	run, err := findService(g)
	running := err == nil
	all = append(all, checkService(run, err))
	all = append(all, checkPorts(running)...)
	all = append(all, checkShell(), checkGit(ctx), checkKeys(g, paths))
	all = append(all, checkSidecar(ctx, g, paths)...)
	all = append(all, checkEngines(ctx, g, paths)...)
	all = append(all, checkTextLog(paths))
	if running {
		all = append(all, checkFigures(ctx, run))
		all = append(all, checkProviders(ctx, run)...)
	} else {
		all = append(all, finding{Name: "providers", State: stateWarning, Detail: "not asked: no service runs", Fix: "start one with packetbench serve and run doctor again"})
		all = append(all, checkSettings(g, paths)...)
	}
	return all
}

// checkDataDir makes the directory as a start would, writes a file into it and
// leaves nothing behind.
func checkDataDir(p config.Paths) finding {
	f := finding{Name: "data directory", Required: true}
	_, before := os.Stat(p.Home)
	err := os.MkdirAll(p.Home, 0o700)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(p.Home, ".doctor-*"); err == nil {
			_, err = probe.WriteString("x")
			err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
		}
	}
	if errors.Is(before, os.ErrNotExist) {
		_ = os.Remove(p.Home) // Only if it is empty, so only ours.
	}
	if err != nil {
		f.State, f.Detail = stateBroken, fmt.Sprintf("%s cannot be written: %v", p.Home, err)
		f.Fix = "make it writable for you, free some space, or choose another one with --home"
		return f
	}
	f.State, f.Detail = stateOK, p.Home+" is writable"
	return f
}

func checkService(run runFile, err error) finding {
	f := finding{Name: "service", State: stateOK}
	switch {
	case err == nil:
		f.Detail = fmt.Sprintf("runs with pid %d at %s, version %s", run.PID, run.URL, run.Version)
	case errors.Is(err, errNoService):
		f.Detail = "does not run for this data directory"
	default:
		f.State, f.Detail, f.Fix, f.Required = stateBroken, err.Error(), "stop the service, remove run.json and start it again", true
	}
	return f
}

// checkPorts tries the default addresses when no service of ours holds them.
func checkPorts(running bool) []finding {
	if running {
		return nil
	}
	var all []finding
	for _, p := range []struct{ name, addr, flag string }{
		{"port of the page", config.DefaultAddr, "--addr"},
		{"port of NATS", config.DefaultNATSAddr, "--nats-addr"},
	} {
		f := finding{Name: p.name, State: stateOK, Detail: p.addr + " is free", Required: true}
		l, err := net.Listen("tcp", p.addr)
		if err != nil {
			f.State, f.Detail = stateBroken, fmt.Sprintf("%s cannot be opened: %v", p.addr, err)
			f.Fix = "end the program that uses it, or start with " + p.flag + " 127.0.0.1:0"
		} else {
			_ = l.Close()
		}
		all = append(all, f)
	}
	return all
}

// checkShell looks for what a command of the bash tool is run with. Source:
// actors/turn/tool.
func checkShell() finding {
	shell := "/bin/sh"
	if runtime.GOOS == "windows" {
		shell = filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe")
	}
	if _, err := os.Stat(shell); err != nil {
		return finding{
			Name: "shell", State: stateWarning, Detail: shell + " was not found, so a model cannot run commands",
			Fix: "put a shell there; everything else works without it",
		}
	}
	return finding{Name: "shell", State: stateOK, Detail: shell}
}

func checkGit(ctx context.Context) finding {
	f := finding{Name: "git", State: stateOK}
	out, err := output(ctx, "git", "--version")
	if err != nil {
		f.State, f.Detail, f.Fix = stateWarning, "was not found, so changes cannot be shown or put into worktrees", "install git and put it on PATH"
		return f
	}
	f.Detail = out
	return f
}

// checkKeys asks the key store for every account. It names where keys are, not
// the keys.
func checkKeys(g *Globals, p config.Paths) finding {
	k := secret.Open(secret.Options{Paths: p, Getenv: g.Getenv})
	return keyStore(k.Info(), k.Keyring(), g.Getenv(secret.EnvNoKeyring) == "1")
}

// keyStore says which key store is in use. ring is what secret.Keys.Keyring
// said; off says that the keyring is to be left alone.
func keyStore(infos []contract.KeyInfo, ring error, off bool) finding {
	f := finding{Name: "key store", State: stateOK}
	stored := 0
	for _, i := range infos {
		switch {
		case i.Present:
			stored++
		case i.Source != "":
			f.State, f.Detail, f.Fix = stateWarning, i.Source, "unlock the keyring, or set "+secret.EnvNoKeyring+"=1 to keep keys in an encrypted file"
			return f
		}
	}
	var failed *secret.KeyringError
	switch {
	case off:
		f.Detail = "encrypted file, because " + secret.EnvNoKeyring + "=1 is set"
	case ring == nil:
		f.Detail = "OS keyring"
	case errors.As(ring, &failed) && failed.Missing:
		f.Detail = "encrypted file, because no OS keyring is available"
	default:
		f.State, f.Detail, f.Fix = stateWarning, ring.Error(), "unlock the keyring, or set "+secret.EnvNoKeyring+"=1 to keep keys in an encrypted file"
		return f
	}
	f.Detail += fmt.Sprintf("; %d key(s) stored or in the environment", stored)
	return f
}

// checkSidecar looks at what the vendor SDK rows need: a Node, the sidecar where
// the host looks for it, each SDK, and a child that starts. None is required:
// the other rows work without.
func checkSidecar(ctx context.Context, g *Globals, p config.Paths) []finding {
	m, err := install.ReadManifest(bundle.Files())
	if err != nil {
		return []finding{{Name: "sidecar", State: stateBroken, Detail: err.Error(), Fix: "build this program again with make build"}}
	}
	s := takeStock(m, placeOf(sidecarLookup(g.Getenv, p)))
	node, usable := checkNode(ctx, s)
	all := append([]finding{node}, checkScript(ctx, s, usable))
	for _, f := range s.found {
		all = append(all, checkSDK(s, f, m.Pin(f.SDK)))
	}
	return all
}

func checkNode(ctx context.Context, s stock) (f finding, usable bool) {
	f = finding{Name: "Node", State: stateOK}
	node, err := install.AskNode(ctx, s.place.Node, s.oldest)
	if err != nil {
		f.State, f.Detail, f.Fix = stateWarning, err.Error(), betterNode(s)
		return f, false
	}
	f.Detail = node.Version + " at " + node.Path
	return f, true
}

func betterNode(s stock) string {
	if s.place.NodeSet {
		return "correct or unset " + sidecar.EnvNode
	}
	return "install Node " + s.oldest + " or newer and put it on PATH"
}

// checkScript shakes hands with the child.
func checkScript(ctx context.Context, s stock, node bool) finding {
	f := finding{Name: "sidecar", State: stateWarning, Fix: rebuild(s.place.From)}
	where := fmt.Sprintf("%s (%s)", s.place.Script, s.place.From)
	switch {
	case !s.place.Found:
		f.Detail = "not found at " + where
		return f
	case !node:
		f.Detail, f.Fix = "not started, because there is no usable Node: "+where, betterNode(s)
		return f
	}
	ready, err := install.Handshake(ctx, s.place.Node, s.place.Script)
	switch {
	case err != nil:
		f.State, f.Detail = stateBroken, fmt.Sprintf("%s does not start: %v", where, err)
	case !ready.Compatible():
		f.State, f.Detail = stateBroken, fmt.Sprintf("speaks protocol %s, %d or newer is needed: %s", ready.Speaks(), contract.SidecarProtocol, where)
	default:
		f.State, f.Fix = stateOK, ""
		f.Detail = fmt.Sprintf("%s, protocol %s: %s", ready.Version, ready.Speaks(), where)
		if *ready.Protocol != contract.SidecarProtocol {
			f.State, f.Fix = stateWarning, rebuild(s.place.From)
			f.Detail += fmt.Sprintf("; this program speaks %d", contract.SidecarProtocol)
		}
	}
	return f
}

// rebuild is the command that makes the sidecar anew.
func rebuild(from origin) string {
	switch from {
	case fromCheckout:
		return "make sidecar"
	case fromOverride:
		return "correct or unset " + sidecar.EnvScript
	default:
		return "packetbench sidecar install"
	}
}

// checkSDK compares what is there with what the sidecar was tested with.
func checkSDK(s stock, found install.Found, pin string) finding {
	f := finding{Name: found.SDK.Title(), State: stateWarning, Fix: rebuild(s.place.From)}
	if s.place.From == fromDataDir {
		f.Fix = found.SDK.Command()
	}
	switch {
	case found.Version == "":
		f.Detail = "not installed"
	case !found.Complete():
		f.Detail = fmt.Sprintf("%s, but without %s", found.Version, strings.Join(found.Missing, ", "))
	case found.Version != pin:
		f.Detail = fmt.Sprintf("%s, but %s is what this program was tested with", found.Version, pin)
	default:
		f.State, f.Fix, f.Detail = stateOK, "", found.Version
	}
	return f
}

// checkEngines asks the default engine's own doctor and looks for the others. A
// running service says in its badges how their last start went.
func checkEngines(ctx context.Context, g *Globals, p config.Paths) (all []finding) {
	settings, err := storedEngines(p)
	if err != nil {
		all = append(all, finding{Name: "settings of engines", State: stateWarning, Detail: err.Error(), Fix: "mend or remove " + p.State()})
	}
	probe := acp.RunProbe(ctx, lookup(settings.Pinned, g.Getenv).Find(), os.Environ(), child.Options{})
	f := finding{Name: "packetcode engine", State: stateOK, Detail: probe.Version + " at " + probe.Path}
	if badge := probe.Badge(); badge.Status != contract.BadgeReady {
		f.State, f.Detail, f.Fix = stateWarning, badge.Hint, "install packetcode "+acp.MinimumVersion+" or newer, or pin its path in Settings > Providers; other rows work without"
	}
	all = append(all, f)
	specs, problems := settings.specs()
	for _, problem := range problems {
		all = append(all, finding{Name: "settings of engines", State: stateWarning, Detail: problem, Fix: "correct it in Settings > Providers"})
	}
	for _, s := range specs {
		f := finding{Name: "engine " + s.Name, State: stateOK}
		if path, ok := acp.ResolveProgram(s.Command); ok {
			f.Detail = path
		} else {
			f.State, f.Detail, f.Fix = stateWarning, s.Command+" was not found", "correct the engine in Settings > Providers"
		}
		all = append(all, f)
	}
	return all
}

// storedEngines reads the settings about engines as they lie on disk.
func storedEngines(p config.Paths) (engineSettings, error) {
	raw, err := os.ReadFile(p.State())
	if errors.Is(err, os.ErrNotExist) {
		return engineSettings{}, nil
	}
	var state struct {
		Settings json.RawMessage `json:"settings"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err != nil {
		return engineSettings{}, fmt.Errorf("the settings could not be read: %w", err)
	}
	return readEngines(state.Settings), nil
}

// checkSettings finds the providers that a service started here and now would
// refuse. A running one says so in its badges.
func checkSettings(g *Globals, p config.Paths) (all []finding) {
	stored, err := os.ReadFile(p.ProviderSettings())
	if errors.Is(err, os.ErrNotExist) {
		stored, err = nil, nil
	}
	if err == nil {
		var settings llm.Settings
		if settings, err = resolve(stored, g.Getenv); err == nil {
			for _, r := range refusals(settings) {
				all = append(all, finding{Name: r.label, State: stateWarning, Detail: "its settings cannot be used", Fix: r.err.Error()})
			}
			return all
		}
	}
	return []finding{{Name: "provider settings", State: stateWarning, Detail: err.Error(), Fix: "mend or remove " + p.ProviderSettings()}}
}

// checkProviders shows each row's badge. None is required: the demo always
// answers.
func checkProviders(ctx context.Context, run runFile) []finding {
	ctx, cancel := context.WithTimeout(ctx, 4*probeLimit)
	defer cancel()
	broken := func(err error) []finding {
		return []finding{{Name: "providers", State: stateBroken, Detail: err.Error(), Fix: "restart the service; its log says more", Required: true}}
	}
	conn, err := dial(ctx, run.URL, run.MonitorToken)
	if err != nil {
		return broken(err)
	}
	defer conn.close()
	var rows []contract.ProviderRow
	if err := conn.call(ctx, contract.MethodListProviders, contract.Empty{}, &rows); err != nil {
		return broken(err)
	}
	return badges(rows)
}

func badges(rows []contract.ProviderRow) (all []finding) {
	for _, r := range rows {
		f := finding{Name: r.Label, State: stateOK, Detail: string(r.Badge.Status)}
		if r.Badge.Source != "" {
			f.Detail += ", key from " + r.Badge.Source
		}
		switch {
		case r.Badge.Status == contract.BadgeReady:
		case r.Badge.Status == contract.BadgeComingSoon:
			f.State, f.Detail = stateAbsent, r.Badge.Hint
		default:
			f.State, f.Fix = stateWarning, r.Badge.Hint
		}
		all = append(all, f)
	}
	return all
}

// output runs a program for its first line.
func output(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 200 * time.Millisecond
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	return plaintext.Line(strings.TrimSpace(string(out)), 200), nil
}
