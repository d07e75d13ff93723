package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Options is what every terminal of the service shares.
type Options struct {
	// BootID and Home mark the programs, so that a later start can end what a
	// SIGKILL left behind.
	BootID, Home string
	// Register records a process group until release is called, usually
	// [child.Registry.Register]; may be nil.
	Register func(*child.Group) (release func())
	// Publisher takes the events; nil for none.
	Publisher msg.Publisher
	// Keep is handed what would be left if the service ended now: at the start, a
	// while after the output has paused, now and then when it does not pause, at
	// an end and at a drain. It runs on a goroutine of its own, never twice at
	// once for one terminal, and a drain waits for it. May be nil.
	Keep func(msg.TerminalImage)
	// Forget is called, behind the last Keep, when a person has closed the
	// terminal: nothing of it is to be kept. May be nil.
	Forget func(contract.TerminalID)
	// Now is the clock.
	Now func() time.Time
}

// keepEvery is how often it is looked whether an image has to be kept. Output
// that never pauses is kept each keepRunning-th time: an image costs a few ms.
const (
	keepEvery   = 3 * time.Second
	keepRunning = 10
)

// tellAfter joins title changes: a program may set one with each line.
const tellAfter = 100 * time.Millisecond

// New returns the factory of a terminal. Its arguments at Init are the
// contract.TerminalID and the msg.TerminalOpen; the actor registers
// msg.TerminalName itself.
func New(o Options) gen.ProcessFactory {
	if o.Now == nil {
		o.Now = time.Now
	}
	return func() gen.ProcessBehavior { return &actor{opt: o} }
}

type actor struct {
	act.Actor
	opt  Options
	id   contract.TerminalID
	open msg.TerminalOpen

	info   msg.TerminalInfo
	stream *stream
	wg     sync.WaitGroup // The follower.

	alias   gen.Alias // Of the running program's process.
	process *process
	// closing: the actor ends when nothing runs any more; again: it starts the
	// program anew then.
	closing, again bool
	// waiting are the callers of Close, Drain and Restart.
	waiting []waiting
	asking  []asker // Of DescribeTerminal.

	backlog []event
	timer   bool // A flush is on its way.
	title   string
	// looking: a look is on its way. keeping: an image is; last closes when it
	// was handed out. owing: another one is due then.
	looking, keeping, owing bool
	last                    chan struct{}
	kept                    uint64 // The offset of the last image.
	quiet                   uint64 // The offset at the last look.
	looks                   int    // Since the last image.
}

// asker waits for a deferred answer.
type asker struct {
	pid gen.PID
	ref gen.Ref
}

// waiting is one caller that waits until nothing runs.
type waiting struct {
	asker
	answer func(failure *contract.Failure) any
	// kept: the answer comes behind the last image.
	kept bool
}

// event is one event that the log has not taken yet.
type event struct {
	subject string
	payload []byte
}

type (
	boot struct{}
	// started and exited come from the process of the program.
	exited struct {
		alias gen.Alias
		exit  msg.TerminalExit
	}
	// swept: nothing of the program is left.
	swept struct{ pid int }
	// lost comes behind everything that the program's process has said.
	lost  struct{ alias gen.Alias }
	flush struct{}
	look  struct{}
	kept  struct{ offset uint64 }
	count struct{} // The number of views has changed.
)

// Init stores the spec, takes the name and does the rest from the mailbox.
func (a *actor) Init(args ...any) error {
	if len(args) != 2 {
		return fmt.Errorf("terminal: want an id and a spec, got %d arguments", len(args))
	}
	id, ok := args[0].(contract.TerminalID)
	open, fine := args[1].(msg.TerminalOpen)
	if !ok || !fine {
		return fmt.Errorf("terminal: want an id and a spec, got %T and %T", args[0], args[1])
	}
	a.id, a.open = id, open
	if err := a.RegisterName(msg.TerminalName(id)); err != nil {
		return err
	}
	return a.Send(a.PID(), boot{})
}

