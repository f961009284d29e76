package acmp

import (
	"sync"

	"signalbox/model/acmp"
)

// The bounds of what a slow consumer may leave waiting per task.
const (
	maxQueuedEvents = 256
	maxQueuedBytes  = 1 << 20
)

// queue holds the events of one task for its consumer. Chunks and heartbeats
// wait while it is full, so that the stream stalls and nothing is dropped;
// the few events of the runner itself always find room.
type queue struct {
	mu     sync.Mutex
	events []acmp.TaskEvent
	spare  []acmp.TaskEvent // given back by the consumer, empty
	bytes  int
	closed bool
	ready  chan struct{} // one token: there may be something
	space  chan struct{} // one token: there may be room
}

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func size(ev *acmp.TaskEvent) int { return len(ev.Chunk.Data) + len(ev.Detail) }

// put adds ev at once, whatever the bounds.
func (q *queue) put(ev acmp.TaskEvent) {
	q.mu.Lock()
	if !q.closed {
		q.events = append(q.events, ev)
		q.bytes += size(&ev)
	}
	q.mu.Unlock()
	token(q.ready)
}

// offer adds ev if there is room.
func (q *queue) offer(ev acmp.TaskEvent) bool {
	q.mu.Lock()
	full := len(q.events) >= maxQueuedEvents || (len(q.events) > 0 && q.bytes+size(&ev) > maxQueuedBytes)
	if !full && !q.closed {
		q.events = append(q.events, ev)
		q.bytes += size(&ev)
	}
	q.mu.Unlock()
	if !full {
		token(q.ready)
	}
	return !full
}

// close lets the consumer end once it has taken what is there.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	token(q.ready)
}

// take waits for events and gives all there are; false when there will be none
// any more. done takes back what take gave before, which may be nil.
func (q *queue) take(done []acmp.TaskEvent) ([]acmp.TaskEvent, bool) {
	clear(done) // their chunks are not held any longer
	for {
		q.mu.Lock()
		if done != nil {
			q.spare, done = done[:0], nil
		}
		evs, closed := q.events, q.closed
		if len(evs) > 0 {
			q.events, q.spare, q.bytes = q.spare, nil, 0
		}
		q.mu.Unlock()
		if len(evs) > 0 {
			token(q.space)
			return evs, true
		}
		if closed {
			return nil, false
		}
		<-q.ready
	}
}
