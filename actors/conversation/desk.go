package conversation

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Desk is what the wiring gives a conversation to deal with the folder that it
// works in: the person's git, the files that speak to agents. Every method may
// take as long as git does, so it is called beside the mailbox. Errors are for a
// person to read, git's own words.
type Desk interface {
	// Cascade reads the instructions for agents that count in a folder.
	Cascade(ctx context.Context, project string) []contract.PromptLayer
	// Git is the state of a folder, at most age old; MCP its servers.
	Git(ctx context.Context, project string, age time.Duration) contract.ProjectGit
	MCP(project string, trusted bool, chosen []string) contract.ProjectMCP
	// Provision makes a worktree and returns the folder to work in.
	Provision(ctx context.Context, project string, id contract.ConversationID) (contract.Worktree, string, error)
	// Look never fails: what could not be learned is the status's Problem.
	Look(ctx context.Context, w contract.Worktree) contract.WorktreeStatus
	// Land merges back. No commit without an error: there was nothing to land.
	Land(ctx context.Context, w contract.Worktree, title string) (contract.WorktreeOutcome, error)
	// Discard removes; Message says what could not be.
	Discard(ctx context.Context, w contract.Worktree) contract.WorktreeOutcome
	// PullRequest pushes the branch and opens a draft.
	PullRequest(ctx context.Context, w contract.Worktree, title, body string) (number int, url string, err error)
}

// How old what a window sees of a project may be. Source: ui.md 6. A turn that
// has ended has probably changed something.
const (
	lookEvery = 30 * time.Second
	lookAge   = lookEvery - 5*time.Second
	lookFresh = time.Second
)

// besideLimit bounds work beside the mailbox. Ours: git's own limits are
// shorter; this is the net below them.
const besideLimit = 10 * time.Minute

type (
	// besideDone brings what work beside the mailbox has found. Finish runs in
	// the actor and makes the answer.
	besideDone struct {
		asker
		finish func(now time.Time) msg.Reply
	}
	// looked brings what the project looks like.
	looked struct {
		git contract.ProjectGit
		mcp contract.ProjectMCP
	}
	// lookDue is the next look while somebody watches.
	lookDue struct{}
)

// beside runs work that waits for git, the disk or another actor, and answers
// who when it is done. Work returns what is to be done in the actor then.
func (a *actor) beside(who asker, work func(ctx context.Context, node gen.Node) func(now time.Time) msg.Reply) {
	a.besides++
	node, self := a.Node(), a.PID()
	go func() {
		done := besideDone{asker: who}
		defer func() {
			if fault := recover(); fault != nil {
				text := fmt.Sprint(fault)
				done.finish = func(time.Time) msg.Reply {
					a.Log().Error("work beside the mailbox failed conv=%s fault=%s", string(a.core.id), text)
					return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "Something failed inside PacketBench; look at the log and try again.")}
				}
			}
			_ = node.Send(self, done) // Nobody waits when this fails.
		}()
		ctx, stop := context.WithTimeout(context.Background(), besideLimit)
		defer stop()
		done.finish = work(ctx, node)
	}()
}

// besideEnded makes the answer; the error is the reason to end.
func (a *actor) besideEnded(now time.Time, d besideDone) error {
	a.besides--
	reply := d.finish(now)
	a.run(now)
	_ = a.SendResponse(d.pid, d.ref, reply)
	return a.leave()
}

// serveBeside carries out the methods that need more than the conversation
// itself; false for the others. A nil reply comes later.
func (a *actor) serveBeside(who asker, m msg.Command) (reply any, mine bool) {
	c := a.core
	if c.rec == nil || c.oneShotOnly || a.unreadable != nil || reserved(c.id) {
		return nil, false
	}
	var failure *contract.Failure
	switch m.Method {
	case contract.MethodWorktree, contract.MethodMergeWorktree, contract.MethodWorktreePR, contract.MethodDiscardWorktree, contract.MethodConfirmDelete:
		failure = a.serveWorktree(who, m)
	case contract.MethodDelete:
		if w, _ := c.worktree(); w == nil || w.State != string(contract.WorktreeActive) || a.opt.Desk == nil {
			return nil, false
		}
		a.deleteWithWorktree(who)
	case contract.MethodListEdits, contract.MethodGetEdit, contract.MethodUndoEdit:
		failure = a.serveReview(who, m)
	case contract.MethodFork:
		failure = a.serveFork(who, m)
	default:
		return nil, false
	}
	if failure != nil {
		a.run(a.opt.Now())
		return msg.Reply{Failure: failure}, true
	}
	return nil, true
}

// launchedFor is how long a new conversation takes it for granted that somebody
// watches: whoever launched it subscribed before it was there to be held, and
// a viewer renews its hold every minute.
const launchedFor = 90 * time.Second

// expectViewer looks at the project of a conversation that was just launched.
func (a *actor) expectViewer(now time.Time) {
	if a.core.rec != nil && !a.core.oneShotOnly {
		a.expected = now.Add(launchedFor)
		a.watchProject(now)
	}
}

// inView reports whether somebody watches.
func (a *actor) inView(now time.Time) bool {
	return !a.watched.Before(now) || !a.expected.Before(now)
}

// watchProject begins to look at the project while somebody watches.
func (a *actor) watchProject(now time.Time) {
	if a.looking || a.opt.Desk == nil {
		return
	}
	if _, err := a.SendAfter(a.PID(), lookDue{}, lookEvery); err != nil {
		return
	}
	a.looking = true
	a.look(now, lookAge)
}

// lookAgain is one beat of the watch; it ends when nobody watches any more.
func (a *actor) lookAgain(now time.Time) {
	a.looking = false
	if a.inView(now) {
		a.watchProject(now)
	}
}

// look asks what the project looks like. Who shares the project shares the
// answer, which is at most age old.
func (a *actor) look(now time.Time, age time.Duration) {
	c := a.core
	if a.opt.Desk == nil || c.rec == nil || c.oneShotOnly || c.deleted || !a.inView(now) {
		return
	}
	desk, project, trustedAs, chosen := a.opt.Desk, c.rec.ProjectPath, c.trustedAs(), given(c.rec.EnabledMCPServerIDs)
	node, self := a.Node(), a.PID()
	go func() {
		defer func() { _ = recover() }() // A look that failed is made again.
		ctx, stop := context.WithTimeout(context.Background(), lookEvery)
		defer stop()
		found := looked{git: desk.Git(ctx, project, age), mcp: desk.MCP(project, trusts(node, trustedAs), chosen)}
		_ = node.Send(self, found)
	}()
}

// saw tells every window what has changed of the project. It is no change of
// the conversation: nothing is saved and no list moves.
func (a *actor) saw(l looked) {
	c := a.core
	if c.rec == nil || c.deleted {
		return
	}
	keys := map[string]any{}
	if c.git == nil || !reflect.DeepEqual(*c.git, l.git) {
		c.git, keys[contract.PatchGit] = &l.git, l.git
	}
	if c.mcp == nil || !reflect.DeepEqual(*c.mcp, l.mcp) {
		c.mcp, keys[contract.PatchMCP] = &l.mcp, l.mcp
	}
	if len(keys) > 0 {
		c.say(contract.WhatUpdated, keys)
	}
}
