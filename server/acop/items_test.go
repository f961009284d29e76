package acop

import (
	"fmt"
	"testing"

	core "signalbox/model/acop"
)

func dependsOn(id string) m {
	return m{"blocker_code": "dependency_work_item_pending", "severity": "medium", "summary": "needs " + id, "depends_on_work_item_id": id}
}

// TestPutMerges keeps what a reduced re-publish leaves out (D-40, H-017, H-046,
// C-008, C-009).
func TestPutMerges(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	reqs := []m{{"requirement_id": "r1", "kind": "test_pass", "summary": "s"}}
	put := func(item, more m) reply {
		t.Helper()
		doc := m{"work_item": workItem("w", item)}
		for k, v := range more {
			doc[k] = v
		}
		return b.do("PUT", "work-items", "fixture-producer", body(doc))
	}
	r := put(m{"title": "T", "owned_paths": []string{"a"}}, m{"validation_requirements": reqs})
	b.want(r, 201, "")
	first := b.item("w").at("item.revision")
	r = put(nil, nil)
	b.want(r, 200, "")
	if r.text("work_item.title") != "T" || len(r.at("validation_requirements").([]any)) != 1 || b.item("w").at("item.revision") != first {
		t.Fatalf("a reduced repeat changed something: %s", r.raw)
	}
	id := b.claim("w", "worker-http", 60)
	r = put(m{"title": "U"}, nil)
	b.want(r, 200, "")
	if r.text("work_item.title") != "U" || r.text("work_item_status") != "claimed" { // B45, H-050
		t.Fatalf("after a re-publish: %s", r.raw)
	}
	r = put(m{"title": "", "owned_paths": []string{}}, m{"validation_requirements": []m{}})
	b.want(r, 200, "")
	if r.at("work_item.title") != nil || r.at("work_item.owned_paths") != nil || len(r.at("validation_requirements").([]any)) != 0 {
		t.Fatalf("not cleared: %s", r.raw)
	}
	b.want(b.verb("claims", id, "complete", "worker-http", nil), 200, "") // C-031
	for k, v := range map[string]any{"work_kind": "review", "producer": "x", "created_at_utc": "2026-05-16T19:10:01Z"} {
		b.want(put(m{k: v}, nil), 409, "signalbox.work_item_conflict")
	}
	if b.do("PUT", "work-items", "worker-other", body(m{"work_item": workItem("w", nil)})).status != 200 {
		t.Error("an identical repeat by somebody else is refused")
	}
	b.want(b.do("PUT", "work-items", "worker-other", body(m{"work_item": workItem("w", m{"title": "mine"})})), 403, "forbidden")
}

// TestPutStatus lets a producer ask only for what is its own to say (D-41).
func TestPutStatus(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	put := func(who, id, status string) reply {
		t.Helper()
		return b.do("PUT", "work-items", who, body(m{"work_item": workItem(id, m{"status": status})}))
	}
	b.want(put("fixture-producer", "w", "ready"), 201, "")
	b.want(put("fixture-producer", "w", "blocked"), 200, "")
	b.want(put("fixture-producer", "w", "ready"), 200, "")
	for _, st := range []string{"claimed", "in_progress", "completed", "accepted", "released", "consumed", "requires_attention"} {
		b.want(put("fixture-producer", "w", st), 409, "work_item_not_actionable")
	}
	b.want(put("worker-other", "w", "cancelled"), 403, "forbidden")
	id := b.claim("w", "worker-http", 60)
	b.want(put("fixture-producer", "w", "cancelled"), 200, "")
	r := b.verb("claims", id, "renew", "worker-http", nil)
	b.want(r, 409, "claim_revoked")
	if r.text("error.details.work_item_status") != "cancelled" {
		t.Fatalf("details: %s", r.raw)
	}
	b.want(put("fixture-producer", "w", "cancelled"), 200, "")
	b.want(put("fixture-producer", "w", "ready"), 409, "work_item_cancelled")
	b.want(put("fixture-producer", "a", "requires_attention"), 201, "")
	b.want(put("fixture-producer", "a", "ready"), 403, "forbidden")
}

