package fleet

import (
	"slices"

	"signalbox/model/acmp"
)

// maxEarlier is how many tasks of earlier runs are kept.
const maxEarlier = 200

// EarlierTasks tells of tasks that ended before this program began, oldest first.
// They are shown for their output, which is on disk. One that ended in trouble asks
// for a person until it was seen, as one of this run does, unless whoever ran it was
// shown the trouble.
type EarlierTasks struct{ Outcomes []acmp.Outcome }

func (EarlierTasks) fact() {}

// applyEarlier puts the tasks in front of those of this run. One that is known
// already is this run's, which knows more.
func (s *State) applyEarlier(f EarlierTasks) {
	var ids []string
	for i := len(f.Outcomes) - 1; i >= 0 && len(ids) < maxEarlier-s.ix.earlier; i-- {
		o := &f.Outcomes[i]
		if o.TaskID == "" || s.Tasks[o.TaskID] != nil {
			continue
		}
		s.Tasks[o.TaskID] = earlierTask(o)
		if !o.Seen && !o.Told && endedTaskAsk(s.Tasks[o.TaskID]) != nil {
			s.ix.unseen = append(s.ix.unseen, o.TaskID)
		}
		ids = append(ids, o.TaskID)
	}
	if len(ids) == 0 {
		return
	}
	slices.Reverse(ids)
	s.ix.earlier += len(ids)
	s.TaskOrder = append(ids, s.TaskOrder...)
	s.TasksVersion++
	s.Version++
}

func earlierTask(o *acmp.Outcome) *Task {
	t := &Task{
		ID: o.TaskID, Provider: o.Provider, State: o.State(), EndedAt: o.At, Earlier: true, By: o.By,
		Params: acmp.InvokeParams{TaskID: o.TaskID, Capability: o.Capability, MaxPriceCU: o.CeilingCU},
		Err:    o.Err, Overcharge: string(o.Overcharge), ProofCheck: o.ProofCheck,
	}
	if o.Err == nil {
		t.Result = &acmp.Result{TaskID: o.TaskID, CostCU: o.CostCU, TokensUsed: o.Tokens, OutputStreamed: true}
	}
	return t
}
