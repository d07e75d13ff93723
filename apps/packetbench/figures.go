package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/packetbench/packetbench/actors/bridge"
	"github.com/packetbench/packetbench/actors/bus"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// counted is the event log with counts of what was published to it since the
// start. Every publisher of the service is given this one.
type counted struct {
	*bus.Log
	turnEnded string // What the subjects of ended turns begin with.
	restart   string

	mu       sync.RWMutex
	subjects map[string]*atomic.Uint64
	// turns counts by outcome, restarts by kind of actor.
	turns, restarts map[string]*atomic.Uint64
}

func newCounted(l *bus.Log) *counted {
	c := &counted{Log: l, restart: contract.OpsSubject(contract.OpsRestart), subjects: map[string]*atomic.Uint64{}, turns: map[string]*atomic.Uint64{}, restarts: map[string]*atomic.Uint64{}}
	if pattern, err := contract.WhatPattern(contract.WhatTurnEnded); err == nil {
		c.turnEnded = strings.TrimSuffix(pattern, "*")
	}
	return c
}

// Publish implements [msg.Publisher].
func (c *counted) Publish(subject string, turn contract.TurnID, payload []byte) (uint64, error) {
	seq, err := c.Log.Publish(subject, turn, payload)
	if err == nil {
		c.count(subject, payload)
	}
	return seq, err
}

func (c *counted) count(subject string, payload []byte) {
	c.add(c.subjects, family(subject))
	switch {
	case strings.HasPrefix(subject, c.turnEnded):
		var e contract.TurnEnded
		if json.Unmarshal(payload, &e) == nil {
			c.add(c.turns, string(e.Outcome))
		}
	case subject == c.restart:
		var e contract.OpsRestartEvent
		if json.Unmarshal(payload, &e) == nil {
			c.add(c.restarts, kindOf(e.Actor))
		}
	}
}

// family is a subject without the id of what it is about.
func family(subject string) string {
	if i := strings.LastIndexByte(subject, '.'); i > strings.IndexByte(subject, '.') {
		return subject[:i]
	}
	return subject
}

// kindOf is a registered name without its id.
func kindOf(actor string) string {
	kind, _, _ := strings.Cut(actor, ":")
	return kind
}

func (c *counted) add(to map[string]*atomic.Uint64, key string) {
	c.mu.RLock()
	n := to[key]
	c.mu.RUnlock()
	if n == nil {
		c.mu.Lock()
		if n = to[key]; n == nil {
			n = new(atomic.Uint64)
			to[strings.Clone(key)] = n
		}
		c.mu.Unlock()
	}
	n.Add(1)
}

func (c *counted) list(of map[string]*atomic.Uint64) []contract.SubjectCount {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]contract.SubjectCount, 0, len(of))
	for name, n := range of {
		out = append(out, contract.SubjectCount{Subject: name, Count: n.Load()})
	}
	slices.SortFunc(out, func(a, b contract.SubjectCount) int { return cmp.Compare(a.Subject, b.Subject) })
	return out
}

// houseFacts implements bridge.House.
type houseFacts struct {
	s *service

	mu  sync.Mutex
	at  time.Time
	mem residents
}

// memoryFresh is how long one look at the memory of all processes serves
// everybody who asks.
const memoryFresh = 2 * time.Second

func (h *houseFacts) memory() residents {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.at) > memoryFresh {
		h.at, h.mem = now, readResidents()
	}
	return h.mem
}

// Log implements bridge.House.
func (h *houseFacts) Log() contract.LogFacts {
	f := h.s.log.Figures()
	stored, _ := h.s.log.Stored()
	return contract.LogFacts{
		Up: f.Up, First: stored.First, Last: f.Head, Bytes: stored.Bytes, MaxBytes: h.s.cfg.LogMaxBytes,
		InFlight: f.InFlight, Waiting: f.Waiting, Subjects: h.s.events.list(h.s.events.subjects),
	}
}

// Memory implements bridge.House.
func (h *houseFacts) Memory() (own, children uint64) { return h.memory().service() }

