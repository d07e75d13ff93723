package inspect

import (
	"math"
	"slices"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/contract"
)

// What is sampled, and when it is worth somebody's attention. Source: actors.md 8.
const (
	sampleEvery = 2 * time.Second
	// historyMost is how many samples are kept: a minute.
	historyMost = 30
	// lookMost is how long a question for the tree counts as looking.
	lookMost = 10 * time.Second

	mailboxMuch  = 1000
	alarmSamples = 3
)

// trace is what is known of one process from sample to sample.
type trace struct {
	pid     gen.PID
	in, out uint64
	// rates are messages a second; the newest is last.
	inRates, outRates []float64
	mailboxes         []int64
	full, waiting     int // Samples in a row.
	seen              uint64
}

// history is the traces of all processes, by registered name or by pid.
type history struct {
	traces map[string]*trace
	round  uint64
	last   time.Time
	// alarms hold since when.
	alarms map[alarm]time.Time
}

type alarm struct {
	actor string
	kind  contract.AlarmKind
}

func newHistory() history {
	return history{traces: map[string]*trace{}, alarms: map[alarm]time.Time{}}
}

// forget drops everything: nobody looks any more, and old rates would lie.
func (h *history) forget() { *h = history{traces: map[string]*trace{}, alarms: h.alarms} }

func keyOf(p gen.ProcessShortInfo) string {
	if p.Name != "" {
		return string(p.Name)
	}
	return p.PID.String()
}

// sample takes one look at every process and returns the alarms that now hold.
func (h *history) sample(now time.Time, apps []appList) map[alarm]bool {
	seconds := now.Sub(h.last).Seconds()
	first := h.last.IsZero() || seconds <= 0
	h.last = now
	h.round++
	wrong := map[alarm]bool{}
	for _, app := range apps {
		for _, p := range app.processes {
			key := keyOf(p)
			t := h.traces[key]
			if t == nil || t.pid != p.PID {
				t = &trace{pid: p.PID, in: p.MessagesIn, out: p.MessagesOut}
				h.traces[key] = t
			} else if !first {
				t.inRates = push(t.inRates, rate(p.MessagesIn, t.in, seconds))
				t.outRates = push(t.outRates, rate(p.MessagesOut, t.out, seconds))
				t.mailboxes = push(t.mailboxes, int64(p.MessagesMailbox))
			}
			t.in, t.out, t.seen = p.MessagesIn, p.MessagesOut, h.round
			t.full = inARow(t.full, p.MessagesMailbox > mailboxMuch)
			t.waiting = inARow(t.waiting, p.State == gen.ProcessStateWaitResponse)
			if t.full >= alarmSamples {
				wrong[alarm{key, contract.AlarmMailbox}] = true
			}
			if t.waiting >= alarmSamples {
				wrong[alarm{key, contract.AlarmWaiting}] = true
			}
			if p.State == gen.ProcessStateZombee {
				wrong[alarm{key, contract.AlarmZombie}] = true
			}
		}
	}
	for key, t := range h.traces {
		if t.seen != h.round {
			delete(h.traces, key)
		}
	}
	return wrong
}

func push[T any](list []T, v T) []T {
	if len(list) == historyMost {
		copy(list, list[1:])
		list = list[:historyMost-1]
	}
	return append(list, v)
}

func rate(now, before uint64, seconds float64) float64 {
	if now < before {
		return 0
	}
	return math.Round(float64(now-before)/seconds*10) / 10
}

func inARow(n int, again bool) int {
	if !again {
		return 0
	}
	return n + 1
}

// rates are the histories of one node; nil for one that has done nothing.
func (h *history) rates(name string) *contract.TreeRates {
	t := h.traces[name]
	if t == nil || quiet(t.inRates) && quiet(t.outRates) && quiet(t.mailboxes) {
		return nil
	}
	return &contract.TreeRates{
		SampleEvery: sampleEvery.Seconds(), In: slices.Clone(t.inRates), Out: slices.Clone(t.outRates), Mailbox: slices.Clone(t.mailboxes),
	}
}

func quiet[T float64 | int64](list []T) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return v != 0 })
}

// settle compares the alarms of some kinds with those that hold now, and returns
// what has begun and what is over.
func (h *history) settle(now time.Time, kinds []contract.AlarmKind, wrong map[alarm]bool) (changed []contract.Alarm) {
	for a := range wrong {
		if _, known := h.alarms[a]; !known {
			h.alarms[a] = now
			changed = append(changed, h.shown(a, false))
		}
	}
	for a := range h.alarms {
		if slices.Contains(kinds, a.kind) && !wrong[a] {
			changed = append(changed, h.shown(a, true))
			delete(h.alarms, a)
		}
	}
	slices.SortFunc(changed, byActor)
	return changed
}

func (h *history) shown(a alarm, over bool) contract.Alarm {
	return contract.Alarm{Actor: a.actor, Kind: a.kind, Text: alarmText(a), Since: h.alarms[a].UTC(), Over: over}
}

// list is every alarm that holds, by actor.
func (h *history) list() []contract.Alarm {
	out := make([]contract.Alarm, 0, len(h.alarms))
	for a := range h.alarms {
		out = append(out, h.shown(a, false))
	}
	slices.SortFunc(out, byActor)
	return out
}

// of are the alarms of one actor.
func (h *history) of(name string) []contract.AlarmKind {
	var out []contract.AlarmKind
	for a := range h.alarms {
		if a.actor == name {
			out = append(out, a.kind)
		}
	}
	slices.Sort(out)
	return out
}

func byActor(a, b contract.Alarm) int {
	if c := strings.Compare(a.Actor, b.Actor); c != 0 {
		return c
	}
	return strings.Compare(string(a.Kind), string(b.Kind))
}

// alarmText says what is wrong and what to do.
func alarmText(a alarm) string {
	switch a.kind {
	case contract.AlarmMailbox:
		return a.actor + " does not keep up: more than 1,000 messages have waited for it for 6 s. Look at what it does; stop what feeds it."
	case contract.AlarmWaiting:
		return a.actor + " has waited for an answer of another part for 6 s. Look at the log, and reset it if it goes on."
	case contract.AlarmZombie:
		return a.actor + " was ended by force and did not end. Restart the service when you can."
	case contract.AlarmLimit:
		return a.actor + " failed too often and stays down. Read its last reason, mend it, and reset it."
	}
	return a.actor + " needs attention."
}
