package bridge

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Terminals judges what may run in a terminal and says how. Implemented by the
// wiring, over the environment and PATH.
type Terminals interface {
	// Spec turns a wish into what is started, or says why not. The size is not
	// looked at.
	Spec(p contract.OpenTerminalParams) (msg.TerminalSpec, *contract.Failure)
	// Presets are the programs of the list that are there, agents first.
	Presets() []contract.TerminalPreset
}

// terminalMethods are the methods about terminals.
var terminalMethods = map[contract.Method]handler{
	contract.MethodOpenTerminal:    openTerminal,
	contract.MethodListTerminals:   listTerminals,
	contract.MethodResizeTerminal:  resizeTerminal,
	contract.MethodCloseTerminal:   closeTerminal,
	contract.MethodRestartTerminal: restartTerminal,
	contract.MethodTerminalPresets: func(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
		return d.opt.Terminals.Presets(), nil
	},
}

// The waits for a terminal, in whole seconds. Source: msg.CloseTerminal.
const (
	terminalStart = 10
	terminalEnd   = 8
)

// sideMost is the most columns or rows that are asked for in earnest.
const sideMost = 1000

func validSize(cols, rows int) *contract.Failure {
	if cols < 1 || cols > sideMost {
		return contract.BadParam("cols", "want 1 to %d", sideMost)
	}
	if rows < 1 || rows > sideMost {
		return contract.BadParam("rows", "want 1 to %d", sideMost)
	}
	return nil
}

func validTerminal(id contract.TerminalID) *contract.Failure {
	if !contract.ValidID(string(id)) {
		return contract.BadParam("terminal_id", "want 1 to 64 of A-Z a-z 0-9 _ and -")
	}
	return nil
}

func noTerminal(id contract.TerminalID) *contract.Failure {
	return contract.Fail(contract.CodeNotFound, "There is no terminal %s. It may have been closed; open a new one.", string(id))
}

func openTerminal(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.OpenTerminalParams](raw)
	if failure != nil {
		return nil, failure
	}
	if p.TerminalID == "" {
		p.TerminalID = newTerminalID()
	}
	if failure := validTerminal(p.TerminalID); failure != nil {
		return nil, failure
	}
	if failure := validSize(p.Cols, p.Rows); failure != nil {
		return nil, failure
	}
	spec, failure := d.opt.Terminals.Spec(p)
	if failure != nil {
		return nil, failure
	}
	spec.Cols, spec.Rows = p.Cols, p.Rows
	kept, failure := d.keptTerminals()
	if failure != nil {
		return nil, failure
	}
	running, failure := d.runningTerminals()
	if failure != nil {
		return nil, failure
	}
	if len(running) >= config.MaxTerminals {
		return nil, contract.Fail(contract.CodeOverLimit, "%d terminals are open, which is the limit. Close some of them.", len(running))
	}
	inUse := contract.Fail(contract.CodeConflict, "There is a terminal %s already. Close it or restart it, or choose another id.", string(p.TerminalID))
	if slices.ContainsFunc(kept, func(i msg.TerminalInfo) bool { return i.ID == p.TerminalID }) {
		return nil, inUse
	}
	created, failure := d.ensureTerminal(p.TerminalID, msg.TerminalOpen{Spec: spec})
	if failure != nil {
		return nil, failure
	}
	if !created {
		return nil, inUse
	}
	if _, failure := d.describe(p.TerminalID, msg.DescribeTerminal{}, terminalStart); failure != nil {
		if failure.Code == contract.CodeNotFound { // It was gone before it was asked.
			failure = contract.Fail(contract.CodeConflict, "Failed to start %s: it ended at once. Make sure '%s' is installed and on your PATH.", spec.Command, spec.Command)
		}
		return nil, failure
	}
	return contract.OpenTerminalResult{TerminalID: p.TerminalID}, nil
}

func newTerminalID() contract.TerminalID {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // Never fails, see its documentation.
	return contract.TerminalID("t-" + hex.EncodeToString(b))
}

