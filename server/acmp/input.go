package acmp

import (
	"context"
	"io"
	"sync"

	"signalbox/model/acmp"
)

// input is the streamed input of one task: chunks in whatever order they came,
// handed out in the order of their seq. The first of a seq wins, chunks
// behind the final one are ignored.
type input struct {
	mu       sync.Mutex
	seq      acmp.Sequencer
	ready    []acmp.Payload
	bytes    int // of ready, as sizeOf counts
	complete bool
	unread   bool          // nobody reads any more: only the order is watched
	over     bool          // of no use any more
	wake     chan struct{} // closed and replaced at every change
}

func newInput() *input { return &input{wake: make(chan struct{})} }

// add takes one chunk. It reports whether the input is now complete, and false
// for fits where more than hard bytes, or too many chunks behind a gap, would have
// to be held.
func (in *input) add(c acmp.InputChunk, hard int) (complete, fits bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.complete || in.over {
		return in.complete, true
	}
	due, err := in.seq.Push(c)
	if err != nil {
		return false, false
	}
	for _, d := range due {
		if !in.unread {
			in.ready = append(in.ready, d.Chunk)
			in.bytes += sizeOf(&d.Chunk)
		}
	}
	in.complete = in.seq.Done()
	in.changed()
	return in.complete, in.bytes <= hard
}

// sizeOf is what one chunk of input costs while it is held, in bytes.
func sizeOf(p *acmp.Payload) int { return len(p.Type) + len(p.Data) + chunkOverhead }

// discard lets go of what is held and of what comes: the handler has returned. When
// the input is complete is still told.
func (in *input) discard() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.discardLocked()
}

func (in *input) discardLocked() {
	in.unread, in.ready, in.bytes = true, nil, 0
	in.changed()
}

// end is discard for good: the task has its outcome.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over, in.seq = true, acmp.Sequencer{}
	in.discardLocked()
}

func (in *input) changed() {
	close(in.wake)
	in.wake = make(chan struct{})
}

// isComplete reports whether the final chunk and all before it have come.
func (in *input) isComplete() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.complete
}

// read hands out the next chunk; io.EOF behind the final one, and never for input that
// was cut short by the end of the task.
func (in *input) read(ctx context.Context) (acmp.Payload, error) {
	for {
		in.mu.Lock()
		if len(in.ready) > 0 {
			p := in.ready[0]
			in.ready[0] = acmp.Payload{}
			in.ready = in.ready[1:]
			in.bytes -= sizeOf(&p)
			in.changed()
			in.mu.Unlock()
			return p, nil
		}
		complete, over, wake := in.complete, in.over, in.wake
		in.mu.Unlock()
		switch {
		case over && ctx.Err() != nil:
			return acmp.Payload{}, context.Cause(ctx)
		case over:
			return acmp.Payload{}, errNotRunning
		case complete:
			return acmp.Payload{}, io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return acmp.Payload{}, context.Cause(ctx)
		}
	}
}

// wait returns once no more than soft bytes are held, or when one of the channels is
// closed: the back-pressure of an HTTP caller.
func (in *input) wait(soft int, over, gone <-chan struct{}) {
	for {
		in.mu.Lock()
		held, wake := in.bytes, in.wake
		in.mu.Unlock()
		if held <= soft {
			return
		}
		select {
		case <-wake:
		case <-over:
			return
		case <-gone:
			return
		}
	}
}

// begin takes the input of the invoke itself: the whole of it, or the part in
// front of seq 0 where more is to come.
func (in *input) begin(p *acmp.Payload, more bool) {
	if p != nil {
		in.ready = append(in.ready, *p)
		in.bytes = sizeOf(p)
	}
	in.complete = !more
}
