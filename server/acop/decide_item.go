package acop

import (
	"cmp"
	"net/http"
	"slices"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

func settingsChange(d *desk, next core.Settings, reason string) []store.Change {
	return []store.Change{{Expected: d.settings.Revision, Record: store.Record{
		ProtocolVersion: core.ProtocolVersion, Kind: store.KindSettings, ID: "settings", AtUTC: d.now, Settings: &next,
		Events: []core.Event{{Family: core.FamilySettings, AtUTC: d.now, Actor: d.caller.Identity, Verb: string(core.VerbSettings), Reason: reason}},
	}}}
}

// openItem opens an item for an act that the creator or a lead may do.
func (d *desk) openItem(r *request, may func(*core.Item) *core.Error) (*draft, *core.Error) {
	stored, refused := d.find(r.WorkItemID)
	if refused != nil {
		return nil, refused
	}
	if refused := may(stored); refused != nil {
		return nil, refused
	}
	if refused := r.seen(stored); refused != nil {
		return nil, refused
	}
	return d.open(stored), nil
}

func (d *desk) leadOnly(*core.Item) *core.Error { return d.lead() }

// decideAccept takes completed work over and frees what waited for it
// (H-051..H-055, D-23, D-24).
func decideAccept(d *desk, r *request) (*verdict, *core.Error) {
	acceptor, refused := d.actsAs(r.Worker)
	if refused != nil {
		return nil, refused
	}
	dr, refused := d.openItem(r, func(*core.Item) *core.Error { return nil })
	if refused != nil {
		return nil, refused
	}
	if dr.item.Status() != core.StatusCompleted {
		return nil, refusal(dr.item, "accepted")
	}
	if c := dr.item.Completion; c != nil && c.CompletedBy == acceptor && (!d.policy.AllowSelfAcceptance || r.strictSelf) {
		return nil, core.Errorf(core.CodeForbidden, "who completed the work cannot accept it").
			With("reason", "self_acceptance").With("work_item_id", dr.item.ID())
	}
	dr.item.Acceptance = &core.Acceptance{AcceptedBy: acceptor, AcceptedAtUTC: d.now, Notes: r.Reason}
	behalf := other(acceptor, d.caller.Identity)
	dr.move(core.StatusAccepted, core.Event{Family: core.FamilyCompletionNotice, Verb: string(core.VerbAccept), Reason: r.Reason, OnBehalfOf: behalf})
	if d.policy.AcceptMode == AcceptAndConsume || r.consume {
		dr.move(core.StatusConsumed, core.Event{Family: core.FamilyCompletionNotice, Verb: string(core.VerbConsume), OnBehalfOf: behalf})
	}
	v, refused := one(dr, okItem(dr.item))
	if refused != nil {
		return nil, refused
	}
	freed, released := d.free(dr.item.ID())
	v.changes = append(v.changes, freed...)
	v.answer.Released = released
	return v, nil
}

// mostFreed is how many items are freed in one act, beside the one that is
// accepted. The rest follows before the answer is given, or where the time does not
// suffice with the next sweep or the next start ([service.followUp], [service.freeAll]).
const mostFreed = store.MaxRecords - 1

// free resolves the dependency blockers that point at an accepted item and
// names the items that become ready by it (C-025, H-055).
func (d *desk) free(id string) (changes []store.Change, released []string) {
	released = []string{}
	for _, dep := range d.book.Dependents(id) {
		stored, known := d.book.Item(dep)
		if !known || stored.Status().Terminal() || dep == id {
			continue
		}
		dr := d.open(stored)
		before := len(dr.item.Blockers)
		dr.item.Blockers = slices.DeleteFunc(dr.item.Blockers, func(b core.Blocker) bool {
			return b.BlockerCode == core.BlockerDependency && b.DependsOnWorkItemID == id
		})
		if len(dr.item.Blockers) == before {
			continue
		}
		e := core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbAccept), Reason: "what it waited for was accepted"}
		if dr.item.Status() == core.StatusBlocked && len(dr.item.Blockers) == 0 {
			dr.move(core.StatusReady, e)
			released = append(released, dep)
		} else {
			dr.note(e)
		}
		if len(changes) < mostFreed {
			changes = append(changes, dr.change())
		}
	}
	return changes, released
}

// decideConsume closes accepted work (D-23).
func decideConsume(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, func(it *core.Item) *core.Error {
		if it.Acceptance != nil && it.Acceptance.AcceptedBy == d.caller.Identity {
			return nil
		}
		return d.lead()
	})
	if refused != nil {
		return nil, refused
	}
	st := dr.item.Status()
	if st != core.StatusAccepted && (st != core.StatusCompleted || !d.policy.ConsumeCompleted) {
		return nil, refusal(dr.item, "consumed")
	}
	dr.move(core.StatusConsumed, core.Event{Family: core.FamilyCompletionNotice, Verb: string(core.VerbConsume), Reason: r.Reason})
	return one(dr, okItem(dr.item))
}

