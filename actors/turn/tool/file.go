package tool

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// maxFileBytes is the largest file that is read or edited. Source:
	// tools-permissions.md section 1.
	maxFileBytes = 2_000_000
	// sniffBytes is how much of a file is searched for a zero byte.
	sniffBytes = 8 << 10
)

// skipped are the folders that listings and searches leave out, besides hidden
// ones. Source: tools-permissions.md section 1.
var skipped = map[string]bool{
	".git": true, "node_modules": true, "target": true, "dist": true, "build": true, ".next": true,
	"__pycache__": true, ".venv": true, "venv": true, ".idea": true, ".vscode": true, "coverage": true,
	".turbo": true, ".cache": true, ".parcel-cache": true, "vendor": true, "pkg": true, ".svelte-kit": true,
}

// binaryError says that a file is no text.
type binaryError struct{ size int64 }

func (e *binaryError) Error() string { return fmt.Sprintf("binary, %d bytes", e.size) }

// tooLargeError says that a file is above the limit.
type tooLargeError struct{ size int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("too large, %d bytes", e.size) }

// open opens a regular file for reading. What is no regular file is refused
// before and after the open, so neither a pipe nor a swap makes it wait.
func (r *Runtime) open(rel, input string) (*os.File, fs.FileInfo, error) {
	st, err := r.fence.root.Stat(rel)
	if err != nil {
		return nil, nil, explain(err, input)
	}
	if err := regular(st, input); err != nil {
		return nil, nil, err
	}
	f, err := r.fence.root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, explain(err, input)
	}
	st, err = f.Stat()
	if err == nil {
		err = regular(st, input)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, explain(err, input)
	}
	return f, st, nil
}

func regular(st fs.FileInfo, input string) error {
	switch {
	case st.IsDir():
		return said(fmt.Sprintf("'%s' is a folder, not a file; name a file", input))
	case !st.Mode().IsRegular():
		return said(fmt.Sprintf("'%s' is not a regular file; only regular files are read and written", input))
	}
	return nil
}

// text reads a text file. It fails with tooLargeError by its size alone, before
// anything is read (F74), and with binaryError (F75).
func (r *Runtime) text(rel, input string) (string, error) {
	f, st, err := r.open(rel, input)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st.Size() > maxFileBytes {
		return "", &tooLargeError{st.Size()}
	}
	// It may grow meanwhile, so the reader is bounded as well.
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return "", explain(err, input)
	}
	if len(b) > maxFileBytes {
		return "", &tooLargeError{int64(len(b))}
	}
	if isBinary(b) {
		return "", &binaryError{int64(len(b))}
	}
	return string(b), nil
}

func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), sniffBytes)], 0) >= 0 || !utf8.Valid(b)
}

func (r *Runtime) readFile(a args) (Result, error) {
	input, err := a.text("path")
	if err != nil {
		return Result{}, err
	}
	rel, err := r.resolve(input, true)
	if err != nil {
		return Result{}, err
	}
	s, err := r.text(rel, input)
	var binary *binaryError
	var large *tooLargeError
	switch {
	case errors.As(err, &binary):
		s = binary.Error()
	case errors.As(err, &large):
		return Result{}, fmt.Errorf("'%s' has %d bytes, the limit is %d; search it with grep or print a part of it with bash", input, large.size, maxFileBytes)
	case err != nil:
		return Result{}, err
	}
	return Result{Content: s, Locator: pathLocator(rel)}, nil
}

// resolve is the fence's answer, with the hook of the tests behind it.
func (r *Runtime) resolve(input string, must bool) (string, error) {
	rel, err := r.fence.resolve(input, must)
	if err == nil && r.afterCheck != nil {
		r.afterCheck(rel)
	}
	return rel, err
}

