package acop

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	core "signalbox/model/acop"
)

func fastBox(t *testing.T) *box {
	return newBox(t, func(o *Options) { o.Config.RateLimit = RateLimit{PerSecond: 1e6, Burst: 1e6} })
}

// TestClaimRace lets 100 goroutines race for one item: one 201, the rest 409
// claim_conflict that names the winner (H-079, H-080, H-024, B44).
func TestClaimRace(t *testing.T) {
	t.Parallel()
	b := fastBox(t)
	for round := range 10 {
		id := fmt.Sprintf("race %d", round)
		b.put(id, nil, nil)
		const n = 100
		replies := make([]reply, n)
		errs := make([]error, n)
		gate := make(chan struct{})
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				<-gate
				who := []string{"worker-http", "worker-other"}[i%2]
				replies[i], errs[i] = b.try("POST", "claims", who, claimBody(id, who, 60))
			})
		}
		close(gate)
		wg.Wait()
		if n := b.countEvents(id, "claim"); n != 1 {
			t.Fatalf("round %d: the log tells %d claims", round, n)
		}
		winners, winner := 0, ""
		for i, r := range replies {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if r.status == 201 {
				winners++
				winner = r.text("claim.claim_id")
			}
		}
		if winners != 1 {
			t.Fatalf("round %d: %d winners", round, winners)
		}
		for _, r := range replies {
			if r.status != 201 {
				b.want(r, 409, "claim_conflict")
				if r.text("error.details.current_claim_id") != winner || r.text("error.details.work_item_id") != id {
					t.Fatalf("conflict does not name the winner: %s", r.raw)
				}
			}
		}
	}
}

// TestExpiryWithoutSweeper judges leases at the request (H-028, H-081..H-083,
// B47, B48, C-059).
func TestExpiryWithoutSweeper(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.SweepEvery = time.Hour })
	b.put("w", nil, nil)
	old := b.claim("w", "worker-http", 10)
	b.clock.advance(10 * time.Second)
	b.want(b.verb("claims", old, "renew", "worker-http", nil), 409, "lease_expired")
	now := b.claim("w", "worker-other", 60)
	for _, verb := range []string{"renew", "release", "complete", "heartbeat"} {
		b.want(b.verb("claims", old, verb, "worker-http", nil), 409, "lease_expired")
	}
	if got := b.do("GET", "claims/"+old, "reader-01", nil).text("claim.claim_status"); got != "expired" {
		t.Fatalf("old claim is %s", got)
	}
	if got := b.do("GET", "claims/"+now, "reader-01", nil); got.text("claim.claim_status") != "active" {
		t.Fatalf("new claim: %s", got.raw)
	}
	b.clock.advance(61 * time.Second)
	for range 3 { // each read sees it, only one event is written
		if st := b.status("w"); st != "ready" {
			t.Fatalf("after expiry the item is %s", st)
		}
	}
	if n := b.countEvents("w", "expire"); n != 2 {
		t.Fatalf("%d expiry events, want 2", n)
	}
}

func (b *box) countEvents(item, verb string) int {
	b.t.Helper()
	n := 0
	evs, _ := b.item(item).at("events").([]any)
	for _, e := range evs {
		if e.(map[string]any)["verb"] == verb {
			n++
		}
	}
	return n
}

// TestWallClockStep moves only the wall clock: a lease ends after its term of
// real time, and after a restart nobody has more than the term left (B52, H-084).
func TestWallClockStep(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 60)
	b.clock.step(time.Hour)
	b.want(b.verb("claims", id, "heartbeat", "worker-http", nil), 200, "")
	b.clock.step(-2 * time.Hour)
	b.clock.advance(61 * time.Second)
	b.want(b.verb("claims", id, "heartbeat", "worker-http", nil), 409, "lease_expired")

	id = b.claim("w", "worker-http", 60)
	b.clock.step(-10 * time.Hour)
	b.restart()
	expires, err := core.ParseTime(b.do("GET", "claims/"+id, "reader-01", nil).text("claim.expires_at_utc"))
	if err != nil {
		t.Fatal(err)
	}
	if left := expires.Std().Sub(b.owner.Now()); left > 60*time.Second || left < 0 {
		t.Fatalf("after the restart %s are left of a lease of 60 s", left)
	}
	b.clock.advance(61 * time.Second)
	b.want(b.verb("claims", id, "renew", "worker-http", nil), 409, "lease_expired")
}

func seconds(t *testing.T, r reply) float64 {
	t.Helper()
	g, err1 := core.ParseTime(r.text("claim.granted_at_utc"))
	e, err2 := core.ParseTime(r.text("claim.expires_at_utc"))
	if err1 != nil || err2 != nil {
		t.Fatalf("times: %s", r.raw)
	}
	return e.Sub(g).Seconds()
}

