package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/bus"
	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/actors/store"
	"github.com/packetbench/packetbench/actors/turn"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors"
)

// runFile is run.json: how clients find the running service. Source:
// interface.md 2.
type runFile struct {
	PID          int       `json:"pid"`
	BootID       string    `json:"boot_id"`
	URL          string    `json:"url"`
	OwnerToken   string    `json:"owner_token"`
	MonitorToken string    `json:"monitor_token"`
	NATSURL      string    `json:"nats_url"`
	NATSOwner    bus.Login `json:"nats_owner"`
	NATSMonitor  bus.Login `json:"nats_monitor"`
	Version      string    `json:"version"`
}

// service is the running house. It is built by boot and taken down by drain.
type service struct {
	cfg    config.Serve
	logger *slog.Logger
	getenv func(string) string

	boot    string
	run     runFile
	logins  bus.Logins
	lock    *store.Lock
	groups  *child.Registry
	prices  *llm.PriceTable
	keys    *keyWatch
	atDesk  *desk
	log     *bus.Log
	events  *counted // The same, for whoever publishes.
	text    *textLog
	board   *sidecar.Board
	shelf   *shelf
	engines *engines
	node    *supervisors.Node
	// apps counts the applications that have not ended.
	apps  sync.WaitGroup
	ready atomic.Bool
	// signals takes SIGINT, SIGTERM and SIGHUP from before the service can be found
	// on; nil leaves them to the caller of start.
	signals chan os.Signal
	// fatal hears that the service cannot go on.
	fatal chan string
	// draining keeps an ordered stop from looking like a fault.
	draining atomic.Bool
	// life ends when nothing may be started for a conversation any more.
	life    context.Context
	endLife context.CancelFunc
	// endWatch ends the watch of the key files.
	endWatch func()
	// stops are what the started steps leave to be undone, last first.
	stops []step
}

// step is one step of the start, with what it needs undone.
type step struct {
	name  string
	start func(*service) error
	// stop undoes it within its limit; a failure is logged and skipped.
	stop func(*service, context.Context) error
	most time.Duration
}

// steps is the order of the start; the stop goes backwards. Doors open last and
// close first. Source: mcp-state.md 12, actors.md 7.
var steps = []step{
	{name: "data directory", start: (*service).openData, stop: (*service).closeData, most: time.Second},
	{name: "boot check", start: (*service).check},
	{name: "orphans", start: (*service).sweep},
	{name: "node", start: (*service).startNode, stop: (*service).stopNode, most: time.Second},
	{name: "core", start: (*service).startCore, stop: (*service).drainCore, most: 2 * time.Second},
	{name: "ledger", start: (*service).finishLedger},
	{name: "archive", start: (*service).archiveDone},
	{name: "agent", start: (*service).startAgent, stop: (*service).drainAgent, most: 5 * time.Second},
	{name: "interrupted turns", start: (*service).closeTurns},
	{name: "ops", start: (*service).startOps},
	{name: "edge", start: (*service).startEdge, stop: (*service).drainEdge, most: time.Second},
	{name: "run file", start: (*service).announce, stop: (*service).retract, most: time.Second},
	{name: "worktrees", start: (*service).reportWorktrees},
	{name: "key watch", start: (*service).watchKeys, stop: (*service).unwatchKeys, most: time.Second},
}

// newService prepares a service; nothing is opened yet.
func newService(cfg config.Serve, logger *slog.Logger, getenv func(string) string) *service {
	life, endLife := context.WithCancel(context.Background())
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	text := newTextLog()
	logger = slog.New(slog.NewMultiHandler(logger.Handler(), text.handler(level)))
	return &service{
		cfg: cfg, logger: logger, text: text, getenv: getenv, life: life, endLife: endLife,
		boot: token(8), logins: bus.NewLogins(), fatal: make(chan string, 8),
	}
}

// token returns n random bytes in hex.
func token(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // Never fails, see its documentation.
	return hex.EncodeToString(b)
}

// start runs the steps in order. On a failure what has started is stopped.
func (s *service) start() error {
	for _, st := range steps {
		began := time.Now()
		if err := st.start(s); err != nil {
			s.stop()
			return err
		}
		s.stops = append(s.stops, st)
		s.logger.Debug("step started", "step", st.name, "ms", time.Since(began).Milliseconds())
	}
	return nil
}

// stop undoes the started steps, last first, each within its limit.
func (s *service) stop() {
	s.draining.Store(true)
	s.ready.Store(false)
	for _, st := range slices.Backward(s.stops) {
		if st.stop == nil {
			continue
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), st.most)
		if err := st.stop(s, ctx); err != nil {
			s.logger.Warn("step not stopped in order", "step", st.name, "reason", err)
		}
		cancel()
		s.logger.Debug("step stopped", "step", st.name, "ms", time.Since(began).Milliseconds())
	}
	s.stops = nil
}

