package acop

import (
	"cmp"
	"net/http"
	"slices"

	core "signalbox/model/acop"
)

// What the gate says about a wish to claim.
const (
	thenAuto = "auto"
	thenLead = "lead"
	thenDeny = "deny"
)

// gateResult is the gate's word and the reason that is told to the worker.
type gateResult struct {
	then   string
	reason string
	detail string
}

func (g gateResult) refusal(itemID string) *core.Error {
	return gateBlocked(30, g.detail).With("work_item_id", itemID).With("reason", g.reason)
}

func gateBlocked(after int64, msg string) *core.Error {
	e := core.Errorf(core.CodeGateBlocked, "%s", msg)
	e.RetryAfterSeconds = after
	return e
}

// gate applies freeze and grant mode. A lead's own
// grant passes every gate but the freeze.
func (d *desk) gate(it *core.Item, worker string) gateResult {
	if d.settings.Frozen {
		return gateResult{thenDeny, "frozen", "grants are frozen by a lead: " + d.settings.FrozenReason}
	}
	if d.caller.Role.LeadVerbs() {
		return gateResult{then: thenAuto}
	}
	switch d.settings.GrantMode {
	case core.GrantLead:
		return gateResult{thenLead, "lead", "a lead must grant this request; ask again later"}
	case core.GrantRules:
		return d.rules(it, worker)
	}
	return gateResult{then: thenAuto}
}

// rules takes the first matching rule; where none matches, the claim is
// granted. Overlap with live work always goes to the lead, unless denied.
func (d *desk) rules(it *core.Item, worker string) gateResult {
	g := gateResult{then: thenAuto}
	for _, rule := range d.settings.Rules {
		if !ruleMatches(rule, it, worker) {
			continue
		}
		g.then, g.reason = rule.Then, "rule"
		break
	}
	switch g.then {
	case thenDeny:
		g.detail = "a rule of the owner denies this claim"
		return g
	case thenLead:
		g.detail = "a rule of the owner leaves this claim to a lead; ask again later"
		return g
	}
	own, effort := core.NewScope(it), core.NewEffort()
	for _, o := range d.book.LiveLeases() {
		if o.ID() == it.ID() || !d.now.Before(o.Lease.Claim.ExpiresAtUTC) {
			continue
		}
		if p, s := own.OverlapsWithin(core.NewScope(o), effort); len(p)+len(s) > 0 {
			return gateResult{thenLead, "overlap", "the item shares paths or symbols with work in progress; a lead must grant it"}
		}
	}
	return g
}

// ruleMatches tells whether all conditions of a rule hold. For a rule that
// grants, its path must cover all owned paths; for one that holds back, it is
// enough that it has something in common with one of them.
func ruleMatches(r core.GrantRule, it *core.Item, worker string) bool {
	if r.WorkKind != "" && r.WorkKind != it.WorkItem.WorkKind ||
		r.Priority != "" && r.Priority != it.WorkItem.Priority ||
		r.Worker != "" && r.Worker != worker {
		return false
	}
	owned := it.WorkItem.OwnedPaths
	switch {
	case r.Path == "":
		return true
	case r.Then == thenAuto:
		outside := func(p string) bool { return !core.CoversPath(r.Path, p) }
		return len(owned) > 0 && !slices.ContainsFunc(owned, outside)
	}
	return slices.ContainsFunc(owned, func(p string) bool { return core.MatchPath(r.Path, p) })
}

// findIntent finds the request that a claim repeats: the one that led to the
// live claim, else the one that still waits, else the one with the same intent
// id, else, where no id is given, the last one of the same worker.
func findIntent(it *core.Item, intentID, worker string) *core.Intent {
	var live, waiting, same, last *core.Intent
	for i := range it.Intents {
		in := &it.Intents[i]
		if in.ClaimIntent.WorkerAgentUID != worker {
			continue
		}
		last = in
		switch {
		case it.Lease != nil && in.ClaimID == it.Lease.Claim.ClaimID:
			live = in
		case in.State == core.IntentWaiting:
			waiting = in
		case in.ClaimIntent.ClaimIntentID == intentID:
			same = in
		}
	}
	if intentID != "" {
		last = nil
	}
	return cmp.Or(live, waiting, same, last)
}

// waitForLead keeps the wish for a lead to decide and tells the worker so.
func waitForLead(d *desk, dr *draft, intent *core.Intent, wish core.ClaimIntent, g gateResult) (*verdict, *core.Error) {
	refuse := gateBlocked(5, g.detail).With("work_item_id", dr.item.ID()).With("reason", g.reason)
	if intent != nil && intent.State == core.IntentWaiting {
		return nil, refuse.With("claim_intent_id", intent.ClaimIntent.ClaimIntentID)
	}
	if wish.ClaimIntentID == "" || intentKnown(dr.item, wish.ClaimIntentID) {
		wish.ClaimIntentID = d.newID("intent")
	}
	in := core.Intent{ClaimIntent: wish, State: core.IntentWaiting, ExpiresUTC: d.now.Add(d.policy.IntentTTL), Reason: g.reason}
	dr.item.Intents = append(dr.item.Intents, in)
	dr.note(core.Event{Family: core.FamilyClaimIntent, Verb: string(core.VerbIntent), Reason: g.reason, Intent: &in,
		OnBehalfOf: other(wish.WorkerAgentUID, d.caller.Identity)})
	v, refused := one(dr, answer{})
	if refused != nil {
		return nil, refused
	}
	v.refuse = refuse.With("claim_intent_id", wish.ClaimIntentID)
	return v, nil
}

