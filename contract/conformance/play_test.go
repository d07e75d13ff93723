package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// pretend is a service that answers every message with the next step's text
// and can be told to misbehave. It is enough of one for the scenarios without
// tools.
type pretend struct {
	script  Script
	id      contract.ConversationID
	log     []contract.Envelope
	turns   int
	content string
	units   int
	// lie changes what is about to be published; nil publishes nothing.
	lie func(name string, payload any) any
	// late is published behind the rename.
	late bool
}

func (f *pretend) Start() contract.StartParams {
	return contract.StartParams{Provider: contract.ProviderDemo, Model: "m", ProjectPath: "p"}
}

func (f *pretend) publish(name string, payload any) {
	if f.lie != nil {
		if payload = f.lie(name, payload); payload == nil {
			return
		}
	}
	var subject string
	var err error
	if k := contract.Kind(name); k.Valid() {
		subject, err = contract.Subject(k, f.id)
	} else {
		subject, err = contract.ConversationSubject(contract.What(name), f.id)
	}
	if err != nil {
		panic(err)
	}
	raw, err := contract.Marshal(payload)
	if err != nil {
		panic(err)
	}
	turn := contract.TurnID("")
	if f.turns > 0 && name != string(contract.WhatUserTurn) && name != string(contract.WhatUpdated) {
		turn = contract.TurnID(fmt.Sprintf("t-%d", f.turns))
	}
	f.log = append(f.log, contract.Envelope{Seq: uint64(len(f.log) + 1), Time: time.Unix(1, 0), Subject: subject, Turn: turn, Data: raw})
}

func (f *pretend) turn(text string) {
	f.publish("user-turn", contract.UserTurn{MessageID: fmt.Sprintf("m-%d", f.turns), Content: text, Attachments: []contract.AttachmentInfo{}})
	f.again()
}

func (f *pretend) again() {
	f.turns++
	id := contract.TurnID(fmt.Sprintf("t-%d", f.turns))
	f.publish("turn-started", contract.TurnStarted{TurnID: id})
	f.content, f.units = "", 0
	step := f.script.Steps[0]
	f.script.Steps = f.script.Steps[1:]
	for _, s := range step.Text {
		f.publish("chunk", s)
		f.content += s
		f.units += contract.UTF16Len(s)
	}
	f.publish("done", contract.Done{InputTokens: 1, OutputTokens: 1})
	f.publish("turn-ended", contract.TurnEnded{TurnID: id, Outcome: contract.OutcomeDone})
}

func (f *pretend) Call(_ context.Context, m contract.Method, params, result any) error {
	switch p := params.(type) {
	case contract.StartParams:
		f.id = p.SessionID
		f.turn(p.InitialMessage)
	case contract.SendParams:
		f.turn(p.Message)
	case contract.RetryParams:
		f.publish("updated", map[string]bool{contract.PatchReload: true})
		f.again()
	case contract.RenameParams:
		f.publish("updated", map[string]string{"title": p.Title})
		if f.late {
			f.publish("chunk", "late")
		}
	case contract.SessionParams:
		if m == contract.MethodGetConversation {
			*result.(*contract.Snapshot) = contract.Snapshot{Seq: uint64(len(f.log)), Conversation: contract.Conversation{
				Summary: contract.Summary{Status: contract.StatusIdle},
				Messages: []contract.Message{{
					Role: contract.RoleAssistant, Content: f.content,
					Parts: []contract.Part{{Type: contract.PartText, Length: f.units}},
				}},
			}}
		}
	default:
		return contract.Fail(contract.CodeNoMethod, "%s", m)
	}
	return nil
}

func (f *pretend) Subscribe(context.Context, []string, any) (Stream, error) {
	return &tape{f: f}, nil
}
func (f *pretend) Release()                          {}
func (f *pretend) File(string) (string, bool, error) { return "", false, nil }
func (f *pretend) Close()                            {}

type tape struct {
	f  *pretend
	at int
}

var errSilent = errors.New("the service says no more")

func (s *tape) Next(context.Context) (contract.Envelope, error) {
	if s.at >= len(s.f.log) {
		return contract.Envelope{}, errSilent
	}
	s.at++
	return s.f.log[s.at-1], nil
}
func (s *tape) Close() {}

// everythingElse is what pretend cannot do.
var everythingElse = map[Feature]string{
	FeatureThinking: "it only talks", FeatureTools: "it only talks", FeaturePlan: "it only talks", FeatureLimit: "it only talks",
	FeatureFail: "it only talks", FeatureHold: "it only talks", FeatureCrash: "it only talks", FeatureOneShot: "it only talks",
}

func talk(change func(*pretend)) Suite {
	return Suite{
		Transport: contract.TransportInProcess, Lacks: everythingElse,
		Open: func(_ context.Context, s Script) (Harness, error) {
			f := &pretend{script: s}
			if change != nil {
				change(f)
			}
			return f, nil
		},
	}
}

