package acmp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"signalbox/model/acmp"
)

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
