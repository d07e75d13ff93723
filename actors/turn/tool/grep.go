package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/packetbench/packetbench/actors/child"
)

const (
	// maxMatches ends a search. Source: tools-permissions.md section 1.
	maxMatches = 100
	// maxLineBytes is how much of a line is searched; a line of a minified file
	// can have megabytes.
	maxLineBytes = 64 << 10
	// maxMatchChars is how much of a matching line is shown.
	maxMatchChars = 500
)

// search is one call of grep.
type search struct {
	r       *Runtime
	ctx     context.Context
	re      *regexp.Regexp
	include string
	found   []string
}

// errEnough ends a search that has its matches.
var errEnough = errors.New("enough matches")

func (r *Runtime) grep(ctx context.Context, a args) (Result, error) {
	pattern, err := a.text("pattern")
	if err != nil {
		return Result{}, err
	}
	if pattern == "" {
		return Result{}, &ArgumentError{"pattern", "must not be empty"}
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return Result{}, &ArgumentError{"pattern", "is not a regular expression of RE2 syntax: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	}
	input, err := a.textOr("path", ".")
	if err != nil {
		return Result{}, err
	}
	if input == "" {
		input = "."
	}
	include, err := a.textOr("include", "")
	if err != nil {
		return Result{}, err
	}
	if include != "" && !doublestar.ValidatePattern(include) {
		return Result{}, &ArgumentError{"include", "is not a glob; write it like *.go or *.{ts,tsx}"}
	}
	rel, err := r.resolve(input, true)
	if err != nil {
		return Result{}, err
	}
	st, err := r.fence.root.Stat(rel)
	if err != nil {
		return Result{}, explain(err, input)
	}
	s := &search{r: r, ctx: ctx, re: re, include: include}
	if st.IsDir() {
		err = s.folder(slashed(rel))
	} else if err = regular(st, input); err == nil {
		err = s.file(slashed(rel))
	}
	if ctx.Err() != nil {
		return Result{}, cancelled(ctx)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return Result{}, explain(err, input)
	}
	text := strings.Join(s.found, "\n")
	switch {
	case text == "":
		text = "No matches."
	case errors.Is(err, errEnough):
		text += fmt.Sprintf("\n[stopped at %d matches; narrow the pattern or the path]", maxMatches)
	}
	return Result{Content: text, Locator: pathLocator(rel)}, nil
}

// folder searches what is below a folder, in the order of names. What cannot be
// read is skipped, links are never followed.
func (s *search) folder(dir string) error {
	return fs.WalkDir(s.r.fence.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if cerr := s.ctx.Err(); cerr != nil {
			return cerr
		}
		if err != nil {
			if name == dir {
				return err
			}
			return nil
		}
		if d.IsDir() {
			if name != dir && (strings.HasPrefix(d.Name(), ".") || skipped[d.Name()]) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		if s.include != "" {
			if ok, _ := doublestar.Match(s.include, path.Base(name)); !ok {
				return nil
			}
		}
		return s.file(name)
	})
}

// file searches one file; matches count only when the part that was read is
// text. It returns errEnough or the end of the context, nothing else: a file
// that cannot be read is skipped.
func (s *search) file(name string) error {
	rel := filepath.FromSlash(name)
	f, err := s.r.fence.root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	in := bufio.NewReaderSize(f, maxLineBytes)
	if head, _ := in.Peek(sniffBytes); bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	room := maxMatches - len(s.found)
	var found []string
	var line []byte  // what is searched of the line
	var carry []byte // the beginning of a character that a piece cut
	begun := false   // line has a beginning, although it may be empty
	for n := 1; ; {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		piece, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return nil
		}
		carry = append(carry, piece...)
		rest := child.IncompleteSuffix(carry)
		if err == io.EOF {
			rest = 0
		}
		if !utf8.Valid(carry[:len(carry)-rest]) {
			return nil
		}
		carry = append(carry[:0], carry[len(carry)-rest:]...)
		begun = begun || len(piece) > 0
		if space := maxLineBytes - len(line); space > 0 {
			line = append(line, piece[:min(space, len(piece))]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if begun {
			text := bytes.TrimRight(line, "\r\n")
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte(bom))
			}
			if s.re.Match(text) {
				found = append(found, match(name, n, text))
			}
		}
		if len(found) >= room {
			s.found = append(s.found, found...)
			return errEnough
		}
		if err == io.EOF {
			s.found = append(s.found, found...)
			return nil
		}
		line, begun = line[:0], false
		n++
	}
}

func match(name string, n int, text []byte) string {
	shown, cut := cutChars(strings.ToValidUTF8(string(bytes.TrimSpace(text)), ""), maxMatchChars)
	if cut {
		shown += "..."
	}
	return fmt.Sprintf("%s:%d: %s", strings.ToValidUTF8(name, "\uFFFD"), n, shown)
}