// ensureTerminal starts the actor of a terminal unless it runs.
func (d *doors) ensureTerminal(id contract.TerminalID, open msg.TerminalOpen) (created bool, _ *contract.Failure) {
	reply, failure := d.call(msg.TerminalsSup, msg.Ensure{Name: msg.TerminalName(id), Args: []any{open}, User: true}, 6)
	if failure != nil {
		return false, failure
	}
	e, ok := reply.(msg.Ensured)
	if !ok {
		return false, d.internal("supervisor answered strangely", "type", typeName(reply))
	}
	return e.Created, e.Err
}

// terminal asks a terminal's actor. One that ended with an earlier start of the
// service is brought back as its last screen first.
func (d *doors) terminal(id contract.TerminalID, request any, seconds int) (any, *contract.Failure) {
	name := msg.TerminalName(id)
	for range 2 {
		reply, err := d.at().CallWithTimeout(name, request, seconds)
		if err == nil {
			return reply, nil
		}
		if !gone(err) {
			return nil, d.failed(name, request, err)
		}
		found, failure := d.call(msg.Store, msg.LoadTerminalImage{ID: id}, quick)
		if failure != nil {
			return nil, failure
		}
		kept, ok := found.(msg.LoadedTerminalImage)
		if !ok || kept.Image == nil {
			return nil, noTerminal(id)
		}
		if _, failure := d.ensureTerminal(id, msg.TerminalOpen{Image: kept.Image}); failure != nil {
			return nil, failure
		}
	}
	return nil, noTerminal(id)
}

// describe asks a terminal for what it is.
func (d *doors) describe(id contract.TerminalID, request any, seconds int) (msg.TerminalInfo, *contract.Failure) {
	reply, failure := d.terminal(id, request, seconds)
	if failure != nil {
		return msg.TerminalInfo{}, failure
	}
	described, ok := reply.(msg.TerminalDescribed)
	if !ok {
		return msg.TerminalInfo{}, d.internal("terminal answered strangely", "terminal", string(id), "type", typeName(reply))
	}
	return described.Info, described.Failure
}

// runningTerminals are the terminals that have an actor.
func (d *doors) runningTerminals() ([]contract.TerminalID, *contract.Failure) {
	reply, failure := d.call(msg.TerminalsSup, msg.Children{}, quick)
	if failure != nil {
		return nil, failure
	}
	list, ok := reply.(msg.ChildList)
	if !ok {
		return nil, d.internal("supervisor answered strangely", "type", typeName(reply))
	}
	ids := make([]contract.TerminalID, 0, len(list.Children))
	for _, c := range list.Children {
		if id, ok := msg.TerminalOf(c.Name); ok && c.PID != (gen.PID{}) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// keptTerminals are the terminals of which a last screen is kept.
func (d *doors) keptTerminals() ([]msg.TerminalInfo, *contract.Failure) {
	reply, failure := d.call(msg.Store, msg.ListTerminalImages{}, quick)
	if failure != nil {
		return nil, failure
	}
	kept, ok := reply.([]msg.TerminalInfo)
	if !ok {
		return nil, d.internal("store answered strangely", "type", typeName(reply))
	}
	return kept, nil
}

// describeMost is how many terminals are asked at once.
const describeMost = 16

// listTerminals lists what runs and what is left of those that do not.
func listTerminals(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	running, failure := d.runningTerminals()
	if failure != nil {
		return nil, failure
	}
	kept, failure := d.keptTerminals()
	if failure != nil {
		return nil, failure
	}
	out := make([]*contract.Terminal, len(running))
	var asking sync.WaitGroup
	places := make(chan struct{}, describeMost)
	for i, id := range running {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			reply, err := d.at().CallWithTimeout(msg.TerminalName(id), msg.DescribeTerminal{}, quick)
			if t, ok := reply.(msg.TerminalDescribed); ok && err == nil && t.Failure == nil {
				shown := terminalOf(t.Info)
				out[i] = &shown
			}
		})
	}
	asking.Wait()
	list := make([]contract.Terminal, 0, len(out)+len(kept))
	for _, t := range out {
		if t != nil { // One that has ended meanwhile is no fault.
			list = append(list, *t)
		}
	}
	for _, info := range kept {
		if !slices.Contains(running, info.ID) {
			list = append(list, terminalOf(ended(info)))
		}
	}
	return list, nil
}

// ended is a terminal of which only the last screen is left: it cannot live.
func ended(info msg.TerminalInfo) msg.TerminalInfo {
	info.State, info.PID, info.Viewers = msg.TerminalEnded, 0, 0
	if info.Exit == nil {
		info.Exit = &msg.TerminalExit{Code: -1}
	}
	return info
}

