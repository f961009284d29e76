package acmp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"signalbox/model/acmp"
)

// Earlier gives the outcomes of at most limit tasks that ended before this buyer
// began, the newest of them, oldest first: those of earlier runs and of other
// programs that keep their tasks in the same StateDir. Their output is read with
// [Buyer.Transcript] for as long as the [Bounds] keep it. The ledger's end is
// looked at, not all of it.
func (b *Buyer) Earlier(limit int) []acmp.Outcome {
	if b.disk == nil || limit <= 0 {
		return nil
	}
	var out []acmp.Outcome
	at := map[string]int{}
	for _, l := range b.disk.lastOutcomes() {
		if b.knows(l.TaskID) {
			continue
		}
		i, again := at[l.TaskID]
		if l.Outcome == outcomeSeen {
			if again {
				out[i].Seen = true
			}
			continue
		}
		o := l.outcome()
		if again { // a task_id that was used once more
			out[i] = o
			continue
		}
		at[l.TaskID] = len(out)
		out = append(out, o)
	}
	return out[max(0, len(out)-limit):]
}

// outcomeSeen is in the place of an outcome where a person took note of it.
const outcomeSeen = "seen"

// Seen keeps that a person took note of how the task ended, for [Buyer.Earlier] of
// later runs.
func (b *Buyer) Seen(_ context.Context, taskID string) error {
	if b.disk == nil {
		return nil
	}
	if err := b.disk.enter(ledgerLine{At: time.Now().UTC(), TaskID: taskID, Outcome: outcomeSeen}); err != nil {
		return fmt.Errorf("keep that the end of task %s was seen: %w", taskID, err)
	}
	return nil
}

// knows tells whether the task is one of this run.
func (b *Buyer) knows(taskID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tasks[taskID] != nil || b.ended[taskID]
}

func (l *ledgerLine) outcome() acmp.Outcome {
	o := acmp.Outcome{
		TaskID: l.TaskID, Provider: l.Provider, Capability: l.Capability, At: l.At,
		CeilingCU: l.CeilingCU, CostCU: l.CostCU, Overcharge: l.Overcharge, Tokens: l.Tokens,
		ProofCheck: l.ProofCheck, By: l.By, Told: l.Told,
	}
	if l.Outcome == string(acmp.EventError) {
		o.Err = &acmp.Error{Code: l.Code, Message: cmp.Or(l.Message, acmp.CodeName(l.Code)), Local: l.Local}
		if l.Detail != "" {
			o.Err.Data = map[string]any{"detail": l.Detail}
		}
	}
	return o
}
