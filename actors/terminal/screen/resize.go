package screen

// Resize changes the size, as Fit returns it. Wrapped lines of the normal
// screen are laid out anew, but for the one that holds the cursor: its program
// draws it again.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = Fit(cols, rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	oldCols := s.cols
	s.cols, s.rows = cols, rows
	for _, g := range []*grid{&s.normal, &s.alt} {
		s.fitRows(g, oldCols)
	}
	if cols != oldCols {
		s.reflow(oldCols)
	}
	for _, g := range []*grid{&s.normal, &s.alt} {
		for _, r := range g.rows {
			r.resize(cols)
		}
		g.setTabs(cols, cols)
	}
}

// fitRows adds or takes rows. A taller screen takes lines back from the history
// if the cursor is in the last row; a lower one loses what is below the cursor
// first.
func (s *Screen) fitRows(g *grid, oldCols int) {
	g.bottom = s.rows - 1
	if g.rows == nil {
		return
	}
	pulled := 0
	for len(g.rows) < s.rows {
		if g.scrolls && s.history.len() > 0 && len(g.rows) <= g.y+pulled+1 {
			g.rows = append([]*row{s.history.pop(oldCols)}, g.rows...)
			pulled++
			continue
		}
		g.rows = append(g.rows, newRow(oldCols, cell{}))
	}
	for len(g.rows) > s.rows {
		if len(g.rows) > g.y+1 {
			g.rows = g.rows[:len(g.rows)-1]
			continue
		}
		if g.scrolls {
			before := s.history.len()
			gone := s.history.push(g.rows[0])
			if s.history.len() == before && gone == 0 {
				gone = 1
			}
			g.saved.y = max(g.saved.y-gone, 0)
		}
		g.rows = g.rows[1:]
	}
	g.x = min(g.x, s.cols-1)
	g.y = min(g.y, s.rows-1) + pulled
	g.saved.x = min(g.saved.x, s.cols-1)
	g.top = 0
}

// flow is the normal screen and its history as one list of encoded lines, while
// they are laid out anew.
type flow struct {
	from, to       history
	oldCols, cols  int
	rows           int
	cursor         int // The line of the cursor, in from.
	base, y, saved int
	limit          int // How many lines there may be.
	// arena and packed are lines that wait for their place.
	arena  []byte
	packed []packed
}

// packed is an encoded line in an arena.
type packed struct {
	line line
	at   int
}

// pack encodes rows for later and returns where they are in f.packed.
func (f *flow) pack(rows []*row) (from, to int) {
	from = len(f.packed)
	for _, r := range rows {
		at := len(f.arena)
		var plain bool
		f.arena, plain = encode(f.arena, r)
		f.packed = append(f.packed, packed{lineOf(r, len(f.arena)-at, plain), at})
	}
	return from, len(f.packed)
}

func (f *flow) unpack(from, to int) {
	for _, p := range f.packed[from:to] {
		f.to.add(p.line, f.arena[p.at:p.at+int(p.line.size)])
	}
}

func (s *Screen) reflow(oldCols int) {
	g := &s.normal
	f := flow{
		from: s.history, oldCols: oldCols, cols: s.cols, rows: s.rows,
		base: s.history.len(), y: g.y, saved: g.saved.y, limit: s.history.maxLines + s.rows,
	}
	f.cursor = f.base + f.y
	// Room for what is on the screen, too.
	f.from.maxLines, f.from.maxBytes = f.limit, 4*s.history.maxBytes
	for _, r := range g.rows {
		f.from.push(r)
	}
	f.to = history{maxLines: s.history.maxLines + 4*s.rows + s.history.len()*oldCols, maxBytes: f.from.maxBytes}
	if s.cols > oldCols {
		f.widen()
	} else {
		f.narrow()
	}
	g.rows = make([]*row, s.rows)
	for f.to.len() > f.base+s.rows {
		f.to.pop(1)
	}
	shown := max(f.to.len()-f.base, 0)
	for i := s.rows - 1; i >= 0; i-- {
		if i < shown {
			g.rows[i] = f.to.pop(s.cols)
		} else {
			g.rows[i] = newRow(s.cols, cell{})
		}
	}
	g.y, g.saved.y = min(f.y, s.rows-1), f.saved
	s.history = f.to.within(s.history.maxLines, s.history.maxBytes)
}

// within is a history with these bounds; the oldest lines may go.
func (h *history) within(lines, bytes int) history {
	h.maxLines, h.maxBytes = lines, bytes
	for h.n > lines {
		h.drop()
	}
	if len(h.buf) <= bytes {
		return *h
	}
	kept := history{maxLines: lines, maxBytes: bytes}
	for i := range h.n {
		l := *h.line(i)
		kept.add(l, h.bytes(&l))
	}
	return kept
}

