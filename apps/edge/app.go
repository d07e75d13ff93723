// Package edge is the Ergo application of the doors: the HTTP listener with
// WebSocket, JSON-RPC and Server-Sent Events, and command.> on the bus. It
// opens last and closes first.
package edge

import (
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/bridge"
	"github.com/packetbench/packetbench/supervisors"
)

// Options are what the doors are started with.
type Options struct {
	Common supervisors.Common
	Bridge bridge.Options
	// OnEnd hears why the application ended.
	OnEnd func(reason error)
}

// CreateApp builds the application.
func CreateApp(o Options) gen.ApplicationBehavior {
	return supervisors.EdgeApp(supervisors.EdgeOptions{
		Common: o.Common,
		Bridge: supervisors.Process{Factory: bridge.New(o.Bridge)},
		Viewer: func(_ gen.Atom, args []any) (supervisors.Process, error) {
			return supervisors.Process{Factory: bridge.NewViewer, Args: args}, nil
		},
	}, o.OnEnd)
}
