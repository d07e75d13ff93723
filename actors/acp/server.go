package acp

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// Server is one configured MCP server. Scope is global or project. Source:
// mcp-state.md 2.
type Server struct {
	Name      string
	Scope     string
	Transport string
	Command   string
	Args      []string
	Env       map[string]string
	Disabled  bool
}

// id is the id of a server in a trust snapshot.
func (s Server) id() string { return s.Scope + ":" + s.Name }

// postureKind is one of the three values of mcpServers. Source: acp.md 9.
type postureKind string

// The three. The zero value is none: "not told" never means "all".
const (
	postureNone     postureKind = "none"
	postureExplicit postureKind = "explicit"
	postureInherit  postureKind = "inheritEngineDefaults"
)

// mcpPosture is which MCP servers a conversation's engine session gets. It is
// frozen when the conversation starts: session/load reuses it.
type mcpPosture struct {
	kind    postureKind
	servers []wireServer
}

// wireServer is one entry of mcpServers. Type is needed by packetcode and
// accepted by all others.
type wireServer struct {
	Type    string    `json:"type"`
	Name    string    `json:"name"`
	Command string    `json:"command"`
	Args    []string  `json:"args"`
	Env     []wireEnv `json:"env"`
}

type wireEnv struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// field is the value of mcpServers: nil when the field is left out, which only
// packetcode understands and only an explicit consent may cause; [] otherwise
// when there are none. A null would count as left out and start the user's
// whole fleet, so no slice is ever encoded that could be nil.
func (p mcpPosture) field() json.RawMessage {
	switch {
	case p.kind == postureInherit:
		return nil
	case p.kind != postureExplicit || len(p.servers) == 0:
		return json.RawMessage("[]")
	}
	raw, err := contract.Marshal(p.servers)
	if err != nil { // Strings alone always encode; without bytes nothing runs.
		return json.RawMessage("[]")
	}
	return raw
}

// Why a configured server is not passed on, in the order of the checks. Source:
// acp.md 9.
const (
	reasonDisabled    = "disabled"
	reasonNoDecision  = "noTrustDecision"
	reasonNotSelected = "notSelected"
	reasonNoSnapshot  = "noSnapshotForServer"
	reasonDenied      = "trustDeniesServer"
	reasonTransport   = "unsupportedTransport"
	reasonCommand     = "commandNotResolvable"
	reasonTrusted     = "trusted"
)

// PlanServer is one row of acp_mcp_plan: a configured server, whether the
// engine would get it, why, and which of its rules cannot cross. Command and
// Args are as configured, without the environment, which may hold secrets.
type PlanServer struct {
	Name       string   `json:"name"`
	Scope      string   `json:"scope"`
	Transport  string   `json:"transport"`
	Command    string   `json:"command"`
	Args       []string `json:"args"`
	Included   bool     `json:"included"`
	Reason     string   `json:"reason"`
	Unenforced []string `json:"unenforced"`
}

// Plan answers acp_mcp_plan. It starts nothing.
type Plan struct {
	Posture        postureKind  `json:"posture"`
	Servers        []PlanServer `json:"servers"`
	Selected       []string     `json:"selected"`
	InheritRefused bool         `json:"inheritRefused"`

	frozen mcpPosture
}

// PlanInput is what decides which MCP servers an engine gets.
type PlanInput struct {
	// Project is the canonical project folder.
	Project string
	// Servers are the configured ones, both scopes; a project entry shadows a
	// global one of the same name, whatever becomes of it.
	Servers []Server
	// Enabled and Snapshot are the selection and the trust decisions of the
	// conversation as they came, each absent when nobody decided.
	Enabled  *[]string
	Snapshot json.RawMessage
	// Inherit is the separate consent to the engine's own servers, Offered
	// whether the engine advertised that it has such a thing.
	Inherit, Offered bool
	// Resolve finds a command; see ResolveCommand.
	Resolve func(command, project string) (path string, ok bool)
}

// trust is one entry of a trust snapshot, as far as it crosses to an engine.
// Source: mcp-state.md 3.
type trust struct {
	ServerID      string    `json:"serverId"`
	ServerName    string    `json:"serverName"`
	WorkspacePath *string   `json:"workspacePath"`
	AllowReads    bool      `json:"allowReads"`
	AllowWrites   bool      `json:"allowWrites"`
	AllowedRoots  []string  `json:"allowedRoots"`
	AllowedTools  *[]string `json:"allowedToolNames"`
	DenialFloors  []string  `json:"denialFloors"`
}

