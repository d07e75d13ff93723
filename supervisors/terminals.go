package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Terminals supervises the PTYs.
//
//	terminals_sup        dynamic; never restarted
//	└── terminal:<id>
//
// A terminal that ends is forgotten: the shell in it is gone, and a new one in
// its place would only look alive. One that ends abnormally could not say so;
// the sinks hear of it by msg.ChildEnded.
type Terminals struct {
	policy
	opt AgentOptions
}

// NewTerminals returns the factory of terminals_sup.
func NewTerminals(o AgentOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Terminals{opt: o} }
}

// Init names the one kind of child. None is started.
func (s *Terminals) Init(...any) (act.SupervisorSpec, error) {
	return s.setup(s.opt.Common,
		&row{name: msg.KindTerminal + ":", make: s.opt.Terminal, window: windowNever},
	)
}
