package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Sessions supervises the awake conversations.
//
//	sessions_sup         dynamic; per child 3 restarts in 60 s
//	└── conversation:<id>
//
// A death restarts the conversation from its file. One whose budget is spent
// shows as failed; an Ensure by a person gives it a fresh one. At most MaxAwake
// run at once: above that the longest idle one is asked to sleep (msg.Sleep)
// and the Ensure waits for its place; if none is idle it is answered -32029.
// Who is idle the conversations say themselves (msg.Idle).
type Sessions struct {
	policy
	opt AgentOptions
}

// NewSessions returns the factory of sessions_sup.
func NewSessions(o AgentOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Sessions{opt: o} }
}

// Init names the one kind of child. None is started.
func (s *Sessions) Init(...any) (act.SupervisorSpec, error) {
	s.places = newPlaces(s.opt.MaxAwake)
	return s.setup(s.opt.Common,
		&row{name: msg.KindConversation + ":", make: s.opt.Conversation, window: windowConversation, renew: true},
	)
}
