package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/secret"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// TestNoService: each command that needs one says so in one line and how to
// mend it.
func TestNoService(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"tail"}, {"tree"}, {"tree", "--json"}, {"url"}, {"url", "--monitor"}, {"export", "c-1"},
	} {
		got := commandIn(t.TempDir(), "", args...)
		if got.code != 1 || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "packetbench serve") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestDeadService: a run.json that a killed service left behind is no service.
func TestDeadService(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	raw, err := json.Marshal(runFile{PID: 1 << 30, URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"no PacketBench service runs": string(raw), "is damaged": "{"} {
		if err := os.WriteFile(filepath.Join(home, "run.json"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := commandIn(home, "", "url"); got.code != 1 || !strings.Contains(got.err, name) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"fly"},
		{"export"},
		{"export", "a.b"},
		{"export", "c-1", "--format", "pdf"},
		{"tail", "--since", "yesterday"},
		{"tail", "--kind", "smell"},
		{"tail", "--session", "a b"},
		{"key", "set"},
		{"key", "get", "nobody"},
		{"run"},
	} {
		if got := commandIn(t.TempDir(), "", args...); got.code != 2 || got.err == "" || strings.Contains(got.err, "goroutine") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	if got := d.command("url"); got.code != 0 || got.out != d.url+"/?token=owner-token\n" {
		t.Errorf("%+v", got)
	}
	if got := d.command("url", "--monitor"); got.code != 0 || got.out != d.url+"/?token=monitor-token\n" {
		t.Errorf("%+v", got)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.on(contract.MethodTree, contract.Tree{BootID: "b", Time: time.Unix(0, 0).UTC(), Root: contract.TreeNode{Name: "root", Children: []contract.TreeNode{{Name: "leaf", Children: []contract.TreeNode{}}}}})
	if got := d.command("tree"); got.code != 0 || got.out != "boot b at 1970-01-01T00:00:00Z\nroot\n\u2514\u2500\u2500 leaf\n" {
		t.Errorf("%+v", got)
	}
	got := d.command("tree", "--json")
	var tree contract.Tree
	if err := json.Unmarshal([]byte(got.out), &tree); got.code != 0 || err != nil || tree.Root.Children[0].Name != "leaf" || strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if d.tokens[0] != "monitor-token" {
		t.Errorf("tree came with the token %q: reading needs no more than the monitor's", d.tokens[0])
	}
	d.refuses(contract.MethodTree, contract.Fail(contract.CodeInternal, "inspect does not answer"))
	if got := d.command("tree"); got.code != 1 || got.err != "packetbench: inspect does not answer\n" {
		t.Errorf("%+v", got)
	}
}

// TestTree_Watch draws again until it is interrupted, which is no failure.
func TestTree_Watch(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	drawn := 0
	ctx, cancel := context.WithCancel(t.Context())
	d.does(contract.MethodTree, func(json.RawMessage) (any, *contract.Failure) {
		if drawn++; drawn == 2 {
			cancel()
		}
		return contract.Tree{BootID: "b"}, nil
	})
	conn, err := dial(t.Context(), d.url, "monitor-token")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	d.does(contract.MethodSubscribe, func(p json.RawMessage) (any, *contract.Failure) {
		if !strings.Contains(string(p), "ops.tree-changed") {
			t.Errorf("subscribed to %s", p)
		}
		return contract.SubscribeResult{Subscription: "s1"}, nil
	})
	var out strings.Builder
	size := func() (cols, rows int) { return 6, 24 }
	if err := (&treeCmd{Watch: true}).show(ctx, &Globals{Stdout: &out}, conn, size); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), homeCursor+"boot b"+clearLine+"\r\n"); n < 1 || n > 2 {
		t.Fatalf("drawn %d times: %q", n, out.String())
	}
}

func TestTail_Patterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cmd  tailCmd
		want []string
	}{
		{tailCmd{}, contract.LoggedSubjects},
		{tailCmd{Session: "c-1"}, []string{"api-agent.*.c-1", "conversation.*.c-1"}},
		{tailCmd{Kind: "done"}, []string{"api-agent.done.*"}},
		{tailCmd{Kind: "user-turn"}, []string{"conversation.user-turn.*"}},
		{tailCmd{Kind: "chunk", Session: "c-1"}, []string{"api-agent.chunk.c-1"}},
		{tailCmd{Kind: "notice", Session: "c-1"}, []string{"conversation.notice.c-1"}},
	} {
		if got, err := tc.cmd.patterns(); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, %v; want %v", tc.cmd, got, err, tc.want)
		}
	}
	for in, want := range map[string]any{"all": "all", "new": "new", "0": uint64(0), "18446744073709551615": uint64(18446744073709551615)} {
		if got, err := sinceOf(in); err != nil || got != want {
			t.Errorf("sinceOf(%q) = %v, %v", in, got, err)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, flag, want string }{
		{"lines", "", "     1 00:00:00.000 c-1 t-1  chunk                \"a\"\n     2 00:00:00.000 c-1 -    notice               info: b\n"},
		{"envelopes", "--json", `{"seq":1,"time":"1970-01-01T00:00:00Z","subject":"api-agent.chunk.c-1","turn":"t-1","data":"a"}` + "\n" +
			`{"seq":2,"time":"1970-01-01T00:00:00Z","subject":"conversation.notice.c-1","data":{"message_id":"m","level":"info","text":"b"}}` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			d.does(contract.MethodSubscribe, func(json.RawMessage) (any, *contract.Failure) {
				d.notify(d.conn, "gap", contract.GapParams{From: 3, To: 9})
				d.push("c-1", `t-1 chunk "a"`, `- notice {"message_id":"m","level":"info","text":"b"}`)
				return contract.SubscribeResult{}, nil
			})
			// The end of the service is the end of the tail, and says so.
			go func() {
				d.wait(contract.MethodSubscribe)
				d.drop()
			}()
			args := []string{"tail", "--since", "7"}
			if tc.flag != "" {
				args = append(args, tc.flag)
			}
			got := d.command(args...)
			if got.code != 1 || got.out != tc.want || !strings.Contains(got.err, "events 3 to 9") || !strings.Contains(got.err, "connection to the service ended") {
				t.Fatalf("%+v", got)
			}
			if calls := d.called(contract.MethodSubscribe); len(calls) != 1 || !strings.Contains(calls[0], `"since":7`) {
				t.Fatalf("subscribe was called with %v", calls)
			}
		})
	}
}

