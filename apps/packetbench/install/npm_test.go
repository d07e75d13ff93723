package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lines []string
		want  string
	}{
		{[]string{"code ECONNREFUSED", "errno ECONNREFUSED", "FetchError: request failed"}, "cannot be reached"},
		{[]string{"request failed, reason: getaddrinfo EAI_AGAIN host"}, "cannot be reached"},
		{[]string{"code ERR_SOCKET_TIMEOUT"}, "cannot be reached"},
		{[]string{"code SELF_SIGNED_CERT_IN_CHAIN"}, "NODE_EXTRA_CA_CERTS"},
		{[]string{"code E401"}, "npm login"},
		{[]string{"code E404", "404 Not Found"}, "Correct the registry"},
		{[]string{"code EACCES", "syscall mkdir"}, "right to write"},
		{[]string{"nospc ENOSPC: no space left on device, write", "code EPERM"}, "no space left"},
		{[]string{"code EUSAGE"}, "npm install --global npm"},
		{[]string{"Cannot read properties of null"}, "npm said: Cannot read properties of null. Run this again"},
	} {
		if got := explain(tc.lines).Error(); !strings.Contains(got, tc.want) {
			t.Errorf("%v: %q lacks %q", tc.lines, got, tc.want)
		}
	}
}

func FuzzNPMError(f *testing.F) {
	f.Add("npm error code ENOSPC")
	f.Add("npm ERR! request to http://me:word@host/ failed")
	f.Add("npm warn old")
	f.Fuzz(func(t *testing.T, line string) {
		text, is := npmError(line)
		if !is {
			return
		}
		if login.MatchString(text) {
			t.Errorf("a login is left in %q", text)
		}
		if explain([]string{text}).Error() == "" {
			t.Error("no sentence")
		}
	})
}

func TestNPMEnv(t *testing.T) {
	t.Parallel()
	node := filepath.Join(t.TempDir(), "node")
	got := npmEnv([]string{"OPENAI_API_KEY=sk-1", "HTTPS_PROXY=p", "PATH=/bin"}, node)
	want := []string{"HTTPS_PROXY=p", "PATH=" + filepath.Dir(node) + string(os.PathListSeparator) + "/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		act   func(*act)
		want  string // the protocol
		fails string
	}{
		{"ours", func(*act) {}, "11", ""},
		{"newer", func(a *act) { a.Ready = []string{ready(12)} }, "12", ""},
		{"no version", func(a *act) { a.Ready = []string{`{"type":"ready","pid":1}`} }, "none", ""},
		// F70: a library's stray line on stdout.
		{"stray lines", func(a *act) { a.Ready = []string{"Debugger listening", "", "{}", `{"type":"other"}`, ready(11)} }, "11", ""},
		{"ends", func(a *act) { a.Ready, a.Exit, a.Stderr = nil, 1, "" }, "", "(exit 1): it said nothing"},
		{"ends with words", func(a *act) { a.Ready, a.Exit, a.Stderr = nil, 7, "first\nlast\n" }, "", "(exit 7): last"},
		{"silent", func(a *act) { a.Ready = nil }, "", "did not say that it is ready within"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.plays(tc.act)
			limit := handshakeLimit
			if tc.name == "silent" {
				limit = 50 * time.Millisecond
			}
			got, err := handshake(t.Context(), r.opts.Node, filepath.Join(r.dir, "index.js"), limit)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%+v, %v; want %q", got, err, tc.fails)
				}
				return
			}
			if err != nil || got.Speaks() != tc.want || got.Compatible() != (tc.want >= "11" && tc.want != "none") {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestLook: packages are found as Node finds them, in folders above the
// script's own, too.
func TestLook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.install(Claude)
	script := filepath.Join(filepath.Dir(got.Script), "deeper", "index.js")
	if f := got.Manifest.Look(script); !f[0].Complete() || f[1].Complete() || f[1].Version != "" || !slices.Equal(f[1].Missing, []string{"@openai/agents", "openai"}) {
		t.Errorf("%+v", f)
	}
	programs, err := filepath.Glob(filepath.Join(r.opts.Root, "1.2.3-abc", "node_modules", "@anthropic-ai", "claude-agent-sdk-*"))
	if err != nil || len(programs) == 0 {
		t.Fatal(programs, err)
	}
	for _, dir := range programs {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if f := got.Manifest.Look(got.Script); f[0].Complete() || f[0].Version == "" {
		t.Errorf("complete without its program: %+v", f[0])
	}
}
