package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"signalbox/model/acop"
)

var start = time.Date(2026, 5, 16, 19, 0, 0, 0, time.UTC)

// open opens a store that is closed with the test.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func newItem(id string, status acop.Status) *acop.Item {
	return &acop.Item{
		WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement,
			CreatedAtUTC: acop.NewTime(start), Producer: "planner", Status: status, Priority: acop.PriorityMedium,
			Title: "do " + id,
		},
		Blockers: []acop.Blocker{}, Operations: []acop.Operation{}, Artifacts: []acop.Artifact{},
		ValidationRequirements: []acop.ValidationRequirement{},
		CreatedBy:              "planner", StatusSinceUTC: acop.NewTime(start), UpdatedAtUTC: acop.NewTime(start),
	}
}

func event(verb, item string) acop.Event {
	return acop.Event{Family: acop.FamilyWorkUpdate, AtUTC: acop.NewTime(start), Actor: "planner", Verb: verb, WorkItemID: item}
}

// itemChange is the change that gives it its new state.
func itemChange(it *acop.Item, verbs ...string) Change {
	r := Record{Kind: KindItem, ID: it.WorkItem.WorkItemID, AtUTC: acop.NewTime(start), Item: it}
	if len(verbs) == 0 {
		verbs = []string{"put"}
	}
	for _, v := range verbs {
		r.Events = append(r.Events, event(v, r.ID))
	}
	return Change{Expected: it.Revision, Record: r}
}

func entryChange(id, item string) Change {
	e := &acop.BlackboardEntry{EntryID: id, WorkItemID: item, EntryKind: acop.EntryFinding, AuthorAgentUID: "ann", CreatedAtUTC: acop.NewTime(start), Status: acop.EntryActive}
	ev := event("post", item)
	ev.Family = acop.FamilyBlackboard
	return Change{Record: Record{Kind: KindEntry, ID: id, AtUTC: acop.NewTime(start), Entry: e, Events: []acop.Event{ev}}}
}

func commit(t testing.TB, s *Store, cs ...Change) uint64 {
	t.Helper()
	rev, err := s.CommitAll(t.Context(), cs)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return rev
}

func mustItem(t testing.TB, s *Store, id string) *acop.Item {
	t.Helper()
	it, ok := s.Item(id)
	if !ok {
		t.Fatalf("item %q is not there", id)
	}
	return it
}

// lease gives a claim on the item that ends after ttl.
func lease(it *acop.Item, claim, worker string, ttl time.Duration) *acop.Item {
	c := it.Clone()
	c.WorkItem.Status = acop.StatusClaimed
	c.Lease = &acop.Lease{
		Claim: acop.Claim{
			ClaimID: claim, WorkItemID: it.WorkItem.WorkItemID, WorkerAgentUID: worker, GrantedAtUTC: acop.NewTime(start),
			ExpiresAtUTC: acop.NewTime(start.Add(ttl)), ClaimStatus: acop.ClaimActive,
		},
		TTLSeconds: int64(ttl / time.Second),
	}
	return c
}

// end ends the live claim of the item.
func end(it *acop.Item, how acop.ClaimStatus, to acop.Status) Change {
	c := it.Clone()
	ended := c.Lease.Claim
	ended.ClaimStatus = how
	c.Lease, c.WorkItem.Status = nil, to
	ch := itemChange(c, "release")
	ch.Record.Ended = &ended
	return ch
}

// dump is everything that readers can see, to compare two stores.
func dump(s *Store) map[string]any {
	s.mu.RLock()
	defer s.mu.RUnlock()
	order := map[string][]string{}
	for st, lists := range s.p.byStatus {
		for name, l := range lists {
			for it := range l.after(nil) {
				order[string(st)+"/"+string(name)] = append(order[string(st)+"/"+string(name)], it.WorkItem.WorkItemID)
			}
		}
	}
	ans := map[string]Idempotency{}
	revs := map[string]uint64{}
	for k, a := range s.p.answers.byScope {
		ans[k], revs[k] = a.rec, a.rev
	}
	return map[string]any{
		"head": s.p.head.rev, "sum": s.p.head.sum.String(), "items": s.p.items, "order": order, "tags": s.p.tags, "waits": s.p.waits,
		"live": s.p.live, "ended": s.p.ended, "intents": s.p.intents, "entries": s.p.entries, "entriesOf": s.p.entriesOf,
		"settings": s.p.settings, "answers": ans, "answerRevs": revs, "watched": s.p.watched,
	}
}