// TestTerms covers the bounds and the arithmetic of leases (C-042, C-045,
// H-029..H-033, D-51, D-55).
func TestTerms(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.MaxTTLSeconds = 1000 })
	for _, ttl := range []string{"0", "-1", "1.5", `"60"`, "30.0", "3e1", "2147483649", "1e400", "null", "true"} {
		raw := `{"protocol_version":"acop/1.0","work_item_id":"w","worker_agent_uid":"worker-http","scope":"s","requested_ttl_seconds":` + ttl + `}`
		b.want(b.do("POST", "claims", "worker-http", raw), 400, "schema_violation")
	}
	for _, missing := range []string{"work_item_id", "worker_agent_uid", "requested_ttl_seconds", "scope"} {
		c := claimBody("w", "worker-http", 60)
		delete(c, missing)
		b.want(b.do("POST", "claims", "worker-http", c), 400, "schema_violation")
	}
	extra := claimBody("w", "worker-http", 60)
	extra["priority"] = "high"
	b.want(b.do("POST", "claims", "worker-http", extra), 400, "schema_violation")

	b.put("w", nil, nil)
	r := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", math.MaxInt32))
	b.want(r, 201, "")
	if s := seconds(t, r); s != 1000 {
		t.Fatalf("clamped to %v s, want 1000", s)
	}
	id := r.text("claim.claim_id")
	before := r.text("claim.expires_at_utc")
	r = b.verb("claims", id, "renew", "worker-http", m{"requested_ttl_seconds": 500, "progress_summary": "half way"})
	if r.text("claim.expires_at_utc") != before || r.text("work_item_status") != "in_progress" {
		t.Fatalf("a short renew: %s", r.raw)
	}
	b.clock.advance(900 * time.Second)
	r = b.verb("claims", id, "renew", "worker-http", nil)
	if s := seconds(t, r); s < 1400 || s > 1490 {
		t.Fatalf("a renew without term gives %v s, want the last one used", s)
	}
	it := b.item("w")
	if it.text("item.lease.progress_summary") != "half way" || it.at("item.lease.renewals") != 2.0 {
		t.Fatalf("lease: %s", it.raw)
	}
}

// TestHeartbeat is a sign of life and nothing more (C-046..C-048, B54, B56).
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 60)
	before := b.do("GET", "claims/"+id, "reader-01", nil).text("claim.expires_at_utc")
	for _, at := range []string{"9999-12-31T23:59:59Z", "2001-01-01T00:00:00Z"} {
		r := b.verb("claims", id, "heartbeat", "worker-http", m{"observed_at_utc": at, "progress_status": "busy", "progress_summary": "still here"})
		b.want(r, 200, "")
		if r.text("claim.expires_at_utc") != before || r.text("work_item_status") != "in_progress" {
			t.Fatalf("heartbeat: %s", r.raw)
		}
	}
	it := b.item("w")
	if it.text("item.lease.last_heartbeat.progress_status") != "busy" || it.text("item.lease.heartbeat_at_utc")[:3] == "200" {
		t.Fatalf("lease: %s", it.raw)
	}
	b.want(b.verb("claims", id, "heartbeat", "worker-http", nil), 200, "")
	if it := b.item("w"); it.text("item.lease.progress_summary") != "still here" { // a bare sign of life says nothing new
		t.Fatalf("progress after a bare heartbeat: %s", it.raw)
	}
	b.want(b.verb("claims", id, "heartbeat", "worker-other", nil), 403, "unauthorized_worker")
}

// TestReleaseIsIdempotent also while somebody else holds the item (H-035..H-039).
func TestReleaseIsIdempotent(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, m{"blockers": []m{{"blocker_code": "review_required", "severity": "low", "summary": "s"}}})
	id := b.claim("w", "worker-http", 60)
	r := b.verb("claims", id, "release", "worker-http", m{"release_reason": "tired"})
	b.want(r, 200, "")
	if r.text("work_item_status") != "blocked" { // D-29
		t.Fatalf("with an open blocker: %s", r.raw)
	}
	b.want(b.verb("work-items", "w", "unblock", "lead-01", m{"blocker_code": "review_required"}), 200, "")
	other := b.claim("w", "worker-other", 60)
	if other == id {
		t.Fatal("a claim id was used twice") // C-065
	}
	b.want(b.verb("claims", id, "release", "worker-http", nil), 200, "")
	if c := b.do("GET", "claims/"+other, "reader-01", nil).text("claim.claim_status"); c != "active" {
		t.Fatalf("the other's claim is %s", c)
	}
}

// TestHolderClaimsAgain is refused with its own claim named (D-48, H-025).
func TestHolderClaimsAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	id := b.claim("w", "worker-http", 60)
	r := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60))
	b.want(r, 409, "claim_conflict")
	if r.text("error.details.current_claim_id") != id || r.text("error.details.current_worker_agent_uid") != "worker-http" {
		t.Fatalf("details: %s", r.raw)
	}
	if s := r.at("error.retry_after_seconds").(float64); s < 1 || s > 60 {
		t.Fatalf("retry after %v", s)
	}
}

