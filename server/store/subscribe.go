package store

import (
	"context"
	"slices"
	"sync"

	"signalbox/model/acop"
)

// Subscription hands out the acts of the log in order, each once: history from
// the log first, then live. Next is called by one goroutine at a time, Close
// may be called by any. It holds no goroutine and needs no draining.
type Subscription struct {
	s      *Store
	filter EventFilter
	at     uint64 // everything up to here was handed out or filtered away
	live   bool   // the ring was reached; falling out of it means lost
	old    []*act // history that was read ahead

	once   sync.Once
	closed chan struct{}
}

// Subscribe starts after a revision; 0 means from the oldest event that is kept.
// ctx is only for the call itself. *[ErrCursorAhead] means that the log has not come that
// far, *[ErrLost] that it no longer reaches that far back.
func (s *Store) Subscribe(ctx context.Context, after uint64, filter EventFilter) (*Subscription, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if last := s.Revision(); after > last {
		return nil, &ErrCursorAhead{Last: last}
	}
	if after == 0 && s.tail > 0 {
		after = s.tail - 1
	}
	if after+1 < s.tail {
		return nil, &ErrLost{Resume: s.tail - 1}
	}
	s.hub.count(+1)
	return &Subscription{s: s, filter: filter, at: after, closed: make(chan struct{})}, nil
}

// Close ends the subscription; a waiting Next returns [ErrClosed].
func (sub *Subscription) Close() {
	sub.once.Do(func() {
		close(sub.closed)
		sub.s.hub.count(-1)
	})
}

// Next returns the events of the next act that pass the filter, all of them
// together, and waits until there is one. The last of them is marked Last even
// if the filter took the act's own last one away. A reader that fell behind by
// more than the buffer gets *[ErrLost], and no more. The events are shared.
func (sub *Subscription) Next(ctx context.Context) ([]acop.Event, error) {
	for {
		a, wake, err := sub.step(ctx)
		if err != nil {
			return nil, err
		}
		if a != nil {
			sub.at = a.rev
			if events := sub.filter.apply(a.events); len(events) > 0 {
				return events, nil
			}
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-sub.closed:
			return nil, ErrClosed
		case <-sub.s.done:
			return nil, ErrClosed
		}
	}
}

// step returns the next act or what to wait for.
func (sub *Subscription) step(ctx context.Context) (*act, <-chan struct{}, error) {
	select {
	case <-sub.closed:
		return nil, nil, ErrClosed
	default:
	}
	if len(sub.old) > 0 {
		a := sub.old[0]
		sub.old = sub.old[1:]
		return a, nil, nil
	}
	a, wake, floor, inside := sub.s.hub.next(sub.at)
	if inside {
		sub.live = true
		return a, wake, nil
	}
	if sub.live {
		return nil, nil, &ErrLost{Resume: sub.at}
	}
	acts, err := sub.s.readActs(ctx, sub.at, floor)
	if err != nil {
		return nil, nil, err
	}
	if len(acts) == 0 {
		// Only a hole that was accepted as lost lies between here and there.
		sub.at = floor
	}
	sub.old = acts
	return nil, closedChan, nil
}

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// apply returns the events that pass; without a filter all of them, uncopied.
func (f EventFilter) apply(events []acop.Event) []acop.Event {
	if len(f.WorkItems) == 0 && len(f.Families) == 0 {
		return events
	}
	var out []acop.Event
	for i := range events {
		if f.passes(&events[i]) {
			out = append(out, events[i])
		}
	}
	if len(out) > 0 {
		out[len(out)-1].Last = true
	}
	return out
}

func (f EventFilter) passes(e *acop.Event) bool {
	return (len(f.WorkItems) == 0 || slices.Contains(f.WorkItems, e.WorkItemID)) &&
		(len(f.Families) == 0 || slices.Contains(f.Families, e.Family))
}
