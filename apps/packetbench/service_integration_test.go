//go:build integration && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// One command on an empty HOME: the demo row completes a turn whose prompt is
// answered in a second window; both windows hear the same (F45, F47).
func TestService_DemoAnsweredInASecondWindow(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	a, b := p.window(t), p.window(t)
	const id = contract.ConversationID("demo-1")
	a.follow("new", id)
	b.follow("new", id)
	dir := project(t)
	a.must(contract.MethodStart, contract.StartParams{
		SessionID: id, Provider: "demo", Model: "demo", ProjectPath: dir, InitialMessage: "edit and run",
		PermissionMode: contract.ModeAuto,
	}, nil)
	heardB := b.until("api-agent.permission-request.")
	var ask contract.PermissionRequest
	if err := json.Unmarshal(heardB[len(heardB)-1].Data, &ask); err != nil {
		t.Fatal(err)
	}
	if ask.Name != "bash" {
		t.Fatalf("asked for %s", ask.Name)
	}
	b.must(contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: id, ToolID: ask.ID, Decision: contract.AllowOnce}, nil)
	err := a.call(t.Context(), contract.MethodRespondPermission, contract.RespondPermissionParams{SessionID: id, ToolID: ask.ID, Decision: contract.Deny}, nil)
	var late *contract.Failure
	if !errors.As(err, &late) || late.Code != contract.CodeAnswered {
		t.Errorf("the late answer: %v", err)
	}
	heardB = append(heardB, b.until("conversation.turn-ended.")...)
	heardA := a.until("conversation.turn-ended.")
	if len(heardA) != len(heardB) {
		t.Fatalf("one window heard %d events, the other %d", len(heardA), len(heardB))
	}
	for i := range heardA {
		if heardA[i].Seq != heardB[i].Seq || !bytes.Equal(heardA[i].Data, heardB[i].Data) {
			t.Fatalf("event %d differs: %v and %v", i, heardA[i], heardB[i])
		}
	}
	if first := text(t, heardA); !strings.Contains(first, "no model is involved") {
		t.Errorf("the demo does not say what it is: %q", first)
	}
	if _, err := os.Stat(filepath.Join(dir, config.DemoFile)); err != nil {
		t.Errorf("the edit did not land: %v", err)
	}
}

// Three windows and a slow one, 20,000 deltas: each gets each event exactly
// once, in order; one drops its socket and continues with since.
func TestService_WindowsGetEachEventOnce(t *testing.T) {
	const deltas = 20_000
	words := make([]string, deltas)
	for i := range words {
		words[i] = fmt.Sprintf("%d ", i)
	}
	provider := llmtest.NewKeylessChat(t, llmtest.Turn{Text: words})
	p := serve(t, t.TempDir(), []string{"PACKETBENCH_CUSTOM_COMPAT_URL=" + provider.URL + "/v1"})
	const id = contract.ConversationID("many")
	var wg sync.WaitGroup
	check := func(name string, read func(yield func(contract.Envelope) bool)) {
		wg.Go(func() {
			var last uint64
			got := 0
			read(func(e contract.Envelope) bool {
				if e.Seq <= last {
					t.Errorf("%s: sequence %d after %d", name, e.Seq, last)
					return false
				}
				last = e.Seq
				if strings.HasPrefix(e.Subject, "api-agent.chunk.") {
					if want := fmt.Sprintf(`"%d "`, got); string(e.Data) != want {
						t.Errorf("%s: delta %d is %s", name, got, e.Data)
						return false
					}
					got++
				}
				return !strings.HasPrefix(e.Subject, "api-agent.done.")
			})
			if got != deltas {
				t.Errorf("%s: %d deltas of %d", name, got, deltas)
			}
		})
	}
	for i := range 2 {
		w := p.window(t)
		w.follow("new", id)
		check(fmt.Sprintf("window %d", i), func(yield func(contract.Envelope) bool) {
			for {
				e, err := w.tryEvent(patience)
				if err != nil || !yield(e) {
					return
				}
			}
		})
	}
	slow := p.window(t)
	slow.follow("new", id)
	check("slow", func(yield func(contract.Envelope) bool) {
		for n := 0; ; n++ {
			if n%500 == 0 {
				time.Sleep(20 * time.Millisecond) // What makes it slow, not a wait for anything.
			}
			e, err := slow.tryEvent(patience)
			if err != nil || !yield(e) {
				return
			}
		}
	})
	dropping := p.window(t)
	dropping.follow("new", id)
	check("dropping", func(yield func(contract.Envelope) bool) {
		w, last := dropping, uint64(0)
		for n := 1; ; n++ {
			e, err := w.tryEvent(patience)
			if err != nil || !yield(e) {
				return
			}
			last = e.Seq
			if n%6000 == 0 {
				w.close()
				w = p.window(t)
				w.follow(last+1, id)
			}
		}
	})
	p.window(t).must(contract.MethodStart, contract.StartParams{
		SessionID: id, Provider: "custom", Model: "m", ProjectPath: project(t), InitialMessage: "count", PermissionMode: contract.ModeAuto,
	}, nil)
	wg.Wait()
}

