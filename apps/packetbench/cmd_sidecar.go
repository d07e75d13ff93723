package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/apps/packetbench/install"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	bundle "github.com/packetbench/packetbench/sidecar"
)

// sidecarCmd is about the Node child that runs the vendors' agent SDKs.
type sidecarCmd struct {
	Install sidecarInstallCmd `cmd:"" help:"Install vendor agent SDKs into the data directory and verify them."`
}

type sidecarInstallCmd struct {
	SDK string `name:"sdk" enum:"claude,openai,all" default:"all" help:"Which one: claude, openai or all."`
}

// Run installs, verifies and says what is ready and what to do next.
func (c *sidecarInstallCmd) Run(g *Globals) error {
	if !bundle.Built() {
		return &ExitError{exitFailure, "This packetbench was built without its sidecar. Install Node with npm and build it again with make build."}
	}
	paths, err := config.DataDir(g.Home, g.Getenv)
	if err != nil {
		return failed(err)
	}
	ctx, stop := untilSignal()
	defer stop()
	place := placeOf(sidecarLookup(g.Getenv, paths))
	show := newProgress(g.Stdout, c.wanted())
	result, err := install.Install(ctx, install.Options{
		Files: bundle.Files(), Version: bundle.Version(), Root: sidecarRoot(paths), Wanted: c.wanted(),
		Node: place.Node, NPM: findNPM(place.Node), Env: os.Environ(), Report: show.hear,
	})
	show.end()
	if errors.Is(err, install.ErrInterrupted) {
		return &ExitError{exitInterrupted, sentence(err)}
	}
	if err != nil {
		return &ExitError{exitFailure, sentence(err)}
	}
	return failed(c.conclude(ctx, g, paths, place, result))
}

func (c *sidecarInstallCmd) wanted() []install.SDK {
	if c.SDK == "all" {
		return install.SDKs
	}
	return []install.SDK{install.SDK(c.SDK)}
}

// sentence is an error of package install as a line of its own.
func sentence(err error) string {
	s := err.Error()
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// findNPM is the npm on PATH, else the one beside the Node; "" for none.
func findNPM(node string) string {
	if path, err := exec.LookPath("npm"); err == nil {
		return path
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(node), "npm")); err == nil && node != "" {
		return path
	}
	return ""
}

// conclude prints what is ready. A running service goes on with its child,
// which finds a new SDK with the next conversation; one that had given up is
// told to try again.
func (c *sidecarInstallCmd) conclude(ctx context.Context, g *Globals, paths config.Paths, place sidecarPlace, r install.Result) error {
	out := &printer{w: g.Stdout}
	verb := "Installed and verified"
	if !r.Fresh {
		verb = "Already installed, verified again"
	}
	out.print(fmt.Sprintf("%s: %s, with Node %s.\n", verb, titles(r.Manifest, r.SDKs), r.Node.Version))
	if place.From != fromDataDir {
		out.print(fmt.Sprintf("This program does not use it: it runs the sidecar at %s (%s).\n", place.Script, place.From))
	}
	run, err := findService(g)
	running := err == nil
	switch {
	case !running || run.Version == config.Version:
		if old := install.Older(sidecarRoot(paths), bundle.Version()); len(old) > 0 {
			out.print(fmt.Sprintf("Removed the sidecar of another version: %s.\n", strings.Join(old, ", ")))
		}
	default: // The running service may still load something from its own.
	}
	if running && wake(ctx, run) {
		out.print("The running service starts its sidecar again.\n")
	}
	out.print("Next: " + next(missingKeys(ctx, g, r.SDKs), running) + "\n")
	return out.err
}

func titles(m install.Manifest, sdks []install.SDK) string {
	var all []string
	for _, s := range sdks {
		all = append(all, "the "+s.Title()+" "+m.Pin(s))
	}
	return strings.Join(all, " and ")
}

// wake resets the sidecar of a running service when it is down or refused; it
// reports whether it did.
func wake(ctx context.Context, run runFile) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	conn, err := dial(ctx, run.URL, run.OwnerToken)
	if err != nil {
		return false // The next start of the service looks again anyway.
	}
	defer conn.close()
	var status contract.SidecarStatus
	if err := conn.call(ctx, contract.MethodSidecarStatus, contract.Empty{}, &status); err != nil || !gaveUp(status.State) {
		return false
	}
	return conn.call(ctx, contract.MethodResetActor, contract.ActorParams{Name: string(msg.Sidecar)}, nil) == nil
}

