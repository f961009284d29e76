package acmp

import (
	"context"
	"errors"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// D-01: whoever comes back in time keeps the task, also in the very instant in which
// the grace time ends. Its timer may have ended already and wait for the lock that the
// caller holds: what it does then is done here by hand, in every order.
func TestComingBackAsTheGraceEnds(t *testing.T) {
	p := newProvider(t, only(func(ctx context.Context, _ *Task) (Output, error) {
		<-ctx.Done()
		return Output{}, ctx.Err()
	})())
	task, place, bad := p.find(acmp.InvokeParams{TaskID: taskID(), Capability: "work", TimeoutMS: 60_000}, "somebody")
	if bad != nil {
		t.Fatal(bad)
	}
	task.grace = time.Hour
	p.launch(task, place)
	leave := func(w *waiter) *graceTime {
		task.detach(w)
		task.mu.Lock()
		defer task.mu.Unlock()
		if task.orphan == nil {
			t.Fatal("no grace time began")
		}
		return task.orphan
	}
	over := func() bool {
		task.mu.Lock()
		defer task.mu.Unlock()
		return task.outcome != nil
	}

	first := leave(task.attach(true))
	w := task.attach(true)
	task.abandon(first)
	if over() {
		t.Fatal("abandoned after a caller was back")
	}
	second := leave(w)
	task.abandon(first)
	if over() {
		t.Fatal("abandoned by a grace time that had been ended before")
	}
	task.abandon(second)
	select {
	case <-task.ctx.Done():
	case <-time.After(patience):
		t.Fatal("nobody came back, and the task goes on")
	}
	if cause := context.Cause(task.ctx); !over() || !errors.Is(cause, errAbandoned) {
		t.Errorf("the task ended because of %v", cause)
	}
}
