package bridge

import (
	"context"
	"encoding/json"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Engines answers what a window asks about ACP engines beyond any conversation.
// Implemented by the wiring.
type Engines interface {
	// Sessions may start the engine.
	Sessions(ctx context.Context, p contract.ProviderID) (contract.EngineSessions, *contract.Failure)
	// MCPPlan starts nothing; its folder is absolute and exists.
	MCPPlan(ctx context.Context, p contract.MCPPlanParams) (contract.MCPPlan, *contract.Failure)
	// Probe runs the default engine's own check.
	Probe(ctx context.Context) contract.EngineProbe
	// CheckPin judges a path before it is kept.
	CheckPin(path string) (string, error)
}

// engineMethods are the methods about engines.
var engineMethods = map[contract.Method]handler{
	contract.MethodEngineSessions: engineSessions,
	contract.MethodMCPPlan:        mcpPlan,
	contract.MethodProbeEngine:    probeEngine,
	contract.MethodPinEngine:      pinEngine,
}

// engineWait bounds a question to an engine that has to start first.
const engineWait = 75 * time.Second

func engineSessions(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.EngineParams](raw)
	if failure != nil {
		return nil, failure
	}
	if contract.EngineOf(p.Provider) == "" {
		return nil, contract.BadParam("provider", "want packetcode-acp or acp-<name>")
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineWait)
	defer cancel()
	held, failure := d.opt.Engines.Sessions(ctx, p.Provider)
	if failure != nil {
		return nil, failure
	}
	if held.Sessions == nil {
		held.Sessions = []contract.EngineSession{}
	}
	return held, nil
}

func mcpPlan(d *doors, _ caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.MCPPlanParams](raw)
	if failure == nil {
		failure = folder(p.ProjectPath)
	}
	if failure != nil {
		return nil, failure
	}
	if p.Provider == "" {
		p.Provider = contract.ProviderPacketcode
	}
	if contract.EngineOf(p.Provider) == "" {
		return nil, contract.BadParam("provider", "want packetcode-acp or acp-<name>")
	}
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	plan, failure := d.opt.Engines.MCPPlan(ctx, p)
	if failure != nil {
		return nil, failure
	}
	return plan, nil
}

func probeEngine(d *doors, _ caller, _ json.RawMessage) (any, *contract.Failure) {
	ctx, cancel := context.WithTimeout(context.Background(), slow*time.Second)
	defer cancel()
	return d.opt.Engines.Probe(ctx), nil
}

// pinEngine keeps a path that was judged first and answers with what the engine
// there says of itself.
func pinEngine(d *doors, c caller, raw json.RawMessage) (any, *contract.Failure) {
	p, failure := params[contract.PinEngineParams](raw)
	if failure != nil {
		return nil, failure
	}
	if p.Path != "" {
		path, err := d.opt.Engines.CheckPin(p.Path)
		if err != nil {
			return nil, contract.BadParam("path", "%s", err)
		}
		p.Path = path
	}
	patch, err := contract.Marshal(map[string]any{"app": map[string]string{contract.SettingEnginePath: p.Path}})
	if err != nil {
		return nil, contract.BadParam("path", "%s", err)
	}
	if _, failure := settingsReply(d.call(msg.Store, msg.PatchSettings{Patch: patch}, quick)); failure != nil {
		return nil, failure
	}
	d.authChanged(contract.AuthProbe(contract.ProviderPacketcode))
	return probeEngine(d, c, nil)
}
