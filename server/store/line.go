package store

import (
	"context"
	"sync"
	"time"
)

// cutPatience is how long after a new connection to the engine an answer may still
// come to what was sent over the old one: what had not left yet is sent anew.
const cutPatience = time.Second

// line is the connection to the engine as its writers see it: whoever sent
// something over one that was cut need not wait for the answer until its time is
// over.
type line struct {
	mu   sync.Mutex
	ctx  context.Context
	stop context.CancelFunc
}

func newLine() *line {
	l := &line{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// now is the connection of what is sent from now on. It ends when its answers are
// not to be expected any longer.
func (l *line) now() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// cut gives up, after some time, what was sent before.
func (l *line) cut(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	time.AfterFunc(after, l.stop)
	l.ctx, l.stop = context.WithCancel(context.Background())
}