// TestGapText: what was lost and what never was are told apart.
func TestGapText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		gap         contract.GapParams
		ahead, head uint64
		want        string
	}{
		{"lost", contract.GapParams{From: 3, To: 9}, 0, 20, "The log no longer holds the events 3 to 9; going on behind them."},
		{"one lost", contract.GapParams{From: 3, To: 3}, 0, 20, "The log no longer holds the event 3; going on behind it."},
		{"ahead", contract.GapParams{From: 21, To: 98}, 99, 20, "The log ends at 20; 99 is ahead of it (it may belong to an earlier log). Going on with what comes next."},
		{"lost later", contract.GapParams{From: 30, To: 35}, 99, 20, "The log no longer holds the events 30 to 35; going on behind them."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := gapText(tc.gap, tc.ahead, tc.head); got != tc.want {
				t.Errorf("%q; want %q", got, tc.want)
			}
		})
	}
}

// TestTail_Ahead: a number beyond the head loses nothing and says so.
func TestTail_Ahead(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.does(contract.MethodSubscribe, func(json.RawMessage) (any, *contract.Failure) {
		d.notify(d.conn, "gap", contract.GapParams{From: 5, To: 998})
		return contract.SubscribeResult{Head: 4}, nil
	})
	go func() {
		d.wait(contract.MethodSubscribe)
		d.drop()
	}()
	if got := d.command("tail", "--since", "999"); !strings.HasPrefix(got.err, "The log ends at 4; 999 is ahead of it") || strings.Contains(got.err, "no longer holds") {
		t.Errorf("%+v", got)
	}
}