func (r *Runtime) listDirectory(a args) (Result, error) {
	input, err := a.textOr("path", ".")
	if err != nil {
		return Result{}, err
	}
	if input == "" {
		input = "."
	}
	rel, err := r.resolve(input, true)
	if err != nil {
		return Result{}, err
	}
	st, err := r.fence.root.Stat(rel)
	if err != nil {
		return Result{}, explain(err, input)
	}
	if !st.IsDir() {
		return Result{}, fmt.Errorf("'%s' is a file, not a folder; use read_file", input)
	}
	d, err := r.fence.root.Open(rel)
	if err != nil {
		return Result{}, explain(err, input)
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return Result{}, explain(err, input)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var out strings.Builder
	for _, e := range entries {
		name, dir := e.Name(), e.IsDir()
		if strings.HasPrefix(name, ".") {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			// A link that leads out of the project cannot be looked through and
			// is shown as a plain name.
			if st, err := r.fence.root.Stat(filepath.Join(rel, name)); err == nil {
				dir = st.IsDir()
			}
		}
		if dir && skipped[name] {
			continue
		}
		if dir {
			out.WriteString("[DIR] ")
		}
		out.WriteString(strings.ToValidUTF8(name, "\uFFFD"))
		out.WriteByte('\n')
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if text == "" {
		text = "(nothing to list)"
	}
	if len(text) > maxOutputBytes {
		text = cutBytes(text, maxOutputBytes) + truncatedMark
	}
	return Result{Content: text, Locator: pathLocator(rel)}, nil
}

// writes lets one write at a time touch a file, over all conversations: an edit
// reads, changes and writes, and two of them would undo one another.
var writes keyed

// keyed is a mutex per key; a key that nobody holds or waits for costs nothing.
type keyed struct {
	mu   sync.Mutex
	keys map[string]*keyLock
}

type keyLock struct {
	mu   sync.Mutex
	uses int
}

func (k *keyed) lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.keys == nil {
		k.keys = map[string]*keyLock{}
	}
	l := k.keys[key]
	if l == nil {
		l = &keyLock{}
		k.keys[key] = l
	}
	l.uses++
	k.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.uses--; l.uses == 0 {
			delete(k.keys, key)
		}
	}
}

func (r *Runtime) lockFile(rel string) (unlock func()) {
	return writes.lock(filepath.Join(r.fence.dir, rel))
}

func (r *Runtime) writeFile(a args, raw json.RawMessage, ok *approval) (Result, error) {
	input, content, err := writeArgs(a)
	if err != nil {
		return Result{}, err
	}
	if ok != nil && ok.merged != nil {
		content = *ok.merged
	}
	rel, err := r.target(input)
	if err != nil {
		return Result{}, err
	}
	defer r.lockFile(rel)()
	if ok != nil {
		if err := r.unchanged(WriteFile, raw, rel, input); err != nil {
			return Result{}, err
		}
	}
	if err := r.replace(rel, input, content); err != nil {
		return Result{}, err
	}
	return wrote(rel, fmt.Sprintf("Wrote %s to %s.", plural(len(content), "byte"), slashed(rel))), nil
}

func wrote(rel, text string) Result {
	return Result{Content: text, ModifiedPaths: []string{slashed(rel)}, Locator: pathLocator(rel)}
}

func writeArgs(a args) (path, content string, err error) {
	if path, err = a.text("path"); err != nil {
		return "", "", err
	}
	content, err = a.text("content")
	return path, content, err
}

// target resolves the path of a write.
func (r *Runtime) target(input string) (string, error) {
	rel, err := r.resolve(input, false)
	switch {
	case err != nil:
	case rel == ".":
		err = said(fmt.Sprintf("'%s' is a folder, not a file; name a file", input))
	case os.IsPathSeparator(input[len(input)-1]):
		err = &ArgumentError{"path", "names a folder; name a file"}
	}
	return rel, err
}

