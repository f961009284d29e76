package fleet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signalbox/model/acop"
)

var allowTime = cmp.AllowUnexported(acop.Time{})

func TestSnapshotThenEvents(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(item("a", acop.StatusReady), item("b", acop.StatusCompleted))
	if s.Identity != "lead-01" || s.Role != acop.RoleLead || s.Revision != 1 || s.Count(acop.StatusReady) != 1 {
		t.Fatalf("%s %s %d", s.Identity, s.Role, s.Revision)
	}
	claimed := held("a", "worker-1", t0, time.Minute)
	claimed.WorkItem.Status = acop.StatusClaimed
	o.event(acop.VerbClaim, claimed, acop.StatusReady, nil)
	if s.Items["a"].Status() != acop.StatusClaimed || s.Count(acop.StatusReady) != 0 || s.Count(acop.StatusClaimed) != 1 {
		t.Errorf("%+v", s.Items["a"].WorkItem)
	}
	if s.Changed["a"] != t0 || len(s.Log) != 1 || s.Log[0].Event.Item != nil {
		t.Errorf("changed %v, log %+v", s.Changed, s.Log)
	}
	o.event(acop.VerbCancel, item("b", acop.StatusCancelled), acop.StatusCompleted, nil)
	if s.Closed[acop.StatusCancelled] != 1 {
		t.Errorf("closed: %v", s.Closed)
	}
	// A new snapshot replaces what the owner said, tasks stay.
	sent(s, "t", t0, 0, time.Minute)
	o.snapshot(item("c", acop.StatusReady))
	if len(s.Items) != 1 || s.Items["c"] == nil || len(s.Held()) != 0 || s.Tasks["t"] == nil || s.Closed[acop.StatusCancelled] != 0 {
		t.Errorf("after the snapshot: %d items, %d held, %v", len(s.Items), len(s.Held()), s.Closed)
	}
}

// Events at or below the snapshot's revision, repeated ones and those of an
// older revision change nothing; the events of one act go by their index.
func TestEventsNeverGoBack(t *testing.T) {
	s := New()
	o := newOwner(s)
	o.rev = 9
	o.snapshot(item("a", acop.StatusReady)) // revision 10
	for _, rev := range []uint64{1, 10} {
		old := item("a", acop.StatusBlocked)
		old.Revision = rev
		s.Apply(OwnerEvent{At: t0, Event: acop.Event{Revision: rev, Index: 3, Item: old, WorkItemID: "a"}})
	}
	if s.Items["a"].Status() != acop.StatusReady || len(s.Log) != 0 {
		t.Fatal("an old event was applied")
	}
	act := func(index int, st acop.Status) {
		i := item("a", st)
		i.Revision = 11
		s.Apply(OwnerEvent{At: t0, Event: acop.Event{Revision: 11, Index: index, Last: index == 1, Item: i, WorkItemID: "a", To: st}})
	}
	act(0, acop.StatusInProgress)
	act(1, acop.StatusCompleted)
	act(0, acop.StatusInProgress)
	act(1, acop.StatusCompleted)
	if s.Items["a"].Status() != acop.StatusCompleted || len(s.Log) != 2 {
		t.Errorf("%s, %d lines", s.Items["a"].Status(), len(s.Log))
	}
	// An event whose object is older than what is known leaves the object.
	stale := item("a", acop.StatusReady)
	stale.Revision = 5
	s.Apply(OwnerEvent{At: t0, Event: acop.Event{Revision: 12, Item: stale, WorkItemID: "a"}})
	if s.Items["a"].Status() != acop.StatusCompleted || s.Revision != 12 {
		t.Errorf("%s at %d", s.Items["a"].Status(), s.Revision)
	}
}

// Applying any event again, at any later time, changes nothing.
func TestDuplicatesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once, twice := New(), New()
		a, b := newOwner(once), newOwner(twice)
		a.snapshot()
		b.snapshot()
		var sent []acop.Event
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			id := fmt.Sprintf("i%d", rapid.IntRange(0, 4).Draw(t, "item"))
			it := item(id, rapid.SampledFrom(acop.Statuses()).Draw(t, "status"))
			if it.Status().Held() {
				it = held(id, "w", t0, time.Minute, "src")
			}
			dependsOn(it, fmt.Sprintf("i%d", rapid.IntRange(0, 4).Draw(t, "dep")))
			sent = append(sent, a.event(acop.VerbPut, it, "", nil))
			b.s.Apply(OwnerEvent{Event: sent[len(sent)-1], At: t0})
			for range rapid.IntRange(0, 2).Draw(t, "repeats") {
				old := rapid.SampledFrom(sent).Draw(t, "again")
				b.s.Apply(OwnerEvent{Event: old, At: t0})
			}
			if rapid.Bool().Draw(t, "look") {
				b.s.Asks(t0) // looking must not matter either
			}
		}
		if !reflect.DeepEqual(once.Items, twice.Items) {
			t.Fatalf("items:\n%s", cmp.Diff(once.Items, twice.Items, allowTime))
		}
		if a, b := once.Asks(t0), twice.Asks(t0); !slices.Equal(a, b) {
			t.Fatalf("asks:\n%s", cmp.Diff(a, b))
		}
		if len(once.Log) != len(twice.Log) || once.Revision != twice.Revision {
			t.Fatal("log or revision differ")
		}
		checkCounts(t, twice)
	})
}

