package sidecar

import (
	"log/slog"
	"reflect"
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// BoardOptions is what a Board is made of.
type BoardOptions struct {
	// Publisher gets sidecar-status.changed.
	Publisher msg.Publisher
	// Lifetime is the count so far, Save keeps it from then on; it must not
	// wait.
	Lifetime contract.SidecarLifetime
	Save     func(contract.SidecarLifetime)
	Logger   *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Board is what the service knows of the sidecar: one value for its whole life,
// so that it outlives host and supervisor. It takes every status that a policy
// pushes (inspect's option Heard) and publishes what changed. Safe for
// concurrent use.
type Board struct {
	opt BoardOptions

	mu     sync.Mutex
	status contract.SidecarStatus
	// last is the latest status of the host, counted whom total_starts counts.
	last    msg.Status
	counted gen.PID
	since   time.Time // Ready since; zero while it is not.
}

// NewBoard returns a board that has heard nothing yet.
func NewBoard(o BoardOptions) *Board {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Board{opt: o}
	b.status.State = "not_started"
	b.status.Lifetime = o.Lifetime
	return b
}

// Status is the answer to get_sidecar_status.
func (b *Board) Status() contract.SidecarStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

// Heard takes one status of a policy; those of other children change nothing.
func (b *Board) Heard(s msg.Status) {
	if s.Name != msg.Sidecar {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.status
	ready, isReady := s.Detail.(Ready)
	switch {
	case s.Gone, s.State == msg.StateStopped:
		b.ended()
		b.status.State = "not_started"
	case s.State == msg.StateRunning && isReady:
		b.ready(s, ready)
	case s.State == msg.StateStarting, s.State == msg.StateRunning:
		b.ended()
		b.status.State = "starting"
	case s.State == msg.StateBackoff:
		if b.last.State != s.State || b.last.Restarts != s.Restarts {
			b.crashed(s.LastReason)
			b.status.Restarts++
		}
		b.status.State = "restarting"
	case s.State == msg.StateDown:
		if b.last.State != s.State {
			b.crashed(s.LastReason)
		}
		b.status.State = "down"
		if b.status.LastError == nil {
			b.status.LastError = ptr("Sidecar exceeded 3 restarts in 60s")
		}
	case s.State == msg.StateIncompatible:
		b.ended()
		b.status.State = "incompatible"
		if isReady { // It lives on until it is reset.
			b.status.PID, b.status.Version = ptr(ready.PID), ptr(ready.Version)
			if b.status.ProtocolVersion = nil; ready.Protocol != 0 {
				b.status.ProtocolVersion = ptr(ready.Protocol)
			}
		}
		if s.LastReason != "" {
			b.status.LastError = ptr(s.LastReason)
			b.status.Lifetime.LastError = ptr(s.LastReason)
		}
	}
	b.last = s
	b.tell(before)
}

// ready counts a child that has shaken hands, once.
func (b *Board) ready(s msg.Status, r Ready) {
	b.status.State, b.status.LastError = "ready", nil
	b.status.PID, b.status.Version, b.status.ProtocolVersion = ptr(r.PID), ptr(r.Version), ptr(r.Protocol)
	if b.counted == s.PID {
		return
	}
	b.counted, b.since = s.PID, b.opt.Now()
	b.status.Lifetime.TotalStarts++
	b.status.Lifetime.LastVersion = ptr(r.Version)
}

// ended folds the uptime in; there is no child any more, or not yet.
func (b *Board) ended() {
	b.status.PID = nil
	if b.since.IsZero() {
		return
	}
	b.status.Lifetime.TotalUptimeSecs += uint64(max(0, b.opt.Now().Sub(b.since)) / time.Second)
	b.since = time.Time{}
}

func (b *Board) crashed(reason string) {
	b.ended()
	b.status.Lifetime.TotalCrashes++
	b.status.Lifetime.LastCrashTime = ptr(b.opt.Now().UTC().Truncate(time.Second).Format(time.RFC3339))
	if reason != "" {
		b.status.LastError = ptr(reason)
		b.status.Lifetime.LastError = ptr(reason)
	}
}

// tell publishes and keeps what changed. The lock is held, so that the log has
// the changes in their order.
func (b *Board) tell(before contract.SidecarStatus) {
	if reflect.DeepEqual(before, b.status) {
		return
	}
	if b.opt.Save != nil && !reflect.DeepEqual(before.Lifetime, b.status.Lifetime) {
		b.opt.Save(b.status.Lifetime)
	}
	if b.opt.Publisher == nil {
		return
	}
	body, err := contract.Marshal(b.status)
	if err == nil {
		_, err = b.opt.Publisher.Publish(contract.SubjectSidecarStatus, "", body)
	}
	if err != nil {
		b.opt.Logger.Warn("sidecar status not published", "reason", err)
	}
}

func ptr[T any](v T) *T { return &v }
