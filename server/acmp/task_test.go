package acmp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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

func streamed(id string) map[string]any { return invokeParamsOf(id, map[string]any{"stream": true}) }
