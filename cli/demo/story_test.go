package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// TestStoryIsRepeatable: the same seed tells the same story, another seed
// another one, and no id comes twice (C-009).
func TestStoryIsRepeatable(t *testing.T) {
	t.Parallel()
	const n = 500
	tell := func(seed uint64) []*acop.Document {
		teller := newTeller(seed)
		var docs []*acop.Document
		for range n {
			s := teller.next(true)
			docs = append(docs, s.document(producerID, time.Unix(0, 0), func(string) bool { return true }))
		}
		return docs
	}
	a := tell(7)
	if d := cmp.Diff(a, tell(7)); d != "" {
		t.Errorf("two tellings differ:\n%s", d)
	}
	if cmp.Equal(a, tell(8)) {
		t.Error("another seed tells the same story")
	}
	seen := map[string]bool{}
	for _, d := range a {
		w := d.WorkItem
		if seen[w.WorkItemID] {
			t.Errorf("%s comes twice", w.WorkItemID)
		}
		seen[w.WorkItemID] = true
		if !w.WorkKind.Valid() || !w.Priority.Valid() || !acop.CanStart(w.Status) || w.Title == "" {
			t.Errorf("%s cannot be put: %+v", w.WorkItemID, w)
		}
		for _, b := range d.Blockers {
			if b.DependsOnWorkItemID != "" && !seen[b.DependsOnWorkItemID] {
				// Dependencies on later scenes would never be met in order.
				t.Errorf("%s waits for %s, which comes later", w.WorkItemID, b.DependsOnWorkItemID)
			}
		}
	}
}

// Of two calls in a row one runs for long, and trouble comes, but seldom.
func TestCallsKeepSomethingRunning(t *testing.T) {
	t.Parallel()
	bad, long := 0, true // the first calls run for long
	for n := 1; n <= 100; n++ {
		calls := callsAt(n)
		isLong := &calls[0] == &longCalls[0]
		if !isLong && !long {
			t.Errorf("calls %d and %d are both short", n-1, n)
		}
		if &calls[0] == &badCalls[0] {
			bad++
		}
		long = isLong
	}
	if bad == 0 || bad > 10 {
		t.Errorf("%d of 100 calls end in trouble", bad)
	}
}
