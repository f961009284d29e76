package acop

import (
	"strings"
	"testing"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// waits puts an item that waits for others.
func (b *box) waits(id string, on ...string) reply {
	b.t.Helper()
	blockers := []m{}
	for _, o := range on {
		blockers = append(blockers, dependsOn(o))
	}
	return b.do("PUT", "work-items", "fixture-producer",
		body(m{"work_item": workItem(id, m{"status": "blocked"}), "blockers": blockers}))
}

// refusedCircle asks for the refusal of a circle and the way round it.
func (b *box) refusedCircle(r reply, way ...string) {
	b.t.Helper()
	b.want(r, 409, "signalbox.work_item_conflict")
	got, _ := r.at("error.details.circle").([]any)
	if r.text("error.details.reason") != "circle" || len(got) != len(way) {
		b.t.Fatalf("the circle is %v, want %q: %s", got, way, r.raw)
	}
	for i, id := range way {
		if got[i] != id {
			b.t.Fatalf("the circle is %v, want %q", got, way)
		}
	}
}

// TestNoItemWaitsForItself refuses what could never become ready: acceptance is
// the one thing that ends such a wait, and nothing in a circle is ever accepted
// (C-025).
func TestNoItemWaitsForItself(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.refusedCircle(b.waits("self", "self"), "self", "self")
	b.want(b.do("GET", "work-items/self", "reader-01", nil), 404, "work_item_not_found")

	// Published in any order, the last one closes the circle and is refused.
	b.want(b.waits("a", "b", "elsewhere"), 201, "")
	b.want(b.waits("b", "c"), 201, "")
	b.refusedCircle(b.waits("c", "x", "a"), "c", "a", "b", "c")
	b.want(b.waits("c", "x"), 201, "")
	b.refusedCircle(b.waits("c", "x", "b"), "c", "b", "c")
	if st := b.status("c"); st != "blocked" {
		t.Errorf("c is %s", st)
	}
	block := func(id, on string) reply {
		return b.verb("work-items", id, "block", "lead-01", m{"blocker": dependsOn(on)})
	}
	b.refusedCircle(block("c", "a"), "c", "a", "b", "c")
	b.refusedCircle(block("c", "c"), "c", "c")
	b.put("look", m{"status": "requires_attention"}, nil)
	b.refusedCircle(b.verb("work-items", "look", "resolve", "lead-01",
		m{"decision": "blocked", "note": "n", "blocker": dependsOn("look")}), "look", "look")

	// A diamond is none, and what is closed waits for nothing.
	b.want(b.waits("d", "a", "b", "c"), 201, "")
	b.want(b.verb("work-items", "a", "cancel", "lead-01", m{"reason": "r"}), 200, "")
	b.want(b.waits("c", "x", "a"), 200, "")
}

// TestAnOldCircleCanBeLeft lets everything about an item change that a log from
// elsewhere has in a circle, except that a new one is made.
func TestAnOldCircleCanBeLeft(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.want(b.waits("a", "b"), 201, "")
	b.want(b.waits("b"), 201, "")
	stored, _ := b.store.Item("b")
	it := stored.Clone()
	it.Blockers = []core.Blocker{{BlockerCode: core.BlockerDependency, Severity: core.SeverityHigh, Summary: "needs a", DependsOnWorkItemID: "a"}}
	_, err := b.store.Commit(t.Context(), store.Change{Expected: stored.Revision, Record: store.Record{Kind: store.KindItem, ID: "b", Item: it,
		Events: []core.Event{{Family: core.FamilyBlockerUpdate, AtUTC: it.UpdatedAtUTC, Verb: string(core.VerbBlock), Actor: "lead-01", WorkItemID: "b"}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.do("PUT", "work-items", "fixture-producer", body(m{"work_item": workItem("b", m{"status": "blocked", "title": "new"})})), 200, "")
	again := dependsOn("a")
	again["severity"] = "high"
	b.want(b.do("PUT", "work-items", "fixture-producer", // what it waits for, once more
		body(m{"work_item": workItem("b", m{"status": "blocked", "title": "newer"}), "blockers": []m{again}})), 200, "")
	b.want(b.verb("work-items", "b", "unblock", "lead-01", m{"note": "n", "blocker_code": "dependency_work_item_pending"}), 200, "")
	if st := b.status("b"); st != "ready" {
		t.Errorf("b is %s", st)
	}
}

// TestLongCircle names the way round as far as anybody reads it.
func TestLongCircle(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	name := func(i int) string { return "w" + strings.Repeat("i", i) }
	const n = 40
	for i := range n {
		b.want(b.waits(name(i), name(i+1)), 201, "")
	}
	r := b.waits(name(n), name(0))
	b.want(r, 409, "signalbox.work_item_conflict")
	if got := r.at("error.details.circle").([]any); len(got) != circleShown || got[0] != name(n) || got[1] != name(0) {
		t.Errorf("the circle is %v", got)
	}
	if r.at("error.details.circle_length") != float64(n+1) {
		t.Errorf("details: %s", r.raw)
	}
}

// TestSupersedeInACircle refuses a successor that leads back to the item, so that
// who follows the successors comes to an end (D-34).
func TestSupersedeInACircle(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	for _, id := range []string{"a", "b", "c"} {
		b.put(id, nil, nil)
	}
	by := func(id, successor string) reply {
		return b.verb("work-items", id, "supersede", "lead-01", m{"superseded_by_work_item_id": successor})
	}
	b.want(by("a", "a"), 400, "schema_violation")
	b.want(by("a", "b"), 200, "")
	b.want(by("b", "a"), 409, "work_item_superseded")
	b.want(by("b", "c"), 200, "")
	b.want(by("c", "a"), 409, "work_item_superseded")
	if st := b.status("c"); st != "ready" {
		t.Errorf("the end of the chain is %s", st)
	}
}

// TestBlockByWhatIsDone leaves an item that is blocked for a reason of its producer's
// as it is when somebody lets it wait for work that is accepted already (D-44).
func TestBlockByWhatIsDone(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("done", nil, nil)
	b.want(b.verb("claims", b.claim("done", "worker-http", 60), "complete", "worker-http", nil), 200, "")
	b.want(b.verb("work-items", "done", "accept", "lead-01", nil), 200, "")
	for id, status := range map[string]string{"blocked": "blocked", "ready": "ready"} {
		b.put(id, m{"status": status}, nil)
		r := b.verb("work-items", id, "block", "lead-01", m{"blocker": dependsOn("done")})
		b.want(r, 200, "")
		if got := b.item(id); got.text("item.work_item.status") != status || len(got.at("item.blockers").([]any)) != 0 {
			t.Errorf("%s has become %s", id, got.raw)
		}
	}
}