// fill writes one of everything and returns the store's last revision.
func fill(t *testing.T, s *Store) {
	t.Helper()
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	b := newItem("b", acop.StatusBlocked)
	b.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityHigh, Summary: "wait", DependsOnWorkItemID: "a"}}
	b.WorkItem.TargetAgentUID, b.WorkItem.TargetRepoID = "ann", "repo"
	commit(t, s, itemChange(b))
	commit(t, s, entryChange("e1", "a"))
	commit(t, s, itemChange(lease(mustItem(t, s, "a"), "claim-1", "ann", time.Minute), "claim"))
	commit(t, s, end(mustItem(t, s, "a"), acop.ClaimReleased, acop.StatusReady))
	asked := mustItem(t, s, "a").Clone()
	asked.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "intent\n1", WorkItemID: "a", WorkerAgentUID: "bob", RequestedAtUTC: acop.NewTime(start)}, State: acop.IntentWaiting, ExpiresUTC: acop.NewTime(start.Add(time.Hour))}}
	ch := itemChange(asked, "intent")
	ch.Record.Idem = &Idempotency{Scope: "scope-1", Fingerprint: "f", Status: 201, Header: map[string]string{"ETag": "x"}, Body: []byte(`{"a":1}`)}
	commit(t, s, ch)
	gone := mustItem(t, s, "a").Clone()
	gone.Intents = nil
	commit(t, s, itemChange(lease(gone, "claim-2", "bob", time.Minute), "grant", "claim"))
	commit(t, s, Change{Record: Record{Kind: KindSettings, AtUTC: acop.NewTime(start), Settings: &acop.Settings{GrantMode: acop.GrantLead}, Events: []acop.Event{event("settings", "")}}})
	refused := event("refused", "a")
	commit(t, s, Change{Record: Record{Kind: KindAudit, ID: "claim-2", AtUTC: acop.NewTime(start), Events: []acop.Event{refused}}})
	done := newItem("c", acop.StatusCancelled)
	commit(t, s, itemChange(done), entryChange("e2", "b"))
}

func clock() time.Time { return start }

// H-085: a restart shows the same truth, claims, intents and answers included.
func TestRestartEquality_H085_H014(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	fill(t, s)
	want := dump(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, Options{Dir: dir, Now: clock})
	if diff := cmp.Diff(want, dump(again), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after the restart (-before +after):\n%s", diff)
	}
	if c, ok := again.Claim("claim-1"); !ok || c.ClaimStatus != acop.ClaimReleased {
		t.Errorf("ended claim after restart: %+v, %v", c, ok)
	}
	if c, ok := again.Claim("claim-2"); !ok || c.ClaimStatus != acop.ClaimActive {
		t.Errorf("live claim after restart: %+v, %v", c, ok)
	}
	if id, ok := again.ItemOfIntent("intent\n1"); !ok || id != "a" {
		t.Errorf("intent that its item no longer lists: %q, %v", id, ok)
	}
	if rec, rev, ok := again.Idempotent("scope-1"); !ok || rec.Status != 201 || rev != 6 {
		t.Errorf("answer after restart: %+v at %d, %v", rec, rev, ok)
	}
}

// H-014: answers live for 24 h at least and not for ever.
func TestAnswersAreForgotten_H014(t *testing.T) {
	dir := t.TempDir()
	now := start
	s := open(t, Options{Dir: dir, Now: func() time.Time { return now }})
	put := func(id string) {
		ch := itemChange(newItem(id, acop.StatusReady))
		ch.Record.AtUTC = acop.NewTime(now)
		ch.Record.Idem = &Idempotency{Scope: id}
		commit(t, s, ch)
	}
	put("first")
	now = start.Add(24*time.Hour - time.Minute)
	put("second")
	if _, _, ok := s.Idempotent("first"); !ok {
		t.Error("forgotten after 23 h 59 min")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir, Now: func() time.Time { return now }})
	if _, _, ok := s.Idempotent("first"); !ok {
		t.Error("forgotten by a restart after 23 h 59 min")
	}
	now = start.Add(26 * time.Hour)
	put("third")
	if _, _, ok := s.Idempotent("first"); ok {
		t.Error("still there after 26 h")
	}
	if _, _, ok := s.Idempotent("second"); !ok {
		t.Error("forgotten together with an older one")
	}
}

// H-079, H-080: of writers that race for one revision exactly one wins.
func TestRacingWriters_H079_H080(t *testing.T) {
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	const rounds, writers = 20, 64
	for round := range rounds {
		base := mustItem(t, s, "a")
		var won atomic.Int32
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for w := range writers {
			wg.Go(func() {
				<-gate
				mine := base.Clone()
				mine.WorkItem.Summary = fmt.Sprintf("round %d writer %d", round, w)
				_, err := s.Commit(t.Context(), itemChange(mine))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, ErrConflict):
					t.Errorf("writer %d: %v", w, err)
				}
			})
		}
		close(gate)
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d writers won", round, won.Load())
		}
	}
	if got := s.Revision(); got != rounds+1 {
		t.Errorf("revision %d after %d acts", got, rounds+1)
	}
}

