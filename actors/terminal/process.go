package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
)

// hangup is how long what runs in a terminal may take to end after it was told
// that the terminal is gone. Source: real-parts.md, creack/pty.
const hangup = 2 * time.Second

// tailWait is how long the output may go on after the program has ended, for
// the case that something else holds the terminal open and the system does not
// hang up by itself.
const tailWait = 500 * time.Millisecond

// lookPath finds the program in the PATH of the environment that it will get,
// not in the service's.
func lookPath(command string, env []string) string {
	if command == "" || strings.ContainsRune(command, filepath.Separator) {
		return command
	}
	path := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // Never what lies in the folder of the project.
		}
		file := filepath.Join(dir, command)
		if st, err := os.Stat(file); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return file
		}
	}
	return command
}

// exitOf is what Wait has said.
func exitOf(state *os.ProcessState) msg.TerminalExit {
	if state == nil {
		return msg.TerminalExit{Code: -1}
	}
	return msg.TerminalExit{Code: state.ExitCode(), Signal: signalOf(state)}
}

// command builds the program; Start has not been called.
func command(spec msg.TerminalSpec, marker child.Marker) (cmd *exec.Cmd, group string) {
	env, group := child.Environ(spec.Env, marker)
	cmd = &exec.Cmd{
		Path: lookPath(spec.Command, spec.Env),
		Args: append([]string{spec.Command}, spec.Args...),
		Dir:  spec.Cwd,
		Env:  env,
	}
	return cmd, group
}

// startFailure is the sentence for a program that does not start.
func startFailure(spec msg.TerminalSpec, err error) string {
	text := "Failed to start " + spec.Command + ": "
	if st, statErr := os.Stat(spec.Cwd); spec.Cwd != "" && (statErr != nil || !st.IsDir()) {
		return text + "the folder " + spec.Cwd + " does not exist. Choose another one."
	}
	if os.IsNotExist(err) {
		return text + "the program was not found. Make sure '" + spec.Command + "' is installed and on your PATH."
	}
	if os.IsPermission(err) {
		return text + "it may not be executed. Correct its permissions."
	}
	return text + err.Error() + ". Try again; if it happens again, look at the log."
}
