package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// scenario is one scripted situation.
type scenario struct {
	name string
	// needs are kinds without which it makes no sense; a transport that
	// declares one as never emitted does not play it.
	needs    []contract.Kind
	features []Feature
	// owes are kinds that must be seen unless the transport declares
	// otherwise.
	owes   []contract.Kind
	script Script
	// own says that it needs no Script, see ownScenarios.
	own  bool
	play func(*player) error
}

var hello = []string{"Hel", "lo \u2014 ", "w\u00f6rld ", "\U0001F600", "."}

func say(text ...string) Step { return Step{Text: text} }

func steps(s ...Step) Script { return Script{Steps: s} }

func calls(c ...Call) Step { return Step{Calls: c} }

func allowAll(p *contract.StartParams) { p.PermissionMode = contract.ModeAllowAll }

func gated(p *contract.StartParams) {
	p.PermissionMode = contract.ModeAllowAll
	p.ApproveWrites = true
}

var (
	run   = Call{Do: ActionRun, Text: "echo one"}
	write = Call{Do: ActionWrite, Path: "made.txt", Text: "proposed\n"}
)

// scenarios are played in this order.
var scenarios = []scenario{
	{
		name: "plain", script: steps(say(hello...), say("Again.")),
		owes: []contract.Kind{contract.KindChunk, contract.KindDone, contract.KindTurnSummary},
		play: playPlain,
	},
	{
		name: "thinking", features: []Feature{FeatureThinking},
		owes:   []contract.Kind{contract.KindThinking, contract.KindThinkingStop},
		script: steps(Step{Thinking: []string{"Let me ", "see \u2014 ", "yes."}, Text: hello}),
		play:   playThinking,
	},
	{
		name: "tool without permission", features: []Feature{FeatureTools},
		owes:   []contract.Kind{contract.KindToolStart, contract.KindToolResult},
		script: steps(Step{Text: []string{"Looking. "}, Calls: []Call{{Do: ActionRead, Path: "absent.txt"}}}, say("Done.")),
		play: func(p *player) error {
			if err := p.start(nil); err != nil {
				return err
			}
			if err := p.endsAs(1, contract.OutcomeDone); err != nil {
				return err
			}
			p.want(len(p.of(contract.KindPermissionRequest)) == 0, "reading a file of the project asked for permission")
			p.want(p.textOf(1) == "Looking. Done.", "the turn says %q", p.textOf(1))
			return p.rest()
		},
	},
	{
		name: "permission allowed", features: []Feature{FeatureTools, FeaturePrompts},
		owes:   []contract.Kind{contract.KindPermissionRequest, contract.KindToolResult, contract.KindToolOutputExtended},
		script: steps(calls(run), say("Done.")),
		play: func(p *player) error {
			id, err := p.prompted()
			if err != nil {
				return err
			}
			if err := p.respond(id, contract.AllowOnce, ""); err != nil {
				return err
			}
			// The first answer wins, and the second is told so.
			err = p.respond(id, contract.Deny, "")
			p.want(code(err) == contract.CodeAnswered, "a second answer gets %v, want code %d", err, contract.CodeAnswered)
			if err := p.endsAs(1, contract.OutcomeDone); err != nil {
				return err
			}
			r := p.results()
			p.want(len(r) == 1 && !r[0].IsError && strings.Contains(r[0].Content, "one"), "the command was allowed and gave %+v", r)
			err = p.respond("never-seen", contract.AllowOnce, "")
			p.want(code(err) == contract.CodeNotFound, "an answer to no prompt gets %v, want code %d", err, contract.CodeNotFound)
			return p.rest()
		},
	},
	{
		name: "permission denied", features: []Feature{FeatureTools, FeaturePrompts},
		owes:   []contract.Kind{contract.KindPermissionRequest, contract.KindToolResult},
		script: steps(calls(run), say("Another way, then.")),
		play: func(p *player) error {
			id, err := p.prompted()
			if err != nil {
				return err
			}
			if err := p.respond(id, contract.Deny, "Read the file instead."); err != nil {
				return err
			}
			if err := p.endsAs(1, contract.OutcomeDone); err != nil {
				return err
			}
			r := p.results()
			p.want(len(r) == 1 && r[0].IsError, "the command was denied and gave %+v", r)
			if p.inProcess() && len(r) == 1 {
				want := contract.TextDenied + contract.TextDeniedGuidance + "Read the file instead."
				p.want(r[0].Content == want, "the refusal is %q, want %q", r[0].Content, want)
			}
			return p.rest()
		},
	},
	{
		name: "cancelled in text", features: []Feature{FeatureHold},
		script: steps(Step{Text: hello, Hold: true}, say("Here again.")),
		play: func(p *player) error {
			if err := p.start(nil); err != nil {
				return err
			}
			if _, err := p.untilKind(contract.KindChunk); err != nil {
				return err
			}
			if err := p.cancel(); err != nil {
				return err
			}
			return p.cancelledThenSend()
		},
	},
	{
		name: "cancelled with a queue", features: []Feature{FeatureHold},
		script: steps(Step{Text: hello, Hold: true}, say("Here again.")),
		play: func(p *player) error {
			if err := p.start(nil); err != nil {
				return err
			}
			if _, err := p.untilKind(contract.KindChunk); err != nil {
				return err
			}
			r, err := p.send("Later.")
			if err != nil {
				return err
			}
			p.want(r.Queued, "a message sent while a turn runs is not queued")
			if err := p.cancel(); err != nil {
				return err
			}
			return p.cancelledThenSend()
		},
	},
	{
		// F52: the request behind an open prompt is answered, and the turn ends.
		name: "cancelled with a prompt open", features: []Feature{FeatureTools, FeaturePrompts},
		script: steps(calls(run), say("Here again.")),
		play: func(p *player) error {
			id, err := p.prompted()
			if err != nil {
				return err
			}
			if err := p.cancel(); err != nil {
				return err
			}
			if err := p.cancelledThenSend(); err != nil {
				return err
			}
			by := p.resolvedBy(id)
			p.want(by == contract.ByCancel, "the prompt was resolved by %q, want %q", by, contract.ByCancel)
			err = p.respond(id, contract.AllowOnce, "")
			p.want(code(err) == contract.CodeAnswered, "an answer after the cancel gets %v, want code %d", err, contract.CodeAnswered)
			return nil
		},
	},
	{
		// F16, F17: the call gets a result, and the next send is valid.
		name: "cancelled in a tool", features: []Feature{FeatureTools},
		script: steps(calls(Call{Do: ActionRun, Text: "echo begun > begun.txt; sleep 60"}), say("Here again.")),
		play: func(p *player) error {
			if err := p.start(allowAll); err != nil {
				return err
			}
			if _, err := p.untilKind(contract.KindToolStart); err != nil {
				return err
			}
			if err := p.untilFile("begun.txt"); err != nil {
				return err
			}
			if err := p.cancel(); err != nil {
				return err
			}
			if err := p.cancelledThenSend(); err != nil {
				return err
			}
			r := p.results()
			// An engine may call a command ended that a cancel has ended.
			p.want(len(r) == 1 && (r[0].IsError || p.transport == contract.TransportACP), "the cancelled command gave %+v", r)
			return nil
		},
	},
	{
		name: "edit kept", features: []Feature{FeatureTools}, needs: []contract.Kind{contract.KindPendingEdit},
		script: steps(calls(write), say("Done.")),
		play:   func(p *player) error { return p.edit(contract.ApplyEdit, nil, "proposed\n") },
	},
	{
		name: "edit merged", features: []Feature{FeatureTools}, needs: []contract.Kind{contract.KindPendingEdit},
		script: steps(calls(write), say("Done.")),
		play:   func(p *player) error { return p.edit(contract.ApplyEdit, new("merged\n"), "merged\n") },
	},
	{
		name: "edit rejected", features: []Feature{FeatureTools}, needs: []contract.Kind{contract.KindPendingEdit},
		script: steps(calls(write), say("Done.")),
		play:   func(p *player) error { return p.edit(contract.RejectEdit, nil, "") },
	},
	{
		name: "edit baseline", features: []Feature{FeatureTools}, needs: []contract.Kind{contract.KindEditBaseline},
		owes:   []contract.Kind{contract.KindEditBaseline},
		script: steps(calls(write), calls(Call{Do: ActionWrite, Path: "made.txt", Text: "second\n"}), say("Done.")),
		play:   playBaseline,
	},
	{
		name: "plan mode", features: []Feature{FeatureTools},
		script: steps(calls(write), say("A plan, then.")),
		play:   playPlanMode,
	},
	{
		name: "plan", features: []Feature{FeaturePlan}, needs: []contract.Kind{contract.KindPlanBlock},
		owes:   []contract.Kind{contract.KindPlanBlock},
		script: steps(Step{Plan: []contract.PlanItem{{Content: "First", Status: contract.PlanInProgress}, {Content: "Second", Status: contract.PlanPending}}, Text: []string{"Planned."}}),
		play:   playPlan,
	},
	{
		name: "rate limit", features: []Feature{FeatureLimit}, needs: []contract.Kind{contract.KindRateLimited},
		owes:   []contract.Kind{contract.KindRateLimited},
		script: steps(Step{Limited: new(1.0)}, say(hello...)),
		play: func(p *player) error {
			if err := p.start(nil); err != nil {
				return err
			}
			if err := p.endsAs(1, contract.OutcomeDone); err != nil {
				return err
			}
			for _, e := range p.of(contract.KindRateLimited) {
				s := e.(contract.RateLimited).RetryAfterSeconds
				// An SDK may add a little of its own, so that not all come back at once.
				p.want(s != nil && *s >= 1 && *s < 2, "the wait of 1 s that the provider named is not in the event")
			}
			p.want(p.textOf(1) == strings.Join(hello, ""), "the turn says %q", p.textOf(1))
			return p.rest()
		},
	},
	{
		name: "failure", features: []Feature{FeatureFail},
		owes:   []contract.Kind{contract.KindError},
		script: steps(Step{Fail: "the model is gone"}, say("Back.")),
		play: func(p *player) error {
			if err := p.start(nil); err != nil {
				return err
			}
			if err := p.endsAs(1, contract.OutcomeError); err != nil {
				return err
			}
			p.want(len(p.of(contract.KindDone)) == 0, "a failed turn emits done")
			if err := p.rest(); err != nil {
				return err
			}
			return p.sendAndEnd(2)
		},
	},
	{
		name: "crash", features: []Feature{FeatureCrash, FeatureHold},
		owes:   []contract.Kind{contract.KindError},
		script: steps(Step{Text: hello, Hold: true}, say("Back.")),
		play:   playCrash,
	},
	{
		// F53, F54: one turn at a time, each message delivered once and in order.
		name: "queue while streaming", features: []Feature{FeatureHold},
		script: steps(Step{Text: hello, Hold: true}, say("Two."), say("Three.")),
		play:   playQueue,
	},
	{
		// F51: each of several prompts can be answered, in any order.
		name: "three prompts", features: []Feature{FeatureTools, FeaturePrompts, FeatureTogether},
		script: steps(calls(run, Call{Do: ActionRun, Text: "echo two"}, Call{Do: ActionRun, Text: "echo three"}), say("Done.")),
		play:   playThreePrompts,
	},
	{
		// F38, F43: a window that comes back continues where it was.
		name: "reload", features: []Feature{FeatureHold, FeatureTools},
		script: steps(Step{Text: hello, Hold: true}, say("Second.")),
		play:   playReload,
	},
	{
		name: "retry", script: steps(say("First."), say("Second.")),
		play: playRetry,
	},
	{
		name: "one-shot", features: []Feature{FeatureOneShot},
		script: steps(say(hello...)),
		play:   playOneShot,
	},
}

