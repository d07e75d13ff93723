//go:build bench && linux

package main

import (
	"bytes"
	"context"
	be "encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/contract"
)

// rawPTY runs a program in a PTY that this process reads itself: the floor.
func rawPTY(tb testing.TB, name string, args ...string) *os.File {
	tb.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		tb.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		tb.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // So that a read waits in the poller.
		tb.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "PS1=ready> ")
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	_ = slave.Close()
	tb.Cleanup(func() { _ = cmd.Process.Kill(); _ = master.Close(); _ = cmd.Wait() })
	return master
}

// readAll reads until the program has ended.
func readAll(f *os.File) (n int) {
	buf := make([]byte, 32<<10)
	for {
		k, err := f.Read(buf)
		n += k
		if err != nil {
			return n
		}
	}
}

func (p *proc) catIn(tb testing.TB, w *window, args ...string) *screen {
	tb.Helper()
	var opened contract.OpenTerminalResult
	w.must(contract.MethodOpenTerminal, contract.OpenTerminalParams{Command: "bash", Args: args, Cwd: tb.TempDir(), Cols: 120, Rows: 40}, &opened)
	s := p.screen(tb, string(opened.TerminalID), p.run.OwnerToken)
	s.until("a snapshot", func() bool { return s.snapshots == 1 })
	return s
}

// skimmed are buffers that hold the largest frame.
var skimmed = sync.Pool{New: func() any {
	b := make([]byte, 4<<20)
	return &b
}}

// skim reads like read, but keeps nothing: what a bench of throughput needs.
func (s *screen) skim(ctx context.Context) error {
	_, r, err := s.conn.Reader(ctx)
	if err != nil {
		return err
	}
	held := skimmed.Get().(*[]byte)
	defer skimmed.Put(held)
	buf, n := *held, 0
	for err == nil && n < len(buf) { // Into one buffer, as a browser would not do better.
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("a frame of more than %d bytes: %w", n, err)
	}
	b := buf[:n]
	switch b[0] {
	case 0x10:
		if at := be.BigEndian.Uint64(b[1:]); at != s.next {
			return fmt.Errorf("output at %d, expected %d", at, s.next)
		}
		s.live += len(b) - 9
		s.next += uint64(len(b) - 9)
		if s.next-s.acked >= 64<<10 {
			s.acked = s.next
			s.send(be.BigEndian.AppendUint64([]byte{0x02}, s.next))
		}
	case 0x11:
		s.next, s.acked = be.BigEndian.Uint64(b[1:]), 0
		s.snapshots++
	case 0x12:
		code := int32(0)
		s.exit = &code
	}
	return nil
}

