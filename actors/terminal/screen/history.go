package screen

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// history holds the lines that have left the screen at the top, encoded into
// one ring of bytes. Two bounds: a number of lines, and bytes; the oldest lines
// go when either is reached.
//
// A line is encoded as it would be printed, UTF-8 with these bytes between:
//
//	0x01  a look follows: fg, bg (4 bytes each) and ext (2)
//	0x02  the next character stands alone although it has no width
//	0x03  default look
//	0x04  default look but for the foreground, which follows (4 bytes)
//	0x05  a run of blanks, its length (2 bytes)
//	0x06  a text of several characters in one cell, its width and its length
type history struct {
	maxLines, maxBytes int
	buf                []byte
	// start and end are positions in an endless sequence; buf, whose length is a
	// power of two, holds them modulo that. No line crosses the edge of buf.
	start, end uint64
	lines      []line // A ring.
	first, n   int
	scratch    []byte
}

// line is one encoded row.
type line struct {
	at      uint64
	size    uint32
	cols    uint16 // Columns that are encoded.
	trimmed uint16 // Columns up to the last with content.
	wrapped bool
	plain   bool // Nothing but printable ASCII.
}

const (
	opLook = iota + 1
	opAlone
	opDefault
	opForeground
	opBlanks
	opText
)

const firstHistory = 64 << 10

func (h *history) len() int { return h.n }

func (h *history) line(i int) *line {
	if i += h.first; i >= len(h.lines) {
		i -= len(h.lines)
	}
	return &h.lines[i]
}

func (h *history) bytes(l *line) []byte {
	at := l.at & uint64(len(h.buf)-1)
	return h.buf[at : at+uint64(l.size)]
}

// clear forgets everything and keeps the memory.
func (h *history) clear() { h.first, h.n, h.start, h.end = 0, 0, 0, 0 }

// push appends a row and reports how many old lines went for lack of bytes.
func (h *history) push(r *row) (gone int) {
	var plain bool
	h.scratch, plain = encode(h.scratch[:0], r)
	return h.add(lineOf(r, len(h.scratch), plain), h.scratch)
}

// addPlain appends a line of printable ASCII.
func (h *history) addPlain(text []byte) (gone int) {
	n := uint16(len(text))
	return h.add(line{size: uint32(n), cols: n, trimmed: n, plain: true}, text)
}

func lineOf(r *row, size int, plain bool) line {
	return line{size: uint32(size), cols: uint16(r.used), trimmed: uint16(r.trimmed()), wrapped: r.wrapped, plain: plain}
}

func (h *history) add(l line, b []byte) (gone int) {
	if h.maxLines <= 0 || len(b) > max(h.maxBytes, firstHistory)/4 {
		return 0
	}
	for h.n >= h.maxLines {
		h.drop()
	}
	for !h.fits(len(b)) {
		if max(2*len(h.buf), firstHistory) <= h.maxBytes {
			h.grow()
			continue
		}
		h.drop()
		gone++
	}
	h.skipEdge(len(b))
	if h.n == len(h.lines) {
		lines := make([]line, min(max(2*h.n, 256), h.maxLines))
		for i := range h.n {
			lines[i] = *h.line(i)
		}
		h.lines, h.first = lines, 0
	}
	l.at = h.end
	h.end += uint64(len(b))
	h.n++
	*h.line(h.n - 1) = l
	copy(h.bytes(&l), b)
	return gone
}

// fits reports whether size bytes find room behind the last line.
func (h *history) fits(size int) bool {
	if len(h.buf) == 0 {
		return false
	}
	if h.n == 0 {
		h.start, h.end = 0, 0
		return size <= len(h.buf)
	}
	need := uint64(size)
	if edge := uint64(len(h.buf)) - h.end&uint64(len(h.buf)-1); edge < need {
		need += edge
	}
	return h.end-h.start+need <= uint64(len(h.buf))
}

func (h *history) skipEdge(size int) {
	if edge := uint64(len(h.buf)) - h.end&uint64(len(h.buf)-1); edge < uint64(size) {
		h.end += edge
	}
}

func (h *history) grow() {
	old := *h
	h.buf = make([]byte, max(2*len(old.buf), firstHistory))
	h.start, h.end = 0, 0
	h.lines = make([]line, len(old.lines))
	h.first, h.n = 0, 0
	for i := range old.n {
		l := *old.line(i)
		b := old.bytes(&l)
		h.skipEdge(len(b))
		l.at = h.end
		h.end += uint64(len(b))
		h.lines[h.n] = l
		h.n++
		copy(h.bytes(&l), b)
	}
}

func (h *history) drop() {
	if h.first++; h.first == len(h.lines) {
		h.first = 0
	}
	h.n--
	h.start = h.end
	if h.n > 0 {
		h.start = h.line(0).at
	}
}

