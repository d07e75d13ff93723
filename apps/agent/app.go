// Package agent is the Ergo application of the work: conversations and the
// hosts of other people's programs.
package agent

import (
	"fmt"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/acp"
	"github.com/packetbench/packetbench/actors/conversation"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/actors/terminal"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
)

// Options are what conversations are started with.
type Options struct {
	Common       supervisors.Common
	Conversation conversation.Options
	// Sidecar is what the host of the Node child is started with.
	Sidecar sidecar.Options
	// Engine is what the host of each ACP engine is started with. It finds its
	// engine itself, by its name, each time it starts.
	Engine acp.Options
	// Terminal is what every terminal is started with.
	Terminal terminal.Options
	// MaxAwake is the limit of awake conversations; 0 means none.
	MaxAwake int
	// OnEnd hears why the application ended.
	OnEnd func(reason error)
}

// CreateApp builds the application.
func CreateApp(o Options) gen.ApplicationBehavior {
	factory, host, engine := conversation.New(o.Conversation), sidecar.New(o.Sidecar), acp.New(o.Engine)
	screen := terminal.New(o.Terminal)
	return supervisors.AgentApp(supervisors.AgentOptions{
		Common:   o.Common,
		MaxAwake: o.MaxAwake,
		Conversation: func(name gen.Atom, _ []any) (supervisors.Process, error) {
			id, ok := strings.CutPrefix(string(name), msg.KindConversation+":")
			if !ok || !contract.ValidID(id) {
				return supervisors.Process{}, fmt.Errorf("%w: %q", contract.ErrBadID, string(name))
			}
			return supervisors.Process{Factory: factory, Args: []any{contract.ConversationID(id)}}, nil
		},
		Sidecar: func(gen.Atom, []any) (supervisors.Process, error) {
			return supervisors.Process{Factory: host}, nil
		},
		Engine: func(name gen.Atom, _ []any) (supervisors.Process, error) {
			of, ok := strings.CutPrefix(string(name), msg.KindEngine+":")
			if !ok || !acp.ValidName(of) {
				return supervisors.Process{}, fmt.Errorf("%q names no engine: want 1 to 32 of a-z 0-9 and -", of)
			}
			return supervisors.Process{Factory: engine, Args: []any{of}}, nil
		},
		Terminal: func(name gen.Atom, args []any) (supervisors.Process, error) {
			id, ok := msg.TerminalOf(name)
			if !ok || !contract.ValidID(string(id)) {
				return supervisors.Process{}, fmt.Errorf("%w: %q", contract.ErrBadID, string(name))
			}
			return supervisors.Process{Factory: screen, Args: append([]any{id}, args...)}, nil
		},
	}, o.OnEnd)
}
