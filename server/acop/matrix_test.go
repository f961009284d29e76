package acop

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	core "signalbox/model/acop"
)

// reach brings a fresh item to a status and returns the id of its last claim.
func (b *box) reach(id string, st core.Status) (claimID string) {
	b.t.Helper()
	claim := func(steps ...string) {
		claimID = b.claim(id, "worker-http", 600)
		for _, s := range steps {
			b.want(b.verb("claims", claimID, s, "worker-http", nil), 200, "")
		}
	}
	switch st {
	case core.StatusReady, core.StatusBlocked, core.StatusRequiresAttention:
		b.put(id, m{"status": st}, nil)
		return ""
	}
	b.put(id, nil, nil)
	switch st {
	case core.StatusClaimed:
		claim()
	case core.StatusInProgress:
		claim("renew")
	case core.StatusCompleted:
		claim("complete")
	case core.StatusAccepted, core.StatusConsumed:
		claim("complete")
		b.want(b.verb("work-items", id, "accept", "lead-01", nil), 200, "")
		if st == core.StatusConsumed {
			b.want(b.verb("work-items", id, "consume", "lead-01", nil), 200, "")
		}
	case core.StatusReleased:
		claim()
		b.want(b.verb("claims", claimID, "revoke", "lead-01", m{"reason": "hold", "disposition": "released"}), 200, "")
	case core.StatusCancelled:
		b.want(b.verb("work-items", id, "cancel", "lead-01", m{"reason": "no need"}), 200, "")
	case core.StatusSuperseded:
		b.want(b.verb("work-items", id, "supersede", "lead-01", m{"superseded_by_work_item_id": "next"}), 200, "")
	}
	return claimID
}

// attempt asks for one transition in the way that fits it best.
func (b *box) attempt(id, claimID string, from, to core.Status) reply {
	b.t.Helper()
	putStatus := func() reply {
		return b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem(id, m{"status": to})}))
	}
	held := from == core.StatusClaimed || from == core.StatusInProgress
	switch to {
	case core.StatusReady:
		switch {
		case held:
			return b.verb("claims", claimID, "release", "worker-http", nil)
		case from == core.StatusBlocked:
			return putStatus()
		case from == core.StatusRequiresAttention:
			return b.verb("work-items", id, "resolve", "lead-01", m{"decision": "ready", "note": "go on"})
		}
		return b.verb("work-items", id, "requeue", "lead-01", nil)
	case core.StatusBlocked:
		switch from {
		case core.StatusReady:
			return b.verb("work-items", id, "block", "lead-01", m{"blocker": m{"blocker_code": "review_required", "severity": "low", "summary": "s"}})
		case core.StatusRequiresAttention:
			return b.verb("work-items", id, "resolve", "lead-01", m{"decision": "blocked", "note": "later"})
		}
	case core.StatusClaimed:
		return b.do("POST", "claims", "worker-other", claimBody(id, "worker-other", 60))
	case core.StatusInProgress:
		if from == core.StatusClaimed {
			return b.verb("claims", claimID, "renew", "worker-http", nil)
		}
	case core.StatusCompleted:
		if from == core.StatusInProgress {
			return b.verb("claims", claimID, "complete", "worker-http", nil)
		}
	case core.StatusAccepted:
		return b.verb("work-items", id, "accept", "lead-01", nil)
	case core.StatusReleased:
		if held {
			return b.verb("claims", claimID, "revoke", "lead-01", m{"reason": "hold", "disposition": "released"})
		}
	case core.StatusConsumed:
		return b.verb("work-items", id, "consume", "lead-01", nil)
	case core.StatusCancelled:
		return b.verb("work-items", id, "cancel", "lead-01", m{"reason": "no need"})
	case core.StatusSuperseded:
		return b.verb("work-items", id, "supersede", "lead-01", m{"superseded_by_work_item_id": "next"})
	}
	return putStatus()
}

// oneByOne leaves a test out of a short run that sends a great many requests one after
// the other: nothing in it runs side by side that others do not run as well.
func oneByOne(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("goes through a long table one entry after the other")
	}
}

// TestMatrix asks for every pair of statuses through HTTP (C-050..C-055, C-058,
// C-089): what is listed happens, everything else is refused and changes
// nothing.
func TestMatrix(t *testing.T) {
	t.Parallel()
	oneByOne(t)
	b := newBox(t, func(o *Options) {
		o.Config.ConsumeCompleted = true
		o.Config.RateLimit = RateLimit{PerSecond: 1e6, Burst: 1e6}
	})
	b.put("next", nil, nil)
	for _, from := range core.Statuses() {
		for _, to := range core.Statuses() {
			if from == to {
				continue
			}
			id := fmt.Sprintf("%s>%s", from, to)
			claimID := b.reach(id, from)
			before := b.item(id)
			r := b.attempt(id, claimID, from, to)
			after := b.item(id)
			if core.TransitionLevel(from, to).Allowed() {
				if r.status >= 300 || after.text("item.work_item.status") != string(to) {
					t.Errorf("%s: %d %s, now %s", id, r.status, r.raw, after.text("item.work_item.status"))
				}
				continue
			}
			want := core.RefusalCode(from)
			if to == core.StatusClaimed && from == core.StatusInProgress {
				want = core.CodeClaimConflict
			}
			if r.status != 409 || r.code() != string(want) {
				t.Errorf("%s: %d %q, want 409 %q: %s", id, r.status, r.code(), want, r.raw)
			}
			if before.at("item.revision") != after.at("item.revision") || after.text("item.work_item.status") != string(from) {
				t.Errorf("%s: the refused act changed the item", id)
			}
		}
	}
}

