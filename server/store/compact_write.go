package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"signalbox/model/acop"
)

// writer fills a new log. Nothing is synced before the end: until then the log
// does not count.
type writer struct {
	dir   string
	eng   *engine
	js    jetstream.JetStream
	first uint64
	next  uint64
	head  link
	acks  []jetstream.PubAckFuture
}

// writeAhead is how many messages may be on their way into a new log.
const writeAhead = 1024

// newWriter makes a new log in a folder of its own.
func newWriter(ctx context.Context, s *Store, g generation) (*writer, error) {
	w := &writer{dir: filepath.Join(s.dir, g.folder()), first: g.First, next: g.First}
	if err := os.RemoveAll(w.dir); err != nil {
		return nil, fmt.Errorf("make room for the new log: %w", err)
	}
	var err error
	if w.eng, err = startEngine(w.dir, false, s.log); err != nil {
		return nil, err
	}
	w.js, err = jetstream.New(w.eng.nc, jetstream.WithDefaultTimeout(engineWait))
	if err == nil {
		err = w.eng.openStream(ctx, g.First)
	}
	if err != nil {
		return nil, errors.Join(err, w.eng.stop())
	}
	return w, nil
}

// put writes the next message. Its headers must be sealed.
func (w *writer) put(m *nats.Msg) error {
	if len(w.acks) == writeAhead {
		if err := w.drain(); err != nil {
			return err
		}
	}
	ack, err := w.js.PublishMsgAsync(m)
	if err != nil {
		return fmt.Errorf("write the new log: %w", err)
	}
	w.acks = append(w.acks, ack)
	w.head.rev = w.next
	if !w.head.sum.parse(m.Header.Get(headerSum)) {
		return errors.New("write the new log: a record without a seal")
	}
	w.next++
	return nil
}

// drain waits for all acknowledgements.
func (w *writer) drain() error {
	for i, a := range w.acks {
		want := w.next - uint64(len(w.acks)-i)
		select {
		case ok := <-a.Ok():
			if ok.Sequence != want {
				return fmt.Errorf("write the new log: record %d came to place %d", want, ok.Sequence)
			}
		case <-w.eng.broken:
			return errors.New("write the new log: the disk took no more; free as much as the log has")
		case err := <-a.Err():
			return fmt.Errorf("write the new log: %w", err)
		}
	}
	w.acks = w.acks[:0]
	return nil
}

// close ends the writing and brings all of it to the disk.
func (w *writer) close() error {
	if err := errors.Join(w.drain(), w.eng.stop()); err != nil {
		return err
	}
	return syncTree(w.dir)
}

// keep writes an older record at its new place, under the revision it has.
func (w *writer) keep(m *message, h heads) error {
	out := heads{link: w.head.String(), part: h.part, index: h.index, kept: fmt.Sprintf("%d %d", m.rev, m.end())}
	out.sum = out.sumWith(m.subject, m.payload).String()
	return w.put(out.message(m.subject, m.payload))
}

// preface writes the first record.
func (w *writer) preface(p preface) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the preface of the new log: %w", err)
	}
	m, _, err := newMessage(generationSubject, b, link{}, part{}, index{})
	if err != nil {
		return err
	}
	return w.put(m)
}

// sealed is a message with the headers that its seal covers.
type sealed struct {
	msg    message
	header heads
}

// write fills the new generation.
func (c *compaction) write(ctx context.Context) (err error) {
	c.step("begin")
	w, err := newWriter(ctx, c.old, c.next)
	if err != nil {
		return err
	}
	bridge := slices.Sorted(maps.Keys(c.bridge))
	if err := w.preface(preface{generation: c.next, AtUTC: acop.NewTime(c.old.now()), Bridge: bridge}); err != nil {
		return errors.Join(err, w.close())
	}
	c.step("write")
	picked := c.picked
	var failed error
	err = forBlocks(ctx, c.blocks, blockFile.all, func(_ int, ms []sealed) {
		for i := range ms {
			m := &ms[i]
			switch {
			case failed != nil || m.msg.seq > c.found.last:
				return
			case m.msg.seq >= c.next.Tail:
				failed = w.put(m.header.message(m.msg.subject, m.msg.payload))
			case len(picked) > 0 && picked[0] == m.msg.seq:
				picked = picked[1:]
				failed = w.keep(&m.msg, m.header)
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return errors.Join(err, w.close())
	}
	c.step("sync")
	return w.close()
}

// all reads the messages of a block with their headers.
func (f blockFile) all() ([]sealed, error) {
	buf, err := f.load()
	if err != nil {
		return nil, err
	}
	var out []sealed
	err = f.sealed(buf, func(m sealed) { out = append(out, m) })
	return out, err
}

// sealed walks the messages of a block. Their seals were opened when the log was
// checked; what does not hold is passed over by who asks.
func (f blockFile) sealed(buf []byte, take func(sealed)) error {
	err := f.records(buf, func(_ int, r blockRecord) {
		if r.err != nil {
			return
		}
		h := ours(r.header)
		var sl seal
		if sl.sum.parse(h.sum) && sl.read(h) == nil {
			take(sealed{newPlaced(r.seq, string(r.subject), sl, r.payload), h})
		}
	})
	if errors.Is(err, errTorn) {
		err = nil
	}
	return err
}

// syncTree brings a folder with all that is in it to the disk.
func syncTree(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return syncDir(path)
		case !d.Type().IsRegular():
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	if err != nil {
		return fmt.Errorf("sync the new log: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

// sizeOf adds up the files below dir; 0 when it cannot be read.
func sizeOf(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
