package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
)

// Limit is how long one command may take. Source: tools-permissions.md 6.
const Limit = 5 * time.Second

// killWait bounds the wait for an ended shell, which a process inside the kernel
// can delay.
const killWait = 2 * time.Second

// Options is what all sessions of the service share.
type Options struct {
	// User is the path of the person's own settings file; empty for none.
	User string
	// BootID and Home mark every process, see [child.Marker].
	BootID, Home string
	// Env is the environment of the commands, NAME=value; nil takes that of the
	// service without the product's own variables.
	Env []string
	// Register records a process group until release is called, usually
	// [child.Registry.Register]; nil records nothing.
	Register func(*child.Group) (release func())
	// Life ends when the service stops; nil for never.
	Life context.Context
	// Limit is how long one command may take, and all of a session's end; 0 is
	// [Limit].
	Limit time.Duration
}

// failure is a command that did not say yes or no.
type failure struct{ why string }

func (f *failure) Error() string { return f.why }

// veto is a command that ended with a code other than 0.
type veto struct{ code int }

func (v *veto) Error() string { return fmt.Sprintf("it ended with code %d", v.code) }

// notRun are the codes by which a shell says that it could not run the command:
// not executable, not found, and not found on Windows.
var notRun = []int{126, 127, 9009}

// execute runs one command to its end. It returns nil, *veto or *failure.
func (o *Options) execute(ctx context.Context, command, dir string, payload []byte) error {
	ctx, stop := context.WithTimeoutCause(ctx, o.Limit, &failure{"it took longer than " + o.Limit.String()})
	defer stop()
	unlink := context.AfterFunc(o.Life, stop)
	defer unlink()
	if ctx.Err() != nil || o.Life.Err() != nil { // The second may come before its stop.
		return &failure{"it was not started: the turn or the service ends"}
	}
	in, out, err := os.Pipe()
	if err != nil {
		return &failure{"it could not be started: " + err.Error()}
	}
	cmd := shell(command)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, slices.Clone(o.Env), in
	group, err := child.Start(cmd, child.Options{Marker: child.Marker{BootID: o.BootID, Home: o.Home}, Session: true, Register: o.Register})
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return &failure{"it could not be started"}
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = out.Write(payload) // A command need not read.
		_ = out.Close()
	}()
	exited := make(chan error, 1)
	go func() { exited <- group.Wait() }()
	var state error
	ended := true
	select {
	case state = <-exited:
	case <-ctx.Done():
		ended = false
	}
	// Whatever it left behind ends with it, and with the last reader of the pipe
	// so does the writer.
	group.Kill()
	if !ended {
		wait := time.NewTimer(killWait)
		defer wait.Stop()
		select {
		case <-exited:
		case <-wait.C:
		}
	}
	group.Release()
	_ = out.Close()
	<-written
	var exit *exec.ExitError
	switch {
	case !ended && errors.As(context.Cause(ctx), new(*failure)):
		return context.Cause(ctx)
	case !ended:
		return &failure{"it was ended: the turn or the service ends"}
	case state == nil:
		return nil
	case !errors.As(state, &exit) || exit.ExitCode() < 0:
		return &failure{"it was ended by a signal"}
	case slices.Contains(notRun, exit.ExitCode()):
		return &failure{fmt.Sprintf("the shell could not run it (code %d)", exit.ExitCode())}
	}
	return &veto{exit.ExitCode()}
}

// environment is what the commands get: a program of the person, not of the
// service, so without the service's own settings.
func environment(env []string, dir string) []string {
	if env == nil {
		env = os.Environ()
	}
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if name != "PWD" && name != "OLDPWD" && !strings.HasPrefix(name, config.EnvPrefix) {
			out = append(out, e)
		}
	}
	return append(out, "PWD="+dir)
}
