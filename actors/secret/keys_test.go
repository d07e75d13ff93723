package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"),
		// The keyring's library keeps one connection to the session bus.
		goleak.IgnoreAnyFunction("github.com/godbus/dbus/v5.newConn.func1"),
		goleak.IgnoreAnyFunction("github.com/godbus/dbus/v5.(*Conn).inWorker"),
	)
}

const (
	account = contract.KeyringAccount("api-key-anthropic")
	key     = "sk-ant-0123456789"
)

// ring is a keyring in memory that can be made to fail or hang.
type ring struct {
	mu    sync.Mutex
	items map[string]string // "service/account"
	// err fails every operation, setErr only Set.
	err, setErr error
	// hang, when set, is waited for.
	hang  chan struct{}
	calls int
}

func (r *ring) begin() error {
	r.mu.Lock()
	hang := r.hang
	r.calls++
	err := r.err
	r.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return err
}

func (r *ring) Get(service, account string) (string, error) {
	if err := r.begin(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.items[service+"/"+account]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return v, nil
}

func (r *ring) Set(service, account, password string) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.setErr != nil {
		return r.setErr
	}
	if r.items == nil {
		r.items = map[string]string{}
	}
	r.items[service+"/"+account] = password
	return nil
}

func (r *ring) Delete(service, account string) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.items[service+"/"+account]; !ok {
		return keyring.ErrNotFound
	}
	delete(r.items, service+"/"+account)
	return nil
}

func (r *ring) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *ring) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// clock is advanced by hand.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

type bench struct {
	keys  *Keys
	ring  *ring
	clock *clock
	paths config.Paths
}

func open(t testing.TB, env map[string]string) bench {
	t.Helper()
	b := bench{ring: &ring{}, clock: &clock{t: time.Unix(1_788_177_600, 0)}, paths: config.Paths{Home: filepath.Join(t.TempDir(), "home")}}
	b.keys = Open(Options{Paths: b.paths, Ring: b.ring, Now: b.clock.now, Getenv: func(name string) string { return env[name] }})
	return b
}

