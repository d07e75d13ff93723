//go:build integration && !windows

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oneCommand runs the program without a service that runs already.
func oneCommand(t *testing.T, home string, env []string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.Command(binary(t), append(args, "--home", home)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environment(home, env...), home, &out, &log
	cmd.WaitDelay = patience
	return cmd, &out, &log
}

// TestRunCommand_StartsAService: run works alone, for the duration of its turn,
// and leaves no service behind.
func TestRunCommand_StartsAService(t *testing.T) {
	home, dir := t.TempDir(), project(t)
	for _, tc := range []struct {
		prompt string
		args   []string
		code   int
		out    string
	}{
		{prompt: "hello", code: 0, out: "offline demo"},
		{prompt: "please run it", code: 3, out: "offline demo"},
		{prompt: "please run it", args: []string{"--permission-mode", "allow_all"}, code: 0, out: "bash: hello"},
		{prompt: "please fail", code: 2, out: "offline demo"},
	} {
		cmd, out, log := oneCommand(t, home, nil, append([]string{"run", "--project", dir, tc.prompt}, tc.args...)...)
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(out.String(), tc.out) {
			t.Errorf("%q %v: exit %d, want %d\n%s\n%s", tc.prompt, tc.args, code, tc.code, out, log)
		}
		if _, err := os.Stat(filepath.Join(home, "run.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the service of the command is still announced (%v)", tc.prompt, err)
		}
	}
}

// TestRunCommand_Interrupted: SIGINT cancels the turn and its command, and the
// exit code says so (F17).
func TestRunCommand_Interrupted(t *testing.T) {
	home := t.TempDir()
	p := serve(t, home, nil)
	dir := project(t)
	w := p.window(t)
	const id = "interrupted"
	w.follow("new", id)
	cmd, out, log := oneCommand(t, home, nil, "run", "--session", id, "--project", dir, "hello")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.until("api-agent.thinking.")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		t.Fatalf("run does not end:\n%s\n%s", out, log)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d, want %d\n%s\n%s", code, exitInterrupted, out, log)
	}
	events := w.until("conversation.turn-ended.")
	if last := events[len(events)-1]; !strings.Contains(string(last.Data), `"cancelled"`) {
		t.Errorf("the turn ends with %s", last.Data)
	}
}
