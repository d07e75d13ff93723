package screen

// Bounds of a size. A terminal larger than that is no window of a person.
const (
	MinCols, MinRows = 2, 1
	MaxCols, MaxRows = 1000, 500
	// maxCells bounds cols times rows, and with it the memory of a screen.
	maxCells = 64 << 10
)

// Fit returns the size nearest to cols and rows that a Screen takes.
func Fit(cols, rows int) (int, int) {
	cols = min(max(cols, MinCols), MaxCols)
	return cols, min(max(rows, MinRows), MaxRows, maxCells/cols)
}

// Options of a Screen.
type Options struct {
	// Cols and Rows are taken as Fit returns them.
	Cols, Rows int
	// Lines is how many lines of scrollback are kept, Bytes how much memory
	// they may take.
	Lines, Bytes int
}

// Screen is what a terminal shows. It is not safe for concurrent use.
type Screen struct {
	cols, rows int
	normal     grid
	alt        grid
	on         *grid // normal or alt
	history    history
	looks      looks

	parser
	pen    pen
	penExt uint16 // The number of pen.ext.
	// before is the width of the character that was printed last, 0 when
	// something else came after it. Marks join only that character.
	before int
	modes  modes
	sets   sets4
	title  string
	titled bool
	// palette are the colours that were changed, by the number of the sequence
	// and the colour; recoloured tells that there ever were any.
	palette    map[string]string
	recoloured bool
	answers    []byte
	starts     []int // Of flood, kept for its memory.
}

// grid is one of the two buffers.
type grid struct {
	rows []*row // nil while the alternate screen is not shown
	// x may be cols: the next character wraps.
	x, y        int
	top, bottom int
	tabs        []bool
	saved       saved
	scrolls     bool // What leaves at the top goes into the history.
}

// saved is what "save cursor" keeps. y counts from the first line of the
// history.
type saved struct {
	x, y   int
	fg, bg uint32
	set    charset
}

// modes are the switches that a program sets.
type modes struct {
	cursorKeys, keypad, paste, origin, reverse, focus, sync, noWrap, insert, hidden, newline bool
	// blink is 0 when never set, else 'h' or 'l'.
	blink byte
	// cursor is the shape as it was asked for, 0 for the window's own.
	cursor int
	// mouse is 0, 9, 1000, 1002 or 1003; coding 0, 1006 or 1016.
	mouse, coding int
}

// sets4 are the character sets; now is the one in force, which "restore cursor"
// may have changed alone.
type sets4 struct {
	g     [4]charset
	level int
	now   charset
}

func (s *sets4) use(level int) { s.level, s.now = level, s.g[level] }

func (s *sets4) choose(slot int, set charset) {
	s.g[slot] = set
	if s.level == slot {
		s.now = set
	}
}

// New returns a blank screen.
func New(o Options) *Screen {
	s := &Screen{}
	s.cols, s.rows = Fit(o.Cols, o.Rows)
	s.history = history{maxLines: o.Lines, maxBytes: o.Bytes}
	s.parser.reset()
	s.blank()
	return s
}

// blank starts with empty buffers, as a full reset does.
func (s *Screen) blank() {
	s.history.clear()
	s.normal = grid{scrolls: true}
	s.alt = grid{}
	s.normal.clear(s.cols, s.rows)
	s.alt.clear(s.cols, s.rows)
	s.normal.show(s.cols, s.rows, cell{})
	s.on = &s.normal
}

// clear is a grid without rows: nothing is kept of it but what was saved.
func (g *grid) clear(cols, rows int) {
	g.rows = nil
	g.x, g.y, g.top, g.bottom = 0, 0, 0, rows-1
	g.tabs = nil
	g.setTabs(0, cols)
}

func (g *grid) show(cols, rows int, fill cell) {
	if g.rows != nil {
		return
	}
	g.rows = make([]*row, rows)
	for i := range g.rows {
		g.rows[i] = newRow(cols, fill)
	}
}

const tabWidth = 8

// setTabs puts the default stops from column from on, which is no stop itself
// unless it was one.
func (g *grid) setTabs(from, cols int) {
	if from > 0 {
		if from >= len(g.tabs) || !g.tabs[from] {
			from = g.previousStop(from, cols)
		}
	}
	for len(g.tabs) < cols {
		g.tabs = append(g.tabs, false)
	}
	for i := from; i < cols; i += tabWidth {
		g.tabs[i] = true
	}
}

func (g *grid) stop(x int) bool { return x >= 0 && x < len(g.tabs) && g.tabs[x] }

func (g *grid) previousStop(x, cols int) int {
	for {
		x--
		if g.stop(x) || x <= 0 {
			break
		}
	}
	return max(min(x, cols-1), 0)
}

func (g *grid) nextStop(x, cols int) int {
	for {
		x++
		if g.stop(x) || x >= cols {
			break
		}
	}
	return min(x, cols-1)
}

// Size is the size in columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Title is the window title and whether one was ever set.
func (s *Screen) Title() (string, bool) { return s.title, s.titled }

// Lines is the number of lines in the scrollback.
func (s *Screen) Lines() int { return s.history.len() }

// Answers returns what the program asked a terminal since the last call, as
// the replies that one would give, and forgets it.
func (s *Screen) Answers() []byte {
	a := s.answers
	s.answers = nil
	return a
}

