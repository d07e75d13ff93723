package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/apps/packetbench/install"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	bundle "github.com/packetbench/packetbench/sidecar"
)

func TestSidecarInstall_Usage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"sidecar"}, {"sidecar", "install", "--sdk", "other"}, {"sidecar", "remove"}} {
		if got := commandIn(t.TempDir(), "", args...); got.code != 2 || got.err == "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := commandIn(t.TempDir(), "", "sidecar", "install", "--help"); got.code != 0 || !strings.Contains(got.out, "--sdk") {
		t.Errorf("%+v", got)
	}
}

// reports is an installation as package install tells it.
var reports = []install.Progress{
	{Step: install.StepUnpack},
	{Step: install.StepFetch, Total: 8},
	{Step: install.StepFetch, Done: 1, Total: 8, Bytes: 999_999},
	{Step: install.StepFetch, Done: 3, Total: 8, Bytes: 2_000_000},
	{Step: install.StepFetch, Done: 7, Total: 8, Bytes: 402_300_000},
	{Step: install.StepFetch, Done: 8, Total: 8, Bytes: 500_000_000},
	{Step: install.StepVerify},
	{Step: install.StepPlace},
}

func TestProgress_Lines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newProgress(&out, install.SDKs)
	for _, r := range reports {
		p.hear(r)
	}
	p.end()
	want := "Unpacking the sidecar.\n" +
		"Fetching the Claude Agent SDK and the OpenAI Agents SDK with npm.\n" +
		"  3 of 8 packages, 2 MB\n" +
		"  7 of 8 packages, 402 MB\n" +
		"  8 of 8 packages, 500 MB\n" +
		"Verifying: starting the sidecar and loading each SDK in it.\n"
	if out.String() != want {
		t.Errorf("%q; want %q", out.String(), want)
	}
}

