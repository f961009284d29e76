package ui

import (
	"slices"

	"signalbox/model/acop"
	"signalbox/ui/screen"
)

// materialChange says what makes now another thing to decide on than was, or ""
// when only signs of life came in between: renewals, heartbeats, progress. Those
// move the item's revision too, but no decision hangs on them (promise 2).
func materialChange(was, now *acop.Item) string {
	switch {
	case was == nil || was == now:
		return ""
	case now == nil:
		return "it is gone"
	case was.Status() != now.Status():
		s := "it was " + clean(string(was.Status())) + " and is now " + clean(string(now.Status()))
		if h := now.Holder(); h != "" {
			s += " by " + clean(h)
		}
		return s
	case claimOf(was) != claimOf(now):
		return "another claim holds it now"
	case !sameBlockers(was.Blockers, now.Blockers):
		return "its blockers changed"
	case !sameCompletion(was.Completion, now.Completion):
		return "its evidence changed"
	case !sameIntents(was, now):
		return "the requests for it changed"
	case !slices.Equal(was.WorkItem.OwnedPaths, now.WorkItem.OwnedPaths),
		!slices.Equal(was.WorkItem.OwnedSymbols, now.WorkItem.OwnedSymbols):
		return "its scope changed"
	case was.WorkItem.Title != now.WorkItem.Title, was.WorkItem.Summary != now.WorkItem.Summary:
		return "its text changed"
	case !slices.EqualFunc(was.ValidationRequirements, now.ValidationRequirements, sameRequirement):
		return "what it requires changed"
	}
	return ""
}

func claimOf(i *acop.Item) string {
	if i.Lease == nil {
		return ""
	}
	return i.Lease.Claim.ClaimID
}

func sameBlockers(a, b []acop.Blocker) bool {
	return slices.EqualFunc(a, b, func(x, y acop.Blocker) bool {
		return x.BlockerCode == y.BlockerCode && x.Summary == y.Summary && x.DependsOnWorkItemID == y.DependsOnWorkItemID
	})
}

func sameRequirement(a, b acop.ValidationRequirement) bool {
	return a.RequirementID == b.RequirementID && a.Summary == b.Summary
}

func sameCompletion(a, b *acop.Completion) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ClaimID == b.ClaimID && a.CompletedAtUTC.Equal(b.CompletedAtUTC) &&
		slices.Equal(a.Evidence.ValidationResults, b.Evidence.ValidationResults) &&
		slices.Equal(a.Evidence.ArtifactIDs, b.Evidence.ArtifactIDs)
}

// requestGone says why the request to claim that s is about cannot be answered any
// more, or "": an answer to it must never go to another one.
func (m *Model) requestGone(s subject) string {
	now := m.state.Items[s.t.WorkItemID]
	if s.t.Kind != screen.KindIntent || now == nil {
		return ""
	}
	in := now.Intent(s.t.ID)
	if in != nil && in.State == acop.IntentWaiting {
		return ""
	}
	return "the request of " + clean(s.t.Worker) + " no longer waits"
}

// sameIntents compares the requests that wait.
func sameIntents(a, b *acop.Item) bool {
	wa, wb := a.WaitingIntent(), b.WaitingIntent()
	if wa == nil || wb == nil {
		return wa == wb
	}
	return wa.ClaimIntent.ClaimIntentID == wb.ClaimIntent.ClaimIntentID
}
