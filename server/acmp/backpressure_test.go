package acmp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// began is a handler that hands its task over and then works.
func began(tasks chan<- *Task, work Handler) Handler {
	return func(ctx context.Context, t *Task) (Output, error) {
		tasks <- t
		return work(ctx, t)
	}
}

// lonely tells whether nobody waits for the task.
func lonely(task *Task) func() bool {
	return func() bool {
		task.mu.Lock()
		defer task.mu.Unlock()
		return len(task.waiters) == 0
	}
}

// D-02: a caller that comes back after the beginning has been let go is told so, and
// harms neither the work nor the other callers, also while the output is at its bound.
func TestComingBackTooLate(t *testing.T) {
	o := only(nil)()
	tasks := make(chan *Task, 1)
	o.Capabilities[0].Handler = began(tasks, untilStopped(new(atomic.Int64)))
	o.Limits.TaskBytes = 4096
	c := overHTTP(t, newProvider(t, o))
	id := taskID()
	r := c.request(t, acmp.MethodInvoke, streamed(id))
	task := <-tasks
	p := acmp.Text(strings.Repeat("x", 1000))
	emit := func(n int) {
		for range n {
			if err := task.Emit(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	emit(20)
	late := task.attach(true) // as a request does before it looks
	emit(20)
	if _, _, _, _, err := task.advance(late, 1); !errors.Is(err, errReplayGone) {
		t.Errorf("the late caller: %v", err)
	}
	task.detach(late)
	if err := task.EmitFinal(p); err != nil {
		t.Fatal(err)
	}
	task.finish(&outcome{chunked: true}, errDone)
	if got := len(chunks(r.all(t))); got != 41 {
		t.Errorf("the first caller got %d chunks", got)
	}
}

// A caller that wants the output in one piece learns at once that it is too large,
// also where the work waits for somebody to read it in parts.
func TestWholeOutputOfStalledWork(t *testing.T) {
	o := only(nil)()
	tasks := make(chan *Task, 1)
	o.Capabilities[0].Handler = began(tasks, func(_ context.Context, task *Task) (Output, error) {
		for {
			if err := task.Emit(acmp.Text(strings.Repeat("x", 1000))); err != nil {
				return Output{}, err
			}
		}
	})
	o.Limits.TaskBytes = 64 << 10
	c := overHTTP(t, newProvider(t, o))
	id := taskID()
	long := map[string]any{"stream": true, "timeout_ms": 10 * patience.Milliseconds()}
	r := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, long))
	task := <-tasks
	r.drop()
	eventually(t, "the caller is gone", lonely(task))
	eventually(t, "the output is at its bound", func() bool {
		task.mu.Lock()
		defer task.mu.Unlock()
		return task.bytes+1000 > o.Limits.TaskBytes
	})
	long["stream"] = false
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, long)).answer(t)
	if m.Error == nil || !strings.Contains(string(m.raw), "larger than") {
		t.Errorf("answer: %s", m.raw)
	}
}

// A command that ended while its callers were slow loses nothing of what it wrote
// last, which stands in the pipe still.
func TestSlowCallersGetTheEnd(t *testing.T) {
	needShell(t)
	const lines = 300 // more than is read at once, less than a pipe holds
	tail := strings.Repeat("x", 190)
	dir := t.TempDir()
	cmd := &Command{Argv: []string{"sh", "-c", fmt.Sprintf(untilGo+`; i=0; while [ $i -lt %d ]; do echo "$i %s"; i=$((i+1)); done`, lines, tail)}, Dir: dir}
	if err := cmd.validate(); err != nil {
		t.Fatal(err)
	}
	run := newRunner(nil, slog.New(slog.DiscardHandler))
	t.Cleanup(run.close)
	tasks, procs := make(chan *Task, 1), make(chan *process, 1)
	o := only(began(tasks, func(ctx context.Context, task *Task) (Output, error) {
		p, err := run.spawn(cmd.Argv, cmd)
		if err != nil {
			return Output{}, err
		}
		procs <- p
		return cmd.serve(ctx, task, p)
	}))()
	o.Limits.TaskBytes = 2000
	c := overHTTP(t, newProvider(t, o))
	id := taskID()
	ask := invokeParamsOf(id, map[string]any{"stream": true, "timeout_ms": patience.Milliseconds()})
	r := c.request(t, acmp.MethodInvoke, ask)
	task, p := <-tasks, <-procs
	r.drop()
	eventually(t, "the caller is gone", lonely(task))
	letGo(t, dir)
	eventually(t, "the provider waits no longer for the pipe", p.forced.Load)
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "%d %s\n", i, tail)
	}
	ms := c.request(t, acmp.MethodInvoke, ask).all(t)
	if got := joined(t, ms); got != want.String() {
		t.Errorf("%d of %d bytes came: %.200q", len(got), want.Len(), got)
	}
	if m := ms[len(ms)-1]; m.Result == nil {
		t.Errorf("answer: %s", m.raw)
	}
}

// input that nobody reads any more is taken to its end, however much it
// is, so that a success held for it comes out.
func TestUnreadInputIsTakenToItsEnd(t *testing.T) {
	done := make(chan struct{}, 2)
	h := func(context.Context, *Task) (Output, error) {
		defer func() { done <- struct{}{} }()
		p := acmp.Text("enough")
		return Output{Payload: &p}, nil
	}
	opts := func() Options {
		o := only(h)()
		o.Limits.InputBytes, o.Limits.TaskBytes = 4000, 8000
		return o
	}
	onBoth(t, opts, func(t *testing.T, _ *Provider, c peer) {
		id := taskID()
		r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true})
		<-done
		const n = 30
		for i := range n {
			c.notify(t, acmp.MethodInputChunk, inputChunk(id, i, strings.Repeat("x", 1000), i == n-1))
		}
		if m := r.answer(t); m.Result == nil {
			t.Errorf("answer: %s", m.raw)
		}
	})
}

