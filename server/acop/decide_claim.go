package acop

import (
	"net/http"
	"time"

	core "signalbox/model/acop"
)

// maxScope bounds the scope of a claim in bytes. It stays with the item, once for
// each request that waits or was decided within a day, and those must leave room
// in the item's record for writing down how they end.
const maxScope = 16 << 10

// decideClaim grants an item to a worker (H-020..H-029, D-48, D-58).
func decideClaim(d *desk, r *request) (*verdict, *core.Error) {
	if len(r.Scope) > maxScope {
		return nil, violation("scope has %d bytes; at most %d are kept", len(r.Scope), maxScope)
	}
	worker, refused := d.actsAs(r.Worker)
	if refused != nil {
		return nil, refused
	}
	stored, refused := d.find(r.WorkItemID)
	if refused != nil {
		return nil, refused
	}
	if d.caller.Role == core.RoleProducer {
		return nil, core.Errorf(core.CodeForbidden, "a producer offers work but does not hold it").With("reason", "role")
	}
	if refused := r.seen(stored); refused != nil {
		return nil, refused
	}
	if id, ok := d.book.ItemOfIntent(r.IntentID); r.IntentID != "" && ok && id != stored.ID() {
		return nil, core.Errorf(core.CodeItemConflict, "this claim_intent_id already names a request for another work item")
	}
	dr := d.open(stored)
	intent := findIntent(dr.item, r.IntentID, worker)
	if dr.item.Lease != nil {
		return claimHeld(d, dr, intent, worker)
	}
	if dr.item.Status() != core.StatusReady {
		return nil, refusal(dr.item, "claimed")
	}
	if intent != nil && intent.State == core.IntentDenied && !d.caller.Role.LeadVerbs() {
		return nil, gateBlocked(60, "a lead denied this request: "+intent.Reason).
			With("work_item_id", stored.ID()).With("claim_intent_id", intent.ClaimIntent.ClaimIntentID).
			With("reason", "denied").With("denied_by", intent.DecidedBy)
	}
	wish := core.ClaimIntent{
		ClaimIntentID: r.IntentID, WorkItemID: stored.ID(), WorkerAgentUID: worker,
		RequestedAtUTC: r.requestedAt, RequestedTTLSeconds: r.TTLSeconds, Scope: r.Scope,
	}
	if wish.RequestedAtUTC.IsZero() {
		wish.RequestedAtUTC = d.now
	}
	switch g := d.gate(dr.item, worker); g.then {
	case thenDeny:
		return nil, g.refusal(stored.ID())
	case thenLead:
		return waitForLead(d, dr, intent, wish, g)
	}
	if wish.ClaimIntentID == "" {
		wish.ClaimIntentID = d.newID("intent")
	}
	dr.why = r.Reason
	c := dr.grant(wish, core.VerbClaim)
	return one(dr, okGrant(c, dr.item))
}

// claimHeld answers a claim on an item that somebody holds. A worker whose own
// request a lead has granted meanwhile gets that claim.
func claimHeld(d *desk, dr *draft, intent *core.Intent, worker string) (*verdict, *core.Error) {
	c := dr.item.Lease.Claim
	if intent != nil && intent.State == core.IntentGranted && intent.ClaimID == c.ClaimID && c.WorkerAgentUID == worker {
		return same(okGrant(c, dr.item))
	}
	return nil, conflict(d, dr.item)
}

func conflict(d *desk, it *core.Item) *core.Error {
	c := it.Lease.Claim
	e := core.Errorf(core.CodeClaimConflict, "the work item is held by an active claim").
		With("work_item_id", it.ID()).With("current_claim_id", c.ClaimID).
		With("current_worker_agent_uid", c.WorkerAgentUID).With("expires_at_utc", c.ExpiresAtUTC)
	e.RetryAfterSeconds = secondsLeft(c.ExpiresAtUTC, d.now)
	return e
}

func okGrant(c core.Claim, it *core.Item) answer {
	a := okClaim(http.StatusCreated, c, it)
	a.claimID = c.ClaimID
	return a
}

