package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/acp"
	"github.com/packetbench/packetbench/actors/secret"
	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// conformanceCmd judges what is not ours. Source: interface.md 2.
type conformanceCmd struct {
	ACP conformanceACPCmd `cmd:"" name:"acp" help:"Run the contract suite against an engine that speaks the Agent Client Protocol."`
}

// conformanceACPCmd plays the contract suite with an engine behind a service of
// its own and prints what passed.
type conformanceACPCmd struct {
	Env        []string      `help:"Give the engine this variable; may be repeated. {URL}, {MODEL} and {SIDE_MODEL} in it are replaced." placeholder:"NAME=VALUE" sep:"none"`
	AuthMethod string        `help:"Log in with this method when the engine asks for it." placeholder:"ID"`
	MyHome     bool          `help:"Give the engine your own home folder instead of an empty one. Its sessions stay there."`
	Toolless   bool          `help:"The engine's model requests carry no tools: every request counts, and what needs tools is skipped."`
	Limit      time.Duration `help:"How long one scenario may take." default:"60s"`
	Verbose    bool          `help:"Show what the engine writes to its standard error."`
	Command    []string      `arg:"" help:"The engine's program and its arguments, behind --."`
}

// Help says how an engine is set up for it.
func (conformanceACPCmd) Help() string {
	return `A service of its own starts the engine, plays every scenario of the suite and prints one line each: passed, failed with what was wrong, allowed (a divergence that the contract grants ACP) or skipped with the reason. Exit 0 when nothing failed.

The model behind the engine is a script of ours on loopback. Point the engine at it: the variables OPENAI_BASE_URL (with /v1), OPENAI_API_KEY, ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY are set, and so are PACKETBENCH_CONFORMANCE_URL (without /v1), PACKETBENCH_CONFORMANCE_MODEL and PACKETBENCH_CONFORMANCE_SIDE_MODEL. It speaks Chat Completions, Responses and Messages under that one address and takes any key. Let the engine use the model ` + mainModel + ` for its turns, and ` + sideModel + ` for titles and the like: whatever asks for that model, or offers no tools, is no part of a turn.

An engine that reads its provider from a file gets a small script as COMMAND that writes the file from those variables and then runs the engine. The engine should ask before it runs a command, offer a tool that reads a file, one that writes one and one that runs a shell command, and be logged in.

opencode needs nothing more:  packetbench conformance acp -- opencode acp

An engine that asks no model is judged by turns of its own: the rules of the event stream, prompts, cancelling, queueing, its death.`
}

// The models that an engine is told to use.
const (
	mainModel = "conformance"
	sideModel = "conformance-side"
)

// judgedEngine is the name of the engine in the settings of its service.
const judgedEngine = "judged"