func (b bench) want(t *testing.T, key, source string) {
	t.Helper()
	got, from, err := b.keys.Get(account)
	if err != nil || string(got) != key || from != source {
		t.Fatalf("Get = a key of %d bytes from %q, %v; want one of %d from %q", len(got), from, err, len(key), source)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestKeys_Keyring(t *testing.T) {
	t.Parallel()
	b := open(t, map[string]string{"ANTHROPIC_API_KEY": "from-the-environment"})
	b.want(t, "from-the-environment", "environment variable ANTHROPIC_API_KEY")
	source, err := b.keys.Set(account, "  "+key+"\n")
	if err != nil || source != SourceKeyring || b.ring.items["packetbench/api-key-anthropic"] != key {
		t.Fatalf("Set = %q, %v", source, err)
	}
	b.want(t, key, SourceKeyring)
	if _, err := os.Stat(b.paths.Home); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a key that is in the keyring left files")
	}
	must(t, b.keys.Delete(account))
	must(t, b.keys.Delete(account))
	b.want(t, "from-the-environment", "environment variable ANTHROPIC_API_KEY")
}

func TestKeys_Refusals(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for _, bad := range []string{"", " \t\n", "a\nb", "a\x00b"} {
		if _, err := b.keys.Set(account, msg.Key(bad)); err == nil || strings.Contains(err.Error(), "a\n") {
			t.Errorf("Set(%q) = %v", bad, err)
		}
	}
	for _, bad := range []contract.KeyringAccount{"", "api key", "ü", "a/b", contract.KeyringAccount(strings.Repeat("x", 129))} {
		if _, err := b.keys.Set(bad, key); err == nil {
			t.Errorf("account %q was accepted", bad)
		}
		if _, _, err := b.keys.Get(bad); err == nil {
			t.Errorf("account %q was looked for", bad)
		}
	}
	if b.ring.count() != 0 {
		t.Error("a refused request reached the keyring")
	}
}

// TestKeys_PriorService: written under the new name, only then removed under
// the old; a failed write keeps the old and still returns the key.
func TestKeys_PriorService(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.ring.items = map[string]string{"packetade/api-key-anthropic": key}
	b.ring.setErr = errors.New("no")
	b.want(t, key, SourceKeyring)
	if want := map[string]string{"packetade/api-key-anthropic": key}; !maps.Equal(b.ring.items, want) {
		t.Fatalf("after a failed write: %d items", len(b.ring.items))
	}
	b.ring.setErr = nil
	b.clock.advance(retryAfter)
	b.want(t, key, SourceKeyring)
	if want := map[string]string{"packetbench/api-key-anthropic": key}; !maps.Equal(b.ring.items, want) {
		t.Fatal("the key was not moved")
	}
	b.ring.items["packetade/api-key-anthropic"] = "old"
	must(t, b.keys.Delete(account))
	if len(b.ring.items) != 0 {
		t.Fatal("a deletion leaves the prior one, which the next look would bring back")
	}
}

// TestKeys_NoKeyring has the four real cases, with the texts that the library
// gave for them: keys go into the file, and absent is told from unreadable.
func TestKeys_NoKeyring(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		missing    bool
	}{
		{"no dbus-launch", `exec: "dbus-launch": executable file not found in $PATH`, true},
		{"no Secret Service", "The name org.freedesktop.secrets was not provided by any .service files", true},
		{"stale bus address", "dial unix /run/user/1000/bus: connect: no such file or directory", false},
		{"locked collection", "failed to unlock correct collection '/org/freedesktop/secrets/collection/login'", false},
		{"unsupported system", keyring.ErrUnsupportedPlatform.Error(), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil)
			b.ring.items = map[string]string{"packetbench/api-key-anthropic": "older"}
			b.ring.fail(errors.New(tc.text))
			_, _, err := b.keys.Get(account)
			var absent msg.NoKeyError
			var down *KeyringError
			if tc.missing && (!errors.As(err, &absent) || err.Error() != "No API key configured for anthropic. Set one in Settings > API Keys.") ||
				!tc.missing && (!errors.As(err, &down) || !strings.HasPrefix(err.Error(), "The OS keyring is not available: ")) {
				t.Fatalf("absent: %v", err)
			}
			if err := b.keys.Delete(account); (err == nil) != tc.missing {
				t.Fatalf("deleting what cannot be reached: %v", err)
			}
			source, err := b.keys.Set(account, key)
			if err != nil || source != SourceFile {
				t.Fatalf("Set = %q, %v", source, err)
			}
			b.want(t, key, SourceFile)

			// The keyring comes back. What was stored since is newer than what it
			// has, unless this machine had none.
			b.ring.fail(nil)
			b.clock.advance(retryAfter)
			if tc.missing {
				b.want(t, "older", SourceKeyring)
				return
			}
			b.want(t, key, SourceKeyring)
			b.want(t, key, SourceKeyring)
			if b.ring.items["packetbench/api-key-anthropic"] != key {
				t.Fatal("the key was not moved into the keyring")
			}
			if _, inFile, _ := b.keys.file.get(account); inFile {
				t.Fatal("the key is still in the file")
			}
		})
	}
}

// TestKeys_FailureIsRemembered: a list of accounts costs one failure, and after
// a minute the keyring gets another chance.
func TestKeys_FailureIsRemembered(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.ring.fail(errors.New("locked"))
	b.keys.Info()
	if got := b.ring.count(); got != 1 {
		t.Fatalf("the keyring was asked %d times", got)
	}
	if err := b.keys.Keyring(); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Fatalf("Keyring = %v", err)
	}
	b.ring.fail(nil)
	b.clock.advance(retryAfter)
	must(t, b.keys.Keyring())
}

