package sidecar

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/contract"
)

// heard is one thing that the child did, decoded on the reader's goroutine.
// Exactly one of frame, stray, dropped and exit says what it was.
type heard struct {
	// frame is an event of a session, or ready.
	frame   bool
	kind    string // Its type on the wire.
	session contract.ConversationID
	turn    contract.TurnID
	said    said
	ready   *Ready
	// version is what ready claimed; nil when it claimed none.
	version *int
	// stray is the beginning of a line that is no event.
	stray string
	// dropped is a line over the limit, of session if that could be told.
	dropped bool
	exit    *child.Exit
	// blank is an empty line: only its credit counts.
	blank bool
}

// maxStray is how much of a stray line is logged, in bytes. Source:
// sidecar-protocol.md 1.
const maxStray = 500

// hear decodes one line of the child. ok is false for a blank one.
func hear(l child.Line) (h heard, ok bool) {
	if l.Dropped {
		session, _ := sessionOf(l.Head)
		return heard{dropped: true, session: session}, true
	}
	f, err := decode(l.Text)
	if err != nil {
		h.stray = begin(string(l.Text), maxStray)
		return h, strings.TrimSpace(h.stray) != ""
	}
	h = heard{frame: true, kind: f.Type, session: f.SessionID, turn: f.TurnID}
	if f.Type == "ready" {
		h.version = f.ProtocolVersion
		h.ready = &Ready{PID: f.PID, Version: f.Version}
		return h, true
	}
	h.said = translate(f)
	return h, true
}

// begin cuts text to at most size bytes, between characters.
func begin(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// end keeps at most the last size bytes of text, begun at a whole character.
func end(text string, size int) string {
	if len(text) <= size {
		return text
	}
	at := len(text) - size
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// burst is how many lines are collected before the actor is woken although more
// may be waiting. It is half of what the reader may have on its way, so that
// one half is read while the other is handed out.
const burst = 32

// inbox collects what the reader decoded and wakes the actor once for all of it.
type inbox struct {
	wake func()

	mu    sync.Mutex
	items []heard
	spare []heard
	woken bool
}

// put adds one thing; the actor is woken when there are many, else by ring.
func (b *inbox) put(h heard) {
	b.mu.Lock()
	b.items = append(b.items, h)
	many := len(b.items) >= burst
	b.mu.Unlock()
	if many {
		b.ring()
	}
}

// ring wakes the actor unless it is awake or has nothing to do.
func (b *inbox) ring() {
	b.mu.Lock()
	ring := !b.woken && len(b.items) > 0
	b.woken = b.woken || ring
	b.mu.Unlock()
	if ring {
		b.wake()
	}
}

// take returns what was collected, in order. It is valid until the next take.
func (b *inbox) take() []heard {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.items
	clear(b.spare)
	b.items, b.spare = b.spare[:0], out
	b.woken = false
	return out
}
