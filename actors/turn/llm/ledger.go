package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// AgentSubagent is the agent id of rows that a child loop caused. A one-shot
// request has its task id there, a turn of a person nothing.
const AgentSubagent = "subagent"

// LedgerRow is one line of usage.jsonl: what one provider request, or one turn
// of a transport that reports turns, used and cost. Source: runtime.md 5.
//
// Keys that we do not know come back out where the row is written again, so
// that an older service never strips what a newer one wrote.
type LedgerRow struct {
	// TS is the time of the request, ISO 8601 UTC to the second, with Z.
	TS     string
	Source contract.LedgerSource
	// Model may be empty for an ACP engine on its own default.
	Model string
	// Provider is empty on old rows.
	Provider contract.ProviderID
	// AgentID is empty (null on disk), AgentSubagent or the id of a task.
	AgentID   string
	SessionID contract.ConversationID
	// The counts are the vendor's raw numbers, in tokens.
	InputTokens, OutputTokens, CacheRead, CacheWrite uint64
	// CostUSD is the price when the row was written.
	CostUSD float64
	// RepricedAt and CostUSDBefore are set by a reprice pass only.
	RepricedAt    string
	CostUSDBefore *float64

	extra []ledgerField
}

// ledgerField is a key that we do not know with its value, compacted.
type ledgerField struct {
	key   string
	value json.RawMessage
}

// LedgerRowError says why a line is not a row. Any such line means that the
// ledger cannot be summed, and nothing may be spent until a person looked.
type LedgerRowError struct {
	// Field is the key at fault; empty when the line is no JSON object.
	Field string
	// Reason never quotes the line: it may hold what a person typed.
	Reason string
}

// Error names the field and the reason.
func (e *LedgerRowError) Error() string {
	if e.Field == "" {
		return "usage ledger: the line " + e.Reason
	}
	return "usage ledger: " + e.Field + " " + e.Reason
}

// RowFacts is what a ledger row is made from.
type RowFacts struct {
	// Provider is what prices are looked up by; empty means the provider that
	// the source stands for, which aux does not have.
	Provider  contract.ProviderID
	Model     string
	AgentID   string
	SessionID contract.ConversationID
	Counts    TokenCounts
	// At is when the request was made; prices are those of its date.
	At time.Time
	// Prices may be nil: our own table and the catalogue.
	Prices *PriceTable
	// CostUSD is what an engine says it spent. It replaces our price when it is
	// a number of 0 or more, because the engine knows its own route.
	CostUSD *float64
}

// Row builds the ledger row of one request.
//
// Source is an id of any space: a row, a provider, an engine, or aux for
// one-shot features. It fails with contract.ErrUnknownProvider for any other,
// and for an unknown facts.Provider: usage is billed to what caused it or to
// nobody, never to a default. Write is false, without an error, where no row
// belongs into the ledger: the demo and the sidecar's echo, a sidecar turn
// without a model, and a turn without a token unless our own loop made the
// request. Source: contract.md 9.
func Row(source string, facts RowFacts) (row LedgerRow, write bool, err error) {
	if contract.ProviderID(source) == contract.ProviderEcho || facts.Provider == contract.ProviderEcho || facts.Provider == contract.ProviderDemo {
		return LedgerRow{}, false, nil
	}
	id, err := contract.LedgerSourceOf(source)
	if err != nil {
		return LedgerRow{}, false, fmt.Errorf("llm: ledger row: %w", err)
	}
	if id == "" {
		return LedgerRow{}, false, nil
	}
	if facts.Provider == "" {
		facts.Provider = providerOf(id)
	}
	transport := contract.TransportInProcess
	if facts.Provider != "" {
		if transport, err = contract.ProviderTransport(facts.Provider); err != nil {
			return LedgerRow{}, false, fmt.Errorf("llm: ledger row: %w", err)
		}
	}
	empty := facts.Counts == TokenCounts{}
	switch {
	case facts.Model == "" && transport != contract.TransportACP,
		empty && (transport != contract.TransportInProcess || id == contract.LedgerAux):
		return LedgerRow{}, false, nil
	}
	cost, _ := Cost(facts.Prices, facts.Provider, facts.Model, facts.Counts, facts.At)
	if facts.CostUSD != nil && checkCost(*facts.CostUSD) == nil {
		cost = *facts.CostUSD
	}
	return LedgerRow{
		TS:           LedgerTime(facts.At),
		Source:       id,
		Model:        facts.Model,
		Provider:     facts.Provider,
		AgentID:      facts.AgentID,
		SessionID:    facts.SessionID,
		InputTokens:  facts.Counts.Input,
		OutputTokens: facts.Counts.Output,
		CacheRead:    facts.Counts.CacheRead,
		CacheWrite:   facts.Counts.CacheWrite5m + facts.Counts.CacheWrite1h,
		CostUSD:      cost,
	}, true, nil
}

