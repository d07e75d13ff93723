package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

var noon = time.Date(2026, 8, 1, 12, 0, 0, 999, time.UTC)

func TestRow_Sources(t *testing.T) {
	t.Parallel()
	used := TokenCounts{Input: 10}
	for _, tc := range []struct {
		name     string
		source   string
		facts    RowFacts
		want     contract.LedgerSource
		provider contract.ProviderID
		skip     bool
		unknown  bool
	}{
		{name: "provider", source: "anthropic", facts: RowFacts{Model: "m", Counts: used}, want: "api-claude", provider: "anthropic"},
		{name: "row", source: "api-claude", facts: RowFacts{Model: "m", Counts: used}, want: "api-claude", provider: "anthropic"},
		{name: "old name", source: "claude", facts: RowFacts{Model: "m", Counts: used}, want: "api-claude", provider: "anthropic"},
		{name: "sidecar", source: "api-claude-oauth", facts: RowFacts{Model: "m", Counts: used}, want: "api-claude-oauth", provider: "claude-oauth"},
		{name: "agents", source: "openai-agents", facts: RowFacts{Model: "m", Counts: used}, want: "api-openai-agents", provider: "openai-agents"},
		{name: "other MiniMax key", source: "api-minimax-api", facts: RowFacts{Model: "m", Counts: used}, want: "api-minimax-api", provider: "minimax-api"},
		{name: "engine", source: "api-packetcode", facts: RowFacts{Model: "m", Counts: used}, want: "api-packetcode", provider: "packetcode-acp"},
		{name: "engine of settings on its default model", source: "acp-mine", facts: RowFacts{Counts: used}, want: "acp-mine", provider: "acp-mine"},
		{name: "one-shot", source: "aux", facts: RowFacts{Provider: "openai", Model: "m", Counts: used}, want: "aux", provider: "openai"},
		{name: "one-shot without a provider", source: "aux", facts: RowFacts{Model: "m", Counts: used}, want: "aux"},
		{name: "own loop without counts", source: "openai", facts: RowFacts{Model: "m"}, want: "api-openai", provider: "openai"},

		{name: "demo", source: "demo", facts: RowFacts{Model: "demo", Counts: used}, skip: true},
		{name: "demo row", source: "api-demo", facts: RowFacts{Model: "demo", Counts: used}, skip: true},
		{name: "one-shot of the demo", source: "aux", facts: RowFacts{Provider: "demo", Model: "demo", Counts: used}, skip: true},
		{name: "echo", source: "echo", facts: RowFacts{Model: "m", Counts: used}, skip: true},
		{name: "sidecar without a model", source: "claude-oauth", facts: RowFacts{Counts: used}, skip: true},
		{name: "sidecar without counts", source: "claude-oauth", facts: RowFacts{Model: "m"}, skip: true},
		{name: "engine without counts", source: "packetcode-acp", facts: RowFacts{Model: "m"}, skip: true},
		{name: "one-shot without counts", source: "aux", facts: RowFacts{Provider: "openai", Model: "m"}, skip: true},

		{name: "nobody", source: "nobody", facts: RowFacts{Model: "m", Counts: used}, unknown: true},
		{name: "empty", source: "", facts: RowFacts{Model: "m", Counts: used}, unknown: true},
		{name: "retired", source: "api-openai-codex", facts: RowFacts{Model: "m", Counts: used}, unknown: true},
		{name: "unknown provider", source: "aux", facts: RowFacts{Provider: "claude", Model: "m", Counts: used}, unknown: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.facts.At = noon
			row, write, err := Row(tc.source, tc.facts)
			if errors.Is(err, contract.ErrUnknownProvider) != tc.unknown || (err != nil) != tc.unknown {
				t.Fatalf("Row fails with %v", err)
			}
			if write == (tc.skip || tc.unknown) {
				t.Fatalf("write is %v", write)
			}
			if row.Source != tc.want || row.Provider != tc.provider {
				t.Fatalf("billed to %q, provider %q; want %q, %q", row.Source, row.Provider, tc.want, tc.provider)
			}
		})
	}
}

func TestRow_Content(t *testing.T) {
	t.Parallel()
	row, write, err := Row("anthropic", RowFacts{
		Model: "claude-opus-5", AgentID: AgentSubagent, SessionID: "c-1", At: noon.In(time.FixedZone("east", 3600)),
		Counts: TokenCounts{Input: 1000, Output: 200, CacheRead: 30, CacheWrite5m: 4, CacheWrite1h: 5},
	})
	if err != nil || !write {
		t.Fatal(write, err)
	}
	line, err := EncodeLedgerRow(row)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ts":"2026-08-01T12:00:00Z","source":"api-claude","model":"claude-opus-5","provider":"anthropic",` +
		`"agent_id":"subagent","session_id":"c-1","input_tokens":1000,"output_tokens":200,"cache_read":30,"cache_write":9,"cost_usd":0.01009}` + "\n"
	if string(line) != want {
		t.Fatalf("line is %s\nwant    %s", line, want)
	}
}

