package acmp

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Close ends the buyer: streams are closed without cancelling their tasks, which
// a later run re-attaches; providers on stdio are ended. When ctx ends first, the
// children are killed.
func (b *Buyer) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.watchers.Wait()
		b.end()
	}()
	select {
	case <-done:
		b.kill()
		return nil
	case <-ctx.Done():
		b.kill()
	}
	select {
	case <-done:
		return nil
	case <-time.After(time.Second):
		return fmt.Errorf("close the buyer: %w", context.Cause(ctx))
	}
}

// end ends the tasks first, whose last messages need the links, then the links;
// when Close may wait no longer, the links all the same.
func (b *Buyer) end() {
	ended := make(chan struct{})
	go func() { b.runners.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-b.env.last.Done():
	}
	var wg sync.WaitGroup
	for _, l := range b.links {
		wg.Go(l.close)
	}
	wg.Wait()
	b.env.dog.close()
	<-ended
}
