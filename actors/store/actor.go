package store

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// Options are what a store is started with.
type Options struct {
	Paths config.Paths
	// CheckRow refuses what is no row of the ledger; nil checks only that a row
	// is an object with a source and a cost of 0 or more.
	CheckRow func(line []byte) error
	// Providers checks provider settings by key: ollama_base_url,
	// minimax_base_url, ollama_keep_alive, custom_compat_base_url and
	// named_provider_base_urls.<provider>; and of the others acp_engine_path. A
	// key that is absent is kept as it comes.
	Providers map[string]Normalise
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// How long changes wait before they are written. An index that is behind costs
// the next start some first fields to read, so it is written seldom: it is one
// file for all conversations.
const (
	indexDelay = 10 * time.Second
	auditDelay = 500 * time.Millisecond
)

// manyConversations is from where on the memory of a start is given back at once.
const manyConversations = 1000

// The lanes beside those of conversations, whose names begin with laneOf.
const (
	laneSettings = "settings"
	laneLedger   = "ledger"
	laneAudit    = "audit"
	laneTrust    = "trust"
	laneIndex    = "index"
	laneStats    = "sidecar"
	laneSearch   = "search"
	laneImages   = "terminals"
	laneOf       = "conversation:"
)

// New returns the factory of the store's actor. Its one instance is restarted
// after a crash only when the file work of the one before has ended.
func New(o Options) gen.ProcessFactory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CheckRow == nil {
		o.CheckRow = plainRow
	}
	var mu sync.Mutex
	var last *sync.WaitGroup
	return func() gen.ProcessBehavior {
		mu.Lock()
		defer mu.Unlock()
		a := &actor{opt: o, before: last, working: new(sync.WaitGroup)}
		last = a.working
		return a
	}
}

type (
	// boot is what the actor sends itself from Init.
	boot struct{}
	// booted ends the start: the index is there.
	booted struct {
		scanned scanned
		err     error
	}
	// ended carries what a job leaves to do in the actor.
	ended struct {
		lane  string
		seq   uint64
		after func()
	}
	writeIndex struct{}
	writeAudit struct{}
)

// waiting is a message or request that came before the start was done.
type waiting struct {
	from    gen.PID
	ref     gen.Ref
	call    bool
	message any
}

type actor struct {
	act.Actor
	opt Options
	// before are the jobs of the instance before this one, working our own.
	before, working *sync.WaitGroup

	notes *board
	shelf shelf
	lanes *lanes
	index *index
	// failed is why the data directory cannot be used; requests are answered
	// with it.
	failed error
	ready  bool
	early  []waiting

	// volumes holds what is known of conversations that were loaded or saved.
	// The pointers are used by their lanes alone.
	volumes map[contract.ConversationID]*volume

	// Each of these is used by its own lane alone.
	settings *settings
	ledger   *ledger
	audit    *audit
	trust    trust
	images   *images
	// imageTrouble is the last failure to keep a screen; it belongs to the actor.
	imageTrouble string

	indexDue, auditDue bool
	// auditDays is read by the audit's lane; the settings' lane tells it.
	auditDays int
	// caps are the cost limits, told by the settings' lane too; warned is whom
	// we have told what today.
	caps   caps
	warned warnedOf
	// profiles are answered from here, so that a launch does not wait behind
	// the writes of those before it; nil until the settings are read.
	profiles *msg.ProfileList
}

// Init stores the options; whatever can fail happens after it.
func (a *actor) Init(...any) error {
	a.notes = &board{}
	a.shelf = shelf{paths: a.opt.Paths, notes: a.notes, now: a.opt.Now}
	a.settings = &settings{paths: a.opt.Paths, normalise: a.opt.Providers, notes: a.notes, now: a.opt.Now}
	a.ledger = &ledger{paths: a.opt.Paths, notes: a.notes, check: a.opt.CheckRow, size: -1}
	a.audit = &audit{paths: a.opt.Paths, notes: a.notes}
	a.trust = trust{paths: a.opt.Paths, notes: a.notes, now: a.opt.Now}
	a.images = &images{paths: a.opt.Paths, notes: a.notes, now: a.opt.Now, most: config.MaxTerminalImages, bytes: config.MaxTerminalImageBytes}
	a.auditDays = auditShort
	a.warned = make(warnedOf)
	a.volumes = make(map[contract.ConversationID]*volume)
	a.index = newIndex()
	a.lanes = newLanes(a.start)
	return a.Send(a.PID(), boot{})
}

