package screen

import "strconv"

// The look of a cell. Colours and flags share two words, as they do in the
// terminal that a snapshot is played to, so that what it keeps apart is kept
// apart here.
const (
	colourMask = 0xffffff
	modeMask   = 3 << 24
	modeBasic  = 1 << 24 // One of sixteen.
	modeTable  = 2 << 24 // One of 256.
	modeRGB    = 3 << 24
	lookMask   = modeMask | colourMask

	// Flags beside the foreground.
	inverse   = 1 << 26
	bold      = 1 << 27
	underline = 1 << 28
	blink     = 1 << 29
	invisible = 1 << 30
	strike    = 1 << 31

	// Flags beside the background.
	italic   = 1 << 26
	dim      = 1 << 27
	extended = 1 << 28 // The underline has a style, or there is a link.
	guard    = 1 << 29
	overline = 1 << 30
)

// ext is what few cells have besides colours and flags.
type ext struct {
	// style of the underline, 0 to 5; colour of it with its mode.
	style  uint8
	colour uint32
	// link is an index into the links, 0 for none.
	link uint16
}

// noColour is what "default underline colour" leaves behind.
const noColour = lookMask

// pen is what the next character looks like.
type pen struct {
	fg, bg uint32
	ext    ext
}

func (p *pen) mark() {
	if p.ext.style == 0 && p.ext.link == 0 {
		p.bg &^= extended
		return
	}
	p.bg |= extended
}

// blankOf is the cell that erasing leaves: the background's colour and no flag.
func blankOf(p pen) cell { return cell{bg: p.bg & lookMask} }

// Bounds of what programs may make us keep.
const (
	maxExts  = 4096
	maxLinks = 4096
	// maxLinkBytes bounds the text of all links together.
	maxLinkBytes = 512 << 10
)

// looks numbers the extended looks and the links. Both only grow, up to their
// bounds; above those a cell goes without.
type looks struct {
	exts  []ext
	byExt map[ext]uint16

	links     []string // parameters, a semicolon, and the address
	byLink    map[string]uint16
	linkBytes int
}

func (l *looks) index(e ext) uint16 {
	if e == (ext{}) {
		return 0
	}
	if i, ok := l.byExt[e]; ok {
		return i
	}
	if len(l.exts) == 0 {
		l.exts = append(l.exts, ext{})
		l.byExt = make(map[ext]uint16)
	}
	if len(l.exts) >= maxExts {
		return 0
	}
	i := uint16(len(l.exts))
	l.exts = append(l.exts, e)
	l.byExt[e] = i
	return i
}

func (l *looks) of(i uint16) ext {
	if int(i) >= len(l.exts) {
		return ext{}
	}
	return l.exts[i]
}

func (l *looks) link(spec string) uint16 {
	if i, ok := l.byLink[spec]; ok {
		return i
	}
	if len(l.links) == 0 {
		l.links = append(l.links, "")
		l.byLink = make(map[string]uint16)
	}
	if len(l.links) >= maxLinks || l.linkBytes+len(spec) > maxLinkBytes {
		return 0
	}
	i := uint16(len(l.links))
	l.links = append(l.links, spec)
	l.byLink[spec] = i
	l.linkBytes += len(spec)
	return i
}

// sgr changes the pen as "select graphic rendition" says.
func (s *Screen) sgr() {
	p := &s.pen
	for i := 0; i < s.par.n; i++ {
		switch v := s.par.v[i]; {
		case v == 0:
			p.fg, p.bg = 0, 0
			p.ext.style, p.ext.colour = 0, 0
			p.mark()
		case v == 38, v == 48, v == 58:
			i += s.extendedColour(i)
		case v == 4:
			style := int32(1)
			if sub := s.par.sub(i); len(sub) > 0 {
				style = sub[0]
			}
			s.underlined(style)
		case v == 59:
			p.ext.colour = noColour
			p.mark()
		default:
			p.basic(int(v))
		}
	}
	s.penExt = s.looks.index(s.pen.ext)
}

// flags maps a parameter to what it sets in fg and bg.
var flags = [60]struct{ fg, bg uint32 }{
	1: {fg: bold},
	2: {bg: dim},
	3: {bg: italic},
	5: {fg: blink},
	7: {fg: inverse},
	8: {fg: invisible},
	9: {fg: strike}, 53: {bg: overline},
}

// unflags maps a parameter to what it takes away.
var unflags = [60]struct{ fg, bg uint32 }{
	22: {fg: bold, bg: dim}, 23: {bg: italic}, 25: {fg: blink}, 27: {fg: inverse},
	28: {fg: invisible}, 29: {fg: strike}, 55: {bg: overline}, 39: {fg: lookMask}, 49: {bg: lookMask},
}

