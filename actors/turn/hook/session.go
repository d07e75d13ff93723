package hook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/packetbench/packetbench/contract"
)

// Session is one conversation from its first turn until it closes or hibernates.
// It is safe for concurrent use.
type Session struct {
	opt     Options
	id      contract.ConversationID
	project string

	mu sync.Mutex
	// hooks are those of a session that is read, for a project so trusted.
	hooks         []Hook
	read, trusted bool
	started       bool
	// told keeps what was logged, so that it is logged once.
	told map[string]bool
}

// NewSession makes the session of one conversation. Nothing is read or run.
func NewSession(o Options, id contract.ConversationID, project string) *Session {
	if o.Life == nil {
		o.Life = context.Background()
	}
	if o.Limit == 0 {
		o.Limit = Limit
	}
	o.Env = environment(o.Env, project)
	return &Session{opt: o, id: id, project: project, told: map[string]bool{}}
}

// Turn is the hooks of one turn.
type Turn struct {
	s     *Session
	hooks []Hook
	log   func(line string)
}

// Turn returns the hooks that hold for the next turn. Trusted says whether the
// project's own count. Log takes one line an event; it may be nil.
func (s *Session) Turn(trusted bool, log func(line string)) *Turn {
	if log == nil {
		log = func(string) {}
	}
	s.mu.Lock()
	hooks, same := s.hooks, s.read && s.trusted == trusted
	s.mu.Unlock()
	if !same {
		hooks = s.load(trusted, log)
		s.mu.Lock()
		s.hooks, s.read, s.trusted = hooks, true, trusted
		s.mu.Unlock()
	}
	return &Turn{s: s, hooks: hooks, log: log}
}

// load reads the files.
func (s *Session) load(trusted bool, log func(line string)) []Hook {
	once := func(line string) {
		s.mu.Lock()
		told := s.told[line]
		s.told[line] = true
		s.mu.Unlock()
		if !told {
			log(line)
		}
	}
	var hooks []Hook
	var problems []string
	if s.opt.User != "" {
		hooks, problems = load(s.opt.User, "user settings")
	}
	path := filepath.Join(s.project, ".claude", "settings.json")
	if !sameFile(path, s.opt.User) {
		own, wrong := load(path, "project settings")
		switch {
		case trusted:
			hooks, problems = append(hooks, own...), append(problems, wrong...)
		case len(own) > 0:
			once("hooks of an untrusted project ignored conv=" + string(s.id) + "; trust the project to run them")
		}
	}
	for _, p := range problems {
		once("hook ignored conv=" + string(s.id) + " reason=" + p)
	}
	return hooks
}

// sameFile reports whether a person works in the folder of their own settings.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// payload is what a command reads.
type payload struct {
	SessionID contract.ConversationID `json:"session_id"`
	Event     Event                   `json:"event"`
	Tool      string                  `json:"tool_name,omitempty"`
	Input     json.RawMessage         `json:"tool_input,omitempty"`
	Result    *string                 `json:"tool_result,omitempty"`
	IsError   *bool                   `json:"is_error,omitempty"`
}

// each runs the hooks of one event in order until one ends with a code other
// than 0 and stop is set; it returns that one.
func (s *Session) each(ctx context.Context, hooks []Hook, p payload, stop bool, log func(string)) (*Hook, error) {
	p.SessionID = s.id
	var body []byte
	for i := range hooks {
		h := &hooks[i]
		if h.Event != p.Event || p.Tool != "" && !h.Matcher.Matches(p.Tool, p.Input) {
			continue
		}
		if ctx.Err() != nil || s.opt.Life.Err() != nil {
			return nil, nil // No failure of the hook's, and nobody waits for it.
		}
		if body == nil {
			text, err := contract.Marshal(p)
			if err != nil {
				log("hooks not run conv=" + string(s.id) + " event=" + string(p.Event) + " reason=the call cannot be encoded")
				return nil, nil
			}
			body = append(text, '\n')
		}
		err := s.opt.execute(ctx, h.Command, s.project, body)
		if err == nil {
			continue
		}
		if stop && errors.As(err, new(*veto)) {
			return h, err
		}
		log("hook failed conv=" + string(s.id) + " event=" + string(p.Event) + " from=" + h.From + " reason=" + err.Error())
	}
	return nil, nil
}

// Start runs the SessionStart hooks, at the first turn of the session alone.
func (t *Turn) Start(ctx context.Context) {
	t.s.mu.Lock()
	first := !t.s.started
	t.s.started = true
	t.s.mu.Unlock()
	if first {
		_, _ = t.s.each(ctx, t.hooks, payload{Event: SessionStart}, false, t.log)
	}
}

// Before runs the PreToolUse hooks of one call. When it returns true the tool
// must not run, and text is its result.
func (t *Turn) Before(ctx context.Context, tool string, input json.RawMessage) (text string, refused bool) {
	by, _ := t.s.each(ctx, t.hooks, payload{Event: PreToolUse, Tool: tool, Input: input}, true, t.log)
	if by != nil {
		return contract.HookVeto(by.Command), true
	}
	if t.s.opt.Life.Err() != nil {
		// A hook that was ended with the service has not said yes.
		return contract.TextInterrupted, true
	}
	return "", false
}

// After runs the PostToolUse hooks of one call.
func (t *Turn) After(ctx context.Context, tool string, input json.RawMessage, result string, isError bool) {
	_, _ = t.s.each(ctx, t.hooks, payload{Event: PostToolUse, Tool: tool, Input: input, Result: &result, IsError: &isError}, false, t.log)
}

// End runs the SessionEnd hooks of a session that was started, within the limit
// in all. It blocks meanwhile. The next turn starts the session again.
func (s *Session) End() {
	s.mu.Lock()
	hooks, started := s.hooks, s.started
	s.started, s.read = false, false
	s.mu.Unlock()
	if !started {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), s.opt.Limit)
	defer stop()
	_, _ = s.each(ctx, hooks, payload{Event: SessionEnd}, false, func(string) {}) // Nobody is left to hear it.
}
