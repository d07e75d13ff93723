package main

import (
	"strings"
	"testing"

	"github.com/packetbench/packetbench/config"
)

func TestJudgeFigures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		state      state
		has        string
	}{
		{"well", "# HELP packetbench_turns_total Turns.\npackebench_x 1\npacketbench_turns_total{outcome=\"done\"} 3\npacketbench_turns_total{outcome=\"error\"} 2\npacketbench_log_waiting 12\n", stateOK, "5 turn(s), 0 event(s)"},
		{"down", "packetbench_actors_down 1\npacketbench_alarms 1\n", stateWarning, "1 part(s) failed too often and stay down; 1 alarm(s)"},
		{"behind", "packetbench_viewer_lag_events 20000\n", stateWarning, "a window is 20000 events behind"},
		{"disk", "packetbench_log_waiting 5000\npacketbench_text_log_lost_total 7\n", stateWarning, "5000 events wait for the event log; 7 line(s)"},
		{"memory", "packetbench_child_memory_bytes{actor=\"sidecar\"} 1.048576e+06\npacketbench_child_memory_bytes{actor=\"acp\"} 1.048576e+06\n", stateOK, "programs take 2.0 MB"},
		{"nonsense", "x\n\n y z\npacketbench_alarms many\n", stateOK, "0 turn(s)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := judgeFigures(addFigures(strings.NewReader(tc.text)))
			if f.State != tc.state || !strings.Contains(f.Detail, tc.has) || (f.State == stateWarning) != (f.Fix != "") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Doctor reads the log of the data directory, and says so when there is none.
func TestCheckTextLog(t *testing.T) {
	t.Parallel()
	p := config.Paths{Home: t.TempDir()}
	if f := checkTextLog(p); f.State != stateOK || !strings.Contains(f.Detail, "none yet") {
		t.Errorf("%+v", f)
	}
	x := newTextLog()
	if err := x.open(p.Logs()); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"time":"2026-09-01T12:00:00Z","level":"INFO","msg":"started"}`, `not a line of ours`,
		`{"time":"2026-09-01T12:00:01Z","level":"WARN","msg":"slow"}`,
	} {
		if _, err := x.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if f := checkTextLog(p); f.State != stateOK || !strings.Contains(f.Detail, "1 warning(s), 0 error(s)") {
		t.Errorf("%+v", f)
	}
	if _, err := x.Write([]byte(`{"time":"2026-09-01T12:00:02Z","level":"ERROR","msg":"event log down"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := x.close(); err != nil {
		t.Fatal(err)
	}
	if f := checkTextLog(p); f.State != stateWarning || !strings.Contains(f.Detail, "the last: event log down") || f.Fix == "" || f.Required {
		t.Errorf("%+v", f)
	}
}
