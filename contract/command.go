package contract

import "encoding/json"

// Method is the name of a command, the same on every door.
type Method string

// The methods. Source: interface.md 4 and contract.md 6.1.
const (
	MethodSubscribe         Method = "subscribe"
	MethodUnsubscribe       Method = "unsubscribe"
	MethodSession           Method = "get_session"
	MethodListConversations Method = "list_conversations"
	MethodGetConversation   Method = "get_conversation"
	MethodListProviders     Method = "list_providers"
	MethodProviderAuth      Method = "get_provider_auth_status"
	MethodSidecarStatus     Method = "get_sidecar_status"
	MethodACPUsage          Method = "acp_session_usage"
	MethodTree              Method = "get_tree"
	MethodListTerminals     Method = "list_terminals"
	MethodStart             Method = "start_api_agent_session"
	MethodSend              Method = "send_api_agent_message"
	MethodCancel            Method = "cancel_api_agent_session"
	MethodChangeModel       Method = "change_model"
	MethodSetPlanMode       Method = "set_plan_mode"
	MethodSetPermissionMode Method = "set_permission_mode"
	MethodSetApproveWrites  Method = "set_approve_writes"
	MethodRespondPermission Method = "respond_permission"
	MethodRespondEdit       Method = "respond_edit"
	MethodCancelPending     Method = "cancel_pending_tools"
	MethodRetry             Method = "retry_last_turn"
	MethodClose             Method = "close_api_agent_session"
	MethodApprovePlan       Method = "approve_plan"
	MethodQueueRemove       Method = "remove_queued_message"
	MethodDelete            Method = "delete_conversation"
	MethodRename            Method = "rename_conversation"
	MethodArchive           Method = "archive_conversation"
	MethodPin               Method = "pin_conversation"
	MethodGetSettings       Method = "get_settings"
	MethodSetSettings       Method = "set_settings"
	MethodSetKey            Method = "set_key"
	MethodDeleteKey         Method = "delete_key"
	MethodListKeys          Method = "list_keys"
	MethodListAudit         Method = "list_audit"
	MethodOneShot           Method = "one_shot"
	MethodTrustProject      Method = "trust_project"
	MethodResetActor        Method = "reset_actor"
	MethodStopActor         Method = "stop_actor"
	MethodStartActor        Method = "start_actor"
	MethodOpenTerminal      Method = "open_terminal"
	MethodResizeTerminal    Method = "resize_terminal"
	MethodCloseTerminal     Method = "close_terminal"
	MethodFindFiles         Method = "find_files"
	MethodListCommands      Method = "list_commands"
	MethodProject           Method = "get_project"
	MethodWorktree          Method = "get_worktree"
	MethodMergeWorktree     Method = "merge_worktree"
	MethodWorktreePR        Method = "create_worktree_pr"
	MethodDiscardWorktree   Method = "discard_worktree"
	MethodConfirmDelete     Method = "confirm_delete"
	MethodListProfiles      Method = "list_profiles"
	MethodSaveProfile       Method = "save_profile"
	MethodCloneProfile      Method = "clone_profile"
	MethodDeleteProfile     Method = "delete_profile"
	MethodDefaultProfile    Method = "set_default_profile"
	MethodPromptLayers      Method = "get_prompt_layers"
	MethodFork              Method = "fork_conversation"
	MethodRestore           Method = "restore_conversation"
	MethodExport            Method = "export_conversation"
	MethodSearch            Method = "search_conversations"
	MethodListEdits         Method = "list_edits"
	MethodGetEdit           Method = "get_edit"
	MethodUndoEdit          Method = "undo_edit"
	MethodDiffComments      Method = "set_diff_comments"
	MethodRemovePattern     Method = "remove_allow_pattern"
	MethodTestKey           Method = "test_key"
	MethodProjectDiff       Method = "get_project_diff"
	MethodEngineSessions    Method = "list_engine_sessions"
	MethodMCPPlan           Method = "acp_mcp_plan"
	MethodProbeEngine       Method = "probe_engine"
	MethodPinEngine         Method = "pin_engine"
	MethodRestartTerminal   Method = "restart_terminal"
	MethodTerminalPresets   Method = "list_terminal_presets"
	MethodLog               Method = "get_log"
)

