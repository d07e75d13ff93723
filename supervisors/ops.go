package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Ops supervises the view of the service on itself.
//
//	ops_sup              named; 5 restarts in 60 s
//	└── inspect          answers "show me the tree", samples while watched
//
// A spent budget leaves it down and the service running.
type Ops struct {
	policy
	opt OpsOptions
}

// OpsOptions is what apps/ops fills in.
type OpsOptions struct {
	Common
	Inspect Process
}

// NewOps returns the factory of ops_sup.
func NewOps(o OpsOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Ops{opt: o} }
}

// Init lists the one child; the policy starts it with its first message.
func (s *Ops) Init(...any) (act.SupervisorSpec, error) {
	return s.setup(s.opt.Common,
		&row{name: msg.Inspect, process: s.opt.Inspect, window: windowInspect},
	)
}
