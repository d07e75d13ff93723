package supervisors

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

const (
	// retryTaken is the wait for a name that is not free yet: the end of a
	// process is told before its name is given back. Source: actors.md 4.
	retryTaken = 5 * time.Millisecond
	// takenLimit is how long a taken name is waited for without counting it.
	// After that somebody else holds it and the start counts as failed.
	takenLimit = 5 * time.Second
	// answerWithin bounds every deferred answer, below the 5 s of a Call.
	answerWithin = 4 * time.Second
	// resendAfter and resendTries bound the fan-out into a full mailbox.
	// Source: actors.md 5.
	resendAfter = 50 * time.Millisecond
	resendTries = 5
	// maxReason bounds the reason in a status, in bytes.
	maxReason = 500
)

// Common is what every policy supervisor is given by apps.
type Common struct {
	// Sinks are the registered names that get msg.Status, msg.Ops and
	// msg.ChildEnded. Empty means msg.Inspect.
	Sinks []gen.Atom
	// Fatal is called, from inside the supervisor, when a child whose row says
	// fatal is down. It must not block. Without it the supervisor ends itself
	// with a FatalError instead.
	Fatal func(msg.Fatal)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// FatalError is the reason of a supervisor that ends because a child without
// which the service makes no sense is down and nobody takes the msg.Fatal.
type FatalError struct{ msg.Fatal }

// Error names the child and its last reason.
func (e FatalError) Error() string {
	return "supervisors: " + string(e.Name) + " is down: " + e.Reason
}

// row is one line of the Policies table.
type row struct {
	// name is a registered name, or a kind with its colon ("acp:").
	name gen.Atom
	// process is set for a named child, make for the others.
	process Process
	make    Maker
	window  Window
	// fatal: main is told when the budget is spent.
	fatal bool
	// keep: a child that ended on purpose stays known as stopped.
	keep bool
	// renew: an Ensure by a person gives a spent child a fresh budget.
	renew bool
}

func (r *row) named() bool { return r.make == nil }

func (r *row) covers(name gen.Atom) bool {
	if strings.HasSuffix(string(r.name), ":") {
		return len(name) > len(r.name) && strings.HasPrefix(string(name), string(r.name))
	}
	return name == r.name
}

// kid is what the policy knows of one child.
type kid struct {
	row   *row
	name  gen.Atom
	args  []any
	state msg.ChildState
	// pid is empty while nothing runs; it is cleared when the end is handled,
	// not when it happens.
	pid      gen.PID
	started  time.Time
	window   Window
	restarts uint64
	reason   string
	// said is what the present process reported before it ended, detail what
	// it says besides while it runs.
	said   string
	detail any
	limit  bool
	// ending: an exit was sent on purpose. again: start it once more after
	// that. held: an operator stopped it.
	ending, again, held bool
	// taken is since when its name has not been free.
	taken time.Time
	// turn invalidates timers of earlier decisions.
	turn uint64
	// ensures and stops wait for a start and for an end.
	ensures, stops []waiter
}

// waiter is one deferred answer.
type waiter struct {
	from    gen.PID
	ref     gen.Ref
	created bool
}

// seat is an Ensure that waits for somebody to fall asleep.
type seat struct {
	waiter
	req msg.Ensure
}

// Messages to oneself.
type (
	boot struct{}
	// booted is closed when the named children have been started.
	booted struct{ done chan struct{} }
	// ended takes its turn behind what the child still said; the exit signal
	// itself overtakes that.
	ended struct {
		name gen.Atom
		pid  gen.PID
		why  error
	}
	tryStart struct {
		name gen.Atom
		turn uint64
	}
	checkStart struct{ pid gen.PID }
	lost       struct{ pid gen.PID }
	// refresh pushes a status again when a restart has left the window.
	refresh struct{ name gen.Atom }
	// overdue answers whatever still waits under ref.
	overdue struct {
		name gen.Atom
		ref  gen.Ref
	}
	resend struct {
		to      gen.Atom
		message msg.OwnerGone
		tries   int
	}
)

// policy is the restart policy that every supervisor of this package embeds.
// Every callback is trivial on purpose: an error or a panic in one ends the
// supervisor.
type policy struct {
	act.Supervisor

	launcher *launcher
	common   Common
	rows     []*row
	// owners is nil where nothing is fanned out.
	owners owners
	places *places

	kids  map[gen.Atom]*kid
	order []gen.Atom
	byPID map[gen.PID]gen.Atom
	seats []seat

	quiesced bool
	// fatal, once set, is the reason this supervisor ends with.
	fatal error
	// unheard counts pushes that a full sink did not take.
	unheard uint64
}

// setup is the body of every Init.
func (p *policy) setup(opt Common, rows ...*row) (act.SupervisorSpec, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if len(opt.Sinks) == 0 {
		opt.Sinks = []gen.Atom{msg.Inspect}
	}
	p.common = opt
	p.kids = make(map[gen.Atom]*kid)
	p.byPID = make(map[gen.PID]gen.Atom)
	if p.places == nil {
		p.places = newPlaces(0)
	}
	for _, r := range rows {
		if r.make != nil || r.process.Factory != nil {
			p.rows = append(p.rows, r)
		}
	}
	return spec(), nil
}

// boot starts the named children in the order of their rows.
func (p *policy) boot() {
	for _, r := range p.rows {
		if !r.named() {
			continue
		}
		k := p.add(r, r.name, nil)
		if r.process.Off {
			p.set(k, msg.StateStopped)
			continue
		}
		p.try(k)
	}
}

// HandleChildStart comes after the policy has learned the pid already.
func (p *policy) HandleChildStart(gen.Atom, gen.PID) error { return nil }

// HandleChildTerminate only passes the end on to the mailbox.
//
// Deliberate: the exit signal overtook what the child said before it died. As
// a message of ours it takes its turn behind that.
func (p *policy) HandleChildTerminate(_ gen.Atom, pid gen.PID, why error) error {
	p.self(ended{p.byPID[pid], pid, why})
	return nil
}

// HandleMessage runs one decision, or takes what a child says of itself.
func (p *policy) HandleMessage(from gen.PID, message any) error {
	switch m := message.(type) {
	case boot:
		p.boot()
	case booted:
		close(m.done)
	case ended:
		p.ended(m)
	case tryStart:
		if k := p.kids[m.name]; k != nil && k.turn == m.turn {
			p.try(k)
		}
	case checkStart:
		p.checkStart(m.pid)
	case lost:
		p.lost(m.pid)
	case refresh:
		if k := p.kids[m.name]; k != nil {
			p.push(k)
		}
	case overdue:
		p.overdue(m)
	case resend:
		p.tell(m.to, m.message, m.tries)
	case msg.Status:
		p.heard(from, m)
	case msg.Owns:
		p.owns(from, m)
	case msg.Released:
		if host, ok := p.byPID[from]; ok && p.owners != nil {
			p.owners.released(host, m.Conversation)
		}
	case msg.Idle:
		p.idle(from, m.Since)
	case msg.ReportStatus:
		for _, name := range p.order {
			p.push(p.kids[name])
		}
	default:
		p.Log().Warning("unknown message type=%T from=%s", message, from)
	}
	return p.fatal
}

// HandleCall answers the doors. Failures are values; the reason is nil unless
// the supervisor has to end.
func (p *policy) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	var answer any
	w := waiter{from: from, ref: ref}
	switch r := request.(type) {
	case msg.Ensure:
		if e, ok := p.ensure(w, r); ok {
			answer = e
		}
	case msg.Reset:
		answer = p.reset(r.Name)
	case msg.StartChild:
		answer = p.startChild(r.Name)
	case msg.StopChild:
		if a, ok := p.stopChild(w, r.Name); ok {
			answer = a
		}
	case msg.Children:
		answer = p.list()
	case msg.Quiesce:
		p.quiesce()
		answer = p.list()
	default:
		p.Log().Warning("unknown request type=%T from=%s", request, from)
		answer = msg.RefuseRequest()
	}
	return answer, p.fatal
}

