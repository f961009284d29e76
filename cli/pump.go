package cli

import (
	"context"
	"sync"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
)

// The pump's bounds: how often the dashboard is handed facts, and how much may
// wait before a producer has to. At 8192 facts a frame a stream of 240 000
// chunks/s still passes; chunks may be large, so what they weigh is bounded too.
const (
	pumpInterval = 33 * time.Millisecond
	pumpFacts    = 8192
	pumpBytes    = 16 << 20
)

// pump gathers facts from the clients and hands them to the event loop in
// batches: the first one after a quiet time at once, then at most one every
// pumpInterval. When the screen cannot keep up, put blocks and with it the stream
// the fact came from, so that nothing is lost that changes anything: no chunk, no
// end. Only signs of life do not wait: while it is full, a heartbeat takes the
// place of the one in front of it, and the fact says how many it stands for.
type pump struct {
	send func(batch []fleet.Fact)

	mu      sync.Mutex
	room    *sync.Cond // signalled when facts were taken, or at the end
	pending []fleet.Fact
	bytes   int            // what pending weighs, about
	beat    map[string]int // task → its newest fact in pending, when that is a heartbeat
	closed  bool

	wake chan struct{} // holds one token while facts wait
}

// newPump makes a pump that delivers through send, which may block until the
// event loop takes the message.
func newPump(send func([]fleet.Fact)) *pump {
	p := &pump{send: send, wake: make(chan struct{}, 1), beat: make(map[string]int)}
	p.room = sync.NewCond(&p.mu)
	return p
}

// put queues one fact, in order with all others of the same caller. It blocks
// while the pump is full, unless f is a heartbeat, and returns false once the
// pump has ended.
func (p *pump) put(f fleet.Fact) bool {
	task, isTask := f.(fleet.TaskHappened)
	isBeat := isTask && task.Event.Kind == acmp.EventHeartbeat
	size := weigh(f)
	p.mu.Lock()
	for !isBeat && p.full(size) && !p.closed {
		p.room.Wait()
	}
	if p.closed {
		p.mu.Unlock()
		return false
	}
	switch {
	case isBeat && p.full(size) && p.merge(task):
	case isBeat:
		p.beat[task.Event.TaskID] = len(p.pending)
		p.add(f, size)
	case isTask:
		delete(p.beat, task.Event.TaskID)
		p.add(f, size)
	default:
		p.add(f, size)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return true
}

// full reports whether a fact of size must wait. One that is larger than all the
// room passes alone.
func (p *pump) full(size int) bool {
	return len(p.pending) >= pumpFacts || len(p.pending) > 0 && p.bytes+size > pumpBytes
}

func (p *pump) add(f fleet.Fact, size int) {
	p.pending = append(p.pending, f)
	p.bytes += size
}

// merge lets a heartbeat stand for the one of the same task that waits just in
// front of it, and reports whether there is one. What only the older one said
// stays said.
func (p *pump) merge(f fleet.TaskHappened) bool {
	i, ok := p.beat[f.Event.TaskID]
	if !ok {
		return false
	}
	old := p.pending[i].(fleet.TaskHappened)
	if f.Event.Progress == nil {
		f.Event.Progress = old.Event.Progress
	}
	if f.Event.Detail == "" {
		f.Event.Detail = old.Event.Detail
	}
	f.Merged = old.Merged + 1
	p.pending[i] = f
	p.bytes += weigh(f) - weigh(old)
	return true
}

// run delivers until ctx ends; it then lets every waiting producer go.
func (p *pump) run(ctx context.Context) {
	defer p.end()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if batch := p.take(); len(batch) > 0 {
			p.send(batch)
		}
		// The pause counts from the delivery, so that a slow screen gets time
		// to draw between two batches.
		pause.Reset(pumpInterval)
	}
}

func (p *pump) take() []fleet.Fact {
	p.mu.Lock()
	defer p.mu.Unlock()
	batch := p.pending
	p.pending = make([]fleet.Fact, 0, min(cap(batch), pumpFacts))
	p.bytes = 0
	clear(p.beat)
	p.room.Broadcast()
	return batch
}

func (p *pump) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.pending = nil
	p.room.Broadcast()
}
