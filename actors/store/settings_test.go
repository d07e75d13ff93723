package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

func newSettings(p config.Paths) *settings {
	s := &settings{paths: p, notes: &board{}, now: func() time.Time { return at }, normalise: map[string]Normalise{
		"ollama_base_url": func(v string) (string, error) {
			if !strings.HasPrefix(v, "http") {
				return "", errors.New("an URL is wanted.")
			}
			return strings.TrimSuffix(v, "/"), nil
		},
		contract.SettingEnginePath: func(v string) (string, error) {
			if !strings.HasPrefix(v, "/") {
				return "", errors.New("an absolute path is wanted.")
			}
			return v, nil
		},
		"named_provider_base_urls.openai": func(v string) (string, error) { return v + "/v1", nil },
	}}
	s.load()
	return s
}

// app returns one app setting as get_settings shows it.
func app(t testing.TB, s *settings, key string) string {
	t.Helper()
	shown := s.show(nil)
	if shown.Failure != nil {
		t.Fatal(shown.Failure)
	}
	var f fields
	must(t, json.Unmarshal(shown.App, &f))
	return string(f[key])
}

func TestSettings_Patch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, patch string
		key, want   string // app setting afterwards
		bad         string // the key that the failure names
		providers   string
	}{
		{name: "default", patch: `{}`, key: "auto_failover", want: "true"},
		{name: "default of days", patch: `{}`, key: "auto_archive_days", want: "14"},
		{name: "default of engines", patch: `{}`, key: "engines", want: "[]"},
		{name: "two levels", patch: `{"app":{"auto_failover":false}}`, key: "auto_failover", want: "false"},
		{name: "one level", patch: `{"auto_archive_days":365}`, key: "auto_archive_days", want: "365"},
		{name: "days too few", patch: `{"auto_archive_days":0}`, bad: "auto_archive_days"},
		{name: "days too many", patch: `{"auto_archive_days":366}`, bad: "auto_archive_days"},
		{name: "days of the wrong kind", patch: `{"auto_archive_days":"7"}`, bad: "auto_archive_days"},
		{name: "not a bool", patch: `{"auto_archive_done":1}`, bad: "auto_archive_done"},
		{name: "rounded to cents", patch: `{"dailyLimitUsd":1.239}`, key: "dailyLimitUsd", want: "1.24"},
		{name: "not positive is off", patch: `{"monthlyLimitUsd":-3}`, key: "monthlyLimitUsd", want: "null"},
		{name: "limit of the wrong kind", patch: `{"sessionLimitUsd":"5"}`, bad: "sessionLimitUsd"},
		{name: "limits by provider", patch: `{"providerLimitsUsd":{"api-claude":2.005,"api-openai":0,"x":null}}`, key: "providerLimitsUsd", want: `{"api-claude":2.01}`},
		{name: "bad limit by provider", patch: `{"providerLimitsUsd":{"api-claude":"x"}}`, bad: "providerLimitsUsd.api-claude"},
		{name: "hard stop not below warning", patch: `{"warningThresholdPercent":90,"hardStopThresholdPercent":50}`, key: "hardStopThresholdPercent", want: "90"},
		{name: "percent over 100", patch: `{"hardStopThresholdPercent":101}`, bad: "hardStopThresholdPercent"},
		{name: "override", patch: `{"overrideUntilByKey":{"daily":1788177600000}}`, key: "overrideUntilByKey", want: `{"daily":1788177600000}`},
		{name: "override of the wrong kind", patch: `{"overrideUntilByKey":null,"requireApprovalAtLimit":"no"}`, bad: "requireApprovalAtLimit"},
		{name: "launch location", patch: `{"launch_location":"elsewhere"}`, bad: "launch_location"},
		{name: "retention", patch: `{"audit_retention_days":8}`, bad: "audit_retention_days"},
		{name: "engine", patch: `{"engines":[{"name":"my-engine","command":"/bin/x","args":["a"],"env":{"K":"v"},"auth_method":"m"}]}`, key: "engines", want: `[{"name":"my-engine","command":"/bin/x","args":["a"],"env":{"K":"v"},"auth_method":"m"}]`},
		{name: "engine with a bad name", patch: `{"engines":[{"name":"My","command":"x"}]}`, bad: "engines"},
		{name: "engine of the built-in name", patch: `{"engines":[{"name":"packetcode","command":"x"}]}`, bad: "engines"},
		{name: "engine twice", patch: `{"engines":[{"name":"a","command":"x"},{"name":"a","command":"y"}]}`, bad: "engines"},
		{name: "engine with a bad variable", patch: `{"engines":[{"name":"a","command":"x","env":{"A=B":"c"}}]}`, bad: "engines"},
		{name: "engine with a bad label", patch: `{"engines":[{"name":"a","command":"x","label":7}]}`, bad: "engines"},
		{name: "engine's path", patch: `{"acp_engine_path":" /opt/packetcode "}`, key: "acp_engine_path", want: `"/opt/packetcode"`},
		{name: "engine's path taken back", patch: `{"acp_engine_path":" "}`, key: "acp_engine_path", want: `""`},
		{name: "engine's path that is refused", patch: `{"acp_engine_path":"relative"}`, bad: "acp_engine_path"},
		{name: "engine's path of another type", patch: `{"acp_engine_path":7}`, bad: "acp_engine_path"},
		{name: "engine without a command", patch: `{"engines":[{"name":"a","command":" "}]}`, bad: "engines"},
		{name: "unknown is kept", patch: `{"mcp":{"trust":[1]}}`, key: "mcp", want: `{"trust":[1]}`},
		{name: "launches are counted", patch: `{"launches":{"demo":5}}`, bad: "launches"},
		{name: "no object", patch: `[]`, bad: "settings"},
		{name: "app is no object", patch: `{"app":1}`, bad: "app"},
		{name: "half is bad", patch: `{"auto_failover":false,"auto_archive_days":0}`, bad: "auto_archive_days", key: "auto_failover", want: "true"},
		{name: "provider text", patch: `{"providers":{"ollama_base_url":"http://h/"}}`, providers: `{"ollama_base_url":"http://h"}`},
		{name: "provider text at one level", patch: `{"minimax_base_url":"https://m"}`, providers: `{"minimax_base_url":"https://m"}`},
		{name: "bad provider text", patch: `{"providers":{"ollama_base_url":"ftp://h"}}`, bad: "ollama_base_url", providers: `{}`},
		{name: "named", patch: `{"providers":{"named_provider_base_urls":{"openai":"https://o"}}}`, providers: `{"named_provider_base_urls":{"openai":"https://o/v1"}}`},
		{name: "named unknown", patch: `{"providers":{"named_provider_base_urls":{"acme":"https://o"}}}`, bad: "named_provider_base_urls.acme"},
		{name: "models", patch: `{"providers":{"custom_compat_models":[" a ","","b","a"]}}`, providers: `{"custom_compat_models":["a","b"]}`},
		{name: "cap", patch: `{"providers":{"ollama_num_ctx_cap":4096}}`, providers: `{"ollama_num_ctx_cap":4096}`},
		{name: "cap of the wrong kind", patch: `{"providers":{"ollama_num_ctx_cap":1.5}}`, bad: "ollama_num_ctx_cap"},
		{name: "no such provider setting", patch: `{"providers":{"x":1}}`, bad: "x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSettings(home(t))
			got := s.patch(json.RawMessage(tc.patch))
			if tc.bad != "" {
				if got.Failure == nil || got.Failure.Code != contract.CodeBadParams || !strings.HasPrefix(got.Failure.Message, tc.bad+": ") {
					t.Fatalf("failure %+v, want one of %s", got.Failure, tc.bad)
				}
				if exists(s.paths.State()) || exists(s.paths.ProviderSettings()) {
					t.Fatal("a refused patch was written")
				}
			} else if got.Failure != nil {
				t.Fatal(got.Failure)
			}
			again := newSettings(s.paths)
			if tc.key != "" {
				if v := app(t, again, tc.key); v != tc.want {
					t.Fatalf("%s = %s, want %s", tc.key, v, tc.want)
				}
			}
			if tc.providers != "" {
				jsonEqual(t, again.show(nil).Providers, tc.providers)
			}
		})
	}
}

