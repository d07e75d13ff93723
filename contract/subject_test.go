package contract

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSubject(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for _, tc := range []struct {
		name, id, want string
		err            error
	}{
		{name: "plain", id: "c-1", want: "api-agent.chunk.c-1"},
		{name: "every letter", id: "aZ09_-", want: "api-agent.chunk.aZ09_-"},
		{name: "64 characters", id: long, want: "api-agent.chunk." + long},
		{name: "65 characters", id: long + "a", err: ErrBadID},
		{name: "empty", id: "", err: ErrBadID},
		{name: "dot", id: "a.b", err: ErrBadID},
		{name: "star", id: "*", err: ErrBadID},
		{name: "rest", id: ">", err: ErrBadID},
		{name: "space", id: "a b", err: ErrBadID},
		{name: "line end", id: "a\n", err: ErrBadID},
		{name: "colon", id: "a:b", err: ErrBadID},
		{name: "letter outside ASCII", id: "\u00e7", err: ErrBadID},
		{name: "NUL", id: "a\x00", err: ErrBadID},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Subject(KindChunk, ConversationID(tc.id))
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Fatalf("Subject(chunk, %q) = %q, %v; want %q, %v", tc.id, got, err, tc.want, tc.err)
			}
			if ValidID(tc.id) != (tc.err == nil) {
				t.Fatalf("ValidID(%q) = %v", tc.id, ValidID(tc.id))
			}
			for what, build := range map[string]func() (string, error){
				"conversation": func() (string, error) { return ConversationSubject(WhatUserTurn, ConversationID(tc.id)) },
				"terminal":     func() (string, error) { return TerminalSubject(TerminalExited, TerminalID(tc.id)) },
				"agent *":      func() (string, error) { return AgentPattern(ConversationID(tc.id)) },
				"conversation *": func() (string, error) {
					return ConversationPattern(ConversationID(tc.id))
				},
			} {
				if s, err := build(); !errors.Is(err, tc.err) || (err == nil) != strings.HasSuffix(s, "."+tc.id) {
					t.Errorf("%s: %q, %v; want the error %v", what, s, err, tc.err)
				}
			}
		})
	}
	for _, k := range []Kind{"", "user-turn", "Chunk", "*", "tool_start", "chunk.x"} {
		if s, err := Subject(k, "c-1"); s != "" || !errors.Is(err, ErrBadKind) {
			t.Errorf("Subject(%q) = %q, %v; want ErrBadKind", k, s, err)
		}
	}
	for _, what := range []string{"", "*", ">", "a.b", "a b"} {
		if s, err := ConversationSubject(What(what), "c-1"); s != "" || !errors.Is(err, ErrBadSubject) {
			t.Errorf("ConversationSubject(%q) = %q, %v; want ErrBadSubject", what, s, err)
		}
		if s, err := TerminalSubject(TerminalWhat(what), "t-1"); s != "" || !errors.Is(err, ErrBadSubject) {
			t.Errorf("TerminalSubject(%q) = %q, %v; want ErrBadSubject", what, s, err)
		}
	}
}

// TestSubject_LongIDIsCut: an error does not carry a whole body back.
func TestSubject_LongIDIsCut(t *testing.T) {
	t.Parallel()
	_, err := Subject(KindChunk, ConversationID(strings.Repeat("x.", 5000)))
	if err == nil || len(err.Error()) > 300 {
		t.Fatalf("the error has %d bytes", len(err.Error()))
	}
}

// TestParseSubject_All takes apart every subject the package builds.
func TestParseSubject_All(t *testing.T) {
	t.Parallel()
	check := func(subject string, err error, want Address) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSubject(subject)
		if err != nil || got != want {
			t.Errorf("ParseSubject(%q) = %+v, %v; want %+v", subject, got, err, want)
		}
		if !ValidPattern(subject) || !Match(subject, subject) {
			t.Errorf("%q is not a pattern that matches itself", subject)
		}
		logged := false
		for _, p := range LoggedSubjects {
			logged = logged || Match(p, subject)
		}
		if !logged {
			t.Errorf("%q is not captured by the log", subject)
		}
	}
	for _, k := range Kinds {
		s, err := Subject(k, "c-1")
		check(s, err, Address{Kind: k, ID: "c-1"})
	}
	for _, w := range Whats {
		s, err := ConversationSubject(w, "c_2")
		check(s, err, Address{What: w, ID: "c_2"})
	}
	for _, w := range []TerminalWhat{TerminalOpened, TerminalExited, TerminalResized, TerminalTitle} {
		s, err := TerminalSubject(w, "T")
		check(s, err, Address{Terminal: w, ID: "T"})
	}
	for _, w := range []OpsWhat{OpsTreeChanged, OpsRestart, OpsLimitReached, OpsOverflow} {
		check(OpsSubject(w), nil, Address{Ops: w})
	}
	check(SubjectSidecarStatus, nil, Address{})
	check(SubjectProviderAuth, nil, Address{})
}

