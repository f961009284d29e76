package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// One page of a read of the log: few enough messages and bytes that a reader
// never makes the engine's connection lag behind.
const (
	pageMessages = 512
	pageBytes    = 4 << 20
)

// readPage reads stored messages in order from a revision on; filter is a
// subject or "". No messages is no error: there are none, or the first of them
// cannot be read. Over a connection that was cut meanwhile some of them may be
// missing, and then none of it counts.
func (e *engine) readPage(ctx context.Context, from uint64, filter string) ([]*jetstream.RawStreamMsg, error) {
	opts := []jetstreamext.GetBatchOpt{jetstreamext.GetBatchSeq(from), jetstreamext.GetBatchMaxBytes(pageBytes)}
	if filter != "" {
		opts = append(opts, jetstreamext.GetBatchSubject(filter))
	}
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	cuts := e.nc.Stats().Reconnects
	seq, err := jetstreamext.GetBatch(ctx, e.js, streamName, pageMessages, opts...)
	if err != nil {
		return nil, fmt.Errorf("read the log from revision %d: %w", from, err)
	}
	var page []*jetstream.RawStreamMsg
	for m, err := range seq {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the log from revision %d: %w", from, err)
		}
		page = append(page, m)
	}
	if e.nc.Stats().Reconnects != cuts || !e.nc.IsConnected() {
		return nil, fmt.Errorf("read the log from revision %d: %w", from, errCut)
	}
	return page, nil
}

// check opens the seal of a stored message.
func check(m *jetstream.RawStreamMsg) (message, error) {
	sl, err := openSeal(m.Subject, headsOf(m.Header), m.Data)
	if err != nil {
		return message{}, fmt.Errorf("the record at revision %d: %w", m.Sequence, err)
	}
	return newPlaced(m.Sequence, m.Subject, sl, m.Data), nil
}

// readActs reads whole acts after a revision, up to another one: at least one,
// at most what a page holds. None means that there is none. Records that were
// accepted as lost are stepped over.
func (s *Store) readActs(ctx context.Context, after, upTo uint64) ([]*act, error) {
	var acts []*act
	var asm assembler
	for from := after + 1; from <= upTo && len(acts) == 0; {
		page, err := s.engine().readPage(ctx, from, "")
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			from++ // lost and accepted
		}
		for _, raw := range page {
			from = raw.Sequence + 1
			if raw.Sequence > upTo || s.lost.isBroken(raw.Sequence) {
				continue
			}
			m, err := check(raw)
			if err != nil {
				return nil, err
			}
			a, err := asm.add(m)
			if err != nil {
				return nil, err
			}
			if a != nil {
				acts = append(acts, a)
			}
		}
	}
	return acts, nil
}

// readSubject reads everything that was written to one subject between two
// revisions.
func (s *Store) readSubject(ctx context.Context, subj string, from, upTo uint64) ([]applied, error) {
	var out []applied
	for from <= upTo {
		page, err := s.engine().readPage(ctx, from, subj)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, raw := range page {
			from = raw.Sequence + 1
			if raw.Sequence > upTo || s.lost.isBroken(raw.Sequence) {
				continue
			}
			m, err := check(raw)
			if err != nil {
				return nil, err
			}
			r, err := decode(m)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// sortApplied orders records by their place in the log.
func sortApplied(rs []applied) {
	slices.SortFunc(rs, func(a, b applied) int {
		if a.rev < b.rev {
			return -1
		}
		return 1
	})
}
