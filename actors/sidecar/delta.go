package sidecar

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

// delta reads the frame that nearly all lines are: a compact object of strings
// with type, session, turn and text. ok is false for anything else, which
// decode then reads; the two agree on what both read. It exists because the
// general decoder was half of the cost of a line.
func delta(line []byte) (f frame, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("{"))
	for ok {
		var key, value []byte
		if key, rest, ok = plainString(rest); !ok {
			return f, false
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(":")); !ok {
			return f, false
		}
		if value, rest, ok = plainString(rest); !ok {
			return f, false
		}
		switch string(key) {
		case "type":
			f.Type = string(value)
		case "sessionId":
			f.SessionID = contract.ConversationID(value)
		case "turnId":
			f.TurnID = contract.TurnID(value)
		case "text":
			f.Text = string(value)
		default:
			return f, false
		}
		if string(rest) == "}" {
			return f, f.Type == "chunk" || f.Type == "thinking"
		}
		rest, ok = bytes.CutPrefix(rest, []byte(","))
	}
	return f, false
}

// plainString takes a JSON string off the front of b. ok is false when it is
// none, or one that is better left to the general decoder.
func plainString(b []byte) (value, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	escaped := false
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if value = b[1:i]; !utf8.Valid(value) {
				return nil, nil, false
			}
			if escaped {
				var s string
				if json.Unmarshal(b[:i+1], &s) != nil {
					return nil, nil, false
				}
				value = []byte(s)
			}
			return value, b[i+1:], true
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			return nil, nil, false
		}
	}
	return nil, nil, false
}
