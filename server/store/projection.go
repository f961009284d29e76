package store

import (
	"slices"

	"signalbox/model/acop"
)

// projection is the present state of everything, as far as the log was applied.
// It has no lock of its own: the Store guards it. What it holds is never
// changed in place, so that readers may keep what they were given.
type projection struct {
	head link // revision and checksum of the last applied record

	items    map[string]*acop.Item
	byStatus map[acop.Status]map[Order]*sorted
	tags     map[string]map[string]struct{} // see tagsOf; to item ids
	ends     *sorted                        // items with a lease or an intent that runs out, by nextEnd
	waits    map[string]map[string]struct{} // item id -> ids of items that wait for it

	live    map[string]string     // claim id -> id of the item that holds it
	ended   map[string]endedClaim // claims that never change again
	intents map[string]string     // claim intent id -> item id

	// lost names the claim that a worker lost last on an open item and has not
	// replaced by one that it gave back itself: item id -> worker -> claim id.
	lost map[string]map[string]string

	entries   []acop.Posted    // ascending by revision
	entryAt   map[string]int   // entry id -> place in entries
	entriesOf map[string][]int // item id -> places in entries, ascending

	settings acop.Settings
	answers  answers
	// heads holds the true last revision of the few subjects whose last record
	// was lost to accepted damage: writers must name that one to the engine.
	heads map[string]uint64
}

func newProjection() *projection {
	return &projection{
		items:     map[string]*acop.Item{},
		byStatus:  map[acop.Status]map[Order]*sorted{},
		tags:      map[string]map[string]struct{}{},
		ends:      &sorted{cmp: byEnd},
		waits:     map[string]map[string]struct{}{},
		live:      map[string]string{},
		ended:     map[string]endedClaim{},
		intents:   map[string]string{},
		lost:      map[string]map[string]string{},
		entryAt:   map[string]int{},
		entriesOf: map[string][]int{},
		answers:   newAnswers(),
		heads:     map[string]uint64{},
	}
}

// apply makes an act visible, all of it.
func (p *projection) apply(a *act) {
	for _, r := range a.records {
		p.applyRecord(r)
		if r.rec.Idem != nil {
			p.answers.add(r.rec.Idem, r.rev, a.rev, r.rec.AtUTC)
		}
		delete(p.heads, r.subject)
	}
	p.head = link{rev: a.rev, sum: a.sum}
}

// applyRecord takes over the new state that a record carries.
func (p *projection) applyRecord(r applied) {
	if c := r.rec.Ended; c != nil {
		p.putEnded(c)
	}
	switch r.rec.Kind {
	case KindItem:
		if r.rec.Item != nil {
			p.putItem(r.rec.Item)
		}
	case KindEntry:
		if r.rec.Entry != nil {
			p.putEntry(acop.Posted{Revision: r.rev, Entry: *r.rec.Entry})
		}
	case KindSettings:
		if r.rec.Settings != nil {
			p.settings = *r.rec.Settings
		}
	case KindAudit:
	}
}

// putEnded remembers a claim that ended for good.
func (p *projection) putEnded(c *acop.Claim) {
	p.ended[c.ClaimID] = p.endedOf(c)
	of := p.lost[c.WorkItemID]
	if c.ClaimStatus == acop.ClaimReleased {
		if delete(of, c.WorkerAgentUID); len(of) == 0 {
			delete(p.lost, c.WorkItemID)
		}
		return
	}
	if of == nil {
		of = map[string]string{}
		p.lost[c.WorkItemID] = of
	}
	of[c.WorkerAgentUID] = c.ClaimID
}

// applyIndex takes over what a superseded record still tells.
func (p *projection) applyIndex(x index) {
	if x.Ended != nil {
		p.putEnded(x.Ended)
	}
	for _, id := range x.Intents {
		p.intents[id] = p.idOf(x.Item)
	}
}

func (p *projection) putItem(it *acop.Item) {
	id := it.WorkItem.WorkItemID
	old := p.items[id]
	p.items[id] = it
	p.reorder(old, it)
	if old == nil || !sameTags(old, it) {
		retag(p.tags, id, tagsOf(old), tagsOf(it))
	}
	if old == nil || len(old.Blockers)+len(it.Blockers) > 0 {
		retag(p.waits, id, dependsOn(old), dependsOn(it))
	}
	if old != nil && old.Lease != nil {
		delete(p.live, old.Lease.Claim.ClaimID)
	}
	if it.Lease != nil {
		p.live[it.Lease.Claim.ClaimID] = id
	}
	for _, n := range it.Intents {
		p.intents[n.ClaimIntent.ClaimIntentID] = id
	}
	if it.WorkItem.Status.Terminal() {
		delete(p.lost, id)
	}
	if old != nil && hasEnd(old) {
		p.ends.remove(old)
	}
	if hasEnd(it) {
		p.ends.insert(it)
	}
}