func TestSettings_AbsentStaysNullClears(t *testing.T) {
	t.Parallel()
	s := newSettings(home(t))
	for _, step := range []struct{ patch, app, providers string }{
		{`{"default_project":"/p","ollama_base_url":"http://a","named_provider_base_urls":{"openai":"https://o","anthropic":"https://a"}}`, `"/p"`, `{"ollama_base_url":"http://a","named_provider_base_urls":{"openai":"https://o/v1","anthropic":"https://a"}}`},
		{`{"auto_failover":false}`, `"/p"`, `{"ollama_base_url":"http://a","named_provider_base_urls":{"openai":"https://o/v1","anthropic":"https://a"}}`},
		{`{"default_project":null,"named_provider_base_urls":{"openai":""}}`, `""`, `{"ollama_base_url":"http://a","named_provider_base_urls":{"anthropic":"https://a"}}`},
		{`{"ollama_base_url":null,"named_provider_base_urls":{"anthropic":null}}`, `""`, `{}`},
	} {
		if got := s.patch(json.RawMessage(step.patch)); got.Failure != nil {
			t.Fatal(got.Failure)
		}
		if got := app(t, s, "default_project"); got != step.app {
			t.Fatalf("after %s: default_project %s", step.patch, got)
		}
		jsonEqual(t, s.show(nil).Providers, step.providers)
	}
}

