package msg

import (
	"errors"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/contract"
)

// ChildState is where the restart policy sees one child.
type ChildState string

// The states of a child. A child may report StateStarting, StateRunning,
// StateIncompatible and StateFailed about itself; the others are the policy's.
const (
	// StateStarting: spawned and not ready, or waiting for its own name.
	StateStarting ChildState = "starting"
	// StateRunning: alive. A child that reports nothing counts as running from
	// the moment it was spawned.
	StateRunning ChildState = "running"
	// StateBackoff: ended, and will be started again after the wait of its row.
	StateBackoff ChildState = "backoff"
	// StateDown: its budget is spent. It stays so until somebody resets it.
	StateDown ChildState = "down"
	// StateIncompatible: it said that starting it again cannot help.
	StateIncompatible ChildState = "incompatible"
	// StateStopped: ended on purpose, or never started.
	StateStopped ChildState = "stopped"
	// StateFailed is only ever reported by a child, before it ends, so that
	// its text becomes the last reason. The policy counts the end itself.
	StateFailed ChildState = "failed"
)

// ErrIncompatible is the reason of a child that must not be started again
// until somebody resets it: a peer that speaks too old a protocol, say.
//
// Return it as it is or wrapped exactly once: Ergo unwraps a reason one level
// before it tells the supervisor, and loses what is outside.
var ErrIncompatible = errors.New("incompatible with this version of PacketBench")

// Status has two readers. A child sends it to its Parent() with Name, State and
// LastReason filled; the policy supervisor then pushes the whole of it, as a
// plain message, to every sink on each change. Source: actors.md 8.
type Status struct {
	// Supervisor is the registered name of the policy that counts.
	Supervisor gen.Atom
	// Name is the registered name of the child.
	Name  gen.Atom
	State ChildState
	// PID is empty while nothing runs.
	PID gen.PID
	// Started is when PID was spawned; zero while nothing runs.
	Started time.Time
	// Restarts counts every start after an abnormal end, for the whole run of
	// the service. InWindow counts those inside the restart window; Max and
	// Window are the budget, Max 0 meaning that it is never restarted.
	Restarts uint64
	InWindow int
	Max      int
	Window   time.Duration
	// LastReason is a plain sentence or empty, at most 500 bytes, no secret.
	LastReason string
	// LimitReached tells that the budget is spent.
	LimitReached bool
	// Gone tells that the supervisor forgot this child: the last push about it.
	Gone bool
	// Detail is what the running child last said about itself besides, a value
	// that is never changed; nil while nothing runs.
	Detail any
}

// ReportStatus, a plain message to a policy supervisor, makes it push the
// Status of every child again. A sink sends it when it has just started.
type ReportStatus struct{}

// Ops is a notice for the ops family, pushed to every sink. Payload is
// a contract.OpsRestartEvent, a contract.OpsLimitEvent or an Overflow;
// the sink publishes it under contract.OpsSubject(What).
type Ops struct {
	What    contract.OpsWhat
	Payload any
}

// RestartNotice says that actor will be started again.
func RestartNotice(actor gen.Atom, reason string, inWindow int) Ops {
	return Ops{What: contract.OpsRestart, Payload: contract.OpsRestartEvent{
		Actor: string(actor), Reason: reason, CountInWindow: inWindow,
	}}
}

// LimitNotice says that actor's budget is spent.
func LimitNotice(supervisor, actor gen.Atom) Ops {
	return Ops{What: contract.OpsLimitReached, Payload: contract.OpsLimitEvent{
		Supervisor: string(supervisor), Actor: string(actor),
	}}
}

// Overflow is the payload of an ops.overflow notice: a message for Actor was
// given up because its mailbox stayed full.
type Overflow struct {
	Actor   string `json:"actor"`
	Message string `json:"message"`
}

// OverflowNotice says that what could not be delivered to actor.
func OverflowNotice(actor gen.Atom, what string) Ops {
	return Ops{What: contract.OpsOverflow, Payload: Overflow{Actor: string(actor), Message: what}}
}

// ChildEnded is pushed to every sink for each end of a supervised process,
// before the restart is decided.
type ChildEnded struct {
	Supervisor gen.Atom
	Name       gen.Atom
	PID        gen.PID
	Reason     string
	// Quiet is true for the reasons normal and shutdown.
	Quiet bool
}

// Fatal tells main that a child without which the service makes no sense spent
// its budget. The supervisor and its other children keep running, so main can
// drain in order before it exits 1.
type Fatal struct {
	Supervisor gen.Atom
	Name       gen.Atom
	Reason     string
}

// Ensure is a Call to a dynamic supervisor: the child with this registered name
// is to run. The answer is Ensured. It may come late (while the old name is not
// free, in a backoff, or while a place is made), but always within 4 s; Call
// with 5 s or more.
type Ensure struct {
	// Name is the registered name, for example msg.ConversationName(id).
	Name gen.Atom
	// Args are handed to the child's factory if it has to be started.
	Args []any
	// User is true when a person asked. It gives a conversation whose budget
	// is spent a fresh one; other kinds wait for Reset. Source: actors.md 3.
	User bool
}

