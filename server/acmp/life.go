package acmp

import (
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"signalbox/model/acmp"
)

// start lets the task run: its deadline, its handler.
func (t *Task) start(log *slog.Logger) {
	t.mu.Lock()
	if t.outcome != nil { // cancelled while it was checked
		t.mu.Unlock()
		close(t.returned)
		return
	}
	t.timer = time.AfterFunc(time.Until(t.deadline), func() {
		t.finish(timeoutError(t.id, t.params.TimeoutMS), errDeadline)
	})
	t.mu.Unlock()
	go t.run(log)
}

func (t *Task) run(log *slog.Logger) {
	defer close(t.returned)
	out, err := t.call(log)
	if o := t.judge(out, err, log); o != nil {
		t.succeed(o)
	}
}

// call runs the handler; its panic is its own fault alone.
func (t *Task) call(log *slog.Logger) (out Output, err error) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("a handler panicked", "task", t.id, "capability", t.cap.Info.Name,
				"panic", r, "stack", string(debug.Stack()))
			err = internalErrorValue(t.id, "")
		}
	}()
	return t.cap.Handler(t.ctx, t)
}

// judge makes the outcome of what the handler returned; nil where it has become
// one already.
func (t *Task) judge(out Output, err error, log *slog.Logger) *outcome {
	if err != nil {
		var ae *acmp.Error
		if !errors.As(err, &ae) {
			if t.ctx.Err() == nil {
				log.Warn("a handler failed", "task", t.id, "capability", t.cap.Info.Name, "err", err)
			}
			ae = internalErrorValue(t.id, "")
		}
		t.finish(&outcome{err: withTaskID(ae, t.id), after: true}, errDone)
		return nil
	}
	t.mu.Lock()
	chunks, final := t.base+int64(len(t.chunks)), t.final
	t.mu.Unlock()
	switch {
	case chunks > 0 && !final:
		t.finish(internalError(t.id, "the output ended without its final chunk"), errDone)
	case chunks > 0 && out.Payload != nil:
		t.finish(internalError(t.id, "the output came both in chunks and whole"), errDone)
	case chunks > 0:
		return &outcome{chunked: true, tokens: out.TokensUsed}
	case out.Payload == nil:
		t.finish(internalError(t.id, "the work ended without output"), errDone)
	default:
		p, perr := checkChunk(*out.Payload)
		if perr != nil {
			log.Warn("a handler returned no valid output", "task", t.id, "capability", t.cap.Info.Name)
			t.finish(internalError(t.id, "the output is not valid"), errDone)
			return nil
		}
		if !t.provable(p) {
			t.finish(internalError(t.id, errNoProof.Error()), errDone)
			return nil
		}
		if len(p.Data) > t.limits.TaskBytes {
			t.finish(tooLarge(t.id, t.limits.TaskBytes), errDone)
			return nil
		}
		return &outcome{output: &p, tokens: out.TokensUsed}
	}
	return nil
}

// succeed ends the task well, or holds the success until the input is complete
// (A-112, D-17).
func (t *Task) succeed(o *outcome) {
	if t.params.InputStream && !t.input.isComplete() {
		t.input.discard()
		t.mu.Lock()
		t.held = o
		t.mu.Unlock()
		if !t.input.isComplete() {
			return
		}
	}
	t.finish(o, errDone)
}

// inputComplete lets go of a success that was held.
func (t *Task) inputComplete() {
	t.mu.Lock()
	o := t.held
	t.mu.Unlock()
	if o != nil {
		t.finish(o, errDone)
	}
}

// finish gives the task its one outcome; the first caller wins. cause is
// what the handler's context tells.
func (t *Task) finish(o *outcome, cause error) bool {
	return t.finishIf(func() bool { return true }, o, cause)
}

