//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// streams are what windows saw of each transport, by scenario.
type streams struct{ all []*stream }

type stream struct {
	name      string
	transport contract.Transport
	// scenarios holds the events by scenario, fields the JSON types by subject
	// and path.
	scenarios map[string][]string
	fields    map[string]map[string]string
	clash     []string
}

// of returns what takes the events of one transport.
func (s *streams) of(name string, transport contract.Transport) func(contract.Envelope) {
	i := slices.IndexFunc(s.all, func(x *stream) bool { return x.name == name })
	if i < 0 {
		i = len(s.all)
		s.all = append(s.all, &stream{name: name, transport: transport, scenarios: map[string][]string{}, fields: map[string]map[string]string{}})
	}
	return s.all[i].take
}

func (s *stream) take(e contract.Envelope) {
	family, rest, _ := strings.Cut(e.Subject, ".")
	what, id, _ := strings.Cut(rest, ".")
	if family == "conversation" {
		what = family + "." + what
	}
	// conf-<scenario>-<12 hex>: see the suite.
	scenario := strings.TrimPrefix(id, "conf-")
	if i := strings.LastIndexByte(scenario, '-'); i > 0 {
		scenario = scenario[:i]
	}
	s.scenarios[scenario] = append(s.scenarios[scenario], what)
	var v any
	if err := json.Unmarshal(e.Data, &v); err != nil {
		s.clash = append(s.clash, fmt.Sprintf("%s is no JSON: %s", e.Subject, e.Data))
		return
	}
	if s.fields[what] == nil {
		s.fields[what] = map[string]string{}
	}
	s.note(what, "", v)
}

func (s *stream) note(what, path string, v any) {
	word := "null"
	switch x := v.(type) {
	case string:
		word = "string"
	case bool:
		word = "bool"
	case float64:
		word = "number"
	case []any:
		word = "array"
		for _, e := range x {
			s.note(what, path+"[]", e)
		}
	case map[string]any:
		word = "object"
		for k, e := range x {
			s.note(what, strings.TrimPrefix(path+"."+k, "."), e)
		}
	}
	if before, ok := s.fields[what][path]; ok && before != word {
		s.clash = append(s.clash, fmt.Sprintf("%s %s is a %s here and a %s there", what, path, before, word))
	}
	s.fields[what][path] = word
}

// sometimes are keys that a scenario's outcome decides and not its transport:
// a window has to do without each of them anywhere.
var sometimes = map[string]string{
	"turn-summary.reasoning_tokens":          "only where the model counts its reasoning",
	"rate-limited.message":                   "only where the refusal carries words",
	"conversation.updated.context.estimated": "an SDK reports a turn and not its last request",
	"conversation.updated.context":           "an engine need not say how full its context is",
	"conversation.updated.context.used":      "as above",
	"conversation.updated.context.window":    "as above",
	"conversation.updated.engine_mode":       "the engine's own word for the posture; a window without it shows ours",
	"conversation.updated.health":            "only where the program behind it had died",
	"conversation.updated.health.state":      "as above", "conversation.updated.health.text": "as above",
	"conversation.updated.health.at":        "as above",
	"conversation.updated.engine_mode.mode": "as above", "conversation.updated.engine_mode.label": "as above",
	"conversation.updated.engine_mode.honoured": "as above", "conversation.updated.engine_mode.later": "as above",
}

// answers are subjects that only follow another one: who never emits that never
// emits them.
var answers = map[string]string{"conversation.edit-resolved": "pending-edit"}

// otherwise are scenarios whose order is an engine's own.
var otherwise = map[string]string{
	"permission-denied": "an engine may end its turn at a refusal, and is never told the reason",
	"plan-mode":         "an engine's plan mode may ask instead of refusing",
}

// played are the kinds of which only one scenario sees something: a model that
// lacks the feature has none.
var played = map[string]string{"thinking": "thinking", "thinking-stop": "thinking", "plan-block": "plan", "conversation.notice": "crash"}

// compare holds every transport against the first: the same subjects in the
// same order in each scenario, the same keys with the same types in each
// subject, except for what the divergence table declares.
func (s *streams) compare(t *testing.T) {
	if len(s.all) < 2 {
		t.Skip("one transport was played; run the whole test")
	}
	one := s.all[0]
	for _, other := range s.all {
		for _, c := range other.clash {
			t.Errorf("%s: %s", other.name, c)
		}
		if other == one {
			continue
		}
		t.Run(one.name+" and "+other.name, func(t *testing.T) {
			for _, what := range union(one.fields, other.fields) {
				differ(t, what, one, other)
				differ(t, what, other, one)
			}
			for _, name := range union(one.scenarios, other.scenarios) {
				a, b := one.scenarios[name], other.scenarios[name]
				if a == nil || b == nil {
					continue // One of the two lacks the feature, with its reason.
				}
				if otherwise[name] != "" && (one.transport == contract.TransportACP || other.transport == contract.TransportACP) {
					continue
				}
				for _, person := range []bool{false, true} {
					x, y := order(a, person, one, other), order(b, person, one, other)
					if !slices.Equal(x, y) {
						t.Errorf("scenario %s: %s publishes\n%s\nand %s\n%s", name, one.name, strings.Join(x, " "), other.name, strings.Join(y, " "))
					}
				}
			}
		})
	}
}

// differ finds what a has and b has not.
func differ(t *testing.T, what string, a, b *stream) {
	t.Helper()
	if declared(b.transport, what) || declared(a.transport, what) {
		return
	}
	if a.fields[what] == nil || played[what] != "" && b.scenarios[played[what]] == nil {
		return
	}
	if b.fields[what] == nil {
		t.Errorf("%s publishes %s, %s never does", a.name, what, b.name)
		return
	}
	for path, word := range a.fields[what] {
		key := what + "." + path
		got, ok := b.fields[what][path]
		switch {
		case ok && got != word:
			t.Errorf("%s is a %s of %s and a %s of %s", key, word, a.name, got, b.name)
		case !ok && !declared(b.transport, key) && sometimes[key] == "":
			t.Errorf("%s has %s, %s has not", a.name, key, b.name)
		}
	}
}

func declared(t contract.Transport, subject string) bool {
	if of := answers[subject]; of != "" {
		subject = of
	}
	return slices.ContainsFunc(conformance.Divergences[t], func(d conformance.Divergence) bool { return d.Subject == subject })
}

// persons are the events that a person's action makes.
var persons = []string{"conversation.user-turn", "conversation.queue-changed", "conversation.prompt-resolved", "conversation.edit-resolved"}

// order is the sequence of a scenario without what may repeat or be absent by
// declaration: runs of text are one, patches of the summary have no place. What
// a person does meanwhile falls anywhere between the words of the model, so that
// is a sequence of its own.
func order(events []string, person bool, a, b *stream) (out []string) {
	for _, what := range events {
		switch {
		case person != slices.Contains(persons, what):
		case what == "conversation.updated", declared(a.transport, what), declared(b.transport, what):
		case len(out) > 0 && out[len(out)-1] == what && (what == "chunk" || what == "thinking"):
		default:
			out = append(out, what)
		}
	}
	return out
}

func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