func intentKnown(it *core.Item, id string) bool {
	for _, in := range it.Intents {
		if in.ClaimIntent.ClaimIntentID == id {
			return true
		}
	}
	return false
}

// openIntent finds a waiting intent for a lead to decide.
func (d *desk) openIntent(r *request) (*draft, int, *core.Error) {
	notFound := core.Errorf(core.CodeIntentNotFound, "there is no claim intent with this id").With("claim_intent_id", r.IntentID)
	itemID, known := d.book.ItemOfIntent(r.IntentID)
	if !known {
		return nil, 0, notFound
	}
	stored, refused := d.find(itemID)
	if refused != nil {
		return nil, 0, notFound
	}
	if refused := d.lead(); refused != nil {
		return nil, 0, refused
	}
	if refused := r.seen(stored); refused != nil {
		return nil, 0, refused
	}
	dr := d.open(stored)
	for i, in := range dr.item.Intents {
		if in.ClaimIntent.ClaimIntentID != r.IntentID {
			continue
		}
		if in.State != core.IntentWaiting {
			return nil, 0, core.Errorf(core.CodeNotActionable, "this request is already %s", in.State).
				With("claim_intent_id", r.IntentID).With("state", in.State).With("work_item_status", dr.item.Status())
		}
		return dr, i, nil
	}
	return nil, 0, notFound
}

// decideGrant lets a waiting request pass.
func decideGrant(d *desk, r *request) (*verdict, *core.Error) {
	dr, i, refused := d.openIntent(r)
	if refused != nil {
		return nil, refused
	}
	if dr.item.Lease != nil {
		return nil, conflict(d, dr.item)
	}
	if dr.item.Status() != core.StatusReady {
		return nil, refusal(dr.item, "claimed")
	}
	wish := dr.item.Intents[i].ClaimIntent
	if g := d.gate(dr.item, wish.WorkerAgentUID); g.then == thenDeny {
		return nil, g.refusal(dr.item.ID())
	}
	if r.TTLSeconds > 0 {
		wish.RequestedTTLSeconds = r.TTLSeconds
	}
	c := dr.grant(wish, core.VerbGrant)
	a := okGrant(c, dr.item)
	a.status = http.StatusOK
	in := dr.item.Intents[i]
	a.Intent = &in
	return one(dr, a)
}

// decideDeny turns a waiting request down, with a reason for the worker.
func decideDeny(d *desk, r *request) (*verdict, *core.Error) {
	dr, i, refused := d.openIntent(r)
	if refused != nil {
		return nil, refused
	}
	in := dr.item.Intents[i]
	in.State, in.DecidedBy, in.DecidedUTC, in.Reason = core.IntentDenied, d.caller.Identity, d.now, r.Reason
	dr.item.Intents[i] = in
	dr.note(core.Event{Family: core.FamilyClaimIntent, Verb: string(core.VerbDeny), Reason: r.Reason, Intent: &in,
		OnBehalfOf: other(in.ClaimIntent.WorkerAgentUID, d.caller.Identity)})
	a := ok(http.StatusOK)
	a.Intent, a.WorkItemStatus = &in, dr.item.Status()
	return one(dr, a)
}

// decideSettings changes the owner's policies at run time.
func decideSettings(d *desk, r *request) (*verdict, *core.Error) {
	if refused := d.lead(); refused != nil {
		return nil, refused
	}
	if r.IfRevision != 0 && r.IfRevision != d.settings.Revision {
		return nil, core.Errorf(core.CodeRevisionMismatch, "the settings have changed since revision %d", r.IfRevision).
			With("current_revision", d.settings.Revision).With("current", d.settings)
	}
	next, c := d.settings, r.Settings
	next.Revision = 0 // the log will tell; the old one would be a lie
	if c.GrantMode != nil {
		next.GrantMode = *c.GrantMode
	}
	if c.Rules != nil {
		next.Rules = c.Rules
	}
	if c.Frozen != nil {
		next.Frozen, next.FrozenReason, next.FrozenBy = *c.Frozen, "", ""
		if next.Frozen {
			next.FrozenReason, next.FrozenBy = c.Reason, d.caller.Identity
		}
	}
	a := ok(http.StatusOK)
	a.Settings = &next
	return &verdict{changes: settingsChange(d, next, c.Reason), answer: a}, nil
}
