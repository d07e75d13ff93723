package child

import "unicode/utf8"

// IncompleteSuffix returns how many bytes at the end of p, 0 to 3, are the
// beginning of a UTF-8 character whose rest has not arrived. Bytes that can
// never become one count as complete.
func IncompleteSuffix(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		b := p[len(p)-n]
		if !utf8.RuneStart(b) {
			continue
		}
		if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
			return n
		}
		return 0
	}
	return 0
}

// RuneHold keeps back the beginning of a character that a read boundary cut, so
// that nobody replaces its halves (F01, F02). Not safe for concurrent use.
type RuneHold struct {
	held []byte
}

// Push returns what may be passed on: the held bytes and p, without an
// incomplete character at the end. The result belongs to the caller.
func (h *RuneHold) Push(p []byte) []byte {
	all := make([]byte, 0, len(h.held)+len(p))
	all = append(append(all, h.held...), p...)
	n := IncompleteSuffix(all)
	h.held = append(h.held[:0], all[len(all)-n:]...)
	return all[:len(all)-n]
}

// Flush returns what is still held, at the end of the stream.
func (h *RuneHold) Flush() []byte {
	out := h.held
	h.held = nil
	return out
}

// Tail keeps the last bytes written to it, for the error that names why a child
// ended (F25). The zero value keeps [TailBytes]. Not safe for concurrent use.
type Tail struct {
	buf []byte
	cut bool // something before buf was let go
}

// TailBytes is how much of a child's stderr is kept. Source: actors.md section 4.
const TailBytes = 2000

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > TailBytes {
		p, t.cut = p[len(p)-TailBytes:], true
	}
	t.buf = append(t.buf, p...)
	// Moved only when twice full, so that many short lines stay cheap.
	if len(t.buf) > 2*TailBytes {
		t.buf, t.cut = append(t.buf[:0], t.buf[len(t.buf)-TailBytes:]...), true
	}
	return n, nil
}

// String returns at most the last [TailBytes] bytes, begun at a whole character.
func (t *Tail) String() string {
	b, cut := t.buf, t.cut
	if len(b) > TailBytes {
		b, cut = b[len(b)-TailBytes:], true
	}
	if cut {
		for i := 0; i < utf8.UTFMax && i < len(b); i++ {
			if utf8.RuneStart(b[i]) {
				b = b[i:]
				break
			}
		}
	}
	return string(b)
}