// TestPutParts refuses lease truth and takes entries (D-42, C-002, H-048).
func TestPutParts(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	claim := m{"claim_id": "c", "work_item_id": "w", "worker_agent_uid": "x", "granted_at_utc": "2026-05-16T19:10:00Z",
		"expires_at_utc": "2026-05-16T19:10:00Z", "claim_status": "active"}
	b.want(b.do("PUT", "work-items", "fixture-producer", body(m{"work_item": workItem("w", nil), "claim": claim})), 403, "forbidden")
	entry := m{"entry_id": "e1", "work_item_id": "w", "entry_kind": "risk", "author_agent_uid": "fixture-producer",
		"created_at_utc": "2026-05-16T19:10:00Z", "status": "active", "summary": "s"}
	doc := body(m{"work_item": workItem("w", nil), "blackboard_entries": []m{entry},
		"operations": []m{{"operation_id": "o", "kind": "whatever", "description": "d"}},
		"artifacts":  []m{{"artifact_id": "a", "artifact_kind": "k", "artifact_role": "r", "readiness": "ready"}}})
	b.want(b.do("PUT", "work-items", "fixture-producer", doc), 201, "")
	b.want(b.do("PUT", "work-items", "fixture-producer", doc), 200, "")
	it := b.item("w")
	if n := len(it.at("entries").([]any)); n != 1 {
		t.Fatalf("%d entries: %s", n, it.raw)
	}
	entry["summary"] = "other"
	b.want(b.do("PUT", "work-items", "fixture-producer", doc), 409, "signalbox.entry_exists")
	entry["entry_id"], entry["author_agent_uid"] = "e2", "worker-http"
	b.want(b.do("PUT", "work-items", "fixture-producer", doc), 403, "forbidden")
}

// TestOpaqueIDs sends every kind of id through path and body (C-010, H-006, B72).
func TestOpaqueIDs(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	long := make([]byte, 4096)
	for i := range long {
		long[i] = 'a' + byte(i%26)
	}
	ids := []string{"work:a/b", "a b", "100%", "a+b", " ", "  ", "\t", " a", "a ", "a", "ü", "..", ".", "a//b", "work:x/y%2Fz?q#f é", "cafe\u0301", "café", "Work:A/b", string(long)}
	for _, id := range ids {
		b.put(id, nil, nil)
		claimID := b.claim(id, "worker-http", 60)
		b.want(b.verb("claims", claimID, "renew", "worker-http", nil), 200, "")
		b.want(b.verb("claims", claimID, "complete", "worker-http", nil), 200, "")
		r := b.verb("work-items", id, "accept", "lead-01", nil)
		b.want(r, 200, "")
		if r.text("work_item.work_item_id") != id {
			t.Fatalf("%q became %q", id, r.text("work_item.work_item_id"))
		}
	}
	if rows := b.do("GET", "work-items?limit=1000", "reader-01", nil).at("work_items").([]any); len(rows) != len(ids) {
		t.Fatalf("%d items, want %d", len(rows), len(ids))
	}
	for _, bad := range []string{"a%00b", "%FF"} {
		b.want(b.do("POST", "work-items/"+bad+"/accept", "lead-01", body(nil)), 400, "schema_violation")
	}
}

// TestAcceptFrees chains and a diamond (C-025, H-051, H-055).
func TestAcceptFrees(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("a", nil, nil)
	b.put("b", nil, nil)
	b.put("c", m{"status": "blocked"}, m{"blockers": []m{dependsOn("a")}})
	b.put("d", m{"status": "blocked"}, m{"blockers": []m{dependsOn("a"), dependsOn("b")}})
	b.put("e", nil, m{"blockers": []m{dependsOn("a")}})
	finish := func(id string) reply {
		t.Helper()
		b.want(b.verb("claims", b.claim(id, "worker-http", 60), "complete", "worker-http", nil), 200, "")
		r := b.verb("work-items", id, "accept", "worker-other", nil)
		b.want(r, 200, "")
		return r
	}
	if got := fmt.Sprint(finish("a").at("released")); got != "[c]" {
		t.Fatalf("accepting a released %s", got)
	}
	if b.status("d") != "blocked" || b.status("c") != "ready" {
		t.Fatal("wrong statuses after a")
	}
	if got := fmt.Sprint(finish("b").at("released")); got != "[d]" {
		t.Fatalf("accepting b released %s", got)
	}
	if got := finish("c").at("released").([]any); len(got) != 0 {
		t.Fatalf("accepting c released %v", got)
	}
}

// TestSelfAcceptance is refused unless it is configured (D-24).
func TestSelfAcceptance(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		b := newBox(t, func(o *Options) { o.Config.AllowSelfAcceptance = allowed; o.Config.AcceptMode = AcceptAndConsume })
		b.put("w", nil, nil)
		b.want(b.verb("claims", b.claim("w", "worker-http", 60), "complete", "worker-http", nil), 200, "")
		r := b.verb("work-items", "w", "accept", "worker-http", nil)
		if allowed {
			b.want(r, 200, "")
			if r.text("work_item_status") != "consumed" || b.countEvents("w", "consume") != 1 { // D-23
				t.Fatalf("accept and consume: %s", r.raw)
			}
			continue
		}
		b.want(r, 403, "forbidden")
		if r.text("error.details.reason") != "self_acceptance" {
			t.Fatalf("details: %s", r.raw)
		}
	}
}