// start runs one job outside the mailbox. A panic in it is a fault of ours: it
// ends the actor, which then starts from the files, and no other part.
func (a *actor) start(lane string, j job) {
	node, self := a.Node(), a.PID()
	a.working.Add(1)
	go func() {
		defer a.working.Done()
		after := func() {}
		defer func() {
			if r := recover(); r != nil {
				stack := string(debug.Stack())
				after = func() { panic(fmt.Sprintf("store: lane %s: %v\n%s", lane, r, stack)) }
			}
			// The actor is gone when this fails, and with it who would care.
			_ = node.Send(self, ended{lane: lane, seq: j.seq, after: after})
		}()
		if got := j.run(); got != nil {
			after = got
		}
	}()
}

// do queues file work whose outcome changes nothing in the actor.
func (a *actor) do(lane string, run func() func()) { a.lanes.push(lane, job{run: run}) }

// open is the start: folders, leftovers, the index.
func (a *actor) open() {
	node, self, before := a.Node(), a.PID(), a.before
	a.before = nil
	p, notes, now := a.opt.Paths, a.notes, a.opt.Now
	a.working.Add(1)
	go func() {
		defer a.working.Done()
		b := booted{err: tell("PacketBench met a fault while it opened the data directory. Look at the log.")}
		defer func() {
			if r := recover(); r != nil {
				notes.add("A fault while the data directory was opened: %v", r)
			}
			_ = node.Send(self, b) // The actor is gone when this fails.
		}()
		if before != nil {
			before.Wait()
		}
		err := os.MkdirAll(p.Home, 0o700)
		if err == nil {
			err = os.MkdirAll(p.Conversations(), 0o700)
		}
		if err != nil {
			b = booted{err: trouble("open the data directory", err)}
			return
		}
		removeTemps(p.Home, func(base string) bool {
			return slices.ContainsFunc([]string{p.State(), p.ProviderSettings(), p.Audit(), p.Trusted(), statsPath(p)}, func(path string) bool {
				return strings.TrimSuffix(base, ".bak") == filepath.Base(path)
			})
		})
		found, err := scan(p, notes, now())
		b = booted{scanned: found, err: err}
		if len(found.x.entries) > manyConversations {
			// Reading the index leaves more garbage than index, and a quiet
			// service would keep it for minutes.
			debug.FreeOSMemory()
		}
	}()
}

// HandleMessage takes the Sends of actors/msg/store.go.
func (a *actor) HandleMessage(from gen.PID, message any) error {
	switch m := message.(type) {
	case boot:
		a.open()
	case booted:
		a.begin(m)
	case ended:
		m.after()
		a.lanes.ended(m.lane, m.seq)
	case writeIndex:
		a.indexDue = false
		a.saveIndex()
	case writeAudit:
		a.auditDue = false
		a.do(laneAudit, func() func() { _ = a.audit.save(); return nil }) // Tells itself.
	default:
		if !a.ready {
			a.early = append(a.early, waiting{from: from, message: message})
			return nil
		}
		a.message(from, message)
	}
	return nil
}

