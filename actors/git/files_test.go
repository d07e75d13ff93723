package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// In a repository an @ names what git knows or would add, and nothing ignored or
// deleted.
func TestFind_Repository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "*.log\n")
	r.write("src/Main.go", "x")
	r.write("src/deep/main_test.go", "x")
	r.write("noise.log", "x")
	r.write("gone.txt", "x")
	r.git(r.dir, "add", "gone.txt")
	if err := os.Remove(filepath.Join(r.dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	r.provision()
	for _, tc := range []struct {
		dir, query string
		want       []string
	}{
		{"", "main", []string{"src/Main.go", "src/deep/main_test.go"}},
		{"", "./src\\m", []string{"src/Main.go", "src/deep/main_test.go"}},
		{"", "noise", []string{}},
		{"", "gone", []string{}},
		{"", "smt", []string{"src/deep/main_test.go"}},
		{"src", "main.go", []string{"Main.go", "deep/main_test.go"}},
		{"", strings.Repeat("a", maxQuery+1), []string{}},
	} {
		if got := r.Find(r.ctx, filepath.Join(r.dir, tc.dir), tc.query, 0); !slices.Equal(got.Paths, tc.want) || got.Truncated {
			t.Errorf("%q in %q: %+v, want %q", tc.query, tc.dir, got, tc.want)
		}
	}
	if got := r.Find(r.ctx, r.dir, "", 2); len(got.Paths) != 2 {
		t.Errorf("limit 2: %q", got.Paths)
	}
}

// Elsewhere the folder is walked; a link out of it leads nowhere.
func TestFind_Walk(t *testing.T) {
	t.Parallel()
	r := bare(t)
	r.write("doc/read me.md", "x")
	r.write("node_modules/x/read.md", "x")
	r.write(".hidden/read.md", "x")
	put(t, filepath.Join(r.dir, "..", "secret", "read.md"), "x")
	if err := os.Symlink(filepath.Join(r.dir, "..", "secret"), filepath.Join(r.dir, "link")); err != nil {
		t.Logf("no links here: %v", err)
	}
	if got := r.Find(r.ctx, r.dir, "read", 0); !slices.Equal(got.Paths, []string{"doc/read me.md"}) {
		t.Errorf("got %q", got.Paths)
	}
	if got := r.Find(r.ctx, filepath.Join(r.dir, "gone"), "", 0); got.Paths == nil || len(got.Paths) != 0 {
		t.Errorf("a folder that is gone: %q", got.Paths)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	if l := fold([]string{"b", "\xff", "", ".pkt-worktrees/c-1/a", "a"}, false); !slices.Equal(l.paths, []string{"a", "b"}) || l.truncated {
		t.Errorf("%+v", l)
	}
	if l := fold([]string{"b", "hal"}, true); !slices.Equal(l.paths, []string{"b"}) || !l.truncated {
		t.Errorf("%+v", l)
	}
}

func fifty(n int) listing {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("packages/part-%d/src/components/Thing%d.tsx", i%200, i)
	}
	return fold(paths, false)
}

// BenchmarkMatch is one keystroke in a project of 50,000 files.
func BenchmarkMatch(b *testing.B) {
	l := fifty(50_000)
	for _, query := range []string{"", "thing4999", "psct9"} {
		b.Run("query "+query, func(b *testing.B) {
			for b.Loop() {
				match(l, query, fewMatches, func(string) bool { return true })
			}
		})
	}
}

// FuzzMatch: whatever is typed, the answer is within its limit, of the list, and
// without repeats.
func FuzzMatch(f *testing.F) {
	f.Add("ma", 3)
	f.Add("./\\x\xff", 0)
	l := fold([]string{"main.go", "src/Main.go", "a/b/c", "\u00fc/\u0130x"}, false)
	f.Fuzz(func(t *testing.T, query string, limit int) {
		got := match(l, query, limit, func(p string) bool { return p != "a/b/c" })
		seen := map[string]bool{}
		for _, p := range got {
			if seen[p] || !slices.Contains(l.paths, p) || p == "a/b/c" {
				t.Errorf("%q: %q", query, got)
			}
			seen[p] = true
		}
		if limit > 0 && len(got) > limit {
			t.Errorf("%d results, limit %d", len(got), limit)
		}
	})
}
