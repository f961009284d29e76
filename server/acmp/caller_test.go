package acmp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// D-01: after a lost connection the task goes on and a re-sent invoke
// finds it, from seq 0.
func TestDisconnectAndResend(t *testing.T) {
	release := make(chan struct{})
	var runs atomic.Int64
	h := func(_ context.Context, task *Task) (Output, error) {
		runs.Add(1)
		for i := range 3 {
			_ = task.Emit(acmp.Text(fmt.Sprint(i)))
		}
		<-release
		_ = task.Emit(acmp.Text("3"))
		return Output{}, task.EmitFinal(acmp.Text("4"))
	}
	p := newProvider(t, only(h)())
	c := overHTTP(t, p)
	id := taskID()
	params := invokeParamsOf(id, map[string]any{"stream": true})
	r := c.request(t, acmp.MethodInvoke, params)
	for range 3 {
		r.next(t)
	}
	r.drop()
	task := p.table.find(id).task
	eventually(t, "the provider sees the caller go", func() bool {
		task.mu.Lock()
		defer task.mu.Unlock()
		return len(task.waiters) == 0 && task.orphan != nil
	})
	r = c.request(t, acmp.MethodInvoke, params)
	close(release)
	ms := r.all(t)
	if len(ms) != 6 || runs.Load() != 1 {
		t.Fatalf("%d messages, %d runs", len(ms), runs.Load())
	}
	for i, m := range ms[:5] {
		if m.Params.Seq != int64(i) || m.Params.Final != (i == 4) {
			t.Errorf("chunk %d: %s", i, m.raw)
		}
	}
}

// D-01: a task nobody comes back for is cancelled when its grace is over.
func TestGrace(t *testing.T) {
	var runs atomic.Int64
	opts := func() Options { o := only(untilStopped(&runs))(); o.Grace = 50 * time.Millisecond; return o }
	onBoth(t, opts, func(t *testing.T, p *Provider, c peer) {
		runs.Store(0)
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"timeout_ms": 60000}))
		eventually(t, "it runs", func() bool { return runs.Load() == 1 })
		r.drop()
		task := p.table.find(id).task
		select {
		case <-task.ctx.Done():
		case <-time.After(patience):
			t.Fatal("the task lives on")
		}
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).code(t); code != acmp.CodeCancelled {
			t.Errorf("re-sent: %d", code)
		}
	})
}

// A-049, D-07: after notifications/cancelled no message for that request follows.
func TestStdioCancelledIsSilent(t *testing.T) {
	tick := func(ctx context.Context, task *Task) (Output, error) {
		for {
			if err := task.Emit(acmp.Text("x")); err != nil {
				return Output{}, err
			}
			select {
			case <-ctx.Done():
				return Output{}, ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	o := only(tick)()
	o.HeartbeatInterval = 5 * time.Millisecond
	o.Grace = 30 * time.Millisecond
	p := newProvider(t, o)
	c := overStdio(t, p)
	id := taskID()
	r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": true}))
	r.next(t)
	r.drop()
	// Whatever was written before the notification was read comes before this answer.
	c.request(t, "server/discover", nil).all(t)
	for len(r.msgs) > 0 {
		<-r.msgs
	}
	task := p.table.find(id).task
	<-task.returned
	c.request(t, "server/discover", nil).all(t)
	if len(r.msgs) > 0 {
		m := <-r.msgs
		t.Errorf("after the cancel: %s", m.raw)
	}
}

// exactly one response in each of a thousand random races of cancel, completion
// and deadline.
func TestRaces(t *testing.T) {
	h := func(ctx context.Context, task *Task) (Output, error) {
		for range 3 {
			if task.Emit(acmp.Text("x")) != nil {
				return Output{}, ctx.Err()
			}
		}
		return Output{}, task.EmitFinal(acmp.Text("y"))
	}
	o := only(h)()
	o.HeartbeatInterval = time.Millisecond
	p := newProvider(t, o)
	c := overHTTP(t, p)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for range 1000 {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			id := taskID()
			var both sync.WaitGroup
			pause := time.Duration(rand.IntN(2000)) * time.Microsecond
			both.Go(func() { <-time.After(pause); c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id}) })
			both.Go(func() {
				r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": true, "timeout_ms": 1 + rand.IntN(20)}))
				m := r.answer(t) // one response, and it is the last message
				if m.Error == nil && !m.Result.OutputStreamed {
					t.Errorf("answer: %s", m.raw)
				}
			})
			both.Wait()
		})
	}
	wg.Wait()
}