// checkCounts compares the indexes with a walk over all items.
func checkCounts(t *rapid.T, s *State) {
	count := map[acop.Status]int{}
	live := 0
	for _, i := range s.Items {
		count[i.Status()]++
		if i.Status().Held() && i.Lease != nil {
			live++
		}
	}
	for _, st := range acop.Statuses() {
		if s.Count(st) != count[st] {
			t.Fatalf("%s: counted %d, there are %d", st, s.Count(st), count[st])
		}
	}
	if len(s.Held()) != live {
		t.Fatalf("%d held, there are %d", len(s.Held()), live)
	}
	for id := range s.Items {
		if got, want := s.Blocks(id), walkBlocks(s, id); got != want {
			t.Fatalf("%s blocks %d, a walk says %d", id, got, want)
		}
	}
}

func walkBlocks(s *State, id string) int {
	seen := map[string]bool{id: true}
	for grown := true; grown; {
		grown = false
		for _, i := range s.Items {
			if seen[i.ID()] || i.Status().Terminal() {
				continue
			}
			for _, b := range i.Blockers {
				if d := b.DependsOn(); d != "" && d != i.ID() && seen[d] {
					seen[i.ID()], grown = true, true
				}
			}
		}
	}
	return len(seen) - 1
}

// C-025: cycles are counted once, closed items not at all.
func TestBlocksOverCycles(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(
		item("root", acop.StatusRequiresAttention),
		dependsOn(item("a", acop.StatusBlocked), "root", "c"),
		dependsOn(item("b", acop.StatusBlocked), "a"),
		dependsOn(item("c", acop.StatusBlocked), "b", "c"),
		dependsOn(item("gone", acop.StatusCancelled), "root"),
	)
	if got := s.Blocks("root"); got != 3 {
		t.Errorf("root blocks %d", got)
	}
	if got := s.Blocks("a"); got != 2 {
		t.Errorf("a blocks %d", got)
	}
	if diff := cmp.Diff([]string{"a"}, s.Dependents("root")); diff != "" {
		t.Error(diff)
	}
	o.event(acop.VerbUnblock, item("a", acop.StatusReady), acop.StatusBlocked, nil)
	if got := s.Blocks("root"); got != 0 {
		t.Errorf("once a is free root blocks %d", got)
	}
}

// C-036, C-041, D-47.
func TestEntries(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot(item("a", acop.StatusReady), item("b", acop.StatusReady))
	o.post("e1", "a", acop.EntryFinding, "w1")
	o.post("e2", "a", acop.EntryRisk, "w2", "e1", "unknown")
	o.post("e3", "b", acop.EntryRisk, "w2", "e2") // of another item: no link
	if s.SupersededBy("e1") != "e2" || s.SupersededBy("e2") != "" || s.SupersededBy("nope") != "" {
		t.Errorf("%q %q", s.SupersededBy("e1"), s.SupersededBy("e2"))
	}
	if got := s.EntriesOf("a"); len(got) != 2 || got[0].Entry.EntryID != "e1" {
		t.Errorf("%+v", got)
	}
	o.post("e1", "a", acop.EntryFinding, "somebody else")
	if p, _ := s.Entry("e1"); p.Entry.AuthorAgentUID != "w1" {
		t.Error("an entry was overwritten")
	}
	for i := range maxEntries + maxEntries/8 + 1 {
		o.post(fmt.Sprintf("n%d", i), "b", acop.EntryFinding, "w1")
	}
	if len(s.Entries) > maxEntries+maxEntries/8 || s.EntriesDropped() == 0 {
		t.Errorf("%d entries, %d dropped", len(s.Entries), s.EntriesDropped())
	}
	if _, ok := s.Entry("e1"); ok || len(s.EntriesOf("a")) != 0 {
		t.Error("a dropped entry is still found")
	}
	if got := s.EntriesOf("b"); len(got) != len(s.Entries) || got[len(got)-1].Entry.EntryID != s.Entries[len(s.Entries)-1].Entry.EntryID {
		t.Errorf("%d of b, %d in all", len(got), len(s.Entries))
	}
}

