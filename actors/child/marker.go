package child

import (
	"path/filepath"
	"strings"

	"github.com/packetbench/packetbench/config"
)

// Names of the environment variables that mark every child of the house.
const (
	// EnvBootID holds the id of the service's boot.
	EnvBootID = config.EnvBootID
	// EnvHome holds the canonical data directory, so that the services of two
	// data directories never touch each other's children.
	EnvHome = config.EnvHome
	// EnvGroup holds the id of the group, a fresh random value per [Start].
	EnvGroup = config.EnvPrefix + "GROUP"
)

// Marker says which boot of which data directory a child belongs to.
type Marker struct {
	// BootID is 1 to 64 of A-Z a-z 0-9 _ and -. It names a folder.
	BootID string
	// Home is the data directory.
	Home string
}

// Environ returns base with the markers set, whatever base said about them.
// Entries that are not NAME=value, or hold a zero byte, are left out: one of
// them would keep the child from starting.
func (m Marker) Environ(base []string, group string) []string {
	out := make([]string, 0, len(base)+3)
	for _, e := range base {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.ContainsRune(e, 0) {
			// Deliberate: Windows keeps per-drive folders in entries such as
			// "=C:=C:\dir"; without them only the current drive has one.
			continue
		}
		switch name {
		case EnvBootID, EnvHome, EnvGroup:
			continue
		}
		out = append(out, e)
	}
	out = append(out, EnvBootID+"="+m.BootID, EnvHome+"="+CanonicalHome(m.Home))
	if group != "" {
		out = append(out, EnvGroup+"="+group)
	}
	return out
}

// CanonicalHome returns dir absolute and with its links resolved, or as it is
// when it cannot be resolved. Two spellings of one data directory give one
// marker.
func CanonicalHome(dir string) string {
	if dir == "" {
		return ""
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Clean(dir)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// validBootID keeps a boot id from leaving its folder.
func validBootID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range id {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
