package acmp

import (
	"context"
	"strings"
	"testing"

	"signalbox/model/acmp"
)

// B84: what all running tasks hold together is bounded, not only what each of them
// does: callers that stop reading cost a share each, and others still get their work.
func TestStalledCallersTogetherAreBounded(t *testing.T) {
	const tasks, block = 12, 32 << 10
	o := only(nil)()
	running := make(chan *Task, tasks)
	o.Capabilities[0].Handler = began(running, func(_ context.Context, task *Task) (Output, error) {
		for {
			if err := task.Emit(acmp.Text(strings.Repeat("x", block))); err != nil {
				return Output{}, err
			}
		}
	})
	o.Capabilities = append(o.Capabilities, capability("quiet", func(_ context.Context, task *Task) (Output, error) {
		for range 100 {
			if err := task.Emit(acmp.Text(strings.Repeat("y", block))); err != nil {
				return Output{}, err
			}
		}
		return Output{}, task.EmitFinal(acmp.Text("end"))
	}))
	o.Limits.TaskBytes, o.Limits.RunningBytes = 8*shareBytes, 12*shareBytes
	p := newProvider(t, o)
	c := overHTTP(t, p)
	var stalled []*reply
	var all []*Task
	for range tasks { // nobody comes back for them, so that they wait at their bound
		r := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"stream": true, "timeout_ms": 10 * patience.Milliseconds()}))
		task := <-running
		r.drop()
		eventually(t, "the caller is gone", lonely(task))
		stalled, all = append(stalled, r), append(all, task)
	}
	for _, task := range all {
		eventually(t, "the task waits for room", func() bool {
			task.mu.Lock()
			defer task.mu.Unlock()
			return task.full
		})
	}
	held := p.held.Load()
	if most := int64(o.Limits.RunningBytes + o.Limits.TaskBytes + tasks*2*shareBytes); held > most {
		t.Errorf("%d bytes are held by %d stalled tasks, at most %d expected", held, len(stalled), most)
	}
	// One that is read comes through, whatever the others hold.
	params := invokeParamsOf(taskID(), map[string]any{"stream": true, "timeout_ms": patience.Milliseconds()})
	params["capability"] = "quiet"
	r := c.request(t, acmp.MethodInvoke, params)
	if got := len(chunks(r.all(t))); got != 101 {
		t.Errorf("%d chunks beside the stalled", got)
	}
	for _, task := range all {
		task.finish(cancelledError(task.id, ""), errCancelled)
	}
	if held := p.held.Load(); held != 0 {
		t.Errorf("%d bytes are counted though nothing runs", held)
	}
}