// packetbench run against every wire, by exit code and output.
func TestRun_StreamsATurnFromEachWire(t *testing.T) {
	say := llmtest.Say("hello from the model")
	for _, tc := range []struct {
		name, provider, model string
		server                func(*testing.T) *llmtest.Server
		env                   func(url string) []string
	}{
		{
			"openai-compatible", "custom", "m", func(t *testing.T) *llmtest.Server { return llmtest.NewKeylessChat(t, say) },
			func(url string) []string { return []string{"PACKETBENCH_CUSTOM_COMPAT_URL=" + url + "/v1"} },
		},
		{
			"anthropic", "anthropic", "claude-sonnet-4-6", func(t *testing.T) *llmtest.Server { return llmtest.NewAnthropic(t, say) },
			func(url string) []string {
				return []string{"PACKETBENCH_ANTHROPIC_URL=" + url, "ANTHROPIC_API_KEY=k-anthropic-0001"}
			},
		},
		{
			"responses", "openai", "gpt-5.5", func(t *testing.T) *llmtest.Server { return llmtest.NewResponses(t, say) },
			func(url string) []string {
				return []string{"PACKETBENCH_OPENAI_URL=" + url + "/v1", "OPENAI_API_KEY=k-openai-0001"}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := tc.server(t)
			out, errOut, code := command(t, t.TempDir(), tc.env(server.URL), "run", "--provider", tc.provider, "--model", tc.model, "--project", project(t), "say hello")
			if code != 0 || strings.TrimSpace(out) != "hello from the model" {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out, errOut)
			}
		})
	}
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		out, errOut, code := command(t, t.TempDir(), nil, "run", "--provider", "demo", "--model", "demo", "--project", project(t), "look around")
		if code != 0 || !strings.Contains(out, "no model is involved") {
			t.Errorf("exit %d, stdout %q, stderr %q", code, out, errOut)
		}
	})
	t.Run("nobody can answer", func(t *testing.T) {
		t.Parallel()
		_, errOut, code := command(t, t.TempDir(), nil, "run", "--provider", "demo", "--model", "demo", "--project", project(t), "run something")
		if code != exitUnanswered {
			t.Errorf("exit %d, stderr %q", code, errOut)
		}
	})
	t.Run("provider error", func(t *testing.T) {
		t.Parallel()
		_, errOut, code := command(t, t.TempDir(), nil, "run", "--provider", "demo", "--model", "demo", "--project", project(t), "fail")
		if code != exitTurnError || errOut == "" {
			t.Errorf("exit %d, stderr %q", code, errOut)
		}
	})
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		out, errOut, code := command(t, t.TempDir(), nil, "run", "--json", "--provider", "demo", "--model", "demo", "--project", project(t), "look")
		if code != 0 {
			t.Fatalf("exit %d, stderr %q", code, errOut)
		}
		kinds := map[string]bool{}
		lines := bufio.NewScanner(strings.NewReader(out))
		for lines.Scan() {
			var e contract.Envelope
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Seq == 0 || e.Subject == "" || e.Time.IsZero() {
				t.Fatalf("not an envelope: %s", lines.Text())
			}
			if a, err := contract.ParseSubject(e.Subject); err == nil && a.Kind != "" {
				kinds[string(a.Kind)] = true
			}
		}
		for _, want := range []string{"chunk", "tool-start", "tool-result", "done"} {
			if !kinds[want] {
				t.Errorf("no %s among the envelopes", want)
			}
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		server := llmtest.NewKeylessChat(t, llmtest.Turn{Text: []string{"one ", "two "}, Pace: 300 * time.Millisecond})
		server.TolerateProblems()
		words := make([]string, 400)
		for i := range words {
			words[i] = "word "
		}
		server.Choose(func(llmtest.Recorded) llmtest.Turn { return llmtest.Turn{Text: words, Pace: 50 * time.Millisecond} })
		home := t.TempDir()
		cmd := exec.Command(binary(t), "--home", home, "run", "--provider", "custom", "--model", "m", "--project", project(t), "count")
		cmd.Env = environment(home, "PACKETBENCH_CUSTOM_COMPAT_URL="+server.URL+"/v1")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(stdout).ReadString(' '); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("exit %d", code)
		}
	})
}

