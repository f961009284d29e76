package fleet

import (
	"time"

	"signalbox/model/acop"
)

type index struct {
	asks    askCache
	overlap overlapIndex
}

func (x *index) reset() {}

type askCache struct{}

func (c *askCache) at(s *State, now time.Time) []Ask { return nil }

type overlapIndex struct{}

func (o *overlapIndex) list(s *State) []Conflict          { return nil }
func (o *overlapIndex) of(s *State, id string) []Conflict { return nil }
func nextChange(s *State, now time.Time) time.Time        { return time.Time{} }
func agentsOf(s *State, now time.Time) []Agent            { return nil }
func providersOf(s *State) []ProviderView                 { return nil }

// Dependents lists the open items that directly wait for workItemID.
func (s *State) Dependents(workItemID string) []string { return nil }

// Blocks counts the open items that wait for workItemID over any number of
// steps; cycles are counted once.
func (s *State) Blocks(workItemID string) int { return 0 }

// Count is the number of known items in status st; closed ones beyond those that
// were seen are in [State.Closed].
func (s *State) Count(st acop.Status) int { return 0 }

// SupersededBy is the id of the entry that supersedes entryID, or "" (C-041).
// Links across work items do not count (D-47).
func (s *State) SupersededBy(entryID string) string { return "" }

// Entry finds a blackboard entry by id.
func (s *State) Entry(entryID string) (acop.Posted, bool) { return acop.Posted{}, false }

// EntriesOf lists the entries about a work item, ascending.
func (s *State) EntriesOf(workItemID string) []acop.Posted { return nil }

// OwnerNow is now by the owner's clock, which leases are judged by.
func (s *State) OwnerNow(now time.Time) time.Time { return now.Add(s.Link.Skew) }

// FromOwner turns an instant of the owner's clock into one of this program's.
func (s *State) FromOwner(t acop.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Std().Add(-s.Link.Skew)
}
