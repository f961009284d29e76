package store

import (
	"context"
	"errors"
	"path/filepath"

	"signalbox/model/acop"
)

// verify checks the log from its first to its last record, before the engine
// opens it: a folder that is refused is left exactly as it was found. What older
// records still tell (ended claims, intents, answers) goes into the projection
// on the way. With accept, damage is written down and left behind.
func (s *Store) verify(ctx context.Context, accept bool) (*scan, error) {
	d := &DamageError{Dir: s.dir}
	bad := ""
	var err error
	if s.gen, bad, err = readGeneration(s.dir); err != nil {
		return nil, err
	}
	d.Note = bad
	noted, err := s.readNote(d)
	if err != nil {
		return nil, err
	}
	d.Noted = noted.rev
	s.lost.before = s.gen.Tail
	f, err := s.scanFiles(ctx, true)
	if err != nil {
		return nil, err
	}
	f.compare(d, noted)
	if d.any() && !accept {
		return nil, d
	}
	if d.any() || len(s.lost.list) > 0 {
		return s.verifyLossy(ctx, accept, noted, d.Note)
	}
	if err := s.startEngine(ctx, f.gen.First); err != nil {
		return nil, err
	}
	return f, s.engine().agree(ctx, f, d)
}

// verifyLossy goes over a log that lost something, now or long ago, with the
// engine open.
func (s *Store) verifyLossy(ctx context.Context, accept bool, noted link, note string) (*scan, error) {
	first := s.gen.First
	if !s.hasBlocks() {
		first = noted.rev + 1 // revisions are never used twice
	}
	if err := s.startEngine(ctx, first); err != nil {
		return nil, err
	}
	s.p = newProjection()
	var err error
	if s.lost, err = readLosses(s.dir); err != nil {
		return nil, err
	}
	s.lost.before = s.gen.Tail
	f, err := s.scanEngine(ctx)
	if err != nil {
		return nil, err
	}
	if first > 1 && first == noted.rev+1 && !s.lost.isMissing(noted.rev) {
		f.missing = append(f.missing, Range{From: 1, To: noted.rev})
	}
	d := &DamageError{Dir: s.dir, Noted: noted.rev, Note: note}
	f.compare(d, noted)
	if d.any() && !accept {
		return nil, d
	}
	if d.any() {
		if err := s.acceptLoss(f, d, noted); err != nil {
			return nil, err
		}
	}
	f.records, err = f.lastRecords()
	return f, err
}

// startEngine opens the engine of this store.
func (s *Store) startEngine(ctx context.Context, first uint64) error {
	e, err := s.openEngine(ctx, first)
	if err == nil {
		s.eng.Store(e)
	}
	return err
}

// hasBlocks reports whether files with messages are there.
func (s *Store) hasBlocks() bool {
	found, err := blockFiles(filepath.Join(s.dir, s.gen.folder()))
	return err == nil && len(found) > 0
}

// readNote opens the note beside the log. A new folder gets one; for a log
// without a readable one d says so.
func (s *Store) readNote(d *DamageError) (link, error) {
	var noted link
	var err error
	s.note, noted, err = openNote(s.dir)
	if err == nil {
		return noted, nil
	}
	if s.note == nil && !errors.Is(err, errNoNote) {
		return link{}, err
	}
	if s.note != nil || s.hasBlocks() {
		d.Note = err.Error()
		return link{}, nil
	}
	s.note, err = createNote(s.dir, link{})
	return link{}, err
}

// compare adds what the pass found to d.
func (f *scan) compare(d *DamageError, noted link) {
	d.Missing, d.Broken, d.Last = f.missing, f.broken, f.last
	if noted.rev > f.last {
		f.refill = noted.rev - f.last
	}
	if got, ok := f.sumAt(noted.rev); ok && noted.rev > 0 {
		d.Other = got != noted.sum
	}
}

// acceptLoss goes on with what is left, after having said so on paper.
func (s *Store) acceptLoss(f *scan, d *DamageError, noted link) error {
	s.log.Error("damage of the log accepted", "what", d.what())
	x := loss{AtUTC: acop.NewTime(s.now()), What: d.what(), Missing: f.missing, Broken: f.broken}
	if err := s.lost.accept(x); err != nil {
		return err
	}
	if s.note != nil && d.Note == "" && !d.Other {
		return nil
	}
	if err := s.note.close(); err != nil {
		return err
	}
	var err error
	s.note, err = createNote(s.dir, link{rev: max(f.head.rev, noted.rev), sum: f.head.sum})
	return err
}