// openData takes the data directory: migration, folder, lock.
func (s *service) openData() error {
	p := s.cfg.Paths
	if home, err := os.UserHomeDir(); err == nil && p.Home == filepath.Join(home, config.DataDirName) {
		migrated, err := store.Migrate(p, filepath.Join(home, config.PriorDataDir))
		if err != nil {
			s.logger.Warn("prior data directory not taken over", "reason", err)
		} else if migrated {
			s.logger.Info("prior data directory copied", "from", config.PriorDataDir)
		}
	}
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		return fmt.Errorf("the data directory %s cannot be created: %w. Choose another one with --home", p.Home, err)
	}
	lock, err := store.Acquire(p)
	if err != nil {
		return err
	}
	s.lock = lock
	if err := s.text.open(p.Logs()); err != nil {
		s.logger.Warn("text log not kept", "folder", p.Logs(), "reason", err)
	}
	return nil
}

func (s *service) closeData(context.Context) error {
	if s.groups != nil {
		if err := s.groups.Close(); err != nil {
			s.logger.Warn("process records not removed", "reason", err)
		}
	}
	return errors.Join(s.text.close(), s.lock.Close())
}

// check logs what a person should know before anything runs; it refuses
// nothing.
func (s *service) check() error {
	for _, name := range config.UnknownEnv(os.Environ()) {
		s.logger.Warn("environment variable not known", "name", name)
	}
	prices, err := userPrices(s.cfg.Paths)
	if err != nil {
		s.logger.Warn("price table left out", "reason", err)
	}
	s.prices = prices
	return nil
}

// sweep ends what a killed service of this data directory left running.
func (s *service) sweep() error {
	ended, err := child.SweepOrphans(s.cfg.Paths.Home, s.boot)
	for _, e := range ended {
		s.logger.Info("orphan ended", "pid", e.PID, "command", e.Command)
	}
	if err != nil {
		s.logger.Warn("orphans left", "reason", err)
	}
	s.groups, err = child.OpenRegistry(child.Marker{BootID: s.boot, Home: s.cfg.Paths.Home})
	if err != nil {
		return fmt.Errorf("the data directory cannot be written: %w", err)
	}
	return nil
}

func (s *service) startNode() error {
	node, err := supervisors.StartNode(supervisors.NodeOptions{
		Logger: s.logger, Debug: s.cfg.LogLevel == "debug",
	})
	if err != nil {
		return err
	}
	s.node = node
	return nil
}

func (s *service) stopNode(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	err := s.node.StopWithin(time.Until(deadline))
	ended := make(chan struct{})
	go func() {
		s.apps.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return err
}

// onEnd is told when an application ends; outside a drain that is a fault.
func (s *service) onEnd(name gen.Atom) func(error) {
	s.apps.Add(1)
	return func(reason error) {
		defer s.apps.Done()
		if !s.draining.Load() {
			s.report(fmt.Sprintf("the part %q of the service ended: %v", string(name), reason))
		}
	}
}

// report hands a fault to main; the first one counts.
func (s *service) report(why string) {
	select {
	case s.fatal <- why:
	default:
	}
}

func (s *service) common() supervisors.Common {
	return supervisors.Common{Fatal: func(f msg.Fatal) {
		s.report(fmt.Sprintf("%s failed too often and the service cannot run without it: %s", f.Name, f.Reason))
	}}
}

// call asks a registered actor; whole seconds, at least one.
func (s *service) call(ctx context.Context, name gen.Atom, request any) (any, error) {
	seconds := 5
	if deadline, ok := ctx.Deadline(); ok {
		seconds = max(1, int(time.Until(deadline)/time.Second))
	}
	return s.node.CallWithTimeout(name, request, seconds)
}

// waitReady asks a named child whether it works yet.
func (s *service) waitReady(name gen.Atom) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := s.call(ctx, name, msg.Ready{})
	if err != nil {
		return fmt.Errorf("%s did not start: %w", string(name), err)
	}
	if done, ok := reply.(msg.Done); ok && done.Err != nil {
		return done.Err
	}
	return nil
}

// finishLedger completes the one entry that a kill may have left between its
// write-ahead file and the ledger. The file names the exact place of its line,
// so this writes what was to be written and never writes it twice; anything
// that does not fit exactly stays, and blocks, for a person to look at.
func (s *service) finishLedger() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := s.call(ctx, msg.Store, msg.ReconcileLedger{})
	if done, ok := reply.(msg.Done); ok && err == nil {
		err = done.Err
	}
	if err != nil {
		s.logger.Error("usage ledger blocked", "reason", err)
	}
	return nil
}