// decideCancel ends an item for good; its live claim is revoked with it (D-33).
func decideCancel(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, d.creatorOrLead)
	if refused != nil {
		return nil, refused
	}
	if dr.item.Status().Terminal() {
		return nil, refusal(dr.item, "cancelled")
	}
	return closeItem(dr, core.StatusCancelled, core.Event{Family: core.FamilyWorkUpdate, Verb: string(core.VerbCancel), Reason: r.Reason})
}

// closeItem moves an item to cancelled or superseded.
func closeItem(dr *draft, to core.Status, e core.Event) (*verdict, *core.Error) {
	revoked := dr.revokeForGood()
	if revoked != nil {
		e.ClaimID, e.Claim = revoked.ClaimID, revoked
	}
	dr.move(to, e)
	dr.withdrawIntents("the item is " + string(to))
	a := okItem(dr.item)
	a.RevokedClaim = revoked
	return one(dr, a)
}

// decideSupersede replaces an item by one that exists already (D-33, D-34).
func decideSupersede(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, d.creatorOrLead)
	if refused != nil {
		return nil, refused
	}
	if r.SupersededBy == r.WorkItemID {
		return nil, core.Errorf(core.CodeSchemaViolation, "an item cannot supersede itself")
	}
	if _, refused := d.find(r.SupersededBy); refused != nil {
		return nil, refused
	}
	if dr.item.Status().Terminal() {
		return nil, refusal(dr.item, "superseded")
	}
	if d.leadsTo(r.SupersededBy, r.WorkItemID) {
		return nil, core.Errorf(core.CodeItemSuperseded, "the successor was itself superseded by this item").
			With("work_item_id", r.SupersededBy).With("superseded_by_work_item_id", r.WorkItemID)
	}
	dr.item.SupersededBy = r.SupersededBy
	return closeItem(dr, core.StatusSuperseded, core.Event{Family: core.FamilySupersessionNotice, Verb: string(core.VerbSupersede), Reason: r.Reason})
}

// leadsTo tells whether who follows the successors of an item comes to another
// one: such a follower would go in a circle (D-34).
func (d *desk) leadsTo(from, to string) bool {
	for seen := map[string]bool{}; from != "" && !seen[from]; {
		if from == to {
			return true
		}
		seen[from] = true
		it, known := d.book.Item(from)
		if !known {
			return false
		}
		from = it.SupersededBy
	}
	return false
}

// decideSendBack replaces completed work by a new item that says what is
// missing (D-35): new item, reason as its first entry, old item superseded, all
// in one act.
func decideSendBack(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, d.leadOnly)
	if refused != nil {
		return nil, refused
	}
	if st := dr.item.Status(); st != core.StatusCompleted && st != core.StatusAccepted {
		return nil, refusal(dr.item, "sent back")
	}
	next := d.successor(dr.item, cmp.Or(r.WorkKind, core.KindRepair))
	next.note(core.Event{Family: core.FamilyWorkOffer, Verb: string(core.VerbSendBack), To: core.StatusReady, Reason: r.Reason})
	entry := d.decision(next.item.ID(), r.Reason)
	dr.item.SupersededBy = next.item.ID()
	dr.move(core.StatusSuperseded, core.Event{Family: core.FamilySupersessionNotice, Verb: string(core.VerbSendBack), Reason: r.Reason})
	if dr.err != nil {
		return nil, dr.err
	}
	a := okItem(next.item)
	a.status = http.StatusCreated
	old := dr.item.WorkItem
	a.Superseded, a.Entry = &old, &entry
	return &verdict{
		changes: []store.Change{next.change(), d.entryChange(entry, core.VerbSendBack), dr.change()},
		answer:  a,
	}, nil
}

// successor is the item that takes over from one that was sent back.
func (d *desk) successor(old *core.Item, kind core.WorkKind) *draft {
	it := old.Clone()
	it.WorkItem.WorkItemID, it.WorkItem.CorrelationID = d.newID("work"), old.ID()
	it.WorkItem.WorkKind, it.WorkItem.CreatedAtUTC, it.WorkItem.Producer = kind, d.now, d.caller.Identity
	it.WorkItem.Status, it.SubmittedStatus, it.StatusSinceUTC = core.StatusReady, core.StatusReady, d.now
	it.Blockers, it.Intents, it.Lease, it.Completion, it.Acceptance = nil, nil, nil, nil, nil
	it.LastClaim = nil
	it.SupersededBy, it.CreatedBy, it.Attempts, it.Revision = "", d.caller.Identity, 0, 0
	return &draft{d: d, item: it}
}

// decision is a blackboard entry with what a lead decided.
func (d *desk) decision(itemID, text string) core.BlackboardEntry {
	return core.BlackboardEntry{
		EntryID: d.newID("entry"), WorkItemID: itemID, EntryKind: core.EntryDecision, AuthorAgentUID: d.caller.Identity,
		CreatedAtUTC: d.now, Status: core.EntryActive, Summary: text,
	}
}

