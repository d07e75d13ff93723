package secret

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// The names of the three places, as people see them.
const (
	SourceKeyring = "OS keyring"
	SourceFile    = "encrypted file"
	sourceEnv     = "environment variable "
)

// EnvNoKeyring, set to 1, leaves the OS keyring alone.
const EnvNoKeyring = "PACKETBENCH_NO_KEYRING"

// variable is the environment variable of an account: a provider's, or the one
// that GitHub's own tools read.
func variable(account contract.KeyringAccount) (name string, ok bool) {
	if account == "github-token" {
		return "GITHUB_TOKEN", true
	}
	name, ok = config.KeyVariables[string(account)]
	return name, ok
}

// otherAccounts are known beside those of the provider table.
var otherAccounts = []contract.KeyringAccount{"api-key-minimax-api", "github-token"}

// Accounts returns every account of the provider table and the GitHub token,
// each once, in table order.
func Accounts() []contract.KeyringAccount {
	var out []contract.KeyringAccount
	for _, r := range contract.Rows {
		if r.Account != "" && !slices.Contains(out, r.Account) {
			out = append(out, r.Account)
		}
	}
	return append(out, otherAccounts...)
}

// optional reports whether a row works without this account's key.
func optional(account contract.KeyringAccount) bool {
	return slices.ContainsFunc(contract.Rows, func(r contract.Row) bool { return r.Account == account && r.KeyOptional })
}

// Options are what Keys are opened with.
type Options struct {
	Paths config.Paths
	// Getenv is nil for the process's own environment.
	Getenv func(string) string
	// Ring is nil for the OS keyring.
	Ring Ring
	// Limit is how long one request may wait for the keyring; 0 is 4 s, less
	// than the 5 s after which a caller gives up.
	Limit time.Duration
	// Now is nil for the system's clock.
	Now func() time.Time
	// Wrote hears that the encrypted file was changed here, right after it; nil
	// for nobody. It must return at once.
	Wrote func()
}

// Keys finds, stores and removes credentials. It is safe for concurrent use;
// requests are carried out one after the other.
type Keys struct {
	mu     sync.Mutex
	ring   *guarded // nil when it is to be left alone
	file   keyFile
	getenv func(string) string
	limit  time.Duration
	now    func() time.Time
}

// Open returns Keys. Nothing is read or asked before the first request.
func Open(o Options) *Keys {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limit == 0 {
		o.Limit = 4 * time.Second
	}
	if o.Ring == nil {
		o.Ring = osRing{}
	}
	k := &Keys{file: keyFile{path: o.Paths.KeyFile(), identity: o.Paths.KeyIdentity(), wrote: o.Wrote}, getenv: o.Getenv, limit: o.Limit, now: o.Now}
	if o.Getenv(EnvNoKeyring) != "1" {
		k.ring = &guarded{ring: o.Ring, now: o.Now}
	}
	return k
}

// KeyringError says that the OS keyring failed: another case than an absent key.
type KeyringError struct {
	// Reason is the keyring's own, one line; no key is in it.
	Reason string
	// Missing says that this machine has no keyring at all, so that the
	// encrypted file is where keys are.
	Missing bool
}

// Error is the sentence of mcp-state.md 14.
func (e *KeyringError) Error() string { return "The OS keyring is not available: " + e.Reason }

// FileError says that the encrypted file cannot be used.
type FileError struct{ Reason string }

// Error says what happened and what to do.
func (e *FileError) Error() string { return "The encrypted key file cannot be used: " + e.Reason }

// sentence is an error for a person.
type sentence string

// Error returns the sentence.
func (s sentence) Error() string { return string(s) }

// Valid accounts: letters, digits, _ and -, at most 128, because a keyring shows
// them to people and a typing mistake must not vanish in one.
func checkAccount(account contract.KeyringAccount) error {
	bad := func(r rune) bool {
		return r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.')
	}
	if account == "" || len(account) > 128 || strings.ContainsFunc(string(account), bad) {
		return sentence("This is no name of a key. One is api-key-anthropic, for example; packetbench key list shows all.")
	}
	return nil
}

// Get returns a key and where it came from. It fails with msg.NoKeyError when
// there is none anywhere, and with a *KeyringError or *FileError when there may
// be one that cannot be read. A key that its provider can do without is then
// empty, without an error, if it is absent.
func (k *Keys) Get(account contract.KeyringAccount) (msg.Key, string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.get(account, k.now().Add(k.limit))
}

