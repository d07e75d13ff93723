package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The id spaces of contract.md 10, one type each. They are joined by the table
// below and by nothing else: no id is derived by cutting a prefix.
type (
	// ConversationID is the id used everywhere for one conversation.
	ConversationID string
	// TerminalID is the id of one PTY.
	TerminalID string
	// TurnID is "t-<n>", n rising from 1 per conversation.
	TurnID string
	// RowID is the persisted id of an entry in the provider picker.
	//
	//gen:open
	RowID string
	// CatalogueID is the picker's provider id in the model catalogue.
	CatalogueID string
	// ProviderID is what a transport is asked for.
	//
	//gen:open
	ProviderID string
	// AuthProbe is what a badge is asked for.
	AuthProbe string
	// KeyringAccount is where a secret is kept.
	KeyringAccount string
	// LedgerSource is the id of a line in the usage ledger.
	//
	//gen:open
	LedgerSource string
	// Transport is one of the three ways a turn is served.
	Transport string
	// Group is a heading of the picker.
	Group string
)

// The three transports, as stored in a conversation's owner field.
const (
	TransportInProcess Transport = "in-process"
	TransportSidecar   Transport = "sidecar"
	TransportACP       Transport = "acp"
)

// The picker's three groups, with exactly these labels.
const (
	GroupAnthropic Group = "Anthropic"
	GroupOpenAI    Group = "OpenAI"
	GroupOther     Group = "Other"
)

// Row is one entry of the provider picker with every id that belongs to it.
type Row struct {
	ID        RowID
	Label     string
	Catalogue CatalogueID
	Provider  ProviderID
	Transport Transport
	Group     Group
	// Account is empty where the row has no key of its own.
	Account KeyringAccount
	// KeyOptional marks a row that works without a key.
	KeyOptional bool
	Probe       AuthProbe
	// Ledger is empty where turns are billed nothing and write no line.
	Ledger LedgerSource
}

// The ids that code, not only data, has to name.
const (
	RowDemo             RowID        = "api-demo"
	RowRetiredCodex     RowID        = "api-openai-codex"
	ProviderAnthropic   ProviderID   = "anthropic"
	ProviderOpenAI      ProviderID   = "openai"
	ProviderMiniMax     ProviderID   = "minimax"
	ProviderMiniMaxAPI  ProviderID   = "minimax-api"
	ProviderOpenRouter  ProviderID   = "openrouter"
	ProviderOllama      ProviderID   = "ollama"
	ProviderCustom      ProviderID   = "custom"
	ProviderDemo        ProviderID   = "demo"
	ProviderClaudeOAuth ProviderID   = "claude-oauth"
	ProviderAgents      ProviderID   = "openai-agents"
	ProviderEcho        ProviderID   = "echo"
	ProviderPacketcode  ProviderID   = "packetcode-acp"
	LedgerAux           LedgerSource = "aux"
)

