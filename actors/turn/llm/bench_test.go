package llm

import (
	"strconv"
	"testing"
)

// benchDeltas is how many text deltas one stream holds.
const benchDeltas = 100_000

// BenchmarkDecode parses streams of 100,000 text deltas per wire from memory
// and reports ns per delta; the aim is below 6 us.
func BenchmarkDecode(b *testing.B) {
	deltas := make([]string, benchDeltas)
	for i := range deltas {
		deltas[i] = "token" + strconv.Itoa(i%1000) + ` and\n`
	}
	for wire, stream := range streamsOf(deltas) {
		b.Run(wire, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = 0
				err := decoders[wire](stream, false, &sink{emit: func(c Chunk) error {
					if _, ok := c.(TextDelta); ok {
						n++
					}
					return nil
				}})
				if err != nil || n != benchDeltas {
					b.Fatalf("%d deltas, %v", n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchDeltas, "ns/delta")
		})
	}
}
