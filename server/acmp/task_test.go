package acmp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func invokeParamsOf(id string, more map[string]any) map[string]any {
	p := map[string]any{"task_id": id, "capability": "work", "input": text("")}
	for k, v := range more {
		p[k] = v
	}
	return p
}

// stream sends n text chunks.
func stream(n int) Handler {
	return func(_ context.Context, t *Task) (Output, error) {
		for i := range n {
			p := acmp.Text(fmt.Sprint(i, " "))
			send := t.Emit
			if i == n-1 {
				send = t.EmitFinal
			}
			if err := send(p); err != nil {
				return Output{}, err
			}
		}
		return Output{TokensUsed: 7}, nil
	}
}

// untilStopped runs until its context ends and counts its runs.
func untilStopped(runs *atomic.Int64) Handler {
	return func(ctx context.Context, _ *Task) (Output, error) {
		runs.Add(1)
		<-ctx.Done()
		return Output{}, context.Cause(ctx)
	}
}

// B31 (the stream ends behind its response), A-069, A-118 to: chunks in order, the final one, the result.
func TestStreamThenResult(t *testing.T) {
	onBoth(t, only(stream(5)), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		ms := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": true})).all(t)
		if len(ms) != 6 {
			t.Fatalf("%d messages, want 6", len(ms))
		}
		for i, m := range ms[:5] {
			if m.Method != acmp.MethodStreamChunk || m.Params.Seq != int64(i) || m.Params.Final != (i == 4) ||
				m.Params.TaskID != id || string(m.Params.Chunk.Data) != fmt.Sprintf(`"%d "`, i) {
				t.Errorf("message %d: %s", i, m.raw)
			}
		}
		r := ms[5].Result
		if r == nil || !r.OutputStreamed || r.Output != nil || r.TaskID != id || r.TokensUsed != 7 || r.ResultType != "complete" || r.CostCU != "0" {
			t.Errorf("result: %s", ms[5].raw)
		}
	})
}

// A-071, D-04: stream false sends no chunk and the whole output.
func TestStreamFalseCollects(t *testing.T) {
	onBoth(t, only(stream(3)), func(t *testing.T, _ *Provider, c peer) {
		ms := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).all(t)
		if len(ms) != 1 || ms[0].Result == nil {
			t.Fatalf("messages: %d", len(ms))
		}
		r := ms[0].Result
		if r.OutputStreamed || r.Output == nil || string(r.Output.Data) != `"0 1 2 "` {
			t.Errorf("result: %s", ms[0].raw)
		}
	})
}

// a handler that returns its output whole.
func TestWholeOutputOfStreamTrue(t *testing.T) {
	h := func(context.Context, *Task) (Output, error) {
		p := acmp.Payload{Type: "json", Data: []byte("{\n\"a\":\n null}")}
		return Output{Payload: &p}, nil
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true})).answer(t)
		if m.Result == nil || m.Result.OutputStreamed || string(m.Result.Output.Data) != `{"a":null}` {
			t.Errorf("result: %s", m.raw)
		}
	})
}

// D-02: fifty duplicates at once are one run, and all get the one
// outcome with all chunks.
func TestDuplicatesRunOnce(t *testing.T) {
	var runs atomic.Int64
	release := make(chan struct{})
	h := func(ctx context.Context, task *Task) (Output, error) {
		runs.Add(1)
		<-release
		return stream(4)(ctx, task)
	}
	p := newProvider(t, only(h)())
	c := overHTTP(t, p)
	id := taskID()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": i%2 == 0}))
			ms := r.all(t)
			want := 1
			if i%2 == 0 {
				want = 5
			}
			if len(ms) != want || ms[want-1].Result == nil {
				t.Errorf("request %d got %d messages", i, len(ms))
			}
		})
	}
	eventually(t, "the one run begins", func() bool { return runs.Load() == 1 })
	close(release)
	wg.Wait()
	if n := runs.Load(); n != 1 {
		t.Errorf("%d runs", n)
	}
	// D-03, A-079: afterwards, too, from seq 0 and under the new id.
	ms := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"stream": true})).all(t)
	if len(ms) != 5 || ms[0].Params.Seq != 0 || ms[4].Result == nil || runs.Load() != 1 {
		t.Errorf("retry of the finished task: %d messages, %d runs", len(ms), runs.Load())
	}
}

