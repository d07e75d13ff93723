package conversation

import (
	"encoding/json"
	"fmt"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// saveRetry is how long a failed save waits for its next try.
const saveRetry = 2 * time.Second

func journalHead(r *contract.Record) (json.RawMessage, error) { return journal.EncodeHead(r) }

// scheduleSave brings a flush: at once, or when a change may not wait longer.
// It does not wait for quiet, so a stream is saved as often as a typist.
func (a *actor) scheduleSave(now bool) {
	if a.core.rec == nil || a.core.oneShotOnly || a.core.deleted {
		return
	}
	if now && a.saving == nil && !a.failed {
		if !a.timer {
			a.timer = true
			_ = a.Send(a.PID(), flush{})
		}
		return
	}
	if a.timer {
		return
	}
	if a.saving != nil {
		a.again = true
		return
	}
	a.timer = true
	if _, err := a.SendAfter(a.PID(), flush{}, a.opt.SaveEvery); err != nil {
		a.timer = false
		a.Log().Warning("timer not set reason=%s", err)
	}
}

// flush sends what has changed to the store. One save is on its way at a time.
func (a *actor) flush(now time.Time) {
	c := a.core
	if c.rec == nil || c.deleted || !c.changes.any() {
		a.drained(now)
		return
	}
	if a.saving != nil {
		a.again = true
		return
	}
	request, next, err := a.encode(false)
	if err != nil {
		a.Log().Error("conversation not encoded conv=%s reason=%s", string(c.id), err)
		return
	}
	a.saving = &saving{rev: request.Rev, next: next}
	c.changes = newChanges()
	if err := a.Send(msg.Store, request); err != nil {
		a.savedOne(now, msg.Saved{Rev: request.Rev, Err: err})
	}
}

// encode builds the save of everything that has changed.
func (a *actor) encode(idle bool) (msg.SaveConversation, saved, error) {
	c := a.core
	a.rev++
	request := msg.SaveConversation{ID: c.id, Rev: a.rev, Summary: c.summary()}
	next := a.saved
	var err error
	if wantsBody(a.saved, idle) {
		if request.Body, err = body(c.rec); err != nil {
			return request, next, err
		}
		if next.head, err = journalHead(c.rec); err != nil {
			return request, next, err
		}
	} else if request.Journal, next.head, err = c.changes.lines(c.rec, a.saved); err != nil {
		return request, next, err
	}
	next.index, next.neverWritten, next.known = -1, false, true
	if c.live != nil {
		m := c.message()
		next.index, next.content, next.thinking, next.parts = c.live.message, len(m.Content), len(m.Thinking), len(m.Parts)
	}
	return request, next, nil
}

// savedOne takes the store's answer. After a failure the file on disk is still
// the old good one; the next save writes everything anew.
func (a *actor) savedOne(now time.Time, s msg.Saved) {
	if a.saving == nil || a.saving.rev != s.Rev {
		return
	}
	next := a.saving.next
	a.saving = nil
	if s.Err == nil {
		a.saved = next
		a.saved.fileSize, a.saved.journal = s.FileBytes, s.JournalBytes
		if a.failed {
			a.failed = false
			a.core.notice(now, contract.LevelInfo, "This conversation is saved again.")
		}
		if a.again || a.core.changes.any() {
			a.again = false
			a.scheduleSave(false)
			return
		}
		a.drained(now)
		return
	}
	a.saved.known = false
	a.core.changes.head = true
	a.Log().Warning("conversation not saved conv=%s reason=%s", string(a.core.id), s.Err)
	if !a.failed {
		a.failed = true
		a.core.notice(now, contract.LevelError, fmt.Sprintf("This conversation could not be saved: %s. It is tried again until it works.", sentence(s.Err)))
	}
	if !a.timer {
		a.timer = true
		if _, err := a.SendAfter(a.PID(), flush{}, saveRetry); err != nil {
			a.timer = false
		}
	}
	a.drained(now)
}

// drained answers whoever waits for the end, once nothing runs and all is
// saved, or cannot be.
func (a *actor) drained(now time.Time) {
	if len(a.draining) == 0 || a.core.live != nil || a.saving != nil {
		return
	}
	var err error
	if a.core.changes.any() && !a.failed {
		a.scheduleSave(true)
		return
	}
	if a.failed {
		err = fmt.Errorf("conversation %s is not saved", a.core.id)
	}
	for _, who := range a.draining {
		_ = a.SendResponse(who.pid, who.ref, msg.Done{Err: err})
	}
	a.draining = nil
}

// watchIdle starts the next tick of the idle watch.
func (a *actor) watchIdle(time.Time) error {
	if _, err := a.SendAfter(a.PID(), tick{}, a.tickEvery()); err != nil {
		a.Log().Warning("timer not set reason=%s", err)
	}
	return nil
}

func (a *actor) tickEvery() time.Duration {
	const most = 30 * time.Second
	if a.opt.Idle > 0 && a.opt.Idle/4 < most {
		return max(a.opt.Idle/4, 10*time.Millisecond)
	}
	return most
}

// tick stops a conversation that nobody needs any more.
func (a *actor) tick(now time.Time) error {
	limit := a.opt.Idle
	if a.core.rec == nil || a.core.oneShotOnly {
		// Nothing was ever started under this id, or a one-shot is over.
		limit = min(max(limit, time.Second), 30*time.Second)
	}
	if limit > 0 && a.mayStop(now) && now.Sub(a.lastUsed) >= limit {
		return a.sleep(now)
	}
	a.run(now)
	return a.watchIdle(now)
}

// mayStop reports whether nothing holds this conversation awake.
func (a *actor) mayStop(now time.Time) bool {
	if run, ok := a.core.tools.(*tool.Runtime); ok && run != nil && len(run.Running()) > 0 {
		return false
	}
	return a.core.quiet() && a.watched.Before(now) && len(a.backlog) == 0 && a.saving == nil
}

// sleep writes everything and ends. If that fails the conversation stays.
func (a *actor) sleep(now time.Time) error {
	c := a.core
	if c.rec != nil && !c.oneShotOnly && (c.changes.any() || a.saved.journal > 0) {
		request, _, err := a.encode(true)
		if err == nil && (len(request.Body) > 0 || len(request.Journal) > 0) {
			var reply any
			if reply, err = a.CallWithTimeout(msg.Store, msg.SaveConversationNow{SaveConversation: request}, 5); err == nil {
				if done, ok := reply.(msg.Saved); ok {
					err = done.Err
				}
			}
		}
		if err != nil {
			a.Log().Warning("conversation stays awake conv=%s reason=%s", string(c.id), err)
			a.saved.known = false
			c.changes.head = true
			_ = a.Send(a.Parent(), msg.Idle{})
			return a.watchIdle(now)
		}
	}
	a.send(msg.Inspect, msg.Facts{Name: string(msg.ConversationName(c.id))})
	return gen.TerminateReasonNormal
}

// tell keeps the supervisor and the tree informed.
func (a *actor) tell(now time.Time) {
	c := a.core
	idle := a.mayStop(now)
	if idle != a.idleSaid {
		a.idleSaid = idle
		since := time.Time{}
		if idle {
			since = a.lastUsed
		}
		_ = a.Send(a.Parent(), msg.Idle{Since: since})
	}
	if c.rec == nil {
		return
	}
	detail := facts{
		c.id, c.rec.Title, c.rec.Provider, c.rec.Model, c.rec.Status, c.rec.OpenTurn,
		len(c.perms) + len(c.edits), len(c.rec.QueuedMessages), len(c.rec.Messages),
	}
	if detail != a.facts {
		a.facts = detail
		if text, err := contract.Marshal(detail); err == nil {
			a.send(msg.Inspect, msg.Facts{Name: string(msg.ConversationName(c.id)), Detail: text})
		}
	}
	if c.live == nil && len(a.draining) > 0 {
		a.drained(now)
	}
}

// facts is what the tree shows of a conversation.
type facts struct {
	SessionID contract.ConversationID `json:"session_id"`
	Title     string                  `json:"title"`
	Provider  contract.ProviderID     `json:"provider"`
	Model     string                  `json:"model"`
	Status    contract.Status         `json:"status"`
	Turn      contract.TurnID         `json:"turn,omitempty"`
	NeedsYou  int                     `json:"needs_you,omitempty"`
	Queued    int                     `json:"queued,omitempty"`
	Messages  int                     `json:"messages"`
}
