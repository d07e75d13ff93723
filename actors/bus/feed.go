package bus

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

const (
	// consumerIdle is when the server forgets a consumer that nobody reads.
	consumerIdle = time.Minute
	// arenaBytes is the size of the blocks that small envelopes are cut from; it
	// saves an allocation per delta and is given back with the last of them.
	arenaBytes = 16 << 10
)

// feed is what the ring is to be told, in order: events that the stream has
// acknowledged, or, with no subject, the number that it is to go on with.
type feed struct {
	seq uint64
	entry
}

// stored hands the first n events of the queue, which the stream has, to the
// ring while anybody reads. mu is held; tellRing is called without it.
func (l *Log) stored(n int) {
	if l.readers == 0 {
		return
	}
	for i := range n {
		// After a disk lost what it had confirmed, events are stored again under
		// the numbers under which they were told.
		if seq := l.base + uint64(i); seq >= l.told {
			l.feeds = append(l.feeds, feed{seq, l.queue[i]})
			l.told = seq + 1
		}
	}
}

// catchUp lets the ring go on with the next event to be stored when it missed
// some. What it missed is read from the stream. mu is held.
func (l *Log) catchUp() {
	if l.readers > 0 && l.base > l.told {
		l.feeds = append(l.feeds, feed{seq: l.base})
		l.told = l.base
	}
}

// tellRing brings the ring up to date, each event encoded once for all readers.
func (l *Log) tellRing() {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	feeds := l.feeds
	l.feeds = l.spare[:0]
	l.mu.Unlock()
	for i := range feeds {
		f := &feeds[i]
		if f.subject == "" {
			l.flushBatch()
			l.ring.reset(f.seq)
			continue
		}
		l.batch = append(l.batch, encode(&l.arena, f.seq, f.at, f.subject, f.turn, f.payload))
	}
	l.flushBatch()
	clear(feeds)
	l.spare = feeds
}

func (l *Log) flushBatch() {
	l.ring.add(l.batch)
	clear(l.batch)
	l.batch = l.batch[:0]
}

// logged encodes one message that was read from the stream. Its time is the one
// that the Log gave it; a message of another writer has the stream's only.
func logged(arena *[]byte, m *nats.Msg, d delivery) msg.Logged {
	turn := ""
	if m.Header != nil {
		if v := m.Header[contract.HeaderTurn]; len(v) > 0 && validTurn(contract.TurnID(v[0])) {
			turn = v[0]
		}
		if v := m.Header[headerTime]; len(v) > 0 {
			if ns, err := strconv.ParseInt(v[0], 10, 64); err == nil {
				d.at = time.Unix(0, ns)
			}
		}
	}
	return encode(arena, d.streamSeq, d.at, m.Subject, turn, m.Data)
}

func encode(arena *[]byte, seq uint64, at time.Time, subject, turn string, payload []byte) msg.Logged {
	need := len(payload) + len(subject) + len(turn) + 128
	if need > arenaBytes/8 {
		return msg.Logged{Seq: seq, Subject: subject, Envelope: appendEnvelope(make([]byte, 0, need), seq, at, subject, turn, payload)}
	}
	if cap(*arena)-len(*arena) < need {
		*arena = make([]byte, 0, arenaBytes)
	}
	start := len(*arena)
	*arena = appendEnvelope(*arena, seq, at, subject, turn, payload)
	end := len(*arena)
	return msg.Logged{Seq: seq, Subject: subject, Envelope: (*arena)[start:end:end]}
}