// Read your writes: the projection shows a write before its writer goes on.
func TestReadYourWrites(t *testing.T) {
	s := open(t, Options{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				id := fmt.Sprintf("%d-%d", w, i)
				rev, err := s.Commit(t.Context(), itemChange(newItem(id, acop.StatusReady)))
				if err != nil {
					t.Errorf("commit %s: %v", id, err)
					return
				}
				if it, ok := s.Item(id); !ok || it.Revision != rev || s.Revision() < rev {
					t.Errorf("item %s at %d is not to be seen", id, rev)
				}
			}
		})
	}
	wg.Wait()
}

// A batch is visible as a whole or not at all, and its events are one act.
func TestBatchIsAtomic(t *testing.T) {
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // a and b must always have the same summary once b is there
		for {
			select {
			case <-stop:
				return
			default:
			}
			snap := s.Snapshot(start)
			if len(snap.Items) == 2 && snap.Items[0].WorkItem.Summary != snap.Items[1].WorkItem.Summary {
				t.Errorf("half a batch at revision %d", snap.Revision)
				return
			}
		}
	})
	for i := range 20 {
		a := mustItem(t, s, "a").Clone()
		b := newItem("b", acop.StatusReady)
		if i > 0 {
			b = mustItem(t, s, "b").Clone()
		}
		a.WorkItem.Summary = fmt.Sprint(i)
		b.WorkItem.Summary = a.WorkItem.Summary
		rev := commit(t, s, itemChange(a), itemChange(b))
		if got := mustItem(t, s, "b").Revision; got != rev || mustItem(t, s, "a").Revision != rev-1 {
			t.Errorf("revisions of the two: %d and %d of act %d", mustItem(t, s, "a").Revision, got, rev)
		}
	}
	close(stop)
	wg.Wait()

	before := s.Revision()
	a, b := mustItem(t, s, "a").Clone(), mustItem(t, s, "b").Clone()
	b.Revision--
	if _, err := s.CommitAll(t.Context(), []Change{itemChange(a), itemChange(b)}); !errors.Is(err, ErrConflict) {
		t.Fatalf("a batch with one stale record: %v", err)
	}
	// The engine's own check, without the look into the projection.
	taken := entryChange("e", "a")
	commit(t, s, taken)
	if _, err := s.CommitAll(t.Context(), []Change{itemChange(a), taken}); !errors.Is(err, ErrConflict) {
		t.Fatalf("a batch with a taken entry id: %v", err)
	}
	if s.Revision() != before+1 || mustItem(t, s, "a").Revision > before {
		t.Errorf("a refused batch left something behind")
	}
}

// C-035, C-036, C-038: an entry is written once.
func TestEntriesAreAppendOnly_C035_C038(t *testing.T) {
	s := open(t, Options{})
	first := entryChange("e", "a")
	rev := commit(t, s, first)
	other := entryChange("e", "b")
	if _, err := s.Commit(t.Context(), other); !errors.Is(err, ErrConflict) {
		t.Errorf("the same id again: %v", err)
	}
	other.Expected = rev
	if _, err := s.Commit(t.Context(), other); err == nil {
		t.Error("an entry was overwritten")
	}
	if e, ok := s.Entry("e"); !ok || e.Entry.WorkItemID != "a" || e.Revision != rev {
		t.Errorf("stored entry: %+v", e)
	}
}

// C-040: the feed resumes after a cursor without gap or double.
func TestEntriesAfter_C040(t *testing.T) {
	s := open(t, Options{})
	for i := range 10 {
		commit(t, s, entryChange(fmt.Sprint("e", i), []string{"a", "b"}[i%2]))
	}
	var got []string
	for after := uint64(0); ; {
		page := s.Entries(EntryQuery{WorkItemID: "b", Kind: acop.EntryFinding, Author: "ann", After: after, Limit: 2})
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			got, after = append(got, e.Entry.EntryID), e.Revision
		}
	}
	if diff := cmp.Diff([]string{"e1", "e3", "e5", "e7", "e9"}, got); diff != "" {
		t.Error(diff)
	}
}

