package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func found(command, _ string) (string, bool) { return "/bin/" + command, command != "missing" }

// acp.md 12.8: the three values, byte for byte, for new and for load.
func TestPosture_Bytes(t *testing.T) {
	t.Parallel()
	explicit := mcpPosture{kind: postureExplicit, servers: []wireServer{wire(Server{Name: "a", Env: map[string]string{"B": "2", "A": "1", "": "x"}}, "/bin/a")}}
	for name, tc := range map[string]struct {
		posture mcpPosture
		want    string
	}{
		"zero":                 {mcpPosture{}, `"mcpServers":[]`},
		"none":                 {mcpPosture{kind: postureNone}, `"mcpServers":[]`},
		"explicit and empty":   {mcpPosture{kind: postureExplicit}, `"mcpServers":[]`},
		"explicit":             {explicit, `"mcpServers":[{"type":"stdio","name":"a","command":"/bin/a","args":[],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}]`},
		"inherit":              {mcpPosture{kind: postureInherit}, ``},
		"inherit with servers": {mcpPosture{kind: postureInherit, servers: explicit.servers}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []session{{cwd: "/p", mcp: tc.posture}, {cwd: "/p", mcp: tc.posture, engineID: "e"}} {
				method, params, _ := s.attach(capabilities{loadSession: true})
				raw, err := contract.Marshal(params)
				if err != nil {
					t.Fatal(err)
				}
				want := `{"cwd":"/p"`
				if s.engineID != "" {
					want = `{"sessionId":"e","cwd":"/p"`
				}
				if tc.want != "" {
					want += "," + tc.want
				}
				if want += "}"; string(raw) != want {
					t.Errorf("%s %s, want %s", method, raw, want)
				}
			}
		})
	}
}

// acp.md 9: each reason, in its order.
func TestMakePlan(t *testing.T) {
	t.Parallel()
	grant := func(name string, more string) string {
		return `{"serverId":"global:` + name + `","serverName":"` + name + `","allowReads":true` + more + `}`
	}
	all := []string{"a"}
	for name, tc := range map[string]struct {
		server   Server
		enabled  *[]string
		snapshot string
		reason   string
	}{
		"trusted":         {Server{Name: "a", Command: "x"}, &all, "[" + grant("a", "") + "]", "trusted"},
		"selected by id":  {Server{Name: "a", Command: "x"}, &[]string{"global:a"}, "[" + grant("a", "") + "]", "trusted"},
		"disabled":        {Server{Name: "a", Command: "x", Disabled: true}, &all, "[" + grant("a", "") + "]", "disabled"},
		"no snapshot":     {Server{Name: "a", Command: "x"}, &all, "", "noTrustDecision"},
		"null snapshot":   {Server{Name: "a", Command: "x"}, &all, "null", "noTrustDecision"},
		"no selection":    {Server{Name: "a", Command: "x"}, nil, "[" + grant("a", "") + "]", "noTrustDecision"},
		"not selected":    {Server{Name: "a", Command: "x"}, &[]string{}, "[" + grant("a", "") + "]", "notSelected"},
		"not in it":       {Server{Name: "a", Command: "x"}, &all, "[]", "noSnapshotForServer"},
		"twice in it":     {Server{Name: "a", Command: "x"}, &all, "[" + grant("a", "") + "," + grant("a", "") + "]", "noSnapshotForServer"},
		"other workspace": {Server{Name: "a", Command: "x"}, &all, "[" + grant("a", `,"workspacePath":"/other"`) + "]", "noSnapshotForServer"},
		"this workspace":  {Server{Name: "a", Command: "x"}, &all, "[" + grant("a", `,"workspacePath":"/p"`) + "]", "trusted"},
		"other scope":     {Server{Name: "a", Command: "x", Scope: "project"}, &all, "[" + grant("a", "") + "]", "noSnapshotForServer"},
		"denied":          {Server{Name: "a", Command: "x"}, &all, "[" + strings.Replace(grant("a", ""), "true", "false", 1) + "]", "trustDeniesServer"},
		"http":            {Server{Name: "a", Command: "x", Transport: "http"}, &all, "[" + grant("a", "") + "]", "unsupportedTransport"},
		"missing":         {Server{Name: "a", Command: "missing"}, &all, "[" + grant("a", "") + "]", "commandNotResolvable"},
		"an odd snapshot": {Server{Name: "a", Command: "x"}, &all, `[7,{"serverId":5}]`, "noSnapshotForServer"},
		"no list":         {Server{Name: "a", Command: "x"}, &all, `{}`, "noTrustDecision"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.server.Scope == "" {
				tc.server.Scope = "global"
			}
			plan := MakePlan(PlanInput{Project: "/p", Servers: []Server{tc.server}, Enabled: tc.enabled, Snapshot: json.RawMessage(tc.snapshot), Resolve: found})
			included := tc.reason == "trusted"
			if len(plan.Servers) != 1 || plan.Servers[0].Reason != tc.reason || plan.Servers[0].Included != included {
				t.Errorf("%+v", plan)
			}
			want := postureNone
			if included {
				want = postureExplicit
			}
			if plan.Posture != want || plan.frozen.kind != want || len(plan.frozen.servers) != len(plan.Selected) || (len(plan.Selected) == 1) != included {
				t.Errorf("%+v", plan)
			}
		})
	}
}

