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
	bytes    int // of ready
	complete bool
	wake     chan struct{} // closed and replaced at every change
}

func newInput() *input { return &input{wake: make(chan struct{})} }

// add takes one chunk. It reports whether the input is now complete, and false
// for fits where more than hard bytes, or too many chunks behind a gap, would have
// to be held.
func (in *input) add(c acmp.InputChunk, hard int) (complete, fits bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.complete {
		return true, true
	}
	due, err := in.seq.Push(c)
	if err != nil {
		return false, false
	}
	for _, d := range due {
		in.ready = append(in.ready, d.Chunk)
		in.bytes += len(d.Chunk.Data)
	}
	in.complete = in.seq.Done()
	in.changed()
	return in.complete, in.bytes <= hard
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

// read hands out the next chunk; io.EOF behind the final one.
func (in *input) read(ctx context.Context) (acmp.Payload, error) {
	for {
		in.mu.Lock()
		if len(in.ready) > 0 {
			p := in.ready[0]
			in.ready[0] = acmp.Payload{}
			in.ready = in.ready[1:]
			in.bytes -= len(p.Data)
			in.changed()
			in.mu.Unlock()
			return p, nil
		}
		complete, wake := in.complete, in.wake
		in.mu.Unlock()
		if complete {
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
		in.bytes = len(p.Data)
	}
	in.complete = !more
}
