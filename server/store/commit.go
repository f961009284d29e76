package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"signalbox/model/acop"
)

// MaxRecords is how many records one act can have; the engine takes no more.
const MaxRecords = 1000

// Commit writes one record if nobody changed its target since c.Expected, and
// returns its revision once the projection shows it (read your writes). It does
// not give up with ctx once the write is under way, because what was written
// cannot be taken back; it takes at most some seconds.
//
// [ErrConflict] means that somebody was first; [ErrUnavailable] that the log
// takes no write, or that it is not known whether it took this one; [ErrTooLarge]
// that it never will. Any other
// error is a record that must not be written, and a mistake of the caller.
func (s *Store) Commit(ctx context.Context, c Change) (revision uint64, err error) {
	return s.CommitAll(ctx, []Change{c})
}

// CommitAll writes several records as one act: all of them or none. It returns
// the act's revision, which is that of its last record; each object gets the
// revision of its own record. No two records may have the same target. Errors
// are those of [Store.Commit].
func (s *Store) CommitAll(ctx context.Context, cs []Change) (revision uint64, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	w, err := s.prepare(cs)
	if err != nil {
		return 0, err
	}
	return s.write(context.WithoutCancel(ctx), w)
}

// prepare checks the records and makes their messages.
func (s *Store) prepare(cs []Change) (*writing, error) {
	if len(cs) == 0 || len(cs) > MaxRecords {
		return nil, fmt.Errorf("an act has 1 to %d records, not %d", MaxRecords, len(cs))
	}
	all := 0
	subjects := make([]string, len(cs))
	for i := range cs {
		all += len(cs[i].Record.Events)
		subjects[i] = subjectOf(&cs[i].Record)
		if slices.Contains(subjects[:i], subjects[i]) {
			return nil, fmt.Errorf("two records of one act have the same target %q", cs[i].Record.ID)
		}
	}
	if all == 0 {
		return nil, errors.New("an act must tell at least one event: nothing changes without a trace")
	}
	w := &writing{}
	off := 0
	for i := range cs {
		p := part{i: i + 1, n: len(cs), off: off, all: all}
		if len(cs) == 1 {
			p = part{}
		}
		off += len(cs[i].Record.Events)
		if err := s.message(w, &cs[i], subjects[i], p); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// message adds the sealed message of a change, with its condition, to an act.
func (s *Store) message(w *writing, c *Change, subj string, p part) error {
	r := c.Record // a copy: what the caller holds stays as it is
	if r.ProtocolVersion == "" {
		r.ProtocolVersion = acop.ProtocolVersion
	}
	if r.AtUTC.IsZero() {
		r.AtUTC = acop.NewTime(s.now())
	}
	if r.Events == nil {
		r.Events = []acop.Event{}
	}
	if err := validate(&r, c.Expected); err != nil {
		return err
	}
	s.mu.RLock()
	head, old, real := s.p.head, s.p.items[r.ID], s.p.heads[subj]
	stale := r.Kind == KindSettings && s.p.settings.Revision > c.Expected
	s.mu.RUnlock()
	expected, there := s.seqOf(c.Expected)
	if stale || !there {
		return ErrConflict
	}
	if r.Kind == KindItem {
		if old != nil && old.Revision > c.Expected {
			return ErrConflict // known without asking the engine
		}
		if err := keepsClaim(&r, old); err != nil {
			return err
		}
	}
	payload, err := encode(&r)
	if err != nil {
		return fmt.Errorf("encode the record of %q: %w", r.ID, err)
	}
	// What cannot be read back would stop the owner for ever.
	back := new(Record)
	if err := decodeInto(payload, back); err != nil {
		return fmt.Errorf("the record of %q cannot be read back: %w", r.ID, err)
	}
	m, sl, err := newMessage(subj, payload, head, p, indexOf(&r, old))
	if err != nil {
		return err
	}
	if r.Kind != KindAudit { // refusals pile up; they have no state to race for
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(max(expected, real), 10))
	}
	w.add(m, sl, back)
	return nil
}

// validate refuses records that would make the log contradict itself.
func validate(r *Record, expected uint64) error {
	ok := false
	switch r.Kind {
	case KindItem:
		ok = r.Item != nil && r.Item.WorkItem.WorkItemID == r.ID && r.Entry == nil && r.Settings == nil
	case KindEntry:
		// Expected 0 makes the blackboard append-only by construction (C-035).
		ok = r.Entry != nil && r.Entry.EntryID == r.ID && expected == 0 && r.Item == nil && r.Settings == nil
	case KindSettings:
		ok = r.Settings != nil && r.Item == nil && r.Entry == nil
	case KindAudit:
		ok = r.Item == nil && r.Entry == nil && r.Settings == nil && r.Ended == nil
	}
	if !ok {
		return fmt.Errorf("a record of kind %q for %q does not hold what its kind demands", r.Kind, r.ID)
	}
	return nil
}

// keepsClaim makes sure that no claim vanishes: when a record takes a lease
// away, it says how the claim ended.
func keepsClaim(r *Record, old *acop.Item) error {
	if old == nil || old.Lease == nil {
		return nil
	}
	id := old.Lease.Claim.ClaimID
	if r.Item.Lease != nil && r.Item.Lease.Claim.ClaimID == id {
		return nil
	}
	if r.Ended != nil && r.Ended.ClaimID == id {
		return nil
	}
	return fmt.Errorf("the record of %q takes claim %q away without telling how it ended", r.ID, id)
}

// indexOf collects what must be found later without decoding the record.
func indexOf(r *Record, old *acop.Item) index {
	x := index{Ended: r.Ended}
	if r.Idem != nil {
		x.IdemAt = r.AtUTC.Std().UnixMilli()
	}
	if r.Item == nil {
		return x
	}
	for _, n := range r.Item.Intents {
		id := n.ClaimIntent.ClaimIntentID
		known := old != nil && slices.ContainsFunc(old.Intents, func(o acop.Intent) bool { return o.ClaimIntent.ClaimIntentID == id })
		if !known {
			x.Intents, x.Item = append(x.Intents, id), r.ID
		}
	}
	return x
}
