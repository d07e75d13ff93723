//go:build !windows

package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// replace makes content the file at path, mode 0600, whole or not at all, and
// returns when it would survive a loss of power.
func replace(path string, content []byte) error {
	return replaceBy(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// replaceBy is replace for content that is better not held in memory at once.
func replaceBy(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	// The folder itself holds the temporary file: a rename must not cross file
	// systems, and the start knows where to look for leftovers.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	// Gap: after a failed removal the leftover goes at the next start.
	defer func() { _ = f.Cleanup() }()
	if err := write(f); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes renames and removals in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot sync a folder and need not.
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

// isFull also counts a quota and a file size limit: what to do is the same.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
