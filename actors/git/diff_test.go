package git

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is staged is what a reviewer sees; without it, what is changed.
func TestDiff(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if got, err := r.Diff(r.ctx, r.dir); err != nil || got.Diff != "" || got.Staged {
		t.Errorf("a clean repository: %+v, %v", got, err)
	}
	r.write("a.txt", "one\n2\nthree\n")
	got, err := r.Diff(r.ctx, r.dir)
	if err != nil || got.Staged || !strings.Contains(got.Diff, "-two\n+2\n") {
		t.Errorf("changed: %+v, %v", got, err)
	}
	r.write("b c.txt", "new\n")
	r.git(r.dir, "add", "b c.txt")
	got, err = r.Diff(r.ctx, r.dir)
	if err != nil || !got.Staged || !strings.Contains(got.Diff, "+new\n") || strings.Contains(got.Diff, "a.txt") {
		t.Errorf("staged: %+v, %v", got, err)
	}
}

// A repository's own settings run no program, and none is no diff but a sentence.
func TestDiff_Guarded(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	mark := filepath.Join(r.dir, "ran")
	r.git(r.dir, "config", "diff.external", "touch '"+mark+"'")
	r.git(r.dir, "config", "diff.x.textconv", "touch '"+mark+"'; cat")
	r.write(".gitattributes", "*.txt diff=x\n")
	r.write("a.txt", "changed\n")
	if got, err := r.Diff(r.ctx, r.dir); err != nil || !strings.Contains(got.Diff, "+changed\n") {
		t.Errorf("%+v, %v", got, err)
	}
	if exists(mark) {
		t.Error("a setting of the repository ran a program")
	}
	if _, err := bare(t).Diff(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without a repository has a diff")
	}
}

func TestCutDiff(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	text, cut := cutDiff(strings.Repeat(line, maxDiff/100+10))
	if !cut || len(text) > maxDiff || len(text)%100 != 0 {
		t.Errorf("cut %v at %d bytes", cut, len(text))
	}
	if text, cut = cutDiff("a\xffb\n"); cut || text != "a\uFFFDb\n" {
		t.Errorf("%q, %v", text, cut)
	}
}