// TestKeys_HangingKeyring: a keyring that waits for a person costs the limit
// once; the next requests are answered from file and environment at once, and
// when the person has unlocked it, it is used again.
func TestKeys_HangingKeyring(t *testing.T) {
	t.Parallel()
	r := &ring{hang: make(chan struct{}), items: map[string]string{"packetbench/api-key-anthropic": key}}
	k := Open(Options{
		Paths: config.Paths{Home: t.TempDir()}, Ring: r, Limit: 50 * time.Millisecond,
		Getenv: func(name string) string { return map[string]string{"OPENAI_API_KEY": "env"}[name] },
	})
	begin := time.Now()
	_, _, err := k.Get(account)
	var down *KeyringError
	if !errors.As(err, &down) || down.Missing || !strings.Contains(err.Error(), "unlock") {
		t.Fatalf("Get = %v", err)
	}
	if got, _, err := k.Get("api-key-openai"); err != nil || got != "env" {
		t.Fatalf("Get of another = %v", err)
	}
	if source, err := k.Set("api-key-minimax", "stored meanwhile"); err != nil || source != SourceFile {
		t.Fatalf("Set = %q, %v", source, err)
	}
	if r.count() != 1 {
		t.Fatalf("a hanging keyring was asked %d times", r.count())
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Fatalf("it took %v", took)
	}
	close(r.hang)
	for deadline := time.Now().Add(10 * time.Second); k.Keyring() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an unlocked keyring is not used")
		}
	}
	if got, source, err := k.Get("api-key-minimax"); err != nil || got != "stored meanwhile" || source != SourceKeyring {
		t.Fatalf("Get = %q, %v", source, err)
	}
}

func TestKeys_NoKeyringByRequest(t *testing.T) {
	t.Parallel()
	b := open(t, map[string]string{EnvNoKeyring: "1"})
	b.ring.items = map[string]string{"packetbench/api-key-anthropic": "in the keyring"}
	if _, err := b.keys.Set(account, key); err != nil {
		t.Fatal(err)
	}
	b.want(t, key, SourceFile)
	must(t, b.keys.Delete(account))
	if _, _, err := b.keys.Get(account); !errors.As(err, new(msg.NoKeyError)) {
		t.Fatalf("Get = %v", err)
	}
	if b.ring.count() != 0 || b.keys.Keyring() == nil {
		t.Fatal("the keyring was asked")
	}
}

// TestKeys_Optional: a provider that needs no key gets an empty one.
func TestKeys_Optional(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	if got, source, err := b.keys.Get("api-key-custom"); got != "" || source != "" || err != nil {
		t.Fatalf("Get = %q, %v", source, err)
	}
	b.ring.fail(errors.New("locked"))
	if _, _, err := b.keys.Get("api-key-custom"); err == nil {
		t.Fatal("an unreadable key looks like an absent one")
	}
}

