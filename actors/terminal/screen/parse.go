package screen

// state is where the parser is in a control sequence. Source: the state diagram
// of Paul Williams' DEC ANSI parser; where xterm.js differs, it is followed.
type state uint8

const (
	ground state = iota
	escape
	escapeMiddle
	csiEntry
	csiParam
	csiMiddle
	csiIgnore
	ignoredString // SOS, PM and APC
	oscString
	dcsEntry
	dcsParam
	dcsMiddle
	dcsIgnore
	dcsString
)

// maxString bounds what is kept of the text of one sequence, in bytes. A longer
// one has no effect here.
const maxString = 64 << 10

// parser turns bytes into characters and sequences. Both may be cut anywhere.
type parser struct {
	state state
	// part is an incomplete UTF-8 character.
	part  [4]byte
	parts int

	collect uint32
	par     params
	// text is that of an OSC or DCS string; over: it was too long.
	text []byte
	over bool
	// raw are the bytes of the sequence so far, without controls that were
	// carried out in the midst of it. A snapshot ends with them.
	raw []byte
}

func (p *parser) reset() {
	*p = parser{text: p.text[:0], raw: p.raw[:0]}
	p.par.reset()
}

// params are the numbers of a sequence, at most 32 and as many behind colons.
type params struct {
	v    [32]int32
	n    int
	subs [32]int32
	used int
	// from is where the subparameters of each number begin.
	from, to [32]uint8
	// full: further numbers are dropped. inSub: digits belong to subs.
	full, subFull, inSub bool
}

func (p *params) reset() {
	p.n, p.used, p.full, p.subFull, p.inSub = 0, 0, false, false, false
	p.add()
}

func (p *params) add() {
	p.inSub = false
	if p.n >= len(p.v) {
		p.full = true
		return
	}
	p.v[p.n] = 0
	p.from[p.n], p.to[p.n] = uint8(p.used), uint8(p.used)
	p.n++
}

func (p *params) addSub() {
	p.inSub = true
	if p.full || p.used >= len(p.subs) {
		p.subFull = true
		return
	}
	p.subs[p.used] = -1
	p.used++
	p.to[p.n-1]++
}

func (p *params) digit(d int32) {
	if p.full || p.inSub && (p.subFull || p.used == 0) {
		return
	}
	at := &p.v[p.n-1]
	if p.inSub {
		at = &p.subs[p.used-1]
	}
	if *at < 0 {
		*at = 0
	}
	const most = 1<<31 - 1
	*at = int32(min(int64(*at)*10+int64(d), most))
}

func (p *params) sub(i int) []int32 { return p.subs[p.from[i]:p.to[i]] }

// get is parameter i, or fallback when it is absent or 0.
func (p *params) get(i int, fallback int) int {
	if i >= p.n || p.v[i] == 0 {
		return fallback
	}
	return int(p.v[i])
}

// Write takes output of the program, cut anywhere.
func (s *Screen) Write(b []byte) {
	tried := false
	for i := 0; i < len(b); {
		c := b[i]
		if s.state == ground && s.parts == 0 {
			if c-0x20 < 0x5f {
				i += s.printASCII(b[i:])
				continue
			}
			switch c {
			case '\n':
				s.lineFeed()
				s.before = 0
				i++
				if !tried {
					n := s.flood(b[i:])
					i += n
					tried = n == 0 // Looking again at each line would cost more than it saves.
				}
				continue
			case '\r':
				s.on.x, s.before = 0, 0
				i++
				continue
			}
		}
		i++
		if c < 0x80 {
			s.parts = 0
			s.step(rune(c))
			continue
		}
		s.utf8(c)
	}
}

// Partial is the number of bytes at the end of what was written that belong to
// an incomplete character, 0 to 3.
func (s *Screen) Partial() int { return s.parts }

