package llm

import (
	"strings"
	"sync"
	"time"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// DefaultContextWindow is what the context ring of a window assumes for a
// model that nothing is known about, in tokens. Source: runtime.md 9.
const DefaultContextWindow uint64 = 200_000

// catalogueModel is what we keep of one model of the catalogue.
type catalogueModel struct {
	contextWindow uint64 // tokens, 0 when unknown
	rates         Rates
	priced        bool // false for a model without a price of its own
}

// catalogueSections maps our provider ids to the catalogue's. Two routes to
// one vendor share a section; a provider that is not here (Ollama, custom,
// demo, every ACP engine) has no model in the catalogue.
//
// Context windows and prices differ by route, so there is no search over all
// sections: a model is looked up under its provider or not at all.
var catalogueSections = map[contract.ProviderID]catwalk.InferenceProvider{
	contract.ProviderAnthropic:   catwalk.InferenceProviderAnthropic,
	contract.ProviderClaudeOAuth: catwalk.InferenceProviderAnthropic,
	contract.ProviderOpenAI:      catwalk.InferenceProviderOpenAI,
	contract.ProviderAgents:      catwalk.InferenceProviderOpenAI,
	contract.ProviderMiniMax:     catwalk.InferenceProviderMiniMax,
	contract.ProviderMiniMaxAPI:  catwalk.InferenceProviderMiniMax,
	contract.ProviderOpenRouter:  catwalk.InferenceProviderOpenRouter,
}

// catalogue holds, per section, the models by each id they answer to. It is
// read once, at the first question. The library decodes all its forty vendors
// at once and we keep four, as plain numbers under cloned keys, so that the
// rest is garbage when this returns.
var catalogue = sync.OnceValue(func() map[catwalk.InferenceProvider]map[string]catalogueModel {
	wanted := map[catwalk.InferenceProvider]bool{}
	for _, section := range catalogueSections {
		wanted[section] = true
	}
	kept := make(map[catwalk.InferenceProvider]map[string]catalogueModel, len(wanted))
	for _, provider := range embedded.GetAll() {
		if wanted[provider.ID] {
			kept[provider.ID] = indexModels(provider.Models, spellings(provider.ID))
		}
	}
	return kept
})

// indexModels files each model under its own id, then under the spellings
// that stand for it. An exact id is never displaced by a spelling of another.
func indexModels(models []catwalk.Model, spellings []func(string) string) map[string]catalogueModel {
	index := make(map[string]catalogueModel, len(models))
	entries := make([]catalogueModel, len(models))
	for i, m := range models {
		entries[i] = fromCatalogue(m)
		index[strings.Clone(strings.ToLower(m.ID))] = entries[i]
	}
	for _, spelling := range spellings {
		for i, m := range models {
			id := spelling(strings.ToLower(m.ID))
			if _, taken := index[id]; !taken {
				index[strings.Clone(id)] = entries[i]
			}
		}
	}
	return index
}

// spellings returns how the ids of a section may be written besides exactly,
// for the index and for the question alike. OpenRouter spells versions with a
// dot where a stored id may have a hyphen. Source: runtime.md 9.
func spellings(section catwalk.InferenceProvider) []func(string) string {
	if section == catwalk.InferenceProviderOpenRouter {
		return []func(string) string{stripDate, hyphenate}
	}
	return []func(string) string{stripDate}
}

// fromCatalogue keeps the window and the rates of one model.
//
// The two cached prices are told apart by size, because the catalogue's field
// names do not say which is which and vendors differ: the smaller one that is
// not zero, if not above the input price, is the read; a larger, different one
// is the 5-minute write. What has no price of its own costs what fresh input
// costs: a vendor without a discount gives none. Source: runtime.md 9.
func fromCatalogue(m catwalk.Model) catalogueModel {
	low, high := min(m.CostPer1MInCached, m.CostPer1MOutCached), max(m.CostPer1MInCached, m.CostPer1MOutCached)
	if low <= 0 {
		low = high
	}
	rates := Rates{Input: m.CostPer1MIn, Output: m.CostPer1MOut}
	rates.CacheRead, rates.CacheWrite5m = rates.Input, rates.Input
	if low > 0 && low <= rates.Input {
		rates.CacheRead = low
		if high > low {
			rates.CacheWrite5m = high
		}
	}
	rates.CacheWrite1h = rates.CacheWrite5m
	model := catalogueModel{rates: rates}
	if m.ContextWindow > 0 {
		model.contextWindow = uint64(m.ContextWindow)
	}
	model.priced = rates.Input >= 0 && rates.Output >= 0
	return model
}

// lookUp finds a model of a provider by any of its candidate ids; of two that
// would match, the more exact one.
func lookUp(provider contract.ProviderID, model string) (catalogueModel, bool) {
	section, ok := catalogueSections[provider]
	if !ok {
		return catalogueModel{}, false
	}
	index := catalogue()[section]
	candidates := Candidates(model)
	for _, id := range candidates {
		if found, ok := index[id]; ok {
			return found, true
		}
	}
	for _, spelling := range spellings(section) {
		for _, id := range candidates {
			if found, ok := index[spelling(id)]; ok {
				return found, true
			}
		}
	}
	return catalogueModel{}, false
}

// hyphenate is the spelling that a dotted and a hyphened version share.
func hyphenate(id string) string { return strings.ReplaceAll(id, ".", "-") }

// stripDate drops a trailing -YYYYMMDD, the vendors' way to name a snapshot.
// Eight digits are enough to be one: no model is named by a number that long.
func stripDate(id string) string {
	const date = len("-20060102")
	at := len(id) - date
	if at < 1 || id[at] != '-' {
		return id
	}
	for _, digit := range id[at+1:] {
		if digit < '0' || digit > '9' {
			return id
		}
	}
	return id[:at]
}

// ContextWindow returns how many tokens a model of a provider can see.
//
// known is false when neither the catalogue nor our own list has it; tokens
// is then DefaultContextWindow, which is good enough to draw a ring and not
// good enough to cut a history by. The answer depends on the provider too:
// one model has different windows on different routes.
func ContextWindow(provider contract.ProviderID, model string) (tokens uint64, known bool) {
	if found, ok := lookUp(provider, model); ok && found.contextWindow > 0 {
		return found.contextWindow, true
	}
	if row, ok := ownListOf[provider]; ok {
		for _, m := range config.StaticModels(string(row)) {
			if m.ContextWindow > 0 && strings.EqualFold(m.Value, strings.TrimSpace(model)) {
				return m.ContextWindow, true
			}
		}
	}
	return DefaultContextWindow, false
}

// ownListOf names the rows whose static list carries context windows, because
// no catalogue can know a model that we invented.
var ownListOf = map[contract.ProviderID]contract.RowID{contract.ProviderDemo: contract.RowDemo}

// ModelSettings is what the model list of a row depends on beside the row.
type ModelSettings struct {
	// Custom is the list typed in Settings for the custom endpoint, one model
	// id each; blank and repeated entries are dropped.
	Custom []string
	// Prices is what the figures beside the models come from; nil means our
	// own table and the catalogue.
	Prices *PriceTable
	// At is the date the prices are for.
	At time.Time
}

// Models returns the model list of a row, first entry the default.
//
// It is empty, never nil, for the rows that enumerate their models themselves
// (Ollama, ACP engines), and for a retired or unknown row. A context window
// that nobody knows is 0 here, not the default of the ring; a model without a
// known price has no Pricing.
func Models(row contract.RowID, s ModelSettings) []contract.Model {
	models := []contract.Model{}
	known, err := contract.RowByID(row)
	if err != nil {
		return models
	}
	entries := config.StaticModels(string(known.ID))
	if known.Provider == contract.ProviderCustom {
		entries = typedModels(s.Custom)
	}
	for _, entry := range entries {
		m := contract.Model{Label: entry.Label, Value: entry.Value}
		if tokens, ok := ContextWindow(known.Provider, entry.Value); ok {
			m.ContextWindow = tokens
		}
		if rates, status := s.Prices.Rates(known.Provider, entry.Value, s.At); status != PriceUnknown {
			m.Pricing = &contract.Pricing{Input: rates.Input, Output: rates.Output}
		}
		models = append(models, m)
	}
	return models
}

// typedModels turns the lines of Settings into entries that are their own
// labels.
func typedModels(lines []string) []config.StaticModel {
	var entries []config.StaticModel
	seen := map[string]bool{}
	for _, line := range lines {
		id := strings.TrimSpace(line)
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		entries = append(entries, config.StaticModel{Value: id, Label: id})
	}
	return entries
}
