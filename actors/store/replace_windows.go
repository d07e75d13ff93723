//go:build windows

package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// replace makes content the file at path, whole or not at all. The library of
// the other systems does not cover this one, where a rename replaces a file
// just as well.
func replace(path string, content []byte) error {
	return replaceBy(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// replaceBy is replace for content that is better not held in memory at once.
func replaceBy(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// syncDir has nothing to do: the file system journals its folders.
func syncDir(string) error { return nil }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
