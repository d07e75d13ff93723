package store

import (
	"os"
	"reflect"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// The count of the sidecar comes back as it was saved; a file that cannot be
// read is set aside and counts as zero. Source: contract.md 8.
func TestStats(t *testing.T) {
	t.Parallel()
	p := home(t)
	r := start(t, Options{Paths: p})
	if got := ask[msg.SidecarStats](r, msg.LoadSidecarStats{}); got != (msg.SidecarStats{}) {
		t.Fatalf("of no file: %+v", got)
	}
	why, when := "Sidecar exited with signal SIGKILL", "2026-08-31T12:00:00Z"
	want := contract.SidecarLifetime{TotalStarts: 3, TotalCrashes: 2, TotalUptimeSecs: 90, LastCrashTime: &when, LastError: &why}
	must(t, r.node.Send(msg.Store, msg.SaveSidecarStats{Lifetime: want}))
	if got := ask[msg.SidecarStats](r, msg.LoadSidecarStats{}); !reflect.DeepEqual(got.Lifetime, want) {
		t.Fatalf("got %+v", got)
	}
	must(t, os.WriteFile(statsPath(p), nil, 0o600))
	if got := ask[msg.SidecarStats](r, msg.LoadSidecarStats{}); got != (msg.SidecarStats{}) {
		t.Fatalf("of an empty file: %+v", got)
	}
	if list := ask[[]string](r, msg.TakeNotices{}); len(list) != 1 {
		t.Errorf("notices %q", list)
	}
}
