package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/contract"
)

// deskNode answers what a desk asks of actors.
type deskNode struct {
	gen.Node
	key   msg.FoundKey
	store any
}

func (n deskNode) CallWithTimeout(_ any, request any, _ int) (any, error) {
	switch request.(type) {
	case msg.GetKey:
		return n.key, nil
	case msg.GetSettings:
		if n.store == nil {
			return nil, errors.New("no store")
		}
		return n.store, nil
	}
	return nil, errors.New("unexpected")
}

func TestGithubRepo(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"https://github.com/o-x/r.git":             "o-x/r",
		"https://user:token@github.com/o/r":        "o/r",
		"git@github.com:o/r.name.git":              "o/r.name",
		"ssh://git@github.com/o/r.git/":            "o/r",
		"ssh://git@github.com:22/o/r":              "o/r",
		"https://github.com/o/..":                  "",
		"https://gitlab.com/o/r":                   "",
		"https://github.com.evil.org/o/r":          "",
		"https://evil.org/github.com/o/r":          "",
		"/home/me/github.com/o/r":                  "",
		"https://github.com/o":                     "",
		"https://github.com/o/r/tree":              "",
		"":                                         "",
		"git@github.com:-o/r":                      "",
		"https://github.com@evil.org/o/r":          "",
		"https://evil.org#@github.com/o/r":         "",
		"https://evil.org\\@github.com/o/r\nx":     "",
		"ssh://git@github.com:22/o/r?x=github.com": "",
	} {
		owner, name, ok := githubRepo(remote)
		if got := owner + "/" + name; ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q %v, want %q", remote, got, ok, want)
		}
	}
}

func FuzzGithubRepo(f *testing.F) {
	f.Add("git@github.com:o/r.git")
	f.Add("https://x@github.com:443/o/r/")
	f.Fuzz(func(t *testing.T, remote string) {
		owner, name, ok := githubRepo(remote)
		if ok && (owner == "" || name == "" || strings.ContainsAny(owner+name, "/?#% \n") || name == "..") {
			t.Errorf("%q: %q %q", remote, owner, name)
		}
	})
}

// github plays the interface that pull requests are made through.
func github(t *testing.T, answer func(method, path string, body map[string]any) (int, string)) *desk {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer ghp_secret" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		var body map[string]any
		if raw, _ := io.ReadAll(r.Body); len(raw) > 0 {
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Error(err)
			}
		}
		status, text := answer(r.Method, r.URL.String(), body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return &desk{node: deskNode{key: msg.FoundKey{Key: "ghp_secret"}}, client: server.Client(), github: server.URL}
}

var prWorktree = contract.Worktree{Branch: "pkt/c-1", BaseBranch: "main"}

func TestOpenPullRequest(t *testing.T) {
	t.Parallel()
	d := github(t, func(method, path string, body map[string]any) (int, string) {
		if method != "POST" || path != "/repos/o/r/pulls" || body["head"] != "pkt/c-1" || body["base"] != "main" || body["draft"] != true || body["title"] != "T" || body["body"] != "B" {
			t.Errorf("%s %s %v", method, path, body)
		}
		return 201, `{"number":7,"html_url":"https://github.com/o/r/pull/7"}`
	})
	n, url, err := d.openPullRequest(context.Background(), "git@github.com:o/r.git", prWorktree, "T", "B")
	if n != 7 || url != "https://github.com/o/r/pull/7" || err != nil {
		t.Errorf("%d %q %v", n, url, err)
	}
}

