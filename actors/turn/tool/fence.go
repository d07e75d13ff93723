package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// OutsideError says that a path leads out of the project, by itself or through a
// link.
type OutsideError struct{ Path string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("'%s' is outside the project folder; use a path inside it", e.Path)
}

// fence answers where a path of a call really is. It checks by name, which gives
// good messages; the use goes through root, which cannot be led outside (F72).
type fence struct {
	dir  string // canonical project folder
	root *os.Root
}

// folderError says why a project folder cannot be opened; the path is said once.
func folderError(dir string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("The project folder %q cannot be opened: %w. Choose another one.", dir, err)
}

func newFence(dir string) (*fence, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("The project folder %q is not an absolute path. Choose the folder again.", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, folderError(dir, err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, folderError(dir, err)
	}
	return &fence{dir: real, root: root}, nil
}

func (f *fence) close() { _ = f.root.Close() }

// drive matches what means an absolute path on Windows, wherever we run.
var drive = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\)`)

// resolve returns where input is, relative to the project folder, all links
// resolved, "." for the folder itself. With must it has to exist; else missing
// ends are allowed. Source: tools-permissions.md section 2.
func (f *fence) resolve(input string, must bool) (string, error) {
	switch {
	case input == "":
		return "", &ArgumentError{"path", "must not be empty"}
	case strings.ContainsRune(input, 0):
		return "", &ArgumentError{"path", "must not hold a zero byte"}
	case input == "~" || strings.HasPrefix(input, "~/") || strings.HasPrefix(input, `~\`),
		filepath.Separator == '/' && drive.MatchString(input):
		return "", &OutsideError{input}
	}
	name := input
	if !filepath.IsAbs(name) {
		// Deliberate: not filepath.Join, which would drop ".." before the links
		// ahead of it are resolved.
		name = f.dir + string(filepath.Separator) + name
	}
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		return f.inside(real, input)
	}
	if _, lerr := os.Lstat(trimmed(name)); lerr == nil {
		return "", fmt.Errorf("'%s' is a link that leads nowhere, or in a circle; remove it or correct it", input)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", explain(err, input)
	}
	// A path outside is told as such, whether or not it exists.
	rel, merr := f.missing(name, input)
	if merr == nil && must {
		merr = explain(err, input)
	}
	return rel, merr
}

// missing resolves a path whose end does not exist: its nearest existing
// ancestor must be inside, and so must the whole once the rest is appended.
func (f *fence) missing(name, input string) (string, error) {
	var rest []string // innermost last
	cur := name
	for {
		dir, base := filepath.Split(trimmed(cur))
		if dir == "" || base == "" {
			return "", &OutsideError{input}
		}
		rest = append([]string{base}, rest...)
		cur = trimmed(dir)
		real, err := filepath.EvalSymlinks(cur)
		if err == nil {
			cur = real
			break
		}
		if _, lerr := os.Lstat(cur); lerr == nil {
			return "", fmt.Errorf("'%s' goes through a link that leads nowhere, or in a circle; remove it or correct it", input)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", explain(err, input)
		}
	}
	if _, err := f.inside(cur, input); err != nil {
		return "", err
	}
	if st, err := os.Stat(cur); err == nil && !st.IsDir() {
		return "", fmt.Errorf("'%s' goes through a file, not a folder; use another path", input)
	}
	out, popped := cur, false
	for _, part := range rest {
		switch part {
		case ".":
		case "..":
			out, popped = filepath.Dir(out), true
		default:
			if !filepath.IsLocal(part) {
				return "", &OutsideError{input}
			}
			out = filepath.Join(out, part)
		}
	}
	rel, err := f.inside(out, input)
	if err == nil && popped {
		// It may exist after all, and be a link. There is no ".." left in it.
		return f.resolve(rel, false)
	}
	return rel, err
}

// inside makes a canonical path relative, or refuses it. Components are compared,
// not characters: /p-other is not inside /p.
func (f *fence) inside(real, input string) (string, error) {
	rel, err := filepath.Rel(f.dir, real)
	if err != nil || !local(rel) {
		return "", &OutsideError{input}
	}
	return rel, nil
}

func local(rel string) bool {
	return rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// trimmed drops the separators at the end, which would make Lstat follow a link.
func trimmed(name string) string {
	for len(name) > len(filepath.VolumeName(name))+1 && os.IsPathSeparator(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	return name
}

// said is an error that is a sentence for people already.
type said string

func (s said) Error() string { return string(s) }

// explain turns an error of the file system into a sentence that names the path
// of the call and what to do.
func explain(err error, path string) error {
	var outside *OutsideError
	var arg *ArgumentError
	var sentence said
	switch {
	case err == nil || errors.As(err, &outside) || errors.As(err, &arg) || errors.As(err, &sentence):
		return err
	case escapes(err):
		return &OutsideError{path}
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("'%s' does not exist; list the folder to see what is there", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("'%s' may not be read or written by this user; change its permissions or use another path", path)
	case isNoSpace(err):
		return fmt.Errorf("the disk is full, so '%s' was not written and is as it was before; free some space and try again", path)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("'%s' is on a read-only disk; use another path", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("'%s' goes through a file, not a folder; use another path", path)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("'%s' is a folder, not a file; name a file", path)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("'%s' is too long for this disk; use a shorter name", path)
	case errors.Is(err, os.ErrClosed):
		return errors.New("this conversation is closed; start it again")
	}
	return fmt.Errorf("'%s': %w", path, cause(err))
}

// cause drops the operation and the path of an error: they would name temporary
// files and folders that the reader never asked for.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// escapes recognises the refusal of os.Root, which has no exported value.
func escapes(err error) bool {
	return strings.HasSuffix(cause(err).Error(), "path escapes from parent")
}
