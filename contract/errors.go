package contract

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The sentinels of this package.
var (
	ErrBadID           = errors.New("contract: id is not 1 to 64 of A-Z a-z 0-9 _ -")
	ErrBadKind         = errors.New("contract: unknown event kind")
	ErrBadSubject      = errors.New("contract: not a subject of ours")
	ErrUnknownProvider = errors.New("contract: unknown provider id")
	ErrUnknownRow      = errors.New("contract: unknown row id")
)

// The JSON-RPC error codes of every door. Source: interface.md 4.
const (
	CodeParse        = -32700
	CodeInvalid      = -32600
	CodeNoMethod     = -32601
	CodeBadParams    = -32602
	CodeInternal     = -32603
	CodeUnauthorized = -32001
	CodeForbidden    = -32003
	CodeNotFound     = -32004
	CodeConflict     = -32009
	CodeAnswered     = -32010
	CodeOverLimit    = -32029
)

// Failure is the error object of every door: JSON-RPC's shape. It is a value
// in replies, never a handler's reason.
type Failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Fail builds a Failure from a format.
func Fail(code int, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// BadParam builds a -32602 whose message names the field.
func BadParam(field, format string, args ...any) *Failure {
	return &Failure{Code: CodeBadParams, Message: field + ": " + fmt.Sprintf(format, args...)}
}

// Answered builds the -32010 of a prompt that somebody answered already.
func Answered(by DecidedBy) *Failure {
	data, err := json.Marshal(map[string]string{"by": string(by)})
	if err != nil {
		data = nil
	}
	return &Failure{Code: CodeAnswered, Message: TextAnswered, Data: data}
}

// Texts that a peer or a person matches on. They are pinned by a test; change
// one only together with the specification.
const (
	TextMonitor          = "This read-only Monitor cannot invoke that application command."
	TextAnswered         = "This prompt was already answered."
	TextNoSession        = "No active session: "
	TextSessionExists    = "Session already exists: "
	TextNoAssistantTurn  = "No assistant turn to retry"
	TextQueueImages      = "Images cannot be queued; send them when the turn has ended."
	TextCancelledByUser  = "Cancelled by the user"
	TextInterrupted      = "Interrupted: the service stopped"
	TextUserCancelled    = "User cancelled this tool"
	TextDenied           = "User denied permission for this tool call."
	TextDeniedGuidance   = " User's guidance: "
	TextPermTimeout      = "Permission request timed out."
	TextEditTimeout      = "Edit approval timed out."
	TextEditRejected     = "User rejected this edit."
	TextDenyAll          = "Permissions: all risky tools are denied."
	TextStall            = "The provider sent nothing for 120 s; send again to retry."
	TextIncompleteStream = "Provider stream ended before its completion and usage marker; this request is incomplete"
	TextSidecarRestarted = "Sidecar restarted \u2014 please resend your message to continue this conversation."
	TextSidecarGivenUp   = "Sidecar crashed and could not restart"
	TextSidecarNoWriter  = "sidecar writer not initialized"
	TextSidecarRefusing  = "The agent sidecar is not running, so PacketBench cannot verify it enforces per-session MCP trust rules. Refusing to start this session."
	TextLastingOnly      = "This engine offers only a lasting permission; choose it or deny."
	TextEngineClosed     = "engine closed the connection"
	TextInvalidArguments = "Error: invalid arguments"
	TextNoOutput         = "(no output)"
	TextConversationLost = "This conversation was restarted after a fault inside PacketBench; the answer in progress was lost. Send your message again."
)

// NotAdvertised is the refusal of a tool outside the turn's set.
func NotAdvertised(tool string) string {
	return "Tool '" + tool + "' is outside this session's allowed tool set."
}

// PlanModeRefusal is the refusal of a tool that plan mode disables.
func PlanModeRefusal(tool string) string {
	return "Plan mode is active \u2014 '" + tool + "' is disabled. Ask the user to exit plan mode first."
}

// HookVeto is the refusal by a PreToolUse hook.
func HookVeto(command string) string { return "Blocked by PreToolUse hook: " + command }
