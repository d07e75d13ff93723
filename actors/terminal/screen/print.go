package screen

// printASCII prints the printable ASCII that b begins with and returns its
// length.
func (s *Screen) printASCII(b []byte) int {
	if s.sets.now != nil || s.modes.insert {
		n := 0
		for n < len(b) && b[n]-0x20 < 0x5f {
			s.print(rune(b[n]))
			n++
		}
		return n
	}
	done := 0
	for done < len(b) && b[done]-0x20 < 0x5f {
		g := s.on
		if g.x+1 > s.cols {
			if s.modes.noWrap {
				g.x = s.cols - 1
			} else {
				s.wrap()
			}
		}
		r := g.rows[g.y]
		x := g.x
		if x > 0 && r.cells[x-1].ch&widthMask == double {
			s.orphan(r, x-1)
		}
		run := b[done:min(done+s.cols-x, len(b))]
		n := 0
		if s.pen.fg|s.pen.bg == 0 && s.penExt == 0 {
			for n < len(run) && run[n]-0x20 < 0x5f {
				r.cells[x+n] = cell{ch: uint32(run[n])}
				n++
			}
		} else {
			look := cell{fg: s.pen.fg, bg: s.pen.bg, ext: s.penExt}
			for n < len(run) && run[n]-0x20 < 0x5f {
				look.ch = uint32(run[n])
				r.cells[x+n] = look
				n++
			}
			r.plain = false
		}
		x += n
		if x > r.used {
			r.used = x
		}
		g.x = x
		if x < s.cols && r.cells[x].stub() {
			s.orphan(r, x)
		}
		done += n
	}
	s.before = 1
	return done
}

// orphan blanks half of a wide character whose other half is overwritten.
func (s *Screen) orphan(r *row, x int) {
	r.set(x, cell{fg: s.pen.fg, bg: s.pen.bg, ext: s.penExt})
}

// wrap goes on in the next line. What is left of this one is blank: a wide
// character did not fit.
func (s *Screen) wrap() {
	g := s.on
	for from := g.x; from < s.cols; from++ {
		s.orphan(g.rows[g.y], from)
	}
	g.x = 0
	g.y++
	if g.y == g.bottom+1 {
		g.y--
		s.scroll(true)
		return
	}
	g.y = min(g.y, s.rows-1)
	g.rows[g.y].wrapped = true
}

// print writes one character at the cursor.
func (s *Screen) print(code rune) {
	g := s.on
	r := g.rows[g.y]
	if g.x > 0 && g.x <= s.cols && r.cells[g.x-1].ch&widthMask == double {
		s.orphan(r, g.x-1)
	}
	s.place(code)
	if g.x < s.cols && g.rows[g.y].cells[g.x].stub() {
		s.orphan(g.rows[g.y], g.x)
	}
}

func (s *Screen) place(code rune) {
	g := s.on
	if code < 0x7f && s.sets.now != nil {
		if other, ok := s.sets.now.runes[byte(code)]; ok {
			code = other
		}
	}
	width := widthOf(code)
	joins := width == 0 && s.before > 0
	if joins {
		width = s.before
	}
	s.before = width
	extra := width
	if joins {
		extra = 0
	}
	if g.x+extra > s.cols {
		if !s.modes.noWrap {
			s.wrap()
		} else {
			g.x = s.cols - 1
			if width == 2 {
				return
			}
		}
	}
	r := g.rows[g.y]
	if joins && g.x > 0 {
		at := g.x - 1
		if at < s.cols && r.cells[at].width() == 0 {
			at--
		}
		r.join(at, code, width)
		return
	}
	look := cell{fg: s.pen.fg, bg: s.pen.bg, ext: s.penExt}
	if s.modes.insert && extra > 0 && g.x < s.cols {
		r.insert(g.x, extra, look)
		if r.cells[s.cols-1].width() == 2 {
			s.orphan(r, s.cols-1)
		}
	}
	look.ch = coded(code, width)
	r.set(g.x, look)
	g.x++
	if width == 2 {
		look.ch = half
		r.set(g.x, look)
		g.x++
	}
}
