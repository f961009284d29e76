package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// Of many items, putAtOnce requests are under way at the same time: the owner writes
// what comes together together, and keeps serving its workers in between. A few are put
// one after the other, so that their revisions follow the file as well.
const (
	manyItems = 200
	putAtOnce = 8
)

// What became of one document of a put.
const (
	outcomeCreated   = "created"
	outcomeChanged   = "changed"
	outcomeUnchanged = "unchanged" // it stood so at the owner already
	outcomeRefused   = "refused"   // and with it the whole file
)

// putDone is what is told of a document that the owner took.
type putDone struct {
	Outcome string   `json:"outcome"`
	Changes []string `json:"changes"` // the members that changed; none of a new item
	*acop.Receipt
}

// refusedItem is what is told of a document that cannot be put.
type refusedItem struct {
	Outcome    string `json:"outcome"`
	WorkItemID string `json:"work_item_id"`
	At         string `json:"at"` // file and line
	Reason     string `json:"reason"`
}

// tellRefused says which documents cannot be put, each as JSON, the first of them as
// the error; nil for none.
func (w *work) tellRefused(all []refusedItem) error {
	if len(all) == 0 {
		return nil
	}
	if w.g.json {
		for _, r := range all {
			if err := w.printJSON(r); err != nil {
				return err
			}
		}
	}
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf("; %s of the file cannot be put either", plural(n, "other item", "other items"))
	}
	return failf(exitFailed, "%s: %s%s; nothing was put", all[0].At, all[0].Reason, more)
}

// putAll sends what was planned, each item after those of the file that it waits for,
// and tells them in the order of the file.
func (w *work) putAll(ctx context.Context, in *putInput, ifRevision uint64) error {
	if len(in.items) == 0 {
		if w.g.json {
			return nil
		}
		return w.printf("nothing to put: all tasks of the list are done\n")
	}
	before := in.before()
	tell := &putTeller{w: w, items: in.items, receipts: make([]*acop.Receipt, len(in.items))}
	ended := make([]chan struct{}, len(in.items))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	err := eachAtOnce(ctx, atOnce(len(in.items)), len(in.items), func(i int) error {
		defer close(ended[i])
		for _, first := range before[i] {
			<-ended[first] // it began before this one
			if !tell.has(first) {
				return nil // its error is told
			}
		}
		p := in.items[i]
		id := p.doc.WorkItem.WorkItemID
		if ifRevision == 0 && p.stands() {
			return tell.done(i, &acop.Receipt{Revision: p.have.Revision, Item: p.have, Status: p.have.Status()})
		}
		r, err := w.c.Do(ctx, acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: p.doc, Empty: p.empty, IfRevision: ifRevision})
		if err != nil {
			return workError("put "+id, err)
		}
		return tell.done(i, r)
	})
	if rest := tell.rest(); err == nil {
		err = rest
	}
	return tell.broken(err)
}

// before gives, for each item, the indices of those earlier in the file that it waits
// for.
func (in *putInput) before() [][]int {
	at := make(map[string]int, len(in.items))
	out := make([][]int, len(in.items))
	for i, p := range in.items {
		for _, b := range p.doc.Blockers {
			if first, earlier := at[b.DependsOn()]; earlier {
				out[i] = append(out[i], first)
			}
		}
		at[p.doc.WorkItem.WorkItemID] = i
	}
	return out
}

// putTeller prints receipts in the order of the file, whichever comes first.
type putTeller struct {
	w     *work
	items []*putItem

	mu       sync.Mutex
	receipts []*acop.Receipt
	next     int // the first that is not told
	put      int
}

// has reports whether an item was put.
func (t *putTeller) has(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.receipts[i] != nil
}

// done takes a receipt and tells all that can be told now.
func (t *putTeller) done(i int, r *acop.Receipt) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.receipts[i] = r
	t.put++
	for t.next < len(t.items) && t.receipts[t.next] != nil {
		t.next++
		if err := t.w.tellPut(t.items[t.next-1], t.receipts[t.next-1]); err != nil {
			return err
		}
	}
	return nil
}

// rest tells what was put behind one that was not.
func (t *putTeller) rest() error {
	for ; t.next < len(t.items); t.next++ {
		if r := t.receipts[t.next]; r != nil {
			if err := t.w.tellPut(t.items[t.next], r); err != nil {
				return err
			}
		}
	}
	return nil
}

// broken adds to an error how far the put came.
func (t *putTeller) broken(err error) error {
	if err == nil || t.put == 0 || len(t.items) == 1 {
		return err
	}
	code := exitFailed
	if ee, ok := err.(*exitError); ok {
		code = ee.code
	}
	left := len(t.items) - t.put
	if left == 0 {
		return err
	}
	return failf(code, "%w; %d of %s put before, put the file again for the others", err, t.put, plural(len(t.items), "item was", "items were"))
}

// stands reports that the owner has all that the document says.
func (p *putItem) stands() bool {
	return p.have != nil && len(p.told()) == 0
}

// told are the members that change, new entries of the blackboard among them: those
// may come to a closed item as well.
func (p *putItem) told() []string {
	all := p.changes()
	if p.have != nil && p.posts {
		all = append(all, "blackboard_entries")
	}
	return all
}

// tellPut says what became of one document. What the owner answers decides: somebody
// may have been faster with the same change.
func (w *work) tellPut(p *putItem, r *acop.Receipt) error {
	d := putDone{Outcome: outcomeCreated, Changes: []string{}, Receipt: r}
	if p.have != nil {
		d.Outcome, d.Changes = outcomeChanged, p.told()
		if r.Revision == p.have.Revision || len(d.Changes) == 0 {
			d.Outcome, d.Changes = outcomeUnchanged, []string{}
		}
	}
	if w.g.json {
		return w.printJSON(d)
	}
	s := d.Outcome + " " + text.ID(p.doc.WorkItem.WorkItemID)
	if len(d.Changes) > 0 {
		s += " (" + strings.Join(d.Changes, ", ") + ")"
	}
	return w.told(r, "%s: %s", s, r.Status)
}

// atOnce is how many of n items are put at the same time.
func atOnce(n int) int {
	if n < manyItems {
		return 1
	}
	return putAtOnce
}

// eachAtOnce calls do for 0 to n-1, so many of them at the same time, begun in this
// order. After the first error, which is returned, no more are begun; those under way
// end as they would.
func eachAtOnce(ctx context.Context, many, n int, do func(i int) error) error {
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Pointer[error]
	)
	for range min(many, n) {
		wg.Go(func() {
			for ctx.Err() == nil && failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	if ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted")
	}
	return nil
}