// TestPlay_Good: the scenarios that the pretended service can play pass, the
// others say why they were not played.
func TestPlay_Good(t *testing.T) {
	t.Parallel()
	r := Play(t.Context(), talk(nil))
	passed, failed, allowed, skipped := r.Count()
	if passed != 2 || failed != 0 || allowed != 1 || passed+allowed+skipped != len(scenarios) || !r.OK() {
		var b strings.Builder
		_ = r.Print(&b)
		t.Fatalf("%d passed, %d failed, %d allowed, %d skipped\n%s", passed, failed, allowed, skipped, b.String())
	}
}

func TestPlay_Bad(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*pretend)
		want   string
	}{
		{"a chunk is lost", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if payload == hello[1] {
					return nil
				}
				return payload
			}
		}, "5 deltas became 4 chunks"},
		{"two chunks in one", func(f *pretend) {
			f.lie = func(_ string, payload any) any {
				switch payload {
				case hello[0]:
					return hello[0] + hello[1]
				case hello[1]:
					return nil
				}
				return payload
			}
		}, "5 deltas became 4 chunks"},
		{"no end", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if name == "turn-ended" {
					return nil
				}
				return payload
			}
		}, "waiting for the end of turn 1"},
		{"it ends as another", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if name == "turn-ended" {
					return contract.TurnEnded{TurnID: payload.(contract.TurnEnded).TurnID, Outcome: contract.OutcomeError}
				}
				return payload
			}
		}, "ends as error, want done"},
		{"a late delta", func(f *pretend) { f.late = true }, "outside a turn"},
		{"another snapshot", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if name == "done" {
					f.content += "!"
				}
				return payload
			}
		}, "the snapshot says"},
		{"parts that do not add up", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if name == "done" {
					f.units++
				}
				return payload
			}
		}, "the text parts of the snapshot count"},
		{"nothing is counted", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if name == "done" {
					return contract.Done{}
				}
				return payload
			}
		}, "no turn counted a token"},
		{"a key it never fills", func(f *pretend) {
			f.lie = func(name string, payload any) any {
				if name == "done" {
					return contract.Done{InputTokens: 1, ResumeToken: new("r")}
				}
				return payload
			}
		}, "done.resume_token is declared as a divergence and did not occur"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := Play(t.Context(), talk(tc.change))
			var b strings.Builder
			if err := r.Print(&b); err != nil {
				t.Fatal(err)
			}
			if r.OK() || !strings.Contains(b.String(), tc.want) {
				t.Fatalf("OK is %v, want a failure with %q:\n%s", r.OK(), tc.want, b.String())
			}
		})
	}
}

func TestPlay_HarnessThatDoesNotStart(t *testing.T) {
	t.Parallel()
	r := Play(t.Context(), Suite{
		Transport: contract.TransportACP,
		Open:      func(context.Context, Script) (Harness, error) { return nil, errors.New("no such command") },
	})
	passed, failed, allowed, _ := r.Count()
	if passed != 0 || failed == 0 || allowed == 0 || r.OK() {
		t.Fatalf("%d passed, %d failed, %d allowed", passed, failed, allowed)
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "no such command") {
		t.Fatalf("%v\n%s", err, b.String())
	}
}

// TestSight: the rules that a transport declares are watched for, too.
func TestSight(t *testing.T) {
	t.Parallel()
	prompt := func(id string) []contract.Envelope {
		return envelopes(t, []string{
			`t-1 tool-start {"id":"a","name":"Run"}`,
			`t-1 permission-request {"id":"` + id + `","name":"Run","arguments":"{}"}`,
			`t-1 done {` + noTokens + `,"cancelled":false}`,
		})
	}
	for _, tc := range []struct {
		name     string
		events   []contract.Envelope
		problems int
	}{
		{"its own ids", prompt("7"), 0},
		{"the ids of the calls", prompt("a"), 1},
		{"nothing", nil, 0},
		{"it counts after all", envelopes(t, []string{`t-1 done {"input_tokens":5,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":false}`}), 1},
		{"a kind it never emits", envelopes(t, []string{`t-1 rate-limited {}`}), 1},
	} {
		s := newSight()
		s.add(tc.events)
		if _, problems := s.judge(contract.TransportACP); len(problems) != tc.problems {
			t.Errorf("%s: %v, want %d", tc.name, problems, tc.problems)
		}
	}
}

// TestScenarios: names are told apart in a report, and each has a way to be
// played.
func TestScenarios(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, sc := range scenarios {
		if names[sc.name] || sc.play == nil || len(sc.script.Steps) == 0 {
			t.Errorf("scenario %q: repeated, or without a play or a script", sc.name)
		}
		names[sc.name] = true
		for _, s := range sc.script.Steps {
			for feature, used := range map[Feature]bool{
				FeatureThinking: len(s.Thinking) > 0, FeatureTools: len(s.Calls) > 0, FeaturePlan: len(s.Plan) > 0,
				FeatureLimit: s.Limited != nil, FeatureFail: s.Fail != "", FeatureHold: s.Hold,
			} {
				if used && !strings.Contains(fmt.Sprint(sc.features), string(feature)) {
					t.Errorf("scenario %q uses %s without saying so", sc.name, feature)
				}
			}
		}
	}
}
