package fleet

import "signalbox/model/acop"

// entryIndex finds blackboard entries. Positions are absolute: they count the
// entries that were dropped in front, too.
type entryIndex struct {
	base       int
	at         map[string]int   // entry id -> position
	byItem     map[string][]int // work item -> positions, ascending
	superseded map[entryLink]string
	reviews    map[string][]string // work item -> review_request entries without an answer
}

// entryLink names an entry within its work item: links across items do not
// count (D-47), and an entry need not be known to be superseded.
type entryLink struct{ workItemID, entryID string }

func newEntryIndex() entryIndex {
	return entryIndex{
		at:         make(map[string]int),
		byItem:     make(map[string][]int),
		superseded: make(map[entryLink]string),
		reviews:    make(map[string][]string),
	}
}

// addEntry appends an entry; one that is known already changes nothing, for
// entries never change (C-036).
func (s *State) addEntry(p acop.Posted) bool {
	x := &s.ix.entries
	e := &p.Entry
	if _, known := x.at[e.EntryID]; known {
		return false
	}
	pos := x.base + len(s.Entries)
	s.Entries = append(s.Entries, p)
	x.at[e.EntryID] = pos
	x.byItem[e.WorkItemID] = append(x.byItem[e.WorkItemID], pos)
	for _, old := range e.SupersedesEntryIDs {
		x.superseded[entryLink{e.WorkItemID, old}] = e.EntryID
	}
	s.noteReview(e)
	s.limitEntries()
	s.EntriesVersion++
	return true
}

// noteReview keeps the list of unanswered review requests: one is answered by an
// entry that supersedes it, or by a later decision of somebody else.
func (s *State) noteReview(e *acop.BlackboardEntry) {
	x := &s.ix.entries
	open := x.reviews[e.WorkItemID]
	kept := open[:0:0]
	for _, id := range open {
		p, ok := s.Entry(id)
		switch {
		case !ok || x.superseded[entryLink{e.WorkItemID, id}] != "":
		case e.EntryKind == acop.EntryDecision && e.AuthorAgentUID != p.Entry.AuthorAgentUID:
		default:
			kept = append(kept, id)
		}
	}
	if e.EntryKind == acop.EntryReviewRequest && e.Status == acop.EntryActive {
		kept = append(kept, e.EntryID)
	}
	if len(kept) == 0 {
		delete(x.reviews, e.WorkItemID)
	} else {
		x.reviews[e.WorkItemID] = kept
	}
}

// limitEntries drops the oldest entries beyond the bound, many at a time.
func (s *State) limitEntries() {
	if len(s.Entries) <= maxEntries+maxEntries/8 {
		return
	}
	x := &s.ix.entries
	drop := len(s.Entries) - maxEntries
	for _, p := range s.Entries[:drop] {
		e := &p.Entry
		delete(x.at, e.EntryID)
		delete(x.superseded, entryLink{e.WorkItemID, e.EntryID})
		// Positions ascend, so the dropped one stands first.
		if ps := x.byItem[e.WorkItemID]; len(ps) <= 1 {
			delete(x.byItem, e.WorkItemID)
		} else {
			x.byItem[e.WorkItemID] = ps[1:]
		}
	}
	s.Entries = append([]acop.Posted(nil), s.Entries[drop:]...)
	x.base += drop
}

// SupersededBy is the id of the entry that supersedes entryID, or "" (C-041).
// Links across work items do not count (D-47).
func (s *State) SupersededBy(entryID string) string {
	p, ok := s.Entry(entryID)
	if !ok {
		return ""
	}
	return s.ix.entries.superseded[entryLink{p.Entry.WorkItemID, entryID}]
}

// Entry finds a blackboard entry by id.
func (s *State) Entry(entryID string) (acop.Posted, bool) {
	pos, ok := s.ix.entries.at[entryID]
	if !ok {
		return acop.Posted{}, false
	}
	return s.Entries[pos-s.ix.entries.base], true
}

// EntriesOf lists the entries about a work item, ascending.
func (s *State) EntriesOf(workItemID string) []acop.Posted {
	ps := s.ix.entries.byItem[workItemID]
	out := make([]acop.Posted, len(ps))
	for i, pos := range ps {
		out[i] = s.Entries[pos-s.ix.entries.base]
	}
	return out
}

// EntriesDropped is the number of entries dropped in front of State.Entries.
func (s *State) EntriesDropped() int { return s.ix.entries.base }