// HandleMessage takes what the program's process and the stream say.
func (a *actor) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case boot:
		return a.boot()
	case exited:
		a.exited(m.alias, m.exit)
	case swept:
		return a.swept(m.pid)
	case gen.MessageDownAlias:
		// It overtakes what was said before; in the mailbox it waits its turn.
		return a.Send(a.PID(), lost{m.Alias})
	case lost:
		if m.alias == a.alias && a.info.Exit == nil {
			a.Log().Error("program process ended early terminal=%s", string(a.id))
			a.exited(m.alias, msg.TerminalExit{Code: -1})
		}
	case titleChanged:
		a.title = m.title
		a.later()
	case sizeChanged:
		a.info.Cols, a.info.Rows = int(m.size.cols), int(m.size.rows)
		a.publish(contract.TerminalResized, map[string]any{"cols": a.info.Cols, "rows": a.info.Rows})
		a.facts()
	case count:
		a.facts()
	case flush:
		a.timer = false
		a.flush()
	case look:
		a.look()
	case kept:
		a.keeping, a.kept = false, m.offset
		if a.owing {
			a.owing = false
			a.keep()
		}
	default:
		a.Log().Warning("message not known type=%T", message)
	}
	return nil
}

// boot starts the program, or shows what an earlier one left.
func (a *actor) boot() error {
	spec := a.open.Spec
	s := fit(spec.Cols, spec.Rows)
	if a.open.Image != nil {
		s = fit(a.open.Image.Info.Cols, a.open.Image.Info.Rows)
	}
	node, self := a.Node(), a.PID()
	a.stream = newStream(s, func(m any) { _ = node.Send(self, m) })
	a.wg.Go(a.stream.follow)
	a.info = msg.TerminalInfo{ID: a.id, Command: spec.Command, Args: spec.Args, Cwd: spec.Cwd, State: msg.TerminalStarting, Cols: int(s.cols), Rows: int(s.rows)}
	if a.open.Image != nil {
		a.revive(*a.open.Image, s)
		return nil
	}
	if err := a.start(); err != nil {
		failure := contract.Fail(contract.CodeConflict, "%s", startFailure(spec, err))
		a.Log().Warning("terminal not started terminal=%s reason=%s", string(a.id), err)
		for _, who := range a.asking {
			_ = a.SendResponse(who.pid, who.ref, msg.TerminalDescribed{Failure: failure})
		}
		a.asking = nil
		a.failure(failure)
		return gen.TerminateReasonNormal
	}
	a.described()
	return nil
}

// failure answers whoever asks for what did not start: the framework answers
// nothing that lies in the mailbox of a process that ends.
func (a *actor) failure(f *contract.Failure) {
	r, ok := a.Node().(router)
	if !ok {
		return
	}
	for next, ok := a.Mailbox().Main.Pop(); ok; next, ok = a.Mailbox().Main.Pop() {
		m, ok := next.(*gen.MailboxMessage)
		if !ok {
			continue
		}
		if m.Type == gen.MailboxMessageTypeRequest {
			_ = r.RouteSendResponse(a.PID(), m.From, gen.MessageOptions{Ref: m.Ref}, refusal(m.Message, f))
		}
		gen.ReleaseMailboxMessage(m)
	}
}

// router is the part of the framework's node that answers in the name of a
// process that has ended; the process itself may not any more.
type router interface {
	RouteSendResponse(from, to gen.PID, o gen.MessageOptions, message any) error
}

// refusal is the answer to a request that fails with f.
func refusal(request any, f *contract.Failure) any {
	switch request.(type) {
	case msg.DescribeTerminal, msg.RestartTerminal:
		return msg.TerminalDescribed{Failure: f}
	case msg.AttachTerminal:
		return msg.TerminalAttached{Failure: f}
	case msg.Drain:
		return msg.Done{}
	}
	return msg.TerminalDone{Failure: f}
}

func (a *actor) revive(image msg.TerminalImage, s size) {
	a.info = image.Info
	a.info.ID, a.info.State, a.info.PID, a.info.Viewers, a.info.Restored = a.id, msg.TerminalEnded, 0, 0, true
	a.info.Cols, a.info.Rows = int(s.cols), int(s.rows)
	if a.info.Exit == nil {
		a.info.Exit = &msg.TerminalExit{Code: -1} // The service ended first.
	}
	a.stream.show(image.Snapshot, exitFrame(*a.info.Exit))
	a.title = a.info.Title
	a.described()
}

func exitFrame(e msg.TerminalExit) exit { return exit(e.Code) }

