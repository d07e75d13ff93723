package contract

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestRows is the table of contract.md 10, row by row, in picker order.
func TestRows(t *testing.T) {
	t.Parallel()
	want := []Row{
		{"api-claude-oauth", "Claude Agent SDK (API)", "anthropic-oauth", "claude-oauth", "sidecar", "Anthropic", "api-key-anthropic", false, "anthropic", "api-claude-oauth"},
		{"api-claude", "Claude (API)", "anthropic", "anthropic", "in-process", "Anthropic", "api-key-anthropic", false, "anthropic", "api-claude"},
		{"api-openai", "OpenAI (API)", "openai", "openai", "in-process", "OpenAI", "api-key-openai", false, "openai", "api-openai"},
		{"api-openai-agents", "OpenAI Agents SDK (API)", "openai-agents", "openai-agents", "sidecar", "OpenAI", "api-key-openai", false, "openai-agents", "api-openai-agents"},
		{"api-openrouter", "OpenRouter", "openrouter", "openrouter", "in-process", "Other", "api-key-openrouter", false, "openrouter", "api-openrouter"},
		{"api-minimax", "MiniMax (Token Plan)", "minimax", "minimax", "in-process", "Other", "api-key-minimax", false, "minimax", "api-minimax"},
		{"api-ollama", "Ollama (Local)", "ollama", "ollama", "in-process", "Other", "", false, "ollama", "api-ollama"},
		{"api-packetcode", "PacketCode (ACP)", "packetcode-acp", "packetcode-acp", "acp", "Other", "", false, "packetcode-acp", "api-packetcode"},
		{"api-custom", "Custom endpoint (OpenAI-compatible)", "custom", "custom", "in-process", "Other", "api-key-custom", true, "custom", "api-custom"},
		{"api-demo", "Offline demo (scripted)", "demo", "demo", "in-process", "Other", "", false, "demo", ""},
	}
	if !slices.Equal(Rows, want) {
		t.Fatalf("Rows =\n%+v\nwant\n%+v", Rows, want)
	}
	for _, r := range Rows {
		if got, err := RowByID(r.ID); err != nil || got != r {
			t.Errorf("RowByID(%q) = %+v, %v", r.ID, got, err)
		}
		if got, err := RowForProvider(r.Provider); err != nil || got != r {
			t.Errorf("RowForProvider(%q) = %+v, %v", r.Provider, got, err)
		}
		if got, err := ProviderTransport(r.Provider); err != nil || got != r.Transport {
			t.Errorf("ProviderTransport(%q) = %q, %v; want %q", r.Provider, got, err, r.Transport)
		}
		for _, id := range []string{string(r.ID), string(r.Provider)} {
			if got, err := LedgerSourceOf(id); err != nil || got != r.Ledger {
				t.Errorf("LedgerSourceOf(%q) = %q, %v; want %q", id, got, err, r.Ledger)
			}
		}
		if !ValidID(string(r.ID)) {
			t.Errorf("row id %q is no id", r.ID)
		}
	}
}

func TestRowByID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id, want, provider string
		err                error
	}{
		{id: "api-minimax-api", want: "api-minimax", provider: "minimax"},
		{id: "acp-my-engine2", want: "acp-my-engine2", provider: "acp-my-engine2"},
		{id: "acp-" + strings.Repeat("a", 32), want: "acp-" + strings.Repeat("a", 32), provider: "acp-" + strings.Repeat("a", 32)},
		{id: "acp-" + strings.Repeat("a", 33), err: ErrUnknownRow},
		{id: "acp-", err: ErrUnknownRow},
		{id: "acp-Big", err: ErrUnknownRow},
		{id: "acp-a_b", err: ErrUnknownRow},
		{id: "acp-a\n", err: ErrUnknownRow},
		{id: "api-openai-codex", err: ErrUnknownRow},
		{id: "anthropic", err: ErrUnknownRow},
		{id: "claude", err: ErrUnknownRow},
		{id: "API-CLAUDE", err: ErrUnknownRow},
		{id: "api-echo", err: ErrUnknownRow},
		{id: "", err: ErrUnknownRow},
	} {
		got, err := RowByID(RowID(tc.id))
		if !errors.Is(err, tc.err) || string(got.ID) != tc.want || string(got.Provider) != tc.provider {
			t.Errorf("RowByID(%q) = %+v, %v; want %q, %v", tc.id, got, err, tc.want, tc.err)
		}
	}
}

