package acop

import (
	"context"
	"errors"
	"slices"
	"time"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// settle writes down what ended by time alone, so that everyone sees the event
// once. It is bookkeeping: decisions do not wait for it, but reads do, so that
// none of them shows a lease that is over. Of several owners or readers that do
// it at once, only one record can win.
func (s *service) settle(ctx context.Context) {
	if len(s.store.Due(s.clock.now())) == 0 {
		return
	}
	s.settling.Lock()
	defer s.settling.Unlock()
	for try := range mostTries {
		again := false
		for _, it := range s.store.Due(s.clock.now()) {
			again = s.settleItem(ctx, it) || again
		}
		if !again || ctx.Err() != nil {
			return
		}
		pause(ctx, try) // whoever was first is not to be seen yet
	}
}

// settleItem reports whether somebody else was first and it must be looked at
// again.
func (s *service) settleItem(ctx context.Context, it *core.Item) (again bool) {
	d := s.desk(Caller{Identity: ownerActor, Role: core.RoleOrchestrator}, nil)
	dr := d.open(it)
	if len(dr.events) == 0 {
		return false
	}
	_, err := s.store.Commit(ctx, dr.change())
	switch {
	case err == nil:
		if dr.ended != nil {
			s.count.expired.Add(1)
		}
	case errors.Is(err, store.ErrConflict):
		return true
	case ctx.Err() == nil:
		s.log.Warn("an ended lease was not written down", "work_item_id", it.ID(), "error", err)
	}
	return false
}

// freeLate looks after the one thing that two acts on different items can miss
// together: an item that begins to wait for another while that one is being
// accepted. Each act is seen by whichever of the two was second.
func (s *service) freeLate(ctx context.Context, r *request) {
	var ids []string
	switch r.Verb {
	case core.VerbPut, core.VerbBlock, core.VerbResolve:
		ids = []string{r.WorkItemID}
	case core.VerbAccept:
		ids = s.store.Dependents(r.WorkItemID)
	}
	if len(ids) == 0 {
		return
	}
	d := s.desk(Caller{Identity: ownerActor, Role: core.RoleOrchestrator}, nil)
	for _, id := range ids {
		for try := range mostTries {
			it, known := s.store.Item(id)
			if !known || !slices.ContainsFunc(it.Blockers, d.met) || !s.settleItem(ctx, it) {
				break
			}
			pause(ctx, try)
		}
	}
}

// sweep settles regularly until the context ends.
func (s *service) sweep(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.settle(ctx)
			s.followWall()
		}
	}
}

// followWall takes over a corrected wall clock as soon as no lease runs. Acts
// wait meanwhile, so that none is granted on the old time.
func (s *service) followWall() {
	if !s.clock.drifted() {
		return
	}
	s.steady.Lock()
	defer s.steady.Unlock()
	if len(s.store.LiveLeases()) == 0 {
		s.clock.reanchor()
	}
}
