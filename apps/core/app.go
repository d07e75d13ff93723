// Package core is the Ergo application of what outlives every conversation:
// the store, the key reader and the bus. It starts first and stops last.
package core

import (
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/bus"
	"github.com/packetbench/packetbench/actors/secret"
	"github.com/packetbench/packetbench/actors/store"
	"github.com/packetbench/packetbench/supervisors"
)

// Options are what the three actors are started with.
type Options struct {
	Common supervisors.Common
	Store  store.Options
	Secret secret.Options
	Bus    bus.Options
	// OnEnd hears why the application ended.
	OnEnd func(reason error)
}

// CreateApp builds the application.
func CreateApp(o Options) gen.ApplicationBehavior {
	return supervisors.CoreApp(supervisors.CoreOptions{
		Common: o.Common,
		Store:  supervisors.Process{Factory: store.New(o.Store)},
		Secret: supervisors.Process{Factory: secret.New(o.Secret)},
		Bus:    supervisors.Process{Factory: bus.New(o.Bus)},
	}, o.OnEnd)
}
