package store

import (
	"sort"
	"sync"
)

// hub keeps the newest acts for all subscribers together. The follower puts an
// act in and wakes who waits; it never waits for a reader, and 200 readers share
// one copy of every event. A reader that falls out of the ring is lost.
type hub struct {
	mu    sync.Mutex
	ring  []*act
	start int // place of the oldest act in ring
	n     int
	// floor is the revision after which the ring holds everything.
	floor uint64
	wake  chan struct{} // closed and replaced when there are new acts
	subs  int
}

func newHub(size int, floor uint64) *hub {
	return &hub{ring: make([]*act, size), floor: floor, wake: make(chan struct{})}
}

func (h *hub) put(acts ...*act) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range acts {
		if h.n == len(h.ring) {
			h.floor = h.ring[h.start].rev
			h.ring[h.start] = a
			h.start = (h.start + 1) % len(h.ring)
		} else {
			h.ring[(h.start+h.n)%len(h.ring)] = a
			h.n++
		}
	}
	close(h.wake)
	h.wake = make(chan struct{})
}

// next returns the first act after a revision. Without one it returns the
// channel that tells of the next. inside is false when the ring no longer holds
// everything after that revision; floor then tells from where on it does.
func (h *hub) next(after uint64) (a *act, wake <-chan struct{}, floor uint64, inside bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after < h.floor {
		return nil, nil, h.floor, false
	}
	i := sort.Search(h.n, func(i int) bool { return h.at(i).rev > after })
	if i == h.n {
		return nil, h.wake, h.floor, true
	}
	return h.at(i), nil, h.floor, true
}

func (h *hub) at(i int) *act { return h.ring[(h.start+i)%len(h.ring)] }

func (h *hub) count(d int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs += d
}

func (h *hub) subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.subs
}
