package store

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"signalbox/model/acop"
)

// Revision is the last revision that the projection shows.
func (s *Store) Revision() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.p.head.rev
}

// Item returns the item with this id as of its last revision.
func (s *Store) Item(id string) (*acop.Item, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	it, ok := s.p.items[id]
	return it, ok
}

// Claim returns a claim as it was last recorded, live or ended, also after a
// restart. Whether a live one has run out meanwhile is for the caller to judge.
func (s *Store) Claim(claimID string) (acop.Claim, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id, ok := s.p.live[claimID]; ok {
		return s.p.items[id].Lease.Claim, true
	}
	c, ok := s.p.ended[claimID]
	if !ok {
		return acop.Claim{}, false
	}
	return c.claim(claimID), true
}

// LostClaim is the claim on an open item that a worker lost last, by time or to a
// lead, if it did not hold and give back the item since.
func (s *Store) LostClaim(workItemID, worker string) (acop.Claim, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, ok := s.p.lost[workItemID][worker]
	if !ok {
		return acop.Claim{}, false
	}
	return s.p.ended[id].claim(id), true
}

// ItemOfIntent names the item that a claim intent was made for, also long after
// it was decided.
func (s *Store) ItemOfIntent(intentID string) (workItemID string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	workItemID, ok = s.p.intents[intentID]
	return workItemID, ok
}

// Entry returns the blackboard entry with this id.
func (s *Store) Entry(entryID string) (acop.Posted, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, ok := s.p.entryAt[entryID]
	if !ok {
		return acop.Posted{}, false
	}
	return s.p.entries[at], true
}

// Entries returns blackboard entries, ascending by revision (C-040).
func (s *Store) Entries(q EntryQuery) []acop.Posted {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, at := len(s.p.entries), func(i int) int { return i }
	if q.WorkItemID != "" {
		of := s.p.entriesOf[q.WorkItemID]
		n, at = len(of), func(i int) int { return of[i] }
	}
	if q.EntryID != "" {
		one, known := s.p.entryAt[q.EntryID]
		if !known || q.WorkItemID != "" && s.p.entries[one].Entry.WorkItemID != q.WorkItemID {
			return nil
		}
		n, at = 1, func(int) int { return one }
	}
	from := sort.Search(n, func(i int) bool { return s.p.entries[at(i)].Revision > q.After })
	if q.Before > 0 {
		n = sort.Search(n, func(i int) bool { return s.p.entries[at(i)].Revision >= q.Before })
	}
	fits := func(e *acop.Posted) bool {
		return (q.Kind == "" || e.Entry.EntryKind == q.Kind) && (q.Author == "" || e.Entry.AuthorAgentUID == q.Author)
	}
	var out []acop.Posted
	if q.Newest > 0 && q.Limit == 0 { // from the end: a board grows without bound
		for i := n - 1; i >= from && len(out) < q.Newest; i-- {
			if e := s.p.entries[at(i)]; fits(&e) {
				out = append(out, e)
			}
		}
		slices.Reverse(out)
		return out
	}
	for i := from; i < n; i++ {
		e := s.p.entries[at(i)]
		if !fits(&e) {
			continue
		}
		if out = append(out, e); len(out) == q.Limit {
			break
		}
	}
	if q.Newest > 0 {
		out = out[max(0, len(out)-q.Newest):]
	}
	return out
}

// Dependents lists the ids of the items that have an open dependency blocker
// on this item, sorted.
func (s *Store) Dependents(workItemID string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.p.waits[workItemID]))
}

// Awaited lists the ids of the items that some item has an open dependency
// blocker on, sorted. They need not exist.
func (s *Store) Awaited() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.p.waits))
}

// LiveLeases lists the items that somebody holds, those that end first in front.
func (s *Store) LiveLeases() []*acop.Item {
	s.mu.RLock()
	out := make([]*acop.Item, 0, len(s.p.live))
	for it := range s.p.ends.after(nil) {
		if it.Lease != nil {
			out = append(out, it)
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(out, func(a, b *acop.Item) int {
		if c := leaseEnd(a).Compare(leaseEnd(b)); c != 0 {
			return c
		}
		return byID(a, b)
	})
	return out
}

// Due lists the items whose lease, or one of whose waiting intents, ran out at
// or before now, the longest overdue in front (H-081). It looks at no others.
func (s *Store) Due(now time.Time) []*acop.Item {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*acop.Item
	for it := range s.p.ends.after(nil) {
		end := nextEnd(it)
		if now.Before(end) {
			break
		}
		if !end.IsZero() {
			out = append(out, it)
		}
	}
	return out
}

func leaseEnd(it *acop.Item) time.Time { return it.Lease.Claim.ExpiresAtUTC.Std() }

// hasEnd reports whether time alone can change the item, or somebody holds it.
func hasEnd(it *acop.Item) bool { return it.Lease != nil || !nextEnd(it).IsZero() }

// nextEnd is when the first of the item's clocks runs out; zero without one.
func nextEnd(it *acop.Item) time.Time {
	var end time.Time
	if it.Lease != nil {
		end = leaseEnd(it)
	}
	for i := range it.Intents {
		n := &it.Intents[i]
		at := n.ExpiresUTC.Std()
		if n.State == acop.IntentWaiting && !at.IsZero() && (end.IsZero() || at.Before(end)) {
			end = at
		}
	}
	return end
}

// Settings returns the owner's settings; the zero value, with revision 0, when
// none were ever written.
func (s *Store) Settings() acop.Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.p.settings
}

// Snapshot returns all non-terminal items by id, their entries and the
// settings at one revision, and counts the terminal ones. Identity and Role are
// the caller's to fill in.
func (s *Store) Snapshot(now time.Time) *acop.Snapshot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	snap := &acop.Snapshot{
		ProtocolVersion: acop.ProtocolVersion,
		Revision:        s.p.head.rev,
		AtUTC:           acop.NewTime(now),
		Items:           []*acop.Item{},
		Entries:         []acop.Posted{},
		Settings:        s.p.settings,
		Closed:          map[acop.Status]int{},
	}
	for status, lists := range s.p.byStatus {
		if n := lists[OrderLatest].n; status.Terminal() && n > 0 {
			snap.Closed[status] = n
		}
	}
	for id, it := range s.p.items {
		if it.WorkItem.Status.Terminal() {
			continue
		}
		snap.Items = append(snap.Items, it)
		for _, at := range s.p.entriesOf[id] {
			snap.Entries = append(snap.Entries, s.p.entries[at])
		}
	}
	slices.SortFunc(snap.Items, byID)
	slices.SortFunc(snap.Entries, func(a, b acop.Posted) int {
		switch {
		case a.Revision < b.Revision:
			return -1
		case a.Revision > b.Revision:
			return 1
		}
		return strings.Compare(a.Entry.EntryID, b.Entry.EntryID)
	})
	return snap
}
