package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"filippo.io/age"

	"github.com/packetbench/packetbench/contract"
)

// maxFileBytes bounds keys.age; ours have a few KB.
const maxFileBytes = 1 << 20

// keyFile is keys.age, a JSON object encrypted to the identity beside it. It
// keeps keys from being read by chance, in a backup or on a screen; who can read
// both files can read the keys, as with any keyring that is unlocked by itself.
type keyFile struct {
	path, identity string
	// wrote may be nil.
	wrote func()
}

// stored is one key of the file.
type stored struct {
	Value string `json:"value"`
	// Supersedes says that the keyring could not be reached when this was
	// stored, so that what the keyring has is older.
	Supersedes bool `json:"supersedes_keyring,omitempty"`
}

func fileError(doing string, err error) error {
	var already *FileError
	if errors.As(err, &already) {
		return already
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &FileError{Reason: fmt.Sprintf("PacketBench could not %s (%v). Look at keys.age and keys.identity in the data directory.", doing, err)}
}

func (f keyFile) get(account contract.KeyringAccount) (stored, bool, error) {
	all, err := f.read()
	if err != nil {
		return stored{}, false, err
	}
	s, ok := all[account]
	return s, ok && s.Value != "", nil
}

func (f keyFile) set(account contract.KeyringAccount, s stored) error {
	all, err := f.read()
	if err != nil {
		// Writing would lose the keys that cannot be read now.
		return err
	}
	all[account] = s
	return f.write(all)
}

func (f keyFile) remove(account contract.KeyringAccount) error {
	all, err := f.read()
	if err != nil {
		return err
	}
	if _, ok := all[account]; !ok {
		return nil
	}
	delete(all, account)
	return f.write(all)
}

// read returns the keys, none when there is no file yet.
func (f keyFile) read() (map[contract.KeyringAccount]stored, error) {
	content, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[contract.KeyringAccount]stored{}, nil
	}
	if err != nil {
		return nil, fileError("read it", err)
	}
	id, err := f.load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &FileError{Reason: "keys.identity is gone, and nothing else can open keys.age. Put it back, or move keys.age away and enter the keys again."}
	}
	if err != nil {
		return nil, err
	}
	all, err := decrypt(content, id)
	if err != nil {
		return nil, &FileError{Reason: "it cannot be opened with keys.identity, so one of the two is damaged or from another machine. Put the right one back, or move both away and enter the keys again."}
	}
	return all, nil
}

// decrypt opens the content of a key file.
func decrypt(content []byte, id age.Identity) (map[contract.KeyringAccount]stored, error) {
	plain, err := age.Decrypt(bytes.NewReader(content), id)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(plain, maxFileBytes))
	if err != nil {
		return nil, err
	}
	return decode(text)
}

func decode(text []byte) (map[contract.KeyringAccount]stored, error) {
	var all map[contract.KeyringAccount]stored
	if err := json.Unmarshal(text, &all); err != nil {
		// Its text could quote what it cannot read.
		return nil, errors.New("secret: the key file holds no keys")
	}
	if all == nil {
		all = map[contract.KeyringAccount]stored{}
	}
	return all, nil
}

func (f keyFile) write(all map[contract.KeyringAccount]stored) error {
	const doing = "write it"
	id, err := f.load()
	if errors.Is(err, fs.ErrNotExist) {
		id, err = f.create()
	}
	if err != nil {
		return fileError(doing, err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fileError(doing, err)
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, id.Recipient())
	if err != nil {
		return fileError(doing, err)
	}
	if _, err := w.Write(text); err != nil {
		return fileError(doing, err)
	}
	if err := w.Close(); err != nil {
		return fileError(doing, err)
	}
	err = writeAtomic(f.path, sealed.Bytes())
	if f.wrote != nil {
		f.wrote() // After a failure, too: the file may have been replaced.
	}
	if err != nil {
		return fileError(doing, err)
	}
	return nil
}

// load reads the identity. The error is fs.ErrNotExist or a *FileError.
func (f keyFile) load() (*age.X25519Identity, error) {
	fi, err := os.Stat(f.identity)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fileError("read keys.identity", err)
	}
	// Windows has no such bits; there the user's folder is the guard.
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		return nil, &FileError{Reason: "keys.identity can be read by other users of this machine. Run chmod 600 on it, and consider the keys known."}
	}
	content, err := os.ReadFile(f.identity)
	if err != nil {
		return nil, fileError("read keys.identity", err)
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, err := age.ParseX25519Identity(line)
		if err != nil {
			break // Its text quotes the line, which is a secret.
		}
		return id, nil
	}
	return nil, &FileError{Reason: "keys.identity holds no identity. Put the right one back, or move it and keys.age away and enter the keys again."}
}

// create makes a new identity, durable before anything is encrypted to it.
func (f keyFile) create() (*age.X25519Identity, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	text := "# Opens keys.age. Keep it private; without it the keys have to be entered again.\n" + id.String() + "\n"
	return id, writeAtomic(f.identity, []byte(text))
}

// writeAtomic replaces a file, 0600, so that a kill leaves the old or the new.
func writeAtomic(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600 from the start.
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
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if runtime.GOOS == "windows" {
		return nil // Folders cannot be synced there and need not.
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
