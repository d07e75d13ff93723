package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// errCancelled is the cause of the turn's context once somebody pressed Stop.
var errCancelled = errors.New("turn: cancelled")

// host is what the loop needs of the process around it. Every method may be
// called from several goroutines; each blocks until its answer is there or the
// turn's context has ended.
type host interface {
	emit(events ...contract.Event)
	requestOpened()
	reasoned(details json.RawMessage)
	// usage reports one model request and waits until its ledger line is on
	// disk, however the turn stands. It fails with a *LedgerError.
	usage(u msg.RequestUsage) error
	facts(f msg.ToolFacts)
	ask(ctx context.Context, a msg.Ask) (msg.PermissionAnswer, error)
	askEdit(ctx context.Context, a msg.AskEdit) (msg.EditAnswer, error)
	posture() contract.Posture
}

// tools is the part of *tool.Runtime that the loop uses.
type tools interface {
	Specs() []tool.Spec
	Run(ctx context.Context, name string, args json.RawMessage) tool.Result
	RunApproved(ctx context.Context, name string, args json.RawMessage, merged *string) tool.Result
	Propose(name string, args json.RawMessage) (tool.Proposal, error)
}

// loop is one turn. It is used once.
type loop struct {
	spec     msg.TurnSpec
	provider llm.Provider
	tools    tools
	// scripts are the person's hooks; nil for none.
	scripts scripts
	hooks   llm.Hooks
	host    host
	// ledger builds the ledger line of one request; nil writes none.
	ledger func(llm.Done) ([]byte, error)
	window uint64
	// fault hears of a panic in a tool.
	fault func(value any, stack []byte)

	history []llm.Message
	offered []llm.Tool
	// used are the ids of every call in the history.
	used  map[string]bool
	total contract.Done
	n     uint64
}

// LedgerError is a model request whose cost could not be written down. It ends
// the turn as an error even when somebody pressed Stop meanwhile: nothing more
// may be asked of a model before it is mended (runtime.md 2 and 5).
type LedgerError struct{ Err error }

// Error is a sentence for a person.
func (e *LedgerError) Error() string {
	return "The cost of this request could not be recorded, so the turn was stopped: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *LedgerError) Unwrap() error { return e.Err }

// risky lists the calls that ask. Source: tools-permissions.md 6.
var risky = []string{"bash", "write_file", "edit_file", "create_pull_request"}

// planTools are what plan mode leaves. Source: contract.md 6.7.
var planTools = []string{"read_file", "list_directory", "grep"}

// planNotice is added to the system prompt while plan mode is on, so that the
// model does not learn it from refusals.
const planNotice = "\n\nPlan mode is active: you may only read (read_file, list_directory, grep). " +
	"Do not try to change anything. Answer with a plan the user can approve, under a heading line \"## Plan\"."

func isRisky(name string) bool {
	return slices.Contains(risky, name) || strings.HasPrefix(name, "mcp__")
}

func isEdit(name string) bool { return name == "write_file" || name == "edit_file" }

// run plays the turn and returns its one terminal event.
func (l *loop) run(ctx context.Context) contract.Event {
	l.history = History(l.spec.Messages)
	l.used = make(map[string]bool)
	for _, m := range l.history {
		for _, b := range m.Blocks {
			if b.Type == llm.BlockToolUse {
				l.used[b.ID] = true
			}
		}
	}
	l.offer()
	for i := range config.MaxToolIterations {
		calls, err := l.request(ctx, i == 0)
		if err == nil && len(calls) > 0 {
			l.runTools(ctx, calls)
		}
		var unpaid *LedgerError
		switch {
		case errors.As(err, &unpaid):
			return contract.Error{Message: err.Error()}
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), errCancelled):
			l.total.Cancelled = true
			return l.total
		case err != nil:
			return contract.Error{Message: err.Error()}
		case len(calls) == 0:
			return l.total
		}
	}
	// A runaway backstop, not a budget: the turn ends as done.
	if l.hooks.Log != nil {
		l.hooks.Log("turn ended at its bound of model requests conv=" + string(l.spec.Conversation) +
			" turn=" + string(l.spec.Turn) + " requests=" + strconv.Itoa(config.MaxToolIterations))
	}
	return l.total
}

