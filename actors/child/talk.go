package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// The bounds of a conversation with a child. Source: actors.md section 4.
const (
	// talkCredits is how many lines may be with the owner unacknowledged.
	talkCredits = 64
	// talkWaiting is how many lines may wait to be written.
	talkWaiting = 256
	// talkMute is how long a child may live on without its stdout. Ours.
	talkMute = 2 * time.Second
	// talkSilence is how long the pipes of a child that has ended may be silent
	// while something that was not found keeps them open. Ours.
	talkSilence = time.Second
)

// ErrNotReading says that a child has not read what it was sent before: its
// queue is full. The owner fails the request instead of waiting.
var ErrNotReading = errors.New("child: it does not read what it is sent")

// ErrGone says that a child has ended or is being ended.
var ErrGone = errors.New("child: it has ended")

// Exit is how a child ended. Code is -1 for an end by Signal. Broken is set
// when its output could not be followed any more, which is why it was killed.
// Tail is the end of what it wrote to stderr.
type Exit struct {
	Code   int
	Signal string
	Tail   string
	Broken error
}

// TalkOptions say who hears what of a child.
type TalkOptions struct {
	Options
	// MaxLine is the longest line in bytes; a longer one arrives cut, see
	// [Line]. Endless is how much without a line end breaks the stream.
	MaxLine, Endless int64
	// Queue is how many lines may wait to be written; 0 means 256. A host of
	// many conversations may have something for each at the same moment.
	Queue int
	// Line hears each line of stdout, in order, on one goroutine. At most 64
	// are on their way until Credit gives some back, so a slow owner slows the
	// child down instead of filling memory.
	Line func(Line)
	// Pause is called on the same goroutine when every line that has arrived
	// was handed to Line: whoever collects lines passes them on. May be nil.
	Pause func()
	// Log hears each line of stderr, right-trimmed, empty ones left out.
	Log func(string)
	// Exited is called once, after the last Line and Log.
	Exited func(Exit)
}

// Talk is a running child that is spoken to in lines over its standard streams.
// It is safe for concurrent use.
type Talk struct {
	group   *Group
	stdin   io.WriteCloser
	credits chan struct{}
	lines   chan []byte
	closing chan struct{}
	killed  chan struct{}
	ended   chan struct{}
	close   sync.Once
	kill    sync.Once
}

// StartTalk starts cmd in a group of its own with pipes on its standard streams.
// The error names the program and says whether it is missing.
func StartTalk(cmd *exec.Cmd, o TalkOptions) (*Talk, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, stderr, started, err := pipes(cmd)
	if err != nil {
		_ = stdin.Close()
		return nil, err
	}
	group, err := Start(cmd, o.Options)
	started()
	if err != nil {
		_, _, _ = stdin.Close(), stdout.Close(), stderr.Close()
		return nil, err
	}
	if o.Queue == 0 {
		o.Queue = talkWaiting
	}
	t := &Talk{
		group: group, stdin: stdin, credits: make(chan struct{}, talkCredits), lines: make(chan []byte, o.Queue),
		closing: make(chan struct{}), killed: make(chan struct{}), ended: make(chan struct{}),
	}
	for range talkCredits {
		t.credits <- struct{}{}
	}
	go t.write()
	go t.run(stdout, stderr, o)
	return t, nil
}

// pipes gives cmd its standard output and error; started closes the ends that
// belong to the child.
//
// Deliberate: not cmd.StdoutPipe. Its Wait closes the pipe, and what the child
// had still said would be lost; waiting for the end of the pipe first would let
// a survivor that holds it hide the child's end (F22).
func pipes(cmd *exec.Cmd) (stdout, stderr *os.File, started func(), err error) {
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	stderr, er, err := os.Pipe()
	if err != nil {
		_, _ = stdout.Close(), out.Close()
		return nil, nil, nil, err
	}
	cmd.Stdout, cmd.Stderr = out, er
	return stdout, stderr, func() { _, _ = out.Close(), er.Close() }, nil
}

// PID is the child's process id.
func (t *Talk) PID() int { return t.group.PID }

// Send queues one line; the line end is added. It never waits.
func (t *Talk) Send(line []byte) error {
	select {
	case <-t.closing:
		return ErrGone
	case <-t.ended:
		return ErrGone
	default:
	}
	select {
	case t.lines <- append(line[:len(line):len(line)], '\n'):
		return nil
	default:
		return ErrNotReading
	}
}

// Credit gives n lines back.
func (t *Talk) Credit(n int) {
	for range n {
		select {
		case t.credits <- struct{}{}:
		default: // More than there are: nobody counts wrong for long.
			return
		}
	}
}

// Ended is closed when the child and everything it wrote are done with.
func (t *Talk) Ended() <-chan struct{} { return t.ended }