// TestRow_EngineCost believes an engine's own figure only if it is one.
func TestRow_EngineCost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ says, want float64 }{
		{1.25, 1.25}, {0, 0}, {-1, 5}, {math.NaN(), 5}, {math.Inf(1), 5},
	} {
		row, _, err := Row("acp-mine", RowFacts{Model: "claude-opus-5", Counts: TokenCounts{Input: 1e6}, At: noon, CostUSD: &tc.says})
		if err != nil || !near(row.CostUSD, tc.want) {
			t.Errorf("engine says %v: row costs %v, %v; want %v", tc.says, row.CostUSD, err, tc.want)
		}
	}
}

// TestRow_PricesAtTheDateOfTheTurn prices a late row of August by August.
func TestRow_PricesAtTheDateOfTheTurn(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]float64{"2026-08-31": 2, "2026-09-01": 3} {
		row, _, err := Row("anthropic", RowFacts{Model: "claude-sonnet-5", Counts: TokenCounts{Input: 1e6}, At: day(t, date)})
		if err != nil || !near(row.CostUSD, want) {
			t.Errorf("on %s the row costs %v, %v; want %v", date, row.CostUSD, err, want)
		}
		usd, _ := Cost(nil, row.Provider, row.Model, row.Counts(), day(t, date))
		if !near(usd, row.CostUSD) {
			t.Errorf("the row prices to %v when read again, it was written with %v", usd, row.CostUSD)
		}
	}
}

const minimalRow = `{"ts":"2026-08-01T12:00:00Z","source":"api-claude","model":"m","input_tokens":1,"output_tokens":2,"cost_usd":0}`

func TestDecodeLedgerRow_KeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	const old = `{"later":{"b":1,"a":[1, 2]},"ts":"2025-01-02T03:04:05Z","source":"api-openai-codex","model":"gpt-5","agent_id":null,"session_id":null,` +
		`"input_tokens":18446744073709551615,"output_tokens":2,"cache_read":null,"cost_usd":0.1,"repriced_at":"2026-01-01T00:00:00Z","cost_usd_before":0.25,"TS":"not ours","big":12345678901234567890123}`
	row, err := DecodeLedgerRow([]byte(old + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if row.InputTokens != math.MaxUint64 || row.Provider != "" || row.AgentID != "" || row.SessionID != "" || *row.CostUSDBefore != 0.25 {
		t.Errorf("row is %+v", row)
	}
	if at, err := row.Time(); err != nil || !at.Equal(time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("time is %v, %v", at, err)
	}
	line, err := EncodeLedgerRow(row)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ts":"2025-01-02T03:04:05Z","source":"api-openai-codex","model":"gpt-5","agent_id":null,"session_id":"",` +
		`"input_tokens":18446744073709551615,"output_tokens":2,"cache_read":0,"cache_write":0,"cost_usd":0.1,"repriced_at":"2026-01-01T00:00:00Z","cost_usd_before":0.25,` +
		`"later":{"b":1,"a":[1,2]},"TS":"not ours","big":12345678901234567890123}` + "\n"
	if string(line) != want {
		t.Errorf("line is %s\nwant    %s", line, want)
	}
	// The ledger's owner may go through the standard library as well.
	var again LedgerRow
	if err := json.Unmarshal(line, &again); err != nil {
		t.Fatal(err)
	}
	std, err := json.Marshal(again)
	if err != nil || string(std) != strings.TrimSuffix(want, "\n") {
		t.Errorf("json.Marshal gives %s, %v", std, err)
	}
}

func TestDecodeLedgerRow_Refusals(t *testing.T) {
	t.Parallel()
	with := func(old, now string) string { return strings.Replace(minimalRow, old, now, 1) }
	if _, err := DecodeLedgerRow([]byte(minimalRow)); err != nil {
		t.Fatalf("the row that the others are made from is refused: %v", err)
	}
	for _, tc := range []struct{ name, line, field string }{
		{name: "empty", line: ""},
		{name: "cut off", line: minimalRow[:len(minimalRow)-1]},
		{name: "two on a line", line: minimalRow + minimalRow},
		{name: "trailing text", line: minimalRow + " x"},
		{name: "array", line: "[]"},
		{name: "null", line: "null"},
		{name: "NaN", line: with(`"cost_usd":0`, `"cost_usd":NaN`)},
		{name: "negative cost", line: with(`"cost_usd":0`, `"cost_usd":-0.01`), field: "cost_usd"},
		{name: "endless cost", line: with(`"cost_usd":0`, `"cost_usd":1e999`), field: "cost_usd"},
		{name: "cost as text", line: with(`"cost_usd":0`, `"cost_usd":"0"`), field: "cost_usd"},
		{name: "cost null", line: with(`"cost_usd":0`, `"cost_usd":null`), field: "cost_usd"},
		{name: "no cost", line: with(`,"cost_usd":0`, ``), field: "cost_usd"},
		{name: "negative count", line: with(`"input_tokens":1`, `"input_tokens":-1`), field: "input_tokens"},
		{name: "half a token", line: with(`"output_tokens":2`, `"output_tokens":2.5`), field: "output_tokens"},
		{name: "no count", line: with(`"input_tokens":1,`, ``), field: "input_tokens"},
		{name: "no time", line: with(`"ts":"2026-08-01T12:00:00Z",`, ``), field: "ts"},
		{name: "other time", line: with(`2026-08-01T12:00:00Z`, `1.8.2026`), field: "ts"},
		{name: "no source", line: with(`"source":"api-claude",`, ``), field: "source"},
		{name: "empty source", line: with(`api-claude`, ``), field: "source"},
		{name: "no model", line: with(`"model":"m",`, ``), field: "model"},
		{name: "capitals are another key", line: with(`"model"`, `"Model"`), field: "model"},
		{name: "twice", line: with(`"model":"m"`, `"model":"m","model":"n"`), field: "model"},
		{name: "unknown twice", line: with(`"model":"m"`, `"model":"m","x":1,"x":2`), field: "x"},
		{name: "negative cost before", line: with(`"cost_usd":0`, `"cost_usd":0,"cost_usd_before":-1`), field: "cost_usd_before"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeLedgerRow([]byte(tc.line))
			var refused *LedgerRowError
			if !errors.As(err, &refused) || refused.Field != tc.field {
				t.Fatalf("err is %v, want a refusal of field %q", err, tc.field)
			}
			// A person reads it, and a line may hold what nobody else should.
			if !strings.HasPrefix(err.Error(), "usage ledger: "+tc.field) || strings.Contains(err.Error(), "api-claude") {
				t.Errorf("the error reads %q", err)
			}
		})
	}
}

