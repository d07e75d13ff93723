package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Agent supervises the supervisors of the work.
//
//	agent_sup            named, started in this order; per child 5 restarts in 60 s
//	├── sessions_sup     conversations, see Sessions
//	├── engines_sup      hosts of other people's programs, see Engines
//	├── terminals_sup    PTYs, see Terminals
//	└── mcp_sup          MCP clients, see MCP
//
// When one of them dies, what it supervised is ended first; it starts again
// empty and its children come back when they are asked for. A spent budget is
// fatal.
type Agent struct {
	policy
	opt AgentOptions
}

// AgentOptions is what apps/agent fills in. A nil Maker leaves that kind
// unknown: an Ensure of it is answered with -32004.
type AgentOptions struct {
	Common
	// Conversation makes conversation:<id>.
	Conversation Maker
	// MaxAwake is the limit of awake conversations; 0 means none.
	MaxAwake int
	// Sidecar makes the host of the Node child, Engine makes acp:<name>.
	Sidecar, Engine Maker
	// Terminal makes terminal:<id>.
	Terminal Maker
	// MCP makes mcp:<server>.
	MCP Maker
}

// NewAgent returns the factory of agent_sup.
func NewAgent(o AgentOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Agent{opt: o} }
}

// Init lists the supervisors; the policy starts them with its first message.
func (s *Agent) Init(...any) (act.SupervisorSpec, error) {
	o := s.opt
	return s.setup(o.Common,
		&row{name: msg.SessionsSup, process: Process{Factory: NewSessions(o)}, window: windowSupervisor, fatal: true},
		&row{name: msg.EnginesSup, process: Process{Factory: NewEngines(o)}, window: windowSupervisor, fatal: true},
		&row{name: msg.TerminalsSup, process: Process{Factory: NewTerminals(o)}, window: windowSupervisor, fatal: true},
		&row{name: msg.MCPSup, process: Process{Factory: NewMCP(o)}, window: windowSupervisor, fatal: true},
	)
}