// pop takes the newest line back as a row.
func (h *history) pop(cols int) *row {
	l := *h.line(h.n - 1)
	r := decode(h.bytes(&l), cols)
	r.wrapped = l.wrapped
	h.n--
	h.end = l.at
	return r
}

// encode appends the encoding of a row and reports whether it is plain text.
func encode(b []byte, r *row) ([]byte, bool) {
	if !r.plain {
		return encodeStyled(b, r), false
	}
	at := len(b)
	b = slices.Grow(b, r.used)[:at+r.used]
	for i, c := range r.cells[:r.used] {
		if c.ch == 0 {
			return encodeStyled(b[:at], r), false
		}
		b[at+i] = byte(c.ch)
	}
	return b, true
}

func encodeStyled(b []byte, r *row) []byte {
	last := cell{}
	for x := 0; x < r.used; {
		c := r.cells[x]
		if c.fg != last.fg || c.bg != last.bg || c.ext != last.ext {
			b = encodeLook(b, c)
			last = c
		}
		n := 1
		switch {
		case !c.hasContent():
			// A stub without its character counts as a blank, too.
			for x+n < r.used && n < 1<<15 && !r.cells[x+n].hasContent() && sameLook(r.cells[x+n], c) {
				n++
			}
			b = binary.BigEndian.AppendUint16(append(b, opBlanks), uint16(n))
		case c.ch&combined != 0:
			text := r.texts[x]
			b = append(append(b, opText, byte(c.width()), byte(len(text))), text...)
			n = follow(r, x)
		default:
			if c.width() == 0 {
				b = append(b, opAlone)
			}
			b = utf8.AppendRune(b, rune(c.ch&runeMask))
			n = follow(r, x)
		}
		x += n
	}
	return b
}

// follow is the number of columns up to the next character.
func follow(r *row, x int) int {
	if r.cells[x].width() == 2 && x+1 < len(r.cells) && r.cells[x+1].stub() {
		return 2
	}
	return 1
}

func sameLook(a, b cell) bool { return a.fg == b.fg && a.bg == b.bg && a.ext == b.ext }

func encodeLook(b []byte, c cell) []byte {
	switch {
	case c.fg == 0 && c.bg == 0 && c.ext == 0:
		return append(b, opDefault)
	case c.bg == 0 && c.ext == 0:
		return binary.BigEndian.AppendUint32(append(b, opForeground), c.fg)
	}
	b = binary.BigEndian.AppendUint32(append(b, opLook), c.fg)
	b = binary.BigEndian.AppendUint32(b, c.bg)
	return binary.BigEndian.AppendUint16(b, c.ext)
}

// decode makes a row of an encoded line; what does not fit is left out.
func decode(b []byte, cols int) *row {
	r := newRow(cols, cell{})
	var look cell
	x := 0
	character := func(c cell, text string) {
		width := c.width()
		if x+max(width, 1) > cols {
			x = cols
			return
		}
		if text != "" {
			if r.texts == nil {
				r.texts = make(map[int]string)
			}
			r.texts[x] = text
		}
		r.set(x, c)
		x++
		if width == 2 {
			r.set(x, cell{ch: half, fg: c.fg, bg: c.bg, ext: c.ext})
			x++
		}
	}
	alone, plain := false, true
	for len(b) > 0 && x < cols {
		op := b[0]
		if op >= 0x20 {
			code, size := utf8.DecodeRune(b)
			b = b[size:]
			c := look
			width := widthOf(code)
			if alone {
				width, alone = 0, false
			} else {
				width = max(width, 1)
			}
			c.ch = coded(code, width)
			plain = plain && code < 0x7f
			character(c, "")
			continue
		}
		plain = false
		switch op {
		case opLook:
			look = cell{fg: binary.BigEndian.Uint32(b[1:]), bg: binary.BigEndian.Uint32(b[5:]), ext: binary.BigEndian.Uint16(b[9:])}
			b = b[11:]
		case opAlone:
			alone = true
			b = b[1:]
		case opDefault:
			look = cell{}
			b = b[1:]
		case opForeground:
			look = cell{fg: binary.BigEndian.Uint32(b[1:])}
			b = b[5:]
		case opBlanks:
			for range int(binary.BigEndian.Uint16(b[1:])) {
				if x < cols {
					r.set(x, look)
					x++
				}
			}
			b = b[3:]
		case opText:
			c := look
			c.ch = coded(0, int(b[1])) | combined
			size := int(b[2])
			character(c, string(b[3:3+size]))
			b = b[3+size:]
		default:
			return r // Never written by encode.
		}
	}
	r.plain = plain
	return r
}