// providerOf returns the provider whose turns have this source, empty for aux.
func providerOf(id contract.LedgerSource) contract.ProviderID {
	candidates := append(contract.InProcessProviders(),
		contract.ProviderClaudeOAuth, contract.ProviderAgents, contract.ProviderPacketcode,
		contract.ProviderID(id)) // An engine of Settings has one id for both.
	for _, p := range candidates {
		if source, err := contract.LedgerSourceOf(string(p)); err == nil && source == id && source != contract.LedgerAux {
			return p
		}
	}
	return ""
}

// LedgerTime writes a time as the ledger holds it.
func LedgerTime(at time.Time) string { return at.UTC().Truncate(time.Second).Format(time.RFC3339) }

// Time returns the time of the row.
func (r LedgerRow) Time() (time.Time, error) {
	at, err := time.Parse(time.RFC3339, r.TS)
	if err != nil {
		return time.Time{}, &LedgerRowError{Field: "ts", Reason: "is not a time such as 2026-08-31T12:00:00Z"}
	}
	return at.UTC(), nil
}

// Counts returns the counts of the row for Cost. The ledger does not tell
// 1-hour writes from 5-minute ones; all are taken for the latter, which is the
// only kind our own requests ask for.
func (r LedgerRow) Counts() TokenCounts {
	return TokenCounts{Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheRead, CacheWrite5m: r.CacheWrite}
}

// checkCost refuses what cannot be summed.
func checkCost(usd float64) error {
	if math.IsNaN(usd) || math.IsInf(usd, 0) || usd < 0 {
		return &LedgerRowError{Field: "cost_usd", Reason: "is not a number of 0 or more"}
	}
	return nil
}

// check refuses a row that a reader would refuse.
func (r LedgerRow) check() error {
	if r.Source == "" {
		return &LedgerRowError{Field: "source", Reason: "is empty"}
	}
	if err := checkCost(r.CostUSD); err != nil {
		return err
	}
	if r.CostUSDBefore != nil && checkCost(*r.CostUSDBefore) != nil {
		return &LedgerRowError{Field: "cost_usd_before", Reason: "is not a number of 0 or more"}
	}
	_, err := r.Time()
	return err
}