// add makes an entry for a child that has never run.
func (p *policy) add(r *row, name gen.Atom, args []any) *kid {
	k := &kid{row: r, name: name, args: args, state: msg.StateStopped, window: r.window.fresh()}
	p.kids[name] = k
	p.order = append(p.order, name)
	return k
}

// forget drops the entry; the last push says so.
func (p *policy) forget(k *kid) {
	k.state, k.pid = msg.StateStopped, gen.PID{}
	k.turn++
	delete(p.kids, k.name)
	p.order = slices.DeleteFunc(p.order, func(n gen.Atom) bool { return n == k.name })
	s := p.status(k)
	s.Gone = true
	p.emit(s)
}

// try starts k once, now.
func (p *policy) try(k *kid) {
	k.turn++
	if p.quiesced {
		p.refuse(k, msg.Ensured{Err: msg.RefuseDraining()})
		p.rest(k)
		return
	}
	now := p.common.Now()
	pid, err := p.spawn(k)
	switch {
	case err == nil:
		k.pid, k.started, k.taken, k.said, k.detail = pid, now, time.Time{}, "", nil
		k.ending, k.again, k.held, k.limit = false, false, false, false
		p.byPID[pid] = k.name
		p.set(k, msg.StateRunning)
		p.after(checkStart{pid}, retryTaken)
		for _, w := range k.ensures {
			p.answer(w, msg.Ensured{PID: pid, Created: w.created})
		}
		k.ensures = nil
	case errors.Is(err, errEnding):
		p.refuse(k, msg.Ensured{Err: msg.RefuseDraining()})
		p.rest(k)
	case errors.Is(err, gen.ErrTaken) && (k.taken.IsZero() || now.Sub(k.taken) < takenLimit):
		if k.taken.IsZero() {
			k.taken = now
			p.set(k, msg.StateStarting)
		}
		p.after(tryStart{k.name, k.turn}, retryTaken)
	default:
		k.taken = time.Time{}
		k.reason = reasonText(err)
		p.report(k, gen.PID{}, err)
		p.failed(k)
	}
}

