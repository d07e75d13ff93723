package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/packetbench/packetbench/contract"
)

// commands are the thin clients: each talks to a running service through the
// doors that the page uses. Source: interface.md 2.
type commands struct {
	Run     runCmd         `cmd:"" help:"Run one turn and print its text."`
	Tail    tailCmd        `cmd:"" help:"Print events from the bus as they happen."`
	Tree    treeCmd        `cmd:"" help:"Show the live actor tree."`
	Doctor  doctorCmd      `cmd:"" help:"Check everything PacketBench needs and say how to mend it."`
	Sidecar sidecarCmd     `cmd:"" help:"Install what the vendor SDK rows need."`
	Conform conformanceCmd `cmd:"" name:"conformance" help:"Judge an engine by the contract that every transport keeps."`
	Key     keyCmd         `cmd:"" help:"Store, check and remove credentials."`
	URL     urlCmd         `cmd:"" name:"url" help:"Print the address of the running service, with its token."`
	Export  exportCmd      `cmd:"" help:"Print the transcript of a conversation."`
	Version versionCmd     `cmd:"" help:"Print version, commit and the versions of what is built in."`
}

// connect finds the running service and opens a connection: with the owner's
// token, or with the monitor's, which can only read.
func connect(ctx context.Context, g *Globals, role contract.Client) (*client, runFile, error) {
	run, err := findService(g)
	if err != nil {
		return nil, run, &ExitError{exitFailure, err.Error()}
	}
	token := run.OwnerToken
	if role == contract.ClientMonitor {
		token = run.MonitorToken
	}
	c, err := dial(ctx, run.URL, token)
	if err != nil {
		return nil, run, &ExitError{exitFailure, err.Error()}
	}
	return c, run, nil
}

// failed is err as the end of a command; nil stays nil.
func failed(err error) error {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	var refusal *contract.Failure
	if errors.As(err, &refusal) && refusal.Code == contract.CodeNotFound {
		// The fixed text is made for windows, which know what a session is.
		if id, is := strings.CutPrefix(refusal.Message, contract.TextNoSession); is {
			return &ExitError{exitFailure, "There is no conversation " + id + "."}
		}
	}
	return &ExitError{exitFailure, err.Error()}
}

// untilSignal is a context that ends at the first SIGINT or SIGTERM: the usual
// end of a command that follows something.
func untilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// terminal is the descriptor of v, when v is a terminal.
func terminal(v any) (fd int, is bool) {
	f, ok := v.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// printer writes and keeps the first error, so that a closed pipe ends a
// command that follows something.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) print(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}
