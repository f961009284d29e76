package acmp

import (
	"context"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// D-01: whoever comes back in time keeps the task, also in the very instant in which
// the grace time ends: with a caller attached it is not abandoned.
func TestComingBackAsTheGraceEnds(t *testing.T) {
	p := newProvider(t, only(func(ctx context.Context, _ *Task) (Output, error) {
		<-ctx.Done()
		return Output{}, ctx.Err()
	})())
	for round := range 20 {
		task, place, bad := p.find(acmp.InvokeParams{TaskID: taskID(), Capability: "work", TimeoutMS: 60_000}, "somebody")
		if bad != nil {
			t.Fatal(bad)
		}
		task.grace = time.Millisecond
		p.launch(task, place)
		task.detach(task.attach(true))
		// The end of the grace and the return of the caller wait for the same lock, in
		// this order and for so long that a mutex serves them in this order. Where the
		// machine is too slow for that the round shows nothing, and fails nothing.
		task.mu.Lock()
		<-time.After(4 * time.Millisecond)
		back := make(chan time.Time)
		var w *waiter
		go func() {
			w = task.attach(true)
			back <- time.Now()
		}()
		<-time.After(4 * time.Millisecond)
		task.mu.Unlock()
		task.mu.Lock()
		<-time.After(2 * time.Millisecond)
		task.mu.Unlock()
		attached := <-back
		select {
		case <-task.ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
		task.mu.Lock()
		if task.outcome != nil && task.endedAt.After(attached) {
			t.Errorf("round %d: abandoned %v after a caller was back", round, task.endedAt.Sub(attached))
		}
		task.mu.Unlock()
		task.finish(cancelledError(task.id, "enough"), errCancelled)
		task.detach(w)
	}
}