// replace gives a file new content, all of it or none: it writes a file beside
// it, has it put on the disk, and renames it. Folders on the way are created.
//
// The mode and, where we may, the owner are kept. Deliberate: a name that shares
// its file with others (a hard link) gets a file of its own. The other names may
// be outside the project, and writing in place could leave half a file.
// Gap: access control lists and extended attributes are not carried over, and a
// service that is killed during a write leaves its ".packetbench-*.tmp" behind.
func (r *Runtime) replace(rel, input, content string) (err error) {
	defer func() { err = explain(err, input) }()
	dir, base := filepath.Split(rel)
	if dir = filepath.Clean(dir); dir != "." {
		if err := r.fence.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	// From here on everything is relative to this one folder, wherever its name
	// leads by now.
	parent, err := r.fence.root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	old, err := parent.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	default:
		if err := regular(old, input); err != nil {
			return err
		}
		// A rename would replace a file that may not be written.
		f, err := parent.OpenFile(base, os.O_WRONLY|nonblock, 0)
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails, see crypto/rand
	temp := "." + tempPrefix + hex.EncodeToString(id[:]) + ".tmp"
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = 0o600 // until it has its content
	}
	f, err := parent.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = r.fill(f, old, content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = parent.Rename(temp, base)
	}
	if err != nil {
		_ = parent.Remove(temp)
		return err
	}
	// The rename itself is on the disk once the folder is; a file system that
	// cannot do this has done the rest.
	if d, err := parent.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

func (r *Runtime) fill(f *os.File, old fs.FileInfo, content string) error {
	var w io.Writer = f
	if r.writer != nil {
		w = r.writer(f)
	}
	if _, err := io.WriteString(w, content); err != nil {
		return err
	}
	if old != nil {
		keepOwner(f, old) // before the mode: it clears the special bits
		if err := f.Chmod(old.Mode()); err != nil {
			return err
		}
	}
	return f.Sync()
}

// before is what a file held when an edit of it was shown.
type before string

// maxProposed bounds the remembered proposals; those that were rejected are
// never asked for again.
const maxProposed = 64

func proposalKey(name string, raw json.RawMessage) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(name+"\x00"), raw...))
}

// state describes a file so that a change shows.
func (r *Runtime) state(rel, input string) before {
	s, err := r.text(rel, input)
	if err == nil {
		return before(fmt.Sprintf("text %x", sha256.Sum256([]byte(s))))
	}
	st, serr := r.fence.root.Stat(rel)
	if serr != nil {
		return "absent"
	}
	return before(fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano()))
}

// unchanged fails when a file is not what it was when the edit was shown. An
// edit that was never shown here passes.
func (r *Runtime) unchanged(name string, raw json.RawMessage, rel, input string) error {
	key := proposalKey(name, raw)
	r.mu.Lock()
	was, shown := r.proposed[key]
	delete(r.proposed, key)
	r.mu.Unlock()
	if shown && r.state(rel, input) != was {
		return fmt.Errorf("'%s' changed after this edit was shown for review, so nothing was written; read the file and propose the edit again", input)
	}
	return nil
}

// Propose says what write_file or edit_file would do, and does nothing. It fails
// where the tool would fail, with the same sentence. Source:
// tools-permissions.md section 8, steps 1 to 3.
func (r *Runtime) Propose(name string, raw json.RawMessage) (Proposal, error) {
	a, err := decodeArgs(raw)
	if err != nil {
		return Proposal{}, err
	}
	var p Proposal
	var rel, input string
	switch name {
	case WriteFile:
		var content string
		if input, content, err = writeArgs(a); err != nil {
			return Proposal{}, err
		}
		if rel, err = r.target(input); err != nil {
			return Proposal{}, err
		}
		p.Content = content
		s, err := r.text(rel, input)
		var binary *binaryError
		var large *tooLargeError
		switch {
		case err == nil:
			p.Before = &s
		case errors.As(err, &binary), errors.As(err, &large):
			p.Existing = err.Error()
		default:
			if st, serr := r.fence.root.Stat(rel); serr == nil {
				if err := regular(st, input); err != nil {
					return Proposal{}, err
				}
				return Proposal{}, err
			}
		}
	case EditFile:
		e, err := editArgs(a)
		if err != nil {
			return Proposal{}, err
		}
		input = e.path
		if rel, err = r.resolve(input, true); err != nil {
			return Proposal{}, err
		}
		s, err := r.editable(rel, input)
		if err != nil {
			return Proposal{}, err
		}
		done, err := e.apply(s)
		if err != nil {
			return Proposal{}, err
		}
		p.Before, p.Content = &s, done.text
	default:
		return Proposal{}, fmt.Errorf("%s is not an edit; it has nothing to propose", name)
	}
	p.Path = slashed(rel)
	was := r.state(rel, input)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.proposed) >= maxProposed {
		clear(r.proposed)
	}
	r.proposed[proposalKey(name, raw)] = was
	return p, nil
}
