package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of the context shown after an edit. Source: tools-permissions.md 1.
const (
	contextAround    = 2   // lines before and after the first hit
	maxContextLines  = 12  // in all
	maxContextChars  = 800 // in all, about
	maxContextColumn = 200 // characters of one line
)

// bom is the byte order mark that some editors put at the beginning of a file.
const bom = "\uFEFF"

// edit is one call of edit_file.
type edit struct {
	path, old, new string
	all            bool
}

func editArgs(a args) (edit, error) {
	var e edit
	var err error
	if e.path, err = a.text("path"); err != nil {
		return e, err
	}
	if e.old, err = a.text("old_string"); err != nil {
		return e, err
	}
	if e.new, err = a.text("new_string"); err != nil {
		return e, err
	}
	if e.all, err = a.yes("replace_all"); err != nil {
		return e, err
	}
	switch {
	case e.old == "":
		return e, &ArgumentError{"old_string", "must not be empty; use write_file to create a file"}
	case unixEnds(e.old) == unixEnds(e.new):
		return e, &ArgumentError{"new_string", "is the same as old_string; there is nothing to change"}
	}
	return e, nil
}

func unixEnds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// edited is what an edit made of a text.
type edited struct {
	text  string
	count int
	at    int // offset of the first replacement in text
	size  int // its length
}

// apply replaces old by new in a file's text. Line ends are compared as if all
// were "\n"; those of untouched text stay as they are, the new text gets the
// file's own kind, and a byte order mark stays in front (F73).
func (e edit) apply(file string) (edited, error) {
	mark, body := "", file
	if strings.HasPrefix(file, bom) {
		mark, body = bom, file[len(bom):]
	}
	old := unixEnds(strings.TrimPrefix(e.old, mark))
	if old == "" {
		return edited{}, &ArgumentError{"old_string", "must hold more than a byte order mark"}
	}
	replacement := unixEnds(strings.TrimPrefix(e.new, mark))
	// The majority decides, so one stray line end does not turn a file over.
	crlf := strings.Count(body, "\r\n")
	if crlf > strings.Count(body, "\n")-crlf {
		replacement = strings.ReplaceAll(replacement, "\n", "\r\n")
	}
	flat := unixEnds(body)
	n := strings.Count(flat, old)
	switch {
	case n == 0:
		return edited{}, fmt.Errorf("old_string was not found in '%s'; read the file again and copy the text exactly, with its spaces", e.path)
	case n > 1 && !e.all:
		return edited{}, fmt.Errorf("old_string occurs %d times in '%s'; add lines around it to make it unique, or set replace_all", n, e.path)
	}
	out := edited{count: n}
	var b strings.Builder
	b.WriteString(mark)
	w := walker{body: body}
	for hit, at := 0, 0; hit < n; hit++ {
		i := strings.Index(flat[at:], old)
		b.WriteString(w.until(at + i))
		if hit == 0 {
			out.at, out.size = b.Len(), len(replacement)
		}
		b.WriteString(replacement)
		w.until(at + i + len(old))
		at += i + len(old)
	}
	b.WriteString(w.rest())
	out.text = b.String()
	return out, nil
}

// walker walks a text by offsets that count "\r\n" as one byte.
type walker struct {
	body string
	real int // offset in body
	flat int // the same place, line ends counted as one byte
}

// until returns the text up to a flat offset, which is never inside "\r\n".
func (w *walker) until(flat int) string {
	from := w.real
	for w.flat < flat {
		if strings.HasPrefix(w.body[w.real:], "\r\n") {
			w.real++
		}
		w.real++
		w.flat++
	}
	return w.body[from:w.real]
}

func (w *walker) rest() string { return w.body[w.real:] }

// context returns numbered lines around the first replacement.
func (d edited) context() string {
	first := strings.Count(d.text[:d.at], "\n")
	last := first + strings.Count(d.text[d.at:d.at+d.size], "\n")
	lines := strings.Split(d.text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from := max(0, first-contextAround)
	to := min(len(lines), last+1+contextAround, from+maxContextLines)
	var b strings.Builder
	used := 0
	for i := from; i < to; i++ {
		line := strings.TrimSuffix(lines[i], "\r")
		if i == 0 {
			line = strings.TrimPrefix(line, bom)
		}
		line, cut := cutChars(line, maxContextColumn)
		if cut {
			line += "..."
		}
		line = fmt.Sprintf("%d: %s\n", i+1, line)
		if used += len([]rune(line)); used > maxContextChars && i > from {
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// editable reads a file that is to be edited, and says in words why it cannot.
func (r *Runtime) editable(rel, input string) (string, error) {
	s, err := r.text(rel, input)
	var binary *binaryError
	var large *tooLargeError
	switch {
	case errors.As(err, &binary):
		return "", fmt.Errorf("'%s' is no text (%w), so it cannot be edited; replace it with write_file or use bash", input, err)
	case errors.As(err, &large):
		return "", fmt.Errorf("'%s' has %d bytes, the limit for edits is %d; change it with bash", input, large.size, maxFileBytes)
	}
	return s, err
}

func (r *Runtime) editFile(a args, raw json.RawMessage, ok *approval) (Result, error) {
	e, err := editArgs(a)
	if err != nil {
		return Result{}, err
	}
	rel, err := r.resolve(e.path, true)
	if err != nil {
		return Result{}, err
	}
	defer r.lockFile(rel)()
	if ok != nil && ok.merged != nil {
		if err := r.unchanged(EditFile, raw, rel, e.path); err != nil {
			return Result{}, err
		}
		if err := r.replace(rel, e.path, *ok.merged); err != nil {
			return Result{}, err
		}
		return wrote(rel, fmt.Sprintf("Wrote the reviewed version of %s (%s).", slashed(rel), plural(len(*ok.merged), "byte"))), nil
	}
	s, err := r.editable(rel, e.path)
	if err != nil {
		return Result{}, err
	}
	d, err := e.apply(s)
	if err != nil {
		return Result{}, err
	}
	if err := r.replace(rel, e.path, d.text); err != nil {
		return Result{}, err
	}
	return wrote(rel, strings.TrimSuffix(fmt.Sprintf("Replaced %s in %s.\n%s", plural(d.count, "occurrence"), slashed(rel), d.context()), "\n")), nil
}
