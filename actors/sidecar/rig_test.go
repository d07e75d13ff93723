//go:build unix

package sidecar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// patience is the deadline of every wait.
const patience = 25 * time.Second

// quick are waits for tests that wait for their end.
var quick = waits{handshake: patience, setting: 300 * time.Millisecond, refusals: 2 * time.Second, grace: 50 * time.Millisecond, behind: 50 * time.Millisecond}

// rig is a node with a parent that does what engines_sup does, a host, and
// conversations that write down what they hear.
type rig struct {
	t     testing.TB
	node  gen.Node
	call  func(to gen.PID, request any) (any, error)
	boss  gen.PID
	host  gen.PID
	state string
	logs  *sink

	mu   sync.Mutex
	ping chan struct{}
	// statuses and owned are what the parent was told; why is how the host
	// ended, empty while it lives.
	statuses []msg.Status
	owned    map[gen.Atom]bool
	why      string
	heard    map[contract.ConversationID][]any
	groups   map[string]*child.Group
	// facts are what inspect was told, in order.
	facts []string
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

// newRig starts a host whose child is the fake in one of its modes.
func newRig(t testing.TB, mode string, change func(*Options)) *rig {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, fakePrefix+mode)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return newRigWith(t, map[string]string{EnvScript: path, EnvNode: self}, change)
}

func newRigWith(t testing.TB, env map[string]string, change func(*Options)) *rig {
	t.Helper()
	node := nodetest.Start(t, 45*time.Second)
	r := &rig{
		t: t, node: node, state: filepath.Join(t.TempDir(), "state"), logs: &sink{},
		ping: make(chan struct{}), owned: map[gen.Atom]bool{}, heard: map[contract.ConversationID][]any{}, groups: map[string]*child.Group{},
	}
	r.call = func(to gen.PID, request any) (any, error) { return nodetest.CallPID(node, to, request, 10) }
	o := Options{
		Entry: Lookup{
			Getenv: func(name string) string { return env[name] }, IsFile: isFile, LookPath: exec.LookPath, DataDir: r.state, Version: "test",
		},
		Marker:   child.Marker{BootID: "test", Home: r.state},
		Register: r.register,
		Environ:  os.Environ(), StateDir: r.state,
		Logger: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	var err error
	if _, err = r.node.SpawnRegister(msg.Inspect, func() gen.ProcessBehavior { return &viewer{rig: r} }, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	if r.boss, err = r.node.Spawn(func() gen.ProcessBehavior { return &boss{rig: r, options: o} }, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	r.until("the host was spawned", func() bool { return r.host != gen.PID{} })
	t.Cleanup(func() {
		nodetest.Stop(node)
		r.until("no process group is left", func() bool { return len(r.groups) == 0 })
		if t.Failed() {
			t.Logf("log:\n%s", r.logs)
		}
	})
	return r
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (r *rig) register(g *child.Group) func() {
	r.note(func() { r.groups[g.ID] = g })
	return func() { r.note(func() { delete(r.groups, g.ID) }) }
}

func (r *rig) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.ping)
	r.ping = make(chan struct{})
}

// until waits for a condition over what was noted.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		done, ping := ok(), r.ping
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ping:
		case <-limit.C:
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("never: %s\nheard %+v\nstatuses %+v\nended %q\nlog %s", what, r.heard, r.statuses, r.why, r.logs)
		}
	}
}

// boss is the supervisor of the rig: it keeps who is owned, and tells them.
type boss struct {
	act.Actor
	rig     *rig
	options Options
	host    gen.PID
}

type (
	stopHost struct{}
	gone     struct {
		pid gen.PID
		why error
	}
)

func (b *boss) Init(...any) error { return b.Send(b.PID(), boot{}) }

func (b *boss) HandleMessage(from gen.PID, message any) error {
	r := b.rig
	switch m := message.(type) {
	case boot:
		pid, err := b.Spawn(New(b.options), gen.ProcessOptions{})
		if err != nil {
			return err
		}
		b.host = pid
		if err := b.MonitorPID(pid); err != nil {
			return err
		}
		r.note(func() { r.host = pid })
	case stopHost:
		return b.SendExit(b.host, gen.TerminateReasonShutdown)
	case msg.Status:
		r.note(func() { r.statuses = append(r.statuses, m) })
	case msg.Owns:
		r.note(func() { r.owned[m.Conversation] = true })
	case msg.Released:
		r.note(func() { delete(r.owned, m.Conversation) })
	case gen.MessageDownPID:
		return b.Send(b.PID(), gone{m.PID, m.Reason}) // It overtook what was sent.
	case gone:
		r.mu.Lock()
		var list []gen.Atom
		for name := range r.owned {
			list = append(list, name)
		}
		r.mu.Unlock()
		for _, name := range list {
			_ = b.Send(name, msg.OwnerGone{Host: msg.Sidecar, PID: m.pid, Reason: m.why.Error()})
		}
		r.note(func() { r.why = m.why.Error(); clear(r.owned) })
	}
	return nil
}

// viewer takes what the host says for the tree.
type viewer struct {
	act.Actor
	rig *rig
}

func (v *viewer) HandleMessage(_ gen.PID, message any) error {
	if m, ok := message.(msg.Facts); ok {
		v.rig.note(func() { v.rig.facts = append(v.rig.facts, m.Name+" "+string(m.Detail)) })
	}
	return nil
}

// talker is a conversation.
type talker struct {
	act.Actor
	rig *rig
	id  contract.ConversationID
	// deaf ones give nothing back.
	deaf bool
}

