package cli

import (
	"context"
	"errors"
	"time"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// How much of the past the Log begins with, and how long the first screen may
// wait for it.
const (
	historyActs = 400
	historyWait = 2 * time.Second
)

// watchOwner keeps put informed of everything at the owner until ctx ends, and
// first of the last acts before now.
func watchOwner(ctx context.Context, c *client.Client, put func(fleet.Fact) bool) {
	first := true
	_ = c.Watch(ctx, func(f fleet.Fact) {
		if snap, ok := f.(fleet.SnapshotLoaded); ok && first {
			first = false
			put(fleet.HistoryRead{Events: recentEvents(ctx, c, snap.Snapshot.Revision)})
		}
		put(f)
	})
}

// errCaughtUp ends the reading of history.
var errCaughtUp = errors.New("caught up")

// recentEvents reads the events of the last acts up to revision. What could not
// be read in time is left out: history must not hold up the present.
func recentEvents(ctx context.Context, c *client.Client, revision uint64) []acop.Event {
	if revision == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, historyWait)
	defer cancel()
	var events []acop.Event
	deliver := func(act []acop.Event) error {
		for _, e := range act {
			if e.Revision > revision {
				return errCaughtUp
			}
			events = append(events, e)
		}
		if act[len(act)-1].Revision >= revision {
			return errCaughtUp
		}
		return nil
	}
	after := revision - min(revision, historyActs)
	if err := c.Events(ctx, client.EventQuery{After: after}, deliver, nil); errors.Is(err, client.ErrLost) && after > 0 {
		// A compacted log begins later than that: take what there is.
		_ = c.Events(ctx, client.EventQuery{}, deliver, nil)
	}
	return events
}
