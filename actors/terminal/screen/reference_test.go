//go:build reference

package screen

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The tests of this file hold the screen against xterm.js itself: the same
// bytes once directly and once by way of a snapshot at a random cut. They need
// node and @xterm/headless 6.0.0, in the page's node_modules or in the folder
// that PACKETBENCH_XTERM names.

type op struct {
	W string  `json:"w,omitempty"`
	R *[2]int `json:"r,omitempty"`
}

func written(b []byte) op { return op{W: base64.StdEncoding.EncodeToString(b)} }

type job struct {
	ID         int    `json:"id"`
	Cols       int    `json:"cols"`
	Rows       int    `json:"rows"`
	Scrollback int    `json:"scrollback"`
	A          []op   `json:"a"`
	B          []op   `json:"b"`
	snapshot   []byte `json:"-"`
}

type verdict struct {
	ID   int      `json:"id"`
	Diff []string `json:"diff"`
	Said string   `json:"said"`
	// Failed: xterm.js itself failed.
	Failed bool `json:"failed"`
}

func xterm(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PACKETBENCH_XTERM")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "ui", "node_modules", "@xterm", "headless")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("xterm.js is not there: %v; install @xterm/headless or set PACKETBENCH_XTERM", err)
	}
	return dir
}

// judge runs the jobs and reports each difference.
func judge(t *testing.T, jobs []job) (bad int) {
	t.Helper()
	cmd := exec.Command("node", filepath.Join("testdata", "reference.cjs"), xterm(t))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		enc := json.NewEncoder(in)
		for i := range jobs {
			jobs[i].ID = i
			if enc.Encode(jobs[i]) != nil {
				break
			}
		}
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	n, failed := 0, 0
	for ; lines.Scan(); n++ {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Failed {
			failed++
		}
		if v.Said != "" {
			t.Errorf("job %d: the snapshot made the terminal say %q", v.ID, v.Said)
		}
		if len(v.Diff) > 0 {
			bad++
			if bad <= 6 {
				j := jobs[v.ID]
				t.Errorf("job %d (%dx%d):\n  %s\n  snapshot %.600q", v.ID, j.Cols, j.Rows, strings.Join(v.Diff, "\n  "), j.snapshot)
				if j.A[0].W != "" {
					raw, _ := base64.StdEncoding.DecodeString(j.A[0].W)
					t.Logf("  input %.1500q", raw)
				}
			}
		}
	}
	if err := cmd.Wait(); err != nil || n != len(jobs) {
		t.Fatalf("xterm.js judged %d of %d jobs: %v", n, len(jobs), err)
	}
	if failed > len(jobs)/20 {
		t.Errorf("xterm.js failed in %d of %d jobs", failed, len(jobs))
	}
	return bad
}

// cutAt makes the job that cuts the stream at a byte.
func cutAt(stream []byte, cut, cols, rows, lines int) job {
	s := New(Options{Cols: cols, Rows: rows, Lines: lines, Bytes: 4 << 20})
	s.Write(stream[:cut])
	from := cut - s.Partial()
	snapshot := s.Snapshot()
	return job{
		Cols: cols, Rows: rows, Scrollback: lines, snapshot: snapshot,
		A: []op{written(stream)}, B: []op{written(snapshot), written(stream[from:])},
	}
}

