package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
)

func TestTaskLife(t *testing.T) {
	s := New()
	sent(s, "t", t0, time.Second, time.Minute)
	tk := s.Tasks["t"]
	if tk.State != acmp.StateRunning || !tk.Deadline.Equal(after(time.Minute)) || tk.Attempt != 1 || s.TaskOrder[0] != "t" {
		t.Fatalf("%+v", tk)
	}
	chunk(s, "t", 0, "a\n")
	chunk(s, "t", 0, "again\n") // repeated
	chunk(s, "t", 2, "too far\n")
	chunk(s, "t", 1, "b\n")
	if diff := cmp.Diff([]string{"a", "b"}, tk.Output.Lines); diff != "" || tk.Chunks != 2 {
		t.Errorf("%d chunks:\n%s", tk.Chunks, diff)
	}
	half := 0.5
	task(s, acmp.EventHeartbeat, "t", after(2*time.Second), func(ev *acmp.TaskEvent) { ev.Progress, ev.Detail = &half, "linting" })
	task(s, acmp.EventHeartbeat, "t", after(3*time.Second), func(ev *acmp.TaskEvent) { ev.Progress, ev.Detail = &half, "linting" })
	if *tk.Progress != 0.5 || !tk.LastBeat.Equal(after(3*time.Second)) || !tk.LastProgress.Equal(after(2*time.Second)) {
		t.Errorf("beat %s, progress %s", tk.LastBeat, tk.LastProgress)
	}
	wild := 7.0
	task(s, acmp.EventHeartbeat, "t", after(3*time.Second), func(ev *acmp.TaskEvent) { ev.Progress = &wild })
	if *tk.Progress != 0.5 {
		t.Errorf("progress %v (A-126)", *tk.Progress)
	}
	task(s, acmp.EventStalled, "t", after(7*time.Second), nil)
	if !tk.Stalled {
		t.Error("not stalled")
	}
	task(s, acmp.EventResult, "t", after(8*time.Second), func(ev *acmp.TaskEvent) {
		ev.Result = &acmp.Result{TaskID: "t", OutputStreamed: true, CostCU: "0.5", ProviderID: "agent:p:here"}
	})
	if tk.State != acmp.StateCompleted || tk.Stalled || !tk.EndedAt.Equal(after(8*time.Second)) || tk.ProviderID != "agent:p:here" {
		t.Errorf("%+v", tk)
	}
	rev := tk.Revision
	chunk(s, "t", 2, "late")
	task(s, acmp.EventError, "t", after(9*time.Second), nil)
	if tk.State != acmp.StateCompleted || tk.Revision != rev || len(tk.Output.Lines) != 2 {
		t.Error("something followed the end (A.18)")
	}
}

// a re-send starts the output again and keeps the deadline.
func TestResendClearsOutput(t *testing.T) {
	s := New()
	sent(s, "t", t0, 0, time.Minute)
	chunk(s, "t", 0, "first try")
	task(s, acmp.EventStreamBroken, "t", after(time.Second), nil)
	if !s.Tasks["t"].Broken {
		t.Error("not broken")
	}
	task(s, acmp.EventResent, "t", after(2*time.Second), func(ev *acmp.TaskEvent) {
		ev.Attempt, ev.Deadline = 2, after(2*time.Minute)
	})
	chunk(s, "t", 0, "second")
	tk := s.Tasks["t"]
	if tk.Broken || tk.Restarted != 1 || tk.Attempt != 2 || !tk.Deadline.Equal(after(time.Minute)) {
		t.Errorf("%+v", tk)
	}
	if diff := cmp.Diff([]string{"second"}, tk.Output.Lines); diff != "" {
		t.Error(diff)
	}
}

// what nobody waits for is dropped; a refusal before sending is kept.
func TestStrayEvents(t *testing.T) {
	s := New()
	chunk(s, "x", 0, "stray")
	task(s, acmp.EventHeartbeat, "x", t0, nil)
	task(s, acmp.EventCancelRequested, "x", t0, nil)
	if len(s.Tasks) != 0 {
		t.Error("a stray event made a task")
	}
	task(s, acmp.EventError, "y", t0, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeInternal, Local: true} })
	if s.Tasks["y"] == nil || s.Tasks["y"].State != acmp.StateFailed {
		t.Error("a failure before sending is not shown")
	}
}

