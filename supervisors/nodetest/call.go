package nodetest

import (
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/supervisors"
)

// Call is n.CallWithTimeout for tests. Under the race detector it lets one call
// at a time through: the framework reads a field of its pooled call after it has
// given it back, which two callers, even at two nodes, race for. So there a call
// must not wait for what only another one brings about.
func Call(n *supervisors.Node, to gen.Atom, request any, seconds int) (any, error) {
	return call(func() (any, error) { return n.CallWithTimeout(to, request, seconds) })
}

// CallPID is Call for a process without a name.
func CallPID(n *supervisors.Node, to gen.PID, request any, seconds int) (any, error) {
	return call(func() (any, error) { return n.CallWithTimeout(to, request, seconds) })
}
