package tty

import (
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// Limit is how many bytes may wait in the dashboard before further writes are
	// refused: more than any frame has, so that it is reached only when a stopped
	// terminal is resized again and again.
	Limit = 1 << 20
	// piece is how many bytes are given to the terminal in one call: the kernel cuts
	// at this length anyway, and between the pieces progress can be seen.
	piece = 2 << 10
)

// ErrBehind refuses a write: the terminal has not yet taken as many bytes as may wait.
var ErrBehind = errors.New("the terminal takes nothing; the output was dropped")

// Writer is the output of the dashboard. It has what Bubble Tea wants of a terminal.
type Writer struct {
	file  *os.File
	limit int // bytes that may wait before writes are refused
	ready func(lost bool)

	mu      sync.Mutex
	moved   *sync.Cond // the terminal took something, or somebody waited long enough
	pending []byte     // taken, and not yet given to the terminal
	spare   []byte     // the buffer that pending does not use
	busy    bool       // the goroutine that writes runs
	waiting int        // bytes that the terminal has not taken yet
	taken   uint64     // bytes that it took so far
	asked   bool       // Behind has said yes since ready was called
	lost    bool       // a write was refused since ready was called
	err     error      // of the terminal; nothing is written any more
}

// New makes a Writer to f, usually the standard output, that refuses writes while
// limit bytes, usually [Limit], or more wait. When nothing waits any more,
// and [Writer.Behind] has reported otherwise or a write was refused since it was last
// called, ready is called in a goroutine of its own; lost tells that a write was
// refused, so that what the terminal shows is not what was written.
func New(f *os.File, limit int, ready func(lost bool)) *Writer {
	w := &Writer{file: f, limit: limit, ready: ready}
	w.moved = sync.NewCond(&w.mu)
	return w
}

// Write takes all of p, or nothing and returns [ErrBehind] or the error at which an
// earlier write ended. It never waits for the terminal.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return 0, w.err
	case w.waiting >= w.limit:
		w.lost = true
		return 0, ErrBehind
	case len(p) == 0:
		return 0, nil
	}
	w.pending = append(w.pending, p...)
	w.waiting += len(p)
	if !w.busy {
		w.busy = true
		go w.pump()
	}
	return len(p), nil
}

// Behind reports whether something waits for the terminal. When it does, ready tells
// the end of it.
func (w *Writer) Behind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = w.asked || w.busy
	return w.busy
}

// Drain waits until nothing waits for the terminal, as long as the terminal takes
// something every patience, and for within at most. It reports whether all is out.
func (w *Writer) Drain(patience, within time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for end := time.Now().Add(within); w.busy; {
		before, over := w.taken, false
		wait := time.AfterFunc(min(patience, time.Until(end)), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			over = true
			w.moved.Broadcast()
		})
		for w.busy && !over && w.taken == before {
			w.moved.Wait()
		}
		wait.Stop()
		if w.busy && over {
			return false
		}
	}
	return w.err == nil
}

// pump gives the terminal what waits, and ends when nothing does.
func (w *Writer) pump() {
	w.mu.Lock()
	for len(w.pending) > 0 && w.err == nil {
		batch := w.pending
		w.pending = w.spare[:0]
		w.send(batch)
		w.spare = batch
	}
	w.pending, w.waiting, w.busy = w.pending[:0], 0, false
	lost, tell := w.lost, w.asked || w.lost
	w.asked, w.lost = false, false
	w.moved.Broadcast()
	w.mu.Unlock()
	if tell {
		w.ready(lost)
	}
}

// send writes b piece by piece. The caller holds mu, which is free while the terminal
// is written to.
func (w *Writer) send(b []byte) {
	for len(b) > 0 && w.err == nil {
		p := b[:min(len(b), piece)]
		b = b[len(p):]
		w.mu.Unlock()
		n, err := w.file.Write(p)
		w.mu.Lock()
		w.taken += uint64(n)
		w.waiting -= n
		w.err = err
		w.moved.Broadcast()
	}
}

// Fd is the descriptor of the terminal, for its size and what it can.
func (w *Writer) Fd() uintptr { return w.file.Fd() }

// File is the terminal itself, for a program that the output is left to.
func (w *Writer) File() *os.File { return w.file }

// Read is there because Bubble Tea knows a terminal by it.
func (w *Writer) Read(p []byte) (int, error) { return w.file.Read(p) }

// Close leaves the file open: it is not the Writer's.
func (w *Writer) Close() error { return nil }
