package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Step is a part of the work.
type Step string

// The steps, in order.
const (
	StepUnpack Step = "unpack"
	StepFetch  Step = "fetch"
	StepVerify Step = "verify"
	StepPlace  Step = "place"
)

// Progress is how far it is. Done and Total count packages and belong to
// StepFetch, as do Bytes, which are on disk so far.
type Progress struct {
	Step        Step
	Done, Total int
	Bytes       int64
}

// Options of one Install.
type Options struct {
	// Files are sidecar.Files and Version is sidecar.Version, the folder below
	// Root that they go to. Root is "sidecar" in the data directory.
	Files   fs.FS
	Version string
	Root    string
	// Wanted SDKs; what is there already is kept beside them.
	Wanted []SDK
	// Node and NPM are programs; "" for one that was not found. Env is the
	// environment of npm, the person's own.
	Node, NPM string
	Env       []string
	// Report hears of progress on the caller's goroutine; may be nil.
	Report func(Progress)
}

// Result is what is in place.
type Result struct {
	Manifest Manifest
	Node     Node
	// Script is what the host starts.
	Script string
	SDKs   []SDK
	// Fresh is false when all of it was there already and only verified.
	Fresh bool
}

// Script is where the host finds a sidecar that was installed below root.
// Source: sidecar-protocol.md 7.
func Script(root, version string) string {
	return filepath.Join(root, version, "dist", "index.js")
}

func (o Options) report(p Progress) {
	if o.Report != nil {
		o.Report(p)
	}
}

const (
	unfinished = ".new-"
	replaced   = ".old-"
)

// Install puts the sidecar with some SDKs in place and verifies it. When it
// fails, or ctx ends, nothing has changed. Two at once do not disturb each
// other. A child that runs from the folder goes on.
func Install(ctx context.Context, o Options) (Result, error) {
	m, err := ReadManifest(o.Files)
	if err != nil {
		return Result{}, err
	}
	r := Result{Manifest: m, Script: Script(o.Root, o.Version)}
	if r.Node, err = AskNode(ctx, o.Node, m.Node); err != nil {
		return r, err
	}
	if err := os.MkdirAll(o.Root, 0o700); err != nil {
		return r, onDisk(err)
	}
	o.tidy()
	for _, f := range m.Look(r.Script) {
		if f.Complete() || slices.Contains(o.Wanted, f.SDK) {
			r.SDKs = append(r.SDKs, f.SDK)
		}
	}
	if o.there(ctx, m, r) {
		return r, nil
	}
	if o.NPM == "" {
		return r, errors.New("npm was not found; the SDKs are fetched with it. It comes with Node: put it on PATH and run this again")
	}
	fresh := filepath.Join(o.Root, unfinished+owner())
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := o.build(ctx, m, r, fresh); err != nil {
		return r, err
	}
	o.report(Progress{Step: StepPlace})
	if err := o.place(fresh); err != nil {
		return r, err
	}
	r.Fresh = true
	return r, nil
}

// there reports whether everything wanted is in place already and runs.
func (o Options) there(ctx context.Context, m Manifest, r Result) bool {
	for _, f := range m.Look(r.Script) {
		if slices.Contains(r.SDKs, f.SDK) && (!f.Complete() || f.Version != m.Pin(f.SDK)) {
			return false
		}
	}
	if _, err := os.Stat(r.Script); err != nil {
		return false
	}
	o.report(Progress{Step: StepVerify})
	return verify(ctx, m, r.Node.Path, filepath.Join(o.Root, o.Version), r.SDKs) == nil
}

// build makes the whole folder at dir.
func (o Options) build(ctx context.Context, m Manifest, r Result, dir string) error {
	lock, err := fs.ReadFile(o.Files, "package-lock.json")
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	p, err := m.plan(lock, r.SDKs, r.Node)
	if err != nil {
		return err
	}
	o.report(Progress{Step: StepUnpack})
	if err := o.unpack(dir, p); err != nil {
		return onDisk(err)
	}
	if err := o.runNPM(ctx, o.NPM, r.Node.Path, dir, p.packages); err != nil {
		return err
	}
	o.report(Progress{Step: StepVerify})
	return verify(ctx, m, r.Node.Path, dir, r.SDKs)
}