// command runs one command line to its end.
func command(t testing.TB, home string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), append([]string{"--home", home}, args...)...)
	cmd.Env = environment(home, env...)
	cmd.Dir = home
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// F36: of three services started at once on one data directory exactly one
// runs; the others exit 1 with one line naming its pid and URL.
func TestServe_OneServiceOnADataDirectory(t *testing.T) {
	home := t.TempDir()
	first := serve(t, home, nil)
	_, errOut, code := command(t, home, nil, "serve", "--addr", "127.0.0.1:0", "--nats-addr", "127.0.0.1:0")
	line := lastLine(errOut)
	if code != exitFailure || !strings.Contains(line, first.run.URL) || !strings.Contains(line, fmt.Sprint(first.run.PID)) {
		t.Errorf("exit %d, line %q", code, line)
	}
	if code := first.term(); code != 0 {
		t.Errorf("exit code %d of an orderly stop", code)
	}
	if _, err := os.Stat(filepath.Join(home, "run.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("run.json is still there: %v", err)
	}
	serve(t, home, nil).kill()
	serve(t, home, nil) // The lock of a killed service is taken over.
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// F80: a port that is in use is one clear line and exit 1, for both listeners.
func TestServe_BusyPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	busy := ln.Addr().String()
	for _, args := range [][]string{
		{"serve", "--addr", busy, "--nats-addr", "127.0.0.1:0"},
		{"serve", "--addr", "127.0.0.1:0", "--nats-addr", busy},
	} {
		out, errOut, code := command(t, t.TempDir(), nil, args...)
		if line := lastLine(errOut); code != exitFailure || !strings.Contains(line, busy) || !strings.Contains(line, "in use") || out != "" {
			t.Errorf("%v: exit %d, stdout %q, line %q", args, code, out, line)
		}
		if strings.Contains(errOut, "goroutine ") {
			t.Errorf("a stack trace reached the user:\n%s", errOut)
		}
	}
}

// No listener but ours and no connection to elsewhere at the start.
func TestServe_SocketsAreOurs(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	for _, w := range []*window{p.window(t)} {
		w.must(contract.MethodListProviders, struct{}{}, nil)
	}
	own := map[string]bool{}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.cmd.Process.Pid, fd.Name())); err == nil {
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				own[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	want := map[string]bool{strings.TrimPrefix(p.run.URL, "http://"): true, strings.TrimPrefix(p.run.NATSURL, "nats://"): true}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		body, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.cmd.Process.Pid, table))
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(body), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) < 10 || !own[f[9]] {
				continue
			}
			local, remote, state := hexAddr(f[1]), hexAddr(f[2]), f[3]
			switch {
			case state == "0A" && !want[local]:
				t.Errorf("%s: listens on %s", table, local)
			case state == "0A":
				delete(want, local)
			case !strings.HasPrefix(remote, "127.0.0.1:"):
				t.Errorf("%s: connected to %s", table, remote)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not listening on %v", want)
	}
}

// hexAddr reads an address of /proc/net/tcp.
func hexAddr(s string) string {
	ip, port, _ := strings.Cut(s, ":")
	var n, q uint32
	_, _ = fmt.Sscanf(port, "%x", &q)
	if len(ip) != 8 {
		return fmt.Sprintf("[%s]:%d", ip, q)
	}
	_, _ = fmt.Sscanf(ip, "%x", &n)
	return fmt.Sprintf("%d.%d.%d.%d:%d", byte(n), byte(n>>8), byte(n>>16), byte(n>>24), q)
}