// finishIf is finish where still, called with the lock held, is true at that instant.
func (t *Task) finishIf(still func() bool, o *outcome, cause error) bool {
	t.mu.Lock()
	if t.outcome != nil || !still() {
		t.mu.Unlock()
		return false
	}
	t.outcome = o
	t.all.Add(-int64(t.bytes)) // from here on it counts among the outcomes
	t.endedAt = time.Now()
	t.held = nil
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.orphan != nil {
		t.orphan.timer.Stop()
	}
	if o.err != nil && !o.after { // nothing of it will be asked for again
		t.chunks, t.bytes, t.base = nil, 0, t.base+int64(len(t.chunks))
	}
	if o.output != nil {
		t.bytes += len(o.output.Data)
	}
	for w := range t.waiters {
		w.poke()
	}
	t.mu.Unlock()
	t.stop(cause)
	t.input.end()
	t.onDone(t)
	return true
}

// waiter is one request that waits for the task: its place in the chunks.
type waiter struct {
	stream bool
	next   int64 // guarded by Task.mu
	wake   chan struct{}
}

func (w *waiter) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// attach adds a request to the task, from seq 0 (D-02, D-03).
func (t *Task) attach(stream bool) *waiter {
	w := &waiter{stream: stream, wake: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters[w] = struct{}{}
	t.wakeProducerLocked() // w may want the output whole
	if t.orphan != nil {
		t.orphan.timer.Stop()
		t.orphan = nil
	}
	return w
}

// detach takes a request away. The task of the last one lives on for its grace
// (D-01); its deadline holds all the same.
func (t *Task) detach(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiters, w)
	t.wakeProducerLocked()
	if len(t.waiters) > 0 || t.outcome != nil {
		return
	}
	g := &graceTime{}
	g.timer = time.AfterFunc(t.grace, func() { t.abandon(g) })
	t.orphan = g
}

// graceTime is the time for which a task waits for a caller to come back.
type graceTime struct{ timer *time.Timer } // guarded by Task.mu

// abandon ends the task with the grace time g, unless a caller has come back
// meanwhile: stopping a timer comes too late for one that has just ended.
func (t *Task) abandon(g *graceTime) {
	t.finishIf(func() bool { return t.orphan == g }, cancelledError(t.id, errAbandoned.Error()), errAbandoned)
}

func (t *Task) wakeProducerLocked() {
	close(t.room)
	t.room, t.full = make(chan struct{}), false
}

// errReplayGone tells a stream that the chunks it needs are no longer held.
var errReplayGone = errors.New("the beginning of the output is no longer held")

// advance gives w the chunks it has not had, at most limit, or the outcome once it
// has had them all. Both are nil while there is nothing to tell.
func (t *Task) advance(w *waiter, limit int) (seq int64, chunks []acmp.Payload, last bool, o *outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.outcome; o != nil && (!w.stream || o.err != nil && (!o.after || w.next < t.base)) {
		return 0, nil, false, t.outcome, nil
	}
	if w.stream {
		if w.next < t.base {
			return 0, nil, false, nil, errReplayGone
		}
		chunks = t.chunks[w.next-t.base:]
		if len(chunks) > limit {
			chunks = chunks[:limit]
		}
		if len(chunks) > 0 {
			seq = w.next
			w.next += int64(len(chunks))
			last = t.final && w.next == t.base+int64(len(t.chunks))
			if t.full {
				t.wakeProducerLocked()
			}
			return seq, chunks, last, nil, nil
		}
	}
	return 0, nil, false, t.outcome, nil
}

// beat is what the next heartbeat says.
func (t *Task) beat() (progress *float64, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress, t.detail
}

// allChunks are the chunks of a finished task, for a caller that wants them in one
// piece; ok is false where some are no longer held.
func (t *Task) allChunks() (chunks []acmp.Payload, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.chunks, t.base == 0
}

// isStopped reports whether the task ended so that no more of it is to be sent.
func (t *Task) isStopped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outcome != nil && t.outcome.err != nil && !t.outcome.after
}
