package screen

// cell is one place of the grid. The zero value is a blank that was never
// written, in default colours.
type cell struct {
	// ch holds a code point in bits 0 to 20, bit 21 for a combined text kept
	// beside the row, and a width code in bits 22 and 23.
	ch uint32
	// fg and bg hold a colour in bits 0 to 23, its mode in 24 and 25, and flags
	// above; see style.go.
	fg, bg uint32
	// ext is an index into the table of underline styles and links.
	ext uint16
}

const (
	runeMask    = 1<<21 - 1
	combined    = 1 << 21
	contentMask = runeMask | combined

	// The width codes are chosen so that a blank, which is one column wide, is
	// zero.
	widthShift = 22
	single     = 0 << widthShift
	half       = 1 << widthShift // The second column of a wide character, or a mark of no width.
	double     = 2 << widthShift
	widthMask  = 3 << widthShift
)

func (c cell) hasContent() bool { return c.ch&contentMask != 0 }

// width is the number of columns that c takes, 0 to 2.
func (c cell) width() int {
	switch c.ch & widthMask {
	case half:
		return 0
	case double:
		return 2
	}
	return 1
}

// stub reports whether c is the second column of a wide character.
func (c cell) stub() bool { return c.ch == half }

func coded(r rune, width int) uint32 {
	switch width {
	case 0:
		return uint32(r) | half
	case 2:
		return uint32(r) | double
	}
	return uint32(r)
}

// row is one line of the grid.
type row struct {
	cells []cell
	// texts holds the combined texts by column.
	texts map[int]string
	// used is behind the last cell that may differ from the zero value.
	used int
	// plain: every cell is ASCII or blank, in default colours.
	plain bool
	// wrapped: this row continues the one above it.
	wrapped bool
}

func newRow(cols int, fill cell) *row {
	r := &row{cells: make([]cell, cols), plain: true}
	r.fill(fill)
	return r
}

// fill makes the whole row one cell; it leaves wrapped alone.
func (r *row) fill(c cell) {
	clear(r.cells[:r.used])
	r.texts = nil
	r.used, r.plain = 0, true
	if c == (cell{}) {
		return
	}
	for i := range r.cells {
		r.cells[i] = c
	}
	r.used, r.plain = len(r.cells), false
}

func (r *row) set(x int, c cell) {
	if x < 0 || x >= len(r.cells) {
		return
	}
	r.cells[x] = c
	if x >= r.used {
		r.used = x + 1
	}
	r.plain = false
}

// blank makes a cell empty without a new look at its neighbours.
func (r *row) blank(x int, like cell) {
	r.set(x, cell{fg: like.fg, bg: like.bg, ext: like.ext})
}

func (r *row) text(x int) string {
	c := r.cells[x]
	switch {
	case c.ch&combined != 0:
		return r.texts[x]
	case c.ch&runeMask != 0:
		return string(rune(c.ch & runeMask))
	}
	return ""
}

// join adds a mark to the character at x.
func (r *row) join(x int, mark rune, width int) {
	if x < 0 || x >= len(r.cells) {
		return
	}
	c := r.cells[x]
	switch {
	case c.ch&combined != 0:
		// Programs that never stop adding marks would fill memory.
		if len(r.texts[x]) < maxMarks {
			r.texts[x] += string(mark)
		}
	case c.ch&runeMask != 0:
		if r.texts == nil {
			r.texts = make(map[int]string)
		}
		r.texts[x] = string(rune(c.ch&runeMask)) + string(mark)
		c.ch = c.ch&^runeMask | combined
	default:
		c.ch = uint32(mark)
	}
	if width > 0 {
		c.ch = c.ch&^widthMask | coded(0, width)
	}
	r.set(x, c)
}

// maxMarks bounds the text of one cell in bytes.
const maxMarks = 120

// put moves a cell of from, with its text.
func (r *row) put(x int, from *row, at int) {
	c := from.cells[at]
	if c.ch&combined != 0 {
		text := from.texts[at]
		if r.texts == nil {
			r.texts = make(map[int]string)
		}
		r.texts[x] = text
	}
	r.set(x, c)
}

// insert makes room for n cells at x; what is pushed over the edge is lost.
func (r *row) insert(x, n int, fill cell) {
	cols := len(r.cells)
	x %= cols
	if x > 0 && r.cells[x-1].width() == 2 {
		r.blank(x-1, fill)
	}
	n = min(n, cols-x)
	for i := cols - n - 1; i >= x; i-- {
		r.put(i+n, r, i)
	}
	for i := range n {
		r.set(x+i, fill)
	}
	if r.cells[cols-1].width() == 2 {
		r.blank(cols-1, fill)
	}
}

// remove takes n cells at x out and fills up from the right.
func (r *row) remove(x, n int, fill cell) {
	cols := len(r.cells)
	x %= cols
	n = min(n, cols-x)
	for i := x; i < cols-n; i++ {
		r.put(i, r, i+n)
	}
	for i := cols - n; i < cols; i++ {
		r.set(i, fill)
	}
	if x > 0 && r.cells[x-1].width() == 2 {
		r.blank(x-1, fill)
	}
	if r.cells[x].stub() {
		r.blank(x, fill)
	}
}

// replace fills the columns from start up to end. With guarded it leaves
// protected cells alone.
func (r *row) replace(start, end int, fill cell, guarded bool) {
	cols := len(r.cells)
	keeps := func(x int) bool { return guarded && r.cells[x].bg&guard != 0 }
	if start > 0 && start <= cols && r.cells[start-1].width() == 2 && !keeps(start-1) {
		r.blank(start-1, fill)
	}
	if end < cols && end > 0 && r.cells[end-1].width() == 2 && !keeps(end) {
		r.blank(end, fill)
	}
	if start == 0 && end >= cols && !guarded {
		r.fill(fill)
		return
	}
	if fill == (cell{}) && !guarded {
		if end = min(end, r.used); start < end {
			clear(r.cells[start:end])
		}
		if end == r.used {
			r.used = min(r.used, start)
		}
		return
	}
	for ; start < min(end, cols); start++ {
		if !keeps(start) {
			r.set(start, fill)
		}
	}
}

// trimmed is the number of columns up to the last one with content.
func (r *row) trimmed() int {
	for i := r.used - 1; i >= 0; i-- {
		if c := r.cells[i]; c.hasContent() {
			return i + c.width()
		}
	}
	return 0
}

// resize cuts or lengthens the row with blanks.
func (r *row) resize(cols int) {
	switch {
	case cols > len(r.cells):
		cells := make([]cell, cols)
		copy(cells, r.cells)
		r.cells = cells
	case cols < len(r.cells):
		cells := make([]cell, cols)
		copy(cells, r.cells)
		r.cells = cells
		r.used = min(r.used, cols)
		for x := range r.texts {
			if x >= cols {
				delete(r.texts, x)
			}
		}
	}
}
