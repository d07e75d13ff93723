package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// launched brings the store's answer about the cost limits. The command that
// asked waits in launch meanwhile, and the ones behind it in held.
type launched struct {
	verdict msg.LaunchVerdict
	// prepared is nil for a command that prepares nothing.
	prepared *prepared
}

// launch is a command that may begin something that costs.
type launch struct {
	asker
	command msg.Command
}

// launchCheck says what a command has to be checked against; false for one that
// begins nothing that is billed. What is wrong with its parameters is said by
// the command itself.
//
// A start of a conversation that exists is a launch too, when it brings a
// message; a send, a retry and a failover are not: work that runs goes on
// (runtime.md 7).
func (c *core) launchCheck(m msg.Command) (msg.LaunchCheck, bool) {
	var p struct {
		Provider    contract.ProviderID `json:"provider"`
		Row         contract.RowID      `json:"row"`
		Message     string              `json:"initial_message"`
		Attachments json.RawMessage     `json:"attachments"`
	}
	switch m.Method {
	case contract.MethodFork: // It always brings a message.
		if c.rec == nil || c.oneShotOnly {
			return msg.LaunchCheck{}, false
		}
		p.Message = " fork"
	case contract.MethodStart, contract.MethodOneShot:
		if c.busy() || json.Unmarshal(m.Params, &p) != nil {
			return msg.LaunchCheck{}, false
		}
	default:
		return msg.LaunchCheck{}, false
	}
	if m.Method == contract.MethodOneShot {
		check := msg.LaunchCheck{Sources: []contract.LedgerSource{contract.LedgerAux}}
		if p.Provider != "" {
			row, err := contract.RowForProvider(p.Provider)
			if err != nil || row.Ledger == "" {
				return msg.LaunchCheck{}, false
			}
			check.Sources = append(check.Sources, row.Ledger)
		}
		return check, true
	}
	if c.rec != nil {
		if strings.TrimSpace(p.Message) == "" && len(p.Attachments) == 0 {
			return msg.LaunchCheck{}, false
		}
		p.Provider = c.rec.Provider
	}
	row, err := contract.RowByID(p.Row)
	if p.Provider != "" {
		row, err = rowOf(p.Provider)
	}
	if err != nil || row.Ledger == "" {
		return msg.LaunchCheck{}, false
	}
	return msg.LaunchCheck{Sources: []contract.LedgerSource{row.Ledger}, Session: c.id}, true
}

// mayCost asks the store about the cost limits. It blocks.
func mayCost(node gen.Node, check msg.LaunchCheck) msg.LaunchVerdict {
	reply, err := node.CallWithTimeout(msg.Store, check, 10)
	verdict, ok := reply.(msg.LaunchVerdict)
	if err != nil || !ok {
		// What cannot be checked is not spent.
		return msg.LaunchVerdict{Err: errors.New("the cost limits could not be checked just now; try again")}
	}
	return verdict
}

// holds keeps a command back while a launch is checked: they are carried out in
// the order in which they came. It begins the check of a launch.
func (a *actor) holds(who asker, m msg.Command) bool {
	if a.launch != nil {
		a.held = append(a.held, launch{who, m})
		return true
	}
	if a.unreadable != nil || a.leaving || len(a.backlog) > 0 || reserved(a.core.id) {
		return false
	}
	check, costs := a.core.launchCheck(m)
	order, fresh := a.launchOrder(m)
	if !costs && !fresh {
		return false
	}
	a.launch = &launch{who, m}
	node, self, desk := a.Node(), a.PID(), a.opt.Desk
	go func() {
		found := launched{verdict: msg.LaunchVerdict{Err: errors.New("the launch could not be checked inside PacketBench; try again, and if it happens again look at the log")}}
		defer func() {
			_ = recover()
			_ = node.Send(self, found) // Nobody waits when this fails.
		}()
		var next launched
		if costs {
			next.verdict = mayCost(node, check)
		}
		if fresh && next.verdict.Err == nil {
			ctx, stop := context.WithTimeout(context.Background(), besideLimit)
			defer stop()
			next.prepared = prepareLaunch(ctx, node, desk, order)
		}
		found = next
	}()
	return true
}

// checked carries out the command that was checked, and those held back behind
// it. The error is the reason to end.
func (a *actor) checked(now time.Time, m launched) error {
	if a.launch == nil {
		return nil
	}
	l := *a.launch
	a.launch = nil
	c := a.core
	fresh, v := c.rec == nil, m.verdict
	c.prepared = m.prepared
	defer func() { c.prepared = nil }()
	if v.Err != nil {
		a.refuse(now, l, contract.Fail(contract.CodeConflict, "%s", sentence(v.Err)))
	} else if m.prepared != nil && m.prepared.failure != nil {
		a.refuse(now, l, m.prepared.failure)
	} else if err := a.late(l); err != nil {
		return err
	} else if begun := fresh || c.busy(); begun && c.rec != nil && !c.oneShotOnly && len(v.Warnings) > 0 {
		a.warn(now, v.Warnings)
		a.send(msg.Store, told(v.Warnings))
	}
	a.takeBack(m.prepared)
	for len(a.held) > 0 && a.launch == nil {
		next := a.held[0]
		a.held = a.held[1:]
		if a.holds(next.asker, next.command) {
			continue
		}
		if err := a.late(next); err != nil {
			return err
		}
	}
	return nil
}

// late answers a command that was held back.
func (a *actor) late(l launch) error {
	answer, err := a.serve(l.asker, l.command)
	if answer != nil {
		_ = a.SendResponse(l.pid, l.ref, answer)
	}
	return err
}

// refuse answers a launch that a limit stops. Nothing was created; whoever
// pre-allocated the id and subscribed hears it there too, unless a conversation
// is there already, whose state this does not change.
func (a *actor) refuse(now time.Time, l launch, failure *contract.Failure) {
	if a.core.rec == nil {
		a.core.emit(contract.Error{Message: failure.Message})
		a.run(now)
	}
	_ = a.SendResponse(l.pid, l.ref, msg.Reply{Failure: failure})
}

// takeBack removes a worktree that no conversation came to own: its start was
// refused after all. One that holds work, left by a start that was cut short,
// stays (F33).
func (a *actor) takeBack(p *prepared) {
	if p == nil || p.worktree == nil || a.core.rec != nil && len(a.core.rec.Worktree) > 0 {
		return
	}
	desk, w := a.opt.Desk, *p.worktree
	go func() {
		defer func() { _ = recover() }() // What is left is found by its name.
		ctx, stop := context.WithTimeout(context.Background(), besideLimit)
		defer stop()
		if s := desk.Look(ctx, w); s.IsClean && s.Problem == "" && s.Unmerged == 0 {
			desk.Discard(ctx, w)
		}
	}()
}

// warn puts the limits that come near into the transcript.
func (a *actor) warn(now time.Time, list []msg.BudgetWarning) {
	c := a.core
	if c.rec == nil || c.oneShotOnly || c.deleted {
		return
	}
	for _, w := range list {
		c.notice(now, contract.LevelWarning, w.Text)
	}
	a.run(now)
}

func told(list []msg.BudgetWarning) msg.BudgetWarned {
	var b msg.BudgetWarned
	for _, w := range list {
		b.Keys = append(b.Keys, w.Key)
	}
	return b
}
