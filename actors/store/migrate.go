package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/packetbench/packetbench/config"
)

// carriedOver are the entries of a data directory that are taken from the prior
// one. The rest belongs to a running service or can be made again. Source:
// mcp-state.md 6.
var carriedOver = []string{
	"state.v1.json", "state.v1.json.bak", "provider-settings.v1.json", "provider-settings.v1.json.bak",
	"conversations", "usage.jsonl", "usage-pending", "trusted-projects.json", "audit.json",
	"prices.json", "commands", "ssh",
}

// Migrate copies the data directory of the prior name, once: only while p.Home
// does not exist, so it must run before [Acquire]. Prior is a folder that may
// be absent; nothing in it is changed. Of several at once one copy is taken.
// Migrated says that p.Home is such a copy now.
func Migrate(p config.Paths, prior string) (migrated bool, err error) {
	const doing = "copy the data of the earlier version"
	if _, err := os.Lstat(p.Home); !errors.Is(err, fs.ErrNotExist) {
		return false, trouble(doing, err)
	}
	if fi, err := os.Stat(prior); err != nil || !fi.IsDir() {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(p.Home), 0o700); err != nil {
		return false, trouble(doing, err)
	}
	// Beside the target, so that the rename stays on one file system and a kill
	// leaves no half of a data directory under its name.
	copied, err := os.MkdirTemp(filepath.Dir(p.Home), filepath.Base(p.Home)+".copying-")
	if err != nil {
		return false, trouble(doing, err)
	}
	defer os.RemoveAll(copied)
	for _, name := range carriedOver {
		if err := copyTree(filepath.Join(prior, name), filepath.Join(copied, name)); err != nil {
			return false, trouble(doing, err)
		}
	}
	if err := os.Rename(copied, p.Home); err != nil {
		if _, there := os.Lstat(p.Home); there == nil {
			return false, nil // Another service was first.
		}
		return false, trouble(doing, err)
	}
	return true, trouble(doing, syncDir(filepath.Dir(p.Home)))
}

// copyTree copies files and folders, private to the user. Links and sockets are
// left out: where they lead is not ours to copy.
func copyTree(from, to string) error {
	fi, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case fi.IsDir():
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == indexName || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if err := copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
		return syncDir(to)
	case fi.Mode().IsRegular():
		return copyFile(from, to)
	default:
		return nil
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("store: copy %s: %w", filepath.Base(from), err)
	}
	return nil
}
