package acp

import "time"

// The methods of the wire, in one place: version 2 of the protocol renames and
// drops some. Source: acp.md 2 and 7.
const (
	methodInitialize   = "initialize"
	methodAuthenticate = "authenticate"
	methodNew          = "session/new"
	methodLoad         = "session/load"
	methodResume       = "session/resume"
	methodList         = "session/list"
	methodPrompt       = "session/prompt"
	methodCancel       = "session/cancel"
	methodClose        = "session/close"
	methodSetMode      = "session/set_mode"
	methodSetModel     = "session/set_model"
	methodSetOption    = "session/set_config_option"

	methodUpdate        = "session/update"
	methodPermission    = "session/request_permission"
	methodCancelRequest = "$/cancel_request"

	methodHeld     = "_packetcode/sessions/list"
	methodRename   = "_packetcode/sessions/rename"
	methodUsage    = "_packetcode/sessions/usage"
	methodModels   = "_packetcode/models/list"
	methodServers  = "_packetcode/mcp/list"
	methodCommands = "_packetcode/commands/list"
	methodFiles    = "_packetcode/project/files"
)

// The time limits of an engine. Source: acp.md 11.
const (
	waitRequest = 30 * time.Second
	// serverCeiling is the engine's own limit for starting the MCP servers of
	// one session.
	serverCeiling = 30 * time.Second
	// waitNew is a multiple of the engine's limit: an equal budget always loses
	// the race, and the engine would register a session that we gave up on.
	waitNew    = 3 * serverCeiling
	waitLoad   = 120 * time.Second
	waitPrompt = 60 * time.Minute

	// StopGrace is how long an engine may take to end by itself once its stdin
	// is closed; StopGraceDrain is the same while the whole service stops.
	StopGrace      = 5 * time.Second
	StopGraceDrain = 2 * time.Second
	// termToKill is how long it has between SIGTERM and SIGKILL.
	termToKill = 300 * time.Millisecond
	// killWait is how long we wait for the end after each forced step.
	killWait = 2 * time.Second
	// waitProbe bounds "doctor --json".
	waitProbe = 15 * time.Second
)

// waitFor is how long an answer to method may take.
func waitFor(method string) time.Duration {
	switch method {
	case methodNew:
		return waitNew
	case methodLoad, methodResume:
		return waitLoad
	case methodPrompt:
		return waitPrompt
	}
	return waitRequest
}
