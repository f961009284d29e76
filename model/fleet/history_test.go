package fleet

import (
	"testing"
	"time"

	"signalbox/model/acop"
)

// TestHistoryBeginsTheLog shows that events from before the first snapshot stand
// in the Log, in order, and change nothing else.
func TestHistoryBeginsTheLog(t *testing.T) {
	at := acop.NewTime(time.Date(2026, 5, 16, 19, 10, 0, 0, time.UTC))
	events := []acop.Event{
		{Family: acop.FamilyWorkOffer, Revision: 3, AtUTC: at, Actor: "lead-01", Verb: "put", WorkItemID: "w1"},
		{Family: acop.FamilyClaimGrant, Revision: 4, AtUTC: at.Add(time.Second), Actor: "worker-1", Verb: "claim", WorkItemID: "w1"},
	}
	s := New()
	s.Apply(HistoryRead{Events: events})
	if len(s.Log) != 2 || s.Log[0].Event.Revision != 3 || !s.Log[1].At.Equal(at.Add(time.Second).Std()) {
		t.Fatalf("the Log is %+v, want the two events at their own times", s.Log)
	}
	if len(s.Items) != 0 || s.Revision != 0 {
		t.Errorf("history made %d items and revision %d", len(s.Items), s.Revision)
	}
	s.Apply(SnapshotLoaded{Snapshot: &acop.Snapshot{Revision: 4, AtUTC: at}, At: at.Std()})
	before := len(s.Log)
	s.Apply(HistoryRead{Events: events})
	if len(s.Log) != before {
		t.Errorf("history that came after the snapshot was put into the Log: %d lines, want %d", len(s.Log), before)
	}
}
