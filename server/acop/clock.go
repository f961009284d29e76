package acop

import (
	"sync"
	"time"

	core "signalbox/model/acop"
)

// Clock is where the owner takes its time from. Wall is what the machine
// believes; Elapsed is how much real time passed since any fixed moment and
// never goes backwards. Both may be called from any goroutine.
type Clock interface {
	Wall() time.Time
	Elapsed() time.Duration
}

// ownerClock is the owner's one clock: the wall clock at the anchor plus the
// real time since. Stepping the wall clock does not move it.
type ownerClock struct {
	source Clock

	mu     sync.Mutex
	anchor time.Time
	at     time.Duration
}

// newOwnerClock anchors the clock at the wall clock, but never before floor,
// the youngest instant known from the log: after a restart with the wall clock
// set back, no lease has more left than its granted term.
func newOwnerClock(source Clock, floor time.Time) *ownerClock {
	wall := source.Wall()
	if wall.Before(floor) {
		wall = floor
	}
	return &ownerClock{source: source, anchor: wall, at: source.Elapsed()}
}

func (c *ownerClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.anchor.Add(c.source.Elapsed() - c.at)
}

func (c *ownerClock) stamp() core.Time { return core.NewTime(c.now()) }

// drifted tells whether the wall clock was corrected since the anchor.
func (c *ownerClock) drifted() bool {
	return c.source.Wall().Sub(c.now()).Abs() >= time.Second
}

// reanchor follows a corrected wall clock. It may be called only while no lease
// runs and none is being granted, because it would change what is left of it.
func (c *ownerClock) reanchor() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.anchor, c.at = c.source.Wall(), c.source.Elapsed()
}
