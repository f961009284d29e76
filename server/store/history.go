package store

import (
	"context"
	"fmt"
	"slices"

	"signalbox/model/acop"
)

// History reads everything that happened to an item from the log: its own
// records, refused acts and the entries posted to it, ascending, and every
// claim it ever had, the last one in its present state. An unknown id gives
// nothing and no error.
func (s *Store) History(ctx context.Context, workItemID string) (events []acop.Event, claims []acop.Claim, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	upTo := s.Revision()
	own, err := s.readSubject(ctx, subject(KindItem, workItemID), s.first, upTo)
	if err != nil {
		return nil, nil, fmt.Errorf("history of %q: %w", workItemID, err)
	}
	claims = claimsOf(own)
	all := own
	refused, err := s.readSubject(ctx, subject(KindAudit, workItemID), s.first, upTo)
	if err != nil {
		return nil, nil, fmt.Errorf("history of %q: %w", workItemID, err)
	}
	all = append(all, refused...)
	for _, e := range s.Entries(EntryQuery{WorkItemID: workItemID}) {
		at, _ := s.seqOf(e.Revision)
		posted, err := s.readSubject(ctx, subject(KindEntry, e.Entry.EntryID), at, at)
		if err != nil {
			return nil, nil, fmt.Errorf("history of %q: %w", workItemID, err)
		}
		all = append(all, posted...)
	}
	sortApplied(all)
	for _, r := range all {
		events = append(events, r.rec.Events...)
	}
	return events, claims, nil
}

// claimsOf lists the claims of an item in the order they were granted, each as
// the last record that spoke of it left it.
func claimsOf(own []applied) []acop.Claim {
	var claims []acop.Claim
	put := func(c *acop.Claim) {
		i := slices.IndexFunc(claims, func(x acop.Claim) bool { return x.ClaimID == c.ClaimID })
		if i < 0 {
			claims = append(claims, *c)
			return
		}
		claims[i] = *c
	}
	for _, r := range own {
		if r.rec.Ended != nil {
			put(r.rec.Ended)
		}
		if r.rec.Item != nil && r.rec.Item.Lease != nil {
			put(&r.rec.Item.Lease.Claim)
		}
	}
	return claims
}
