package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcAtStart lets the heap grow to five times before it is collected while
	// the service starts: a start keeps most of what it allocates, so collecting
	// it costs time and frees nothing. Measured: 43 instead of 52 ms of processor
	// time with 1,000 stored conversations.
	gcAtStart = 400
	// The service is at rest when it allocated less than restBytes since the
	// last look; memory is given back then if trimBytes were allocated since the
	// last time. A quiet Go program would else keep for minutes what it once
	// needed. Measured: docs/performance.md.
	restEvery = 2 * time.Second
	restBytes = 1 << 20
	trimBytes = 8 << 20
)

// startFast puts collecting off until restore is called. A GOGC of the
// environment stays in force.
func startFast() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcAtStart)
	return func() { debug.SetGCPercent(before) }
}

// trim gives memory back to the system whenever the service comes to rest,
// until ctx ends.
func trim(ctx context.Context) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	r := &resting{}
	for {
		select {
		case <-tick.C:
			if r.due(allocated()) {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			return
		}
	}
}

// resting decides when memory is given back.
type resting struct{ last, trimmed uint64 }

// due takes how many bytes were ever allocated.
func (r *resting) due(total uint64) bool {
	rest := total-r.last < restBytes
	r.last = total
	if !rest || total-r.trimmed < trimBytes {
		return false
	}
	r.trimmed = total
	return true
}

// allocated is how many bytes the program has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
