package supervisors

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

const (
	// logBuffer is how many records may wait for the writer.
	logBuffer = 1024
	// logFlush bounds the wait for the writer at the end.
	logFlush = time.Second
)

// logger hands Ergo's log records to slog. Log never blocks: a full buffer
// drops the record and counts it. A panic in it would end the process that
// logs, so it recovers.
type logger struct {
	out     *slog.Logger
	dropped atomic.Uint64

	mu     sync.RWMutex
	closed bool
	queue  chan record
	done   chan struct{}
}

type record struct {
	at    time.Time
	level slog.Level
	text  string
	attrs []slog.Attr
}

func newLogger(out *slog.Logger) *logger {
	if out == nil {
		out = slog.Default()
	}
	l := &logger{out: out, queue: make(chan record, logBuffer), done: make(chan struct{})}
	go l.write()
	return l
}

// Log is called by whoever logs, from its own goroutine.
func (l *logger) Log(m gen.MessageLog) {
	defer func() {
		if recover() != nil {
			l.dropped.Add(1)
		}
	}()
	r := record{at: m.Time, level: slogLevel(m.Level), attrs: source(m)}
	if !l.out.Enabled(context.Background(), r.level) {
		return
	}
	// Formatted here: the arguments may be changed after the return.
	r.text = m.Format
	if len(m.Args) > 0 {
		r.text = fmt.Sprintf(m.Format, m.Args...)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return
	}
	select {
	case l.queue <- r:
	default:
		l.dropped.Add(1)
	}
}

// Terminate writes what waits, for at most a second.
func (l *logger) Terminate() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	timer := time.NewTimer(logFlush)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
	}
}

func (l *logger) write() {
	defer close(l.done)
	for r := range l.queue {
		l.put(r)
	}
}

// put writes one record; a handler that panics costs that record only.
func (l *logger) put(r record) {
	defer func() {
		if recover() != nil {
			l.dropped.Add(1)
		}
	}()
	s := slog.NewRecord(r.at, r.level, r.text, 0)
	s.AddAttrs(r.attrs...)
	if err := l.out.Handler().Handle(context.Background(), s); err != nil {
		l.dropped.Add(1)
	}
}

func slogLevel(l gen.LogLevel) slog.Level {
	switch {
	case l >= gen.LogLevelError:
		return slog.LevelError
	case l == gen.LogLevelWarning:
		return slog.LevelWarn
	case l == gen.LogLevelInfo, l == gen.LogLevelDefault:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// source turns where a record comes from into fields: actor, pid, behavior,
// conv, and those that the actor added itself.
func source(m gen.MessageLog) []slog.Attr {
	var attrs []slog.Attr
	conv := ""
	switch s := m.Source.(type) {
	case gen.MessageLogProcess:
		if s.Name != "" {
			attrs = append(attrs, slog.String("actor", string(s.Name)))
			conv, _ = strings.CutPrefix(string(s.Name), msg.KindConversation+":")
			if conv == string(s.Name) {
				conv = ""
			}
		}
		attrs = append(attrs, slog.String("pid", s.PID.String()), slog.String("behavior", s.Behavior))
	case gen.MessageLogMeta:
		attrs = append(attrs, slog.String("pid", s.Parent.String()), slog.String("meta", s.Meta.String()), slog.String("behavior", s.Behavior))
	case gen.MessageLogNode:
		attrs = append(attrs, slog.String("actor", "node"))
	}
	for _, f := range m.Fields {
		if f.Name == "conv" {
			conv = ""
		}
		attrs = append(attrs, slog.Any(f.Name, f.Value))
	}
	if conv != "" {
		attrs = append(attrs, slog.String("conv", conv))
	}
	return attrs
}