func TestParseSubject_Refuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", ".", "api-agent", "api-agent.", "api-agent.chunk", "api-agent.chunk.", "api-agent..c-1", ".chunk.c-1",
		"api-agent.chunk.c-1.x", "api-agent.chunk.c.1", "api-agent.user-turn.c-1", "api-agent.Chunk.c-1",
		"api-agent.*.c-1", "api-agent.chunk.*", "api-agent.>", ">", "api-agent:chunk:c-1",
		"conversation.*.c-1", "conversation..c-1", "conversation.created.", "conversation.a b.c-1",
		"terminal.exited", "terminal.>.t-1", "ops", "ops.", "ops.a.b", "ops.>", "ops.*", "ops.a b",
		"command.get_tree", "other.chunk.c-1", "sidecar-status", "sidecar-status.other", "provider-auth.changed.x",
		"api-agent.chunk." + strings.Repeat("a", 65),
	} {
		if a, err := ParseSubject(s); !errors.Is(err, ErrBadSubject) || a != (Address{}) {
			t.Errorf("ParseSubject(%q) = %+v, %v; want ErrBadSubject", s, a, err)
		}
	}
}

func TestValidPattern(t *testing.T) {
	t.Parallel()
	for _, p := range []string{
		">", "*", "*.>", "api-agent.>", "api-agent.*.c-1", "api-agent.chunk.c-1", "conversation.*.*",
		"sidecar-status.changed", "*.*.*", strings.Repeat("a", 64), strings.Repeat("a.", 15) + "a",
	} {
		if !ValidPattern(p) {
			t.Errorf("ValidPattern(%q) = false", p)
		}
	}
	for _, p := range []string{
		"", ".", "a.", ".a", "a..b", ">.a", "a.>.b", "a.b*", "a.*b", "a.**", "a.>>", "a b", "a\tb", "a.\u00e7",
		"$JS.API.>", "_INBOX.>.", strings.Repeat("a", 65), strings.Repeat("a.", 16) + "a", strings.Repeat("*.", 200) + "*",
	} {
		if ValidPattern(p) {
			t.Errorf("ValidPattern(%q) = true", p)
		}
	}
}

// reference is the bus's rule, token by token.
func reference(pattern, subject []string) bool {
	if len(pattern) == 0 || len(subject) == 0 {
		return len(pattern) == len(subject)
	}
	if pattern[0] == ">" {
		return true
	}
	return (pattern[0] == "*" || pattern[0] == subject[0]) && reference(pattern[1:], subject[1:])
}

// TestMatch compares every pattern of up to four tokens with every subject.
func TestMatch(t *testing.T) {
	t.Parallel()
	build := func(words []string) (all []string) {
		level := []string{""}
		for range 4 {
			var next []string
			for _, before := range level {
				for _, w := range words {
					next = append(next, strings.TrimPrefix(before+"."+w, "."))
				}
			}
			all = append(all, next...)
			level = next
		}
		return all
	}
	subjects := build([]string{"a", "b", "ab"})
	matched := 0
	for _, p := range build([]string{"a", "ab", "*", ">"}) {
		if !ValidPattern(p) {
			continue
		}
		for _, s := range subjects {
			want := reference(strings.Split(p, "."), strings.Split(s, "."))
			if got := Match(p, s); got != want {
				t.Fatalf("Match(%q, %q) = %v, want %v", p, s, got, want)
			}
			if want {
				matched++
			}
		}
	}
	if matched == 0 {
		t.Fatal("nothing matched")
	}
}

