package acop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKeyOnEveryVerb sends each mutating verb twice under one key: one effect,
// one answer, also after a restart and for the whole day (H-011, H-012, H-014).
func TestKeyOnEveryVerb(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	blocker := m{"blocker": m{"blocker_code": "x.a.b", "severity": "low", "summary": "s"}}
	b.put("next", nil, nil)
	type sent struct {
		method, path, who string
		members           m
		key               string
		first             reply
	}
	var all []*sent
	twice := func(method, path, who string, members m) reply {
		t.Helper()
		s := &sent{method: method, path: path, who: who, members: members, key: fmt.Sprint("key ", len(all))}
		s.first = b.do(method, path, who, body(members), header{"Idempotency-Key": s.key})
		if s.first.status >= 300 || s.first.header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("%s %s: %s", method, path, s.first.raw)
		}
		rev := b.store.Revision()
		again := b.do(method, path, who, body(members), header{"Idempotency-Key": s.key})
		if !bytes.Equal(again.raw, s.first.raw) || again.status != s.first.status || again.header.Get("Idempotency-Replayed") != "true" || b.store.Revision() != rev {
			t.Errorf("%s %s: %d %s, then %d %s", method, path, s.first.status, s.first.raw, again.status, again.raw)
		}
		all = append(all, s)
		return s.first
	}
	put := func(id string) { twice("PUT", "work-items", "fixture-producer", m{"work_item": workItem(id, nil)}) }
	claim := func(id string) string {
		c := claimBody(id, "worker-http", 600)
		delete(c, "protocol_version")
		return twice("POST", "claims", "worker-http", c).text("claim.claim_id")
	}
	put("a")
	id := claim("a")
	twice("POST", "claims/"+id+"/renew", "worker-http", m{"requested_ttl_seconds": 700})
	twice("POST", "claims/"+id+"/heartbeat", "worker-http", m{})
	twice("POST", "claims/"+id+"/release", "worker-http", m{})
	id = claim("a")
	twice("POST", "blackboard", "worker-http", m{"entry": entryOf("a", "worker-http", nil)})
	twice("POST", "claims/"+id+"/complete", "worker-http", m{})
	twice("POST", "work-items/a/accept", "lead-01", m{})
	twice("POST", "work-items/a/consume", "lead-01", m{})
	put("b")
	id = claim("b")
	twice("POST", "claims/"+id+"/revoke", "lead-01", m{"reason": "r", "disposition": "released"})
	twice("POST", "work-items/b/requeue", "lead-01", m{})
	twice("POST", "work-items/b/block", "lead-01", blocker)
	twice("POST", "work-items/b/unblock", "lead-01", m{"blocker_code": "x.a.b"})
	id = claim("b")
	twice("POST", "claims/"+id+"/complete", "worker-http", m{})
	twice("POST", "work-items/b/send-back", "lead-01", m{"reason": "r"})
	put("c")
	twice("POST", "work-items/c/supersede", "lead-01", m{"superseded_by_work_item_id": "next"})
	put("d")
	twice("POST", "work-items/d/cancel", "lead-01", m{"reason": "r"})
	twice("PUT", "settings", "lead-01", m{"frozen": false, "reason": "r"})

	check := func(when string) {
		t.Helper()
		for _, s := range all {
			r := b.do(s.method, s.path, s.who, body(s.members), header{"Idempotency-Key": s.key})
			if !bytes.Equal(r.raw, s.first.raw) || r.status != s.first.status {
				t.Errorf("%s, %s %s: %d %s", when, s.method, s.path, r.status, r.raw)
			}
		}
	}
	b.restart()
	check("after a restart")
	b.clock.advance(23*time.Hour + 59*time.Minute)
	check("after a day but a minute")
}

// TestFailureIsNotRemembered answers 503 under a key while the log is gone; the
// same request, sent again to the owner started anew, is carried out, once
// (B62, H-016).
func TestFailureIsNotRemembered(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	ask := func() reply {
		return b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60), header{"Idempotency-Key": "K"})
	}
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	b.want(ask(), 503, "backend_unavailable")
	b.restart()
	first := ask()
	b.want(first, 201, "")
	if again := ask(); again.text("claim.claim_id") != first.text("claim.claim_id") || b.countEvents("w", "claim") != 1 {
		t.Errorf("carried out twice: %s, %s", first.raw, again.raw)
	}
}

// TestReplayBeforeSchema finds a used key before the body is judged by its
// schema, and after the version (D-62).
func TestReplayBeforeSchema(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	key := header{"Idempotency-Key": "K"}
	c := claimBody("w", "worker-http", 60)
	b.want(b.do("POST", "claims", "worker-http", c, key), 201, "")
	c["colour"] = "red"
	b.want(b.do("POST", "claims", "worker-http", c, key), 422, "signalbox.idempotency_key_reused")
	c["protocol_version"] = "acop/9.0"
	b.want(b.do("POST", "claims", "worker-http", c, key), 400, "unsupported_protocol_version")
	b.want(b.do("POST", "claims", "", c, key), 401, "unauthenticated")
}

