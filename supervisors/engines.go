package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Engines supervises the hosts of other people's programs.
//
//	engines_sup          dynamic; per child 3 restarts in 60 s, 500 ms before each
//	├── sidecar          host of the Node child
//	└── acp:<name>       host of one ACP engine
//
// It keeps which conversations each host owns (msg.Owns, msg.Released), so that
// knowledge outlives the host. Each death is told to those conversations first
// (msg.OwnerGone), then counted. A child whose budget is spent is down until an
// operator resets it; one that says it is incompatible is not started again
// either. Its sibling never notices.
type Engines struct {
	policy
	opt AgentOptions
}

// NewEngines returns the factory of engines_sup.
func NewEngines(o AgentOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Engines{opt: o} }
}

// Init names the two kinds of host. None is started before it is needed.
func (s *Engines) Init(...any) (act.SupervisorSpec, error) {
	s.owners = make(owners)
	return s.setup(s.opt.Common,
		&row{name: msg.Sidecar, make: s.opt.Sidecar, window: windowHost, keep: true},
		&row{name: msg.KindEngine + ":", make: s.opt.Engine, window: windowHost, keep: true},
	)
}
