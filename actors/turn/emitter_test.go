package turn

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// Everything arrives once, in the order of its sender, whatever the credits
// do; no more batches are under way than there are credits, and the queue is
// bounded.
func TestEmitter_OrderAndCredits(t *testing.T) {
	t.Parallel()
	const senders, each = 4, 3000
	for seed := range uint64(6) {
		var mu sync.Mutex
		var got []string
		out, worst, batches := 0, 0, 0
		acks := make(chan struct{}, 1<<16)
		e := newEmitter("t-1", func(message any) {
			mu.Lock()
			defer mu.Unlock()
			switch m := message.(type) {
			case msg.Emitted:
				if m.Turn != "t-1" || len(m.Events) == 0 || len(m.Events) > maxBatch {
					t.Errorf("batch %+v", m)
				}
				for _, ev := range m.Events {
					got = append(got, string(ev.(contract.Chunk)))
				}
				out++
				batches++
				worst = max(worst, out)
				acks <- struct{}{}
			case msg.ToolFacts:
				got = append(got, m.ID)
			}
		})
		stop := make(chan struct{})
		var acker, wg sync.WaitGroup
		acker.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // A test's dice.
			for {
				select {
				case <-acks:
					if r.IntN(4) == 0 { // A slow owner, at times.
						time.Sleep(50 * time.Microsecond)
					}
					mu.Lock()
					out--
					mu.Unlock()
					e.credit()
				case <-stop:
					return
				}
			}
		})
		for s := range senders {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(s)+2)) //nolint:gosec // A test's dice.
				for i := 0; i < each; i++ {
					id := fmt.Sprintf("%d/%d", s, i)
					if r.IntN(5) == 0 {
						e.put(msg.ToolFacts{ID: id})
					} else {
						e.put(contract.Chunk(id))
					}
				}
			})
		}
		wg.Wait()
		deadline := time.Now().Add(20 * time.Second)
		for {
			mu.Lock()
			n := len(got)
			mu.Unlock()
			if n == senders*each || time.Now().After(deadline) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		close(stop)
		acker.Wait()
		if len(got) != senders*each {
			t.Fatalf("seed %d: %d of %d arrived", seed, len(got), senders*each)
		}
		next := make([]int, senders)
		for _, id := range got {
			s, i, _ := strings.Cut(id, "/")
			sender, _ := strconv.Atoi(s)
			if n, _ := strconv.Atoi(i); n != next[sender] {
				t.Fatalf("seed %d: sender %d: got %d, want %d", seed, sender, n, next[sender])
			}
			next[sender]++
		}
		if worst > msg.EmitCredits {
			t.Errorf("seed %d: %d batches under way", seed, worst)
		}
	}
}

// Without credits a stream is held up at the bound, and the close lets it go.
func TestEmitter_BoundAndClose(t *testing.T) {
	t.Parallel()
	sent := 0
	e := newEmitter("t-1", func(any) { sent++ })
	for range msg.EmitCredits + maxWaiting {
		e.put(contract.Chunk("x"))
	}
	if sent != msg.EmitCredits || len(e.waiting) != maxWaiting {
		t.Fatalf("%d sent, %d waiting", sent, len(e.waiting))
	}
	var wg sync.WaitGroup
	blocked := make(chan struct{}, 8)
	for range 8 {
		wg.Go(func() {
			e.put(contract.Chunk("more"))
			blocked <- struct{}{}
		})
	}
	select {
	case <-blocked:
		t.Error("a put went past the bound")
	case <-time.After(20 * time.Millisecond): // It cannot be shown that it never would.
	}
	e.close()
	wg.Wait()
	// What waits still leaves, in batches, as credits come.
	for range (maxWaiting + 8 + maxBatch - 1) / maxBatch {
		e.credit()
	}
	if sent != msg.EmitCredits+(maxWaiting+8+maxBatch-1)/maxBatch || len(e.waiting) != 0 {
		t.Errorf("%d sent, %d waiting", sent, len(e.waiting))
	}
}

// A stream without credits costs the same per event however much waits.
func BenchmarkEmitterWithoutCredit(b *testing.B) {
	for _, waiting := range []int{10, 4000} {
		b.Run(strconv.Itoa(waiting), func(b *testing.B) {
			e := newEmitter("t-1", func(any) {})
			e.credits = 0
			for range waiting {
				e.put(contract.Chunk("x"))
			}
			for b.Loop() {
				e.put(contract.Chunk("x"))
				e.waiting = e.waiting[:waiting]
			}
		})
	}
}
