package supervisors

import (
	"errors"
	"fmt"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
)

// childSpec is the only spec name the framework ever sees. It is no registered
// name, so an end of the supervisor itself is never mistaken for a child's.
const childSpec gen.Atom = "child"

var (
	// errEnding: the framework is ending this supervisor and starts nothing.
	errEnding = errors.New("the supervisor is ending")
	// errEndedAtStart: the child ended before the framework had linked it, and
	// its reason is lost.
	errEndedAtStart = errors.New("ended right after its start")
)

// Process is how to start one actor. The zero Factory means that this part is
// not there; a named one is then left out of the tree.
type Process struct {
	Factory gen.ProcessFactory
	// Args reach the actor's Init as they are.
	Args []any
	// Options carries MailboxSize and the like; links are set by the policy.
	Options gen.ProcessOptions
	// Off leaves a named child stopped until StartChild or Reset.
	Off bool
}

// Maker makes the process of one dynamic child. name is what the actor has to
// register in its Init; args are those of the [msg.Ensure] that asked for it.
// It runs inside the supervisor: no I/O, no waiting. An error counts as a
// failed start.
type Maker func(name gen.Atom, args []any) (Process, error)

// launch is one start, handed from the policy to the launcher through the
// framework, whose own spec knows neither a name nor an own factory per child.
type launch struct {
	register gen.Atom // empty when the child registers itself
	process  Process
	pid      gen.PID
	done     bool // Spawn was reached
}

// launcher stands between act.Supervisor and its process. The framework asks it
// to spawn "a child"; it spawns the one that the policy prepared, under the
// right name, and keeps the pid. The pid must not be looked up by name
// afterwards: the child may have ended by then, or the name be somebody else's.
type launcher struct {
	gen.Process
	next *launch
}

// Spawn is called by act.Supervisor only; factory and args are the dummies of
// childSpec. The links of o are set and kept.
func (l *launcher) Spawn(_ gen.ProcessFactory, o gen.ProcessOptions, _ ...any) (gen.PID, error) {
	n := l.next
	if n == nil {
		return gen.PID{}, errEnding
	}
	opt := n.process.Options
	opt.LinkChild, opt.LinkParent = o.LinkChild, o.LinkParent
	n.done = true
	var err error
	if n.register != "" {
		n.pid, err = l.SpawnRegister(n.register, n.process.Factory, opt, n.process.Args...)
	} else {
		n.pid, err = l.Process.Spawn(n.process.Factory, opt, n.process.Args...)
	}
	return n.pid, err
}

// ProcessInit puts the launcher under the supervisor and lets the framework
// start it without children. The named ones are started by the first message.
//
// Deliberate: not in Init. A child that already runs would send to a supervisor
// that does not, where the framework writes its state without a lock.
func (p *policy) ProcessInit(process gen.Process, args ...any) error {
	p.launcher = &launcher{Process: process}
	if err := p.Supervisor.ProcessInit(p.launcher, args...); err != nil {
		return err
	}
	return p.Send(p.PID(), boot{})
}

// spec is what the framework is told: never restart, never end by yourself.
func spec() act.SupervisorSpec {
	return act.SupervisorSpec{
		Type:                act.SupervisorTypeSimpleOneForOne,
		Children:            []act.SupervisorChildSpec{{Name: childSpec, Factory: func() gen.ProcessBehavior { return nil }}},
		Restart:             act.SupervisorRestart{Strategy: act.SupervisorStrategyTemporary},
		EnableHandleChild:   true,
		DisableAutoShutdown: true,
	}
}

// spawn starts one child and returns its pid. gen.ErrTaken: the name is not
// free yet. errEnding: nothing is started any more.
func (p *policy) spawn(k *kid) (gen.PID, error) {
	process, err := k.row.prepare(k.name, k.args)
	if err != nil {
		return gen.PID{}, err
	}
	next := &launch{process: process}
	if k.row.named() {
		next.register = k.name
	}
	p.launcher.next = next
	err = p.StartChild(childSpec)
	p.launcher.next = nil
	switch {
	case err != nil:
		return gen.PID{}, err
	case !next.done:
		// The framework answers nil and starts nothing while it ends.
		return gen.PID{}, errEnding
	}
	return next.pid, nil
}

// prepare returns the process of one child; a maker that panics is an error.
func (r *row) prepare(name gen.Atom, args []any) (process Process, err error) {
	if r.named() {
		return r.process, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its maker failed: %v", v)
		}
	}()
	process, err = r.make(name, args)
	if err == nil && process.Factory == nil {
		err = errors.New("its maker gave no factory")
	}
	return process, err
}

// checkStart closes a gap of the framework: a parent is linked to a child after
// the child has begun to run. One that ends at once may end before that, and
// then no exit signal ever comes: the policy would believe it running, and the
// supervisor's own end would wait for it for ever.
//
// It runs 5 ms after each start. If the process is gone and the link is still
// there, no signal will come. Unlinking first settles it: what was sent before
// is in the urgent queue by now, which is read before the lost message.
func (p *policy) checkStart(pid gen.PID) {
	name, known := p.byPID[pid]
	if !known {
		return
	}
	if _, err := p.Node().ProcessState(pid); err == nil {
		if at, err := p.Node().ProcessPID(name); err != nil || at != pid {
			// Nobody would find it, and a second one could be started.
			p.Log().Error("child did not register its name=%s pid=%s", string(name), pid)
		}
		return
	}
	if err := p.UnlinkPID(pid); err == nil {
		p.self(lost{pid})
	}
}

// lost delivers the exit signal that the framework did not.
func (p *policy) lost(pid gen.PID) {
	for _, c := range p.Supervisor.Children() {
		if c.PID != pid {
			continue
		}
		m := gen.TakeMailboxMessage()
		m.From, m.Type = pid, gen.MailboxMessageTypeExit
		m.Message = gen.MessageExitPID{PID: pid, Reason: errEndedAtStart}
		if !p.Mailbox().Urgent.Push(m) {
			gen.ReleaseMailboxMessage(m)
			p.Log().Error("exit signal lost pid=%s", pid)
		}
		return
	}
}
