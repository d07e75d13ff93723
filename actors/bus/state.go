package bus

// Stored is what the stream holds on its disk.
type Stored struct {
	// First is the oldest sequence number that is held, Bytes the size.
	First, Bytes uint64
}

// Stored asks the stream, which takes about a millisecond; ok is false while
// there is none.
func (l *Log) Stored() (s Stored, ok bool) {
	l.mu.Lock()
	at := l.session
	l.mu.Unlock()
	if at == nil {
		return Stored{}, false
	}
	info, err := at.js.StreamInfo(streamName)
	if err != nil {
		return Stored{}, false
	}
	return Stored{First: info.State.FirstSeq, Bytes: info.State.Bytes}, true
}