// Methods lists every method of every door.
var Methods = []Method{
	MethodSubscribe, MethodUnsubscribe, MethodSession, MethodListConversations,
	MethodGetConversation, MethodListProviders, MethodProviderAuth, MethodSidecarStatus,
	MethodACPUsage, MethodTree, MethodListTerminals, MethodStart, MethodSend, MethodCancel,
	MethodChangeModel, MethodSetPlanMode, MethodSetPermissionMode, MethodSetApproveWrites,
	MethodRespondPermission, MethodRespondEdit, MethodCancelPending, MethodRetry, MethodClose,
	MethodApprovePlan, MethodQueueRemove, MethodDelete, MethodRename, MethodArchive,
	MethodPin, MethodGetSettings, MethodSetSettings, MethodSetKey, MethodDeleteKey,
	MethodListKeys, MethodListAudit, MethodOneShot, MethodTrustProject, MethodResetActor,
	MethodStopActor, MethodStartActor, MethodOpenTerminal, MethodResizeTerminal,
	MethodCloseTerminal, MethodFindFiles, MethodListCommands, MethodProject, MethodWorktree,
	MethodMergeWorktree, MethodWorktreePR, MethodDiscardWorktree, MethodConfirmDelete,
	MethodListProfiles, MethodSaveProfile, MethodCloneProfile, MethodDeleteProfile,
	MethodDefaultProfile, MethodPromptLayers, MethodFork, MethodRestore, MethodExport,
	MethodSearch, MethodListEdits, MethodGetEdit, MethodUndoEdit, MethodDiffComments,
	MethodRemovePattern, MethodTestKey, MethodProjectDiff, MethodEngineSessions, MethodMCPPlan, MethodProbeEngine,
	MethodPinEngine, MethodRestartTerminal, MethodTerminalPresets, MethodLog,
}

// MonitorMethods are the ten that a monitor may call, and get_session, which
// tells a page its own role. Source: interface.md 3.
var MonitorMethods = []Method{
	MethodSubscribe, MethodUnsubscribe, MethodListConversations, MethodGetConversation,
	MethodListProviders, MethodProviderAuth, MethodSidecarStatus, MethodACPUsage,
	MethodTree, MethodListTerminals, MethodSession,
}

// Client is who calls: the role of a token or of a NATS user.
type Client string

// The two roles.
const (
	ClientOwner   Client = "owner"
	ClientMonitor Client = "monitor"
)

// May reports whether role c may call m. An unknown method is reported as
// unknown before this is asked.
func (c Client) May(m Method) bool {
	if c == ClientOwner {
		return true
	}
	for _, allowed := range MonitorMethods {
		if m == allowed {
			return c == ClientMonitor
		}
	}
	return false
}

// Request is one JSON-RPC 2.0 request. A missing ID makes it a notification.
type Request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  Method          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Response answers a Request.
type Response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Failure        `json:"error,omitempty"`
}

