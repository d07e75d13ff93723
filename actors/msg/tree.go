package msg

import (
	"strings"

	"ergo.services/ergo/gen"
)

// Kinds of dynamic children: the part of a registered name before the colon.
const (
	KindConversation = "conversation"
	KindTerminal     = "terminal"
	KindEngine       = "acp"
	KindMCP          = "mcp"
	KindViewer       = "viewer"
)

// supervisorOf is who restarts whom. Source: the tree of actors.md 3.
var supervisorOf = map[gen.Atom]gen.Atom{
	Store: CoreSup, Secret: CoreSup, Bus: CoreSup,
	SessionsSup: AgentSup, EnginesSup: AgentSup, TerminalsSup: AgentSup, MCPSup: AgentSup,
	Sidecar: EnginesSup,
	Inspect: OpsSup,
	Bridge:  EdgeSup, MCPServer: EdgeSup, ViewersSup: EdgeSup,
	KindConversation + ":": SessionsSup,
	KindEngine + ":":       EnginesSup,
	KindTerminal + ":":     TerminalsSup,
	KindMCP + ":":          MCPSup,
	KindViewer + ":":       ViewersSup,
}

// SupervisorOf returns the registered name of the policy supervisor that a door
// calls about name: with Ensure, Reset, StopChild or StartChild. ok is false
// for a name that no policy supervises, the four top supervisors included.
func SupervisorOf(name gen.Atom) (sup gen.Atom, ok bool) {
	key := name
	if kind, id, found := strings.Cut(string(name), ":"); found {
		if id == "" {
			return "", false
		}
		key = gen.Atom(kind + ":")
	}
	sup, ok = supervisorOf[key]
	return sup, ok
}

// Policies lists every policy supervisor of the tree, parents first.
func Policies() []gen.Atom {
	return []gen.Atom{CoreSup, AgentSup, SessionsSup, EnginesSup, TerminalsSup, MCPSup, OpsSup, EdgeSup, ViewersSup}
}
