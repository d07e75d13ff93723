package supervisors

import (
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// Core supervises what outlives every conversation.
//
//	core_sup             named, started in this order; per child 5 restarts in 30 s
//	├── store            single writer of state, conversation files, index, ledger
//	├── secret           keyring reader
//	└── bus              NATS server, event log, publisher
//
// A death restarts that one; the others keep running and retry their calls. A
// spent budget of any of them is fatal: main drains and exits 1.
type Core struct {
	policy
	opt CoreOptions
}

// CoreOptions is what apps/core fills in.
type CoreOptions struct {
	Common
	Store, Secret, Bus Process
}

// NewCore returns the factory of core_sup.
func NewCore(o CoreOptions) gen.ProcessFactory {
	return func() gen.ProcessBehavior { return &Core{opt: o} }
}

// Init lists the children; the policy starts them with its first message.
func (s *Core) Init(...any) (act.SupervisorSpec, error) {
	return s.setup(s.opt.Common,
		&row{name: msg.Store, process: s.opt.Store, window: windowCore, fatal: true},
		&row{name: msg.Secret, process: s.opt.Secret, window: windowCore, fatal: true},
		&row{name: msg.Bus, process: s.opt.Bus, window: windowCore, fatal: true},
	)
}
