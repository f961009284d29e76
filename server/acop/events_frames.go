package acop

import (
	"cmp"
	"slices"
	"sync"

	core "signalbox/model/acop"
)

// The bounds of what is kept ready for readers that are a little behind.
const (
	mostFrames     = 256
	mostFrameBytes = 8 << 20
)

// frameCache renders the events of an act once for all readers that take all of
// them: 200 dashboards get the same bytes. It holds the newest acts only.
type frameCache struct {
	mu    sync.Mutex
	byRev map[uint64]*rendered
	order []*rendered // by revision
	bytes int
}

// rendered is one act on the wire.
type rendered struct {
	rev  uint64
	once sync.Once
	b    []byte // set by once; never changed
}

// of returns the frames of a whole act. The result is shared.
func (c *frameCache) of(events []core.Event) []byte {
	f := c.at(events[0].Revision)
	f.once.Do(func() {
		f.b = frames(events)
		c.account(f)
	})
	return f.b
}

func (c *frameCache) at(rev uint64) *rendered {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.byRev[rev]
	if f == nil {
		if c.byRev == nil {
			c.byRev = make(map[uint64]*rendered)
		}
		f = &rendered{rev: rev}
		c.byRev[rev] = f
	}
	return f
}

// account lets go of the oldest acts as far as there are too many: of the oldest in
// the log, so that a reader of old history takes no place from what all others
// follow. The newest one stays, whatever its size.
func (c *frameCache) account(f *rendered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, _ := slices.BinarySearchFunc(c.order, f.rev, func(o *rendered, rev uint64) int { return cmp.Compare(o.rev, rev) })
	c.order, c.bytes = slices.Insert(c.order, at, f), c.bytes+len(f.b)
	for len(c.order) > 1 && (len(c.order) > mostFrames || c.bytes > mostFrameBytes) {
		old := c.order[0]
		c.order, c.bytes = slices.Delete(c.order, 0, 1), c.bytes-len(old.b)
		delete(c.byRev, old.rev)
	}
}
