package ui_test

import (
	"testing"
	"time"

	"signalbox/model/acop"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

func TestSnooze(t *testing.T) {
	if testing.Short() {
		t.Skip("draws the clock of a quarter of an hour")
	}
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Must("NEEDS YOU (5)")
		r.to("decide")
		r.Keys("m", "1")
		r.Must("NEEDS YOU (4)", "1 ask snoozed")
		r.Keys("z")
		r.Must("SNOOZED (1)", "decide")
		r.Keys("z")
		r.Wait(16 * time.Minute)
		r.MustNot("ask snoozed")
		r.Must("decide")
		// Until it changes.
		r.to("decide")
		r.Keys("m", "3")
		r.Must("1 ask snoozed")
		it := item(t, "work:auth:token-rotation")
		it.Blockers = nil
		r.facts(uitest.Changed(it, acop.VerbPut, 1999, time.Now()))
		r.MustNot("ask snoozed")
	})
}

// What was put aside until it changes stays there through signs of life: the holder's
// renewals and heartbeats move the item's revision, but nothing hangs on them.
func TestSnoozeSleepsThroughSignsOfLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		late := uitest.Lease(uitest.Item("work:http:other", "Other", acop.StatusInProgress, 0, time.Now()), "worker-6", 10*time.Minute, time.Minute, time.Now())
		late.WorkItem.OwnedPaths = []string{"server/http/pool.go"}
		r.facts(uitest.Changed(late, acop.VerbGrant, 2000, time.Now()))
		r.Must("overlap high work:http:other")
		r.to("overlap")
		r.Keys("m", "3")
		r.Must("1 ask snoozed")
		for i, id := range []string{"work:http:other", "work:http:pool", "work:http:other"} {
			it := r.m.State().Items[id].Clone()
			it.Lease.Renewals++
			it.Lease.RenewedAtUTC = acop.NewTime(time.Now())
			it.Lease.Claim.ExpiresAtUTC = acop.NewTime(time.Now().Add(10 * time.Minute))
			r.facts(uitest.Changed(it, acop.VerbRenew, uint64(3000+i), time.Now()))
		}
		r.Must("1 ask snoozed")
		other := r.m.State().Items["work:http:other"].Clone()
		other.WorkItem.OwnedPaths = append(other.WorkItem.OwnedPaths, "server/http/pool_test.go")
		pool := r.m.State().Items["work:http:pool"].Clone()
		pool.WorkItem.OwnedPaths = append(pool.WorkItem.OwnedPaths, "server/http/pool_test.go")
		r.facts(uitest.Changed(other, acop.VerbPut, 3010, time.Now()), uitest.Changed(pool, acop.VerbPut, 3011, time.Now()))
		r.MustNot("ask snoozed")
	})
}

// An ask whose cause is gone leaves by itself and says so in the log.
func TestAskGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		it := item(t, "work:auth:token-rotation")
		it.WorkItem.Status, it.Blockers = acop.StatusReady, nil
		r.facts(uitest.Changed(it, acop.VerbResolve, 1900, time.Now()))
		r.Must("NEEDS YOU (4)")
		r.Keys("6")
		r.Must("ask gone: decide work:auth:token-rotation")
	})
}
