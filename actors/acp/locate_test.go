package acp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// acp.md 10: the order, and what is taken as written.
func TestLookup_Find(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		goos, pinned string
		env          map[string]string
		programs     string
		want         string
	}{
		"pinned":            {"linux", " /pin ", map[string]string{EnvEngine: "/env", "PATH": "/a"}, "/a/packetcode", "/pin"},
		"ours":              {"linux", " ", map[string]string{EnvEngine: " /env ", EnvEngineLegacy: "/old", "PATH": "/a"}, "/a/packetcode", "/env"},
		"legacy":            {"linux", "", map[string]string{EnvEngine: " ", EnvEngineLegacy: "/old", "PATH": "/a"}, "/a/packetcode", "/old"},
		"path":              {"linux", "", map[string]string{"PATH": "/a::/b c:/d", "HOME": "/h"}, "/b c/packetcode /d/packetcode /h/.local/bin/packetcode", "/b c/packetcode"},
		"home":              {"linux", "", map[string]string{"PATH": "/a", "HOME": "/h"}, "/h/.local/bin/packetcode /usr/local/bin/packetcode", "/h/.local/bin/packetcode"},
		"local":             {"darwin", "", map[string]string{}, "/usr/local/bin/packetcode", "/usr/local/bin/packetcode"},
		"nothing":           {"linux", "", map[string]string{"PATH": "/a", "HOME": "/h"}, "", "packetcode"},
		"windows path":      {"windows", "", map[string]string{"PATH": `C:\a;"C:\b c\"`, "PATHEXT": ".COM;.EXE"}, `C:\b c\packetcode.exe`, `C:\b c\packetcode.exe`},
		"windows default":   {"windows", "", map[string]string{"PATH": `C:\a`}, `C:\a\packetcode.cmd`, `C:\a\packetcode.cmd`},
		"windows installed": {"windows", "", map[string]string{"LOCALAPPDATA": `C:\L`}, `C:\L\Programs\PacketCode\bin\packetcode.exe`, `C:\L\Programs\PacketCode\bin\packetcode.exe`},
		"windows nothing":   {"windows", "", map[string]string{}, "/usr/local/bin/packetcode", "packetcode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := Lookup{GOOS: tc.goos, Pinned: tc.pinned, Getenv: func(n string) string { return tc.env[n] }, Program: func(p string) bool {
				return strings.Contains(" "+tc.programs+" ", " "+p+" ")
			}}
			if got := l.Find(); got != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCheckPin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		" " + self + " ":              "",
		"packetcode":                  "must be absolute",
		"":                            "must be absolute",
		filepath.Join(dir, "missing"): "Cannot read ",
		dir:                           " is not a file",
	} {
		got, err := CheckPin(path)
		if want == "" && (err != nil || got != self) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	if runtime.GOOS != "windows" {
		if _, err := CheckPin(plain); err == nil || !strings.Contains(err.Error(), "is not executable") {
			t.Errorf("a plain file: %v", err)
		}
	}
}

// acp.md 12.11.
func TestCompatible(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"0.1.0": true, "v1.0.0": true, "0.1.1-dev": true, "dev": true, "dev-abc": true, "0.1": true, "1": true, "0.1.0+build": true, "0.10.0": true, " 0.2.0 ": true,
		"0.0.9": false, "garbage": false, "": false, "v": false, "0.0": false, "-": false, "99999999999999999999.1": false,
	} {
		if got := compatible(version, MinimumVersion); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestProbe_Badge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		probe        Probe
		status, hint string
	}{
		{Probe{}, "missing_key", "packetcode engine not found. Install it or pin its path in Settings > Providers."},
		{judge(Probe{MinimumVersion: MinimumVersion}, []byte(`{"version":"0.0.9"}`)), "service_down", "packetcode 0.0.9 is too old; 0.1.0 or newer is needed."},
		{judge(Probe{}, []byte(`not json`)), "service_down", "The packetcode engine did not report a version."},
		{judge(Probe{}, []byte(`{"version":7}`)), "service_down", "The packetcode engine did not report a version."},
		{Probe{Found: true, Detail: "doctor --json timed out"}, "service_down", "doctor --json timed out"},
		{judge(Probe{}, []byte("a line\n{\"schema_version\":1,\"status\":\"fail\",\"version\":\"v0.5.1\"}\nafter")), "ready", ""},
	} {
		if b := tc.probe.Badge(); string(b.Status) != tc.status || b.Hint != tc.hint {
			t.Errorf("%+v: %+v", tc.probe, b)
		}
	}
	if b := SpecBadge(Spec{Command: "no-such-engine-anywhere"}, "x"); b.Status != "missing_key" || b.Hint != "no-such-engine-anywhere was not found. Fix the engine in Settings > Providers." {
		t.Errorf("%+v", b)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if b := SpecBadge(Spec{Command: self}, "it died"); b.Status != "service_down" || b.Hint != "it died" {
		t.Errorf("%+v", b)
	}
	if b := SpecBadge(Spec{Command: self}, ""); b.Status != "ready" || b.Hint != "" {
		t.Errorf("%+v", b)
	}
}
