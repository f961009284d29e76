package fleet

import (
	"strings"
	"testing"

	"signalbox/model/acop"
)

// What waits for work that was cancelled, or that the owner has not open, waits for a
// person: it is an ask for as long as that is so, and no longer.
func TestAskDeadEnd(t *testing.T) {
	waiting := func(id, on string) *acop.Item {
		i := item(id, acop.StatusBlocked)
		i.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityMedium, DependsOnWorkItemID: on}}
		return i
	}
	s := New()
	o := newOwner(s).snapshot(waiting("a", "b"))
	wantAsks(t, s, t0, "blocked a dead end")
	if a := s.Asks(t0)[0]; a.Severity != SeverityLow || a.Detail != "waits for b, which is not open at the owner" {
		t.Errorf("%+v", a)
	}
	o.event(acop.VerbPut, item("b", acop.StatusReady), "", nil)
	wantAsks(t, s, t0)
	o.event(acop.VerbPut, waiting("c", "a"), "", nil)
	o.event(acop.VerbCancel, item("b", acop.StatusCancelled), acop.StatusReady, nil)
	wantAsks(t, s, t0, "blocked a dead end")
	if a := s.Asks(t0)[0]; !strings.Contains(a.Detail, "b, which is cancelled") || a.Blocks != 1 {
		t.Errorf("%+v", a)
	}
	// A blocker that only a person removes is the better reason.
	other := waiting("a", "b")
	other.Blockers = append(other.Blockers, acop.Blocker{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityHigh, Summary: "legal"})
	o.event(acop.VerbBlock, other, acop.StatusBlocked, nil)
	wantAsks(t, s, t0, "blocked a "+acop.BlockerExternalDecision)
	o.event(acop.VerbUnblock, item("a", acop.StatusReady), acop.StatusBlocked, nil)
	wantAsks(t, s, t0)
}
