// Package journal is the format of a conversation's journal: what was changed
// since its file was written, one line per save, so that saving a delta costs
// the same however long the transcript is.
//
// The file conversations/<id>.journal begins with a line that names the file it
// belongs to ([Base]) and goes on with one line per save. A line is one
// operation, or an array of operations that count together or not at all:
//
//	{"base":{"size":5120,"sum":"<hex of SHA-256>"}}
//	{"head":{...}}                        every field but the messages
//	{"set":{"title":"...","pinned":null}} some of these fields; null clears
//	{"put":3,"message":{...}}             replace message 3, or append it
//	{"append":3,"content":"...","thinking":"...","from":1,"parts":[...]}
//	{"truncate":2}                        keep the first two messages
//
// The conversation's actor encodes ([Encode], [Set]); the store's actor writes
// and replays ([Replay]). A last line without its line end is what a kill left
// and is ignored; a line that cannot be applied ends the replay, and everything
// before it counts. Nothing here reads or writes files, keeps a clock or shares
// state between calls. Source: mcp-state.md 5, faults.md F27 and F30.
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/packetbench/packetbench/contract"
)

// ErrBadLine says that a line is no operation, or one that does not fit the
// record.
var ErrBadLine = errors.New("journal: a line cannot be applied")

// Base names the file that a journal belongs to. A journal whose base is not
// the file's is older than the file: its content is in the file already.
type Base struct {
	// Size is in bytes.
	Size int64 `json:"size"`
	// Sum is the SHA-256 of the file, in hex.
	Sum string `json:"sum"`
}

// BaseOf returns the name of a file with this content.
func BaseOf(body []byte) Base {
	sum := sha256.Sum256(body)
	return Base{Size: int64(len(body)), Sum: hex.EncodeToString(sum[:])}
}

// Line is the first line of a journal, line end included.
func (b Base) Line() []byte {
	// A number and a hex string: nothing that Marshal refuses.
	line, _ := contract.Marshal(struct {
		Base Base `json:"base"`
	}{b})
	return append(line, '\n')
}

// DecodeBase splits a journal into its base and the lines after it. It fails
// with ErrBadLine when the first line is torn or names no base.
func DecodeBase(file []byte) (Base, []byte, error) {
	line, rest, whole := bytes.Cut(file, []byte("\n"))
	var head struct {
		Base *Base `json:"base"`
	}
	if !whole || json.Unmarshal(line, &head) != nil || head.Base == nil {
		return Base{}, nil, fmt.Errorf("%w: the first line names no base", ErrBadLine)
	}
	return *head.Base, rest, nil
}

// Op is one operation. Build it with Head, Set, Put, Append or Truncate; the
// zero value changes nothing and is refused by a replay.
type Op struct {
	Head     json.RawMessage            `json:"head,omitempty"`
	Set      map[string]json.RawMessage `json:"set,omitempty"`
	Put      *int                       `json:"put,omitempty"`
	Message  *contract.RecordMessage    `json:"message,omitempty"`
	Append   *int                       `json:"append,omitempty"`
	Content  string                     `json:"content,omitempty"`
	Thinking string                     `json:"thinking,omitempty"`
	From     int                        `json:"from,omitempty"`
	Parts    []contract.RecordPart      `json:"parts,omitempty"`
	Truncate *int                       `json:"truncate,omitempty"`
}

// EncodeHead returns every field of r but its messages, for Head and Set.
func EncodeHead(r *contract.Record) (json.RawMessage, error) {
	head := *r
	head.Messages = nil
	return contract.Marshal(head)
}

// Head replaces every field but the messages by those of an EncodeHead.
func Head(head json.RawMessage) Op { return Op{Head: head} }

// Set makes the operation that turns one EncodeHead into another; changed is
// false when they hold the same. It costs the fields that differ, not the
// frozen system prompt, so it is what a save of a delta carries.
func Set(prev, next json.RawMessage) (op Op, changed bool, err error) {
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal(prev, &before); err != nil {
		return Op{}, false, fmt.Errorf("journal: previous head: %w", err)
	}
	if err := json.Unmarshal(next, &after); err != nil {
		return Op{}, false, fmt.Errorf("journal: next head: %w", err)
	}
	set := make(map[string]json.RawMessage)
	for key, value := range after {
		if !bytes.Equal(before[key], value) {
			set[key] = value
		}
	}
	for key := range before {
		if _, still := after[key]; !still {
			set[key] = json.RawMessage("null")
		}
	}
	return Op{Set: set}, len(set) > 0, nil
}

// Put replaces message i, or appends it when i is the number of messages.
func Put(i int, m contract.RecordMessage) Op { return Op{Put: &i, Message: &m} }

// Append adds text to message i. Its parts are kept up to from and go on with
// parts; no parts and from 0 leave them as they are. The texts must be whole
// characters, or the halves are lost.
func Append(i int, content, thinking string, from int, parts []contract.RecordPart) Op {
	return Op{Append: &i, Content: content, Thinking: thinking, From: from, Parts: parts}
}

// Truncate keeps the first n messages.
func Truncate(n int) Op { return Op{Truncate: &n} }

// Encode returns the operations of one save as one line, line end included, so
// that a kill keeps all of them or none. No operations are no bytes.
func Encode(ops ...Op) ([]byte, error) {
	var v any = ops
	switch len(ops) {
	case 0:
		return nil, nil
	case 1:
		v = ops[0]
	}
	line, err := contract.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// Decode returns the operations of one line, with or without its line end. It
// fails with ErrBadLine.
func Decode(line []byte) ([]Op, error) {
	line = bytes.TrimSpace(line)
	var ops []Op
	var err error
	if bytes.HasPrefix(line, []byte("[")) {
		err = json.Unmarshal(line, &ops)
	} else {
		ops = make([]Op, 1)
		err = json.Unmarshal(line, &ops[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it is no operation", ErrBadLine)
	}
	return ops, nil
}