// begin ends the start and takes up what came meanwhile.
func (a *actor) begin(b booted) {
	a.ready, a.failed = true, b.err
	if b.err == nil {
		a.index = b.scanned.x
		if b.scanned.stale {
			a.later(&a.indexDue, writeIndex{}, indexDelay)
		}
		a.do(laneSettings, func() func() {
			a.settings.load()
			days, c := a.settings.auditDays(), readCaps(a.settings.app)
			profiles := a.settings.listProfiles("", nil)
			return func() {
				a.auditDays, a.caps, a.profiles = days, c, &profiles
				a.addUp()
			}
		})
		a.do(laneAudit, func() func() { a.audit.load(a.opt.Now()); return nil })
		a.do(laneLedger, func() func() {
			if err := a.ledger.health(); err != nil {
				a.notes.add("%s", err)
			}
			return nil
		})
	} else {
		a.notes.add("%s", b.err)
		a.Log().Error("data directory cannot be used error=%q", b.err)
	}
	early := a.early
	a.early = nil
	for _, w := range early {
		if !w.call {
			a.message(w.from, w.message)
			continue
		}
		if answer, now := a.request(w.from, w.ref, w.message); now {
			a.answer(w.from, w.ref, answer)
		}
	}
}

// message carries out one Send.
func (a *actor) message(from gen.PID, message any) {
	switch m := message.(type) {
	case msg.SaveConversation:
		a.save(m, func(s msg.Saved) { a.tell(from, s) })
	case msg.SummaryChanged:
		if checkID(m.Summary.SessionID) == nil {
			a.index.changed(m.Summary)
		}
	case msg.AppendLedger:
		a.appendLedger(from, m)
	case msg.BudgetWarned:
		a.warned.told(a.opt.Now(), m.Keys...)
	case msg.AppendAudit:
		days, now := a.auditDays, a.opt.Now()
		a.do(laneAudit, func() func() { a.audit.add(m.Entry, days, now); return nil })
		a.later(&a.auditDue, writeAudit{}, auditDelay)
	case msg.SaveBaseline:
		if a.failed == nil && checkID(m.ID) == nil {
			a.do(laneOf+string(m.ID), func() func() {
				if err := a.shelf.saveBaseline(m); err != nil {
					a.notes.add("%s", err)
				}
				return nil
			})
		}
	case msg.SaveSidecarStats:
		if a.failed == nil {
			a.do(laneStats, func() func() {
				if err := saveStats(a.opt.Paths, m.Lifetime); err != nil {
					a.notes.add("%s", err)
				}
				return nil
			})
		}
	case msg.SaveTerminalImage:
		if a.failed == nil {
			a.keepImage(m.Image)
		}
	case msg.ForgetTerminalImage:
		if a.failed == nil {
			a.terminalRequest(m, func(any) {})
		}
	case msg.BumpLaunch:
		a.do(laneSettings, func() func() {
			if err := a.settings.launched(m.Provider); err != nil {
				a.notes.add("%s", err)
			}
			return nil
		})
	default:
		a.Log().Warning("message not understood type=%T", message)
	}
}

// HandleCall takes the Calls of actors/msg/store.go. Those that need a file are
// answered when its work is done.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	if !a.ready {
		a.early = append(a.early, waiting{from: from, ref: ref, call: true, message: request})
		return nil, nil
	}
	answer, now := a.request(from, ref, request)
	if !now {
		return nil, nil
	}
	return answer, nil
}

