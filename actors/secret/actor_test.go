package secret

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/zalando/go-keyring"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// node is a node with a secret actor on it.
type node struct {
	gen.Node
	call func(request any) (any, error)
}

func spawn(t *testing.T, o Options) node {
	t.Helper()
	n := nodetest.Start(t, 10*time.Second)
	if _, err := n.SpawnRegister(msg.Secret, New(o), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	return node{Node: n, call: func(request any) (any, error) { return nodetest.Call(n, msg.Secret, request, 5) }}
}

func ask[T any](t *testing.T, n node, request any) T {
	t.Helper()
	v, err := n.call(request)
	if err != nil {
		t.Fatalf("%T: %v", request, err)
	}
	out, ok := v.(T)
	if !ok {
		t.Fatalf("%T is answered by %T", request, v)
	}
	return out
}

// TestSecret_Requests goes through the library's own mock, which is one for the
// whole process.
func TestSecret_Requests(t *testing.T) {
	keyring.MockInit()
	n := spawn(t, Options{Paths: config.Paths{Home: t.TempDir()}, Getenv: func(string) string { return "" }})
	if got := ask[msg.FoundKey](t, n, msg.GetKey{Account: account}); !errors.As(got.Err, new(msg.NoKeyError)) {
		t.Fatalf("%v", got)
	}
	if got := ask[msg.StoredKey](t, n, msg.SetKey{Account: account, Key: key}); got.Err != nil || got.Source != SourceKeyring {
		t.Fatalf("%v", got)
	}
	if got := ask[msg.FoundKey](t, n, msg.GetKey{Account: account}); got.Err != nil || string(got.Key) != key || got.Source != SourceKeyring {
		t.Fatalf("%v", got)
	}
	if got := ask[[]contract.KeyInfo](t, n, msg.KeyStatus{}); len(got) != len(Accounts()) || !got[0].Present || got[1].Present {
		t.Fatalf("%v", got)
	}
	if got := ask[msg.StoredKey](t, n, msg.SetKey{Account: account}); got.Err == nil {
		t.Fatal("an empty key was stored")
	}
	if got := ask[msg.Done](t, n, msg.DeleteKey{Account: account}); got.Err != nil {
		t.Fatal(got.Err)
	}
	if got := ask[[]contract.KeyInfo](t, n, msg.KeyStatus{Accounts: []contract.KeyringAccount{account}}); len(got) != 1 || got[0].Present {
		t.Fatalf("%v", got)
	}
	if got := ask[msg.Done](t, n, struct{ other int }{}); got.Err == nil {
		t.Fatal("an unknown request was accepted")
	}
}

// TestSecret_HangingKeyring: the mailbox goes on while a keyring waits for a
// person.
func TestSecret_HangingKeyring(t *testing.T) {
	r := &ring{hang: make(chan struct{})}
	defer close(r.hang)
	n := spawn(t, Options{Paths: config.Paths{Home: t.TempDir()}, Ring: r, Limit: 300 * time.Millisecond, Getenv: func(string) string { return "" }})
	if got := ask[msg.FoundKey](t, n, msg.GetKey{Account: account}); got.Err == nil || !strings.Contains(got.Err.Error(), "did not answer") {
		t.Fatalf("%v", got)
	}
	if got := ask[msg.StoredKey](t, n, msg.SetKey{Account: account, Key: key}); got.Err != nil || got.Source != SourceFile {
		t.Fatalf("%v", got)
	}
}

// panicking fails in our own code's place.
type panicking struct{ *ring }

func (panicking) Get(string, string) (string, error) { panic("sk-ant-secret") }

// TestSecret_Fault: a fault is an answer, names no key and ends nothing.
func TestSecret_Fault(t *testing.T) {
	n := spawn(t, Options{Paths: config.Paths{Home: t.TempDir()}, Ring: panicking{&ring{}}, Getenv: func(string) string { return "" }})
	pid, err := n.ProcessPID(msg.Secret)
	must(t, err)
	for range 2 {
		if got := ask[msg.FoundKey](t, n, msg.GetKey{Account: account}); got.Err == nil || strings.Contains(got.Err.Error(), "sk-ant") {
			t.Fatalf("%v", got)
		}
	}
	if now, err := n.ProcessPID(msg.Secret); err != nil || now != pid {
		t.Fatal("the actor did not survive")
	}
}
