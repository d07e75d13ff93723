package store

import (
	"errors"
	"fmt"
	"io/fs"
)

// IOError is a file operation that failed. Its text is one plain sentence or
// two; the cause is for the log.
type IOError struct {
	// Doing is what was not done, as the end of "could not".
	Doing string
	Cause error
}

// Error says what happened and what to do.
func (e *IOError) Error() string {
	switch {
	case isFull(e.Cause):
		return fmt.Sprintf("PacketBench could not %s: there is no space left on the disk. The last version is kept. Free some space; then it is saved with the next change.", e.Doing)
	case errors.Is(e.Cause, fs.ErrPermission):
		return fmt.Sprintf("PacketBench could not %s: it may not write to the data directory. Give your user the right to write there, then try again.", e.Doing)
	default:
		return fmt.Sprintf("PacketBench could not %s: %v. Check the disk of the data directory, then try again.", e.Doing, plain(e.Cause))
	}
}

// Unwrap returns the cause.
func (e *IOError) Unwrap() error { return e.Cause }

// Full reports whether the disk, a quota or a size limit was reached.
func (e *IOError) Full() bool { return isFull(e.Cause) }

// plain drops the path of an error: its folder says who uses the machine.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// sentence is an error for a person.
type sentence string

// Error returns the sentence.
func (s sentence) Error() string { return string(s) }

func tell(format string, args ...any) error { return sentence(fmt.Sprintf(format, args...)) }

// trouble makes the failure of a file operation one for a person; nil stays
// nil.
func trouble(doing string, err error) error {
	if err == nil {
		return nil
	}
	var already *IOError
	if errors.As(err, &already) {
		return already
	}
	return &IOError{Doing: doing, Cause: err}
}
