package inspect

import (
	"runtime"
	"strings"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// listMost is how many processes of an application are listed.
const listMost = 5000

// changedAfter joins changes into one tree-changed: a restart is several, and a
// page that shows one has to show it within a second.
const changedAfter = 300 * time.Millisecond

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
	return func() gen.ProcessBehavior { return &actor{opt: o, known: newKnown(), history: newHistory()} }
}

type actor struct {
	act.Actor
	opt   Options
	known known
	timer bool

	history history
	// until is how long somebody looks; sampling: the next sample is due.
	until    time.Time
	sampling bool
}

type (
	boot    struct{}
	changed struct{}
	sample  struct{}
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
		a.limits()
		a.changedSoon()
	case msg.Facts:
		if len(m.Detail) == 0 {
			delete(a.known.facts, m.Name)
		} else {
			a.known.facts[m.Name] = m.Detail
		}
	case msg.Ops:
		a.publish(m.What, m.Payload)
	case msg.Look:
		a.look(m.Until)
	case sample:
		a.sampling = false
		a.sample()
	case msg.ChildEnded:
		a.terminalDied(m)
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
	if _, err := a.SendAfter(a.PID(), changed{}, changedAfter); err == nil {
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
		a.look(a.opt.Now().Add(lookMost))
		return a.tree(), nil
	case msg.Ready:
		return msg.Done{}, nil
	}
	return msg.Done{Err: gen.ErrUnsupported}, nil
}

// lists are the processes of every application that runs.
func (a *actor) lists() []appList {
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
	return apps
}

func (a *actor) tree() contract.Tree {
	node, apps := a.Node(), a.lists()
	house := &contract.HouseFacts{Windows: []contract.WindowFacts{}, Alarms: a.history.list(), Goroutines: runtime.NumGoroutine()}
	house.Log.Subjects = []contract.SubjectCount{}
	for _, app := range apps {
		house.Actors += len(app.processes)
		for _, p := range app.processes {
			if strings.HasPrefix(string(p.Name), msg.KindConversation+":") {
				house.Awake++
			}
		}
	}
	return contract.Tree{
		BootID: a.opt.BootID, Time: a.opt.Now().UTC(), House: house,
		Root: build(string(node.Name()), node.Uptime(), apps, a.known, a.history),
	}
}

// look has the tree sampled until then.
func (a *actor) look(until time.Time) {
	if until.After(a.until) {
		a.until = until
	}
	if !a.sampling {
		a.sample()
	}
}

// sample takes one sample and asks for the next while somebody looks.
func (a *actor) sample() {
	now := a.opt.Now()
	if !now.Before(a.until) {
		a.history.forget()
		return
	}
	wrong := a.history.sample(now, a.lists())
	a.alarm(a.history.settle(now, []contract.AlarmKind{contract.AlarmMailbox, contract.AlarmWaiting, contract.AlarmZombie}, wrong))
	if _, err := a.SendAfter(a.PID(), sample{}, sampleEvery); err == nil {
		a.sampling = true
	}
}

// limits raises and ends the alarms of spent budgets, which are told and need no
// sample.
func (a *actor) limits() {
	wrong := map[alarm]bool{}
	for name, s := range a.known.status {
		if s.LimitReached {
			wrong[alarm{string(name), contract.AlarmLimit}] = true
		}
	}
	a.alarm(a.history.settle(a.opt.Now(), []contract.AlarmKind{contract.AlarmLimit}, wrong))
}

func (a *actor) alarm(changed []contract.Alarm) {
	for _, c := range changed {
		a.publish(contract.OpsAlarm, c)
		if !c.Over {
			a.Log().Warning("alarm actor=%s kind=%s", c.Actor, string(c.Kind))
		}
	}
}

// terminalDied tells of a terminal that could not tell of its end itself.
func (a *actor) terminalDied(m msg.ChildEnded) {
	id, ok := msg.TerminalOf(m.Name)
	if !ok || m.Quiet || m.PID == (gen.PID{}) {
		return
	}
	subject, err := contract.TerminalSubject(contract.TerminalExited, id)
	if err != nil {
		return
	}
	body, err := contract.Marshal(contract.TerminalExitedEvent{ExitCode: -1})
	if err != nil {
		return
	}
	if _, err := a.opt.Publisher.Publish(subject, "", body); err != nil {
		a.Log().Warning("end of a terminal not published terminal=%s reason=%s", string(id), err)
	}
}
