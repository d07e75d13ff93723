package sidecar

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/packetbench/packetbench/config"
)

// The environment variables that say which program is the sidecar. Source:
// sidecar-protocol.md 7.
const (
	EnvScript = config.EnvPrefix + "SIDECAR_PATH"
	EnvNode   = config.EnvPrefix + "NODE_PATH"
	// EnvOptIn = 1 or true lets a release build honour the two above.
	EnvOptIn = config.EnvPrefix + "DEV_SIDECAR"
)

// Lookup is where the child's program is looked for. It is pure but for its
// functions.
type Lookup struct {
	// Getenv reads the service's environment.
	Getenv func(string) string
	// IsFile reports whether a path names a file, LookPath finds a program on
	// the PATH.
	IsFile   func(string) bool
	LookPath func(string) (string, error)
	// Release: the program is stamped with a version tag. Then the variables
	// count only with EnvOptIn, since that child gets live keys.
	Release bool
	// SourceTree is the root of the checkout that the program was built in,
	// empty for none.
	SourceTree string
	// DataDir is the data directory, Version the version of the service, by
	// which the install step names its folder.
	DataDir, Version string
	// Program is the path of the service's own program.
	Program string
}

// Entry is what a Lookup found, and where each came from, in words for the
// doctor. What was not found is empty.
type Entry struct {
	Script, ScriptFrom string
	Node, NodeFrom     string
	// Notes are lines for the log.
	Notes []string
}

// ErrNoNode says that there is no Node to run the sidecar.
var ErrNoNode = errors.New("Node was not found, so the agent sidecar cannot run. Install Node 20.19 or newer, or set " + EnvNode + ".")

// NoEntryError says that the sidecar's script is not where it should be.
type NoEntryError struct{ Path string }

// Error is the text of sidecar-protocol.md 7.
func (e *NoEntryError) Error() string {
	return "sidecar entry not found at " + e.Path + ". Run make sidecar, or set " + EnvScript + "."
}

// InstalledScript is where the install step puts the script of a version.
func InstalledScript(dataDir, version string) string {
	return filepath.Join(dataDir, "sidecar", version, "dist", "index.js")
}

// Find returns script and Node, each found on its own. The error is a
// *NoEntryError or ErrNoNode; what was found is there all the same.
func (l Lookup) Find() (Entry, error) {
	var e Entry
	script, node := l.overrides(&e)
	err := l.script(&e, script)
	if nodeErr := l.node(&e, node); err == nil {
		err = nodeErr
	}
	return e, err
}

// overrides reads the two variables, if they count.
func (l Lookup) overrides(e *Entry) (script, node string) {
	script, node = l.Getenv(EnvScript), l.Getenv(EnvNode)
	if !l.Release {
		return script, node
	}
	optIn := l.Getenv(EnvOptIn)
	honoured := optIn == "1" || strings.EqualFold(optIn, "true")
	for _, v := range []struct{ name, value string }{{EnvScript, script}, {EnvNode, node}} {
		switch {
		case v.value == "":
		case honoured:
			e.Notes = append(e.Notes, v.name+" is honoured because "+EnvOptIn+" is set: that program gets your live API keys")
		default:
			e.Notes = append(e.Notes, v.name+" is ignored by a release build; set "+EnvOptIn+"=1 to use it")
		}
	}
	if !honoured {
		return "", ""
	}
	return script, node
}

func (l Lookup) script(e *Entry, override string) error {
	if override != "" {
		e.Script, e.ScriptFrom = override, EnvScript
		if !l.IsFile(override) {
			e.Script = ""
			return &NoEntryError{override}
		}
		return nil
	}
	installed := InstalledScript(l.DataDir, l.Version)
	first := installed
	if l.SourceTree != "" {
		first = filepath.Join(l.SourceTree, "sidecar", "dist", "index.js")
		if l.IsFile(first) {
			e.Script, e.ScriptFrom = first, "the source tree"
			return nil
		}
	}
	if l.IsFile(installed) {
		e.Script, e.ScriptFrom = installed, "the data directory"
		return nil
	}
	return &NoEntryError{first}
}

func (l Lookup) node(e *Entry, override string) error {
	if override != "" {
		// Verbatim: a person who named one wants that one or an error.
		e.Node, e.NodeFrom = override, EnvNode
		return nil
	}
	if path, err := l.LookPath("node"); err == nil {
		e.Node, e.NodeFrom = path, "the PATH"
		return nil
	}
	if l.Program != "" {
		for _, name := range []string{"node", "node.exe"} {
			if path := filepath.Join(filepath.Dir(l.Program), name); l.IsFile(path) {
				e.Node, e.NodeFrom = path, "beside the program"
				return nil
			}
		}
	}
	return ErrNoNode
}