func TestPatternConversation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern string
		id      ConversationID
		ok      bool
	}{
		{"api-agent.*.c-1", "c-1", true},
		{"api-agent.chunk.c-1", "c-1", true},
		{"conversation.*.c-1", "c-1", true},
		{"conversation.user-turn.c-1", "c-1", true},
		{"api-agent.*.*", "", false},
		{"api-agent.>", "", false},
		{"conversation.>", "", false},
		{"*.*.c-1", "", false},
		{"terminal.*.c-1", "", false},
		{"api-agent.chunk.c-1.x", "", false},
		{"", "", false},
	} {
		if id, ok := PatternConversation(tc.pattern); id != tc.id || ok != tc.ok {
			t.Errorf("PatternConversation(%q) = %q, %v; want %q, %v", tc.pattern, id, ok, tc.id, tc.ok)
		}
	}
}

func TestPatternsOfOneName(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds {
		p, err := KindPattern(k)
		s, _ := Subject(k, "c-1")
		if err != nil || !ValidPattern(p) || !Match(p, s) {
			t.Errorf("KindPattern(%s) = %q, %v", k, p, err)
		}
	}
	for _, w := range Whats {
		p, err := WhatPattern(w)
		s, _ := ConversationSubject(w, "c-1")
		if err != nil || !ValidPattern(p) || !Match(p, s) {
			t.Errorf("WhatPattern(%s) = %q, %v", w, p, err)
		}
	}
	if p, err := KindPattern("*"); !errors.Is(err, ErrBadKind) || p != "" {
		t.Errorf("KindPattern(*) = %q, %v", p, err)
	}
	if p, err := WhatPattern("a.b"); !errors.Is(err, ErrBadSubject) || p != "" {
		t.Errorf("WhatPattern(a.b) = %q, %v", p, err)
	}
}

func TestCommandSubject(t *testing.T) {
	t.Parallel()
	for _, m := range Methods {
		s := CommandSubject(m)
		if got, ok := CommandMethod(s); !ok || got != m {
			t.Errorf("CommandMethod(%q) = %q, %v", s, got, ok)
		}
		if !Match(CommandPattern, s) {
			t.Errorf("%s does not match %q", CommandPattern, s)
		}
		for _, p := range LoggedSubjects {
			if Match(p, s) {
				t.Errorf("the log captures %q, and would answer it", s)
			}
		}
	}
	for _, s := range []string{"", "command", "command.", "commands.get_tree", "api-agent.chunk.c-1"} {
		if m, ok := CommandMethod(s); ok {
			t.Errorf("CommandMethod(%q) = %q", s, m)
		}
	}
}

// FuzzParseSubject: what is accepted is what a helper builds.
func FuzzParseSubject(f *testing.F) {
	for _, s := range []string{
		"api-agent.chunk.c-1", "conversation.user-turn.c-1", "terminal.exited.t", "ops.restart",
		SubjectProviderAuth, "api-agent.*.c-1", "command.x", "ops.a.b", "api-agent..", ">",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseSubject(s)
		if err != nil {
			if !errors.Is(err, ErrBadSubject) {
				t.Fatalf("ParseSubject(%q) = %v", s, err)
			}
			return
		}
		var built string
		switch {
		case a.Kind != "":
			built, err = Subject(a.Kind, ConversationID(a.ID))
		case a.What != "":
			built, err = ConversationSubject(a.What, ConversationID(a.ID))
		case a.Terminal != "":
			built, err = TerminalSubject(a.Terminal, TerminalID(a.ID))
		case a.Ops != "":
			built = OpsSubject(a.Ops)
		case s == SubjectSidecarStatus || s == SubjectProviderAuth:
			built = s
		}
		if err != nil || built != s {
			t.Fatalf("ParseSubject(%q) = %+v, which builds %q (%v)", s, a, built, err)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("api-agent.*.c-1", "api-agent.chunk.c-1")
	f.Add("a.>", "a")
	f.Add(">", "a.b")
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		// A subject with an empty token is none: no helper builds it.
		if !ValidPattern(pattern) || slices.Contains(strings.Split(subject, "."), "") {
			return
		}
		want := reference(strings.Split(pattern, "."), strings.Split(subject, "."))
		if got := Match(pattern, subject); got != want {
			t.Fatalf("Match(%q, %q) = %v, want %v", pattern, subject, got, want)
		}
	})
}
