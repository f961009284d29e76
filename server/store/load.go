package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// load builds the projection from the last record of each subject.
func (s *Store) load(f *scan) error {
	s.project(f)
	if f.refill > 0 {
		return nil // the note is already ahead
	}
	return s.note.write(s.p.head)
}

// project makes the present state of what the pass found.
func (s *Store) project(f *scan) {
	s.tail, s.first, s.kept, s.keptAt = f.gen.Tail, f.gen.First, f.kept, f.keptAt
	sortApplied(f.records)
	for _, r := range f.records {
		s.p.applyRecord(r)
	}
	s.p.shareIDs()
	s.p.head = link{rev: f.last, sum: f.head.sum}
}

// decodeAll decodes on all processors.
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
		w := &writing{}
		if err := s.message(w, &c, subjectOf(&c.Record), part{}); err != nil {
			return err
		}
		if _, err := s.write(ctx, w); err != nil {
			return fmt.Errorf("go on after the lost end of the log: %w", err)
		}
	}
	return nil
}