// One that is open already is found, and a refusal is GitHub's own reason
// without the token.
func TestOpenPullRequest_Refused(t *testing.T) {
	t.Parallel()
	again := github(t, func(method, path string, _ map[string]any) (int, string) {
		if method == "POST" {
			return 422, `{"message":"Validation Failed","errors":[{"message":"A pull request already exists for o:pkt/c-1."}]}`
		}
		if path != "/repos/o/r/pulls?head=o%3Apkt%2Fc-1&state=open" {
			t.Errorf("looked for %s", path)
		}
		return 200, `[{"number":3,"html_url":"u"}]`
	})
	if n, url, err := again.openPullRequest(context.Background(), "https://github.com/o/r", prWorktree, "T", "B"); n != 3 || url != "u" || err != nil {
		t.Errorf("%d %q %v", n, url, err)
	}
	for _, tc := range []struct {
		name   string
		status int
		text   string
		want   string
	}{
		{"refused", 403, `{"message":"Resource not accessible"}`, "GitHub answered 403: Resource not accessible"},
		{"not JSON", 502, `<html>`, "GitHub answered 502: Bad Gateway"},
		{"nothing made", 201, `{}`, "GitHub answered 201"},
		{"no such pull request", 422, `{"message":"Validation Failed","errors":[{"message":"already exists"}]}`, "422"},
	} {
		d := github(t, func(method, _ string, _ map[string]any) (int, string) {
			if method == "GET" {
				return 422, `{"message":"422"}`
			}
			return tc.status, tc.text
		})
		_, _, err := d.openPullRequest(context.Background(), "https://github.com/o/r", prWorktree, "T", "B")
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "ghp_") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	away := &desk{node: deskNode{key: msg.FoundKey{Key: "ghp_secret"}}, client: http.DefaultClient, github: "http://127.0.0.1:1"}
	if _, _, err := away.openPullRequest(context.Background(), "https://github.com/o/r", prWorktree, "T", "B"); err == nil || !strings.Contains(err.Error(), "could not be reached") {
		t.Errorf("away: %v", err)
	}
	if _, _, err := away.openPullRequest(context.Background(), "https://gitlab.com/o/r", prWorktree, "T", "B"); err == nil || !strings.Contains(err.Error(), "not on github.com") {
		t.Errorf("elsewhere: %v", err)
	}
	away.node = deskNode{key: msg.FoundKey{Err: msg.NoKeyError{Account: githubToken}}}
	if _, _, err := away.openPullRequest(context.Background(), "https://github.com/o/r", prWorktree, "T", "B"); err == nil || !strings.Contains(err.Error(), "packetbench key set github-token") {
		t.Errorf("no token: %v", err)
	}
}

// Each provider is asked for a list that only a key may see, and nothing that
// is billed.
func TestTrialOf(t *testing.T) {
	t.Parallel()
	s := llm.Settings{AnthropicURL: "https://a", OpenAIURL: "https://o/v1", OpenRouterURL: "https://r/api/v1", MiniMaxURL: "https://m/v1", OllamaURL: "http://l", CustomURL: "http://c/v1"}
	for provider, want := range map[contract.ProviderID]string{
		contract.ProviderAnthropic:   "https://a/v1/models?limit=1",
		contract.ProviderClaudeOAuth: "https://a/v1/models?limit=1",
		contract.ProviderOpenAI:      "https://o/v1/models",
		contract.ProviderOpenRouter:  "https://r/api/v1/key",
		contract.ProviderMiniMax:     "https://m/v1/models",
		contract.ProviderOllama:      "http://l/api/tags",
		contract.ProviderCustom:      "http://c/v1/models",
	} {
		row, err := contract.RowForProvider(provider)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := trialOf(row, s, "k")
		if !ok || got.url != want {
			t.Errorf("%s: %+v", provider, got)
		}
		if strings.Contains(got.url, "k=") || provider != contract.ProviderOllama && len(got.header) == 0 {
			t.Errorf("%s: the key is not in a header: %+v", provider, got)
		}
	}
	if _, ok := trialOf(contract.Row{Provider: "packetcode-acp"}, s, ""); ok {
		t.Error("an engine was tried")
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		want   contract.KeyTestStatus
		says   string
	}{
		{200, contract.KeyAccepted, "accepts this key"},
		{401, contract.KeyRejected, "refuses this key (401)"},
		{403, contract.KeyRejected, "refuses"},
		{429, contract.KeyLimited, "rate limit"},
		{503, contract.KeyUnreachable, "cannot answer just now (503)"},
		{404, contract.KeyUnclear, "start a conversation"},
		{302, contract.KeyUnclear, "302"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Api-Key") != "secret" || r.Method != http.MethodGet {
				t.Errorf("%s %v", r.Method, r.Header)
			}
			if tc.status == 302 {
				w.Header().Set("Location", "http://127.0.0.1:1/")
			}
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, `{"error":"secret"}`)
		}))
		d := &desk{client: llm.NewHTTPClient()}
		got := d.try(context.Background(), trial{name: "It", url: server.URL, header: http.Header{"X-Api-Key": {"secret"}}})
		if got.Status != tc.want || !strings.Contains(got.Message, tc.says) || strings.Contains(got.Message, "secret") {
			t.Errorf("%d: %+v", tc.status, got)
		}
		d.client.CloseIdleConnections()
		server.Close()
	}
	d := &desk{client: llm.NewHTTPClient()}
	for _, url := range []string{"http://user:secret@127.0.0.1:1/", "http://\x7f/"} {
		if got := d.try(context.Background(), trial{name: "It", url: url}); got.Status != contract.KeyUnreachable || strings.Contains(got.Message, "secret") {
			t.Errorf("%q: %+v", url, got)
		}
	}
}

