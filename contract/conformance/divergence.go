package conformance

import (
	"slices"

	"github.com/packetbench/packetbench/contract"
)

// Divergence is one documented difference between a transport and the full
// contract.
type Divergence struct {
	// Subject is what differs: a kind that is never emitted ("plan-block"), a
	// key that is always absent ("tool-start.input"), or a rule of this
	// package that does not hold ("prompt-id").
	Subject string
	Reason  string
}

// Divergences lists everything a transport may lack. Source: the marks of
// contract.md 2 and the notes of 2.1; nothing else belongs here.
var Divergences = map[contract.Transport][]Divergence{
	contract.TransportInProcess: {
		{string(contract.KindPlanBlock), "the providers behind the turn loop have no plan protocol"},
		{string(contract.KindToolOutputExtended), "the tools put everything into the result"},
		{string(contract.KindTurnSummary), "usage is written to the ledger at each model request, so a summary would count it twice"},
		{string(contract.KindMCPSources), "MCP servers are the service's own and are listed in its settings"},
		{"tool-start.input", "the call is announced before its arguments have streamed"},
		{"permission-request.batch_id", "each call asks for itself"},
		{"permission-request.batch_size", "each call asks for itself"},
		{"done.resume_token", "the transcript is the session; there is nothing to resume"},
	},
	contract.TransportSidecar: {
		{string(contract.KindMCPSources), "only a session on another machine reports where its servers come from"},
	},
	contract.TransportACP: {
		{string(contract.KindPendingEdit), "the engine writes files itself and asks through permissions"},
		{string(contract.KindEditBaseline), "the engine writes files itself and does not show them before"},
		{string(contract.KindToolOutputExtended), "the protocol has no such fields"},
		{string(contract.KindTurnSummary), "the engine's totals are of its session, not of a turn; acp_session_usage answers with them"},
		{string(contract.KindMCPSources), "the engine keeps its servers to itself"},
		{string(contract.KindRateLimited), "the engine waits for its provider without saying so"},
		{"permission-request.batch_id", "the protocol has no batches"},
		{"permission-request.batch_size", "the protocol has no batches"},
		{"done.resume_token", "the engine's session id is what resumes, and it stays in the transport"},
		{string(RulePromptID), "a prompt's id is the id of the engine's request, not of the call"},
		{string(RuleCounts), "the engine counts over its session, so a turn's counts are 0"},
	},
}

// declared returns the divergence of t about subject.
func declared(t contract.Transport, subject string) (Divergence, bool) {
	i := slices.IndexFunc(Divergences[t], func(d Divergence) bool { return d.Subject == subject })
	if i < 0 {
		return Divergence{}, false
	}
	return Divergences[t][i], true
}
