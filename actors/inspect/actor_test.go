package inspect

import (
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// Heard gets every status in its order, also one that forgets its child.
func TestActor_Heard(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, 10*time.Second)
	heard := make(chan msg.Status, 3)
	if _, err := n.SpawnRegister(msg.Inspect, New(Options{Heard: func(s msg.Status) { heard <- s }}), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	sent := []msg.Status{{Name: msg.Sidecar, State: msg.StateRunning}, {Name: msg.Store}, {Name: msg.Sidecar, Gone: true}}
	for _, s := range sent {
		if err := n.Send(msg.Inspect, s); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range sent {
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("heard %+v, want %+v", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("never heard of %s", want.Name)
		}
	}
}
