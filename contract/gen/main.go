// Command gen writes ui/src/contract/gen.ts, the TypeScript side of the
// contract, from the source of package contract.
//
// It reads the source and keeps no list of its own, so a type that is added in
// Go is there in TypeScript after the next run. What it promises the page:
//
//   - every exported struct with JSON keys is an interface; an omitempty key is
//     optional, a pointer without omitempty and a slice marked //gen:null may
//     be null;
//   - a string type with constants is a union of them, with an array of its
//     values: the exported list that holds them all (kinds), else one named
//     after the type (statusValues); a type marked //gen:open, or without
//     constants, is string;
//   - exported slices of constants are arrays (monitorMethods);
//   - exported constants keep their names unless they are part of a union
//     (TextMonitor, RowDemo);
//   - AgentEvent is the closed union of the fifteen kinds, ConversationEvent
//     that of the second family, Commands maps a method to what it takes and
//     answers.
//
// With -check it writes nothing and exits 1 when the file is out of date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// target is the generated file, from the module's root.
var target = filepath.Join("ui", "src", "contract", "gen.ts")

func main() {
	check := flag.Bool("check", false, "compare instead of writing; exit 1 on a difference")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	want, err := Generate(filepath.Join(root, "contract"))
	if err != nil {
		return err
	}
	path := filepath.Join(root, target)
	if check {
		return compare(path, want)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, want, 0o644)
}

func compare(path string, want []byte) error {
	have, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w; run make gen", err)
	}
	if bytes.Equal(have, want) {
		return nil
	}
	h, w := bytes.Split(have, []byte("\n")), bytes.Split(want, []byte("\n"))
	line := 0
	for line < len(h) && line < len(w) && bytes.Equal(h[line], w[line]) {
		line++
	}
	return fmt.Errorf("%s is out of date from line %d on; run make gen and commit the file with the change of its source", filepath.ToSlash(target), line+1)
}

// moduleRoot is the folder of go.mod above the working directory: go generate
// runs us in contract, a person in the root.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the working directory; run it inside the source tree")
		}
		dir = up
	}
}