// TestEvidence names what is missing and leaves everything as it was (C-030,
// H-041, H-044, D-52).
func TestEvidence(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, m{"validation_requirements": []m{{"requirement_id": "r1", "kind": "k", "summary": "s"}, {"requirement_id": "r2", "kind": "k", "summary": "s"}}})
	id := b.claim("w", "worker-http", 60)
	r := b.verb("claims", id, "complete", "worker-http", m{"completion_evidence": m{"validation_results": []string{"r2", "x"}}})
	b.want(r, 409, "validation_required")
	if got := fmt.Sprint(r.at("error.details.missing_requirement_ids")); got != "[r1]" || b.status("w") != "claimed" {
		t.Fatalf("missing %s", got)
	}
	b.want(b.verb("claims", id, "complete", "worker-http", m{"completion_evidence": m{"validation_results": []string{"r2", "r1"}, "artifact_ids": []string{"a"}}}), 200, "")
	if got := fmt.Sprint(b.item("w").at("item.completion.completion_evidence")); got != "map[artifact_ids:[a] validation_results:[r2 r1]]" {
		t.Fatalf("evidence %s", got)
	}
}

// TestEnds covers who may cancel and supersede, from every open status (C-060,
// C-061, D-33, D-34, H-077).
func TestEnds(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	b.put("next", nil, nil)
	for _, st := range core.Statuses() {
		if st.Terminal() {
			continue
		}
		id := "c " + string(st)
		claimID := b.reach(id, st)
		b.want(b.verb("work-items", id, "cancel", "worker-other", m{"reason": "x"}), 403, "forbidden")
		r := b.verb("work-items", id, "cancel", "orch-01", m{"reason": "x"})
		b.want(r, 200, "")
		if st == core.StatusClaimed || st == core.StatusInProgress {
			if r.text("revoked_claim.claim_id") != claimID {
				t.Fatalf("%s: %s", id, r.raw)
			}
			b.want(b.verb("claims", claimID, "complete", "worker-http", nil), 409, "claim_revoked")
		}
		id = "s " + string(st)
		b.reach(id, st)
		b.want(b.verb("work-items", id, "supersede", "worker-other", m{"superseded_by_work_item_id": "next"}), 403, "forbidden")
		b.want(b.verb("work-items", id, "supersede", "lead-01", m{"superseded_by_work_item_id": "nothing"}), 404, "work_item_not_found")
		b.want(b.verb("work-items", id, "supersede", "lead-01", m{"superseded_by_work_item_id": id}), 400, "schema_violation")
		b.want(b.verb("work-items", id, "supersede", "lead-01", m{"superseded_by_work_item_id": "next"}), 200, "")
		r = b.do("POST", "claims", "worker-other", claimBody(id, "worker-other", 60))
		b.want(r, 409, "work_item_superseded")
		if r.text("error.details.superseded_by_work_item_id") != "next" {
			t.Fatalf("details: %s", r.raw)
		}
	}
	b.want(b.do("PUT", "work-items", "fixture-producer", body(m{"work_item": workItem("own", nil)})), 201, "")
	b.want(b.verb("work-items", "own", "cancel", "fixture-producer", m{"reason": "x"}), 200, "")
	b.want(b.verb("work-items", "next", "cancel", "lead-01", nil), 400, "schema_violation")
	b.want(b.verb("work-items", "next", "cancel", "lead-01", m{"reason": "  "}), 400, "schema_violation")
}

// TestBlockers covers raising and resolving, also on held work (C-062, D-29).
func TestBlockers(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	blocker := func(code string) m {
		return m{"blocker": m{"blocker_code": code, "severity": "low", "summary": "s"}}
	}
	b.want(b.verb("work-items", "w", "block", "worker-other", blocker("x.a.b")), 403, "forbidden")
	b.want(b.verb("work-items", "w", "block", "lead-01", blocker("x.a.b")), 200, "")
	b.want(b.verb("work-items", "w", "block", "lead-01", blocker("review_required")), 200, "")
	if r := b.verb("work-items", "w", "unblock", "lead-01", m{"blocker_code": "x.a.b"}); r.text("work_item_status") != "blocked" {
		t.Fatalf("one of two resolved: %s", r.raw)
	}
	b.want(b.verb("work-items", "w", "unblock", "lead-01", m{"blocker_code": "x.a.b"}), 409, "work_item_not_actionable")
	if r := b.verb("work-items", "w", "unblock", "lead-01", m{"blocker_code": "review_required"}); r.text("work_item_status") != "ready" {
		t.Fatalf("last resolved: %s", r.raw)
	}
	id := b.claim("w", "worker-http", 60)
	if r := b.verb("work-items", "w", "block", "worker-http", blocker("review_required")); r.text("work_item_status") != "claimed" {
		t.Fatalf("raised by the holder: %s", r.raw)
	}
	if r := b.verb("claims", id, "revoke", "lead-01", m{"reason": "r"}); r.text("work_item_status") != "blocked" {
		t.Fatalf("revoked with an open blocker: %s", r.raw)
	}
	if r := b.verb("work-items", "w", "resolve", "lead-01", m{"decision": "ready", "note": "go"}); r.text("work_item_status") != "ready" {
		t.Fatalf("resolved by a lead: %s", r.raw)
	}
}

