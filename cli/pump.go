package cli

import (
	"context"
	"sync"
	"time"

	"signalbox/model/fleet"
)

// The pump's bounds: how often the dashboard is handed facts, and how many may
// wait before a producer has to. At 8192 facts a frame a stream of 240 000
// chunks/s still passes.
const (
	pumpInterval = 33 * time.Millisecond
	pumpCapacity = 8192
)

// pump gathers facts from the clients and hands them to the event loop in
// batches: the first one after a quiet time at once, then at most one every
// pumpInterval. It drops nothing: when the screen cannot keep up, put blocks and
// with it the stream the fact came from.
type pump struct {
	send func(batch []fleet.Fact)

	mu      sync.Mutex
	room    *sync.Cond // signalled when facts were taken, or at the end
	pending []fleet.Fact
	closed  bool

	wake chan struct{} // holds one token while facts wait
}

// newPump makes a pump that delivers through send, which may block until the
// event loop takes the message.
func newPump(send func([]fleet.Fact)) *pump {
	p := &pump{send: send, wake: make(chan struct{}, 1)}
	p.room = sync.NewCond(&p.mu)
	return p
}

// put queues one fact, in order with all others of the same caller. It blocks
// while pumpCapacity facts wait, and returns false once the pump has ended.
func (p *pump) put(f fleet.Fact) bool {
	p.mu.Lock()
	for len(p.pending) >= pumpCapacity && !p.closed {
		p.room.Wait()
	}
	if p.closed {
		p.mu.Unlock()
		return false
	}
	p.pending = append(p.pending, f)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
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
	p.pending = make([]fleet.Fact, 0, min(cap(batch), pumpCapacity))
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
