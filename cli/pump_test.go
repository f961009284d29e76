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
		if waiting != pumpFacts {
			t.Fatalf("%d facts wait, want the bound %d", waiting, pumpFacts)
		}
		cancel()
		close(blocked)
		<-done
		<-refused // the producer was told, and did not hang
	})
}

// stuckPump is a pump whose screen takes nothing until let go, with what was
// handed over then.
func stuckPump(t *testing.T) (p *pump, letGo func() []fleet.Fact) {
	blocked, first := make(chan struct{}), true
	var got []fleet.Fact
	p = newPump(func(batch []fleet.Fact) {
		if first {
			first = false
			<-blocked
		}
		got = append(got, batch...)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.run(ctx); close(done) }()
	p.put(chunkFact(-1)) // the screen takes this one and hangs
	synctest.Wait()
	return p, func() []fleet.Fact {
		close(blocked)
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		<-done
		return got[1:]
	}
}

func bigChunk(seq, bytes int) fleet.Fact {
	f := chunkFact(seq).(fleet.TaskHappened)
	f.Event.Chunk = acmp.Payload{Type: "text", Data: make([]byte, bytes)}
	return f
}

func beatFact(at time.Time, progress *float64, detail string) fleet.Fact {
	return fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventHeartbeat, TaskID: "t", At: at, Progress: progress, Detail: detail}}
}

// What waits is bounded by its bytes: large chunks hold their streams back long
// before there are many of them, and none is lost.
func TestPumpIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, letGo := stuckPump(t)
		const chunks, size = 100, 1 << 20
		go func() {
			for i := range chunks {
				p.put(bigChunk(i, size))
			}
		}()
		synctest.Wait()
		p.mu.Lock()
		if waiting := len(p.pending); p.bytes > pumpBytes || waiting < pumpBytes/size-1 || waiting > pumpBytes/size {
			t.Errorf("%d chunks of 1 MiB wait, %d bytes in all; the bound is %d", waiting, p.bytes, pumpBytes)
		}
		p.mu.Unlock()
		got := letGo()
		if len(got) != chunks {
			t.Fatalf("%d of %d chunks arrived", len(got), chunks)
		}
		for i, f := range got {
			if seq := f.(fleet.TaskHappened).Event.Seq; seq != int64(i) {
				t.Fatalf("chunk %d has seq %d", i, seq)
			}
		}
	})
}

// One fact that is larger than all the room, such as the snapshot of a large
// owner, passes alone instead of waiting for ever.
func TestPumpLetsALargeFactPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, letGo := stuckPump(t)
		passed := make(chan bool, 2)
		go func() {
			passed <- p.put(bigChunk(0, 2*pumpBytes))
			passed <- p.put(chunkFact(1))
		}()
		synctest.Wait()
		if len(passed) != 1 {
			t.Errorf("%d of 2 facts passed; the large one must, the next one must wait", len(passed))
		}
		if got := letGo(); len(got) != 2 {
			t.Errorf("%d of 2 facts arrived", len(got))
		}
	})
}

// While the pump is full a sign of life neither waits nor piles up: one stands
// for all, says for how many, and loses nothing that was said. Ends are not
// dropped, and come after what was before them.
func TestPumpMergesHeartbeatsAndNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, letGo := stuckPump(t)
		for i := range pumpFacts {
			p.put(chunkFact(i))
		}
		start, half := time.Now(), 0.5
		p.put(beatFact(start, &half, "linting"))
		for i := range 99 { // would block here for ever if they waited
			p.put(beatFact(start.Add(time.Duration(i+1)*time.Second), nil, ""))
		}
		ended := make(chan struct{})
		go func() {
			p.put(fleet.TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventResult, TaskID: "t"}})
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("an end did not wait for room")
		default:
		}
		got := letGo()
		<-ended
		if len(got) != pumpFacts+2 {
			t.Fatalf("%d facts arrived, want all chunks, one heartbeat and the end", len(got))
		}
		beat := got[pumpFacts].(fleet.TaskHappened)
		if beat.Merged != 99 || beat.Event.Detail != "linting" || beat.Event.Progress != &half || !beat.Event.At.Equal(start.Add(99*time.Second)) {
			t.Errorf("the heartbeat that is left is %+v", beat)
		}
		if end := got[pumpFacts+1].(fleet.TaskHappened); end.Event.Kind != acmp.EventResult {
			t.Errorf("the last fact is a %s", end.Event.Kind)
		}
	})
}
