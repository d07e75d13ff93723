package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// judged is one scenario's view of the service with the engine behind it.
type judged struct {
	judge   *judge
	conn    *client
	project string
}

// Start leaves the model to the engine.
func (h *judged) Start() contract.StartParams {
	return contract.StartParams{Provider: contract.EngineRow(judgedEngine, judgedEngine).Provider, ProjectPath: h.project}
}

func (h *judged) Call(ctx context.Context, m contract.Method, params, result any) error {
	return h.conn.call(ctx, m, params, result)
}

// Subscribe opens a window of its own, as a page would.
func (h *judged) Subscribe(ctx context.Context, patterns []string, since any) (conformance.Stream, error) {
	conn, err := dial(ctx, h.judge.run.URL, h.judge.run.OwnerToken)
	if err != nil {
		return nil, err
	}
	if _, err := conn.subscribe(ctx, since, patterns...); err != nil {
		conn.close()
		return nil, err
	}
	return &judgedStream{conn: conn}, nil
}

func (h *judged) Release() { h.judge.model.letGo() }

func (h *judged) File(path string) (string, bool, error) {
	body, err := os.ReadFile(filepath.Join(h.project, path))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	return string(body), err == nil, err
}

func (h *judged) Close() {
	h.judge.model.letGo()
	h.conn.close()
}

// Crash kills the engine, without a word.
func (h *judged) Crash(ctx context.Context) error {
	var tree contract.Tree
	if err := h.conn.call(ctx, contract.MethodTree, contract.Empty{}, &tree); err != nil {
		return err
	}
	pid := childPID(tree.Root, string(msg.EngineName(judgedEngine)))
	if pid == 0 {
		return errors.New("the tree shows no process of the engine")
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// childPID is the process that an actor of the tree hosts, 0 for none.
func childPID(n contract.TreeNode, name string) int {
	if n.Name == name {
		var detail struct {
			ChildPID int `json:"child_pid"`
		}
		if json.Unmarshal(n.Detail, &detail) != nil {
			return 0
		}
		return detail.ChildPID
	}
	for _, c := range n.Children {
		if pid := childPID(c, name); pid != 0 {
			return pid
		}
	}
	return 0
}

// judgedStream is one subscription.
type judgedStream struct {
	conn    *client
	waiting []contract.Envelope
}

// Next returns the next event.
func (w *judgedStream) Next(ctx context.Context) (contract.Envelope, error) {
	for len(w.waiting) == 0 {
		select {
		case n, ok := <-w.conn.events:
			switch {
			case !ok:
				return contract.Envelope{}, w.conn.ended()
			case n.Method == "gap":
				return contract.Envelope{}, errors.New("the window got a gap")
			}
			w.waiting = n.Events.Events
		case <-ctx.Done():
			return contract.Envelope{}, ctx.Err()
		}
	}
	e := w.waiting[0]
	w.waiting = w.waiting[1:]
	return e, nil
}

func (w *judgedStream) Close() { w.conn.close() }

// tried is what a trial turn was seen to do, and how many of its prompts were
// open at once.
type tried struct {
	seen map[contract.Kind]bool
	open int
}

// together is how long a second question may take behind the first to count as
// asked at once; a slow engine loses one scenario.
const together = 5 * time.Second

// tryTurn runs one turn of a new conversation and allows what it asks for. A
// turn that fails is an error with the engine's own words.
func tryTurn(ctx context.Context, h conformance.Harness) (tried, error) {
	t := tried{seen: map[contract.Kind]bool{}}
	start := h.Start()
	start.SessionID, start.InitialMessage = contract.ConversationID("trial-"+filepath.Base(start.ProjectPath)), "Begin."
	agent, err := contract.AgentPattern(start.SessionID)
	if err != nil {
		return t, err
	}
	events, err := h.Subscribe(ctx, []string{agent}, "new")
	if err != nil {
		return t, err
	}
	defer events.Close()
	if err := h.Call(ctx, contract.MethodStart, start, nil); err != nil {
		return t, fmt.Errorf("The engine did not take a first turn: %w", err)
	}
	var prompts []string
	for {
		event, err := nextKind(ctx, events, len(prompts) > 0)
		switch {
		case err != nil:
			return t, err
		case event == nil: // Nothing more is asked until somebody answers.
			t.open = max(t.open, len(prompts))
			for _, id := range prompts {
				if err := h.Call(ctx, contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: start.SessionID, ToolID: id, Decision: contract.AllowOnce}, nil); err != nil {
					return t, err
				}
			}
			prompts = nil
			continue
		}
		t.seen[event.Kind()] = true
		switch event := event.(type) {
		case contract.PermissionRequest:
			prompts = append(prompts, event.ID)
		case contract.Error:
			return t, errors.New("The engine did not end a trial turn: " + event.Message)
		case contract.Done:
			return t, nil
		}
	}
}

// nextKind is the next event; nil when a prompt waits and nothing comes behind it.
func nextKind(ctx context.Context, events conformance.Stream, waits bool) (contract.Event, error) {
	of := ctx
	if waits {
		var cancel context.CancelFunc
		of, cancel = context.WithTimeout(ctx, together)
		defer cancel()
	}
	e, err := events.Next(of)
	if err != nil {
		if waits && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil, nil
		}
		return nil, err
	}
	a, err := contract.ParseSubject(e.Subject)
	if err != nil {
		return nil, err
	}
	return contract.Decode(a.Kind, e.Data)
}
