package acmp

import (
	"context"
	"errors"
	"time"
)

// remember opens the journal of the data folder, if one is named, and puts what it
// tells into the table. A task found running is over: what it did is not known, and
// it is not run again (D-12).
func (p *Provider) remember() error {
	if p.opts.Data == "" {
		return nil
	}
	j, recs, err := openJournal(p.opts.Data, p.opts.Limits, p.log)
	if err != nil {
		return err
	}
	last := map[string]int{}
	for i, r := range recs {
		last[r.ID] = i
		if p.offers != nil {
			p.offers.restore(r)
		}
	}
	for i, r := range recs {
		if r.ID != "" && last[r.ID] == i {
			p.table.restore(p.restored(r), r.Gone)
		}
	}
	p.journal = j
	err = j.start(func(write func(record) error) error {
		if p.offers != nil {
			if err := p.offers.records(write); err != nil {
				return err
			}
		}
		return p.table.records(write)
	})
	if err != nil {
		j.lock.Close()
		return err
	}
	return nil
}

// restored makes the finished task that a record tells of.
func (p *Provider) restored(r record) *Task {
	t := &Task{id: r.ID, principal: r.Principal, price: r.Price, uses: r.Uses, limits: &p.opts.Limits,
		deadline: r.At, input: newInput(), returned: make(chan struct{}), recorded: make(chan struct{}),
		waiters: map[*waiter]struct{}{}, room: make(chan struct{}), endedAt: r.At, restored: true}
	if r.Params != nil {
		t.params = *r.Params
	}
	t.ctx, t.stop = context.WithCancelCause(p.life)
	t.stop(errDone)
	close(t.returned)
	close(t.recorded)
	if r.End == nil {
		t.endedAt = time.Now()
		t.outcome = internalError(t.id, "the provider was restarted while the task ran; it is not run again")
		return t
	}
	t.outcome = &outcome{err: r.End.Error, output: r.End.Output, tokens: r.End.Tokens, chunked: r.End.Chunked, after: r.End.After}
	t.chunks, t.final = r.End.Chunks, r.End.Chunked || r.End.Final
	if r.End.Lost {
		t.base = 1 // whoever asks for seq 0 is told
	}
	for _, c := range t.chunks {
		t.bytes += len(c.Data) + chunkOverhead
	}
	if t.outcome.output != nil {
		t.bytes += len(t.outcome.output.Data)
	}
	return t
}

// recordOf is the task as the journal keeps it, begun or ended.
func (t *Task) recordOf() record {
	t.mu.Lock()
	defer t.mu.Unlock()
	params := t.params
	params.Input = nil // not needed to answer, and may be large
	r := record{ID: t.id, Principal: t.principal, At: time.Now(), Params: &params, Price: t.price, Uses: t.uses}
	if o := t.outcome; o != nil {
		r.At = t.endedAt
		r.End = &endRecord{Error: o.err, Output: o.output, Tokens: o.tokens, Chunked: o.chunked, After: o.after, Final: t.final && o.after}
		if kept := o.chunked || o.after; kept && t.base == 0 {
			r.End.Chunks = t.chunks
		} else {
			r.End.Lost = kept
		}
	}
	return r
}

// begun writes that t is about to run; where that cannot be kept, it must not.
func (p *Provider) begun(t *Task) error {
	if p.journal == nil {
		return nil
	}
	if err := p.record(t); err != nil {
		return errors.New("the task cannot be recorded")
	}
	return nil
}

// record writes what t is now, and returns when it is on the disk. The last record of
// a task holds: a begin never stands behind the end that a cancel has made meanwhile.
func (p *Provider) record(t *Task) error {
	t.recording.Lock()
	kept := p.journal.enqueue(t.recordOf())
	t.recording.Unlock()
	return kept()
}

// ended moves a task to the outcomes and lets its answers go once it is recorded.
func (p *Provider) ended(t *Task) {
	p.table.ended(t)
	if p.journal != nil {
		_ = p.record(t) // the journal has told the log
	}
	close(t.recorded)
}

// restore enters a task that is over.
func (tb *table) restore(t *Task, gone bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := &entry{id: t.id, principal: t.principal, at: t.endedAt}
	tb.tasks[t.id] = e
	if gone {
		e.place = tb.gone.PushBack(e)
	} else {
		e.task, e.size = t, t.bytes+taskOverhead
		e.place = tb.held.PushBack(e)
		tb.bytes += e.size
	}
	tb.evict()
}

// records gives everything the journal must know, oldest end first: ids that are
// only remembered, outcomes, then what runs.
func (tb *table) records(write func(record) error) error {
	tb.mu.Lock()
	var old []record
	for el := tb.gone.Front(); el != nil; el = el.Next() {
		e := el.Value.(*entry)
		old = append(old, record{ID: e.id, Principal: e.principal, At: e.at, Gone: true})
	}
	var tasks, running []*Task
	for el := tb.held.Front(); el != nil; el = el.Next() {
		tasks = append(tasks, el.Value.(*entry).task)
	}
	for _, e := range tb.tasks {
		if e.task != nil && e.place == nil {
			running = append(running, e.task)
		}
	}
	tb.mu.Unlock()
	for _, r := range old {
		if err := write(r); err != nil {
			return err
		}
	}
	for _, t := range append(tasks, running...) {
		if err := write(t.recordOf()); err != nil {
			return err
		}
	}
	return nil
}