func TestEngineRow(t *testing.T) {
	t.Parallel()
	want := Row{ID: "acp-my-engine", Label: "My engine", Catalogue: "acp-my-engine", Provider: "acp-my-engine", Transport: TransportACP, Group: GroupOther, Probe: "acp-my-engine", Ledger: "acp-my-engine"}
	if got := EngineRow("my-engine", "My engine"); got != want {
		t.Fatalf("EngineRow = %+v, want %+v", got, want)
	}
	if got, err := ProviderTransport("acp-my-engine"); got != TransportACP || err != nil {
		t.Fatalf("ProviderTransport = %q, %v", got, err)
	}
	if got, err := RowForProvider("acp-my-engine"); err != nil || got.ID != want.ID {
		t.Fatalf("RowForProvider = %+v, %v", got, err)
	}
}

// TestRowForProvider_MiniMaxAPI: one row, another key and another bill.
func TestRowForProvider_MiniMaxAPI(t *testing.T) {
	t.Parallel()
	r, err := RowForProvider("minimax-api")
	if err != nil || r.ID != "api-minimax" || r.Account != "api-key-minimax-api" || r.Probe != "minimax-api" || r.Ledger != "api-minimax-api" {
		t.Fatalf("RowForProvider(minimax-api) = %+v, %v", r, err)
	}
	if plain, err := RowByID("api-minimax"); err != nil || plain.Account != "api-key-minimax" || plain.Provider != "minimax" {
		t.Fatalf("the row itself changed: %+v, %v", plain, err)
	}
}

// TestProviderTransport_RowIDsAreNoProviders: an id of another space is
// refused, with a text that names it and what would be accepted, so that
// nothing is billed to a default.
func TestProviderTransport_RowIDsAreNoProviders(t *testing.T) {
	t.Parallel()
	for _, id := range []ProviderID{"claude", "api-claude", "api-anthropic", "openai-codex", "api-demo", "gpt", "", "Anthropic", "acp-", "packetcode"} {
		_, err := ProviderTransport(id)
		if !errors.Is(err, ErrUnknownProvider) {
			t.Errorf("ProviderTransport(%q) = %v, want ErrUnknownProvider", id, err)
			continue
		}
		for _, want := range []string{`"` + string(id) + `"`, "anthropic", "minimax-api", "claude-oauth", "packetcode-acp", "acp-<name>", "not by cutting a prefix"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the refusal of %q does not say %s: %v", id, want, err)
			}
		}
		if _, err := RowForProvider(id); !errors.Is(err, ErrUnknownProvider) {
			t.Errorf("RowForProvider(%q) = %v, want ErrUnknownProvider", id, err)
		}
	}
	in := InProcessProviders()
	for _, id := range []ProviderID{"claude", "api-claude", "claude-oauth", "openai-codex", "openai-agents", "echo", "packetcode-acp"} {
		if slices.Contains(in, id) {
			t.Errorf("%q is an in-process provider", id)
		}
	}
	for id, want := range map[ProviderID]Transport{"claude-oauth": TransportSidecar, "openai-agents": TransportSidecar, "echo": TransportSidecar, "packetcode-acp": TransportACP} {
		if got, err := ProviderTransport(id); got != want || err != nil {
			t.Errorf("ProviderTransport(%q) = %q, %v; want %q", id, got, err, want)
		}
	}
	if _, err := RowForProvider(ProviderEcho); !errors.Is(err, ErrUnknownProvider) {
		t.Errorf("echo has a row: %v", err)
	}
	in[0] = "changed"
	if InProcessProviders()[0] != ProviderAnthropic {
		t.Error("a caller can change the table")
	}
}

