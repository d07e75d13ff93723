package msg

import "github.com/packetbench/packetbench/contract"

// Key is a credential. Printing or logging it shows nothing of it.
type Key string

// String hides the key.
func (Key) String() string { return "[key]" }

// GoString hides the key from %#v.
func (Key) GoString() string { return "[key]" }

// MarshalJSON hides the key from every encoder.
func (Key) MarshalJSON() ([]byte, error) { return []byte(`"[key]"`), nil }

// Requests to the secret actor; all are Calls.
type (
	// GetKey is answered by FoundKey.
	GetKey struct{ Account contract.KeyringAccount }
	// FoundKey holds the key and the plain name of where it came from: "OS
	// keyring", "encrypted file" or "environment variable NAME". Err is a
	// sentence: absent (ErrNoKey) is another case than a keyring that failed.
	FoundKey struct {
		Key    Key
		Source string
		Err    error
	}
	// KeyStatus is answered by []contract.KeyInfo, for the named accounts or,
	// when there are none, for every account of the provider table.
	KeyStatus struct{ Accounts []contract.KeyringAccount }
	// SetKey stores a key; answered by StoredKey.
	SetKey struct {
		Account contract.KeyringAccount
		Key     Key
	}
	// StoredKey says where the key was stored.
	StoredKey struct {
		Source string
		Err    error
	}
	// DeleteKey removes a key from keyring and file; answered by Done.
	DeleteKey struct{ Account contract.KeyringAccount }
)

// NoKeyError says that no key is stored for an account.
type NoKeyError struct{ Account contract.KeyringAccount }

// ownerOf names who an account's key belongs to, as a person knows it. Source:
// the keyring accounts of contract.md 10 and mcp-state.md 14.
var ownerOf = map[contract.KeyringAccount]string{
	"api-key-anthropic":   "anthropic",
	"api-key-openai":      "openai",
	"api-key-openrouter":  "openrouter",
	"api-key-minimax":     "minimax",
	"api-key-minimax-api": "minimax-api",
	"api-key-custom":      "custom",
	"github-token":        "github",
}

// Error is the sentence of mcp-state.md 14. An account outside the table is
// named itself.
func (e NoKeyError) Error() string {
	owner, ok := ownerOf[e.Account]
	if !ok {
		owner = string(e.Account)
	}
	return "No API key configured for " + owner + ". Set one in Settings > API Keys."
}
