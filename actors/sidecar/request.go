package sidecar

import (
	"encoding/json"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// The requests of protocol 11. Unset fields are left out; a peer takes that as
// it takes null. Source: sidecar-protocol.md 2.
type (
	request struct {
		Type    string                  `json:"type"`
		Session contract.ConversationID `json:"sessionId"`
	}
	startRequest struct {
		request
		Provider    contract.ProviderID        `json:"provider"`
		Model       string                     `json:"model"`
		System      string                     `json:"systemPrompt"`
		Tools       []string                   `json:"allowedTools"`
		Servers     map[string]json.RawMessage `json:"mcpServers"`
		Trust       json.RawMessage            `json:"mcpTrustSnapshot,omitempty"`
		Project     string                     `json:"projectPath"`
		Message     string                     `json:"initialMessage"`
		Turn        contract.TurnID            `json:"turnId"`
		Key         string                     `json:"apiKey,omitempty"`
		Resume      string                     `json:"resume,omitempty"`
		Thinking    bool                       `json:"thinkingEnabled,omitempty"`
		Plan        bool                       `json:"planMode,omitempty"`
		Attachments []wireImage                `json:"attachments,omitempty"`
		Transcript  []contract.ResumeMessage   `json:"resumeMessages,omitempty"`
		Mode        contract.PermissionMode    `json:"permissionMode,omitempty"`
		Approve     bool                       `json:"approveWrites,omitempty"`
		Workspace   workspace                  `json:"workspace"`
		// BaseURL is ours: the model endpoint of the settings. A peer that does
		// not know it uses the one of its environment.
		BaseURL string `json:"baseUrl,omitempty"`
	}
	sendRequest struct {
		request
		Content     string          `json:"content"`
		Attachments []wireImage     `json:"attachments,omitempty"`
		Turn        contract.TurnID `json:"turnId"`
	}
	retryRequest struct {
		request
		Turn contract.TurnID `json:"turnId"`
	}
	permissionRequest struct {
		request
		ID       string            `json:"toolUseId"`
		Decision contract.Decision `json:"decision"`
		Reason   string            `json:"reason,omitempty"`
		By       string            `json:"by,omitempty"`
	}
	editRequest struct {
		request
		ID       string  `json:"toolUseId"`
		Approved bool    `json:"approved"`
		Merged   *string `json:"mergedContent,omitempty"`
	}
	modeRequest struct {
		request
		Mode string `json:"mode"`
	}
	approveRequest struct {
		request
		Approve bool `json:"approveWrites"`
	}
	modelRequest struct {
		request
		Model string `json:"model"`
	}
)

// The types of requests that are named more than once.
const (
	typeStart      = "start_session"
	typeSend       = "send_message"
	typeRetry      = "retry"
	typeCancel     = "cancel"
	typeClose      = "close_session"
	typeCancelAll  = "cancel_pending_tools"
	typeMode       = "set_permission_mode"
	typeApprove    = "set_approve_writes"
	typeModel      = "set_model"
	typePermission = "permission_response"
	typeEdit       = "edit_response"
)

// wireImage is an attachment as the wire has it: without the name.
type wireImage struct {
	MediaType  string `json:"media_type"`
	DataBase64 string `json:"data_base64"`
}

type workspace struct {
	Kind    string `json:"kind"`
	Project string `json:"projectPath"`
}

func images(list []contract.Attachment) []wireImage {
	var out []wireImage
	for _, a := range list {
		out = append(out, wireImage{a.MediaType, a.DataBase64})
	}
	return out
}

// encode makes one line, without its end. The requests hold nothing that cannot
// be encoded but a trust snapshot or an MCP entry that is no JSON.
func encode(r any) ([]byte, error) { return contract.Marshal(r) }

// start is the request that opens a session with its first turn. It is the only
// one that carries the key.
func start(m msg.HostOpen, servers map[string]json.RawMessage, baseURL string) startRequest {
	s := m.Session
	r := startRequest{
		request: request{typeStart, m.Conversation}, Provider: s.Provider, Model: s.Model, System: s.System,
		Tools: s.AllowedTools, Servers: servers, Trust: s.Trust, Project: s.Project, Message: m.Text, Turn: m.Turn,
		Key: string(s.Key), Resume: s.Resume, Thinking: s.Thinking, Plan: s.Posture.PlanMode,
		Attachments: images(m.Attachments), Transcript: s.Transcript, Mode: s.Posture.PermissionMode,
		Approve: s.Posture.ApproveWrites, Workspace: workspace{"local", s.Project}, BaseURL: baseURL,
	}
	if r.Tools == nil {
		r.Tools = []string{} // All of them, on the wire.
	}
	if r.Servers == nil {
		r.Servers = map[string]json.RawMessage{}
	}
	return r
}

// turnRequest is the request of one more turn.
func turnRequest(m msg.HostSend) any {
	if m.Retry {
		return retryRequest{request{typeRetry, m.Conversation}, m.Turn}
	}
	return sendRequest{request{typeSend, m.Conversation}, m.Text, images(m.Attachments), m.Turn}
}

// answer words a permission for the child, which makes its own text of it.
func answer(m msg.HostPermission) permissionRequest {
	r := permissionRequest{request: request{typePermission, m.Conversation}, ID: m.ID, Decision: contract.AllowOnce}
	switch m.By {
	case contract.ByUser, contract.ByPolicy, contract.ByTimeout, contract.ByCancel:
		r.By = string(m.By)
	case "":
	default: // The wire knows four; a restart is nobody's decision.
		r.By = string(contract.ByPolicy)
	}
	switch {
	case !m.Allowed:
		r.Decision, r.Reason = contract.Deny, m.Reason
	case m.Decision == contract.AllowAlways:
		r.Decision = contract.AllowAlways
	}
	return r
}

// settings are the requests of one HostSet, in order. Plan mode goes over the
// permission mode, approve-writes never does (interface.md, decision 6).
func settings(m msg.HostSet) []any {
	var out []any
	if m.Model != nil {
		out = append(out, modelRequest{request{typeModel, m.Conversation}, *m.Model})
	}
	if m.Mode != nil {
		mode := string(m.Mode.PermissionMode)
		if m.Mode.PlanMode {
			mode = "plan"
		}
		out = append(out, modeRequest{request{typeMode, m.Conversation}, mode})
	}
	if m.ApproveWrites != nil {
		out = append(out, approveRequest{request{typeApprove, m.Conversation}, *m.ApproveWrites})
	}
	return out
}
