package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// Replayed is what a replay found.
type Replayed struct {
	// Lines were applied; Good is their length in bytes. What comes after Good
	// must be cut off before anything is appended.
	Lines int
	Good  int64
	// Torn says that the last line had no end: a save that a kill interrupted
	// and that nobody was told had been written.
	Torn bool
	// Bad is set when a whole line could not be applied (ErrBadLine). It and
	// all lines after it were left out.
	Bad error
}

// Replay applies the lines after a journal's first one to r.
func Replay(r *contract.Record, lines []byte) Replayed {
	p := player{record: r}
	var out Replayed
	for len(lines) > 0 {
		line, rest, whole := bytes.Cut(lines, []byte("\n"))
		if !whole {
			out.Torn = true
			break
		}
		if err := p.line(line); err != nil {
			out.Bad = err
			break
		}
		out.Lines++
		out.Good += int64(len(line)) + 1
		lines = rest
	}
	if err := p.finish(); err != nil && out.Bad == nil {
		out.Bad = err
	}
	return out
}

// Apply applies one line to r. It fails with ErrBadLine, and then nothing of
// the line was applied. For more than a few lines use Replay, which joins the
// appended texts once.
func Apply(r *contract.Record, line []byte) error {
	p := player{record: r}
	if err := p.line(line); err != nil {
		return err
	}
	return p.finish()
}

// Heads returns the fields of the last head and all sets after it, for a list
// that shows fields and no messages. Reset says that fields replace what the
// file holds, instead of being laid over it. Lines that are no operations end
// it, as they end a replay.
func Heads(lines []byte) (fields map[string]json.RawMessage, reset bool) {
	fields = make(map[string]json.RawMessage)
	for {
		line, rest, whole := bytes.Cut(lines, []byte("\n"))
		if !whole {
			return fields, reset
		}
		ops, err := Decode(line)
		if err != nil {
			return fields, reset
		}
		for _, op := range ops {
			if op.Head != nil {
				var head map[string]json.RawMessage
				if json.Unmarshal(op.Head, &head) != nil || head == nil {
					return fields, reset
				}
				fields, reset = head, true
			}
			maps.Copy(fields, op.Set)
		}
		lines = rest
	}
}

// player applies operations and puts off what would cost the whole transcript
// or the whole head with every line.
type player struct {
	record *contract.Record
	// head holds the fields once a line touched them, nil before.
	head map[string]json.RawMessage
	// texts holds what is appended to a message, by index.
	texts map[int]*text
}

type text struct{ content, thinking strings.Builder }