// request carries out one Call; now says that answer is the answer, otherwise
// it comes later.
func (a *actor) request(from gen.PID, ref gen.Ref, request any) (answer any, now bool) {
	later := func(v any) { a.answer(from, ref, v) }
	switch m := request.(type) {
	case msg.LoadConversation:
		if err := a.usable(m.ID); err != nil {
			return msg.LoadedConversation{Err: err}, true
		}
		a.load(m.ID, later)
	case msg.SaveConversationNow:
		a.save(m.SaveConversation, func(s msg.Saved) { later(s) })
	case msg.Ready:
		return msg.Done{}, true // Early calls wait for the index.
	case msg.ListConversations:
		return a.index.list(), true
	case msg.CountConversations:
		return len(a.index.entries), true
	case msg.GetSummary:
		summary, found := a.index.find(m.ID)
		return msg.FoundSummary{Found: found, Summary: summary}, true
	case msg.DeleteConversation:
		if err := a.usable(m.ID); err != nil {
			return msg.Done{Err: err}, true
		}
		a.remove(m.ID, later)
	case msg.LoadBaselines:
		if err := a.usable(m.ID); err != nil {
			return msg.Baselines{Err: err}, true
		}
		a.do(laneOf+string(m.ID), func() func() {
			found := a.shelf.loadBaselines(m.ID)
			return func() { later(found) }
		})
	case msg.LedgerHealth:
		a.onLedger(later, a.ledger.health)
	case msg.LaunchCheck:
		if a.failed != nil {
			return msg.LaunchVerdict{Err: a.failed}, true
		}
		a.checkLaunch(m, later)
	case msg.ReconcileLedger:
		a.onLedger(later, a.ledger.reconcile)
	case msg.ListAudit:
		days, at := a.auditDays, a.opt.Now()
		a.do(laneAudit, func() func() {
			list := a.audit.list(days, at)
			return func() { later(list) }
		})
	case msg.GetSettings:
		if a.failed != nil {
			return msg.Settings{Failure: contract.Fail(contract.CodeInternal, "%s", a.failed)}, true
		}
		a.do(laneSettings, func() func() {
			shown := a.settings.show(nil)
			return func() { later(shown) }
		})
	case msg.PatchSettings:
		if a.failed != nil {
			return msg.Settings{Failure: contract.Fail(contract.CodeInternal, "%s", a.failed)}, true
		}
		a.do(laneSettings, func() func() {
			shown := a.settings.patch(m.Patch)
			days, c := a.settings.auditDays(), readCaps(a.settings.app)
			profiles := a.settings.listProfiles("", nil)
			return func() {
				a.auditDays, a.caps, a.profiles = days, c, &profiles
				later(shown)
				a.addUp()
			}
		})
	case msg.LoadSidecarStats:
		at := a.opt.Now()
		a.do(laneStats, func() func() {
			found := loadStats(a.opt.Paths, a.notes, at)
			return func() { later(msg.SidecarStats{Lifetime: found}) }
		})
	case msg.ListTerminalImages, msg.LoadTerminalImage, msg.ForgetTerminalImage:
		a.terminalRequest(m, later)
	case msg.TrustQuestion:
		a.do(laneTrust, func() func() {
			found := a.trust.ask(m.ProjectPath)
			return func() { later(found) }
		})
	case msg.SetTrust:
		if a.failed != nil {
			return msg.Done{Err: a.failed}, true
		}
		a.do(laneTrust, func() func() {
			err := a.trust.set(m.ProjectPath, m.Trusted)
			return func() { later(msg.Done{Err: err}) }
		})
	case msg.Flush, msg.Drain:
		a.flush(later)
	case msg.TakeNotices:
		return a.notes.take(), true
	case msg.AutoArchive:
		if a.failed != nil {
			return []contract.ConversationID(nil), true
		}
		a.archive(later)
	case msg.Unfinished:
		return a.index.unfinished(), true
	case msg.Search:
		all := a.index.list()
		a.do(laneSearch, func() func() {
			found := a.shelf.search(m.Params, all, a.opt.Now().Add(searchLimit))
			return func() { later(found) }
		})
	case msg.ListProfiles, msg.SaveProfile, msg.CloneProfile, msg.DeleteProfile, msg.DefaultProfile:
		if a.failed != nil {
			return msg.ProfileList{Failure: contract.Fail(contract.CodeInternal, "%s", a.failed)}, true
		}
		if _, asks := m.(msg.ListProfiles); asks && a.profiles != nil {
			return *a.profiles, true
		}
		a.profileRequest(m, later)
	default:
		a.Log().Warning("request not understood type=%T", request)
		return msg.Done{Err: tell("The store was asked something it does not know. This is a fault of PacketBench; look at the log.")}, true
	}
	return nil, false
}

// usable refuses work on conversations that cannot succeed.
func (a *actor) usable(id contract.ConversationID) error {
	if a.failed != nil {
		return a.failed
	}
	return checkID(id)
}

