package fleet

import (
	"fmt"
	"slices"
	"time"

	"signalbox/model/acmp"
)

// maxOutputTotal bounds the output of all tasks together; beyond it finished
// tasks lose theirs first, oldest in front.
const maxOutputTotal = 96 << 20

// keptOfFinished is how much of a finished task's output stays when room is
// needed.
const keptOfFinished = 200 // lines

func (s *State) applyTask(ev *acmp.TaskEvent, merged int) {
	t := s.Tasks[ev.TaskID]
	if t == nil {
		if t = s.newTask(ev); t == nil {
			return // a stray chunk or heartbeat: nobody knows the task
		}
	}
	next, ok := acmp.After(t.State, ev)
	if !ok {
		return // what comes after the end, or before the start, is dropped (A.18)
	}
	before := t.Output.Bytes
	if !s.taskEvent(t, ev) {
		return
	}
	s.noteMerged(t, ev.At, merged)
	if next != t.State {
		t.State = next
		t.Revision++
	}
	s.ix.outputTotal += t.Output.Bytes - before
	s.limitOutput()
	s.TasksVersion++
	s.Version++
	if ev.Kind != acmp.EventHeartbeat && ev.Kind != acmp.EventChunk {
		s.touch(t.ID, ev.At)
	}
	if next.Final() {
		s.taskEnded(t, ev.At)
	} else {
		s.ix.liveTasks[t.ID] = struct{}{}
	}
	s.ix.asks.taskDirty(t.ID)
}

// noteMerged counts heartbeats that were not looked at one by one, and says so in
// the Log once for each task.
func (s *State) noteMerged(t *Task, at time.Time, merged int) {
	if merged > 0 && t.Merged == 0 {
		s.log(LogLine{At: at, Note: "this program cannot keep up: heartbeats of task " + t.ID + " are taken together"})
	}
	t.Merged += merged
}

func (s *State) newTask(ev *acmp.TaskEvent) *Task {
	switch ev.Kind {
	case acmp.EventSent, acmp.EventResent, acmp.EventError, acmp.EventResult:
	default:
		return nil
	}
	t := &Task{ID: ev.TaskID, Provider: ev.Provider, State: acmp.StatePending, SentAt: ev.At}
	if ev.Kind == acmp.EventResult {
		t.State = acmp.StateRunning
	}
	s.Tasks[t.ID] = t
	s.TaskOrder = append(s.TaskOrder, t.ID)
	s.provider(t.Provider)
	return t
}

// taskEvent carries out ev on t and reports whether it said anything.
func (s *State) taskEvent(t *Task, ev *acmp.TaskEvent) bool {
	switch ev.Kind {
	case acmp.EventSent, acmp.EventResent:
		t.sent(ev)
	case acmp.EventChunk:
		return t.chunk(ev)
	case acmp.EventHeartbeat:
		t.heartbeat(ev)
	case acmp.EventStalled:
		if t.Stalled {
			return false
		}
		t.Stalled = true
		t.Revision++
	case acmp.EventStreamBroken:
		t.Broken = true
		t.Revision++
	case acmp.EventCancelRequested:
		if !t.CancelRequestedAt.IsZero() {
			return false // repeated, the first counts
		}
		t.CancelRequestedAt, t.CancelReason = ev.At, ev.Detail
		t.Revision++
	case acmp.EventResult:
		t.result(ev)
	case acmp.EventError:
		t.Err = ev.Err
		if t.Err == nil {
			t.Err = &acmp.Error{Code: acmp.CodeInternal, Message: "the task failed"}
		}
	}
	return true
}

func (t *Task) sent(ev *acmp.TaskEvent) {
	if ev.Params != nil {
		t.Params = *ev.Params
	}
	if ev.Provider != "" {
		t.Provider = ev.Provider
	}
	t.Interval = ev.HeartbeatInterval
	// The deadline counts from the first send and never moves.
	if t.Deadline.IsZero() {
		t.Deadline = ev.Deadline
	}
	t.Attempt = max(ev.Attempt, t.Attempt, 1)
	t.LastSign, t.LastProgress = ev.At, ev.At
	t.Stalled, t.Broken = false, false
	if ev.Kind == acmp.EventResent {
		t.restart()
	}
}

// restart throws away what a broken stream had brought.
func (t *Task) restart() {
	t.Restarted++
	t.Revision++
	t.Output.clear()
	t.Chunks, t.Bytes = 0, 0
	t.nextSeq, t.done = 0, false
	t.Progress = nil
}

