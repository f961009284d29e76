package store

import (
	"fmt"

	"signalbox/model/acop"
)

// message is one checked message of the log.
type message struct {
	rev     uint64 // its revision; the same as seq unless it was kept by a compaction
	seq     uint64 // its place in the engine's stream
	subject string
	seal    seal
	payload []byte
	idem    *Idempotency // decoded ahead, or nil
	at      spot         // where it stands in the files, while they are read
	place   *place       // of its subject, while the log is read
}

// newPlaced gives a checked message its place.
func newPlaced(seq uint64, subject string, sl seal, payload []byte) message {
	m := message{rev: seq, seq: seq, subject: subject, seal: sl, payload: payload}
	if sl.kept.rev > 0 {
		m.rev = sl.kept.rev
	}
	return m
}

// end is the revision of the act that the message belongs to.
func (m *message) end() uint64 {
	switch {
	case m.seal.kept.rev > 0:
		return m.seal.kept.act
	case m.seal.part.n > 0:
		return m.rev + uint64(m.seal.part.n-m.seal.part.i)
	}
	return m.rev
}

// applied is a decoded record at its place in the log.
type applied struct {
	rev     uint64
	subject string
	rec     *Record
}

// act is everything that one request did: one record, or several that were
// written together. Its revision is that of its last record; every event of it
// carries that revision and is numbered within the act.
type act struct {
	first, rev uint64
	sum        sum // of the last record
	records    []applied
	events     []acop.Event
}

// decode reads the record of a message and gives it its place.
func decode(m message) (applied, error) {
	rec := new(Record)
	if err := decodeInto(m.payload, rec); err != nil {
		return applied{}, fmt.Errorf("decode the record at revision %d: %w", m.rev, err)
	}
	return settle(m, rec), nil
}

// settle gives the objects and events of a record their revisions: a record
// cannot know its own place before it is written.
func settle(m message, rec *Record) applied {
	if rec.Item != nil {
		rec.Item.Revision = m.rev
	}
	if rec.Settings != nil {
		rec.Settings.Revision = m.rev
	}
	p := m.seal.part
	if p.n == 0 {
		p = part{i: 1, n: 1, all: len(rec.Events)}
	}
	for i := range rec.Events {
		complete(&rec.Events[i], rec, m.end(), p.off+i, p.all)
	}
	return applied{rev: m.rev, subject: m.subject, rec: rec}
}

// complete fills in what the store knows of an event: its place, and the
// objects of its record where the writer left them out.
func complete(e *acop.Event, rec *Record, rev uint64, i, all int) {
	e.Revision, e.Index, e.Last = rev, i, i == all-1
	if e.Item == nil || (rec.Item != nil && e.Item.WorkItem.WorkItemID == rec.ID) {
		e.Item = rec.Item
	}
	if e.Entry == nil {
		e.Entry = rec.Entry
	}
	if e.Settings == nil || rec.Settings != nil {
		e.Settings = rec.Settings
	}
}

// assembler puts the records of an act together again. A batch becomes visible
// only as a whole: one that was cut short by the death of the owner was never
// acknowledged and is dropped.
type assembler struct{ open *act }

// add takes the next message and returns the act that it completes, if any.
func (a *assembler) add(m message) (*act, error) {
	r, err := decode(m)
	if err != nil {
		return nil, err
	}
	return a.put(m, r), nil
}

// put is add for a record that is decoded already.
func (a *assembler) put(m message, r applied) *act {
	if a.open == nil || m.seal.part.i <= 1 {
		a.open = &act{first: m.rev}
	}
	a.open.rev, a.open.sum = m.rev, m.seal.sum
	a.open.records = append(a.open.records, r)
	a.open.events = append(a.open.events, r.rec.Events...)
	if m.seal.part.i < m.seal.part.n {
		return nil
	}
	done := a.open
	a.open = nil
	return done
}
