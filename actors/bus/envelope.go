package bus

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// appendEnvelope appends one encoded contract.Envelope: the same keys in the
// same order as json.Marshal would write, without its cost. Subject and turn
// need no escapes (contract.ParseSubject, validTurn); payload is JSON, made
// compact here if it has line breaks, which would end an SSE line.
func appendEnvelope(dst []byte, seq uint64, at time.Time, subject, turn string, payload []byte) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = at.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","subject":"`...)
	dst = append(dst, subject...)
	if turn != "" {
		dst = append(dst, `","turn":"`...)
		dst = append(dst, turn...)
	}
	dst = append(dst, `","data":`...)
	if bytes.IndexByte(payload, '\n') >= 0 || bytes.IndexByte(payload, '\r') >= 0 {
		var b bytes.Buffer
		if err := json.Compact(&b, payload); err == nil {
			payload = b.Bytes()
		}
	}
	dst = append(dst, payload...)
	return append(dst, '}')
}

// delivery is what the reply subject of a delivered message says.
type delivery struct {
	consumerSeq, streamSeq uint64
	at                     time.Time
	pending                uint64
}

// parseDelivery reads a subject "$JS.ACK.<stream>.<consumer>.<delivered>.
// <stream seq>.<consumer seq>.<ns>.<pending>", or the form with domain and
// account before the stream and a random token at the end. Source: ADR-15.
func parseDelivery(reply string) (delivery, bool) {
	var token [12]string
	n := 0
	for start := 0; n < len(token); {
		dot := -1
		for i := start; i < len(reply); i++ {
			if reply[i] == '.' {
				dot = i
				break
			}
		}
		if dot < 0 {
			token[n] = reply[start:]
			n++
			break
		}
		token[n] = reply[start:dot]
		n++
		start = dot + 1
	}
	if n < 9 || token[0] != "$JS" || token[1] != "ACK" {
		return delivery{}, false
	}
	at := 5
	if n > 9 {
		at = 7
		if n < 11 {
			return delivery{}, false
		}
	}
	var v [4]uint64
	for i := range v {
		u, err := strconv.ParseUint(token[at+i], 10, 64)
		if err != nil {
			return delivery{}, false
		}
		v[i] = u
	}
	return delivery{streamSeq: v[0], consumerSeq: v[1], at: time.Unix(0, int64(v[2])), pending: v[3]}, true
}
