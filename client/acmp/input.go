package acmp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"signalbox/model/acmp"
)

const (
	// maxInputKept bounds the input of one task that is held to be sent again, in
	// bytes; beyond it the oldest that the provider has taken go. It is no less than
	// what a provider holds of input that overtakes its invoke (D-14).
	maxInputKept = 1 << 20
	// inputTimeout bounds one send of a chunk. A provider that takes its time is
	// sent the same chunk again, which it ignores.
	inputTimeout = 30 * time.Second
)

// ErrUnconfirmed is returned for input that the provider has not confirmed yet. It
// is kept and goes out by itself, before all that is given later; giving it again
// would double it.
var ErrUnconfirmed = acmp.ErrUnconfirmed

// errInputEnded is the answer to input after the final chunk.
var errInputEnded = errors.New("the input of the task has ended already")

// input is the streamed input of one task. Each chunk gets the next seq and keeps
// it; it is sent until the provider confirms it, and all that is kept is sent once
// more behind each new send of the invoke, for the provider may have lost what came
// with a broken one (7.1). The provider ignores what it has (A-110, D-13).
//
//	given --> kept --sent--> confirmed --room is needed--> gone
//	           ^               |
//	           +-- re-sent ----+
//
// Callers of give add; the goroutine of feed sends.
type input struct {
	mu     sync.Mutex
	file   *inputFile // nil where nothing is kept on disk
	kept   []*piece   // by seq, without a gap
	bytes  int        // of kept
	next   int64      // seq of the next piece
	cursor int        // in kept: the next to send
	open   bool       // the invoke is with the provider
	done   bool       // the final chunk was given
	over   bool       // nothing is taken any more

	changed chan struct{} // closed and replaced at every change
}

// piece is one chunk on its way. Its members but msg are guarded by the input's mu
// until settled is closed.
type piece struct {
	msg       acmp.InputChunk
	confirmed bool
	tried     bool          // it may have arrived although no answer came
	settled   chan struct{} // closed when confirmed or refused
	refusal   error         // why the provider will not have it
}

func newInput(file *inputFile) *input { return &input{file: file, changed: make(chan struct{})} }

func newPiece(msg acmp.InputChunk) *piece { return &piece{msg: msg, settled: make(chan struct{})} }

func (in *input) change() {
	close(in.changed)
	in.changed = make(chan struct{})
}

// pieceSize is what a chunk counts for.
func pieceSize(c *acmp.InputChunk) int { return len(c.Chunk.Data) + len(c.Chunk.Type) + 64 }

// restore takes what an earlier run gave. Whether it arrived is not known.
func (in *input) restore() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	msgs, err := in.file.read()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		p := newPiece(m)
		p.tried = true
		in.kept = append(in.kept, p)
		in.bytes += pieceSize(&m)
		in.next, in.done = m.Seq+1, m.Final
	}
	return nil
}

// end takes nothing any more; with forget what is kept on disk goes, else it stays
// for the next run. A nil input does nothing.
func (in *input) end(forget bool) {
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.over {
		return
	}
	in.over = true
	if forget {
		in.file.remove()
	} else {
		in.file.close()
	}
	in.change()
}

// give adds one chunk, durably where a disk is there, and waits while more than
// maxInputKept is unconfirmed.
func (in *input) give(ctx context.Context, chunk acmp.Payload, final bool) (*piece, error) {
	for {
		p, changed, err := in.tryGive(chunk, final)
		if p != nil || err != nil {
			return p, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("it was not taken, for %d bytes before it are not confirmed yet: %w", maxInputKept, ctx.Err())
		}
	}
}

// tryGive is give without the waiting: where there is no room it gives the channel
// that tells of the next change.
func (in *input) tryGive(chunk acmp.Payload, final bool) (*piece, <-chan struct{}, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.over:
		return nil, nil, ErrEnded
	case in.done:
		return nil, nil, errInputEnded
	case !in.room():
		return nil, in.changed, nil
	}
	p, err := in.add(chunk, final)
	return p, nil, err
}

// room makes room for one more piece and reports whether there is any.
func (in *input) room() bool {
	n := 0
	for in.bytes > maxInputKept && n < in.cursor && in.kept[n].confirmed {
		in.bytes -= pieceSize(&in.kept[n].msg)
		n++
	}
	in.kept = slices.Delete(in.kept, 0, n)
	in.cursor -= n
	return in.bytes <= maxInputKept
}

