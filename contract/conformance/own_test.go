package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

// own plays the suite against a pretended service that takes no script.
func own(change func(*pretend), played func(Result)) Suite {
	s := talk(change)
	s.Unscripted, s.Played = "it has a mind of its own", played
	open := s.Open
	s.Open = func(ctx context.Context, _ Script) (Harness, error) {
		return open(ctx, steps(say("One."), say("Two."), say("Three.")))
	}
	return s
}

// What needs a script is skipped with the reason, what needs none is played, and
// a situation that did not arise is no fault.
func TestPlay_Unscripted(t *testing.T) {
	t.Parallel()
	var heard []string
	r := Play(t.Context(), own(nil, func(r Result) { heard = append(heard, r.String()) }))
	passed, failed, allowed, skipped := r.Count()
	all := len(ownScenarios) + len(scenarios)
	if passed != 1 || failed != 0 || !r.OK() || passed+allowed+skipped != all || len(heard) != all {
		t.Errorf("%d passed, %d failed, %d allowed, %d skipped of %d\n%s", passed, failed, allowed, skipped, all, strings.Join(heard, "\n"))
	}
	for _, want := range []string{
		"skipped  own cancel with a queue: the turn was over before a message could be queued", "skipped  plain: it has a mind of its own",
	} {
		if !slices.Contains(heard, want) {
			t.Errorf("no %q among\n%s", want, strings.Join(heard, "\n"))
		}
	}
	r = Play(t.Context(), own(func(f *pretend) {
		f.lie = func(name string, payload any) any {
			if name == string(contract.KindDone) {
				return contract.Error{Message: "no"}
			}
			return payload
		}
	}, nil))
	if r.OK() {
		t.Error("turns that end with done and error at once pass")
	}
}

func TestOwnScenarios(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, sc := range append(slices.Clone(ownScenarios), scenarios...) {
		if names[sc.name] || sc.play == nil {
			t.Errorf("scenario %q: repeated, or without a play", sc.name)
		}
		names[sc.name] = true
		if isOwn := strings.HasPrefix(sc.name, "own "); sc.own != isOwn || isOwn && len(sc.script.Steps) > 0 {
			t.Errorf("scenario %q: one with a script is not own", sc.name)
		}
	}
}
