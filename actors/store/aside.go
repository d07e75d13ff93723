package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// maxNotices bounds what waits for TakeNotices; a thousand damaged files are
// one fault, not a thousand.
const maxNotices = 200

// board collects sentences for the log and the doctor. The lanes share it.
type board struct {
	mu   sync.Mutex
	list []string
	more int
}

func (b *board) add(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) >= maxNotices {
		b.more++
		return
	}
	b.list = append(b.list, fmt.Sprintf(format, args...))
}

func (b *board) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.list
	if b.more > 0 {
		out = append(out, fmt.Sprintf("%d more files needed attention. Start PacketBench again to see them.", b.more))
	}
	b.list, b.more = nil, 0
	return out
}

// setAside renames a damaged file to <name>.corrupt-<unix seconds>, with a
// counter when that name is taken, and returns the new base name.
func setAside(path string, now time.Time) (string, error) {
	base := fmt.Sprintf("%s.corrupt-%d", path, now.Unix())
	to := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if n > 99 {
			return "", fmt.Errorf("store: 99 files are named %s", filepath.Base(base))
		}
		to = fmt.Sprintf("%s-%d", base, n)
	}
	if err := os.Rename(path, to); err != nil {
		return "", err
	}
	return filepath.Base(to), syncDir(filepath.Dir(path))
}

// removeTemps removes what a kill left of replace: .<base><digits>.
func removeTemps(dir string, ours func(base string) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // A folder that cannot be read is reported by its next use.
	}
	for _, e := range entries {
		name := e.Name()
		base := strings.TrimRight(name, "0123456789")
		if !e.Type().IsRegular() || len(base) == len(name) || !strings.HasPrefix(base, ".") || !ours(base[1:]) {
			continue
		}
		// A leftover that stays costs space and nothing else.
		_ = os.Remove(filepath.Join(dir, name))
	}
}
