package hook

import (
	"encoding/json"
	"strings"
)

// Matcher says which tool calls a hook is for.
type Matcher struct {
	// tool is in lower case; empty for every tool.
	tool string
	// prefix is what the command of a bash call begins with, when bash is set.
	prefix string
	bash   bool
}

// ParseMatcher reads a matcher: empty for every tool, the name of one in any
// case, Bash(prefix) or Bash(prefix:*) for the bash calls whose command begins
// with the prefix. A lone star is taken for every tool, as people write it.
// Anything else would never match, and is refused: a veto that never comes is
// worse than one that is reported.
func ParseMatcher(text string) (Matcher, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text == "*" {
		return Matcher{}, true
	}
	name, rest, call := strings.Cut(text, "(")
	if !call {
		return Matcher{tool: strings.ToLower(text)}, isName(text)
	}
	prefix, whole := strings.CutSuffix(rest, ")")
	if !whole || !strings.EqualFold(name, "bash") {
		return Matcher{}, false
	}
	prefix = strings.TrimSuffix(prefix, ":*")
	return Matcher{tool: "bash", bash: true, prefix: strings.TrimLeft(prefix, " \t\r\n")}, true
}

// isName reports whether a text can be the name of a tool.
func isName(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.', r == ':':
			return false
		}
		return true
	})
}

// Matches reports whether a call is meant. Space before a command does not count:
// a shell does not see it either.
func (m Matcher) Matches(tool string, input json.RawMessage) bool {
	if m.tool == "" {
		return true
	}
	if m.tool != strings.ToLower(tool) {
		return false
	}
	if !m.bash {
		return true
	}
	var args struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(input, &args) != nil {
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(args.Command, " \t\r\n"), m.prefix)
}
