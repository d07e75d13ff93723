package supervisors

import (
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// bootWithin bounds the start of the named children, none of which does any
// work in its Init.
const bootWithin = 10 * time.Second

// application is one of the four Ergo applications: one top supervisor.
//
// Mode is transient: an abnormal end of the top supervisor stops the
// application, whose Terminate then passes the reason on. Nothing is restarted
// above the top supervisors.
type application struct {
	spec  gen.ApplicationSpec
	node  gen.Node
	onEnd func(reason error)
}

// Load returns the spec.
func (a *application) Load(n gen.Node, _ ...any) (gen.ApplicationSpec, error) {
	a.node = n
	return a.spec, nil
}

// Start waits until the top supervisor has tried to start each named child: it
// reads booted behind its first message. It runs inside ApplicationStart,
// so whoever started the application can call them.
func (a *application) Start(gen.ApplicationMode) {
	top := a.spec.Group[0].Name
	b := booted{make(chan struct{})}
	if err := a.node.Send(top, b); err != nil {
		a.node.Log().Error("supervisor not started name=%s err=%q", string(top), err)
		return
	}
	timer := time.NewTimer(bootWithin)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
		a.node.Log().Error("supervisor not started in time name=%s", string(top))
	}
}

// Terminate tells main why the application ended; gen.TerminateReasonShutdown
// and gen.TerminateReasonNormal are the reasons of a drain.
func (a *application) Terminate(reason error) {
	if a.onEnd != nil {
		a.onEnd(reason)
	}
}

func newApp(name, sup gen.Atom, what string, factory gen.ProcessFactory, onEnd func(error), needs ...gen.Atom) gen.ApplicationBehavior {
	return &application{onEnd: onEnd, spec: gen.ApplicationSpec{
		Name:        name,
		Description: what,
		Mode:        gen.ApplicationModeTransient,
		Depends:     gen.ApplicationDepends{Applications: needs},
		Group:       []gen.ApplicationMemberSpec{{Name: sup, Factory: factory}},
	}}
}

// CoreApp is the application core; it starts first and stops last. onEnd, which
// may be nil, is called once when the application has ended, from a goroutine
// of the framework. The same holds for the other three.
func CoreApp(o CoreOptions, onEnd func(reason error)) gen.ApplicationBehavior {
	return newApp(msg.CoreApp, msg.CoreSup, "what outlives every conversation", NewCore(o), onEnd)
}

// AgentApp is the application agent, the work. It needs core.
func AgentApp(o AgentOptions, onEnd func(reason error)) gen.ApplicationBehavior {
	return newApp(msg.AgentApp, msg.AgentSup, "the work", NewAgent(o), onEnd, msg.CoreApp)
}

// OpsApp is the application ops, the view on the service. It needs core.
func OpsApp(o OpsOptions, onEnd func(reason error)) gen.ApplicationBehavior {
	return newApp(msg.OpsApp, msg.OpsSup, "the view on the service", NewOps(o), onEnd, msg.CoreApp)
}

// EdgeApp is the application edge, the doors. It needs the others, opens last
// and closes first.
func EdgeApp(o EdgeOptions, onEnd func(reason error)) gen.ApplicationBehavior {
	return newApp(msg.EdgeApp, msg.EdgeSup, "the doors", NewEdge(o), onEnd, msg.CoreApp, msg.AgentApp, msg.OpsApp)
}

// StartApp loads and starts one application on n. What it needs must have been
// loaded. When it returns, the named children run; whether they are ready is
// theirs to say.
func StartApp(n gen.Node, app gen.ApplicationBehavior) error {
	name, err := n.ApplicationLoad(app)
	if err != nil {
		return err
	}
	return n.ApplicationStart(name, gen.ApplicationOptions{})
}
