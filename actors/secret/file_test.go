package secret

import (
	"os"
	"path/filepath"
	"testing"
)

// TestKeyFile_Wrote: whoever watches the files learns of our own writes when
// they are there, of a removal too, and not of what changes nothing.
func TestKeyFile_Wrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := 0
	f := keyFile{path: filepath.Join(dir, "keys.age"), identity: filepath.Join(dir, "keys.identity")}
	f.wrote = func() {
		told++
		for _, p := range []string{f.path, f.identity} {
			if _, err := os.Stat(p); err != nil {
				t.Errorf("told before the write: %v", err)
			}
		}
	}
	for _, tc := range []struct {
		name string
		do   func() error
		want int
	}{
		{"set", func() error { return f.set("github-token", stored{Value: "v"}) }, 1},
		{"read", func() error { _, _, err := f.get("github-token"); return err }, 1},
		{"remove another", func() error { return f.remove("api-key-openai") }, 1},
		{"remove", func() error { return f.remove("github-token") }, 2},
	} {
		if err := tc.do(); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if told != tc.want {
			t.Errorf("after %s told %d times, want %d", tc.name, told, tc.want)
		}
	}
}
