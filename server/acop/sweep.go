package acop

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// owed are acts whose followers are not all free yet: the time of the caller's act was
// over, or the log took no writes.
type owed struct {
	sync.Mutex
	acts []*request
}

func (o *owed) add(r *request) {
	o.Lock()
	defer o.Unlock()
	o.acts = append(o.acts, r)
}

func (o *owed) take() []*request {
	o.Lock()
	defer o.Unlock()
	acts := o.acts
	o.acts = nil
	return acts
}

// followUp frees what an act leaves to be freed, in a time of its own, and owes the
// rest to the next sweep.
func (s *service) followUp(ctx context.Context, r *request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
	defer cancel()
	if !s.freeLate(ctx, r) {
		s.owed.add(r)
	}
}

// freeLate looks after what one act on one item can miss: an item that begins to
// wait for another while that one is being accepted or replaced, those for which the
// act of acceptance had no room, and those that waited for what was replaced. Of two
// acts that miss each other the second sees both. It reports whether all are free.
func (s *service) freeLate(ctx context.Context, r *request) bool {
	var ids []string
	switch r.Verb {
	case core.VerbPut, core.VerbBlock, core.VerbResolve:
		ids = []string{r.WorkItemID}
	case core.VerbAccept, core.VerbSupersede, core.VerbSendBack:
		ids = s.store.Dependents(r.WorkItemID)
	}
	if len(ids) == 0 {
		return true
	}
	d := s.desk(Caller{Identity: ownerActor, Role: core.RoleOrchestrator}, nil)
	if len(ids) > 1 {
		s.freeMany(ctx, d, ids)
	}
	for _, id := range ids {
		for try := range mostTries {
			it, known := s.store.Item(id)
			if !known || !slices.ContainsFunc(it.Blockers, d.loose) || !s.settleItem(ctx, it) {
				break
			}
			pause(ctx, try)
		}
	}
	return !slices.ContainsFunc(ids, func(id string) bool {
		it, known := s.store.Item(id)
		return known && slices.ContainsFunc(it.Blockers, d.loose) && len(d.open(it).events) > 0
	})
}

// freeMany frees items in few acts. It leaves alone what somebody else changes
// at the same time.
func (s *service) freeMany(ctx context.Context, d *desk, ids []string) {
	for part := range slices.Chunk(ids, mostFreed) {
		var changes []store.Change
		for _, id := range part {
			it, known := s.store.Item(id)
			if !known || !slices.ContainsFunc(it.Blockers, d.loose) {
				continue
			}
			if dr := d.open(it); len(dr.events) > 0 {
				changes = append(changes, dr.change())
			}
		}
		if len(changes) == 0 {
			continue
		}
		if _, err := s.store.CommitAll(ctx, changes); err != nil && !errors.Is(err, store.ErrConflict) {
			s.log.Warn("items that wait for accepted work were not freed together", "count", len(changes), "error", err)
		}
	}
}

// freeAll looks after what still waits for accepted or replaced work because the
// owner died right behind that act.
func (s *service) freeAll(ctx context.Context) {
	for _, id := range s.store.Awaited() {
		if it, known := s.store.Item(id); known && (it.Status() == core.StatusAccepted || it.Status() == core.StatusConsumed || it.SupersededBy != "") {
			r := &request{}
			r.Verb, r.WorkItemID = core.VerbAccept, id
			s.followUp(ctx, r)
		}
	}
}

// sweep settles regularly until the context ends.
func (s *service) sweep(ctx context.Context, every time.Duration) {
	s.freeAll(ctx)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.settle(ctx)
			for _, r := range s.owed.take() {
				s.followUp(ctx, r)
			}
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
