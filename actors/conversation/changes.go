package conversation

import (
	"encoding/json"
	"slices"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// changes is what the file does not hold yet.
type changes struct {
	head bool
	// whole are the messages to be written anew, by index.
	whole map[int]bool
	// grown is the message that only got longer since the last save.
	grown grown
	// cut is the number of messages that the file may keep, when it has to
	// drop some first; -1 when none.
	cut int
}

// grown is a streaming message with text and parts that the file lacks.
type grown struct {
	index int
	// part is the first part that has changed or is new.
	part int
	on   bool
}

func newChanges() changes { return changes{whole: map[int]bool{}, cut: -1} }

func (ch *changes) any() bool {
	return ch.head || len(ch.whole) > 0 || ch.grown.on || ch.cut >= 0
}

// put marks message i to be written anew.
func (ch *changes) put(i int) {
	if ch.whole == nil {
		*ch = newChanges()
	}
	ch.whole[i] = true
}

// grow marks text that was appended to message i, whose parts are new or
// changed from part on.
func (ch *changes) grow(i, part int) {
	if ch.whole == nil {
		*ch = newChanges()
	}
	if ch.grown.on && ch.grown.index != i { // Another turn within one save.
		ch.whole[ch.grown.index] = true
		ch.grown.on = false
	}
	if ch.grown.on {
		part = min(part, ch.grown.part)
	}
	ch.grown = grown{index: i, part: part, on: true}
}

// from marks everything from message i on: messages were dropped or replaced.
func (ch *changes) from(i, total int) {
	if ch.whole == nil {
		*ch = newChanges()
	}
	if ch.cut < 0 || i < ch.cut {
		ch.cut = i
	}
	for k := range ch.whole {
		if k >= total {
			delete(ch.whole, k)
		}
	}
	for ; i < total; i++ {
		ch.whole[i] = true
	}
}

// saved is what the last successful save holds, kept to say only what differs.
type saved struct {
	head                json.RawMessage
	content, thinking   int // Saved length of message `index`, in bytes.
	parts, index        int
	messages            int // How many the file holds.
	fileSize, journal   int64
	neverWritten, known bool
}

// body encodes the whole record.
func body(r *contract.Record) ([]byte, error) { return contract.Marshal(r) }

// lines encodes the changes as one journal line, and the head they lead to.
func (ch *changes) lines(r *contract.Record, s saved) (line []byte, head json.RawMessage, err error) {
	var ops []journal.Op
	head = s.head
	if ch.cut >= 0 && ch.cut < s.messages { // Otherwise the file never had them.
		ops = append(ops, journal.Truncate(ch.cut))
	}
	if ch.grown.on && !ch.whole[ch.grown.index] && s.index == ch.grown.index && ch.grown.index < len(r.Messages) {
		m := &r.Messages[ch.grown.index]
		from := max(min(ch.grown.part, s.parts), 0)
		ops = append(ops, journal.Append(ch.grown.index, m.Content[s.content:], m.Thinking[s.thinking:], from, m.Parts[from:]))
	} else if ch.grown.on && ch.grown.index < len(r.Messages) {
		ch.whole[ch.grown.index] = true
	}
	indexes := make([]int, 0, len(ch.whole))
	for i := range ch.whole {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for _, i := range indexes {
		if i >= len(r.Messages) {
			continue // Dropped since.
		}
		ops = append(ops, journal.Put(i, r.Messages[i]))
	}
	if ch.head {
		next, err := journal.EncodeHead(r)
		if err != nil {
			return nil, nil, err
		}
		op, changed, err := journal.Set(s.head, next)
		if err != nil {
			return nil, nil, err
		}
		if changed {
			ops = append(ops, op)
		}
		head = next
	}
	line, err = journal.Encode(ops...)
	return line, head, err
}

// wantsBody decides between rewriting the file and appending to its journal.
// A small file is rewritten, which keeps it readable by anyone at any time; a
// large one gets lines until they have grown to half of it, so that each saved
// byte costs a bounded number of written ones however long the transcript is.
func wantsBody(s saved, idle bool) bool {
	switch {
	case s.neverWritten || !s.known:
		return true
	case s.fileSize <= config.SmallConversationBytes:
		return true
	case idle:
		return s.journal > 0
	}
	return s.journal > max(s.fileSize/2, config.SmallConversationBytes)
}
