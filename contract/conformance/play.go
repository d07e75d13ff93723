package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// Suite is a transport to be judged.
type Suite struct {
	Transport contract.Transport
	// Open starts a service, or takes one that runs, whose model plays the
	// script. It is called once per scenario.
	Open func(ctx context.Context, script Script) (Harness, error)
	// Lacks says which features the model of this harness has not, and why.
	// Scenarios that need one are skipped and counted as such.
	Lacks map[Feature]string
	// Unscripted says why the model plays something of its own instead of a
	// Script; empty when it plays the Script. Its turns are then judged by the
	// rules alone (own.go), and what a Script would have asked for is skipped.
	Unscripted string
	// Limit bounds one scenario; 0 means 30 s.
	Limit time.Duration
	// Played, if set, hears of each result at once. For Play.
	Played func(Result)
}

// Result is the outcome of one scenario.
type Result struct {
	Name string
	// Skipped says why it was not played; empty when it was.
	Skipped string
	// Allowed says that a declared divergence takes its place.
	Allowed  string
	Problems []Problem
	// Events is how many events were judged.
	Events int
	Took   time.Duration
}

// Passed reports whether it was played and nothing was wrong.
func (r Result) Passed() bool { return r.Skipped == "" && r.Allowed == "" && len(r.Problems) == 0 }

// Observed is a declared divergence and whether the transport did differ.
type Observed struct {
	Divergence
	Occurred bool
}

// Report is what Play found.
type Report struct {
	Transport   contract.Transport
	Results     []Result
	Divergences []Observed
	// Problems are those of the suite as a whole.
	Problems []Problem
}

// Count returns how many scenarios passed, failed, gave way to a divergence
// and were skipped.
func (r Report) Count() (passed, failed, allowed, skipped int) {
	for _, s := range r.Results {
		switch {
		case len(s.Problems) > 0:
			failed++
		case s.Allowed != "":
			allowed++
		case s.Skipped != "":
			skipped++
		default:
			passed++
		}
	}
	return passed, failed, allowed, skipped
}

// OK reports whether nothing was wrong.
func (r Report) OK() bool {
	_, failed, _, _ := r.Count()
	return failed == 0 && len(r.Problems) == 0
}

// String is the result for a person: a line, and one for each problem.
func (r Result) String() string {
	switch {
	case len(r.Problems) > 0:
		s := "failed   " + r.Name
		for _, p := range r.Problems {
			s += "\n         " + p.String()
		}
		return s
	case r.Allowed != "":
		return "allowed  " + r.Name + ": " + r.Allowed
	case r.Skipped != "":
		return "skipped  " + r.Name + ": " + r.Skipped
	}
	return fmt.Sprintf("passed   %s (%d events)", r.Name, r.Events)
}

// Print writes the report for a person, one line per scenario and divergence.
func (r Report) Print(w io.Writer) error {
	for _, s := range r.Results {
		if _, err := fmt.Fprintln(w, s); err != nil {
			return err
		}
	}
	return r.PrintEnd(w)
}

// PrintEnd writes what follows the results: the divergences that occurred, the
// problems of the suite as a whole, and the sum.
func (r Report) PrintEnd(w io.Writer) error {
	var b strings.Builder
	for _, d := range r.Divergences {
		if d.Occurred {
			fmt.Fprintf(&b, "differs  %s: %s\n", d.Subject, d.Reason)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "failed   %s\n", p)
	}
	passed, failed, allowed, skipped := r.Count()
	fmt.Fprintf(&b, "%s: %d passed, %d failed, %d allowed divergences, %d skipped\n", r.Transport, passed, failed, allowed, skipped)
	_, err := io.WriteString(w, b.String())
	return err
}

// Play plays every scenario and judges what a window would have seen.
func Play(ctx context.Context, s Suite) Report {
	r := Report{Transport: s.Transport}
	seen := newSight()
	for _, sc := range s.scenarios() {
		result, events := s.play(ctx, sc)
		seen.add(events)
		r.Results = append(r.Results, result)
		if s.Played != nil {
			s.Played(result)
		}
	}
	r.Divergences, r.Problems = seen.judge(s.Transport)
	return r
}

