package bridge

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// fakeEngines answers with what it was asked.
type fakeEngines struct{}

func (fakeEngines) Sessions(_ context.Context, p contract.ProviderID) (contract.EngineSessions, *contract.Failure) {
	switch p {
	case "acp-silent":
		return contract.EngineSessions{}, contract.Fail(contract.CodeInternal, "The engine said nothing.")
	case "acp-empty":
		return contract.EngineSessions{}, nil
	}
	return contract.EngineSessions{Sessions: []contract.EngineSession{{SessionID: "s", Name: string(p)}}, CanOpen: true}, nil
}

func (fakeEngines) MCPPlan(_ context.Context, p contract.MCPPlanParams) (contract.MCPPlan, *contract.Failure) {
	return contract.MCPPlan{Posture: "none", Servers: []contract.MCPPlanServer{}, Selected: []string{string(p.Provider)}}, nil
}

func (fakeEngines) Probe(context.Context) contract.EngineProbe {
	return contract.EngineProbe{Found: true, MinimumVersion: "0.1.0"}
}

func (fakeEngines) CheckPin(path string) (string, error) {
	if !strings.HasPrefix(path, "/good") {
		return "", fmt.Errorf("%s is not a file. Give the path of the engine's program.", path)
	}
	return strings.TrimSpace(path), nil
}

func TestEngines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	dir := filepath.ToSlash(t.TempDir())
	for _, tc := range []struct{ method, params, want string }{
		{"list_engine_sessions", `{"provider":"packetcode-acp"}`, `{"sessions":[{"session_id":"s","name":"packetcode-acp"}],"can_open":true}`},
		{"list_engine_sessions", `{"provider":"acp-empty"}`, `{"sessions":[],"can_open":false}`},
		{"acp_mcp_plan", fmt.Sprintf(`{"project_path":%q}`, dir), `{"posture":"none","servers":[],"selected":["packetcode-acp"],"inheritRefused":false}`},
		{"acp_mcp_plan", fmt.Sprintf(`{"project_path":%q,"provider":"acp-x"}`, dir), `"selected":["acp-x"]`},
		{"probe_engine", `{}`, `{"found":true,"minimumVersion":"0.1.0","compatible":false,"installSupported":false}`},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error != nil || !strings.Contains(string(f.Result), tc.want) {
			t.Errorf("%s: %s %+v, want %s", tc.method, f.Result, f.Error, tc.want)
		}
	}
	for _, tc := range []struct {
		method, params string
		code           int
		text           string
	}{
		{"list_engine_sessions", `{"provider":"anthropic"}`, contract.CodeBadParams, "provider: want packetcode-acp or acp-<name>"},
		{"list_engine_sessions", `{"provider":"acp-"}`, contract.CodeBadParams, "provider: "},
		{"list_engine_sessions", `{"provider":"acp-silent"}`, contract.CodeInternal, "said nothing"},
		{"acp_mcp_plan", `{"project_path":"here"}`, contract.CodeBadParams, "project_path: "},
		{"acp_mcp_plan", `{"project_path":"/","provider":"demo"}`, contract.CodeBadParams, "provider: "},
		{"pin_engine", `{"path":"/bad"}`, contract.CodeBadParams, "path: /bad is not a file"},
		{"pin_engine", `{"path":7}`, contract.CodeBadParams, "path: want a string"},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error == nil || f.Error.Code != tc.code || !strings.Contains(f.Error.Message, tc.text) {
			t.Errorf("%s %s: %+v", tc.method, tc.params, f.Error)
		}
	}
	if n := len(r.node.seen(&r.node.asked)); n != 0 {
		t.Errorf("%d requests reached an actor", n)
	}
}

// A path is judged, kept, and only then is the engine there asked; every window
// hears that a badge may have changed.
func TestEngines_Pin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node.on(msg.Store, func(request any) (any, error) {
		if p := string(request.(msg.PatchSettings).Patch); strings.Contains(p, "full") {
			return msg.Settings{Failure: contract.Fail(contract.CodeInternal, "The disk is full.")}, nil
		}
		return msg.Settings{}, nil
	})
	for path, want := range map[string]string{"/good/packetcode ": "/good/packetcode", "": ""} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"pin_engine","params":{"path":%q}}`, path))
		if f.Error != nil || !strings.Contains(string(f.Result), `"found":true`) {
			t.Errorf("%q: %s %+v", path, f.Result, f.Error)
		}
		all := r.node.seen(&r.node.asked)
		if got := string(all[len(all)-1].request.(msg.PatchSettings).Patch); got != fmt.Sprintf(`{"app":{"acp_engine_path":%q}}`, want) {
			t.Errorf("%q is kept as %s", path, got)
		}
	}
	if f := r.rpc(`{"jsonrpc":"2.0","id":1,"method":"pin_engine","params":{"path":"/good/full"}}`); f.Error == nil || f.Error.Message != "The disk is full." {
		t.Errorf("a full disk: %+v", f.Error)
	}
	if n := len(r.log.events); n != 2 {
		t.Errorf("two changes made %d announcements", n)
	}
	// So does a list of engines, in either form of a patch; other settings do not.
	for _, p := range []string{`{"app":{"engines":[]}}`, `{"engines":[]}`, `{"app":{"auto_failover":true}}`, `{"app":7}`} {
		r.rpc(`{"jsonrpc":"2.0","id":1,"method":"set_settings","params":` + p + `}`)
	}
	if n := len(r.log.events); n != 4 {
		t.Errorf("two lists made %d announcements", n-2)
	}
	for _, e := range r.log.events {
		if e.Subject != contract.SubjectProviderAuth {
			t.Errorf("%s was published", e.Subject)
		}
	}
}
