//go:build integration || bench

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// patience bounds every wait of these tests; it is no expectation of speed.
const patience = 60 * time.Second

// binary is the program under test.
func binary(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("PACKETBENCH_BIN")
	if bin == "" {
		t.Fatal("PACKETBENCH_BIN is not set; run this through make integration or make bench")
	}
	abs, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// service process under test.
type proc struct {
	t    testing.TB
	home string
	cmd  *exec.Cmd
	run  runFile
	// exited is closed when the process has ended.
	exited chan struct{}
	mu     sync.Mutex
	log    bytes.Buffer
}

// environment is a clean one: no keys, no keyring, nothing of the developer's.
func environment(home string, extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=dumb", "PACKETBENCH_NO_KEYRING=1",
	}, extra...)
}

// serve starts the service on a data directory and waits for its ready line.
func serve(t testing.TB, home string, env []string, args ...string) *proc {
	t.Helper()
	p, err := tryServe(t, home, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryServe(t testing.TB, home string, env []string, args ...string) (*proc, error) {
	t.Helper()
	p := &proc{t: t, home: home, exited: make(chan struct{})}
	p.cmd = exec.Command(binary(t), append([]string{"serve", "--home", home, "--addr", "127.0.0.1:0", "--nats-addr", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = environment(home, env...)
	p.cmd.Dir = home
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	pipes.Go(func() { _, _ = io.Copy(lockedWriter{p}, stderr) })
	ready := make(chan string, 1)
	pipes.Go(func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			select {
			case ready <- lines.Text():
			default:
			}
		}
	})
	go func() {
		pipes.Wait()
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of the service:\n%s", p.logged())
		}
	})
	select {
	case line := <-ready:
		if !strings.HasPrefix(line, config.ReadyLinePrefix+"http://127.0.0.1:") {
			return nil, fmt.Errorf("ready line %q", line)
		}
	case <-p.exited:
		return p, fmt.Errorf("the service ended before it was ready:\n%s", p.logged())
	case <-time.After(patience):
		return p, fmt.Errorf("no ready line in %s:\n%s", patience, p.logged())
	}
	body, err := os.ReadFile(filepath.Join(home, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &p.run); err != nil {
		t.Fatal(err)
	}
	return p, nil
}

type lockedWriter struct{ p *proc }

func (w lockedWriter) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.p.log.Write(b)
}

func (p *proc) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// kill ends the service with SIGKILL and waits.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// term asks for an orderly stop and returns the exit code.
func (p *proc) term() int {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("the service did not stop:\n%s", p.logged())
	}
	return p.cmd.ProcessState.ExitCode()
}

// window is one owner connection that follows events.
type window struct {
	*client
	t testing.TB
	// backlog holds events read but not consumed.
	backlog []contract.Envelope
	gaps    int
}

func (p *proc) window(t testing.TB) *window {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := dial(ctx, p.run.URL, p.run.OwnerToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return &window{client: c, t: t}
}

// must makes a call that has to succeed.
func (w *window) must(m contract.Method, params, result any) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.call(ctx, m, params, result); err != nil {
		w.t.Fatalf("%s: %v", m, err)
	}
}

// follow subscribes to everything of one conversation.
func (w *window) follow(since any, id contract.ConversationID) contract.SubscribeResult {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := w.subscribe(ctx, since, "api-agent.*."+string(id), "conversation.*."+string(id))
	if err != nil {
		w.t.Fatalf("subscribe: %v", err)
	}
	return r
}

// event returns the next event.
func (w *window) event() contract.Envelope {
	w.t.Helper()
	e, err := w.tryEvent(patience)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *window) tryEvent(most time.Duration) (contract.Envelope, error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for len(w.backlog) == 0 {
		select {
		case n, ok := <-w.events:
			if !ok {
				return contract.Envelope{}, w.err
			}
			if n.Method == "gap" {
				w.gaps++
			}
			w.backlog = n.Events.Events
		case <-timer.C:
			return contract.Envelope{}, fmt.Errorf("no event in %s", most)
		}
	}
	e := w.backlog[0]
	w.backlog = w.backlog[1:]
	return e, nil
}

// soak takes in what has come so far.
func (w *window) soak() {
	for {
		select {
		case n, ok := <-w.events:
			if !ok {
				return
			}
			if n.Method == "gap" {
				w.gaps++
			}
			w.backlog = append(w.backlog, n.Events.Events...)
		default:
			return
		}
	}
}

// until reads events up to and with the first of a subject family, such as
// "api-agent.done.", and returns all of them.
func (w *window) until(prefix string) []contract.Envelope {
	w.t.Helper()
	var out []contract.Envelope
	for {
		e := w.event()
		out = append(out, e)
		if strings.HasPrefix(e.Subject, prefix) {
			return out
		}
	}
}

// text joins the chunks among events.
func text(t testing.TB, events []contract.Envelope) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		if strings.HasPrefix(e.Subject, "api-agent.chunk.") {
			var s string
			if err := json.Unmarshal(e.Data, &s); err != nil {
				t.Fatalf("chunk %s: %v", e.Data, err)
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// project makes a small project folder.
func project(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a project")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A project\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sidecarScript is the variable that names the sidecar of this checkout.
func sidecarScript(t testing.TB) string {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "..", "sidecar", "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil {
		t.Fatalf("the sidecar is not built, run make sidecar: %v", err)
	}
	return "PACKETBENCH_SIDECAR_PATH=" + script
}