// Rows is the picker: nine live rows and the demo, in picker order. Rows of
// engines from settings come after them (EngineRow).
var Rows = []Row{
	{ID: "api-claude-oauth", Label: "Claude Agent SDK (API)", Catalogue: "anthropic-oauth", Provider: ProviderClaudeOAuth, Transport: TransportSidecar, Group: GroupAnthropic, Account: "api-key-anthropic", Probe: "anthropic", Ledger: "api-claude-oauth"},
	{ID: "api-claude", Label: "Claude (API)", Catalogue: "anthropic", Provider: ProviderAnthropic, Transport: TransportInProcess, Group: GroupAnthropic, Account: "api-key-anthropic", Probe: "anthropic", Ledger: "api-claude"},
	{ID: "api-openai", Label: "OpenAI (API)", Catalogue: "openai", Provider: ProviderOpenAI, Transport: TransportInProcess, Group: GroupOpenAI, Account: "api-key-openai", Probe: "openai", Ledger: "api-openai"},
	{ID: "api-openai-agents", Label: "OpenAI Agents SDK (API)", Catalogue: "openai-agents", Provider: ProviderAgents, Transport: TransportSidecar, Group: GroupOpenAI, Account: "api-key-openai", Probe: "openai-agents", Ledger: "api-openai-agents"},
	{ID: "api-openrouter", Label: "OpenRouter", Catalogue: "openrouter", Provider: ProviderOpenRouter, Transport: TransportInProcess, Group: GroupOther, Account: "api-key-openrouter", Probe: "openrouter", Ledger: "api-openrouter"},
	{ID: "api-minimax", Label: "MiniMax (Token Plan)", Catalogue: "minimax", Provider: ProviderMiniMax, Transport: TransportInProcess, Group: GroupOther, Account: "api-key-minimax", Probe: "minimax", Ledger: "api-minimax"},
	{ID: "api-ollama", Label: "Ollama (Local)", Catalogue: "ollama", Provider: ProviderOllama, Transport: TransportInProcess, Group: GroupOther, Probe: "ollama", Ledger: "api-ollama"},
	{ID: "api-packetcode", Label: "PacketCode (ACP)", Catalogue: "packetcode-acp", Provider: ProviderPacketcode, Transport: TransportACP, Group: GroupOther, Probe: "packetcode-acp", Ledger: "api-packetcode"},
	{ID: "api-custom", Label: "Custom endpoint (OpenAI-compatible)", Catalogue: "custom", Provider: ProviderCustom, Transport: TransportInProcess, Group: GroupOther, Account: "api-key-custom", KeyOptional: true, Probe: "custom", Ledger: "api-custom"},
	{ID: RowDemo, Label: "Offline demo (scripted)", Catalogue: "demo", Provider: ProviderDemo, Transport: TransportInProcess, Group: GroupOther, Probe: "demo"},
}

// AutoPick is the order in which a launcher takes the first ready row. None
// ready means RowDemo.
var AutoPick = []RowID{
	"api-claude-oauth", "api-claude", "api-openai", "api-openai-agents",
	"api-openrouter", "api-ollama", "api-minimax",
}

// rowAliases are ids that older files hold for a live row. Source: contract.md
// 10. A retired row is never an alias: that would move billing.
var rowAliases = map[RowID]RowID{"api-minimax-api": "api-minimax"}

// inProcess are the provider ids our own turn loop serves.
var inProcess = []ProviderID{
	ProviderAnthropic, ProviderOpenAI, ProviderMiniMax, ProviderMiniMaxAPI,
	ProviderOpenRouter, ProviderOllama, ProviderCustom, ProviderDemo,
}

// sidecarProviders are the provider ids the Node child serves.
var sidecarProviders = []ProviderID{ProviderClaudeOAuth, ProviderAgents, ProviderEcho}

// InProcessProviders returns the provider ids our own turn loop serves.
func InProcessProviders() []ProviderID { return slices.Clone(inProcess) }

// ProviderTransport returns the transport that serves p. It fails with
// ErrUnknownProvider, and the text names the id, the accepted ones and the
// reason that ids are mapped: nothing is ever billed to a default.
func ProviderTransport(p ProviderID) (Transport, error) {
	switch {
	case slices.Contains(inProcess, p):
		return TransportInProcess, nil
	case slices.Contains(sidecarProviders, p):
		return TransportSidecar, nil
	case p == ProviderPacketcode:
		return TransportACP, nil
	}
	if _, ok := engineName(string(p)); ok {
		return TransportACP, nil
	}
	accepted := make([]string, 0, 16)
	for _, id := range inProcess {
		accepted = append(accepted, string(id))
	}
	accepted = append(accepted, string(ProviderClaudeOAuth), string(ProviderAgents), string(ProviderPacketcode), "acp-<name>")
	return "", fmt.Errorf("%w: %q. Accepted: %s. Row ids are mapped to provider ids by a table, not by cutting a prefix",
		ErrUnknownProvider, clip(string(p)), strings.Join(accepted, ", "))
}

// RowByID returns the row with this id, following aliases and naming engine
// rows. It fails with ErrUnknownRow; a retired id fails too (see Retired).
func RowByID(id RowID) (Row, error) {
	if to, ok := rowAliases[id]; ok {
		id = to
	}
	for _, r := range Rows {
		if r.ID == id {
			return r, nil
		}
	}
	if name, ok := engineName(string(id)); ok {
		return EngineRow(name, name), nil
	}
	return Row{}, fmt.Errorf("%w: %q", ErrUnknownRow, clip(string(id)))
}