// ended decides about a child whose end has had its turn.
func (p *policy) ended(e ended) {
	delete(p.byPID, e.pid)
	k := p.kids[e.name]
	if k == nil || k.pid != e.pid {
		return
	}
	if k.said != "" {
		k.reason, k.said = k.said, ""
	} else {
		k.reason = reasonText(e.why)
	}
	p.report(k, e.pid, e.why) // before anything is decided
	k.pid, k.started, k.detail = gen.PID{}, time.Time{}, nil
	k.turn++
	p.places.gone(k.name)
	on := k.ending || quiet(e.why)
	switch {
	case p.quiesced:
		p.refuse(k, p.stopped(k))
		p.rest(k)
	case !k.ending && (k.state == msg.StateIncompatible || errors.Is(e.why, msg.ErrIncompatible)):
		p.set(k, msg.StateIncompatible)
		p.refuse(k, msg.Ensured{Err: msg.RefuseState(k.name, k.state, k.reason)})
	case on && (k.again || len(k.ensures) > 0 && !k.held):
		p.try(k)
	case on:
		p.refuse(k, p.stopped(k))
		p.rest(k)
	default:
		p.failed(k)
	}
	p.answerStops(k)
	p.fillSeats()
}

// rest leaves k without a process on purpose.
func (p *policy) rest(k *kid) {
	k.ending, k.again = false, false
	if k.row.named() || k.row.keep {
		p.set(k, msg.StateStopped)
		return
	}
	p.forget(k)
}

