package screen

import (
	"fmt"
)

// csi carries out a control sequence: prefix, middle bytes and final byte, the
// last in the lowest eight bits.
func (s *Screen) csi(id uint32) {
	g, p := s.on, &s.par
	n := p.get(0, 1)
	switch id {
	case '@':
		s.restrict(s.cols - 1)
		g.rows[g.y].insert(g.x, n, s.erased())
	case ' '<<8 | '@':
		s.shift(0, -n)
	case 'A':
		s.up(n)
	case ' '<<8 | 'A':
		s.shift(0, n)
	case 'B':
		s.down(n)
	case 'C', 'a':
		s.moveBy(n, 0)
	case 'D':
		s.moveBy(-n, 0)
	case 'E':
		s.down(n)
		g.x = 0
	case 'F':
		s.up(n)
		g.x = 0
	case 'G', '`':
		s.column(n - 1)
	case 'H', 'f':
		s.moveTo(p.get(1, 1)-1, n-1)
	case 'I':
		for i := 0; i < min(n, s.cols) && g.x < s.cols; i++ {
			g.x = g.nextStop(g.x, s.cols)
		}
	case 'J', '?'<<8 | 'J':
		s.eraseDisplay(int(p.v[0]), id != 'J')
	case 'K', '?'<<8 | 'K':
		s.eraseLine(int(p.v[0]), id != 'K')
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'P':
		s.restrict(s.cols - 1)
		g.rows[g.y].remove(g.x, n, s.erased())
	case 'S':
		s.shiftUp(g.top, n, s.erased())
	case 'T':
		s.shiftDown(g.top, n, cell{})
	case 'X':
		s.restrict(s.cols - 1)
		g.rows[g.y].replace(g.x, g.x+n, s.erased(), false)
	case 'Z':
		for i := 0; i < min(n, s.cols) && g.x < s.cols; i++ {
			g.x = g.previousStop(g.x, s.cols)
		}
	case 'b':
		s.repeat(n)
	case 'c', '>'<<8 | 'c', 'n', '?'<<8 | 'n', '$'<<8 | 'p', '?'<<16 | '$'<<8 | 'p':
		s.asked(id)
	case 'd':
		s.line(n - 1)
	case 'e':
		s.moveBy(0, n)
	case 'g':
		s.clearTabs(int(p.v[0]))
	case 'h', 'l':
		s.ansiModes(id == 'h')
	case '?'<<8 | 'h', '?'<<8 | 'l':
		for i := range p.n {
			s.private(int(p.v[i]), byte(id) == 'h')
		}
	case 'm':
		s.sgr()
	case '!'<<8 | 'p':
		s.softReset()
	case ' '<<8 | 'q':
		if v := p.v[0]; v <= 6 {
			s.modes.cursor = int(v)
		}
	case 'r':
		s.region(n, p)
	case 's':
		s.saveCursor()
	case 'u':
		s.restoreCursor()
	case '\''<<8 | '}':
		s.shift(g.x, n)
	case '\''<<8 | '~':
		s.shift(g.x, -n)
	case '"'<<8 | 'q':
		switch p.v[0] {
		case 1:
			s.pen.bg |= guard
		case 0, 2:
			s.pen.bg &^= guard
		}
	}
}

// column is "cursor to column": the row goes through origin mode once more.
func (s *Screen) column(x int) { s.moveTo(x, s.on.y) }

func (s *Screen) line(y int) { s.moveTo(s.on.x, y) }

func (s *Screen) up(n int) {
	if room := s.on.y - s.on.top; room >= 0 {
		n = min(n, room)
	}
	s.moveBy(0, -n)
}

func (s *Screen) down(n int) {
	if room := s.on.bottom - s.on.y; room >= 0 {
		n = min(n, room)
	}
	s.moveBy(0, n)
}

func (s *Screen) inRegion() bool { return s.on.y >= s.on.top && s.on.y <= s.on.bottom }

// shift moves all lines of the region sideways from column x on, to the right
// when n is positive.
func (s *Screen) shift(x, n int) {
	if !s.inRegion() {
		return
	}
	for _, r := range s.on.rows[s.on.top : s.on.bottom+1] {
		if n > 0 {
			r.insert(x, n, s.erased())
		} else {
			r.remove(x, -n, s.erased())
		}
		r.wrapped = false
	}
}