// group is the end of the wrapped line that begins at i.
func (f *flow) group(i int) int {
	j := i + 1
	for j < f.from.len() && f.from.line(j).wrapped {
		j++
	}
	return j
}

func (f *flow) holdsCursor(i, j int) bool { return f.cursor >= i && f.cursor < j }

// copy takes the lines from i up to j over; what does not fit is cut off.
func (f *flow) copy(i, j int) {
	for ; i < j; i++ {
		l := *f.from.line(i)
		if int(l.cols) <= f.cols {
			f.to.add(l, f.from.bytes(&l))
			continue
		}
		r := decode(f.from.bytes(&l), f.cols)
		r.wrapped = l.wrapped
		f.to.push(r)
	}
}

// layout cuts the wrapped line from i up to j into rows of the new width.
func (f *flow) layout(i, j int) []*row {
	var old []*row
	for k := i; k < j; k++ {
		old = append(old, decode(f.from.bytes(f.from.line(k)), f.oldCols))
	}
	out := []*row{newRow(f.cols, cell{})}
	out[0].wrapped = f.from.line(i).wrapped
	x := 0
	for k, r := range old {
		take := r.trimmed()
		if k < len(old)-1 {
			take = f.oldCols
			if last := r.cells[take-1]; !last.hasContent() && last.width() == 1 && old[k+1].cells[0].width() == 2 {
				take--
			}
		}
		for c := range take {
			if x == f.cols || x == f.cols-1 && r.cells[c].width() == 2 {
				next := newRow(f.cols, cell{})
				next.wrapped = true
				out = append(out, next)
				x = 0
			}
			out[len(out)-1].put(x, r, c)
			x++
		}
	}
	return out
}

// widen lays wrapped lines out from the top.
func (f *flow) widen() {
	removed := 0
	for i := 0; i < f.from.len(); {
		j := f.group(i)
		if j == i+1 || f.holdsCursor(i, j) {
			f.copy(i, j)
			i = j
			continue
		}
		rows := f.layout(i, j)
		for len(rows) > 1 && rows[len(rows)-1].trimmed() == 0 {
			rows = rows[:len(rows)-1]
		}
		for _, r := range rows {
			f.to.push(r)
		}
		removed += j - i - len(rows)
		i = j
	}
	for range removed {
		if f.base == 0 {
			f.y = max(f.y-1, 0)
		} else {
			f.base--
		}
	}
	f.saved = max(f.saved-removed, 0)
}

// narrow lays out from the bottom, since that decides which lines stay on the
// screen.
func (f *flow) narrow() {
	total := f.from.len()
	laid := make(map[int][2]int) // What is in packed, by first line.
	added := 0
	for j := total; j > 0; {
		i := j - 1
		for i > 0 && f.from.line(i).wrapped {
			i--
		}
		if first := f.from.line(i); (j > i+1 || first.wrapped || int(first.trimmed) > f.cols) && !f.holdsCursor(i, j) {
			rows := f.layout(i, j)
			for len(rows) < j-i {
				blank := newRow(f.cols, cell{})
				blank.wrapped = true
				rows = append(rows, blank)
			}
			from, to := f.pack(rows)
			laid[i] = [2]int{from, to}
			more := len(rows) - (j - i)
			added += more
			total -= f.follow(more, total, added)
		}
		j = i
	}
	n := f.from.len()
	for i := 0; i < n; {
		at, ok := laid[i]
		j := f.group(i)
		if !ok {
			f.copy(i, j)
			i = j
			continue
		}
		f.unpack(at[0], at[1])
		i = j
	}
	// The lines that went from the bottom, then those that are too many at the
	// top.
	for range n - total {
		f.to.pop(1)
	}
	for f.to.len() > f.limit {
		f.to.drop()
	}
}

// follow moves the screen over the list when more lines were added above its
// end, and returns how many lines went at the bottom.
func (f *flow) follow(more, total, added int) (popped int) {
	over := total - f.limit + more
	if f.base == 0 && f.y != total-1 {
		over = f.y - f.limit + more
	}
	for range more - max(over, 0) {
		switch {
		case f.base > 0:
			if f.base < min(f.limit, total-popped+added)-f.rows {
				f.base++
			}
		case f.y < f.rows-1:
			f.y++
			popped++
		default:
			f.base++
		}
	}
	f.saved = min(f.saved+more, f.base+f.rows-1)
	return popped
}