// scenarios are those that this suite plays or has to say something about.
func (s Suite) scenarios() []scenario {
	if s.Unscripted == "" {
		return scenarios
	}
	return append(slices.Clone(ownScenarios), scenarios...)
}

// lacks says what the harness cannot do that the scenario needs. A declared
// divergence goes before: it is a fact of the transport, this one of the harness.
func (s Suite) lacks(sc scenario) (why string, lacks bool) {
	for _, k := range sc.needs {
		if _, never := declared(s.Transport, string(k)); never {
			return "", false
		}
	}
	if s.Unscripted != "" && !sc.own {
		return s.Unscripted, true
	}
	for _, f := range sc.features {
		if why, lacks := s.Lacks[f]; lacks {
			return "the model of this harness has no " + string(f) + ": " + why, true
		}
	}
	return "", false
}

// play plays one scenario.
func (s Suite) play(ctx context.Context, sc scenario) (Result, []contract.Envelope) {
	r := Result{Name: sc.name}
	for _, k := range sc.needs {
		if d, never := declared(s.Transport, string(k)); never {
			r.Allowed = d.Reason
			return r, nil
		}
	}
	if why, lacks := s.lacks(sc); lacks {
		r.Skipped = why
		return r, nil
	}
	limit := s.Limit
	if limit == 0 {
		limit = 30 * time.Second
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p := &player{ctx: ctx, transport: s.Transport}
	var not *notPlayedError
	if err := p.run(s, sc); errors.As(err, &not) {
		r.Skipped = not.why
		return r, nil
	} else if err != nil {
		p.wrong("%v", err)
	}
	r.Took = time.Since(began)
	if p.oneShot {
		r.Problems = CheckOneShot(p.events)
	} else {
		r.Problems = Check(s.Transport, p.events)
	}
	for _, k := range sc.owes {
		if _, never := declared(s.Transport, string(k)); !never && len(p.of(k)) == 0 {
			p.wrong("no %s was emitted", k)
		}
	}
	r.Problems = append(r.Problems, p.problems...)
	r.Events = len(p.events)
	return r, p.events
}

// sight is what was seen over all scenarios.
type sight struct {
	present         map[string]bool // Kinds and kind.key.
	prompts         bool            // A prompt was raised.
	promptsDiffer   bool            // One had an id of its own.
	counts, noCount bool            // A turn that was not cancelled counted; did not.
}

func newSight() *sight { return &sight{present: map[string]bool{}} }

func (s *sight) add(events []contract.Envelope) {
	calls := map[string]bool{}
	for _, e := range events {
		a, err := contract.ParseSubject(e.Subject)
		if err != nil || a.Kind == "" {
			continue
		}
		s.present[string(a.Kind)] = true
		var keys map[string]json.RawMessage
		if json.Unmarshal(e.Data, &keys) == nil {
			for k := range keys {
				s.present[string(a.Kind)+"."+k] = true
			}
		}
		event, err := contract.Decode(a.Kind, e.Data)
		if err != nil {
			continue
		}
		switch event := event.(type) {
		case contract.ToolStart:
			calls[event.ID] = true
		case contract.PermissionRequest:
			s.prompts = true
			s.promptsDiffer = s.promptsDiffer || !calls[event.ID]
		case contract.Done:
			if event.InputTokens+event.OutputTokens > 0 {
				s.counts = true
			} else if !event.Cancelled {
				s.noCount = true
			}
		}
	}
}

// judge says which divergences occurred. One that could have been seen and was
// not is a problem: the table must not excuse what nobody does any more.
func (s *sight) judge(t contract.Transport) (all []Observed, problems []Problem) {
	for _, d := range Divergences[t] {
		o := Observed{Divergence: d}
		possible := true
		kind, _, isKey := strings.Cut(d.Subject, ".")
		switch {
		case d.Subject == string(RulePromptID):
			o.Occurred, possible = s.promptsDiffer, s.prompts
		case d.Subject == string(RuleCounts):
			o.Occurred, possible = s.noCount, s.noCount || s.counts
		case isKey:
			// Without an event of the kind nothing is known of its keys.
			o.Occurred, possible = s.present[kind] && !s.present[d.Subject], s.present[kind]
		default:
			o.Occurred, possible = !s.present[d.Subject], len(s.present) > 0
		}
		if possible && !o.Occurred {
			problems = append(problems, Problem{Rule: RuleDivergence, Text: d.Subject + " is declared as a divergence and did not occur: take it out of the table"})
		}
		all = append(all, o)
	}
	if s.noCount && !s.counts {
		if _, known := declared(t, string(RuleCounts)); !known {
			problems = append(problems, Problem{Rule: RuleDivergence, Text: "no turn counted a token, and the table does not say so"})
		}
	}
	return all, problems
}

// player is one scenario being played.
type player struct {
	ctx       context.Context
	transport contract.Transport
	h         Harness
	id        contract.ConversationID
	stream    Stream
	events    []contract.Envelope
	problems  []Problem
	oneShot   bool
	ended     int // Turns that have ended.
	rests     int // Calls of rest.
}

func (p *player) run(s Suite, sc scenario) error {
	var raw [6]byte
	_, _ = rand.Read(raw[:]) // Never fails (crypto/rand).
	p.id = contract.ConversationID("conf-" + strings.ReplaceAll(sc.name, " ", "-") + "-" + hex.EncodeToString(raw[:]))
	h, err := s.Open(p.ctx, sc.script)
	if err != nil {
		return fmt.Errorf("the harness did not start: %w", err)
	}
	defer h.Close()
	p.h = h
	agent, err := contract.AgentPattern(p.id)
	if err != nil {
		return err
	}
	second, err := contract.ConversationPattern(p.id)
	if err != nil {
		return err
	}
	p.stream, err = h.Subscribe(p.ctx, []string{agent, second}, "new")
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	defer p.stream.Close()
	return sc.play(p)
}

// wrong notes that the scenario did not go as it must.
func (p *player) wrong(format string, args ...any) {
	p.problems = append(p.problems, Problem{Rule: RuleScenario, Text: fmt.Sprintf(format, args...)})
}

func (p *player) want(ok bool, format string, args ...any) {
	if !ok {
		p.wrong(format, args...)
	}
}

func (p *player) inProcess() bool { return p.transport == contract.TransportInProcess }

func (p *player) call(m contract.Method, params, result any) error {
	if err := p.h.Call(p.ctx, m, params, result); err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	return nil
}

// start launches the conversation with a first message.
func (p *player) start(change func(*contract.StartParams)) error {
	params := p.h.Start()
	params.SessionID = p.id
	params.InitialMessage = "Begin."
	if change != nil {
		change(&params)
	}
	return p.call(contract.MethodStart, params, nil)
}

func (p *player) send(text string) (contract.SendResult, error) {
	var r contract.SendResult
	err := p.call(contract.MethodSend, contract.SendParams{SessionID: p.id, Message: text}, &r)
	return r, err
}

func (p *player) cancel() error {
	return p.call(contract.MethodCancel, contract.SessionParams{SessionID: p.id}, nil)
}

func (p *player) respond(id string, d contract.Decision, reason string) error {
	return p.call(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: p.id, ToolID: id, Decision: d, Reason: reason}, nil)
}