// results are the tool-results so far.
func (p *player) results() (r []contract.ToolResult) {
	for _, e := range p.of(contract.KindToolResult) {
		r = append(r, e.(contract.ToolResult))
	}
	return r
}

// prompted starts the conversation and waits for its prompt.
func (p *player) prompted() (id string, err error) {
	if err := p.start(nil); err != nil {
		return "", err
	}
	e, err := p.untilKind(contract.KindPermissionRequest)
	if err != nil {
		return "", err
	}
	return e.(contract.PermissionRequest).ID, nil
}

func (p *player) resolvedBy(id string) contract.DecidedBy {
	for _, e := range p.events {
		if a, err := contract.ParseSubject(e.Subject); err == nil && a.What == contract.WhatPromptResolved {
			if r := decode[contract.PromptResolved](e); r.ID == id {
				return r.By
			}
		}
	}
	return ""
}

// untilFile waits until a running command has made a file. There is no event
// for that, so it looks again and again until the scenario's limit.
func (p *player) untilFile(path string) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if _, exists, err := p.h.File(path); err != nil || exists {
			return err
		}
		select {
		case <-again.C:
		case <-p.ctx.Done():
			return fmt.Errorf("waiting for the file %s: %w", path, p.ctx.Err())
		}
	}
}

// cancelledThenSend reads to the end of the cancelled turn; the next send must
// be valid at once.
func (p *player) cancelledThenSend() error {
	if err := p.endsAs(1, contract.OutcomeCancelled); err != nil {
		return err
	}
	if err := p.sendAndEnd(2); err != nil {
		return err
	}
	p.want(p.textOf(2) == "Here again.", "the turn after the cancelled one says %q", p.textOf(2))
	return nil
}

