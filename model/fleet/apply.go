package fleet

import (
	"fmt"
	"math"
	"time"

	"signalbox/model/acop"
)

// Apply takes in one fact. It costs at most a few microseconds however many
// items are known, snapshots excepted. Facts that are older than what is known
// are ignored, so applying one twice changes nothing.
func (s *State) Apply(f Fact) {
	switch f := f.(type) {
	case OwnerEvent:
		s.applyEvent(&f.Event, f.At)
	case SnapshotLoaded:
		s.applySnapshot(f.Snapshot, f.At)
	case HistoryRead:
		s.applyHistory(f)
	case TaskHappened:
		s.applyTask(&f.Event, f.Merged)
	case EarlierTasks:
		s.applyEarlier(f)
	case ProviderSeen:
		s.applyProvider(f)
	case LinkChanged:
		s.applyLink(f.Link)
	case OwnAct:
		s.applyOwnAct(f)
	case Noted:
		s.log(LogLine{At: f.At, Note: f.Text})
	case Settled:
		s.applySettled(f)
	}
}

// applyHistory begins the Log with what happened before. Once anything newer is
// known it comes too late: the Log is in order and stays so.
func (s *State) applyHistory(f HistoryRead) {
	if s.Revision > 0 {
		return
	}
	for i := range f.Events {
		s.logEvent(&f.Events[i], time.Time{})
	}
}

// applyEvent takes in one event of the owner's log, if it is the next or a later
// one. Within one act events are told apart by their index.
func (s *State) applyEvent(ev *acop.Event, at time.Time) {
	if ev.Revision < s.Revision || ev.Revision == s.Revision && ev.Index <= s.ix.lastIndex {
		return
	}
	s.Revision, s.ix.lastIndex = ev.Revision, ev.Index
	s.Version++
	s.logEvent(ev, at)
	s.noteLapse(ev)
	s.noteClaim(ev)
	if ev.Item != nil {
		s.setItem(ev.Item, ev.Revision)
	} else if ev.Heartbeat != nil {
		s.heartbeat(ev)
	}
	if ev.Entry != nil && s.addEntry(acop.Posted{Revision: ev.Revision, Entry: *ev.Entry}) {
		s.worker(ev.Entry.AuthorAgentUID).posted(ev.AtUTC.Std())
		s.ix.asks.itemDirty(ev.Entry.WorkItemID)
		s.touch(ev.Entry.EntryID, at)
	}
	if ev.Settings != nil {
		s.Settings = *ev.Settings
	}
	switch acop.Verb(ev.Verb) {
	case acop.VerbRefused, acop.VerbHeartbeat, acop.VerbRenew: // nothing to look at
	default:
		s.touch(ev.WorkItemID, at)
	}
}

// setItem puts item in the place of what was known of it, unless that is newer.
func (s *State) setItem(item *acop.Item, revision uint64) {
	id := item.ID()
	before := s.Items[id]
	if before != nil && item.Revision != 0 && before.Revision > item.Revision {
		return
	}
	if item.Revision == 0 {
		item = item.Clone()
		item.Revision = revision
	}
	s.Items[id] = item
	s.ItemsVersion++
	s.index(id, before, item)
	if item.Status().Terminal() && (before == nil || !before.Status().Terminal()) {
		s.Closed[item.Status()]++
		s.ix.closedOrder = append(s.ix.closedOrder, id)
		s.limitClosed()
	}
}

// index brings every index up to date with a change of one item.
func (s *State) index(id string, before, after *acop.Item) {
	x := &s.ix
	if before != nil {
		x.count[before.Status()]--
	}
	if after != nil {
		x.count[after.Status()]++
	}
	if place(before) != place(after) {
		s.PlacesVersion++
	}
	x.deps.update(id, before, after)
	x.overlap.update(id, after)
	mark(x.live, id, after != nil && after.Status().Held() && after.Lease != nil)
	mark(x.waiting, id, after != nil && after.WaitingIntent() != nil)
	if after == nil || after.Status() != acop.StatusReady {
		delete(x.lapsed, id)
	}
	s.indexHolder(id, before, after)
	x.asks.itemDirty(id)
	if deadEnd(before) != deadEnd(after) {
		for waiting := range x.deps.behind[id] {
			x.asks.itemDirty(waiting) // whether its wait can end has changed
		}
	}
}

