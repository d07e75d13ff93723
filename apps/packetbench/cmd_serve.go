package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"

	"github.com/packetbench/packetbench/config"
)

// serveCmd runs the service in the foreground.
type serveCmd struct {
	Addr         string `help:"Address of the page and the JSON-RPC doors; port 0 lets the system choose." placeholder:"127.0.0.1:7433"`
	NatsAddr     string `help:"Address of the NATS listener; port 0 lets the system choose." placeholder:"127.0.0.1:7434"`
	NoNatsListen bool   `help:"Open no NATS listener; the bus then serves the service alone."`
	Open         bool   `help:"Open the page in the browser when ready."`
	LogLevel     string `help:"Least level that is logged." enum:"debug,info,warn,error" default:"info"`
	LogFormat    string `help:"Format of the log on stderr." enum:"text,json" default:"text"`
}

// Run starts the service, prints the ready line and waits for its end.
func (c *serveCmd) Run(g *Globals) error {
	repairPath(g.Getenv)
	cfg, err := c.config(g)
	if err != nil {
		return &ExitError{exitUsage, err.Error()}
	}
	s := newService(cfg, newLogger(g.Stderr, cfg), g.Getenv)
	s.signals = make(chan os.Signal, 2)
	settle := startFast()
	err = s.start()
	settle()
	if err != nil {
		return &ExitError{exitFailure, err.Error()}
	}
	ctx, endTrim := context.WithCancel(context.Background())
	defer endTrim()
	go trim(ctx)
	url := s.run.URL + "/?token=" + s.run.OwnerToken
	fmt.Fprintln(g.Stdout, config.ReadyLinePrefix+url)
	if cfg.Open {
		openBrowser(s.logger, url)
	}
	if fault := s.wait(); fault != "" {
		return &ExitError{exitFailure, "The service stopped: " + fault + ". The log above says more; start it again."}
	}
	return nil
}

func (c *serveCmd) config(g *Globals) (config.Serve, error) {
	paths, err := config.DataDir(g.Home, g.Getenv)
	if err != nil {
		return config.Serve{}, err
	}
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	return config.Serve{
		Paths: paths, Addr: c.Addr, NATSAddr: c.NatsAddr, NoNATSListen: c.NoNatsListen, Open: c.Open,
		LogLevel: c.LogLevel, LogFormat: c.LogFormat, StartedIn: here,
	}.Check(g.Getenv)
}

func newLogger(w io.Writer, cfg config.Serve) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// openBrowser asks the desktop to open the page; a machine without one only
// gets a log line, the ready line is there.
func openBrowser(log *slog.Logger, url string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		var missing *exec.Error
		if errors.As(err, &missing) {
			log.Warn("browser not opened", "reason", "no program to open a page with was found")
			return
		}
		log.Warn("browser not opened", "reason", err)
		return
	}
	go func() { _ = cmd.Wait() }()
}
