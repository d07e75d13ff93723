package install

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/config"
)

// TestMain is also the fakes: under the name of node or npm this program plays
// it, as act.json beside it says, and checks what it is given.
func TestMain(m *testing.M) {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	// Not os.Exit, which under the race detector takes a second.
	case "node":
		syscall.Exit(actAsNode())
	case "npm":
		syscall.Exit(actAsNPM())
	}
	goleak.VerifyTestMain(m)
}

// act is what the fakes do.
type act struct {
	// Version is what Node says it is; "" fails to answer.
	Version string
	// Ready is what the child prints, a line each, Exit what it ends with, -1
	// meaning when its stdin ends; Stderr is said before.
	Ready  []string
	Exit   int
	Stderr string
	// Unloadable are packages that fail to load, with why.
	Unloadable map[string]string
	// NPM is what npm complains of; it fails when there is any.
	NPM []string
	// Hang makes npm never end, LeaveOut leaves folders out.
	Hang     bool
	LeaveOut string
}

func readAct() (a act, err error) {
	body, err := os.ReadFile(filepath.Join(filepath.Dir(os.Args[0]), "act.json"))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

func fail(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "npm error "+format+"\n", args...)
	return 99
}

// given complains of a key in the environment.
func given() (key string, is bool) {
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); config.HoldsKey(name) {
			return name, true
		}
	}
	return "", false
}

func actAsNode() int {
	a, err := readAct()
	if err != nil {
		return fail("act: %v", err)
	}
	if key, is := given(); is {
		return fail("Node was given %s", key)
	}
	args := os.Args[1:]
	switch {
	case len(args) == 2 && args[0] == "-p":
		if a.Version == "" {
			fmt.Fprintln(os.Stderr, "node: broken")
			return 1
		}
		fmt.Printf(`{"Version":%q,"Platform":"linux","Arch":"x64"}`, a.Version)
		return 0
	case slices.Contains(args, "--eval"):
		dir, _ := os.Getwd()
		if filepath.Base(dir) != "dist" {
			return fail("loaded in %s", dir)
		}
		failed := map[string]string{}
		for _, name := range args[slices.Index(args, "--")+1:] {
			if at, _ := packageAt(filepath.Join(dir, "index.js"), name); at == "" {
				failed[name] = "Cannot find package"
			}
			if why := a.Unloadable[name]; why != "" {
				failed[name] = why
			}
		}
		_ = json.NewEncoder(os.Stdout).Encode(failed)
		return 0
	case len(args) == 1 && filepath.Base(args[0]) == "index.js":
		fmt.Fprint(os.Stderr, a.Stderr)
		for _, line := range a.Ready {
			fmt.Println(line)
		}
		if a.Exit < 0 {
			_, _ = io.Copy(io.Discard, os.Stdin)
			return 0
		}
		return a.Exit
	}
	return fail("node %q", args)
}

func actAsNPM() int {
	a, err := readAct()
	if err != nil {
		return fail("act: %v", err)
	}
	if key, is := given(); is {
		return fail("npm was given %s", key)
	}
	if !slices.Equal(os.Args[1:], npmArgs) {
		return fail("arguments %q", os.Args[1:])
	}
	if os.Getenv("HTTPS_PROXY") != "http://proxy.test" {
		return fail("the person's environment is missing")
	}
	var manifest struct{ Dependencies map[string]string }
	var lock struct {
		Packages map[string]struct {
			Version      string
			Dependencies map[string]string
		}
	}
	for name, into := range map[string]any{"package.json": &manifest, "package-lock.json": &lock} {
		body, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(body, into)
		}
		if err != nil {
			return fail("%s: %v", name, err)
		}
	}
	if fmt.Sprint(manifest.Dependencies) != fmt.Sprint(lock.Packages[""].Dependencies) {
		return fail("code EUSAGE")
	}
	for _, line := range a.NPM {
		fmt.Fprintln(os.Stderr, line)
	}
	if len(a.NPM) > 0 {
		return 1
	}
	for at, p := range lock.Packages {
		if at == "" || a.LeaveOut != "" && strings.Contains(at, a.LeaveOut) {
			continue
		}
		if err := os.MkdirAll(at, 0o700); err != nil {
			return fail("%v", err)
		}
		body, _ := json.Marshal(map[string]string{"version": p.Version})
		if err := os.WriteFile(filepath.Join(at, "package.json"), body, 0o600); err != nil {
			return fail("%v", err)
		}
		if strings.Contains(at, "claude-agent-sdk-") {
			_ = os.WriteFile(filepath.Join(at, "claude"), []byte("x"), 0o700)
		}
	}
	for range 300 { // More lines than are read ahead of the owner.
		fmt.Println("chatter")
	}
	if a.Hang {
		select {}
	}
	return 0
}
