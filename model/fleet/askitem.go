package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"signalbox/model/acop"
)

// itemAsks derives the asks that follow from one item and its entries alone.
func itemAsks(s *State, id string) []*Ask {
	item := s.Items[id]
	if item == nil || item.Status().Terminal() {
		return nil
	}
	var asks []*Ask
	add := func(a *Ask) {
		if a == nil {
			return
		}
		a.WorkItemID, a.Revision = id, item.Revision
		a.Blocks = s.Blocks(id)
		a.Title = cmp.Or(a.Title, title(item))
		if a.Target.Kind == "" {
			a.Target = Target{TargetItem, id}
		}
		a.Key = cmp.Or(a.Key, string(a.Kind)+":"+id)
		asks = append(asks, a)
	}
	switch item.Status() {
	case acop.StatusRequiresAttention:
		add(decideAsk(s, item))
	case acop.StatusCompleted:
		add(acceptAsk(s, item))
	case acop.StatusBlocked:
		add(blockedAsk(s, item))
	case acop.StatusReady:
		add(lapsedAsk(s, item))
	}
	for i := range item.Intents {
		add(grantAsk(s, item, &item.Intents[i]))
	}
	for _, e := range s.ix.entries.reviews[id] {
		add(reviewAsk(s, item, e))
	}
	return asks
}

func title(item *acop.Item) string {
	return cmp.Or(item.WorkItem.Title, item.WorkItem.Summary, item.ID())
}

// weigh raises the severity of what concerns an urgent item and lowers that of
// an unimportant one.
func weigh(base Severity, item *acop.Item) Severity {
	switch item.WorkItem.Priority {
	case acop.PriorityUrgent:
		base++
	case acop.PriorityLow:
		base--
	}
	return min(max(base, SeverityLow), SeverityCritical)
}

func decideAsk(s *State, item *acop.Item) *Ask {
	return &Ask{
		Kind: AskDecide, Who: item.WorkItem.Producer, Since: s.FromOwner(item.StatusSinceUTC),
		Severity:    weigh(SeverityMedium, item),
		Detail:      item.WorkItem.Summary,
		Consequence: "nobody can take it up" + waits(s.Blocks(item.ID())),
		Reason:      string(acop.StatusRequiresAttention),
	}
}

// waits says how much stands behind an item, or nothing.
func waits(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 item waits behind it"
	}
	return fmt.Sprintf("; %d items wait behind it", n)
}

func acceptAsk(s *State, item *acop.Item) *Ask {
	m := item.Evidence()
	a := &Ask{
		Kind: AskAccept, Since: s.FromOwner(item.StatusSinceUTC),
		Severity:    weigh(SeverityMedium, item),
		Detail:      "no evidence required",
		Consequence: "it stays completed; nobody may build on it" + waits(s.Blocks(item.ID())),
		Reason:      string(acop.StatusCompleted),
	}
	if len(m.Rows) > 0 {
		a.Detail = fmt.Sprintf("%d/%d evidence", m.Met, len(m.Rows))
	}
	if item.Completion != nil {
		a.Who = item.Completion.CompletedBy
		a.ClaimID = item.Completion.ClaimID
	}
	return a
}

func blockedAsk(s *State, item *acop.Item) *Ask {
	var worst *acop.Blocker
	for i := range item.Blockers {
		b := &item.Blockers[i]
		if b.NeedsPerson() && (worst == nil || b.Severity.Rank() > worst.Severity.Rank()) {
			worst = b
		}
	}
	if worst == nil {
		return deadEndAsk(s, item)
	}
	return &Ask{
		Kind: AskBlocked, Who: item.WorkItem.Producer, Since: s.FromOwner(item.StatusSinceUTC),
		Severity:    Severity(min(max(worst.Severity.Rank(), int(SeverityLow)), int(SeverityCritical))),
		Detail:      worst.Summary,
		Consequence: "it stays blocked until a person unblocks it" + waits(s.Blocks(item.ID())),
		Reason:      worst.BlockerCode,
	}
}

// deadEndAsk is of an item that waits for work that will not come as things are: it was
// cancelled, or the owner has it not open. Nothing but a person ends that wait.
func deadEndAsk(s *State, item *acop.Item) *Ask {
	for _, id := range depsOf(item) {
		why := deadEnd(s.Items[id])
		if why == "" {
			continue
		}
		return &Ask{
			Kind: AskBlocked, Who: item.WorkItem.Producer, Since: s.FromOwner(item.StatusSinceUTC),
			Severity:    weigh(SeverityLow, item),
			Detail:      "waits for " + id + ", which is " + why,
			Consequence: "it stays blocked until a person unblocks it or that work is put" + waits(s.Blocks(item.ID())),
			Reason:      "dead end",
		}
	}
	return nil
}

// deadEnd says why i will not be accepted as things are, "" while it may be.
func deadEnd(i *acop.Item) string {
	switch {
	case i == nil:
		return "not open at the owner"
	case i.Status() == acop.StatusCancelled, i.Status() == acop.StatusSuperseded:
		return string(i.Status())
	}
	return ""
}

func lapsedAsk(s *State, item *acop.Item) *Ask {
	l, ok := s.ix.lapsed[item.ID()]
	if !ok {
		return nil
	}
	return &Ask{
		Kind: AskLease, Who: l.worker, Since: s.local(l.at),
		Severity:    weigh(SeverityMedium, item),
		Detail:      "the lease ran out while work was in progress",
		Consequence: "it is ready again; another worker may start over" + waits(s.Blocks(item.ID())),
		Reason:      "lapsed",
		Key:         string(AskLease) + ":" + item.ID(),
	}
}

func grantAsk(s *State, item *acop.Item, in *acop.Intent) *Ask {
	if in.State != acop.IntentWaiting {
		return nil
	}
	ci := &in.ClaimIntent
	a := &Ask{
		Kind: AskGrant, Who: ci.WorkerAgentUID, Since: s.FromOwner(ci.RequestedAtUTC),
		Target: Target{TargetIntent, ci.ClaimIntentID}, IntentID: ci.ClaimIntentID,
		Due:         s.FromOwner(in.ExpiresUTC),
		Severity:    weigh(SeverityMedium, item),
		Consequence: "the request runs out; " + ci.WorkerAgentUID + " has to ask again",
		Reason:      string(acop.IntentWaiting),
		Key:         string(AskGrant) + ":" + item.ID() + "\x00" + ci.ClaimIntentID,
	}
	if item.Status() != acop.StatusReady {
		a.Reason = string(item.Status())
		a.Detail = "the item is " + string(item.Status())
	}
	if n := len(s.OverlapsWith(item)); n > 0 {
		a.Detail = joinDetail(a.Detail, fmt.Sprintf("overlap %d", n))
	}
	return a
}

func reviewAsk(s *State, item *acop.Item, entryID string) *Ask {
	p, ok := s.Entry(entryID)
	if !ok {
		return nil
	}
	e := &p.Entry
	return &Ask{
		Kind: AskReview, Who: e.AuthorAgentUID, Since: s.FromOwner(e.CreatedAtUTC),
		Target: Target{TargetEntry, e.EntryID}, EntryID: e.EntryID,
		Severity:    weigh(SeverityMedium, item),
		Title:       cmp.Or(e.Summary, title(item)),
		Detail:      e.Details,
		Consequence: e.AuthorAgentUID + " waits for an answer",
		Reason:      string(acop.EntryReviewRequest),
		Key:         string(AskReview) + ":" + e.EntryID,
	}
}

func joinDetail(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, " · ")
}
