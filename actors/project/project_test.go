package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, stem, text string
		want             contract.SlashCommand
		ok               bool
	}{
		{"body alone", "Fix-It", "\n\nDo this.\nAnd that.\n", contract.SlashCommand{Name: "fix-it", Description: "Do this.", Body: "Do this.\nAnd that."}, true},
		{"front matter", "x", "---\nname: Other\ndescription: \"Says: it\"\n---\nBody\n", contract.SlashCommand{Name: "other", Description: "Says: it", Body: "Body"}, true},
		{"windows lines", "x", "\ufeff---\r\ndescription: d\r\n---\r\na\r\nb\r\n", contract.SlashCommand{Name: "x", Description: "d", Body: "a\nb"}, true},
		{"not closed", "x", "---\nname: y\nBody", contract.SlashCommand{Name: "x", Description: "---", Body: "---\nname: y\nBody"}, true},
		{"rule in the body", "x", "a\n---\nb", contract.SlashCommand{Name: "x", Description: "a", Body: "a\n---\nb"}, true},
		{"line without a colon", "x", "---\nnonsense\nname: z\n---\nb", contract.SlashCommand{Name: "z", Description: "b", Body: "b"}, true},
		{"empty body", "x", "---\nname: y\n---\n \n", contract.SlashCommand{}, false},
		{"bad name", "a b", "b", contract.SlashCommand{}, false},
		{"bad name in front", "x", "---\nname: ../up\n---\nb", contract.SlashCommand{}, false},
		{"umlaut", "\u00fcber", "b", contract.SlashCommand{}, false},
	} {
		if got, ok := ParseCommand(tc.stem, tc.text); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %+v %v, want %+v", tc.name, got, ok, tc.want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add("x", "---\nname: y\n---\nbody")
	f.Add("A", "---\n---")
	f.Fuzz(func(t *testing.T, stem, text string) {
		c, ok := ParseCommand(stem, text)
		if !ok {
			return
		}
		if c.Body == "" || c.Description == "" && strings.TrimSpace(c.Body) != "" && c.Body[0] > ' ' && c.Body[0] < 0x7f || !validName(c.Name) || strings.Contains(c.Description, "\n") {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

// A project's command hides the global one of its name, and nothing is read
// from outside the folders.
func TestCommands(t *testing.T) {
	t.Parallel()
	global, project := t.TempDir(), t.TempDir()
	put(t, filepath.Join(global, "both.md"), "global")
	put(t, filepath.Join(global, "alone.md"), "global")
	put(t, filepath.Join(global, "note.txt"), "no command")
	put(t, filepath.Join(global, "large.md"), strings.Repeat("x", maxCommandBytes+1))
	put(t, filepath.Join(global, "binary.md"), "\xff\xfe")
	dir := filepath.Join(project, ".packetbench", "commands")
	put(t, filepath.Join(dir, "both.md"), "project")
	put(t, filepath.Join(dir, "sub.md", "x"), "a folder")
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "secret")
	if err := os.Symlink(secret, filepath.Join(dir, "link.md")); err != nil {
		t.Logf("no links here: %v", err)
	}
	want := []contract.SlashCommand{
		{Name: "alone", Description: "global", Body: "global", Source: "global"},
		{Name: "both", Description: "project", Body: "project", Source: "project"},
	}
	if got := Commands(global, project); !slices.Equal(got, want) {
		t.Errorf("Commands = %+v", got)
	}
	if got := Commands("", ""); got == nil || len(got) != 0 {
		t.Errorf("nothing: %+v", got)
	}
	if got := Commands(filepath.Join(global, "gone"), project); len(got) != 1 {
		t.Errorf("no global folder: %+v", got)
	}
}

func sources(layers []contract.PromptLayer) (names []string) {
	for _, l := range layers {
		names = append(names, filepath.Base(filepath.Dir(l.Source))+"/"+filepath.Base(l.Source))
	}
	return names
}

func TestCascade(t *testing.T) {
	t.Parallel()
	home, top := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "top")
	leaf := filepath.Join(top, "mid", "leaf")
	put(t, filepath.Join(home, "CLAUDE.md"), "of home")
	put(t, filepath.Join(top, "AGENTS.md"), "  of top\n")
	put(t, filepath.Join(top, "CLAUDE.md"), "first of top")
	put(t, filepath.Join(top, "mid", "AGENTS.md"), "of top") // The same text.
	put(t, filepath.Join(leaf, "AGENTS.override.md"), "of leaf")
	put(t, filepath.Join(leaf, "AGENTS.md"), " \n ")
	got := Cascade(home, top, leaf)
	if want := []string{"home/CLAUDE.md", "top/CLAUDE.md", "top/AGENTS.md", "leaf/AGENTS.override.md"}; !slices.Equal(sources(got), want) {
		t.Fatalf("%q, want %q", sources(got), want)
	}
	if want := "<!-- " + got[2].Source + " -->\nof top"; got[2].Text != want || got[2].Kind != contract.LayerCascade || got[2].Note != "" {
		t.Errorf("%+v, want the text %q", got[2], want)
	}
	if got := Cascade("", "", leaf); !slices.Equal(sources(got), []string{"leaf/AGENTS.override.md"}) {
		t.Errorf("no repository: %q", sources(got))
	}
	if got := Cascade("", leaf, top); !slices.Equal(sources(got), []string{"top/CLAUDE.md", "top/AGENTS.md"}) {
		t.Errorf("a top that is not above: %q", sources(got))
	}
	if got := Cascade(filepath.Join(home, "gone"), "", filepath.Join(home, "gone")); len(got) != 0 {
		t.Errorf("nothing there: %+v", got)
	}
}

// One file under two names is taken once; one outside the project is not read.
func TestCascade_Links(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	put(t, secret, "a secret")
	put(t, filepath.Join(dir, "AGENTS.md"), "once")
	for name, to := range map[string]string{"CLAUDE.md": "AGENTS.md", "AGENTS.override.md": secret} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Logf("no links here: %v", err)
			return
		}
	}
	if got := Cascade("", "", dir); len(got) != 1 || !strings.HasSuffix(got[0].Text, "once") {
		t.Errorf("%+v", got)
	}
}