func (p *player) snapshot() (contract.Snapshot, error) {
	var s contract.Snapshot
	err := p.call(contract.MethodGetConversation, contract.SessionParams{SessionID: p.id}, &s)
	return s, err
}

// until reads events until one is what is waited for.
func (p *player) until(what string, is func(contract.Address, contract.Envelope) bool) (contract.Envelope, error) {
	for {
		e, err := p.stream.Next(p.ctx)
		if err != nil {
			return e, fmt.Errorf("waiting for %s after %d events: %w", what, len(p.events), err)
		}
		p.events = append(p.events, e)
		a, err := contract.ParseSubject(e.Subject)
		if err != nil {
			continue // Check reports it.
		}
		if a.What == contract.WhatTurnEnded {
			p.ended++
		}
		if is(a, e) {
			return e, nil
		}
	}
}

func (p *player) untilKind(k contract.Kind) (contract.Event, error) {
	e, err := p.until(string(k), func(a contract.Address, _ contract.Envelope) bool { return a.Kind == k })
	if err != nil {
		return nil, err
	}
	return contract.Decode(k, e.Data)
}

// untilEnd reads until n turns have ended in all and returns the outcome of
// the last.
func (p *player) untilEnd(n int) (contract.Outcome, error) {
	var last contract.TurnEnded
	if p.ended >= n {
		return "", fmt.Errorf("turn %d had ended before it was waited for", n)
	}
	e, err := p.until(fmt.Sprintf("the end of turn %d", n), func(contract.Address, contract.Envelope) bool { return p.ended >= n })
	if err != nil {
		return "", err
	}
	err = json.Unmarshal(e.Data, &last)
	return last.Outcome, err
}

