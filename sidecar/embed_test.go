package sidecar

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFiles_HoldWhatIsInstalled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"package.json", "package-lock.json", "dist/.gitkeep"} {
		if _, err := fs.Stat(Files(), name); err != nil {
			t.Errorf("%s: %v; the embed directive needs it in a fresh checkout", name, err)
		}
	}
	_, err := fs.Stat(Files(), "dist/index.js")
	if got := err == nil; got != Built() {
		t.Errorf("dist/index.js present = %v, Built() = %v", got, Built())
	}
	if _, err := fs.Stat(Files(), "node_modules"); err == nil {
		t.Error("the vendors' packages are part of the program")
	}
	if v := Version(); !strings.HasPrefix(v, "0.") && !strings.HasPrefix(v, "1.") || strings.ContainsAny(v, `/\`) {
		t.Errorf("Version() = %q; want one folder name that begins with the package's version", v)
	}
}

// TestVersionOf: any other byte, and any other name, is another version.
func TestVersionOf(t *testing.T) {
	t.Parallel()
	tree := func(name, body string) fstest.MapFS {
		return fstest.MapFS{"package.json": {Data: []byte(`{"version":"1.2.3"}`)}, name: {Data: []byte(body)}}
	}
	first := versionOf(tree("dist/index.js", "a"))
	if !strings.HasPrefix(first, "1.2.3-") || len(first) != len("1.2.3-")+12 {
		t.Errorf("%q", first)
	}
	if again := versionOf(tree("dist/index.js", "a")); again != first {
		t.Errorf("%q, then %q", first, again)
	}
	for name, other := range map[string]fstest.MapFS{"body": tree("dist/index.js", "b"), "name": tree("dist/other.js", "a")} {
		if versionOf(other) == first {
			t.Errorf("another %s has the same version", name)
		}
	}
}