// utf8 takes one byte of a character beyond ASCII. What is no UTF-8 is dropped.
func (s *Screen) utf8(c byte) {
	if c&0xc0 != 0x80 {
		// A lead byte; what came before it is incomplete for ever.
		s.parts = 0
		if c >= 0xc0 && c < 0xf8 {
			s.part[0], s.parts = c, 1
		}
		return
	}
	if s.parts == 0 {
		return
	}
	s.part[s.parts] = c
	s.parts++
	lead := s.part[0]
	var r rune
	switch {
	case lead < 0xe0:
		r = rune(lead&0x1f)<<6 | rune(c&0x3f)
		s.parts = 0
		if r < 0x80 {
			return
		}
	case lead < 0xf0:
		if s.parts < 3 {
			return
		}
		r = rune(lead&0x0f)<<12 | rune(s.part[1]&0x3f)<<6 | rune(c&0x3f)
		s.parts = 0
		if r < 0x800 || r >= 0xd800 && r <= 0xdfff || r == 0xfeff {
			return // Too long, half a pair, or a byte order mark.
		}
	default:
		if s.parts < 4 {
			return
		}
		r = rune(lead&0x07)<<18 | rune(s.part[1]&0x3f)<<12 | rune(s.part[2]&0x3f)<<6 | rune(c&0x3f)
		s.parts = 0
		if r < 0x10000 || r > 0x10ffff {
			return
		}
	}
	if s.state == ground && r >= 0xa0 {
		s.print(r)
		return
	}
	s.step(r)
}

// step takes one code point.
func (s *Screen) step(r rune) {
	if (r < 0x20 || r >= 0x80 && r < 0xa0) && s.anywhere(r) {
		return
	}
	switch s.state {
	case ground:
		switch {
		case r < 0x20:
			s.execute(r)
		case r != 0x7f:
			s.print(r)
		}
	case escape:
		s.inEscape(r)
	case escapeMiddle:
		switch {
		case r < 0x20:
			s.execute(r)
		case r < 0x30:
			s.gather(r)
		case r < 0x7f:
			s.escDispatch(r)
		default:
			s.end()
		}
	case csiEntry, csiParam, csiMiddle, csiIgnore:
		s.inCSI(r)
	case ignoredString:
		if r >= 0xa0 {
			s.end()
			return
		}
		s.keep(r)
	case oscString:
		switch {
		case r == 0x07:
			s.oscEnd(true)
		case r >= 0x20:
			s.keepText(r)
		}
	case dcsString:
		if r != 0x7f {
			s.keepText(r)
		}
	default:
		s.inDCS(r)
	}
}

// anywhere carries out what means the same in every state.
func (s *Screen) anywhere(r rune) bool {
	switch {
	case r == 0x1b:
		s.leaveString(true)
		s.begin(escape, r)
	case r == 0x18 || r == 0x1a:
		s.leaveString(false)
		s.end()
		s.before = 0
	case r < 0x80 || r >= 0xa0:
		return false
	case r == 0x9c:
		s.leaveString(true)
		s.end()
	case r == 0x9d:
		s.begin(oscString, r)
	case r == 0x98 || r == 0x9e || r == 0x9f:
		s.begin(ignoredString, r)
	case r == 0x9b:
		s.begin(csiEntry, r)
	case r == 0x90:
		s.begin(dcsEntry, r)
	default:
		s.end()
		s.execute(r)
	}
	return true
}

// leaveString ends a string that an escape, a cancel or a terminator ends.
func (s *Screen) leaveString(good bool) {
	switch s.state {
	case oscString:
		s.oscEnd(good)
	case dcsString:
		s.dcsEnd(good)
	}
}

func (s *Screen) begin(to state, r rune) {
	s.state, s.collect, s.over = to, 0, false
	s.par.reset()
	s.text, s.raw = s.text[:0], s.raw[:0]
	s.keep(r)
}

func (s *Screen) end() {
	s.state = ground
	s.raw = s.raw[:0]
}

// keep remembers a byte of the sequence for a snapshot.
func (s *Screen) keep(r rune) {
	if len(s.raw) < maxString {
		s.raw = appendRune(s.raw, r)
	}
}

func (s *Screen) keepText(r rune) {
	s.keep(r)
	if len(s.text) >= maxString {
		s.over = true
		return
	}
	s.text = appendRune(s.text, r)
}

func (s *Screen) gather(r rune) {
	s.collect = s.collect<<8 | uint32(r)
	s.keep(r)
	switch s.state {
	case escape:
		s.state = escapeMiddle
	case csiEntry, csiParam:
		s.state = csiMiddle
		if r >= 0x3c {
			s.state = csiParam
		}
	case dcsEntry, dcsParam:
		s.state = dcsMiddle
		if r >= 0x3c {
			s.state = dcsParam
		}
	}
}

func (s *Screen) inEscape(r rune) {
	switch {
	case r < 0x20:
		s.execute(r)
	case r < 0x30:
		s.gather(r)
	case r == '[':
		s.keep(r)
		s.state = csiEntry
	case r == ']':
		s.keep(r)
		s.state = oscString
	case r == 'P':
		s.keep(r)
		s.state = dcsEntry
	case r == 'X' || r == '^' || r == '_':
		s.keep(r)
		s.state = ignoredString
	case r < 0x7f:
		s.escDispatch(r)
	case r == 0x7f:
	default:
		s.end()
	}
}

