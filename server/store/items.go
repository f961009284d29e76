package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"signalbox/model/acop"
)

// cursor is where a page ended: the sort keys of its last row. It stays right
// while data changes, because it names a place in the order and not a number of
// rows: rows that stay where they are come exactly once.
type cursor struct {
	Order    Order         `json:"o"`
	Created  acop.Time     `json:"c,omitzero"`
	Score    float64       `json:"s,omitempty"`
	Priority acop.Priority `json:"p,omitempty"`
	ID       string        `json:"i"`
}

func encodeCursor(o Order, it *acop.Item) string {
	w := &it.WorkItem
	b, err := json.Marshal(cursor{o, w.CreatedAtUTC, w.ActionabilityScore, w.Priority, w.WorkItemID})
	if err != nil {
		return "" // cannot happen: the score came from JSON and is finite
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor gives an item with the keys of the cursor, to compare with.
func decodeCursor(o Order, text string) (*acop.Item, error) {
	if text == "" {
		return nil, nil
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || c.ID == "" {
		return nil, fmt.Errorf("%w: the cursor is not one of this owner; start again without it", ErrBadQuery)
	}
	if c.Order != o {
		return nil, fmt.Errorf("%w: the cursor was made for order %q, not %q; start again without it", ErrBadQuery, c.Order, o)
	}
	it := new(acop.Item)
	it.WorkItem = acop.WorkItem{WorkItemID: c.ID, CreatedAtUTC: c.Created, ActionabilityScore: c.Score, Priority: c.Priority}
	return it, nil
}

// Items answers an item query with one page, the cursor of the next one ("" at
// the end) and the revision that the answer is true at. [ErrBadQuery] means
// that order or cursor are unknown.
func (s *Store) Items(q ItemQuery) (rows []*acop.Item, next string, revision uint64, err error) {
	if q.Order == "" {
		q.Order = OrderLatest
	}
	cmp, ok := orders[q.Order]
	if !ok {
		return nil, "", 0, fmt.Errorf("%w: there is no order %q; use latest, score or priority", ErrBadQuery, q.Order)
	}
	from, err := decodeCursor(q.Order, q.Cursor)
	if err != nil {
		return nil, "", 0, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	q.Limit = limit

	s.mu.RLock()
	defer s.mu.RUnlock()
	for it := range s.p.candidates(&q, cmp, from) {
		if !q.matches(it) {
			continue
		}
		if len(rows) == limit {
			return rows, encodeCursor(q.Order, rows[limit-1]), s.p.head.rev, nil
		}
		rows = append(rows, it)
	}
	return rows, "", s.p.head.rev, nil
}

// candidates walks, in order, a set of items that holds all that match. It
// takes the cheaper way: along the sorted lists of the wanted states, or
// through the smallest group of the filters.
func (p *projection) candidates(q *ItemQuery, cmp compare, from *acop.Item) iter.Seq[*acop.Item] {
	var lists []*sorted
	walk := 0
	for status, byOrder := range p.byStatus {
		if q.wants(status) {
			lists = append(lists, byOrder[q.Order])
			walk += byOrder[q.Order].n
		}
	}
	groups, size, ok := p.smallest(q)
	// Where size of walk items match, the lists are walked for about limit*walk/size
	// steps until a page is full; a group is sorted as a whole. The dearer of the
	// two ways is left alone.
	if ok && size*size < q.Limit*walk {
		return p.gather(groups, q, cmp, from)
	}
	return merge(lists, cmp, from)
}

// smallest finds the smallest group, or pair of groups, that the filters name.
func (p *projection) smallest(q *ItemQuery) (groups []string, size int, ok bool) {
	try := func(tags ...string) {
		n := 0
		for _, t := range tags {
			n += len(p.tags[t])
		}
		if !ok || n < size {
			groups, size, ok = tags, n, true
		}
	}
	if q.Agent != "" {
		try(tagAgent+q.Agent, tagOpen)
	}
	for _, party := range q.Between {
		if party != "" {
			try(tagParty + party)
		}
	}
	if q.RepoID != "" {
		try(tagRepo + q.RepoID)
	}
	if q.Branch != "" {
		try(tagBranch + q.Branch)
	}
	if q.BlockerCode != "" {
		try(tagCode + q.BlockerCode)
	}
	return groups, size, ok
}

func (p *projection) gather(groups []string, q *ItemQuery, cmp compare, from *acop.Item) iter.Seq[*acop.Item] {
	var found []*acop.Item
	for _, g := range groups { // the groups of one filter do not overlap
		for id := range p.tags[g] {
			it := p.items[id]
			if q.matches(it) && (from == nil || cmp(it, from) > 0) {
				found = append(found, it)
			}
		}
	}
	slices.SortFunc(found, cmp)
	return slices.Values(found)
}

// merge walks several sorted lists as one. There are at most eleven, one for
// each state, so that looking at all heads is cheap.
func merge(lists []*sorted, cmp compare, from *acop.Item) iter.Seq[*acop.Item] {
	if len(lists) == 1 {
		return lists[0].after(from)
	}
	return func(yield func(*acop.Item) bool) {
		var heads []*acop.Item
		var nexts []func() (*acop.Item, bool)
		for _, l := range lists {
			next, stop := iter.Pull(l.after(from))
			defer stop()
			if it, ok := next(); ok {
				heads, nexts = append(heads, it), append(nexts, next)
			}
		}
		for len(heads) > 0 {
			first := 0
			for i := range heads {
				if cmp(heads[i], heads[first]) < 0 {
					first = i
				}
			}
			if !yield(heads[first]) {
				return
			}
			it, ok := nexts[first]()
			if ok {
				heads[first] = it
				continue
			}
			heads, nexts = slices.Delete(heads, first, first+1), slices.Delete(nexts, first, first+1)
		}
	}
}

// wants reports whether items in this state can match.
func (q *ItemQuery) wants(s acop.Status) bool {
	if (q.Actionable || q.Claimable) && s != acop.StatusReady {
		return false
	}
	return len(q.Statuses) == 0 || slices.Contains(q.Statuses, s)
}

// matches reports whether an item is what the query asks for.
func (q *ItemQuery) matches(it *acop.Item) bool {
	w := &it.WorkItem
	switch {
	case !q.wants(w.Status),
		q.Claimable && it.Lease != nil,
		q.Agent != "" && !acop.MeantFor(it, q.Agent),
		q.Between[0] != "" && !acop.Involves(it, q.Between[0]),
		q.Between[1] != "" && !acop.Involves(it, q.Between[1]),
		q.RepoID != "" && w.TargetRepoID != q.RepoID,
		q.Branch != "" && w.TargetBranch != q.Branch,
		q.BlockerCode != "" && !slices.ContainsFunc(it.Blockers, func(b acop.Blocker) bool { return b.BlockerCode == q.BlockerCode }):
		return false
	}
	return q.Text == "" || mentions(it, strings.ToLower(q.Text))
}

// mentions reports whether a text that a person sees of the item holds lower.
func mentions(it *acop.Item, lower string) bool {
	w := &it.WorkItem
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), lower) }
	return has(w.WorkItemID) || has(w.Title) || has(w.Summary) || has(w.Producer) || has(w.TargetAgentUID) ||
		has(w.TargetRepoID) || has(w.TargetBranch) ||
		slices.ContainsFunc(w.OwnedPaths, has) || slices.ContainsFunc(w.OwnedSymbols, has)
}