// line applies one line or nothing.
func (p *player) line(line []byte) error {
	ops, err := Decode(line)
	if err != nil {
		return err
	}
	if err := p.check(ops); err != nil {
		return err
	}
	for _, op := range ops {
		if err := p.apply(op); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a line before anything of it is applied.
func (p *player) check(ops []Op) error {
	if len(ops) == 0 {
		return fmt.Errorf("%w: it holds no operation", ErrBadLine)
	}
	n := len(p.record.Messages)
	parts := make(map[int]int) // Lengths that earlier operations of this line made.
	partsOf := func(i int) int {
		if k, ok := parts[i]; ok {
			return k
		}
		return len(p.record.Messages[i].Parts)
	}
	for _, op := range ops {
		kinds := 0
		for _, set := range []bool{op.Head != nil, op.Set != nil, op.Put != nil, op.Append != nil, op.Truncate != nil} {
			if set {
				kinds++
			}
		}
		switch {
		case kinds != 1:
			return fmt.Errorf("%w: it is not exactly one of head, set, put, append and truncate", ErrBadLine)
		case op.Head != nil:
			if err := checkHead(op.Head); err != nil {
				return err
			}
		case op.Set != nil:
			for key, value := range op.Set {
				if err := checkHead(field(key, value)); err != nil {
					return err
				}
			}
		case op.Put != nil:
			if *op.Put < 0 || *op.Put > n || op.Message == nil {
				return fmt.Errorf("%w: put %d of %d messages", ErrBadLine, *op.Put, n)
			}
			if *op.Put == n {
				n++
			}
			parts[*op.Put] = len(op.Message.Parts)
		case op.Append != nil:
			i := *op.Append
			if i < 0 || i >= n {
				return fmt.Errorf("%w: append to %d of %d messages", ErrBadLine, i, n)
			}
			if op.From < 0 || op.From > partsOf(i) {
				return fmt.Errorf("%w: parts from %d of %d", ErrBadLine, op.From, partsOf(i))
			}
			if op.From > 0 || len(op.Parts) > 0 {
				parts[i] = op.From + len(op.Parts)
			}
		case op.Truncate != nil:
			if *op.Truncate < 0 || *op.Truncate > n {
				return fmt.Errorf("%w: truncate to %d of %d messages", ErrBadLine, *op.Truncate, n)
			}
			n = *op.Truncate
			maps.DeleteFunc(parts, func(i, _ int) bool { return i >= n })
		}
	}
	return nil
}

// checkHead refuses fields of the wrong kind and the messages, which have
// operations of their own.
func checkHead(head json.RawMessage) error {
	if !bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		return fmt.Errorf("%w: the head is no object", ErrBadLine)
	}
	var r contract.Record
	if err := json.Unmarshal(head, &r); err != nil {
		return fmt.Errorf("%w: a field of the head has the wrong kind", ErrBadLine)
	}
	if len(r.Messages) > 0 {
		return fmt.Errorf("%w: a head with messages", ErrBadLine)
	}
	return nil
}

// field is an object with one key.
func field(key string, value json.RawMessage) json.RawMessage {
	// A map of valid JSON: nothing that Marshal refuses.
	b, _ := contract.Marshal(map[string]json.RawMessage{key: value})
	return b
}

func (p *player) apply(op Op) error {
	r := p.record
	switch {
	case op.Head != nil:
		p.head = nil
		return p.fields(op.Head)
	case op.Set != nil:
		if p.head == nil {
			head, err := EncodeHead(r)
			if err != nil {
				return err
			}
			if err := p.fields(head); err != nil {
				return err
			}
		}
		for key, value := range op.Set {
			if string(value) == "null" {
				delete(p.head, key)
				continue
			}
			p.head[key] = value
		}
	case op.Put != nil:
		delete(p.texts, *op.Put)
		if *op.Put == len(r.Messages) {
			r.Messages = append(r.Messages, *op.Message)
		} else {
			r.Messages[*op.Put] = *op.Message
		}
	case op.Append != nil:
		i := *op.Append
		if p.texts == nil {
			p.texts = make(map[int]*text)
		}
		t := p.texts[i]
		if t == nil {
			t = &text{}
			p.texts[i] = t
		}
		t.content.WriteString(op.Content)
		t.thinking.WriteString(op.Thinking)
		if op.From > 0 || len(op.Parts) > 0 {
			m := &r.Messages[i]
			m.Parts = append(slices.Clip(m.Parts[:op.From]), op.Parts...)
		}
	case op.Truncate != nil:
		r.Messages = r.Messages[:*op.Truncate]
		maps.DeleteFunc(p.texts, func(i int, _ *text) bool { return i >= *op.Truncate })
	}
	return nil
}

// fields replaces the head. Messages are no part of it, not even an empty list.
func (p *player) fields(head json.RawMessage) error {
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(head, &fields); err != nil {
		return fmt.Errorf("%w: the head is no object", ErrBadLine)
	}
	p.head = fields
	return nil
}

// finish writes what was put off into the record.
func (p *player) finish() error {
	for i, t := range p.texts {
		p.record.Messages[i].Content += t.content.String()
		p.record.Messages[i].Thinking += t.thinking.String()
	}
	p.texts = nil
	if p.head == nil {
		return nil
	}
	delete(p.head, "messages")
	head, err := contract.Marshal(p.head)
	if err != nil {
		return err
	}
	var r contract.Record
	if err := json.Unmarshal(head, &r); err != nil {
		return fmt.Errorf("%w: the head does not fit together", ErrBadLine)
	}
	r.Messages = p.record.Messages
	*p.record = r
	p.head = nil
	return nil
}
