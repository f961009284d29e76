package acop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// waiting puts n items into the log that wait for dep, without asking the owner.
func (b *box) waiting(dep string, n int) {
	b.t.Helper()
	at, err := core.ParseTime("2026-05-16T19:12:00Z")
	if err != nil {
		b.t.Fatal(err)
	}
	for from := 0; from < n; from += store.MaxRecords {
		var cs []store.Change
		for i := from; i < min(n, from+store.MaxRecords); i++ {
			id := fmt.Sprint(dep, " ", i)
			it := &core.Item{WorkItem: core.WorkItem{WorkItemID: id, ProtocolVersion: core.ProtocolVersion, WorkKind: "implement",
				CreatedAtUTC: at, Producer: "lead-01", Status: core.StatusBlocked, Priority: core.PriorityLow}, CreatedBy: "lead-01", StatusSinceUTC: at, UpdatedAtUTC: at, SubmittedStatus: core.StatusBlocked,
				Blockers: []core.Blocker{{BlockerCode: core.BlockerDependency, Severity: core.SeverityLow, Summary: "s", DependsOnWorkItemID: dep}}}
			cs = append(cs, store.Change{Record: store.Record{Kind: store.KindItem, ID: id, Item: it,
				Events: []core.Event{{Family: core.FamilyWorkOffer, AtUTC: at, Actor: "lead-01", Verb: "put", WorkItemID: id}}}})
		}
		if _, err := b.store.CommitAll(context.Background(), cs); err != nil {
			b.t.Fatal(err)
		}
	}
}

// countReady counts the items that can be taken.
func (b *box) countReady() int {
	b.t.Helper()
	n, cursor := 0, ""
	for {
		rows, next, _, err := b.store.Items(store.ItemQuery{Statuses: []core.Status{core.StatusReady}, Limit: store.MaxLimit, Cursor: cursor})
		if err != nil {
			b.t.Fatal(err)
		}
		n += len(rows)
		if cursor = next; next == "" {
			return n
		}
	}
}

// TestAcceptFreesMany accepts work that more items wait for than one act has
// room for (C-025, H-055).
func TestAcceptFreesMany(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	const n = 2*store.MaxRecords + 5
	b.put("dep", nil, nil)
	b.waiting("dep", n)
	b.want(b.verb("claims", b.claim("dep", "worker-http", 60), "complete", "worker-http", nil), 200, "")
	r := b.verb("work-items", "dep", "accept", "lead-01", nil)
	b.want(r, 200, "")
	if released := r.at("released").([]any); len(released) != n {
		t.Errorf("the answer names %d released items, want %d", len(released), n)
	}
	if ready := b.countReady(); ready != n {
		t.Logf("%d of %d are ready with the answer", ready, n) // a busy machine needs more than one act's time
	}
	eventually(t, "all that waited is ready", func() bool { return b.countReady() == n })
}

// TestStartFreesTheRest starts an owner that died after an acceptance and before
// everything that waited was freed.
func TestStartFreesTheRest(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.accepted("dep")
	b.waiting("dep", 3)
	b.restart()
	eventually(t, "what waited for accepted work is ready", func() bool { return b.countReady() == 3 })
}

// TestSweepFreesWhatIsOwed: an act whose time did not suffice for all that waited is
// followed up while the owner runs, not only when it starts again.
func TestSweepFreesWhatIsOwed(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.accepted("dep")
	b.waiting("dep", 3)
	over, end := context.WithCancel(t.Context())
	end()
	r := &request{}
	r.Verb, r.WorkItemID = core.VerbAccept, "dep"
	s := b.owner.service
	if s.freeLate(over, r) || b.countReady() != 0 {
		t.Fatal("items were freed when the time was over")
	}
	s.owed.add(r)
	eventually(t, "what was owed is ready", func() bool { return b.countReady() == 3 })
	if left := s.owed.take(); len(left) != 0 {
		t.Errorf("%d acts are still owed", len(left))
	}
}

