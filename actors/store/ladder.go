package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// fields is a JSON object whose values are kept as they came, so that keys of
// another version survive.
type fields map[string]json.RawMessage

// loadLadder reads an object: the file, else its .bak, else its .tmp, else
// nothing. A damaged file is renamed before anything else is tried, so that the
// next save cannot copy it over the good .bak. Nothing is written. Source:
// mcp-state.md 6.
func loadLadder(path string, notes *board, now time.Time) fields {
	name := filepath.Base(path)
	content, err := os.ReadFile(path)
	if err == nil {
		if f, ok := object(content); ok {
			return f
		}
		aside, err := setAside(path, now)
		if err != nil {
			notes.add("%s is damaged and could not be renamed (%v). Move it out of the data directory.", name, plain(err))
		} else {
			notes.add("%s was damaged and was kept as %s.", name, aside)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		notes.add("%s could not be read (%v). Look at its permissions.", name, plain(err))
	}
	for _, suffix := range []string{".bak", ".tmp"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil {
			continue
		}
		if f, ok := object(content); ok {
			notes.add("%s was missing or damaged; %s was read in its place. Look at your settings.", name, name+suffix)
			return f
		}
	}
	return nil
}

func object(content []byte) (fields, bool) {
	var f fields
	err := json.Unmarshal(content, &f)
	return f, err == nil && f != nil
}

// saveLadder replaces the file and keeps the one before it as .bak.
func saveLadder(path string, f fields) error {
	content, err := contract.Marshal(f)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, content, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	tmp := path + ".tmp"
	if err := writeSynced(tmp, b.Bytes()); err != nil {
		return err
	}
	previous, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if _, good := object(previous); good && err == nil {
		err = replace(path+".bak", previous)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		// The old file is untouched; what is half done must not be taken for
		// the newest version if that file is ever lost.
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}

// writeSynced writes a file in place, for names that mark it as unfinished.
func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