// TestResolve writes the note as a decision in the same act (C-051, H-094).
func TestResolve(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", m{"status": "requires_attention"}, nil)
	b.want(b.verb("work-items", "w", "resolve", "worker-http", m{"decision": "ready", "note": "n"}), 403, "forbidden")
	b.want(b.verb("work-items", "w", "resolve", "lead-01", m{"decision": "ready"}), 400, "schema_violation")
	b.want(b.verb("work-items", "w", "resolve", "lead-01", m{"decision": "done", "note": "n"}), 400, "schema_violation")
	r := b.verb("work-items", "w", "resolve", "lead-01", m{"decision": "blocked", "note": "ask first",
		"blocker": m{"blocker_code": "external_decision_pending", "severity": "high", "summary": "s"}})
	b.want(r, 200, "")
	it := b.item("w")
	entries := it.at("entries").([]any)
	if it.text("item.work_item.status") != "blocked" || len(entries) != 1 {
		t.Fatalf("after resolve: %s", it.raw)
	}
	e := entries[0].(m)["entry"].(m)
	if e["entry_kind"] != "decision" || e["summary"] != "ask first" {
		t.Fatalf("entry %v", e)
	}
	if tag := r.header.Get("ETag"); tag != fmt.Sprintf(`"%v"`, it.at("item.revision")) {
		t.Fatalf("ETag %s of an item at %v", tag, it.at("item.revision"))
	}
}

// TestSendBack replaces completed work in one act (C-054, D-35).
func TestSendBack(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", m{"title": "T"}, m{"validation_requirements": []m{{"requirement_id": "r", "kind": "k", "summary": "s"}}})
	id := b.claim("w", "worker-http", 60)
	b.want(b.verb("claims", id, "complete", "worker-http", m{"completion_evidence": m{"validation_results": []string{"r"}}}), 200, "")
	b.want(b.verb("work-items", "w", "send-back", "worker-other", m{"reason": "x"}), 403, "forbidden")
	r := b.verb("work-items", "w", "send-back", "lead-01", m{"reason": "tests are red"})
	b.want(r, 201, "")
	next := r.text("work_item.work_item_id")
	it := b.item(next)
	if it.text("item.work_item.correlation_id") != "w" || it.text("item.work_item.work_kind") != "repair" || it.text("item.work_item.title") != "T" ||
		it.text("item.work_item.status") != "ready" || len(it.at("item.validation_requirements").([]any)) != 1 || it.at("item.completion") != nil {
		t.Fatalf("successor: %s", it.raw)
	}
	if e := it.at("entries").([]any); len(e) != 1 {
		t.Fatalf("entries: %v", e)
	}
	if old := b.item("w"); old.text("item.work_item.status") != "superseded" || old.text("item.superseded_by_work_item_id") != next {
		t.Fatalf("old: %s", old.raw)
	}
	b.want(b.verb("work-items", "w", "send-back", "lead-01", m{"reason": "x"}), 409, "work_item_superseded")
}

// TestIfMatch refuses what was decided on an older picture (B65).
func TestIfMatch(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	tag := b.put("w", nil, nil).header.Get("ETag")
	b.put("w", m{"title": "T"}, nil)
	r := b.verb("work-items", "w", "cancel", "lead-01", m{"reason": "x"}, header{"If-Match": tag})
	b.want(r, 412, "signalbox.revision_mismatch")
	if r.text("error.details.current.work_item.title") != "T" || b.status("w") != "ready" {
		t.Fatalf("details: %s", r.raw)
	}
	now := b.item("w").header.Get("ETag")
	b.want(b.verb("work-items", "w", "cancel", "lead-01", m{"reason": "x"}, header{"If-Match": "x"}), 400, "schema_violation")
	b.want(b.verb("work-items", "w", "cancel", "lead-01", m{"reason": "x"}, header{"If-Match": now}), 200, "")
}