// TestPickup seeds work that the five queries must and must not find, and reads
// what each row says (C-067..C-072, D-44, D-57).
func TestPickup(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	review := m{"blocker_code": "review_required", "severity": "low", "summary": "s"}
	seed := func(id string, item, more m) { b.put(id, item, more) }
	seed("x new", m{"target_agent_uid": "worker-http", "created_at_utc": "2026-05-16T19:10:09Z", "target_branch": "z", "target_repo_id": "r"}, nil)
	seed("x old", m{"target_agent_uid": "worker-http", "target_branch": "z", "target_repo_id": "r"}, nil)
	seed("x risky", m{"target_agent_uid": "worker-http", "created_at_utc": "2026-05-16T19:10:05Z", "target_branch": "z", "target_repo_id": "s"}, m{"blockers": []m{review}}) // ready all the same
	seed("x stuck", m{"target_agent_uid": "worker-http", "status": "blocked", "target_branch": "z", "target_repo_id": "r"}, m{"blockers": []m{review, dependsOn("x old")}})
	seed("stuck elsewhere", m{"status": "blocked", "target_repo_id": "s", "target_agent_uid": "worker-other"}, m{"blockers": []m{dependsOn("x old")}})
	seed("unsaid", m{"status": "blocked", "target_repo_id": "r", "target_agent_uid": "worker-other"}, nil) // blocked, and no blocker given
	seed("asks", m{"status": "requires_attention", "target_branch": "z", "target_agent_uid": "worker-http"}, nil)
	seed("y own", m{"target_agent_uid": "worker-other", "target_branch": "z"}, nil)
	for _, c := range []struct{ id, verb string }{{"held", ""}, {"back", "revoke"}, {"done", "complete"}} {
		seed(c.id, m{"target_agent_uid": "worker-http", "target_branch": "z"}, nil)
		claimID := b.claim(c.id, "worker-http", 600)
		switch c.verb {
		case "revoke":
			b.want(b.verb("claims", claimID, "revoke", "lead-01", m{"reason": "r", "disposition": "released"}), 200, "")
		case "complete":
			b.want(b.verb("claims", claimID, "complete", "worker-http", nil), 200, "")
		}
	}
	ids := func(query string) []string {
		t.Helper()
		r := b.do("GET", query, "reader-01", nil)
		b.want(r, 200, "")
		out := []string{}
		for _, row := range r.at("work_items").([]any) {
			row := row.(m)
			for _, key := range []string{"status", "blocker_codes", "actionability_score", "target_agent_uid", "work_item", "overlaps", "revision"} {
				if _, told := row[key]; !told {
					t.Errorf("%s: a row without %s", query, key)
				}
			}
			out = append(out, row["work_item"].(m)["work_item_id"].(string))
		}
		return out
	}
	for query, want := range map[string]string{
		"pickup?agent=worker-http":                                  "x new,x risky,x old",
		"pickup?agent=worker-other":                                 "y own",
		"work-items?status=blocked&repo=r":                          "unsaid,x stuck",
		"work-items?branch=z&claimable=1":                           "x new,x old,x risky,y own",
		"work-items?blocker_code=review_required":                   "x risky,x stuck",
		"work-items?blocker_code=dependency_work_item_pending":      "stuck elsewhere,x stuck",
		"work-items?between=fixture-producer,worker-other":          "stuck elsewhere,unsaid,y own",
		"work-items?between=worker-other,worker-http":               "",
		"work-items?blocker_code=review_required&status=blocked":    "x stuck",
		"work-items?branch=z&status=released&status=completed":      "back,done",
		"work-items?branch=z&status=claimed":                        "held",
		"work-items?branch=z&status=requires_attention&claimable=1": "",
	} {
		got := ids(query)
		if !strings.HasPrefix(query, "pickup") {
			slices.Sort(got) // the order is that of the pickup alone
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("%s finds %s, want %s", query, s, want)
		}
	}
	row := b.do("GET", "work-items?blocker_code=review_required&status=blocked", "reader-01", nil).at("work_items").([]any)[0].(m)
	if row["status"] != "blocked" || fmt.Sprint(row["blocker_codes"]) != "[review_required dependency_work_item_pending]" ||
		row["actionability_score"] != 0.5 || row["target_agent_uid"] != "worker-http" {
		t.Errorf("the row says %v", row)
	}
	b.claim("x risky", "worker-http", 60) // D-44: a blocker on ready work does not keep it back
}
