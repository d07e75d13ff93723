package sidecar

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// paper is a Publisher that keeps what it gets.
type paper struct{ got []contract.SidecarStatus }

func (p *paper) Publish(subject string, turn contract.TurnID, payload []byte) (uint64, error) {
	var s contract.SidecarStatus
	if err := json.Unmarshal(payload, &s); err != nil || subject != contract.SubjectSidecarStatus || turn != "" {
		return 0, fmt.Errorf("published %s %s: %w", subject, payload, err)
	}
	p.got = append(p.got, s)
	return uint64(len(p.got)), nil
}

func (p *paper) Head() uint64 { return uint64(len(p.got)) }

// contract.md 8: the life of a child through its four crashes, as a window
// sees it, and what is counted over all runs.
func TestBoard(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 31, 12, 0, 0, 500, time.UTC)
	log := &paper{}
	var kept []contract.SidecarLifetime
	b := NewBoard(BoardOptions{
		Publisher: log, Lifetime: contract.SidecarLifetime{TotalStarts: 10, TotalCrashes: 4, TotalUptimeSecs: 100},
		Save: func(l contract.SidecarLifetime) { kept = append(kept, l) }, Now: func() time.Time { return now },
	})
	if s := b.Status(); s.State != "not_started" || s.PID != nil || s.LastError != nil {
		t.Fatalf("at first %+v", s)
	}
	b.Heard(msg.Status{Name: msg.Inspect, State: msg.StateDown}) // Somebody else's.
	hear := func(s msg.Status) contract.SidecarStatus {
		s.Name = msg.Sidecar
		b.Heard(s)
		b.Heard(s) // It is pushed again whenever somebody asks.
		return b.Status()
	}
	up := func(n uint64) contract.SidecarStatus {
		pid := gen.PID{ID: n}
		hear(msg.Status{State: msg.StateRunning, PID: pid}) // Spawned.
		if s := hear(msg.Status{State: msg.StateStarting, PID: pid, LastReason: "of before"}); s.State != "starting" || s.PID != nil {
			t.Fatalf("starting %+v", s)
		}
		return hear(msg.Status{State: msg.StateRunning, PID: pid, LastReason: "of before", Detail: Ready{PID: 70 + int(n), Version: "0.1.0", Protocol: 11}})
	}
	for n := range uint64(4) {
		s := up(n + 1)
		if s.State != "ready" || *s.PID != 71+int(n) || *s.ProtocolVersion != 11 || *s.Version != "0.1.0" || s.LastError != nil || s.Lifetime.TotalStarts != 11+n {
			t.Fatalf("ready %+v", s)
		}
		now = now.Add(20 * time.Second)
		if n < 3 {
			s = hear(msg.Status{State: msg.StateBackoff, Restarts: n + 1, LastReason: "Sidecar exited unexpectedly"})
			if s.State != "restarting" || s.Restarts != n+1 || s.PID != nil || *s.LastError != "Sidecar exited unexpectedly" {
				t.Fatalf("restarting %+v", s)
			}
		} else if s = hear(msg.Status{State: msg.StateDown, Restarts: 3}); s.State != "down" || s.Restarts != 3 {
			t.Fatalf("down %+v", s)
		}
		if l := s.Lifetime; l.TotalCrashes != 5+n || l.TotalUptimeSecs != 100+20*(n+1) || *l.LastCrashTime != now.Truncate(time.Second).Format(time.RFC3339) {
			t.Fatalf("lifetime %+v", l)
		}
	}
	if s := b.Status(); *s.LastError != "Sidecar exceeded 3 restarts in 60s" {
		t.Errorf("last error %q", *s.LastError)
	}
	for i, s := range log.got[1:] {
		if a, b := fmt.Sprint(mustJSON(t, log.got[i])), fmt.Sprint(mustJSON(t, s)); a == b {
			t.Errorf("published twice: %s", a)
		}
	}
	if len(kept) != 8 || kept[7].TotalCrashes != 8 {
		t.Errorf("kept %d times, last %+v", len(kept), kept[len(kept)-1])
	}
	if s := hear(msg.Status{State: msg.StateIncompatible, PID: gen.PID{ID: 9}, LastReason: "too old", Detail: Ready{PID: 79, Version: "0.0.9", Protocol: 10}}); s.State != "incompatible" || *s.PID != 79 || *s.ProtocolVersion != 10 || *s.LastError != "too old" || s.Lifetime.TotalCrashes != 8 {
		t.Errorf("incompatible %+v", s)
	}
	up(10)
	now = now.Add(time.Second)
	if s := hear(msg.Status{State: msg.StateStopped}); s.State != "not_started" || s.PID != nil || s.Lifetime.TotalCrashes != 8 || s.Lifetime.TotalUptimeSecs != 181 {
		t.Errorf("stopped %+v", s)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