// shiftUp takes n lines out at row top and adds blank ones at the bottom of the
// region.
func (s *Screen) shiftUp(top, n int, fill cell) {
	g := s.on
	for range min(n, g.bottom-top+1) {
		r := g.rows[top]
		copy(g.rows[top:g.bottom], g.rows[top+1:g.bottom+1])
		r.fill(fill)
		r.wrapped = false
		g.rows[g.bottom] = r
	}
}

func (s *Screen) shiftDown(top, n int, fill cell) {
	g := s.on
	for range min(n, g.bottom-top+1) {
		r := g.rows[g.bottom]
		copy(g.rows[top+1:g.bottom+1], g.rows[top:g.bottom])
		r.fill(fill)
		r.wrapped = false
		g.rows[top] = r
	}
}

func (s *Screen) insertLines(n int) {
	s.restrict(s.cols - 1)
	if s.inRegion() {
		s.shiftDown(s.on.y, n, s.erased())
		s.on.x = 0
	}
}

func (s *Screen) deleteLines(n int) {
	s.restrict(s.cols - 1)
	if s.inRegion() {
		s.shiftUp(s.on.y, n, s.erased())
		s.on.x = 0
	}
}

func (s *Screen) region(top int, p *params) {
	bottom := s.rows
	if p.n >= 2 && p.v[1] != 0 && int(p.v[1]) <= s.rows {
		bottom = int(p.v[1])
	}
	if bottom > top {
		s.on.top, s.on.bottom = top-1, bottom-1
		s.moveTo(0, 0)
	}
}

func (s *Screen) clearTabs(what int) {
	g := s.on
	switch {
	case what == 3:
		clear(g.tabs)
	case what == 0 && g.x < len(g.tabs):
		g.tabs[g.x] = false
	}
}

func (s *Screen) eraseRow(y, start, end int, unwrap, guarded bool) {
	r := s.on.rows[y]
	r.replace(start, end, s.erased(), guarded)
	if unwrap {
		r.wrapped = false
	}
}

func (s *Screen) eraseDisplay(what int, guarded bool) {
	s.restrict(s.cols)
	g := s.on
	switch what {
	case 0:
		s.eraseRow(g.y, g.x, s.cols, g.x == 0, guarded)
		for y := g.y + 1; y < s.rows; y++ {
			s.eraseRow(y, 0, s.cols, true, guarded)
		}
	case 1:
		s.eraseRow(g.y, 0, g.x+1, true, guarded)
		if g.x+1 >= s.cols {
			// Deliberate: the line is counted from the start of the history, as
			// the terminal that we follow does.
			s.unwrap(g.y + 1)
		}
		for y := range g.y {
			s.eraseRow(y, 0, s.cols, true, guarded)
		}
	case 2:
		for y := range s.rows {
			s.eraseRow(y, 0, s.cols, true, guarded)
		}
	case 3:
		if g.scrolls {
			s.history.clear()
		}
	}
}

// unwrap makes the line i of history and screen one of its own.
func (s *Screen) unwrap(i int) {
	if i < s.base() {
		s.history.line(i).wrapped = false
		return
	}
	if i -= s.base(); i < len(s.on.rows) {
		s.on.rows[i].wrapped = false
	}
}

func (s *Screen) eraseLine(what int, guarded bool) {
	s.restrict(s.cols)
	g := s.on
	switch what {
	case 0:
		s.eraseRow(g.y, g.x, s.cols, g.x == 0, guarded)
	case 1:
		s.eraseRow(g.y, 0, g.x+1, false, guarded)
	case 2:
		s.eraseRow(g.y, 0, s.cols, true, guarded)
	}
}

// maxRepeat bounds "repeat": more than a full screen shows nothing new, and
// without a bound ten bytes would cost minutes.
const maxRepeat = maxCells

func (s *Screen) repeat(n int) {
	g := s.on
	if s.before == 0 {
		return
	}
	x := g.x - s.before
	if x < 0 || x >= s.cols {
		return
	}
	text := g.rows[g.y].text(x)
	for range min(n, maxRepeat) {
		for _, r := range text {
			s.print(r)
		}
	}
}

