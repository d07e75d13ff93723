package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// childEnv makes the test binary play another program; see children.
const childEnv = "STORE_TEST_CHILD"

// children are the programs that tests run beside themselves.
var children = map[string]func(home string) error{"lock": childLock}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](os.Getenv("STORE_TEST_HOME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// at is a fixed moment.
var at = time.Date(2026, 8, 31, 12, 0, 0, 0, time.UTC)

func home(t testing.TB) config.Paths {
	t.Helper()
	p := config.Paths{Home: t.TempDir()}
	if err := os.MkdirAll(p.Conversations(), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func newShelf(p config.Paths) shelf {
	return shelf{paths: p, notes: &board{}, now: func() time.Time { return at }}
}

func record(id string, messages int) *contract.Record {
	r := &contract.Record{
		ID: contract.ConversationID(id), Title: "Title of " + id, Agent: "api-demo", Mode: "api", Provider: "demo", Model: "demo-1",
		ProjectPath: "/home/someone/project", CreatedAt: 1000, UpdatedAt: 2000, Status: contract.StatusIdle,
		PermissionMode: contract.ModeAskForRisky,
	}
	for i := range messages {
		r.Messages = append(r.Messages, contract.RecordMessage{ID: fmt.Sprintf("m-%d", i), Role: contract.RoleUser, Content: fmt.Sprintf("text %d", i)})
	}
	return r
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := contract.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// glob returns the base names of a pattern.
func glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

// aSentence fails unless err is one for a person.
func aSentence(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	s := err.Error()
	if !strings.HasSuffix(s, ".") || strings.ToUpper(s[:1]) != s[:1] || strings.Contains(s, "store:") {
		t.Fatalf("%q is no sentence for a person", s)
	}
}

func jsonEqual(t testing.TB, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	gb, wb := encode(t, g), encode(t, w)
	if string(gb) != string(wb) {
		t.Fatalf("got  %s\nwant %s", gb, wb)
	}
}
