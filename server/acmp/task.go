package acmp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"signalbox/model/acmp"
)

// Task is one running task as its handler sees it. Its methods may be called from
// any goroutine until the handler returns; chunks are numbered in the order of
// the calls.
type Task struct {
	id        string
	principal string
	params    acmp.InvokeParams
	cap       *Capability
	price     json.Number // what it costs, in CU: the list price, or what was agreed
	uses      string      // the accepted offer that it uses up; "" where none binds it
	limits    *Limits
	ctx       context.Context // ends with the outcome; its cause is the reason
	stop      context.CancelCauseFunc
	deadline  time.Time
	interval  time.Duration
	grace     time.Duration
	input     *input
	returned  chan struct{} // closed when the handler is gone
	recorded  chan struct{} // closed when the outcome may be told
	restored  bool          // from the journal: it never ran here
	onDone    func(*Task)   // tells the table, once, without t.mu
	recording sync.Mutex    // keeps the records of the journal in order; before mu
	all       *atomic.Int64 // bytes of all running tasks together; nil for one from the journal

	mu       sync.Mutex
	waiters  map[*waiter]struct{}
	chunks   []acmp.Payload // seq = base + index
	base     int64
	bytes    int
	final    bool // the final chunk was sent
	held     *outcome
	outcome  *outcome
	room     chan struct{} // closed and replaced when a waiter has read on
	full     bool          // somebody waits for room
	progress *float64
	detail   string
	timer    *time.Timer // deadline
	orphan   *graceTime  // nil while a caller is attached
	endedAt  time.Time
}

// outcome is how a task ended. It is kept and given to every request that asks.
type outcome struct {
	err     *acmp.Error
	output  *acmp.Payload // nil where it went out as chunks
	tokens  int64
	chunked bool
	// after is true for a failure of the work itself: what it put out before belongs
	// to it, such as the findings of a vet, and is sent first. A cancel or a deadline
	// ends the stream at once.
	after bool
}

var (
	errNotRunning   = errors.New("the task is over")
	errAfterFinal   = errors.New("a chunk follows the final chunk")
	errCancelled    = errors.New("cancelled by the caller")
	errDeadline     = errors.New("the deadline has passed")
	errAbandoned    = errors.New("no caller came back within the grace time")
	errClosing      = errors.New("the provider is stopping")
	errNoProof      = errors.New("the proof that was asked for cannot be made: a part of the output has no canonical form, such as a number that is too large or a member that comes twice")
	errDone         = errors.New("the task has its outcome")
	errInvalidChunk = errors.New("the chunk is not valid: it needs a type, and JSON as data")
)

// ID is the task's id, made by the buyer.
func (t *Task) ID() string { return t.id }

// Params are what the buyer asked for, defaults filled in. Not to be changed.
func (t *Task) Params() *acmp.InvokeParams { return &t.params }

// Deadline is the instant at which the task fails with timeout (D-16).
func (t *Task) Deadline() time.Time { return t.deadline }

// ReadInput gives the next part of the input: that of the invoke first, then the
// streamed chunks in order. After the last it returns io.EOF, which never stands for
// an input that the end of the task has cut off: that is another error, and what was
// not read by then is gone. It blocks until a chunk is there or ctx ends.
func (t *Task) ReadInput(ctx context.Context) (acmp.Payload, error) {
	return t.input.read(ctx)
}

// Progress tells how far the work is; fraction is clamped to 0..1, a negative or
// undefined one means unknown, a long detail is cut. It goes out with the next
// heartbeat.
func (t *Task) Progress(fraction float64, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.progress = nil
	if fraction >= 0 {
		f := math.Min(fraction, 1)
		t.progress = &f
	}
	t.detail = clipText(detail, maxDetailBytes)
}

// maxDetailBytes bounds the text of a heartbeat.
const maxDetailBytes = 1024

// Emit sends one chunk of output. It blocks while the output held of the task is
// at its bound because a caller reads slowly, and fails when the task is over.
// p.Data must be valid JSON and is not copied.
func (t *Task) Emit(p acmp.Payload) error { return t.emit(p, false) }

// EmitFinal sends the last chunk of output.
func (t *Task) EmitFinal(p acmp.Payload) error { return t.emit(p, true) }

func (t *Task) emit(p acmp.Payload, final bool) error {
	p, err := checkChunk(p)
	if err != nil {
		return err
	}
	return t.emitValid(p, final)
}

