package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"signalbox/model/acop"
)

func subscribe(t testing.TB, s *Store, after uint64, f EventFilter) *Subscription {
	t.Helper()
	sub, err := s.Subscribe(t.Context(), after, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	return sub
}

func next(t testing.TB, sub *Subscription) []acop.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	events, err := sub.Next(ctx)
	if err != nil {
		t.Fatalf("next: %v", err)
	}
	return events
}

// History and live meet without gap or double while others write; the ring is
// much smaller than the history.
func TestHistoryThenLive(t *testing.T) {
	s := open(t, Options{EventBuffer: 64})
	const acts = 400
	for i := range acts / 4 {
		commit(t, s, itemChange(newItem(fmt.Sprint("a", i), acop.StatusReady)))
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := acts / 4; i < acts; i++ {
			if _, err := s.Commit(t.Context(), itemChange(newItem(fmt.Sprint("a", i), acop.StatusReady))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var readers sync.WaitGroup
	for after := range uint64(6) {
		readers.Go(func() {
			want := after*20 + 1
			sub, err := s.Subscribe(t.Context(), want-1, EventFilter{})
			if err != nil {
				t.Error(err)
				return
			}
			for want <= acts {
				events, err := sub.Next(t.Context())
				var lost *ErrLost
				if errors.As(err, &lost) { // fell out of the small ring: go on from there
					sub.Close()
					if sub, err = s.Subscribe(t.Context(), lost.Resume, EventFilter{}); err != nil {
						t.Error(err)
						return
					}
					continue
				}
				if err != nil || len(events) != 1 || events[0].Revision != want || events[0].Item == nil {
					t.Errorf("wanted revision %d, got %+v, %v", want, events, err)
					return
				}
				want++
			}
			sub.Close()
		})
	}
	writer.Wait()
	readers.Wait()
}

// All events of one act come together, numbered, with their objects; history
// tells the same as live did.
func TestActIsHandedOutWhole(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	sub := subscribe(t, s, 0, EventFilter{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady), "put", "offer"), itemChange(newItem("b", acop.StatusReady)), entryChange("e", "a"))
	check := func(events []acop.Event) {
		t.Helper()
		if len(events) != 4 {
			t.Fatalf("%d events", len(events))
		}
		for i, e := range events {
			if e.Revision != 3 || e.Index != i || e.Last != (i == 3) {
				t.Errorf("event %d: revision %d index %d last %v", i, e.Revision, e.Index, e.Last)
			}
		}
		if events[0].Item == nil || events[0].Item.Revision != 1 || events[2].Item.Revision != 2 || events[3].Entry == nil {
			t.Errorf("objects are missing: %+v", events)
		}
	}
	check(next(t, sub))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir})
	check(next(t, subscribe(t, s, 0, EventFilter{})))
	if sub = subscribe(t, s, 3, EventFilter{}); sub.at != 3 {
		t.Error("a resume after the last act starts elsewhere")
	}
}

// A filter keeps single events; the last that is left completes the act.
func TestFilter(t *testing.T) {
	s := open(t, Options{})
	sub := subscribe(t, s, 0, EventFilter{WorkItems: []string{"a"}, Families: []acop.Family{acop.FamilyWorkUpdate}})
	all := subscribe(t, s, 0, EventFilter{})
	commit(t, s, itemChange(newItem("x", acop.StatusReady)))
	commit(t, s, itemChange(newItem("a", acop.StatusReady)), itemChange(newItem("b", acop.StatusReady)))
	commit(t, s, entryChange("e", "a"))
	commit(t, s, itemChange(mustItem(t, s, "a").Clone()))
	first := next(t, sub)
	if len(first) != 1 || first[0].WorkItemID != "a" || !first[0].Last || first[0].Revision != 3 {
		t.Errorf("filtered act: %+v", first)
	}
	if e := next(t, sub); e[0].Revision != 5 {
		t.Errorf("second: %+v", e)
	}
	next(t, all)
	if whole := next(t, all); len(whole) != 2 || whole[0].Last || !whole[1].Last {
		t.Errorf("the filter changed what others see: %+v", whole)
	}
}

