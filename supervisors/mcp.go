package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// MCP supervises the clients of MCP servers.
//
//	mcp_sup              dynamic; per child 5 restarts in 60 s, 1, 2, 4, 8, 8 s before them
//	└── mcp:<server>
//
// A death is told to the conversations that use its tools (msg.OwnerGone, kept
// by msg.Owns like in Engines), then counted. A spent budget marks that server
// as failed until it is reset.
type MCP struct {
	policy
	opt AgentOptions
}

// NewMCP returns the factory of mcp_sup.
func NewMCP(o AgentOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &MCP{opt: o} }
}

// Init names the one kind of child. None is started before it is needed.
func (s *MCP) Init(...any) (act.SupervisorSpec, error) {
	s.owners = make(owners)
	return s.setup(s.opt.Common,
		&row{name: msg.KindMCP + ":", make: s.opt.MCP, window: windowMCP, keep: true},
	)
}
