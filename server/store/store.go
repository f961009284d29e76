package store

import (
	"context"
	"errors"
	"time"

	"signalbox/model/acop"
)

// Store is the log with its projection. All methods may be called from any
// goroutine. Whatever they return is shared and immutable.
type Store struct{}

var errClosed = errors.New("the log is closed")

// Open takes the folder, starts the engine, checks the log and loads it.
func Open(ctx context.Context, o Options) (*Store, error) { return nil, errClosed }

// Close ends all subscriptions and gives the folder free.
func (s *Store) Close() error { return nil }

// Commit writes one record if nobody changed its target since c.Expected, and
// returns its revision once the projection shows it. [ErrConflict] means that
// somebody was first.
func (s *Store) Commit(ctx context.Context, c Change) (revision uint64, err error) {
	return 0, errClosed
}

// CommitAll writes several records as one act: all of them or none. It returns
// the act's revision, which is that of its last record.
func (s *Store) CommitAll(ctx context.Context, cs []Change) (revision uint64, err error) {
	return 0, errClosed
}

// Revision is the last revision that the projection shows.
func (s *Store) Revision() uint64 { return 0 }

// WaitRevision waits until the projection shows revision n.
func (s *Store) WaitRevision(ctx context.Context, n uint64) error { return errClosed }

// Item returns the item with this id.
func (s *Store) Item(id string) (*acop.Item, bool) { return nil, false }

// Claim returns a claim, live or ended.
func (s *Store) Claim(claimID string) (acop.Claim, bool) { return acop.Claim{}, false }

// ItemOfIntent names the item that a claim intent was made for.
func (s *Store) ItemOfIntent(intentID string) (workItemID string, ok bool) { return "", false }

// Entry returns the blackboard entry with this id.
func (s *Store) Entry(entryID string) (acop.Posted, bool) { return acop.Posted{}, false }

// Entries returns blackboard entries, ascending by revision.
func (s *Store) Entries(q EntryQuery) []acop.Posted { return nil }

// Items answers an item query with one page, the cursor of the next one ("" at
// the end) and the revision the answer is true at.
func (s *Store) Items(q ItemQuery) (rows []*acop.Item, next string, revision uint64, err error) {
	return nil, "", 0, errClosed
}

// Dependents lists ids of items with an open dependency blocker on this item.
func (s *Store) Dependents(workItemID string) []string { return nil }

// LiveLeases lists the items that somebody holds.
func (s *Store) LiveLeases() []*acop.Item { return nil }

// Due lists items with a lease or a waiting intent that ran out at or before now.
func (s *Store) Due(now time.Time) []*acop.Item { return nil }

// Settings returns the owner's settings; the zero value when none were written.
func (s *Store) Settings() acop.Settings { return acop.Settings{} }

// Idempotent returns the remembered answer to a request and its revision.
func (s *Store) Idempotent(scope string) (rec Idempotency, revision uint64, ok bool) {
	return Idempotency{}, 0, false
}

// Snapshot returns all non-terminal state. Identity and Role are the caller's.
func (s *Store) Snapshot(now time.Time) *acop.Snapshot { return nil }

// History reads everything that happened to an item from the log.
func (s *Store) History(ctx context.Context, workItemID string) (events []acop.Event, claims []acop.Claim, err error) {
	return nil, nil, errClosed
}

// Subscription hands out the acts of the log in order.
type Subscription struct{}

// Subscribe starts after a revision: history first, then live.
func (s *Store) Subscribe(ctx context.Context, after uint64, filter EventFilter) (*Subscription, error) {
	return nil, errClosed
}

// Next returns the events of the next act, all of them together. It waits until
// there is one. A reader that fell behind gets *[ErrLost].
func (sub *Subscription) Next(ctx context.Context) ([]acop.Event, error) { return nil, errClosed }

// Close ends the subscription.
func (sub *Subscription) Close() {}
