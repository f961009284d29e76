package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// askCache keeps what cannot have changed. Asks that follow from an item alone
// are derived again only when the item changes and are kept in order; those that
// depend on the time, on tasks and on links are few and are derived every time.
type askCache struct {
	perItem map[string][]*Ask
	sorted  []*Ask // all of perItem, in rank order
	dirty   map[string]struct{}
	stale   bool // derive the order of everything again

	graphAt   uint64
	overlapAt uint64

	perTask map[string]*Ask // of tasks that ended

	moving  []Ask // the asks that depend on more than one item, last time
	result  []Ask
	valid   bool
	version uint64
	from    time.Time
	until   time.Time // zero: no end by time alone
}

// sortAbove is the number of changed items from which sorting everything is
// cheaper than moving each.
const sortAbove = 64

func (c *askCache) init() {
	c.perTask = make(map[string]*Ask)
	c.reset()
}

// reset forgets everything that came from the owner.
func (c *askCache) reset() {
	c.perItem = make(map[string][]*Ask)
	c.dirty = make(map[string]struct{})
	c.sorted, c.stale, c.valid = nil, true, false
}

func (c *askCache) itemDirty(id string) { c.dirty[id] = struct{}{} }
func (c *askCache) taskDirty(id string) { delete(c.perTask, id) }
func (c *askCache) taskGone(id string)  { delete(c.perTask, id) }

// at gives the asks at now; see [State.Asks].
func (c *askCache) at(s *State, now time.Time) []Ask {
	if c.valid && c.version == s.Version && !now.Before(c.from) && (c.until.IsZero() || now.Before(c.until)) {
		return c.result
	}
	changed := c.refresh(s, now)
	moving := movingAsks(s, now)
	slices.SortFunc(moving, func(a, b Ask) int { return rank(&a, &b) })
	if changed || !c.valid || !slices.Equal(moving, c.moving) || c.expired(s, now) {
		c.moving = moving
		c.result = c.merge(s, now)
	}
	c.valid, c.version, c.from = true, s.Version, now
	c.until = nextAskChange(s, now)
	return c.result
}

// expired reports whether a request to claim ended between the last call and
// now: it is the one ask of an item that ends by time alone.
func (c *askCache) expired(s *State, now time.Time) bool {
	for id := range s.ix.waiting {
		for _, a := range c.perItem[id] {
			if !a.Due.IsZero() && a.Due.After(c.from) != a.Due.After(now) {
				return true
			}
		}
	}
	return false
}

// refresh derives the asks of changed items and reports whether any changed.
func (c *askCache) refresh(s *State, now time.Time) bool {
	if o := &s.ix.overlap; o.version != c.overlapAt {
		c.overlapAt = o.version
		for id := range s.ix.waiting {
			c.dirty[id] = struct{}{} // what a grant collides with has changed
		}
	}
	if c.graphAt != s.ix.deps.version {
		c.graphAt = s.ix.deps.version
		for id, asks := range c.perItem {
			if s.Blocks(id) != asks[0].Blocks {
				c.dirty[id] = struct{}{} // what stands behind it has changed
			}
		}
	}
	changed := c.stale
	c.stale = c.stale || len(c.dirty) > sortAbove
	for id := range c.dirty {
		if c.replace(id, itemAsks(s, id)) {
			changed = true
		}
	}
	clear(c.dirty)
	if c.stale {
		c.sorted = c.sorted[:0]
		for _, asks := range c.perItem {
			c.sorted = append(c.sorted, asks...)
		}
		slices.SortFunc(c.sorted, rank)
		c.stale = false
	}
	return changed
}

// replace puts the asks of one item in the place of its old ones.
func (c *askCache) replace(id string, asks []*Ask) bool {
	old := c.perItem[id]
	if slices.EqualFunc(old, asks, func(a, b *Ask) bool { return *a == *b }) {
		return false
	}
	if len(asks) == 0 {
		delete(c.perItem, id)
	} else {
		c.perItem[id] = asks
	}
	if c.stale {
		return true
	}
	for _, a := range old {
		if i, ok := slices.BinarySearchFunc(c.sorted, a, rank); ok {
			c.sorted = slices.Delete(c.sorted, i, i+1)
		}
	}
	for _, a := range asks {
		i, _ := slices.BinarySearchFunc(c.sorted, a, rank)
		c.sorted = slices.Insert(c.sorted, i, a)
	}
	return true
}

// merge makes a new result of both kinds of ask, without those that a person
// settled and requests that have run out.
func (c *askCache) merge(s *State, now time.Time) []Ask {
	out := make([]Ask, 0, len(c.sorted)+len(c.moving))
	take := func(a *Ask) {
		if a.Kind == AskGrant && !a.Due.IsZero() && !a.Due.After(now) {
			return
		}
		if s.Settled(a) {
			return
		}
		out = append(out, *a)
	}
	m := c.moving
	for _, a := range c.sorted {
		for len(m) > 0 && rank(&m[0], a) < 0 {
			take(&m[0])
			m = m[1:]
		}
		take(a)
	}
	for i := range m {
		take(&m[i])
	}
	return out
}

// rank orders asks by [RankRule]; the key makes the order total.
func rank(a, b *Ask) int {
	if c := cmp.Compare(b.Severity, a.Severity); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Blocks, a.Blocks); c != 0 {
		return c
	}
	if c := a.Since.Compare(b.Since); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}