// TestStarts puts new items in all eleven statuses (C-056, C-057, H-045).
func TestStarts(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	for _, st := range core.Statuses() {
		id := "new " + string(st)
		r := b.do("PUT", "work-items", "fixture-producer", body(m{"work_item": workItem(id, m{"status": st})}))
		got := b.do("GET", "work-items/"+url.PathEscape(id), "reader-01", nil)
		if core.CanStart(st) {
			b.want(r, 201, "")
			b.want(got, 200, "")
			continue
		}
		b.want(r, 409, "work_item_not_actionable")
		b.want(got, 404, "work_item_not_found")
	}
}

// TestActsByStatus is table C.2.
func TestActsByStatus(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("next", nil, nil)
	entry := func(id string) m {
		return body(m{"work_item_id": id, "entry_kind": "finding", "author_agent_uid": "worker-other", "created_at_utc": "2026-05-16T19:12:00Z", "status": "active"})
	}
	for _, st := range core.Statuses() {
		id := "item/" + string(st)
		b.reach(id, st)
		code := string(core.RefusalCode(st))
		r := b.do("POST", "claims", "worker-other", claimBody(id, "worker-other", 60))
		switch st {
		case core.StatusReady:
			b.want(r, 201, "")
		case core.StatusClaimed, core.StatusInProgress:
			b.want(r, 409, "claim_conflict")
		default:
			b.want(r, 409, code)
		}
		r = b.verb("work-items", id, "accept", "lead-01", nil)
		if st == core.StatusCompleted {
			b.want(r, 200, "")
		} else {
			b.want(r, 409, code)
		}
		b.want(b.do("POST", "blackboard", "worker-other", entry(id)), 201, "")
	}
	b.want(b.do("POST", "claims", "worker-http", claimBody("none", "worker-http", 60)), 404, "work_item_not_found")
	b.want(b.verb("work-items", "none", "accept", "lead-01", nil), 404, "work_item_not_found")
	b.want(b.do("POST", "blackboard", "worker-other", entry("none")), 404, "work_item_not_found")
}

// TestClaimVerbsByState is table C.1 (H-031, H-032, H-036..H-038, H-040, H-042,
// H-043, C-063, C-064, H-075).
func TestClaimVerbsByState(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	end := map[string]func(id string){
		"active":    func(string) {},
		"released":  func(id string) { b.want(b.verb("claims", id, "release", "worker-http", nil), 200, "") },
		"completed": func(id string) { b.want(b.verb("claims", id, "complete", "worker-http", nil), 200, "") },
		"revoked":   func(id string) { b.want(b.verb("claims", id, "revoke", "lead-01", m{"reason": "stop"}), 200, "") },
		"expired":   func(string) { b.clock.advance(600 * time.Second) },
	}
	want := map[string][3]string{ // renew, release, complete
		"active":    {"", "", ""},
		"released":  {"claim_released", "", "claim_released"},
		"completed": {"claim_released", "", "claim_released"},
		"revoked":   {"claim_revoked", "claim_revoked", "claim_revoked"},
		"expired":   {"lease_expired", "lease_expired", "lease_expired"},
	}
	for state, codes := range want {
		for i, verb := range []string{"renew", "release", "complete"} {
			for _, who := range []string{"worker-http", "lead-01", "orch-01", "worker-other"} {
				id := state + " " + verb + " " + who
				b.put(id, nil, nil)
				claimID := b.claim(id, "worker-http", 600)
				end[state](claimID)
				before := b.do("GET", "claims/"+claimID, "reader-01", nil)
				r := b.verb("claims", claimID, verb, who, nil)
				switch {
				case who == "worker-other":
					b.want(r, 403, "unauthorized_worker")
				case codes[i] == "":
					b.want(r, 200, "")
				default:
					b.want(r, 409, codes[i])
				}
				if state == "active" {
					continue
				}
				after := b.do("GET", "claims/"+claimID, "reader-01", nil)
				if fmt.Sprint(before.at("claim")) != fmt.Sprint(after.at("claim")) {
					t.Errorf("%s: an ended claim changed: %s, then %s", id, before.raw, after.raw)
				}
			}
		}
	}
	for _, verb := range []string{"renew", "release", "complete", "heartbeat"} {
		b.want(b.verb("claims", "none", verb, "worker-http", nil), 404, "signalbox.claim_not_found")
	}
	b.want(b.verb("claims", "none", "revoke", "lead-01", m{"reason": "x"}), 404, "signalbox.claim_not_found")
}
