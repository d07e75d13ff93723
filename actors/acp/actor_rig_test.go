//go:build unix

package acp

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/acp/enginetest"
	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// patience is the deadline of every wait of the actor's tests.
const patience = 40 * time.Second

// house is a node with a real engines_sup, hosts of fake engines, and
// conversations that write down what they hear.
type house struct {
	t    testing.TB
	node gen.Node
	ask  func(to any, request any) (any, error)
	name string // Of the engine that most tests are about.
	home string
	logs *sink

	mu   sync.Mutex
	ping chan struct{}
	// specs are the engines that are set up.
	specs    map[string]Spec
	statuses []msg.Status
	facts    []string
	heard    map[contract.ConversationID][]any
	groups   map[string]*child.Group
}

// sink is a log that can be read.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// secret is a value of an engine's environment, which no text may repeat.
const secret = "sk-very-secret-value-0123456789"

func fakeSpec(name string, switches ...string) Spec {
	s := Spec{Name: name, Command: enginetest.Command(), Env: enginetest.Env(switches...), Default: slices.Contains(switches, "packetcode")}
	s.Env["ENGINE_KEY"] = secret
	return s
}

// newHouse has one engine with these switches.
func newHouse(t testing.TB, switches ...string) *house {
	t.Helper()
	node := nodetest.Start(t, 45*time.Second)
	h := &house{
		t: t, node: node, name: "fake", home: t.TempDir(), logs: &sink{}, ping: make(chan struct{}),
		specs: map[string]Spec{"fake": fakeSpec("fake", switches...)},
		heard: map[contract.ConversationID][]any{}, groups: map[string]*child.Group{},
	}
	h.ask = func(to, request any) (any, error) {
		if pid, ok := to.(gen.PID); ok {
			return nodetest.CallPID(node, pid, request, 15)
		}
		return nodetest.Call(node, to.(gen.Atom), request, 15)
	}
	o := Options{
		Find: h.find, Version: "1.2.3", Marker: child.Marker{BootID: "acp-actor-test", Home: h.home}, Register: h.register,
		Environ: os.Environ(), HomeDir: h.home, Logger: slog.New(slog.NewTextHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		waits: waits{refusals: 500 * time.Millisecond, grace: 200 * time.Millisecond, drain: 100 * time.Millisecond, behind: 50 * time.Millisecond},
	}
	if _, err := h.node.SpawnRegister(msg.Inspect, func() gen.ProcessBehavior { return &viewer{h: h} }, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	nodetest.Engines(t, node, New(o))
	t.Cleanup(func() {
		nodetest.Stop(node)
		h.until("no process group is left", func() bool { return len(h.groups) == 0 })
		if strings.Contains(h.logs.String(), secret) {
			t.Error("a secret is in the log")
		}
		if t.Failed() {
			t.Logf("log:\n%s", h.logs)
		}
	})
	return h
}

func (h *house) find(name string) (Spec, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.specs[name]
	if !ok {
		return Spec{}, fmt.Errorf("no engine of this name is set up")
	}
	return s, nil
}

func (h *house) register(g *child.Group) func() {
	h.note(func() { h.groups[g.ID] = g })
	return func() { h.note(func() { delete(h.groups, g.ID) }) }
}

func (h *house) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.ping)
	h.ping = make(chan struct{})
}

// until waits for a condition over what was noted.
func (h *house) until(what string, ok func() bool) {
	h.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		h.mu.Lock()
		done, ping := ok(), h.ping
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ping:
		case <-limit.C:
			h.mu.Lock()
			defer h.mu.Unlock()
			h.t.Fatalf("never: %s\nheard %+v\nstatuses %+v\nlog %s", what, h.heard, h.statuses, h.logs)
		}
	}
}

// viewer takes what supervisors and hosts say for the tree.
type viewer struct {
	act.Actor
	h *house
}

func (v *viewer) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case msg.Status:
		v.h.note(func() { v.h.statuses = append(v.h.statuses, m) })
	case msg.Facts:
		v.h.note(func() { v.h.facts = append(v.h.facts, m.Name+" "+string(m.Detail)) })
	}
	return nil
}

// talker is a conversation.
type talker struct {
	act.Actor
	h    *house
	id   contract.ConversationID
	host gen.PID
	// deaf ones give nothing back.
	deaf bool
}

type (
	// pass makes a talker send to its host, meet makes it know one first.
	pass struct{ message any }
	meet struct {
		host    gen.PID
		message any
	}
	leaveNow struct{}
)

func (a *talker) Init(...any) error { return a.RegisterName(msg.ConversationName(a.id)) }

func (a *talker) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case pass:
		return a.sent(a.Send(a.host, m.message))
	case meet:
		a.host = m.host
		return a.sent(a.Send(a.host, m.message))
	case leaveNow:
		return gen.TerminateReasonNormal
	case msg.Emitted:
		if !a.deaf {
			_ = a.Send(a.host, msg.HostAck{Conversation: a.id, N: 1})
		}
	}
	a.h.note(func() { a.h.heard[a.id] = append(a.h.heard[a.id], message) })
	return nil
}

// sent notes that the host was not there.
func (a *talker) sent(err error) error {
	if err != nil {
		a.h.note(func() { a.h.heard[a.id] = append(a.h.heard[a.id], err) })
	}
	return nil
}

