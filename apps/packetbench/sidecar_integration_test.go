//go:build integration

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/apps/packetbench/install"
)

// fetching bounds an installation: some hundred megabytes may come over a slow
// network.
const fetching = 5 * time.Minute

// released is the program as a person without a checkout has it: alone in a
// folder.
func released(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("npm is missing")
		}
		t.Skip("npm is missing")
	}
	body, err := os.ReadFile(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(binary(t)))
	if err := os.WriteFile(path, body, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// alone is a command of that program with a home of its own. npm keeps the
// person's own settings and cache, so that a second run fetches nothing.
func alone(t *testing.T, bin, home string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fetching)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, bin, append(args, "--home", home)...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "PACKETBENCH_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "PACKETBENCH_NO_KEYRING=1", "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=")
	return cmd
}

// TestSidecarInstall_Real: the person's npm, the real SDKs, a real Node. One SDK
// is installed, then the other beside it; doctor then finds nothing to mend.
func TestSidecarInstall_Real(t *testing.T) {
	t.Parallel()
	bin, home := released(t), filepath.Join(t.TempDir(), "a home")
	for _, step := range []struct {
		sdk  string
		want []string
	}{
		{"openai", []string{"Fetching the OpenAI Agents SDK", "Installed and verified: the OpenAI Agents SDK", "Next: packetbench key set openai"}},
		{"claude", []string{"Fetching the Claude Agent SDK", "Installed and verified: the Claude Agent SDK", "and the OpenAI Agents SDK", "Next: packetbench key set anthropic"}},
		{"all", []string{"Already installed, verified again"}},
	} {
		out, err := alone(t, bin, home, "sidecar", "install", "--sdk", step.sdk).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", step.sdk, err, out)
		}
		for _, want := range step.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", step.sdk, want, out)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(home, "sidecar"))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	out, _ := alone(t, bin, home, "doctor", "--json").Output()
	var report struct{ Checks []finding }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, name := range []string{"Node", "sidecar", "Claude Agent SDK", "OpenAI Agents SDK"} {
		i := slices.IndexFunc(report.Checks, func(f finding) bool { return f.Name == name })
		if i < 0 || report.Checks[i].State != stateOK {
			t.Errorf("%s: %s", name, out)
		}
	}
	// The host finds what was installed, and what it starts is ours.
	entry, err := sidecar.Lookup{
		Getenv: func(string) string { return "" }, IsFile: isFile, LookPath: exec.LookPath, DataDir: home, Version: entries[0].Name(),
	}.Find()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := install.Handshake(t.Context(), entry.Node, entry.Script)
	if err != nil || !ready.Compatible() {
		t.Errorf("%+v, %v", ready, err)
	}
}

// TestSidecarInstall_Interrupted: Ctrl-C in the middle of npm's work leaves no
// file and no process.
func TestSidecarInstall_Interrupted(t *testing.T) {
	t.Parallel()
	bin, home := released(t), t.TempDir()
	cmd := alone(t, bin, home, "sidecar", "install")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Fetching") {
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It is the exit code that counts.
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "packetbench: Interrupted; nothing was changed.\n" {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	if entries, err := os.ReadDir(filepath.Join(home, "sidecar")); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no process runs: %v", err)
	}
	for _, at := range dirs {
		if dir, err := os.Readlink(at); err == nil && strings.HasPrefix(dir, home) {
			t.Errorf("%s still runs in %s", at, dir)
		}
	}
}
