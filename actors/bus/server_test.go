package bus

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestServerLog: what asks a person for nothing is not a warning, the rest is.
func TestServerLog(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, format string
		v            []any
		want         string
	}{
		{name: "our passwords", format: "Plaintext passwords detected, use nkeys or bcrypt"},
		{name: "our messages", format: "Maximum payloads over %v are generally discouraged", v: []any{"8.00 MB"}},
		{name: "after a kill", format: "Filestore [EVENTS] Recovering stream state from index errored: %v", v: []any{io.EOF}, want: `level=INFO msg="event log recovered"`},
		{name: "another of the store", format: "Filestore [EVENTS] Recovering failed: %v", v: []any{io.EOF}, want: `level=WARN msg="nats: Filestore [EVENTS] Recovering failed: EOF"`},
		{name: "another", format: "slow consumer %d", v: []any{3}, want: `level=WARN msg="nats: slow consumer 3"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out, all bytes.Buffer
			for level, w := range map[slog.Level]io.Writer{slog.LevelInfo: &out, slog.LevelDebug: &all} {
				l := &serverLog{log: slog.New(levelled(w, level))}
				l.Warnf(tc.format, tc.v...)
				l.Warnf(tc.format, tc.v...)
			}
			got := strings.TrimSpace(out.String())
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) || strings.Count(got, "recovered") > 1 {
				t.Errorf("%q; want %q", got, tc.want)
			}
			if strings.Count(all.String(), "nats: ") != 2 {
				t.Errorf("debug says %q; want both", all.String())
			}
		})
	}
}

func levelled(w io.Writer, level slog.Level) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
}

// TestServer_StartsInSilence: a start warns of nothing. A server of a newer
// version with other words is found here.
func TestServer_StartsInSilence(t *testing.T) {
	t.Parallel()
	var warnings bytes.Buffer
	r := newRig(t, LogOptions{}, func(o *ServerOptions) {
		o.NoListen, o.Addr, o.Logins, o.Logger = false, "127.0.0.1:0", NewLogins(), slog.New(levelled(&warnings, slog.LevelWarn))
	})
	r.publishAll(0, 10)
	r.settled(10 * time.Second)
	r.stop()
	if warnings.Len() > 0 {
		t.Errorf("a start warns: %s", warnings.String())
	}
}