// EncodeLedgerRow returns the row as one line, the line end included. It fails
// with a *LedgerRowError for a row that DecodeLedgerRow would refuse.
func EncodeLedgerRow(r LedgerRow) ([]byte, error) {
	line, err := r.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// MarshalJSON writes the keys in the order of runtime.md 5, then the unknown
// ones in the order they came in.
func (r LedgerRow) MarshalJSON() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var agent any
	if r.AgentID != "" {
		agent = r.AgentID
	}
	line := bytes.NewBufferString("{")
	write := func(key string, value any) {
		if line.Len() > 1 {
			line.WriteByte(',')
		}
		// Strings, numbers and compacted JSON: nothing that Marshal refuses.
		name, _ := json.Marshal(key)
		text, _ := json.Marshal(value)
		line.Write(name)
		line.WriteByte(':')
		line.Write(text)
	}
	write("ts", r.TS)
	write("source", r.Source)
	write("model", r.Model)
	if r.Provider != "" {
		write("provider", r.Provider)
	}
	write("agent_id", agent)
	write("session_id", r.SessionID)
	write("input_tokens", r.InputTokens)
	write("output_tokens", r.OutputTokens)
	write("cache_read", r.CacheRead)
	write("cache_write", r.CacheWrite)
	write("cost_usd", r.CostUSD)
	if r.RepricedAt != "" {
		write("repriced_at", r.RepricedAt)
	}
	if r.CostUSDBefore != nil {
		write("cost_usd_before", *r.CostUSDBefore)
	}
	for _, f := range r.extra {
		write(f.key, f.value)
	}
	line.WriteByte('}')
	return line.Bytes(), nil
}

// UnmarshalJSON reads a row as DecodeLedgerRow does.
func (r *LedgerRow) UnmarshalJSON(data []byte) error {
	row, err := DecodeLedgerRow(data)
	if err != nil {
		return err
	}
	*r = row
	return nil
}

// DecodeLedgerRow reads one line, with or without its line end.
//
// ts, source, model, input_tokens, output_tokens and cost_usd are required;
// any other known key may be absent or null. A key that stands there twice is
// refused, as two readers would disagree about it. Every failure is a
// *LedgerRowError.
func DecodeLedgerRow(line []byte) (LedgerRow, error) {
	fields, err := objectFields(line)
	if err != nil {
		return LedgerRow{}, err
	}
	var r LedgerRow
	known := map[string]struct {
		into     any
		required bool
	}{
		"ts":              {&r.TS, true},
		"source":          {&r.Source, true},
		"model":           {&r.Model, true},
		"provider":        {&r.Provider, false},
		"agent_id":        {&r.AgentID, false},
		"session_id":      {&r.SessionID, false},
		"input_tokens":    {&r.InputTokens, true},
		"output_tokens":   {&r.OutputTokens, true},
		"cache_read":      {&r.CacheRead, false},
		"cache_write":     {&r.CacheWrite, false},
		"cost_usd":        {&r.CostUSD, true},
		"repriced_at":     {&r.RepricedAt, false},
		"cost_usd_before": {&r.CostUSDBefore, false},
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.key] {
			return LedgerRow{}, &LedgerRowError{Field: f.key, Reason: "stands there twice"}
		}
		seen[f.key] = true
		target, ok := known[f.key]
		if !ok {
			r.extra = append(r.extra, f)
			continue
		}
		if string(f.value) == "null" {
			if target.required {
				return LedgerRow{}, &LedgerRowError{Field: f.key, Reason: "is null"}
			}
			continue
		}
		if err := json.Unmarshal(f.value, target.into); err != nil {
			return LedgerRow{}, &LedgerRowError{Field: f.key, Reason: "has a value of the wrong kind"}
		}
	}
	for _, key := range []string{"ts", "source", "model", "input_tokens", "output_tokens", "cost_usd"} {
		if !seen[key] {
			return LedgerRow{}, &LedgerRowError{Field: key, Reason: "is missing"}
		}
	}
	if err := r.check(); err != nil {
		return LedgerRow{}, err
	}
	return r, nil
}

// objectFields splits one JSON object into its fields, in order. The standard
// decoder would lose the order and take TS for ts.
func objectFields(line []byte) ([]ledgerField, error) {
	broken := &LedgerRowError{Reason: "is not one complete JSON object"}
	decoder := json.NewDecoder(bytes.NewReader(line))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, broken
	}
	var fields []ledgerField
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, broken
		}
		name, ok := key.(string)
		if !ok {
			return nil, broken
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, broken
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, broken
		}
		fields = append(fields, ledgerField{key: name, value: compact.Bytes()})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, broken
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, broken
	}
	return fields, nil
}