// TestLedgerSourceOf is the table of contract.md 9.
func TestLedgerSourceOf(t *testing.T) {
	t.Parallel()
	for want, ids := range map[LedgerSource][]string{
		"api-claude":        {"anthropic", "claude", "api-claude"},
		"api-claude-oauth":  {"claude-oauth", "api-claude-oauth"},
		"api-openai":        {"openai", "api-openai"},
		"api-openai-agents": {"openai-agents", "api-openai-agents"},
		"api-minimax":       {"minimax", "api-minimax"},
		"api-minimax-api":   {"minimax-api", "api-minimax-api"},
		"api-openrouter":    {"openrouter", "api-openrouter"},
		"api-ollama":        {"ollama", "api-ollama"},
		"api-custom":        {"custom", "api-custom"},
		"api-packetcode":    {"packetcode-acp", "api-packetcode"},
		"acp-my-engine":     {"acp-my-engine"},
		"":                  {"demo", "api-demo"},
		"aux":               {"aux"},
	} {
		for _, id := range ids {
			if got, err := LedgerSourceOf(id); got != want || err != nil {
				t.Errorf("LedgerSourceOf(%q) = %q, %v; want %q", id, got, err, want)
			}
		}
	}
	for _, id := range []string{"", "openai-codex", "api-openai-codex", "echo", "gpt", "Anthropic", "acp-", "acp-A", "api-", "packetcode"} {
		if got, err := LedgerSourceOf(id); got != "" || !errors.Is(err, ErrUnknownProvider) {
			t.Errorf("LedgerSourceOf(%q) = %q, %v; want ErrUnknownProvider", id, got, err)
		}
	}
}

func TestAutoPick(t *testing.T) {
	t.Parallel()
	want := []RowID{"api-claude-oauth", "api-claude", "api-openai", "api-openai-agents", "api-openrouter", "api-ollama", "api-minimax"}
	if !slices.Equal(AutoPick, want) {
		t.Fatalf("AutoPick = %v, want %v", AutoPick, want)
	}
	for _, id := range AutoPick {
		if _, err := RowByID(id); err != nil {
			t.Error(err)
		}
		if id == RowDemo {
			t.Error("the demo is picked before a row that is not ready is ruled out")
		}
	}
}

func TestRetired(t *testing.T) {
	t.Parallel()
	notice, retired := Retired("api-openai-codex")
	if !retired {
		t.Fatal("api-openai-codex is not retired")
	}
	for _, want := range []string{"OpenAI Codex", "no longer offers", "stays readable", "OpenAI Agents SDK (API)", "billed to your OpenAI API key"} {
		if !strings.Contains(notice, want) {
			t.Errorf("the notice does not say %q: %s", want, notice)
		}
	}
	if _, err := ProviderTransport("openai-codex"); !errors.Is(err, ErrUnknownProvider) {
		t.Errorf("the retired provider has a transport: %v", err)
	}
	for _, r := range Rows {
		if _, retired := Retired(r.ID); retired {
			t.Errorf("%s is offered and retired", r.ID)
		}
	}
}

func TestCapabilitiesOf(t *testing.T) {
	t.Parallel()
	for _, r := range Rows {
		c := CapabilitiesOf(r, nil, true, 0)
		raw, err := Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if c.ContextWindow != nil || !strings.Contains(string(raw), `"models":[]`) || !strings.Contains(string(raw), `"contextWindow":null`) || !strings.Contains(string(raw), `"effortLevels":null`) {
			t.Errorf("%s: %s", r.ID, raw)
		}
		if c.CanGateWrites != (r.Transport != TransportACP) || c.UsesProviderCredential != (r.Account != "") {
			t.Errorf("%s: %+v", r.ID, c)
		}
		if want := r.Transport == TransportACP || r.ID == "api-claude-oauth"; c.StructuredPlans != want {
			t.Errorf("%s: StructuredPlans is %v", r.ID, c.StructuredPlans)
		}
		for _, m := range c.PermissionModes {
			if !m.Valid() {
				t.Errorf("%s offers the mode %q", r.ID, m)
			}
		}
	}
	if c := CapabilitiesOf(Rows[1], nil, true, 200000); c.ContextWindow == nil || *c.ContextWindow != 200000 {
		t.Errorf("window: %+v", c.ContextWindow)
	}
	if PermissionMode("").Valid() || PermissionMode("yolo").Valid() {
		t.Error("an unknown permission mode is valid")
	}
}