func TestMakePlan_Inherit(t *testing.T) {
	t.Parallel()
	enabled := []string{"a"}
	in := PlanInput{Project: "/p", Servers: []Server{{Name: "a", Scope: "global", Command: "x"}}, Resolve: found, Inherit: true, Offered: true}
	if p := MakePlan(in); p.Posture != postureInherit || p.InheritRefused {
		t.Errorf("offered: %+v", p)
	}
	in.Offered = false
	if p := MakePlan(in); p.Posture != postureNone || !p.InheritRefused || string(p.frozen.field()) != "[]" {
		t.Errorf("not offered: %+v", p)
	}
	in.Offered, in.Enabled, in.Snapshot = true, &enabled, json.RawMessage(`[{"serverId":"global:a","serverName":"a","allowReads":true}]`)
	if p := MakePlan(in); p.Posture != postureExplicit {
		t.Errorf("explicit beats inherit: %+v", p)
	}
	in.Inherit, in.Enabled = false, nil
	if p := MakePlan(in); p.Posture != postureNone {
		t.Errorf("never derived: %+v", p)
	}
}

// A project's entry shadows a global one of its name, whatever becomes of it;
// what is not enforced is disclosed; no secret of the environment is shown.
func TestMakePlan_ShadowAndDisclosure(t *testing.T) {
	t.Parallel()
	enabled := []string{"a", "b"}
	plan := MakePlan(PlanInput{
		Project: "/p", Enabled: &enabled, Resolve: found,
		Servers: []Server{
			{Name: "a", Scope: "global", Command: "x"},
			{Name: "b", Scope: "global", Command: "y", Args: []string{"-v"}, Env: map[string]string{"TOKEN": "very-secret"}},
			{Name: "a", Scope: "project", Command: "x", Disabled: true},
		},
		Snapshot: json.RawMessage(`[{"serverId":"global:a","serverName":"a","allowReads":true},
			{"serverId":"global:b","serverName":"b","allowReads":true,"allowWrites":false,"allowedToolNames":[],"allowedRoots":["/p"],"denialFloors":["credentials"]}]`),
	})
	if len(plan.Servers) != 2 || plan.Servers[0].Scope != "project" || plan.Servers[0].Included || !slices.Equal(plan.Selected, []string{"b"}) {
		t.Errorf("%+v", plan)
	}
	if !slices.Equal(plan.Servers[1].Unenforced, []string{"toolAllowlist", "readOnly", "workspaceRoots", "denialFloors"}) {
		t.Errorf("%+v", plan.Servers[1])
	}
	raw, err := contract.Marshal(plan)
	if err != nil || strings.Contains(string(raw), "very-secret") || !strings.Contains(string(raw), `"posture":"explicit"`) || strings.Contains(string(raw), "null") {
		t.Errorf("%s, %v", raw, err)
	}
	if field := string(plan.frozen.field()); !strings.Contains(field, `"args":["-v"],"env":[{"name":"TOKEN","value":"very-secret"}]`) {
		t.Errorf("wire %s", field)
	}
	none, err := contract.Marshal(MakePlan(PlanInput{}))
	if err != nil || string(none) != `{"posture":"none","servers":[],"selected":[],"inheritRefused":false}` {
		t.Errorf("%s, %v", none, err)
	}
}

// F81: paths with spaces resolve like others.
func TestResolveCommand(t *testing.T) {
	project := filepath.Join(t.TempDir(), "a b")
	bin := filepath.Join(project, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	// The test binary is the one executable that every system has.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(bin, "tool"+filepath.Ext(self))
	if err := os.Symlink(self, tool); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(bin, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	name := filepath.Base(tool)
	for command, want := range map[string]string{
		tool: tool, "bin/" + name: tool, "./bin/" + name: tool, name: tool,
		"": "", " ": "", "missing": "", "bin/missing": "", bin: "", "bin": "", plain: "", filepath.Join(project, "missing"): "",
	} {
		got, ok := ResolveCommand(command, project)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %v", command, got, ok)
		}
	}
}
