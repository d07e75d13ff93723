package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/config"
	bundle "github.com/packetbench/packetbench/sidecar"
)

// origin says where the host's sidecar comes from, in words for people.
type origin string

const (
	fromOverride origin = "set by " + sidecar.EnvScript
	fromCheckout origin = "of the checkout"
	fromDataDir  origin = "of the data directory"
)

// sidecarPlace is where the host looks for the sidecar and for a Node to run
// it. Script may name a file that is not there, see Found; Node is "" when none
// was found.
type sidecarPlace struct {
	Script string
	Found  bool
	From   origin
	Node   string
	// NodeSet says that the environment chose the Node.
	NodeSet bool
}

// sidecarRoot is the folder of installed sidecars, one folder each.
func sidecarRoot(p config.Paths) string { return filepath.Join(p.Home, "sidecar") }

// tagged is a version that was stamped by a release; make build adds the
// commits since the tag, or "-dirty".
var tagged = regexp.MustCompile(`^v?\d+\.\d+\.\d+$`)

// sidecarLookup is how the host finds the sidecar and Node. A program that lies
// in the bin of a checkout is no release, whatever its version says: make build
// at a tagged commit stamps the tag alone.
func sidecarLookup(getenv func(string) string, paths config.Paths) sidecar.Lookup {
	exe, err := os.Executable()
	if err != nil {
		exe = "" // Then there is nothing beside it.
	}
	tree := checkoutOf(exe)
	return sidecar.Lookup{
		Getenv: getenv, IsFile: isFile, LookPath: exec.LookPath,
		Release: tree == "" && tagged.MatchString(config.Version), SourceTree: tree,
		DataDir: paths.Home, Version: bundle.Version(), Program: exe,
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// checkoutOf is the checkout whose bin holds the program; "" for none.
func checkoutOf(exe string) string {
	root := filepath.Dir(filepath.Dir(exe))
	if filepath.Base(filepath.Dir(exe)) != "bin" || !isFile(filepath.Join(root, "go.mod")) || !isFile(filepath.Join(root, "sidecar", "package.json")) {
		return ""
	}
	return root
}

// placeOf is what a lookup finds now.
func placeOf(l sidecar.Lookup) sidecarPlace {
	entry, err := l.Find()
	p := sidecarPlace{Script: entry.Script, Found: entry.Script != "", Node: entry.Node, NodeSet: entry.NodeFrom == sidecar.EnvNode, From: fromOverride}
	var missing *sidecar.NoEntryError
	if errors.As(err, &missing) {
		p.Script = missing.Path
	}
	switch p.Script {
	case sidecar.InstalledScript(l.DataDir, l.Version):
		p.From = fromDataDir
	case filepath.Join(l.SourceTree, "sidecar", "dist", "index.js"):
		p.From = fromCheckout
	}
	return p
}
