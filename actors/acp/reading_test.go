package acp

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/packetbench/packetbench/contract"
)

func TestInitializeParams(t *testing.T) {
	t.Parallel()
	got, err := contract.Marshal(initializeParams("1.2.3"))
	want := `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false}},"clientInfo":{"name":"packetbench","version":"1.2.3"}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// acp.md 3: wrong types degrade to the default and never cost the handshake.
func TestDecodeCapabilities(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`null`, `{}`, `[]`, `7`, ``, `{"agentCapabilities":7}`, `{"protocolVersion":null,"agentCapabilities":{"loadSession":1,"sessionCapabilities":{"close":true,"resume":1,"list":null},"promptCapabilities":{"image":"yes"},"_packetcode":true}}`, `{"protocolVersion":"x","authMethods":{"id":"a"}}`} {
		c := decodeCapabilities(json.RawMessage(result))
		if !reflect.DeepEqual(c, capabilities{protocolVersion: 1}) {
			t.Errorf("%s: %+v", result, c)
		}
	}
	c := decodeCapabilities(json.RawMessage(`{"protocolVersion":2,"authMethods":[{"id":"a"},{"id":""},null],"agentInfo":{"name":"n","version":"v"},
		"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"close":{},"resume":{},"list":{"x":1}},
		"_packetcode":{"sessionsList":true,"permissionModes":[" ask ","","ask",7,"bypass"],"defaultPermissionMode":"auto"}}}`))
	want := capabilities{
		protocolVersion: 2, agent: "n", agentVersion: "v", loadSession: true, resume: true, list: true, close: true, image: true, authMethods: []string{"a"},
		packetcode: extensions{advertised: true, sessionsList: true, permissionModes: []string{"ask", "bypass"}},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	for _, modes := range []string{`[]`, `null`, `[""]`, `"ask"`} {
		x := decodeCapabilities(json.RawMessage(`{"agentCapabilities":{"_packetcode":{"permissionModes":` + modes + `,"defaultPermissionMode":"ask"}}}`)).packetcode
		if !slices.Equal(x.permissionModes, rungs) || x.defaultPermissionMode != "ask" {
			t.Errorf("%s: %+v", modes, x)
		}
	}
}

func TestCapabilities_Facts(t *testing.T) {
	t.Parallel()
	got := capabilities{image: true, resume: true, packetcode: extensions{advertised: true, permissionModes: []string{"ask", "read-only"}, sessionsUsage: true}}.facts()
	if !slices.Equal(got.Modes, []contract.PermissionMode{contract.ModeAskForRisky, contract.ModeDenyAll}) || !got.Plan || got.Rename || !got.Usage || !got.Images || !got.Load {
		t.Errorf("packetcode: %+v", got)
	}
	if got := (capabilities{}).facts(); got.Modes != nil || got.Images || got.Load {
		t.Errorf("others: %+v", got)
	}
}

// acp.md 12.7, 5.1.
func TestRung(t *testing.T) {
	t.Parallel()
	for mode, want := range map[contract.PermissionMode]string{
		"ask_for_risky": "ask", "manual": "ask", "ask": "ask", "": "ask",
		"deny_all": "read-only", "deny": "read-only", "plan": "read-only", "read-only": "read-only", "readonly": "read-only",
		"allow_all": "bypass", "yolo": "bypass", "bypass": "bypass",
		"acceptEdits": "accept-edits", "accept-edits": "accept-edits", "accept_edits": "accept-edits",
		"auto": "auto", "default": "auto", "anything": "auto",
	} {
		if got := rung(contract.Posture{PermissionMode: mode}); got != want {
			t.Errorf("%q is %s, want %s", mode, got, want)
		}
		if got := rung(contract.Posture{PlanMode: true, PermissionMode: mode}); got != "read-only" {
			t.Errorf("plan mode with %q is %s", mode, got)
		}
	}
	x := extensions{permissionModes: []string{"ask", "read-only"}}
	for mode, want := range map[contract.PermissionMode]string{"ask_for_risky": "ask", "deny_all": "read-only", "auto": "", "allow_all": "", "acceptEdits": ""} {
		got, honoured := x.override(contract.Posture{PermissionMode: mode})
		if got != want || honoured != (want != "") {
			t.Errorf("%q overrides with %q, %v", mode, got, honoured)
		}
	}
}

func TestVocabularies(t *testing.T) {
	t.Parallel()
	claude := []string{"auto", "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"}
	for _, tc := range []struct {
		agent   string
		offered []string
		posture contract.Posture
		want    string
	}{
		{"@agentclientprotocol/claude-agent-acp", claude, contract.Posture{PermissionMode: contract.ModeAuto}, "default"}, // Its own auto approves by itself.
		{"claude", claude, contract.Posture{}, "default"},
		{"claude", claude, contract.Posture{PlanMode: true}, "plan"},
		{"claude", claude, contract.Posture{PermissionMode: contract.ModeDenyAll}, "plan"},
		{"claude", claude, contract.Posture{PermissionMode: contract.ModeAllowAll}, "bypassPermissions"},
		{"claude", []string{"default"}, contract.Posture{PermissionMode: contract.ModeAllowAll}, "default"},
		{"claude", []string{"default"}, contract.Posture{PlanMode: true}, ""},
		{"gemini-cli", []string{"default", "autoEdit", "yolo", "plan"}, contract.Posture{PermissionMode: "accept-edits"}, "autoEdit"},
		{"gemini-cli", []string{"default", "autoEdit", "yolo", "plan"}, contract.Posture{PermissionMode: contract.ModeAllowAll}, "yolo"},
		{"qwen-code", []string{"plan", "default", "auto-edit", "yolo"}, contract.Posture{PermissionMode: "acceptEdits"}, "auto-edit"},
		{"OpenCode", []string{"build", "plan"}, contract.Posture{PermissionMode: contract.ModeAskForRisky}, "build"},
		{"OpenCode", []string{"build", "plan"}, contract.Posture{PlanMode: true}, "plan"},
		{"somebody", []string{"default", "plan"}, contract.Posture{PlanMode: true}, ""},
	} {
		if got := vocabularyOf(tc.agent).choose(tc.posture, tc.offered); got != tc.want {
			t.Errorf("%s %+v: %q, want %q", tc.agent, tc.posture, got, tc.want)
		}
	}
	for mode, want := range map[string]string{"ask": "Manual", "auto": "Default", "read-only": "Plan", "bypass": "Yolo", "accept-edits": "Accept edits", "": "Provider default", "strange": "strange"} {
		if got := rungLabel(mode); got != want {
			t.Errorf("%q is shown as %q", mode, got)
		}
	}
}

func TestDecodeSettings(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`null`, `{}`, `{"modes":null,"models":7,"configOptions":{}}`, `{"configOptions":[{"category":"mode","options":[]},null,7]}`} {
		if s := decodeSettings(json.RawMessage(result)); len(s.mode.ids) != 0 || len(s.model.ids) != 0 || s.mode.option != "" {
			t.Errorf("%s: %+v", result, s)
		}
	}
	s := decodeSettings(json.RawMessage(`{"models":{"currentModelId":"b","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b"},{"modelId":"a"},{}]}}`))
	if got := fmt.Sprint(s.model.models()); got != "[{b b 0 <nil>} {A a 0 <nil>}]" || s.model.option != "" {
		t.Errorf("%s", got)
	}
	models := decodeModels(json.RawMessage(`{"models":[{"provider":"p","model":"a"},{"provider":"q","model":"b","default":true},{"provider":"r","model":"a"},{"model":null}]}`))
	if got := fmt.Sprint(models); got != "[{q/b b 0 <nil>} {p/a a 0 <nil>}]" {
		t.Errorf("%s", got)
	}
}

func TestPromptUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		result string
		totals *Usage
		turn   *turnUsage
	}{
		{`{"_packetcode":{"usage":{"contextTokens":107,"totalInput":100,"totalOutput":7,"costUsd":0.5}}}`, &Usage{ContextTokens: 107, TotalInput: 100, TotalOutput: 7, CostUSD: 0.5}, nil},
		{`{"usage":{"inputTokens":100,"outputTokens":7,"cachedReadTokens":3,"cachedWriteTokens":2,"totalTokens":107}}`, nil, &turnUsage{100, 7, 3, 2}},
		{`{"_meta":{"quota":{"token_count":{"input_tokens":5,"output_tokens":6}}}}`, nil, &turnUsage{Input: 5, Output: 6}},
		{`{"usage":{"inputTokens":-5,"outputTokens":1e99}}`, nil, &turnUsage{}},
		{`{"_packetcode":{"usage":{"totalInput":"x"}}}`, nil, nil},
		{`{"_packetcode":{"usage":null},"usage":[]}`, nil, nil},
		{`null`, nil, nil},
		{`{}`, nil, nil},
		{``, nil, nil},
	} {
		totals, turn := promptUsage(json.RawMessage(tc.result))
		if !reflect.DeepEqual(totals, tc.totals) || !reflect.DeepEqual(turn, tc.turn) {
			t.Errorf("%s: %+v %+v", tc.result, totals, turn)
		}
	}
	if got := (Usage{TotalInput: 5, TotalOutput: 1}).since(Usage{TotalInput: 100, TotalOutput: 7}); got != (turnUsage{Input: 5, Output: 1}) {
		t.Errorf("a session that began again: %+v", got)
	}
}

func TestHeldOnDisk(t *testing.T) {
	t.Parallel()
	home := fstest.MapFS{
		"sessions/a.json":   {Data: []byte(`{"id":"a","name":"old","updated_at":"2026-01-01T00:00:00Z","provider":"p","model":"m","working_dir":"/w","messages":[{},{}],"cost":{"total_usd":0.25}}`)},
		"sessions/b.json":   {Data: []byte(`{"id":"b","name":null,"updated_at":"2026-02-01T00:00:00.5Z","messages":null}`)},
		"sessions/bad.json": {Data: []byte(`{"id"`)},
		"sessions/note.txt": {Data: []byte(`x`)},
		"sessions/d.json/x": {Data: []byte(`x`)},
	}
	held, err := HeldOnDisk(home)
	if len(held) != 2 || held[0].SessionID != "b" || held[1] != (Held{SessionID: "a", Name: "old", UpdatedAt: "2026-01-01T00:00:00Z", Provider: "p", Model: "m", Dir: "/w", MessageCount: 2, CostUSD: 0.25}) {
		t.Errorf("held %+v", held)
	}
	if err == nil || !strings.Contains(err.Error(), "bad.json") {
		t.Errorf("error %v", err)
	}
	if held, err := HeldOnDisk(fstest.MapFS{}); held == nil || len(held) != 0 || err != nil {
		t.Errorf("no sessions: %v, %v", held, err)
	}
	var broken fs.FS = fstest.MapFS{"sessions": {Data: []byte("a file")}}
	if held, err := HeldOnDisk(broken); held == nil || err == nil {
		t.Errorf("a file in the way: %v, %v", held, err)
	}
	env := map[string]string{"PACKETCODE_HOME": " /e "}
	if got := EngineHome(func(n string) string { return env[n] }, "/u"); got != "/e" {
		t.Errorf("home %s", got)
	}
	if got := EngineHome(func(string) string { return "" }, "/u"); !strings.HasSuffix(got, ".packetcode") || !strings.HasPrefix(got, "/u") {
		t.Errorf("home %s", got)
	}
}

func TestDecodeHeld(t *testing.T) {
	t.Parallel()
	held, next := decodeHeld(json.RawMessage(`{"sessions":[{"sessionId":"a","name":"n","workingDir":"/w","messageCount":19,"costUsd":1},{"sessionId":"b","title":"t","cwd":"/c","updatedAt":"u"},{"sessionId":""},null],"nextCursor":"x"}`))
	if len(held) != 2 || held[0].Dir != "/w" || held[0].MessageCount != 19 || held[1].Name != "t" || held[1].Dir != "/c" || next != "x" {
		t.Errorf("%+v %q", held, next)
	}
	if held, next := decodeHeld(json.RawMessage(`null`)); held == nil || len(held) != 0 || next != "" {
		t.Errorf("%v %q", held, next)
	}
}

// acp.md 8 and F81: one spelling, on every system.
func TestPlainPath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ goos, path, want string }{
		{"windows", `\\?\C:\a b\c`, `C:\a b\c`},
		{"windows", `\\?\UNC\srv\share\x`, `\\srv\share\x`},
		{"windows", `\\?\unc\srv\share`, `\\srv\share`},
		{"windows", `\\srv\share`, `\\srv\share`},
		{"windows", `C:\x`, `C:\x`},
		{"linux", `\\?\C:\x`, `\\?\C:\x`},
		{"darwin", `/a b/c`, `/a b/c`},
	} {
		if got := plainPath(tc.goos, tc.path); got != tc.want {
			t.Errorf("%s %s: %s", tc.goos, tc.path, got)
		}
	}
}

func TestDecodeSpecs(t *testing.T) {
	t.Parallel()
	specs, problems := DecodeSpecs(json.RawMessage(`[
		{"name":"mine","command":" /opt/mine ","args":["--acp"],"env":{"A":"b"},"auth_method":" key "},
		{"name":"mine","command":"x"}, {"name":"Bad Name","command":"x"}, {"name":"packetcode","command":"x"},
		{"name":"no-command"}, {"name":"odd","command":5}, {"name":"env","command":"x","env":{"A=B":"c"}}, null]`))
	if len(specs) != 1 || !reflect.DeepEqual(specs[0], Spec{Name: "mine", Label: "mine", Command: "/opt/mine", Args: []string{"--acp"}, Env: map[string]string{"A": "b"}, AuthMethod: "key"}) {
		t.Errorf("specs %+v", specs)
	}
	if len(problems) != 7 || !strings.HasPrefix(problems[0], "Engine 2 (mine) in Settings is left out: its name is used twice.") {
		t.Errorf("problems %q", problems)
	}
	if _, problems := DecodeSpecs(json.RawMessage(`{}`)); len(problems) != 1 {
		t.Errorf("problems %q", problems)
	}
	if specs, problems := DecodeSpecs(nil); specs != nil || problems != nil {
		t.Errorf("none: %v %v", specs, problems)
	}
}

func TestPresets(t *testing.T) {
	t.Parallel()
	found := Presets([]Spec{{Name: "opencode"}}, func(command string) (string, bool) { return "/bin/" + command, command != "gemini" })
	if len(found) != 1 || found[0].Name != "claude-agent-acp" {
		t.Errorf("found %+v", found)
	}
	all := Presets(nil, func(string) (string, bool) { return "", true })
	for _, s := range all {
		if !specName.MatchString(s.Name) || s.Label == "" || s.Command == "" || s.Default {
			t.Errorf("preset %+v", s)
		}
		if r := contract.EngineRow(s.Name, s.Label); r.Label != s.Label {
			t.Errorf("row %+v", r)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d presets", len(all))
	}
}

func FuzzReading(f *testing.F) {
	for _, l := range lines(f) {
		if fr, err := decode(l); err == nil && fr.result != nil {
			f.Add([]byte(fr.result))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := decodeCapabilities(raw)
		c.facts()
		s := decodeSettings(raw)
		s.model.models()
		decodeModels(raw)
		decodeCommands(raw)
		promptUsage(raw)
		decodeTotals(raw)
		held, _ := decodeHeld(raw)
		for _, h := range held {
			if h.SessionID == "" {
				t.Fatal("a session without id")
			}
		}
		decodeAsk(raw).choose(contract.AllowOnce)
		decodeSnapshot(raw)
		DecodeSpecs(raw)
	})
}