// D-10: errors are outcomes like others; D-08: a malformed invoke is not.
func TestErrorsAreKeptAndMalformedIsNot(t *testing.T) {
	var runs atomic.Int64
	h := func(context.Context, *Task) (Output, error) {
		runs.Add(1)
		return Output{}, errors.New("secret internals")
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		runs.Store(0)
		id := taskID()
		if code := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work"}).code(t); code != acmp.CodeInvalidParams {
			t.Errorf("missing input: %d", code)
		}
		for range 2 {
			m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).answer(t)
			if m.Error == nil || m.Error.Code != acmp.CodeInternal || m.Error.Data["task_id"] != id {
				t.Errorf("answer: %s", m.raw)
			}
			if strings.Contains(string(m.raw), "secret") {
				t.Errorf("internals leak: %s", m.raw)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

// a panic is -33099 and the provider goes on.
func TestPanic(t *testing.T) {
	h := func(_ context.Context, task *Task) (Output, error) {
		if task.Params().OutputType == "boom" {
			panic("secret")
		}
		p := acmp.Text("fine")
		return Output{Payload: &p}, nil
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"output_type": "boom"})).answer(t)
		if m.Error == nil || m.Error.Code != acmp.CodeInternal || strings.Contains(string(m.raw), "secret") {
			t.Errorf("answer: %s", m.raw)
		}
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).code(t); code != 0 {
			t.Errorf("afterwards: %d", code)
		}
	})
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

// echoInput gives the whole input back.
func echoInput(ctx context.Context, t *Task) (Output, error) {
	var a acmp.Assembler
	for {
		p, err := t.ReadInput(ctx)
		if errors.Is(err, io.EOF) {
			out := a.Payload()
			return Output{Payload: &out}, nil
		}
		if err != nil {
			return Output{}, err
		}
		_ = a.Add(p)
	}
}

func inputChunk(id string, seq int, data string, final bool) map[string]any {
	return map[string]any{"task_id": id, "seq": seq, "chunk": text(data), "final": final}
}

// out of order, repeated, behind the end, a prefix.
func TestInputOrder(t *testing.T) {
	onBoth(t, only(echoInput), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, map[string]any{"input": text("He"), "input_stream": true}))
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 2, "o", true))
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 3, "behind the end", false))
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "l", false))
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "again", false))
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 1, "l", false))
		m := r.answer(t)
		if m.Result == nil || string(m.Result.Output.Data) != `"Hello"` {
			t.Errorf("answer: %s", m.raw)
		}
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 4, "late", true))
	})
}

// chunks that come before their invoke are held.
func TestInputBeforeInvoke(t *testing.T) {
	onBoth(t, only(echoInput), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 1, "b", true))
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "a", false))
		m := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true}).answer(t)
		if m.Result == nil || string(m.Result.Output.Data) != `"ab"` {
			t.Errorf("answer: %s", m.raw)
		}
	})
}

// A-112, D-17: the engine holds a success until the final input chunk.
func TestSuccessIsWithheld(t *testing.T) {
	done := make(chan struct{}, 2)
	h := func(context.Context, *Task) (Output, error) {
		defer func() { done <- struct{}{} }()
		p := acmp.Text("early")
		return Output{Payload: &p}, nil
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true})
		<-done
		select {
		case m := <-r.msgs:
			t.Fatalf("too early: %s", m.raw)
		case <-time.After(80 * time.Millisecond):
		}
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "x", true))
		if m := r.answer(t); m.Result == nil {
			t.Errorf("answer: %s", m.raw)
		}
	})
}

// output flows before the input is complete.
func TestFullDuplex(t *testing.T) {
	h := func(ctx context.Context, task *Task) (Output, error) {
		for {
			p, err := task.ReadInput(ctx)
			if errors.Is(err, io.EOF) {
				return Output{}, task.EmitFinal(acmp.Text("."))
			}
			if err != nil {
				return Output{}, err
			}
			_ = task.Emit(p)
		}
	}
	onBoth(t, only(h), func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true, "stream": true})
		for i := range 3 {
			c.notify(t, acmp.MethodInputChunk, inputChunk(id, i, fmt.Sprint(i), i == 2))
			if m := r.next(t); string(m.Params.Chunk.Data) != fmt.Sprintf(`"%d"`, i) {
				t.Fatalf("chunk %d: %s", i, m.raw)
			}
		}
		if m := r.next(t); !m.Params.Final {
			t.Errorf("final: %s", m.raw)
		}
		if m := r.answer(t); m.Result == nil {
			t.Errorf("answer: %s", m.raw)
		}
	})
}