// start starts the program in a process of its own.
func (a *actor) start() error {
	spec := a.open.Spec
	_, _, wanted := a.stream.facts()
	m := &meta{opt: a.opt, spec: spec, stream: a.stream, size: wanted, id: a.id}
	alias, err := a.SpawnMeta(m, gen.MetaOptions{})
	if m.err != nil {
		return m.err
	}
	if err != nil {
		return err
	}
	a.alias, a.process = alias, m.process
	a.info.State, a.info.PID, a.info.Exit, a.info.Started = msg.TerminalRunning, m.process.pid(), nil, a.opt.Now()
	a.info.Restored = false
	if err := a.MonitorAlias(alias); err != nil {
		return a.Send(a.PID(), lost{alias})
	}
	a.publish(contract.TerminalOpened, map[string]any{
		"command": spec.Command, "args": append([]string{}, spec.Args...), "cwd": spec.Cwd, "cols": a.info.Cols, "rows": a.info.Rows,
	})
	a.facts()
	a.keep()
	if a.opt.Keep != nil && !a.looking {
		a.looking = a.after(look{}, keepEvery)
	}
	return nil
}

func (a *actor) described() {
	for _, who := range a.asking {
		_ = a.SendResponse(who.pid, who.ref, msg.TerminalDescribed{Info: a.present()})
	}
	a.asking = nil
}

// present is the information with what only the stream knows.
func (a *actor) present() msg.TerminalInfo {
	info := a.info
	info.Title = a.title
	var s size
	info.Offset, info.Viewers, s = a.stream.facts()
	info.Cols, info.Rows = int(s.cols), int(s.rows)
	if info.Exit != nil {
		e := *info.Exit
		info.Exit = &e
	}
	return info
}

// exited notes the end of the program. Its output is in the stream.
func (a *actor) exited(alias gen.Alias, e msg.TerminalExit) {
	if alias != a.alias || a.info.Exit != nil {
		return
	}
	a.stream.end(exitFrame(e))
	a.info.State, a.info.Exit, a.info.PID = msg.TerminalEnded, &e, 0
	payload := struct {
		ExitCode int     `json:"exit_code"`
		Signal   *string `json:"signal"`
	}{ExitCode: e.Code}
	if e.Signal != "" {
		payload.Signal = &e.Signal
	}
	a.publish(contract.TerminalExited, payload)
	a.facts()
	a.keep()
}

// swept goes on with what waited until nothing of the program is left.
func (a *actor) swept(pid int) error {
	if a.process == nil || a.process.pid() != pid {
		return nil
	}
	a.process = nil
	if a.again {
		a.again = false
		a.restart()
	}
	for _, w := range a.waiting {
		if w.kept {
			a.answerKept(w)
			continue
		}
		_ = a.SendResponse(w.pid, w.ref, w.answer(nil))
	}
	a.waiting = nil
	if a.closing {
		a.gone()
		return gen.TerminateReasonNormal
	}
	return nil
}

// answerKept answers behind the last image: who drains the service closes the
// store next.
func (a *actor) answerKept(w waiting) {
	r, ok := a.Node().(router)
	last, self := a.last, a.PID()
	if last == nil || !ok {
		_ = a.SendResponse(w.pid, w.ref, w.answer(nil))
		return
	}
	go func() {
		<-last
		_ = r.RouteSendResponse(self, w.pid, gen.MessageOptions{Ref: w.ref}, w.answer(nil))
	}()
}

// gone tells that a person has closed the terminal.
func (a *actor) gone() {
	a.forget()
	a.publish(contract.TerminalClosed, contract.TerminalClosedEvent{})
}

// restart starts the program anew in place.
func (a *actor) restart() {
	a.stream.again()
	a.title = ""
	if err := a.start(); err != nil {
		e := msg.TerminalExit{Code: -1}
		a.info.State, a.info.Exit = msg.TerminalEnded, &e
		a.stream.end(exitFrame(e))
		failure := contract.Fail(contract.CodeConflict, "%s", startFailure(a.open.Spec, err))
		for i := range a.waiting {
			answer := a.waiting[i].answer
			a.waiting[i].answer = func(*contract.Failure) any { return answer(failure) }
		}
		a.facts()
	}
}

