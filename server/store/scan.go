package store

import (
	"encoding/json"
	"slices"
	"time"

	"signalbox/model/acop"
)

// scan is what one pass over the whole log found. It looks at every message and
// decodes next to none.
type scan struct {
	s    *Store
	gen  generation
	last uint64 // last place
	head link   // last message whose seal holds
	sums []sum  // by place - gen.First; zero where there is none
	// places holds the last place of each subject: of what counts, and of what
	// is there.
	places  map[string]*place
	open    []message // records of an act that is not complete yet
	bridge  map[uint64]sum
	kept    []uint64 // revisions of the kept records, in their order
	keptAt  uint64   // place of the first of them
	missing []Range
	broken  []uint64
	refill  uint64 // how many revisions the end of the log lost
	since   time.Time
	records []applied // the present state, where the pass read it as well
}

type place struct {
	good, seen uint64
	at         spot    // of good, when the pass went over the files
	msg        message // good itself, when the pass went through the engine
}

// spot is where a record stands in the files.
type spot struct {
	block int32 // number in the list of blocks
	off   uint32
}

func (s *Store) newScan() *scan {
	g := s.gen
	g.First, g.Tail = max(g.First, 1), max(g.Tail, g.First, 1)
	return &scan{
		s: s, gen: g, last: g.First - 1, head: link{rev: g.First - 1},
		places: map[string]*place{}, since: s.now().Add(-answerKeep),
	}
}

// next is the place that is due.
func (f *scan) next() uint64 { return f.gen.First + uint64(len(f.sums)) }

// gap notes missing places up to one, unless they were accepted as missing.
func (f *scan) gap(to uint64) {
	f.tear()
	for rev := f.next(); rev <= to; rev++ {
		f.sums = append(f.sums, sum{})
		f.last = rev
		if f.s.lost.isMissing(rev) || f.s.lost.isBroken(rev) {
			continue
		}
		if n := len(f.missing); n > 0 && f.missing[n-1].To == rev-1 {
			f.missing[n-1].To = rev
		} else {
			f.missing = append(f.missing, Range{rev, rev})
		}
	}
}

// see notes that a subject has a message here, of whatever worth.
func (f *scan) see(subject string, seq uint64) *place {
	p := f.places[subject]
	if p == nil {
		p = new(place)
		f.places[subject] = p
	}
	p.seen = seq
	return p
}

// add takes the message that is due, err being why its seal does not hold.
func (f *scan) add(m message, err error, at spot) {
	f.last = m.seq
	m.place = f.see(m.subject, m.seq)
	// What was accepted as missing stays so, even if the files still show it:
	// the log went on without it.
	if err != nil || !f.linked(&m) || f.s.lost.isMissing(m.seq) {
		f.bad(m.seq)
		return
	}
	f.sums = append(f.sums, m.seal.sum)
	f.head = link{rev: m.seq, sum: m.seal.sum}
	switch {
	case m.subject == generationSubject:
		f.tear()
		f.begin(&m)
	case m.seal.kept.rev > 0:
		f.tear()
		if len(f.kept) == 0 {
			f.keptAt = m.seq
		}
		f.kept = append(f.kept, m.rev)
		f.take(&m, at)
	default:
		f.group(m, at)
	}
}

// bad notes a place whose message must not be believed.
func (f *scan) bad(seq uint64) {
	f.tear()
	f.sums = append(f.sums, sum{})
	f.last = seq
	if !f.s.lost.isBroken(seq) && !f.s.lost.isMissing(seq) {
		f.broken = append(f.broken, seq)
	}
}

// begin reads the preface. It is the first record of its generation and of none
// but that.
func (f *scan) begin(m *message) {
	var p preface
	if err := json.Unmarshal(m.payload, &p); err != nil || p.First != m.seq || p.Number != f.s.gen.Number {
		f.broken = append(f.broken, m.seq)
		return
	}
	f.gen = p.generation
	f.bridge = map[uint64]sum{}
	for _, text := range p.Bridge {
		var l link
		if l.parse(text) {
			f.bridge[l.rev] = l.sum
		}
	}
}

// linked reports whether the message names a true predecessor.
func (f *scan) linked(m *message) bool {
	l := m.seal.link
	if l.rev >= m.seq {
		return false
	}
	if m.seal.kept.rev > 0 && l.rev != m.seq-1 {
		return false
	}
	if m.seal.kept.rev == 0 && m.subject != generationSubject && l.rev < f.gen.Tail && f.gen.Tail > f.gen.First {
		got, ok := f.bridge[l.rev]
		return f.bridge == nil || ok && got == l.sum
	}
	got, ok := f.sumAt(l.rev)
	return !ok || got == l.sum
}

// sumAt is the checksum of the message at a place, if that one is known to be good.
func (f *scan) sumAt(seq uint64) (sum, bool) {
	if seq < f.gen.First || seq >= f.next() {
		return sum{}, false
	}
	got := f.sums[seq-f.gen.First]
	return got, got != sum{}
}

// group collects the records of an act and takes them when it is complete.
func (f *scan) group(m message, at spot) {
	p := m.seal.part
	if p.i <= 1 {
		f.tear()
	} else if len(f.open) != p.i-1 {
		f.tear()
		f.s.lost.leaveOut(m.seq) // its beginning is lost
		return
	}
	if p.n == 0 {
		f.take(&m, at)
		return
	}
	m.at = at
	f.open = append(f.open, m)
	if p.i < p.n {
		return
	}
	for i := range f.open {
		f.take(&f.open[i], f.open[i].at)
	}
	f.open = f.open[:0]
}

// tear leaves out an act that never became whole: the owner died while it was
// being written, and nobody was told that it was done.
func (f *scan) tear() {
	for _, m := range f.open {
		f.s.lost.leaveOut(m.seq)
	}
	f.open = f.open[:0]
}

// take keeps what must be known of a record that may be superseded.
func (f *scan) take(m *message, at spot) {
	p := m.place
	p.good, p.at = m.seq, at
	if m.payload != nil {
		p.msg = *m
	}
	f.s.p.applyIndex(m.seal.index)
	answered := time.UnixMilli(m.seal.index.IdemAt)
	if m.seal.index.IdemAt == 0 || answered.Before(f.since) {
		return
	}
	if m.idem == nil {
		m.idem = idemOf(m.payload)
	}
	if m.idem != nil {
		f.s.p.answers.add(m.idem, m.rev, m.end(), acop.NewTime(answered))
	}
}

// idemOf decodes the remembered answer of a record and nothing else of it.
func idemOf(payload []byte) *Idempotency {
	var rec struct {
		Idem *Idempotency `json:"idem"`
	}
	if err := decodeInto(payload, &rec); err != nil {
		return nil
	}
	return rec.Idem
}

// trim takes places off the end that hold nothing whole: a write that a power
// cut tore was never acknowledged. Whether the log had come further is for the
// note to say.
func (f *scan) trim(to uint64) {
	if f.last <= to {
		return
	}
	f.sums = f.sums[:to+1-f.gen.First]
	f.broken = slices.DeleteFunc(f.broken, func(seq uint64) bool { return seq > to })
	for n := len(f.missing); n > 0 && f.missing[n-1].To > to; n = len(f.missing) {
		if f.missing[n-1].From > to {
			f.missing = f.missing[:n-1]
			continue
		}
		f.missing[n-1].To = to
	}
	f.last = to
}
