package config

import (
	"errors"
	"os"
	"path/filepath"
)

// Paths are the files of one data directory. Source: mcp-state.md 5 and 6.
type Paths struct{ Home string }

// ErrNoHome says that neither PACKETBENCH_HOME nor a home directory is known.
var ErrNoHome = errors.New("no data directory: set PACKETBENCH_HOME or HOME, or give --home")

// DataDir is the data directory: flag, else $PACKETBENCH_HOME, else
// ~/.packetbench. It is absolute and not created here.
func DataDir(flag string, getenv func(string) string) (Paths, error) {
	dir := flag
	if dir == "" {
		dir = getenv(EnvHome)
	}
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil || home == "" {
			return Paths{}, ErrNoHome
		}
		dir = filepath.Join(home, DataDirName)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Paths{}, err
	}
	return Paths{Home: abs}, nil
}

func (p Paths) join(elem ...string) string {
	return filepath.Join(append([]string{p.Home}, elem...)...)
}

// Lock is the lock file: pid and start time of the running service.
func (p Paths) Lock() string { return p.join("lock") }

// Run is run.json, how clients find the running service.
func (p Paths) Run() string { return p.join("run.json") }

// PageKey is the file of the key that lets pages in again after a restart.
func (p Paths) PageKey() string { return p.join("page.key") }

// State is the state file.
func (p Paths) State() string { return p.join("state.v1.json") }

// ProviderSettings is the file of base URLs and local-model settings.
func (p Paths) ProviderSettings() string { return p.join("provider-settings.v1.json") }

// Conversations is the folder of conversation files.
func (p Paths) Conversations() string { return p.join("conversations") }

// Ledger is the usage ledger.
func (p Paths) Ledger() string { return p.join("usage.jsonl") }

// LedgerPending is the folder of the ledger's write-ahead files.
func (p Paths) LedgerPending() string { return p.join("usage-pending") }

// Trusted is the file of trusted projects.
func (p Paths) Trusted() string { return p.join("trusted-projects.json") }

// Audit is the file of the decision audit.
func (p Paths) Audit() string { return p.join("audit.json") }

// Events is the folder of the event log.
func (p Paths) Events() string { return p.join("events") }

// Processes is the folder that records running process groups.
func (p Paths) Processes() string { return p.join("processes") }

// Prices is the user's own price table.
func (p Paths) Prices() string { return p.join("prices.json") }

// Commands is the folder of global slash commands.
func (p Paths) Commands() string { return p.join("commands") }

// KeyFile is the encrypted credential file, for machines without a keyring.
func (p Paths) KeyFile() string { return p.join("keys.age") }

// KeyIdentity is the identity that opens KeyFile, mode 0600.
func (p Paths) KeyIdentity() string { return p.join("keys.identity") }

// Logs is the folder of log files.
func (p Paths) Logs() string { return p.join("logs") }

// Terminals is the folder of the last screens of terminals.
func (p Paths) Terminals() string { return p.join("terminals") }

// Scratch is the folder of terminals that were opened without one.
func (p Paths) Scratch() string { return p.join("scratch") }