func (s *Screen) number(r rune) {
	s.keep(r)
	switch r {
	case ';':
		s.par.add()
	case ':':
		s.par.addSub()
	default:
		s.par.digit(int32(r - '0'))
	}
}

func (s *Screen) inCSI(r rune) {
	switch {
	case r < 0x20:
		s.execute(r)
	case r == 0x7f:
	case r >= 0xa0:
		if s.state == csiIgnore {
			s.keep(r)
			return
		}
		s.end()
	case r >= 0x40:
		if s.state == csiIgnore {
			s.end()
			return
		}
		s.end()
		s.csi(s.collect<<8 | uint32(r))
		s.before = 0
	case s.state == csiIgnore:
		s.keep(r)
	case r < 0x30:
		s.gather(r)
	case s.state == csiMiddle, s.state == csiParam && r >= 0x3c:
		s.keep(r)
		s.state = csiIgnore
	case r >= 0x3c:
		s.gather(r)
	default:
		s.number(r)
		s.state = csiParam
	}
}

func (s *Screen) inDCS(r rune) {
	switch {
	case r < 0x20 || r == 0x7f:
	case r >= 0xa0:
		if s.state == dcsIgnore {
			s.keep(r)
			return
		}
		s.end()
	case s.state == dcsIgnore:
		s.keep(r)
	case r >= 0x40:
		s.keep(r)
		s.collect = s.collect<<8 | uint32(r)
		s.state = dcsString
	case r < 0x30:
		s.gather(r)
	case s.state == dcsMiddle, s.state == dcsParam && r >= 0x3c:
		s.keep(r)
		s.state = dcsIgnore
	case r >= 0x3c:
		s.gather(r)
	default:
		s.number(r)
		s.state = dcsParam
	}
}

// execute carries out a control character.
func (s *Screen) execute(r rune) {
	s.before = 0
	g := s.on
	switch r {
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\r':
		g.x = 0
	case '\b':
		s.backspace()
	case '\t':
		if g.x < s.cols {
			g.x = g.nextStop(g.x, s.cols)
		}
	case 0x0e:
		s.sets.use(1)
	case 0x0f:
		s.sets.use(0)
	case 0x84:
		s.index()
	case 0x85:
		g.x = 0
		s.index()
	case 0x88:
		s.setTab()
	}
}

func (s *Screen) setTab() {
	g := s.on
	for len(g.tabs) <= g.x { // The cursor may wait behind the last column.
		g.tabs = append(g.tabs, false)
	}
	g.tabs[g.x] = true
}

func (s *Screen) escDispatch(r rune) {
	id := s.collect<<8 | uint32(r)
	s.end()
	s.before = 0
	g := s.on
	switch id {
	case '7':
		s.saveCursor()
	case '8':
		s.restoreCursor()
	case 'D':
		s.index()
	case 'E':
		g.x = 0
		s.index()
	case 'H':
		s.setTab()
	case 'M':
		s.reverseIndex()
	case '=', '>':
		s.modes.keypad = r == '='
	case 'c':
		s.fullReset()
	case 'n', '}':
		s.sets.use(2)
	case 'o', '|':
		s.sets.use(3)
	case '~':
		s.sets.use(1)
	case '%'<<8 | '@', '%'<<8 | 'G':
		s.sets.use(0)
		s.sets.choose(0, nil)
	case '#'<<8 | '8':
		s.alignment()
	default:
		s.chooseSet(byte(id>>8), byte(r), id>>16 == 0)
	}
}

// slots says which set a designation loads.
var slots = map[byte]int{'(': 0, ')': 1, '*': 2, '+': 3, '-': 1, '.': 2}

func (s *Screen) chooseSet(middle, final byte, short bool) {
	slot, ok := slots[middle]
	set, known := charsets[final]
	if ok && known && short {
		s.sets.choose(slot, set)
	}
}

// alignment fills the screen with E.
func (s *Screen) alignment() {
	s.moveTo(0, 0)
	fill := cell{ch: 'E', fg: s.pen.fg, bg: s.pen.bg &^ extended}
	for y := s.on.y; y < s.rows; y++ {
		s.on.rows[y].fill(fill)
		s.on.rows[y].wrapped = false
	}
	s.moveTo(0, 0)
}

func appendRune(b []byte, r rune) []byte {
	if r < 0x80 {
		return append(b, byte(r))
	}
	return append(b, string(r)...)
}