// place is where an item's work is done: its repository and branch.
func place(i *acop.Item) [2]string {
	if i == nil {
		return [2]string{}
	}
	return [2]string{i.WorkItem.TargetRepoID, i.WorkItem.TargetBranch}
}

func mark(set map[string]struct{}, id string, in bool) {
	if in {
		set[id] = struct{}{}
	} else {
		delete(set, id)
	}
}

// limitClosed forgets the terminal items that were seen longest ago.
func (s *State) limitClosed() {
	for len(s.ix.closedOrder) > maxClosed {
		id := s.ix.closedOrder[0]
		s.ix.closedOrder = s.ix.closedOrder[1:]
		if it := s.Items[id]; it != nil && it.Status().Terminal() {
			delete(s.Items, id)
			s.index(id, it, nil)
		}
	}
}

// heartbeat updates the lease for an event that carries the heartbeat alone.
func (s *State) heartbeat(ev *acop.Event) {
	item := s.Items[ev.WorkItemID]
	if item == nil || item.Lease == nil || item.Lease.Claim.ClaimID != ev.Heartbeat.ClaimID {
		return
	}
	c := item.Clone()
	h := *ev.Heartbeat
	c.Lease.LastHeartbeat, c.Lease.HeartbeatAtUTC = &h, ev.AtUTC
	if h.ProgressSummary != "" {
		c.Lease.Progress, c.Lease.ProgressAtUTC = h.ProgressSummary, ev.AtUTC
	}
	s.setItem(c, c.Revision)
}

// noteLapse remembers a lease that ran out in mid-work, and forgets it as soon
// as anything else happens to the item's status.
func (s *State) noteLapse(ev *acop.Event) {
	switch {
	case ev.Verb == string(acop.VerbExpire) && ev.From == acop.StatusInProgress:
		who := ""
		if ev.Claim != nil {
			who = ev.Claim.WorkerAgentUID
		} else if it := s.Items[ev.WorkItemID]; it != nil {
			who = it.Holder()
		}
		s.ix.lapsed[ev.WorkItemID] = lapse{worker: who, at: ev.AtUTC.Std()}
	case ev.To != "" && ev.From != ev.To:
		delete(s.ix.lapsed, ev.WorkItemID)
	}
}

// minSkew is the least difference between the clocks that is believed: below it,
// the time a snapshot takes to arrive weighs more than the clocks.
const minSkew = time.Second

func (s *State) applySnapshot(sn *acop.Snapshot, at time.Time) {
	if sn == nil {
		return
	}
	if sn.Revision < s.Revision {
		s.log(LogLine{At: at, Note: fmt.Sprintf("the owner's log went back from revision %d to %d", s.Revision, sn.Revision)})
	}
	lapsed := s.ix.lapsed
	known := s.Items
	s.clearOwner()
	s.Version++
	s.ItemsVersion++
	s.EntriesVersion++
	s.Identity, s.Role = sn.Identity, sn.Role
	s.Revision, s.ix.lastIndex = sn.Revision, math.MaxInt
	s.Settings = sn.Settings
	if !sn.AtUTC.IsZero() && !at.IsZero() {
		s.Skew = sn.AtUTC.Std().Sub(at)
		if s.Skew.Abs() < minSkew {
			s.Skew = 0
		}
	}
	for st, n := range sn.Closed {
		s.Closed[st] = n
	}
	for _, w := range s.ix.workers {
		clear(w.held)
	}
	s.ix.asks.reset()
	for _, p := range sn.Entries {
		s.addEntry(p)
	}
	unbegun := s.unbegun()
	for _, item := range sn.Items {
		s.loadItem(item, known, lapsed, unbegun)
	}
	s.limitWorkers()
}