func (s *Screen) ansiModes(on bool) {
	for i := range s.par.n {
		switch s.par.v[i] {
		case 4:
			s.modes.insert = on
		case 20:
			s.modes.newline = on
		}
	}
}

// private sets or resets one DEC mode.
func (s *Screen) private(mode int, on bool) {
	m := &s.modes
	switch mode {
	case 1:
		m.cursorKeys = on
	case 2:
		if on {
			for slot := range 4 {
				s.sets.choose(slot, nil)
			}
		}
	case 6:
		m.origin = on
		s.moveTo(0, 0)
	case 7:
		m.noWrap = !on
	case 12:
		m.blink = 'l'
		if on {
			m.blink = 'h'
		}
	case 25:
		m.hidden = !on
	case 45:
		m.reverse = on
	case 66:
		m.keypad = on
	case 9, 1000, 1002, 1003:
		m.mouse = 0
		if on {
			m.mouse = mode
		}
	case 1004:
		m.focus = on
	case 1006, 1016:
		m.coding = 0
		if on {
			m.coding = mode
		}
	case 1048:
		if on {
			s.saveCursor()
		} else {
			s.restoreCursor()
		}
	case 47, 1047, 1049:
		s.switchScreen(mode == 1049, on)
	case 2004:
		m.paste = on
	case 2026:
		m.sync = on
	}
}

func (s *Screen) switchScreen(withCursor, alt bool) {
	if alt {
		if withCursor {
			s.saveCursor()
		}
		s.toAlt()
		return
	}
	s.toNormal()
	if withCursor {
		s.restoreCursor()
	}
}

// asked answers a query of the program, as xterm.js does.
func (s *Screen) asked(id uint32) {
	g, v := s.on, s.par.v[0]
	switch id {
	case 'c':
		if v == 0 {
			s.answer("\x1b[?1;2c")
		}
	case '>'<<8 | 'c':
		if v == 0 {
			s.answer("\x1b[>0;276;0c")
		}
	case 'n':
		switch v {
		case 5:
			s.answer("\x1b[0n")
		case 6:
			s.answer(fmt.Sprintf("\x1b[%d;%dR", g.y+1, g.x+1))
		}
	case '?'<<8 | 'n':
		if v == 6 {
			s.answer(fmt.Sprintf("\x1b[?%d;%dR", g.y+1, g.x+1))
		}
	case '$'<<8 | 'p':
		s.answer(fmt.Sprintf("\x1b[%d;%d$y", v, s.ansiReport(int(v))))
	default:
		s.answer(fmt.Sprintf("\x1b[?%d;%d$y", v, s.privateReport(int(v))))
	}
}

// The values of a mode report. Source: DECRPM.
const (
	notKnown = iota
	isSet
	isReset
	alwaysSet
	alwaysReset
)

func report(on bool) int {
	if on {
		return isSet
	}
	return isReset
}

func (s *Screen) ansiReport(mode int) int {
	switch mode {
	case 2:
		return alwaysReset
	case 4:
		return report(s.modes.insert)
	case 12:
		return alwaysSet
	case 20:
		return report(s.modes.newline)
	}
	return notKnown
}

func (s *Screen) privateReport(mode int) int {
	m := &s.modes
	switch mode {
	case 1:
		return report(m.cursorKeys)
	case 6:
		return report(m.origin)
	case 7:
		return report(!m.noWrap)
	case 8:
		return alwaysSet
	case 9, 1000, 1002, 1003:
		return report(m.mouse == mode)
	case 12:
		return report(m.blink == 'h')
	case 25:
		return report(!m.hidden)
	case 45:
		return report(m.reverse)
	case 66:
		return report(m.keypad)
	case 67, 1005, 1015:
		return alwaysReset
	case 1004:
		return report(m.focus)
	case 1006, 1016:
		return report(m.coding == mode)
	case 1048:
		return isSet
	case 47, 1047, 1049:
		return report(s.on == &s.alt)
	case 2004:
		return report(m.paste)
	case 2026:
		return report(m.sync)
	}
	return notKnown
}
