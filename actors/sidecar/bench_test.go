//go:build unix

package sidecar

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// floodLines is how many chunks one round of a throughput benchmark has.
const floodLines = 200_000

// BenchmarkHost_Throughput sends chunks from a child through the host to a
// conversation that gives each Emitted back, beside a bare reader of the same
// child's lines. It reports both in lines a second, and their ratio.
func BenchmarkHost_Throughput(b *testing.B) {
	r := newRig(b, "plain", nil)
	r.talk("c-1", false)
	r.open("c-1", "t-0", script(sayHi, sayDone))
	r.closed("c-1", "t-0")
	var through, bare time.Duration
	n := 0
	for b.Loop() {
		n++
		turn := contract.TurnID("t-" + strconv.Itoa(n))
		begin := time.Now()
		r.send("c-1", turn, script("!flood "+strconv.Itoa(floodLines), sayDone))
		r.closed("c-1", turn)
		through += time.Since(begin)
		bare += bareReader(b)
		r.note(func() { r.heard["c-1"] = nil })
	}
	report(b, n, through, bare)
}

func report(b *testing.B, rounds int, through, bare time.Duration) {
	lines := float64(rounds * floodLines)
	b.ReportMetric(lines/through.Seconds(), "lines/s")
	b.ReportMetric(lines/bare.Seconds(), "bare-lines/s")
	b.ReportMetric(bare.Seconds()/through.Seconds(), "ratio")
}

// bareReader reads the same lines from a child of its own.
func bareReader(b *testing.B) time.Duration {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, filepath.Join(b.TempDir(), fakePrefix+"flood"))
	cmd.Dir = b.TempDir()
	return read(b, cmd, floodLines)
}

// read reads so many lines of a program, from its first line on.
func read(b *testing.B, cmd *exec.Cmd, lines int) time.Duration {
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	in := bufio.NewScanner(out)
	in.Scan() // The start of the program does not count.
	begin := time.Now()
	n := 0
	for in.Scan() {
		n++
	}
	took := time.Since(begin)
	if n != lines {
		b.Fatalf("%d lines", n)
	}
	_ = cmd.Wait()
	return took
}

// nodeChild writes chunks as the real sidecar does: an object made to JSON and
// written line by line. Without a host it writes one round and ends.
const nodeChild = `
const write = (v) => process.stdout.write(JSON.stringify(v) + '\n')
const flood = async (sessionId, turnId, n) => {
  for (let i = 0; i < n; i += 1) {
    if (!write({ type: 'chunk', sessionId, turnId, text: String(i) }))
      await new Promise((resolve) => process.stdout.once('drain', resolve))
  }
  write({ type: 'done', inputTokens: 0, outputTokens: 0, sessionId, turnId })
}
if (process.env.TERM === 'bare') {
  write({ type: 'ready' })
  flood('c-1', 't-1', 200000)
} else {
  write({ type: 'ready', pid: process.pid, version: '0', protocolVersion: 11 })
  let held = ''
  process.stdin.on('data', (d) => {
    held += d
    for (let at = held.indexOf('\n'); at >= 0; at = held.indexOf('\n')) {
      const r = JSON.parse(held.slice(0, at))
      held = held.slice(at + 1)
      const n = Number(r.content ?? r.initialMessage)
      if (n > 0) flood(r.sessionId, r.turnId, n)
    }
  })
  process.stdin.on('end', () => process.exit(0))
}
`

// BenchmarkHost_NodeThroughput is the same with a child that is Node, which is
// the floor of issue 3: at least 0.4 of the bare reader.
func BenchmarkHost_NodeThroughput(b *testing.B) {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Skip("node is missing")
	}
	path := filepath.Join(b.TempDir(), "child.cjs")
	if err := os.WriteFile(path, []byte(nodeChild), 0o600); err != nil {
		b.Fatal(err)
	}
	r := newRigWith(b, map[string]string{EnvScript: path, EnvNode: node}, nil)
	r.talk("c-1", false)
	r.open("c-1", "t-0", "1")
	r.closed("c-1", "t-0")
	var through, bare time.Duration
	n := 0
	for b.Loop() {
		n++
		turn := contract.TurnID("t-" + strconv.Itoa(n))
		begin := time.Now()
		r.send("c-1", turn, strconv.Itoa(floodLines))
		r.closed("c-1", turn)
		through += time.Since(begin)
		cmd := exec.Command(node, path)
		cmd.Env = append(os.Environ(), "TERM=bare")
		bare += read(b, cmd, floodLines+1)
		r.note(func() { r.heard["c-1"] = nil })
	}
	report(b, n, through, bare)
}
