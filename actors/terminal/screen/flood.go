package screen

import (
	"bytes"
	"encoding/binary"
)

// flood takes lines of plain text at the bottom of the normal screen without
// drawing those that scroll away at once: they go into the history as they are.
// It returns how many bytes it took, 0 when there are too few such lines to make
// a difference. The result is what drawing each character would give; that is
// why it looks so closely at where it may.
func (s *Screen) flood(b []byte) int {
	if !s.mayFlood() {
		return 0
	}
	// starts[i] is where line i begins; the last entry is the end.
	starts := append(s.starts[:0], 0)
	for pos := 0; ; {
		n := bytes.IndexByte(b[pos:], '\n')
		if n < 1 || n-1 > s.cols || b[pos+n-1] != '\r' || !printable(b[pos:pos+n-1]) {
			break
		}
		pos += n + 1
		starts = append(starts, pos)
	}
	s.starts = starts
	lines := len(starts) - 1
	if lines <= s.rows {
		return 0
	}
	g := s.on
	line := func(i int) []byte { return b[starts[i] : starts[i+1]-2] }
	// What leaves the screen: the rows above the last one, then the lines that
	// do not stay. The last row stays blank.
	away := lines - (s.rows - 1)
	for _, r := range g.rows[:s.rows-1] {
		g.saved.y = max(g.saved.y-s.history.push(r), 0)
	}
	for i := max(0, away-s.history.maxLines); i < away; i++ {
		g.saved.y = max(g.saved.y-s.history.addPlain(line(i)), 0)
	}
	for y, r := range g.rows[:s.rows-1] {
		r.fill(cell{})
		r.wrapped = false
		text := line(away + y)
		for x, c := range text {
			r.cells[x].ch = uint32(c)
		}
		r.used = len(text)
	}
	s.before = 0
	return starts[lines]
}

// mayFlood reports whether the cursor is at the start of a blank last row of the
// normal screen, and nothing changes what characters look like or where they go.
func (s *Screen) mayFlood() bool {
	g := s.on
	if !g.scrolls || g.x != 0 || g.y != s.rows-1 || g.top != 0 || g.bottom != s.rows-1 {
		return false
	}
	last := g.rows[g.y]
	return last.used == 0 && !last.wrapped && s.pen.fg|s.pen.bg == 0 && s.penExt == 0 && s.sets.now == nil && !s.modes.insert
}

// printable reports whether b is nothing but printable ASCII.
func printable(b []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b)
		if ((v-0x20*ones)&^v|v|(v+ones))&highs != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c-0x20 >= 0x5f {
			return false
		}
	}
	return true
}