// closeTurns closes what a kill left open, before any door opens. Waking a
// conversation does it; a damaged one keeps nobody else from starting.
func (s *service) closeTurns() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	reply, err := s.call(ctx, msg.Store, msg.Unfinished{})
	if err != nil {
		return fmt.Errorf("the list of interrupted conversations could not be read: %w", err)
	}
	ids, _ := reply.([]contract.ConversationID)
	for _, id := range ids {
		name := msg.ConversationName(id)
		if _, err := s.call(ctx, msg.SessionsSup, msg.Ensure{Name: name, User: true}); err != nil {
			s.logger.Warn("interrupted conversation not closed", "conv", id, "reason", err)
			continue
		}
		if _, err := s.call(ctx, name, msg.Command{Method: contract.MethodGetConversation}); err != nil {
			s.logger.Warn("interrupted conversation not closed", "conv", id, "reason", err)
			continue
		}
		s.logger.Info("interrupted turn closed", "conv", id)
	}
	if reply, err := s.call(ctx, msg.Store, msg.TakeNotices{}); err == nil {
		notices, _ := reply.([]string)
		for _, n := range notices {
			s.logger.Warn("found at the start", "notice", n)
		}
	}
	return nil
}

// announce writes run.json and lets readiness be seen. Whoever sees it may send
// a signal at once, so until then the signals are taken away from Ergo.
func (s *service) announce() error {
	s.node.SettleSignals()
	if s.signals != nil {
		signal.Notify(s.signals, os.Interrupt, syscall.SIGTERM)
		if !signal.Ignored(syscall.SIGHUP) { // Under nohup the end of the terminal is no wish to stop.
			signal.Notify(s.signals, syscall.SIGHUP)
		}
	}
	body, err := json.MarshalIndent(s.run, "", "  ")
	if err != nil {
		return err
	}
	path := s.cfg.Paths.Run()
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(body, '\n'), 0o600); err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	s.ready.Store(true)
	return nil
}

func (s *service) retract(context.Context) error {
	err := os.Remove(s.cfg.Paths.Run())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// drainAgent refuses new turns, cancels the running ones and saves; then it ends
// the programs of others, gently and side by side.
func (s *service) drainAgent(ctx context.Context) error {
	var all []error
	var mu sync.Mutex
	var wg sync.WaitGroup
	reply, err := s.call(ctx, msg.SessionsSup, msg.Quiesce{})
	if err != nil {
		return err
	}
	gate := make(chan struct{}, 32)
	drain := func(list msg.ChildList) {
		for _, c := range list.Children {
			if c.PID == (gen.PID{}) {
				continue
			}
			wg.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				reply, err := s.call(ctx, c.Name, msg.Drain{})
				if done, ok := reply.(msg.Done); ok && err == nil {
					err = done.Err
				}
				if err != nil {
					mu.Lock()
					all = append(all, fmt.Errorf("%s: %w", string(c.Name), err))
					mu.Unlock()
				}
			})
		}
	}
	list, _ := reply.(msg.ChildList)
	drain(list)
	wg.Wait()
	for _, name := range []gen.Atom{msg.EnginesSup, msg.TerminalsSup, msg.MCPSup} {
		reply, err := s.call(ctx, name, msg.Quiesce{})
		if err != nil {
			all = append(all, err)
			continue
		}
		list, _ := reply.(msg.ChildList)
		drain(list)
	}
	wg.Wait()
	// Only now: a hook that is ended while its turn runs has not said yes.
	s.endLife()
	s.groups.KillAll()
	return errors.Join(all...)
}

// drainCore writes everything and then closes the log.
func (s *service) drainCore(ctx context.Context) error {
	reply, err := s.call(ctx, msg.Store, msg.Flush{})
	if done, ok := reply.(msg.Done); ok && err == nil {
		err = done.Err
	}
	reply, busErr := s.call(ctx, msg.Bus, msg.Drain{})
	if done, ok := reply.(msg.Done); ok && busErr == nil {
		busErr = done.Err
	}
	return errors.Join(err, busErr)
}

// turnOptions is what every in-process turn shares.
func (s *service) turnOptions() turn.Options {
	delay := llm.DefaultDemoDelay
	return turn.Options{
		UserHooks: userHooks(), Life: s.life,
		BootID: s.boot, Home: s.cfg.Paths.Home, Register: s.groups.Register, Client: llm.NewHTTPClient(),
		Getenv: s.getenv, DemoDelay: delay, Prices: s.prices,
	}
}

// userHooks is the settings file that may hold a person's own hooks. Source:
// tools-permissions.md 6.
func userHooks() string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return ""
	}
	return filepath.Join(home, ".claude", "settings.json")
}

// wait waits for SIGINT, SIGTERM, SIGHUP or a fault. A second signal, or a stop that
// takes longer than it may, kills every known process group and exits at once.
func (s *service) wait() (fault string) {
	select {
	case sig := <-s.signals:
		s.logger.Info("stopping", "signal", sig.String())
	case fault = <-s.fatal:
		s.logger.Error("stopping after a fault", "reason", fault)
	}
	go func() {
		select {
		case <-s.signals:
			s.logger.Error("second signal, stopping at once")
		case <-time.After(config.DrainMost):
			s.logger.Error("the stop took too long, stopping at once")
		}
		s.groups.KillAll()
		os.Exit(1)
	}()
	s.stop()
	return fault
}
