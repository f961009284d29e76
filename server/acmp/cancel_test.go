package acmp

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// untilStopped runs until its context ends and counts its runs.
func untilStopped(runs *atomic.Int64) Handler {
	return func(ctx context.Context, _ *Task) (Output, error) {
		runs.Add(1)
		<-ctx.Done()
		return Output{}, context.Cause(ctx)
	}
}

// one -33004, promptly, even from a deaf handler; kept.
func TestCancel(t *testing.T) {
	release := make(chan struct{}, 2)
	h := func(_ context.Context, task *Task) (Output, error) {
		_ = task.Emit(acmp.Text("first"))
		<-release // deaf
		return Output{}, task.EmitFinal(acmp.Text("late"))
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		defer func() { release <- struct{}{} }()
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": true}))
		if m := r.next(t); m.Method != acmp.MethodStreamChunk {
			t.Fatalf("first message: %s", m.raw)
		}
		for range 2 {
			c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id, "reason": "no longer needed"})
		}
		m := r.answer(t)
		if m.Error == nil || m.Error.Code != acmp.CodeCancelled || m.Error.Data["task_id"] != id {
			t.Errorf("answer: %s", m.raw)
		}
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).code(t); code != acmp.CodeCancelled {
			t.Errorf("re-sent: %d", code)
		}
		c.notify(t, acmp.MethodCancel, map[string]any{"task_id": "nobody-knows"})
	})
}

// a cancel behind the result changes nothing.
func TestCancelAfterResult(t *testing.T) {
	onBoth(t, only(stream(1)), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		for range 2 {
			if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).code(t); code != 0 {
				t.Errorf("code %d", code)
			}
			c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
		}
	})
}

// A-140, D-14: a cancel that overtakes its invoke stops it before it runs.
func TestCancelBeforeInvoke(t *testing.T) {
	var runs atomic.Int64
	onBoth(t, only(untilStopped(&runs)), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id, "reason": "too early"})
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).code(t); code != acmp.CodeCancelled {
			t.Errorf("code %d", code)
		}
		if runs.Load() != 0 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

// D-16, A-098: the provider ends a task at its deadline.
func TestDeadline(t *testing.T) {
	var runs atomic.Int64
	onBoth(t, only(untilStopped(&runs)), func(t *testing.T, _ *Provider, c peer) {
		begin := time.Now()
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"timeout_ms": 150})).answer(t)
		if m.Error == nil || m.Error.Code != acmp.CodeTimeout {
			t.Errorf("answer: %s", m.raw)
		}
		if d := time.Since(begin); d < 140*time.Millisecond || d > patience/2 {
			t.Errorf("after %v", d)
		}
	})
}
