package llm

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/catwalk/pkg/catwalk"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

var updateCatalogue = flag.Bool("update-catalogue", false, "rewrite testdata/catalogue.golden.json")

// day is noon UTC of a date.
func day(t *testing.T, date string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	return at.Add(12 * time.Hour)
}

// TestCatalogue_ListedModels pins what every model of every static list is
// known by: an update of the catalogue shows as a diff of this file.
func TestCatalogue_ListedModels(t *testing.T) {
	t.Parallel()
	type entry struct {
		Row           contract.RowID
		Model         string
		ContextWindow uint64
		Known         bool
		Status        PriceStatus
		Rates         Rates
	}
	var got []entry
	for _, row := range contract.Rows {
		for _, m := range config.StaticModels(string(row.ID)) {
			e := entry{Row: row.ID, Model: m.Value}
			e.ContextWindow, e.Known = ContextWindow(row.Provider, m.Value)
			e.Rates, e.Status = NewPriceTable(nil).Rates(row.Provider, m.Value, day(t, "2026-08-01"))
			got = append(got, e)
		}
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	golden := filepath.Join("testdata", "catalogue.golden.json")
	if *updateCatalogue {
		if err := os.WriteFile(golden, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(text) {
		t.Fatalf("the catalogue says other than %s; check the new figures, then run with -update-catalogue\n%s", golden, text)
	}
}

func TestContextWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		provider contract.ProviderID
		model    string
		want     uint64
		known    bool
	}{
		{name: "plain", provider: "anthropic", model: "claude-opus-4-8", want: 1_000_000, known: true},
		{name: "the sidecar row shares the vendor's section", provider: "claude-oauth", model: "claude-opus-4-8", want: 1_000_000, known: true},
		{name: "differs by route: Anthropic", provider: "anthropic", model: "claude-sonnet-4-6", want: 200_000, known: true},
		{name: "differs by route: OpenRouter", provider: "openrouter", model: "anthropic/claude-sonnet-4.6", want: 1_000_000, known: true},
		{name: "stored hyphen spelling", provider: "openrouter", model: "anthropic/claude-sonnet-4-6", want: 1_000_000, known: true},
		{name: "hyphens are for OpenRouter only", provider: "openai", model: "gpt-5-5", want: 200_000},
		{name: "dated in the catalogue", provider: "anthropic", model: "claude-haiku-4-5", want: 200_000, known: true},
		{name: "dated by the caller", provider: "openai", model: "gpt-4o-20240806", want: 128_000, known: true},
		{name: "another snapshot", provider: "anthropic", model: "claude-opus-4-8-20260101", want: 1_000_000, known: true},
		{name: "case and spaces", provider: "minimax", model: " minimax-M3 ", want: 1_000_000, known: true},
		{name: "other key, same models", provider: "minimax-api", model: "MiniMax-M3", want: 1_000_000, known: true},
		{name: "route prefix", provider: "anthropic", model: "anthropic/claude-opus-4-8", want: 1_000_000, known: true},
		{name: "demo", provider: "demo", model: "demo", want: 32_000, known: true},
		{name: "demo, another model", provider: "demo", model: "other", want: 200_000},
		{name: "router", provider: "openrouter", model: "openrouter/auto", want: 200_000},
		{name: "alias of a price only", provider: "openai", model: "chatgpt-5.4", want: 200_000},
		{name: "not under this provider", provider: "openai", model: "claude-opus-4-8", want: 200_000},
		{name: "ollama", provider: "ollama", model: "gpt-4o", want: 200_000},
		{name: "engine", provider: "packetcode-acp", model: "claude-opus-4-8", want: 200_000},
		{name: "unknown provider", provider: "nobody", model: "gpt-4o", want: 200_000},
		{name: "empty", provider: "openai", model: "", want: 200_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, known := ContextWindow(tc.provider, tc.model)
			if got != tc.want || known != tc.known {
				t.Fatalf("ContextWindow(%q, %q) = %d, %v; want %d, %v", tc.provider, tc.model, got, known, tc.want, tc.known)
			}
		})
	}
}

