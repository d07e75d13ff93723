package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Limits of bash. Source: tools-permissions.md section 1.
const (
	defaultTimeout = 30  // s
	maxTimeout     = 120 // s
	// maxOutputBytes caps the output, both streams together.
	maxOutputBytes = 262_144
	// stderrShare is what stderr keeps of the cap when stdout alone would fill
	// it: why a command failed is mostly there.
	stderrShare = 65_536
	// settle is how long the call waits for buffered output after the shell has
	// ended.
	settle = 200 * time.Millisecond
	// killWait bounds the wait for a killed shell, which a process inside the
	// kernel can delay.
	killWait = 2 * time.Second

	ownEnv     = config.EnvPrefix
	tempPrefix = config.TempPrefix

	truncatedMark = "\n[output truncated]"
	stderrHeading = "--- stderr ---"
)

// Process is something that a bash call left running in the background.
type Process struct {
	// ID names it; it is the id of its process group's marker.
	ID string
	// Command is the command line of the call, as the model wrote it.
	Command string
	// PIDs are the processes that run now.
	PIDs []int
	// Since is when the call started.
	Since time.Time
}

// job is one started command line.
type job struct {
	group    *child.Group
	command  string
	out, err *collector
	left     bool // the call has returned, something still runs
}

// jobs are the commands of one runtime.
type jobs struct {
	mu     sync.Mutex
	all    map[*job]struct{}
	closed bool
}

var errConversationClosed = errors.New("this conversation is closed; start it again")

