package acmp

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"signalbox/model/acmp"
)

const (
	// gapWait is how long a missing chunk may come late before the task fails.
	gapWait = time.Second
	// maxEarly and maxEarlyBytes bound the chunks held behind a gap.
	maxEarly      = 64
	maxEarlyBytes = 1 << 20
	// maxProofBytes and maxProofChunks bound a streamed output whose proof is checked.
	maxProofBytes  = 32 << 20
	maxProofChunks = 1 << 20
)

// attempt is one send of an invoke and what the provider says on its stream. It
// is the [sink] of that stream; one goroutine calls it.
type attempt struct {
	t          *task
	wantStream bool
	// fresh: nothing counts before seq 0. Needed where two sends share a pipe.
	fresh bool

	fault chan string   // first violation
	stop  chan struct{} // closed by end

	mu       sync.Mutex
	ended    bool
	rpcError []byte // of the response, nil before and for a result
	written  bool   // the invoke is on its way: silence counts from here (D-15)
	lastSign time.Time
	blocked  bool // waiting for our own consumer: silence proves nothing
	stalled  bool // told
	next     int64
	final    bool
	ignored  int
	// whole is the output so far, kept where a proof of it was asked for; nil once it
	// is too large.
	whole      *acmp.Assembler
	early      map[int64]acmp.StreamChunk
	earlyBytes int
	gap        *time.Timer // of chunk gapAt, which is missing; nil without a gap
	gapAt      int64
	gapFrom    time.Time // since when the chunk could have come
}

func newAttempt(t *task, fresh bool) *attempt {
	a := &attempt{
		t: t, wantStream: t.inv.Params.Stream, fresh: fresh,
		fault: make(chan string, 1), stop: make(chan struct{}),
		lastSign: time.Now(),
	}
	if t.inv.Params.ProofMethod != "" {
		a.whole = &acmp.Assembler{Limit: maxProofBytes}
	}
	return a
}

// end makes the attempt deaf: nothing it hears becomes an event any more.
func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	a.ended = true
	if a.gap != nil {
		a.gap.Stop()
	}
	close(a.stop)
}

// wrote implements sink: it starts the liveness window, and lets the input follow.
func (a *attempt) wrote() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written, a.lastSign = true, time.Now()
	if a.t.in != nil && !a.ended {
		a.t.in.begin()
	}
}

// wasWritten reports whether the provider may have got the invoke.
func (a *attempt) wasWritten() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written
}

func (a *attempt) sign() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastSign, a.stalled = time.Now(), false
	return !a.ended
}

// chunk implements sink.
func (a *attempt) chunk(c acmp.StreamChunk) {
	more, ok := a.order(&c)
	if ok {
		ok = a.emit(chunkEvent(&c))
	}
	for i := 0; ok && i < len(more); i++ {
		ok = a.emit(chunkEvent(&more[i]))
	}
}

func chunkEvent(c *acmp.StreamChunk) acmp.TaskEvent {
	return acmp.TaskEvent{Kind: acmp.EventChunk, Seq: c.Seq, Chunk: c.Chunk, Final: c.Final}
}

// order takes a chunk and reports whether it is due, with those that waited for
// it: contiguous from 0, each once, nothing after the final one (A-124, D-13,
// B41).
func (a *attempt) order(c *acmp.StreamChunk) (more []acmp.StreamChunk, due bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastSign, a.stalled = time.Now(), false
	switch {
	case a.ended:
		return nil, false
	case !a.wantStream || a.final || c.Seq < a.next || (a.fresh && a.next == 0 && c.Seq > 0):
		a.ignored++
		return nil, false
	case c.Seq > a.next:
		a.hold(*c)
		return nil, false
	}
	a.count(c)
	for !a.final {
		n, ok := a.early[a.next]
		if !ok {
			break
		}
		delete(a.early, a.next)
		a.earlyBytes -= len(n.Chunk.Data)
		a.count(&n)
		more = append(more, n)
	}
	a.watchGap()
	return more, true
}