// failed counts one abnormal end or failed start, and decides.
func (p *policy) failed(k *kid) {
	k.ending, k.again = false, false
	if k.row.window.Max == 0 {
		p.refuse(k, msg.Ensured{Err: msg.RefuseStart(k.name, k.reason)})
		p.rest(k)
		return
	}
	now := p.common.Now()
	wait, ok := k.window.Allow(now)
	if !ok {
		p.down(k)
		return
	}
	k.restarts++
	p.Log().Warning("child ended name=%s reason=%q restart=%d/%d", string(k.name), k.reason, k.window.InWindow(now), k.row.window.Max)
	p.set(k, msg.StateBackoff)
	p.emit(msg.RestartNotice(k.name, k.reason, k.window.InWindow(now)))
	p.after(tryStart{k.name, k.turn}, max(wait, retryTaken))
	p.after(refresh{k.name}, k.row.window.Within)
}

// down ends the restarts of k. Its siblings and this supervisor go on.
func (p *policy) down(k *kid) {
	k.limit = true
	p.Log().Error("child down name=%s reason=%q max=%d window=%s", string(k.name), k.reason, k.row.window.Max, k.row.window.Within)
	p.set(k, msg.StateDown)
	p.emit(msg.LimitNotice(p.Name(), k.name))
	p.refuse(k, msg.Ensured{Err: msg.RefuseState(k.name, k.state, k.reason)})
	if !k.row.fatal {
		return
	}
	f := msg.Fatal{Supervisor: p.Name(), Name: k.name, Reason: k.reason}
	if p.common.Fatal == nil {
		p.fatal = FatalError{f}
		return
	}
	p.common.Fatal(f)
}

// report tells the end to the sinks and to the owned conversations.
func (p *policy) report(k *kid, pid gen.PID, why error) {
	p.emit(msg.ChildEnded{Supervisor: p.Name(), Name: k.name, PID: pid, Reason: k.reason, Quiet: quiet(why)})
	if p.owners == nil {
		return
	}
	gone := msg.OwnerGone{Host: k.name, PID: pid, Reason: k.reason}
	for _, conv := range p.owners.gone(k.name) {
		p.tell(conv, gone, 0)
	}
}

// tell sends one OwnerGone; a full mailbox is tried again, then given up. The
// conversation's own watchdog closes the turn in that case.
func (p *policy) tell(to gen.Atom, m msg.OwnerGone, tries int) {
	err := p.Send(to, m)
	switch {
	case err == nil || !errors.Is(err, gen.ErrProcessMailboxFull):
		// Not awake: its transport session was closed before it stopped.
	case tries < resendTries:
		p.after(resend{to, m, tries + 1}, resendAfter)
	default:
		p.Log().Error("owner gone undelivered to=%s host=%s", string(to), string(m.Host))
		p.emit(msg.OverflowNotice(to, "OwnerGone"))
	}
}

// owns records an owned conversation, or answers a host of the past.
func (p *policy) owns(from gen.PID, m msg.Owns) {
	if p.owners == nil {
		p.Log().Warning("owns not kept here from=%s", from)
		return
	}
	host, ok := p.byPID[from]
	if !ok {
		p.tell(m.Conversation, msg.OwnerGone{Host: m.Host, PID: from, Reason: "the host had ended"}, 0)
		return
	}
	p.owners.owns(host, m.Conversation)
}

// heard takes what a child reports about itself; only the current one counts.
func (p *policy) heard(from gen.PID, s msg.Status) {
	k := p.kids[p.byPID[from]]
	if k == nil || k.pid != from {
		return
	}
	if s.LastReason != "" {
		k.said = short(s.LastReason)
	}
	news := s.Detail != nil
	if news {
		k.detail = s.Detail
	}
	switch s.State {
	case msg.StateStarting, msg.StateRunning:
		if k.state != msg.StateIncompatible && (k.state != s.State || news) {
			p.set(k, s.State)
		}
	case msg.StateIncompatible:
		// It may live on, to refuse with its own words; see sidecar-protocol.md
		// (the child stays until the next reset).
		if k.said != "" {
			k.reason = k.said
		}
		p.set(k, msg.StateIncompatible)
	}
}

// idle takes an idle report, and looks for somebody else to sleep if the one
// that was asked is busy by now.
func (p *policy) idle(from gen.PID, since time.Time) {
	name, ok := p.byPID[from]
	if !ok {
		return
	}
	if p.places.said(name, since) || !since.IsZero() {
		p.seek()
	}
}