// TestSpellings: the other usual ways to ask for help and for the version.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, same []string }{
		{[]string{"help"}, []string{"--help"}},
		{[]string{"help", "run"}, []string{"run", "--help"}},
		{[]string{"--version"}, []string{"version"}},
		{[]string{"--version", "--json"}, []string{"version", "--json"}},
	} {
		got, want := commandIn(t.TempDir(), "", tc.args...), commandIn(t.TempDir(), "", tc.same...)
		if got != want || got.code != 0 || got.out == "" {
			t.Errorf("%v: %+v; want as %v: %+v", tc.args, got, tc.same, want)
		}
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.on(contract.MethodGetConversation, json.RawMessage(`{"conversation":{"session_id":"c-1","title":"T","later":true,"messages":[{"id":"m-1","role":"user","content":"hi","timestamp":0}]},"seq":4}`))
	if got := d.command("export", "c-1"); got.code != 0 || !strings.HasPrefix(got.out, "# T\n") || !strings.Contains(got.out, "\nhi\n") {
		t.Errorf("%+v", got)
	}
	got := d.command("export", "c-1", "--format", "json")
	var c map[string]any
	if err := json.Unmarshal([]byte(got.out), &c); err != nil || c["later"] != true || c["session_id"] != "c-1" {
		t.Errorf("%+v, %v: what this version does not know is exported, too", got, err)
	}
	d.refuses(contract.MethodGetConversation, contract.Fail(contract.CodeNotFound, "No active session: c-1"))
	if got := d.command("export", "c-1"); got.code != 1 || got.err != "packetbench: There is no conversation c-1.\n" {
		t.Errorf("%+v", got)
	}
}

// TestKey_WithoutAService keeps a key in a data directory of its own.
func TestKey_WithoutAService(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "a b")
	const value = "sk-ant-0123456789-tail"
	for _, step := range []struct {
		stdin string
		args  []string
		code  int
		want  string
	}{
		{"", []string{"get", "anthropic"}, 0, "api-key-anthropic    not stored\n"},
		{value + "\n", []string{"set", "anthropic"}, 0, "api-key-anthropic    stored, ends in tail (encrypted file)\n"},
		{"", []string{"get", "api-key-anthropic"}, 0, "api-key-anthropic    stored, ends in tail (encrypted file)\n"},
		{"", []string{"rm", "anthropic"}, 0, "api-key-anthropic    not stored\n"},
		{"  \n", []string{"set", "anthropic"}, 1, ""},
		{strings.Repeat("x", 70<<10), []string{"set", "anthropic"}, 1, ""},
		{value, []string{"set", "ollama"}, 2, ""},
	} {
		got := commandIn(home, step.stdin, append([]string{"key"}, step.args...)...)
		if got.code != step.code || got.out != step.want {
			t.Errorf("%v: %+v, want exit %d and %q", step.args, got, step.code, step.want)
		}
		if strings.Contains(got.out+got.err, "0123456789") || (got.code == 0) != (got.err == "") {
			t.Errorf("%v: %+v", step.args, got)
		}
	}
	if got := commandIn(home, "", "key", "list"); got.code != 0 || strings.Count(got.out, "not stored") != 7 {
		t.Errorf("%+v", got)
	}
}