func (k *Keys) get(account contract.KeyringAccount, until time.Time) (msg.Key, string, error) {
	if err := checkAccount(account); err != nil {
		return "", "", err
	}
	value, found, ringErr := k.fromRing(account, until)
	kept, inFile, fileErr := k.file.get(account)
	if ringErr == nil && inFile && kept.Supersedes {
		// Stored while the keyring was down, so it is newer than what the
		// keyring has. On a failure it stays where it is.
		if k.ring != nil && k.ring.set(config.KeyringService, string(account), kept.Value, until) == nil {
			if err := k.file.remove(account); err == nil {
				return msg.Key(kept.Value), SourceKeyring, nil
			}
		}
		return msg.Key(kept.Value), SourceFile, nil
	}
	switch {
	case found:
		return msg.Key(value), SourceKeyring, nil
	case inFile:
		return msg.Key(kept.Value), SourceFile, nil
	}
	if name, ok := variable(account); ok {
		if value := strings.TrimSpace(k.getenv(name)); value != "" {
			return msg.Key(value), sourceEnv + name, nil
		}
	}
	var keyring *KeyringError
	switch {
	case errors.As(ringErr, &keyring) && !keyring.Missing:
		return "", "", keyring
	case fileErr != nil:
		return "", "", fileErr
	case optional(account):
		return "", "", nil
	default:
		return "", "", msg.NoKeyError{Account: account}
	}
}

// fromRing looks under the present service and then under the prior one, whose
// key it moves: written first, removed only after that.
func (k *Keys) fromRing(account contract.KeyringAccount, until time.Time) (string, bool, error) {
	if k.ring == nil {
		return "", false, nil
	}
	value, found, err := k.ring.get(config.KeyringService, string(account), until)
	if err != nil || found {
		return value, found, err
	}
	value, found, err = k.ring.get(config.PriorKeyring, string(account), until)
	if err != nil || !found {
		return "", false, err
	}
	if k.ring.set(config.KeyringService, string(account), value, until) == nil {
		// Deliberate: an old copy that stays is found again only if the new one
		// is removed, and Delete removes both.
		_ = k.ring.remove(config.PriorKeyring, string(account), until)
	}
	return value, true, nil
}

// Set stores a key, trimmed, and returns where. An empty one is refused.
func (k *Keys) Set(account contract.KeyringAccount, key msg.Key) (string, error) {
	if err := checkAccount(account); err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(key))
	if value == "" {
		return "", sentence("The key is empty. Paste the whole key, or delete the stored one.")
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "", sentence("The key holds a line break or another control character. Paste the key alone.")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	until := k.now().Add(k.limit)
	supersedes := false
	if k.ring != nil {
		err := k.ring.set(config.KeyringService, string(account), value, until)
		if err == nil {
			kept, inFile, _ := k.file.get(account)
			if inFile {
				err = k.file.remove(account)
			}
			if err != nil && kept.Supersedes {
				// It would win over what was just stored.
				return "", err
			}
			return SourceKeyring, nil
		}
		var keyring *KeyringError
		supersedes = errors.As(err, &keyring) && !keyring.Missing
	}
	if err := k.file.set(account, stored{Value: value, Supersedes: supersedes}); err != nil {
		return "", err
	}
	return SourceFile, nil
}

// Delete removes a key from the keyring, under both names, and from the file.
// An absent one is no failure; one that cannot be reached is.
func (k *Keys) Delete(account contract.KeyringAccount) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	until := k.now().Add(k.limit)
	err := k.file.remove(account)
	if k.ring == nil {
		return err
	}
	for _, service := range []string{config.KeyringService, config.PriorKeyring} {
		failed := k.ring.remove(service, string(account), until)
		var keyring *KeyringError
		if errors.As(failed, &keyring) && keyring.Missing {
			continue // No keyring, no key in it.
		}
		if err == nil {
			err = failed
		}
	}
	return err
}

// Info says which keys exist, where, and how they end; for the accounts named
// or, when there are none, for all of Accounts. A key that may exist and cannot
// be read is reported as absent with the failure as its source.
func (k *Keys) Info(accounts ...contract.KeyringAccount) []contract.KeyInfo {
	if len(accounts) == 0 {
		accounts = Accounts()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	until := k.now().Add(k.limit)
	out := make([]contract.KeyInfo, 0, len(accounts))
	for _, account := range accounts {
		key, source, err := k.get(account, until)
		info := contract.KeyInfo{Account: account, Present: err == nil && key != "", Source: source}
		if info.Present {
			info.Last4 = lastFour(string(key))
		}
		var absent msg.NoKeyError
		if err != nil && !errors.As(err, &absent) {
			info.Source = err.Error()
		}
		out = append(out, info)
	}
	return out
}

// unknown lists accounts of which nothing could be found out.
func (k *Keys) unknown(accounts []contract.KeyringAccount) []contract.KeyInfo {
	if len(accounts) == 0 {
		accounts = Accounts()
	}
	out := make([]contract.KeyInfo, len(accounts))
	for i, account := range accounts {
		out[i] = contract.KeyInfo{Account: account, Source: "unknown"}
	}
	return out
}

// lastFour is the end of a key of at least 12 characters. A shorter one is
// given away by four of them.
func lastFour(key string) string {
	r := []rune(key)
	if len(r) < 12 {
		return ""
	}
	return string(r[len(r)-4:])
}

// Keyring says whether the OS keyring is in use: nil, or why not. It asks the
// keyring for an account that is never stored. For the doctor.
func (k *Keys) Keyring() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ring == nil {
		return &KeyringError{Reason: fmt.Sprintf("%s=1 is set, so the encrypted file is used.", EnvNoKeyring), Missing: true}
	}
	_, _, err := k.ring.get(config.KeyringService, "doctor", k.now().Add(k.limit))
	return err
}
