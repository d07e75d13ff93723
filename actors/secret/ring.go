package secret

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// Ring is a keyring of passwords by service and account. Get and Delete fail
// with keyring.ErrNotFound for an absent one.
type Ring interface {
	Get(service, account string) (string, error)
	Set(service, account, password string) error
	Delete(service, account string) error
}

// osRing is the keyring of the system.
type osRing struct{}

func (osRing) Get(service, account string) (string, error) { return keyring.Get(service, account) }
func (osRing) Set(service, account, password string) error {
	return keyring.Set(service, account, password)
}
func (osRing) Delete(service, account string) error { return keyring.Delete(service, account) }

// retryAfter is how long a keyring that failed is left alone: long enough that
// a list of accounts costs one failure, short enough that a person who unlocks
// it need not restart the service.
const retryAfter = time.Minute

// guarded keeps a keyring that fails or hangs from holding anybody up.
type guarded struct {
	ring Ring
	now  func() time.Time

	mu     sync.Mutex
	failed *KeyringError
	when   time.Time
	// hanging counts calls that were given up and have not returned. While
	// there is one no other is made: the keyring waits for a person.
	hanging int
}

type outcome struct {
	value string
	err   error
}

// call runs one keyring operation in a goroutine of its own and waits for it
// until the deadline. The error is nil, keyring.ErrNotFound or a *KeyringError.
func (g *guarded) call(until time.Time, do func() (string, error)) (string, error) {
	g.mu.Lock()
	if g.failed != nil && (g.hanging > 0 || g.now().Sub(g.when) < retryAfter) {
		defer g.mu.Unlock()
		return "", g.failed
	}
	g.mu.Unlock()

	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errors.New("the keyring's own code failed")}
		defer func() { done <- o }()
		defer func() { _ = recover() }() // The outcome says it.
		o.value, o.err = do()
	}()
	wait := time.NewTimer(max(0, until.Sub(g.now())))
	defer wait.Stop()
	select {
	case o := <-done:
		return o.value, g.judge(o.err)
	case <-wait.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hanging++
	g.failed = &KeyringError{Reason: "it did not answer. It may be locked: unlock it, then try again."}
	g.when = g.now()
	go func() {
		o := <-done
		g.mu.Lock()
		defer g.mu.Unlock()
		g.hanging--
		if g.hanging == 0 && (o.err == nil || errors.Is(o.err, keyring.ErrNotFound)) {
			g.failed = nil // A person has unlocked it.
		}
	}()
	return "", g.failed
}

// judge remembers a failure, and forgets an earlier one after a success.
func (g *guarded) judge(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil || errors.Is(err, keyring.ErrNotFound) {
		g.failed = nil
		return err
	}
	if errors.Is(err, keyring.ErrSetDataTooBig) {
		return &KeyringError{Reason: "the key is too long for it."} // No fault of the keyring.
	}
	g.failed = &KeyringError{Reason: reason(err), Missing: missing(err)}
	g.when = g.now()
	return g.failed
}

func (g *guarded) get(service, account string, until time.Time) (string, bool, error) {
	value, err := g.call(until, func() (string, error) { return g.ring.Get(service, account) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", false, nil
	}
	value = strings.TrimSpace(value)
	return value, err == nil && value != "", err
}

func (g *guarded) set(service, account, value string, until time.Time) error {
	_, err := g.call(until, func() (string, error) { return "", g.ring.Set(service, account, value) })
	return err
}

func (g *guarded) remove(service, account string, until time.Time) error {
	_, err := g.call(until, func() (string, error) { return "", g.ring.Delete(service, account) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// missing tells a machine without a keyring from one whose keyring fails. There
// is no sentinel for it. The texts are those of the D-Bus library and of the
// bus, for no bus at all and for a bus without a Secret Service. A bus address
// that leads nowhere is a failure: there was a session with a keyring.
func missing(err error) bool {
	if errors.Is(err, keyring.ErrUnsupportedPlatform) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, `"dbus-launch": executable file not found`) ||
		strings.Contains(text, "couldn't determine address of session bus") ||
		strings.Contains(text, "org.freedesktop.secrets was not provided by any .service files") ||
		strings.Contains(text, "org.freedesktop.DBus.Error.ServiceUnknown")
}

// reason is one line of a keyring's error, without what would break a sentence.
func reason(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200])
	}
	line = strings.TrimRight(line, ".: ")
	if line == "" {
		line = "it gave no reason"
	}
	return fmt.Sprintf("%s. Start or unlock it, or set %s=1 to use the encrypted file.", line, EnvNoKeyring)
}
