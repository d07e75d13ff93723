package supervisors

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/gen"
)

func TestLogger_Fields(t *testing.T) {
	t.Parallel()
	pid := gen.PID{Node: "n@h", ID: 1004}
	for _, tc := range []struct {
		name string
		m    gen.MessageLog
		want string
	}{
		{
			"process",
			gen.MessageLog{
				Level: gen.LogLevelWarning, Format: "sidecar exited code=%d", Args: []any{137},
				Source: gen.MessageLogProcess{PID: pid, Name: "engines_sup", Behavior: "supervisors.Engines"},
			},
			`level=WARN msg="sidecar exited code=137" actor=engines_sup pid=` + pid.String() + ` behavior=supervisors.Engines`,
		},
		{
			"conversation",
			gen.MessageLog{
				Level: gen.LogLevelInfo, Format: "100%",
				Source: gen.MessageLogProcess{PID: pid, Name: "conversation:c1", Behavior: "b"},
			},
			`level=INFO msg=100% actor=conversation:c1 pid=` + pid.String() + ` behavior=b conv=c1`,
		},
		{
			"own field wins",
			gen.MessageLog{
				Level: gen.LogLevelDebug, Format: "x", Fields: []gen.LogField{{Name: "conv", Value: "c2"}, {Name: "turn", Value: "t-1"}},
				Source: gen.MessageLogProcess{PID: pid, Name: "conversation:c1", Behavior: "b"},
			},
			`level=DEBUG msg=x actor=conversation:c1 pid=` + pid.String() + ` behavior=b conv=c2 turn=t-1`,
		},
		{
			"panic is an error",
			gen.MessageLog{Level: gen.LogLevelPanic, Format: "x", Source: gen.MessageLogNode{Node: "n@h"}},
			`level=ERROR msg=x actor=node`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			l := newLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
				Level: slog.LevelDebug,
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				},
			})))
			l.Log(tc.m)
			l.Terminate()
			if got := strings.TrimSpace(out.String()); got != tc.want {
				t.Fatalf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// gate is a handler that waits, and one that panics.
type gate struct {
	slog.Handler
	inside, open chan struct{}
	panics       bool
}

func (g gate) Enabled(context.Context, slog.Level) bool { return true }

func (g gate) Handle(context.Context, slog.Record) error {
	if g.panics {
		panic("handler")
	}
	g.inside <- struct{}{}
	<-g.open
	return nil
}

// A slow writer costs records, never the actor that logs.
func TestLogger_DropsWhenFull(t *testing.T) {
	t.Parallel()
	g := gate{inside: make(chan struct{}, 2*logBuffer), open: make(chan struct{})}
	l := newLogger(slog.New(g))
	l.Log(gen.MessageLog{Level: gen.LogLevelInfo, Format: "first"})
	<-g.inside // the writer holds it, the buffer is empty
	for range logBuffer + 7 {
		l.Log(gen.MessageLog{Level: gen.LogLevelInfo, Format: "more"})
	}
	if got := l.dropped.Load(); got != 7 {
		t.Fatalf("%d dropped, want 7", got)
	}
	close(g.open)
	l.Terminate()
	l.Log(gen.MessageLog{Level: gen.LogLevelInfo, Format: "after the end"})
	l.Terminate() // twice is once
	if got := 1 + len(g.inside); got != logBuffer+1 {
		t.Fatalf("%d written, want %d", got, logBuffer+1)
	}
}

func TestLogger_SurvivesPanics(t *testing.T) {
	t.Parallel()
	l := newLogger(slog.New(gate{panics: true}))
	l.Log(gen.MessageLog{Level: gen.LogLevelInfo, Format: "x"})
	l.Terminate()
	if got := l.dropped.Load(); got != 1 {
		t.Fatalf("%d dropped, want 1", got)
	}
}

// Terminate does not wait for a writer that hangs.
func TestLogger_TerminateGivesUp(t *testing.T) {
	t.Parallel()
	g := gate{inside: make(chan struct{}, 1), open: make(chan struct{})}
	l := newLogger(slog.New(g))
	l.Log(gen.MessageLog{Level: gen.LogLevelInfo, Format: "x"})
	<-g.inside
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Terminate()
	}()
	select {
	case <-done:
	case <-time.After(20 * logFlush):
		t.Error("Terminate hangs with its writer")
	}
	close(g.open)
	<-l.done
}