// Together they have 32 KiB, cut between characters, and the cut is told.
func TestCascade_Cap(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	put(t, filepath.Join(top, "CLAUDE.md"), "short")
	put(t, filepath.Join(top, "AGENTS.md"), strings.Repeat("\u00fc", MaxCascadeBytes))
	put(t, filepath.Join(top, "AGENTS.override.md"), "left out")
	got := Cascade("", "", top)
	if len(got) != 2 || got[0].Note != "" || got[1].Note == "" {
		t.Fatalf("%d layers: %q", len(got), sources(got))
	}
	total := len(got[0].Text) + len(contract.LayerJoint) + len(got[1].Text)
	if total > MaxCascadeBytes || total < MaxCascadeBytes-8 || !utf8.ValidString(got[1].Text) || !strings.HasSuffix(got[1].Text, "KiB.]") {
		t.Errorf("%d bytes, ends in %q", total, got[1].Text[len(got[1].Text)-80:])
	}
}

func FuzzWhole(f *testing.F) {
	f.Add("a\u00fc", 2)
	f.Add("\U0001f600", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if !utf8.ValidString(text) || n < 0 || n > len(text) {
			return
		}
		got := whole(text[:n])
		if !utf8.ValidString(got) || !strings.HasPrefix(text, got) || n-len(got) >= utf8.UTFMax {
			t.Errorf("%q cut to %d gives %q", text, n, got)
		}
	})
}

func TestMCP(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	put(t, filepath.Join(home, ".claude", "settings.json"), `{"mcpServers":{"a":{"command":"x","env":{"T":"secret"}},"b":{"type":"http","url":"https://secret"},"off":{"command":"x","disabled":true},"both":{"command":"x"},"bad":7,"none":{}}}`)
	put(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers":{"both":{"type":"sse","url":"u"},"p":{"command":"x"}}}`)
	names := func(m contract.ProjectMCP) (out []string) {
		for _, s := range m.Servers {
			out = append(out, s.Name+" "+s.Transport+" "+s.Scope)
		}
		return out
	}
	for _, tc := range []struct {
		trusted bool
		chosen  []string
		want    []string
	}{
		{true, nil, []string{"a stdio global", "b http global", "both sse project", "p stdio project"}},
		{false, nil, []string{"a stdio global", "b http global"}},
		{true, []string{}, nil},
		{true, []string{"p", "off"}, []string{"p stdio project"}},
	} {
		got := MCP(home, dir, tc.trusted, tc.chosen)
		if !slices.Equal(names(got), tc.want) || len(got.ReadErrors) != 0 {
			t.Errorf("%v %q: %+v", tc.trusted, tc.chosen, got)
		}
		if b, err := json.Marshal(got); err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("a secret: %s %v", b, err)
		}
	}
}

// A file that cannot be read is told without a word of what it holds.
func TestMCP_Unreadable(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	put(t, filepath.Join(home, ".claude", "settings.json"), `{"mcpServers": "sk-secret"}`)
	put(t, filepath.Join(dir, ".mcp.json"), `{sk-secret`)
	got := MCP(home, dir, true, nil)
	if len(got.ReadErrors) != 2 || got.ReadErrors[0].Scope != "global" || got.ReadErrors[1].Path != filepath.Join(dir, ".mcp.json") {
		t.Errorf("%+v", got)
	}
	for _, e := range got.ReadErrors {
		if strings.Contains(e.Message, "sk-secret") || e.Message == "" {
			t.Errorf("%q", e.Message)
		}
	}
	if got := MCP(home, dir, false, nil); len(got.ReadErrors) != 1 {
		t.Errorf("an untrusted project's file is reported: %+v", got)
	}
	if got := MCP("", filepath.Join(dir, "gone"), true, nil); got.Servers == nil || got.ReadErrors == nil || len(got.ReadErrors) != 0 {
		t.Errorf("nothing there: %+v", got)
	}
}