// grant makes the claim that a wish asked for.
func (dr *draft) grant(wish core.ClaimIntent, verb core.Verb) core.Claim {
	d, ttl := dr.d, dr.d.clampTTL(wish.RequestedTTLSeconds)
	c := core.Claim{
		ClaimID: d.newID("claim"), WorkItemID: dr.item.ID(), WorkerAgentUID: wish.WorkerAgentUID,
		GrantedAtUTC: d.now, ExpiresAtUTC: d.now.Add(time.Duration(ttl) * time.Second), ClaimStatus: core.ClaimActive,
	}
	by := other(d.caller.Identity, wish.WorkerAgentUID)
	dr.item.Lease = &core.Lease{Claim: c, Scope: wish.Scope, TTLSeconds: ttl, GrantedBy: by}
	granted := core.Intent{ClaimIntent: wish, State: core.IntentGranted, DecidedBy: d.caller.Identity, DecidedUTC: d.now, ClaimID: c.ClaimID}
	for i, in := range dr.item.Intents {
		if in.State == core.IntentWaiting && in.ClaimIntent.WorkerAgentUID == wish.WorkerAgentUID {
			in.State, in.DecidedBy, in.DecidedUTC, in.ClaimID = core.IntentGranted, d.caller.Identity, d.now, c.ClaimID
			dr.item.Intents[i] = in
			granted = in
		}
	}
	e := core.Event{Family: core.FamilyClaimGrant, Verb: string(verb), ClaimID: c.ClaimID, Claim: &c, Intent: &granted, Reason: dr.why}
	if by != "" {
		e.OnBehalfOf = wish.WorkerAgentUID
	}
	dr.move(core.StatusClaimed, e)
	return c
}

// claimAct opens the item of a claim for its holder or somebody who may act
// for it: existence, then ownership, then time (D-38 steps 3 to 5). The claim
// is as it stands now, ended by time alone included.
func (d *desk) claimAct(r *request) (*draft, core.Claim, *core.Error) {
	as, refused := d.actsAs(r.Worker)
	if refused != nil {
		return nil, core.Claim{}, refused
	}
	c, refused := d.findClaim(r.ClaimID)
	if refused != nil {
		return nil, c, refused
	}
	ownName := as == d.caller.Identity && d.caller.Role.LeadVerbs()
	if as != c.WorkerAgentUID && !ownName {
		return nil, c, core.Errorf(core.CodeUnauthorizedWorker, "this claim belongs to another worker").With("claim_id", c.ClaimID)
	}
	return d.openClaim(r, c)
}

func (d *desk) findClaim(id string) (core.Claim, *core.Error) {
	c, found := d.book.Claim(id)
	if !found {
		return c, core.Errorf(core.CodeClaimNotFound, "there is no claim with this id").With("claim_id", id)
	}
	return c, nil
}

func (d *desk) openClaim(r *request, c core.Claim) (*draft, core.Claim, *core.Error) {
	stored, refused := d.find(c.WorkItemID)
	if refused != nil {
		return nil, c, refused
	}
	if refused := r.seen(stored); refused != nil {
		return nil, c, refused
	}
	dr := d.open(stored)
	switch l := dr.item.Lease; {
	case l != nil && l.Claim.ClaimID == c.ClaimID:
		c = l.Claim
	case dr.ended != nil && dr.ended.ClaimID == c.ClaimID:
		c = *dr.ended
	default:
		// It ended between the two reads: what is stored now is final.
		c, _ = d.book.Claim(c.ClaimID)
	}
	return dr, c, nil
}

// closed is the refusal for a claim that is no longer active, or nil.
func closed(c core.Claim, it *core.Item) *core.Error {
	code := core.ClaimRefusalCode(c.ClaimStatus)
	var e *core.Error
	switch code {
	case "":
		return nil
	case core.CodeClaimReleased:
		e = core.Errorf(code, "the claim was released; claim the item again to go on")
	case core.CodeClaimRevoked:
		e = core.Errorf(code, "the claim was revoked; stop working on it")
	default:
		e = core.Errorf(code, "the lease ended at %s; claim the item again to go on", c.ExpiresAtUTC)
	}
	e.With("claim_id", c.ClaimID).With("work_item_id", c.WorkItemID).With("work_item_status", it.Status())
	if it.SupersededBy != "" {
		e.With("superseded_by_work_item_id", it.SupersededBy)
	}
	return e
}

// decideRenew prolongs a lease; it never shortens one (H-030..H-033, D-55).
func decideRenew(d *desk, r *request) (*verdict, *core.Error) {
	dr, c, refused := d.claimAct(r)
	if refused != nil {
		return nil, refused
	}
	if refused := closed(c, dr.item); refused != nil {
		return nil, refused
	}
	l := dr.item.Lease
	ttl := r.TTLSeconds
	if ttl == 0 {
		ttl = l.TTLSeconds
	}
	ttl = d.clampTTL(ttl)
	if until := d.now.Add(time.Duration(ttl) * time.Second); l.Claim.ExpiresAtUTC.Before(until) {
		l.Claim.ExpiresAtUTC = until
	}
	l.TTLSeconds, l.RenewedAtUTC = ttl, d.now
	l.Renewals++
	if r.Reason != "" {
		l.Progress, l.ProgressAtUTC = r.Reason, d.now
	}
	c = l.Claim
	dr.started(core.Event{Family: core.FamilyClaimGrant, Verb: string(core.VerbRenew), ClaimID: c.ClaimID, Claim: &c,
		Reason: r.Reason, OnBehalfOf: other(c.WorkerAgentUID, d.caller.Identity)})
	return one(dr, okClaim(http.StatusOK, c, dr.item))
}

