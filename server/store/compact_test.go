package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// later is when the younger part of an aged log was written.
var later = start.Add(40 * 24 * time.Hour)

const keepMonth = 30 * 24 * time.Hour

// at gives the record of a change its time.
func at(t time.Time, c Change) Change {
	c.Record.AtUTC = acop.NewTime(t)
	return c
}

// aged makes a log with an old and a young part and closes it: items that were
// changed long ago, often, lately; claims, requests, answers, entries and a
// batch. It returns the first revision of the young part.
func agedLog(t *testing.T, dir string) (tail uint64) {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, Now: func() time.Time { return later }})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	for i := range 30 {
		commit(t, s, itemChange(newItem(fmt.Sprint("often-", i%5, "-", i/25), acop.StatusReady)))
		for range 3 {
			commit(t, s, itemChange(mustItem(t, s, fmt.Sprint("often-", i%5, "-", i/25)).Clone()))
		}
		if i == 4 {
			break
		}
	}
	for _, id := range []string{"gone", "stays"} {
		commit(t, s, itemChange(newItem(id, acop.StatusReady)))
		commit(t, s, itemChange(lease(mustItem(t, s, id), "claim-"+id, "ann", time.Minute), "claim"))
		commit(t, s, end(mustItem(t, s, id), acop.ClaimReleased, acop.StatusReady))
		it := mustItem(t, s, id).Clone()
		if id == "gone" {
			it.WorkItem.Status = acop.StatusCancelled
		}
		commit(t, s, itemChange(it))
	}
	tail = s.Revision() + 1
	commit(t, s, at(later, itemChange(mustItem(t, s, "often-1-0").Clone())))
	commit(t, s, at(later, itemChange(newItem("young", acop.StatusReady))))
	commit(t, s, at(later, itemChange(newItem("p1", acop.StatusReady))), at(later, itemChange(newItem("p2", acop.StatusReady))))
	ch := at(later, itemChange(mustItem(t, s, "young").Clone()))
	ch.Record.Idem = &Idempotency{Scope: "scope-2", Fingerprint: "f", Status: 200, Body: []byte(`{}`)}
	commit(t, s, ch)
	commit(t, s, at(later, entryChange("e-young", "young")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return tail
}

func openLater(t testing.TB, dir string) *Store {
	t.Helper()
	return open(t, Options{Dir: dir, Now: func() time.Time { return later }})
}

// shown is what readers can see and a compaction must not change.
func shown(t *testing.T, dir string, after uint64) (map[string]any, [][]acop.Event) {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, Now: func() time.Time { return later }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := dump(s)
	delete(d, "ended")
	delete(d, "intents")
	for _, scope := range []string{"scope-1", "scope-2"} { // the first is too old
		rec, rev, ok, err := s.Idempotent(t.Context(), scope)
		if err != nil || ok != (scope == "scope-2") {
			t.Errorf("the answer to %s: %v, %v", scope, ok, err)
		}
		d[scope] = fmt.Sprint(rec, rev)
	}
	var events [][]acop.Event
	sub := subscribe(t, s, after, EventFilter{})
	for at := after; at < s.Revision(); {
		es := next(t, sub)
		at = es[0].Revision
		events = append(events, es)
	}
	return d, events
}

func compact(t testing.TB, dir string, keep time.Duration) Compacted {
	t.Helper()
	done, err := Compact(t.Context(), CompactOptions{Dir: dir, Keep: keep, Now: func() time.Time { return later }})
	if err != nil {
		t.Fatalf("compact: %v", err)
	}
	return done
}

// A compaction keeps state, revisions and young history, says that older history
// is gone, and the log goes on; as often as one likes.
func TestCompact(t *testing.T) {
	dir := t.TempDir()
	tail := agedLog(t, dir)
	state, events := shown(t, dir, tail-1)
	done := compact(t, dir, keepMonth)
	if done.Nothing || done.Tail != tail || done.RecordsAfter >= done.RecordsBefore {
		t.Fatalf("compacted: %+v, the history begins at %d", done, tail)
	}
	gotState, gotEvents := shown(t, dir, tail-1)
	if d := cmp.Diff(state, gotState); d != "" {
		t.Errorf("the state changed:\n%s", d)
	}
	if d := cmp.Diff(events, gotEvents); d != "" {
		t.Errorf("the young history changed:\n%s", d)
	}

	s := openLater(t, dir)
	var lost *ErrLost
	if _, err := s.Subscribe(t.Context(), tail-2, EventFilter{}); !errors.As(err, &lost) || lost.Resume != tail-1 {
		t.Errorf("resume before the history: %v", err)
	}
	oldest, err := s.Subscribe(t.Context(), 0, EventFilter{})
	if err != nil {
		t.Fatalf("from the oldest event that is kept: %v", err)
	}
	if first, err := oldest.Next(t.Context()); err != nil || len(first) == 0 || first[0].Revision < tail {
		t.Errorf("the oldest event kept is %+v (%v), want one from revision %d on", first, err, tail)
	}
	oldest.Close()
	if _, ok := s.Claim("claim-stays"); !ok {
		t.Error("the ended claim of an open item is forgotten")
	}
	if _, ok := s.Claim("claim-gone"); ok {
		t.Error("the ended claim of a closed item is still there")
	}
	if id, ok := s.ItemOfIntent("intent\n1"); !ok || id != "a" {
		t.Error("the request for an open item is forgotten")
	}
	if _, _, err := s.History(t.Context(), "stays"); err != nil {
		t.Error(err)
	}
	if es, _, err := s.History(t.Context(), "a"); err != nil || len(es) == 0 {
		t.Errorf("history of an old item: %d events, %v", len(es), err)
	}
	writeOn(t, s)
	want := dump(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	for round := range 2 {
		if done := compact(t, dir, 0); done.Nothing != (round == 1) {
			t.Fatalf("compaction %d: %+v", round+2, done)
		}
		got := dump(openLater(t, dir))
		for _, k := range []string{"items", "head", "sum", "entries", "settings", "live", "order", "answers", "answerRevs"} {
			if d := cmp.Diff(want[k], got[k]); d != "" {
				t.Errorf("%s after compaction %d:\n%s", k, round+2, d)
			}
		}
		if round == 0 {
			closeIn(t, dir)
		}
	}
}

// writeOn changes what is older than the history, at its old revision only.
func writeOn(t *testing.T, s *Store) {
	t.Helper()
	old := mustItem(t, s, "stays")
	for _, wrong := range []uint64{0, old.Revision - 1, old.Revision + 1} {
		c := itemChange(old.Clone())
		c.Expected = wrong
		if _, err := s.Commit(t.Context(), c); !errors.Is(err, ErrConflict) {
			t.Errorf("a write on revision %d of an item at %d: %v", wrong, old.Revision, err)
		}
	}
	for range 2 {
		commit(t, s, at(later, itemChange(mustItem(t, s, "stays").Clone())))
	}
	set := s.Settings()
	c := Change{Expected: set.Revision - 1, Record: Record{Kind: KindSettings, AtUTC: acop.NewTime(later), Settings: &set, Events: []acop.Event{event("settings", "")}}}
	if _, err := s.Commit(t.Context(), c); !errors.Is(err, ErrConflict) {
		t.Errorf("settings on a stale revision: %v", err)
	}
	c.Expected = set.Revision
	commit(t, s, c)
	if _, err := s.Commit(t.Context(), entryChange("e1", "a")); !errors.Is(err, ErrConflict) {
		t.Errorf("an entry a second time: %v", err)
	}
}

// A running owner is left alone, an empty or damaged log as it is.
func TestCompactRefuses(t *testing.T) {
	dir := t.TempDir()
	agedLog(t, dir)
	s := openLater(t, dir)
	var used *ErrInUse
	if _, err := Compact(t.Context(), CompactOptions{Dir: dir}); !errors.As(err, &used) {
		t.Errorf("while an owner runs: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, files(t, dir, ".blk")[0], 3000)
	before := fingerprint(t, dir)
	var d *DamageError
	if _, err := Compact(t.Context(), CompactOptions{Dir: dir}); !errors.As(err, &d) {
		t.Errorf("a damaged log: %v", err)
	}
	if diff := cmp.Diff(before, fingerprint(t, dir)); diff != "" {
		t.Errorf("the damaged log was touched:\n%s", diff)
	}
	if _, err := Compact(t.Context(), CompactOptions{Dir: filepath.Join(dir, "nowhere")}); err == nil {
		t.Error("a folder that is not there was compacted")
	}
	if _, err := Compact(t.Context(), CompactOptions{Dir: filepath.Join(dir, noteName)}); err == nil || errors.Is(err, ErrNoLog) {
		t.Errorf("a folder that cannot be read: %v", err)
	}
}

// After a loss was accepted, a compaction makes a log without holes of what is left.
func TestCompactAfterLoss(t *testing.T) {
	dir := written(t, 60)
	flip(t, files(t, dir, ".blk")[0], 9000)
	if !soundOrRefused(t, dir, 60) {
		t.Skip("the changed byte was harmless")
	}
	acceptAndGoOn(t, dir, 62)
	want := dump(open(t, Options{Dir: dir, Now: clock}))
	closeIn(t, dir)
	if _, err := Compact(t.Context(), CompactOptions{Dir: dir, Now: clock}); err != nil {
		t.Fatal(err)
	}
	got := dump(open(t, Options{Dir: dir, Now: clock}))
	if d := cmp.Diff(want["items"], got["items"]); d != "" {
		t.Error(d)
	}
}

// The folder's other files may be lost or spoiled after a compaction, too.
func TestDamageAfterCompact(t *testing.T) {
	dir := t.TempDir()
	tail := agedLog(t, dir)
	compact(t, dir, keepMonth)
	state, _ := shown(t, dir, tail-1)
	for _, path := range files(t, dir, "") {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if rel == lockName || info.Size() == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(rel, string(filepath.Separator), " "), func(t *testing.T) {
			bad := copyDir(t, dir)
			flip(t, filepath.Join(bad, rel), info.Size()/2)
			checkSame(t, bad, tail, state, strings.HasSuffix(rel, ".blk"))
			if strings.HasSuffix(rel, ".blk") || rel == noteName {
				return
			}
			bad = copyDir(t, dir)
			if err := os.Remove(filepath.Join(bad, rel)); err != nil {
				t.Fatal(err)
			}
			checkSame(t, bad, tail, state, false)
		})
	}
}

// checkSame demands that the folder opens with this state, or is refused and
// left alone where that is allowed.
func checkSame(t *testing.T, dir string, tail uint64, state map[string]any, mayRefuse bool) {
	t.Helper()
	before := fingerprint(t, dir)
	s, err := Open(t.Context(), Options{Dir: dir, Now: func() time.Time { return later }})
	if err != nil {
		if !mayRefuse {
			t.Fatalf("refused, although every record is there: %v", err)
		}
		if d := cmp.Diff(before, fingerprint(t, dir)); d != "" {
			t.Errorf("the refused folder was touched:\n%s", d)
		}
		return
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := shown(t, dir, tail-1)
	if d := cmp.Diff(state, got); d != "" {
		t.Error(d)
	}
}

// compactUntil is the child's part of [TestCompactKilled]: it stops for ever at
// a step.
func compactUntil(ctx context.Context, dir, step string) error {
	_, err := Compact(ctx, CompactOptions{
		Dir: dir, Keep: keepMonth, Now: func() time.Time { return later },
		step: func(now string) {
			if now == step {
				fmt.Println("at", now)
				select {}
			}
		},
	})
	return err
}
