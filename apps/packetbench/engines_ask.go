package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/packetbench/packetbench/actors/acp"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// The waits for an engine's host, in seconds: the supervisor, and an engine that
// has to start before it can answer.
const (
	ensureWait = 6
	askWait    = 45
)

// Sessions lists what an engine holds; it is started for that.
func (e *engines) Sessions(_ context.Context, p contract.ProviderID) (contract.EngineSessions, *contract.Failure) {
	name := contract.EngineOf(p)
	reply, err := e.node.CallWithTimeout(msg.EnginesSup, msg.Ensure{Name: msg.EngineName(name), User: true}, ensureWait)
	if err != nil {
		return contract.EngineSessions{}, contract.Fail(contract.CodeInternal, "The engine could not be started just now. Try again.")
	}
	if started, ok := reply.(msg.Ensured); ok && started.Err != nil {
		return contract.EngineSessions{}, started.Err
	}
	reply, err = e.node.CallWithTimeout(msg.EngineName(name), msg.EngineSessions{}, askWait)
	list, ok := reply.(msg.EngineSessionList)
	switch {
	case err != nil || !ok:
		why := e.state(name).failure(e.now())
		if why == "" {
			why = "The engine did not answer. Try again."
		}
		return contract.EngineSessions{}, contract.Fail(contract.CodeInternal, "%s", why)
	}
	return list.EngineSessions, list.Failure
}

// MCPPlan says which MCP servers an engine would get; it starts nothing.
func (e *engines) MCPPlan(_ context.Context, p contract.MCPPlanParams) (contract.MCPPlan, *contract.Failure) {
	reply, err := e.node.CallWithTimeout(msg.Store, msg.TrustQuestion{ProjectPath: p.ProjectPath}, 5)
	trust, ok := reply.(msg.TrustAnswer)
	if err != nil || !ok {
		trust = msg.TrustAnswer{} // What is not known to be trusted is not.
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // Then no server of all projects is known.
	}
	project, err := filepath.EvalSymlinks(p.ProjectPath)
	if err != nil {
		project = p.ProjectPath
	}
	in := acp.PlanInput{
		Project: project, Snapshot: p.MCPTrustSnapshot, Inherit: p.InheritEngineDefaults, Resolve: acp.ResolveCommand,
		Servers: acp.Configured(home, project, trust.Trusted, os.ReadFile, func(string) {}),
	}
	if p.EnabledMCPServerIDs != nil {
		in.Enabled = &p.EnabledMCPServerIDs
	}
	if facts := e.state(contract.EngineOf(p.Provider)).facts; facts != nil {
		in.Offered = facts.Defaults
	}
	plan := acp.MakePlan(in)
	out := contract.MCPPlan{
		Posture: string(plan.Posture), Selected: slices.Clone(plan.Selected), InheritRefused: plan.InheritRefused,
		Servers: []contract.MCPPlanServer{},
	}
	for _, s := range plan.Servers {
		out.Servers = append(out.Servers, contract.MCPPlanServer(s))
	}
	return out, nil
}
