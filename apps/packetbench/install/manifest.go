package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// SDK is one vendor's set of packages, by the name that --sdk takes.
type SDK string

// The SDKs that the sidecar can load.
const (
	Claude SDK = "claude"
	OpenAI SDK = "openai"
)

// SDKs are all of them, in the order of the picker.
var SDKs = []SDK{Claude, OpenAI}

// Title is what people call it.
func (s SDK) Title() string {
	if s == Claude {
		return "Claude Agent SDK"
	}
	return "OpenAI Agents SDK"
}

// Missing is the sentence for a row whose SDK is not installed: the words of
// the sidecar itself (sidecar/src/providers/sdk.ts), so that a badge and a
// refused turn say the same.
func (s SDK) Missing() string {
	return fmt.Sprintf("The %s is not installed. Run: %s", s.Title(), s.Command())
}

// Command is the command that installs it.
func (s SDK) Command() string { return "packetbench sidecar install --sdk " + string(s) }

// For is the SDK that a provider of the sidecar needs; others need none.
func For(p contract.ProviderID) (s SDK, needed bool) {
	switch p {
	case contract.ProviderClaudeOAuth:
		return Claude, true
	case contract.ProviderAgents:
		return OpenAI, true
	}
	return "", false
}

// Manifest is what package.json of the sidecar says.
type Manifest struct {
	Name, Version, License string
	// Node is the oldest version that is supported, such as "20.19".
	Node string
	// Sets are the packages of each SDK; the first one is the SDK, the others
	// are what it and the sidecar need beside it.
	Sets map[SDK][]string
	// Pins are the exact versions by package.
	Pins map[string]string
}

// ReadManifest reads package.json of the sidecar's files.
func ReadManifest(files fs.FS) (Manifest, error) {
	body, err := fs.ReadFile(files, "package.json")
	if err != nil {
		return Manifest{}, fmt.Errorf("install: %w", err)
	}
	return decodeManifest(body)
}

// decodeManifest wants every package of a set to be pinned: what is fetched
// later must not be anybody's guess.
func decodeManifest(body []byte) (Manifest, error) {
	var wire struct {
		Name, Version, License string
		Engines                struct{ Node string }
		SDKs                   map[SDK][]string `json:"sdks"`
		Dependencies           map[string]string
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Manifest{}, fmt.Errorf("install: package.json of the sidecar: %w", err)
	}
	m := Manifest{
		Name: wire.Name, Version: wire.Version, License: wire.License,
		Node: strings.TrimPrefix(wire.Engines.Node, ">="), Sets: wire.SDKs, Pins: wire.Dependencies,
	}
	if _, ok := parseVersion(m.Node); !ok {
		return Manifest{}, fmt.Errorf("install: package.json of the sidecar names no oldest Node, but %q", wire.Engines.Node)
	}
	for _, s := range SDKs {
		if len(m.Sets[s]) == 0 {
			return Manifest{}, fmt.Errorf("install: package.json of the sidecar has no packages for %s", s)
		}
		for _, name := range m.Sets[s] {
			if _, ok := parseVersion(m.Pins[name]); !ok {
				return Manifest{}, fmt.Errorf("install: package.json of the sidecar does not pin %s", name)
			}
		}
	}
	return m, nil
}

// Pin is the exact version of an SDK.
func (m Manifest) Pin(s SDK) string { return m.Pins[m.Sets[s][0]] }

// locked is one entry of the lockfile, with what decides who needs whom.
type locked struct {
	OS, CPU, Libc        []string
	Optional             bool
	Dependencies         map[string]string
	OptionalDependencies map[string]string
	PeerDependencies     map[string]string
}

// plan is what npm is given, and what it will bring.
type plan struct {
	manifest, lock []byte
	// packages are the folders that will be there, below the root; those of
	// other systems left out.
	packages []string
}

// errLock says that package.json and its lockfile do not belong together, which
// is a fault of the build.
var errLock = errors.New("install: the lockfile of the sidecar is damaged")

// plan cuts package.json and the lockfile down to some SDKs. npm ci refuses a
// pair that does not agree, and fetches whatever the lockfile names.
func (m Manifest) plan(lock []byte, sdks []SDK, on Node) (plan, error) {
	var whole struct {
		Version  int                        `json:"lockfileVersion"`
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if err := json.Unmarshal(lock, &whole); err != nil {
		return plan{}, fmt.Errorf("%w: %w", errLock, err)
	}
	entries := make(map[string]locked, len(whole.Packages))
	for at, raw := range whole.Packages {
		var e locked
		if err := json.Unmarshal(raw, &e); err != nil {
			return plan{}, fmt.Errorf("%w: %s: %w", errLock, at, err)
		}
		entries[at] = e
	}
	wanted := map[string]string{}
	for _, s := range sdks {
		for _, name := range m.Sets[s] {
			wanted[name] = m.Pins[name]
		}
	}
	reached, err := reach(entries, wanted)
	if err != nil {
		return plan{}, err
	}
	root := map[string]any{
		"name": m.Name, "version": m.Version, "license": m.License,
		"engines": map[string]string{"node": ">=" + m.Node}, "dependencies": wanted,
	}
	packages := map[string]any{"": maps.Clone(root)}
	var p plan
	for _, at := range reached {
		packages[at] = whole.Packages[at]
		if e := entries[at]; fits(e.OS, on.Platform) && fits(e.CPU, on.Arch) && (len(e.Libc) == 0 || fits(e.Libc, on.Libc)) {
			p.packages = append(p.packages, at)
		}
	}
	root["private"], root["type"] = true, "module"
	if p.manifest, err = json.MarshalIndent(root, "", "  "); err != nil {
		return plan{}, err
	}
	p.lock, err = json.MarshalIndent(map[string]any{
		"name": m.Name, "version": m.Version, "lockfileVersion": whole.Version, "requires": true, "packages": packages,
	}, "", "  ")
	return p, err
}

// fits applies npm's lists of systems: "!win32" is all but that one.
func fits(list []string, name string) bool {
	return len(list) == 0 || slices.Contains(list, name) || strings.HasPrefix(list[0], "!") && !slices.Contains(list, "!"+name)
}

// reach finds every entry that the wanted packages need, sorted. Optional ones
// and peers may be absent from the lockfile.
func reach(entries map[string]locked, wanted map[string]string) ([]string, error) {
	seen := map[string]bool{}
	type step struct {
		from string
		need map[string]string
		must bool
	}
	todo := []step{{"", wanted, true}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for name := range s.need {
			at, ok := find(entries, s.from, name)
			if !ok && s.must {
				return nil, fmt.Errorf("%w: it lacks %s", errLock, name)
			}
			if !ok || seen[at] {
				continue
			}
			seen[at] = true
			e := entries[at]
			for optional := range e.OptionalDependencies { // npm lists them twice at times.
				delete(e.Dependencies, optional)
			}
			todo = append(todo, step{at, e.Dependencies, true}, step{at, e.OptionalDependencies, false}, step{at, e.PeerDependencies, false})
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// find resolves a package as Node does: in the folder's own node_modules, then
// in those above.
func find(entries map[string]locked, from, name string) (at string, ok bool) {
	for {
		at = strings.TrimPrefix(from+"/node_modules/"+name, "/")
		if _, ok := entries[at]; ok {
			return at, true
		}
		if from == "" {
			return "", false
		}
		from = strings.TrimSuffix(from[:max(0, strings.LastIndex(from, "node_modules/"))], "/")
	}
}
