package acop

import (
	"cmp"
	"slices"
	"strings"
)

// Actionable reports whether item is work that agent can pick up now (core
// "Pickup", C-067, D-57): it is ready and meant for the agent, or for nobody in
// particular. Blockers of a ready item do not matter (D-44).
func Actionable(item *Item, agent string) bool {
	return item.WorkItem.Status == StatusReady && MeantFor(item, agent)
}

// MeantFor reports whether agent may take item, as far as its target and its
// participants say, whatever its status: "matches X" of D-57.
func MeantFor(item *Item, agent string) bool {
	w := &item.WorkItem
	if w.TargetAgentUID != "" {
		return w.TargetAgentUID == agent
	}
	return len(w.ParticipantAgentUIDs) == 0 || slices.Contains(w.ParticipantAgentUIDs, agent)
}

// Claimable reports whether anybody could claim item now (C-070).
func Claimable(item *Item) bool { return item.WorkItem.Status == StatusReady }

// Involves reports whether agent is the item's producer, target or participant.
func Involves(item *Item, agent string) bool {
	w := &item.WorkItem
	return agent != "" && (w.Producer == agent || w.TargetAgentUID == agent || slices.Contains(w.ParticipantAgentUIDs, agent))
}

// Between reports whether both agents are involved in item (C-068, D-57).
func Between(item *Item, a, b string) bool { return Involves(item, a) && Involves(item, b) }

// Latest orders items newest first: created_at_utc descending, then
// actionability_score descending, then id (D-57). For slices.SortFunc.
func Latest(a, b *Item) int {
	if c := b.WorkItem.CreatedAtUTC.t.Compare(a.WorkItem.CreatedAtUTC.t); c != 0 {
		return c
	}
	if c := cmp.Compare(b.WorkItem.ActionabilityScore, a.WorkItem.ActionabilityScore); c != 0 {
		return c
	}
	return strings.Compare(a.ID(), b.ID())
}

// ByScore orders items by actionability_score descending, then as [Latest].
func ByScore(a, b *Item) int {
	if c := cmp.Compare(b.WorkItem.ActionabilityScore, a.WorkItem.ActionabilityScore); c != 0 {
		return c
	}
	return Latest(a, b)
}

// ByPriority orders items urgent first, then as [Latest].
func ByPriority(a, b *Item) int {
	if c := cmp.Compare(b.WorkItem.Priority.Rank(), a.WorkItem.Priority.Rank()); c != 0 {
		return c
	}
	return Latest(a, b)
}