// Run judges the engine.
func (c *conformanceACPCmd) Run(g *Globals) error {
	ctx, stop := untilSignal()
	defer stop()
	dir, err := os.MkdirTemp("", "packetbench-conformance-")
	if err != nil {
		return &ExitError{exitFailure, fmt.Sprintf("No folder for the engine could be made: %v. Look at the free space and permissions of %s.", err, os.TempDir())}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	model := &scriptedModel{toolless: c.Toolless}
	server := loopback.NewAny(mainModel, sideModel)
	defer server.Close()
	server.Choose(model.next)
	spec, err := c.spec(server.URL, filepath.Join(dir, "home"))
	if err != nil {
		return err
	}
	run, end, err := c.service(g, filepath.Join(dir, "data"))
	if err != nil {
		return failed(err)
	}
	defer end()
	j := &judge{ctx: ctx, run: run, model: model, dir: dir, limit: c.Limit}
	if err := j.define(spec); err != nil {
		return failed(err)
	}
	suite, err := j.suite(g)
	if err != nil {
		return failed(err)
	}
	out := &printer{w: g.Stdout}
	suite.Played = func(r conformance.Result) { out.print(r.String() + "\n") }
	report := conformance.Play(ctx, suite)
	switch {
	case out.err != nil:
		return out.err
	case ctx.Err() != nil:
		return &ExitError{exitInterrupted, ""}
	}
	if err := report.PrintEnd(g.Stdout); err != nil {
		return err
	}
	if !report.OK() {
		return &ExitError{exitFailure, "The engine does not keep the contract; the lines above say where."}
	}
	return nil
}

// service starts the one that judges. It keeps away from the person's keyring.
func (c *conformanceACPCmd) service(g *Globals, home string) (runFile, func(), error) {
	own := *g
	own.Home = home
	own.Getenv = func(name string) string {
		if name == secret.EnvNoKeyring {
			return "1"
		}
		return g.Getenv(name)
	}
	if !c.Verbose {
		return startService(&own)
	}
	return startAt(&own, "info")
}

// engineSpec is an engine as the settings hold it.
type engineSpec struct {
	Name       string            `json:"name"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	AuthMethod string            `json:"auth_method,omitempty"`
}

// spec is the engine with the environment that leads it to the script.
func (c *conformanceACPCmd) spec(url, home string) (engineSpec, error) {
	command := c.Command[0]
	if strings.ContainsAny(command, `/`+string(filepath.Separator)) {
		if abs, err := filepath.Abs(command); err == nil {
			command = abs
		}
	}
	path, ok := acp.ResolveProgram(command)
	if !ok {
		return engineSpec{}, &ExitError{exitFailure, c.Command[0] + " was not found, or cannot be started. Give a program on PATH or its path."}
	}
	fill := strings.NewReplacer("{URL}", url, "{MODEL}", mainModel, "{SIDE_MODEL}", sideModel)
	env := map[string]string{
		"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_BASE": url + "/v1", "OPENAI_API_KEY": "conformance",
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "conformance",
		"PACKETBENCH_CONFORMANCE_URL": url, "PACKETBENCH_CONFORMANCE_MODEL": mainModel, "PACKETBENCH_CONFORMANCE_SIDE_MODEL": sideModel,
	}
	if !c.MyHome {
		if err := privateHome(env, home); err != nil {
			return engineSpec{}, &ExitError{exitFailure, fmt.Sprintf("No home folder for the engine could be made: %v.", err)}
		}
	}
	if known := knownSetups[strings.TrimSuffix(filepath.Base(path), ".exe")]; known != nil {
		for name, value := range known {
			env[name] = fill.Replace(value)
		}
	}
	for _, v := range c.Env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return engineSpec{}, &ExitError{exitUsage, "--env: want NAME=VALUE, got " + plaintext.Line(v, 80)}
		}
		env[name] = fill.Replace(value)
	}
	args := make([]string, 0, len(c.Command))
	for _, a := range c.Command[1:] {
		args = append(args, fill.Replace(a))
	}
	return engineSpec{Name: judgedEngine, Command: path, Args: args, Env: env, AuthMethod: c.AuthMethod}, nil
}

// privateHome keeps an engine away from what a person has of it.
func privateHome(env map[string]string, home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	env["HOME"], env["PACKETCODE_HOME"] = home, filepath.Join(home, ".packetcode")
	for name, folder := range map[string]string{"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache"} {
		env[name] = filepath.Join(home, filepath.FromSlash(folder))
	}
	if runtime.GOOS == "windows" {
		env["USERPROFILE"] = home
	}
	return nil
}

// knownSetups are the variables of engines whose provider is set by one.
var knownSetups = map[string]map[string]string{
	"opencode": {
		"OPENCODE_CONFIG_CONTENT": `{"provider":{"script":{"npm":"@ai-sdk/openai-compatible","name":"Script","options":{"baseURL":"{URL}/v1","apiKey":"conformance"},` +
			`"models":{"{MODEL}":{"name":"Script","reasoning":true,"tool_call":true},"{SIDE_MODEL}":{"name":"Script, aside"}}}},` +
			`"model":"script/{MODEL}","small_model":"script/{SIDE_MODEL}","enabled_providers":["script"],"permission":{"bash":"ask","edit":"ask"},"autoupdate":false,"share":"disabled"}`,
		"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
	},
}

// judge plays the suite with one engine behind one service.
type judge struct {
	ctx   context.Context
	run   runFile
	model *scriptedModel
	dir   string
	limit time.Duration
}

// define puts the engine into the settings of the service.
func (j *judge) define(spec engineSpec) error {
	conn, err := dial(j.ctx, j.run.URL, j.run.OwnerToken)
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.call(j.ctx, contract.MethodSetSettings, map[string]any{"app": map[string]any{contract.SettingEngines: []engineSpec{spec}}}, nil)
}

func (j *judge) open(_ context.Context, s conformance.Script) (conformance.Harness, error) {
	conn, err := dial(j.ctx, j.run.URL, j.run.OwnerToken)
	if err != nil {
		return nil, err
	}
	project, err := os.MkdirTemp(j.dir, "project-")
	if err != nil {
		conn.close()
		return nil, err
	}
	j.model.load(project, s)
	return &judged{judge: j, conn: conn, project: project}, nil
}

// suite finds out in trial turns what the engine can be made to do, and says so.
func (j *judge) suite(g *Globals) (conformance.Suite, error) {
	s := conformance.Suite{Transport: contract.TransportACP, Limit: j.limit, Open: j.open, Lacks: map[conformance.Feature]string{
		conformance.FeatureOneShot: "a single question is asked of a provider, never of an engine",
	}}
	first, err := j.trial(conformance.Step{Thinking: []string{"Well."}, Text: []string{"Ready."}})
	if err != nil {
		return s, err
	}
	asked, tools := j.model.met()
	switch {
	case !asked:
		s.Unscripted = "the engine plays turns of its own"
		fmt.Fprintln(g.Stderr, "The engine asked the scripted model nothing, so it is judged by turns of its own. See --help for how to point it at the script.")
		return s, nil
	case !first.seen[contract.KindThinking]:
		s.Lacks[conformance.FeatureThinking] = "the engine did not pass the model's thinking on in a trial turn"
	}
	if missing := tools.missing(); missing != "" {
		s.Lacks[conformance.FeatureTools] = missing
	}
	if err := j.tryTools(&s, tools); err != nil {
		return s, err
	}
	fmt.Fprintln(g.Stderr, "The engine offers its model: "+plaintext.Line(tools.String(), 300))
	for _, f := range slices.Sorted(maps.Keys(s.Lacks)) {
		fmt.Fprintf(g.Stderr, "Not judged: %s, because %s.\n", f, s.Lacks[f])
	}
	return s, nil
}

// tryTools finds out whether a plan is published and a command asks.
func (j *judge) tryTools(s *conformance.Suite, tools toolset) error {
	switch {
	case tools.plan == nil:
		s.Lacks[conformance.FeaturePlan] = "the engine offers its model no tool that publishes a plan"
	default:
		t, err := j.trial(conformance.Step{Plan: []contract.PlanItem{{Content: "Try", Status: contract.PlanInProgress}}, Text: []string{"Planned."}})
		if err != nil {
			return err
		}
		if !t.seen[contract.KindPlanBlock] {
			s.Lacks[conformance.FeaturePlan] = "the engine sent no plan in a trial turn"
		}
	}
	if s.Lacks[conformance.FeatureTools] != "" {
		return nil
	}
	run := conformance.Call{Do: conformance.ActionRun, Text: "echo trial"}
	t, err := j.trial(conformance.Step{Calls: []conformance.Call{run, run}}, conformance.Step{Text: []string{"Ran."}})
	switch {
	case err != nil:
		return err
	case !t.seen[contract.KindPermissionRequest]:
		s.Lacks[conformance.FeaturePrompts] = "the engine ran a command in a trial turn without asking; set it up to ask"
	case t.open < 2:
		s.Lacks[conformance.FeatureTogether] = "the engine asked about a second command only when it was told about the first"
	}
	return nil
}

// trial is one turn of a conversation of its own; prompts are allowed.
func (j *judge) trial(steps ...conformance.Step) (tried, error) {
	ctx, cancel := context.WithTimeout(j.ctx, j.limit)
	defer cancel()
	h, err := j.open(ctx, conformance.Script{Steps: steps})
	if err != nil {
		return tried{}, err
	}
	defer h.Close()
	t, err := tryTurn(ctx, h)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("The engine did not end a trial turn within %s. See what it does with --verbose, or give it more time with --limit.", j.limit)
	}
	return t, err
}