// What there is to say without a request.
func TestTestKey(t *testing.T) {
	t.Parallel()
	settings := msg.Settings{Providers: json.RawMessage(`{}`)}
	for _, tc := range []struct {
		name     string
		provider contract.ProviderID
		node     deskNode
		want     contract.KeyTestStatus
	}{
		{"demo", contract.ProviderDemo, deskNode{}, contract.KeyAccepted},
		{"no key", contract.ProviderAnthropic, deskNode{store: settings, key: msg.FoundKey{Err: msg.NoKeyError{Account: "api-key-anthropic"}}}, contract.KeyMissing},
		{"keyring broken", contract.ProviderAnthropic, deskNode{store: settings, key: msg.FoundKey{Err: errors.New("the OS keyring is locked")}}, contract.KeyUnclear},
		{"no address", contract.ProviderCustom, deskNode{store: settings, key: msg.FoundKey{Err: msg.NoKeyError{}}}, contract.KeyMissing},
		{"no settings", contract.ProviderOpenAI, deskNode{}, contract.KeyUnreachable},
	} {
		d := &desk{node: tc.node, providers: &providers{node: tc.node, getenv: func(string) string { return "" }}}
		got, err := d.TestKey(context.Background(), tc.provider)
		if err != nil || got.Status != tc.want || got.Message == "" {
			t.Errorf("%s: %+v %v", tc.name, got, err)
		}
	}
	d := &desk{node: deskNode{store: settings}, providers: &providers{node: deskNode{store: settings}, getenv: func(string) string { return "" }}}
	for _, p := range []contract.ProviderID{"nobody", "packetcode-acp"} {
		if _, err := d.TestKey(context.Background(), p); err == nil {
			t.Errorf("%s was tried", p)
		}
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Fix the Bug!":           "fix-the-bug",
		"../../etc/passwd":       "etc-passwd",
		"\u00fc\u00f6":           "c-1",
		"":                       "c-1",
		strings.Repeat("a", 200): strings.Repeat("a", 60),
	} {
		if got := fileName(title, "c-1"); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// A worktree that no conversation owns is named; a landed one that is still
// there, and one that a fork works in, have an owner.
func TestOrphans(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, ".pkt-worktrees")
	for _, name := range []string{"owned", "forked", "lost"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := orphans([]contract.Summary{
		{ProjectPath: filepath.Join(dir, "owned", "sub"), Worktree: &contract.Worktree{BasePath: base, WorktreePath: filepath.Join(dir, "owned")}},
		{ProjectPath: filepath.Join(dir, "forked")},
		{ProjectPath: base},
		{ProjectPath: ""},
	})
	if !slices.Equal(got, []string{filepath.Join(dir, "lost")}) {
		t.Errorf("%q", got)
	}
}
