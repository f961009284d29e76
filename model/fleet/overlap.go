package fleet

import (
	"slices"
	"strings"
	"time"

	"signalbox/model/acop"
)

// overlapIndex knows which live claims share paths or symbols. It compares
// lazily: a claim that came or went is only noted by Apply and compared when
// somebody asks.
type overlapIndex struct {
	scopes  map[string]liveScope
	dirty   map[string]struct{}
	pairs   map[[2]string]Conflict // key in the order of ids
	partner map[string]map[string]struct{}
	version uint64 // moves when a live scope comes, goes or changes

	// sorted are all pairs in order and late what follows from them, as of the last
	// comparison: nothing that happens to an item between two of them moves either.
	sorted []Conflict
	late   []lateClaim
}

// lateClaim is a live claim that was granted while others held what it shares with
// them: the one that could wait.
type lateClaim struct {
	id     string
	with   []string // the items it met, earliest claim first
	who    string   // their holders and its own, each once
	ids    string   // with, joined
	shared string   // the paths and symbols, each once
	since  time.Time
}

type liveScope struct {
	claim   acop.Claim // as first seen; a renewal moves only its end
	scope   acop.Scope
	paths   []string
	symbols []string
}

func newOverlapIndex() overlapIndex {
	return overlapIndex{
		scopes:  make(map[string]liveScope),
		dirty:   make(map[string]struct{}),
		pairs:   make(map[[2]string]Conflict),
		partner: make(map[string]map[string]struct{}),
	}
}

// update notes what item owns now; nil or nobody holding it means nothing.
func (o *overlapIndex) update(id string, item *acop.Item) {
	old, had := o.scopes[id]
	live := item != nil && item.Status().Held() && item.Lease != nil &&
		len(item.WorkItem.OwnedPaths)+len(item.WorkItem.OwnedSymbols) > 0
	if !live && !had {
		return
	}
	if live && had && sameClaim(&old.claim, &item.Lease.Claim) &&
		slices.Equal(old.paths, item.WorkItem.OwnedPaths) && slices.Equal(old.symbols, item.WorkItem.OwnedSymbols) {
		return
	}
	delete(o.scopes, id)
	if live {
		o.scopes[id] = liveScope{item.Lease.Claim, acop.NewScope(item), item.WorkItem.OwnedPaths, item.WorkItem.OwnedSymbols}
	}
	o.dirty[id] = struct{}{}
	o.version++
}

func sameClaim(a, b *acop.Claim) bool {
	return a.ClaimID == b.ClaimID && a.WorkerAgentUID == b.WorkerAgentUID && a.GrantedAtUTC.Equal(b.GrantedAtUTC)
}

// sync compares what changed since the last time.
func (o *overlapIndex) sync(s *State) {
	if len(o.dirty) == 0 {
		return
	}
	for id := range o.dirty {
		for other := range o.partner[id] {
			delete(o.pairs, pairKey(id, other))
			delete(o.partner[other], id)
		}
		delete(o.partner, id)
		mine, ok := o.scopes[id]
		if !ok {
			continue
		}
		for other, theirs := range o.scopes {
			if other == id {
				continue
			}
			paths, symbols := mine.scope.Overlaps(theirs.scope)
			if len(paths)+len(symbols) > 0 {
				o.add(s, id, other, paths, symbols)
			}
		}
	}
	clear(o.dirty)
	o.sorted = make([]Conflict, 0, len(o.pairs))
	for _, c := range o.pairs {
		o.sorted = append(o.sorted, c)
	}
	sortConflicts(o.sorted)
	o.late = o.lateClaims()
}