// sendAndEnd runs one more turn, the n-th, to its end.
func (p *player) sendAndEnd(n int) error {
	if _, err := p.send("Go on."); err != nil {
		return err
	}
	if err := p.endsAs(n, contract.OutcomeDone); err != nil {
		return err
	}
	return p.rest()
}

func playPlain(p *player) error {
	if err := p.start(nil); err != nil {
		return err
	}
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	p.want(p.textOf(1) == strings.Join(hello, ""), "the turn says %q", p.textOf(1))
	// O9: a delta of the model is an event, never merged or dropped.
	p.want(len(p.of(contract.KindChunk)) == len(hello), "%d deltas became %d chunks", len(hello), len(p.of(contract.KindChunk)))
	if err := p.sendAndEnd(2); err != nil {
		return err
	}
	// A cancel while nothing runs is answered and says nothing.
	before := len(p.events)
	if err := p.cancel(); err != nil {
		return err
	}
	if err := p.rest(); err != nil {
		return err
	}
	for _, e := range p.events[before:] {
		if a, err := contract.ParseSubject(e.Subject); err == nil && a.Kind != "" {
			p.wrong("a cancel while nothing runs emits %s", a.Kind)
		}
	}
	return nil
}

func playThinking(p *player) error {
	if err := p.start(func(s *contract.StartParams) { s.ThinkingEnabled = true }); err != nil {
		return err
	}
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	var thought strings.Builder
	for _, e := range p.of(contract.KindThinking) {
		thought.WriteString(e.(contract.Thinking).Text)
	}
	p.want(thought.String() == "Let me see \u2014 yes.", "the thinking is %q", thought.String())
	p.want(p.textOf(1) == strings.Join(hello, ""), "the turn says %q", p.textOf(1))
	return p.rest()
}

