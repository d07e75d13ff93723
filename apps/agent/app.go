// Package agent is the Ergo application of the work: conversations and the
// hosts of other people's programs.
package agent

import (
	"fmt"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/conversation"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
)

// Options are what conversations are started with.
type Options struct {
	Common       supervisors.Common
	Conversation conversation.Options
	// Sidecar is what the host of the Node child is started with.
	Sidecar sidecar.Options
	// MaxAwake is the limit of awake conversations; 0 means none.
	MaxAwake int
	// OnEnd hears why the application ended.
	OnEnd func(reason error)
}

// CreateApp builds the application.
func CreateApp(o Options) gen.ApplicationBehavior {
	factory, host := conversation.New(o.Conversation), sidecar.New(o.Sidecar)
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
	}, o.OnEnd)
}