// noise is random output of a program that uses everything.
func noise(r *rand.Rand, n, cols, rows int) []byte {
	var b strings.Builder
	num := func(most int) string { return strconv.Itoa(r.IntN(most + 1)) }
	for range n {
		switch k := r.IntN(40); {
		case k < 12:
			words := []string{"hello", "x", "  ", "\u00e9t\u00e9", "\u65e5\u672c\u8a9e", "e\u0301", "\u4e00", strings.Repeat("abc", r.IntN(20)), "\u2500\u2502", "\U0001f600", "\u0301", "q\u0308\u0323"}
			b.WriteString(words[r.IntN(len(words))])
		case k < 17:
			b.WriteString("\r\n")
		case k == 17:
			b.WriteString([]string{"\n", "\r", "\b", "\t", "\x0e", "\x0f", "\v", "\x7f", "\x00", "\u0084", "\u0085", "\u0088"}[r.IntN(12)])
		case k < 22:
			b.WriteString("\x1b[" + []string{"0", "1", "3", "4", "4:3", "7", "9", "2", "22", "27", "24", "53", "31", "42", "95", "103", "38;5;123", "48;5;200", "38;2;1;2;3", "48;2;9;8;7", "58;5;3", "38:2::4:5:6", "48:5:77", "39", "49", "59", "", "1;31;44"}[r.IntN(28)] + "m")
		case k < 25:
			b.WriteString("\x1b[" + num(rows+2) + ";" + num(cols+2) + "H")
		case k < 29:
			b.WriteString("\x1b[" + num(9) + string("ABCDEFGIZ@PXLMSTbade`"[r.IntN(21)]))
		case k == 29:
			b.WriteString("\x1b[" + []string{"", "1", "2"}[r.IntN(3)] + string("JK"[r.IntN(2)]))
		case k == 30:
			top := r.IntN(rows) + 1
			b.WriteString("\x1b[" + strconv.Itoa(top) + ";" + strconv.Itoa(top+r.IntN(rows)) + "r")
		case k == 31:
			b.WriteString([]string{"\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1b[3g", "\x1b[s", "\x1b[u", "\x1b#8", "\x1b[g"}[r.IntN(11)])
		case k == 32:
			b.WriteString("\x1b[?" + []string{"1", "6", "7", "25", "45", "1000", "1002", "1003", "1004", "1006", "1016", "2004", "2026", "12", "66", "9"}[r.IntN(16)] + string("hl"[r.IntN(2)]))
		case k == 33:
			b.WriteString("\x1b[?" + []string{"47", "1047", "1049", "1048", "1049", "1049"}[r.IntN(6)] + string("hl"[r.IntN(2)]))
		case k == 34:
			b.WriteString([]string{"\x1b(0", "\x1b(B", "\x1b)0", "\x1b(A", "\x1b*K", "\x1bn", "\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l", "\x1b[" + num(6) + " q", "\x1b=", "\x1b>"}[r.IntN(13)])
		case k == 35:
			b.WriteString([]string{"\x1b]2;title " + num(9) + "\x07", "\x1b]0;t\x1b\\", "\x1b]8;;http://a.example/" + num(3) + "\x07", "\x1b]8;;\x07", "\x1b]8;id=4;http://b.example/\x1b\\", "\x1bPzignored\x1b\\", "\x1b_apc\x1b\\", "\x1b]4;1;#ff0000\x07"}[r.IntN(8)])
		case k == 36:
			b.WriteString([]string{"\x1b[!p", "\x1bc", "\x1b[3J", "\x1b[1\"q", "\x1b[0\"q", "\x1b[?J", "\x1b[?K", "\x1b[2'}", "\x1b[2'~", "\x1b[ @", "\x1b[2 A"}[r.IntN(11)])
		case k == 37:
			b.WriteString([]string{"\xff", "\xc3", "\xe2\x80", "\xf0\x9f", "\x1b[12", "\x1b[1;3\x18", "\x1b]2;cut\x1a", "\x1b[3\n1m"}[r.IntN(8)])
		default:
			b.WriteString(strings.Repeat("-", r.IntN(cols+3)))
		}
	}
	return []byte(b.String())
}

// TestReference_Noise: whatever a program writes and wherever it is cut.
func TestReference_Noise(t *testing.T) {
	seed := uint64(1)
	if v, err := strconv.ParseUint(os.Getenv("PACKETBENCH_SEED"), 10, 64); err == nil {
		seed = v
	}
	r := rand.New(rand.NewPCG(seed, 2))
	var jobs []job
	for range 600 {
		cols, rows := 2+r.IntN(30), 2+r.IntN(12)
		stream := noise(r, 1+r.IntN(120), cols, rows)
		jobs = append(jobs, cutAt(stream, r.IntN(len(stream)+1), cols, rows, []int{0, 5, 1000}[r.IntN(3)]))
	}
	if bad := judge(t, jobs); bad > 0 {
		t.Errorf("%d of %d differ", bad, len(jobs))
	}
}

// lines is plain text, some of it long. The line of the cursor has no wide
// character: a lower width would cut one in half.
func lines(r *rand.Rand) []byte {
	var b strings.Builder
	for range r.IntN(20) {
		b.WriteString([]string{"ab", "日本", "x ", strings.Repeat("0123456789", r.IntN(9)), ""}[r.IntN(5)])
		b.WriteString([]string{"\r\n", "", "\x1b[31m"}[r.IntN(3)])
	}
	b.WriteString("\r\n" + strings.Repeat("prompt", r.IntN(6)))
	return []byte(b.String())
}

// TestReference_Resize: the size changes before the cut, three times, and text
// follows. Screens that were painted with erased and wide cells in every place
// are not compared: how such a line breaks anew is nobody's contract.
func TestReference_Resize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var jobs []job
	for range 500 {
		cols, rows := 4+r.IntN(30), 3+r.IntN(12)
		s := New(Options{Cols: cols, Rows: rows, Lines: 1000, Bytes: 4 << 20})
		j := job{Cols: cols, Rows: rows, Scrollback: 1000}
		for range 3 {
			text := lines(r)
			s.Write(text)
			j.A = append(j.A, written(text))
			cols, rows = 4+r.IntN(30), 3+r.IntN(12)
			s.Resize(cols, rows)
			j.A = append(j.A, op{R: &[2]int{cols, rows}})
		}
		j.snapshot = s.Snapshot()
		rest := lines(r)
		j.A = append(j.A, written(rest))
		j.B = []op{{R: &[2]int{cols, rows}}, written(j.snapshot), written(rest)}
		jobs = append(jobs, j)
	}
	if bad := judge(t, jobs); bad > 0 {
		t.Errorf("%d of %d differ", bad, len(jobs))
	}
}

// TestReference_Programs: recorded output of real programs, cut in many places.
func TestReference_Programs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.raw"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var jobs []job
			for range 40 {
				jobs = append(jobs, cutAt(stream, r.IntN(len(stream)+1), 80, 24, 10000))
			}
			if bad := judge(t, jobs); bad > 0 {
				t.Errorf("%d of %d cuts differ", bad, len(jobs))
			}
		})
	}
}