// talk starts a conversation.
func (h *house) talk(id contract.ConversationID, deaf bool) {
	h.t.Helper()
	if _, err := h.node.Spawn(func() gen.ProcessBehavior { return &talker{h: h, id: id, deaf: deaf} }, gen.ProcessOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) say(id contract.ConversationID, message any) {
	h.t.Helper()
	if err := h.node.Send(msg.ConversationName(id), message); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) call(to gen.Atom, request any) any {
	h.t.Helper()
	reply, err := h.ask(to, request)
	if err != nil {
		h.t.Fatalf("%s %T: %v", string(to), request, err)
	}
	return reply
}

// ensure returns the running host of an engine.
func (h *house) ensure(engine string) gen.PID {
	h.t.Helper()
	e := h.call(msg.EnginesSup, msg.Ensure{Name: msg.EngineName(engine)}).(msg.Ensured)
	if e.Err != nil {
		h.t.Fatal(e.Err.Message)
	}
	return e.PID
}

// open opens a session for a turn, as a conversation does.
func (h *house) open(id contract.ConversationID, turn contract.TurnID, text string, change ...func(*msg.HostSession)) {
	h.t.Helper()
	h.openAt(h.name, id, turn, text, change...)
}

func (h *house) openAt(engine string, id contract.ConversationID, turn contract.TurnID, text string, change ...func(*msg.HostSession)) {
	h.t.Helper()
	h.openIn(h.ensure(engine), id, turn, text, change...)
}

func (h *house) openIn(host gen.PID, id contract.ConversationID, turn contract.TurnID, text string, change ...func(*msg.HostSession)) {
	h.t.Helper()
	s := msg.HostSession{Provider: "acp-fake", Project: h.t.TempDir(), Posture: contract.Posture{PermissionMode: contract.ModeAskForRisky}}
	for _, c := range change {
		c(&s)
	}
	h.say(id, meet{host, msg.HostOpen{Session: s, HostSend: msg.HostSend{Conversation: id, Turn: turn, Text: text}}})
}

func (h *house) send(id contract.ConversationID, turn contract.TurnID, text string) {
	h.t.Helper()
	h.say(id, pass{msg.HostSend{Conversation: id, Turn: turn, Text: text}})
}

// last waits until a conversation has heard what want accepts, and returns it.
func last[T any](h *house, id contract.ConversationID, want func(T) bool) T {
	h.t.Helper()
	var out T
	h.until(fmt.Sprintf("%s hears %T", id, out), func() bool {
		for _, m := range h.heard[id] {
			if v, ok := m.(T); ok && (want == nil || want(v)) {
				out = v
				return true
			}
		}
		return false
	})
	return out
}

// gone waits until a conversation has heard n times that its host has ended.
func (h *house) gone(id contract.ConversationID, n int) {
	h.t.Helper()
	h.until(fmt.Sprintf("%s loses its host %d times", id, n), func() bool {
		count := 0
		for _, m := range h.heard[id] {
			if _, ok := m.(msg.OwnerGone); ok {
				count++
			}
		}
		return count >= n
	})
}

// over waits for the end of a turn, its refusal included, and returns what was
// heard since its beginning, one line each.
func (h *house) over(id contract.ConversationID, turn contract.TurnID) string {
	h.t.Helper()
	h.until(fmt.Sprintf("the end of %s %s", id, turn), func() bool {
		return slices.ContainsFunc(h.heard[id], func(m any) bool {
			closed, isClosed := m.(msg.TurnClosed)
			no, isRefused := m.(msg.HostRefused)
			return isClosed && closed.Turn == turn || isRefused && no.Turn == turn
		})
	})
	return strings.Join(h.said(id, turn), "\n")
}

// said is what a conversation heard of a turn, one line each; events are opened
// up.
func (h *house) said(id contract.ConversationID, turn contract.TurnID) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, m := range h.heard[id] {
		switch m := m.(type) {
		case msg.Emitted:
			if m.Turn == turn {
				out = append(out, printed(h.t, m.Events)...)
			}
		case msg.HostOpened:
			if m.Turn == turn {
				out = append(out, "opened")
			}
		case msg.HostRefused:
			if m.Turn == turn {
				out = append(out, fmt.Sprintf("refused gone=%t %s", m.Gone, m.Text))
			}
		case msg.HostCall:
			if m.Turn == turn {
				out = append(out, fmt.Sprintf("call %s %s %v", m.ID, m.Kind, m.Paths))
			}
		case msg.TurnClosed:
			if m.Turn == turn {
				out = append(out, "closed")
			}
		case msg.Ask:
			if m.Turn == turn {
				out = append(out, fmt.Sprintf("ask %s %s %s call=%s kind=%s", m.ID, m.Name, m.Arguments, m.Call, m.Kind))
			}
		}
	}
	return out
}

// status waits for the nth status of an engine with this state and returns it.
func (h *house) status(engine string, s msg.ChildState, n int) msg.Status {
	h.t.Helper()
	var out msg.Status
	h.until(fmt.Sprintf("status %s %d of %s", s, n, engine), func() bool {
		count := 0
		state := msg.ChildState("")
		for _, m := range h.statuses {
			if m.Name != msg.EngineName(engine) {
				continue
			}
			if m.State == s && state != s {
				count++
			}
			if state = m.State; m.State == s && count == n {
				out = m
				return true
			}
		}
		return false
	})
	return out
}

// introduced waits until the engine has said what want accepts.
func (h *house) introduced(engine string, want func(msg.EngineFacts) bool) msg.EngineFacts {
	h.t.Helper()
	var out msg.EngineFacts
	h.until(engine+" introduces itself", func() bool {
		for i := len(h.statuses) - 1; i >= 0; i-- {
			if f, ok := h.statuses[i].Detail.(msg.EngineFacts); ok && h.statuses[i].Name == msg.EngineName(engine) {
				out = f
				return want == nil || want(f)
			}
		}
		return false
	})
	return out
}