// MakePlan decides which MCP servers an engine gets. Without a snapshot,
// without a selection or without a grant it gets none; its own servers only by
// a separate consent, and never instead of granted ones.
func MakePlan(in PlanInput) Plan {
	plan := Plan{Posture: postureNone, Servers: []PlanServer{}, Selected: []string{}}
	entries, decided := decodeSnapshot(in.Snapshot)
	decided = decided && in.Enabled != nil
	for _, s := range shadow(in.Servers) {
		row, wire := admit(s, in, entries, decided)
		plan.Servers = append(plan.Servers, row)
		if row.Included {
			plan.Selected = append(plan.Selected, s.Name)
			plan.frozen.servers = append(plan.frozen.servers, wire)
		}
	}
	switch {
	case len(plan.frozen.servers) > 0:
		plan.Posture = postureExplicit
	case in.Inherit && in.Offered:
		plan.Posture = postureInherit
	case in.Inherit:
		plan.InheritRefused = true
	}
	plan.frozen.kind = plan.Posture
	return plan
}

// decodeSnapshot reads a trust snapshot; ok is false when there is none. Of an
// entry that cannot be read nothing is granted.
func decodeSnapshot(raw json.RawMessage) (entries []trust, ok bool) {
	var list []json.RawMessage
	if absent(raw) || json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	for _, entry := range list {
		var t trust
		if json.Unmarshal(entry, &t) == nil {
			entries = append(entries, t)
		}
	}
	return entries, true
}

// shadow leaves one server per name, the project's before the global one, in
// the order in which they were configured.
func shadow(servers []Server) []Server {
	var out []Server
	for _, s := range servers {
		i := slices.IndexFunc(out, func(o Server) bool { return o.Name == s.Name })
		switch {
		case i < 0:
			out = append(out, s)
		case s.Scope == "project":
			out[i] = s
		}
	}
	return out
}

func admit(s Server, in PlanInput, entries []trust, decided bool) (PlanServer, wireServer) {
	transport := s.Transport
	if transport == "" {
		transport = "stdio"
	}
	row := PlanServer{Name: s.Name, Scope: s.Scope, Transport: transport, Command: s.Command, Args: slices.Clone(s.Args), Unenforced: []string{}}
	if row.Args == nil {
		row.Args = []string{}
	}
	granted, found := grant(s, in.Project, entries)
	var command string
	resolved := false
	switch {
	case s.Disabled:
		row.Reason = reasonDisabled
	case !decided:
		row.Reason = reasonNoDecision
	case !slices.Contains(*in.Enabled, s.Name) && !slices.Contains(*in.Enabled, s.id()):
		row.Reason = reasonNotSelected
	case !found:
		row.Reason = reasonNoSnapshot
	case !granted.AllowReads:
		row.Reason = reasonDenied
	case transport != "stdio" || s.Name == "":
		row.Reason = reasonTransport
	default:
		if command, resolved = in.Resolve(s.Command, in.Project); !resolved {
			row.Reason = reasonCommand
		}
	}
	if !resolved {
		return row, wireServer{}
	}
	row.Included, row.Reason, row.Unenforced = true, reasonTrusted, unenforced(granted)
	return row, wire(s, command)
}

// grant finds the one entry of a server. None, or more than one, is no grant.
func grant(s Server, project string, entries []trust) (trust, bool) {
	var found []trust
	for _, e := range entries {
		if e.ServerID == s.id() && e.ServerName == s.Name && (e.WorkspacePath == nil || *e.WorkspacePath == project) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return trust{}, false
	}
	return found[0], true
}

// unenforced are the rules of a grant that end at the engine's door: it is told
// a command and nothing else.
func unenforced(t trust) []string {
	out := []string{}
	if t.AllowedTools != nil {
		out = append(out, "toolAllowlist")
	}
	if !t.AllowWrites {
		out = append(out, "readOnly")
	}
	if len(t.AllowedRoots) > 0 {
		out = append(out, "workspaceRoots")
	}
	if len(t.DenialFloors) > 0 {
		out = append(out, "denialFloors")
	}
	return out
}

func wire(s Server, command string) wireServer {
	w := wireServer{Type: "stdio", Name: s.Name, Command: command, Args: slices.Clone(s.Args), Env: []wireEnv{}}
	if w.Args == nil {
		w.Args = []string{}
	}
	for name, value := range s.Env {
		if name != "" {
			w.Env = append(w.Env, wireEnv{name, value})
		}
	}
	slices.SortFunc(w.Env, func(a, b wireEnv) int { return strings.Compare(a.Name, b.Name) })
	return w
}

// ResolveCommand finds the program of an MCP server: an absolute path must be
// an executable file, one with a separator is relative to the project, a bare
// name is looked up in PATH. Path is absolute.
func ResolveCommand(command, project string) (path string, ok bool) {
	command = strings.TrimSpace(command)
	switch {
	case command == "":
		return "", false
	case filepath.IsAbs(command):
		path = command
	case strings.ContainsAny(command, `/`+string(filepath.Separator)):
		path = filepath.Join(project, command)
	default:
		found, err := exec.LookPath(command)
		if err != nil {
			return "", false
		}
		if path, err = filepath.Abs(found); err != nil {
			return "", false
		}
	}
	return path, executable(path) == nil
}

// executable says why a path cannot be started, nil when it can.
func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return errIsFolder
	case runtime.GOOS != "windows" && st.Mode()&0o111 == 0:
		return errNotExecutable
	}
	return nil
}
