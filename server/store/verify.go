package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"signalbox/model/acop"
)

// scan is what one pass over the whole log found. It reads every message and
// decodes next to none.
type scan struct {
	s    *Store
	last uint64 // last revision
	head link   // last message whose seal holds
	sums []sum  // by revision - first; zero where there is none
	// places holds the last revision of each subject: of what counts, and of
	// what is there.
	places  map[string]*place
	open    []message // records of an act that is not complete yet
	missing []Range
	broken  []uint64
	refill  uint64 // how many revisions the end of the log lost
	since   time.Time
}

type place struct{ good, seen uint64 }

// verify opens the log and checks it from its first to its last message. What
// older records still tell (ended claims, intents, answers) goes into the
// projection on the way. With accept, damage is written down and left behind.
func (s *Store) verify(ctx context.Context, accept bool) (*scan, error) {
	d := &DamageError{Dir: s.dir}
	noted, err := s.readNote(ctx, d)
	if err != nil {
		return nil, err
	}
	d.Noted = noted.rev
	there, err := s.eng.hasStream(ctx)
	if err != nil {
		return nil, err
	}
	first := uint64(0)
	if !there && noted.rev > 0 {
		switch {
		case hasBlocks(s.dir):
			// Only what the engine wrote about the log is spoiled. It takes the
			// messages up again when the log is made anew; the check follows.
			s.log.Warn("the engine did not know its log; it was taken up again from the messages")
		case !accept:
			return nil, d
		default:
			first = noted.rev + 1 // revisions are never used twice
		}
	}
	if s.stream, err = s.eng.openStream(ctx, first); err != nil {
		return nil, err
	}
	f, err := s.scan(ctx)
	if err != nil {
		return nil, err
	}
	if first > 0 {
		f.missing = append(f.missing, Range{From: 1, To: noted.rev})
	}
	f.compare(d, noted)
	if !d.any() {
		return f, nil
	}
	if !accept {
		return nil, d
	}
	return f, s.acceptLoss(f, d, noted)
}

// hasBlocks reports whether files with messages are there.
func hasBlocks(dir string) bool {
	found, err := fs.Glob(os.DirFS(dir), engineDir+"/jetstream/*/streams/"+streamName+"/msgs/*.blk")
	return err == nil && len(found) > 0
}

// readNote opens the note beside the log. A new folder gets one; for a log
// without a readable one d says so.
func (s *Store) readNote(ctx context.Context, d *DamageError) (link, error) {
	var noted link
	var err error
	s.note, noted, err = openNote(s.dir)
	if err == nil {
		return noted, nil
	}
	if s.note == nil && !errors.Is(err, errNoNote) {
		return link{}, err
	}
	if s.note != nil {
		d.Note = err.Error()
		return link{}, nil
	}
	there, err := s.eng.hasStream(ctx)
	if err != nil {
		return link{}, err
	}
	if there {
		d.Note = errNoNote.Error()
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

// scan reads the whole log.
func (s *Store) scan(ctx context.Context) (*scan, error) {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the extent of the log: %w", err)
	}
	s.first = max(info.Config.FirstSeq, 1)
	f := &scan{
		s: s, last: max(info.State.LastSeq, s.first-1), places: map[string]*place{},
		since: s.now().Add(-answerKeep), head: link{rev: s.first - 1},
	}
	f.sums = make([]sum, 0, f.last+1-s.first)
	for next := s.first; next <= f.last; {
		page, err := s.readPage(ctx, next, "")
		if err != nil {
			return nil, err
		}
		if len(page) == 0 { // the next one is not there or cannot be read
			f.gap(next, next)
			next++
			continue
		}
		for _, raw := range page {
			if raw.Sequence > next {
				f.gap(next, raw.Sequence-1)
			}
			f.add(raw)
			next = raw.Sequence + 1
		}
	}
	f.tear()
	return f, nil
}

// gap notes missing revisions, unless they were accepted as missing.
func (f *scan) gap(from, to uint64) {
	f.tear()
	for rev := from; rev <= to; rev++ {
		f.sums = append(f.sums, sum{})
		if f.s.lost.isMissing(rev) {
			continue
		}
		if n := len(f.missing); n > 0 && f.missing[n-1].To == rev-1 {
			f.missing[n-1].To = rev
		} else {
			f.missing = append(f.missing, Range{rev, rev})
		}
	}
}

// add checks one message.
func (f *scan) add(raw *jetstream.RawStreamMsg) {
	p := f.places[raw.Subject]
	if p == nil {
		p = new(place)
		f.places[raw.Subject] = p
	}
	p.seen = raw.Sequence
	m, err := check(raw)
	if err == nil && f.linked(m) {
		f.sums = append(f.sums, m.seal.sum)
		f.head = link{rev: m.rev, sum: m.seal.sum}
		f.group(m)
		return
	}
	f.tear()
	f.sums = append(f.sums, sum{})
	if !f.s.lost.isBroken(raw.Sequence) {
		f.broken = append(f.broken, raw.Sequence)
	}
}

// linked reports whether the message names a true predecessor.
func (f *scan) linked(m message) bool {
	l := m.seal.link
	if l.rev >= m.rev {
		return false
	}
	got, ok := f.sumAt(l.rev)
	return !ok || got == l.sum
}

// sumAt is the checksum of the message at rev, if that one is known to be good.
func (f *scan) sumAt(rev uint64) (sum, bool) {
	if rev < f.s.first || rev-f.s.first >= uint64(len(f.sums)) {
		return sum{}, false
	}
	got := f.sums[rev-f.s.first]
	return got, got != sum{}
}

// group collects the records of an act and takes them when it is complete.
func (f *scan) group(m message) {
	p := m.seal.part
	if p.i <= 1 {
		f.tear()
	} else if len(f.open) != p.i-1 {
		f.tear()
		f.s.lost.skip[m.rev] = true // its beginning is lost
		return
	}
	f.open = append(f.open, m)
	if p.i < p.n {
		return
	}
	for _, m := range f.open {
		f.take(m, f.open[len(f.open)-1].rev)
	}
	f.open = f.open[:0]
}

// tear leaves out an act that never became whole: the owner died while it was
// being written, and nobody was told that it was done.
func (f *scan) tear() {
	for _, m := range f.open {
		f.s.lost.skip[m.rev] = true
	}
	f.open = f.open[:0]
}

// take keeps what must be known of a record that may be superseded.
func (f *scan) take(m message, actRev uint64) {
	f.places[m.subject].good = m.rev
	f.s.p.applyIndex(m.seal.index)
	at := time.UnixMilli(m.seal.index.IdemAt)
	if m.seal.index.IdemAt == 0 || at.Before(f.since) {
		return
	}
	var rec struct{ Idem *Idempotency }
	if err := json.Unmarshal(m.payload, &rec); err == nil && rec.Idem != nil {
		f.s.p.answers.add(*rec.Idem, actRev, acop.NewTime(at), f.s.now())
	}
}
