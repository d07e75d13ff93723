package msg

import "github.com/packetbench/packetbench/contract"

// The count of the sidecar over all runs of the service, kept by the store in
// sidecar-stats.json.
type (
	// LoadSidecarStats is a Call answered by SidecarStats. A file that is
	// missing or unreadable counts as zero.
	LoadSidecarStats struct{}
	// SidecarStats answers LoadSidecarStats.
	SidecarStats struct{ Lifetime contract.SidecarLifetime }
	// SaveSidecarStats is a Send. They are written in order; one that cannot be
	// is told among the store's notices and forgotten.
	SaveSidecarStats struct{ Lifetime contract.SidecarLifetime }
)