// emitValid is emit for a chunk that is known to be valid one-line JSON.
func (t *Task) emitValid(p acmp.Payload, final bool) error {
	if !t.provable(p) { // now, and not behind the whole stream
		t.finish(internalError(t.id, errNoProof.Error()), errDone)
		return errNoProof
	}
	t.mu.Lock()
	for {
		switch {
		case t.outcome != nil:
			t.mu.Unlock()
			return errNotRunning
		case t.final:
			t.mu.Unlock()
			t.finish(internalError(t.id, errAfterFinal.Error()), errDone)
			return errAfterFinal
		}
		full := t.makeRoomLocked(len(p.Data))
		if full == nil {
			break
		}
		if !t.canWaitLocked() {
			t.mu.Unlock()
			t.finish(t.tooLarge(), errDone)
			return errNotRunning
		}
		t.mu.Unlock()
		select {
		case <-full:
		case <-t.ctx.Done():
			return errNotRunning
		}
		t.mu.Lock()
	}
	t.chunks = append(t.chunks, p)
	t.holdLocked(len(p.Data) + chunkOverhead)
	t.final = final
	for w := range t.waiters {
		w.poke()
	}
	t.mu.Unlock()
	return nil
}

// provable reports whether p does not stand in the way of the proof that was asked
// for. A piece of text does not, whatever it is: what is cut in it becomes whole.
func (t *Task) provable(p acmp.Payload) bool {
	if t.params.ProofMethod == "" || !acmp.IsJSON(p.Type) {
		return true
	}
	_, err := acmp.ResultHash(acmp.Payload{Type: p.Type, Data: slices.Concat([]byte("["), p.Data, []byte("]"))})
	return err == nil
}

// chunkOverhead is what one held chunk costs besides its data, in bytes.
const chunkOverhead = 64

// makeRoomLocked drops the oldest chunks that every stream has read when the
// bound is reached. It returns nil when n bytes fit, else a channel that is closed
// when somebody has read on.
func (t *Task) makeRoomLocked(n int) <-chan struct{} {
	bound := t.boundLocked()
	if t.bytes+n <= bound || len(t.chunks) == 0 {
		return nil
	}
	read, streams := int64(math.MaxInt64), 0
	for w := range t.waiters {
		if w.stream && w.next >= t.base { // else it came too late, and is about to learn it
			read, streams = min(read, w.next), streams+1
		}
	}
	if streams > 0 && t.canWaitLocked() {
		drop := int(read - t.base)
		for i := range drop {
			t.holdLocked(-len(t.chunks[i].Data) - chunkOverhead)
		}
		t.chunks = t.chunks[drop:] // not cleared: a stream may be encoding them
		t.base = read
	}
	if t.bytes+n <= bound || len(t.chunks) == 0 {
		return nil
	}
	t.full = true
	return t.room
}

// holdLocked counts n more bytes of output, of this task and of all that run.
func (t *Task) holdLocked(n int) {
	t.bytes += n
	t.all.Add(int64(n))
}

// shareBytes is the output that a running task may hold whatever the others do, in
// bytes.
const shareBytes = 1 << 20

// boundLocked is how much output the task may hold now. Once all together hold their
// bound, one that can wait for its readers goes on with its share. One that cannot has
// as much again to share with its like, and fails beyond.
func (t *Task) boundLocked() int {
	over := t.all.Load() - int64(t.limits.RunningBytes)
	if over <= 0 || !t.canWaitLocked() && over <= int64(t.limits.RunningBytes) {
		return t.limits.TaskBytes
	}
	return min(t.limits.TaskBytes, shareBytes)
}

// tooLarge is the end of a task that holds more than it may and cannot wait.
func (t *Task) tooLarge() *outcome {
	t.mu.Lock()
	bound := t.boundLocked()
	t.mu.Unlock()
	if bound < t.limits.TaskBytes {
		return internalError(t.id, "the provider holds as much output of running tasks as it can; stream the output, or try again later")
	}
	return tooLarge(t.id, t.limits.TaskBytes)
}

// canWaitLocked reports whether more output than the bound may be produced: only
// where it goes out as chunks and nobody needs it whole at the end.
func (t *Task) canWaitLocked() bool {
	if !t.params.Stream || t.params.ProofMethod != "" {
		return false
	}
	for w := range t.waiters {
		if !w.stream {
			return false
		}
	}
	return true
}

// checkChunk makes sure that p can stand on one line of the wire.
func checkChunk(p acmp.Payload) (acmp.Payload, error) {
	if p.Type == "" || !json.Valid(p.Data) {
		return p, errInvalidChunk
	}
	p.Data = oneLine(p.Data)
	return p, nil
}