// HandleCall answers commands; failures are values.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	who := asker{from, ref}
	if a.stream == nil {
		// Nothing overtakes boot, but for a test that is in a hurry.
		return refusal(request, contract.Fail(contract.CodeConflict, "The terminal is starting. Try again.")), nil
	}
	switch m := request.(type) {
	case msg.DescribeTerminal:
		return msg.TerminalDescribed{Info: a.present()}, nil
	case msg.AttachTerminal:
		return msg.TerminalAttached{View: a.attach(m)}, nil
	case msg.ResizeTerminal:
		return msg.TerminalDone{Failure: a.resize(m)}, nil
	case msg.RestartTerminal:
		return a.askRestart(who, m), nil
	case msg.CloseTerminal:
		a.closing = true
		done := func(f *contract.Failure) any { return msg.TerminalDone{Failure: f} }
		if a.endFor(waiting{asker: who, answer: done}) {
			return nil, nil
		}
		a.gone()
		return done(nil), gen.TerminateReasonNormal
	case msg.Drain:
		a.closing = false
		w := waiting{asker: who, answer: func(*contract.Failure) any { return msg.Done{} }, kept: true}
		if !a.endFor(w) {
			a.answerKept(w)
		}
		return nil, nil
	}
	return refusal(request, contract.Fail(contract.CodeInternal, "A terminal was asked something it does not know (%T).", request)), nil
}

// endFor ends the program and reports whether w has to wait for that.
func (a *actor) endFor(w waiting) bool {
	if a.process == nil {
		return false
	}
	a.waiting = append(a.waiting, w)
	p := a.process
	go p.end()
	return true
}

func (a *actor) askRestart(who asker, m msg.RestartTerminal) any {
	if a.closing {
		return msg.TerminalDescribed{Failure: contract.Fail(contract.CodeConflict, "The terminal is being closed. Open a new one.")}
	}
	if m.Spec != nil {
		a.open.Spec = *m.Spec
		a.info.Command, a.info.Args, a.info.Cwd = m.Spec.Command, m.Spec.Args, m.Spec.Cwd
	}
	if a.open.Spec.Command == "" {
		return msg.TerminalDescribed{Failure: contract.Fail(contract.CodeConflict, "What ran in this terminal is from before the service was started. Open a new one.")}
	}
	a.open.Image = nil
	answer := func(f *contract.Failure) any {
		if f != nil {
			return msg.TerminalDescribed{Failure: f}
		}
		return msg.TerminalDescribed{Info: a.present()}
	}
	w := waiting{asker: who, answer: answer}
	if a.endFor(w) {
		a.again = true
		return nil
	}
	a.waiting = append(a.waiting, w)
	a.restart()
	a.waiting = a.waiting[:len(a.waiting)-1]
	if a.info.State == msg.TerminalEnded {
		return w.answer(contract.Fail(contract.CodeConflict, "%s", startFailure(a.open.Spec, errNotStarted)))
	}
	return answer(nil)
}

var errNotStarted = errors.New("the program did not start")

func (a *actor) attach(m msg.AttachTerminal) msg.TerminalView {
	v := a.stream.attach(m.Write, m.Wake)
	node, self := a.Node(), a.PID()
	v.detached = func() { _ = node.Send(self, count{}) }
	a.facts()
	return v
}

func (a *actor) resize(m msg.ResizeTerminal) *contract.Failure {
	if m.Cols <= 0 || m.Rows <= 0 {
		return contract.BadParam("cols", "a size needs at least one column and one row")
	}
	if err := a.stream.resize(fit(m.Cols, m.Rows)); err != nil {
		return contract.Fail(contract.CodeInternal, "The size could not be changed: %s. Try again.", err)
	}
	return nil
}

// facts tells inspect about this terminal.
func (a *actor) facts() {
	info := a.present()
	detail, err := json.Marshal(struct {
		TerminalID contract.TerminalID `json:"terminal_id"`
		Command    string              `json:"command"`
		State      msg.TerminalState   `json:"state"`
		ChildPID   int                 `json:"child_pid,omitempty"`
		Cols       int                 `json:"cols"`
		Rows       int                 `json:"rows"`
		Viewers    int                 `json:"viewers"`
		Title      string              `json:"title,omitempty"`
		ExitCode   *int                `json:"exit_code,omitempty"`
		Signal     string              `json:"signal,omitempty"`
		Metas      []string            `json:"metas,omitempty"`
	}{
		info.ID, info.Command, info.State, info.PID, info.Cols, info.Rows, info.Viewers, info.Title,
		exitCode(info.Exit), exitSignal(info.Exit), metas(info.State),
	})
	if err == nil {
		_ = a.Send(msg.Inspect, msg.Facts{Name: string(msg.TerminalName(a.id)), Detail: detail})
	}
}