func TestEncodeLedgerRow_Refusals(t *testing.T) {
	t.Parallel()
	good, err := DecodeLedgerRow([]byte(minimalRow))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*LedgerRow){
		"NaN":       func(r *LedgerRow) { r.CostUSD = math.NaN() },
		"negative":  func(r *LedgerRow) { r.CostUSD = -1 },
		"endless":   func(r *LedgerRow) { r.CostUSD = math.Inf(1) },
		"no source": func(r *LedgerRow) { r.Source = "" },
		"no time":   func(r *LedgerRow) { r.TS = "" },
	} {
		row := good
		spoil(&row)
		var refused *LedgerRowError
		if line, err := EncodeLedgerRow(row); !errors.As(err, &refused) {
			t.Errorf("%s: encoded as %s, %v", name, line, err)
		}
	}
}

// FuzzDecodeLedgerRow: no panic; a line is refused with a typed error or comes
// out as one line that reads and writes as itself.
func FuzzDecodeLedgerRow(f *testing.F) {
	f.Add([]byte(minimalRow))
	f.Add([]byte(minimalRow + "\n"))
	f.Add([]byte(`{"x":{"a":[1,2,{}]},` + minimalRow[1:]))
	f.Add([]byte(strings.Replace(minimalRow, `"m"`, `"\u2028<\ud800>"`, 1)))
	f.Add([]byte(strings.Replace(minimalRow, `"m"`, "\"\xff\"", 1)))
	f.Add([]byte(`{"ts":1}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, line []byte) {
		row, err := DecodeLedgerRow(line)
		if err != nil {
			var refused *LedgerRowError
			if !errors.As(err, &refused) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		first, err := EncodeLedgerRow(row)
		if err != nil {
			t.Fatalf("a decoded row does not encode: %v", err)
		}
		if bytes.Count(first, []byte("\n")) != 1 {
			t.Fatalf("not one line: %q", first)
		}
		again, err := DecodeLedgerRow(first)
		if err != nil {
			t.Fatalf("an encoded row does not decode: %v: %s", err, first)
		}
		second, err := EncodeLedgerRow(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\nbecomes %s, %v", first, second, err)
		}
	})
}
