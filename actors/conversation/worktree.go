package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// The texts of the endings. Source: ui.md 12.
const (
	textDirty       = "This worktree has UNCOMMITTED CHANGES. They will be permanently lost."
	textUnchecked   = "Could not check for uncommitted changes \u2014 assume unsaved work in this worktree will be lost."
	textClean       = "No uncommitted changes, but any commits on this branch that were never merged are lost."
	textDiscard     = "This worktree has uncommitted changes. Discarding loses them permanently."
	textAlsoDiscard = "Deleting also discards this conversation's worktree"
)

// worktreesDir is the folder of worktrees inside a project. Source: mcp-state.md 11.
const worktreesDir = ".pkt-worktrees"

// worktree is the conversation's worktree, nil for none. A conversation of an
// earlier version has none on record and is known by its path; then the branch
// that it began from is not known. Source: ui.md 12.
func (c *core) worktree() (w *contract.Worktree, legacy bool) {
	if w := contract.DecodeWorktree(c.rec.Worktree); w != nil {
		return w, w.BaseBranch == ""
	}
	dir, id := filepath.Split(filepath.Clean(c.rec.ProjectPath))
	dir = filepath.Clean(dir)
	if id != string(c.id) || filepath.Base(dir) != worktreesDir {
		return nil, false
	}
	return &contract.Worktree{
		BasePath: filepath.Dir(dir), WorktreePath: filepath.Clean(c.rec.ProjectPath), Branch: "pkt/" + id,
		CreatedAt: moment(c.rec.CreatedAt), State: string(contract.WorktreeActive),
	}, true
}

// trustedAs is the folder whose trust counts: a worktree that we made of a project
// is what a person was asked about when the project was. One that is known by
// its path alone is not.
func (c *core) trustedAs() string {
	if w := contract.DecodeWorktree(c.rec.Worktree); w != nil {
		return w.BasePath
	}
	return c.rec.ProjectPath
}

// worktreeGone refuses a turn whose folder was landed or discarded, or is on
// its way out.
func (c *core) worktreeGone() *contract.Failure {
	if c.ending != "" {
		return contract.Fail(contract.CodeConflict, "This conversation's worktree is being %s just now; wait for that to end.", c.ending)
	}
	w, _ := c.worktree()
	if w == nil || w.State == string(contract.WorktreeActive) {
		return nil
	}
	return contract.Fail(contract.CodeConflict, "This conversation's worktree is gone: it was %s. Edit and resend an earlier message to go on in the project, or start a new agent.", w.State)
}

// setWorktree records where the worktree stands and tells every window.
func (c *core) setWorktree(now time.Time, w contract.Worktree) {
	c.rec.Worktree = contract.EncodeWorktree(w)
	c.patch(now, map[string]any{"worktree": w})
	c.do(save{now: true})
}

// serveWorktree carries out one method about the worktree.
func (a *actor) serveWorktree(who asker, m msg.Command) *contract.Failure {
	c := a.core
	w, legacy := c.worktree()
	if m.Method == contract.MethodConfirmDelete {
		a.confirmDelete(who, w)
		return nil
	}
	if w == nil || a.opt.Desk == nil {
		return contract.Fail(contract.CodeNotFound, "This conversation has no worktree.")
	}
	if m.Method == contract.MethodWorktree {
		a.lookAtWorktree(who, *w, legacy)
		return nil
	}
	p, failure := params[contract.WorktreeParams](m.Params)
	if failure == nil {
		failure = c.mayEnd(w, legacy, p.BaseBranch)
	}
	if failure != nil {
		return failure
	}
	if legacy {
		w.BaseBranch = p.BaseBranch
	}
	if w.BaseBranch == "" && m.Method != contract.MethodDiscardWorktree {
		return contract.BadParam("base_branch", "this worktree's own is not on record; say which branch it began from")
	}
	switch m.Method {
	case contract.MethodMergeWorktree:
		a.mergeWorktree(who, *w)
	case contract.MethodWorktreePR:
		a.openPullRequest(who, *w, p)
	case contract.MethodDiscardWorktree:
		return a.discardWorktree(who, *w, m.Params)
	}
	return nil
}