// Lines implements bridge.House.
func (h *houseFacts) Lines(p contract.LogLinesParams) contract.LogLines { return h.s.text.lines(p) }

// Figures are what /metrics tells beside what the doors count themselves. The
// tree costs the node a few ms; nobody else is asked.
func (h *houseFacts) Figures() []bridge.Figure {
	var all figures
	c := h.s.events
	for _, n := range c.list(c.subjects) {
		all.counter("packetbench_events_total", "Events published, by family.", float64(n.Count), "subject", n.Subject)
	}
	for _, n := range c.list(c.turns) {
		all.counter("packetbench_turns_total", "Turns that ended, by outcome.", float64(n.Count), "outcome", n.Subject)
	}
	for _, n := range c.list(c.restarts) {
		all.counter("packetbench_restarts_total", "Restarts after an abnormal end, by kind of actor.", float64(n.Count), "actor", n.Subject)
	}
	if stored, ok := h.s.log.Stored(); ok {
		all.gauge("packetbench_log_first", "Oldest sequence number that the event log holds.", float64(stored.First))
		all.gauge("packetbench_log_bytes", "Size of the event log.", float64(stored.Bytes))
	}
	all.counter("packetbench_text_log_lost_total", "Lines of the text log that could not be written to its file.", float64(h.s.text.dropped()))
	reply, err := h.s.node.CallWithTimeout(msg.Inspect, msg.GetTree{}, 2)
	if tree, ok := reply.(contract.Tree); ok && err == nil {
		all.tree(tree, h.memory())
	}
	return all.list
}

// figures collects.
type figures struct{ list []bridge.Figure }

func (f *figures) gauge(name, help string, v float64, labels ...string) {
	f.list = append(f.list, bridge.Figure{Name: name, Help: help, Value: v, Labels: labels})
}

func (f *figures) counter(name, help string, v float64, labels ...string) {
	f.list = append(f.list, bridge.Figure{Name: name, Help: help, Value: v, Labels: labels, Counter: true})
}

// tree adds up the live tree by kind of actor.
func (f *figures) tree(t contract.Tree, mem residents) {
	count, waiting, memory, down := map[string]int{}, map[string]int64{}, map[string]uint64{}, 0
	turns, most := 0, int64(0)
	var walk func(n contract.TreeNode)
	walk = func(n contract.TreeNode) {
		kind := kindOf(n.Name)
		switch n.Kind {
		case "meta":
			if strings.HasPrefix(n.Name, "turn ") {
				turns++
			}
		case "actor", "supervisor":
			count[kind]++
			waiting[kind] += n.Mailbox
			most = max(most, n.Mailbox)
			if n.LimitReached {
				down++
			}
			var facts struct {
				ChildPID int `json:"child_pid"`
			}
			if len(n.Detail) > 0 && json.Unmarshal(n.Detail, &facts) == nil && facts.ChildPID > 0 {
				memory[kind] += mem.tree(facts.ChildPID)
			}
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(t.Root)
	for kind, n := range count {
		f.gauge("packetbench_actors", "Running actors, by kind.", float64(n), "actor", kind)
		f.gauge("packetbench_mailbox_messages", "Messages that wait for actors, by kind.", float64(waiting[kind]), "actor", kind)
	}
	for kind, n := range memory {
		f.gauge("packetbench_child_memory_bytes", "Resident memory of the programs that run for us and of what they started, by kind of actor.", float64(n), "actor", kind)
	}
	f.gauge("packetbench_mailbox_most", "The fullest mailbox.", float64(most))
	f.gauge("packetbench_turns_running", "Turns that run in this process.", float64(turns))
	f.gauge("packetbench_actors_down", "Actors whose restart budget is spent.", float64(down))
	if t.House != nil {
		f.gauge("packetbench_conversations_awake", "Conversations that have an actor.", float64(t.House.Awake))
		f.gauge("packetbench_alarms", "Alarms that hold.", float64(len(t.House.Alarms)))
	}
}
