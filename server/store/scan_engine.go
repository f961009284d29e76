package store

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// scanEngine reads the whole log through the engine. It is the slow way, taken
// when the log has known losses: then what counts is what the engine still gives.
func (s *Store) scanEngine(ctx context.Context) (*scan, error) {
	info, err := s.engine().stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the extent of the log: %w", err)
	}
	f := s.newScan()
	if first := info.Config.FirstSeq; first > f.gen.First {
		f.gen.First, f.gen.Tail = first, max(f.gen.Tail, first)
		f.last, f.head = first-1, link{rev: first - 1}
	}
	end := info.State.LastSeq
	for f.next() <= end {
		page, err := s.engine().readPage(ctx, f.next(), "")
		if err != nil {
			return nil, err
		}
		if len(page) == 0 { // the next one is not there or cannot be read
			f.gap(f.next())
			continue
		}
		for _, raw := range page {
			if raw.Sequence > f.next() {
				f.gap(raw.Sequence - 1)
			}
			f.addRaw(raw)
		}
	}
	f.tear()
	return f, nil
}

// lastRecords decodes the last good record of each subject.
func (f *scan) lastRecords() ([]applied, error) {
	msgs := make([]message, 0, len(f.places))
	for subject, p := range f.places {
		if p.good != p.seen {
			f.s.p.heads[subject] = p.seen
		}
		if p.good > 0 && subject != generationSubject {
			msgs = append(msgs, p.msg)
		}
	}
	return decodeAll(msgs)
}

func (f *scan) addRaw(raw *jetstream.RawStreamMsg) {
	m, err := check(raw)
	if err != nil {
		m = message{seq: raw.Sequence, rev: raw.Sequence, subject: raw.Subject}
	}
	f.add(m, err, spot{})
}

// agree makes sure that the engine holds what the files hold. It may have taken
// its own notes for true, or cut off what it could not read.
func (e *engine) agree(ctx context.Context, f *scan, d *DamageError) error {
	info, err := e.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask for the extent of the log: %w", err)
	}
	st := info.State
	n := f.last + 1 - f.gen.First
	if st.Msgs == n && st.LastSeq == f.last && st.NumDeleted == 0 && (n == 0 || st.FirstSeq == f.gen.First) {
		return nil
	}
	d.Engine = fmt.Sprintf("the files hold %d records up to revision %d, but the engine opened it with %d up to %d",
		n, f.last, st.Msgs, st.LastSeq)
	return d
}
