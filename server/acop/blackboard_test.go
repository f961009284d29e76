package acop

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
)

// TestBlackboard is append-only by every route (C-032..C-039, H-056..H-060,
// D-45..D-47).
func TestBlackboard(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	e := m{"work_item_id": "w", "entry_kind": "risk", "author_agent_uid": "worker-http", "created_at_utc": "2026-05-16T19:12:00Z", "status": "active"}
	for k := range e {
		less := m{}
		for o, v := range e {
			if o != k {
				less[o] = v
			}
		}
		b.want(b.do("POST", "blackboard", "worker-http", body(less)), 400, "schema_violation")
	}
	r := b.do("POST", "blackboard", "worker-http", body(e))
	b.want(r, 201, "")
	id := r.text("entry.entry_id")
	b.want(b.do("POST", "blackboard", "worker-other", body(e)), 403, "forbidden")
	e["entry_id"], e["status"] = id, "resolved"
	b.want(b.do("POST", "blackboard", "worker-http", body(m{"entry": e})), 409, "signalbox.entry_exists")
	e["status"] = "active"
	b.want(b.do("POST", "blackboard", "worker-http", body(m{"entry": e})), 201, "")
	e["entry_id"], e["supersedes_entry_ids"] = "mine", []string{id, "unknown"}
	b.want(b.do("POST", "blackboard", "worker-http", body(e)), 201, "")
	for _, method := range []string{"PUT", "PATCH", "DELETE", "POST"} {
		r := b.do(method, "blackboard/"+url.PathEscape(id), "lead-01", body(e))
		b.want(r, 405, "signalbox.method_not_allowed")
	}
	got := b.do("GET", "blackboard?work_item=w", "reader-01", nil).at("entries").([]any)
	if len(got) != 2 || got[0].(m)["entry"].(m)["status"] != "active" {
		t.Fatalf("entries %v", got)
	}
	since := fmt.Sprint(got[0].(m)["revision"])
	if got := b.do("GET", "blackboard?since="+since, "reader-01", nil).at("entries").([]any); len(got) != 1 { // C-040
		t.Fatalf("since %s: %v", since, got)
	}
	for query, want := range map[string]string{
		"newest=1": "mine", "newest=1&before=" + fmt.Sprint(got[1].(m)["revision"]): id, "entry=mine&work_item=w": "mine", "entry=" + url.QueryEscape(id): id,
	} {
		got := b.do("GET", "blackboard?"+query, "reader-01", nil).at("entries").([]any)
		if len(got) != 1 || got[0].(m)["entry"].(m)["entry_id"] != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	if got := b.do("GET", "blackboard?entry=unknown", "reader-01", nil).at("entries").([]any); len(got) != 0 {
		t.Errorf("an entry that is not there: %v", got)
	}
	for _, wrong := range []string{"newest=x", "before=-1"} {
		b.want(b.do("GET", "blackboard?"+wrong, "reader-01", nil), 400, "schema_violation")
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			e := m{"work_item_id": "w", "entry_kind": "finding", "author_agent_uid": "worker-http", "created_at_utc": "2026-05-16T19:12:00Z",
				"status": "active", "entry_id": "same", "summary": fmt.Sprint(i % 2)}
			r, err := b.try("POST", "blackboard", "worker-http", body(e))
			if err != nil || r.status != 201 && r.code() != "signalbox.entry_exists" {
				t.Errorf("%v %s", err, r.raw)
			}
		})
	}
	wg.Wait()
	if got := b.do("GET", "blackboard?kind=finding", "reader-01", nil).at("entries").([]any); len(got) != 1 {
		t.Fatalf("one id, %d entries", len(got))
	}
}
