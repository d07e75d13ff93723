package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
)

// How long one run may take. Ours: what a person waits for without doubting,
// and for checkouts and pushes what a large repository needs.
const (
	readLimit  = 10 * time.Second
	writeLimit = 2 * time.Minute
)

// maxOutput is how much of a run's output is kept, in bytes: 200,000 long paths.
const maxOutput = 32 << 20

// drainWait is how long the pipes of a run that has ended may be silent while
// something it left behind keeps them open.
const drainWait = time.Second

// Options is what every run shares.
type Options struct {
	// BootID and Home mark every process, see [child.Marker].
	BootID, Home string
	// Register records a process group, usually [child.Registry.Register]; nil
	// records nothing.
	Register func(*child.Group) (release func())
	// Env is the environment of git, NAME=value; nil takes that of the service.
	Env []string
	// Life ends when the service stops; nil for never.
	Life context.Context
	// Now is the clock of the caches; nil for the system's.
	Now func() time.Time
}

// Git runs git. Its methods are safe for concurrent use.
type Git struct {
	opt   Options
	env   []string
	mu    sync.Mutex
	locks map[string]*sync.Mutex
	looks cache[look]
	files cache[listing]
}

// New returns a Git; nothing is run yet.
func New(o Options) *Git {
	if o.Life == nil {
		o.Life = context.Background()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	g := &Git{opt: o, env: environ(o.Env), locks: map[string]*sync.Mutex{}}
	g.looks = cache[look]{now: o.Now, entries: map[string]*entry[look]{}}
	g.files = cache[listing]{now: o.Now, entries: map[string]*entry[listing]{}}
	return g
}

// misleading are the variables that would point git at another repository than
// the folder it is run in, as they are set inside a hook.
var misleading = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_PREFIX",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
}

// quiet keeps git, ssh and the credential helpers from asking. An empty
// GIT_ASKPASS switches every such program off.
var quiet = []string{
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:",
	"GIT_MERGE_AUTOEDIT=no",
}

func environ(base []string) []string {
	out := make([]string, 0, len(base)+len(quiet))
	for _, e := range base {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, config.EnvPrefix) || config.HoldsKey(name) || named(misleading, name) || named(quiet, name) {
			continue
		}
		out = append(out, e)
	}
	return append(out, quiet...)
}

func named(list []string, name string) bool {
	for _, entry := range list {
		if key, _, _ := strings.Cut(entry, "="); key == name {
			return true
		}
	}
	return false
}

// Error is a run of git that failed. Text is what git said, or a sentence when
// it could not say anything; Code is its exit code, -1 when it has none.
type Error struct {
	Text string
	Code int
}

// Error is the text for a person.
func (e *Error) Error() string { return e.Text }

func code(err error) int {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Code
	}
	return -1
}

// always are the settings of every run: no repacking in the background, which
// would outlive the run.
var always = []string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}

// reading are the arguments of a run that only looks.
var reading = []string{"--no-optional-locks", "-c", "core.fsmonitor=false"}

// read runs git for its output, without locks.
func (g *Git) read(ctx context.Context, dir string, args ...string) (string, error) {
	return g.run(ctx, g.opt.Life, readLimit, dir, append(append([]string{}, reading...), args...))
}

// write runs git to change something.
func (g *Git) write(ctx context.Context, dir string, args ...string) (string, error) {
	return g.run(ctx, g.opt.Life, writeLimit, dir, args)
}

// putBack runs git to take a half-done ending back, whoever has stopped waiting
// and even while the service stops.
func (g *Git) putBack(dir string, args ...string) error {
	_, err := g.run(context.Background(), context.Background(), writeLimit, dir, args)
	return err
}

func (g *Git) run(ctx, life context.Context, limit time.Duration, dir string, args []string) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, limit, &Error{fmt.Sprintf("Git did not finish within %s. Look whether the folder %s can be read, and try again.", limit, dir), -1})
	defer stop()
	unlink := context.AfterFunc(life, stop)
	defer unlink()
	if ctx.Err() != nil || life.Err() != nil {
		return "", &Error{"Git was not run: the service is stopping, or nobody waits any more.", -1}
	}
	program, err := exec.LookPath("git")
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", &Error{"Git was not found. Install it, or add its folder to PATH, and start PacketBench again.", -1}
	}
	cmd := exec.Command(program, append(append([]string{}, always...), args...)...)
	cmd.Dir, cmd.Env = dir, append([]string{}, g.env...)
	out, errs, err := g.follow(ctx, cmd)
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		var late *Error
		if errors.As(context.Cause(ctx), &late) {
			return "", late
		}
		return "", &Error{"Git was stopped: the service is stopping, or nobody waits any more.", -1}
	case errors.As(err, &status):
		text := strings.TrimSpace(errs)
		if text == "" {
			text = strings.TrimSpace(clip(out))
		}
		if text == "" {
			text = fmt.Sprintf("Git failed without a word (git %s, exit code %d).", verb(args), status.ExitCode())
		}
		return out, &Error{text, status.ExitCode()}
	case err != nil:
		return "", &Error{"Git could not be started: " + err.Error(), -1}
	}
	return out, nil
}

// verb is the command of an argument list, without its options.
func verb(args []string) string {
	for i := 0; i < len(args); i++ {
		if args[i] == "-c" {
			i++
		} else if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
	}
	return ""
}

func clip(s string) string {
	const most = 4000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-most:], "")
}

// follow runs cmd to its end and returns what it wrote.
func (g *Git) follow(ctx context.Context, cmd *exec.Cmd) (string, string, error) {
	stdout, out, err := os.Pipe()
	if err != nil {
		return "", "", err
	}
	stderr, er, err := os.Pipe()
	if err != nil {
		_, _ = stdout.Close(), out.Close()
		return "", "", err
	}
	defer func() { _, _ = stdout.Close(), stderr.Close() }()
	cmd.Stdout, cmd.Stderr = out, er
	group, err := child.Start(cmd, child.Options{
		Marker: child.Marker{BootID: g.opt.BootID, Home: g.opt.Home}, Session: true, Register: g.opt.Register,
	})
	_, _ = out.Close(), er.Close()
	if err != nil {
		return "", "", err
	}
	defer group.Release()
	kill := context.AfterFunc(ctx, func() { group.Kill() })
	defer kill()
	var text bytes.Buffer
	tail := new(child.Tail)
	var pipes sync.WaitGroup
	pipes.Go(func() { _, _ = io.Copy(&text, io.LimitReader(stdout, maxOutput)); _, _ = io.Copy(io.Discard, stdout) })
	pipes.Go(func() { _, _ = io.Copy(tail, stderr) })
	err = group.Wait()
	// A hook may have left something that holds the pipes.
	deadline := time.Now().Add(drainWait)
	_, _ = stdout.SetReadDeadline(deadline), stderr.SetReadDeadline(deadline)
	pipes.Wait()
	return text.String(), tail.String(), err
}

// lock makes the endings of one project wait for each other.
func (g *Git) lock(dir string) (unlock func()) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	g.mu.Lock()
	l := g.locks[dir]
	if l == nil {
		l = new(sync.Mutex)
		g.locks[dir] = l
	}
	g.mu.Unlock()
	l.Lock()
	return l.Unlock
}
