package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// TestEnds_H081 changes items at random and compares the index of what ends by
// time with a look at every item.
func TestEnds_H081(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	s := &Store{p: newProjection()}
	at := func() acop.Time { return acop.NewTime(start.Add(time.Duration(r.IntN(40)) * time.Second)) }
	for round := range 3000 {
		it := newItem(fmt.Sprint(r.IntN(1500)), acop.StatusReady)
		if r.IntN(3) > 0 {
			it = lease(it, fmt.Sprint("claim-", round), "ann", time.Second)
			it.Lease.Claim.ExpiresAtUTC = at()
		}
		for range r.IntN(3) {
			state := []acop.IntentState{acop.IntentWaiting, acop.IntentDenied}[r.IntN(2)]
			it.Intents = append(it.Intents, acop.Intent{State: state, ExpiresUTC: []acop.Time{at(), {}}[r.IntN(2)]})
		}
		s.p.putItem(it)
		if round%100 != 99 {
			continue
		}
		now := at().Std()
		var due, held []*acop.Item
		for _, it := range s.p.items {
			if end := nextEnd(it); !end.IsZero() && !now.Before(end) {
				due = append(due, it)
			}
			if it.Lease != nil {
				held = append(held, it)
			}
		}
		slices.SortFunc(due, byEnd)
		if diff := cmp.Diff(ids(due), ids(s.Due(now))); diff != "" {
			t.Fatalf("round %d, due: %s", round, diff)
		}
		slices.SortFunc(held, func(a, b *acop.Item) int {
			if c := leaseEnd(a).Compare(leaseEnd(b)); c != 0 {
				return c
			}
			return byID(a, b)
		})
		if diff := cmp.Diff(ids(held), ids(s.LiveLeases())); diff != "" {
			t.Fatalf("round %d, held: %s", round, diff)
		}
	}
}
