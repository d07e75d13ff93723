package hook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// bench is one session with its files and everything it logs.
type bench struct {
	*Session
	t             *testing.T
	dir, user     string
	mu            sync.Mutex
	lines         []string
	trustedByTest bool
}

// newBench makes a session whose user settings and project settings hold these
// entries, JSON lists; empty for no file.
func newBench(t *testing.T, user, project string, change func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "project"), user: filepath.Join(t.TempDir(), "settings.json"), trustedByTest: true}
	if user != "" {
		put(t, b.user, `{"theme":"dark","hooks":`+user+`}`)
	}
	put(t, filepath.Join(b.dir, "readme"), "")
	if project != "" {
		b.project(project)
	}
	o := Options{User: b.user, BootID: "test-boot", Home: t.TempDir(), Limit: patience}
	if change != nil {
		change(&o)
	}
	b.Session = NewSession(o, "c-1", b.dir)
	return b
}

func (b *bench) project(hooks string) {
	b.t.Helper()
	put(b.t, filepath.Join(b.dir, ".claude", "settings.json"), `{"hooks":`+hooks+`}`)
}

func (b *bench) turn() *Turn {
	return b.Turn(b.trustedByTest, func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines = append(b.lines, line)
	})
}

// logged fails unless exactly these lines were logged, each given by a part.
func (b *bench) logged(parts ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := len(b.lines) == len(parts)
	for i := range min(len(b.lines), len(parts)) {
		ok = ok && strings.Contains(b.lines[i], parts[i])
	}
	if !ok {
		b.t.Errorf("logged %q; want parts %q", b.lines, parts)
	}
}

// ran returns the lines of a file in the project folder.
func (b *bench) ran(name string) []string {
	b.t.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func (b *bench) expect(name string, want ...string) {
	b.t.Helper()
	if got := b.ran(name); !slices.Equal(got, want) {
		b.t.Errorf("%s holds %q; want %q", name, got, want)
	}
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