// gaveUp are the states that the sidecar leaves only when it is told to.
func gaveUp(state string) bool { return state == "down" || state == "incompatible" }

// missingKeys are the providers whose key the SDKs need and nobody stored.
func missingKeys(ctx context.Context, g *Globals, sdks []install.SDK) (missing []string) {
	k, err := openKeys(ctx, g)
	if err != nil {
		return nil // Doctor says what is wrong with the key store.
	}
	defer k.close()
	infos, err := k.list(ctx)
	if err != nil {
		return nil
	}
	for _, row := range contract.Rows {
		s, needed := install.For(row.Provider)
		if !needed || !slices.Contains(sdks, s) {
			continue
		}
		if slices.ContainsFunc(infos, func(i contract.KeyInfo) bool { return i.Account == row.Account && !i.Present }) {
			missing = append(missing, keyName(row.Account))
		}
	}
	return missing
}

// keyName is the short name that key set takes: the first row's that has the
// account for itself.
func keyName(a contract.KeyringAccount) string {
	for _, row := range contract.Rows {
		if row.Account == a && row.Transport == contract.TransportInProcess {
			return string(row.Provider)
		}
	}
	return string(a)
}

// next is the one command that is left to do.
func next(missing []string, running bool) string {
	switch {
	case len(missing) > 0:
		return "packetbench key set " + missing[0]
	case !running:
		return "packetbench serve"
	}
	return "packetbench url"
}

// progress shows how far an installation is: a bar on a terminal, else a line
// for each step and for every quarter of the packages.
type progress struct {
	out    io.Writer
	wanted []install.SDK
	// columns is the width of the terminal, 0 for none.
	columns int
	began   time.Time
	step    install.Step
	quarter int
	// open says that the bar's line has no end yet.
	open bool
}

func newProgress(out io.Writer, wanted []install.SDK) *progress {
	p := &progress{out: out, wanted: wanted, began: time.Now()}
	if fd, is := terminal(out); is {
		p.columns = 80
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			p.columns = width
		}
	}
	return p
}

// hear takes one report. What cannot be printed is no reason to stop.
func (p *progress) hear(r install.Progress) {
	if r.Step != p.step {
		p.end()
		p.step = r.Step
		if text := p.title(); text != "" {
			fmt.Fprintln(p.out, text)
		}
	}
	if r.Step != install.StepFetch || r.Total == 0 {
		return
	}
	if p.columns > 0 {
		p.open = true
		fmt.Fprintf(p.out, "\r%s", bar(r, time.Since(p.began), p.columns-1))
		return
	}
	if q := 4 * r.Done / r.Total; q > p.quarter {
		p.quarter = q
		fmt.Fprintf(p.out, "  %d of %d packages, %s\n", r.Done, r.Total, megabytes(r.Bytes))
	}
}

// title is the line of a step; "" for one that is over at once.
func (p *progress) title() string {
	switch p.step {
	case install.StepUnpack:
		return "Unpacking the sidecar."
	case install.StepFetch:
		var names []string
		for _, s := range p.wanted {
			names = append(names, "the "+s.Title())
		}
		return "Fetching " + strings.Join(names, " and ") + " with npm."
	case install.StepVerify:
		return "Verifying: starting the sidecar and loading each SDK in it."
	case install.StepPlace:
	}
	return ""
}

// end closes the bar's line.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

// bar is one line of exactly columns characters, so that it covers the one
// before. One package is most of the bytes, so both are shown.
func bar(r install.Progress, took time.Duration, columns int) string {
	text := fmt.Sprintf(" %d/%d packages, %s, %ds", r.Done, r.Total, megabytes(r.Bytes), int(took.Seconds()))
	if width := min(columns-len(text)-2, 40); width >= 4 {
		full := width * r.Done / r.Total
		text = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]" + text
	}
	return fmt.Sprintf("%-*.*s", columns, columns, text)
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n/1_000_000) }
