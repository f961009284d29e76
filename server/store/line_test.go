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

// A writer whose answer was lost with the connection to the engine is told soon,
// and not when the time for an act is over.
func TestAnswerLostWithTheConnection(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	e := s.engine()
	if err := e.writings.sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	started := time.Now()
	go func() {
		_, err := s.Commit(context.Background(), itemChange(newItem("a", acop.StatusReady)))
		told <- err
	}()
	for last := uint64(0); last == 0; { // the engine has it, and its answer went nowhere
		info, err := e.stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = info.State.LastSeq
	}
	if err := e.nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	err := <-told
	if took := time.Since(started); !errors.Is(err, ErrUnavailable) || took > commitWait/2 {
		t.Errorf("after %s: %v", took, err)
	}
	if err := s.WaitRevision(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	mustItem(t, s, "a") // it was written, and is shown
}

// However often the connection is cut while acts of one and of several records are
// under way: each writer is told in good time, what was acknowledged is there, and
// the log stays whole.
func TestConnectionCutUnderWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Now: clock})
	const writers, rounds = 12, 30
	over := make(chan struct{})
	var cutter, wg sync.WaitGroup
	cutter.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := s.engine().nc.ForceReconnect(); err != nil {
					t.Error(err)
				}
			case <-over:
				return
			}
		}
	})
	var mu sync.Mutex
	var longest time.Duration
	lost := 0
	for n := range writers {
		wg.Go(func() {
			for i := range rounds {
				var cs []Change
				for k := range 1 + n%3 {
					cs = append(cs, itemChange(newItem(fmt.Sprint(n, " ", i, " ", k), acop.StatusReady)))
				}
				started := time.Now()
				_, err := s.CommitAll(context.Background(), cs)
				took := time.Since(started)
				mu.Lock()
				longest = max(longest, took)
				if err != nil {
					lost++
				}
				mu.Unlock()
				if err != nil && !errors.Is(err, ErrUnavailable) {
					t.Errorf("a write over a connection that was cut: %v", err)
				}
				for _, c := range cs {
					if _, there := s.Item(c.Record.ID); err == nil && !there {
						t.Errorf("acknowledged %q is not there", c.Record.ID)
					}
				}
			}
		})
	}
	wg.Wait()
	close(over)
	cutter.Wait()
	t.Logf("%d of %d acts ended unknown, the longest took %s", lost, writers*rounds, longest)
	if longest > commitWait/2 {
		t.Errorf("a writer waited %s", longest)
	}
	commitSoon(t, s, itemChange(newItem("after", acop.StatusReady)))
	want := dump(s)
	closeIn(t, dir)
	if got := dump(open(t, Options{Dir: dir, Now: clock})); got["head"] != want["head"] || got["sum"] != want["sum"] {
		t.Error("the next start finds another log")
	}
}
