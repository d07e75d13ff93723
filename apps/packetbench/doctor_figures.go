package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/apps/packetbench/plaintext"
	"github.com/packetbench/packetbench/config"
)

// checkTextLog reads the log files of the data directory: what the newest one
// tells of warnings and errors. It is no fault of a part, so never required.
func checkTextLog(p config.Paths) finding {
	f := finding{Name: "text log", State: stateOK}
	s, err := readTextLog(p.Logs())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Detail = "none yet; a service keeps it in " + p.Logs()
		return f
	case err != nil:
		f.State, f.Detail, f.Fix = stateWarning, fmt.Sprintf("%s cannot be read: %v", p.Logs(), err), "make it readable for you"
		return f
	}
	f.Detail = fmt.Sprintf("%d file(s), %s in %s", s.Files, byteSize(uint64(s.Bytes)), p.Logs())
	if !s.Since.IsZero() {
		f.Detail += fmt.Sprintf("; since %s: %d warning(s), %d error(s)", s.Since.Local().Format(time.DateTime), s.Warnings, s.Errors)
	}
	if s.Errors > 0 {
		f.State = stateWarning
		f.Detail += fmt.Sprintf("; the last: %s", plaintext.Line(s.LastError, 120))
		f.Fix = fmt.Sprintf("read the lines around %s in %s", s.LastErrorAt.Local().Format(time.DateTime), textLogFile(p.Logs(), 0))
	}
	return f
}

// byteSize is a size for people.
func byteSize(n uint64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// metricsMost bounds what is read of /metrics, in bytes.
const metricsMost = 4 << 20

// checkFigures reads the figures of the running service, for what is out of the
// ordinary.
func checkFigures(ctx context.Context, run runFile) finding {
	f := finding{Name: "figures", State: stateWarning, Fix: "restart the service; its log says more"}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, run.URL+"/metrics", nil)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	q.Header.Set("Authorization", "Bearer "+run.MonitorToken)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		f.Detail = fmt.Sprintf("the service does not tell them: %v", err)
		return f
	}
	defer func() { _ = a.Body.Close() }()
	if a.StatusCode != http.StatusOK {
		f.Detail = fmt.Sprintf("the service does not tell them: status %d", a.StatusCode)
		return f
	}
	return judgeFigures(addFigures(io.LimitReader(a.Body, metricsMost)))
}

// addFigures adds the values of Prometheus's text format up by name; labels do
// not matter here.
func addFigures(r io.Reader) map[string]float64 {
	sums := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(line[:at], "{")
		if v, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			sums[name] += v
		}
	}
	return sums
}

// judgeFigures says what they are and what of them is worth a look.
func judgeFigures(sums map[string]float64) finding {
	f := finding{Name: "figures", State: stateOK}
	of := func(name string) float64 { return sums["packetbench_"+name] }
	f.Detail = fmt.Sprintf("%.0f turn(s), %.0f event(s), %.0f window(s), %.0f restart(s)", of("turns_total"), of("events_total"), of("viewers"), of("restarts_total"))
	if m := of("child_memory_bytes"); m > 0 {
		f.Detail += ", programs take " + byteSize(uint64(m))
	}
	for _, odd := range []struct {
		name, text, fix string
		above           float64
	}{
		{"actors_down", "%.0f part(s) failed too often and stay down", "read the last reason with packetbench tree, then reset the part on the ops page", 0},
		{"alarms", "%.0f alarm(s)", "look at the ops page", 0},
		{"log_waiting", "%.0f events wait for the event log", "look at the disk of the data directory", 1000},
		{"viewer_lag_events", "a window is %.0f events behind", "reload that window", 10_000},
		{"mailbox_most", "%.0f messages wait for one part", "look at packetbench tree for which", 1000},
		{"text_log_lost_total", "%.0f line(s) of the text log could not be written", "look at the disk of the data directory", 0},
	} {
		if n := of(odd.name); n > odd.above {
			f.State = stateWarning
			f.Detail += "; " + fmt.Sprintf(odd.text, n)
			if f.Fix == "" {
				f.Fix = odd.fix
			}
		}
	}
	return f
}
