package acop

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// decidePut stores a producer's word about an item: the first time as a new
// item, later merged into what is known (H-045..H-050, D-40, D-41, D-42).
func decidePut(d *desk, r *request) (*verdict, *core.Error) {
	doc := r.Document
	if doc.Claim != nil || doc.ClaimIntent != nil || doc.LeaseHeartbeat != nil {
		return nil, core.Errorf(core.CodeForbidden, "a producer does not own leases: claim, claim_intent and lease_heartbeat have no place here").
			With("reason", "lease_truth")
	}
	entries, refused := d.newEntries(doc)
	if refused != nil {
		return nil, refused
	}
	stored, known := d.book.Item(doc.WorkItem.WorkItemID)
	if !known {
		if r.IfRevision != 0 || r.ifAny {
			return nil, core.Errorf(core.CodeRevisionMismatch, "there is no work item with this id").With("current_revision", 0)
		}
		return putNew(d, r, entries)
	}
	if refused := r.seen(stored); refused != nil {
		return nil, refused
	}
	return putAgain(d, r, stored, entries)
}

// mostEntries is how many new entries fit into one act beside their item.
const mostEntries = store.MaxRecords - 1

// newEntries picks the entries of a document that are not stored yet (D-42). An
// entry that stands there twice is one.
func (d *desk) newEntries(doc *core.Document) ([]core.BlackboardEntry, *core.Error) {
	var fresh []core.BlackboardEntry
	here := make(map[string]core.BlackboardEntry, len(doc.BlackboardEntries))
	for _, e := range doc.BlackboardEntries {
		if _, refused := d.actsAs(e.AuthorAgentUID); refused != nil {
			return nil, refused
		}
		if e.WorkItemID != doc.WorkItem.WorkItemID {
			return nil, core.Errorf(core.CodeSchemaViolation, "a blackboard entry in the document belongs to another work item")
		}
		old, again := here[e.EntryID]
		if stored, known := d.book.Entry(e.EntryID); known {
			old, again = stored.Entry, true
		}
		switch {
		case !again:
			fresh = append(fresh, e)
			here[e.EntryID] = e
		case !sameEntry(old, e):
			return nil, entryExists(e.EntryID)
		}
	}
	if len(fresh) > mostEntries {
		return nil, violation("the document has %d new blackboard entries; at most %d can come with an item, post the others by themselves", len(fresh), mostEntries)
	}
	return fresh, nil
}

func putNew(d *desk, r *request, entries []core.BlackboardEntry) (*verdict, *core.Error) {
	doc := r.Document
	st := doc.WorkItem.Status
	if !core.CanStart(st) {
		return nil, core.Errorf(core.CodeNotActionable, "a new work item cannot start as %s; it starts as ready, blocked or requires_attention", st).
			With("work_item_id", doc.WorkItem.WorkItemID)
	}
	it := &core.Item{
		WorkItem: doc.WorkItem, Blockers: doc.Blockers, Operations: doc.Operations, Artifacts: doc.Artifacts,
		ValidationRequirements: doc.ValidationRequirements, CreatedBy: d.caller.Identity, SubmittedStatus: st, StatusSinceUTC: d.now,
	}
	it.WorkItem.ProtocolVersion = core.ProtocolVersion
	dr := &draft{d: d, item: it.Clone()}
	dr.note(core.Event{Family: core.FamilyWorkOffer, Verb: string(core.VerbPut), To: st, Reason: r.Reason})
	dr.settleBlockers()
	if refused := d.closesCircle(dr.item, nil); refused != nil {
		return nil, refused
	}
	return putDone(d, dr, http.StatusCreated, entries)
}

func putDone(d *desk, dr *draft, status int, entries []core.BlackboardEntry) (*verdict, *core.Error) {
	v := &verdict{}
	if len(dr.events) > 0 {
		v.changes = append(v.changes, dr.change())
	}
	for _, e := range entries {
		v.changes = append(v.changes, d.entryChange(e, core.VerbPut))
	}
	if dr.err != nil {
		return nil, dr.err
	}
	v.answer = okItem(dr.item)
	v.answer.status = status
	v.answer.Blockers, v.answer.Operations = some(dr.item.Blockers), some(dr.item.Operations)
	v.answer.Artifacts, v.answer.ValidationRequirements = some(dr.item.Artifacts), some(dr.item.ValidationRequirements)
	return v, nil
}