func TestKeys_Info(t *testing.T) {
	t.Parallel()
	b := open(t, map[string]string{"GITHUB_TOKEN": "ghp_abcdefgh1234"})
	for account, key := range map[contract.KeyringAccount]msg.Key{account: key, "api-key-openai": "elevenchars", "api-key-minimax": "twelve-chars"} {
		_, err := b.keys.Set(account, key)
		must(t, err)
	}
	want := []contract.KeyInfo{
		{Account: "api-key-anthropic", Present: true, Source: SourceKeyring, Last4: "6789"},
		{Account: "api-key-openai", Present: true, Source: SourceKeyring},
		{Account: "api-key-openrouter"},
		{Account: "api-key-minimax", Present: true, Source: SourceKeyring, Last4: "hars"},
		{Account: "api-key-custom"},
		{Account: "api-key-minimax-api"},
		{Account: "github-token", Present: true, Source: "environment variable GITHUB_TOKEN", Last4: "1234"},
	}
	if got := b.keys.Info(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	b.ring.fail(errors.New("locked"))
	got := b.keys.Info("api-key-openai")
	if len(got) != 1 || got[0].Present || !strings.Contains(got[0].Source, "not available") {
		t.Fatalf("%+v", got)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	b := open(t, map[string]string{EnvNoKeyring: "1"})
	_, err := b.keys.Set(account, key)
	must(t, err)
	_, err = b.keys.Set("api-key-openai", "other-key-of-mine")
	must(t, err)
	for _, path := range []string{b.paths.KeyFile(), b.paths.KeyIdentity()} {
		fi, err := os.Stat(path)
		must(t, err)
		content, err := os.ReadFile(path)
		must(t, err)
		if os.PathSeparator == '/' && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(path), fi.Mode().Perm())
		}
		if bytes.Contains(content, []byte(key)) || bytes.Contains(content, []byte("anthropic")) {
			t.Errorf("%s shows a key or an account", filepath.Base(path))
		}
	}
	if names, err := filepath.Glob(filepath.Join(b.paths.Home, ".*")); err != nil || len(names) != 0 {
		t.Errorf("left: %q", names)
	}
	identity, err := os.ReadFile(b.paths.KeyIdentity())
	must(t, err)
	sealed, err := os.ReadFile(b.paths.KeyFile())
	must(t, err)
	other, err := age.GenerateX25519Identity()
	must(t, err)

	for _, tc := range []struct {
		name             string
		identity, sealed []byte // nil: no file
		mode             os.FileMode
	}{
		{"identity gone", nil, sealed, 0},
		{"identity of another", []byte(other.String()), sealed, 0o600},
		{"identity without sense", []byte("AGE-SECRET-KEY-1QQQ"), sealed, 0o600},
		{"empty identity", []byte("# nothing\n"), sealed, 0o600},
		{"file cut short", identity, sealed[:len(sealed)-5], 0o600},
		{"empty file", identity, []byte{}, 0o600},
		{"identity that others can read", identity, sealed, 0o644},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, map[string]string{EnvNoKeyring: "1", "ANTHROPIC_API_KEY": "env"})
			must(t, os.MkdirAll(b.paths.Home, 0o700))
			if tc.identity != nil {
				must(t, os.WriteFile(b.paths.KeyIdentity(), tc.identity, 0o600))
				must(t, os.Chmod(b.paths.KeyIdentity(), tc.mode))
			}
			must(t, os.WriteFile(b.paths.KeyFile(), tc.sealed, 0o600))
			var bad *FileError
			if _, _, err := b.keys.Get("api-key-openai"); !errors.As(err, &bad) {
				t.Fatalf("Get = %v", err)
			}
			if strings.Contains(bad.Error(), "AGE-SECRET") || !strings.HasSuffix(bad.Error(), ".") {
				t.Fatalf("%q", bad)
			}
			// The environment still serves, and nothing is overwritten.
			if got, _, err := b.keys.Get(account); err != nil || got != "env" {
				t.Fatalf("Get = %v", err)
			}
			if _, err := b.keys.Set(account, key); !errors.As(err, &bad) {
				t.Fatalf("Set = %v", err)
			}
			if now, err := os.ReadFile(b.paths.KeyFile()); err != nil || !bytes.Equal(now, tc.sealed) {
				t.Fatal("the file was changed")
			}
		})
	}
}

// TestKey_NeverPrinted: a key that is found shows itself in no rendering.
func TestKey_NeverPrinted(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	_, err := b.keys.Set(account, key)
	must(t, err)
	k, source, err := b.keys.Get(account)
	found := msg.FoundKey{Key: k, Source: source, Err: err}
	encoded, err := json.Marshal(found)
	must(t, err)
	for _, text := range []string{fmt.Sprint(found), fmt.Sprintf("%v %+v %#v %s %q", found, found, found, k, k), string(encoded)} {
		if strings.Contains(text, key) {
			t.Errorf("%s", text)
		}
	}
	if string(k) != key {
		t.Error("the key itself is not what was stored")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"api-key-openai":{"value":"x","supersedes_keyring":true}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := decode(text)
		if err != nil {
			if len(text) > 8 && strings.Contains(err.Error(), string(text)) {
				t.Fatal("the error quotes the file")
			}
			return
		}
		b, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(b)
		if err != nil || !maps.Equal(again, all) {
			t.Fatalf("%v, %v", again, err)
		}
	})
}

func FuzzDecrypt(f *testing.F) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, id.Recipient())
	if err != nil {
		f.Fatal(err)
	}
	if _, err := w.Write([]byte(`{"a":{"value":"x"}}`)); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		if all, err := decrypt(content, id); err == nil && all == nil {
			t.Fatal("no keys and no error")
		}
	})
}
