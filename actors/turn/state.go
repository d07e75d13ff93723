package turn

import (
	"context"
	"encoding/json"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/hook"
	"github.com/packetbench/packetbench/actors/turn/tool"
)

// state is what a conversation carries from its first turn on until it closes or
// hibernates: the tools with their task list and background processes, and the
// session that hooks are told about. Nobody else looks into it.
type state struct {
	*tool.Runtime
	session *hook.Session
}

var _ msg.ToolState = (*state)(nil)

// Busy reports whether a command runs in the background.
func (s *state) Busy() bool { return len(s.Running()) > 0 }

// Close ends the tools, then tells the SessionEnd hooks and waits for them, at
// most hook.Limit. It may be called from anywhere.
func (s *state) Close() {
	// A fault here must not take the service along; the session is over anyway.
	defer func() { _ = recover() }()
	s.Runtime.Close()
	s.session.End()
}

// scripts is the part of *hook.Turn that the loop uses.
type scripts interface {
	Before(ctx context.Context, tool string, input json.RawMessage) (text string, refused bool)
	After(ctx context.Context, tool string, input json.RawMessage, result string, isError bool)
}
