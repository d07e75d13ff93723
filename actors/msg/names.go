package msg

import (
	"strconv"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/contract"
)

// The registered names of the tree. Source: actors.md 3.
const (
	CoreApp  gen.Atom = "core"
	AgentApp gen.Atom = "agent"
	OpsApp   gen.Atom = "ops"
	EdgeApp  gen.Atom = "edge"

	CoreSup      gen.Atom = "core_sup"
	AgentSup     gen.Atom = "agent_sup"
	SessionsSup  gen.Atom = "sessions_sup"
	EnginesSup   gen.Atom = "engines_sup"
	TerminalsSup gen.Atom = "terminals_sup"
	MCPSup       gen.Atom = "mcp_sup"
	OpsSup       gen.Atom = "ops_sup"
	EdgeSup      gen.Atom = "edge_sup"
	ViewersSup   gen.Atom = "viewers_sup"

	Store     gen.Atom = "store"
	Secret    gen.Atom = "secret"
	Bus       gen.Atom = "bus"
	Inspect   gen.Atom = "inspect"
	Bridge    gen.Atom = "bridge"
	MCPServer gen.Atom = "mcp_server"
	Sidecar   gen.Atom = "sidecar"
)

// ConversationName is the registered name of one conversation's actor.
func ConversationName(id contract.ConversationID) gen.Atom {
	return gen.Atom("conversation:" + string(id))
}

// TerminalName is the registered name of one PTY's actor.
func TerminalName(id contract.TerminalID) gen.Atom { return gen.Atom("terminal:" + string(id)) }

// TerminalOf is the id in the registered name of a PTY's actor.
func TerminalOf(name gen.Atom) (id contract.TerminalID, ok bool) {
	kind, text, _ := strings.Cut(string(name), ":")
	return contract.TerminalID(text), kind == KindTerminal && text != ""
}

// EngineName is the registered name of one ACP engine's host.
func EngineName(name string) gen.Atom { return gen.Atom("acp:" + name) }

// MCPName is the registered name of one MCP server's client.
func MCPName(server string) gen.Atom { return gen.Atom("mcp:" + server) }

// ViewerName is the registered name of one client's actor.
func ViewerName(n uint64) gen.Atom { return gen.Atom("viewer:" + strconv.FormatUint(n, 10)) }
