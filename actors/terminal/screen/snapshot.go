package screen

import (
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Snapshot returns bytes that make any terminal of this size show what this one
// shows: scrollback, both screens, cursor, modes, title, and the beginning of a
// sequence that is not complete yet. Incomplete UTF-8 is left out, see Partial.
// They ask for nothing, so a terminal that is played them answers nothing.
func (s *Screen) Snapshot() []byte {
	size := 16<<10 + int(s.history.end-s.history.start) + 2*s.history.len()
	e := emitter{s: s, b: make([]byte, 0, size)}
	e.text("\x1bc\x1b[20l")
	if s.on == &s.normal && s.alt.saved != (saved{}) {
		e.text("\x1b[?47h")
		e.saved(&s.alt)
		e.text("\x1b[?47l\x1b[H")
	}
	e.lines()
	if s.on == &s.alt {
		e.grid(&s.normal)
		e.text("\x1b[?47h\x1b[H")
		e.rows(&s.alt)
	}
	e.grid(s.on)
	e.colours()
	if s.titled {
		e.text("\x1b]2;" + s.title + "\x07")
	}
	e.sets()
	e.modes()
	e.cursor()
	e.b = append(e.b, s.pendingSequence()...)
	return e.b
}

// pendingSequence is what was received of an incomplete sequence. Of a string
// that is too long to keep the start of another one stands in, which goes on as
// long and does nothing.
func (s *Screen) pendingSequence() []byte {
	if !s.over && len(s.raw) < maxString {
		return s.raw
	}
	switch s.state {
	case oscString:
		return []byte("\x1b]99999;")
	case ignoredString:
		return []byte("\x1b_")
	}
	return []byte("\x1bPz")
}

// emitter writes rows as a program would.
type emitter struct {
	s *Screen
	b []byte
	// fg, bg and ext are the look in force, as cells have it.
	look cell
	link uint16
	// row state: column behind the last character, and the blanks that follow
	// it and take more than nothing to make.
	x     int
	blank []blanks
	// forced: the first column holds a space that forced the wrap.
	forced bool
}

// blanks is a run of n blank columns.
type blanks struct {
	at, n int
	look  cell
}

func (e *emitter) text(t string) { e.b = append(e.b, t...) }

// csi writes a sequence with one number.
func (e *emitter) csi(n int, final byte) {
	e.b = append(e.b, "\x1b["...)
	e.b = strconv.AppendInt(e.b, int64(n), 10)
	e.b = append(e.b, final)
}

// use changes the look.
func (e *emitter) use(c cell) {
	if sameLook(e.look, c) {
		return
	}
	e.pen(c.fg, c.bg, e.s.looks.of(c.ext))
	e.look = cell{fg: c.fg, bg: c.bg, ext: c.ext}
}

func (e *emitter) pen(fg, bg uint32, x ext) {
	if fg == 0 && bg == 0 && x.colour == 0 {
		e.text("\x1b[m")
	} else {
		e.b = appendLook(e.b, fg, bg, x)
	}
	link := x.link
	if bg&extended == 0 {
		link = 0
	}
	if link != e.link {
		e.text("\x1b]8;")
		if link == 0 {
			e.text(";")
		} else {
			e.text(e.s.looks.links[link])
		}
		e.text("\x07")
		e.link = link
	}
}

// lines writes the history and the normal screen.
func (e *emitter) lines() {
	h := &e.s.history
	for i := range h.len() {
		l := h.line(i)
		b := h.bytes(l)
		e.next(i == 0, l.wrapped, b)
		e.encoded(b, l.plain)
	}
	e.screen(&e.s.normal, h.len() == 0)
}

// rows writes a grid from its top left corner, where the cursor is.
func (e *emitter) rows(g *grid) { e.screen(g, true) }

func (e *emitter) screen(g *grid, first bool) {
	var scratch []byte
	for i, r := range g.rows {
		var plain bool
		scratch, plain = encode(scratch[:0], r)
		e.next(first && i == 0, r.wrapped, scratch)
		e.encoded(scratch, plain)
	}
	e.use(cell{})
	e.x, e.blank, e.forced = 0, e.blank[:0], false
}

// next goes to the next line, by a line feed or by letting it wrap. text is what
// will be written there.
func (e *emitter) next(first, wrapped bool, text []byte) {
	switch {
	case first:
	case wrapped && e.x == e.s.cols && e.look.bg == 0 && len(text) > 0 && text[0] >= 0x20:
		// It wraps by itself, and no colour gets into the line that scrolls in.
		e.forced = false
	case wrapped:
		e.wrap()
	default:
		if e.look.bg != 0 {
			e.use(cell{}) // A line that scrolls in is filled with it.
		}
		e.text("\r\n")
		e.forced = false
	}
	e.x, e.blank = 0, e.blank[:0]
}

// wrap fills the line up, lets a space wrap, and takes back what filled it.
func (e *emitter) wrap() {
	e.use(cell{})
	for range e.s.cols - e.x {
		e.b = append(e.b, ' ')
	}
	e.text(" ")
	if e.x < e.s.cols {
		e.text("\x1b[A")
		e.csi(e.x+1, 'G')
		e.csi(e.s.cols-e.x, 'X')
		for _, k := range e.blank {
			e.csi(k.at+1, 'G')
			e.use(k.look)
			e.csi(k.n, 'X')
		}
		e.use(cell{})
		e.text("\x1b[B")
	}
	e.text("\r")
	e.forced = true
}

// encoded writes one line of the history's encoding.
func (e *emitter) encoded(b []byte, plain bool) {
	if plain && len(b) > 0 {
		e.use(cell{})
		e.b = append(e.b, b...)
		e.x, e.forced = len(b), false
		return
	}
	at := 0 // The column of what comes next in b.
	var look cell
	skip := func() {
		e.skipTo(at)
	}
	for len(b) > 0 {
		op := b[0]
		switch op {
		case opLook:
			look = cell{fg: binary.BigEndian.Uint32(b[1:]), bg: binary.BigEndian.Uint32(b[5:]), ext: binary.BigEndian.Uint16(b[9:])}
			b = b[11:]
		case opDefault:
			look = cell{}
			b = b[1:]
		case opForeground:
			look = cell{fg: binary.BigEndian.Uint32(b[1:])}
			b = b[5:]
		case opBlanks:
			n := int(binary.BigEndian.Uint16(b[1:]))
			b = b[3:]
			if look.bg&lookMask != 0 {
				e.blank = append(e.blank, blanks{at, n, cell{bg: look.bg & lookMask}})
			}
			at += n
		case opAlone:
			skip()
			e.use(look)
			_, size := utf8.DecodeRune(b[1:])
			// A control in between keeps the mark from joining.
			e.text("\x1b[m")
			e.look = cell{}
			e.use(look)
			e.b = append(e.b, b[1:1+size]...)
			b = b[1+size:]
			at++
			e.x = at
		case opText:
			skip()
			e.use(look)
			size := int(b[2])
			e.b = append(e.b, b[3:3+size]...)
			at += max(int(b[1]), 1)
			e.x = at
			b = b[3+size:]
		default:
			skip()
			e.use(look)
			n := 0
			for n < len(b) && b[n] >= 0x20 {
				if b[n] < 0x80 {
					n++
					at++
					continue
				}
				r, size := utf8.DecodeRune(b[n:])
				n += size
				at += max(widthOf(r), 1)
			}
			e.b = append(e.b, b[:n]...)
			b = b[n:]
			e.x = at
		}
	}
	e.erase()
	if e.forced && e.x == 0 && (len(e.blank) == 0 || e.blank[0].at > 0) {
		e.use(cell{})
		e.csi(1, 'X')
	}
	e.forced = false
}

// skipTo moves the cursor over blanks to the column at.
func (e *emitter) skipTo(at int) {
	if at == e.x {
		e.forced = false
		return
	}
	e.erase()
	if e.forced && e.x == 0 && (len(e.blank) == 0 || e.blank[0].at > 0) {
		e.use(cell{})
		e.csi(1, 'X')
	}
	e.forced = false
	e.csi(at-e.x, 'C')
	e.x, e.blank = at, e.blank[:0]
}

// erase makes the blanks that have a colour; the cursor stays at x, or is moved
// back to it.
func (e *emitter) erase() {
	moved := false
	for _, k := range e.blank {
		if k.at > e.x {
			e.csi(k.at+1, 'G')
			moved = true
		}
		e.use(k.look)
		e.csi(k.n, 'X')
	}
	if moved && e.x < e.s.cols {
		e.csi(e.x+1, 'G')
	}
}

// grid writes what a grid has besides its rows.
func (e *emitter) grid(g *grid) {
	e.tabs(g)
	e.saved(g)
	if g.top != 0 || g.bottom != e.s.rows-1 {
		e.b = append(strconv.AppendInt(append(e.b, "\x1b["...), int64(g.top+1), 10), ';')
		e.b = append(strconv.AppendInt(e.b, int64(g.bottom+1), 10), 'r')
	}
}

func (e *emitter) tabs(g *grid) {
	usual := true
	for x := range e.s.cols {
		usual = usual && g.stop(x) == (x%tabWidth == 0)
	}
	if usual {
		return
	}
	e.text("\x1b[3g")
	for x := range e.s.cols {
		if g.stop(x) {
			e.csi(x+1, 'G')
			e.text("\x1bH")
		}
	}
}

// saved sets what "save cursor" has kept for a grid.
func (e *emitter) saved(g *grid) {
	v := g.saved
	if v == (saved{}) {
		return
	}
	if v.set != nil {
		e.text("\x1b(" + string(rune(v.set.final)))
	}
	e.pen(v.fg, v.bg, ext{})
	base := 0
	if g.scrolls {
		base = e.s.history.len()
	}
	e.place(v.x, min(max(v.y-base, 0), e.s.rows-1))
	e.text("\x1b7\x1b[m\x1b(B")
	e.look, e.link = cell{}, 0
}

func (e *emitter) place(x, y int) {
	e.b = append(strconv.AppendInt(append(e.b, "\x1b["...), int64(y+1), 10), ';')
	e.b = append(strconv.AppendInt(e.b, int64(x+1), 10), 'H')
}

func (e *emitter) colours() {
	if !e.s.recoloured {
		return
	}
	e.text("\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07")
	keys := make([]string, 0, len(e.s.palette))
	for k := range e.s.palette {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		e.text("\x1b]" + k + ";" + e.s.palette[k] + "\x07")
	}
}

func (e *emitter) sets() {
	v := &e.s.sets
	for i, set := range v.g {
		if set != nil {
			e.text("\x1b" + "()*+"[i:i+1] + string(rune(set.final)))
		}
	}
	e.text([]string{"", "\x0e", "\x1bn", "\x1bo"}[v.level])
	if v.now != v.g[v.level] && e.s.on.saved.set == v.now {
		e.text("\x1b8\x1b[m")
		e.look = cell{}
	}
}

func (e *emitter) modes() {
	m := &e.s.modes
	for _, k := range []struct {
		on   bool
		text string
	}{
		{m.cursorKeys, "\x1b[?1h"},
		{m.keypad, "\x1b="},
		{m.paste, "\x1b[?2004h"},
		{m.reverse, "\x1b[?45h"},
		{m.focus, "\x1b[?1004h"},
		{m.noWrap, "\x1b[?7l"},
		{m.newline, "\x1b[20h"},
		{m.hidden, "\x1b[?25l"},
		{!m.hidden, "\x1b[?25h"},
		{m.origin, "\x1b[?6h"},
		{m.sync, "\x1b[?2026h"},
	} {
		if k.on {
			e.text(k.text)
		}
	}
	for _, mode := range []int{m.mouse, m.coding} {
		if mode != 0 {
			e.text("\x1b[?" + strconv.Itoa(mode) + "h")
		}
	}
	if m.blink != 0 {
		e.text("\x1b[?12" + string(rune(m.blink)))
	}
	if m.cursor != 0 {
		e.text("\x1b[" + strconv.Itoa(m.cursor) + " q")
	}
}

// cursor puts the cursor and the pen. A cursor that waits behind the last column
// can only be had by printing there once more, and a mark joins a character only
// directly behind it, so that one is printed again, too.
func (e *emitter) cursor() {
	s, g := e.s, e.s.on
	y := g.y
	if s.modes.origin {
		y -= g.top
	}
	r := g.rows[g.y]
	last := min(g.x, s.cols) - 1
	if last >= 0 && r.cells[last].stub() {
		last--
	}
	again := last >= 0 && r.cells[last].hasContent()
	switch {
	case again && s.before == r.cells[last].width() && last+s.before == g.x && !s.modes.insert && sameLook(r.cells[last], cell{fg: s.pen.fg, bg: s.pen.bg, ext: s.penExt}):
		e.place(last, y)
		e.finalPen()
		e.text(r.text(last))
		return
	case g.x >= s.cols && again:
		e.place(last, y)
		e.use(r.cells[last])
		e.text(r.text(last))
	case g.x >= s.cols:
		e.place(s.cols-1, y)
		e.use(cell{})
		e.text(" ")
		if r.trimmed() == 0 {
			// An erased line keeps its cursor.
			e.use(cell{bg: r.cells[s.cols-1].bg & lookMask})
			e.text("\x1b[1K")
		}
	default:
		e.place(g.x, y)
	}
	e.finalPen()
	if s.modes.insert {
		e.text("\x1b[4h")
	}
}

func (e *emitter) finalPen() { e.pen(e.s.pen.fg, e.s.pen.bg, e.s.pen.ext) }