// TestFromCatalogue_CacheRates is the rule that tells the two cached prices
// apart, on the shapes that vendors have.
func TestFromCatalogue_CacheRates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		in, a, b       float64
		read, write, h float64
	}{
		{name: "write first", in: 5, a: 6.25, b: 0.5, read: 0.5, write: 6.25, h: 6.25},
		{name: "read first", in: 0.3, a: 0.03, b: 0.375, read: 0.03, write: 0.375, h: 0.375},
		{name: "read only, first field", in: 5, a: 0.5, read: 0.5, write: 5, h: 5},
		{name: "read only, second field", in: 2, b: 0.5, read: 0.5, write: 2, h: 2},
		{name: "equal is read only", in: 1.75, a: 0.175, b: 0.175, read: 0.175, write: 1.75, h: 1.75},
		{name: "no cached price is no discount", in: 30, read: 30, write: 30, h: 30},
		{name: "read as dear as input", in: 3, a: 3, read: 3, write: 3, h: 3},
		{name: "both above the input price", in: 1, a: 2, b: 3, read: 1, write: 1, h: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := fromCatalogue(catwalk.Model{CostPer1MIn: tc.in, CostPer1MOut: 9, CostPer1MInCached: tc.a, CostPer1MOutCached: tc.b}).rates
			want := Rates{Input: tc.in, Output: 9, CacheRead: tc.read, CacheWrite5m: tc.write, CacheWrite1h: tc.h}
			if got != want {
				t.Fatalf("rates are %+v, want %+v", got, want)
			}
		})
	}
}

// TestIndexModels_ExactIDWins guards the spellings: they may stand in for a
// model, not displace one.
func TestIndexModels_ExactIDWins(t *testing.T) {
	t.Parallel()
	index := indexModels([]catwalk.Model{
		{ID: "Model-20260101", ContextWindow: 1},
		{ID: "model", ContextWindow: 2},
		{ID: "model-1.5", ContextWindow: 3},
		{ID: "model-1-5", ContextWindow: 4},
		{ID: "other-1.5-20260101", ContextWindow: 5},
		{ID: "broken", ContextWindow: -1, CostPer1MIn: -1},
	}, spellings(catwalk.InferenceProviderOpenRouter))
	for id, want := range map[string]uint64{
		"model-20260101": 1, "model": 2, "model-1.5": 3, "model-1-5": 4,
		"other-1.5": 5, "other-1-5-20260101": 5, "broken": 0,
	} {
		if got, ok := index[id]; !ok || got.contextWindow != want {
			t.Errorf("%s finds window %d (%v), want %d", id, got.contextWindow, ok, want)
		}
	}
	if index["broken"].priced {
		t.Error("a model with a negative price counts as priced")
	}
}

// TestCatalogue_HasTheSections fails when an update of the library renames a
// vendor, which would make all its models unknown in silence.
func TestCatalogue_HasTheSections(t *testing.T) {
	t.Parallel()
	for provider, section := range catalogueSections {
		if len(catalogue()[section]) == 0 {
			t.Errorf("%s: no model in section %q", provider, section)
		}
		if _, err := contract.ProviderTransport(provider); err != nil {
			t.Errorf("%s is no provider id: %v", provider, err)
		}
	}
}

