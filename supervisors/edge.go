package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Edge supervises the doors.
//
//	edge_sup             named, started in this order
//	├── bridge           5 restarts in 30 s, 1 s before each; HTTP listener, command.>
//	├── mcp_server       the same; loopback /mcp, off by default
//	└── viewers_sup      5 restarts in 60 s; see Viewers
//
// The wait is for the port, which the old listener may still hold. A spent
// budget of bridge or viewers_sup is fatal, of mcp_server a warning.
type Edge struct {
	policy
	opt EdgeOptions
}

// EdgeOptions is what apps/edge fills in. MCPServer.Off keeps that door closed
// until an operator starts it.
type EdgeOptions struct {
	Common
	Bridge, MCPServer Process
	// Viewer makes viewer:<n>; nil leaves the kind unknown.
	Viewer Maker
}

// NewEdge returns the factory of edge_sup.
func NewEdge(o EdgeOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Edge{opt: o} }
}

// Init lists the doors; the policy starts them with its first message.
func (s *Edge) Init(...any) (act.SupervisorSpec, error) {
	return s.setup(s.opt.Common,
		&row{name: msg.Bridge, process: s.opt.Bridge, window: windowDoor, fatal: true},
		&row{name: msg.MCPServer, process: s.opt.MCPServer, window: windowDoor},
		&row{name: msg.ViewersSup, process: Process{Factory: NewViewers(s.opt)}, window: windowSupervisor, fatal: true},
	)
}

// Viewers supervises the clients that look.
//
//	viewers_sup          dynamic; never restarted
//	└── viewer:<n>       one per WebSocket or SSE client
//
// A death closes that client's socket; it connects again and resumes from its
// sequence number.
type Viewers struct {
	policy
	opt EdgeOptions
}

// NewViewers returns the factory of viewers_sup.
func NewViewers(o EdgeOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Viewers{opt: o} }
}

// Init names the one kind of child. None is started.
func (s *Viewers) Init(...any) (act.SupervisorSpec, error) {
	return s.setup(s.opt.Common,
		&row{name: msg.KindViewer + ":", make: s.opt.Viewer, window: windowNever},
	)
}
