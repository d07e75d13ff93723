package conformance

import (
	"fmt"

	"github.com/packetbench/packetbench/contract"
)

// ownScenarios are played when the model takes no Script: whatever it says, its
// turns begin, prompt, end and can be cancelled by the rules.
var ownScenarios = []scenario{
	{
		name: "own turns", own: true, owes: []contract.Kind{contract.KindDone},
		play: func(p *player) error {
			if err := p.start(nil); err != nil {
				return err
			}
			if err := p.answered(1, contract.AllowOnce, contract.OutcomeDone); err != nil {
				return err
			}
			return p.ownAgain(2)
		},
	},
	{
		name: "own prompt answered twice", own: true, features: []Feature{FeaturePrompts},
		play: func(p *player) error {
			id, err := p.ownPrompt()
			if err != nil {
				return err
			}
			if err := p.respond(id, contract.AllowOnce, ""); err != nil {
				return err
			}
			err = p.respond(id, contract.Deny, "")
			p.want(code(err) == contract.CodeAnswered, "a second answer gets %v, want code %d", err, contract.CodeAnswered)
			if err := p.answered(1, contract.AllowOnce, contract.OutcomeDone); err != nil {
				return err
			}
			return p.rest()
		},
	},
	{
		name: "own prompt denied", own: true, features: []Feature{FeaturePrompts},
		play: func(p *player) error {
			id, err := p.ownPrompt()
			if err != nil {
				return err
			}
			if err := p.respond(id, contract.Deny, "Not this way."); err != nil {
				return err
			}
			if err := p.answered(1, contract.Deny, contract.OutcomeDone); err != nil {
				return err
			}
			return p.ownAgain(2)
		},
	},
	{
		// F52.
		name: "own cancel with a prompt open", own: true, features: []Feature{FeaturePrompts},
		play: func(p *player) error {
			id, err := p.ownPrompt()
			if err != nil {
				return err
			}
			if err := p.cancel(); err != nil {
				return err
			}
			if err := p.answered(1, contract.Deny, contract.OutcomeCancelled); err != nil {
				return err
			}
			by := p.resolvedBy(id)
			p.want(by == contract.ByCancel, "the prompt was resolved by %q, want %q", by, contract.ByCancel)
			return p.ownAgain(2)
		},
	},
	{
		name: "own cancel with a queue", own: true,
		play: func(p *player) error {
			if err := p.ownBegun(); err != nil {
				return err
			}
			r, err := p.send("Later.")
			if err != nil {
				return err
			}
			if !r.Queued {
				return &notPlayedError{"the turn was over before a message could be queued"}
			}
			if err := p.cancel(); err != nil {
				return err
			}
			if err := p.answered(1, contract.Deny, contract.OutcomeCancelled); err != nil {
				return err
			}
			return p.ownAgain(2)
		},
	},
	{
		// F53, F54.
		name: "own queue", own: true,
		play: func(p *player) error {
			if err := p.ownBegun(); err != nil {
				return err
			}
			r, err := p.send("Second.")
			if err != nil {
				return err
			}
			if !r.Queued {
				return &notPlayedError{"the turn was over before a message could be queued"}
			}
			for n := 1; n <= 2; n++ {
				if err := p.answered(n, contract.AllowOnce, contract.OutcomeDone); err != nil {
					return err
				}
			}
			return p.rest()
		},
	},
	{
		name: "own crash", own: true, features: []Feature{FeatureCrash}, owes: []contract.Kind{contract.KindError},
		play: func(p *player) error {
			c, ok := p.h.(Crasher)
			if !ok {
				return fmt.Errorf("the harness cannot crash its transport; declare that it lacks the feature")
			}
			if err := p.ownBegun(); err != nil {
				return err
			}
			if err := c.Crash(p.ctx); err != nil {
				return err
			}
			if err := p.answered(1, contract.Deny, contract.OutcomeError); err != nil {
				return err
			}
			return p.ownAgain(2)
		},
	},
}

// notPlayedError says that a situation did not arise, so that there is nothing
// to judge.
type notPlayedError struct{ why string }

func (e *notPlayedError) Error() string { return e.why }

// answered reads to the end of turn n, gives every prompt on the way the same
// answer, and says when the turn ends otherwise than wanted.
func (p *player) answered(n int, d contract.Decision, want contract.Outcome) error {
	if p.ended >= n {
		return fmt.Errorf("turn %d had ended before it was waited for", n)
	}
	var refused error
	answer := func(id string) {
		// One that was resolved meanwhile needs no answer.
		if err := p.respond(id, d, ""); refused == nil && code(err) != contract.CodeAnswered {
			refused = err
		}
	}
	for _, e := range p.of(contract.KindPermissionRequest) { // Read while something else was waited for.
		if id := e.(contract.PermissionRequest).ID; p.resolvedBy(id) == "" {
			answer(id)
		}
	}
	e, err := p.until(fmt.Sprintf("the end of turn %d", n), func(a contract.Address, e contract.Envelope) bool {
		if a.Kind == contract.KindPermissionRequest {
			answer(decode[contract.PermissionRequest](e).ID)
		}
		return p.ended >= n || refused != nil
	})
	if err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	got := decode[contract.TurnEnded](e).Outcome
	p.want(got == want, "turn %d ends as %s, want %s", n, got, want)
	return nil
}

// ownAgain runs one more turn, the n-th: what went before must not matter.
func (p *player) ownAgain(n int) error {
	if _, err := p.send("Go on."); err != nil {
		return err
	}
	if err := p.answered(n, contract.AllowOnce, contract.OutcomeDone); err != nil {
		return err
	}
	return p.rest()
}

// ownPrompt starts a turn and waits for its first prompt.
func (p *player) ownPrompt() (id string, err error) {
	if err := p.start(nil); err != nil {
		return "", err
	}
	e, err := p.until("a prompt", func(a contract.Address, _ contract.Envelope) bool {
		return a.Kind == contract.KindPermissionRequest || p.ended > 0
	})
	if err != nil {
		return "", err
	}
	if p.ended > 0 {
		return "", &notPlayedError{"the model asked for no permission in this turn"}
	}
	return decode[contract.PermissionRequest](e).ID, nil
}

// ownBegun starts a turn and waits until it has said something.
func (p *player) ownBegun() error {
	if err := p.start(nil); err != nil {
		return err
	}
	_, err := p.until("a first event", func(a contract.Address, _ contract.Envelope) bool { return a.Kind != "" })
	if err == nil && p.ended > 0 {
		return &notPlayedError{"the turn was over at once"}
	}
	return err
}