// decideBlock raises a blocker. On a held item it is recorded and takes effect
// when the claim ends (D-29).
func decideBlock(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, func(it *core.Item) *core.Error {
		if it.Holder() == d.caller.Identity {
			return nil
		}
		return d.creatorOrLead(it)
	})
	if refused != nil {
		return nil, refused
	}
	e := core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbBlock), Reason: cmp.Or(r.Reason, r.Blocker.Summary)}
	b := d.followed(r.WorkItemID, []core.Blocker{*r.Blocker})[0]
	if d.met(b) && blockable(dr.item.Status()) { // nobody waits for it; what else blocks the item still does
		e.Reason = reasonMet
		dr.note(e)
		a := okItem(dr.item)
		a.Blockers = some(dr.item.Blockers)
		return one(dr, a)
	}
	open := slices.Clone(dr.item.Blockers)
	dr.item.Blockers = slices.DeleteFunc(dr.item.Blockers, func(o core.Blocker) bool {
		return sameWait(o, b)
	})
	dr.item.Blockers = append(dr.item.Blockers, b)
	switch st := dr.item.Status(); {
	case st == core.StatusReady:
		dr.move(core.StatusBlocked, e)
	case blockable(st):
		dr.note(e)
	default:
		return nil, refusal(dr.item, "blocked")
	}
	if refused := d.closesCircle(dr.item, open); refused != nil {
		return nil, refused
	}
	a := okItem(dr.item)
	a.Blockers = some(dr.item.Blockers)
	return one(dr, a)
}

// blockable tells whether a blocker can be raised on an item in this status.
func blockable(s core.Status) bool {
	return s == core.StatusReady || s == core.StatusBlocked || s == core.StatusClaimed || s == core.StatusInProgress
}

// decideUnblock resolves a blocker; with the last one the item becomes ready.
func decideUnblock(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, d.creatorOrLead)
	if refused != nil {
		return nil, refused
	}
	before := len(dr.item.Blockers)
	dr.item.Blockers = slices.DeleteFunc(dr.item.Blockers, func(b core.Blocker) bool { return b.BlockerCode == r.BlockerCode })
	if dr.item.Status().Terminal() || len(dr.item.Blockers) == before {
		e := refusal(dr.item, "unblocked")
		e.Message = "the work item has no open blocker with this code"
		return nil, e
	}
	if r.BlockerCode == core.BlockerAttemptsExhausted {
		dr.item.Attempts = 0
	}
	e := core.Event{Family: core.FamilyBlockerUpdate, Verb: string(core.VerbUnblock), Reason: r.Reason}
	if dr.item.Status() == core.StatusBlocked && len(dr.item.Blockers) == 0 {
		dr.move(core.StatusReady, e)
	} else {
		dr.note(e)
	}
	a := okItem(dr.item)
	a.Blockers = some(dr.item.Blockers)
	return one(dr, a)
}

// decideResolve is a lead's decision on an item that asks for one; the note is
// posted with it (H-094). A blocked item can be made ready the same way.
func decideResolve(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, d.leadOnly)
	if refused != nil {
		return nil, refused
	}
	st := dr.item.Status()
	if st != core.StatusRequiresAttention && (st != core.StatusBlocked || r.Decision != core.StatusReady) {
		return nil, refusal(dr.item, "resolved")
	}
	before := slices.Clone(dr.item.Blockers)
	switch {
	case r.Decision == core.StatusReady:
		dr.item.Blockers, dr.item.Attempts = nil, 0
	case r.Blocker != nil:
		dr.item.Blockers = append(dr.item.Blockers, *r.Blocker)
	}
	dr.move(r.Decision, core.Event{Family: core.FamilyWorkUpdate, Verb: string(core.VerbResolve), Reason: r.Reason})
	dr.settleBlockers()
	if refused := d.closesCircle(dr.item, before); refused != nil {
		return nil, refused
	}
	if dr.err != nil {
		return nil, dr.err
	}
	entry := d.decision(dr.item.ID(), r.Reason)
	a := okItem(dr.item)
	a.Blockers, a.Entry = some(dr.item.Blockers), &entry
	return &verdict{changes: []store.Change{dr.change(), d.entryChange(entry, core.VerbResolve)}, answer: a}, nil
}

// decideRequeue puts a released item back on offer (D-30).
func decideRequeue(d *desk, r *request) (*verdict, *core.Error) {
	dr, refused := d.openItem(r, d.creatorOrLead)
	if refused != nil {
		return nil, refused
	}
	if dr.item.Status() != core.StatusReleased {
		return nil, refusal(dr.item, "requeued")
	}
	dr.move(core.StatusReady, core.Event{Family: core.FamilyWorkOffer, Verb: string(core.VerbRequeue), Reason: r.Reason})
	dr.blockAgain("")
	return one(dr, okItem(dr.item))
}
