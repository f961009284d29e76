package cli

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
)

// crash remembers the first panic of the dashboard's own goroutines, commands and
// event loop: the terminal is restored first, then a person gets one line, and the
// stack goes to a file (B88). All of them may come to it at once.
type crash struct {
	stop func() // ends the program in good order

	mu    sync.Mutex
	value any // nil: nothing crashed
	stack []byte
	at    time.Time
}

// catch is deferred at the top of every goroutine of ours and of Update and View.
func (c *crash) catch() {
	if v := recover(); v != nil {
		c.note(v, debug.Stack())
	}
}

func (c *crash) note(v any, stack []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.value != nil {
		return
	}
	c.value, c.stack, c.at = v, stack, time.Now()
	// Stopping needs the event loop, which may be the one that panicked.
	go c.stop()
}

// report writes the stack to a file in dir and gives the one line for a person;
// nil when nothing crashed. To be called when the terminal is restored.
func (c *crash) report(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.value == nil {
		return nil
	}
	path := filepath.Join(dir, "crash-"+c.at.UTC().Format("20060102-150405")+".txt")
	text := fmt.Appendf(nil, "signalbox crashed at %s\n%v\n\n%s", c.at.UTC().Format(time.RFC3339), c.value, c.stack)
	if err := makePrivateDir(dir); err != nil {
		return failf(exitFailed, "the program crashed, and the report could not be kept: %w", err)
	}
	if err := writePrivate(path, text); err != nil {
		return failf(exitFailed, "the program crashed, and the report could not be kept: %w", err)
	}
	return failf(exitFailed, "the program crashed; the report is in %s", path)
}