// endsAs reads to the end of turn n and says when it ends otherwise.
func (p *player) endsAs(n int, want contract.Outcome) error {
	got, err := p.untilEnd(n)
	if err != nil {
		return err
	}
	p.want(got == want, "turn %d ends as %s, want %s", n, got, want)
	return nil
}

// of returns the decoded events of a kind so far.
func (p *player) of(k contract.Kind) (events []contract.Event) {
	for _, e := range p.events {
		if a, err := contract.ParseSubject(e.Subject); err == nil && a.Kind == k {
			if event, err := contract.Decode(k, e.Data); err == nil {
				events = append(events, event)
			}
		}
	}
	return events
}

// textOf joins the chunks of the n-th turn of the stream.
func (p *player) textOf(n int) string {
	var b strings.Builder
	turn := 0
	for _, e := range p.events {
		a, err := contract.ParseSubject(e.Subject)
		if err != nil {
			continue
		}
		switch {
		case a.What == contract.WhatTurnStarted:
			turn++
		case a.Kind == contract.KindChunk && turn == n:
			if c, err := contract.Decode(a.Kind, e.Data); err == nil {
				b.WriteString(string(c.(contract.Chunk)))
			}
		}
	}
	return b.String()
}

// rest ends a scenario: the transport stays silent after its last turn, and
// the snapshot shows what the stream said.
func (p *player) rest() error {
	p.rests++
	title := fmt.Sprintf("Judged %d", p.rests)
	if err := p.call(contract.MethodRename, contract.RenameParams{SessionID: p.id, Title: title}, nil); err != nil {
		return err
	}
	// The rename is published behind everything the turn said.
	_, err := p.until("the rename", func(a contract.Address, e contract.Envelope) bool {
		return a.What == contract.WhatUpdated && string(decode[contract.Patch](e)["title"]) == `"`+title+`"`
	})
	if err != nil {
		return err
	}
	s, err := p.snapshot()
	if err != nil {
		return err
	}
	c := s.Conversation
	p.want(c.Status != contract.StatusActive, "the conversation is still active")
	p.want(c.TurnID == "", "turn %s is still open in the snapshot", c.TurnID)
	p.want(len(c.PendingPermissions) == 0 && len(c.PendingEdits) == 0, "prompts are still open in the snapshot")
	p.want(s.Seq >= p.events[len(p.events)-1].Seq, "the snapshot is of %d, the stream is at %d", s.Seq, p.events[len(p.events)-1].Seq)
	last := lastAnswer(c)
	if last == nil {
		p.wrong("the snapshot holds no answer")
		return nil
	}
	p.want(!last.IsStreaming, "the last answer is still streaming in the snapshot")
	turns := 0
	for _, e := range p.events {
		if a, err := contract.ParseSubject(e.Subject); err == nil && a.What == contract.WhatTurnStarted {
			turns++
		}
	}
	text := p.textOf(turns)
	if last.Error != "" {
		// A failed turn shows why, behind what it said (contract.md 4).
		if text != "" {
			text += "\n\n"
		}
		text += "Error: " + last.Error
	}
	p.want(last.Content == text, "the snapshot says %q, the chunks %q", last.Content, text)
	length := 0
	for _, part := range last.Parts {
		if part.Type == contract.PartText {
			length += part.Length
		}
	}
	spoken := contract.UTF16Len(text)
	p.want(length == spoken, "the text parts of the snapshot count %d units, its text %d", length, spoken)
	for _, call := range last.ToolCalls {
		p.want(call.Status != contract.ToolRunning, "call %s still runs in the snapshot", call.ID)
	}
	return nil
}

func lastAnswer(c contract.Conversation) *contract.Message {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == contract.RoleAssistant {
			return &c.Messages[i]
		}
	}
	return nil
}

// code is the code of a refusal, 0 for anything else.
func code(err error) int {
	var f *contract.Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return 0
}
