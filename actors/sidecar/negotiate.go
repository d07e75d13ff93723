package sidecar

import (
	"fmt"

	"github.com/packetbench/packetbench/contract"
)

// incompatibleError is the refusal of a child that speaks too old a protocol.
// Version 11 added a field, which an older peer ignores silently and then runs
// every MCP server unfiltered: that is a floor and not a warning. Source:
// sidecar-protocol.md 4.1.
type incompatibleError struct{ version *int }

// Error is the text that users and scripts match on.
func (e *incompatibleError) Error() string {
	speaks := "none"
	if e.version != nil {
		speaks = fmt.Sprint(*e.version)
	}
	return fmt.Sprintf("The agent sidecar speaks protocol %s, PacketBench needs %d or newer. Rebuild it (make sidecar) or unset PACKETBENCH_SIDECAR_PATH.", speaks, contract.SidecarProtocol)
}

// negotiate judges the version of a ready frame: an error below the floor, a
// warning for the log when it is another than ours, nothing when it is ours.
func negotiate(version *int) (warning string, err error) {
	switch {
	case version == nil || *version < contract.SidecarProtocol:
		return "", &incompatibleError{version}
	case *version != contract.SidecarProtocol:
		return fmt.Sprintf("the sidecar speaks protocol %d, this PacketBench speaks %d", *version, contract.SidecarProtocol), nil
	}
	return "", nil
}