// TestKey_WithAService leaves it to the service, so that badges follow.
func TestKey_WithAService(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, m := range []contract.Method{contract.MethodSetKey, contract.MethodDeleteKey} {
		d.on(m, contract.Empty{})
	}
	d.on(contract.MethodListKeys, []contract.KeyInfo{{Account: "api-key-openai", Present: true, Source: "OS keyring"}, {Account: "api-key-custom"}})
	if got := commandIn(d.home, "secret-value", "key", "set", "openai"); got.code != 0 || got.out != "api-key-openai       stored (OS keyring)\n" {
		t.Errorf("%+v", got)
	}
	if calls := d.called(contract.MethodSetKey); len(calls) != 1 || calls[0] != `{"account":"api-key-openai","value":"secret-value"}` {
		t.Errorf("set_key was called with %v", calls)
	}
	if got := d.command("key", "rm", "openai"); got.code != 0 || len(d.called(contract.MethodDeleteKey)) != 1 {
		t.Errorf("%+v", got)
	}
	if got := d.command("key", "list"); got.code != 0 || strings.Count(got.out, "\n") != 2 {
		t.Errorf("%+v", got)
	}
	d.refuses(contract.MethodSetKey, contract.Fail(contract.CodeBadParams, "The key is empty."))
	if got := commandIn(d.home, "x", "key", "set", "openai"); got.code != 1 || got.err != "packetbench: The key is empty.\n" {
		t.Errorf("%+v", got)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	got := d.command("doctor")
	for _, want := range []string{
		"ok       data directory", "runs with pid", "version 1.2.3", "warning  sidecar", "fix: packetbench sidecar install --sdk openai", "warning  packetcode engine",
		"warning  Claude (API)", "fix: No key.", "ok       Offline demo (scripted)",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s%s", want, got.out, got.err)
		}
	}
	if got.code != 0 {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	got = d.command("doctor", "--json")
	var report struct {
		OK     bool      `json:"ok"`
		Checks []finding `json:"checks"`
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || !report.OK || len(report.Checks) < 8 {
		t.Errorf("%v: %+v", err, got)
	}
	for _, f := range report.Checks {
		if f.State == stateWarning && f.Fix == "" {
			t.Errorf("%s says no fix: %+v", f.Name, f)
		}
	}
}

// TestDoctor_Broken: a required part that is broken is exit 1, and its line
// says the fix.
func TestDoctor_Broken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := commandIn(filepath.Join(file, "home"), "", "doctor")
	if got.code != 1 || !strings.Contains(got.out, "broken   data directory") || !strings.Contains(got.out, "choose another one with --home") {
		t.Errorf("%+v", got)
	}
	d := newDoor(t)
	d.refuses(contract.MethodListProviders, contract.Fail(contract.CodeInternal, "The settings could not be read."))
	if got := d.command("doctor"); got.code != 1 || !strings.Contains(got.out, "broken   providers") || !strings.Contains(got.err, "1 required part(s) broken") {
		t.Errorf("%+v", got)
	}
}

// TestDoctor_LeavesNothing: a data directory that was not there is not there
// afterwards.
func TestDoctor_LeavesNothing(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "never")
	commandIn(home, "", "doctor")
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		entries, _ := os.ReadDir(home)
		t.Fatalf("doctor leaves %s behind with %v", home, entries)
	}
}

// TestKeyStore: doctor says which store is in use and why.
func TestKeyStore(t *testing.T) {
	t.Parallel()
	one := []contract.KeyInfo{{Account: "a", Present: true, Source: "encrypted file"}, {Account: "b"}}
	for _, tc := range []struct {
		name   string
		infos  []contract.KeyInfo
		ring   error
		off    bool
		state  state
		detail string
	}{
		{"keyring", one, nil, false, stateOK, "OS keyring; 1 key(s) stored or in the environment"},
		{"no keyring", one, &secret.KeyringError{Reason: "none", Missing: true}, false, stateOK, "encrypted file, because no OS keyring is available; 1 key(s) stored or in the environment"},
		{"left alone", nil, &secret.KeyringError{Missing: true}, true, stateOK, "encrypted file, because PACKETBENCH_NO_KEYRING=1 is set; 0 key(s) stored or in the environment"},
		{"locked", nil, &secret.KeyringError{Reason: "it is locked."}, false, stateWarning, "The OS keyring is not available: it is locked."},
		{"a key that cannot be read", []contract.KeyInfo{{Account: "a", Source: "The file is damaged."}}, nil, false, stateWarning, "The file is damaged."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := keyStore(tc.infos, tc.ring, tc.off)
			if f.State != tc.state || f.Detail != tc.detail || (f.State == stateOK) != (f.Fix == "") {
				t.Errorf("%+v; want %s, %q", f, tc.state, tc.detail)
			}
		})
	}
}