// A crash loop ends in down on the fourth death inside 60 s; siblings keep
// their pids, the tree and the ops subjects say so, a reset works.
func TestService_CrashLoopEndsDown(t *testing.T) {
	cfg := config.Serve{Paths: config.Paths{Home: t.TempDir()}, Addr: "127.0.0.1:0", NATSAddr: "127.0.0.1:0", LogLevel: "info", LogFormat: "text"}
	cfg, err := cfg.Check(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	s := newService(cfg, newLogger(&log, cfg), func(name string) string {
		if name == "PACKETBENCH_NO_KEYRING" {
			return "1"
		}
		return ""
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	p := &proc{t: t, run: s.run}
	w := p.window(t)
	dir := project(t)
	for _, id := range []contract.ConversationID{"sick", "well"} {
		w.must(contract.MethodStart, contract.StartParams{SessionID: id, Provider: "demo", Model: "demo", ProjectPath: dir, PermissionMode: contract.ModeAuto}, nil)
	}
	if _, err := w.subscribe(t.Context(), "new", "ops.>"); err != nil {
		t.Fatal(err)
	}
	pids := func() map[gen.Atom]gen.PID {
		out := map[gen.Atom]gen.PID{}
		for _, name := range []gen.Atom{msg.Store, msg.Bus, msg.Secret, msg.SessionsSup, msg.Bridge, msg.Inspect, msg.ConversationName("well")} {
			pid, err := s.node.ProcessPID(name)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out[name] = pid
		}
		return out
	}
	before := pids()
	sick := msg.ConversationName("sick")
	for death := 1; death <= 4; death++ {
		pid := awaitPID(t, s, sick)
		if err := s.node.Kill(pid); err != nil {
			t.Fatal(err)
		}
		want := "ops.restart"
		if death == 4 {
			want = "ops.limit-reached"
		}
		for e := w.event(); ; e = w.event() {
			if e.Subject == want && strings.Contains(string(e.Data), string(sick)) {
				break
			}
			if e.Subject == "ops.limit-reached" {
				t.Fatalf("given up at death %d: %s", death, e.Data)
			}
		}
	}
	var tree contract.Tree
	w.must(contract.MethodTree, struct{}{}, &tree)
	node := treeNode(tree.Root, string(sick))
	if node == nil || node.State != "down" || !node.LimitReached || node.RestartsInWindow != 3 || node.MaxRestarts != 3 || node.WindowS != 60 {
		t.Errorf("the tree shows %+v", node)
	}
	for name, pid := range pids() {
		if before[name] != pid {
			t.Errorf("%s has another pid", name)
		}
	}
	var reset contract.ActorResult
	w.must(contract.MethodResetActor, contract.ActorParams{Name: string(sick)}, &reset)
	awaitPID(t, s, sick)
	var snapshot contract.Snapshot
	w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "sick"}, &snapshot)
	if snapshot.Conversation.Status != contract.StatusIdle {
		t.Errorf("status %s after the reset", snapshot.Conversation.Status)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func awaitPID(t *testing.T, s *service, name gen.Atom) gen.PID {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		pid, err := s.node.ProcessPID(name)
		if err == nil {
			return pid
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not run: %v", name, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func treeNode(n contract.TreeNode, name string) *contract.TreeNode {
	if n.Name == name {
		return &n
	}
	for _, c := range n.Children {
		if found := treeNode(c, name); found != nil {
			return found
		}
	}
	return nil
}

// F17 F20 F23: SIGTERM in the middle of a tool with a background child leaves
// nothing running, and the transcript says that the turn was cancelled. The end
// of the terminal that the service was started in, SIGHUP, is the same.
func TestServe_TermInATool(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) { endInATool(t, sig) })
	}
}

func endInATool(t *testing.T, sig syscall.Signal) {
	t.Helper()
	// Started with an ignored SIGHUP, as by nohup, we would hand that on to the
	// service, which respects it. A signal that is caught is not handed on.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	home := t.TempDir()
	provider := llmtest.NewKeylessChat(t, llmtest.Turn{Calls: []llmtest.Call{{ID: "c1", Name: "bash", Arguments: `{"command":"sleep 300 & sleep 300 | cat"}`}}})
	provider.TolerateProblems()
	p := serve(t, home, []string{"PACKETBENCH_CUSTOM_COMPAT_URL=" + provider.URL + "/v1"})
	w := p.window(t)
	w.follow("new", "term")
	w.must(contract.MethodStart, contract.StartParams{
		SessionID: "term", Provider: "custom", Model: "m", ProjectPath: project(t), InitialMessage: "go", PermissionMode: contract.ModeAllowAll,
	}, nil)
	w.until("api-agent.tool-start.")
	deadline := time.Now().Add(patience)
	for len(sleepers(t, home)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the tool did not start")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("the service did not stop on %s", sig)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	noOrphans(t, p, home)
	r := readConversation(t, home, "term")
	if m := r.Messages[len(r.Messages)-1]; m.Outcome != contract.OutcomeCancelled || m.ToolCalls[0].Status != contract.ToolError {
		t.Errorf("last message %+v", m)
	}
}

// sleepers lists living processes of the data directory other than the service.
func sleepers(t *testing.T, home string) []string {
	t.Helper()
	gone := &proc{exited: make(chan struct{})}
	close(gone.exited)
	return marked(t, gone, home)
}