// Ensured answers Ensure.
type Ensured struct {
	PID gen.PID
	// Created is true when this call started it.
	Created bool
	// Err is nil on success. Codes: -32004 no such kind of child, -32009 its
	// state forbids it, -32029 over the limit, -32603 it could not be started.
	Err *contract.Failure
}

// Reset is a Call: clear the window of one child, and start it again if it is
// down, incompatible or stopped. The answer is ChildAnswer, at once; its state
// is StateStarting when the old name is not free yet.
type Reset struct{ Name gen.Atom }

// StopChild is a Call: end one child and keep it stopped. The answer is
// ChildAnswer, when it has ended or after 4 s with a failure.
type StopChild struct{ Name gen.Atom }

// StartChild is a Call: start a child that is stopped, down or incompatible
// without clearing its window. The answer is ChildAnswer, at once, as for Reset.
type StartChild struct{ Name gen.Atom }

// ChildAnswer answers Reset, StopChild and StartChild.
type ChildAnswer struct {
	State ChildState
	Err   *contract.Failure
}

// Children is a Call to a policy supervisor; the answer is ChildList.
type Children struct{}

// ChildList answers Children and Quiesce, in the order of first start.
type ChildList struct {
	Supervisor gen.Atom
	Children   []Status
}

// Quiesce is a Call that the drain makes first: from now on this supervisor
// starts nothing, neither new nor again. What runs keeps running and is listed
// in the ChildList that answers it. Source: contract.md 7 (no child is started
// while shutting down).
type Quiesce struct{}

// Owns is sent by a host to its Parent() before it starts a session for a
// conversation. If the host is no longer the current one, the conversation gets
// OwnerGone at once. Source: actors.md 5.
type Owns struct {
	// Host is the sender's own registered name.
	Host gen.Atom
	// Conversation is the registered name to tell when the host dies.
	Conversation gen.Atom
}

// Released is sent by a host to its Parent() after it closed that session.
type Released struct{ Conversation gen.Atom }

// OwnerGone reaches every owned conversation when its host has ended, whatever
// the reason, behind everything the host had sent to it by then.
type OwnerGone struct {
	// Host is the registered name of what ended ("sidecar", "acp:packetcode").
	Host gen.Atom
	// PID is the process that ended. A conversation that has moved on to its
	// successor compares it and ignores the message.
	PID    gen.PID
	Reason string
}

// Idle is sent by a conversation to its Parent() whenever it falls idle or
// becomes busy; Since is zero while it is busy. sessions_sup chooses by it who
// has to sleep when the limit of awake conversations is reached.
type Idle struct{ Since time.Time }

// Sleep asks an idle conversation to save, close its transport session and end
// with reason normal. One that is busy by now answers with Idle{} instead.
type Sleep struct{}

// The refusals of a policy supervisor, as values for the doors.

// RefuseUnknown says that nothing of that name can be supervised here.
func RefuseUnknown(name gen.Atom) *contract.Failure {
	return contract.Fail(contract.CodeNotFound, "There is no part of the service called %s. Look at the tree for the names.", string(name))
}

// RefuseDraining answers everything that would start something while the
// service stops.
func RefuseDraining() *contract.Failure {
	return contract.Fail(contract.CodeConflict, "The service is stopping and starts nothing any more. Start it again first.")
}

// RefuseState says why name cannot be ensured or started in its state.
func RefuseState(name gen.Atom, s ChildState, reason string) *contract.Failure {
	why := ""
	if reason != "" {
		why = " The last reason was: " + reason + "."
	}
	switch s {
	case StateDown:
		return contract.Fail(contract.CodeConflict, "%s failed too often and stays down.%s Reset it on the Ops page to try again.", string(name), why)
	case StateIncompatible:
		return contract.Fail(contract.CodeConflict, "%s does not fit this version of PacketBench.%s Update it, then reset it.", string(name), why)
	default:
		return contract.Fail(contract.CodeConflict, "%s was stopped by an operator. Start it first.", string(name))
	}
}

// RefuseStart says that name could not be started.
func RefuseStart(name gen.Atom, reason string) *contract.Failure {
	return contract.Fail(contract.CodeInternal, "%s could not be started: %s. Try again; if it happens again, look at the log.", string(name), reason)
}

// RefuseFull answers an Ensure above the limit of awake conversations, none of
// which can be put to sleep.
func RefuseFull(limit int) *contract.Failure {
	return contract.Fail(contract.CodeOverLimit, "All %d conversations that may be awake at once are busy. Wait until one has finished, or stop one.", limit)
}

// RefuseSlow answers what did not happen in time.
func RefuseSlow(name gen.Atom, what string) *contract.Failure {
	return contract.Fail(contract.CodeInternal, "%s did not %s in time. Try again; if it happens again, look at the log.", string(name), what)
}

// RefuseRequest answers a Call that a supervisor does not know.
func RefuseRequest() *contract.Failure {
	return contract.Fail(contract.CodeInternal, "A supervisor was asked something it does not know. This is a fault of PacketBench; look at the log.")
}

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