func TestClosedItemsAreBounded(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot()
	for i := range maxClosed + 50 {
		o.event(acop.VerbConsume, item(fmt.Sprintf("i%d", i), acop.StatusConsumed), acop.StatusAccepted, nil)
	}
	if len(s.Items) != maxClosed || s.Closed[acop.StatusConsumed] != maxClosed+50 || s.Count(acop.StatusConsumed) != maxClosed {
		t.Errorf("%d items, %d closed, %d counted", len(s.Items), s.Closed[acop.StatusConsumed], s.Count(acop.StatusConsumed))
	}
}

func TestLogIsBoundedAndKeepsItsNumbers(t *testing.T) {
	s := New()
	for i := range maxLog * 2 {
		s.Apply(Noted{At: t0, Text: fmt.Sprint(i)})
	}
	if len(s.Log) > maxLog+maxLog/8 || len(s.Log) < maxLog || s.LogBase+len(s.Log) != maxLog*2 {
		t.Fatalf("%d lines from %d", len(s.Log), s.LogBase)
	}
	if s.Log[0].Note != fmt.Sprint(s.LogBase) {
		t.Errorf("line %d says %s", s.LogBase, s.Log[0].Note)
	}
}

// An act of this program is one line that first says asked for, then how it went.
func TestOwnActsAreOneLine(t *testing.T) {
	s := New()
	act := acop.Act{Verb: acop.VerbRevoke, ClaimID: "c"}
	s.Apply(OwnAct{At: t0, ID: 1, Act: act})
	s.Apply(OwnAct{At: t0, ID: 2, Act: act})
	s.Apply(OwnAct{At: after(time.Second), ID: 1, Act: act, Err: errors.New("refused")})
	s.Apply(OwnAct{At: after(time.Second), ID: 2, Act: act, Done: true})
	if len(s.Log) != 2 || s.Log[0].Own.Err == nil || !s.Log[1].Own.Done || !s.Log[0].At.Equal(t0) {
		t.Errorf("%+v", s.Log)
	}
	s.Apply(OwnAct{At: t0, ID: 3, Act: act, Done: true})
	if len(s.Log) != 3 || len(s.ix.ownLines) != 0 {
		t.Errorf("%d lines, %d open", len(s.Log), len(s.ix.ownLines))
	}
}

func TestLinkNotes(t *testing.T) {
	s := New()
	for _, l := range []Link{
		{State: LinkLive}, {State: LinkDegraded, Try: 1}, {State: LinkDegraded, Try: 2}, {State: LinkLive},
		{State: LinkDegraded}, {State: LinkLive, Lost: true}, {State: LinkRefused},
	} {
		s.Apply(LinkChanged{l})
	}
	var notes []string
	for _, l := range s.Log {
		notes = append(notes, l.Note)
	}
	want := []string{
		"connection to the owner lost", "connection to the owner is back", "connection to the owner lost",
		"connection to the owner is back; events were missed and the state was taken anew", "the owner refuses this program",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

// A heartbeat that comes without its item changes a copy, never the shared item.
func TestBareHeartbeat(t *testing.T) {
	s := New()
	shared := held("a", "w", t0, time.Minute)
	o := newOwner(s).snapshot(shared)
	expires := shared.Lease.Claim.ExpiresAtUTC
	o.event(acop.VerbHeartbeat, nil, "", func(ev *acop.Event) {
		ev.WorkItemID = "a"
		ev.Heartbeat = &acop.LeaseHeartbeat{ClaimID: "claim-a", ProgressSummary: "half way"}
	})
	if shared.Lease.LastHeartbeat != nil {
		t.Error("an item that others hold was changed")
	}
	l := s.Items["a"].Lease
	if l.Progress != "half way" || !l.Claim.ExpiresAtUTC.Equal(expires) {
		t.Errorf("%+v (C-047)", l)
	}
	if _, bright := s.Changed["a"]; bright {
		t.Error("a heartbeat is no news to look at")
	}
}

func TestChangedForgets(t *testing.T) {
	s := New()
	o := newOwner(s).snapshot()
	for i := range 100 {
		o.now = after(time.Duration(i) * time.Second)
		o.event(acop.VerbPut, item(fmt.Sprintf("i%d", i), acop.StatusReady), "", nil)
	}
	if len(s.Changed) > 6 {
		t.Errorf("%d instants kept", len(s.Changed))
	}
}

// The way of a snapshot over the network is no difference of clocks.
func TestSmallSkewIsNone(t *testing.T) {
	for skew, want := range map[time.Duration]time.Duration{
		-500 * time.Millisecond: 0, 900 * time.Millisecond: 0, time.Hour: time.Hour, -3 * time.Second: -3 * time.Second,
	} {
		s := New()
		s.Apply(SnapshotLoaded{At: t0, Snapshot: &acop.Snapshot{Revision: 1, AtUTC: acop.NewTime(t0.Add(skew))}})
		s.Apply(LinkChanged{Link{State: LinkLive}})
		if s.Skew != want {
			t.Errorf("%s became %s", skew, s.Skew)
		}
	}
}
