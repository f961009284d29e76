package acmp

import (
	"context"
	"errors"
	"time"
)

// sink is where one request's notifications go, in front of its response.
type sink interface {
	// write sends whole, framed messages; it may keep them back until flush.
	write(b []byte) error
	flush()
	framing() framing
	// until bounds how long a write may block on a caller that does not read.
	until(t time.Time)
}

const (
	batchChunks = 512                  // chunks taken at once
	batchBytes  = 32 << 10             // written at once
	openAfter   = 5 * time.Millisecond // when a stream with nothing to say is opened
	maxHeld     = 4 * time.Millisecond // the longest a chunk stays in a buffer
)

// follow sends the task's chunks and heartbeats to one request until the outcome
// is there, or the caller is gone. Chunks and beats come from this one goroutine,
// so nothing can follow the response.
func (p *Provider) follow(ctx context.Context, t *Task, stream bool, c call) (*outcome, error) {
	w := t.attach(stream)
	defer t.detach(w)
	c.sink.until(lastWrite(t.deadline))
	f := &follower{t: t, w: w, sink: c.sink, quotedID: appendString(nil, t.id), flushed: time.Now()}
	if p.opts.NoStreaming {
		f.sink = nil
	}
	var beat <-chan time.Time
	if t.interval > 0 {
		ticker := time.NewTicker(t.interval)
		defer ticker.Stop()
		beat = ticker.C
	}
	open := time.NewTimer(openAfter)
	defer open.Stop()
	for {
		more, o, err := f.step()
		if errors.Is(err, errReplayGone) {
			return internalError(t.id, err.Error()), nil
		}
		if o != nil || err != nil {
			return o, err
		}
		select {
		case <-c.gone:
			return nil, errCallerGone
		case <-ctx.Done():
			return nil, errCallerGone
		case <-beat:
			if err := f.beat(); err != nil {
				return nil, err
			}
			continue
		default:
		}
		if more {
			continue
		}
		f.flush()
		select {
		case <-w.wake:
		case <-c.gone:
			return nil, errCallerGone
		case <-ctx.Done():
			return nil, errCallerGone
		case <-open.C:
			f.flushAlways() // the caller learns that its task is taken
		case <-beat:
			if err := f.beat(); err != nil {
				return nil, err
			}
		}
	}
}

// lastWrite is when a caller that does not read is given up: a stalled one stalls
// its stream, but not for ever (B80). Replays of old outcomes get the same time.
func lastWrite(deadline time.Time) time.Time {
	if now := time.Now(); deadline.Before(now) {
		deadline = now
	}
	return deadline.Add(stalledTime)
}

// stalledTime is how long behind its task's deadline a stream may be stalled.
const stalledTime = 5 * time.Minute

// follower is the state of one call of follow.
type follower struct {
	t        *Task
	w        *waiter
	sink     sink
	quotedID []byte
	buf      []byte
	dirty    bool
	flushed  time.Time
}

// step sends the chunks that are ready; more tells that there may be further ones.
func (f *follower) step() (more bool, o *outcome, err error) {
	seq, chunks, last, o, err := f.t.advance(f.w, batchChunks)
	if o != nil || err != nil {
		if o != nil && o.err == nil {
			f.flushNoWait()
		}
		return false, o, err
	}
	if f.sink == nil {
		return false, nil, nil
	}
	fr := f.sink.framing()
	for i, c := range chunks {
		f.buf = appendChunk(f.buf, fr, f.quotedID, seq+int64(i), c, last && i == len(chunks)-1)
		if len(f.buf) >= batchBytes {
			if err := f.write(); err != nil {
				return false, nil, err
			}
			if f.t.isStopped() { // stop emitting
				return true, nil, nil
			}
		}
	}
	if err := f.write(); err != nil {
		return false, nil, err
	}
	if len(chunks) > 0 && time.Since(f.flushed) > maxHeld {
		f.flush()
	}
	return len(chunks) > 0, nil, nil
}

func (f *follower) beat() error {
	if f.sink == nil {
		return nil
	}
	progress, detail := f.t.beat()
	f.buf = appendHeartbeat(f.buf, f.sink.framing(), f.quotedID, progress, detail)
	if err := f.write(); err != nil {
		return err
	}
	f.flush()
	return nil
}

func (f *follower) write() error {
	if len(f.buf) == 0 {
		return nil
	}
	err := f.sink.write(f.buf)
	f.buf = f.buf[:0]
	f.dirty = true
	if err != nil {
		return errCallerGone
	}
	return nil
}

func (f *follower) flush() {
	if f.dirty {
		f.flushAlways()
	}
}

func (f *follower) flushAlways() {
	if f.sink == nil {
		return
	}
	f.sink.flush()
	f.dirty = false
	f.flushed = time.Now()
}

// flushNoWait leaves what is written to the flush of the response that follows.
func (f *follower) flushNoWait() { f.dirty = false }