// a handler's faults with chunks are -33099.
func TestSloppyHandlers(t *testing.T) {
	faults := map[string]Handler{
		"no final": func(_ context.Context, t *Task) (Output, error) { return Output{}, t.Emit(acmp.Text("a")) },
		"after final": func(_ context.Context, t *Task) (Output, error) {
			_ = t.EmitFinal(acmp.Text("a"))
			_ = t.Emit(acmp.Text("b"))
			return Output{}, nil
		},
		"both": func(_ context.Context, t *Task) (Output, error) {
			p := acmp.Text("whole")
			return Output{Payload: &p}, t.EmitFinal(acmp.Text("a"))
		},
		"none": func(context.Context, *Task) (Output, error) { return Output{}, nil },
		"not json": func(_ context.Context, t *Task) (Output, error) {
			return Output{}, t.Emit(acmp.Payload{Type: "json", Data: []byte("{")})
		},
	}
	for name, h := range faults {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, only(h)())
			m := overHTTP(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true})).answer(t)
			if m.Error == nil || m.Error.Code != acmp.CodeInternal {
				t.Errorf("answer: %s", m.raw)
			}
		})
	}
}

// beats at the nominal interval, none behind the response.
func TestHeartbeats(t *testing.T) {
	const interval = 50 * time.Millisecond
	h := func(ctx context.Context, task *Task) (Output, error) {
		task.Progress(1.7, "nearly")
		select {
		case <-time.After(10*interval + interval/2):
		case <-ctx.Done():
		}
		p := acmp.Text("done")
		return Output{Payload: &p}, nil
	}
	opts := func() Options { o := only(h)(); o.HeartbeatInterval = interval; return o }
	onBoth(t, opts, func(t *testing.T, _ *Provider, c peer) {
		begin := time.Now()
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil))
		ms := r.all(t)
		beats := len(ms) - 1
		due := int(ms[beats].at.Sub(begin) / interval) // a busy machine may take longer
		if beats < due/2 || beats > due {
			t.Errorf("%d beats in %d intervals", beats, due)
		}
		for i, m := range ms[:beats] {
			if m.Method != acmp.MethodHeartbeat || m.Params.Progress == nil || *m.Params.Progress != 1 || m.Params.Detail != "nearly" {
				t.Errorf("beat %d: %s", i, m.raw)
			}
		}
		if !ms[beats].response() {
			t.Errorf("last: %s", ms[beats].raw)
		}
		if c.name() == "http" && !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("content type %q", r.header.Get("Content-Type"))
		}
	})
}

// no interval, no beats. A-028: beats flow between chunks, too.
func TestHeartbeatsBetweenChunks(t *testing.T) {
	enough := make(chan struct{})
	h := func(ctx context.Context, task *Task) (Output, error) {
		for {
			select {
			case <-enough:
				return Output{}, task.EmitFinal(acmp.Text("end"))
			case <-ctx.Done():
				return Output{}, ctx.Err()
			case <-time.After(time.Millisecond):
				_ = task.Emit(acmp.Text("x"))
			}
		}
	}
	for _, interval := range []time.Duration{0, 30 * time.Millisecond} {
		o := only(h)()
		o.HeartbeatInterval = interval
		p := newProvider(t, o)
		r := overHTTP(t, p).request(t, acmp.MethodInvoke, streamed(taskID()))
		beats, sent := 0, 0
		r.until(t, func(m message) bool {
			if m.Method == acmp.MethodHeartbeat {
				beats++
			} else {
				sent++
			}
			return beats == 3 || interval == 0 && sent == 100
		})
		enough <- struct{}{}
		r.all(t)
		if sent == 0 || interval == 0 && beats > 0 {
			t.Errorf("interval %v: %d beats, %d chunks", interval, beats, sent)
		}
	}
}

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
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
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
