package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/contract"
)

// runCmd runs one turn. Source: interface.md 2.
type runCmd struct {
	Provider       string   `help:"Provider or row id (default: the first one that is ready)." placeholder:"P"`
	Model          string   `help:"Model (default: the first of the provider's list)." placeholder:"M"`
	Project        string   `help:"Project folder (default: the current one)." placeholder:"DIR"`
	PermissionMode string   `help:"auto, ask_for_risky (default), allow_all or deny_all. Nobody can be asked here, so a call that would ask is denied." placeholder:"M"`
	Plan           bool     `help:"Plan mode: the model reads and plans, it changes nothing."`
	AllowTool      []string `help:"Offer the model only this tool; may be repeated." placeholder:"T" sep:"none"`
	JSON           bool     `name:"json" help:"Print one envelope a line instead of the text."`
	Session        string   `help:"Continue this conversation, or give a new one this id." placeholder:"ID"`
	Prompt         string   `arg:"" help:"The message; - reads it from stdin."`
}

// startService starts a service for the duration of one command and returns
// how it is reached and how it is stopped. A variable, so that a test can hand
// in its own.
var startService = startHere

// startHere runs the service inside this process: it ends with the command,
// whatever ends the command.
func startHere(g *Globals) (runFile, func(), error) { return startAt(g, "error") }

// startAt is startHere with a log of this level.
func startAt(g *Globals, logged string) (runFile, func(), error) {
	serve := serveCmd{Addr: "127.0.0.1:0", NoNatsListen: true, LogLevel: logged, LogFormat: "text"}
	cfg, err := serve.config(g)
	if err != nil {
		return runFile{}, nil, &ExitError{exitUsage, err.Error()}
	}
	s := newService(cfg, newLogger(g.Stderr, cfg), g.Getenv)
	if err := s.start(); err != nil {
		return runFile{}, nil, &ExitError{exitFailure, err.Error()}
	}
	return s.run, s.stop, nil
}

