package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// waiters are the goroutines that wait for a revision. Each has a channel of
// its own, so that an applied act wakes only those it concerns.
type waiters struct {
	mu   sync.Mutex
	list []waiter
}

type waiter struct {
	rev  uint64
	done chan struct{}
}

func (w *waiters) add(rev uint64) chan struct{} {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, waiter{rev, c})
	return c
}

func (w *waiters) drop(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(x waiter) bool { return x.done == c })
}

func (w *waiters) reached(rev uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(x waiter) bool {
		if x.rev > rev {
			return false
		}
		close(x.done)
		return true
	})
}

// WaitRevision waits until the projection shows revision n. It ends with the
// error of ctx, with [ErrClosed], or with [ErrUnavailable] when the projection
// can no longer follow.
func (s *Store) WaitRevision(ctx context.Context, n uint64) error {
	if s.Revision() >= n {
		return nil
	}
	c := s.waits.add(n)
	defer s.waits.drop(c)
	// The act may have been applied between the look and the registration.
	if s.Revision() >= n {
		return nil
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	case <-s.failed:
		return fmt.Errorf("%w: %w", ErrUnavailable, s.failure)
	}
}
