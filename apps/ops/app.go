// Package ops is the Ergo application of the view on the service.
package ops

import (
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/inspect"
	"github.com/packetbench/packetbench/supervisors"
)

// Options are what inspect is started with.
type Options struct {
	Common  supervisors.Common
	Inspect inspect.Options
	// OnEnd hears why the application ended.
	OnEnd func(reason error)
}

// CreateApp builds the application.
func CreateApp(o Options) gen.ApplicationBehavior {
	return supervisors.OpsApp(supervisors.OpsOptions{
		Common:  o.Common,
		Inspect: supervisors.Process{Factory: inspect.New(o.Inspect)},
	}, o.OnEnd)
}
