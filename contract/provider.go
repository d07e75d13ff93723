package contract

// BadgeStatus says whether a row can be launched.
type BadgeStatus string

// The badge statuses. Source: contract.md 11.
const (
	BadgeReady         BadgeStatus = "ready"
	BadgeMissingKey    BadgeStatus = "missing_key"
	BadgeServiceDown   BadgeStatus = "service_down"
	BadgeLoginRequired BadgeStatus = "login_required"
	BadgeComingSoon    BadgeStatus = "coming_soon"
	BadgeUnknown       BadgeStatus = "unknown"
)

// Badge is a row's readiness. Hint says what to do and is the tooltip of a
// disabled Launch verbatim; Source says which store the key in use came from.
type Badge struct {
	Status BadgeStatus `json:"status"`
	Hint   string      `json:"hint"`
	Source string      `json:"source,omitempty"`
}

// Pricing is in USD per million tokens.
type Pricing struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Model is one entry of a row's model list. ContextWindow is in tokens.
type Model struct {
	Label         string   `json:"label"`
	Value         string   `json:"value"`
	ContextWindow uint64   `json:"contextWindow,omitempty"`
	Pricing       *Pricing `json:"pricing,omitempty"`
}

// Capabilities drives the chrome of a row and of a conversation; nothing else
// may look at an id for that. Source: ui.md 3.1.
type Capabilities struct {
	CanApprovePerTool      bool             `json:"canApprovePerTool"`
	PermissionModes        []PermissionMode `json:"permissionModes"`
	PermissionVocabulary   string           `json:"permissionVocabulary"`
	CanGateWrites          bool             `json:"canGateWrites"`
	CanPlanMode            bool             `json:"canPlanMode"`
	Models                 []Model          `json:"models"`
	ModelsAreAuthoritative bool             `json:"modelsAreAuthoritative"`
	// EffortLevels is null for a row without them.
	//
	//gen:null
	EffortLevels           []string `json:"effortLevels"`
	EmitsThinking          bool     `json:"emitsThinking"`
	StructuredPlans        bool     `json:"structuredPlans"`
	StructuredEdits        bool     `json:"structuredEdits"`
	CanCancelTurn          bool     `json:"canCancelTurn"`
	CanQueueWhileStreaming bool     `json:"canQueueWhileStreaming"`
	FileMentions           bool     `json:"fileMentions"`
	SlashCommands          bool     `json:"slashCommands"`
	ImageAttachments       bool     `json:"imageAttachments"`
	ContextWindow          *uint64  `json:"contextWindow"`
	ReportsUsage           bool     `json:"reportsUsage"`
	Remote                 bool     `json:"remote"`
	MCP                    bool     `json:"mcp"`
	CanRename              bool     `json:"canRename"`
	CanFork                bool     `json:"canFork"`
	UsesProviderCredential bool     `json:"usesProviderCredential"`
	LocalFiles             bool     `json:"localFiles"`
}

// ProviderRow is one row of list_providers.
type ProviderRow struct {
	Row          RowID        `json:"row"`
	Label        string       `json:"label"`
	Group        Group        `json:"group"`
	Transport    Transport    `json:"transport"`
	Provider     ProviderID   `json:"provider"`
	Models       []Model      `json:"models"`
	Badge        Badge        `json:"badge"`
	Capabilities Capabilities `json:"capabilities"`
}

// CapabilitiesOf is what a row's transport can do, for the picker and for a
// conversation alike. Models and window are the caller's; window 0 means that
// none is known. Source: ui.md 3.1.
func CapabilitiesOf(r Row, models []Model, authoritative bool, window uint64) Capabilities {
	if models == nil {
		models = []Model{}
	}
	c := Capabilities{
		CanApprovePerTool:      true,
		PermissionModes:        []PermissionMode{ModeAuto, ModeAskForRisky, ModeDenyAll, ModeAllowAll},
		PermissionVocabulary:   "approval",
		CanGateWrites:          r.Transport != TransportACP,
		CanPlanMode:            true,
		Models:                 models,
		ModelsAreAuthoritative: authoritative,
		EmitsThinking:          true,
		StructuredPlans:        r.Transport == TransportACP || r.Provider == ProviderClaudeOAuth,
		StructuredEdits:        r.Transport != TransportACP,
		CanCancelTurn:          true,
		CanQueueWhileStreaming: true,
		FileMentions:           true,
		SlashCommands:          true,
		ImageAttachments:       r.Provider != ProviderDemo && r.Transport != TransportACP,
		ReportsUsage:           r.Transport != TransportACP,
		CanRename:              true,
		CanFork:                true,
		UsesProviderCredential: r.Account != "",
		LocalFiles:             true,
	}
	if window > 0 {
		c.ContextWindow = &window
	}
	return c
}
