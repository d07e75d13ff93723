package contract

// Profile says how an agent behaves. Source: mcp-state.md 9. AllowedTools nil
// means all tools. SystemPrompt is the last layer of the system prompt; empty
// leaves PacketBench's own instructions. Times are in ms since 1970.
type Profile struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	SystemPrompt string `json:"system_prompt"`
	// AllowedTools is null for all tools.
	//
	//gen:null
	AllowedTools         []string       `json:"allowed_tools"`
	MemoryContextEnabled bool           `json:"memory_context_enabled"`
	PermissionMode       PermissionMode `json:"permission_mode"`
	PlanMode             bool           `json:"plan_mode"`
	PinnedModel          string         `json:"pinned_model,omitempty"`
	IsBuiltin            bool           `json:"is_builtin"`
	CreatedAt            int64          `json:"created_at"`
	UpdatedAt            int64          `json:"updated_at"`
}

// Parameters and results of the methods about profiles and prompt layers.
type (
	// Profiles answers list_profiles and every method that changes one:
	// built-ins first, then a person's own by name. Default is the one that a
	// launch takes when none is named.
	Profiles struct {
		Profiles []Profile `json:"profiles"`
		Default  string    `json:"default"`
		// ID is the profile that was saved or cloned.
		ID string `json:"id,omitempty"`
	}
	// SaveProfileParams creates a profile (empty id) or replaces a person's own.
	SaveProfileParams struct {
		Profile Profile `json:"profile"`
	}
	// ProfileParams names a profile to clone, to delete or to make the default.
	ProfileParams struct {
		ID string `json:"id"`
	}
	// PromptLayer is one layer of a system prompt, lowest first. Source is the
	// file it was read from, or the profile's name. Note says what was cut.
	PromptLayer struct {
		Kind   LayerKind `json:"kind"`
		Source string    `json:"source"`
		Text   string    `json:"text"`
		Note   string    `json:"note,omitempty"`
	}
	// PromptLayers answers get_prompt_layers: what was frozen when the
	// conversation was launched. SystemPrompt is exactly what the model gets.
	PromptLayers struct {
		Layers       []PromptLayer `json:"layers"`
		SystemPrompt string        `json:"system_prompt"`
	}
)

// LayerKind is one kind of layer.
type LayerKind string

// The kinds, lowest first. A start that brings a whole prompt has LayerOverride
// alone. Source: mcp-state.md 8.
const (
	LayerBuiltIn  LayerKind = "built_in"
	LayerCascade  LayerKind = "cascade"
	LayerMemory   LayerKind = "memory"
	LayerProfile  LayerKind = "profile"
	LayerOverride LayerKind = "override"
)

// The built-in profiles. Source: mcp-state.md 9.
const (
	ProfileDefault  = "builtin-default"
	ProfileScout    = "builtin-scout"
	ProfileReviewer = "builtin-reviewer"
)