// edit answers a gated write and compares the file with want; empty means that
// there must be none.
func (p *player) edit(d contract.EditDecision, merged *string, want string) error {
	if err := p.start(gated); err != nil {
		return err
	}
	e, err := p.untilKind(contract.KindPendingEdit)
	if err != nil {
		return err
	}
	edit := e.(contract.PendingEdit)
	p.want(edit.Content == write.Text && edit.Before == nil, "the edit proposes %q over %v", edit.Content, edit.Before)
	_, exists, err := p.h.File(write.Path)
	if err != nil {
		return err
	}
	p.want(!exists, "the file is written before anybody answered")
	params := contract.RespondEditParams{SessionID: p.id, ToolID: edit.ID, Decision: d, MergedContent: merged}
	if err := p.call(contract.MethodRespondEdit, params, nil); err != nil {
		return err
	}
	err = p.call(contract.MethodRespondEdit, params, nil)
	p.want(code(err) == contract.CodeAnswered, "a second answer gets %v, want code %d", err, contract.CodeAnswered)
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	content, exists, err := p.h.File(write.Path)
	if err != nil {
		return err
	}
	p.want(content == want && exists == (want != ""), "the file holds %q, want %q", content, want)
	r := p.results()
	p.want(len(r) == 1 && r[0].IsError == (d == contract.RejectEdit), "the write gave %+v", r)
	p.want(len(p.of(contract.KindEditBaseline)) == 0, "a gated write also emits its baseline")
	return p.rest()
}

func playBaseline(p *player) error {
	if err := p.start(allowAll); err != nil {
		return err
	}
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	bases := p.of(contract.KindEditBaseline)
	if len(bases) != 2 {
		p.wrong("two writes gave %d baselines", len(bases))
		return p.rest()
	}
	first, second := bases[0].(contract.EditBaseline), bases[1].(contract.EditBaseline)
	p.want(first.Before == nil, "the baseline of a new file holds a text")
	p.want(second.Before != nil && *second.Before == write.Text, "the second baseline is not the first text")
	p.want(len(p.of(contract.KindPendingEdit)) == 0, "an ungated write waits for an answer")
	content, _, err := p.h.File(write.Path)
	if err != nil {
		return err
	}
	p.want(content == "second\n", "the file holds %q", content)
	return p.rest()
}