// putAgain merges a re-publish into the stored item.
func putAgain(d *desk, r *request, stored *core.Item, entries []core.BlackboardEntry) (*verdict, *core.Error) {
	doc, old := r.Document, stored.WorkItem
	if w := doc.WorkItem; w.WorkKind != old.WorkKind || w.Producer != old.Producer || !w.CreatedAtUTC.Equal(old.CreatedAtUTC) {
		return nil, core.Errorf(core.CodeItemConflict, "this id already names other work: work_kind, producer and created_at_utc never change").
			With("work_item_id", old.WorkItemID)
	}
	// A dependency that was accepted or replaced meanwhile stays so when the
	// producer publishes its document again.
	open := *doc
	open.Blockers = slices.DeleteFunc(slices.Clone(d.followed(old.WorkItemID, doc.Blockers)), d.met)
	met := len(open.Blockers) < len(doc.Blockers) && len(open.Blockers) == 0
	dr := d.open(stored)
	lapsed := len(dr.events)
	family := dr.merge(&open, r.present)
	asked := doc.WorkItem.Status
	moves := asked != stored.SubmittedStatus && asked != dr.item.Status()
	changed := family != "" || asked != stored.SubmittedStatus
	if !changed && len(entries) == 0 {
		return putDone(d, &draft{d: d, item: dr.item}, http.StatusOK, nil)
	}
	if dr.item.Status().Terminal() && changed {
		return nil, refusal(dr.item, "changed")
	}
	if changed {
		if refused := d.creatorOrLead(stored); refused != nil {
			return nil, refused
		}
	}
	if refused := d.closesCircle(dr.item, stored.Blockers); refused != nil {
		return nil, refused
	}
	dr.item.SubmittedStatus = asked
	if moves {
		if refused := d.putStatus(dr, asked); refused != nil {
			return nil, refused
		}
	}
	if met && dr.item.Status() == core.StatusBlocked {
		dr.met(ownerActor)
	}
	if changed && len(dr.events) == lapsed {
		if family == "" {
			family = core.FamilyWorkUpdate
		}
		dr.note(core.Event{Family: family, Verb: string(core.VerbPut), Reason: r.Reason})
	}
	return putDone(d, dr, http.StatusOK, entries)
}

// putStatus carries out a status that a producer asks for, if it is one that a
// producer may ask for (D-41).
func (d *desk) putStatus(dr *draft, to core.Status) *core.Error {
	from := dr.item.Status()
	e := core.Event{Family: core.FamilyWorkUpdate, Verb: string(core.VerbPut)}
	switch to {
	case core.StatusCancelled, core.StatusSuperseded:
		if to == core.StatusSuperseded {
			e.Family = core.FamilySupersessionNotice
		}
		if c := dr.revokeForGood(); c != nil {
			e.ClaimID, e.Claim = c.ClaimID, c
		}
		dr.move(to, e)
		dr.withdrawIntents("the item is " + string(to))
		return dr.err
	case core.StatusReady, core.StatusBlocked:
	default:
		return refusal(dr.item, string(to))
	}
	switch {
	case from == core.StatusRequiresAttention:
		if refused := d.lead(); refused != nil {
			return refused
		}
	case from == core.StatusReady || from == core.StatusBlocked:
		e.Family = core.FamilyBlockerUpdate
	case from == core.StatusReleased && to == core.StatusReady:
		e.Family = core.FamilyWorkOffer
	default:
		return refusal(dr.item, string(to))
	}
	dr.move(to, e)
	return dr.err
}

// merge takes over what the document says: absent members stay as they are,
// given ones replace, empty collections clear (D-40). It returns the family of
// the change, "" when there was none.
func (dr *draft) merge(doc *core.Document, present map[string]bool) core.Family {
	before := dr.item.Clone()
	mergeWorkItem(&dr.item.WorkItem, doc.WorkItem, present)
	replace(&dr.item.Blockers, doc.Blockers)
	replace(&dr.item.Operations, doc.Operations)
	replace(&dr.item.Artifacts, doc.Artifacts)
	replace(&dr.item.ValidationRequirements, doc.ValidationRequirements)
	var families []core.Family
	if !alike(before.WorkItem, dr.item.WorkItem) || !equal(before.Operations, dr.item.Operations) {
		families = append(families, core.FamilyWorkUpdate)
	}
	if !equal(before.Blockers, dr.item.Blockers) {
		families = append(families, core.FamilyBlockerUpdate)
	}
	if !equal(before.Artifacts, dr.item.Artifacts) {
		families = append(families, core.FamilyArtifactUpdate)
	}
	if !equal(before.ValidationRequirements, dr.item.ValidationRequirements) {
		families = append(families, core.FamilyValidationUpdate)
	}
	switch len(families) {
	case 0:
		return ""
	case 1:
		return families[0]
	}
	return core.FamilyWorkUpdate
}

