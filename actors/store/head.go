package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// errNoHead says that a file does not begin like a conversation.
var errNoHead = errors.New("store: not a conversation file")

// head is what a list needs of a conversation file, without its messages.
type head struct {
	id, title, mode, model, project string
	row                             contract.RowID
	provider                        contract.ProviderID
	status                          contract.Status
	parent                          contract.ConversationID
	turn                            contract.TurnID // open when written
	archived, pinned                bool
	created, updated                int64 // ms since 1970
	queued, prompts, edits          int
	worktree                        *contract.Worktree
}

// alwaysWritten are the keys that contract.Record never omits and that come
// before its messages. A file that shows all of them there is one of ours, in
// which nothing that a list needs comes later.
var alwaysWritten = []string{
	"id", "title", "agent", "mode", "provider", "model", "projectPath", "createdAt", "updatedAt",
	"status", "archived", "planMode", "permissionMode", "approveWrites", "turnCounter",
}

// readHead reads the fields before the messages, and those after them only in
// a file that another program wrote.
func readHead(r io.Reader) (head, error) {
	var h head
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return h, errNoHead
	}
	seen := make(map[string]bool, 40)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return h, errNoHead
		}
		key, ok := t.(string)
		if !ok {
			return h, errNoHead
		}
		if key == "messages" {
			if ours(seen) {
				return h, nil
			}
			if err := skip(dec); err != nil {
				return h, errNoHead
			}
			continue
		}
		seen[key] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return h, errNoHead
		}
		if err := h.set(key, raw); err != nil {
			return h, errNoHead
		}
	}
	if _, err := dec.Token(); err != nil {
		return h, errNoHead
	}
	return h, nil
}

func ours(seen map[string]bool) bool {
	for _, key := range alwaysWritten {
		if !seen[key] {
			return false
		}
	}
	return true
}

// skip reads over one value without keeping it.
func skip(dec *json.Decoder) error {
	for depth := 0; ; {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// set takes one field. A field that a list does not show is not looked at.
func (h *head) set(key string, raw json.RawMessage) error {
	var into any
	switch key {
	case "id":
		into = &h.id
	case "title":
		into = &h.title
	case "agent":
		into = &h.row
	case "mode":
		into = &h.mode
	case "provider":
		into = &h.provider
	case "model":
		into = &h.model
	case "projectPath":
		into = &h.project
	case "createdAt":
		into = &h.created
	case "updatedAt":
		into = &h.updated
	case "status":
		into = &h.status
	case "archived":
		into = &h.archived
	case "pinned":
		into = &h.pinned
	case "openTurn":
		into = &h.turn
	case "parentConversationId":
		into = &h.parent
	case "queuedMessages":
		return count(raw, &h.queued)
	case "openPrompts":
		return count(raw, &h.prompts)
	case "openEdits":
		return count(raw, &h.edits)
	case "worktree":
		h.worktree = contract.DecodeWorktree(raw)
		return nil
	default:
		return nil
	}
	if string(raw) == "null" { // Cleared by a journal line.
		raw = zeroOf(into)
	}
	return json.Unmarshal(raw, into)
}

func zeroOf(into any) json.RawMessage {
	switch into.(type) {
	case *bool:
		return json.RawMessage("false")
	case *int64:
		return json.RawMessage("0")
	default:
		return json.RawMessage(`""`)
	}
}

func count(raw json.RawMessage, n *int) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*n = len(list)
	return nil
}

// moment is a time of a file, in ms since 1970. One that RFC 3339 cannot write,
// because another program counted in other units, would make the whole list
// unreadable, so it is taken for unknown.
func moment(ms int64) time.Time {
	const year9999 = 253402300799999
	if ms < 0 || ms > year9999 {
		ms = 0
	}
	return time.UnixMilli(ms).UTC()
}

// endsWhole reports whether a file's last bytes end an object, which a file cut
// short by another program does not.
func endsWhole(tail []byte) bool {
	return bytes.HasSuffix(bytes.TrimSpace(tail), []byte("}"))
}

// summary is what a list shows of a file.
func (h head) summary(id contract.ConversationID) contract.Summary {
	s := contract.Summary{
		SessionID: id, Title: h.title, Row: h.row, Provider: h.provider, Model: h.model,
		ProjectPath: h.project, Status: h.status, Archived: h.archived, Pinned: h.pinned,
		CreatedAt: moment(h.created), UpdatedAt: moment(h.updated),
		NeedsYou: h.prompts + h.edits, Queued: h.queued, Worktree: h.worktree,
	}
	if h.parent != "" {
		s.ParentSessionID = &h.parent
	}
	if notice, retired := contract.Retired(h.row); retired {
		s.RetiredNotice = notice
	}
	return s
}

// opened is what is known of a turn that was open when a file was written: of
// the parts in said it is known, and those in are are open.
type opened struct{ said, are uint8 }

// The parts of an open turn, each a field of the file.
const (
	openTurn uint8 = 1 << iota
	openPrompts
	openEdits
	openAll = openTurn | openPrompts | openEdits
)

var openFields = map[string]uint8{"openTurn": openTurn, "openPrompts": openPrompts, "openEdits": openEdits}

func (h head) open() opened {
	out := opened{said: openAll}
	if h.turn != "" {
		out.are |= openTurn
	}
	if h.prompts > 0 {
		out.are |= openPrompts
	}
	if h.edits > 0 {
		out.are |= openEdits
	}
	return out
}
