package acp

import (
	"encoding/json"
	"math"
)

// Usage is what acp_session_usage answers: totals over the whole session of the
// engine, in tokens and USD. The cached counts are 0 where the engine does not
// report them. Source: acp.md 6.2.
type Usage struct {
	ContextTokens uint64  `json:"contextTokens"`
	TotalInput    uint64  `json:"totalInput"`
	TotalOutput   uint64  `json:"totalOutput"`
	CostUSD       float64 `json:"costUsd"`
	CacheRead     uint64  `json:"cacheRead,omitempty"`
	CacheWrite    uint64  `json:"cacheWrite,omitempty"`
}

// turnUsage is what one turn used. Engines that report totals are told apart
// from those that report turns: adding totals up would count a session again
// with every turn.
type turnUsage struct {
	Input, Output, CacheRead, CacheWrite uint64
}

// decodeTotals reads packetcode's usage object; ok is false for another shape.
func decodeTotals(raw json.RawMessage) (u Usage, ok bool) {
	fields := object(raw)
	if fields == nil {
		return Usage{}, false
	}
	in, inOK := number(fields["totalInput"])
	out, outOK := number(fields["totalOutput"])
	if !inOK || !outOK {
		return Usage{}, false
	}
	used, _ := number(fields["contextTokens"])
	return Usage{ContextTokens: count(used), TotalInput: count(in), TotalOutput: count(out), CostUSD: cost(fields["costUsd"])}, true
}

// promptUsage reads what the answer to a prompt says about usage, in each of
// the known shapes. At most one of totals and turn is set; both nil means that
// the engine said nothing, or nothing readable.
func promptUsage(result json.RawMessage) (totals *Usage, turn *turnUsage) {
	top := object(result)
	if u, ok := decodeTotals(object(top["_packetcode"])["usage"]); ok {
		return &u, nil
	}
	if t, ok := decodeTurn(top["usage"]); ok {
		return nil, &t
	}
	quota := object(object(top["_meta"])["quota"])
	if t, ok := decodeTurn(quota["token_count"]); ok {
		return nil, &t
	}
	return nil, nil
}

// decodeTurn reads the usage of one turn: claude-agent-acp and opencode, gemini
// (snake_case), qwen.
func decodeTurn(raw json.RawMessage) (turnUsage, bool) {
	fields := object(raw)
	in, inOK := number(first(fields, "inputTokens", "input_tokens"))
	out, outOK := number(first(fields, "outputTokens", "output_tokens"))
	if !inOK && !outOK {
		return turnUsage{}, false
	}
	read, _ := number(fields["cachedReadTokens"])
	write, _ := number(fields["cachedWriteTokens"])
	return turnUsage{Input: count(in), Output: count(out), CacheRead: count(read), CacheWrite: count(write)}, true
}

// add joins what one more turn used.
func (u *Usage) add(t turnUsage) {
	u.TotalInput += t.Input
	u.TotalOutput += t.Output
	u.CacheRead += t.CacheRead
	u.CacheWrite += t.CacheWrite
}

// since is what was used between two totals of one session. A total that is
// smaller than before belongs to a session that began again.
func (u Usage) since(before Usage) turnUsage {
	if u.TotalInput < before.TotalInput || u.TotalOutput < before.TotalOutput {
		before = Usage{}
	}
	return turnUsage{Input: u.TotalInput - before.TotalInput, Output: u.TotalOutput - before.TotalOutput}
}

// costSince is what was spent between two totals, in USD; nil for an engine that
// counts no money.
func (u Usage) costSince(before Usage) *float64 {
	if u.CostUSD == 0 {
		return nil
	}
	spent := u.CostUSD
	if before.CostUSD <= spent {
		spent -= before.CostUSD
	}
	return &spent
}

func first(fields map[string]json.RawMessage, keys ...string) json.RawMessage {
	for _, k := range keys {
		if !absent(fields[k]) {
			return fields[k]
		}
	}
	return nil
}

// number reads a JSON number; ok is false for anything else.
func number(raw json.RawMessage) (n float64, ok bool) {
	if absent(raw) || json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	return n, true
}

// count is a number of tokens; what is negative or beyond all sense counts as 0.
func count(n float64) uint64 {
	if !(n > 0) || n >= 1<<53 {
		return 0
	}
	return uint64(n)
}

func cost(raw json.RawMessage) float64 {
	n, _ := number(raw)
	if !(n > 0) || math.IsInf(n, 0) {
		return 0
	}
	return n
}