// mayEnd refuses an ending that cannot be carried out now.
func (c *core) mayEnd(w *contract.Worktree, legacy bool, base string) *contract.Failure {
	switch {
	case c.ending != "":
		return contract.Fail(contract.CodeConflict, "This conversation's worktree is being %s just now; wait for that to end.", c.ending)
	case w.State != string(contract.WorktreeActive):
		return contract.Fail(contract.CodeConflict, "This conversation's worktree was %s already.", w.State)
	case c.busy():
		return contract.Fail(contract.CodeConflict, "A turn is running in this worktree; stop it first.")
	case !legacy && base != "" && base != w.BaseBranch:
		return contract.BadParam("base_branch", "this worktree began from %s; merge it back there", w.BaseBranch)
	}
	return nil
}

func (a *actor) lookAtWorktree(who asker, w contract.Worktree, legacy bool) {
	desk := a.opt.Desk
	a.beside(who, func(ctx context.Context, _ gen.Node) func(time.Time) msg.Reply {
		status := desk.Look(ctx, w)
		status.Legacy = legacy
		return answer(status)
	})
}

// answer is a finish that only answers.
func answer(result any) func(time.Time) msg.Reply {
	return func(time.Time) msg.Reply { return msg.Reply{Result: result} }
}

// confirmDelete says what a deletion takes with it.
func (a *actor) confirmDelete(who asker, w *contract.Worktree) {
	desk := a.opt.Desk
	a.beside(who, func(ctx context.Context, _ gen.Node) func(time.Time) msg.Reply {
		confirm := contract.Confirm{Title: "Delete conversation?", Lines: []string{}, Button: "Delete"}
		if w == nil || w.State == string(contract.WorktreeDiscarded) || w.State == string(contract.WorktreeLanded) || desk == nil {
			return answer(confirm)
		}
		status := desk.Look(ctx, *w)
		if !status.Exists && status.Problem == "" {
			return answer(confirm)
		}
		confirm.Callout, confirm.Button = textAlsoDiscard, "Delete and discard worktree"
		first := textClean
		switch {
		case status.Problem != "":
			first, confirm.Button = textUnchecked, "Delete and discard changes"
		case !status.IsClean:
			first, confirm.Button = textDirty, "Delete and discard changes"
		}
		confirm.Lines = []string{first, w.WorktreePath, w.Branch}
		return answer(confirm)
	})
}

// end begins an ending: no turn may start until it is over.
func (a *actor) end(what string, who asker, work func(ctx context.Context) func(now time.Time) msg.Reply) {
	a.core.ending = what
	a.beside(who, func(ctx context.Context, _ gen.Node) func(time.Time) msg.Reply {
		finish := func(time.Time) msg.Reply {
			return msg.Reply{Failure: contract.Fail(contract.CodeInternal, "Something failed inside PacketBench; look at the log and try again.")}
		}
		func() {
			defer func() { _ = recover() }()
			finish = work(ctx)
		}()
		return func(now time.Time) msg.Reply {
			a.core.ending = ""
			return finish(now)
		}
	})
}

// over frees what the conversation holds in a worktree that is no more.
func (c *core) over() {
	c.closeSession()
	c.do(release{c.tools})
	c.tools = nil
}