// mergeWorkItem copies the members that a document gives. The status is none of
// them: it has its own rule.
func mergeWorkItem(dst *core.WorkItem, src core.WorkItem, present map[string]bool) {
	dst.Priority, dst.ActionabilityScore = src.Priority, src.ActionabilityScore
	text := func(name string, to *string, from string) {
		if present[name] || present == nil && from != "" {
			*to = from
		}
	}
	text("title", &dst.Title, src.Title)
	text("summary", &dst.Summary, src.Summary)
	text("target_repo_id", &dst.TargetRepoID, src.TargetRepoID)
	text("target_workspace_root", &dst.TargetWorkspaceRoot, src.TargetWorkspaceRoot)
	text("target_branch", &dst.TargetBranch, src.TargetBranch)
	text("target_worktree", &dst.TargetWorktree, src.TargetWorktree)
	text("source_handoff_id", &dst.SourceHandoffID, src.SourceHandoffID)
	text("correlation_id", &dst.CorrelationID, src.CorrelationID)
	text("target_agent_uid", &dst.TargetAgentUID, src.TargetAgentUID)
	replace(&dst.ParticipantAgentUIDs, src.ParticipantAgentUIDs)
	replace(&dst.OwnedPaths, src.OwnedPaths)
	replace(&dst.OwnedSymbols, src.OwnedSymbols)
}

func replace[T any](dst *[]T, src []T) {
	if src != nil {
		*dst = slices.Clone(src)
	}
}

// equal compares two collections; nil and empty are the same.
func equal[T any](a, b []T) bool { return alike(some(a), some(b)) }

// alike compares two records as they would be written: an absent list and an
// empty one are the same there.
func alike(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// decidePost appends an entry to the blackboard (H-056..H-060, D-45..D-47).
func decidePost(d *desk, r *request) (*verdict, *core.Error) {
	e := *r.Entry
	if _, refused := d.actsAs(e.AuthorAgentUID); refused != nil {
		return nil, refused
	}
	it, refused := d.find(e.WorkItemID)
	if refused != nil {
		return nil, refused
	}
	it = d.open(it).item
	if e.EntryID == "" {
		e.EntryID = d.newID("entry")
	}
	a := ok(http.StatusCreated)
	if old, known := d.book.Entry(e.EntryID); known {
		if !sameEntry(old.Entry, e) {
			return nil, entryExists(e.EntryID)
		}
		a.Entry = &old.Entry
		return same(a)
	}
	a.Entry = &e
	c := d.entryChange(e, core.VerbPost)
	if lost := d.lostClaim(it, e.AuthorAgentUID); lost != nil {
		c.Record.Events[0].ClaimID = lost.ClaimID
		c.Record.Events[0].Reason = "the author's claim on this item had ended: " + string(lost.ClaimStatus)
	}
	return &verdict{changes: []store.Change{c}, answer: a}, nil
}

// lostClaim is the claim that an author lost by time or by a lead before posting
// and has not replaced: what such an author says may be about work that somebody
// else does by now (B47).
func (d *desk) lostClaim(it *core.Item, author string) *core.Claim {
	if it.Holder() == author {
		return nil
	}
	if c := it.LastClaim; c != nil && c.WorkerAgentUID == author {
		if c.ClaimStatus == core.ClaimReleased {
			return nil
		}
		return c
	}
	// Others may have held and lost it since.
	if c, lost := d.book.LostClaim(it.ID(), author); lost {
		return &c
	}
	return nil
}

func sameEntry(a, b core.BlackboardEntry) bool { return alike(a, b) }

func entryExists(id string) *core.Error {
	return core.Errorf(core.CodeEntryExists, "an entry with this id and other content exists; entries never change").With("entry_id", id)
}