// offer freezes the turn's tool set. Source: runtime.md 2.
func (l *loop) offer() {
	if l.spec.OneShot {
		return
	}
	for _, s := range l.tools.Specs() {
		if l.spec.AllowedTools == nil || slices.Contains(l.spec.AllowedTools, s.Name) {
			l.offered = append(l.offered, llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
		}
	}
}

func (l *loop) llmRequest(first bool) llm.Request {
	req := llm.Request{
		Model: l.spec.Model, System: l.spec.System,
		Messages: llm.Repair(l.history, contract.TextCancelledByUser),
		Tools:    l.offered, MaxTokens: config.MaxTokens,
		Thinking: l.spec.Thinking, ThinkingBudget: config.ThinkingBudget,
		CacheKey: string(l.spec.Conversation),
	}
	if l.spec.OneShot {
		temperature := llm.OneShotTemperature
		req.MaxTokens, req.Temperature, req.Thinking = llm.OneShotMaxTokens, &temperature, false
		return req
	}
	if l.host.posture().PlanMode {
		req.System += planNotice
	}
	if first {
		for _, a := range l.spec.Attachments {
			req.Attachments = append(req.Attachments, llm.Image{MediaType: a.MediaType, Data: a.DataBase64})
		}
	}
	return req
}

// request makes one model request and returns the calls it ended with.
func (l *loop) request(ctx context.Context, first bool) ([]llm.ToolUseEnd, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	req := l.llmRequest(first)
	l.host.requestOpened()
	var (
		text      strings.Builder
		calls     []llm.ToolUseEnd
		reasoning json.RawMessage
		done      *llm.Done
		thinking  bool
		ids       = callIDs{used: l.used, open: make(map[string][]string), place: make(map[string]int)}
	)
	stopThinking := func() {
		if thinking {
			thinking = false
			l.host.emit(contract.ThinkingStop{})
		}
	}
	err := llm.Stream(ctx, l.provider, string(l.spec.Key), req, l.hooks, func(c llm.Chunk) error {
		switch c := c.(type) {
		case llm.TextDelta:
			stopThinking()
			text.WriteString(c.Text)
			l.host.emit(contract.Chunk(c.Text))
		case llm.ThinkingDelta:
			thinking = true
			l.host.emit(contract.Thinking{Text: c.Text})
		case llm.ThinkingStop:
			stopThinking()
		case llm.ToolUseStart:
			stopThinking()
			l.host.emit(contract.ToolStart{ID: ids.start(c.ID), Name: c.Name})
		case llm.ToolUseInputDelta:
		case llm.ToolUseEnd:
			c.ID = ids.end(c.ID)
			calls = append(calls, c)
		case llm.ReasoningDetails:
			reasoning = c.Details
		case llm.Done:
			done = &c
		}
		return context.Cause(ctx)
	})
	stopThinking()
	if err != nil {
		return nil, err
	}
	if done == nil {
		return nil, errors.New(contract.TextIncompleteStream)
	}
	if len(reasoning) > 0 {
		l.host.reasoned(reasoning)
	}
	// Arguments of several calls may end in another order than the calls began;
	// the transcript keeps the latter.
	slices.SortStableFunc(calls, func(a, b llm.ToolUseEnd) int { return ids.place[a.ID] - ids.place[b.ID] })
	l.remember(text.String(), reasoning, calls)
	answered := utf8.RuneCountInString(text.String())
	for _, c := range calls {
		answered += utf8.RuneCountInString(c.Name) + utf8.RuneCount(c.Arguments)
	}
	return calls, l.account(req, answered, *done)
}

// callIDs keeps the ids of calls apart. Some servers count calls from 0 with
// every request; prompts, results and windows go by the id for the whole life
// of a conversation, so an id that was used before gets a number behind it.
type callIDs struct {
	used map[string]bool
	// open are the names of started calls by the provider's id, oldest first.
	open map[string][]string
	// place is where a call stands in the order of starts, by its name.
	place map[string]int
}

func (c *callIDs) start(id string) string {
	name := id
	for n := 2; c.used[name]; n++ {
		name = id + "-" + strconv.Itoa(n)
	}
	c.used[name] = true
	c.open[id] = append(c.open[id], name)
	c.place[name] = len(c.place)
	return name
}

func (c *callIDs) end(id string) string {
	names := c.open[id]
	if len(names) == 0 {
		return id
	}
	c.open[id] = names[1:]
	return names[0]
}

func (l *loop) remember(text string, reasoning json.RawMessage, calls []llm.ToolUseEnd) {
	var blocks []llm.Block
	if len(reasoning) > 0 {
		blocks = append(blocks, llm.Block{Type: llm.BlockReasoning, Details: reasoning})
	}
	if text != "" {
		blocks = append(blocks, llm.Block{Type: llm.BlockText, Text: text})
	}
	for _, c := range calls {
		blocks = append(blocks, llm.Block{Type: llm.BlockToolUse, ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if len(blocks) > 0 {
		l.history = append(l.history, llm.Message{Role: llm.RoleAssistant, Blocks: blocks})
	}
}

// account adds one request to the turn's totals and the ledger, before its
// tools run, so that a later failure loses nothing. answered is the size of
// the answer in characters.
func (l *loop) account(req llm.Request, answered int, d llm.Done) error {
	l.total.InputTokens += d.Input
	l.total.OutputTokens += d.Output
	l.total.CacheReadInputTokens += d.CacheRead
	l.total.CacheCreationInputTokens += d.CacheCreation
	l.n++
	u := msg.RequestUsage{
		Turn: l.spec.Turn, N: l.n,
		Input: d.Input, Output: d.Output, CacheRead: d.CacheRead, CacheCreation: d.CacheCreation,
		Known:   d.UsageKnown,
		Context: contract.ContextUse{Window: l.window},
	}
	if d.UsageKnown {
		u.Context.Used = d.Input + d.Output
		if l.provider.ID() == contract.ProviderAnthropic {
			// The Messages wire counts cached input beside the input.
			u.Context.Used += d.CacheRead + d.CacheCreation
		}
	} else {
		u.Context.Used, u.Context.Estimated = llm.Estimate(req)+uint64(answered)/4, true
	}
	if l.ledger != nil {
		line, err := l.ledger(d)
		if err != nil {
			return &LedgerError{err}
		}
		u.Line = line
	}
	return l.host.usage(u)
}

// runTools runs the calls of one message side by side and appends their
// results, in call order, as one tool message.
func (l *loop) runTools(ctx context.Context, calls []llm.ToolUseEnd) {
	results := make([]llm.Block, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			var o outcome
			r := l.runTool(ctx, c, &o)
			if ctx.Err() != nil && r.IsError {
				r = tool.Result{Content: contract.TextCancelledByUser, IsError: true}
			}
			if r.Content == "" {
				r.Content = contract.TextNoOutput
			}
			l.host.facts(msg.ToolFacts{
				Turn: l.spec.Turn, ID: c.ID, ExitCode: r.ExitCode, ModifiedPaths: r.ModifiedPaths,
				LinesAdded: o.added, LinesRemoved: o.removed, Tainting: r.Tainting,
				Source: contract.Source{Origin: r.Origin, Label: c.Name, Locator: r.Locator},
			})
			l.host.emit(contract.ToolResult{
				ID: c.ID, Name: c.Name, Content: r.Content, IsError: r.IsError, Input: string(c.Arguments),
			})
			results[i] = llm.Block{Type: llm.BlockToolResult, ID: c.ID, Name: c.Name, Content: r.Content, IsError: r.IsError}
			if o.ran {
				l.after(ctx, c, r)
			}
		})
	}
	wg.Wait()
	l.history = append(l.history, llm.Message{Role: llm.RoleTool, Blocks: results})
}

func refused(text string) tool.Result { return tool.Result{Content: text, IsError: true} }

// outcome is what a call did besides its result.
type outcome struct {
	ran bool // The tool itself was reached.
	// added and removed count the lines that an edit wrote; nil when no edit was
	// written, or when what was there before is no text.
	added, removed *int
}

// runTool takes one call through the gates and notes in o what it did. Source:
// tools-permissions.md 6.
func (l *loop) runTool(ctx context.Context, c llm.ToolUseEnd, o *outcome) (r tool.Result) {
	defer func() {
		if fault := recover(); fault != nil {
			r = refused(fmt.Sprintf("Error: the tool %s failed inside PacketBench (%v). Try another way.", c.Name, fault))
			l.fault(fault, debug.Stack())
		}
	}()
	if !slices.ContainsFunc(l.offered, func(t llm.Tool) bool { return t.Name == c.Name }) {
		return refused(contract.NotAdvertised(c.Name))
	}
	if c.Invalid {
		return refused(contract.TextInvalidArguments)
	}
	posture := l.host.posture()
	if posture.PlanMode && !slices.Contains(planTools, c.Name) {
		return refused(contract.PlanModeRefusal(c.Name))
	}
	if isRisky(c.Name) {
		switch posture.PermissionMode {
		case contract.ModeDenyAll:
			return refused(contract.TextDenyAll)
		case contract.ModeAllowAll:
		default: // A mode that is missing or unknown asks, as the two others do.
			answer, err := l.host.ask(ctx, msg.Ask{Turn: l.spec.Turn, ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
			if err != nil {
				return refused(contract.TextCancelledByUser)
			}
			if !answer.Allowed {
				return refused(answer.Text)
			}
		}
	}
	if isEdit(c.Name) {
		return l.runEdit(ctx, c, o)
	}
	return l.execute(ctx, c, o, func() tool.Result { return l.tools.Run(ctx, c.Name, c.Arguments) })
}

// execute is gate 7: a person's hooks may keep a call from running that every
// other gate has let through. Source: tools-permissions.md 6.
func (l *loop) execute(ctx context.Context, c llm.ToolUseEnd, o *outcome, run func() tool.Result) tool.Result {
	if l.scripts != nil {
		if text, no := l.scripts.Before(ctx, c.Name, c.Arguments); no {
			return refused(text)
		}
	}
	o.ran = true
	return run()
}

// after tells the hooks what a call gave. The next model request waits for them:
// a formatter is to be done before the file is read again.
func (l *loop) after(ctx context.Context, c llm.ToolUseEnd, r tool.Result) {
	if l.scripts == nil {
		return
	}
	defer func() {
		if fault := recover(); fault != nil {
			l.fault(fault, debug.Stack())
		}
	}()
	l.scripts.After(ctx, c.Name, c.Arguments, r.Content, r.IsError)
}

// runEdit is the edit gate. Source: tools-permissions.md 8.
func (l *loop) runEdit(ctx context.Context, c llm.ToolUseEnd, o *outcome) tool.Result {
	p, err := l.tools.Propose(c.Name, c.Arguments)
	if err != nil {
		return refused(errorText(err))
	}
	l.host.facts(msg.ToolFacts{Turn: l.spec.Turn, ID: c.ID, File: p.Path})
	written := func(r tool.Result, text string) tool.Result {
		if !r.IsError && p.Existing == "" {
			added, removed := tool.ChangedLines(p.Before, text)
			o.added, o.removed = &added, &removed
		}
		return r
	}
	if !l.host.posture().ApproveWrites {
		l.host.emit(contract.EditBaseline{ID: c.ID, Path: p.Path, Before: p.Before})
		return l.execute(ctx, c, o, func() tool.Result { return written(l.tools.Run(ctx, c.Name, c.Arguments), p.Content) })
	}
	answer, err := l.host.askEdit(ctx, msg.AskEdit{
		Turn: l.spec.Turn, ID: c.ID, Name: c.Name, Path: p.Path, Content: p.Content, Before: p.Before,
	})
	if err != nil {
		return refused(contract.TextCancelledByUser)
	}
	if !answer.Applied {
		return refused(answer.Text)
	}
	return l.execute(ctx, c, o, func() tool.Result {
		text := p.Content
		if answer.Merged != nil {
			text = *answer.Merged
		}
		r := written(l.tools.RunApproved(ctx, c.Name, c.Arguments, answer.Merged), text)
		if text != p.Content && !r.IsError {
			// The arguments in the history say something else than the file does.
			r.Content += textMerged
		}
		return r
	})
}

// textMerged tells the model that its text is not what was written.
const textMerged = "\nThe user changed the proposed text before it was written. Read the file before you edit it again."

func errorText(err error) string {
	text := err.Error()
	if !strings.HasPrefix(text, "Error: ") {
		text = "Error: " + text
	}
	return text
}