// pass makes a talker send to the host.
type pass struct{ message any }

// give makes a deaf talker give back n.
type give struct{ n int }

func (a *talker) Init(...any) error { return a.RegisterName(msg.ConversationName(a.id)) }

func (a *talker) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case pass:
		return a.Send(a.rig.host, m.message)
	case give:
		return a.Send(a.rig.host, msg.HostAck{Conversation: a.id, N: m.n})
	case msg.Emitted:
		if !a.deaf {
			_ = a.Send(a.rig.host, msg.HostAck{Conversation: a.id, N: 1})
		}
	case stopHost:
		return gen.TerminateReasonNormal
	}
	a.rig.note(func() { a.rig.heard[a.id] = append(a.rig.heard[a.id], message) })
	return nil
}

// talk starts a conversation.
func (r *rig) talk(id contract.ConversationID, deaf bool) {
	r.t.Helper()
	if _, err := r.node.Spawn(func() gen.ProcessBehavior { return &talker{rig: r, id: id, deaf: deaf} }, gen.ProcessOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) say(id contract.ConversationID, message any) {
	r.t.Helper()
	if err := r.node.Send(msg.ConversationName(id), message); err != nil {
		r.t.Fatal(err)
	}
}

// key is what no text may repeat.
const key = "sk-very-secret-key-0123456789"

// open opens a session whose first turn follows a script.
func (r *rig) open(id contract.ConversationID, turn contract.TurnID, text string) {
	r.t.Helper()
	r.say(id, pass{msg.HostOpen{
		Session: msg.HostSession{
			Provider: "echo", Model: "m-1", Key: key, System: "be brief", Project: r.t.TempDir(),
			Posture: contract.Posture{PermissionMode: contract.ModeAskForRisky},
		},
		HostSend: msg.HostSend{Conversation: id, Turn: turn, Text: text},
	}})
}

func (r *rig) send(id contract.ConversationID, turn contract.TurnID, text string) {
	r.t.Helper()
	r.say(id, pass{msg.HostSend{Conversation: id, Turn: turn, Text: text}})
}

// last waits until a conversation has heard what want accepts, and returns it.
func last[T any](r *rig, id contract.ConversationID, want func(T) bool) T {
	r.t.Helper()
	var out T
	r.until(fmt.Sprintf("%s hears %T", id, out), func() bool {
		for _, m := range r.heard[id] {
			if v, ok := m.(T); ok && (want == nil || want(v)) {
				out = v
				return true
			}
		}
		return false
	})
	return out
}

func (r *rig) closed(id contract.ConversationID, turn contract.TurnID) {
	r.t.Helper()
	last(r, id, func(m msg.TurnClosed) bool { return m.Turn == turn })
}

// said is what a conversation heard, one word each; events are opened up.
func (r *rig) said(id contract.ConversationID) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, m := range r.heard[id] {
		switch m := m.(type) {
		case msg.Emitted:
			for _, e := range m.Events {
				body, _ := contract.Encode(e)
				out = append(out, string(m.Turn)+" "+string(e.Kind())+" "+string(body))
			}
		case msg.HostOpened:
			out = append(out, "opened "+string(m.Turn))
		case msg.HostRefused:
			out = append(out, fmt.Sprintf("refused %s gone=%t %s", m.Turn, m.Gone, m.Text))
		case msg.TurnClosed:
			out = append(out, "closed "+string(m.Turn))
		case msg.HostReply:
			out = append(out, fmt.Sprintf("reply %d %s", m.Ref, m.Text))
		case msg.HostResume:
			out = append(out, "resume "+m.Handle)
		case msg.HostSaid:
			out = append(out, "said "+m.Text)
		case msg.Ask:
			out = append(out, fmt.Sprintf("ask %s %s %s", m.ID, m.Name, m.Arguments))
		case msg.AskEdit:
			out = append(out, fmt.Sprintf("edit %s %s %s %s", m.ID, m.Name, m.Path, m.Content))
		case msg.OwnerGone:
			out = append(out, "gone "+m.Reason)
		}
	}
	return out
}

// text is everything that a conversation heard of one turn.
func (r *rig) text(id contract.ConversationID, turn contract.TurnID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, m := range r.heard[id] {
		if e, ok := m.(msg.Emitted); ok && e.Turn == turn {
			for _, c := range e.Events {
				if t, ok := c.(contract.Chunk); ok {
					b.WriteString(string(t))
				}
			}
		}
	}
	return b.String()
}

func (r *rig) ended() string {
	r.t.Helper()
	r.until("the host has ended", func() bool { return r.why != "" })
	return r.why
}

// status waits for a state that the host reports.
func (r *rig) status(s msg.ChildState) msg.Status {
	r.t.Helper()
	var out msg.Status
	r.until("status "+string(s), func() bool {
		for _, m := range r.statuses {
			if m.State == s {
				out = m
				return true
			}
		}
		return false
	})
	return out
}

// requests are what the fake was sent so far.
func (r *rig) requests() []map[string]any {
	content, _ := os.ReadFile(filepath.Join(r.state, "requests.jsonl"))
	var out []map[string]any
	for line := range bytes.Lines(content) {
		var m map[string]any
		if json.Unmarshal(line, &m) == nil {
			out = append(out, m)
		}
	}
	return out
}

// types are the types of the requests so far, without barriers.
func (r *rig) types() []string {
	var out []string
	for _, m := range r.requests() {
		if t, _ := m["type"].(string); !strings.HasPrefix(t, barrierPrefix) {
			out = append(out, t)
		}
	}
	return out
}
