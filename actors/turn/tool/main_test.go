package tool

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVar turns the test binary into a program that a test needs.
const roleVar = "TOOL_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "writer" {
		actAsWriter()
		return
	}
	goleak.VerifyTestMain(m)
}

// actAsWriter writes one file over and over, until it is killed or its output is
// no longer read.
func actAsWriter() {
	r, err := New(Options{Root: os.Getenv("TEST_ROOT")})
	if err != nil {
		return
	}
	for i := 0; ; i++ {
		text := strings.Repeat("b", 700_000)
		if i%2 == 0 {
			text = strings.Repeat("a", 1<<20)
		}
		b, err := json.Marshal(obj{"path": "f", "content": text})
		if err != nil {
			return
		}
		if res := r.Run(context.Background(), WriteFile, b); res.IsError {
			return
		}
		if _, err := os.Stdout.WriteString("."); err != nil {
			return
		}
	}
}

// newRuntime makes a runtime in a folder of its own.
func newRuntime(t *testing.T, o Options) *Runtime {
	t.Helper()
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	if o.BootID == "" {
		o.BootID, o.Home = "test-boot", o.Root
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// call runs a tool with arguments given as a Go value.
func call(t *testing.T, r *Runtime, name string, arguments any) Result {
	t.Helper()
	return r.Run(context.Background(), name, encode(t, arguments))
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// obj keeps the tables short.
type obj map[string]any

func put(t *testing.T, r *Runtime, name, content string) string {
	t.Helper()
	path := filepath.Join(r.fence.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, r *Runtime, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.fence.dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eventually waits for a condition with a deadline.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