func (a *actor) answer(to gen.PID, ref gen.Ref, v any) {
	if err := a.SendResponse(to, ref, v); err != nil {
		a.Log().Debug("answer not delivered to=%s error=%q", to, err)
	}
}

func (a *actor) tell(to gen.PID, v any) {
	if err := a.Send(to, v); err != nil {
		// The sender has ended; what it saved is on the disk.
		a.Log().Debug("message not delivered to=%s error=%q", to, err)
	}
}

// later sends the actor a message after a delay, at most one at a time.
func (a *actor) later(due *bool, message any, delay time.Duration) {
	if *due || a.failed != nil {
		return
	}
	if _, err := a.SendAfter(a.PID(), message, delay); err == nil {
		*due = true
	}
}

func (a *actor) volume(id contract.ConversationID) *volume {
	v := a.volumes[id]
	if v == nil {
		v = &volume{}
		a.volumes[contract.ConversationID(strings.Clone(string(id)))] = v
	}
	return v
}

func (a *actor) load(id contract.ConversationID, answer func(any)) {
	v := a.volume(id)
	var listed entry
	if e := a.index.entries[id]; e != nil && e.live == nil {
		listed = *e
	}
	a.do(laneOf+string(id), func() func() {
		got := a.shelf.load(id, v)
		a.shelf.catchUp(id, v, &got, listed)
		return func() {
			if !got.found {
				// Damaged or gone: a list must not go on offering it.
				if e := a.index.entries[id]; e != nil && e.live == nil {
					delete(a.index.entries, id)
					a.later(&a.indexDue, writeIndex{}, indexDelay)
				}
			} else if e := a.index.entries[id]; e == nil || e.file != got.file || e.journal != got.lines {
				a.relist(id, got)
			}
			answer(msg.LoadedConversation{Found: got.found, Record: got.record, FileBytes: v.base.Size, JournalBytes: v.lines, Err: got.err})
		}
	})
}

// relist puts a conversation that is not as the index has it, because another
// program wrote its file, into the index.
func (a *actor) relist(id contract.ConversationID, got loaded) {
	r := got.record
	h := head{
		title: r.Title, model: r.Model, project: r.ProjectPath, row: r.Agent, provider: r.Provider, status: r.Status,
		parent: r.ParentConversationID, turn: r.OpenTurn, archived: r.Archived, pinned: r.Pinned,
		created: r.CreatedAt, updated: r.UpdatedAt,
		queued: len(r.QueuedMessages), prompts: len(r.Prompts), edits: len(r.Edits), worktree: contract.DecodeWorktree(r.Worktree),
	}
	var live *compact
	if e := a.index.entries[id]; e != nil {
		live = e.live
	}
	a.index.saved(h.summary(id), h.open(), got.file, got.lines)
	a.index.entries[id].live = live
	a.later(&a.indexDue, writeIndex{}, indexDelay)
}

// save queues one save and answers it, whatever becomes of it.
func (a *actor) save(m msg.SaveConversation, answer func(msg.Saved)) {
	if err := a.usable(m.ID); err != nil {
		answer(msg.Saved{Rev: m.Rev, Err: err})
		return
	}
	v := a.volume(m.ID)
	run := func() func() {
		var err error
		if len(m.Body) > 0 {
			err = a.shelf.save(m.ID, v, m.Body)
		} else {
			err = a.shelf.appendLines(m.ID, v, m.Journal)
		}
		saved := msg.Saved{Rev: m.Rev, FileBytes: v.base.Size, JournalBytes: v.lines, Err: err}
		if err != nil {
			return func() { answer(saved) }
		}
		said := openIn(m)
		file, lines := stampOf(filePath(a.opt.Paths, m.ID)), stampOf(journalPath(a.opt.Paths, m.ID))
		return func() {
			m.Summary.SessionID = m.ID
			a.index.saved(m.Summary, said, file, lines)
			a.later(&a.indexDue, writeIndex{}, indexDelay)
			answer(saved)
		}
	}
	a.lanes.push(laneOf+string(m.ID), job{run: run, cancellable: true, drop: func() {
		answer(msg.Saved{Rev: m.Rev, Err: tell("This conversation was deleted, so it was not saved.")})
	}})
}