func terminalOf(i msg.TerminalInfo) contract.Terminal {
	t := contract.Terminal{
		TerminalID: i.ID, Command: i.Command, Args: append([]string{}, i.Args...), Cwd: i.Cwd, State: contract.TerminalState(i.State),
		ChildPID: i.PID, Cols: i.Cols, Rows: i.Rows, Title: i.Title, Offset: i.Offset, Viewers: i.Viewers, Started: i.Started.UTC(),
	}
	if i.Exit != nil {
		code := i.Exit.Code
		t.ExitCode = &code
		if i.Exit.Signal != "" {
			signal := i.Exit.Signal
			t.Signal = &signal
		}
	}
	return t
}

func resizeTerminal(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.ResizeTerminalParams](raw)
	if failure == nil {
		failure = validTerminal(p.TerminalID)
	}
	if failure == nil {
		failure = validSize(p.Cols, p.Rows)
	}
	if failure != nil {
		return nil, failure
	}
	return d.terminalDone(d.terminal(p.TerminalID, msg.ResizeTerminal{Cols: p.Cols, Rows: p.Rows}, quick))
}

func (d *doors) terminalDone(reply any, failure *contract.Failure) (any, *contract.Failure) {
	if failure != nil {
		return nil, failure
	}
	done, ok := reply.(msg.TerminalDone)
	if !ok {
		return nil, d.internal("terminal answered strangely", "type", typeName(reply))
	}
	if done.Failure != nil {
		return nil, done.Failure
	}
	return struct{}{}, nil
}

// closeTerminal ends a terminal, or forgets what is left of one.
func closeTerminal(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.TerminalParams](raw)
	if failure == nil {
		failure = validTerminal(p.TerminalID)
	}
	if failure != nil {
		return nil, failure
	}
	name := msg.TerminalName(p.TerminalID)
	reply, err := d.at().CallWithTimeout(name, msg.CloseTerminal{}, terminalEnd)
	switch {
	case err == nil:
		return d.terminalDone(reply, nil)
	case !gone(err):
		return nil, d.failed(name, msg.CloseTerminal{}, err)
	}
	kept, failure := d.keptTerminals()
	if failure != nil {
		return nil, failure
	}
	if !slices.ContainsFunc(kept, func(i msg.TerminalInfo) bool { return i.ID == p.TerminalID }) {
		return nil, noTerminal(p.TerminalID)
	}
	if failure := done(d.call(msg.Store, msg.ForgetTerminalImage{ID: p.TerminalID}, quick)); failure != nil {
		return nil, failure
	}
	if subject, err := contract.TerminalSubject(contract.TerminalClosed, p.TerminalID); err == nil {
		if _, err := d.opt.Publisher.Publish(subject, "", []byte("{}")); err != nil {
			d.opt.Logger.Warn("end of a terminal not published", "terminal", string(p.TerminalID), "reason", err)
		}
	}
	return struct{}{}, nil
}

// restartTerminal starts a terminal's program again in place. What ran before
// the start of the service is started by its command and folder.
func restartTerminal(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.RestartTerminalParams](raw)
	if failure == nil {
		failure = validTerminal(p.TerminalID)
	}
	if failure != nil {
		return nil, failure
	}
	info, failure := d.describe(p.TerminalID, msg.DescribeTerminal{}, quick)
	if failure != nil {
		return nil, failure
	}
	var again msg.RestartTerminal
	wish := contract.OpenTerminalParams{Command: p.Command, Args: p.Args, Cwd: p.Cwd, Env: p.Env}
	switch {
	case p.Command != "":
		if wish.Cwd == "" {
			wish.Cwd = info.Cwd
		}
	case info.Restored:
		wish = contract.OpenTerminalParams{Command: info.Command, Args: info.Args, Cwd: info.Cwd, Env: p.Env}
	}
	if wish.Command != "" {
		spec, failure := d.opt.Terminals.Spec(wish)
		if failure != nil {
			return nil, failure
		}
		again.Spec = &spec
	}
	info, failure = d.describe(p.TerminalID, again, terminalEnd)
	if failure != nil {
		return nil, failure
	}
	return terminalOf(info), nil
}