// loadItem takes an item out of a snapshot. That its last lease ran out in
// mid-work is known from before, or told by its count of attempts.
func (s *State) loadItem(item *acop.Item, known map[string]*acop.Item, lapsed map[string]lapse, unbegun map[string]bool) {
	if item == nil {
		return
	}
	id := item.ID()
	before := s.Items[id]
	s.Items[id] = item
	s.index(id, before, item)
	if item.Status() != acop.StatusReady {
		return
	}
	if old := known[id]; old != nil && old.Revision == item.Revision {
		if l, ok := lapsed[id]; ok {
			s.ix.lapsed[id] = l
		}
		return
	}
	if item.Attempts == 0 || unbegun[id] {
		return
	}
	who := ""
	if c := item.LastClaim; c != nil {
		if c.ClaimStatus != acop.ClaimExpired {
			return // given back or taken since
		}
		who = c.WorkerAgentUID
	}
	s.ix.lapsed[id] = lapse{worker: who, at: item.StatusSinceUTC.Std()}
}

// unbegun are the items whose lease, as far as the log reaches back, ran out last
// before any work on them began: a snapshot does not tell that.
func (s *State) unbegun() map[string]bool {
	items := map[string]bool{}
	for i := range s.Log {
		if ev := s.Log[i].Event; ev != nil && ev.Verb == string(acop.VerbExpire) {
			items[ev.WorkItemID] = ev.From != acop.StatusInProgress
		}
	}
	return items
}

func (s *State) applyProvider(f ProviderSeen) {
	p := f.Provider
	old, known := s.Providers[p.Name]
	if !known {
		s.ProviderOrder = append(s.ProviderOrder, p.Name)
	}
	s.provider(p.Name)
	s.Providers[p.Name] = p
	s.Version++
	if p.Reachable != nil && (old.Reachable == nil && !*p.Reachable || old.Reachable != nil && *old.Reachable != *p.Reachable) {
		note := "provider " + p.Name + " answers"
		if !*p.Reachable {
			note = "provider " + p.Name + " does not answer"
		}
		s.log(LogLine{At: f.At, Note: note})
	}
}

func (s *State) applyLink(l Link) {
	old := s.Link.State
	s.Link = l
	s.Version++
	if old == l.State {
		return
	}
	switch {
	case l.State == LinkDegraded:
		s.log(LogLine{At: l.Since, Note: "connection to the owner lost"})
	case l.State == LinkRefused:
		s.log(LogLine{At: l.Since, Note: "the owner refuses this program"})
	case l.State == LinkLive && old == LinkDegraded && l.Lost:
		s.log(LogLine{At: l.Since, Note: "connection to the owner is back; events were missed and the state was taken anew"})
	case l.State == LinkLive && old != LinkConnecting:
		s.log(LogLine{At: l.Since, Note: "connection to the owner is back"})
	}
}

// Settled tells that a person took note of an ask that nothing else makes go
// away: one about how a task ended. It stays away until its Revision or Reason
// changes, and is forgotten with the task.
type Settled struct {
	Key      string
	Revision uint64
	Reason   string
	At       time.Time
}

func (Settled) fact() {}

// Settled reports whether somebody took note of a and it has not changed since.
func (s *State) Settled(a *Ask) bool {
	st, ok := s.ix.settled[a.Key]
	return ok && st == settlement{a.Revision, a.Reason}
}

func (s *State) applySettled(f Settled) {
	s.log(LogLine{At: f.At, Note: "seen: " + f.Key + ", " + f.Reason})
	s.ix.settled[f.Key] = settlement{f.Revision, f.Reason}
	s.Version++
	s.ix.asks.stale = true
}