// B84: a task that is over holds nothing of the input it did not read.
func TestEndedTasksHoldNoInput(t *testing.T) {
	tasks, fail := make(chan *Task, 2), make(chan struct{})
	h := began(tasks, func(context.Context, *Task) (Output, error) {
		<-fail
		return Output{}, errors.New("no")
	})
	p := newProvider(t, only(h)())
	c := overHTTP(t, p)
	id := taskID()
	r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true})
	task := <-tasks
	for _, seq := range []int{0, 1, 3} {
		c.notify(t, acmp.MethodInputChunk, inputChunk(id, seq, strings.Repeat("x", 1000), false))
	}
	close(fail)
	if code := r.code(t); code != acmp.CodeInternal {
		t.Fatalf("code %d", code)
	}
	c.notify(t, acmp.MethodInputChunk, inputChunk(id, 2, "late", true))
	task.input.mu.Lock()
	defer task.input.mu.Unlock()
	if len(task.input.ready) > 0 || task.input.bytes > 0 || task.input.seq.Held() > 0 {
		t.Errorf("%d chunks, %d bytes, %d behind a gap", len(task.input.ready), task.input.bytes, task.input.seq.Held())
	}
}

// B84: what comes before its invoke is bounded in every part.
func TestEarlyMessagesAreSmall(t *testing.T) {
	long := strings.Repeat("x", 5000)
	onBoth(t, only(untilStopped(new(atomic.Int64))), func(t *testing.T, p *Provider, c peer) {
		id := taskID()
		c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id, "reason": long})
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).answer(t)
		if m.Error == nil || m.Error.Code != acmp.CodeCancelled {
			t.Fatalf("answer: %s", m.raw)
		}
		if reason, _ := m.Error.Data["detail"].(string); len(reason) != maxDetailBytes {
			t.Errorf("the reason is %d bytes", len(reason))
		}
		if _, problem := parseCancel([]byte(`{"task_id":"` + long + `"}`)); problem == "" {
			t.Error("a cancel with a long task_id is taken")
		}
		if _, problem := parseInputChunk([]byte(`{"task_id":"` + long + `","seq":0,"chunk":{"type":"text","data":"x"},"final":true}`)); problem == "" {
			t.Error("a chunk with a long task_id is taken")
		}
		big := acmp.InputChunk{TaskID: taskID(), Chunk: acmp.Payload{Type: strings.Repeat("x", p.opts.Limits.EarlyBytes), Data: []byte(`""`)}}
		if p.table.chunk("somebody", big); len(p.table.early) != 0 && len(p.table.early["somebody"].chunks) > 0 {
			t.Error("the type of an early chunk does not count")
		}
	})
}

// D-12: an end is on the disk before the provider has closed, whoever ended the task.
func TestCloseWaitsForTheRecord(t *testing.T) {
	dir := t.TempDir()
	tasks, gate := make(chan *Task, 1), make(chan struct{})
	p, c, _ := session(t, dir, func(ctx context.Context, task *Task) (Output, error) {
		onDone := task.onDone
		task.onDone = func(task *Task) { <-gate; onDone(task) }
		tasks <- task
		<-ctx.Done()
		return Output{}, ctx.Err()
	})
	id := taskID()
	c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil))
	task := <-tasks
	go p.cancelTask(anonymous, acmp.Cancel{TaskID: id, Reason: "enough"})
	<-task.returned
	closed := make(chan error, 1)
	go func() { closed <- p.Close(t.Context()) }()
	select {
	case err := <-closed:
		t.Errorf("closed before the end was recorded: %v", err)
		closed <- err
	case <-time.After(100 * time.Millisecond): // it waits
	}
	close(gate)
	<-task.recorded
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	_, c, stop := session(t, dir, untilStopped(new(atomic.Int64)))
	defer stop()
	if m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).answer(t); m.Error == nil || m.Error.Code != acmp.CodeCancelled {
		t.Errorf("after a restart: %s", m.raw)
	}
}

// What comes when the journal is closed is not said to be kept.
func TestNothingIsKeptAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	j, _, err := openJournal(dir, Limits{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.start(func(func(record) error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := j.append(record{ID: "before"}); err != nil {
		t.Fatal(err)
	}
	j.close()
	if err := j.append(record{ID: "after"}); err == nil {
		t.Error("a record is said to be kept")
	}
	raw, err := os.ReadFile(j.path)
	if err != nil || strings.Contains(string(raw), "after") || !strings.Contains(string(raw), "before") {
		t.Errorf("%v: %s", err, raw)
	}
}

// A command never sees the end of an input that a cancel has cut off: it would act on
// a part as if it were the whole.
func TestCutInputDoesNotEnd(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	o := shell(`trap "" TERM; echo up; cat > /dev/null; touch acted`, func(c *Command) { c.Dir = dir })()
	p := newProvider(t, o)
	c := overHTTP(t, p)
	id := taskID()
	r := c.request(t, acmp.MethodInvoke, map[string]any{"task_id": id, "capability": "work", "input_stream": true, "stream": true})
	c.notify(t, acmp.MethodInputChunk, inputChunk(id, 0, "rm -r build", false))
	r.until(t, func(m message) bool { return string(m.Params.Chunk.Data) == `"up\n"` })
	task := p.table.taskOf(p.table.find(id))
	c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
	if code := r.code(t); code != acmp.CodeCancelled {
		t.Errorf("code %d", code)
	}
	<-task.returned
	if _, err := os.Stat(filepath.Join(dir, "acted")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the command acted on a part of its input: %v", err)
	}
}