// TestPutManyEntries takes as many entries with an item as one act has room for,
// and says so when there are more; an entry that is there twice is one (D-42).
func TestPutManyEntries(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	entries := func(id string, n int) []m {
		var out []m
		for i := range n {
			out = append(out, m{"entry_id": fmt.Sprint(id, " ", i), "work_item_id": id, "entry_kind": "finding", "author_agent_uid": "lead-01",
				"created_at_utc": "2026-05-16T19:12:00Z", "status": "active", "summary": "s"})
		}
		return out
	}
	put := func(id string, es []m) reply {
		return b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem(id, nil), "blackboard_entries": es}))
	}
	b.want(put("full", entries("full", mostEntries)), 201, "")
	b.want(put("over", entries("over", mostEntries+1)), 400, "schema_violation")
	b.want(b.do("GET", "work-items/over", "lead-01", nil), 404, "work_item_not_found")

	twice := entries("twice", 2)
	b.want(put("twice", append(twice, twice...)), 201, "")
	if got := len(b.item("twice").at("entries").([]any)); got != 2 {
		t.Errorf("%d entries are stored, want 2", got)
	}
	other := entries("other", 1)[0]
	other["summary"] = "something else"
	b.want(put("other", append(entries("other", 1), other)), 409, "signalbox.entry_exists")
	b.want(b.do("GET", "work-items/other", "lead-01", nil), 404, "work_item_not_found")
}

// TestItemGrows lets a producer add to an item, each time less than a body may
// have: it ends with a plain refusal, and the item can still be worked on, with
// words as long as a body takes (B87).
func TestItemGrows(t *testing.T) {
	t.Parallel()
	oneByOne(t)
	b := newBox(t, nil)
	long := strings.Repeat("x", 900<<10)
	list := func(name string, more m) m {
		part := m{}
		for k, v := range more {
			part[k] = v
		}
		return m{name: []m{part}}
	}
	b.put("grows", nil, nil)
	n, refused := 0, reply{}
	for _, doc := range []m{
		list("operations", m{"operation_id": "o", "kind": "k", "description": long}),
		list("artifacts", m{"artifact_id": "a", "artifact_kind": "k", "artifact_role": long, "readiness": "ready"}),
		list("validation_requirements", m{"requirement_id": "r", "kind": "k", "summary": long}),
		{"work_item": workItem("grows", m{"summary": long})},
		{"work_item": workItem("grows", m{"title": long})},
	} {
		if doc["work_item"] == nil {
			doc["work_item"] = workItem("grows", nil)
		}
		r := b.do("PUT", "work-items", "lead-01", body(doc), header{"Idempotency-Key": fmt.Sprint("part ", n)})
		if r.status != 200 {
			refused = r
			break
		}
		n++
	}
	b.want(refused, 413, "signalbox.payload_too_large")
	if n < 3 {
		t.Errorf("only %d parts were taken", n)
	}
	id := b.claim("grows", "worker-http", 60)
	key := header{"Idempotency-Key": "K"}
	b.want(b.verb("claims", id, "renew", "worker-http", m{"progress_summary": long}, key), 200, "")
	b.want(b.verb("claims", id, "heartbeat", "worker-http", m{"progress_summary": long}, key), 200, "")
	b.want(b.verb("claims", id, "complete", "worker-http", m{"completion_evidence": m{
		"validation_results": []string{"r"}, "artifact_ids": []string{long}}}, key), 200, "")
	b.want(b.verb("work-items", "grows", "accept", "lead-01", m{"acceptance_notes": long}, key), 200, "")
}

// TestScopeIsBounded keeps requests that wait for a lead from filling up the
// record of their item (B84).
func TestScopeIsBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	ask := func(n int) reply {
		c := claimBody("w", "worker-http", 60)
		c["scope"] = strings.Repeat("s", n)
		return b.do("POST", "claims", "worker-http", c)
	}
	b.want(ask(maxScope+1), 400, "schema_violation")
	b.want(ask(maxScope), 201, "")
}

// TestDecidedIntentsAreBounded asks and is turned down again and again: the item
// remembers the newest outcomes and does not grow without end (B84).
func TestDecidedIntentsAreBounded(t *testing.T) {
	t.Parallel()
	oneByOne(t)
	b := newBox(t, nil)
	b.put("w", nil, nil)
	b.want(b.do("PUT", "settings", "lead-01", body(m{"grant_mode": "lead", "reason": "r"})), 200, "")
	last := ""
	for i := range mostIntents + 10 {
		c := claimBody("w", "worker-http", 60)
		last = fmt.Sprint("wish ", i)
		c["claim_intent_id"] = last
		b.want(b.do("POST", "claims", "worker-http", c), 409, "gate_blocked")
		b.want(b.verb("claim-intents", last, "deny", "lead-01", m{"reason": "no"}), 200, "")
	}
	intents := b.item("w").at("item.intents").([]any)
	if len(intents) != mostIntents {
		t.Fatalf("%d intents are kept, want %d", len(intents), mostIntents)
	}
	if got := intents[mostIntents-1].(m)["claim_intent"].(m)["claim_intent_id"]; got != last {
		t.Errorf("the newest one kept is %v, want %s", got, last)
	}
}