func exitCode(e *msg.TerminalExit) *int {
	if e == nil || e.Signal != "" {
		return nil
	}
	return &e.Code
}

func exitSignal(e *msg.TerminalExit) string {
	if e == nil {
		return ""
	}
	return e.Signal
}

func metas(s msg.TerminalState) []string {
	if s == msg.TerminalRunning {
		return []string{"pty"}
	}
	return nil
}

// maxBacklog bounds the events that wait for the log.
const maxBacklog = 100

// publish appends an event; while the log takes none it waits.
func (a *actor) publish(what contract.TerminalWhat, payload any) {
	if a.opt.Publisher == nil {
		return
	}
	subject, err := contract.TerminalSubject(what, a.id)
	if err != nil {
		a.Log().Error("terminal event not named reason=%s", err)
		return
	}
	body, err := contract.Marshal(payload)
	if err != nil {
		a.Log().Error("terminal event not encoded reason=%s", err)
		return
	}
	if len(a.backlog) >= maxBacklog {
		a.backlog = a.backlog[1:] // The oldest says the least about now.
	}
	a.backlog = append(a.backlog, event{subject, body})
	a.drainBacklog()
}

func (a *actor) drainBacklog() {
	for len(a.backlog) > 0 {
		e := a.backlog[0]
		if _, err := a.opt.Publisher.Publish(e.subject, "", e.payload); errors.Is(err, msg.ErrBusDown) {
			a.later()
			return
		} else if err != nil {
			a.Log().Error("terminal event refused by the log subject=%s reason=%s", e.subject, err)
		}
		a.backlog = a.backlog[1:]
	}
	a.backlog = nil
}

func (a *actor) later() {
	if !a.timer {
		a.timer = a.after(flush{}, tellAfter)
	}
}

func (a *actor) after(m any, d time.Duration) bool {
	if _, err := a.SendAfter(a.PID(), m, d); err != nil {
		a.Log().Warning("timer not set reason=%s", err)
		return false
	}
	return true
}

func (a *actor) flush() {
	if a.title != a.info.Title {
		a.info.Title = a.title
		a.publish(contract.TerminalTitle, map[string]string{"title": a.title})
		a.facts()
	}
	if len(a.backlog) > 0 {
		a.drainBacklog()
	}
}

// look keeps an image when the output has paused, or has not for long.
func (a *actor) look() {
	offset, _, _ := a.stream.facts()
	a.looks++
	if offset != a.kept && (offset == a.quiet || a.looks >= keepRunning) {
		a.keep()
	}
	a.quiet = offset
	a.looking = (a.info.State == msg.TerminalRunning || a.again) && a.after(look{}, keepEvery)
}

// keep hands out what would be left.
func (a *actor) keep() {
	if a.opt.Keep == nil || a.closing {
		return
	}
	if a.keeping {
		a.owing = true
		return
	}
	a.keeping, a.looks = true, 0
	node, self, st, info, now, hand := a.Node(), a.PID(), a.stream, a.present(), a.opt.Now(), a.opt.Keep
	a.inTurn(func() {
		defer func() { _ = node.Send(self, kept{info.Offset}) }()
		image, s := st.image()
		info.Cols, info.Rows = int(s.cols), int(s.rows)
		hand(msg.TerminalImage{Info: info, Snapshot: image, At: now})
	})
}

// forget has what was kept removed.
func (a *actor) forget() {
	if id, forget := a.id, a.opt.Forget; forget != nil {
		a.inTurn(func() { forget(id) })
	}
}

// inTurn runs f behind what was run before, beside the mailbox: it may write to
// disk.
func (a *actor) inTurn(f func()) {
	before, done, log := a.last, make(chan struct{}), a.Log()
	a.last = done
	go func() {
		defer close(done)
		defer func() {
			if fault := recover(); fault != nil {
				log.Error("terminal image fault fault=%v", fault)
			}
		}()
		if before != nil {
			<-before
		}
		f()
	}()
}

// Terminate ends what waits. The program dies with its process.
func (a *actor) Terminate(error) {
	if a.stream != nil {
		a.stream.close()
	}
	gone := contract.Fail(contract.CodeNotFound, "The terminal is gone. Open a new one.")
	if r, ok := a.Node().(router); ok {
		for _, w := range a.waiting {
			_ = r.RouteSendResponse(a.PID(), w.pid, gen.MessageOptions{Ref: w.ref}, w.answer(gone))
		}
	}
	a.failure(gone)
}