// TestOnBehalf covers identities in bodies for the four verbs that name one
// (H-073, H-074, D-38, H-090).
func TestOnBehalf(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	b.want(b.do("POST", "claims", "worker-http", claimBody("w", "worker-other", 60)), 403, "forbidden")
	r := b.do("POST", "claims", "lead-01", claimBody("w", "worker-other", 60))
	b.want(r, 201, "")
	if r.text("claim.worker_agent_uid") != "worker-other" {
		t.Fatalf("granted to %s", r.raw)
	}
	id := r.text("claim.claim_id")
	b.want(b.verb("claims", id, "renew", "worker-http", m{"worker_agent_uid": "worker-other"}), 403, "forbidden")
	b.want(b.verb("claims", id, "renew", "worker-http", m{"worker_agent_uid": "worker-http"}), 403, "unauthorized_worker")
	b.want(b.verb("claims", id, "renew", "orch-01", m{"worker_agent_uid": "worker-other"}), 200, "")
	b.want(b.verb("claims", id, "renew", "orch-01", m{"worker_agent_uid": "worker-http"}), 403, "unauthorized_worker")
	b.want(b.verb("claims", id, "renew", "orch-01", nil), 200, "")
	b.want(b.verb("claims", id, "complete", "worker-other", nil), 200, "")
	b.want(b.verb("work-items", "w", "accept", "worker-http", m{"accepting_agent_uid": "lead-01"}), 403, "forbidden")
	b.want(b.verb("work-items", "w", "accept", "lead-01", m{"accepting_agent_uid": "worker-http"}), 200, "")
	if got := b.item("w").text("item.acceptance.accepted_by"); got != "worker-http" {
		t.Fatalf("accepted by %s", got)
	}
	for _, who := range []string{"fixture-producer", "reader-01"} {
		b.put("x "+who, nil, nil)
		b.want(b.do("POST", "claims", who, claimBody("x "+who, who, 60)), 403, "forbidden")
	}
}

// TestAttemptsLimit blocks an item that loses worker after worker (B58).
func TestAttemptsLimit(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Config.AttemptsLimit = 3; o.SweepEvery = time.Hour })
	b.put("w", nil, nil)
	for range 3 {
		b.claim("w", "worker-http", 1)
		b.clock.advance(2 * time.Second)
	}
	b.want(b.do("POST", "claims", "worker-other", claimBody("w", "worker-other", 60)), 409, "work_item_not_actionable")
	it := b.item("w")
	if it.text("item.work_item.status") != "blocked" || it.at("item.attempts") != 3.0 {
		t.Fatalf("after three lost workers: %s", it.raw)
	}
	b.want(b.verb("work-items", "w", "unblock", "lead-01", m{"blocker_code": core.BlockerAttemptsExhausted, "note": "fixed"}), 200, "")
	b.claim("w", "worker-http", 1)
	b.clock.advance(2 * time.Second)
	if st := b.status("w"); st != "ready" {
		t.Fatalf("the count was not started anew: %s", st)
	}
}

// TestNestedIntent takes the other form of a claim (H-022, H-023, D-60).
func TestNestedIntent(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("w", nil, nil)
	in := m{"work_item_id": "w", "worker_agent_uid": "worker-http", "requested_ttl_seconds": 5, "scope": "s", "claim_intent_id": "i-1",
		"requested_at_utc": "2026-05-16T19:12:00Z"}
	b.want(b.do("POST", "claims", "worker-http", body(m{"claim_intent": in, "scope": "s"})), 400, "schema_violation")
	r := b.do("POST", "claims", "worker-http", body(m{"claim_intent": in}))
	b.want(r, 201, "")
	loc := r.header.Get("Location")
	got := b.do("GET", loc[len(DefaultBasePath):], "reader-01", nil)
	if got.text("claim.claim_id") != r.text("claim.claim_id") {
		t.Fatalf("Location %s leads to %s", loc, got.raw)
	}
}

// TestRestartAfterShorterRenew keeps the owner's time where it was: a renew for a
// shorter term than what is left ends nobody's lease at the next start (B52, D-55).
func TestRestartAfterShorterRenew(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("long", nil, nil)
	b.put("other", nil, nil)
	long := b.claim("long", "worker-http", 3600)
	b.want(b.verb("claims", long, "renew", "worker-http", m{"requested_ttl_seconds": 1}), 200, "")
	other := b.claim("other", "worker-other", 600)
	b.restart()
	b.want(b.verb("claims", other, "renew", "worker-other", nil), 200, "")
	if ahead := b.owner.Now().Sub(b.clock.Wall()); ahead > time.Minute {
		t.Errorf("after the restart the owner's clock is %s ahead", ahead)
	}
}
