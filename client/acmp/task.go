package acmp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// task is one invocation from the first send to its outcome.
type task struct {
	b    *Buyer
	l    *link
	inv  acmp.Invocation
	id   string
	q    *queue
	file *taskFile // nil-safe

	cancelC chan string
	resendC chan struct{}
	sent    chan struct{} // closed at the first send
	over    chan struct{} // closed at the outcome or when the buyer closes

	inputMu   sync.Mutex // one input chunk at a time, in order
	inputSeq  int64
	inputDone bool

	mu       sync.Mutex
	first    time.Time // of the first send; zero before
	ended    bool
	reattach bool // found in the journal of an earlier run
}

func newTask(b *Buyer, l *link, inv acmp.Invocation) *task {
	return &task{
		b: b, l: l, inv: inv, id: inv.Params.TaskID, q: newQueue(),
		cancelC: make(chan string, 1), resendC: make(chan struct{}, 1),
		sent: make(chan struct{}), over: make(chan struct{}),
	}
}

func (t *task) stamp(ev *acmp.TaskEvent) {
	ev.TaskID, ev.Provider = t.id, t.inv.Provider
	if ev.At.IsZero() {
		ev.At = time.Now()
	}
}

func (t *task) tell(ev acmp.TaskEvent) {
	t.stamp(&ev)
	t.q.put(ev)
}

func (t *task) isEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// finish tells the outcome; nothing is told after it.
func (t *task) finish(ev acmp.TaskEvent) {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.tell(ev)
	t.q.close()
	close(t.over)
}

func (t *task) deadline() time.Time {
	return acmp.Deadline(t.first, t.inv.Params.TimeoutMS)
}

// maxInputTries bounds the sends of one input chunk over a failing network.
const maxInputTries = 5

func (t *task) input(ctx context.Context, chunk acmp.Payload, final bool) error {
	if !t.inv.Params.InputStream {
		return refuse(acmp.CodeFeatureUnsupported, "the task was not started with streamed input")
	}
	t.inputMu.Lock()
	defer t.inputMu.Unlock()
	if t.inputDone {
		return errors.New("the input of the task has ended already")
	}
	select {
	case <-t.sent:
	case <-t.over:
		return fmt.Errorf("input for %s: %w", t.id, ErrEnded)
	case <-ctx.Done():
		return ctx.Err()
	}
	msg := acmp.InputChunk{TaskID: t.id, Seq: t.inputSeq, Chunk: chunk, Final: final}
	wait := backoff{first: 100 * time.Millisecond, most: 2 * time.Second}
	for try := 1; ; try++ {
		err := t.notify(ctx, acmp.MethodInputChunk, msg)
		if err == nil {
			t.inputSeq++
			t.inputDone = final
			return nil
		}
		if try == maxInputTries || t.isEnded() || !sleep(ctx, wait.next()) {
			return fmt.Errorf("send input chunk %d: %s", msg.Seq, plainError(err))
		}
	}
}

func (t *task) notify(ctx context.Context, method string, params any) error {
	s, _, err := t.l.acquire(ctx)
	if err != nil {
		return err
	}
	defer t.l.release(s)
	return s.notify(ctx, method, params)
}
