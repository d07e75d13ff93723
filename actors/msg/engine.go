package msg

import "github.com/packetbench/packetbench/contract"

// EngineFacts is what an ACP engine has said about itself. The host of acp:<name>
// puts it into the Detail of its Status when the engine has shaken hands and
// whenever it says more; whoever listens keeps the last one, since a host that
// has just started again knows nothing. The lists are never changed.
type EngineFacts struct {
	// PID is the engine's process.
	PID int
	// Agent and Version are what it calls itself; either may be empty.
	Agent, Version string
	// Models is nil when the engine did not say, empty when it has none.
	Models []contract.Model
	// Images, Rename and Usage are what ui.md 3.1 draws from it; Load says that
	// a session can be taken up again, Defaults that its own MCP servers can be
	// inherited.
	Images, Rename, Usage, Load, Defaults bool
	// Modes are the permission modes of ours that it honours, nil when it did
	// not say; Plan says that it has a plan mode, and counts with Modes only.
	Modes []contract.PermissionMode
	Plan  bool
}

// EngineSessions is a Call to acp:<name>: the sessions that the engine holds.
// An engine that does not run is started for it. The answer is
// EngineSessionList, within 40 s.
type EngineSessions struct{}

// EngineSessionList answers EngineSessions. Failure is nil on success.
type EngineSessionList struct {
	contract.EngineSessions
	Failure *contract.Failure
}
