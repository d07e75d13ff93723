package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/acp"
	"github.com/packetbench/packetbench/actors/bridge"
	"github.com/packetbench/packetbench/actors/bus"
	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/conversation"
	"github.com/packetbench/packetbench/actors/inspect"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/secret"
	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/actors/store"
	"github.com/packetbench/packetbench/actors/turn"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/apps/agent"
	"github.com/packetbench/packetbench/apps/core"
	"github.com/packetbench/packetbench/apps/edge"
	"github.com/packetbench/packetbench/apps/ops"
	"github.com/packetbench/packetbench/apps/packetbench/install"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	bundle "github.com/packetbench/packetbench/sidecar"
	"github.com/packetbench/packetbench/supervisors"
	"github.com/packetbench/packetbench/ui"
)

// startCore starts the store, the key reader and the bus, and waits until the
// store has read its index and the log takes events.
func (s *service) startCore() error {
	s.log = bus.NewLog(bus.LogOptions{Logger: s.logger, Status: func(up bool, reason string) {
		if !up && !s.draining.Load() {
			s.logger.Error("event log down", "reason", reason)
		}
	}})
	s.events = newCounted(s.log)
	s.keys = newKeyWatch(s.authChanged, s.cfg.Paths.KeyFile(), s.cfg.Paths.KeyIdentity())
	app := core.CreateApp(core.Options{
		Common: s.common(),
		Store: store.Options{
			Paths: s.cfg.Paths,
			CheckRow: func(line []byte) error {
				_, err := llm.DecodeLedgerRow(line)
				return err
			},
			Providers: map[string]store.Normalise{
				contract.SettingEnginePath:            acp.CheckPin,
				"ollama_base_url":                     llm.NormaliseOllama,
				"minimax_base_url":                    llm.NormaliseMiniMax,
				"custom_compat_base_url":              llm.NormaliseCustom,
				"ollama_keep_alive":                   llm.NormaliseKeepAlive,
				"named_provider_base_urls.anthropic":  llm.NormaliseAnthropic,
				"named_provider_base_urls.openai":     llm.NormaliseOpenAI,
				"named_provider_base_urls.openrouter": llm.NormaliseOpenRouter,
			},
		},
		Secret: secret.Options{Paths: s.cfg.Paths, Getenv: s.getenv, Wrote: s.keys.wrote},
		Bus: bus.Options{Log: s.log, Server: bus.ServerOptions{
			Addr: s.cfg.NATSAddr, NoListen: s.cfg.NoNATSListen, Dir: s.cfg.Paths.Events(), Logins: s.logins,
			MaxBytes: s.cfg.LogMaxBytes, MaxAge: s.cfg.LogMaxAge, Logger: s.logger,
		}},
		OnEnd: s.onEnd(msg.CoreApp),
	})
	if err := supervisors.StartApp(s.node, app); err != nil {
		return fmt.Errorf("the core of the service did not start: %w", err)
	}
	if err := s.waitReady(msg.Store); err != nil {
		return err
	}
	s.board, s.engines = s.newBoard(), s.newEngines()
	if err := s.openShelf(); err != nil {
		return err
	}
	s.warnOfSettings()
	return s.waitReady(msg.Bus)
}

// warnOfSettings logs the providers whose settings cannot be used; the service
// runs without them.
func (s *service) warnOfSettings() {
	settings, err := s.providers().settings()
	if err != nil {
		s.logger.Warn("provider settings not checked", "reason", err)
		return
	}
	for _, r := range refusals(settings) {
		s.logger.Warn("provider setting refused", "provider", r.label, "reason", r.err)
	}
}

func (s *service) providers() *providers {
	return &providers{
		node: s.node, getenv: s.getenv, client: llm.NewHTTPClient(), prices: s.prices,
		shelf: s.shelf, sidecar: s.board.Status, engines: s.engines,
	}
}

// engineOptions is what the host of each ACP engine is started with.
func (s *service) engineOptions() acp.Options {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // Then no MCP server of all projects is known.
	}
	return acp.Options{
		Find: s.engines.Find, Version: config.Version, Marker: s.groups.Marker(), Register: s.groups.Register,
		Environ: os.Environ(), HomeDir: home, Logger: s.logger,
	}
}

// newEngines builds what is known of ACP engines.
func (s *service) newEngines() *engines {
	return &engines{
		node: s.node, getenv: s.getenv, environ: os.Environ(), now: time.Now, changed: s.authChanged,
		groups: child.Options{Marker: s.groups.Marker(), Register: s.groups.Register},
	}
}

// openShelf reads what is known of the SDKs from the sidecar inside the program.
func (s *service) openShelf() error {
	m, err := install.ReadManifest(bundle.Files())
	if err != nil {
		return fmt.Errorf("the sidecar inside this program is damaged: %w; build or install PacketBench again", err)
	}
	s.shelf = newShelf(m, func() sidecarPlace { return placeOf(sidecarLookup(s.getenv, s.cfg.Paths)) })
	return nil
}

// newBoard takes the sidecar's count over all runs from the store. A store that
// does not answer costs the count and not the start.
func (s *service) newBoard() *sidecar.Board {
	var stats msg.SidecarStats
	if reply, err := s.node.CallWithTimeout(msg.Store, msg.LoadSidecarStats{}, 5); err == nil {
		stats, _ = reply.(msg.SidecarStats)
	}
	return sidecar.NewBoard(sidecar.BoardOptions{
		Publisher: s.events, Lifetime: stats.Lifetime, Logger: s.logger,
		Save: func(l contract.SidecarLifetime) {
			if err := s.node.Send(msg.Store, msg.SaveSidecarStats{Lifetime: l}); err != nil && !s.draining.Load() {
				s.logger.Warn("sidecar's count not saved", "reason", err)
			}
		},
	})
}

