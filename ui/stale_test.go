package ui_test

import (
	"testing"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// Promise 2: what changed while a dialog was open is not decided on unseen.
func TestStaleDecisionIsNotTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("grant")
		r.Keys("g")
		it := item(t, "work:http:seam")
		it.WorkItem.Title = "Cut the HTTP seam and the store"
		r.facts(uitest.Changed(it, acop.VerbPut, 1900, time.Now()))
		r.Must("changed meanwhile: its text changed")
		r.Type("fine")
		r.Keys("enter")
		if n := len(r.owner.Acts()); n != 0 {
			t.Fatal("the stale decision was sent")
		}
		r.Must("Look again", "Cut the HTTP seam and the store")
		r.Type("!") // the text is kept, and so is the place
		r.Keys("enter")
		if a := r.last(); a.IfRevision != 1900 || a.Reason != "fine!" {
			t.Fatalf("%+v", a)
		}
		// An act that became impossible says so.
		r.to("accept")
		r.Keys("a")
		done := item(t, "work:db:index")
		done.WorkItem.Status = acop.StatusAccepted
		r.facts(uitest.Changed(done, acop.VerbAccept, 1901, time.Now()))
		r.Keys("enter")
		r.Must("no longer possible")
	})
}

// Signs of life move the revision but not the decision.
func TestRenewalDoesNotStopADecision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("lease")
		r.Keys("x")
		r.Type("no")
		it := item(t, "work:ui:table")
		it.Lease.Progress = "still at it"
		r.facts(uitest.Changed(it, acop.VerbHeartbeat, 1950, time.Now()))
		r.MustNot("changed meanwhile")
		r.Keys("enter", "y")
		if a := r.last(); a.IfRevision != 1950 {
			t.Fatalf("%+v", a)
		}
	})
}

// An act that only a sign of life overtook is asked once more; a change that
// matters is explained.
func TestOvertakenAct(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(a acop.Act) (*acop.Receipt, error) {
			if a.IfRevision < 1960 {
				return nil, acop.Errorf(acop.CodeRevisionMismatch, "it is at 1960")
			}
			return &acop.Receipt{Revision: 1961}, nil
		}
		r.to("lease")
		r.Keys("r", "enter")
		r.MustNot("refused:")
		it := item(t, "work:ui:table")
		it.Lease.Progress = "nearly"
		r.facts(uitest.Changed(it, acop.VerbHeartbeat, 1960, time.Now()))
		r.Must("revoke work:ui:table: done")
		acts := r.owner.Acts()
		if len(acts) != 2 || acts[1].IfRevision != 1960 || acts[0].Key == acts[1].Key {
			t.Fatalf("%+v", acts)
		}
	})
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.owner.Answer = func(acop.Act) (*acop.Receipt, error) {
			return nil, acop.Errorf(acop.CodeRevisionMismatch, "it is at 1960")
		}
		r.to("lease")
		r.Keys("r", "enter")
		it := item(t, "work:ui:table")
		it.WorkItem.Status, it.Lease = acop.StatusReady, nil
		r.facts(uitest.Changed(it, acop.VerbExpire, 1960, time.Now()))
		r.Must("refused: signalbox.revision_mismatch", "ready at rev 1960")
		// And one whose event never comes is given up.
		r.Keys("esc")
		r.to("decide")
		r.Keys("d", "enter")
		r.MustNot("refused:")
		r.Wait(3 * time.Second)
		r.Must("refused: signalbox.revision_mismatch")
		if n := len(r.owner.Acts()); n != 2 {
			t.Fatalf("%d acts", n)
		}
	})
}

func TestImpossibleActSaysWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.to("decide")
		r.Keys("a")
		r.Must("accept: only completed work can be judged; it is requires_attention")
	})
}

// Why nothing can be invoked is told of the providers as they are.
func TestInvokeSaysWhyNot(t *testing.T) {
	down := false
	for want, p := range map[string]acmp.Provider{
		"invoke: no provider is known; start with --provider":      {},
		"invoke: provider far has not answered yet":                {Name: "far"},
		"invoke: provider far does not answer: connection refused": {Name: "far", Reachable: &down, Problem: "connection refused"},
	} {
		bubble(t, func(t *testing.T) {
			r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
			r.facts(uitest.Live(time.Now()), fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(time.Now()), At: time.Now()})
			if p.Name != "" {
				r.facts(fleet.ProviderSeen{At: time.Now(), Provider: p})
			}
			r.Keys("i")
			r.Must(want)
		})
	}
}

// An act that cannot be asked for says what stands against it: the row, or the owner.
func TestActSaysWhatStandsAgainstIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("tab", "a")
		r.Must("accept: this row is about no work item")
		r.Keys("esc", "tab", "R")
		r.Must("re-send: this row is about no task")
	})
	bubble(t, func(t *testing.T) {
		r := open(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Since: time.Now(), Try: 3, Problem: "connection refused"}})
		r.Keys("n")
		r.Must("new item: the owner has not answered yet: connection refused; trying again")
		r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkRefused, Since: time.Now(), Problem: "the token is not known"}})
		r.Keys("n")
		r.Must("new item: the owner refuses this program: the token is not known")
	})
}
