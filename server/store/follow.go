package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errDisk means that the disk did not take what the engine had written.
var errDisk = errors.New("the disk failed")

// errLater means that the log could not be read just now; it says nothing of it.
var errLater = errors.New("the log did not answer")

// gapPatience is how long the follower waits for the answer to an act before it
// reads what stands at its place.
const gapPatience = 200 * time.Millisecond

// follower changes the projection, alone and in the order of the log. All that
// is written to the log is written by this process, so that the engine's answer
// to a write is all that is missing of it: its place. What stands in the log
// without an answer (one got lost, or it was written before the engine was
// started anew) is read from there.
type follower struct {
	s     *Store
	e     *engine
	next  uint64              // revision that is due
	ready map[uint64]*writing // answered, by first revision; more than next is missing
	since time.Time           // of the gap in front of ready
}

// startFollowing lets the projection follow the log from its head on.
func (s *Store) startFollowing(ctx context.Context, e *engine) error {
	e.disk.synced = s.p.head.rev
	f := &follower{s: s, e: e, next: s.p.head.rev + 1, ready: map[uint64]*writing{}}
	if err := f.catchUp(ctx, true); err != nil {
		return err
	}
	leave, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { f.run(leave.Done()) })
	e.unfollow = func() { stop(); wg.Wait() }
	return nil
}

// run ends with the engine, or when the projection cannot follow any longer.
func (f *follower) run(leave <-chan struct{}) {
	ws := f.e.writings
	gap := time.NewTimer(time.Hour)
	defer gap.Stop()
	for {
		var err error
		if len(f.ready) > 0 {
			gap.Reset(time.Until(f.since.Add(gapPatience)))
		} else {
			gap.Stop()
		}
		select {
		case m := <-ws.answers:
			f.answered(ws.answered(m))
		case w := <-ws.groups:
			f.answered(w, nil)
		case <-ws.look:
			err = f.catchUp(f.e.life, false)
		case <-gap.C:
			f.since = time.Now()
			err = f.catchUp(f.e.life, false)
		case <-f.e.broken:
			return
		case <-leave:
			return
		}
		f.others()
		if failed := f.advance(); failed != nil {
			err = failed
		}
		if err == nil {
			continue
		}
		switch {
		case f.e.isBroken(): // what could not be read is read again by the next one
		case errors.Is(err, errDisk):
			f.s.log.Error("the log cannot be synced", "error", err)
			f.e.trip()
		case errors.Is(err, errLater):
			f.s.log.Warn("the log is read again in a moment", "error", err)
			time.AfterFunc(gapPatience, ws.ask)
			continue
		default:
			f.s.fail(err)
		}
		return
	}
}

// others takes what else the engine has answered by now, so that one sync serves
// all of it.
func (f *follower) others() {
	ws := f.e.writings
	for {
		select {
		case m := <-ws.answers:
			f.answered(ws.answered(m))
		case w := <-ws.groups:
			f.answered(w, nil)
		default:
			return
		}
	}
}

// answered takes up an act that has its place now, or ends one that has none.
func (f *follower) answered(w *writing, err error) {
	switch {
	case w == nil:
	case err != nil:
		w.end(err)
	case w.rev < f.next: // read from the log already
		w.end(nil)
	default:
		f.e.disk.wrote(w.rev)
		if len(f.ready) == 0 {
			f.since = time.Now()
		}
		f.ready[w.first()] = w
	}
}

// advance makes visible what is due: first the sync, then all acts, and then
// their writers are told, and the readers, who may be many.
func (f *follower) advance() error {
	var run []*writing
	for next := f.next; ; {
		w := f.ready[next]
		if w == nil {
			break
		}
		delete(f.ready, next)
		run = append(run, w)
		next = w.rev + 1
	}
	if len(run) == 0 {
		return nil
	}
	f.since = time.Now()
	if err := f.sync(run[len(run)-1].rev); err != nil {
		return err
	}
	acts := make([]*act, len(run))
	for i, w := range run {
		acts[i] = w.act()
	}
	if err := f.s.show(acts...); err != nil {
		return err
	}
	f.next = run[len(run)-1].rev + 1
	for _, w := range run {
		w.end(nil)
	}
	f.s.tell(acts...)
	return nil
}

// sync returns when the revision is on the disk.
func (f *follower) sync(rev uint64) error {
	if engineSyncs {
		return nil
	}
	if err := f.e.disk.reach(rev); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	return nil
}

// catchUp reads and shows what the log holds beyond the projection. At the start
// nobody is writing, so that half an act at the end is the rest of one that was
// cut short, and is left behind; later its other half is still to come.
func (f *follower) catchUp(ctx context.Context, start bool) error {
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	info, err := f.e.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("follow the log: %w: %w", errLater, err)
	}
	var asm assembler
	last := info.State.LastSeq
	for from := f.next; from <= last; {
		page, err := f.e.readPage(ctx, from, "")
		if err != nil {
			return fmt.Errorf("follow the log: %w: %w", errLater, err)
		}
		if len(page) == 0 {
			return fmt.Errorf("follow the log: revision %d is not there", from)
		}
		for _, raw := range page {
			if err := f.read(&asm, raw, from); err != nil {
				return err
			}
			from = raw.Sequence + 1
		}
		last = max(last, from-1)
	}
	if start {
		f.next = max(f.next, last+1)
	}
	for first, w := range f.ready {
		if first < f.next {
			delete(f.ready, first)
			w.end(nil)
		}
	}
	return nil
}

// read takes the next message of the log and shows the act that it completes.
func (f *follower) read(asm *assembler, raw *jetstream.RawStreamMsg, due uint64) error {
	if raw.Sequence != due {
		return fmt.Errorf("follow the log: revision %d came where %d was due", raw.Sequence, due)
	}
	m, err := check(raw)
	if err != nil {
		return err
	}
	a, err := asm.add(m)
	if err != nil || a == nil {
		return err
	}
	if err := f.sync(a.rev); err != nil {
		return err
	}
	if err := f.s.show(a); err != nil {
		return err
	}
	f.s.tell(a)
	f.next = a.rev + 1
	return nil
}

// show applies acts and notes the last of them. After it they are told ([Store.tell]):
// whoever sees an event finds the projection at least as new.
func (s *Store) show(acts ...*act) error {
	for _, a := range acts {
		s.mu.Lock()
		s.p.apply(a)
		s.mu.Unlock()
	}
	if err := s.note.write(s.p.head); err != nil { // only the follower changes it
		return err
	}
	return nil
}

// tell hands acts that are shown to the readers.
func (s *Store) tell(acts ...*act) {
	s.waits.reached(acts[len(acts)-1].rev)
	s.hub.put(acts...)
}
