package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// errStoreAway is a store that is being restarted.
var errStoreAway = errors.New("the part of the service that writes files is not there just now")

func journalHead(r *contract.Record) (json.RawMessage, error) { return journal.EncodeHead(r) }

// scheduleSave brings a flush: at once, or when a change may not wait longer.
// It does not wait for quiet, so a stream is saved as often as a typist.
func (a *actor) scheduleSave(now bool) {
	if a.core.rec == nil || a.core.oneShotOnly || a.core.deleted {
		return
	}
	if a.dirty.IsZero() {
		a.dirty = a.opt.Now()
	}
	switch {
	case a.saving != nil:
		a.again, a.againNow = true, a.againNow || now
	case now && !a.failed:
		if !a.urgent {
			a.urgent = a.Send(a.PID(), flush{}) == nil
		}
	case !a.timer:
		a.flushAfter(max(0, a.opt.SaveEvery-a.opt.Now().Sub(a.dirty)))
	}
}

func (a *actor) flushAfter(wait time.Duration) {
	if a.timer {
		return
	}
	_, err := a.SendAfter(a.PID(), flush{timed: true}, wait)
	if a.timer = err == nil; !a.timer {
		a.Log().Warning("timer not set reason=%s", err)
	}
}

// flush sends what has changed to the store. One save is on its way at a time.
func (a *actor) flush(now time.Time) {
	c := a.core
	if c.rec == nil || c.deleted || !c.changes.any() {
		a.dirty = time.Time{}
		a.drained(now)
		return
	}
	if a.saving != nil {
		a.again = true
		return
	}
	a.dirty = time.Time{}
	request, next, err := a.encode(false)
	if err != nil {
		a.Log().Error("conversation not encoded conv=%s reason=%s", string(c.id), err)
		return
	}
	c.changes = newChanges()
	if len(request.Body)+len(request.Journal) == 0 {
		a.saved = next // It was set back to what the file holds.
		a.drained(now)
		return
	}
	a.saving = &saving{rev: request.Rev, next: next}
	if err := a.Send(msg.Store, request); err != nil {
		a.savedOne(now, msg.Saved{Rev: request.Rev, Err: errStoreAway})
		return
	}
	stop, err := a.SendAfter(a.PID(), saveLost{request.Rev}, a.opt.pause.saveLost)
	if err != nil {
		a.Log().Warning("timer not set reason=%s", err)
		return
	}
	a.saving.stop = stop
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
	next.messages = len(c.rec.Messages)
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
	if a.saving.stop != nil {
		a.saving.stop()
	}
	a.saving = nil
	if s.Err == nil {
		a.saved = next
		a.saved.fileSize, a.saved.journal = s.FileBytes, s.JournalBytes
		if a.failed {
			a.failed = false
			a.core.notice(now, contract.LevelInfo, "This conversation is saved again.")
		}
		if a.again || a.core.changes.any() {
			soon := a.againNow
			a.again, a.againNow = false, false
			a.scheduleSave(soon)
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
		a.core.notice(now, contract.LevelError, fmt.Sprintf("This conversation could not be saved: %s. It is tried again until it works.", strings.TrimRight(sentence(s.Err), ".")))
	}
	a.flushAfter(a.opt.pause.saveRetry)
	a.drained(now)
}

// drained answers whoever waits for the end, once nothing runs and all is
// saved, or cannot be.
func (a *actor) drained(now time.Time) {
	if len(a.draining) == 0 || a.core.live != nil || a.saving != nil || a.besides > 0 {
		return
	}
	var err error
	kept := a.core.rec != nil && !a.core.oneShotOnly && !a.core.deleted
	if kept && a.core.changes.any() && !a.failed {
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

// watchIdle starts the next tick of the idle watch. There is one at a time.
func (a *actor) watchIdle() {
	if _, err := a.SendAfter(a.PID(), tick{}, a.tickEvery()); err != nil {
		a.Log().Warning("timer not set reason=%s", err)
	}
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
		if why := a.sleep(now); why != nil {
			return why
		}
	}
	a.run(now)
	a.watchIdle()
	return nil
}

// mayStop reports whether nothing holds this conversation awake.
func (a *actor) mayStop(now time.Time) bool {
	if !a.core.quiet() || !a.watched.Before(now) || len(a.backlog) > 0 || a.saving != nil || a.launch != nil || a.besides > 0 {
		return false
	}
	state, ok := a.core.tools.(msg.ToolState)
	return !ok || !state.Busy()
}

// sleep writes everything and returns the reason to end; nil when it could not
// be written, and the conversation stays.
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
			a.idleSaid = false
			return a.Send(a.Parent(), msg.Idle{})
		}
	}
	// The live half ends here; the resume handle is in the file.
	c.closeSession()
	a.run(a.opt.Now())
	a.send(msg.Inspect, msg.Facts{Name: string(msg.ConversationName(c.id))})
	return gen.TerminateReasonNormal
}

// tell keeps the supervisor and the tree informed.
func (a *actor) tell(now time.Time) {
	c := a.core
	idle := a.mayStop(now)
	if !idle {
		a.lastUsed = now // The wait begins when nothing is needed any more.
	}
	if idle != a.idleSaid {
		a.idleSaid = idle
		since := time.Time{}
		if idle {
			since = a.lastUsed
		}
		_ = a.Send(a.Parent(), msg.Idle{Since: since})
	}
	if c.live == nil && len(a.draining) > 0 {
		a.drained(now)
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