func TestStripDate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, want string }{
		{"claude-haiku-4-5-20251001", "claude-haiku-4-5"},
		{"claude-haiku-4-5", "claude-haiku-4-5"},
		{"gpt-4o-2024-08-06", "gpt-4o-2024-08-06"},
		{"m-2025100x", "m-2025100x"},
		{"m20251001", "m20251001"},
		{"-20251001", "-20251001"},
		{"", ""},
	} {
		if got := stripDate(tc.id); got != tc.want {
			t.Errorf("stripDate(%q) = %q, want %q", tc.id, got, tc.want)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	at := day(t, "2026-08-01")
	values := func(models []contract.Model) string {
		var ids []string
		for _, m := range models {
			ids = append(ids, m.Value)
		}
		return strings.Join(ids, " ")
	}
	for _, tc := range []struct {
		row    contract.RowID
		custom []string
		want   string
	}{
		{row: "api-claude-oauth", want: "claude-opus-4-8 claude-opus-4-7 claude-sonnet-4-6 claude-haiku-4-5 claude-opus-5 claude-sonnet-5"},
		{row: "api-claude", want: "claude-opus-4-8 claude-opus-4-7 claude-sonnet-4-6 claude-haiku-4-5 claude-opus-5 claude-sonnet-5 claude-opus-4-6"},
		{row: "api-openai", want: "gpt-5.5 chatgpt-5.4 gpt-4o o3 o4-mini"},
		{row: "api-openai-agents", want: "gpt-5.5 chatgpt-5.4 gpt-4o o3 o4-mini"},
		{row: "api-minimax", want: "MiniMax-M3 MiniMax-M2.5 MiniMax-M2"},
		{row: "api-minimax-api", want: "MiniMax-M3 MiniMax-M2.5 MiniMax-M2"},
		{row: "api-openrouter", want: "openrouter/auto anthropic/claude-opus-4.8 anthropic/claude-opus-4.7 anthropic/claude-opus-4.6 anthropic/claude-sonnet-4.6 openai/gpt-5.5 openai/chatgpt-5.4 google/gemini-2.5-pro meta-llama/llama-4-maverick"},
		{row: "api-demo", want: "demo"},
		{row: "api-custom", custom: []string{" one ", "", "two", "one"}, want: "one two"},
		{row: "api-custom"},
		{row: "api-openai", custom: []string{"mine"}, want: "gpt-5.5 chatgpt-5.4 gpt-4o o3 o4-mini"},
		{row: "api-ollama"},
		{row: "api-packetcode"},
		{row: "acp-mine"},
		{row: contract.RowRetiredCodex},
		{row: "nobody"},
	} {
		t.Run(string(tc.row), func(t *testing.T) {
			t.Parallel()
			got := Models(tc.row, ModelSettings{Custom: tc.custom, At: at})
			if got == nil || values(got) != tc.want {
				t.Fatalf("Models(%q) = %q (nil %v), want %q", tc.row, values(got), got == nil, tc.want)
			}
		})
	}
}

func TestModels_Figures(t *testing.T) {
	t.Parallel()
	user, err := DecodePrices([]byte(`[{"id":"mine","match":{"equals":["house-model"]},"rates":{"input":1,"output":2}}]`))
	if err != nil {
		t.Fatal(err)
	}
	s := ModelSettings{Custom: []string{"house-model", "secret-model"}, Prices: NewPriceTable(user), At: day(t, "2026-09-01")}
	find := func(row contract.RowID, value string) contract.Model {
		models := Models(row, s)
		i := slices.IndexFunc(models, func(m contract.Model) bool { return m.Value == value })
		if i < 0 {
			t.Fatalf("%s does not offer %s", row, value)
		}
		return models[i]
	}
	for _, tc := range []struct {
		row    contract.RowID
		value  string
		label  string
		window uint64
		price  *contract.Pricing
	}{
		{row: "api-claude", value: "claude-sonnet-5", label: "Claude Sonnet 5", window: 1_000_000, price: &contract.Pricing{Input: 3, Output: 15}},
		{row: "api-openai", value: "gpt-5.5", label: "GPT-5.5", window: 1_050_000, price: &contract.Pricing{Input: 5, Output: 30}},
		{row: "api-openai", value: "chatgpt-5.4", label: "ChatGPT 5.4", price: &contract.Pricing{Input: 2.5, Output: 15}},
		{row: "api-openrouter", value: "openrouter/auto", label: "Auto (OpenRouter picks)"},
		{row: "api-demo", value: "demo", label: "Demo script", window: 32_000, price: &contract.Pricing{}},
		{row: "api-custom", value: "house-model", label: "house-model", price: &contract.Pricing{Input: 1, Output: 2}},
		{row: "api-custom", value: "secret-model", label: "secret-model"},
	} {
		m := find(tc.row, tc.value)
		if m.Label != tc.label || m.ContextWindow != tc.window {
			t.Errorf("%s: %q with window %d, want %q with %d", tc.value, m.Label, m.ContextWindow, tc.label, tc.window)
		}
		if (m.Pricing == nil) != (tc.price == nil) || m.Pricing != nil && *m.Pricing != *tc.price {
			t.Errorf("%s: price %+v, want %+v", tc.value, m.Pricing, tc.price)
		}
	}
}

func TestCatalogue_StaysSmall(t *testing.T) {
	t.Parallel()
	// The sections we keep hold some hundred models; ten times that would mean
	// that the whole library is kept.
	total := 0
	for _, section := range catalogue() {
		total += len(section)
	}
	if total > 2000 {
		t.Fatalf("%d ids are kept in memory", total)
	}
}
