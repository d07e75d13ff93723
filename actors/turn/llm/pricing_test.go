package llm

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/catwalk/pkg/catwalk"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// near compares sums of floats, to a millionth of a cent.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-8 }

// TestOwnPrices_Rules holds our own table to the rules of a user's.
func TestOwnPrices_Rules(t *testing.T) {
	t.Parallel()
	rows, err := ownPrices()
	if err != nil || len(rows) == 0 {
		t.Fatalf("prices.json: %d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r.Label == "" || r.Vendor == "" {
			t.Errorf("row %s has no label or vendor", r.ID)
		}
	}
}

// TestOwnPrices_Figures is the dagger rows of the table in runtime.md 6.
func TestOwnPrices_Figures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		models string
		date   string
		want   Rates
	}{
		{models: "claude-fable-5 claude-mythos-5", want: Rates{10, 50, 1, 12.5, 20}},
		{models: "claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5 claude-opus-4-5-20251101 anthropic/claude-opus-4-8", want: Rates{5, 25, 0.5, 6.25, 10}},
		{models: "claude-opus-4-1 claude-opus-4-1-20250805", want: Rates{15, 75, 1.5, 18.75, 30}},
		{models: "claude-opus-4 claude-opus-4-0 claude-opus-4-20250514", want: Rates{15, 75, 1.5, 18.75, 30}},
		{models: "claude-sonnet-5", date: "2026-08-31", want: Rates{2, 10, 0.2, 2.5, 4}},
		{models: "claude-sonnet-5", date: "2026-09-01", want: Rates{3, 15, 0.3, 3.75, 6}},
		{models: "claude-sonnet-4-6 claude-sonnet-4-5-20250929", want: Rates{3, 15, 0.3, 3.75, 6}},
		{models: "claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-20250514", want: Rates{3, 15, 0.3, 3.75, 6}},
		{models: "claude-haiku-4-5 claude-haiku-4-5-20251001", want: Rates{1, 5, 0.1, 1.25, 2}},
		{models: "claude-haiku-3-5 claude-3-5-haiku-20241022", want: Rates{0.8, 4, 0.08, 1, 1.6}},
		{models: "minimax-m1 MiniMax-M1-80k", want: Rates{0.4, 2.2, 0.2, 0.4, 0.4}},
		// Faster routes of the same models are dearer, and a prefix row for
		// the plain ones would take them.
		{models: "claude-opus-5-fast anthropic/claude-opus-5-fast anthropic/claude-opus-4-8-fast", want: Rates{10, 50, 1, 12.5, 20}},
		{models: "anthropic/claude-opus-4-7-fast", want: Rates{30, 150, 3, 37.5, 60}},
	} {
		date := tc.date
		if date == "" {
			date = "2026-08-01"
		}
		for _, model := range strings.Fields(tc.models) {
			got, status := (*PriceTable)(nil).Rates("", model, day(t, date))
			if got != tc.want || status != PricePriced {
				t.Errorf("%s on %s: %+v %s, want %+v", model, date, got, status, tc.want)
			}
		}
	}
}

// TestOwnPrices_AliasesFollowTheCatalogue fails when the catalogue changes a
// price that an alias row repeats.
func TestOwnPrices_AliasesFollowTheCatalogue(t *testing.T) {
	t.Parallel()
	checked := 0
	for id, listed := range catalogue()[catwalk.InferenceProviderOpenAI] {
		if !strings.HasPrefix(id, "gpt-5.") || !listed.priced {
			continue
		}
		alias := "chat" + id
		got, status := (*PriceTable)(nil).Rates(contract.ProviderOpenAI, alias, day(t, "2026-08-01"))
		if status == PriceUnknown {
			continue // No row repeats it.
		}
		checked++
		if got.Input != listed.rates.Input || got.Output != listed.rates.Output || got.CacheRead != listed.rates.CacheRead {
			t.Errorf("%s costs %+v, %s costs %+v", alias, got, id, listed.rates)
		}
	}
	if checked < 10 {
		t.Fatalf("only %d aliases were compared", checked)
	}
}

