package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/acp"
	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// engines is what the service knows of ACP engines beyond any conversation:
// which there are, how each stands, what it said about itself. One value for the
// whole life of the service, so that it outlives hosts and supervisors. Safe for
// concurrent use.
type engines struct {
	node    gen.Node
	getenv  func(string) string
	environ []string
	groups  child.Options
	// changed tells every window to look at a badge again.
	changed func(contract.AuthProbe)
	now     func() time.Time

	mu     sync.Mutex
	heard  map[string]engineState
	probed probed
	asking sync.Mutex // Held while a doctor runs, so that one runs for all.
}

// engineState is what was heard of one engine.
type engineState struct {
	state  msg.ChildState
	reason string
	// facts is nil until the engine has shaken hands once.
	facts *msg.EngineFacts
	// ready says that the present host's engine has; failed is when the last
	// start did not come so far.
	ready  bool
	failed time.Time
}

// probed is the last answer of the default engine's doctor.
type probed struct {
	path  string
	at    time.Time
	probe acp.Probe
}

// How long an answer of the doctor counts, and how long a start that failed
// keeps a row from being launched again: after that it is worth a try.
const (
	probeFresh = 3 * time.Second
	failureOld = time.Minute
)

// engineName is the name of the engine behind a host's registered name, empty
// for every other actor.
func engineName(actor gen.Atom) string {
	name, ok := strings.CutPrefix(string(actor), string(msg.EngineName("")))
	if !ok {
		return ""
	}
	return name
}

// engineProbe is the badge probe of an engine.
func engineProbe(name string) contract.AuthProbe {
	if name == acp.DefaultName {
		return contract.AuthProbe(contract.ProviderPacketcode)
	}
	return contract.EngineRow(name, name).Probe
}

// Heard takes one status of a policy; those of other children change nothing.
func (e *engines) Heard(s msg.Status) {
	name := engineName(s.Name)
	if name == "" {
		return
	}
	e.mu.Lock()
	before, known := e.heard[name]
	after := before.next(s, e.now())
	if e.heard == nil {
		e.heard = map[string]engineState{}
	}
	e.heard[name] = after
	e.mu.Unlock()
	if !known || after.shown() != before.shown() || after.facts != before.facts {
		e.changed(engineProbe(name))
	}
}

// next is the state after one more status.
func (s engineState) next(now msg.Status, at time.Time) engineState {
	s.state = now.State
	if now.LastReason != "" {
		s.reason = now.LastReason
	}
	if facts, ok := now.Detail.(msg.EngineFacts); ok && (s.facts == nil || !sameFacts(*s.facts, facts)) {
		s.facts = &facts
	}
	if _, ok := now.Detail.(msg.EngineFacts); ok {
		s.ready, s.reason, s.failed = true, now.LastReason, time.Time{}
	}
	switch now.State {
	case msg.StateBackoff, msg.StateDown, msg.StateIncompatible:
		if !s.ready {
			s.failed = at
		}
		s.ready = false
	case msg.StateStopped:
		s.ready, s.failed = false, time.Time{}
	}
	if now.Gone {
		s.ready, s.failed, s.state = false, time.Time{}, msg.StateStopped
	}
	return s
}

// shown is what a badge depends on.
func (s engineState) shown() string {
	if s.spent() {
		return "spent: " + s.reason
	}
	return s.failed.String()
}

func (s engineState) spent() bool {
	return s.state == msg.StateDown || s.state == msg.StateIncompatible
}

// failure is why a row cannot be launched, empty when it can.
func (s engineState) failure(at time.Time) string {
	switch {
	case !s.spent() && (s.failed.IsZero() || at.Sub(s.failed) > failureOld):
		return ""
	case s.reason != "":
		return s.reason
	}
	return "The engine ended again and again. Look at the log, then reset it in Ops."
}

func sameFacts(a, b msg.EngineFacts) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func (e *engines) state(name string) engineState {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard[name]
}

// engineSettings are the settings about engines.
type engineSettings struct {
	Pinned  string          `json:"acp_engine_path"`
	Engines json.RawMessage `json:"engines"`
}

// readEngines is what stored app settings say; what cannot be read counts as
// nothing, since the store checks what it takes.
func readEngines(app json.RawMessage) (s engineSettings) {
	if json.Unmarshal(app, &s) != nil {
		return engineSettings{}
	}
	return s
}

// lookup is where the default engine is looked for.
func lookup(pinned string, getenv func(string) string) acp.Lookup {
	l := acp.ThisMachine(pinned)
	l.Getenv = getenv
	return l
}

// specs are the engines of Settings, then the known ones that are on PATH. The
// default one is not among them.
func (s engineSettings) specs() (all []acp.Spec, problems []string) {
	all, problems = acp.DecodeSpecs(s.Engines)
	return append(all, acp.Presets(all, acp.ResolveProgram)...), problems
}

// settings asks the store.
func (e *engines) settings() (engineSettings, error) {
	reply, err := e.node.CallWithTimeout(msg.Store, msg.GetSettings{}, 5)
	stored, ok := reply.(msg.Settings)
	if err != nil || !ok {
		return engineSettings{}, errors.New("the settings could not be read just now; try again")
	}
	return readEngines(stored.App), nil
}