func (r *Runtime) bash(ctx context.Context, a args) Result {
	command, err := a.filled("command")
	if err != nil {
		return failed(err)
	}
	if strings.ContainsRune(command, 0) {
		return failed(&ArgumentError{"command", "must not hold a zero byte"})
	}
	seconds, err := a.whole("timeout", defaultTimeout, 1)
	if err != nil {
		return failed(err)
	}
	seconds = min(seconds, maxTimeout)
	r.jobs.prune()
	j, err := r.jobs.start(r, command)
	if err != nil {
		return failed(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- j.group.Wait() }()

	limit := time.NewTimer(time.Duration(seconds) * time.Second)
	defer limit.Stop()
	var why, state error
	select {
	case state = <-exited:
	case <-limit.C:
		why = fmt.Errorf("the command did not end within %d s and was ended with everything it started; give a longer timeout (at most %d) or let it run in the background", seconds, maxTimeout)
	case <-ctx.Done():
		why = fmt.Errorf("%w; the command was ended with everything it started", cancelled(ctx))
	}
	if why != nil {
		j.group.Kill()
		if errors.Is(ctx.Err(), context.Canceled) {
			r.KillBackground()
		}
		wait := time.NewTimer(killWait)
		defer wait.Stop()
		select {
		case state = <-exited:
		case <-wait.C:
		}
	}
	deadline := time.Now().Add(settle)
	stdout, stderr := j.out.until(deadline), j.err.until(deadline)
	r.jobs.settle(j)
	if why == nil && errors.Is(ctx.Err(), context.Canceled) {
		// Cancelled just now: what is in the background belongs to the turn.
		r.KillBackground()
	}
	return bashResult(command, stdout, stderr, state, why)
}

// start starts a command line. With the lock held, so that close cannot miss it.
func (js *jobs) start(r *Runtime, command string) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.closed {
		return nil, errConversationClosed
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("the command could not be started: %w; close other programs and try again", err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outR.Close()
		_ = outW.Close()
		return nil, fmt.Errorf("the command could not be started: %w; close other programs and try again", err)
	}
	cmd := shell(command)
	cmd.Dir = r.fence.dir
	cmd.Env = slices.Clone(r.env)
	cmd.Stdout, cmd.Stderr = outW, errW // stdin stays empty
	g, err := child.Start(cmd, child.Options{Marker: r.marker, Session: true, Register: r.reg})
	_ = outW.Close()
	_ = errW.Close()
	if err != nil {
		_ = outR.Close()
		_ = errR.Close()
		return nil, fmt.Errorf("the command could not be started: %w", err)
	}
	j := &job{group: g, command: command, out: collect(outR), err: collect(errR)}
	if js.all == nil {
		js.all = map[*job]struct{}{}
	}
	js.all[j] = struct{}{}
	return j, nil
}

// settle decides what becomes of a job whose shell has ended: forgotten when
// nothing is left of it, else kept as a background one.
func (js *jobs) settle(j *job) {
	if !j.group.Alive() {
		js.drop(j)
		return
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	j.left = true
}

// drop forgets a job that has ended.
func (js *jobs) drop(j *job) {
	j.group.Release()
	js.forget(j)
}

// forget gives up the output of a job and takes it off the list.
func (js *jobs) forget(j *job) {
	// With nothing of the group alive, an open pipe is held by something that
	// shed its marker; it is not waited for.
	j.out.stop()
	j.err.stop()
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.all, j)
}

// background returns the jobs that outlived their call.
func (js *jobs) background() []*job {
	js.mu.Lock()
	defer js.mu.Unlock()
	var out []*job
	for j := range js.all {
		if j.left {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int { return a.group.Since.Compare(b.group.Since) })
	return out
}

// prune forgets the background jobs that have ended by themselves.
func (js *jobs) prune() {
	for _, j := range js.background() {
		if !j.group.Alive() {
			js.drop(j)
		}
	}
}

// kill ends jobs, all at the same time. One that cannot be ended, because it
// changed its user for instance, stays listed; at the last it is given up, and
// its record stays for the next start.
func (js *jobs) kill(which []*job, last bool) {
	var wg sync.WaitGroup
	for _, j := range which {
		wg.Go(func() {
			switch left := j.group.Kill(); {
			case left == 0:
				js.drop(j)
			case last:
				js.forget(j)
			}
		})
	}
	wg.Wait()
}

func (js *jobs) close() {
	js.mu.Lock()
	js.closed = true
	running := make([]*job, 0, len(js.all))
	for j := range js.all {
		running = append(running, j)
	}
	js.mu.Unlock()
	js.kill(running, true)
}

// Running returns what bash calls of this conversation left in the background,
// oldest first. It reads the process table, some milliseconds.
func (r *Runtime) Running() []Process {
	var out []Process
	for _, j := range r.jobs.background() {
		alive := j.group.Processes()
		if len(alive) == 0 {
			r.jobs.drop(j)
			continue
		}
		p := Process{ID: j.group.ID, Command: j.command, Since: j.group.Since}
		for _, a := range alive {
			p.PIDs = append(p.PIDs, a.PID)
		}
		out = append(out, p)
	}
	return out
}

// KillBackground ends what bash calls left in the background (F19).
func (r *Runtime) KillBackground() { r.jobs.kill(r.jobs.background(), false) }

func bashResult(command, stdout, stderr string, state, why error) Result {
	facts := BashFacts(command)
	res := Result{Origin: OriginLocal, Tainting: facts.Tainting(), Stdout: stdout, Stderr: stderr}
	if res.Tainting {
		res.Origin = OriginUnknown
	}
	code := exitCode(state)
	if why != nil {
		code = -1
	}
	res.ExitCode = &code
	body := joinOutput(stdout, stderr)
	switch {
	case why != nil:
		res.IsError = true
		res.Content = "Error: " + why.Error()
		if stdout+stderr != "" {
			res.Content += "\n" + body
		}
	case code != 0:
		res.IsError = true
		res.Content = "Error: " + body
		if !strings.HasSuffix(res.Content, "\n") {
			res.Content += "\n"
		}
		res.Content += fmt.Sprintf("[exit code: %d]", code)
	default:
		res.Content = body
	}
	return res
}

// exitCode returns the code of a shell that has ended, -1 for a signal.
func exitCode(state error) int64 {
	var exit *exec.ExitError
	switch {
	case state == nil:
		return 0
	case errors.As(state, &exit):
		return int64(exit.ExitCode())
	}
	return -1
}

// joinOutput puts the two streams together and cuts them to the cap.
func joinOutput(stdout, stderr string) string {
	if stdout == "" && stderr == "" {
		return contract.TextNoOutput
	}
	cut := false
	room := maxOutputBytes
	if stderr != "" {
		room -= min(len(stderr), stderrShare) + len(stderrHeading) + 2
	}
	if len(stdout) > room {
		stdout, cut = cutBytes(stdout, room)+truncatedMark, true
	}
	if stderr == "" {
		return stdout
	}
	if stdout != "" && !strings.HasSuffix(stdout, "\n") {
		stdout += "\n"
	}
	room = maxOutputBytes - len(stdout) - len(stderrHeading) - 1
	if cut {
		room = stderrShare
	}
	if len(stderr) > room {
		stderr = cutBytes(stderr, room) + truncatedMark
	}
	return stdout + stderrHeading + "\n" + stderr
}

// collector reads one output stream of a command for as long as anything holds
// its other end, so that no background process dies of a closed pipe, and keeps
// the first bytes of it until the call has returned.
type collector struct {
	f    *os.File
	done chan struct{} // closed at the end of the stream

	mu   sync.Mutex
	keep bool
	buf  []byte
}

func collect(f *os.File) *collector {
	c := &collector{f: f, keep: true, done: make(chan struct{})}
	go c.read()
	return c
}

func (c *collector) read() {
	defer close(c.done)
	defer c.f.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := c.f.Read(b)
		c.mu.Lock()
		// One byte more than the cap is kept, so that cutting is noticed.
		if room := maxOutputBytes + 1 - len(c.buf); c.keep && room > 0 {
			c.buf = append(c.buf, b[:min(n, room)]...)
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits for the end of the stream, at most until the deadline, and returns
// what has come so far as valid text. A character is whole although it came in
// several reads (F01); bytes that are no text are replaced. What comes later is
// read and let go.
func (c *collector) until(deadline time.Time) string {
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.buf
	c.keep, c.buf = false, nil
	cut := len(b) > maxOutputBytes
	if cut {
		// Replacing must not count the character that the cap cuts as broken.
		b = b[:maxOutputBytes]
		b = b[:len(b)-child.IncompleteSuffix(b)]
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	// A zero byte is text to us and not to every provider.
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	if len(s) > maxOutputBytes {
		s, cut = cutBytes(s, maxOutputBytes), true
	}
	if cut {
		s += truncatedMark
	}
	return s
}

// stop gives the stream up.
func (c *collector) stop() {
	_ = c.f.Close()
	<-c.done
}