func (p *projection) reorder(old, it *acop.Item) {
	if old != nil {
		for _, s := range p.byStatus[old.WorkItem.Status] {
			s.remove(old)
		}
	}
	lists := p.byStatus[it.WorkItem.Status]
	if lists == nil {
		lists = map[Order]*sorted{}
		for name, cmp := range orders {
			lists[name] = &sorted{cmp: cmp}
		}
		p.byStatus[it.WorkItem.Status] = lists
	}
	for _, s := range lists {
		s.insert(it)
	}
}

func (p *projection) putEntry(e acop.Posted) {
	if _, known := p.entryAt[e.Entry.EntryID]; known {
		return // append-only: the first one stands (C-036)
	}
	at := len(p.entries)
	p.entries = append(p.entries, e)
	p.entryAt[e.Entry.EntryID] = at
	p.entriesOf[e.Entry.WorkItemID] = append(p.entriesOf[e.Entry.WorkItemID], at)
}

// tagsOf names the groups that an item is found by.
func tagsOf(it *acop.Item) []string {
	if it == nil {
		return nil
	}
	w := &it.WorkItem
	tags := []string{tagParty + w.Producer}
	switch {
	case w.TargetAgentUID != "":
		tags = append(tags, tagAgent+w.TargetAgentUID, tagParty+w.TargetAgentUID)
	case len(w.ParticipantAgentUIDs) == 0:
		tags = append(tags, tagOpen)
	default:
		for _, a := range w.ParticipantAgentUIDs {
			tags = append(tags, tagAgent+a)
		}
	}
	for _, a := range w.ParticipantAgentUIDs {
		tags = append(tags, tagParty+a)
	}
	if w.TargetRepoID != "" {
		tags = append(tags, tagRepo+w.TargetRepoID)
	}
	if w.TargetBranch != "" {
		tags = append(tags, tagBranch+w.TargetBranch)
	}
	for _, b := range it.Blockers {
		tags = append(tags, tagCode+b.BlockerCode)
	}
	return tags
}

// sameTags reports whether two states of an item are found by the same tags,
// which is so for nearly every act.
func sameTags(a, b *acop.Item) bool {
	v, w := &a.WorkItem, &b.WorkItem
	return v.Producer == w.Producer && v.TargetAgentUID == w.TargetAgentUID &&
		v.TargetRepoID == w.TargetRepoID && v.TargetBranch == w.TargetBranch &&
		slices.Equal(v.ParticipantAgentUIDs, w.ParticipantAgentUIDs) &&
		slices.EqualFunc(a.Blockers, b.Blockers, func(x, y acop.Blocker) bool { return x.BlockerCode == y.BlockerCode })
}

// The kinds of tag.
const (
	tagOpen   = "open"     // anybody may take it
	tagAgent  = "agent:"   // this agent may take it
	tagParty  = "party:"   // producer, target or participant
	tagRepo   = "repo:"    // target_repo_id
	tagBranch = "branch:"  // target_branch
	tagCode   = "blocker:" // blocker_code
)

// retag moves an id from its old groups to its new ones.
func retag(groups map[string]map[string]struct{}, id string, old, now []string) {
	for _, t := range old {
		delete(groups[t], id)
	}
	for _, t := range now {
		if groups[t] == nil {
			groups[t] = map[string]struct{}{}
		}
		groups[t][id] = struct{}{}
	}
	for _, t := range old {
		if len(groups[t]) == 0 {
			delete(groups, t)
		}
	}
}

// dependsOn lists the items that an open one waits for.
func dependsOn(it *acop.Item) []string {
	if it == nil || it.WorkItem.Status.Terminal() {
		return nil
	}
	var ids []string
	for _, b := range it.Blockers {
		if b.BlockerCode == acop.BlockerDependency && b.DependsOnWorkItemID != "" {
			ids = append(ids, b.DependsOnWorkItemID)
		}
	}
	return ids
}