// Find is the engine of this name as it is to be started, with an absolute
// command: see acp.Options. It starts nothing and asks no doctor.
func (e *engines) Find(name string) (acp.Spec, error) {
	s, err := e.settings()
	if err != nil {
		return acp.Spec{}, err
	}
	if name == acp.DefaultName {
		return located(acp.DefaultSpec(lookup(s.Pinned, e.getenv).Find()))
	}
	all, _ := s.specs()
	for _, spec := range all {
		if spec.Name == name {
			return located(spec)
		}
	}
	return acp.Spec{}, errors.New("no engine of this name is set up")
}

// located gives an engine its absolute command. An absolute one stays as it was
// written: a wrong one fails where it is started, with the system's own words.
func located(s acp.Spec) (acp.Spec, error) {
	if filepath.IsAbs(s.Command) {
		return s, nil
	}
	path, ok := acp.ResolveProgram(s.Command)
	if !ok {
		return acp.Spec{}, errors.New(s.Command + " was not found")
	}
	s.Command = path
	return s, nil
}

// probe asks the default engine's doctor, at most once in probeFresh.
func (e *engines) probe(ctx context.Context, path string) acp.Probe {
	e.asking.Lock()
	defer e.asking.Unlock()
	e.mu.Lock()
	last := e.probed
	e.mu.Unlock()
	if at := e.now(); last.path == path && at.Sub(last.at) < probeFresh && !at.Before(last.at) {
		return last.probe
	}
	p := acp.RunProbe(ctx, path, e.environ, e.groups)
	if ctx.Err() == nil { // Else it says more about whoever asked.
		e.mu.Lock()
		e.probed = probed{path, e.now(), p}
		e.mu.Unlock()
	}
	return p
}

// engineRow is an engine as the picker shows it.
type engineRow struct {
	row   contract.Row
	badge contract.Badge
	facts *msg.EngineFacts
}

// rows are all engines, the default one first.
func (e *engines) rows(ctx context.Context, s engineSettings) []engineRow {
	row, err := contract.RowForProvider(contract.ProviderPacketcode)
	if err != nil {
		row = contract.EngineRow(acp.DefaultName, acp.DefaultName) // Not reached: it is in the table.
	}
	state, at := e.state(acp.DefaultName), e.now()
	badge := e.probe(ctx, lookup(s.Pinned, e.getenv).Find()).Badge()
	if failure := state.failure(at); badge.Status == contract.BadgeReady && failure != "" {
		badge = contract.Badge{Status: contract.BadgeServiceDown, Hint: failure}
	}
	all := []engineRow{{row, badge, state.facts}}
	specs, _ := s.specs()
	for _, spec := range specs {
		state := e.state(spec.Name)
		all = append(all, engineRow{contract.EngineRow(spec.Name, spec.Label), acp.SpecBadge(spec, state.failure(at)), state.facts})
	}
	return all
}

// provider is the row as list_providers answers it. Its models are what the
// engine has told: an engine that was asked and named none has none.
func (r engineRow) provider() contract.ProviderRow {
	models, told := []contract.Model{}, false
	if r.facts != nil && r.facts.Models != nil {
		models, told = r.facts.Models, true
	}
	c := narrow(contract.CapabilitiesOf(r.row, models, told, 0), r.facts)
	return contract.ProviderRow{
		Row: r.row.ID, Label: r.row.Label, Group: r.row.Group, Transport: r.row.Transport, Provider: r.row.Provider,
		Models: models, Badge: r.badge, Capabilities: c,
	}
}

// narrow takes out of a row's capabilities what its engine does not offer; an
// engine that has said nothing yet offers what the row does.
func narrow(c contract.Capabilities, f *msg.EngineFacts) contract.Capabilities {
	if f == nil {
		return c
	}
	c.ImageAttachments, c.MCP = f.Images, true
	c.ReportsUsage, c.CanRename = f.Usage, f.Rename
	if f.Modes != nil {
		c.PermissionModes, c.CanPlanMode = f.Modes, f.Plan
	}
	return c
}

// Narrow is narrow for a conversation, with the models that its engine has told.
func (e *engines) Narrow(p contract.ProviderID, c contract.Capabilities) contract.Capabilities {
	name := contract.EngineOf(p)
	if name == "" {
		return c
	}
	facts := e.state(name).facts
	if facts != nil && facts.Models != nil {
		c.Models, c.ModelsAreAuthoritative = facts.Models, true
	}
	return narrow(c, facts)
}

// Probe is the answer to probe_engine.
func (e *engines) Probe(ctx context.Context) contract.EngineProbe {
	s, err := e.settings()
	if err != nil {
		return contract.EngineProbe{MinimumVersion: acp.MinimumVersion, Detail: err.Error()}
	}
	return contract.EngineProbe(e.probe(ctx, lookup(s.Pinned, e.getenv).Find()))
}

// CheckPin judges a path before it is kept.
func (e *engines) CheckPin(path string) (string, error) { return acp.CheckPin(path) }
