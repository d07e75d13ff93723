package config

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestStaticModels(t *testing.T) {
	t.Parallel()
	if _, err := staticModels(); err != nil {
		t.Fatalf("models.json does not decode: %v", err)
	}
	for _, tc := range []struct {
		row   string
		first string
		count int
	}{
		{row: "api-claude-oauth", first: "claude-opus-4-8", count: 6},
		{row: "api-claude", first: "claude-opus-4-8", count: 7},
		{row: "api-openai", first: "gpt-5.5", count: 5},
		{row: "api-openai-agents", first: "gpt-5.5", count: 5},
		{row: "api-minimax", first: "MiniMax-M3", count: 3},
		{row: "api-openrouter", first: "openrouter/auto", count: 9},
		{row: "api-demo", first: "demo", count: 1},
		{row: "api-ollama"},
		{row: "api-custom"},
		{row: "api-packetcode"},
		{row: "api-openai-codex"},
		{row: "no-such-row"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Parallel()
			got := StaticModels(tc.row)
			if len(got) != tc.count {
				t.Fatalf("StaticModels(%q) has %d models, want %d", tc.row, len(got), tc.count)
			}
			if tc.count > 0 && got[0].Value != tc.first {
				t.Errorf("default of %q is %q, want %q", tc.row, got[0].Value, tc.first)
			}
			seen := map[string]bool{}
			for _, m := range got {
				if m.Value == "" || m.Label == "" || seen[m.Value] {
					t.Errorf("row %q: empty or repeated entry %+v", tc.row, m)
				}
				seen[m.Value] = true
			}
		})
	}
}

func TestStaticModels_CallerOwnsTheSlice(t *testing.T) {
	t.Parallel()
	got := StaticModels("api-minimax")
	got[0].Value = "changed"
	if again := StaticModels("api-minimax"); again[0].Value == "changed" {
		t.Fatal("a caller changed the list of everybody else")
	}
}

func TestPrices_ReturnsACopyOfAnArray(t *testing.T) {
	t.Parallel()
	first := Prices()
	var rows []json.RawMessage
	if err := json.Unmarshal(first, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("prices.json: %d rows, %v", len(rows), err)
	}
	whole := slices.Clone(first)
	clear(first)
	if !slices.Equal(Prices(), whole) {
		t.Fatal("a caller changed the table of everybody else")
	}
}