// ensure answers at once (true) or later.
func (p *policy) ensure(w waiter, r msg.Ensure) (msg.Ensured, bool) {
	row := p.rowOf(r.Name)
	if row == nil {
		return msg.Ensured{Err: msg.RefuseUnknown(r.Name)}, true
	}
	if p.quiesced {
		return msg.Ensured{Err: msg.RefuseDraining()}, true
	}
	k := p.kids[r.Name]
	if k == nil || k.pid == (gen.PID{}) && (k.state == msg.StateStopped || k.state == msg.StateDown) {
		if k != nil {
			if k.held && k.state == msg.StateStopped || k.state == msg.StateDown && !(r.User && row.renew) {
				return msg.Ensured{Err: msg.RefuseState(k.name, k.state, k.reason)}, true
			}
		}
		if !p.places.free(p.awake()) {
			return p.wait(w, r)
		}
		if k == nil {
			k = p.add(row, r.Name, r.Args)
		} else if r.Args != nil {
			k.args = r.Args
		}
		if k.limit {
			k.window.Reset()
			k.limit = false
		}
		w.created = true
		k.ensures = append(k.ensures, w)
		p.try(k)
		p.due(r.Name, w, len(k.ensures) > 0)
		return msg.Ensured{}, false
	}
	switch {
	case k.state == msg.StateIncompatible && !k.ending:
		return msg.Ensured{Err: msg.RefuseState(k.name, k.state, k.reason)}, true
	case k.ending && k.held:
		return msg.Ensured{Err: msg.RefuseState(k.name, msg.StateStopped, "")}, true
	case k.pid != (gen.PID{}) && !k.ending && p.alive(k.pid):
		return msg.Ensured{PID: k.pid}, true
	}
	// Between one process and the next: it is answered when that one is there.
	if r.Args != nil {
		k.args = r.Args
	}
	k.ensures = append(k.ensures, w)
	p.due(r.Name, w, true)
	return msg.Ensured{}, false
}

// wait seats an Ensure until a place is free, and asks somebody to sleep.
func (p *policy) wait(w waiter, r msg.Ensure) (msg.Ensured, bool) {
	p.seats = append(p.seats, seat{w, r})
	p.due(r.Name, w, true)
	if p.seek() {
		return msg.Ensured{}, false
	}
	p.seats = p.seats[:len(p.seats)-1]
	return msg.Ensured{Err: msg.RefuseFull(p.places.max)}, true
}

// seek asks the longest idle ones to sleep until there is one for each seat. It
// returns false, and leaves the seats alone, if there are not enough.
func (p *policy) seek() bool {
	for len(p.places.asked) < p.wanted() {
		name, ok := p.places.pick()
		if !ok {
			return false
		}
		if err := p.Send(name, msg.Sleep{}); err != nil {
			// It ends by itself or is flooded; its own end or report frees it.
			p.Log().Debug("sleep not delivered to=%s err=%q", string(name), err)
		}
	}
	return true
}

// wanted counts the places that the seats need; two may wait for one child.
func (p *policy) wanted() int {
	names := make(map[gen.Atom]struct{}, len(p.seats))
	for _, s := range p.seats {
		names[s.req.Name] = struct{}{}
	}
	return len(names)
}

// fillSeats starts who waits for a place, first come first served.
func (p *policy) fillSeats() {
	for len(p.seats) > 0 && p.places.free(p.awake()) {
		s := p.seats[0]
		p.seats = p.seats[1:]
		if e, ok := p.ensure(s.waiter, s.req); ok {
			p.answer(s.waiter, e)
		}
	}
}

func (p *policy) reset(name gen.Atom) msg.ChildAnswer {
	k := p.kids[name]
	if k == nil {
		return msg.ChildAnswer{Err: msg.RefuseUnknown(name)}
	}
	if p.quiesced {
		return msg.ChildAnswer{State: k.state, Err: msg.RefuseDraining()}
	}
	k.window.Reset()
	k.limit = false
	return p.start(k)
}

