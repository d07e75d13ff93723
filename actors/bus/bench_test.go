package bus

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
)

// The target: at least 150,000 events a second with everything stored.
func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 1, 16} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			r := newRig(b, LogOptions{})
			var done sync.WaitGroup
			for range readers {
				wake := make(chan struct{}, 1)
				c := r.log.Follow([]string{"api-agent.*.c1"}, 1, wake)
				done.Go(func() {
					defer c.Close()
					buf := make([]msg.Logged, 0, 1024)
					for got := 0; got < b.N; {
						buf, _ = c.Read(buf[:0], 256<<10)
						got += len(buf)
						if len(buf) == 0 {
							<-wake
						}
					}
				})
			}
			sub := subject(b, "c1")
			payload := []byte(`"a delta of usual size, thirty bytes or so"`)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for {
					if _, err := r.log.Publish(sub, "t-1", payload); err == nil {
						break
					} else if !errors.Is(err, msg.ErrBusDown) {
						b.Fatal(err)
					}
				}
			}
			r.settled(time.Minute)
			done.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// How long an event needs from Publish to a reader, when they come one by one.
func BenchmarkLatency(b *testing.B) {
	r := newRig(b, LogOptions{})
	wake := make(chan struct{}, 1)
	c := r.log.Follow([]string{">"}, 1, wake)
	defer c.Close()
	sub := subject(b, "c1")
	read := func() {
		for {
			if out, _ := c.Read(nil, 1); len(out) > 0 {
				return
			}
			<-wake
		}
	}
	if _, err := r.log.Publish(sub, "t-1", []byte(`"first"`)); err != nil {
		b.Fatal(err)
	}
	read()
	took := make([]time.Duration, 0, b.N)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	b.ResetTimer()
	for range b.N {
		<-tick.C
		began := time.Now()
		if _, err := r.log.Publish(sub, "t-1", []byte(`"delta"`)); err != nil {
			b.Fatal(err)
		}
		read()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}