// A record that would lose a claim or say nothing is a mistake and not written.
func TestRefusesContradictions(t *testing.T) {
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	commit(t, s, itemChange(lease(mustItem(t, s, "a"), "c", "ann", time.Minute)))
	dropped := mustItem(t, s, "a").Clone()
	dropped.Lease = nil
	silent := itemChange(mustItem(t, s, "a").Clone())
	silent.Record.Events = nil
	wrong := itemChange(mustItem(t, s, "a").Clone())
	wrong.Record.ID = "b"
	twice := itemChange(mustItem(t, s, "a").Clone())
	for name, cs := range map[string][]Change{
		"claim vanishes": {itemChange(dropped)}, "no event": {silent}, "other id": {wrong}, "same target twice": {twice, twice}, "nothing": nil,
	} {
		if _, err := s.CommitAll(t.Context(), cs); err == nil || errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Revision() != 2 {
		t.Errorf("revision %d", s.Revision())
	}
}

// H-081 at the store: what ran out is found, at its instant and not before.
func TestDue_H081(t *testing.T) {
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	commit(t, s, itemChange(newItem("b", acop.StatusReady)))
	commit(t, s, itemChange(lease(mustItem(t, s, "a"), "c", "ann", time.Minute)))
	b := mustItem(t, s, "b").Clone()
	b.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{ClaimIntentID: "i", RequestedAtUTC: acop.NewTime(start)}, State: acop.IntentWaiting, ExpiresUTC: acop.NewTime(start.Add(2 * time.Minute))}}
	commit(t, s, itemChange(b))
	ids := func(its []*acop.Item) (out []string) {
		for _, it := range its {
			out = append(out, it.WorkItem.WorkItemID)
		}
		return out
	}
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{{time.Minute - 1, nil}, {time.Minute, []string{"a"}}, {2 * time.Minute, []string{"a", "b"}}} {
		if diff := cmp.Diff(c.want, ids(s.Due(start.Add(c.at)))); diff != "" {
			t.Errorf("after %v: %s", c.at, diff)
		}
	}
	if diff := cmp.Diff([]string{"a"}, ids(s.LiveLeases())); diff != "" {
		t.Error(diff)
	}
	commit(t, s, end(mustItem(t, s, "a"), acop.ClaimExpired, acop.StatusReady))
	if got := s.LiveLeases(); len(got) != 0 {
		t.Errorf("leases after the end: %v", ids(got))
	}
}

func TestDependents(t *testing.T) {
	s := open(t, Options{})
	fill(t, s)
	if diff := cmp.Diff([]string{"b"}, s.Dependents("a")); diff != "" {
		t.Error(diff)
	}
	freed := mustItem(t, s, "b").Clone()
	freed.Blockers = []acop.Blocker{}
	commit(t, s, itemChange(freed))
	if got := s.Dependents("a"); len(got) != 0 {
		t.Errorf("still waiting: %v", got)
	}
}

func TestSnapshot(t *testing.T) {
	s := open(t, Options{})
	fill(t, s)
	snap := s.Snapshot(start)
	if len(snap.Items) != 2 || len(snap.Entries) != 2 || snap.Closed[acop.StatusCancelled] != 1 || snap.Revision != s.Revision() {
		t.Errorf("snapshot: %d items, %d entries, closed %v, revision %d", len(snap.Items), len(snap.Entries), snap.Closed, snap.Revision)
	}
	if snap.Settings.GrantMode != acop.GrantLead || snap.Settings.Revision == 0 {
		t.Errorf("settings %+v", snap.Settings)
	}
}

// History tells all that happened to one item, refused acts and entries included.
func TestHistory(t *testing.T) {
	s := open(t, Options{})
	fill(t, s)
	events, claims, err := s.History(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for i, e := range events {
		verbs = append(verbs, e.Verb)
		if i > 0 && e.Revision < events[i-1].Revision {
			t.Errorf("event %d is out of order", i)
		}
	}
	if diff := cmp.Diff([]string{"put", "post", "claim", "release", "intent", "grant", "claim", "refused"}, verbs); diff != "" {
		t.Error(diff)
	}
	if len(claims) != 2 || claims[0].ClaimStatus != acop.ClaimReleased || claims[1].ClaimStatus != acop.ClaimActive {
		t.Errorf("claims: %+v", claims)
	}
	if events, claims, err := s.History(t.Context(), "unknown"); err != nil || len(events)+len(claims) != 0 {
		t.Errorf("history of nothing: %v %v %v", events, claims, err)
	}
}

func TestWaitRevision(t *testing.T) {
	s := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { errs <- s.WaitRevision(t.Context(), 1) }()
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	if err := <-errs; err != nil {
		t.Error(err)
	}
	go func() { errs <- s.WaitRevision(ctx, 99) }()
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("wait ended with %v", err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	s := open(t, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), itemChange(newItem("a", acop.StatusReady))); !errors.Is(err, ErrClosed) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Subscribe(t.Context(), 0, EventFilter{}); !errors.Is(err, ErrClosed) {
		t.Errorf("subscribe: %v", err)
	}
}