// TestSettings_StateSurvives: what other versions wrote stays, the version
// counts saves, and launches are counted.
func TestSettings_StateSurvives(t *testing.T) {
	t.Parallel()
	p := home(t)
	write(t, p.State(), `{"version":41,"flights":[{"id":"f"}],"later":{"x":[1]},"ui":{"theme":"dark"},"settings":{"mine":1.0}}`)
	s := newSettings(p)
	must(t, s.launched("demo"))
	must(t, s.launched("demo"))
	if got := s.patch(json.RawMessage(`{"auto_archive_days":3}`)); got.Failure != nil {
		t.Fatal(got.Failure)
	}
	jsonEqual(t, []byte(read(t, p.State())), `{"version":44,"flights":[{"id":"f"}],"agents":[],"later":{"x":[1]},"ui":{"theme":"dark"},"settings":{"mine":1.0,"auto_archive_days":3},"launches":{"demo":2},"cost_reprice_v1_at":"2026-08-31T12:00:00Z"}`)
	if got := app(t, newSettings(p), "launches"); got != `{"demo":2}` {
		t.Fatalf("launches %s", got)
	}
	// A patch that changes nothing saves nothing.
	before := read(t, p.State())
	s.patch(json.RawMessage(`{"auto_archive_days":3}`))
	if read(t, p.State()) != before {
		t.Fatal("an unchanged setting was saved")
	}
}

