package acp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The variables that name the default engine, ours before the one of older
// releases. Source: acp.md 10.
const (
	EnvEngine       = "PACKETBENCH_ACP_ENGINE"
	EnvEngineLegacy = "PACKETCODE_GUI_ENGINE"
)

// defaultProgram is the default engine's name in PATH.
const defaultProgram = "packetcode"

var (
	errIsFolder      = errors.New("is a folder")
	errNotExecutable = errors.New("is not executable")
)

// Lookup is where the default engine is looked for. Its fields are what the
// search would otherwise ask the machine.
type Lookup struct {
	// GOOS is the system, as in package runtime.
	GOOS string
	// Pinned is the path of Settings, empty when none is pinned.
	Pinned string
	Getenv func(string) string
	// Program reports whether a path is a file that can be started.
	Program func(path string) bool
}

// ThisMachine is the lookup of the running service.
func ThisMachine(pinned string) Lookup {
	return Lookup{GOOS: runtime.GOOS, Pinned: pinned, Getenv: os.Getenv, Program: func(p string) bool { return executable(p) == nil }}
}

// Find is the default engine's path: pinned, environment, PATH, the installer's
// folders, and at last the bare name. The first two are taken as written,
// without a look at the disk: a wrong one must fail loudly. Exactly what the
// probe has run is what is started. Source: acp.md 10.
func (l Lookup) Find() string {
	for _, as := range []string{l.Pinned, l.Getenv(EnvEngine), l.Getenv(EnvEngineLegacy)} {
		if as = strings.TrimSpace(as); as != "" {
			return as
		}
	}
	if p := l.inPath(defaultProgram); p != "" {
		return p
	}
	for _, p := range l.installed() {
		if l.Program(p) {
			return p
		}
	}
	return defaultProgram
}

func (l Lookup) windows() bool { return l.GOOS == "windows" }

func (l Lookup) inPath(name string) string {
	separator, suffixes := ":", []string{""}
	if l.windows() {
		separator, suffixes = ";", l.pathExt()
	}
	for dir := range strings.SplitSeq(l.Getenv("PATH"), separator) {
		if dir = strings.Trim(dir, `"`); dir == "" {
			continue // Deliberate: the current folder is nobody's engine.
		}
		for _, suffix := range suffixes {
			if p := l.join(dir, name+suffix); l.Program(p) {
				return p
			}
		}
	}
	return ""
}

// pathExt is the suffixes of programs on Windows.
func (l Lookup) pathExt() []string {
	list := l.Getenv("PATHEXT")
	if strings.TrimSpace(list) == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	var out []string
	for s := range strings.SplitSeq(list, ";") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, strings.ToLower(s))
		}
	}
	return out
}

// installed are the installer's folders.
func (l Lookup) installed() []string {
	if l.windows() {
		local := l.Getenv("LOCALAPPDATA")
		if local == "" {
			return nil
		}
		return []string{l.join(local, "Programs", "PacketCode", "bin", defaultProgram+".exe")}
	}
	var out []string
	if home := l.Getenv("HOME"); home != "" {
		out = append(out, l.join(home, ".local", "bin", defaultProgram))
	}
	return append(out, "/usr/local/bin/"+defaultProgram)
}

func (l Lookup) join(parts ...string) string {
	separator := "/"
	if l.windows() {
		separator = `\`
	}
	parts[0] = strings.TrimRight(parts[0], `/`+separator)
	return strings.Join(parts, separator)
}

// CheckPin judges a path before it is pinned in Settings and returns it
// trimmed. Its errors are sentences.
func CheckPin(path string) (string, error) {
	path = strings.TrimSpace(path)
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("The engine's path must be absolute, %q is not. Give the whole path.", path)
	}
	switch err := executable(path); {
	case err == nil:
		return path, nil
	case errors.Is(err, errIsFolder):
		return "", fmt.Errorf("%s is not a file. Give the path of the engine's program.", path)
	case errors.Is(err, errNotExecutable):
		return "", fmt.Errorf("%s is not executable. Correct its permissions.", path)
	default:
		return "", fmt.Errorf("Cannot read %s: %w", path, err)
	}
}

// ResolveProgram finds the command of an engine from Settings: an absolute path
// that can be started, or a name in PATH.
func ResolveProgram(command string) (path string, ok bool) {
	if filepath.IsAbs(command) {
		return command, executable(command) == nil
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}