func (t *Task) chunk(ev *acmp.TaskEvent) bool {
	if ev.Seq != t.nextSeq || t.done {
		return false // repeated or out of order; the buyer judges gaps
	}
	t.nextSeq++
	t.done = ev.Final
	t.Chunks++
	t.Bytes += int64(len(ev.Chunk.Data))
	t.show(ev.Chunk)
	t.sign(ev.At)
	t.LastProgress = ev.At
	return true
}

// show adds a payload to the output: text as it is, JSON a line each, anything
// else as one line that sums it up.
func (t *Task) show(p acmp.Payload) {
	t.Output.Type = p.Type
	if text, ok := p.Text(); ok && acmp.IsText(p.Type) {
		t.Output.write(text)
		return
	}
	if acmp.IsJSON(p.Type) {
		t.Output.write(string(p.Data) + "\n")
		return
	}
	sum := fmt.Sprintf("%s: %d bytes in %d chunks", p.Type, t.Bytes, max(t.Chunks, 1))
	if len(t.Output.Lines) == 1 && t.Output.Dropped == 0 && !t.Output.Open {
		t.Output.setLast(sum)
		return
	}
	t.Output.write(sum + "\n")
}

func (t *Task) heartbeat(ev *acmp.TaskEvent) {
	t.sign(ev.At)
	t.LastBeat = ev.At
	// What is no share of the work is not drawn; NaN fails both tests.
	if p := ev.Progress; p != nil && *p >= 0 && *p <= 1 && (t.Progress == nil || *t.Progress != *p) {
		v := *p
		t.Progress, t.LastProgress = &v, ev.At
	}
	if ev.Detail != "" && ev.Detail != t.Detail {
		t.Detail, t.LastProgress = ev.Detail, ev.At
	}
}

// sign notes a sign of life (D-15).
func (t *Task) sign(at time.Time) {
	if at.After(t.LastSign) {
		t.LastSign = at
	}
	if t.Stalled {
		t.Stalled = false
		t.Revision++
	}
}

func (t *Task) result(ev *acmp.TaskEvent) {
	t.Result, t.ProofCheck, t.Overcharge = ev.Result, ev.ProofCheck, string(ev.Overcharge)
	if ev.Result == nil {
		return
	}
	if ev.Result.ProviderID != "" {
		t.ProviderID = ev.Result.ProviderID
	}
	if ev.Result.Output != nil && !ev.Result.OutputStreamed {
		t.Bytes = int64(len(ev.Result.Output.Data))
		t.show(*ev.Result.Output)
	}
}

// taskEnded settles the accounts of a task that reached a final state.
func (s *State) taskEnded(t *Task, at time.Time) {
	t.EndedAt = at
	t.Stalled, t.Broken = false, false
	delete(s.ix.liveTasks, t.ID)
	s.ix.endedTasks = append(s.ix.endedTasks, t.ID)
	p := s.provider(t.Provider)
	switch t.State {
	case acmp.StateCompleted:
		p.done++
	case acmp.StateCancelled:
		p.cancelled++
	default:
		p.failed++
		if t.Err != nil {
			p.lastFailure = t.Err.Brief()
		}
	}
	if t.Overcharge != "" {
		p.overcharged++
	}
	if t.Result != nil {
		// A cost that is no price cannot be summed; the task shows it as it came.
		if sum, err := acmp.AddCU(p.cost, t.Result.CostCU); err == nil {
			p.cost = sum
		}
	}
	s.limitTasks()
}

// limitTasks forgets the oldest finished tasks beyond the bound.
func (s *State) limitTasks() {
	for len(s.ix.endedTasks) > maxTasks {
		id := s.ix.endedTasks[0]
		s.ix.endedTasks = s.ix.endedTasks[1:]
		s.ix.trimmed = max(s.ix.trimmed-1, 0)
		s.ix.outputTotal -= s.Tasks[id].Output.Bytes
		delete(s.Tasks, id)
		if i := slices.Index(s.TaskOrder, id); i >= 0 {
			s.TaskOrder = slices.Delete(s.TaskOrder, i, i+1)
		}
		s.ix.asks.taskGone(id)
		for _, k := range []AskKind{AskTask, AskBudget} {
			delete(s.ix.settled, string(k)+":"+id)
		}
	}
}

// limitOutput shortens the output of finished tasks while all of it together is
// too much; what was cut is still on disk.
func (s *State) limitOutput() {
	for s.ix.outputTotal > s.ix.outputLimit && s.ix.trimmed < len(s.ix.endedTasks) {
		t := s.Tasks[s.ix.endedTasks[s.ix.trimmed]]
		s.ix.trimmed++
		before := t.Output.Bytes
		t.Output.trim(keptOfFinished, maxOutputBytes/16)
		s.ix.outputTotal -= before - t.Output.Bytes
	}
}