// openIn tells what a save says of an open turn.
func openIn(m msg.SaveConversation) opened {
	if len(m.Body) > 0 {
		h, err := readHead(bytes.NewReader(m.Body))
		if err != nil {
			return opened{}
		}
		return h.open()
	}
	if !saysOpen(m.Journal) {
		return opened{} // The usual line of a stream, which may be long.
	}
	set, reset := journal.Heads(m.Journal)
	var h head
	var out opened
	for key, part := range openFields {
		raw, ok := set[key]
		if ok && h.set(key, raw) != nil {
			return opened{}
		}
		if ok || reset {
			out.said |= part
		}
	}
	out.are = h.open().are
	return out
}

// saysOpen reports whether lines may hold a field of an open turn: it looks for
// the keys only, which text may hold too.
func saysOpen(lines []byte) bool {
	for key := range openFields {
		if bytes.Contains(lines, []byte(`"`+key+`"`)) {
			return true
		}
	}
	return bytes.Contains(lines, []byte(`"head":`))
}

func (a *actor) remove(id contract.ConversationID, answer func(any)) {
	lane := laneOf + string(id)
	a.lanes.cancel(lane)
	v := a.volume(id)
	a.do(lane, func() func() {
		err := a.shelf.remove(id, v)
		return func() {
			if err == nil {
				delete(a.index.entries, id)
				delete(a.volumes, id)
				a.later(&a.indexDue, writeIndex{}, indexDelay)
			}
			answer(msg.Done{Err: err})
		}
	})
}

func (a *actor) appendLedger(from gen.PID, m msg.AppendLedger) {
	if a.failed != nil {
		a.tell(from, msg.LedgerWritten{Turn: m.Turn, N: m.N, Err: a.failed})
		return
	}
	c, now := a.caps, a.opt.Now()
	a.do(laneLedger, func() func() {
		err := a.ledger.append(m.Line)
		var near []msg.BudgetWarning
		if err == nil {
			near = a.ledger.brought(c, m.Line, now)
		}
		return func() {
			near = a.warned.untold(near, now)
			for _, b := range near {
				a.warned.told(now, b.Key)
			}
			a.tell(from, msg.LedgerWritten{Turn: m.Turn, N: m.N, Err: err, Warnings: near})
		}
	})
}

func (a *actor) onLedger(answer func(any), work func() error) {
	if a.failed != nil {
		answer(msg.Done{Err: a.failed})
		return
	}
	a.do(laneLedger, func() func() {
		err := work()
		return func() { answer(msg.Done{Err: err}) }
	})
}

// saveIndex writes index.json from a copy; the index goes on changing.
func (a *actor) saveIndex() {
	if a.failed != nil {
		return
	}
	entries := a.index.freeze()
	path := filepath.Join(a.opt.Paths.Conversations(), indexName)
	a.do(laneIndex, func() func() {
		err := replaceBy(path, func(w io.Writer) error { return writeIndexTo(w, entries) })
		if err != nil {
			// The next start reads more first fields; nothing is lost.
			a.notes.add("%s", trouble("save the index of conversations", err))
		}
		return nil
	})
}

// flush answers when everything that waited is on the disk. Saves of
// conversations come first, so that the index has their stamps.
func (a *actor) flush(answer func(any)) {
	if a.failed != nil {
		answer(msg.Done{Err: a.failed})
		return
	}
	var failure error
	a.do(laneAudit, func() func() {
		err := a.audit.save()
		return func() { failure = err }
	})
	a.lanes.after(func() {
		a.saveIndex()
		a.lanes.after(func() { answer(msg.Done{Err: failure}) })
	})
}

// Terminate has nothing to lose: what was answered is on the disk.
func (a *actor) Terminate(error) {}