// Kill ends the whole group at once and does not wait.
func (t *Talk) Kill() {
	t.hangUp()
	t.kill.Do(func() {
		close(t.killed)
		go t.group.Kill()
	})
}

// Stop ends the child gently: its stdin is closed, after grace it is asked to
// end, after two seconds more its whole group is killed. It returns when the
// child is gone.
func (t *Talk) Stop(grace time.Duration) {
	t.hangUp()
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{grace, t.group.Terminate}, {2 * time.Second, t.Kill}} {
		timer := time.NewTimer(step.wait)
		select {
		case <-t.ended:
			timer.Stop()
			return
		case <-timer.C:
			step.then()
		}
	}
	<-t.ended
}

// hangUp closes stdin once everything queued has been written.
func (t *Talk) hangUp() { t.close.Do(func() { close(t.closing) }) }

// write is the one writer of stdin. A pipe's Write loops until all is out.
func (t *Talk) write() {
	defer func() { _ = t.stdin.Close() }()
	for {
		select {
		case line := <-t.lines:
			if _, err := t.stdin.Write(line); err != nil {
				t.hangUp()
				t.Kill() // It would wait for the rest of a line for ever.
				return
			}
			continue
		default:
		}
		select {
		case line := <-t.lines:
			if _, err := t.stdin.Write(line); err != nil {
				t.Kill()
				return
			}
		case <-t.closing:
			if len(t.lines) == 0 {
				return
			}
		case <-t.ended:
			return
		}
	}
}

// run follows the child to its end.
func (t *Talk) run(stdout, stderr *os.File, o TalkOptions) {
	var broken error
	tail := new(Tail)
	over := make(chan struct{}) // The child itself has ended.
	var pipes sync.WaitGroup
	pipes.Go(func() {
		broken = t.follow(&pipe{File: stdout, over: over}, o)
		t.mute(over)
	})
	pipes.Go(func() { listen(io.TeeReader(&pipe{File: stderr, over: over}, tail), o.Log) })
	err := t.group.Wait()
	// What the child left in its group must not outlive it, and holds the pipes.
	t.group.Kill()
	close(over)
	for _, f := range []*os.File{stdout, stderr} {
		_ = f.SetReadDeadline(time.Now()) // Wakes the reader, which then looks at over.
	}
	pipes.Wait()
	_, _ = stdout.Close(), stderr.Close()
	t.group.Release()
	exit := Exit{Tail: tail.String(), Broken: broken}
	var status *exec.ExitError
	if errors.As(err, &status) {
		exit.Code = status.ExitCode()
		if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			exit.Signal = signalName(ws.Signal())
		}
	}
	close(t.ended)
	if o.Exited != nil {
		o.Exited(exit)
	}
}

// mute ends a child that lives on after its stdout has ended: nobody would ever
// hear of it again.
func (t *Talk) mute(over <-chan struct{}) {
	timer := time.NewTimer(talkMute)
	defer timer.Stop()
	select {
	case <-over:
	case <-t.killed:
	case <-timer.C:
		t.Kill()
	}
}

// pipe is one of the child's standard streams. Once the child has ended it is
// read until it is empty: to its end, or until it has been silent for a while.
type pipe struct {
	*os.File
	over <-chan struct{}
	// last: the deadline is the one that counts.
	last bool
}

// Read ends the stream when the child is gone and nothing comes any more.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		if p.last {
			_ = p.SetReadDeadline(time.Now().Add(talkSilence))
		}
		n, err := p.File.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if p.last {
			return 0, io.EOF
		}
		<-p.over
		p.last = true
	}
}

// follow reads stdout line by line, one credit a line. A stream that cannot be
// followed ends the child: merely not reading would leave it running unread.
func (t *Talk) follow(r io.Reader, o TalkOptions) error {
	splitter := NewSplitter(o.MaxLine, o.Endless)
	emit := func(l Line) {
		select {
		case <-t.credits:
		case <-t.killed: // Nobody has to hear what a killed child still said.
			return
		}
		o.Line(l)
	}
	if o.Pause == nil {
		o.Pause = func() {}
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if broken := splitter.Feed(buf[:n], emit); broken != nil {
				t.Kill()
				_, _ = io.Copy(io.Discard, r)
				return broken
			}
			o.Pause()
		}
		if err != nil {
			splitter.Flush(emit)
			o.Pause()
			return nil
		}
	}
}

// listen hands stderr on, line by line.
func listen(r io.Reader, log func(string)) {
	splitter := NewSplitter(16<<10, 256<<20)
	emit := func(l Line) {
		if text := strings.TrimRightFunc(string(l.Text), unicode.IsSpace); text != "" && log != nil {
			log(text)
		}
	}
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && splitter.Feed(buf[:n], emit) != nil {
			_, _ = io.Copy(io.Discard, r)
			return
		}
		if err != nil {
			splitter.Flush(emit)
			return
		}
	}
}
