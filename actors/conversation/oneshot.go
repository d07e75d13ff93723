package conversation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/contract"
)

// oneShotTasks are the features that may ask one question. Source: runtime.md 4.
var oneShotTasks = []string{
	"spec-import", "spec-to-flight", "spec-to-tickets", "code-quality-explain", "code-quality-summarize",
	"pr-description", "pr-review", "github-catch-up", "github-triage", "issue-investigate", "memory-scan",
	"session-summarize", "pattern-extract", "flight-retrospective", "agent-chat", "side-chat",
}

// cheapModels are the models that a one-shot may be sent to unasked. Source:
// runtime.md 4. Never the demo, never a subscription login.
var cheapModels = []struct {
	provider contract.ProviderID
	model    string
}{
	{contract.ProviderAnthropic, "claude-haiku-4-5"},
	{contract.ProviderOpenAI, "o4-mini"},
	{contract.ProviderMiniMax, "MiniMax-M2"},
	{contract.ProviderOpenRouter, "anthropic/claude-haiku-4.5"},
}

// oneShot answers one question on a pre-allocated id: chunk, then done or
// error. There is no conversation, no file and no tool.
func (c *core) oneShot(now time.Time, p contract.OneShotParams) (any, *contract.Failure) {
	if c.rec != nil {
		return nil, contract.Fail(contract.CodeConflict, "%s%s", contract.TextSessionExists, c.id)
	}
	if !slices.Contains(oneShotTasks, p.Task) {
		return nil, contract.BadParam("task", "want one of %s", strings.Join(oneShotTasks, ", "))
	}
	if failure := checkText("prompt", p.Prompt, nil); failure != nil {
		return nil, failure
	}
	model := strings.TrimSpace(p.Model)
	if p.Provider != "" {
		if transport, err := contract.ProviderTransport(p.Provider); err != nil {
			return nil, contract.Fail(contract.CodeBadParams, "%s", plain(err))
		} else if transport != contract.TransportInProcess {
			return nil, contract.BadParam("provider", "%s cannot answer a single question", p.Provider)
		}
		for _, m := range cheapModels {
			if model == "" && m.provider == p.Provider {
				model = m.model
			}
		}
		if model == "" {
			return nil, contract.BadParam("model", "must be given for provider %s", p.Provider)
		}
	} else if model != "" {
		return nil, contract.BadParam("provider", "must be given with a model")
	}
	row := contract.Row{Provider: p.Provider}
	c.rec = newRecord(now, c.id, contract.StartParams{SessionID: c.id, Model: model, InitialMessage: p.Prompt, SystemPromptOverride: p.System}, row)
	c.oneShotOnly, c.task = true, p.Task
	c.append(contract.RecordMessage{ID: c.messageID(), Role: contract.RoleUser, Content: p.Prompt, Timestamp: now.UnixMilli()})
	return contract.StartResult{SessionID: c.id, TurnID: c.begin(now, nil, false)}, nil
}

// cheapest picks, of the providers with a key, the one whose answer of a usual
// size costs least; an unknown price ranks last.
func cheapest(node gen.Node, task string) (contract.ProviderID, string, error) {
	reply, err := node.CallWithTimeout(msg.Secret, msg.KeyStatus{}, 8)
	infos, ok := reply.([]contract.KeyInfo)
	if err != nil || !ok {
		return "", "", errors.New("the key store did not answer; try again")
	}
	best, bestCost := -1, 0.0
	for i, m := range cheapModels {
		row, err := contract.RowForProvider(m.provider)
		if err != nil || !slices.ContainsFunc(infos, func(k contract.KeyInfo) bool { return k.Account == row.Account && k.Present }) {
			continue
		}
		cost, status := llm.Cost(nil, m.provider, m.model, llm.TokenCounts{Input: 20_000, Output: 1_500}, time.Now())
		if status == llm.PriceUnknown {
			cost = 1e9
		}
		if best < 0 || cost < bestCost {
			best, bestCost = i, cost
		}
	}
	if best < 0 {
		return "", "", fmt.Errorf("no provider with an API key is set up for %s; add one in Settings > API Keys", task)
	}
	return cheapModels[best].provider, cheapModels[best].model, nil
}