// sidecarOptions is what the host of the Node child is started with.
func (s *service) sidecarOptions() sidecar.Options {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // Then no MCP server of all projects is known.
	}
	return sidecar.Options{
		Entry: sidecarLookup(s.getenv, s.cfg.Paths), Marker: s.groups.Marker(), Register: s.groups.Register,
		Environ: os.Environ(), StateDir: filepath.Join(sidecarRoot(s.cfg.Paths), "state"), HomeDir: home,
		BaseURL: s.vendorURL, Logger: s.logger.With("actor", string(msg.Sidecar)),
	}
}

// vendorURL is the endpoint that the settings give an SDK; empty means the
// vendor's own, or that of the SDK's usual variable.
func (s *service) vendorURL(p contract.ProviderID, stored json.RawMessage) (string, error) {
	settings, err := resolve(stored, s.getenv)
	if err != nil {
		return "", err
	}
	var url, vendors string
	switch p {
	case contract.ProviderClaudeOAuth:
		p, url, vendors = contract.ProviderAnthropic, settings.AnthropicURL, llm.DefaultAnthropicURL
	case contract.ProviderAgents:
		p, url, vendors = contract.ProviderOpenAI, settings.OpenAIURL, llm.DefaultOpenAIURL
	default:
		return "", nil
	}
	if url == vendors {
		url = ""
	}
	return url, settings.Refused(p)
}

// startAgent starts the work; no conversation runs yet.
func (s *service) startAgent() error {
	return supervisors.StartApp(s.node, agent.CreateApp(agent.Options{
		Common: s.common(), MaxAwake: s.cfg.MaxAwake,
		Conversation: conversation.Options{
			BootID: s.boot, Publisher: s.events, NewTurn: turn.Factory(s.turnOptions()), Idle: s.cfg.Idle, Desk: s.desk(),
			Models: func(row contract.RowID) []contract.Model {
				return llm.Models(row, llm.ModelSettings{Prices: s.prices, At: time.Now()})
			},
			Window: func(p contract.ProviderID, model string) uint64 {
				tokens, known := llm.ContextWindow(p, model)
				if !known {
					return 0
				}
				return tokens
			},
			Prices: s.prices, Narrow: s.engines.Narrow,
		},
		Sidecar:  s.sidecarOptions(),
		Engine:   s.engineOptions(),
		Terminal: s.terminalOptions(),
		OnEnd:    s.onEnd(msg.AgentApp),
	}))
}

// startOps starts the view on the tree.
func (s *service) startOps() error {
	return supervisors.StartApp(s.node, ops.CreateApp(ops.Options{
		Common: s.common(),
		Inspect: inspect.Options{
			Heard: func(m msg.Status) {
				s.board.Heard(m)
				s.engines.Heard(m)
			},
			BootID: s.boot, Publisher: s.events, Sources: []gen.Atom{msg.CoreSup, msg.AgentSup, msg.SessionsSup, msg.EnginesSup, msg.TerminalsSup, msg.MCPSup, msg.OpsSup, msg.EdgeSup, msg.ViewersSup},
		},
		OnEnd: s.onEnd(msg.OpsApp),
	}))
}

// startEdge opens the doors and takes the address they got.
func (s *service) startEdge() error {
	s.run = runFile{
		PID: os.Getpid(), BootID: s.boot, OwnerToken: token(16), MonitorToken: token(16), Version: config.Version,
		NATSOwner: s.logins.Owner, NATSMonitor: s.logins.Monitor,
	}
	var page fs.FS
	if ui.Built() {
		page = ui.Files()
	}
	facts := &houseFacts{s: s}
	app := edge.CreateApp(edge.Options{
		Common: s.common(),
		Bridge: bridge.Options{
			Addr: s.cfg.Addr, BootID: s.boot, OwnerToken: s.run.OwnerToken, MonitorToken: s.run.MonitorToken,
			PageKey: s.pageKey(),
			Log:     s.log, Publisher: s.events, Commands: s.log,
			Terminals: newTerminals(s.cfg.Paths, s.getenv), House: facts, Figures: facts.Figures,
			Providers: s.providers(), Desk: s.desk(), Engines: s.engines, Sidecar: s.board.Status,
			Page: page, Ready: s.ready.Load, ProjectPath: s.cfg.StartedIn, Logger: s.logger,
			Gauges: map[string]func() float64{
				"packetbench_log_waiting":   func() float64 { return float64(s.log.Figures().Waiting) },
				"packetbench_log_in_flight": func() float64 { return float64(s.log.Figures().InFlight) },
				"packetbench_log_dropped":   func() float64 { return float64(s.node.LogDropped()) },
			},
		},
		OnEnd: s.onEnd(msg.EdgeApp),
	})
	if err := supervisors.StartApp(s.node, app); err != nil {
		return fmt.Errorf("the doors did not open: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := s.call(ctx, msg.Bridge, msg.Ready{})
	if err != nil {
		return fmt.Errorf("the doors did not open: %w", err)
	}
	opened, ok := reply.(msg.Opened)
	if !ok {
		return errors.New("the doors did not open: the bridge gave an unexpected answer")
	}
	if opened.Err != nil {
		return opened.Err
	}
	s.run.URL = "http://" + opened.Addr
	if addr := s.log.NATSAddr(); addr != "" {
		s.run.NATSURL = "nats://" + addr
	}
	return nil
}

// drainEdge closes the doors first: nobody asks for anything any more.
func (s *service) drainEdge(ctx context.Context) error {
	within := 500 * time.Millisecond
	_, err := s.call(ctx, msg.Bridge, msg.CloseDoors{Within: within})
	return err
}
