package acop

import (
	"testing"
)

// waitsFor lists what the item's blockers wait for.
func (b *box) waitsFor(id string) []string {
	b.t.Helper()
	it, known := b.store.Item(id)
	if !known {
		b.t.Fatalf("no item %q", id)
	}
	return awaited(it.Blockers)
}

// TestWaitForTheSuccessor lets what waited for replaced work wait for what
// replaced it: nobody accepts the old item any more, so the wait would have no end.
func TestWaitForTheSuccessor(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("part", nil, nil)
	b.want(b.waits("whole", "part", "other"), 201, "")
	b.want(b.verb("claims", b.claim("part", "worker-http", 60), "complete", "worker-http", nil), 200, "")
	r := b.verb("work-items", "part", "send-back", "lead-01", m{"reason": "r"})
	b.want(r, 201, "")
	next := r.text("work_item.work_item_id")
	if got := b.waitsFor("whole"); len(got) != 2 || got[0] != next || got[1] != "other" {
		t.Fatalf("after the send-back it waits for %q, want %q and other", got, next)
	}

	// The producer's own document still names the old item and changes nothing.
	before := b.item("whole").header.Get("ETag")
	b.want(b.waits("whole", "part", "other"), 200, "")
	if after := b.item("whole").header.Get("ETag"); after != before {
		t.Errorf("publishing the same again changed the item from %s to %s", before, after)
	}

	// What is put or blocked later waits for the successor too, however far it is.
	b.put("third", nil, nil)
	b.want(b.verb("work-items", next, "supersede", "lead-01", m{"superseded_by_work_item_id": "third", "reason": "r"}), 200, "")
	b.want(b.waits("late", "part", "third"), 201, "")
	b.put("raised", nil, nil)
	b.want(b.verb("work-items", "raised", "block", "lead-01", m{"blocker": dependsOn(next)}), 200, "")
	for _, id := range []string{"late", "raised"} {
		if got := b.waitsFor(id); len(got) != 1 || got[0] != "third" {
			t.Errorf("%s waits for %q, want third alone", id, got)
		}
	}
	b.want(b.verb("claims", b.claim("third", "worker-http", 60), "complete", "worker-http", nil), 200, "")
	b.want(b.verb("work-items", "third", "accept", "lead-01", nil), 200, "")
	for _, id := range []string{"late", "raised"} {
		if st := b.status(id); st != "ready" {
			t.Errorf("%s is %s", id, st)
		}
	}
	if got := b.waitsFor("whole"); len(got) != 1 || got[0] != "other" {
		t.Errorf("whole waits for %q, want other alone", got)
	}
	b.want(b.waits("after", "part"), 201, "")
	if st := b.status("after"); st != "ready" {
		t.Errorf("what waits for work whose successor is accepted is %s", st)
	}
}

// TestNoWaitForItselfThroughASuccessor leaves a wait as it is that would lead back
// to the item: the successor may itself wait for what it replaces.
func TestNoWaitForItselfThroughASuccessor(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("old", nil, nil)
	b.want(b.waits("between", "old"), 201, "")
	b.want(b.waits("new", "between"), 201, "")
	b.want(b.verb("work-items", "old", "supersede", "lead-01", m{"superseded_by_work_item_id": "new", "reason": "r"}), 200, "")
	if got := b.waitsFor("between"); len(got) != 1 || got[0] != "old" {
		t.Errorf("between waits for %q, want old", got)
	}
	b.want(b.waits("between", "old"), 200, "")
}
