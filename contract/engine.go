package contract

import "encoding/json"

// The settings about engines: the program of the default one, absolute, and the
// list of the others, {name, label?, command, args?, env?, auth_method?} each.
// Source: acp.md 10.
const (
	SettingEnginePath = "acp_engine_path"
	SettingEngines    = "engines"
)

// What a window asks about ACP engines beyond any conversation. Source: acp.md
// 7, 9 and 10, ui.md 13.
type (
	// EngineParams names an engine by its provider id.
	EngineParams struct {
		Provider ProviderID `json:"provider"`
	}
	// EngineSession is one session that an engine holds. Absent facts are
	// empty: an engine that only lists sessions knows neither provider nor
	// counts.
	EngineSession struct {
		SessionID string `json:"session_id"`
		Name      string `json:"name"`
		// UpdatedAt is RFC 3339 as the engine wrote it.
		UpdatedAt    string  `json:"updated_at,omitempty"`
		Provider     string  `json:"provider,omitempty"`
		Model        string  `json:"model,omitempty"`
		Dir          string  `json:"dir,omitempty"`
		MessageCount int     `json:"message_count,omitempty"`
		CostUSD      float64 `json:"cost_usd,omitempty"`
	}
	// EngineSessions answers list_engine_sessions. CanOpen says that the engine
	// takes one of them up again; a conversation does so when it is started with
	// the id as engine_session_id.
	EngineSessions struct {
		Sessions []EngineSession `json:"sessions"`
		CanOpen  bool            `json:"can_open"`
	}
	// PinEngineParams names the program of the default engine; an empty path
	// takes the name back.
	PinEngineParams struct {
		Path string `json:"path"`
	}
	// EngineProbe is what is known of the default engine without starting it as
	// one. InstallSupported is false: installing is the person's own command.
	EngineProbe struct {
		Found            bool   `json:"found"`
		Path             string `json:"path,omitempty"`
		Version          string `json:"version,omitempty"`
		Status           string `json:"status,omitempty"`
		MinimumVersion   string `json:"minimumVersion"`
		Compatible       bool   `json:"compatible"`
		InstallSupported bool   `json:"installSupported"`
		Detail           string `json:"detail,omitempty"`
	}
	// MCPPlanParams asks which MCP servers an engine would get. Without a
	// snapshot or without ids there are none: "not told" never means "all".
	MCPPlanParams struct {
		// Provider is the engine; absent means the default one.
		Provider              ProviderID      `json:"provider,omitempty"`
		ProjectPath           string          `json:"project_path"`
		EnabledMCPServerIDs   []string        `json:"enabled_mcp_server_ids,omitempty"`
		MCPTrustSnapshot      json.RawMessage `json:"mcp_trust_snapshot,omitempty"`
		InheritEngineDefaults bool            `json:"inherit_engine_defaults,omitempty"`
	}
	// MCPPlanServer is one configured server: whether the engine would get it,
	// why, and which of its rules cannot cross. Command and Args are as
	// configured, without the environment, which may hold secrets.
	MCPPlanServer struct {
		Name       string   `json:"name"`
		Scope      string   `json:"scope"`
		Transport  string   `json:"transport"`
		Command    string   `json:"command"`
		Args       []string `json:"args"`
		Included   bool     `json:"included"`
		Reason     string   `json:"reason"`
		Unenforced []string `json:"unenforced"`
	}
	// MCPPlan answers acp_mcp_plan; nothing is started for it. Posture is none,
	// explicit or inheritEngineDefaults.
	MCPPlan struct {
		Posture        string          `json:"posture"`
		Servers        []MCPPlanServer `json:"servers"`
		Selected       []string        `json:"selected"`
		InheritRefused bool            `json:"inheritRefused"`
	}
)
