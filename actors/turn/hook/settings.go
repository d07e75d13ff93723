package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Event is when a hook runs.
type Event string

// The events. Source: tools-permissions.md 6.
const (
	SessionStart     Event = "SessionStart"
	PreToolUse       Event = "PreToolUse"
	PostToolUse      Event = "PostToolUse"
	SessionEnd       Event = "SessionEnd"
	UserPromptSubmit Event = "UserPromptSubmit"
)

func (e Event) known() bool {
	switch e {
	case SessionStart, PreToolUse, PostToolUse, SessionEnd, UserPromptSubmit:
		return true
	}
	return false
}

// Hook is one entry of a settings file.
type Hook struct {
	Event   Event
	Matcher Matcher
	Command string
	// From says where it stands, for the log: "user settings, entry 2".
	From string
}

// maxSettingsBytes bounds a settings file. Ours: a person's has some KB.
const maxSettingsBytes = 1 << 20

// ErrSettings says that a file is no JSON object.
var ErrSettings = errors.New("hook: the settings are no JSON object")

// Decode reads the hooks of one settings file; from names the file. Problems are
// the entries that are left out, one text each, without any of their content. It
// fails with ErrSettings.
//
// The form that groups hooks by event, which other programs write under the same
// key, is another one and is left out as a whole: there a code other than 0 does
// not always mean a veto.
func Decode(file []byte, from string) (hooks []Hook, problems []string, err error) {
	var settings struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	if len(file) == 0 || json.Unmarshal(file, &settings) != nil {
		return nil, nil, ErrSettings
	}
	if len(settings.Hooks) == 0 || string(settings.Hooks) == "null" {
		return nil, nil, nil
	}
	var entries []json.RawMessage
	if json.Unmarshal(settings.Hooks, &entries) != nil {
		return nil, []string{from + ": hooks is not a list of {event, matcher, command}"}, nil
	}
	for i, raw := range entries {
		where := fmt.Sprintf("%s, entry %d", from, i+1)
		var e struct {
			Event   Event  `json:"event"`
			Matcher string `json:"matcher"`
			Command string `json:"command"`
		}
		switch {
		case json.Unmarshal(raw, &e) != nil:
			problems = append(problems, where+": not an object of texts")
		case !e.Event.known():
			problems = append(problems, where+": no event of ours")
		case strings.TrimSpace(e.Command) == "" || strings.ContainsRune(e.Command, 0):
			problems = append(problems, where+": no command")
		default:
			m, ok := ParseMatcher(e.Matcher)
			if !ok {
				problems = append(problems, where+": the matcher is neither a tool name nor Bash(prefix)")
				continue
			}
			hooks = append(hooks, Hook{Event: e.Event, Matcher: m, Command: e.Command, From: where})
		}
	}
	return hooks, problems, nil
}

// readSettings returns the content of a settings file, nil when there is none.
func readSettings(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	// A pipe would keep the turn waiting for a writer.
	if !fi.Mode().IsRegular() || fi.Size() > maxSettingsBytes {
		return nil, errors.New("is no file of at most 1 MiB")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSettingsBytes))
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	return content, nil
}

// load reads the hooks of one file.
func load(path, from string) (hooks []Hook, problems []string) {
	content, err := readSettings(path)
	if err != nil {
		return nil, []string{from + ": " + err.Error()}
	}
	if content == nil {
		return nil, nil
	}
	hooks, problems, err = Decode(content, from)
	if err != nil {
		return nil, []string{from + ": not a JSON object"}
	}
	return hooks, problems
}
