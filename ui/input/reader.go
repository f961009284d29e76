package input

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/muesli/cancelreader"
)

const (
	// Hold is how long an incomplete sequence or character is waited for.
	Hold = 150 * time.Millisecond
	// brokenFor is how long the rest of a broken report is dropped.
	brokenFor = time.Second
	// apart is how far a key comes behind the escape key at least. What a terminal
	// sends for a key with alt comes in one piece.
	apart = 25 * time.Millisecond
	// limit bounds what is held, in bytes.
	limit = 4 << 10
)

// source is what a Reader reads from; Cancel ends a Read under way.
type source interface {
	io.Reader
	Cancel() bool
}

// Reader is the input of the dashboard.
type Reader struct {
	file *os.File
	open func() (source, error)

	mu   sync.Mutex
	wake *sync.Cond
	src  source
	done chan struct{} // closed when the pump has ended

	held    []byte // incomplete
	ready   []byte
	err     error
	paused  bool
	turn    int       // of the newest Read
	expiry  int       // id of the timer under way
	broken  byte      // the kind of a sequence whose rest is dropped; 0: none
	ended   byte      // the last byte of it so far
	alone   time.Time // when an escape came with nothing behind it
	pasting bool      // what comes is pasted text
	late    bool      // an escape went through alone: its tail may follow
	dropped int
}

// New makes a Reader of f, usually the standard input. It reads nothing before
// the first Read.
func New(f *os.File) *Reader {
	r := &Reader{file: f}
	r.open = func() (source, error) { return cancelreader.NewReader(f) }
	r.wake = sync.NewCond(&r.mu)
	return r
}

// Fd is the descriptor on which raw mode is set.
func (r *Reader) Fd() uintptr { return r.file.Fd() }

// File is the terminal itself, for a program that the input is left to.
func (r *Reader) File() *os.File { return r.file }

// Write writes to the terminal.
func (r *Reader) Write(p []byte) (int, error) { return r.file.Write(p) }

// Close ends the reading; the file stays open.
func (r *Reader) Close() error {
	r.mu.Lock()
	if r.err == nil {
		r.err = io.EOF
	}
	r.wake.Broadcast()
	r.mu.Unlock()
	r.stop()
	return nil
}

// Read gives whole characters and whole sequences. When another Read begins or
// the Reader is paused, it returns with nothing.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	mine := r.turn
	r.wake.Broadcast()
	if err := r.start(); err != nil {
		return 0, err
	}
	for len(r.ready) == 0 && r.err == nil && mine == r.turn && !r.paused {
		r.wake.Wait()
	}
	switch {
	case mine != r.turn || r.paused:
		return 0, nil
	case len(r.ready) > 0:
		n := copy(p, r.ready)
		r.ready = r.ready[n:]
		return n, nil
	}
	return 0, r.err
}

// Pause leaves the terminal's input to another program until the returned
// function is called.
func (r *Reader) Pause() (resume func()) {
	r.mu.Lock()
	r.paused = true
	r.wake.Broadcast()
	r.mu.Unlock()
	r.stop()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paused = false
		r.wake.Broadcast()
	}
}

// start runs the pump unless it runs. The caller holds mu.
func (r *Reader) start() error {
	if r.src != nil || r.err != nil || r.paused {
		return nil
	}
	src, err := r.open()
	if err != nil {
		return err
	}
	r.src, r.done = src, make(chan struct{})
	go r.pump(src, r.done)
	return nil
}

// stop ends the pump and waits for it, if it can be ended while it reads.
func (r *Reader) stop() {
	r.mu.Lock()
	src, done := r.src, r.done
	r.src = nil
	r.mu.Unlock()
	if src != nil && src.Cancel() {
		<-done
	}
}

// pump reads the terminal until it ends or is stopped.
func (r *Reader) pump(src source, done chan struct{}) {
	defer close(done)
	buf := make([]byte, 4096)
	for {
		n, err := src.Read(buf)
		r.mu.Lock()
		if n > 0 {
			r.take(buf[:n])
		}
		if err != nil && r.src == src {
			r.flush()
			r.src = nil
			if !errors.Is(err, cancelreader.ErrCanceled) {
				r.err = err
			}
		}
		r.wake.Broadcast()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// take adds bytes and passes on what is whole. The caller holds mu.
func (r *Reader) take(b []byte) {
	b = r.dropRest(b)
	if len(r.held) == 1 && r.held[0] == esc && !r.pasting && time.Since(r.alone) >= apart && pressed(b) {
		r.flush() // the escape key, and then another one
	}
	r.held = append(r.held, b...)
	if r.late && len(r.held) > 0 {
		if m := tail.Find(r.held); m != nil {
			r.held = r.held[len(m):]
			r.dropped += len(m)
		}
		r.late = false
	}
	n := r.pass()
	r.held = append(r.held[:0], r.held[n:]...)
	if len(r.held) > limit {
		r.giveUp()
	}
	if len(r.held) == 1 {
		r.alone = time.Now()
	}
	if len(r.held) > 0 {
		r.after(Hold, r.expire)
	}
}

// pass passes on the whole units of what is held and returns their length.
func (r *Reader) pass() (n int) {
	for n < len(r.held) {
		size := next(r.held[n:])
		if size == 0 {
			break
		}
		r.give(r.held[n : n+size])
		n += size
	}
	return n
}

// give passes on one unit. An escape that stands alone is passed on as the sequence
// that means the escape key and nothing else: of the byte and what comes next Bubble
// Tea would make one key with alt. In pasted text it is no key.
func (r *Reader) give(unit []byte) {
	switch string(unit) {
	case pasteStart:
		r.pasting = true
	case pasteEnd:
		r.pasting = false
	case "\x1b":
		if !r.pasting {
			unit = []byte(escapeKey)
		}
	}
	r.ready = append(r.ready, unit...)
}

// dropRest takes away what still belongs to a broken report.
func (r *Reader) dropRest(b []byte) []byte {
	if r.broken == 0 {
		return b
	}
	n, ended := rest(r.broken, r.ended, b)
	r.dropped += n
	r.ended = b[len(b)-1]
	if ended {
		r.broken = 0
	}
	return b[n:]
}

// after runs f in d unless a newer wait begins. The caller holds mu.
func (r *Reader) after(d time.Duration, f func()) {
	r.expiry++
	id := r.expiry
	time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if id == r.expiry {
			f()
			r.wake.Broadcast()
		}
	})
}

// expire decides on what did not become whole in time.
func (r *Reader) expire() {
	switch {
	case len(r.held) == 0:
		return
	case r.held[0] != esc:
		r.flush() // part of a character: the decoder marks it
	case len(r.held) <= 2:
		// The escape key, or a key with alt.
		r.flush()
		r.late = true
		r.after(brokenFor, func() { r.late = false })
	default:
		r.giveUp()
	}
}

// giveUp drops an incomplete report and what will still come of it.
func (r *Reader) giveUp() {
	r.broken, r.ended = r.held[1], r.held[len(r.held)-1]
	r.dropped += len(r.held)
	r.held = r.held[:0]
	r.after(brokenFor, func() { r.broken = 0 })
}

// flush passes on what is held, whole or not.
func (r *Reader) flush() {
	if len(r.held) > 0 {
		r.give(r.held)
	}
	r.held = r.held[:0]
}
