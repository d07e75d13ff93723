package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Origins of a result. Source: tools-permissions.md section 9.
const (
	OriginLocal   = "local_workspace"
	OriginWeb     = "web"
	OriginUnknown = "unknown"
)

// Result is what a tool call gave.
type Result struct {
	// Content is what the model reads. It is valid UTF-8.
	Content string
	// IsError says that the call failed; Content then begins with "Error: ".
	IsError bool
	// ExitCode, Stdout and Stderr are set by bash only; -1 stands for an end by
	// a signal, a timeout or a cancel.
	ExitCode       *int64
	Stdout, Stderr string
	// ModifiedPaths are the files that were written, relative to the project,
	// with slashes.
	ModifiedPaths []string
	// Tainting says that Content may hold words of somebody who is neither the
	// user nor the project.
	Tainting bool
	// Origin is one of the constants above.
	Origin string
	// Locator says where it came from in at most 180 characters: a path of the
	// project, or the address of a page without its query. May be empty.
	Locator string
}

// Proposal is what an edit would do, for review before it is done.
type Proposal struct {
	// Path is relative to the project, with slashes.
	Path string
	// Before is the text of the file, nil when there is none to show.
	Before *string
	// Content is the whole text of the file after the edit.
	Content string
	// Existing describes a file that is there although Before is nil, because it
	// is no text or too large: "binary, 12 bytes". Empty otherwise.
	Existing string
}

// Options of a [Runtime].
type Options struct {
	// Root is the project folder: absolute and existing.
	Root string
	// Tasks is the task list of the conversation; nil makes an empty one.
	Tasks *Tasks
	// BootID and Home mark every process, see [child.Marker].
	BootID, Home string
	// Env is the environment of bash, NAME=value; nil takes that of the service
	// without the product's own variables.
	Env []string
	// Register records a process group until release is called, usually
	// [child.Registry.Register]; nil records nothing.
	Register func(*child.Group) (release func())
	// HTTP answers the requests of web_fetch in tests of other packages; nil,
	// as in the product, is the guarded transport. Addresses written as numbers
	// are refused in either case.
	HTTP http.RoundTripper
}

// Runtime runs the tools of one conversation. It is safe for concurrent use.
type Runtime struct {
	fence  *fence
	tasks  *Tasks
	marker child.Marker
	env    []string
	reg    func(*child.Group) func()
	web    *web
	jobs   jobs

	mu sync.Mutex
	// proposed remembers what a file held when its edit was shown.
	proposed map[[sha256.Size]byte]before

	// Hooks of this package's tests; nil in the product.
	afterCheck func(rel string)            // between the check of a path and its use
	writer     func(f io.Writer) io.Writer // around the file that is written
}

// New opens the project folder. It fails, with a sentence for people, when Root
// is not an absolute path of an existing folder.
func New(o Options) (*Runtime, error) {
	f, err := newFence(o.Root)
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		fence:    f,
		tasks:    o.Tasks,
		marker:   child.Marker{BootID: o.BootID, Home: o.Home},
		reg:      o.Register,
		web:      newWeb(o.HTTP),
		proposed: map[[sha256.Size]byte]before{},
	}
	if r.tasks == nil {
		r.tasks = NewTasks()
	}
	r.env = environment(o.Env, f.dir)
	return r, nil
}

// Specs returns the tools in the order in which they are offered.
func (r *Runtime) Specs() []Spec { return slices.Clone(specs) }

// Run runs one tool. When ctx is cancelled (not when its deadline passes), every
// process of this runtime is ended, background ones included.
//
// The reserved argument of the edit gate is ignored here: a model cannot approve
// its own edit.
func (r *Runtime) Run(ctx context.Context, name string, args json.RawMessage) Result {
	return r.run(ctx, name, args, nil)
}

// RunApproved runs write_file or edit_file after the user has reviewed it. A
// non-nil merged is the whole text to write instead of the proposed one.
//
// When the file changed after [Runtime.Propose] showed it, and its whole content
// would be replaced, nothing is written and the result says so: the user has not
// seen what would be lost.
func (r *Runtime) RunApproved(ctx context.Context, name string, args json.RawMessage, merged *string) Result {
	if name != WriteFile && name != EditFile {
		return failed(fmt.Errorf("%s is not an edit; run it without approval", name))
	}
	return r.run(ctx, name, args, &approval{merged: merged})
}

// approval is a user's consent to one edit.
type approval struct{ merged *string }

func (r *Runtime) run(ctx context.Context, name string, raw json.RawMessage, ok *approval) Result {
	if err := ctx.Err(); err != nil {
		return failed(cancelled(ctx))
	}
	a, err := decodeArgs(raw)
	if err != nil {
		return failed(err)
	}
	var res Result
	switch name {
	case ReadFile:
		res, err = r.readFile(a)
	case WriteFile:
		res, err = r.writeFile(a, raw, ok)
	case EditFile:
		res, err = r.editFile(a, raw, ok)
	case ListDirectory:
		res, err = r.listDirectory(a)
	case Bash:
		return r.bash(ctx, a)
	case Grep:
		res, err = r.grep(ctx, a)
	case WebFetch:
		return r.webFetch(ctx, a)
	case TaskCreate:
		res, err = r.tasks.create(a)
	case TaskUpdate:
		res, err = r.tasks.update(a)
	case TaskList:
		res = Result{Content: r.tasks.Markdown()}
	default:
		err = fmt.Errorf("there is no tool %q; use one of %s", name, toolNames())
	}
	if err != nil {
		return failed(err)
	}
	res.Origin = OriginLocal
	return res
}

// Close ends every process of the runtime and closes the project folder. Calls
// that run meanwhile fail.
func (r *Runtime) Close() {
	r.jobs.close()
	r.web.close()
	r.tasks.Clear()
	r.fence.close()
}

// ArgumentError says which argument of a call is wrong, and how.
type ArgumentError struct {
	Field, Problem string
}

func (e *ArgumentError) Error() string {
	if e.Field == "" {
		return "the arguments " + e.Problem
	}
	return "argument '" + e.Field + "' " + e.Problem
}

// failed makes the result of a failed call. Its text is ours, so it taints
// nothing.
func failed(err error) Result {
	return Result{Content: "Error: " + strings.ToValidUTF8(err.Error(), "\uFFFD"), IsError: true, Origin: OriginLocal}
}

// cancelled names the way in which a context ended.
func cancelled(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("the time for this call is over")
	}
	return errors.New(contract.TextCancelledByUser)
}

func toolNames() string {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

// environment returns the explicit environment of bash.
func environment(env []string, dir string) []string {
	if env == nil {
		env = os.Environ()
	}
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		// The service's own settings and the keys it may use are no business of a
		// command, and a stale PWD would mislead it.
		if name == "PWD" || name == "OLDPWD" || strings.HasPrefix(name, ownEnv) || config.HoldsKey(name) {
			continue
		}
		out = append(out, e)
	}
	return append(out, "PWD="+dir)
}

// slashed returns a path of the project as every platform shows it.
func slashed(rel string) string { return filepath.ToSlash(rel) }
