package acop

import (
	"slices"
	"strings"

	core "signalbox/model/acop"
	"signalbox/model/text"
)

// circleShown is how many items of a circle a refusal names.
const circleShown = 16

// closesCircle refuses new state of an item that would wait for itself, through
// any number of others: such a wait has no end, since only acceptance ends one
// (C-025). before is what the item waited for until now; a circle that a log
// brought along does not keep anybody from changing something else. Two acts on
// two items at one instant can still close a circle, which a lead then opens by
// unblock.
func (d *desk) closesCircle(it *core.Item, before []core.Blocker) *core.Error {
	old := awaited(before)
	fresh := slices.DeleteFunc(awaited(it.Blockers), func(id string) bool { return slices.Contains(old, id) })
	way := d.wayBack(it.ID(), fresh)
	if way == nil {
		return nil
	}
	shown := way[:min(len(way), circleShown)]
	names := make([]string, len(shown))
	for i, id := range shown {
		names[i] = text.ID(id)
	}
	told := strings.Join(names, " waits for ")
	if len(way) > len(shown) {
		told += " and so on"
	}
	return core.Errorf(core.CodeItemConflict, "the work item would wait for itself and never become ready: %s", told).
		With("reason", "circle").With("work_item_id", it.ID()).With("circle", shown).With("circle_length", len(way)-1)
}

// awaited lists the ids of what the blockers wait for.
func awaited(blockers []core.Blocker) []string {
	var ids []string
	for _, b := range blockers {
		if id := b.DependsOn(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// wayBack finds how one comes from an item over what it waits for to itself:
// the ids on the way, the item's own at both ends, or nil.
func (d *desk) wayBack(id string, from []string) []string {
	if slices.Contains(from, id) {
		return []string{id, id}
	}
	if len(from) == 0 || len(d.book.Dependents(id)) == 0 {
		return nil // the usual case: nobody waits for it
	}
	cameFrom := make(map[string]string, len(from))
	var todo []string
	visit := func(of string, ids []string) {
		for _, n := range ids {
			if _, seen := cameFrom[n]; !seen {
				cameFrom[n] = of
				todo = append(todo, n)
			}
		}
	}
	for visit(id, from); len(todo) > 0; todo = todo[1:] {
		it, known := d.book.Item(todo[0])
		if !known || !waiting(it.Status()) {
			continue
		}
		visit(todo[0], awaited(it.Blockers))
		if _, found := cameFrom[id]; !found {
			continue
		}
		way := []string{id}
		for at := cameFrom[id]; at != id; at = cameFrom[at] {
			way = append(way, at)
		}
		way = append(way, id)
		slices.Reverse(way)
		return way
	}
	return nil
}

// waiting tells whether an item in this status still waits for what blocks it.
func waiting(s core.Status) bool {
	return !s.Terminal() && s != core.StatusCompleted && s != core.StatusAccepted
}