// decideHeartbeat stores a sign of life; the term stays as it is (C-046..C-048).
func decideHeartbeat(d *desk, r *request) (*verdict, *core.Error) {
	dr, c, refused := d.claimAct(r)
	if refused != nil {
		return nil, refused
	}
	if refused := closed(c, dr.item); refused != nil {
		return nil, refused
	}
	hb := core.LeaseHeartbeat{ClaimID: c.ClaimID, ObservedAtUTC: r.observedAt, ProgressStatus: r.progressStatus, ProgressSummary: r.Reason}
	if hb.ObservedAtUTC.IsZero() {
		hb.ObservedAtUTC = d.now
	}
	l := dr.item.Lease
	l.LastHeartbeat, l.HeartbeatAtUTC = &hb, d.now
	if r.Reason != "" {
		l.Progress, l.ProgressAtUTC = r.Reason, d.now
	}
	dr.started(core.Event{Family: core.FamilyLeaseHeartbeat, Verb: string(core.VerbHeartbeat), ClaimID: c.ClaimID, Claim: &c,
		Reason: r.Reason, Heartbeat: &hb, OnBehalfOf: other(c.WorkerAgentUID, d.caller.Identity)})
	return one(dr, okClaim(http.StatusOK, c, dr.item))
}

// decideRelease gives a claim back; doing it again is no error (H-035..H-039).
func decideRelease(d *desk, r *request) (*verdict, *core.Error) {
	dr, c, refused := d.claimAct(r)
	if refused != nil {
		return nil, refused
	}
	if c.ClaimStatus == core.ClaimReleased {
		return same(okClaim(http.StatusOK, c, dr.item))
	}
	if refused := closed(c, dr.item); refused != nil {
		return nil, refused
	}
	to := core.StatusReady
	if d.policy.HoldOnRelease {
		to = core.StatusReleased
	}
	dr.item.Attempts = 0
	dr.endClaim(core.ClaimReleased, to, core.Event{Family: core.FamilyClaimRelease, Verb: string(core.VerbRelease), Reason: r.Reason})
	return one(dr, okClaim(http.StatusOK, *dr.ended, dr.item))
}

// decideComplete takes the holder's word that the work is done, with evidence
// for every declared requirement (H-040..H-044, C-030, D-31, D-52).
func decideComplete(d *desk, r *request) (*verdict, *core.Error) {
	dr, c, refused := d.claimAct(r)
	if refused != nil {
		return nil, refused
	}
	if refused := closed(c, dr.item); refused != nil {
		return nil, refused
	}
	var ev core.CompletionEvidence
	if r.Evidence != nil {
		ev = *r.Evidence
	}
	ev.ValidationResults, ev.ArtifactIDs = some(ev.ValidationResults), some(ev.ArtifactIDs)
	if missing := dr.item.MissingEvidence(ev); len(missing) > 0 {
		return nil, core.Errorf(core.CodeValidationRequired, "evidence is missing for %d of the declared requirements; the claim stays active", len(missing)).
			With("work_item_id", dr.item.ID()).With("missing_requirement_ids", missing)
	}
	behalf := other(c.WorkerAgentUID, d.caller.Identity)
	if dr.item.Status() == core.StatusClaimed {
		dr.move(core.StatusInProgress, core.Event{Family: core.FamilyWorkUpdate, Verb: string(core.VerbComplete), ClaimID: c.ClaimID, OnBehalfOf: behalf})
	}
	dr.item.Completion = &core.Completion{CompletedBy: c.WorkerAgentUID, ClaimID: c.ClaimID, CompletedAtUTC: d.now, Evidence: ev}
	dr.item.Attempts = 0
	dr.endClaim(core.ClaimReleased, core.StatusCompleted, core.Event{Family: core.FamilyCompletionNotice, Verb: string(core.VerbComplete), Reason: r.Reason})
	dr.withdrawIntents("the work is completed")
	return one(dr, okClaim(http.StatusOK, *dr.ended, dr.item))
}

// decideRevoke takes a claim away from its holder (D-32).
func decideRevoke(d *desk, r *request) (*verdict, *core.Error) {
	c, refused := d.findClaim(r.ClaimID)
	if refused != nil {
		return nil, refused
	}
	if refused := d.lead(); refused != nil {
		return nil, refused
	}
	dr, c, refused := d.openClaim(r, c)
	if refused != nil {
		return nil, refused
	}
	if refused := closed(c, dr.item); refused != nil {
		return nil, refused
	}
	to := core.StatusReady
	if r.Disposition == core.StatusReleased {
		to = core.StatusReleased
	}
	dr.endClaim(core.ClaimRevoked, to, core.Event{Family: core.FamilyClaimRelease, Verb: string(core.VerbRevoke), Reason: r.Reason})
	return one(dr, okClaim(http.StatusOK, *dr.ended, dr.item))
}