func (p *pen) basic(v int) {
	switch {
	case v >= 30 && v <= 37:
		p.fg = p.fg&^lookMask | modeBasic | uint32(v-30)
	case v >= 40 && v <= 47:
		p.bg = p.bg&^lookMask | modeBasic | uint32(v-40)
	case v >= 90 && v <= 97:
		p.fg = p.fg&^lookMask | modeBasic | uint32(v-90) | 8
	case v >= 100 && v <= 107:
		p.bg = p.bg&^lookMask | modeBasic | uint32(v-100) | 8
	case v == 21:
		p.line(2)
	case v == 24:
		p.line(0)
	case v < len(flags):
		p.fg = p.fg&^unflags[v].fg | flags[v].fg
		p.bg = p.bg&^unflags[v].bg | flags[v].bg
	}
}

func (s *Screen) underlined(style int32) {
	if style < 0 || style > 5 {
		style = 1
	}
	s.pen.line(uint8(style))
}

func (p *pen) line(style uint8) {
	p.ext.style = style
	if style == 0 {
		p.fg &^= underline
	} else {
		p.fg |= underline
	}
	p.mark()
}

// extendedColour reads 38, 48 or 58 at parameter i in any of its spellings and
// returns how many further parameters it took. Source: ISO 8613-6 with colons,
// xterm with semicolons.
func (s *Screen) extendedColour(i int) int {
	// Target, mode, colour space, three values.
	slots := [6]int32{0, 0, -1, 0, 0, 0}
	space, took := 0, 0
	for {
		slots[took+space] = s.par.v[i+took]
		if sub := s.par.sub(i + took); len(sub) > 0 {
			for j := 0; j < len(sub) && j+took+1+space < len(slots); j++ {
				if slots[1] == 5 {
					space = 1
				}
				if at := took + j + 1 + space; at < len(slots) {
					slots[at] = sub[j]
				}
			}
			break
		}
		if slots[1] == 5 && took+space >= 2 || slots[1] == 2 && took+space >= 5 {
			break
		}
		if slots[1] != 0 {
			space = 1
		}
		took++
		if took+i >= s.par.n || took+space >= len(slots) {
			break
		}
	}
	for j := 2; j < len(slots); j++ {
		if slots[j] == -1 {
			slots[j] = 0
		}
	}
	var to *uint32
	switch slots[0] {
	case 38:
		to = &s.pen.fg
	case 48:
		to = &s.pen.bg
	case 58:
		to = &s.pen.ext.colour
	default:
		return took
	}
	switch slots[1] {
	case 2:
		*to = *to&^lookMask | modeRGB | uint32(slots[3]&255)<<16 | uint32(slots[4]&255)<<8 | uint32(slots[5]&255)
	case 5:
		*to = *to&^lookMask | modeTable | uint32(slots[3]&255)
	}
	return took
}

// appendLook writes the sequence that gives a reset pen this look. A link is
// not part of it.
func appendLook(b []byte, fg, bg uint32, e ext) []byte {
	b = append(b, "\x1b[0"...)
	for _, f := range [...]struct {
		on   bool
		code string
	}{
		{fg&bold != 0, ";1"},
		{bg&dim != 0, ";2"},
		{bg&italic != 0, ";3"},
		{fg&blink != 0, ";5"},
		{fg&inverse != 0, ";7"},
		{fg&invisible != 0, ";8"},
		{fg&strike != 0, ";9"},
		{bg&overline != 0, ";53"},
	} {
		if f.on {
			b = append(b, f.code...)
		}
	}
	if fg&underline != 0 {
		b = append(b, ";4"...)
		if e.style > 1 && bg&extended != 0 {
			b = append(b, ':', '0'+e.style)
		}
	}
	b = appendColour(b, fg, 30, 90, "38")
	b = appendColour(b, bg, 40, 100, "48")
	switch e.colour {
	case 0:
	case noColour:
		b = append(b, ";59"...)
	default:
		b = appendColour(b, e.colour, 0, 0, "58")
	}
	b = append(b, 'm')
	if bg&guard != 0 {
		b = append(b, "\x1b[1\"q"...)
	}
	return b
}

func appendColour(b []byte, v uint32, low, high int, long string) []byte {
	c := int(v & colourMask)
	switch v & modeMask {
	case modeBasic:
		if c < 8 {
			c += low
		} else {
			c += high - 8
		}
		b = append(b, ';')
		return strconv.AppendInt(b, int64(c), 10)
	case modeTable:
		b = append(b, ';')
		b = append(append(b, long...), ";5;"...)
		return strconv.AppendInt(b, int64(c), 10)
	case modeRGB:
		b = append(b, ';')
		b = append(append(b, long...), ";2;"...)
		b = strconv.AppendInt(b, int64(c>>16), 10)
		b = strconv.AppendInt(append(b, ';'), int64(c>>8&255), 10)
		return strconv.AppendInt(append(b, ';'), int64(c&255), 10)
	}
	return b
}