// watchGap keeps the timer of the chunk that is missing now: each gap has its own
// time, however long those before it were open.
func (a *attempt) watchGap() {
	open := len(a.early) > 0 && !a.final
	if a.gap != nil && (!open || a.gapAt != a.next) {
		a.gap.Stop()
		a.gap = nil
	}
	if open && a.gap == nil {
		missing := a.next
		a.gapAt, a.gapFrom = missing, time.Now()
		a.gap = time.AfterFunc(gapWait, func() { a.gapStays(missing) })
	}
}

// gapStays fails the task when chunk missing is missing still. While our own
// consumer keeps the stream from being read, the chunk may be on its way.
func (a *attempt) gapStays(missing int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := gapWait - time.Since(a.gapFrom)
	switch {
	case a.ended || a.gap == nil || a.gapAt != missing:
	case a.blocked:
		a.gap.Reset(gapWait)
	case left > 0:
		a.gap.Reset(left)
	default:
		a.violate(missingChunk(missing))
	}
}

func missingChunk(seq int64) string { return fmt.Sprintf("chunk %d is missing", seq) }

// count notes that c is the next of the output.
func (a *attempt) count(c *acmp.StreamChunk) {
	a.next++
	a.final = c.Final
	if a.whole != nil && (a.next > maxProofChunks || a.whole.Add(c.Chunk) != nil) {
		a.whole = nil
	}
}

func (a *attempt) hold(c acmp.StreamChunk) {
	if _, twice := a.early[c.Seq]; twice {
		a.ignored++
		return
	}
	if len(a.early) >= maxEarly || a.earlyBytes+len(c.Chunk.Data) > maxEarlyBytes {
		a.violate(missingChunk(a.next))
		return
	}
	if a.early == nil {
		a.early = map[int64]acmp.StreamChunk{}
	}
	a.early[c.Seq] = c
	a.earlyBytes += len(c.Chunk.Data)
	a.watchGap()
}

// heartbeat implements sink.
func (a *attempt) heartbeat(h acmp.Heartbeat) {
	if a.sign() {
		a.emit(acmp.TaskEvent{Kind: acmp.EventHeartbeat, Progress: h.Progress, Detail: clip(a.t.l.spec.Token.hide(h.Detail))})
	}
}

// violation implements sink.
func (a *attempt) violation(msg string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.violate(msg)
}

func (a *attempt) violate(msg string) {
	if a.ended {
		return
	}
	select {
	case a.fault <- msg:
	default:
	}
}

// answered implements sink.
func (a *attempt) answered(rpcError []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rpcError = bytes.Clone(rpcError)
}

// emit queues ev, waiting for room; false when the attempt has ended meanwhile.
func (a *attempt) emit(ev acmp.TaskEvent) bool {
	a.t.stamp(&ev)
	for {
		a.mu.Lock()
		if a.ended {
			a.mu.Unlock()
			token(a.t.q.space) // the next attempt may wait for the one we took
			return false
		}
		if a.t.q.offer(ev) {
			if a.blocked {
				a.blocked, a.lastSign, a.gapFrom = false, time.Now(), time.Now() // what was held up comes now
			}
			a.mu.Unlock()
			return true
		}
		a.blocked = true
		a.mu.Unlock()
		select {
		case <-a.t.q.space:
		case <-a.stop:
			return false
		}
	}
}

// streamed is what was delivered as chunks, for the check of a result.
type streamed struct {
	chunks  int64
	final   bool
	missing bool
	whole   *acmp.Payload // nil where not kept, or too large
}

func (a *attempt) delivered() (d streamed, rpcError []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d = streamed{chunks: a.next, final: a.final, missing: len(a.early) > 0 && !a.final}
	if a.whole != nil {
		p := a.whole.Payload()
		d.whole = &p
	}
	return d, a.rpcError
}

// silence says how long nothing came and whether that was told already; 0 while
// it is our own consumer that makes the stream wait.
func (a *attempt) silence(now time.Time) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.blocked || !a.written {
		return 0, a.stalled
	}
	return now.Sub(a.lastSign), a.stalled
}

func (a *attempt) setStalled() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stalled = true
}
