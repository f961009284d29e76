package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// sameInterrupt is the time within which two signals count as one.
const sameInterrupt = 250 * time.Millisecond

// interrupt tells a command that the user wants it to end: first once, so that
// it can clean up, then for good.
type interrupt struct {
	ctx    context.Context // of work that need not go on after the first
	cancel context.CancelFunc
	first  chan struct{}
	second chan struct{}
	sig    chan os.Signal
	quit   chan struct{}
	once   sync.Once
}

// watchInterrupt listens to SIGINT and SIGTERM; the end of ctx counts as the
// first. A pipe that closes gives an error on write, not the end of the process.
func watchInterrupt(ctx context.Context) *interrupt {
	i := &interrupt{
		first: make(chan struct{}), second: make(chan struct{}),
		sig: make(chan os.Signal, 4), quit: make(chan struct{}),
	}
	i.ctx, i.cancel = context.WithCancel(ctx)
	signal.Notify(i.sig, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	go i.watch(ctx)
	return i
}

func (i *interrupt) watch(ctx context.Context) {
	done := ctx.Done()
	var last time.Time
	for {
		select {
		case <-i.quit:
			return
		case <-done:
			done = nil
			i.fire()
		case s := <-i.sig:
			if s == syscall.SIGPIPE {
				continue
			}
			i.fire()
			// One ctrl+c may arrive twice: from the terminal and from a parent.
			if !last.IsZero() && time.Since(last) > sameInterrupt {
				close(i.second)
				return
			}
			last = time.Now()
		}
	}
}

func (i *interrupt) fire() {
	i.once.Do(func() {
		close(i.first)
		i.cancel()
	})
}

// asked reports whether an end was asked for.
func (i *interrupt) asked() bool {
	select {
	case <-i.first:
		return true
	default:
		return false
	}
}

// left reports whether the user will not wait any longer.
func (i *interrupt) left() bool {
	select {
	case <-i.second:
		return true
	default:
		return false
	}
}

func (i *interrupt) stop() {
	signal.Stop(i.sig)
	close(i.quit)
	i.cancel()
}