func (in *input) add(chunk acmp.Payload, final bool) (*piece, error) {
	p := newPiece(acmp.InputChunk{Seq: in.next, Chunk: chunk, Final: final})
	kept := append(in.kept, p)
	// On disk before it is sent: its seq must never carry anything else.
	if err := in.file.add(kept); err != nil {
		return nil, fmt.Errorf("note it before sending: %w", err)
	}
	in.kept = kept
	in.bytes += pieceSize(&p.msg)
	in.next++
	in.done = final
	in.change()
	return p, nil
}

// begin lets the input go out, all that is kept once more: the invoke is on its
// way.
func (in *input) begin() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open, in.cursor = true, 0
	in.change()
}

// pause holds the input back until the next begin.
func (in *input) pause() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = false
}

// whole reports whether all of the input can be sent again from seq 0.
func (in *input) whole() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.next == int64(len(in.kept))
}

// due waits for the next piece to send; nil when ctx ends.
func (in *input) due(ctx context.Context) *piece {
	for {
		in.mu.Lock()
		if in.open && in.cursor < len(in.kept) {
			p := in.kept[in.cursor]
			in.mu.Unlock()
			return p
		}
		changed := in.changed
		in.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// sent notes what became of one send of p and reports whether the next may follow
// at once.
func (in *input) sent(p *piece, err error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	gone := refusedChunk(err)
	switch {
	case err == nil || (gone != nil && p.confirmed):
		// Also one that was sent once more and is not wanted.
		in.settle(p)
	case gone != nil && !p.tried:
		in.refuse(p, gone)
	default:
		p.tried = true
		return false
	}
	in.change()
	return true
}

func (in *input) settle(p *piece) {
	if !p.confirmed {
		p.confirmed = true
		close(p.settled)
	}
	if in.cursor < len(in.kept) && in.kept[in.cursor] == p { // else begun anew meanwhile
		in.cursor++
	}
}

// confirmAll takes all that was given for taken.
func (in *input) confirmAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.kept {
		if !p.confirmed {
			p.confirmed = true
			close(p.settled)
		}
	}
	in.change()
}

// refuse takes p, which the provider has answered that it will not have, and what
// stands behind it out again; their seqs are free.
func (in *input) refuse(p *piece, why error) {
	for i, k := range in.kept {
		if k != p {
			continue
		}
		for _, q := range in.kept[i:] {
			in.bytes -= pieceSize(&q.msg)
			q.refusal = why
			close(q.settled)
		}
		clear(in.kept[i:])
		in.kept, in.next, in.done = in.kept[:i], p.msg.Seq, false
		in.cursor = min(in.cursor, i)
		in.file.rewrite(in.kept)
		return
	}
}

// refusedChunk gives the error by which a provider says that it did not take a
// chunk and will not, or nil.
func refusedChunk(err error) error {
	var se *statusError
	if errors.As(err, &se) && !se.transient() {
		return se
	}
	return nil
}

// feed sends the input of t as it comes until ctx ends.
func (t *task) feed(ctx context.Context) {
	wait := backoff{first: 100 * time.Millisecond, most: 2 * time.Second}
	for {
		p := t.in.due(ctx)
		if p == nil {
			return
		}
		msg := p.msg
		msg.TaskID = t.id
		one, cancel := context.WithTimeout(ctx, inputTimeout)
		err := t.notify(one, acmp.MethodInputChunk, msg)
		cancel()
		if t.in.sent(p, err) {
			wait.reset()
		} else if !sleep(ctx, wait.next()) {
			return
		}
	}
}

// input gives one chunk to the provider and waits until it has taken it.
func (t *task) input(ctx context.Context, chunk acmp.Payload, final bool) error {
	if t.in == nil {
		return refuse(acmp.CodeFeatureUnsupported, "the task was not started with streamed input")
	}
	p, err := t.in.give(ctx, chunk, final)
	if err != nil {
		return fmt.Errorf("input for %s: %w", t.id, err)
	}
	select {
	case <-p.settled:
	case <-ctx.Done():
	case <-t.over:
	}
	select {
	case <-p.settled:
		if p.refusal != nil {
			return fmt.Errorf("input chunk %d for %s was refused: %w", p.msg.Seq, t.id, p.refusal)
		}
		return nil
	default:
	}
	if t.isEnded() && t.b.env.ctx.Err() == nil {
		return fmt.Errorf("input for %s: %w", t.id, ErrEnded)
	}
	return fmt.Errorf("input chunk %d for %s: %w", p.msg.Seq, t.id, ErrUnconfirmed)
}
