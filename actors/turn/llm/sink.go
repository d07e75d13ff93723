package llm

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// sink is the one place where chunks leave a decoder. It keeps the promises of
// the package comment whatever order a provider uses: whole characters, a
// closed thinking run before anything else, paired tool calls, one Done.
type sink struct {
	emit     func(Chunk) error
	text     joiner
	thoughts joiner
	thinking bool
	usage    usage
}

// textDelta passes a piece of the answer on.
func (s *sink) textDelta(piece string) error {
	if piece == "" {
		return nil
	}
	if err := s.thinkingStop(); err != nil {
		return err
	}
	if piece = s.text.push(piece); piece == "" {
		return nil
	}
	return s.emit(TextDelta{Text: piece})
}

// thinkingDelta passes a piece of visible reasoning on and opens a run.
func (s *sink) thinkingDelta(piece string) error {
	if piece == "" {
		return nil
	}
	if err := s.flushText(); err != nil {
		return err
	}
	s.thinking = true
	if piece = s.thoughts.push(piece); piece == "" {
		return nil
	}
	return s.emit(ThinkingDelta{Text: piece})
}

// thinkingStop closes the run, if one is open.
func (s *sink) thinkingStop() error {
	if !s.thinking {
		return nil
	}
	s.thinking = false
	if rest := s.thoughts.flush(); rest != "" {
		if err := s.emit(ThinkingDelta{Text: rest}); err != nil {
			return err
		}
	}
	return s.emit(ThinkingStop{})
}

func (s *sink) flushText() error {
	if rest := s.text.flush(); rest != "" {
		return s.emit(TextDelta{Text: rest})
	}
	return nil
}

// settle closes what is open, before a tool call and before the end.
func (s *sink) settle() error {
	if err := s.thinkingStop(); err != nil {
		return err
	}
	return s.flushText()
}

// done ends the stream.
func (s *sink) done() error {
	if err := s.settle(); err != nil {
		return err
	}
	return s.emit(s.usage.done())
}

// reasoning passes an envelope on. It is dropped when it cannot be encoded,
// which loses a cache hit and nothing else.
func (s *sink) reasoning(envelope any) error {
	details, err := encode(envelope)
	if err != nil {
		return nil // See above.
	}
	if err := s.settle(); err != nil {
		return err
	}
	return s.emit(ReasoningDetails{Details: details})
}

// call accumulates one tool call. Its arguments start empty, never with {}
// (F06).
type call struct {
	id, name string
	open     bool
	join     joiner
	args     strings.Builder
	waiting  []string
}

// start opens the call towards the consumer, once its name is known.
func (c *call) start(s *sink) error {
	if c.open || c.name == "" {
		return nil
	}
	if err := s.settle(); err != nil {
		return err
	}
	c.open = true
	if err := s.emit(ToolUseStart{ID: c.id, Name: c.name}); err != nil {
		return err
	}
	for _, piece := range c.waiting {
		if err := s.emit(ToolUseInputDelta{ID: c.id, Delta: piece}); err != nil {
			return err
		}
	}
	c.waiting = nil
	return nil
}

// more adds a piece of the arguments.
func (c *call) more(s *sink, piece string) error {
	if piece = c.join.push(piece); piece == "" {
		return nil
	}
	c.args.WriteString(piece)
	if !c.open {
		c.waiting = append(c.waiting, piece)
		return nil
	}
	return s.emit(ToolUseInputDelta{ID: c.id, Delta: piece})
}

// end closes the call. whole replaces what was accumulated when nothing was.
func (c *call) end(s *sink, whole string) error {
	if c.name == "" {
		// A call without a name cannot be run; naming it lets the loop answer
		// it with an error that the model can read.
		c.name = "unnamed_tool"
	}
	if err := c.start(s); err != nil {
		return err
	}
	if rest := c.join.flush(); rest != "" {
		c.args.WriteString(rest)
	}
	text := c.args.String()
	if strings.TrimSpace(text) == "" {
		text = whole
	}
	args, ok := objectArguments([]byte(text))
	return s.emit(ToolUseEnd{ID: c.id, Name: c.name, Arguments: args, Invalid: !ok})
}

// callCounter numbers the calls of providers that send no ids. It counts for
// the process, because a prompt's id must not come back in a conversation.
var callCounter atomic.Uint64

func madeUpID(prefix string) string {
	return prefix + "-" + strconv.FormatUint(callCounter.Add(1), 10)
}

// joiner holds back bytes that do not yet make a character: the start of a
// UTF-8 sequence, or the first half of a surrogate pair that piece left in
// its three-byte form. Bytes that can never make one become U+FFFD.
type joiner struct{ held string }