// unpack writes the sidecar and what npm reads. The mode of a file says nothing:
// Node reads it.
func (o Options) unpack(dir string, p plan) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, body := range map[string][]byte{"package.json": p.manifest, "package-lock.json": p.lock} {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			return err
		}
	}
	dist, err := fs.Sub(o.Files, "dist")
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(dir, "dist"), dist)
}

// verify runs what is in dir: the child says ready in our protocol, and each SDK
// loads.
func verify(ctx context.Context, m Manifest, node, dir string, sdks []SDK) error {
	const again = "Run this again; if it stays so, report it with the output of packetbench doctor"
	ready, err := Handshake(ctx, node, filepath.Join(dir, "dist", "index.js"))
	switch {
	case errors.Is(err, ErrInterrupted):
		return err
	case err != nil:
		return fmt.Errorf("the sidecar was unpacked but does not start: %w. %s", err, again)
	case !ready.Compatible():
		return fmt.Errorf("the sidecar in this program speaks protocol %s and not the one that the program itself needs. Build both again with make build", ready.Speaks())
	}
	for _, f := range m.Look(filepath.Join(dir, "dist", "index.js")) {
		if slices.Contains(sdks, f.SDK) && !f.Complete() {
			return fmt.Errorf("npm left out %s. The %s may not exist for this system; else run this again", strings.Join(f.Missing, ", "), f.SDK.Title())
		}
	}
	if err := m.load(ctx, node, dir, sdks); err != nil {
		if errors.Is(err, ErrInterrupted) {
			return err
		}
		return fmt.Errorf("what was installed cannot be loaded: %w. %s", err, again)
	}
	return nil
}

// place puts the finished folder where the host looks. What was there is moved
// aside first, since a folder cannot be replaced by a rename; tidy puts it back
// if this process dies between the two.
func (o Options) place(fresh string) error {
	target, aside := filepath.Join(o.Root, o.Version), filepath.Join(o.Root, replaced+o.Version+"."+owner())
	err := os.Rename(target, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the installed sidecar cannot be replaced: %w. Stop PacketBench and run this again", err)
	}
	if err := os.Rename(fresh, target); err != nil {
		_ = os.Rename(aside, target)
		return onDisk(err)
	}
	_ = os.RemoveAll(aside) // What is left of it is removed the next time.
	return nil
}

// tidy removes what dead runs left, and puts back what one of them had moved
// aside and not replaced.
func (o Options) tidy() {
	entries, err := os.ReadDir(o.Root)
	if err != nil {
		return
	}
	for _, e := range entries {
		at := filepath.Join(o.Root, e.Name())
		if by, is := strings.CutPrefix(e.Name(), unfinished); is && abandoned(by) {
			_ = os.RemoveAll(at)
		}
		rest, is := strings.CutPrefix(e.Name(), replaced)
		dot := strings.LastIndex(rest, ".")
		if !is || dot < 0 || !abandoned(rest[dot+1:]) {
			continue
		}
		if os.Rename(at, filepath.Join(o.Root, rest[:dot])) != nil { // Fails when it was replaced.
			_ = os.RemoveAll(at)
		}
	}
}

// Older removes the sidecars of other versions below root and returns their
// names. The caller makes sure that no service runs from one.
func Older(root, version string) (removed []string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name == version || strings.HasPrefix(name, ".") {
			continue
		}
		// Only what Install made: a person's own folder has no such script.
		if _, err := os.Stat(Script(root, name)); err == nil && os.RemoveAll(filepath.Join(root, name)) == nil {
			removed = append(removed, name)
		}
	}
	return removed
}

// diskFull is ERROR_DISK_FULL of Windows, which syscall does not name there.
const diskFull = syscall.Errno(112)

// onDisk makes a failed write a sentence.
func onDisk(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), os.PathSeparator == '\\' && errors.Is(err, diskFull):
		return errors.New("the sidecar could not be unpacked: there is no space left on the disk. The two SDKs need about 550 MB, and as much again in npm's cache. Free some space and run this again")
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the sidecar could not be unpacked: %w. Give your user the right to write to the data directory, or choose another one with --home", err)
	}
	return fmt.Errorf("the sidecar could not be unpacked: %w. Check the disk of the data directory and run this again", err)
}