// TestLadder goes down the ladder of mcp-state.md 6.
func TestLadder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, primary, bak, tmp string
		want                    string
		aside                   bool
	}{
		{name: "nothing"},
		{name: "primary", primary: `{"n":1}`, bak: `{"n":2}`, want: "1"},
		{name: "damaged primary", primary: `{"n":`, bak: `{"n":2}`, tmp: `{"n":3}`, want: "2", aside: true},
		{name: "empty primary", primary: " ", bak: `{"n":2}`, want: "2", aside: true},
		{name: "no object", primary: "null", bak: `{"n":2}`, want: "2", aside: true},
		{name: "damaged backup too", primary: "x", bak: "y", tmp: `{"n":3}`, want: "3", aside: true},
		{name: "all damaged", primary: "x", bak: "y", tmp: "z", aside: true},
		{name: "primary gone", bak: `{"n":2}`, want: "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.v1.json")
			for suffix, content := range map[string]string{"": tc.primary, ".bak": tc.bak, ".tmp": tc.tmp} {
				if content != "" {
					write(t, path+suffix, content)
				}
			}
			notes := &board{}
			f := loadLadder(path, notes, at)
			if string(f["n"]) != tc.want {
				t.Fatalf("n = %s, want %s", f["n"], tc.want)
			}
			if exists(path+".corrupt-1788177600") != tc.aside || tc.aside && exists(path) {
				t.Fatalf("set aside: %v, want %v", !tc.aside, tc.aside)
			}
			if tc.aside && len(notes.take()) == 0 {
				t.Fatal("nothing was told")
			}
			if tc.bak != "" && read(t, path+".bak") != tc.bak {
				t.Fatal("the recovery wrote")
			}
			must(t, saveLadder(path, fields{"n": json.RawMessage("9")}))
			if f := loadLadder(path, notes, at); string(f["n"]) != "9" || exists(path+".tmp") {
				t.Fatalf("after a save: %s", f["n"])
			}
			if _, good := object([]byte(tc.primary)); good && !tc.aside && read(t, path+".bak") != tc.primary {
				t.Fatal("the version before is not kept")
			}
		})
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	p := home(t)
	tr := trust{paths: p, notes: &board{}, now: func() time.Time { return at }}
	project := filepath.Join(t.TempDir(), "project")
	must(t, os.MkdirAll(project+"/sub", 0o700))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(project, link))
	ask := func(path string, trusted, asked bool) {
		t.Helper()
		if got := tr.ask(path); got.Trusted != trusted || got.Asked != asked {
			t.Fatalf("%s: %+v, want %v, %v", path, got, trusted, asked)
		}
	}
	ask(project, false, false)
	must(t, tr.set(link, false))
	ask(project, false, true)
	must(t, tr.set(project, true))
	must(t, tr.set(link, true))
	ask(project, true, true)
	ask(link, true, true)
	ask(project+"/sub/..", true, true)
	ask(project+"/sub", false, false) // Not inherited.
	ask("", false, false)
	ask(project+"/absent", false, false)
	aSentence(t, tr.set(project+"/absent", true))
	real, err := filepath.EvalSymlinks(project)
	must(t, err)
	jsonEqual(t, []byte(read(t, p.Trusted())), fmt.Sprintf(`{"version":1,"projects":[%q]}`, real))

	for _, content := range []string{"", "x", `{"version":2,"projects":["` + real + `"]}`, `{"projects":["` + real + `"]}`, `{"version":1,"projects":["project"]}`} {
		write(t, p.Trusted(), content)
		ask(project, false, false)
	}
	write(t, p.Trusted(), `{"version":2,"projects":[]}`)
	aSentence(t, tr.set(project, true))
	if read(t, p.Trusted()) != `{"version":2,"projects":[]}` {
		t.Fatal("the file of a newer version was overwritten")
	}
	write(t, p.Trusted(), "x")
	must(t, tr.set(project, true))
	ask(project, true, true)
	if read(t, p.Trusted()+".corrupt-1788177600") != "x" || len(tr.notes.take()) != 1 {
		t.Fatal("a damaged trust file was not kept or not told")
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	p := home(t)
	a := &audit{paths: p, notes: &board{}}
	a.load(at)
	for i := range 250 {
		a.add(contract.AuditEntry{ID: fmt.Sprint(i), Timestamp: at.UnixMilli() + int64(i), Decision: "prompted"}, auditShort, at)
	}
	must(t, a.save())
	b := &audit{paths: p, notes: &board{}}
	b.load(at)
	list := b.list(auditShort, at)
	if len(list) != auditMost || list[0].ID != "50" || list[199].ID != "249" {
		t.Fatalf("%d entries, %s to %s", len(list), list[0].ID, list[len(list)-1].ID)
	}
	if got := b.list(auditLong, at.AddDate(0, 0, 8)); len(got) != auditMost {
		t.Fatalf("after 8 of 30 days: %d entries", len(got))
	}
	if got := b.list(auditShort, at.AddDate(0, 0, 8)); len(got) != 0 {
		t.Fatalf("after 8 of 7 days: %d entries", len(got))
	}
	write(t, p.Audit(), "x")
	c := &audit{paths: p, notes: &board{}}
	c.load(at)
	if len(c.list(auditShort, at)) != 0 || !exists(p.Audit()+".corrupt-1788177600") || len(c.notes.take()) != 1 {
		t.Fatal("a damaged audit")
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"https://h/p?token=abc&x=1&api_key=zz", "https://h/p?token=[redacted]&x=1&api_key=[redacted]"},
		{"https://h/p?q=secret", "https://h/p?q=secret"},
		{"curl -H 'Authorization: Bearer sk-ant-abcdef123456' x", "curl -H 'Authorization: Bearer [redacted]' x"},
		{"ghp_abcdefghij github_pat_ABC_123 xoxb-1-2-abc", "[redacted] [redacted] [redacted]"},
		{"PASSWORD=hunter2 run", "PASSWORD=[redacted] run"},
		{"task-sketch", "task-sketch"},
		{strings.Repeat("ä", 300), strings.Repeat("ä", 200)},
	} {
		if got := redact(tc.in); got != tc.want {
			t.Errorf("redact(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	e := redactEntry(contract.AuditEntry{Target: "sk-abcdef1234", SourceChain: []contract.Source{{Locator: "x?key=1"}}})
	if e.Target != "[redacted]" || e.SourceChain[0].Locator != "x?key=[redacted]" {
		t.Errorf("%+v", e)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"app":{"dailyLimitUsd":1e308},"providers":{"named_provider_base_urls":{"openai":null}}}`))
	f.Add([]byte(`{"engines":[{"name":"a","command":"b"}],"warningThresholdPercent":99.5}`))
	f.Fuzz(func(t *testing.T, patch []byte) {
		s := &settings{notes: &board{}, app: fields{}, providers: fields{"named_provider_base_urls": json.RawMessage(`{"openai":"x"}`)}}
		flat, ok := object(patch)
		if !ok {
			return
		}
		if next, failure := s.mergeApp(flat); failure == nil {
			// What was accepted can be shown and is accepted again.
			s.app = next
			if shown := s.show(nil); shown.Failure != nil {
				t.Fatal(shown.Failure)
			}
			if _, failure := s.mergeApp(next); failure != nil {
				t.Fatal(failure)
			}
		}
		if next, failure := s.mergeProviders(flat); failure == nil {
			if _, failure := s.mergeProviders(next); failure != nil {
				t.Fatal(failure)
			}
		}
	})
}
