package git

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

// Bounds of the list of a project's files. Ours: what a keystroke may cost.
const (
	maxFiles  = 200_000
	walkLimit = 2 * time.Second
	// filesAge is how old a list may be: long enough for a typed path, short
	// enough for a file that was just made.
	filesAge = 10 * time.Second
	// maxMatches is the most that one question gets, fewMatches what it gets
	// without a wish. Source of the second: ui.md 5.2.
	maxMatches = 200
	fewMatches = 20
	// maxQuery is the longest question in bytes; nobody types more.
	maxQuery = 1024
)

// listing is the files below a folder. lower holds the same paths folded.
type listing struct {
	paths, lower []string
	truncated    bool
}

// Find returns the files below dir that match query, best first, as paths
// relative to dir with slashes. In a repository these are the files that git
// knows or would add; elsewhere a walk that skips hidden folders, dependencies
// and links to folders.
func (g *Git) Find(ctx context.Context, dir, query string, limit int) contract.FoundFiles {
	list := g.files.get(dir, filesAge, func() (listing, bool) {
		l := g.list(ctx, dir)
		return l, ctx.Err() == nil
	})
	if limit <= 0 {
		limit = fewMatches
	}
	limit = min(limit, maxMatches)
	// Deleted files are in git's index until that is committed.
	there := func(path string) bool {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
		return err == nil
	}
	return contract.FoundFiles{Paths: match(list, query, limit, there), Truncated: list.truncated}
}

func (g *Git) list(ctx context.Context, dir string) listing {
	if inRepository(dir) {
		out, err := g.read(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
		if err == nil {
			return fold(strings.Split(out, "\x00"), len(out) >= maxOutput)
		}
		// No git, or one that refuses this folder: the walk still helps.
	}
	return walk(ctx, dir)
}

// fold keeps what can be shown and typed, and prepares it for matching.
func fold(paths []string, truncated bool) listing {
	l := listing{truncated: truncated}
	if truncated && len(paths) > 0 {
		paths = paths[:len(paths)-1] // May be half a path.
	}
	for _, p := range paths {
		if p == "" || !utf8.ValidString(p) || strings.HasPrefix(p, worktreesDir+"/") {
			continue
		}
		if len(l.paths) == maxFiles {
			l.truncated = true
			break
		}
		l.paths = append(l.paths, p)
	}
	slices.Sort(l.paths)
	l.lower = make([]string, len(l.paths))
	for i, p := range l.paths {
		l.lower[i] = strings.ToLower(p)
	}
	return l
}

// skipped are folders that nobody names a file of.
var skipped = map[string]bool{"node_modules": true, "vendor": true, "__pycache__": true, "target": true, "dist": true}

func walk(ctx context.Context, dir string) listing {
	ctx, stop := context.WithTimeout(ctx, walkLimit)
	defer stop()
	var paths []string
	truncated := false
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || len(paths) == maxFiles:
			truncated = true
			return fs.SkipAll
		case err != nil:
			return nil // A folder that cannot be read has no names.
		case d.IsDir() && path != dir && (skipped[d.Name()] || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if rel, err := filepath.Rel(dir, path); err == nil {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	l := fold(paths, false)
	l.truncated = truncated
	return l
}

// rank is how well a path matches, lower is better.
type rank int

// The ranks. A path that holds the letters in order but not together comes last.
const (
	rankName rank = iota
	rankPrefix
	rankInName
	rankInPath
	rankLetters
	rankNone
)

// match returns the limit best paths for query that are there.
func match(l listing, query string, limit int, there func(string) bool) []string {
	found := []string{}
	if len(query) > maxQuery {
		return found
	}
	want := strings.ToLower(strings.ReplaceAll(query, "\\", "/"))
	want = strings.TrimPrefix(want, "./")
	type candidate struct {
		rank rank
		path string
	}
	var all []candidate
	for i, lower := range l.lower {
		if r := rankOf(lower, want); r < rankNone {
			all = append(all, candidate{r, l.paths[i]})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.path), len(b.path)), strings.Compare(a.path, b.path))
	})
	for _, c := range all {
		if len(found) == limit {
			break
		}
		if there(c.path) {
			found = append(found, c.path)
		}
	}
	return found
}

func rankOf(path, want string) rank {
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case name == want || path == want:
		return rankName
	case strings.HasPrefix(name, want):
		return rankPrefix
	case strings.Contains(name, want):
		return rankInName
	case strings.Contains(path, want):
		return rankInPath
	case letters(path, want):
		return rankLetters
	}
	return rankNone
}

// letters reports whether the characters of want stand in path in their order.
func letters(path, want string) bool {
	for _, r := range want {
		i := strings.IndexRune(path, r)
		if i < 0 {
			return false
		}
		path = path[i+utf8.RuneLen(r):]
	}
	return true
}