// maxAnswers bounds the replies that wait for a call of Answers. Nobody asks
// that much.
const maxAnswers = 4 << 10

func (s *Screen) answer(text string) {
	if len(s.answers)+len(text) <= maxAnswers {
		s.answers = append(s.answers, text...)
	}
}

// erased is the cell that erasing leaves now.
func (s *Screen) erased() cell { return blankOf(s.pen) }

// scroll moves the region up by one line.
func (s *Screen) scroll(wrapped bool) {
	g := s.on
	fill := s.erased()
	top := g.rows[g.top]
	if g.top == 0 && g.scrolls {
		// The oldest lines may go: what was saved stays at its line.
		g.saved.y = max(g.saved.y-s.history.push(top), 0)
	}
	copy(g.rows[g.top:g.bottom], g.rows[g.top+1:g.bottom+1])
	top.fill(fill)
	top.wrapped = wrapped
	g.rows[g.bottom] = top
}

// base is the number of lines above the screen.
func (s *Screen) base() int {
	if s.on.scrolls {
		return s.history.len()
	}
	return 0
}

func (s *Screen) lineFeed() {
	g := s.on
	if s.modes.newline {
		g.x = 0
	}
	g.y++
	switch {
	case g.y == g.bottom+1:
		g.y--
		s.scroll(false)
	case g.y >= s.rows:
		g.y = s.rows - 1
	default:
		g.rows[g.y].wrapped = false
	}
	if g.x >= s.cols {
		g.x--
	}
}

func (s *Screen) index() {
	s.restrict(s.cols - 1)
	g := s.on
	g.y++
	if g.y == g.bottom+1 {
		g.y--
		s.scroll(false)
	} else if g.y >= s.rows {
		g.y = s.rows - 1
	}
	s.restrict(s.cols - 1)
}

func (s *Screen) reverseIndex() {
	s.restrict(s.cols - 1)
	g := s.on
	if g.y != g.top {
		g.y--
		s.restrict(s.cols - 1)
		return
	}
	last := g.rows[g.bottom]
	copy(g.rows[g.top+1:g.bottom+1], g.rows[g.top:g.bottom])
	last.fill(s.erased())
	last.wrapped = false
	g.rows[g.top] = last
}

// restrict keeps the cursor on the screen, or in the region in origin mode.
func (s *Screen) restrict(maxX int) {
	g := s.on
	g.x = min(max(g.x, 0), maxX)
	if s.modes.origin {
		g.y = min(max(g.y, g.top), g.bottom)
		return
	}
	g.y = min(max(g.y, 0), s.rows-1)
}

func (s *Screen) moveTo(x, y int) {
	if s.modes.origin {
		y += s.on.top
	}
	s.on.x, s.on.y = x, y
	s.restrict(s.cols - 1)
}

func (s *Screen) moveBy(dx, dy int) {
	s.restrict(s.cols - 1)
	s.moveTo(s.on.x+dx, s.on.y+dy)
}

func (s *Screen) backspace() {
	g := s.on
	if !s.modes.reverse {
		s.restrict(s.cols - 1)
		g.x = max(g.x-1, 0)
		return
	}
	s.restrict(s.cols)
	if g.x > 0 {
		g.x--
	} else if g.y > g.top && g.y <= g.bottom && g.rows[g.y].wrapped {
		g.rows[g.y].wrapped = false
		g.y--
		g.x = s.cols - 1
		// An empty last column was left for a wide character.
		if c := g.rows[g.y].cells[g.x]; c.ch&widthMask != half && !c.hasContent() {
			g.x--
		}
	}
	s.restrict(s.cols - 1)
}

func (s *Screen) saveCursor() {
	g := s.on
	g.saved = saved{x: g.x, y: s.base() + g.y, fg: s.pen.fg, bg: s.pen.bg, set: s.sets.now}
}

func (s *Screen) restoreCursor() {
	g := s.on
	g.x, g.y = g.saved.x, max(g.saved.y-s.base(), 0)
	s.pen.fg, s.pen.bg = g.saved.fg, g.saved.bg
	s.sets.now = g.saved.set
	s.restrict(s.cols - 1)
}

func (s *Screen) toAlt() {
	if s.on == &s.alt {
		return
	}
	s.alt.show(s.cols, s.rows, s.erased())
	s.alt.x, s.alt.y = s.normal.x, s.normal.y
	s.on = &s.alt
}

func (s *Screen) toNormal() {
	if s.on == &s.normal {
		return
	}
	s.normal.x, s.normal.y = s.alt.x, s.alt.y
	s.alt.clear(s.cols, s.rows)
	s.on = &s.normal
}

// fullReset is "reset to initial state". Title, cursor visibility, newline mode
// and colours outlive it in the terminal that we follow.
func (s *Screen) fullReset() {
	s.parser.reset()
	s.before = 0
	s.pen, s.penExt = pen{}, 0
	s.sets = sets4{}
	s.modes = modes{hidden: s.modes.hidden, newline: s.modes.newline, blink: s.modes.blink}
	s.blank()
}

func (s *Screen) softReset() {
	g := s.on
	s.modes = modes{newline: s.modes.newline, blink: s.modes.blink, mouse: s.modes.mouse, coding: s.modes.coding}
	g.top, g.bottom = 0, s.rows-1
	s.pen, s.penExt = pen{}, 0
	s.sets = sets4{}
	g.saved = saved{y: s.base()}
}
