//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// engineHouse is a node with a store and one engine's host.
type engineHouse struct {
	gen.Node
	app    string
	ensure msg.Ensured
	held   any
}

func (n engineHouse) CallWithTimeout(to any, _ any, _ int) (any, error) {
	switch to {
	case msg.Store:
		return msg.Settings{App: json.RawMessage(n.app)}, nil
	case msg.EnginesSup:
		return n.ensure, nil
	case msg.EngineName("packetcode"):
		if n.held == nil {
			return nil, gen.ErrTimeout
		}
		return n.held, nil
	}
	return nil, gen.ErrProcessUnknown
}

// program writes a shell script that can be started.
func program(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func newTestEngines(t *testing.T, n gen.Node, env map[string]string) (*engines, *[]contract.AuthProbe) {
	t.Helper()
	told := &[]contract.AuthProbe{}
	return &engines{
		node: n, getenv: func(name string) string { return env[name] }, environ: os.Environ(), now: time.Now,
		changed: func(p contract.AuthProbe) { *told = append(*told, p) },
	}, told
}

// The rows of acp.md 10 and contract.md 11: the default engine by its doctor,
// those of Settings by their command.
func TestEngines_Rows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	good := program(t, dir, "good-engine", "")
	program(t, dir, "opencode", "")
	for _, tc := range []struct {
		name, doctor string
		want         contract.Badge
	}{
		{"ready, whatever its exit code", `echo '{"version":"v0.5.1","status":"fail"}'; exit 1`, contract.Badge{Status: contract.BadgeReady}},
		{"too old", `echo '{"version":"0.0.9"}'`, contract.Badge{Status: contract.BadgeServiceDown, Hint: "packetcode 0.0.9 is too old; 0.1.0 or newer is needed."}},
		{"no version", `echo '{}'`, contract.Badge{Status: contract.BadgeServiceDown, Hint: "The packetcode engine did not report a version."}},
		{"absent", "", contract.Badge{Status: contract.BadgeMissingKey, Hint: "packetcode engine not found. Install it or pin its path in Settings > Providers."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pinned := filepath.Join(t.TempDir(), "none")
			if tc.doctor != "" {
				pinned = program(t, t.TempDir(), "packetcode", `[ "$1 $2" = "doctor --json" ] || exit 9; `+tc.doctor)
			}
			e, _ := newTestEngines(t, engineHouse{}, nil)
			s := engineSettings{Pinned: pinned, Engines: json.RawMessage(fmt.Sprintf(`[{"name":"mine","label":"Mine","command":%q},{"name":"lost","command":"no-such-engine"}]`, good))}
			var got []string
			for _, r := range e.rows(t.Context(), s) {
				p := r.provider()
				got = append(got, fmt.Sprintf("%s %s %s %s %q", p.Row, p.Label, p.Group, p.Badge.Status, p.Badge.Hint))
				if p.Transport != contract.TransportACP || p.Models == nil || p.Capabilities.ModelsAreAuthoritative || p.Capabilities.CanGateWrites {
					t.Errorf("%s: %+v", p.Row, p)
				}
			}
			want := []string{
				fmt.Sprintf("api-packetcode PacketCode (ACP) Other %s %q", tc.want.Status, tc.want.Hint),
				`acp-mine Mine Other ready ""`,
				`acp-lost lost Other missing_key "no-such-engine was not found. Fix the engine in Settings > Providers."`,
				`acp-opencode OpenCode (ACP) Other ready ""`,
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// What an engine said about itself narrows its row, and outlives its host.
func TestEngines_Facts(t *testing.T) {
	t.Parallel()
	e, told := newTestEngines(t, engineHouse{}, nil)
	facts := msg.EngineFacts{
		PID: 7, Models: []contract.Model{{Value: "m", Label: "M"}}, Images: true, Usage: true,
		Modes: []contract.PermissionMode{contract.ModeAskForRisky}, Plan: true,
	}
	host := msg.EngineName("mine")
	e.Heard(msg.Status{Name: msg.Sidecar, State: msg.StateDown})
	e.Heard(msg.Status{Name: host, State: msg.StateRunning})
	e.Heard(msg.Status{Name: host, State: msg.StateRunning, Detail: facts})
	e.Heard(msg.Status{Name: host, State: msg.StateRunning, Detail: facts})
	e.Heard(msg.Status{Name: host, State: msg.StateBackoff, LastReason: "killed"})
	e.Heard(msg.Status{Name: host, State: msg.StateRunning})
	if len(*told) != 2 || (*told)[1] != "acp-mine" {
		t.Errorf("told %v, want the first sight and the facts", *told)
	}
	state := e.state("mine")
	row := engineRow{contract.EngineRow("mine", "Mine"), contract.Badge{}, state.facts}.provider()
	c := row.Capabilities
	if len(row.Models) != 1 || !c.ModelsAreAuthoritative || !c.ImageAttachments || !c.ReportsUsage || c.CanRename || !c.CanPlanMode || len(c.PermissionModes) != 1 {
		t.Errorf("row %+v", row)
	}
	// A conversation shows the same; one of another row is left alone.
	if of := e.Narrow("acp-mine", contract.CapabilitiesOf(contract.EngineRow("mine", "Mine"), nil, false, 0)); !reflect.DeepEqual(of, c) {
		t.Errorf("a conversation shows %+v, its row %+v", of, c)
	}
	for _, p := range []contract.ProviderID{"acp-unheard", contract.ProviderAnthropic} {
		all := contract.CapabilitiesOf(contract.EngineRow("mine", "Mine"), nil, false, 0)
		if of := e.Narrow(p, all); !reflect.DeepEqual(of, all) {
			t.Errorf("%s is narrowed to %+v", p, of)
		}
	}
	// An engine that had worked is worth another start.
	if f := state.failure(e.now()); f != "" {
		t.Errorf("failure %q", f)
	}
}

// A start that failed, and a spent budget.
func TestEngines_Failure(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	host := msg.EngineName("mine")
	running, ready := msg.Status{Name: host, State: msg.StateRunning}, msg.Status{Name: host, State: msg.StateRunning, Detail: msg.EngineFacts{}}
	backoff := msg.Status{Name: host, State: msg.StateBackoff, LastReason: "no config"}
	down := msg.Status{Name: host, State: msg.StateDown, LastReason: "no config"}
	for _, tc := range []struct {
		name  string
		heard []msg.Status
		later time.Duration
		want  string
	}{
		{"nothing heard", nil, 0, ""},
		{"runs", []msg.Status{running}, 0, ""},
		{"failed at once", []msg.Status{running, backoff, running}, 0, "no config"},
		{"failed a while ago", []msg.Status{running, backoff, running}, 2 * failureOld, ""},
		{"failed, then came", []msg.Status{running, backoff, ready}, 0, ""},
		{"died in its work", []msg.Status{ready, backoff, running}, 0, ""},
		{"down", []msg.Status{ready, backoff, running, down}, 2 * failureOld, "no config"},
		{"down without a word", []msg.Status{{Name: host, State: msg.StateDown}}, 0, "The engine ended again and again. Look at the log, then reset it in Ops."},
		{"reset", []msg.Status{down, running}, 2 * failureOld, ""},
		{"stopped", []msg.Status{running, backoff, {Name: host, State: msg.StateStopped}}, 0, ""},
		{"forgotten", []msg.Status{down, {Name: host, State: msg.StateDown, Gone: true}}, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e, _ := newTestEngines(t, engineHouse{}, nil)
			e.now = func() time.Time { return at }
			for _, s := range tc.heard {
				e.Heard(s)
			}
			if got := e.state("mine").failure(at.Add(tc.later)); got != tc.want {
				t.Errorf("failure %q, want %q", got, tc.want)
			}
		})
	}
}

// What is started for a name: settings before presets, the path that was pinned
// before all, and a reason for a name that nobody defined.
func TestEngines_Find(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	opencode := program(t, dir, "opencode", "")
	e, _ := newTestEngines(t, engineHouse{app: `{"acp_engine_path":"/opt/packetcode","engines":[
		{"name":"mine","command":"/opt/x","args":["a"],"env":{"K":"V"},"auth_method":"m"},{"name":"lost","command":"no-such"}]}`}, map[string]string{"PACKETBENCH_ACP_ENGINE": "/env/engine"})
	for name, want := range map[string]string{
		"packetcode": "/opt/packetcode [acp] map[] ", "mine": "/opt/x [a] map[K:V] m", "opencode": opencode + " [acp] map[] ",
		"lost": "no-such was not found", "nobody": "no engine of this name is set up",
	} {
		s, err := e.Find(name)
		got := fmt.Sprintf("%s %v %v %s", s.Command, s.Args, s.Env, s.AuthMethod)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	e.node = engineHouse{app: "{}"}
	if s, err := e.Find("packetcode"); err != nil || s.Command != "/env/engine" {
		t.Errorf("by environment: %+v %v", s, err)
	}
}

func TestEngines_Sessions(t *testing.T) {
	t.Parallel()
	held := msg.EngineSessionList{EngineSessions: contract.EngineSessions{Sessions: []contract.EngineSession{{SessionID: "s-1", Name: "One"}}, CanOpen: true}}
	for _, tc := range []struct {
		name  string
		house engineHouse
		heard []msg.Status
		want  string
	}{
		{"held", engineHouse{held: held}, nil, `{[{s-1 One     0 0}] true}`},
		{"down", engineHouse{ensure: msg.Ensured{Err: contract.Fail(contract.CodeConflict, "It is down.")}}, nil, `It is down.`},
		{"refused", engineHouse{held: msg.EngineSessionList{Failure: contract.Fail(contract.CodeInternal, "Log in first.")}}, nil, `Log in first.`},
		{"silent", engineHouse{}, nil, `The engine did not answer. Try again.`},
		{"died", engineHouse{}, []msg.Status{{Name: msg.EngineName("packetcode"), State: msg.StateBackoff, LastReason: "no config"}}, `no config`},
		{"strange", engineHouse{held: 7}, nil, `The engine did not answer. Try again.`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e, _ := newTestEngines(t, tc.house, nil)
			for _, s := range tc.heard {
				e.Heard(s)
			}
			got, failure := e.Sessions(t.Context(), contract.ProviderPacketcode)
			text := fmt.Sprint(got)
			if failure != nil {
				text = failure.Message
			}
			if text != tc.want {
				t.Errorf("%s, want %s", text, tc.want)
			}
		})
	}
}

// The plan of acp.md 9 with real files: a project entry shadows the global one,
// and nothing is granted without a decision.
func TestEngines_MCPPlan(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(`{"mcpServers":{"tool":{"command":"/bin/sh"},"web":{"type":"http","url":"http://x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e, _ := newTestEngines(t, engineHouse{}, nil)
	for _, tc := range []struct{ name, params, want string }{
		{"nobody decided", `{}`, "none [] tool:noTrustDecision web:noTrustDecision"},
		{"granted", `{"enabled_mcp_server_ids":["tool","web"],"mcp_trust_snapshot":[{"serverId":"global:tool","serverName":"tool","allowReads":true}]}`, "explicit [tool] tool:trusted web:noSnapshotForServer"},
		{"inherit without an offer", `{"inherit_engine_defaults":true}`, "none [] refused tool:noTrustDecision web:noTrustDecision"},
	} {
		var p contract.MCPPlanParams
		if err := json.Unmarshal([]byte(tc.params), &p); err != nil {
			t.Fatal(err)
		}
		p.ProjectPath, p.Provider = dir, contract.ProviderPacketcode
		plan, failure := e.MCPPlan(t.Context(), p)
		got := fmt.Sprint(plan.Posture, " ", plan.Selected)
		if plan.InheritRefused {
			got += " refused"
		}
		for _, s := range plan.Servers {
			got += " " + s.Name + ":" + s.Reason
		}
		if failure != nil || got != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.name, got, failure, tc.want)
		}
	}
}