func (p *policy) startChild(name gen.Atom) msg.ChildAnswer {
	k := p.kids[name]
	if k == nil {
		return msg.ChildAnswer{Err: msg.RefuseUnknown(name)}
	}
	if p.quiesced {
		return msg.ChildAnswer{State: k.state, Err: msg.RefuseDraining()}
	}
	return p.start(k)
}

// start starts k now unless it runs already. One that lives on as incompatible
// is replaced.
func (p *policy) start(k *kid) msg.ChildAnswer {
	k.held = false
	switch {
	case k.pid == (gen.PID{}):
		k.taken = time.Time{}
		p.try(k)
	case k.ending:
		k.again = true
	case k.state == msg.StateIncompatible:
		k.again = true
		p.exit(k)
	default:
		p.push(k)
	}
	return msg.ChildAnswer{State: k.state}
}

func (p *policy) stopChild(w waiter, name gen.Atom) (msg.ChildAnswer, bool) {
	k := p.kids[name]
	if k == nil {
		return msg.ChildAnswer{Err: msg.RefuseUnknown(name)}, true
	}
	k.held, k.again = true, false
	if k.pid == (gen.PID{}) {
		k.turn++ // no timer starts it any more
		p.refuse(k, p.stopped(k))
		p.rest(k)
		return msg.ChildAnswer{State: msg.StateStopped}, true
	}
	k.stops = append(k.stops, w)
	p.exit(k)
	p.due(name, w, true)
	return msg.ChildAnswer{}, false
}

// exit ends the process of k on purpose.
func (p *policy) exit(k *kid) {
	k.ending = true
	if err := p.SendExit(k.pid, gen.TerminateReasonShutdown); err != nil && !errors.Is(err, gen.ErrProcessUnknown) {
		p.Log().Error("exit not sent name=%s err=%q", string(k.name), err)
	}
}

// quiesce starts nothing from now on and answers everybody who waits for that.
func (p *policy) quiesce() {
	p.quiesced = true
	for _, s := range p.seats {
		p.answer(s.waiter, msg.Ensured{Err: msg.RefuseDraining()})
	}
	p.seats = nil
	for _, name := range slices.Clone(p.order) {
		k := p.kids[name]
		k.again = false
		p.refuse(k, msg.Ensured{Err: msg.RefuseDraining()})
		if k.pid == (gen.PID{}) && (k.state == msg.StateBackoff || k.state == msg.StateStarting) {
			k.turn++
			p.rest(k)
		}
	}
}

func (p *policy) list() msg.ChildList {
	l := msg.ChildList{Supervisor: p.Name(), Children: make([]msg.Status, 0, len(p.order))}
	for _, name := range p.order {
		l.Children = append(l.Children, p.status(p.kids[name]))
	}
	return l
}

// overdue answers whoever still waits under ref, with the reason.
func (p *policy) overdue(o overdue) {
	mine := func(w waiter) bool { return w.ref == o.ref }
	if i := slices.IndexFunc(p.seats, func(s seat) bool { return mine(s.waiter) }); i >= 0 {
		w := p.seats[i].waiter
		p.seats = slices.Delete(p.seats, i, i+1)
		p.places.giveUp()
		p.answer(w, msg.Ensured{Err: msg.RefuseFull(p.places.max)})
		return
	}
	k := p.kids[o.name]
	if k == nil {
		return
	}
	if i := slices.IndexFunc(k.ensures, mine); i >= 0 {
		w := k.ensures[i]
		k.ensures = slices.Delete(k.ensures, i, i+1)
		p.answer(w, msg.Ensured{Err: msg.RefuseSlow(k.name, "start")})
	}
	if i := slices.IndexFunc(k.stops, mine); i >= 0 {
		w := k.stops[i]
		k.stops = slices.Delete(k.stops, i, i+1)
		p.answer(w, msg.ChildAnswer{State: k.state, Err: msg.RefuseSlow(k.name, "stop")})
	}
}

