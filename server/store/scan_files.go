package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"path/filepath"
	"runtime"
	"time"
)

// entry is one record of a block after its checks.
type entry struct {
	msg message
	err error // the seal does not hold
	// torn says that not even the engine's hash holds, so that this may be the
	// rest of a write that never came to its end.
	torn bool
	off  uint32
}

// scanFiles goes over the block files, on all processors, and changes nothing.
// With read it also reads the present state.
func (s *Store) scanFiles(ctx context.Context, read bool) (*scan, error) {
	blocks, err := blockFiles(filepath.Join(s.dir, s.gen.folder()))
	if err != nil {
		return nil, err
	}
	f := s.newScan()
	whole := f.last // the last place that holds a whole record
	err = forBlocks(ctx, blocks, func(b blockFile) ([]entry, error) { return b.check(f.since) }, func(i int, es []entry) {
		for _, e := range es {
			e.msg.at = spot{int32(i), e.off}
			if f.put(e) {
				whole = f.last
			}
		}
	})
	if err != nil {
		return nil, err
	}
	f.tear()
	f.trim(whole)
	if !read {
		return f, nil
	}
	f.records, err = s.readSpots(ctx, f, blocks)
	return f, err
}

// put takes the next record of the files, wherever it says that it stands.
// It reports whether it was whole.
func (f *scan) put(e entry) bool {
	due := f.next()
	switch {
	case e.torn:
		if e.msg.seq == due {
			f.bad(due)
		}
		return false
	case len(f.sums) == 0 && e.err == nil && e.msg.subject == generationSubject && f.s.gen.First == 0:
		f.gen.First, f.last = e.msg.seq, e.msg.seq-1 // the preface tells what the lost file told
	case e.msg.seq < due:
		f.broken = append(f.broken, e.msg.seq) // something of long ago, or twice
		return false
	case e.msg.seq > due:
		f.gap(e.msg.seq - 1)
	}
	f.add(e.msg, e.err, e.msg.at)
	return true
}

// check reads a block and opens its seals. It keeps no payload but what the
// pass itself needs, so that the block can go again.
func (f blockFile) check(since time.Time) ([]entry, error) {
	var out []entry
	err := f.with(func(buf []byte) error {
		return f.records(buf, func(off int, r blockRecord) {
			e := entry{off: uint32(off), msg: message{rev: r.seq, seq: r.seq}}
			if e.torn = r.err != nil; e.torn {
				out = append(out, e)
				return
			}
			subject := string(r.subject)
			sl, err := openSeal(subject, ours(r.header), r.payload)
			e.err, e.msg = err, newPlaced(r.seq, subject, sl, nil)
			if err == nil && sl.index.IdemAt > 0 && !time.UnixMilli(sl.index.IdemAt).Before(since) {
				e.msg.idem = idemOf(r.payload)
			}
			if subject == generationSubject {
				e.msg.payload = bytes.Clone(r.payload)
			}
			out = append(out, e)
		})
	})
	if errors.Is(err, errTorn) {
		err = nil // what should follow is missed by who counts
	}
	return out, err
}

// forBlocks does work on all processors and hands out the results in order. A
// block that cannot be unpacked gives none: its records are missing then.
func forBlocks[T any](ctx context.Context, blocks []blockFile, work func(blockFile) (T, error), take func(int, T)) error {
	type result struct {
		val T
		err error
	}
	workers := runtime.GOMAXPROCS(0)
	ahead := make(chan chan result, workers)
	go func() {
		defer close(ahead)
		for _, b := range blocks {
			c := make(chan result, 1)
			select {
			case ahead <- c:
			case <-ctx.Done():
				return
			}
			go func() {
				v, err := work(b)
				c <- result{v, err}
			}()
		}
	}()
	i := 0
	var failed error
	for c := range ahead {
		r := <-c
		switch {
		case r.err == nil && failed == nil:
			take(i, r.val)
		case r.err != nil && failed == nil && !errors.Is(r.err, errPacked):
			failed = r.err
		}
		i++
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// readSpots reads the last good record of each subject from the files.
func (s *Store) readSpots(ctx context.Context, f *scan, blocks []blockFile) ([]applied, error) {
	byBlock := make(map[string][]uint32, len(blocks))
	n := 0
	for subject, p := range f.places {
		if p.good != p.seen {
			s.p.heads[subject] = p.seen
		}
		if p.good > 0 && subject != generationSubject {
			path := blocks[p.at.block].path
			byBlock[path] = append(byBlock[path], p.at.off)
			n++
		}
	}
	out := make([]applied, 0, n)
	err := forBlocks(ctx, blocks, func(b blockFile) ([]applied, error) {
		return b.decode(byBlock[b.path])
	}, func(_ int, rs []applied) { out = append(out, rs...) })
	return out, err
}

// decode reads the records that begin at these places of the block.
func (f blockFile) decode(offs []uint32) ([]applied, error) {
	if len(offs) == 0 {
		return nil, nil
	}
	out := make([]applied, 0, len(offs))
	err := f.with(func(buf []byte) error {
		h := f.hasher()
		for _, off := range offs {
			r, err := decodeAt(buf[min(int(off), len(buf)):], h)
			if err != nil {
				return fmt.Errorf("%s changed while it was read: %w", f.path, err)
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// decodeAt decodes the record at the beginning of buf.
func decodeAt(buf []byte, h hash.Hash) (applied, error) {
	rec, _, err := firstRecord(buf, h)
	if err = errors.Join(err, rec.err); err != nil {
		return applied{}, err
	}
	subject := string(rec.subject)
	sl, err := openSeal(subject, ours(rec.header), rec.payload)
	if err != nil {
		return applied{}, err
	}
	return decode(newPlaced(rec.seq, subject, sl, rec.payload))
}