func playPlanMode(p *player) error {
	if err := p.start(func(s *contract.StartParams) { s.PlanMode = true }); err != nil {
		return err
	}
	if err := p.answered(1, contract.Deny, contract.OutcomeDone); err != nil {
		return err
	}
	r := p.results()
	p.want(len(r) == 1 && r[0].IsError, "a write in plan mode gave %+v", r)
	if p.inProcess() && len(r) == 1 {
		// Two sentences are right: the tool is not offered in plan mode, and
		// it is refused when the model calls it all the same.
		p.want(r[0].Content == contract.PlanModeRefusal(r[0].Name) || r[0].Content == contract.NotAdvertised(r[0].Name), "the refusal is %q", r[0].Content)
	}
	if p.transport != contract.TransportACP {
		// An engine's own plan mode may ask; then a person decides
		// (tools-permissions.md 7).
		p.want(len(p.of(contract.KindPermissionRequest)) == 0, "plan mode asks for permission instead of refusing")
	}
	_, exists, err := p.h.File(write.Path)
	if err != nil {
		return err
	}
	p.want(!exists, "the file is written in plan mode")
	return p.rest()
}

func playPlan(p *player) error {
	if err := p.start(nil); err != nil {
		return err
	}
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	blocks := p.of(contract.KindPlanBlock)
	if len(blocks) > 0 {
		items := blocks[len(blocks)-1].(contract.PlanBlock).Items
		p.want(len(items) == 2 && items[0].Content == "First" && items[0].Status == contract.PlanInProgress, "the plan is %+v", items)
	}
	return p.rest()
}

func playCrash(p *player) error {
	c, ok := p.h.(Crasher)
	if !ok {
		return fmt.Errorf("the harness cannot crash its transport; declare that it lacks the feature")
	}
	if err := p.start(nil); err != nil {
		return err
	}
	if _, err := p.untilKind(contract.KindChunk); err != nil {
		return err
	}
	if err := c.Crash(p.ctx); err != nil {
		return err
	}
	if err := p.endsAs(1, contract.OutcomeError); err != nil {
		return err
	}
	return p.sendAndEnd(2)
}

func playQueue(p *player) error {
	if err := p.start(nil); err != nil {
		return err
	}
	if _, err := p.untilKind(contract.KindChunk); err != nil {
		return err
	}
	var ids []string
	for _, text := range []string{"Second.", "Third."} {
		r, err := p.send(text)
		if err != nil {
			return err
		}
		p.want(r.Queued, "%q, sent while a turn runs, is not queued", text)
		ids = append(ids, r.MessageID)
	}
	s, err := p.snapshot()
	if err != nil {
		return err
	}
	q := s.Conversation.Queue
	p.want(len(q) == 2 && q[0].MessageID == ids[0] && q[1].MessageID == ids[1], "the snapshot's queue is %+v", q)
	p.h.Release()
	for n := 1; n <= 3; n++ {
		if err := p.endsAs(n, contract.OutcomeDone); err != nil {
			return err
		}
	}
	p.want(p.textOf(2) == "Two." && p.textOf(3) == "Three.", "the queued messages were answered %q, %q", p.textOf(2), p.textOf(3))
	var accepted []string
	for _, e := range p.events {
		if a, err := contract.ParseSubject(e.Subject); err == nil && a.What == contract.WhatUserTurn {
			if u := decode[contract.UserTurn](e); !u.Queued {
				accepted = append(accepted, u.MessageID)
			}
		}
	}
	p.want(len(accepted) == 3 && accepted[1] == ids[0] && accepted[2] == ids[1], "messages were accepted as %v, sent as %v", accepted, ids)
	return p.rest()
}

