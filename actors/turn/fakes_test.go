package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/contract"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// fakeHost keeps everything the loop says, in order, and answers prompts.
type fakeHost struct {
	mu    sync.Mutex
	said  []any // contract.Event, or a message of package msg.
	heard chan struct{}

	pose    contract.Posture
	onAsk   func(ctx context.Context, a msg.Ask) (msg.PermissionAnswer, error)
	onEdit  func(ctx context.Context, a msg.AskEdit) (msg.EditAnswer, error)
	onUsage func(u msg.RequestUsage) error
}

func (h *fakeHost) say(items ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, items...)
	if h.heard != nil {
		select {
		case h.heard <- struct{}{}:
		default:
		}
	}
}

func (h *fakeHost) emit(events ...contract.Event) {
	for _, e := range events {
		h.say(e)
	}
}
func (h *fakeHost) requestOpened()             { h.say(msg.RequestOpened{}) }
func (h *fakeHost) reasoned(d json.RawMessage) { h.say(msg.Reasoned{Details: d}) }
func (h *fakeHost) facts(f msg.ToolFacts)      { h.say(f) }

func (h *fakeHost) usage(u msg.RequestUsage) error {
	h.say(u)
	if h.onUsage != nil {
		return h.onUsage(u)
	}
	return nil
}

func (h *fakeHost) ask(ctx context.Context, a msg.Ask) (msg.PermissionAnswer, error) {
	h.say(a)
	if h.onAsk == nil {
		return msg.PermissionAnswer{ID: a.ID, Allowed: true}, nil
	}
	return h.onAsk(ctx, a)
}

func (h *fakeHost) askEdit(ctx context.Context, a msg.AskEdit) (msg.EditAnswer, error) {
	h.say(a)
	if h.onEdit == nil {
		return msg.EditAnswer{ID: a.ID, Applied: true}, nil
	}
	return h.onEdit(ctx, a)
}

func (h *fakeHost) posture() contract.Posture {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pose
}

func (h *fakeHost) everything() []any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]any(nil), h.said...)
}

// results are the tool results in the order of their events, by call id.
func (h *fakeHost) results() map[string]contract.ToolResult {
	out := map[string]contract.ToolResult{}
	for _, item := range h.everything() {
		if r, ok := item.(contract.ToolResult); ok {
			out[r.ID] = r
		}
	}
	return out
}

// outline names what was said, for comparing orders.
func (h *fakeHost) outline() []string {
	var out []string
	for _, item := range h.everything() {
		out = append(out, nameOf(item))
	}
	return out
}

func nameOf(item any) string {
	switch m := item.(type) {
	case contract.ToolStart:
		return "tool-start " + m.ID
	case contract.ToolResult:
		return "tool-result " + m.ID
	case contract.EditBaseline:
		return "edit-baseline " + m.ID
	case contract.Event:
		return string(m.Kind())
	case msg.RequestOpened:
		return "(request)"
	case msg.Reasoned:
		return "(reasoning)"
	case msg.RequestUsage:
		return "(usage)"
	case msg.ToolFacts:
		return "(facts " + m.ID + ")"
	case msg.Ask:
		return "(ask " + m.ID + ")"
	case msg.AskEdit:
		return "(ask edit " + m.ID + ")"
	}
	return fmt.Sprintf("%T", item)
}

// fakeTools runs functions instead of tools; a name without one echoes.
type fakeTools struct {
	mu       sync.Mutex
	ran      []string
	run      map[string]func(ctx context.Context, args json.RawMessage) tool.Result
	proposed func(args json.RawMessage) (tool.Proposal, error)
	approved []*string
}

var everyTool = []string{"read_file", "list_directory", "grep", "bash", "write_file", "edit_file", "web_fetch"}

func (f *fakeTools) Specs() []tool.Spec {
	var out []tool.Spec
	for _, n := range everyTool {
		out = append(out, tool.Spec{Name: n, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func (f *fakeTools) Run(ctx context.Context, name string, args json.RawMessage) tool.Result {
	f.mu.Lock()
	f.ran = append(f.ran, name)
	run := f.run[name]
	f.mu.Unlock()
	if run != nil {
		return run(ctx, args)
	}
	return tool.Result{Content: "ran " + name, Origin: tool.OriginLocal}
}

func (f *fakeTools) RunApproved(ctx context.Context, name string, args json.RawMessage, merged *string) tool.Result {
	f.mu.Lock()
	f.approved = append(f.approved, merged)
	f.mu.Unlock()
	return f.Run(ctx, name, args)
}

func (f *fakeTools) Propose(_ string, args json.RawMessage) (tool.Proposal, error) {
	if f.proposed != nil {
		return f.proposed(args)
	}
	before := "old"
	return tool.Proposal{Path: "a.txt", Before: &before, Content: "new"}, nil
}

func (f *fakeTools) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.ran...)
}

// script is a provider that plays one function per request.
type script struct {
	mu    sync.Mutex
	id    contract.ProviderID
	steps []func(ctx context.Context, req llm.Request, emit func(llm.Chunk) error) error
	seen  []llm.Request
}

func (s *script) ID() contract.ProviderID {
	if s.id == "" {
		return contract.ProviderDemo
	}
	return s.id
}

func (s *script) Stream(ctx context.Context, _ string, req llm.Request, emit func(llm.Chunk) error) error {
	s.mu.Lock()
	s.seen = append(s.seen, req)
	i := min(len(s.seen), len(s.steps)) - 1
	step := s.steps[i]
	s.mu.Unlock()
	return step(ctx, req, emit)
}

func (s *script) requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]llm.Request(nil), s.seen...)
}

// plays emits chunks and ends well.
func plays(chunks ...llm.Chunk) func(context.Context, llm.Request, func(llm.Chunk) error) error {
	return func(_ context.Context, _ llm.Request, emit func(llm.Chunk) error) error {
		for _, c := range chunks {
			if err := emit(c); err != nil {
				return err
			}
		}
		return emit(llm.Done{Input: 10, Output: 2, CacheRead: 1, CacheCreation: 3, UsageKnown: true})
	}
}

func calls(pairs ...string) []llm.Chunk {
	var out []llm.Chunk
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, llm.ToolUseStart{ID: pairs[i], Name: pairs[i+1]},
			llm.ToolUseEnd{ID: pairs[i], Name: pairs[i+1], Arguments: json.RawMessage(`{"path":"a.txt"}`)})
	}
	return out
}

// bench is one loop over fakes.
type bench struct {
	host  *fakeHost
	tools *fakeTools
	model *script
	loop  *loop
	// faults are the panics the loop reported.
	faults []any
}

func newBench(p contract.Posture, steps ...func(context.Context, llm.Request, func(llm.Chunk) error) error) *bench {
	b := &bench{host: &fakeHost{pose: p}, tools: &fakeTools{}, model: &script{steps: steps}}
	b.loop = &loop{
		spec: msg.TurnSpec{
			Conversation: "c-1", Turn: "t-1", Model: "m", System: "system",
			Messages: []contract.RecordMessage{{ID: "m-1", Role: contract.RoleUser, Content: "hello"}},
		},
		provider: b.model, tools: b.tools, host: b.host,
		fault: func(v any, _ []byte) { b.faults = append(b.faults, v) },
	}
	return b
}

var allowAll = contract.Posture{PermissionMode: contract.ModeAllowAll}

// within is a context that ends a test that hangs.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