// lateClaims gathers the sorted pairs by their later claim.
func (o *overlapIndex) lateClaims() []lateClaim {
	var out []lateClaim
	for pairs := o.sorted; len(pairs) > 0; {
		n := 1
		for n < len(pairs) && pairs[n].ItemB == pairs[0].ItemB {
			n++
		}
		l := lateClaim{id: pairs[0].ItemB, since: pairs[0].Since}
		met := slices.Clone(pairs[:n])
		slices.SortStableFunc(met, func(a, b Conflict) int {
			return o.granted(a.ItemA).Compare(o.granted(b.ItemA))
		})
		who, shared := []string{}, []string{}
		for _, c := range met {
			l.with = append(l.with, c.ItemA)
			who = appendNew(who, c.WorkerA)
			shared = appendNew(appendNew(shared, c.Paths...), c.Symbols...)
		}
		l.who = strings.Join(appendNew(who, pairs[0].WorkerB), ", ")
		l.ids, l.shared = strings.Join(l.with, WithSep), strings.Join(shared, ", ")
		out, pairs = append(out, l), pairs[n:]
	}
	return out
}

// granted is when the live claim of an item was granted.
func (o *overlapIndex) granted(id string) time.Time { return o.scopes[id].claim.GrantedAtUTC.Std() }

// appendNew adds those words to list that it does not hold.
func appendNew(list []string, words ...string) []string {
	for _, w := range words {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

func (o *overlapIndex) add(s *State, a, b string, paths, symbols []string) {
	ia, ib := s.Items[a], s.Items[b]
	ta, tb := ia.Lease.Claim.GrantedAtUTC, ib.Lease.Claim.GrantedAtUTC
	if tb.Before(ta) || tb.Equal(ta) && b < a {
		ia, ib, tb = ib, ia, ta
	}
	o.pairs[pairKey(a, b)] = Conflict{
		ItemA: ia.ID(), ItemB: ib.ID(), WorkerA: ia.Holder(), WorkerB: ib.Holder(),
		Paths: paths, Symbols: symbols, Since: tb.Std(),
	}
	for _, p := range [][2]string{{a, b}, {b, a}} {
		if o.partner[p[0]] == nil {
			o.partner[p[0]] = make(map[string]struct{})
		}
		o.partner[p[0]][p[1]] = struct{}{}
	}
}

func pairKey(a, b string) [2]string {
	if b < a {
		a, b = b, a
	}
	return [2]string{a, b}
}

func (o *overlapIndex) list(s *State) []Conflict {
	o.sync(s)
	return slices.Clone(o.sorted)
}

// lateOnes are the live claims that could wait, in order of their grant.
func (o *overlapIndex) lateOnes(s *State) []lateClaim {
	o.sync(s)
	return o.late
}

func (o *overlapIndex) of(s *State, id string) []Conflict {
	o.sync(s)
	var out []Conflict
	for other := range o.partner[id] {
		out = append(out, o.pairs[pairKey(id, other)])
	}
	sortConflicts(out)
	return out
}

// sortConflicts orders pairs by their later claim, then by the id of the other.
func sortConflicts(cs []Conflict) {
	slices.SortFunc(cs, func(a, b Conflict) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		if c := strings.Compare(a.ItemB, b.ItemB); c != 0 {
			return c
		}
		return strings.Compare(a.ItemA, b.ItemA)
	})
}

// OverlapsWith lists the live claims of other items that share paths or symbols
// with item, whether item itself is held or not: what a grant would collide
// with.
func (s *State) OverlapsWith(item *acop.Item) []acop.Overlap {
	scope := acop.NewScope(item)
	if scope.Empty() {
		return nil
	}
	var out []acop.Overlap
	for id, other := range s.ix.overlap.scopes {
		if id == item.ID() {
			continue
		}
		if p, y := scope.Overlaps(other.scope); len(p)+len(y) > 0 {
			held := s.Items[id]
			out = append(out, acop.Overlap{
				WorkItemID: id, WorkerAgentUID: held.Holder(), ExpiresAtUTC: held.Lease.Claim.ExpiresAtUTC,
				Paths: p, Symbols: y,
			})
		}
	}
	slices.SortFunc(out, func(a, b acop.Overlap) int { return strings.Compare(a.WorkItemID, b.WorkItemID) })
	return out
}
