package nodetest

import (
	"errors"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/supervisors"
)

// Engines starts a real engines_sup at n whose acp:<name> are made by factory,
// with the name as their one argument.
func Engines(t testing.TB, n *supervisors.Node, factory gen.ProcessFactory) {
	t.Helper()
	sup := supervisors.NewEngines(supervisors.AgentOptions{
		Engine: func(name gen.Atom, _ []any) (supervisors.Process, error) {
			_, engine, _ := strings.Cut(string(name), ":")
			return supervisors.Process{Factory: factory, Args: []any{engine}}, nil
		},
		Sidecar: func(gen.Atom, []any) (supervisors.Process, error) {
			return supervisors.Process{}, errors.New("there is no sidecar in this test")
		},
	})
	if _, err := n.SpawnRegister(msg.EnginesSup, sup, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
}
