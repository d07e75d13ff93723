//go:build keyring

package secret

import (
	"errors"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
)

// TestRing_Real runs against a real Secret Service on a private bus; see
// .ci/keyring. It never skips: a ring that passes by not running proves nothing.
func TestRing_Real(t *testing.T) {
	k := Open(Options{Paths: config.Paths{Home: t.TempDir()}, Getenv: func(string) string { return "" }})
	must(t, k.Keyring())
	if _, _, err := k.Get(account); !errors.As(err, new(msg.NoKeyError)) {
		t.Fatalf("Get before = %v", err)
	}
	if source, err := k.Set(account, key); err != nil || source != SourceKeyring {
		t.Fatalf("Set = %q, %v", source, err)
	}
	if got, source, err := k.Get(account); err != nil || string(got) != key || source != SourceKeyring {
		t.Fatalf("Get = %q, %v", source, err)
	}
	must(t, k.Delete(account))
	if _, err := keyring.Get(config.KeyringService, string(account)); !errors.Is(err, keyring.ErrNotFound) {
		t.Fatalf("after Delete: %v", err)
	}

	// What the product's prior name stored is taken over.
	must(t, keyring.Set(config.PriorKeyring, string(account), "prior-"+key))
	if got, _, err := k.Get(account); err != nil || string(got) != "prior-"+key {
		t.Fatalf("Get of the prior one = %v", err)
	}
	if _, err := keyring.Get(config.PriorKeyring, string(account)); !errors.Is(err, keyring.ErrNotFound) {
		t.Fatalf("the prior one is still there: %v", err)
	}
	if got, err := keyring.Get(config.KeyringService, string(account)); err != nil || got != "prior-"+key {
		t.Fatalf("under the present name: %v", err)
	}
	must(t, k.Delete(account))
}