func playThreePrompts(p *player) error {
	if err := p.start(nil); err != nil {
		return err
	}
	var ids []string
	for range 3 {
		e, err := p.untilKind(contract.KindPermissionRequest)
		if err != nil {
			return err
		}
		ids = append(ids, e.(contract.PermissionRequest).ID)
	}
	s, err := p.snapshot()
	if err != nil {
		return err
	}
	p.want(len(s.Conversation.PendingPermissions) == 3 && s.Conversation.NeedsYou == 3, "the snapshot shows %d prompts and needs you %d", len(s.Conversation.PendingPermissions), s.Conversation.NeedsYou)
	for i := len(ids) - 1; i >= 0; i-- {
		if err := p.respond(ids[i], contract.AllowOnce, ""); err != nil {
			return err
		}
	}
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	for _, id := range ids {
		by := p.resolvedBy(id)
		p.want(by == contract.ByUser, "prompt %s was resolved by %q", id, by)
	}
	r := p.results()
	p.want(len(r) == 3, "three calls gave %d results", len(r))
	for _, one := range r {
		p.want(!one.IsError, "an allowed command failed: %+v", one)
	}
	return p.rest()
}

func playReload(p *player) error {
	if err := p.start(nil); err != nil {
		return err
	}
	for range hello {
		if _, err := p.untilKind(contract.KindChunk); err != nil {
			return err
		}
	}
	s, err := p.snapshot()
	if err != nil {
		return err
	}
	message := lastAnswer(s.Conversation)
	if message == nil {
		return fmt.Errorf("the snapshot in the middle of a turn holds no answer")
	}
	p.want(message.IsStreaming && s.Conversation.TurnID != "" && s.Conversation.Status == contract.StatusActive, "the snapshot does not say that a turn runs: %+v", message)
	p.want(message.Content == strings.Join(hello, ""), "the snapshot holds %q", message.Content)
	agent, err := contract.AgentPattern(p.id)
	if err != nil {
		return err
	}
	second, err := contract.ConversationPattern(p.id)
	if err != nil {
		return err
	}
	tail, err := p.h.Subscribe(p.ctx, []string{agent, second}, s.Seq+1)
	if err != nil {
		return err
	}
	defer tail.Close()
	p.h.Release()
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	if err := p.sendAndEnd(2); err != nil {
		return err
	}
	// What the first window saw behind the snapshot, the second one must see.
	for _, want := range p.events {
		if want.Seq <= s.Seq {
			continue
		}
		got, err := tail.Next(p.ctx)
		if err != nil {
			return fmt.Errorf("replay since %d: %w", s.Seq+1, err)
		}
		if got.Seq != want.Seq || got.Subject != want.Subject || string(got.Data) != string(want.Data) || got.Turn != want.Turn || !got.Time.Equal(want.Time) {
			p.wrong("the replay gives %d %s %s, the live stream %d %s %s", got.Seq, got.Subject, clip(got.Data), want.Seq, want.Subject, clip(want.Data))
			return nil
		}
	}
	return nil
}

func playRetry(p *player) error {
	if err := p.start(nil); err != nil {
		return err
	}
	if err := p.endsAs(1, contract.OutcomeDone); err != nil {
		return err
	}
	if err := p.call(contract.MethodRetry, contract.RetryParams{SessionID: p.id}, nil); err != nil {
		return err
	}
	if err := p.endsAs(2, contract.OutcomeDone); err != nil {
		return err
	}
	p.want(p.textOf(2) == "Second.", "the retry says %q", p.textOf(2))
	s, err := p.snapshot()
	if err != nil {
		return err
	}
	answers := 0
	for _, m := range s.Conversation.Messages {
		if m.Role == contract.RoleAssistant {
			answers++
		}
	}
	p.want(answers == 1, "after a retry the transcript holds %d answers", answers)
	return p.rest()
}

func playOneShot(p *player) error {
	p.oneShot = true
	start := p.h.Start()
	err := p.call(contract.MethodOneShot, contract.OneShotParams{
		SessionID: p.id, Task: "side-chat", Prompt: "Say hello.", Provider: start.Provider, Model: start.Model,
	}, nil)
	if err != nil {
		return err
	}
	_, err = p.until("the end", func(a contract.Address, _ contract.Envelope) bool { return a.Kind.Terminal() })
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range p.of(contract.KindChunk) {
		text.WriteString(string(e.(contract.Chunk)))
	}
	p.want(text.String() == strings.Join(hello, ""), "the answer is %q", text.String())
	// It leaves no conversation behind.
	err = p.call(contract.MethodGetConversation, contract.SessionParams{SessionID: p.id}, nil)
	p.want(code(err) == contract.CodeNotFound, "get_conversation of a one-shot id gives %v, want code %d", err, contract.CodeNotFound)
	return nil
}
