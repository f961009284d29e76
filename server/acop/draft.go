package acop

import (
	"slices"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// draft is the next state of one item while a decision is being made: the copy
// that may be changed, and the events that tell the change.
type draft struct {
	d        *desk
	item     *core.Item
	expected uint64
	ended    *core.Claim
	events   []core.Event
	err      *core.Error
	why      string // of the grant, if the caller said more than the record takes
}

// open starts a draft of a stored item. Whatever ended by time alone has ended
// in it already, so that no decision depends on the sweeper (H-081).
func (d *desk) open(it *core.Item) *draft {
	dr := &draft{d: d, item: it.Clone(), expected: it.Revision}
	dr.lapse()
	dr.settleBlockers()
	return dr
}

// lapse ends the lease and the waiting intents whose time is over.
func (dr *draft) lapse() {
	now := dr.d.now
	if l := dr.item.Lease; l != nil && !now.Before(l.Claim.ExpiresAtUTC) {
		dr.item.Attempts++
		dr.endClaim(core.ClaimExpired, core.StatusReady, core.Event{
			Family: core.FamilyClaimRelease, Verb: string(core.VerbExpire), Actor: ownerActor,
			Reason: "the lease ended without renewal",
		})
		dr.limitAttempts()
	}
	for i, in := range dr.item.Intents {
		if in.State == core.IntentWaiting && !in.ExpiresUTC.IsZero() && !now.Before(in.ExpiresUTC) {
			in.State, in.DecidedUTC, in.DecidedBy = core.IntentExpired, now, ownerActor
			dr.item.Intents[i] = in
			dr.note(core.Event{Family: core.FamilyClaimIntent, Verb: string(core.VerbIntentGone), Actor: ownerActor,
				Reason: "nobody decided in time", Intent: &in})
		}
	}
}

// met tells whether a blocker waits for work that was accepted already.
func (d *desk) met(b core.Blocker) bool {
	if b.BlockerCode != core.BlockerDependency || b.DependsOnWorkItemID == "" {
		return false
	}
	it, known := d.book.Item(b.DependsOnWorkItemID)
	return known && (it.Status() == core.StatusAccepted || it.Status() == core.StatusConsumed)
}

// loose tells whether a blocker waits for work that was accepted or replaced
// already.
func (d *desk) loose(b core.Blocker) bool {
	id := b.DependsOn()
	return id != "" && (d.met(b) || d.latest(id) != id)
}

// latest follows an item over its successors to the one that stands for it now.
func (d *desk) latest(id string) string {
	for seen := map[string]bool{}; !seen[id]; {
		seen[id] = true
		it, known := d.book.Item(id)
		if !known || it.SupersededBy == "" {
			break
		}
		id = it.SupersededBy
	}
	return id
}

// followed is what the blockers of an item are once those that wait for replaced
// work wait for its successor: nobody accepts the old one any more. A wait that
// would lead back to the item stays as it is.
func (d *desk) followed(of string, blockers []core.Blocker) []core.Blocker {
	var out []core.Blocker
	for i, b := range blockers {
		id := b.DependsOn()
		if id == "" {
			continue
		}
		if next := d.latest(id); next != id && d.wayBack(of, []string{next}) == nil {
			if out == nil {
				out = slices.Clone(blockers)
			}
			out[i].DependsOnWorkItemID = next
		}
	}
	if out == nil {
		return blockers
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(b core.Blocker) bool { // two may have the same successor
		id := b.DependsOn()
		twice := id != "" && seen[id]
		seen[id] = true
		return twice
	})
}

// settleBlockers lets what waits for replaced work wait for its successor, and
// resolves blockers that wait for work accepted already. Nobody would do so
// later: acceptance frees only what waited for it by then.
func (dr *draft) settleBlockers() {
	if dr.item.Status().Terminal() || !slices.ContainsFunc(dr.item.Blockers, dr.d.loose) {
		return
	}
	if now := dr.d.followed(dr.item.ID(), dr.item.Blockers); !slices.EqualFunc(now, dr.item.Blockers, sameWait) {
		dr.item.Blockers = now
		dr.note(core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbBlock), Actor: ownerActor,
			Reason: "what it waited for was replaced; it waits for the successor"})
	}
	if !slices.ContainsFunc(dr.item.Blockers, dr.d.met) {
		return
	}
	dr.item.Blockers = slices.DeleteFunc(dr.item.Blockers, dr.d.met)
	dr.met(ownerActor)
}

// sameWait tells whether two blockers wait for the same.
func sameWait(a, b core.Blocker) bool {
	return a.BlockerCode == b.BlockerCode && a.DependsOnWorkItemID == b.DependsOnWorkItemID
}

// reasonMet tells why a blocker does not hold its item back.
const reasonMet = "what it waited for was accepted already"

// met tells that what the item waited for was accepted before, and frees it if
// nothing else holds it back.
func (dr *draft) met(actor string) {
	e := core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbUnblock), Actor: actor, Reason: reasonMet}
	if dr.item.Status() == core.StatusBlocked && len(dr.item.Blockers) == 0 {
		dr.move(core.StatusReady, e)
		return
	}
	dr.note(e)
}

// limitAttempts blocks an item that lost its worker too often in a row (B58).
// requires_attention cannot be reached from ready, so a blocker says it.
func (dr *draft) limitAttempts() {
	limit := dr.d.policy.AttemptsLimit
	if limit <= 0 || dr.item.Attempts < limit || dr.item.Status() == core.StatusBlocked {
		return
	}
	dr.item.Blockers = append(dr.item.Blockers, core.Blocker{
		BlockerCode: core.BlockerAttemptsExhausted, Severity: core.SeverityHigh,
		Summary:             "The lease of this item ran out several times in a row; whoever takes it may fail as well.",
		SuggestedResolution: "Look at what happened to its workers, then resolve the blocker.",
	})
	dr.move(core.StatusBlocked, core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbBlock), Actor: ownerActor,
		Reason: "too many leases ended without renewal"})
}

