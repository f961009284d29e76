package acmp

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// D-12: outcomes are let go of by size, and answer -33099 then; never a second run.
func TestOutcomesAreBounded(t *testing.T) {
	var runs atomic.Int64
	h := func(context.Context, *Task) (Output, error) {
		runs.Add(1)
		p := acmp.Text(strings.Repeat("x", 1000))
		return Output{Payload: &p}, nil
	}
	o := only(h)()
	o.Limits = Limits{TotalBytes: 16000, Tombstones: 10}
	p := newProvider(t, o)
	c := overHTTP(t, p)
	var ids []string
	for range 12 {
		id := taskID()
		ids = append(ids, id)
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).code(t); code != 0 {
			t.Fatal(code)
		}
	}
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(ids[0], nil)).answer(t)
	if m.Error == nil || m.Error.Code != acmp.CodeInternal || m.Error.Data["detail"] != "outcome no longer held" {
		t.Errorf("first: %s", m.raw)
	}
	if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(ids[11], nil)).code(t); code != 0 {
		t.Errorf("last: %d", code)
	}
	if runs.Load() != 12 {
		t.Errorf("%d runs", runs.Load())
	}
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if p.table.bytes > 16000 || p.table.gone.Len() > 10 || p.table.running != 0 {
		t.Errorf("%d bytes, %d tombstones, %d running", p.table.bytes, p.table.gone.Len(), p.table.running)
	}
}

// D-14: what comes early is bounded in number, bytes and time.
func TestEarlyIsBounded(t *testing.T) {
	l := Limits{}
	l.setDefaults()
	tb := newTable(l)
	now := time.Unix(1000, 0)
	tb.now = func() time.Time { return now }
	chunk := func(id string, n int) acmp.InputChunk {
		return acmp.InputChunk{TaskID: id, Chunk: acmp.Text(strings.Repeat("x", n))}
	}
	for i := range 100 {
		tb.chunk("alice", chunk(fmt.Sprint("a", i), 10))
	}
	for range 10 {
		tb.chunk("bob", chunk("b", 300<<10))
	}
	for i := range 3000 {
		tb.cancel("alice", acmp.Cancel{TaskID: fmt.Sprint("c", i)})
	}
	if a, b := tb.early["alice"], tb.early["bob"]; len(a.chunks) != 64 || len(a.cancels) != 1024 || len(b.chunks) != 3 || b.bytes > 1<<20 {
		t.Errorf("alice %d chunks %d cancels, bob %d chunks %d bytes", len(a.chunks), len(a.cancels), len(b.chunks), b.bytes)
	}
	now = now.Add(11 * time.Second)
	tb.cancel("carol", acmp.Cancel{TaskID: "x"})
	if len(tb.early) != 1 {
		t.Errorf("%d principals still held", len(tb.early))
	}
	now = now.Add(11 * time.Second)
	if a := tb.add(&Task{id: "x", principal: "carol"}); a.cancel != nil || !a.fresh {
		t.Error("an old cancel still counts")
	}
}

// B42, B84, D-03: a stalled reader stalls the handler: memory stays bounded, nothing is
// lost; a replay of what is no longer held is refused and not cut short.
func TestSlowReaderStallsTheHandler(t *testing.T) {
	const total, bound = 8 << 20, 256 << 10
	var sent atomic.Int64
	h := func(_ context.Context, task *Task) (Output, error) {
		for range total / 1024 {
			if err := task.Emit(acmp.Text(strings.Repeat("x", 1024))); err != nil {
				return Output{}, err
			}
			sent.Add(1024)
		}
		return Output{}, task.EmitFinal(acmp.Text(""))
	}
	o := only(h)()
	o.Limits.TaskBytes = bound
	p := newProvider(t, o)
	pause := make(chan struct{})
	s := &pausedSink{pause: pause}
	task, place, bad := p.find(acmp.InvokeParams{TaskID: taskID(), Capability: "work", Stream: true, TimeoutMS: 60000,
		Input: &acmp.Payload{Type: "text", Data: []byte(`""`)}}, "me")
	if bad != nil {
		t.Fatal(bad)
	}
	p.launch(task, place)
	end := make(chan *outcome, 1)
	go func() {
		o, err := p.follow(t.Context(), task, true, call{sink: s})
		if err != nil {
			t.Error(err)
		}
		end <- o
	}()
	var before int64
	eventually(t, "the handler stands still", func() bool {
		n := sent.Load()
		same := n == before && n > 0
		before = n
		if same {
			<-time.After(50 * time.Millisecond)
		}
		return same && sent.Load() == n
	})
	if before > 4*bound {
		t.Errorf("%d bytes were produced ahead of a reader that reads nothing", before)
	}
	close(pause)
	if o := <-end; o == nil || o.err != nil {
		t.Errorf("outcome %+v", o)
	}
	if s.chunks != total/1024+1 {
		t.Errorf("%d chunks arrived", s.chunks)
	}
	// Its beginning is gone: a retry is told so, and does not run again (D-03).
	if o, _ := p.follow(t.Context(), task, true, call{sink: s}); o == nil || o.err == nil || o.err.Code != acmp.CodeInternal {
		t.Errorf("retry: %+v", o)
	}
}

type pausedSink struct {
	pause  chan struct{}
	chunks int
}

func (s *pausedSink) write(b []byte) error {
	<-s.pause
	s.chunks += strings.Count(string(b), acmp.MethodStreamChunk)
	return nil
}
func (s *pausedSink) flush()           {}
func (s *pausedSink) until(time.Time)  {}
func (s *pausedSink) framing() framing { return sseFraming }

// B84: output that cannot be sent in pieces is refused above the bound.
func TestWholeOutputIsBounded(t *testing.T) {
	o := only(stream(1000))()
	o.Limits.TaskBytes = 4096
	p := newProvider(t, o)
	m := overHTTP(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).answer(t)
	if m.Error == nil || m.Error.Code != acmp.CodeInternal || !strings.Contains(fmt.Sprint(m.Error.Data["detail"]), "4096") {
		t.Errorf("answer: %s", m.raw)
	}
}

// B86: Close takes nothing new, lets what runs end, and cancels the rest.
func TestClose(t *testing.T) {
	var runs atomic.Int64
	release := make(chan struct{})
	h := func(ctx context.Context, task *Task) (Output, error) {
		runs.Add(1)
		if task.Params().OutputType == "long" {
			<-ctx.Done()
			return Output{}, ctx.Err()
		}
		<-release
		return stream(1)(ctx, task)
	}
	p := newProvider(t, only(h)())
	c := overHTTP(t, p)
	short := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil))
	long := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"output_type": "long"}))
	eventually(t, "both run", func() bool { return runs.Load() == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- p.Close(ctx) }()
	eventually(t, "new tasks are refused", func() bool {
		p.table.mu.Lock()
		defer p.table.mu.Unlock()
		return p.table.closed
	})
	if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).code(t); code != acmp.CodeInternal {
		t.Errorf("new task: %d", code)
	}
	close(release)
	if code := short.code(t); code != 0 {
		t.Errorf("short: %d", code)
	}
	cancel() // the time for finishing is over
	if code := long.code(t); code != acmp.CodeCancelled {
		t.Errorf("long: %d", code)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
