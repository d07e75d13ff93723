package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// The two data files behind the model pickers and the price of a request.
// models.json lists what a row offers; prices.json holds only what the model
// catalogue lacks. Source: runtime.md 1 and 6.
var (
	//go:embed models.json
	modelsJSON []byte

	//go:embed prices.json
	pricesJSON []byte
)

// StaticModel is one entry of a row's model list.
type StaticModel struct {
	// Value is the id that is sent to the provider.
	Value string `json:"value"`
	// Label is what a picker shows.
	Label string `json:"label"`
	// ContextWindow is in tokens; 0 when the catalogue knows it better.
	ContextWindow uint64 `json:"contextWindow,omitempty"`
}

// staticModels decodes models.json once per process.
var staticModels = sync.OnceValues(func() (map[string][]StaticModel, error) {
	var lists map[string][]StaticModel
	if err := json.Unmarshal(modelsJSON, &lists); err != nil {
		return nil, fmt.Errorf("config: models.json: %w", err)
	}
	return lists, nil
})

// StaticModels returns the model list of one row id, first entry the default.
//
// It is empty for a row without a static list: Ollama asks its daemon, custom
// takes the list of Settings, an ACP engine enumerates its own, and a retired
// or unknown row offers nothing. The slice belongs to the caller.
func StaticModels(row string) []StaticModel {
	lists, err := staticModels()
	if err != nil {
		// The file is compiled in and a test decodes it, so this is a build
		// that no test has seen; an empty picker still accepts a typed id.
		return nil
	}
	return slices.Clone(lists[row])
}

// Prices returns our own price table as JSON, in the format of runtime.md 6:
// an array of rows whose rates are USD per million tokens, first match wins.
// A copy, so that no caller can change what another prices with.
func Prices() []byte { return slices.Clone(pricesJSON) }