func TestProgress_Bar(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := &progress{out: &out, wanted: []install.SDK{install.OpenAI}, columns: 60, began: time.Now()}
	for _, r := range reports {
		p.hear(r)
	}
	p.end()
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || lines[1] != "Fetching the OpenAI Agents SDK with npm." || strings.Count(lines[2], "\r") != 5 {
		t.Fatalf("%q", out.String())
	}
	for _, drawn := range strings.Split(lines[2], "\r")[1:] {
		if len(drawn) != 59 || drawn[0] != '[' {
			t.Errorf("%d characters: %q", len(drawn), drawn)
		}
	}
	if full := bar(reports[5], 3*time.Second, 79); !strings.HasPrefix(full, "["+strings.Repeat("#", 40)+"] 8/8 packages, 500 MB, 3s ") {
		t.Errorf("%q", full)
	}
	if narrow := bar(reports[5], 0, 12); narrow != " 8/8 package" {
		t.Errorf("%q", narrow)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		missing []string
		running bool
		want    string
	}{
		{[]string{"anthropic", "openai"}, false, "packetbench key set anthropic"},
		{nil, false, "packetbench serve"},
		{nil, true, "packetbench url"},
	} {
		if got := next(tc.missing, tc.running); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestMissingKeys: only keys of what was installed count, by the name that key
// set takes.
func TestMissingKeys(t *testing.T) {
	t.Parallel()
	g := func(home string) *Globals {
		return &Globals{Home: home, Getenv: func(name string) string {
			if name == "PACKETBENCH_NO_KEYRING" {
				return "1"
			}
			return ""
		}}
	}
	home := t.TempDir()
	if got := missingKeys(t.Context(), g(home), install.SDKs); !slices.Equal(got, []string{"anthropic", "openai"}) {
		t.Errorf("%v", got)
	}
	if got := commandIn(home, "sk-1", "key", "set", "anthropic"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := missingKeys(t.Context(), g(home), install.SDKs); !slices.Equal(got, []string{"openai"}) {
		t.Errorf("%v", got)
	}
	if got := missingKeys(t.Context(), g(home), []install.SDK{install.Claude}); got != nil {
		t.Errorf("%v", got)
	}
}

// TestConclude: a running service is told to try again only when it had given
// up, and keeps the older sidecar that it may run from.
func TestConclude(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, state, version string
		place                origin
		woken, removed       bool
		want                 []string
	}{
		{name: "down", state: "down", place: fromDataDir, woken: true, want: []string{"Installed and verified: the OpenAI Agents SDK 0.20.0, with Node 22.1.0.", "starts its sidecar again", "Next: packetbench key set openai"}},
		{name: "incompatible", state: "incompatible", place: fromDataDir, woken: true},
		{name: "running", state: "ready", place: fromDataDir},
		{name: "not started", state: "not_started", place: fromCheckout, want: []string{"does not use it", "/tree/index.js (of the checkout)"}},
		{name: "no service", place: fromDataDir, removed: true, want: []string{"Removed the sidecar of another version: 0.0.1-old."}},
		{name: "same version", state: "ready", version: config.Version, place: fromDataDir, removed: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			if tc.state == "" {
				if err := os.Remove(filepath.Join(d.home, "run.json")); err != nil {
					t.Fatal(err)
				}
			} else if tc.version != "" {
				writeRun(t, d, tc.version)
			}
			d.on(contract.MethodSidecarStatus, contract.SidecarStatus{State: tc.state})
			d.on(contract.MethodResetActor, contract.ActorResult{})
			d.on(contract.MethodListKeys, []contract.KeyInfo{{Account: "api-key-openai"}})
			paths, err := config.DataDir(d.home, func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			old := install.Script(sidecarRoot(paths), "0.0.1-old")
			putFile(t, old, "")
			m, err := install.ReadManifest(bundle.Files())
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			g := &Globals{Home: d.home, Stdout: &out, Getenv: func(string) string { return "" }}
			if tc.state == "" {
				g.Getenv = func(name string) string { return map[string]string{"PACKETBENCH_NO_KEYRING": "1"}[name] }
			}
			c := sidecarInstallCmd{SDK: "openai"}
			err = c.conclude(t.Context(), g, paths, sidecarPlace{Script: "/tree/index.js", From: tc.place}, install.Result{
				Manifest: m, Node: install.Node{Version: "22.1.0"}, SDKs: []install.SDK{install.OpenAI}, Fresh: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in %q", want, out.String())
				}
			}
			if calls := d.called(contract.MethodResetActor); (len(calls) == 1) != tc.woken || tc.woken && calls[0] != `{"name":"sidecar"}` {
				t.Errorf("reset_actor was called with %v", calls)
			}
			if isFile(old) == tc.removed {
				t.Errorf("the older sidecar is there: %v", !tc.removed)
			}
		})
	}
}

func writeRun(t *testing.T, d *door, version string) {
	t.Helper()
	raw, err := json.Marshal(runFile{PID: os.Getpid(), URL: d.url, OwnerToken: "owner-token", MonitorToken: "monitor-token", Version: version})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.home, "run.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func putFile(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

// putSDK makes an SDK as npm would leave it beside a script.
func putSDK(t *testing.T, m install.Manifest, script string, sdk install.SDK, version string) {
	t.Helper()
	modules := filepath.Join(filepath.Dir(filepath.Dir(script)), "node_modules")
	for i, name := range m.Sets[sdk] {
		v := m.Pins[name]
		if i == 0 {
			v = version
		}
		putFile(t, filepath.Join(modules, filepath.FromSlash(name), "package.json"), `{"version":"`+v+`"}`)
	}
	if sdk == install.Claude {
		putFile(t, filepath.Join(modules, filepath.FromSlash(m.Sets[sdk][0]+"-linux-x64"), "claude"), "x")
	}
}

func manifest(t *testing.T) install.Manifest {
	t.Helper()
	m, err := install.ReadManifest(bundle.Files())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree, data := filepath.Join(dir, "tree"), filepath.Join(dir, "data")
	built, installed := filepath.Join(tree, "sidecar", "dist", "index.js"), sidecar.InstalledScript(data, "v")
	for _, tc := range []struct {
		name  string
		there []string
		tree  string
		env   map[string]string
		want  sidecarPlace
	}{
		{"nothing", nil, "", nil, sidecarPlace{Script: installed, From: fromDataDir, Node: "/bin/node"}},
		{"installed", []string{installed}, "", nil, sidecarPlace{Script: installed, Found: true, From: fromDataDir, Node: "/bin/node"}},
		{"checkout", []string{installed, built}, tree, nil, sidecarPlace{Script: built, Found: true, From: fromCheckout, Node: "/bin/node"}},
		{"checkout not built", nil, tree, nil, sidecarPlace{Script: built, From: fromCheckout, Node: "/bin/node"}},
		{"chosen", []string{built, "/mine.js"}, tree, map[string]string{sidecar.EnvScript: "/mine.js", sidecar.EnvNode: "/my/node"}, sidecarPlace{Script: "/mine.js", Found: true, From: fromOverride, Node: "/my/node", NodeSet: true}},
		{"chosen and missing", []string{built}, tree, map[string]string{sidecar.EnvScript: "/none.js"}, sidecarPlace{Script: "/none.js", From: fromOverride, Node: "/bin/node"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := placeOf(sidecar.Lookup{
				Getenv: func(name string) string { return tc.env[name] }, IsFile: func(path string) bool { return slices.Contains(tc.there, path) },
				LookPath: func(string) (string, error) { return "/bin/node", nil }, SourceTree: tc.tree, DataDir: data, Version: "v",
			})
			if got != tc.want {
				t.Errorf("%+v; want %+v", got, tc.want)
			}
		})
	}
	none := placeOf(sidecar.Lookup{
		Getenv: func(string) string { return "" }, IsFile: func(string) bool { return false },
		LookPath: func(string) (string, error) { return "", fs.ErrNotExist }, DataDir: data, Version: "v",
	})
	if none.Node != "" || none.Found {
		t.Errorf("%+v", none)
	}
}

func TestCheckoutOf(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	exe := filepath.Join(root, "bin", "packetbench")
	if got := checkoutOf(exe); got != "" {
		t.Errorf("an empty folder is the checkout %s", got)
	}
	putFile(t, filepath.Join(root, "go.mod"), "")
	putFile(t, filepath.Join(root, "sidecar", "package.json"), "{}")
	if got := checkoutOf(exe); got != root {
		t.Errorf("%q", got)
	}
	if got := checkoutOf(filepath.Join(root, "elsewhere", "packetbench")); got != "" {
		t.Errorf("%q", got)
	}
	if got := checkoutOf(""); got != "" {
		t.Errorf("no program lies in the checkout %s", got)
	}
}

// TestSidecarBadges: a row of the sidecar is ready only with its SDK where the
// host looks, a Node, its key, and a child that has not given up; otherwise the
// hint is what mends it. Source: contract.md 11.
func TestSidecarBadges(t *testing.T) {
	t.Parallel()
	m := manifest(t)
	const claude, agents = contract.ProviderClaudeOAuth, contract.ProviderAgents
	const install1 = "The Claude Agent SDK is not installed. Run: packetbench sidecar install --sdk claude"
	why := "Sidecar exited with 7"
	for _, tc := range []struct {
		name     string
		provider contract.ProviderID
		place    sidecarPlace // Script is put in by the test
		sdks     []install.SDK
		key      bool
		state    string
		last     *string
		want     contract.BadgeStatus
		hint     string
	}{
		{"ready", claude, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, install.SDKs, true, "ready", nil, contract.BadgeReady, ""},
		{"ready before its first start", agents, sidecarPlace{From: fromCheckout, Node: "n", Found: true}, install.SDKs, true, "not_started", nil, contract.BadgeReady, ""},
		{"while restarting", agents, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, install.SDKs, true, "restarting", &why, contract.BadgeReady, ""},
		{"no key", claude, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, install.SDKs, false, "ready", nil, contract.BadgeMissingKey, "No API key configured for Anthropic. Set one in Settings > API Keys."},
		{"other SDK", claude, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, []install.SDK{install.OpenAI}, true, "ready", nil, contract.BadgeMissingKey, install1},
		{"the other SDK's row", agents, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, []install.SDK{install.OpenAI}, true, "ready", nil, contract.BadgeReady, ""},
		{"neither SDK nor key", agents, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, nil, false, "ready", nil, contract.BadgeMissingKey, "The OpenAI Agents SDK is not installed. Run: packetbench sidecar install --sdk openai"},
		{"nothing installed", claude, sidecarPlace{From: fromDataDir, Node: "n"}, nil, true, "starting", nil, contract.BadgeMissingKey, install1},
		{"nothing installed, given up", claude, sidecarPlace{From: fromDataDir, Node: "n"}, nil, true, "down", &why, contract.BadgeServiceDown, install1},
		{"checkout without it", claude, sidecarPlace{From: fromCheckout, Node: "n", Found: true}, nil, true, "ready", nil, contract.BadgeMissingKey, "The Claude Agent SDK is not installed in the checkout. Run: make sidecar"},
		{"checkout not built", claude, sidecarPlace{From: fromCheckout, Node: "n"}, nil, true, "not_started", nil, contract.BadgeMissingKey, "sidecar entry not found at SCRIPT. Run make sidecar, or set PACKETBENCH_SIDECAR_PATH."},
		{"chosen without it", claude, sidecarPlace{From: fromOverride, Node: "n", Found: true}, nil, true, "ready", nil, contract.BadgeMissingKey, "The Claude Agent SDK is not installed beside SCRIPT. Run npm ci there, or unset PACKETBENCH_SIDECAR_PATH"},
		{"chosen, missing, given up", claude, sidecarPlace{From: fromOverride, Node: "n"}, nil, true, "down", &why, contract.BadgeServiceDown, why},
		{"no Node", claude, sidecarPlace{From: fromDataDir, Found: true}, install.SDKs, true, "not_started", nil, contract.BadgeMissingKey, install.NoNode("20.19")},
		{"down", claude, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, install.SDKs, true, "down", &why, contract.BadgeServiceDown, why},
		{"incompatible without its SDK", claude, sidecarPlace{From: fromDataDir, Node: "n", Found: true}, nil, true, "incompatible", &why, contract.BadgeServiceDown, why},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.place.Script = filepath.Join(t.TempDir(), "dist", "index.js")
			for _, s := range tc.sdks {
				putSDK(t, m, tc.place.Script, s, m.Pin(s))
			}
			row, err := contract.RowForProvider(tc.provider)
			if err != nil {
				t.Fatal(err)
			}
			known := &facts{
				keys: []contract.KeyInfo{{Account: row.Account, Present: tc.key}}, hosted: true,
				status: contract.SidecarStatus{State: tc.state, LastError: tc.last}, stock: takeStock(m, tc.place),
			}
			got, err := known.badge(row)
			if err != nil || got.Status != tc.want || got.Hint != strings.ReplaceAll(tc.hint, "SCRIPT", tc.place.Script) {
				t.Errorf("%+v, %v; want %s, %q", got, err, tc.want, tc.hint)
			}
		})
	}
}

// TestSidecarBadges_Refused: a base URL that cannot be used costs the sidecar's
// row, too, since it would be handed on.
func TestSidecarBadges_Refused(t *testing.T) {
	t.Parallel()
	settings, err := resolve(nil, func(name string) string {
		return map[string]string{"PACKETBENCH_ANTHROPIC_URL": "http://example.com"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	m := manifest(t)
	script := filepath.Join(t.TempDir(), "dist", "index.js")
	for _, s := range install.SDKs {
		putSDK(t, m, script, s, m.Pin(s))
	}
	known := &facts{settings: settings, hosted: true, stock: takeStock(m, sidecarPlace{Script: script, Found: true, Node: "n", From: fromDataDir}), keys: []contract.KeyInfo{{Account: "api-key-anthropic", Present: true}, {Account: "api-key-openai", Present: true}}}
	for provider, want := range map[contract.ProviderID]contract.BadgeStatus{contract.ProviderClaudeOAuth: contract.BadgeServiceDown, contract.ProviderAgents: contract.BadgeReady} {
		row, err := contract.RowForProvider(provider)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := known.badge(row); err != nil || got.Status != want {
			t.Errorf("%s: %+v, %v", provider, got, err)
		}
	}
}

// TestShelf: the disk is looked at once in a while, and what changed shows then.
func TestShelf(t *testing.T) {
	t.Parallel()
	m := manifest(t)
	script := filepath.Join(t.TempDir(), "dist", "index.js")
	looks := 0
	s := newShelf(m, func() sidecarPlace {
		looks++
		return sidecarPlace{Script: script, Found: true, From: fromDataDir, Node: "n"}
	})
	now := time.Unix(1000, 0)
	if got := s.look(now).mend(install.OpenAI); got == "" {
		t.Error("an SDK that is not there is there")
	}
	putSDK(t, m, script, install.OpenAI, m.Pin(install.OpenAI))
	if got := s.look(now.Add(shelfFresh / 2)).mend(install.OpenAI); got == "" || looks != 1 {
		t.Errorf("looked %d times: %q", looks, got)
	}
	if got := s.look(now.Add(shelfFresh)).mend(install.OpenAI); got != "" || looks != 2 {
		t.Errorf("looked %d times: %q", looks, got)
	}
	if s.look(now); looks != 3 {
		t.Error("a clock that was set back stops the looks")
	}
}

// TestCheckSDK and TestCheckScript are doctor's lines about the sidecar; each
// that is not ok says its fix.
func TestCheckSDK(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		from        origin
		found       install.Found
		state       state
		detail, fix string
	}{
		{"there", fromDataDir, install.Found{SDK: install.Claude, Version: "1.0.0"}, stateOK, "1.0.0", ""},
		{"not there", fromDataDir, install.Found{SDK: install.OpenAI, Missing: []string{"x"}}, stateWarning, "not installed", "packetbench sidecar install --sdk openai"},
		{"half there", fromDataDir, install.Found{SDK: install.Claude, Version: "1.0.0", Missing: []string{"zod", "x"}}, stateWarning, "1.0.0, but without zod, x", "packetbench sidecar install --sdk claude"},
		{"another version", fromCheckout, install.Found{SDK: install.Claude, Version: "0.9.0"}, stateWarning, "0.9.0, but 1.0.0 is what this program was tested with", "make sidecar"},
		{"chosen", fromOverride, install.Found{SDK: install.Claude, Missing: []string{"x"}}, stateWarning, "not installed", "correct or unset PACKETBENCH_SIDECAR_PATH"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := checkSDK(stock{place: sidecarPlace{From: tc.from}}, tc.found, "1.0.0")
			if want := (finding{Name: tc.found.SDK.Title(), State: tc.state, Detail: tc.detail, Fix: tc.fix}); got != want {
				t.Errorf("%+v; want %+v", got, want)
			}
		})
	}
}

func TestCheckScript(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "index.js")
	for _, tc := range []struct {
		name        string
		place       sidecarPlace
		node        bool
		state       state
		detail, fix string
	}{
		{"not there", sidecarPlace{Script: script, From: fromDataDir}, true, stateWarning, "not found at " + script + " (of the data directory)", "packetbench sidecar install"},
		{"no Node", sidecarPlace{Script: script, Found: true, From: fromCheckout}, false, stateWarning, "no usable Node", "install Node 20.19 or newer"},
		{"wrong Node", sidecarPlace{Script: script, Found: true, From: fromCheckout, NodeSet: true}, false, stateWarning, "no usable Node", "correct or unset PACKETBENCH_NODE_PATH"},
		{"does not start", sidecarPlace{Script: script, Found: true, From: fromOverride, Node: filepath.Join(filepath.Dir(script), "none")}, true, stateBroken, "does not start", "correct or unset PACKETBENCH_SIDECAR_PATH"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := checkScript(context.Background(), stock{place: tc.place, oldest: "20.19"}, tc.node)
			if got.State != tc.state || !strings.Contains(got.Detail, tc.detail) || !strings.HasPrefix(got.Fix, tc.fix) || got.Required {
				t.Errorf("%+v", got)
			}
		})
	}
}
