package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultEventBuffer = 4096
	noteEvery          = time.Second
)

// ErrClosed means that the log, or a subscription to it, was closed.
var ErrClosed = errors.New("the log is closed")

// Store is the log with its projection. All methods may be called from any
// goroutine. Whatever they return is shared and must not be changed.
type Store struct {
	dir   string
	log   *slog.Logger
	now   func() time.Time
	lock  *os.File
	note  *note
	eng   atomic.Pointer[engine] // see mend
	lost  *losses
	gen   generation
	first uint64 // first place in the stream
	tail  uint64 // first revision of the history
	// kept are the revisions of the records from before the history, in the
	// order in which they stand in the stream from keptAt on.
	kept   []uint64
	keptAt uint64

	mu sync.RWMutex // guards p
	p  *projection

	hub   *hub
	waits waiters

	refused atomic.Pointer[refusedWrite] // the last write, if the log did not take it

	failOnce  sync.Once
	failed    chan struct{} // closed when the projection can no longer follow
	failure   error         // set before failed is closed
	closeOnce sync.Once
	closeErr  error
	done      chan struct{}
	wg        sync.WaitGroup
}

// Open takes the folder for this process, checks the whole log, starts the
// engine on it, loads it and follows it. *[ErrInUse] names the process that has the
// folder open; *[DamageError] says what is missing and what can be done. ctx
// bounds the opening alone.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("open the log: no folder given")
	}
	s := &Store{
		dir: o.Dir, log: o.Log, now: o.Now,
		p: newProjection(), failed: make(chan struct{}), done: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if o.EventBuffer <= 0 {
		o.EventBuffer = defaultEventBuffer
	}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of the log: %w", err)
	}
	var err error
	if s.lock, err = lockDir(o.Dir); err != nil {
		return err
	}
	if s.lost, err = readLosses(o.Dir); err != nil {
		return err
	}
	found, err := s.verify(ctx, o.AcceptLoss)
	if err != nil {
		return err
	}
	if err := s.load(found); err != nil {
		return err
	}
	if err := s.clearOthers(); err != nil {
		return err
	}
	s.hub = newHub(o.EventBuffer, s.p.head.rev)
	if err := s.startFollowing(ctx, s.engine()); err != nil {
		return err
	}
	s.wg.Go(s.syncNote)
	if found.refill > 0 {
		if err := s.refill(ctx, found.refill); err != nil {
			return err
		}
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.wg.Go(func() { <-s.done; stop() })
	s.wg.Go(func() { s.mend(life) })
	return nil
}

// engine is the one that is in use now; nil before there is one.
func (s *Store) engine() *engine { return s.eng.Load() }

// syncNote brings the note to the disk each second until the store is closed.
func (s *Store) syncNote() {
	t := time.NewTicker(noteEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if err := s.note.sync(); err != nil {
				s.log.Warn("note of the last revision not synced", "error", err)
			}
		case <-s.done:
			return
		}
	}
}

// Close ends all subscriptions, stops the engine and gives the folder free. It
// may be called more than once.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.done)
		s.wg.Wait()
		s.closeErr = s.release()
	})
	return s.closeErr
}

// release undoes open as far as it came.
func (s *Store) release() error {
	var err error
	if e := s.engine(); e != nil {
		e.unfollow()
		err = e.stop()
	}
	err = errors.Join(err, s.note.close())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// fail marks the projection as stuck: reads stay true as of the last revision,
// writes are refused.
func (s *Store) fail(err error) {
	s.failOnce.Do(func() {
		s.log.Error("the owner can no longer follow its log; restart it to check the log", "error", err)
		s.failure = err
		close(s.failed)
	})
}

// usable returns why the log cannot be used, or nil.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.done:
		return ErrClosed
	case <-s.failed:
		return fmt.Errorf("%w: %w", ErrUnavailable, s.failure)
	default:
		return ctx.Err()
	}
}

// refusedWrite is a write that the log did not take.
type refusedWrite struct {
	at  time.Time
	err error
}

// refusedFor is how long a refused write counts as a sign that the next one would
// be refused as well. It ends because only a write can show the contrary, and
// nobody sends one to an owner that is not ready.
const refusedFor = 10 * time.Second

// TakesWrites returns nil when the log takes writes as far as is known without one,
// else why it does not: it is closed, cannot be followed, is broken and being
// mended, or did not take the last write, some seconds ago at most.
func (s *Store) TakesWrites() error {
	if err := s.usable(context.Background()); err != nil {
		return err
	}
	if s.engine().isBroken() {
		return errNoDisk
	}
	if r := s.refused.Load(); r != nil && time.Since(r.at) < refusedFor {
		return r.err
	}
	return nil
}

// Stats are numbers for an operator.
type Stats struct {
	Revision    uint64
	Items       int
	Entries     int
	Claims      int // live ones
	Subscribers int
	Messages    uint64
	Bytes       uint64 // on disk
}

// Stats asks the engine how large the log is.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	info, err := s.engine().stream.Info(ctx)
	if err != nil {
		return Stats{}, fmt.Errorf("ask for the size of the log: %w", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Stats{
		Revision: s.p.head.rev, Items: len(s.p.items), Entries: len(s.p.entries), Claims: len(s.p.live),
		Subscribers: s.hub.subscribers(), Messages: info.State.Msgs, Bytes: info.State.Bytes,
	}, nil
}