func (a *actor) mergeWorktree(who asker, w contract.Worktree) {
	c, desk := a.core, a.opt.Desk
	title := c.rec.Title
	a.end("merged back", who, func(ctx context.Context) func(time.Time) msg.Reply {
		out, err := desk.Land(ctx, w, title)
		return func(now time.Time) msg.Reply {
			switch {
			case err != nil:
				return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "Merge back failed: %s", err)}
			case out.CommitSHA == "":
				out.Worktree = w
				out.Message = fmt.Sprintf("Nothing to land: %s has no changes to merge. Discard it if you're done.", w.Branch)
				return msg.Reply{Result: out}
			}
			left := out.Message
			w.State = string(contract.WorktreeLanded)
			out.Worktree = w
			out.Message = fmt.Sprintf("Landed %s \u2192 %s", w.Branch, out.CommitSHA[:min(7, len(out.CommitSHA))])
			c.over()
			c.setWorktree(now, w)
			c.notice(now, contract.LevelInfo, out.Message)
			if left != "" {
				c.notice(now, contract.LevelWarning, "Something of the worktree is left: "+left)
			}
			return msg.Reply{Result: out}
		}
	})
}

func (a *actor) openPullRequest(who asker, w contract.Worktree, p contract.WorktreeParams) {
	c, desk := a.core, a.opt.Desk
	title, body := strings.TrimSpace(p.Title), strings.TrimSpace(p.Body)
	if title == "" {
		title = c.rec.Title
	}
	if body == "" {
		body = "Made by an agent in PacketBench: " + c.rec.Title
	}
	a.end("pushed", who, func(ctx context.Context) func(time.Time) msg.Reply {
		number, url, err := desk.PullRequest(ctx, w, title, body)
		return func(now time.Time) msg.Reply {
			if err != nil {
				return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "%s", sentence(err))}
			}
			w.PRNumber, w.PRURL = number, url
			c.setWorktree(now, w)
			text := fmt.Sprintf("Opened draft PR #%d", number)
			c.notice(now, contract.LevelInfo, text+": "+url)
			return msg.Reply{Result: contract.WorktreeOutcome{Worktree: w, Message: text}}
		}
	})
}

func (a *actor) discardWorktree(who asker, w contract.Worktree, raw json.RawMessage) *contract.Failure {
	c, desk := a.core, a.opt.Desk
	p, failure := params[contract.DiscardParams](raw)
	if failure != nil {
		return failure
	}
	a.end("discarded", who, func(ctx context.Context) func(time.Time) msg.Reply {
		status := desk.Look(ctx, w)
		if !p.Confirmed && (!status.IsClean || status.Problem != "") {
			text := textDiscard
			if status.Problem != "" {
				text = textUnchecked
			}
			return answer(contract.WorktreeOutcome{Worktree: w, Message: text, Confirm: &contract.Confirm{
				Title: "Discard worktree?", Lines: []string{text, w.WorktreePath, w.Branch}, Button: "Discard anyway",
			}})
		}
		out := desk.Discard(ctx, w)
		return func(now time.Time) msg.Reply {
			if !out.WorktreeRemoved {
				return msg.Reply{Failure: contract.Fail(contract.CodeConflict, "The worktree could not be discarded: %s", out.Message)}
			}
			left := out.Message
			w.State = string(contract.WorktreeDiscarded)
			out.Worktree, out.Message = w, "Discarded "+w.Branch
			c.over()
			c.setWorktree(now, w)
			c.notice(now, contract.LevelInfo, out.Message)
			if left != "" {
				c.notice(now, contract.LevelWarning, "Something of the worktree is left: "+left)
			}
			return msg.Reply{Result: out}
		}
	})
	return nil
}

// deleteWithWorktree discards the worktree first and then deletes, whatever has
// become of that: what is left is told.
func (a *actor) deleteWithWorktree(who asker) {
	c, desk := a.core, a.opt.Desk
	w, _ := c.worktree()
	c.cancel(a.opt.Now())
	c.over()
	a.run(a.opt.Now())
	a.end("discarded", who, func(ctx context.Context) func(time.Time) msg.Reply {
		out := desk.Discard(ctx, *w)
		return func(now time.Time) msg.Reply {
			reply := a.remove(now)
			if reply.Failure == nil && out.Message != "" {
				reply.Result = contract.DeleteResult{Problem: "The conversation is deleted, but something of its worktree is left in " + w.WorktreePath + ": " + out.Message}
			}
			return reply
		}
	})
}
