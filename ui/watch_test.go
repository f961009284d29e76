package ui_test

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// An owner that was down at the start brings asks that are no news when it comes;
// what happens from then on is.
func TestFirstSnapshotIsNoNews(t *testing.T) {
	bubble(t, func(t *testing.T) {
		got := make(chan fleet.Ask, 20)
		r := open(t, ui.Options{Notify: "bell", OnAsk: func(_ context.Context, a fleet.Ask) { got <- a }}, uitest.Options{W: 120, H: 40})
		r.Send(tea.BlurMsg{})
		now := time.Now()
		r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Server: "http://127.0.0.1:7700", Since: now, Try: 1, Problem: "refused"}})
		r.Wait(3 * time.Second)
		now = time.Now()
		r.facts(fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(now), At: now})
		r.facts(uitest.Live(now))
		r.Must("NEEDS YOU (4)")
		if r.Bells() != 0 || len(got) != 0 {
			t.Fatalf("%d bells and %d hooks for what had waited before anybody looked", r.Bells(), len(got))
		}
		it := uitest.Item("work:new", "x", acop.StatusRequiresAttention, 1850, time.Now())
		r.facts(uitest.Changed(it, acop.VerbPut, 1850, time.Now()))
		if r.Bells() != 1 || len(got) == 0 {
			t.Errorf("%d bells and %d hooks for news", r.Bells(), len(got))
		}
		// What an outage kept back is news when the owner is there again.
		for len(got) > 0 {
			<-got
		}
		r.facts(fleet.LinkChanged{Link: fleet.Link{State: fleet.LinkDegraded, Since: time.Now(), Try: 1}})
		n := r.Bells()
		snap := uitest.Snapshot(time.Now())
		snap.Revision = 1900
		snap.Items = append(snap.Items, uitest.Item("work:later", "y", acop.StatusRequiresAttention, 1890, time.Now()))
		r.facts(fleet.SnapshotLoaded{Snapshot: snap, At: time.Now()}, uitest.Live(time.Now()))
		if r.Bells() != n+1 {
			t.Errorf("%d bells for what came during the outage, want one", r.Bells()-n)
		}
	})
}