// RowForProvider returns the row that is meant when a launch names only a
// provider. It fails with ErrUnknownProvider.
func RowForProvider(p ProviderID) (Row, error) {
	if p == ProviderMiniMaxAPI {
		r, err := RowByID("api-minimax")
		r.Provider, r.Account, r.Probe, r.Ledger = p, "api-key-minimax-api", "minimax-api", "api-minimax-api"
		return r, err
	}
	for _, r := range Rows {
		if r.Provider == p {
			return r, nil
		}
	}
	if name, ok := engineName(string(p)); ok {
		return EngineRow(name, name), nil
	}
	_, err := ProviderTransport(p)
	if err == nil {
		err = fmt.Errorf("%w: %q has no row", ErrUnknownProvider, string(p))
	}
	return Row{}, err
}

// EngineRow is the row of an engine defined in settings. Name is 1 to 32 of
// a-z 0-9 and -. Source: interface.md decision 17.
func EngineRow(name, label string) Row {
	id := "acp-" + name
	return Row{ID: RowID(id), Label: label, Catalogue: CatalogueID(id), Provider: ProviderID(id), Transport: TransportACP, Group: GroupOther, Probe: AuthProbe(id), Ledger: LedgerSource(id)}
}

var engineID = regexp.MustCompile(`^acp-([a-z0-9-]{1,32})$`)

func engineName(id string) (string, bool) {
	m := engineID.FindStringSubmatch(id)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// EngineOf is the name of the engine behind an ACP provider: what its actor,
// its settings and its file names carry. Empty for any other provider.
func EngineOf(p ProviderID) string {
	if p == ProviderPacketcode {
		return "packetcode"
	}
	name, _ := engineName(string(p))
	return name
}

// Retired returns the notice for a row that is no longer offered: its
// conversations load and read, and refuse new turns with this text. Source:
// contract.md 10.1.
func Retired(id RowID) (notice string, retired bool) {
	if id != RowRetiredCodex {
		return "", false
	}
	return "This conversation used OpenAI Codex (ChatGPT login), which PacketBench no longer offers. " +
		"The transcript stays readable, but it cannot take new turns. To continue, switch to OpenAI Agents SDK (API); " +
		"it is billed to your OpenAI API key.", true
}

// RetiredLabel is the display name of a retired row.
const RetiredLabel = "OpenAI Codex (retired)"

// ledgerSources maps every id that may arrive at the ledger to its one source;
// an empty value means that no line is written. Source: contract.md 9.
var ledgerSources = map[string]LedgerSource{
	"anthropic": "api-claude", "claude": "api-claude", "api-claude": "api-claude",
	"claude-oauth": "api-claude-oauth", "api-claude-oauth": "api-claude-oauth",
	"openai": "api-openai", "api-openai": "api-openai",
	"openai-agents": "api-openai-agents", "api-openai-agents": "api-openai-agents",
	"minimax": "api-minimax", "api-minimax": "api-minimax",
	"minimax-api": "api-minimax-api", "api-minimax-api": "api-minimax-api",
	"openrouter": "api-openrouter", "api-openrouter": "api-openrouter",
	"ollama": "api-ollama", "api-ollama": "api-ollama",
	"custom": "api-custom", "api-custom": "api-custom",
	"packetcode-acp": "api-packetcode", "api-packetcode": "api-packetcode",
	"demo": "", "api-demo": "",
	"aux": LedgerAux,
}

// LedgerSourceOf returns the ledger source of an id of any space. An empty source
// means that no line is written; an unknown id is ErrUnknownProvider and its
// usage is billed to nobody.
func LedgerSourceOf(id string) (LedgerSource, error) {
	if s, ok := ledgerSources[id]; ok {
		return s, nil
	}
	if _, ok := engineName(id); ok {
		return LedgerSource(id), nil
	}
	return "", fmt.Errorf("%w: %q", ErrUnknownProvider, clip(id))
}

// ValidID reports whether id is 1 to 64 of A-Z a-z 0-9 _ and -. Source:
// interface.md 3.
func ValidID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if !idRune(rune(id[i])) {
			return false
		}
	}
	return true
}

func idRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