// Parameters and results of the commands. `?` of contract.md is omitempty.
type (
	// SessionParams names one conversation.
	SessionParams struct {
		SessionID ConversationID `json:"session_id"`
	}
	// ResumeMessage is one line of history given to a start.
	ResumeMessage struct {
		Role    Role   `json:"role"`
		Content string `json:"content"`
	}
	// StartParams starts a conversation or resumes an idle one.
	StartParams struct {
		SessionID            ConversationID  `json:"session_id"`
		Provider             ProviderID      `json:"provider"`
		Row                  RowID           `json:"row,omitempty"`
		Model                string          `json:"model"`
		ProjectPath          string          `json:"project_path"`
		InitialMessage       string          `json:"initial_message"`
		SystemPromptOverride string          `json:"system_prompt_override,omitempty"`
		ThinkingEnabled      bool            `json:"thinking_enabled,omitempty"`
		Attachments          []Attachment    `json:"attachments,omitempty"`
		PlanMode             bool            `json:"plan_mode,omitempty"`
		SSHConfig            json.RawMessage `json:"ssh_config,omitempty"`
		AllowedTools         []string        `json:"allowed_tools,omitempty"`
		AllowPatterns        []string        `json:"allow_patterns,omitempty"`
		ResumeToken          string          `json:"resume_token,omitempty"`
		EnabledMCPServerIDs  []string        `json:"enabled_mcp_server_ids,omitempty"`
		MCPTrustSnapshot     json.RawMessage `json:"mcp_trust_snapshot,omitempty"`
		ResumeMessages       []ResumeMessage `json:"resume_messages,omitempty"`
		PermissionMode       PermissionMode  `json:"permission_mode,omitempty"`
		ApproveWrites        bool            `json:"approve_writes,omitempty"`
		Worktree             bool            `json:"worktree,omitempty"`
		Workspace            string          `json:"workspace,omitempty"`
		EngineSessionID      string          `json:"engine_session_id,omitempty"`
		Title                string          `json:"title,omitempty"`
		// Profile is the id of a profile; absent means the built-in default. What
		// the caller says itself beats it, but for a pinned model.
		Profile string `json:"profile,omitempty"`
	}
	// StartResult answers a start.
	StartResult struct {
		SessionID ConversationID `json:"session_id"`
		TurnID    TurnID         `json:"turn_id,omitempty"`
	}
	// SendParams sends a user message.
	SendParams struct {
		SessionID   ConversationID `json:"session_id"`
		Message     string         `json:"message"`
		Attachments []Attachment   `json:"attachments,omitempty"`
	}
	// SendResult answers a send.
	SendResult struct {
		MessageID string `json:"message_id"`
		Queued    bool   `json:"queued"`
		TurnID    TurnID `json:"turn_id,omitempty"`
	}
	// ChangeModelParams sets the model of the next turn.
	ChangeModelParams struct {
		SessionID ConversationID `json:"session_id"`
		NewModel  string         `json:"new_model"`
	}
	// SetEnabledParams is for set_plan_mode and set_approve_writes.
	SetEnabledParams struct {
		SessionID ConversationID `json:"session_id"`
		Enabled   bool           `json:"enabled"`
	}
	// SetModeParams sets the permission mode.
	SetModeParams struct {
		SessionID ConversationID `json:"session_id"`
		Mode      PermissionMode `json:"mode"`
	}
	// RespondPermissionParams answers a parked permission. AllowPattern goes
	// with allow_once and must be the derived one.
	RespondPermissionParams struct {
		SessionID    ConversationID `json:"session_id"`
		ToolID       string         `json:"tool_id"`
		Decision     Decision       `json:"decision"`
		Reason       string         `json:"reason,omitempty"`
		AllowPattern string         `json:"allow_pattern,omitempty"`
	}
	// RespondEditParams answers a parked edit.
	RespondEditParams struct {
		SessionID     ConversationID `json:"session_id"`
		ToolID        string         `json:"tool_id"`
		Decision      EditDecision   `json:"decision"`
		MergedContent *string        `json:"merged_content,omitempty"`
	}
	// RetryParams runs the last turn again.
	RetryParams struct {
		SessionID ConversationID `json:"session_id"`
		NewModel  string         `json:"new_model,omitempty"`
	}
	// ApprovePlanParams chooses execute, accept_edits, review_each or
	// keep_planning.
	ApprovePlanParams struct {
		SessionID ConversationID `json:"session_id"`
		Choice    string         `json:"choice"`
	}
	// QueueRemoveParams takes one message out of the queue.
	QueueRemoveParams struct {
		SessionID ConversationID `json:"session_id"`
		MessageID string         `json:"message_id"`
	}
	// RenameParams names a conversation.
	RenameParams struct {
		SessionID ConversationID `json:"session_id"`
		Title     string         `json:"title"`
	}
	// ArchiveParams archives a conversation or brings it back.
	ArchiveParams struct {
		SessionID ConversationID `json:"session_id"`
		Archived  bool           `json:"archived"`
	}
	// PinParams pins a conversation to the top of its group.
	PinParams struct {
		SessionID ConversationID `json:"session_id"`
		Pinned    bool           `json:"pinned"`
	}
	// SubscribeParams subscribes to patterns. Since is "new", "all" or a
	// sequence number.
	SubscribeParams struct {
		Subjects []string        `json:"subjects"`
		Since    json.RawMessage `json:"since,omitempty"`
	}
	// SubscribeResult answers a subscribe. Head is the log's last sequence.
	SubscribeResult struct {
		Subscription string `json:"subscription"`
		Head         uint64 `json:"head"`
	}
	// UnsubscribeParams ends a subscription.
	UnsubscribeParams struct {
		Subscription string `json:"subscription"`
	}
	// EventsParams is the body of the event notification.
	EventsParams struct {
		Subscription string     `json:"subscription"`
		Events       []Envelope `json:"events"`
	}
	// GapParams is the body of the gap notification: the log no longer holds
	// the sequences From to To.
	GapParams struct {
		Subscription string `json:"subscription"`
		From         uint64 `json:"from"`
		To           uint64 `json:"to"`
	}
	// ProviderParams names a badge probe.
	ProviderParams struct {
		Provider AuthProbe `json:"provider"`
	}
	// ActorParams names a registered actor of the tree.
	ActorParams struct {
		Name string `json:"name"`
	}
	// ActorResult answers an operator's action.
	ActorResult struct {
		State string `json:"state"`
	}
	// Session answers get_session: who the caller is to this service.
	Session struct {
		Role    Client `json:"role"`
		BootID  string `json:"boot_id"`
		Version string `json:"version"`
		// ProjectPath is the folder the service was started in.
		ProjectPath string `json:"project_path"`
		Head        uint64 `json:"head"`
	}
	// KeyParams stores or deletes a credential. Value is never returned.
	KeyParams struct {
		Account KeyringAccount `json:"account"`
		Value   string         `json:"value,omitempty"`
	}
	// KeyInfo says that a credential exists, where, and its last four
	// characters; never more.
	KeyInfo struct {
		Account KeyringAccount `json:"account"`
		Present bool           `json:"present"`
		Source  string         `json:"source,omitempty"`
		Last4   string         `json:"last4,omitempty"`
	}
	// OneShotParams runs one auxiliary request (runtime.md 4): chunk, done
	// and error on SessionID, no tools, no conversation file.
	OneShotParams struct {
		SessionID ConversationID `json:"session_id"`
		Task      string         `json:"task"`
		System    string         `json:"system,omitempty"`
		Prompt    string         `json:"prompt"`
		Provider  ProviderID     `json:"provider,omitempty"`
		Model     string         `json:"model,omitempty"`
	}
	// TrustProjectParams answers the one question a new project raises.
	TrustProjectParams struct {
		ProjectPath string `json:"project_path"`
		Trusted     bool   `json:"trusted"`
	}
	// AuditEntry is one line of the decision audit (tools-permissions.md 9).
	AuditEntry struct {
		ID              string   `json:"id"`
		Timestamp       int64    `json:"timestamp"`
		ConversationID  string   `json:"conversationId"`
		ToolID          string   `json:"toolId"`
		Action          string   `json:"action"`
		Target          string   `json:"target,omitempty"`
		Decision        string   `json:"decision"`
		EffectivePolicy string   `json:"effectivePolicy"`
		SourceChain     []Source `json:"sourceChain"`
	}
)