// refuse answers every Ensure that waits for k.
func (p *policy) refuse(k *kid, e msg.Ensured) {
	for _, w := range k.ensures {
		p.answer(w, e)
	}
	k.ensures = nil
}

func (p *policy) answerStops(k *kid) {
	for _, w := range k.stops {
		p.answer(w, msg.ChildAnswer{State: k.state})
	}
	k.stops = nil
}

// stoppedWhy is the answer to an Ensure that a deliberate end overtook.
func (p *policy) stopped(k *kid) msg.Ensured {
	if p.quiesced {
		return msg.Ensured{Err: msg.RefuseDraining()}
	}
	return msg.Ensured{Err: msg.RefuseState(k.name, msg.StateStopped, "")}
}

func (p *policy) rowOf(name gen.Atom) *row {
	for _, r := range p.rows {
		if r.covers(name) {
			return r
		}
	}
	return nil
}

// awake counts the children that run or are about to.
func (p *policy) awake() int {
	n := 0
	for _, k := range p.kids {
		if k.pid != (gen.PID{}) || k.state == msg.StateBackoff || k.state == msg.StateStarting {
			n++
		}
	}
	return n
}

func (p *policy) alive(pid gen.PID) bool {
	state, err := p.Node().ProcessState(pid)
	return err == nil && state != gen.ProcessStateTerminated && state != gen.ProcessStateZombee
}

// set changes the state and tells it.
func (p *policy) set(k *kid, s msg.ChildState) {
	k.state = s
	p.push(k)
}

func (p *policy) status(k *kid) msg.Status {
	return msg.Status{
		Supervisor: p.Name(), Name: k.name, State: k.state, PID: k.pid, Started: k.started,
		Restarts: k.restarts, InWindow: k.window.InWindow(p.common.Now()),
		Max: k.row.window.Max, Window: k.row.window.Within,
		LastReason: k.reason, LimitReached: k.limit, Detail: k.detail,
	}
}

func (p *policy) push(k *kid) { p.emit(p.status(k)) }

// emit hands one message to every sink. A sink that does not run asks again
// with msg.ReportStatus when it does.
func (p *policy) emit(m any) {
	for _, sink := range p.common.Sinks {
		if err := p.Send(sink, m); errors.Is(err, gen.ErrProcessMailboxFull) {
			if p.unheard++; p.unheard == 1 {
				p.Log().Warning("sink is full name=%s", string(sink))
			}
		}
	}
}

// answer sends a deferred answer; a caller that left is no concern.
func (p *policy) answer(w waiter, v any) {
	if err := p.SendResponse(w.from, w.ref, v); err != nil {
		p.Log().Debug("answer not delivered err=%q", err)
	}
}

// due makes sure that a deferred answer comes in time.
func (p *policy) due(name gen.Atom, w waiter, waiting bool) {
	if waiting {
		p.after(overdue{name, w.ref}, answerWithin)
	}
}

// self sends to this supervisor, behind what waits already. The mailbox has no
// limit, so this fails only when the supervisor is ending.
func (p *policy) self(m any) {
	if err := p.Send(p.PID(), m); err != nil {
		p.Log().Error("message to itself lost type=%T err=%q", m, err)
	}
}

func (p *policy) after(m any, d time.Duration) {
	if _, err := p.SendAfter(p.PID(), m, d); err != nil {
		p.Log().Error("timer lost type=%T err=%q", m, err)
	}
}

// quiet tells the reasons of a deliberate end.
func quiet(why error) bool {
	return errors.Is(why, gen.TerminateReasonNormal) || errors.Is(why, gen.TerminateReasonShutdown)
}

func reasonText(why error) string {
	if why == nil {
		return ""
	}
	return short(why.Error())
}

// short cuts a reason to maxReason bytes, between characters.
func short(s string) string {
	if len(s) <= maxReason {
		return s
	}
	s = s[:maxReason]
	for i := 0; i < utf8.UTFMax && !utf8.ValidString(s); i++ {
		s = s[:len(s)-1]
	}
	return s
}
