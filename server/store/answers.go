package store

import (
	"time"

	"signalbox/model/acop"
)

// answerKeep is how long answers are remembered: the 24 h of the binding with a
// margin for a clock that is set forward (H-014, D-56).
const answerKeep = 25 * time.Hour

// answers remembers what was answered to requests with an Idempotency-Key.
type answers struct {
	byScope map[string]answer
	queue   []answerKey // in order of the log, for forgetting
}

type answer struct {
	rec Idempotency
	rev uint64
}

type answerKey struct {
	scope string
	rev   uint64
	at    time.Time
}

func newAnswers() answers { return answers{byScope: map[string]answer{}} }

func (a *answers) add(rec Idempotency, rev uint64, at acop.Time, now time.Time) {
	a.byScope[rec.Scope] = answer{rec: rec, rev: rev}
	a.queue = append(a.queue, answerKey{scope: rec.Scope, rev: rev, at: at.Std()})
	a.forget(now.Add(-answerKeep))
}

// forget drops what was answered before limit.
func (a *answers) forget(limit time.Time) {
	for len(a.queue) > 0 && a.queue[0].at.Before(limit) {
		k := a.queue[0]
		a.queue = a.queue[1:]
		if a.byScope[k.scope].rev == k.rev {
			delete(a.byScope, k.scope)
		}
	}
}
