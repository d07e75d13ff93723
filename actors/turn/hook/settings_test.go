package hook

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		want       string // event|command, joined by spaces
		problems   string // the ends of the problems, joined by "; "
		err        error
	}{
		{"no hooks", `{"model":"x"}`, "", "", nil},
		{"null", `{"hooks":null}`, "", "", nil},
		{
			"all events", `{"hooks":[{"event":"SessionStart","command":"a"},{"event":"PreToolUse","command":"b","matcher":"Bash"},{"event":"PostToolUse","command":"c","matcher":null},{"event":"SessionEnd","command":"d"},{"event":"UserPromptSubmit","command":"e","other":1}]}`,
			"SessionStart|a PreToolUse|b PostToolUse|c SessionEnd|d UserPromptSubmit|e", "", nil,
		},
		{
			"some wrong", `{"hooks":[1,{"event":"Stop","command":"a"},{"event":"PreToolUse"},{"event":"PreToolUse","command":" "},{"event":"PreToolUse","command":"x","matcher":"Write(*)"},{"event":"PreToolUse","command":7},{"event":"PreToolUse","command":"y"}]}`,
			"PreToolUse|y", "1: not an object of texts; 2: no event of ours; 3: no command; 4: no command; 5: the matcher is neither a tool name nor Bash(prefix); 6: not an object of texts", nil,
		},
		{"zero byte", `{"hooks":[{"event":"PreToolUse","command":"a\u0000b"}]}`, "", "1: no command", nil},
		{"grouped by event", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]}]}}`, "", "hooks is not a list of {event, matcher, command}", nil},
		{"empty file", ``, "", "", ErrSettings},
		{"no object", `[]`, "", "", ErrSettings},
		{"torn", `{"hooks":[`, "", "", ErrSettings},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			hooks, problems, err := Decode([]byte(tc.file), "here")
			var got, wrong []string
			for _, h := range hooks {
				got = append(got, string(h.Event)+"|"+h.Command)
			}
			for _, p := range problems {
				if !strings.HasPrefix(p, "here") {
					t.Errorf("problem %q does not name the file", p)
				}
				p = strings.TrimPrefix(strings.TrimPrefix(p, "here, entry "), "here: ")
				wrong = append(wrong, p)
			}
			if strings.Join(got, " ") != tc.want || strings.Join(wrong, "; ") != tc.problems || !errors.Is(err, tc.err) {
				t.Errorf("got %q, %q, %v", got, wrong, err)
			}
		})
	}
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	bash := func(command string) string {
		b, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tc := range []struct {
		matcher, tool, input string
		want                 bool
	}{
		{"", "bash", `{}`, true},
		{" ", "read_file", ``, true},
		{"*", "mcp__a__b", ``, true},
		{"Bash", "bash", `{}`, true},
		{"BASH", "bash", `{}`, true},
		{"bash", "bash_output", `{}`, false},
		{"write_file", "Write_File", `{}`, true},
		{"write", "write_file", `{}`, false},
		{"mcp__a__b", "mcp__a__b", `{}`, true},
		{"Bash(git push)", "bash", bash("git push --force"), true},
		{"Bash(git push:*)", "bash", bash("git push --force"), true},
		{"bash(git push:*)", "bash", bash("  \n git push"), true},
		{"Bash( git push)", "bash", bash("git push"), true},
		{"Bash(git push:*)", "bash", bash("git pushed"), true}, // A prefix, not a word.
		{"Bash(git push:*)", "bash", bash("GIT PUSH"), false},
		{"Bash(git push:*)", "bash", bash("cd x && git push"), false},
		{"Bash(git push:*)", "grep", bash("git push"), false},
		{"Bash()", "bash", bash("anything"), true},
		{"Bash(:*)", "bash", bash("anything"), true},
		{"Bash(echo (a))", "bash", bash("echo (a)"), true},
		{"Bash(a)", "bash", `[]`, false},
		{"Bash(a)", "bash", `{"command":7}`, false},
	} {
		m, ok := ParseMatcher(tc.matcher)
		if !ok {
			t.Errorf("%q is refused", tc.matcher)
			continue
		}
		if got := m.Matches(tc.tool, json.RawMessage(tc.input)); got != tc.want {
			t.Errorf("%q matches %s %s: %v", tc.matcher, tc.tool, tc.input, got)
		}
	}
	for _, bad := range []string{"Bash(", "Bash(a", "Write(a)", "a b", "Bash)", "/x/", "(a)", "Edit|Write"} {
		if m, ok := ParseMatcher(bad); ok {
			t.Errorf("%q is %+v", bad, m)
		}
	}
}

// FuzzDecode: no file makes it panic, and what it accepts can be run and shown.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"hooks":[{"event":"PreToolUse","command":"a","matcher":"Bash(x:*)"}]}`))
	f.Add([]byte(`{"hooks":{"PreToolUse":[]}}`))
	f.Add([]byte(`{"hooks":[[],null,{"event":1}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		hooks, problems, err := Decode(file, "f")
		if err != nil && (hooks != nil || problems != nil || !errors.Is(err, ErrSettings)) {
			t.Fatalf("%v with %v, %v", err, hooks, problems)
		}
		for _, h := range hooks {
			if !h.Event.known() || strings.TrimSpace(h.Command) == "" || strings.ContainsRune(h.Command, 0) || h.From == "" {
				t.Fatalf("accepted %+v", h)
			}
			h.Matcher.Matches("bash", file)
		}
	})
}

// FuzzMatcher: a matcher that is accepted for one tool never takes another, and
// a bash prefix is one.
func FuzzMatcher(f *testing.F) {
	f.Add("Bash(git push:*)", "bash", "git push")
	f.Add("write_file", "WRITE_FILE", "")
	f.Add("*", "", "")
	f.Add("Bash(\u212a)", "bash", "k")
	f.Fuzz(func(t *testing.T, matcher, tool, command string) {
		m, ok := ParseMatcher(matcher)
		if !ok {
			return
		}
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return
		}
		got := m.Matches(tool, input)
		switch {
		case m.tool == "" && !got:
			t.Fatalf("%q leaves out %q", matcher, tool)
		case m.tool != "" && got && !strings.EqualFold(m.tool, tool):
			t.Fatalf("%q takes %q", matcher, tool)
		case m.bash && got && m.prefix != "" && !strings.Contains(strings.ToValidUTF8(command, "\ufffd"), strings.ToValidUTF8(m.prefix, "\ufffd")):
			t.Fatalf("%q takes %q", matcher, command)
		}
	})
}
