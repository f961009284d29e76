package fleet

import (
	"cmp"
	"fmt"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// CancelPatience is how long a cancelled task may take to say so before that is
// an ask.
const CancelPatience = 5 * time.Second

// nearDeadline is the longest time before a task's deadline at which it is near;
// for short tasks it is a fifth of their time.
const nearDeadline = 30 * time.Second

// movingAsks derives the asks that depend on the time or on more than one item.
func movingAsks(s *State, now time.Time) []Ask {
	asks := make([]Ask, 0, len(s.ix.asks.moving)+4)
	for id := range s.ix.live {
		if a, ok := leaseAsk(s, s.Items[id], now); ok {
			asks = append(asks, a)
		}
	}
	for id := range s.ix.liveTasks {
		if a, ok := liveTaskAsk(s.Tasks[id], now); ok {
			asks = append(asks, a)
		}
	}
	asks = endedTaskAsks(s, asks, s.ix.endedTasks)
	asks = endedTaskAsks(s, asks, s.ix.unseen)
	for _, l := range s.ix.overlap.lateOnes(s) {
		asks = append(asks, overlapAsk(s, &l))
	}
	return unreachableAsks(s, asks)
}

// LeaseWarning is the instant, on the owner's clock, from which a live lease
// counts as about to lapse: under a fifth of its term is left without a renewal.
func LeaseWarning(l *acop.Lease) time.Time {
	end := l.Claim.ExpiresAtUTC.Std()
	return end.Add(-leaseTerm(l) / 5)
}

// leaseTerm is the span from the grant or the last renewal to the expiry.
func leaseTerm(l *acop.Lease) time.Duration {
	from := l.Claim.GrantedAtUTC
	if !l.RenewedAtUTC.IsZero() {
		from = l.RenewedAtUTC
	}
	return max(l.Claim.ExpiresAtUTC.Sub(from), 0)
}

func leaseAsk(s *State, item *acop.Item, now time.Time) (Ask, bool) {
	l := item.Lease
	at := s.OwnerNow(now)
	warn := LeaseWarning(l)
	said := l.Contradiction()
	if at.Before(warn) && said == "" {
		return Ask{}, false
	}
	a := Ask{
		Kind: AskLease, Target: Target{TargetClaim, l.Claim.ClaimID},
		WorkItemID: item.ID(), ClaimID: l.Claim.ClaimID, Who: item.Holder(), Title: title(item),
		Since: s.local(warn), Due: s.FromOwner(l.Claim.ExpiresAtUTC),
		Severity: weigh(SeverityMedium, item), Blocks: s.Blocks(item.ID()), Revision: item.Revision,
		Detail:      "no renewal",
		Reason:      "ending",
		Consequence: "the claim ends, the item goes back to ready and " + item.Holder() + " is refused at its next write",
		Key:         string(AskLease) + ":" + item.ID(),
	}
	if at.Before(warn) {
		a.Since, a.Reason = s.FromOwner(l.HeartbeatAtUTC), "at odds"
		a.Detail = "agent says " + said + ", item says " + string(item.Status())
		a.Consequence = "nobody else can take the item before the lease ends"
	}
	if !at.Before(l.Claim.ExpiresAtUTC.Std()) {
		a.Reason, a.Detail = "lapsed", "the lease ran out"
		a.Consequence = "the item goes back to ready; another worker may start over"
	}
	return a, true
}

func taskAsk(t *Task, reason string, sev Severity, since time.Time) Ask {
	return Ask{
		Kind: AskTask, Target: Target{TargetTask, t.ID}, TaskID: t.ID, Provider: t.Provider,
		Title: cmp.Or(t.Params.Capability, t.ID), Who: t.Provider, Since: since,
		Severity: sev, Reason: reason, Revision: t.Revision, Key: string(AskTask) + ":" + t.ID,
	}
}

// liveTaskAsk names the worst that is wrong with a task that has not ended.
func liveTaskAsk(t *Task, now time.Time) (Ask, bool) {
	if t.State != acmp.StateRunning {
		return Ask{}, false
	}
	if c := t.CancelRequestedAt; !c.IsZero() && now.Sub(c) >= CancelPatience {
		a := taskAsk(t, "cancel", SeverityHigh, c)
		a.Detail = "cancel not acknowledged"
		a.Consequence = "the provider may still be at work on it and charge for it"
		a.Due = t.Deadline
		return a, true
	}
	if _, life := acmp.Liveness(t.LastSign, now, t.Interval); life == acmp.LifeDead {
		a := taskAsk(t, "dead", SeverityMedium, t.LastSign)
		a.Detail = "no sign of life"
		a.Consequence = "it fails at its deadline"
		a.Due = t.Deadline
		return a, true
	}
	if near := deadlineNear(t); !near.IsZero() && !now.Before(near) {
		a := taskAsk(t, "deadline", SeverityMedium, near)
		a.Detail = "the deadline is near"
		a.Consequence = "it ends with a timeout, whatever it has done by then"
		a.Due = t.Deadline
		return a, true
	}
	return Ask{}, false
}

// deadlineNear is the instant from which a task's deadline is near.
func deadlineNear(t *Task) time.Time {
	if t.Deadline.IsZero() {
		return time.Time{}
	}
	return t.Deadline.Add(-min(t.Deadline.Sub(t.SentAt)/5, nearDeadline))
}

// endedTaskAsks adds the asks of tasks that ended.
func endedTaskAsks(s *State, asks []Ask, ids []string) []Ask {
	for _, id := range ids {
		a, known := s.ix.asks.perTask[id]
		if !known {
			a = endedTaskAsk(s.Tasks[id])
			s.ix.asks.perTask[id] = a
		}
		if a != nil {
			asks = append(asks, *a)
		}
	}
	return asks
}

// endedTaskAsk names what a person should know about how a task ended, or nil.
func endedTaskAsk(t *Task) *Ask {
	var a Ask
	switch {
	case t.Overcharge != "":
		a = taskAsk(t, "overcharge", SeverityHigh, t.EndedAt)
		a.Detail = fmt.Sprintf("cost is %s CU above the ceiling", t.Overcharge)
		a.Consequence = "the charge stands as reported"
	case t.ProofCheck == acmp.ProofDiffers:
		a = taskAsk(t, "proof", SeverityHigh, t.EndedAt)
		a.Detail = "the proof does not match the output"
		a.Consequence = "its output stays, and may not be what was computed"
	case t.Err == nil || t.State == acmp.StateCancelled:
		return nil
	case t.Err.Code == acmp.CodeBudgetExceeded:
		a = taskAsk(t, "budget", SeverityMedium, t.EndedAt)
		a.Kind, a.Key = AskBudget, string(AskBudget)+":"+t.ID
		a.Detail = budgetDetail(t)
		a.Consequence = "it stays undone; it needs a higher ceiling or another provider"
	case t.Err.Local && t.Err.Code != acmp.CodeTimeout && t.Err.Code != acmp.CodeFeatureUnsupported:
		a = taskAsk(t, "violation", SeverityHigh, t.EndedAt)
		a.Detail = t.Err.Message
		a.Consequence = "its output stays, and cannot be relied on"
	default:
		a = taskAsk(t, "failed", SeverityMedium, t.EndedAt)
		a.Detail = t.Err.Brief()
		a.Consequence = "it stays undone; nothing runs it again by itself"
	}
	return &a
}

func budgetDetail(t *Task) string {
	ceiling := ""
	if t.Params.MaxPriceCU != nil {
		ceiling = " against a ceiling of " + t.Params.MaxPriceCU.String() + " CU"
	}
	if price, ok := t.Err.Data["min_price_cu"]; ok {
		return fmt.Sprintf("asks for %v CU%s", price, ceiling)
	}
	return "asks for more than allowed" + ceiling
}

// overlapAsk is about the claim that could wait, whatever number of others it met.
func overlapAsk(s *State, l *lateClaim) Ask {
	late, first := s.Items[l.id], s.Items[l.with[0]]
	a := Ask{
		Kind: AskOverlap, Target: Target{TargetItem, l.id}, WorkItemID: l.id, ClaimID: late.Lease.Claim.ClaimID,
		Title: title(late) + " overlaps " + title(first), Who: l.who, With: l.ids,
		Since: s.local(l.since), Severity: SeverityHigh, Blocks: s.Blocks(l.id),
		Detail:      l.shared,
		Consequence: "both change the same code; one of them will have to be redone or merged",
		Reason:      "overlap", Revision: late.Revision,
		Key: string(AskOverlap) + ":" + l.id,
	}
	for _, id := range l.with {
		a.Blocks = max(a.Blocks, s.Blocks(id))
	}
	if n := len(l.with); n > 1 {
		a.Title += fmt.Sprintf(" and %d more", n-1)
		a.Consequence = fmt.Sprintf("it changes the same code as %d other claims; with each, one side will have to be redone or merged", n)
	}
	return a
}

func unreachableAsks(s *State, asks []Ask) []Ask {
	if l := &s.Link; l.State == LinkDegraded || l.State == LinkRefused {
		a := Ask{
			Kind: AskUnreachable, Target: Target{TargetOwner, l.Server}, Title: "the owner does not answer", Who: l.Server,
			Since: l.Since, Severity: SeverityHigh, Detail: l.Problem, Reason: string(l.State),
			Consequence: "what is shown may be out of date; no act reaches the owner",
			Key:         string(AskUnreachable) + ":owner",
		}
		if l.State == LinkRefused {
			a.Title, a.Severity = "the owner refuses this program", SeverityCritical
		}
		asks = append(asks, a)
	}
	for _, name := range s.ProviderOrder {
		p := s.Providers[name]
		if p.Reachable == nil || *p.Reachable {
			continue
		}
		a := Ask{
			Kind: AskUnreachable, Target: Target{TargetProvider, name}, Provider: name, Who: name,
			Title: "provider " + name + " does not answer", Since: p.Since, Severity: SeverityMedium,
			Detail: p.Problem, Reason: "provider", Consequence: "no task can be sent to it",
			Key: string(AskUnreachable) + ":provider:" + name,
		}
		if n := s.runningOn(name); n > 0 {
			a.Severity = SeverityHigh
			a.Consequence = "its running task will fail at its deadline"
			if n > 1 {
				a.Consequence = fmt.Sprintf("its %d running tasks will fail at their deadlines", n)
			}
		}
		asks = append(asks, a)
	}
	return asks
}

func (s *State) runningOn(provider string) int {
	n := 0
	for id := range s.ix.liveTasks {
		if s.Tasks[id].Provider == provider {
			n++
		}
	}
	return n
}
