package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lockWait is how long a program waits for another one that changes the same file:
// far longer than any change takes.
const lockWait = 5 * time.Second

// holdFile takes the lock at path for this process until leave. The system frees it
// when the process dies, however it dies, so that nothing has to be taken over. The
// lock's file is removed at the end, by its holder alone.
func holdFile(ctx context.Context, path string) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, fmt.Errorf("another program has been changing it for %s; end that one first: it holds %s", lockWait, path))
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		f, err := tryHold(path)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if f != nil {
			// Removed while held: whoever has it open already finds, once it
			// gets the lock, that the path no longer leads there.
			return func() { _, _ = os.Remove(path), f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-again.C:
		}
	}
}

// tryHold takes the lock; nil when somebody else has it, or had it until now.
func tryHold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(f)
	if err == nil && held && leadsTo(path, f) {
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// leadsTo reports whether path still names the open file.
func leadsTo(path string, f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}
