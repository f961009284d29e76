package demo

import (
	"context"
	"time"

	"signalbox/model/acop"
)

const (
	// rulesAfter is when the conductor turns the rules on: two workers have
	// collided by then, later collisions are for the lead to decide.
	rulesAfter = 2500 * time.Millisecond
	// The patience with an absent lead: after it the conductor decides, so that
	// the story goes on.
	grantAfter   = 60 * time.Second
	unblockAfter = 2 * time.Minute
	decideAfter  = 4 * time.Minute
	consumeAfter = 45 * time.Second
	requeueAfter = 60 * time.Second
)

// conductor is the middleware of the demo: it sets the grant rules, lets
// accepted work go, and decides what the lead has left for long.
type conductor struct{ *actor }

func (c *conductor) live(ctx context.Context) {
	defer c.c.Close()
	if !wait(ctx, rulesAfter) {
		return
	}
	mode := acop.GrantRules
	_, _ = c.do(ctx, acop.Act{Verb: acop.VerbSettings, Settings: &acop.SettingsChange{
		GrantMode: &mode,
		Rules:     []acop.GrantRule{{Worker: "agent:intern", Then: "lead"}},
		Reason:    "overlaps and the intern's claims are for the lead to decide",
	}})
	for wait(ctx, 4*time.Second) {
		snap, err := c.c.Snapshot(ctx)
		if err != nil {
			continue
		}
		for _, i := range snap.Items {
			c.tend(ctx, i, snap.AtUTC)
		}
	}
}

// tend does what is due on one item.
func (c *conductor) tend(ctx context.Context, i *acop.Item, now acop.Time) {
	old := now.Sub(i.StatusSinceUTC)
	act := acop.Act{WorkItemID: i.ID(), IfRevision: i.Revision}
	switch i.Status() {
	case acop.StatusReady:
		c.grant(ctx, i, now)
		return
	case acop.StatusAccepted:
		if old < consumeAfter {
			return
		}
		act.Verb, act.Reason = acop.VerbConsume, "merged"
	case acop.StatusReleased:
		if old < requeueAfter {
			return
		}
		act.Verb, act.Reason = acop.VerbRequeue, "back on the market"
	case acop.StatusRequiresAttention:
		if old < decideAfter {
			return
		}
		act.Verb, act.Decision, act.Reason = acop.VerbResolve, acop.StatusReady, "nobody objected; the first option it is"
	case acop.StatusBlocked:
		code := decidable(i)
		if old < unblockAfter || code == "" {
			return
		}
		act.Verb, act.BlockerCode, act.Reason = acop.VerbUnblock, code, "decided in the weekly call"
	default:
		return
	}
	_, _ = c.do(ctx, act)
}

// decidable is the code of a blocker that a decision takes away.
func decidable(i *acop.Item) string {
	for _, b := range i.Blockers {
		if b.BlockerCode != acop.BlockerDependency {
			return b.BlockerCode
		}
	}
	return ""
}

// grant decides requests that have waited for the lead for long.
func (c *conductor) grant(ctx context.Context, i *acop.Item, now acop.Time) {
	for _, n := range i.Intents {
		if n.State == acop.IntentWaiting && now.Sub(n.ClaimIntent.RequestedAtUTC) > grantAfter {
			_, _ = c.do(ctx, acop.Act{Verb: acop.VerbGrant, WorkItemID: i.ID(), IntentID: n.ClaimIntent.ClaimIntentID,
				IfRevision: i.Revision, Reason: "the lead is away"})
			return
		}
	}
}
