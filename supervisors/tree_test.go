//go:build !race

package supervisors_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/supervisors"
)

var update = flag.Bool("update", false, "write testdata/tree.txt again")

// The running tree of skeletons is the tree of actors.md 3. Without the race
// detector: the framework's own list races with busy processes, see style.md
// (d).
func TestShape(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.agent(nil)
	p := skeletonOptions{}.process()
	b.app(supervisors.OpsApp(supervisors.OpsOptions{Common: b.common(), Inspect: p}, nil))
	b.app(supervisors.EdgeApp(supervisors.EdgeOptions{
		Common: b.common(), Bridge: p, MCPServer: p, Viewer: dynamic(skeletonOptions{}),
	}, nil))
	for _, name := range []gen.Atom{"conversation:a", "conversation:b", "sidecar", "acp:packetcode", "acp:other", "terminal:t", "mcp:files", "viewer:1", "viewer:2"} {
		sup, ok := msg.SupervisorOf(name)
		if !ok {
			t.Fatalf("nobody supervises %s", name)
		}
		if e := b.ensure(sup, msg.Ensure{Name: name}); e.Err != nil {
			t.Fatal(e.Err)
		}
	}
	got, err := supervisors.Shape(b)
	if err != nil {
		t.Fatal(err)
	}
	got = strings.Replace(got, string(b.Name()), "packetbench@localhost", 1)
	file := filepath.Join("testdata", "tree.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("the tree is\n%s\nwant\n%s", got, want)
	}
}