// BenchmarkTerminal_Throughput is 81 MB of text through terminal and WebSocket,
// against a raw PTY that is read in this process. Goal: at least 0.9 of it, no
// byte lost.
func BenchmarkTerminal_Throughput(b *testing.B) {
	text := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog and on\n"), 81_000_000/51)
	file := filepath.Join(b.TempDir(), "text")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	p := serve(b, b.TempDir(), nil)
	w := p.window(b)
	var ratios []float64
	for range 5 {
		raw := rawPTY(b, "bash", "-c", "read x; cat '"+file+"'")
		began := time.Now()
		if _, err := raw.Write([]byte("\n")); err != nil {
			b.Fatal(err)
		}
		want := readAll(raw)
		floor := time.Since(began)
		s := p.catIn(b, w, "-c", "read x; cat '"+file+"'")
		before := s.live
		began = time.Now()
		s.keys("\n")
		for s.exit == nil {
			if err := s.skim(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(began)
		if got := s.live - before; got != want || s.snapshots != 1 {
			b.Fatalf("%d bytes of %d, %d snapshots", got, want, s.snapshots)
		}
		ratios = append(ratios, float64(floor)/float64(took))
		_ = s.conn.CloseNow()
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of_raw")
	b.ReportMetric(ratios[len(ratios)-1], "of_raw_best")
	b.ReportMetric(0, "ns/op")
}

// echo is the time from a key to its echo, n times, sorted.
func (s *screen) echo(n int) []time.Duration {
	s.t.Helper()
	out := make([]time.Duration, 0, n)
	for range n {
		at := s.live
		began := time.Now()
		s.keys("x")
		for s.live == at {
			if err := s.skim(s.t.Context()); err != nil {
				s.t.Fatal(err)
			}
		}
		out = append(out, time.Since(began))
	}
	s.keys("\x15") // An empty line again: a line holds 4,095 characters.
	for at := s.live; s.live == at; {
		if err := s.skim(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	slices.Sort(out)
	return out
}

// BenchmarkTerminal_Echo is the time from a key to its echo through WebSocket
// and terminal, against a raw PTY in the same run. Goal: at most 5 times at the
// median. "shell" is a line editor that echoes itself, as at every prompt;
// "kernel" is the line discipline, whose echo is there when the write returns,
// so that the floor is two system calls and no program has to wake.
func BenchmarkTerminal_Echo(b *testing.B) {
	for name, args := range map[string][]string{"shell": {"--norc", "--noprofile"}, "kernel": {"-c", "cat > /dev/null"}} {
		b.Run(name, func(b *testing.B) { benchEcho(b, args) })
	}
}

func benchEcho(b *testing.B, args []string) {
	p := serve(b, b.TempDir(), nil)
	s := p.catIn(b, p.window(b), args...)
	raw := rawPTY(b, "bash", args...)
	time.Sleep(500 * time.Millisecond) // The prompts are there.
	buf := make([]byte, 4096)
	press := func(key string) {
		b.Helper()
		if _, err := raw.WriteString(key); err != nil {
			b.Fatal(err)
		}
		if _, err := raw.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
	// calm reads what is left over, so that the next read is of the next key.
	calm := func() {
		b.Helper()
		if err := raw.SetReadDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
			b.Fatal(err)
		}
		for _, err := raw.Read(buf); err == nil; _, err = raw.Read(buf) {
		}
		if err := raw.SetReadDeadline(time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
	calm()
	const n = 60 // Fits into a line of the window.
	var floors, ours []time.Duration
	for range 10 {
		var floor []time.Duration
		for range n {
			began := time.Now()
			press("x")
			floor = append(floor, time.Since(began))
		}
		press("\x15")
		calm()
		floors, ours = append(floors, floor...), append(ours, s.echo(n)...)
		time.Sleep(20 * time.Millisecond)
	}
	slices.Sort(floors)
	slices.Sort(ours)
	half := len(ours) / 2
	b.ReportMetric(float64(ours[half])/float64(floors[half]), "p50_of_raw")
	b.ReportMetric(float64(floors[half].Microseconds()), "raw_p50_us")
	b.ReportMetric(float64(ours[half].Microseconds()), "p50_us")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTerminal_Flood is the echo of 49 terminals beside one that floods.
// Goal: their p99 at most 5 times their quiet p99.
func BenchmarkTerminal_Flood(b *testing.B) {
	p := serve(b, b.TempDir(), nil)
	w := p.window(b)
	var quiet []*screen
	for range 49 {
		quiet = append(quiet, p.catIn(b, w, "-c", "cat > /dev/null"))
	}
	p99 := func() time.Duration {
		var all []time.Duration
		for _, s := range quiet {
			all = append(all, s.echo(40)...)
		}
		slices.Sort(all)
		return all[len(all)*99/100]
	}
	p99() // Warm.
	calm := p99()
	flood := p.catIn(b, w, "-c", "yes 'a line of a program that never stops'")
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for flood.skim(ctx) == nil {
		}
	}()
	busy := p99()
	cancel()
	<-done
	b.ReportMetric(float64(busy)/float64(calm), "p99_of_quiet")
	b.ReportMetric(float64(calm.Microseconds()), "quiet_p99_us")
	b.ReportMetric(float64(busy.Microseconds()), "busy_p99_us")
	b.ReportMetric(0, "ns/op")
}

// cpu is the processor time that a process has taken.
func cpu(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	sum := 0
	for _, f := range fields[11:13] { // User and system, in hundredths of a second.
		n, err := strconv.Atoi(f)
		if err != nil {
			tb.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// BenchmarkOps is what a page that looks at 500 actors costs: it follows ops.>
// and reads the tree every 2 s. Goal: less than 5 % of one core. Nobody looking
// has to cost nothing.
func BenchmarkOps(b *testing.B) {
	home, dir := b.TempDir(), project(b)
	const n = 480
	seed(b, home, dir, "c", 4, n)
	p := serve(b, home, []string{"PACKETBENCH_MAX_AWAKE=600"})
	w := p.window(b)
	for i := range n {
		w.follow("new", contract.ConversationID(fmt.Sprintf("c-%d", i)))
		if i%32 == 31 {
			w = p.window(b) // 64 subscriptions a connection.
		}
	}
	time.Sleep(atRest)
	const long = 20 * time.Second
	percent := func() float64 {
		before, began := cpu(b, p.cmd.Process.Pid), time.Now()
		time.Sleep(long)
		return 100 * float64(cpu(b, p.cmd.Process.Pid)-before) / float64(time.Since(began))
	}
	idle := percent()
	page := p.window(b)
	if _, err := page.subscribe(b.Context(), "new", "ops.>"); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan contract.Tree)
	go func() {
		var tree contract.Tree
		for ctx.Err() == nil {
			tree = contract.Tree{}
			page.must(contract.MethodTree, contract.Empty{}, &tree)
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
		done <- tree
	}()
	looked := percent()
	cancel()
	tree := <-done
	b.ReportMetric(float64(tree.House.Actors), "actors")
	b.ReportMetric(idle, "percent_idle")
	b.ReportMetric(looked-idle, "percent_looking")
	b.ReportMetric(0, "ns/op")
}
