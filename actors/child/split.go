package child

import (
	"bytes"
	"fmt"
)

// Limits of a line protocol. Source: actors.md section 4.
const (
	// MaxSidecarLineBytes is the longest line of the sidecar and of MCP servers.
	MaxSidecarLineBytes = 8 << 20
	// MaxEngineLineBytes is the longest line of an ACP engine.
	MaxEngineLineBytes = 64 << 20
	// MaxUnendedBytes is how much may arrive without a newline before the peer
	// is given up.
	MaxUnendedBytes = 256 << 20
	// headBytes is how much of a dropped line is kept: enough to find whose it
	// was. Source: sidecar-protocol.md 1.
	headBytes = 4 << 10
)

// Line is one line of a child's output, without its line end.
type Line struct {
	// Text is the line itself; nil when Dropped. It belongs to the receiver.
	Text []byte
	// Dropped says that the line was longer than the limit. The stream goes on
	// with the next line.
	Dropped bool
	// Head holds the first bytes of a dropped line, at most 4 KiB.
	Head []byte
	// Size is the length of the line in bytes, also of a dropped one.
	Size int64
}

// EndlessLineError says that a peer sent more than the limit without a newline.
// It is final: the stream cannot be trusted to find its way back.
type EndlessLineError struct {
	// Size is how many bytes had arrived, Limit how many are allowed.
	Size, Limit int64
}

func (e *EndlessLineError) Error() string {
	return fmt.Sprintf("child: %d bytes arrived without a line end, the limit is %d; restart the program that sent them", e.Size, e.Limit)
}

// Splitter cuts a byte stream into lines. It holds at most one unfinished line
// of at most the limit, whatever the peer sends. Not safe for concurrent use.
type Splitter struct {
	max, endless int64
	held         []byte
	size         int64 // bytes of the unfinished line, held or not
	over         bool  // the unfinished line is above max; held is its head
	cr           bool  // over, and the last byte was a carriage return
}

// NewSplitter returns a splitter that drops lines of more than maxLine bytes,
// the line end not counted, and gives up after endless bytes without one.
func NewSplitter(maxLine, endless int64) *Splitter {
	return &Splitter{max: maxLine, endless: endless}
}

// Feed takes the next bytes of the stream, in pieces of any size, and calls emit
// once for each line that they complete. A line ends with "\n"; one "\r" before
// it belongs to the line end. After an [EndlessLineError] the splitter is spent.
func (s *Splitter) Feed(p []byte, emit func(Line)) error {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.add(p)
			if s.size > s.endless {
				return &EndlessLineError{Size: s.size, Limit: s.endless}
			}
			return nil
		}
		s.add(p[:i])
		// Checked here too, so that the outcome does not depend on how the
		// stream was cut into reads.
		if s.size > s.endless {
			return &EndlessLineError{Size: s.size, Limit: s.endless}
		}
		emit(s.take(true))
		p = p[i+1:]
	}
}

// Flush emits what is left when the stream ended without a line end.
func (s *Splitter) Flush(emit func(Line)) {
	if s.size > 0 {
		emit(s.take(false))
	}
}

func (s *Splitter) add(p []byte) {
	if len(p) == 0 {
		return
	}
	s.size += int64(len(p))
	s.cr = p[len(p)-1] == '\r'
	// One byte above the limit is held: it may be the "\r" of the line end.
	if s.size <= s.max+1 {
		s.held = append(s.held, p...)
		return
	}
	if room := headBytes - len(s.held); room > 0 {
		s.held = append(s.held, p[:min(room, len(p))]...)
	}
	if !s.over {
		s.over = true
		s.held = bytes.Clone(s.held[:min(len(s.held), headBytes)]) // lets go of the rest
	}
}

func (s *Splitter) take(ended bool) Line {
	l := Line{Text: s.held, Size: s.size}
	if ended && s.cr {
		l.Size--
		if !s.over {
			l.Text = l.Text[:len(l.Text)-1]
		}
	}
	if l.Size > s.max {
		l.Dropped, l.Head, l.Text = true, l.Text[:min(len(l.Text), headBytes)], nil
	} else if l.Text == nil {
		l.Text = []byte{}
	}
	s.held, s.size, s.over, s.cr = nil, 0, false, false
	return l
}