func TestOutputOfOtherTypes(t *testing.T) {
	s := New()
	sent(s, "j", t0, 0, time.Minute)
	task(s, acmp.EventChunk, "j", t0, func(ev *acmp.TaskEvent) { ev.Chunk = acmp.Payload{Type: "json", Data: json.RawMessage(`{"a":1}`)} })
	task(s, acmp.EventChunk, "j", t0, func(ev *acmp.TaskEvent) {
		ev.Seq, ev.Chunk = 1, acmp.Payload{Type: "json", Data: json.RawMessage(`[2]`)}
	})
	if diff := cmp.Diff([]string{`{"a":1}`, `[2]`}, s.Tasks["j"].Output.Lines); diff != "" {
		t.Error(diff)
	}
	sent(s, "b", t0, 0, time.Minute)
	for i := range int64(3) {
		task(s, acmp.EventChunk, "b", t0, func(ev *acmp.TaskEvent) { ev.Seq, ev.Chunk = i, acmp.Bytes("image/png", []byte("12345678")) })
	}
	if diff := cmp.Diff([]string{"image/png: 42 bytes in 3 chunks"}, s.Tasks["b"].Output.Lines); diff != "" {
		t.Error(diff)
	}
	sent(s, "r", t0, 0, time.Minute)
	task(s, acmp.EventResult, "r", t0, func(ev *acmp.TaskEvent) {
		out := acmp.Text("whole\nresult")
		ev.Result = &acmp.Result{Output: &out, CostCU: "0"}
	})
	if diff := cmp.Diff([]string{"whole", "result"}, s.Tasks["r"].Output.Lines); diff != "" {
		t.Error(diff)
	}
}

// Memory with many finished tasks stays within the bound (dashboard "Load").
func TestOutputOfAllTasksIsBounded(t *testing.T) {
	s := New()
	s.ix.outputLimit = 1 << 20
	const n = 20
	big := acmp.Text(strings.Repeat(strings.Repeat("x", 99)+"\n", 1000))
	for i := range n {
		id := fmt.Sprint(i)
		sent(s, id, t0, 0, time.Minute)
		task(s, acmp.EventChunk, id, t0, func(ev *acmp.TaskEvent) { ev.Chunk = big })
		task(s, acmp.EventResult, id, t0, nil)
	}
	sum := 0
	for _, tk := range s.Tasks {
		sum += tk.Output.Bytes
	}
	if sum > s.ix.outputLimit || sum != s.ix.outputTotal {
		t.Errorf("%d bytes held, %d accounted, at most %d", sum, s.ix.outputTotal, s.ix.outputLimit)
	}
	last := s.Tasks[fmt.Sprint(n-1)].Output
	if first := s.Tasks["0"].Output; len(first.Lines) == 0 || len(first.Lines) > keptOfFinished || last.Dropped != 0 {
		t.Errorf("the oldest keeps %d lines, the newest lost %d", len(first.Lines), last.Dropped)
	}
	for i := range maxTasks + 10 {
		id := fmt.Sprint("more", i)
		sent(s, id, t0, 0, time.Minute)
		task(s, acmp.EventResult, id, t0, nil)
	}
	if len(s.Tasks) != maxTasks || len(s.TaskOrder) != maxTasks {
		t.Errorf("%d tasks, %d in order", len(s.Tasks), len(s.TaskOrder))
	}
}

func TestProviderViews(t *testing.T) {
	s := New()
	yes := true
	s.Apply(ProviderSeen{Provider: acmp.Provider{Name: "p", Reachable: &yes}, At: t0})
	for i, cost := range []json.Number{"0.1", "0.2", "bogus"} {
		id := fmt.Sprint(i)
		sent(s, id, t0, 0, time.Minute)
		task(s, acmp.EventResult, id, t0, func(ev *acmp.TaskEvent) { ev.Result = &acmp.Result{CostCU: cost} })
	}
	sent(s, "bad", t0, 0, time.Minute)
	task(s, acmp.EventError, "bad", t0, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeTimeout, Message: "late"} })
	sent(s, "gone", t0, 0, time.Minute)
	task(s, acmp.EventError, "gone", t0, func(ev *acmp.TaskEvent) { ev.Err = &acmp.Error{Code: acmp.CodeCancelled} })
	sent(s, "on", t0, 0, time.Minute)
	v := s.ProviderViews()
	if len(v) != 1 || v[0].Done != 3 || v[0].Failed != 1 || v[0].Cancelled != 1 || v[0].CostCU != "0.3" || len(v[0].Running) != 1 ||
		!strings.Contains(v[0].LastFailure, "late") {
		t.Errorf("%+v", v)
	}
	if diff := cmp.Diff([]string{"on"}, s.RunningTasks()); diff != "" {
		t.Error(diff)
	}
}

// Heartbeats that one stood for are counted with the task and told in the Log,
// once.
func TestMergedHeartbeatsAreCounted(t *testing.T) {
	s := New()
	sent(s, "t", t0, time.Second, time.Minute)
	for i := range 3 {
		s.Apply(TaskHappened{Event: acmp.TaskEvent{Kind: acmp.EventHeartbeat, TaskID: "t", At: after(time.Duration(i) * time.Second)}, Merged: 7})
	}
	if n := s.Tasks["t"].Merged; n != 21 {
		t.Errorf("%d heartbeats counted, want 21", n)
	}
	if len(s.Log) != 1 || s.Log[0].Note != "this program cannot keep up: heartbeats of task t are taken together" {
		t.Errorf("%+v", s.Log)
	}
}
