package fleet

import (
	"cmp"
	"slices"

	"signalbox/model/acop"
)

// depGraph knows which open items wait for which (C-025). Edges come from open
// dependency blockers of items that are not terminal.
type depGraph struct {
	behind  map[string]map[string]struct{} // item -> those that wait for it
	version uint64                         // moves when an edge comes or goes
	memo    map[string]int                 // transitive counts at memoAt
	memoAt  uint64
}

func newDepGraph() depGraph {
	return depGraph{behind: make(map[string]map[string]struct{}), memo: make(map[string]int)}
}

func depsOf(i *acop.Item) []string {
	if i == nil || i.Status().Terminal() {
		return nil
	}
	var ids []string
	for _, b := range i.Blockers {
		if d := b.DependsOn(); d != "" && d != i.ID() {
			ids = append(ids, d)
		}
	}
	return ids
}

func (g *depGraph) update(id string, before, after *acop.Item) {
	old, now := depsOf(before), depsOf(after)
	if slices.Equal(old, now) {
		return
	}
	for _, d := range old {
		delete(g.behind[d], id)
		if len(g.behind[d]) == 0 {
			delete(g.behind, d)
		}
	}
	for _, d := range now {
		if g.behind[d] == nil {
			g.behind[d] = make(map[string]struct{})
		}
		g.behind[d][id] = struct{}{}
	}
	g.version++
}

// count is how many items wait for id over any number of steps. The answer is
// kept until an edge changes.
func (g *depGraph) count(id string) int {
	if len(g.behind[id]) == 0 {
		return 0
	}
	if g.memoAt != g.version {
		clear(g.memo)
		g.memoAt = g.version
	}
	if n, ok := g.memo[id]; ok {
		return n
	}
	seen := map[string]struct{}{id: {}}
	stack := []string{id}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for b := range g.behind[at] {
			if _, ok := seen[b]; !ok {
				seen[b] = struct{}{}
				stack = append(stack, b)
			}
		}
	}
	g.memo[id] = len(seen) - 1
	return len(seen) - 1
}

// Dependents lists the open items that directly wait for workItemID, by id.
func (s *State) Dependents(workItemID string) []string {
	out := make([]string, 0, len(s.ix.deps.behind[workItemID]))
	for id := range s.ix.deps.behind[workItemID] {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// StillWaiting is an item that waits for another one and for more beside it.
type StillWaiting struct {
	ID string
	// For names what else it waits for: ids of items and codes of blockers. Empty where
	// nothing does and its status keeps it from being ready.
	For    []string
	Status acop.Status
}

// AfterAccept tells of the open items that directly wait for workItemID, by id, which
// become ready once it is accepted (C-025) and which do not, and why. Of a cycle each
// waits for the other.
func (s *State) AfterAccept(workItemID string) (ready []string, waiting []StillWaiting) {
	for _, id := range s.Dependents(workItemID) {
		it := s.Items[id]
		if it == nil {
			continue
		}
		w := StillWaiting{ID: id, Status: it.Status()}
		for _, b := range it.Blockers {
			if on := b.DependsOn(); on != workItemID {
				w.For = append(w.For, cmp.Or(on, b.BlockerCode))
			}
		}
		if len(w.For) == 0 && w.Status == acop.StatusBlocked {
			ready = append(ready, id)
		} else {
			waiting = append(waiting, w)
		}
	}
	return ready, waiting
}

// Blocks counts the open items that wait for workItemID over any number of
// steps; in a cycle each counts once.
func (s *State) Blocks(workItemID string) int { return s.ix.deps.count(workItemID) }