// TestOwnPrices_FollowTheCatalogue compares what both know. The own table is
// there for what the catalogue lacks, not to contradict it.
func TestOwnPrices_FollowTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, provider := range []contract.ProviderID{contract.ProviderAnthropic, contract.ProviderOpenRouter, contract.ProviderMiniMax, contract.ProviderOpenAI} {
		for id, listed := range catalogue()[catalogueSections[provider]] {
			got, _ := (*PriceTable)(nil).Rates(provider, id, day(t, "2026-08-19"))
			if got.Input != listed.rates.Input || got.Output != listed.rates.Output {
				// OpenRouter asks a tenth more for this one when it is spelled
				// with a dot; with hyphens it is the vendor's own id.
				if id == "anthropic/claude-sonnet-4-6" {
					continue
				}
				t.Errorf("%s %s costs %v/%v, the catalogue says %v/%v", provider, id, got.Input, got.Output, listed.rates.Input, listed.rates.Output)
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, want string }{
		{"Claude-Opus-5 ", "claude-opus-5"},
		{"claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001 claude-haiku-4-5"},
		{"anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5-20251001 claude-haiku-4-5-20251001 anthropic/claude-haiku-4-5 claude-haiku-4-5"},
		{"openai/gpt-4o", "openai/gpt-4o gpt-4o"},
		{"google/gemini-2.5-pro", "google/gemini-2.5-pro gemini-2.5-pro"},
		{"openrouter/auto", "openrouter/auto auto"},
		{"openrouter/anthropic/claude-opus-5", "openrouter/anthropic/claude-opus-5 anthropic/claude-opus-5 claude-opus-5"},
		{"ollama/llama3", "ollama/llama3 llama3"},
		{"ollama:llama3", "ollama:llama3 llama3"},
		{"local/qwen3:32b", "local/qwen3:32b qwen3:32b"},
		{"meta-llama/llama-4-maverick", "meta-llama/llama-4-maverick"},
		{"anthropic/", "anthropic/"},
		{" \t", ""},
		{"", ""},
	} {
		if got := strings.Join(Candidates(tc.id), " "); got != tc.want {
			t.Errorf("Candidates(%q) = %q, want %q", tc.id, got, tc.want)
		}
	}
}

// userTable decodes a table that has to be right.
func userTable(t *testing.T, text string) *PriceTable {
	t.Helper()
	rows, err := DecodePrices([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return NewPriceTable(rows)
}

func TestCost(t *testing.T) {
	t.Parallel()
	user := userTable(t, `[
		{"id":"own-opus","match":{"equals":["claude-opus-5"]},"rates":{"input":1,"output":2}},
		{"id":"given-away","match":{"prefix":["gpt-4o"]},"rates":{"input":0,"output":0}},
		{"id":"house","match":{"contains":["HOUSE"]},"inputIncludesCacheRead":false,"rates":{"input":10,"output":20,"cacheRead":1}},
		{"id":"house-late","match":{"contains":["house"]},"rates":{"input":99,"output":99}},
		{"id":"slow-lane","providers":["openrouter"],"match":{"equals":["o3"]},"rates":{"input":7,"output":7}}
	]`)
	million := TokenCounts{Input: 1e6, Output: 1e6}
	for _, tc := range []struct {
		name     string
		table    *PriceTable
		provider contract.ProviderID
		model    string
		counts   TokenCounts
		date     string
		want     float64
		status   PriceStatus
	}{
		{name: "user before ours", table: user, provider: "anthropic", model: "claude-opus-5", counts: million, want: 3, status: PricePriced},
		{name: "ours before the catalogue", provider: "anthropic", model: "claude-opus-5", counts: TokenCounts{CacheWrite1h: 1e6}, want: 10, status: PricePriced},
		{name: "catalogue", provider: "openai", model: "gpt-5.5", counts: million, want: 35, status: PricePriced},
		{name: "catalogue, o3", provider: "openai-agents", model: "o3", counts: million, want: 10, status: PricePriced},
		{name: "catalogue, MiniMax-M3", provider: "minimax", model: "MiniMax-M3", counts: million, want: 3, status: PricePriced},
		{name: "catalogue by route", provider: "openrouter", model: "anthropic/claude-sonnet-4.6", counts: million, want: 19.8, status: PricePriced},
		{name: "user table, free", table: user, provider: "openai", model: "gpt-4o-mini", counts: million, status: PriceFree},
		{name: "user table, first of two", table: user, provider: "custom", model: "my-house-model", counts: million, want: 30, status: PricePriced},
		{name: "row of another provider", table: user, provider: "openai", model: "o3", counts: million, want: 10, status: PricePriced},
		{name: "row of this provider", table: user, provider: "openrouter", model: "openai/o3", counts: million, want: 14, status: PricePriced},
		{name: "row where no provider is known", table: user, model: "o3", counts: million, want: 14, status: PricePriced},
		{name: "unknown", provider: "openai", model: "gpt-99", counts: million, status: PriceUnknown},
		{name: "unknown, no model", provider: "openai", counts: million, status: PriceUnknown},
		{name: "unknown, router", provider: "openrouter", model: "openrouter/auto", counts: million, status: PriceUnknown},
		{name: "unknown, other vendor's section", provider: "openai", model: "MiniMax-M3", counts: million, status: PriceUnknown},

		{name: "Messages: input beside cache reads", provider: "anthropic", model: "claude-opus-4-8", counts: TokenCounts{Input: 1000, Output: 100, CacheRead: 10_000, CacheWrite5m: 2000}, want: (5000 + 2500 + 5000 + 12500) / 1e6, status: PricePriced},
		{name: "sidecar speaks Messages too", provider: "claude-oauth", model: "claude-opus-4-8", counts: TokenCounts{Input: 1000, CacheRead: 10_000}, want: (5000 + 5000) / 1e6, status: PricePriced},
		{name: "Chat: cache reads inside input", provider: "openai", model: "gpt-4o", counts: TokenCounts{Input: 1000, Output: 100, CacheRead: 400}, want: (600*2.5 + 1000 + 400*1.25) / 1e6, status: PricePriced},
		{name: "same model, other wire", provider: "openrouter", model: "anthropic/claude-opus-4-8", counts: TokenCounts{Input: 1000, CacheRead: 400}, want: (600*5 + 400*0.5) / 1e6, status: PricePriced},
		{name: "more cache reads than input", provider: "openai", model: "gpt-4o", counts: TokenCounts{Input: 10, CacheRead: 400}, want: 400 * 1.25 / 1e6, status: PricePriced},
		{name: "a row overrules the wire", table: user, provider: "custom", model: "house", counts: TokenCounts{Input: 1000, CacheRead: 400}, want: (1000*10 + 400*1) / 1e6, status: PricePriced},
		{name: "alias row on an engine's wire", provider: "packetcode-acp", model: "chatgpt-5.4", counts: TokenCounts{Input: 1000, CacheRead: 400}, want: (600*2.5 + 400*0.25) / 1e6, status: PricePriced},
		{name: "no row, an engine's wire", provider: "acp-mine", model: "claude-opus-5", counts: TokenCounts{Input: 1000, CacheRead: 400}, want: (1000*5 + 400*0.5) / 1e6, status: PricePriced},

		{name: "last day of a schedule", provider: "anthropic", model: "claude-sonnet-5", counts: million, date: "2026-08-31", want: 12, status: PricePriced},
		{name: "first day of the next", provider: "anthropic", model: "claude-sonnet-5", counts: million, date: "2026-09-01", want: 18, status: PricePriced},

		{name: "local model", provider: "ollama", model: "qwen3:32b", counts: million, status: PriceFree},
		{name: "local model of any name", provider: "ollama", model: "mistral-small", counts: million, status: PriceFree},
		{name: "local model, old row", model: "llama3.2", counts: million, status: PriceFree},
		{name: "demo", provider: "demo", model: "demo", counts: million, status: PriceFree},
		// These names begin like local ones. Somebody asks money for them.
		{name: "hosted deepseek", provider: "openrouter", model: "deepseek/deepseek-v3.2", counts: TokenCounts{}, status: PricePriced},
		{name: "hosted qwen elsewhere", provider: "custom", model: "qwen3-max", counts: million, status: PriceUnknown},
		{name: "hosted llama", provider: "openrouter", model: "meta-llama/llama-4-maverick", counts: million, want: 1.5, status: PricePriced},
		{name: "free route", provider: "openrouter", model: "openai/gpt-oss-20b:free", counts: million, status: PriceFree},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			date := tc.date
			if date == "" {
				date = "2026-08-01"
			}
			got, status := Cost(tc.table, tc.provider, tc.model, tc.counts, day(t, date))
			if !near(got, tc.want) || status != tc.status {
				t.Fatalf("Cost = %v %s, want %v %s", got, status, tc.want, tc.status)
			}
		})
	}
}

// TestCost_DatesAreUTC prices a turn at its date, wherever the service runs.
func TestCost_DatesAreUTC(t *testing.T) {
	t.Parallel()
	west := time.FixedZone("west", -10*3600)
	at := time.Date(2026, 8, 31, 20, 0, 0, 0, west) // Already September in UTC.
	if got, _ := Cost(nil, "anthropic", "claude-sonnet-5", TokenCounts{Input: 1e6}, at); !near(got, 3) {
		t.Fatalf("Cost = %v, want the rate of 2026-09-01", got)
	}
}

// TestCost_StaysFinite keeps every cost something the ledger accepts.
func TestCost_StaysFinite(t *testing.T) {
	t.Parallel()
	table := userTable(t, `[{"id":"dear","match":{"prefix":["x"]},"rates":{"input":1000000,"output":1000000}}]`)
	all := uint64(math.MaxUint64)
	got, _ := Cost(table, "anthropic", "x", TokenCounts{all, all, all, all, all}, time.Time{})
	if err := checkCost(got); err != nil || got == 0 {
		t.Fatalf("Cost = %v, %v", got, err)
	}
}

func TestDecodePrices_Defaults(t *testing.T) {
	t.Parallel()
	rows, err := DecodePrices([]byte(`[
		{"id":" a ","label":"A","vendor":"v","match":{"equals":[" Model-A "]},"rates":{"input":4,"output":8}},
		{"id":"b","match":{"equals":["b"]},"rates":{"input":4,"output":8,"cacheRead":0,"cacheWrite5m":5}},
		{"id":"c","providers":["acp-mine","openai"],"match":{"equals":["c"]},"schedule":[
			{"from":"2026-03-01","rates":{"input":2,"output":2}},
			{"until":"2026-02-28","rates":{"input":1,"output":1}}]}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].ID != "a" || rows[0].Equals[0] != "model-a" || rows[0].InputIncludesCacheRead != nil {
		t.Errorf("row a is %+v", rows[0])
	}
	if got, want := rows[0].at(time.Time{}), (Rates{4, 8, 4, 4, 4}); got != want {
		t.Errorf("rates of a are %+v, want %+v", got, want)
	}
	if got, want := rows[1].at(time.Time{}), (Rates{4, 8, 0, 5, 5}); got != want {
		t.Errorf("rates of b are %+v, want %+v", got, want)
	}
	for date, want := range map[string]float64{"2026-02-28": 1, "2026-03-01": 2, "1999-01-01": 1, "2100-01-01": 2} {
		if got := rows[2].at(day(t, date)).Input; got != want {
			t.Errorf("input rate of c on %s is %v, want %v", date, got, want)
		}
	}
}

func TestDecodePrices_Refusals(t *testing.T) {
	t.Parallel()
	row := func(rest string) string { return `[{"id":"a","match":{"equals":["m"]},` + rest + `}]` }
	const ok = `"rates":{"input":1,"output":1}`
	for _, tc := range []struct {
		name, text string
		row        int
		says       string
	}{
		{name: "empty file", text: "", says: "not a JSON array"},
		{name: "object", text: `{"rows":[]}`, says: "not a JSON array"},
		{name: "cut off", text: `[{"id":"a"`, says: "not a JSON array"},
		{name: "too large", text: strings.Repeat(" ", MaxPriceTableBytes+1), says: "larger than"},
		{name: "row is a number", text: `[1]`, row: 1, says: "Correct the row"},
		{name: "misspelt key", text: row(`"rate":{}`), row: 1, says: "rate"},
		{name: "price as text", text: row(`"rates":{"input":"1","output":1}`), row: 1, says: "rates.input cannot be a string"},
		{name: "no id", text: `[{"match":{"equals":["m"]},` + ok + `}]`, row: 1, says: "id is missing"},
		{name: "same id", text: `[{"id":"a","match":{"equals":["m"]},` + ok + `},{"id":"a","match":{"equals":["n"]},` + ok + `}]`, row: 2, says: "row 1 has the same id"},
		{name: "no match", text: `[{"id":"a",` + ok + `}]`, row: 1, says: "match names no model"},
		{name: "blank prefix", text: `[{"id":"a","match":{"prefix":[" "]},` + ok + `}]`, row: 1, says: "match.prefix has an empty entry"},
		{name: "blank equals", text: `[{"id":"a","match":{"equals":[""]},` + ok + `}]`, row: 1, says: "match.equals has an empty entry"},
		{name: "blank contains", text: `[{"id":"a","match":{"contains":[""]},` + ok + `}]`, row: 1, says: "match.contains has an empty entry"},
		{name: "unknown provider", text: row(`"providers":["claude"],` + ok), row: 1, says: `"claude", which is no provider id`},
		{name: "neither", text: row(`"label":"x"`), row: 1, says: "neither rates nor schedule"},
		{name: "both", text: row(ok + `,"schedule":[{` + ok + `}]`), row: 1, says: "both rates and schedule"},
		{name: "empty schedule", text: row(`"schedule":[]`), row: 1, says: "neither rates nor schedule"},
		{name: "no input rate", text: row(`"rates":{"output":1}`), row: 1, says: "rates.input is missing"},
		{name: "no output rate", text: row(`"rates":{"input":1}`), row: 1, says: "rates.output is missing"},
		{name: "negative", text: row(`"rates":{"input":1,"output":1,"cacheRead":-0.1}`), row: 1, says: "rates.cacheRead is negative"},
		{name: "absurd", text: row(`"rates":{"input":1,"output":1e9}`), row: 1, says: "rates.output is above"},
		{name: "overflow", text: row(`"rates":{"input":1e999,"output":1}`), row: 1, says: "rates.input"},
		{name: "bad date", text: row(`"schedule":[{"until":"31.8.2026",` + ok + `}]`), row: 1, says: "not a date"},
		{name: "no such day", text: row(`"schedule":[{"from":"2026-02-30",` + ok + `}]`), row: 1, says: "not a date"},
		{name: "backwards", text: row(`"schedule":[{"from":"2026-02-02","until":"2026-02-01",` + ok + `}]`), row: 1, says: "ends before it begins"},
		{name: "dates without rates", text: row(`"schedule":[{}]`), row: 1, says: "schedule[0].rates is missing"},
		{name: "gap before", text: row(`"schedule":[{"from":"2026-02-02",` + ok + `}]`), row: 1, says: "no rates before 2026-02-02"},
		{name: "gap after", text: row(`"schedule":[{"until":"2026-02-02",` + ok + `}]`), row: 1, says: "no rates after 2026-02-02"},
		{name: "gap between", text: row(`"schedule":[{"until":"2026-02-27",` + ok + `},{"from":"2026-03-01",` + ok + `}]`), row: 1, says: "no rates on 2026-02-28"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rows, err := DecodePrices([]byte(tc.text))
			var refused *PriceTableError
			if rows != nil || !errors.As(err, &refused) {
				t.Fatalf("DecodePrices = %d rows, %v; want a refusal", len(rows), err)
			}
			if refused.Row != tc.row || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("row %d: %q; want row %d and %q", refused.Row, err, tc.row, tc.says)
			}
			if !strings.HasPrefix(err.Error(), "prices.json") || !strings.HasSuffix(err.Error(), ".") {
				t.Errorf("%q does not name the file or is no sentence", err)
			}
		})
	}
}

func TestDecodePrices_OverlapAndLastDay(t *testing.T) {
	t.Parallel()
	for _, schedule := range []string{
		`[{"until":"2026-06-30","rates":{"input":1,"output":1}},{"from":"2026-01-01","rates":{"input":2,"output":2}}]`,
		`[{"from":"2026-03-01","until":"2026-03-31","rates":{"input":1,"output":1}},{"rates":{"input":2,"output":2}}]`,
		`[{"until":"9999-12-31","rates":{"input":1,"output":1}},{"from":"9000-01-01","rates":{"input":2,"output":2}}]`,
	} {
		rows, err := DecodePrices([]byte(`[{"id":"a","match":{"equals":["m"]},"schedule":` + schedule + `}]`))
		if err != nil {
			t.Fatalf("%s: %v", schedule, err)
		}
		if got := rows[0].at(day(t, "2026-03-15")).Input; got != 1 {
			t.Errorf("%s: the first matching entry does not win: %v", schedule, got)
		}
	}
}

// FuzzDecodePrices: no panic, every refusal is typed, and what is accepted
// prices anything without leaving the numbers a ledger accepts.
func FuzzDecodePrices(f *testing.F) {
	f.Add(config.Prices())
	f.Add([]byte(`[]`))
	f.Add([]byte(`null`))
	f.Add([]byte(`[null]`))
	f.Add([]byte(`[{"id":"a","match":{"prefix":["m"]},"schedule":[{"until":"2026-02-28","rates":{"input":1,"output":2}},{"from":"2026-03-01","rates":{"input":1e6,"output":0}}]}]`))
	f.Add([]byte(`[{"id":"a","match":{"prefix":["m"]},"rates":{"input":-1,"output":2}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := DecodePrices(data)
		var refused *PriceTableError
		if err != nil {
			if rows != nil || !errors.As(err, &refused) || refused.Reason == "" {
				t.Fatalf("%d rows with %v", len(rows), err)
			}
			return
		}
		table := NewPriceTable(rows)
		for i := range rows {
			for _, id := range slices.Concat(rows[i].Equals, rows[i].Prefix, rows[i].Contains) {
				for _, at := range []time.Time{{}, time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
					usd, status := Cost(table, "", id, TokenCounts{math.MaxUint64, 1, 2, 3, 4}, at)
					if checkCost(usd) != nil || status == PriceUnknown {
						t.Fatalf("%q costs %v, %s", id, usd, status)
					}
				}
			}
			covered := rows[i].Schedule
			if day, open := uncovered(covered); open {
				t.Fatalf("row %s has no rates %s", rows[i].ID, day)
			}
		}
		if _, err := json.Marshal(rows); err != nil {
			t.Fatalf("accepted rows hold what JSON cannot: %v", err)
		}
	})
}
