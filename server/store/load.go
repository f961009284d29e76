package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// load builds the projection from the last record of each subject.
func (s *Store) load(f *scan) error {
	s.tail, s.first, s.kept, s.keptAt = f.gen.Tail, f.gen.First, f.kept, f.keptAt
	sortApplied(f.records)
	for _, r := range f.records {
		s.p.applyRecord(r)
	}
	s.p.head = link{rev: f.last, sum: f.head.sum}
	if f.refill > 0 {
		return nil // the note is already ahead
	}
	return s.note.write(s.p.head)
}

// lastRecords reads the last good record of each subject.
func (s *Store) lastRecords(ctx context.Context, f *scan) ([]applied, error) {
	var older []uint64 // last good records that are not the last ones
	for subj, p := range f.places {
		if p.good == p.seen {
			continue
		}
		s.p.heads[subj] = p.seen
		if p.good > 0 {
			older = append(older, p.good)
		}
	}
	records, err := s.readLast(ctx, f)
	if err != nil {
		return nil, err
	}
	slices.Sort(older)
	for _, rev := range older {
		raw, err := s.stream.GetMsg(ctx, rev)
		if err != nil {
			return nil, fmt.Errorf("read the record at revision %d: %w", rev, err)
		}
		m, err := check(raw)
		if err != nil {
			return nil, err
		}
		r, err := decode(m)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// readLast reads the last message of every subject, but for those that do not count.
func (s *Store) readLast(ctx context.Context, f *scan) ([]applied, error) {
	left := len(f.places)
	if left == 0 {
		return nil, nil
	}
	c, err := s.eng.js.OrderedConsumer(ctx, streamName, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy})
	if err != nil {
		return nil, fmt.Errorf("load the log: %w", err)
	}
	it, err := c.Messages()
	if err != nil {
		return nil, fmt.Errorf("load the log: %w", err)
	}
	defer it.Stop()
	msgs := make([]message, 0, left)
	for ; left > 0; left-- {
		msg, err := it.Next(jetstream.NextMaxWait(engineWait))
		if err != nil {
			return nil, fmt.Errorf("load the log, %d objects left: %w", left, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, fmt.Errorf("load the log: %w", err)
		}
		rev := meta.Sequence.Stream
		if p := f.places[msg.Subject()]; p == nil || p.good != rev || msg.Subject() == generationSubject {
			continue // there, but does not count
		}
		sl, err := openSeal(msg.Subject(), msg.Headers(), msg.Data())
		if err != nil {
			return nil, fmt.Errorf("the record at revision %d: %w", rev, err)
		}
		msgs = append(msgs, newPlaced(rev, msg.Subject(), sl, msg.Data()))
	}
	return decodeAll(msgs)
}

// decodeAll decodes on all processors: it is what a start spends its time on.
func decodeAll(msgs []message) ([]applied, error) {
	records := make([]applied, len(msgs))
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(msgs) && errs[w] == nil; i += workers {
				records[i], errs[w] = decode(msgs[i])
			}
		})
	}
	wg.Wait()
	return records, errors.Join(errs...)
}

// refill writes empty records until the log has come as far again as it once
// had, so that no revision that somebody has seen is used for something else.
func (s *Store) refill(ctx context.Context, n uint64) error {
	for range n {
		c := Change{Record: Record{Kind: KindAudit, ID: "accepted loss"}}
		m, err := s.message(&c, subjectOf(&c.Record), part{})
		if err != nil {
			return err
		}
		rev, err := s.publish(ctx, m)
		if err != nil {
			return fmt.Errorf("go on after the lost end of the log: %w", err)
		}
		if err := s.WaitRevision(ctx, rev); err != nil {
			return fmt.Errorf("go on after the lost end of the log: %w", err)
		}
	}
	return nil
}
