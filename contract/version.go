package contract

// SidecarProtocol is the protocol version we expect of the sidecar, and the
// floor below which it is refused: version 11 added mcpTrustSnapshot, which an
// older peer ignores silently. Source: sidecar-protocol.md.
const SidecarProtocol = 11
