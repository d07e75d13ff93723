package inspect

import (
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// listMost is how many processes of an application are listed.
const listMost = 5000

// changedEvery bounds how often tree-changed is published.
const changedEvery = 2 * time.Second

// Options is what the actor needs.
type Options struct {
	BootID    string
	Publisher msg.Publisher
	// Sources are the supervisors that are asked, at the start, to push the
	// status of their children again.
	Sources []gen.Atom
	// Heard gets every status that is pushed, in order, inside the actor: it
	// must not wait. May be nil.
	Heard func(msg.Status)
	// Now is the clock.
	Now func() time.Time
}

// New returns the factory of inspect.
func New(o Options) gen.ProcessFactory {
	if o.Now == nil {
		o.Now = time.Now
	}
	return func() gen.ProcessBehavior { return &actor{opt: o, known: newKnown()} }
}

type actor struct {
	act.Actor
	opt   Options
	known known
	timer bool
}

type (
	boot    struct{}
	changed struct{}
)

// Init asks itself to begin.
func (a *actor) Init(...any) error { return a.Send(a.PID(), boot{}) }

// HandleMessage takes what is pushed.
func (a *actor) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case boot:
		for _, name := range a.opt.Sources {
			_ = a.Send(name, msg.ReportStatus{}) // One that is not there yet pushes when it starts.
		}
	case msg.Status:
		if a.opt.Heard != nil {
			a.opt.Heard(m)
		}
		if m.Gone {
			delete(a.known.status, m.Name)
			delete(a.known.facts, string(m.Name))
			delete(a.known.mailboxMax, m.Name)
		} else {
			a.known.status[m.Name] = m
		}
		a.changedSoon()
	case msg.Facts:
		if len(m.Detail) == 0 {
			delete(a.known.facts, m.Name)
		} else {
			a.known.facts[m.Name] = m.Detail
		}
	case msg.Ops:
		a.publish(m.What, m.Payload)
	case msg.ChildEnded:
		a.Log().Info("child ended name=%s quiet=%t reason=%q", string(m.Name), m.Quiet, m.Reason)
	case changed:
		a.timer = false
		a.publish(contract.OpsTreeChanged, struct{}{})
	}
	return nil
}

func (a *actor) changedSoon() {
	if a.timer {
		return
	}
	if _, err := a.SendAfter(a.PID(), changed{}, changedEvery); err == nil {
		a.timer = true
	}
}

func (a *actor) publish(what contract.OpsWhat, payload any) {
	body, err := contract.Marshal(payload)
	if err != nil {
		a.Log().Error("ops event not encoded what=%s reason=%s", string(what), err)
		return
	}
	if _, err := a.opt.Publisher.Publish(contract.OpsSubject(what), "", body); err != nil {
		a.Log().Warning("ops event not published what=%s reason=%s", string(what), err)
	}
}

// HandleCall answers msg.GetTree and msg.Ready.
func (a *actor) HandleCall(_ gen.PID, _ gen.Ref, request any) (any, error) {
	switch request.(type) {
	case msg.GetTree:
		return a.tree(), nil
	case msg.Ready:
		return msg.Done{}, nil
	}
	return msg.Done{Err: gen.ErrUnsupported}, nil
}

func (a *actor) tree() contract.Tree {
	node := a.Node()
	var apps []appList
	for _, name := range []gen.Atom{msg.CoreApp, msg.AgentApp, msg.OpsApp, msg.EdgeApp} {
		list, err := node.ApplicationProcessListShortInfo(name, listMost)
		if err != nil {
			continue // Not started, or stopped already.
		}
		app := appList{name: name, processes: list}
		if info, err := node.ApplicationInfo(name); err == nil {
			app.uptime = info.Uptime
		}
		apps = append(apps, app)
	}
	return contract.Tree{BootID: a.opt.BootID, Time: a.opt.Now().UTC(), Root: build(string(node.Name()), node.Uptime(), apps, a.known)}
}
