package acp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/actors/msg"
)

// protocolVersion is the one we speak. Source: acp.md 2.1.
const protocolVersion = 1

// initializeParams says who we are and what an engine may ask of us: nothing but
// permissions. With files and terminals off every engine works on its own files
// (acp.md 2.4), so there is nothing to serve and nothing to fence.
func initializeParams(version string) any {
	type fs struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	}
	type clientCapabilities struct {
		FS fs `json:"fs"`
	}
	type clientInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return struct {
		ProtocolVersion    int                `json:"protocolVersion"`
		ClientCapabilities clientCapabilities `json:"clientCapabilities"`
		ClientInfo         clientInfo         `json:"clientInfo"`
	}{protocolVersion, clientCapabilities{}, clientInfo{"packetbench", version}}
}

// capabilities is what an engine says it can do. The zero value, without a
// protocol version, is what counts while no engine runs: nothing. Source:
// acp.md 3.
type capabilities struct {
	protocolVersion int64
	// agent and agentVersion are what the engine calls itself. They choose a
	// vocabulary (mode.go) and are shown; nothing is gated on them.
	agent, agentVersion string
	loadSession         bool
	resume, list, close bool
	image               bool
	authMethods         []string
	packetcode          extensions
}

// extensions are packetcode's own methods. When advertised is false the others
// mean "not said". Source: acp.md 3 and 7.
type extensions struct {
	advertised            bool
	sessionsList          bool
	sessionsRename        bool
	sessionsUsage         bool
	modelsList            bool
	mcpList               bool
	mcpDefaults           bool
	commandsList          bool
	projectFiles          bool
	permissionModes       []string
	defaultPermissionMode string
}

// decodeCapabilities reads the answer to initialize. It never fails: a value of
// a wrong type is the default, and no field may cost the handshake.
func decodeCapabilities(result json.RawMessage) capabilities {
	top := object(result)
	agent := object(top["agentCapabilities"])
	sessions := object(agent["sessionCapabilities"])
	info := object(top["agentInfo"])
	c := capabilities{
		protocolVersion: protocolVersion,
		agent:           str(info["name"]), agentVersion: str(info["version"]),
		loadSession: truth(agent["loadSession"]),
		// An object says yes; true or a number does not count.
		resume: isObject(sessions["resume"]), list: isObject(sessions["list"]), close: isObject(sessions["close"]),
		image: truth(object(agent["promptCapabilities"])["image"]),
	}
	var version int64
	if !absent(top["protocolVersion"]) && json.Unmarshal(top["protocolVersion"], &version) == nil {
		c.protocolVersion = version
	}
	var methods []json.RawMessage
	if json.Unmarshal(top["authMethods"], &methods) == nil {
		for _, m := range methods {
			if id := str(object(m)["id"]); id != "" {
				c.authMethods = append(c.authMethods, id)
			}
		}
	}
	if raw := agent["_packetcode"]; isObject(raw) {
		c.packetcode = decodeExtensions(object(raw))
	}
	return c
}

func decodeExtensions(own map[string]json.RawMessage) extensions {
	x := extensions{
		advertised:   true,
		sessionsList: truth(own["sessionsList"]), sessionsRename: truth(own["sessionsRename"]), sessionsUsage: truth(own["sessionsUsage"]),
		modelsList: truth(own["modelsList"]), mcpList: truth(own["mcpList"]), mcpDefaults: truth(own["mcpDefaults"]),
		commandsList: truth(own["commandsList"]), projectFiles: truth(own["projectFiles"]),
	}
	var modes []json.RawMessage
	if json.Unmarshal(own["permissionModes"], &modes) == nil {
		for _, raw := range modes {
			if m := strings.TrimSpace(str(raw)); m != "" && !slices.Contains(x.permissionModes, m) {
				x.permissionModes = append(x.permissionModes, m)
			}
		}
	}
	if len(x.permissionModes) == 0 {
		x.permissionModes = slices.Clone(rungs)
	}
	if m := strings.TrimSpace(str(own["defaultPermissionMode"])); slices.Contains(x.permissionModes, m) {
		x.defaultPermissionMode = m
	}
	return x
}

// facts is what the row of an engine shows of it.
func (c capabilities) facts() msg.EngineFacts {
	f := msg.EngineFacts{
		Agent: c.agent, Version: c.agentVersion, Images: c.image, Load: c.loadSession || c.resume,
		Rename: c.packetcode.sessionsRename, Usage: c.packetcode.sessionsUsage, Defaults: c.packetcode.mcpDefaults,
	}
	if c.packetcode.advertised {
		f.Modes, f.Plan = offered(c.packetcode.permissionModes)
	}
	return f
}

// object is the members of a JSON object, none for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if !isObject(raw) || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

func truth(raw json.RawMessage) bool { return string(raw) == "true" }