func (j *joiner) push(s string) string {
	if j.held == "" && utf8.ValidString(s) {
		return s
	}
	s, j.held = j.held+s, ""
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			out.WriteString(s[i : i+n])
			i += n
			continue
		}
		rest := s[i:]
		half, isHalf := surrogate(rest)
		switch {
		case isHalf && half < 0xDC00:
			low, isLow := surrogate(rest[3:])
			if isLow && low >= 0xDC00 {
				out.WriteRune((half-0xD800)<<10 + (low - 0xDC00) + 0x10000)
				i += 6
				continue
			}
			if len(rest) == 3 {
				j.held = rest
				return out.String()
			}
			out.WriteRune(utf8.RuneError)
			i += 3
		case isHalf:
			out.WriteRune(utf8.RuneError)
			i += 3
		case !utf8.FullRuneInString(rest):
			j.held = rest
			return out.String()
		default:
			out.WriteRune(utf8.RuneError)
			i++
		}
	}
	return out.String()
}

// flush gives up on what is held.
func (j *joiner) flush() string {
	if j.held == "" {
		return ""
	}
	j.held = ""
	return string(utf8.RuneError)
}

// surrogate reads a surrogate half in its three-byte form.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// piece is a JSON text value with its bytes as they came: encoding/json would
// turn a character that is split over two deltas into two U+FFFD. null and
// values that are no text are "".
type piece string

// UnmarshalJSON keeps raw bytes and lone surrogates; joiner makes them whole.
func (p *piece) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		*p = ""
		return nil
	}
	*p = piece(unquote(b[1 : len(b)-1]))
	return nil
}

// argumentPiece is a piece of tool arguments. Some servers send the object
// itself instead of its text; it is kept as text then.
type argumentPiece string

// UnmarshalJSON is that of piece, except for objects and arrays.
func (p *argumentPiece) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) >= 2 && b[0] == '"':
		*p = argumentPiece(unquote(b[1 : len(b)-1]))
	case len(b) >= 2 && (b[0] == '{' || b[0] == '['):
		*p = argumentPiece(b)
	default:
		*p = ""
	}
	return nil
}

// unquote decodes the inside of a JSON text that a scanner has accepted.
func unquote(b []byte) string {
	i := 0
	for i < len(b) && b[i] != '\\' {
		i++
	}
	if i == len(b) {
		return string(b)
	}
	out := make([]byte, i, len(b))
	copy(out, b)
	for i < len(b) {
		c := b[i]
		if c != '\\' || i+1 >= len(b) {
			out = append(out, c)
			i++
			continue
		}
		c = b[i+1]
		i += 2
		switch c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			if i+4 > len(b) {
				return string(out)
			}
			n, err := strconv.ParseUint(string(b[i:i+4]), 16, 16)
			if err != nil {
				n = utf8.RuneError
			}
			i += 4
			// AppendRune would replace a half; its three bytes are written out.
			if r := rune(n); r >= 0xD800 && r <= 0xDFFF {
				out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			} else {
				out = utf8.AppendRune(out, r)
			}
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// usage gathers token counts. A null, missing or senseless count is 0 (F08).
type usage struct {
	input, output, read, created count
}

func (u *usage) done() Done {
	return Done{
		Input: u.input.n, Output: u.output.n, CacheRead: u.read.n, CacheCreation: u.created.n,
		UsageKnown: u.input.known || u.output.known,
	}
}

// count is a token count as vendors send it: a number, null, or absent.
type count struct {
	n     uint64
	known bool
}

// UnmarshalJSON never fails: a count is not worth a turn.
func (c *count) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		*c = count{n: n, known: true}
		return nil
	}
	if f, err := strconv.ParseFloat(string(b), 64); err == nil && f >= 0 && f < 1<<63 {
		*c = count{n: uint64(f), known: true}
	}
	return nil
}

// take keeps the newest known count.
func (c *count) take(newer count) {
	if newer.known {
		*c = newer
	}
}

// errorObject reads the "error" value of an answer: an object with a message,
// a text, or a whole answer that holds one. status is 0 unless the object
// tells which HTTP status it stands for.
func errorObject(raw json.RawMessage) (message string, status int) {
	var o struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &o) != nil {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s, 0
		}
		return "", 0
	}
	if o.Message == "" && len(o.Error) > 0 && string(o.Error) != "null" {
		return errorObject(o.Error)
	}
	code := strings.Trim(string(o.Code), `"`)
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		return o.Message, n
	}
	for _, word := range []string{o.Type, code} {
		switch word {
		case "rate_limit_error", "rate_limit_exceeded":
			return o.Message, 429
		case "overloaded_error", "engine_overloaded", "server_overloaded":
			return o.Message, statusOverloaded
		case "api_error", "server_error", "internal_server_error":
			return o.Message, 500
		case "timeout_error":
			return o.Message, 504
		}
	}
	return o.Message, 0
}
