package cli

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
)

func chunkFact(seq int) fleet.Fact {
	return fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventChunk, TaskID: "t", Seq: int64(seq)}}
}

// recorder is an event loop that notes what it was handed and when.
type recorder struct {
	mu   sync.Mutex
	at   []time.Time
	seqs []int64
}

func (r *recorder) take(batch []fleet.Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, time.Now())
	for _, f := range batch {
		r.seqs = append(r.seqs, f.(fleet.TaskHappened).Event.Seq)
	}
}

func TestPumpCoalescesWithoutLossOrDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		p := newPump(r.take)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.run(ctx); close(done) }()
		synctest.Wait()

		start := time.Now()
		p.put(chunkFact(0))
		synctest.Wait()
		if len(r.at) != 1 || !r.at[0].Equal(start) {
			t.Fatalf("the first fact after a quiet time was delivered at %v, want at once", r.at)
		}
		const n = 1000
		for i := 1; i < n; i++ {
			p.put(chunkFact(i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(pumpInterval)
		synctest.Wait()
		for i, seq := range r.seqs {
			if seq != int64(i) {
				t.Fatalf("fact %d has seq %d: out of order or lost", i, seq)
			}
		}
		if len(r.seqs) != n {
			t.Fatalf("%d of %d facts arrived", len(r.seqs), n)
		}
		for i := 1; i < len(r.at); i++ {
			if d := r.at[i].Sub(r.at[i-1]); d < pumpInterval {
				t.Fatalf("batches %d and %d are %v apart, want at least %v", i-1, i, d, pumpInterval)
			}
		}
		cancel()
		<-done
	})
}

func TestPumpHoldsProducersBackAndLetsThemGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		p := newPump(func([]fleet.Fact) { <-blocked })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.run(ctx); close(done) }()

		refused := make(chan string, 1)
		go func() {
			for i := 0; ; i++ {
				if !p.put(chunkFact(i)) {
					refused <- strconv.Itoa(i)
					return
				}
			}
		}()
		synctest.Wait() // the screen is stuck and the queue full: everyone waits
		p.mu.Lock()
		waiting := len(p.pending)
		p.mu.Unlock()
		if waiting != pumpCapacity {
			t.Fatalf("%d facts wait, want the bound %d", waiting, pumpCapacity)
		}
		cancel()
		close(blocked)
		<-done
		<-refused // the producer was told, and did not hang
	})
}
