package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// unanswered writes an act of which the follower never hears: as if the engine's
// answer had been lost on its way.
func unanswered(t *testing.T, s *Store, c Change) {
	t.Helper()
	w := &writing{}
	if err := s.message(w, &c, subjectOf(&c.Record), part{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine().js.PublishMsg(t.Context(), w.msgs[0]); err != nil {
		t.Fatal(err)
	}
}

// An act whose answer was lost is read from the log: at the next write, and by
// itself when its writer has given up. Nobody sees it twice or out of order.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	sub := subscribe(t, s, 0, EventFilter{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	unanswered(t, s, itemChange(newItem("b", acop.StatusReady)))
	rev := commit(t, s, itemChange(newItem("c", acop.StatusReady)), itemChange(newItem("d", acop.StatusReady)))
	if rev != 4 {
		t.Fatalf("the act after the lost answer is at %d", rev)
	}
	mustItem(t, s, "b")
	unanswered(t, s, itemChange(newItem("e", acop.StatusReady)))
	s.engine().writings.ask()
	if err := s.WaitRevision(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	commit(t, s, itemChange(mustItem(t, s, "e").Clone()))
	for _, want := range []uint64{1, 2, 4, 5, 6} {
		if e := next(t, sub); e[0].Revision != want {
			t.Errorf("wanted the act at %d, got %+v", want, e)
		}
	}
	want := dump(s)
	closeIn(t, dir)
	if d := cmp.Diff(want, dump(open(t, Options{Dir: dir, Now: clock}))); d != "" {
		t.Error(d)
	}
}

// An answer that never comes costs nothing for good: the act's place among those
// under way is free when its writer gives up, and the act is read from the log. One
// that comes after that lets the follower look there as well.
func TestAnswerNeverComes(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	e := s.engine()
	ws := e.writings
	w := func(id string) *writing {
		t.Helper()
		c := itemChange(newItem(id, acop.StatusReady))
		w := &writing{done: make(chan error, 1)}
		if err := s.message(w, &c, subjectOf(&c.Record), part{}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	over := make(chan time.Time)
	close(over)
	if err := ws.sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		if err := s.writeOne(e, w(fmt.Sprint(i)), over); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("a write without an answer: %v", err)
		}
		for last := uint64(0); last <= i; {
			info, err := e.stream.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			last = info.State.LastSeq
		}
		ws.ask() // the first look may have come before the engine had the act
		if err := s.WaitRevision(t.Context(), i+1); err != nil {
			t.Fatal(err)
		}
	}
	ws.mu.Lock()
	if len(ws.slots) != 0 || len(ws.open) != 0 {
		t.Errorf("%d places are taken for ever, %d acts are waited for", len(ws.slots), len(ws.open))
	}
	ws.mu.Unlock()

	var err error
	if ws.sub, err = e.nc.ChanSubscribe(ws.prefix+"*", ws.answers); err != nil {
		t.Fatal(err)
	}
	if err := s.writeOne(e, w("late"), over); err != nil && !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	if err := s.WaitRevision(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if rev := commit(t, s, itemChange(newItem("after", acop.StatusReady))); rev != 5 {
		t.Errorf("the next act is at %d", rev)
	}
}

// A log that does not answer in time is no damage: it is read again.
func TestReadAgainLater(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	commit(t, s, itemChange(newItem("a", acop.StatusReady)))
	late, cancel := context.WithCancel(t.Context())
	cancel()
	f := &follower{s: s, e: s.engine(), next: 1, ready: map[uint64]*writing{}}
	if err := f.catchUp(late, false); !errors.Is(err, errLater) || f.next != 1 {
		t.Errorf("a look that came too late: %v, next %d", err, f.next)
	}
	commit(t, s, itemChange(newItem("b", acop.StatusReady)))
}

// Acts of one and of several records from many writers at once become visible
// whole, in the order of the log, and to their writer before it goes on; what is
// shown is what a start finds.
func TestManyWritersInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	sub := subscribe(t, s, 0, EventFilter{})
	const writers, rounds = 24, 8
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range rounds {
				var cs []Change
				for k := range 1 + n%3 {
					cs = append(cs, itemChange(newItem(fmt.Sprint(n, " ", i, " ", k), acop.StatusReady), "put", "note"))
				}
				rev, err := s.CommitAll(context.Background(), cs)
				if err != nil {
					t.Error(err)
					return
				}
				for k, c := range cs {
					it, ok := s.Item(c.Record.ID)
					if !ok || it.Revision != rev-uint64(len(cs)-1-k) {
						t.Errorf("the writer of %q at %d sees %+v", c.Record.ID, rev, it)
					}
				}
			}
		})
	}
	at := uint64(0)
	for range writers * rounds {
		events := next(t, sub)
		records := uint64(len(events) / 2)
		if got := events[0].Revision; got != at+records {
			t.Fatalf("an act of %d records at %d came after %d", records, got, at)
		}
		at += records
		for i, e := range events {
			if e.Revision != at || e.Index != i || e.Last != (i == len(events)-1) || e.Item == nil {
				t.Fatalf("event %d of the act at %d: %+v", i, at, e)
			}
		}
	}
	wg.Wait()
	want := dump(s)
	closeIn(t, dir)
	if d := cmp.Diff(want, dump(open(t, Options{Dir: dir, Now: clock}))); d != "" {
		t.Error(d)
	}
}
