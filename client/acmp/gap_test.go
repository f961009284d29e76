package acmp

import (
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// D-13, B41: each gap has its own second; one that our own consumer keeps from
// being closed, because it stalls the reading, is nobody's fault.
func TestEachGapHasItsTime(t *testing.T) {
	second := func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(1, "b", false)
		w.chunk(3, "d", false)
		time.Sleep(800 * time.Millisecond)
		w.chunk(0, "a", false) // closes the first gap and leaves the second
		time.Sleep(800 * time.Millisecond)
		w.chunk(2, "c", false)
		w.chunk(4, "e", true)
		w.streamed()
	}
	runTimed(t, 0, second, nil, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		if end, _ := d.outcome(t, id); end.Kind != acmp.EventResult || outputText(d.rec.of(id)) != "abcde" {
			t.Errorf("%q, outcome %+v", outputText(d.rec.of(id)), end.Err)
		}
	})
	stays := func(w *answerWriter, _ wireRequest, _ int) {
		w.chunk(1, "b", false)
		w.chunk(3, "d", false)
		time.Sleep(800 * time.Millisecond)
		w.chunk(0, "a", false)
		w.hang()
	}
	runTimed(t, 0, stays, nil, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		end, after := d.outcome(t, id)
		if end.Err == nil || !strings.Contains(end.Err.Message, "chunk 2 is missing") || after != 1800*time.Millisecond {
			t.Errorf("after %s: %+v", after, end.Err)
		}
	})
}

func TestGapOfAStalledConsumer(t *testing.T) {
	run := func(w *answerWriter, _ wireRequest, _ int) {
		const chunks = 2 * maxQueuedEvents
		for i := range chunks {
			if i == 10 {
				w.chunk(i+1, "x", false)
				for range chunks {
					w.heartbeat("")
				}
			}
			if i != 11 {
				w.chunk(i, "x", i == chunks-1)
			}
		}
		w.streamed()
	}
	var gate chan struct{} // made under the fake clock
	stall := func(o *Options) {
		gate = make(chan struct{})
		take := o.Events
		o.Events = func(ev acmp.TaskEvent) {
			if ev.Kind == acmp.EventChunk {
				<-gate
			}
			take(ev)
		}
	}
	runTimed(t, 1000, run, stall, func(t *testing.T, d *timed) {
		id := invoke(t, d.Buyer, invocation(timeout(60000)))
		time.Sleep(10 * time.Second)
		close(gate)
		if end, _ := d.outcome(t, id); end.Kind != acmp.EventResult {
			t.Errorf("outcome %+v", end.Err)
		}
	})
}
