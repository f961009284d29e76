package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// errDisk means that the disk did not take what the engine had written.
var errDisk = errors.New("the disk failed")

// startFollowing lets the projection follow the log from its head on. The
// handler runs in one goroutine of the connection, one message at a time.
func (s *Store) startFollowing(ctx context.Context) error {
	e := s.engine()
	c, err := e.js.OrderedConsumer(ctx, streamName, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   s.p.head.rev + 1,
	})
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	next := s.p.head.rev + 1
	e.disk.synced = s.p.head.rev
	e.follow, err = c.Consume(func(m jetstream.Msg) {
		if s.isFailed() || e.isBroken() {
			return
		}
		rev, err := s.receive(e, m, next)
		if errors.Is(err, errDisk) {
			s.log.Error("the log cannot be synced", "error", err)
			e.trip()
			return
		}
		if err != nil {
			s.fail(err)
			return
		}
		next = max(next, rev+1)
	}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		s.log.Debug("following the log was interrupted and goes on", "error", err)
	}))
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	return nil
}

func (s *Store) isFailed() bool {
	select {
	case <-s.failed:
		return true
	default:
		return false
	}
}

// receive takes the next message of the log and makes the act visible that it
// completes. Messages come again after an interruption; a gap is damage.
func (s *Store) receive(e *engine, m jetstream.Msg, next uint64) (rev uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, fmt.Errorf("follow the log: %w", err)
	}
	rev = meta.Sequence.Stream
	if rev < next {
		return rev, nil
	}
	if rev > next {
		return 0, fmt.Errorf("follow the log: revision %d came where %d was due", rev, next)
	}
	if !engineSyncs {
		if err := e.disk.reach(rev); err != nil {
			return 0, fmt.Errorf("%w: %w", errDisk, err)
		}
	}
	sl, err := openSeal(m.Subject(), headsOf(m.Headers()), m.Data())
	if err != nil {
		return 0, fmt.Errorf("the record at revision %d: %w", rev, err)
	}
	msg := newPlaced(rev, m.Subject(), sl, m.Data())
	var a *act
	if rec, ok := s.sent.take(sl.sum); ok {
		a = s.incoming.put(msg, settle(msg, rec))
	} else if a, err = s.incoming.add(msg); err != nil {
		return rev, err
	}
	if a == nil {
		return rev, nil
	}
	return rev, s.show(a)
}

// show applies an act, notes it and tells everybody, in this order: whoever
// sees an event finds the projection at least as new.
func (s *Store) show(a *act) error {
	s.mu.Lock()
	s.p.apply(a, s.now())
	head := s.p.head
	s.mu.Unlock()
	if err := s.note.write(head); err != nil {
		return err
	}
	s.hub.put(a)
	s.waits.reached(a.rev)
	return nil
}
