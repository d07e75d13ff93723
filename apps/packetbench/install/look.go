package install

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Found is what Look found of one SDK.
type Found struct {
	SDK SDK
	// Version is the SDK's own; "" when it is not there.
	Version string
	// Missing are packages of its set that are not there.
	Missing []string
}

// Complete reports whether a session can be opened with it.
func (f Found) Complete() bool { return len(f.Missing) == 0 }

// Look finds the SDKs as the child that runs script will: in the node_modules
// of the script's folder and of those above it. It reads a handful of small
// files and starts nothing; what it says can change at any time.
func (m Manifest) Look(script string) []Found {
	all := make([]Found, 0, len(SDKs))
	for _, s := range SDKs {
		f := Found{SDK: s}
		for i, name := range m.Sets[s] {
			at, version := packageAt(script, name)
			if at == "" {
				f.Missing = append(f.Missing, name)
			}
			if i == 0 {
				f.Version = version
				if at != "" && s == Claude && !program(at) {
					f.Missing = append(f.Missing, name+"'s program for this system")
				}
			}
		}
		all = append(all, f)
	}
	return all
}

// packageAt finds a package as Node does and reads its version.
func packageAt(script, name string) (dir, version string) {
	for from := filepath.Dir(script); ; from = filepath.Dir(from) {
		dir = filepath.Join(from, "node_modules", filepath.FromSlash(name))
		if body, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil {
			var p struct{ Version string }
			_ = json.Unmarshal(body, &p) // A package without a version is there all the same.
			return dir, p.Version
		}
		if from == filepath.Dir(from) {
			return "", ""
		}
	}
}

// program reports whether the Claude Agent SDK has the program that it starts:
// it is a package of its own for each system, which npm leaves out without a
// word when it may not install optional ones. Source: real-parts.md 2.
func program(sdk string) bool {
	found, err := filepath.Glob(sdk + "-*" + string(filepath.Separator) + "claude*")
	return err == nil && len(found) > 0
}