// TestRefusals: a base URL that cannot be used is in the badge of its row and
// in what doctor says without a service.
func TestRefusals(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{llm.EnvCustomURL: "foo", llm.EnvOllamaURL: "box:11434"}[name]
	}
	settings, err := resolve([]byte(`{"minimax_base_url":"http://example.com/v1"}`), env)
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, r := range refusals(settings) {
		labels = append(labels, r.label)
	}
	if want := []string{"MiniMax (Token Plan)", "Ollama (Local)", "Custom endpoint (OpenAI-compatible)"}; !slices.Equal(labels, want) {
		t.Errorf("refused %v; want %v", labels, want)
	}
	known := &facts{settings: settings, down: settings.Refused(contract.ProviderOllama)}
	for provider, want := range map[contract.ProviderID]contract.BadgeStatus{
		contract.ProviderCustom: contract.BadgeMissingKey, contract.ProviderOllama: contract.BadgeServiceDown,
		contract.ProviderMiniMax: contract.BadgeServiceDown,
	} {
		row, err := contract.RowForProvider(provider)
		if err != nil {
			t.Fatal(err)
		}
		if badge, err := known.badge(row); err != nil || badge.Status != want || badge.Hint != settings.Refused(provider).Error() {
			t.Errorf("%s: %+v, %v; want %s", provider, badge, err, want)
		}
	}
	home := t.TempDir()
	paths, err := config.DataDir(home, env)
	if err != nil {
		t.Fatal(err)
	}
	if got := checkSettings(&Globals{Getenv: env}, paths); len(got) != 2 || !strings.Contains(got[1].Fix, llm.EnvCustomURL) || got[1].State != stateWarning {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(paths.ProviderSettings(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkSettings(&Globals{Getenv: env}, paths); len(got) != 1 || !strings.Contains(got[0].Fix, paths.ProviderSettings()) {
		t.Errorf("%+v", got)
	}
}

func TestBadges(t *testing.T) {
	t.Parallel()
	for status, want := range map[contract.BadgeStatus]state{
		contract.BadgeReady: stateOK, contract.BadgeMissingKey: stateWarning, contract.BadgeServiceDown: stateWarning,
		contract.BadgeLoginRequired: stateWarning, contract.BadgeComingSoon: stateAbsent,
	} {
		got := badges([]contract.ProviderRow{{Label: "x", Badge: contract.Badge{Status: status, Hint: "do it"}}})
		if len(got) != 1 || got[0].State != want || got[0].Required {
			t.Errorf("%s: %+v, want %s", status, got, want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got := commandIn(t.TempDir(), "", "version", "--json")
	var v versions
	if err := json.Unmarshal([]byte(got.out), &v); err != nil || got.code != 0 || v.Version == "" || v.Ergo == "" || v.SidecarProtocol != 11 || !strings.HasPrefix(v.Go, "go1.") {
		t.Errorf("%v: %+v", err, got)
	}
	if got := commandIn(t.TempDir(), "", "version"); got.code != 0 || strings.Count(got.out, "\n") != 6 {
		t.Errorf("%+v", got)
	}
	info := &debug.BuildInfo{Deps: []*debug.Module{{Path: "github.com/nats-io/nats-server/v2", Version: "v2.9.9"}, {Path: "other", Version: "v1"}}}
	if v := versionsOf(info); v.NATS != "v2.9.9" {
		t.Errorf("%+v", v)
	}
	if v := versionsOf(nil); v.NATS != "unknown" {
		t.Errorf("%+v", v)
	}
}
