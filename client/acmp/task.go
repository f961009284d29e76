package acmp

import (
	"context"
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
	over    chan struct{} // closed at the outcome or when the buyer closes

	in *input // nil where the task has no streamed input

	mu       sync.Mutex
	first    time.Time // of the first send; zero before
	ended    bool
	reattach bool // found in the journal of an earlier run
}

func newTask(b *Buyer, l *link, inv acmp.Invocation) *task {
	t := &task{
		b: b, l: l, inv: inv, id: inv.Params.TaskID, q: newQueue(),
		cancelC: make(chan string, 1), resendC: make(chan struct{}, 1), over: make(chan struct{}),
	}
	if inv.Params.InputStream {
		t.in = newInput(b.disk.inputFile(t.id))
	}
	return t
}

func (t *task) stamp(ev *acmp.TaskEvent) {
	ev.TaskID, ev.Provider = t.id, t.inv.Provider
	if ev.At.IsZero() {
		ev.At = time.Now()
	}
	t.l.spec.Token.hideIn(ev)
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
	if t.in != nil && ev.Kind == acmp.EventResult {
		t.in.confirmAll() // no result comes before the whole input
	}
	t.tell(ev)
	t.q.close()
	close(t.over)
}

func (t *task) deadline() time.Time {
	return acmp.Deadline(t.first, t.inv.Params.TimeoutMS)
}

func (t *task) notify(ctx context.Context, method string, params any) error {
	s, _, err := t.l.acquire(ctx)
	if err != nil {
		return err
	}
	defer t.l.release(s)
	return s.notify(ctx, method, params)
}