// A reader that falls behind by more than the buffer is told from where to
// resume, and never holds up the writer.
func TestSlowReaderIsTold(t *testing.T) {
	s := open(t, Options{EventBuffer: 8})
	sub := subscribe(t, s, 0, EventFilter{})
	commit(t, s, itemChange(newItem("first", acop.StatusReady)))
	next(t, sub)
	for i := range 20 {
		commit(t, s, itemChange(newItem(fmt.Sprint(i), acop.StatusReady)))
	}
	_, err := sub.Next(t.Context())
	var lost *ErrLost
	if !errors.As(err, &lost) || lost.Resume != 1 {
		t.Fatalf("slow reader got %v", err)
	}
	if e := next(t, subscribe(t, s, lost.Resume, EventFilter{})); e[0].Revision != 2 {
		t.Errorf("after the resume: %+v", e)
	}
}

func TestCursorAhead(t *testing.T) {
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	var ahead *ErrCursorAhead
	if _, err := s.Subscribe(t.Context(), 2, EventFilter{}); !errors.As(err, &ahead) || ahead.Last != 1 {
		t.Errorf("cursor ahead: %v", err)
	}
}

// Next ends with its context, with its subscription and with the store.
func TestNextEnds(t *testing.T) {
	s := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	one, two, three := subscribe(t, s, 0, EventFilter{}), subscribe(t, s, 0, EventFilter{}), subscribe(t, s, 0, EventFilter{})
	errs := make([]chan error, 3)
	for i, sub := range []*Subscription{one, two, three} {
		errs[i] = make(chan error, 1)
		c := t.Context()
		if i == 0 {
			c = ctx
		}
		go func() {
			_, err := sub.Next(c)
			errs[i] <- err
		}()
	}
	cancel()
	if err := <-errs[0]; !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
	two.Close()
	if err := <-errs[1]; !errors.Is(err, ErrClosed) {
		t.Errorf("subscription: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-errs[2]; !errors.Is(err, ErrClosed) {
		t.Errorf("store: %v", err)
	}
}

// 200 readers share one copy of each event.
func TestManyReadersShareEvents(t *testing.T) {
	s := open(t, Options{})
	subs := make([]*Subscription, 200)
	for i := range subs {
		subs[i] = subscribe(t, s, 0, EventFilter{})
	}
	got := make([]*acop.Event, len(subs))
	var wg sync.WaitGroup
	for i, sub := range subs {
		wg.Go(func() {
			events, err := sub.Next(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = &events[0]
		})
	}
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	wg.Wait()
	for i := range got {
		if got[i] != got[0] {
			t.Fatalf("reader %d has a copy of its own", i)
		}
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Subscribers != 200 || st.Messages != 1 {
		t.Errorf("stats %+v, %v", st, err)
	}
}

// A batch that the death of the process cut short was never acknowledged: after
// the start it is not there, and its targets can be written.
func TestTornActIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	torn := mustItem(t, s, "a").Clone()
	torn.WorkItem.Title = "torn"
	for i, c := range []Change{itemChange(torn), itemChange(newItem("b", acop.StatusReady))} {
		w := &writing{}
		if err := s.message(w, &c, subjectOf(&c.Record), part{i: i + 1, n: 3, off: i, all: 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.engine().js.PublishMsg(t.Context(), w.msgs[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open(t, Options{Dir: dir, Now: clock})
		if a := mustItem(t, s, "a"); a.WorkItem.Title == "torn" {
			t.Error("half an act is served")
		}
		if _, ok := s.Item("b"); ok && s.Revision() == 3 {
			t.Error("half an act is served")
		}
		rev := commit(t, s, itemChange(mustItem(t, s, "a").Clone()))
		if it := mustItem(t, s, "a"); it.Revision != rev {
			t.Errorf("a is at %d, written at %d", it.Revision, rev)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, Options{Dir: dir, Now: clock})
	commit(t, s, itemChange(newItem("b", acop.StatusReady)))
	sub := subscribe(t, s, 0, EventFilter{})
	for _, want := range []uint64{1, 4, 5, 6} {
		if e := next(t, sub); e[0].Revision != want || e[0].Item.WorkItem.Title == "torn" {
			t.Errorf("wanted the act at %d, got %+v", want, e)
		}
	}
	events, _, err := s.History(t.Context(), "a")
	if err != nil || len(events) != 3 {
		t.Errorf("history has %d events, %v", len(events), err)
	}
}
