package install

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
	bundle "github.com/packetbench/packetbench/sidecar"
)

var linux = Node{Platform: "linux", Arch: "x64", Libc: "glibc"}

func read(t testing.TB, name string) []byte {
	t.Helper()
	body, err := fs.ReadFile(bundle.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestManifest(t *testing.T) {
	t.Parallel()
	m, err := ReadManifest(bundle.Files())
	if err != nil {
		t.Fatal(err)
	}
	// Source: real-parts.md 2.
	if m.Pin(Claude) != "0.3.332" || m.Pin(OpenAI) != "0.20.0" || m.Node != "20.19" {
		t.Errorf("%+v", m)
	}
	for name, body := range map[string]string{
		"no JSON":        `{`,
		"no Node":        `{"sdks":{}}`,
		"no set":         `{"engines":{"node":">=20"},"sdks":{"claude":["a"]},"dependencies":{"a":"1.0.0"}}`,
		"not pinned":     `{"engines":{"node":">=20"},"sdks":{"claude":["a"],"openai":["b"]},"dependencies":{"a":"1.0.0"}}`,
		"not an exactly": `{"engines":{"node":">=20"},"sdks":{"claude":["a"],"openai":["b"]},"dependencies":{"a":"1.0.0","b":"^1.0.0"}}`,
	} {
		if m, err := decodeManifest([]byte(body)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestFor(t *testing.T) {
	t.Parallel()
	for _, row := range contract.Rows {
		s, needed := For(row.Provider)
		if needed != (row.Transport == contract.TransportSidecar) || needed && !slices.Contains(SDKs, s) {
			t.Errorf("%s: %q, %v", row.ID, s, needed)
		}
	}
	if _, needed := For(contract.ProviderEcho); needed {
		t.Error("echo needs an SDK")
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	m, err := ReadManifest(bundle.Files())
	if err != nil {
		t.Fatal(err)
	}
	lock := read(t, "package-lock.json")
	for _, tc := range []struct {
		name          string
		sdks          []SDK
		on            Node
		with, without []string
	}{
		{"claude", []SDK{Claude}, linux, []string{"node_modules/@anthropic-ai/claude-agent-sdk", "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64", "node_modules/zod"}, []string{"node_modules/@openai/agents", "node_modules/@anthropic-ai/claude-agent-sdk-win32-x64", "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64-musl", "node_modules/vitest"}},
		{"openai", []SDK{OpenAI}, linux, []string{"node_modules/@openai/agents", "node_modules/@openai/agents-core", "node_modules/openai"}, []string{"node_modules/@anthropic-ai/claude-agent-sdk", "node_modules/typescript"}},
		{"both on Windows", SDKs, Node{Platform: "win32", Arch: "arm64", Libc: "glibc"}, []string{"node_modules/@openai/agents", "node_modules/@anthropic-ai/claude-agent-sdk-win32-arm64"}, []string{"node_modules/@anthropic-ai/claude-agent-sdk-linux-x64"}},
		{"musl", []SDK{Claude}, Node{Platform: "linux", Arch: "arm64", Libc: "musl"}, []string{"node_modules/@anthropic-ai/claude-agent-sdk-linux-arm64-musl"}, []string{"node_modules/@anthropic-ai/claude-agent-sdk-linux-arm64"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := m.plan(lock, tc.sdks, tc.on)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range tc.with {
				if !slices.Contains(p.packages, at) {
					t.Errorf("without %s", at)
				}
			}
			for _, at := range tc.without {
				if slices.Contains(p.packages, at) {
					t.Errorf("with %s", at)
				}
			}
			// Of what npm is given nothing is optional by system: it knows better.
			if wants := slices.Contains(tc.sdks, Claude); strings.Contains(string(p.lock), "claude-agent-sdk-darwin-arm64\": {") != wants {
				t.Errorf("a program of another system in the lockfile: %v", !wants)
			}
			if strings.Contains(string(p.lock), "vitest") || strings.Contains(string(p.manifest), "devDependencies") {
				t.Error("tools of the developers are fetched")
			}
		})
	}
}

// TestReach: nested packages win over those above, what is optional or a peer
// may be absent, and a cycle ends.
func TestReach(t *testing.T) {
	t.Parallel()
	entries := func() map[string]locked {
		return map[string]locked{
			"":                              {},
			"node_modules/a":                {Dependencies: map[string]string{"b": "1", "o": "1"}, OptionalDependencies: map[string]string{"o": "1"}, PeerDependencies: map[string]string{"p": "1"}},
			"node_modules/a/node_modules/b": {Dependencies: map[string]string{"c": "1"}},
			"node_modules/b":                {},
			"node_modules/c":                {Dependencies: map[string]string{"@s/a": "1"}},
			"node_modules/@s/a":             {PeerDependencies: map[string]string{"a": "1"}},
			"node_modules/unrelated":        {},
		}
	}
	got, err := reach(entries(), map[string]string{"a": "1"})
	if want := []string{"node_modules/@s/a", "node_modules/a", "node_modules/a/node_modules/b", "node_modules/c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	broken := entries()
	delete(broken, "node_modules/c")
	if got, err := reach(broken, map[string]string{"a": "1"}); !errors.Is(err, errLock) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		list []string
		name string
		want bool
	}{
		{nil, "linux", true},
		{[]string{"linux", "darwin"}, "linux", true},
		{[]string{"darwin"}, "linux", false},
		{[]string{"!win32"}, "linux", true},
		{[]string{"!win32"}, "win32", false},
	} {
		if got := fits(tc.list, tc.name); got != tc.want {
			t.Errorf("fits(%v, %s) = %v", tc.list, tc.name, got)
		}
	}
}

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		version, oldest string
		want            bool
	}{
		{"20.19.0", "20.19", true},
		{"20.19", "20.19.0", false},
		{"v22.1.0-rc.1", "20.19", true},
		{"100.0.0", "20.19", true},
		{"20.9.0", "20.19", false},
		{"18.20.4", "20.19", false},
		{"", "20.19", false},
		{"twenty", "20.19", false},
		{"20.-1", "20", false},
	} {
		if got := atLeast(tc.version, tc.oldest); got != tc.want {
			t.Errorf("atLeast(%q, %q) = %v", tc.version, tc.oldest, got)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add(read(f, "package.json"))
	f.Add([]byte(`{"engines":{"node":">=20"},"sdks":{"claude":["a"],"openai":["b"]},"dependencies":{"a":"1.0.0","b":"1"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := decodeManifest(body)
		if err != nil {
			return
		}
		for _, s := range SDKs {
			if _, ok := parseVersion(m.Pin(s)); !ok {
				t.Errorf("%s is pinned to %q", s, m.Pin(s))
			}
		}
	})
}

// FuzzPlan: a lockfile is refused, or cut down to one that gives the same plan.
func FuzzPlan(f *testing.F) {
	m := Manifest{Name: "s", Version: "1.0.0", Node: "20.19", Sets: map[SDK][]string{Claude: {"a"}, OpenAI: {"@s/b", "a"}}, Pins: map[string]string{"a": "1.0.0", "@s/b": "2.0.0"}}
	f.Add([]byte(`{"lockfileVersion":3,"packages":{"":{},"node_modules/a":{"dependencies":{"c":"1"},"os":["!win32"]},"node_modules/@s/b":{"peerDependencies":{"a":"1"}},"node_modules/a/node_modules/c":{"optional":true,"os":["linux"],"libc":["musl"]},"node_modules/d":{"dev":true}}}`))
	f.Add([]byte(`{"packages":{"node_modules/a":{"os":[""]},"node_modules/@s/b":{"optionalDependencies":{"":"1"}}}}`))
	f.Add([]byte(`{"packages":{"node_modules/a":null}}`))
	f.Fuzz(func(t *testing.T, lock []byte) {
		p, err := m.plan(lock, SDKs, linux)
		if err != nil {
			return
		}
		again, err := m.plan(p.lock, SDKs, linux)
		if err != nil || !slices.Equal(again.packages, p.packages) || !json.Valid(p.manifest) {
			t.Errorf("%v: %v, then %v", err, p.packages, again.packages)
		}
	})
}
