package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"signalbox/model/acop"
)

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
	if rec, rev, ok, err := again.Idempotent(t.Context(), "scope-1"); err != nil || !ok || rec.Status != 201 || rev != 6 {
		t.Errorf("answer after restart: %+v at %d, %v", rec, rev, ok)
	}
}

// answered tells whether the answer to a request is remembered, and reads it.
func answered(t *testing.T, s *Store, scope string) bool {
	t.Helper()
	rec, _, ok, err := s.Idempotent(t.Context(), scope)
	if err != nil || ok && rec.Scope != scope {
		t.Errorf("the answer to %q: %+v, %v", scope, rec, err)
	}
	return ok
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
	if !answered(t, s, "first") {
		t.Error("forgotten after 23 h 59 min")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir, Now: func() time.Time { return now }})
	if !answered(t, s, "first") {
		t.Error("forgotten by a restart after 23 h 59 min")
	}
	now = start.Add(26 * time.Hour)
	put("third")
	if answered(t, s, "first") {
		t.Error("still there after 26 h")
	}
	if !answered(t, s, "second") {
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
	for _, c := range []struct {
		q    EntryQuery
		want string
	}{
		{EntryQuery{Newest: 3}, "e7 e8 e9"},
		{EntryQuery{Newest: 30}, "e0 e1 e2 e3 e4 e5 e6 e7 e8 e9"},
		{EntryQuery{WorkItemID: "b", Newest: 2, Before: 8}, "e3 e5"},
		{EntryQuery{Newest: 2, Before: 3, After: 1}, "e1"},
		{EntryQuery{Before: 1}, ""},
		{EntryQuery{Limit: 4, Newest: 2}, "e2 e3"},
		{EntryQuery{Author: "nobody", Newest: 2}, ""},
		{EntryQuery{EntryID: "e4"}, "e4"},
		{EntryQuery{EntryID: "e4", Newest: 1, WorkItemID: "a"}, "e4"},
		{EntryQuery{EntryID: "e4", WorkItemID: "b"}, ""},
		{EntryQuery{EntryID: "e4", After: 5}, ""},
		{EntryQuery{EntryID: "e4", Before: 5}, ""},
		{EntryQuery{EntryID: "none"}, ""},
	} {
		var got []string
		for _, e := range s.Entries(c.q) {
			got = append(got, e.Entry.EntryID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
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
