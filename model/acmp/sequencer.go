package acmp

import "errors"

// The bounds of what a [Sequencer] holds while it waits for a gap (D-14).
const (
	MaxHeldChunks = 64
	MaxHeldBytes  = 1 << 20
)

// ErrHeldFull is what a [Sequencer] answers when it would have to hold more than
// its bounds allow; the chunk was not taken.
var ErrHeldFull = errors.New("too many input chunks wait for a missing one")

// Sequencer puts input chunks into the order of seq whatever order they arrive
// in (A-109, D-13): contiguous from 0, the first chunk of a seq wins, nothing
// counts after the final one. It is a plain value without a lock; the
// zero Sequencer is ready.
type Sequencer struct {
	next  int64
	last  int64 // seq of the final chunk, when known
	ended bool  // last is known
	held  map[int64]InputChunk
	bytes int
}

// Push takes one chunk and returns those that are now due, in order: none while
// one is missing. Repeated and late chunks give nothing. Only [ErrHeldFull] is
// ever returned as an error.
func (q *Sequencer) Push(c InputChunk) ([]InputChunk, error) {
	if c.Seq < q.next || q.ended && c.Seq > q.last {
		return nil, nil
	}
	if _, dup := q.held[c.Seq]; dup {
		return nil, nil
	}
	if c.Seq != q.next {
		return nil, q.hold(c)
	}
	q.end(c)
	due := []InputChunk{c}
	q.next++
	for {
		h, ok := q.held[q.next]
		if !ok {
			return due, nil
		}
		q.drop(q.next)
		due = append(due, h)
		q.next++
	}
}

func (q *Sequencer) hold(c InputChunk) error {
	size := len(c.Chunk.Type) + len(c.Chunk.Data)
	if len(q.held) >= MaxHeldChunks || q.bytes+size > MaxHeldBytes {
		return ErrHeldFull
	}
	if q.held == nil {
		q.held = make(map[int64]InputChunk)
	}
	q.held[c.Seq] = c
	q.bytes += size
	q.end(c)
	return nil
}

// end notes a final chunk and forgets what lies beyond it.
func (q *Sequencer) end(c InputChunk) {
	if !c.Final || q.ended {
		return
	}
	q.ended, q.last = true, c.Seq
	for seq := range q.held {
		if seq > q.last {
			q.drop(seq)
		}
	}
}

func (q *Sequencer) drop(seq int64) {
	h := q.held[seq]
	q.bytes -= len(h.Chunk.Type) + len(h.Chunk.Data)
	delete(q.held, seq)
}

// Done reports whether everything up to the final chunk was given out.
func (q *Sequencer) Done() bool { return q.ended && q.next > q.last }

// Next is the seq that is due.
func (q *Sequencer) Next() int64 { return q.next }

// Held is how many chunks wait for a missing one.
func (q *Sequencer) Held() int { return len(q.held) }

// Verdict is what an [OutputOrder] says of a chunk.
type Verdict int

// The verdicts: take it, ignore it as a repetition, or the stream is broken
// beyond repair (a gap, or a chunk after the final one).
const (
	ChunkTake Verdict = iota
	ChunkIgnore
	ChunkBroken
)

// OutputOrder watches the seq of a stream of output chunks, which come in order
// on one stream: a gap is an error of the provider (A-124, D-13). The zero value
// is ready; start with a new one when a stream starts again.
type OutputOrder struct {
	next  int64
	final bool
}

// Accept judges the next chunk by its seq.
func (o *OutputOrder) Accept(seq int64, final bool) Verdict {
	switch {
	case seq < o.next && seq >= 0:
		return ChunkIgnore
	case seq != o.next || o.final:
		return ChunkBroken
	}
	o.next++
	o.final = final
	return ChunkTake
}

// Finished reports whether the final chunk was seen; Chunks how many came.
func (o *OutputOrder) Finished() bool { return o.final }

// Chunks is the number of chunks taken.
func (o *OutputOrder) Chunks() int64 { return o.next }
