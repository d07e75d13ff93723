package supervisors_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/supervisors"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// actors.md 10: no listening socket belongs to Ergo. The default would listen
// on 11144 and 4499.
func TestNode_NoSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	before := sockets(t)
	b := newBed(t)
	b.agent(nil)
	if after := sockets(t); after > before {
		t.Fatalf("%d sockets before the node, %d with it", before, after)
	}
	if mode := b.Network().Mode(); mode != gen.NetworkModeDisabled {
		t.Fatalf("network mode %v", mode)
	}
}

// sockets counts the sockets of this process, of whatever family.
func sockets(t *testing.T) int {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range dir {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// lines collects log lines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// actors.md 10: no telemetry timer. At trace level the framework says for each
// node whether it scheduled one.
func TestNode_NoTelemetry(t *testing.T) {
	t.Parallel()
	nodetest.Clear(t, 5*time.Second)
	out := &lines{}
	l := supervisors.LogAdaptor(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	o := supervisors.Options(true, l)
	o.Log.Level = gen.LogLevelTrace
	n, err := ergo.StartNode("packetbench-telemetry@localhost", o)
	if err != nil {
		t.Fatal(err)
	}
	n.StopForce()
	if s := out.String(); !strings.Contains(s, "metrics disabled") || strings.Contains(s, "scheduled sending metrics") {
		t.Fatalf("the framework says:\n%s", s)
	}
}

// The env would be inherited by every process and shown by the framework's own
// inspector.
func TestNode_NoEnv(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if env := b.EnvList(); len(env) != 1 {
		t.Fatalf("env of the node: %v", env)
	}
	if b.Security().ExposeEnvInfo {
		t.Fatal("the env is exposed")
	}
}

func TestNode_Name(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if s := string(b.Name()); !strings.HasPrefix(s, "packetbench-test-") || !strings.HasSuffix(s, "@localhost") {
		t.Fatalf("name %q", s)
	}
}
