package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
)

// version and commit are set by the linker.
var version, commit string

// Globals is what every command gets: flags that all share, and the outside
// world, so that a test can hand in its own.
type Globals struct {
	Home   string
	Stdout io.Writer
	Stderr io.Writer
	Stdin  io.Reader
	Getenv func(string) string
}

// ExitError ends the program with Code. Message, one line that says what
// happened and what to do, goes to stderr unless it is empty.
type ExitError struct {
	Code    int
	Message string
}

// Error returns the message.
func (e *ExitError) Error() string { return e.Message }

// The exit codes. Source: interface.md 2.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitTurnError   = 2
	exitUnanswered  = 3
	exitInterrupted = 130
)

// cli is the command line.
type cli struct {
	Home string `help:"Data directory (default $PACKETBENCH_HOME, else ~/.packetbench)." placeholder:"DIR"`

	Serve serveCmd `cmd:"" default:"withargs" help:"Run the service in the foreground (the default command)."`
	commands
}

func main() {
	if code, acted := child.ActAsInit(); acted {
		os.Exit(code)
	}
	if version != "" {
		config.Version, config.Commit = version, commit
	}
	g := &Globals{Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Getenv: os.Getenv}
	os.Exit(run(g, os.Args[1:]))
}

// run parses and runs one command line and returns the exit code. No stack
// trace reaches a user.
func run(g *Globals, args []string) (code int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name(config.Program),
		kong.Description("A desktop-local service with a web page for working with coding agents."),
		kong.Writers(g.Stdout, g.Stderr),
		kong.Exit(func(code int) { exited = code; panic(errExit) }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(g.Stderr, "packetbench:", err)
		return exitFailure
	}
	defer func() {
		if fault := recover(); fault != nil {
			if fault != errExit { //nolint:errorlint // A panic value, not a chain.
				panic(fault)
			}
			code = exited
		}
	}()
	ctx, err := parser.Parse(spelled(args))
	if err != nil {
		fmt.Fprintf(g.Stderr, "packetbench: %s. See packetbench --help.\n", err)
		return exitUsage
	}
	g.Home = c.Home
	err = ctx.Run(g)
	var exit *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.Message != "" {
			fmt.Fprintln(g.Stderr, "packetbench:", exit.Message)
		}
		return exit.Code
	default:
		fmt.Fprintln(g.Stderr, "packetbench:", err)
		return exitFailure
	}
}

// spelled turns the other spellings of help and version into ours: "help" and
// "help run" are --help and run --help, --version is version.
func spelled(args []string) []string {
	switch {
	case len(args) == 0:
		return args
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}

// errExit leaves kong after it has printed its help.
var errExit = errors.New("exit")
