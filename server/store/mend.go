package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	mendFirst = 50 * time.Millisecond
	mendMost  = 5 * time.Second
	// mendProbe is how many bytes must fit onto the disk before the engine is
	// tried again.
	mendProbe = 1 << 20
	// spareBlock is where a block is copied to that takes the place of one that
	// could not be synced; not beside the blocks, where the engine would find it.
	spareBlock = "block-copy"
)

// mend waits for the engine to break, which it does when the disk takes a write
// no more, and starts it again once the disk does. Until then writes are refused
// and reads stay true.
func (s *Store) mend(ctx context.Context) {
	for {
		select {
		case <-s.engine().broken:
		case <-s.done:
			return
		}
		s.log.Error("the log takes no writes now; it is tried again until it does", "folder", s.dir)
		said := ""
		for pause := mendFirst; ; pause = min(2*pause, mendMost) {
			select {
			case <-time.After(pause):
			case <-s.done:
				return
			}
			err := probe(s.dir)
			if err == nil {
				err = s.restart(ctx)
			}
			if err == nil {
				s.log.Info("the log takes writes again", "revision", s.Revision())
				break
			}
			var d *DamageError
			if errors.As(err, &d) {
				s.fail(err)
				return
			}
			if why := err.Error(); why != said { // once for each reason
				said = why
				s.log.Warn("the log takes no writes yet", "error", err)
			}
		}
	}
}

// probe writes a file of some size and takes it away again.
func probe(dir string) error {
	// Always the same name: what a kill leaves behind is taken up by the next try.
	f, err := os.OpenFile(filepath.Join(dir, "probe"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	_, err = f.Write(make([]byte, mendProbe))
	if err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	return nil
}

// restart stops the broken engine, checks the log as a start does and follows it
// from where the projection stands.
func (s *Store) restart(ctx context.Context) error {
	old := s.engine()
	old.unfollow()
	old.stop()
	if err := old.disk.secure(old.dir, filepath.Join(s.dir, spareBlock)); err != nil {
		return err
	}
	head := s.p.head // nobody changes it without a follower
	t := &Store{dir: s.dir, log: s.log, now: s.now, gen: s.gen, p: newProjection(), lost: s.lost}
	f, err := t.scanFiles(ctx, false)
	if err != nil {
		return err
	}
	d := &DamageError{Dir: s.dir, Noted: head.rev}
	if f.compare(d, head); d.any() {
		return d
	}
	e, err := s.openEngine(ctx, s.first)
	if err != nil {
		old.disk.unsure = true // it syncs as it opens, and that may be what failed
		return err
	}
	if len(s.lost.list) == 0 { // else the engine counts what was accepted as lost
		if err := e.agree(ctx, f, d); err != nil {
			return errors.Join(err, e.stop())
		}
	}
	s.mu.Lock()
	for subject, p := range f.places {
		if p.good != p.seen && subject != generationSubject {
			s.p.heads[subject] = p.seen // the rest of an act that was cut short
		}
	}
	s.mu.Unlock()
	if err := s.startFollowing(ctx, e); err != nil {
		// The next try begins with the old engine's blocks, of which these are the newest.
		old.disk.unsure = old.disk.unsure || e.disk.unsure
		return errors.Join(err, e.stop())
	}
	s.eng.Store(e)
	return nil
}

// openEngine starts an engine on the folder and opens its stream, which begins
// at first when it is made now.
func (s *Store) openEngine(ctx context.Context, first uint64) (*engine, error) {
	dir := filepath.Join(s.dir, s.gen.folder())
	// An act of several records that was cut short stays cut short: nobody was told
	// of it. From what the engine staged of it, it would write the rest, and the log
	// would hold other records than the files that were just checked.
	if err := os.RemoveAll(filepath.Join(streamDir(dir), stagedDir)); err != nil {
		return nil, fmt.Errorf("clear away an act that was cut short: %w", err)
	}
	e, err := startEngine(dir, engineSyncs, s.log)
	if err != nil {
		return nil, err
	}
	there := s.hasBlocks()
	known, err := e.hasStream(ctx)
	if err == nil && there && !known {
		// Only what the engine wrote about the log is spoiled. It takes the
		// messages up again when the log is made anew.
		s.log.Warn("the engine did not know its log; it was taken up again from the messages")
	}
	if err == nil {
		err = e.openStream(ctx, first)
	}
	if err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}
