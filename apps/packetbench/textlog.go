package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// textLog keeps the log in the data directory, as lines of JSON, beside what
// goes to standard error. The file that is written is packetbench.log; when it
// is full it becomes packetbench.1.log, that one packetbench.2.log, and so on,
// and the oldest goes. It also holds the newest lines for whoever asks.
//
// Rotation is plain code: the usual library keeps a goroutine for ever, renames
// by date and cannot be told that a disk is full. A line that cannot be written
// is dropped and counted, and costs nobody who logs more than the try.
type textLog struct {
	fileBytes int64
	files     int

	mu   sync.Mutex
	dir  string
	file *os.File
	size int64
	// lost counts lines that are in no file.
	lost uint64
	// ring holds the newest lines without line ends; last is the number of its
	// last one.
	ring  [][]byte
	bytes int
	last  uint64
}

const (
	textLogName = "packetbench"
	// What is held for the ops page.
	ringLines = 1000
	ringBytes = 1 << 20
)

func newTextLog() *textLog {
	return &textLog{fileBytes: config.TextLogFileBytes, files: config.TextLogFiles}
}

// textLogFile is the n-th file, 0 the one that is written.
func textLogFile(dir string, n int) string {
	if n == 0 {
		return filepath.Join(dir, textLogName+".log")
	}
	return filepath.Join(dir, fmt.Sprintf("%s.%d.log", textLogName, n))
}

// handler writes records of the level and above here.
func (t *textLog) handler(level slog.Level) slog.Handler {
	return slog.NewJSONHandler(t, &slog.HandlerOptions{Level: level})
}

// Write takes one line. It never fails: who logs cannot help it.
func (t *textLog) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hold(line)
	if t.dir != "" {
		t.put(line)
	}
	return len(line), nil
}

func (t *textLog) hold(line []byte) {
	held := bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))
	t.last++
	t.ring = append(t.ring, held)
	t.bytes += len(held)
	for len(t.ring) > 1 && (len(t.ring) > ringLines || t.bytes > ringBytes) {
		t.bytes -= len(t.ring[0])
		t.ring[0] = nil
		t.ring = t.ring[1:]
	}
}

// put appends a line to the file.
func (t *textLog) put(line []byte) {
	if t.file != nil && t.size > 0 && t.size+int64(len(line)) > t.fileBytes {
		t.rotate()
	}
	if t.file == nil && t.openFile() != nil || t.size >= 2*t.fileBytes {
		t.lost++
		return
	}
	n, err := t.file.Write(line)
	t.size += int64(n)
	if err != nil {
		t.lost++
	}
}

// rotate makes room for a new file, which the next line opens. What cannot be
// renamed goes on being written, up to twice its size.
func (t *textLog) rotate() {
	_ = t.file.Close() // Windows renames no open file; what was written is written.
	t.file = nil
	for n := t.files - 1; n >= 1; n-- {
		// Some are not there yet; for the others see above.
		_ = os.Rename(textLogFile(t.dir, n-1), textLogFile(t.dir, n))
	}
}

func (t *textLog) openFile() error {
	f, err := os.OpenFile(textLogFile(t.dir, 0), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	t.file, t.size = f, info.Size()
	return nil
}

// open begins the file, with what was logged before the data directory was ours.
func (t *textLog) open(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	t.dir = dir
	if err := t.openFile(); err != nil {
		t.dir = ""
		return err
	}
	for _, line := range t.ring {
		t.put(append(bytes.Clone(line), '\n'))
	}
	return nil
}

// close ends the file.
func (t *textLog) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.file
	t.file, t.dir = nil, ""
	if f == nil {
		return nil
	}
	return f.Close()
}

// dropped is how many lines are in no file.
func (t *textLog) dropped() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// lines answers get_log from what is held.
func (t *textLog) lines(p contract.LogLinesParams) contract.LogLines {
	t.mu.Lock()
	held, last, dir := slices.Clone(t.ring), t.last, t.dir
	t.mu.Unlock()
	first := last - uint64(len(held)) + 1
	out := contract.LogLines{Lines: []contract.LogLine{}, Last: last, Skipped: p.After > 0 && p.After+1 < first}
	if dir != "" {
		out.File = textLogFile(dir, 0)
	}
	least := levelOf(p.Level)
	for i := len(held) - 1; i >= 0 && len(out.Lines) < p.Limit; i-- {
		n := first + uint64(i)
		if n <= p.After {
			break
		}
		if p.Contains != "" && !strings.Contains(strings.ToLower(string(held[i])), strings.ToLower(p.Contains)) {
			continue
		}
		line, ok := readTextLine(held[i])
		if !ok || levelOf(line.Level) < least || p.Actor != "" && line.actor != p.Actor {
			continue
		}
		line.N = n
		out.Lines = append(out.Lines, line.LogLine)
	}
	slices.Reverse(out.Lines)
	return out
}

// textLine is one line with what it is filtered by.
type textLine struct {
	contract.LogLine
	actor string
}

// readTextLine takes a line of the file apart; false for one that is none.
func readTextLine(raw []byte) (textLine, bool) {
	var fields map[string]json.RawMessage
	var line textLine
	if json.Unmarshal(raw, &fields) != nil {
		return line, false
	}
	for key, into := range map[string]any{slog.TimeKey: &line.Time, slog.LevelKey: &line.Level, slog.MessageKey: &line.Text} {
		if json.Unmarshal(fields[key], into) != nil {
			return line, false
		}
		delete(fields, key)
	}
	if json.Unmarshal(fields["actor"], &line.actor) != nil {
		line.actor = ""
	}
	rest, err := contract.Marshal(fields)
	if err != nil {
		return line, false
	}
	line.Level, line.Fields = strings.ToLower(line.Level), rest
	return line, true
}

// levelOf orders the names of levels; one that is unknown is an info.
func levelOf(name string) int {
	if name == "" {
		return 0
	}
	if i := slices.Index(config.LogLevels, strings.ToLower(name)); i >= 0 {
		return i
	}
	return slices.Index(config.LogLevels, "info")
}

// logSummary is what doctor says of the log files.
type logSummary struct {
	Files            int
	Bytes            int64
	Warnings, Errors int
	Since            time.Time
	LastError        string
	LastErrorAt      time.Time
}

// readTextLog counts what the newest file tells, at most its last megabyte.
func readTextLog(dir string) (logSummary, error) {
	var s logSummary
	for n := range config.TextLogFiles {
		info, err := os.Stat(textLogFile(dir, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		s.Files++
		s.Bytes += info.Size()
	}
	f, err := os.Open(textLogFile(dir, 0))
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	const most = 1 << 20
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return s, err
		}
	}
	content, err := io.ReadAll(io.LimitReader(f, 2*most))
	if err != nil {
		return s, err
	}
	for raw := range bytes.Lines(content) {
		line, ok := readTextLine(raw)
		if !ok {
			continue // The first one may be cut.
		}
		if s.Since.IsZero() {
			s.Since = line.Time
		}
		switch line.Level {
		case "warn":
			s.Warnings++
		case "error":
			s.Errors++
			s.LastError, s.LastErrorAt = line.Text, line.Time
		}
	}
	return s, nil
}