// Run runs the turn and turns its outcome into an exit code.
func (c *runCmd) Run(g *Globals) error {
	if err := c.check(g); err != nil {
		return err
	}
	run, err := findService(g)
	if errors.Is(err, errNoService) {
		var stop func()
		if run, stop, err = startService(g); err == nil {
			defer stop()
		}
	}
	if err != nil {
		return failed(err)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx := context.Background()
	conn, err := dial(ctx, run.URL, run.OwnerToken)
	if err != nil {
		return failed(err)
	}
	defer conn.close()
	_, screen := terminal(g.Stdout)
	t := &oneTurn{
		cmd: c, conn: conn, signals: signals, log: g.Stderr, screen: screen, shared: sameOutput(g.Stdout, g.Stderr), out: &printer{w: g.Stdout},
		denied: make(chan error, 64), begun: make(chan begun, 1), unqueued: make(chan error, 1),
	}
	return failed(t.run(ctx))
}

// check completes the flags.
func (c *runCmd) check(g *Globals) error {
	if c.Prompt == "-" {
		body, err := io.ReadAll(g.Stdin)
		if err != nil {
			return failed(fmt.Errorf("the message could not be read from stdin: %w", err))
		}
		c.Prompt = string(body)
	}
	if strings.TrimSpace(c.Prompt) == "" {
		return &ExitError{exitUsage, "The message is empty. Give it as the last argument, or - and a text on stdin."}
	}
	if c.PermissionMode != "" && !contract.PermissionMode(c.PermissionMode).Valid() {
		return &ExitError{exitUsage, "--permission-mode: want auto, ask_for_risky, allow_all or deny_all"}
	}
	if c.Session != "" && !contract.ValidID(c.Session) {
		return &ExitError{exitUsage, "--session: want 1 to 64 of A-Z a-z 0-9 _ and -"}
	}
	return nil
}

// begun is what the start or the send was answered with. Without a turn the
// message waits in the queue.
type begun struct {
	turn    contract.TurnID
	message string
	err     error
}

// oneTurn follows one turn from its message to its end.
type oneTurn struct {
	cmd     *runCmd
	conn    *client
	signals <-chan os.Signal
	log     io.Writer
	out     *printer
	// screen says that stdout is a terminal, which text must not drive.
	screen bool
	// shared says that out and log end in one place, where text and activity
	// must not share a line.
	shared bool

	id        contract.ConversationID
	begun     chan begun
	asked     begun
	answered  bool // The start or send was answered.
	mine      bool // The queued message's turn comes next.
	left      bool // It is no longer in the queue.
	unqueued  chan error
	early     []contract.Envelope
	turn      contract.TurnID
	pending   int // Prompts whose denial is on its way.
	denied    chan error
	refused   bool // A prompt was denied because nobody could answer.
	cancelled bool
	last      byte // Last byte of text, to keep lines apart.
	broke     bool // Something else was shown since the last text.
}

// run starts the turn and follows it.
func (t *oneTurn) run(ctx context.Context) error {
	defer t.endLine() // Whatever is said of the end begins a line.
	t.id = contract.ConversationID(t.cmd.Session)
	if t.id == "" {
		var raw [9]byte
		_, _ = rand.Read(raw[:]) // Never fails (crypto/rand).
		t.id = contract.ConversationID("c-" + hex.EncodeToString(raw[:]))
	}
	start, err := t.prepare(ctx)
	if err != nil {
		return err
	}
	agent, err := contract.AgentPattern(t.id)
	if err != nil {
		return err
	}
	second, err := contract.ConversationPattern(t.id)
	if err != nil {
		return err
	}
	// The first event may come before the answer of the start.
	if _, err := t.conn.subscribe(ctx, "new", agent, second); err != nil {
		return err
	}
	go start(ctx)
	for {
		select {
		case b := <-t.begun:
			if err := t.accept(b); err != nil {
				return err
			}
			if t.cancelled {
				t.stop(ctx)
			}
			if done, err := t.takeAll(ctx, t.early); done {
				return err
			}
			t.early = nil
		case n, ok := <-t.conn.events:
			if !ok {
				return &ExitError{exitFailure, fmt.Sprintf("The connection to the service ended before the turn did. See what is there with: packetbench export %s", t.id)}
			}
			if n.Method == "gap" {
				return &ExitError{exitFailure, fmt.Sprintf("The service is too far ahead and events are gone. See the whole answer with: packetbench export %s", t.id)}
			}
			if err := t.json(n.Events.Events); err != nil {
				return err
			}
			if !t.answered {
				t.early = append(t.early, n.Events.Events...)
				continue
			}
			if done, err := t.takeAll(ctx, n.Events.Events); done {
				return err
			}
		case err := <-t.denied:
			t.settle(err)
		case <-t.signals:
			if t.cancelled {
				return &ExitError{exitInterrupted, ""}
			}
			t.cancelled = true
			t.note("Stopping; once more ends at once.")
			t.stop(ctx)
		case err := <-t.unqueued:
			if err == nil {
				return &ExitError{exitInterrupted, ""}
			}
			t.cancel(ctx) // Its turn came meanwhile.
		}
		if t.out.err != nil {
			return t.out.err
		}
	}
}

// stop cancels the turn. A message that still waits is taken out of the queue
// instead: the turn before it is somebody else's.
func (t *oneTurn) stop(ctx context.Context) {
	switch {
	case !t.answered:
		return // Only the answer says which of the two it is.
	case t.turn != "" || t.mine:
		t.cancel(ctx)
		return
	}
	go func() {
		t.unqueued <- t.conn.call(ctx, contract.MethodQueueRemove, contract.QueueRemoveParams{SessionID: t.id, MessageID: t.asked.message}, nil)
	}()
}

func (t *oneTurn) cancel(ctx context.Context) {
	go func() { _ = t.conn.call(ctx, contract.MethodCancel, contract.SessionParams{SessionID: t.id}, nil) }()
}

// prepare decides what to call: a send into a conversation that exists, else a
// start. What it returns makes the call and reports to t.begun.
func (t *oneTurn) prepare(ctx context.Context) (func(context.Context), error) {
	if t.cmd.Session != "" {
		var s contract.Snapshot
		err := t.conn.call(ctx, contract.MethodGetConversation, contract.SessionParams{SessionID: t.id}, &s)
		var refusal *contract.Failure
		switch {
		case err == nil:
			if err := t.adjust(ctx, s.Conversation); err != nil {
				return nil, err
			}
			return t.send, nil
		case !errors.As(err, &refusal) || refusal.Code != contract.CodeNotFound:
			return nil, err
		}
	}
	params, err := t.params(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		var r contract.StartResult
		err := t.conn.call(ctx, contract.MethodStart, params, &r)
		t.begun <- begun{turn: r.TurnID, err: err}
	}, nil
}

func (t *oneTurn) send(ctx context.Context) {
	var r contract.SendResult
	err := t.conn.call(ctx, contract.MethodSend, contract.SendParams{SessionID: t.id, Message: t.cmd.Prompt}, &r)
	b := begun{turn: r.TurnID, message: r.MessageID, err: err}
	if r.Queued {
		b.turn = ""
	}
	t.begun <- b
}

// adjust changes an existing conversation as the flags say.
func (t *oneTurn) adjust(ctx context.Context, c contract.Conversation) error {
	if p := t.cmd.Provider; p != "" && p != string(c.Provider) && p != string(c.Row) {
		return &ExitError{exitUsage, fmt.Sprintf("Conversation %s belongs to provider %s; leave --provider out or start another one.", t.id, c.Provider)}
	}
	if t.cmd.Project != "" || len(t.cmd.AllowTool) > 0 {
		return &ExitError{exitUsage, "--project and --allow-tool are fixed when a conversation starts; leave them out to continue one."}
	}
	if m := t.cmd.Model; m != "" && m != c.Model {
		if err := t.conn.call(ctx, contract.MethodChangeModel, contract.ChangeModelParams{SessionID: t.id, NewModel: m}, nil); err != nil {
			return err
		}
	}
	if m := contract.PermissionMode(t.cmd.PermissionMode); m != "" && m != c.PermissionMode {
		if err := t.conn.call(ctx, contract.MethodSetPermissionMode, contract.SetModeParams{SessionID: t.id, Mode: m}, nil); err != nil {
			return err
		}
	}
	if t.cmd.Plan && !c.PlanMode {
		return t.conn.call(ctx, contract.MethodSetPlanMode, contract.SetEnabledParams{SessionID: t.id, Enabled: true}, nil)
	}
	return nil
}

// params are those of a new conversation.
func (t *oneTurn) params(ctx context.Context) (contract.StartParams, error) {
	p := contract.StartParams{
		SessionID: t.id, InitialMessage: t.cmd.Prompt, Model: t.cmd.Model, PlanMode: t.cmd.Plan,
		PermissionMode: contract.PermissionMode(t.cmd.PermissionMode), AllowedTools: t.cmd.AllowTool,
	}
	project, err := filepath.Abs(t.cmd.Project)
	if err != nil {
		return p, fmt.Errorf("the project folder is not known: %w", err)
	}
	p.ProjectPath = project
	var rows []contract.ProviderRow
	if err := t.conn.call(ctx, contract.MethodListProviders, contract.Empty{}, &rows); err != nil {
		return p, err
	}
	row, known := pickRow(rows, t.cmd.Provider)
	if !known {
		// The service says what it accepts; nothing is billed to a default.
		p.Provider = contract.ProviderID(t.cmd.Provider)
		return p, nil
	}
	if row.Badge.Status != contract.BadgeReady && row.Badge.Status != contract.BadgeUnknown {
		return p, &ExitError{exitFailure, fmt.Sprintf("%s is not ready. %s", row.Label, row.Badge.Hint)}
	}
	if row.Row == contract.RowDemo && t.cmd.Provider == "" {
		fmt.Fprintln(t.log, whyDemo(rows))
	}
	p.Provider, p.Row = row.Provider, row.Row
	if p.Model == "" && row.Transport != contract.TransportACP { // An engine has a default of its own.
		if len(row.Models) == 0 {
			return p, &ExitError{exitUsage, fmt.Sprintf("%s lists no model. Choose one with --model.", row.Label)}
		}
		p.Model = row.Models[0].Value
	}
	return p, nil
}

// whyDemo says why nobody else answers a run without --provider. A custom
// endpoint may be ready all the same: it is in no auto-pick order.
func whyDemo(rows []contract.ProviderRow) string {
	for _, r := range rows {
		if r.Provider == contract.ProviderCustom && r.Badge.Status == contract.BadgeReady {
			return "The offline demo answers. " + r.Label + " is ready; it is chosen only by name: --provider custom --model M"
		}
	}
	return "No provider is ready, so the offline demo answers. Store a key with: packetbench key set anthropic"
}

// pickRow finds the row of a provider or row id; without one, the first that is
// ready in auto-pick order, else the demo.
func pickRow(rows []contract.ProviderRow, id string) (contract.ProviderRow, bool) {
	find := func(is func(contract.ProviderRow) bool) (contract.ProviderRow, bool) {
		for _, r := range rows {
			if is(r) {
				return r, true
			}
		}
		return contract.ProviderRow{}, false
	}
	if id != "" {
		return find(func(r contract.ProviderRow) bool { return id == string(r.Provider) || id == string(r.Row) })
	}
	for _, pick := range contract.AutoPick {
		if r, ok := find(func(r contract.ProviderRow) bool { return r.Row == pick && r.Badge.Status == contract.BadgeReady }); ok {
			return r, true
		}
	}
	return find(func(r contract.ProviderRow) bool { return r.Row == contract.RowDemo })
}

func (t *oneTurn) accept(b begun) error {
	t.asked, t.answered = b, true
	var refusal *contract.Failure
	switch {
	case errors.As(b.err, &refusal) && refusal.Code == contract.CodeNotFound:
		return failed(b.err)
	case errors.As(b.err, &refusal):
		return &ExitError{exitTurnError, refusal.Message}
	case b.err != nil:
		return b.err
	case b.turn != "":
		t.turn = b.turn
	default:
		t.note("A turn is running; the message waits for its end.")
	}
	return nil
}

// json prints the envelopes as they are.
func (t *oneTurn) json(events []contract.Envelope) error {
	if !t.cmd.JSON {
		return nil
	}
	for _, e := range events {
		raw, err := contract.Marshal(e)
		if err != nil {
			return err
		}
		t.out.print(string(raw) + "\n")
	}
	return nil
}

func (t *oneTurn) takeAll(ctx context.Context, events []contract.Envelope) (done bool, err error) {
	for _, e := range events {
		if done, err := t.take(ctx, e); done {
			return true, err
		}
	}
	return false, nil
}

// take follows one event; done says that the turn has ended, and err is the
// exit code then.
func (t *oneTurn) take(ctx context.Context, e contract.Envelope) (done bool, err error) {
	a, err := contract.ParseSubject(e.Subject)
	if err != nil {
		return false, nil // A later service may say more than this program knows.
	}
	if t.left && a.What != contract.WhatUpdated {
		t.left = false
		if a.What != contract.WhatUserTurn {
			if t.cancelled {
				return true, &ExitError{exitInterrupted, ""}
			}
			return true, &ExitError{exitTurnError, "The message was taken out of the queue before its turn came."}
		}
	}
	switch a.What {
	case contract.WhatUserTurn:
		var u contract.UserTurn
		if json.Unmarshal(e.Data, &u) == nil && !u.Queued && u.MessageID == t.asked.message {
			t.mine = true
		}
	case contract.WhatQueueChanged:
		t.queue(e)
	case contract.WhatTurnStarted:
		if t.turn == "" && t.mine {
			t.turn = e.Turn
		}
	case contract.WhatNotice:
		var n contract.Notice
		if json.Unmarshal(e.Data, &n) == nil {
			t.note("%s", n.Text)
		}
	case contract.WhatTurnEnded:
		var ended contract.TurnEnded
		if json.Unmarshal(e.Data, &ended) == nil && ended.TurnID == t.turn && t.turn != "" {
			return true, t.exit(ctx, ended.Outcome)
		}
	}
	if a.Kind == "" || e.Turn != t.turn || t.turn == "" {
		return false, nil
	}
	event, err := contract.Decode(a.Kind, e.Data)
	if err != nil {
		return false, nil
	}
	t.show(ctx, event)
	return false, nil
}

// queue notices that the message left the queue: its user-turn comes next, or
// it was taken out.
func (t *oneTurn) queue(e contract.Envelope) {
	var q contract.QueueChanged
	if t.turn != "" || t.mine || json.Unmarshal(e.Data, &q) != nil {
		return
	}
	t.left = !slices.ContainsFunc(q.Items, func(i contract.QueueItem) bool { return i.MessageID == t.asked.message })
}

// show prints what an event says.
func (t *oneTurn) show(ctx context.Context, event contract.Event) {
	switch e := event.(type) {
	case contract.Chunk:
		t.text(string(e))
	case contract.ToolStart:
		t.note("[%s]", plaintext.Line(e.Name, 80))
	case contract.ToolResult:
		state := "ok"
		if e.IsError {
			state = "failed: " + plaintext.Line(e.Content, 200)
		}
		t.note("[%s] %s: %s", plaintext.Line(e.Name, 80), plaintext.Line(e.Input, 120), state)
	case contract.PermissionRequest:
		t.note("[%s] %s needs a permission, and nobody can be asked: denied. --permission-mode allow_all runs it.", plaintext.Line(e.Name, 80), plaintext.Line(e.Arguments, 120))
		t.deny(ctx, contract.MethodRespondPermission, contract.RespondPermissionParams{
			SessionID: t.id, ToolID: e.ID, Decision: contract.Deny, Reason: "Nobody can answer: this turn runs from a script.",
		})
	case contract.PendingEdit:
		t.note("The change of %s waits for an approval, and nobody can be asked: rejected.", plaintext.Line(e.Path, 200))
		t.deny(ctx, contract.MethodRespondEdit, contract.RespondEditParams{SessionID: t.id, ToolID: e.ID, Decision: contract.RejectEdit})
	case contract.RateLimited:
		wait := ""
		if e.RetryAfterSeconds != nil {
			wait = fmt.Sprintf(" for %g s", *e.RetryAfterSeconds)
		}
		t.note("The provider asks to wait%s; the turn goes on by itself.", wait)
	case contract.Error:
		t.note("Error: %s", e.Message)
	case contract.Thinking, contract.ThinkingStop, contract.EditBaseline, contract.PlanBlock,
		contract.ToolOutputExtended, contract.TurnSummary, contract.MCPSources, contract.Done:
	}
}

// text prints a delta. Text that follows tool activity begins on a new line.
func (t *oneTurn) text(s string) {
	if t.cmd.JSON || s == "" {
		return
	}
	if t.broke {
		t.endLine()
	}
	t.broke, t.last = false, s[len(s)-1]
	if t.screen {
		s = plaintext.Safe(s)
	}
	t.out.print(s)
}

// note writes a line of activity.
func (t *oneTurn) note(format string, args ...any) {
	if t.shared {
		t.endLine()
	}
	t.broke = true
	fmt.Fprintln(t.log, plaintext.Line(fmt.Sprintf(format, args...), 2000))
}

// endLine ends a line of text that is still open.
func (t *oneTurn) endLine() {
	if t.last != 0 && t.last != '\n' {
		t.out.print("\n")
		t.last = '\n'
	}
}

// sameOutput reports whether two outputs are one terminal, pipe or file.
func sameOutput(a, b io.Writer) bool {
	if _, is := terminal(a); is {
		// A program has one terminal; a console of Windows has no file to compare.
		_, is = terminal(b)
		return is
	}
	x, isX := a.(*os.File)
	y, isY := b.(*os.File)
	if !isX || !isY {
		return false
	}
	i, errI := x.Stat()
	j, errJ := y.Stat()
	return errI == nil && errJ == nil && os.SameFile(i, j)
}

// deny answers a prompt. It does not wait: events go on arriving meanwhile.
func (t *oneTurn) deny(ctx context.Context, m contract.Method, params any) {
	t.pending++
	go func() { t.denied <- t.conn.call(ctx, m, params, nil) }()
}

// settle takes the answer of a denial. A prompt that a window answered first
// was not denied by us.
func (t *oneTurn) settle(err error) {
	t.pending--
	if err == nil {
		t.refused = true
	}
}

// exit waits for denials that are still on their way and maps the outcome.
func (t *oneTurn) exit(ctx context.Context, outcome contract.Outcome) error {
	t.endLine()
	// The answers of denials precede the end of their turn, so this is short.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for t.pending > 0 {
		select {
		case err := <-t.denied:
			t.settle(err)
		case <-ctx.Done():
			t.pending = 0
			t.refused = true
		}
	}
	switch {
	case t.cancelled:
		return &ExitError{exitInterrupted, ""}
	case outcome == contract.OutcomeDone && t.refused:
		return &ExitError{exitUnanswered, "A permission was needed and nobody could answer, so it was denied."}
	case outcome == contract.OutcomeDone:
		return nil
	case outcome == contract.OutcomeCancelled:
		return &ExitError{exitTurnError, "The turn was cancelled from another window."}
	case outcome == contract.OutcomeInterrupted:
		return &ExitError{exitTurnError, "The service stopped during the turn. Send the message again."}
	}
	return &ExitError{exitTurnError, ""} // The error was shown when it came.
}