// note adds one event about the item and fills in what is the same for all.
func (dr *draft) note(e core.Event) {
	e.AtUTC, e.WorkItemID = dr.d.now, dr.item.ID()
	if e.Actor == "" {
		e.Actor = dr.d.caller.Identity
	}
	dr.events = append(dr.events, e)
}

// move changes the status if the state machine lists the transition.
func (dr *draft) move(to core.Status, e core.Event) {
	from := dr.item.Status()
	if !core.TransitionLevel(from, to).Allowed() {
		if dr.err == nil {
			dr.err = refusal(dr.item, string(to))
		}
		return
	}
	e.From, e.To = from, to
	dr.item.WorkItem.Status, dr.item.StatusSinceUTC = to, dr.d.now
	dr.note(e)
}

// endClaim ends the live claim for good and moves the item on. An item that
// becomes ready with open blockers goes on to blocked at once: two listed
// transitions instead of a forbidden one (D-29).
func (dr *draft) endClaim(how core.ClaimStatus, to core.Status, e core.Event) {
	c := dr.closeClaim(how)
	e.ClaimID, e.Claim = c.ClaimID, c
	if c.WorkerAgentUID != dr.d.caller.Identity && e.Actor == "" {
		e.OnBehalfOf = c.WorkerAgentUID
	}
	dr.move(to, e)
	dr.blockAgain(e.Actor)
}

// blockAgain moves a ready item with open blockers to blocked.
func (dr *draft) blockAgain(actor string) {
	if dr.item.Status() == core.StatusReady && len(dr.item.Blockers) > 0 {
		dr.move(core.StatusBlocked, core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbBlock), Actor: actor,
			Reason: "blockers are still open"})
	}
}

// revokeForGood ends a live claim together with its item (cancel, supersede);
// the event of the item itself tells it.
func (dr *draft) revokeForGood() *core.Claim {
	if dr.item.Lease == nil {
		return nil
	}
	return dr.closeClaim(core.ClaimRevoked)
}

// closeClaim takes the lease off the item. A claim ends once, and stays as it ended
// (C-064).
func (dr *draft) closeClaim(how core.ClaimStatus) *core.Claim {
	c := dr.item.Lease.Claim
	if !core.ClaimTransition(c.ClaimStatus, how).Allowed() && dr.err == nil {
		dr.err = core.Errorf(core.CodeInternal, "a claim that is %s cannot become %s", c.ClaimStatus, how)
	}
	c.ClaimStatus = how
	dr.ended, dr.item.Lease, dr.item.LastClaim = &c, nil, &c
	return &c
}

// withdrawIntents ends the waiting intents of an item that can no longer be
// claimed.
func (dr *draft) withdrawIntents(why string) {
	for i, in := range dr.item.Intents {
		if in.State != core.IntentWaiting {
			continue
		}
		in.State, in.DecidedUTC, in.DecidedBy, in.Reason = core.IntentWithdrawn, dr.d.now, ownerActor, why
		dr.item.Intents[i] = in
		dr.note(core.Event{Family: core.FamilyClaimIntent, Verb: string(core.VerbIntentGone), Actor: ownerActor, Reason: why, Intent: &in})
	}
}

// started moves a claimed item to in_progress with e, or just notes e.
func (dr *draft) started(e core.Event) {
	if dr.item.Status() == core.StatusClaimed {
		dr.move(core.StatusInProgress, e)
		return
	}
	dr.note(e)
}

// change turns the draft into what the log takes.
func (dr *draft) change() store.Change {
	it, now := dr.item, dr.d.now
	it.UpdatedAtUTC = now
	decided := 0
	for _, in := range it.Intents {
		if in.State != core.IntentWaiting {
			decided++
		}
	}
	it.Intents = slices.DeleteFunc(it.Intents, func(in core.Intent) bool {
		held := it.Lease != nil && in.ClaimID == it.Lease.Claim.ClaimID // its worker may ask again
		if held || in.State == core.IntentWaiting || now.Sub(in.DecidedUTC) <= intentsKept && decided <= mostIntents {
			return false
		}
		decided-- // the oldest stand in front
		return true
	})
	it.Blockers = some(it.Blockers)
	it.Operations = some(it.Operations)
	it.Artifacts = some(it.Artifacts)
	it.ValidationRequirements = some(it.ValidationRequirements)
	return store.Change{Expected: dr.expected, Record: store.Record{
		ProtocolVersion: core.ProtocolVersion, Kind: store.KindItem, ID: it.ID(), AtUTC: now,
		Item: it, Ended: dr.ended, Events: dr.events,
	}}
}

// entryChange is the record of a new blackboard entry; there is never a second.
func (d *desk) entryChange(e core.BlackboardEntry, verb core.Verb) store.Change {
	return store.Change{Record: store.Record{
		ProtocolVersion: core.ProtocolVersion, Kind: store.KindEntry, ID: e.EntryID, AtUTC: d.now, Entry: &e,
		Events: []core.Event{{Family: core.FamilyBlackboard, AtUTC: d.now, Actor: d.caller.Identity,
			OnBehalfOf: other(e.AuthorAgentUID, d.caller.Identity), Verb: string(verb), WorkItemID: e.WorkItemID}},
	}}
}

// some makes nil an empty list: on the wire a collection is never null.
func some[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// other is a if it differs from b, else "".
func other(a, b string) string {
	if a == b {
		return ""
	}
	return a
}
