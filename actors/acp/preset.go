package acp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Spec is one engine: the default one or a row of Settings.
type Spec struct {
	// Name is 1 to 32 of a-z 0-9 and -; the row is "acp-<name>" and the actor
	// "acp:<name>". Label is what the picker shows.
	Name  string
	Label string
	// Command is absolute or on PATH.
	Command string
	Args    []string
	// Env is added to the environment. Its values may be secrets: they go to
	// the engine and nowhere else.
	Env map[string]string
	// AuthMethod is sent with authenticate when the engine demands a login.
	AuthMethod string
	// Default marks packetcode, the one engine whose extensions are tried when
	// it does not say that it has them.
	Default bool
}

// DefaultName is the name of the default engine: its actor is "acp:packetcode".
const DefaultName = "packetcode"

// DefaultSpec is the default engine at the path that the probe has run.
func DefaultSpec(path string) Spec {
	return Spec{Name: DefaultName, Label: "PacketCode (ACP)", Command: path, Args: []string{"acp"}, Default: true}
}

// presets are engines that somebody may have and that need no settings. Source:
// issue 4; the commands are those the recordings of testdata were made with.
var presets = []Spec{
	{Name: "claude-agent-acp", Label: "Claude Agent (ACP)", Command: "claude-agent-acp"},
	{Name: "opencode", Label: "OpenCode (ACP)", Command: "opencode", Args: []string{"acp"}},
	{Name: "gemini", Label: "Gemini CLI (ACP)", Command: "gemini", Args: []string{"--acp"}},
}

// Presets returns the known engines whose program resolve finds, without those
// whose name Settings already uses.
func Presets(settings []Spec, resolve func(command string) (path string, ok bool)) []Spec {
	var out []Spec
	for _, p := range presets {
		if slices.ContainsFunc(settings, func(s Spec) bool { return s.Name == p.Name }) {
			continue
		}
		if _, ok := resolve(p.Command); ok {
			p.Args = slices.Clone(p.Args)
			out = append(out, p)
		}
	}
	return out
}

var specName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// ValidName reports whether an engine may be called so.
func ValidName(name string) bool { return specName.MatchString(name) }

// DecodeSpecs reads the engines of Settings: a list of {name, command, args?,
// env?, auth_method?}. A bad entry costs only itself; err joins a sentence for
// each. An absent list is empty.
func DecodeSpecs(raw json.RawMessage) (specs []Spec, problems []string) {
	if absent(raw) {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, []string{"The engines in Settings are not a list. Define them again in Settings > Providers."}
	}
	for i, entry := range list {
		s, problem := decodeSpec(entry)
		if problem == "" && slices.ContainsFunc(specs, func(o Spec) bool { return o.Name == s.Name }) {
			problem = "its name is used twice"
		}
		if problem != "" {
			problems = append(problems, fmt.Sprintf("Engine %d (%s) in Settings is left out: %s. Correct it in Settings > Providers.", i+1, s.Name, problem))
			continue
		}
		specs = append(specs, s)
	}
	return specs, problems
}

func decodeSpec(entry json.RawMessage) (s Spec, problem string) {
	var w struct {
		Name       string            `json:"name"`
		Label      string            `json:"label"`
		Command    string            `json:"command"`
		Args       []string          `json:"args"`
		Env        map[string]string `json:"env"`
		AuthMethod string            `json:"auth_method"`
	}
	if err := json.Unmarshal(entry, &w); err != nil {
		return s, "a field has the wrong type"
	}
	s = Spec{Name: w.Name, Label: strings.TrimSpace(w.Label), Command: strings.TrimSpace(w.Command), Args: w.Args, Env: w.Env, AuthMethod: strings.TrimSpace(w.AuthMethod)}
	if s.Label == "" {
		s.Label = s.Name
	}
	switch {
	case !ValidName(s.Name):
		return s, "its name must be 1 to 32 of a-z 0-9 and -"
	case s.Name == DefaultName:
		return s, "its name belongs to the default engine"
	case s.Command == "":
		return s, "it has no command"
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return s, "a variable of its environment has no valid name"
		}
	}
	return s, ""
}
